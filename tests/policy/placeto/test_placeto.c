// SPDX-License-Identifier: GPL-3.0-or-later
/* Placeto: as many parameters as published, one move a rollout and ask, a start that is scored once, weights that
 * serve another graph, and better placements than chance finds. */
#include "policy/placeto/placeto.h"
#include "run/loop.h"
#include "search/method.h"
#include "tests/support/methods.h"
#include "tests/support/problems.h"

enum { LAYERS = 4, MAX_OPS = 64, ROLLOUTS = 3, NODES = 5 };

static task                     h;
static emp_device_id            storage[ROLLOUTS][MAX_OPS];
static const emp_owned_decision candidates[ROLLOUTS] = {{.device_of_op = storage[0]},
                                                        {.device_of_op = storage[1]},
                                                        {.device_of_op = storage[2]}};

#define SIZES "max_nodes=5,rollouts=3,passes=2"
#define SMALL SIZES ",start=once"

static void create_problem(void)
{
    hand_graph_comb(&h, LAYERS);
    cr_assert_leq(h.graph->op_count, MAX_OPS);
}

static void destroy_problem(void)
{
    task_destroy(&h);
    expect_all_freed();
}

TestSuite(placeto, .init = create_problem, .fini = destroy_problem);

static emp_placeto_agent *create(const char *preset, const char *options)
{
    return method_begin(&emp_method_placeto, h.problem,
                        (emp_method_params){.seed = 7,
                                            .threads = 1,
                                            .preset = preset,
                                            .options = options,
                                            .budget_evaluations = 1000});
}

static void destroy(emp_placeto_agent *a) { emp_method_destroy(&emp_method_placeto, a); }

static int32_t ask(emp_placeto_agent *a, int32_t max)
{
    int32_t count = 0;

    MUST(emp_method_placeto.ask(a, candidates, max, &count, NULL));
    return count;
}

/* A placement takes 1 s and as much again as ops are not on device 1; later ops start later, and
 * later still on device 2. */
static emp_score score_of(const emp_device_id *device, emp_time_ns *start_ns)
{
    int32_t elsewhere = 0;

    for (emp_op_id op = 0; op < h.graph->op_count; op++) {
        elsewhere += device[op] != 1;
        start_ns[op] = op * 1000 * (device[op] + 1);
    }
    return (emp_score){.step_time_s = 1.0 + (double)elsewhere / h.graph->op_count,
                       .is_feasible = true,
                       .start_ns = start_ns};
}

static void tell(emp_placeto_agent *a, int32_t count)
{
    emp_time_ns start_ns[ROLLOUTS][MAX_OPS];
    emp_score   score[ROLLOUTS];

    for (int32_t k = 0; k < count; k++) score[k] = score_of(storage[k], start_ns[k]);
    MUST(emp_method_placeto.tell(a, score, count, NULL));
}

static int32_t step(emp_placeto_agent *a)
{
    int32_t count = ask(a, ROLLOUTS);

    tell(a, count);
    return count;
}

/* ---- what is asked ---- */

Test(placeto, the_network_has_as_many_parameters_as_published)
{
    OWN_TASK t;
    int32_t  parameters = 0;

    task_create(&t, "rnnlm:layers=1,steps=3", "k40x4", "placeto");
    emp_placeto_agent *a = method_begin(&emp_method_placeto, t.problem,
                                        (emp_method_params){.seed = 1, .threads = 1});
    for (int32_t i = 0; i < a->net.params.slice_count; i++)
        parameters += a->net.params.slice[i].rows * a->net.params.slice[i].cols;
    cr_expect_eq(parameters, 26338);
    cr_expect_eq(a->graph->node_count, 64);
    destroy(a);
}

