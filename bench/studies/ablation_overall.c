// SPDX-License-Identifier: GPL-3.0-or-later
/* From cells to what holds over tasks. A task has one figure an arm, the median over seeds. */
#include <math.h>

#include "base/mem.h"
#include "bench/studies/ablation_internal.h"

enum { BOOTSTRAP_SEED = 1 };
#define LEVEL 0.05

/* Log ratios of an arm's medians to the default's; as many tasks have both. */
static int32_t list_ratios(double *log_ratio, const emp_ablation_table *t, int32_t arm)
{
    int32_t count = 0;

    for (int32_t r = 0; r < t->row_count; r++) {
        const double own = t->cell[r * t->arm_count + arm].step_s.median;
        const double standard = t->cell[r * t->arm_count].step_s.median;
        if (isnan(own) || isnan(standard)) continue;
        log_ratio[count++] = emp_log_ratio(own, standard);
    }
    return count;
}

static void correct(emp_ablation_table *t, double *p, double *corrected)
{
    emp_holm(corrected, p, t->arm_count);
    for (int32_t a = 0; a < t->arm_count; a++) t->overall[a].p_holm = corrected[a];
}

emp_status emp_ablation_sum_up(emp_ablation_table *t, emp_error *err)
{
    emp_status   st = EMP_OK;
    const size_t rows = (size_t)t->row_count, arms = (size_t)t->arm_count;
    double      *log_ratio = EMP_NEW_ARRAY(double, rows);
    double      *p = EMP_NEW_ARRAY(double, 2 * arms);

    if (log_ratio == NULL || p == NULL) EMP_FAIL(EMP_ENOMEM, "sums of %zu arms", arms);
    t->test_least = emp_wilcoxon_least(t->arm_count > 1 ? t->arm_count - 1 : 1, LEVEL);
    for (int32_t a = 0; a < t->arm_count; a++) {
        const int32_t count = list_ratios(log_ratio, t, a);
        t->overall[a].task_count = count;
        t->overall[a].ratio = emp_ratio_interval(log_ratio, count, BOOTSTRAP_SEED);
        p[a] = NAN;
        if (a > 0 && count >= t->test_least)
            EMP_TRY(emp_wilcoxon(&p[a], log_ratio, count, err));
    }
    correct(t, p, p + arms);

cleanup:
    emp_free(log_ratio);
    emp_free(p);
    return st;
}
