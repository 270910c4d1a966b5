// SPDX-License-Identifier: GPL-3.0-or-later
/* Rounds of episodes, and placements that get better. */
#include "policy/giph/giph.h"
#include "tests/policy/giph/stage.h"
#include "tests/support/status.h"

static stage s;

static void close_stage(void)
{
    stage_close(&s);
    expect_all_freed();
}

static void open_small(void)
{
    stage_open(&s, "giph:v=8,seed=3", "giph:devices=4,seed=2", "edges");
}

TestSuite(giph, .init = open_small, .fini = close_stage);

Test(giph, scores_must_be_those_asked_for_and_have_times)
{
    SCOPED(emp_giph_agent, emp_giph_agent_clear) agent;
    emp_score untimed[1] = {{.step_time_s = 1.0, .is_feasible = true}};

    stage_agent(&s, &agent, "emplace", "episodes=2", 1, 1);
    stage_ask(&s, &agent, 1);
    cr_expect_eq(s.count, 1);
    cr_expect_eq(emp_giph_agent_tell(&agent, s.score, 2, NULL), EMP_EINVAL);
    cr_expect_eq(emp_giph_agent_tell(&agent, untimed, 1, NULL), EMP_EINVAL);
    MUST(emp_giph_agent_tell(&agent, s.score, 1, NULL));
    stage_ask(&s, &agent, 8);
    cr_expect_eq(s.count, 1, "the other episode of the round");
}

Test(giph, the_first_episode_begins_at_the_start)
{
    emp_device_id     start[STAGE_OPS];
    emp_method_params params = {.seed = 1, .threads = 1, .start = start};
    void             *state = NULL;

    for (emp_op_id op = 0; op < s.h.graph->op_count; op++) start[op] = op % 4;
    MUST(emp_method_create(&state, &emp_method_giph, s.h.problem, &params, &why));
    stage_ask(&s, (emp_giph_agent *)state, 1);
    cr_expect_arr_eq(s.device[0], start,
                     (size_t)s.h.graph->op_count * sizeof(emp_device_id));
    emp_method_destroy(&emp_method_giph, state);
}

/* With two ops that may move, one stands still after its move; a single one may move on. */
Test(giph, an_op_does_not_move_twice_in_a_row_unless_it_is_alone)
{
    SCOPED(emp_giph_agent, emp_giph_agent_clear) agent;

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
}

static double best_of_giph(int32_t evaluations, uint64_t seed)
{
    SCOPED(emp_giph_agent, emp_giph_agent_clear) agent;
    double best = INFINITY;

    stage_agent(&s, &agent, "paper", NULL, seed, 1);
    for (int32_t i = 0; i < evaluations; i++) {
        stage_play(&s, &agent, 1);
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
}
