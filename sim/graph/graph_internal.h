/** \file sim/graph/graph_internal.h
 * The store of what graphs share, nodes under construction, and the steps that make a graph from them. Not
 * for other folders.
 */
#ifndef EMP_SIM_GRAPH_GRAPH_INTERNAL_H
#define EMP_SIM_GRAPH_GRAPH_INTERNAL_H

#include "base/collections.h"
#include "base/mem.h"
#include "sim/graph/graph.h"
#include "sim/graph/graph_builder.h"

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

/* Nodes under construction. */

enum { EMP_VALUE_BUFFER_SIZE = 64 * EMP_MAX_CONST_VALUES };

/** An op under construction. All pointers lead into the builder's arenas. */
typedef struct {
    const char          *name;
    const emp_op_attrs  *attrs;      /**< may belong to other nodes, too */
    emp_stated_op       *stated;     /**< of all nodes, or NULL of all */
    int64_t             *model_ns;   /**< [stated models] -1 = as stated; NULL = of all */
    emp_traced_kernel   *kernel;     /**< NULL: nothing is said */
    emp_collective_part *collective; /**< NULL: nothing is said */
    emp_port            *input;
    emp_op_id           *control;
    emp_tensor_info     *output;
    int32_t              type;
    int32_t              input_count, input_capacity;
    int32_t              control_count, control_capacity;
    int32_t              output_count;
    bool                 is_inferred, is_target;
    bool has_stated_outputs; /**< shapes and types: infer functions are not asked */
} emp_node;

struct emp_graph_builder {
    emp_arena    names;   /**< op and type names; moves into the graph */
    emp_arena    scratch; /**< everything else that nodes point to */
    emp_strmap   id_of_name, index_of_type;
    emp_node    *node;
    int32_t      node_count, node_capacity;
    const char **type_name;
    const emp_op_type *
        *type_entry; /**< never NULL here: unknown types have an entry too */
    const emp_op_attrs **last_attrs; /**< [type] of its last node, or NULL */
    int32_t              type_count, type_capacity;
    const char          *stated_model[EMP_STATED_MODELS_MAX];
    int32_t              stated_model_count;
    bool                 has_model_times, has_kernels, has_collectives;

    emp_tensor_info *input_buffer; /**< inputs of the op being inferred */
    int32_t          input_buffer_capacity;
    emp_tensor_info *output_buffer; /**< [EMP_MAX_OUTPUTS] */
    int32_t  dirty_outputs; /**< those that are not as an infer function wants them */
    int64_t *value_buffer;  /**< [EMP_VALUE_BUFFER_SIZE] */
};

/** Infers the outputs of a node whose producers are inferred, and merges them with those
 * that a file gave. \a strict: shapes that do not fit are an error, not unknown outputs.
 */
emp_status emp_node_infer(emp_graph_builder *b, emp_op_id op, bool strict,
                          emp_error *err);

/** Makes sure that an output exists; types with open outputs grow some. */
emp_status emp_node_check_output(emp_graph_builder *b, emp_port port, emp_op_id consumer,
                                 emp_error *err);

/** Points \a view at the node's attributes and gathers its inputs into the buffer. */
emp_status emp_node_view(emp_graph_builder *b, emp_op_id op, emp_op_view *view,
                         emp_error *err);

/** Gives a graph the times on device models that its nodes state. \retval EMP_ENOMEM */
emp_status emp_stated_finish(emp_graph_builder *b, emp_graph *g, emp_error *err);

/** The same of collectives; edges and sizes of outputs are known. \retval EMP_ENOMEM */
emp_status emp_collectives_finish(emp_graph_builder *b, emp_graph *g, emp_error *err);

#endif /* EMP_SIM_GRAPH_GRAPH_INTERNAL_H */
