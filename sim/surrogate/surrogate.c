// SPDX-License-Identifier: GPL-3.0-or-later
/* The object, and the kernel in plain C. */
#include "sim/surrogate/surrogate.h"

#include <assert.h>
#include <float.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "sim/surrogate/surrogate_internal.h"

enum { LANES = EMP_SURROGATE_LANES };

static float ns_of_seconds(double seconds) { return (float)emp_ns_of_seconds(seconds); }

/* ---- order ---- */

/* Kahn's algorithm (CACM 5(11), 1962) with a binary heap instead of a queue. */

/* An op that can be next; its keys stand beside it, where they are compared. */
typedef struct {
    double    time;
    int32_t   rank; /* in topological order */
    emp_op_id op;
} ready_op;

typedef struct {
    const double *time_of_op;
    int32_t      *rank;    /* [op] */
    int32_t      *missing; /* [op] inputs that are still to come */
    ready_op     *heap;
    int32_t       count;
} ready_ops;

static bool is_before(const ready_op *a, const ready_op *b)
{
    return a->time < b->time || (!(b->time < a->time) && a->rank < b->rank);
}

static void push(ready_ops *r, emp_op_id op)
{
    const ready_op added = {r->time_of_op[op], r->rank[op], op};
    int32_t        i = r->count++;

    for (; i > 0 && is_before(&added, &r->heap[(i - 1) / 2]); i = (i - 1) / 2)
        r->heap[i] = r->heap[(i - 1) / 2];
    r->heap[i] = added;
}

static emp_op_id pop(ready_ops *r)
{
    const emp_op_id first = r->heap[0].op;
    const ready_op  last = r->heap[--r->count];
    int32_t         i = 0;

    for (int32_t child = 1; child < r->count; child = 2 * i + 1) {
        if (child + 1 < r->count && is_before(&r->heap[child + 1], &r->heap[child]))
            child++;
        if (!is_before(&r->heap[child], &last)) break;
        r->heap[i] = r->heap[child];
        i = child;
    }
    r->heap[i] = last;
    return first;
}

/* The input of \a op has come. */
static void arrive(ready_ops *r, const emp_graph *g, emp_op_id op)
{
    if (!g->op[op].is_folded && --r->missing[op] == 0) push(r, op);
}

static void push_sources(ready_ops *r, const emp_graph *g)
{
    for (int32_t i = 0; i < g->op_count; i++) {
        emp_op_id op = g->topo[i];
        r->rank[op] = i;
        if (g->op[op].is_folded) continue;
        for (int32_t e = g->input_offset[op]; e < g->input_offset[op + 1]; e++)
            r->missing[op] += !g->op[g->tensor[g->input[e]].producer].is_folded;
        for (int32_t e = g->control_offset[op]; e < g->control_offset[op + 1]; e++)
            r->missing[op] += !g->op[g->control[e]].is_folded;
        if (r->missing[op] == 0) push(r, op);
    }
}

static void sort_by_time(ready_ops *r, const emp_graph *g, emp_op_id *order)
{
    push_sources(r, g);
    for (int32_t i = 0; r->count > 0; i++) {
        emp_op_id op = pop(r);
        order[i] = op;
        for (int32_t t = g->output_offset[op]; t < g->output_offset[op + 1]; t++) {
            for (int32_t c = g->consumer_offset[t]; c < g->consumer_offset[t + 1]; c++)
                arrive(r, g, g->consumer[c]);
        }
        for (int32_t c = g->control_out_offset[op]; c < g->control_out_offset[op + 1];
             c++)
            arrive(r, g, g->control_out[c]);
    }
}

/* Fills \a order [op_count] with the live ops in the order of \a time_of_op (NULL: of
 * the graph). */
static emp_status surrogate_sort(const emp_surrogate *s, const double *time_of_op,
                                 emp_op_id *order, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *g = s->problem->graph;
    ready_ops        r = {.time_of_op = time_of_op};

    if (time_of_op == NULL) {
        int32_t count = 0;
        for (int32_t i = 0; i < g->op_count; i++) {
            if (!g->op[g->topo[i]].is_folded) order[count++] = g->topo[i];
        }
        goto cleanup;
    }
    EMP_TRY(EMP_ALLOC(r.rank, (size_t)g->op_count));
    EMP_TRY(EMP_ALLOC(r.missing, (size_t)g->op_count));
    EMP_TRY(EMP_ALLOC(r.heap, (size_t)s->op_count));
    sort_by_time(&r, g, order);

cleanup:
    emp_free(r.rank);
    emp_free(r.missing);
    emp_free(r.heap);
    return st;
}

