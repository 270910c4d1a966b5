// SPDX-License-Identifier: GPL-3.0-or-later
/* Inception-V3 of Szegedy et al. (2015), layer names as in slim. */
#include <stddef.h>

#include "graphs/tensorflow/tf_ops.h"
#include "graphs/tensorflow/tf_slim.h"
#include "graphs/workloads/workloads_internal.h"

enum { BATCH, CLASSES, FUSED_BN, COMMON };

const char emp_inception_v3_description[] =
    "image classifier: Inception-V3 with auxiliary head, 299 x 299";

const emp_option emp_inception_v3_params[] = {
    EMP_WORKLOAD_NUMBER(BATCH, "batch", 1, 65536, "images", 32),
    EMP_WORKLOAD_NUMBER(CLASSES, "classes", 2, 1000000, "classes", 1001),
    EMP_WORKLOAD_FLAG(FUSED_BN, "fused_bn", "one op for batch norm, not ten", 0),
    EMP_WORKLOAD_COMMON(COMMON, EMP_TF_RMSPROP, 1, 0),
};

enum { IMAGE_SIZE = 299, MAX_LAYERS = 6, BRANCHES = 4 };

/* A convolution, or a pooling if it has no filters: average at stride 1, else maximum.
 * Stride 1 pads (SAME), stride 2 does not (VALID). */
typedef struct {
    const char *name;
    int32_t     height, width, filters;
    int32_t     stride;  /**< 0 means 1 */
    bool        is_twin; /**< reads what the layer before reads; both are concatenated */
} layer;

/* Branches side by side; their outputs are concatenated. */
typedef struct {
    const char *name;
    layer       branch[BRANCHES][MAX_LAYERS]; /**< each ends at a NULL name */
} block;

#define AVG_POOL                            \
    {                                       \
        "AvgPool_0a_3x3", 3, 3, 0, 1, false \
    }
#define MAX_POOL                            \
    {                                       \
        "MaxPool_1a_3x3", 3, 3, 0, 2, false \
    }

/* 35 x 35 */
#define BLOCK_5(block_name, name_1x1, name_5x5, pooled)                           \
    {                                                                             \
        .name = (block_name), .branch = {                                         \
            {{"Conv2d_0a_1x1", 1, 1, 64, 1, false}},                              \
            {{(name_1x1), 1, 1, 48, 1, false}, {(name_5x5), 5, 5, 64, 1, false}}, \
            {{"Conv2d_0a_1x1", 1, 1, 64, 1, false},                               \
             {"Conv2d_0b_3x3", 3, 3, 96, 1, false},                               \
             {"Conv2d_0c_3x3", 3, 3, 96, 1, false}},                              \
            {AVG_POOL, {"Conv2d_0b_1x1", 1, 1, (pooled), 1, false}},              \
        }                                                                         \
    }

/* 17 x 17, with c channels inside */
#define BLOCK_6(block_name, c)                                  \
    {                                                           \
        .name = (block_name), .branch = {                       \
            {{"Conv2d_0a_1x1", 1, 1, 192, 1, false}},           \
            {{"Conv2d_0a_1x1", 1, 1, (c), 1, false},            \
             {"Conv2d_0b_1x7", 1, 7, (c), 1, false},            \
             {"Conv2d_0c_7x1", 7, 1, 192, 1, false}},           \
            {{"Conv2d_0a_1x1", 1, 1, (c), 1, false},            \
             {"Conv2d_0b_7x1", 7, 1, (c), 1, false},            \
             {"Conv2d_0c_1x7", 1, 7, (c), 1, false},            \
             {"Conv2d_0d_7x1", 7, 1, (c), 1, false},            \
             {"Conv2d_0e_1x7", 1, 7, 192, 1, false}},           \
            {AVG_POOL, {"Conv2d_0b_1x1", 1, 1, 192, 1, false}}, \
        }                                                       \
    }

/* 8 x 8 */
#define BLOCK_7(block_name, name_3x1)                           \
    {                                                           \
        .name = (block_name), .branch = {                       \
            {{"Conv2d_0a_1x1", 1, 1, 320, 1, false}},           \
            {{"Conv2d_0a_1x1", 1, 1, 384, 1, false},            \
             {"Conv2d_0b_1x3", 1, 3, 384, 1, false},            \
             {(name_3x1), 3, 1, 384, 1, true}},                 \
            {{"Conv2d_0a_1x1", 1, 1, 448, 1, false},            \
             {"Conv2d_0b_3x3", 3, 3, 384, 1, false},            \
             {"Conv2d_0c_1x3", 1, 3, 384, 1, false},            \
             {"Conv2d_0d_3x1", 3, 1, 384, 1, true}},            \
            {AVG_POOL, {"Conv2d_0b_1x1", 1, 1, 192, 1, false}}, \
        }                                                       \
    }

