// SPDX-License-Identifier: GPL-3.0-or-later
/* What do methods find that see noisy step times? Each score of a search is multiplied by a factor
 * of its own, as a measurement of one step would be. The placement that seemed best is then scored
 * without noise. */
#include <math.h>

#include "base/mem.h"
#include "base/rng.h"
#include "bench/studies/study.h"
#include "run/methods.h"

enum { STREAM = 0x6e6f6973 };

static const struct {
    const char *name, *options;
} searches[] = {{"random", "groups=48"},
                {"anneal", NULL},
                {"refine", NULL},
                {"hdp", "grouping=scotch,groups=48,hidden=64"}};
enum { SEARCHES = sizeof searches / sizeof *searches };

/* The standard deviation of the logarithm of a factor. */
static const double levels[] = {0, 0.02, 0.05, 0.1};
enum { LEVELS = sizeof levels / sizeof *levels };

/* A search under way. */
typedef struct {
    const emp_measured *task;
    const emp_method   *method;
    void               *state;
    emp_sim            *sim;
    emp_owned_decision  candidate[EMP_MAX_BATCH];
    emp_sim_result      result[EMP_MAX_BATCH];
    emp_score           score[EMP_MAX_BATCH]; /* as the method sees it */
    double              level;
    emp_rng             rng;
    double              seen_s;  /* the best that was seen */
    double              found_s; /* what that takes without noise */
    double              best_s;  /* the best of all without noise */
} search;

static emp_status begin(search *s, int32_t which, uint64_t seed, emp_error *err)
{
    const emp_method_params params = {.seed = seed,
                                      .threads = 1,
                                      .budget_evaluations = s->task->budget,
                                      .options = searches[which].options};

    s->seen_s = s->found_s = s->best_s = INFINITY;
    emp_rng_init(&s->rng, seed, STREAM, 0);
    EMP_CHECK(emp_method_find(&s->method, searches[which].name, err));
    return emp_method_create(&s->state, s->method, s->task->problem, &params, err);
}

static emp_status score(search *s, int32_t i, emp_error *err)
{
    emp_sim_result *r = &s->result[i];
    const double    factor = exp(s->level * emp_rng_normal(&s->rng));

    emp_problem_legalize(s->task->problem, s->candidate[i].device_of_op);
    EMP_CHECK(emp_sim_run(s->sim, s->candidate[i].device_of_op, r, err));
    s->score[i] = emp_score_of(s->task->problem, r, NULL);
    const double exact_s = s->score[i].step_time_s;
    s->score[i].step_time_s *= factor;
    if (!r->is_feasible) return EMP_OK;
    s->best_s = fmin(s->best_s, exact_s);
    if (s->score[i].step_time_s >= s->seen_s) return EMP_OK;
    s->seen_s = s->score[i].step_time_s;
    s->found_s = exact_s;
    return EMP_OK;
}

static emp_status run(search *s, emp_error *err)
{
    int32_t count = 0;

    for (int64_t left = s->task->budget; left > 0; left -= count) {
        const int32_t most = left < EMP_MAX_BATCH ? (int32_t)left : EMP_MAX_BATCH;
        EMP_CHECK(emp_method_ask(s->method, s->state, s->candidate, most, &count, err));
        if (count == 0) break;
        for (int32_t i = 0; i < count; i++) EMP_CHECK(score(s, i, err));
        EMP_CHECK(emp_method_tell(s->method, s->state, s->score, count, err));
    }
    return EMP_OK;
}

static emp_status make(search *s, int32_t which, double level, uint64_t seed,
                       emp_error *err)
{
    emp_status st = EMP_OK;

    s->level = level;
    EMP_TRY(begin(s, which, seed, err));
    EMP_TRY(run(s, err));

cleanup:
    emp_method_destroy(s->method, s->state);
    s->state = NULL;
    return st;
}

/* ---- the sheet ---- */

static const emp_sheet_column columns[] = {
    EMP_MEASURED_COLUMNS(EMP_SHEET_CELL),
    EMP_COLUMN("method", "method", EMP_SHEET_WORD),
    EMP_COLUMN("options", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("noise_frac", "noise", EMP_SHEET_SHARE),
    EMP_COLUMN("budget", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("seeds", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("seen_s", "seen", EMP_SHEET_REAL),
    EMP_COLUMN("found_s", "found", EMP_SHEET_REAL, .low = "found_low_s",
               .high = "found_high_s", .range = EMP_SHEET_BEHIND),
    EMP_COLUMN("best_s", "best met", EMP_SHEET_REAL),
    EMP_COLUMN("ratio", "ratio", EMP_SHEET_REAL)};

static emp_status measure_one(emp_sheet *sheet, search *s, int32_t which, int32_t level,
                              double *exact_s, emp_error *err)
{
    const emp_measured *task = s->task;
    const int32_t       seeds = task->seed_count;
    double              seen_s[EMP_MEASURE_SEEDS], found_s[EMP_MEASURE_SEEDS];
    double              best_s[EMP_MEASURE_SEEDS];

    for (int32_t i = 0; i < seeds; i++) {
        EMP_CHECK(make(s, which, levels[level], (uint64_t)i + 1, err));
        seen_s[i] = s->seen_s;
        found_s[i] = s->found_s;
        best_s[i] = s->best_s;
        emp_measured_report(task, (which * LEVELS + level + (i + 1.0) / seeds) /
                                      (SEARCHES * LEVELS));
    }
    const emp_summary found = emp_summary_of(found_s, (size_t)seeds);
    if (level == 0) *exact_s = found.median;
    EMP_SHEET_ADD(sheet, EMP_MEASURED_VALUES(task), EMP_V(searches[which].name),
                  EMP_V(searches[which].options), EMP_V(levels[level]),
                  EMP_V(task->budget), EMP_V(seeds), emp_measured_median(seen_s, seeds),
                  emp_value_range(found.median, found.min, found.max),
                  emp_measured_median(best_s, seeds),
                  EMP_V(isfinite(found.median) && isfinite(*exact_s)
                            ? found.median / *exact_s
                            : NAN));
    return EMP_OK;
}

static emp_status measure(emp_sheet *sheet, const emp_measured *task, emp_error *err)
{
    emp_status st = EMP_OK;
    double     exact_s = NAN;
    search    *s = EMP_NEW(search);

    if (s == NULL) EMP_FAIL(EMP_ENOMEM, "a search");
    s->task = task;
    for (int32_t i = 0; i < EMP_MAX_BATCH; i++)
        EMP_TRY(
            emp_decision_init(&s->candidate[i], task->problem->graph->op_count, 0, err));
    EMP_TRY(emp_sim_create(&s->sim, task->problem, err));
    for (int32_t which = 0; which < SEARCHES; which++)
        for (int32_t level = 0; level < LEVELS; level++)
            EMP_TRY(measure_one(sheet, s, which, level, &exact_s, err));

cleanup:
    for (int32_t i = 0; s != NULL && i < EMP_MAX_BATCH; i++)
        emp_decision_clear(&s->candidate[i]);
    if (s != NULL) emp_sim_destroy(s->sim);
    emp_free(s);
    return st;
}

static const char *const notes[] = {
    "Noise: standard deviation of the logarithm of the factor that each score is "
    "multiplied by. Seen: "
    "the best score with its factor. Found: the step time of that placement without "
    "noise, with its "
    "range over seeds. Best met: the least step time of all that were scored. Medians "
    "over seeds.",
    "Ratio: of what is found to what the same method finds without noise.", NULL};

const emp_measure emp_measure_noise = EMP_MEASURE("noise", 2000, 200);
