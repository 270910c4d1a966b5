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

bool emp_text_ends_in(const char *name, const char *ending)
{
    const size_t length = strlen(name), tail = strlen(ending);

    return length > tail && strcmp(name + length - tail, ending) == 0;
}
