// SPDX-License-Identifier: GPL-3.0-or-later
/* Does the planner go through its stages as asked, each with groups and weights of its own,
 * and refine the best of them? Does it learn the best placements by heart? */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policy/hdp/group_planner.h"
#include "policy/hdp/hdp.h"
#include "tests/policy/hdp/small_problem.h"

enum { LAYERS = 30, MAX_OPS = 128, SAMPLES = 4, STARTS = 3, DEVICES = 3 };

/* Three starts of four updates each, refined for two, then refinement to the end. */
#define NETWORKS "hidden=8,grouper_hidden=4,type_width=2,"
#define SMALL                                                               \
    NETWORKS "groups=6,samples=4,starts=3,start_samples=16,start_refine=8," \
             "refine_smallest=3,refine_largest=12,refine_cuts=2,grouping=random"

enum { LEARNING = 4, REFINING = 2, UPDATES = STARTS * (LEARNING + REFINING) };

static small_problem        problem;
static emp_device_id        storage[SAMPLES][MAX_OPS];
static emp_device_id *const candidates[SAMPLES] = {storage[0], storage[1], storage[2],
                                                   storage[3]};

static void create_problem(void)
{
    small_problem_init(&problem, LAYERS);
    cr_assert_leq(problem.graph->op_count, MAX_OPS);
}

static void destroy_problem(void)
{
    small_problem_clear(&problem);
    cr_expect_eq(emp_mem_live_blocks(), 0, "leaked");
}

TestSuite(group_planner, .init = create_problem, .fini = destroy_problem);

static emp_status try_create(emp_group_planner **planner, int32_t threads,
                             const char *options, emp_error *err)
{
    const emp_placer_params params = {
        .seed = 7, .threads = threads, .preset = "emplace", .options = options};
    void      *state = NULL;
    emp_status st = emp_placer_hdp.create(&state, problem.problem, &params, err);

    *planner = state; /* the planner with groups is its first member */
    return st;
}

static emp_group_planner *create(int32_t threads, const char *options)
{
    emp_group_planner *p = NULL;
    emp_error          err = {0};

    cr_assert_eq(try_create(&p, threads, options, &err), EMP_OK, "%s", err.msg);
    return p;
}

static void destroy(emp_group_planner *p) { emp_placer_hdp.destroy(p); }

static void ask(emp_group_planner *p)
{
    int32_t   count = 0;
    emp_error err = {0};

    cr_assert_eq(emp_placer_hdp.ask(p, candidates, SAMPLES, &count, &err), EMP_OK, "%s",
                 err.msg);
    cr_assert_eq(count, SAMPLES);
}

/* 1 s, and more for each op that is not on the device of its third of the ops. */
static double step_time_of(const emp_device_id *device)
{
    double time_s = 1.0;

    for (emp_op_id op = 0; op < problem.graph->op_count; op++)
        if (device[op] != op * DEVICES / problem.graph->op_count)
            time_s += 0.1 + 1e-4 * op;
    return time_s;
}

static void tell(emp_group_planner *p, bool is_feasible)
{
    emp_score score[SAMPLES];

    for (int32_t k = 0; k < SAMPLES; k++)
        score[k] = (emp_score){step_time_of(storage[k]), is_feasible, 0.0};
    cr_assert_eq(emp_placer_hdp.tell(p, score, SAMPLES, NULL), EMP_OK);
}

static void update(emp_group_planner *p, bool is_feasible)
{
    ask(p);
    tell(p, is_feasible);
}

static double metric(const emp_group_planner *p, const char *name)
{
    int32_t                  count = 0;
    const emp_placer_metric *all = emp_placer_hdp.metrics(p, &count);

    for (int32_t i = 0; i < count; i++)
        if (strcmp(all[i].name, name) == 0) return all[i].value;
    cr_assert_fail("no metric %s", name);
    return 0.0;
}

/* ---- stages ---- */

