/** \file sim/bounds/paths/walk.h
 * The longest path through an op, step by step, from the start of a training step to its end.
 *
 * Heads and tails only say how long a path is. The walk goes back from the op along the edge that each head comes from,
 * and on from it along the edge that each tail comes from.
 */
#ifndef EMP_SIM_BOUNDS_PATHS_WALK_H
#define EMP_SIM_BOUNDS_PATHS_WALK_H

#include "sim/bounds/paths/path.h"

/** Parts of a bound: name, key in JSON. */
#define EMP_BOUND_PART_LIST(X)                                                                     \
    X(KERNELS, "kernels") /**< on a GPU */                                                         \
    X(ISSUE, "issue")     /**< by the host thread of a GPU */                                      \
    X(CPU, "cpu")         /**< on the CPU */                                                       \
    X(COPY, "copy")       /**< of a tensor that the op reads, or a message to it */                \
    X(TURNS,                                                                                       \
      "turns") /**< what ops that take turns before it on one GPU, or a drain, add to its edges */ \
    X(SEGMENT, "segment") /**< all ops since an earlier one, which take turns on GPUs */           \
    X(GAP, "gap")         /**< idle time that the rules put after the op */

typedef enum {
#define X(name, key) EMP_BOUND_PART_##name,
    EMP_BOUND_PART_LIST(X)
#undef X
        EMP_BOUND_PARTS
} emp_bound_part;

/** The seconds of a bound that one op accounts for in one way. */
typedef struct {
    emp_op_id      op;
    emp_bound_part part;
    double         ns;
} emp_bound_share;

/** Zero-initialise. Release `share` with emp_free(). */
typedef struct {
    emp_bound_share *share;
    int32_t          count, capacity;
} emp_bound_shares;

/** \retval EMP_ENOMEM */
emp_status emp_bound_shares_add(emp_bound_shares *shares, emp_bound_share share,
                                emp_error *err);

/** Appends the steps of the longest path through an op on a kind of device, in the order of time.
 * \param paths  Of the model, as emp_bound_paths_find() has left them.
 * O(V + E). \retval EMP_ENOMEM */
emp_status emp_bound_paths_walk(emp_bound_shares *shares, const emp_bound_model *model,
                                const emp_bound_paths *paths, emp_op_id op, int32_t kind,
                                emp_error *err);

#endif /* EMP_SIM_BOUNDS_PATHS_WALK_H */
