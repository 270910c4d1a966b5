// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/calibrate/micro.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "graphs/tensorflow/tf_graph.h"
#include "graphs/tensorflow/tf_ops.h"
#include "graphs/tensorflow/tf_train.h"

/* Kinds of work of micro-benchmarks: each adds ops of one kind to a graph and makes them targets.
 *
 * Ops on much data each have operands of their own; those on little share them. \a size has
 * eight numbers, unused ones 0; bool ones are 0 or 1. A failure stays in \a tf. */

/** Devices of a benchmark, by kind and number. */
enum { EMP_MICRO_HOST, EMP_MICRO_FIRST, EMP_MICRO_SECOND };

typedef void work(emp_tf *tf, const int64_t *size, int32_t repeats);

/* size: m, n, k, transposed a, transposed b */
static work products;
/* size: m, n, k. Gradients of weights, as an unrolled network has them, and their sum. */
static work summed_products;
/* size: images, side, channels, side of the filter, filters, stride, direction: result, gradient
 * of the image, of the filter */
static work convolutions;
/* size: elements */
static work additions, inverses, logarithms;
/* size: rows, columns, the axis that is summed over */
static work sums;
/* size: rows, columns */
static work transpositions, joints;
/* size: images, side, channels, window, stride, what: MaxPool, its gradient, AvgPool's */
static work pools;
/* size: images, side, channels, gradients instead */
static work norms;
/* size: rows, columns, with a loss */
static work softmaxes;
/* size: elements, Adam instead of plain descent */
static work updates;
/* size: device, without work. A chain, one after the other. */
static work chain;
/* size: elements, one device, the other, chains that run side by side, without work. Each op
 * reads what the other device made. */
static work crossings;
/* size: elements, side and number of products. Both groups multiply while the second one gets
 * tensors from the first, and as many from the host. */
static work busy_copies;
/* size: side of products. The host works beside the first group. */
static work busy_host;

enum { SMALL_ELEMENTS = 1 << 17, MOST_TERMS = 16 };

/* ---- where ops lie ----------------------------------------------------------------- */

/* Opens the scope "d<device>", by which the names of ops say where they run. \return what emp_tf_leave() takes. */
static const char *enter(emp_tf *tf, int32_t device)
{
    return emp_tf_reenter(tf, emp_tf_number(tf, "d%d/", device));
}

/* The device that an op's name says was entered, or the first GPU. */
static int32_t device_of(const char *name)
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

/* The scope of the variables of the device whose scope is open, or of the first device. */
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

static void products(emp_tf *tf, const int64_t *size, int32_t repeats)
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

static void summed_products(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    emp_port x = variable(tf, "x", EMP_SHAPE(size[2], size[0]));
    emp_port y = variable(tf, "y", EMP_SHAPE(size[2], size[1]));
    emp_port term[MOST_TERMS];

    for (int32_t i = 0; i < repeats; i++)
        term[i] = emp_tf_matmul(tf, "MatMul", x, y, true, false);
    add_target(tf, emp_tf_op(tf, "AddN", NULL, NULL, term, repeats));
}

static void convolutions(emp_tf *tf, const int64_t *size, int32_t repeats)
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

static void additions(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    emp_port x, y;

    for (int32_t i = 0; i < repeats; i++) {
        take_operand(tf, &x, "x", EMP_SHAPE(size[0]), i);
        take_operand(tf, &y, "y", EMP_SHAPE(size[0]), i);
        add_target(tf, emp_tf_op2(tf, "Add", NULL, x, y));
    }
}

static void inverses(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    unary(tf, "Inv", size[0], repeats);
}

static void logarithms(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    unary(tf, "Log", size[0], repeats);
}

static void sums(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    emp_port x;

    for (int32_t i = 0; i < repeats; i++) {
        take_operand(tf, &x, "x", EMP_SHAPE(size[0], size[1]), i);
        add_target(tf, emp_tf_reduce(tf, "Sum", NULL, x, &size[2], 1, false));
    }
}

static void transpositions(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    const int64_t order[] = {1, 0};
    emp_port      x;

    for (int32_t i = 0; i < repeats; i++) {
        take_operand(tf, &x, "x", EMP_SHAPE(size[0], size[1]), i);
        add_target(tf, emp_tf_transpose(tf, x, order, 2));
    }
}

static void joints(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    emp_port x, y;

    for (int32_t i = 0; i < repeats; i++) {
        take_operand(tf, &x, "x", EMP_SHAPE(size[0], size[1]), i);
        take_operand(tf, &y, "y", EMP_SHAPE(size[0], size[1]), i);
        add_target(tf, emp_tf_concat(tf, NULL, EMP_TF_PORTS(x, y), 1));
    }
}

