// SPDX-License-Identifier: GPL-3.0-or-later
/* The first batch are random starts, the best of which is the first parent. Every further sample is the end of an
 * imagined walk. Rules and lengths of walks are drawn by the mean gains that they had so far. */
#include "policy/dyna/dyna.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "policy/nn/threads.h"
#include "policy/reinforce/learner.h"

enum {
    LENGTHS = 5,             /* of walks: 1, 2, 4, 8, 16 */
    KINDS = 1 + 2 * LENGTHS, /* blind; by estimates; by the judge */
    EXAMPLES = 256,          /* walks that the judge learns from: the last ones */
    LESSON = 16,             /* of these for each of its updates */
    FIRST_LEVELS = 3,        /* of groups that are made at first; ... */
    BATCHES_A_LEVEL = 2      /* ... one more after so many batches */
};

/* Streams of random numbers, beside the streams of walks and weights. */
enum { STREAM_START = 32, STREAM_KIND, STREAM_LESSON };

/* Largest group of Scotch or METIS over the mean. */
static const double IMBALANCE = 3.0;
/* Decay of the gains of a kind of walk; share of kinds that are drawn evenly. */
static const double GAIN_DECAY = 0.9, EVEN = 0.3;
/* Advantages are standardized over a batch, and no larger than this. */
static const double MOST_ADVANTAGE = 2.0;

typedef struct {
    emp_imagine_options imagine;
    emp_adam            adam;
    int32_t             samples, starts, hidden, longest, lessons;
    double              clip, imitate, real, judge_rate;
} dyna_options;

/* The state in a checkpoint beside the arrays. */
typedef struct {
    int64_t is_begun, asked, grown, examples, steps;
} progress;

/* A walk that the oracle has scored. */
typedef struct {
    emp_real x[EMP_IMAGINED_LONGEST][EMP_JUDGE_INPUTS];
    emp_real gain, count; /* in units; moves */
} example;

enum {
    METRIC_HERE,
    METRIC_NORM,
    METRIC_MOVES,
    METRIC_AGREEMENT,
    METRIC_INSIGHT,
    METRIC_JUDGE,
    METRICS
};

static const char *const metric_names[METRICS] = {
    "here_s", "gradient_norm", "walk_moves", "agreement", "insight", "judge_error"};

typedef struct {
    dyna_options      options;
    uint64_t          seed;
    emp_imagination   im;
    emp_device_id    *start; /* [op] OPTIONAL: the first of the starts */
    progress          at;
    double            gain[KINDS]; /* decayed mean of log gains */
    example          *example;     /* [EXAMPLES] a ring */
    int64_t           groups_hash; /* the moves', or a restored state's */
    int32_t           sample_count;
    int32_t           kind[EMP_MAX_BATCH];
    emp_imagined_walk walk[EMP_MAX_BATCH];
    emp_real         *score; /* [samples][parameters of the policy] the walks' */
    emp_method_metric metric[METRICS];
} dyna;

static size_t ops_of(const dyna *y) { return (size_t)y->im.problem->graph->op_count; }

static void clear(void *state)
{
    dyna *y = state;

    emp_imagination_clear(&y->im);
    emp_free(y->start);
    emp_free(y->example);
    emp_free(y->score);
}

/* ---- candidates -------------------------------------------------------------------- */

/* The groups of the saved state first, which must be the same here. */
static emp_status grow(dyna *y, emp_error *err)
{
    EMP_CHECK(emp_imagination_grow(&y->im, y->at.grown, err));
    if (y->groups_hash != 0 && (uint64_t)y->groups_hash != y->im.moves.groups_hash)
        return EMP_ERROR(EMP_EFORMAT, "groups of ops are others here than where the "
                                      "saved state of dyna comes from; begin anew");
    EMP_CHECK(
        emp_imagination_grow(&y->im, FIRST_LEVELS + y->at.asked / BATCHES_A_LEVEL, err));
    y->at.grown = y->im.moves.grown;
    y->groups_hash = (int64_t)y->im.moves.groups_hash;
    y->at.asked++;
    return EMP_OK;
}

