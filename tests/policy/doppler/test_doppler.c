// SPDX-License-Identifier: GPL-3.0-or-later
/* DOPPLER: facts worked out by hand, devices that are allowed and have room, the teacher's choices after imitation,
 * levels by the order of selection, and the best placement of a case that is known. */
#include "policy/doppler/doppler.h"
#include "sim/engine/sim.h"
#include "tests/support/methods.h"
#include "tests/support/problems.h"

static void release_state(void **state)
{
    emp_method_destroy(&emp_method_doppler, *state);
}
#define OWN_STATE SCOPED(void *, release_state)

enum { MAX_OPS = 64, SAMPLES = 4, DEVICES = 3 };

#define NARROW "width=8,steps=2,samples=4"
#define SMALL  NARROW ",imitation=40"

static task                     t;
static emp_sim                 *sim;
static emp_device_id            device[SAMPLES][MAX_OPS];
static uint8_t                  level[SAMPLES][MAX_OPS];
static const emp_owned_decision candidates[SAMPLES] = {{.device_of_op = device[0]},
                                                       {.device_of_op = device[1]},
                                                       {.device_of_op = device[2]},
                                                       {.device_of_op = device[3]}};

static void destroy(void)
{
    emp_sim_destroy(sim);
    task_destroy(&t);
    expect_all_freed();
}

TestSuite(doppler, .fini = destroy);

static void pose(const stated_op *ops, int32_t op_count, const stated_edge *edges,
                 int32_t edge_count, int32_t devices, int64_t gpu_bytes)
{
    task_create_stated(&t, ops, op_count, edges, edge_count, 1, devices - 1, gpu_bytes,
                       "edges");
    cr_assert_leq(op_count, MAX_OPS);
    MUST(emp_sim_create(&sim, t.problem, NULL));
}

/* Three layers of four ops, each of which reads two of the layer before. */
enum {
    LAYERS = 4,
    WIDE = 4,
    NET_OPS = LAYERS * WIDE,
    NET_EDGES = 2 * WIDE * (LAYERS - 1)
};

static void pose_net(void)
{
    stated_op   op[NET_OPS] = {{0}};
    stated_edge edge[NET_EDGES];
    int32_t     edges = 0;

    for (int32_t i = 0; i < NET_OPS; i++) {
        op[i].gpu_us = op[i].cpu_us = 3 + i * 5 % 7;
        op[i].copy_us = 2 + i * 3 % 5;
        if (i < WIDE) continue;
        const int32_t above = (i / WIDE - 1) * WIDE;
        edge[edges++] = (stated_edge){above + i % WIDE, i};
        edge[edges++] = (stated_edge){above + (i + 1) % WIDE, i};
    }
    pose(op, NET_OPS, edge, edges, DEVICES, 1 << 30);
}

static void *create(const char *options)
{
    return method_begin(
        &emp_method_doppler, t.problem,
        (emp_method_params){
            .seed = 7, .threads = 1, .options = options, .budget_evaluations = 40});
}

/* One ask and tell, scored by the oracle. Returns the mean time in microseconds. */
static double update(void *state)
{
    emp_score      score[SAMPLES];
    emp_sim_result result;
    int32_t        count = 0;
    double         sum = 0.0;

    MUST(emp_method_doppler.ask(state, candidates, SAMPLES, &count, NULL));
    for (int32_t k = 0; k < count; k++) {
        MUST(emp_sim_run(sim, device[k], &result, NULL));
        score[k] = (emp_score){.step_time_s = (double)result.step_time_ns * 1e-9,
                               .is_feasible = result.is_feasible};
        sum += (double)result.step_time_ns * 1e-3;
    }
    MUST(emp_method_doppler.tell(state, score, count, NULL));
    return sum / count;
}

/* The ops' sizes are persistent. A GPU has room for one of them, and the CPU for all. */
Test(doppler, devices_without_room_are_no_candidates)
{
    stated_op           op[3] = {{.gpu_us = 1, .cpu_us = 1, .bytes = 60},
                                 {.gpu_us = 1, .cpu_us = 1, .bytes = 60},
                                 {.gpu_us = 1, .cpu_us = 1, .bytes = 60, .is_cpu_only = true}};
    emp_doppler_scene   s;
    emp_doppler_episode e;

    pose(op, 3, NULL, 0, 2, 100);
    MUST(emp_doppler_scene_init(&s, t.problem, 512, NULL));
    cr_assert_eq(s.graph->node_count, 2, "the third has no choice");
    MUST(emp_doppler_episode_init(&e, &s, NULL));
    emp_doppler_episode_begin(&e);
    emp_doppler_episode_look(&e, 0);
    cr_expect_eq(e.candidate_count, 2);
    emp_doppler_episode_book(&e, 0, 1);
    emp_doppler_episode_look(&e, 1);
    cr_expect_eq(e.candidate_count, 1);
    cr_expect_eq(e.candidate[0], 0);
    emp_doppler_episode_clear(&e);
    emp_doppler_scene_clear(&s);
}