static const block blocks[] = {
    BLOCK_5("Mixed_5b", "Conv2d_0a_1x1", "Conv2d_0b_5x5", 32),
    BLOCK_5("Mixed_5c", "Conv2d_0b_1x1", "Conv_1_0c_5x5", 64),
    BLOCK_5("Mixed_5d", "Conv2d_0a_1x1", "Conv2d_0b_5x5", 64),
    {.name = "Mixed_6a",
     .branch = {{{"Conv2d_1a_1x1", 3, 3, 384, 2, false}},
                {{"Conv2d_0a_1x1", 1, 1, 64, 1, false},
                 {"Conv2d_0b_3x3", 3, 3, 96, 1, false},
                 {"Conv2d_1a_1x1", 3, 3, 96, 2, false}},
                {MAX_POOL}}},
    BLOCK_6("Mixed_6b", 128),
    BLOCK_6("Mixed_6c", 160),
    BLOCK_6("Mixed_6d", 160),
    BLOCK_6("Mixed_6e", 192),
    {.name = "Mixed_7a",
     .branch = {{{"Conv2d_0a_1x1", 1, 1, 192, 1, false},
                 {"Conv2d_1a_3x3", 3, 3, 320, 2, false}},
                {{"Conv2d_0a_1x1", 1, 1, 192, 1, false},
                 {"Conv2d_0b_1x7", 1, 7, 192, 1, false},
                 {"Conv2d_0c_7x1", 7, 1, 192, 1, false},
                 {"Conv2d_1a_3x3", 3, 3, 192, 2, false}},
                {MAX_POOL}}},
    BLOCK_7("Mixed_7b", "Conv2d_0b_3x1"),
    BLOCK_7("Mixed_7c", "Conv2d_0c_3x1"),
};

enum { AUXILIARY_AFTER = 7 /* Mixed_6e */ };

static emp_port apply_layer(emp_tf_slim *s, const layer *l, emp_port x)
{
    emp_tf_conv conv = {.height = l->height,
                        .width = l->width,
                        .filters = l->filters,
                        .stride = l->stride,
                        .is_same = l->stride == 1,
                        .kind = EMP_TF_CONV_BN_RELU};

    if (l->filters > 0) return emp_tf_slim_conv2d(s, l->name, x, conv);
    return emp_tf_slim_pool(s, l->name, l->stride == 1 ? "AvgPool" : "MaxPool", x, conv);
}

static emp_port apply_branch(emp_tf_slim *s, const layer *l, int32_t number, emp_port x)
{
    emp_tf_slim_scope outer =
        emp_tf_slim_enter(s, emp_tf_number(s->tf, "Branch_%d", number));
    emp_port before = x;

    for (; l->name != NULL; l++) {
        emp_port y = apply_layer(s, l, l->is_twin ? before : x);
        if (l->is_twin) {
            const emp_port both[] = {x, y};
            y = emp_tf_concat(s->tf, NULL, both, 2, 3);
        }
        before = x;
        x = y;
    }
    emp_tf_slim_leave(s, outer);
    return x;
}

static emp_port apply_block(emp_tf_slim *s, const block *b, emp_port x)
{
    emp_tf_slim_scope outer = emp_tf_slim_enter(s, b->name);
    emp_port          y[BRANCHES];
    int32_t           count = 0;

    while (count < BRANCHES && b->branch[count][0].name != NULL) {
        y[count] = apply_branch(s, b->branch[count], count, x);
        count++;
    }
    x = emp_tf_concat(s->tf, NULL, y, count, 3);
    emp_tf_slim_leave(s, outer);
    return x;
}

/* From the image to 35 x 35 x 192. */
static emp_port stem(emp_tf_slim *s, emp_port x)
{
    emp_tf_conv conv = {.height = 3, .width = 3, .filters = 32, .stride = 2};
    emp_tf_conv pool = {.height = 3, .width = 3, .stride = 2};

    x = emp_tf_slim_conv2d(s, "Conv2d_1a_3x3", x, conv);
    conv.stride = 1;
    x = emp_tf_slim_conv2d(s, "Conv2d_2a_3x3", x, conv);
    conv.filters = 64;
    conv.is_same = true;
    x = emp_tf_slim_conv2d(s, "Conv2d_2b_3x3", x, conv);
    x = emp_tf_slim_pool(s, "MaxPool_3a_3x3", "MaxPool", x, pool);
    conv = (emp_tf_conv){.height = 1, .width = 1, .filters = 80, .stride = 1};
    x = emp_tf_slim_conv2d(s, "Conv2d_3b_1x1", x, conv);
    conv = (emp_tf_conv){.height = 3, .width = 3, .filters = 192, .stride = 1};
    x = emp_tf_slim_conv2d(s, "Conv2d_4a_3x3", x, conv);
    return emp_tf_slim_pool(s, "MaxPool_5a_3x3", "MaxPool", x, pool);
}

