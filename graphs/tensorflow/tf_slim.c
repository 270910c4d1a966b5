// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/tensorflow/tf_slim.h"

#include "graphs/tensorflow/tf_ops.h"

emp_tf_slim_scope emp_tf_slim_enter(emp_tf_slim *s, const char *name)
{
    emp_tf_slim_scope previous = {emp_tf_enter(s->tf, name), s->variables};

    s->variables = emp_tf_join(s->tf, s->variables, name, "/");
    return previous;
}

void emp_tf_slim_leave(emp_tf_slim *s, emp_tf_slim_scope previous)
{
    emp_tf_leave(s->tf, previous.ops);
    s->variables = previous.variables;
}

static emp_tf_variable get_variable(emp_tf_slim *s, const char *name, emp_shape shape,
                                    emp_tf_initializer initializer, bool is_trainable)
{
    return emp_tf_get_variable(s->tf, emp_tf_join(s->tf, s->variables, name, ""),
                               EMP_DTYPE_FLOAT, shape, initializer, is_trainable);
}

/* ---- batch norm -------------------------------------------------------------------- */

typedef struct {
    emp_tf_variable beta, gamma, mean, variance;
} batch_norm;

/* tf.contrib's moving_averages.assign_moving_average(). The layers API's variant reads the
 * average afresh and shares one decay constant; here \a decay is EMP_TF_NONE otherwise. */
static void assign_moving_average(emp_tf_slim *s, const emp_tf_variable *average,
                                  emp_port value, emp_port decay)
{
    emp_tf     *tf = s->tf;
    bool        is_fused = decay.op >= 0;
    const char *full = emp_tf_unique(tf, "AssignMovingAvg");
    const char *outer = emp_tf_reenter(tf, emp_tf_join(tf, full, "/", ""));
    emp_port    read = average->read;

    if (is_fused)
        read = emp_tf_op1(tf, "Identity", "read", average->ref);
    else
        decay = emp_tf_float(tf, NULL, "decay", 0.0);
    emp_port change = emp_tf_op2(tf, "Sub", is_fused ? NULL : "sub", read, value);
    change = emp_tf_op2(tf, "Mul", is_fused ? NULL : "mul", change, decay);
    s->updates[s->update_count++] =
        emp_tf_emit(tf, full, "AssignSub", NULL, EMP_TF_PORTS(average->ref, change)).op;
    emp_tf_leave(tf, outer);
}

/* x * inv + (beta - mean * inv) with inv = gamma / sqrt(variance + epsilon). */
static emp_port normalize(emp_tf *tf, emp_port x, emp_port mean, emp_port variance,
                          const batch_norm *bn, bool has_gamma)
{
    const char *outer = emp_tf_enter(tf, "batchnorm");
    emp_port    inverse = emp_tf_op_y(tf, "Add", "add", variance, 0.001);

    inverse = emp_tf_op1(tf, "Rsqrt", NULL, inverse);
    if (has_gamma) inverse = emp_tf_op2(tf, "Mul", "mul", inverse, bn->gamma.read);
    emp_port scaled = emp_tf_op2(tf, "Mul", "mul", x, inverse);
    emp_port shift = emp_tf_op2(tf, "Mul", "mul", mean, inverse);
    shift = emp_tf_op2(tf, "Sub", "sub", bn->beta.read, shift);
    scaled = emp_tf_op2(tf, "Add", "add", scaled, shift);
    emp_tf_leave(tf, outer);
    return scaled;
}

/* tf.nn.moments over batch and space. */
static void moments(emp_tf *tf, emp_port x, emp_port *mean, emp_port *variance)
{
    static const int64_t axes[] = {0, 1, 2};
    const uint32_t       kept = 1U << 0 | 1U << 1 | 1U << 2;
    const char          *outer = emp_tf_enter(tf, "moments");

    *mean = emp_tf_reduce(tf, "Mean", "mean", x, axes, 3, true);
    emp_port fixed = emp_tf_op1(tf, "StopGradient", NULL, *mean);
    *variance = emp_tf_op2(tf, "SquaredDifference", NULL, x, fixed);
    *variance = emp_tf_reduce(tf, "Mean", "variance", *variance, axes, 3, true);
    *mean = emp_tf_squeeze(tf, NULL, *mean, kept);
    *variance = emp_tf_squeeze(tf, NULL, *variance, kept);
    emp_tf_leave(tf, outer);
}

