// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/proto_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void proto_clear(proto_writer *w)
{
    free(w->data);
    w->data = NULL;
    w->size = w->capacity = 0;
}

void proto_append(proto_writer *w, const void *bytes, size_t size)
{
    if (w->size + size > w->capacity) {
        w->capacity = 2 * (w->size + size);
        w->data = realloc(w->data, w->capacity);
        if (w->data == NULL) abort();
    }
    if (size > 0) memcpy(w->data + w->size, bytes, size);
    w->size += size;
}

static void append_text(proto_writer *w, const char *text)
{
    proto_append(w, text, strlen(text));
}

void proto_varint(proto_writer *w, uint64_t value)
{
    do {
        unsigned char byte = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        proto_append(w, &byte, 1);
        value >>= 7;
    } while (value > 0);
}

static void tag(proto_writer *w, int number, const char *name, int wire_type)
{
    if (w->is_text) {
        append_text(w, name);
        append_text(w, ": ");
    } else {
        proto_varint(w, (uint64_t)number << 3 | (uint64_t)wire_type);
    }
}

size_t proto_begin(proto_writer *w, int number, const char *name)
{
    if (w->is_text) {
        append_text(w, name);
        append_text(w, " {\n");
    } else {
        proto_varint(w, (uint64_t)number << 3 | 2);
    }
    return w->size;
}

void proto_end(proto_writer *w, size_t begin)
{
    if (w->is_text) {
        append_text(w, "}\n");
        return;
    }
    /* the length goes before what it is the length of */
    size_t size = w->size - begin;
    char  *body = malloc(size + 1);
    if (body == NULL) abort();
    memcpy(body, w->data + begin, size);
    w->size = begin;
    proto_varint(w, size);
    proto_append(w, body, size);
    free(body);
}

void proto_bytes(proto_writer *w, int number, const char *name, const void *bytes,
                 size_t size)
{
    tag(w, number, name, 2);
    if (!w->is_text) {
        proto_varint(w, size);
        proto_append(w, bytes, size);
        return;
    }
    append_text(w, "\"");
    for (size_t i = 0; i < size; i++) {
        unsigned char c = ((const unsigned char *)bytes)[i];
        char          escape[5] = {(char)c, '\0'};
        if (c < ' ' || c > '~' || c == '"' || c == '\\')
            snprintf(escape, sizeof escape, "\\%03o", c);
        append_text(w, escape);
    }
    append_text(w, "\"\n");
}

void proto_string(proto_writer *w, int number, const char *name, const char *text)
{
    proto_bytes(w, number, name, text, strlen(text));
}

void proto_word(proto_writer *w, int number, const char *name, int64_t value,
                const char *word)
{
    tag(w, number, name, 0);
    if (w->is_text) {
        append_text(w, word);
        append_text(w, "\n");
    } else {
        proto_varint(w, (uint64_t)value);
    }
}

void proto_int(proto_writer *w, int number, const char *name, int64_t value)
{
    char word[24];

    snprintf(word, sizeof word, "%lld", (long long)value);
    proto_word(w, number, name, value, word);
}

void proto_ints(proto_writer *w, int number, const char *name, const int64_t *values,
                int count)
{
    char word[24];

    tag(w, number, name, 2);
    if (w->is_text) {
        append_text(w, "[");
        for (int i = 0; i < count; i++) {
            snprintf(word, sizeof word, "%s%lld", i > 0 ? ", " : "",
                     (long long)values[i]);
            append_text(w, word);
        }
        append_text(w, "]\n");
        return;
    }
    size_t begin = w->size;
    for (int i = 0; i < count; i++) proto_varint(w, (uint64_t)values[i]);
    proto_end(w, begin);
}

void proto_float(proto_writer *w, int number, const char *name, float value)
{
    uint32_t bits;
    char     word[32];

    tag(w, number, name, 5);
    if (w->is_text) {
        snprintf(word, sizeof word, "%.9g\n", (double)value);
        append_text(w, word);
        return;
    }
    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 4; i++) {
        unsigned char byte = (unsigned char)(bits >> (8 * i));
        proto_append(w, &byte, 1);
    }
}

size_t proto_node(proto_writer *w, const char *name, const char *op, const char *inputs)
{
    size_t node = proto_begin(w, 1, "node");

    proto_string(w, 1, "name", name);
    proto_string(w, 2, "op", op);
    while (*inputs != '\0') {
        size_t size = strcspn(inputs, " ");
        proto_bytes(w, 3, "input", inputs, size);
        inputs += size;
        inputs += strspn(inputs, " ");
    }
    return node;
}

void proto_plain_node(proto_writer *w, const char *name, const char *op,
                      const char *inputs)
{
    size_t node = proto_node(w, name, op, inputs);

    proto_attr_type(w, "T", 1, "DT_FLOAT");
    proto_end(w, node);
}

proto_attr proto_begin_attr(proto_writer *w, const char *key)
{
    proto_attr attr;

    attr.entry = proto_begin(w, 5, "attr");
    proto_string(w, 1, "key", key);
    attr.value = proto_begin(w, 2, "value");
    return attr;
}

void proto_end_attr(proto_writer *w, proto_attr attr)
{
    proto_end(w, attr.value);
    proto_end(w, attr.entry);
}

void proto_attr_type(proto_writer *w, const char *key, int64_t dtype, const char *word)
{
    proto_attr attr = proto_begin_attr(w, key);

    proto_word(w, 6, "type", dtype, word);
    proto_end_attr(w, attr);
}

void proto_attr_int(proto_writer *w, const char *key, int64_t value)
{
    proto_attr attr = proto_begin_attr(w, key);

    proto_int(w, 3, "i", value);
    proto_end_attr(w, attr);
}

void proto_attr_bool(proto_writer *w, const char *key, bool value)
{
    proto_attr attr = proto_begin_attr(w, key);

    proto_word(w, 5, "b", value, value ? "true" : "false");
    proto_end_attr(w, attr);
}

void proto_attr_string(proto_writer *w, const char *key, const char *value)
{
    proto_attr attr = proto_begin_attr(w, key);

    proto_string(w, 2, "s", value);
    proto_end_attr(w, attr);
}

void proto_attr_ints(proto_writer *w, const char *key, const int64_t *values, int count)
{
    proto_attr attr = proto_begin_attr(w, key);
    size_t     list = proto_begin(w, 1, "list");

    proto_ints(w, 3, "i", values, count);
    proto_end(w, list);
    proto_end_attr(w, attr);
}

void proto_shape(proto_writer *w, int number, const char *name, const int64_t *dims,
                 int rank)
{
    size_t shape = proto_begin(w, number, name);

    for (int d = 0; d < rank; d++) {
        size_t dim = proto_begin(w, 2, "dim");
        proto_int(w, 1, "size", dims[d]);
        proto_end(w, dim);
    }
    if (rank < 0) proto_word(w, 3, "unknown_rank", 1, "true");
    proto_end(w, shape);
}

void proto_attr_shape(proto_writer *w, const char *key, const int64_t *dims, int rank)
{
    proto_attr attr = proto_begin_attr(w, key);

    proto_shape(w, 7, "shape", dims, rank);
    proto_end_attr(w, attr);
}

void proto_output_shape(proto_writer *w, const int64_t *dims, int rank)
{
    proto_attr attr = proto_begin_attr(w, "_output_shapes");
    size_t     list = proto_begin(w, 1, "list");

    proto_shape(w, 7, "shape", dims, rank);
    proto_end(w, list);
    proto_end_attr(w, attr);
}
