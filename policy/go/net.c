// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/go/net.h"

#include <string.h>

#include "policy/nn/categorical.h"
#include "policy/nn/layers.h"
#include "policy/nn/products.h"

/* Slices: what is once, then of each graph layer, then gates, then attention layers. */
enum { TYPES, TYPE_MAP, INPUT, INPUT_BIAS, HEAD, HEAD_BIAS, FIRST_GRAPH_LAYER };
enum { POOL, POOL_BIAS, OWN, MOST, OWN_BIAS, GRAPH_SLICES };
enum {
    MOST_LAYER_SLICES = (1 + EMP_GO_MAX_LAYERS) * EMP_LAYER_SLICES + EMP_GO_MAX_LAYERS,
    MOST_SLICES = FIRST_GRAPH_LAYER + EMP_GO_MAX_GRAPH_LAYERS * GRAPH_SLICES +
                  MOST_LAYER_SLICES + EMP_TAIL_MAX_SLICES + 1
};
_Static_assert((int)MOST_SLICES <= (int)EMP_MAX_SLICES, "slices of the largest network");

static int32_t graph_slice(const emp_go_net *n, int32_t layer, int32_t slice)
{
    (void)n;
    return FIRST_GRAPH_LAYER + layer * GRAPH_SLICES + slice;
}

static int32_t gate_slice(const emp_go_net *n, int32_t layer)
{
    return graph_slice(n, n->shape.graph_layers, 0) + layer;
}

/* Layer -1 is the reader. */
static int32_t layer_slice(const emp_go_net *n, int32_t layer)
{
    int32_t gates = n->gate_rows > 0 ? n->shape.layers : 0;
    int32_t readers = n->shape.modulate == EMP_MODULATE_NODE;

    return gate_slice(n, gates) + (layer + readers) * EMP_LAYER_SLICES;
}

static int32_t tail_slice(const emp_go_net *n) { return layer_slice(n, n->shape.layers); }

/* The last of all, if there are rounds. */
static int32_t before_slice(const emp_go_net *n)
{
    return tail_slice(n) + emp_tail_slice_count(&n->tail);
}

static emp_status init_params(emp_go_net *n, emp_error *err)
{
    const emp_go_shape *s = &n->shape;
    const int32_t       W = s->width;
    emp_param_slice     slice[EMP_MAX_SLICES] = {
            [TYPES] = {"types", n->features->type_count, s->type_width, 0},
            [TYPE_MAP] = {"map of types", s->type_width, W, 0},
            [INPUT] = {"input", EMP_TRANSFERABLE, W, 0},
            [INPUT_BIAS] = {"input bias", 1, W, 0},
            [HEAD] = {"head", W, s->devices, 0},
            [HEAD_BIAS] = {"head bias", 1, s->devices, 0}};

    for (int32_t l = 0; l < s->graph_layers; l++) {
        slice[graph_slice(n, l, POOL)] = (emp_param_slice){"pool", W, W, 0};
        slice[graph_slice(n, l, POOL_BIAS)] = (emp_param_slice){"pool bias", 1, W, 0};
        slice[graph_slice(n, l, OWN)] = (emp_param_slice){"own", W, W, 0};
        slice[graph_slice(n, l, MOST)] = (emp_param_slice){"neighbours", W, W, 0};
        slice[graph_slice(n, l, OWN_BIAS)] = (emp_param_slice){"own bias", 1, W, 0};
    }
    for (int32_t l = 0; l < s->layers && n->gate_rows > 0; l++)
        slice[gate_slice(n, l)] = (emp_param_slice){"gate", W, W, 0};
    for (int32_t l = s->modulate == EMP_MODULATE_NODE ? -1 : 0; l < s->layers; l++)
        emp_segment_layer_slices(&slice[layer_slice(n, l)], W, s->hidden);
    n->tail.first = tail_slice(n);
    emp_tail_slices(&n->tail, &slice[n->tail.first], W, s->hidden);
    slice[before_slice(n)] = (emp_param_slice){"devices before", s->devices + 1, W, 0};
    EMP_CHECK(emp_params_init(&n->params, slice, before_slice(n) + s->has_rounds, err));
    n->params.threads = s->threads;
    return EMP_OK;
}

