// SPDX-License-Identifier: GPL-3.0-or-later

#include <math.h>

#include "sim/cost/kernel.h"

static int32_t count_ranks(const emp_collective_part *part, const emp_machine *machine)
{
    return part->ranks == EMP_RANKS_ALL ? emp_machine_count(machine, EMP_DEVICE_GPU)
                                        : part->ranks;
}

static double ring_s(const emp_collective_part *part, int32_t ranks, double bytes_per_s,
                     double latency_s)
{
    double sends = part->op == EMP_COLLECTIVE_ALL_REDUCE ? 2.0 : 1.0;

    return sends * (ranks - 1.0) *
           ((double)part->bytes / ranks / bytes_per_s + latency_s);
}

/* The longest over all pairs of devices, or of GPUs alone; 0 if no pair has a route. */
static double slowest_ring_s(const emp_collective_part *part, int32_t ranks,
                             const emp_machine *m, bool of_gpus)
{
    double longest = 0.0;

    for (int32_t a = 0; a < m->device_count; a++) {
        for (int32_t b = 0; b < m->device_count; b++) {
            const emp_route *route = &m->route[a][b];
            bool             are_gpus = m->device[a].kind == EMP_DEVICE_GPU &&
                            m->device[b].kind == EMP_DEVICE_GPU;
            if (route->link_count == 0 || (of_gpus && !are_gpus)) continue;
            longest =
                fmax(longest, ring_s(part, ranks, route->bytes_per_s, route->latency_s));
        }
    }
    return longest;
}

static double on_gpu_s(const emp_collective_part *part, int32_t ranks,
                       const emp_machine *machine, const emp_device *gpu)
{
    emp_exchange exchange = {.op = part->op,
                             .format = EMP_FORMAT_FP16,
                             .gpus = ranks,
                             .bytes = (double)part->bytes};
    emp_form     form;
    double       seconds;

    if (emp_exchange_time(&seconds, &form, gpu, &exchange, NULL) == EMP_OK)
        return seconds;
    seconds = slowest_ring_s(part, ranks, machine, true);
    return seconds > 0.0 ? seconds : slowest_ring_s(part, ranks, machine, false);
}

double emp_collective_s(const emp_collective_part *part, const emp_machine *machine,
                        const emp_device *device)
{
    int32_t ranks = count_ranks(part, machine);

    if (ranks <= 1 || part->bytes == 0) return 0.0;
    if (device->kind == EMP_DEVICE_GPU) return on_gpu_s(part, ranks, machine, device);
    double seconds = slowest_ring_s(part, ranks, machine, false);
    return seconds > 0.0 ? seconds : ring_s(part, ranks, device->core_bytes_per_s, 0.0);
}
