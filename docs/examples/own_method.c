/* own_method SPEC MACHINE OUT [BUDGET]: a method of one's own, hill climbing, behind an interface of
 * ask and tell. The loop owns the budget and asks the oracle; the method never sees it. */
#include <emplace/emplace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the method ---- */

typedef struct {
    const emp_graph   *graph;
    const emp_problem *problem;
    int32_t            devices;
    emp_device_id     *current, *candidate; /* [op] */
    emp_time_ns        current_ns;          /* -1: the first candidate has no score yet */
    uint64_t           state;
} climber;

static size_t bytes_of(const climber *c)
{
    return (size_t)emp_graph_op_count(c->graph) * sizeof *c->current;
}

static uint32_t draw(climber *c, uint32_t bound)
{
    c->state = c->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(c->state >> 33) % bound;
}

static emp_status climber_init(climber *c, const emp_graph *graph,
                               const emp_machine *machine, const emp_problem *problem)
{
    *c = (climber){.graph = graph, .problem = problem, .current_ns = -1, .state = 1};
    c->devices = emp_machine_device_count(machine);
    c->current = calloc(1, bytes_of(c));
    c->candidate = calloc(1, bytes_of(c));
    return c->current != NULL && c->candidate != NULL ? EMP_OK : EMP_ENOMEM;
}

/* The current placement with the class of one op, and of those around it, on another device. */
static const emp_device_id *climber_ask(climber *c)
{
    int32_t ops = emp_graph_op_count(c->graph);

    memcpy(c->candidate, c->current, bytes_of(c));
    if (c->current_ns < 0) return c->candidate; /* all on device 0, a CPU */
    emp_op_id     first = (emp_op_id)draw(c, (uint32_t)ops);
    int32_t       length = 1 + (int32_t)draw(c, (uint32_t)(1 + ops / 4));
    emp_device_id device = (emp_device_id)draw(c, (uint32_t)c->devices);
    for (emp_op_id op = first; op < ops && op < first + length; op++)
        c->candidate[op] = device;
    emp_problem_legalize(c->problem, c->candidate);
    return c->candidate;
}

static void climber_tell(climber *c, emp_time_ns ns, bool is_feasible)
{
    if (!is_feasible || (c->current_ns >= 0 && ns > c->current_ns)) return;
    memcpy(c->current, c->candidate, bytes_of(c));
    c->current_ns = ns;
}

static void climber_clear(climber *c)
{
    free(c->current);
    free(c->candidate);
}

/* ---- the loop ---- */

static emp_status climb(climber *c, emp_sim *sim, emp_sim_result *result, int budget,
                        emp_error *err)
{
    for (int i = 0; i < budget; i++) {
        const emp_device_id *candidate = climber_ask(c);
        emp_status           st = emp_sim_run(sim, candidate, result, err);
        if (st != EMP_OK) return st;
        climber_tell(c, emp_sim_result_step_time_ns(result),
                     emp_sim_result_is_feasible(result));
    }
    return c->current_ns >= 0 ? EMP_OK : EMP_EINFEASIBLE;
}

int main(int argc, char **argv)
{
    emp_error       err = {0};
    emp_graph      *graph = NULL;
    emp_machine    *machine = NULL;
    emp_runtime    *runtime = NULL;
    emp_problem    *problem = NULL;
    emp_sim        *sim = NULL;
    emp_sim_result *result = NULL;
    climber         c = {0};
    emp_status      st;

    if (argc < 4) {
        fprintf(stderr, "usage: own_method SPEC MACHINE OUT [BUDGET]\n");
        return 2;
    }
    if ((st = emp_graph_load(&graph, argv[1], &err)) != EMP_OK) goto cleanup;
    if ((st = emp_machine_load(&machine, argv[2], &err)) != EMP_OK) goto cleanup;
    if ((st = emp_runtime_load(&runtime, "tf-r1.3", &err)) != EMP_OK) goto cleanup;
    st = emp_problem_create(&problem, graph, machine, runtime, argv[1], &err);
    if (st != EMP_OK) goto cleanup;
    if ((st = emp_sim_create(&sim, problem, &err)) != EMP_OK) goto cleanup;
    if ((st = emp_sim_result_create(&result, &err)) != EMP_OK) goto cleanup;
    if ((st = climber_init(&c, graph, machine, problem)) != EMP_OK) goto cleanup;
    st = climb(&c, sim, result, argc > 4 ? atoi(argv[4]) : 100, &err);
    if (st != EMP_OK) goto cleanup;
    double best_s = (double)c.current_ns * 1e-9;
    if ((st = emp_placement_save(argv[3], problem, c.current, best_s, &err)) == EMP_OK)
        printf("step_time_s %.15g\n", best_s);

cleanup:
    if (st != EMP_OK)
        fprintf(stderr, "own_method: %s\n", err.msg[0] ? err.msg : emp_status_str(st));
    climber_clear(&c);
    emp_sim_result_destroy(result);
    emp_sim_destroy(sim);
    emp_problem_destroy(problem);
    emp_runtime_destroy(runtime);
    emp_machine_destroy(machine);
    emp_graph_destroy(graph);
    return st == EMP_OK ? 0 : 1;
}
