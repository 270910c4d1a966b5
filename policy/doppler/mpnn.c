// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/doppler/net.h"

#include <math.h>
#include <string.h>

#include "policy/nn/categorical.h"
#include "policy/nn/layers.h"
#include "policy/nn/products.h"
#include "policy/nn/recurrent.h"

enum { F = EMP_DOPPLER_FEATURES };

/* Slices. The members after SUM_B depend on the form. */
enum {
    NODE_W,
    NODE_B,
    GRU_X_W,
    GRU_X_B,
    GRU_H_W,
    GRU_H_B,
    SUM_B,
    EDGE_W,
    EDGE_B,
    MATRIX_W,
    MATRIX_B,
    GATED_W = EDGE_W, /* (H, H) */
    GATED_E           /* (1, H) */
};

/* The cells' weights as they are packed. */
enum { X_PLAIN, H_PLAIN, X_TRANSPOSED, H_TRANSPOSED, PACKED };

int32_t emp_doppler_mpnn_slices(emp_param_slice        s[EMP_DOPPLER_MPNN_SLICES],
                                emp_doppler_mpnn_shape shape)
{
    const int32_t H = shape.width;

    s[NODE_W] = (emp_param_slice){"node_w", F, H, 0};
    s[NODE_B] = (emp_param_slice){"node_b", 1, H, 0};
    s[GRU_X_W] = (emp_param_slice){"gru_x_w", H, 3 * H, 0};
    s[GRU_X_B] = (emp_param_slice){"gru_x_b", 1, 3 * H, 0};
    s[GRU_H_W] = (emp_param_slice){"gru_h_w", H, 3 * H, 0};
    s[GRU_H_B] = (emp_param_slice){"gru_h_b", 1, 3 * H, 0};
    s[SUM_B] = (emp_param_slice){"sum_b", 1, H, 0};
    if (shape.is_gated) {
        s[GATED_W] = (emp_param_slice){"message_w", H, H, 0};
        s[GATED_E] = (emp_param_slice){"message_e", 1, H, 0};
        return GATED_E + 1;
    }
    s[EDGE_W] = (emp_param_slice){"edge_w", 1, H, 0};
    s[EDGE_B] = (emp_param_slice){"edge_b", 1, H, 0};
    s[MATRIX_W] = (emp_param_slice){"matrix_w", H, H * H, 0};
    s[MATRIX_B] = (emp_param_slice){"matrix_b", 1, H * H, 0};
    return MATRIX_B + 1;
}

emp_status emp_doppler_mpnn_init(emp_doppler_mpnn *n, const emp_doppler_scene *scene,
                                 emp_params *params, emp_doppler_mpnn_shape shape,
                                 emp_error *err)
{
    const size_t nodes = (size_t)scene->graph->node_count, H = (size_t)shape.width;
    const size_t steps = (size_t)shape.steps;
    const size_t classes = shape.is_gated ? 1 : (size_t)scene->class_count;

    *n = (emp_doppler_mpnn){.scene = scene, .params = params, .shape = shape};
    n->place = EMP_ADD_ARRAY(&n->arrays, int32_t, nodes);
    n->h = EMP_ADD_ARRAY(&n->arrays, emp_real, (steps + 1) * nodes * H);
    n->m = EMP_ADD_ARRAY(&n->arrays, emp_real, steps * nodes * H);
    n->gates = EMP_ADD_ARRAY(&n->arrays, emp_real, steps * nodes * 3 * H);
    n->u = EMP_ADD_ARRAY(&n->arrays, emp_real, steps * nodes * 3 * H);
    n->x = EMP_ADD_ARRAY(&n->arrays, emp_real, nodes * H);
    n->hidden = EMP_ADD_ARRAY(&n->arrays, emp_real, classes * H);
    n->d_hidden = EMP_ADD_ARRAY(&n->arrays, emp_real, classes * H);
    n->matrix = EMP_ADD_ARRAY(&n->arrays, emp_real, classes * H * H);
    n->d_matrix = EMP_ADD_ARRAY(&n->arrays, emp_real, classes * H * H);
    n->sent = EMP_ADD_ARRAY(&n->arrays, emp_real, steps * nodes * H);
    n->d_sent = EMP_ADD_ARRAY(&n->arrays, emp_real, steps * nodes * H);
    n->sums = EMP_ADD_ARRAY(&n->arrays, emp_real, nodes * H);
    n->d_m = EMP_ADD_ARRAY(&n->arrays, emp_real, nodes * H);
    n->d_sums = EMP_ADD_ARRAY(&n->arrays, emp_real, nodes * H);
    n->d_h = EMP_ADD_ARRAY(&n->arrays, emp_real, nodes * H);
    if (n->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "messages of %zu nodes, width %zu", nodes, H);
    for (int i = 0; i < PACKED; i++)
        EMP_CHECK(emp_panels_init(&n->cells[i], shape.width * (i < X_TRANSPOSED ? 1 : 3),
                                  shape.width * (i < X_TRANSPOSED ? 3 : 1), err));
    for (size_t i = 0; i < nodes; i++) n->place[scene->class_node[i]] = (int32_t)i;
    return EMP_OK;
}

