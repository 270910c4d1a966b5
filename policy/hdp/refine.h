/** \file policy/hdp/refine.h
 * Improves a placement by moves of groups of many sizes.
 *
 * A sample is one of the best placements so far in which one group of ops has gone to
 * another device. Ops are grouped several times, into 24, 48, 96 ... groups: a grouping is
 * drawn first, all alike, then a group, then a device, in proportion to its peak FLOP/s.
 * Large groups move what should be together, small ones balance the load.
 */
#ifndef EMP_POLICY_HDP_REFINE_H
#define EMP_POLICY_HDP_REFINE_H

#include "base/named_array.h"
#include "policy/features/op_features.h"
#include "policy/hdp/options.h"
#include "sim/placement/elites.h"
#include "sim/placement/placer.h"

enum { EMP_REFINE_MAX_LEVELS = 13 /* from 1 to 4096 groups */ };

/** The rows of each group, one after another. */
typedef struct {
    int32_t  group_count;
    int32_t *first; /**< [group + 1] into row */
    int32_t *row;
} emp_refine_level;

typedef struct {
    int32_t          row_count, device_count;
    double           power_up_to[EMP_MAX_DEVICES]; /**< running sum; the last is 1 */
    int32_t          level_count;
    emp_refine_level level[EMP_REFINE_MAX_LEVELS];
    emp_elites       elites;      /**< choices: device of each row */
    uint64_t         groups_hash; /**< of all levels */
    uint64_t         seed;
    int64_t          asked;  /**< samples in all */
    int32_t         *device; /**< [sample][row] proposed last */
} emp_refine;

/** Groups the rows of \a ops, which are those of \a problem, as \a options say, whose
 * refine_smallest is at most refine_largest. Neither is needed afterwards.
 * \retval EMP_ENOMEM, and those of fixed_groups.h */
emp_status emp_refine_init(emp_refine *refine, const emp_problem *problem,
                           const emp_op_features *ops, const emp_hdp_options *options,
                           uint64_t seed, emp_error *err);
void       emp_refine_clear(emp_refine *refine); /**< legal after a failed init */

/** Begins with a placement: \a device_of_row, which fits and is copied. */
void emp_refine_start(emp_refine *refine, const int32_t *device_of_row,
                      double step_time_s);

/** Draws \a samples placements, at most as many as the options say, around the elites, of
 * which there is at least one. */
void emp_refine_propose(emp_refine *refine, int32_t samples);

/** The devices of the rows in a proposed placement. */
const int32_t *emp_refine_sample(const emp_refine *refine, int32_t sample);

/** Keeps the best of the proposal, whose \a count scores these are. */
void emp_refine_learn(emp_refine *refine, const emp_score *scores, int32_t count);

/** What later proposals depend on; returns the number of \a arrays. */
int32_t emp_refine_list_state(emp_refine *refine, emp_named_array *arrays);

#endif /* EMP_POLICY_HDP_REFINE_H */