static void expect_stages(const char *options, int learning, int refining)
{
    emp_group_planner *p = create(1, options);
    int                updates = learning + refining;

    for (int u = 0; u < STARTS * updates + 3; u++) {
        bool is_last = u >= STARTS * updates;
        bool is_refining = is_last || u % updates >= learning;
        update(p, true);
        cr_assert_eq(metric(p, "stage"), is_last ? STARTS : u / updates, "update %d", u);
        cr_assert_eq(metric(p, "refining"), is_refining, "update %d", u);
        cr_assert_eq(isnan(metric(p, "loss")), is_refining, "update %d", u);
        cr_assert_eq(isnan(metric(p, "drawn_mean_s")), !is_refining, "update %d", u);
    }
    destroy(p);
}

Test(group_planner, stages_have_the_length_that_is_asked_for)
{
    expect_stages(SMALL, 4, 2);
    expect_stages(SMALL ",start_samples=13,start_refine=5", 4,
                  2); /* a batch goes beyond */
    expect_stages(SMALL ",start_samples=1,start_refine=1", 1, 1);
    expect_stages(SMALL ",start_refine=0", 4, 0);
}

Test(group_planner, without_starts_the_agent_goes_on)
{
    emp_group_planner *p = create(1, SMALL ",starts=0");
    int32_t            count = 0;

    for (int u = 0; u < 20; u++) update(p, true);
    cr_expect_eq(p->agent.update, 20);
    cr_expect_null(p->refine.device);
    emp_placer_hdp.metrics(p, &count);
    cr_expect_eq(count, EMP_HDP_METRICS);
    destroy(p);
}

Test(group_planner, each_start_has_groups_of_its_own)
{
    emp_group_planner *p = create(1, SMALL);
    size_t             bytes = (size_t)p->agent.ops->row_count * sizeof(int32_t);

    for (int a = 0; a < STARTS; a++)
        for (int b = 0; b < a; b++)
            cr_expect_neq(memcmp(p->groups[a], p->groups[b], bytes), 0, "%d, %d", a, b);
    for (int u = 0; u < UPDATES; u++) {
        update(p, true);
        cr_assert_eq(memcmp(p->agent.grouper.group_of_row,
                            p->groups[u / (LEARNING + REFINING)], bytes),
                     0, "update %d", u);
    }
    destroy(p);
}

/* Whatever was learned, a start begins with the same weights, and other ones than before. */
Test(group_planner, each_start_has_fresh_weights)
{
    emp_group_planner *a = create(1, SMALL ",start_refine=0"),
                      *b = create(1, SMALL ",start_refine=0");
    emp_params *x = &a->agent.net.params, *y = &b->agent.net.params;
    size_t      bytes = x->count * sizeof *x->value;
    emp_real   *first = malloc(bytes);

    memcpy(first, x->value, bytes);
    for (int start = 1; start < STARTS; start++) {
        for (int u = 0; u < 4; u++) {
            update(a, true);
            update(b, u == 2);
            if (u < 3)
                cr_assert_neq(memcmp(x->value, first, bytes), 0, "nothing learned");
            if (u == 2) cr_assert_neq(memcmp(x->value, y->value, bytes), 0);
        }
        cr_expect_eq(memcmp(x->value, y->value, bytes), 0);
        cr_expect_neq(memcmp(x->value, first, bytes), 0);
        cr_expect_eq(x->step, 0);
        for (size_t i = 0; i < x->count; i++)
            cr_assert(x->moment1[i] == 0 && x->moment2[i] == 0);
        cr_expect_eq(a->agent.elites.count, 0);
        cr_expect_eq(a->agent.baseline.is_started, 0);
        memcpy(first, x->value, bytes);
    }
    free(first);
    destroy(a);
    destroy(b);
}

/* What refining has begun with: the only elite is this placement. */
static void expect_refined(const emp_group_planner *p, const emp_device_id *best)
{
    cr_assert_eq(p->refine.elites.count, 1);
    cr_expect_eq(p->refine.elites.step_time_s[0], step_time_of(best));
    for (int32_t row = 0; row < p->agent.ops->row_count; row++)
        cr_expect_eq(emp_elites_at(&p->refine.elites, 0)[row],
                     best[p->agent.ops->op_of_row[row]], "row %d", row);
}

