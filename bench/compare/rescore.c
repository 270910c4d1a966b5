// SPDX-License-Identifier: GPL-3.0-or-later
/* The placements that were found, under other costs: does the ranking remain? */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/work.h"
#include "bench/compare/comparison_internal.h"
#include "sim/surrogate/surrogate.h"

static const double noise_frac = 0.1;
enum { NOISE_SEED = 1, PROFILES = EMP_SCORED_KINDS - 1 };

static const char *const names[EMP_SCORED_KINDS] = {[EMP_SCORED_NOISE] = "noise",
                                                    [EMP_SCORED_IDEAL] = "ideal",
                                                    [EMP_SCORED_PLACETO] = "placeto"};

const char *emp_scored_name(emp_scored kind) { return names[kind]; }

/* Conditions are the draws of noise, then the profiles. */
struct stand {
    emp_comparison_plan *plan;
    emp_runtime          profile[PROFILES];
    int32_t              conditions;
    double              *step_s; /* [condition][job] */
    int32_t              done;
};

static emp_scored kind_of(const struct stand *s, int32_t condition)
{
    int32_t draws = s->plan->c->draws;

    return condition < draws ? EMP_SCORED_NOISE
                             : (emp_scored)(EMP_SCORED_IDEAL + condition - draws);
}

/* A frozen task is scored only by its own rules: others need not know its machine. */
static bool is_scored(const struct stand *s, int32_t row, emp_scored kind)
{
    return kind == EMP_SCORED_NOISE || s->plan->c->row[row].frozen == NULL;
}

/* ---- costs that are somewhat wrong, as all costs are ---- */

static double draw_factor(double most_frac, emp_rng *rng)
{
    return exp((2 * emp_rng_uniform(rng) - 1) * log1p(most_frac));
}

static emp_time_ns scale(emp_time_ns time_ns, double factor)
{
    return (emp_time_ns)llround((double)time_ns * factor);
}

static void disturb_ops(emp_cost_table *c, double most_frac, emp_rng *rng)
{
    for (emp_op_id op = 0; op < c->op_count; op++) {
        double on_gpu = draw_factor(most_frac, rng);
        double on_cpu = draw_factor(most_frac, rng);
        for (int32_t i = 0; i < c->column_count[EMP_DEVICE_GPU]; i++) {
            emp_gpu_cost *gpu = &c->gpu[i * c->op_count + op];
            gpu->compute_ns = scale(gpu->compute_ns, on_gpu);
            gpu->issue_ns = scale(gpu->issue_ns, on_gpu);
        }
        if (c->gpu_beside_ns != NULL)
            c->gpu_beside_ns[op] = scale(c->gpu_beside_ns[op], on_gpu);
        for (int32_t i = 0; i < c->column_count[EMP_DEVICE_CPU]; i++) {
            int32_t       row = i * c->op_count + op;
            emp_cpu_cost *cpu = &c->cpu[row];
            cpu->compute_ns = scale(cpu->compute_ns, on_cpu);
            for (int32_t p = c->cpu_offset[row]; p < c->cpu_offset[row + 1]; p++)
                c->task_ns[p] = scale(c->task_ns[p], on_cpu);
        }
    }
}

emp_status emp_noise_add(emp_problem_variant *variant, double most_frac, emp_rng *rng,
                         emp_error *err)
{
    emp_machine *machine = variant->machine;

    disturb_ops(&variant->costs, most_frac, rng);
    for (int32_t i = 0; i < machine->link_count; i++) {
        double factor = draw_factor(most_frac, rng);
        machine->link[i].bytes_per_s /= factor;
        machine->link[i].latency_s *= factor;
    }
    return emp_problem_time_routes(&variant->problem, machine, err);
}

/* ---- scores ---- */

