// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/micro/plain.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"

enum { GRANULE = 256 };

static int64_t whole_granules(int64_t bytes)
{
    return (bytes + GRANULE - 1) / GRANULE * GRANULE;
}

static bool is_ideal(const emp_runtime_events *r)
{
    bool has_host = r->serial_issue || r->cpu_pool || r->control_latency;
    bool has_plain_copies =
        r->share_copies && r->copy_streams && r->shared_links && !r->drain_copies;
    bool has_plain_memory = r->copy_memory && r->workspace && r->addn_waits &&
                            !r->release_at_issue && !r->reuse_inputs &&
                            !r->bfc_allocator && !r->caching_allocator;
    double delays_s =
        r->send_s + r->receive_s + r->poll_s + r->step_s + r->pageable_s_per_byte;

    return !has_host && has_plain_copies && has_plain_memory && !(delays_s > 0);
}

static emp_status allocate(emp_plain *p, const emp_graph *g, emp_error *err)
{
    EMP_CHECK(EMP_ALLOC(p->id_of_op, (size_t)g->op_count));
    EMP_CHECK(EMP_ALLOC(p->op, (size_t)g->op_count + 1));
    EMP_CHECK(EMP_ALLOC(p->tensor, (size_t)g->tensor_count + 1));
    EMP_CHECK(EMP_ALLOC(p->input, (size_t)g->edge_count));
    EMP_CHECK(EMP_ALLOC(p->reader, (size_t)g->edge_count));
    EMP_CHECK(EMP_ALLOC(p->follower, (size_t)g->control_edge_count));
    return EMP_OK;
}

/* new_op and new_tensor: the numbers here of the graph's ops and tensors, -1 = folded. */
static void number(emp_plain *p, const emp_problem *problem, int32_t *new_op,
                   int32_t *new_tensor)
{
    const emp_graph      *g = problem->graph;
    const emp_cost_table *costs = problem->costs;

    for (int32_t i = 0; i < g->op_count; i++) {
        emp_op_id     id = g->topo[i];
        const emp_op *op = &g->op[id];
        new_op[id] = op->is_folded ? -1 : p->op_count;
        for (int32_t t = g->output_offset[id]; t < g->output_offset[id + 1]; t++) {
            new_tensor[t] = -1;
        }
        if (op->is_folded) continue;
        p->id_of_op[p->op_count] = id;
        p->op[p->op_count] =
            (emp_plain_op){.gpu_ns = costs->gpu[id].compute_ns,
                           .cpu_ns = costs->cpu[id].compute_ns,
                           .workspace_bytes = whole_granules(op->cost->workspace_bytes),
                           .persistent_bytes = whole_granules(op->persistent_bytes),
                           .output = p->tensor_count};
        for (int32_t t = g->output_offset[id]; t < g->output_offset[id + 1]; t++) {
            const emp_tensor *from = &g->tensor[t];
            p->tensor[p->tensor_count] =
                (emp_plain_tensor){.bytes = whole_granules(from->bytes),
                                   .buffer_copy_bytes = whole_granules(from->copy_bytes),
                                   .copy_bytes = from->copy_bytes,
                                   .producer = p->op_count,
                                   .on_host = from->on_host};
            new_tensor[t] = p->tensor_count++;
        }
        p->op_count++;
    }
    p->op[p->op_count].output = p->tensor_count;
}

/* Fills the rows of inputs, and counts in reader and follower what else will be in rows. */
static void connect_inputs(emp_plain *p, const emp_graph *g, const int32_t *new_op,
                           const int32_t *new_tensor)
{
    for (int32_t op = 0; op < p->op_count; op++) {
        emp_op_id     id = p->id_of_op[op];
        int32_t       first = g->input_offset[id];
        emp_plain_op *o = &p->op[op];
        o->input = p->edge_count;
        for (int32_t i = first; i < g->input_offset[id + 1]; i++) {
            int32_t tensor = new_tensor[g->input[i]];
            if (i == first && g->op[id].is_alias)
                o->first = tensor < 0 ? EMP_PLAIN_NO_BYTES : EMP_PLAIN_SHARES_INPUT;
            if (tensor < 0) continue;
            p->input[p->edge_count++] =
                (emp_plain_edge){tensor, emp_op_reads_on_host(&g->op[id], i - first)};
            p->tensor[tensor].reader++;
            o->missing++;
        }
        for (int32_t i = g->control_offset[id]; i < g->control_offset[id + 1]; i++) {
            int32_t from = new_op[g->control[i]];
            if (from < 0) continue;
            p->op[from].follower++;
            p->control_count++;
            o->missing++;
        }
    }
    p->op[p->op_count].input = p->edge_count;
}

/* Turns the counts into ends of rows, and fills each row from its end. */
static void connect_readers(emp_plain *p, const emp_graph *g, const int32_t *new_op,
                            const int32_t *new_tensor)
{
    for (int32_t t = 0, end = 0; t <= p->tensor_count; t++) {
        end += p->tensor[t].reader;
        p->tensor[t].reader = end;
    }
    for (int32_t op = 0, end = 0; op <= p->op_count; op++) {
        end += p->op[op].follower;
        p->op[op].follower = end;
    }
    for (emp_op_id id = g->op_count - 1; id >= 0; id--) {
        int32_t op = new_op[id], first = g->input_offset[id];
        if (op < 0) continue;
        for (int32_t i = g->input_offset[id + 1] - 1; i >= first; i--) {
            int32_t tensor = new_tensor[g->input[i]];
            if (tensor < 0) continue;
            p->reader[--p->tensor[tensor].reader] =
                (emp_plain_edge){op, emp_op_reads_on_host(&g->op[id], i - first)};
        }
        for (int32_t i = g->control_offset[id + 1] - 1; i >= g->control_offset[id]; i--) {
            int32_t from = new_op[g->control[i]];
            if (from >= 0) p->follower[--p->op[from].follower] = op;
        }
    }
}

