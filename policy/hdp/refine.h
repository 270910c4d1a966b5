/** \file policy/hdp/refine.h
 * Improves a placement by moves of groups of many sizes.
 *
 * A sample is one of the best placements so far in which one group of ops (move_groups.h) has
 * gone to another device. Groups are drawn by their share of the critical path of the best
 * placement, devices in proportion to their peak FLOP/s. What has been proposed is not proposed
 * again as long as it is remembered. A part of the samples is chosen from many candidates, as
 * those with the least estimates of the step time (guide.h).
 */
#ifndef EMP_POLICY_HDP_REFINE_H
#define EMP_POLICY_HDP_REFINE_H

#include "base/named_array.h"
#include "policy/hdp/guide.h"
#include "policy/hdp/move_groups.h"
#include "policy/hdp/options.h"
#include "search/elites.h"
#include "search/odds.h"
#include "search/placer.h"

/** Slots for the hashes of proposals; of two that share a slot the later one is remembered. Of
 * 4,000 proposals a tenth is forgotten. */
enum { EMP_REFINE_KNOWN = 1 << 14 };

/** A candidate: an elite with one of its groups on another device. */
typedef struct {
    int64_t            elite;
    const emp_members *groups;
    int32_t            group;
    emp_device_id      to;
    uint64_t           hash;   /**< of the placement */
    bool               is_new; /**< no elite, not remembered, no earlier candidate */
    double             estimate_s;
} emp_refine_move;

typedef struct {
    int32_t          row_count;
    emp_device_odds  odds;
    double           chosen_share, alike; /**< options */
    int32_t          filter;              /**< candidates for a chosen sample */
    emp_move_groups  groups;
    emp_guide        guide;
    emp_elites       elites; /**< choices: device of each row */
    uint64_t        *elite_hash;
    uint64_t         seed;
    int64_t          drawn;   /**< candidates in all */
    int64_t         *known;   /**< [hash % EMP_REFINE_KNOWN] hash of a proposal, or 0 */
    bool             is_led;  /**< the guide has looked at ... */
    uint64_t         leader;  /**< ... the placement of this hash */
    emp_refine_move *move;    /**< [candidate] of the last proposal */
    int32_t         *device;  /**< [sample][row] proposed last */
    int32_t         *scratch; /**< [row] */
    int32_t          chosen;  /**< the last samples of the proposal have been chosen */
    double           drawn_mean_s, chosen_mean_s; /**< of those that fit; NaN = none */
} emp_refine;

/** Groups the rows of \a ops, which are those of \a problem, as \a options say, whose
 * refine_smallest is at most refine_largest. Both are borrowed.
 * \retval EMP_ENOMEM, and those of fixed_groups.h and of emp_sim_create() */
emp_status emp_refine_init(emp_refine *refine, const emp_problem *problem,
                           const emp_op_features *ops, const emp_hdp_options *options,
                           uint64_t seed, emp_error *err);
void       emp_refine_clear(emp_refine *refine); /**< legal after a failed init */

/** Begins with a placement: \a device_of_row, which fits and is copied. */
void emp_refine_start(emp_refine *refine, const int32_t *device_of_row,
                      double step_time_s);

/** Draws \a samples placements, at most as many as the options say, around the elites, of
 * which there is at least one.
 * \retval EMP_ENOMEM  The best placement could not be explained. */
emp_status emp_refine_propose(emp_refine *refine, int32_t samples, emp_error *err);

/** The devices of the rows in a proposed placement. */
const int32_t *emp_refine_sample(const emp_refine *refine, int32_t sample);

/** Keeps the best of the proposal, whose \a count scores these are. */
void emp_refine_learn(emp_refine *refine, const emp_score *scores, int32_t count);

/** What later proposals depend on; returns the number of \a arrays. */
int32_t emp_refine_list_state(emp_refine *refine, emp_named_array *arrays);

#endif /* EMP_POLICY_HDP_REFINE_H */
