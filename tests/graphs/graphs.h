/** \file tests/graphs/graphs.h
 * Graphs of files, and questions about them, in a line each. A graph that is not there, or an op,
 * fails the test.
 */
#ifndef EMP_TESTS_GRAPHS_GRAPHS_H
#define EMP_TESTS_GRAPHS_GRAPHS_H

#include "graphs/load.h"
#include "tests/test.h"

/* ---- loading ---- */

/** The step of a source, kept by graph_keep(). \a notes, \a devices: OPTIONAL. */
emp_graph *graph_load(const char *source, emp_import_notes *notes,
                      emp_import_devices *devices);

/** The whole graph of a file by emp_import_load(), with the parameters by default. */
emp_graph *graph_import(const char *path, emp_import_notes *notes,
                        emp_import_devices *devices);

/** The whole graph of a workload, kept by graph_keep(). */
emp_graph *graph_build(const char *spec);

/** Path of a file of the sources; static storage. */
const char *graph_source_path(const char *path);

/** Expects that the source is refused with this status, or any where it is EMP_OK, and a message that has
 * \a part in it. */
void graph_expect_refused(const char *source, emp_status status, const char *part);

/** Texts of files, which may have ' in place of ", and parts of the messages about them. */
typedef struct {
    const char *text, *part;
} graph_fault;

/** Expects that all texts are refused as files of that name, and leave no memory. */
void graph_expect_faults(const char *name, const graph_fault *faults, size_t count,
                         emp_status status);

/** Leaves the graph to graph_tear_down(). */
emp_graph *graph_keep(emp_graph *g);

/** Removes the folder of scratch.h, if there is one, and the graphs that are kept, and expects that no memory is left;
 * as a Criterion .fini. */
void graph_tear_down(void);

/** Expects that every failure of an allocation is reported, where the source is loaded. */
void graph_survives(const char *source);

/** \a text with the first \a from in it replaced; static storage. Fails if there is none. */
const char *graph_replace(const char *text, const char *from, const char *to);

/** Whether an assumption, a warning or a problem has these words. */
bool graph_is_noted(const emp_import_notes *notes, const char *words);

/* ---- questions ---- */

/** The op of a name, or the only one with this behind a "/". */
emp_op_id   graph_find(const emp_graph *g, const char *name);
const char *graph_type(const emp_graph *g, const char *name);
int32_t     graph_count_type(const emp_graph *g, const char *type);

/** Whether an op reads an output of another, or waits for it. */
bool graph_reads(const emp_graph *g, const char *consumer, const char *producer);
bool graph_waits(const emp_graph *g, const char *name, const char *before);

/** Whether two ops are in one colocation class. */
bool graph_is_bound(const emp_graph *g, const char *name, const char *other);

/** Expects ops of types as in "MatMul=2 Relu=0". */
void graph_expect_types(const emp_graph *g, const char *counts);

/** Expects reads or waits as in "consumer<producer other<!not_read". */
void graph_expect_reads(const emp_graph *g, const char *pairs);
void graph_expect_waits(const emp_graph *g, const char *pairs);

/** FLOPs of the ops of a class. */
double graph_class_flops(const emp_graph *g, emp_op_class op_class);

#endif /* EMP_TESTS_GRAPHS_GRAPHS_H */