/* ---- creation ---- */

static emp_status allocate_sweep(emp_surrogate *s, emp_error *err)
{
    const emp_graph *g = s->problem->graph;
    size_t           ops = 0, tensors = 0, edges = 0, controls = 0;

    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (g->op[op].is_folded) continue;
        ops++;
        tensors += (size_t)(g->output_offset[op + 1] - g->output_offset[op]);
        edges += (size_t)(g->input_offset[op + 1] - g->input_offset[op]);
        controls += (size_t)(g->control_offset[op + 1] - g->control_offset[op]);
    }
    s->op_count = (int32_t)ops;
    s->op = EMP_ADD_ARRAY(&s->arrays, emp_surrogate_op, ops + 1);
    s->tensor = EMP_ADD_ARRAY(&s->arrays, emp_surrogate_tensor, tensors + 1);
    s->reader =
        EMP_ADD_ARRAY(&s->arrays, emp_surrogate_reader, edges + EMP_SURROGATE_AHEAD);
    s->follower = EMP_ADD_ARRAY(&s->arrays, int32_t, controls + EMP_SURROGATE_AHEAD);
    s->order = EMP_ADD_ARRAY(&s->arrays, emp_op_id, ops);
    s->position = EMP_ADD_ARRAY(&s->arrays, int32_t, (size_t)g->op_count);
    s->number_of_tensor = EMP_ADD_ARRAY(&s->arrays, int32_t, (size_t)g->tensor_count);
    s->device = EMP_ADD_ARRAY(&s->arrays, uint8_t, (ops + 1) * LANES);
    s->ready_ns = EMP_ADD_ARRAY(&s->arrays, float, ops *LANES);
    if (emp_cost_is_unlike(s->problem->costs)) {
        size_t times = ops * (size_t)s->problem->machine->device_count;
        s->unlike.hold_ns = EMP_ADD_ARRAY(&s->arrays, float, times);
        s->unlike.run_ns = EMP_ADD_ARRAY(&s->arrays, float, times);
        s->unlike.kernels_ns = EMP_ADD_ARRAY(&s->arrays, float, times);
    }
    if (s->arrays.is_short) {
        return EMP_ERROR(EMP_ENOMEM, "surrogate of %zu ops", ops);
    }
    return EMP_OK;
}

static emp_status set_routes(emp_surrogate *s, emp_error *err)
{
    const emp_machine *m = s->problem->machine;
    int32_t            n = m->device_count;
    size_t             pairs = (size_t)(n * n);

    s->device_count = n;
    s->link_count = m->link_count;
    for (int32_t i = 0; i < n * n; i++) {
        const emp_route *r = &m->route[i / n][i % n];
        if (r->link_count > s->hop_count) s->hop_count = r->link_count;
    }
    s->latency_ns = EMP_ADD_ARRAY(&s->arrays, float, pairs);
    s->ns_per_byte = EMP_ADD_ARRAY(&s->arrays, float, pairs);
    s->message_ns = EMP_ADD_ARRAY(&s->arrays, float, pairs);
    s->links_of_route = EMP_ADD_ARRAY(&s->arrays, uint32_t, pairs);
    s->link_of_hop = EMP_ADD_ARRAY(&s->arrays, int32_t, pairs * (size_t)s->hop_count);
    s->free_ns = EMP_ADD_ARRAY(&s->arrays, float, (size_t)n *LANES);
    s->queue_ns = EMP_ADD_ARRAY(&s->arrays, float, (size_t)n *LANES);
    s->link_ns = EMP_ADD_ARRAY(&s->arrays, float, (size_t)m->link_count *LANES);
    if (s->arrays.is_short) {
        return EMP_ERROR(EMP_ENOMEM, "surrogate of %d devices and %d links", n,
                         m->link_count);
    }
    for (int32_t i = 0; i < n * n; i++) {
        const emp_route *r = &m->route[i / n][i % n];
        if (i / n == i % n) continue;
        double ns_per_byte = 1e9 / r->bytes_per_s;
        s->latency_ns[i] = ns_of_seconds(r->latency_s);
        s->ns_per_byte[i] = ns_per_byte < FLT_MAX ? (float)ns_per_byte : FLT_MAX;
        if (s->problem->runtime.events.control_latency)
            s->message_ns[i] = s->latency_ns[i];
        for (int32_t k = 0; k < s->hop_count && r->link_count > 0; k++) {
            int32_t last = r->link_count - 1;
            int32_t link = r->link[k < last ? k : last];
            s->link_of_hop[k * n * n + i] = link;
            if (link < 32) s->links_of_route[i] |= 1u << link;
        }
    }
    return EMP_OK;
}

