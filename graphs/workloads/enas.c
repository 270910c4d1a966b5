// SPDX-License-Identifier: GPL-3.0-or-later
/* Cells drawn at random, as ENAS's search does it (Pham et al., ICML 2018), whose graphs Placeto
 * places: image classifiers of convolutional cells, and language models of recurrent ones. A seed
 * is a graph. The ops follow melodyguan/enas; what is drawn there by its controller is drawn
 * here evenly. */
#include "base/random.h"
#include "graphs/tensorflow/tf_ops.h"
#include "graphs/tensorflow/tf_slim.h"
#include "graphs/workloads/workloads_internal.h"

typedef struct {
    emp_tf     *tf;
    emp_mt19937 rng;
    int32_t     layers, filters; /**< of a classifier */
    int64_t     units, batch;
    int32_t     steps; /**< of a language model */
} emp_enas;

/* ---- images ---- */

/* The convolutional cells: five sums of two ops of earlier states, and a product over the states
 * that no cell reads. One cell is drawn for all layers, and another for the two that halve the image. */
enum { SUMS = 5, STATES = SUMS + 2, CLASSES = 10, IMAGE_SIZE = 32 };

typedef enum { SEPARABLE_3, SEPARABLE_5, AVERAGE, MAXIMUM, SAME, OP_COUNT } image_op;

typedef struct {
    int32_t  from[SUMS][2];
    image_op op[SUMS][2];
    bool     is_read[STATES];
} image_cell;

static void draw_image_cell(emp_enas *e, image_cell *c)
{
    *c = (image_cell){0};
    for (uint32_t i = 0; i < SUMS; i++)
        for (int k = 0; k < 2; k++) {
            c->from[i][k] = (int32_t)emp_mt19937_below_numpy(&e->rng, i + 2);
            c->op[i][k] = (image_op)emp_mt19937_below_numpy(&e->rng, OP_COUNT);
            c->is_read[c->from[i][k]] = true;
        }
}

/* ---- ops ---- */

static emp_port conv(emp_tf_slim *s, const char *name, emp_port x, int32_t filters)
{
    emp_tf_conv c = {.height = 1,
                     .width = 1,
                     .filters = filters,
                     .stride = 1,
                     .is_same = true,
                     .kind = EMP_TF_CONV_BN};

    return emp_tf_slim_conv2d(s, name, emp_tf_op1(s->tf, "Relu", NULL, x), c);
}

static emp_port pool(emp_tf_slim *s, const char *type, emp_port x, int32_t stride)
{
    emp_tf_conv c = {.height = 3, .width = 3, .stride = stride, .is_same = true};

    return emp_tf_slim_pool(s, "pool", type, x, c);
}

/* A window for each channel, and a product over channels; twice. */
static emp_port separable(emp_tf_slim *s, emp_port x, int32_t size, int32_t filters,
                          int32_t stride)
{
    emp_tf *tf = s->tf;

    for (int32_t i = 0; i < 2; i++) {
        emp_op_attrs attrs = {.strides = {1, i == 0 ? stride : 1, i == 0 ? stride : 1, 1},
                              .padding_is_same = true};
        emp_tf_slim_scope outer =
            emp_tf_slim_enter(s, emp_tf_number(tf, "sep_conv_%d", i));
        emp_tf_variable w = emp_tf_get_variable(
            tf, emp_tf_join(tf, s->variables, "depthwise", ""), EMP_DTYPE_FLOAT,
            EMP_SHAPE(size, size, emp_tf_shape(tf, x).dim[3], 1), EMP_TF_INIT_NORMAL,
            true);
        x = emp_tf_op1(tf, "Relu", NULL, x);
        x = emp_tf_op(tf, "DepthwiseConv2dNative", "depthwise", &attrs,
                      EMP_TF_PORTS(x, w.read));
        emp_tf_conv point = {.height = 1,
                             .width = 1,
                             .filters = filters,
                             .stride = 1,
                             .is_same = true,
                             .kind = EMP_TF_CONV_BN};
        x = emp_tf_slim_conv2d(s, "pointwise", x, point);
        emp_tf_slim_leave(s, outer);
    }
    return x;
}

