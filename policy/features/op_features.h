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

#include "base/arrays.h"
#include "policy/nn/real.h"
#include "sim/problem/problem.h"

enum {
    EMP_FEATURE_OUTPUTS = 6,
    EMP_FEATURE_DIMS = 4,
    EMP_FEATURE_SIZES = EMP_FEATURE_OUTPUTS * EMP_FEATURE_DIMS,
    EMP_FEATURE_NEIGHBOURS = 6,      /**< per direction, unless a window is given */
    EMP_MAX_FEATURE_NEIGHBOURS = 16, /**< the widest window */
    EMP_OP_FEATURES = EMP_FEATURE_SIZES + 2 * EMP_FEATURE_NEIGHBOURS,
    EMP_MAX_OP_FEATURES = EMP_FEATURE_SIZES + 2 * EMP_MAX_FEATURE_NEIGHBOURS,
    EMP_ROW_SIZES = 16, /**< 4 outputs x 4 dimensions, which groups add up */
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
    float     *sizes;    /**< [row][EMP_ROW_SIZES] raw sizes, 0 where there is nothing */
    float     *position; /**< [row] own place in the numbering, 0 .. 1 */
    int32_t    edge_count;
    int32_t (*edge)[2]; /**< rows joined by a tensor, from and to; no loops */
    emp_arrays arrays;  /**< all of these */
} emp_op_features;

/** O(V + E). \retval EMP_EINVAL  No op of the problem is free to move. */
emp_status emp_op_features_create(emp_op_features **out, const emp_problem *problem,
                                  emp_error *err);

/** What stands for a neighbour that an op lacks. */
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

#endif /* EMP_POLICY_FEATURES_OP_FEATURES_H */
