// SPDX-License-Identifier: GPL-3.0-or-later
/* ResNet of He et al. with bottleneck units, v1 (2015) and v2 (2016), as slim builds it:
 * the last unit of each of the first three blocks halves the resolution. */
#include <stddef.h>

#include "graphs/tensorflow/tf_ops.h"
#include "graphs/tensorflow/tf_slim.h"
#include "graphs/workloads/workloads_internal.h"

enum { DEPTH, VERSION, BATCH, CLASSES, FUSED_BN, COMMON };

const char emp_resnet_description[] =
    "image classifier: ResNet v1 or v2 with bottleneck units, 224 x 224";

const emp_option emp_resnet_params[] = {
    EMP_WORKLOAD_NUMBER(DEPTH, "depth", 50, 152, "layers with weights: 50, 101 or 152",
                        152),
    EMP_WORKLOAD_NUMBER(VERSION, "version", 1, 2,
                        "2: batch norm and Relu before each convolution", 1),
    EMP_WORKLOAD_NUMBER(BATCH, "batch", 1, 65536, "images", 32),
    EMP_WORKLOAD_NUMBER(CLASSES, "classes", 2, 1000000, "classes", 1001),
    EMP_WORKLOAD_FLAG(FUSED_BN, "fused_bn", "one op for batch norm, not ten", 1),
    EMP_WORKLOAD_COMMON(COMMON, EMP_TF_MOMENTUM, 1, 1),
};

enum { BLOCKS = 4, IMAGE_SIZE = 224 };

typedef struct {
    int32_t depth;
    int32_t units[BLOCKS];
} variant;

static const variant variants[] = {
    {50, {3, 4, 6, 3}},
    {101, {3, 4, 23, 3}},
    {152, {3, 8, 36, 3}},
};

static const variant *find_variant(int64_t depth)
{
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        if (variants[i].depth == depth) return &variants[i];
    }
    return NULL;
}

/* Pads explicitly, so that the result does not depend on the image size. */
static emp_port pad(emp_tf *tf, emp_port x, int64_t width)
{
    int64_t     values[] = {0, 0, width, width, width, width, 0, 0};
    const char *full = emp_tf_unique(tf, "Pad");
    emp_port    paddings =
        emp_tf_const(tf, full, "paddings", EMP_DTYPE_INT32, EMP_SHAPE(4, 2), values, 8);

    return emp_tf_emit(tf, full, "Pad", NULL, EMP_TF_PORTS(x, paddings));
}

/* resnet_utils.conv2d_same() */
static emp_port conv2d_same(emp_tf_slim *s, const char *name, emp_port x,
                            emp_tf_conv conv)
{
    conv.is_same = conv.stride == 1;
    if (!conv.is_same) x = pad(s->tf, x, conv.height / 2);
    return emp_tf_slim_conv2d(s, name, x, conv);
}

/* A 1x1 convolution where the depth changes, else the input. \a normed is what a
 * convolution reads: the input itself, or in v2 its batch norm. */
static emp_port shortcut(emp_tf_slim *s, emp_port x, emp_port normed, int32_t depth,
                         int32_t stride, emp_tf_conv_kind kind)
{
    emp_tf_conv conv = {.height = 1,
                        .width = 1,
                        .filters = depth,
                        .stride = stride,
                        .is_same = true,
                        .kind = kind};

    if (emp_tf_shape(s->tf, x).dim[3] != depth) {
        return emp_tf_slim_conv2d(s, "shortcut", normed, conv);
    }
    return stride == 1 ? x : emp_tf_slim_pool(s, "shortcut", "MaxPool", x, conv);
}

/* 1x1 down to a quarter of the depth, 3x3, 1x1 back up. */
static emp_port residual(emp_tf_slim *s, emp_port x, int32_t depth, int32_t stride,
                         emp_tf_conv_kind kind)
{
    emp_tf_conv conv = {
        .height = 1, .width = 1, .filters = depth / 4, .stride = 1, .is_same = true};

    x = emp_tf_slim_conv2d(s, "conv1", x, conv);
    emp_tf_conv middle = conv;
    middle.height = middle.width = 3;
    middle.stride = stride;
    x = conv2d_same(s, "conv2", x, middle);
    conv.filters = depth;
    conv.kind = kind;
    return emp_tf_slim_conv2d(s, "conv3", x, conv);
}

/* The residual plus the shortcut. v1 has batch norm in the last convolution and a Relu
 * behind the sum, v2 both at the front of the unit. */
