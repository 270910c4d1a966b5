// SPDX-License-Identifier: GPL-3.0-or-later
/* Does the placer keep its word: same candidates on any number of threads, failures only as
 * long as the options say, a resume that goes on as if nothing had been, and rewards that
 * rise until the policy knows the best placement? */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "policy/colocrl/colocrl.h"
#include "tests/support/problems.h"

enum { LAYERS = 12, MAX_OPS = 128, SAMPLES = 4, GROUPS = 2 * LAYERS + 1 };

#define SMALL "hidden=10,type_width=4"

static task                     h;
static emp_device_id            storage[SAMPLES][MAX_OPS];
static const emp_owned_decision candidates[SAMPLES] = {{.device_of_op = storage[0]},
                                                       {.device_of_op = storage[1]},
                                                       {.device_of_op = storage[2]},
                                                       {.device_of_op = storage[3]}};

static void create_problem(void)
{
    hand_graph_comb(&h, LAYERS);
    cr_assert_leq(h.graph->op_count, MAX_OPS);
}

static void destroy_problem(void)
{
    task_destroy(&h);
    cr_expect_eq(emp_mem_live_blocks(), 0, "leaked");
}

TestSuite(colocrl, .init = create_problem, .fini = destroy_problem);

static void *create(uint64_t seed, int32_t threads, const char *options)
{
    const emp_method_params params = {
        .seed = seed, .threads = threads, .options = options};
    emp_error err = {0};
    void     *state = NULL;

    cr_assert_eq(emp_method_create(&state, &emp_method_colocrl, h.problem, &params, &err),
                 EMP_OK, "%s", err.msg);
    return state;
}

/* One ask and tell. A placement takes 1 s, plus 1 s for the share of ops that are not on
 * device 1; `is_feasible` says whether it fits. Returns the mean time. */
static double update(void *state, bool is_feasible)
{
    emp_score score[SAMPLES];
    int32_t   count = 0, ops = h.graph->op_count;
    double    sum = 0.0;

    cr_assert_eq(emp_method_colocrl.ask(state, candidates, SAMPLES, &count, NULL),
                 EMP_OK);
    cr_assert_eq(count, SAMPLES);
    for (int32_t k = 0; k < count; k++) {
        int32_t elsewhere = 0;
        for (emp_op_id op = 0; op < ops; op++) {
            cr_assert(storage[k][op] >= 0 && storage[k][op] < 3, "op %d on device %d", op,
                      storage[k][op]);
            elsewhere += storage[k][op] != 1;
        }
        score[k] = (emp_score){.step_time_s = 1.0 + (double)elsewhere / ops,
                               .is_feasible = is_feasible};
        sum += score[k].step_time_s;
    }
    cr_assert_eq(emp_method_colocrl.tell(state, score, count, NULL), EMP_OK);
    return sum / count;
}

static double metric(const void *state, const char *name)
{
    int32_t                  count = 0;
    const emp_method_metric *all = emp_method_colocrl.metrics(state, &count);

    for (int32_t i = 0; i < count; i++) {
        if (strcmp(all[i].name, name) == 0) return all[i].value;
    }
    cr_assert_fail("no metric %s", name);
    return 0.0;
}

static double sum_of(const emp_params *params)
{
    double sum = 0.0;

    for (size_t i = 0; i < params->count; i++)
        sum += (double)params->value[i] * (double)(1 + i % 7);
    return sum;
}

static double weight_sum(const void *state)
{
    const emp_colocrl_agent *agent = (const emp_colocrl_agent *)state;

    return sum_of(&agent->net.params) + sum_of(&agent->groups.params);
}

Test(colocrl, ops_of_a_group_get_one_device)
{
    void                    *state = create(7, 1, SMALL ",run_longest=0");
    const emp_colocrl_agent *agent = (const emp_colocrl_agent *)state;

    update(state, true);
    cr_expect_eq(metric(state, "groups_used"), GROUPS);
    for (int32_t r = 0; r < agent->learner.ops->row_count; r++) {
        for (int32_t s = 0; s < r; s++) {
            if (agent->groups.step_of_row[r] != agent->groups.step_of_row[s]) continue;
            for (int k = 0; k < SAMPLES; k++)
                cr_expect_eq(storage[k][agent->learner.ops->op_of_row[r]],
                             storage[k][agent->learner.ops->op_of_row[s]]);
        }
    }
    emp_method_destroy(&emp_method_colocrl, state);
}

