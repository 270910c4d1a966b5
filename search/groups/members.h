/** \file search/groups/members.h
 * The members of each group, one group after another: what a move of a group touches.
 */
#ifndef EMP_SEARCH_GROUPS_MEMBERS_H
#define EMP_SEARCH_GROUPS_MEMBERS_H

#include "sim/problem/problem.h"

typedef struct {
    int32_t  group_count; /**< all have members */
    int32_t *first;       /**< [group + 1] into member */
    int32_t *member;      /**< ascending in a group */
} emp_members;

/** Lists what \a group_of_item [count] says; -1 is in no group. Of \a group_count groups
 * those without members are dropped, so that later ones move up. O(count + groups).
 * \retval EMP_ENOMEM */
emp_status emp_members_init(emp_members *members, const int32_t *group_of_item,
                            int32_t count, int32_t group_count, emp_error *err);

/** The ops of groups of colocation classes. */
emp_status emp_members_init_ops(emp_members *members, const emp_graph *graph,
                                const int32_t *group_of_class, int32_t group_count,
                                emp_error *err);
/** Gives every member the value of its group; items in no group keep theirs. */
void emp_members_spread(const emp_members *members, const int32_t *value_of_group,
                        int32_t *value_of_item);
void emp_members_clear(emp_members *members); /**< legal after a failed init */

#endif /* EMP_SEARCH_GROUPS_MEMBERS_H */
