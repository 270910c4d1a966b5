/** \file tests/graphs/import/sample.h
 * A small training graph as a file, and helpers to load graphs from memory.
 */
#ifndef EMP_TESTS_GRAPHS_IMPORT_SAMPLE_H
#define EMP_TESTS_GRAPHS_IMPORT_SAMPLE_H

#include "graphs/load.h"
#include "tests/support/proto_writer.h"

/** One dense layer with its loss, gradient, and SGD update: the nodes of a GraphDef.
 * Unknown batch size; an initialiser and a saver that no step runs. */
void sample_write_nodes(proto_writer *w);

/** A GraphDef as text, of statements with semicolons between:
 *
 *     x = Placeholder - dtype=DT_FLOAT shape=[4,-1]; y = f x,^x T; function f a b;
 *     s = Relu a T; return b s:activations:0; control s
 *
 * A node has a name, a type, inputs ("-": none) and attributes: types, shapes, a list of one scalar "{}", "true" and functions "@f"; T is that of
 * float. A function has arguments and results, and goes on to the next one. Static storage. */
const char *sample_text(const char *statements);

/** Saves \a w to a file of its own and loads it. */
emp_status sample_load(emp_graph **out, const proto_writer *w,
                       const emp_import_params *params, emp_error *err);

/** Reads a graph as emp_import_load() does between the file and the targets. */
emp_status sample_read(emp_graph **graph, const void *bytes, size_t size, emp_error *err);

/** Where sample_load() puts its file; messages begin with it. */
const char *sample_path(void);

#endif /* EMP_TESTS_GRAPHS_IMPORT_SAMPLE_H */
