// SPDX-License-Identifier: GPL-3.0-or-later
/* Does the method keep its word: gpNet as stated, the same moves on any number of threads, a resume
 * that goes on as if nothing had been, and placements that get better? */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policy/giph/giph.h"
#include "search/method.h"
#include "tests/policy/giph/stage.h"
#include "tests/support/survive.h"

static stage s;

static void close_stage(void)
{
    stage_close(&s);
    cr_expect_eq(emp_mem_live_blocks(), 0, "leaked");
}

static void open_small(void)
{
    stage_open(&s, "giph:v=8,seed=3", "giph:devices=4,seed=2", "edges");
}

TestSuite(giph, .init = open_small, .fini = close_stage);

/* ---- gpNet ------------------------------------------------------------------------- */

/* a -> b with 2 devices each: three links, those of the pivots and of each other pair. */
Test(giph, links_lead_from_and_to_pivots)
{
    emp_giph_agent agent;

    stage_agent(&s, &agent, NULL, NULL, 1, 1);
    stage_play(&s, &agent, 1);
    emp_giph_agent_see(&agent, agent.drawer, 0);
    const emp_giph_world *w = &agent.world;
    const emp_gpnet      *net = &agent.drawer->net;
    cr_expect_eq(w->node_count, s.h.graph->op_count);
    cr_expect_eq(w->pair_count, w->node_count * 4);
    cr_expect_eq(w->link_count, w->edge_count * (2 * 4 - 1));
    for (int32_t i = 0; i < w->edge_count; i++) {
        const int32_t from = agent.at.pivot[w->edge[i].from],
                      to = agent.at.pivot[w->edge[i].to];
        int32_t direct = 0;
        for (int32_t l = w->link_first[i]; l < w->link_first[i + 1]; l++) {
            cr_expect_eq(w->node_of_pair[net->source[l]], w->edge[i].from);
            cr_expect_eq(w->node_of_pair[net->target[l]], w->edge[i].to);
            cr_expect(net->source[l] == from || net->target[l] == to);
            direct += net->source[l] == from && net->target[l] == to;
        }
        cr_expect_eq(direct, 1);
    }
    emp_giph_agent_clear(&agent);
}

Test(giph, features_are_within_one_of_zero)
{
    emp_giph_agent agent;

    stage_agent(&s, &agent, NULL, NULL, 1, 1);
    stage_play(&s, &agent, 4);
    emp_giph_agent_see(&agent, agent.drawer, 0);
    const emp_gpnet *net = &agent.drawer->net;
    for (int32_t f = 0; f < EMP_GIPH_NODE_FEATURES; f++) {
        emp_real low = 1, high = -1;
        for (int32_t q = 0; q < agent.world.pair_count; q++) {
            low = fminf(low, net->x[q * EMP_GIPH_NODE_FEATURES + f]);
            high = fmaxf(high, net->x[q * EMP_GIPH_NODE_FEATURES + f]);
        }
        cr_expect_float_eq(low, -1.0f, 1e-6f, "feature %d", f);
        cr_expect_float_eq(high, 1.0f, 1e-6f, "feature %d", f);
    }
    emp_giph_agent_clear(&agent);
}

/* ---- the same again ---------------------------------------------------------------- */

static uint64_t play(emp_giph_agent *agent, int32_t rounds)
{
    uint64_t sum = 0;

    for (int32_t i = 0; i < rounds; i++) {
        stage_play(&s, agent, 1);
        for (int32_t k = 0; k < s.count; k++)
            for (emp_op_id op = 0; op < s.h.graph->op_count; op++)
                sum = sum * 31 + (uint64_t)s.device[k][op];
    }
    return sum;
}

Test(giph, threads_change_nothing)
{
    emp_giph_agent one, four;

    stage_agent(&s, &one, "emplace", "episodes=6", 5, 1);
    stage_agent(&s, &four, "emplace", "episodes=6", 5, 4);
    const int32_t rounds = 2 * one.length + 5;
    cr_expect_eq(play(&one, rounds), play(&four, rounds));
    cr_expect_arr_eq(one.params.value, four.params.value,
                     one.params.count * sizeof *one.params.value);
    emp_giph_agent_clear(&one);
    emp_giph_agent_clear(&four);
}

static void copy_state(emp_giph_agent *to, emp_giph_agent *from)
{
    emp_named_array a[EMP_MAX_NAMED_ARRAYS], b[EMP_MAX_NAMED_ARRAYS];
    int32_t         count = emp_giph_agent_list_state(from, a);

    cr_assert_eq(count, emp_giph_agent_list_state(to, b));
    for (int32_t i = 0; i < count; i++) {
        cr_assert_str_eq(a[i].name, b[i].name);
        cr_assert_eq(a[i].count, b[i].count);
        memcpy(b[i].values, a[i].values, a[i].count * emp_array_type_bytes(a[i].type));
    }
}

