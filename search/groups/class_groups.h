/** \file search/groups/class_groups.h
 * Colocation classes in groups, by whichever way to make them.
 */
#ifndef EMP_SEARCH_GROUPS_CLASS_GROUPS_H
#define EMP_SEARCH_GROUPS_CLASS_GROUPS_H

#include <stdatomic.h>

#include "search/groups/members.h"

typedef enum {
    EMP_CLASS_GROUPS_METIS,   /**< metis_cut.h: what exchanges much */
    EMP_CLASS_GROUPS_SCOTCH,  /**< scotch_cut.h: the same */
    EMP_CLASS_GROUPS_COLOCRL, /**< colocation_groups.h: as many as its rules make */
    EMP_CLASS_GROUPS_NAMES, /**< name_clusters.h: layer x direction x block of 8 steps */
    EMP_CLASS_GROUPS_ALL, /**< of moves.h: METIS and NAMES, and EXPERTS if there are any */
    EMP_CLASS_GROUPS_EXPERTS /**< expert_groups.h: the experts of a layer, all else in no group */
} emp_class_grouping;
#define EMP_CLASS_GROUPING_WORDS "metis|scotch|colocrl|names"

typedef struct {
    emp_class_grouping kind;
    int32_t count; /**< groups at most, at least 1; of no effect on COLOCRL and EXPERTS */
    double  imbalance;      /**< METIS, Scotch: largest group over the mean, above 1 */
    uint64_t          seed; /**< METIS, Scotch */
    const atomic_int *stop; /**< METIS, Scotch: ends the cut; NULL: nothing does */
} emp_class_groups_params;

/** Groups the classes of \a problem; groups may be empty.
 * \param[out] group_of_class  [class]; -1: can only run on a CPU, or has no live op.
 * \param[out] group_count
 * \retval EMP_ENOMEM, and those of the header that the kind names */
emp_status emp_class_groups(int32_t *group_of_class, int32_t *group_count,
                            const emp_problem             *problem,
                            const emp_class_groups_params *params, emp_error *err);

/** The ops of such groups, those without members left out. \a hash (base/collections.h) goes on
 * over the groups: equal ones leave equal hashes. The caller clears \a ops. */
emp_status emp_class_groups_ops(emp_members *ops, uint64_t *hash,
                                const emp_problem             *problem,
                                const emp_class_groups_params *params, emp_error *err);

#endif /* EMP_SEARCH_GROUPS_CLASS_GROUPS_H */
