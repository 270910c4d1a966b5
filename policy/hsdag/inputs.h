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

#include "base/mem.h"
#include "policy/features/node_graph.h"
#include "policy/features/op_features.h"
#include "policy/nn/real.h"

/* The coarsening that comes before learning: a node of exactly one predecessor joins that
 * one's set. Sets are out-trees, so that what flows between them forms no cycle. */

/* How the parsing network puts nodes into groups: each joins the neighbour that it shares the
 * best edge with, so that groups are the components of those edges; and the graph of the
 * groups. */

/** An undirected graph without loops or parallel edges; each edge is there from both ends.
 * Neighbours of node v are node[first[v]] .. node[first[v + 1] - 1], ascending. */
typedef struct {
    int32_t   node_count, edge_count;
    int32_t  *first;   /**< [node + 1] */
    int32_t  *node;    /**< [edge] */
    uint64_t *devices; /**< [node] bit d: it may use device d; never 0 */
} emp_hsdag_graph;

/** Adds the arrays of a graph with so many nodes and edges at most. */
void emp_hsdag_graph_allocate(emp_hsdag_graph *graph, int32_t max_nodes,
                              int32_t max_edges, emp_arrays *arrays);

/** Joins every node with the other end of its best edge, in order of nodes, unless no device
 * is allowed to both groups. Groups are numbered by their lowest nodes.
 * \param[out] group_of_node  [node]
 * \param      allowed        [node] scratch
 * \return the number of groups. */
int32_t emp_hsdag_join(int32_t *group_of_node, uint64_t *allowed,
                       const emp_hsdag_graph *graph, const emp_real *score);

/** Scratch of emp_hsdag_contract(). */
typedef struct {
    int32_t *member; /**< [node] */
    int32_t *begin;  /**< [node + 1] */
    int32_t *seen;   /**< [node] */
    int32_t *other;  /**< [edge] */
} emp_hsdag_scratch;

void emp_hsdag_scratch_allocate(emp_hsdag_scratch *scratch, int32_t max_nodes,
                                int32_t max_edges, emp_arrays *arrays);

/** The graph of \a group_count groups, numbered from 0 without a gap: two are neighbours if
 * nodes of theirs are. O(nodes + edges). */
void emp_hsdag_contract(emp_hsdag_graph *groups, int32_t group_count,
                        const emp_hsdag_graph *graph, const int32_t *group_of_node,
                        const emp_hsdag_scratch *scratch);

typedef struct {
    int32_t         node_count, set_count;
    int32_t        *set_of_node;            /**< [node] */
    emp_hsdag_graph graph;                  /**< of sets, by all edges between nodes */
    int32_t        *in_degree, *out_degree; /**< [set] sets by forward edges */
    float     *position; /**< [set] place of its first node in a topological order, in
                                   0 .. 1 */
    emp_arrays arrays;
} emp_hsdag_coarse;

/** Sets are numbered in topological order of their first nodes. A node that may use no device
 * of its predecessor's set opens one of its own. O(nodes + edges). \retval EMP_ENOMEM */
emp_status emp_hsdag_coarse_init(emp_hsdag_coarse *coarse, const emp_node_graph *nodes,
                                 emp_error *err);
void emp_hsdag_coarse_clear(emp_hsdag_coarse *coarse); /**< legal after a failed init */

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