Test(placeto, an_episode_moves_each_node_once_in_order)
{
    emp_placeto_agent    *a = create("emplace", SMALL);
    const emp_node_graph *g = a->graph;
    emp_device_id         before[ROLLOUTS][MAX_OPS];

    cr_assert_eq(g->node_count, NODES);
    cr_expect_eq(step(a), 1, "the start alone");
    for (int k = 0; k < ROLLOUTS; k++) memcpy(before[k], storage[0], sizeof *storage);
    for (int i = 0; i < 2 * NODES; i++) {
        if (i == NODES) /* the second episode begins at the same start */
            for (int k = 0; k < ROLLOUTS; k++)
                for (emp_op_id op = 0; op < g->op_count; op++)
                    if (g->node_of_op[op] >= 0)
                        before[k][op] = a->device[a->start.device[g->node_of_op[op]]];
        cr_expect_eq(step(a), ROLLOUTS);
        for (int k = 0; k < ROLLOUTS; k++)
            for (emp_op_id op = 0; op < g->op_count; op++) {
                cr_expect(g->node_of_op[op] < 0 || storage[k][op] > 0, "on a CPU");
                if (g->node_of_op[op] != g->order[i % NODES])
                    cr_expect_eq(storage[k][op], before[k][op], "op %d, step %d", op, i);
            }
        memcpy(before, storage, sizeof before);
    }
    cr_expect_eq(a->learner.update, 2);
    destroy(a);
}

Test(placeto, cpus_are_devices_when_asked_for)
{
    emp_placeto_agent *a = create("emplace", SMALL ",cpu=1");

    cr_expect_eq(a->device_count, 3);
    cr_expect_eq(a->device[0], 0);
    destroy(a);
    a = create("emplace", SMALL);
    cr_expect_eq(a->device_count, 2);
    cr_expect_eq(a->device[0], 1);
    destroy(a);
}

Test(placeto, starts_are_those_of_the_option)
{
    emp_placeto_agent *a = create("emplace", SIZES ",start=first");
    int32_t            kept[NODES], differ = 0;

    for (int v = 0; v < NODES; v++) cr_expect_eq(a->start.device[v], 0);
    destroy(a);

    a = create("emplace", SIZES ",start=each");
    for (int episode = 0; episode < 4; episode++) {
        memcpy(kept, a->start.device, sizeof kept);
        cr_expect_eq(step(a), 1);
        for (int i = 0; i < NODES; i++) cr_expect_eq(step(a), ROLLOUTS);
        differ += memcmp(kept, a->start.device, sizeof kept) != 0;
    }
    cr_expect_geq(differ, 2);
    destroy(a);

    a = create("emplace", SIZES ",start=best");
    double best = INFINITY;
    for (int i = 0; i < 1 + 2 * NODES; i++) {
        int32_t count = step(a);
        for (int32_t k = 0; k < count; k++) {
            emp_time_ns start_ns[MAX_OPS];
            best = fmin(best, score_of(storage[k], start_ns).step_time_s);
        }
    }
    cr_expect_float_eq(a->start.value * a->unit_s, best, 1e-12);
    destroy(a);
}

/* The first of preset "paper" takes the likeliest devices, and teaches nothing. */
Test(placeto, greedy_episodes_teach_nothing)
{
    emp_placeto_agent  *a = create("paper", "max_nodes=5");
    OWN_EMP_FREE float *kept = EMP_NEW_ARRAY(float, a->net.params.count);

    memcpy(kept, a->net.params.value, a->net.params.count * sizeof *kept);
    step(a);
    for (int i = 0; i < NODES; i++) {
        int32_t node = a->graph->order[i];
        cr_assert_eq(ask(a, ROLLOUTS), 1);
        for (int d = 0; d < a->device_count; d++)
            cr_expect_leq(a->net.logits[d], a->net.logits[a->now[node]]);
        tell(a, 1);
    }
    cr_expect_eq(memcmp(kept, a->net.params.value, a->net.params.count * sizeof *kept),
                 0);
    for (int i = 0; i < 2 * NODES; i++) cr_expect_eq(step(a), 1);
    cr_expect_eq(a->learner.update, 2);
    cr_expect_neq(memcmp(kept, a->net.params.value, a->net.params.count * sizeof *kept),
                  0);
    destroy(a);
}

Test(placeto, rollouts_without_room_are_given_up)
{
    emp_placeto_agent *a = create("emplace", SMALL);

    step(a);
    step(a);
    cr_expect_eq(ask(a, 2), 2);
    tell(a, 2);
    for (int i = 2; i < NODES; i++) cr_expect_eq(step(a), 2);
    cr_expect_eq(a->learner.update, 1);
    cr_expect_eq(step(a), ROLLOUTS, "the next episode has all again");
    destroy(a);
}

static double value_told(const char *options, const emp_score *score)
{
    emp_placeto_agent *a = create("emplace", options);

    ask(a, 1);
    MUST(emp_method_placeto.tell(a, score, 1, NULL));
    double value = a->start.value;
    destroy(a);
    return value;
}

