// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/calibrate/fit.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <math.h>
#include <string.h>

static const double difference = 0.03; /* of ln p, to each side */
static const double margin = 10.0; /* times a bound: how far a trial may go beyond it */
static const double tolerance = 1e-5; /* of ln p: the step that ends a fit */

/* One fit: to which cells, over which parameters. */
struct task {
    const emp_fit_problem *problem;
    int32_t                cell_count, free_count;
    int32_t                cell[EMP_FIT_MAX_CELLS];
    int32_t                free[EMP_FIT_MAX_PARAMETERS];
    double     parameter[EMP_FIT_MAX_PARAMETERS]; /* all; the free ones vary */
    double     from[EMP_FIT_MAX_PARAMETERS];      /* x = ln(parameter / from) */
    double     done, done_to;                     /* progress now, at the end */
    bool       is_unfinished;                     /* all steps did not suffice */
    emp_status status; /* of the model: GSL passes only its own codes */
    emp_error *err;
};

/* d residual / d ln p, all cells and parameters */
typedef double slopes[EMP_FIT_MAX_CELLS][EMP_FIT_MAX_PARAMETERS];

static double residual_of(const emp_fit_problem *p, int32_t i, double value)
{
    return p->is_logarithmic ? log(value / p->target[i]) : value / p->target[i] - 1.0;
}

/* ---- slopes ------------------------------------------------------------------------ */

/* Column j of the slopes at the task's parameters. */
static emp_status find_slope(struct task *t, int32_t j, slopes d)
{
    const emp_fit_problem *p = t->problem;
    emp_status             st = EMP_OK;
    double above[EMP_FIT_MAX_CELLS], below[EMP_FIT_MAX_CELLS], at = t->parameter[j];

    t->parameter[j] = at * exp(difference);
    EMP_TRY(p->model(p->context, t->parameter, above, t->err));
    t->parameter[j] = at * exp(-difference);
    EMP_TRY(p->model(p->context, t->parameter, below, t->err));
    for (int32_t i = 0; i < p->cell_count; i++) {
        d[i][j] = (residual_of(p, i, above[i]) - residual_of(p, i, below[i])) /
                  (2.0 * difference);
    }

cleanup:
    t->parameter[j] = at;
    return st;
}

static emp_status find_slopes(struct task *t, const int32_t *column, int32_t column_count,
                              slopes d)
{
    for (int32_t k = 0; k < column_count; k++) EMP_CHECK(find_slope(t, column[k], d));
    return EMP_OK;
}

static double dot(const struct task *t, slopes d, int32_t j, int32_t k)
{
    double sum = 0.0;

    for (int32_t i = 0; i < t->cell_count; i++) {
        sum += d[t->cell[i]][j] * d[t->cell[i]][k];
    }
    return sum;
}

/* Takes the part of column k that lies along column j out of it. */
static void take_out(const struct task *t, slopes d, int32_t j, int32_t k)
{
    double part = dot(t, d, j, k) / dot(t, d, j, j);

    for (int32_t i = 0; i < t->cell_count; i++)
        d[t->cell[i]][k] -= part * d[t->cell[i]][j];
}

/* The candidates that the task's cells determine, in their order (Gram-Schmidt);
 * returns their number. */
static int32_t find_determined(const struct task *t, slopes slope,
                               const int32_t *candidate, int32_t count, int32_t *found)
{
    int32_t found_count = 0;
    slopes  d;

    memcpy(d, slope, sizeof d);
    for (int32_t k = 0; k < count && found_count < t->cell_count; k++) {
        for (int32_t l = 0; l < found_count; l++) take_out(t, d, found[l], candidate[k]);
        double left = sqrt(dot(t, d, candidate[k], candidate[k]));
        if (left >= EMP_FIT_DETERMINED) found[found_count++] = candidate[k];
    }
    return found_count;
}

/* ---- the fit ----------------------------------------------------------------------- */

static double clamp(double value, double low, double high)
{
    return fmin(fmax(value, low), high);
}

static void set_free(struct task *t, const gsl_vector *x)
{
    const emp_fit_problem *p = t->problem;

    for (int32_t k = 0; k < t->free_count; k++) {
        int32_t j = t->free[k];
        double  trial = t->from[j] * exp(gsl_vector_get(x, (size_t)k));
        t->parameter[j] = clamp(trial, p->low[j] / margin, p->high[j] * margin);
    }
}

