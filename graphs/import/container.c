// SPDX-License-Identifier: GPL-3.0-or-later
// Field numbers: TensorFlow's graph.proto, meta_graph.proto, saved_model.proto.
#include "graphs/import/container.h"

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

/* Finds the first field of that number, which must be a string or a message. What cannot
 * be read is taken as absent: whether this is an error depends on what else the file may
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
                     "no graph of a known kind (docs/formats.md lists them); read as "
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
