// SPDX-License-Identifier: GPL-3.0-or-later
/* Does the planner keep its word: same candidates on any number of threads, noise and
 * failures only as long as the options say, and rewards that rise? */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policy/hdp/agent.h"
#include "policy/hdp/hdp.h"
#include "search/partition/balance.h"
#include "tests/policy/hdp/small_problem.h"

enum { LAYERS = 100, MAX_OPS = 512, SAMPLES = 4 };

#define SMALL "groups=12,hidden=10,grouper_hidden=9,type_width=4"

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

TestSuite(hdp_placer, .init = create_problem, .fini = destroy_problem);

static void *create_preset(uint64_t seed, int32_t threads, const char *preset,
                           const char *options)
{
    const emp_method_params params = {
        .seed = seed, .threads = threads, .preset = preset, .options = options};
    emp_error err = {0};
    void     *state = NULL;

    cr_assert_eq(
        emp_method_create(&state, &emp_method_hdp, problem.problem, &params, &err),
        EMP_OK, "%s", err.msg);
    return state;
}

static void *create(uint64_t seed, int32_t threads, const char *options)
{
    return create_preset(seed, threads, NULL, options);
}

/* One ask and tell. A placement takes 1 s, plus 1 s for the share of ops that are not on
 * device 1; `is_feasible` says whether it fits. Returns the mean time. */
static double update(void *state, bool is_feasible)
{
    emp_score score[SAMPLES];
    int32_t   count = 0, ops = problem.graph->op_count;
    double    sum = 0.0;

    cr_assert_eq(emp_method_hdp.ask(state, candidates, SAMPLES, &count, NULL), EMP_OK);
    cr_assert_eq(count, SAMPLES);
    for (int32_t k = 0; k < count; k++) {
        int32_t elsewhere = 0;
        for (emp_op_id op = 0; op < ops; op++) {
            cr_assert(storage[k][op] >= 0 && storage[k][op] < 3, "op %d on device %d", op,
                      storage[k][op]);
            elsewhere += storage[k][op] != 1;
        }
        score[k] = (emp_score){1.0 + (double)elsewhere / ops, is_feasible, 0.0};
        sum += score[k].step_time_s;
    }
    cr_assert_eq(emp_method_hdp.tell(state, score, count, NULL), EMP_OK);
    return sum / count;
}

static double metric(const void *state, const char *name)
{
    int32_t                  count = 0;
    const emp_method_metric *all = emp_method_hdp.metrics(state, &count);

    for (int32_t i = 0; i < count; i++) {
        if (strcmp(all[i].name, name) == 0) return all[i].value;
    }
    cr_assert_fail("no metric %s", name);
    return 0.0;
}

static double weight_sum(const void *state)
{
    const emp_hdp_agent *agent = (const emp_hdp_agent *)state;
    double               sum = 0.0;

    for (size_t i = 0; i < agent->grouper.params.count; i++) {
        sum += (double)agent->grouper.params.value[i] * (double)(i % 7);
    }
    for (size_t i = 0; i < agent->net.params.count; i++) {
        sum += (double)agent->net.params.value[i] * (double)(i % 7);
    }
    return sum;
}

static void expect_threads_change_nothing(const char *preset, const char *options)
{
    static emp_device_id one_thread[5][SAMPLES][MAX_OPS];
    void                *state = create_preset(7, 1, preset, options);

    for (int u = 0; u < 5; u++) {
        update(state, u % 2 == 0);
        memcpy(one_thread[u], storage, sizeof storage);
    }
    emp_method_destroy(&emp_method_hdp, state);
    for (int32_t threads = 2; threads <= 3; threads++) {
        state = create_preset(7, threads, preset, options);
        for (int u = 0; u < 5; u++) {
            update(state, u % 2 == 0);
            cr_expect_eq(memcmp(one_thread[u], storage, sizeof storage), 0,
                         "update %d on %d threads", u, threads);
        }
        emp_method_destroy(&emp_method_hdp, state);
    }
}

Test(hdp_placer, threads_do_not_change_candidates)
{
    expect_threads_change_nothing("paper", SMALL);
    expect_threads_change_nothing("literal", SMALL);
    expect_threads_change_nothing("literal", SMALL ",redraw=1");
}

static void copy_array(const emp_named_array *to, const emp_named_array *from)
{
    static const size_t bytes_of[] = {[EMP_ARRAY_INT32] = 4,
                                      [EMP_ARRAY_INT64] = 8,
                                      [EMP_ARRAY_FLOAT] = 4,
                                      [EMP_ARRAY_DOUBLE] = 8};

    cr_assert_str_eq(from->name, to->name);
    cr_assert_eq(from->count, to->count);
    memcpy(to->values, from->values, from->count * bytes_of[from->type]);
}