static void allocate(emp_go_net *n)
{
    const emp_go_shape *s = &n->shape;
    const size_t        rows = (size_t)n->features->count;
    const size_t        all = rows * (size_t)s->width;
    const size_t        gate = (size_t)n->gate_rows * (size_t)s->width;
    emp_arrays         *a = &n->arrays;

    n->p = EMP_ADD_ARRAY(a, emp_real, rows * (size_t)s->devices);
    n->d_logits = EMP_ADD_ARRAY(a, emp_real, rows * (size_t)s->devices);
    if (s->has_rounds) n->before = EMP_ADD_ARRAY(a, int32_t, rows);
    n->image =
        EMP_ADD_ARRAY(a, emp_real, (size_t)n->features->type_count * (size_t)s->width);
    for (int32_t l = 0; l <= s->graph_layers; l++)
        n->h[l] = EMP_ADD_ARRAY(a, emp_real, all);
    for (int32_t l = 0; l < s->graph_layers; l++) {
        n->pooled[l] = EMP_ADD_ARRAY(a, emp_real, all);
        n->most[l] = EMP_ADD_ARRAY(a, emp_real, all);
        n->chosen[l] = EMP_ADD_ARRAY(a, int32_t, all);
    }
    n->mean = EMP_ADD_ARRAY(a, emp_real, (size_t)s->width);
    emp_segment_work_allocate(&n->work, a);
    if (s->modulate == EMP_MODULATE_NODE)
        emp_segment_layer_allocate(&n->reader, &n->work, a);
    for (int32_t l = 0; l < s->layers; l++) {
        if (gate > 0) n->gate[l] = EMP_ADD_ARRAY(a, emp_real, gate);
        if (gate > 0) n->x[l] = EMP_ADD_ARRAY(a, emp_real, all);
        emp_segment_layer_allocate(&n->layer[l], &n->work, a);
    }
    emp_tail_allocate(&n->tail, &n->work, a);
    n->dh = EMP_ADD_ARRAY(a, emp_real, all);
    n->dz = EMP_ADD_ARRAY(a, emp_real, all);
    n->dgate = EMP_ADD_ARRAY(a, emp_real, all);
    n->dM = EMP_ADD_ARRAY(a, emp_real, all);
}

emp_status emp_go_net_init(emp_go_net *n, const emp_go_shape *shape,
                           const emp_transferable *features, emp_error *err)
{
    emp_status st = EMP_OK;

    *n = (emp_go_net){.shape = *shape, .features = features};
    if (shape->width % shape->heads != 0)
        EMP_FAIL(EMP_EINVAL, "go: %d heads do not divide width=%d; change one of them",
                 shape->heads, shape->width);
    n->gate_rows = shape->modulate == EMP_MODULATE_NODE    ? features->count
                   : shape->modulate == EMP_MODULATE_GRAPH ? 1
                                                           : 0;
    n->work = (emp_segment_work){.attention = {.rows = features->count,
                                               .width = shape->width,
                                               .heads = shape->heads,
                                               .segment = shape->segment < features->count
                                                              ? shape->segment
                                                              : features->count,
                                               .has_memory = shape->has_memory,
                                               .threads = shape->threads},
                                 .hidden = shape->hidden};
    n->tail = (emp_tail){.count = shape->task_count, .first_choices = shape->devices};
    for (int32_t k = 0; k < shape->task_count; k++)
        n->tail.task[k].choices = shape->task_choices[k];
    EMP_TRY(init_params(n, err));
    allocate(n);
    if (n->arrays.is_short)
        EMP_FAIL(EMP_ENOMEM, "a network over %d nodes", features->count);
    if (shape->has_rounds) emp_go_net_show(n, NULL);

cleanup:
    if (st != EMP_OK) emp_go_net_clear(n);
    return st;
}

void emp_go_net_clear(emp_go_net *n)
{
    emp_params_clear(&n->params);
    emp_arrays_clear(&n->arrays);
    *n = (emp_go_net){0};
}