static emp_port apply(emp_tf_slim *s, image_op op, emp_port x, int32_t filters,
                      int32_t stride)
{
    switch (op) {
    case SEPARABLE_3: return separable(s, x, 3, filters, stride);
    case SEPARABLE_5: return separable(s, x, 5, filters, stride);
    case AVERAGE: return pool(s, "AvgPool", x, stride);
    case MAXIMUM: return pool(s, "MaxPool", x, stride);
    default: return stride > 1 ? pool(s, "AvgPool", x, stride) : x;
    }
}

/* ---- cells ---- */

static emp_port add_cell(emp_tf_slim *s, const image_cell *c, const emp_port inputs[2],
                         int32_t filters, int32_t stride)
{
    static const char *const sides[2] = {"x", "y"};
    emp_tf                  *tf = s->tf;
    emp_port                 state[STATES], loose[STATES];
    int32_t                  count = 0;

    state[0] = conv(s, "calibrate_0", inputs[0], filters);
    state[1] = conv(s, "calibrate_1", inputs[1], filters);
    for (int32_t i = 0; i < SUMS; i++) {
        emp_port term[2];
        for (int k = 0; k < 2; k++) {
            emp_tf_slim_scope outer = emp_tf_slim_enter(
                s, emp_tf_join(tf, emp_tf_number(tf, "sum_%d", i), "_", sides[k]));
            term[k] = apply(s, c->op[i][k], state[c->from[i][k]], filters,
                            c->from[i][k] < 2 ? stride : 1);
            emp_tf_slim_leave(s, outer);
        }
        state[2 + i] = emp_tf_op2(tf, "Add", "add", term[0], term[1]);
    }
    for (int32_t i = 2; i < STATES; i++)
        if (!c->is_read[i]) loose[count++] = state[i];
    return conv(s, "output", emp_tf_concat(tf, NULL, loose, count, 3), filters);
}

/* The output of the cell before the last, halved to the size of the last one's. */
static emp_port fit(emp_tf_slim *s, emp_port other, emp_port x)
{
    bool is_larger = emp_tf_shape(s->tf, other).dim[1] != emp_tf_shape(s->tf, x).dim[1];

    return is_larger ? pool(s, "AvgPool", other, 2) : other;
}

static emp_port body(emp_enas *e, emp_tf_slim *s, emp_port images)
{
    image_cell  normal, reduction;
    emp_tf_conv stem = {.height = 3,
                        .width = 3,
                        .filters = 3 * e->filters,
                        .stride = 1,
                        .is_same = true,
                        .kind = EMP_TF_CONV_BN};
    int32_t     filters = e->filters, third = e->layers / 3;
    emp_port    last[2];

    draw_image_cell(e, &normal);
    draw_image_cell(e, &reduction);
    last[0] = last[1] = emp_tf_slim_conv2d(s, "stem_conv", images, stem);
    for (int32_t i = 0; i < e->layers; i++) {
        bool              is_reduction = i > 0 && i % third == 0 && i / third < 3;
        emp_tf_slim_scope outer =
            emp_tf_slim_enter(s, emp_tf_number(s->tf, "layer_%d", i));
        if (is_reduction) filters *= 2;
        const emp_port inputs[2] = {last[0], fit(s, last[1], last[0])};
        emp_port x = add_cell(s, is_reduction ? &reduction : &normal, inputs, filters,
                              is_reduction ? 2 : 1);
        last[1] = last[0];
        last[0] = x;
        emp_tf_slim_leave(s, outer);
    }
    return last[0];
}

/* A classifier of CIFAR-10's images; its loss. */
static emp_port image_loss(emp_enas *e)
{
    emp_tf     *tf = e->tf;
    emp_tf_slim s = {.tf = tf,
                     .fused_batch_norm = true,
                     .batch_norm_scale = true,
                     .variables = "child/"};
    emp_port    images = emp_tf_placeholder(tf, "images", EMP_DTYPE_FLOAT,
                                            EMP_SHAPE(e->batch, IMAGE_SIZE, IMAGE_SIZE, 3));
    emp_port    labels =
        emp_tf_placeholder(tf, "labels", EMP_DTYPE_INT32, EMP_SHAPE(e->batch));

    const char *outer = emp_tf_enter(tf, "child");
    emp_port    x = emp_tf_op1(tf, "Relu", NULL, body(e, &s, images));
    x = emp_tf_reduce(tf, "Mean", "pool", x, (int64_t[]){1, 2}, 2, false);
    emp_tf_variable w = emp_tf_get_variable(
        tf, "child/fc/w", EMP_DTYPE_FLOAT, EMP_SHAPE(emp_tf_shape(tf, x).dim[1], CLASSES),
        EMP_TF_INIT_NORMAL, true);
    emp_port logits = emp_tf_matmul(tf, "MatMul", x, w.read, false, false);
    emp_port losses = emp_tf_sparse_softmax_cross_entropy(
        tf, "SparseSoftmaxCrossEntropyWithLogits", labels, logits);
    emp_tf_leave(tf, outer);
    return emp_tf_reduce_all(tf, "Mean", "loss", losses);
}