/* What a checkpoint saves, put into a planner that has just been created. */
static void expect_resumed(const char *preset)
{
    static emp_device_id undisturbed[3][SAMPLES][MAX_OPS];
    emp_named_array      from[EMP_MAX_NAMED_ARRAYS], to[EMP_MAX_NAMED_ARRAYS];
    const char          *options = SMALL ",updates_noise=4,updates_failures=4";
    void                *state = create_preset(7, 1, preset, options);
    void                *resumed = create_preset(7, 2, preset, options);

    for (int u = 0; u < 3; u++) update(state, u != 1);
    int32_t count = emp_method_hdp.list_state(state, from);
    cr_assert_eq(emp_method_hdp.list_state(resumed, to), count);
    for (int32_t i = 0; i < count; i++) copy_array(&to[i], &from[i]);
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
    cr_expect_eq(metric(state, "placer_gradient_norm"),
                 metric(resumed, "placer_gradient_norm"));
    emp_method_destroy(&emp_method_hdp, state);
    emp_method_destroy(&emp_method_hdp, resumed);
}

Test(hdp_placer, listed_state_is_all_that_the_next_updates_depend_on)
{
    expect_resumed("paper");
    expect_resumed("literal");
}

/* Asks a rank of two; it is told what update() would say, twice. */
static void ask_rank(void *state, emp_score score[2 * SAMPLES])
{
    int32_t count = 0;

    cr_assert_eq(emp_method_hdp.ask(state, candidates, SAMPLES, &count, NULL), EMP_OK);
    for (int k = 0; k < 2 * SAMPLES; k++) {
        int32_t elsewhere = 0;
        for (emp_op_id op = 0; op < problem.graph->op_count; op++)
            elsewhere += storage[k % SAMPLES][op] != 1;
        score[k] =
            (emp_score){1.0 + (double)elsewhere / problem.graph->op_count, true, 0.0};
    }
}

static void add_gradients(void *into, void *from)
{
    emp_named_array a[EMP_MAX_NAMED_ARRAYS], b[EMP_MAX_NAMED_ARRAYS];
    int32_t         count = emp_method_hdp.sharing->list_gradient(into, a);

    emp_method_hdp.sharing->list_gradient(from, b);
    for (int32_t i = 0; i < count; i++) {
        if (a[i].type != EMP_ARRAY_FLOAT) continue;
        for (size_t k = 0; k < a[i].count; k++)
            ((float *)a[i].values)[k] += ((const float *)b[i].values)[k];
        memcpy(b[i].values, a[i].values, a[i].count * sizeof(float));
    }
}

/* Each has half the weight, and both make the same step. */
Test(hdp_placer, ranks_with_the_same_samples_learn_what_one_does)
{
    void     *alone = create(7, 1, SMALL);
    void     *rank[2] = {create(7, 1, SMALL), create(7, 1, SMALL)};
    double    before = weight_sum(alone);
    emp_score score[2 * SAMPLES];

    update(alone, true);
    update(alone, true);
    for (int u = 0; u < 2; u++) {
        for (int32_t r = 0; r < 2; r++) {
            ask_rank(rank[r], score);
            cr_assert_eq(emp_method_hdp.sharing->backward(rank[r], score, 2 * SAMPLES,
                                                          r * SAMPLES, SAMPLES, NULL),
                         EMP_OK);
        }
        add_gradients(rank[0], rank[1]);
        for (int r = 0; r < 2; r++) emp_method_hdp.sharing->step(rank[r]);
    }
    cr_expect_eq(weight_sum(rank[0]), weight_sum(rank[1]));
    cr_expect_float_eq(weight_sum(rank[0]) - before, weight_sum(alone) - before,
                       1e-4 * fabs(weight_sum(alone) - before));
    emp_method_destroy(&emp_method_hdp, alone);
    for (int r = 0; r < 2; r++) emp_method_destroy(&emp_method_hdp, rank[r]);
}

/* The same parameters, other candidates; none of one's own is no gradient. */
Test(hdp_placer, ranks_draw_differently_and_may_have_no_samples)
{
    const emp_method_params params = {
        .seed = 7, .rank = 1, .threads = 1, .options = SMALL};
    static emp_device_id other[SAMPLES][MAX_OPS];
    emp_named_array      array[EMP_MAX_NAMED_ARRAYS];
    emp_score            score[2 * SAMPLES];
    void                *state = create(7, 1, SMALL), *rank = NULL;

    cr_assert_eq(
        emp_method_create(&rank, &emp_method_hdp, problem.problem, &params, NULL),
        EMP_OK);
    cr_expect_eq(weight_sum(state), weight_sum(rank));
    ask_rank(rank, score);
    memcpy(other, storage, sizeof storage);
    ask_rank(state, score);
    cr_expect_neq(memcmp(other, storage, sizeof storage), 0);
    cr_assert_eq(
        emp_method_hdp.sharing->backward(state, score, SAMPLES, SAMPLES, 0, NULL),
        EMP_OK);
    int32_t count = emp_method_hdp.sharing->list_gradient(state, array);
    for (int32_t i = 0; i < count; i++) {
        if (array[i].type != EMP_ARRAY_FLOAT) continue;
        for (size_t k = 0; k < array[i].count; k++)
            cr_assert_eq(((const float *)array[i].values)[k], 0);
    }
    emp_method_destroy(&emp_method_hdp, state);
    emp_method_destroy(&emp_method_hdp, rank);
}

Test(hdp_placer, seeds_differ)
{
    static emp_device_id other[SAMPLES][MAX_OPS];
    void                *state = create(1, 1, SMALL);

    update(state, true);
    memcpy(other, storage, sizeof other);
    emp_method_destroy(&emp_method_hdp, state);
    state = create(2, 1, SMALL);
    update(state, true);
    cr_expect_neq(memcmp(other, storage, sizeof other), 0);
    emp_method_destroy(&emp_method_hdp, state);
}

