/** \file sim/graph/graph_internal.h
 * The store of what graphs share, and the steps that make a graph from arrays. Not for other folders.
 */
#ifndef EMP_SIM_GRAPH_GRAPH_INTERNAL_H
#define EMP_SIM_GRAPH_GRAPH_INTERNAL_H

#include "base/collections.h"
#include "base/mem.h"
#include "sim/graph/graph.h"

/* The data that the ops of a graph share, and a graph with the graphs pruned from it: names, shapes, costs. Equal
 * shapes and equal costs are kept once, since the layers and steps of a network repeat. The last graph that
 * uses a store releases it.
 * 
 * Threads. Graphs that share a store may be destroyed by several threads; only the builder adds to it. */

/** A store with one user. \retval EMP_ENOMEM */
emp_status emp_graph_store_create(emp_graph_store **out, emp_error *err);

/** Takes over all \a names of a store that has none, and leaves the arena empty. */
void emp_graph_store_take_names(emp_graph_store *store, emp_arena *names);

/** Has one more user. */
emp_graph_store *emp_graph_store_share(emp_graph_store *store);

/** The one copy of a value in the store, or NULL when out of memory. O(1) expected. */
const emp_shape   *emp_graph_store_shape(emp_graph_store *store, const emp_shape *shape);
const emp_op_cost *emp_graph_store_cost(emp_graph_store *store, const emp_op_cost *cost);

/** Nothing more is looked for: releases what only that needs. */
void emp_graph_store_seal(emp_graph_store *store);

/** Allocates the arrays whose sizes the counts in \a g give. */
emp_status emp_graph_allocate(emp_graph *g, emp_error *err);

/** Allocates the costs of a graph that brings its own. */
emp_status emp_graph_allocate_stated(emp_graph *g, emp_error *err);

/** Likewise the numbers that bind ops, of a graph that has them. */
emp_status emp_graph_allocate_colocation(emp_graph *g, emp_error *err);

/** Gives a step the times on device models of the ops that it keeps. \retval EMP_ENOMEM */
emp_status emp_stated_prune(emp_graph *g, const emp_graph *whole,
                            const int32_t *new_of_op, emp_error *err);

/** Mixes them into a hash, which stays as it is where there are none. */
uint64_t emp_stated_hash(uint64_t hash, const emp_graph *g);

/** The same two of collectives. \retval EMP_ENOMEM */
emp_status emp_collectives_prune(emp_graph *g, const emp_graph *whole,
                                 const int32_t *new_of_op, emp_error *err);
uint64_t   emp_collectives_hash(uint64_t hash, const emp_graph *g);

/** Fills the consumer and control_out rows from the input and control rows. O(V + E). */
void emp_graph_fill_consumers(emp_graph *g);

/** Decides what is folded before the step; topological order and costs are known. O(V +
 * E). */
void emp_graph_fold(emp_graph *g);

/** Weights that are no ops of a graph. */
typedef struct {
    int64_t elements, bytes;
} emp_held_weights;

/** Computes everything that depends on which ops are there: colocation classes,
 * parameters, totals, hash. \a held: by readers; they count where nothing is trained. O(V + E). */
emp_status emp_graph_derive(emp_graph *g, const emp_held_weights *held, emp_error *err);

#endif /* EMP_SIM_GRAPH_GRAPH_INTERNAL_H */