static emp_status score_jobs(struct stand *s, int32_t condition, int32_t row,
                             const emp_problem *problem, emp_error *err)
{
    const emp_comparison_plan *plan = s->plan;
    emp_status                 st = EMP_OK;
    emp_sim                   *sim = NULL;
    emp_sim_result             result;
    size_t                     op_count = (size_t)problem->graph->op_count;
    emp_device_id             *device_of_op = EMP_NEW_ARRAY(emp_device_id, op_count);

    if (device_of_op == NULL) EMP_FAIL(EMP_ENOMEM, "placement of %zu ops", op_count);
    EMP_TRY(emp_sim_create(&sim, problem, err));
    for (int32_t i = row * plan->jobs_of_row; i < (row + 1) * plan->jobs_of_row; i++) {
        double *step_s = &s->step_s[condition * plan->trials.job_count + i];
        *step_s = INFINITY;
        if (plan->trials.job[i].run.budget_cpu_s > 0) continue;
        if (plan->trials.job[i].is_refused || !plan->trials.job[i].record.is_feasible)
            continue;
        memcpy(device_of_op, plan->trials.job[i].record.decision.device_of_op,
               op_count * sizeof *device_of_op);
        emp_problem_legalize(problem, device_of_op);
        EMP_TRY(emp_sim_run(sim, device_of_op, &result, err));
        if (result.is_feasible) *step_s = (double)result.step_time_ns * 1e-9;
    }

cleanup:
    emp_sim_destroy(sim);
    emp_free(device_of_op);
    return st;
}

static emp_status score_noise(struct stand *s, int32_t draw, int32_t row, emp_error *err)
{
    emp_status          st = EMP_OK;
    emp_problem_variant variant = {0};
    emp_rng             rng;

    EMP_TRY(
        emp_problem_variant_init(&variant, s->plan->c->tasks.loaded[row].problem, err));
    emp_rng_init(&rng, NOISE_SEED, (uint32_t)draw, 0);
    EMP_TRY(emp_noise_add(&variant, noise_frac, &rng, err));
    EMP_TRY(score_jobs(s, draw, row, &variant.problem, err));

cleanup:
    emp_problem_variant_clear(&variant);
    return st;
}

static emp_status score_profile(struct stand *s, int32_t condition, int32_t row,
                                emp_error *err)
{
    emp_status             st = EMP_OK;
    emp_problem           *problem = NULL;
    const emp_loaded_task *task = &s->plan->c->tasks.loaded[row];
    int32_t                profile = condition - s->plan->c->draws;

    EMP_TRY(emp_problem_create(&problem, task->graph, task->machine, &s->profile[profile],
                               s->plan->c->row[row].spec, err));
    EMP_TRY(score_jobs(s, condition, row, problem, err));

cleanup:
    emp_problem_destroy(problem);
    return st;
}

/* Items: all conditions of a row, then of the next. */
static emp_status score(void *context, int32_t item, emp_error *err)
{
    struct stand                *s = (struct stand *)context;
    const emp_comparison_params *p = s->plan->params;
    const int32_t                row = item / s->conditions;
    const int32_t                condition = item % s->conditions;
    const emp_scored             kind = kind_of(s, condition);

    if (emp_stop_is_set(p->jobs.stop)) return EMP_ERROR(EMP_EINTERRUPTED, "interrupted");
    if (is_scored(s, row, kind))
        EMP_CHECK(kind == EMP_SCORED_NOISE ? score_noise(s, condition, row, err)
                                           : score_profile(s, condition, row, err));
#pragma omp critical(emp_comparison)
    {
        s->done++;
        if (p->on_rescored != NULL)
            p->on_rescored(p->jobs.context,
                           (double)s->done / (s->conditions * s->plan->c->row_count));
    }
    return EMP_OK;
}

/* ---- rankings ---- */

/* Medians of the entrants of a row under a condition. Runs that failed before, also by
 * being late, fail here, too. */
static void find_medians(const struct stand *s, int32_t b, int32_t r, int32_t condition,
                         double median[EMP_COMPARISON_ENTRANTS])
{
    const emp_comparison_plan *plan = s->plan;
    const emp_comparison      *c = plan->c;

    for (int32_t e = 0; e < c->entrant_count; e++) {
        int32_t        cell = plan->trial[emp_comparison_cell_index(c, b, r, e)], runs;
        const emp_job *job = emp_trials_cell(&plan->trials, cell, &runs);
        const int32_t  first = plan->trials.first[cell];
        double         value[EMP_TRIALS_SEEDS];
        for (int32_t i = 0; i < runs; i++) {
            bool has_failed = isinf(emp_comparison_value(&c->budget[b], &job[i]));
            value[i] = has_failed
                           ? INFINITY
                           : s->step_s[condition * plan->trials.job_count + first + i];
        }
        median[e] = emp_summary_of(value, (size_t)runs).median;
    }
}

