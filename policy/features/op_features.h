/** \file policy/features/op_features.h
 * What a learned placer sees of a graph: one row for each op that is free to move.
 *
 * A row is the first live op (not folded) of a colocation class that more than one device
 * of the machine may run; the class's other ops follow it, and all others have no choice.
 * A row has, as in the paper (hierarchical planner, ICLR 2018):
 *
 *     type       index into a vocabulary of the most frequent types (embedded by the net)
 *     24 values  sizes of the first 4 dimensions of the first 6 outputs
 *     12 values  positions of 6 producers and 6 consumers in a breadth-first numbering;
 *                the window, 6 a side in the paper, can be chosen
 *
 * with -1 where there is no such size, and the op's own position (or -1) where there is no
 * such neighbour. The paper does not say how it scales raw sizes and positions, which reach
 * 10^7; here a size d becomes ln(1 + d) / 10, a position becomes a fraction of the number
 * of ops, and then every column is shifted and scaled to mean 0 and variance 1 over the
 * graph's rows. Nor does it say where its numbering starts; here all variables are roots
 * at once and ops are numbered tree by tree, so that a layer's forward and backward ops
 * stand together; what no variable leads to comes last.
 *
 * Threads. Immutable after creation.
 */
#ifndef EMP_POLICY_FEATURES_OP_FEATURES_H
#define EMP_POLICY_FEATURES_OP_FEATURES_H

#include <stdbool.h>

#include "base/mem.h"
#include "policy/nn/real.h"
#include "sim/problem/problem.h"

/* The units that a learned placer decides: the colocation classes that more than one device of the
 * machine may run. Each such class with an op that is not folded is a *row*. */

/** Numbers the rows of a problem by the lowest op of each that is not folded.
 * \param[out] row_of_class  [class]; -1: no row.
 * \param[out] op_of_row     OPTIONAL [row] that lowest op.
 * \return the number of rows. O(ops + classes). */
int32_t emp_rows_number(const emp_problem *problem, int32_t *row_of_class,
                        emp_op_id *op_of_row);

enum {
    EMP_FEATURE_OUTPUTS = 6,
    EMP_FEATURE_DIMS = 4,
    EMP_FEATURE_SIZES = EMP_FEATURE_OUTPUTS * EMP_FEATURE_DIMS,
    EMP_FEATURE_NEIGHBOURS = 6,      /**< per direction, unless a window is given */
    EMP_MAX_FEATURE_NEIGHBOURS = 16, /**< the widest window */
    EMP_OP_FEATURES = EMP_FEATURE_SIZES + 2 * EMP_FEATURE_NEIGHBOURS,
    EMP_MAX_OP_FEATURES = EMP_FEATURE_SIZES + 2 * EMP_MAX_FEATURE_NEIGHBOURS,
    EMP_ROW_SIZES = 16, /**< 4 outputs x 4 dimensions, which groups add up */
    EMP_ROW_COSTS =
        4, /**< time on the first GPU, on the first CPU, bytes of variables and
                           of outputs, which groups add up, too */
    EMP_GROUP_WAVES = 7,
    EMP_GROUP_COSTS = EMP_ROW_COSTS + 1 +
                      2 * EMP_GROUP_WAVES, /**< and the group's place in the order */
    EMP_MAX_TYPES =
        200 /**< size of the vocabulary; the last index stands for all others */
};

typedef struct {
    int32_t    row_count;
    emp_op_id *op_of_row;
    int32_t    op_count;
    int32_t   *row_of_op; /**< [op] the row that decides for it; -1 = none */
    int32_t    type_count;
    int32_t   *type;  /**< [row] */
    int32_t    width; /**< values of a row: EMP_OP_FEATURES, or as the window says */
    emp_real  *value; /**< [row][width] standardized */
    double     mean[EMP_MAX_OP_FEATURES], deviation[EMP_MAX_OP_FEATURES]; /**< undo it */
    float     *sizes; /**< [row][EMP_ROW_SIZES] raw sizes, 0 where there is nothing */
    float     *cost; /**< [row][EMP_ROW_COSTS] of all ops of the row's class, as shares of
                            the sum over rows */
    float     *position; /**< [row] own place in the numbering, 0 .. 1 */
    int32_t    edge_count;
    int32_t (*edge)[2]; /**< rows joined by a tensor, from and to; no loops */
    emp_arrays arrays;  /**< all of these */
} emp_op_features;