static int residuals(const gsl_vector *x, void *context, gsl_vector *f)
{
    struct task           *t = (struct task *)context;
    const emp_fit_problem *p = t->problem;
    double                 value[EMP_FIT_MAX_CELLS];

    set_free(t, x);
    t->status = p->model(p->context, t->parameter, value, t->err);
    if (t->status != EMP_OK) return GSL_EFAILED;
    for (int32_t i = 0; i < t->cell_count; i++) {
        int32_t cell = t->cell[i];
        gsl_vector_set(f, (size_t)i, residual_of(p, cell, value[cell]));
    }
    return GSL_SUCCESS;
}

static int jacobian(const gsl_vector *x, void *context, gsl_matrix *out)
{
    struct task *t = (struct task *)context;
    slopes       d;

    set_free(t, x);
    t->status = find_slopes(t, t->free, t->free_count, d);
    if (t->status != EMP_OK) return GSL_EFAILED;
    for (int32_t k = 0; k < t->free_count; k++) {
        for (int32_t i = 0; i < t->cell_count; i++) {
            gsl_matrix_set(out, (size_t)i, (size_t)k, d[t->cell[i]][t->free[k]]);
        }
    }
    return GSL_SUCCESS;
}

/* Steps until one is smaller than the tolerance. GSL's ENOPROG is an end, too: nothing
 * near is better, as happens where the model has steps. */
static int iterate(struct task *t, gsl_multifit_nlinear_workspace *work)
{
    const emp_fit_problem *p = t->problem;

    for (int step = 1; step <= EMP_FIT_MAX_STEPS; step++) {
        int ended = gsl_multifit_nlinear_iterate(work);
        if (ended == GSL_ENOPROG) return GSL_SUCCESS;
        if (ended != GSL_SUCCESS) return ended;
        t->done += 0.2 * (t->done_to - t->done); /* no end is known */
        if (p->on_progress != NULL) p->on_progress(p->context, t->done);
        const gsl_vector *dx = work->dx;
        if (fmax(fabs(gsl_vector_max(dx)), fabs(gsl_vector_min(dx))) < tolerance)
            return GSL_SUCCESS;
    }
    return GSL_EMAXITER;
}

/* Leaves the best parameters in the task: GSL takes no step that makes them worse. */
static emp_status run_fit(struct task *t, emp_error *err)
{
    emp_status                      st = EMP_OK;
    gsl_multifit_nlinear_workspace *work = NULL;
    gsl_vector                     *x = NULL;
    gsl_multifit_nlinear_fdf        fdf = {.f = residuals,
                                           .df = jacobian,
                                           .n = (size_t)t->cell_count,
                                           .p = (size_t)t->free_count,
                                           .params = t};
    gsl_multifit_nlinear_parameters how = gsl_multifit_nlinear_default_parameters();

    t->err = err;
    t->is_unfinished = false;
    if (t->free_count == 0) goto cleanup;
    work = gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &how, fdf.n, fdf.p);
    x = gsl_vector_calloc(fdf.p);
    if (work == NULL || x == NULL) {
        EMP_FAIL(EMP_ENOMEM, "a fit of %d parameters to %d cells", t->free_count,
                 t->cell_count);
    }
    memcpy(t->from, t->parameter, sizeof t->from);
    int ended = gsl_multifit_nlinear_init(x, &fdf, work);
    if (ended == GSL_SUCCESS) ended = iterate(t, work);
    EMP_TRY(t->status);
    t->is_unfinished = ended == GSL_EMAXITER;
    if (ended != GSL_SUCCESS && ended != GSL_EMAXITER)
        EMP_FAIL(EMP_EEXTERNAL, "the fit failed: %s", gsl_strerror(ended));
    set_free(t, gsl_multifit_nlinear_position(work));

cleanup:
    gsl_multifit_nlinear_free(work);
    gsl_vector_free(x);
    return st;
}

/* The free parameter farthest out of its bounds, as an index of t->free; -1 = none. */
static int32_t find_farthest(const struct task *t)
{
    int32_t farthest = -1;
    double  distance = 0.0;

    for (int32_t k = 0; k < t->free_count; k++) {
        int32_t j = t->free[k];
        double  value = t->parameter[j];
        double  bound = clamp(value, t->problem->low[j], t->problem->high[j]);
        if (fabs(log(value / bound)) <= distance) continue;
        distance = fabs(log(value / bound));
        farthest = k;
    }
    return farthest;
}

