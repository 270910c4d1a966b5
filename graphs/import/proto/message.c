// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/proto/message.h"

#include <errno.h>
#include <stdlib.h>

#include "base/text/units.h"

enum { NUMBER_BYTES_MAX = 63 };

/* Kinds of characters, independent of the locale; any byte is legal. MARK: brackets, quotes and the beginning of a
 * comment. */
enum { SPACE = 1, WORD = 2, MARK = 4 };
#define FIVE(c) \
    [c] = WORD, [(c) + 1] = WORD, [(c) + 2] = WORD, [(c) + 3] = WORD, [(c) + 4] = WORD
static const unsigned char kinds[256] = {
    FIVE('a'),      FIVE('f'),      FIVE('k'),      FIVE('p'),      FIVE('u'),
    ['z'] = WORD,   FIVE('A'),      FIVE('F'),      FIVE('K'),      FIVE('P'),
    FIVE('U'),      ['Z'] = WORD,   FIVE('0'),      FIVE('5'),      ['_'] = WORD,
    [' '] = SPACE,  ['\t'] = SPACE, ['\n'] = SPACE, ['\v'] = SPACE, ['\f'] = SPACE,
    ['\r'] = SPACE, ['{'] = MARK,   ['}'] = MARK,   ['<'] = MARK,   ['>'] = MARK,
    ['['] = MARK,   [']'] = MARK,   ['"'] = MARK,   ['\''] = MARK,  ['#'] = MARK};

