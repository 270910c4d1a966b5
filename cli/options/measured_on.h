/** \file cli/options/measured_on.h
 * `--as MODEL`: measured times are those of another GPU, and are scaled to the GPUs of the machine.
 */
#ifndef EMP_CLI_OPTIONS_MEASURED_ON_H
#define EMP_CLI_OPTIONS_MEASURED_ON_H

#include "cli/options/inputs.h"
#include "sim/cost/given.h"
#include "sim/machine/model.h"

/** Reads the device model of --as, if there is one: \a source stays empty without. The caller clears \a model.
 * \retval EMP_EINVAL  The model is a CPU. \retval EMP_EIO, EMP_EFORMAT  As emp_device_model_load(). */
emp_status cli_measured_on_load(emp_given_source *source, emp_device_model *model,
                                const cli_inputs *inputs, emp_error *err);

/** Scales the kernels of a trace, if the graph is one. Without --as it warns where the trace's GPU is none of the
 * machine. \retval EMP_EINVAL  --as is given for a graph that is no trace, without --costs. */
emp_status cli_measured_on_take(cli_inputs *inputs, const emp_given_source *source,
                                emp_error *err);

/** Prints what became of the kernels of a trace; nothing without --as. */
void cli_measured_on_print(const cli_inputs *inputs);

/** The same: {"from": "h100-sxm", "to": [{"model": ..., "kernels": [...]}]}; NULL: there is nothing. */
json_t *cli_measured_on_json(const cli_inputs *inputs);

#endif /* EMP_CLI_OPTIONS_MEASURED_ON_H */
