// SPDX-License-Identifier: GPL-3.0-or-later
/* Does every layer compute what its formula says, and every backward pass the derivative of its
 * forward pass? Central differences in the double build, as test_nn_gradients.c has them. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "policy/nn/layers/dot_attention.h"
#include "policy/nn/layers/gate.h"
#include "policy/nn/layers/layer_norm.h"
#include "policy/nn/layers/neighbors.h"

enum { MAX = 4096, ROWS = 7, WIDTH = 6, HEADS = 2, SEGMENT = 3, MEASURED = ROWS * WIDTH };

static const double STEP = 1e-5, TOLERANCE = 1e-6;

static double x[MAX], y[MAX], r[MAX], g[MAX], b[MAX], u[MAX], inverse[MAX];
static double dx[MAX], dg[MAX], db[MAX];

static void fill(double *values, int count, uint32_t stream)
{
    emp_rng rng;

    emp_rng_init(&rng, 23, stream, 0);
    for (int i = 0; i < count; i++) values[i] = emp_rng_normal(&rng);
}

static double measured(void)
{
    double sum = 0.0;

    for (int i = 0; i < MEASURED; i++) sum += y[i] * r[i];
    return sum;
}

static void check(const char *what, double (*loss)(void), double *at,
                  const double *gradient, int count)
{
    double largest = 0.0;

    for (int i = 0; i < count; i++) largest = fmax(largest, fabs(gradient[i]));
    cr_assert_gt(largest, 1e-3, "%s: the gradient is all but zero", what);
    for (int i = 0; i < count; i++) {
        double kept = at[i], up, down;
        at[i] = kept + STEP;
        up = loss();
        at[i] = kept - STEP;
        down = loss();
        at[i] = kept;
        cr_assert_float_eq(gradient[i], (up - down) / (2.0 * STEP), TOLERANCE * largest,
                           "%s[%d]: %.12g, differences say %.12g", what, i, gradient[i],
                           (up - down) / (2.0 * STEP));
    }
}

static double norm_loss(void)
{
    emp_layer_norm_forward(y, u, inverse, x, g, b, ROWS, WIDTH, 2);
    return measured();
}

Test(layer_norm, gradients)
{
    fill(x, MEASURED, 1);
    fill(g, WIDTH, 2);
    fill(b, WIDTH, 3);
    fill(r, MEASURED, 4);
    norm_loss();
    emp_layer_norm_backward(dx, dg, db, r, u, inverse, g, ROWS, WIDTH, 2);
    check("x", norm_loss, x, dx, MEASURED);
    check("gain", norm_loss, g, dg, WIDTH);
    check("bias", norm_loss, b, db, WIDTH);
}

/* ---- attention ---- */

static double            scratch[1 << 16], normalizers[2 * ROWS * HEADS];
static emp_dot_attention attention = {.rows = ROWS,
                                      .width = WIDTH,
                                      .heads = HEADS,
                                      .segment = SEGMENT,
                                      .has_memory = true,
                                      .threads = 2,
                                      .scratch = scratch};

static double attention_loss(void)
{
    emp_dot_attention_forward(&attention, y, normalizers, x);
    return measured();
}

/* One row, head by head, from the formula. */
static void attend_plainly(double *out, int row, bool has_memory)
{
    const int size = WIDTH / HEADS, first = row / SEGMENT * SEGMENT;
    const int begin = has_memory && first > 0 ? first - SEGMENT : first;
    const int end = first + SEGMENT < ROWS ? first + SEGMENT : ROWS;

    for (int h = 0; h < HEADS; h++) {
        double weight[ROWS], sum = 0.0;
        for (int k = begin; k < end; k++) {
            double dot = 0.0;
            for (int i = h * size; i < (h + 1) * size; i++)
                dot += x[row * 3 * WIDTH + i] * x[k * 3 * WIDTH + WIDTH + i];
            weight[k] = exp(dot / sqrt(size));
            sum += weight[k];
        }
        for (int i = h * size; i < (h + 1) * size; i++) {
            out[i] = 0.0;
            for (int k = begin; k < end; k++)
                out[i] += weight[k] / sum * x[k * 3 * WIDTH + 2 * WIDTH + i];
        }
    }
}

