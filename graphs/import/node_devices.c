// SPDX-License-Identifier: GPL-3.0-or-later
// Field numbers: TensorFlow's graph.proto and node_def.proto.
#include "graphs/import/node_devices.h"

#include <stdio.h>

#include "base/io/atomic_file.h"
#include "base/mem.h"
#include "base/text/file.h"
#include "graphs/import/container.h"
#include "graphs/import/proto/wire.h"

enum { GRAPH_NODE = 1, NODE_NAME = 1, NODE_OP = 2, NODE_DEVICE = 4 };

static const emp_field_name graph_names[] = {{"node", GRAPH_NODE}, {0}};
static const emp_field_name node_names[] = {
    {"name", NODE_NAME}, {"op", NODE_OP}, {"device", NODE_DEVICE}, {0}};

/* A graph file in memory. */
typedef struct {
    char            *bytes; /* NULL: not owned here */
    emp_message_file file;
    emp_container    container;
} graph_file;

static emp_status open_bytes(graph_file *f, const char *bytes, size_t size,
                             emp_error *err)
{
    emp_message_file_init(&f->file, bytes, size);
    return emp_container_find(&f->file, &f->container, err);
}

static emp_status open_file(graph_file *f, const char *path, emp_error *err)
{
    size_t size = 0;

    *f = (graph_file){0};
    EMP_CHECK(emp_file_load(path, &f->bytes, &size, err));
    return open_bytes(f, f->bytes, size, err);
}

static void close_file(graph_file *f)
{
    emp_message_file_clear(&f->file);
    emp_free(f->bytes);
}

emp_nodes_syntax emp_nodes_syntax_in(const char *bytes, size_t size)
{
    graph_file       f = {0};
    emp_nodes_syntax syntax = EMP_NODES_NONE;

    if (open_bytes(&f, bytes, size, NULL) == EMP_OK)
        syntax = f.file.is_text ? EMP_NODES_TEXT : EMP_NODES_BINARY;
    close_file(&f);
    return syntax;
}

emp_nodes_syntax emp_nodes_syntax_of(const char *path)
{
    emp_nodes_syntax syntax = EMP_NODES_NONE;
    char            *bytes = NULL;
    size_t           size = 0;

    if (emp_file_load(path, &bytes, &size, NULL) == EMP_OK)
        syntax = emp_nodes_syntax_in(bytes, size);
    emp_free(bytes);
    return syntax;
}

/* Every message names the file. */
static emp_status told(emp_status st, const char *path, const emp_error *reason,
                       emp_error *err)
{
    if (st == EMP_OK) return st;
    return emp_error_set(err, st, reason->file, reason->line, "%s: %s", path,
                         reason->msg);
}

/* ---- reading ---- */

static emp_status read_node(emp_message *node, emp_slice *name, emp_slice *device,
                            emp_error *err)
{
    emp_field part;
    bool      found = false;

    *name = *device = (emp_slice){"", 0};
    for (;;) {
        EMP_CHECK(emp_message_next(node, &part, &found, err));
        if (!found) return EMP_OK;
        if (part.number == NODE_NAME) EMP_CHECK(emp_field_string(node, &part, name, err));
        if (part.number == NODE_DEVICE)
            EMP_CHECK(emp_field_string(node, &part, device, err));
    }
}

static emp_status
visit_nodes(graph_file *f, emp_status (*visit)(void *, emp_slice, emp_slice, emp_error *),
            void *context, emp_error *err)
{
    emp_message graph = emp_message_open(&f->file, f->container.graph, graph_names), node;
    emp_field   field;
    emp_slice   name, device;
    bool        found = false;

    for (;;) {
        EMP_CHECK(emp_message_next(&graph, &field, &found, err));
        if (!found) return EMP_OK;
        if (field.number != GRAPH_NODE) continue;
        EMP_CHECK(emp_field_message(&graph, &field, node_names, &node, err));
        EMP_CHECK(read_node(&node, &name, &device, err));
        EMP_CHECK(visit(context, name, device, err));
    }
}

emp_status emp_nodes_each_device_in(const char *bytes, size_t size, const char *path,
                                    emp_status (*visit)(void *context, emp_slice name,
                                                        emp_slice device, emp_error *err),
                                    void *context, emp_error *err)
{
    graph_file f = {0};
    emp_error  reason = {0};
    emp_status st = open_bytes(&f, bytes, size, &reason);

    if (st == EMP_OK) st = visit_nodes(&f, visit, context, &reason);
    close_file(&f);
    return told(st, path, &reason, err);
}