/* The best entrant before, and whether none is better now. */
static bool is_best_kept(const emp_comparison_cell *cell, const double *median,
                         int32_t count)
{
    int32_t best = 0;

    for (int32_t e = 0; e < count; e++)
        if (cell[e].is_best) best = e;
    for (int32_t e = 0; e < count; e++)
        if (median[e] < median[best]) return false;
    return true;
}

/* The conditions first .. last, which are of one kind. */
static void compare(struct stand *s, int32_t b, int32_t r, int32_t first, int32_t last)
{
    emp_comparison        *c = s->plan->c;
    emp_scored             kind = kind_of(s, first);
    emp_comparison_cell   *cell = &c->cell[emp_comparison_cell_index(c, b, r, 0)];
    emp_comparison_change *change =
        &c->change[(b * c->row_count + r) * EMP_SCORED_KINDS + (int32_t)kind];
    double  before[EMP_COMPARISON_ENTRANTS], after[EMP_COMPARISON_ENTRANTS];
    double  tau_sum = 0;
    int32_t kept = 0, count = last - first + 1;

    for (int32_t e = 0; e < c->entrant_count; e++) before[e] = cell[e].step_s.median;
    change->least_tau = INFINITY;
    for (int32_t condition = first; condition <= last; condition++) {
        find_medians(s, b, r, condition, after);
        double tau = emp_kendall_of(before, after, c->entrant_count);
        tau_sum += tau;
        change->least_tau = fmin(change->least_tau, tau);
        kept += is_best_kept(cell, after, c->entrant_count);
    }
    change->tau = tau_sum / count;
    if (isnan(change->tau)) change->least_tau = NAN;
    change->kept_frac = (double)kept / count;
}

/* Medians over the conditions first .. last, for all entrants of a row. */
static emp_status fill_rescored(struct stand *s, int32_t b, int32_t r, int32_t first,
                                int32_t last, emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_comparison *c = s->plan->c;
    int32_t         count = last - first + 1;
    double          median[EMP_COMPARISON_ENTRANTS];
    double         *all = EMP_NEW_ARRAY(double, (size_t)count *(size_t)c->entrant_count);

    if (all == NULL) EMP_FAIL(EMP_ENOMEM, "medians of %d conditions", count);
    for (int32_t i = 0; i < count; i++) {
        find_medians(s, b, r, first + i, median);
        for (int32_t e = 0; e < c->entrant_count; e++) all[e * count + i] = median[e];
    }
    for (int32_t e = 0; e < c->entrant_count; e++)
        c->cell[emp_comparison_cell_index(c, b, r, e)].rescored_s[kind_of(s, first)] =
            emp_summary_of(&all[e * count], (size_t)count).median;

cleanup:
    emp_free(all);
    return st;
}

/* The placement of a shorter clock is not on record, so that no clock is compared. */
static emp_status compare_all(struct stand *s, emp_error *err)
{
    const emp_comparison *c = s->plan->c;

    for (int32_t i = 0; i < c->budget_count * c->row_count; i++) {
        if (c->budget[i / c->row_count].clock_s > 0) continue;
        for (int32_t first = 0, last; first < s->conditions; first = last + 1) {
            last = first < c->draws ? c->draws - 1 : first;
            if (!is_scored(s, i % c->row_count, kind_of(s, first))) continue;
            compare(s, i / c->row_count, i % c->row_count, first, last);
            EMP_CHECK(
                fill_rescored(s, i / c->row_count, i % c->row_count, first, last, err));
        }
    }
    return EMP_OK;
}

emp_status emp_comparison_rescore(emp_comparison_plan *plan, emp_error *err)
{
    emp_status   st = EMP_OK;
    struct stand s = {.plan = plan, .conditions = plan->c->draws + PROFILES};

    if (plan->c->draws <= 0 || emp_comparison_largest(plan->c, EMP_BY_EVALUATIONS) < 0)
        goto cleanup;
    for (int32_t i = 0; i < PROFILES; i++)
        EMP_TRY(emp_runtime_init(&s.profile[i], names[EMP_SCORED_IDEAL + i], err));
    EMP_TRY(EMP_ALLOC(s.step_s, (size_t)s.conditions * (size_t)plan->trials.job_count));
    EMP_TRY(emp_trials_each(s.conditions * plan->c->row_count, plan->params->jobs.threads,
                            score, &s, err));
    EMP_TRY(compare_all(&s, err));

cleanup:
    emp_free(s.step_s);
    return st;
}
