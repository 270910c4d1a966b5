// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/order.h"

#include <math.h>

#include "base/collections.h"
#include "base/mem.h"

/* ---- levels of keys ---- */

emp_status emp_order_of_keys(uint8_t *level_of_op, const double *key, int32_t op_count,
                             emp_error *err)
{
    emp_keyed *op = NULL;
    uint8_t    level = 0;

    EMP_CHECK(EMP_ALLOC(op, (size_t)op_count));
    for (emp_op_id i = 0; i < op_count; i++) op[i] = (emp_keyed){key[i], i};
    emp_keyed_sort(op, (size_t)op_count);
    for (int32_t i = 0; i < op_count; i++) {
        if (i == 0 || op[i].key != op[i - 1].key)
            level = (uint8_t)((int64_t)i * EMP_LEVELS / op_count);
        level_of_op[op[i].number] = level;
    }
    emp_free(op);
    return EMP_OK;
}

/* ---- bottom levels ---- */

typedef struct {
    const emp_problem   *problem;
    const emp_device_id *device_of_op;
    double              *bottom_ns; /* [op] */
} survey;

/* From the end of an op to the end of the step, by way of one that reads `bytes` of it. */
static double way_by(const survey *s, emp_op_id op, emp_op_id reader, int64_t bytes)
{
    const emp_device_id from = s->device_of_op[op], to = s->device_of_op[reader];
    const emp_route    *route = &s->problem->machine->route[from][to];

    if (from == to) return s->bottom_ns[reader];
    return s->bottom_ns[reader] +
           1e9 * (route->latency_s + (double)bytes / route->bytes_per_s);
}

static double longest_way_on(const survey *s, emp_op_id op)
{
    const emp_graph *g = s->problem->graph;
    double           longest = 0.0;

    for (emp_tensor_id t = g->output_offset[op]; t < g->output_offset[op + 1]; t++) {
        for (int32_t i = g->consumer_offset[t]; i < g->consumer_offset[t + 1]; i++)
            longest =
                fmax(longest, way_by(s, op, g->consumer[i], g->tensor[t].copy_bytes));
    }
    for (int32_t i = g->control_out_offset[op]; i < g->control_out_offset[op + 1]; i++)
        longest = fmax(longest, way_by(s, op, g->control_out[i], 0));
    return longest;
}

/* Folded ops are done before the step, and wait for no op. */
static void fill_bottom_levels(const survey *s)
{
    const emp_graph *g = s->problem->graph;

    for (int32_t i = g->op_count - 1; i >= 0; i--) {
        const emp_op_id op = g->topo[i];
        if (g->op[op].is_folded) continue;
        s->bottom_ns[op] =
            longest_way_on(s, op) +
            (double)emp_problem_op_time_ns(s->problem, op, s->device_of_op[op]);
    }
}

emp_status emp_order_of_bottom_levels(uint8_t *level_of_op, const emp_problem *problem,
                                      const emp_device_id *device_of_op, emp_error *err)
{
    emp_status    st = EMP_OK;
    survey        s = {.problem = problem, .device_of_op = device_of_op};
    const int32_t ops = problem->graph->op_count;

    EMP_TRY(EMP_ALLOC(s.bottom_ns, (size_t)ops));
    fill_bottom_levels(&s);
    for (emp_op_id op = 0; op < ops; op++) s.bottom_ns[op] = -s.bottom_ns[op];
    EMP_TRY(emp_order_of_keys(level_of_op, s.bottom_ns, ops, err));

cleanup:
    emp_free(s.bottom_ns);
    return st;
}
