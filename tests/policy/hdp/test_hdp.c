// SPDX-License-Identifier: GPL-3.0-or-later
/* The Hierarchical Planner: first groups, groups that are not learned, none; how devices of groups are drawn; noise,
 * rewards and options; and what the preset "literal" does as the released code does. */
#include "policy/hdp/hdp.h"
#include "search/method.h"
#include "search/partition/partition_graph.h"
#include "tests/support/methods.h"
#include "tests/support/problems.h"

static void release_state(void **state) { emp_method_destroy(&emp_method_hdp, *state); }
#define OWN_STATE SCOPED(void *, release_state)

enum { PLANNER_MAX_OPS = 512, PLANNER_SAMPLES = 4 };

/* Options of small networks: all that "paper" has; without elites, heat, cap and what the placer sees and reads
 * beside the paper; and both with learned groups. */
#define PLANNER_FULL "groups=12,hidden=10,grouper_hidden=9,type_width=4"
#define PLANNER_SMALL                                                                    \
    PLANNER_FULL ",cap=0,failures_share=0,heat=0,stretches=0,elites=0,gradient_bound=0," \
                 "costs=0,standardize=0,aligned=0"
#define PLANNER_LEARNED      PLANNER_SMALL ",grouping=learned"
#define PLANNER_FULL_LEARNED PLANNER_FULL ",grouping=learned"

/* ---- the planner on a chain of small layers, driven by hand ---- */

enum { LAYERS = 100 };

static task          planner_problem;
static emp_device_id planner_storage[PLANNER_SAMPLES][PLANNER_MAX_OPS];

static const emp_owned_decision planner_candidates[PLANNER_SAMPLES] = {
    {.device_of_op = planner_storage[0]},
    {.device_of_op = planner_storage[1]},
    {.device_of_op = planner_storage[2]},
    {.device_of_op = planner_storage[3]}};

static void planner_problem_create(void)
{
    hand_graph_layers(&planner_problem, LAYERS);
    cr_assert_leq(planner_problem.graph->op_count, PLANNER_MAX_OPS);
}

static void planner_problem_destroy(void)
{
    task_destroy(&planner_problem);
    expect_all_freed();
}

static void *planner_create_preset(uint64_t seed, int32_t threads, const char *preset,
                                   const char *options)
{
    return method_begin(
        &emp_method_hdp, planner_problem.problem,
        (emp_method_params){
            .seed = seed, .threads = threads, .preset = preset, .options = options});
}

static void *planner_create(uint64_t seed, int32_t threads, const char *options)
{
    return planner_create_preset(seed, threads, NULL, options);
}

/* One ask and tell. A placement takes 1 s, plus 1 s for the share of ops that are not on device 1; is_feasible says
 * whether it fits. Returns the mean time. */
static double planner_update(void *state, bool is_feasible)
{
    emp_score score[PLANNER_SAMPLES];
    int32_t   count = 0, ops = planner_problem.graph->op_count;
    double    sum = 0.0;

    MUST(emp_method_hdp.ask(state, planner_candidates, PLANNER_SAMPLES, &count, NULL));
    cr_assert_eq(count, PLANNER_SAMPLES);
    for (int32_t k = 0; k < count; k++) {
        int32_t elsewhere = 0;
        for (emp_op_id op = 0; op < ops; op++) {
            cr_assert(planner_storage[k][op] >= 0 && planner_storage[k][op] < 3,
                      "op %d on device %d", op, planner_storage[k][op]);
            elsewhere += planner_storage[k][op] != 1;
        }
        score[k] = (emp_score){.step_time_s = 1.0 + (double)elsewhere / ops,
                               .is_feasible = is_feasible};
        sum += score[k].step_time_s;
    }
    MUST(emp_method_hdp.tell(state, score, count, NULL));
    return sum / count;
}

static double planner_metric(const void *state, const char *name)
{
    return method_metric(&emp_method_hdp, state, name);
}

static double planner_weight_sum(const void *state)
{
    const emp_hdp_agent *agent = (const emp_hdp_agent *)state;
    double               sum = 0.0;

    for (size_t i = 0; i < agent->grouper.params.count; i++)
        sum += (double)agent->grouper.params.value[i] * (double)(i % 7);
    for (size_t i = 0; i < agent->net.params.count; i++)
        sum += (double)agent->net.params.value[i] * (double)(i % 7);
    return sum;
}

