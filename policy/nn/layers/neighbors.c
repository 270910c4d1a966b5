// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/nn/layers/neighbors.h"

#include <stdbool.h>
#include <string.h>

EMP_KERNEL static void take(emp_real *restrict m, int32_t *restrict chosen,
                            const emp_real *restrict x, int32_t u, int32_t C)
{
    for (int32_t i = 0; i < C; i++) {
        bool is_more = chosen[i] < 0 || x[i] > m[i];
        m[i] = is_more ? x[i] : m[i];
        chosen[i] = is_more ? u : chosen[i];
    }
}

void emp_neighbor_max_forward(emp_real *m, int32_t *chosen, const emp_real *x,
                              const int32_t *first, const int32_t *node, int32_t N,
                              int32_t C, int32_t threads)
{
#pragma omp parallel for num_threads(threads)
    for (int64_t v = 0; v < N; v++) {
        memset(&m[v * C], 0, (size_t)C * sizeof *m);
        for (int32_t i = 0; i < C; i++) chosen[v * C + i] = -1;
        for (int32_t e = first[v]; e < first[v + 1]; e++)
            take(&m[v * C], &chosen[v * C], &x[(int64_t)node[e] * C], node[e], C);
    }
}

/* Columns that threads share out: a cache line of them. */
enum { COLUMNS = 16 };

/* Row by row through the columns from `low` to `high`. */
static void scatter(emp_real *dx, const emp_real *dm, const int32_t *chosen, int64_t N,
                    int64_t C, int64_t low, int64_t high)
{
    for (int64_t i = 0; i < N * C; i += C)
        for (int64_t c = low; c < high; c++)
            if (chosen[i + c] >= 0) dx[chosen[i + c] * C + c] += dm[i + c];
}

void emp_neighbor_max_backward(emp_real *dx, const emp_real *dm, const int32_t *chosen,
                               int32_t N, int32_t C, int32_t threads)
{
    const int64_t lines = ((int64_t)C + COLUMNS - 1) / COLUMNS;
    const int64_t parts = threads < lines ? threads : lines;

    memset(dx, 0, (size_t)N * (size_t)C * sizeof *dx);
#pragma omp parallel for num_threads((int)parts)
    for (int64_t part = 0; part < parts; part++) {
        const int64_t low = lines * part / parts * COLUMNS;
        const int64_t high = lines * (part + 1) / parts * COLUMNS;
        scatter(dx, dm, chosen, N, C, low, high < C ? high : C);
    }
}