/* Steps of the sequence whose groups have an earlier mean position than those before. */
static int count_descents(const emp_colocrl_agent *a)
{
    double  sum[GROUPS] = {0.0};
    int32_t members[GROUPS] = {0};
    int     descents = 0;

    for (int32_t r = 0; r < a->learner.ops->row_count; r++) {
        sum[a->groups.step_of_row[r]] += (double)a->learner.ops->position[r];
        members[a->groups.step_of_row[r]]++;
    }
    for (int s = 1; s < GROUPS; s++)
        descents += sum[s] / members[s] < sum[s - 1] / members[s - 1];
    return descents;
}

Test(colocrl, order_says_how_groups_are_read)
{
    static const struct {
        const char *options;
        int         least, most; /* descents of the mean position */
    } order[] = {{SMALL, 0, 0},
                 {SMALL ",order=reverse", GROUPS - 1, GROUPS - 1},
                 {SMALL ",order=random", 2, GROUPS - 3}};

    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        void *state = create(7, 1, order[i].options);
        int   descents = count_descents((const emp_colocrl_agent *)state);
        cr_expect(descents >= order[i].least && descents <= order[i].most, "%s: %d",
                  order[i].options, descents);
        emp_method_destroy(&emp_method_colocrl, state);
    }
}

Test(colocrl, threads_do_not_change_candidates)
{
    static emp_device_id one_thread[5][SAMPLES][MAX_OPS];
    void                *state = create(7, 1, SMALL);

    for (int u = 0; u < 5; u++) {
        update(state, u % 2 == 0);
        memcpy(one_thread[u], storage, sizeof storage);
    }
    emp_method_destroy(&emp_method_colocrl, state);
    for (int32_t threads = 2; threads <= 3; threads++) {
        state = create(7, threads, SMALL);
        for (int u = 0; u < 5; u++) {
            update(state, u % 2 == 0);
            cr_expect_eq(memcmp(one_thread[u], storage, sizeof storage), 0,
                         "update %d on %d threads", u, threads);
        }
        emp_method_destroy(&emp_method_colocrl, state);
    }
}

/* What a checkpoint saves, put into a placer that has just been created. */
Test(colocrl, listed_state_is_all_that_the_next_updates_depend_on)
{
    static emp_device_id undisturbed[3][SAMPLES][MAX_OPS];
    emp_named_array      from[EMP_MAX_NAMED_ARRAYS], to[EMP_MAX_NAMED_ARRAYS];
    const char          *options = SMALL ",updates_failures=4";
    void                *state = create(7, 1, options), *resumed = create(7, 2, options);

    for (int u = 0; u < 3; u++) update(state, u != 1);
    int32_t count = emp_method_colocrl.list_state(state, from);
    cr_assert_eq(emp_method_colocrl.list_state(resumed, to), count);
    for (int32_t i = 0; i < count; i++) {
        cr_assert_str_eq(from[i].name, to[i].name);
        cr_assert_eq(from[i].count, to[i].count);
        memcpy(to[i].values, from[i].values,
               from[i].count * emp_array_type_bytes(from[i].type));
    }
    for (int u = 0; u < 3; u++) {
        update(state, u != 1);
        memcpy(undisturbed[u], storage, sizeof storage);
    }
    for (int u = 0; u < 3; u++) {
        update(resumed, u != 1);
        cr_expect_eq(memcmp(undisturbed[u], storage, sizeof storage), 0, "update %d", u);
    }
    cr_expect_eq(weight_sum(state), weight_sum(resumed));
    cr_expect_eq(metric(state, "baseline"), metric(resumed, "baseline"));
    cr_expect_eq(metric(state, "embedding_gradient_norm"),
                 metric(resumed, "embedding_gradient_norm"));
    emp_method_destroy(&emp_method_colocrl, state);
    emp_method_destroy(&emp_method_colocrl, resumed);
}

/* Asks a rank of two; it is told what update() would say, twice. */
static void ask_rank(void *state, emp_score score[2 * SAMPLES])
{
    int32_t count = 0, ops = h.graph->op_count;

    cr_assert_eq(emp_method_colocrl.ask(state, candidates, SAMPLES, &count, NULL),
                 EMP_OK);
    for (int k = 0; k < 2 * SAMPLES; k++) {
        int32_t elsewhere = 0;
        for (emp_op_id op = 0; op < ops; op++) elsewhere += storage[k % SAMPLES][op] != 1;
        score[k] = (emp_score){.step_time_s = 1.0 + (double)elsewhere / ops,
                               .is_feasible = true};
    }
}

