// SPDX-License-Identifier: GPL-3.0-or-later
/* AmoebaNet-D (Real et al., AAAI 2019), of which GO places one on 4 GPUs: cells that evolution has
 * found, as amoeba_net_model_spec and network_utils of tensorflow/tpu build them. A cell reads the
 * two before it; five sums of two ops each make its states, and those that it names are its output. */
#include "graphs/tensorflow/tf_ops.h"
#include "graphs/tensorflow/tf_slim.h"
#include "graphs/workloads/workloads_internal.h"

enum {
    CELLS,
    FILTERS,
    IMAGE,
    BATCH,
    CLASSES,
    AUXILIARY,
    COMMON,
    SUMS = 5,
    STATES = SUMS + 2,
    MAX_CELLS = 36
};

const char emp_cells_description[] =
    "image classifier of cells that evolution has found: AmoebaNet-D";

const emp_option emp_cells_params[] = {
    EMP_WORKLOAD_NUMBER(CELLS, "cells", 3, MAX_CELLS,
                        "normal cells, a multiple of 3; two cells between them reduce",
                        18),
    EMP_WORKLOAD_NUMBER(FILTERS, "filters", 16, 65536, "filters of the first cells", 256),
    EMP_WORKLOAD_NUMBER(IMAGE, "image", 32, 4096, "pixels of a side", 299),
    EMP_WORKLOAD_NUMBER(BATCH, "batch", 1, 65536, "images", 32),
    EMP_WORKLOAD_NUMBER(CLASSES, "classes", 2, 1000000, "classes", 1001),
    EMP_WORKLOAD_FLAG(AUXILIARY, "auxiliary", "a second classifier after two thirds", 1),
    EMP_WORKLOAD_COMMON(COMMON, EMP_TF_RMSPROP, 0, 0),
};

typedef enum { SAME, MAX_2, MAX_3, AVERAGE_3, CONV_1, CONV_3, CONV_7 } cell_op;

typedef struct {
    int32_t left, right; /* states that a sum reads */
    cell_op by_left, by_right;
} cell_sum;

typedef struct {
    cell_sum sum[SUMS];
    bool     is_output[STATES];
} cell;

/* State 0 is the cell before, state 1 the one before that. */
static const cell normal = {{{1, 1, CONV_1, MAX_3},
                             {1, 0, SAME, CONV_7},
                             {0, 0, CONV_1, CONV_7},
                             {2, 2, MAX_3, SAME},
                             {1, 5, AVERAGE_3, CONV_1}},
                            {[0] = true, [3] = true, [4] = true, [6] = true}};
static const cell reduction = {{{0, 0, MAX_2, MAX_3},
                                {2, 1, SAME, CONV_3},
                                {2, 2, CONV_7, MAX_3},
                                {3, 1, SAME, MAX_2},
                                {2, 3, AVERAGE_3, CONV_1}},
                               {[4] = true, [5] = true, [6] = true}};

typedef struct {
    emp_tf_slim slim;
    int32_t     cell_count; /* that there are so far */
    emp_port    before;     /* output of the cell before the last */
} model;

/* ---- ops ---- */

static emp_port relu(model *m, emp_port x)
{
    return emp_tf_op1(m->slim.tf, "Relu", NULL, x);
}

static emp_port conv(model *m, const char *name, emp_port x, int32_t height,
                     int32_t width, int64_t filters, int32_t stride)
{
    emp_tf_conv c = {.height = height,
                     .width = width,
                     .filters = (int32_t)filters,
                     .stride = stride,
                     .is_same = true,
                     .kind = EMP_TF_CONV_BN};

    return emp_tf_slim_conv2d(&m->slim, name, relu(m, x), c);
}

static emp_port pool(model *m, const char *type, emp_port x, int32_t size, int32_t stride)
{
    emp_tf_conv c = {.height = size, .width = size, .stride = stride, .is_same = true};

    return emp_tf_slim_pool(&m->slim, "pool", type, x, c);
}

/* Wide windows work on a quarter of the filters, between two products. */
static emp_port bottleneck(model *m, emp_port x, bool is_split, int64_t filters,
                           int32_t stride)
{
    int64_t few = filters / 4;

    x = conv(m, "bottom_1x1", x, 1, 1, few, 1);
    if (is_split) {
        x = conv(m, "1x7", x, 1, 7, few, stride);
        x = conv(m, "7x1", x, 7, 1, few, 1);
    } else {
        x = conv(m, "3x3", x, 3, 3, few, stride);
    }
    return conv(m, "top_1x1", x, 1, 1, filters, 1);
}

