/** \file cli/replay/replay_runner.h
 * Executes plans: on cores in this program, on GPUs by emplace-replay, a program of its own
 * that alone loads CUDA. It is looked for beside emplace, in the build folder, and in PATH.
 */
#ifndef EMP_CLI_REPLAY_REPLAY_RUNNER_H
#define EMP_CLI_REPLAY_REPLAY_RUNNER_H

#include "cli/replay/replay_options.h"
#include "replay/result.h"

/** Executes \a plan until it is done or Ctrl-C asks for an end. A step that fits in memory is
 * written to the file \a trace, which may be NULL.
 * \retval EMP_EEXTERNAL     emplace-replay failed, with its one sentence, or is not there.
 * \retval EMP_EINTERRUPTED  It was stopped. */
emp_status cli_replay_run(emp_replay_result *result, const emp_replay_plan *plan,
                          const cli_replay_options *options, const char *trace,
                          emp_error *err);

#endif /* EMP_CLI_REPLAY_REPLAY_RUNNER_H */
