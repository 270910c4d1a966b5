// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/calibrate/micro_work.h"

#include <string.h>

#include "graphs/tensorflow/tf_ops.h"
#include "graphs/tensorflow/tf_train.h"

enum { SMALL_ELEMENTS = 1 << 17, MOST_TERMS = 16 };

/* ---- where ops lie ----------------------------------------------------------------- */

/* Device d has the scope "d<d>", which ops keep in their names. */
const char *emp_micro_enter(emp_tf *tf, int32_t device)
{
    return emp_tf_reenter(tf, emp_tf_number(tf, "d%d/", device));
}

int32_t emp_micro_device_of(const char *name)
{
    return name[0] == 'd' && name[1] >= '0' && name[1] <= '9' ? name[1] - '0'
                                                              : EMP_MICRO_FIRST;
}

static emp_port variable_on(emp_tf *tf, const char *scope, const char *name,
                            emp_shape shape)
{
    return emp_tf_weights(tf, emp_tf_join(tf, scope, name, ""), shape, EMP_TF_INIT_ZEROS)
        .read;
}

/* Of the device whose scope is open, or of the first. */
static const char *scope_of_variables(const emp_tf *tf)
{
    return strncmp(tf->scope, "d2/", 3) == 0 ? "d2/" : "d1/";
}

static emp_port variable(emp_tf *tf, const char *name, emp_shape shape)
{
    return variable_on(tf, scope_of_variables(tf), name, shape);
}

/* Operand of repeat i. A large one is new each time, so that it comes from memory as in a step
 * that works on much; the small ones of all repeats are the same, so that they are near, as
 * what another op has just made. */
static void take_operand(emp_tf *tf, emp_port *port, const char *name, emp_shape shape,
                         int32_t i)
{
    if (i == 0 || emp_shape_elements(&shape) > SMALL_ELEMENTS)
        *port = variable(tf, name, shape);
}

static void add_target(emp_tf *tf, emp_port port)
{
    if (emp_tf_is_ok(tf)) emp_graph_builder_set_target(tf->builder, port.op);
}

/* ---- kinds of work ----------------------------------------------------------------- */

void emp_micro_products(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    bool      is_a = size[3] != 0, is_b = size[4] != 0;
    int64_t   m = size[0], n = size[1], k = size[2];
    emp_shape a = is_a ? EMP_SHAPE(k, m) : EMP_SHAPE(m, k);
    emp_shape b = is_b ? EMP_SHAPE(n, k) : EMP_SHAPE(k, n);
    emp_port  left, right;

    for (int32_t i = 0; i < repeats; i++) {
        take_operand(tf, &left, "a", a, i);
        take_operand(tf, &right, "b", b, i);
        add_target(tf, emp_tf_matmul(tf, "MatMul", left, right, is_a, is_b));
    }
}

void emp_micro_summed_products(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    emp_port x = variable(tf, "x", EMP_SHAPE(size[2], size[0]));
    emp_port y = variable(tf, "y", EMP_SHAPE(size[2], size[1]));
    emp_port term[MOST_TERMS];

    for (int32_t i = 0; i < repeats; i++)
        term[i] = emp_tf_matmul(tf, "MatMul", x, y, true, false);
    add_target(tf, emp_tf_op(tf, "AddN", NULL, NULL, term, repeats));
}

void emp_micro_convolutions(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    int32_t      stride = (int32_t)size[5];
    int64_t      out_side = (size[1] + stride - 1) / stride;
    emp_shape    image = EMP_SHAPE(size[0], size[1], size[1], size[2]);
    emp_shape    filter = EMP_SHAPE(size[3], size[3], size[2], size[4]);
    emp_shape    out = EMP_SHAPE(size[0], out_side, out_side, size[4]);
    emp_port     x, y, w = variable(tf, "w", filter);
    emp_op_attrs attrs = {.padding_is_same = true, .strides = {1, stride, stride, 1}};

    for (int32_t i = 0; i < repeats; i++) {
        take_operand(tf, &x, "x", image, i);
        take_operand(tf, &y, "y", out, i);
        if (size[6] == 0)
            add_target(tf, emp_tf_op(tf, "Conv2D", NULL, &attrs, EMP_TF_PORTS(x, w)));
        if (size[6] == 1) {
            emp_port sizes = emp_tf_dims(tf, NULL, "sizes", &image);
            add_target(tf, emp_tf_op(tf, "Conv2DBackpropInput", NULL, &attrs,
                                     EMP_TF_PORTS(sizes, w, y)));
        }
        if (size[6] == 2) {
            emp_port sizes = emp_tf_dims(tf, NULL, "sizes", &filter);
            add_target(tf, emp_tf_op(tf, "Conv2DBackpropFilter", NULL, &attrs,
                                     EMP_TF_PORTS(x, sizes, y)));
        }
    }
}

