// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/problems.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graphs/load.h"
#include "tests/support/plain/textbook.h"

enum { TINY_GPU_NS = 10, TINY_CPU_NS = 20, TINY_ISSUE_NS = 3, MAX_INPUTS = 16 };

static void expect(emp_status st, const emp_error *err)
{
    if (st == EMP_OK) return;
    fprintf(stderr, "a problem for a test: %s\n", err->msg);
    abort();
}

/* A call whose failure goes to the local err. */
#define MUST(call) expect((call), &err)

/* ---- parts ---- */

emp_device task_device(emp_device_kind kind, int32_t number)
{
    emp_device device = {.kind = kind,
                         .memory_bytes = 1 << 30,
                         .peak_flops_per_s = 1e12,
                         .memory_bytes_per_s = 1e11,
                         .gemm_per_wave_s = 1e-6,
                         .multiprocessors = 15,
                         .gemm_tile_rows = 128,
                         .conv_tile_rows = 64,
                         .split_limit = 32,
                         .conv_factor = 1,
                         .gemm_skinny_factor = 1,
                         .cores = 4,
                         .clock_hz = 2e9,
                         .gemm_core_flops_per_s = 1e10,
                         .conv_core_flops_per_s = 1e10,
                         .scaling_exponent = 1,
                         .core_bytes_per_s = 1e10,
                         .bandwidth_cores = 2,
                         .thread_cycles = 1e5,
                         .cycles_per_byte = 1};

    snprintf(device.name, sizeof device.name, "%s:%d",
             kind == EMP_DEVICE_CPU ? "cpu" : "gpu", number);
    return device;
}

emp_machine *task_machine(int32_t gpu_count, double bytes_per_s, double latency_s)
{
    emp_machine *m = EMP_NEW(emp_machine);

    if (m == NULL) abort();
    m->device_count = 1 + gpu_count;
    for (int32_t d = 0; d <= gpu_count; d++) {
        m->device[d] =
            d == 0 ? task_device(EMP_DEVICE_CPU, 0) : task_device(EMP_DEVICE_GPU, d - 1);
        for (int32_t e = 0; e <= gpu_count; e++)
            if (e != d)
                m->route[d][e] =
                    (emp_route){.bytes_per_s = bytes_per_s, .latency_s = latency_s};
    }
    return m;
}

void task_pose(task *t, const emp_runtime *runtime, const char *workload)
{
    emp_error err = {0};

    MUST(emp_problem_create(&t->problem, t->graph, t->machine, runtime, workload, &err));
    t->device_of_op = EMP_NEW_ARRAY(emp_device_id, (size_t)t->graph->op_count);
    if (t->device_of_op == NULL) abort();
}

void task_make_room(task *t)
{
    emp_cost_table *c = t->problem->costs;
    int32_t         cores = t->machine->device[0].cores;

    emp_free(c->task_ns);
    c->task_ns = EMP_NEW_ARRAY(emp_time_ns, (size_t)(c->op_count * cores));
    if (c->task_ns == NULL) abort();
    for (int32_t i = 0; i <= c->op_count; i++) c->cpu_offset[i] = i * cores;
}

void task_split_columns(task *t)
{
    emp_cost_table *c = t->problem->costs, old = *c;
    int32_t         cores = t->machine->device[0].cores, count[EMP_DEVICE_KINDS] = {0};

    for (emp_device_id d = 0; d < t->machine->device_count; d++)
        c->column_of_device[d] = count[t->machine->device[d].kind]++;
    c->column_count[EMP_DEVICE_CPU] = count[EMP_DEVICE_CPU];
    c->column_count[EMP_DEVICE_GPU] =
        count[EMP_DEVICE_GPU] > 0 ? count[EMP_DEVICE_GPU] : 1;
    int32_t cpu_rows = emp_cost_row_count(c, EMP_DEVICE_CPU);
    int32_t gpu_rows = emp_cost_row_count(c, EMP_DEVICE_GPU);
    c->gpu = EMP_NEW_ARRAY(emp_gpu_cost, (size_t)gpu_rows);
    c->cpu = EMP_NEW_ARRAY(emp_cpu_cost, (size_t)cpu_rows);
    c->cpu_offset = EMP_NEW_ARRAY(int32_t, (size_t)cpu_rows + 1);
    c->task_ns = EMP_NEW_ARRAY(emp_time_ns, (size_t)(cpu_rows * cores));
    if (!c->gpu || !c->cpu || !c->cpu_offset || !c->task_ns) abort();
    for (int32_t row = 0; row < gpu_rows; row++) c->gpu[row] = old.gpu[row % c->op_count];
    for (int32_t row = 0; row <= cpu_rows; row++) c->cpu_offset[row] = row * cores;
    for (int32_t row = 0; row < cpu_rows; row++) {
        int32_t op = row % c->op_count;
        c->cpu[row] = old.cpu[op];
        for (int32_t k = 0; k < old.cpu[op].lanes; k++)
            c->task_ns[row * cores + k] = old.task_ns[old.cpu_offset[op] + k];
    }
    emp_free(old.gpu);
    emp_free(old.cpu);
    emp_free(old.cpu_offset);
    emp_free(old.task_ns);
}

