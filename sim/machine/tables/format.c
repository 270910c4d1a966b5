// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/machine/tables/format.h"

#include <string.h>

static const struct {
    const char *name;
    int32_t     bytes;
} formats[] = {
#define X(format, name, bytes) {name, bytes},
    EMP_FORMAT_LIST(X)
#undef X
};

const char *emp_format_name(emp_format format) { return formats[format].name; }

int32_t emp_format_bytes(emp_format format) { return formats[format].bytes; }

emp_status emp_format_parse(emp_format *format, const char *name, emp_error *err)
{
    for (int32_t f = 0; f < EMP_FORMATS; f++) {
        if (strcmp(formats[f].name, name) != 0) continue;
        *format = (emp_format)f;
        return EMP_OK;
    }
    if (strcmp(name, "half") == 0) {
        *format = EMP_FORMAT_FP16;
        return EMP_OK;
    }
    return EMP_ERROR(
        EMP_EINVAL,
        "\"%.40s\" is no number format; known: fp32, tf32, bf16, fp16, fp8, int8", name);
}
