// SPDX-License-Identifier: GPL-3.0-or-later
/* Chakra's execution traces (mlcommons/chakra), which simulators of networks read: one device's
 * nodes with their times and what they depend on. In protocol buffers,
 *
 *     length GlobalMetadata, length Node, length Node, ...   (et_def.proto)
 *     Node: id = 1, name = 2, type = 3, ctrl_deps = 4, data_deps = 5, duration_micros = 7,
 *           attr = 10 (is_cpu_op, comm_size, comm_type)
 *
 * where a number that is 0 is left out, the id of the first node, too,
 *
 * or as JSON:
 *
 *     {"workload_graph": [{"Id": 216, "Name": "aten::copy_(0)", "NodeType": 4, "data_deps": [215],
 *                          "runtime": 318, "is_cpu_op": true}, ...]}
 *
 * A node is the op "cpu/copy_.216" of type copy_, which a CPU has to run, or "gpu/..."; its time is
 * the one stated, of microseconds, for a CPU EMP_TRACE_CPU times a kernel's. Without is_cpu_op a
 * node is the GPU's, as for Chakra's own feeder since November 2024 and for ASTRA-sim. It reads the
 * results of its data_deps; a copy of one carries comm_size bytes, else none. As in Chakra's own
 * feeder, ctrl_deps bind nothing: they say in which operator a node lies. A dependency on a node
 * that the trace does not have binds nothing either; the note counts them. So does it count nodes that
 * send or receive (type 5 and 6): the other side is in the file of another device. A collective (type
 * 7) without a time, whose comm_type says that it is an all-reduce, an all-gather, an all-to-all or a
 * reduce-scatter, is one of all GPUs of the machine, with comm_size bytes.
 */
// Field numbers: Chakra's et_def.proto.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "graphs/import/notes/readers.h"
#include "graphs/import/proto/wire.h"
#include "graphs/import/traces/step_graph.h"

enum {
    NODE_ID = 1,
    NODE_NAME = 2,
    NODE_TYPE = 3,
    NODE_DATA_DEPS = 5,
    NODE_DURATION = 7,
    NODE_ATTR = 10
};
enum { METADATA_VERSION = 1, METADATA_ATTR = 2 };
enum { COMM_SEND_NODE = 5, COMM_RECV_NODE = 6, COMM_COLL_NODE = 7 };
enum { ATTR_NAME = 1, ATTR_INT64 = 9, ATTR_BOOL = 27 };

static const double  US_MAX = 8.64e11; /* ten days */
static const int64_t GPU_BYTES = INT64_C(1) << 40;

typedef struct {
    int64_t   id;
    emp_slice name;
    double    us; /* -1: not said */
    bool      has_id, is_cpu;
    int64_t   type, comm_bytes;
    int64_t   comm_type;            /* -1: not said */
    int32_t   first_dep, dep_count; /* in deps */
} node;

/* Where a node is found by its id. */
typedef struct {
    int64_t id;
    int32_t node;
} entry;

typedef struct {
    node    *node;
    entry   *by_id;
    int64_t *dep;
    int32_t  node_count, node_capacity, dep_count, dep_capacity;
} trace;

/* ---- the nodes of a trace ---- */

static emp_status add_dep(trace *t, int64_t id, emp_error *err)
{
    EMP_CHECK(EMP_GROW(t->dep, t->dep_count + 1, t->dep_capacity));
    t->dep[t->dep_count++] = id;
    return EMP_OK;
}

static emp_status add_node(trace *t, node n, emp_error *err)
{
    EMP_CHECK(EMP_GROW(t->node, t->node_count + 1, t->node_capacity));
    if (!n.has_id || n.name.size == 0)
        return EMP_ERROR(EMP_EFORMAT, "node %d, counted from 0, has no %s", t->node_count,
                         n.has_id ? "name" : "id");
    if (n.us > US_MAX || n.comm_bytes < 0)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "node %" PRId64 " takes more than ten days, or sends a negative "
                         "number of bytes",
                         n.id);
    t->node[t->node_count++] = n;
    return EMP_OK;
}

