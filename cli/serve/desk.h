/** \file cli/serve/desk.h
 * What answers the requests of `emplace serve`: the problems that are loaded, and what is asked of them.
 * It knows nothing of clients.
 */
#ifndef EMP_CLI_SERVE_DESK_H
#define EMP_CLI_SERVE_DESK_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "base/text/json.h"
#include "run/outside/channel.h"

typedef struct cli_desk cli_desk;

/** Problems are kept until there are more of them, or they have more bytes, than given; then those not
 * used for longest make room. One that has more bytes by itself is refused.
 * \param problem_limit  At least 1. */
emp_status cli_desk_create(cli_desk **out, int32_t problem_limit, int64_t byte_limit,
                           emp_error *err);
void       cli_desk_destroy(cli_desk *desk);

typedef enum {
    CLI_DESK_ANSWERED, /**< an answer is written */
    CLI_DESK_RUNS,     /**< cli_desk_place() answers; cli_desk_let_go() must follow */
    CLI_DESK_WAITS     /**< it asks for a run, of which there are enough */
} cli_desk_reply;

/** Answers one line by one line, which it writes to \a out with its newline, or says what else there is
 * to do. A failure is an answer, too. \param may_run  Whether a run may begin. */
cli_desk_reply cli_desk_answer(cli_desk *desk, const char *line, size_t length,
                               bool may_run, FILE *out);

/** Runs the method that the last request asks for, and sends the answer; for emp_channel_fork(). */
void cli_desk_place(emp_channel *channel, void *desk);

/** Forgets the last request. */
void cli_desk_let_go(cli_desk *desk);

/** Writes the answer to the last request, or to one without an id, that something has failed. */
void cli_desk_refuse(const cli_desk *desk, const emp_error *why, FILE *out);

#endif /* EMP_CLI_SERVE_DESK_H */