static bool is_of(char c, unsigned kind) { return kinds[(unsigned char)c] & kind; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_word(char c) { return is_of(c, WORD); }

static int line_of(const emp_cursor *cursor)
{
    int line = 1;
    for (const char *at = cursor->origin; at < cursor->at; at++) line += *at == '\n';
    return line;
}

/* The description of the token under the cursor for an error message. */
static emp_slice seen(const emp_cursor *cursor)
{
    const char *end = cursor->at;

    while (end < cursor->end && end - cursor->at < 20 && *end > ' ') end++;
    return (emp_slice){cursor->at, (size_t)(end - cursor->at)};
}

static void skip_space(emp_cursor *cursor)
{
    const char *at = cursor->at, *end = cursor->end;

    for (;;) {
        while (at < end && is_of(*at, SPACE)) at++;
        if (at == end || *at != '#') break;
        at = memchr(at, '\n', (size_t)(end - at));
        if (at == NULL) at = end;
    }
    cursor->at = at;
}

/* Skips space, then \a wanted if it is there. */
static bool accept(emp_cursor *cursor, char wanted)
{
    skip_space(cursor);
    if (cursor->at == cursor->end || *cursor->at != wanted) return false;
    cursor->at++;
    return true;
}

static const char *find_char(const char *at, const char *end, char wanted)
{
    const char *found = at == end ? NULL : memchr(at, wanted, (size_t)(end - at));

    return found != NULL ? found : end;
}

static emp_status skip_literal(emp_cursor *cursor, emp_error *err)
{
    const char  quote = *cursor->at, *end = cursor->end;
    const char *at = cursor->at + 1, *close = find_char(at, end, quote), *escape;

    while ((escape = find_char(at, close, '\\')) < close) {
        at = end - escape > 2 ? escape + 2 : end;
        if (at > close) close = find_char(at, end, quote);
    }
    if (close == end) {
        return EMP_ERROR(EMP_EFORMAT,
                         "line %d: a string without its closing %c (truncated?)",
                         line_of(cursor), quote);
    }
    cursor->at = close + 1;
    return EMP_OK;
}

static char closing(char bracket)
{
    switch (bracket) {
    case '{': return '}';
    case '<': return '>';
    default: return ']';
    }
}

/* Moves from behind an opening bracket to its partner. */
static emp_status find_closing(emp_cursor *cursor, char bracket, emp_error *err)
{
    emp_cursor open = {cursor->origin, cursor->at - 1, cursor->end};
    char       awaited[EMP_TEXT_MAX_DEPTH];
    int        depth = 0;

    awaited[depth++] = closing(bracket);
    for (;;) {
        while (cursor->at < cursor->end && !is_of(*cursor->at, MARK)) cursor->at++;
        if (cursor->at < cursor->end && *cursor->at == '#') skip_space(cursor);
        if (cursor->at == cursor->end) {
            return EMP_ERROR(EMP_EFORMAT, "line %d: '%c' is never closed (truncated?)",
                             line_of(&open), bracket);
        }
        switch (*cursor->at) {
        case '"':
        case '\'': EMP_CHECK(skip_literal(cursor, err)); continue;
        case '{':
        case '<':
        case '[':
            if (depth == EMP_TEXT_MAX_DEPTH) {
                return EMP_ERROR(EMP_EFORMAT, "line %d: nested more than %d deep",
                                 line_of(cursor), EMP_TEXT_MAX_DEPTH);
            }
            awaited[depth++] = closing(*cursor->at);
            break;
        case '}':
        case '>':
        case ']':
            if (*cursor->at != awaited[depth - 1]) {
                return EMP_ERROR(EMP_EFORMAT, "line %d: '%c' where '%c' is due",
                                 line_of(cursor), *cursor->at, awaited[depth - 1]);
            }
            if (--depth == 0) return EMP_OK;
            break;
        default: break;
        }
        cursor->at++;
    }
    return EMP_OK;
}

static emp_status read_name(emp_cursor *cursor, emp_slice *name, emp_error *err)
{
    const char *start = cursor->at;

    if (*cursor->at == '[') { /* the name of an extension */
        cursor->at++;
        EMP_CHECK(find_closing(cursor, '[', err));
        cursor->at++;
    } else {
        while (cursor->at < cursor->end && is_word(*cursor->at)) cursor->at++;
    }
    *name = (emp_slice){start, (size_t)(cursor->at - start)};
    if (name->size == 0) {
        return EMP_ERROR(EMP_EFORMAT, "line %d: '%.*s' where the name of a field is due",
                         line_of(cursor), EMP_SLICE_ARG(seen(cursor)));
    }
    return EMP_OK;
}

static emp_status read_message(emp_cursor *cursor, emp_text_field *field, emp_error *err)
{
    char        bracket = *cursor->at++;
    const char *start = cursor->at;

    EMP_CHECK(find_closing(cursor, bracket, err));
    field->kind = EMP_TEXT_MESSAGE;
    field->value = (emp_slice){start, (size_t)(cursor->at - start)};
    cursor->at++;
    return EMP_OK;
}

static emp_status read_literals(emp_cursor *cursor, emp_text_field *field, emp_error *err)
{
    const char *start = cursor->at, *end = cursor->at;

    while (cursor->at < cursor->end && (*cursor->at == '"' || *cursor->at == '\'')) {
        EMP_CHECK(skip_literal(cursor, err));
        end = cursor->at;
        skip_space(cursor);
    }
    field->kind = EMP_TEXT_STRING;
    field->value = (emp_slice){start, (size_t)(end - start)};
    return EMP_OK;
}

static emp_status read_scalar(emp_cursor *cursor, emp_text_field *field, emp_error *err)
{
    const char *start;

    field->is_negative = accept(cursor, '-');
    skip_space(cursor);
    start = cursor->at;
    while (cursor->at < cursor->end) {
        bool is_exponent_sign = (*cursor->at == '-' || *cursor->at == '+') &&
                                cursor->at > start && (cursor->at[-1] | 0x20) == 'e';
        if (!is_word(*cursor->at) && *cursor->at != '.' && !is_exponent_sign) break;
        cursor->at++;
    }
    field->kind = EMP_TEXT_SCALAR;
    field->value = (emp_slice){start, (size_t)(cursor->at - start)};
    if (field->value.size == 0) {
        return EMP_ERROR(
            EMP_EFORMAT, "line %d: '%.*s' where the value of \"%.*s\" is due",
            line_of(cursor), EMP_SLICE_ARG(seen(cursor)), EMP_SLICE_ARG(field->name));
    }
    return EMP_OK;
}

static emp_status read_value(emp_cursor *cursor, emp_text_field *field, emp_error *err)
{
    skip_space(cursor);
    if (cursor->at < cursor->end) {
        switch (*cursor->at) {
        case '{':
        case '<': return read_message(cursor, field, err);
        case '"':
        case '\'': return read_literals(cursor, field, err);
        default: break;
        }
    }
    return read_scalar(cursor, field, err);
}

/* The element of a list that the cursor is before; *found is false at the list's end. */
static emp_status next_element(emp_text_body *text, emp_text_field *field, bool *found,
                               emp_error *err)
{
    *field = (emp_text_field){.name = text->list_name};
    *found = !accept(&text->cursor, ']');
    if (*found) {
        EMP_CHECK(read_value(&text->cursor, field, err));
        (void)accept(&text->cursor, ',');
    }
    text->in_list = *found;
    return EMP_OK;
}

emp_status emp_text_next(emp_text_body *text, emp_text_field *field, bool *found,
                         emp_error *err)
{
    emp_cursor *cursor = &text->cursor;

    *found = false;
    for (;;) {
        if (text->in_list) {
            EMP_CHECK(next_element(text, field, found, err));
            if (*found) return EMP_OK;
        }
        while (accept(cursor, ',') || accept(cursor, ';')) continue;
        if (cursor->at == cursor->end) return EMP_OK;

        *field = (emp_text_field){0};
        EMP_CHECK(read_name(cursor, &field->name, err));
        bool has_colon = accept(cursor, ':');
        if (accept(cursor, '[')) {
            text->in_list = true;
            text->list_name = field->name;
            continue;
        }
        if (!has_colon &&
            (cursor->at == cursor->end || (*cursor->at != '{' && *cursor->at != '<'))) {
            return EMP_ERROR(
                EMP_EFORMAT, "line %d: '%.*s' after \"%.*s\", where ':' or '{' is due",
                line_of(cursor), EMP_SLICE_ARG(seen(cursor)), EMP_SLICE_ARG(field->name));
        }
        EMP_CHECK(read_value(cursor, field, err));
        *found = true;
        return EMP_OK;
    }
    return EMP_OK;
}

static int digit_of(char c)
{
    if (is_digit(c)) return c - '0';
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') return (c | 0x20) - 'a' + 10;
    return 16;
}

/* Reads the escape behind a backslash; returns where it ends. */
static const char *read_escape(const char *at, const char *end, char *out)
{
    static const char letters[] = "abfnrtv", meanings[] = "\a\b\f\n\r\t\v";
    int               base = 8, value = 0, digits = 0, digits_max = 3;

    if (*at == 'x' || *at == 'X') {
        base = 16;
        digits_max = 2;
        at++;
    }
    while (digits < digits_max && at < end && digit_of(*at) < base) {
        value = value * base + digit_of(*at++);
        digits++;
    }
    if (digits > 0 || base == 16 || at == end) {
        *out = (char)value;
        return at;
    }
    const char *letter = strchr(letters, *at);
    *out = letter != NULL && *letter != '\0' ? meanings[letter - letters] : *at;
    return at + 1;
}

emp_status emp_text_unquote(emp_slice literals, emp_arena *scratch, emp_slice *out,
                            emp_error *err)
{
    const char *at = literals.data, *end = literals.data + literals.size;
    char       *copy = NULL;
    size_t      size = 0;

    /* One literal without an escape: its quotes are the only ones of their kind. */
    if (literals.size >= 2 && memchr(at, '\\', literals.size) == NULL &&
        memchr(at + 1, *at, literals.size - 2) == NULL) {
        *out = (emp_slice){at + 1, literals.size - 2};
        return EMP_OK;
    }
    copy = emp_arena_alloc(scratch, literals.size + 1);
    if (copy == NULL)
        return EMP_ERROR(EMP_ENOMEM, "a string of %zu bytes", literals.size);
    while (at < end) {
        char quote = *at++;
        while (*at != quote) { /* its closing quote was seen by skip_literal */
            if (*at != '\\')
                copy[size++] = *at++;
            else
                at = read_escape(at + 1, end, &copy[size++]);
        }
        emp_cursor gap = {at, at + 1, end};
        skip_space(&gap);
        at = gap.at;
    }
    *out = (emp_slice){copy, size};
    return EMP_OK;
}

emp_status emp_text_integer(const emp_text_field *field, int64_t *value, emp_error *err)
{
    char   number[NUMBER_BYTES_MAX + 2], *end = NULL;
    size_t size = field->value.size;

    if (field->kind != EMP_TEXT_SCALAR || size > NUMBER_BYTES_MAX) {
        return EMP_ERROR(EMP_EFORMAT, "\"%.*s\" is no number",
                         EMP_SLICE_ARG(field->name));
    }
    if (emp_slice_is(field->value, "true") || emp_slice_is(field->value, "false")) {
        *value = *field->value.data == 't';
        return EMP_OK;
    }
    number[0] = field->is_negative ? '-' : '+';
    memcpy(number + 1, field->value.data, size);
    number[size + 1] = '\0';

    errno = 0;
    *value = strtoll(number, &end, 0);
    if (*end == '\0' && errno == 0) return EMP_OK;
    *value = emp_truncate(emp_number_parse(number, &end));
    if (*end == 'f' && end > number) end++; /* 1.5f is a float, too */
    if (*end != '\0') {
        return EMP_ERROR(EMP_EFORMAT, "\"%.*s\" is '%.*s', which is no number",
                         EMP_SLICE_ARG(field->name), EMP_SLICE_ARG(field->value));
    }
    return EMP_OK;
}

static int32_t number_of(const emp_field_name *names, emp_slice name)
{
    for (; names->name != NULL; names++) {
        if (emp_slice_is(name, names->name)) return names->number;
    }
    return 0;
}

static const char *name_of(const emp_message *message, int32_t number)
{
    const emp_field_name *names = message->names;

    while (names->name != NULL && names->number != number) names++;
    return names->name != NULL ? names->name : "?";
}

emp_slice emp_message_body(const emp_message *message)
{
    const emp_cursor *cursor = &message->text.cursor;

    return (emp_slice){cursor->at, (size_t)(cursor->end - cursor->at)};
}

emp_status emp_message_next_text(emp_message *message, emp_field *field, bool *found,
                                 emp_error *err)
{
    EMP_CHECK(emp_text_next(&message->text, &field->text, found, err));
    if (*found) field->number = number_of(message->names, field->text.name);
    return EMP_OK;
}

emp_status emp_field_string(const emp_message *message, const emp_field *field,
                            emp_slice *out, emp_error *err)
{
    if (message->file->is_text) {
        if (field->text.kind == EMP_TEXT_STRING) {
            return emp_text_unquote(field->text.value, &message->file->scratch, out, err);
        }
    } else if (field->wire.type == EMP_WIRE_BYTES) {
        *out = field->wire.bytes;
        return EMP_OK;
    }
    return EMP_ERROR(EMP_EFORMAT, "field \"%s\" is no string",
                     name_of(message, field->number));
}

emp_status emp_field_message_text(const emp_message *message, const emp_field *field,
                                  const emp_field_name *names, emp_message *out,
                                  emp_error *err)
{
    if (!message->file->is_text || field->text.kind != EMP_TEXT_MESSAGE) {
        return EMP_ERROR(EMP_EFORMAT, "field \"%s\" is no message",
                         name_of(message, field->number));
    }
    *out = emp_message_open(message->file, field->text.value, names);
    return EMP_OK;
}

static int64_t number_from_bits(emp_number_type type, uint64_t bits)
{
    if (type == EMP_NUMBER_FLOAT) {
        uint32_t low = (uint32_t)bits;
        float    value;
        memcpy(&value, &low, sizeof value);
        return emp_truncate((double)value);
    }
    if (type == EMP_NUMBER_DOUBLE) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return emp_truncate(value);
    }
    return (int64_t)bits;
}

