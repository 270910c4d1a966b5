// SPDX-License-Identifier: GPL-3.0-or-later
/* Transformer-XL (Dai et al., ACL 2019), of which GO places graphs with 2, 4 and 8 layers: segments
 * one after another, each of which reads the states of the one before without a gradient. The
 * ops follow model.py in kimiyoung/transformer-xl, time first. */
#include <math.h>

#include "graphs/tensorflow/tf_ops.h"
#include "graphs/workloads/workloads_internal.h"

enum {
    LAYERS,
    BATCH,
    SEGMENTS,
    STEPS,
    UNITS,
    HEADS,
    INNER,
    VOCAB,
    DROPOUT,
    UNTIED,
    COMMON,
    MAX_LAYERS = 32,
    MAX_SEGMENTS = 16
};

const char emp_transformer_xl_description[] =
    "language model: Transformer-XL over several segments, with their memory";

const emp_option emp_transformer_xl_params[] = {
    EMP_WORKLOAD_NUMBER(LAYERS, "layers", 1, MAX_LAYERS, "layers", 2),
    EMP_WORKLOAD_NUMBER(BATCH, "batch", 1, 65536, "sequences", 64),
    EMP_WORKLOAD_NUMBER(SEGMENTS, "segments", 1, MAX_SEGMENTS, "segments of a step", 4),
    EMP_WORKLOAD_NUMBER(STEPS, "steps", 1, 4096, "words of a segment", 64),
    EMP_WORKLOAD_NUMBER(UNITS, "units", 1, 65536, "size of a word's state", 500),
    EMP_WORKLOAD_NUMBER(HEADS, "heads", 1, 1024, "heads of attention, which divide units",
                        10),
    EMP_WORKLOAD_NUMBER(INNER, "inner", 1, 262144, "inner size of a feed-forward layer",
                        1000),
    EMP_WORKLOAD_NUMBER(VOCAB, "vocab", 2, 10000000, "words", 32000),
    EMP_WORKLOAD_FLAG(DROPOUT, "dropout", "drop a tenth", 1),
    EMP_WORKLOAD_FLAG(UNTIED, "untied", "each layer has biases of attention of its own",
                      0),
    EMP_WORKLOAD_COMMON(COMMON, EMP_TF_ADAM, 0, 0),
};

static const double clip_norm = 0.25;

/* Weights are shared by the segments: made in the first, found in the others. */
typedef struct {
    emp_tf_variable qkv, position, out, norm_1[2], up[2], down[2], norm_2[2], bias[2];
} layer_weights;

typedef struct {
    emp_tf        *tf;
    const int64_t *v;
    int64_t        keys; /* of the segment at hand: its own and the memory's */
    layer_weights  layer[MAX_LAYERS];
    emp_port       memory[MAX_LAYERS]; /* input of each layer in the segment before */
} model;

static emp_tf_variable weight(model *m, const char *name, emp_shape shape)
{
    return emp_tf_get_variable(m->tf, name, EMP_DTYPE_FLOAT, shape, EMP_TF_INIT_NORMAL,
                               true);
}

static emp_tf_variable layer_weight(model *m, int32_t layer, const char *leaf,
                                    emp_shape shape)
{
    const char *scope = emp_tf_number(m->tf, "transformer/layer_%d/", layer);

    return weight(m, emp_tf_join(m->tf, scope, leaf, ""), shape);
}

static void create_norm(model *m, int32_t layer, const char *scope,
                        emp_tf_variable norm[2])
{
    emp_shape size = EMP_SHAPE(m->v[UNITS]);

    norm[0] = layer_weight(m, layer, emp_tf_join(m->tf, scope, "/beta", ""), size);
    norm[1] = layer_weight(m, layer, emp_tf_join(m->tf, scope, "/gamma", ""), size);
}

static void create_biases(model *m, const char *scope, emp_tf_variable bias[2])
{
    emp_shape size = EMP_SHAPE(m->v[HEADS], m->v[UNITS] / m->v[HEADS]);

    bias[0] = weight(m, emp_tf_join(m->tf, scope, "r_w_bias", ""), size);
    bias[1] = weight(m, emp_tf_join(m->tf, scope, "r_r_bias", ""), size);
}

