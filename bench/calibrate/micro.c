// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/calibrate/micro.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graphs/tensorflow/tf_ops.h"
#include "graphs/tensorflow/tf_train.h"

enum { CPU, FIRST, SECOND }; /* devices, by their kind and number */

enum { SMALL_ELEMENTS = 1 << 17, MOST_TERMS = 16 };

typedef void work(emp_tf *tf, const int64_t *size, int32_t repeats);

/* One benchmark: what is built, of which sizes, how often. */
struct entry {
    const char *name;
    work       *build;
    int64_t     size[8];
    int32_t     repeats;
};

/* Of size: whether devices work at once, because it is built twice, for both groups, or by itself. */
enum { AT_ONCE = 7, TWICE = 1, ITSELF = 2 };

/* ---- where ops lie ----------------------------------------------------------------- */

/* Device d has the scope "d<d>", which ops keep in their names. */
static const char *enter_device(emp_tf *tf, int32_t device)
{
    return emp_tf_reenter(tf, emp_tf_number(tf, "d%d/", device));
}

static int32_t device_of_name(const char *name)
{
    return name[0] == 'd' && name[1] >= '0' && name[1] <= '9' ? name[1] - '0' : FIRST;
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

/* size: m, n, k, transposed a, transposed b */
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

/* size: m, n, k. Gradients of weights, as an unrolled network has them, and their sum. */
static void summed_products(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    emp_port x = variable(tf, "x", EMP_SHAPE(size[2], size[0]));
    emp_port y = variable(tf, "y", EMP_SHAPE(size[2], size[1]));
    emp_port term[MOST_TERMS];

    for (int32_t i = 0; i < repeats; i++)
        term[i] = emp_tf_matmul(tf, "MatMul", x, y, true, false);
    add_target(tf, emp_tf_op(tf, "AddN", NULL, NULL, term, repeats));
}

/* size: images, side, channels, side of the filter, filters, stride, direction */
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

/* size: elements */
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

/* size: rows, columns, the axis that is summed over */
static void sums(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    emp_port x;

    for (int32_t i = 0; i < repeats; i++) {
        take_operand(tf, &x, "x", EMP_SHAPE(size[0], size[1]), i);
        add_target(tf, emp_tf_reduce(tf, "Sum", NULL, x, &size[2], 1, false));
    }
}

/* size: rows, columns */
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

/* size: images, side, channels, window, stride, what: MaxPool, its gradient, AvgPool's */
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

/* size: images, side, channels, gradients instead */
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

/* size: rows, columns, with a loss */
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

/* size: elements, Adam instead of plain descent */
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

/* size: device, without work. A chain, one after the other. */
static void chain(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    emp_port    x = variable(tf, "x", EMP_SHAPE(16));
    const char *outer = enter_device(tf, (int32_t)size[0]);

    x = emp_tf_op1(tf, "Neg", NULL, x);
    for (int32_t i = 0; i < repeats; i++)
        x = emp_tf_op1(tf, size[1] != 0 ? "Identity" : "Neg", NULL, x);
    emp_tf_leave(tf, outer);
    add_target(tf, x);
}

/* size: elements, one device, the other, chains that run side by side. Each op reads what
 * the other device made. */
static void crossings(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    emp_port x = variable(tf, "x", EMP_SHAPE(size[0]));

    for (int64_t c = 0; c < size[3]; c++) {
        emp_port y = x;
        for (int32_t i = 0; i < repeats; i++) {
            int32_t     side = (int32_t)size[1 + (i + c + 1) % 2];
            const char *outer = enter_device(tf, side);
            y = emp_tf_op1(tf, "Neg", NULL, y);
            emp_tf_leave(tf, outer);
        }
        add_target(tf, y);
    }
}

/* Products that follow each other on one device. */
static void product_chain(emp_tf *tf, int32_t device, int64_t side, int32_t count)
{
    const char *outer = enter_device(tf, device);
    emp_port    x = variable(tf, "p", EMP_SHAPE(side, side)), w = x;

    for (int32_t i = 0; i < count; i++)
        x = emp_tf_matmul(tf, "MatMul", x, w, false, false);
    emp_tf_leave(tf, outer);
    add_target(tf, x);
}

/* size: elements, side and number of products. Both groups multiply while the second one gets
 * tensors from the first, and as many from the host. */
static void busy_copies(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    product_chain(tf, FIRST, size[1], (int32_t)size[2]);
    product_chain(tf, SECOND, size[1], (int32_t)size[2]);
    for (int32_t i = 0; i < 2 * repeats; i++) {
        emp_port x = variable_on(tf, i % 2 == 0 ? "d1/" : "d0/", "x", EMP_SHAPE(size[0]));
        const char *outer = enter_device(tf, SECOND);
        add_target(tf, emp_tf_op1(tf, "Neg", NULL, x));
        emp_tf_leave(tf, outer);
    }
}

/* size: side of products. The host works beside the first group. */
static void busy_host(emp_tf *tf, const int64_t *size, int32_t repeats)
{
    const int64_t on_host[] = {CPU, 0};

    product_chain(tf, FIRST, size[0], repeats);
    chain(tf, on_host, repeats);
}

/* ---- the list ---------------------------------------------------------------------- */

enum { KIB = 1 << 10, MIB = 1 << 20 };

static const struct entry entries[] = {
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
    {"chain of 400", chain, {FIRST, 0}, 400},
    {"chain of 400 without work", chain, {FIRST, 1}, 400},
    {"chain of 400 on the host", chain, {CPU, 0}, 400},
    {"one op", chain, {FIRST, 0}, 0},
    {"copies of 4 KiB", crossings, {KIB, FIRST, SECOND, 1}, 100},
    {"copies of 1 MiB", crossings, {256 * KIB, FIRST, SECOND, 1}, 20},
    {"copies of 16 MiB", crossings, {4 * MIB, FIRST, SECOND, 1}, 4},
    {"copies from and to the host", crossings, {256 * KIB, CPU, FIRST, 1}, 20},
    {"copies both ways at once",
     crossings,
     {256 * KIB, FIRST, SECOND, 2, [AT_ONCE] = ITSELF},
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
enum { ENTRIES = sizeof entries / sizeof *entries };
_Static_assert(ENTRIES <= (int)EMP_MICRO_MOST, "room for all benchmarks");

/* ---- building ---------------------------------------------------------------------- */

static emp_status build_graph(emp_graph **out, const struct entry *e, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_graph *whole = NULL;
    emp_tf     tf;

    EMP_TRY(emp_tf_init(&tf, err));
    e->build(&tf, e->size, e->repeats);
    if (e->size[AT_ONCE] == TWICE) {
        const char *outer = enter_device(&tf, SECOND);
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
        micro->device_of_op[op] = device[device_of_name(g->name[op])];
    EMP_TRY(emp_problem_create(&problem, g, machine, runtime, e->name, err));
    emp_problem_legalize(problem, micro->device_of_op);

cleanup:
    emp_problem_destroy(problem);
    return st;
}

emp_status emp_micros_build(emp_micro *micro, int32_t *count, const emp_machine *machine,
                            const emp_runtime *runtime, emp_error *err)
{
    const emp_device_id device[] = {emp_machine_find(machine, "cpu:0"),
                                    emp_machine_find(machine, "gpu:0"),
                                    emp_machine_find(machine, "gpu:1")};

    *count = 0;
    if (device[CPU] < 0 || device[FIRST] < 0 || device[SECOND] < 0)
        return EMP_ERROR(EMP_EINVAL, "machine %s needs a CPU and two GPUs, as cpu2 has",
                         machine->name);
    for (int32_t i = 0; i < ENTRIES; i++) {
        micro[i] = (emp_micro){0};
        *count = i + 1;
        EMP_CHECK(build(&micro[i], &entries[i], device, machine, runtime, err));
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
