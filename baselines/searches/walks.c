// SPDX-License-Identifier: GPL-3.0-or-later
/* Simulated annealing (Kirkpatrick et al., 1983) by moves of ops and groups.
 *
 * A sample is one move away from where the walk stands, and becomes the next stand by
 * Metropolis' rule: always if it is no slower, else with probability exp(-d / T), where d is
 * the change as a share of the step time. T begins at a share of the standard deviation of d
 * over the first moves, which only ever go down, and falls geometrically until the budget
 * ends. A placement that does not fit in memory costs more and is not ruled out (baselines/searches/walk.h). */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "baselines/baselines.h"
#include "baselines/searches/walk.h"
#include "search/method.h"

typedef struct {
    emp_walk_options walk;
    int32_t          warmup;  /* samples that set the first temperature */
    double           heat;    /* the latter over their standard deviation */
    double           cooling; /* first temperature over the last */
    int32_t          length;  /* samples in all; 0 = the run's budget */
} anneal_options;

/* The part of the first moves that a checkpoint keeps. */
typedef struct {
    double count, sum, sum_of_squares;
} spread;

typedef struct {
    emp_walk       walk; /* first */
    anneal_options options;
    int64_t        length, told;
    spread         d;
} annealer;

/* Without a budget in evaluations. */
enum { USUAL_LENGTH = 4000 };

/* The walk comes first in the state of anneal and mcmc. */
static void clear_walk(void *state) { emp_walk_clear(state); }

/* Asks for samples; \a counted is the saved state's own counter. */
static emp_status ask_walk(emp_walk *walk, const char *method, int64_t counted,
                           const emp_owned_decision *candidates, int32_t max,
                           int32_t *count, emp_error *err)
{
    if (!emp_count_is_valid(counted))
        return EMP_ERROR(EMP_EFORMAT, "the saved state of %s is damaged", method);
    return emp_walk_ask(walk, method, candidates, max, count, err);
}

static emp_status anneal_init(void *state, const emp_problem *problem,
                              const emp_method_params *params, emp_error *err)
{
    annealer *a = state;

    EMP_CHECK(emp_method_options_parse(&a->options, &emp_method_anneal, params, err));
    a->length = a->options.length > 0            ? a->options.length
                : params->budget_evaluations > 0 ? params->budget_evaluations
                                                 : USUAL_LENGTH;
    EMP_CHECK(emp_walk_init(&a->walk, problem, &a->options.walk, params, err));
    return EMP_OK;
}

static emp_status anneal_ask(void *state, const emp_owned_decision *candidates,
                             int32_t max, int32_t *count, emp_error *err)
{
    annealer *a = state;

    return ask_walk(&a->walk, "anneal", a->told, candidates, max, count, err);
}

/* The temperature of the next samples; 0 while the first moves are made. */
static double temperature(const annealer *a)
{
    const anneal_options *o = &a->options;
    const spread         *d = &a->d;

    if (a->told <= o->warmup || d->count < 1.0) return 0.0;
    double mean = d->sum / d->count;
    double deviation = sqrt(fmax(0.0, d->sum_of_squares / d->count - mean * mean));
    double left = (double)(a->length - o->warmup);
    double done = left > 0.0 ? fmin(1.0, (double)(a->told - o->warmup) / left) : 1.0;
    return o->heat * deviation * pow(o->cooling, -done);
}

static void note_spread(annealer *a, const emp_score *scores, int32_t count)
{
    for (int32_t k = 0; k < count; k++) {
        double d = emp_penalized_s(&scores[k]) / a->walk.cost.here_s - 1.0;
        a->d.count += 1.0;
        a->d.sum += d;
        a->d.sum_of_squares += d * d;
    }
}

static emp_status anneal_tell(void *state, const emp_score *scores, int32_t count,
                              emp_error *err)
{
    annealer *a = state;
    bool      is_new;
    double    t = temperature(a);
    int32_t   accepted = 0;

    EMP_CHECK(emp_walk_begin(&a->walk, scores, count, &is_new, err));
    if (!is_new && a->told <= a->options.warmup) note_spread(a, scores, count);
    if (!is_new) accepted = emp_walk_metropolis(&a->walk, scores, count, t);
    a->told += count;
    emp_walk_report(&a->walk, (emp_method_metric){"temperature", t},
                    (emp_method_metric){"accepted_frac", (double)accepted / count});
    return EMP_OK;
}

static int32_t anneal_list_state(void           *state,
                                 emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    annealer *a = state;
    int32_t   count = emp_walk_list_state(&a->walk, arrays);

    arrays[count++] = (emp_named_array){"told", EMP_ARRAY_INT64, 1, &a->told};
    arrays[count++] = (emp_named_array){"spread", EMP_ARRAY_DOUBLE,
                                        sizeof a->d / sizeof(double), &a->d};
    return count;
}