/* Asks and tells \a updates times; \a best becomes the best of what was asked and itself. */
static void follow_best(emp_group_planner *p, int updates, emp_device_id *best)
{
    for (int u = 0; u < updates; u++) {
        ask(p);
        for (int k = 0; k < SAMPLES; k++)
            if (step_time_of(storage[k]) < step_time_of(best))
                memcpy(best, storage[k], sizeof storage[k]);
        tell(p, true);
    }
}

Test(group_planner, a_start_refines_its_own_best_and_the_end_that_of_all)
{
    emp_group_planner *p = create(1, SMALL);
    emp_device_id      worst[MAX_OPS] = {0}, best_of_all[MAX_OPS] = {0};

    for (emp_op_id op = 0; op < problem.graph->op_count; op++)
        worst[op] = (op * DEVICES / problem.graph->op_count + 1) % DEVICES;
    memcpy(best_of_all, worst, sizeof worst);
    for (int start = 0; start < STARTS; start++) {
        emp_device_id best[MAX_OPS];
        memcpy(best, worst, sizeof best);
        follow_best(p, LEARNING, best);
        expect_refined(p, best);
        follow_best(p, REFINING, best);
        if (step_time_of(best) < step_time_of(best_of_all))
            memcpy(best_of_all, best, sizeof best);
    }
    expect_refined(p, best_of_all);
    double before_s = step_time_of(best_of_all);
    follow_best(p, 40, best_of_all);
    cr_expect_lt(step_time_of(best_of_all), before_s, "nothing was refined");
    cr_expect_eq(p->refine.elites.step_time_s[0], step_time_of(best_of_all));
    destroy(p);
}

/* A start whose samples do not fit is not refined, and counts for nothing. */
Test(group_planner, a_start_in_which_nothing_fits_is_passed_over)
{
    emp_group_planner *p = create(1, SMALL);
    emp_device_id      best[MAX_OPS];

    for (int u = 0; u < LEARNING; u++) update(p, false);
    ask(p);
    memcpy(best, storage[0], sizeof best);
    tell(p, true);
    cr_expect_eq(metric(p, "stage"), 1);
    follow_best(p, LEARNING - 1 + REFINING, best);
    for (int u = 0; u < LEARNING; u++) update(p, false);
    update(p, false);
    cr_expect_eq(metric(p, "stage"), STARTS);
    destroy(p);
}

Test(group_planner, the_last_start_goes_on_until_something_fits)
{
    emp_group_planner *p = create(1, SMALL);
    double             best_s = INFINITY;

    for (int u = 0; u < 30; u++) {
        update(p, false);
        cr_assert_eq(metric(p, "stage"),
                     u / LEARNING < STARTS ? u / LEARNING : STARTS - 1);
        cr_assert_eq(metric(p, "refining"), 0);
        cr_assert(isnan(metric(p, "elite_worst_s")));
    }
    ask(p);
    for (int k = 0; k < SAMPLES; k++) best_s = fmin(best_s, step_time_of(storage[k]));
    tell(p, true);
    cr_expect_eq(metric(p, "stage"), STARTS - 1);
    cr_expect_eq(p->refine.elites.step_time_s[0], best_s);
    update(p, false);
    cr_expect_eq(metric(p, "refining"), 1);
    cr_expect_eq(metric(p, "elite_worst_s"), best_s);
    destroy(p);
}

Test(group_planner, threads_do_not_change_candidates)
{
    static emp_device_id one_thread[UPDATES + 4][SAMPLES][MAX_OPS];

    for (int32_t threads = 1; threads <= 3; threads++) {
        emp_group_planner *p = create(threads, SMALL);
        for (int u = 0; u < UPDATES + 4; u++) {
            update(p, u % 3 != 0);
            if (threads == 1) memcpy(one_thread[u], storage, sizeof storage);
            cr_expect_eq(memcmp(one_thread[u], storage, sizeof storage), 0,
                         "update %d on %d threads", u, threads);
        }
        destroy(p);
    }
}

