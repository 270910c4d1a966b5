// SPDX-License-Identifier: GPL-3.0-or-later
/* WaveNet (van den Oord et al., 2016), of which GO places two stacks of 9 and four stacks of 9
 * layers. The ops follow ibab/tensorflow-wavenet: a dilated convolution is a plain one on a
 * batch that the dilation is part of. */
#include "graphs/tensorflow/tf_ops.h"
#include "graphs/workloads/workloads_internal.h"

enum {
    STACKS,
    LAYERS,
    BATCH,
    STEPS,
    RESIDUAL,
    DILATED,
    SKIP,
    LEVELS,
    COMMON,
    WIDTH = 2, /* of a filter */
    MAX_STACKS = 16,
    MAX_LAYERS = 12
};

const char emp_wavenet_description[] =
    "WaveNet: stacks of dilated convolutions over samples of sound";

const emp_option emp_wavenet_params[] = {
    EMP_WORKLOAD_NUMBER(STACKS, "stacks", 1, MAX_STACKS, "stacks", 2),
    EMP_WORKLOAD_NUMBER(LAYERS, "layers", 1, MAX_LAYERS,
                        "layers of a stack, with dilations 1, 2, 4, ...", 9),
    EMP_WORKLOAD_NUMBER(BATCH, "batch", 1, 65536, "pieces of sound", 64),
    EMP_WORKLOAD_NUMBER(STEPS, "steps", 2, 1000000,
                        "samples of a piece, more than the layers look back", 4096),
    EMP_WORKLOAD_NUMBER(RESIDUAL, "residual", 1, 65536, "channels between layers", 256),
    EMP_WORKLOAD_NUMBER(DILATED, "dilated", 1, 65536, "channels within a layer", 256),
    EMP_WORKLOAD_NUMBER(SKIP, "skip", 1, 65536, "channels to the output", 256),
    EMP_WORKLOAD_NUMBER(LEVELS, "levels", 2, 65536, "values of a sample", 256),
    EMP_WORKLOAD_COMMON(COMMON, EMP_TF_ADAM, 0, 0),
};

typedef struct {
    emp_tf        *tf;
    const int64_t *v;
    int64_t        outputs; /* samples that are predicted of each piece */
} model;

/* Samples that a prediction looks back at, beside the one before it. */
static int64_t look_back(const int64_t *v)
{
    int64_t dilations = ((int64_t)1 << v[LAYERS]) - 1;

    return (WIDTH - 1) * (dilations * v[STACKS] + 1);
}

static emp_tf_variable weight(model *m, const char *scope, const char *leaf,
                              emp_shape shape)
{
    return emp_tf_get_variable(m->tf, emp_tf_join(m->tf, scope, leaf, ""),
                               EMP_DTYPE_FLOAT, shape, EMP_TF_INIT_NORMAL, true);
}

/* ---- convolutions over time ---- */

/* tf.nn.conv1d: an image of height 1. */
static emp_port conv1d(model *m, emp_port x, emp_port filter)
{
    emp_op_attrs attrs = {.strides = {1, 1, 1, 1}};
    const char  *outer = emp_tf_enter(m->tf, "conv1d");
    emp_port     image = emp_tf_expand_dims(m->tf, x, 1);
    emp_port     window = emp_tf_expand_dims(m->tf, filter, 0);

    emp_port y =
        emp_tf_op(m->tf, "Conv2D", "Conv2D", &attrs, EMP_TF_PORTS(image, window));
    y = emp_tf_squeeze(m->tf, NULL, y, 1U << 1);
    emp_tf_leave(m->tf, outer);
    return y;
}

/* The last \a steps samples of each piece. */
static emp_port last_samples(model *m, emp_port x, int64_t steps)
{
    emp_shape shape = emp_tf_shape(m->tf, x);
    emp_port  begin = emp_tf_ints(m->tf, NULL, "Slice/begin",
                                  (int64_t[]){0, shape.dim[1] - steps, 0}, 3);
    emp_port  size = emp_tf_ints(m->tf, NULL, "Slice/size",
                                 (int64_t[]){shape.dim[0], steps, shape.dim[2]}, 3);

    return emp_tf_slice(m->tf, x, begin, size);
}

