// SPDX-License-Identifier: GPL-3.0-or-later
// Field numbers: TensorFlow's graph.proto, meta_graph.proto, saved_model.proto.
#include "graphs/import/container.h"

#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "graphs/import/notes/readers.h"

enum { GRAPH_NODE = 1, NODE_NAME = 1, NODE_OP = 2 };
enum { META_GRAPH = 2, META_COLLECTION = 4, SAVED_META = 2 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2, COLLECTION_NODES = 1, NODES_VALUE = 1 };
enum { SNIFFED_BYTES = 4096 };

static const emp_field_name graph_names[] = {{"node", GRAPH_NODE}, {0}};
static const emp_field_name node_names[] = {{"name", NODE_NAME}, {"op", NODE_OP}, {0}};
static const emp_field_name meta_names[] = {
    {"graph_def", META_GRAPH}, {"collection_def", META_COLLECTION}, {0}};
static const emp_field_name saved_names[] = {{"meta_graphs", SAVED_META}, {0}};
static const emp_field_name entry_names[] = {
    {"key", ENTRY_KEY}, {"value", ENTRY_VALUE}, {0}};
static const emp_field_name collection_names[] = {{"node_list", COLLECTION_NODES}, {0}};
static const emp_field_name nodes_names[] = {{"value", NODES_VALUE}, {0}};

/* Text has no control characters but white space; the tags and lengths of a binary graph
 * are such characters from its second field on. */
bool emp_container_is_text(emp_slice bytes)
{
    size_t size = bytes.size < SNIFFED_BYTES ? bytes.size : SNIFFED_BYTES;

    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)bytes.data[i];
        if (c < ' ' && !(c >= '\t' && c <= '\r')) return false;
    }
    return true;
}

void emp_message_file_init(emp_message_file *file, const char *bytes, size_t size)
{
    *file = (emp_message_file){.bytes = {bytes, size}};
    file->is_text = emp_container_is_text(file->bytes);
}

void emp_message_file_clear(emp_message_file *file) { emp_arena_clear(&file->scratch); }

/* Finds the first field of that number, which must be a string or a message. A member
 * that cannot be read counts as absent: whether this is an error depends on what else the file may
 * be. */
static bool find_part(emp_message_file *file, emp_slice body, const emp_field_name *names,
                      int32_t number, bool is_string, emp_slice *out)
{
    emp_message message = emp_message_open(file, body, names), part;
    emp_field   field;
    bool        found = false;

    for (;;) {
        if (emp_message_next(&message, &field, &found, NULL) != EMP_OK || !found)
            return false;
        if (field.number == number) break;
    }
    if (is_string) return emp_field_string(&message, &field, out, NULL) == EMP_OK;
    if (emp_field_message(&message, &field, graph_names, &part, NULL) != EMP_OK)
        return false;
    *out = emp_message_body(&part);
    return true;
}

static bool is_printable(emp_slice name)
{
    for (size_t i = 0; i < name.size; i++) {
        if ((unsigned char)name.data[i] < ' ') return false;
    }
    return name.size > 0;
}

/* Whether the first node has a name and a type: enough to tell a GraphDef from every
 * other message whose field 1 is a message. */
static bool holds_graph(emp_message_file *file, emp_slice body)
{
    emp_slice node, name, op;

    return find_part(file, body, graph_names, GRAPH_NODE, false, &node) &&
           find_part(file, node, node_names, NODE_NAME, true, &name) &&
           find_part(file, node, node_names, NODE_OP, true, &op) && is_printable(name) &&
           is_printable(op);
}

bool emp_graph_def_is(emp_slice bytes)
{
    emp_message_file file;
    emp_container    found;

    emp_message_file_init(&file, bytes.data, bytes.size);
    const bool is = emp_container_find(&file, &found, NULL) == EMP_OK;
    emp_message_file_clear(&file);
    return is;
}

