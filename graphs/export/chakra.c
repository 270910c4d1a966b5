// SPDX-License-Identifier: GPL-3.0-or-later
// Field numbers: Chakra's et_def.proto.
#include "graphs/export/chakra.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/atomic_file.h"
#include "base/mem.h"
#include "graphs/import/proto/wire.h"
#include "sim/graph/dtype.h"

enum { METADATA_VERSION = 1 };
enum {
    NODE_ID = 1,
    NODE_NAME = 2,
    NODE_TYPE = 3,
    NODE_CTRL_DEPS = 4,
    NODE_DATA_DEPS = 5,
    NODE_DURATION = 7,
    NODE_ATTR = 10
};
enum { COMP_NODE = 4, COMM_SEND_NODE = 5, COMM_RECV_NODE = 6 };
enum { ATTR_NAME = 1 };
/* Fields of an attribute, by the type of its value. */
enum { VALUE_INT32 = 7, VALUE_INT64 = 9, VALUE_UINT64 = 13, VALUE_BOOL = 27 };
enum { ATTRS_MAX = 5 };

static const char schema_version[] = "0.0.4";

/* A message from an op to another device: a tensor, or word that the op is done (tensor -1). */
typedef struct {
    emp_op_id     from;
    emp_tensor_id tensor;
    emp_device_id to;
    int64_t       bytes;
} message;

typedef struct {
    const emp_problem   *problem;
    const emp_device_id *device_of_op;
    message             *message;  /* sorted; its place is its tag */
    int32_t             *offset;   /* [op + 1] of the messages that leave it */
    int64_t             *us_of_op; /* whole microseconds */
    uint64_t            *dep;      /* of one node */
    emp_op_id           *reader;   /* [node id] the last op that depends on it, or -1 */
    int32_t              message_count;
} plan;

typedef struct {
    const char *name;
    int32_t     field;
    uint64_t    value;
} attr;

typedef struct {
    uint64_t        id;
    const char     *name;
    const char     *before; /* what stands before the name */
    int32_t         type;
    const uint64_t *dep;
    int32_t         dep_count, ctrl_count; /* control edges come first */
    int64_t         us;
    attr            attr[ATTRS_MAX];
    int32_t         attr_count;
} node;

/* ---- messages ---- */

static int by_origin(const void *a, const void *b)
{
    const message *x = (const message *)a, *y = (const message *)b;

    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    if (x->tensor != y->tensor) return x->tensor < y->tensor ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

/* The device in whose memory it is. */
static emp_device_id memory_of(const plan *p, emp_device_id device, bool is_on_host)
{
    return is_on_host ? p->problem->machine->device[device].host : device;
}

/* The part of its input that a reader has copied. */
static int64_t copied_bytes(const plan *p, emp_op_id reader, int32_t input)
{
    const emp_graph  *g = p->problem->graph;
    const emp_tensor *t = &g->tensor[g->input[g->input_offset[reader] + input]];
    emp_device_id     at = memory_of(p, p->device_of_op[t->producer], t->on_host);
    bool              is_on_host = emp_op_reads_on_host(&g->op[reader], input);

    return at == memory_of(p, p->device_of_op[reader], is_on_host) ? 0 : t->copy_bytes;
}

/* Whether an op waits for another one's message. */
static bool is_apart(const plan *p, emp_op_id from, emp_op_id to)
{
    return !p->problem->graph->op[from].is_folded &&
           p->device_of_op[from] != p->device_of_op[to];
}

static void add_messages_to(plan *p, emp_op_id op)
{
    const emp_graph *g = p->problem->graph;

    for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++) {
        emp_op_id from = g->tensor[g->input[i]].producer;
        if (is_apart(p, from, op))
            p->message[p->message_count++] =
                (message){from, g->input[i], p->device_of_op[op],
                          copied_bytes(p, op, i - g->input_offset[op])};
    }
    for (int32_t i = g->control_offset[op]; i < g->control_offset[op + 1]; i++)
        if (is_apart(p, g->control[i], op))
            p->message[p->message_count++] =
                (message){g->control[i], -1, p->device_of_op[op], 0};
}

