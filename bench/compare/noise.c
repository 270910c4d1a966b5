// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/compare/noise.h"

#include <math.h>

static double draw_factor(double most_frac, emp_rng *rng)
{
    return exp((2 * emp_rng_uniform(rng) - 1) * log1p(most_frac));
}

static emp_time_ns scale(emp_time_ns time_ns, double factor)
{
    return (emp_time_ns)llround((double)time_ns * factor);
}

static void disturb_ops(emp_cost_table *c, double most_frac, emp_rng *rng)
{
    for (emp_op_id op = 0; op < c->op_count; op++) {
        emp_time_ns *task_ns = c->task_ns + c->cpu_offset[op];
        double       on_gpu = draw_factor(most_frac, rng);
        double       on_cpu = draw_factor(most_frac, rng);
        c->gpu[op].compute_ns = scale(c->gpu[op].compute_ns, on_gpu);
        c->gpu[op].issue_ns = scale(c->gpu[op].issue_ns, on_gpu);
        c->cpu[op].compute_ns = scale(c->cpu[op].compute_ns, on_cpu);
        for (int32_t p = 0; p < c->cpu[op].lanes; p++)
            task_ns[p] = scale(task_ns[p], on_cpu);
    }
}

void emp_noise_add(emp_problem_variant *variant, double most_frac, emp_rng *rng)
{
    emp_machine *machine = variant->machine;

    disturb_ops(&variant->costs, most_frac, rng);
    for (int32_t i = 0; i < machine->link_count; i++) {
        double factor = draw_factor(most_frac, rng);
        machine->link[i].bytes_per_s /= factor;
        machine->link[i].latency_s *= factor;
    }
    emp_machine_time_routes(machine);
}
