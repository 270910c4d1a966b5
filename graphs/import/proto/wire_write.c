// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/proto/wire_write.h"

#include <string.h>

#include "graphs/import/proto/wire.h"

enum { VARINT_BYTES_MAX = 10 };

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
