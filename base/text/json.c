// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/text/json.h"

#include <errno.h>
#include <inttypes.h>
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
    uint8_t     kind;
    bool        is_last; /* of its list */
    uint32_t    span;    /* values from here to the next member, at least 1 */
    const char *key;
    union {
        const char *string;
        int64_t     integer;
        double      real;
        int32_t     count; /* members of a list */
    };
};

/* Strings are read in place: none is longer than what is written. */
typedef struct {
    emp_json_document *document;
    char              *at, *end;
    int64_t            line;
    int32_t            depth;
    bool               is_again; /* strings have been read before */
    const char        *key;      /* of the list whose members are visited */
    emp_json_visit    *visit;    /* NULL: of none */
    void              *context;
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
    return EMP_ERROR(EMP_EFORMAT, "line %" PRId64 ": not JSON: %s", r->line, text);
}

static void skip_space(reader *r)
{
    for (; r->at < r->end; r->at++) {
        const char c = *r->at;
        if (c != ' ' && c != '\n' && c != '\t' && c != '\r') return;
        r->line += c == '\n';
    }
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
static emp_status read_code(reader *r, char **to, emp_error *err)
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
    *to = put_character(*to, code);
    return EMP_OK;
}

/* Behind a backslash. */
static emp_status read_escape(reader *r, char **to, emp_error *err)
{
    static const char written[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";

    if (r->at == r->end || *r->at == '\0') return expected(r, "an escape", err);
    char c = *r->at;
    if (c == 'u') {
        r->at++;
        return read_code(r, to, err);
    }
    const char *found = strchr(written, c);
    if (found == NULL) return expected(r, "one of \"\\/bfnrtu", err);
    r->at++;
    *(*to)++ = meant[found - written];
    return EMP_OK;
}

/* How many bytes stand for themselves: no quote, no backslash, no control character, and all of ASCII. Looks at eight at
 * once, of which the sign bits of those that do not are set. */
static size_t count_plain(const char *at, const char *end)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), signs = ones << 7;
    const char    *from = at;

    for (; end - at >= 8; at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        const uint64_t quote = word ^ ones * '"', backslash = word ^ ones * '\\';
        const uint64_t others = ((quote - ones) & ~quote) |
                                ((backslash - ones) & ~backslash) |
                                ((word - ones * 0x20) & ~word) | word;
        if ((others & signs) != 0) break;
    }
    while (at < end && (signed char)*at >= 0x20 && *at != '"' && *at != '\\') at++;
    return (size_t)(at - from);
}

static char *move_on(reader *r, char *to, size_t length)
{
    if (to != r->at) memmove(to, r->at, length);
    r->at += length;
    return to + length;
}

