/** \file tests/sim/bounds/draw.h
 * Random problems for bounds: of all rules, and those where a lemma binds. The same seed gives the same problem.
 */
#ifndef EMP_TESTS_SIM_BOUNDS_DRAW_H
#define EMP_TESTS_SIM_BOUNDS_DRAW_H

#include "base/rng.h"
#include "tests/support/problems.h"

enum {
    DRAW_CELLS = 7,        /**< a chain of so many cells is on GPUs of two hosts */
    DRAW_MOST_TRIED = 4096 /**< placements of a problem that is solved by trying all */
};

/** Up to 60 ops, rules of any simulator, devices alike or not, small memories. */
void draw_problem(task *t, uint64_t seed);
/** Another random placement of it, with classes on GPUs that must be there. */
void draw_placement(task *t, emp_rng *rng);
/** The optimum, or -1 if nothing fits or it is too far to find. */
emp_time_ns draw_best(const emp_problem *problem);

/** Ops that read what is near, where joins bind. */
void draw_near(task *t, uint64_t seed);

/** A chain of cells: two ops read what the last made, one of them the same weights each
 * time, the other perhaps what the op before all cells reads, or what may come late; the next op reads what the first
 * makes and waits for the second. \return how many ops. */
int  draw_cell_ops(tiny_op *ops, int cells, bool has_weights, emp_rng *rng);
void draw_cells(task *t, int cells, bool has_weights, uint64_t seed);

/** Layers of two ops that both are read, and two that are only waited for; then one long op, so that no long path is
 * left for those of the last kind. \return how many ops. */
int  draw_layer_ops(tiny_op *ops, int layers, emp_rng *rng);
void draw_layers(task *t, uint64_t seed);

#endif /* EMP_TESTS_SIM_BOUNDS_DRAW_H */
