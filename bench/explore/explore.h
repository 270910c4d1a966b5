/** \file bench/explore/explore.h
 * A page on which to explore placements of one problem: one HTML file that loads nothing.
 *
 * On top stands the machine, with the load and the memory use of each device, below it a heat map of layers and
 * devices, in seconds. A layer or an op that is clicked shows when it waits, how long it runs, and what its move to
 * each other device would give. A slider goes from one placement to the next.
 *
 * Moves. All ops of a layer, or an op with its colocation class, go to a device, and the rest stays. The surrogate
 * (sim/surrogate) estimates every move, where it knows the rules of the runtime, and the oracle simulates moves
 * of the layers and ops that are most to blame for the step (sim/explain/explain.h), EMP_EXPLORE_TRIALS steps a
 * placement at most. The page says which of the two a figure is of, because an estimate is off by 1 to 40 %.
 */
#ifndef EMP_BENCH_EXPLORE_EXPLORE_H
#define EMP_BENCH_EXPLORE_EXPLORE_H

#include <jansson.h>
#include <stdio.h>

#include "sim/problem/problem.h"

enum {
    EMP_EXPLORE_PLACEMENTS = 16, /**< on a page, at most */
    EMP_EXPLORE_OPS = 240,       /**< of a placement that are listed one by one */
    EMP_EXPLORE_TRIALS =
        160 /**< steps that the oracle simulates for moves of a placement */
};

/** Fills *out with the figures of the page, which page.js reads: times in whole nanoseconds, as the oracle has
 * them. The placements are in order: those that fit first, then by step time. The caller releases it.
 * \param placement  Legal decisions, at most EMP_EXPLORE_PLACEMENTS.
 * \param shown  The placement that the page shows first.
 * \retval EMP_EUNSUPPORTED  The rules of the runtime do not say what waits for what, or a placement has fused ops.
 * \retval EMP_ENOMEM */
emp_status emp_explore_data(json_t **out, const emp_problem *problem,
                            const emp_labelled_decision *placement, int32_t count,
                            int32_t shown, emp_error *err);

/** Writes the page of such figures. \retval EMP_ENOMEM */
emp_status emp_explore_write(FILE *file, const json_t *data, emp_error *err);

#endif /* EMP_BENCH_EXPLORE_EXPLORE_H */