void emp_go_net_randomize(emp_go_net *n, double head_gain, emp_rng *rng)
{
    const emp_go_shape *s = &n->shape;

    emp_params_glorot(&n->params, TYPES, 1.0, rng);
    emp_params_glorot(&n->params, TYPE_MAP, 1.0, rng);
    emp_params_glorot(&n->params, INPUT, 1.0, rng);
    for (int32_t l = 0; l < s->graph_layers; l++) {
        emp_params_glorot(&n->params, graph_slice(n, l, POOL), 1.0, rng);
        emp_params_glorot(&n->params, graph_slice(n, l, OWN), 1.0, rng);
        emp_params_glorot(&n->params, graph_slice(n, l, MOST), 1.0, rng);
    }
    for (int32_t l = s->modulate == EMP_MODULATE_NODE ? -1 : 0; l < s->layers; l++)
        emp_segment_layer_randomize(&n->params, layer_slice(n, l), rng);
    emp_params_glorot(&n->params, HEAD, head_gain, rng);
    emp_tail_randomize(&n->tail, &n->params, head_gain, rng);
    if (s->has_rounds) emp_params_glorot(&n->params, before_slice(n), 1.0, rng);
}

void emp_go_net_show(emp_go_net *n, const uint8_t *choice)
{
    for (int32_t v = 0; v < n->features->count; v++)
        n->before[v] = choice != NULL ? choice[v] : n->shape.devices;
}

static bool is_stopped(const emp_go_net *n) { return emp_stop_is_set(n->stop); }

/* ---- forward ---- */

static const emp_real *value(const emp_go_net *n, int32_t slice)
{
    return emp_params_value(&n->params, slice);
}

static void embed(emp_go_net *n)
{
    const emp_transferable *f = n->features;
    const int32_t           W = n->shape.width, threads = n->shape.threads;

    emp_linear_forward(n->image, value(n, TYPES), value(n, TYPE_MAP), NULL, f->type_count,
                       n->shape.type_width, W, threads);
    emp_linear_forward(n->h[0], f->value, value(n, INPUT), value(n, INPUT_BIAS), f->count,
                       EMP_TRANSFERABLE, W, threads);
    emp_embedding_forward(n->h[0], n->image, f->type, f->count, W);
    if (n->before != NULL)
        emp_embedding_forward(n->h[0], value(n, before_slice(n)), n->before, f->count, W);
    emp_activation_forward(EMP_ACTIVATION_RELU, n->h[0], (int64_t)f->count * W);
}

static void pass_messages(emp_go_net *n, int32_t l)
{
    const emp_transferable *f = n->features;
    const int32_t           W = n->shape.width, threads = n->shape.threads;

    emp_linear_forward(n->pooled[l], n->h[l], value(n, graph_slice(n, l, POOL)),
                       value(n, graph_slice(n, l, POOL_BIAS)), f->count, W, W, threads);
    emp_sigmoid_forward(n->pooled[l], (int64_t)f->count * W);
    emp_neighbor_max_forward(n->most[l], n->chosen[l], n->pooled[l], f->first,
                             f->neighbor, f->count, W, threads);
    emp_linear_forward(n->h[l + 1], n->h[l], value(n, graph_slice(n, l, OWN)),
                       value(n, graph_slice(n, l, OWN_BIAS)), f->count, W, W, threads);
    emp_blas_gemm_shared(false, false, f->count, W, W, n->most[l], W,
                         value(n, graph_slice(n, l, MOST)), W, 1, n->h[l + 1], W,
                         threads);
    emp_activation_forward(EMP_ACTIVATION_RELU, n->h[l + 1], (int64_t)f->count * W);
}

static const emp_real *last_h(const emp_go_net *n) { return n->h[n->shape.graph_layers]; }

/* M, (gate_rows,W). */
static const emp_real *modulator(const emp_go_net *n)
{
    return n->shape.modulate == EMP_MODULATE_GRAPH ? n->mean : n->reader.out;
}

static void read_graph(emp_go_net *n)
{
    const int64_t   W = n->shape.width, rows = n->features->count;
    const emp_real *h = last_h(n);

    if (n->shape.modulate == EMP_MODULATE_NODE)
        emp_segment_layer_forward(&n->reader, &n->work, &n->params, layer_slice(n, -1),
                                  h);
    if (n->shape.modulate != EMP_MODULATE_GRAPH) return;
    memset(n->mean, 0, (size_t)W * sizeof *n->mean);
    for (int64_t i = 0; i < rows * W; i++) n->mean[i % W] += h[i];
    for (int64_t i = 0; i < W; i++) n->mean[i] /= (emp_real)rows;
}

