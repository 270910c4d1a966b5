// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/text/text.h"

#include <stdarg.h>
#include <stdio.h>

void emp_text_add(emp_text *text, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int length = vsnprintf(text->at + text->used, text->size - text->used, format, args);
    va_end(args);
    if (length > 0) text->used += (size_t)length;
    if (text->used >= text->size) text->used = text->size - 1;
}
