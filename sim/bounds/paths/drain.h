/** \file sim/bounds/paths/drain.h
 * The time that it takes to compute two things of one tensor that both must be told before the next
 * op: on one GPU they take turns; on two the tensor's copy waits for what is queued on the
 * first, where the other comes first. docs/bounds.md, lemma 7.
 *
 * Such pairs are the gradients of a product by its two factors, whose control inputs join
 * in a `tuple/group_deps`.
 */
#ifndef EMP_SIM_BOUNDS_PATHS_DRAIN_H
#define EMP_SIM_BOUNDS_PATHS_DRAIN_H

#include "base/mem.h"
#include "sim/bounds/paths/model.h"
#include "sim/bounds/paths/path.h"

/** An op waits at least so long for another, with exceptions: of all drains of one group
 * on one chain at most one for every GPU, which gains less. */
typedef struct {
    emp_op_id     from, to;
    emp_op_id     first, second;            /**< readers of what `from` makes */
    emp_tensor_id tensor;                   /**< that they read */
    emp_time_ns after_ns[EMP_DEVICE_KINDS]; /**< kernels of `to`, on a GPU, start so long
                                             * after `from`, by its kind, is done */
    emp_time_ns gain_ns;                    /**< of that what an exception has not */
    int32_t     group;                      /**< -1 = knows no exceptions */
} emp_bound_drain;

typedef struct {
    emp_bound_drain *drain;
    int32_t          count, group_count;
    int32_t         *of_op;       /**< [op] the drain to it, or -1 */
    bool            *is_used;     /**< [group] */
    bool             is_thorough; /**< see emp_bound_drains_init() */
    emp_time_ns     *gain_ns;     /**< [group] the most of a drain */
    emp_time_ns      loss_ns;     /**< by all exceptions in groups that are used */
    emp_arrays       arrays;      /**< all of these */
} emp_bound_drains;

/** Finds drains, and uses the groups that pay by the longest path: more than they lose.
 * \param model  Its floors are not looked at.
 * \param paths  Of the model; heads are found anew.
 * \param is_thorough  Drains count both readers of the tensor also where the op that waits is on another GPU.
 * O((V + E) groups). \retval EMP_ENOMEM */
emp_status emp_bound_drains_init(emp_bound_drains *drains, emp_bound_model *model,
                                 emp_bound_paths *paths, bool is_thorough,
                                 emp_error *err);
void       emp_bound_drains_clear(emp_bound_drains *drains);

/** Adds drains between ops that are on GPUs for sure to the links of the model, less what an exception has not. So heads
 * after a drain rise with those before it, and tails have drains, too. \retval EMP_ENOMEM */
emp_status emp_bound_drains_link(const emp_bound_drains *drains, emp_bound_model *model,
                                 emp_error *err);

/** Adds the drain to an op to the proof of the model: its time from the start of the step, or from `from`. */
void emp_bound_drains_note(const emp_bound_drains *drains, const emp_bound_model *model,
                           emp_op_id op, emp_time_ns ns, bool is_link);

/** Whether there are exceptions: a group is in use. */
bool emp_bound_drains_have_exceptions(const emp_bound_drains *drains);

/** When the kernels of an op on a GPU start, no sooner; 0 = not known. Heads of ops before it are found.
 * \param for_sure  Else as if there were no exceptions. */
emp_time_ns emp_bound_drains_start(const emp_bound_drains *drains,
                                   const emp_bound_model  *model,
                                   const emp_bound_paths *paths, emp_op_id op,
                                   bool for_sure);

/** Whether there may be an exception at the op. */
static inline bool emp_bound_drains_may_fail(const emp_bound_drains *drains, emp_op_id op)
{
    const int32_t at = drains->of_op[op];

    return at >= 0 && drains->drain[at].group >= 0 &&
           drains->is_used[drains->drain[at].group];
}

/* ---- joins: longer heads on GPUs ---- */

/* Of the ops that an op waits for some are too late to be elsewhere, so they are on its GPU and take turns there:
 * docs/bounds.md, lemma 6 (the idea: Papadimitriou and Yannakakis, SIAM J. Comput. 19, 1990). */

/** Raises the floors of the model, and finds all heads. Does nothing but find heads where rules are
 * not `events`.
 * \param joined  [op] NULL: drains count as far as they are sure. Else these floors are those found so, drains count
 *                as if there were no exceptions, and the model has no floors yet.
 * \param near  How many of those that an op waits for are looked at.
 * O(V near log near + V near^2). \retval EMP_ENOMEM */
emp_status emp_bound_join(emp_bound_model *model, emp_bound_paths *paths,
                          const emp_bound_drains *drains, const emp_bound_floor *joined,
                          int32_t near, emp_error *err);

#endif /* EMP_SIM_BOUNDS_PATHS_DRAIN_H */