/* Reads one number from the packed ones that \a packed still holds. */
static emp_status unpack_number(const emp_message *message, emp_slice *packed,
                                emp_number_type type, uint64_t *bits, emp_error *err)
{
    emp_cursor cursor = {message->file->bytes.data, packed->data,
                         packed->data + packed->size};

    switch (type) {
    case EMP_NUMBER_VARINT: EMP_CHECK(emp_wire_varint(&cursor, bits, err)); break;
    case EMP_NUMBER_FLOAT: EMP_CHECK(emp_wire_fixed(&cursor, 4, bits, err)); break;
    case EMP_NUMBER_DOUBLE: EMP_CHECK(emp_wire_fixed(&cursor, 8, bits, err)); break;
    }
    *packed = (emp_slice){cursor.at, (size_t)(cursor.end - cursor.at)};
    return EMP_OK;
}

/* A field of which nothing is left looks like one of packed numbers that is empty. */
emp_status emp_field_next_number(const emp_message *message, emp_field *field,
                                 emp_number_type type, int64_t *value, bool *found,
                                 emp_error *err)
{
    static const emp_wire_type types[] = {EMP_WIRE_VARINT, EMP_WIRE_FIXED32,
                                          EMP_WIRE_FIXED64};
    emp_wire_field            *wire = &field->wire;

    if (message->file->is_text) {
        *found = field->text.name.data != NULL;
        if (*found) EMP_CHECK(emp_text_integer(&field->text, value, err));
        field->text.name = (emp_slice){0};
        return EMP_OK;
    }
    *found = true;
    if (wire->type == types[type]) {
        *value = number_from_bits(type, wire->bits);
        *wire = (emp_wire_field){.number = wire->number, .type = EMP_WIRE_BYTES};
    } else if (wire->type == EMP_WIRE_BYTES) {
        uint64_t bits = 0;
        *found = wire->bytes.size > 0;
        if (!*found) return EMP_OK;
        EMP_CHECK(unpack_number(message, &wire->bytes, type, &bits, err));
        *value = number_from_bits(type, bits);
    } else {
        return EMP_ERROR(EMP_EFORMAT, "field \"%s\" is no number of its type",
                         name_of(message, field->number));
    }
    return EMP_OK;
}

