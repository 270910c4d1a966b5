// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/text/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void emp_text_add(emp_text *text, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int length = vsnprintf(text->at + text->used, text->size - text->used, format, args);
    va_end(args);
    if (length > 0) text->used += (size_t)length;
    if (text->used >= text->size) text->used = text->size - 1;
}

void emp_text_add_word(emp_text *text, const char *word)
{
    const bool is_plain =
        word[0] != '\0' && strpbrk(word, " \t\n\"'`$&*?;()<>|\\") == NULL;

    if (is_plain) {
        emp_text_add(text, "%s", word);
        return;
    }
    emp_text_add(text, "'");
    for (size_t length; *word != '\0'; word += length) {
        length = strcspn(word, "'");
        emp_text_add(text, "%.*s", (int)length, word);
        if (word[length] == '\0') continue;
        emp_text_add(text, "'\\''");
        length++;
    }
    emp_text_add(text, "'");
}

void emp_text_add_option(emp_text *text, const char *name, const char *value)
{
    if (value == NULL || value[0] == '\0') return;
    emp_text_add(text, " --%s ", name);
    emp_text_add_word(text, value);
}

const char *emp_text_shorten(const char *name, size_t length, size_t width, char *buffer)
{
    size_t head = (width - 3) / 2, tail = width - 3 - head;

    if (length <= width) {
        memcpy(buffer, name, length);
        buffer[length] = '\0';
        return buffer;
    }
    memcpy(buffer, name, head);
    memcpy(buffer + head, "...", 3);
    memcpy(buffer + head + 3, name + length - tail, tail);
    buffer[width] = '\0';
    return buffer;
}

bool emp_text_copy(char *to, size_t size, const char *from, size_t length)
{
    size_t kept = length;

    if (kept >= size) {
        kept = size - 1;
        while (kept > 0 && (from[kept] & 0xC0) == 0x80) kept--;
    }
    memcpy(to, from, kept);
    to[kept] = '\0';
    return kept == length;
}

size_t emp_utf8_length(const char *text, size_t left)
{
    static const struct {
        unsigned char first, last, least, most; /* of the second byte */
        size_t        length;
    } forms[] = {
        {0x00, 0x7F, 0, 0, 1},       {0xC2, 0xDF, 0x80, 0xBF, 2},
        {0xE0, 0xE0, 0xA0, 0xBF, 3}, {0xE1, 0xEC, 0x80, 0xBF, 3},
        {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3},
        {0xF0, 0xF0, 0x90, 0xBF, 4}, {0xF1, 0xF3, 0x80, 0xBF, 4},
        {0xF4, 0xF4, 0x80, 0x8F, 4},
    };
    const unsigned char *at = (const unsigned char *)text;

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (at[0] < forms[i].first || at[0] > forms[i].last) continue;
        if (forms[i].length == 1) return 1;
        if (left < forms[i].length) return 0;
        if (at[1] < forms[i].least || at[1] > forms[i].most) return 0;
        for (size_t k = 2; k < forms[i].length; k++)
            if ((at[k] & 0xC0) != 0x80) return 0;
        return forms[i].length;
    }
    return 0;
}

bool emp_text_is_utf8(const char *text)
{
    size_t length = strlen(text);

    for (size_t i = 0, step; i < length; i += step) {
        step = emp_utf8_length(text + i, length - i);
        if (step == 0) return false;
    }
    return true;
}

bool emp_text_ends_in(const char *name, const char *ending)
{
    const size_t length = strlen(name), tail = strlen(ending);

    return length > tail && strcmp(name + length - tail, ending) == 0;
}

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