/* Whether the text at the end of a path of fields begins with a slash, as names of devices do. */
static bool has_device(emp_slice bytes, const int32_t *path, int32_t depth)
{
    static const emp_field_name names[] = {{"step_stats", 1}, {"dev_stats", 1},
                                           {"device", 1},     {"planes", 1},
                                           {"name", 2},       {0}};
    emp_message_file            file;
    emp_slice                   part = bytes;
    bool                        has = true;

    emp_message_file_init(&file, bytes.data, bytes.size);
    for (int32_t i = 0; i < depth && has; i++)
        has = find_part(&file, part, names, path[i], i == depth - 1, &part);
    has = has && emp_slice_starts(part, "/");
    emp_message_file_clear(&file);
    return has;
}

/* RunMetadata.step_stats.dev_stats.device, e.g. "/job:localhost/replica:0/...". */
bool emp_run_metadata_holds(emp_slice file)
{
    return has_device(file, (const int32_t[]){1, 1, 1}, 3);
}

/* XSpace.planes.name, e.g. "/host:CPU" or "/device:GPU:0". */
bool emp_xspace_is(emp_slice file)
{
    return has_device(file, (const int32_t[]){1, 2}, 2);
}

/* Says as well as it can why a file without a graph has none. */
static emp_status explain(emp_message_file *file, emp_error *err)
{
    emp_status  st = EMP_OK;
    emp_message message = emp_message_open(file, file->bytes, graph_names);
    emp_field   field;
    emp_error   reason = {0};
    bool        found = true;

    while (found && st == EMP_OK)
        st = emp_message_next(&message, &field, &found, &reason);
    return EMP_ERROR(st == EMP_OK ? EMP_EFORMAT : st,
                     "no graph of a known kind (docs/models.md lists them); read as "
                     "TensorFlow's: %s",
                     st == EMP_OK ? "no node with a name and an op in it" : reason.msg);
}

emp_status emp_container_find(emp_message_file *file, emp_container *out, emp_error *err)
{
    emp_slice meta = file->bytes, graph = file->bytes;

    *out = (emp_container){0};
    if (holds_graph(file, file->bytes)) {
        out->graph = file->bytes;
        return EMP_OK;
    }
    if (find_part(file, meta, meta_names, META_GRAPH, false, &graph) &&
        holds_graph(file, graph)) {
        *out = (emp_container){graph, meta};
        return EMP_OK;
    }
    if (find_part(file, file->bytes, saved_names, SAVED_META, false, &meta) &&
        find_part(file, meta, meta_names, META_GRAPH, false, &graph) &&
        holds_graph(file, graph)) {
        *out = (emp_container){graph, meta};
        return EMP_OK;
    }
    return explain(file, err);
}

/* Reads the names out of the value of a collection. */
static emp_status visit_names(emp_message_file *file, emp_slice collection,
                              emp_status (*visit)(void *, emp_slice, emp_error *),
                              void *context, emp_error *err)
{
    emp_slice nodes = {"", 0}, name = {0};
    emp_field field;
    bool      found = false;

    if (!find_part(file, collection, collection_names, COLLECTION_NODES, false, &nodes))
        return EMP_OK; /* not a list of nodes */
    emp_message list = emp_message_open(file, nodes, nodes_names);
    for (;;) {
        EMP_CHECK(emp_message_next(&list, &field, &found, err));
        if (!found) break;
        if (field.number != NODES_VALUE) continue;
        EMP_CHECK(emp_field_string(&list, &field, &name, err));
        EMP_CHECK(visit(context, name, err));
    }
    return EMP_OK;
}