/* ---- language ---- */

/* The recurrent cell: each of its nodes reads an earlier one through a highway,
 * s = s + t (h - s), and the mean of the nodes that no op reads is the state. */
enum { NODES = 12, VOCABULARY = 10000 };

typedef struct {
    int32_t         from[NODES]; /* of node i > 0, an earlier one */
    const char     *function[NODES];
    bool            is_read[NODES];
    emp_tf_variable first, weight[NODES];
} recurrent_cell;

static emp_tf_variable weight(emp_enas *e, const char *name, emp_shape shape)
{
    return emp_tf_get_variable(e->tf, name, EMP_DTYPE_FLOAT, shape, EMP_TF_INIT_UNIFORM,
                               true);
}

static void draw_recurrent_cell(emp_enas *e, recurrent_cell *c)
{
    static const char *const functions[] = {"Tanh", "Relu", "Identity", "Sigmoid"};

    *c = (recurrent_cell){0};
    for (int32_t i = 0; i < NODES; i++) {
        if (i > 0) {
            c->from[i] = (int32_t)emp_mt19937_below_numpy(&e->rng, (uint32_t)i);
            c->is_read[c->from[i]] = true;
        }
        c->function[i] = functions[emp_mt19937_below_numpy(&e->rng, 4)];
    }
    c->first = weight(e, "rnn/w_prev", EMP_SHAPE(2 * e->units, 2 * e->units));
    for (int32_t i = 1; i < NODES; i++)
        c->weight[i] = weight(e, emp_tf_number(e->tf, "rnn/w_%d", i),
                              EMP_SHAPE(e->units, 2 * e->units));
}

/* state + sigmoid(t) (f(h) - state), where the product has both h and t. */
static emp_port highway(emp_enas *e, emp_port product, emp_port state,
                        const char *function)
{
    emp_tf      *tf = e->tf;
    emp_op_attrs two = {.count = 2};
    emp_port     axis = emp_tf_int(tf, NULL, "split/split_dim", 1);
    emp_port both = emp_tf_op(tf, "Split", "split", &two, EMP_TF_PORTS(axis, product));
    emp_port h = emp_tf_op1(tf, function, NULL, both);
    emp_port t = emp_tf_op1(tf, "Sigmoid", NULL, (emp_port){both.op, 1});
    emp_port change = emp_tf_op2(tf, "Sub", "sub", h, state);

    change = emp_tf_op2(tf, "Mul", "mul", t, change);
    return emp_tf_op2(tf, "Add", "add", state, change);
}

static emp_port cell_step(emp_enas *e, const recurrent_cell *c, emp_port x,
                          emp_port state)
{
    emp_tf  *tf = e->tf;
    emp_port node[NODES], loose[NODES];
    int32_t  count = 0;
    emp_port both = emp_tf_concat(tf, NULL, EMP_TF_PORTS(x, state), 1);

    node[0] = highway(e, emp_tf_matmul(tf, "MatMul", both, c->first.read, false, false),
                      state, c->function[0]);
    for (int32_t i = 1; i < NODES; i++) {
        emp_port from = node[c->from[i]];
        node[i] =
            highway(e, emp_tf_matmul(tf, "MatMul", from, c->weight[i].read, false, false),
                    from, c->function[i]);
    }
    for (int32_t i = 0; i < NODES; i++)
        if (!c->is_read[i]) loose[count++] = node[i];
    emp_op_attrs attrs = {.count = count};
    emp_port     sum = emp_tf_op(tf, "AddN", NULL, &attrs, loose, count);
    return emp_tf_op_y(tf, "Mul", "mean", sum, 1.0 / count);
}