static const emp_option anneal_option_list[] = {
    EMP_INTEGER_OPTION("warmup", anneal_options, warmup, 2, 1 << 20,
                       "samples that set the first temperature", 100),
    EMP_REAL_OPTION("heat", anneal_options, heat, 0, 10,
                    "the first temperature over the standard deviation of their changes",
                    0.2),
    EMP_REAL_OPTION("cooling", anneal_options, cooling, 1, 1 << 30,
                    "the first temperature over the last", 1000),
    EMP_INTEGER_OPTION("length", anneal_options, length, 0, 1 << 30,
                       "samples in all; 0: the run's budget, or 4000", 0),
    EMP_WALK_OPTIONS(anneal_options, walk, EMP_MOVES_MIXED, 768),
    EMP_WALK_ORDER_OPTION(anneal_options, walk),
    EMP_NO_OPTION};

const emp_method emp_method_anneal = {
    .options = anneal_option_list,
    .name = "anneal",
    .description = "simulated annealing by moves of ops and groups (Kirkpatrick et al. "
                   "1983)",
    .advice = "a plain yardstick for searches",
    .uses_budget = true,
    .uses_seed = true,
    .decides = EMP_DECIDES_DEVICES | EMP_DECIDES_ORDER | EMP_DECIDES_FUSION,
    .has_start = true,
    .state_bytes = sizeof(annealer),
    .init = anneal_init,
    .ask = anneal_ask,
    .tell = anneal_tell,
    .clear = clear_walk,
    .metrics = emp_walk_metrics,
    .list_state = anneal_list_state,
};

/* FlexFlow's search (Jia et al., SysML 2019): Markov chain Monte Carlo over placements.
 *
 * A sample is one move away from where the walk stands. A faster one is accepted, a slower
 * one with probability exp(-alpha (t' - t) / t): FlexFlow takes the difference in
 * milliseconds, which makes alpha depend on the model; here it is a share of t. Every
 * max(1, min(1000, budget / 100)) samples the walk goes back to the best.
 *
 * FlexFlow's ops are layers and its moves are of single ops, or along edges in one of four
 * cases: moves=groups,groups=names,near=0,propagate=0.25 comes closest. */

typedef struct {
    emp_walk_options walk;
    double           alpha;
    int32_t          reset; /* 0: usual_reset() */
} mcmc_options;

typedef struct {
    emp_walk     walk; /* first */
    mcmc_options options;
    int64_t      reset; /* samples between two returns to the best */
    int64_t      since_reset;
} sampler;

/* FlexFlow's rule; without a budget its upper end. */
static int64_t usual_reset(int64_t budget)
{
    int64_t reset = budget > 0 ? budget / 100 : 1000;

    return reset < 1 ? 1 : reset > 1000 ? 1000 : reset;
}

static emp_status mcmc_init(void *state, const emp_problem *problem,
                            const emp_method_params *params, emp_error *err)
{
    sampler *s = state;

    EMP_CHECK(emp_method_options_parse(&s->options, &emp_method_mcmc, params, err));
    s->reset =
        s->options.reset > 0 ? s->options.reset : usual_reset(params->budget_evaluations);
    EMP_CHECK(emp_walk_init(&s->walk, problem, &s->options.walk, params, err));
    return EMP_OK;
}

static emp_status mcmc_ask(void *state, const emp_owned_decision *candidates, int32_t max,
                           int32_t *count, emp_error *err)
{
    sampler *s = state;

    return ask_walk(&s->walk, "mcmc", s->since_reset, candidates, max, count, err);
}

static emp_status mcmc_tell(void *state, const emp_score *scores, int32_t count,
                            emp_error *err)
{
    sampler *s = state;
    bool     is_new;
    int32_t  accepted = 0;
    /* alpha = 0 accepts everything. */
    const double t = s->options.alpha > 0.0 ? 1.0 / s->options.alpha : 1e300;

    EMP_CHECK(emp_walk_begin(&s->walk, scores, count, &is_new, err));
    if (!is_new) {
        accepted = emp_walk_metropolis(&s->walk, scores, count, t);
        s->since_reset += count;
    }
    if (s->since_reset >= s->reset) {
        s->since_reset = 0;
        emp_walk_return(&s->walk);
    }
    emp_walk_report(&s->walk,
                    (emp_method_metric){"accepted_frac", (double)accepted / count},
                    (emp_method_metric){"since_reset", (double)s->since_reset});
    return EMP_OK;
}

