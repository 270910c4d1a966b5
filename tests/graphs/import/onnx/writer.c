// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/graphs/import/onnx/writer.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tests/support/survive.h"

/* Bytes that grow in a fixed array. */
typedef struct {
    char   data[ONNX_WRITER_BYTES];
    size_t size;
} buffer;

static void put_bytes(char *data, size_t *size, const void *bytes, size_t count)
{
    cr_assert_lt(*size + count, (size_t)ONNX_WRITER_BYTES);
    memcpy(data + *size, bytes, count);
    *size += count;
}

static void put_varint(char *data, size_t *size, uint64_t value)
{
    do {
        char byte = (char)((value & 127) | (value > 127 ? 128 : 0));
        put_bytes(data, size, &byte, 1);
        value >>= 7;
    } while (value > 0);
}

static void put_number(buffer *b, int field, uint64_t value)
{
    put_varint(b->data, &b->size, (uint64_t)field << 3);
    put_varint(b->data, &b->size, value);
}

static void put_field(char *data, size_t *size, int field, const void *bytes,
                      size_t count)
{
    put_varint(data, size, ((uint64_t)field << 3) | 2);
    put_varint(data, size, count);
    put_bytes(data, size, bytes, count);
}

static void put_text(buffer *b, int field, const char *text, size_t length)
{
    put_field(b->data, &b->size, field, text, length);
}

static void put_buffer(buffer *b, int field, const buffer *part)
{
    put_field(b->data, &b->size, field, part->data, part->size);
}

/* One field for each part between commas. */
static void each_part(buffer *b, int field, const char *list)
{
    while (*list != '\0') {
        size_t length = strcspn(list, ",");
        put_text(b, field, list, length);
        list += length + (list[length] == ',');
    }
}

static void add_to_graph(onnx_writer *w, int field, const buffer *part)
{
    put_field(w->graph, &w->graph_size, field, part->data, part->size);
}

/* An entry of "metadata_props". */
static void put_entry(buffer *b, const char *key, const char *value)
{
    b->size = 0;
    put_text(b, 1, key, strlen(key));
    put_text(b, 2, value, strlen(value));
}

void onnx_metadata(onnx_writer *w, const char *key, const char *value)
{
    static buffer entry;

    put_entry(&entry, key, value);
    add_to_graph(w, 16, &entry);
}

static void put_value(onnx_writer *w, int field, const char *name, int type,
                      const char *sizes, const buffer *entry)
{
    static buffer info, value, tensor, shape, dim;

    info.size = value.size = tensor.size = shape.size = 0;
    while (*sizes != '\0') {
        size_t length = strcspn(sizes, ",");
        dim.size = 0;
        if (*sizes >= '0' && *sizes <= '9')
            put_number(&dim, 1, strtoull(sizes, NULL, 10));
        else if (*sizes != '?')
            put_text(&dim, 2, sizes, length);
        put_buffer(&shape, 1, &dim);
        sizes += length + (sizes[length] == ',');
    }
    put_number(&tensor, 1, (uint64_t)type);
    put_buffer(&tensor, 2, &shape);
    put_buffer(&value, 1, &tensor);
    put_text(&info, 1, name, strlen(name));
    put_buffer(&info, 2, &value);
    if (entry != NULL) put_buffer(&info, 4, entry);
    add_to_graph(w, field, &info);
}

void onnx_info(onnx_writer *w, const char *name, int type, const char *sizes,
               const char *key, const char *value)
{
    static buffer entry;

    put_entry(&entry, key, value);
    put_value(w, 13, name, type, sizes, &entry);
}

void onnx_input(onnx_writer *w, const char *name, int type, const char *sizes)
{
    put_value(w, 11, name, type, sizes, NULL);
}

void onnx_output(onnx_writer *w, const char *name, int type, const char *sizes)
{
    put_value(w, 12, name, type, sizes, NULL);
}

static void put_tensor(buffer *tensor, const char *name, int type, const char *sizes)
{
    tensor->size = 0;
    while (*sizes != '\0') {
        put_number(tensor, 1, strtoull(sizes, NULL, 10));
        sizes += strcspn(sizes, ",");
        sizes += *sizes == ',';
    }
    put_number(tensor, 2, (uint64_t)type);
    put_text(tensor, 8, name, strlen(name));
}

void onnx_weight(onnx_writer *w, const char *name, int type, const char *sizes)
{
    static buffer tensor;

    put_tensor(&tensor, name, type, sizes);
    put_text(&tensor, 13, "", 0);
    add_to_graph(w, 5, &tensor);
}