Test(hdp_placer, failures_teach_at_first_and_are_dropped_later)
{
    void  *state = create(3, 1, SMALL ",updates_failures=3");
    double weights, baseline;

    update(state, true);
    for (int u = 1; u < 3; u++) {
        weights = weight_sum(state);
        baseline = metric(state, "baseline");
        update(state, false);
        cr_expect_neq(weight_sum(state), weights, "a failure in update %d", u);
        cr_expect_eq(metric(state, "baseline"), baseline, "but the baseline stays");
    }
    weights = weight_sum(state);
    baseline = metric(state, "baseline");
    update(state, false);
    cr_expect_eq(weight_sum(state), weights, "only failures: nothing to learn from");
    cr_expect_eq(metric(state, "baseline"), baseline);
    cr_expect_float_eq(metric(state, "reward"), -10.0, 1e-12);
    update(state, true);
    cr_expect_neq(weight_sum(state), weights, "valid placements still teach");
    emp_method_destroy(&emp_method_hdp, state);
}

/* With a learning rate of 0 the weights stay. Under strong noise devices are then less
 * likely, as the policy without noise sees them, than its own. */
Test(hdp_placer, noise_explores_and_stops)
{
    void  *state = create(3, 1, SMALL ",lr=0,updates_noise=40,noise=9,placer_gain=300");
    double placer[2] = {0.0, 0.0};

    for (int u = 0; u < 80; u++) {
        update(state, true);
        placer[u / 40] += metric(state, "placer_log_prob") / metric(state, "groups_used");
    }
    cr_expect_lt(placer[0], 1.5 * placer[1], "%g with noise, %g without", placer[0],
                 placer[1]);
    emp_method_destroy(&emp_method_hdp, state);
}

/* What an untrained policy that prefers some devices draws in 400 updates. */
typedef struct {
    double changes;                  /* of device, per pair of neighbouring groups */
    double share[3], probability[3]; /* of devices at the first group */
} draws;

static draws draw_devices(const char *options)
{
    enum { UPDATES = 400 };
    void                 *state = create(3, 1, options);
    emp_hdp_agent        *agent = (emp_hdp_agent *)state;
    const emp_device_net *net = &agent->net;
    draws                 d = {.changes = 0.0};

    for (int u = 0; u < UPDATES; u++) {
        agent->learner.update = u;
        emp_hdp_agent_propose(agent, SAMPLES, NULL, NULL);
        for (int32_t k = 0; k < SAMPLES; k++) {
            const int32_t *device = &net->device[k * net->steps];
            d.share[device[0]] += 1.0 / (UPDATES * SAMPLES);
            for (int i = 0; i < 3; i++)
                d.probability[i] +=
                    (double)net->p[(int64_t)k * net->steps * 3 + i] / (UPDATES * SAMPLES);
            for (int32_t t = 1; t < net->steps; t++)
                d.changes += (device[t] != device[t - 1]) /
                             (double)(UPDATES * SAMPLES * (net->steps - 1));
        }
    }
    emp_method_destroy(&emp_method_hdp, state);
    return d;
}

/* Without noise a first device has the policy's probability, and runs of groups that share
 * their draws change it less often. */
Test(hdp_placer, runs_share_draws_and_follow_the_policy)
{
    static const char *const options[] = {SMALL ",noise=0,placer_gain=100,run_longest=0",
                                          SMALL
                                          ",noise=0,placer_gain=100,run_shortest=1"};
    draws                    d[2];

    for (int r = 0; r < 2; r++) {
        double largest = 0.0;
        d[r] = draw_devices(options[r]);
        for (int i = 0; i < 3; i++) {
            cr_expect_float_eq(d[r].share[i], d[r].probability[i], 0.04,
                               "device %d: %g, policy %g", i, d[r].share[i],
                               d[r].probability[i]);
            largest = fmax(largest, d[r].probability[i]);
        }
        cr_expect_gt(largest, 0.45, "the policy prefers no device: %g", largest);
    }
    cr_expect_lt(d[1].changes, 0.8 * d[0].changes, "%g changes, %g alone", d[1].changes,
                 d[0].changes);
}

/* The mean of an op's 12 positions. */
static double place(const emp_hdp_agent *agent, int32_t row)
{
    double sum = 0.0;

    for (int32_t c = EMP_FEATURE_OUTPUTS * EMP_FEATURE_DIMS; c < EMP_OP_FEATURES; c++)
        sum += (double)agent->learner.ops->value[row * EMP_OP_FEATURES + c];
    return sum / (2 * EMP_FEATURE_NEIGHBOURS);
}

/* Equally full, and one after the other but for ops at their borders. */
static void expect_ranges(const char *options)
{
    enum { GROUPS = 12 };
    void                *state = create(3, 1, options);
    const emp_hdp_agent *agent = (const emp_hdp_agent *)state;
    const int32_t       *group = agent->grouper.group_of_row;
    int32_t              members[GROUPS] = {0}, rows = agent->learner.ops->row_count;
    int32_t              misplaced = 0;

    update(state, true);
    for (int32_t r = 0; r < rows; r++) {
        members[group[r]]++;
        for (int32_t s = 0; s < rows; s++)
            misplaced += group[r] > group[s] && place(agent, r) < place(agent, s);
    }
    cr_expect_lt(misplaced, rows * rows / 500, "%d of %d pairs", misplaced, rows * rows);
    for (int g = 0; g < GROUPS; g++)
        cr_expect(abs(members[g] - rows / GROUPS) < rows / GROUPS / 2,
                  "group %d has %d of %d", g, members[g], rows);
    emp_method_destroy(&emp_method_hdp, state);
}

