// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/sim/engine/tiny_problem.h"

#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "sim/graph/graph_builder.h"

enum { CORES = 4, GPU_NS = 10, CPU_NS = 20, ISSUE_NS = 3 };

emp_runtime tiny_list_scheduling(void)
{
    return (emp_runtime){.name = "list",
                         .check_memory = true,
                         .events = {.share_copies = true,
                                    .copy_streams = true,
                                    .shared_links = true,
                                    .copy_memory = true,
                                    .workspace = true,
                                    .addn_waits = true}};
}

emp_runtime tiny_serial(void)
{
    return (emp_runtime){.name = "serial",
                         .check_memory = true,
                         .events = {.serial_issue = true,
                                    .drain_copies = true,
                                    .release_at_issue = true,
                                    .reuse_inputs = true,
                                    .cpu_pool = true,
                                    .control_latency = true,
                                    .share_copies = true,
                                    .copy_streams = true,
                                    .shared_links = true,
                                    .copy_memory = true,
                                    .workspace = true,
                                    .addn_waits = true,
                                    .send_s = 2e-9,
                                    .receive_s = 4e-9,
                                    .poll_s = 7e-9,
                                    .step_s = 100e-9}};
}

static emp_graph *build(const tiny_op *ops, int op_count)
{
    emp_graph_builder *b = NULL;
    emp_graph         *g = NULL;
    emp_op_attrs       attrs = {.dtype = EMP_DTYPE_FLOAT, .has_shape = true};
    emp_shape          shape = EMP_SHAPE(64);

    attrs.shape = shape;
    emp_status st = emp_graph_builder_create(&b, NULL);
    for (int i = 0; st == EMP_OK && i < op_count; i++) {
        char        name[16];
        const char *type = ops[i].is_variable ? "VariableV2" : "Thing";
        emp_op_id   op;
        int         length = snprintf(name, sizeof name, "op%d", i);
        st = emp_graph_builder_declare(b, name, (size_t)length, type, strlen(type),
                                       &attrs, &shape, 1, &op, NULL);
        for (int k = 0; st == EMP_OK && k < ops[i].input_count; k++) {
            st = emp_graph_builder_connect(b, (emp_port){ops[i].input[k], 0}, op, NULL);
        }
        if (st == EMP_OK && ops[i].control > 0) {
            st = emp_graph_builder_add_control(b, ops[i].control - 1, op, NULL);
        }
        emp_graph_builder_set_target(b, op);
    }
    if (st == EMP_OK) st = emp_graph_builder_finish(b, &g, NULL);
    assert(st == EMP_OK);
    emp_graph_builder_destroy(b);
    for (int i = 0; i < op_count; i++) {
        emp_op *o = &g->op[i];
        o->kinds = EMP_KIND_CPU | EMP_KIND_GPU;
        o->cost.kernels = ops[i].is_kernelless ? 0 : 1;
        o->cost.workspace_bytes = 0;
        o->flags = ops[i].is_in_place ? EMP_OP_IN_PLACE : 0u;
        o->is_alias = ops[i].is_alias;
        o->is_folded = ops[i].is_folded;
        g->tensor[g->output_offset[i]].on_host = ops[i].is_on_host;
    }
    return g;
}

static emp_machine *make_machine(void)
{
    emp_machine *m = EMP_NEW(emp_machine);

    assert(m != NULL);
    m->device_count = 3;
    for (int d = 0; d < m->device_count; d++) {
        m->device[d] = (emp_device){.kind = d == 0 ? EMP_DEVICE_CPU : EMP_DEVICE_GPU,
                                    .memory_bytes = 1 << 20,
                                    .memory_bytes_per_s = 1e9,
                                    .multiprocessors = 1,
                                    .gemm_tile_rows = 64,
                                    .conv_tile_rows = 64,
                                    .split_limit = 1,
                                    .cores = CORES,
                                    .clock_hz = 1e9,
                                    .gemm_core_flops_per_s = 1e9,
                                    .conv_core_flops_per_s = 1e9,
                                    .scaling_exponent = 1.0,
                                    .core_bytes_per_s = 1e9,
                                    .bandwidth_cores = CORES,
                                    .thread_cycles = 1e5};
        snprintf(m->device[d].name, sizeof m->device[d].name, d == 0 ? "cpu:0" : "gpu:%d",
                 d - 1);
    }
    m->link_count = 2 * m->device_count; /* out of device d: 2 d, into it: 2 d + 1 */
    for (int from = 0; from < m->device_count; from++) {
        for (int to = 0; to < m->device_count; to++) {
            emp_route *r = &m->route[from][to];
            if (from == to) continue;
            if (from > 0) r->link[r->link_count++] = 2 * from;
            if (to > 0) r->link[r->link_count++] = 2 * to + 1;
            r->bytes_per_s = 1e9;
            r->latency_s = 5e-9;
        }
    }
    return m;
}

