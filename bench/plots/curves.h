/** \file bench/plots/curves.h
 * How runs went on: the figures of learning curves and of quality against samples and
 * seconds, for one group.
 */
#ifndef EMP_BENCH_PLOTS_CURVES_H
#define EMP_BENCH_PLOTS_CURVES_H

#include <stdio.h>

#include "bench/plots/runs.h"

/** Best so far and mean of the batch; the metrics of learners below.
 * Errors of both: as emp_gnuplot_draw(), and EMP_ENOMEM. */
emp_status emp_report_curves(FILE *file, const emp_report_runs *runs,
                             const emp_report_group *group, emp_error *err);

/** How far above the best step time of the group, by evaluations and by seconds. */
emp_status emp_report_quality(FILE *file, const emp_report_runs *runs,
                              const emp_report_group *group, emp_error *err);

#endif /* EMP_BENCH_PLOTS_CURVES_H */
