// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/machine/import/import_internal.h"

#include <stdlib.h>
#include <string.h>

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '-' || c == '_' || c == '.' || c == ':';
}

static bool begins_with(const char *at, const char *end, const char *text)
{
    const size_t length = strlen(text);

    return (size_t)(end - at) >= length && memcmp(at, text, length) == 0;
}

bool emp_xml_is(const char *text, size_t size)
{
    const char *end = text + size;

    if (begins_with(text, end, "\xef\xbb\xbf")) text += 3;
    while (text < end && is_blank(*text)) text++;
    return end - text > 1 && text[0] == '<' &&
           (text[1] == '?' || text[1] == '!' || is_name(text[1]));
}

static emp_status fail(const emp_xml *x, const char *what, emp_error *err)
{
    return EMP_ERROR(EMP_EFORMAT, "%s:%d: not XML: %s", x->path, x->line + 1, what);
}

/* Goes on to a place of the text. */
static void advance(emp_xml *x, const char *to)
{
    for (; x->at < to; x->at++) x->line += *x->at == '\n';
}

/* Goes behind the next \a mark. */
static emp_status skip_past(emp_xml *x, const char *mark, emp_error *err)
{
    const size_t length = strlen(mark);

    for (const char *at = x->at; (size_t)(x->end - at) >= length; at++) {
        if (memcmp(at, mark, length) != 0) continue;
        advance(x, at + length);
        return EMP_OK;
    }
    return fail(x, "the file ends within a comment or declaration", err);
}

/* Comments, declarations and the document type. \return whether there was one. */
static emp_status skip_other(emp_xml *x, bool *was_there, emp_error *err)
{
    *was_there = true;
    if (begins_with(x->at, x->end, "<!--")) return skip_past(x, "-->", err);
    if (begins_with(x->at, x->end, "<?")) return skip_past(x, "?>", err);
    if (begins_with(x->at, x->end, "<!")) return skip_past(x, ">", err);
    *was_there = false;
    return EMP_OK;
}

static emp_slice read_name(const char *at, const char *end)
{
    const char *from = at;

    while (at < end && is_name(*at)) at++;
    return (emp_slice){from, (size_t)(at - from)};
}

/* "</name>" */
static emp_status read_close(emp_xml *x, emp_error *err)
{
    x->name = read_name(x->at + 2, x->end);
    const char *at = x->name.data + x->name.size;
    while (at < x->end && is_blank(*at)) at++;
    if (at == x->end || *at != '>') return fail(x, "a tag without its end", err);
    if (x->depth == 0 || x->open[x->depth - 1].size != x->name.size ||
        memcmp(x->open[x->depth - 1].data, x->name.data, x->name.size) != 0)
        return fail(x, "a tag closes what is not open", err);
    advance(x, at + 1);
    x->event = EMP_XML_CLOSE;
    return EMP_OK;
}

/* "<name key="value" ...>" or "<name ... />"; a value may hold a '>' */
static emp_status read_open(emp_xml *x, emp_error *err)
{
    char        quote = '\0';
    const char *at;

    x->name = read_name(x->at + 1, x->end);
    if (x->name.size == 0) return fail(x, "'<' without a name", err);
    for (at = x->name.data + x->name.size; at < x->end && (quote || *at != '>'); at++) {
        if (quote == *at)
            quote = '\0';
        else if (quote == '\0' && (*at == '"' || *at == '\''))
            quote = *at;
    }
    if (at == x->end) return fail(x, "a tag without its end", err);
    if (x->depth == EMP_XML_DEPTH) return fail(x, "more than 64 elements deep", err);
    x->is_empty = at[-1] == '/' && at > x->name.data + x->name.size;
    const char *from = x->name.data + x->name.size;
    x->attributes = (emp_slice){from, (size_t)(at - from) - x->is_empty};
    x->open[x->depth++] = x->name;
    advance(x, at + 1);
    x->event = EMP_XML_OPEN;
    return EMP_OK;
}

/* The text up to the next tag, if there is more than blanks. */
static bool read_text(emp_xml *x)
{
    const char *from = x->at;
    const char *to = memchr(from, '<', (size_t)(x->end - from));

    if (to == NULL) to = x->end;
    advance(x, to);
    while (from < to && is_blank(*from)) from++;
    while (to > from && is_blank(to[-1])) to--;
    x->text = (emp_slice){from, (size_t)(to - from)};
    x->event = EMP_XML_TEXT;
    return from < to;
}

emp_status emp_xml_next(emp_xml *x, emp_error *err)
{
    bool was_other = true;

    if (x->event == EMP_XML_CLOSE) x->depth--;
    if (x->event == EMP_XML_OPEN && x->is_empty) {
        x->event = EMP_XML_CLOSE;
        return EMP_OK;
    }
    while (x->at < x->end && was_other) {
        if (read_text(x)) return EMP_OK;
        if (x->at < x->end) EMP_CHECK(skip_other(x, &was_other, err));
    }
    if (x->at == x->end) {
        if (x->depth > 0) return fail(x, "the file ends within an element", err);
        x->event = EMP_XML_END;
        return EMP_OK;
    }
    return begins_with(x->at, x->end, "</") ? read_close(x, err) : read_open(x, err);
}

/* ---- values ---- */

/* The character that an entity stands for; 0: it is none. \a length is with '&' and ';'. */
static char entity(const char *at, const char *end, size_t *length)
{
    static const struct {
        const char *name;
        char        is;
    } names[] = {
        {"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        *length = strlen(names[i].name);
        if (begins_with(at, end, names[i].name)) return names[i].is;
    }
    if (!begins_with(at, end, "&#")) return '\0';
    const char *stop = memchr(at, ';', (size_t)(end - at));
    if (stop == NULL || stop - at > 8) return '\0';
    const bool is_hex = at[2] == 'x';
    long       code = strtol(at + 2 + is_hex, NULL, is_hex ? 16 : 10);
    *length = (size_t)(stop - at) + 1;
    return code >= ' ' && code <= '~' ? (char)code : '?';
}

void emp_xml_copy(char *to, size_t size, emp_slice text)
{
    const char *end = text.data + text.size;
    size_t      used = 0;

    for (const char *at = text.data; at < end && used + 1 < size;) {
        size_t length = 1;
        char   c = *at == '&' ? entity(at, end, &length) : *at;
        if (c == '\0') length = 1;
        to[used++] = (char)(c >= ' ' && c <= '~' ? c : '?');
        at += length;
    }
    to[used] = '\0';
}

bool emp_xml_attribute(const emp_xml *x, const char *name, char *to, size_t size)
{
    const char *at = x->attributes.data, *end = at + x->attributes.size;

    to[0] = '\0';
    while (at < end) {
        while (at < end && !is_name(*at)) at++;
        const emp_slice key = read_name(at, end);
        at += key.size;
        while (at < end && (is_blank(*at) || *at == '=')) at++;
        if (at == end || (*at != '"' && *at != '\'')) continue;
        const char *stop = memchr(at + 1, *at, (size_t)(end - at - 1));
        if (stop == NULL) return false;
        if (emp_slice_is(key, name)) {
            emp_xml_copy(to, size, (emp_slice){at + 1, (size_t)(stop - at - 1)});
            return true;
        }
        at = stop + 1;
    }
    return false;
}
