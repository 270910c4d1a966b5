// SPDX-License-Identifier: GPL-3.0-or-later
// Field numbers: TensorFlow's graph.proto and node_def.proto.
/* GraphDef, MetaGraphDef and SavedModel of TensorFlow, as protobuf wire format or text. From a SavedModel the
 * first meta graph is read, and its step is a signature. Functions stand in place of the ops that call
 * them (frames.h). */
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "graphs/import/attrs.h"
#include "graphs/import/container.h"
#include "graphs/import/frames.h"
#include "graphs/import/notes/readers.h"

enum { GRAPH_NODE = 1 };
enum { NODE_NAME = 1, NODE_OP = 2, NODE_INPUT = 3, NODE_ATTR = 5 };
enum { VALUE_LIST = 1, VALUE_FUNC = 10 };
enum { LIST_FUNC = 9, FUNC_NAME = 1 };
enum { NAME_BYTES_MAX = 4096, TYPE_BYTES_MAX = 256, CALLEES_MAX = 8 };

static const emp_field_name graph_names[] = {{"node", GRAPH_NODE}, {0}};
static const emp_field_name node_names[] = {{"name", NODE_NAME},
                                            {"op", NODE_OP},
                                            {"input", NODE_INPUT},
                                            {"attr", NODE_ATTR},
                                            {0}};

static const emp_field_name value_names[] = {
    {"list", VALUE_LIST}, {"func", VALUE_FUNC}, {0}};
static const emp_field_name list_names[] = {{"func", LIST_FUNC}, {0}};
static const emp_field_name func_names[] = {{"name", FUNC_NAME}, {0}};

/* A node one of whose inputs comes after it, or from a call. */
typedef struct {
    emp_slice body;
    emp_op_id op;
    int32_t   frame;
} open_node;

typedef struct {
    emp_graph_builder       *builder;
    emp_message_file        *file;
    const emp_import_params *params;
    emp_node_attrs           attrs;
    emp_frames               frames;
    int32_t                  frame;          /* that is being read */
    bool                     has_open_batch; /* a leading size was unknown */
    emp_node_input          *input;          /* of the node that is being read */
    emp_node_name           *expected;       /* [input] */
    emp_op_id               *source;         /* [input] the op that it means */
    int32_t    input_count, input_capacity, expected_capacity, source_capacity;
    open_node *open; /* that are still to be connected */
    int32_t    open_count, open_capacity;
    int32_t    target_count; /* tensors of the signature */
} reader;

/* A node as the file gives it. */
typedef struct {
    emp_slice         name, op, body;
    emp_node_name     expected; /* of the op */
    bool              has_data_input;
    emp_function_attr callee[CALLEES_MAX]; /* functions that its attributes name */
    int32_t           callee_count;
} node_def;

/* The first byte that is no printable character of ASCII; the size: there is none. */
static size_t find_unprintable(emp_slice name)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    size_t         i = 0;

    for (; name.size - i >= sizeof ones; i += sizeof ones) {
        uint64_t word;
        memcpy(&word, name.data + i, sizeof word);
        const uint64_t delete = word ^ ones * 0x7f;
        const uint64_t bad = (word - ones * ' ') | (delete - ones) | word;
        if ((bad & ones << 7) != 0) break;
    }
    while (i < name.size && name.data[i] >= ' ' && name.data[i] < '\x7f') i++;
    return i;
}

/* Names end up in C strings, in messages and in JSON files. */
static emp_status check_name(const char *what, emp_slice name, size_t bytes_max,
                             emp_error *err)
{
    if (name.size == 0) return EMP_ERROR(EMP_EFORMAT, "%s is missing", what);
    if (name.size > bytes_max)
        return EMP_ERROR(EMP_EFORMAT, "%s of %zu bytes, at most %zu are possible", what,
                         name.size, bytes_max);
    const size_t at = find_unprintable(name);
    if (at == name.size) return EMP_OK;
    const int c = (unsigned char)name.data[at];
    if (c <= '\x7f')
        return EMP_ERROR(EMP_EFORMAT, "%s holds the control character %d", what, c);
    return EMP_ERROR(EMP_EFORMAT, "%s holds the byte %d, which is no ASCII character",
                     what, c);
}

static bool is_in_function(const reader *r) { return r->frame > 0; }

