/** \file policy/giph/placement.h
 * A placement of nodes and how it ran.
 */
#ifndef EMP_POLICY_GIPH_PLACEMENT_H
#define EMP_POLICY_GIPH_PLACEMENT_H

#include "policy/giph/world.h"
#include "search/method.h"

/** Arrays are the caller's. */
typedef struct {
    int32_t *pivot; /**< [node] its pair */
    emp_time_ns
        *start_ns; /**< [node] of its first op that reads from another node; of its first
                                op if none does */
    emp_time_ns *end_ns;  /**< [node] of its last op */
    emp_time_ns *sent_ns; /**< [edge] end of the last op that it carries something of */
} emp_giph_placement;

/** Fills the times from those of the ops. O(ops + crossings). */
void emp_giph_placement_time(const emp_giph_placement *placement,
                             const emp_giph_world *world, const emp_score *score);

/** Writes the devices of ops that belong to nodes; others get device 0, from which legalization
 * sends them where they belong. O(ops). */
void emp_giph_placement_write(const emp_giph_placement *placement,
                              const emp_giph_world *world, emp_device_id *device_of_op);

#endif /* EMP_POLICY_GIPH_PLACEMENT_H */