static void clear(trace *t)
{
    emp_free(t->node);
    emp_free(t->by_id);
    emp_free(t->dep);
}

/* ---- protocol buffers ---- */

static emp_status read_attr(node *n, const emp_cursor *file, emp_slice bytes,
                            emp_error *err)
{
    emp_cursor     c = {file->origin, bytes.data, bytes.data + bytes.size};
    emp_wire_field field;
    emp_slice      name = {"", 0};
    uint64_t       value = 0;
    bool           is_number = false;

    while (c.at < c.end) {
        EMP_CHECK(emp_wire_next(&c, &field, err));
        if (field.number == ATTR_NAME && field.type == EMP_WIRE_BYTES) name = field.bytes;
        if (field.type != EMP_WIRE_VARINT || field.number < ATTR_INT64 - 2 ||
            field.number > ATTR_BOOL)
            continue;
        value = field.bits;
        is_number = true;
    }
    if (emp_slice_is(name, "is_cpu_op")) n->is_cpu = value != 0;
    if (emp_slice_is(name, "comm_size")) n->comm_bytes = (int64_t)value;
    if (emp_slice_is(name, "comm_type") && is_number) n->comm_type = (int64_t)value;
    return EMP_OK;
}

static emp_status read_deps(trace *t, const emp_cursor *file, const emp_wire_field *field,
                            emp_error *err)
{
    uint64_t id;

    if (field->type == EMP_WIRE_VARINT) return add_dep(t, (int64_t)field->bits, err);
    if (field->type != EMP_WIRE_BYTES) return EMP_OK;
    emp_cursor c = {file->origin, field->bytes.data,
                    field->bytes.data + field->bytes.size};
    while (c.at < c.end) {
        EMP_CHECK(emp_wire_varint(&c, &id, err));
        EMP_CHECK(add_dep(t, (int64_t)id, err));
    }
    return EMP_OK;
}

static emp_status read_node(trace *t, const emp_cursor *file, emp_slice bytes,
                            emp_error *err)
{
    emp_cursor c = {file->origin, bytes.data, bytes.data + bytes.size};
    node n = {.has_id = true, .us = -1.0, .comm_type = -1, .first_dep = t->dep_count};
    emp_wire_field field;

    while (c.at < c.end) {
        EMP_CHECK(emp_wire_next(&c, &field, err));
        bool is_number = field.type == EMP_WIRE_VARINT;
        if (field.number == NODE_ID && is_number) n.id = (int64_t)field.bits;
        if (field.number == NODE_NAME && !is_number) n.name = field.bytes;
        if (field.number == NODE_TYPE && is_number) n.type = (int64_t)field.bits;
        if (field.number == NODE_DURATION && is_number) n.us = (double)field.bits;
        if (field.number == NODE_DATA_DEPS) EMP_CHECK(read_deps(t, file, &field, err));
        if (field.number == NODE_ATTR && field.type == EMP_WIRE_BYTES)
            EMP_CHECK(read_attr(&n, file, field.bytes, err));
    }
    n.dep_count = t->dep_count - n.first_dep;
    return add_node(t, n, err);
}

/* The next message of the file, behind its length. */
static emp_status next_message(emp_slice *message, emp_cursor *file, emp_error *err)
{
    uint64_t size;

    EMP_CHECK(emp_wire_varint(file, &size, err));
    if (size > (uint64_t)(file->end - file->at))
        return EMP_ERROR(EMP_EFORMAT,
                         "byte %td: a message of %" PRIu64
                         " bytes, of which %td are there",
                         file->at - file->origin, size, file->end - file->at);
    *message = (emp_slice){file->at, (size_t)size};
    file->at += size;
    return EMP_OK;
}

static bool next_field(emp_cursor *c, emp_wire_field *field, int32_t number,
                       emp_wire_type type)
{
    return c->at < c->end && emp_wire_next(c, field, NULL) == EMP_OK &&
           field->number == number && field->type == type;
}