/* The nodes of the frame: a GraphDef, or a FunctionDef. */
static emp_message open_nodes(reader *r, emp_slice graph)
{
    const emp_function *f = r->frames.frame[r->frame].function;

    return f == NULL ? emp_message_open(r->file, graph, graph_names)
                     : emp_message_open(r->file, f->body, emp_function_names);
}

static bool is_node(const reader *r, const emp_field *field)
{
    return field->number == (is_in_function(r) ? EMP_FUNCTION_NODE : GRAPH_NODE);
}

static emp_status keep_input(reader *r, emp_slice text, emp_error *err)
{
    EMP_CHECK(EMP_GROW(r->input, r->input_count + 1, r->input_capacity));
    EMP_CHECK(EMP_GROW(r->expected, r->input_count + 1, r->expected_capacity));
    EMP_CHECK(EMP_GROW(r->source, r->input_count + 1, r->source_capacity));
    emp_node_input *input = &r->input[r->input_count];
    *input = emp_node_input_parse(text, is_in_function(r));
    r->expected[r->input_count++] =
        emp_graph_builder_expect(r->builder, input->name.data, input->name.size);
    return EMP_OK;
}

static emp_status read_function_name(emp_slice *name, const emp_message *value,
                                     const emp_field *field, emp_error *err)
{
    emp_message func;
    emp_field   part;
    bool        found = false;

    EMP_CHECK(emp_field_message(value, field, func_names, &func, err));
    for (;;) {
        EMP_CHECK(emp_message_next(&func, &part, &found, err));
        if (!found) return EMP_OK;
        if (part.number == FUNC_NAME)
            EMP_CHECK(emp_field_string(&func, &part, name, err));
    }
}

/* The first function of a list. */
static emp_status read_function_list(emp_slice *name, const emp_message *value,
                                     const emp_field *field, emp_error *err)
{
    emp_message list;
    emp_field   part;
    bool        found = false;

    EMP_CHECK(emp_field_message(value, field, list_names, &list, err));
    for (;;) {
        EMP_CHECK(emp_message_next(&list, &part, &found, err));
        if (!found) return EMP_OK;
        if (part.number != LIST_FUNC) continue;
        return read_function_name(name, &list, &part, err);
    }
}

/* Notes the function that an attribute names, if it names one. */
static emp_status read_callee(node_def *node, const emp_attr *attr, emp_error *err)
{
    emp_message       value;
    emp_field         part;
    emp_function_attr callee = {attr->key, {"", 0}};
    bool              found = false;

    EMP_CHECK(emp_field_message(&attr->entry, &attr->value, value_names, &value, err));
    for (;;) {
        EMP_CHECK(emp_message_next(&value, &part, &found, err));
        if (!found) break;
        if (part.number == VALUE_FUNC)
            EMP_CHECK(read_function_name(&callee.callee, &value, &part, err));
        if (part.number == VALUE_LIST)
            EMP_CHECK(read_function_list(&callee.callee, &value, &part, err));
    }
    if (callee.callee.size > 0 && node->callee_count < CALLEES_MAX)
        node->callee[node->callee_count++] = callee;
    return EMP_OK;
}

/* The full name of a node of the frame; in the arena where it has a prefix. */
static emp_status full_name(emp_slice *name, reader *r, emp_error *err)
{
    const char *prefix = r->frames.frame[r->frame].prefix;
    size_t      length = strlen(prefix);

    if (length == 0) return EMP_OK;
    EMP_CHECK(emp_frames_spend(&r->frames, length + name->size, err));
    char *full = emp_arena_alloc(&r->frames.arena, length + name->size + 1);
    if (full == NULL) return EMP_ERROR(EMP_ENOMEM, "a name of %zu bytes", length);
    memcpy(full, prefix, length);
    memcpy(full + length, name->data, name->size);
    *name = (emp_slice){full, length + name->size};
    return EMP_OK;
}

/* An iterator and a dataset have the shapes of their elements, only the next element has them as its own. */
static bool is_of_elements(const node_def *node, const emp_attr *attr)
{
    return emp_slice_is(attr->key, "output_shapes") &&
           !emp_slice_has(node->op, "GetNext");
}

