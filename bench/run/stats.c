// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/run/stats.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

emp_summary emp_summary_of(double *values, size_t count)
{
    if (count == 0) return (emp_summary){NAN, NAN, NAN};
    gsl_sort(values, 1, count);
    return (emp_summary){gsl_stats_median_from_sorted_data(values, 1, count), values[0],
                         values[count - 1]};
}
