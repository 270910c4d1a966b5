// SPDX-License-Identifier: GPL-3.0-or-later
#include "baselines/searches/grouped.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "baselines/baselines.h"
#include "search/method.h"
#include "sim/machine/machine.h"

void emp_ppo_softmax(const double *logits, int32_t devices, double *p)
{
    double top = logits[0], sum = 0.0;

    for (int32_t d = 1; d < devices; d++) top = fmax(top, logits[d]);
    for (int32_t d = 0; d < devices; d++) sum += p[d] = exp(logits[d] - top);
    for (int32_t d = 0; d < devices; d++) p[d] /= sum;
}

double emp_ppo_log_p(const double *logits, int32_t groups, int32_t devices,
                     const int32_t *choice)
{
    double sum = 0.0, p[EMP_MAX_DEVICES];

    for (int32_t g = 0; g < groups; g++) {
        emp_ppo_softmax(logits + g * devices, devices, p);
        sum += log(p[choice[g]]);
    }
    return sum;
}

/* Adds weight x d(log p of the choice) / d(logits). */
static void add_gradient(const emp_ppo_batch *b, const double *logits,
                         const int32_t *choice, double weight, double *gradient)
{
    double p[EMP_MAX_DEVICES];

    for (int32_t g = 0; g < b->groups; g++) {
        emp_ppo_softmax(logits + g * b->devices, b->devices, p);
        double *row = gradient + g * b->devices;
        for (int32_t d = 0; d < b->devices; d++) row[d] -= weight * p[d];
        row[choice[g]] += weight;
    }
}

double emp_ppo_objective(const emp_ppo_batch *b, const double *logits, double *gradient)
{
    double sum = 0.0;

    memset(gradient, 0, (size_t)(b->groups * b->devices) * sizeof *gradient);
    for (int32_t k = 0; k < b->samples; k++) {
        const int32_t *choice = b->choice + (int64_t)k * b->groups;
        double         log_p = emp_ppo_log_p(logits, b->groups, b->devices, choice);
        double         ratio = exp(log_p - b->old_log_p[k]), a = b->advantage[k];
        double         clipped = fmin(fmax(ratio, 1.0 - b->clip), 1.0 + b->clip);
        sum += fmin(ratio * a, clipped * a);
        if (ratio * a <= clipped * a)
            add_gradient(b, logits, choice, ratio * a / b->samples, gradient);
    }
    return sum / b->samples;
}

/* Post (Gao, Chen, Li; NeurIPS 2018): the cross-entropy method and proximal policy
 * optimisation in turns, on one table p[group][device] of independent choices.
 *
 * It begins uniformly. After each batch a few gradient steps climb PPO's objective
 * (baselines/searches/grouped.h); after several batches the table moves to the frequencies in the best
 * tenth of their samples, and a little of it is spread evenly so that no device is ever
 * ruled out. Choices that the paper leaves open: the advantage is the logarithm of the cost,
 * standardised over the batch, and groups are made by METIS. */

/* The rounding of a share of a count, as a person writes it. */
static const double ROUNDING = 1e-6;

typedef struct {
    emp_grouped_options groups;

    int32_t samples; /* of a batch */
    int32_t steps;   /* gradient steps after each */
    double  step_size;
    double  clip;
    int32_t batches; /* between two refits */
    double  elite;   /* share of the samples in between */
    double  rate;    /* of a refit */
    double  spread;  /* share of the table that is spread evenly */
} post_options;

/* The state in a checkpoint beside the arrays. */
typedef struct {
    int64_t asked;     /* samples in all */
    int64_t collected; /* since the last refit */
} post_progress;

typedef struct {
    emp_grouped  groups; /* first */
    post_options options;
    uint64_t     seed;

    post_progress at;
    double       *logits; /* [group][device] */
    double       *gradient;
    int32_t      *sample; /* [collected][group] device */
    double       *cost_s; /* [collected] */
} post;

static void clear(void *state)
{
    post *p = state;

    emp_grouped_clear(&p->groups);
    emp_free(p->logits);
    emp_free(p->gradient);
    emp_free(p->sample);
    emp_free(p->cost_s);
}

static int64_t window_of(const post *p)
{
    return (int64_t)p->options.batches * p->options.samples;
}

static emp_status init(void *state, const emp_problem *problem,
                       const emp_method_params *params, emp_error *err)
{
    post *p = state;

    EMP_CHECK(emp_method_options_parse(&p->options, &emp_method_post, params, err));
    p->seed = params->seed;
    EMP_CHECK(emp_grouped_init(&p->groups, problem, &p->options.groups, params, err));
    size_t groups = (size_t)p->groups.ops.group_count;
    size_t entries = groups * (size_t)p->groups.device_count;
    size_t window = (size_t)window_of(p);
    EMP_CHECK(EMP_ALLOC(p->logits, entries)); /* 0: even */
    EMP_CHECK(EMP_ALLOC(p->gradient, entries));
    EMP_CHECK(EMP_ALLOC(p->sample, window * groups));
    EMP_CHECK(EMP_ALLOC(p->cost_s, window));
    return EMP_OK;
}