static emp_status read_node(reader *r, const emp_field *field, const emp_message *graph,
                            node_def *node, emp_error *err)
{
    emp_message message;
    emp_field   part;
    emp_slice   input;
    emp_attr    attr;
    bool        found = false, may_call;

    emp_node_attrs_reset(&r->attrs);
    r->input_count = 0;
    node->name = node->op = (emp_slice){0};
    node->has_data_input = false;
    node->callee_count = 0;
    EMP_CHECK(emp_field_message(graph, field, node_names, &message, err));
    node->body = emp_message_body(&message);
    for (;;) {
        EMP_CHECK(emp_message_next(&message, &part, &found, err));
        if (!found) break;
        switch (part.number) {
        case NODE_NAME:
            EMP_CHECK(emp_field_string(&message, &part, &node->name, err));
            node->expected =
                emp_graph_builder_expect(r->builder, node->name.data, node->name.size);
            break;
        case NODE_OP: EMP_CHECK(emp_field_string(&message, &part, &node->op, err)); break;
        case NODE_ATTR:
            EMP_CHECK(emp_attr_read(&attr, &message, &part, err));
            if (is_of_elements(node, &attr)) break;
            EMP_CHECK(emp_node_attrs_set(&r->attrs, &may_call, &attr, err));
            if (may_call) EMP_CHECK(read_callee(node, &attr, err));
            break;
        case NODE_INPUT:
            EMP_CHECK(emp_field_string(&message, &part, &input, err));
            if (input.size > 0 && input.data[0] != '^') node->has_data_input = true;
            EMP_CHECK(keep_input(r, input, err));
            break;
        default: break;
        }
    }
    EMP_CHECK(check_name("its name", node->name, NAME_BYTES_MAX, err));
    EMP_CHECK(check_name("its op", node->op, TYPE_BYTES_MAX, err));
    return EMP_OK;
}

/* Refuses a name that the builder has. */
static emp_status refuse_name(emp_error *err)
{
    return EMP_ERROR(EMP_EFORMAT, "an earlier node has the same name");
}

/* Whether the name is one of the frame's calls, or that of an op although the node may be a call. Ops are compared
 * with ops by the builder. */
static bool is_taken(const reader *r, const node_def *node)
{
    const emp_strmap *calls = &r->frames.frame[r->frame].calls;

    if (emp_strmap_get(calls, node->name.data, node->name.size) >= 0) return true;
    return (r->frames.functions.count > 0 || node->callee_count > 0) &&
           emp_graph_builder_find_expected(r->builder, &node->expected) >= 0;
}

static bool is_open(const emp_shape *shape)
{
    return shape->rank != 0 && shape->dim[0] < 0;
}

static bool has_open_shape(const emp_node_attrs *attrs)
{
    bool has = is_open(&attrs->attrs.shape);

    for (int32_t i = 0; i < attrs->output_count; i++)
        has = has || is_open(&attrs->output[i]);
    return has;
}

static void set_batch(reader *r, emp_shape *shape)
{
    if (!is_open(shape)) return;
    shape->dim[0] = r->params->batch_hint;
    r->has_open_batch = true;
}

/* Whether inference can tell the outputs from the inputs. */
static bool is_inferable(const node_def *node)
{
    char type[TYPE_BYTES_MAX + 1];

    if (!node->has_data_input) return false;
    memcpy(type, node->op.data, node->op.size);
    type[node->op.size] = '\0';
    const emp_op_type *entry = emp_op_type_find(type);
    return entry != NULL && (entry->flags & (EMP_OP_OPEN_OUTPUTS | EMP_OP_FEED)) == 0;
}

/* TensorFlow says of a handle that it is a scalar; its variable has the shape of its attribute. */
static bool is_variable(const node_def *node, const emp_node_attrs *attrs)
{
    return emp_slice_is(node->op, "VarHandleOp") && attrs->attrs.has_shape;
}

/* Finds the ops that the inputs mean; false: one is no op so far, or an argument or a result of a call. */
static bool find_sources(reader *r)
{
    if (is_in_function(r)) return false;
    for (int32_t i = 0; i < r->input_count; i++) {
        r->source[i] = emp_graph_builder_find_expected(r->builder, &r->expected[i]);
        if (r->source[i] < 0 || r->input[i].port >= EMP_MAX_OUTPUTS) return false;
    }
    return true;
}

