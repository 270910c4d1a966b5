// SPDX-License-Identifier: GPL-3.0-or-later
/* Does every backward pass compute the derivative of its forward pass? Central
 * differences in the double build: for the scalar L = sum of r_i y_i with fixed random r,
 * each input's analytic derivative against (L(x + d) - L(x - d)) / 2d. */
#include "policy/nn/attention.h"
#include "policy/nn/categorical.h"
#include "policy/nn/layers.h"
#include "policy/nn/recurrent.h"
#include "tests/policy/differences.h"
#include "tests/support/status.h"

enum { MAX = 4096 };

/* One scene for all: named arrays, filled anew by each test. */
static double x[MAX], w[MAX], b[MAX], y[MAX], r[MAX];
static double dx[MAX], dw[MAX], db[MAX], dy[MAX];

enum { B = 5, C = 7, K = 3 };

static double linear_loss(void)
{
    emp_linear_forward(y, x, w, b, B, C, K, 2);
    return dot(y, r, B * K);
}

Test(linear, gradients)
{
    fill(x, B * C, 1);
    fill(w, C * K, 2);
    fill(b, K, 3);
    fill(r, B * K, 4);
    emp_linear_backward(dx, dw, db, r, x, w, B, C, K, 2);
    check("x", linear_loss, x, dx, B * C);
    check("w", linear_loss, w, dw, C * K);
    check("b", linear_loss, b, db, K);
}

static const int32_t rows[B] = {2, 0, 2, 3, 1};

static double embedding_loss(void)
{
    memset(y, 0, sizeof y);
    emp_embedding_forward(y, w, rows, B, K);
    return dot(y, r, B * K);
}

Test(embedding, gradients)
{
    fill(w, 4 * K, 2);
    fill(r, B * K, 4);
    emp_embedding_backward(dw, r, rows, B, K);
    check("embedding", embedding_loss, w, dw, 4 * K);
}

static emp_activation activation;

static double activation_loss(void)
{
    memcpy(y, x, sizeof y);
    emp_activation_forward(activation, y, B * C);
    return dot(y, r, B * C);
}

Test(activation, gradients)
{
    static const char *const names[] = {"relu", "tanh", "leaky"};

    for (int f = EMP_ACTIVATION_RELU; f <= EMP_ACTIVATION_LEAKY; f++) {
        activation = (emp_activation)f;
        fill(x, B * C, 5);
        fill(r, B * C, 6);
        activation_loss();
        memcpy(dx, r, sizeof dx);
        emp_activation_backward(activation, dx, y, B * C);
        check(names[f], activation_loss, x, dx, B * C);
    }
}

/* An LSTM of H cells over N sequences of T steps: x are the gate sums, w the recurrent
 * weights. The loss sees all outputs and the last cells. */
enum { N = 2, T = 6, H = 5, STRIDE = H + 2 };

static bool   reverse;
static double gates[N * T * 4 * H], cell[N * (T + 1) * H], hidden[N * T * STRIDE];

static emp_lstm_shape lstm_shape(void)
{
    return (emp_lstm_shape){N, T, H, reverse, 2, 0};
}

static double lstm_loss(void)
{
    emp_lstm_shape shape = lstm_shape();
    emp_panels     panels;
    double         sum = 0.0;

    MUST(emp_panels_init(&panels, H, 4 * H, NULL));
    emp_panels_pack(&panels, w, false);
    memcpy(gates, x, sizeof gates);
    memset(cell, 0, sizeof cell);
    emp_lstm_forward(gates, cell, hidden, STRIDE, &panels, &shape);
    emp_panels_clear(&panels);
    for (int t = 0; t < N * T; t++) sum += dot(&hidden[t * STRIDE], &r[t * STRIDE], H);
    for (int n = 0; n < N; n++) sum += dot(&cell[(n * (T + 1) + T) * H], &b[n * H], H);
    return sum;
}

