// SPDX-License-Identifier: GPL-3.0-or-later
/* A home that is its own root, and a copy, owns a buffer while it is needed. Runs leave
 * instances that the next has not reached yet as they were, hence the reset. */
#include "sim/engine/sim_live.h"

#include <stddef.h>

#include "sim/engine/sim_internal.h"

void emp_sim_live_reset(emp_sim *sim)
{
    emp_engine *e = sim->engine;

    for (int32_t i = 0; e != NULL && i < e->first_copy + e->copy_limit; i++)
        e->instance[i].pending = 0;
}

emp_sim_live_memory emp_sim_live_get(const emp_sim *sim, emp_device_id device)
{
    if (sim->engine == NULL) return emp_rules_sim_memory(sim->ruled, device);
    const emp_sim_memory *m = &sim->engine->device[device].memory;
    return (emp_sim_live_memory){m->used, m->peak, sim->engine->result.oom_device >= 0};
}

void emp_sim_live_each(const emp_sim *sim, emp_device_id device,
                       emp_sim_live_visit *visit, void *context)
{
    const emp_engine *e = sim->engine;

    for (int32_t i = 0; e != NULL && i < e->instance_count; i++) {
        const emp_sim_instance *instance = &e->instance[i];
        bool                    is_copy = i >= e->first_copy;
        bool                    is_root = is_copy || instance->root == i;
        if (!is_root || instance->pending == 0 || instance->bytes <= 0 ||
            instance->space != device)
            continue;
        int32_t tensor = is_copy ? e->instance[i].tensor : i;
        visit(context, e->payload[tensor].id, is_copy, instance->bytes);
    }
}
