/** \file policy/hdp/guide.h
 * What the simulator knows beyond step times, for refining (refine.h): which ops are to blame
 * for the length of a step (sim/explain/blame.h), and which of many candidates look the most
 * promising (sim/surrogate/surrogate.h). No candidate is scored here: the oracle is asked only
 * about placements that it has scored already.
 *
 * Not all rules can be explained, and not all machines estimated; then the guide is silent.
 */
#ifndef EMP_POLICY_HDP_GUIDE_H
#define EMP_POLICY_HDP_GUIDE_H

#include "policy/features/op_features.h"
#include "sim/engine/sim.h"
#include "sim/surrogate/surrogate.h"

enum { EMP_GUIDE_BLOCK = 16 /* candidates estimated at once */ };

typedef struct {
    const emp_problem     *problem;
    const emp_op_features *ops;
    emp_sim               *sim;       /**< NULL: these rules cannot be explained */
    emp_surrogate         *surrogate; /**< NULL: nothing can be estimated */
    double                *blame_s;   /**< [op] */
    double        *weight;       /**< [row] blame of its ops in the placement followed */
    bool          *is_host_only; /**< [row] its ops run on a CPU only */
    emp_device_id *legal_of_row; /**< [1 + row] scratch; [0] for no row */
    emp_device_id *device[EMP_GUIDE_BLOCK]; /**< [candidate][op] legal placements */
} emp_guide;

/** Both are borrowed. O(V + E). \retval EMP_ENOMEM, and those of emp_sim_create() */
emp_status emp_guide_init(emp_guide *guide, const emp_problem *problem,
                          const emp_op_features *ops, emp_error *err);
void       emp_guide_clear(emp_guide *guide); /**< legal after a failed init */

/** Looks at a placement that has been scored: fills the weights, and has the surrogate sweep
 * in its order. Nothing if the guide is silent. */
emp_status emp_guide_follow(emp_guide *guide, const int32_t *device_of_row,
                            emp_error *err);

/** Candidate \a index of the next block, at most EMP_GUIDE_BLOCK - 1; made legal. O(V). */
void emp_guide_set(emp_guide *guide, int32_t index, const int32_t *device_of_row);

/** Estimates the first \a count candidates, in seconds. There must be a surrogate. */
emp_status emp_guide_estimate(emp_guide *guide, int32_t count, double *estimate_s,
                              emp_error *err);

#endif /* EMP_POLICY_HDP_GUIDE_H */
