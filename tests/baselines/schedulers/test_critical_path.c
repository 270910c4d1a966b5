// SPDX-License-Identifier: GPL-3.0-or-later
/* DOPPLER's teacher: is each of its schedules one that the rule permits, does it draw what the
 * rule leaves open, does it know stated messages, and does it have the known medians on DOPPLER's
 * own graphs? */
#include "baselines/baselines.h"
#include "baselines/schedulers/list_schedule.h"
#include "sim/engine/sim.h"
#include "tests/baselines/schedulers/plain_list.h"
#include "tests/support/facts.h"
#include "tests/support/problems.h"
#include "tests/support/status.h"

enum { SEEDS = 300, DRAWS = 1000, MAX_NODES = 512 };

static emp_status schedule(emp_list_schedule *s, const emp_task_graph *graph,
                           uint64_t seed)
{
    MUST(emp_list_schedule_init(s, graph, NULL));
    s->options.waits = true;
    emp_rng_init(&s->rng, seed, 0, 0);
    return emp_schedule_critical_path(s, NULL);
}

Test(critical_path, every_schedule_is_permitted_by_the_plain_rule)
{
    static hand_tasks h;
    static plain_list p;
    int32_t           stuck = 0;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        SCOPED(emp_list_schedule, emp_list_schedule_clear) s = {0};
        hand_tasks_draw(&h, seed);
        emp_status st = schedule(&s, &h.graph, seed);
        cr_assert(st == EMP_OK || st == EMP_EINFEASIBLE);
        cr_assert(plain_critical_path_permits(&p, &h, s.device_of_task, s.start_ns),
                  "seed %d", (int)seed);
        stuck += st != EMP_OK;
    }
    cr_expect(stuck > 10 && stuck < SEEDS / 2, "%d had no room", stuck);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* Three equal tasks for three equal devices: each of the 6 ways is as likely. */
Test(critical_path, ties_are_drawn)
{
    enum { WAYS = 27, TRIES = 1200 };
    static const int  time[9] = {5, 5, 5, 5, 5, 5, 5, 5, 5};
    static hand_tasks h;
    int32_t           count[WAYS] = {0}, ways = 0;

    hand_tasks_init(&h, 3, 3, time);
    hand_tasks_finish(&h);
    for (uint64_t seed = 0; seed < TRIES; seed++) {
        SCOPED(emp_list_schedule, emp_list_schedule_clear) s = {0};
        MUST(schedule(&s, &h.graph, seed));
        count[s.device_of_task[0] + 3 * s.device_of_task[1] + 9 * s.device_of_task[2]]++;
    }
    for (int i = 0; i < WAYS; i++) {
        if (count[i] == 0) continue;
        ways++;
        cr_expect(count[i] > 150 && count[i] < 250, "way %d: %d times", i, count[i]);
    }
    cr_expect_eq(ways, 6);
}

/* Two tasks of 5 ns end at once on two devices, a third of 3 ns reads both. A message with the
 * first takes what is stated, 7 ns, and one with the second 2 ns: the third goes to the first. */
Test(critical_path, stated_messages_take_what_they_state)
{
    static const int  time[6] = {5, 5, 5, 5, 3, 3};
    static hand_tasks h;
    SCOPED(emp_list_schedule, emp_list_schedule_clear) s = {0};

    hand_tasks_init(&h, 3, 2, time);
    hand_tasks_tensor(&h, 0, 1000, 1 << 2);
    hand_tasks_tensor(&h, 1, 1000, 1 << 2);
    h.tensor[0].stated_ns = 7;
    h.tensor[1].stated_ns = 2;
    hand_tasks_finish(&h);
    MUST(schedule(&s, &h.graph, 1));
    cr_expect_neq(s.device_of_task[0], s.device_of_task[1]);
    cr_expect_eq(s.device_of_task[2], s.device_of_task[0]);
    cr_expect_eq(s.start_ns[2], 5 + 2);
}

/* Stated times of messages count under the rules of single messages, and under no others. */
Test(critical_path, messages_are_stated_where_the_rules_have_them)
{
    const stated_op   op[2] = {{.gpu_us = 1, .cpu_us = 1, .copy_us = 4, .bytes = 8},
                               {.gpu_us = 1, .cpu_us = 1, .copy_us = 3}};
    const stated_edge edge = {0, 1};
    const char *const runtime[2] = {"edges", "ideal"};

    for (int i = 0; i < 2; i++) {
        OWN_TASK        t = {0};
        emp_task_graph *graph = NULL;
        task_create_stated(&t, op, 2, &edge, 1, 1, 2, 1 << 20, runtime[i]);
        MUST(emp_task_graph_create(&graph, t.problem, EMP_TASKS_OPS, NULL));
        cr_assert_eq(graph->tensor_count, 1);
        cr_expect_eq(graph->tensor[0].stated_ns, i == 0 ? 4000 : -1);
        emp_task_graph_destroy(graph);
    }
}

static int by_size(const void *left, const void *right)
{
    const double *l = left, *r = right;

    return (*l > *r) - (*l < *r);
}

static double step_ms(emp_sim *sim, const emp_problem *problem, uint64_t seed,
                      const char *options)
{
    emp_device_id            device[MAX_NODES];
    const emp_owned_decision proposal = {.device_of_op = device};
    const emp_method_params  params = {.seed = seed, .threads = 1, .options = options};
    const emp_method        *type = &emp_method_critical_path;
    emp_sim_result           result;

    cr_assert_leq(problem->graph->op_count, MAX_NODES);
    MUST(type->place(type, problem, &params, &proposal, &why));
    MUST(emp_sim_run(sim, device, &result, &why));
    return (double)result.step_time_ns * 1e-6;
}

static double median_ms(const emp_problem *problem, const char *options)
{
    OWN_SIM sim = NULL;
    double  ms[DRAWS];

    MUST(emp_sim_create(&sim, problem, NULL));
    for (uint64_t seed = 0; seed < DRAWS; seed++)
        ms[seed] = step_ms(sim, problem, seed + 1, options);
    qsort(ms, DRAWS, sizeof *ms, by_size);
    return (ms[DRAWS / 2 - 1] + ms[DRAWS / 2]) / 2;
}

/* An independent program drew the known medians, of 50 schedules each, by the released rule,
 * which knows no waits. Times come in steps, so that few draws may have another median. */
Test(published_graphs, medians_are_the_known_ones)
{
    static const struct {
        const char *file;
        int32_t     devices;
        double      known_ms;
    } graph[] = {{"chain_mm_112nodes", 4, 1700},
                 {"ffnn_192nodes", 4, 84.2},
                 {"transformer_block_215nodes", 4, 247.2},
                 {"full_transformer_layer_261nodes", 4, 237.7},
                 {"8gpu_transformer_block", 8, 327.9},
                 {"8gpu_full_transformer", 8, 273.4}};

    for (size_t i = 0; i < COUNT(graph); i++) {
        OWN_TASK t;
        fact_create_instance(&t, fact_peer_path("graphs/doppler", graph[i].file, ".txt"),
                             graph[i].devices, NULL);
        double ms = median_ms(t.problem, "waits=0");
        cr_expect_float_eq(ms, graph[i].known_ms, 0.01 * graph[i].known_ms, "%s: %g ms",
                           graph[i].file, ms);
        cr_log_warn("%s: %g ms, with waits %g ms", graph[i].file, ms,
                    median_ms(t.problem, NULL));
    }
}