/* ---- refusals ---- */

static void expect_refused(const char *options, const char *sentence)
{
    emp_group_planner *p = NULL;
    emp_error          err = {0};

    cr_expect_eq(try_create(&p, 1, options, &err), EMP_EINVAL);
    cr_expect_null(p);
    cr_expect_str_eq(err.msg, sentence);
}

Test(group_planner, options_that_do_not_go_together_are_refused)
{
    static const char learned[] = "hdp: elites and starts are for groups that do not "
                                  "change; with grouping=learned give "
                                  "elites=0,strays=0,starts=0";
    static const char none[] =
        "hdp: elites and starts are for groups that do not change; "
        "with grouping=none give elites=0,strays=0,starts=0";

    expect_refused("grouping=learned", learned);
    expect_refused("grouping=learned,elites=0", learned);
    expect_refused("grouping=learned,starts=0", learned);
    expect_refused("grouping=none,elites=0", none);
    expect_refused("grouping=none,starts=0", none);
    expect_refused("refine_smallest=48,refine_largest=47",
                   "hdp: refine_smallest=48 is above refine_largest=47");
    expect_refused("elites=0", "hdp: strays are for elites; with elites=0 give strays=0");
    destroy(create(1, NETWORKS "grouping=learned,elites=0,strays=0,starts=0"));
    destroy(create(1, NETWORKS "starts=0,refine_smallest=48,refine_largest=47"));
}

static void expect_one_rank(const char *options, const char *sentence)
{
    emp_placer_params params = {.seed = 1, .ranks = 2, .preset = "emplace"};
    emp_error         err = {0};
    void             *state = NULL;

    params.options = options;
    cr_expect_eq(emp_placer_hdp.create(&state, problem.problem, &params, &err),
                 EMP_EUNSUPPORTED);
    cr_expect_str_eq(err.msg, sentence);
    cr_expect_null(state);
    params.ranks = 1;
    cr_assert_eq(emp_placer_hdp.create(&state, problem.problem, &params, NULL), EMP_OK);
    emp_placer_hdp.destroy(state);
}

/* Before any work, as ranks would share nothing of it. */
Test(group_planner, several_ranks_are_refused)
{
    static const char sentence[] = "hdp: ranks share no elites and no starts; start it "
                                   "without mpirun, or with preset paper";

    expect_one_rank(SMALL, sentence);
    expect_one_rank(SMALL ",elites=0,strays=0", sentence);
    expect_one_rank(SMALL ",starts=0", sentence);
    expect_one_rank(SMALL ",starts=0,elites=0,strays=0,objective=balance",
                    "hdp: objective=balance is for a run of one rank; start it without "
                    "mpirun");
}

static emp_named_array find_array(emp_group_planner *p, const char *name)
{
    emp_named_array all[EMP_MAX_NAMED_ARRAYS];
    int32_t         count = emp_placer_hdp.list_state(p, all);

    for (int32_t i = 0; i < count; i++)
        if (strcmp(all[i].name, name) == 0) return all[i];
    cr_assert_fail("no array %s", name);
    return all[0];
}

/* Puts a value at the beginning of an array, asks, and takes it away again. */
static void expect_damage_refused(emp_group_planner *p, const char *name, int64_t value,
                                  const char *sentence)
{
    emp_named_array array = find_array(p, name);
    size_t          bytes = emp_array_type_bytes(array.type);
    int32_t         narrow = (int32_t)value, count = 0;
    int64_t         before;
    emp_error       err = {0};

    cr_assert(array.type == EMP_ARRAY_INT32 || array.type == EMP_ARRAY_INT64);
    memcpy(&before, array.values, bytes);
    memcpy(array.values, bytes == 4 ? (void *)&narrow : (void *)&value, bytes);
    cr_expect_eq(emp_placer_hdp.ask(p, candidates, SAMPLES, &count, &err), EMP_EFORMAT,
                 "%s = %d", name, narrow);
    cr_expect_str_eq(err.msg, sentence);
    memcpy(array.values, &before, bytes);
}