TestSuite(hdp, .init = planner_problem_create, .fini = planner_problem_destroy);

/* With a learning rate of 0 the weights stay. Under strong noise devices are then less
 * likely, as the policy without noise sees them, than its own. */
Test(hdp, noise_explores_and_stops)
{
    OWN_STATE state = planner_create(
        3, 1, PLANNER_LEARNED ",lr=0,updates_noise=40,noise=9,placer_gain=300");
    double placer[2] = {0.0, 0.0};

    for (int u = 0; u < 80; u++) {
        planner_update(state, true);
        placer[u / 40] += planner_metric(state, "placer_log_prob") /
                          planner_metric(state, "groups_used");
    }
    cr_expect_lt(placer[0], 1.5 * placer[1], "%g with noise, %g without", placer[0],
                 placer[1]);
}

/* Rewards are of the placements themselves; what the oracle says teaches nothing. */
static void expect_balance(const char *options)
{
    static emp_device_id other[PLANNER_SAMPLES][PLANNER_MAX_OPS];
    void *state = planner_create(3, 1, options), *deaf = planner_create(3, 1, options);
    SCOPED(emp_balance, emp_balance_clear) balance;
    double reward = 0.0;

    for (int u = 0; u < 4; u++) {
        planner_update(state, true);
        memcpy(other, planner_storage, sizeof other);
        planner_update(deaf, u % 2 == 0);
        cr_expect_eq(memcmp(other, planner_storage, sizeof other), 0, "update %d", u);
    }
    MUST(emp_balance_init(&balance, planner_problem.problem, NULL));
    for (int32_t k = 0; k < PLANNER_SAMPLES; k++) {
        emp_problem_legalize(planner_problem.problem, planner_storage[k]);
        reward -= sqrt(emp_balance_cost(emp_balance_judge(&balance, planner_storage[k])));
    }
    cr_expect_float_eq(planner_metric(state, "reward"), reward / PLANNER_SAMPLES, 1e-12);
    emp_method_destroy(&emp_method_hdp, state);
    emp_method_destroy(&emp_method_hdp, deaf);
}

Test(hdp, rewards_may_be_for_balance)
{
    expect_balance(PLANNER_LEARNED ",objective=balance");
    expect_balance(PLANNER_SMALL ",objective=balance,grouping=none");
}

/* Failures by themselves teach nothing; the first placements that ran are the first baseline. */
Test(hdp, the_baseline_starts_with_placements_that_ran)
{
    OWN_STATE state = planner_create(3, 1, PLANNER_LEARNED);
    double    weights = planner_weight_sum(state), reward;

    planner_update(state, false);
    cr_expect_eq(planner_weight_sum(state), weights, "nothing to compare with");
    cr_expect_eq(planner_metric(state, "baseline"), -10.0);
    planner_update(state, true);
    reward = planner_metric(state, "reward");
    cr_expect_float_eq(planner_metric(state, "baseline"), reward, 1e-12);
    cr_expect_neq(planner_weight_sum(state), weights);
}

/* ---- groups ---- */

/* The draws of an untrained policy that prefers some devices in 400 updates. */
typedef struct {
    double changes;                  /* of device, per pair of neighbouring groups */
    double share[3], probability[3]; /* of devices at the first group */
} draws;

static draws draw_devices(const char *options)
{
    enum { UPDATES = 400 };
    OWN_STATE             state = planner_create(3, 1, options);
    emp_hdp_agent        *agent = (emp_hdp_agent *)state;
    const emp_device_net *net = &agent->net;
    draws                 d = {.changes = 0.0};

    for (int u = 0; u < UPDATES; u++) {
        agent->learner.update = u;
        emp_hdp_agent_propose(agent, PLANNER_SAMPLES, NULL, NULL);
        for (int32_t k = 0; k < PLANNER_SAMPLES; k++) {
            const int32_t *device = &net->device[k * net->steps];
            d.share[device[0]] += 1.0 / (UPDATES * PLANNER_SAMPLES);
            for (int i = 0; i < 3; i++)
                d.probability[i] += (double)net->p[(int64_t)k * net->steps * 3 + i] /
                                    (UPDATES * PLANNER_SAMPLES);
            for (int32_t t = 1; t < net->steps; t++)
                d.changes += (device[t] != device[t - 1]) /
                             (double)(UPDATES * PLANNER_SAMPLES * (net->steps - 1));
        }
    }
    return d;
}

