// SPDX-License-Identifier: GPL-3.0-or-later
/* Is the network GiPH's, and an update that of the stated method? A plain program (plain_giph.h)
 * says so of whole episodes, central differences say so of gradients, all in the double build. */
#include "tests/policy/differences.h"
#include "tests/policy/giph/plain_giph.h"
#include "tests/policy/giph/stage.h"
#include "tests/support/status.h"

enum { EPISODES = 2, PARAMETERS = EMP_GIPH_PARAMETERS };

static const double STEP = 1e-6, LR = 0.01, EPSILON = 1e-3, GAMMA = 0.97;

static stage          s;
static emp_giph_agent agent;

static void clear_all(void)
{
    emp_giph_agent_clear(&agent);
    stage_close(&s);
}

TestSuite(giph_update, .fini = clear_all);

/* The parameters of a block one after another, without padding. */
static void read_block(const emp_params *params, const emp_real *block, double *flat)
{
    size_t at = 0;

    for (int32_t i = 0; i < params->slice_count; i++) {
        const emp_param_slice *slice = &params->slice[i];
        size_t                 count = (size_t)slice->rows * (size_t)slice->cols;
        cr_assert_leq(at + count, PARAMETERS);
        memcpy(flat + at, block + slice->offset, count * sizeof *flat);
        at += count;
    }
    cr_expect_eq(at, PARAMETERS);
}

/* ---- whole updates ----------------------------------------------------------------- */

typedef struct {
    plain_state state;
    int         last, op, device;
    double      reward, advantage;
} move;

static move          history[EPISODES][PLAIN_MOVES];
static plain_problem plain;
static double        critical[PLAIN_OPS][PLAIN_OPS];
static double        average[PLAIN_MOVES]; /* of returns */
static plain_params  tried;
static int           episodes, moves;

static double least_path(int op)
{
    double before = 0.0, factor = plain.factor[0];

    for (int a = 1; a < plain.devices; a++) factor = fmin(factor, plain.factor[a]);
    for (int i = 0; i < plain.ops; i++)
        if (plain.bytes[i][op] >= 0.0) before = fmax(before, least_path(i));
    return before + plain.compute[op] * factor;
}

static double unit_s(void)
{
    double longest = 0.0;

    for (int i = 0; i < plain.ops; i++) longest = fmax(longest, least_path(i));
    return 1e-9 * longest;
}

static plain_state see_episode(int k)
{
    plain_state state = {.device = {0}};

    for (int i = 0; i < plain.ops; i++) {
        state.device[i] = s.device[k][i];
        state.start[i] = (double)s.start_ns[k][i];
        state.end[i] = (double)s.end_ns[k][i];
    }
    return state;
}

static void note_move(move *m, const plain_state *before, int last, int k)
{
    *m = (move){.state = *before, .last = last, .op = -1};
    for (int i = 0; i < plain.ops; i++) {
        if (s.device[k][i] == before->device[i]) continue;
        cr_assert_eq(m->op, -1, "two ops moved");
        m->op = i;
        m->device = s.device[k][i];
    }
    cr_assert_neq(m->op, -1, "nothing moved");
    cr_assert_neq(m->op, last, "an op moved twice in a row");
}

static plain_params parameters(void)
{
    plain_params w;

    cr_assert_eq(sizeof w, PARAMETERS * sizeof(double));
    read_block(&agent.params, agent.params.value, (double *)&w);
    return w;
}

static void play_episodes(void)
{
    const plain_params w = parameters();
    plain_state        state[EPISODES];
    double             cost[EPISODES];
    int                last[EPISODES] = {-1, -1};

    for (int t = -1; t < moves; t++) {
        stage_ask(&s, &agent, EPISODES);
        cr_assert_eq(s.count, episodes);
        for (int k = 0; k < episodes; k++) {
            double now = s.score[k].step_time_s / unit_s();
            if (t >= 0) {
                move *m = &history[k][t];
                memcpy(state[k].critical, critical, sizeof critical);
                note_move(m, &state[k], last[k], k);
                m->reward = cost[k] - now;
                last[k] = m->op;
                cr_expect_float_eq(
                    agent.log_p[k * agent.length + t],
                    plain_log_p(&plain, &w, &m->state, m->last, m->op, m->device), 1e-6,
                    "probability of move %d", t);
            }
            cost[k] = now;
            state[k] = see_episode(k);
        }
        for (int k = 0; t < moves - 1 && k < episodes; k++)
            plain_learn(&plain, &state[k], critical);
        MUST(emp_giph_agent_tell(&agent, s.score, s.count, NULL));
    }
}

