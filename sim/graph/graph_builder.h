/** \file sim/graph/graph_builder.h
 * Builds an emp_graph node by node. Used by generators (inputs known when a node is
 * added, shapes inferred at once) and by importers (nodes in any order, inputs by name).
 *
 *     emp_graph_builder *b = NULL;
 *     EMP_TRY(emp_graph_builder_create(&b, err));
 *     EMP_TRY(emp_graph_builder_add(b, "x", "Placeholder", &attrs, NULL, 0, NULL, 0,
 *                                   &x, err));
 *     EMP_TRY(emp_graph_builder_add(b, "y", "Relu", &attrs, &(emp_port){x, 0}, 1, NULL, 0,
 *                                   &y, err));
 *     EMP_TRY(emp_graph_builder_finish(b, &graph, err));
 *     emp_graph_builder_destroy(b);
 *
 * Threads. Confined to one thread.
 */
#ifndef EMP_SIM_GRAPH_GRAPH_BUILDER_H
#define EMP_SIM_GRAPH_GRAPH_BUILDER_H

#include <stddef.h>

#include "sim/graph/graph.h"

/** Output \a index of an op under construction. */
typedef struct {
    emp_op_id op;
    int32_t   index;
} emp_port;

typedef struct emp_graph_builder emp_graph_builder;

emp_status emp_graph_builder_create(emp_graph_builder **out, emp_error *err);

/** Adds an op whose inputs exist already and infers its outputs. Name, attributes and
 * inputs are copied. The name must be new. Amortised O(inputs + outputs).
 *
 * \retval EMP_EINVAL   The name is taken, or an input is no output of an earlier op.
 * \retval EMP_EFORMAT  Input shapes that the type cannot take; the message names the op.
 */
emp_status emp_graph_builder_add(emp_graph_builder *b, const char *name, const char *type,
                                 const emp_op_attrs *attrs, const emp_port *inputs,
                                 int32_t input_count, const emp_op_id *controls,
                                 int32_t control_count, emp_op_id *op, emp_error *err);

/** Adds an op whose inputs will be connected later, and whose output shapes may be given
 * (\a outputs NULL: inferred by finish, in topological order). For importers. */
emp_status emp_graph_builder_declare(emp_graph_builder *b, const char *name,
                                     size_t name_length, const char *type,
                                     size_t type_length, const emp_op_attrs *attrs,
                                     const emp_shape *outputs, int32_t output_count,
                                     emp_op_id *op, emp_error *err);

/** An op of which a file states everything: nothing is inferred, and its type is a word for
 * people that the op table does not know. */
typedef struct {
    emp_stated_cost cost;
    uint32_t        flags;            /**< EMP_OP_ flags */
    uint32_t        kinds;            /**< EMP_KIND_ mask */
    int64_t         persistent_bytes; /**< held for the whole step */
    int64_t         held_bytes;       /**< memory of its one output */
    int64_t         copy_bytes;       /**< what a copy of that carries */
} emp_stated_op;

/** Adds an op with stated costs and one output, whose inputs will be connected later.
 * \retval EMP_EINVAL  The name is taken, or the graph has ops that are not of this sort. */
emp_status emp_graph_builder_state(emp_graph_builder *b, const char *name,
                                   const char *type, const emp_stated_op *stated,
                                   emp_op_id *op, emp_error *err);

/** Adds a data edge from a port to the next input of \a consumer. The port's index is
 * checked by finish. */
emp_status emp_graph_builder_connect(emp_graph_builder *b, emp_port from,
                                     emp_op_id consumer, emp_error *err);

/** Adds a control edge. Duplicates are kept, as in a GraphDef. */
emp_status emp_graph_builder_add_control(emp_graph_builder *b, emp_op_id from,
                                         emp_op_id consumer, emp_error *err);

/** Marks what a step fetches or runs. */
void emp_graph_builder_set_target(emp_graph_builder *b, emp_op_id op);

/* Queries on what has been built so far. */
int32_t     emp_graph_builder_op_count(const emp_graph_builder *b);
emp_op_id   emp_graph_builder_find(const emp_graph_builder *b, const char *name,
                                   size_t length); /**< -1 = none */
const char *emp_graph_builder_name(const emp_graph_builder *b, emp_op_id op);
const char *emp_graph_builder_type(const emp_graph_builder *b, emp_op_id op);
/** The attributes given for \a op; borrowed, valid until the builder is destroyed. */
const emp_op_attrs *emp_graph_builder_attrs(const emp_graph_builder *b, emp_op_id op);
int32_t  emp_graph_builder_input_count(const emp_graph_builder *b, emp_op_id op);
emp_port emp_graph_builder_input(const emp_graph_builder *b, emp_op_id op, int32_t i);
int32_t  emp_graph_builder_output_count(const emp_graph_builder *b, emp_op_id op);
/** What is inferred of an output; borrowed, valid until the next call that adds an op. */
const emp_tensor_info *emp_graph_builder_output(const emp_graph_builder *b,
                                                emp_port                 port);

/** Freezes everything into a graph: infers what is missing, computes costs, colocation
 * classes (union-find over reference edges), folding, the topological order. The builder
 * is empty afterwards. O(V + E).
 *
 * Back edges from NextIteration to Merge are dropped: a loop body counts once.
 *
 * \retval EMP_ECYCLE   Another cycle; the message names an op on it.
 * \retval EMP_EFORMAT  An edge from an output that does not exist; the message names both
 * ops.
 */
emp_status emp_graph_builder_finish(emp_graph_builder *b, emp_graph **out,
                                    emp_error *err);

void emp_graph_builder_destroy(emp_graph_builder *b);

#endif /* EMP_SIM_GRAPH_GRAPH_BUILDER_H */
