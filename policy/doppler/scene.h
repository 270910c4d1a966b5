/** \file policy/doppler/scene.h
 * What DOPPLER knows of a problem before an episode: nodes, their times and messages, longest
 * paths, and the features that do not change.
 *
 * Times are nanoseconds in doubles, all whole, so that ties are exact. The compute of a node is
 * its mean time over the devices that it may use. Its message is what the graph states of its
 * results under the rules `edges` (docs/simulator.md), the longest of its ops'; else its bytes in
 * the mean over all routes.
 *
 *     b-level(v) = compute + (message + largest b-level of a successor, if there is one)
 *     t-level(v) = compute + (message + largest t-level of a predecessor, if there is one)
 *
 * Threads. Immutable after creation.
 */
#ifndef EMP_POLICY_DOPPLER_SCENE_H
#define EMP_POLICY_DOPPLER_SCENE_H

#include "policy/features/node_graph.h"
#include "policy/nn/real.h"

enum {
    EMP_DOPPLER_FEATURES = 5, /**< of a node; of a device, too */
    EMP_DOPPLER_BUCKETS = 32  /**< most messages that a network tells apart */
};

typedef struct {
    const emp_problem *problem;                                     /**< borrowed */
    emp_node_graph    *graph;                                       /**< owned */
    double            *time_ns;                                     /**< [node][device] */
    double            *compute_ns, *message_ns, *b_level, *t_level; /**< [node] */
    bool               is_stated; /**< messages take message_ns on every route */
    int32_t *below, *above; /**< [node] next on its longest path to an exit and to an
                               entry; -1: it is one */

    /** [node][EMP_DOPPLER_FEATURES] compute, b-level, t-level, sum of the messages that come
     * in, sum of those that go out; plain, and scaled over the nodes */
    double   *plain;
    emp_real *feature;

    /* The sender's message on an edge of either direction, scaled over these edges. Nodes of one
     * message are a class; where there are more than EMP_DOPPLER_BUCKETS messages, equal ranges
     * of their logarithms are. */
    emp_real  *message; /**< [node] */
    int32_t    class_count;
    emp_real  *class_message; /**< [class] mean */
    int32_t   *class_first;   /**< [class + 1] into class_node */
    int32_t   *class_node;    /**< nodes by class, then ascending */
    emp_arrays arrays;        /**< all of these */
} emp_doppler_scene;

/** \param max_nodes  As of emp_node_graph_create(). Clear it afterwards, also after a failure.
 * \retval EMP_EINVAL  No op has a choice of devices. \retval EMP_ENOMEM */
emp_status emp_doppler_scene_init(emp_doppler_scene *scene, const emp_problem *problem,
                                  int32_t max_nodes, emp_error *err);
void       emp_doppler_scene_clear(emp_doppler_scene *scene);

/** Columns of \a plain [rows][EMP_DOPPLER_FEATURES] shifted and scaled to mean 0 and deviation 1
 * over the rows; equal ones become 0. */
void emp_doppler_scale(emp_real *scaled, const double *plain, int32_t rows);

/* An episode in the making: nodes get their devices one after another, each when all its
 * predecessors have theirs. As in list scheduling a device runs what it has been given in that
 * order, and a node starts when its device is free and its inputs are there.
 *
 * Memory is ours: a node takes its persistent bytes where it runs, and its outputs there until the
 * last of its successors has a device. A device without room for a node is no candidate for it,
 * unless none has room. The oracle may still say out of memory.
 *
 * The teacher (baselines/schedulers/heft.c has the same rule) takes a ready node of the
 * greatest b-level and a device where it ends first. */

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

    /* For the last node given to emp_doppler_episode_look(): */
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

#endif /* EMP_POLICY_DOPPLER_SCENE_H */