static int32_t mcmc_list_state(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    sampler *s = state;
    int32_t  count = emp_walk_list_state(&s->walk, arrays);

    arrays[count++] =
        (emp_named_array){"since_reset", EMP_ARRAY_INT64, 1, &s->since_reset};
    return count;
}

static const emp_option mcmc_option_list[] = {
    EMP_REAL_OPTION("alpha", mcmc_options, alpha, 0, 1 << 30,
                    "a sample slower by a share x is accepted with probability "
                    "exp(-alpha x)",
                    100),
    EMP_INTEGER_OPTION("reset", mcmc_options, reset, 0, 1 << 30,
                       "samples between two returns to the best; 0: a hundredth of the "
                       "budget, at most 1000",
                       0),
    EMP_WALK_OPTIONS(mcmc_options, walk, EMP_MOVES_MIXED, 768),
    EMP_WALK_ORDER_OPTION(mcmc_options, walk), EMP_NO_OPTION};

const emp_method emp_method_mcmc = {
    .options = mcmc_option_list,
    .name = "mcmc",
    .description = "FlexFlow's Markov chain Monte Carlo by moves of ops and groups (Jia "
                   "et al. 2019)",
    .advice = "a comparison with FlexFlow's search",
    .uses_budget = true,
    .uses_seed = true,
    .decides = EMP_DECIDES_DEVICES | EMP_DECIDES_ORDER | EMP_DECIDES_FUSION,
    .has_start = true,
    .state_bytes = sizeof(sampler),
    .init = mcmc_init,
    .ask = mcmc_ask,
    .tell = mcmc_tell,
    .clear = clear_walk,
    .metrics = emp_walk_metrics,
    .list_state = mcmc_list_state,
};

/* Local search with restarts (as in Tarnawski et al., NeurIPS 2020, who move single
 * classes and take the best move): all moves of a group to a device are tried in an order
 * drawn at random, until none of them makes the step faster.
 *
 * pick=first goes on as soon as a batch has a faster sample, pick=best when all moves have
 * been tried. Local optima are left by some random moves away from the best one
 * (kicks=N), or for another random placement (kicks=0). */

typedef enum { PICK_FIRST, PICK_BEST } local_pick;

typedef struct {
    emp_walk_options walk;
    local_pick       pick;
    int32_t          kicks;
} local_options;

/* Streams of the walk's seed, away from its moves' streams: substreams from 16 on. */
enum { STREAM_ORDER = 16, STREAM_RESTART };

/* The state in a checkpoint. */
typedef struct {
    int64_t restarts;
    int64_t step_at; /* drafts, when the walk last went on: after as many more as there
                        are moves it stands in a local optimum */
    int64_t best;    /* the draft that did best since then; -1 = none is faster */
} local_progress;

typedef struct {
    emp_walk       walk; /* first: make_move() is handed it */
    local_options  options;
    int32_t        move_count;
    int32_t       *order;    /* [move] */
    int64_t        order_of; /* the restart for which it was drawn; -1 = none yet */
    local_progress at;
    double         best_s; /* cost of at.best, or of where the walk stands */
} local_search;

static void clear_local(void *state)
{
    local_search *s = state;

    emp_walk_clear(&s->walk);
    emp_free(s->order);
}

static bool make_move(emp_walk *walk, int64_t draft, const emp_owned_decision *at)
{
    const local_search *s = (const local_search *)walk;

    return emp_moves_make(&walk->moves, s->order[draft % s->move_count],
                          at->device_of_op);
}

static emp_status local_init(void *state, const emp_problem *problem,
                             const emp_method_params *params, emp_error *err)
{
    local_search *s = state;

    EMP_CHECK(emp_method_options_parse(&s->options, &emp_method_local, params, err));
    EMP_CHECK(emp_walk_init(&s->walk, problem, &s->options.walk, params, err));
    s->walk.make = make_move;
    int64_t moves = emp_moves_count(&s->walk.moves);
    if (moves < 1 || moves > INT32_MAX)
        return EMP_ERROR(
            EMP_EUNSUPPORTED,
            "method local can make %lld moves of a class or group to a device, want "
            "1 to %d",
            (long long)moves, INT32_MAX);
    s->move_count = (int32_t)moves;
    s->order_of = s->at.best = -1;
    EMP_CHECK(EMP_ALLOC(s->order, (size_t)moves));
    return EMP_OK;
}

/* By Fisher and Yates, from the number of the restart. */
static void draw_order(local_search *s)
{
    emp_rng rng;

    if (s->order_of == s->at.restarts) return;
    s->order_of = s->at.restarts;
    emp_rng_init(&rng, s->walk.seed, (uint32_t)s->at.restarts, STREAM_ORDER);
    for (int32_t i = 0; i < s->move_count; i++) {
        int32_t other = (int32_t)emp_rng_below(&rng, (uint32_t)i + 1);
        s->order[i] = s->order[other];
        s->order[other] = i;
    }
}

