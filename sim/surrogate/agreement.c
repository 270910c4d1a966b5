// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/surrogate/agreement.h"

#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "sim/surrogate/surrogate_internal.h"

static int sign(double x) { return (x > 0.0) - (x < 0.0); }

/* (concordant - discordant) / sqrt(pairs untied in x * pairs untied in y) */
double emp_kendall_of(const double *x, const double *y, int32_t count)
{
    double sum = 0.0, untied_x = 0.0, untied_y = 0.0;

    for (int32_t i = 0; i < count; i++) {
        for (int32_t j = 0; j < i; j++) {
            int a = sign(x[i] - x[j]), b = sign(y[i] - y[j]);
            sum += a * b;
            untied_x += a != 0;
            untied_y += b != 0;
        }
    }
    return sum / sqrt(untied_x * untied_y);
}

emp_status emp_agreement_of(emp_agreement *out, const double *estimate,
                            const double *exact, int32_t count, emp_error *err)
{
    emp_status st = EMP_OK;
    double    *work = NULL, error = 0.0;

    if (count < 2) EMP_FAIL(EMP_EINVAL, "ranks of %d values; at least 2", count);
    EMP_TRY(EMP_ALLOC(work, 2 * (size_t)count));
    for (int32_t i = 0; i < count; i++) error += fabs(estimate[i] / exact[i] - 1.0);
    out->spearman = gsl_stats_spearman(estimate, 1, exact, 1, (size_t)count, work);
    out->kendall = emp_kendall_of(estimate, exact, count);
    out->mean_relative_error = error / count;

cleanup:
    emp_free(work);
    return st;
}

emp_status emp_surrogate_rank_correlation(emp_agreement *out, emp_surrogate *s,
                                          emp_sim *sim, emp_device_id *const *placements,
                                          int32_t count, emp_error *err)
{
    emp_status st = EMP_OK;
    double    *estimate = EMP_NEW_ARRAY(double, (size_t)count);
    double    *exact = EMP_NEW_ARRAY(double, (size_t)count);

    if (!estimate || !exact) EMP_FAIL(EMP_ENOMEM, "step times of %d placements", count);
    EMP_TRY(emp_surrogate_run(s, placements, count, estimate, err));
    for (int32_t i = 0; i < count; i++) {
        emp_sim_result result;
        EMP_TRY(emp_sim_run(sim, placements[i], &result, err));
        exact[i] = (double)result.step_time_ns * 1e-9;
    }
    EMP_TRY(emp_agreement_of(out, estimate, exact, count, err));

cleanup:
    emp_free(estimate);
    emp_free(exact);
    return st;
}

/* An op may come in several parts; the last to end counts. */
static void note_op(void *context, emp_op_id op, emp_device_id device, int32_t lane,
                    emp_time_ns start_ns, emp_time_ns end_ns)
{
    double *end = context;

    (void)device, (void)lane, (void)start_ns;
    end[op] = fmax(end[op], (double)end_ns);
}

emp_status emp_surrogate_follow(emp_surrogate *s, emp_sim *sim,
                                emp_device_id *const *placements, int32_t count,
                                emp_error *err)
{
    emp_status    st = EMP_OK;
    size_t        op_count = (size_t)s->problem->graph->op_count;
    double       *end = EMP_NEW_ARRAY(double, op_count);
    double       *share = EMP_NEW_ARRAY(double, op_count);
    emp_sim_trace trace = {.context = end, .op = note_op};

    if (!end || !share) EMP_FAIL(EMP_ENOMEM, "end times of %zu ops", op_count);
    for (int32_t i = 0; i < count; i++) {
        emp_sim_result result;
        memset(end, 0, op_count * sizeof *end);
        EMP_TRY(emp_sim_run_traced(sim, placements[i], &trace, &result, err));
        for (size_t op = 0; op < op_count; op++)
            share[op] += end[op] / fmax((double)result.step_time_ns, 1.0);
    }
    EMP_TRY(emp_surrogate_set_order(s, share, err));

cleanup:
    emp_free(end);
    emp_free(share);
    return st;
}
