/** \file cli/report/report_sensitivity.h
 * What an answer owes to derived constants of the machine, for people and as JSON.
 */
#ifndef EMP_CLI_REPORT_REPORT_SENSITIVITY_H
#define EMP_CLI_REPORT_REPORT_SENSITIVITY_H

#include <jansson.h>

#include "run/sensitivity.h"

/** Object with runner_up and constants; NULL when memory is out. */
json_t *cli_sensitivity_json(const emp_sensitivity *s);

/** The constants that change a step by 0.5 % or more, those that change it most first. */
void cli_sensitivity_print(const emp_sensitivity *s);

#endif /* EMP_CLI_REPORT_REPORT_SENSITIVITY_H */
