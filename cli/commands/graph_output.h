/** \file cli/commands/graph_output.h
 * A graph as a file for other programs: what --out of `emplace graph` writes.
 */
#ifndef EMP_CLI_COMMANDS_GRAPH_OUTPUT_H
#define EMP_CLI_COMMANDS_GRAPH_OUTPUT_H

#include "sim/problem/problem.h"

enum { CLI_GRAPH_PATH_BYTES = 4096 };

/** What is written, and where. Everything is borrowed. */
typedef struct {
    const char        *path; /**< ends in .json, or in .csv: then the ops go there */
    const char        *spec;
    const emp_graph   *graph;
    const emp_problem *problem; /**< of the graph; NULL: there is no machine */
} cli_graph_output;

/** Whether the path says how to write: by .json or .csv. */
bool cli_graph_output_is_named(const char *path);

/** The second file of x.csv, x.edges.csv, which has the edges. False where there is none.
 * \param[out] edges  Of CLI_GRAPH_PATH_BYTES bytes. */
bool cli_graph_output_edges(char *edges, const char *path);

/** Writes the file, or both (docs/formats.md). O(V + E).
 * \retval EMP_ENOMEM, EMP_EIO
 * \retval EMP_EINVAL  A name is no UTF-8, which JSON needs. */
emp_status cli_graph_output_write(const cli_graph_output *output, emp_error *err);

#endif /* EMP_CLI_COMMANDS_GRAPH_OUTPUT_H */
