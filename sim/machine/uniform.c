// SPDX-License-Identifier: GPL-3.0-or-later
/* Machines of which no more is known than how many devices there are. */
#include <stdio.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "sim/machine/machine.h"
#include "sim/machine/machine_internal.h"

/* Only how devices compare matters, since ops state their times: a CPU is ten times as slow,
 * as in the published instances for layers. */
static const double GPU_FLOPS_PER_S = 1e12, CPU_FLOPS_PER_S = 1e11;
static const double STREAM_BYTES_PER_S = 1e11;
/* Of the transfers of the published instances for inference. */
static const double LINK_BYTES_PER_S = 0x1p31;

static void add_device(emp_machine *m, emp_topology *t, emp_device_kind kind,
                       int64_t memory_bytes, int32_t parent)
{
    emp_device_id d = m->device_count;
    bool          is_gpu = kind == EMP_DEVICE_GPU;
    emp_device   *device = &m->device[d];

    *device = (emp_device){.kind = kind,
                           .model = (int32_t)kind,
                           .memory_bytes = memory_bytes,
                           .peak_flops_per_s = is_gpu ? GPU_FLOPS_PER_S : CPU_FLOPS_PER_S,
                           .memory_bytes_per_s = STREAM_BYTES_PER_S,
                           .multiprocessors = 1,
                           .gemm_tile_rows = 64,
                           .conv_tile_rows = 64,
                           .split_limit = 1,
                           .cores = 1,
                           .clock_hz = 1e9,
                           .gemm_core_flops_per_s = CPU_FLOPS_PER_S,
                           .conv_core_flops_per_s = CPU_FLOPS_PER_S,
                           .scaling_exponent = 1.0,
                           .core_bytes_per_s = STREAM_BYTES_PER_S,
                           .bandwidth_cores = 1,
                           .thread_cycles = 1e9};
    snprintf(device->name, sizeof device->name, "%s:%d", is_gpu ? "gpu" : "cpu",
             emp_machine_count(m, kind));
    t->leaf_of_device[d] = t->node_count;
    t->node[t->node_count++] =
        (emp_topology_node){.name = device->name, .parent = parent, .up = -1, .down = -1};
    m->device_count++;
}

/* The pair between a node and its parent. */
static emp_status link_up(emp_machine *m, emp_topology_node *node, emp_error *err)
{
    EMP_CHECK(emp_topology_add_link(m, node->name, " up", LINK_BYTES_PER_S, 0.0,
                                    &node->up, err));
    return emp_topology_add_link(m, node->name, " down", LINK_BYTES_PER_S, 0.0,
                                 &node->down, err);
}

/* Node 0 joins the hosts, node i + 1 is that of CPU i; a device is a leaf. */
static emp_status add_all(emp_machine *m, emp_topology *t, int32_t cpu_count,
                          int32_t gpu_count, int64_t gpu_memory_bytes, emp_error *err)
{
    t->node[t->node_count++] =
        (emp_topology_node){.name = "network", .parent = -1, .up = -1, .down = -1};
    for (int32_t i = 0; i < cpu_count; i++) {
        t->node[t->node_count++] =
            (emp_topology_node){.name = "host", .parent = 0, .up = -1, .down = -1};
        if (cpu_count > 1) EMP_CHECK(link_up(m, &t->node[t->node_count - 1], err));
    }
    for (int32_t i = 0; i < cpu_count; i++)
        add_device(m, t, EMP_DEVICE_CPU, INT64_C(1) << 50, i + 1);
    for (int32_t i = 0; i < gpu_count; i++) {
        add_device(m, t, EMP_DEVICE_GPU, gpu_memory_bytes, 1);
        EMP_CHECK(link_up(m, &t->node[t->node_count - 1], err));
    }
    return EMP_OK;
}

emp_status emp_machine_create(emp_machine **out, const char *name, int32_t cpu_count,
                              int32_t gpu_count, int64_t gpu_memory_bytes, emp_error *err)
{
    emp_status    st = EMP_OK;
    emp_machine  *m = NULL;
    emp_topology *t = NULL;

    EMP_NEED(out);
    *out = NULL;
    EMP_NEED(name);
    m = EMP_NEW(emp_machine);
    t = EMP_NEW(emp_topology);
    if (m == NULL || t == NULL) EMP_FAIL(EMP_ENOMEM, "machine %s", name);
    if (cpu_count < 1 || gpu_count < 0 || cpu_count > EMP_MAX_DEVICES ||
        gpu_count > EMP_MAX_DEVICES - cpu_count)
        EMP_FAIL(EMP_EUNSUPPORTED,
                 "a machine of %d CPUs and %d GPUs; it has 1 CPU at least and %d devices "
                 "at most",
                 cpu_count, gpu_count, EMP_MAX_DEVICES);
    snprintf(m->name, sizeof m->name, "%s", name);
    snprintf(m->description, sizeof m->description, "%d CPUs and %d GPUs", cpu_count,
             gpu_count);
    m->model_count = EMP_DEVICE_KINDS;
    m->model[EMP_DEVICE_CPU] = (emp_machine_model){.name = "cpu", .kind = EMP_DEVICE_CPU};
    m->model[EMP_DEVICE_GPU] = (emp_machine_model){.name = "gpu", .kind = EMP_DEVICE_GPU};
    EMP_TRY(add_all(m, t, cpu_count, gpu_count, gpu_memory_bytes, err));
    (void)emp_topology_find_hosts(m, t); /* every GPU hangs below the first CPU's node */
    memset(t->gpu_channel, -1, sizeof t->gpu_channel);
    EMP_TRY(emp_topology_route_all(m, t, err));
    m->hash = emp_hash_u64(EMP_HASH_SEED, (uint64_t)cpu_count);
    m->hash = emp_hash_u64(m->hash, (uint64_t)gpu_count);
    m->hash = emp_hash_u64(m->hash, (uint64_t)gpu_memory_bytes);
    *out = m;
    m = NULL;

cleanup:
    emp_free(t);
    emp_machine_destroy(m);
    return st;
}

void emp_machine_set_cores(emp_machine *machine, int32_t cores)
{
    for (emp_device_id d = 0; d < machine->device_count; d++)
        if (machine->device[d].kind == EMP_DEVICE_CPU) machine->device[d].cores = cores;
    machine->hash = emp_hash_u64(machine->hash, (uint64_t)cores);
}
