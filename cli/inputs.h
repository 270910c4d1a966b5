/** \file cli/inputs.h
 * What commands work on: a graph from a spec or a file, on a machine, under a runtime.
 */
#ifndef EMP_CLI_INPUTS_H
#define EMP_CLI_INPUTS_H

#include "sim/placement/problem.h"

/** Zero-initialise; cli_inputs_clear() releases it, also after a failure. */
typedef struct {
    emp_graph   *whole; /**< as the front end made it */
    emp_graph   *step;  /**< what one training step runs */
    emp_machine *machine;
    emp_problem *problem;
} cli_inputs;

/** Loads the two graphs of a workload spec or graph file, and warns of what had to be
 * assumed. */
emp_status cli_inputs_load_graph(cli_inputs *inputs, const char *spec, emp_error *err);

/** Loads everything. */
emp_status cli_inputs_load(cli_inputs *inputs, const char *spec, const char *machine,
                           const char *runtime, emp_error *err);

void cli_inputs_clear(cli_inputs *inputs);

#endif /* EMP_CLI_INPUTS_H */
