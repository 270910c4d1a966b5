/** \file tests/support/facts.h
 * Facts of other people's files (tests/data/README.md), and files that are made from them.
 *
 * A test of the tier peers has EMP_PEERS=1: it gets the other people's files themselves, from
 * ../shared, and is skipped where they are not. Without it the same test gets a file made here.
 */
#ifndef EMP_TESTS_SUPPORT_FACTS_H
#define EMP_TESTS_SUPPORT_FACTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/graph/graph.h"
#include "tests/support/problems.h"

/** A table of tests/data: tab-separated, with a heading. Its first cells are never empty. */
typedef struct {
    FILE *file;
    char  line[8192], first[128];
    char *cell[16];
    int   count;
} fact_table;

/** Opens the table and reads its heading into the cells; ends the program if it is missing. */
void fact_table_open(fact_table *t, const char *name);
/** Reads the next row; closes the table and returns false behind the last one. */
bool fact_table_next(fact_table *t);

/** A training graph that TensorFlow's own Python front end made, and the workload that is to
 * equal it. The columns of tensorflow_graphs.tsv. */
typedef struct {
    char    name[64], spec[96];
    int64_t nodes, inputs, controls, parameters; /**< of the whole graph */
    int64_t step_ops, step_edges, step_controls; /**< of its step */
    int64_t unknown_shapes;                      /**< of sampled softmax alone */
    int64_t live_ops, launching_ops, kernels;    /**< of a prototype; 0 = unknown */
    double  product_gflop;                       /**< likewise */
    double  step_gflop;
    char    digest[17]; /**< of names, types, inputs and their order; in hexadecimal */
} fact_graph;

enum { FACT_GRAPHS = 8 };

/** All of them; valid for ever. */
fact_graph *fact_graphs(void);

/** Expects the same nodes as in TensorFlow's graph of that digest, in the same order: name,
 * type, inputs, control inputs. */
void fact_expect_nodes(const char *name, const char *digest, const emp_graph *graph);

/** Expects the ops by type that TensorFlow's graph has, and no others. */
void fact_graph_expect_types(const fact_graph *g, const emp_graph *graph);

/** Whether this is a test of the tier peers. */
bool fact_is_peer(void);

/** Path of a file in ../shared; skips the test when it is not there. */
const char *fact_peer_path(const char *folder, const char *name, const char *ending);

/** Path of the graph as a GraphDef: TensorFlow's, or the workload written as one into the
 * scratch folder of the test. */
const char *fact_graph_path(const fact_graph *g);

/** The problem of a file with costs, on its own devices, or on a CPU and GPUs, \a device_count together, if that is not
 * 0; by its own rules, or by \a runtime if that is not NULL. */
void fact_create_instance(task *t, const char *path, int32_t device_count,
                          const char *runtime);

#endif /* EMP_TESTS_SUPPORT_FACTS_H */
