/** \file cli/options/costs.h
 * --costs FILE: CSV of sim/cost/given.h, a RunMetadata of TensorFlow, or a profile of ONNX Runtime.
 */
#ifndef EMP_CLI_OPTIONS_COSTS_H
#define EMP_CLI_OPTIONS_COSTS_H

#include "cli/options/inputs.h"

/** Puts the times of inputs->costs, if it is not NULL, in the place of predicted ones in the loaded problem, and says how
 * many ops have one. The content of the file tells its format.
 * \retval EMP_EIO, EMP_EFORMAT, EMP_EUNSUPPORTED  As the reader of that file.
 * \retval EMP_EINVAL  Nothing in it is of the graph and the machine. \retval EMP_ENOMEM */
emp_status cli_costs_take(cli_inputs *inputs, const emp_runtime *profile, emp_error *err);

#endif /* EMP_CLI_OPTIONS_COSTS_H */
