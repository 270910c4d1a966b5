/** \file cli/replay_runner.h
 * emplace-replay as a program of its own: it alone loads CUDA. It is looked for beside
 * emplace, in the build folder, and in PATH.
 */
#ifndef EMP_CLI_REPLAY_RUNNER_H
#define EMP_CLI_REPLAY_RUNNER_H

#include "replay/options.h"
#include "replay/result.h"

typedef struct {
    const char               *backend, *cores, *gpus, *trace; /**< or NULL */
    const emp_replay_options *options;
} cli_runner_request;

/** Has the runner execute \a plan, by files in a folder that is gone afterwards. Its one
 * sentence is the error's. A stop that options->stop asks for is passed on.
 * \retval EMP_EEXTERNAL     The runner failed, or is not there.
 * \retval EMP_EINTERRUPTED  It was stopped. */
emp_status cli_runner_run(emp_replay_result *result, const emp_replay_plan *plan,
                          const cli_runner_request *request, emp_error *err);

#endif /* EMP_CLI_REPLAY_RUNNER_H */
