// SPDX-License-Identifier: GPL-3.0-or-later
/* team_speed SPEC MACHINE THREADS CALLS FILE: scores the placements of FILE, rows of 32-bit numbers,
 * CALLS times, and prints the seconds and the sum of step times. */
#include <emplace/emplace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCH = 64 };

static double now_s(void)
{
    struct timespec t;

    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void need(emp_status st, const emp_error *err)
{
    if (st == EMP_OK) return;
    fprintf(stderr, "%s\n", err->msg);
    exit(1);
}

int main(int argc, char **argv)
{
    emp_error       err = {0};
    emp_graph      *graph;
    emp_machine    *machine;
    emp_runtime    *runtime;
    emp_problem    *problem;
    emp_sim_team   *team;
    emp_sim_result *result[BATCH];
    emp_device_id  *row[BATCH];
    long long       sum_ns = 0;

    if (argc != 6) return 2;
    need(emp_graph_load(&graph, argv[1], &err), &err);
    need(emp_machine_load(&machine, argv[2], &err), &err);
    need(emp_runtime_load(&runtime, "tf-r1.3", &err), &err);
    need(emp_problem_create(&problem, graph, machine, runtime, argv[1], &err), &err);
    need(emp_sim_team_create(&team, problem, atoi(argv[3]), &err), &err);
    const size_t   ops = (size_t)emp_graph_op_count(graph);
    emp_device_id *given = malloc(BATCH * ops * sizeof *given);
    emp_device_id *used = malloc(BATCH * ops * sizeof *used);
    FILE          *file = fopen(argv[5], "rb");
    if (given == NULL || used == NULL || file == NULL ||
        fread(given, sizeof *given, BATCH * ops, file) != BATCH * ops)
        return 1;
    fclose(file);
    for (int i = 0; i < BATCH; i++) {
        row[i] = used + (size_t)i * ops;
        need(emp_sim_result_create(&result[i], &err), &err);
    }

    const double start_s = now_s();
    for (int call = 0; call < atoi(argv[4]); call++) {
        memcpy(used, given, BATCH * ops * sizeof *used);
        need(emp_sim_team_run(team, row, BATCH, result, &err), &err);
        for (int i = 0; i < BATCH; i++) sum_ns += emp_sim_result_step_time_ns(result[i]);
    }
    printf("%.6f %lld\n", now_s() - start_s, sum_ns);

    for (int i = 0; i < BATCH; i++) emp_sim_result_destroy(result[i]);
    free(given);
    free(used);
    emp_sim_team_destroy(team);
    emp_problem_destroy(problem);
    emp_runtime_destroy(runtime);
    emp_machine_destroy(machine);
    emp_graph_destroy(graph);
    return 0;
}