static void add_gradients(void *into, void *from)
{
    emp_named_array a[EMP_MAX_NAMED_ARRAYS], b[EMP_MAX_NAMED_ARRAYS];
    int32_t         count = emp_method_colocrl.learning->sharing->list_gradient(into, a);

    cr_assert_eq(emp_method_colocrl.learning->sharing->list_gradient(from, b), count);
    for (int32_t i = 0; i < count; i++) {
        if (a[i].type != EMP_ARRAY_FLOAT) continue;
        for (size_t k = 0; k < a[i].count; k++)
            ((float *)a[i].values)[k] += ((const float *)b[i].values)[k];
        memcpy(b[i].values, a[i].values, a[i].count * sizeof(float));
    }
}

/* Each has half the weight, and both make the same step. */
Test(colocrl, ranks_with_the_same_samples_learn_what_one_does)
{
    const char *options = SMALL ",baseline_first=1,entropy=0.01";
    void       *alone = create(7, 1, options);
    void       *rank[2] = {create(7, 1, options), create(7, 1, options)};
    double      before = weight_sum(alone), learned;
    emp_score   score[2 * SAMPLES];

    update(alone, true);
    update(alone, true);
    learned = weight_sum(alone) - before;
    cr_assert_neq(learned, 0);
    for (int u = 0; u < 2; u++) {
        for (int32_t r = 0; r < 2; r++) {
            ask_rank(rank[r], score);
            cr_assert_eq(emp_method_colocrl.learning->sharing->backward(
                             rank[r], score, 2 * SAMPLES, r * SAMPLES, SAMPLES, NULL),
                         EMP_OK);
        }
        add_gradients(rank[0], rank[1]);
        for (int r = 0; r < 2; r++) emp_method_colocrl.learning->sharing->step(rank[r]);
    }
    cr_expect_eq(weight_sum(rank[0]), weight_sum(rank[1]));
    cr_expect_float_eq(weight_sum(rank[0]) - before, learned, 1e-4 * fabs(learned));
    emp_method_destroy(&emp_method_colocrl, alone);
    for (int r = 0; r < 2; r++) emp_method_destroy(&emp_method_colocrl, rank[r]);
}

/* The same parameters, other candidates; none of one's own is no gradient. */
Test(colocrl, ranks_draw_differently_and_may_have_no_samples)
{
    const emp_method_params params = {
        .seed = 7, .rank = 1, .threads = 1, .options = SMALL};
    static emp_device_id other[SAMPLES][MAX_OPS];
    emp_named_array      array[EMP_MAX_NAMED_ARRAYS];
    emp_score            score[2 * SAMPLES];
    void                *state = create(7, 1, SMALL), *rank = NULL;

    cr_assert_eq(emp_method_create(&rank, &emp_method_colocrl, h.problem, &params, NULL),
                 EMP_OK);
    cr_expect_eq(weight_sum(state), weight_sum(rank));
    ask_rank(rank, score);
    memcpy(other, storage, sizeof storage);
    ask_rank(state, score);
    cr_expect_neq(memcmp(other, storage, sizeof storage), 0);
    cr_assert_eq(emp_method_colocrl.learning->sharing->backward(state, score, SAMPLES, 0,
                                                                SAMPLES, NULL),
                 EMP_OK); /* leaves a gradient, which the next one replaces */
    cr_assert_eq(emp_method_colocrl.learning->sharing->backward(state, score, SAMPLES,
                                                                SAMPLES, 0, NULL),
                 EMP_OK);
    int32_t count = emp_method_colocrl.learning->sharing->list_gradient(state, array);
    for (int32_t i = 0; i < count; i++) {
        if (array[i].type != EMP_ARRAY_FLOAT) continue;
        for (size_t k = 0; k < array[i].count; k++)
            cr_assert_eq(((const float *)array[i].values)[k], 0);
    }
    cr_expect_eq(
        emp_method_colocrl.learning->sharing->backward(state, score, SAMPLES, 0, 1, NULL),
        EMP_EINVAL, "not all of its own");
    emp_method_destroy(&emp_method_colocrl, state);
    emp_method_destroy(&emp_method_colocrl, rank);
}

