/** \file search/groups/class_groups.h
 * Colocation classes in groups, by whichever way to make them.
 */
#ifndef EMP_SEARCH_GROUPS_CLASS_GROUPS_H
#define EMP_SEARCH_GROUPS_CLASS_GROUPS_H

#include <stdatomic.h>

#include "search/partition/partition_graph.h"
#include "sim/problem/problem.h"

/* The members of each group, one group after another: what a move of a group touches. */

typedef struct {
    int32_t  group_count; /**< all have members */
    int32_t *first;       /**< [group + 1] into member */
    int32_t *member;      /**< ascending in a group */
} emp_members;

/** Lists what \a group_of_item [count] says; -1 is in no group. Groups among \a group_count
 * without members are dropped, so that later ones move up. O(count + groups).
 * \retval EMP_ENOMEM */
emp_status emp_members_init(emp_members *members, const int32_t *group_of_item,
                            int32_t count, int32_t group_count, emp_error *err);

/** The ops of groups of colocation classes. */
emp_status emp_members_init_ops(emp_members *members, const emp_graph *graph,
                                const int32_t *group_of_class, int32_t group_count,
                                emp_error *err);
/** Gives every member the value of its group; items in no group keep theirs. */
void emp_members_spread(const emp_members *members, const int32_t *value_of_group,
                        int32_t *value_of_item);
void emp_members_clear(emp_members *members); /**< legal after a failed init */

/* The experts of each routed layer of a language model, found by the names of their ops: "model.layers.3.mlp.experts.
 * up_proj" and "blk.3.ffn_up_exps" are of layer 3. They hold most of the bytes of such a model and do little of its
 * work, so that programs leave the experts of some layers to the CPU (llama.cpp's --n-cpu-moe).
 * 
 * The ops between the matrices of experts, their gradients and their optimizer are in the group as well.
 * Shared experts, which every token takes, are not. */

/** How many of the first bytes of an op's name are the layer whose experts it is of; 0 = it is of none. */
size_t emp_expert_layer_length(const char *op_name);

/** Whether some op is of experts. O(names). */
bool emp_has_experts(const emp_graph *graph);

/** Numbers the layers with experts from 0, in the graph's topological order.
 * \param[out] group_of_class  [class]; -1: no op of it is of experts, or it can only run on a CPU.
 * O(names). \retval EMP_ENOMEM */
emp_status emp_expert_groups(int32_t *group_of_class, int32_t *group_count,
                             const emp_problem *problem, emp_error *err);

/* Colocation classes in groups that exchange much, on two levels: each coarse group
 * consists of fine ones. METIS cuts the graph that partitioners see twice, into many groups
 * and into few; where a border of the few runs through one of the many, that becomes two. */

typedef struct {
    int32_t  fine_count, coarse_count; /**< groups that have members */
    int32_t  class_count;
    int32_t *fine_of_class;  /**< [class]; -1: can only run on a CPU, or has no live op */
    int32_t *coarse_of_fine; /**< [fine] */
} emp_clusters;

/** At most \a coarse groups, and about \a fine; the largest has about \a imbalance times
 * the mean load. \a stop is as in metis_cut.h. The caller destroys \a *out. O(V log V + E).
 * \retval EMP_ENOMEM, and as for metis_cut.h */
emp_status emp_clusters_create(emp_clusters **out, const emp_problem *problem,
                               int32_t fine, int32_t coarse, double imbalance,
                               uint64_t seed, const atomic_int *stop, emp_error *err);
void       emp_clusters_destroy(emp_clusters *clusters);

