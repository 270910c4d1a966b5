// SPDX-License-Identifier: GPL-3.0-or-later
/* Does every layer compute what its formula says, and every backward pass the derivative of its
 * forward pass? Central differences in the double build, as test_nn_gradients.c has them. */
#include "policy/nn/attention.h"
#include "policy/nn/layers.h"
#include "tests/policy/differences.h"
#include "tests/support/survive.h"

enum {
    MAX = 1 << 14,
    ROWS = 7,
    WIDTH = 6,
    HEADS = 2,
    SEGMENT = 3,
    MEASURED = ROWS * WIDTH
};

static double x[MAX], y[MAX], r[MAX], g[MAX], dx[MAX], dg[MAX];

static double measured(void) { return dot(y, r, MEASURED); }

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
static void attend_plainly(const emp_dot_attention *a, double *out, int row)
{
    const int size = a->width / a->heads, first = row / a->segment * a->segment;
    const int begin = a->has_memory && first > 0 ? first - a->segment : first;
    const int end = first + a->segment < a->rows ? first + a->segment : a->rows;
    double    weight[MAX];

    for (int h = 0; h < a->heads; h++) {
        double sum = 0.0;
        for (int k = begin; k < end; k++) {
            double dot = 0.0;
            for (int i = h * size; i < (h + 1) * size; i++)
                dot += x[row * 3 * a->width + i] * x[k * 3 * a->width + a->width + i];
            weight[k] = exp(dot / sqrt(size));
            sum += weight[k];
        }
        for (int i = h * size; i < (h + 1) * size; i++) {
            out[i] = 0.0;
            for (int k = begin; k < end; k++)
                out[i] += weight[k] / sum * x[k * 3 * a->width + 2 * a->width + i];
        }
    }
}

static void expect_formula(const emp_dot_attention *a)
{
    double want[WIDTH];

    cr_assert_leq(a->width, WIDTH);
    for (int row = 0; row < a->rows; row++) {
        attend_plainly(a, want, row);
        for (int i = 0; i < a->width; i++)
            cr_assert_float_eq(y[row * a->width + i], want[i], 1e-12, "row %d", row);
    }
}

Test(dot_attention, is_what_the_formula_says)
{
    fill(x, 3 * MEASURED, 5);
    cr_assert_leq(emp_dot_attention_scratch(&attention), COUNT(scratch));
    cr_assert_eq(emp_dot_attention_normalizers(&attention), COUNT(normalizers));
    for (int memory = 0; memory < 2; memory++) {
        attention.has_memory = memory == 1;
        emp_dot_attention_forward(&attention, y, normalizers, x);
        expect_formula(&attention);
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

/* Segments go in blocks of rows, and the last has less. */
enum { LONG_ROWS = 450, LONG_SEGMENT = 200, LONG_COUNT = LONG_ROWS * WIDTH };

static double            long_normalizers[2 * LONG_ROWS * HEADS];
static emp_dot_attention long_attention = {.rows = LONG_ROWS,
                                           .width = WIDTH,
                                           .heads = HEADS,
                                           .segment = LONG_SEGMENT,
                                           .has_memory = true,
                                           .threads = 2};

static double long_loss(void)
{
    emp_dot_attention_forward(&long_attention, y, long_normalizers, x);
    return dot(y, r, LONG_COUNT);
}

Test(dot_attention, goes_in_blocks)
{
    static double    own[3 * LONG_COUNT], memory[2 * LONG_COUNT];
    OWN_FREE double *space =
        calloc(emp_dot_attention_scratch(&long_attention), sizeof *space);

    cr_assert_not_null(space);
    long_attention.scratch = space;
    fill(x, 3 * LONG_COUNT, 5);
    fill(r, LONG_COUNT, 6);
    long_loss();
    expect_formula(&long_attention);
    emp_dot_attention_backward(&long_attention, own, memory, r, y, long_normalizers, x);
    for (int row = 0; row < LONG_ROWS; row++)
        for (int i = 0; i < 2 * WIDTH; i++)
            own[row * 3 * WIDTH + WIDTH + i] += memory[row * 2 * WIDTH + i];
    check_some("query, key, value", long_loss, x, own, 3 * LONG_COUNT, 53);
}

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
