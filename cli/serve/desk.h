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

/* A request of `emplace serve`: one line of JSON, read and checked.
 */

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

#endif /* EMP_CLI_SERVE_DESK_H */