Test(hdp_placer, first_groups_are_ranges) { expect_ranges(SMALL); }

Test(hdp_placer, first_groups_may_be_random)
{
    void *state = create(3, 1, SMALL ",ranges=0");

    update(state, true);
    cr_expect_gt(metric(state, "grouper_entropy"), 0.5 * log(12));
    emp_method_destroy(&emp_method_hdp, state);
}

/* Groups that are not learned stay; the placer learns nevertheless. */
static const emp_hdp_agent *update_fixed(void **state, uint64_t seed, const char *options)
{
    const emp_hdp_agent *agent = *state = create(seed, 1, options);
    double               before = weight_sum(agent);
    emp_real             grouper = agent->grouper.params.value[0];
    int32_t              rows = agent->learner.ops->row_count, group[MAX_OPS];

    update(*state, true);
    memcpy(group, agent->grouper.group_of_row, (size_t)rows * sizeof *group);
    update(*state, true);
    cr_expect_arr_eq(group, agent->grouper.group_of_row, (size_t)rows * sizeof *group);
    cr_expect_eq(grouper, agent->grouper.params.value[0]);
    cr_expect_eq(agent->grouper.params.step, 0, "the grouper learns");
    cr_expect_neq(weight_sum(agent), before, "the placer does not");
    for (int32_t r = 0; r < rows; r++)
        cr_assert(group[r] >= 0 && group[r] < 12, "row %d in group %d", r, group[r]);
    return agent;
}

Test(hdp_placer, fixed_groups_may_be_random)
{
    void                *state, *other;
    const emp_hdp_agent *a = update_fixed(&state, 3, SMALL ",grouping=random");
    const emp_hdp_agent *b = update_fixed(&other, 4, SMALL ",grouping=random");
    int                  members[12] = {0}, same = 0, rows = a->learner.ops->row_count;

    for (int r = 0; r < rows; r++) {
        members[a->grouper.group_of_row[r]]++;
        same += a->grouper.group_of_row[r] == b->grouper.group_of_row[r];
    }
    for (int g = 0; g < 12; g++) cr_expect_gt(members[g], 0);
    cr_expect_lt(same, rows / 4, "seeds give the same groups");
    emp_method_destroy(&emp_method_hdp, state);
    emp_method_destroy(&emp_method_hdp, other);
}

Test(hdp_placer, fixed_groups_may_be_chunks)
{
    void                *state;
    const emp_hdp_agent *a = update_fixed(&state, 3, SMALL ",grouping=chunks");
    int                  members[12] = {0}, rows = a->learner.ops->row_count;

    for (int r = 0; r < rows; r++) {
        members[a->grouper.group_of_row[r]]++;
        for (int s = 0; s < rows; s++) {
            if (a->learner.ops->position[r] < a->learner.ops->position[s])
                cr_assert_leq(a->grouper.group_of_row[r], a->grouper.group_of_row[s]);
        }
    }
    for (int g = 0; g < 12; g++) cr_expect(abs(members[g] - rows / 12) <= 1);
    emp_method_destroy(&emp_method_hdp, state);
}

/* Neighbours in the chain are mostly in one group. */
static void expect_cut(const char *options)
{
    void                *state;
    const emp_hdp_agent *a = update_fixed(&state, 3, options);
    int                  apart = 0;

    for (int e = 0; e < a->learner.ops->edge_count; e++)
        apart += a->grouper.group_of_row[a->learner.ops->edge[e][0]] !=
                 a->grouper.group_of_row[a->learner.ops->edge[e][1]];
    cr_expect_lt(apart, a->learner.ops->edge_count / 4, "%d of %d edges", apart,
                 a->learner.ops->edge_count);
    emp_method_destroy(&emp_method_hdp, state);
}

Test(hdp_placer, fixed_groups_may_be_those_of_partitioners)
{
    expect_cut(SMALL ",grouping=metis");
    expect_cut(SMALL ",grouping=scotch");
}

/* No group is much fuller than the mean; few are empty. */
Test(hdp_placer, groups_of_scotch_are_balanced)
{
    void                *state;
    const emp_hdp_agent *a = update_fixed(&state, 3, SMALL ",grouping=scotch");
    int                  members[12] = {0}, rows = a->learner.ops->row_count, used = 0;

    for (int r = 0; r < rows; r++) members[a->grouper.group_of_row[r]]++;
    for (int g = 0; g < 12; g++) {
        used += members[g] > 0;
        cr_expect_lt(members[g], 3 * rows / 12, "%d of %d", members[g], rows);
    }
    cr_expect_geq(used, 7);
    emp_method_destroy(&emp_method_hdp, state);
}

