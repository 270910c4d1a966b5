/** \file search/acyclic/acyclic_cut.h
 * An acyclic partition: all flows between parts lead from lower to higher numbers, so that
 * no data goes back and forth between devices. After dagP (Herrmann, Ozkaya, Ucar, Kaya and
 * Catalyurek, SIAM J. Sci. Comput. 41, 2019).
 *
 * Recursive bisection. Each bisection is multilevel: clusters that close no cycle
 * (emp_flow_clusters()) become vertices until few are left; those are divided, from either end
 * and in the middle of a topological order; then clusters dissolve step by step, and the
 * border moves (emp_acyclic_refine()) at each. This is done twice, with different clusters.
 * Beside it stand divisions of the whole graph that are refined alike: the middle of a
 * topological order, and METIS's bisection, mended (emp_acyclic_start_mend()). The best counts.
 */
#ifndef EMP_SEARCH_ACYCLIC_ACYCLIC_CUT_H
#define EMP_SEARCH_ACYCLIC_ACYCLIC_CUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"
#include "search/partition/partition_graph.h"

/* flow_graph.c: what an acyclic partitioner sees, a weighted graph (partition_graph.h) that also knows
 * which way data flow along its edges.
 *
 * A vertex stands at its first live op in the graph's topological order, its *position*. An
 * edge flows from u to v if an op of u feeds one of v, by data or control, and u stands
 * before v: flows form no cycle. Data that a vertex gets from one behind it *return*:
 * gradients come back to variables, whose updates share their class. Returning data weigh as
 * much as flowing data, but bind no order. In a graph whose classes are single ops nothing
 * returns.
 *
 * A vertex may be a group of classes, as one that holds forward ops with their gradients. */

typedef struct {
    int32_t    vertex_count;
    int64_t   *load;     /**< [vertex] */
    int32_t   *row;      /**< [vertex + 1] into the arrays below */
    int32_t   *neighbor; /**< ascending in a row; every edge is in two rows */
    int64_t   *traffic;  /**< beside neighbor */
    int8_t    *flow;     /**< likewise: 1 to the neighbour, -1 from it, 0 only returns */
    emp_arrays arrays;   /**< all of these */
} emp_flow_graph;

/** \param group_of_vertex  [vertex of graph] 0 .. group_count-1: what becomes one vertex, all
 * with members; NULL: each is its own.
 * O((V + E) log degree). \retval EMP_ENOMEM */
emp_status emp_flow_graph_create(emp_flow_graph **out, const emp_partition_graph *graph,
                                 const emp_problem *problem,
                                 const int32_t *group_of_vertex, int32_t group_count,
                                 emp_error *err);

/** Clusters become vertices. Loads and traffic add up; edges inside are gone; flow from one
 * cluster to another is flow of any of their edges, which must not go both ways. O(V + E).
 * \param cluster_of_vertex  [vertex] 0 .. cluster_count-1, or -1: left out, with its edges.
 * \retval EMP_ENOMEM */
emp_status emp_flow_graph_contract(emp_flow_graph **out, const emp_flow_graph *fine,
                                   const int32_t *cluster_of_vertex,
                                   int32_t cluster_count, emp_error *err);
void       emp_flow_graph_destroy(emp_flow_graph *graph);

/** Fills order with the vertices in a topological order of flows, first come first served
 * from the lowest, and level [vertex] with the most edges of a path of flows to it.
 * O(V + E). \return false if flows form a cycle. */
bool emp_flow_graph_sort(const emp_flow_graph *graph, int32_t *order, int32_t *level);

/** Load of all vertices. O(V). */
int64_t emp_flow_graph_load(const emp_flow_graph *graph);

/* Vertices of a flow graph in small clusters whose contraction closes no cycle: one step of
 * the coarsening of Herrmann, Ozkaya, Ucar, Kaya and Catalyurek, Multilevel algorithms for
 * acyclic partitioning of directed acyclic graphs (SIAM J. Sci. Comput. 41, 2019), theorem
 * 4.2. With the level of a vertex as the length of the longest path to it, clusters are such
 * that
 * 
 *  - the levels of a cluster's members differ by at most 1;
 *  - no flow leads from a member of a cluster of several to one of another such cluster
 *    exactly one level higher.
 * 
 * A cycle of clusters would climb at least one level per edge, and could fall by one in each
 * cluster of several and in no other; so all its edges would climb just one, between clusters
 * of several, which the second rule forbids. */

/** Looks at the vertices in an order drawn from (\a seed, \a substream); each that is still
 * single joins the neighbour, or its cluster, with which it exchanges most, among those that
 * the rules allow and whose load stays within \a load_limit.
 * \param level  [vertex] of emp_flow_graph_sort().
 * \param[out] cluster_of_vertex  [vertex] 0 .. cluster_count-1
 * O(V + E). \retval EMP_ENOMEM */