emp_status emp_container_each_train_op(emp_message_file *file, emp_slice meta,
                                       emp_status (*visit)(void *context, emp_slice name,
                                                           emp_error *err),
                                       void *context, emp_error *err)
{
    emp_message message = emp_message_open(file, meta, meta_names), entry;
    emp_field   field;
    emp_slice   key, value;
    bool        found = false;

    for (;;) {
        EMP_CHECK(emp_message_next(&message, &field, &found, err));
        if (!found) break;
        if (field.number != META_COLLECTION) continue;
        EMP_CHECK(emp_field_message(&message, &field, entry_names, &entry, err));
        emp_slice body = emp_message_body(&entry);
        if (find_part(file, body, entry_names, ENTRY_KEY, true, &key) &&
            emp_slice_is(key, "train_op") &&
            find_part(file, body, entry_names, ENTRY_VALUE, false, &value))
            EMP_CHECK(visit_names(file, value, visit, context, err));
    }
    return EMP_OK;
}

/* The signatures of a MetaGraphDef: which tensors one call of a SavedModel gives. */

enum { META_SIGNATURE = 5, SIGNATURE_OUTPUT = 2 };
enum { TENSOR_NAME = 1, TENSOR_COO = 4, TENSOR_COMPOSITE = 5, PARTS_TENSOR = 2 };
enum { COO_TENSORS = 3, DEPTH_MAX = 8 };

static const emp_field_name signed_names[] = {{"signature_def", META_SIGNATURE}, {0}};
static const emp_field_name signature_names[] = {{"outputs", SIGNATURE_OUTPUT}, {0}};
static const emp_field_name tensor_names[] = {{"name", TENSOR_NAME},
                                              {"coo_sparse", TENSOR_COO},
                                              {"composite_tensor", TENSOR_COMPOSITE},
                                              {0}};
static const emp_field_name parts_names[] = {{"components", PARTS_TENSOR}, {0}};
static const emp_field_name coo_names[] = {{"values_tensor_name", 1},
                                           {"indices_tensor_name", 2},
                                           {"dense_shape_tensor_name", COO_TENSORS},
                                           {0}};

/* ---- which one ---- */

/* Initialising tables and variables is no step. */
static bool is_step(emp_slice key) { return !emp_slice_is(key, "__saved_model_init_op"); }

/* The wanted one, or serving_default, or else the first by name. */
static bool is_better(emp_slice key, emp_slice best, const char *wanted)
{
    size_t size = key.size < best.size ? key.size : best.size;

    if (best.size == 0 || emp_slice_is(key, wanted)) return true;
    if (emp_slice_is(best, wanted)) return false;
    int order = memcmp(key.data, best.data, size);
    return order < 0 || (order == 0 && key.size < best.size);
}

emp_status emp_signature_choose(emp_signature *out, emp_message_file *file,
                                emp_slice meta, const char *wanted, emp_error *err)
{
    emp_message message = emp_message_open(file, meta, signed_names), entry;
    emp_field   field;
    emp_slice   key;
    emp_text    names = {out->names, sizeof out->names, 0};
    bool        found = false;

    *out = (emp_signature){0};
    for (;;) {
        EMP_CHECK(emp_message_next(&message, &field, &found, err));
        if (!found) return EMP_OK;
        if (field.number != META_SIGNATURE) continue;
        EMP_CHECK(emp_field_message(&message, &field, entry_names, &entry, err));
        EMP_CHECK(emp_message_string(&key, entry, ENTRY_KEY, err));
        if (key.size == 0 || !is_step(key)) continue;
        emp_text_add(&names, "%s%.*s", out->count++ > 0 ? ", " : "", EMP_SLICE_ARG(key));
        if (!is_better(key, out->name, wanted)) continue;
        out->name = key;
        out->entry = emp_message_body(&entry);
    }
}

/* ---- its outputs ---- */

typedef struct {
    emp_signature_visit *visit;
    void                *context;
} visitor;

/* A sparse tensor is three. */
static emp_status visit_sparse(const emp_message *tensor, const emp_field *field,
                               const visitor *v, emp_error *err)
{
    emp_message coo;
    emp_field   part;
    emp_slice   name;
    bool        found = false;

    EMP_CHECK(emp_field_message(tensor, field, coo_names, &coo, err));
    for (;;) {
        EMP_CHECK(emp_message_next(&coo, &part, &found, err));
        if (!found) return EMP_OK;
        if (part.number < 1 || part.number > COO_TENSORS) continue;
        EMP_CHECK(emp_field_string(&coo, &part, &name, err));
        EMP_CHECK(v->visit(v->context, name, err));
    }
}

