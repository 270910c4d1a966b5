/* own_graph: a graph with costs of one's own, on a machine that needs no file. Two branches of
 * measured work run on one GPU, then on two. */
#include <emplace/emplace.h>
#include <stdio.h>

enum { BRANCHES = 2, LAYERS = 3 };

/* A layer takes 2 ms on a GPU and 30 ms on a core; its result is 4 MiB. */
static const emp_stated_op layer = {
    {2000000, 30000000, -1, -1},
    0,
    EMP_KIND_CPU | EMP_KIND_GPU,
    64 << 20,
    4 << 20,
    4 << 20,
};

static emp_status add_branch(emp_graph_builder *b, int branch, emp_op_id *last,
                             emp_error *err)
{
    emp_port before = {-1, 0};

    for (int i = 0; i < LAYERS; i++) {
        char       name[32];
        emp_status st;
        snprintf(name, sizeof name, "branch%d/layer%d", branch, i);
        st = emp_graph_builder_state(b, name, "Layer", &layer, last, err);
        if (st == EMP_OK && i > 0) st = emp_graph_builder_connect(b, before, *last, err);
        if (st != EMP_OK) return st;
        before.op = *last;
    }
    return EMP_OK;
}

static emp_status build(emp_graph **out, emp_error *err)
{
    emp_graph_builder *b = NULL;
    emp_op_id          last[BRANCHES], sum;
    emp_status         st = emp_graph_builder_create(&b, err);

    for (int i = 0; st == EMP_OK && i < BRANCHES; i++)
        st = add_branch(b, i, &last[i], err);
    if (st == EMP_OK) st = emp_graph_builder_state(b, "sum", "Sum", &layer, &sum, err);
    for (int i = 0; st == EMP_OK && i < BRANCHES; i++) {
        emp_port from = {last[i], 0};
        st = emp_graph_builder_connect(b, from, sum, err);
    }
    if (st == EMP_OK) st = emp_graph_builder_finish(b, out, err);
    emp_graph_builder_destroy(b);
    return st;
}

/* Device 0 is the CPU, 1 and 2 are GPUs. The sum is the last op. */
static emp_status score(emp_sim *sim, emp_sim_result *result, int gpus, emp_error *err)
{
    emp_device_id device_of_op[BRANCHES * LAYERS + 1];

    for (int op = 0; op < BRANCHES * LAYERS; op++)
        device_of_op[op] = 1 + op / LAYERS % gpus;
    device_of_op[BRANCHES * LAYERS] = 1;
    emp_status st = emp_sim_run(sim, device_of_op, result, err);
    if (st == EMP_OK)
        printf("%d GPU%s: step_time_s %.15g\n", gpus, gpus > 1 ? "s" : "",
               (double)emp_sim_result_step_time_ns(result) * 1e-9);
    return st;
}

int main(void)
{
    emp_error       err = {0};
    emp_graph      *graph = NULL;
    emp_machine    *machine = NULL;
    emp_runtime    *runtime = NULL;
    emp_problem    *problem = NULL;
    emp_sim        *sim = NULL;
    emp_sim_result *result = NULL;
    emp_status      st;

    if ((st = build(&graph, &err)) != EMP_OK) goto cleanup;
    st = emp_machine_create(&machine, "two GPUs", 1, 2, (int64_t)1 << 30, &err);
    if (st != EMP_OK) goto cleanup;
    if ((st = emp_runtime_load(&runtime, "ideal", &err)) != EMP_OK) goto cleanup;
    st = emp_problem_create(&problem, graph, machine, runtime, "branches", &err);
    if (st != EMP_OK) goto cleanup;
    if ((st = emp_sim_create(&sim, problem, &err)) != EMP_OK) goto cleanup;
    if ((st = emp_sim_result_create(&result, &err)) != EMP_OK) goto cleanup;
    for (int gpus = 1; st == EMP_OK && gpus <= 2; gpus++)
        st = score(sim, result, gpus, &err);

cleanup:
    if (st != EMP_OK)
        fprintf(stderr, "own_graph: %s\n", err.msg[0] ? err.msg : emp_status_str(st));
    emp_sim_result_destroy(result);
    emp_sim_destroy(sim);
    emp_problem_destroy(problem);
    emp_runtime_destroy(runtime);
    emp_machine_destroy(machine);
    emp_graph_destroy(graph);
    return st == EMP_OK ? 0 : 1;
}