static bool is_plain(emp_slice text)
{
    for (size_t i = 0; i < text.size; i++)
        if ((unsigned char)text.data[i] < ' ') return false;
    return text.size > 0;
}

/* Whether the message has an id, then a name that people can read; without an id the type must follow. */
static bool looks_like_node(emp_slice message, bool *has_id)
{
    emp_cursor     c = {message.data, message.data, message.data + message.size};
    emp_cursor     again = c;
    emp_wire_field field;

    *has_id = next_field(&c, &field, NODE_ID, EMP_WIRE_VARINT);
    if (!*has_id) c = again;
    if (!next_field(&c, &field, NODE_NAME, EMP_WIRE_BYTES) || !is_plain(field.bytes))
        return false;
    return *has_id || (next_field(&c, &field, NODE_TYPE, EMP_WIRE_VARINT) &&
                       field.bits <= COMM_COLL_NODE);
}

/* Whether the message begins with a text in that field. */
static bool has_text_first(emp_slice message, int32_t number, emp_slice *text)
{
    emp_cursor     c = {message.data, message.data, message.data + message.size};
    emp_wire_field field;

    if (!next_field(&c, &field, number, EMP_WIRE_BYTES)) return false;
    *text = field.bytes;
    return true;
}

/* Whether the message begins with a version, or without one with the name of an attribute, as GlobalMetadata does. */
static bool looks_like_metadata(emp_slice message)
{
    emp_slice text = {"", 0};

    return message.size == 0 ||
           (has_text_first(message, METADATA_VERSION, &text) && is_plain(text)) ||
           (has_text_first(message, METADATA_ATTR, &text) &&
            has_text_first(text, ATTR_NAME, &text) && is_plain(text));
}

bool emp_chakra_is(emp_slice bytes)
{
    emp_cursor file = {bytes.data, bytes.data, bytes.data + bytes.size};
    emp_slice  metadata = {"", 0}, first = {"", 0};
    bool       has_id = false;

    return bytes.size > 0 && next_message(&metadata, &file, NULL) == EMP_OK &&
           file.at < file.end && next_message(&first, &file, NULL) == EMP_OK &&
           looks_like_node(first, &has_id) && (has_id || looks_like_metadata(metadata));
}

static emp_status read_messages(trace *t, emp_slice bytes, emp_error *err)
{
    emp_cursor file = {bytes.data, bytes.data, bytes.data + bytes.size};
    emp_slice  message = {"", 0};

    EMP_CHECK(next_message(&message, &file, err)); /* the metadata */
    while (file.at < file.end) {
        EMP_CHECK(next_message(&message, &file, err));
        EMP_CHECK(read_node(t, &file, message, err));
    }
    return EMP_OK;
}

/* ---- JSON ---- */

bool emp_chakra_is_json(const emp_json *root)
{
    return emp_json_is(emp_json_get(root, "workload_graph"), EMP_JSON_ARRAY);
}

static emp_slice text_of(const emp_json *value)
{
    const char *text = emp_json_string(value);

    return text == NULL ? (emp_slice){"", 0} : (emp_slice){text, strlen(text)};
}

static int64_t kind_of_collective(const emp_json *value)
{
    return emp_json_is(value, EMP_JSON_INTEGER) ? emp_json_integer(value) : -1;
}

static emp_status check_finite(const emp_json *value, int64_t id, emp_error *err)
{
    for (const emp_json *v = emp_json_first(value); v != NULL; v = emp_json_next(v))
        if (emp_json_is(v, EMP_JSON_NOT_FINITE))
            return EMP_ERROR(EMP_EFORMAT,
                             "node %" PRId64 ": %.40s must be a finite number", id,
                             emp_json_key(v));
    return EMP_OK;
}

