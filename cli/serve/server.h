/** \file cli/serve/server.h
 * The clients of `emplace serve`: lines in, lines out, one request of each client in turn.
 */
#ifndef EMP_CLI_SERVE_SERVER_H
#define EMP_CLI_SERVE_SERVER_H

#include <stdatomic.h>

#include "cli/serve/desk.h"

enum { CLI_SERVE_CLIENTS_MAX = 1024 };

typedef struct {
    const char *socket; /**< path of a Unix socket; NULL: standard input and output */
    int32_t     clients, runs; /**< at a time */
    size_t      line_bytes;    /**< of a request, at most */
    const atomic_int *stop;
} cli_server_params;

#endif /* EMP_CLI_SERVE_SERVER_H */