static void pools(emp_tf *tf, const int64_t *size, int32_t repeats)
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

static void norms(emp_tf *tf, const int64_t *size, int32_t repeats)
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

static void softmaxes(emp_tf *tf, const int64_t *size, int32_t repeats)
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

static void updates(emp_tf *tf, const int64_t *size, int32_t repeats)
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

static void chain(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    emp_port    x = variable(tf, "x", EMP_SHAPE(16));
    const char *outer = enter(tf, (int32_t)size[0]);

    x = emp_tf_op1(tf, "Neg", NULL, x);
    for (int32_t i = 0; i < repeats; i++)
        x = emp_tf_op1(tf, size[1] != 0 ? "Identity" : "Neg", NULL, x);
    emp_tf_leave(tf, outer);
    add_target(tf, x);
}

static void crossings(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    emp_port x = variable(tf, "x", EMP_SHAPE(size[0]));

    for (int64_t c = 0; c < size[3]; c++) {
        emp_port y = x;
        for (int32_t i = 0; i < repeats; i++) {
            int32_t     side = (int32_t)size[1 + (i + c + 1) % 2];
            const char *outer = enter(tf, side);
            y = emp_tf_op1(tf, size[4] != 0 ? "Identity" : "Neg", NULL, y);
            emp_tf_leave(tf, outer);
        }
        add_target(tf, y);
    }
}

/* Products that follow each other on one device. */
static void product_chain(emp_tf *tf, int32_t device, int64_t side, int32_t count)
{
    const char *outer = enter(tf, device);
    emp_port    x = variable(tf, "p", EMP_SHAPE(side, side)), w = x;

    for (int32_t i = 0; i < count; i++)
        x = emp_tf_matmul(tf, "MatMul", x, w, false, false);
    emp_tf_leave(tf, outer);
    add_target(tf, x);
}

static void busy_copies(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    product_chain(tf, EMP_MICRO_FIRST, size[1], (int32_t)size[2]);
    product_chain(tf, EMP_MICRO_SECOND, size[1], (int32_t)size[2]);
    for (int32_t i = 0; i < 2 * repeats; i++) {
        emp_port x = variable_on(tf, i % 2 == 0 ? "d1/" : "d0/", "x", EMP_SHAPE(size[0]));
        const char *outer = enter(tf, EMP_MICRO_SECOND);
        add_target(tf, emp_tf_op1(tf, "Neg", NULL, x));
        emp_tf_leave(tf, outer);
    }
}

static void busy_host(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    const int64_t on_host[] = {EMP_MICRO_HOST, 0};

    product_chain(tf, EMP_MICRO_FIRST, size[0], repeats);
    chain(tf, on_host, repeats);
}

/* One benchmark: what is built, of which sizes, how often. */
struct entry {
    const char *name;
    work       *build;
    int64_t     size[8];
    int32_t     repeats;
};

/* For sizes: whether devices work at once, because it is built twice, for both groups, or by itself. */
enum { AT_ONCE = 7, TWICE = 1, ITSELF = 2 };

/* ---- the lists --------------------------------------------------------------------- */

enum { KIB = 1 << 10, MIB = 1 << 20 };