/* A TensorInfo in the field of a message. */
static emp_status visit_tensor(const emp_message *message, const emp_field *field,
                               const visitor *v, int32_t depth, emp_error *err)
{
    emp_message tensor, parts;
    emp_field   part;
    emp_slice   name;
    bool        found = false;

    if (depth > DEPTH_MAX)
        return EMP_ERROR(EMP_EFORMAT, "an output is more than %d composite tensors deep",
                         DEPTH_MAX);
    EMP_CHECK(emp_field_message(message, field, tensor_names, &tensor, err));
    for (;;) {
        EMP_CHECK(emp_message_next(&tensor, &part, &found, err));
        if (!found) return EMP_OK;
        if (part.number == TENSOR_NAME) {
            EMP_CHECK(emp_field_string(&tensor, &part, &name, err));
            EMP_CHECK(v->visit(v->context, name, err));
        }
        if (part.number == TENSOR_COO) EMP_CHECK(visit_sparse(&tensor, &part, v, err));
        if (part.number != TENSOR_COMPOSITE) continue;
        EMP_CHECK(emp_field_message(&tensor, &part, parts_names, &parts, err));
        for (;;) {
            EMP_CHECK(emp_message_next(&parts, &part, &found, err));
            if (!found) break;
            if (part.number == PARTS_TENSOR)
                EMP_CHECK(visit_tensor(&parts, &part, v, depth + 1, err));
        }
    }
}

/* The value of an entry of a map. */
static emp_status open_value(emp_message *value, bool *has, emp_message entry,
                             const emp_field_name *names, emp_error *err)
{
    emp_field field;
    bool      found = false;

    *has = false;
    for (;;) {
        EMP_CHECK(emp_message_next(&entry, &field, &found, err));
        if (!found) return EMP_OK;
        if (field.number != ENTRY_VALUE) continue;
        *has = true;
        EMP_CHECK(emp_field_message(&entry, &field, names, value, err));
    }
}

static emp_status visit_output(const emp_message *signature, const emp_field *field,
                               const visitor *v, emp_error *err)
{
    emp_message entry;
    emp_field   part;
    bool        found = false;

    EMP_CHECK(emp_field_message(signature, field, entry_names, &entry, err));
    for (;;) {
        EMP_CHECK(emp_message_next(&entry, &part, &found, err));
        if (!found) return EMP_OK;
        if (part.number == ENTRY_VALUE) EMP_CHECK(visit_tensor(&entry, &part, v, 0, err));
    }
}

emp_status emp_signature_each_output(const emp_signature *s, emp_message_file *file,
                                     emp_signature_visit *visit, void *context,
                                     emp_error *err)
{
    const visitor v = {visit, context};
    emp_message   entry = emp_message_open(file, s->entry, entry_names), signature;
    emp_field     field;
    bool          found = false;

    EMP_CHECK(open_value(&signature, &found, entry, signature_names, err));
    while (found) {
        EMP_CHECK(emp_message_next(&signature, &field, &found, err));
        if (found && field.number == SIGNATURE_OUTPUT)
            EMP_CHECK(visit_output(&signature, &field, &v, err));
    }
    return EMP_OK;
}

typedef struct {
    const emp_graph *graph;
    bool            *is_target;
    int32_t          count;
    emp_strmap       names; /* to op ids; filled where names are looked up */
} marker;

static void mark(marker *m, emp_op_id op)
{
    m->count += !m->is_target[op];
    m->is_target[op] = true;
}

