// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/nn/zeros.h"

#include <stdbool.h>
#if EMP_HAS_CLONES
#include <immintrin.h>
#endif

EMP_KERNEL static int32_t count_zeros(const emp_real *x, int64_t count)
{
    int32_t zeros = 0;

    for (int64_t i = 0; i < count; i++) zeros += x[i] == 0;
    return zeros;
}

int32_t emp_zeros_percent(const emp_real *x, int64_t stride, int64_t rows,
                          int64_t columns, int64_t samples)
{
    int64_t zeros = 0;

    for (int64_t i = 0; i < samples; i++)
        zeros += count_zeros(&x[rows * i / samples * stride], columns);
    return (int32_t)(100 * zeros / (samples * columns));
}

static int32_t list_short(int32_t *column, const emp_real *x, int64_t stride,
                          int64_t rows, int64_t columns)
{
    int32_t count = 0;

    for (int64_t i = 0; i < columns; i++) {
        bool is_used = false;
        for (int64_t r = 0; r < rows; r++) is_used |= x[r * stride + i] != 0;
        column[count] = (int32_t)i;
        count += is_used;
    }
    return count;
}

#if EMP_HAS_CLONES && !defined(EMP_REAL_DOUBLE)
/* -0 counts as a number that is used. */
EMP_ONLY_AVX512 static int32_t list_long(int32_t *column, const float *x, int64_t stride,
                                         int64_t rows, int64_t columns)
{
    int32_t count = 0;
    __m512i lane =
        _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);

    for (int64_t i = 0; i < columns; i += EMP_ZEROS_LANES) {
        const int64_t   left = columns - i;
        const __mmask16 in = (__mmask16)(left < EMP_ZEROS_LANES ? (1 << left) - 1 : -1);
        __m512i         any = _mm512_maskz_loadu_epi32(in, &x[i]);
        for (int64_t r = 1; r < rows; r++)
            any = _mm512_or_si512(any, _mm512_maskz_loadu_epi32(in, &x[r * stride + i]));
        const __mmask16 used = _mm512_test_epi32_mask(any, any);
        _mm512_storeu_si512(&column[count], _mm512_maskz_compress_epi32(used, lane));
        count += __builtin_popcount(used);
        lane = _mm512_add_epi32(lane, _mm512_set1_epi32(EMP_ZEROS_LANES));
    }
    return count;
}
#else
#define list_long list_short
#endif

void emp_zeros_list(emp_used_columns *used, const emp_real *x, int64_t stride,
                    int64_t rows, int64_t columns)
{
    int32_t (*list)(int32_t *, const emp_real *, int64_t, int64_t, int64_t) =
        emp_has_avx512() ? list_long : list_short;

    for (int64_t r = 0; r < rows; r += EMP_ZEROS_ROWS, used++)
        used->count =
            list(used->column, &x[r * stride], stride,
                 rows - r < EMP_ZEROS_ROWS ? rows - r : EMP_ZEROS_ROWS, columns);
}