static void set_costs(emp_surrogate_op *op, const emp_surrogate *s, emp_op_id id,
                      size_t gpu_row)
{
    const emp_problem *p = s->problem;
    emp_gpu_cost       gpu = p->costs->gpu[gpu_row];
    emp_cpu_cost       cpu = p->costs->cpu[id];
    double             share = (double)cpu.lanes / p->machine->device[0].cores;
    bool               is_issued = p->runtime.events.serial_issue;

    op->gpu_run_ns = (float)(is_issued ? gpu.issue_ns : gpu.compute_ns);
    op->gpu_kernels_ns = (float)(is_issued ? gpu.compute_ns : 0);
    op->cpu_run_ns = (float)cpu.compute_ns;
    op->cpu_hold_ns =
        (float)((double)cpu.compute_ns * (p->runtime.events.cpu_pool ? share : 1.0));
}

/* Costs on each device, where they differ. Device 0 is the CPU. */
static void set_unlike(emp_surrogate *s, int32_t i)
{
    const emp_surrogate_unlike *u = &s->unlike;

    if (u->hold_ns == NULL) return;
    for (int32_t d = 0; d < s->device_count; d++) {
        emp_surrogate_op op;
        size_t           at = (size_t)i * (size_t)s->device_count + (size_t)d;
        set_costs(&op, s, s->order[i],
                  d == 0 ? 0 : emp_cost_row(s->problem->costs, d, s->order[i]));
        u->hold_ns[at] = d == 0 ? op.cpu_hold_ns : op.gpu_run_ns;
        u->run_ns[at] = d == 0 ? op.cpu_run_ns : op.gpu_run_ns;
        u->kernels_ns[at] = d == 0 ? 0.0f : op.gpu_kernels_ns;
    }
}

/* Numbers the tensors that an op reads, in the order of the sweep; counts their readers
 * and the followers of each op, as ends of rows. */
static void number_rows(emp_surrogate *s)
{
    const emp_graph *g = s->problem->graph;
    int32_t          tensor = 0, reader = 0, follower = 0;

    for (int32_t i = 0; i < s->op_count; i++) {
        emp_op_id         id = s->order[i];
        emp_surrogate_op *op = &s->op[i];
        set_costs(op, s, id, (size_t)id);
        set_unlike(s, i);
        op->tensor = tensor;
        for (int32_t t = g->output_offset[id]; t < g->output_offset[id + 1]; t++) {
            int32_t readers = 0;
            for (int32_t c = g->consumer_offset[t]; c < g->consumer_offset[t + 1]; c++) {
                if (!g->op[g->consumer[c]].is_folded) readers++;
            }
            s->number_of_tensor[t] = tensor;
            if (readers == 0) continue;
            reader += readers;
            s->tensor[tensor++] =
                (emp_surrogate_tensor){.copy_bytes = (float)g->tensor[t].copy_bytes,
                                       .home_mask = g->tensor[t].on_host ? 0 : ~0u,
                                       .reader = reader};
        }
        for (int32_t c = g->control_out_offset[id]; c < g->control_out_offset[id + 1];
             c++) {
            if (!g->op[g->control_out[c]].is_folded) follower++;
        }
        op->follower = follower;
    }
    s->op[s->op_count] = (emp_surrogate_op){.tensor = tensor, .follower = follower};
    s->tensor[tensor].reader = reader;
}

/* Lays the sweep out in s->order. Rows are filled from their ends, by consumers and
 * inputs in falling order, so that they rise. */