/* In range, however many groups the rules give, and the same for every seed. */
Test(hdp_placer, fixed_groups_may_be_those_of_colocation_rules)
{
    void                *state;
    const emp_hdp_agent *a = update_fixed(&state, 3, SMALL ",grouping=colocation");
    const emp_hdp_agent *b;
    void                *other;

    b = update_fixed(&other, 4, SMALL ",grouping=colocation");
    cr_expect_arr_eq(a->grouper.group_of_row, b->grouper.group_of_row,
                     (size_t)a->learner.ops->row_count * sizeof(int32_t), "no seed");
    emp_method_destroy(&emp_method_hdp, state);
    emp_method_destroy(&emp_method_hdp, other);
}

/* The chain has 100 steps of three ops, and one op before them. Blocks of 8 steps would be 13
 * groups; so 12 allow blocks of 16 steps, of which the last has 4. No seed plays a part. */
Test(hdp_placer, fixed_groups_may_be_those_of_names)
{
    static const int     want[12] = {49, 48, 48, 48, 48, 48, 12};
    void                *state, *other;
    const emp_hdp_agent *a = update_fixed(&state, 3, SMALL ",grouping=names");
    const emp_hdp_agent *b = update_fixed(&other, 4, SMALL ",grouping=names");
    int                  members[12] = {0};

    for (int r = 0; r < a->learner.ops->row_count; r++) {
        int32_t group = a->grouper.group_of_row[r];
        cr_assert(group >= 0 && group < 12);
        cr_expect_eq(group, b->grouper.group_of_row[r]);
        members[group]++;
    }
    cr_expect_arr_eq(members, want, sizeof want);
    emp_method_destroy(&emp_method_hdp, state);
    emp_method_destroy(&emp_method_hdp, other);
}

/* Without groups ops of one placement are drawn one by one, and each placement anew. */
Test(hdp_placer, without_groups_every_op_has_a_device_of_its_own)
{
    void *state = create(3, 1, SMALL ",grouping=none");
    int   ops = problem.graph->op_count, same = 0, at[3] = {0};

    update(state, true);
    for (int op = 0; op < ops; op++) {
        same += storage[0][op] == storage[1][op];
        at[storage[0][op]]++;
    }
    for (int d = 0; d < 3; d++) cr_expect_gt(at[d], ops / 10, "device %d: %d", d, at[d]);
    cr_expect_lt(same, 3 * ops / 4, "samples are alike");
    emp_method_destroy(&emp_method_hdp, state);
}

Test(hdp_placer, without_groups_step_times_fall)
{
    void  *state = create(5, 2, SMALL ",grouping=none,lr=0.05,epsilon=1e-8");
    double first = update(state, true), last = 0.0;

    for (int u = 0; u < 200; u++) update(state, true);
    for (int u = 0; u < 10; u++) last += update(state, true) / 10;
    cr_expect_gt(first, 1.5, "untrained: two thirds elsewhere");
    cr_expect_lt(last, 1.1, "from %g only to %g", first, last);
    emp_method_destroy(&emp_method_hdp, state);
}

Test(hdp_placer, without_groups_threads_and_resuming_change_nothing)
{
    static emp_device_id undisturbed[3][SAMPLES][MAX_OPS];
    emp_named_array      from[EMP_MAX_NAMED_ARRAYS], to[EMP_MAX_NAMED_ARRAYS];
    const char          *options = SMALL ",grouping=none";
    void                *state = create(7, 1, options), *resumed = create(7, 3, options);

    for (int u = 0; u < 3; u++) update(state, u != 1);
    int32_t count = emp_method_hdp.list_state(state, from);
    cr_assert_eq(emp_method_hdp.list_state(resumed, to), count);
    for (int32_t i = 0; i < count; i++) copy_array(&to[i], &from[i]);
    for (int u = 0; u < 3; u++) {
        update(state, u != 1);
        memcpy(undisturbed[u], storage, sizeof storage);
    }
    for (int u = 0; u < 3; u++) {
        update(resumed, u != 1);
        cr_expect_eq(memcmp(undisturbed[u], storage, sizeof storage), 0, "update %d", u);
    }
    emp_method_destroy(&emp_method_hdp, state);
    emp_method_destroy(&emp_method_hdp, resumed);
}

/* Rewards are of the placements themselves; what the oracle says teaches nothing. */
static void expect_balance(const char *options)
{
    static emp_device_id other[SAMPLES][MAX_OPS];
    void                *state = create(3, 1, options), *deaf = create(3, 1, options);
    emp_balance          balance;
    double               reward = 0.0;

    for (int u = 0; u < 4; u++) {
        update(state, true);
        memcpy(other, storage, sizeof other);
        update(deaf, u % 2 == 0);
        cr_expect_eq(memcmp(other, storage, sizeof other), 0, "update %d", u);
    }
    cr_assert_eq(emp_balance_init(&balance, problem.problem, NULL), EMP_OK);
    for (int32_t k = 0; k < SAMPLES; k++) {
        emp_problem_legalize(problem.problem, storage[k]);
        reward -= sqrt(emp_balance_cost(emp_balance_judge(&balance, storage[k])));
    }
    cr_expect_float_eq(metric(state, "reward"), reward / SAMPLES, 1e-12);
    emp_balance_clear(&balance);
    emp_method_destroy(&emp_method_hdp, state);
    emp_method_destroy(&emp_method_hdp, deaf);
}