emp_status emp_nodes_each_device(const char *path,
                                 emp_status (*visit)(void *context, emp_slice name,
                                                     emp_slice device, emp_error *err),
                                 void *context, emp_error *err)
{
    char  *bytes = NULL;
    size_t size = 0;

    EMP_CHECK(emp_file_load_named(path, &bytes, &size, err));
    const emp_status st =
        emp_nodes_each_device_in(bytes, size, path, visit, context, err);
    emp_free(bytes);
    return st;
}

/* ---- writing ---- */

typedef struct {
    graph_file          *file;
    emp_nodes_device_of *device_of;
    const void          *context;
} rewriter;

static void put_text(emp_wire_sink *s, const char *text)
{
    emp_wire_put(s, text, strlen(text));
}

/* ---- in wire format ---- */

/* Puts the device where the field belongs, behind all of lower numbers. */
static emp_status put_node(emp_wire_sink *s, const char *origin, emp_slice node,
                           const char *device, emp_error *err)
{
    emp_cursor     cursor = {origin, node.data, node.data + node.size};
    emp_wire_field field;
    bool           is_put = *device == '\0';

    while (cursor.at < cursor.end) {
        const char *start = cursor.at;
        EMP_CHECK(emp_wire_next(&cursor, &field, err));
        if (field.number == NODE_DEVICE) continue;
        if (!is_put && field.number > NODE_DEVICE) {
            emp_wire_put_text(s, NODE_DEVICE, device);
            is_put = true;
        }
        emp_wire_put(s, start, (size_t)(cursor.at - start));
    }
    if (is_put) return EMP_OK;
    emp_wire_put_text(s, NODE_DEVICE, device);
    return EMP_OK;
}

static emp_status put_nodes(emp_wire_sink *s, const rewriter *r, emp_slice graph,
                            emp_error *err)
{
    const char    *origin = r->file->file.bytes.data;
    emp_cursor     cursor = {origin, graph.data, graph.data + graph.size};
    emp_wire_field field;

    while (cursor.at < cursor.end) {
        const char *start = cursor.at;
        EMP_CHECK(emp_wire_next(&cursor, &field, err));
        if (field.number != GRAPH_NODE || field.type != EMP_WIRE_BYTES) {
            emp_wire_put(s, start, (size_t)(cursor.at - start));
            continue;
        }
        emp_message   node = emp_message_open(&r->file->file, field.bytes, node_names);
        emp_slice     name, before;
        emp_wire_sink counter = {0};
        EMP_CHECK(read_node(&node, &name, &before, err));
        const char *device = r->device_of(r->context, name);
        EMP_CHECK(put_node(&counter, origin, field.bytes, device, err));
        emp_wire_put_head(s, GRAPH_NODE, counter.size);
        EMP_CHECK(put_node(s, origin, field.bytes, device, err));
    }
    return EMP_OK;
}

/* The messages around each other: the file, perhaps a MetaGraphDef, the GraphDef. */
static emp_status put_level(emp_wire_sink *s, const rewriter *r, const emp_slice *level,
                            int32_t inner_count, emp_error *err)
{
    emp_cursor     cursor = {level->data, level->data, level->data + level->size};
    emp_wire_field field;

    if (inner_count == 0) return put_nodes(s, r, *level, err);
    while (cursor.at < cursor.end) {
        const char   *start = cursor.at;
        emp_wire_sink counter = {0};
        EMP_CHECK(emp_wire_next(&cursor, &field, err));
        if (field.type != EMP_WIRE_BYTES || field.bytes.data != level[1].data) {
            emp_wire_put(s, start, (size_t)(cursor.at - start));
            continue;
        }
        EMP_CHECK(put_level(&counter, r, level + 1, inner_count - 1, err));
        emp_wire_put_head(s, field.number, counter.size);
        EMP_CHECK(put_level(s, r, level + 1, inner_count - 1, err));
    }
    return EMP_OK;
}

static emp_status put_binary(emp_wire_sink *s, const rewriter *r, emp_error *err)
{
    const emp_slice      whole = r->file->file.bytes;
    const emp_container *c = &r->file->container;
    emp_slice            level[3] = {whole};
    int32_t              last = 0;

    if (c->meta.data != NULL && c->meta.data != whole.data) level[++last] = c->meta;
    if (c->graph.data != whole.data) level[++last] = c->graph;
    return put_level(s, r, level, last, err);
}

