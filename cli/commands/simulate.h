/** \file cli/commands/simulate.h
 * The placements that `emplace simulate` compares in files: first the one of --placement, then each one of
 * --beside, then the runners-up of the search.
 */
#ifndef EMP_CLI_COMMANDS_SIMULATE_H
#define EMP_CLI_COMMANDS_SIMULATE_H

#include "bench/explore/explore.h"
#include "run/runners_up.h"

enum { CLI_BESIDE = 7, CLI_RUNNERS_UP = 8, CLI_LABEL_BYTES = 128 };

/** Zero-initialise; cli_simulated_clear() releases it. */
typedef struct {
    int32_t named; /**< placements that the user names; runners-up are behind them */
    int32_t count;
    emp_owned_decision    owned[1 + CLI_BESIDE];
    emp_runners_up        runners_up;
    char                  label[EMP_EXPLORE_PLACEMENTS][CLI_LABEL_BYTES];
    emp_labelled_decision placement[EMP_EXPLORE_PLACEMENTS];
} cli_simulated;

/** Adds owned[named] under the user's name for it. */
void cli_simulated_add(cli_simulated *s, const char *name);
/** Adds all but the first of the runners-up, which is the placement of --placement itself. */
void cli_simulated_add_runners_up(cli_simulated *s);
void cli_simulated_clear(cli_simulated *s);

/** Files that a step is written to; each may be NULL. */
typedef struct {
    const char *explore;        /**< a page */
    const char *model_explorer; /**< prefix */
} cli_simulated_files;

/** Checks that the files of \a prefix for Model Explorer, of that many placements, can be written.
 * \param inputs  Files that none of them may replace. */
emp_status cli_simulated_check(const char *prefix, int32_t count,
                               const char *const *inputs, int32_t input_count,
                               bool is_forced, emp_error *err);

emp_status cli_simulated_write(const cli_simulated *s, const cli_simulated_files *files,
                               const emp_problem *problem, emp_error *err);

/** Draws the placed graph for Graphviz: by name scope, or, of many ops and with \a depth 0, by layer. */
emp_status cli_simulated_draw(const char *path, int32_t depth, const emp_problem *problem,
                              const emp_device_id *device_of_op, emp_error *err);

#endif /* EMP_CLI_COMMANDS_SIMULATE_H */
