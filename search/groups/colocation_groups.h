/** \file search/groups/colocation_groups.h
 * Colocation classes in groups by the rules of Mirhoseini et al. (ICML 2017), which need
 * no number of groups, no seed and no learning:
 *
 *  1. A gradient op stands with its forward op, as TensorFlow can place it by itself; what
 *     shares references is one class already.
 *  2. A group whose tensors are read by just one other group goes into that group, again
 *     and again until nothing changes.
 *  3. Each convolution, each pooling and each step of a recurrent cell, known by names
 *     (sim/graph/op.h), is one layer: all ops in its scope. A layer takes in the ops
 *     that only it reads, but goes into nothing.
 *
 * Where names say nothing, rules 1 and 2 remain. Rule 2 comes last; its result does not
 * depend on the order in which groups are looked at.
 */
#ifndef EMP_SEARCH_GROUPS_COLOCATION_GROUPS_H
#define EMP_SEARCH_GROUPS_COLOCATION_GROUPS_H

#include "sim/problem/problem.h"

/** The rules, as bits of a mask. */
typedef enum {
    EMP_COLOCATION_GRADIENTS = 1, /**< rule 1 */
    EMP_COLOCATION_READERS = 2,   /**< rule 2 */
    EMP_COLOCATION_LAYERS = 4,    /**< rule 3 */
    EMP_COLOCATION_ALL = 7
} emp_colocation_rule;

/** Groups by all rules. Groups are numbered by their first op; all have members.
 *
 * \param[out] group_of_class  [class]; -1: can only run on a CPU, or has no live op.
 * \param[out] group_count
 * O((V + E) log V) times the rounds of rule 2, of which a graph needs a few: consumers are
 * looked at before producers. \retval EMP_ENOMEM */
emp_status emp_colocation_groups(int32_t *group_of_class, int32_t *group_count,
                                 const emp_problem *problem, emp_error *err);

/** Likewise by some of the rules: \a rules is a mask; none leaves each class by itself. */
emp_status emp_colocation_groups_by(int32_t *group_of_class, int32_t *group_count,
                                    const emp_problem *problem, uint32_t rules,
                                    emp_error *err);

#endif /* EMP_SEARCH_GROUPS_COLOCATION_GROUPS_H */