/* One message for all readers on a device. */
static void join_messages(plan *p)
{
    int32_t kept = 0;

    qsort(p->message, (size_t)p->message_count, sizeof *p->message, by_origin);
    for (int32_t i = 0; i < p->message_count; i++) {
        const message *m = &p->message[i];
        if (kept > 0 && by_origin(m, &p->message[kept - 1]) == 0) {
            if (m->bytes > p->message[kept - 1].bytes)
                p->message[kept - 1].bytes = m->bytes;
            continue;
        }
        p->message[kept++] = *m;
    }
    p->message_count = kept;
}

static void index_messages(plan *p)
{
    int32_t i = 0;

    for (emp_op_id op = 0; op <= p->problem->graph->op_count; op++) {
        while (i < p->message_count && p->message[i].from < op) i++;
        p->offset[op] = i;
    }
}

static int32_t find_message(const plan *p, emp_op_id from, emp_tensor_id tensor,
                            emp_device_id to)
{
    message        wanted = {from, tensor, to, 0};
    const message *first = &p->message[p->offset[from]];
    size_t         count = (size_t)(p->offset[from + 1] - p->offset[from]);
    const message *found = bsearch(&wanted, first, count, sizeof *first, by_origin);

    return (int32_t)(found - p->message);
}

/* ---- the plan ---- */

/* The rounding error of one op is added to the next one of its device. */
static void round_times(plan *p)
{
    const emp_graph *g = p->problem->graph;
    int64_t          ns[EMP_MAX_DEVICES] = {0}, us[EMP_MAX_DEVICES] = {0};

    for (int32_t i = 0; i < g->op_count; i++) {
        emp_op_id     op = g->topo[i];
        emp_device_id device = p->device_of_op[op];
        if (g->op[op].is_folded) continue;
        ns[device] += emp_problem_op_time_ns(p->problem, op, device);
        p->us_of_op[op] = (ns[device] + 500) / 1000 - us[device];
        us[device] += p->us_of_op[op];
    }
}

static emp_status make_plan(plan *p, emp_error *err)
{
    const emp_graph *g = p->problem->graph;
    size_t           edges = (size_t)g->edge_count + (size_t)g->control_edge_count;
    int32_t          most_deps = 1;

    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t deps = g->input_offset[op + 1] - g->input_offset[op] +
                       g->control_offset[op + 1] - g->control_offset[op];
        if (deps > most_deps) most_deps = deps;
    }
    EMP_CHECK(EMP_ALLOC(p->message, edges + 1));
    EMP_CHECK(EMP_ALLOC(p->offset, (size_t)g->op_count + 1));
    EMP_CHECK(EMP_ALLOC(p->us_of_op, (size_t)g->op_count));
    EMP_CHECK(EMP_ALLOC(p->dep, (size_t)most_deps));
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (!g->op[op].is_folded) add_messages_to(p, op);
    join_messages(p);
    index_messages(p);
    round_times(p);
    size_t nodes = (size_t)g->op_count + 2 * (size_t)p->message_count;
    EMP_CHECK(EMP_ALLOC(p->reader, nodes));
    for (size_t i = 0; i < nodes; i++) p->reader[i] = -1;
    return EMP_OK;
}

static void clear_plan(plan *p)
{
    emp_free(p->message);
    emp_free(p->offset);
    emp_free(p->us_of_op);
    emp_free(p->dep);
    emp_free(p->reader);
}

/* ---- nodes ---- */

static void put_attr(emp_wire_sink *s, const attr *a)
{
    emp_wire_put_text(s, ATTR_NAME, a->name);
    emp_wire_put_number(s, a->field, a->value);
}

static void put_deps(emp_wire_sink *s, int32_t field, const uint64_t *dep, int32_t count)
{
    emp_wire_sink counter = {0};

    if (count == 0) return;
    for (int32_t i = 0; i < count; i++) emp_wire_put_varint(&counter, dep[i]);
    emp_wire_put_head(s, field, counter.size);
    for (int32_t i = 0; i < count; i++) emp_wire_put_varint(s, dep[i]);
}

