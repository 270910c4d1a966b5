/** \file sim/bounds/paths/proof.h
 * The steps by which a bound is proven, in an order in which each follows from those before by a lemma of
 * docs/bounds.md. A program that knows the problem and the lemmas can check them (scripts/bounds/check-bound).
 *
 * All functions do nothing where the proof is NULL, which is how bounds are found as a rule.
 */
#ifndef EMP_SIM_BOUNDS_PATHS_PROOF_H
#define EMP_SIM_BOUNDS_PATHS_PROOF_H

#include "base/error.h"
#include "sim/problem/problem.h"

/** Rules: name, key in JSON. */
#define EMP_PROOF_RULE_LIST(X)                                                                    \
    X(SWEEP,                                                                                      \
      "sweep") /**< heads are found in topological order, with the facts that follow */           \
    X(EXCEPTIONS,                                                                                 \
      "exceptions") /**< likewise as if drains had no exceptions; then their loss is taken off */ \
    X(LIMIT,                                                                                      \
      "limit") /**< from now on of steps within `ns`: longer paths take kinds from ops */         \
    X(ON_GPUS,                                                                                    \
      "on_gpus")    /**< from now on of placements that keep GPU kernels off the CPUs */          \
    X(JOIN, "join") /**< lemma 6: `op` is ready, or starts, no sooner than `ns` */                \
    X(DRAIN, "drain")     /**< lemma 7: `op` starts no sooner than `ns` */                        \
    X(SEGMENT, "segment") /**< lemma 8: likewise */

typedef enum {
#define X(name, key) EMP_PROOF_##name,
    EMP_PROOF_RULE_LIST(X)
#undef X
} emp_proof_rule;

typedef struct {
    emp_proof_rule rule;
    emp_op_id      op;
    emp_op_id      from, first,
        second; /**< where a drain or a segment begins; the readers of a drain */
    emp_tensor_id tensor; /**< that both readers read */
    bool is_ready; /**< a join is of when the op is ready, else of when it starts */
    bool
        is_link; /**< `ns` is from when `from` is done, else from the start of the step */
    emp_time_ns ns;
    int32_t     near,
        near_count; /**< ops that are looked at, the last in order first: in `near` of the proof */
} emp_proof_step;

/** Zero-initialise. */
typedef struct {
    emp_proof_step *step;
    int32_t         count, capacity;
    emp_op_id      *near;
    int32_t         near_count, near_capacity;
    bool            is_short; /**< of memory: steps are missing */
} emp_proof;

/** A place in a proof, to which it can be taken back. */
typedef struct {
    int32_t count, near_count;
} emp_proof_mark;

void emp_proof_clear(emp_proof *proof);

/** Appends a step. Near ops of a join or a segment are those that were added since \a near of the step. */
void emp_proof_add(emp_proof *proof, emp_proof_step step);
void emp_proof_add_near(emp_proof *proof, emp_op_id op);

emp_proof_mark emp_proof_now(const emp_proof *proof);
void           emp_proof_take_back(emp_proof *proof, emp_proof_mark to);

/** Replaces \a to. \retval EMP_ENOMEM  Also if steps are missing. */
emp_status emp_proof_copy(emp_proof *to, const emp_proof *from, emp_error *err);

#endif /* EMP_SIM_BOUNDS_PATHS_PROOF_H */