Test(lstm, gradients)
{
    for (int pass = 0; pass < 2; pass++) {
        emp_panels panels;
        reverse = pass == 1;
        emp_lstm_shape shape = lstm_shape();
        fill(x, N * T * 4 * H, 7);
        fill(w, H * 4 * H, 8);
        fill(r, N * T * STRIDE, 9);
        fill(b, N * H, 10);
        lstm_loss();
        memcpy(dx, r, sizeof dx); /* dh */
        memcpy(db, b, sizeof db); /* dc */
        MUST(emp_panels_init(&panels, 4 * H, H, NULL));
        emp_panels_pack(&panels, w, true);
        emp_lstm_backward(gates, dx, STRIDE, db, cell, &panels, &shape);
        emp_panels_clear(&panels);
        memset(dw, 0, sizeof dw);
        for (int n = 0; n < N; n++)
            emp_lstm_recurrent_gradient(dw, &hidden[n * T * STRIDE], STRIDE,
                                        &gates[n * T * 4 * H], T, H, reverse, 2);
        memcpy(dy, gates, sizeof gates);
        check("gate sums", lstm_loss, x, dy, N * T * 4 * H);
        check("recurrent weights", lstm_loss, w, dw, H * 4 * H);
    }
}

/* A GRU of sums x and w on the state b. */
enum { CELLS = 4 };

static double gru_gates[B * 3 * CELLS], gru_next[B * CELLS];

static double gru_loss(void)
{
    memcpy(gru_gates, x, sizeof gru_gates);
    emp_gru_forward(gru_gates, gru_next, w, b, B, CELLS);
    return dot(gru_next, r, B * CELLS);
}

Test(gru, gradients)
{
    fill(x, B * 3 * CELLS, 51);
    fill(w, B * 3 * CELLS, 52);
    fill(b, B * CELLS, 53);
    fill(r, B * CELLS, 54);
    gru_loss();
    memcpy(dw, w, B * 3 * CELLS * sizeof *dw);
    memcpy(db, r, B * CELLS * sizeof *db);
    emp_gru_backward(gru_gates, dw, db, b, B, CELLS);
    memcpy(dx, gru_gates, sizeof gru_gates);
    check("sums of x", gru_loss, x, dx, B * 3 * CELLS);
    check("sums of h", gru_loss, w, dw, B * 3 * CELLS);
    check("h", gru_loss, b, db, B * CELLS);
}

/* Attention of queries x over memory w with vector b: more queries and columns than go
 * together. */
enum { QUERIES = 6, S = 4, A = 70 };

static double weights[QUERIES * S], memory_exp[S * A];

static double attention_loss(void)
{
    emp_attention_exp(memory_exp, w, S * A);
    for (int first = 0; first < S; first += 2)
        emp_attention_score(weights, S, x, A, QUERIES, memory_exp, b, first, first + 2,
                            A);
    for (int n = 0; n < QUERIES; n++)
        emp_attention_mix(&weights[n * S], &y[n * A], w, S, A);
    return dot(y, r, QUERIES * A);
}

Test(attention, gradients)
{
    double                   scratch[QUERIES * S];
    const emp_attention_past past = {.count = QUERIES,
                                     .S = S,
                                     .A = A,
                                     .weights = weights,
                                     .dcontext = r,
                                     .dcontext_stride = A,
                                     .memory = w,
                                     .memory_exp = memory_exp,
                                     .v = b};

    fill(x, QUERIES * A, 15);
    fill(w, S * A, 16);
    fill(b, A, 17);
    fill(r, QUERIES * A, 18);
    attention_loss();
    memcpy(dx, x, sizeof dx);
    emp_attention_backward(dx, dw, db, &past, scratch, 2);
    check("query", attention_loss, x, dx, QUERIES * A);
    check("memory", attention_loss, w, dw, S * A);
    check("v", attention_loss, b, db, A);
}

static double entropy_of_softmax(void)
{
    memcpy(y, x, C * sizeof *y);
    return emp_categorical_softmax(y, C);
}

static double log_probability(void)
{
    memcpy(y, x, C * sizeof *y);
    emp_categorical_softmax(y, C);
    return 1.7 * log(y[4]);
}