static emp_status read_json_node(trace *t, const emp_json *value, emp_error *err)
{
    const emp_json *id = emp_json_get(value, "Id"), *us = emp_json_get(value, "runtime");
    const emp_json *deps = emp_json_get(value, "data_deps");
    node            n = {.id = emp_json_integer(id),
                         .has_id = emp_json_is(id, EMP_JSON_INTEGER),
                         .name = text_of(emp_json_get(value, "Name")),
                         .type = emp_json_integer(emp_json_get(value, "NodeType")),
                         .us = us == NULL ? -1.0 : emp_json_number(us),
                         .is_cpu = emp_json_is(emp_json_get(value, "is_cpu_op"), EMP_JSON_TRUE),
                         .comm_bytes = emp_json_integer(emp_json_get(value, "comm_size")),
                         .comm_type = kind_of_collective(emp_json_get(value, "comm_type")),
                         .first_dep = t->dep_count};

    EMP_CHECK(check_finite(value, n.id, err));
    for (const emp_json *dep = emp_json_first(deps); dep != NULL;
         dep = emp_json_next(dep)) {
        if (!emp_json_is(dep, EMP_JSON_INTEGER))
            return EMP_ERROR(EMP_EFORMAT, "node %" PRId64 ": data_deps are ids", n.id);
        EMP_CHECK(add_dep(t, emp_json_integer(dep), err));
    }
    n.dep_count = t->dep_count - n.first_dep;
    return add_node(t, n, err);
}

/* ---- the graph ---- */

static int by_id(const void *a, const void *b)
{
    const entry *x = (const entry *)a, *y = (const entry *)b;

    return (x->id > y->id) - (x->id < y->id);
}

static emp_status index_nodes(trace *t, emp_error *err)
{
    EMP_CHECK(EMP_ALLOC(t->by_id, (size_t)t->node_count));
    for (int32_t i = 0; i < t->node_count; i++) t->by_id[i] = (entry){t->node[i].id, i};
    qsort(t->by_id, (size_t)t->node_count, sizeof *t->by_id, by_id);
    for (int32_t i = 1; i < t->node_count; i++) {
        if (t->by_id[i].id == t->by_id[i - 1].id)
            return EMP_ERROR(EMP_EFORMAT, "two nodes have the id %" PRId64,
                             t->by_id[i].id);
    }
    return EMP_OK;
}

/* A collective whose time the trace leaves to whoever knows the network. */
static bool is_untimed_collective(emp_collective *op, const node *n)
{
    static const struct {
        int64_t        type; /* CollectiveCommType of et_def.proto */
        emp_collective op;
    } known[] = {{0, EMP_COLLECTIVE_ALL_REDUCE},
                 {2, EMP_COLLECTIVE_ALL_GATHER},
                 {6, EMP_COLLECTIVE_ALL_TO_ALL},
                 {7, EMP_COLLECTIVE_REDUCE_SCATTER}};

    if (n->type != COMM_COLL_NODE || n->is_cpu || n->us > 0.0) return false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].type != n->comm_type) continue;
        *op = known[i].op;
        return true;
    }
    return false;
}

static emp_status add_op(emp_graph_builder *builder, const node *n, emp_error *err)
{
    emp_stated_op op = {.cost = {.copy_ns = -1, .colocation = -1}};
    char          part[EMP_TRACE_PART_BYTES], name[EMP_TRACE_NAME_BYTES];
    emp_op_id     id;

    emp_trace_put_kernel(part, n->name.data, n->name.size);
    snprintf(name, sizeof name, "%s/%s.%" PRId64, n->is_cpu ? "cpu" : "gpu", part, n->id);
    op.kinds = n->is_cpu ? EMP_KIND_CPU : EMP_KIND_CPU | EMP_KIND_GPU;
    op.cost.gpu_ns = llround(fmax(n->us, 0.0) * 1e3);
    op.cost.cpu_ns = n->is_cpu ? op.cost.gpu_ns : op.cost.gpu_ns * EMP_TRACE_CPU;
    op.copy_bytes = n->comm_bytes;
    EMP_CHECK(emp_graph_builder_state(builder, name, part, &op, &id, err));
    emp_collective_part of = {.ranks = EMP_RANKS_ALL, .bytes = n->comm_bytes};
    if (!is_untimed_collective(&of.op, n)) return EMP_OK;
    if (of.op == EMP_COLLECTIVE_ALL_GATHER) of.ranks = EMP_RANKS_ALL_GATHER;
    return emp_graph_builder_set_collective(builder, id, &of, err);
}