static emp_status index_names(marker *m, emp_error *err)
{
    for (emp_op_id op = 0; op < m->graph->op_count; op++) {
        const char *name = m->graph->name[op];
        EMP_CHECK(emp_strmap_set(&m->names, name, strlen(name), op, err));
    }
    return EMP_OK;
}

/* The op that a name, perhaps with a port or as a control input, means; -1 = none. */
static emp_op_id find_op(const marker *m, emp_slice name)
{
    const char *colon = memchr(name.data, ':', name.size);

    if (colon != NULL) name.size = (size_t)(colon - name.data);
    if (emp_slice_starts(name, "^")) name = (emp_slice){name.data + 1, name.size - 1};
    return emp_strmap_get(&m->names, name.data, name.size);
}

/* A name that leads nowhere leaves the search to the other rules. */
static emp_status visit_train_op(void *context, emp_slice name, emp_error *err)
{
    marker   *m = context;
    emp_op_id op = find_op(m, name);

    (void)err;
    if (op >= 0) mark(m, op);
    return EMP_OK;
}

static bool is_assign(const emp_graph *g, emp_op_id op)
{
    return (g->op[op].flags & EMP_OP_ASSIGNS) != 0;
}

/* Ops that change variables in a step. Assign initialises and restores; where an
 * optimizer uses it, the train op waits for it. */
static bool is_update(const emp_graph *g, emp_op_id op)
{
    uint32_t flags = g->op[op].flags;

    return (flags & EMP_OP_IS_OPTIMIZER) ||
           ((flags & EMP_OP_UPDATES_REF) && !is_assign(g, op));
}

/* Ops that save or restore variables are no step, and neither is what waits for them. */
static bool is_beside_step(const emp_graph *g, emp_op_id op)
{
    static const char *const types[] = {
        "Save",      "SaveSlices",        "SaveV2", "Restore", "RestoreSlice",
        "RestoreV2", "MergeV2Checkpoints"};

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(g->type_name[g->type[op]], types[i]) == 0) return true;
    return is_assign(g, op);
}

static bool is_sink(const emp_graph *g, emp_op_id op)
{
    return g->consumer_offset[g->output_offset[op]] ==
               g->consumer_offset[g->output_offset[op + 1]] &&
           g->control_out_offset[op] == g->control_out_offset[op + 1];
}

static bool has_inputs(const emp_graph *g, emp_op_id op)
{
    return g->input_offset[op] < g->input_offset[op + 1] ||
           g->control_offset[op] < g->control_offset[op + 1];
}

/* Sets reached[op] for ops that are seeds or wait for one. */
static void reach(const emp_graph *g, bool (*is_seed)(const emp_graph *, emp_op_id),
                  bool            *reached)
{
    for (int32_t i = 0; i < g->op_count; i++) {
        emp_op_id op = g->topo[i];
        bool      is_reached = is_seed(g, op);
        for (int32_t k = g->input_offset[op]; k < g->input_offset[op + 1]; k++)
            is_reached = is_reached || reached[g->tensor[g->input[k]].producer];
        for (int32_t k = g->control_offset[op]; k < g->control_offset[op + 1]; k++)
            is_reached = is_reached || reached[g->control[k]];
        reached[op] = is_reached;
    }
}

/* Whether a name lies in a scope "gradients" or "gradients_1" at any level. */
static bool is_in_gradients(const char *name)
{
    for (const char *scope = name; scope != NULL; scope = strchr(scope, '/')) {
        scope += *scope == '/';
        if (strncmp(scope, "gradients", 9) != 0) continue;
        const char *rest = scope + 9;
        if (*rest == '_') rest += 1 + strspn(rest + 1, "0123456789");
        if (*rest == '/') return true;
    }
    return false;
}

