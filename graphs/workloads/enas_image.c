// SPDX-License-Identifier: GPL-3.0-or-later
/* The convolutional cells: five sums of two ops of earlier states, and a product over what nobody
 * reads. One cell is drawn for all layers, and another for the two that halve the image. */
#include "graphs/workloads/enas_internal.h"

enum { SUMS = 5, STATES = SUMS + 2, CLASSES = 10, IMAGE_SIZE = 32 };

typedef enum { SEPARABLE_3, SEPARABLE_5, AVERAGE, MAXIMUM, SAME, OP_COUNT } image_op;

typedef struct {
    int32_t  from[SUMS][2];
    image_op op[SUMS][2];
    bool     is_read[STATES];
} image_cell;

static void draw_cell(emp_enas *e, image_cell *c)
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

    draw_cell(e, &normal);
    draw_cell(e, &reduction);
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

emp_port emp_enas_image_loss(emp_enas *e)
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
