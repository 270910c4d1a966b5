// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/machine/machine_internal.h"

#include <stdio.h>
#include <string.h>

emp_status emp_topology_add_link(emp_machine *machine, const char *name,
                                 const char *suffix, double bytes_per_s, double latency_s,
                                 int32_t *link, emp_error *err)
{
    if (machine->link_count == EMP_MAX_LINKS) {
        return EMP_ERROR(EMP_EINVAL, "more than %d links", EMP_MAX_LINKS);
    }
    emp_link *l = &machine->link[machine->link_count];
    snprintf(l->name, sizeof l->name, "%s%s", name, suffix);
    l->bytes_per_s = bytes_per_s;
    l->latency_s = latency_s;
    *link = machine->link_count++;
    return EMP_OK;
}

/* A parent has a lower number than its children. */
static void count_cpus(const emp_machine *machine, emp_topology *t)
{
    for (int32_t i = 0; i < t->node_count; i++) {
        t->node[i].cpu_count = 0;
        t->node[i].cpu = -1;
    }
    for (emp_device_id d = 0; d < machine->device_count; d++) {
        if (machine->device[d].kind != EMP_DEVICE_CPU) continue;
        t->node[t->leaf_of_device[d]].cpu_count = 1;
        t->node[t->leaf_of_device[d]].cpu = d;
    }
    for (int32_t i = t->node_count - 1; i >= 0; i--) {
        if (t->node[i].parent < 0 || t->node[i].cpu < 0) continue;
        emp_topology_node *parent = &t->node[t->node[i].parent];
        parent->cpu_count += t->node[i].cpu_count;
        parent->cpu = t->node[i].cpu;
    }
}

static void find_network(emp_machine *machine, const emp_topology *t)
{
    for (int32_t i = 0; i < t->node_count; i++) {
        const emp_topology_node *node = &t->node[i];
        if (node->up < 0 || node->parent < 0) continue;
        if (t->node[node->parent].cpu_count < 2) continue;
        machine->link[node->up].is_network = true;
        machine->link[node->down].is_network = true;
    }
}

emp_device_id emp_topology_find_hosts(emp_machine *machine, emp_topology *topology)
{
    count_cpus(machine, topology);
    find_network(machine, topology);
    for (emp_device_id d = 0; d < machine->device_count; d++) {
        const emp_topology_node *node = &topology->node[topology->leaf_of_device[d]];
        while (node->cpu < 0 && node->parent >= 0) node = &topology->node[node->parent];
        if (node->cpu_count != 1) return d;
        machine->device[d].host = node->cpu;
    }
    return -1;
}

static int32_t depth_of(const emp_topology *t, int32_t node)
{
    int32_t depth = 0;

    for (; t->node[node].parent >= 0; node = t->node[node].parent) depth++;
    return depth;
}

static emp_status append(emp_route *route, int32_t link, emp_error *err)
{
    if (link < 0) return EMP_OK;
    if (route->link_count == EMP_MAX_ROUTE) {
        return EMP_ERROR(EMP_EINVAL, "a route of more than %d links", EMP_MAX_ROUTE);
    }
    route->link[route->link_count++] = link;
    return EMP_OK;
}

/* The links of the tree path in order: up from a, down to b. The way down is found from
 * its end, so it is collected first and appended backwards. */
static emp_status route_by_tree(const emp_topology *t, int32_t a, int32_t b,
                                emp_route *route, emp_error *err)
{
    int32_t down[EMP_MAX_NODES + 1], down_count = 0;
    int32_t depth_a = depth_of(t, a), depth_b = depth_of(t, b);

    while (a != b && a >= 0 && b >= 0) {
        if (depth_a >= depth_b) {
            EMP_CHECK(append(route, t->node[a].up, err));
            a = t->node[a].parent;
            depth_a--;
        } else {
            down[down_count++] = t->node[b].down;
            b = t->node[b].parent;
            depth_b--;
        }
    }
    if (a != b) return EMP_ERROR(EMP_EINVAL, "they hang on different trees");
    while (down_count > 0) EMP_CHECK(append(route, down[--down_count], err));
    return EMP_OK;
}

static void time_route(const emp_machine *machine, emp_route *route)
{
    double host_s = 0.0, network_s = 0.0;

    for (int32_t i = 0; i < route->link_count; i++) {
        const emp_link *l = &machine->link[route->link[i]];
        if (i == 0 || l->bytes_per_s < route->bytes_per_s)
            route->bytes_per_s = l->bytes_per_s;
        if (l->is_network) network_s += l->latency_s;
        if (!l->is_network && l->latency_s > host_s) host_s = l->latency_s;
    }
    route->latency_s = host_s + network_s;
}

void emp_machine_time_routes(emp_machine *machine)
{
    for (int32_t from = 0; from < machine->device_count; from++) {
        for (int32_t to = 0; to < machine->device_count; to++)
            if (from != to) time_route(machine, &machine->route[from][to]);
    }
}

const emp_fabric *emp_machine_fabric_between(const emp_machine *machine, emp_device_id a,
                                             emp_device_id b)
{
    const uint64_t both = UINT64_C(1) << a | UINT64_C(1) << b;

    for (int32_t i = 0; i < machine->fabric_count; i++)
        if ((machine->fabric[i].members & both) == both) return &machine->fabric[i];
    return NULL;
}

static emp_status route_pair(const emp_machine *machine, const emp_topology *t,
                             int32_t from, int32_t to, emp_route *route, emp_error *err)
{
    int32_t           a = t->leaf_of_device[from], b = t->leaf_of_device[to];
    const emp_device *device = machine->device;
    int32_t           channel = t->gpu_channel[device[from].host];
    const emp_fabric *fabric = emp_machine_fabric_between(machine, from, to);
    bool              are_peers = device[from].kind == EMP_DEVICE_GPU &&
                     device[to].kind == EMP_DEVICE_GPU &&
                     device[from].host == device[to].host;

    if (fabric != NULL) {
        EMP_CHECK(append(route, fabric->out[from], err));
        EMP_CHECK(append(route, fabric->in[to], err));
    } else if (channel >= 0 && are_peers) {
        EMP_CHECK(append(route, t->node[a].up, err));
        EMP_CHECK(append(route, channel, err));
        EMP_CHECK(append(route, t->node[b].down, err));
    } else {
        EMP_CHECK(route_by_tree(t, a, b, route, err));
    }
    if (route->link_count == 0) return EMP_ERROR(EMP_EINVAL, "no link lies between them");
    time_route(machine, route);
    return EMP_OK;
}

emp_status emp_topology_route_all(emp_machine *machine, const emp_topology *topology,
                                  emp_error *err)
{
    for (int32_t from = 0; from < machine->device_count; from++) {
        for (int32_t to = 0; to < machine->device_count; to++) {
            emp_error  why = {0};
            emp_route *route = &machine->route[from][to];
            memset(route, 0, sizeof *route);
            if (from == to) continue;
            if (route_pair(machine, topology, from, to, route, &why) != EMP_OK) {
                return EMP_ERROR(why.status, "no route from %s to %s: %s",
                                 machine->device[from].name, machine->device[to].name,
                                 why.msg);
            }
        }
    }
    return EMP_OK;
}
