/* place SPEC MACHINE METHOD: places a model, and says why a step takes as long as it does. */
#include <emplace/emplace.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    emp_place_params params = EMP_PLACE_PARAMS;
    emp_problem     *problem = NULL;
    emp_sim_result  *step = NULL;
    emp_device_id   *device_of_op = NULL;
    char             why[EMP_EXPLANATION_BYTES];
    emp_error        err = {0};

    if (argc != 4) return 2;
    params.method = argv[3];
    if (emp_problem_load(&problem, argv[1], argv[2], NULL, &err) == EMP_OK &&
        emp_sim_result_create(&step, &err) == EMP_OK) {
        int32_t op_count = emp_graph_op_count(emp_problem_graph(problem));
        device_of_op = calloc((size_t)op_count, sizeof *device_of_op);
        if (emp_place(device_of_op, step, problem, &params, &err) == EMP_OK &&
            emp_explain(why, sizeof why, problem, device_of_op, &err) == EMP_OK)
            printf("step_time_s %.9f\n%s", emp_sim_result_step_time_ns(step) / 1e9, why);
    }
    if (err.status != EMP_OK) fprintf(stderr, "place: %s\n", err.msg);
    free(device_of_op);
    emp_sim_result_destroy(step);
    emp_problem_destroy(problem);
    return err.status != EMP_OK;
}
