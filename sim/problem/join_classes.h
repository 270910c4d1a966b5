/** \file sim/problem/join_classes.h
 * Colocation of a user's own, beside that of references and of the file: sets of ops that share a device.
 */
#ifndef EMP_SIM_PROBLEM_JOIN_CLASSES_H
#define EMP_SIM_PROBLEM_JOIN_CLASSES_H

#include "sim/graph/graph.h"

/** Has the ops of each set share a device, with all ops that share one with them already. Nobody else may
 * hold the graph yet. Its hash stays. O(V log V).
 * \param set_of_op  [op count] numbers below the op count; -1: of no set.
 * \retval EMP_ENOMEM  The graph is unchanged. */
emp_status emp_graph_join_classes(emp_graph *graph, const int32_t *set_of_op,
                                  emp_error *err);

#endif /* EMP_SIM_PROBLEM_JOIN_CLASSES_H */
