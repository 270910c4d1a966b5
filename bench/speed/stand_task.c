// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/speed/stand_task.h"

#include <inttypes.h>
#include <stdio.h>

enum { SPEC_BYTES = 64, SEEDS = 1000000 };

emp_status emp_stand_task_load(emp_loaded_task *loaded, int32_t nodes, uint64_t seed,
                               emp_error *err)
{
    char           spec[SPEC_BYTES], machine[SPEC_BYTES];
    const emp_task task = {.key = "giph",
                           .title = "giph",
                           .spec = spec,
                           .machine = machine,
                           .gpu_count = EMP_STAND_DEVICES};
    emp_runtime    runtime;

    snprintf(spec, sizeof spec, "giph:v=%d,alpha=0.5,seed=%" PRIu64, nodes, seed % SEEDS);
    snprintf(machine, sizeof machine, "giph:devices=%d,seed=%" PRIu64, EMP_STAND_DEVICES,
             seed % SEEDS);
    EMP_CHECK(emp_runtime_init(&runtime, "edges", err));
    return emp_tasks_load(loaded, &task, 1, &runtime, 1, err);
}
