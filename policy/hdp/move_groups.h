/** \file policy/hdp/move_groups.h
 * The groups of ops that moves move: of many sizes, and cut in many ways.
 *
 * Ops are grouped into 24, 48, 96 ... groups, several times each. Large groups keep together
 * what belongs together, small ones balance the load; of one cut there are only so many
 * moves, and none may be the right one.
 */
#ifndef EMP_POLICY_HDP_MOVE_GROUPS_H
#define EMP_POLICY_HDP_MOVE_GROUPS_H

#include "base/rng.h"
#include "policy/features/op_features.h"
#include "policy/hdp/options.h"
#include "search/groups/members.h"

enum {
    EMP_MOVE_SIZES = 13, /**< from 1 to 4096 groups */
    EMP_MOVE_MAX_CUTS = 16,
    EMP_MOVE_MAX_GROUPINGS = EMP_MOVE_SIZES * EMP_MOVE_MAX_CUTS
};

/** One grouping. */
typedef struct {
    emp_members rows;        /**< of each group */
    double     *share_up_to; /**< [group] running sum of shares of draws; the last is 1 */
} emp_move_grouping;

typedef struct {
    int32_t           count;
    emp_move_grouping grouping[EMP_MOVE_MAX_GROUPINGS];
    uint64_t          hash; /**< of all of them */
} emp_move_groups;

/** Groups the rows of \a ops, which are those of \a problem, as \a options say, whose
 * refine_smallest is at most refine_largest; the i-th with \a seed + i. All groups of a
 * grouping are drawn alike.
 * \retval EMP_ENOMEM, and those of fixed_groups.h */
emp_status emp_move_groups_init(emp_move_groups *groups, const emp_problem *problem,
                                const emp_op_features *ops,
                                const emp_hdp_options *options, uint64_t seed,
                                emp_error *err);
void emp_move_groups_clear(emp_move_groups *groups); /**< legal after a failed init */

/** From now on a group is drawn in proportion to the \a weight of its rows, none of which is
 * negative, but of \a alike of the draws, in which all groups of the grouping are alike. */
void emp_move_groups_weigh(emp_move_groups *groups, const double *weight, double alike);

/** Draws a grouping, all alike, and one of its groups. */
const emp_move_grouping *emp_move_groups_draw(const emp_move_groups *groups, emp_rng *rng,
                                              int32_t *group);

#endif /* EMP_POLICY_HDP_MOVE_GROUPS_H */