Test(group_planner, damaged_states_are_refused)
{
    static const char  damaged[] = "the saved state of hdp is damaged";
    emp_group_planner *p = create(1, SMALL);

    for (int u = 0; u < 3; u++) update(p, true);
    expect_damage_refused(p, "stage", -1, damaged);
    expect_damage_refused(p, "stage", STARTS + 1, damaged);
    expect_damage_refused(p, "stage", STARTS, damaged); /* without a best placement */
    expect_damage_refused(p, "elite_count", -1, damaged);
    expect_damage_refused(p, "elite_count", 6, damaged);
    expect_damage_refused(p, "elite_width", 7, damaged);
    expect_damage_refused(p, "elite_width", -1, damaged);
    expect_damage_refused(p, "elite_device", DEVICES, damaged);
    expect_damage_refused(p, "elite_device", -1, damaged);
    expect_damage_refused(p, "start_best_count", 2, damaged);
    expect_damage_refused(p, "start_best", DEVICES, damaged);
    expect_damage_refused(p, "start_best", -1, damaged);
    expect_damage_refused(p, "best_count", 2, damaged);
    expect_damage_refused(p, "groups_hash", 1,
                          "the saved state of hdp is of other groups than those that are "
                          "made here; begin anew");
    for (int u = 3; u < UPDATES + 2; u++) update(p, true);
    cr_assert_eq(metric(p, "stage"), STARTS);
    expect_damage_refused(p, "best", DEVICES, damaged);
    expect_damage_refused(p, "best", -1, damaged);
    expect_damage_refused(p, "refine_count", 0, damaged);
    expect_damage_refused(p, "refine_count", 3, damaged);
    expect_damage_refused(p, "refine_device", DEVICES, damaged);
    expect_damage_refused(p, "refine_device", -1, damaged);
    update(p, true);
    destroy(p);
}

Test(group_planner, survives_every_allocation_failure)
{
    emp_group_planner *p = NULL;
    emp_status         st = EMP_ENOMEM;
    long               before = emp_mem_live_blocks();

    for (long allowed = 0; st != EMP_OK; allowed++) {
        emp_mem_fail_after(allowed);
        st = try_create(&p, 1, SMALL, NULL);
        emp_mem_fail_after(-1);
        if (st == EMP_OK) break;
        cr_assert_eq(st, EMP_ENOMEM, "after %ld allocations: %s", allowed,
                     emp_status_str(st));
        cr_assert_null(p);
        cr_assert_eq(emp_mem_live_blocks(), before, "leak after %ld allocations",
                     allowed);
    }
    emp_mem_fail_after(0);
    for (int u = 0; u < LEARNING; u++) update(p, true); /* allocates nothing */
    emp_mem_fail_after(-1);
    destroy(p);
}

/* ---- elites and greedy samples ---- */

/* Likelihoods of each step's devices in the last run. */
static const emp_real *probabilities(const emp_device_net *net, int32_t sample,
                                     int32_t step)
{
    return &net->p[(sample * net->steps + step) * net->shape.devices];
}

Test(group_planner, greedy_samples_take_the_likeliest_devices)
{
    emp_group_planner *p = create(1, SMALL ",starts=0,strays=0,placer_gain=20,noise=2");
    emp_device_net    *net = &p->agent.net;
    int                others = 0;

    for (int u = 0; u < 10; u++) {
        ask(p);
        for (int32_t k = 0; k < SAMPLES; k++) {
            for (int32_t step = 0; step < net->steps; step++) {
                const emp_real *at = probabilities(net, k, step);
                int32_t         best = 0;
                for (int32_t d = 1; d < DEVICES; d++)
                    if (at[d] > at[best]) best = d;
                if (k == 0) cr_expect_eq(net->device[step], best, "step %d", step);
                others += net->device[k * net->steps + step] != best;
            }
        }
        double greedy_s = step_time_of(storage[0]);
        tell(p, true);
        cr_expect_eq(metric(p, "greedy_s"), greedy_s);
    }
    cr_expect_gt(others, 10, "the other samples are greedy, too");
    destroy(p);
}