static void lay_out(emp_surrogate *s)
{
    const emp_graph *g = s->problem->graph;

    for (emp_op_id id = 0; id < g->op_count; id++) s->position[id] = s->op_count;
    for (int32_t i = 0; i < s->op_count; i++) s->position[s->order[i]] = i;
    number_rows(s);
    for (int32_t i = s->op_count - 1; i >= 0; i--) {
        emp_op_id id = s->order[i];
        for (int32_t e = g->input_offset[id + 1] - 1; e >= g->input_offset[id]; e--) {
            if (s->position[g->tensor[g->input[e]].producer] == s->op_count) continue;
            emp_surrogate_tensor *t = &s->tensor[s->number_of_tensor[g->input[e]]];
            bool on_host = emp_op_reads_on_host(&g->op[id], e - g->input_offset[id]);
            s->reader[--t->reader] = (emp_surrogate_reader){i, on_host ? 0 : ~0u};
        }
        for (int32_t e = g->control_offset[id]; e < g->control_offset[id + 1]; e++) {
            int32_t from = s->position[g->control[e]];
            if (from < s->op_count) s->follower[--s->op[from].follower] = i;
        }
    }
}

static emp_status choose_kernel(emp_surrogate *s, emp_surrogate_kernel kernel,
                                emp_error *err)
{
    bool has_avx512 = false;

#if EMP_SURROGATE_HAS_AVX512
    has_avx512 = __builtin_cpu_supports("avx512f");
#endif
    if (kernel == EMP_SURROGATE_AVX512 && !has_avx512)
        return EMP_ERROR(EMP_EUNSUPPORTED, "this processor has no AVX-512");
    s->kernel = kernel == EMP_SURROGATE_FASTEST && has_avx512 ? EMP_SURROGATE_AVX512
                : kernel == EMP_SURROGATE_FASTEST             ? EMP_SURROGATE_SCALAR
                                                              : kernel;
    return EMP_OK;
}

emp_status emp_surrogate_create(emp_surrogate **out, const emp_problem *problem,
                                emp_surrogate_kernel kernel, emp_error *err)
{
    emp_status         st = EMP_OK;
    const emp_runtime *r = &problem->runtime;
    emp_surrogate     *s = EMP_NEW(emp_surrogate);

    *out = NULL;
    if (s == NULL) EMP_FAIL(EMP_ENOMEM, "surrogate");
    if (r->rules != EMP_RULES_EVENTS) {
        EMP_FAIL(EMP_EUNSUPPORTED, "no surrogate of the runtime %s: its rules are '%s'",
                 r->name, emp_rules_str(r->rules));
    }
    if (emp_machine_count(problem->machine, EMP_DEVICE_CPU) > 1) {
        EMP_FAIL(EMP_EUNSUPPORTED, "no surrogate of the machine %s: it has several hosts",
                 problem->machine->name);
    }
    s->problem = problem;
    s->send_ns = ns_of_seconds(r->events.send_s);
    s->arrive_ns = ns_of_seconds(r->events.poll_s + r->events.receive_s);
    s->step_ns = ns_of_seconds(r->events.step_s);
    EMP_TRY(choose_kernel(s, kernel, err));
    EMP_TRY(allocate_sweep(s, err));
    EMP_TRY(set_routes(s, err));
    EMP_TRY(emp_surrogate_set_order(s, NULL, err));
    *out = s;
    s = NULL;

cleanup:
    emp_surrogate_destroy(s);
    return st;
}

emp_status emp_surrogate_set_order(emp_surrogate *s, const double *time_of_op,
                                   emp_error *err)
{
    emp_status st = surrogate_sort(s, time_of_op, s->order, err);

    if (st == EMP_OK) lay_out(s);
    return st;
}

int32_t emp_surrogate_op_count(const emp_surrogate *s) { return s->op_count; }

const char *emp_surrogate_kernel_name(const emp_surrogate *s)
{
    return s->kernel == EMP_SURROGATE_AVX512 ? "avx512" : "scalar";
}

void emp_surrogate_destroy(emp_surrogate *s)
{
    if (s == NULL) return;
    emp_arrays_clear(&s->arrays);
    emp_free(s);
}

/* ---- the kernel in plain C, one placement at a time ---- */

static float later(float a, float b) { return a > b ? a : b; }

/* A tensor that leaves at \a leave_ns for another memory: when its readers there know. */
static float send(emp_surrogate *s, const emp_surrogate_tensor *t, int32_t pair,
                  float leave_ns, bool is_first)
{
    int32_t pairs = s->device_count * s->device_count;
    float   duration = s->latency_ns[pair] + t->copy_bytes * s->ns_per_byte[pair];
    float   begin = leave_ns + s->send_ns;

    if (is_first) {
        for (int32_t k = 0; k < s->hop_count; k++)
            begin = later(begin, s->link_ns[s->link_of_hop[k * pairs + pair]]);
    }
    float end = begin + duration;
    if (is_first) {
        for (int32_t k = 0; k < s->hop_count; k++)
            s->link_ns[s->link_of_hop[k * pairs + pair]] = end;
    }
    return end + s->arrive_ns;
}

