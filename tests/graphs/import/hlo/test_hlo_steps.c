// SPDX-License-Identifier: GPL-3.0-or-later
/* Programs that JAX 0.11 has compiled for CUDA, without their tables of source files: products have the FLOPs
 * of closed forms, and a loop those of its iterations. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "tests/graphs/import/hlo/sample.h"
#include "tests/support/survive.h"

static const struct {
    const char *file;
    double      products;   /* FLOPs */
    int32_t     parameters; /* of the entry */
    int32_t     ops;
} steps[] = {
    /* 128 rows through 512-1024-1024-256: forward, gradients of weights, gradients of inputs but the first */
    {"samples/mlp.hlo.txt.gz",
     6.0 * 128 * (512 * 1024 + 1024 * 1024 + 1024 * 256) - 2.0 * 128 * 512 * 1024, 8, 27},
    /* 4 x 8 heads of 128 queries and keys, 64 wide: weights, and four gradients; the result is summed only */
    {"samples/attn.hlo.txt.gz", 5 * 2.0 * 4 * 8 * 128 * 128 * 64, 3, 10},
    /* 8 images of 32 x 32, 3 x 3 windows of 16 to 32 channels: both gradients */
    {"samples/conv.hlo.txt.gz", 2 * 2.0 * 8 * 32 * 32 * 32 * 3 * 3 * 16, 2, 7},
    /* 10 steps of 8 rows, 64 units: forward, gradients of state and weights */
    {"samples/scan.hlo.txt.gz", 10 * 3 * 2.0 * 8 * 64 * 64, 2, 0},
};

Test(hlo_steps, products_have_the_flops_of_their_closed_forms)
{
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        emp_graph       *g = NULL;
        emp_import_notes notes = {0};
        emp_error        err = {0};
        double           flops = 0.0;
        int32_t          fed = 0;

        cr_assert_eq(hlo_read_file(&g, &notes, steps[i].file, &err), EMP_OK, "%s",
                     err.msg);
        for (emp_op_id op = 0; op < g->op_count; op++) {
            const emp_op_cost *c = g->op[op].cost;
            fed += (g->op[op].flags & EMP_OP_FEED) != 0;
            if (c->op_class == EMP_OP_GEMM || c->op_class == EMP_OP_CONV)
                flops +=
                    2.0 * (double)c->m * (double)c->n * (double)c->k * (double)c->batch;
        }
        cr_expect_eq(flops, steps[i].products, "%s: %.0f FLOP in products, want %.0f",
                     steps[i].file, flops, steps[i].products);
        cr_expect(g->flops >= flops && g->flops < 1.06 * flops, "%s: %.0f FLOP",
                  steps[i].file, g->flops);
        cr_expect_eq(fed, steps[i].parameters);
        cr_expect(steps[i].ops == 0 || g->op_count == steps[i].ops, "%s: %d ops",
                  steps[i].file, g->op_count);
        cr_expect_eq(g->unknown_op_count, 0);
        cr_expect_eq(g->unknown_shape_count, 0);
        cr_expect(hlo_is_assumed(&notes, "parameters are weights: all are inputs"));
        emp_import_notes_clear(&notes);
        emp_graph_destroy(g);
    }
}

/* dW1 = x' dz1, then w - 0.001 dW1: reads x, dz1 and w, writes w. */
Test(hlo_steps, a_product_with_its_update_is_one_kernel)
{
    emp_graph       *g = NULL;
    emp_import_notes notes = {0};

    cr_assert_eq(hlo_read_file(&g, &notes, "samples/mlp.hlo.txt.gz", NULL), EMP_OK);
    const emp_op_cost *c = hlo_cost(g, "jit(step)/transpose(jvp())/gemm_fusion_dot");
    cr_expect(c->m == 512 && c->n == 1024 && c->k == 128 && c->batch == 1);
    cr_expect_eq(c->flops, 2.0 * 512 * 1024 * 128 + 2.0 * 512 * 1024);
    cr_expect_eq(c->bytes_read, 4 * (128 * 512 + 128 * 1024 + 512 * 1024));
    cr_expect_eq(c->bytes_written, 4 * 512 * 1024);
    cr_expect_eq(c->kernels, 1);
    emp_import_notes_clear(&notes);
    emp_graph_destroy(g);
}

/* Each of 10 steps writes one row of [10, 8, 64] and reads one of them back. */
Test(hlo_steps, a_row_of_a_loops_result_is_written_in_place)
{
    emp_graph       *g = NULL;
    emp_import_notes notes = {0};

    cr_assert_eq(hlo_read_file(&g, &notes, "samples/scan.hlo.txt.gz", NULL), EMP_OK);
    for (int n = 0; n < 10; n++) {
        char name[64];
        snprintf(name, sizeof name, "while.12.%d/fusion-start.1", n);
        emp_op_id op = hlo_find(g, name);
        cr_expect(g->op[op].is_alias);
        cr_expect_eq(g->op[op].cost->bytes_written, 4 * 8 * 64);
        cr_expect_eq(g->op[op].cost->bytes_read, 4 * 8 * 64 + 4, "%lld",
                     (long long)g->op[op].cost->bytes_read);
        snprintf(name, sizeof name, "while.18.%d/fusion-start", n);
        op = hlo_find(g, name);
        cr_expect_not(g->op[op].is_alias);
        cr_expect_eq(g->op[op].cost->bytes_read, 4 * 8 * 64 + 4);
    }
    emp_import_notes_clear(&notes);
    emp_graph_destroy(g);
}

Test(hlo_steps, survive_every_allocation_failure)
{
    emp_graph       *g = NULL;
    emp_import_notes notes = {0};

    SURVIVES_EVERY_ALLOCATION_FAILURE(
        hlo_read_file(&g, &notes, "samples/conv.hlo.txt.gz", NULL),
        emp_import_notes_clear(&notes));
    emp_import_notes_clear(&notes);
    emp_graph_destroy(g);
}
