/** \file cli/options/parallel.h
 * Models that are trained or served on many GPUs, for the commands plan and simulate.
 */
#ifndef EMP_CLI_OPTIONS_PARALLEL_H
#define EMP_CLI_OPTIONS_PARALLEL_H

#include "bench/plots/drawing.h"
#include "cli/options/serving.h"

/** Prints the ways to spread a step of training or of serving over \a gpus (0: as many as the degrees need or the machine has), the first
 * \a top of them. */
emp_status cli_parallel_plan(const cli_parallel_options *options, int32_t gpus,
                             int32_t top, emp_error *err);

/** Prints the step that a spec with degrees describes. */
emp_status cli_parallel_simulate(const cli_parallel_options *options, emp_error *err);

/** Passes of a picture at most. */
enum { EMP_PARALLEL_PASSES_MAX = 20000 };

/** Draws the passes of the ranks of such a step. The drawing is the caller's, who clears it, also after a failure. */
emp_status cli_parallel_draw(emp_drawing *drawing, const cli_parallel_options *options,
                             emp_error *err);

#endif /* EMP_CLI_OPTIONS_PARALLEL_H */