static void tell_readers(emp_surrogate *s, int32_t op, float done, float leave)
{
    uint32_t device = s->device[op];

    for (int32_t i = s->op[op].tensor; i < s->op[op + 1].tensor; i++) {
        const emp_surrogate_tensor *t = &s->tensor[i];
        uint32_t                    from = device & t->home_mask;
        uint64_t                    sent = 0;
        for (int32_t r = t->reader; r < t[1].reader; r++) {
            int32_t  reader = s->reader[r].op;
            uint32_t to = s->device[reader] & s->reader[r].memory_mask;
            float    at = done;
            if (to != from) {
                int32_t  pair = (int32_t)from * s->device_count + (int32_t)to;
                uint64_t bit = UINT64_C(1) << to;
                at = send(s, t, pair, leave, !(sent & bit));
                sent |= bit;
            }
            s->ready_ns[reader] = later(s->ready_ns[reader], at);
        }
    }
    for (int32_t i = s->op[op].follower; i < s->op[op + 1].follower; i++) {
        int32_t follower = s->follower[i];
        int32_t pair = (int32_t)device * s->device_count + s->device[follower];
        s->ready_ns[follower] = later(s->ready_ns[follower], done + s->message_ns[pair]);
    }
}

/* How long an op takes its device, how long it runs, and its kernels after it is issued. */
typedef struct {
    float hold_ns, run_ns, kernels_ns;
} cost;

static cost cost_on(const emp_surrogate *s, int32_t i, uint8_t d)
{
    const emp_surrogate_op     *op = &s->op[i];
    const emp_surrogate_unlike *u = &s->unlike;
    size_t                      at = (size_t)i * (size_t)s->device_count + d;

    if (u->hold_ns != NULL)
        return (cost){u->hold_ns[at], u->run_ns[at], u->kernels_ns[at]};
    if (d == 0) return (cost){op->cpu_hold_ns, op->cpu_run_ns, 0.0f};
    return (cost){op->gpu_run_ns, op->gpu_run_ns, op->gpu_kernels_ns};
}

static float sweep(emp_surrogate *s)
{
    float last = 0.0f;

    memset(s->free_ns, 0, (size_t)s->device_count * sizeof *s->free_ns);
    memset(s->queue_ns, 0, (size_t)s->device_count * sizeof *s->queue_ns);
    memset(s->link_ns, 0, (size_t)s->link_count * sizeof *s->link_ns);
    for (int32_t i = 0; i < s->op_count; i++) {
        uint8_t d = s->device[i];
        cost    c = cost_on(s, i, d);
        float   start = later(s->ready_ns[i], s->free_ns[d]);
        s->ready_ns[i] = 0.0f;
        s->free_ns[d] = start + c.hold_ns;
        float done = start + c.run_ns;
        float leave = later(done, s->queue_ns[d]) + c.kernels_ns;
        if (d != 0) s->queue_ns[d] = leave;
        last = later(last, leave);
        tell_readers(s, i, done, leave);
    }
    return last + s->step_ns;
}

/* Take up to 16 placements into device, and write the step times of these. */
static emp_status surrogate_block_scalar(emp_surrogate        *s,
                                         emp_device_id *const *placements, int32_t count,
                                         float step_ns[LANES], emp_error *err)
{
    EMP_CHECK(emp_surrogate_check(s, placements, count, err));
    for (int32_t lane = 0; lane < count; lane++) {
        for (int32_t i = 0; i < s->op_count; i++)
            s->device[i] = (uint8_t)placements[lane][s->order[i]];
        step_ns[lane] = sweep(s);
    }
    return EMP_OK;
}

/* ---- running ---- */

#if !EMP_SURROGATE_HAS_AVX512
emp_status emp_surrogate_block_avx512(emp_surrogate *s, emp_device_id *const *placements,
                                      int32_t count, float step_ns[LANES], emp_error *err)
{
    assert(false); /* choose_kernel() does not choose it */
    return surrogate_block_scalar(s, placements, count, step_ns, err);
}
#endif