/* A 1x1 convolution to the classes, without batch norm: [batch, classes]. */
static emp_port classify(emp_tf_slim *s, const char *name, emp_port x, int64_t classes)
{
    emp_tf_conv conv = {.height = 1,
                        .width = 1,
                        .filters = (int32_t)classes,
                        .stride = 1,
                        .is_same = true,
                        .kind = EMP_TF_CONV_BIAS};

    x = emp_tf_slim_conv2d(s, name, x, conv);
    return emp_tf_squeeze(s->tf, "SpatialSqueeze", x, 1U << 1 | 1U << 2);
}

static emp_port auxiliary_logits(emp_tf_slim *s, emp_port x, int64_t classes)
{
    emp_tf_slim_scope outer = emp_tf_slim_enter(s, "AuxLogits");
    emp_tf_conv       window = {.height = 5, .width = 5, .stride = 3};
    emp_tf_conv       small = {
              .height = 1, .width = 1, .filters = 128, .stride = 1, .is_same = true};
    emp_tf_conv large = {.height = 5, .width = 5, .filters = 768, .stride = 1};

    x = emp_tf_slim_pool(s, "AvgPool_1a_5x5", "AvgPool", x, window);
    x = emp_tf_slim_conv2d(s, "Conv2d_1b_1x1", x, small);
    x = emp_tf_slim_conv2d(s, "Conv2d_2a_5x5", x, large);
    x = classify(s, "Conv2d_2b_1x1", x, classes);
    emp_tf_slim_leave(s, outer);
    return x;
}

static emp_port final_logits(emp_tf_slim *s, emp_port x, int64_t classes)
{
    emp_tf_slim_scope outer = emp_tf_slim_enter(s, "Logits");
    emp_tf_conv       window = {.height = 8, .width = 8, .stride = 2};

    x = emp_tf_slim_pool(s, "AvgPool_1a_8x8", "AvgPool", x, window);
    x = emp_tf_dropout(s->tf, "Dropout_1b/dropout", x, 0.8);
    x = classify(s, "Conv2d_1c_1x1", x, classes);
    emp_tf_slim_leave(s, outer);
    return x;
}

/* The body lies in one more op scope than its variables do. */
static emp_port body(emp_tf_slim *s, emp_port x, emp_port *for_auxiliary)
{
    const char *outer = emp_tf_enter(s->tf, "InceptionV3");

    x = stem(s, x);
    for (int32_t i = 0; i < (int32_t)(sizeof blocks / sizeof blocks[0]); i++) {
        x = apply_block(s, &blocks[i], x);
        if (i == AUXILIARY_AFTER) *for_auxiliary = x;
    }
    emp_tf_leave(s->tf, outer);
    return x;
}

static void emit(emp_tf *tf, const int64_t *v)
{
    emp_tf_slim     s = {.tf = tf, .fused_batch_norm = v[FUSED_BN] != 0, .variables = ""};
    emp_tf_variable step = emp_tf_global_step(tf);
    emp_port        for_auxiliary = EMP_TF_NONE;
    emp_port        images = emp_tf_placeholder(tf, NULL, EMP_DTYPE_FLOAT,
                                                EMP_SHAPE(v[BATCH], IMAGE_SIZE, IMAGE_SIZE, 3));
    emp_port labels = emp_tf_placeholder(tf, NULL, EMP_DTYPE_INT32, EMP_SHAPE(v[BATCH]));

    emp_tf_slim_scope outer = emp_tf_slim_enter(&s, "InceptionV3");
    emp_port          x = body(&s, images, &for_auxiliary);
    emp_port          auxiliary = auxiliary_logits(&s, for_auxiliary, v[CLASSES]);
    emp_port          logits = final_logits(&s, x, v[CLASSES]);
    emp_tf_slim_predictions(&s, "Predictions", logits);
    emp_tf_slim_leave(&s, outer);

    labels = emp_tf_one_hot(tf, "one_hot", labels, v[CLASSES]);
    emp_tf_slim_softmax_loss(&s, labels, auxiliary);
    emp_tf_slim_softmax_loss(&s, labels, logits);
    emp_tf_slim_train(&s, &step, (emp_tf_optimizer)v[COMMON + EMP_COMMON_OPTIMIZER],
                      v[COMMON + EMP_COMMON_SAVER] != 0);
}

emp_status emp_inception_v3_build(const int64_t *values, emp_graph **out, emp_error *err)
{
    return emp_workload_generate(emit, values, values + COMMON, out, err);
}