emp_status emp_flow_clusters(int32_t *cluster_of_vertex, int32_t *cluster_count,
                             const emp_flow_graph *graph, const int32_t *level,
                             int64_t load_limit, uint64_t seed, uint32_t substream,
                             emp_error *err);

/* First divisions of a flow graph into two sides, all flows from side 0 to side 1, to be
 * refined (emp_acyclic_refine()). */

/** METIS's bisection, which knows no directions: flows may lead both ways. Side 0 gets about
 * \a share of the load. \a stop is as in metis_cut.h.
 * \retval EMP_ENOMEM, and as for metis_cut.h */
emp_status emp_acyclic_start_metis(const emp_flow_graph *graph, double share,
                                   uint64_t seed, const atomic_int *stop, int8_t *side,
                                   emp_error *err);

/** Makes any sides acyclic (Herrmann et al. 2019, section 4.2): all that feeds side 0 joins
 * it, or all that side 1 feeds joins that one. O(V + E). */
void emp_acyclic_start_mend(const emp_flow_graph *graph, const int32_t *order,
                            bool joins_first, int8_t *side);

/** Fills part_of_vertex with 0 .. part_count-1; parts may be empty. No part is meant to have
 * more load than (1 + \a imbalance) times its \a share of all (shares add up to 1): moves
 * that lessen an excess come first. Equal seeds give equal parts.
 * The cut ends when \a stop is set; NULL: nothing ends it.
 * O((V + E) log V) per bisection, of which there are log(parts) one below the other.
 * \retval EMP_ENOMEM, and as for search/partition/metis_cut.h
 * \retval EMP_ECYCLE  Flows form a cycle that emp_flow_graph_create() did not make. */
emp_status emp_acyclic_cut(const emp_flow_graph *graph, int32_t part_count,
                           const double *share, double imbalance, uint64_t seed,
                           const atomic_int *stop, int32_t *part_of_vertex,
                           emp_error *err);

/* A flow graph in two sides, all flows between them from side 0 to side 1, made better by
 * moves that keep it so: Fiduccia and Mattheyses (DAC 1982), with only those vertices free to
 * move whose flows allow it (Herrmann et al. 2019, section 4.3): from side 0 the ones without
 * a successor there, from side 1 the ones without a predecessor there.
 *
 * From all on one side it makes a first division, vertex by vertex. */

/* A priority queue of vertices by gain: a binary heap that knows where each vertex is, so
 * that gains may change and vertices leave. Equal gains leave in the order of vertices. */

typedef struct {
    const int64_t *gain; /**< [vertex] borrowed; call emp_gain_queue_fix after a change */
    int32_t       *heap; /**< vertices */
    int32_t       *where; /**< [vertex] 1 + index in heap; 0 = not in the queue */
    int32_t        count;
} emp_gain_queue;

/** An empty queue for \a vertex_count vertices. \retval EMP_ENOMEM */
emp_status emp_gain_queue_init(emp_gain_queue *queue, const int64_t *gain,
                               int32_t vertex_count, emp_error *err);
void       emp_gain_queue_clear(emp_gain_queue *queue); /**< legal after a failed init */
void       emp_gain_queue_empty(emp_gain_queue *queue); /**< O(count) */

/** The vertex with the highest gain, or -1. */
static inline int32_t emp_gain_queue_top(const emp_gain_queue *queue)
{
    return queue->count > 0 ? queue->heap[0] : -1;
}

/** Each O(log count). Pushing what is there, and removing or fixing what is not, does
 * nothing. */
void emp_gain_queue_push(emp_gain_queue *queue, int32_t vertex);
void emp_gain_queue_remove(emp_gain_queue *queue, int32_t vertex);
void emp_gain_queue_fix(emp_gain_queue *queue, int32_t vertex);

/** How good two sides are. */
typedef struct {
    int64_t excess; /**< load beyond the limits of the sides */
    int64_t cut;    /**< traffic between them */
} emp_acyclic_score;

/** Passes over the vertices until one brings nothing. In a pass each vertex moves at most
 * once, that with the highest gain first, off a side that is too full before all else; then
 * the moves after the best moment are taken back.
 * \param limit  Load that each side may have.
 * \param side   [vertex] 0 or 1, in and out.
 * O((V + E) log V) a pass, of which there are at most 10. \retval EMP_ENOMEM */
emp_status emp_acyclic_refine(const emp_flow_graph *graph, const int64_t limit[2],
                              int8_t *side, emp_acyclic_score *score, emp_error *err);

#endif /* EMP_SEARCH_ACYCLIC_ACYCLIC_CUT_H */
