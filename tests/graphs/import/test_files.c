// SPDX-License-Identifier: GPL-3.0-or-later
/* Real graphs: parameters exactly as their histograms say, every step shape known, and
 * sizes as an independent prototype found them (it kept some regularizer gradients that
 * fold here, hence 7 %). Skipped where the files are not. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "graphs/import/import.h"

struct file_case {
    const char *name;
    int32_t     step_ops, live_ops, launching_ops, kernels;
    double      product_gflop; /* matrix products and convolutions */
    int32_t     unknown_shapes;
};

/* Live ops, launches, kernels and FLOPs of the prototype; Inception's FLOPs are for
 * batch 32. RNNLM's unknown shapes are those of accidental hits, which only the step
 * itself knows. */
static const struct file_case files[] = {
    {"inception_v3_b32_rmsprop_unfusedbn_r13", 17506, 11228, 4904, 6598, 1098, 0},
    {"resnet_v1_152_b32_momentum", 8339, 7309, 3553, 5440, 2094, 0},
    {"rnnlm_2x2048_b64_t40_sampled_adagrad_r13g", 8478, 6348, 2822, 3027, 1290, 7},
    {"nmt_2l_h1024_b64_t40_std_bahdanau_adam_batched_r13g", 21089, 15250, 6853, 7600,
     1148, 0},
    {"nmt_8l_h1024_b64_t40_std_bahdanau_adam_batched_r13g", 68873, 51922, 23257, 24700,
     2694, 0},
};

static bool file_path(const char *name, const char *suffix, char *path, size_t size)
{
    const char *source = getenv("EMP_SOURCE_DIR");
    FILE       *file;

    snprintf(path, size, "%s/../shared/graphs/%s%s", source ? source : ".", name, suffix);
    file = fopen(path, "rb");
    if (file != NULL) fclose(file);
    return file != NULL;
}

/* The number behind "params" in a histogram. */
static int64_t read_parameter_count(const char *path)
{
    char   text[512];
    FILE  *file = fopen(path, "rb");
    size_t read = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;

    text[read] = '\0';
    if (file != NULL) fclose(file);
    const char *at = strstr(text, "\"params\":");
    return at != NULL ? strtoll(at + 9, NULL, 10) : -1;
}

static void check_within(const char *name, const char *what, double got, double want,
                         double tolerance)
{
    cr_expect(fabs(got - want) <= tolerance * want, "%s: %g %s, want %g within %g %%",
              name, got, what, want, 100 * tolerance);
}

static void check_step(const emp_graph *g, const struct file_case *c)
{
    int32_t live = 0, launching = 0, kernels = 0;
    double  flops = 0.0;

    for (emp_op_id v = 0; v < g->op_count; v++) {
        const emp_op *op = &g->op[v];
        if (op->is_folded) continue;
        live++;
        if ((op->kinds & EMP_KIND_GPU) && op->cost.kernels > 0) {
            launching++;
            kernels += op->cost.kernels;
        }
        if (op->cost.op_class == EMP_OP_GEMM || op->cost.op_class == EMP_OP_CONV)
            flops += op->cost.flops;
    }
    cr_expect_eq(g->op_count, c->step_ops, "%s: %d ops", c->name, g->op_count);
    cr_expect_eq(g->unknown_op_count, 0, "%s", c->name);
    cr_expect_eq(g->unknown_shape_count, c->unknown_shapes, "%s: %d unknown shapes",
                 c->name, g->unknown_shape_count);
    check_within(c->name, "live ops", live, c->live_ops, 0.07);
    check_within(c->name, "launching ops", launching, c->launching_ops, 0.05);
    check_within(c->name, "kernels", kernels, c->kernels, 0.05);
    check_within(c->name, "GFLOP in products", flops / 1e9, c->product_gflop, 0.002);
}

Test(files, real_graphs_have_their_parameters_shapes_and_sizes)
{
    int found = 0;

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        emp_import_params params = emp_import_params_default();
        emp_graph        *whole = NULL, *step = NULL;
        emp_error         err = {0};
        char              graph_path[512], histogram_path[512];

        if (!file_path(files[i].name, ".pb.gz", graph_path, sizeof graph_path) ||
            !file_path(files[i].name, ".hist.json", histogram_path,
                       sizeof histogram_path))
            continue;
        found++;
        cr_assert_eq(emp_import_load(&whole, graph_path, &params, &err), EMP_OK, "%s",
                     err.msg);
        cr_assert_eq(emp_graph_prune(&step, whole, &err), EMP_OK, "%s", err.msg);
        int64_t want = read_parameter_count(histogram_path);
        cr_expect_eq(whole->parameter_count, want, "%s: %lld", files[i].name,
                     (long long)whole->parameter_count);
        cr_expect_eq(step->parameter_count, want, "%s: %lld in the step", files[i].name,
                     (long long)step->parameter_count);
        cr_expect_eq(whole->unknown_op_count, 0);
        check_step(step, &files[i]);
        emp_graph_destroy(whole);
        emp_graph_destroy(step);
    }
    if (found == 0) cr_skip_test("no graph files beside the sources");
}
