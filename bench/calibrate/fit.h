/** \file bench/calibrate/fit.h
 * Non-linear least squares over positive parameters within bounds: which parameters the
 * cells determine, their values, how sure they are, and what each cell would be predicted
 * to be without itself.
 *
 * A model maps parameters p to one positive value a cell. Residuals are relative,
 *
 *     r_i = value_i / target_i - 1,
 *
 * so that a cell of 0.15 s weighs as much as one of 11 s. The free ln p are found by
 * Levenberg-Marquardt (GSL). Derivatives are central differences over +-3 % of p: a
 * simulator's times have steps, which smaller differences would take for slopes.
 *
 * - Bounds are kept by clipping. The search itself may go beyond them; a parameter that ends
 * outside, the farthest first, is put at its bound, and the others are fitted again.
 * - Determined. A parameter is freed only if the cells determine it. In the order of the
 * problem, the column d ln value_i / d ln p_j of each at the start, less what the columns of
 * those freed before it explain (Gram-Schmidt), must be at least EMP_FIT_DETERMINED long.
 * The others keep their starting values. One that was freed and is not determined at the
 * solution keeps what was found, without shares or an interval.
 * - Weights. To first order the fit moves ln p_j by the sum over i of A_ji r_i, with A the
 *   pseudo-inverse of D. share[j][i] is A_ji^2 over its row's sum: the part of the
 *   variance of parameter j that comes from cell i.
 * - Confidence. covariance(ln p) = s^2 (D'D)^-1, s^2 = r'r / (cells - free); intervals are
 *   those of Student's t at 95 %, cut at the bounds. Without more cells than free
 *   parameters there are none.
 * - Left out. Cell i is predicted by a fit to the other cells. If those do not determine
 *   all free parameters there is no such prediction.
 */
#ifndef EMP_BENCH_CALIBRATE_FIT_H
#define EMP_BENCH_CALIBRATE_FIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum { EMP_FIT_MAX_PARAMETERS = 32, EMP_FIT_MAX_CELLS = 64, EMP_FIT_MAX_STEPS = 60 };

/** The message for a fit that has not converged. */
#define EMP_FIT_UNFINISHED \
    "The fit did not converge in its steps: these are the best constants that it found."

/** Least length of a column of D that counts: 10 % more or less of the parameter, which the
 * others cannot undo, moves some cell by about 2 %. The steps of a simulator look like a quarter
 * that. */
#define EMP_FIT_DETERMINED 0.2

typedef struct {
    int32_t       parameter_count, cell_count;
    const double *start; /**< [parameter] within the bounds */
    const double *low;   /**< [parameter] > 0 */
    const double *high;
    const double *target; /**< [cell] > 0 */
    /** Values of all cells, > 0. A failure ends the fit. */
    emp_status (*model)(void *context, const double *parameter, double *value,
                        emp_error *err);
    /** OPTIONAL: called after each step of the fit, 0..1. */
    void (*on_progress)(void *context, double done_frac);
    void *context;
    bool  is_logarithmic;  /**< residuals are ln(value / target) instead: as soon as a
                                start is far off, too low weighs like too high */
    bool  leaves_none_out; /**< no fits without a cell: left_out is NaN */
} emp_fit_problem;

typedef struct {
    int32_t fitted_count;  /**< parameters that the cells determine */
    bool    has_converged; /**< false: EMP_FIT_MAX_STEPS did not suffice for all fits,
                              whose best parameters until then these are */
    bool    is_fitted[EMP_FIT_MAX_PARAMETERS];
    bool    is_at_bound[EMP_FIT_MAX_PARAMETERS]; /**< fitted, and would go beyond it */
    double  parameter[EMP_FIT_MAX_PARAMETERS];
    double  low[EMP_FIT_MAX_PARAMETERS]; /**< 95 % interval; NaN = not known */
    double  high[EMP_FIT_MAX_PARAMETERS];
    double  share[EMP_FIT_MAX_PARAMETERS][EMP_FIT_MAX_CELLS];
    double  value[EMP_FIT_MAX_CELLS]; /**< at the fitted parameters */
    double
        left_out[EMP_FIT_MAX_CELLS]; /**< predicted without the cell; NaN = cannot be */
} emp_fit;

/** Fits, then fits again without each cell in turn, unless `leaves_none_out` is set.
 * \retval EMP_EINVAL     No cells, or a start outside its bounds.
 * \retval EMP_EEXTERNAL  GSL fails, or the cells do not separate the parameters; too many
 *                        steps are no failure: see has_converged.
 * \retval                What the model returns. */
emp_status emp_fit_solve(emp_fit *fit, const emp_fit_problem *problem, emp_error *err);

#endif /* EMP_BENCH_CALIBRATE_FIT_H */