static void create_layer(model *m, int32_t i)
{
    int64_t        units = m->v[UNITS], inner = m->v[INNER];
    layer_weights *w = &m->layer[i];

    if (m->v[UNTIED] != 0)
        create_biases(m, emp_tf_number(m->tf, "transformer/layer_%d/", i), w->bias);
    else if (i == 0)
        create_biases(m, "transformer/", w->bias);
    else
        for (int k = 0; k < 2; k++) w->bias[k] = m->layer[0].bias[k];
    w->qkv = layer_weight(m, i, "rel_attn/qkv/kernel", EMP_SHAPE(units, 3 * units));
    w->position = layer_weight(m, i, "rel_attn/r/kernel", EMP_SHAPE(units, units));
    w->out = layer_weight(m, i, "rel_attn/o/kernel", EMP_SHAPE(units, units));
    create_norm(m, i, "rel_attn/LayerNorm", w->norm_1);
    w->up[0] = layer_weight(m, i, "ff/layer_1/kernel", EMP_SHAPE(units, inner));
    w->up[1] = layer_weight(m, i, "ff/layer_1/bias", EMP_SHAPE(inner));
    w->down[0] = layer_weight(m, i, "ff/layer_2/kernel", EMP_SHAPE(inner, units));
    w->down[1] = layer_weight(m, i, "ff/layer_2/bias", EMP_SHAPE(units));
    create_norm(m, i, "ff/LayerNorm", w->norm_2);
}

/* ---- what layers are made of ---- */

/* A product over the last dimension, as tf.tensordot makes it. */
static emp_port dense(model *m, emp_port x, const emp_tf_variable *kernel,
                      const emp_tf_variable *bias)
{
    static const int64_t keep[] = {0, 1, 2};
    emp_tf              *tf = m->tf;
    emp_shape            shape = emp_tf_shape(tf, x);
    int64_t              from = kernel->shape.dim[0], to = kernel->shape.dim[1];
    const char          *outer = emp_tf_enter(tf, "Tensordot");

    emp_port rows = emp_tf_transpose(tf, x, keep, shape.rank);
    rows = emp_tf_reshape(tf, rows, EMP_SHAPE(shape.dim[0] * shape.dim[1], from));
    emp_port w = emp_tf_transpose(tf, kernel->read, keep, 2);
    w = emp_tf_reshape(tf, w, EMP_SHAPE(from, to));
    emp_port y = emp_tf_matmul(tf, "MatMul", rows, w, false, false);
    y = emp_tf_reshape(tf, y, EMP_SHAPE(shape.dim[0], shape.dim[1], to));
    emp_tf_leave(tf, outer);
    return bias == NULL ? y : emp_tf_op2(tf, "BiasAdd", NULL, y, bias->read);
}

static emp_port drop(model *m, emp_port x)
{
    return m->v[DROPOUT] != 0 ? emp_tf_dropout(m->tf, NULL, x, 0.9) : x;
}

/* tf.contrib.layers.layer_norm. */
static emp_port layer_norm(model *m, emp_port x, const emp_tf_variable norm[2])
{
    static const int64_t last[] = {2};
    emp_tf              *tf = m->tf;
    const char          *outer = emp_tf_enter(tf, "LayerNorm");

    emp_port mean = emp_tf_reduce(tf, "Mean", "moments/mean", x, last, 1, true);
    emp_port fixed = emp_tf_op1(tf, "StopGradient", "moments/StopGradient", mean);
    emp_port variance =
        emp_tf_op2(tf, "SquaredDifference", "moments/SquaredDifference", x, fixed);
    variance = emp_tf_reduce(tf, "Mean", "moments/variance", variance, last, 1, true);
    emp_port inverse = emp_tf_op_y(tf, "Add", "batchnorm/add", variance, 1e-12);
    inverse = emp_tf_op1(tf, "Rsqrt", "batchnorm/Rsqrt", inverse);
    inverse = emp_tf_op2(tf, "Mul", "batchnorm/mul", inverse, norm[1].read);
    emp_port scaled = emp_tf_op2(tf, "Mul", "batchnorm/mul_1", x, inverse);
    emp_port shift = emp_tf_op2(tf, "Mul", "batchnorm/mul_2", mean, inverse);
    shift = emp_tf_op2(tf, "Sub", "batchnorm/sub", norm[0].read, shift);
    x = emp_tf_op2(tf, "Add", "batchnorm/add_1", scaled, shift);
    emp_tf_leave(tf, outer);
    return x;
}

