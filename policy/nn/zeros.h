/** \file policy/nn/zeros.h
 * Which numbers of rows are all 0. Behind a ReLU half of them are, and most of these are units that are 0 in
 * all rows nearby: products leave out what such columns would add.
 */
#ifndef EMP_POLICY_NN_ZEROS_H
#define EMP_POLICY_NN_ZEROS_H

#include "policy/nn/real.h"

enum {
    EMP_ZEROS_ROWS = 6,   /**< rows that share a list */
    EMP_ZEROS_MOST = 320, /**< columns of a list */
    EMP_ZEROS_LANES = 16, /**< columns that are looked at together */
    EMP_ZEROS_WORTH =
        12 /**< percent of zeros from which lists save more than they take */
};

/** Columns that are not 0 in all rows of a list, ascending. */
typedef struct {
    int32_t count;
    int32_t column[EMP_ZEROS_MOST +
                   EMP_ZEROS_LANES]; /**< those behind \a count may be anything */
} emp_used_columns;

/** Zeros among a hundred numbers of \a samples rows, spread over all. */
int32_t emp_zeros_percent(const emp_real *x, int64_t stride, int64_t rows,
                          int64_t columns, int64_t samples);

/** Lists for all rows, EMP_ZEROS_ROWS each. \a columns <= EMP_ZEROS_MOST. */
void emp_zeros_list(emp_used_columns *used, const emp_real *x, int64_t stride,
                    int64_t rows, int64_t columns);

#endif /* EMP_POLICY_NN_ZEROS_H */
