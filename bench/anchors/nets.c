// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/anchors/anchors.h"

#include <string.h>

#include "base/text/options.h"
#include "base/text/text.h"
#include "graphs/tensorflow/tf_ops.h"
#include "graphs/tensorflow/tf_rnn.h"

/* ---- layer lists ------------------------------------------------------------------- */

typedef enum {
    END,
    CONV,     /* filters, size, stride; bias and Relu */
    VALID,    /* the same without padding */
    MAX_POOL, /* size, stride; without padding */
    MAX_SAME, /* size, stride; with padding */
    AVG_POOL,
    AVG_SAME,
    NORM, /* local response normalization */
    MIX,  /* an Inception block: filters of 1x1; 3x3 and its 1x1; 5x5 and its 1x1; pool */
    DENSE,   /* filters; bias and Relu */
    DROPPED, /* likewise, then half of it is dropped */
    CLASSES  /* filters; bias */
} layer_kind;

typedef struct {
    layer_kind kind;
    int32_t    filters, size, stride;
    int32_t    more[3]; /* of MIX: 5x5, its 1x1, pool */
} layer;

#define POOL(kind, size, stride)     \
    {                                \
        kind, 0, size, stride, { 0 } \
    }
#define LAYER(kind, ...)         \
    {                            \
        kind, __VA_ARGS__, { 0 } \
    }
#define BLOCK(f1, f3_1, f3, f5_1, f5, pool)   \
    {                                         \
        MIX, f1, f3_1, f3, { f5_1, f5, pool } \
    }

static const layer alexnet[] = {
    LAYER(VALID, 64, 11, 4),    POOL(MAX_POOL, 3, 2),       LAYER(CONV, 192, 5, 1),
    POOL(MAX_POOL, 3, 2),       LAYER(CONV, 384, 3, 1),     LAYER(CONV, 384, 3, 1),
    LAYER(CONV, 256, 3, 1),     POOL(MAX_POOL, 3, 2),       LAYER(DROPPED, 4096, 0, 0),
    LAYER(DROPPED, 4096, 0, 0), LAYER(CLASSES, 1001, 0, 0), LAYER(END, 0, 0, 0)};

static const layer alexnet_lrn[] = {
    LAYER(VALID, 96, 11, 4),    POOL(MAX_POOL, 3, 2),     LAYER(NORM, 0, 0, 0),
    LAYER(CONV, 256, 5, 1),     POOL(MAX_POOL, 3, 2),     LAYER(NORM, 0, 0, 0),
    LAYER(CONV, 384, 3, 1),     LAYER(CONV, 384, 3, 1),   LAYER(CONV, 256, 3, 1),
    POOL(MAX_POOL, 3, 2),       LAYER(DENSE, 4096, 0, 0), LAYER(DENSE, 4096, 0, 0),
    LAYER(CLASSES, 1000, 0, 0), LAYER(END, 0, 0, 0)};

static const layer vgg16[] = {
    LAYER(CONV, 64, 3, 1),      LAYER(CONV, 64, 3, 1),      POOL(MAX_POOL, 2, 2),
    LAYER(CONV, 128, 3, 1),     LAYER(CONV, 128, 3, 1),     POOL(MAX_POOL, 2, 2),
    LAYER(CONV, 256, 3, 1),     LAYER(CONV, 256, 3, 1),     LAYER(CONV, 256, 3, 1),
    POOL(MAX_POOL, 2, 2),       LAYER(CONV, 512, 3, 1),     LAYER(CONV, 512, 3, 1),
    LAYER(CONV, 512, 3, 1),     POOL(MAX_POOL, 2, 2),       LAYER(CONV, 512, 3, 1),
    LAYER(CONV, 512, 3, 1),     LAYER(CONV, 512, 3, 1),     POOL(MAX_POOL, 2, 2),
    LAYER(DROPPED, 4096, 0, 0), LAYER(DROPPED, 4096, 0, 0), LAYER(CLASSES, 1001, 0, 0),
    LAYER(END, 0, 0, 0)};