static emp_status local_ask(void *state, const emp_owned_decision *candidates,
                            int32_t max, int32_t *count, emp_error *err)
{
    local_search *s = state;

    /* A restored state may come from anywhere. */
    if (!emp_count_is_valid(s->at.restarts) || !emp_count_is_valid(s->at.step_at) ||
        s->at.best < -1)
        return EMP_ERROR(EMP_EFORMAT, "the saved state of local is damaged");
    draw_order(s);
    return emp_walk_ask(&s->walk, "local", candidates, max, count, err);
}

/* From now on all moves are tried anew. */
static void begin_sweep(local_search *s)
{
    s->at.step_at = s->walk.at.drafted;
    s->at.best = -1;
    s->best_s = s->walk.cost.here_s;
}

/* Leaves a local optimum for a placement whose cost the next ask will find. */
static void restart(local_search *s)
{
    emp_walk *w = &s->walk;
    emp_rng   rng;

    emp_rng_init(&rng, w->seed, (uint32_t)s->at.restarts++, STREAM_RESTART);
    emp_walk_return(w);
    for (int32_t i = 0; i < s->options.kicks; i++)
        emp_moves_draw(&w->moves, &rng, w->here.device_of_op);
    if (s->options.kicks == 0) emp_moves_scatter(&w->moves, &rng, w->here.device_of_op);
    w->at.is_new = 1;
}

/* The best of a batch becomes the best of the sweep if it is. */
static void look_at(local_search *s, const emp_score *scores, int32_t count)
{
    for (int32_t k = 0; k < count; k++) {
        double cost_s = emp_penalized_s(&scores[k]);
        emp_walk_keep_best(&s->walk, k, cost_s);
        if (cost_s >= s->best_s) continue;
        s->best_s = cost_s;
        s->at.best = s->walk.draft[k];
    }
}

static void go_on(local_search *s)
{
    const bool is_over = s->walk.at.drafted - s->at.step_at >= s->move_count;

    if (s->at.best >= 0 && (is_over || s->options.pick == PICK_FIRST)) {
        emp_walk_step(&s->walk, s->at.best, s->best_s);
        begin_sweep(s);
    } else if (is_over) {
        restart(s);
    }
}

static emp_status local_tell(void *state, const emp_score *scores, int32_t count,
                             emp_error *err)
{
    local_search *s = state;
    bool          is_new;

    EMP_CHECK(emp_walk_begin(&s->walk, scores, count, &is_new, err));
    if (is_new) {
        begin_sweep(s);
    } else {
        look_at(s, scores, count);
        go_on(s);
    }
    double tried = (double)(s->walk.at.drafted - s->at.step_at);
    emp_walk_report(&s->walk,
                    (emp_method_metric){"tried_frac", tried / (double)s->move_count},
                    (emp_method_metric){"restarts", (double)s->at.restarts});
    return EMP_OK;
}

static int32_t local_list_state(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    local_search *s = state;
    int32_t       count = emp_walk_list_state(&s->walk, arrays);

    arrays[count++] = (emp_named_array){"search", EMP_ARRAY_INT64,
                                        sizeof s->at / sizeof(int64_t), &s->at};
    arrays[count++] = (emp_named_array){"sweep_s", EMP_ARRAY_DOUBLE, 1, &s->best_s};
    return count;
}

static const emp_option local_option_list[] = {
    EMP_WORD_OPTION("pick", local_options, pick, "first|best",
                    "go on with the first batch that has a faster sample, or the best of "
                    "all moves",
                    PICK_FIRST),
    EMP_INTEGER_OPTION("kicks", local_options, kicks, 0, 1 << 20,
                       "random moves away from the best that leave a local optimum; 0: "
                       "another random placement",
                       2),
    /* There are too many moves of single ops. */
    EMP_WALK_OPTIONS(local_options, walk, EMP_MOVES_GROUPS, 128), EMP_NO_OPTION};

const emp_method emp_method_local = {
    .options = local_option_list,
    .name = "local",
    .description = "local search by moves of ops and groups, with restarts (as in "
                   "Tarnawski et al. 2020)",
    .advice = "long searches, which begin anew where they are stuck",
    .uses_budget = true,
    .uses_seed = true,
    .has_start = true,
    .state_bytes = sizeof(local_search),
    .init = local_init,
    .ask = local_ask,
    .tell = local_tell,
    .clear = clear_local,
    .metrics = emp_walk_metrics,
    .list_state = local_list_state,
};
