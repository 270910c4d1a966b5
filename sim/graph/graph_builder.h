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
 * <emplace/graph_builder.h> has what programs use, too: create, state, connect, add_control,
 * finish, destroy. An importer's ops need not be stated:
 *
 * - connect checks the index of a port when it finishes; add_control keeps duplicates, as a
 *   GraphDef does;
 * - state gives EMP_EINVAL if the graph has ops of another sort;
 * - finish infers what is missing, and computes costs, colocation classes (union-find over
 *   reference edges), folding and the topological order. Back edges from NextIteration to Merge
 *   are dropped: a loop body counts once.
 *
 * Threads. Confined to one thread.
 */
#ifndef EMP_SIM_GRAPH_GRAPH_BUILDER_H
#define EMP_SIM_GRAPH_GRAPH_BUILDER_H

#include <stddef.h>

#include <emplace/graph_builder.h>

#include "sim/graph/graph.h"

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

/** Makes room for so many ops, so that nothing is moved until there are more. \retval EMP_ENOMEM */
emp_status emp_graph_builder_reserve(emp_graph_builder *b, int32_t op_count,
                                     emp_error *err);

/** Gives an op with costs of its own result \a number, of which a copy carries \a copy_bytes; its
 * held bytes are the sum over all its results. Results come in the order of their numbers, and
 * number 0 replaces the one that it has. Amortised O(1).
 * \retval EMP_EINVAL  There is no such op, or the number is not the next. \retval EMP_ENOMEM */
emp_status emp_graph_builder_state_result(emp_graph_builder *b, emp_op_id op,
                                          int32_t number, int64_t copy_bytes,
                                          emp_error *err);

enum { EMP_STATED_MODELS_MAX = 64 };

/** Names a device model on whose GPUs ops may take times of their own. The name is copied. All models
 * are named before the first such time.
 * \param[out] model  Its number, from 0; the existing one of the same name.
 * \retval EMP_EINVAL  The name has no letter, or times are stated already.
 * \retval EMP_EUNSUPPORTED  More than EMP_STATED_MODELS_MAX. \retval EMP_ENOMEM */
emp_status emp_graph_builder_state_model(emp_graph_builder *b, const char *name,
                                         int32_t *model, emp_error *err);

/** States what the op takes on GPUs of that model, in place of its gpu_ns. O(1), the first time of an
 * op O(models). \retval EMP_EINVAL  There is no such op or model, or the time is negative.
 * \retval EMP_ENOMEM */
emp_status emp_graph_builder_state_time(emp_graph_builder *b, emp_op_id op, int32_t model,
                                        int64_t gpu_ns, emp_error *err);

/** Says what the kernel of an op with costs of its own does. Copied.
 * \retval EMP_EINVAL  There is no such op. \retval EMP_ENOMEM */
emp_status emp_graph_builder_describe_kernel(emp_graph_builder *b, emp_op_id op,
                                             const emp_traced_kernel *kernel,
                                             emp_error               *err);

/** Makes the op a rank of a collective, whose time is a matter of the machine
 * (sim/cost/kernel.h). An op of a type that emp_collective_of_type() knows is one anyway; this
 * says what its shapes do not. Copied.
 * \retval EMP_EINVAL  No such op, no rank, negative bytes, or a set beyond the ops so far. \retval EMP_ENOMEM */
emp_status emp_graph_builder_set_collective(emp_graph_builder *b, emp_op_id op,
                                            const emp_collective_part *part,
                                            emp_error                 *err);

/** States the outputs of a declared op: shapes, element types, and which of them are references to a
 * buffer that is there anyway. Nothing of them is inferred. Copied, without values. O(outputs).
 * \retval EMP_EINVAL  There is no such op, or it has more than EMP_MAX_OUTPUTS. \retval EMP_ENOMEM */
emp_status emp_graph_builder_state_outputs(emp_graph_builder *b, emp_op_id op,
                                           const emp_tensor_info *outputs, int32_t count,
                                           emp_error *err);

/** Marks what a step fetches or runs. */
void emp_graph_builder_set_target(emp_graph_builder *b, emp_op_id op);

/** Tells the builder that emp_graph_set_targets() follows emp_graph_builder_finish(), which then leaves the graph's
 * hash to it. */
void emp_graph_builder_leave_targets(emp_graph_builder *b);

/** Tells the builder that GPUs compute every element type in their own memory, as in PyTorch and ONNX Runtime. The
 * limits of element types, int32 in host memory, and the kernels of a softmax, a sum and a loss are TensorFlow r1.3's. */
void emp_graph_builder_assume_kernels(emp_graph_builder *b);

/** Says that ops were declared in the order in which a program issues them: emp_graph_builder_finish() gives them levels
 * in that order (emp_graph.in_program_order), and level 0 to variables and to what the step is fed. */
void emp_graph_builder_set_program_order(emp_graph_builder *b);

/* Queries on what has been built so far. */
int32_t   emp_graph_builder_op_count(const emp_graph_builder *b);
emp_op_id emp_graph_builder_find(const emp_graph_builder *b, const char *name,
                                 size_t length); /**< -1 = none */

/** A name that emp_graph_builder_expect() has seen. The bytes are borrowed. */
typedef struct {
    const char *name;
    size_t      length;
    uint32_t    hash;
} emp_node_name;

/** Starts to look for a name: memory is fetched until emp_graph_builder_find_expected() looks at it. */
emp_node_name emp_graph_builder_expect(const emp_graph_builder *b, const char *name,
                                       size_t length);
emp_op_id     emp_graph_builder_find_expected(const emp_graph_builder *b,
                                              const emp_node_name     *name);

/** emp_graph_builder_declare() of such a name. */
emp_status
emp_graph_builder_declare_expected(emp_graph_builder *b, const emp_node_name *name,
                                   const char *type, size_t type_length,
                                   const emp_op_attrs *attrs, const emp_shape *outputs,
                                   int32_t output_count, emp_op_id *op, emp_error *err);

const char *emp_graph_builder_name(const emp_graph_builder *b, emp_op_id op);
const char *emp_graph_builder_type(const emp_graph_builder *b, emp_op_id op);
/** The attributes given for \a op; borrowed, valid until the builder is destroyed. */
const emp_op_attrs *emp_graph_builder_attrs(const emp_graph_builder *b, emp_op_id op);
int32_t  emp_graph_builder_input_count(const emp_graph_builder *b, emp_op_id op);
emp_port emp_graph_builder_input(const emp_graph_builder *b, emp_op_id op, int32_t i);
int32_t  emp_graph_builder_output_count(const emp_graph_builder *b, emp_op_id op);
/** The inferred type and shape of an output; borrowed, valid until the next call that adds an op. */
const emp_tensor_info *emp_graph_builder_output(const emp_graph_builder *b,
                                                emp_port                 port);

#endif /* EMP_SIM_GRAPH_GRAPH_BUILDER_H */
