// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hdp/hdp.h"

#include <math.h>
#include <string.h>

#include "base/blas/openblas.h"
#include "base/collections.h"
#include "base/mem.h"
#include "policy/features/op_features.h"
#include "policy/nn/threads.h"
#include "search/method.h"
#include "search/partition/partition_graph.h"

/* Streams of random numbers: initial weights, and one per update. */
enum { STREAM_WEIGHTS = 0, STREAM_UPDATES = 1 };

enum {
    GROUPER_ENTROPY = 3,
    PLACER_ENTROPY,
    GROUPER_LOG_PROB,
    PLACER_LOG_PROB,
    GROUPER_NORM,
    PLACER_NORM,
    GROUPS_USED,
    MOVED_SHARE,
    DRAW_SCALE,
    METRICS
};

static const char *const metric_names[METRICS] = {"loss",
                                                  "reward",
                                                  "baseline",
                                                  "grouper_entropy",
                                                  "placer_entropy",
                                                  "grouper_log_prob",
                                                  "placer_log_prob",
                                                  "grouper_gradient_norm",
                                                  "placer_gradient_norm",
                                                  "groups_used",
                                                  "moved_share",
                                                  "draw_scale"};

/* How steep the hidden units are that tell the first groups, and how sharply they do. */
static const double RANGES_SLOPE = 10.0, RANGES_GAIN = 3000.0;

static emp_status init_networks(emp_hdp_agent *a, int32_t device_count, emp_error *err)
{
    const emp_hdp_options *o = &a->options;
    emp_rng                rng;

    EMP_CHECK(emp_grouper_init(&a->grouper,
                               &(emp_grouper_shape){.hidden = o->grouper_hidden,
                                                    .groups = o->groups,
                                                    .type_width = o->type_width,
                                                    .activation = EMP_ACTIVATION_TANH},
                               a->learner.ops, err));
    EMP_CHECK(emp_device_net_init(
        &a->net,
        &(emp_device_net_shape){.inputs =
                                    emp_group_feature_count(a->learner.ops, o->groups) +
                                    (o->costs ? EMP_GROUP_COSTS : 0),
                                .hidden = o->hidden,
                                .devices = device_count,
                                .max_steps = o->groups,
                                .max_samples = o->learner.samples,
                                .temperature = o->temperature,
                                .tanh_constant = o->tanh_constant,
                                .is_aligned = o->aligned,
                                .gradient_bound = o->gradient_bound},
        err));
    emp_rng_init(&rng, a->learner.seed, STREAM_WEIGHTS, 0);
    if (o->ranges)
        EMP_CHECK(
            emp_grouper_start_ranges(&a->grouper, RANGES_SLOPE, RANGES_GAIN, &rng, err));
    else
        emp_grouper_randomize(&a->grouper, &rng);
    emp_device_net_randomize(&a->net, o->placer_gain, &rng);
    return EMP_OK;
}

void emp_hdp_agent_clear(emp_hdp_agent *a)
{
    emp_op_features_destroy(a->learner.ops);
    emp_grouper_clear(&a->grouper);
    emp_device_net_clear(&a->net);
    emp_free(a->order);
    emp_free(a->step_of_group);
    emp_free(a->group_sums);
    emp_free(a->x);
    emp_free(a->target);
    emp_guide_clear(&a->guide);
    *a = (emp_hdp_agent){0};
}

/* Draws a grouping, or takes the one that is given or fixed. */
static void group_ops(emp_hdp_agent *a, const emp_draw *draw, const int32_t *given)
{
    if (given != NULL || a->fixed_groups == NULL) {
        emp_grouper_run(&a->grouper, draw, given);
        return;
    }
    memcpy(a->grouper.group_of_row, a->fixed_groups,
           (size_t)a->learner.ops->row_count * sizeof *a->fixed_groups);
}

static emp_draw draw_of(const emp_learner *l, uint64_t seed)
{
    return (emp_draw){.seed = seed,
                      .update = (uint32_t)(STREAM_UPDATES + l->update),
                      .threads = l->threads};
}

