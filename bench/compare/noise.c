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
        double on_gpu = draw_factor(most_frac, rng);
        double on_cpu = draw_factor(most_frac, rng);
        for (int32_t i = 0; i < c->column_count[EMP_DEVICE_GPU]; i++) {
            emp_gpu_cost *gpu = &c->gpu[i * c->op_count + op];
            gpu->compute_ns = scale(gpu->compute_ns, on_gpu);
            gpu->issue_ns = scale(gpu->issue_ns, on_gpu);
        }
        for (int32_t i = 0; i < c->column_count[EMP_DEVICE_CPU]; i++) {
            int32_t       row = i * c->op_count + op;
            emp_cpu_cost *cpu = &c->cpu[row];
            cpu->compute_ns = scale(cpu->compute_ns, on_cpu);
            for (int32_t p = c->cpu_offset[row]; p < c->cpu_offset[row + 1]; p++)
                c->task_ns[p] = scale(c->task_ns[p], on_cpu);
        }
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