static const layer googlenet[] = {LAYER(CONV, 64, 7, 2),
                                  POOL(MAX_SAME, 3, 2),
                                  LAYER(CONV, 64, 1, 1),
                                  LAYER(CONV, 192, 3, 1),
                                  POOL(MAX_SAME, 3, 2),
                                  BLOCK(64, 96, 128, 16, 32, 32),
                                  BLOCK(128, 128, 192, 32, 96, 64),
                                  POOL(MAX_SAME, 3, 2),
                                  BLOCK(192, 96, 208, 16, 48, 64),
                                  BLOCK(160, 112, 224, 24, 64, 64),
                                  BLOCK(128, 128, 256, 24, 64, 64),
                                  BLOCK(112, 144, 288, 32, 64, 64),
                                  BLOCK(256, 160, 320, 32, 128, 128),
                                  POOL(MAX_SAME, 3, 2),
                                  BLOCK(256, 160, 320, 32, 128, 128),
                                  BLOCK(384, 192, 384, 48, 128, 128),
                                  POOL(AVG_POOL, 7, 1),
                                  LAYER(CLASSES, 1000, 0, 0),
                                  LAYER(END, 0, 0, 0)};

static const layer smallnet[] = {
    LAYER(CONV, 32, 5, 1),  POOL(MAX_SAME, 3, 2),     LAYER(CONV, 32, 5, 1),
    POOL(AVG_SAME, 3, 2),   LAYER(CONV, 64, 5, 1),    POOL(AVG_SAME, 3, 2),
    LAYER(DENSE, 64, 0, 0), LAYER(CLASSES, 10, 0, 0), LAYER(END, 0, 0, 0)};

typedef struct {
    const char  *name;
    int32_t      image;  /* height and width of the input */
    const layer *layers; /* NULL: recurrent */
} network;

static const network networks[] = {
    {"alexnet", 227, alexnet},  {"alexnet_lrn", 227, alexnet_lrn},
    {"vgg16", 224, vgg16},      {"googlenet", 224, googlenet},
    {"smallnet", 32, smallnet}, {"lstm", 0, NULL},
};

enum { NETWORKS = sizeof networks / sizeof *networks, MAX_STEPS = 500 };

/* ---- specs ------------------------------------------------------------------------- */

typedef struct {
    int32_t batch;
    int32_t optimizer;
    bool    average, decay, gate; /* moving averages; L2 loss of each; gated gradients */
    /* recurrent */
    int32_t layers, units, input, vocab, steps, classes;
} values;

#define COMMON(optimizer_default)                                                     \
    EMP_INTEGER_OPTION("batch", values, batch, 1, 65536, "images or sequences", 32),  \
        EMP_WORD_OPTION("optimizer", values, optimizer, EMP_TF_OPTIMIZER_WORDS,       \
                        "what updates the weights", optimizer_default),               \
        EMP_BOOL_OPTION("average", values, average, "moving averages of the weights", \
                        0),                                                           \
        EMP_BOOL_OPTION("decay", values, decay, "an L2 loss of all weights", 0),      \
        EMP_BOOL_OPTION("gate", values, gate, "tuples around the gradients of an op", 1)

static const emp_option image_options[] = {COMMON(EMP_TF_SGD), EMP_NO_OPTION};

static const emp_option lstm_options[] = {
    COMMON(EMP_TF_SGD),
    EMP_INTEGER_OPTION("layers", values, layers, 1, EMP_TF_MAX_LAYERS, "LSTM layers", 1),
    EMP_INTEGER_OPTION("units", values, units, 1, 65536, "units of a layer", 128),
    EMP_INTEGER_OPTION("input", values, input, 1, 65536, "size of an input", 128),
    EMP_INTEGER_OPTION("vocab", values, vocab, 0, 10000000,
                       "words of an embedding; 0 = inputs are fed", 0),
    EMP_INTEGER_OPTION("steps", values, steps, 1, MAX_STEPS, "unrolled time steps", 30),
    EMP_INTEGER_OPTION("classes", values, classes, 0, 1000000,
                       "classes; 0 = squares of what it is off a target", 0),
    EMP_NO_OPTION};

static const network *find(const char *spec)
{
    size_t length = strcspn(spec, ":");

    for (int32_t i = 0; i < NETWORKS; i++) {
        if (strlen(networks[i].name) == length &&
            memcmp(networks[i].name, spec, length) == 0)
            return &networks[i];
    }
    return NULL;
}

bool emp_net_is_spec(const char *spec) { return find(spec) != NULL; }

/* ---- layers ------------------------------------------------------------------------ */

/* A network under construction. */
typedef struct {
    emp_tf  *tf;
    values   v;
    int32_t  number;    /* of layers so far */
    emp_port decay[64]; /* L2 losses */
    int32_t  decay_count;
} net;