Test(placeto, what_does_not_fit_costs_what_the_options_say)
{
    const emp_sim_result result = {.device_count = 3, .peak_bytes = {0, 5000000000, 9}};
    const emp_score      score = {
             .step_time_s = 3.0, .overflow_frac = 0.25, .result = &result};

    cr_expect_float_eq(value_told("units=seconds,penalty=5", &score), 4.25, 1e-12);
    cr_expect_float_eq(value_told("units=starts,penalty=5", &score), 2.25, 1e-12);
    cr_expect_float_eq(
        value_told("units=seconds,memory=peak,penalty=2,limit_gb=4", &score), 5.0, 1e-9);
    cr_expect_float_eq(value_told("units=seconds,memory=peak,limit_gb=6", &score), 3.0,
                       1e-12);
    cr_expect_float_eq(value_told("units=seconds,cap=2", &score), 2.0, 1e-12);
}

/* A greedy episode from the same start: the share of ops that end elsewhere than on device 1. */
static double elsewhere_after_episode(const emp_weights *weights)
{
    emp_time_ns        start_ns[MAX_OPS];
    emp_placeto_agent *a =
        method_begin(&emp_method_placeto, h.problem,
                     (emp_method_params){.seed = 3,
                                         .threads = 1,
                                         .preset = "emplace",
                                         .options = SMALL ",greedy_every=1",
                                         .weights = weights});

    step(a);
    while (a->episode == 0) step(a);
    const double seconds = score_of(storage[0], start_ns).step_time_s;
    destroy(a);
    return seconds - 1.0;
}

/* A graph of other size takes them, and its greedy episode then goes to the best device. */
Test(placeto, weights_serve_another_graph)
{
    emp_placeto_agent *a = create("emplace", SMALL ",lr=0.01,lr_last=0.01,entropy=0");
    SCOPED(emp_weights, emp_weights_clear) weights = {0};

    while (a->learner.update < 60) step(a);
    MUST(emp_method_take_weights(&weights, &emp_method_placeto, a, &why));
    destroy(a);
    task_destroy(&h);
    hand_graph_comb(&h, LAYERS / 2);
    const double untrained = elsewhere_after_episode(NULL);
    const double trained = elsewhere_after_episode(&weights);
    cr_expect_lt(trained, 0.2);
    cr_expect_gt(untrained, trained + 0.2);
}

static double best_of(const task *t, const char *preset, int64_t budget)
{
    emp_run_params params = {.method = &emp_method_placeto,
                             .placer = {.seed = 1, .threads = 1, .preset = preset},
                             .budget_evaluations = budget};
    emp_record     record;

    MUST(emp_run(&record, t->problem, &params, &why));
    const double best = record.best_step_time_s;
    emp_record_clear(&record);
    return best;
}

enum { CHAINS = 3, LENGTH = 4, UNIT = 100 };

/* A source, chains of unit ops, and a sink; a message takes a unit. Each chain on a device of its
 * own is the best: source, message, chain, message, sink. */
static void create_chains(task *t)
{
    static stated_op   ops[2 + CHAINS * LENGTH];
    static stated_edge edges[CHAINS * (LENGTH + 1)];
    int32_t            sink = 1 + CHAINS * LENGTH, count = 0;

    for (int32_t v = 0; v <= sink; v++)
        ops[v] = (stated_op){.gpu_us = UNIT, .cpu_us = UNIT, .copy_us = UNIT};
    for (int32_t c = 0; c < CHAINS; c++) {
        int32_t before = 0;
        for (int32_t i = 0; i < LENGTH; i++) {
            int32_t v = 1 + c * LENGTH + i;
            edges[count++] = (stated_edge){before, v};
            before = v;
        }
        edges[count++] = (stated_edge){before, sink};
    }
    task_create_stated(t, ops, sink + 1, edges, count, 1, CHAINS, INT64_C(1) << 40,
                       "edges");
}

Test(placeto, chains_each_get_a_device)
{
    OWN_TASK t;

    create_chains(&t);
    double best = best_of(&t, "emplace", 3000);
    cr_expect_float_eq(best, 1e-6 * UNIT * (LENGTH + 4), 1e-12, "%g", best);
}