/* Connects the op that was declared last, or leaves it for later. Nodes mostly follow their inputs. */
static emp_status connect_declared(reader *r, emp_op_id op, emp_slice body,
                                   emp_error *err)
{
    if (!find_sources(r)) {
        EMP_CHECK(EMP_GROW(r->open, r->open_count + 1, r->open_capacity));
        r->open[r->open_count++] = (open_node){body, op, r->frame};
        return EMP_OK;
    }
    for (int32_t i = 0; i < r->input_count; i++)
        EMP_CHECK(
            r->input[i].is_control
                ? emp_graph_builder_add_control(r->builder, r->source[i], op, err)
                : emp_graph_builder_connect(
                      r->builder, (emp_port){r->source[i], r->input[i].port}, op, err));
    return EMP_OK;
}

/* An unknown leading size is the batch where the data enter the graph. Elsewhere the
 * file's -1 is left to inference, which may know better: not every leading size is the
 * batch. */
static emp_status declare_node(reader *r, node_def *node, emp_error *err)
{
    emp_node_attrs *attrs = &r->attrs;
    emp_error       reason;
    emp_slice       name = node->name;
    emp_op_id       op;
    bool            is_call = false;
    bool has_outputs = attrs->output_count >= 0 && !r->params->ignore_output_shapes &&
                       !is_variable(node, attrs);

    reason.status = EMP_OK;
    EMP_CHECK(full_name(&name, r, err));
    if (is_in_function(r)) {
        EMP_CHECK(check_name("its name", name, NAME_BYTES_MAX, err));
        node->expected = emp_graph_builder_expect(r->builder, name.data, name.size);
    }
    if (is_taken(r, node)) return refuse_name(err);
    EMP_CHECK(emp_frames_add_call(&r->frames, &is_call, r->frame, node->name, node->op,
                                  node->callee, node->callee_count, r->input,
                                  r->input_count, err));
    if (is_call) return EMP_OK;
    if (has_open_shape(attrs) && !is_inferable(node)) {
        set_batch(r, &attrs->attrs.shape);
        for (int32_t i = 0; i < attrs->output_count; i++) set_batch(r, &attrs->output[i]);
    }
    emp_status st = emp_graph_builder_declare_expected(
        r->builder, &node->expected, node->op.data, node->op.size, &attrs->attrs,
        has_outputs ? attrs->output : NULL, has_outputs ? attrs->output_count : 0, &op,
        &reason);
    if (st == EMP_OK) return connect_declared(r, op, node->body, err);
    if (st == EMP_EINVAL &&
        emp_graph_builder_find_expected(r->builder, &node->expected) >= 0)
        return refuse_name(err);
    return EMP_ERROR(st, "%s", reason.msg);
}

static emp_status connect_input(reader *r, emp_op_id op, emp_node_input input,
                                emp_error *err)
{
    emp_port from;

    if (input.is_control)
        return emp_frames_add_control(&r->frames, r->builder, r->frame, input.name, op,
                                      err);
    EMP_CHECK(emp_frames_resolve(&from, &r->frames, r->builder, r->frame, input, err));
    return emp_graph_builder_connect(r->builder, from, op, err);
}

/* Constants wait for nothing: they are there before the step. */
static emp_status connect_start(reader *r, emp_op_id op, emp_error *err)
{
    if (strcmp(emp_graph_builder_type(r->builder, op), "Const") == 0) return EMP_OK;
    return emp_frames_add_start(&r->frames, r->builder, r->frame, op, err);
}

static emp_status connect_node(reader *r, emp_slice body, emp_op_id op, emp_error *err)
{
    emp_status  st = EMP_OK;
    emp_message node = emp_message_open(r->file, body, node_names);
    emp_field   part;
    emp_slice   input = {0};
    emp_error   reason = {0};
    bool        found = false;
    bool        is_led = false; /* by another node of the frame */
    int         index = 0;

    for (;; index++) {
        do {
            EMP_CHECK(emp_message_next(&node, &part, &found, err));
        } while (found && part.number != NODE_INPUT);
        if (!found) break;
        EMP_CHECK(emp_field_string(&node, &part, &input, err));
        emp_node_input parsed = emp_node_input_parse(input, is_in_function(r));
        is_led = is_led || !emp_frames_is_argument(&r->frames, r->frame, parsed);
        st = connect_input(r, op, parsed, &reason);
        if (st != EMP_OK)
            return EMP_ERROR(st, "node \"%s\", input %d, \"%.*s\": %s",
                             emp_graph_builder_name(r->builder, op), index,
                             EMP_SLICE_ARG(input), reason.msg);
    }
    return is_led ? EMP_OK : connect_start(r, op, err);
}

