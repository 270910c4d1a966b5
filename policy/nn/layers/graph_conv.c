// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/nn/layers/graph_conv.h"

#include <math.h>

#include "policy/nn/flush.h"

EMP_KERNEL static void scale_row(emp_real *y, const emp_real *x, emp_real factor,
                                 int64_t K)
{
#pragma omp simd
    for (int64_t i = 0; i < K; i++) y[i] = factor * x[i];
}

EMP_KERNEL static void add_neighbor(emp_real *y, const emp_real *x, emp_real factor,
                                    int64_t K)
{
#pragma omp simd
    for (int64_t i = 0; i < K; i++) y[i] += factor * x[i];
}

/* Of nodes with so many neighbours. */
static emp_real weight(int32_t degree_u, int32_t degree_v)
{
    return (emp_real)(1.0 / sqrt((degree_u + 1.0) * (degree_v + 1.0)));
}

void emp_graph_conv(emp_real *y, const emp_real *x, const int32_t *first,
                    const int32_t *node, int32_t B, int32_t K, int32_t threads)
{
#pragma omp parallel for num_threads(threads)
    for (int64_t v = 0; v < B; v++) {
        unsigned saved = emp_flush_begin();
        int32_t  degree = first[v + 1] - first[v];
        scale_row(&y[v * K], &x[v * K], weight(degree, degree), K);
        for (int32_t e = first[v]; e < first[v + 1]; e++) {
            int64_t u = node[e];
            add_neighbor(&y[v * K], &x[u * K], weight(degree, first[u + 1] - first[u]),
                         K);
        }
        emp_flush_end(saved);
    }
}