/* While a parameter ends out of bounds, it is put there and the others are fitted again. */
static emp_status run_bounded_fit(struct task *t, emp_error *err)
{
    const emp_fit_problem *p = t->problem;

    for (;;) {
        EMP_CHECK(run_fit(t, err));
        int32_t k = find_farthest(t);
        if (k < 0) return EMP_OK;
        int32_t j = t->free[k];
        t->parameter[j] = clamp(t->parameter[j], p->low[j], p->high[j]);
        t->free_count--;
        memmove(&t->free[k], &t->free[k + 1],
                (size_t)(t->free_count - k) * sizeof *t->free);
    }
}

/* ---- what it says ------------------------------------------------------------------ */

/* (D'D)^-1 over the free parameters, which the cells determine. */
static emp_status invert(const struct task *t, slopes d, gsl_matrix *inverse,
                         emp_error *err)
{
    for (int32_t k = 0; k < t->free_count; k++) {
        for (int32_t l = 0; l < t->free_count; l++) {
            gsl_matrix_set(inverse, (size_t)k, (size_t)l,
                           dot(t, d, t->free[k], t->free[l]));
        }
    }
    if (gsl_linalg_cholesky_decomp1(inverse) != GSL_SUCCESS ||
        gsl_linalg_cholesky_invert(inverse) != GSL_SUCCESS) {
        return EMP_ERROR(
            EMP_EEXTERNAL,
            "the cells do not tell the fitted parameters apart at the solution");
    }
    return EMP_OK;
}

/* The pseudo-inverse's row of free parameter k, squared and made to sum to 1. */
static void find_shares(const struct task *t, slopes d, const gsl_matrix *inverse,
                        int32_t k, double *share)
{
    double sum = 0.0;

    for (int32_t i = 0; i < t->cell_count; i++) {
        double a = 0.0;
        for (int32_t l = 0; l < t->free_count; l++) {
            a +=
                gsl_matrix_get(inverse, (size_t)k, (size_t)l) * d[t->cell[i]][t->free[l]];
        }
        share[t->cell[i]] = a * a;
        sum += a * a;
    }
    for (int32_t i = 0; i < t->cell_count; i++) share[t->cell[i]] /= sum;
}

static double variance_of_residuals(const struct task *t, const double *value)
{
    double sum = 0.0;

    for (int32_t i = 0; i < t->cell_count; i++) {
        double r = residual_of(t->problem, t->cell[i], value[t->cell[i]]);
        sum += r * r;
    }
    return sum / (t->cell_count - t->free_count);
}

static void find_interval(emp_fit *fit, const struct task *t, const gsl_matrix *inverse,
                          int32_t k)
{
    const emp_fit_problem *p = t->problem;
    int32_t                j = t->free[k], spare = t->cell_count - t->free_count;
    double                 square = variance_of_residuals(t, fit->value) *
                    gsl_matrix_get(inverse, (size_t)k, (size_t)k);
    double width = gsl_cdf_tdist_Pinv(0.975, spare) * sqrt(square);

    fit->low[j] = fmax(fit->parameter[j] * exp(-width), p->low[j]);
    fit->high[j] = fmin(fit->parameter[j] * exp(width), p->high[j]);
}

/* Shares of the task's free parameters that the cells determine at the solution,
 * and their intervals if they are asked for and known. */
static emp_status judge(emp_fit *fit, const struct task *task, slopes d,
                        bool wants_interval, emp_error *err)
{
    emp_status  st = EMP_OK;
    gsl_matrix *inverse = NULL;
    struct task t = *task;

    t.free_count = find_determined(task, d, task->free, task->free_count, t.free);
    if (t.free_count == 0) goto cleanup;
    inverse = gsl_matrix_alloc((size_t)t.free_count, (size_t)t.free_count);
    if (inverse == NULL) EMP_FAIL(EMP_ENOMEM, "covariance");
    EMP_TRY(invert(&t, d, inverse, err));
    for (int32_t k = 0; k < t.free_count; k++) {
        find_shares(&t, d, inverse, k, fit->share[t.free[k]]);
        if (wants_interval && t.cell_count > t.free_count)
            find_interval(fit, &t, inverse, k);
    }

cleanup:
    gsl_matrix_free(inverse);
    return st;
}

