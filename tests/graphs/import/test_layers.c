// SPDX-License-Identifier: GPL-3.0-or-later
/* Measured layers as pipelines: do steps take what a hand computes, in time and in memory, and is
 * every fault of a table or a spec one sentence? */
#include <unistd.h>

#include <emplace/problem.h>
#include <emplace/sim.h>

#include "base/mem.h"
#include "graphs/import/instances/layers.h"
#include "sim/cost/cost.h"
#include "sim/cost/kernel.h"
#include "sim/machine/machine.h"
#include "sim/runtime/runtime.h"
#include "tests/graphs/graphs.h"
#include "tests/test.h"

enum { MS = 1000000, BLOCK = 4096, MICRO_BATCHES_MAX = 9, STAGES_MAX = 5 };

/* Two layers: 1 ms forward, 2 ms backward, 0.5 ms of update; a fast GPU takes half. Activations of
 * 1024 elements are kept, nothing is passed on. A parameter keeps 16 bytes. */
static const char table[] =
    "# measured by nobody\ngpu,tp,microbatch,layer_first,layer_last,fwd_s,bwd_s,"
    "update_s,params,act_out_elems,act_stored_elems\nSlow-1,1,1,0,1,0.001,0.002,0.0005,"
    "524288,0,1024\nFAST,1,1,0,1,0.0005,0.001,0.00025,524288,0,1024\n"
    "Slow-1,1,2,0,1,0.002,0.004,0.0005,524288,0,1024\n";

TestSuite(layers, .init = scratch_create, .fini = graph_tear_down);

static const char *spec_of(const char *text, const char *options)
{
    scratch_write("layers.csv", text, strlen(text));
    return scratch_print("layers:path=%s%s%s", scratch_path("layers.csv"),
                         options[0] == '\0' ? "" : ",", options);
}

typedef struct {
    emp_time_ns step_ns;
    int64_t     peak_bytes[3]; /* of the CPU and two GPUs */
} step;

/* The problem of a graph on a machine; the caller releases all three. */
static emp_problem *pose(const emp_graph *graph, const emp_machine *machine)
{
    emp_runtime *runtime = NULL;
    emp_problem *problem = NULL;

    ASSERT_OK(emp_runtime_load(&runtime, "ideal", &err));
    ASSERT_OK(emp_problem_create(&problem, graph, machine, runtime, "", &err));
    emp_runtime_destroy(runtime);
    return problem;
}

/* A CPU and two GPUs that links of 2^31 B/s join. */
static emp_machine *make_machine(void)
{
    emp_machine *machine = NULL;

    cr_assert_eq(emp_machine_create(&machine, "two", 1, 2, 1 << 30, NULL), EMP_OK);
    return machine;
}

static void release(emp_machine *machine, emp_problem *problem)
{
    emp_problem_destroy(problem);
    emp_machine_destroy(machine);
}