/* Sets the grouper's, too. The noise of the first updates has a form; heat is the scale of Gumbel numbers. */
static emp_exploration explore(emp_hdp_agent *a)
{
    const emp_hdp_options *o = &a->options;
    const bool             is_early = a->learner.update < o->updates_noise;
    const bool             is_gaussian = o->noise_form == EMP_NOISE_GAUSSIAN;
    const double           normal = is_early && is_gaussian ? o->noise : 0.0;
    double                 gumbel = is_early && !is_gaussian ? o->noise : 0.0;

    a->grouper.noise = normal;
    if (o->heat.first > 0 && !is_early) gumbel = a->guide.scale - 1.0;
    return (emp_exploration){.noise = gumbel,
                             .logits_noise = normal,
                             .run_shortest = o->run_shortest,
                             .run_longest = o->run_longest,
                             .stretches = is_early ? 0.0 : o->stretches,
                             .stretch_longest = o->stretch_longest};
}

void emp_hdp_agent_propose(emp_hdp_agent *a, int32_t samples, const int32_t *groups,
                           const int32_t *devices)
{
    const emp_hdp_options *o = &a->options;
    emp_learner           *l = &a->learner;
    int32_t                group_count = a->grouper.shape.groups;
    const int64_t          width = a->net.shape.inputs;
    const emp_draw         draw = draw_of(l, l->draw_seed);
    const emp_exploration  how = explore(a);
    unsigned               saved = emp_flush_begin();

    l->drawn = samples;
    group_ops(a, &draw, groups);
    a->used = emp_group_order(a->order, l->ops, a->grouper.group_of_row, group_count,
                              o->order, o->empty_groups, l->seed, a->group_sums);
    emp_group_features_wide(a->x, width, l->ops, a->grouper.group_of_row, a->order,
                            a->used, a->step_of_group);
    if (o->costs)
        emp_group_costs(&a->x[width - EMP_GROUP_COSTS], width, l->ops,
                        a->grouper.group_of_row, a->step_of_group, a->used);
    if (o->standardize) {
        emp_group_standardize(a->x, width, a->used, l->ops->type_count + EMP_ROW_SIZES);
        if (o->costs)
            emp_group_standardize(&a->x[width - EMP_GROUP_COSTS], width, a->used,
                                  EMP_GROUP_COSTS);
    }
    emp_device_net_run(&a->net, a->x, a->used, samples, &draw, &how, devices);
    emp_flush_end(saved);
}

/* The defect of the released code: its update runs the networks anew, which draw other
 * groups and devices, and feeds the placer no groups. */
static void draw_anew(emp_hdp_agent *a)
{
    emp_learner          *l = &a->learner;
    const emp_draw        draw = draw_of(l, ~l->draw_seed);
    const emp_exploration how = explore(a);

    group_ops(a, &draw, NULL);
    memset(a->x, 0, (size_t)a->used * (size_t)a->net.shape.inputs * sizeof *a->x);
    emp_device_net_run(&a->net, a->x, a->used, l->drawn, &draw, &how, NULL);
}

static void propose(emp_learner *learner, int32_t samples)
{
    emp_hdp_agent_propose((emp_hdp_agent *)learner, samples, NULL, NULL);
}

static emp_device_id device(const emp_learner *learner, int32_t sample, int32_t row)
{
    const emp_hdp_agent *a = (const emp_hdp_agent *)learner;
    int32_t              step = a->step_of_group[a->grouper.group_of_row[row]];

    return a->net.device[sample * a->net.steps + step];
}

/* The elites as the groups drawn last have them; NULL: there are none. */
static const emp_device_lesson *find_lesson(emp_hdp_agent *a, double part,
                                            emp_device_lesson *lesson)
{
    const int32_t count = emp_guide_count(&a->guide);

    if (count == 0) return NULL;
    emp_guide_project(&a->guide, a->target, a->grouper.group_of_row, a->step_of_group,
                      a->used, a->net.shape.devices);
    *lesson = (emp_device_lesson){.device = a->target,
                                  .count = count,
                                  .weight = part * a->options.imitation / count};
    return lesson;
}

/* The gradient of the one grouping is weighted by all of its samples. */
static double take_gradients(emp_learner *learner, const double *weight, int32_t own,
                             double entropy)
{
    emp_hdp_agent    *a = (emp_hdp_agent *)learner;
    double            advantage = 0.0, loss;
    emp_device_lesson lesson;

    if (a->options.redraw) draw_anew(a);
    for (int32_t k = 0; k < own; k++) advantage += weight[k];
    loss = -advantage * a->grouper.log_prob;
    for (int32_t k = 0; k < own; k++) loss -= weight[k] * a->net.log_prob[k];
    if (a->fixed_groups == NULL) emp_params_scale_gradient(&a->grouper.params, advantage);
    emp_device_net_teach(&a->net, weight, entropy,
                         find_lesson(a, (double)own / a->told, &lesson),
                         learner->threads);
    return loss;
}

