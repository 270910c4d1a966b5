// SPDX-License-Identifier: GPL-3.0-or-later
/* The promises of all learners: the same candidates on any number of threads and after a resume at any moment, weights
 * that serve another graph, ranks that learn together what one learns, and step times that fall. */
#include "policy/colocrl/colocrl.h"
#include "policy/doppler/doppler.h"
#include "policy/dyna/dyna.h"
#include "policy/giph/giph.h"
#include "policy/go/go.h"
#include "policy/hdp/hdp.h"
#include "policy/hsdag/hsdag.h"
#include "policy/nn/threads.h"
#include "policy/placeto/placeto.h"
#include "search/method.h"
#include "tests/support/problems.h"
#include "tests/support/status.h"

enum {
    LAYERS = 12,
    MAX_OPS = 128,
    MOST = 8,
    ALL = EMP_DECIDES_DEVICES | EMP_DECIDES_MORE
};

#define HDP     "groups=12,hidden=10,grouper_hidden=9,type_width=4"
#define COLOCRL "hidden=10,type_width=4"
#define PLACETO "max_nodes=5,rollouts=3,passes=2"
#define DYNA    "groups=metis,coarsest=2,finest=8,cuts=1"
#define HSDAG   "width=24,samples=5,groups_per_device=2"
#define GO      "samples=8,width=8,heads=2,hidden=8,type_width=4,segment=8"

typedef struct {
    const emp_method *method;
    const char       *preset, *options;
    int32_t           samples; /* that are asked for at once */
} subject;

/* GiPH's rounds have three episodes, of which an ask takes two. */
static const subject subjects[] = {
    {&emp_method_hdp, "paper", HDP ",grouping=learned,updates_noise=1,updates_failures=4",
     4},
    {&emp_method_hdp, "paper", HDP ",grouping=chunks,updates_failures=4", 4},
    {&emp_method_hdp, "literal", HDP ",updates_noise=4,updates_failures=4", 4},
    {&emp_method_hdp, "literal", HDP ",redraw=1", 4},
    {&emp_method_hdp, "paper", HDP ",grouping=none", 4},
    {&emp_method_colocrl, NULL, COLOCRL ",updates_failures=4", 4},
    {&emp_method_placeto, "emplace", PLACETO ",start=once", 3},
    {&emp_method_placeto, "emplace", PLACETO ",start=each", 3},
    {&emp_method_placeto, "emplace", PLACETO ",start=best", 3},
    {&emp_method_placeto, "emplace", PLACETO ",start=once,greedy_every=2", 3},
    {&emp_method_giph, "emplace", "max_nodes=6,episodes=3", 2},
    {&emp_method_hsdag, "paper", HSDAG, 5},
    {&emp_method_hsdag, "emplace", HSDAG, 5},
    {&emp_method_doppler, NULL, "width=8,steps=2,samples=4,imitation=40", 4},
    {&emp_method_doppler, NULL,
     "width=8,steps=2,samples=4,imitation=400,imitation_patience=8", 4},
    {&emp_method_dyna, NULL, DYNA, 8},
    {&emp_method_dyna, NULL, DYNA ",longest=0", 8},
    {&emp_method_go, "paper", GO ",lr=0.01", 8},
    {&emp_method_go, "emplace", GO ",lr=0.01", 8},
    {&emp_method_go, "emplace", GO ",lr=0.01,rounds=2", 8},
    {&emp_method_go, "emplace", GO ",nodes=groups,groups=6,names=matched,fit=1", 8}};
enum { SUBJECTS = COUNT(subjects) };

static task h;

typedef struct {
    const subject     *of;
    void              *state;
    emp_device_id      device[MOST][MAX_OPS];
    emp_owned_decision candidate[MOST];
    int32_t            count;
} learner;

static void create_problem(void) { hand_graph_comb(&h, LAYERS); }

static void destroy_problem(void)
{
    task_destroy(&h);
    expect_all_freed();
}

TestSuite(learners, .init = create_problem, .fini = destroy_problem);

