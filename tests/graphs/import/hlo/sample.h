/** \file tests/graphs/import/hlo/sample.h
 * Modules of XLA as tests write them, and questions about the graphs that come of them.
 */
#ifndef EMP_TESTS_GRAPHS_IMPORT_HLO_SAMPLE_H
#define EMP_TESTS_GRAPHS_IMPORT_HLO_SAMPLE_H

#include "graphs/load.h"

/** Reads a text, or a file of the folder samples; the caller clears \a notes. */
emp_status hlo_read_text(emp_graph **graph, emp_import_notes *notes, const char *text,
                         emp_error *err);
emp_status hlo_read_file(emp_graph **graph, emp_import_notes *notes, const char *name,
                         emp_error *err);

/** The graph of a text that is right; what was assumed goes by. */
emp_graph *hlo_graph(const char *text);

/** The only op whose name is that behind some "/", and its cost; fails if there is none. */
emp_op_id          hlo_find(const emp_graph *g, const char *ending);
const emp_op_cost *hlo_cost(const emp_graph *g, const char *ending);
bool hlo_reads(const emp_graph *g, const char *consumer, const char *producer);
bool hlo_waits(const emp_graph *g, const char *op, const char *before);

/** Whether one of the assumptions, or of the problems, has these words. */
bool hlo_is_assumed(const emp_import_notes *notes, const char *words);
bool hlo_is_problem(const emp_import_notes *notes, const char *words);

#endif /* EMP_TESTS_GRAPHS_IMPORT_HLO_SAMPLE_H */