Test(dot_attention, is_what_the_formula_says)
{
    double want[WIDTH];

    fill(x, 3 * MEASURED, 5);
    cr_assert_leq(emp_dot_attention_scratch(&attention),
                  sizeof scratch / sizeof *scratch);
    cr_assert_eq(emp_dot_attention_normalizers(&attention),
                 sizeof normalizers / sizeof *normalizers);
    for (int memory = 0; memory < 2; memory++) {
        attention.has_memory = memory == 1;
        emp_dot_attention_forward(&attention, y, normalizers, x);
        for (int row = 0; row < ROWS; row++) {
            attend_plainly(want, row, memory == 1);
            for (int i = 0; i < WIDTH; i++)
                cr_assert_float_eq(y[row * WIDTH + i], want[i], 1e-12, "row %d", row);
        }
    }
}

/* The gradient of a row is that through its own segment and that as memory. */
Test(dot_attention, gradients)
{
    static double own[3 * MEASURED], memory[2 * MEASURED];

    fill(x, 3 * MEASURED, 5);
    fill(r, MEASURED, 6);
    attention_loss();
    emp_dot_attention_backward(&attention, own, memory, r, y, normalizers, x);
    for (int row = 0; row < ROWS; row++)
        for (int i = 0; i < 2 * WIDTH; i++)
            own[row * 3 * WIDTH + WIDTH + i] += memory[row * 2 * WIDTH + i];
    check("query, key, value", attention_loss, x, own, 3 * MEASURED);
}

/* ---- neighbours and gates ---- */

static const int32_t first[ROWS + 1] = {0, 2, 3, 6, 6, 8, 9, 11};
static const int32_t node[] = {1, 2, 0, 0, 4, 6, 2, 5, 4, 2, 3};
static int32_t       chosen[MEASURED];

static double max_loss(void)
{
    emp_neighbor_max_forward(y, chosen, x, first, node, ROWS, WIDTH, 2);
    return measured();
}

Test(neighbors, gradients_of_maxima)
{
    fill(x, MEASURED, 7);
    fill(r, MEASURED, 8);
    max_loss();
    emp_neighbor_max_backward(dx, r, chosen, ROWS, WIDTH, 2);
    check("x", max_loss, x, dx, MEASURED);
}

Test(neighbors, nobody_without_neighbours_has_a_maximum)
{
    fill(x, MEASURED, 7);
    max_loss();
    for (int i = 0; i < WIDTH; i++) {
        cr_expect_eq(y[3 * WIDTH + i], 0.0);
        cr_expect_eq(chosen[3 * WIDTH + i], -1);
        cr_expect_eq(y[i], fmax(x[WIDTH + i], x[2 * WIDTH + i]));
    }
}

static int    gate_rows;
static double s[MEASURED];

static double gate_loss(void)
{
    memcpy(s, g, sizeof s);
    emp_sigmoid_forward(s, (int64_t)gate_rows * WIDTH);
    emp_gate_forward(y, x, s, gate_rows, ROWS, WIDTH, 2);
    return measured();
}

Test(gate, gradients)
{
    fill(x, MEASURED, 9);
    fill(g, MEASURED, 10);
    fill(r, MEASURED, 11);
    for (gate_rows = 1; gate_rows <= ROWS; gate_rows += ROWS - 1) {
        gate_loss();
        emp_gate_backward(dx, dg, r, x, s, gate_rows, ROWS, WIDTH, 2);
        emp_sigmoid_backward(dg, s, (int64_t)gate_rows * WIDTH);
        check("x", gate_loss, x, dx, MEASURED);
        check("gate", gate_loss, g, dg, gate_rows * WIDTH);
    }
}