/* The problem with a machine and a runtime by name. */
static void pose_by_name(task *t, const char *machine, const char *runtime,
                         const char *workload)
{
    emp_error   err = {0};
    emp_runtime rules;

    if (t->machine == NULL) MUST(emp_machine_load(&t->machine, machine, &err));
    MUST(emp_runtime_init(&rules, runtime, &err));
    task_pose(t, &rules, workload);
}

static void finish_graph(task *t)
{
    emp_error err = {0};

    MUST(emp_graph_builder_finish(t->builder, &t->graph, &err));
    emp_graph_builder_destroy(t->builder);
    t->builder = NULL;
}

static void begin(task *t)
{
    emp_error err = {0};

    *t = (task){0};
    MUST(emp_graph_builder_create(&t->builder, &err));
}

void task_destroy(task *t)
{
    emp_free(t->device_of_op);
    emp_problem_destroy(t->problem);
    emp_machine_destroy(t->machine);
    emp_graph_destroy(t->graph);
    *t = (task){0};
}

/* ---- by name ---- */

void task_create(task *t, const char *source, const char *machine, const char *runtime)
{
    emp_error err = {0};

    *t = (task){0};
    MUST(emp_source_load(&t->graph, NULL, NULL, source, &err));
    pose_by_name(t, machine, runtime, source);
}

task task_chain(int64_t elements)
{
    task               t;
    const emp_op_attrs input = {
        .dtype = EMP_DTYPE_FLOAT, .shape = EMP_SHAPE(elements), .has_shape = true};
    const emp_op_attrs unary = {.dtype = EMP_DTYPE_FLOAT};
    emp_error          err = {0};
    emp_port           last = {-1, 0};
    char               name[16];

    begin(&t);
    for (int i = 0; i <= CHAIN_OPS; i++) {
        emp_op_id op = -1;
        snprintf(name, sizeof name, i == 0 ? "input" : "relu%d", i - 1);
        MUST(emp_graph_builder_add(t.builder, name, i == 0 ? "Placeholder" : "Relu",
                                   i == 0 ? &input : &unary, &last, i > 0, NULL, 0, &op,
                                   &err));
        last.op = op;
    }
    emp_graph_builder_set_target(t.builder, last.op);
    finish_graph(&t);
    pose_by_name(&t, "k40x2", "tf-r1.3", "tiny");
    return t;
}

/* ---- with exact times ---- */

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

static void declare_tiny(task *t, const tiny_op *ops, int op_count)
{
    emp_error    err = {0};
    emp_shape    shape = EMP_SHAPE(64);
    emp_op_attrs attrs = {.dtype = EMP_DTYPE_FLOAT, .has_shape = true, .shape = shape};

    begin(t);
    for (int i = 0; i < op_count; i++) {
        char        name[16];
        const char *type = ops[i].is_variable ? "VariableV2" : "Thing";
        emp_op_id   op;
        int         length = snprintf(name, sizeof name, "op%d", i);
        MUST(emp_graph_builder_declare(t->builder, name, (size_t)length, type,
                                       strlen(type), &attrs, &shape, 1, &op, &err));
        for (int k = 0; k < ops[i].input_count; k++)
            MUST(emp_graph_builder_connect(t->builder, (emp_port){ops[i].input[k], 0}, op,
                                           &err));
        if (ops[i].control > 0)
            MUST(emp_graph_builder_add_control(t->builder, ops[i].control - 1, op, &err));
        emp_graph_builder_set_target(t->builder, op);
    }
    finish_graph(t);
}

