// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/nn/transpose.h"

#if EMP_HAS_CLONES
#include <immintrin.h>
#endif

/* Rows and columns of a block: of floats, as many as a long register has. */
enum { SIDE = 16 };

static void turn_part(emp_real *y, int64_t y_stride, const emp_real *x, int64_t x_stride,
                      int64_t rows, int64_t cols)
{
    for (int64_t c = 0; c < cols; c++)
        for (int64_t r = 0; r < rows; r++) y[c * y_stride + r] = x[r * x_stride + c];
}

static void turn_short(emp_real *y, int64_t y_stride, const emp_real *x, int64_t x_stride)
{
    turn_part(y, y_stride, x, x_stride, SIDE, SIDE);
}

#if EMP_HAS_CLONES && !defined(EMP_REAL_DOUBLE)
/* Of rows 4 q .. 4 q + 3, t[4 q + c] gets columns c, 4 + c, 8 + c and 12 + c, one after another. */
EMP_ONLY_AVX512 __attribute__((always_inline)) static inline void
turn_fours(__m512 t[SIDE], const float *x, int64_t stride)
{
    EMP_UNROLL
    for (int q = 0; q < SIDE; q += 4) {
        const __m512 a = _mm512_loadu_ps(&x[q * stride]),
                     b = _mm512_loadu_ps(&x[(q + 1) * stride]),
                     c = _mm512_loadu_ps(&x[(q + 2) * stride]),
                     d = _mm512_loadu_ps(&x[(q + 3) * stride]);
        const __m512d ab = _mm512_castps_pd(_mm512_unpacklo_ps(a, b)),
                      cd = _mm512_castps_pd(_mm512_unpacklo_ps(c, d)),
                      AB = _mm512_castps_pd(_mm512_unpackhi_ps(a, b)),
                      CD = _mm512_castps_pd(_mm512_unpackhi_ps(c, d));
        t[q] = _mm512_castpd_ps(_mm512_unpacklo_pd(ab, cd));
        t[q + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(ab, cd));
        t[q + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(AB, CD));
        t[q + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(AB, CD));
    }
}

EMP_ONLY_AVX512 static void turn_long(float *y, int64_t y_stride, const float *x,
                                      int64_t x_stride)
{
    enum { EVEN = 0x88, ODD = 0xdd }; /* quarters of two registers */
    __m512 t[SIDE];

    turn_fours(t, x, x_stride);
    EMP_UNROLL
    for (int c = 0; c < 4; c++) {
        const __m512 a = _mm512_shuffle_f32x4(t[c], t[4 + c], EVEN),
                     b = _mm512_shuffle_f32x4(t[8 + c], t[12 + c], EVEN),
                     A = _mm512_shuffle_f32x4(t[c], t[4 + c], ODD),
                     B = _mm512_shuffle_f32x4(t[8 + c], t[12 + c], ODD);
        float *to = &y[c * y_stride];
        _mm512_storeu_ps(to, _mm512_shuffle_f32x4(a, b, EVEN));
        _mm512_storeu_ps(to + 4 * y_stride, _mm512_shuffle_f32x4(A, B, EVEN));
        _mm512_storeu_ps(to + 8 * y_stride, _mm512_shuffle_f32x4(a, b, ODD));
        _mm512_storeu_ps(to + 12 * y_stride, _mm512_shuffle_f32x4(A, B, ODD));
    }
}
#else
#define turn_long turn_short
#endif

/* Block by block, so that each line of x is read once. */
void emp_transpose(emp_real *y, int64_t y_stride, const emp_real *x, int64_t x_stride,
                   int64_t rows, int64_t cols)
{
    void (*turn)(emp_real *, int64_t, const emp_real *, int64_t) =
        emp_has_avx512() ? turn_long : turn_short;

    for (int64_t r = 0; r < rows; r += SIDE) {
        const int64_t height = rows - r < SIDE ? rows - r : SIDE;
        for (int64_t c = 0; c < cols; c += SIDE) {
            const int64_t   width = cols - c < SIDE ? cols - c : SIDE;
            emp_real       *to = &y[c * y_stride + r];
            const emp_real *from = &x[r * x_stride + c];
            if (height == SIDE && width == SIDE)
                turn(to, y_stride, from, x_stride);
            else
                turn_part(to, y_stride, from, x_stride, height, width);
        }
    }
}
