/** \file sim/graph/graph_builder_internal.h
 * Nodes under construction, and the steps that turn them into a graph. Not for other folders.
 */
#ifndef EMP_SIM_GRAPH_GRAPH_BUILDER_INTERNAL_H
#define EMP_SIM_GRAPH_GRAPH_BUILDER_INTERNAL_H

#include "base/collections.h"
#include "base/mem.h"
#include "sim/graph/graph_builder.h"
#include "sim/graph/graph_internal.h"

enum { EMP_VALUE_BUFFER_SIZE = 64 * EMP_MAX_CONST_VALUES };

/** Facts that few ops have. */
typedef struct {
    int64_t             *model_ns;   /**< [stated models] -1 = as stated; NULL = of all */
    emp_traced_kernel   *kernel;     /**< NULL: nothing is said */
    emp_collective_part *collective; /**< NULL: nothing is said */
} emp_node_facts;

/** An op under construction. All pointers lead into the builder's arenas; attributes and outputs that are equal are kept
 * once. Rows of edges have room for a power of two of them, so that their counts say when they are full. */
typedef struct {
    const char         *name;
    const emp_op_attrs *attrs;
    emp_stated_op      *stated; /**< of all nodes, or NULL of all */
    emp_node_facts     *facts;  /**< NULL: it has none */
    emp_port           *input;
    emp_op_id          *control;
    emp_tensor_info    *output; /**< written only where the node states its costs */
    int32_t             type, input_count, control_count;
    uint16_t            output_count; /**< at most EMP_MAX_OUTPUTS */
    bool                is_inferred : 1, is_target : 1;
    bool has_stated_outputs : 1; /**< shapes and types: infer functions are not asked */
} emp_node;

_Static_assert(sizeof(emp_node) == 72, "large graphs have millions of them");

/** Ids of nodes by their names: open addressing with linear probing, at most three quarters full. */
typedef struct {
    struct {
        emp_op_id number; /**< of the node, from 1; 0 = free slot */
        uint32_t  hash;
    } * slot;
    size_t capacity; /**< a power of two, or 0 */
} emp_node_table;

struct emp_graph_builder {
    emp_arena      names;   /**< op and type names; moves into the graph */
    emp_arena      scratch; /**< everything else that nodes point to */
    emp_value_set  values; /**< in scratch: attributes, outputs, and what they point to */
    emp_node_table id_of_name;
    emp_strmap     index_of_type;
    emp_node      *node;
    int32_t        node_count, node_capacity;
    const char   **type_name;
    const emp_op_type *
        *type_entry; /**< never NULL here: unknown types have an entry too */
    const emp_op_attrs **last_attrs; /**< [type] of its last node, or NULL */
    int32_t              type_count, type_capacity;
    const char          *stated_model[EMP_STATED_MODELS_MAX];
    int32_t              stated_model_count;
    bool                 has_model_times, has_kernels, has_collectives;
    bool                 has_all_kernels;  /**< emp_graph_builder_assume_kernels() */
    bool                 in_program_order; /**< emp_graph_builder_set_program_order() */
    bool leaves_hash; /**< who finishes the graph sets its targets and thereby its hash */

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

#endif /* EMP_SIM_GRAPH_GRAPH_BUILDER_INTERNAL_H */
