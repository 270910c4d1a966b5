/** \file sim/explain/pictures.h
 * Placed graphs and simulated steps as files for other programs: Graphviz, Perfetto and Model Explorer.
 */
#ifndef EMP_SIM_EXPLAIN_PICTURES_H
#define EMP_SIM_EXPLAIN_PICTURES_H

#include "sim/engine/sim.h"
#include "sim/problem/problem.h"

/* A placed step graph for Graphviz: ops collapsed by name scope, coloured by
 * device.
 *
 * A node is a scope: the first \a depth parts of an op's name, its own last part left
 * out; ops outside all scopes share the node "(top)". Folded ops are left out. A node is
 * filled with the colours of the devices that its ops are on, in proportion to their
 * number. An edge stands for all data edges between two scopes (a loop: within one); its
 * label is what they carry to other memories in one step, as the oracle counts it: where a
 * tensor crosses to a memory once for all that read it there, the edge to its first
 * reader carries it. So the labels add up to the traffic of the step. Edges that carry
 * nothing are thin; control edges are left out. */

enum {
    EMP_SCOPE_DOT_NODES = 200,
    EMP_SCOPE_DOT_OPS = 300 /**< a picture of more is better drawn by layers */
};

/** Layers of a model, for a picture in which a layer is a cluster of a node for each pass that has ops. Edges that carry
 * nothing are drawn between neighbouring layers only. Borrowed. */
typedef struct {
    int32_t            count;
    const char *const *name;        /**< [layer] */
    const int32_t     *layer_of_op; /**< [op] */
    const uint8_t     *pass_of_op;  /**< [op] 0 forward, 1 backward, 2 update */
} emp_scope_dot_layers;

typedef struct {
    int32_t depth; /**< that was drawn; 0: layers */
    int32_t node_count, edge_count;
    int64_t traffic_bytes; /**< sum of the labels */
} emp_scope_dot_summary;

/** Writes the picture to \a path, by a temporary file and a rename. O(V + E) but for
 * sorting the edges.
 *
 * \param[in]  depth    0 = 2, or 1 if that would be more than EMP_SCOPE_DOT_NODES nodes.
 * \param[in]  layers   OPTIONAL. The nodes, in place of scopes; depth does not matter.
 * \param[out] summary  Or NULL.
 * \retval EMP_EIO  The message names the file. */
emp_status emp_scope_dot_write(const char *path, const emp_problem *problem,
                               const emp_device_id *device_of_op, int32_t depth,
                               const emp_scope_dot_layers *layers,
                               emp_scope_dot_summary *summary, emp_error *err);

/* Writes a simulated step as JSON trace events, for Perfetto (ui.perfetto.dev) and
 * chrome://tracing. A process per device; a track per compute stream, host thread (which
 * issues, sends and receives), copy stream (of a CPU: to other hosts) and batch of CPU
 * tasks; a last process for the fixed cost of the step, so that the trace ends with the step.
 * Copies that share a stream's track and overlap are spread over several tracks.
 *
 * A slice of an op has its type, the shape of its first output, FLOPs, bytes read and
 * written, and scope. Under the event rules, and unless ops are fused, every slice of an op, issue or copy says
 * whether it is on the critical path (explain.h). An op of no time has only the slice of its
 * issue. Arrows go from the op that makes a tensor to its copy, and from there to the op that
 * was ready when the copy came.
 *
 * Each device has two counters: memory in use, and its peak so far as emp_sim_result counts it. */

/** Runs \a sim once, or twice to mark the critical path, for each of \a count placements, and writes what happened to
 * \a path, by a temporary file and a rename. Each of several placements has processes of its own, which are named
 * "LABEL: DEVICE" and follow one another, and all steps begin at 0.
 * \param problem  The one of \a sim.
 * \param result   [count]
 * \retval EMP_EIO  The message names the file. */
emp_status emp_trace_chrome_write(const char *path, emp_sim *sim,
                                  const emp_problem           *problem,
                                  const emp_labelled_decision *placement, int32_t count,
                                  emp_sim_result *result, emp_error *err);

/* Placed steps as files for Model Explorer (github.com/google-ai-edge/model-explorer, PyPI ai-edge-model-explorer).
 *
 * PREFIX.json has the graph: a node an op, named by its number, in the namespace of its scope; folded ops are left
 * out. For each placement an overlay of edges goes along the critical path, from op to op. The files
 * PREFIX.N.device.json, PREFIX.N.seconds.json and PREFIX.N.wait.json have the node data of placement N, from 1 on:
 * the device, in its colour of all pictures, the seconds that the op runs, and those that it waits when it is ready. */

enum { EMP_MODEL_EXPLORER_PATH_BYTES = 4096, EMP_MODEL_EXPLORER_DATA = 3 };

/** The path of a file: of the graph, with \a placement -1, or of node data \a data of a placement, from 0 on.
 * \retval EMP_EINVAL  It would be too long. */
emp_status emp_model_explorer_path(char        path[EMP_MODEL_EXPLORER_PATH_BYTES],
                                   const char *prefix, int32_t placement, int32_t data,
                                   emp_error *err);

/** Writes all files, each by a temporary file and a rename.
 * \param placement  Legal decisions.
 * \retval EMP_EUNSUPPORTED  As emp_explain_create(). \retval EMP_EIO, EMP_ENOMEM */
emp_status emp_model_explorer_write(const char *prefix, const emp_problem *problem,
                                    const emp_labelled_decision *placement, int32_t count,
                                    emp_error *err);

/* The moments when each op of a step gets ready, waits and runs, for pictures that show ops one by one. */

/** -1: there is no such moment, as of an op that takes no time or is folded. */
typedef struct {
    emp_time_ns ready_ns, start_ns, end_ns;
    emp_time_ns run_ns; /**< in which it, or on a CPU at least one of its tasks, runs */
} emp_op_moment;

/** Simulates one step and fills moment[op]. \a problem is the one of \a sim. */
emp_status emp_op_moments(emp_op_moment *moment, emp_sim *sim, const emp_problem *problem,
                          const emp_decision *decision, emp_sim_result *result,
                          emp_error *err);

/** The time from when the op is ready until it runs, which the issue by a host thread is part of. */
emp_time_ns emp_op_wait_ns(const emp_op_moment *moment);

#endif /* EMP_SIM_EXPLAIN_PICTURES_H */
