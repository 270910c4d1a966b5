// SPDX-License-Identifier: GPL-3.0-or-later
// Field numbers: TensorFlow's graph.proto and node_def.proto.
#include "graphs/import/graph_def.h"

#include "graphs/import/attrs.h"

enum { GRAPH_NODE = 1 };
enum { NODE_NAME = 1, NODE_OP = 2, NODE_INPUT = 3, NODE_ATTR = 5 };
enum { NAME_BYTES_MAX = 4096, TYPE_BYTES_MAX = 256 };

static const emp_field_name graph_names[] = {{"node", GRAPH_NODE}, {0}};
static const emp_field_name node_names[] = {{"name", NODE_NAME},
                                            {"op", NODE_OP},
                                            {"input", NODE_INPUT},
                                            {"attr", NODE_ATTR},
                                            {0}};

typedef struct {
    emp_graph_builder       *builder;
    emp_message_file        *file;
    const emp_import_params *params;
    emp_node_attrs           attrs;
} reader;

/* A node as the file gives it. */
typedef struct {
    emp_slice name, op;
    bool      has_data_input;
} node_def;

/* Names end up in C strings, in messages and in JSON files. */
static emp_status check_name(const char *what, emp_slice name, size_t bytes_max,
                             emp_error *err)
{
    if (name.size == 0) return EMP_ERROR(EMP_EFORMAT, "%s is missing", what);
    if (name.size > bytes_max)
        return EMP_ERROR(EMP_EFORMAT, "%s of %zu bytes, at most %zu are possible", what,
                         name.size, bytes_max);
    for (size_t i = 0; i < name.size; i++) {
        if ((unsigned char)name.data[i] < ' ' || name.data[i] == '\x7f')
            return EMP_ERROR(EMP_EFORMAT, "%s holds the control character %d", what,
                             name.data[i]);
        if ((unsigned char)name.data[i] > '\x7f')
            return EMP_ERROR(EMP_EFORMAT,
                             "%s holds the byte %d, which is no ASCII character", what,
                             (unsigned char)name.data[i]);
    }
    return EMP_OK;
}

static emp_status read_node(reader *r, const emp_field *field, const emp_message *graph,
                            node_def *node, emp_error *err)
{
    emp_message message;
    emp_field   part;
    emp_slice   input;
    bool        found = false;

    emp_node_attrs_reset(&r->attrs);
    EMP_CHECK(emp_field_message(graph, field, node_names, &message, err));
    for (;;) {
        EMP_CHECK(emp_message_next(&message, &part, &found, err));
        if (!found) break;
        switch (part.number) {
        case NODE_NAME:
            EMP_CHECK(emp_field_string(&message, &part, &node->name, err));
            break;
        case NODE_OP: EMP_CHECK(emp_field_string(&message, &part, &node->op, err)); break;
        case NODE_ATTR:
            EMP_CHECK(emp_node_attrs_read(&r->attrs, &message, &part, err));
            break;
        case NODE_INPUT:
            EMP_CHECK(emp_field_string(&message, &part, &input, err));
            if (input.size > 0 && input.data[0] != '^') node->has_data_input = true;
            break;
        default: break;
        }
    }
    EMP_CHECK(check_name("its name", node->name, NAME_BYTES_MAX, err));
    EMP_CHECK(check_name("its op", node->op, TYPE_BYTES_MAX, err));
    if (emp_graph_builder_find(r->builder, node->name.data, node->name.size) >= 0)
        return EMP_ERROR(EMP_EFORMAT, "an earlier node has the same name");
    return EMP_OK;
}

static void set_batch(emp_shape *shape, int64_t batch)
{
    if (shape->rank > 0 && shape->dim[0] < 0) shape->dim[0] = batch;
}

/* Whether inference can tell the outputs from the inputs. */
static bool is_inferable(const node_def *node)
{
    char type[TYPE_BYTES_MAX + 1];

    if (!node->has_data_input) return false;
    memcpy(type, node->op.data, node->op.size);
    type[node->op.size] = '\0';
    const emp_op_type *entry = emp_op_type_find(type);
    return entry != NULL && (entry->flags & EMP_OP_OPEN_OUTPUTS) == 0;
}

/* An unknown leading size is the batch where the data enter the graph. Elsewhere the
 * file's -1 is left to inference, which may know better: not every leading size is the
 * batch. */
static emp_status declare_node(reader *r, const node_def *node, emp_error *err)
{
    emp_node_attrs *attrs = &r->attrs;
    emp_op_id       op;
    bool has_outputs = attrs->output_count >= 0 && !r->params->ignore_output_shapes;

    if (!is_inferable(node)) {
        set_batch(&attrs->attrs.shape, r->params->batch_hint);
        for (int32_t i = 0; i < attrs->output_count; i++)
            set_batch(&attrs->output[i], r->params->batch_hint);
    }
    return emp_graph_builder_declare(r->builder, node->name.data, node->name.size,
                                     node->op.data, node->op.size, &attrs->attrs,
                                     has_outputs ? attrs->output : NULL,
                                     has_outputs ? attrs->output_count : 0, &op, err);
}

