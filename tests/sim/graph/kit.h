/** \file tests/sim/graph/kit.h
 * Tensors and ops in a line each, for tests of graphs.
 *
 * A tensor is written as its element type, shape and, if known, value:
 * "f[64,?]" a float matrix of unknown width, "f?" a float tensor of unknown rank,
 * "i[2]={3,4}" an int32 vector, "l[]={7}" an int64 scalar, "b[3]" booleans, "s[]" a
 * string,
 * "&f[5]" a reference to a variable.
 */
#ifndef EMP_TESTS_SIM_GRAPH_KIT_H
#define EMP_TESTS_SIM_GRAPH_KIT_H

#include "sim/graph/graph_builder.h"
#include "tests/support/problems.h"

/** Adds the source of a tensor: a Const with that value, a VariableV2 for a reference,
 * else a Placeholder. Fails the test on a bad text. */
emp_port kit_tensor(emp_graph_builder *b, const char *name, const char *text);

/** An empty builder; fails the test on an error. */
emp_graph_builder *kit_begin(void);

/** Adds an op of \a count inputs given as emp_port arguments; fails the test on an error.
 * \a attrs may be NULL. Returns its output 0. */
emp_port kit_op(emp_graph_builder *b, const char *name, const char *type,
                const emp_op_attrs *attrs, int count, ...);

/** Adds what a text declares, statements with semicolons between:
 *
 *     q = f[2,7,8,4]; k, v = f[2,9,2,4]; y = Attention@ q k v; d = AttentionGrad@ y q k v y y:1
 *
 * A number behind a colon is an output; an '@' takes the attributes from the further arguments,
 * each a const emp_op_attrs *. Fails the test on an error. */
void kit_ops(emp_graph_builder *b, const char *text, ...);

/** Output 0 of an op by its name, or the output behind a colon. */
emp_port kit_port(const emp_graph_builder *b, const char *name);

/** Writes the outputs of an op as texts with blanks between. */
const char *kit_outputs(const emp_graph_builder *b, emp_op_id op, char *text,
                        size_t size);
/** Expects them of the op of that name. */
void kit_expect_outputs(const emp_graph_builder *b, const char *op, const char *want);

/** Adds the sources "in0", "in1", ... of texts with blanks between; returns how many. */
int kit_inputs(emp_graph_builder *b, const char *texts, emp_port *input);

/** Finishes and destroys the builder; fails the test on an error. */
emp_graph *kit_finish(emp_graph_builder *b);

/** The op of that name; fails the test when there is none. */
emp_op_id kit_find(const emp_graph *graph, const char *name);

const emp_op      *kit_fact(const emp_graph *graph, const char *name);
const emp_op_cost *kit_cost(const emp_graph *graph, const char *name);

#endif /* EMP_TESTS_SIM_GRAPH_KIT_H */
