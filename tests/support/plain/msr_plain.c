// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/plain/msr_plain.h"

#undef NDEBUG
#include <assert.h>

#include "base/mem.h"

void msr_plain_transfers(const plain_step *s, int64_t *transfer_ns)
{
    bool    *is_read = EMP_NEW_ARRAY(bool, (size_t)s->tensor_count);
    int64_t *bytes = EMP_NEW_ARRAY(int64_t, (size_t)s->op_count);

    assert(is_read != NULL && bytes != NULL);
    for (int32_t e = 0; e < s->edge_count; e++) {
        if (s->edge[e].tensor != PLAIN_CONTROL) is_read[s->edge[e].tensor] = true;
    }
    for (int32_t t = 0; t < s->tensor_count; t++) {
        if (is_read[t]) bytes[s->tensor[t].producer] += s->tensor[t].transfer_bytes;
    }
    for (int32_t op = 0; op < s->op_count; op++) {
        /* 10^9 / 2^31 = 5^9 / 2^22 */
        transfer_ns[op] = plain_scale(bytes[op], 1953125, INT64_C(1) << 22);
    }
    emp_free(is_read);
    emp_free(bytes);
}

/* Sum of c_u over the ops u with a data edge between inside and outside of a set of ops,
 * in either direction. */
static int64_t crossing_ns(const plain_step *s, const int64_t *transfer_ns,
                           const bool *is_inside)
{
    int64_t sum_ns = 0;

    for (int32_t op = 0; op < s->op_count; op++) {
        bool is_crossing = false;
        for (int32_t e = 0; e < s->edge_count; e++) {
            const plain_edge *edge = &s->edge[e];
            is_crossing |= edge->producer == op && edge->tensor != PLAIN_CONTROL &&
                           is_inside[op] != is_inside[edge->consumer];
        }
        if (is_crossing) sum_ns += transfer_ns[op];
    }
    return sum_ns;
}

static void measure_loads(const plain_step *s, const int64_t *transfer_ns, msr_result *r)
{
    bool *is_inside = EMP_NEW_ARRAY(bool, (size_t)s->op_count);

    assert(is_inside != NULL);
    for (int32_t d = 0; d < s->device_count; d++) {
        for (int32_t op = 0; op < s->op_count; op++) {
            is_inside[op] = s->device_of_op[op] == d;
            if (!is_inside[op]) continue;
            r->load_ns[d] += plain_step_cost_ns(s, op);
            r->size_bytes[d] += s->persistent_bytes[op];
        }
        if (!s->is_cpu[d]) r->load_ns[d] += crossing_ns(s, transfer_ns, is_inside);
        if (r->load_ns[d] > r->max_load_ns) r->max_load_ns = r->load_ns[d];
    }
    for (int32_t t = 0; t < s->tensor_count; t++) {
        r->size_bytes[s->device_of_op[s->tensor[t].producer]] +=
            s->tensor[t].memory_bytes;
    }
    emp_free(is_inside);
}

/* One call of a GPU, or one op of the CPU. */
typedef struct {
    int32_t device;
    int32_t previous; /* run of the same GPU, or -1 */
    int64_t finish_ns;
    bool    is_finished;
} run;

typedef struct {
    const plain_step *step;
    run              *runs;
    int32_t           run_count;
    int32_t          *run_of_op; /* -1 = not yet taken */
} division;

/* Does the first run have to finish before the second one can start? */
static bool is_before(const division *v, int32_t first, int32_t second)
{
    const plain_step *s = v->step;
    bool             *is_after = EMP_NEW_ARRAY(bool, (size_t)v->run_count);
    bool              changed = true;

    assert(is_after != NULL);
    for (is_after[first] = true; changed;) {
        changed = false;
        for (int32_t r = 0; r < v->run_count; r++) {
            int32_t p = v->runs[r].previous;
            if (p < 0 || !is_after[p] || is_after[r]) continue;
            is_after[r] = changed = true;
        }
        for (int32_t e = 0; e < s->edge_count; e++) {
            int32_t from = v->run_of_op[s->edge[e].producer];
            int32_t to = v->run_of_op[s->edge[e].consumer];
            if (from < 0 || to < 0 || !is_after[from] || is_after[to]) continue;
            is_after[to] = changed = true;
        }
    }
    bool answer = is_after[second];
    emp_free(is_after);
    return answer;
}

