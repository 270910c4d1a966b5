/** \file cli/replay/replay_results.h
 * Results of emplace-replay from another computer, found by the plan that they are of: `--import` of
 * `validate` and `calibrate measure`.
 */
#ifndef EMP_CLI_REPLAY_REPLAY_RESULTS_H
#define EMP_CLI_REPLAY_REPLAY_RESULTS_H

#include "replay/result.h"

/** Zero-initialise. */
typedef struct {
    emp_replay_result *result; /**< [count] */
    int32_t            count;
} cli_replay_results;

/** Loads the files. cli_replay_results_clear() releases them, also after a failure.
 * \retval EMP_EIO, EMP_EFORMAT, EMP_ENOMEM */
emp_status cli_replay_results_load(cli_replay_results *results, const char *const *paths,
                                   int32_t count, emp_error *err);
void       cli_replay_results_clear(cli_replay_results *results);

/** The result of that plan, borrowed; NULL: there is none. O(count). */
const emp_replay_result *cli_replay_results_find(const cli_replay_results *results,
                                                 const emp_replay_plan    *plan);

#endif /* EMP_CLI_REPLAY_REPLAY_RESULTS_H */