static emp_port unroll(emp_enas *e, const recurrent_cell *c, emp_port x)
{
    emp_tf  *tf = e->tf;
    emp_port outputs[EMP_WORKLOAD_MAX_STEPS];
    emp_port state = emp_tf_const(tf, NULL, "zeros", EMP_DTYPE_FLOAT,
                                  EMP_SHAPE(e->batch, e->units), NULL, 0);

    x = emp_tf_unstack(tf, x, e->steps, 1);
    for (int32_t t = 0; t < e->steps; t++) {
        const char *outer = emp_tf_enter(tf, emp_tf_number(tf, "step_%d", t));
        state = cell_step(e, c, (emp_port){x.op, t}, state);
        outputs[t] = state;
        emp_tf_leave(tf, outer);
    }
    emp_port all = emp_tf_stack(tf, NULL, outputs, e->steps, 1);
    return emp_tf_reshape(tf, all, EMP_SHAPE(e->batch * e->steps, e->units));
}

/* A language model of the Penn Treebank; its loss. */
static emp_port language_loss(emp_enas *e)
{
    emp_tf        *tf = e->tf;
    recurrent_cell cell;
    emp_shape      tokens = EMP_SHAPE(e->batch, e->steps);
    emp_port       words = emp_tf_placeholder(tf, "words", EMP_DTYPE_INT32, tokens);
    emp_port       labels = emp_tf_placeholder(tf, "labels", EMP_DTYPE_INT32, tokens);

    emp_tf_variable table = weight(e, "rnn/embedding", EMP_SHAPE(VOCABULARY, e->units));
    draw_recurrent_cell(e, &cell);
    const char *outer = emp_tf_enter(tf, "rnn");
    emp_port    x = emp_tf_gather(tf, table.read, words);
    emp_port    rows = unroll(e, &cell, x);
    emp_tf_leave(tf, outer);
    emp_port logits = emp_tf_matmul(tf, "MatMul", rows, table.read, false, true);
    labels = emp_tf_reshape(tf, labels, EMP_SHAPE(-1));
    emp_port losses = emp_tf_sparse_softmax_cross_entropy(
        tf, "SparseSoftmaxCrossEntropyWithLogits", labels, logits);
    return emp_tf_reduce_all(tf, "Mean", NULL, losses);
}

/* ---- the workload ---- */

enum { TASK, SEED, LAYERS, FILTERS, UNITS, BATCH, STEPS, COMMON };

enum { TASK_CIFAR10, TASK_PTB };

const char emp_enas_description[] =
    "cells drawn at random as in ENAS: a classifier of images, or a language model";

const emp_option emp_enas_params[] = {
    EMP_WORKLOAD_WORD(TASK, "task", "cifar10|ptb", "images, or sentences", TASK_CIFAR10),
    EMP_WORKLOAD_NUMBER(SEED, "seed", 0, 2147483647, "of the random numbers", 0),
    EMP_WORKLOAD_NUMBER(LAYERS, "layers", 3, 24, "cells of a classifier", 6),
    EMP_WORKLOAD_NUMBER(FILTERS, "filters", 1, 4096, "of a classifier's first cells", 20),
    EMP_WORKLOAD_NUMBER(UNITS, "units", 1, 65536, "of a language model", 720),
    EMP_WORKLOAD_NUMBER(BATCH, "batch", 0, 65536,
                        "images or sentences; 0 = 160 or 20, as in ENAS", 0),
    EMP_WORKLOAD_NUMBER(STEPS, "steps", 1, EMP_WORKLOAD_MAX_STEPS,
                        "words of a sentence, unrolled", 35),
    EMP_WORKLOAD_COMMON(COMMON, EMP_TF_SGD, 0, 0),
};

static void emit(emp_tf *tf, const int64_t *v)
{
    bool            is_image = v[TASK] == TASK_CIFAR10;
    int64_t         batch = v[BATCH] > 0 ? v[BATCH] : is_image ? 160 : 20;
    emp_tf_variable step = emp_tf_global_step(tf);
    emp_enas        e = {.tf = tf,
                         .layers = (int32_t)v[LAYERS],
                         .filters = (int32_t)v[FILTERS],
                         .units = v[UNITS],
                         .batch = batch,
                         .steps = (int32_t)v[STEPS]};

    emp_mt19937_seed_numpy(&e.rng, (uint32_t)v[SEED]);
    emp_port loss = is_image ? image_loss(&e) : language_loss(&e);
    emp_workload_train(tf, loss, &step, is_image ? 5.0 : 0.25, v + COMMON);
}

emp_status emp_enas_build(const int64_t *values, emp_graph **out, emp_error *err)
{
    return emp_workload_generate(emit, values, values + COMMON, out, err);
}