static void unary(emp_tf *tf, const char *type, int64_t n, int32_t repeats)
{
    emp_port x;

    for (int32_t i = 0; i < repeats; i++) {
        take_operand(tf, &x, "x", EMP_SHAPE(n), i);
        add_target(tf, emp_tf_op1(tf, type, NULL, x));
    }
}

void emp_micro_additions(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    emp_port x, y;

    for (int32_t i = 0; i < repeats; i++) {
        take_operand(tf, &x, "x", EMP_SHAPE(size[0]), i);
        take_operand(tf, &y, "y", EMP_SHAPE(size[0]), i);
        add_target(tf, emp_tf_op2(tf, "Add", NULL, x, y));
    }
}

void emp_micro_inverses(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    unary(tf, "Inv", size[0], repeats);
}

void emp_micro_logarithms(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    unary(tf, "Log", size[0], repeats);
}

void emp_micro_sums(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    emp_port x;

    for (int32_t i = 0; i < repeats; i++) {
        take_operand(tf, &x, "x", EMP_SHAPE(size[0], size[1]), i);
        add_target(tf, emp_tf_reduce(tf, "Sum", NULL, x, &size[2], 1, false));
    }
}

void emp_micro_transpositions(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    const int64_t order[] = {1, 0};
    emp_port      x;

    for (int32_t i = 0; i < repeats; i++) {
        take_operand(tf, &x, "x", EMP_SHAPE(size[0], size[1]), i);
        add_target(tf, emp_tf_transpose(tf, x, order, 2));
    }
}

void emp_micro_joints(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    emp_port x, y;

    for (int32_t i = 0; i < repeats; i++) {
        take_operand(tf, &x, "x", EMP_SHAPE(size[0], size[1]), i);
        take_operand(tf, &y, "y", EMP_SHAPE(size[0], size[1]), i);
        add_target(tf, emp_tf_concat(tf, NULL, EMP_TF_PORTS(x, y), 1));
    }
}

void emp_micro_pools(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    int32_t      window = (int32_t)size[3], stride = (int32_t)size[4];
    int64_t      side = (size[1] + stride - 1) / stride;
    emp_shape    image = EMP_SHAPE(size[0], size[1], size[1], size[2]);
    emp_port     x, y;
    emp_op_attrs attrs = {.padding_is_same = true,
                          .strides = {1, stride, stride, 1},
                          .ksize = {1, window, window, 1}};

    for (int32_t i = 0; i < repeats; i++) {
        take_operand(tf, &x, "x", image, i);
        take_operand(tf, &y, "y", EMP_SHAPE(size[0], side, side, size[2]), i);
        if (size[5] == 0)
            add_target(tf, emp_tf_op(tf, "MaxPool", NULL, &attrs, EMP_TF_PORTS(x)));
        if (size[5] == 1)
            add_target(tf,
                       emp_tf_op(tf, "MaxPoolGrad", NULL, &attrs, EMP_TF_PORTS(x, y, y)));
        if (size[5] == 2) {
            emp_port sizes = emp_tf_dims(tf, NULL, "sizes", &image);
            add_target(
                tf, emp_tf_op(tf, "AvgPoolGrad", NULL, &attrs, EMP_TF_PORTS(sizes, y)));
        }
    }
}

void emp_micro_norms(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    emp_shape shape = EMP_SHAPE(size[0], size[1], size[1], size[2]);
    emp_port  x, y, c = variable(tf, "c", EMP_SHAPE(size[2]));

    for (int32_t i = 0; i < repeats; i++) {
        take_operand(tf, &x, "x", shape, i);
        take_operand(tf, &y, "y", shape, i);
        add_target(tf, size[3] != 0 ? emp_tf_op(tf, "FusedBatchNormGrad", NULL, NULL,
                                                EMP_TF_PORTS(y, x, c, c, c))
                                    : emp_tf_op(tf, "FusedBatchNorm", NULL, NULL,
                                                EMP_TF_PORTS(x, c, c, c, c)));
    }
}

