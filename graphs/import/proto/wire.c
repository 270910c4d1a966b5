// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/proto/wire.h"

#include <string.h>

enum { VARINT_BYTES_MAX = 10, FIELD_NUMBER_MAX = (1 << 29) - 1 };

static size_t position(const emp_cursor *cursor)
{
    return (size_t)(cursor->at - cursor->origin);
}

emp_status emp_wire_long_varint(emp_cursor *cursor, uint64_t *value, emp_error *err)
{
    const char *at = cursor->at;
    uint64_t    bits = 0;

    for (unsigned i = 0;; i++) {
        if (i == VARINT_BYTES_MAX) {
            return EMP_ERROR(EMP_EFORMAT, "byte %zu: a number has more than %d bytes",
                             position(cursor), VARINT_BYTES_MAX);
        }
        if (at == cursor->end) {
            return EMP_ERROR(EMP_EFORMAT,
                             "byte %zu: the data end within a number (truncated?)",
                             position(cursor));
        }
        uint64_t byte = (unsigned char)*at++;
        bits |= (byte & 0x7f) << (7 * i); /* the tenth byte's excess bits fall off */
        if (byte < 0x80) break;
    }
    cursor->at = at;
    *value = bits;
    return EMP_OK;
}

emp_status emp_wire_fixed(emp_cursor *cursor, int count, uint64_t *value, emp_error *err)
{
    uint64_t bits = 0;

    if (cursor->end - cursor->at < count) {
        return EMP_ERROR(EMP_EFORMAT,
                         "byte %zu: %d bytes are wanted where %zu are left (truncated?)",
                         position(cursor), count, (size_t)(cursor->end - cursor->at));
    }
    for (int i = 0; i < count; i++)
        bits |= (uint64_t)(unsigned char)cursor->at[i] << (8 * i);
    cursor->at += count;
    *value = bits;
    return EMP_OK;
}

emp_status emp_wire_next_any(emp_cursor *cursor, emp_wire_field *field, emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     start = position(cursor);
    uint64_t   tag = 0, size = 0;

    EMP_CHECK(emp_wire_varint(cursor, &tag, err));
    if (tag >> 3 == 0 || tag >> 3 > FIELD_NUMBER_MAX) {
        return EMP_ERROR(EMP_EFORMAT, "byte %zu: field number %llu is outside 1..%d",
                         start, (unsigned long long)(tag >> 3), FIELD_NUMBER_MAX);
    }
    *field = (emp_wire_field){.number = (int32_t)(tag >> 3)};
    switch (tag & 7) {
    case EMP_WIRE_VARINT:
        field->type = EMP_WIRE_VARINT;
        st = emp_wire_varint(cursor, &field->bits, err);
        break;
    case EMP_WIRE_FIXED64:
        field->type = EMP_WIRE_FIXED64;
        st = emp_wire_fixed(cursor, 8, &field->bits, err);
        break;
    case EMP_WIRE_FIXED32:
        field->type = EMP_WIRE_FIXED32;
        st = emp_wire_fixed(cursor, 4, &field->bits, err);
        break;
    case EMP_WIRE_BYTES:
        field->type = EMP_WIRE_BYTES;
        EMP_CHECK(emp_wire_varint(cursor, &size, err));
        if (size > (uint64_t)(cursor->end - cursor->at)) {
            return EMP_ERROR(
                EMP_EFORMAT,
                "byte %zu: field %d claims %llu bytes where %zu are left (truncated?)",
                start, field->number, (unsigned long long)size,
                (size_t)(cursor->end - cursor->at));
        }
        field->bytes = (emp_slice){cursor->at, (size_t)size};
        cursor->at += size;
        break;
    default:
        return EMP_ERROR(EMP_EFORMAT,
                         "byte %zu: field %d has wire type %d, which no graph uses",
                         start, field->number, (int)(tag & 7));
    }
    return st;
}

/* ---- writing ---- */

void emp_wire_put(emp_wire_sink *sink, const void *bytes, size_t size)
{
    sink->size += size;
    if (sink->stream != NULL) fwrite(bytes, 1, size, sink->stream);
}

void emp_wire_put_varint(emp_wire_sink *sink, uint64_t value)
{
    char   bytes[VARINT_BYTES_MAX];
    size_t count = 0;

    for (; value >= 0x80; value >>= 7) bytes[count++] = (char)(value | 0x80);
    bytes[count++] = (char)value;
    emp_wire_put(sink, bytes, count);
}

void emp_wire_put_number(emp_wire_sink *sink, int32_t field, uint64_t value)
{
    emp_wire_put_varint(sink, (uint64_t)field << 3 | EMP_WIRE_VARINT);
    emp_wire_put_varint(sink, value);
}

void emp_wire_put_head(emp_wire_sink *sink, int32_t field, size_t size)
{
    emp_wire_put_varint(sink, (uint64_t)field << 3 | EMP_WIRE_BYTES);
    emp_wire_put_varint(sink, size);
}

void emp_wire_put_text(emp_wire_sink *sink, int32_t field, const char *text)
{
    emp_wire_put_head(sink, field, strlen(text));
    emp_wire_put(sink, text, strlen(text));
}