static emp_method_params params_of(const subject *of)
{
    return (emp_method_params){.seed = 7,
                               .threads = 1,
                               .preset = of->preset,
                               .options = of->options,
                               .budget_evaluations = 1000};
}

static void begin_with(learner *l, const subject *of, const emp_method_params *params)
{
    *l = (learner){.of = of};
    cr_assert_leq(h.graph->op_count, MAX_OPS);
    MUST(emp_method_create(&l->state, of->method, h.problem, params, &why));
    for (int k = 0; k < MOST; k++) l->candidate[k].device_of_op = l->device[k];
}

static void begin(learner *l, const subject *of, int32_t threads)
{
    emp_method_params params = params_of(of);

    params.threads = threads;
    begin_with(l, of, &params);
}

static void end(learner *l) { emp_method_destroy(l->of->method, l->state); }

static emp_status ask(learner *l, int32_t most)
{
    memset(l->device, 0, sizeof l->device);
    return emp_method_ask(l->of->method, l->state, l->candidate, most, &l->count, &why);
}

/* A placement takes 1 s, and as much again as ops are not on device 1; ops run later on later devices. */
static emp_score score_of(const emp_device_id *device, emp_time_ns times_ns[2][MAX_OPS])
{
    int32_t elsewhere = 0;

    for (int32_t i = 0; i < h.graph->op_count; i++) {
        const emp_op_id op = h.graph->topo[i];
        cr_assert(device[op] >= 0 && device[op] < 3, "op %d on device %d", op,
                  device[op]);
        elsewhere += device[op] != 1;
        times_ns[0][op] = i * 1000 * (device[op] + 1);
        times_ns[1][op] = times_ns[0][op] + 1000;
    }
    return (emp_score){.step_time_s = 1.0 + (double)elsewhere / h.graph->op_count,
                       .is_feasible = true,
                       .start_ns = times_ns[0],
                       .end_ns = times_ns[1]};
}

static emp_status tell(learner *l, int32_t count, bool is_feasible)
{
    static emp_time_ns times_ns[MOST][2][MAX_OPS];
    emp_score          score[MOST];

    for (int32_t k = 0; k < count; k++) {
        score[k] = score_of(l->device[k], times_ns[k]);
        score[k].is_feasible = is_feasible;
    }
    return emp_method_tell(l->of->method, l->state, score, count, &why);
}

/* One ask and tell; the time of the first candidate. */
static double update(learner *l, bool is_feasible)
{
    emp_time_ns times_ns[2][MAX_OPS];

    MUST(ask(l, l->of->samples));
    cr_assert(l->count > 0 && l->count <= l->of->samples, "%s", l->of->method->name);
    MUST(tell(l, l->count, is_feasible));
    return score_of(l->device[0], times_ns).step_time_s;
}

typedef int32_t lister(void *state, emp_named_array *arrays);

static void for_arrays(lister *list, learner *to, learner *from, bool copies)
{
    emp_named_array a[EMP_MAX_NAMED_ARRAYS], b[EMP_MAX_NAMED_ARRAYS];
    const int32_t   count = list(from->state, a);

    cr_assert_eq(list(to->state, b), count);
    for (int32_t i = 0; i < count; i++) {
        const size_t bytes = a[i].count * emp_array_type_bytes(a[i].type);
        cr_assert_str_eq(a[i].name, b[i].name);
        cr_assert_eq(a[i].count, b[i].count);
        if (copies) memcpy(b[i].values, a[i].values, bytes);
        cr_expect_eq(memcmp(b[i].values, a[i].values, bytes), 0, "%s of %s %s", a[i].name,
                     from->of->method->name, from->of->options);
    }
}

static void expect_same_updates(learner *a, learner *b, int updates)
{
    for (int u = 0; u < updates; u++) {
        update(a, u != 1);
        update(b, u != 1);
        cr_expect_arr_eq(a->device, b->device, sizeof a->device, "%s %s: update %d",
                         a->of->method->name, a->of->options, u);
    }
    for_arrays(a->of->method->list_state, a, b, false);
}

