// SPDX-License-Identifier: GPL-3.0-or-later
/* tf.losses: most of their ops check at run time what is known here, that one scalar
 * weight fits all losses. */
#include "graphs/tensorflow/tf_ops.h"
#include "graphs/tensorflow/tf_slim.h"

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