static emp_port apply(model *m, cell_op op, emp_port x, int64_t filters, int32_t stride)
{
    switch (op) {
    case SAME: return stride > 1 ? conv(m, "1x1", x, 1, 1, filters, stride) : x;
    case MAX_2: return pool(m, "MaxPool", x, 2, stride);
    case MAX_3: return pool(m, "MaxPool", x, 3, stride);
    case AVERAGE_3: return pool(m, "AvgPool", x, 3, stride);
    case CONV_1: return conv(m, "1x1", x, 1, 1, filters, stride);
    case CONV_3: return bottleneck(m, x, false, filters, stride);
    default: return bottleneck(m, x, true, filters, stride);
    }
}

/* ---- cells ---- */

/* Half of the pixels a side: two halves of the filters, one of them moved by a pixel. */
static emp_port factorized(model *m, emp_port x, int64_t filters)
{
    emp_tf     *tf = m->slim.tf;
    emp_tf_conv window = {.height = 1, .width = 1, .stride = 2};
    emp_tf_conv half = {.height = 1,
                        .width = 1,
                        .filters = (int32_t)(filters / 2),
                        .stride = 1,
                        .is_same = true,
                        .kind = EMP_TF_CONV_BN};
    emp_shape   shape = emp_tf_shape(tf, x);

    x = relu(m, x);
    emp_port pads = emp_tf_const(tf, NULL, "Pad/paddings", EMP_DTYPE_INT32,
                                 EMP_SHAPE(4, 2), (int64_t[]){0, 0, 0, 1, 0, 1, 0, 0}, 8);
    emp_port moved = emp_tf_op2(tf, "Pad", NULL, x, pads);
    emp_port begin = emp_tf_ints(tf, NULL, "Slice/begin", (int64_t[]){0, 1, 1, 0}, 4);
    emp_port size = emp_tf_ints(tf, NULL, "Slice/size", shape.dim, 4);
    moved = emp_tf_slice(tf, moved, begin, size);
    window.is_same = true;
    x = emp_tf_slim_pool(&m->slim, "path1", "AvgPool", x, window);
    moved = emp_tf_slim_pool(&m->slim, "path2", "AvgPool", moved, window);
    x = emp_tf_slim_conv2d(&m->slim, "path1_conv", x, half);
    moved = emp_tf_slim_conv2d(&m->slim, "path2_conv", moved, half);
    return emp_tf_concat(tf, NULL, EMP_TF_PORTS(x, moved), 3);
}

/* The two inputs of a cell with its filters, of one size. */
static void squeeze_inputs(model *m, emp_port x, int64_t filters, emp_port state[2])
{
    emp_tf  *tf = m->slim.tf;
    emp_port other = m->before.op >= 0 ? m->before : x;

    state[0] = conv(m, "1x1", x, 1, 1, filters, 1);
    state[1] = emp_tf_shape(tf, other).dim[1] != emp_tf_shape(tf, x).dim[1]
                   ? factorized(m, other, filters)
                   : conv(m, "prev_1x1", other, 1, 1, filters, 1);
}

static emp_port sum_of(model *m, const cell_sum *s, const emp_port *state,
                       int64_t filters, int32_t stride)
{
    static const char *const sides[2] = {"left", "right"};
    emp_port                 term[2];

    for (int i = 0; i < 2; i++) {
        int32_t           from = i == 0 ? s->left : s->right;
        int32_t           step = from < 2 ? stride : 1;
        emp_tf_slim_scope outer = emp_tf_slim_enter(&m->slim, sides[i]);
        term[i] = apply(m, i == 0 ? s->by_left : s->by_right, state[from], filters, step);
        emp_tf_slim_leave(&m->slim, outer);
    }
    return emp_tf_op2(m->slim.tf, "Add", "add", term[0], term[1]);
}

static emp_port add_cell(model *m, const cell *c, emp_port x, int64_t filters,
                         int32_t stride)
{
    emp_tf           *tf = m->slim.tf;
    emp_port          state[STATES], outputs[STATES];
    int32_t           count = 0;
    emp_tf_slim_scope outer =
        emp_tf_slim_enter(&m->slim, emp_tf_number(tf, "cell_%d", m->cell_count++));

    squeeze_inputs(m, x, filters, state);
    for (int32_t i = 0; i < SUMS; i++) {
        emp_tf_slim_scope inner =
            emp_tf_slim_enter(&m->slim, emp_tf_number(tf, "comb_iter_%d", i));
        state[2 + i] = sum_of(m, &c->sum[i], state, filters, stride);
        emp_tf_slim_leave(&m->slim, inner);
    }
    for (int32_t i = 0; i < STATES; i++)
        if (c->is_output[i]) outputs[count++] = state[i];
    emp_port y = emp_tf_concat(tf, NULL, outputs, count, 3);
    emp_tf_slim_leave(&m->slim, outer);
    m->before = x;
    return y;
}