static int32_t *sample_at(const post *p, int64_t index)
{
    return p->sample + (size_t)index * (size_t)p->groups.ops.group_count;
}

/* ---- ask --------------------------------------------------------------------------- */

/* A restored state may come from anywhere. */
static emp_status check_state(const post *p, emp_error *err)
{
    EMP_CHECK(emp_grouped_check(&p->groups, "post", err));
    if (!emp_count_is_valid(p->at.asked) || p->at.collected < 0 ||
        p->at.collected >= window_of(p) ||
        !emp_choices_are_valid(p->sample, p->at.collected * p->groups.ops.group_count,
                               p->groups.device_count))
        return EMP_ERROR(EMP_EFORMAT, "the saved state of post is damaged");
    return EMP_OK;
}

static void draw_sample(post *p, int64_t number, int32_t *choice)
{
    double  row[EMP_MAX_DEVICES];
    emp_rng rng;

    emp_rng_init(&rng, p->seed, (uint32_t)number, 0);
    for (int32_t g = 0; g < p->groups.ops.group_count; g++) {
        double  u = emp_rng_uniform(&rng);
        int32_t d = 0;
        emp_ppo_softmax(p->logits + g * p->groups.device_count, p->groups.device_count,
                        row);
        for (; d < p->groups.device_count - 1 && u >= row[d]; d++) u -= row[d];
        choice[g] = d;
    }
}

static emp_status ask(void *state, const emp_owned_decision *candidates, int32_t max,
                      int32_t *count, emp_error *err)
{
    post *p = state;

    EMP_CHECK(check_state(p, err));
    int64_t room = window_of(p) - p->at.collected;
    int64_t wanted = p->options.samples < room ? p->options.samples : room;
    *count = wanted < max ? (int32_t)wanted : max;
    p->groups.sample_count = *count;
    for (int32_t k = 0; k < *count; k++) {
        int32_t *choice = sample_at(p, p->at.collected + k);
        draw_sample(p, p->at.asked++, choice);
        emp_grouped_place(&p->groups, choice, candidates[k].device_of_op);
    }
    return EMP_OK;
}

/* ---- tell -------------------------------------------------------------------------- */

/* How much lower than the mean the logarithm of the cost is, in standard deviations. */
static void judge(const double *cost_s, int32_t count, double *advantage)
{
    double sum = 0.0, squares = 0.0;

    for (int32_t k = 0; k < count; k++) sum += advantage[k] = -log(cost_s[k]);
    for (int32_t k = 0; k < count; k++) {
        advantage[k] -= sum / count;
        squares += advantage[k] * advantage[k];
    }
    double deviation = sqrt(squares / count);
    for (int32_t k = 0; k < count; k++)
        advantage[k] = deviation > 0.0 ? advantage[k] / deviation : 0.0;
}

static void climb(post *p, const int32_t *choice, const double *cost_s, int32_t count)
{
    double        advantage[EMP_MAX_BATCH], old_log_p[EMP_MAX_BATCH];
    const int32_t groups = p->groups.ops.group_count, devices = p->groups.device_count;
    const double  step = p->options.step_size;
    emp_ppo_batch batch = {.groups = groups,
                           .devices = devices,
                           .samples = count,
                           .choice = choice,
                           .old_log_p = old_log_p,
                           .advantage = advantage,
                           .clip = p->options.clip};

    judge(cost_s, count, advantage);
    for (int32_t k = 0; k < count; k++)
        old_log_p[k] =
            emp_ppo_log_p(p->logits, groups, devices, choice + (int64_t)k * groups);
    for (int32_t i = 0; i < p->options.steps; i++) {
        emp_ppo_objective(&batch, p->logits, p->gradient);
        for (int32_t j = 0; j < groups * devices; j++)
            p->logits[j] += step * p->gradient[j];
    }
}

/* Whether a sample is one of the `wanted` cheapest; the first of equals comes first. */
static bool is_elite(const post *p, int64_t index, int64_t wanted)
{
    int64_t before = 0;

    for (int64_t i = 0; i < p->at.collected; i++)
        before += p->cost_s[i] < p->cost_s[index] ||
                  (p->cost_s[i] == p->cost_s[index] && i < index);
    return before < wanted;
}

