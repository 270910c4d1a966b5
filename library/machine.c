// SPDX-License-Identifier: GPL-3.0-or-later
/* Queries of <emplace/machine.h>. */
#include "sim/machine/machine.h"

#include "sim/cost/cost.h"

static bool has_device(const emp_machine *machine, emp_device_id device)
{
    return machine != NULL && device >= 0 && device < machine->device_count;
}

int32_t emp_machine_device_count(const emp_machine *machine)
{
    return machine != NULL ? machine->device_count : 0;
}

const char *emp_machine_device_name(const emp_machine *machine, emp_device_id device)
{
    return has_device(machine, device) ? machine->device[device].name : NULL;
}

emp_device_kind emp_machine_device_kind(const emp_machine *machine, emp_device_id device)
{
    return has_device(machine, device) ? machine->device[device].kind : EMP_DEVICE_CPU;
}

int64_t emp_machine_device_memory_bytes(const emp_machine *machine, emp_device_id device)
{
    return has_device(machine, device) ? machine->device[device].memory_bytes : 0;
}

emp_time_ns emp_machine_copy_time_ns(const emp_machine *machine, emp_device_id from,
                                     emp_device_id to, int64_t bytes)
{
    if (!has_device(machine, from) || !has_device(machine, to)) return -1;
    const emp_route *route = &machine->route[from][to];
    if (route->link_count == 0 || bytes < 0) return 0;
    return emp_ns_of_seconds(route->latency_s + (double)bytes / route->bytes_per_s);
}
