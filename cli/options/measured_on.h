/** \file cli/options/measured_on.h
 * `--as MODEL`: measured times belong to another GPU, and are scaled to the GPUs of the machine.
 */
#ifndef EMP_CLI_OPTIONS_MEASURED_ON_H
#define EMP_CLI_OPTIONS_MEASURED_ON_H

#include <jansson.h>

#include "sim/cost/given.h"
#include "sim/cost/transfer.h"
#include "sim/machine/model.h"
#include "sim/problem/problem.h"

/** Zero-initialise; cli_measured_on_clear() releases it. */
typedef struct {
    const char *model;        /**< of --as; NULL: times belong to the machine's GPUs */
    char        gpu_name[64]; /**< that a trace says it is of; "" = none */
    emp_transfer
        *transfer; /**< what became of its kernels; NULL: they keep their times */
} cli_measured_on;

/** Reads the device model, if there is one: \a source stays empty without. The caller clears \a model.
 * \retval EMP_EINVAL  The model is a CPU. \retval EMP_EIO, EMP_EFORMAT  As emp_device_model_load(). */
emp_status cli_measured_on_load(emp_given_source *source, emp_device_model *model,
                                const char *name, emp_error *err);

/** Scales the kernels of a trace, if the problem's graph is one. Without a source it warns where the trace's GPU is
 * none of the machine.
 * \retval EMP_EINVAL  There is a source for a graph that is no trace, and no file of costs. */
emp_status cli_measured_on_take(cli_measured_on *of, emp_problem *problem,
                                const emp_given_source *source, bool has_costs,
                                emp_error *err);

/** Prints what became of the kernels of a trace; nothing if they keep their times. */
void cli_measured_on_print(const cli_measured_on *of);

/** The same: {"from": "h100-sxm", "to": [{"model": ..., "kernels": [...]}]}; NULL: there is nothing. */
json_t *cli_measured_on_json(const cli_measured_on *of);

void cli_measured_on_clear(cli_measured_on *of);

#endif /* EMP_CLI_OPTIONS_MEASURED_ON_H */
