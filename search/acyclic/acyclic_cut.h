/** \file search/acyclic/acyclic_cut.h
 * An acyclic partition: all flows between parts lead from lower to higher numbers, so that
 * no data goes back and forth between devices. After dagP (Herrmann, Ozkaya, Ucar, Kaya and
 * Catalyurek, SIAM J. Sci. Comput. 41, 2019).
 *
 * Recursive bisection. Each bisection is multilevel: clusters that close no cycle
 * (flow_graph.h) become vertices until few are left; those are divided, from either end
 * and in the middle of a topological order; then clusters dissolve step by step, and the
 * border moves (acyclic_refine.h) at each. This is done twice, with different clusters.
 * Beside it stand divisions of the whole graph that are refined alike: the middle of a
 * topological order, and METIS's bisection, mended (emp_acyclic_start_mend()). The best counts.
 */
#ifndef EMP_SEARCH_ACYCLIC_ACYCLIC_CUT_H
#define EMP_SEARCH_ACYCLIC_ACYCLIC_CUT_H

#include <stdatomic.h>

#include "search/acyclic/flow_graph.h"

/* First divisions of a flow graph into two sides, all flows from side 0 to side 1, to be
 * refined (acyclic_refine.h). */

/** METIS's bisection, which knows no directions: flows may lead both ways. Side 0 gets about
 * \a share of the load. \a stop is as in metis_cut.h.
 * \retval EMP_ENOMEM, and those of metis_cut.h */
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
 * \retval EMP_ENOMEM, and those of search/partition/metis_cut.h
 * \retval EMP_ECYCLE  Flows form a cycle; not those of emp_flow_graph_create(). */
emp_status emp_acyclic_cut(const emp_flow_graph *graph, int32_t part_count,
                           const double *share, double imbalance, uint64_t seed,
                           const atomic_int *stop, int32_t *part_of_vertex,
                           emp_error *err);

#endif /* EMP_SEARCH_ACYCLIC_ACYCLIC_CUT_H */
