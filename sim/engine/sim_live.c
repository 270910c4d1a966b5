// SPDX-License-Identifier: GPL-3.0-or-later
/* A home that is its own root, and a copy, owns a buffer while it is needed. Runs leave
 * instances that the next has not reached yet as they were, hence the reset. */
#include "sim/engine/sim_live.h"

#include "sim/engine/sim_internal.h"

void emp_sim_live_reset(emp_sim *sim)
{
    for (int32_t i = 0; i < sim->first_copy + sim->copy_limit; i++)
        sim->instance[i].pending = 0;
}

emp_sim_live_memory emp_sim_live_get(const emp_sim *sim, emp_device_id device)
{
    const emp_sim_memory *m = &sim->device[device].memory;

    return (emp_sim_live_memory){m->used, m->peak, sim->result.oom_device >= 0};
}

void emp_sim_live_each(const emp_sim *sim, emp_device_id device,
                       emp_sim_live_visit *visit, void *context)
{
    for (int32_t i = 0; i < sim->instance_count; i++) {
        const emp_sim_instance *instance = &sim->instance[i];
        bool                    is_copy = i >= sim->first_copy;
        bool                    is_root = is_copy || instance->root == i;
        if (!is_root || instance->pending == 0 || instance->bytes <= 0 ||
            instance->space != device)
            continue;
        int32_t tensor = is_copy ? sim->instance[i].tensor : i;
        visit(context, sim->payload[tensor].id, is_copy, instance->bytes);
    }
}