/* ---- in text format ---- */

/* Puts what stands between the last place and this one. */
static void put_until(emp_wire_sink *s, const char **last, const char *at)
{
    emp_wire_put(s, *last, (size_t)(at - *last));
    *last = at;
}

static void put_device(emp_wire_sink *s, const char *device)
{
    if (*device == '\0') return;
    put_text(s, "device: \"");
    put_text(s, device);
    put_text(s, "\"");
}

/* The white space before a place, at least a blank, so that a new field is laid out as its
 * neighbour. */
static emp_slice space_before(const char *origin, const char *at)
{
    const char *start = at;

    while (start > origin &&
           (start[-1] == ' ' || (start[-1] >= '\t' && start[-1] <= '\r')))
        start--;
    return start < at ? (emp_slice){start, (size_t)(at - start)} : (emp_slice){" ", 1};
}

/* Where a node's text has its device, or may have it. */
typedef struct {
    emp_slice device; /* the first field; data NULL = there is none */
    emp_slice anchor; /* the field behind which a new one goes: its op, else its name */
    emp_slice name;
} node_text;

static emp_status find_fields(node_text *node, emp_message *message, emp_error *err)
{
    emp_field field;
    bool      found = false;

    *node = (node_text){0};
    for (;;) {
        EMP_CHECK(emp_message_next(message, &field, &found, err));
        if (!found) return EMP_OK;
        if (field.number == 0) continue;
        const char *start = field.text.name.data;
        emp_slice   value = field.text.value, text;
        emp_slice   whole = {start, (size_t)(value.data + value.size - start)};
        EMP_CHECK(emp_field_string(message, &field, &text, err));
        if (message->text.in_list ||
            (field.number == NODE_DEVICE && node->device.data != NULL))
            return EMP_ERROR(EMP_EFORMAT, "node \"%.*s\" has several of \"%.*s\"",
                             EMP_SLICE_ARG(node->name), EMP_SLICE_ARG(field.text.name));
        if (field.number == NODE_NAME) node->name = text;
        if (field.number == NODE_DEVICE)
            node->device = whole;
        else if (field.number == NODE_OP || node->anchor.data == NULL)
            node->anchor = whole;
    }
}

static void put_node_text(emp_wire_sink *s, const char **last, const rewriter *r,
                          const node_text *node)
{
    const char *device = r->device_of(r->context, node->name);

    if (node->device.data != NULL) {
        put_until(s, last, node->device.data);
        put_device(s, device);
        *last = node->device.data + node->device.size;
    } else if (node->anchor.data != NULL && *device != '\0') {
        emp_slice space = space_before(r->file->file.bytes.data, node->anchor.data);
        put_until(s, last, node->anchor.data + node->anchor.size);
        emp_wire_put(s, space.data, space.size);
        put_device(s, device);
    }
}

static emp_status put_text_file(emp_wire_sink *s, const rewriter *r, emp_error *err)
{
    emp_message_file *file = &r->file->file;
    emp_message graph = emp_message_open(file, r->file->container.graph, graph_names),
                node;
    const char *last = file->bytes.data;
    emp_field   field;
    node_text   found_node;
    bool        found = false;

    for (;;) {
        EMP_CHECK(emp_message_next(&graph, &field, &found, err));
        if (!found) break;
        if (field.number != GRAPH_NODE) continue;
        EMP_CHECK(emp_field_message(&graph, &field, node_names, &node, err));
        EMP_CHECK(find_fields(&found_node, &node, err));
        put_node_text(s, &last, r, &found_node);
    }
    put_until(s, &last, file->bytes.data + file->bytes.size);
    return EMP_OK;
}

static emp_status print(FILE *stream, const void *what, emp_error *err)
{
    const rewriter *r = (const rewriter *)what;
    emp_wire_sink   s = {.stream = stream};

    return r->file->file.is_text ? put_text_file(&s, r, err) : put_binary(&s, r, err);
}

emp_status emp_nodes_write(const char *path, const char *out,
                           emp_nodes_device_of *device_of, const void *context,
                           emp_error *err)
{
    graph_file f;
    rewriter   r = {&f, device_of, context};
    emp_error  reason = {0};
    emp_status st = open_file(&f, path, &reason);

    st = told(st, path, &reason, err);
    if (st == EMP_OK) st = emp_atomic_file_write(out, print, &r, err);
    close_file(&f);
    return st;
}