void emp_doppler_mpnn_clear(emp_doppler_mpnn *n)
{
    for (int i = 0; i < PACKED; i++) emp_panels_clear(&n->cells[i]);
    emp_arrays_clear(&n->arrays);
}

void emp_doppler_mpnn_randomize(emp_doppler_mpnn *n, emp_rng *rng)
{
    const double cells = 1.0 / sqrt(n->shape.width);

    emp_params_uniform(n->params, NODE_W, 1.0 / sqrt(F), rng);
    emp_params_uniform(n->params, NODE_B, 1.0 / sqrt(F), rng);
    for (int32_t slice = GRU_X_W; slice <= GRU_H_B; slice++)
        emp_params_uniform(n->params, slice, cells, rng);
    if (n->shape.is_gated) {
        emp_params_uniform(n->params, GATED_W, cells, rng);
        emp_params_uniform(n->params, GATED_E, cells, rng);
        return;
    }
    emp_params_uniform(n->params, EDGE_W, 1.0, rng);
    emp_params_uniform(n->params, EDGE_B, 1.0, rng);
    emp_params_uniform(n->params, MATRIX_W, cells, rng);
    emp_params_uniform(n->params, MATRIX_B, cells, rng);
}

/* ---- messages ---- */

static int32_t node_count(const emp_doppler_mpnn *n)
{
    return n->scene->graph->node_count;
}

/* The nodes at these places of class_node that share a matrix. */
typedef struct {
    int32_t         first, count;
    const emp_real *matrix;
    emp_real       *d_matrix;
} senders;

static int32_t class_count(const emp_doppler_mpnn *n)
{
    return n->shape.is_gated ? 1 : n->scene->class_count;
}

static senders senders_of(const emp_doppler_mpnn *n, int32_t class)
{
    const int32_t *first = n->scene->class_first;
    const int64_t  size = (int64_t)n->shape.width * n->shape.width;

    if (n->shape.is_gated)
        return (senders){0, node_count(n), emp_params_value(n->params, GATED_W),
                         emp_params_gradient(n->params, GATED_W)};
    return (senders){first[class], first[class + 1] - first[class],
                     n->matrix + class * size, n->d_matrix + class * size};
}

/* Where a round's rows of some senders begin in the arrays of all rounds. */
static int64_t row_of_round(const emp_doppler_mpnn *n, const senders *s, int32_t t)
{
    return (int64_t)s->first * n->shape.steps + (int64_t)t * s->count;
}

/* Clears the gradients of the block, except MATRIX_W's, nearly all of it, which the backward pass sets. */
void emp_doppler_mpnn_zero_gradient(emp_doppler_mpnn *n)
{
    const emp_params *p = n->params;
    const size_t      first = n->shape.is_gated ? p->count : p->slice[MATRIX_W].offset;
    const size_t      end = n->shape.is_gated ? p->count : p->slice[MATRIX_B].offset;

    memset(p->gradient, 0, first * sizeof *p->gradient);
    memset(p->gradient + end, 0, (p->count - end) * sizeof *p->gradient);
}