/* Pieces cut into every dilation-th sample, padded so that all are of one length. */
static emp_port time_to_batch(model *m, emp_port x, int64_t dilation)
{
    emp_tf     *tf = m->tf;
    emp_shape   shape = emp_tf_shape(tf, x);
    int64_t     batch = shape.dim[0], channels = shape.dim[2];
    int64_t     columns = (shape.dim[1] + dilation - 1) / dilation;
    int64_t     padding = columns * dilation - shape.dim[1];
    const char *outer = emp_tf_enter(tf, "time_to_batch");

    emp_port pads = emp_tf_const(tf, NULL, "Pad/paddings", EMP_DTYPE_INT32,
                                 EMP_SHAPE(3, 2), (int64_t[]){0, 0, 0, padding, 0, 0}, 6);
    x = emp_tf_op2(tf, "Pad", NULL, x, pads);
    x = emp_tf_reshape(tf, x, EMP_SHAPE(batch * columns, dilation, channels));
    x = emp_tf_transpose(tf, x, (int64_t[]){1, 0, 2}, 3);
    x = emp_tf_reshape(tf, x, EMP_SHAPE(batch * dilation, columns, channels));
    emp_tf_leave(tf, outer);
    return x;
}

static emp_port batch_to_time(model *m, emp_port x, int64_t dilation)
{
    emp_tf     *tf = m->tf;
    emp_shape   shape = emp_tf_shape(tf, x);
    int64_t     batch = shape.dim[0] / dilation, columns = shape.dim[1];
    int64_t     channels = shape.dim[2];
    const char *outer = emp_tf_enter(tf, "batch_to_time");

    x = emp_tf_reshape(tf, x, EMP_SHAPE(dilation, batch * columns, channels));
    x = emp_tf_transpose(tf, x, (int64_t[]){1, 0, 2}, 3);
    x = emp_tf_reshape(tf, x, EMP_SHAPE(batch, columns * dilation, channels));
    emp_tf_leave(tf, outer);
    return x;
}

static emp_port causal_conv(model *m, emp_port x, emp_port filter, int64_t dilation)
{
    int64_t     steps = emp_tf_shape(m->tf, x).dim[1] - (WIDTH - 1) * dilation;
    const char *outer = emp_tf_enter(m->tf, "causal_conv");
    emp_port    y = dilation > 1 ? time_to_batch(m, x, dilation) : x;

    y = conv1d(m, y, filter);
    if (dilation > 1) y = batch_to_time(m, y, dilation);
    emp_shape shape = emp_tf_shape(m->tf, y);
    emp_port  begin = emp_tf_ints(m->tf, NULL, "Slice/begin", (int64_t[]){0, 0, 0}, 3);
    emp_port  size = emp_tf_ints(m->tf, NULL, "Slice/size",
                                 (int64_t[]){shape.dim[0], steps, shape.dim[2]}, 3);
    y = emp_tf_slice(m->tf, y, begin, size);
    emp_tf_leave(m->tf, outer);
    return y;
}

/* A convolution of width 1 with a bias. */
static emp_port dense(model *m, const char *scope, const char *name, emp_port x,
                      int64_t channels)
{
    int64_t         from = emp_tf_shape(m->tf, x).dim[2];
    const char     *base = emp_tf_join(m->tf, scope, name, "");
    emp_tf_variable w = weight(m, base, "", EMP_SHAPE(1, from, channels));
    emp_tf_variable b = weight(m, base, "_bias", EMP_SHAPE(channels));

    return emp_tf_op2(m->tf, "Add", "add", conv1d(m, x, w.read), b.read);
}

/* ---- layers ---- */

static emp_port gated(model *m, const char *scope, const char *name, const char *function,
                      emp_port x, int64_t dilation)
{
    const char     *base = emp_tf_join(m->tf, scope, name, "");
    emp_tf_variable w =
        weight(m, base, "", EMP_SHAPE(WIDTH, m->v[RESIDUAL], m->v[DILATED]));
    emp_tf_variable b = weight(m, base, "_bias", EMP_SHAPE(m->v[DILATED]));

    x = causal_conv(m, x, w.read, dilation);
    return emp_tf_op1(m->tf, function, NULL, emp_tf_op2(m->tf, "Add", "add", x, b.read));
}

