/** \file tests/graphs/import/hlo/sample.h
 * Modules of XLA as tests write them, and questions about the graphs that come of them.
 */
#ifndef EMP_TESTS_GRAPHS_IMPORT_HLO_SAMPLE_H
#define EMP_TESTS_GRAPHS_IMPORT_HLO_SAMPLE_H

#include "graphs/load.h"

/** The graph of a text, or of a file of this folder, kept by graph_keep(). \a notes: OPTIONAL. */
emp_graph *hlo_graph(const char *text, emp_import_notes *notes);
emp_graph *hlo_file(const char *name, emp_import_notes *notes);

/** The cost of graph_find(). */
const emp_op_cost *hlo_cost(const emp_graph *g, const char *name);

#endif /* EMP_TESTS_GRAPHS_IMPORT_HLO_SAMPLE_H */