/* A planner that has seen so many updates of a problem in which one placement of 4 groups
 * is best, and takes 1 s. In the last ten the greedy sample was an elite, if not sooner. */
static emp_group_planner *learn_elites(const char *elites, int updates)
{
    char options[256];

    snprintf(options, sizeof options,
             "hidden=16,grouper_hidden=4,type_width=2,groups=4,samples=4,starts=0,"
             "grouping=chunks,lr=0.02,elites=%s",
             elites);
    emp_group_planner *p = create(1, options);
    const emp_elites  *e = &p->agent.elites;
    for (int u = 0; u < updates; u++) {
        emp_score score[SAMPLES];
        bool      is_elite = false;
        ask(p);
        for (int k = 0; k < SAMPLES; k++) {
            score[k] = (emp_score){1.0, true, 0.0};
            for (int32_t row = 0; row < p->agent.ops->row_count; row++)
                if (storage[k][p->agent.ops->op_of_row[row]] !=
                    (p->groups[0][row] + 1) % DEVICES)
                    score[k].step_time_s += 0.1;
        }
        if (u == 0) cr_expect_gt(score[0].step_time_s, 1.0, "there is nothing to learn");
        cr_assert_eq(emp_placer_hdp.tell(p, score, SAMPLES, NULL), EMP_OK);
        for (int64_t i = 0; i < e->count; i++)
            is_elite |= score[0].step_time_s == e->step_time_s[i];
        if (u >= updates - 10) cr_expect(is_elite, "update %d", u);
    }
    cr_expect_eq(e->step_time_s[0], 1.0);
    return p;
}

/* With one elite the placer comes to propose it and hardly anything else. */
Test(group_planner, an_elite_is_learned_by_heart)
{
    emp_group_planner *p = learn_elites("1", 250);

    cr_expect_gt(p->agent.net.log_prob[0], log(0.9), "its share is %g",
                 exp(p->agent.net.log_prob[0]));
    cr_expect_lt(metric(p, "placer_entropy"), 0.05);
    destroy(p);
}

/* With several it proposes each half as often as the one before it. */
Test(group_planner, several_elites_are_learned_by_rank)
{
    const double       shares[] = {4.0 / 7, 2.0 / 7, 1.0 / 7};
    emp_group_planner *p = learn_elites("3", 400);

    cr_expect_eq(p->agent.elites.count, 3);
    for (int32_t i = 0; i < 3; i++)
        cr_expect_float_eq(p->agent.net.log_prob[i], log(shares[i]), 0.2, "elite %d: %g",
                           i, p->agent.net.log_prob[i]);
    destroy(p);
}

/* The same network by itself, told the elites and their weights: 4, 2 and 1 of 7. */
static void expect_gradient_of_log_prob(const emp_hdp_agent *a)
{
    const emp_elites     *e = &a->elites;
    const emp_params     *got = &a->net.params;
    const emp_draw        draw = {.threads = 1};
    const emp_exploration none = {0};
    double                weight[EMP_MAX_BATCH], sum = 0.0;
    emp_device_net        net;

    cr_assert_eq(emp_device_net_init(&net, &a->net.shape, NULL), EMP_OK);
    memcpy(net.params.value, got->value, got->count * sizeof *got->value);
    emp_device_net_run(&net, a->x, a->used, (int32_t)e->count, &draw, &none, e->choice);
    for (int64_t i = 0; i < e->count; i++) {
        weight[i] = (double)(4 >> i) / 7;
        sum += weight[i] * net.log_prob[i];
    }
    emp_device_net_backward(&net, weight, a->options.entropy, 1);
    cr_expect_float_eq(a->metric[0].value, -sum, 1e-12, "the loss");
    cr_expect_arr_eq(net.params.gradient, got->gradient,
                     got->count * sizeof *got->gradient);
    emp_device_net_clear(&net);
}