/* Also where every kernel of the networks has a thread for each operation. */
Test(learners, threads_do_not_change_candidates)
{
    emp_team_set_least(1);
    for (int i = 0; i < SUBJECTS; i++) {
        static learner one, more;
        begin(&one, &subjects[i], 1);
        begin(&more, &subjects[i], 2 + i % 3);
        expect_same_updates(&one, &more, 6);
        end(&one);
        end(&more);
    }
}

/* Puts the state of a checkpoint into a learner that has just been created: also in the middle of an episode. */
Test(learners, listed_state_is_all_that_later_updates_depend_on)
{
    for (int i = 0; i < 4 * SUBJECTS; i++) {
        static learner whole, resumed;
        const subject *of = &subjects[i / 4];
        begin(&whole, of, 1);
        begin(&resumed, of, 2);
        for (int u = 0; u < 1 + i % 4 * 3; u++) update(&whole, u != 1);
        for_arrays(of->method->list_state, &resumed, &whole, true);
        expect_same_updates(&whole, &resumed, 6);
        end(&whole);
        end(&resumed);
    }
}

Test(learners, as_many_scores_as_candidates_are_told)
{
    for (int i = 0; i < SUBJECTS; i++) {
        static learner l;
        begin(&l, &subjects[i], 1);
        update(&l, true);
        cr_expect_eq(ask(&l, 0), EMP_EINVAL, "%s", l.of->method->name);
        MUST(ask(&l, 2));
        cr_expect_eq(tell(&l, l.count + 1, true), EMP_EINVAL, "%s", l.of->method->name);
        cr_expect_eq(tell(&l, l.count, true), EMP_OK, "%s", l.of->method->name);
        end(&l);
    }
}

Test(learners, survive_every_allocation_failure)
{
    static const subject more[] = {
        {&emp_method_hdp, NULL,
         HDP ",grouping=learned,noise_form=gaussian,redraw=1,empty_groups=1", 4},
        {&emp_method_hdp, NULL, HDP ",grouping=chunks", 4},
        {&emp_method_hdp, NULL, HDP ",grouping=metis", 4},
        {&emp_method_hdp, NULL, HDP ",grouping=scotch", 4},
        {&emp_method_hdp, NULL, HDP ",grouping=names", 4},
        {&emp_method_hdp, NULL, HDP ",grouping=colocation", 4},
        {&emp_method_hdp, NULL, HDP ",objective=balance", 4},
        {&emp_method_hsdag, NULL, "features=code," HSDAG, 5},
        {&emp_method_hsdag, NULL, "features=costs,nodes=20," HSDAG, 5}};

    for (size_t i = 0; i < SUBJECTS + COUNT(more); i++) {
        static learner          l;
        const subject          *of = i < SUBJECTS ? &subjects[i] : &more[i - SUBJECTS];
        const emp_method_params params = params_of(of);
        void                   *state = NULL;
        SURVIVES_EVERY_ALLOCATION_FAILURE(
            emp_method_create(&state, of->method, h.problem, &params, NULL),
            cr_assert_null(state));
        emp_method_destroy(of->method, state);
        if (of->method == &emp_method_dyna) continue; /* an ask traces a step */
        begin(&l, of, 1);
        emp_mem_fail_after(0);
        for (int u = 0; u < 3; u++) update(&l, true); /* ask and tell allocate nothing */
        emp_mem_fail_after(-1);
        end(&l);
    }
}