/* One row towards its frequencies in the elite. */
static void refit_row(const post *p, double *row, const double *frequency)
{
    const double rate = p->options.rate, spread = p->options.spread;
    double       old[EMP_MAX_DEVICES];

    emp_ppo_softmax(row, p->groups.device_count, old);
    for (int32_t d = 0; d < p->groups.device_count; d++) {
        double wanted = (1.0 - rate) * old[d] + rate * frequency[d];
        row[d] = log((1.0 - spread) * wanted + spread / p->groups.device_count);
    }
}

static void refit(post *p)
{
    const int32_t groups = p->groups.ops.group_count, devices = p->groups.device_count;
    const int64_t wanted =
        (int64_t)ceil((double)p->at.collected * p->options.elite - ROUNDING);
    double *frequency = p->gradient; /* which nobody needs now */

    memset(frequency, 0, (size_t)(groups * devices) * sizeof *frequency);
    for (int64_t i = 0; i < p->at.collected; i++) {
        if (!is_elite(p, i, wanted)) continue;
        for (int32_t g = 0; g < groups; g++)
            frequency[g * devices + sample_at(p, i)[g]] += 1.0 / (double)wanted;
    }
    for (int32_t g = 0; g < groups; g++)
        refit_row(p, p->logits + g * devices, frequency + g * devices);
}

/* Mean over groups, nats. */
static double entropy(const post *p)
{
    double sum = 0.0, row[EMP_MAX_DEVICES];

    for (int32_t g = 0; g < p->groups.ops.group_count; g++) {
        emp_ppo_softmax(p->logits + g * p->groups.device_count, p->groups.device_count,
                        row);
        for (int32_t d = 0; d < p->groups.device_count; d++)
            if (row[d] > 0.0) sum -= row[d] * log(row[d]);
    }
    return p->groups.ops.group_count > 0 ? sum / p->groups.ops.group_count : 0.0;
}

static emp_status tell(void *state, const emp_score *scores, int32_t count,
                       emp_error *err)
{
    post   *p = state;
    double *cost_s = p->cost_s + p->at.collected;

    EMP_CHECK(emp_grouped_begin_tell(&p->groups, scores, count, cost_s, err));
    climb(p, sample_at(p, p->at.collected), cost_s, count);
    p->at.collected += count;
    if (p->at.collected == window_of(p)) {
        refit(p);
        p->at.collected = 0;
    }
    p->groups.metric[0] = (emp_method_metric){"entropy", entropy(p)};
    return EMP_OK;
}

static int32_t list_state(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    post                 *p = state;
    size_t                groups = (size_t)p->groups.ops.group_count;
    size_t                window = (size_t)window_of(p);
    const emp_named_array list[] = {
        {"progress", EMP_ARRAY_INT64, sizeof p->at / sizeof(int64_t), &p->at},
        {"logits", EMP_ARRAY_DOUBLE, groups * (size_t)p->groups.device_count, p->logits},
        {"sample", EMP_ARRAY_INT32, window * groups, p->sample},
        {"cost_s", EMP_ARRAY_DOUBLE, window, p->cost_s},
        {"groups_hash", EMP_ARRAY_INT64, 1, &p->groups.groups_hash}};

    memcpy(arrays, list, sizeof list);
    return sizeof list / sizeof *list;
}

static const emp_option option_list[] = {
    EMP_INTEGER_OPTION("samples", post_options, samples, 2, EMP_MAX_BATCH,
                       "placements a batch", 10),
    EMP_INTEGER_OPTION("steps", post_options, steps, 0, 1000,
                       "gradient steps after a batch", 10),
    EMP_REAL_OPTION("step_size", post_options, step_size, 0, 10,
                    "of logits along the gradient", 0.5),
    EMP_REAL_OPTION("clip", post_options, clip, 0.01, 1,
                    "share by which the ratio of probabilities may change", 0.2),
    EMP_INTEGER_OPTION("batches", post_options, batches, 1, 1000,
                       "batches between two refits to the elite", 5),
    EMP_REAL_OPTION("elite", post_options, elite, 0.01, 1,
                    "share of the samples of these batches that are the elite", 0.1),
    EMP_REAL_OPTION("rate", post_options, rate, 0, 1,
                    "share of the way that a refit moves the table", 0.7),
    EMP_REAL_OPTION("spread", post_options, spread, 0.01, 1,
                    "share of the table that a refit spreads evenly", 0.02),
    EMP_GROUPED_OPTIONS(post_options, groups),
    EMP_NO_OPTION};

const emp_method emp_method_post = {
    .options = option_list,
    .name = "post",
    .description = "Post: cross-entropy and proximal policy optimisation on groups (Gao "
                   "et al. 2018)",
    .advice = "a comparison with Post, half search and half learner",
    .uses_budget = true,
    .uses_seed = true,
    .state_bytes = sizeof(post),
    .init = init,
    .ask = ask,
    .tell = tell,
    .clear = clear,
    .metrics = emp_grouped_metrics,
    .list_state = list_state,
};
