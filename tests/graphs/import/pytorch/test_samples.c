// SPDX-License-Identifier: GPL-3.0-or-later
/* Training steps that scripts/export/export_torch.py has written: each kind of layer has the FLOPs of a closed
 * form, each file tells its roles and modules. samples/make_samples.py has the models. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graphs/load.h"

static emp_graph *load(const char *name, emp_import_devices *devices)
{
    emp_graph        *graph = NULL;
    emp_error         err = {0};
    emp_import_params params = emp_import_params_default();
    const char       *folder = getenv("EMP_SOURCE_DIR");
    char              path[512];

    snprintf(path, sizeof path, "%s/tests/graphs/import/pytorch/samples/%s.json.gz",
             folder == NULL ? "." : folder, name);
    cr_assert_eq(emp_import_load(&graph, devices, path, &params, &err), EMP_OK, "%s",
                 err.msg);
    return graph;
}

static double sum_flops(const emp_graph *g, emp_op_class first, emp_op_class second)
{
    double flops = 0.0;

    for (emp_op_id op = 0; op < g->op_count; op++) {
        emp_op_class own = g->op[op].cost->op_class;
        if (own == first || own == second) flops += g->op[op].cost->flops;
    }
    return flops;
}

static const struct {
    const char *name;
    int64_t     parameters;
    double
        products; /* forward, gradient of the weights, gradient of what a layer reads */
    int32_t kept; /* parameters, states and buffers */
} steps[] = {
    /* 32 rows, 64-128-10; nothing asks for the gradient of the first layer's input */
    {"mlp", 64 * 128 + 128 + 128 * 10 + 10, 2.0 * 32 * (2 * 64 * 128 + 3 * 128 * 10),
     3 * 4},
    /* 8 images: 3x3 of 3 channels at 32 by 32, 1x1 of 16 at 16 by 16, 32-10. The depthwise one is no product. */
    {"conv", 16 * 27 + 32 + 16 * 9 + 16 + 32 * 16 + 32 + 330,
     2.0 * 8 * (2 * 1024 * 16 * 27 + 3 * 256 * 32 * 16 + 3 * 32 * 10), 3 * 9 + 3},
    /* 2 images: 4x4 with stride 2 to 8 by 8 and 8 channels, and back */
    {"deconv", 8 * 48 + 8 + 16 + 8 * 48 + 3, 2.0 * 2 * 64 * 8 * 48 * (2 + 3), 6},
    /* 4 sequences of 16 tokens, 64 wide, 4 heads of 16; products with weights and with each other */
    {"transformer",
     4 * 64 + (64 + 1) * 192 + (64 + 1) * 64 + (64 + 1) * 256 + (256 + 1) * 64 + 10250,
     3 * 2.0 *
         (64 * 64 * (192 + 64 + 2 * 256) + 2 * 4 * 4 * 16 * 16 * 16 + 4 * 1024 * 10),
     3 * 14},
    /* 4 sequences of 6 steps, 32 inputs, 64 units with 4 gates; no gradient of the inputs and of the state
     * that the first step finds; 64-10 */
    {"lstm", 256 * (32 + 64 + 2) + 650,
     2.0 * 4 * (6 * 2 * 256 * (32 + 64) + 5 * 256 * 64 + 3 * 640), 6},
    /* 8 rows of two tables, 32-2 */
    {"tables", 1500 * 16 + 66, 2.0 * 8 * 3 * 64, 3 * 4},
};

Test(samples, products_have_the_flops_of_their_closed_forms)
{
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        emp_import_devices devices;
        emp_graph         *g = load(steps[i].name, &devices);
        double             flops = sum_flops(g, EMP_OP_GEMM, EMP_OP_CONV);
        int32_t            kept = 0;

        cr_expect_eq(g->unknown_op_count, 0, "%s", steps[i].name);
        cr_expect_eq(g->unknown_shape_count, 0, "%s", steps[i].name);
        cr_expect_eq(g->parameter_count, steps[i].parameters, "%s: %lld parameters",
                     steps[i].name, (long long)g->parameter_count);
        cr_expect_eq(flops, steps[i].products, "%s: %g FLOP in products, want %g",
                     steps[i].name, flops, steps[i].products);
        cr_expect_geq(g->flops, flops);
        for (emp_op_id op = 0; op < g->op_count; op++)
            kept += g->op[op].persistent_bytes > 0;
        cr_expect_eq(kept, steps[i].kept, "%s keeps %d tensors", steps[i].name, kept);
        cr_expect_null(strstr(devices.note, "assumed"), "%s", devices.note);
        emp_graph_destroy(g);
    }
}

/* The depthwise filter has 9 elements a channel: forward, both gradients. */
Test(samples, a_depthwise_convolution_is_no_product)
{
    emp_import_devices devices;
    emp_graph         *g = load("conv", &devices);
    double             flops = 0.0;

    for (emp_op_id op = 0; op < g->op_count; op++)
        if (g->op[op].cost->op_class == EMP_OP_POOL &&
            g->op[op].cost->work == EMP_WORK_CONVOLUTION)
            flops += g->op[op].cost->flops;
    cr_expect_eq(flops, 3 * 2.0 * 8 * 256 * 16 * 9, "%g", flops);
    emp_graph_destroy(g);
}

/* A module's parameters, their states, and what it computes forward. */
Test(samples, a_module_is_on_one_device)
{
    emp_import_devices devices;
    emp_graph         *g = load("transformer", &devices);
    int32_t            first = -1, count = 0;

    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (strncmp(g->name[op], "0.qkv/", 6) != 0) continue;
        if (first < 0) first = g->op[op].colocation_class;
        cr_expect_eq(g->op[op].colocation_class, first, "%s", g->name[op]);
        count++;
    }
    cr_expect_geq(count, 7, "weight, bias, four states and a product: %d", count);
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (strncmp(g->name[op], "0.up/", 5) == 0)
            cr_expect_neq(g->op[op].colocation_class, first, "%s", g->name[op]);
    emp_graph_destroy(g);
}