void onnx_ints(onnx_writer *w, const char *name, const char *elements)
{
    static buffer tensor;
    char          size[16];
    int           count = 0;

    for (const char *at = elements; *at != '\0'; at++) count += *at == ',';
    snprintf(size, sizeof size, "%d", *elements == '\0' ? 0 : count + 1);
    put_tensor(&tensor, name, 7, size);
    while (*elements != '\0') {
        put_number(&tensor, 7, (uint64_t)strtoll(elements, NULL, 10));
        elements += strcspn(elements, ",");
        elements += *elements == ',';
    }
    add_to_graph(w, 5, &tensor);
}

void onnx_floats(onnx_writer *w, const char *name, const char *sizes,
                 const char *elements)
{
    static buffer tensor;

    put_tensor(&tensor, name, 1, sizes);
    while (*elements != '\0') {
        float number = strtof(elements, NULL);
        put_varint(tensor.data, &tensor.size, (4U << 3) | 5);
        put_bytes(tensor.data, &tensor.size, &number, sizeof number);
        elements += strcspn(elements, ",");
        elements += *elements == ',';
    }
    add_to_graph(w, 5, &tensor);
}

static void put_attribute(buffer *node, const char *word, size_t length)
{
    static buffer attr;
    size_t        name = strcspn(word, "=:~");
    const char   *value = word + name + 1;

    attr.size = 0;
    put_text(&attr, 1, word, name);
    if (word[name] == ':') {
        put_text(&attr, 4, value, length - name - 1);
    } else if (word[name] == '~') {
        float number = strtof(value, NULL);
        put_varint(attr.data, &attr.size, (2U << 3) | 5);
        put_bytes(attr.data, &attr.size, &number, sizeof number);
    } else if (memchr(word, ',', length) == NULL) {
        put_number(&attr, 3, (uint64_t)strtoll(value, NULL, 10));
    } else {
        while (value < word + length) {
            put_number(&attr, 8, (uint64_t)strtoll(value, NULL, 10));
            value += strcspn(value, ", ");
            value += *value == ',';
            if (*value == ' ' || *value == '\0') break;
        }
    }
    put_buffer(node, 5, &attr);
}

static void put_graph(buffer *node, const char *name, const onnx_writer *body)
{
    static buffer attr;

    attr.size = 0;
    put_text(&attr, 1, name, strlen(name));
    put_field(attr.data, &attr.size, 6, body->graph, body->graph_size);
    put_buffer(node, 5, &attr);
}

void onnx_if(onnx_writer *w, const char *condition, const char *outputs,
             const onnx_writer *then_branch, const onnx_writer *else_branch)
{
    static buffer node;

    node.size = 0;
    each_part(&node, 1, condition);
    each_part(&node, 2, outputs);
    put_text(&node, 4, "If", 2);
    put_graph(&node, "then_branch", then_branch);
    put_graph(&node, "else_branch", else_branch);
    put_field(w->graph, &w->graph_size, 1, node.data, node.size);
}

void onnx_node_of(onnx_writer *w, const char *domain, const char *type,
                  const char *inputs, const char *outputs, const char *attributes,
                  const char *body_name, const onnx_writer *body)
{
    static buffer node;

    node.size = 0;
    each_part(&node, 1, inputs);
    each_part(&node, 2, outputs);
    put_text(&node, 3, "", 0);
    put_text(&node, 4, type, strlen(type));
    put_text(&node, 7, domain, strlen(domain));
    while (*attributes != '\0') {
        size_t length = strcspn(attributes, " ");
        put_attribute(&node, attributes, length);
        attributes += length + (attributes[length] == ' ');
    }
    if (body != NULL) put_graph(&node, body_name, body);
    put_field(w->graph, &w->graph_size, w->is_list ? 7 : 1, node.data, node.size);
}

void onnx_node(onnx_writer *w, const char *type, const char *inputs, const char *outputs,
               const char *attributes)
{
    onnx_node_of(w, "", type, inputs, outputs, attributes, NULL, NULL);
}

void onnx_function(onnx_writer *w, const char *domain, const char *name,
                   const char *inputs, const char *outputs, const onnx_writer *body)
{
    static buffer function;

    function.size = 0;
    put_text(&function, 1, name, strlen(name));
    each_part(&function, 4, inputs);
    each_part(&function, 5, outputs);
    put_bytes(function.data, &function.size, body->graph, body->graph_size);
    put_text(&function, 10, domain, strlen(domain));
    put_field(w->functions, &w->functions_size, 25, function.data, function.size);
}