static const struct entry of_cores[] = {
    {"product 128x128x128", products, {128, 128, 128}, 200},
    {"product 384x384x384", products, {384, 384, 384}, 40},
    {"product 1024x1024x1024", products, {1024, 1024, 1024}, 8},
    {"product 16x1536x768", products, {16, 1536, 768}, 50},
    {"product 48x1536x768", products, {48, 1536, 768}, 50},
    {"product 48x768x1536 B'", products, {48, 768, 1536, 0, 1}, 50},
    {"product 48x96x96", products, {48, 96, 96}, 400},
    {"product 640x6000x256", products, {640, 6000, 256}, 10},
    {"product 256x6000x640 A'", products, {256, 6000, 640, 1, 0}, 10},
    {"10 products 768x1536x48 A', sum", summed_products, {768, 1536, 48}, 10},
    {"conv 3x3 48", convolutions, {4, 40, 48, 3, 48, 1, 0}, 20},
    {"conv 3x3 48 input", convolutions, {4, 40, 48, 3, 48, 1, 1}, 20},
    {"conv 3x3 48 filter", convolutions, {4, 40, 48, 3, 48, 1, 2}, 20},
    {"conv 3x3 160", convolutions, {4, 16, 160, 3, 160, 1, 0}, 20},
    {"conv 3x3 160 filter", convolutions, {4, 16, 160, 3, 160, 1, 2}, 20},
    {"conv 5x5/2 24", convolutions, {4, 64, 24, 5, 40, 2, 0}, 20},
    {"add 24 Ki", additions, {24 * KIB}, 400},
    {"add 512 Ki", additions, {512 * KIB}, 60},
    {"add 5 Mi", additions, {5 * MIB}, 10},
    {"inverse 64 Ki", inverses, {64 * KIB}, 200},
    {"inverse 5 Mi", inverses, {5 * MIB}, 12},
    {"logarithm 64 Ki", logarithms, {64 * KIB}, 100},
    {"logarithm 5 Mi", logarithms, {5 * MIB}, 8},
    {"sum of columns", sums, {1500, 1500, 0}, 40},
    {"sum of rows", sums, {1500, 1500, 1}, 40},
    {"transpose", transpositions, {1500, 1500}, 30},
    {"concat", joints, {500, 1500}, 40},
    {"concat small", joints, {48, 768}, 100},
    {"max pool", pools, {4, 48, 96, 3, 2, 0}, 60},
    {"max pool gradient", pools, {4, 48, 96, 3, 2, 1}, 20},
    {"average pool gradient", pools, {4, 24, 256, 3, 1, 2}, 20},
    {"batch norm", norms, {4, 48, 96, 0}, 60},
    {"batch norm gradient", norms, {4, 48, 96, 1}, 40},
    {"softmax", softmaxes, {300, 6000, 0}, 12},
    {"softmax with loss", softmaxes, {300, 6000, 1}, 10},
    {"descent", updates, {2 * MIB, 0}, 20},
    {"Adam", updates, {2 * MIB, 1}, 10},
    {"chain of 400", chain, {EMP_MICRO_FIRST, 0}, 400},
    {"chain of 400 without work", chain, {EMP_MICRO_FIRST, 1}, 400},
    {"chain of 400 on the host", chain, {EMP_MICRO_HOST, 0}, 400},
    {"one op", chain, {EMP_MICRO_FIRST, 0}, 0},
    {"copies of 4 KiB", crossings, {KIB, EMP_MICRO_FIRST, EMP_MICRO_SECOND, 1}, 100},
    {"copies of 1 MiB", crossings, {256 * KIB, EMP_MICRO_FIRST, EMP_MICRO_SECOND, 1}, 20},
    {"copies of 16 MiB", crossings, {4 * MIB, EMP_MICRO_FIRST, EMP_MICRO_SECOND, 1}, 4},
    {"copies from and to the host",
     crossings,
     {256 * KIB, EMP_MICRO_HOST, EMP_MICRO_FIRST, 1},
     20},
    {"copies both ways at once",
     crossings,
     {256 * KIB, EMP_MICRO_FIRST, EMP_MICRO_SECOND, 2, [AT_ONCE] = ITSELF},
     20},
    {"product 384x384x384, both", products, {384, 384, 384, [AT_ONCE] = TWICE}, 40},
    {"product 48x1536x768, both", products, {48, 1536, 768, [AT_ONCE] = TWICE}, 50},
    {"conv 3x3 48, both", convolutions, {4, 40, 48, 3, 48, 1, 0, [AT_ONCE] = TWICE}, 20},
    {"add 24 Ki, both", additions, {24 * KIB, [AT_ONCE] = TWICE}, 400},
    {"add 512 Ki, both", additions, {512 * KIB, [AT_ONCE] = TWICE}, 60},
    {"add 5 Mi, both", additions, {5 * MIB, [AT_ONCE] = TWICE}, 10},
    {"logarithm 64 Ki, both", logarithms, {64 * KIB, [AT_ONCE] = TWICE}, 100},
    {"Adam, both", updates, {2 * MIB, 1, [AT_ONCE] = TWICE}, 10},
    {"copies of 4 KiB, busy", busy_copies, {KIB, 128, 100, [AT_ONCE] = ITSELF}, 200},
    {"copies of 1 MiB, busy", busy_copies, {256 * KIB, 128, 150, [AT_ONCE] = ITSELF}, 40},
    {"host beside a group", busy_host, {128, [AT_ONCE] = ITSELF}, 300},
};

/* Each is long beside what issuing its ops takes, but for those that measure just that, and takes
 * at most 5 GiB of memory. */
