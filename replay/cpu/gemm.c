// SPDX-License-Identifier: GPL-3.0-or-later
/* Goto & van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (ACM TOMS
 * 34(3), 2008): panels of a and b are packed so that the inner kernel reads both in
 * order; a tile of c stays in registers over a whole panel. The compiler makes vector
 * code of the inner kernel. */
#include "replay/cpu/gemm.h"

#include <string.h>

#include "base/clones.h"

/* Tile of the inner kernel; rows, depth and columns of a panel. */
enum { MR = 6, NR = 16, MC = 96, KC = 256, NC = 512 };

struct matrix {
    const float *at;
    int64_t      row, column; /* distance of neighbours in a column, in a row */
};

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* A strip of rows (of a) or columns (of b, given transposed), filled up with zeros. */
EMP_CLONES static void pack_strip(float *to, const struct matrix *m, int64_t first,
                                  int64_t count, int64_t depth_first, int64_t depth,
                                  int64_t strip)
{
    bool is_plain = m->row == 1 && count == strip;

    for (int64_t p = 0; p < depth; p++, to += strip) {
        const float *from = m->at + first * m->row + (depth_first + p) * m->column;
        if (is_plain) {
            memcpy(to, from, (size_t)strip * sizeof *to);
            continue;
        }
        for (int64_t i = 0; i < strip; i++) to[i] = i < count ? from[i * m->row] : 0.0f;
    }
}

static void pack(float *to, const struct matrix *m, int64_t first, int64_t count,
                 int64_t depth_first, int64_t depth, int64_t strip)
{
    for (int64_t s = 0; s < count; s += strip, to += strip * depth)
        pack_strip(to, m, first + s, least(strip, count - s), depth_first, depth, strip);
}

typedef void multiply(const float *a, const float *b, int64_t depth, float tile[MR][NR]);

/* The sums of a tile, in vectors of so many bytes. */
#define MULTIPLY_TILE(target, name, bytes)                                              \
    target static void name(const float *a, const float *b, int64_t depth,              \
                            float tile[MR][NR])                                         \
    {                                                                                   \
        typedef float vec                                                               \
            __attribute__((vector_size(bytes), aligned(sizeof(float)), may_alias));     \
        enum { VECS = NR * (int)sizeof(float) / bytes };                                \
        vec sum[MR][VECS];                                                              \
                                                                                        \
        EMP_UNROLL                                                                      \
        for (int i = 0; i < MR; i++) {                                                  \
            EMP_UNROLL                                                                  \
            for (int v = 0; v < VECS; v++) sum[i][v] = (vec){0};                        \
        }                                                                               \
        for (int64_t p = 0; p < depth; p++, a += MR, b += NR) {                         \
            EMP_UNROLL                                                                  \
            for (int i = 0; i < MR; i++) {                                              \
                EMP_UNROLL                                                              \
                for (int v = 0; v < VECS; v++) sum[i][v] += a[i] * ((const vec *)b)[v]; \
            }                                                                           \
        }                                                                               \
        memcpy(tile, sum, sizeof sum);                                                  \
    }

MULTIPLY_TILE(EMP_ONLY_AVX512, tile_long, EMP_LONG_VECTOR)
MULTIPLY_TILE(EMP_ONLY_AVX2, tile_middle, EMP_MIDDLE_VECTOR)
MULTIPLY_TILE(, tile_short, EMP_SHORT_VECTOR)

static void add_tile(float *c, int64_t ldc, int64_t rows, int64_t columns, float alpha,
                     float tile[MR][NR])
{
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) c[i * ldc + j] += alpha * tile[i][j];
    }
}

static void scale(float *c, int64_t ldc, int64_t m, int64_t n, float beta)
{
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++)
            c[i * ldc + j] = beta == 0.0f ? 0.0f : beta * c[i * ldc + j];
    }
}

void emp_gemm_plain(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                    float alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                    float beta, float *c, int64_t ldc)
{
    static _Thread_local float packed_a[(MC + MR) * KC], packed_b[(NC + NR) * KC];
    struct matrix              left = {a, transpose_a ? 1 : lda, transpose_a ? lda : 1};
    struct matrix              right = {b, transpose_b ? ldb : 1, transpose_b ? 1 : ldb};
    multiply                  *multiply_tile = emp_has_avx512() ? tile_long
                                               : emp_has_avx2() ? tile_middle
                                                                : tile_short;
    float                      tile[MR][NR];

    scale(c, ldc, m, n, beta);
    for (int64_t j = 0; j < n; j += NC) {
        int64_t columns = least(NC, n - j);
        for (int64_t p = 0; p < k; p += KC) {
            int64_t depth = least(KC, k - p);
            pack(packed_b, &right, j, columns, p, depth, NR);
            for (int64_t i = 0; i < m; i += MC) {
                int64_t rows = least(MC, m - i);
                pack(packed_a, &left, i, rows, p, depth, MR);
                for (int64_t s = 0; s < columns; s += NR) {
                    for (int64_t r = 0; r < rows; r += MR) {
                        multiply_tile(packed_a + r * depth, packed_b + s * depth, depth,
                                      tile);
                        add_tile(&c[(i + r) * ldc + j + s], ldc, least(MR, rows - r),
                                 least(NR, columns - s), alpha, tile);
                    }
                }
            }
        }
    }
}