/* The matrix of each class. */
static void make_matrices(emp_doppler_mpnn *n)
{
    const int32_t     H = n->shape.width, classes = n->scene->class_count;
    const emp_params *p = n->params;

    emp_linear_forward(n->hidden, n->scene->class_message, emp_params_value(p, EDGE_W),
                       emp_params_value(p, EDGE_B), classes, 1, H, 1);
    emp_activation_forward(EMP_ACTIVATION_RELU, n->hidden, (int64_t)classes * H);
    emp_linear_forward(n->matrix, n->hidden, emp_params_value(p, MATRIX_W),
                       emp_params_value(p, MATRIX_B), classes, H, H * H, 1);
}

static void learn_matrices(emp_doppler_mpnn *n)
{
    const int32_t     H = n->shape.width, classes = n->scene->class_count;
    const emp_params *p = n->params;

    emp_blas_gemm_shared(false, true, classes, H, H * H, n->d_matrix, H * H,
                         emp_params_value(p, MATRIX_W), H * H, 0, n->d_hidden, H, 1);
    emp_blas_gemm_shared(true, false, H, H * H, classes, n->hidden, H, n->d_matrix, H * H,
                         0, emp_params_gradient(p, MATRIX_W), H * H, 1);
    emp_outer_add_rows(emp_params_gradient(p, MATRIX_B), n->d_matrix, H * H, H * H,
                       classes);
    emp_activation_backward(EMP_ACTIVATION_RELU, n->d_hidden, n->hidden,
                            (int64_t)classes * H);
    emp_linear_backward(
        NULL, emp_params_gradient(p, EDGE_W), emp_params_gradient(p, EDGE_B), n->d_hidden,
        n->scene->class_message, emp_params_value(p, EDGE_W), classes, 1, H, 1);
}

static void gather(emp_real *to, const emp_real *from, const int32_t *row, int32_t rows,
                   int32_t H)
{
    for (int64_t i = 0; i < rows; i++)
        memcpy(to + i * H, from + (int64_t)row[i] * H, (size_t)H * sizeof *to);
}

/* m_v = b + what its neighbours send, by place; of some nodes. */
static void add_up(const emp_doppler_mpnn *n, emp_real *m, int32_t first, int32_t count)
{
    const emp_node_edges *near = &n->scene->graph->neighbors;
    const int64_t         H = n->shape.width;

    for (int32_t v = first; v < first + count; v++) {
        memcpy(m + v * H, emp_params_value(n->params, SUM_B), (size_t)H * sizeof *m);
        for (int32_t e = near->first[v]; e < near->first[v + 1]; e++)
            emp_vector_add(m + v * H, n->sums + n->place[near->node[e]] * H, H);
    }
}

/* Round t: what each node sends, by place. */
static void send(emp_doppler_mpnn *n, int32_t t)
{
    const int32_t   H = n->shape.width, N = node_count(n);
    const int32_t  *node = n->scene->class_node;
    const emp_real *h = n->h + (int64_t)t * N * H;

    for (int32_t c = 0; c < class_count(n); c++) {
        const senders s = senders_of(n, c);
        emp_real     *sent = n->sent + row_of_round(n, &s, t) * H;
        gather(sent, h, node + s.first, s.count, H);
        emp_linear_forward(n->sums + (int64_t)s.first * H, sent, s.matrix, NULL, s.count,
                           H, H, 1);
    }
    for (int64_t i = 0; i < N && n->shape.is_gated; i++)
        emp_vector_add_scaled(n->sums + i * H, emp_params_value(n->params, GATED_E),
                              n->scene->message[node[i]], H);
}

/* Neighbours are so of each other: what a node sends has the gradients d_m of their sums. */
static void sum_gradients(const emp_doppler_mpnn *n, const senders *s, emp_real *d_sent)
{
    const emp_node_edges *near = &n->scene->graph->neighbors;
    const int64_t         H = n->shape.width;

    memset(d_sent, 0, (size_t)(s->count * H) * sizeof *d_sent);
    for (int32_t i = 0; i < s->count; i++) {
        const int32_t v = n->scene->class_node[s->first + i];
        for (int32_t e = near->first[v]; e < near->first[v + 1]; e++)
            emp_vector_add(d_sent + i * H, n->d_sums + near->node[e] * H, H);
        if (n->shape.is_gated)
            emp_vector_add_scaled(emp_params_gradient(n->params, GATED_E), d_sent + i * H,
                                  n->scene->message[v], (int32_t)H);
    }
}