static emp_imagine_rule rule_of(int32_t kind)
{
    if (kind == 0) return EMP_IMAGINE_BLIND;
    return kind <= LENGTHS ? EMP_IMAGINE_ESTIMATE : EMP_IMAGINE_JUDGE;
}

static int32_t length_of(int32_t kind)
{
    return kind == 0 ? 1 : 1 << (kind - 1) % LENGTHS;
}

static bool is_allowed(const dyna *y, int32_t kind)
{
    switch (rule_of(kind)) {
    case EMP_IMAGINE_BLIND: return true;
    case EMP_IMAGINE_ESTIMATE:
        return y->im.surrogate != NULL && length_of(kind) <= y->options.longest;
    case EMP_IMAGINE_JUDGE:
        return y->options.judge_rate > 0.0 && length_of(kind) <= y->options.longest;
    }
    return false;
}

static int32_t draw_kind(const dyna *y)
{
    int32_t count = 0, last = 0;
    double  sum = 0.0, u;
    emp_rng rng;

    for (int32_t i = 0; i < KINDS; i++) {
        if (!is_allowed(y, i)) continue;
        count++;
        last = i;
        sum += y->gain[i];
    }
    emp_rng_init(&rng, y->seed, (uint32_t)y->im.steps, STREAM_KIND);
    u = emp_rng_uniform(&rng);
    for (int32_t i = 0; i < last; i++) {
        if (!is_allowed(y, i)) continue;
        u -= EVEN / count + (1.0 - EVEN) * (sum > 0.0 ? y->gain[i] / sum : 1.0 / count);
        if (u < 0.0) return i;
    }
    return last;
}

static void scatter(dyna *y, int32_t k, emp_device_id *device_of_op)
{
    emp_rng rng;

    y->walk[k] = (emp_imagined_walk){.guess_s = NAN, .score = y->walk[k].score};
    emp_rng_init(&rng, y->seed, (uint32_t)k, STREAM_START);
    if (y->start != NULL && k == 0)
        memcpy(device_of_op, y->start, ops_of(y) * sizeof *device_of_op);
    else
        emp_moves_scatter(&y->im.moves, &rng, device_of_op);
    emp_problem_legalize(y->im.problem, device_of_op);
    emp_imagination_know(&y->im, device_of_op);
}

/* A restored state may come from anywhere. */
static bool is_damaged(const dyna *y)
{
    const emp_proposer *p = &y->im.proposer;
    bool                is_sound = true;

    for (int32_t i = 0; i < EXAMPLES; i++)
        is_sound = is_sound && y->example[i].count >= 0 &&
                   y->example[i].count <= EMP_IMAGINED_LONGEST;
    for (int32_t i = 0; i < KINDS; i++) is_sound = is_sound && y->gain[i] >= 0.0;
    return !is_sound || (y->at.is_begun != 0 && y->at.is_begun != 1) ||
           !emp_count_is_valid(y->at.steps) || !emp_count_is_valid(y->at.asked) ||
           !emp_count_is_valid(y->at.examples) || y->at.grown < 0 ||
           y->at.grown > y->im.moves.size_count ||
           !emp_count_is_valid(p->policy.params.step) ||
           !emp_count_is_valid(p->judge.params.step) ||
           !emp_choices_are_valid(y->im.here, (int64_t)ops_of(y),
                                  y->im.problem->machine->device_count);
}

static emp_status propose(dyna *y, const emp_owned_decision *candidates, int32_t count,
                          emp_error *err)
{
    emp_params_zero_gradient(&y->im.proposer.policy.params);
    y->im.insight = 0.0;
    y->im.blocks = 0;
    for (int32_t k = 0; k < count; k++) {
        if (!y->at.is_begun) {
            scatter(y, k, candidates[k].device_of_op);
            continue;
        }
        const int32_t kind = y->kind[k] = draw_kind(y);
        EMP_CHECK(emp_imagine(&y->im, &y->walk[k], rule_of(kind), length_of(kind),
                              candidates[k].device_of_op, err));
    }
    return EMP_OK;
}