static void state_tiny(task *t, const tiny_op *ops)
{
    for (int i = 0; i < t->graph->op_count; i++) {
        emp_op *o = &t->graph->op[i];
        o->kinds = EMP_KIND_CPU | EMP_KIND_GPU;
        emp_op_cost *cost = emp_graph_own_cost(t->graph, i);
        cost->kernels = ops[i].is_kernelless ? 0 : 1;
        cost->workspace_bytes = 0;
        o->flags = ops[i].is_in_place ? EMP_OP_IN_PLACE : 0u;
        o->is_alias = ops[i].is_alias;
        o->is_folded = ops[i].is_folded;
        t->graph->tensor[t->graph->output_offset[i]].on_host = ops[i].is_on_host;
    }
}

static void time_tiny(task *t, const tiny_op *ops)
{
    emp_cost_table *c = t->problem->costs;

    task_make_room(t);
    for (int i = 0; i < c->op_count; i++) {
        int lanes = ops[i].lanes > 0 ? ops[i].lanes : 1, rounds = emp_cost_rounds(lanes);
        t->device_of_op[i] = ops[i].device;
        c->gpu[i].issue_ns = TINY_ISSUE_NS;
        c->gpu[i].compute_ns =
            ops[i].is_kernelless ? 0 : TINY_GPU_NS * (ops[i].weight ? ops[i].weight : 1);
        c->cpu[i].lanes = lanes;
        for (int p = 1; p <= lanes; p++)
            c->task_ns[c->cpu_offset[i] + p - 1] = TINY_CPU_NS * lanes / (p * rounds);
        c->cpu[i].compute_ns = TINY_CPU_NS;
    }
}

