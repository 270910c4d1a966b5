/* score_one SPEC MACHINE [PLACEMENT]: the time of one training step under a placement file, or with
 * all ops on the first GPU. */
#include <emplace/emplace.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    emp_graph      *graph;
    emp_machine    *machine;
    emp_runtime    *runtime;
    emp_problem    *problem;
    emp_sim        *sim;
    emp_sim_result *result;
    emp_device_id  *device_of_op;
} task;

static emp_status place(const task *t, const char *path, emp_error *err)
{
    emp_device_id gpu = emp_machine_find(t->machine, "gpu:0");

    if (path != NULL) {
        emp_status st = emp_placement_load(t->device_of_op, path, t->problem, err);
        if (st != EMP_OK) return st;
    } else {
        for (emp_op_id op = 0; op < emp_graph_op_count(t->graph); op++)
            t->device_of_op[op] = gpu < 0 ? 0 : gpu;
    }
    emp_problem_legalize(t->problem, t->device_of_op);
    return EMP_OK;
}

static emp_status score(task *t, const char *spec, const char *machine, const char *path,
                        emp_error *err)
{
    emp_status st;

    if ((st = emp_graph_load(&t->graph, spec, err)) != EMP_OK) return st;
    if ((st = emp_machine_load(&t->machine, machine, err)) != EMP_OK) return st;
    if ((st = emp_runtime_load(&t->runtime, "tf-r1.3", err)) != EMP_OK) return st;
    st = emp_problem_create(&t->problem, t->graph, t->machine, t->runtime, spec, err);
    if (st != EMP_OK) return st;
    if ((st = emp_sim_create(&t->sim, t->problem, err)) != EMP_OK) return st;
    if ((st = emp_sim_result_create(&t->result, err)) != EMP_OK) return st;
    t->device_of_op =
        calloc((size_t)emp_graph_op_count(t->graph), sizeof *t->device_of_op);
    if (t->device_of_op == NULL) return EMP_ENOMEM;
    if ((st = place(t, path, err)) != EMP_OK) return st;
    return emp_sim_run(t->sim, t->device_of_op, t->result, err);
}

static void print(const task *t)
{
    emp_oom oom;

    printf("step_time_s %.15g\n", (double)emp_sim_result_step_time_ns(t->result) * 1e-9);
    for (emp_device_id d = 0; d < emp_machine_device_count(t->machine); d++)
        printf("%s peak_bytes %lld\n", emp_machine_device_name(t->machine, d),
               (long long)emp_sim_result_peak_bytes(t->result, d));
    if (emp_sim_result_oom(t->result, &oom))
        printf("does not fit: %s asks for %lld bytes on %s\n",
               emp_graph_op_name(t->graph, oom.op), (long long)oom.bytes,
               emp_machine_device_name(t->machine, oom.device));
}

static void clear(task *t)
{
    free(t->device_of_op);
    emp_sim_result_destroy(t->result);
    emp_sim_destroy(t->sim);
    emp_problem_destroy(t->problem);
    emp_runtime_destroy(t->runtime);
    emp_machine_destroy(t->machine);
    emp_graph_destroy(t->graph);
}

int main(int argc, char **argv)
{
    task      t = {0};
    emp_error err = {0};

    if (argc < 3) {
        fprintf(stderr, "usage: score_one SPEC MACHINE [PLACEMENT]\n");
        return 2;
    }
    emp_status st = score(&t, argv[1], argv[2], argc > 3 ? argv[3] : NULL, &err);
    if (st == EMP_OK)
        print(&t);
    else
        fprintf(stderr, "score_one: %s\n", err.msg[0] ? err.msg : emp_status_str(st));
    clear(&t);
    return st == EMP_OK ? 0 : 1;
}
