/** \file sim/bounds/paths/join.h
 * Longer heads on GPUs: of the ops that an op waits for some are too late to be elsewhere,
 * so they are on its GPU and take turns there. docs/bounds.md, lemma 6 (the idea:
 * Papadimitriou and Yannakakis, SIAM J. Comput. 19, 1990).
 */
#ifndef EMP_SIM_BOUNDS_PATHS_JOIN_H
#define EMP_SIM_BOUNDS_PATHS_JOIN_H

#include "base/mem.h"
#include "sim/bounds/paths/model.h"
#include "sim/bounds/paths/path.h"

/* What it costs to compute two things of one tensor that both must be told before the next
 * op: on one GPU they take turns; on two the tensor's copy waits for what is queued on the
 * first, where the other comes first. docs/bounds.md, lemma 7.
 *
 * Such pairs are the gradients of a product by its two factors, whose control inputs join
 * in a `tuple/group_deps`. */

/** An op waits at least so long for another, with exceptions: of all drains of one group
 * on one chain at most one for every GPU, which gains nothing. */
typedef struct {
    emp_op_id   from, to;
    emp_time_ns after_ns[EMP_DEVICE_KINDS]; /**< kernels of `to`, on a GPU, start so long
                                             * after `from`, by its kind, is done */
    emp_time_ns gain_ns;                    /**< of that what an exception has not */
    int32_t     group;                      /**< -1 = knows no exceptions */
} emp_bound_drain;

typedef struct {
    emp_bound_drain *drain;
    int32_t          count, group_count, in_use; /**< drains, groups, drains in use */
    int32_t         *of_op;                      /**< [op] the drain to it, or -1 */
    bool            *is_used;                    /**< [group] */
    emp_time_ns     *gain_ns;                    /**< [group] the most of a drain */
    emp_time_ns      loss_ns; /**< by all exceptions in groups that are used */
    emp_arrays       arrays;  /**< all of these */
} emp_bound_drains;

/** Finds drains, and uses the groups that pay by the longest path: more than they lose.
 * \param paths  Of the model; heads are found anew.
 * O((V + E) groups). \retval EMP_ENOMEM */
emp_status emp_bound_drains_init(emp_bound_drains *drains, emp_bound_model *model,
                                 emp_bound_paths *paths, emp_error *err);
void       emp_bound_drains_clear(emp_bound_drains *drains);

/** When the kernels of an op on a GPU start, no sooner, were there no exceptions; 0 = not
 * known. Heads of ops before it are found. */
emp_time_ns emp_bound_drains_start(const emp_bound_drains *drains,
                                   const emp_bound_model  *model,
                                   const emp_bound_paths *paths, emp_op_id op);

/** Sets the floors of the model, and all heads. Does nothing but find heads where rules are
 * not `events`.
 * \param drains  Held for sure, as if there were no exceptions; or NULL.
 * \param joined  [op] floors without drains, which stay where no drain is before; NULL without drains.
 * \param near  How many of those that an op waits for are looked at.
 * O(V near log near + V near^2). \retval EMP_ENOMEM */
emp_status emp_bound_join(emp_bound_model *model, emp_bound_paths *paths,
                          const emp_bound_drains *drains, const emp_bound_floor *joined,
                          int32_t near, emp_error *err);

#endif /* EMP_SIM_BOUNDS_PATHS_JOIN_H */