/* The input of an attention layer: z, gated if there are gates. */
static const emp_real *gate_input(emp_go_net *n, int32_t l, const emp_real *z)
{
    const int32_t W = n->shape.width, threads = n->shape.threads;

    if (n->gate_rows == 0) return z;
    emp_linear_forward(n->gate[l], modulator(n), value(n, gate_slice(n, l)), NULL,
                       n->gate_rows, W, W, threads);
    emp_sigmoid_forward(n->gate[l], (int64_t)n->gate_rows * W);
    emp_gate_forward(n->x[l], z, n->gate[l], n->gate_rows, n->features->count, W,
                     threads);
    return n->x[l];
}

/* A logit of a device that a node may not use, far below all others. */
static const emp_real FORBIDDEN = (emp_real)-1e4;

/* \return the entropy. */
static double set_decided(emp_go_net *n)
{
    const int64_t A = n->shape.devices;

    memset(n->p, 0, (size_t)n->features->count * (size_t)A * sizeof *n->p);
    for (int64_t v = 0; v < n->features->count; v++) n->p[v * A + n->decided[v]] = 1;
    return 0.0;
}

static double choose(emp_go_net *n, const emp_real *z)
{
    const int32_t rows = n->features->count, A = n->shape.devices;
    double        entropy;

    emp_linear_forward(n->p, z, value(n, HEAD), value(n, HEAD_BIAS), rows, n->shape.width,
                       A, n->shape.threads);
    for (int64_t i = 0; i < (int64_t)rows * A; i++)
        if ((n->features->devices[i / A] >> (i % A) & 1) == 0) n->p[i] = FORBIDDEN;
    entropy = emp_categorical_softmax_rows(n->p, A, rows, A);
    if (n->decided != NULL) return set_decided(n);
    for (int64_t i = 0; i < (int64_t)rows * A; i++)
        if ((n->features->devices[i / A] >> (i % A) & 1) == 0) n->p[i] = 0;
    return entropy / rows;
}

double emp_go_net_forward(emp_go_net *n)
{
    const emp_real *z;

    embed(n);
    for (int32_t l = 0; l < n->shape.graph_layers && !is_stopped(n); l++)
        pass_messages(n, l);
    if (!is_stopped(n)) read_graph(n);
    z = last_h(n);
    for (int32_t l = 0; l < n->shape.layers && !is_stopped(n); l++) {
        emp_segment_layer_forward(&n->layer[l], &n->work, &n->params, layer_slice(n, l),
                                  gate_input(n, l, z));
        z = n->layer[l].out;
    }
    const double entropy = choose(n, z);
    if (is_stopped(n)) return entropy;
    return entropy + emp_tail_forward(&n->tail, &n->work, &n->params, z, n->p);
}

/* ---- backward ---- */

static emp_real *gradient(const emp_go_net *n, int32_t slice)
{
    return emp_params_gradient(&n->params, slice);
}

static const emp_real *layer_input(const emp_go_net *n, int32_t l)
{
    return l == 0 ? last_h(n) : n->layer[l - 1].out;
}

/* Turns dz from the gradient of gated rows into the gradient of ungated rows, and adds to dM. */
static void gate_backward(emp_go_net *n, int32_t l)
{
    const int32_t   W = n->shape.width, threads = n->shape.threads;
    const int64_t   gate = (int64_t)n->gate_rows * W;
    const emp_real *g = value(n, gate_slice(n, l));

    emp_gate_backward(n->dz, n->dgate, n->dz, layer_input(n, l), n->gate[l], n->gate_rows,
                      n->features->count, W, threads);
    emp_sigmoid_backward(n->dgate, n->gate[l], gate);
    emp_linear_backward(NULL, gradient(n, gate_slice(n, l)), NULL, n->dgate, modulator(n),
                        g, n->gate_rows, W, W, threads);
    emp_blas_gemm_shared(false, true, n->gate_rows, W, W, n->dgate, W, g, W, 1, n->dM, W,
                         threads);
}

/* Adds to dz, the gradient of h, what M passes on. */
static void read_backward(emp_go_net *n)
{
    const int64_t W = n->shape.width, rows = n->features->count;

    if (n->shape.modulate == EMP_MODULATE_NODE) {
        emp_segment_layer_backward(&n->reader, &n->work, &n->params, layer_slice(n, -1),
                                   n->dM, n->dM, last_h(n));
        emp_vector_add(n->dz, n->dM, rows * W);
    } else if (n->shape.modulate == EMP_MODULATE_GRAPH) {
        for (int64_t i = 0; i < rows * W; i++) n->dz[i] += n->dM[i % W] / (emp_real)rows;
    }
}

