/** \file bench/studies/ablation_internal.h
 * A table of arms in the making, as its files share it. ablation.c lays out and makes the runs,
 * ablation_cells.c and ablation_overall.c say what they came to, ablation_sheet.c prints that.
 */
#ifndef EMP_BENCH_STUDIES_ABLATION_INTERNAL_H
#define EMP_BENCH_STUDIES_ABLATION_INTERNAL_H

#include "bench/studies/ablation.h"

typedef struct {
    const emp_ablation        *definition;
    const emp_ablation_params *params;
    emp_ablation_table        *table;
    emp_task                  *row;  /**< [row] those that are made */
    emp_loaded_task           *task; /**< [row] */
    emp_job                   *job;  /**< those of a cell stand together */
    int32_t                    job_count;
    int32_t                   *first_job; /**< [row][arm], and one more */
} emp_ablation_plan;

/** Fills in the cells from the runs that are ready. */
void emp_ablation_fill(emp_ablation_plan *plan);

/** Fills in what holds over tasks, from the cells. \retval EMP_ENOMEM */
emp_status emp_ablation_sum_up(emp_ablation_table *table, emp_error *err);

#endif /* EMP_BENCH_STUDIES_ABLATION_INTERNAL_H */