/* Of another graph on another machine. */
Test(giph, weights_fit_every_problem)
{
    emp_giph_agent    here;
    void             *there = NULL;
    emp_weights       weights = {0};
    emp_method_params params = {.seed = 9, .threads = 1, .weights = &weights};
    stage            *other = calloc(1, sizeof *other);

    cr_assert_not_null(other);
    stage_agent(&s, &here, NULL, NULL, 1, 1);
    stage_play(&s, &here, here.length + 1);
    cr_assert_eq(here.update, 1);
    cr_assert_eq(emp_method_take_weights(&weights, &emp_method_giph, &here, NULL),
                 EMP_OK);
    task_create(&other->h, "giph:v=12,seed=4", "giph:devices=7,seed=1", "edges");
    cr_assert_eq(
        emp_method_create(&there, &emp_method_giph, other->h.problem, &params, NULL),
        EMP_OK);
    const emp_params *got = &((emp_giph_agent *)there)->params;
    cr_expect_arr_eq(got->value, here.params.value, got->count * sizeof *got->value);
    cr_expect_eq(got->step, 1);
    emp_method_destroy(&emp_method_giph, there);
    emp_weights_clear(&weights);
    emp_giph_agent_clear(&here);
    stage_close(other);
    free(other);
}

/* In the middle of an episode after the first update, and of a round. */
Test(giph, a_resumed_run_goes_on_as_if_nothing_had_been)
{
    emp_giph_agent whole, resumed;

    stage_agent(&s, &whole, "emplace", "episodes=3", 5, 1);
    stage_play(&s, &whole, whole.length + 1 + whole.length / 2);
    stage_ask(&s, &whole, 2);
    cr_assert_eq(emp_giph_agent_tell(&whole, s.score, s.count, NULL), EMP_OK);
    cr_assert_eq(whole.told, 2);
    cr_assert_gt(whole.round, 1);
    stage_agent(&s, &resumed, "emplace", "episodes=3", 5, 1);
    copy_state(&resumed, &whole);
    const int32_t rounds = whole.length + 4;
    cr_expect_eq(play(&whole, rounds), play(&resumed, rounds));
    cr_expect_arr_eq(whole.params.value, resumed.params.value,
                     whole.params.count * sizeof *whole.params.value);
    emp_giph_agent_clear(&whole);
    emp_giph_agent_clear(&resumed);
}

Test(giph, damaged_states_are_refused)
{
    emp_giph_agent     agent;
    emp_device_id      device[STAGE_OPS];
    emp_owned_decision candidate = {.device_of_op = device};
    int32_t            count;

    stage_agent(&s, &agent, NULL, NULL, 1, 1);
    agent.at.pivot[0] = -1;
    cr_expect_eq(emp_giph_agent_ask(&agent, &candidate, 1, &count, NULL), EMP_EFORMAT);
    agent.at.pivot[0] = agent.world.pair_first[0];
    agent.round = agent.length + 1;
    cr_expect_eq(emp_giph_agent_ask(&agent, &candidate, 1, &count, NULL), EMP_EFORMAT);
    emp_giph_agent_clear(&agent);
}

/* ---- ask and tell ------------------------------------------------------------------ */

Test(giph, scores_must_be_those_asked_for_and_have_times)
{
    emp_giph_agent agent;
    emp_score      untimed[1] = {{.step_time_s = 1.0, .is_feasible = true}};

    stage_agent(&s, &agent, "emplace", "episodes=2", 1, 1);
    stage_ask(&s, &agent, 1);
    cr_expect_eq(s.count, 1);
    cr_expect_eq(emp_giph_agent_tell(&agent, s.score, 2, NULL), EMP_EINVAL);
    cr_expect_eq(emp_giph_agent_tell(&agent, untimed, 1, NULL), EMP_EINVAL);
    cr_expect_eq(emp_giph_agent_tell(&agent, s.score, 1, NULL), EMP_OK);
    stage_ask(&s, &agent, 8);
    cr_expect_eq(s.count, 1, "the other episode of the round");
    emp_giph_agent_clear(&agent);
}

Test(giph, the_first_episode_begins_at_the_start)
{
    emp_device_id     start[STAGE_OPS];
    emp_method_params params = {.seed = 1, .threads = 1, .start = start};
    void             *state = NULL;
    emp_error         err = {0};

    for (emp_op_id op = 0; op < s.h.graph->op_count; op++) start[op] = op % 4;
    cr_assert_eq(emp_method_create(&state, &emp_method_giph, s.h.problem, &params, &err),
                 EMP_OK, "%s", err.msg);
    stage_ask(&s, (emp_giph_agent *)state, 1);
    cr_expect_arr_eq(s.device[0], start,
                     (size_t)s.h.graph->op_count * sizeof(emp_device_id));
    emp_method_destroy(&emp_method_giph, state);
}

/* Of two ops that may move, one stands still after its move; of one, it may move on. */
Test(giph, an_op_does_not_move_twice_in_a_row_unless_it_is_alone)
{
    emp_giph_agent agent;

    stage_close(&s);
    stage_open(&s, "giph:v=1,alpha=1,seed=1", "giph:devices=2,seed=2", "edges");
    stage_agent(&s, &agent, NULL, NULL, 1, 1);
    stage_play(&s, &agent, 3);
    for (int32_t i = 0; i < agent.length - 3; i++) {
        int32_t before = agent.last[0];
        stage_play(&s, &agent, 1);
        cr_expect_neq(agent.last[0], before);
    }
    emp_giph_agent_see(&agent, agent.drawer, 0);
    const int32_t nodes = agent.world.node_count;
    cr_expect_eq(agent.drawer->action_count, nodes - 1);
    emp_giph_agent_clear(&agent);
}

