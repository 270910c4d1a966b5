/** \file tests/graphs/import/read_memory.h
 * Graphs of files that lie in memory, by one reader of graphs/import/notes/readers.h.
 */
#ifndef EMP_TESTS_GRAPHS_IMPORT_READ_MEMORY_H
#define EMP_TESTS_GRAPHS_IMPORT_READ_MEMORY_H

#include "graphs/import/notes/readers.h"
#include "graphs/import/traces/kineto.h"

typedef emp_status read_memory_fn(emp_graph_builder *builder, emp_reading *r,
                                  emp_error *err);

/** The members that a reading points to. Zero-initialise. */
typedef struct {
    emp_file           file; /**< its bytes are borrowed */
    emp_kineto         trace;
    emp_import_devices devices;
    emp_import_notes   notes;
    emp_import_params  params;
    emp_spec_parts     spec;
    int64_t            values[EMP_READING_VALUES_BYTES / sizeof(int64_t)];
} memory_reading;

/** A reading of these bytes, as JSON if they are, with the defaults of \a options (NULL: none). */
emp_reading read_memory_begin(memory_reading *m, const void *bytes, size_t size,
                              const emp_option *options);
void        read_memory_end(memory_reading *m);

/** Reads the bytes, makes the graph, and ends the reading. */
emp_status read_memory(emp_graph **graph, const void *bytes, size_t size,
                       const emp_option *options, read_memory_fn *read, emp_error *err);

/** The body of a driver of libFuzzer: reads the bytes, if there are any, and destroys the graph. \return 0. */
int read_memory_fuzz(const void *bytes, size_t size, const emp_option *options,
                     read_memory_fn *read);

typedef emp_status memory_load_fn(emp_graph **graph, const void *bytes, size_t size,
                                  emp_error *err);

/** Loads the bytes with each byte changed a few times, and cut off behind it once: there must be a graph
 * or a message, and no memory left. */
void read_memory_damaged(const void *bytes, size_t size, memory_load_fn *load);

#endif /* EMP_TESTS_GRAPHS_IMPORT_READ_MEMORY_H */
