/** \file cli/report/report_machine.h
 * `emplace machines show` and `emplace machines check`.
 */
#ifndef EMP_CLI_REPORT_REPORT_MACHINE_H
#define EMP_CLI_REPORT_REPORT_MACHINE_H

#include "run/sheet/sheet.h"
#include "sim/machine/machine.h"

/** Prints the way between each pair of devices: links, rate, and the time of three sizes. */
emp_status cli_machine_show(const emp_machine *machine, emp_sheet_format format,
                            emp_error *err);

/** The constants that follow from cards: a list of model, constant, value and rule. */
json_t *cli_machine_derived(const emp_machine *machine);

/** Prints a line that counts the derived constants of each model, for the report of a placement. The machine
 * has some. */
void cli_machine_print_derived(const emp_machine *machine);

/** Prints all that is implausible: as text a line for each, or that nothing is.
 * \retval EMP_EINVAL  Something is. */
emp_status cli_machine_check(const emp_machine *machine, emp_sheet_format format,
                             emp_error *err);

#endif /* EMP_CLI_REPORT_REPORT_MACHINE_H */
