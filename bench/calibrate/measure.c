// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/calibrate/measure.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/work.h"

/* ---- the fit ----------------------------------------------------------------------- */

/* Some of the constants, and the benchmarks that they are fitted to. */
struct stage {
    const emp_measure_params *params;
    emp_machine              *machine;
    emp_runtime               runtime;
    int32_t                   first, count; /* constants */
    int32_t                   cell_count;
    int32_t                   cell[EMP_MICRO_MOST];
    double                    constant[EMP_FIT_MAX_PARAMETERS]; /* all */
};

static void set_constants(emp_machine *machine, emp_runtime *runtime, emp_micro_set set,
                          const double *parameter)
{
    const emp_measure_table *table = &emp_measure_tables[set];

    for (int32_t j = 0; j < table->count; j++)
        emp_constant_set(&table->constant[j], machine, runtime, parameter[j]);
    emp_measure_derive(machine, runtime, set);
}

static emp_status run_model(void *context, const double *parameter, double *value,
                            emp_error *err)
{
    struct stage             *s = (struct stage *)context;
    const emp_measure_params *p = s->params;
    emp_status                status[EMP_MICRO_MOST];
    emp_error                 error[EMP_MICRO_MOST] = {0};

    if (emp_stop_is_set(p->stop)) return EMP_ERROR(EMP_EINTERRUPTED, "interrupted");
    memcpy(s->constant + s->first, parameter, (size_t)s->count * sizeof *parameter);
    set_constants(s->machine, &s->runtime, p->set, s->constant);
#pragma omp parallel for schedule(dynamic, 1) num_threads(p->threads)
    for (int32_t i = 0; i < s->cell_count; i++) {
        const emp_micro *micro = &p->micro[s->cell[i]];
        emp_sim_result   result = {0};
        status[i] = emp_step_predict(&result, micro->graph, micro->device_of_op,
                                     s->machine, &s->runtime, micro->name, &error[i]);
        value[i] = (double)result.step_time_ns * 1e-9;
    }
    for (int32_t i = 0; i < s->cell_count; i++) {
        if (status[i] != EMP_OK)
            return EMP_ERROR(status[i], "benchmark %s: %s", p->micro[s->cell[i]].name,
                             error[i].msg);
    }
    return EMP_OK;
}

static void tell(void *context, double done_frac)
{
    const emp_measure_params *p = ((struct stage *)context)->params;

    if (p->on_progress != NULL) p->on_progress(p->context, done_frac);
}

static emp_status check(const emp_measure_params *p, emp_error *err)
{
    if (emp_machine_count(p->machine, EMP_DEVICE_CPU) != 1 ||
        emp_machine_first(p->machine, EMP_DEVICE_GPU) == NULL ||
        p->machine->link_count == 0)
        return EMP_ERROR(EMP_EINVAL, "machine %s is not one host with %s on links",
                         p->machine->name,
                         p->set == EMP_MICRO_CORES ? "groups of cores" : "GPUs");
    if (p->runtime->rules != EMP_RULES_EVENTS)
        return EMP_ERROR(EMP_EINVAL,
                         "nothing of runtime %s is fitted: its rules are '%s'",
                         p->runtime->name, emp_rules_str(p->runtime->rules));
    for (int32_t i = 0; i < p->count; i++) {
        if (!(p->measured_s[i] > 0.0))
            return EMP_ERROR(EMP_EINVAL, "benchmark %s took %g s; more than 0 is needed",
                             p->micro[i].name, p->measured_s[i]);
    }
    return EMP_OK;
}

