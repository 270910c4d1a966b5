/** \file tests/search/partition/ring_graph.h
 * A graph that is large enough for a cut to take tenths of a second.
 */
#ifndef EMP_TESTS_SEARCH_PARTITION_RING_GRAPH_H
#define EMP_TESTS_SEARCH_PARTITION_RING_GRAPH_H

#include "search/partition/partition_graph.h"

enum { RING_VERTICES = 200000, RING_PARTS = 64 };

/** A ring with chords. What it points to is freed by ring_graph_free(). */
emp_partition_graph ring_graph_make(void);
void                ring_graph_free(emp_partition_graph *graph);

#endif /* EMP_TESTS_SEARCH_PARTITION_RING_GRAPH_H */