Test(hdp_placer, rewards_may_be_for_balance)
{
    expect_balance(SMALL ",objective=balance");
    expect_balance(SMALL ",objective=balance,grouping=none");
}

Test(hdp_placer, rewards_may_have_other_forms)
{
    static const char *const options[] = {SMALL ",reward=identity", SMALL ",reward=log"};
    static const double      failure[] = {-100.0, -4.605170185988092};

    for (int i = 0; i < 2; i++) {
        void *state = create(3, 1, options[i]);
        update(state, false);
        cr_expect_float_eq(metric(state, "reward"), failure[i], 1e-9);
        emp_method_destroy(&emp_method_hdp, state);
    }
}

Test(hdp_placer, window_says_what_the_grouper_sees)
{
    static const struct {
        const char *options;
        int32_t     width;
    } cases[] = {{SMALL, 36},
                 {SMALL ",window=3", 30},
                 {SMALL ",window=16", 56},
                 {SMALL ",window=0,ranges=0", 24}};
    const emp_method_params params = {.seed = 1, .options = SMALL ",window=0"};
    emp_error               err = {0};
    void                   *state = NULL;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        state = create(3, 1, cases[i].options);
        cr_expect_eq(((emp_hdp_agent *)state)->learner.ops->width, cases[i].width);
        update(state, true);
        update(state, true);
        emp_method_destroy(&emp_method_hdp, state);
    }
    cr_expect_eq(
        emp_method_create(&state, &emp_method_hdp, problem.problem, &params, &err),
        EMP_EINVAL);
    cr_expect_str_eq(err.msg,
                     "the first groups cannot be ranges of positions that ops do not "
                     "have; give ranges=0 with window=0");
}

/* Failures alone teach nothing; the first placements that ran are the first baseline. */
Test(hdp_placer, the_baseline_starts_with_placements_that_ran)
{
    void  *state = create(3, 1, SMALL);
    double weights = weight_sum(state), reward;

    update(state, false);
    cr_expect_eq(weight_sum(state), weights, "nothing to compare with");
    cr_expect_eq(metric(state, "baseline"), -10.0);
    update(state, true);
    reward = metric(state, "reward");
    cr_expect_float_eq(metric(state, "baseline"), reward, 1e-12);
    cr_expect_neq(weight_sum(state), weights);
    emp_method_destroy(&emp_method_hdp, state);
}

/* The mean of all rewards, failures among them, is averaged in as long as those teach. */
Test(hdp_placer, the_literal_baseline_starts_at_a_failure_and_averages_all)
{
    void  *state = create_preset(3, 1, "literal", SMALL ",updates_failures=2");
    double want = -10.0;

    for (int u = 0; u < 4; u++) {
        bool has_ran = u != 1 && u != 3;
        update(state, has_ran);
        if (u < 2 || has_ran) want = 0.9 * want + 0.1 * metric(state, "reward");
        cr_expect_float_eq(metric(state, "baseline"), want, 1e-12, "update %d", u);
    }
    emp_method_destroy(&emp_method_hdp, state);
}

Test(hdp_placer, empty_groups_may_be_given_to_the_placer)
{
    const char *const options[] = {"groups=900,hidden=6",
                                   "groups=900,hidden=6,empty_groups=1"};

    for (int i = 0; i < 2; i++) {
        void *state = create(3, 1, options[i]);
        update(state, true);
        cr_expect_eq(metric(state, "groups_used") == 900.0, i == 1);
        update(state, true);
        emp_method_destroy(&emp_method_hdp, state);
    }
}

/* The same placements are measured; but others are learned, which their rewards say nothing
 * of. */
Test(hdp_placer, redrawing_teaches_nothing)
{
    const char *const    options = SMALL ",lr=0.01,noise=0,epsilon=1e-8,run_longest=0";
    static emp_device_id first[SAMPLES][MAX_OPS];
    char                 redraw[200];
    double               last[2] = {0.0, 0.0}, weights[2];

    snprintf(redraw, sizeof redraw, "%s,redraw=1", options);
    for (int i = 0; i < 2; i++) {
        void *state = create(5, 1, i == 0 ? options : redraw);
        update(state, true);
        if (i == 0) memcpy(first, storage, sizeof first);
        cr_expect_eq(memcmp(first, storage, sizeof first), 0);
        update(state, true);
        weights[i] = weight_sum(state);
        for (int u = 0; u < 200; u++) update(state, true);
        for (int u = 0; u < 10; u++) last[i] += update(state, true) / 10;
        emp_method_destroy(&emp_method_hdp, state);
    }
    cr_expect_neq(weights[0], weights[1]);
    cr_expect_lt(last[0], 1.15);
    cr_expect_gt(last[1], last[0] + 0.2, "%g redrawn, %g not", last[1], last[0]);
}