emp_slice onnx_model(onnx_writer *w, int opset)
{
    static buffer version;
    size_t        size = 0;

    version.size = 0;
    put_number(&version, 1, 8);
    put_bytes(w->model, &size, version.data, version.size);
    put_field(w->model, &size, 2, "tests", 5);
    put_field(w->model, &size, 7, w->graph, w->graph_size);
    version.size = 0;
    put_text(&version, 1, "", 0);
    put_number(&version, 2, (uint64_t)opset);
    put_field(w->model, &size, 8, version.data, version.size);
    put_bytes(w->model, &size, w->functions, w->functions_size);
    return (emp_slice){w->model, size};
}

/* One statement of a text. */
static void put_statement(onnx_writer *w, const char *statement)
{
    char head[64] = "", name[64] = "", inputs[64] = "";
    int  at = (int)strlen(statement);

    if (sscanf(statement, " %63s %63s %n", head, name, &at) < 2)
        cr_assert_fail("\"%s\" is no statement", statement);
    statement += at;
    if (strcmp(name, "=") == 0) {
        at = (int)strlen(statement);
        (void)sscanf(statement, "%63s %63s %n", name, inputs, &at);
        onnx_node(w, name, inputs, head, statement + at);
        return;
    }
    const char *colon = strchr(statement, ':');
    const char *sizes = colon != NULL ? colon + 1 : statement;
    int         type = colon != NULL ? atoi(statement) : 1;
    if (strcmp(head, "in") == 0)
        onnx_input(w, name, type, sizes);
    else if (strcmp(head, "out") == 0)
        onnx_output(w, name, type, sizes);
    else if (strcmp(head, "weight") == 0)
        onnx_weight(w, name, type, sizes);
    else if (strcmp(head, "ints") == 0)
        onnx_ints(w, name, sizes);
    else
        cr_assert_fail("\"%s\" begins no statement", head);
}

void onnx_text(onnx_writer *w, const char *text)
{
    while (*text != '\0') {
        char   statement[256];
        size_t length = strcspn(text, ";");
        snprintf(statement, sizeof statement, "%.*s", (int)length, text);
        put_statement(w, statement);
        text += length + (text[length] == ';');
    }
}

/* ---- graphs of models ---- */

static const emp_onnx_params no_params;

emp_graph *onnx_load(onnx_writer *w, int opset, const emp_onnx_params *params,
                     emp_import_notes *notes)
{
    emp_graph       *graph = NULL;
    emp_import_notes own = {0};
    emp_error        err = {0};

    cr_assert_eq(emp_onnx_build(&graph, onnx_model(w, opset),
                                params != NULL ? params : &no_params,
                                notes != NULL ? notes : &own, &err),
                 EMP_OK, "%s", err.msg);
    emp_import_notes_clear(&own);
    return graph;
}

void onnx_expect_refused(onnx_writer *w, int opset, const emp_onnx_params *params,
                         const char *part)
{
    emp_graph       *graph = NULL;
    emp_import_notes notes = {0};
    emp_error        err = {0};

    cr_expect_neq(emp_onnx_build(&graph, onnx_model(w, opset),
                                 params != NULL ? params : &no_params, &notes, &err),
                  EMP_OK, "no \"%s\"", part);
    cr_expect_null(graph);
    cr_expect_not_null(strstr(err.msg, part), "no \"%s\" in \"%s\"", part, err.msg);
    emp_import_notes_clear(&notes);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

static emp_status build(emp_graph **graph, emp_slice model, const emp_onnx_params *params)
{
    emp_import_notes notes = {0};
    emp_status       st = emp_onnx_build(graph, model, params, &notes, NULL);

    emp_import_notes_clear(&notes);
    return st;
}

void onnx_survive(onnx_writer *w, int opset, const char *train)
{
    const emp_slice       model = onnx_model(w, opset);
    const emp_onnx_params params = {.train = train};
    emp_graph            *graph = NULL;

    SURVIVES_EVERY_ALLOCATION_FAILURE(build(&graph, model, &params),
                                      cr_assert_null(graph));
    emp_graph_destroy(graph);
}

int32_t onnx_count_type(const emp_graph *g, const char *type)
{
    int32_t count = 0;

    for (emp_op_id op = 0; op < g->op_count; op++)
        count += strcmp(g->type_name[g->type[op]], type) == 0;
    return count;
}

const char *onnx_shape_of(const emp_graph *g, const char *type)
{
    static char text[EMP_SHAPE_TEXT_BYTES];

    strcpy(text, "no such op");
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (strcmp(g->type_name[g->type[op]], type) == 0)
            emp_shape_format(g->tensor[g->output_offset[op]].shape, text);
    return text;
}