static emp_status create(emp_giph_agent *agent)
{
    const emp_giph_options  options = stage_options("emplace", "episodes=2");
    const emp_method_params params = {.seed = 1, .threads = 2};

    emp_status st = emp_giph_agent_init(agent, s.h.problem, &options, &params, NULL);
    if (st != EMP_OK) emp_giph_agent_clear(agent);
    return st;
}

Test(giph, survives_every_allocation_failure)
{
    emp_giph_agent agent;

    SURVIVES_EVERY_ALLOCATION_FAILURE(create(&agent), (void)0);
    emp_mem_fail_after(0);
    stage_play(&s, &agent, agent.length + 2); /* ask and tell allocate nothing */
    emp_mem_fail_after(-1);
    emp_giph_agent_clear(&agent);
}

/* ---- learning ---------------------------------------------------------------------- */

static double best_of_giph(int32_t evaluations, uint64_t seed)
{
    emp_giph_agent agent;
    double         best = INFINITY;

    stage_agent(&s, &agent, "paper", NULL, seed, 1);
    for (int32_t i = 0; i < evaluations; i++) {
        stage_play(&s, &agent, 1);
        best = fmin(best, s.score[0].step_time_s);
    }
    emp_giph_agent_clear(&agent);
    return best;
}

static double best_of_random(int32_t evaluations, uint64_t seed)
{
    double  best = INFINITY;
    emp_rng rng;

    emp_rng_init(&rng, seed, 0, 0);
    for (int32_t i = 0; i < evaluations; i++) {
        for (emp_op_id op = 0; op < s.h.graph->op_count; op++)
            s.device[0][op] =
                (int32_t)emp_rng_below(&rng, (uint32_t)s.h.machine->device_count);
        stage_score(&s, 0);
        best = fmin(best, s.score[0].step_time_s);
    }
    return best;
}

/* Seconds of all ops on the fastest device, which no placement on several can beat if no message
 * is sooner there. */
static double together_s(void)
{
    double sum_s = 0.0, least_factor = INFINITY, least_delay_s = INFINITY;

    for (emp_op_id op = 0; op < s.h.graph->op_count; op++)
        sum_s += 1e-9 * (double)s.h.graph->stated[op].gpu_ns;
    for (int32_t a = 0; a < s.h.machine->device_count; a++) {
        least_factor = fmin(least_factor, s.h.machine->device[a].time_factor);
        for (int32_t b = 0; b < s.h.machine->device_count; b++)
            if (a != b)
                least_delay_s = fmin(least_delay_s, s.h.machine->route[a][b].latency_s);
    }
    cr_assert_gt(least_delay_s, sum_s * least_factor, "several devices may be better");
    return sum_s * least_factor;
}

Test(giph, finds_the_fastest_device_where_messages_are_dear)
{
    stage_close(&s);
    stage_open(&s, "giph:v=8,seed=3", "giph:devices=4,delay=1000,b_speed=1.5,seed=48",
               "edges");
    const double optimum = together_s();
    cr_expect_float_eq(best_of_giph(3000, 1), optimum, 1e-6);
    cr_expect_gt(best_of_random(3000, 1), 1.2 * optimum);
}

Test(giph, beats_random_placements_with_as_many_samples)
{
    double giph = 0.0, random = 0.0;

    for (int number = 1; number <= 3; number++) {
        char graph[64], machine[64];
        snprintf(graph, sizeof graph, "giph:v=8,seed=%d", number);
        snprintf(machine, sizeof machine, "giph:devices=8,seed=%d", number);
        stage_close(&s);
        stage_open(&s, graph, machine, "edges");
        giph += log(best_of_giph(3000, 1)) / 3;
        random += log(best_of_random(3000, 1)) / 3;
    }
    cr_expect_lt(exp(giph - random), 0.9, "only %.3f of random's", exp(giph - random));
}

/* ---- words ------------------------------------------------------------------------- */

static void expect_refusal(const char *preset, const char *options, const char *start)
{
    const emp_method_params params = {
        .seed = 1, .threads = 1, .preset = preset, .options = options};
    emp_error err = {0};
    void     *state = NULL;

    cr_assert_eq(emp_method_create(&state, &emp_method_giph, s.h.problem, &params, &err),
                 EMP_EINVAL);
    cr_expect_null(state);
    cr_expect_eq(strncmp(err.msg, start, strlen(start)), 0, "%s", err.msg);
}

Test(giph, says_what_is_wrong)
{
    expect_refusal(NULL, "episodes=65", "giph: option episodes is 65, must be a whole");
    expect_refusal(NULL, "baseline=mean",
                   "giph: option baseline is mean, must be one of");
    expect_refusal("fast", NULL, "giph has no preset \"fast\"; it has paper|emplace");
}
