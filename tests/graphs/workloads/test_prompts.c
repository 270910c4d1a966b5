// SPDX-License-Identifier: GPL-3.0-or-later
/* Do prompts in micro-batches compute what whole prompts do, hold the same weights and caches, and go
 * through two devices as a pipeline? */
#include "tests/graphs/graphs.h"
#include "tests/support/problems.h"
#include "tests/test.h"

TestSuite(prompts, .fini = graph_tear_down);

enum { LAYERS = 4, TOKENS = 1024 };

#define SPEC                                                                          \
    "transformer:phase=prefill,batch=1,seq=1024,layers=4,hidden=512,heads=8,gated=1," \
    "vocab=1000"

/* FLOPs of ops of a type below the last layer, whose other parts only the last round needs. */
static double flops_of(const emp_graph *g, const char *type)
{
    double sum = 0.0;

    for (emp_op_id op = 0; op < g->op_count; op++)
        if (strcmp(emp_graph_op_type(g, op), type) == 0 &&
            strstr(g->name[op], "layers.3.") == NULL &&
            strstr(g->name[op], "layers.") != NULL)
            sum += g->op[op].cost->flops;
    return sum;
}

Test(prompts, micro_batches_compute_what_whole_prompts_do)
{
    static const char *const types[] = {"Linear", "Attention", "RMSNorm", "Silu"};
    static const struct {
        const char *spec;
        int32_t     rounds;
    } cut[] = {
        {SPEC ",ubatch=512", 2}, {SPEC ",ubatch=100", 11}, {SPEC ",ubatch=1", TOKENS}};
    emp_graph *whole = graph_load(SPEC, NULL, NULL);

    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        emp_graph *g = graph_load(cut[i].spec, NULL, NULL);
        cr_expect_eq(g->parameter_bytes, whole->parameter_bytes);
        cr_expect_eq(graph_count_type(g, "KeyValueCache"), 2 * LAYERS);
        cr_expect_eq(graph_count_type(g, "ScatterUpdate"), 2 * LAYERS * cut[i].rounds);
        cr_expect_eq(graph_count_type(g, "Attention"), (LAYERS - 1) * cut[i].rounds + 1);
        for (size_t t = 0; t < sizeof types / sizeof *types; t++)
            cr_expect_float_eq(flops_of(g, types[t]) / flops_of(whole, types[t]), 1.0,
                               1e-9, "%s: %s", cut[i].spec, types[t]);
    }
}

/* The first layers on one GPU and the last ones, with the head, on another: the step's time over what the busier
 * of them computes, and over what both do. */
static void run_on_two(const char *spec, double *over_busier, double *over_both)
{
    OWN_TASK t;

    task_create(&t, spec, "dgx-a100", "ideal");
    const emp_device_id first = emp_machine_find(t.machine, "gpu:0"),
                        second = emp_machine_find(t.machine, "gpu:1");
    for (emp_op_id op = 0; op < t.graph->op_count; op++) {
        const char *layer = strstr(t.graph->name[op], "layers.");
        bool        is_first =
            layer != NULL ? layer[7] < '2' : strstr(t.graph->name[op], "embed") != NULL;
        t.device_of_op[op] = is_first ? first : second;
    }
    emp_problem_legalize(t.problem, t.device_of_op);
    emp_sim_result r = task_run(&t);
    cr_expect(r.is_feasible);
    const double step = (double)r.step_time_ns, a = (double)r.busy_ns[first],
                 b = (double)r.busy_ns[second];
    *over_busier = step / fmax(a, b);
    *over_both = step / (a + b);
}

/* Whole prompts are on one GPU after the other. With eight micro-batches the second GPU waits for the first one, and
 * ends one behind the first GPU, or a little more, as the last sees most keys. */
Test(prompts, micro_batches_are_a_pipeline)
{
#define LARGE                                                                           \
    "transformer:phase=prefill,batch=8,seq=4096,layers=4,hidden=4096,heads=32,gated=1," \
    "vocab=1000"
    double over_busier, over_both;

    run_on_two(LARGE, &over_busier, &over_both);
    cr_expect_float_eq(over_both, 1.0, 0.01, "%g", over_both);
    run_on_two(LARGE ",ubatch=4096", &over_busier, &over_both);
    cr_expect(over_busier > 1.0 && over_busier < 1.0 + 1.6 / 8.0, "%g", over_busier);
}
