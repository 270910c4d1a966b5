// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/validate/guesses.h"

#include <math.h>

double emp_guess_scale(double *error_frac, const double *guess_s,
                       const double *measured_s, int32_t count)
{
    double best = NAN;

    *error_frac = NAN;
    for (int32_t i = 0; i < count; i++) {
        const double scale = measured_s[i] / guess_s[i];
        double       sum = 0.0;
        for (int32_t k = 0; k < count; k++)
            sum += fabs(scale * guess_s[k] / measured_s[k] - 1.0);
        if (sum / count >= *error_frac) continue; /* NaN is not below */
        *error_frac = sum / count;
        best = scale;
    }
    return best;
}

double emp_guess_roofline_s(const emp_problem *problem, const emp_device_id *device_of_op)
{
    const emp_graph   *g = problem->graph;
    const emp_machine *m = problem->machine;
    double             busy_s[EMP_MAX_DEVICES] = {0}, longest_s = 0.0;

    for (emp_op_id op = 0; op < g->op_count; op++) {
        const emp_op_cost *c = g->op[op].cost;
        const emp_device  *d = &m->device[device_of_op[op]];
        if (g->op[op].is_folded || c->op_class == EMP_OP_KERNELLESS) continue;
        busy_s[device_of_op[op]] +=
            c->flops / d->peak_flops_per_s +
            ((double)c->bytes_read + (double)c->bytes_written) / d->memory_bytes_per_s;
    }
    for (int32_t d = 0; d < m->device_count; d++) longest_s = fmax(longest_s, busy_s[d]);
    return longest_s;
}

double emp_guess_copies_s(const emp_replay_plan *plan)
{
    double sum_s = 0.0;

    for (int32_t c = 0; c < plan->copy_count; c++) {
        const emp_replay_copy  *copy = &plan->copy[c];
        int32_t                 from = emp_replay_memory_of_place(plan, copy->tensor);
        const emp_replay_route *route =
            &plan->route[from * plan->device_count + copy->to];
        sum_s += route->latency_s;
        if (route->bytes_per_s > 0.0) sum_s += (double)copy->bytes / route->bytes_per_s;
    }
    return sum_s;
}
