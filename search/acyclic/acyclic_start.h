/** \file search/acyclic/acyclic_start.h
 * First divisions of a flow graph into two sides, all flows from side 0 to side 1, to be
 * refined (acyclic_refine.h).
 */
#ifndef EMP_SEARCH_ACYCLIC_ACYCLIC_START_H
#define EMP_SEARCH_ACYCLIC_ACYCLIC_START_H

#include <stdatomic.h>

#include "search/acyclic/flow_graph.h"

/** The first vertices of a topological \a order, until side 0 has about \a share of the
 * load. O(V). */
void emp_acyclic_start_order(const emp_flow_graph *graph, const int32_t *order,
                             double share, int8_t *side);

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

#endif /* EMP_SEARCH_ACYCLIC_ACYCLIC_START_H */
