// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options/task_list.h"

#include "cli/cli.h"

emp_status cli_task_list_add(emp_task_list *list, const char *words, emp_error *err)
{
    EMP_CHECK(emp_task_list_add(list, words, err));
    if (list->absent_count > 0)
        cli_warn(
            "%d published instance%s left out, as the files are not there; the first "
            "is %s, and emplace instances %s says where to get it",
            list->absent_count, list->absent_count == 1 ? " is" : "s are", list->absent,
            list->absent);
    return EMP_OK;
}