static void create_averages(emp_tf_slim *s, emp_shape channels, batch_norm *bn)
{
    bn->mean = get_variable(s, "moving_mean", channels, EMP_TF_INIT_ZEROS, false);
    bn->variance = get_variable(s, "moving_variance", channels, EMP_TF_INIT_ONES, false);
}

static emp_port unfused_batch_norm(emp_tf_slim *s, emp_port x, emp_shape channels)
{
    batch_norm bn = {.beta = get_variable(s, "beta", channels, EMP_TF_INIT_ZEROS, true)};
    emp_port   mean, variance;

    if (s->batch_norm_scale) {
        bn.gamma = get_variable(s, "gamma", channels, EMP_TF_INIT_ONES, true);
    }
    create_averages(s, channels, &bn);
    moments(s->tf, x, &mean, &variance);
    assign_moving_average(s, &bn.mean, mean, EMP_TF_NONE);
    assign_moving_average(s, &bn.variance, variance, EMP_TF_NONE);
    return normalize(s->tf, x, mean, variance, &bn, s->batch_norm_scale);
}

static emp_port fused_batch_norm(emp_tf_slim *s, emp_port x, emp_shape channels)
{
    emp_tf    *tf = s->tf;
    batch_norm bn;
    emp_port   gamma;

    if (s->batch_norm_scale) {
        gamma = get_variable(s, "gamma", channels, EMP_TF_INIT_ONES, true).read;
    } else {
        gamma = emp_tf_const(tf, NULL, "Const", EMP_DTYPE_FLOAT, channels, NULL, 0);
    }
    bn.beta = get_variable(s, "beta", channels, EMP_TF_INIT_ZEROS, true);
    create_averages(s, channels, &bn);
    emp_port none[2];
    for (int32_t i = 0; i < 2; i++) {
        none[i] = emp_tf_const(tf, NULL, "Const", EMP_DTYPE_FLOAT, EMP_SHAPE(0), NULL, 0);
    }
    x = emp_tf_op(tf, "FusedBatchNorm", NULL, NULL,
                  EMP_TF_PORTS(x, gamma, bn.beta.read, none[0], none[1]));
    emp_port decay = emp_tf_float(tf, NULL, "Const", 0.003);
    assign_moving_average(s, &bn.mean, (emp_port){x.op, 1}, decay);
    assign_moving_average(s, &bn.variance, (emp_port){x.op, 2}, decay);
    return x;
}

static emp_port add_batch_norm(emp_tf_slim *s, const char *name, emp_port x,
                               bool with_relu)
{
    emp_shape         channels = EMP_SHAPE(emp_tf_shape(s->tf, x).dim[3]);
    emp_tf_slim_scope outer = emp_tf_slim_enter(s, name);

    x = s->fused_batch_norm ? fused_batch_norm(s, x, channels)
                            : unfused_batch_norm(s, x, channels);
    if (with_relu) x = emp_tf_op1(s->tf, "Relu", NULL, x);
    emp_tf_slim_leave(s, outer);
    return x;
}

emp_port emp_tf_slim_batch_norm_relu(emp_tf_slim *s, const char *name, emp_port x)
{
    return add_batch_norm(s, name, x, true);
}

/* ---- convolution and pooling ------------------------------------------------------- */

static void regularize(emp_tf_slim *s, emp_port weights)
{
    emp_tf     *tf = s->tf;
    const char *full = emp_tf_unique(tf, "kernel/Regularizer/l2_regularizer");
    const char *outer = emp_tf_reenter(tf, emp_tf_join(tf, full, "/", ""));
    emp_port    scale = emp_tf_float(tf, NULL, "scale", 0.0);
    emp_port    norm = emp_tf_op1(tf, "L2Loss", NULL, weights);

    s->regularizers[s->regularizer_count++] =
        emp_tf_emit(tf, full, "Mul", NULL, EMP_TF_PORTS(scale, norm));
    emp_tf_leave(tf, outer);
}