static emp_port weights(net *n, const char *what, emp_shape shape)
{
    emp_tf         *tf = n->tf;
    const char     *name = emp_tf_number(tf, "layer_%d/", n->number);
    emp_tf_variable w =
        emp_tf_weights(tf, emp_tf_join(tf, name, what, ""), shape, EMP_TF_INIT_NORMAL);

    if (n->v.decay && n->decay_count < (int32_t)(sizeof n->decay / sizeof *n->decay))
        n->decay[n->decay_count++] = emp_tf_op1(tf, "L2Loss", NULL, w.read);
    return w.read;
}

static emp_port add_bias(net *n, emp_port x, int64_t size, bool has_relu)
{
    x = emp_tf_op2(n->tf, "BiasAdd", NULL, x, weights(n, "biases", EMP_SHAPE(size)));
    return has_relu ? emp_tf_op1(n->tf, "Relu", NULL, x) : x;
}

static emp_port convolve(net *n, emp_port x, int32_t filters, int32_t size,
                         int32_t stride, bool is_same)
{
    emp_op_attrs attrs = {.strides = {1, stride, stride, 1}, .padding_is_same = is_same};
    int64_t      channels = emp_tf_shape(n->tf, x).dim[3];

    n->number++;
    emp_port w = weights(n, "weights", EMP_SHAPE(size, size, channels, filters));
    x = emp_tf_op(n->tf, "Conv2D", NULL, &attrs, EMP_TF_PORTS(x, w));
    return add_bias(n, x, filters, true);
}

static emp_port pool(net *n, const char *type, emp_port x, int32_t size, int32_t stride,
                     bool is_same)
{
    emp_op_attrs attrs = {.ksize = {1, size, size, 1},
                          .strides = {1, stride, stride, 1},
                          .padding_is_same = is_same};

    return emp_tf_op(n->tf, type, NULL, &attrs, &x, 1);
}

static emp_port dense(net *n, emp_port x, int32_t size, bool has_relu)
{
    emp_shape shape = emp_tf_shape(n->tf, x);
    int64_t   inputs = emp_shape_elements(&shape) / n->v.batch;

    n->number++;
    if (shape.rank != 2) x = emp_tf_reshape(n->tf, x, EMP_SHAPE(n->v.batch, inputs));
    x = emp_tf_matmul(n->tf, "MatMul", x, weights(n, "weights", EMP_SHAPE(inputs, size)),
                      false, false);
    return add_bias(n, x, size, has_relu);
}

static emp_port mix(net *n, emp_port x, const layer *l)
{
    emp_port y[] = {
        convolve(n, x, l->filters, 1, 1, true),
        convolve(n, convolve(n, x, l->size, 1, 1, true), l->stride, 3, 1, true),
        convolve(n, convolve(n, x, l->more[0], 1, 1, true), l->more[1], 5, 1, true),
        convolve(n, pool(n, "MaxPool", x, 3, 1, true), l->more[2], 1, 1, true)};

    return emp_tf_concat(n->tf, NULL, y, 4, 3);
}

static emp_port apply(net *n, emp_port x, const layer *l)
{
    switch (l->kind) {
    case CONV: return convolve(n, x, l->filters, l->size, l->stride, true);
    case VALID: return convolve(n, x, l->filters, l->size, l->stride, false);
    case MAX_POOL: return pool(n, "MaxPool", x, l->size, l->stride, false);
    case MAX_SAME: return pool(n, "MaxPool", x, l->size, l->stride, true);
    case AVG_POOL: return pool(n, "AvgPool", x, l->size, l->stride, false);
    case AVG_SAME: return pool(n, "AvgPool", x, l->size, l->stride, true);
    case NORM: return emp_tf_op1(n->tf, "LRN", NULL, x);
    case MIX: return mix(n, x, l);
    case DENSE: return dense(n, x, l->filters, true);
    case DROPPED: return emp_tf_dropout(n->tf, NULL, dense(n, x, l->filters, true), 0.5);
    default: return dense(n, x, l->filters, false);
    }
}

/* ---- whole networks ---------------------------------------------------------------- */

static emp_port classify(net *n, emp_port logits)
{
    emp_port labels = emp_tf_get_variable(n->tf, "labels", EMP_DTYPE_INT32,
                                          EMP_SHAPE(n->v.batch), EMP_TF_INIT_ZEROS, false)
                          .read;
    emp_port losses = emp_tf_sparse_softmax_cross_entropy(
        n->tf, "SparseSoftmaxCrossEntropyWithLogits", labels, logits);

    return emp_tf_reduce_all(n->tf, "Mean", NULL, losses);
}