Test(learners, name_what_is_wrong)
{
    static const struct {
        const emp_method *method;
        const char       *preset, *options, *part;
        int32_t           decides;
    } cases[] = {{&emp_method_hdp, NULL, "lrr=1", "\"lrr\"", 0},
                 {&emp_method_hdp, NULL, "grouping=kahip", "kahip", 0},
                 {&emp_method_hdp, NULL, "grouping=learned,window=0", "ranges=0", 0},
                 {&emp_method_hdp, "emplace", NULL, "any more", 0},
                 {&emp_method_colocrl, NULL, "max_groups=20", "25 groups", 0},
                 {&emp_method_colocrl, NULL, "order=size", "order is size", 0},
                 {&emp_method_colocrl, "emplace", NULL, "\"emplace\"", 0},
                 {&emp_method_placeto, NULL, "max_nodes=0", "max_nodes is 0", 0},
                 {&emp_method_placeto, "best", NULL, "\"best\"", 0},
                 {&emp_method_giph, NULL, "episodes=65", "episodes is 65", 0},
                 {&emp_method_hsdag, NULL, "level=3", "\"level\"", 0},
                 {&emp_method_go, NULL, "width=10,heads=4", "width=10", 0},
                 {&emp_method_go, NULL, GO ",rounds=2", "rounds=2", ALL}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        const emp_method_params params = {.threads = 1,
                                          .preset = cases[i].preset,
                                          .options = cases[i].options,
                                          .decides = cases[i].decides};
        void                   *state = NULL;
        MUST_FAIL(emp_method_create(&state, cases[i].method, h.problem, &params, &why),
                  EMP_EINVAL, cases[i].part);
        cr_expect_null(state, "%s", cases[i].part);
    }
}

/* ---- learning ---- */

/* Params of the first seed whose first placements are not good by chance. */
static emp_method_params params_to_learn(const subject *of, double least)
{
    emp_method_params params = params_of(of);

    for (double seconds = 0.0; seconds <= least; params.seed++) {
        static learner l;
        begin_with(&l, of, &params);
        seconds = update(&l, true);
        end(&l);
        cr_assert_lt(params.seed, 100, "%s is never bad at first", of->method->name);
        if (seconds > least) break;
    }
    return params;
}

/* The best placement is all ops on device 1. The first of GO's candidates is the likeliest. */
Test(learners, step_times_fall)
{
    static const struct {
        subject of;
        int     updates;
        double  most; /* seconds in the end; 1 is the least */
    } cases[] = {
        {{&emp_method_hdp, NULL, HDP ",grouping=learned,lr=0.01,epsilon=1e-8", 4},
         200,
         1.1},
        {{&emp_method_hdp, NULL, HDP ",grouping=none,lr=0.05,epsilon=1e-8", 4}, 200, 1.1},
        {{&emp_method_colocrl, NULL,
          COLOCRL ",lr=0.01,epsilon=1e-8,baseline_first=1,run_longest=0", 4},
         200,
         1.1},
        {{&emp_method_hsdag, "emplace", HSDAG ",lr=0.01", 5}, 100, 1.05},
        {{&emp_method_go, "paper", GO ",lr=0.02,clip=10,entropy=0", 8}, 150, 1.001},
        {{&emp_method_go, "emplace", GO ",lr=0.02,clip=10,entropy=0", 8}, 150, 1.001},
        {{&emp_method_go, "paper", GO ",lr=0.02,clip=10,entropy=0,rounds=2", 8},
         150,
         1.001}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        static learner          l;
        const emp_method_params params = params_to_learn(&cases[i].of, 1.15);
        double                  first = 0.0, last = 0.0;
        begin_with(&l, &cases[i].of, &params);
        for (int u = 0; u < cases[i].updates; u++) {
            const double seconds = update(&l, true);
            if (u == 0) first = seconds;
        }
        for (int u = 0; u < 10; u++) last += update(&l, true) / 10;
        cr_expect_gt(first, 1.15, "%s %s: %g", l.of->method->name, l.of->options, first);
        cr_expect_lt(last, cases[i].most, "%s %s: from %g only to %g", l.of->method->name,
                     l.of->options, first, last);
        end(&l);
    }
}

static emp_weights learn(const subject *of, int updates)
{
    static learner l;
    emp_weights    weights = {0};

    begin(&l, of, 1);
    for (int u = 0; u < updates; u++) update(&l, true);
    MUST(emp_method_take_weights(&weights, of->method, l.state, &why));
    end(&l);
    return weights;
}

