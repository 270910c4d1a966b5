// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/graph/op.h"

#include <stdlib.h>
#include <string.h>

emp_arithmetic emp_arithmetic_of(double cycles, double elements)
{
    if (cycles < 8.0 * elements) return EMP_ARITHMETIC_ADD;
    return cycles < 20.0 * elements ? EMP_ARITHMETIC_DIVIDE : EMP_ARITHMETIC_EXP;
}

bool emp_is_gradient_name(const char *name)
{
    return strncmp(name, "gradients", 9) == 0 && strchr(name, '/') != NULL;
}

size_t emp_forward_of_gradient(const char *name, const char **forward)
{
    if (!emp_is_gradient_name(name)) return 0;
    const char *slash = strchr(name, '/'), *end = strstr(slash, "_grad/");
    *forward = slash + 1;
    return end == NULL ? 0 : (size_t)(end - *forward);
}

int32_t emp_cell_of_name(const char *name, size_t *length)
{
    *length = 0;
    for (const char *at = strstr(name, "/cell_"); at != NULL;
         at = strstr(at + 1, "/cell_")) {
        char *end = NULL;
        long  cell = strtol(at + 6, &end, 10);
        if (end > at + 6 && (*end == '/' || *end == '_') && cell >= 0 &&
            cell <= INT32_MAX) {
            *length = (size_t)(end - name);
            return (int32_t)cell;
        }
    }
    return -1;
}