/* Images lie in the GPU's memory, as benchmarks with synthetic data have them. */
static emp_port emit_images(net *n, const network *w)
{
    emp_port x = emp_tf_get_variable(n->tf, "images", EMP_DTYPE_FLOAT,
                                     EMP_SHAPE(n->v.batch, w->image, w->image, 3),
                                     EMP_TF_INIT_NORMAL, false)
                     .read;

    for (const layer *l = w->layers; l->kind != END; l++) x = apply(n, x, l);
    return classify(n, x);
}

static emp_port emit_inputs(net *n)
{
    const values *v = &n->v;
    emp_tf       *tf = n->tf;

    if (v->vocab == 0)
        return emp_tf_get_variable(tf, "inputs", EMP_DTYPE_FLOAT,
                                   EMP_SHAPE(v->batch, v->steps, v->input),
                                   EMP_TF_INIT_NORMAL, false)
            .read;
    emp_tf_variable table = emp_tf_weights(tf, "embedding", EMP_SHAPE(v->vocab, v->input),
                                           EMP_TF_INIT_UNIFORM);
    emp_port        words =
        emp_tf_placeholder(tf, "words", EMP_DTYPE_INT32, EMP_SHAPE(v->batch, v->steps));
    return emp_tf_gather(tf, table.read, words);
}

/* Half the squares of what the output is off the target. */
static emp_port square(net *n, emp_port x)
{
    emp_port target =
        emp_tf_get_variable(n->tf, "target", EMP_DTYPE_FLOAT, emp_tf_shape(n->tf, x),
                            EMP_TF_INIT_NORMAL, false)
            .read;

    return emp_tf_op1(n->tf, "L2Loss", NULL, emp_tf_op2(n->tf, "Sub", NULL, x, target));
}

static emp_port emit_lstm(net *n)
{
    emp_tf_lstm_state state[EMP_TF_MAX_LAYERS];
    emp_tf           *tf = n->tf;
    emp_tf_rnn_cell   cell = {.layers = n->v.layers,
                              .units = n->v.units,
                              .batch = n->v.batch,
                              .first_residual = EMP_TF_NO_RESIDUAL,
                              .variables = "rnn/multi_rnn_cell/",
                              .ops = "rnn/rnn/multi_rnn_cell/"};
    emp_port          x = EMP_TF_NONE;
    emp_port          inputs = emp_tf_unstack(tf, emit_inputs(n), n->v.steps, 1);
    const char       *outer = emp_tf_enter(tf, "rnn");

    emp_tf_create_wrappers(tf, &cell);
    emp_tf_zero_state(tf, &cell, state);
    for (int32_t t = 0; t < n->v.steps; t++)
        x = emp_tf_rnn_step(tf, &cell, (emp_port){inputs.op, t}, state);
    emp_tf_leave(tf, outer);
    return n->v.classes == 0 ? square(n, x)
                             : classify(n, dense(n, x, n->v.classes, false));
}

/* average -= (average - weights) decay, for all that is trained. */
static void keep_averages(emp_tf *tf)
{
    int32_t count = tf->variable_count;

    for (int32_t i = 0; i < count; i++) {
        if (!tf->variable[i].is_trainable) continue;
        emp_tf_variable w = tf->variable[i];
        emp_tf_variable average =
            emp_tf_get_variable(tf, emp_tf_join(tf, w.name, "/average", ""),
                                EMP_DTYPE_FLOAT, w.shape, EMP_TF_INIT_ZEROS, false);
        emp_port change = emp_tf_op2(tf, "Sub", NULL, average.read, w.read);
        change = emp_tf_op_y(tf, "Mul", "mul", change, 0.1);
        emp_tf_set_target(tf, emp_tf_op2(tf, "AssignSub", NULL, average.ref, change).op);
    }
}

static void emit(net *n, const network *w)
{
    emp_tf         *tf = n->tf;
    emp_tf_variable step = emp_tf_global_step(tf);
    emp_port        loss = w->layers != NULL ? emit_images(n, w) : emit_lstm(n);

    if (n->decay_count > 0) {
        emp_port sum = n->decay_count > 1
                           ? emp_tf_op(tf, "AddN", NULL, NULL, n->decay, n->decay_count)
                           : n->decay[0];
        loss =
            emp_tf_op2(tf, "Add", NULL, loss, emp_tf_op_y(tf, "Mul", "mul", sum, 1e-4));
    }
    emp_tf_set_target(
        tf, emp_tf_minimize(tf, loss, &step, (emp_tf_optimizer)n->v.optimizer, 0.0));
    emp_tf_set_target(tf, loss.op);
    if (n->v.average) keep_averages(tf);
}