emp_status emp_field_integer(const emp_message *message, const emp_field *field,
                             int64_t *value, emp_error *err)
{
    emp_field rest = *field;
    bool      found = true;

    for (*value = 0; found;) {
        EMP_CHECK(
            emp_field_next_number(message, &rest, EMP_NUMBER_VARINT, value, &found, err));
    }
    return EMP_OK;
}

emp_status emp_field_enum(const emp_message *message, const emp_field *field,
                          const emp_field_name *values, int64_t *value, emp_error *err)
{
    const emp_text_field *text = &field->text;

    if (message->file->is_text && text->kind == EMP_TEXT_SCALAR && text->value.size > 0 &&
        (text->value.data[0] < '0' || text->value.data[0] > '9')) {
        *value = number_of(values, text->value);
        return EMP_OK;
    }
    emp_field first = *field;
    bool      found = false;
    *value = 0;
    return emp_field_next_number(message, &first, EMP_NUMBER_VARINT, value, &found, err);
}

emp_status emp_message_string(emp_slice *out, emp_message message, int32_t number,
                              emp_error *err)
{
    emp_field field;
    bool      found = false;

    *out = (emp_slice){"", 0};
    for (;;) {
        EMP_CHECK(emp_message_next(&message, &field, &found, err));
        if (!found) return EMP_OK;
        if (field.number == number)
            EMP_CHECK(emp_field_string(&message, &field, out, err));
    }
}