void task_create_tiny(task *t, const tiny_op *ops, int op_count,
                      const emp_runtime *runtime)
{
    declare_tiny(t, ops, op_count);
    state_tiny(t, ops);
    t->machine = task_machine(2, 1e9, 5e-9);
    t->machine->link_count = 6; /* out of device d: 2 d, into it: 2 d + 1 */
    for (int from = 0; from < 3; from++) {
        t->machine->device[from].memory_bytes = 1 << 20;
        for (int to = 0; to < 3; to++) {
            emp_route *r = &t->machine->route[from][to];
            if (from == to) continue;
            if (from > 0) r->link[r->link_count++] = 2 * from;
            if (to > 0) r->link[r->link_count++] = 2 * to + 1;
        }
    }
    task_pose(t, runtime, "tiny");
    time_tiny(t, ops);
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

/* The features behind the device. */
static void read_feature(tiny_op *op, char **at)
{
    switch (*(*at)++) {
    case '<':
    case ',': op->input[op->input_count++] = (int)strtol(*at, at, 10); break;
    case '!': op->control = 1 + (int)strtol(*at, at, 10); break;
    case '*': op->weight = (int)strtol(*at, at, 10); break;
    case '|': op->lanes = (int)strtol(*at, at, 10); break;
    case 'k': op->is_kernelless = true; break;
    case 'a': op->is_alias = true; break;
    case 'p': op->is_in_place = true; break;
    case 'h': op->is_on_host = true; break;
    case 'v': op->is_variable = true; break;
    case 'f': op->is_folded = true; break;
    default: abort();
    }
}

int tiny_parse(tiny_op *ops, const char *text)
{
    char copy[256], *at = copy;
    int  count = 0;

    if (snprintf(copy, sizeof copy, "%s", text) >= (int)sizeof copy) abort();
    while (*at != '\0') {
        if (count == TINY_MAX_OPS) abort();
        ops[count] = (tiny_op){.device = (int)strtol(at, &at, 10)};
        while (*at != ';' && *at != '\0') read_feature(&ops[count], &at);
        at += strspn(at, "; ");
        count++;
    }
    return count;
}

void task_create_ops(task *t, const char *text, const emp_runtime *runtime)
{
    tiny_op   ops[TINY_MAX_OPS];
    const int count = tiny_parse(ops, text);

    task_create_tiny(t, ops, count, runtime);
}

void task_split_hosts(task *t)
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

/* ---- with stated costs ---- */

static void state_op(task *t, const stated_op *op, int32_t number)
{
    char          name[32];
    emp_op_id     id;
    emp_error     err = {0};
    emp_stated_op stated = {.cost = {.gpu_ns = 1000 * op->gpu_us,
                                     .cpu_ns = 1000 * op->cpu_us,
                                     .copy_ns = 1000 * op->copy_us,
                                     .colocation = op->color > 0 ? op->color : -1},
                            .kinds = EMP_KIND_CPU | (op->is_cpu_only ? 0 : EMP_KIND_GPU),
                            .persistent_bytes = op->bytes};

    snprintf(name, sizeof name, "node%d", number);
    MUST(emp_graph_builder_state(t->builder, op->name != NULL ? op->name : name, "Op",
                                 &stated, &id, &err));
}

void task_create_stated(task *t, const stated_op *ops, int32_t op_count,
                        const stated_edge *edges, int32_t edge_count, int32_t cpu_count,
                        int32_t gpu_count, int64_t gpu_bytes, const char *runtime)
{
    emp_error err = {0};

    begin(t);
    for (int32_t i = 0; i < op_count; i++) state_op(t, &ops[i], i);
    for (int32_t i = 0; i < edge_count; i++)
        MUST(emp_graph_builder_connect(t->builder, (emp_port){edges[i].from, 0},
                                       edges[i].to, &err));
    finish_graph(t);
    MUST(emp_machine_create(&t->machine, "tiny", cpu_count, gpu_count, gpu_bytes, &err));
    pose_by_name(t, NULL, runtime, "tiny");
}

/* ---- op by op ---- */

void hand_graph_begin(task *t)
{
    begin(t);
    t->machine = task_machine(2, 1e10, 1e-6);
}

emp_op_id hand_graph_add(task *t, const char *name, const char *type,
                         const emp_op_id *inputs, int32_t count)
{
    emp_error    err = {0};
    emp_op_id    op = -1;
    emp_port     port[MAX_INPUTS] = {{0}};
    size_t       length = strlen(name);
    bool         is_image = length >= 5 && strcmp(name + length - 5, "image") == 0;
    emp_op_attrs attrs = {.dtype = EMP_DTYPE_FLOAT,
                          .strides = {1, 1, 1, 1},
                          .ksize = {1, 2, 2, 1},
                          .padding_is_same = true};

    attrs.has_shape = count == 0;
    if (count == 0 && is_image)
        attrs.shape = EMP_SHAPE(3, 3, 3, 3);
    else if (count == 0 && strcmp(type, "VariableV2") == 0)
        attrs.shape = EMP_SHAPE(16, 16);
    else if (count == 0)
        attrs.shape = EMP_SHAPE(8, 16);
    if (count > MAX_INPUTS) abort();
    for (int32_t i = 0; i < count; i++) port[i] = (emp_port){inputs[i], 0};
    MUST(emp_graph_builder_add(t->builder, name, type, &attrs, port, count, NULL, 0, &op,
                               &err));
    return op;
}

emp_op_id hand_graph_op(task *t, const char *name, const char *type, emp_op_id input)
{
    return hand_graph_add(t, name, type, &input, input < 0 ? 0 : 1);
}

void hand_graph_finish(task *t)
{
    const emp_runtime runtime = {.name = "ideal", .check_memory = true};

    emp_graph_builder_set_target(t->builder, emp_graph_builder_op_count(t->builder) - 1);
    finish_graph(t);
    task_pose(t, &runtime, "hand");
}

static emp_op_id add_layers(task *t, int32_t layers, bool has_readers)
{
    char      name[64];
    emp_op_id before;

    hand_graph_begin(t);
    before = hand_graph_op(t, "in", "Placeholder", -1);
    for (int32_t i = 0; i < layers; i++) {
        snprintf(name, sizeof name, "w_%d", i);
        emp_op_id variable = hand_graph_op(t, name, "VariableV2", -1);
        snprintf(name, sizeof name, "read_%d", i);
        emp_op_id read = hand_graph_op(t, name, "Identity", variable);
        snprintf(name, sizeof name, "product_%d", i);
        emp_op_id product =
            hand_graph_add(t, name, "MatMul", (const emp_op_id[]){before, read}, 2);
        snprintf(name, sizeof name, "relu_%d", i);
        before = hand_graph_op(t, name, "Relu", product);
        snprintf(name, sizeof name, "reader_%d", i);
        if (has_readers) hand_graph_op(t, name, "Relu", before);
    }
    return before;
}

void hand_graph_layers(task *t, int32_t layers)
{
    add_layers(t, layers, false);
    hand_graph_finish(t);
}

void hand_graph_comb(task *t, int32_t layers)
{
    hand_graph_op(t, "end", "Relu", add_layers(t, layers, true)); /* its second reader */
    hand_graph_finish(t);
}

/* ---- what a task gives ---- */

emp_sim *task_sim(const task *t)
{
    emp_sim  *sim = NULL;
    emp_error err = {0};

    MUST(emp_sim_create(&sim, t->problem, &err));
    return sim;
}

emp_sim_result problem_step(const emp_problem *problem, const emp_device_id *device_of_op)
{
    emp_sim       *sim = NULL;
    emp_sim_result result = {0};
    emp_error      err = {0};

    MUST(emp_sim_create(&sim, problem, &err));
    MUST(emp_sim_run(sim, device_of_op, &result, &err));
    emp_sim_destroy(sim);
    return result;
}

emp_sim_result problem_step_on(const emp_problem *problem, emp_device_id device)
{
    const size_t   ops = (size_t)problem->graph->op_count;
    emp_device_id *device_of_op = EMP_NEW_ARRAY(emp_device_id, ops);

    for (size_t op = 0; op < ops; op++) device_of_op[op] = device;
    emp_problem_legalize(problem, device_of_op);
    const emp_sim_result result = problem_step(problem, device_of_op);
    emp_free(device_of_op);
    return result;
}

emp_sim_result task_run(const task *t)
{
    return problem_step(t->problem, t->device_of_op);
}

emp_sim_result task_trace(const task *t, const emp_sim_trace *trace)
{
    emp_sim       *sim = task_sim(t);
    emp_sim_result result = {0};
    emp_error      err = {0};

    MUST(emp_sim_run_traced(sim, t->device_of_op, trace, &result, &err));
    emp_sim_destroy(sim);
    return result;
}

emp_explanation *task_explain(const task *t)
{
    const emp_decision decision = {.device_of_op = t->device_of_op};
    emp_explanation   *why = NULL;
    emp_error          err = {0};

    MUST(emp_explain_create(&why, t->problem, &decision, &err));
    return why;
}

static void expect_equal(const emp_sim_result *got, const emp_sim_result *want,
                         int number)
{
    cr_expect_eq(got->step_time_ns, want->step_time_ns,
                 "case %d: step time %" PRId64 ", textbook %" PRId64, number,
                 got->step_time_ns, want->step_time_ns);
    cr_expect_arr_eq(got->peak_bytes, want->peak_bytes, sizeof want->peak_bytes,
                     "case %d: peaks", number);
    cr_expect_arr_eq(got->busy_ns, want->busy_ns, sizeof want->busy_ns,
                     "case %d: busy times", number);
    cr_expect_eq(got->traffic_bytes, want->traffic_bytes, "case %d: traffic", number);
    cr_expect_eq(got->transfer_count, want->transfer_count, "case %d: transfers", number);
    cr_expect_eq(got->event_count, want->event_count, "case %d: events", number);
    cr_expect_eq(got->fingerprint, want->fingerprint, "case %d: fingerprint", number);
    cr_expect_eq(got->is_feasible, want->is_feasible, "case %d: verdict", number);
    cr_expect_eq(got->oom_device, want->oom_device, "case %d: who is out", number);
    cr_expect_eq(got->oom_op, want->oom_op, "case %d: op out of memory", number);
    cr_expect_eq(got->oom_bytes, want->oom_bytes, "case %d: bytes asked for", number);
    cr_expect_eq(got->oom_at_ns, want->oom_at_ns, "case %d: time out of memory", number);
}

void task_expect_textbook(const task *t, emp_sim *sim, const emp_decision *decision,
                          int number)
{
    emp_sim_result got = {0}, want;
    emp_error      err = {0};

    textbook_run(t->problem, decision, &want);
    MUST(emp_sim_trace_decision(sim, decision, NULL, &got, &err));
    expect_equal(&got, &want, number);
    want.fingerprint = 0;
    MUST(emp_sim_run_decision(sim, decision, &got, &err));
    expect_equal(&got, &want, number);
}