static emp_status declare_nodes(reader *r, emp_slice body, emp_error *err)
{
    emp_status  st = EMP_OK;
    emp_message graph = open_nodes(r, body);
    emp_field   field;
    bool        found = false;
    int32_t     first_call = r->frames.call_count, index = 0;
    emp_error   reason = {0};

    for (;;) {
        node_def node;
        EMP_CHECK(emp_message_next(&graph, &field, &found, err));
        if (!found) break;
        if (!is_node(r, &field)) continue;
        st = read_node(r, &field, &graph, &node, &reason);
        if (st == EMP_OK) st = declare_node(r, &node, &reason);
        if (st != EMP_OK)
            return EMP_ERROR(st, "node %d, \"%s%.*s\": %s", index,
                             r->frames.frame[r->frame].prefix, EMP_SLICE_ARG(node.name),
                             reason.msg);
        index++;
    }
    return emp_frames_declare_merges(&r->frames, r->builder, first_call, err);
}

/* All nodes are known. */
static emp_status connect_open_nodes(reader *r, emp_error *err)
{
    for (int32_t i = 0; i < r->open_count; i++) {
        r->frame = r->open[i].frame;
        EMP_CHECK(connect_node(r, r->open[i].body, r->open[i].op, err));
    }
    return EMP_OK;
}

/* ---- the step ---- */

static emp_status note_train_op(void *context, emp_slice name, emp_error *err)
{
    (void)err;
    *(bool *)context |= name.size > 0;
    return EMP_OK;
}

/* The signature that is the step; without a name none where the file has a train_op. */
static emp_status choose_signature(emp_signature *s, emp_message_file *file,
                                   emp_slice meta, const char *wanted,
                                   emp_import_notes *notes, emp_error *err)
{
    bool has_train_op = false;

    *s = (emp_signature){0};
    if (meta.data == NULL && wanted[0] != '\0')
        return EMP_ERROR(EMP_EINVAL,
                         "signature= is for SavedModels, and this is a graph");
    if (meta.data == NULL) return EMP_OK;
    if (wanted[0] == '\0')
        EMP_CHECK(
            emp_container_each_train_op(file, meta, note_train_op, &has_train_op, err));
    if (has_train_op) return EMP_OK;
    EMP_CHECK(emp_signature_choose(s, file, meta,
                                   wanted[0] != '\0' ? wanted : "serving_default", err));
    if (wanted[0] != '\0' && !emp_slice_is(s->name, wanted))
        return EMP_ERROR(EMP_EINVAL, "it has no signature \"%s\"%s%s", wanted,
                         s->count > 0 ? ", but " : ", nor another one", s->names);
    if (s->count > 1 && wanted[0] == '\0')
        emp_import_notes_assume(notes,
                                "the step is the signature %.*s of %s; --signature or "
                                "signature= takes another",
                                EMP_SLICE_ARG(s->name), s->names);
    return EMP_OK;
}

static emp_status mark_output(void *context, emp_slice tensor, emp_error *err)
{
    reader        *r = context;
    emp_node_input input = emp_node_input_parse(tensor, false);
    emp_port       port;
    emp_op_id      effects = -1;
    emp_error      reason = {0};

    emp_status st = emp_frames_resolve(&port, &r->frames, r->builder, 0, input, &reason);
    if (st != EMP_OK)
        return EMP_ERROR(st, "an output of the signature, \"%.*s\": %s",
                         EMP_SLICE_ARG(tensor), reason.msg);
    emp_graph_builder_set_target(r->builder, port.op);
    EMP_CHECK(emp_frames_effects(&effects, &r->frames, r->builder, 0, input.name, err));
    if (effects >= 0) emp_graph_builder_set_target(r->builder, effects);
    r->target_count++;
    return EMP_OK;
}

