/** \file policy/go/options.h
 * The options of GO; the table in go.c has their defaults.
 */
#ifndef EMP_POLICY_GO_OPTIONS_H
#define EMP_POLICY_GO_OPTIONS_H

#include "policy/features/node_graph.h"
#include "policy/go/net.h"
#include "policy/nn/real.h"
#include "policy/reinforce/learner.h"

/* The names of an example's GPUs.
 *
 * Which of two equal GPUs is the first says nothing, and a policy that draws all nodes at once
 * cannot learn what says nothing: so an example's GPUs are named anew, in one of two ways.
 *
 *     used     in the order in which the nodes first use them
 *     matched  so that the network finds the example as likely as it can: an assignment
 *              problem, solved anew at every step
 *
 * Matched names of several graphs agree where the network sees likeness, whatever comes first. */

typedef enum { EMP_NAMES_USED, EMP_NAMES_MATCHED } emp_go_names;

typedef struct {
    const emp_machine    *machine;
    const emp_node_graph *nodes;
    const emp_device_id  *device_of_node; /**< the example */
    const emp_real       *p;              /**< [position][choice]; of `matched` alone */
    int32_t               choices;
} emp_go_naming;

/** \param[out] name_of_device  [EMP_MAX_DEVICES]; other devices than GPUs keep theirs. */
void emp_go_name_devices(const emp_go_naming *naming, emp_go_names how,
                         uint8_t *name_of_device);

/** The assignment of rows to columns with the greatest sum, by the Hungarian method, O(count^3).
 * \param gain  [row][EMP_MAX_DEVICES]
 * \param[out] column_of_row  [count] */
void emp_go_assign(double gain[][EMP_MAX_DEVICES], int32_t count, int32_t *column_of_row);

typedef enum { EMP_NODES_ROWS, EMP_NODES_GROUPS } emp_go_nodes;
typedef enum { EMP_DRAWS_INDEPENDENT, EMP_DRAWS_COUPLED } emp_go_draws;
typedef enum { EMP_FAILURE_FIXED, EMP_FAILURE_GRADED } emp_go_failure;
typedef enum { EMP_EDGES_GRAPH, EMP_EDGES_SHUFFLED } emp_go_edges;

typedef struct {
    emp_learner_options learner; /**< its entropy is the first update's */
    int32_t             epochs, rounds;
    double              clip_ratio, entropy_last, head_gain;
    emp_go_draws        draws;
    emp_go_failure      failure;
    emp_modulate        modulate;
    emp_go_names        names;
    emp_go_nodes        nodes;
    emp_go_edges        edges;
    bool                memory, fit, machine;
    int32_t             type_width, width, graph_layers, layers, heads, hidden, segment;
    int32_t             max_nodes, groups, max_devices, levels;
} emp_go_options;

#endif /* EMP_POLICY_GO_OPTIONS_H */
