/** \file bench/explore/explore_internal.h
 * The parts of a placement that can be clicked, and their moves.
 */
#ifndef EMP_BENCH_EXPLORE_EXPLORE_INTERNAL_H
#define EMP_BENCH_EXPLORE_EXPLORE_INTERNAL_H

#include "bench/explore/explore.h"
#include "sim/engine/sim.h"

/* page.css and page.js; terminated. */
extern const unsigned char emp_explore_style[], emp_explore_script[];

/** A layer, or one op with its class. */
typedef struct {
    emp_op_id op;  /**< -1: the unit is a layer */
    int32_t   row; /**< of the layer */
    double    blame_s;
} emp_explore_unit;

/** A unit on another device. */
typedef struct {
    int32_t
        op_count; /**< ops that change their device; 0: the unit cannot be there, or is */
    double
                estimate_frac; /**< step time by the surrogate, over its estimate of the placement; NaN: none */
    bool        is_simulated;
    bool        is_feasible;  /**< if simulated */
    emp_time_ns step_time_ns; /**< if simulated */
} emp_explore_move;

/** Fills move[unit][device].
 * \param row_of_op  [op] -1 = folded. \retval EMP_ENOMEM */
emp_status emp_explore_find_moves(emp_explore_move *move, const emp_problem *problem,
                                  emp_sim *sim, const emp_decision *decision,
                                  const int32_t *row_of_op, const emp_explore_unit *unit,
                                  int32_t unit_count, emp_error *err);

#endif /* EMP_BENCH_EXPLORE_EXPLORE_INTERNAL_H */
