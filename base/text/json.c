// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/text/json.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "base/text/file.h"
#include "base/text/text.h"
#include "base/text/units.h"

/* Members of one list follow one another, each with what is in it. */
struct emp_json {
    emp_json_kind kind;
    bool          is_last; /* of its list */
    uint32_t      span;    /* values from here to the next member, at least 1 */
    int32_t       count;   /* members */
    const char   *key;
    union {
        const char *string;
        int64_t     integer;
        double      real;
    };
};

typedef struct {
    emp_json_document *document;
    const char        *at, *end;
    char              *free; /* where the next string goes */
    int32_t            line, depth;
} reader;

/* ---- characters ---- */

static char *put_character(char *to, uint32_t code)
{
    static const uint32_t lead[] = {0, 0xC0, 0xE0, 0xF0};
    int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;

    *to++ = (char)(lead[more] | code >> 6 * more);
    while (more-- > 0) *to++ = (char)(0x80u | (code >> 6 * more & 0x3Fu));
    return to;
}

/* How many characters need no escape. */
static size_t plain_length(const char *text)
{
    size_t count = 0;

    while ((unsigned char)text[count] >= 0x20 && text[count] != '"' &&
           text[count] != '\\')
        count++;
    return count;
}

static void write_escape(FILE *stream, char c)
{
    if (c == '"' || c == '\\')
        fprintf(stream, "\\%c", c);
    else
        fprintf(stream, "\\u%04X", (unsigned)(unsigned char)c);
}

bool emp_json_write_string(FILE *stream, const char *text)
{
    if (!emp_text_is_utf8(text)) return false;
    fputc('"', stream);
    while (*text != '\0') {
        const size_t plain = plain_length(text);
        fwrite(text, 1, plain, stream);
        text += plain;
        if (*text != '\0') write_escape(stream, *text++);
    }
    fputc('"', stream);
    return true;
}

/* ---- tokens ---- */

#define FAULT(r, ...) fault((r), err, __VA_ARGS__)

EMP_PRINTF_LIKE(3, 4)
static emp_status fault(const reader *r, emp_error *err, const char *format, ...)
{
    char    text[128];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return EMP_ERROR(EMP_EFORMAT, "line %d: not JSON: %s", r->line, text);
}

static void skip_space(reader *r)
{
    for (; r->at < r->end && strchr(" \t\r\n", *r->at) != NULL && *r->at != '\0'; r->at++)
        r->line += *r->at == '\n';
}

static bool take(reader *r, char wanted)
{
    skip_space(r);
    if (r->at == r->end || *r->at != wanted) return false;
    r->at++;
    return true;
}

/* Says what stands where something else should be. */
static emp_status expected(const reader *r, const char *what, emp_error *err)
{
    if (r->at == r->end) return FAULT(r, "the end of the text, expected %s", what);
    if (*r->at < 0x20 || *r->at > 0x7E) {
        return FAULT(r, "byte 0x%02x, expected %s", (unsigned)(unsigned char)*r->at,
                     what);
    }
    return FAULT(r, "'%c', expected %s", *r->at, what);
}

static emp_status read_hex(reader *r, uint32_t *code, emp_error *err)
{
    *code = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        static const char digits[] = "0123456789abcdef0123456789ABCDEF";
        const char *digit = r->at < r->end && *r->at ? strchr(digits, *r->at) : NULL;
        if (digit == NULL) return FAULT(r, "\\u without four hexadecimal digits");
        *code = *code << 4 | (uint32_t)((digit - digits) & 15);
    }
    return EMP_OK;
}

/* Behind "\u". Characters beyond 16 bits are two of them. */
static emp_status read_code(reader *r, emp_error *err)
{
    uint32_t code, low;

    EMP_CHECK(read_hex(r, &code, err));
    if (code == 0) return FAULT(r, "a string with a zero in it");
    if (code >= 0xD800 && code <= 0xDBFF) {
        if (r->end - r->at < 2 || r->at[0] != '\\' || r->at[1] != 'u')
            return FAULT(r, "half of a pair of \\u");
        r->at += 2;
        EMP_CHECK(read_hex(r, &low, err));
        if (low < 0xDC00 || low > 0xDFFF) return FAULT(r, "half of a pair of \\u");
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xDC00 && code <= 0xDFFF) {
        return FAULT(r, "half of a pair of \\u");
    }
    r->free = put_character(r->free, code);
    return EMP_OK;
}

