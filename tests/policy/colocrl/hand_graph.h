/** \file tests/policy/colocrl/hand_graph.h
 * Graphs put together by hand, on a CPU and two GPUs.
 */
#ifndef EMP_TESTS_POLICY_COLOCRL_HAND_GRAPH_H
#define EMP_TESTS_POLICY_COLOCRL_HAND_GRAPH_H

#include "sim/graph/graph_builder.h"
#include "sim/problem/problem.h"

typedef struct {
    emp_graph_builder *builder;
    emp_machine        machine;
    emp_graph         *graph;
    emp_problem       *problem;
} hand_graph;

void hand_graph_begin(hand_graph *h);

/** Inputs are the first outputs of ops that exist. What has none is a tensor of (8,16), or
 * of (3,3,3,3) if its type is Placeholder and its name ends in "image". */
emp_op_id hand_graph_add(hand_graph *h, const char *name, const char *type,
                         const emp_op_id *inputs, int32_t count);

/** An op of one input; -1: of none. */
emp_op_id hand_graph_op(hand_graph *h, const char *name, const char *type,
                        emp_op_id input);

/** The last op is the step's target. */
void hand_graph_finish(hand_graph *h);
void hand_graph_clear(hand_graph *h);

/** A stem of layers that each also a reader of its own hangs on: layer i is
 *
 *     product = MatMul(relu of layer i-1, read of variable w_i), relu, reader = Relu(relu)
 *
 * so that by the rules each layer is a group and each reader is one. */
void hand_graph_comb(hand_graph *h, int32_t layers);

#endif /* EMP_TESTS_POLICY_COLOCRL_HAND_GRAPH_H */
