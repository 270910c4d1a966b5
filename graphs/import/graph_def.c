// SPDX-License-Identifier: GPL-3.0-or-later
// Field numbers: TensorFlow's graph.proto and node_def.proto.
/* GraphDef, MetaGraphDef and SavedModel of TensorFlow, as protobuf wire format or text. From a SavedModel the
 * first meta graph is read, and its step is a signature. Functions stand in place of the ops that call
 * them (frames.h). */
#include "base/mem.h"
#include "graphs/import/attrs.h"
#include "graphs/import/container.h"
#include "graphs/import/frames.h"
#include "graphs/import/notes/readers.h"

enum { GRAPH_NODE = 1 };
enum { NODE_NAME = 1, NODE_OP = 2, NODE_INPUT = 3, NODE_ATTR = 5 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2, VALUE_LIST = 1, VALUE_FUNC = 10 };
enum { LIST_FUNC = 9, FUNC_NAME = 1 };
enum { NAME_BYTES_MAX = 4096, TYPE_BYTES_MAX = 256, CALLEES_MAX = 8 };

static const emp_field_name graph_names[] = {{"node", GRAPH_NODE}, {0}};
static const emp_field_name node_names[] = {{"name", NODE_NAME},
                                            {"op", NODE_OP},
                                            {"input", NODE_INPUT},
                                            {"attr", NODE_ATTR},
                                            {0}};

static const emp_field_name entry_names[] = {
    {"key", ENTRY_KEY}, {"value", ENTRY_VALUE}, {0}};
static const emp_field_name value_names[] = {
    {"list", VALUE_LIST}, {"func", VALUE_FUNC}, {0}};
static const emp_field_name list_names[] = {{"func", LIST_FUNC}, {0}};
static const emp_field_name func_names[] = {{"name", FUNC_NAME}, {0}};

typedef struct {
    emp_graph_builder       *builder;
    emp_message_file        *file;
    const emp_import_params *params;
    emp_node_attrs           attrs;
    emp_frames               frames;
    int32_t                  frame;          /* that is being read */
    bool                     has_open_batch; /* a leading size was unknown */
    emp_node_input          *input;          /* of the node that is being read */
    int32_t                  input_count, input_capacity;
    int32_t                  target_count; /* tensors of the signature */
} reader;

