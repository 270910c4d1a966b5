/** \file cli/report_what_if.h
 * What would shorten a step, for people and as JSON.
 */
#ifndef EMP_CLI_REPORT_WHAT_IF_H
#define EMP_CLI_REPORT_WHAT_IF_H

#include <jansson.h>

#include "sim/explain/what_if.h"

/** The object under "what_if" of docs/explain.md; NULL when memory is out. */
json_t *cli_what_if_json(const emp_problem *problem, const emp_explain *why,
                         const emp_what_if *what_if);

/** The same as lines on standard output. */
void cli_what_if_print(const emp_problem *problem, const emp_explain *why,
                       const emp_what_if *what_if);

#endif /* EMP_CLI_REPORT_WHAT_IF_H */