static emp_status ask(void *state, const emp_owned_decision *candidates, int32_t max,
                      int32_t *count, emp_error *err)
{
    dyna      *y = state;
    emp_status st = EMP_OK;
    unsigned   saved = emp_flush_begin();

    if (max < 1) EMP_FAIL(EMP_EINVAL, "asked for %d candidates, want at least 1", max);
    if (is_damaged(y)) EMP_FAIL(EMP_EFORMAT, "the saved state of dyna is damaged");
    y->im.steps = y->at.steps;
    EMP_TRY(grow(y, err));
    if (y->at.is_begun) EMP_TRY(emp_imagination_see(&y->im, err));
    *count = y->at.is_begun ? y->options.samples : y->options.starts;
    if (*count > max) *count = max;
    y->sample_count = *count;
    EMP_TRY(propose(y, candidates, *count, err));
    y->at.steps = y->im.steps;

cleanup:
    emp_flush_end(saved);
    return st;
}

/* ---- what the oracle teaches ------------------------------------------------------- */

/* Log gains over the parent become advantages: mean 0, deviation 1, none large. */
static void standardize(double *gain, int32_t count)
{
    double mean = 0.0, squares = 0.0;

    for (int32_t k = 0; k < count; k++) mean += gain[k] / count;
    for (int32_t k = 0; k < count; k++)
        squares += (gain[k] - mean) * (gain[k] - mean) / count;
    const double deviation = sqrt(squares);
    for (int32_t k = 0; k < count; k++) {
        const double a = deviation > 1e-12 ? (gain[k] - mean) / deviation : 0.0;
        gain[k] = fmax(fmin(a, MOST_ADVANTAGE), -MOST_ADVANTAGE);
    }
}

/* REINFORCE of a walk, its weight shared by its moves. */
static void learn_walk(dyna *y, const emp_imagined_walk *w, double weight)
{
    const emp_params *p = &y->im.proposer.policy.params;

    if (w->count == 0 || weight == 0.0) return;
    for (size_t i = 0; i < p->count; i++)
        p->gradient[i] += (emp_real)(weight / w->count * (double)w->score[i]);
}

static void note_gains(dyna *y, const double *gain, int32_t count)
{
    for (int32_t k = 0; k < count; k++) {
        double *g = &y->gain[y->kind[k]];
        *g += (1.0 - GAIN_DECAY) * (fmax(gain[k], 0.0) - *g);
    }
}

static void keep_examples(dyna *y, const double *gain, int32_t count)
{
    for (int32_t k = 0; k < count; k++) {
        const emp_imagined_walk *w = &y->walk[k];
        example                 *e = &y->example[y->at.examples % EXAMPLES];
        if (w->count == 0) continue;
        y->at.examples++;
        e->count = (emp_real)w->count;
        e->gain = (emp_real)emp_imagined_units(gain[k]);
        memcpy(e->x, w->x, sizeof e->x);
    }
}

/* One example: the sum of its moves' gains is to be the gain of the walk. Returns the square of the error. */
static double teach(emp_move_net *judge, const example *e)
{
    const int32_t count = (int32_t)e->count;
    double        weight[EMP_IMAGINED_LONGEST], sum = 0.0;

    emp_move_net_forward(judge, e->x[0], count);
    for (int32_t i = 0; i < count; i++) sum += (double)judge->out[i];
    const double error = (double)e->gain - sum;
    for (int32_t i = 0; i < count; i++) weight[i] = error / LESSON;
    emp_move_net_learn(judge, judge->params.gradient, e->x[0], weight, count);
    return error * error;
}