/* The output that the layer hands on; its part of the output comes in \a skip. */
static emp_port layer(model *m, int32_t number, emp_port x, int64_t dilation,
                      emp_port *skip)
{
    emp_tf     *tf = m->tf;
    const char *scope = emp_tf_number(tf, "wavenet/dilated_stack/layer%d/", number);
    const char *outer = emp_tf_enter(tf, emp_tf_number(tf, "layer%d", number));

    emp_port filter = gated(m, scope, "filter", "Tanh", x, dilation);
    emp_port gate = gated(m, scope, "gate", "Sigmoid", x, dilation);
    emp_port out = emp_tf_op2(tf, "Mul", "mul", filter, gate);
    *skip = dense(m, scope, "skip", last_samples(m, out, m->outputs), m->v[SKIP]);
    emp_port change = dense(m, scope, "dense", out, m->v[RESIDUAL]);
    x = last_samples(m, x, emp_tf_shape(tf, change).dim[1]);
    x = emp_tf_op2(tf, "Add", "add", x, change);
    emp_tf_leave(tf, outer);
    return x;
}

/* From the sum of what layers put out to the logits of samples. */
static emp_port postprocess(model *m, emp_port *skips, int32_t count)
{
    const char *scope = "wavenet/postprocessing/";
    const char *outer = emp_tf_enter(m->tf, "postprocessing");
    emp_port    x = skips[0];

    for (int32_t i = 1; i < count; i++) x = emp_tf_op2(m->tf, "Add", "add", x, skips[i]);
    x = emp_tf_op1(m->tf, "Relu", NULL, x);
    x = dense(m, scope, "postprocess1", x, m->v[SKIP]);
    x = emp_tf_op1(m->tf, "Relu", NULL, x);
    x = dense(m, scope, "postprocess2", x, m->v[LEVELS]);
    emp_tf_leave(m->tf, outer);
    return x;
}

static emp_port make_loss(model *m, emp_port logits, emp_port labels)
{
    emp_tf     *tf = m->tf;
    int64_t     rows = m->v[BATCH] * m->outputs;
    const char *outer = emp_tf_enter(tf, "loss");

    logits = emp_tf_reshape(tf, logits, EMP_SHAPE(rows, m->v[LEVELS]));
    labels = emp_tf_reshape(tf, labels, EMP_SHAPE(rows));
    emp_port losses = emp_tf_sparse_softmax_cross_entropy(
        tf, "SparseSoftmaxCrossEntropyWithLogits", labels, logits);
    losses = emp_tf_reduce_all(tf, "Mean", NULL, losses);
    emp_tf_leave(tf, outer);
    return losses;
}

static void emit(emp_tf *tf, const int64_t *v)
{
    emp_tf_variable step = emp_tf_global_step(tf);
    model           m = {.tf = tf, .v = v, .outputs = v[STEPS] - look_back(v)};
    emp_port        skips[MAX_STACKS * MAX_LAYERS] = {0};
    int32_t         count = 0;
    emp_port        samples =
        emp_tf_placeholder(tf, "samples", EMP_DTYPE_INT32, EMP_SHAPE(v[BATCH], v[STEPS]));
    emp_port labels =
        emp_tf_placeholder(tf, "labels", EMP_DTYPE_INT32, EMP_SHAPE(v[BATCH], m.outputs));

    const char     *outer = emp_tf_enter(tf, "wavenet");
    emp_port        x = emp_tf_one_hot(tf, "one_hot_encode", samples, v[LEVELS]);
    emp_tf_variable first = weight(&m, "wavenet/causal_layer/", "filter",
                                   EMP_SHAPE(WIDTH, v[LEVELS], v[RESIDUAL]));
    x = causal_conv(&m, x, first.read, 1);
    for (int32_t s = 0; s < v[STACKS]; s++)
        for (int32_t i = 0; i < v[LAYERS]; i++, count++)
            x = layer(&m, count, x, (int64_t)1 << i, &skips[count]);
    emp_port loss = make_loss(&m, postprocess(&m, skips, count), labels);
    emp_tf_leave(tf, outer);
    emp_workload_train(tf, loss, &step, 0.0, v + COMMON);
}

emp_status emp_wavenet_build(const int64_t *values, emp_graph **out, emp_error *err)
{
    if (values[STEPS] <= look_back(values))
        return EMP_ERROR(EMP_EINVAL,
                         "wavenet: a prediction looks back at %lld samples, so that "
                         "steps=%lld must be more",
                         (long long)look_back(values), (long long)values[STEPS]);
    return emp_workload_generate(emit, values, values + COMMON, out, err);
}