void tiny_problem_create(tiny_problem *t, const tiny_op *ops, int op_count,
                         const emp_runtime *runtime)
{
    t->graph = build(ops, op_count);
    t->machine = make_machine();
    t->device_of_op = EMP_NEW_ARRAY(emp_device_id, (size_t)op_count);
    emp_status st =
        emp_problem_create(&t->problem, t->graph, t->machine, runtime, "tiny", NULL);
    assert(st == EMP_OK && t->device_of_op != NULL);

    emp_cost_table *c = t->problem->costs;
    emp_free(c->task_ns);
    c->task_ns = EMP_NEW_ARRAY(emp_time_ns, (size_t)(op_count * CORES));
    assert(c->task_ns != NULL);
    for (int i = 0; i < op_count; i++) {
        int lanes = ops[i].lanes > 0 ? ops[i].lanes : 1, rounds = emp_cost_rounds(lanes);
        t->device_of_op[i] = ops[i].device;
        c->gpu[i].issue_ns = ISSUE_NS;
        c->gpu[i].compute_ns =
            ops[i].is_kernelless ? 0 : GPU_NS * (ops[i].weight ? ops[i].weight : 1);
        c->cpu_offset[i] = i * CORES;
        c->cpu[i].lanes = lanes;
        for (int p = 1; p <= lanes; p++)
            c->task_ns[i * CORES + p - 1] = CPU_NS * lanes / (p * rounds);
        c->cpu[i].compute_ns = CPU_NS;
    }
    c->cpu_offset[op_count] = op_count * CORES;
}

/* Into the devices 2 d, out of them 2 d + 1; to the network 10 + CPU, from it 20 + CPU. */
static void route_hosts(emp_machine *m, int from, int to)
{
    emp_route        *r = &m->route[from][to];
    const emp_device *a = &m->device[from], *b = &m->device[to];
    bool              is_far = a->host != b->host, has_gpu = false;

    *r = (emp_route){0};
    if (a->kind == EMP_DEVICE_GPU) r->link[r->link_count++] = 2 * from;
    if (is_far) r->link[r->link_count++] = 10 + a->host;
    if (is_far) r->link[r->link_count++] = 20 + b->host;
    if (b->kind == EMP_DEVICE_GPU) r->link[r->link_count++] = 2 * to + 1;
    has_gpu = a->kind == EMP_DEVICE_GPU || b->kind == EMP_DEVICE_GPU;
    r->bytes_per_s = is_far ? 0.5e9 : 1e9;
    r->latency_s = (has_gpu ? 5e-9 : 0) + (is_far ? 20e-9 : 0);
}

void tiny_problem_split(tiny_problem *t)
{
    static const int host_of[] = {0, 0, 2, 2, 2};
    emp_machine     *m = t->machine;
    const emp_device cpu = m->device[0], gpu = m->device[1];

    m->device_count = 5;
    m->link_count = 23;
    for (int d = 0, gpus = 0; d < m->device_count; d++) {
        emp_device *device = &m->device[d];
        bool        is_cpu = d == host_of[d];
        *device = is_cpu ? cpu : gpu;
        device->host = host_of[d];
        snprintf(device->name, sizeof device->name, is_cpu ? "cpu:%d" : "gpu:%d",
                 is_cpu ? d / 2 : gpus++);
    }
    for (int from = 0; from < m->device_count; from++) {
        for (int to = 0; to < m->device_count; to++)
            if (from != to) route_hosts(m, from, to);
    }
}

void tiny_problem_destroy(tiny_problem *t)
{
    emp_free(t->device_of_op);
    emp_problem_destroy(t->problem);
    emp_machine_destroy(t->machine);
    emp_graph_destroy(t->graph);
}