void emp_micro_softmaxes(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    emp_port x, y;

    for (int32_t i = 0; i < repeats; i++) {
        take_operand(tf, &x, "x", EMP_SHAPE(size[0], size[1]), i);
        take_operand(tf, &y, "y", EMP_SHAPE(size[0], size[1]), i);
        add_target(tf, size[2] != 0
                           ? emp_tf_op2(tf, "SoftmaxCrossEntropyWithLogits", NULL, x, y)
                           : emp_tf_op1(tf, "Softmax", NULL, x));
    }
}

void emp_micro_updates(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    static const char *const name[] = {"w", "m", "v"};
    emp_shape                shape = EMP_SHAPE(size[0]);
    emp_port                 g, r = variable(tf, "rate", EMP_SHAPE_SCALAR);

    for (int32_t i = 0; i < repeats; i++) {
        emp_port ref[3];
        take_operand(tf, &g, "g", shape, i);
        for (int32_t k = 0; k < (size[1] != 0 ? 3 : 1); k++)
            ref[k] =
                emp_tf_weights(tf, emp_tf_join(tf, scope_of_variables(tf), name[k], ""),
                               shape, EMP_TF_INIT_ZEROS)
                    .ref;
        add_target(tf, size[1] != 0 ? emp_tf_op(tf, "ApplyAdam", NULL, NULL,
                                                EMP_TF_PORTS(ref[0], ref[1], ref[2], r, r,
                                                             r, r, r, r, g))
                                    : emp_tf_op(tf, "ApplyGradientDescent", NULL, NULL,
                                                EMP_TF_PORTS(ref[0], r, g)));
    }
}

void emp_micro_chain(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    emp_port    x = variable(tf, "x", EMP_SHAPE(16));
    const char *outer = emp_micro_enter(tf, (int32_t)size[0]);

    x = emp_tf_op1(tf, "Neg", NULL, x);
    for (int32_t i = 0; i < repeats; i++)
        x = emp_tf_op1(tf, size[1] != 0 ? "Identity" : "Neg", NULL, x);
    emp_tf_leave(tf, outer);
    add_target(tf, x);
}

void emp_micro_crossings(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    emp_port x = variable(tf, "x", EMP_SHAPE(size[0]));

    for (int64_t c = 0; c < size[3]; c++) {
        emp_port y = x;
        for (int32_t i = 0; i < repeats; i++) {
            int32_t     side = (int32_t)size[1 + (i + c + 1) % 2];
            const char *outer = emp_micro_enter(tf, side);
            y = emp_tf_op1(tf, size[4] != 0 ? "Identity" : "Neg", NULL, y);
            emp_tf_leave(tf, outer);
        }
        add_target(tf, y);
    }
}

/* Products that follow each other on one device. */
static void product_chain(emp_tf *tf, int32_t device, int64_t side, int32_t count)
{
    const char *outer = emp_micro_enter(tf, device);
    emp_port    x = variable(tf, "p", EMP_SHAPE(side, side)), w = x;

    for (int32_t i = 0; i < count; i++)
        x = emp_tf_matmul(tf, "MatMul", x, w, false, false);
    emp_tf_leave(tf, outer);
    add_target(tf, x);
}

void emp_micro_busy_copies(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    product_chain(tf, EMP_MICRO_FIRST, size[1], (int32_t)size[2]);
    product_chain(tf, EMP_MICRO_SECOND, size[1], (int32_t)size[2]);
    for (int32_t i = 0; i < 2 * repeats; i++) {
        emp_port x = variable_on(tf, i % 2 == 0 ? "d1/" : "d0/", "x", EMP_SHAPE(size[0]));
        const char *outer = emp_micro_enter(tf, EMP_MICRO_SECOND);
        add_target(tf, emp_tf_op1(tf, "Neg", NULL, x));
        emp_tf_leave(tf, outer);
    }
}

void emp_micro_busy_host(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    const int64_t on_host[] = {EMP_MICRO_HOST, 0};

    product_chain(tf, EMP_MICRO_FIRST, size[0], repeats);
    emp_micro_chain(tf, on_host, repeats);
}