Test(categorical, gradients)
{
    fill(x, C, 19);
    entropy_of_softmax();
    emp_categorical_entropy_gradient(dx, y, C, 1.0);
    check("entropy", entropy_of_softmax, x, dx, C);
    log_probability();
    emp_categorical_score(y, C, 4, 1.7);
    memcpy(dy, y, C * sizeof *dy);
    check("log-probability", log_probability, x, dy, C);
}

static const double *added; /* NULL: nothing */

static double norm_loss(void)
{
    static double normal[B * C], inverse[B];

    emp_layer_norm_forward(y, normal, inverse, x, added, w, b, B, C, 2);
    return dot(y, r, B * C);
}

/* Checks gradients of normalised rows, with and without a second input that is added first. */
Test(layer_norm, gradients)
{
    static double plus[B * C];
    double        normal[B * C], inverse[B];

    fill(plus, B * C, 30);
    for (int i = 0; i < 2; i++) {
        added = i == 0 ? NULL : plus;
        fill(x, B * C, 31);
        fill(w, C, 32);
        fill(b, C, 33);
        fill(r, B * C, 34);
        memset(dw, 0, sizeof dw);
        memset(db, 0, sizeof db);
        emp_layer_norm_forward(y, normal, inverse, x, added, w, b, B, C, 1);
        memcpy(dx, y, sizeof dx);
        emp_layer_norm_again(y, normal, w, b, B, C);
        for (int j = 0; j < B * C; j++) cr_expect_float_eq(y[j], dx[j], 1e-12);
        memcpy(dx, r, sizeof dx);
        emp_layer_norm_backward(dx, dw, db, dx, normal, inverse, w, B, C, 2);
        check("x", norm_loss, x, dx, B * C);
        check("gain", norm_loss, w, dw, C);
        check("shift", norm_loss, b, db, C);
    }
    check("plus", norm_loss, plus, dx, B * C);
}

/* A path 0 - 1 - 2 - 3, and node 4 alone. */
static const int32_t path_first[B + 1] = {0, 1, 3, 5, 6, 6};
static const int32_t path_node[6] = {1, 0, 2, 1, 3, 2};

static double graph_loss(void)
{
    emp_graph_conv(y, NULL, x, path_first, path_node, B, C, 1);
    return dot(y, r, B * C);
}

Test(graph_conv, gradients)
{
    fill(x, B * C, 35);
    fill(r, B * C, 36);
    emp_graph_conv(dx, NULL, r, path_first, path_node, B, C, 2);
    check("x", graph_loss, x, dx, B * C);
    graph_loss();
    for (int i = 0; i < C; i++) { /* degrees with loops: 2 3 3 2 1 */
        cr_expect_float_eq(y[i], x[i] / 2 + x[C + i] / sqrt(6), 1e-12);
        cr_expect_float_eq(y[4 * C + i], x[4 * C + i], 1e-12);
    }
    memcpy(dx, r, sizeof dx);
    emp_graph_conv(dx, dx, x, path_first, path_node, B, C, 2);
    for (int i = 0; i < B * C; i++) cr_expect_float_eq(dx[i], r[i] + y[i], 1e-12);
}

static double dropout_loss(void)
{
    emp_rng rng;

    emp_rng_init(&rng, 3, 0, 0);
    memcpy(y, x, sizeof y);
    emp_relu_dropout_forward(y, B * C, 0.25, &rng);
    return dot(y, r, B * C);
}

Test(dropout, gradients)
{
    int kept = 0, positive = 0;

    fill(x, B * C, 37);
    fill(r, B * C, 38);
    dropout_loss();
    memcpy(dx, r, sizeof dx);
    emp_relu_dropout_backward(dx, dx, y, B * C, 0.25);
    check("x", dropout_loss, x, dx, B * C);
    dropout_loss();
    for (int i = 0; i < B * C; i++) {
        kept += y[i] > 0;
        positive += x[i] > 0;
        if (y[i] > 0) cr_expect_float_eq(y[i], x[i] / 0.75, 1e-12);
    }
    cr_expect(kept > positive / 2 && kept < positive, "%d of %d", kept, positive);
}