emp_port emp_tf_slim_conv2d(emp_tf_slim *s, const char *name, emp_port x,
                            emp_tf_conv conv)
{
    emp_tf           *tf = s->tf;
    int64_t           channels = emp_tf_shape(tf, x).dim[3];
    emp_tf_slim_scope outer = emp_tf_slim_enter(s, name);
    emp_op_attrs      attrs = {.strides = {1, conv.stride, conv.stride, 1},
                               .padding_is_same = conv.is_same};
    emp_tf_variable   biases = {0};

    emp_tf_variable weights = get_variable(
        s, "weights", EMP_SHAPE(conv.height, conv.width, channels, conv.filters),
        EMP_TF_INIT_NORMAL, true);
    if (conv.kind == EMP_TF_CONV_BIAS) {
        biases =
            get_variable(s, "biases", EMP_SHAPE(conv.filters), EMP_TF_INIT_ZEROS, true);
    }
    emp_tf_ints(tf, NULL, "dilation_rate", (int64_t[]){1, 1}, 2);
    regularize(s, weights.read);
    x = emp_tf_op(tf, "Conv2D", NULL, &attrs, EMP_TF_PORTS(x, weights.read));
    if (conv.kind == EMP_TF_CONV_BIAS) {
        x = emp_tf_op2(tf, "BiasAdd", NULL, x, biases.read);
    } else {
        x = add_batch_norm(s, "BatchNorm", x, false);
    }
    if (conv.kind == EMP_TF_CONV_BN_RELU) x = emp_tf_op1(tf, "Relu", NULL, x);
    emp_tf_slim_leave(s, outer);
    return x;
}

emp_port emp_tf_slim_pool(emp_tf_slim *s, const char *name, const char *type, emp_port x,
                          emp_tf_conv window)
{
    emp_op_attrs attrs = {.ksize = {1, window.height, window.width, 1},
                          .strides = {1, window.stride, window.stride, 1},
                          .padding_is_same = window.is_same};
    const char  *outer = emp_tf_enter(s->tf, name);

    x = emp_tf_op(s->tf, type, NULL, &attrs, &x, 1);
    emp_tf_leave(s->tf, outer);
    return x;
}

void emp_tf_slim_predictions(emp_tf_slim *s, const char *name, emp_port logits)
{
    emp_tf     *tf = s->tf;
    emp_shape   shape = emp_tf_shape(tf, logits);
    const char *outer = emp_tf_enter(tf, name);
    emp_port flat = emp_tf_reshape(tf, logits, EMP_SHAPE(-1, shape.dim[shape.rank - 1]));

    flat = emp_tf_op1(tf, "Softmax", NULL, flat);
    emp_tf_reshape_to(tf, flat, emp_tf_shape_of(tf, logits));
    emp_tf_leave(tf, outer);
}

/* tf.losses: most of their ops check at run time what is known here, that one scalar
 * weight fits all losses. */

/* weights_broadcast_ops.assert_broadcastable() of a scalar: static shapes suffice. */
static emp_op_id assert_broadcastable(emp_tf *tf, bool convert_weight, emp_port values)
{
    emp_shape   scalar = EMP_SHAPE_SCALAR, shape = emp_tf_shape(tf, values);
    const char *outer = emp_tf_enter(tf, "assert_broadcastable");

    if (convert_weight) emp_tf_float(tf, NULL, "weights", 1.0);
    emp_tf_dims(tf, NULL, "weights/shape", &scalar);
    emp_tf_int(tf, NULL, "weights/rank", 0);
    emp_tf_dims(tf, NULL, "values/shape", &shape);
    emp_tf_int(tf, NULL, "values/rank", shape.rank);
    emp_op_id check = emp_tf_group(tf, "static_scalar_check_success", NULL, 0);
    emp_tf_leave(tf, outer);
    return check;
}

/* How many losses have a weight other than 0. */
static emp_port num_present(emp_tf *tf, emp_port losses, emp_port weight)
{
    const char *full = emp_tf_unique(tf, "num_present");
    const char *outer = emp_tf_reenter(tf, emp_tf_join(tf, full, "/", ""));
    emp_port    is_zero = emp_tf_op_y(tf, "Equal", "Equal", weight, 0.0);
    emp_port    zeros = emp_tf_zeros_like(tf, weight);
    emp_port    ones = emp_tf_ones_like(tf, weight);
    emp_port    present =
        emp_tf_op(tf, "Select", NULL, NULL, EMP_TF_PORTS(is_zero, zeros, ones));

    const char *spread = emp_tf_unique(tf, "broadcast_weights");
    const char *inner = emp_tf_reenter(tf, emp_tf_join(tf, spread, "/", ""));
    emp_op_id   check = assert_broadcastable(tf, false, losses);
    emp_tf_begin_controls(tf, &check, 1);
    ones = emp_tf_ones_like(tf, losses);
    emp_tf_end_controls(tf);
    present = emp_tf_emit(tf, spread, "Mul", NULL, EMP_TF_PORTS(present, ones));
    emp_tf_leave(tf, inner);
    emp_port axes = emp_tf_ints(tf, NULL, "Const", (int64_t[]){0}, 1);
    present = emp_tf_emit(tf, full, "Sum", NULL, EMP_TF_PORTS(present, axes));
    emp_tf_leave(tf, outer);
    return present;
}

