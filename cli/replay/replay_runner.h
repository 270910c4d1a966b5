/** \file cli/replay/replay_runner.h
 * Executes plans: on cores in this program, on GPUs by emplace-replay, the only program
 * that loads CUDA. It is looked for beside emplace, in the build folder, and in PATH.
 */
#ifndef EMP_CLI_REPLAY_REPLAY_RUNNER_H
#define EMP_CLI_REPLAY_REPLAY_RUNNER_H

#include <argp.h>

#include "replay/plan/plan.h"
#include "replay/result.h"
#include "sim/machine/machine.h"

typedef struct {
    const char *backend; /**< cpu or cuda; commands have it as an option of theirs */
    const char *cores;   /**< of devices, as a map that a plan can read; or NULL */
    const char *gpus;    /**< likewise */
    emp_replay_options options;   /**< steps, warm-up, memory, rates */
    bool               is_forced; /**< --force: a trace that is there may be replaced */
} cli_replay_options;

/** Options and their parser. A command adds it as an argp child with its cli_replay_options
 * as input. */
extern const struct argp cli_replay_argp;

/** The default when an option is not given. */
cli_replay_options cli_replay_options_default(void);

/** The runtime profile that describes the backend. */
const char *cli_replay_runtime(const cli_replay_options *options);

/** \retval EMP_EINVAL  There is no such backend, or it has no use for --gpus or --keep-rates. */
emp_status cli_replay_check_backend(const cli_replay_options *options, emp_error *err);

/** True if no option but the backend differs from its default. */
bool cli_replay_options_unset(const cli_replay_options *options);

/** The options with the maps of cores and GPUs as they are meant for \a plan. */
emp_status cli_replay_options_map(emp_replay_options       *mapped,
                                  const cli_replay_options *options,
                                  const emp_replay_plan *plan, emp_error *err);

/** Whether the backend is this computer's cores, and the machine has GPUs that no calibration
 * describes as cores: predictions are then not of what is measured. */
bool cli_is_uncalibrated(const emp_machine *machine, const char *backend);

/** Says so: to be called after results, so that an error is one sentence. */
void cli_warn_uncalibrated(const char *machine);

/** The effect of the option --keep-rates, in a sentence. */
#define CLI_KEEPS_RATES                                                                \
    "copies slept for the time that the model gives their links, so that much of the " \
    "step is the model's own time, and the order of steps largely that of the sleeps."

/** Says so if the option is given; likewise to be called after results. */
void cli_warn_rates(const cli_replay_options *options);

/** Executes \a plan until it is done or Ctrl-C asks for an end. A step that fits in memory is
 * written to the file \a trace, which may be NULL.
 * \retval EMP_EEXTERNAL     emplace-replay failed, with its one sentence, or is not there.
 * \retval EMP_EINTERRUPTED  It was stopped. */
emp_status cli_replay_run(emp_replay_result *result, const emp_replay_plan *plan,
                          const cli_replay_options *options, const char *trace,
                          emp_error *err);

/* Results of emplace-replay from another computer, found by their plan: `--import`. */

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

#endif /* EMP_CLI_REPLAY_REPLAY_RUNNER_H */