/* Behind a backslash. */
static emp_status read_escape(reader *r, emp_error *err)
{
    static const char written[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";

    if (r->at == r->end || *r->at == '\0') return expected(r, "an escape", err);
    char c = *r->at;
    if (c == 'u') {
        r->at++;
        return read_code(r, err);
    }
    const char *found = strchr(written, c);
    if (found == NULL) return expected(r, "one of \"\\/bfnrtu", err);
    r->at++;
    *r->free++ = meant[found - written];
    return EMP_OK;
}

/* Behind the first quote. An unescaped string is never longer than the escaped one. */
static emp_status read_string(reader *r, const char **string, emp_error *err)
{
    *string = r->free;
    while (r->at < r->end && *r->at != '"') {
        size_t length = emp_utf8_length(r->at, (size_t)(r->end - r->at));
        if (length == 0) return FAULT(r, "a string that is not valid UTF-8");
        if ((unsigned char)*r->at < 0x20)
            return FAULT(r, "a control character in a string");
        if (*r->at == '\\') {
            r->at++;
            EMP_CHECK(read_escape(r, err));
            continue;
        }
        memcpy(r->free, r->at, length);
        r->free += length;
        r->at += length;
    }
    if (r->at == r->end) return FAULT(r, "a string without its end");
    r->at++;
    *r->free++ = '\0';
    return EMP_OK;
}

static size_t count_digits(const char *at, const char *end)
{
    size_t count = 0;

    while (at + count < end && at[count] >= '0' && at[count] <= '9') count++;
    return count;
}

/* Length of the number at \a at; 0 = there is none. */
static size_t number_length(const char *at, const char *end, bool *is_whole)
{
    const char *c = at;
    size_t      digits;

    *is_whole = true;
    if (c < end && *c == '-') c++;
    digits = count_digits(c, end);
    if (digits == 0 || (*c == '0' && digits > 1)) return 0;
    c += digits;
    if (c < end && *c == '.') {
        *is_whole = false;
        if ((digits = count_digits(c + 1, end)) == 0) return 0;
        c += 1 + digits;
    }
    if (c < end && (*c == 'e' || *c == 'E')) {
        *is_whole = false;
        c++;
        if (c < end && (*c == '+' || *c == '-')) c++;
        if ((digits = count_digits(c, end)) == 0) return 0;
        c += digits;
    }
    return (size_t)(c - at);
}

static bool take_word(reader *r, const char *word)
{
    size_t length = strlen(word);

    if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0)
        return false;
    r->at += length;
    return true;
}

static emp_status read_number(reader *r, emp_json *value, emp_error *err)
{
    char   text[400];
    bool   is_whole;
    size_t length = number_length(r->at, r->end, &is_whole);

    value->kind = EMP_JSON_NOT_FINITE;
    if (take_word(r, "NaN") || take_word(r, "Infinity") || take_word(r, "-Infinity"))
        return EMP_OK;
    if (length == 0) return expected(r, "a value", err);
    if (length >= sizeof text) return FAULT(r, "a number of %zu characters", length);
    memcpy(text, r->at, length);
    text[length] = '\0';
    errno = 0;
    value->integer = is_whole ? strtoll(text, NULL, 10) : 0;
    value->kind = EMP_JSON_INTEGER;
    if (!is_whole || errno == ERANGE) {
        value->kind = EMP_JSON_REAL;
        value->real = emp_number_parse(text, NULL);
        if (!isfinite(value->real))
            return FAULT(r, "the number %.40s is too large", text);
    }
    r->at += length;
    return EMP_OK;
}

/* ---- values ---- */

static emp_status add_value(reader *r, size_t *index, const char *key, emp_error *err)
{
    emp_json_document *d = r->document;

    if (d->count == d->capacity) {
        size_t    capacity = d->capacity == 0 ? 64 : 2 * d->capacity;
        emp_json *grown = emp_realloc(d->value, capacity, sizeof *grown);
        if (grown == NULL) return EMP_ERROR(EMP_ENOMEM, "%zu values of JSON", capacity);
        d->value = grown;
        d->capacity = capacity;
    }
    *index = d->count++;
    d->value[*index] = (emp_json){.span = 1, .key = key};
    return EMP_OK;
}

static emp_status read_value(reader *r, const char *key, emp_error *err);

static emp_status read_member(reader *r, bool has_keys, emp_error *err)
{
    const char *key = NULL;

    if (has_keys) {
        if (!take(r, '"')) return expected(r, "a key in quotes", err);
        EMP_CHECK(read_string(r, &key, err));
        if (!take(r, ':')) return expected(r, "':'", err);
    }
    return read_value(r, key, err);
}

static emp_status check_keys_of_many(const reader *r, const emp_json *object,
                                     emp_error *err)
{
    emp_status st = EMP_OK;
    emp_strmap seen = {0};

    for (const emp_json *v = emp_json_first(object); v; v = emp_json_next(v)) {
        size_t length = strlen(v->key);
        if (emp_strmap_get(&seen, v->key, length) >= 0) {
            st = FAULT(r, "an object has the key \"%.40s\" twice", v->key);
            goto cleanup;
        }
        EMP_TRY(emp_strmap_set(&seen, v->key, length, 0, err));
    }

cleanup:
    emp_strmap_clear(&seen);
    return st;
}

static emp_status check_keys(const reader *r, const emp_json *object, emp_error *err)
{
    enum { FEW = 16 };

    if (object->count > FEW) return check_keys_of_many(r, object, err);
    for (const emp_json *v = emp_json_first(object); v; v = emp_json_next(v))
        for (const emp_json *w = emp_json_next(v); w; w = emp_json_next(w))
            if (strcmp(v->key, w->key) == 0)
                return FAULT(r, "an object has the key \"%.40s\" twice", v->key);
    return EMP_OK;
}