/* What a stage found, among all. */
static void merge(emp_measurement *m, const struct stage *s, const emp_fit *found)
{
    emp_fit *fit = &m->fit;

    fit->fitted_count += found->fitted_count;
    fit->has_converged &= found->has_converged;
    for (int32_t j = 0; j < s->count; j++) {
        int32_t to = s->first + j;
        fit->is_fitted[to] = found->is_fitted[j];
        fit->is_at_bound[to] = found->is_at_bound[j];
        fit->parameter[to] = found->parameter[j];
        fit->low[to] = found->low[j];
        fit->high[to] = found->high[j];
        for (int32_t i = 0; i < s->cell_count; i++)
            fit->share[to][s->cell[i]] = found->share[j][i];
    }
    for (int32_t i = 0; i < s->cell_count; i++) fit->value[s->cell[i]] = found->value[i];
}

/* Fits constants first .. first + count - 1 to the benchmarks in which devices work at once, or to
 * those in which they do not. */
static emp_status fit_stage(emp_measurement *m, const emp_measure_params *p,
                            int32_t first, int32_t count, bool is_shared, emp_error *err)
{
    const emp_constant *constant = emp_measure_tables[p->set].constant + first;
    double              start[EMP_FIT_MAX_PARAMETERS], low[EMP_FIT_MAX_PARAMETERS],
        high[EMP_FIT_MAX_PARAMETERS], target[EMP_MICRO_MOST];
    emp_fit      found;
    struct stage s = {.params = p,
                      .machine = m->machine,
                      .runtime = m->runtime,
                      .first = first,
                      .count = count};

    for (int32_t i = 0; i < p->count; i++) {
        if (p->micro[i].is_shared != is_shared) continue;
        target[s.cell_count] = p->measured_s[i];
        s.cell[s.cell_count++] = i;
    }
    memcpy(s.constant, m->fit.parameter, sizeof s.constant);
    for (int32_t j = 0; j < count; j++) {
        low[j] = constant[j].low;
        high[j] = constant[j].high;
        start[j] = fmin(fmax(s.constant[first + j], low[j]), high[j]);
    }
    emp_fit_problem problem = {.parameter_count = count,
                               .cell_count = s.cell_count,
                               .start = start,
                               .low = low,
                               .high = high,
                               .target = target,
                               .model = run_model,
                               .on_progress = tell,
                               .context = &s,
                               .is_logarithmic = true,
                               .leaves_none_out = true};
    EMP_CHECK(emp_fit_solve(&found, &problem, err));
    merge(m, &s, &found);
    return EMP_OK;
}

/* What cores take alone does not depend on what they take from each other, so it is fitted first. */
static emp_status fit(emp_measurement *m, const emp_measure_params *p, emp_error *err)
{
    const emp_measure_table *t = &emp_measure_tables[p->set];

    for (int32_t j = 0; j < t->count; j++)
        m->fit.parameter[j] = emp_constant_get(&t->constant[j], m->machine, &m->runtime);
    m->fit.has_converged = true;
    EMP_CHECK(fit_stage(m, p, 0, t->alone_count, false, err));
    if (t->count > t->alone_count)
        EMP_CHECK(fit_stage(m, p, t->alone_count, t->count - t->alone_count, true, err));
    set_constants(m->machine, &m->runtime, p->set, m->fit.parameter);
    return EMP_OK;
}

emp_status emp_measurement_create(emp_measurement **out, const emp_measure_params *params,
                                  emp_error *err)
{
    emp_status       st = EMP_OK;
    emp_measurement *m = NULL;

    *out = NULL;
    EMP_TRY(check(params, err));
    EMP_TRY(EMP_ALLOC(m, 1));
    m->machine = emp_measure_start(params->machine, params->set, params->cache_bytes,
                                   params->core_count);
    if (m->machine == NULL) EMP_FAIL(EMP_ENOMEM, "machine");
    m->runtime = *params->runtime;
    m->set = params->set;
    m->micro = params->micro;
    m->measured_s = params->measured_s;
    m->count = params->count;
    EMP_TRY(fit(m, params, err));
    *out = m;
    m = NULL;

cleanup:
    emp_measurement_destroy(m);
    return st;
}

void emp_measurement_destroy(emp_measurement *measurement)
{
    if (measurement == NULL) return;
    emp_machine_destroy(measurement->machine);
    emp_free(measurement);
}
