// SPDX-License-Identifier: GPL-3.0-or-later
/* Are the gradients of dyna's networks and the scores of its walks those that central differences give, and are the
 * numbers that networks see those of the placement, however a walk came there? */
#include "policy/dyna/dyna.h"
#include "tests/policy/differences.h"
#include "tests/support/problems.h"
#include "tests/support/survive.h"

enum { HIDDEN = 5, COUNT = 7 };
static const double STEP = 1e-6;

static task         t;
static emp_moves    moves;
static emp_proposer p;
static emp_rng      rng;

static void create(void)
{
    const emp_move_options options = {.kind = EMP_MOVES_GROUPS,
                                      .groups = EMP_CLASS_GROUPS_METIS,
                                      .coarsest = 3,
                                      .finest = 24,
                                      .near = 0.5};

    task_create(&t, "rnnlm:layers=1,steps=3", "k40x2", "tf-r1.3");
    ASSERT_OK(emp_moves_init(&moves, t.problem, &options, 1, &err));
    ASSERT_OK(emp_proposer_init(&p, t.problem, &moves, HIDDEN, 1, &err));
    emp_rng_init(&rng, 5, 0, 0);
}

static void destroy(void)
{
    emp_proposer_clear(&p);
    emp_moves_clear(&moves);
    task_destroy(&t);
    expect_all_freed();
}

TestSuite(dyna_networks, .init = create, .fini = destroy);

static double objective(emp_move_net *net, const emp_real *x, const double *weight)
{
    double sum = 0.0;

    emp_move_net_forward(net, x, COUNT);
    for (int i = 0; i < COUNT; i++) sum += weight[i] * net->out[i];
    return sum;
}

static void check_gradient(emp_move_net *net)
{
    emp_real x[COUNT * EMP_JUDGE_INPUTS];
    double   weight[COUNT];

    for (int i = 0; i < COUNT * net->inputs; i++) x[i] = emp_rng_normal(&rng);
    for (int i = 0; i < COUNT; i++) weight[i] = emp_rng_normal(&rng);
    for (size_t i = 0; i < net->params.count; i++)
        net->params.value[i] += 0.3 * emp_rng_normal(&rng);
    emp_params_zero_gradient(&net->params);
    emp_move_net_learn(net, net->params.gradient, x, weight, COUNT);
    for (int32_t s = 0; s < net->params.slice_count; s++) {
        const emp_param_slice *slice = &net->params.slice[s];
        for (size_t i = slice->offset;
             i < slice->offset + (size_t)(slice->rows * slice->cols); i++) {
            const emp_real kept = net->params.value[i];
            net->params.value[i] = kept + STEP;
            const double above = objective(net, x, weight);
            net->params.value[i] = kept - STEP;
            const double below = objective(net, x, weight);
            net->params.value[i] = kept;
            cr_expect_float_eq(net->params.gradient[i], (above - below) / (2 * STEP),
                               1e-7, "%s[%zu]", slice->name, i - slice->offset);
        }
    }
}

Test(dyna_networks, gradients_are_those_of_central_differences)
{
    check_gradient(&p.policy);
    check_gradient(&p.judge);
}

enum { PICKS = EMP_IMAGINED_BLOCK };
static const double TEMPERATURE = 2.0;

static emp_imagination im;
static int32_t         picks, made; /* of the last step: how many, which one */

/* log p of the move that was made, by the definition of the softmax. */
static double log_p_made(void)
{
    const emp_real *out = im.proposer.policy.out;
    double          sum = 0.0;

    emp_move_net_forward(&im.proposer.policy, im.proposer.x, picks);
    for (int32_t i = 0; i < picks; i++) sum += exp(out[i] / TEMPERATURE);
    return out[made] / TEMPERATURE - log(sum);
}

static void imagine_move(emp_imagined_walk *walk, emp_imagine_rule rule)
{
    const size_t row = EMP_PROPOSER_FEATURES;

    for (int32_t i = 0; i < PICKS; i++) im.proposer.x[(size_t)i * row] = NAN;
    ASSERT_OK(emp_imagine(&im, walk, rule, 1, t.device_of_op, &err));
    cr_assert_eq(walk->count, 1);
    for (picks = 0; picks < PICKS && !isnan(im.proposer.x[(size_t)picks * row]);) picks++;
    cr_assert_gt(picks, 1);
    made = 0;
    while (memcmp(walk->x[0], im.proposer.x + (size_t)made * row,
                  row * sizeof *im.proposer.x) != 0)
        cr_assert_lt(++made, picks);
}

