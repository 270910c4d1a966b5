/** \file policy/features/transferable.h
 * What a placer sees of the nodes of a graph (node_graph.h), in numbers that mean the same for
 * every graph, so that what is learned on one can serve another.
 *
 * Nodes stand in their topological order: position i is node order[i]. A node has a type, which is
 * the number of its first op's type in the program's own table of op types, and EMP_TRANSFERABLE
 * numbers (transferable.c lists them): logarithms of sizes and times, shares of the graph's total
 * or largest, and four numbers of the machine. None is standardized over the graph.
 *
 * Threads. One thread changes it at a time; while no thread does, it may be shared.
 */
#ifndef EMP_POLICY_FEATURES_TRANSFERABLE_H
#define EMP_POLICY_FEATURES_TRANSFERABLE_H

#include "base/rng.h"
#include "policy/features/node_graph.h"
#include "policy/nn/real.h"

enum { EMP_TRANSFERABLE_CLASSES = 10, EMP_TRANSFERABLE = 23 + EMP_TRANSFERABLE_CLASSES };

typedef struct {
    int32_t   count;      /**< of nodes */
    int32_t   type_count; /**< entries of the table, and one more for what is not in it */
    int32_t  *type;       /**< [position] */
    emp_real *value;      /**< [position][EMP_TRANSFERABLE] */
    uint64_t *devices;    /**< [position] bit d: the node may use device d */
    int32_t  *position;   /**< [node] */
    int32_t  *first;      /**< [position + 1] its neighbours in compressed rows ... */
    int32_t  *neighbor;   /**< ... by their positions */
    emp_arrays arrays;    /**< all of these */
} emp_transferable;

/** The kinds of a node's features. */
typedef enum {
    EMP_PART_TYPE,     /**< the op's type and class, and whether GPUs can run it */
    EMP_PART_SHAPE,    /**< dimensions and bytes of the output */
    EMP_PART_TIME,     /**< on devices, and as a share of the graph's */
    EMP_PART_MEMORY,   /**< that is kept between steps */
    EMP_PART_DEGREE,   /**< edges in and out, and ops of the node */
    EMP_PART_LEVEL,    /**< where the node is in the graph */
    EMP_PART_NEIGHBOR, /**< which nodes are beside it */
    EMP_TRANSFERABLE_PARTS
} emp_transferable_part;

/** The name of a part: "op types"; "nothing" if there is none (EMP_TRANSFERABLE_PARTS). */
const char *emp_transferable_part_name(emp_transferable_part part);

/** \a nodes is only read here. Clear it afterwards, also after a failure. O(V + E).
 * \retval EMP_ENOMEM */
emp_status emp_transferable_init(emp_transferable *features, const emp_node_graph *nodes,
                                 const emp_problem *problem, emp_error *err);
/** Gives each node as many neighbours as it has, drawn from all nodes: a control for what edges are
 * worth to a network. Numbers of the node that edges decide (levels, degrees) stay. O(E). */
void emp_transferable_shuffle(emp_transferable *features, emp_rng *rng);
/** Sets the four numbers of the machine to 0: a control for what they are worth. Other features that depend on
 * the machine stay: times, levels with transfers, shares of memory, and the devices of a node. O(V). */
void emp_transferable_hide_machine(emp_transferable *features);
/** Sets \a to, which is of the same nodes, from \a from, with one part mixed: each node gets another one's
 * part, by a permutation of all nodes. Neighbours are shuffled instead. EMP_TRANSFERABLE_PARTS: none is
 * mixed. Numbers of the machine are the same for all nodes and stay. An earlier mix of
 * \a to is undone. O(V + E). */
void emp_transferable_mix(emp_transferable *to, const emp_transferable *from,
                          emp_transferable_part part, emp_rng *rng);
void emp_transferable_clear(emp_transferable *features);

#endif /* EMP_POLICY_FEATURES_TRANSFERABLE_H */