/* Behind the first quote. */
static emp_status read_string(reader *r, const char **string, emp_error *err)
{
    char *to = r->at;

    *string = to;
    if (r->is_again) {
        r->at += strlen(to) + 1;
        return EMP_OK;
    }
    for (;;) {
        to = move_on(r, to, count_plain(r->at, r->end));
        if (r->at == r->end) return FAULT(r, "a string without its end");
        if (*r->at == '"') break;
        size_t length = emp_utf8_length(r->at, (size_t)(r->end - r->at));
        if (length == 0) return FAULT(r, "a string that is not valid UTF-8");
        if ((unsigned char)*r->at < 0x20)
            return FAULT(r, "a control character in a string");
        if (*r->at == '\\') {
            r->at++;
            EMP_CHECK(read_escape(r, &to, err));
        } else {
            to = move_on(r, to, length);
        }
    }
    r->at++;
    *to++ = '\0';
    memset(to, ' ', (size_t)(r->at - to));
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

/* Numbers of so few digits are whole in a double, as are such powers of ten: their ratio is rounded once, as
 * strtod() rounds. */
enum { EXACT_DIGITS = 15, EXACT_POWER = 22, WHOLE_DIGITS = 18 };

/* Reads a number without an exponent and of few digits; false: it is another one. */
static bool read_short_number(const char *at, size_t length, bool is_whole,
                              emp_json *value)
{
    static const double power[EXACT_POWER + 1] = {
        1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *end = at + length;
    const bool  is_negative = *at == '-';
    int64_t     digits = 0;
    size_t      count = 0, behind = 0;
    bool        has_point = false;

    for (at += is_negative; at < end; at++) {
        if (*at == 'e' || *at == 'E') return false;
        has_point |= *at == '.';
        if (*at == '.') continue;
        if (count++ == (is_whole ? WHOLE_DIGITS : EXACT_DIGITS)) return false;
        digits = 10 * digits + (*at - '0');
        behind += has_point;
    }
    value->kind = is_whole ? EMP_JSON_INTEGER : EMP_JSON_REAL;
    if (is_whole)
        value->integer = is_negative ? -digits : digits;
    else
        value->real = (is_negative ? -(double)digits : (double)digits) / power[behind];
    return true;
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

    if (length > 0 && read_short_number(r->at, length, is_whole, value)) {
        r->at += length;
        return EMP_OK;
    }
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

    if (d->count == UINT32_MAX)
        return EMP_ERROR(EMP_EUNSUPPORTED, "JSON of more than %zu values", d->count);
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

/* Most keys differ in their first character. */
static bool is_key(const emp_json *member, const char *key)
{
    return member->key[0] == key[0] && strcmp(member->key, key) == 0;
}

static emp_status check_keys(const reader *r, const emp_json *object, emp_error *err)
{
    enum { FEW = 16 };

    if (emp_json_count(object) > FEW) return check_keys_of_many(r, object, err);
    for (const emp_json *v = emp_json_first(object); v; v = emp_json_next(v))
        for (const emp_json *w = emp_json_next(v); w; w = emp_json_next(w))
            if (is_key(v, w->key))
                return FAULT(r, "an object has the key \"%.40s\" twice", v->key);
    return EMP_OK;
}

/* Whether the list at that place is the one whose members are visited. */
static bool is_visited(const reader *r, size_t list, char close)
{
    const char *key = r->document->value[list].key;

    if (r->visit == NULL || close != ']') return false;
    return list == 0 || (r->depth == 1 && r->document->value[0].kind == EMP_JSON_OBJECT &&
                         strcmp(key, r->key) == 0);
}

/* Visits the last member that was read, and drops it unless it is the first. */
static void visit_member(reader *r, size_t member, int32_t *count)
{
    emp_json_document *d = r->document;

    r->visit(r->context, d, &d->value[member]);
    if (*count == 0) return;
    d->count = member;
    *count = 0;
}

/* Behind the bracket that opens it; \a list is its place among the values. */
static emp_status read_members(reader *r, size_t list, char close, emp_error *err)
{
    emp_json_document *d = r->document;
    int32_t            count = 0;
    size_t             last = 0;
    const bool         visits = is_visited(r, list, close);
    const char        *what = close == '}' ? "',' or '}'" : "',' or ']'";

    if (++r->depth > EMP_JSON_DEPTH_MAX)
        return FAULT(r, "lists within lists, more than %d deep", EMP_JSON_DEPTH_MAX);
    for (bool is_open = !take(r, close); is_open; count++) {
        const size_t member = d->count;
        if (count == INT32_MAX)
            return EMP_ERROR(EMP_EUNSUPPORTED, "JSON with a list of more than %d members",
                             count);
        EMP_CHECK(read_member(r, close == '}', err));
        if (visits) visit_member(r, member, &count);
        if (d->count > member) last = member;
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

static emp_status refuse_size(size_t size, emp_error *err)
{
    return EMP_ERROR(EMP_EUNSUPPORTED, "JSON of %zu bytes, at most %zu can be read", size,
                     EMP_JSON_BYTES_MAX);
}

emp_status emp_json_parse_visiting(emp_json_document *document, char **bytes, size_t size,
                                   const char *key, emp_json_visit *visit, void *context,
                                   emp_error *err)
{
    reader r = {.document = document,
                .at = *bytes,
                .end = *bytes + size,
                .line = 1,
                .key = key,
                .visit = visit,
                .context = context};

    document->text = *bytes;
    document->size = size;
    *bytes = NULL;
    if (size > EMP_JSON_BYTES_MAX) return refuse_size(size, err);
    EMP_CHECK(read_value(&r, NULL, err));
    skip_space(&r);
    if (r.at != r.end) return expected(&r, "the end of the text", err);
    document->value[0].is_last = true;
    document->root = document->value;
    return EMP_OK;
}

emp_status emp_json_parse_taken(emp_json_document *document, char **bytes, size_t size,
                                emp_error *err)
{
    return emp_json_parse_visiting(document, bytes, size, NULL, NULL, NULL, err);
}

const char *emp_json_source(const emp_json *member)
{
    return strchr(member->key + strlen(member->key) + 1, ':') + 1;
}

emp_status emp_json_parse_again(emp_json_document *into, const emp_json_document *from,
                                const char *source, emp_error *err)
{
    reader r = {.document = into,
                .at = from->text + (source - from->text),
                .end = from->text + from->size,
                .is_again = true};

    into->root = NULL;
    into->count = 0;
    EMP_CHECK(read_value(&r, NULL, err));
    into->value[0].is_last = true;
    into->root = into->value;
    return EMP_OK;
}

emp_status emp_json_parse(emp_json_document *document, const char *bytes, size_t size,
                          emp_error *err)
{
    if (size > EMP_JSON_BYTES_MAX) return refuse_size(size, err);
    char *copy = emp_realloc(NULL, size + 1, 1);
    if (copy == NULL) return EMP_ERROR(EMP_ENOMEM, "JSON of %zu bytes", size);
    memcpy(copy, bytes, size);
    return emp_json_parse_taken(document, &copy, size, err);
}

/* ---- files ---- */

emp_status emp_json_load(emp_json_document *document, const char *path, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_error  why = {0};
    char      *bytes = NULL;
    size_t     size = 0;

    EMP_TRY(emp_whole_file_load(&bytes, &size, path, EMP_JSON_BYTES_MAX, err));
    st = emp_json_parse_taken(document, &bytes, size, &why);
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

int32_t emp_json_count(const emp_json *list)
{
    const bool is_list =
        emp_json_is(list, EMP_JSON_ARRAY) || emp_json_is(list, EMP_JSON_OBJECT);

    return is_list ? list->count : 0;
}

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
        if (is_key(v, key)) return v;
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