/* The move is the policy's own, the surrogate's choice, or the judge's. */
Test(dyna_networks, scores_are_gradients_of_the_log_probabilities_of_moves)
{
    const emp_imagine_options options = {.moves = {.kind = EMP_MOVES_GROUPS,
                                                   .groups = EMP_CLASS_GROUPS_METIS,
                                                   .coarsest = 12,
                                                   .finest = 48,
                                                   .near = 0.5},
                                         .picks = PICKS,
                                         .temperature = TEMPERATURE,
                                         .alike = 1.0};
    emp_imagined_walk         walk = {.count = 0};

    ASSERT_OK(emp_imagination_init(&im, t.problem, &options, HIDDEN, 1, &err));
    emp_params *params = &im.proposer.policy.params;
    walk.score = EMP_NEW_ARRAY(emp_real, params->count);
    for (size_t i = 0; i < params->count; i++)
        params->value[i] += 0.5 * emp_rng_normal(&rng);
    emp_moves_scatter(&im.moves, &rng, im.here);
    im.here_s = 0.01;
    ASSERT_OK(emp_imagination_see(&im, &err));
    for (int rule = EMP_IMAGINE_BLIND; rule <= EMP_IMAGINE_JUDGE; rule++) {
        imagine_move(&walk, (emp_imagine_rule)rule);
        check("score", log_p_made, params->value, walk.score, (int)params->count);
    }
    emp_free(walk.score);
    emp_imagination_clear(&im);
}

static void weigh(const emp_move *m, emp_real *x)
{
    emp_proposer_weigh(&p, m, 1);
    memcpy(x, p.x, EMP_PROPOSER_FEATURES * sizeof *x);
}

/* A walk ends where a parent that stands there would: the same numbers, but those that only the oracle knows. */
Test(dyna_networks, a_walk_is_seen_as_a_parent_that_stands_there)
{
    emp_real walked[EMP_PROPOSER_FEATURES], stands[EMP_PROPOSER_FEATURES];

    emp_moves_scatter(&moves, &rng, t.device_of_op);
    emp_problem_legalize(t.problem, t.device_of_op);
    emp_proposer_see(&p, t.device_of_op, 0.01, NULL, NULL);
    for (int i = 0; i < 50; i++) {
        const emp_move m = emp_moves_pick(&moves, &rng, t.device_of_op);
        emp_move_make(&m, t.device_of_op);
        emp_proposer_move(&p, &m);
    }
    const emp_move next = emp_moves_pick(&moves, &rng, t.device_of_op);
    weigh(&next, walked);
    emp_proposer_see(&p, t.device_of_op, 0.01, NULL, NULL);
    weigh(&next, stands);
    for (int f = 0; f < EMP_PROPOSER_FEATURES; f++)
        cr_expect_float_eq(walked[f], stands[f], 1e-9, "feature %d", f);
}

Test(dyna_networks, a_return_undoes_a_walk)
{
    emp_real       before[EMP_PROPOSER_FEATURES], after[EMP_PROPOSER_FEATURES];
    const emp_move m = emp_moves_pick(&moves, &rng, t.device_of_op);

    emp_proposer_see(&p, t.device_of_op, 0.01, NULL, NULL);
    weigh(&m, before);
    emp_proposer_move(&p, &m);
    weigh(&m, after);
    cr_expect_neq(memcmp(before, after, sizeof before), 0, "a move changes what is seen");
    emp_proposer_return(&p);
    weigh(&m, after);
    cr_expect_eq(memcmp(before, after, sizeof before), 0);
}

/* Loads by hand: the sum of the times of a device's nodes, as a share of the step. */
Test(dyna_networks, loads_are_sums_of_times)
{
    enum { LOAD_THERE = 2 };
    const double    step_s = 0.25;
    double          load_s[EMP_MAX_DEVICES] = {0};
    emp_real        x[EMP_PROPOSER_FEATURES];
    emp_node_graph *n = p.nodes;

    emp_moves_scatter(&moves, &rng, t.device_of_op);
    emp_problem_legalize(t.problem, t.device_of_op);
    for (int32_t v = 0; v < n->node_count; v++) {
        const emp_device_id d = t.device_of_op[n->ops.member[n->ops.first[v]]];
        load_s[d] += n->time_s[v * n->device_count + d];
    }
    emp_proposer_see(&p, t.device_of_op, step_s, NULL, NULL);
    for (int i = 0; i < 20; i++) {
        const emp_move m = emp_moves_pick(&moves, &rng, t.device_of_op);
        weigh(&m, x);
        cr_expect_float_eq(x[LOAD_THERE], fmin(load_s[m.to] / step_s, 2.0), 1e-9);
    }
}