emp_status emp_surrogate_run(emp_surrogate *s, emp_device_id *const *placements,
                             int32_t count, double *step_time_s, emp_error *err)
{
    float step_ns[LANES];

    for (int32_t k = 0; k < count; k += LANES) {
        int32_t n = count - k < LANES ? count - k : LANES;
        if (s->kernel == EMP_SURROGATE_AVX512) {
            EMP_CHECK(emp_surrogate_block_avx512(s, placements + k, n, step_ns, err));
        } else {
            EMP_CHECK(surrogate_block_scalar(s, placements + k, n, step_ns, err));
        }
        for (int32_t lane = 0; lane < n; lane++)
            step_time_s[k + lane] = (double)step_ns[lane] * 1e-9;
    }
    return EMP_OK;
}

static int sign(double x) { return (x > 0.0) - (x < 0.0); }

/* (concordant - discordant) / sqrt(pairs untied in x * pairs untied in y) */
double emp_kendall_of(const double *x, const double *y, int32_t count)
{
    double sum = 0.0, untied_x = 0.0, untied_y = 0.0;

    for (int32_t i = 0; i < count; i++) {
        for (int32_t j = 0; j < i; j++) {
            int a = sign(x[i] - x[j]), b = sign(y[i] - y[j]);
            sum += a * b;
            untied_x += a != 0;
            untied_y += b != 0;
        }
    }
    return sum / sqrt(untied_x * untied_y);
}

emp_status emp_agreement_of(emp_agreement *out, const double *estimate,
                            const double *exact, int32_t count, emp_error *err)
{
    emp_status st = EMP_OK;
    double    *work = NULL, error = 0.0;

    if (count < 2) EMP_FAIL(EMP_EINVAL, "ranks of %d values; at least 2", count);
    EMP_TRY(EMP_ALLOC(work, 2 * (size_t)count));
    for (int32_t i = 0; i < count; i++) error += fabs(estimate[i] / exact[i] - 1.0);
    out->spearman = gsl_stats_spearman(estimate, 1, exact, 1, (size_t)count, work);
    out->kendall = emp_kendall_of(estimate, exact, count);
    out->mean_relative_error = error / count;

cleanup:
    emp_free(work);
    return st;
}

emp_status emp_surrogate_rank_correlation(emp_agreement *out, emp_surrogate *s,
                                          emp_sim *sim, emp_device_id *const *placements,
                                          int32_t count, emp_error *err)
{
    emp_status st = EMP_OK;
    double    *estimate = EMP_NEW_ARRAY(double, (size_t)count);
    double    *exact = EMP_NEW_ARRAY(double, (size_t)count);

    if (!estimate || !exact) EMP_FAIL(EMP_ENOMEM, "step times of %d placements", count);
    EMP_TRY(emp_surrogate_run(s, placements, count, estimate, err));
    for (int32_t i = 0; i < count; i++) {
        emp_sim_result result;
        EMP_TRY(emp_sim_run(sim, placements[i], &result, err));
        exact[i] = (double)result.step_time_ns * 1e-9;
    }
    EMP_TRY(emp_agreement_of(out, estimate, exact, count, err));

cleanup:
    emp_free(estimate);
    emp_free(exact);
    return st;
}

/* An op may come in several parts; the last to end counts. */
static void note_op(void *context, emp_op_id op, emp_device_id device, int32_t lane,
                    emp_time_ns start_ns, emp_time_ns end_ns)
{
    double *end = context;

    (void)device, (void)lane, (void)start_ns;
    end[op] = fmax(end[op], (double)end_ns);
}

emp_status emp_surrogate_follow(emp_surrogate *s, emp_sim *sim,
                                emp_device_id *const *placements, int32_t count,
                                emp_error *err)
{
    emp_status    st = EMP_OK;
    size_t        op_count = (size_t)s->problem->graph->op_count;
    double       *end = EMP_NEW_ARRAY(double, op_count);
    double       *share = EMP_NEW_ARRAY(double, op_count);
    emp_sim_trace trace = {.context = end, .op = note_op};

    if (!end || !share) EMP_FAIL(EMP_ENOMEM, "end times of %zu ops", op_count);
    for (int32_t i = 0; i < count; i++) {
        emp_sim_result result;
        memset(end, 0, op_count * sizeof *end);
        EMP_TRY(emp_sim_run_traced(sim, placements[i], &trace, &result, err));
        for (size_t op = 0; op < op_count; op++)
            share[op] += end[op] / fmax((double)result.step_time_ns, 1.0);
    }
    EMP_TRY(emp_surrogate_set_order(s, share, err));

cleanup:
    emp_free(end);
    emp_free(share);
    return st;
}
