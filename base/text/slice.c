// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/text/slice.h"

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

bool emp_slice_ends(emp_slice slice, const char *text)
{
    size_t size = strlen(text);

    return slice.size >= size && memcmp(slice.data + slice.size - size, text, size) == 0;
}

size_t emp_slice_find(emp_slice slice, const char *word)
{
    const size_t length = strlen(word);
    const char  *at = slice.data, *end = slice.data + slice.size;

    while ((at = memchr(at, word[0], (size_t)(end - at))) != NULL &&
           (size_t)(end - at) >= length) {
        if (memcmp(at, word, length) == 0) return (size_t)(at - slice.data);
        at++;
    }
    return slice.size;
}

bool emp_slice_has(emp_slice slice, const char *word)
{
    return emp_slice_find(slice, word) < slice.size;
}

emp_slice emp_slice_trim(emp_slice slice)
{
    while (slice.size > 0 && is_blank(slice.data[0])) slice = emp_slice_behind(slice, 1);
    while (slice.size > 0 && is_blank(slice.data[slice.size - 1])) slice.size--;
    return slice;
}

bool emp_slice_cut(emp_slice *part, emp_slice *rest, const char *word)
{
    const size_t at = emp_slice_find(*rest, word);

    if (at == rest->size) return false;
    *part = (emp_slice){rest->data, at};
    *rest = emp_slice_behind(*rest, at + strlen(word));
    return true;
}

bool emp_slice_next_line(emp_slice *line, emp_slice *rest)
{
    if (rest->size == 0) return false;
    if (!emp_slice_cut(line, rest, "\n")) {
        *line = *rest;
        *rest = emp_slice_behind(*rest, rest->size);
    }
    if (line->size > 0 && line->data[line->size - 1] == '\r') line->size--;
    return true;
}

bool emp_slice_next_word(emp_slice *word, emp_slice *rest)
{
    size_t size = 0;

    *rest = emp_slice_trim(*rest);
    while (size < rest->size && !is_blank(rest->data[size])) size++;
    *word = (emp_slice){rest->data, size};
    *rest = emp_slice_behind(*rest, size);
    return size > 0;
}

void emp_slice_copy(char *to, size_t size, emp_slice slice)
{
    const size_t length = slice.size < size ? slice.size : size - 1;

    for (size_t i = 0; i < length; i++)
        to[i] = slice.data[i] >= ' ' && slice.data[i] <= '~' ? slice.data[i] : '?';
    to[length] = '\0';
}
