// SPDX-License-Identifier: GPL-3.0-or-later
/* Does a graph that comes from a file cost and take what its generated twin does? The file is
 * the twin written as a GraphDef; with EMP_PEERS=1 it is TensorFlow's.
 * Placements depend on op names alone, so both graphs get the same one. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "graphs/load.h"
#include "graphs/workloads/workloads.h"
#include "sim/engine/sim.h"
#include "tests/support/facts.h"
#include "tests/support/scratch.h"

enum { RULES = 3 }; /* all on the CPU, all on a GPU, scattered by a hash of the name */

static void apply_rule(int rule, const emp_problem *p, emp_device_id *device)
{
    for (emp_op_id op = 0; op < p->graph->op_count; op++) {
        const char *name = p->graph->name[op];
        uint64_t    hash = emp_hash_bytes(EMP_HASH_SEED, name, strlen(name));
        device[op] = rule < 2 ? rule : (emp_device_id)(hash % 3);
    }
    emp_problem_legalize(p, device);
}

static void simulate(const emp_graph *whole, emp_time_ns *time_ns, double *flops)
{
    emp_graph     *step = NULL;
    emp_machine   *machine = NULL;
    emp_problem   *problem = NULL;
    emp_sim       *sim = NULL;
    emp_sim_result r = {0};
    emp_runtime    runtime;
    emp_error      err = {0};

    cr_assert_eq(emp_graph_prune(&step, whole, &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_machine_load(&machine, "k40x2", &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_runtime_init(&runtime, "tf-r1.3", &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_problem_create(&problem, step, machine, &runtime, "twin", &err),
                 EMP_OK);
    cr_assert_eq(emp_sim_create(&sim, problem, &err), EMP_OK, "%s", err.msg);
    emp_device_id *device = EMP_NEW_ARRAY(emp_device_id, (size_t)step->op_count);
    for (int rule = 0; rule < RULES; rule++) {
        apply_rule(rule, problem, device);
        cr_assert_eq(emp_sim_run(sim, device, &r, &err), EMP_OK, "%s", err.msg);
        time_ns[rule] = r.step_time_ns;
    }
    *flops = step->flops;
    emp_free(device);
    emp_sim_destroy(sim);
    emp_problem_destroy(problem);
    emp_machine_destroy(machine);
    emp_graph_destroy(step);
}

static double apart(double a, double b) { return fabs(a / b - 1.0); }

ParameterizedTestParameters(made, equals_its_generated_twin)
{
    return cr_make_param_array(fact_graph, fact_graphs(), FACT_GRAPHS);
}

ParameterizedTest(fact_graph *g, made, equals_its_generated_twin, .init = scratch_create,
                  .fini = scratch_remove)
{
    const emp_import_params params = emp_import_params_default();
    emp_graph              *imported = NULL, *generated = NULL;
    emp_time_ns             time_imported[RULES], time_generated[RULES];
    double                  flops_imported, flops_generated;
    double                  tolerance = fact_is_peer() ? 1.0 : 0.0;
    emp_error               err = {0};

    cr_assert_eq(emp_import_load(&imported, NULL, fact_graph_path(g), &params, &err),
                 EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_workload_build(&generated, g->spec, &err), EMP_OK, "%s", err.msg);
    simulate(imported, time_imported, &flops_imported);
    simulate(generated, time_generated, &flops_generated);

    cr_expect_leq(apart(flops_generated, flops_imported), 0.01 * tolerance,
                  "%s: %g FLOPs, %g imported", g->spec, flops_generated, flops_imported);
    for (int rule = 0; rule < RULES; rule++) {
        double mine = (double)time_generated[rule], theirs = (double)time_imported[rule];
        cr_expect_leq(apart(mine, theirs), 0.03 * tolerance,
                      "%s, rule %d: %g ns, %g imported", g->spec, rule, mine, theirs);
    }
    emp_graph_destroy(imported);
    emp_graph_destroy(generated);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}