/* May the op join the run, or would one of its inputs wait for the run it joins? */
static bool can_join(const division *v, int32_t op, int32_t r)
{
    const plain_step *s = v->step;

    for (int32_t e = 0; e < s->edge_count; e++) {
        if (s->edge[e].consumer != op) continue;
        int32_t input = v->run_of_op[s->edge[e].producer];
        if (input != r && is_before(v, r, input)) return false;
    }
    return true;
}

static int32_t choose_run(division *v, int32_t op)
{
    int32_t device = v->step->device_of_op[op], last = -1;

    for (int32_t r = 0; r < v->run_count && !v->step->is_cpu[device]; r++) {
        if (v->runs[r].device != device) continue;
        if (can_join(v, op, r)) return r;
        last = r;
    }
    v->runs[v->run_count] = (run){.device = device, .previous = last};
    return v->run_count++;
}

/* The lowest op that is not taken and whose inputs all are, or -1. */
static int32_t next_op(const division *v)
{
    const plain_step *s = v->step;

    for (int32_t op = 0; op < s->op_count; op++) {
        bool is_next = v->run_of_op[op] < 0;
        for (int32_t e = 0; e < s->edge_count && is_next; e++) {
            const plain_edge *edge = &s->edge[e];
            if (edge->consumer == op && v->run_of_op[edge->producer] < 0) is_next = false;
        }
        if (is_next) return op;
    }
    return -1;
}

/* Finishes the run if everything that it waits for has finished. */
static bool finish(division *v, int32_t r, const int64_t *transfer_ns, bool *is_inside)
{
    const plain_step *s = v->step;
    run              *this_run = &v->runs[r];
    int64_t           start_ns = 0, compute_ns = 0;

    if (this_run->previous >= 0) {
        if (!v->runs[this_run->previous].is_finished) return false;
        start_ns = v->runs[this_run->previous].finish_ns;
    }
    for (int32_t op = 0; op < s->op_count; op++) {
        is_inside[op] = v->run_of_op[op] == r;
        if (is_inside[op]) compute_ns += plain_step_cost_ns(s, op);
    }
    for (int32_t e = 0; e < s->edge_count; e++) {
        const run *input = &v->runs[v->run_of_op[s->edge[e].producer]];
        if (!is_inside[s->edge[e].consumer] || input == this_run) continue;
        if (!input->is_finished) return false;
        if (input->finish_ns > start_ns) start_ns = input->finish_ns;
    }
    bool is_cpu = s->is_cpu[this_run->device];
    this_run->finish_ns =
        start_ns + compute_ns + (is_cpu ? 0 : crossing_ns(s, transfer_ns, is_inside));
    this_run->is_finished = true;
    return true;
}

static void measure_latency(const plain_step *s, const int64_t *transfer_ns,
                            msr_result *result)
{
    const size_t ops = (size_t)s->op_count;
    division     v = {.step = s,
                      .runs = EMP_NEW_ARRAY(run, ops),
                      .run_of_op = EMP_NEW_ARRAY(int32_t, ops)};
    bool        *is_inside = EMP_NEW_ARRAY(bool, ops);
    int32_t      left;

    assert(v.runs != NULL && v.run_of_op != NULL && is_inside != NULL);
    for (int32_t op = 0; op < s->op_count; op++) v.run_of_op[op] = -1;
    for (int32_t count = 0; count < s->op_count; count++) {
        int32_t op = next_op(&v);
        assert(op >= 0);
        v.run_of_op[op] = choose_run(&v, op);
    }
    for (left = v.run_count; left > 0;) {
        int32_t before = left;
        for (int32_t r = 0; r < v.run_count; r++) {
            if (v.runs[r].is_finished || !finish(&v, r, transfer_ns, is_inside)) continue;
            left--;
        }
        assert(left < before); /* no circle */
    }
    for (int32_t r = 0; r < v.run_count; r++) {
        if (!s->is_cpu[v.runs[r].device]) result->run_count++;
        if (v.runs[r].finish_ns > result->latency_ns)
            result->latency_ns = v.runs[r].finish_ns;
    }
    emp_free(v.runs);
    emp_free(v.run_of_op);
    emp_free(is_inside);
}

void msr_plain_run(const plain_step *step, const int64_t *transfer_ns, msr_result *result)
{
    *result = (msr_result){0};
    measure_loads(step, transfer_ns, result);
    measure_latency(step, transfer_ns, result);
}