/* Adds to dh what the states before round t have by way of the sums, whose gradient is d_sums. */
static void send_backward(emp_doppler_mpnn *n, int32_t t, emp_real *dh)
{
    const int32_t  H = n->shape.width, N = node_count(n);
    const int32_t *node = n->scene->class_node;

    emp_outer_add_rows(emp_params_gradient(n->params, SUM_B), n->d_sums, H, H, N);
    for (int32_t c = 0; c < class_count(n); c++) {
        const senders s = senders_of(n, c);
        emp_real     *d_sent = n->d_sent + row_of_round(n, &s, t) * H;
        sum_gradients(n, &s, d_sent);
        emp_blas_gemm_shared(false, true, s.count, H, H, d_sent, H, s.matrix, H, 0,
                             n->d_m, H, 1);
        for (int64_t i = 0; i < s.count; i++)
            emp_vector_add(dh + (int64_t)node[s.first + i] * H, n->d_m + i * H, H);
    }
}

/* The gradients of the matrices, of all rounds at once. */
static void learn_messages(emp_doppler_mpnn *n)
{
    const int32_t H = n->shape.width;

    for (int32_t c = 0; c < class_count(n); c++) {
        const senders s = senders_of(n, c);
        const int64_t at = row_of_round(n, &s, 0) * H;
        emp_blas_gemm_shared(true, false, H, H, s.count * n->shape.steps, n->sent + at, H,
                             n->d_sent + at, H, n->shape.is_gated, s.d_matrix, H, 1);
    }
}

/* ---- passes ---- */

/* Weights are packed once for all rounds of a pass, and a round takes some nodes after another, whose
 * numbers then stay in a near cache. */

static void pack(emp_doppler_mpnn *n, bool transpose)
{
    const int at = transpose ? X_TRANSPOSED : X_PLAIN;

    emp_panels_pack(&n->cells[at], emp_params_value(n->params, GRU_X_W), transpose);
    emp_panels_pack(&n->cells[at + 1], emp_params_value(n->params, GRU_H_W), transpose);
}

static int32_t strip_from(const emp_doppler_mpnn *n, int32_t first)
{
    const int32_t left = node_count(n) - first;

    return left < EMP_STRIP_ROWS ? left : EMP_STRIP_ROWS;
}

/* Round t, after what its nodes send: the next state of some nodes. */
static void step_strip(emp_doppler_mpnn *n, int32_t t, int32_t first, int32_t count)
{
    const int64_t     H = n->shape.width, size = node_count(n) * H, at = first * H;
    const emp_params *p = n->params;
    emp_real         *h = n->h + t * size + at, *m = n->m + t * size;
    emp_real         *gates = n->gates + 3 * (t * size + at);
    emp_real         *u = n->u + 3 * (t * size + at);

    add_up(n, m, first, count);
    m += at;
    emp_activation_forward(EMP_ACTIVATION_RELU, m, count * H);
    emp_panels_rows(&n->cells[X_PLAIN], gates, emp_params_value(p, GRU_X_B), 0, m, count);
    emp_panels_rows(&n->cells[H_PLAIN], u, emp_params_value(p, GRU_H_B), 0, h, count);
    emp_gru_forward(gates, h + size, u, h, count, n->shape.width);
}

static void step(emp_doppler_mpnn *n, int32_t t)
{
    for (int32_t first = 0; first < node_count(n); first += EMP_STRIP_ROWS)
        step_strip(n, t, first, strip_from(n, first));
}

void emp_doppler_mpnn_forward(emp_doppler_mpnn *n)
{
    const int32_t     H = n->shape.width, N = node_count(n);
    const int64_t     size = (int64_t)N * H;
    const emp_params *p = n->params;

    if (!n->shape.is_gated) make_matrices(n);
    emp_linear_forward(n->h, n->scene->feature, emp_params_value(p, NODE_W),
                       emp_params_value(p, NODE_B), N, F, H, 1);
    emp_activation_forward(EMP_ACTIVATION_RELU, n->h, size);
    pack(n, false);
    for (int32_t t = 0; t < n->shape.steps; t++) {
        send(n, t);
        step(n, t);
    }
    memcpy(n->x, n->h + n->shape.steps * size, (size_t)size * sizeof *n->x);
    emp_activation_forward(EMP_ACTIVATION_LEAKY, n->x, size);
}