Test(group_planner, imitation_raises_the_log_probability_of_the_elites)
{
    emp_group_planner *p = create(1, SMALL ",starts=0,elites=3");
    emp_score          score[SAMPLES] = {
                 {4, true, 0.0}, {2, true, 0.0}, {1, false, 0.0}, {3, true, 0.0}};
    emp_hdp_agent *a = &p->agent;

    ask(p);
    emp_hdp_agent_backward(a, score, SAMPLES, 0, SAMPLES);
    cr_assert_eq(a->elites.count, 3);
    cr_expect_eq(a->elites.step_time_s[0], 2.0, "what does not fit is no elite");
    cr_expect_str_eq(a->metric[0].name, "loss");
    expect_gradient_of_log_prob(a);
    emp_hdp_agent_step(a);
    ask(p); /* also with elites that come from earlier updates */
    score[3].step_time_s = 2.5;
    emp_hdp_agent_backward(a, score, SAMPLES, 0, SAMPLES);
    cr_assert_eq(a->elites.count, 3);
    expect_gradient_of_log_prob(a);
    destroy(p);
}

Test(group_planner, nothing_is_learned_before_something_fits)
{
    emp_group_planner *p = create(1, SMALL ",starts=0");
    emp_params        *params = &p->agent.net.params;
    size_t             bytes = params->count * sizeof *params->value;
    emp_real          *before = malloc(bytes);

    memcpy(before, params->value, bytes);
    for (int u = 0; u < 3; u++) update(p, false);
    cr_expect_eq(memcmp(before, params->value, bytes), 0);
    update(p, true);
    cr_expect_neq(memcmp(before, params->value, bytes), 0);
    free(before);
    destroy(p);
}

/* The devices that strays make of a proposal, beside the same without them. */
Test(group_planner, strays_are_as_many_as_asked_on_average)
{
    emp_group_planner *with = create(1, SMALL ",starts=0,groups=12,strays=2"),
                      *without = create(1, SMALL ",starts=0,groups=12,strays=0");
    int     moved = 0, samples = 0;
    int32_t steps = 0;

    for (int u = 0; u < 150; u++) {
        emp_hdp_agent *a = &with->agent, *b = &without->agent;
        ask(with);
        ask(without);
        steps = a->used;
        cr_assert_eq(
            memcmp(a->net.device, b->net.device, (size_t)steps * sizeof(int32_t)), 0,
            "the greedy sample strays");
        for (int32_t i = steps; i < SAMPLES * steps; i++)
            moved += a->net.device[i] != b->net.device[i];
        samples += SAMPLES - 1;
        a->update = b->update = u + 1; /* other random numbers, the same policy */
    }
    /* Of strays a third stay where they were, as there are three devices. */
    cr_expect_float_eq((double)moved / samples, 2.0 * 2.0 / 3.0, 0.2);
    destroy(with);
    destroy(without);
}

Test(group_planner, at_most_half_of_the_groups_stray)
{
    emp_group_planner *with = create(1, SMALL ",starts=0,greedy=0,strays=100"),
                      *without = create(1, SMALL ",starts=0,greedy=0,strays=0");
    int moved = 0, all = 0;

    for (int u = 0; u < 100; u++) {
        emp_hdp_agent *a = &with->agent, *b = &without->agent;
        ask(with);
        ask(without);
        for (int32_t i = 0; i < SAMPLES * a->used; i++, all++)
            moved += a->net.device[i] != b->net.device[i];
        a->update = b->update = u + 1;
    }
    cr_expect_float_eq((double)moved / all, 1.0 / 3.0, 0.04);
    destroy(with);
    destroy(without);
}
