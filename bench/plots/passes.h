/** \file bench/plots/passes.h
 * Ranks against time: the passes of a step in parallel, a row a rank. Colours tell forward passes, backward passes and
 * gradients of weights, shades the parts of the model; numbers are micro-batches, where they fit.
 */
#ifndef EMP_BENCH_PLOTS_PASSES_H
#define EMP_BENCH_PLOTS_PASSES_H

#include "bench/plots/drawing.h"
#include "parallel/pipeline.h"

/** Draws \a count passes of ranks 0 to \a ranks - 1. The drawing is the caller's, who clears it. */
void emp_passes_draw(emp_drawing *drawing, const emp_turn_run *run, int32_t count,
                     int32_t ranks);

#endif /* EMP_BENCH_PLOTS_PASSES_H */
