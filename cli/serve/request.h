/** \file cli/serve/request.h
 * A request of `emplace serve`: one line of JSON, read and checked.
 */
#ifndef EMP_CLI_SERVE_REQUEST_H
#define EMP_CLI_SERVE_REQUEST_H

#include "base/text/json.h"

/** What can be asked. */
#define CLI_VERB_LIST(X)  \
    X(LOAD, "load")       \
    X(SCORE, "score")     \
    X(EXPLAIN, "explain") \
    X(PLACE, "place")     \
    X(DROP, "drop")       \
    X(STATUS, "status")

typedef enum {
#define X(name, word) CLI_VERB_##name,
    CLI_VERB_LIST(X)
#undef X
        CLI_VERBS
} cli_verb;

enum { CLI_REQUEST_BUDGET_MAX = 10000000, CLI_REQUEST_ROWS_MAX = 4096 };

/** Zero-initialise; cli_request_clear() releases it, also after a failure. Texts are borrowed from the
 * document. */
typedef struct {
    emp_json_document document;
    const emp_json   *id; /**< an integer or a string to be given back; NULL: none */
    cli_verb          verb;
    const char       *graph, *machine, *runtime; /**< load */
    int64_t           problem;                   /**< all but load and status */
    const emp_json   *placements, *classes;      /**< score: rows; one of the two */
    const emp_json   *placement;                 /**< explain: a row */
    const char       *method, *options, *preset; /**< place */
    int64_t           budget, seed;              /**< place */
} cli_request;

/** Reads a line.
 * \retval EMP_EFORMAT  No JSON, no object, an unknown verb or member, a value of another kind or out
 *                      of its range, or a member that is missing; the message names it.
 * \retval EMP_ENOMEM */
emp_status cli_request_parse(cli_request *request, const char *line, size_t length,
                             emp_error *err);
void       cli_request_clear(cli_request *request);

#endif /* EMP_CLI_SERVE_REQUEST_H */
