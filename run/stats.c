// SPDX-License-Identifier: GPL-3.0-or-later
#include "run/stats.h"

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

emp_quartiles emp_quartiles_of(double *values, size_t count)
{
    if (count == 0) return (emp_quartiles){NAN, NAN, NAN, 0};
    gsl_sort(values, 1, count);
    return (emp_quartiles){gsl_stats_median_from_sorted_data(values, 1, count),
                           gsl_stats_quantile_from_sorted_data(values, 1, count, 0.25),
                           gsl_stats_quantile_from_sorted_data(values, 1, count, 0.75),
                           count};
}