/* A controller takes the server's values and then proposes what it would. */
Test(colocrl, listed_values_are_all_that_a_controller_needs)
{
    static emp_device_id servers[SAMPLES][MAX_OPS];
    emp_named_array      from[EMP_MAX_NAMED_ARRAYS], to[EMP_MAX_NAMED_ARRAYS];
    const char          *options = SMALL ",placer_gain=100";
    void   *server = create(7, 1, options), *controller = create(7, 1, options);
    int32_t count;

    for (int u = 0; u < 3; u++) update(server, true);
    count = emp_method_colocrl.learning->sharing->list_values(server, from);
    cr_assert_eq(emp_method_colocrl.learning->sharing->list_values(controller, to),
                 count);
    for (int32_t i = 0; i < count; i++)
        memcpy(to[i].values, from[i].values,
               from[i].count * emp_array_type_bytes(from[i].type));
    cr_expect_eq(weight_sum(server), weight_sum(controller));
    update(server, true);
    memcpy(servers, storage, sizeof storage);
    update(controller, true);
    cr_expect_eq(memcmp(servers, storage, sizeof storage), 0);
    emp_method_destroy(&emp_method_colocrl, server);
    emp_method_destroy(&emp_method_colocrl, controller);
}

Test(colocrl, the_baseline_starts_at_the_failing_signal)
{
    void  *state = create(3, 1, SMALL);
    double weights = weight_sum(state), reward;

    update(state, false);
    cr_expect_eq(weight_sum(state), weights, "failures are as good as the baseline");
    cr_expect_eq(metric(state, "baseline"), -10.0);
    update(state, true);
    reward = metric(state, "reward");
    cr_expect_float_eq(metric(state, "baseline"), -9.0 + 0.1 * reward, 1e-12);
    cr_expect_neq(weight_sum(state), weights);
    emp_method_destroy(&emp_method_colocrl, state);
}

Test(colocrl, failures_teach_at_first_and_are_dropped_later)
{
    void  *state = create(3, 1, SMALL ",updates_failures=3");
    double weights;

    update(state, true);
    for (int u = 1; u < 3; u++) {
        weights = weight_sum(state);
        update(state, false);
        cr_expect_neq(weight_sum(state), weights, "a failure in update %d", u);
    }
    weights = weight_sum(state);
    update(state, false);
    cr_expect_eq(weight_sum(state), weights, "only failures: nothing to learn from");
    update(state, true);
    cr_expect_neq(weight_sum(state), weights, "valid placements still teach");
    emp_method_destroy(&emp_method_colocrl, state);
}

Test(colocrl, network_and_embedding_both_learn)
{
    void              *state = create(3, 1, SMALL);
    emp_colocrl_agent *agent = (emp_colocrl_agent *)state;
    double net = sum_of(&agent->net.params), types = sum_of(&agent->groups.params);

    update(state, true);
    cr_expect_neq(sum_of(&agent->net.params), net);
    cr_expect_neq(sum_of(&agent->groups.params), types);
    emp_method_destroy(&emp_method_colocrl, state);
}

/* The best placement is all ops on device 1. */
Test(colocrl, concentrates_on_the_best_placement)
{
    void *state =
        create(5, 1, SMALL ",lr=0.01,epsilon=1e-8,baseline_first=1,run_longest=0");
    double first = update(state, true), last = 0.0,
           entropy = metric(state, "placer_entropy");

    for (int u = 0; u < 200; u++) update(state, true);
    for (int u = 0; u < 10; u++) last += update(state, true) / 10;
    cr_expect_gt(first, 1.5, "untrained: two thirds elsewhere");
    cr_expect_lt(last, 1.1, "from %g only to %g", first, last);
    cr_expect_lt(metric(state, "placer_entropy"), 0.2 * entropy);
    emp_method_destroy(&emp_method_colocrl, state);
}

Test(colocrl, a_small_batch_is_filled)
{
    void     *state = create(5, 1, SMALL);
    int32_t   count = 0;
    emp_score score[2] = {{.step_time_s = 1.0, .is_feasible = true},
                          {.step_time_s = 2.0, .is_feasible = true}};

    cr_assert_eq(emp_method_colocrl.ask(state, candidates, 2, &count, NULL), EMP_OK);
    cr_expect_eq(count, 2);
    cr_expect_eq(emp_method_colocrl.tell(state, score, 1, NULL), EMP_EINVAL);
    cr_expect_eq(emp_method_colocrl.tell(state, score, 2, NULL), EMP_OK);
    emp_method_destroy(&emp_method_colocrl, state);
}