Test(learners, weights_come_to_another_graph)
{
    for (int i = 0; i < SUBJECTS; i++) {
        static learner    here, there;
        const subject    *of = &subjects[i];
        emp_method_params params = params_of(of);
        if (!emp_method_has_weights(of->method)) continue;
        begin(&here, of, 1);
        for (int u = 0; u < 7; u++) update(&here, true);
        emp_weights weights = {0};
        if (emp_method_take_weights(&weights, of->method, here.state, NULL) == EMP_OK) {
            task_destroy(&h);
            hand_graph_comb(&h, LAYERS / 2);
            params.weights = &weights;
            begin_with(&there, of, &params);
            for_arrays(of->method->learning->list_weights, &there, &here, false);
            end(&there);
            emp_weights_clear(&weights);
        } else {
            cr_expect_str_eq(of->preset, "paper", "hsdag's own types fit one graph");
        }
        end(&here);
        task_destroy(&h);
        hand_graph_comb(&h, LAYERS);
    }
}

/* They are what the policy knows: the first placements of another graph are good at once. */
Test(learners, weights_place_another_graph)
{
    static const subject cases[] = {
        {&emp_method_hsdag, "emplace", HSDAG ",lr=0.01", 5},
        {&emp_method_go, "emplace", GO ",lr=0.02,clip=10,entropy=0", 8}};

    for (int i = 0; i < 2; i++) {
        static learner with, without;
        SCOPED(emp_weights, emp_weights_clear) weights = learn(&cases[i], 150);
        task_destroy(&h);
        hand_graph_comb(&h, LAYERS / 2);
        emp_method_params params = params_to_learn(&cases[i], 1.25);
        begin_with(&without, &cases[i], &params);
        params.weights = &weights;
        begin_with(&with, &cases[i], &params);
        cr_expect_gt(update(&without, true), 1.25, "%s", cases[i].method->name);
        cr_expect_lt(update(&with, true), 1.2, "%s", cases[i].method->name);
        end(&with);
        end(&without);
    }
}

/* ---- ranks ---- */

/* A deviation of twice as many samples is another one, and half a gradient reaches a bound later: so HDP has neither
 * here. It has elites, of which only one rank has the best, and the scale of its draws. */
static const subject shared[] = {
    {&emp_method_hdp, NULL,
     HDP ",grouping=learned,cap=0,gradient_bound=0,updates_noise=1", 4},
    {&emp_method_colocrl, NULL, COLOCRL ",baseline_first=1,entropy=0.01", 4}};

static double weight_sum(learner *l)
{
    emp_named_array a[EMP_MAX_NAMED_ARRAYS];
    const int32_t   count = l->of->method->learning->sharing->list_values(l->state, a);
    double          sum = 0.0;

    for (int32_t i = 0; i < count; i++)
        for (size_t k = 0; a[i].type == EMP_ARRAY_FLOAT && k < a[i].count; k++)
            sum += (double)((const float *)a[i].values)[k] * (double)(1 + k % 7);
    return sum;
}

/* Asks a rank of two, and leaves the gradient of both's scores, the same of each. */
static void go_back(learner *l, int32_t rank)
{
    static emp_time_ns times_ns[2][MAX_OPS];
    const int32_t      own = l->of->samples;
    emp_score          score[2 * MOST];

    MUST(ask(l, own));
    for (int k = 0; k < 2 * own; k++) score[k] = score_of(l->device[k % own], times_ns);
    MUST(l->of->method->learning->sharing->backward(l->state, score, 2 * own, rank * own,
                                                    own, &why));
}

static void add_gradients(learner *into, learner *from)
{
    const emp_method_sharing *sharing = into->of->method->learning->sharing;
    emp_named_array           a[EMP_MAX_NAMED_ARRAYS], b[EMP_MAX_NAMED_ARRAYS];
    const int32_t             count = sharing->list_gradient(into->state, a);

    cr_assert_eq(sharing->list_gradient(from->state, b), count);
    for (int32_t i = 0; i < count; i++)
        for (size_t k = 0; k < a[i].count; k++) {
            if (a[i].type == EMP_ARRAY_FLOAT)
                ((float *)a[i].values)[k] += ((const float *)b[i].values)[k];
            if (a[i].type == EMP_ARRAY_DOUBLE)
                ((double *)a[i].values)[k] += ((const double *)b[i].values)[k];
            if (a[i].type == EMP_ARRAY_INT32)
                ((int32_t *)a[i].values)[k] += ((const int32_t *)b[i].values)[k];
        }
    for_arrays(sharing->list_gradient, from, into, true);
}