/* Cell `left` as the other cells predict it. */
static emp_status leave_out(emp_fit *fit, const struct task *full, slopes d, int32_t left,
                            emp_error *err)
{
    const emp_fit_problem *p = full->problem;
    struct task            t = *full;
    double                 value[EMP_FIT_MAX_CELLS];

    t.cell_count = 0;
    for (int32_t i = 0; i < p->cell_count; i++) {
        if (i != left) t.cell[t.cell_count++] = i;
    }
    if (find_determined(&t, d, full->free, t.free_count, t.free) < t.free_count)
        return EMP_OK;
    t.done = (left + 1.0) / (p->cell_count + 1.0);
    t.done_to = (left + 2.0) / (p->cell_count + 1.0);
    EMP_CHECK(run_bounded_fit(&t, err));
    EMP_CHECK(p->model(p->context, t.parameter, value, err));
    fit->left_out[left] = value[left];
    if (t.is_unfinished) fit->has_converged = false;
    return EMP_OK;
}

static emp_status check(const emp_fit_problem *p, emp_error *err)
{
    if (p->cell_count < 1 || p->cell_count > EMP_FIT_MAX_CELLS) {
        return EMP_ERROR(EMP_EINVAL, "%d cells; fit to 1 to %d", p->cell_count,
                         EMP_FIT_MAX_CELLS);
    }
    for (int32_t j = 0; j < p->parameter_count; j++) {
        if (!(p->start[j] >= p->low[j] && p->start[j] <= p->high[j])) {
            return EMP_ERROR(EMP_EINVAL, "parameter %d starts at %g, outside %g .. %g", j,
                             p->start[j], p->low[j], p->high[j]);
        }
    }
    return EMP_OK;
}

/* A task of all cells and of the parameters that they determine at the start. */
static emp_status set_up(struct task *t, const emp_fit_problem *p, slopes d,
                         emp_error *err)
{
    int32_t all[EMP_FIT_MAX_PARAMETERS];
    double  value[EMP_FIT_MAX_CELLS];

    *t = (struct task){.problem = p,
                       .cell_count = p->cell_count,
                       .done_to = 1.0 / (p->cell_count + 1.0),
                       .err = err};
    for (int32_t i = 0; i < p->cell_count; i++) t->cell[i] = i;
    for (int32_t j = 0; j < p->parameter_count; j++) {
        all[j] = j;
        t->parameter[j] = p->start[j];
    }
    EMP_CHECK(p->model(p->context, t->parameter, value, err));
    EMP_CHECK(find_slopes(t, all, p->parameter_count, d));
    /* Row i becomes the slopes of ln value: what a cell's time says does not depend on how far
     * off it is at the start. */
    for (int32_t i = 0; i < p->cell_count && !p->is_logarithmic; i++)
        for (int32_t j = 0; j < p->parameter_count; j++)
            d[i][j] *= p->target[i] / value[i];
    t->free_count = find_determined(t, d, all, p->parameter_count, t->free);
    return EMP_OK;
}

/* The result of the whole fit: `fitted` is the task before, `ended` after it, when those at a
 * bound are no longer free. */
static emp_status report(emp_fit *fit, const struct task *fitted, struct task *ended,
                         slopes d, emp_error *err)
{
    const emp_fit_problem *p = ended->problem;

    fit->fitted_count = fitted->free_count;
    memcpy(fit->parameter, ended->parameter, sizeof fit->parameter);
    for (int32_t k = 0; k < fitted->free_count; k++) {
        fit->is_fitted[fitted->free[k]] = fit->is_at_bound[fitted->free[k]] = true;
    }
    for (int32_t k = 0; k < ended->free_count; k++) {
        fit->is_at_bound[ended->free[k]] = false;
    }
    EMP_CHECK(p->model(p->context, fit->parameter, fit->value, err));
    EMP_CHECK(find_slopes(ended, fitted->free, fitted->free_count, d));
    EMP_CHECK(judge(fit, fitted, d, false, err));
    return judge(fit, ended, d, true, err);
}

emp_status emp_fit_solve(emp_fit *fit, const emp_fit_problem *problem, emp_error *err)
{
    struct task before, t;
    slopes      d = {{0}};

    *fit = (emp_fit){0};
    for (int32_t j = 0; j < EMP_FIT_MAX_PARAMETERS; j++) fit->low[j] = fit->high[j] = NAN;
    for (int32_t i = 0; i < EMP_FIT_MAX_CELLS; i++) fit->left_out[i] = NAN;
    EMP_CHECK(check(problem, err));
    EMP_CHECK(set_up(&before, problem, d, err));
    t = before;
    EMP_CHECK(run_bounded_fit(&t, err));
    fit->has_converged = !t.is_unfinished;
    EMP_CHECK(report(fit, &before, &t, d, err));
    for (int32_t i = 0; i < problem->cell_count && !problem->leaves_none_out; i++) {
        EMP_CHECK(leave_out(fit, &t, d, i, err));
    }
    return EMP_OK;
}