static emp_status refuse(const char *spec, emp_error *err)
{
    char     names[128];
    emp_text list = {names, sizeof names, 0};

    for (int32_t i = 0; i < NETWORKS; i++)
        emp_text_add(&list, "%s%s", i == 0 ? "" : ", ", networks[i].name);
    return EMP_ERROR(EMP_EINVAL, "no network \"%.*s\"; there are %s",
                     (int)strcspn(spec, ":"), spec, names);
}

emp_status emp_net_build(emp_graph **step, const char *spec, emp_error *err)
{
    emp_status     st = EMP_OK;
    emp_tf         tf = {0};
    emp_graph     *whole = NULL;
    net            n = {.tf = &tf};
    const network *w = find(spec);

    *step = NULL;
    if (w == NULL) return refuse(spec, err);
    const emp_option_table table = {w->name, NULL,
                                    w->layers != NULL ? image_options : lstm_options};
    const char            *text = spec + strlen(w->name);
    EMP_CHECK(emp_options_parse(&n.v, &table, NULL, *text == ':' ? text + 1 : text, err));
    EMP_TRY(emp_tf_init(&tf, err));
    tf.gate_gradients = n.v.gate;
    tf.old_broadcast_grads = true;
    emit(&n, w);
    EMP_TRY(emp_tf_finish(&tf, &whole));
    EMP_TRY(emp_graph_prune(step, whole, err));

cleanup:
    emp_graph_destroy(whole);
    emp_tf_clear(&tf);
    return st;
}

/* ---- single convolutions ----------------------------------------------------------- */

static emp_status emit_convolution(net *n, const emp_net_convolution *of, emp_error *err)
{
    emp_tf_variable steps = emp_tf_global_step(n->tf);
    emp_shape       shape = EMP_SHAPE(of->batch, of->size, of->size, of->channels);
    emp_port        x = emp_tf_weights(n->tf, "images", shape, EMP_TF_INIT_NORMAL).read;

    if (!of->is_same && of->window > of->size)
        return EMP_ERROR(EMP_EINVAL, "a window of %d does not fit into images of %d",
                         of->window, of->size);
    x = convolve(n, x, of->filters, of->window, 1, of->is_same);
    emp_port loss = emp_tf_reduce_all(n->tf, "Mean", NULL, x);
    emp_tf_set_target(n->tf, emp_tf_minimize(n->tf, loss, &steps, EMP_TF_SGD, 0.0));
    return EMP_OK;
}

emp_status emp_net_build_convolution(emp_graph **step, const emp_net_convolution *of,
                                     emp_error *err)
{
    emp_status st = EMP_OK;
    emp_tf     tf = {0};
    emp_graph *whole = NULL;
    net        n = {.tf = &tf, .v = {.batch = of->batch}};

    *step = NULL;
    EMP_TRY(emp_tf_init(&tf, err));
    EMP_TRY(emit_convolution(&n, of, err));
    EMP_TRY(emp_tf_finish(&tf, &whole));
    EMP_TRY(emp_graph_prune(step, whole, err));
    EMP_TRY(emp_net_set_nchw(*step, err));

cleanup:
    if (st != EMP_OK) {
        emp_graph_destroy(*step);
        *step = NULL;
    }
    emp_graph_destroy(whole);
    emp_tf_clear(&tf);
    return st;
}

emp_status emp_net_set_nchw(emp_graph *graph, emp_error *err)
{
    for (emp_op_id op = 0; op < graph->op_count; op++) {
        emp_op_cost *c = emp_graph_own_cost(graph, op);
        if (c == NULL) return EMP_ERROR(EMP_ENOMEM, "costs of %d ops", graph->op_count);
        if (c->op_class == EMP_OP_GEMM && c->work != EMP_WORK_PRODUCT)
            c->op_class = EMP_OP_CONV; /* 1x1, which NHWC gives to cuBLAS */
        if (c->layout_bytes == 0) continue;
        c->bytes_read -= c->layout_bytes;
        c->bytes_written -= c->layout_bytes;
        c->kernels -= c->layout_kernels;
        c->layout_bytes = c->layout_kernels = 0;
    }
    return EMP_OK;
}
