// SPDX-License-Identifier: GPL-3.0-or-later
/* What a run asks of devices that are groups of one computer's cores. */
#include "sim/engine/engine.h"

/* The cores of device d are those from first on, modulo all that the computer has: of GPUs first,
 * then of CPUs, as replay takes them (replay/cpu/cores.h). */
static void count_shared_cores(emp_sim_sharing *s, const emp_machine *m)
{
    int32_t first[EMP_MAX_DEVICES], next = 0, all = m->core_count;

    for (int kind = EMP_DEVICE_KINDS - 1; kind >= 0;
         kind--) { /* CPUs are the first kind */
        for (int32_t d = 0; d < m->device_count; d++) {
            const emp_device *device = &m->device[d];
            if ((int)device->kind != kind) continue;
            int32_t count =
                kind == EMP_DEVICE_CPU ? device->cores : device->multiprocessors;
            s->core_count[d] = all > 0 && count > all ? all : count;
            first[d] = next;
            next += s->core_count[d];
        }
    }
    for (int32_t d = 0; all > 0 && d < m->device_count; d++) {
        for (int32_t e = 0; e < m->device_count; e++) {
            for (int32_t i = 0; i < s->core_count[d]; i++) {
                int32_t behind = ((first[d] + i - first[e]) % all + all) % all;
                s->shared[d][e] += behind < s->core_count[e];
            }
        }
    }
}

emp_status emp_engine_set_sharing(emp_engine *sim, const emp_problem *problem,
                                  emp_error *err)
{
    const emp_device *gpu = emp_machine_first(problem->machine, EMP_DEVICE_GPU);

    if (!sim->rules.shares_cores) return EMP_OK;
    sim->sharing = EMP_ADD_ARRAY(&sim->arrays, emp_sim_sharing, 1);
    emp_time_ns *more_ns =
        EMP_ADD_ARRAY(&sim->arrays, emp_time_ns, (size_t)sim->op_count);
    if (sim->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "simulator of %d ops", sim->op_count);
    for (int32_t op = 0; op < sim->op_count; op++)
        more_ns[op] =
            problem->costs->gpu_beside_ns[sim->start[op].id] - sim->op[op].gpu_ns;
    sim->sharing->more_ns = more_ns;
    sim->sharing->hand_over_ns = emp_ns_of_seconds(gpu->sharing.hand_over_s);
    sim->sharing->ns_per_byte = 1e9 / gpu->sharing.copy_bytes_per_s;
    count_shared_cores(sim->sharing, problem->machine);
    return EMP_OK;
}
