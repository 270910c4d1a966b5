// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/machine/import/smi_text.h"

#include <string.h>

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* The bytes of an escape of a terminal at \a text, "\x1b[4m"; 0: there is none. */
static size_t escape_length(const char *text, const char *end)
{
    const char *at = text + 2;

    if (end - text < 3 || text[0] != '\x1b' || text[1] != '[') return 0;
    while (at < end && (*at == ';' || (*at >= '0' && *at <= '9'))) at++;
    return at == end ? 0 : (size_t)(at - text) + 1;
}

emp_status emp_smi_text_clean(char *text, size_t *size, const char *path, emp_error *err)
{
    const char *end = text + *size, *at = text;
    char       *to = text;

    if (memchr(text, '\0', *size) != NULL)
        return EMP_ERROR(EMP_EFORMAT,
                         "%s has zero bytes, so it is no text; save it as UTF-8 text",
                         path);
    while (at < end) {
        size_t skipped = escape_length(at, end);
        if (skipped == 0)
            *to++ = *at++;
        else
            at += skipped;
    }
    *size = (size_t)(to - text);
    return EMP_OK;
}

bool emp_smi_next_line(emp_smi_reader *reader)
{
    if (reader->at == reader->end) return false;
    const char *feed = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
    const char *stop = feed == NULL ? reader->end : feed;
    reader->line = (emp_smi_span){reader->at, (size_t)(stop - reader->at)};
    reader->at = feed == NULL ? reader->end : feed + 1;
    reader->number++;
    return true;
}

bool emp_smi_next_word(emp_smi_span *rest, emp_smi_span *word)
{
    size_t from = 0, to;

    while (from < rest->length && is_blank(rest->at[from])) from++;
    for (to = from; to < rest->length && !is_blank(rest->at[to]);) to++;
    *word = (emp_smi_span){rest->at + from, to - from};
    *rest = (emp_smi_span){rest->at + to, rest->length - to};
    return word->length > 0;
}

emp_smi_span emp_smi_trim(emp_smi_span span)
{
    while (span.length > 0 && is_blank(span.at[0])) {
        span.at++;
        span.length--;
    }
    while (span.length > 0 && is_blank(span.at[span.length - 1])) span.length--;
    return span;
}

bool emp_smi_equals(emp_smi_span span, const char *text)
{
    return span.length == strlen(text) && memcmp(span.at, text, span.length) == 0;
}

void emp_smi_copy(char *to, size_t size, emp_smi_span span)
{
    size_t length = span.length < size ? span.length : size - 1;

    for (size_t i = 0; i < length; i++)
        to[i] = span.at[i] >= ' ' && span.at[i] <= '~' ? span.at[i] : '?';
    to[length] = '\0';
}