/* A step on two GPUs; what has \a second in its name is on the other. */
static step simulate(const char *options, const char *second)
{
    emp_graph      *graph = graph_load(spec_of(table, options), NULL, NULL);
    emp_machine    *machine = make_machine();
    emp_problem    *problem = pose(graph, machine);
    emp_sim        *sim = NULL;
    emp_sim_result *result = NULL;
    emp_error       err = {0};
    step            of = {0};

    cr_assert_eq(emp_sim_create(&sim, problem, &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_sim_result_create(&result, &err), EMP_OK);
    emp_device_id *device = EMP_NEW_ARRAY(emp_device_id, (size_t)graph->op_count);
    for (emp_op_id op = 0; op < graph->op_count; op++)
        device[op] = strstr(graph->name[op], second) != NULL ? 2 : 1;
    emp_problem_legalize(problem, device); /* a stage goes where its first op is */
    cr_assert_eq(emp_sim_run(sim, device, result, &err), EMP_OK, "%s", err.msg);
    of.step_ns = emp_sim_result_step_time_ns(result);
    for (int32_t d = 0; d < 3; d++)
        of.peak_bytes[d] = emp_sim_result_peak_bytes(result, d);
    emp_free(device);
    emp_sim_result_destroy(result);
    emp_sim_destroy(sim);
    release(machine, problem);
    return of;
}

#define TWO_STAGES "stages=1+1,micro_batches=3,microbatch=1"
#define REPLICAS   "replicas=2,stages=2,schedule=1f1b,micro_batches=2,microbatch=1"

Test(layers, steps_take_their_closed_forms)
{
    enum { KEPT = 16 * 524288, ANY = -1 };
    static const struct {
        const char *options, *second;
        int64_t     step_ns, peak_bytes[2]; /* of the GPUs */
    } cases[] = {
        /* (m + S - 1) (F + B), then the update of the first stage: (3 + 1) 3 ms + 0.5 ms */
        {"schedule=gpipe," TWO_STAGES,
         "layer1",
         12 * MS + MS / 2,
         {KEPT + 3 * BLOCK, KEPT + 3 * BLOCK}},
        /* the same time, but the first stage keeps two micro-batches and the last one */
        {"schedule=1f1b," TWO_STAGES,
         "layer1",
         12 * MS + MS / 2,
         {KEPT + 2 * BLOCK, KEPT + BLOCK}},
        /* without micro-batches a step is all layers in turn; then both updates on one GPU */
        {"microbatch=1", "layer1", 6 * MS + MS / 2, {ANY, ANY}},
        {"", "nothing", 7 * MS, {ANY, ANY}},
        /* larger micro-batches have times and activations of their own */
        {"microbatch=2,stages=2,schedule=1f1b,micro_batches=2",
         "nothing",
         2 * 12 * MS + MS,
         {2 * KEPT + 4 * BLOCK, ANY}},
        /* two ranks exchange all 4 MiB of gradients in halves, twice, at 2^31 B/s: 2^-9 s */
        {REPLICAS, "replica1", 12 * MS + 1953125 + MS, {ANY, ANY}},
        /* halves are summed and gathered in one round each, 2^-10 s, with half an update between them */
        {REPLICAS ",optimizer=sharded",
         "replica1",
         12 * MS + 976563 + MS / 2 + 976563,
         {ANY, ANY}},
        {"microbatch=1,optimizer=sharded",
         "nothing",
         7 * MS,
         {ANY, ANY}}, /* with nobody */
        /* an update that was measured once for both layers: each layer's stage takes its half */
        {"update=shared,microbatch=1", "layer1", 6 * MS + MS / 4, {ANY, ANY}}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        step of = simulate(cases[i].options, cases[i].second);
        cr_expect_eq(of.step_ns, cases[i].step_ns, "%s: %lld", cases[i].options,
                     (long long)of.step_ns);
        for (int d = 0; d < 2; d++)
            if (cases[i].peak_bytes[d] != ANY)
                cr_expect_eq(of.peak_bytes[d + 1], cases[i].peak_bytes[d], "%s: %lld",
                             cases[i].options, (long long)of.peak_bytes[d + 1]);
    }
}

/* The optimizer has 8 of the 16 bytes a parameter, and each replica keeps half of these. */
Test(layers, replicas_may_share_the_optimizer)
{
    step whole = simulate(REPLICAS, "replica1");
    step of = simulate(REPLICAS ",optimizer=sharded", "replica1");

    cr_expect_eq(whole.peak_bytes[1], whole.peak_bytes[2]);
    cr_expect_eq(whole.peak_bytes[1] - of.peak_bytes[1], 2 * 524288 * 4);
}

Test(layers, gpus_take_the_times_of_their_models)
{
    emp_graph *graph = graph_load(spec_of(table, "microbatch=1"), NULL, NULL);
    emp_op_id  op = graph_find(graph, "gradients/layer1/micro0");

    cr_expect_eq(graph->stated_model_count, 2);
    int32_t fast = emp_graph_find_stated_model(graph, "fast");
    cr_expect_eq(emp_graph_stated_gpu_ns(graph, op, fast), MS);
    cr_expect_eq(emp_graph_find_stated_model(graph, "SLOW 1"), 0);
    cr_expect_eq(emp_graph_find_stated_model(graph, "slow"), -1);
    cr_expect_eq(emp_graph_stated_gpu_ns(graph, op, -1), 2 * MS);
    graph = graph_load(spec_of(table, "microbatch=1,gpu=FAST"), NULL, NULL);
    cr_expect_eq(graph->stated[op].gpu_ns, MS);
    /* names that differ in case are one model, of which the first row counts */
    graph = graph_load(spec_of("gpu,layer_first,layer_last,fwd_s,bwd_s\n"
                               "RTX-3090,0,0,0.001,0.001\nrtx3090,0,0,0.002,0.002\n",
                               ""),
                       NULL, NULL);
    cr_expect_eq(graph->stated_model_count, 1);
    cr_expect_eq(emp_graph_stated_gpu_ns(graph, 0, 0), MS);
}

/* A machine of two models, made from one by a name. */
Test(layers, unlike_gpus_have_unlike_costs)
{
    emp_graph   *graph = graph_load(spec_of(table, "microbatch=1"), NULL, NULL);
    emp_machine *machine = make_machine();

    snprintf(machine->model[machine->model_count].name, sizeof machine->model[0].name,
             "fast");
    machine->model[machine->model_count].kind = EMP_DEVICE_GPU;
    machine->device[2].model = machine->model_count++;
    emp_problem *problem = pose(graph, machine);
    emp_op_id    op = graph_find(graph, "layer0/micro0");
    cr_expect_eq(emp_problem_op_time_ns(problem, op, 1), MS);
    cr_expect_eq(emp_problem_op_time_ns(problem, op, 2), MS / 2);
    release(machine, problem);
}

/* Four ranks on a model with a table of collectives take what the table says of half precision. */
Test(layers, an_all_reduce_takes_what_the_device_model_says)
{
    const emp_exchange exchange = {EMP_COLLECTIVE_ALL_REDUCE, EMP_FORMAT_FP16, 4,
                                   2 * 4 * 524288};
    emp_graph         *graph =
        graph_load(spec_of(table, "microbatch=1,replicas=4,stages=2"), NULL, NULL);
    emp_machine *machine = NULL;
    emp_form     form;
    double       seconds;

    ASSERT_OK(emp_machine_load(&machine, "dgx-a100", &err));
    emp_problem      *problem = pose(graph, machine);
    const emp_device *gpu = emp_machine_first(machine, EMP_DEVICE_GPU);
    ASSERT_OK(emp_exchange_time(&seconds, &form, gpu, &exchange, &err));
    emp_op_id op = graph_find(graph, "gradients/replica3/stage0/all_reduce");
    cr_expect_eq(emp_problem_op_time_ns(problem, op, 1), emp_ns_of_seconds(seconds));
    cr_expect_gt(seconds, 10e-6);
    /* on a CPU its copies take longer than those of NVSwitch */
    cr_expect_gt(emp_problem_op_time_ns(problem, op, 0), emp_ns_of_seconds(seconds));
    release(machine, problem);
}

/* Who exchanges what with the next stage is in one order at both ends, and passes are those of 1f1b. */
Test(layers, neighbours_agree_on_the_order_of_their_exchanges)
{
    emp_task task[STAGES_MAX][EMP_TASKS_PER_MICRO_BATCH * MICRO_BATCHES_MAX];
    emp_task pass[2 * MICRO_BATCHES_MAX];
    int32_t  count[STAGES_MAX];

    for (int32_t stages = 1; stages <= STAGES_MAX; stages++) {
        for (int32_t n = 1; n <= MICRO_BATCHES_MAX; n++) {
            for (int32_t s = 0; s < stages; s++) {
                int32_t passes = 0;
                count[s] = emp_schedule_list_tasks(task[s], s, stages, n);
                emp_schedule_list_passes(pass, EMP_SCHEDULE_1F1B, s, stages, n);
                for (int32_t i = 0; i < count[s]; i++) {
                    if (task[s][i].kind > EMP_TASK_BACKWARD) continue;
                    cr_assert_lt(passes, 2 * n);
                    cr_expect_eq(pass[passes].kind, task[s][i].kind);
                    cr_expect_eq(pass[passes++].micro_batch, task[s][i].micro_batch);
                }
                cr_expect_eq(passes, 2 * n);
            }
            for (int32_t s = 0; s + 1 < stages; s++) {
                int32_t j = 0;
                for (int32_t i = 0; i < count[s]; i++) {
                    bool sends = task[s][i].kind == EMP_TASK_SEND_OUTPUT;
                    if (!sends && task[s][i].kind != EMP_TASK_RECEIVE_GRADIENT) continue;
                    emp_task_kind other =
                        sends ? EMP_TASK_RECEIVE_OUTPUT : EMP_TASK_SEND_GRADIENT;
                    while (j < count[s + 1] &&
                           task[s + 1][j].kind != EMP_TASK_RECEIVE_OUTPUT &&
                           task[s + 1][j].kind != EMP_TASK_SEND_GRADIENT)
                        j++;
                    cr_assert_lt(j, count[s + 1]);
                    cr_expect_eq(task[s + 1][j].kind, other);
                    cr_expect_eq(task[s + 1][j++].micro_batch, task[s][i].micro_batch);
                }
            }
        }
    }
}

#define COLUMNS "layer_first,layer_last,fwd_s,bwd_s\n"

Test(layers, faults_are_named)
{
    static const struct {
        const char *text, *options;
        emp_status  status;
        const char *part;
    } faults[] = {
        {table, "stages=1+2", EMP_EINVAL, "have 3 layers, the model has 2"},
        {table, "stages=1+", EMP_EINVAL, "12+14"},
        {table, "stages=0", EMP_EINVAL, "12+14"},
        {table, "stages=x", EMP_EINVAL, "12+14"},
        {table, "schedule=1f1b", EMP_EUNSUPPORTED, "stages=12+14"},
        {table, "gpu=H100", EMP_EINVAL, "gpu H100"},
        {table, "microbatch=3", EMP_EINVAL, "microbatch 3"},
        {table, "micro_batches=0", EMP_EINVAL, "micro_batches"},
        {table, "replicas=1024,micro_batches=65536", EMP_EUNSUPPORTED, "524288 ops"},
        {table, "colour=red", EMP_EINVAL, "colour"},
        {"gpu," COLUMNS "a,0,0,1,1\n,0,0,1,1\n", "", EMP_EFORMAT,
         "row 2: some rows name a gpu"},
        {"layer_first,layer_last,fwd_s,bwd_s,update_s,params\n0,0,1,1,1000,1\n1,4,1,1,"
         "1000,1000000\n",
         "update=shared,stages=1+4", EMP_EFORMAT, "stage1/update"},
        {"layer_first,fwd_s,bwd_s\n0,1,1\n", "", EMP_EFORMAT, "layer_last"},
        {COLUMNS, "", EMP_EFORMAT, "no row"},
        {COLUMNS "0,0,-1,1\n", "", EMP_EFORMAT, "fwd_s is -1"},
        {COLUMNS "0,0,x,1\n", "", EMP_EFORMAT, "fwd_s"},
        {COLUMNS "1,0,1,1\n", "", EMP_EFORMAT, "layer_last is 0"},
        {COLUMNS "1,1,1,1\n", "", EMP_EINVAL, "no layer 0"},
        {"gpu," COLUMNS "a,0,0,1,1\nb,0,1,1,1\n", "", EMP_EFORMAT, "on b, 1 on a"}};

    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        graph_expect_refused(spec_of(faults[i].text, faults[i].options), faults[i].status,
                             faults[i].part);
    graph_expect_refused("layers:micro_batches=2", EMP_EINVAL, "path");
}

Test(layers, a_file_is_a_step_by_itself)
{
    scratch_write("table", table, strlen(table));
    cr_expect_eq(graph_load(scratch_path("table"), NULL, NULL)->op_count, 2 * 4);
}

Test(layers, every_allocation_failure_is_reported)
{
    graph_survives(spec_of(table, "replicas=2,stages=1+1,micro_batches=2,schedule=1f1b"));
}

Test(layers, sailors_table_is_read_as_it_is)
{
    const char *path =
        graph_source_path("../shared/profiles/modern/sailor_layers.tsv.gz");
    if (access(path, R_OK) != 0) cr_skip_test("%s is not there", path);
    emp_graph *graph = graph_load(
        scratch_print(
            "layers:path=%s,table=sim,model=OPT-350,tp=2,microbatch=2,micro_batches=4,"
            "stages=12+14,schedule=1f1b,update=shared",
            path),
        NULL, NULL);
    cr_expect_eq(graph->op_count, 26 * 4 * 2 + 2 * 2);
    cr_expect_geq(graph->stated_model_count, 6);
    cr_expect_eq(emp_graph_stated_gpu_ns(graph, emp_graph_find(graph, "layer2/micro3"),
                                         emp_graph_find_stated_model(graph, "rtx3090")),
                 5598000);
}
