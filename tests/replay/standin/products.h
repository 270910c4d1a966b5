/** \file tests/replay/standin/products.h
 * One matrix product in single precision, columns first as in cuBLAS.
 */
#ifndef EMP_TESTS_REPLAY_STANDIN_PRODUCTS_H
#define EMP_TESTS_REPLAY_STANDIN_PRODUCTS_H

#include <stdbool.h>

/** c [m x n] = alpha op(a) [m x k] op(b) [k x n] + beta c. */
typedef struct {
    bool         is_a_transposed, is_b_transposed;
    int          m, n, k;
    float        alpha;
    const float *a;
    int          lda;
    const float *b;
    int          ldb;
    float        beta;
    float       *c;
    int          ldc;
} standin_product;

/** Computes it, on the calling thread. */
void standin_multiply(const standin_product *product);

#endif /* EMP_TESTS_REPLAY_STANDIN_PRODUCTS_H */
