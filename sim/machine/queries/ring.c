// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/machine/queries/ring.h"

#include <math.h>

emp_device_list emp_ring_gpus(const emp_machine *machine)
{
    emp_device_list list;

    list.count = emp_machine_list(machine, EMP_DEVICE_GPU, list.id);
    return list;
}

static bool are_near(const emp_machine *m, emp_device_id a, emp_device_id b)
{
    return m->device[a].host == m->device[b].host;
}

emp_link_rate emp_ring_slowest(const emp_machine *machine, const emp_device_list *devices,
                               unsigned pairs)
{
    const emp_device_id *id = devices->id;
    emp_link_rate        slowest = {INFINITY, 0.0};

    for (int32_t i = 0; i < devices->count; i++) {
        for (int32_t k = 0; k < devices->count; k++) {
            const emp_route *route = &machine->route[id[i]][id[k]];
            const bool       is_near = are_near(machine, id[i], id[k]);
            if (route->link_count == 0 ||
                !(pairs & (is_near ? EMP_PAIRS_OF_ONE_HOST : EMP_PAIRS_OF_TWO_HOSTS)))
                continue;
            slowest.bytes_per_s = fmin(slowest.bytes_per_s, route->bytes_per_s);
            slowest.latency_s = fmax(slowest.latency_s, route->latency_s);
        }
    }
    return slowest;
}

bool emp_ring_is_mesh(const emp_machine *machine, const emp_device_list *devices)
{
    const emp_device_id *id = devices->id;
    bool                 is_used[EMP_MAX_LINKS] = {false};

    for (int32_t i = 0; i < devices->count; i++) {
        for (int32_t k = 0; k < devices->count; k++) {
            const emp_route *route = &machine->route[id[i]][id[k]];
            if (!are_near(machine, id[i], id[k])) continue;
            for (int32_t l = 0; l < route->link_count; l++) {
                if (is_used[route->link[l]]) return false;
                is_used[route->link[l]] = true;
            }
        }
    }
    return true;
}

/* How many devices of the list are in each host, by the host's number as a device. */
static void count_by_host(int32_t count[EMP_MAX_DEVICES], const emp_machine *m,
                          const emp_device_list *devices)
{
    for (int32_t d = 0; d < EMP_MAX_DEVICES; d++) count[d] = 0;
    for (int32_t i = 0; i < devices->count; i++) count[m->device[devices->id[i]].host]++;
}

int32_t emp_ring_most_near(const emp_machine *machine, const emp_device_list *devices)
{
    int32_t count[EMP_MAX_DEVICES], most = 0;

    count_by_host(count, machine, devices);
    for (int32_t d = 0; d < EMP_MAX_DEVICES; d++)
        if (count[d] > most) most = count[d];
    return most;
}

int32_t emp_ring_common_near(const emp_machine *machine, const emp_device_list *devices)
{
    int32_t count[EMP_MAX_DEVICES], common = 0;

    count_by_host(count, machine, devices);
    for (int32_t d = 0; d < EMP_MAX_DEVICES; d++) {
        for (int32_t rest = count[d]; rest > 0;) {
            const int32_t next = common % rest;
            common = rest;
            rest = next;
        }
    }
    return common;
}
