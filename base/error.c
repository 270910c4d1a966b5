// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* There is room for the longest path and a sentence. */
enum { WHOLE_BYTES = 5000 };

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

/* Keeps both ends of a message that is too long, because the reason stands at the end. */
static void shorten(char msg[EMP_ERROR_MSG_BYTES], const char *whole, size_t length)
{
    static const char gap[] = "...";
    size_t            head = EMP_ERROR_MSG_BYTES / 2, tail = head - sizeof gap;

    while (head > 0 && (whole[head] & 0xC0) == 0x80) head--; /* whole characters */
    while (tail > 0 && (whole[length - tail] & 0xC0) == 0x80) tail--;
    snprintf(msg, EMP_ERROR_MSG_BYTES, "%.*s%s%s", (int)head, whole, gap,
             whole + length - tail);
}

emp_status emp_error_set(emp_error *err, emp_status status, const char *file, int line,
                         const char *fmt, ...)
{
    if (err != NULL && err->status == EMP_OK) {
        char    whole[WHOLE_BYTES];
        va_list args;
        err->status = status;
        err->file = file;
        err->line = line;
        va_start(args, fmt);
        vsnprintf(whole, sizeof whole, fmt, args);
        va_end(args);
        const size_t length = strlen(whole);
        if (length < sizeof err->msg)
            memcpy(err->msg, whole, length + 1);
        else
            shorten(err->msg, whole, length);
    }
    return status;
}
