// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/bounds/changes.h"

/* Rules other than `events` have the rate of their copies in the runtime. */
static bool speed_links(emp_problem_variant *v)
{
    emp_machine *m = v->machine;
    emp_runtime *rt = &v->problem.runtime;

    if (m->device_count < 2) return false;
    for (int32_t i = 0; i < m->device_count * m->device_count; i++)
        m->route[i / m->device_count][i % m->device_count].bytes_per_s *= 2.0;
    emp_problem_scale_latencies(&v->problem, m, 0.5);
    rt->placeto.bus_bytes_per_s *= 2.0;
    rt->placeto.bus_gap_s /= 2.0;
    rt->baechi.byte_s /= 2.0;
    rt->baechi.transfer_s /= 2.0;
    rt->msr.host_bytes_per_s *= 2.0;
    return true;
}

static bool double_memory(emp_problem_variant *v)
{
    for (int32_t d = 0; d < v->machine->device_count; d++)
        v->machine->device[d].memory_bytes *= 2;
    return v->problem.runtime.check_memory;
}

/* Its links are as good as those of the last GPU, whose own link to it is like that to another GPU, or to its host. */
static bool add_gpu(emp_problem_variant *v)
{
    emp_machine  *m = v->machine;
    int32_t       like = m->device_count - 1;
    const int32_t d = m->device_count;

    while (like >= 0 && m->device[like].kind != EMP_DEVICE_GPU) like--;
    if (like < 0 || d == EMP_MAX_DEVICES) return false;
    int32_t peer = like - 1;
    while (peer > 0 && m->device[peer].kind != EMP_DEVICE_GPU) peer--;
    if (peer < 0 || m->device[peer].kind != EMP_DEVICE_GPU) peer = m->device[like].host;
    m->device[d] = m->device[like];
    for (int32_t i = 0; i < d; i++) {
        m->route[i][d] = i == like ? m->route[peer][like] : m->route[i][like];
        m->route[d][i] = i == like ? m->route[like][peer] : m->route[like][i];
    }
    v->costs.column_of_device[d] = v->costs.column_of_device[like];
    m->device_count++;
    return true;
}

static bool speed_gpus(emp_problem_variant *v)
{
    const int32_t rows = emp_cost_row_count(&v->costs, EMP_DEVICE_GPU);

    for (int32_t row = 0; row < rows; row++) v->costs.gpu[row].compute_ns /= 2;
    return emp_machine_count(v->machine, EMP_DEVICE_GPU) > 0;
}

static bool speed_host_threads(emp_problem_variant *v)
{
    const int32_t       rows = emp_cost_row_count(&v->costs, EMP_DEVICE_GPU);
    emp_runtime_events *events = &v->problem.runtime.events;

    for (int32_t row = 0; row < rows; row++) v->costs.gpu[row].issue_ns /= 2;
    events->send_s /= 2.0;
    events->receive_s /= 2.0;
    return emp_machine_count(v->machine, EMP_DEVICE_GPU) > 0 &&
           v->problem.runtime.rules == EMP_RULES_EVENTS && events->serial_issue;
}

static bool speed_cpus(emp_problem_variant *v)
{
    const int32_t rows = emp_cost_row_count(&v->costs, EMP_DEVICE_CPU);

    for (int32_t row = 0; row < rows; row++) v->costs.cpu[row].compute_ns /= 2;
    for (int32_t i = 0; i < v->costs.cpu_offset[rows]; i++) v->costs.task_ns[i] /= 2;
    return true;
}

/* Changes what the variant holds, which is as emp_problem_variant_init() has left it. Returns false, and nothing
 * changes, if there is nothing to change: no GPU, no host thread, no memory that counts. O(V). */
static bool apply(emp_problem_variant *variant, emp_bounds_change change)
{
    bool is_changed = false;

    switch (change) {
    case EMP_BOUNDS_CHANGE_LINKS: is_changed = speed_links(variant); break;
    case EMP_BOUNDS_CHANGE_MEMORY: is_changed = double_memory(variant); break;
    case EMP_BOUNDS_CHANGE_ANOTHER_GPU: is_changed = add_gpu(variant); break;
    case EMP_BOUNDS_CHANGE_GPUS: is_changed = speed_gpus(variant); break;
    case EMP_BOUNDS_CHANGE_HOST_THREADS: is_changed = speed_host_threads(variant); break;
    case EMP_BOUNDS_CHANGE_CPUS: is_changed = speed_cpus(variant); break;
    default: break;
    }
    if (!is_changed) emp_problem_variant_restore(variant);
    return is_changed;
}

/* A bound of 0 is none: nothing fits. */
static bool is_lower(const emp_bounds *a, const emp_bounds *b)
{
    if (a->best_ns != b->best_ns)
        return b->best_ns == 0 || (a->best_ns > 0 && a->best_ns < b->best_ns);
    return a->gpu_kernels_ns > 0 &&
           (b->gpu_kernels_ns == 0 || a->gpu_kernels_ns < b->gpu_kernels_ns);
}

static void insert(emp_bounds_changes *out, const emp_bounds_changed *one)
{
    int32_t at = out->count++;

    for (; at > 0 && is_lower(&one->bounds, &out->changed[at - 1].bounds); at--)
        out->changed[at] = out->changed[at - 1];
    out->changed[at] = *one;
}

emp_status emp_bounds_try_changes(emp_bounds_changes *out, const emp_problem *problem,
                                  const emp_bounds_options *options, emp_error *err)
{
    emp_status          st = EMP_OK;
    emp_problem_variant v = {0};
    emp_bounds_options  plain = *options;

    plain.has_proof = false;
    *out = (emp_bounds_changes){0};
    EMP_TRY(emp_problem_variant_init(&v, problem, err));
    for (int32_t c = 0; c < EMP_BOUNDS_CHANGES; c++) {
        emp_bounds_changed one = {.change = (emp_bounds_change)c};
        if (!apply(&v, one.change)) continue;
        EMP_TRY(emp_bounds_compute(&one.bounds, &v.problem, &plain, err));
        insert(out, &one);
        emp_problem_variant_restore(&v);
    }

cleanup:
    emp_problem_variant_clear(&v);
    return st;
}