static double discounted(const move *of, int t)
{
    return t == moves ? 0.0 : of[t].reward + GAMMA * discounted(of, t + 1);
}

/* As released: less the mean of the rewards so far. */
static void judge_by_rewards(void)
{
    for (int k = 0; k < episodes; k++) {
        for (int t = 0; t < moves; t++) {
            double mean = 0.0;
            for (int i = 0; i <= t; i++) mean += history[k][i].reward / (t + 1);
            history[k][t].advantage = discounted(history[k], t) - mean;
        }
    }
}

/* Less the mean return of moves of that number, in all updates so far. */
static void judge_by_returns(int update)
{
    for (int t = 0; t < moves; t++) {
        double mean = 0.0;
        for (int k = 0; k < episodes; k++) mean += discounted(history[k], t) / episodes;
        average[t] = (average[t] * (update - 1) + mean) / update;
        for (int k = 0; k < episodes; k++)
            history[k][t].advantage = discounted(history[k], t) - average[t];
    }
}

static double objective(void)
{
    double sum = 0.0;

    for (int k = 0; k < episodes; k++) {
        for (int t = 0; t < moves; t++) {
            const move *m = &history[k][t];
            sum += m->advantage / episodes *
                   plain_log_p(&plain, &tried, &m->state, m->last, m->op, m->device);
        }
    }
    return sum;
}

static void expect_two_updates(const char *preset, int of_a_round, bool by_returns)
{
    static plain_block b;
    static double      got[PARAMETERS];
    char               text[64];

    episodes = of_a_round;
    snprintf(text, sizeof text, "episodes=%d,lr=%g,epsilon=%g", episodes, LR, EPSILON);
    stage_open(&s, "giph:v=4,alpha=0.5,seed=5", "giph:devices=3,seed=2", "edges");
    stage_agent(&s, &agent, preset, text, 3, 1);
    plain = plain_read(s.h.problem);
    cr_assert_geq(plain.ops, 4);
    moves = 2 * plain.ops;
    cr_assert_eq(agent.length, moves);
    plain_begin(&plain, critical);
    for (int update = 1; update <= 2; update++) {
        tried = parameters();
        memcpy(b.value, &tried, sizeof tried);
        play_episodes();
        if (by_returns)
            judge_by_returns(update);
        else
            judge_by_rewards();
        differentiate(b.gradient, (double *)&tried, PARAMETERS, STEP, objective);
        plain_adam(&b, PARAMETERS, LR, EPSILON, INFINITY, update);
        read_block(&agent.params, agent.params.value, got);
        for (int i = 0; i < PARAMETERS; i++)
            cr_assert_float_eq(got[i], b.value[i], 1e-6,
                               "update %d: parameter %d is %.9g, want %.9g", update, i,
                               got[i], b.value[i]);
    }
}

Test(giph_update, the_papers_is_that_of_a_plain_program)
{
    expect_two_updates("paper", 1, false);
}

Test(giph_update, ours_is_that_of_a_plain_program)
{
    expect_two_updates("emplace", EPISODES, true);
}

static int32_t action;

static double log_p(void)
{
    emp_giph_agent_see(&agent, agent.drawer, 0);
    return log(agent.drawer->p[action]);
}

/* Merged ops, of which some may use no GPU. */
Test(giph_update, gradients_are_those_of_differences)
{
    static double gradient[PARAMETERS], flat[PARAMETERS], want[ADAM_MOST];

    stage_open(&s, "rnnlm:layers=1,steps=2", "k40x2", "tf-r1.3");
    stage_agent(&s, &agent, "paper", "max_nodes=12", 3, 1);
    stage_play(&s, &agent, 3);
    agent.round = 1;
    emp_giph_agent_see(&agent, agent.drawer, 0);
    const int32_t kept = agent.last[0];
    int32_t       pivot[64];
    action = agent.drawer->action_count / 2;
    cr_assert_leq(agent.world.node_count, 64);
    memcpy(pivot, agent.at.pivot, sizeof(int32_t) * (size_t)agent.world.node_count);
    emp_giph_agent_move(&agent, agent.drawer, 0, action);
    read_block(&agent.params, agent.gradient, gradient);
    agent.last[0] = kept;
    memcpy(agent.at.pivot, pivot, sizeof(int32_t) * (size_t)agent.world.node_count);
    cr_assert_leq(agent.params.count, ADAM_MOST);
    differentiate(want, agent.params.value, agent.params.count, STEP, log_p);
    read_block(&agent.params, want, flat);
    for (int i = 0; i < PARAMETERS; i++)
        cr_assert_float_eq(gradient[i], flat[i], 1e-7, "parameter %d", i);
}
