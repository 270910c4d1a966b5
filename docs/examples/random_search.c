/* random_search SPEC MACHINE OUT [BUDGET]: scores random placements, 16 at a time on two threads,
 * and writes the best one that fits in memory. A device is drawn for each colocation class. */
#include <emplace/emplace.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 16, THREADS = 2 };

typedef struct {
    emp_graph      *graph;
    emp_machine    *machine;
    emp_runtime    *runtime;
    emp_problem    *problem;
    emp_sim_team   *team;
    emp_device_id  *placement[BATCH], *best;
    emp_sim_result *result[BATCH];
    emp_time_ns     best_ns; /* -1: none fits yet */
} search;

static emp_status create(search *s, const char *spec, const char *machine, emp_error *err)
{
    emp_status st;

    if ((st = emp_graph_load(&s->graph, spec, err)) != EMP_OK) return st;
    if ((st = emp_machine_load(&s->machine, machine, err)) != EMP_OK) return st;
    if ((st = emp_runtime_load(&s->runtime, "tf-r1.3", err)) != EMP_OK) return st;
    st = emp_problem_create(&s->problem, s->graph, s->machine, s->runtime, spec, err);
    if (st != EMP_OK) return st;
    st = emp_sim_team_create(&s->team, s->problem, THREADS, err);
    size_t ops = (size_t)emp_graph_op_count(s->graph);
    for (int i = 0; st == EMP_OK && i < BATCH; i++) {
        s->placement[i] = calloc(ops, sizeof *s->placement[i]);
        st = emp_sim_result_create(&s->result[i], err);
        if (s->placement[i] == NULL) st = EMP_ENOMEM;
    }
    s->best = calloc(ops, sizeof *s->best);
    s->best_ns = -1;
    return st == EMP_OK && s->best == NULL ? EMP_ENOMEM : st;
}

/* The next number of a small generator, below a bound; the same on every computer. */
static uint32_t draw(uint64_t *state, uint32_t bound)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % bound;
}

/* A class goes where its first op is, so the draws of its other ops have no effect. */
static void propose(search *s, uint64_t *state)
{
    uint32_t devices = (uint32_t)emp_machine_device_count(s->machine);

    for (int i = 0; i < BATCH; i++)
        for (emp_op_id op = 0; op < emp_graph_op_count(s->graph); op++)
            s->placement[i][op] = (emp_device_id)draw(state, devices);
}

static void keep_best(search *s, int count)
{
    for (int i = 0; i < count; i++) {
        emp_time_ns ns = emp_sim_result_step_time_ns(s->result[i]);
        if (!emp_sim_result_is_feasible(s->result[i])) continue;
        if (s->best_ns >= 0 && s->best_ns <= ns) continue;
        emp_device_id *worse = s->best;
        s->best = s->placement[i];
        s->placement[i] = worse;
        s->best_ns = ns;
    }
}

static emp_status run(search *s, int budget, emp_error *err)
{
    uint64_t state = 1;

    for (int done = 0; done < budget; done += BATCH) {
        int count = budget - done < BATCH ? budget - done : BATCH;
        propose(s, &state);
        emp_status st = emp_sim_team_run(s->team, s->placement, count, s->result, err);
        if (st != EMP_OK) return st;
        keep_best(s, count);
    }
    return s->best_ns >= 0 ? EMP_OK : EMP_EINFEASIBLE;
}

static void clear(search *s)
{
    for (int i = 0; i < BATCH; i++) {
        free(s->placement[i]);
        emp_sim_result_destroy(s->result[i]);
    }
    free(s->best);
    emp_sim_team_destroy(s->team);
    emp_problem_destroy(s->problem);
    emp_runtime_destroy(s->runtime);
    emp_machine_destroy(s->machine);
    emp_graph_destroy(s->graph);
}

int main(int argc, char **argv)
{
    search    s = {0};
    emp_error err = {0};

    if (argc < 4) {
        fprintf(stderr, "usage: random_search SPEC MACHINE OUT [BUDGET]\n");
        return 2;
    }
    emp_status st = create(&s, argv[1], argv[2], &err);
    if (st == EMP_OK) st = run(&s, argc > 4 ? atoi(argv[4]) : 64, &err);
    double best_s = (double)s.best_ns * 1e-9;
    if (st == EMP_OK) st = emp_placement_save(argv[3], s.problem, s.best, best_s, &err);
    if (st == EMP_OK)
        printf("step_time_s %.15g\n", best_s);
    else
        fprintf(stderr, "random_search: %s\n", err.msg[0] ? err.msg : emp_status_str(st));
    clear(&s);
    return st == EMP_OK ? 0 : 1;
}