static void put_fields(emp_wire_sink *s, const node *n)
{
    size_t before = strlen(n->before), length = strlen(n->name);

    emp_wire_put_number(s, NODE_ID, n->id);
    emp_wire_put_head(s, NODE_NAME, before + length);
    emp_wire_put(s, n->before, before);
    emp_wire_put(s, n->name, length);
    emp_wire_put_number(s, NODE_TYPE, (uint64_t)n->type);
    put_deps(s, NODE_CTRL_DEPS, n->dep, n->ctrl_count);
    put_deps(s, NODE_DATA_DEPS, n->dep, n->dep_count);
    if (n->us >= 0) emp_wire_put_number(s, NODE_DURATION, (uint64_t)n->us);
    for (int32_t i = 0; i < n->attr_count; i++) {
        emp_wire_sink counter = {0};
        put_attr(&counter, &n->attr[i]);
        emp_wire_put_head(s, NODE_ATTR, counter.size);
        put_attr(s, &n->attr[i]);
    }
}

static void put_node(emp_wire_sink *s, const node *n)
{
    emp_wire_sink counter = {0};

    put_fields(&counter, n);
    emp_wire_put_varint(s, counter.size);
    put_fields(s, n);
}

static void add_attr(node *n, const char *name, int32_t field, uint64_t value)
{
    n->attr[n->attr_count++] = (attr){name, field, value};
}

static uint64_t send_id(const plan *p, int32_t tag)
{
    return (uint64_t)p->problem->graph->op_count + (uint64_t)tag;
}

static uint64_t receive_id(const plan *p, int32_t tag)
{
    return send_id(p, p->message_count) + (uint64_t)tag;
}

/* The node of this op's device that stands for the end of another op. */
static uint64_t source_of(const plan *p, emp_op_id from, emp_tensor_id tensor,
                          emp_op_id to)
{
    if (!is_apart(p, from, to)) return (uint64_t)from;
    return receive_id(p, find_message(p, from, tensor, p->device_of_op[to]));
}

static void add_dep(plan *p, node *n, emp_op_id op, uint64_t id)
{
    if (p->reader[id] == op) return;
    p->reader[id] = op;
    p->dep[n->dep_count++] = id;
}

static void find_deps(plan *p, node *n, emp_op_id op)
{
    const emp_graph *g = p->problem->graph;

    for (int32_t i = g->control_offset[op]; i < g->control_offset[op + 1]; i++)
        if (!g->op[g->control[i]].is_folded)
            add_dep(p, n, op, source_of(p, g->control[i], -1, op));
    n->ctrl_count = n->dep_count;
    for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++) {
        emp_op_id from = g->tensor[g->input[i]].producer;
        if (!g->op[from].is_folded)
            add_dep(p, n, op, source_of(p, from, g->input[i], op));
    }
    n->dep = p->dep;
}

static void put_op(emp_wire_sink *s, plan *p, emp_op_id op)
{
    const emp_graph  *g = p->problem->graph;
    const emp_device *device = &p->problem->machine->device[p->device_of_op[op]];
    node              n = {.id = (uint64_t)op,
                           .name = g->name[op],
                           .before = "",
                           .type = COMP_NODE,
                           .us = p->us_of_op[op]};

    find_deps(p, &n, op);
    add_attr(&n, "is_cpu_op", VALUE_BOOL, device->kind == EMP_DEVICE_CPU);
    if (g->stated == NULL) {
        const emp_op_cost *cost = g->op[op].cost;
        add_attr(&n, "num_ops", VALUE_INT64, (uint64_t)cost->flops);
        add_attr(&n, "tensor_size", VALUE_UINT64,
                 (uint64_t)emp_add_saturating(cost->bytes_read, cost->bytes_written));
    }
    put_node(s, &n);
}