static emp_port bottleneck(emp_tf_slim *s, emp_port x, bool is_v2, int32_t depth,
                           int32_t stride)
{
    emp_tf_slim_scope outer =
        emp_tf_slim_enter(s, is_v2 ? "bottleneck_v2" : "bottleneck_v1");
    emp_tf_conv_kind kind = is_v2 ? EMP_TF_CONV_BIAS : EMP_TF_CONV_BN;
    emp_port         normed = is_v2 ? emp_tf_slim_batch_norm_relu(s, "preact", x) : x;
    emp_port         direct = shortcut(s, x, normed, depth, stride, kind);

    x = residual(s, normed, depth, stride, kind);
    x = emp_tf_op2(s->tf, "Add", "add", direct, x);
    if (!is_v2) x = emp_tf_op1(s->tf, "Relu", NULL, x);
    emp_tf_slim_leave(s, outer);
    return x;
}

static emp_port block(emp_tf_slim *s, emp_port x, bool is_v2, int32_t number,
                      int32_t unit_count)
{
    emp_tf_slim_scope outer =
        emp_tf_slim_enter(s, emp_tf_number(s->tf, "block%d", number + 1));

    for (int32_t unit = 0; unit < unit_count; unit++) {
        bool              is_last = unit == unit_count - 1 && number < BLOCKS - 1;
        emp_tf_slim_scope inner =
            emp_tf_slim_enter(s, emp_tf_number(s->tf, "unit_%d", unit + 1));
        x = bottleneck(s, x, is_v2, 256 << number, is_last ? 2 : 1);
        emp_tf_slim_leave(s, inner);
    }
    emp_tf_slim_leave(s, outer);
    return x;
}

static emp_port network(emp_tf_slim *s, emp_port x, const int64_t *v)
{
    static const int64_t space[] = {1, 2};
    emp_tf_conv          first = {.height = 7, .width = 7, .filters = 64, .stride = 2};
    emp_tf_conv          window = {.height = 3, .width = 3, .stride = 2, .is_same = true};
    emp_tf_conv          last = {.height = 1,
                                 .width = 1,
                                 .filters = (int32_t)v[CLASSES],
                                 .stride = 1,
                                 .is_same = true,
                                 .kind = EMP_TF_CONV_BIAS};
    const variant       *shape = find_variant(v[DEPTH]);
    bool                 is_v2 = v[VERSION] == 2;
    const char          *name = is_v2 ? "resnet_v2_%d" : "resnet_v1_%d";
    emp_tf_slim_scope    outer =
        emp_tf_slim_enter(s, emp_tf_number(s->tf, name, shape->depth));

    if (is_v2) first.kind = EMP_TF_CONV_BIAS;
    x = conv2d_same(s, "conv1", x, first);
    x = emp_tf_slim_pool(s, "pool1", "MaxPool", x, window);
    for (int32_t i = 0; i < BLOCKS; i++) {
        x = block(s, x, is_v2, i, shape->units[i]);
    }
    if (is_v2) x = emp_tf_slim_batch_norm_relu(s, "postnorm", x);
    x = emp_tf_reduce(s->tf, "Mean", "pool5", x, space, 2, true);
    x = emp_tf_slim_conv2d(s, "logits", x, last);
    emp_tf_slim_predictions(s, "predictions", x);
    emp_tf_slim_leave(s, outer);
    return emp_tf_squeeze(s->tf, NULL, x, 1U << 1 | 1U << 2);
}

static void emit(emp_tf *tf, const int64_t *v)
{
    emp_tf_slim     s = {.tf = tf,
                         .fused_batch_norm = v[FUSED_BN] != 0,
                         .batch_norm_scale = true,
                         .variables = ""};
    emp_tf_variable step = emp_tf_global_step(tf);
    emp_port        images = emp_tf_placeholder(tf, NULL, EMP_DTYPE_FLOAT,
                                                EMP_SHAPE(v[BATCH], IMAGE_SIZE, IMAGE_SIZE, 3));
    emp_port labels = emp_tf_placeholder(tf, NULL, EMP_DTYPE_INT32, EMP_SHAPE(v[BATCH]));

    emp_tf_slim_sparse_softmax_loss(&s, labels, network(&s, images, v));
    emp_tf_slim_train(&s, &step, (emp_tf_optimizer)v[COMMON + EMP_COMMON_OPTIMIZER],
                      v[COMMON + EMP_COMMON_SAVER] != 0);
}

emp_status emp_resnet_build(const int64_t *values, emp_graph **out, emp_error *err)
{
    if (find_variant(values[DEPTH]) == NULL) {
        return EMP_ERROR(EMP_EINVAL,
                         "resnet: depth=%lld is not allowed; depth is 50, 101 or 152",
                         (long long)values[DEPTH]);
    }
    return emp_workload_generate(emit, values, values + COMMON, out, err);
}
