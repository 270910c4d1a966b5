/** \file policy/hsdag/inputs.h
 * What the network sees of a set of nodes at first, before it adds its own codes.
 *
 *     code     share of each op type among its nodes; its number, as it is
 *     paper    share of each op type; in- and out-degree one-hot, 7 stands for more; fractal
 *              dimension; sines and cosines of its number, 8 each; sizes of the first 4
 *              dimensions, ln(1 + d) / 10, means over its nodes
 *     costs    ln(1 + us) / 15 of its nodes on a CPU and on a GPU; ln(1 + sets x share of all
 *              GPU time); ln(1 + bytes) / 20 of outputs and of variables, and the latter over
 *              the memory of the smallest GPU; ln(1 + degree) / 5 in and out; place in a
 *              topological order; ln(1 + nodes) / 5
 *
 * The types are the graph's own, so that what is learned with `code` or `paper` is for one
 * graph.
 */
#ifndef EMP_POLICY_HSDAG_INPUTS_H
#define EMP_POLICY_HSDAG_INPUTS_H

#include "policy/features/op_features.h"
#include "policy/hsdag/coarse.h"

#define EMP_HSDAG_INPUT_WORDS "paper|code|costs"
typedef enum {
    EMP_HSDAG_INPUTS_PAPER,
    EMP_HSDAG_INPUTS_CODE,
    EMP_HSDAG_INPUTS_COSTS
} emp_hsdag_inputs_form;

typedef struct {
    int32_t   width;
    emp_real *value; /**< [set][width]; owned */
} emp_hsdag_inputs_table;

/** \a nodes are made of the rows of \a ops. O(sets x edges) for `paper`, else
 * O(nodes x width). \retval EMP_ENOMEM */
emp_status emp_hsdag_inputs_init(emp_hsdag_inputs_table *inputs,
                                 emp_hsdag_inputs_form   form,
                                 const emp_hsdag_coarse *coarse,
                                 const emp_node_graph *nodes, const emp_op_features *ops,
                                 const emp_machine *machine, emp_error *err);
void       emp_hsdag_inputs_clear(emp_hsdag_inputs_table *inputs);

/** The slope of ln(nodes within r) over ln r, for the distances r >= 1 that nodes have from
 * \a node; 0 if there are fewer than two. The node itself is not counted. \a distance and
 * \a queue [node] are scratch. O(nodes + edges). */
double emp_hsdag_fractal_dimension(const emp_hsdag_graph *graph, int32_t node,
                                   int32_t *distance, int32_t *queue);

#endif /* EMP_POLICY_HSDAG_INPUTS_H */