/* A scalar that no op reads, and that is computed and not just a variable's value. */
static bool is_loss(const emp_graph *g, emp_op_id op)
{
    if (!is_sink(g, op) || g->input_offset[op] == g->input_offset[op + 1] ||
        g->output_offset[op] == g->output_offset[op + 1] || is_in_gradients(g->name[op]))
        return false;
    const emp_tensor *out = &g->tensor[g->output_offset[op]];
    return out->dtype == EMP_DTYPE_FLOAT && out->shape->rank == 0 && !out->is_ref &&
           !g->tensor[g->input[g->input_offset[op]]].is_ref;
}

/* Marks the updates, the sinks behind them (the op that a training loop runs comes after
 * all updates), and the losses. */
static void mark_training(marker *m, bool *reached)
{
    const emp_graph *g = m->graph;
    bool             any = false;

    for (emp_op_id op = 0; op < g->op_count; op++) any = any || is_update(g, op);
    if (!any) return;
    reach(g, is_update, reached);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (is_update(g, op) || (reached[op] && is_sink(g, op)) || is_loss(g, op))
            mark(m, op);
    }
}

/* Marks the sinks that are computed, but not those that initialise, save or restore variables. */
static void mark_inference(marker *m, bool *reached)
{
    const emp_graph *g = m->graph;

    reach(g, is_beside_step, reached);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (is_sink(g, op) && !reached[op] && has_inputs(g, op)) mark(m, op);
    }
}

/* A graph of which nothing else is left, as one that initialises variables, is its own step. */
static void mark_sinks(marker *m)
{
    const emp_graph *g = m->graph;

    for (emp_op_id op = 0; m->count == 0 && op < g->op_count; op++)
        m->is_target[op] = is_sink(g, op);
}

static emp_status parse(marker *m, const char *list, emp_error *err)
{
    EMP_CHECK(index_names(m, err));
    for (const char *at = list; *at != '\0'; at += *at == ',') {
        emp_slice name = {at, strcspn(at, ",")};
        at += name.size;
        if (name.size == 0) continue;
        emp_op_id op = find_op(m, name);
        if (op < 0)
            return EMP_ERROR(EMP_EINVAL, "the target \"%.*s\" is no op of this graph",
                             EMP_SLICE_ARG(name));
        mark(m, op);
    }
    if (m->count == 0)
        return EMP_ERROR(EMP_EINVAL, "the list of targets \"%s\" names no op", list);
    return EMP_OK;
}

emp_status emp_targets_parse(emp_graph *graph, const char *list, emp_error *err)
{
    emp_status st = EMP_OK;
    marker     m = {.graph = graph};

    EMP_TRY(EMP_ALLOC(m.is_target, (size_t)graph->op_count));
    EMP_TRY(parse(&m, list, err));
    emp_graph_set_targets(graph, m.is_target);

cleanup:
    emp_strmap_clear(&m.names);
    emp_free(m.is_target);
    return st;
}

emp_status emp_targets_find(emp_graph *graph, emp_message_file *file, emp_slice meta,
                            emp_error *err)
{
    emp_status st = EMP_OK;
    marker     m = {.graph = graph};
    bool      *reached = NULL;

    EMP_TRY(EMP_ALLOC(m.is_target, (size_t)graph->op_count));
    EMP_TRY(EMP_ALLOC(reached, (size_t)graph->op_count));
    if (meta.data != NULL) {
        EMP_TRY(index_names(&m, err));
        EMP_TRY(emp_container_each_train_op(file, meta, visit_train_op, &m, err));
    }
    if (m.count == 0) mark_training(&m, reached);
    if (m.count == 0) mark_inference(&m, reached);
    if (m.count == 0 && meta.data != NULL)
        EMP_FAIL(
            EMP_EUNSUPPORTED,
            "no signature, and nothing in the graph but variables with what saves and "
            "restores them; save the model with a signature: "
            "tf.saved_model.save(model, DIR, signatures=...)");
    if (m.count == 0) mark_sinks(&m);
    emp_graph_set_targets(graph, m.is_target);

cleanup:
    emp_free(reached);
    emp_strmap_clear(&m.names);
    emp_free(m.is_target);
    return st;
}