/* Turns dz from the gradient of h[l + 1] into the gradient of h[l]. */
static void messages_backward(emp_go_net *n, int32_t l)
{
    const emp_transferable *f = n->features;
    const int32_t           W = n->shape.width, threads = n->shape.threads;
    const int64_t           all = (int64_t)f->count * W;
    emp_real               *dmost = n->dM, *dpooled = n->dgate;

    emp_activation_backward(EMP_ACTIVATION_RELU, n->dz, n->h[l + 1], all);
    emp_linear_backward(dmost, gradient(n, graph_slice(n, l, MOST)), NULL, n->dz,
                        n->most[l], value(n, graph_slice(n, l, MOST)), f->count, W, W,
                        threads);
    emp_linear_backward(n->dh, gradient(n, graph_slice(n, l, OWN)),
                        gradient(n, graph_slice(n, l, OWN_BIAS)), n->dz, n->h[l],
                        value(n, graph_slice(n, l, OWN)), f->count, W, W, threads);
    emp_neighbor_max_backward(dpooled, dmost, n->chosen[l], f->count, W, threads);
    emp_sigmoid_backward(dpooled, n->pooled[l], all);
    emp_linear_backward(n->dz, gradient(n, graph_slice(n, l, POOL)),
                        gradient(n, graph_slice(n, l, POOL_BIAS)), dpooled, n->h[l],
                        value(n, graph_slice(n, l, POOL)), f->count, W, W, threads);
    emp_vector_add(n->dz, n->dh, all);
}

static void embed_backward(emp_go_net *n)
{
    const emp_transferable *f = n->features;
    const int32_t           W = n->shape.width, threads = n->shape.threads;

    emp_activation_backward(EMP_ACTIVATION_RELU, n->dz, n->h[0], (int64_t)f->count * W);
    if (n->before != NULL)
        emp_embedding_backward(gradient(n, before_slice(n)), n->dz, n->before, f->count,
                               W);
    emp_linear_backward(NULL, gradient(n, INPUT), gradient(n, INPUT_BIAS), n->dz,
                        f->value, NULL, f->count, EMP_TRANSFERABLE, W, threads);
    memset(n->image, 0, (size_t)f->type_count * (size_t)W * sizeof *n->image);
    emp_embedding_backward(n->image, n->dz, f->type, f->count, W);
    emp_linear_backward(gradient(n, TYPES), gradient(n, TYPE_MAP), NULL, n->image,
                        value(n, TYPES), value(n, TYPE_MAP), f->type_count,
                        n->shape.type_width, W, threads);
}

void emp_go_net_backward(emp_go_net *n)
{
    const int32_t   rows = n->features->count, W = n->shape.width;
    const emp_real *z = n->layer[n->shape.layers - 1].out;

    emp_params_zero_gradient(&n->params);
    memset(n->dM, 0, (size_t)rows * (size_t)W * sizeof *n->dM);
    if (n->tail.count > 0)
        emp_tail_backward(&n->tail, &n->work, &n->params, n->dh, n->d_logits, z, n->p);
    emp_linear_backward(n->dz, gradient(n, HEAD), gradient(n, HEAD_BIAS), n->d_logits, z,
                        value(n, HEAD), rows, W, n->shape.devices, n->shape.threads);
    if (n->tail.count > 0) emp_vector_add(n->dz, n->dh, (int64_t)rows * W);
    for (int32_t l = n->shape.layers - 1; l >= 0 && !is_stopped(n); l--) {
        const emp_real *x = n->gate_rows > 0 ? n->x[l] : layer_input(n, l);
        emp_segment_layer_backward(&n->layer[l], &n->work, &n->params, layer_slice(n, l),
                                   n->dz, n->dz, x);
        if (n->gate_rows > 0) gate_backward(n, l);
    }
    if (!is_stopped(n)) read_backward(n);
    for (int32_t l = n->shape.graph_layers - 1; l >= 0 && !is_stopped(n); l--)
        messages_backward(n, l);
    if (!is_stopped(n)) embed_backward(n);
}
