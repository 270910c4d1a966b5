// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/graphs/import/sample.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/graphs/import/read_memory.h"
#include "tests/support/scratch.h"

static void write_const(proto_writer *w, const char *name, const int64_t *values,
                        int count, int rank)
{
    size_t     node = proto_node(w, name, "Const", "");
    proto_attr attr = proto_begin_attr(w, "value");
    size_t     tensor = proto_begin(w, 8, "tensor");
    int64_t    dims[] = {count};

    proto_word(w, 1, "dtype", 3, "DT_INT32");
    proto_shape(w, 2, "tensor_shape", dims, rank);
    proto_ints(w, 7, "int_val", values, count);
    proto_end(w, tensor);
    proto_end_attr(w, attr);
    proto_attr_type(w, "dtype", 3, "DT_INT32");
    proto_end(w, node);
}

static void write_float_const(proto_writer *w, const char *name, float value)
{
    size_t     node = proto_node(w, name, "Const", "");
    proto_attr attr = proto_begin_attr(w, "value");
    size_t     tensor = proto_begin(w, 8, "tensor");

    proto_word(w, 1, "dtype", 1, "DT_FLOAT");
    proto_shape(w, 2, "tensor_shape", NULL, 0);
    proto_float(w, 5, "float_val", value);
    proto_end(w, tensor);
    proto_end_attr(w, attr);
    proto_attr_type(w, "dtype", 1, "DT_FLOAT");
    proto_end(w, node);
}

static void write_shaped(proto_writer *w, const char *name, const char *op,
                         const int64_t *dims, int rank)
{
    size_t node = proto_node(w, name, op, "");

    proto_attr_type(w, "dtype", 1, "DT_FLOAT");
    proto_attr_shape(w, "shape", dims, rank);
    proto_end(w, node);
}

static void write_matmul(proto_writer *w, const char *name, const char *inputs,
                         bool transpose_a)
{
    size_t node = proto_node(w, name, "MatMul", inputs);

    proto_attr_type(w, "T", 1, "DT_FLOAT");
    proto_attr_bool(w, "transpose_a", transpose_a);
    proto_attr_bool(w, "transpose_b", false);
    proto_end(w, node);
}

void sample_write_nodes(proto_writer *w)
{
    write_shaped(w, "x", "Placeholder", (int64_t[]){-1, 20}, 2);
    write_shaped(w, "w", "VariableV2", (int64_t[]){20, 10}, 2);
    proto_plain_node(w, "w/read", "Identity", "w");
    write_float_const(w, "zero", 0.0F);
    proto_plain_node(w, "w/Assign", "Assign", "w zero");
    write_matmul(w, "logits", "x w/read", false);
    write_const(w, "axes", (int64_t[]){0, 1}, 2, 1);
    proto_plain_node(w, "loss", "Sum", "logits axes");
    proto_plain_node(w, "gradients/ones", "OnesLike", "logits");
    write_matmul(w, "gradients/w", "x gradients/ones", true);
    write_float_const(w, "rate", 0.5F);
    proto_plain_node(w, "update", "ApplyGradientDescent", "w rate gradients/w");
    proto_plain_node(w, "train", "NoOp", "^update");
    proto_plain_node(w, "save/restore", "NoOp", "^w/Assign");
}

static char   text[1 << 16];
static size_t text_size;

static void put(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    text_size +=
        (size_t)vsnprintf(text + text_size, sizeof text - text_size, format, arguments);
    va_end(arguments);
    if (text_size >= sizeof text) abort();
}

/* Applies the format to each part between commas; "-": nothing. */
static void put_each(const char *format, const char *list)
{
    if (strcmp(list, "-") == 0) return;
    for (; *list != '\0'; list += strcspn(list, ","), list += *list == ',')
        put(format, (int)strcspn(list, ","), list);
}

static void put_attr(const char *word)
{
    const char *equals = strchr(word, '='), *value = equals != NULL ? equals + 1 : "";
    const int   key = (int)(equals != NULL ? (size_t)(equals - word) : strlen(word));

    put("attr { key: '%.*s' value { ", key, word);
    if (*value == '@') {
        put("func { name: '%s' }", value + 1);
    } else if (*value == '{') {
        put("list { shape { } }");
    } else if (*value == '[') {
        char sizes[64];
        snprintf(sizes, sizeof sizes, "%.*s", (int)strcspn(value + 1, "]"), value + 1);
        put("shape { ");
        put_each("dim { size: %.*s } ", sizes);
        put("}");
    } else {
        put("%s: %s", strcmp(value, "true") == 0 ? "b" : "type",
            equals != NULL ? value : "DT_FLOAT");
    }
    put(" } } ");
}

static void put_statement(const char *statement, bool *is_function)
{
    char first[64] = "", second[64] = "", third[64] = "", fourth[64] = "-";
    int  at = 0;

    if (sscanf(statement, "%63s %63s %63s %63s%n", first, second, third, fourth, &at) < 1)
        return;
    if (strcmp(first, "function") == 0) {
        put(*is_function ? "}\n" : "library {\n");
        put("function { signature { name: '%s' ", second);
        put_each("input_arg { name: '%.*s' type: DT_FLOAT } ", third);
        put_each("output_arg { name: '%.*s' type: DT_FLOAT } ", fourth);
        put("}\n");
        *is_function = true;
    } else if (strcmp(first, "return") == 0) {
        put("ret { key: '%s' value: '%s' } ", second, third);
    } else if (strcmp(first, "control") == 0) {
        put("control_ret { key: '%s' value: '%s' } ", second, second);
    } else {
        put("%s { name: '%s' op: '%s' ", *is_function ? "node_def" : "node", first,
            third);
        put_each("input: '%.*s' ", fourth);
        for (int size; sscanf(statement + at, "%63s%n", first, &size) == 1; at += size)
            put_attr(first);
        put("}\n");
    }
}

const char *sample_text(const char *statements)
{
    bool is_function = false;

    text_size = 0;
    put("%s", "");
    while (*statements != '\0') {
        size_t length = strcspn(statements, ";");
        put_statement(scratch_print("%.*s", (int)length, statements), &is_function);
        statements += length + (statements[length] == ';');
    }
    if (is_function) put("} }\n");
    return text;
}

const char *sample_path(void)
{
    static char path[64];

    if (path[0] == '\0')
        snprintf(path, sizeof path, P_tmpdir "/emplace-graph-%d", (int)getpid());
    return path;
}

emp_status sample_load(emp_graph **out, const proto_writer *w,
                       const emp_import_params *params, emp_error *err)
{
    FILE *file = fopen(sample_path(), "wb");

    if (file == NULL || fwrite(w->data, 1, w->size, file) != w->size) abort();
    fclose(file);
    emp_status st = emp_import_load(out, NULL, sample_path(), params, err);
    unlink(sample_path());
    return st;
}

emp_status sample_read(emp_graph **graph, const void *bytes, size_t size, emp_error *err)
{
    static memory_reading m;
    emp_reading           r = read_memory_begin(&m, bytes, size, emp_graph_def_options);
    emp_status            st = emp_graph_def_load(graph, &r, err);

    read_memory_end(&m);
    m = (memory_reading){0};
    return st;
}
