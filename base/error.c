// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

const char *emp_status_str(emp_status status)
{
    switch (status) {
#define X(name, value, text) \
    case name: return text;
        EMP_STATUS_LIST(X)
#undef X
    }
    return "unknown status";
}

emp_status emp_error_set(emp_error *err, emp_status status, const char *file, int line,
                         const char *fmt, ...)
{
    if (err != NULL && err->status == EMP_OK) {
        va_list args;
        err->status = status;
        err->file = file;
        err->line = line;
        va_start(args, fmt);
        vsnprintf(err->msg, sizeof err->msg, fmt, args);
        va_end(args);
    }
    return status;
}