/* Each has half the weight, and both make the same step. */
Test(learners, ranks_with_the_same_samples_learn_what_one_does)
{
    for (int i = 0; i < 2; i++) {
        static learner alone, rank[2];
        begin(&alone, &shared[i], 1);
        for (int r = 0; r < 2; r++) begin(&rank[r], &shared[i], 1);
        const double before = weight_sum(&alone);
        for (int u = 0; u < 3; u++) {
            update(&alone, true);
            for (int r = 0; r < 2; r++) go_back(&rank[r], r);
            add_gradients(&rank[0], &rank[1]);
            for (int r = 0; r < 2; r++)
                shared[i].method->learning->sharing->step(rank[r].state);
        }
        const double learned = weight_sum(&alone) - before;
        cr_assert_neq(learned, 0);
        cr_expect_eq(weight_sum(&rank[0]), weight_sum(&rank[1]));
        cr_expect_float_eq(weight_sum(&rank[0]) - before, learned, 1e-4 * fabs(learned));
        end(&alone);
        for (int r = 0; r < 2; r++) end(&rank[r]);
    }
}

/* The same parameters, other candidates; a rank without samples has no gradient. */
Test(learners, ranks_draw_differently_and_may_have_no_samples)
{
    for (int i = 0; i < 2; i++) {
        static learner            first, second;
        const emp_method_sharing *sharing = shared[i].method->learning->sharing;
        emp_method_params         params = params_of(&shared[i]);
        emp_score                 score[MOST] = {{.step_time_s = 1, .is_feasible = true}};
        emp_named_array           a[EMP_MAX_NAMED_ARRAYS];
        begin_with(&first, &shared[i], &params);
        params.rank = 1;
        begin_with(&second, &shared[i], &params);
        cr_expect_eq(weight_sum(&first), weight_sum(&second));
        go_back(&first, 0); /* leaves a gradient, which the next one replaces */
        MUST(ask(&second, 4));
        cr_expect_arr_neq(first.device, second.device, sizeof first.device);
        MUST(sharing->backward(first.state, score, 4, 4, 0, &why));
        const int32_t count = sharing->list_gradient(first.state, a);
        for (int32_t n = 0; n < count; n++)
            for (size_t k = 0; a[n].type == EMP_ARRAY_FLOAT && k < a[n].count; k++)
                cr_assert_eq(((const float *)a[n].values)[k], 0);
        cr_expect_eq(sharing->backward(first.state, score, 4, 0, 1, NULL), EMP_EINVAL,
                     "not all of its own");
        end(&first);
        end(&second);
    }
}

/* A controller takes the server's values and then proposes what it would, by the same weights: before the first update,
 * when the server's proposal has taught it what imitation teaches, and later. */
Test(learners, listed_values_are_all_that_a_controller_needs)
{
    static const subject servers[] = {
        {&emp_method_colocrl, NULL, COLOCRL ",placer_gain=100", 4},
        {&emp_method_doppler, NULL, "width=8,steps=2,samples=4,imitation=40", 4}};
    static learner server, controller;

    for (int i = 0; i < 4; i++) {
        const subject *of = &servers[i / 2];
        begin(&server, of, 1);
        begin(&controller, of, 1);
        MUST(ask(&server, of->samples));
        for (int u = 0; u < 3 * (i % 2); u++) update(&server, true);
        for_arrays(of->method->learning->sharing->list_values, &controller, &server,
                   true);
        MUST(ask(&server, of->samples));
        MUST(ask(&controller, of->samples));
        cr_expect_arr_eq(server.device, controller.device, sizeof server.device);
        cr_expect_eq(weight_sum(&server), weight_sum(&controller), "%s",
                     of->method->name);
        end(&server);
        end(&controller);
    }
}