/* ---- the network ---- */

static emp_port classify(model *m, const char *name, emp_port x, int64_t classes)
{
    emp_tf           *tf = m->slim.tf;
    emp_tf_slim_scope outer = emp_tf_slim_enter(&m->slim, name);
    int64_t           channels = emp_tf_shape(tf, x).dim[3];

    x = emp_tf_reduce(tf, "Mean", "pool", relu(m, x), (int64_t[]){1, 2}, 2, false);
    const char     *scope = emp_tf_join(tf, m->slim.variables, "fully_connected/", "");
    emp_tf_variable w =
        emp_tf_get_variable(tf, emp_tf_join(tf, scope, "weights", ""), EMP_DTYPE_FLOAT,
                            EMP_SHAPE(channels, classes), EMP_TF_INIT_NORMAL, true);
    emp_tf_variable b =
        emp_tf_get_variable(tf, emp_tf_join(tf, scope, "biases", ""), EMP_DTYPE_FLOAT,
                            EMP_SHAPE(classes), EMP_TF_INIT_ZEROS, true);
    x = emp_tf_op2(tf, "BiasAdd", NULL,
                   emp_tf_matmul(tf, "MatMul", x, w.read, false, false), b.read);
    emp_tf_slim_leave(&m->slim, outer);
    return x;
}

/* A convolution and two cells that reduce: an eighth of the pixels a side. */
static emp_port stem(model *m, emp_port x, int64_t filters)
{
    emp_tf_conv first = {
        .height = 3, .width = 3, .filters = 32, .stride = 2, .kind = EMP_TF_CONV_BN};

    x = emp_tf_slim_conv2d(&m->slim, "conv0", x, first);
    x = add_cell(m, &reduction, x, filters / 4 > 0 ? filters / 4 : 1, 2);
    return add_cell(m, &reduction, x, filters / 2 > 0 ? filters / 2 : 1, 2);
}

static emp_port body(model *m, const int64_t *v, emp_port x, emp_port *for_auxiliary)
{
    int64_t filters = v[FILTERS], third = v[CELLS] / 3;

    x = stem(m, x, filters);
    for (int64_t i = 0; i < v[CELLS]; i++) {
        if (i > 0 && i % third == 0) {
            filters *= 2;
            x = add_cell(m, &reduction, x, filters, 2);
        }
        x = add_cell(m, &normal, x, filters, 1);
        if (i == 2 * third - 1) *for_auxiliary = x;
    }
    return x;
}

static void emit(emp_tf *tf, const int64_t *v)
{
    model           m = {.slim = {.tf = tf,
                                  .fused_batch_norm = true,
                                  .batch_norm_scale = true,
                                  .variables = ""},
                         .before = EMP_TF_NONE};
    emp_tf_variable step = emp_tf_global_step(tf);
    emp_port        for_auxiliary = EMP_TF_NONE;
    emp_port        images = emp_tf_placeholder(tf, "images", EMP_DTYPE_FLOAT,
                                                EMP_SHAPE(v[BATCH], v[IMAGE], v[IMAGE], 3));
    emp_port        labels =
        emp_tf_placeholder(tf, "labels", EMP_DTYPE_INT32, EMP_SHAPE(v[BATCH]));

    emp_port x = body(&m, v, images, &for_auxiliary);
    if (v[AUXILIARY] != 0)
        emp_tf_slim_sparse_softmax_loss(
            &m.slim, labels, classify(&m, "aux_head", for_auxiliary, v[CLASSES]));
    emp_tf_slim_sparse_softmax_loss(&m.slim, labels,
                                    classify(&m, "final_layer", x, v[CLASSES]));
    emp_tf_slim_train(&m.slim, &step, (emp_tf_optimizer)v[COMMON + EMP_COMMON_OPTIMIZER],
                      v[COMMON + EMP_COMMON_SAVER] != 0);
}

emp_status emp_cells_build(const int64_t *values, emp_graph **out, emp_error *err)
{
    if (values[CELLS] % 3 != 0)
        return EMP_ERROR(EMP_EINVAL, "cells: cells=%lld is no multiple of 3",
                         (long long)values[CELLS]);
    if (values[FILTERS] % 4 != 0)
        return EMP_ERROR(EMP_EINVAL,
                         "cells: filters=%lld is no multiple of 4, which the stem needs",
                         (long long)values[FILTERS]);
    return emp_workload_generate(emit, values, values + COMMON, out, err);
}
