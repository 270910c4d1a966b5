/** \file cli/options/replay_options.h
 * The options of commands that execute steps on this computer: `replay`, `validate` and
 * `calibrate measure`.
 */
#ifndef EMP_CLI_OPTIONS_REPLAY_OPTIONS_H
#define EMP_CLI_OPTIONS_REPLAY_OPTIONS_H

#include <argp.h>

#include "replay/options.h"
#include "sim/machine/machine.h"

typedef struct {
    const char        *cores;   /**< of devices, as a map that a plan can read; or NULL */
    emp_replay_options options; /**< steps, warm-up, memory, rates */
} cli_replay_options;

/** Options and their parser. A command adds it as an argp child with its cli_replay_options
 * as input, which begin with emp_replay_options_default(). */
extern const struct argp cli_replay_argp;

/** Whether the backend is this computer's cores, and the machine has GPUs that no calibration
 * describes as cores: predictions are then not of what is measured. */
bool cli_is_uncalibrated(const emp_machine *machine, const char *backend);

/** Says so: to be called after results, so that an error is one sentence. */
void cli_warn_uncalibrated(const char *machine);

#endif /* EMP_CLI_OPTIONS_REPLAY_OPTIONS_H */