/* What remains of the noise in the probabilities of given devices: of D numbers, D - 1. */
Test(hdp_placer, gaussian_noise_of_the_placer_is_as_large_as_its_logits)
{
    enum { UPDATES = 99 };
    void          *clean = create(3, 1, SMALL ",noise=0,lr=0,placer_gain=300");
    void          *noisy = create(3, 1,
                                  SMALL ",noise=0.5,noise_form=gaussian,updates_noise=99,"
                                                 "lr=0,placer_gain=300");
    emp_hdp_agent *a = (emp_hdp_agent *)clean, *b = (emp_hdp_agent *)noisy;
    int32_t        rows = a->learner.ops->row_count, group[MAX_OPS];
    int32_t        device[SAMPLES * 12];
    double         want = 0.0, got = 0.0;

    for (int32_t r = 0; r < rows; r++) group[r] = r % 12;
    for (int i = 0; i < SAMPLES * 12; i++) device[i] = i % 3;
    for (int u = 0; u < UPDATES; u++) {
        a->learner.update = b->learner.update = u;
        emp_hdp_agent_propose(a, SAMPLES, group, device);
        emp_hdp_agent_propose(b, SAMPLES, group, device);
        for (int64_t step = 0; step < SAMPLES * 12; step++) {
            double sum = 0.0, squares = 0.0;
            for (int64_t d = 3 * step; d < 3 * step + 3; d++) {
                double logit = 5.0 * (double)a->net.squashed[d];
                double difference = log((double)b->net.p[d] / (double)a->net.p[d]);
                want += 0.25 * logit * logit / 3.0 * 2.0;
                sum += difference;
                squares += difference * difference;
            }
            got += squares - sum * sum / 3.0;
        }
    }
    cr_expect_gt(want, 1.0);
    cr_expect_float_eq(got, want, 0.05 * want, "%g, not %g", got, want);
    emp_method_destroy(&emp_method_hdp, clean);
    emp_method_destroy(&emp_method_hdp, noisy);
}

/* The mean of ln sigmoid(x) over normal x of a deviation, by the trapezoidal rule. */
static double mean_log_sigmoid(double deviation)
{
    const double step = 0.01;
    double       sum = 0.0;

    for (double z = -8.0; z <= 8.0; z += step)
        sum -= log1p(exp(-deviation * z)) * exp(-z * z / 2) * step;
    return sum / sqrt(2 * acos(-1.0));
}

/* Two groups whose logits are 2 and 2 for every op: their root mean square is 2, and what noise
 * puts between them has the deviation 0.5 x 2 x sqrt(2). */
Test(hdp_placer, gaussian_noise_of_the_grouper_is_as_large_as_its_logits)
{
    enum { UPDATES = 100, OUT_WEIGHT = 4, OUT_BIAS = 5 };
    void          *state = create(3, 1,
                                  "groups=2,hidden=4,grouper_hidden=3,noise_form=gaussian,"
                                           "updates_noise=100");
    emp_hdp_agent *a = (emp_hdp_agent *)state;
    emp_params    *p = &a->grouper.params;
    int32_t        rows = a->learner.ops->row_count, group[MAX_OPS];
    double         got = 0.0, want = mean_log_sigmoid(sqrt(2.0));

    for (int32_t r = 0; r < rows; r++) group[r] = r % 2;
    for (int32_t i = 0; i < 3 * 2; i++) emp_params_value(p, OUT_WEIGHT)[i] = 0;
    for (int32_t i = 0; i < 2; i++) emp_params_value(p, OUT_BIAS)[i] = 2;
    for (int u = 0; u < UPDATES; u++) {
        a->learner.update = u;
        emp_hdp_agent_propose(a, 1, group, NULL);
        got += a->grouper.log_prob / ((double)UPDATES * rows);
    }
    cr_expect_float_eq(got, want, 0.02, "%g, not %g", got, want);
    cr_expect_lt(want, log(0.5) - 0.1, "without noise it is ln 1/2");
    a->learner.update = UPDATES;
    emp_hdp_agent_propose(a, 1, group, NULL);
    cr_expect_float_eq(a->grouper.log_prob / rows, log(0.5), 1e-6, "noise has ended");
    emp_method_destroy(&emp_method_hdp, state);
}

Test(hdp_placer, step_times_fall)
{
    void  *state = create(5, 1, SMALL ",lr=0.01,noise=0,epsilon=1e-8");
    double first = update(state, true), last = 0.0;

    for (int u = 0; u < 200; u++) update(state, true);
    for (int u = 0; u < 10; u++) last += update(state, true) / 10;
    cr_expect_gt(first, 1.5, "untrained: two thirds elsewhere");
    cr_expect_lt(last, 1.1, "from %g only to %g", first, last);
    emp_method_destroy(&emp_method_hdp, state);
}

Test(hdp_placer, a_small_batch_is_filled)
{
    void     *state = create(5, 1, SMALL);
    int32_t   count = 0;
    emp_score score[2] = {{1.0, true, 0.0}, {2.0, true, 0.0}};

    cr_assert_eq(emp_method_hdp.ask(state, candidates, 2, &count, NULL), EMP_OK);
    cr_expect_eq(count, 2);
    cr_expect_eq(emp_method_hdp.tell(state, score, 1, NULL), EMP_EINVAL);
    cr_expect_eq(emp_method_hdp.tell(state, score, 2, NULL), EMP_OK);
    emp_method_destroy(&emp_method_hdp, state);
}