/* Updates of the judge, each from some of the last examples. Returns the mean square of its errors. */
static double train_judge(dyna *y)
{
    emp_move_net *judge = &y->im.proposer.judge;
    const int64_t have = y->at.examples < EXAMPLES ? y->at.examples : EXAMPLES;
    emp_adam      adam = y->options.adam;
    double        squares = 0.0;
    emp_rng       rng;

    if (have == 0 || y->options.judge_rate <= 0.0) return NAN;
    adam.learning_rate = y->options.judge_rate;
    emp_rng_init(&rng, y->seed, (uint32_t)y->at.asked, STREAM_LESSON);
    for (int32_t l = 0; l < y->options.lessons; l++) {
        emp_params_zero_gradient(&judge->params);
        for (int32_t i = 0; i < LESSON; i++)
            squares += teach(judge, &y->example[emp_rng_below(&rng, (uint32_t)have)]);
        emp_params_ascend(&judge->params, y->options.clip, &adam);
    }
    return squares / (y->options.lessons * LESSON);
}

static void learn(dyna *y, const emp_score *scores, int32_t count, int32_t best)
{
    double gain[EMP_MAX_BATCH] = {0};

    for (int32_t k = 0; k < count; k++)
        gain[k] = log(y->im.here_s / emp_penalized_s(&scores[k]));
    note_gains(y, gain, count);
    keep_examples(y, gain, count);
    y->metric[METRIC_JUDGE].value = train_judge(y);
    const bool is_better = gain[best] > 0.0;
    standardize(gain, count);
    for (int32_t k = 0; k < count; k++)
        learn_walk(y, &y->walk[k], y->options.real * gain[k]);
    if (is_better) learn_walk(y, &y->walk[best], y->options.imitate);
    y->metric[METRIC_NORM].value = emp_params_ascend(&y->im.proposer.policy.params,
                                                     y->options.clip, &y->options.adam);
}

static void report(dyna *y, const emp_score *scores, int32_t count)
{
    double  guess[EMP_MAX_BATCH], exact[EMP_MAX_BATCH], moves = 0.0;
    int32_t n = 0;

    for (int32_t k = 0; k < count; k++) {
        moves += (double)y->walk[k].count / count;
        if (isnan(y->walk[k].guess_s)) continue;
        guess[n] = y->walk[k].guess_s;
        exact[n++] = scores[k].step_time_s;
    }
    y->metric[METRIC_HERE].value = y->im.here_s;
    y->metric[METRIC_MOVES].value = moves;
    y->metric[METRIC_AGREEMENT].value = n > 1 ? emp_kendall_of(guess, exact, n) : NAN;
    y->metric[METRIC_INSIGHT].value =
        y->im.blocks > 0 ? y->im.insight / y->im.blocks : NAN;
}

static void go_to(dyna *y, int32_t k, double cost_s)
{
    const emp_imagined_walk *w = &y->walk[k];

    if (!y->at.is_begun) scatter(y, k, y->im.here);
    for (int32_t i = 0; i < w->count; i++) emp_move_make(&w->move[i], y->im.here);
    y->im.here_s = cost_s;
    y->at.is_begun = 1;
}

static emp_status tell(void *state, const emp_score *scores, int32_t count,
                       emp_error *err)
{
    dyna    *y = state;
    int32_t  best = 0;
    unsigned saved = emp_flush_begin();

    if (count == y->sample_count) {
        for (int32_t k = 1; k < count; k++)
            if (emp_penalized_s(&scores[k]) < emp_penalized_s(&scores[best])) best = k;
        const double cost_s = emp_penalized_s(&scores[best]);
        if (y->at.is_begun) learn(y, scores, count, best);
        if (!y->at.is_begun || cost_s < y->im.here_s) go_to(y, best, cost_s);
        report(y, scores, count);
    }
    emp_flush_end(saved);
    return count == y->sample_count
               ? EMP_OK
               : EMP_ERROR(EMP_EINVAL, "told %d scores of %d candidates", count,
                           y->sample_count);
}