/* From the gradient of the state of some nodes after a round to the gradient of the state before it, both in dh,
 * without the sent messages; and to the gradient of their sums in d_sums. */
static void step_strip_backward(emp_doppler_mpnn *n, int32_t t, emp_real *dh,
                                int32_t first, int32_t count)
{
    const int64_t   H = n->shape.width, size = node_count(n) * H, at = first * H;
    const emp_real *h = n->h + t * size + at, *m = n->m + t * size + at;
    emp_real       *gates = n->gates + 3 * (t * size + at);
    emp_real       *u = n->u + 3 * (t * size + at);

    emp_gru_backward(gates, u, dh + at, h, count, n->shape.width);
    emp_panels_rows(&n->cells[H_TRANSPOSED], n->d_h + at, NULL, 0, u, count);
    emp_vector_add(dh + at, n->d_h + at, count * H);
    emp_panels_rows(&n->cells[X_TRANSPOSED], n->d_sums + at, NULL, 0, gates, count);
    emp_activation_backward(EMP_ACTIVATION_RELU, n->d_sums + at, m, count * H);
}

static void step_backward(emp_doppler_mpnn *n, int32_t t, emp_real *dh)
{
    for (int32_t first = 0; first < node_count(n); first += EMP_STRIP_ROWS)
        step_strip_backward(n, t, dh, first, strip_from(n, first));
    send_backward(n, t, dh);
}

/* The weights of the cells, of all steps at once. */
static void learn_cells(emp_doppler_mpnn *n)
{
    const int32_t     H = n->shape.width, rows = n->shape.steps * node_count(n);
    const emp_params *p = n->params;

    if (rows == 0) return;
    emp_linear_backward(NULL, emp_params_gradient(p, GRU_H_W),
                        emp_params_gradient(p, GRU_H_B), n->u, n->h, NULL, rows, H, 3 * H,
                        1);
    emp_linear_backward(NULL, emp_params_gradient(p, GRU_X_W),
                        emp_params_gradient(p, GRU_X_B), n->gates, n->m, NULL, rows, H,
                        3 * H, 1);
}

void emp_doppler_mpnn_backward(emp_doppler_mpnn *n, emp_real *dx)
{
    const int32_t     H = n->shape.width, N = node_count(n);
    const int64_t     size = (int64_t)N * H;
    const emp_params *p = n->params;

    emp_activation_backward(EMP_ACTIVATION_LEAKY, dx, n->x, size);
    pack(n, true);
    for (int32_t t = n->shape.steps - 1; t >= 0; t--) step_backward(n, t, dx);
    learn_cells(n);
    learn_messages(n);
    emp_activation_backward(EMP_ACTIVATION_RELU, dx, n->h, size);
    emp_linear_backward(NULL, emp_params_gradient(p, NODE_W),
                        emp_params_gradient(p, NODE_B), dx, n->scene->feature,
                        emp_params_value(p, NODE_W), N, F, H, 1);
    if (!n->shape.is_gated) learn_matrices(n);
}

enum { FEATURE_W, FEATURE_B, ROW_W, ROW_B, OUT_W, OUT_B };

static int32_t inner(int32_t width) { return width < 2 ? 1 : width / 2; }

void emp_doppler_head_slices(emp_param_slice s[EMP_DOPPLER_HEAD_SLICES], int32_t H)
{
    const int32_t G = inner(H);

    s[FEATURE_W] = (emp_param_slice){"feature_w", F, H, 0};
    s[FEATURE_B] = (emp_param_slice){"feature_b", 1, H, 0};
    s[ROW_W] = (emp_param_slice){"row_w", EMP_DOPPLER_BLOCKS * H, G, 0};
    s[ROW_B] = (emp_param_slice){"row_b", 1, G, 0};
    s[OUT_W] = (emp_param_slice){"out_w", G, 1, 0};
    s[OUT_B] = (emp_param_slice){"out_b", 1, 1, 0};
}