/* An entry of NodeDef.input: "name", "name:port" or "^name". */
typedef struct {
    emp_slice name;
    int32_t   port;
    bool      is_control;
} node_input;

static node_input parse_input(emp_slice text)
{
    node_input input = {.name = text};
    size_t     colon = text.size;

    if (text.size > 0 && text.data[0] == '^') {
        input.name = (emp_slice){text.data + 1, text.size - 1};
        input.is_control = true;
        return input;
    }
    while (colon > 0 && text.data[colon - 1] >= '0' && text.data[colon - 1] <= '9')
        colon--;
    if (colon == text.size || colon == 0 || text.data[--colon] != ':') return input;
    input.name.size = colon;
    for (size_t i = colon + 1; i < text.size && input.port < EMP_MAX_OUTPUTS; i++)
        input.port = 10 * input.port + (text.data[i] - '0');
    return input;
}

static emp_status connect_input(reader *r, emp_op_id op, node_input input, emp_error *err)
{
    emp_op_id from = emp_graph_builder_find(r->builder, input.name.data, input.name.size);

    if (from < 0) return EMP_ERROR(EMP_EFORMAT, "no node has that name");
    if (input.port >= EMP_MAX_OUTPUTS)
        return EMP_ERROR(EMP_EFORMAT, "no op has an output beyond %d",
                         EMP_MAX_OUTPUTS - 1);
    if (input.is_control) return emp_graph_builder_add_control(r->builder, from, op, err);
    return emp_graph_builder_connect(r->builder, (emp_port){from, input.port}, op, err);
    return EMP_OK;
}

static emp_status connect_node(reader *r, const emp_message *graph,
                               const emp_field *field, emp_op_id op, emp_error *err)
{
    emp_status  st = EMP_OK;
    emp_message message;
    emp_field   part;
    emp_slice   input = {0};
    emp_error   reason = {0};
    bool        found = false;
    int         index = 0;

    EMP_CHECK(emp_field_message(graph, field, node_names, &message, err));
    for (;; index++) {
        do {
            EMP_CHECK(emp_message_next(&message, &part, &found, err));
        } while (found && part.number != NODE_INPUT);
        if (!found) break;
        EMP_CHECK(emp_field_string(&message, &part, &input, err));
        st = connect_input(r, op, parse_input(input), &reason);
        if (st != EMP_OK)
            return EMP_ERROR(st, "node \"%s\", input %d, \"%.*s\": %s",
                             emp_graph_builder_name(r->builder, op), index,
                             EMP_SLICE_ARG(input), reason.msg);
    }
    return st;
}

static emp_status declare_nodes(reader *r, emp_slice body, emp_error *err)
{
    emp_status  st = EMP_OK;
    emp_message graph = emp_message_open(r->file, body, graph_names);
    emp_field   field;
    bool        found = false;

    for (;;) {
        node_def  node = {0};
        emp_error reason = {0};
        EMP_CHECK(emp_message_next(&graph, &field, &found, err));
        if (!found) break;
        if (field.number != GRAPH_NODE) continue;
        st = read_node(r, &field, &graph, &node, &reason);
        if (st == EMP_OK) st = declare_node(r, &node, &reason);
        if (st != EMP_OK)
            return EMP_ERROR(st, "node %d, \"%.*s\": %s",
                             emp_graph_builder_op_count(r->builder),
                             EMP_SLICE_ARG(node.name), reason.msg);
    }
    return st;
}

/* The second walk over the same bytes meets the nodes in the same order, so that nothing
 * of the first has to be remembered. */
static emp_status connect_nodes(reader *r, emp_slice body, emp_error *err)
{
    emp_message graph = emp_message_open(r->file, body, graph_names);
    emp_field   field;
    bool        found = false;

    for (emp_op_id op = 0;;) {
        EMP_CHECK(emp_message_next(&graph, &field, &found, err));
        if (!found) break;
        if (field.number == GRAPH_NODE)
            EMP_CHECK(connect_node(r, &graph, &field, op++, err));
    }
    return EMP_OK;
}

emp_status emp_graph_def_read(emp_graph_builder *builder, emp_message_file *file,
                              emp_slice graph, const emp_import_params *params,
                              emp_error *err)
{
    emp_status st = EMP_OK;
    reader     r = {.builder = builder, .file = file, .params = params};

    EMP_TRY(declare_nodes(&r, graph, err));
    EMP_TRY(connect_nodes(&r, graph, err));

cleanup:
    emp_node_attrs_clear(&r.attrs);
    return st;
}