/* ---- creation ---------------------------------------------------------------------- */

static emp_status init(void *state, const emp_problem *problem,
                       const emp_method_params *params, emp_error *err)
{
    dyna         *y = state;
    dyna_options *o = &y->options;

    y->seed = params->seed;
    for (int32_t i = 0; i < METRICS; i++)
        y->metric[i] = (emp_method_metric){metric_names[i], NAN};
    EMP_CHECK(emp_method_options_parse(o, &emp_method_dyna, params, err));
    o->imagine.moves.kind = EMP_MOVES_GROUPS;
    o->imagine.moves.imbalance = IMBALANCE;
    o->imagine.moves.at_once = FIRST_LEVELS;
    o->imagine.moves.stop = params->stop;
    EMP_CHECK(
        emp_imagination_init(&y->im, problem, &o->imagine, o->hidden, y->seed, err));
    EMP_CHECK(EMP_ALLOC(y->example, EXAMPLES));
    const size_t parameters = y->im.proposer.policy.params.count;
    EMP_CHECK(EMP_ALLOC(y->score, (size_t)o->samples * parameters));
    for (int32_t k = 0; k < o->samples; k++)
        y->walk[k].score = y->score + (size_t)k * parameters;
    if (params->start == NULL) return EMP_OK;
    EMP_CHECK(EMP_ALLOC(y->start, ops_of(y)));
    memcpy(y->start, params->start, ops_of(y) * sizeof *params->start);
    return EMP_OK;
}

static const emp_method_metric *metrics(const void *state, int32_t *count)
{
    *count = METRICS;
    return ((const dyna *)state)->metric;
}

static int32_t list_net(emp_params *p, const char *const name[4], emp_named_array *arrays)
{
    arrays[0] = (emp_named_array){name[0], EMP_ARRAY_INT64, 1, &p->step};
    arrays[1] = (emp_named_array){name[1], EMP_ARRAY_REAL, p->count, p->value};
    arrays[2] = (emp_named_array){name[2], EMP_ARRAY_REAL, p->count, p->moment1};
    arrays[3] = (emp_named_array){name[3], EMP_ARRAY_REAL, p->count, p->moment2};
    return 4;
}

static int32_t list_weights(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    static const char *const policy[] = {"policy_step", "policy_value", "policy_moment1",
                                         "policy_moment2"};
    static const char *const judge[] = {"judge_step", "judge_value", "judge_moment1",
                                        "judge_moment2"};
    emp_proposer            *p = &((dyna *)state)->im.proposer;
    const int32_t            count = list_net(&p->policy.params, policy, arrays);

    return count + list_net(&p->judge.params, judge, arrays + count);
}

static int32_t list_state(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    dyna                 *y = state;
    emp_imagination      *im = &y->im;
    const int32_t         count = list_weights(state, arrays);
    const emp_named_array list[] = {
        {"progress", EMP_ARRAY_INT64, sizeof y->at / sizeof(int64_t), &y->at},
        {"here", EMP_ARRAY_INT32, ops_of(y), im->here},
        {"here_s", EMP_ARRAY_DOUBLE, 1, &im->here_s},
        {"gain", EMP_ARRAY_DOUBLE, KINDS, y->gain},
        {"examples", EMP_ARRAY_REAL, EXAMPLES * sizeof(example) / sizeof(emp_real),
         y->example},
        {"groups", EMP_ARRAY_INT64, 1, &y->groups_hash},
        {"known", EMP_ARRAY_INT64, EMP_IMAGINED_KNOWN, im->known}};

    memcpy(&arrays[count], list, sizeof list);
    return count + (int32_t)(sizeof list / sizeof *list);
}

