// SPDX-License-Identifier: GPL-3.0-or-later
/* Simulated annealing (Kirkpatrick et al., 1983) by moves of ops and groups.
 *
 * A sample is one move away from where the walk stands, and becomes the next stand by
 * Metropolis' rule: always if it is no slower, else with probability exp(-d / T), where d is
 * the change as a share of the step time. T begins at a share of the standard deviation of d
 * over the first moves, which only ever go down, and falls geometrically until the budget
 * ends. What does not fit in memory costs more and is not ruled out (baselines/searches/walk.h). */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "baselines/baselines.h"
#include "baselines/searches/walk.h"
#include "search/restored.h"

typedef struct {
    emp_walk_options walk;
    int32_t          warmup;  /* samples that set the first temperature */
    double           heat;    /* the latter over their standard deviation */
    double           cooling; /* first temperature over the last */
    int32_t          length;  /* samples in all; 0 = the run's budget */
} anneal_options;

/* What a checkpoint must keep of the first moves. */
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

static void clear(void *state)
{
    annealer *a = state;

    emp_walk_clear(&a->walk);
}

static emp_status init(void *state, const emp_problem *problem,
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

static emp_status ask(void *state, const emp_owned_decision *candidates, int32_t max,
                      int32_t *count, emp_error *err)
{
    annealer *a = state;

    if (!emp_count_is_valid(a->told))
        return EMP_ERROR(EMP_EFORMAT, "the saved state of anneal is damaged");
    return emp_walk_ask(&a->walk, "anneal", candidates, max, count, err);
}

/* Of the next samples; 0 while the first moves are made. */
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

static emp_status tell(void *state, const emp_score *scores, int32_t count,
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

static int32_t list_state(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    annealer *a = state;
    int32_t   count = emp_walk_list_state(&a->walk, arrays);

    arrays[count++] = (emp_named_array){"told", EMP_ARRAY_INT64, 1, &a->told};
    arrays[count++] = (emp_named_array){"spread", EMP_ARRAY_DOUBLE,
                                        sizeof a->d / sizeof(double), &a->d};
    return count;
}

static const emp_option option_list[] = {
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
    .options = option_list,
    .name = "anneal",
    .description = "simulated annealing by moves of ops and groups (Kirkpatrick et al. "
                   "1983)",
    .advice = "a plain yardstick for searches",
    .uses_budget = true,
    .uses_seed = true,
    .decides = EMP_DECIDES_DEVICES | EMP_DECIDES_ORDER | EMP_DECIDES_FUSION,
    .has_start = true,
    .state_bytes = sizeof(annealer),
    .init = init,
    .ask = ask,
    .tell = tell,
    .clear = clear,
    .metrics = emp_walk_metrics,
    .list_state = list_state,
};