static void survive_allocation_failures(const char *options)
{
    const emp_method_params params = {.seed = 1, .threads = 1, .options = options};
    void                   *state = NULL;
    emp_status              st = EMP_ENOMEM;
    long                    before = emp_mem_live_blocks();

    for (long allowed = 0; st != EMP_OK; allowed++) {
        emp_mem_fail_after(allowed);
        st = emp_method_create(&state, &emp_method_hdp, problem.problem, &params, NULL);
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
    emp_method_destroy(&emp_method_hdp, state);
}

Test(hdp_placer, survives_every_allocation_failure)
{
    survive_allocation_failures(SMALL);
    survive_allocation_failures(SMALL ",noise_form=gaussian,redraw=1,empty_groups=1");
    survive_allocation_failures(SMALL ",grouping=chunks");
    survive_allocation_failures(SMALL ",grouping=metis");
    survive_allocation_failures(SMALL ",grouping=scotch");
    survive_allocation_failures(SMALL ",grouping=names");
    survive_allocation_failures(SMALL ",grouping=colocation");
    survive_allocation_failures(SMALL ",grouping=none");
    survive_allocation_failures(SMALL ",objective=balance");
}

static void expect_refusal(const char *preset, const char *text, const char *start)
{
    emp_hdp_options options;
    emp_error       err = {0};

    cr_assert_eq(emp_hdp_options_parse(&options, preset, text, &err), EMP_EINVAL);
    cr_expect_eq(strncmp(err.msg, start, strlen(start)), 0, "%s", err.msg);
}

Test(hdp_options, name_what_is_wrong)
{
    expect_refusal(NULL, "lrr=1",
                   "hdp has no option \"lrr\"; it has groups, grouper_hidden");
    expect_refusal(NULL, "lr=0.1,groups=0",
                   "hdp: option groups is 0, must be a whole number in 1..4096");
    expect_refusal(NULL, "grouping=kahip",
                   "hdp: option grouping is kahip, must be one of learned|random|chunks");
    expect_refusal("best", NULL, "hdp has no preset \"best\"; it has paper");
    expect_refusal("emplace", NULL, "hdp has no preset \"emplace\" any more");
}

Test(hdp_options, paper_preset_holds_the_paper_constants)
{
    emp_hdp_options o;

    cr_assert_eq(emp_hdp_options_parse(&o, NULL, NULL, NULL), EMP_OK);
    cr_expect(o.groups == 256 && o.grouper_hidden == 64 && o.hidden == 256);
    cr_expect(o.type_width == 20 && o.learner.samples == 4 && o.temperature == 10);
    cr_expect(o.tanh_constant == 5 && o.learner.adam.learning_rate == 0.1 &&
              o.learner.clip == 1 && o.learner.rules.failure == 10);
    cr_expect(o.learner.rules.baseline_decay == 0.9 && o.updates_noise == 500 &&
              o.learner.rules.updates_failures == 500);
    cr_expect(o.learner.entropy == 0, "the paper has no entropy bonus");
}

/* What differs from "paper", and nothing else. */
Test(hdp_options, literal_preset_holds_what_the_released_code_does)
{
    emp_hdp_options paper, o;

    cr_assert_eq(emp_hdp_options_parse(&paper, "paper", NULL, NULL), EMP_OK);
    cr_assert_eq(emp_hdp_options_parse(&o, "literal", NULL, NULL), EMP_OK);
    cr_expect(o.learner.adam.epsilon == 1e-8 && o.learner.adam.epsilon_hat,
              "tf.train.AdamOptimizer's defaults");
    cr_expect(o.run_shortest == 0 && o.run_longest == 0, "independent draws");
    cr_expect_not(o.ranges, "Glorot weights");
    cr_expect_not(o.learner.rules.baseline_first);
    cr_expect(o.learner.rules.baseline_failures);
    cr_expect(o.noise_form == EMP_NOISE_GAUSSIAN && o.noise == 0.5);
    cr_expect(o.order == EMP_ORDER_NUMBER && o.empty_groups);
    cr_expect(o.absent == EMP_ABSENT_MINUS_1);
    cr_expect_not(o.redraw, "a defect");
    for (const emp_option *i = emp_hdp_option_list; i->name != NULL; i++) {
        static const char differ[] =
            " epsilon epsilon_hat run_shortest run_longest ranges baseline_first "
            "baseline_failures noise_form order empty_groups absent ";
        char text[EMP_OPTION_TEXT_BYTES], other[EMP_OPTION_TEXT_BYTES], name[64];
        emp_option_write_default(text, i, 0);
        emp_option_write_default(other, i, 1);
        snprintf(name, sizeof name, " %s ", i->name);
        cr_expect_eq(strcmp(text, other) != 0, strstr(differ, name) != NULL,
                     "%s is %s and %s", i->name, text, other);
    }
}

/* Whoever reads the list of options has no source at hand. */
Test(hdp_options, help_names_no_files)
{
    for (const emp_option *i = emp_hdp_option_list; i->name != NULL; i++)
        cr_expect(strstr(i->help, ".h") == NULL && strstr(i->help, ".c") == NULL,
                  "%s: %s", i->name, i->help);
}

Test(hdp_options, single_options_change_a_preset)
{
    emp_hdp_options o;

    cr_assert_eq(emp_hdp_options_parse(&o, "paper", "lr=0.01,groups=64", NULL), EMP_OK);
    cr_expect(o.learner.adam.learning_rate == 0.01 && o.groups == 64 &&
              o.learner.samples == 4);
}