/* ---- learning ---- */

/* Without exploration every choice is one that the teacher may make. */
Test(doppler, imitation_makes_the_teacher)
{
    pose_net();
    OWN_STATE state =
        create("width=16,steps=2,imitation=600,imitation_entropy=0,epsilon=0,"
               "lr=0,samples=1");
    emp_doppler_agent *agent = (emp_doppler_agent *)state;

    update(state);
    emp_doppler_agent_imitation(agent, 1, 0.0);
    cr_expect_gt(agent->match[0], 0.9, "%g of the nodes", agent->match[0]);
    cr_expect_gt(agent->match[1], 0.9, "%g of the devices", agent->match[1]);
}

/* The stage is over when the agreement does, with a patience, no longer rise. */
Test(doppler, imitation_ends_when_nothing_more_is_learned)
{
    static const struct {
        const char *options;
        bool        is_shorter;
    } cases[] = {{NARROW ",imitation_patience=12,imitation_agreement=1", true},
                 {NARROW ",imitation_patience=1000,imitation_agreement=0.3", true},
                 {NARROW ",imitation_patience=1000,imitation_agreement=1", false},
                 {NARROW ",imitation_patience=0,imitation_agreement=0", false}};

    pose_net();
    for (int i = 0; i < 4; i++) {
        char options[256];
        snprintf(options, sizeof options, "%s,imitation=200", cases[i].options);
        OWN_STATE                state = create(options);
        const emp_doppler_agent *agent = (const emp_doppler_agent *)state;
        update(state);
        cr_expect_eq(agent->imitated < 200, cases[i].is_shorter, "%s: %d episodes",
                     options, (int)agent->imitated);
        const int64_t imitated = agent->imitated;
        update(state);
        cr_expect_eq(agent->imitated, imitated, "imitation begins again");
    }
}

/* Two chains, whose messages take longer than an op: 60 us if each keeps to a device. */
Test(doppler, finds_the_best_placement)
{
    enum { LENGTH = 6, OPS = 2 * LENGTH };
    stated_op   op[OPS] = {{0}};
    stated_edge edge[OPS];
    int32_t     edges = 0;

    for (int32_t i = 0; i < OPS; i++) {
        op[i] = (stated_op){.gpu_us = 10, .cpu_us = 10, .copy_us = 15};
        if (i >= 2) edge[edges++] = (stated_edge){i - 2, i};
    }
    pose(op, OPS, edge, edges, 2, 1 << 20);
    OWN_STATE state =
        create("width=16,steps=2,samples=4,imitation=0,explore=softmax,lr=3e-3,"
               "reward=log,baseline_mean=0");
    double first = 0.0, last = 0.0;
    for (int u = 0; u < 20; u++) first += update(state) / 20;
    for (int u = 0; u < 150; u++) update(state);
    for (int u = 0; u < 20; u++) last += update(state) / 20;
    cr_expect_gt(first, 75.0, "untrained: %g us", first);
    cr_expect_lt(last, 63.0, "trained: %g us", last);
}

Test(doppler, levels_follow_the_order_of_selection)
{
    emp_owned_decision ordered[SAMPLES];
    int32_t            count = 0;

    pose_net();
    for (int k = 0; k < SAMPLES; k++)
        ordered[k] =
            (emp_owned_decision){.device_of_op = device[k], .level_of_op = level[k]};
    OWN_STATE                state = create(SMALL);
    const emp_doppler_agent *agent = (const emp_doppler_agent *)state;
    MUST(emp_method_doppler.ask(state, ordered, SAMPLES, &count, NULL));
    for (int32_t k = 0; k < count; k++) {
        cr_assert(emp_decision_is_valid(&ordered[k], DEVICES));
        for (int32_t i = 1; i < NET_OPS; i++)
            cr_expect_gt(level[k][agent->run[k].node_of_step[i]],
                         level[k][agent->run[k].node_of_step[i - 1]]);
    }
}
