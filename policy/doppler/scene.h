/** \file policy/doppler/scene.h
 * What DOPPLER knows of a problem before an episode: nodes, their times and messages, longest
 * paths, and the features that do not change.
 *
 * Times are nanoseconds in doubles, all whole, so that ties are exact. The compute of a node is
 * its mean time over the devices that it may use. Its message is what the graph states of its
 * results under the rules `edges` (docs/profiles.md), the longest of its ops'; else its bytes in
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

/** How long it takes until node \a from's result is on device \a to: 0 where it is.
 * \a bytes are what the reader reads of it. */
double emp_doppler_transfer_ns(const emp_doppler_scene *scene, int32_t from,
                               int64_t bytes, emp_device_id source, emp_device_id to);

/** Columns of \a plain [rows][EMP_DOPPLER_FEATURES] shifted and scaled to mean 0 and deviation 1
 * over the rows; equal ones become 0. */
void emp_doppler_scale(emp_real *scaled, const double *plain, int32_t rows);

#endif /* EMP_POLICY_DOPPLER_SCENE_H */