/** O(V + E). \retval EMP_EINVAL  No op of the problem is free to move. */
emp_status emp_op_features_create(emp_op_features **out, const emp_problem *problem,
                                  emp_error *err);

/** The number in place of a neighbour that an op lacks. */
typedef enum {
    EMP_ABSENT_OWN,    /**< the op's own position */
    EMP_ABSENT_MINUS_1 /**< -1, as where there is no size */
} emp_absent;

/** The same with that many neighbours per direction, 0..EMP_MAX_FEATURE_NEIGHBOURS. */
emp_status emp_op_features_create_window(emp_op_features  **out,
                                         const emp_problem *problem, int32_t neighbours,
                                         emp_absent absent, emp_error *err);

/** Allocates the arrays, zeroed, for tests that fill them by hand; the window is the
 * paper's. */
emp_status emp_op_features_create_empty(emp_op_features **out, int32_t row_count,
                                        int32_t op_count, int32_t edge_count,
                                        emp_error *err);

void emp_op_features_destroy(emp_op_features *features);

/* The placer network's features of a grouping: one row for each group that has members.
 *
 *     types      how many of the group's ops have each type
 *     16 values  sums of its ops' output sizes
 *     groups     1 where the two groups share a tensor
 *
 * Counts and sums n become ln(1 + n) (raw in the paper, which is silent on scale).
 *
 * Groups without members are left out by default: no reward depends on their device. Groups are
 * by default in the order of their ops' mean position, so that neighbours in the sequence are
 * neighbours in the graph; columns of the adjacency keep the groups' own numbers. */

/** In which order groups are given to the placer network. */
typedef enum {
    EMP_ORDER_POSITION, /**< by the mean position of their ops */
    EMP_ORDER_NUMBER,
    EMP_ORDER_RANDOM, /**< one for each seed */
    EMP_ORDER_REVERSE /**< by mean position, the last first */
} emp_group_sequence;
#define EMP_GROUP_SEQUENCE_WORDS "position|number|random|reverse"

/** Numbers per group. */
int32_t emp_group_feature_count(const emp_op_features *ops, int32_t group_count);

/** Writes the groups that have members, or with \a has_empty all, into \a order, as \a
 * sequence says (ties by number); returns how many. Those without members have no position
 * and come last by it. \a seed is for a random sequence. \a sum is scratch for
 * 2 x group_count values. O(rows + groups^2). */
int32_t emp_group_order(int32_t *order, const emp_op_features *ops,
                        const int32_t *group_of_row, int32_t group_count,
                        emp_group_sequence sequence, bool has_empty, uint64_t seed,
                        double *sum);

/** Fills \a x, a row of features for each of the first \a used groups of \a order.
 * \a step_of_group is scratch for group_count entries. O(rows + edges + size of x). */
void emp_group_features(emp_real *x, const emp_op_features *ops,
                        const int32_t *group_of_row, int32_t group_count,
                        const int32_t *order, int32_t used, int32_t *step_of_group);

/** The same with rows \a width apart, at least emp_group_feature_count(); the rest is 0. */
void emp_group_features_wide(emp_real *x, int64_t width, const emp_op_features *ops,
                             const int32_t *group_of_row, const int32_t *order,
                             int32_t used, int32_t *step_of_group);

/** Sets EMP_GROUP_COSTS numbers of each used group, \a stride apart: ln(1 + share of each cost
 * x used), the group's place z in the order from 0 to 1, and sines and cosines of pi 2^i z.
 * \a step_of_group is the one that
 * emp_group_features() has left. O(rows + used). */
/** Shifts and scales the first \a columns of \a count rows, \a stride apart, to mean 0 and variance 1;
 * columns whose values are all alike become 0. */
void emp_group_standardize(emp_real *x, int64_t stride, int32_t count, int32_t columns);

void emp_group_costs(emp_real *x, int64_t stride, const emp_op_features *ops,
                     const int32_t *group_of_row, const int32_t *step_of_group,
                     int32_t used);

#endif /* EMP_POLICY_FEATURES_OP_FEATURES_H */