/* A node as the file gives it. */
typedef struct {
    emp_slice         name, op;
    bool              has_data_input;
    emp_function_attr callee[CALLEES_MAX]; /* functions that its attributes name */
    int32_t           callee_count;
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
    r->input[r->input_count++] = emp_node_input_parse(text, is_in_function(r));
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
static emp_status read_callee(node_def *node, const emp_message *message,
                              const emp_field *attr, emp_error *err)
{
    emp_message       entry, value;
    emp_field         part;
    emp_function_attr callee = {{"", 0}, {"", 0}};
    bool              found = false;

    EMP_CHECK(emp_field_message(message, attr, entry_names, &entry, err));
    for (;;) {
        EMP_CHECK(emp_message_next(&entry, &part, &found, err));
        if (!found) break;
        if (part.number == ENTRY_KEY)
            EMP_CHECK(emp_field_string(&entry, &part, &callee.key, err));
        if (part.number != ENTRY_VALUE) continue;
        EMP_CHECK(emp_field_message(&entry, &part, value_names, &value, err));
        for (;;) {
            EMP_CHECK(emp_message_next(&value, &part, &found, err));
            if (!found) break;
            if (part.number == VALUE_FUNC)
                EMP_CHECK(read_function_name(&callee.callee, &value, &part, err));
            if (part.number == VALUE_LIST)
                EMP_CHECK(read_function_list(&callee.callee, &value, &part, err));
        }
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

static emp_status read_node(reader *r, const emp_field *field, const emp_message *graph,
                            node_def *node, emp_error *err)
{
    emp_message message;
    emp_field   part;
    emp_slice   input;
    bool        found = false;

    emp_node_attrs_reset(&r->attrs);
    r->input_count = 0;
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
            EMP_CHECK(read_callee(node, &message, &part, err));
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

static emp_status check_is_new(const reader *r, emp_slice name, emp_slice local,
                               emp_error *err)
{
    const emp_strmap *calls = &r->frames.frame[r->frame].calls;

    if (emp_graph_builder_find(r->builder, name.data, name.size) >= 0 ||
        emp_strmap_get(calls, local.data, local.size) >= 0)
        return EMP_ERROR(EMP_EFORMAT, "an earlier node has the same name");
    return EMP_OK;
}

static void set_batch(reader *r, emp_shape *shape)
{
    if (shape->rank == 0 || shape->dim[0] >= 0) return;
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
    return entry != NULL && (entry->flags & EMP_OP_OPEN_OUTPUTS) == 0;
}

/* TensorFlow says of a handle that it is a scalar; its variable has the shape of its attribute. */
static bool is_variable(const node_def *node, const emp_node_attrs *attrs)
{
    return emp_slice_is(node->op, "VarHandleOp") && attrs->attrs.has_shape;
}

/* An unknown leading size is the batch where the data enter the graph. Elsewhere the
 * file's -1 is left to inference, which may know better: not every leading size is the
 * batch. */
static emp_status declare_node(reader *r, const node_def *node, emp_error *err)
{
    emp_node_attrs *attrs = &r->attrs;
    emp_slice       name = node->name;
    emp_op_id       op;
    bool            is_call = false;
    bool has_outputs = attrs->output_count >= 0 && !r->params->ignore_output_shapes &&
                       !is_variable(node, attrs);

    EMP_CHECK(full_name(&name, r, err));
    EMP_CHECK(check_name("its name", name, NAME_BYTES_MAX, err));
    EMP_CHECK(check_is_new(r, name, node->name, err));
    EMP_CHECK(emp_frames_add_call(&r->frames, &is_call, r->frame, node->name, node->op,
                                  node->callee, node->callee_count, r->input,
                                  r->input_count, err));
    if (is_call) return EMP_OK;
    if (!is_inferable(node)) {
        set_batch(r, &attrs->attrs.shape);
        for (int32_t i = 0; i < attrs->output_count; i++) set_batch(r, &attrs->output[i]);
    }
    return emp_graph_builder_declare(r->builder, name.data, name.size, node->op.data,
                                     node->op.size, &attrs->attrs,
                                     has_outputs ? attrs->output : NULL,
                                     has_outputs ? attrs->output_count : 0, &op, err);
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

static emp_status connect_node(reader *r, const emp_message *message, emp_op_id op,
                               emp_error *err)
{
    emp_status  st = EMP_OK;
    emp_message node = *message;
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

    r->frames.frame[r->frame].first_op = emp_graph_builder_op_count(r->builder);
    for (;;) {
        node_def  node = {0};
        emp_error reason = {0};
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

/* The second walk over the same bytes meets the nodes in the same order, so that nothing
 * of the first has to be remembered but which of them are calls. */
static emp_status connect_nodes(reader *r, emp_slice body, emp_error *err)
{
    emp_message graph = open_nodes(r, body), node;
    emp_field   field;
    emp_slice   name;
    bool        found = false;
    emp_op_id   op = r->frames.frame[r->frame].first_op;

    for (;;) {
        EMP_CHECK(emp_message_next(&graph, &field, &found, err));
        if (!found) return EMP_OK;
        if (!is_node(r, &field)) continue;
        const emp_strmap *calls = &r->frames.frame[r->frame].calls;
        EMP_CHECK(emp_field_message(&graph, &field, node_names, &node, err));
        if (calls->count > 0) {
            EMP_CHECK(emp_message_string(&name, node, NODE_NAME, err));
            if (emp_strmap_get(calls, name.data, name.size) >= 0) continue;
        }
        EMP_CHECK(connect_node(r, &node, op++, err));
    }
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

static emp_status read_graph(emp_graph_builder *builder, emp_message_file *file,
                             emp_slice graph, const emp_signature *signature,
                             bool *has_targets, const emp_import_params *params,
                             emp_import_notes *notes, emp_error *err)
{
    emp_status st = EMP_OK;
    reader     r = {.builder = builder, .file = file, .params = params};

    EMP_TRY(emp_frames_init(&r.frames, file, graph, params->loop_iterations, err));
    for (; r.frame < r.frames.frame_count; r.frame++)
        EMP_TRY(declare_nodes(&r, graph, err));
    for (r.frame = 0; r.frame < r.frames.frame_count; r.frame++)
        EMP_TRY(connect_nodes(&r, graph, err));
    EMP_TRY(emp_frames_connect_merges(&r.frames, builder, err));
    r.frame = 0;
    if (signature->name.size > 0)
        EMP_TRY(emp_signature_each_output(signature, file, mark_output, &r, err));
    *has_targets = r.target_count > 0;
    if (r.has_open_batch && !params->has_batch)
        emp_import_notes_assume(notes, "a batch that the file leaves open is %lld",
                                (long long)params->batch_hint);

cleanup:
    emp_free(r.input);
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
