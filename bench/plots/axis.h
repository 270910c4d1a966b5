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
 * that gives fewer than three. Without room for one (\a most below 1) there is none. */
int32_t emp_axis_marks(const emp_axis *axis, int32_t most, double mark[EMP_AXIS_MARKS]);

/** "0.25", "400", "20k", "1.5M". Returns \a text. */
const char *emp_axis_number(double value, char *text, size_t size);

/* Where labels stand: how wide a text is, and labels in a column that do not overlap. */

/** Width of one line of text at that font size. Widths are taken from DejaVu Sans, the widest of
 * the usual sans-serif fonts; other characters than ASCII count as square. */
double emp_label_width(const char *text, double font_size);

/** Copies a text that is at most so wide: of a wider one beginning and end, with an ellipsis
 * between them. Characters stay whole. */
void emp_label_shorten(char *label, size_t size, const char *text, double width,
                       double font_size);

/** Moves places of labels so that neighbours are \a apart at least and all are within \a low ..
 * \a high, by the least sum of squared moves. Where there is not so much room, they share it
 * evenly. O(count).
 * \param place  [count] where each would be at best, none before the one in front of it. */
void emp_labels_spread(double *place, int32_t count, double apart, double low,
                       double high);

#endif /* EMP_BENCH_PLOTS_AXIS_H */