static const struct entry of_gpus[] = {
    {"product 64x256x256", products, {64, 256, 256}, 200},
    {"product 256x256x256", products, {256, 256, 256}, 100},
    {"product 1024x1024x1024", products, {1024, 1024, 1024}, 40},
    {"product 2048x2048x2048", products, {2048, 2048, 2048}, 10},
    {"product 4096x4096x4096", products, {4096, 4096, 4096}, 3},
    {"product 64x4096x1024", products, {64, 4096, 1024}, 50},
    {"product 128x4096x2048", products, {128, 4096, 2048}, 50},
    {"product 64x1024x4096 B'", products, {64, 1024, 4096, 0, 1}, 50},
    {"product 512x32000x1024", products, {512, 32000, 1024}, 5},
    {"product 1024x4096x64 A'", products, {1024, 4096, 64, 1, 0}, 50},
    {"10 products 1024x4096x64 A', sum", summed_products, {1024, 4096, 64}, 10},
    {"conv 3x3 64", convolutions, {32, 56, 64, 3, 64, 1, 0}, 10},
    {"conv 3x3 64 input", convolutions, {32, 56, 64, 3, 64, 1, 1}, 10},
    {"conv 3x3 64 filter", convolutions, {32, 56, 64, 3, 64, 1, 2}, 10},
    {"conv 3x3 256", convolutions, {32, 14, 256, 3, 256, 1, 0}, 20},
    {"conv 3x3 256 input", convolutions, {32, 14, 256, 3, 256, 1, 1}, 20},
    {"conv 3x3 256 filter", convolutions, {32, 14, 256, 3, 256, 1, 2}, 20},
    {"conv 1x1 512", convolutions, {32, 28, 512, 1, 256, 1, 0}, 20},
    {"conv 1x1 512 input", convolutions, {32, 28, 512, 1, 256, 1, 1}, 20},
    {"conv 1x1 512 filter", convolutions, {32, 28, 512, 1, 256, 1, 2}, 20},
    {"conv 1x1 256", convolutions, {32, 14, 256, 1, 1024, 1, 0}, 20},
    {"conv 1x1 256 filter", convolutions, {32, 14, 256, 1, 1024, 1, 2}, 20},
    {"conv 5x5 64", convolutions, {32, 35, 64, 5, 96, 1, 0}, 10},
    {"conv 5x5 64 input", convolutions, {32, 35, 64, 5, 96, 1, 1}, 10},
    {"conv 5x5 64 filter", convolutions, {32, 35, 64, 5, 96, 1, 2}, 10},
    {"conv 3x3/2 128", convolutions, {32, 57, 128, 3, 128, 2, 0}, 10},
    {"conv 3x3/2 128 input", convolutions, {32, 57, 128, 3, 128, 2, 1}, 10},
    {"conv 3x3/2 128 filter", convolutions, {32, 57, 128, 3, 128, 2, 2}, 10},
    {"conv 7x7/2 3", convolutions, {32, 225, 3, 7, 64, 2, 0}, 10},
    {"add 64 Ki", additions, {64 * KIB}, 400},
    {"add 4 Mi", additions, {4 * MIB}, 40},
    {"add 64 Mi", additions, {64 * MIB}, 4},
    {"logarithm 4 Mi", logarithms, {4 * MIB}, 40},
    {"sum of columns", sums, {8192, 4096, 0}, 10},
    {"sum of rows", sums, {8192, 4096, 1}, 10},
    {"transpose", transpositions, {8192, 4096}, 10},
    {"concat", joints, {4096, 2048}, 20},
    {"max pool", pools, {32, 112, 64, 3, 2, 0}, 10},
    {"max pool gradient", pools, {32, 112, 64, 3, 2, 1}, 10},
    {"average pool gradient", pools, {32, 35, 288, 3, 1, 2}, 10},
    {"batch norm", norms, {32, 56, 256, 0}, 10},
    {"batch norm gradient", norms, {32, 56, 256, 1}, 10},
    {"softmax", softmaxes, {2560, 32000, 0}, 5},
    {"softmax with loss", softmaxes, {2560, 32000, 1}, 4},
    {"descent", updates, {16 * MIB, 0}, 20},
    {"Adam", updates, {16 * MIB, 1}, 8},
    {"chain of 400", chain, {EMP_MICRO_FIRST, 0}, 400},
    {"chain of 400 without work", chain, {EMP_MICRO_FIRST, 1}, 400},
    {"one op", chain, {EMP_MICRO_FIRST, 0}, 0},
    {"copies of 4 KiB", crossings, {KIB, EMP_MICRO_HOST, EMP_MICRO_FIRST, 1, 1}, 100},
    {"copies of 1 MiB",
     crossings,
     {256 * KIB, EMP_MICRO_HOST, EMP_MICRO_FIRST, 1, 1},
     20},
    {"copies of 16 MiB", crossings, {4 * MIB, EMP_MICRO_HOST, EMP_MICRO_FIRST, 1, 1}, 4},
    {"copies of 128 MiB",
     crossings,
     {32 * MIB, EMP_MICRO_HOST, EMP_MICRO_FIRST, 1, 1},
     4},
};