emp_doppler_head emp_doppler_head_of(const emp_params *params, int32_t first, int32_t H,
                                     int32_t fixed)
{
    const int32_t after = first + EMP_DOPPLER_HEAD_SLICES;
    const size_t  end =
        after < params->slice_count ? params->slice[after].offset : params->count;

    return (emp_doppler_head){.params = params,
                              .first = first,
                              .width = H,
                              .fixed = fixed,
                              .gradient_count = end - params->slice[first].offset};
}

void emp_doppler_head_randomize(emp_params *params, int32_t first, emp_rng *rng)
{
    emp_params_orthogonal(params, first + FEATURE_W, rng);
    emp_params_orthogonal(params, first + ROW_W, rng);
    emp_params_orthogonal(params, first + OUT_W, rng);
}

int32_t emp_doppler_head_inner(const emp_doppler_head *h) { return inner(h->width); }

static int32_t shifting_width(const emp_doppler_head *h)
{
    return (EMP_DOPPLER_BLOCKS - 1 - h->fixed) * h->width;
}

emp_status emp_doppler_choices_init(emp_doppler_choices *c, int32_t most,
                                    const emp_doppler_head *h, emp_error *err)
{
    const size_t n = (size_t)most, H = (size_t)h->width, G = (size_t)inner(h->width);
    const size_t rows = n + EMP_DOPPLER_KEPT_ROWS, S = (size_t)shifting_width(h);

    *c = (emp_doppler_choices){.most_steps = EMP_DOPPLER_KEPT_STEPS};
    c->step = EMP_ADD_ARRAY(&c->arrays, emp_doppler_kept, EMP_DOPPLER_KEPT_STEPS);
    c->item = EMP_ADD_ARRAY(&c->arrays, int32_t, rows);
    c->plain = EMP_ADD_ARRAY(&c->arrays, double, n *F);
    c->target = EMP_ADD_ARRAY(&c->arrays, double, n);
    c->p = EMP_ADD_ARRAY(&c->arrays, emp_real, n);
    c->feature = EMP_ADD_ARRAY(&c->arrays, emp_real, rows * F);
    c->described = EMP_ADD_ARRAY(&c->arrays, emp_real, rows * H);
    c->d_described = EMP_ADD_ARRAY(&c->arrays, emp_real, rows * H);
    c->shifting = EMP_ADD_ARRAY(&c->arrays, emp_real, rows * S);
    c->d_shifting = EMP_ADD_ARRAY(&c->arrays, emp_real, rows * S);
    c->hidden = EMP_ADD_ARRAY(&c->arrays, emp_real, rows * G);
    c->d_hidden = EMP_ADD_ARRAY(&c->arrays, emp_real, rows * G);
    c->d_logit = EMP_ADD_ARRAY(&c->arrays, emp_real, rows);
    c->deviation = EMP_ADD_ARRAY(&c->arrays, emp_real, EMP_DOPPLER_KEPT_STEPS * S);
    if (c->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "%d choices of width %d", most, h->width);
    return EMP_OK;
}

void emp_doppler_choices_clear(emp_doppler_choices *c) { emp_arrays_clear(&c->arrays); }

static const emp_real *value(const emp_doppler_head *h, int32_t slice)
{
    return emp_params_value(h->params, h->first + slice);
}

static emp_real *part(const emp_doppler_head *h, emp_real *gradient, int32_t slice)
{
    const emp_param_slice *s = &h->params->slice[h->first];

    return gradient + (s[slice].offset - s[0].offset);
}

/* A block's rows of a matrix with the rows of ROW_W: its values, or its gradients. */
static int64_t rows_of_block(const emp_doppler_head *h, int32_t block)
{
    return (int64_t)block * h->width * inner(h->width);
}

static int64_t rows_of_shifting(const emp_doppler_head *h)
{
    return rows_of_block(h, 1 + h->fixed);
}

