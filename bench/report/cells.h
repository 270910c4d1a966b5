/** \file bench/report/cells.h
 * A placement as a grid: which devices the ops of a layer are on, at each unrolled time
 * step, forward and backward (Mirhoseini et al., "A Hierarchical Model for Device
 * Placement", figure 2). Layers and steps are read from op names, which follow
 * TensorFlow's scopes (baselines/expert.h): the N of "MatMul_N" counts the ops that
 * unrolling made, as many at each step as its largest N divided by the steps says.
 *
 * A graph that is not unrolled has name scopes for layers, and no steps.
 */
#ifndef EMP_BENCH_REPORT_CELLS_H
#define EMP_BENCH_REPORT_CELLS_H

#include "sim/problem/problem.h"

enum { EMP_CELLS_NAME_BYTES = 64, EMP_CELLS_MAX_ROWS = 72 };

typedef enum {
    EMP_PASS_FORWARD,
    EMP_PASS_BACKWARD,
    EMP_PASS_UPDATE, /**< optimizer, and its slots */
    EMP_PASS_COUNT
} emp_pass;

/** Zero-initialise. Folded ops are in no cell; all others are in exactly one. */
typedef struct {
    int32_t step_count; /**< 0 = not unrolled */
    int32_t row_count;  /**< layers; recurrent: the last one, "other ops", holds ops whose
                             name tells none */
    int32_t device_count;
    char (*row_name)[EMP_CELLS_NAME_BYTES]; /**< [row]; owned */
    int32_t *op_count; /**< [row][pass][step][device]; owned. Step step_count: ops of
                          no step, as weights and sums of gradients */
} emp_cells;

/** O(V + rows passes steps devices). \retval EMP_ENOMEM */
emp_status emp_cells_create(emp_cells *cells, const emp_problem *problem,
                            const emp_device_id *device_of_op, emp_error *err);

/** The counts of a cell, [device]. */
const int32_t *emp_cells_at(const emp_cells *cells, int32_t row, emp_pass pass,
                            int32_t step);

void emp_cells_clear(emp_cells *cells);

#endif /* EMP_BENCH_REPORT_CELLS_H */
