/** \file policy/go/options.h
 * The options of GO; the table in go.c has their defaults.
 */
#ifndef EMP_POLICY_GO_OPTIONS_H
#define EMP_POLICY_GO_OPTIONS_H

#include "policy/go/naming.h"
#include "policy/go/net.h"

typedef enum { EMP_NODES_ROWS, EMP_NODES_GROUPS } emp_go_nodes;
typedef enum { EMP_DRAWS_INDEPENDENT, EMP_DRAWS_COUPLED } emp_go_draws;
typedef enum { EMP_FAILURE_FIXED, EMP_FAILURE_GRADED } emp_go_failure;
typedef enum { EMP_EDGES_GRAPH, EMP_EDGES_SHUFFLED } emp_go_edges;

typedef struct {
    int32_t        samples, epochs, rounds;
    double         clip_ratio, clip, entropy_first, entropy_last, head_gain;
    emp_adam       adam;
    emp_go_draws   draws;
    emp_go_failure failure;
    emp_modulate   modulate;
    emp_go_names   names;
    emp_go_nodes   nodes;
    emp_go_edges   edges;
    bool           memory, fit, machine;
    int32_t        type_width, width, graph_layers, layers, heads, hidden, segment;
    int32_t        max_nodes, groups, max_devices, levels;
} emp_go_options;

#endif /* EMP_POLICY_GO_OPTIONS_H */