void emp_doppler_head_fix(const emp_doppler_head *h, emp_real *fixed,
                          const emp_real *const *block, int32_t rows)
{
    const int32_t H = h->width, G = inner(H);

    for (int64_t i = 0; i < rows; i++)
        memcpy(fixed + i * G, value(h, ROW_B), (size_t)G * sizeof *fixed);
    for (int32_t b = 0; b < h->fixed; b++)
        emp_blas_gemm_shared(false, false, rows, G, H, block[b], H,
                             value(h, ROW_W) + rows_of_block(h, 1 + b), G, 1, fixed, G,
                             1);
}

void emp_doppler_head_fix_backward(const emp_doppler_head *h, emp_params *params,
                                   const emp_real *d_fixed, emp_real *const *d_block,
                                   const emp_real *const *block, emp_real *scratch,
                                   int32_t rows)
{
    const int32_t   H = h->width, G = inner(H);
    emp_real *const dw = emp_params_gradient(params, h->first + ROW_W);

    emp_outer_add_rows(emp_params_gradient(params, h->first + ROW_B), d_fixed, G, G,
                       rows);
    for (int32_t b = 0; b < h->fixed; b++) {
        const int64_t at = rows_of_block(h, 1 + b);
        emp_linear_backward(scratch, dw + at, NULL, d_fixed, block[b],
                            value(h, ROW_W) + at, rows, H, G, 1);
        emp_vector_add(d_block[b], scratch, (int64_t)rows * H);
    }
}

double emp_doppler_head_forward(const emp_doppler_head *h, emp_doppler_choices *c)
{
    const int32_t n = c->count, H = h->width, G = inner(H), S = shifting_width(h);
    const int64_t at = c->rows;
    emp_real     *described = c->described + at * H, *hidden = c->hidden + at * G;

    emp_linear_forward(described, c->feature + at * F, value(h, FEATURE_W),
                       value(h, FEATURE_B), n, F, H, 1);
    emp_activation_forward(EMP_ACTIVATION_LEAKY, described, (int64_t)n * H);
    emp_blas_gemm(false, false, n, G, H, described, H, value(h, ROW_W), G, 1, hidden, G);
    emp_blas_gemm(false, false, n, G, S, c->shifting + at * S, S,
                  value(h, ROW_W) + rows_of_shifting(h), G, 1, hidden, G);
    emp_activation_forward(EMP_ACTIVATION_LEAKY, hidden, (int64_t)n * G);
    emp_linear_forward(c->p, hidden, value(h, OUT_W), value(h, OUT_B), n, G, 1, 1);
    return emp_categorical_softmax(c->p, n);
}

void emp_doppler_head_backward(const emp_doppler_head *h, emp_doppler_choices *c,
                               emp_real *gradient)
{
    const int32_t n = c->rows, H = h->width, G = inner(H), S = shifting_width(h);
    const int64_t shifting = rows_of_shifting(h);
    emp_real     *dw = part(h, gradient, ROW_W);

    emp_linear_backward(c->d_hidden, part(h, gradient, OUT_W), part(h, gradient, OUT_B),
                        c->d_logit, c->hidden, value(h, OUT_W), n, G, 1, 1);
    emp_activation_backward(EMP_ACTIVATION_LEAKY, c->d_hidden, c->hidden, (int64_t)n * G);
    emp_linear_backward(c->d_described, dw, NULL, c->d_hidden, c->described,
                        value(h, ROW_W), n, H, G, 1);
    emp_linear_backward(c->d_shifting, dw + shifting, NULL, c->d_hidden, c->shifting,
                        value(h, ROW_W) + shifting, n, S, G, 1);
    emp_activation_backward(EMP_ACTIVATION_LEAKY, c->d_described, c->described,
                            (int64_t)n * H);
    emp_linear_backward(NULL, part(h, gradient, FEATURE_W), part(h, gradient, FEATURE_B),
                        c->d_described, c->feature, value(h, FEATURE_W), n, F, H, 1);
}

void emp_doppler_head_add(const emp_doppler_head *h, emp_params *params,
                          const emp_real *gradient)
{
    emp_real *to = emp_params_gradient(params, h->first);

    for (size_t i = 0; i < h->gradient_count; i++) to[i] += gradient[i];
}
