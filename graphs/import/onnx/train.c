// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/onnx/lower.h"

#include <string.h>

#include "graphs/tensorflow/tf_ops.h"
#include "graphs/tensorflow/tf_train.h"

static bool is_float(emp_dtype dtype)
{
    return dtype == EMP_DTYPE_FLOAT || dtype == EMP_DTYPE_HALF ||
           dtype == EMP_DTYPE_BFLOAT16 || dtype == EMP_DTYPE_DOUBLE;
}

/* The first output of floating point that an op makes, and its name. */
static emp_port find_prediction(emp_onnx *o, const emp_onnx_scope *scope,
                                const emp_onnx_graph *graph, emp_slice *name)
{
    for (int32_t i = 0; i < graph->outputs.count; i++) {
        emp_onnx_info info;
        if (emp_onnx_info_read(&info, graph->outputs.item[i], NULL) != EMP_OK) continue;
        const emp_onnx_value *value = emp_onnx_find(scope, info.name);
        *name = info.name;
        if (value != NULL && value->port.op >= 0 && is_float(value->dtype))
            return value->port;
    }
    (void)o;
    return EMP_TF_NONE;
}

/* What goes into a last softmax or sigmoid: the losses have these of their own. */
static emp_port logits_of(emp_tf *tf, emp_port y)
{
    static const char *const last[] = {"Softmax", "LogSoftmax", "Sigmoid"};
    const char              *type = emp_graph_builder_type(tf->builder, y.op);

    for (size_t i = 0; i < sizeof last / sizeof last[0]; i++)
        if (strcmp(type, last[i]) == 0)
            return emp_graph_builder_input(tf->builder, y.op, 0);
    return y;
}

/* softplus(x) - x z for labels z. */
static emp_port binary_cross_entropy(emp_tf *tf, emp_port x)
{
    emp_port z =
        emp_tf_placeholder(tf, "labels", emp_tf_dtype(tf, x), emp_tf_shape(tf, x));
    emp_port product = emp_tf_op2(tf, "Mul", NULL, x, z);

    return emp_tf_op2(tf, "Sub", NULL, emp_tf_op1(tf, "Softplus", NULL, x), product);
}

static emp_port squared_error(emp_tf *tf, emp_port x)
{
    emp_port z =
        emp_tf_placeholder(tf, "labels", emp_tf_dtype(tf, x), emp_tf_shape(tf, x));

    return emp_tf_op2(tf, "SquaredDifference", NULL, x, z);
}

static emp_port cross_entropy(emp_tf *tf, emp_port x)
{
    emp_shape shape = emp_tf_shape(tf, x);
    int64_t   classes = shape.dim[shape.rank - 1];
    int64_t   rows = classes > 0 ? emp_shape_elements(&shape) / classes : 0;
    emp_port  labels = emp_tf_placeholder(tf, "labels", EMP_DTYPE_INT64, EMP_SHAPE(rows));

    if (shape.rank != 2) x = emp_tf_reshape(tf, NULL, x, EMP_SHAPE(rows, classes));
    return emp_tf_op2(tf, "SparseSoftmaxCrossEntropyWithLogits", NULL, x, labels);
}

static emp_port add_loss(emp_onnx *o, emp_port y, emp_slice name)
{
    emp_tf     *tf = o->tf;
    emp_port    x = logits_of(tf, y), each;
    emp_shape   shape = emp_tf_shape(tf, x);
    const char *what, *outer = emp_tf_enter(tf, "loss");

    if (shape.rank >= 4) {
        what = "the mean squared error";
        each = squared_error(tf, x);
    } else if (shape.rank < 2 || shape.dim[shape.rank - 1] < 2) {
        what = "the binary cross entropy";
        each = binary_cross_entropy(tf, x);
    } else {
        what = "the cross entropy over the last dim";
        each = cross_entropy(tf, x);
    }
    emp_port loss = emp_tf_reduce_all(tf, "Mean", NULL, each);
    emp_tf_leave(tf, outer);
    emp_import_notes_assume(o->notes, "the loss is %s of the output \"%.*s\"", what,
                            EMP_SLICE_ARG(name));
    return loss;
}

static bool read_optimizer(const char *word, emp_tf_optimizer *optimizer)
{
    static const struct {
        const char      *word;
        emp_tf_optimizer optimizer;
    } words[] = {
        {"sgd", EMP_TF_SGD}, {"momentum", EMP_TF_MOMENTUM}, {"adam", EMP_TF_FUSED_ADAM}};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(words[i].word, word) != 0) continue;
        *optimizer = words[i].optimizer;
        return true;
    }
    return false;
}

emp_status emp_onnx_train(emp_onnx *o, const emp_onnx_scope *scope,
                          const emp_onnx_graph *graph, const char *word, emp_error *err)
{
    emp_tf          *tf = o->tf;
    emp_tf_optimizer optimizer = EMP_TF_SGD;
    emp_slice        name = {"", 0};
    emp_port         y = find_prediction(o, scope, graph, &name);
    int32_t          trained = 0;

    if (!read_optimizer(word, &optimizer))
        return EMP_ERROR(EMP_EINVAL, "an optimizer \"%s\"; there are sgd, momentum, adam",
                         word);
    for (int32_t i = 0; i < tf->variable_count; i++)
        trained += tf->variable[i].is_trainable;
    if (y.op < 0 || trained == 0)
        return EMP_ERROR(EMP_EFORMAT, "a model that cannot be trained: it has %s",
                         y.op < 0 ? "no output of floating point" : "no weights");
    tf->torch_gradients = true;
    emp_port  loss = add_loss(o, y, name);
    emp_op_id step = emp_tf_minimize(tf, loss, NULL, optimizer, 0.0);
    if (!emp_tf_is_ok(tf)) return EMP_ERROR(tf->status, "%s", tf->err->msg);
    emp_tf_set_target(tf, step);
    emp_tf_set_target(tf, loss.op);
    emp_import_notes_assume(o->notes,
                            "the training step is derived, not the file's: "
                            "gradients of %d weights, then %s",
                            trained, word);
    return EMP_OK;
}