static const emp_option option_list[] = {
    EMP_INTEGER_OPTION("samples", dyna_options, samples, 1, EMP_MAX_BATCH,
                       "placements a batch", 8),
    EMP_INTEGER_OPTION("starts", dyna_options, starts, 1, EMP_MAX_BATCH,
                       "random placements, the best of which is the first parent", 8),
    EMP_INTEGER_OPTION("picks", dyna_options, imagine.picks, EMP_IMAGINED_BLOCK,
                       EMP_PROPOSER_MOVES, "moves among which the policy chooses", 32),
    EMP_INTEGER_OPTION("longest", dyna_options, longest, 0, EMP_IMAGINED_LONGEST,
                       "moves of an imagined walk at most; 0: one, which no model sees",
                       8),
    EMP_INTEGER_OPTION("hidden", dyna_options, hidden, 1, 1024, "units of a network", 32),
    EMP_ADAM_OPTIONS(dyna_options, adam, 0.01, "epsilon", 1e-8, 0),
    EMP_CLIP_OPTION(dyna_options, clip, 1),
    EMP_REAL_OPTION("judge", dyna_options, judge_rate, 0, 10,
                    "learning rate of the judge; 0: there is none", 0.01),
    EMP_INTEGER_OPTION("lessons", dyna_options, lessons, 1, 1000,
                       "updates of the judge a batch", 4),
    EMP_REAL_OPTION("temperature", dyna_options, imagine.temperature, 1e-3, 1e6,
                    "of the softmax over moves", 1),
    EMP_REAL_OPTION("elite", dyna_options, imagine.elite, 0, 1,
                    "share of estimated moves that count as good", 0.2),
    EMP_REAL_OPTION("estimate", dyna_options, imagine.estimate, 0, 1e6,
                    "weight of the surrogate's ranks in an update of the policy", 1),
    EMP_REAL_OPTION("real", dyna_options, real, 0, 1e6,
                    "weight of the oracle's advantages (REINFORCE)", 1),
    EMP_REAL_OPTION("imitate", dyna_options, imitate, 0, 1e6,
                    "weight of a walk that ends at the best placement so far", 1),
    EMP_BOOL_OPTION("blame", dyna_options, imagine.blame,
                    "1: groups are drawn by their share of the critical path, and "
                    "networks see it",
                    1),
    EMP_REAL_OPTION("alike", dyna_options, imagine.alike, 0, 1,
                    "share of moves of any group; others go by its share of the critical "
                    "path",
                    0.3),
    EMP_REAL_OPTION("near", dyna_options, imagine.moves.near, 0, 1,
                    "share of picks that go to a neighbour's device", 0.5),
    EMP_WORD_OPTION("groups", dyna_options, imagine.moves.groups,
                    EMP_CLASS_GROUPING_WORDS "|all", "how groups are made",
                    EMP_CLASS_GROUPS_SCOTCH),
    EMP_INTEGER_OPTION("coarsest", dyna_options, imagine.moves.coarsest, 1, 1 << 14,
                       "groups of the first size; each further one has twice as many",
                       12),
    EMP_INTEGER_OPTION("finest", dyna_options, imagine.moves.finest, 1, 1 << 14,
                       "groups at most", 768),
    EMP_INTEGER_OPTION("cuts", dyna_options, imagine.moves.cuts, 1, EMP_MOVES_MAX_CUTS,
                       "groupings of each size", 4),
    EMP_NO_OPTION};

static const emp_method_learning learning = {.list_weights = list_weights};

const emp_method emp_method_dyna = {
    .name = "dyna",
    .description = "learned local search: networks of moves that train on imagined walks "
                   "by the surrogate",
    .advice = "a learner whose proposals compete with search",
    .uses_budget = true,
    .uses_seed = true,
    .has_start = true,
    .options = option_list,
    .state_bytes = sizeof(dyna),
    .init = init,
    .ask = ask,
    .tell = tell,
    .clear = clear,
    .metrics = metrics,
    .list_state = list_state,
    .learning = &learning};
