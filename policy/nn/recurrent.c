// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/nn/recurrent.h"

#include <math.h>
#include <omp.h>

#include "policy/nn/products.h"
#include "policy/nn/threads.h"

/* Cells first .. end-1 of H. */
EMP_KERNEL static void cell_forward(emp_real *restrict gates, emp_real *restrict c,
                                    emp_real *restrict h,
                                    const emp_real *restrict c_previous, int64_t H,
                                    int64_t first, int64_t end)
{
#pragma omp simd
    for (int64_t j = first; j < end; j++) {
        emp_real i = emp_sigmoid(gates[j]), f = emp_sigmoid(gates[H + j]);
        emp_real o = emp_sigmoid(gates[2 * H + j]), g = emp_tanh(gates[3 * H + j]);
        c[j] = f * c_previous[j] + i * g;
        h[j] = o * emp_tanh(c[j]);
        gates[j] = i;
        gates[H + j] = f;
        gates[2 * H + j] = o;
        gates[3 * H + j] = g;
    }
}

static inline emp_real limit(emp_real x, emp_real bound)
{
    emp_real low = x < -bound ? -bound : x;

    return low > bound ? bound : low;
}

EMP_KERNEL static void cell_backward(emp_real *restrict gates, emp_real *restrict dc,
                                     const emp_real *restrict dh,
                                     const emp_real *restrict c,
                                     const emp_real *restrict c_previous, int64_t H,
                                     int64_t first, int64_t end, emp_real bound)
{
#pragma omp simd
    for (int64_t j = first; j < end; j++) {
        emp_real i = gates[j], f = gates[H + j], o = gates[2 * H + j];
        emp_real g = gates[3 * H + j], s = emp_tanh(c[j]);
        emp_real y = limit(dh[j], bound);
        emp_real d = limit(dc[j] + y * o * (1 - s * s), bound);
        gates[j] = d * g * i * (1 - i);
        gates[H + j] = d * c_previous[j] * f * (1 - f);
        gates[2 * H + j] = y * s * o * (1 - o);
        gates[3 * H + j] = d * i * (1 - g * g);
        dc[j] = d * f;
    }
}

void emp_lstm_cell_forward(emp_real *gates, emp_real *c, emp_real *h,
                           const emp_real *c_previous, int32_t H)
{
    cell_forward(gates, c, h, c_previous, H, 0, H);
}

/* The work of one thread of a team: its part of the columns, and of the cells. */
typedef struct {
    emp_panels_pass pass;
    int64_t         first, end;
    unsigned        saved;
} member;

/* Cells are shared out in vectors: what is left over stays in one place. */
static member join_team(int32_t H)
{
    enum { VECTOR = 16 };
    int32_t part = omp_get_thread_num(), parts = omp_get_num_threads();
    int64_t vectors = H / VECTOR;

    return (member){.pass = {.part = part, .parts = parts},
                    .first = vectors * part / parts * VECTOR,
                    .end = part == parts - 1 ? H : vectors * (part + 1) / parts * VECTOR,
                    .saved = emp_flush_begin()};
}

static int32_t team_of(const emp_lstm_shape *shape)
{
    const int64_t H = shape->H;

    return emp_team_size_of_steps(4 * H * H * shape->count, shape->threads);
}

void emp_lstm_forward(emp_real *gates, emp_real *c, emp_real *h, int64_t h_stride,
                      const emp_panels *recurrent, const emp_lstm_shape *shape)
{
    int64_t  T = shape->T, H = shape->H, ahead = shape->reverse ? -1 : 1;
    emp_team team = {0};

#pragma omp parallel num_threads(team_of(shape))
    {
        member  m = join_team(shape->H);
        int64_t t = shape->reverse ? T - 1 : 0;
        for (int64_t s = 0; s < T; s++, t += ahead) {
            if (s > 0) {
                emp_panels_multiply(recurrent, &gates[t * 4 * H], T * 4 * H,
                                    &h[(t - ahead) * h_stride], T * h_stride,
                                    shape->count, m.pass);
                emp_team_meet(&team, m.pass.parts);
            }
            for (int64_t n = 0; n < shape->count; n++) {
                emp_real *cell = &c[(n * (T + 1) + s) * H];
                cell_forward(&gates[(n * T + t) * 4 * H], cell + H,
                             &h[(n * T + t) * h_stride], cell, H, m.first, m.end);
            }
            m.pass.descends = !m.pass.descends;
            emp_team_meet(&team, m.pass.parts);
        }
        emp_flush_end(m.saved);
    }
}

