/** \file cli/options/task_list.h
 * The value of --tasks.
 */
#ifndef EMP_CLI_OPTIONS_TASK_LIST_H
#define EMP_CLI_OPTIONS_TASK_LIST_H

#include "bench/compare/tasks.h"

/** emp_task_list_add(), which warns of published instances that are left out. */
emp_status cli_task_list_add(emp_task_list *list, const char *words, emp_error *err);

#endif /* EMP_CLI_OPTIONS_TASK_LIST_H */