/* ---- attention ---- */

static emp_port transposed(model *m, emp_port x, int64_t a, int64_t b, int64_t c,
                           int64_t d)
{
    return emp_tf_transpose(m->tf, x, (int64_t[]){a, b, c, d}, 4);
}

/* ibnd,jbnd->ijbn: what the words of queries and keys have in common. */
static emp_port by_content(model *m, emp_port q, emp_port k)
{
    emp_port scores = emp_tf_matmul(m->tf, "BatchMatMul", transposed(m, q, 1, 2, 0, 3),
                                    transposed(m, k, 1, 2, 0, 3), false, true);

    return transposed(m, scores, 2, 3, 0, 1);
}

/* ibnd,jnd->ijbn, and each row moved by one more than the row before: by distances. */
static emp_port by_distance(model *m, emp_port q, emp_port r)
{
    emp_tf  *tf = m->tf;
    int64_t  steps = m->v[STEPS], batch = m->v[BATCH], heads = m->v[HEADS];
    int64_t  keys = m->keys, size = m->v[UNITS] / heads;
    emp_port rows = transposed(m, q, 2, 0, 1, 3);

    rows = emp_tf_reshape(tf, rows, EMP_SHAPE(heads, steps * batch, size));
    r = emp_tf_transpose(tf, r, (int64_t[]){1, 0, 2}, 3);
    emp_port scores = emp_tf_matmul(tf, "BatchMatMul", rows, r, false, true);
    scores = emp_tf_reshape(tf, scores, EMP_SHAPE(heads, steps, batch, keys));
    scores = transposed(m, scores, 1, 3, 2, 0);
    emp_port padding =
        emp_tf_const(tf, NULL, "Pad/paddings", EMP_DTYPE_INT32, EMP_SHAPE(4, 2),
                     (int64_t[]){0, 0, 1, 0, 0, 0, 0, 0}, 8);
    scores = emp_tf_op2(tf, "Pad", NULL, scores, padding);
    scores = emp_tf_reshape(tf, scores, EMP_SHAPE(keys + 1, steps, batch, heads));
    emp_port begin = emp_tf_ints(tf, NULL, "Slice/begin", (int64_t[]){1, 0, 0, 0}, 4);
    emp_port sizes =
        emp_tf_ints(tf, NULL, "Slice/size", (int64_t[]){keys, steps, batch, heads}, 4);
    scores = emp_tf_slice(tf, scores, begin, sizes);
    return emp_tf_reshape(tf, scores, EMP_SHAPE(steps, keys, batch, heads));
}

/* x (1 - mask) - 1e30 mask. */
static emp_port masked(model *m, emp_port scores, emp_port mask)
{
    emp_port open = emp_tf_x_op(m->tf, "Sub", "sub", 1.0, mask);
    emp_port kept = emp_tf_op2(m->tf, "Mul", "mul", scores, open);
    emp_port closed = emp_tf_x_op(m->tf, "Mul", "mul", 1e30, mask);

    return emp_tf_op2(m->tf, "Sub", "sub", kept, closed);
}

/* tf.nn.softmax over dimension 1, by way of the last one. */
static emp_port softmax_of_keys(model *m, emp_port scores)
{
    emp_tf  *tf = m->tf;
    int64_t  steps = m->v[STEPS], batch = m->v[BATCH], heads = m->v[HEADS];
    emp_port x = transposed(m, scores, 0, 3, 2, 1);

    x = emp_tf_reshape(tf, x, EMP_SHAPE(steps * heads * batch, m->keys));
    x = emp_tf_op1(tf, "Softmax", NULL, x);
    x = emp_tf_reshape(tf, x, EMP_SHAPE(steps, heads, batch, m->keys));
    return transposed(m, x, 0, 3, 2, 1);
}

