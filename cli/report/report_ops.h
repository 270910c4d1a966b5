/** \file cli/report/report_ops.h
 * What the time of each device goes into, for people and as JSON.
 */
#ifndef EMP_CLI_REPORT_OPS_H
#define EMP_CLI_REPORT_OPS_H

#include <jansson.h>

#include "sim/explain/explain.h"

/** The object under "ops" of a device of docs/explain.md; NULL when memory is out. */
json_t *cli_ops_json(const emp_problem *problem, const emp_explain *why,
                     emp_device_id device);

/** The same in tables on standard output, for each device that runs ops. */
void cli_ops_print(const emp_problem *problem, const emp_explain *why);

#endif /* EMP_CLI_REPORT_OPS_H */