typedef enum {
    EMP_CLASS_GROUPS_METIS,   /**< metis_cut.h: what exchanges much */
    EMP_CLASS_GROUPS_SCOTCH,  /**< scotch_cut.h: the same */
    EMP_CLASS_GROUPS_COLOCRL, /**< colocation_groups.h: as many as its rules make */
    EMP_CLASS_GROUPS_NAMES, /**< emp_name_clusters(): layer x direction x block of 8 steps */
    EMP_CLASS_GROUPS_ALL, /**< of moves.h: METIS and NAMES, and EXPERTS if there are any */
    EMP_CLASS_GROUPS_EXPERTS /**< emp_expert_groups(): the experts of a layer, all else in no group */
} emp_class_grouping;
#define EMP_CLASS_GROUPING_WORDS "metis|scotch|colocrl|names"

/** What METIS and Scotch cut, for many cuts of one problem. */
typedef struct {
    const emp_partition_graph *graph; /**< of the problem, without CPUs */
    const emp_partition_graph            *
        bundles; /**< what is cut instead (emp_partition_graph_bundle()); NULL: the graph itself */
    const int32_t *bundle_of_vertex; /**< of the graph's vertices */
} emp_class_vertices;

typedef struct {
    emp_class_grouping kind;
    int32_t count; /**< groups at most, at least 1; of no effect on COLOCRL and EXPERTS */
    double  imbalance;      /**< METIS, Scotch: largest group over the mean, above 1 */
    uint64_t          seed; /**< METIS, Scotch */
    const atomic_int *stop; /**< METIS, Scotch: ends the cut; NULL: nothing does */
    const emp_class_vertices
        *vertices; /**< METIS, Scotch: borrowed; NULL: made for the cut */
} emp_class_groups_params;

/** Groups the classes of \a problem; groups may be empty.
 * \param[out] group_of_class  [class]; -1: can only run on a CPU, or has no live op.
 * \param[out] group_count
 * \retval EMP_ENOMEM, and as for the header that the kind names */
emp_status emp_class_groups(int32_t *group_of_class, int32_t *group_count,
                            const emp_problem             *problem,
                            const emp_class_groups_params *params, emp_error *err);

/** The ops of such groups, those without members left out. \a hash (base/collections.h) goes on
 * over the groups: equal ones leave equal hashes. The caller clears \a ops. */
emp_status emp_class_groups_ops(emp_members *ops, uint64_t *hash,
                                const emp_problem             *problem,
                                const emp_class_groups_params *params, emp_error *err);

/* name_clusters.c: colocation classes in clusters by what TensorFlow's naming says of their ops: layer x
 * direction x block of time steps, the units in which people cut unrolled networks.
 *
 * - Direction: forward; backward, under "gradients"; or weights, a gradient that nothing
 *   but sums, clipping and updates reads.
 * - Layer: the recurrent cell (sim/graph/op.h), or the scope of the forward op.
 * - Step: TensorFlow numbers what is made again: "MatMul", "MatMul_1", ... "MatMul_39" in
 *   a layer. Such a series is a walk through time if it has at least 8 members. The
 *   shortest of a layer has one member a step; one three times as long has three.
 *
 * Ops without a scope of their own under "gradients", such as the sums "gradients/AddN_7",
 * stand with their first input. Variables, their slots and updates are a class, which stands with
 * its first op. */

typedef struct {
    int32_t most;  /**< clusters, at least 1 */
    int32_t block; /**< time steps of a cluster, at least 1 */
} emp_name_cluster_params;

/** Clusters are as fine as \a most allows. Until there is room, scopes are cut to fewer and
 * fewer components, except scopes of cells; then blocks are doubled; then cells are cut, too;
 * in the end clusters beyond the limit share the last. Clusters are numbered by their
 * first class; all have members.
 *
 * \param[out] cluster_of_class  [class]; -1: can only run on a CPU, or has no live op.
 * \param[out] cluster_count
 * O((V + E) x length of a name). \retval EMP_ENOMEM */
emp_status emp_name_clusters(int32_t *cluster_of_class, int32_t *cluster_count,
                             const emp_problem             *problem,
                             const emp_name_cluster_params *params, emp_error *err);

#endif /* EMP_SEARCH_GROUPS_CLASS_GROUPS_H */
