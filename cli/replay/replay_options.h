/** \file cli/replay/replay_options.h
 * The options of commands that execute steps on this computer: `replay`, `validate` and
 * `calibrate measure`.
 */
#ifndef EMP_CLI_REPLAY_REPLAY_OPTIONS_H
#define EMP_CLI_REPLAY_REPLAY_OPTIONS_H

#include <argp.h>

#include "replay/plan/options.h"
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

/** What holds when an option is not given. */
cli_replay_options cli_replay_options_default(void);

/** The runtime profile that describes the backend. */
const char *cli_replay_runtime(const cli_replay_options *options);

/** \retval EMP_EINVAL  There is no such backend. */
emp_status cli_replay_check_backend(const cli_replay_options *options, emp_error *err);

/** The options with the maps of cores and GPUs as they are meant for \a plan. */
emp_status cli_replay_options_map(emp_replay_options       *mapped,
                                  const cli_replay_options *options,
                                  const emp_replay_plan *plan, emp_error *err);

/** Whether the backend is this computer's cores, and the machine has GPUs that no calibration
 * describes as cores: predictions are then not of what is measured. */
bool cli_is_uncalibrated(const emp_machine *machine, const char *backend);

/** Says so: to be called after results, so that an error is one sentence. */
void cli_warn_uncalibrated(const char *machine);

/** What the option --keep-rates does, in a sentence. */
#define CLI_KEEPS_RATES                                                                \
    "copies slept for the time that the model gives their links, so that much of the " \
    "step is the model's own time, and the order of steps largely that of the sleeps."

/** Says so if the option is given; likewise to be called after results. */
void cli_warn_rates(const cli_replay_options *options);

#endif /* EMP_CLI_REPLAY_REPLAY_OPTIONS_H */
