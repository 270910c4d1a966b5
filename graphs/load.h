/** \file graphs/load.h
 * A source, which is a workload spec or a graph file, made into a graph. emp_graph_load() of
 * <emplace/graph.h> gives only its step.
 */
#ifndef EMP_GRAPHS_LOAD_H
#define EMP_GRAPHS_LOAD_H

#include "graphs/sources.h"

/** Loads what \a source names: a workload family with its parameters
 * (graphs/workloads/workloads.h), else a file, by its path or by a spec with one of the prefixes of
 * graphs/sources.h. The content of a file decides which reader takes it, not its name; it may be packed
 * by gzip.
 *
 * \param[out] step     What one training step runs; the caller's.
 * \param[out] whole    The graph as the front end made it; the caller's. NULL is fine.
 * \param[out] devices  What a benchmark instance is to be placed on; all 0 for other sources.
 *                      NULL is fine.
 * \retval EMP_EIO      Neither a family nor a file that can be read; the message lists the families.
 * \retval EMP_EINVAL   A spec has no path, an unknown key or a value out of range, or is for another
 *                      format.
 * \retval EMP_EFORMAT  Not a graph, truncated, hostile, or a Git LFS pointer; the message names the file
 *                      and what is wrong.
 * \retval EMP_EUNSUPPORTED, EMP_ECYCLE, EMP_ENOMEM  As emp_workload_build(), the readers, and
 *                      emp_graph_prune(). */
emp_status emp_source_load(emp_graph **step, emp_graph **whole,
                           emp_import_devices *devices, const char *source,
                           emp_error *err);

/** The same; \a notes (NULL is fine) receives what a file is, what was assumed and left out, and all
 * its problems. */
emp_status emp_source_load_noted(emp_graph **step, emp_graph **whole,
                                 emp_import_devices *devices, emp_import_notes *notes,
                                 const char *source, emp_error *err);

/** Reads the whole graph of a file by its path, its targets marked: those that \a params names, or those
 * that the file's reader marks, or all ops whose results are not read. \a devices: NULL is fine. */
emp_status emp_import_load(emp_graph **out, emp_import_devices *devices, const char *path,
                           const emp_import_params *params, emp_error *err);

/** The file that a source names: for a spec with a prefix, \a path, else \a source itself. */
const char *emp_source_file(char path[EMP_SPEC_BYTES], const char *source);

/** The format of the file that a source names; NULL: it names none that can be read. O(size). */
const emp_source_format *emp_source_format_of(const char *source);

#endif /* EMP_GRAPHS_LOAD_H */
