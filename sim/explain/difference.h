/** \file sim/explain/difference.h
 * Why one placement is faster than another: where the time of both steps goes, and which ops' devices matter.
 *
 *     emp_difference *d = NULL;
 *     EMP_TRY(emp_difference_create(&d, problem, &a, &b, err));
 *     ... d->side[d->faster].result, d->part ...
 *     emp_difference_destroy(d);
 *
 * The ops that are on different devices are divided into parts: name scopes, finer ones where most of these
 * ops are, or single ops with their colocation classes where names have no scopes. The slower placement is
 * simulated with the faster one's devices for each part, and the faster one with the slower one's: a part
 * matters if the one gains by it, or the other loses.
 */
#ifndef EMP_SIM_EXPLAIN_DIFFERENCE_H
#define EMP_SIM_EXPLAIN_DIFFERENCE_H

#include "sim/explain/explain.h"

enum { EMP_DIFFERENCE_PARTS = 24, EMP_DIFFERENCE_BINS = 60 };

/** Ops on different devices that are exchanged together. */
typedef struct {
    int32_t   scope;    /**< of the scopes; -1: a single op */
    bool      is_own;   /**< only ops directly in the scope, none of its inner scopes */
    emp_op_id op;       /**< that stands for its class; -1: a scope */
    int32_t   op_count; /**< that change their device */
    emp_time_ns
         alone_ns; /**< the slower step with the faster one's devices for this part */
    bool alone_fits;
    emp_time_ns
         without_ns; /**< the faster step with the slower one's devices for this part */
    bool without_fits;
} emp_difference_part;

/** One of the two placements. */
typedef struct {
    emp_sim_result result;
    emp_explanation
           *why; /**< NULL: the rules of the runtime do not say what waits for what */
    int32_t op_count[EMP_MAX_DEVICES]; /**< ops that run there */
    /** Share of each stretch of the longer step in which ops run; of a CPU the sum over its ops, at most 1. */
    double busy_frac[EMP_MAX_DEVICES][EMP_DIFFERENCE_BINS];
} emp_difference_side;

/** Read its members; they belong to it. */
typedef struct {
    emp_difference_side side[2];
    int32_t
        faster; /**< 0 or 1: fits where the other does not, else the shorter step; ties: 0 */
    int32_t     different_count; /**< ops on different devices, without folded ones */
    emp_time_ns span_ns;         /**< of the bins: the longer step */
    int32_t     part_count;
    emp_difference_part part[EMP_DIFFERENCE_PARTS]; /**< the one without which the faster
                                                        step would lose most first */
    emp_scopes          scopes;
} emp_difference;

/** Simulates about 60 steps.
 * \param a, b  Legal, as for emp_sim_run_decision(). Parts exchange devices; levels stay.
 * \retval EMP_EUNSUPPORTED  A placement has fused ops. */
emp_status emp_difference_create(emp_difference **out, const emp_problem *problem,
                                 const emp_decision *a, const emp_decision *b,
                                 emp_error *err);
void       emp_difference_destroy(emp_difference *difference);

#endif /* EMP_SIM_EXPLAIN_DIFFERENCE_H */
