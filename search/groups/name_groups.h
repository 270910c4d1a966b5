/** \file search/groups/name_groups.h
 * Groups by the name scopes that a front end wrote into the names of ops, as in
 * "gradients/decoder/cell_3/MatMul": the longest common prefixes, until there are enough.
 */
#ifndef EMP_SEARCH_GROUPS_NAME_GROUPS_H
#define EMP_SEARCH_GROUPS_NAME_GROUPS_H

#include <stdint.h>

#include "base/error.h"

/** Starts with all names in one group and splits, again and again, the largest group by
 * the next component of its names, as long as there are at most \a group_count groups in
 * all; a group whose split would give more stays whole. Names of one group share a scope
 * that no name of another group has. Groups are numbered in the order of their names.
 *
 * \param[out] group  [name] 0 .. group_count-1.
 * O(count log count x length + groups x count). \retval EMP_ENOMEM */
emp_status emp_name_groups(int32_t *group, const char *const *name, int32_t count,
                           int32_t group_count, emp_error *err);

#endif /* EMP_SEARCH_GROUPS_NAME_GROUPS_H */
