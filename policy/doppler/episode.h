/** \file policy/doppler/episode.h
 * An episode in the making: nodes get their devices one after another, each when all its
 * predecessors have theirs. As in list scheduling a device runs what it has been given in that
 * order, and a node starts when its device is free and its inputs are there.
 *
 * Memory is ours: a node takes its persistent bytes where it runs, and its outputs there until the
 * last of its successors has a device. A device without room for a node is no candidate for it,
 * unless none has room. The oracle may still say out of memory.
 *
 * The teacher (baselines/schedulers/heft.c has the same rule) takes a ready node of the
 * greatest b-level and a device where it ends first.
 */
#ifndef EMP_POLICY_DOPPLER_EPISODE_H
#define EMP_POLICY_DOPPLER_EPISODE_H

#include "policy/doppler/scene.h"

typedef struct {
    const emp_doppler_scene *scene;             /**< borrowed */
    emp_device_id           *device_of_node;    /**< [node]; -1: none yet */
    double                  *start_ns, *end_ns; /**< [node] */
    int32_t                 *missing; /**< [node] predecessors without a device */
    int32_t                 *unread;  /**< [node] successors without a device */
    int32_t                 *ready;   /**< nodes that may be taken next */
    int32_t                  ready_count, booked;
    double                   free_ns[EMP_MAX_DEVICES], work_ns[EMP_MAX_DEVICES];
    int64_t                  free_bytes[EMP_MAX_DEVICES];
    emp_arrays               arrays; /**< all of these */

    /* Of the node that emp_doppler_episode_look() was last told: */
    int32_t       candidate_count;
    emp_device_id candidate[EMP_MAX_DEVICES];
    /** [candidate][EMP_DOPPLER_FEATURES] compute given to it so far; compute of the node's inputs
     * on it; their least start and their greatest end, 0 without any; the node's earliest start */
    double device_feature[EMP_MAX_DEVICES * EMP_DOPPLER_FEATURES];
} emp_doppler_episode;

/** \retval EMP_ENOMEM */
emp_status emp_doppler_episode_init(emp_doppler_episode     *episode,
                                    const emp_doppler_scene *scene, emp_error *err);
void       emp_doppler_episode_clear(emp_doppler_episode *episode);

/** Begins anew: no node has a device. O(nodes). */
void emp_doppler_episode_begin(emp_doppler_episode *episode);

/** Finds candidates and features for a ready node. O(inputs devices). */
void emp_doppler_episode_look(emp_doppler_episode *episode, int32_t node);

/** Gives ready[\a ready] a device. O(neighbours + devices). */
void emp_doppler_episode_book(emp_doppler_episode *episode, int32_t ready,
                              emp_device_id device);

/** The teacher's choices, ties included: 1 for those, 0 for others. \a choice [ready] of nodes,
 * [candidate] of devices for \a node, after emp_doppler_episode_look(). */
void emp_doppler_episode_teach_node(const emp_doppler_episode *episode, double *choice);
void emp_doppler_episode_teach_device(const emp_doppler_episode *episode, int32_t node,
                                      double *choice);

#endif /* EMP_POLICY_DOPPLER_EPISODE_H */