/* How many nodes to make room for: all, unless they are so short that the file is made to take memory. */
static int32_t expected_nodes(int32_t count, size_t bytes)
{
    enum { NODE_BYTES = 32 };

    return (size_t)count < bytes / NODE_BYTES ? count : (int32_t)(bytes / NODE_BYTES);
}

static emp_status read_graph(emp_graph_builder *builder, emp_message_file *file,
                             emp_slice graph, const emp_signature *signature,
                             bool *has_targets, const emp_import_params *params,
                             emp_import_notes *notes, emp_error *err)
{
    emp_status st = EMP_OK;
    reader     r = {.builder = builder, .file = file, .params = params};

    EMP_TRY(emp_frames_init(&r.frames, file, graph, params->loop_iterations, err));
    EMP_TRY(emp_graph_builder_reserve(
        builder, expected_nodes(r.frames.node_count, graph.size), err));
    for (; r.frame < r.frames.frame_count; r.frame++)
        EMP_TRY(declare_nodes(&r, graph, err));
    EMP_TRY(connect_open_nodes(&r, err));
    EMP_TRY(emp_frames_connect_merges(&r.frames, builder, err));
    r.frame = 0;
    if (signature->name.size > 0)
        EMP_TRY(emp_signature_each_output(signature, file, mark_output, &r, err));
    *has_targets = r.target_count > 0;
    if (r.has_open_batch && !params->has_batch)
        emp_import_notes_assume(notes, "a batch that the file leaves open is %lld",
                                (long long)params->batch_hint);
    if (r.frames.if_count > 0)
        emp_import_notes_assume(notes, "both branches are taken at If ops: %d",
                                r.frames.if_count);
    if (r.frames.while_count > 0)
        emp_import_notes_assume(notes,
                                "iterations taken of While ops (%d of them): %d; "
                                "loops=N says how many",
                                r.frames.while_count, params->loop_iterations);

cleanup:
    emp_free(r.input);
    emp_free(r.expected);
    emp_free(r.source);
    emp_free(r.open);
    emp_frames_clear(&r.frames);
    emp_node_attrs_clear(&r.attrs);
    return st;
}

/* ---- files ---- */

typedef struct {
    int32_t batch, loops;
} graph_def_values;

const emp_option emp_graph_def_options[] = {
    EMP_INTEGER_OPTION(
        "batch", graph_def_values, batch, 0, 1 << 20,
        "in place of leading sizes that the file leaves open; 0 = not given", 0),
    EMP_INTEGER_OPTION("loops", graph_def_values, loops, 1, 10000,
                       "iterations of While ops, which call functions", 1),
    EMP_NO_OPTION};

/* The place of the name of a signature among the texts of the spec. */
enum { SIGNATURE = 1 };

emp_status emp_graph_def_load(emp_graph **out, emp_reading *r, emp_error *err)
{
    emp_status              st = EMP_OK;
    const graph_def_values *v = (const graph_def_values *)r->values;
    emp_import_params       params = *r->params;
    emp_message_file        file;
    emp_container           container;
    emp_signature           signature;
    bool                    has_targets = false;
    emp_graph_builder      *builder = NULL;
    emp_graph              *graph = NULL;

    if (v->batch > 0) {
        params.has_batch = true;
        params.batch_hint = v->batch;
    }
    if (v->loops > 1) params.loop_iterations = v->loops;
    emp_message_file_init(&file, r->bytes.data, r->bytes.size);
    EMP_TRY(emp_container_find(&file, &container, err));
    EMP_TRY(choose_signature(&signature, &file, container.meta, r->spec->text[SIGNATURE],
                             r->notes, err));
    EMP_TRY(emp_graph_builder_create(&builder, err));
    EMP_TRY(read_graph(builder, &file, container.graph, &signature, &has_targets, &params,
                       r->notes, err));
    if (!has_targets) emp_graph_builder_leave_targets(builder);
    if (container.meta.data == NULL) emp_file_close(r->file); /* nothing more is read */
    EMP_TRY(emp_graph_builder_finish(builder, &graph, err));
    if (!has_targets) EMP_TRY(emp_targets_find(graph, &file, container.meta, err));
    *out = graph;
    graph = NULL;

cleanup:
    emp_graph_destroy(graph);
    emp_graph_builder_destroy(builder);
    emp_message_file_clear(&file);
    return st;
}
