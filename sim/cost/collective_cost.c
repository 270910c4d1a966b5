// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/cost/collective_cost.h"

#include <math.h>

#include "sim/cost/kernel.h"

static double ring_s(const emp_stated_collective *c, const emp_route *route)
{
    double part = (double)c->bytes / c->ranks;

    return 2.0 * (c->ranks - 1.0) * (part / route->bytes_per_s + route->latency_s);
}

/* The longest over all pairs of GPUs. */
static double slowest_ring_s(const emp_stated_collective *c, const emp_machine *machine)
{
    emp_device_id gpu[EMP_MAX_DEVICES];
    int32_t       count = emp_machine_list(machine, EMP_DEVICE_GPU, gpu);
    double        longest = 0.0;

    for (int32_t a = 0; a < count; a++) {
        for (int32_t b = 0; b < count; b++) {
            const emp_route *route = &machine->route[gpu[a]][gpu[b]];
            if (route->link_count > 0) longest = fmax(longest, ring_s(c, route));
        }
    }
    return longest;
}

double emp_collective_s(const emp_stated_collective *collective,
                        const emp_machine *machine, const emp_device *gpu)
{
    emp_exchange exchange = {.op = EMP_COLLECTIVE_ALL_REDUCE,
                             .format = EMP_FORMAT_FP16,
                             .gpus = collective->ranks,
                             .bytes = (double)collective->bytes};
    emp_form     form;
    double       seconds;

    if (collective->ranks <= 1 || collective->bytes == 0) return 0.0;
    if (emp_exchange_time(&seconds, &form, gpu, &exchange, NULL) == EMP_OK)
        return seconds;
    return slowest_ring_s(collective, machine);
}
