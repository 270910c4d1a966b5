// SPDX-License-Identifier: GPL-3.0-or-later
/* FlexFlow's search (Jia et al., SysML 2019): Markov chain Monte Carlo over placements.
 *
 * A sample is one move away from where the walk stands. A faster one is accepted, a slower
 * one with probability exp(-alpha (t' - t) / t): FlexFlow takes the difference in
 * milliseconds, which makes alpha depend on the model; here it is a share of t. Every
 * max(1, min(1000, budget / 100)) samples the walk goes back to the best.
 *
 * FlexFlow's ops are layers and its moves are of single ops, or along edges in one of four
 * cases: moves=groups,groups=names,near=0,propagate=25 comes closest. */
#include <string.h>

#include "base/mem.h"
#include "baselines/baselines.h"
#include "baselines/searches/walk.h"
#include "search/restored.h"

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

static void clear(void *state)
{
    sampler *s = state;

    emp_walk_clear(&s->walk);
}

/* FlexFlow's rule; without a budget its upper end. */
static int64_t usual_reset(int64_t budget)
{
    int64_t reset = budget > 0 ? budget / 100 : 1000;

    return reset < 1 ? 1 : reset > 1000 ? 1000 : reset;
}

static emp_status init(void *state, const emp_problem *problem,
                       const emp_method_params *params, emp_error *err)
{
    sampler *s = state;

    EMP_CHECK(emp_method_options_parse(&s->options, &emp_method_mcmc, params, err));
    s->reset =
        s->options.reset > 0 ? s->options.reset : usual_reset(params->budget_evaluations);
    EMP_CHECK(emp_walk_init(&s->walk, problem, &s->options.walk, params, err));
    return EMP_OK;
}

static emp_status ask(void *state, const emp_owned_decision *candidates, int32_t max,
                      int32_t *count, emp_error *err)
{
    sampler *s = state;

    if (!emp_count_is_valid(s->since_reset))
        return EMP_ERROR(EMP_EFORMAT, "the saved state of mcmc is damaged");
    return emp_walk_ask(&s->walk, "mcmc", candidates, max, count, err);
}

static emp_status tell(void *state, const emp_score *scores, int32_t count,
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

static int32_t list_state(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    sampler *s = state;
    int32_t  count = emp_walk_list_state(&s->walk, arrays);

    arrays[count++] =
        (emp_named_array){"since_reset", EMP_ARRAY_INT64, 1, &s->since_reset};
    return count;
}

static const emp_option option_list[] = {
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
    .options = option_list,
    .name = "mcmc",
    .description = "FlexFlow's Markov chain Monte Carlo by moves of ops and groups (Jia "
                   "et al. 2019)",
    .advice = "a comparison with FlexFlow's search",
    .uses_budget = true,
    .uses_seed = true,
    .decides = EMP_DECIDES_DEVICES | EMP_DECIDES_ORDER | EMP_DECIDES_FUSION,
    .has_start = true,
    .state_bytes = sizeof(sampler),
    .init = init,
    .ask = ask,
    .tell = tell,
    .clear = clear,
    .metrics = emp_walk_metrics,
    .list_state = list_state,
};
