/** \file sim/explain/scope_dot.h
 * A placed step graph as a picture for Graphviz: ops collapsed by name scope, coloured by
 * device.
 *
 * A node is a scope: the first \a depth parts of an op's name, its own last part left
 * out; ops outside all scopes share the node "(top)". Folded ops are left out. A node is
 * filled with the colours of the devices that its ops are on, in proportion to their
 * number. An edge stands for all data edges between two scopes (a loop: within one); its
 * label is what they carry to other memories in one step, as the oracle counts it: where a
 * tensor crosses to a memory once for all that read it there, the edge to its first
 * reader carries it. So the labels add up to the traffic of the step. Edges that carry
 * nothing are thin; control edges are left out.
 */
#ifndef EMP_SIM_EXPLAIN_SCOPE_DOT_H
#define EMP_SIM_EXPLAIN_SCOPE_DOT_H

#include "sim/problem/problem.h"

enum { EMP_SCOPE_DOT_NODES = 200 };

typedef struct {
    int32_t depth; /**< that was drawn */
    int32_t node_count, edge_count;
    int64_t traffic_bytes; /**< sum of the labels */
} emp_scope_dot_summary;

/** Writes the picture to \a path, by a temporary file and a rename. O(V + E) but for
 * sorting the edges.
 *
 * \param[in]  depth    0 = 2, or 1 if that would be more than EMP_SCOPE_DOT_NODES nodes.
 * \param[out] summary  Or NULL.
 * \retval EMP_EIO  The message names the file. */
emp_status emp_scope_dot_write(const char *path, const emp_problem *problem,
                               const emp_device_id *device_of_op, int32_t depth,
                               emp_scope_dot_summary *summary, emp_error *err);

#endif /* EMP_SIM_EXPLAIN_SCOPE_DOT_H */
