/** \file cli/options/inputs.h
 * What commands work on: a graph from a spec or a file, on a machine, under a runtime.
 */
#ifndef EMP_CLI_OPTIONS_INPUTS_H
#define EMP_CLI_OPTIONS_INPUTS_H

#include "sim/problem/problem.h"

/** Zero-initialise; cli_inputs_clear() releases it, also after a failure. */
typedef struct {
    emp_graph   *whole; /**< as the front end made it */
    emp_graph   *step;  /**< what one training step runs */
    emp_machine *machine;
    emp_problem *problem;
} cli_inputs;

/** The machine that a benchmark instance states in its own file, as a name. */
#define CLI_INSTANCE_MACHINE "instance"

/** For the options that name machine and runtime of cli_inputs_load(). */
#define CLI_MACHINE_HELP                                                            \
    "Machine to place on (emplace machines lists them); a benchmark instance that " \
    "states "                                                                       \
    "its own needs none"
#define CLI_RUNTIME_HELP                                               \
    "Runtime profile (default tf-r1.3; on the machine of an instance " \
    "msr-latency): " EMP_RUNTIME_NAMES

#define CLI_OBJECTIVE_HELP                                                           \
    "step-time (default), or max-load: the time per sample of a pipeline, which is " \
    "that of its busiest device. It is what --runtime msr-load calls a step"

/** \return whether --objective asks for the maximum load; a usage error if it is neither of
 * two. */
bool cli_asks_max_load(const char *objective);

/** The runtime of that objective; a usage error if another one is given. */
const char *cli_runtime_of_max_load(const char *runtime);

/** A usage error if no machine is given for a workload that cannot state one. */
void cli_require_machine(const char *spec, const char *machine);

/** Loads the two graphs of a workload spec or graph file, and warns of what had to be
 * assumed. */
emp_status cli_inputs_load_graph(cli_inputs *inputs, const char *spec, emp_error *err);

/** Loads everything. With \a machine NULL or CLI_INSTANCE_MACHINE it is the one that the file
 * states; with \a runtime NULL it is msr-latency on that machine, by whose rules such files are
 * meant, and tf-r1.3 on others.
 * \retval EMP_EINVAL  No machine is given, and the spec states none. */
emp_status cli_inputs_load(cli_inputs *inputs, const char *spec, const char *machine,
                           const char *runtime, emp_error *err);

void cli_inputs_clear(cli_inputs *inputs);

#endif /* EMP_CLI_OPTIONS_INPUTS_H */
