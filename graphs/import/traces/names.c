// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/traces/names.h"

#include <ctype.h>
#include <string.h>

void emp_trace_put_text(char part[EMP_TRACE_PART_BYTES], const char *text, size_t length)
{
    size_t used = 0;

    for (size_t i = 0; i < length && used < EMP_TRACE_PART_BYTES - 1; i++) {
        unsigned char c = (unsigned char)text[i];
        part[used++] = (char)(isalnum(c) || (c != 0 && strchr(":.-#", c)) ? c : '_');
    }
    part[used] = '\0';
}

void emp_trace_put_kernel(char part[EMP_TRACE_PART_BYTES], const char *name,
                          size_t length)
{
    static const char word[] = "void ";
    size_t            start = 0, end = 0;

    while (end < length && name[end] != '<' && name[end] != '(') end++;
    if (end > sizeof word - 1 && memcmp(name, word, sizeof word - 1) == 0)
        start = sizeof word - 1;
    for (size_t i = start; memchr(name, '(', length) != NULL && i + 1 < end; i++)
        if (name[i] == ':' && name[i + 1] == ':') start = i + 2;
    while (end > start && name[end - 1] == ' ') end--;
    if (start >= end) {
        start = 0;
        end = length;
    }
    emp_trace_put_text(part, name + start, end - start);
}