/* Keeps the best placement of the update, if it is this rank's, and how far its samples moved. */
static void look(emp_learner *learner, const emp_score *scores, int32_t count,
                 int32_t first, int32_t own)
{
    emp_hdp_agent *a = (emp_hdp_agent *)learner;
    emp_guide     *g = &a->guide;
    const int32_t  best = emp_guide_find_best(scores, count);
    const bool     is_own = best >= first && best < first + own;

    a->told = count;
    g->drawn = (double)own * a->used;
    g->moved = 0.0;
    for (int32_t k = 0; k < own; k++) g->moved += a->net.moved[k];
    g->candidate_s = is_own ? scores[best].step_time_s : 0.0;
    for (int32_t r = 0; r < g->rows; r++)
        g->candidate[r] = is_own ? (int32_t)device(learner, best - first, r) : 0;
}

static void finish(emp_learner *learner)
{
    emp_hdp_agent *a = (emp_hdp_agent *)learner;

    if (learner->update < a->options.updates_noise) a->guide.drawn = 0.0;
    emp_guide_take(&a->guide, learner->update);
}

static void report(emp_learner *learner)
{
    const emp_hdp_agent *a = (const emp_hdp_agent *)learner;
    emp_method_metric   *metric = learner->metric;

    metric[GROUPER_ENTROPY].value = a->grouper.entropy;
    metric[PLACER_ENTROPY].value = emp_learner_mean(a->net.entropy, a->net.samples);
    metric[GROUPER_LOG_PROB].value = a->grouper.log_prob;
    metric[PLACER_LOG_PROB].value = emp_learner_mean(a->net.log_prob, a->net.samples);
    metric[GROUPS_USED].value = a->used;
    metric[MOVED_SHARE].value =
        a->guide.drawn > 0 ? a->guide.moved / a->guide.drawn : NAN;
    metric[DRAW_SCALE].value = a->options.heat.first > 0 ? a->guide.scale : NAN;
}

static const emp_learner_type type = {.metric_count = METRICS,
                                      .metrics = metric_names,
                                      .propose = propose,
                                      .device = device,
                                      .take_gradients = take_gradients,
                                      .report = report,
                                      .look = look,
                                      .finish = finish};

emp_status emp_hdp_agent_init(emp_hdp_agent *a, emp_op_features *ops,
                              int32_t device_count, const emp_hdp_options *options,
                              uint64_t seed, int32_t threads, emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     groups = (size_t)options->groups;

    *a = (emp_hdp_agent){.options = *options};
    a->learner = emp_learner_start(&type, &options->learner, ops, seed, threads);
    EMP_TRY(emp_openblas_open(err));
    EMP_TRY(init_networks(a, device_count, err));
    emp_learner_add(&a->learner,
                    EMP_LEARNER_NET("grouper_", &a->grouper.params, GROUPER_NORM));
    a->learner.net[0].rate = options->grouper_lr;
    emp_learner_add(&a->learner, EMP_LEARNER_NET("placer_", &a->net.params, PLACER_NORM));
    EMP_TRY(EMP_ALLOC(a->order, groups));
    EMP_TRY(EMP_ALLOC(a->step_of_group, groups));
    EMP_TRY(EMP_ALLOC(a->group_sums, 2 * groups));
    EMP_TRY(EMP_ALLOC(a->x, groups * (size_t)a->net.shape.inputs));
    EMP_TRY(EMP_ALLOC(a->target, groups * EMP_GUIDE_MAX_ELITES));
    EMP_TRY(emp_guide_init(&a->guide, &options->heat, options->elites, ops->row_count,
                           device_count, options->groups, err));

cleanup:
    if (st != EMP_OK) emp_hdp_agent_clear(a);
    return st;
}

/* From now on ops are in groups [row], borrowed, and the grouper does not learn. */
static void fix_groups(emp_hdp_agent *a, const int32_t *groups)
{
    a->fixed_groups = groups;
    a->learner.net[0].is_fixed = true;
}

