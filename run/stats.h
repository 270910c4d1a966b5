/** \file run/stats.h
 * Summaries of few numbers.
 */
#ifndef EMP_RUN_STATS_H
#define EMP_RUN_STATS_H

#include <stddef.h>

#include "run/sheet/sheet.h"

/** All NaN when there is no value. Infinite values (out of memory) are larger than all. */
typedef struct {
    double median, min, max;
} emp_summary;

/** Sorts \a values in place and summarises them; no value may be NaN. O(n log n). */
emp_summary emp_summary_of(double *values, size_t count);

/** All NaN when there is no value. */
typedef struct {
    double median, low, high; /**< half of the values lie between the last two */
    size_t count;
} emp_quartiles;

/** Sorts \a values in place; no value may be NaN. O(n log n). */
emp_quartiles emp_quartiles_of(double *values, size_t count);

/** The median with the others as its range; none when there is no value. */
static inline emp_value emp_quartiles_value(const emp_quartiles *q)
{
    return emp_value_if(q->count > 0, emp_value_range(q->median, q->low, q->high));
}

#endif /* EMP_RUN_STATS_H */