Test(colocrl, survives_every_allocation_failure)
{
    const emp_method_params params = {.seed = 1, .threads = 1, .options = SMALL};
    void                   *state = NULL;
    emp_status              st = EMP_ENOMEM;
    long                    before = emp_mem_live_blocks();

    for (long allowed = 0; st != EMP_OK; allowed++) {
        emp_mem_fail_after(allowed);
        st = emp_method_create(&state, &emp_method_colocrl, h.problem, &params, NULL);
        emp_mem_fail_after(-1);
        if (st == EMP_OK) break;
        cr_assert_eq(st, EMP_ENOMEM, "after %ld allocations: %s", allowed,
                     emp_status_str(st));
        cr_assert_null(state);
        cr_assert_eq(emp_mem_live_blocks(), before, "leak after %ld allocations",
                     allowed);
    }
    emp_mem_fail_after(0);
    update(state, true); /* ask and tell allocate nothing */
    emp_mem_fail_after(-1);
    emp_method_destroy(&emp_method_colocrl, state);
}

/* On two CPUs an op without a GPU kernel has a choice, but no group by the rules. */
Test(colocrl, ops_that_only_cpus_run_share_a_group)
{
    task      two;
    void     *state = NULL;
    int32_t   count = 0;
    emp_error err = {0};

    hand_graph_begin(&two);
    two.machine->device[1].kind = EMP_DEVICE_CPU;
    emp_op_id x = hand_graph_op(&two, "in", "Placeholder", -1);
    emp_op_id text = hand_graph_op(&two, "text", "AsString", x);
    hand_graph_op(&two, "a", "Relu", x);
    hand_graph_finish(&two);
    const emp_method_params params = {.seed = 1, .threads = 1, .options = SMALL};
    cr_assert_eq(
        emp_method_create(&state, &emp_method_colocrl, two.problem, &params, &err),
        EMP_OK, "%s", err.msg);
    const emp_colocrl_agent *agent = (const emp_colocrl_agent *)state;
    cr_assert_geq(agent->learner.ops->row_of_op[text], 0, "has no choice");
    cr_expect_eq(agent->groups.steps, 3, "in, a, and one more");
    cr_expect_eq(emp_method_colocrl.ask(state, candidates, SAMPLES, &count, &err),
                 EMP_OK);
    emp_method_destroy(&emp_method_colocrl, state);
    task_destroy(&two);
}

static int32_t groups_with(const char *options)
{
    void         *state = create(1, 1, options);
    const int32_t count = ((const emp_colocrl_agent *)state)->groups.steps;

    emp_method_destroy(&emp_method_colocrl, state);
    return count;
}

Test(colocrl, options_say_which_groups)
{
    cr_expect_eq(groups_with(SMALL), GROUPS);
    cr_expect_eq(groups_with(SMALL ",groups=colocrl,count=3"), GROUPS,
                 "rules make as many as they make");
    cr_expect_gt(groups_with(SMALL ",readers=0"), GROUPS);
    cr_expect_eq(groups_with(SMALL ",groups=metis,count=1"), 1);
    const int32_t cut = groups_with(SMALL ",groups=metis,count=8");
    cr_expect(cut > 1 && cut <= 8, "%d", cut);
}

static void expect_refusal(const char *preset, const char *options, const char *start)
{
    const emp_method_params params = {
        .seed = 1, .threads = 1, .preset = preset, .options = options};
    emp_error err = {0};
    void     *state = NULL;

    cr_assert_eq(emp_method_create(&state, &emp_method_colocrl, h.problem, &params, &err),
                 EMP_EINVAL);
    cr_expect_null(state);
    cr_expect_eq(strncmp(err.msg, start, strlen(start)), 0, "%s", err.msg);
}

Test(colocrl, says_what_is_wrong)
{
    expect_refusal(NULL, "max_groups=20",
                   "colocrl: co-location leaves 25 groups, more than max_groups=20");
    expect_refusal(
        NULL, "lrr=1",
        "colocrl has no option \"lrr\" (did you mean \"lr\"?); it has max_groups,");
    expect_refusal(NULL, "samples=0",
                   "colocrl: option samples is 0, must be a whole number in 1..64");
    expect_refusal(NULL, "order=size",
                   "colocrl: option order is size, must be one of position|number");
    expect_refusal("emplace", NULL, "colocrl has no preset \"emplace\"; it has paper");
}
