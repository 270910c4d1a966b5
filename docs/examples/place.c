/* place SPEC MACHINE [METHOD]: places a model, and says why a step takes as long as it does. */
#include <emplace/emplace.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    emp_graph       *graph = NULL;
    emp_machine     *machine = NULL;
    emp_runtime     *runtime = NULL;
    emp_problem     *problem = NULL;
    emp_sim_result  *result = NULL;
    emp_device_id   *device_of_op = NULL;
    emp_place_params params = EMP_PLACE_PARAMS;
    emp_time_ns      bound_ns = 0;
    char             why[EMP_EXPLANATION_BYTES];
    emp_error        err = {0};
    const char      *spec = argc > 1 ? argv[1] : "nmt:layers=2";

    params.method = argc > 3 ? argv[3] : "portfolio";
    bool is_placed =
        emp_graph_load(&graph, spec, &err) == EMP_OK &&
        emp_machine_load(&machine, argc > 2 ? argv[2] : "k40x2", &err) == EMP_OK &&
        emp_runtime_load(&runtime, emp_graph_default_runtime(graph), &err) == EMP_OK &&
        emp_problem_create(&problem, graph, machine, runtime, spec, &err) == EMP_OK &&
        emp_sim_result_create(&result, &err) == EMP_OK &&
        (device_of_op = calloc((size_t)emp_graph_op_count(graph), sizeof(int32_t))) &&
        emp_place(device_of_op, result, problem, &params, &err) == EMP_OK &&
        emp_bound(&bound_ns, problem, &err) == EMP_OK &&
        emp_explain(why, sizeof why, problem, device_of_op, &err) == EMP_OK;
    if (is_placed)
        printf("step_time_s %.15g\nbound_s %.15g\n%s",
               (double)emp_sim_result_step_time_ns(result) * 1e-9,
               (double)bound_ns * 1e-9, why);
    else
        fprintf(stderr, "place: %s\n", err.msg);
    free(device_of_op);
    emp_sim_result_destroy(result);
    emp_problem_destroy(problem);
    emp_runtime_destroy(runtime);
    emp_machine_destroy(machine);
    emp_graph_destroy(graph);
    return is_placed ? 0 : 1;
}