/* Without noise a first device has the policy's probability, and runs of groups that share
 * their draws change it less often. */
Test(hdp, runs_share_draws_and_follow_the_policy)
{
    static const char *const options[] = {
        PLANNER_LEARNED ",noise=0,placer_gain=100,run_longest=0",
        PLANNER_LEARNED ",noise=0,placer_gain=100,run_shortest=1"};
    draws d[2];

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
Test(hdp, first_groups_are_ranges)
{
    enum { GROUPS = 12 };
    OWN_STATE            state = planner_create(3, 1, PLANNER_LEARNED);
    const emp_hdp_agent *agent = (const emp_hdp_agent *)state;
    const int32_t       *group = agent->grouper.group_of_row;
    int32_t              members[GROUPS] = {0}, rows = agent->learner.ops->row_count;
    int32_t              misplaced = 0;

    planner_update(state, true);
    for (int32_t r = 0; r < rows; r++) {
        members[group[r]]++;
        for (int32_t s = 0; s < rows; s++)
            misplaced += group[r] > group[s] && place(agent, r) < place(agent, s);
    }
    cr_expect_lt(misplaced, rows * rows / 500, "%d of %d pairs", misplaced, rows * rows);
    for (int g = 0; g < GROUPS; g++)
        cr_expect(abs(members[g] - rows / GROUPS) < rows / GROUPS / 2,
                  "group %d has %d of %d", g, members[g], rows);
}

Test(hdp, first_groups_may_be_random)
{
    OWN_STATE state = planner_create(3, 1, PLANNER_LEARNED ",ranges=0");

    planner_update(state, true);
    cr_expect_gt(planner_metric(state, "grouper_entropy"), 0.5 * log(12));
}

/* Groups that are not learned stay; the placer learns nevertheless. */
static const emp_hdp_agent *update_fixed(void **state, uint64_t seed, const char *options)
{
    const emp_hdp_agent *agent = *state = planner_create(seed, 1, options);
    double               before = planner_weight_sum(agent);
    emp_real             grouper = agent->grouper.params.value[0];
    int32_t              rows = agent->learner.ops->row_count, group[PLANNER_MAX_OPS];

    planner_update(*state, true);
    memcpy(group, agent->grouper.group_of_row, (size_t)rows * sizeof *group);
    planner_update(*state, true);
    cr_expect_arr_eq(group, agent->grouper.group_of_row, (size_t)rows * sizeof *group);
    cr_expect_eq(grouper, agent->grouper.params.value[0]);
    cr_expect_eq(agent->grouper.params.step, 0, "the grouper learns");
    cr_expect_neq(planner_weight_sum(agent), before, "the placer does not");
    for (int32_t r = 0; r < rows; r++)
        cr_assert(group[r] >= 0 && group[r] < 12, "row %d in group %d", r, group[r]);
    return agent;
}

typedef struct {
    int members[12], apart, same; /* edges between groups; rows as with another seed */
    int32_t rows, edges;
    bool    is_in_order;
} fixed;

static fixed fix(const char *grouping)
{
    char  options[512];
    void *state, *other;
    fixed f = {.is_in_order = true};

    snprintf(options, sizeof options, PLANNER_SMALL ",grouping=%s", grouping);
    const emp_hdp_agent   *a = update_fixed(&state, 3, options);
    const emp_hdp_agent   *b = update_fixed(&other, 4, options);
    const emp_op_features *ops = a->learner.ops;
    const int32_t         *group = a->grouper.group_of_row;
    f.rows = ops->row_count;
    f.edges = ops->edge_count;
    for (int32_t r = 0; r < f.rows; r++) {
        f.members[group[r]]++;
        f.same += group[r] == b->grouper.group_of_row[r];
        for (int32_t s = 0; s < f.rows; s++)
            f.is_in_order = f.is_in_order && (ops->position[r] >= ops->position[s] ||
                                              group[r] <= group[s]);
    }
    for (int32_t e = 0; e < f.edges; e++)
        f.apart += group[ops->edge[e][0]] != group[ops->edge[e][1]];
    emp_method_destroy(&emp_method_hdp, state);
    emp_method_destroy(&emp_method_hdp, other);
    return f;
}

/* The chain has 100 steps of three ops, and one op before them. By names, blocks of 8 steps would be 13 groups; so 12
 * allow blocks of 16 steps, of which the last has 4. METIS and Scotch leave neighbours in one group, and no group of
 * Scotch's is much fuller than the mean. */
Test(hdp, fixed_groups_are_those_of_the_option)
{
    static const int by_names[12] = {49, 48, 48, 48, 48, 48, 12};
    const fixed      random = fix("random"), chunks = fix("chunks"), names = fix("names");
    const fixed metis = fix("metis"), scotch = fix("scotch"), rules = fix("colocation");
    int         used = 0;

    for (int g = 0; g < 12; g++) {
        cr_expect_gt(random.members[g], 0);
        cr_expect_leq(abs(chunks.members[g] - chunks.rows / 12), 1);
        cr_expect_lt(scotch.members[g], 3 * scotch.rows / 12);
        used += scotch.members[g] > 0;
    }
    cr_expect_geq(used, 7);
    cr_expect_lt(random.same, random.rows / 4, "seeds give the same groups");
    cr_expect(chunks.is_in_order);
    cr_expect_lt(metis.apart, metis.edges / 4);
    cr_expect_lt(scotch.apart, scotch.edges / 4);
    cr_expect_arr_eq(names.members, by_names, sizeof by_names);
    cr_expect_eq(names.same, names.rows, "no seed");
    cr_expect_eq(rules.same, rules.rows, "no seed");
}

Test(hdp, without_groups_every_op_has_a_device_of_its_own)
{
    OWN_STATE state = planner_create(3, 1, PLANNER_SMALL ",grouping=none");
    int       ops = planner_problem.graph->op_count, same = 0, at[3] = {0};

    planner_update(state, true);
    for (int op = 0; op < ops; op++) {
        same += planner_storage[0][op] == planner_storage[1][op];
        at[planner_storage[0][op]]++;
    }
    for (int d = 0; d < 3; d++) cr_expect_gt(at[d], ops / 10, "device %d: %d", d, at[d]);
    cr_expect_lt(same, 3 * ops / 4, "samples are alike");
}

Test(hdp, window_says_what_the_grouper_sees)
{
    static const struct {
        const char *options;
        int32_t     width;
    } cases[] = {{PLANNER_LEARNED, 36},
                 {PLANNER_LEARNED ",window=3", 30},
                 {PLANNER_LEARNED ",window=16", 56},
                 {PLANNER_LEARNED ",window=0,ranges=0", 24}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        OWN_STATE state = planner_create(3, 1, cases[i].options);
        cr_expect_eq(((emp_hdp_agent *)state)->learner.ops->width, cases[i].width);
        for (int u = 0; u < 2; u++) planner_update(state, true);
    }
}

Test(hdp, empty_groups_may_be_given_to_the_placer)
{
    const char *const options[] = {"groups=900,hidden=6,grouping=chunks",
                                   "groups=900,hidden=6,grouping=chunks,empty_groups=1"};

    for (int i = 0; i < 2; i++) {
        OWN_STATE state = planner_create(3, 1, options[i]);
        planner_update(state, true);
        cr_expect_eq(planner_metric(state, "groups_used") == 900.0, i == 1);
        planner_update(state, true);
    }
}

/* ---- presets ---- */

/* The same placements are measured; but others are learned, which their rewards say nothing
 * of. */
Test(hdp, redrawing_teaches_nothing)
{
    const char *const options =
        PLANNER_LEARNED ",lr=0.01,noise=0,epsilon=1e-8,run_longest=0";
    static emp_device_id first[PLANNER_SAMPLES][PLANNER_MAX_OPS];
    char                 redraw[512];
    double               last[2] = {0.0, 0.0}, weights[2];

    snprintf(redraw, sizeof redraw, "%s,redraw=1", options);
    for (int i = 0; i < 2; i++) {
        OWN_STATE state = planner_create(5, 1, i == 0 ? options : redraw);
        planner_update(state, true);
        if (i == 0) memcpy(first, planner_storage, sizeof first);
        cr_expect_eq(memcmp(first, planner_storage, sizeof first), 0);
        planner_update(state, true);
        weights[i] = planner_weight_sum(state);
        for (int u = 0; u < 200; u++) planner_update(state, true);
        for (int u = 0; u < 10; u++) last[i] += planner_update(state, true) / 10;
    }
    cr_expect_neq(weights[0], weights[1]);
    cr_expect_lt(last[0], 1.15);
    cr_expect_gt(last[1], last[0] + 0.2, "%g redrawn, %g not", last[1], last[0]);
}

/* The noise that remains in the probabilities of given devices: D - 1 of D numbers. */
Test(hdp, gaussian_noise_of_the_placer_is_as_large_as_its_logits)
{
    enum { UPDATES = 99 };
    OWN_STATE clean =
        planner_create(3, 1, PLANNER_LEARNED ",noise=0,lr=0,placer_gain=300");
    void *noisy =
        planner_create(3, 1,
                       PLANNER_LEARNED ",noise=0.5,noise_form=gaussian,updates_noise=99,"
                                       "lr=0,placer_gain=300");
    emp_hdp_agent *a = (emp_hdp_agent *)clean, *b = (emp_hdp_agent *)noisy;
    int32_t        rows = a->learner.ops->row_count, group[PLANNER_MAX_OPS];
    int32_t        device[PLANNER_SAMPLES * 12];
    double         want = 0.0, got = 0.0;

    for (int32_t r = 0; r < rows; r++) group[r] = r % 12;
    for (int i = 0; i < PLANNER_SAMPLES * 12; i++) device[i] = i % 3;
    for (int u = 0; u < UPDATES; u++) {
        a->learner.update = b->learner.update = u;
        emp_hdp_agent_propose(a, PLANNER_SAMPLES, group, device);
        emp_hdp_agent_propose(b, PLANNER_SAMPLES, group, device);
        for (int64_t step = 0; step < PLANNER_SAMPLES * 12; step++) {
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
Test(hdp, gaussian_noise_of_the_grouper_is_as_large_as_its_logits)
{
    enum { UPDATES = 100, OUT_WEIGHT = 4, OUT_BIAS = 5 };
    OWN_STATE state = planner_create(
        3, 1,
        "groups=2,hidden=4,grouper_hidden=3,grouping=learned,noise_form=gaussian,"
        "updates_noise=100");
    emp_hdp_agent *a = (emp_hdp_agent *)state;
    emp_params    *p = &a->grouper.params;
    int32_t        rows = a->learner.ops->row_count, group[PLANNER_MAX_OPS];
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
}

Test(hdp_options, paper_preset_holds_the_paper_constants)
{
    emp_hdp_options o;

    MUST(emp_hdp_options_parse(&o, NULL, NULL, NULL));
    cr_expect(o.groups == 256 && o.grouper_hidden == 64 && o.hidden == 256);
    cr_expect(o.type_width == 20 && o.learner.samples == 4 && o.temperature == 10);
    cr_expect(o.tanh_constant == 5 && o.learner.clip == 1 &&
              o.learner.rules.failure == 10);
    cr_expect(o.learner.rules.baseline_decay == 0.9 &&
              o.learner.rules.updates_failures == 500);
    cr_expect(o.learner.entropy == 0, "the paper has no entropy bonus");
}

Test(hdp_options, literal_preset_holds_what_the_released_code_does)
{
    emp_hdp_options o;

    MUST(emp_hdp_options_parse(&o, "literal", NULL, NULL));
    cr_expect(o.learner.adam.epsilon == 1e-8 && o.learner.adam.epsilon_hat,
              "tf.train.AdamOptimizer's defaults");
    cr_expect(o.learner.adam.learning_rate == 0.1 && o.updates_noise == 500,
              "of the paper");
    cr_expect(o.grouping == EMP_GROUPING_LEARNED && o.learner.rules.cap == 0 &&
              o.learner.rules.failures_share == 0);
    cr_expect(o.heat.first == 0 && o.stretches == 0 && o.elites == 0 &&
              o.gradient_bound == 0);
    cr_expect(!o.costs && !o.standardize && !o.aligned);
    cr_expect(o.run_shortest == 0 && o.run_longest == 0, "independent draws");
    cr_expect_not(o.ranges, "Glorot weights");
    cr_expect_not(o.learner.rules.baseline_first);
    cr_expect(o.learner.rules.baseline_failures);
    cr_expect(o.noise_form == EMP_NOISE_GAUSSIAN && o.noise == 0.5);
    cr_expect(o.order == EMP_ORDER_NUMBER && o.empty_groups);
    cr_expect(o.absent == EMP_ABSENT_MINUS_1);
    cr_expect_not(o.redraw, "a defect");
}

Test(hdp_options, groups_of_no_number_need_rules)
{
    emp_hdp_options o;

    cr_expect_eq(emp_hdp_options_parse(&o, "literal", "groups=0", NULL), EMP_EINVAL);
    cr_expect_eq(emp_hdp_options_parse(&o, NULL, "groups=0,grouping=chunks", NULL),
                 EMP_EINVAL);
    cr_expect_eq(emp_hdp_options_parse(&o, NULL, "groups=0", NULL), EMP_OK);
}

/* ---- what guides the placer: elites, heat, and stretches that are drawn ---- */

enum { ROWS = 6, DEVICES = 3, STEPS = 3 };

static emp_guide create_guide(const emp_heat_rule *heat, int32_t capacity)
{
    emp_guide guide;

    MUST(emp_guide_init(&guide, heat, capacity, ROWS, DEVICES, STEPS, NULL));
    return guide;
}

static void offer(emp_guide *guide, double step_s, int32_t device)
{
    guide->candidate_s = step_s;
    for (int32_t r = 0; r < ROWS; r++) guide->candidate[r] = device;
    emp_guide_take(guide, 0);
}

Test(hdp_guide, keeps_the_best_placements_once_and_in_order)
{
    SCOPED(emp_guide, emp_guide_clear) guide = create_guide(&(emp_heat_rule){0}, 2);

    cr_expect_eq(emp_guide_count(&guide), 0);
    offer(&guide, 3.0, 0);
    offer(&guide, 3.0, 0);
    cr_expect_eq(emp_guide_count(&guide), 1, "the same placement again");
    offer(&guide, 2.0, 1);
    cr_expect(guide.step_s[0] == 2.0 && guide.step_s[1] == 3.0);
    cr_expect(guide.device[0] == 1 && guide.device[ROWS] == 0);
    offer(&guide, 4.0, 2);
    cr_expect_eq(guide.device[ROWS], 0, "not among the best two");
    offer(&guide, 2.5, 2);
    cr_expect(guide.step_s[1] == 2.5 && guide.device[ROWS + ROWS - 1] == 2);
    offer(&guide, 0.0, 0);
    cr_expect_eq(guide.step_s[0], 2.0, "an update without any that fits");
    cr_expect_eq(emp_guide_check(&guide, DEVICES, NULL), EMP_OK);
    guide.scale = NAN;
    cr_expect_eq(emp_guide_check(&guide, DEVICES, NULL), EMP_EFORMAT);
}

Test(hdp_guide, gives_a_group_the_device_of_most_of_its_ops)
{
    static const int32_t group_of_row[ROWS] = {2, 2, 2, 0, 0, 1};
    static const int32_t step_of_group[STEPS] = {1, 2, 0};
    static const int32_t device[ROWS] = {1, 2, 2, 1, 0, 1};
    emp_guide            guide = create_guide(&(emp_heat_rule){0}, 1);
    int32_t              target[STEPS];

    guide.candidate_s = 1.0;
    memcpy(guide.candidate, device, sizeof device);
    emp_guide_take(&guide, 0);
    emp_guide_project(&guide, target, group_of_row, step_of_group, STEPS, DEVICES);
    cr_expect_eq(target[0], 2, "two of group 2's three");
    cr_expect_eq(target[1], 0, "the lowest of equals");
    cr_expect_eq(target[2], 1);
    emp_guide_clear(&guide);
}

/* Without learning, so that only the scale keeps it, whatever form the noise of the first updates had. */
Test(hdp, draws_keep_the_heat)
{
#define HEATED                                                           \
    PLANNER_FULL_LEARNED ",lr=0,placer_gain=300,heat=0.1,heat_last=0.1," \
                         "stretches=0,run_longest=0,elites=0,updates_noise="
    static const char *const forms[] = {HEATED "0", HEATED "5,noise_form=gaussian"};

    for (int i = 0; i < 2; i++) {
        void  *state = planner_create(3, 1, forms[i]);
        double moved = 0.0;
        for (int u = 0; u < 300; u++) {
            planner_update(state, true);
            if (u >= 100) moved += planner_metric(state, "moved_share") / 200;
        }
        cr_expect_float_eq(moved, 0.1, 0.04, "%s: %g", forms[i], moved);
        emp_method_destroy(&emp_method_hdp, state);
    }
}

/* The devices of one stretch of at most half of 12 steps depart from the most probable ones. */
Test(hdp, only_stretches_are_drawn)
{
    OWN_STATE state = planner_create(
        3, 1,
        PLANNER_FULL_LEARNED ",lr=0,updates_noise=0,stretches=1,stretch_longest=0.5,"
                             "elites=0,heat=1,heat_last=1");
    const emp_hdp_agent *a = (const emp_hdp_agent *)state;
    int32_t              longest = 0, samples = 0;

    for (int u = 0; u < 60; u++) {
        planner_update(state, true);
        for (int32_t k = 0; k < PLANNER_SAMPLES; k++) {
            cr_expect_leq(a->net.moved[k], (a->used + 1) / 2);
            if (a->net.moved[k] > longest) longest = a->net.moved[k];
            samples += a->net.moved[k] > 0;
        }
    }
    cr_expect_gt(longest, 2, "%d", longest);
    cr_expect_gt(samples, 60 * PLANNER_SAMPLES / 3, "%d samples moved", samples);
}

/* The best of the first updates becomes the most probable placement, though rewards are equal
 * and so teach nothing. */
Test(hdp, elites_are_imitated)
{
    OWN_STATE state = planner_create(
        3, 1, PLANNER_FULL_LEARNED ",cap=1,elites=1,lr=0.01,updates_noise=2");
    emp_hdp_agent *a = (emp_hdp_agent *)state;
    double         same = 0.0, best;

    for (int u = 0; u < 60; u++) planner_update(state, true);
    best = a->guide.step_s[0];
    emp_hdp_agent_propose(a, PLANNER_SAMPLES, NULL, NULL);
    emp_guide_project(&a->guide, a->target, a->grouper.group_of_row, a->step_of_group,
                      a->used, a->net.shape.devices);
    for (int32_t i = 0; i < PLANNER_SAMPLES * a->used; i++)
        same += (double)(a->net.device[i] == a->target[i % a->used]) /
                (PLANNER_SAMPLES * a->used);
    cr_expect_gt(best, 0.9);
    cr_expect_gt(same, 0.8, "%g of the groups as the elite has them", same);
}

/* Shares of each cost add up to 1 over groups, and places rise from 0; or each column has mean 0 and variance 1. */
Test(hdp, groups_show_costs_and_places)
{
    OWN_STATE raw = planner_create(3, 1, PLANNER_FULL_LEARNED ",standardize=0");
    OWN_STATE even = planner_create(3, 1, PLANNER_FULL_LEARNED);
    const emp_hdp_agent *a = (const emp_hdp_agent *)raw, *b = (const emp_hdp_agent *)even;
    const int64_t        width = a->net.shape.inputs, first = width - EMP_GROUP_COSTS;
    double               gpu = 0.0, sum = 0.0, squares = 0.0;

    planner_update(raw, true);
    planner_update(even, true);
    for (int64_t s = 0; s < a->used; s++) {
        gpu += expm1((double)a->x[s * width + first]) / a->used;
        cr_expect_float_eq((double)a->x[s * width + first + EMP_ROW_COSTS],
                           (double)s / a->used, 1e-6);
        sum += (double)b->x[s * width + first];
        squares += (double)b->x[s * width + first] * (double)b->x[s * width + first];
    }
    cr_expect_float_eq(gpu, 1.0, 1e-4, "%g", gpu);
    cr_expect_float_eq(sum, 0.0, 1e-4, "%g", sum);
    cr_expect_float_eq(squares / b->used, 1.0, 1e-3, "%g", squares / b->used);
}

Test(hdp, the_grouper_may_have_a_rate_of_its_own)
{
    double moved[2];

    for (int i = 0; i < 2; i++) {
        OWN_STATE state = planner_create(3, 1,
                                         i == 0 ? PLANNER_LEARNED ",lr=0"
                                                : PLANNER_LEARNED ",lr=0,grouper_lr=1");
        double    before = planner_weight_sum(state);
        for (int u = 0; u < 3; u++) planner_update(state, true);
        moved[i] = fabs(planner_weight_sum(state) - before);
    }
    cr_expect_eq(moved[0], 0.0);
    cr_expect_gt(moved[1], 0.0);
}