/* Streams of random numbers: initial weights, and one per sample. */
enum { STREAM_OP_WEIGHTS = 0, STREAM_OP_SAMPLES = 1 };

enum { OP_ENTROPY = 3, OP_LOG_PROB, OP_GRADIENT_NORM, OP_METRICS };

static const char *const op_metric_names[OP_METRICS] = {
    "loss", "reward", "baseline", "entropy", "log_prob", "gradient_norm"};

void emp_op_agent_clear(emp_op_agent *a)
{
    emp_op_features_destroy(a->learner.ops);
    emp_grouper_clear(&a->net);
    emp_free(a->device);
    emp_free(a->gradient);
    *a = (emp_op_agent){0};
}

void emp_op_agent_propose(emp_op_agent *a, int32_t samples)
{
    emp_learner      *l = &a->learner;
    const emp_params *p = &a->net.params;
    size_t            rows = (size_t)l->ops->row_count;
    unsigned          saved = emp_flush_begin();

    l->drawn = samples;
    a->entropy = 0.0;
    for (int32_t k = 0; k < samples; k++) {
        int64_t        stream = STREAM_OP_SAMPLES + l->update * l->options.samples;
        const emp_draw draw = {.seed = l->draw_seed,
                               .update = (uint32_t)(stream + k),
                               .threads = l->threads};
        emp_grouper_run(&a->net, &draw, NULL);
        memcpy(&a->device[(size_t)k * rows], a->net.group_of_row,
               rows * sizeof *a->device);
        memcpy(&a->gradient[(size_t)k * p->count], p->gradient,
               p->count * sizeof *a->gradient);
        a->log_prob[k] = a->net.log_prob;
        a->entropy += a->net.entropy / samples;
    }
    emp_flush_end(saved);
}

static void propose_ops(emp_learner *learner, int32_t samples)
{
    emp_op_agent_propose((emp_op_agent *)learner, samples);
}

static emp_device_id op_device(const emp_learner *learner, int32_t sample, int32_t row)
{
    const emp_op_agent *a = (const emp_op_agent *)learner;

    return a->device[(int64_t)sample * learner->ops->row_count + row];
}

static double take_op_gradients(emp_learner *learner, const double *weight, int32_t own,
                                double entropy)
{
    emp_op_agent *a = (emp_op_agent *)learner;
    emp_params   *p = &a->net.params;
    double        loss = 0.0;

    emp_params_zero_gradient(p);
    if (entropy > 0) emp_grouper_run_entropy(&a->net, learner->threads);
    for (size_t i = 0; entropy > 0 && i < p->count; i++)
        p->gradient[i] *= (emp_real)entropy;
    for (int32_t k = 0; k < own; k++) {
        const emp_real *gradient = &a->gradient[(size_t)k * p->count];
        for (size_t i = 0; i < p->count; i++)
            p->gradient[i] += (emp_real)weight[k] * gradient[i];
        loss -= weight[k] * a->log_prob[k];
    }
    return loss;
}

static void report_ops(emp_learner *learner)
{
    const emp_op_agent *a = (const emp_op_agent *)learner;

    learner->metric[OP_ENTROPY].value = a->entropy;
    learner->metric[OP_LOG_PROB].value = emp_learner_mean(a->log_prob, learner->drawn);
}

static const emp_learner_type op_type = {.metric_count = OP_METRICS,
                                         .metrics = op_metric_names,
                                         .propose = propose_ops,
                                         .device = op_device,
                                         .take_gradients = take_op_gradients,
                                         .report = report_ops};