static void copy_devices(emp_plain *p, const emp_machine *m)
{
    p->device_count = m->device_count;
    p->link_count = m->link_count;
    for (int32_t from = 0; from < m->device_count; from++) {
        p->host[from] = m->device[from].host;
        for (int32_t to = 0; to < m->device_count; to++) {
            const emp_route *r = &m->route[from][to];
            emp_plain_route *route = &p->route[from][to];
            if (from == to) continue;
            route->latency_ns = emp_ns_of_seconds(r->latency_s);
            route->ns_per_byte = 1e9 / r->bytes_per_s;
            route->link_count = r->link_count;
            memcpy(route->link, r->link, sizeof route->link);
        }
    }
}

emp_status emp_plain_create(emp_plain **out, const emp_problem *problem, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *g = problem->graph;
    int32_t         *new_op = EMP_NEW_ARRAY(int32_t, (size_t)g->op_count);
    int32_t         *new_tensor = EMP_NEW_ARRAY(int32_t, (size_t)g->tensor_count);
    emp_plain       *p = EMP_NEW(emp_plain);

    *out = NULL;
    if (!new_op || !new_tensor || !p)
        EMP_FAIL(EMP_ENOMEM, "plain arrays of %d ops", g->op_count);
    if (!is_ideal(emp_runtime_events_of(&problem->runtime))) {
        EMP_FAIL(EMP_EUNSUPPORTED,
                 "only the rules of the runtime \"ideal\", not of \"%s\"",
                 problem->runtime.name);
    }
    if (g->collective != NULL)
        EMP_FAIL(EMP_EUNSUPPORTED, "only graphs without collectives");
    EMP_TRY(allocate(p, g, err));
    number(p, problem, new_op, new_tensor);
    connect_inputs(p, g, new_op, new_tensor);
    connect_readers(p, g, new_op, new_tensor);
    copy_devices(p, problem->machine);
    *out = p;
    p = NULL;

cleanup:
    emp_free(new_op);
    emp_free(new_tensor);
    emp_plain_destroy(p);
    return st;
}

void emp_plain_destroy(emp_plain *plain)
{
    if (plain == NULL) return;
    emp_free(plain->id_of_op);
    emp_free(plain->op);
    emp_free(plain->tensor);
    emp_free(plain->input);
    emp_free(plain->reader);
    emp_free(plain->follower);
    emp_free(plain);
}

static void write_op(const emp_plain *p, int32_t op, const emp_device_id *device_of_op,
                     FILE *stream)
{
    const emp_plain_op *o = &p->op[op], *end = o + 1;
    emp_device_id       device = device_of_op[p->id_of_op[op]];

    fprintf(stream, "%d %" PRId64 " %" PRId64 " %" PRId64 " %d %d %d %d", device,
            emp_plain_is_cpu(p, device) ? o->cpu_ns : o->gpu_ns, o->workspace_bytes,
            o->persistent_bytes, (int)o->first, o->output, end->output - o->output,
            end->input - o->input);
    for (int32_t i = o->input; i < end->input; i++) {
        fprintf(stream, " %d %d", p->input[i].id,
                emp_plain_memory_read(p, p->input[i], device));
    }
    fprintf(stream, " %d", end->follower - o->follower);
    for (int32_t i = o->follower; i < end->follower; i++)
        fprintf(stream, " %d", p->follower[i]);
    fputc('\n', stream);
}

static void write_tensor(const emp_plain *p, int32_t tensor,
                         const emp_device_id *device_of_op, FILE *stream)
{
    const emp_plain_tensor *t = &p->tensor[tensor], *end = t + 1;
    emp_device_id           home = device_of_op[p->id_of_op[t->producer]];

    fprintf(stream, "%d %" PRId64 " %" PRId64 " %" PRId64 " %d",
            t->on_host ? p->host[home] : home, t->bytes, t->buffer_copy_bytes,
            t->copy_bytes, end->reader - t->reader);
    for (int32_t i = t->reader; i < end->reader; i++) {
        emp_device_id device = device_of_op[p->id_of_op[p->reader[i].id]];
        fprintf(stream, " %d %d", p->reader[i].id,
                emp_plain_memory_read(p, p->reader[i], device));
    }
    fputc('\n', stream);
}

void emp_plain_write(const emp_plain *plain, const emp_device_id *device_of_op,
                     FILE *stream)
{
    fprintf(stream, "%d %d %d %d\n", plain->device_count, plain->link_count,
            plain->op_count, plain->tensor_count);
    for (int32_t d = 0; d < plain->device_count; d++)
        fprintf(stream, "%d%c", plain->host[d], d + 1 < plain->device_count ? ' ' : '\n');
    for (int32_t from = 0; from < plain->device_count; from++) {
        for (int32_t to = 0; to < plain->device_count; to++) {
            const emp_plain_route *r = &plain->route[from][to];
            fprintf(stream, "%" PRId64 " %.17g %d", r->latency_ns, r->ns_per_byte,
                    r->link_count);
            for (int32_t i = 0; i < r->link_count; i++)
                fprintf(stream, " %d", r->link[i]);
            fputc('\n', stream);
        }
    }
    for (int32_t op = 0; op < plain->op_count; op++)
        write_op(plain, op, device_of_op, stream);
    for (int32_t t = 0; t < plain->tensor_count; t++)
        write_tensor(plain, t, device_of_op, stream);
}
