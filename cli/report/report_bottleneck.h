/** \file cli/report_bottleneck.h
 * What bounds a step most, for people and as JSON.
 */
#ifndef EMP_CLI_REPORT_BOTTLENECK_H
#define EMP_CLI_REPORT_BOTTLENECK_H

#include <jansson.h>

#include "sim/explain/explain.h"

/** The object under "bottleneck" of docs/explain.md; NULL when memory is out. */
json_t *cli_bottleneck_json(const emp_problem *problem, const emp_explain *why);

/** The same in sentences on standard output, for readers who see an explanation for the
 * first time. */
void cli_bottleneck_print(const emp_problem *problem, const emp_explain *why);

#endif /* EMP_CLI_REPORT_BOTTLENECK_H */