static emp_port part(model *m, emp_port qkv, int32_t index, int64_t steps)
{
    emp_port x = {qkv.op, index};

    if (steps < m->keys) { /* the queries come from the segment itself */
        emp_port begin = emp_tf_ints(m->tf, NULL, "Slice/begin",
                                     (int64_t[]){m->keys - steps, 0, 0}, 3);
        emp_port size = emp_tf_ints(m->tf, NULL, "Slice/size",
                                    (int64_t[]){steps, m->v[BATCH], m->v[UNITS]}, 3);
        x = emp_tf_slice(m->tf, x, begin, size);
    }
    return emp_tf_reshape(
        m->tf, x, EMP_SHAPE(steps, m->v[BATCH], m->v[HEADS], m->v[UNITS] / m->v[HEADS]));
}

static emp_port attend(model *m, int32_t i, emp_port x, emp_port positions, emp_port mask)
{
    emp_tf        *tf = m->tf;
    layer_weights *w = &m->layer[i];
    int64_t        steps = m->v[STEPS], size = m->v[UNITS] / m->v[HEADS];
    emp_op_attrs   three = {.count = 3};
    const char    *outer = emp_tf_enter(tf, "rel_attn");

    emp_port all =
        m->keys > steps ? emp_tf_concat(tf, NULL, EMP_TF_PORTS(m->memory[i], x), 0) : x;
    emp_port qkv = dense(m, all, &w->qkv, NULL);
    emp_port r = dense(m, positions, &w->position, NULL);
    emp_port axis = emp_tf_int(tf, NULL, "split/split_dim", 2);
    qkv = emp_tf_op(tf, "Split", "split", &three, EMP_TF_PORTS(axis, qkv));
    emp_port q = part(m, qkv, 0, steps), k = part(m, qkv, 1, m->keys);
    emp_port values = part(m, qkv, 2, m->keys);
    r = emp_tf_reshape(tf, r, EMP_SHAPE(m->keys, m->v[HEADS], size));
    emp_port content = by_content(m, emp_tf_op2(tf, "Add", "add", q, w->bias[0].read), k);
    emp_port distance =
        by_distance(m, emp_tf_op2(tf, "Add", "add", q, w->bias[1].read), r);
    emp_port scores = emp_tf_op2(tf, "Add", "add", content, distance);
    scores = emp_tf_op_y(tf, "Mul", "mul", scores, 1 / sqrt((double)size));
    emp_port odds = drop(m, softmax_of_keys(m, masked(m, scores, mask)));
    emp_port y = emp_tf_matmul(tf, "BatchMatMul", transposed(m, odds, 2, 3, 0, 1),
                               transposed(m, values, 1, 2, 0, 3), false, false);
    y = transposed(m, y, 2, 0, 1, 3);
    y = emp_tf_reshape(tf, y, EMP_SHAPE(steps, m->v[BATCH], m->v[UNITS]));
    y = drop(m, dense(m, y, &w->out, NULL));
    y = layer_norm(m, emp_tf_op2(tf, "Add", "add", y, x), w->norm_1);
    emp_tf_leave(tf, outer);
    return y;
}

static emp_port feed_forward(model *m, int32_t i, emp_port x)
{
    layer_weights *w = &m->layer[i];
    const char    *outer = emp_tf_enter(m->tf, "ff");

    emp_port y = dense(m, x, &w->up[0], &w->up[1]);
    y = drop(m, emp_tf_op1(m->tf, "Relu", NULL, y));
    y = drop(m, dense(m, y, &w->down[0], &w->down[1]));
    y = layer_norm(m, emp_tf_op2(m->tf, "Add", "add", y, x), w->norm_2);
    emp_tf_leave(m->tf, outer);
    return y;
}

/* ---- segments ---- */