void emp_lstm_backward(emp_real *gates, emp_real *dh, int64_t h_stride, emp_real *dc,
                       const emp_real *c, const emp_panels *recurrent_t,
                       const emp_lstm_shape *shape)
{
    int64_t        T = shape->T, H = shape->H, ahead = shape->reverse ? -1 : 1;
    const emp_real bound = (emp_real)(shape->bound > 0 ? shape->bound : INFINITY);
    emp_team       team = {0};

#pragma omp parallel num_threads(team_of(shape))
    {
        member  m = join_team(shape->H);
        int64_t t = shape->reverse ? 0 : T - 1;
        for (int64_t s = T - 1; s >= 0; s--, t -= ahead) {
            for (int64_t n = 0; n < shape->count; n++) {
                const emp_real *cell = &c[(n * (T + 1) + s) * H];
                cell_backward(&gates[(n * T + t) * 4 * H], &dc[n * H],
                              &dh[(n * T + t) * h_stride], cell + H, cell, H, m.first,
                              m.end, bound);
            }
            emp_team_meet(&team, m.pass.parts);
            if (s > 0) {
                emp_panels_multiply(recurrent_t, &dh[(t - ahead) * h_stride],
                                    T * h_stride, &gates[t * 4 * H], T * 4 * H,
                                    shape->count, m.pass);
                emp_team_meet(&team, m.pass.parts);
            }
            m.pass.descends = !m.pass.descends;
        }
        emp_flush_end(m.saved);
    }
}

void emp_lstm_recurrent_gradient(emp_real *dw, const emp_real *h, int64_t h_stride,
                                 const emp_real *dz, int32_t T, int32_t H, bool reverse,
                                 int32_t threads)
{
    const emp_real *h_before = reverse ? h + h_stride : h;
    const emp_real *dz_after = reverse ? dz : dz + (int64_t)4 * H;

    if (T < 2) return;
    emp_blas_gemm_shared(true, false, H, 4 * H, T - 1, h_before, (int32_t)h_stride,
                         dz_after, 4 * H, 1, dw, 4 * H, threads);
}

EMP_KERNEL static void gru_cell_forward(emp_real *restrict gates, emp_real *restrict next,
                                        const emp_real *restrict u,
                                        const emp_real *restrict h, int64_t H)
{
#pragma omp simd
    for (int64_t j = 0; j < H; j++) {
        emp_real r = emp_sigmoid(gates[j] + u[j]);
        emp_real z = emp_sigmoid(gates[H + j] + u[H + j]);
        emp_real n = emp_tanh(gates[2 * H + j] + r * u[2 * H + j]);
        next[j] = n + z * (h[j] - n);
        gates[j] = r;
        gates[H + j] = z;
        gates[2 * H + j] = n;
    }
}

EMP_KERNEL static void gru_cell_backward(emp_real *restrict gates, emp_real *restrict u,
                                         emp_real *restrict dh,
                                         const emp_real *restrict h, int64_t H)
{
#pragma omp simd
    for (int64_t j = 0; j < H; j++) {
        emp_real r = gates[j], z = gates[H + j], n = gates[2 * H + j];
        emp_real dn = dh[j] * (1 - z) * (1 - n * n);
        emp_real dz = dh[j] * (h[j] - n) * z * (1 - z);
        emp_real dr = dn * u[2 * H + j] * r * (1 - r);
        gates[j] = dr;
        gates[H + j] = dz;
        gates[2 * H + j] = dn;
        u[j] = dr;
        u[H + j] = dz;
        u[2 * H + j] = dn * r;
        dh[j] *= z;
    }
}

void emp_gru_forward(emp_real *gates, emp_real *next, const emp_real *u,
                     const emp_real *h, int32_t B, int32_t H)
{
    for (int64_t b = 0; b < B; b++)
        gru_cell_forward(&gates[b * 3 * H], &next[b * H], &u[b * 3 * H], &h[b * H], H);
}

void emp_gru_backward(emp_real *gates, emp_real *u, emp_real *dh, const emp_real *h,
                      int32_t B, int32_t H)
{
    for (int64_t b = 0; b < B; b++)
        gru_cell_backward(&gates[b * 3 * H], &u[b * 3 * H], &dh[b * H], &h[b * H], H);
}
