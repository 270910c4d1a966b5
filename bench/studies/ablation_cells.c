// SPDX-License-Identifier: GPL-3.0-or-later
/* From runs to cells. */
#include <math.h>

#include "bench/studies/ablation_internal.h"

/* Of the runs of a cell, one number each; infinite where a run has none. */
typedef struct {
    double  value[EMP_TRIALS_SEEDS];
    int32_t count;
} numbers;

static double median_of(numbers *n)
{
    const double median = emp_summary_of(n->value, (size_t)n->count).median;

    return isfinite(median) ? median : NAN;
}

static bool shows(const emp_ablation_plan *plan, emp_ablation_shows what)
{
    return (plan->definition->shows & (uint32_t)what) != 0;
}

/* Busy seconds of the busiest GPU over their mean. */
static double balance_of(const emp_record *r, const emp_machine *machine)
{
    double  most = 0, sum = 0;
    int32_t gpus = 0;

    for (int32_t d = 0; d < r->device_count; d++) {
        if (machine->device[d].kind != EMP_DEVICE_GPU) continue;
        gpus++;
        sum += r->busy_s[d];
        most = fmax(most, r->busy_s[d]);
    }
    return r->is_feasible && sum > 0 ? most * gpus / sum : INFINITY;
}

static void fill_steps(emp_ablation_cell *cell, const emp_job *jobs, int32_t count)
{
    numbers step_s = {0};
    int64_t feasible = 0;

    for (int32_t s = 0; s < count; s++) {
        const emp_record *r = &jobs[s].record;
        if (!jobs[s].is_ready) continue;
        step_s.value[step_s.count++] = r->is_feasible ? r->best_step_time_s : INFINITY;
        cell->oom_count += !r->is_feasible;
        cell->evaluations += r->evaluations;
        feasible += r->feasible_count;
    }
    cell->run_count = step_s.count;
    cell->step_s = emp_summary_of(step_s.value, (size_t)step_s.count);
    if (cell->evaluations > 0)
        cell->feasible_frac = (double)feasible / (double)cell->evaluations;
}

static double ratio_of(const emp_ablation_cell *cell, const emp_ablation_cell *standard)
{
    if (!isfinite(cell->step_s.median) || !isfinite(standard->step_s.median)) return NAN;
    return cell->step_s.median / standard->step_s.median;
}

static void fill_balance(emp_ablation_cell *cell, const emp_job *jobs, int32_t count,
                         const emp_machine *machine)
{
    numbers balance = {0};

    for (int32_t s = 0; s < count; s++)
        if (jobs[s].is_ready)
            balance.value[balance.count++] = balance_of(&jobs[s].record, machine);
    cell->balance = median_of(&balance);
}

static void fill_cost(emp_ablation_cell *cell, const emp_ablation_cell *standard,
                      const emp_job *jobs, int32_t count)
{
    numbers      cpu_s = {0};
    const double saved_s = standard->step_s.median - cell->step_s.median;

    for (int32_t s = 0; s < count; s++)
        if (jobs[s].is_ready)
            cpu_s.value[cpu_s.count++] =
                isnan(jobs[s].timing.cpu_s) ? INFINITY : jobs[s].timing.cpu_s;
    cell->cpu_s = median_of(&cpu_s);
    if (saved_s > 0) cell->break_even_steps = cell->cpu_s / saved_s;
}

static double least_median(const emp_ablation_table *t, int32_t row)
{
    double least_s = INFINITY;

    for (int32_t a = 0; a < t->arm_count; a++)
        least_s = fmin(least_s, t->cell[row * t->arm_count + a].step_s.median);
    return least_s;
}

/* How many placements a run scored until its best was close, and what it takes to measure them;
 * infinite: it never was. */
static void quality_of(const emp_record *r, double close_s, double *evaluations,
                       double *seconds)
{
    int64_t scored = 0;
    double  sum_s = 0;

    *evaluations = *seconds = INFINITY;
    for (int32_t i = 0; i < r->point_count; i++) {
        const emp_curve_point *p = &r->curve[i];
        sum_s += p->mean_s * (double)(p->evaluations - scored);
        scored = p->evaluations;
        if (!(p->best_s <= close_s)) continue;
        *evaluations = (double)scored;
        *seconds = EMP_ABLATION_MEASURED_STEPS * sum_s;
        return;
    }
}

static void fill_quality(emp_ablation_cell *cell, const emp_job *jobs, int32_t count,
                         double close_s)
{
    numbers evaluations = {0}, seconds = {0};

    for (int32_t s = 0; s < count; s++)
        if (jobs[s].is_ready)
            quality_of(&jobs[s].record, close_s, &evaluations.value[evaluations.count++],
                       &seconds.value[seconds.count++]);
    cell->quality_evaluations = median_of(&evaluations);
    cell->quality_s = median_of(&seconds);
}

void emp_ablation_fill(emp_ablation_plan *plan)
{
    emp_ablation_table *t = plan->table;
    const int32_t       cells = t->row_count * t->arm_count;

    for (int32_t i = 0; i < cells; i++)
        fill_steps(&t->cell[i], &plan->job[plan->first_job[i]],
                   plan->first_job[i + 1] - plan->first_job[i]);
    for (int32_t i = 0; i < cells; i++) {
        emp_ablation_cell       *cell = &t->cell[i];
        const int32_t            row = i / t->arm_count;
        const emp_ablation_cell *standard = &t->cell[row * t->arm_count];
        const emp_job           *jobs = &plan->job[plan->first_job[i]];
        const int32_t            count = plan->first_job[i + 1] - plan->first_job[i];
        cell->ratio = ratio_of(cell, standard);
        if (shows(plan, EMP_SHOWS_BALANCE))
            fill_balance(cell, jobs, count, plan->task[row].machine);
        if (shows(plan, EMP_SHOWS_COST)) fill_cost(cell, standard, jobs, count);
        if (shows(plan, EMP_SHOWS_QUALITY))
            fill_quality(cell, jobs, count,
                         (1 + EMP_ABLATION_CLOSE) * least_median(t, row));
    }
}
