/** \file sim/graph/store.h
 * What the ops of a graph share, and a graph with the graphs pruned from it: names, shapes, costs. Equal
 * shapes and equal costs are kept once, since the layers and steps of a network repeat. The last graph that
 * uses a store releases it.
 *
 * Threads. Graphs that share a store may be destroyed by several threads; only the builder adds to it.
 */
#ifndef EMP_SIM_GRAPH_STORE_H
#define EMP_SIM_GRAPH_STORE_H

#include "base/mem.h"
#include "sim/graph/graph.h"

/** A store with one user. \retval EMP_ENOMEM */
emp_status emp_graph_store_create(emp_graph_store **out, emp_error *err);

/** Takes over all \a names of a store that has none, and leaves the arena empty. */
void emp_graph_store_take_names(emp_graph_store *store, emp_arena *names);

/** Has one more user. */
emp_graph_store *emp_graph_store_share(emp_graph_store *store);
/** Has one user less; the last one releases it. NULL is allowed. */
void emp_graph_store_release(emp_graph_store *store);

/** The one copy of a value in the store, or NULL when memory is out. O(1) expected. */
const emp_shape   *emp_graph_store_shape(emp_graph_store *store, const emp_shape *shape);
const emp_op_cost *emp_graph_store_cost(emp_graph_store *store, const emp_op_cost *cost);

/** A copy of the cost beside those that are shared; NULL: out of memory. */
emp_op_cost *emp_graph_store_own(emp_graph_store *store, const emp_op_cost *cost);

/** Nothing more is looked for: releases what only that needs. */
void emp_graph_store_seal(emp_graph_store *store);

#endif /* EMP_SIM_GRAPH_STORE_H */