emp_status emp_op_agent_init(emp_op_agent *a, emp_op_features *ops, int32_t device_count,
                             const emp_hdp_options *o, uint64_t seed, int32_t threads,
                             emp_error *err)
{
    emp_status              st = EMP_OK;
    size_t                  samples = (size_t)o->learner.samples;
    const emp_grouper_shape shape = {.hidden = o->grouper_hidden,
                                     .groups = device_count,
                                     .type_width = o->type_width,
                                     .activation = EMP_ACTIVATION_TANH};
    emp_rng                 rng;

    *a = (emp_op_agent){0};
    a->learner = emp_learner_start(&op_type, &o->learner, ops, seed, threads);
    EMP_TRY(emp_openblas_open(err));
    EMP_TRY(emp_grouper_init(&a->net, &shape, ops, err));
    emp_learner_add(&a->learner, EMP_LEARNER_NET("", &a->net.params, OP_GRADIENT_NORM));
    emp_rng_init(&rng, seed, STREAM_OP_WEIGHTS, 0);
    emp_grouper_randomize(&a->net, &rng);
    EMP_TRY(EMP_ALLOC(a->device, samples * (size_t)ops->row_count));
    EMP_TRY(EMP_ALLOC(a->gradient, samples * a->net.params.count));

cleanup:
    if (st != EMP_OK) emp_op_agent_clear(a);
    return st;
}

/* The state. One of the two agents is at work, and the learner is its. */
typedef struct {
    emp_hdp_agent      agent; /* first: tests look at it */
    emp_op_agent       single;
    emp_learner       *learner;
    int32_t           *groups; /* [row]; NULL = they are learned, or there are none */
    uint64_t           groups_hash; /* of them */
    int64_t            saved_hash;  /* the same, or a restored state's */
    emp_hdp_options    options;
    const emp_problem *problem;
    emp_balance        balance;             /* if the objective is balance */
    emp_device_id     *legal;               /* [op] scratch of it */
    double             cost[EMP_MAX_BATCH]; /* of candidates asked last, likewise */
} planner;

static bool is_for_balance(const planner *p)
{
    return p->options.objective == EMP_OBJECTIVE_BALANCE;
}

static void clear(void *state)
{
    planner *p = (planner *)state;

    emp_hdp_agent_clear(&p->agent);
    emp_op_agent_clear(&p->single);
    emp_free(p->groups);
    emp_balance_clear(&p->balance);
    emp_free(p->legal);
}

/* Also settles how many there are. */
static emp_status make_groups(planner *p, const emp_op_features *ops,
                              const emp_method_params *params, emp_error *err)
{
    emp_hdp_options *o = &p->options;

    EMP_CHECK(emp_fixed_groups_create(&p->groups, o->grouping, p->problem, ops,
                                      &o->groups, o->imbalance, params, err));
    p->groups_hash = emp_hash_bytes(EMP_HASH_SEED, p->groups,
                                    (size_t)ops->row_count * sizeof *p->groups);
    p->saved_hash = (int64_t)p->groups_hash;
    return EMP_OK;
}

static emp_status create_agent(planner *p, const emp_method_params *params,
                               emp_error *err)
{
    const emp_hdp_options *o = &p->options;
    const int32_t          devices = p->problem->machine->device_count;
    const bool             has_groups = o->grouping != EMP_GROUPING_NONE;
    const bool             learns = o->grouping == EMP_GROUPING_LEARNED;
    emp_op_features       *ops;
    emp_status             st = EMP_OK;

    EMP_CHECK(emp_op_features_create_window(&ops, p->problem, o->window, o->absent, err));
    if (has_groups && !learns) st = make_groups(p, ops, params, err);
    if (st != EMP_OK) {
        emp_op_features_destroy(ops);
        return st;
    }
    p->learner = has_groups ? &p->agent.learner : &p->single.learner;
    if (has_groups)
        EMP_CHECK(emp_hdp_agent_init(&p->agent, ops, devices, o, params->seed,
                                     params->threads, err));
    else
        EMP_CHECK(emp_op_agent_init(&p->single, ops, devices, o, params->seed,
                                    params->threads, err));
    p->learner->draw_seed = emp_rng_seed_of_rank(params->seed, params->rank);
    if (p->groups != NULL) fix_groups(&p->agent, p->groups);
    return EMP_OK;
}

static emp_status create_balance(planner *p, emp_error *err)
{
    int32_t op_count = p->problem->graph->op_count;

    EMP_CHECK(emp_balance_init(&p->balance, p->problem, err));
    EMP_CHECK(EMP_ALLOC(p->legal, (size_t)op_count));
    return EMP_OK;
}

static emp_status init(void *state, const emp_problem *problem,
                       const emp_method_params *params, emp_error *err)
{
    planner *p = (planner *)state;

    EMP_CHECK(emp_hdp_options_parse(&p->options, params->preset, params->options, err));
    if (params->ranks > 1 && is_for_balance(p))
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "hdp: objective=balance is for a run of one rank; start it "
                         "without mpirun");
    p->problem = problem;
    EMP_CHECK(create_agent(p, params, err));
    return is_for_balance(p) ? create_balance(p, err) : EMP_OK;
}