/* Behind the bracket that opens it; \a list is its place among the values. */
static emp_status read_members(reader *r, size_t list, char close, emp_error *err)
{
    emp_json_document *d = r->document;
    int32_t            count = 0;
    size_t             last = 0;
    const char        *what = close == '}' ? "',' or '}'" : "',' or ']'";

    if (++r->depth > EMP_JSON_DEPTH_MAX)
        return FAULT(r, "lists within lists, more than %d deep", EMP_JSON_DEPTH_MAX);
    for (bool is_open = !take(r, close); is_open; count++) {
        last = d->count;
        EMP_CHECK(read_member(r, close == '}', err));
        is_open = take(r, ',');
        if (!is_open && !take(r, close)) return expected(r, what, err);
    }
    r->depth--;
    if (count > 0) d->value[last].is_last = true;
    d->value[list].count = count;
    d->value[list].span = (uint32_t)(d->count - list);
    return close == '}' ? check_keys(r, &d->value[list], err) : EMP_OK;
}

static emp_status read_value(reader *r, const char *key, emp_error *err)
{
    size_t index = 0;

    skip_space(r);
    EMP_CHECK(add_value(r, &index, key, err));
    emp_json *value = &r->document->value[index];
    if (r->at == r->end) return expected(r, "a value", err);
    switch (*r->at) {
    case '{':
    case '[':
        value->kind = *r->at == '{' ? EMP_JSON_OBJECT : EMP_JSON_ARRAY;
        return read_members(r, index, *r->at++ == '{' ? '}' : ']', err);
    case '"':
        value->kind = EMP_JSON_STRING;
        r->at++;
        return read_string(r, &value->string, err);
    case 't': value->kind = EMP_JSON_TRUE; break;
    case 'f': value->kind = EMP_JSON_FALSE; break;
    case 'n': value->kind = EMP_JSON_NULL; break;
    default: return read_number(r, value, err);
    }
    if (take_word(r, "true") || take_word(r, "false") || take_word(r, "null"))
        return EMP_OK;
    return expected(r, "a value", err);
}

emp_status emp_json_parse(emp_json_document *document, const char *bytes, size_t size,
                          emp_error *err)
{
    reader r = {.document = document, .at = bytes, .end = bytes + size, .line = 1};

    if (size > EMP_JSON_BYTES_MAX)
        return EMP_ERROR(EMP_EUNSUPPORTED, "JSON of %zu bytes, at most %d can be read",
                         size, EMP_JSON_BYTES_MAX);
    /* a string loses its quotes and gains an end */
    EMP_CHECK(EMP_ALLOC(document->text, size + 1));
    r.free = document->text;
    EMP_CHECK(read_value(&r, NULL, err));
    skip_space(&r);
    if (r.at != r.end) return expected(&r, "the end of the text", err);
    document->value[0].is_last = true;
    document->root = document->value;
    return EMP_OK;
}

/* ---- files ---- */

emp_status emp_json_load(emp_json_document *document, const char *path, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_error  why = {0};
    char      *bytes = NULL;
    size_t     size = 0;

    EMP_TRY(emp_whole_file_load(&bytes, &size, path, EMP_JSON_BYTES_MAX, err));
    st = emp_json_parse(document, bytes, size, &why);
    if (st != EMP_OK) EMP_FAIL(st, "%s: %s", path, why.msg);

cleanup:
    emp_free(bytes);
    return st;
}

void emp_json_clear(emp_json_document *document)
{
    emp_free(document->value);
    emp_free(document->text);
    *document = (emp_json_document){0};
}

/* ---- queries ---- */

bool emp_json_is(const emp_json *value, emp_json_kind kind)
{
    return value != NULL && value->kind == kind;
}

int32_t emp_json_count(const emp_json *list) { return list != NULL ? list->count : 0; }

const emp_json *emp_json_first(const emp_json *list)
{
    return emp_json_count(list) > 0 ? list + 1 : NULL;
}

const emp_json *emp_json_next(const emp_json *member)
{
    return member->is_last ? NULL : member + member->span;
}

const char *emp_json_key(const emp_json *member)
{
    return member != NULL ? member->key : NULL;
}

const emp_json *emp_json_get(const emp_json *object, const char *key)
{
    if (!emp_json_is(object, EMP_JSON_OBJECT)) return NULL;
    for (const emp_json *v = emp_json_first(object); v; v = emp_json_next(v))
        if (strcmp(v->key, key) == 0) return v;
    return NULL;
}

const char *emp_json_string(const emp_json *value)
{
    return emp_json_is(value, EMP_JSON_STRING) ? value->string : NULL;
}

int64_t emp_json_integer(const emp_json *value)
{
    return emp_json_is(value, EMP_JSON_INTEGER) ? value->integer : 0;
}

double emp_json_number(const emp_json *value)
{
    if (emp_json_is(value, EMP_JSON_INTEGER)) return (double)value->integer;
    return emp_json_is(value, EMP_JSON_REAL) ? value->real : 0.0;
}
