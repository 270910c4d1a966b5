// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/pytorch/problems.h"

#include <stdio.h>
#include <string.h>

emp_status emp_problems_add(emp_problems *p, emp_status status, const emp_error *reason,
                            emp_error *err)
{
    size_t used = strlen(p->text), room = sizeof p->text - used;

    if (status == EMP_OK) return EMP_OK;
    if (status != EMP_EFORMAT)
        return emp_error_set(err, status, reason->file, reason->line, "%s", reason->msg);
    p->count++;
    if (p->shown == EMP_PROBLEMS_SHOWN ||
        (p->shown > 0 && strlen(reason->msg) + 3 > room))
        return EMP_OK;
    snprintf(p->text + used, room, "%s%s", p->shown > 0 ? "; " : "", reason->msg);
    p->shown++;
    return EMP_OK;
}

emp_status emp_problems_report(const emp_problems *p, emp_error *err)
{
    if (p->count == 0) return EMP_OK;
    if (p->count == p->shown) return EMP_ERROR(EMP_EFORMAT, "%s", p->text);
    return EMP_ERROR(EMP_EFORMAT, "%s; and %d more problems", p->text,
                     p->count - p->shown);
}