/* total / present, or 0 if none is present. */
static emp_port safe_mean(emp_tf *tf, emp_port total, emp_port present)
{
    emp_port some = emp_tf_op_y(tf, "Greater", "Greater", present, 0.0);
    emp_port none = emp_tf_op_y(tf, "Equal", "Equal", present, 0.0);
    emp_port one = emp_tf_ones_like(tf, present);
    emp_port divisor =
        emp_tf_op(tf, "Select", NULL, NULL, EMP_TF_PORTS(none, one, present));
    emp_port mean = emp_tf_op2(tf, "RealDiv", "div", total, divisor);
    emp_port zero = emp_tf_zeros_like(tf, mean);

    return emp_tf_op(tf, "Select", "value", NULL, EMP_TF_PORTS(some, mean, zero));
}

/* tf.losses.compute_weighted_loss(); \a weight EMP_TF_NONE: still a Python number. */
static emp_port weighted_loss(emp_tf *tf, emp_port losses, emp_port weight)
{
    bool      convert = weight.op < 0;
    emp_op_id check = assert_broadcastable(tf, convert, losses);

    emp_tf_begin_controls(tf, &check, 1);
    if (convert) weight = emp_tf_float(tf, NULL, "ToFloat_1/x", 1.0);
    emp_port total = emp_tf_op2(tf, "Mul", NULL, losses, weight);
    total = emp_tf_reduce_all(tf, "Sum", NULL, total);
    emp_port present = num_present(tf, losses, weight);
    total = emp_tf_reduce_all(tf, "Sum", NULL, total);
    total = safe_mean(tf, total, present);
    emp_tf_end_controls(tf);
    return total;
}

/* onehot * (1 - smoothing) + smoothing / classes */
static emp_port smooth(emp_tf *tf, emp_port onehot, double smoothing)
{
    emp_tf_range second = {.begin = 1, .end = 2, .shrink = true};
    emp_port     classes = emp_tf_strided_slice(tf, emp_tf_shape_of(tf, onehot), second);

    classes = emp_tf_cast(tf, "Cast_1", classes, EMP_DTYPE_FLOAT);
    emp_port negatives = emp_tf_x_op(tf, "RealDiv", "truediv", smoothing, classes);
    emp_port positives = emp_tf_op_y(tf, "Mul", "mul", onehot, 1.0 - smoothing);
    return emp_tf_op2(tf, "Add", "add", positives, negatives);
}

void emp_tf_slim_softmax_loss(emp_tf_slim *s, emp_port onehot, emp_port logits)
{
    emp_tf     *tf = s->tf;
    const char *outer = emp_tf_enter(tf, "softmax_cross_entropy_loss");
    emp_port    labels = smooth(tf, onehot, 0.1);
    emp_port    losses = emp_tf_softmax_cross_entropy(tf, "xentropy", labels, logits);

    s->losses[s->loss_count++] = weighted_loss(tf, losses, EMP_TF_NONE);
    emp_tf_leave(tf, outer);
}

void emp_tf_slim_sparse_softmax_loss(emp_tf_slim *s, emp_port labels, emp_port logits)
{
    emp_tf     *tf = s->tf;
    const char *outer = emp_tf_enter(tf, "sparse_softmax_cross_entropy_loss");
    emp_port    weight = emp_tf_float(tf, NULL, "Const", 1.0);
    emp_port losses = emp_tf_sparse_softmax_cross_entropy(tf, "xentropy", labels, logits);

    s->losses[s->loss_count++] = weighted_loss(tf, losses, weight);
    emp_tf_leave(tf, outer);
}

void emp_tf_slim_train(emp_tf_slim *s, const emp_tf_variable *global_step,
                       emp_tf_optimizer optimizer, bool has_saver)
{
    emp_tf *tf = s->tf;

    for (int32_t i = 0; i < s->regularizer_count; i++) {
        s->losses[s->loss_count++] = s->regularizers[i];
    }
    emp_op_attrs attrs = {.count = s->loss_count};
    emp_port     total =
        emp_tf_op(tf, "AddN", "total_loss", &attrs, s->losses, s->loss_count);
    s->updates[s->update_count++] =
        emp_tf_minimize(tf, total, global_step, optimizer, 0.0);
    emp_tf_begin_controls(tf, s->updates, s->update_count);
    emp_port train_op = emp_tf_op1(tf, "Identity", "train_op", total);
    emp_tf_end_controls(tf);
    emp_tf_add_init_and_saver(tf, has_saver);
    emp_tf_set_target(tf, train_op.op);
}