/* Connects a node to those that it reads; *missing counts those that are not there. */
static emp_status connect(int32_t *missing, emp_graph_builder *builder, const trace *t,
                          int32_t i, emp_error *err)
{
    for (int32_t k = 0; k < t->node[i].dep_count; k++) {
        entry  wanted = {.id = t->dep[t->node[i].first_dep + k]};
        entry *from =
            bsearch(&wanted, t->by_id, (size_t)t->node_count, sizeof *t->by_id, by_id);
        if (from == NULL)
            ++*missing;
        else
            EMP_CHECK(
                emp_graph_builder_connect(builder, (emp_port){from->node, 0}, i, err));
    }
    return EMP_OK;
}

static emp_status build(emp_graph_builder *builder, emp_import_devices *devices, trace *t,
                        emp_error *err)
{
    int32_t  untimed = 0, cpu_count = 0, missing = 0, sends = 0, receives = 0;
    int32_t  collectives = 0;
    emp_text note = {devices->note, sizeof devices->note, 0};

    if (t->node_count == 0) return EMP_ERROR(EMP_EFORMAT, "a Chakra trace without nodes");
    EMP_CHECK(index_nodes(t, err));
    for (int32_t i = 0; i < t->node_count; i++)
        EMP_CHECK(add_op(builder, &t->node[i], err));
    for (int32_t i = 0; i < t->node_count; i++) {
        EMP_CHECK(connect(&missing, builder, t, i, err));
        sends += t->node[i].type == COMM_SEND_NODE;
        receives += t->node[i].type == COMM_RECV_NODE;
        emp_collective op;
        bool           is_collective = is_untimed_collective(&op, &t->node[i]);
        collectives += is_collective;
        untimed += t->node[i].us < 0.0 && t->node[i].type != COMM_SEND_NODE &&
                   t->node[i].type != COMM_RECV_NODE && !is_collective;
        cpu_count += t->node[i].is_cpu;
    }
    devices->cpu_count = devices->gpu_count = devices->core_count = 1;
    devices->gpu_memory_bytes = GPU_BYTES;
    devices->runtime = "traced";
    emp_text_add(&note, "A Chakra trace: %d node%s of the CPU, %d of the GPU.", cpu_count,
                 emp_units_plural(cpu_count), t->node_count - cpu_count);
    if (sends + receives > 0)
        emp_text_add(
            &note,
            " Of these, %d send%s and %d receive%s data, which takes no time here.",
            sends, sends == 1 ? "s" : "", receives, receives == 1 ? "s" : "");
    if (collectives > 0)
        emp_text_add(&note,
                     " %d collective%s no time and take%s that of as many GPUs as the "
                     "machine has.",
                     collectives, collectives == 1 ? " states" : "s state",
                     collectives == 1 ? "s" : "");
    if (untimed > 0)
        emp_text_add(&note, " %d state%s no time and take%s none.", untimed,
                     untimed == 1 ? "s" : "", untimed == 1 ? "s" : "");
    if (missing > 0)
        emp_text_add(&note, " It has dependencies on nodes that are not there: %d.",
                     missing);
    return EMP_OK;
}

static emp_status read_json(trace *t, const emp_json *root, emp_error *err)
{
    for (const emp_json *v = emp_json_first(emp_json_get(root, "workload_graph"));
         v != NULL; v = emp_json_next(v))
        EMP_CHECK(read_json_node(t, v, err));
    return EMP_OK;
}

emp_status emp_chakra_read(emp_graph_builder *builder, emp_reading *r, emp_error *err)
{
    trace      t = {0};
    emp_status st =
        r->json != NULL ? read_json(&t, r->json, err) : read_messages(&t, r->bytes, err);

    if (st == EMP_OK) st = build(builder, r->devices, &t, err);
    clear(&t);
    return st;
}
