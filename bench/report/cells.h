/** \file bench/report/cells.h
 * A placement as a grid: which devices the ops of a layer are on, at each unrolled time
 * step, forward and backward (Mirhoseini et al., "A Hierarchical Model for Device
 * Placement", figure 2). Layers and steps are read from op names, which follow
 * TensorFlow's scopes (baselines/baselines.h): the N of "MatMul_N" counts the ops that
 * unrolling made, as many at each step as its largest N divided by the steps says.
 *
 * A graph that is not unrolled has name scopes for layers, and no steps.
 */
#ifndef EMP_BENCH_REPORT_CELLS_H
#define EMP_BENCH_REPORT_CELLS_H

#include "bench/plots/drawing.h"
#include "sim/problem/problem.h"

enum { EMP_CELLS_NAME_BYTES = 64, EMP_CELLS_MAX_ROWS = 72 };

typedef enum {
    EMP_CELLS_FORWARD,
    EMP_CELLS_BACKWARD,
    EMP_CELLS_UPDATE, /**< optimizer, and its slots */
    EMP_CELLS_PASSES
} emp_cells_pass;

/** Zero-initialise. Folded ops are in no cell; all others are in exactly one. */
typedef struct {
    int32_t step_count; /**< 0 = not unrolled */
    int32_t row_count;  /**< layers; recurrent: the last one, "other ops", holds ops whose
                             name tells none */
    int32_t device_count;
    char (*row_name)[EMP_CELLS_NAME_BYTES]; /**< [row]; owned */
    int32_t *row_of_op;                     /**< [op]; owned. -1 = folded */
    uint8_t *pass_of_op;                    /**< [op] emp_cells_pass; owned */
    int32_t *op_count; /**< [row][pass][step][device]; owned. Step step_count: ops of
                          no step, as weights and sums of gradients */
} emp_cells;

/** O(V + rows passes steps devices). \retval EMP_ENOMEM */
emp_status emp_cells_create(emp_cells *cells, const emp_problem *problem,
                            const emp_device_id *device_of_op, emp_error *err);

/** The counts of a cell, [device]. */
const int32_t *emp_cells_at(const emp_cells *cells, int32_t row, emp_cells_pass pass,
                            int32_t step);

void emp_cells_clear(emp_cells *cells);

enum { EMP_OP_NAME_BYTES = 256 /* of longer names the rest is not read */ };

typedef struct {
    emp_cells_pass pass;
    char           forward[EMP_OP_NAME_BYTES]; /**< the op or variable that it is about */
    char           like[EMP_OP_NAME_BYTES];    /**< the same without the N of "_N" */
    int32_t        number;  /**< the N of the outermost "_N"; 0 without one */
    bool           is_cell; /**< of a recurrent layer, so that its number tells a step */
    bool           is_right_to_left;
    int32_t        rank; /**< recurrent models: rows with higher ranks stand higher */
    char           row[EMP_CELLS_NAME_BYTES]; /**< recurrent models: the layer */
} emp_op_place;

/** Reads a name. \a has_decoder: the model has encoder and decoder. */
void emp_op_place_read(emp_op_place *place, const char *name, bool has_decoder);

/** A placement of the problem that all in a drawing have. Borrowed. */
typedef struct {
    const emp_cells *cells;
    const char      *label;   /**< who found it; may be of a record */
    const char      *verdict; /**< "0.84 s", "does not fit" */
} emp_picture_placement;

/** The placements as grids side by side: the same rows, the same widths, one legend. Each has
 * panels for forward, backward and update. */
void emp_picture_placements(emp_drawing *drawing, const char *name,
                            const emp_picture_placement *placement, int32_t count,
                            const emp_machine *machine);

#endif /* EMP_BENCH_REPORT_CELLS_H */
