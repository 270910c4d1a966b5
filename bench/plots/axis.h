/** \file bench/plots/axis.h
 * From values to places, linearly or by logarithms, with round numbers as marks.
 */
#ifndef EMP_BENCH_PLOTS_AXIS_H
#define EMP_BENCH_PLOTS_AXIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    double low, high; /**< values at its ends; empty: low > high */
    bool   is_log;    /**< both are above 0 */
    double from, to;  /**< places of the ends; from may be above to */
} emp_axis;

enum { EMP_AXIS_MARKS = 24 };

/** An axis without any value yet. */
emp_axis emp_axis_empty(void);

/** Takes in a value, if it is finite. */
void emp_axis_stretch(emp_axis *axis, double value);

/** Moves the ends apart by that share of the length; equal ends by a tenth of the value. */
void emp_axis_widen(emp_axis *axis, double share);

/** Where a value is; values beyond the ends are at the ends. */
double emp_axis_place(const emp_axis *axis, double value);

/** Finds round values, rising, so far apart that there are no more than \a most and one; returns
 * their number. Logarithmic axes have powers of ten, then 2 and 5 times those, or equal steps where
 * that gives fewer than three. */
int32_t emp_axis_marks(const emp_axis *axis, int32_t most, double mark[EMP_AXIS_MARKS]);

/** "0.25", "400", "20k", "1.5M". Returns \a text. */
const char *emp_axis_number(double value, char *text, size_t size);

#endif /* EMP_BENCH_PLOTS_AXIS_H */