static void put_message(emp_wire_sink *s, const plan *p, int32_t tag, int32_t type)
{
    const message *m = &p->message[tag];
    uint64_t       from = (uint64_t)m->from;
    bool           is_send = type == COMM_SEND_NODE;
    emp_device_id  other = is_send ? m->to : p->device_of_op[m->from];
    char           before[64];
    node           n = {.id = is_send ? send_id(p, tag) : receive_id(p, tag),
                        .name = p->problem->graph->name[m->from],
                        .before = before,
                        .type = type,
                        .dep = &from,
                        .dep_count = is_send,
                        .us = -1};

    snprintf(before, sizeof before, "%s %s/", is_send ? "send" : "receive",
             p->problem->machine->device[other].name);
    add_attr(&n, "is_cpu_op", VALUE_BOOL, 0);
    add_attr(&n, "comm_size", VALUE_INT64, m->bytes > 0 ? (uint64_t)m->bytes : 1);
    add_attr(&n, "comm_src", VALUE_INT32, (uint64_t)p->device_of_op[m->from]);
    add_attr(&n, "comm_dst", VALUE_INT32, (uint64_t)m->to);
    add_attr(&n, "comm_tag", VALUE_INT32, (uint64_t)tag);
    put_node(s, &n);
}

/* ---- files ---- */

static void put_metadata(emp_wire_sink *s)
{
    emp_wire_sink counter = {0};

    emp_wire_put_text(&counter, METADATA_VERSION, schema_version);
    emp_wire_put_varint(s, counter.size);
    emp_wire_put_text(s, METADATA_VERSION, schema_version);
}

/* Nodes come after those that they depend on. */
static void put_device(emp_wire_sink *s, plan *p, emp_device_id device)
{
    const emp_graph *g = p->problem->graph;
    bool             is_empty = true;

    put_metadata(s);
    for (int32_t i = 0; i < g->op_count; i++) {
        emp_op_id op = g->topo[i];
        bool      is_here = p->device_of_op[op] == device;
        if (g->op[op].is_folded) continue;
        if (is_here) {
            put_op(s, p, op);
            is_empty = false;
        }
        for (int32_t tag = p->offset[op]; tag < p->offset[op + 1]; tag++) {
            if (is_here)
                put_message(s, p, tag, COMM_SEND_NODE);
            else if (p->message[tag].to == device)
                put_message(s, p, tag, COMM_RECV_NODE);
        }
    }
    if (is_empty) put_node(s, &(node){.name = "idle", .before = "", .type = COMP_NODE});
}

emp_status emp_chakra_path(char path[EMP_CHAKRA_PATH_BYTES], const char *prefix,
                           emp_device_id device, emp_error *err)
{
    int length = snprintf(path, EMP_CHAKRA_PATH_BYTES, "%s.%d.et", prefix, device);

    if (length < EMP_CHAKRA_PATH_BYTES) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL,
                     "a prefix of Chakra traces has at most %d bytes, not %zu",
                     EMP_CHAKRA_PATH_BYTES - (int)sizeof ".63.et", strlen(prefix));
}

emp_status emp_chakra_write(const char *prefix, const emp_problem *problem,
                            const emp_device_id *device_of_op, emp_error *err)
{
    emp_status      st = EMP_OK;
    plan            p = {.problem = problem, .device_of_op = device_of_op};
    emp_atomic_file file[EMP_MAX_DEVICES] = {0};
    const int32_t   count = problem->machine->device_count;
    char            path[EMP_CHAKRA_PATH_BYTES];

    EMP_TRY(make_plan(&p, err));
    for (emp_device_id d = 0; d < count; d++) {
        EMP_TRY(emp_chakra_path(path, prefix, d, err));
        EMP_TRY(emp_atomic_file_open(&file[d], path, err));
        put_device(&(emp_wire_sink){.stream = file[d].stream}, &p, d);
    }
    for (emp_device_id d = 0; d < count; d++)
        EMP_TRY(emp_atomic_file_commit(&file[d], err));

cleanup:
    for (emp_device_id d = 0; d < count; d++) emp_atomic_file_abort(&file[d]);
    clear_plan(&p);
    return st;
}