static double cost_of(planner *p, const emp_device_id *device_of_op)
{
    memcpy(p->legal, device_of_op,
           (size_t)p->problem->graph->op_count * sizeof *p->legal);
    emp_problem_legalize(p->problem, p->legal);
    return emp_balance_cost(emp_balance_judge(&p->balance, p->legal));
}

static emp_status ask(void *state, const emp_owned_decision *candidates, int32_t max,
                      int32_t *count, emp_error *err)
{
    planner *p = (planner *)state;

    if ((uint64_t)p->saved_hash != p->groups_hash)
        return EMP_ERROR(EMP_EFORMAT,
                         "the saved state of hdp is of other groups than those that are "
                         "made here; begin anew");
    if (p->learner == &p->agent.learner)
        EMP_CHECK(emp_guide_check(&p->agent.guide, p->agent.net.shape.devices, err));
    EMP_CHECK(emp_learner_ask(p->learner, candidates, max, count, err));
    for (int32_t k = 0; k < *count && is_for_balance(p); k++)
        p->cost[k] = cost_of(p, candidates[k].device_of_op);
    return EMP_OK;
}

static emp_status backward(void *state, const emp_score *scores, int32_t count,
                           int32_t first, int32_t own, emp_error *err)
{
    return emp_learner_backward(((planner *)state)->learner, scores, count, first, own,
                                err);
}

static void step(void *state) { emp_learner_step(((planner *)state)->learner); }

/* Under the objective of balance a cost of 1 counts as a step of 1 s, and nothing is a
 * failure: partitioners know no memory. It is for runs of one rank. */
static emp_status tell(void *state, const emp_score *scores, int32_t count,
                       emp_error *err)
{
    planner  *p = (planner *)state;
    emp_score cost[EMP_MAX_BATCH];

    if (is_for_balance(p) && count <= EMP_MAX_BATCH) {
        for (int32_t k = 0; k < count; k++)
            cost[k] = (emp_score){.step_time_s = p->cost[k], .is_feasible = true};
        scores = cost;
    }
    return emp_learner_tell(p->learner, scores, count, err);
}

static const emp_method_metric *metrics(const void *state, int32_t *count)
{
    return emp_learner_metrics(((const planner *)state)->learner, count);
}

static int32_t list_state(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    planner *p = (planner *)state;
    int32_t  count = emp_learner_list_state(p->learner, arrays);

    if (p->learner == &p->agent.learner)
        count = emp_guide_list_state(&p->agent.guide, arrays, count);
    if (p->groups != NULL)
        arrays[count++] =
            (emp_named_array){"groups_hash", EMP_ARRAY_INT64, 1, &p->saved_hash};
    return count;
}

static int32_t list_gradient(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    planner *p = (planner *)state;
    int32_t  count = emp_learner_list_gradient(p->learner, arrays);

    return p->learner == &p->agent.learner
               ? emp_guide_list_sums(&p->agent.guide, arrays, count)
               : count;
}

static int32_t list_values(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    planner *p = (planner *)state;
    int32_t  count = emp_learner_list_values(p->learner, arrays);

    return p->learner == &p->agent.learner
               ? emp_guide_list_state(&p->agent.guide, arrays, count)
               : count;
}

static const emp_method_sharing sharing = {.backward = backward,
                                           .step = step,
                                           .list_gradient = list_gradient,
                                           .list_values = list_values};

static const emp_method_learning learning = {.sharing = &sharing};

const emp_method emp_method_hdp = {
    .name = "hdp",
    .description = "Hierarchical Planner: REINFORCE on devices of groups (Mirhoseini et "
                   "al., ICLR 2018)",
    .advice = "the paper's learner, which needs thousands of scores",
    .uses_budget = true,
    .uses_seed = true,
    .presets = EMP_HDP_PRESETS,
    .options = emp_hdp_option_list,
    .state_bytes = sizeof(planner),
    .init = init,
    .ask = ask,
    .tell = tell,
    .clear = clear,
    .metrics = metrics,
    .list_state = list_state,
    .learning = &learning};
