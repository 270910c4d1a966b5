/** \file policy/nn/products.h
 * Products of a few rows with one large matrix, for recurrent steps; and of any number
 * with one that fits a near cache.
 *
 * With up to 16 rows a matrix product is a stream of its weights. BLAS repacks them at
 * every call; here they are packed once per update into panels of some columns each,
 * which are read front to back; all rows share a pass.
 *
 * A row's result does not depend on the rows beside it, nor a column's on the pass.
 */
#ifndef EMP_POLICY_NN_PRODUCTS_H
#define EMP_POLICY_NN_PRODUCTS_H

#include <stdbool.h>

#include "base/error.h"
#include "policy/nn/real.h"

enum {
    EMP_PANEL_LANES =
        64 / (int)sizeof(emp_real),      /**< columns of the panel of a narrow matrix */
    EMP_PANEL_COLS = 4 * EMP_PANEL_LANES /**< columns of any other panel */
};

/** A (rows x cols) matrix, packed. */
typedef struct {
    emp_real *data; /**< [panel][row][column in panel], padded with zeros */
    int32_t   rows, cols;
    int32_t   width; /**< columns of a panel */
} emp_panels;

/** Which panels a call multiplies: one of so many nearly equal parts, one per thread. Who
 * alternates the direction finds the panels that came last still in the nearer cache. */
typedef struct {
    int32_t part, parts;
    bool    descends;
} emp_panels_pass;

emp_status emp_panels_init(emp_panels *panels, int32_t rows, int32_t cols,
                           emp_error *err);
void       emp_panels_clear(emp_panels *panels);

/** Packs \a w, stored row-major as (rows x cols), or as (cols x rows) if \a transpose. */
void emp_panels_pack(emp_panels *panels, const emp_real *w, bool transpose);

/** y[r] += x[r] W for \a count rows and the columns of \a pass; row r starts at
 * y + r y_stride and x + r x_stride. */
void emp_panels_multiply(const emp_panels *panels, emp_real *y, int64_t y_stride,
                         const emp_real *x, int64_t x_stride, int32_t count,
                         emp_panels_pass pass);

/** y[r] = bias + x[r] W for \a count rows. */
void emp_panels_affine(const emp_panels *panels, emp_real *y, int64_t y_stride,
                       const emp_real *bias, const emp_real *x, int64_t x_stride,
                       int32_t count);

/** y[r] = start[r] + the part of x[r] W of \a depth rows of W from \a first on. The start may be y, and is
 * zeros if NULL. */
void emp_panels_part(const emp_panels *panels, emp_real *y, int64_t y_stride,
                     const emp_real *start, int64_t start_stride, const emp_real *x,
                     int64_t x_stride, int32_t count, int32_t first, int32_t depth);

/** Rows that should go through all panels before the next ones do. */
enum { EMP_STRIP_ROWS = 48 };

/** y[r] = start[r] + x[r] W for \a count rows without gaps, the start's rows \a start_stride apart; the
 * start may be y, one row with a stride of 0, or NULL for zeros. Long sums are cut where OpenBLAS cuts
 * them, so results are its own. */
void emp_panels_rows(const emp_panels *panels, emp_real *y, const emp_real *start,
                     int64_t start_stride, const emp_real *x, int32_t count);

/* Gradients of weights that many rows share: sums of outer products of rows.
 *
 * BLAS packs both operands at every call, which costs as much as a fifth of a product
 * whose result is narrow. Here the result is summed tile by tile in registers, straight
 * from rows that are still in a near cache. */

/** Rows of \a dy end after a multiple of so many reals; what stands behind the last
 * column may be anything. */
enum { EMP_OUTER_ALIGN = 16 };

/** dw += x' dy over \a rows rows. x is (rows, m) and dy is (rows, n), row r at
 * x + r x_stride and dy + r dy_stride; dw is (m, n). Each element's products are added
 * up from row 0 on, then added to dw. */
void emp_outer_add(emp_real *dw, const emp_real *x, int64_t x_stride, int32_t m,
                   const emp_real *dy, int64_t dy_stride, int32_t n, int32_t rows);

/** db += the rows of dy, one after another. */
void emp_outer_add_rows(emp_real *db, const emp_real *dy, int64_t dy_stride, int32_t n,
                        int32_t rows);

/* Products of many rows with one small matrix, and the sums of outer products that are the
 * gradients of such a matrix.
 *
 * BLAS packs both operands, and of these one is as large as the result. A product packs only the small
 * one, and a sum of outer products packs neither. Columns that are 0 in some rows that follow
 * each other are left out where the first of many rows has zeros. Long sums are cut where OpenBLAS cuts
 * them, so results are as close to its own as can be; sums of outer products are not cut where columns are left
 * out. They do not depend on the number of threads. */

/** How many of \a left products are summed before they are added to the result. */
int32_t emp_next_sum(int32_t left);

/** Whether the products of \a rows rows with a matrix of \a depth rows and \a cols columns are made
 * faster here than by BLAS. */
bool emp_tall_suits(int32_t rows, int32_t depth, int32_t cols);

/** y[r] = start[r] + x[r] W for \a rows rows without gaps, the start's rows \a start_stride apart;
 * it may be y, one row with a stride of 0, or NULL for zeros. W is (depth, cols), stored
 * as (cols, depth) if \a transpose, and such that emp_tall_suits(). */
void emp_tall_multiply(emp_real *y, const emp_real *start, int64_t start_stride,
                       const emp_real *x, const emp_real *w, bool transpose, int32_t rows,
                       int32_t depth, int32_t cols, int32_t threads);

/** Whether emp_tall_add_outer() is faster than BLAS, whose kernels for small products do not cut long sums. */
bool emp_outer_suits(int32_t rows, int32_t m, int32_t n);

/** dw += x' dy, with x (rows, m), dy (rows, n) and dw (m, n) without gaps, such that emp_outer_suits(). */
void emp_tall_add_outer(emp_real *dw, const emp_real *x, const emp_real *dy, int32_t rows,
                        int32_t m, int32_t n, int32_t threads);

/* Matrix products by OpenBLAS. Who makes a network calls emp_openblas_open() first
 * (base/blas/openblas.h), which can fail. */

/** c = a b + beta c, row-major; a is (m, k) and b is (k, n) after the transpositions
 * asked for. The lengths of the stored rows are lda, ldb, ldc. */
void emp_blas_gemm(bool transpose_a, bool transpose_b, int32_t m, int32_t n, int32_t k,
                   const emp_real *a, int32_t lda, const emp_real *b, int32_t ldb,
                   emp_real beta, emp_real *c, int32_t ldc);

/** The same on several threads if it is large, in tasks that do not depend on their number. */
void emp_blas_gemm_shared(bool transpose_a, bool transpose_b, int32_t m, int32_t n,
                          int32_t k, const emp_real *a, int32_t lda, const emp_real *b,
                          int32_t ldb, emp_real beta, emp_real *c, int32_t ldc,
                          int32_t threads);

/* Transposes. */

/** y[c][r] = x[r][c] for \a rows rows and \a cols columns of x. Rows of x and of y begin every so many numbers. */
void emp_transpose(emp_real *y, int64_t y_stride, const emp_real *x, int64_t x_stride,
                   int64_t rows, int64_t cols);

/* Columns of rows that are all 0. Behind a ReLU half of the numbers are 0, and most of these are units that are 0 in
 * all rows nearby, so products leave out the terms of such columns. */

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

#endif /* EMP_POLICY_NN_PRODUCTS_H */