static emp_port segment_loss(model *m, emp_port x, emp_port labels,
                             const emp_tf_variable *table, const emp_tf_variable *bias)
{
    emp_tf     *tf = m->tf;
    const char *outer = emp_tf_enter(tf, "softmax");
    emp_port    rows =
        emp_tf_reshape(tf, x, EMP_SHAPE(m->v[STEPS] * m->v[BATCH], m->v[UNITS]));

    emp_port logits = emp_tf_matmul(tf, "MatMul", rows, table->read, false, true);
    logits = emp_tf_op2(tf, "BiasAdd", NULL, logits, bias->read);
    labels = emp_tf_reshape(tf, labels, EMP_SHAPE(-1));
    emp_port losses = emp_tf_sparse_softmax_cross_entropy(
        tf, "SparseSoftmaxCrossEntropyWithLogits", labels, logits);
    losses = emp_tf_reduce_all(tf, "Mean", NULL, losses);
    emp_tf_leave(tf, outer);
    return losses;
}

static emp_port run_segment(model *m, int32_t number, emp_port words,
                            const emp_tf_variable *table)
{
    emp_tf     *tf = m->tf;
    int64_t     steps = m->v[STEPS], units = m->v[UNITS];
    const char *outer = emp_tf_enter(tf, emp_tf_number(tf, "segment_%d", number));

    m->keys = number == 0 ? steps : 2 * steps;
    emp_port x = emp_tf_gather(tf, table->read, words);
    x = drop(m, emp_tf_op_y(tf, "Mul", "mul", x, sqrt((double)units)));
    emp_port mask = emp_tf_const(tf, NULL, "mask", EMP_DTYPE_FLOAT,
                                 EMP_SHAPE(steps, m->keys, 1, 1), NULL, 0);
    emp_port positions = emp_tf_const(tf, NULL, "positions", EMP_DTYPE_FLOAT,
                                      EMP_SHAPE(m->keys, 1, units), NULL, 0);
    positions = drop(m, positions);
    for (int32_t i = 0; i < m->v[LAYERS]; i++) {
        const char *layer = emp_tf_enter(tf, emp_tf_number(tf, "layer_%d", i));
        emp_port    input = x;
        x = feed_forward(m, i, attend(m, i, x, positions, mask));
        m->memory[i] = emp_tf_op1(tf, "StopGradient", NULL, input);
        emp_tf_leave(tf, layer);
    }
    x = drop(m, x);
    emp_tf_leave(tf, outer);
    return x;
}

static void emit(emp_tf *tf, const int64_t *v)
{
    emp_tf_variable step = emp_tf_global_step(tf);
    model           m = {.tf = tf, .v = v};
    emp_port        losses[MAX_SEGMENTS];
    emp_shape       words = EMP_SHAPE(v[STEPS], v[BATCH]);

    emp_tf_variable table = weight(&m, "transformer/adaptive_embed/lookup_table",
                                   EMP_SHAPE(v[VOCAB], v[UNITS]));
    emp_tf_variable bias =
        weight(&m, "transformer/adaptive_softmax/bias", EMP_SHAPE(v[VOCAB]));
    for (int32_t i = 0; i < v[LAYERS]; i++) create_layer(&m, i);
    const char *outer = emp_tf_enter(tf, "transformer");
    for (int32_t s = 0; s < v[SEGMENTS]; s++) {
        emp_port in = emp_tf_placeholder(tf, "words", EMP_DTYPE_INT32, words);
        emp_port out = emp_tf_placeholder(tf, "labels", EMP_DTYPE_INT32, words);
        losses[s] = segment_loss(&m, run_segment(&m, s, in, &table), out, &table, &bias);
    }
    emp_op_attrs count = {.count = (int32_t)v[SEGMENTS]};
    emp_port loss = emp_tf_op(tf, "AddN", "loss", &count, losses, (int32_t)v[SEGMENTS]);
    emp_tf_leave(tf, outer);
    emp_workload_train(tf, loss, &step, clip_norm, v + COMMON);
}

emp_status emp_transformer_xl_build(const int64_t *values, emp_graph **out,
                                    emp_error *err)
{
    if (values[UNITS] % values[HEADS] != 0)
        return EMP_ERROR(EMP_EINVAL,
                         "transformer_xl: heads=%lld do not divide units=%lld",
                         (long long)values[HEADS], (long long)values[UNITS]);
    return emp_workload_generate(emit, values, values + COMMON, out, err);
}
