// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/text/collective.h"

#include <stdint.h>
#include <string.h>

const char *emp_collective_name(emp_collective op)
{
    static const char *const names[EMP_COLLECTIVES] = {"all_reduce", "all_gather",
                                                       "reduce_scatter", "alltoall"};

    return names[op];
}

emp_status emp_collective_parse(emp_collective *op, const char *name, emp_error *err)
{
    for (int32_t c = 0; c < EMP_COLLECTIVES; c++) {
        if (strcmp(emp_collective_name((emp_collective)c), name) != 0) continue;
        *op = (emp_collective)c;
        return EMP_OK;
    }
    return EMP_ERROR(EMP_EINVAL,
                     "\"%.40s\" is no collective; known: all_reduce, all_gather, "
                     "reduce_scatter, alltoall",
                     name);
}
