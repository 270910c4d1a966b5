// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/graphs/import/models/gguf_writer.h"
#include "tests/test.h"

#include <stdarg.h>

static char architecture_of[32];

static void put(gguf_writer *w, const void *bytes, size_t size)
{
    cr_assert_lt(w->size + size, GGUF_WRITER_BYTES);
    memcpy(w->bytes + w->size, bytes, size);
    w->size += size;
}

static void put_number(gguf_writer *w, uint64_t number, int size)
{
    for (int i = 0; i < size; i++) {
        char byte = (char)(number >> 8 * i & 0xff);
        put(w, &byte, 1);
    }
}

static void put_text(gguf_writer *w, const char *text)
{
    put_number(w, strlen(text), 8);
    put(w, text, strlen(text));
}

static void put_key(gguf_writer *w, const char *key)
{
    put_text(w, scratch_print("%s.%s", architecture_of, key));
    w->fact_count++;
}

void gguf_begin(gguf_writer *w, const char *architecture)
{
    memset(w, 0, sizeof *w);
    snprintf(architecture_of, sizeof architecture_of, "%s", architecture);
    put(w, "GGUF", 4);
    put_number(w, 3, 4);
    put_number(w, 0, 8); /* tensors, facts: gguf_finish() */
    put_number(w, 0, 8);
    put_text(w, "general.architecture");
    put_number(w, 8, 4);
    put_text(w, architecture);
    w->fact_count++;
}

void gguf_split(gguf_writer *w, uint32_t part, uint32_t parts, uint32_t tensors)
{
    static const char *const keys[] = {"split.no", "split.count", "split.tensors.count"};
    const uint32_t           values[] = {part, parts, tensors};

    for (int i = 0; i < 3; i++) {
        put_text(w, keys[i]);
        put_number(w, i == 2 ? 5 : 2, 4); /* int32, uint16 */
        put_number(w, values[i], i == 2 ? 4 : 2);
        w->fact_count++;
    }
}

void gguf_integer(gguf_writer *w, const char *key, uint32_t value)
{
    put_key(w, key);
    put_number(w, 4, 4);
    put_number(w, value, 4);
}

void gguf_integers_of(gguf_writer *w, const char *text)
{
    char     key[64];
    uint32_t value;

    for (int size; sscanf(text, " %63[^=]=%u%n", key, &value, &size) == 2; text += size)
        gguf_integer(w, key, value);
}

void gguf_integers(gguf_writer *w, const char *key, const uint32_t *values,
                   uint64_t count)
{
    put_key(w, key);
    put_number(w, 9, 4);
    put_number(w, 4, 4);
    put_number(w, count, 8);
    for (uint64_t i = 0; i < count; i++) put_number(w, values[i], 4);
}

void gguf_texts(gguf_writer *w, const char *key, uint64_t count)
{
    put_key(w, key);
    put_number(w, 9, 4);
    put_number(w, 8, 4);
    put_number(w, count, 8);
    for (uint64_t i = 0; i < count; i++) put_text(w, "token");
}

void gguf_tensor(gguf_writer *w, const char *name, uint32_t type, double bits,
                 uint64_t columns, uint64_t rows, uint64_t depth)
{
    int      rank = depth > 0 ? 3 : rows > 0 ? 2 : 1;
    uint64_t elements = columns * (rows > 0 ? rows : 1) * (depth > 0 ? depth : 1);

    put_text(w, name);
    put_number(w, (uint64_t)rank, 4);
    put_number(w, columns, 8);
    if (rank > 1) put_number(w, rows, 8);
    if (rank > 2) put_number(w, depth, 8);
    put_number(w, type, 4);
    put_number(w, 0, 8);
    w->tensor_count++;
    w->elements += (int64_t)elements;
    w->tensor_bytes += (double)elements * bits / 8;
}

void gguf_layer_tensor(gguf_writer *w, int layer, const char *leaf, uint32_t type,
                       double bits, uint64_t columns, uint64_t rows, uint64_t depth)
{
    gguf_tensor(w, scratch_print("blk.%d.%s", layer, leaf), type, bits, columns, rows,
                depth);
}

static const struct {
    const char *name;
    uint32_t    type;
    double      bits;
} types[] = {{"F32", 0, 32},     {"F16", 1, 16},    {"Q4_0", 2, 4.5},
             {"Q8_0", 8, 8.5},   {"Q4_K", 12, 4.5}, {"Q6_K", 14, 6.5625},
             {"MXFP4", 39, 4.25}};

void gguf_tensors(gguf_writer *w, int layer, const char *format, ...)
{
    char        type[16], leaf[64], whole[1024];
    const char *text = whole;
    va_list     arguments;

    va_start(arguments, format);
    vsnprintf(whole, sizeof whole, format, arguments);
    va_end(arguments);
    while (*text != '\0') {
        unsigned long columns = 0, rows = 0, depth = 0;
        size_t        i = 0;
        cr_assert_geq(
            sscanf(text, " %63s %15s %lux%lux%lu", leaf, type, &columns, &rows, &depth),
            3, "%s", text);
        while (i < sizeof types / sizeof *types && strcmp(types[i].name, type) != 0) i++;
        cr_assert_lt(i, sizeof types / sizeof *types, "%s", type);
        if (strchr(leaf, '.') == NULL) strcat(leaf, ".weight");
        gguf_tensor(w, layer >= 0 ? scratch_print("blk.%d.%s", layer, leaf) : leaf,
                    types[i].type, types[i].bits, columns, rows, depth);
        text += strcspn(text, ";");
        text += *text == ';';
    }
}

void gguf_finish(gguf_writer *w)
{
    size_t size = w->size;

    w->size = 8;
    put_number(w, w->tensor_count, 8);
    put_number(w, w->fact_count, 8);
    w->size = size;
}