enum {
    CORE_ENTRIES = sizeof of_cores / sizeof *of_cores,
    GPU_ENTRIES = sizeof of_gpus / sizeof *of_gpus
};
_Static_assert(CORE_ENTRIES <= (int)EMP_MICRO_MOST && GPU_ENTRIES <= (int)EMP_MICRO_MOST,
               "room for all benchmarks");

static const struct {
    const struct entry *entry;
    int32_t             count;
} list[] = {[EMP_MICRO_CORES] = {of_cores, CORE_ENTRIES},
            [EMP_MICRO_GPUS] = {of_gpus, GPU_ENTRIES}};

/* ---- building ---------------------------------------------------------------------- */

static emp_status build_graph(emp_graph **out, const struct entry *e, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_graph *whole = NULL;
    emp_tf     tf;

    EMP_TRY(emp_tf_init(&tf, err));
    e->build(&tf, e->size, e->repeats);
    if (e->size[AT_ONCE] == TWICE) {
        const char *outer = enter(&tf, EMP_MICRO_SECOND);
        e->build(&tf, e->size, e->repeats);
        emp_tf_leave(&tf, outer);
    }
    EMP_TRY(emp_tf_finish(&tf, &whole));
    EMP_TRY(emp_graph_prune(out, whole, err));

cleanup:
    emp_tf_clear(&tf);
    emp_graph_destroy(whole);
    return st;
}

static emp_status build(emp_micro *micro, const struct entry *e,
                        const emp_device_id *device, const emp_machine *machine,
                        const emp_runtime *runtime, emp_error *err)
{
    emp_status   st = EMP_OK;
    emp_problem *problem = NULL;

    snprintf(micro->name, sizeof micro->name, "%s", e->name);
    micro->is_shared = e->size[AT_ONCE] != 0;
    EMP_TRY(build_graph(&micro->graph, e, err));
    const emp_graph *g = micro->graph;
    EMP_TRY(EMP_ALLOC(micro->device_of_op, (size_t)g->op_count));
    for (emp_op_id op = 0; op < g->op_count; op++)
        micro->device_of_op[op] = device[device_of(g->name[op])];
    EMP_TRY(emp_problem_create(&problem, g, machine, runtime, e->name, err));
    emp_problem_legalize(problem, micro->device_of_op);

cleanup:
    emp_problem_destroy(problem);
    return st;
}

emp_status emp_micros_build(emp_micro *micro, int32_t *count, emp_micro_set set,
                            const emp_machine *machine, const emp_runtime *runtime,
                            emp_error *err)
{
    const emp_device_id device[] = {emp_machine_find(machine, "cpu:0"),
                                    emp_machine_find(machine, "gpu:0"),
                                    emp_machine_find(machine, "gpu:1")};

    *count = 0;
    if (device[EMP_MICRO_HOST] < 0 || device[EMP_MICRO_FIRST] < 0)
        return EMP_ERROR(EMP_EINVAL, "machine %s needs a CPU and a GPU", machine->name);
    if (set == EMP_MICRO_CORES && device[EMP_MICRO_SECOND] < 0)
        return EMP_ERROR(EMP_EINVAL, "machine %s needs a CPU and two GPUs, as cpu2 has",
                         machine->name);
    for (int32_t i = 0; i < list[set].count; i++) {
        micro[i] = (emp_micro){0};
        *count = i + 1;
        EMP_CHECK(build(&micro[i], &list[set].entry[i], device, machine, runtime, err));
    }
    return EMP_OK;
}

void emp_micros_clear(emp_micro *micro, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        emp_graph_destroy(micro[i].graph);
        emp_free(micro[i].device_of_op);
        micro[i] = (emp_micro){0};
    }
}

emp_status emp_step_predict(emp_sim_result *result, const emp_graph *graph,
                            const emp_device_id *device_of_op, const emp_machine *machine,
                            const emp_runtime *runtime, const char *name, emp_error *err)
{
    emp_status   st = EMP_OK;
    emp_problem *problem = NULL;
    emp_sim     *sim = NULL;

    EMP_TRY(emp_problem_create(&problem, graph, machine, runtime, name, err));
    EMP_TRY(emp_sim_create(&sim, problem, err));
    EMP_TRY(emp_sim_run(sim, device_of_op, result, err));

cleanup:
    emp_sim_destroy(sim);
    emp_problem_destroy(problem);
    return st;
}
