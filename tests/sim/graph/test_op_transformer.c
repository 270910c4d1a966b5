// SPDX-License-Identifier: GPL-3.0-or-later
/* Do the ops of transformers have the shapes and costs of their definitions? */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "tests/sim/graph/kit.h"
#include "tests/support/expect.h"

/* Pairs that a mask leaves, one query after another. */
static double count_pairs(int queries, int keys, int window, bool is_causal)
{
    double pairs = 0;

    for (int i = 0; i < queries; i++) {
        int sees = is_causal ? keys - queries + 1 + i : keys;
        if (window > 0 && sees > window) sees = window;
        pairs += sees > 0 ? sees : 0;
    }
    return pairs;
}

Test(op_transformer, attention_counts_the_pairs_that_its_mask_leaves)
{
    static const struct {
        int  queries, keys, window;
        bool is_causal;
    } cases[] = {{16, 16, 0, true},  {16, 16, 5, true},  {16, 16, 100, true},
                 {16, 16, 0, false}, {16, 16, 7, false}, {1, 64, 0, true},
                 {1, 64, 10, true},  {8, 64, 60, true},  {16, 5, 0, true},
                 {16, 5, 3, true}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        emp_graph_builder *b = kit_begin();
        emp_op_attrs a = {.window = cases[i].window, .is_causal = cases[i].is_causal};
        char         q[64], k[64];
        snprintf(q, sizeof q, "q = f[2,%d,8,4]", cases[i].queries);
        snprintf(k, sizeof k, "k, v = f[2,%d,2,4]", cases[i].keys);
        kit_ops(b, q);
        kit_ops(b, k);
        kit_ops(b, "y = Attention@ q k v; d = AttentionGrad@ y q k v y y:1", &a, &a);
        emp_graph *g = kit_finish(b);
        double     pairs = count_pairs(cases[i].queries, cases[i].keys, cases[i].window,
                                       cases[i].is_causal);
        cr_expect_float_eq(kit_cost(g, "y")->flops, 2 * 8 * pairs * 4 * 4, 1e-6,
                           "case %zu: %g", i, kit_cost(g, "y")->flops);
        cr_expect_float_eq(kit_cost(g, "d")->flops, 2.5 * kit_cost(g, "y")->flops, 1e-6);
        cr_expect_eq(kit_cost(g, "y")->kernels, 1);
        cr_expect_eq(kit_cost(g, "y")->m, 4 * cases[i].queries, "heads that share keys");
        cr_expect_eq(kit_cost(g, "y")->batch, 2 * 2);
        emp_graph_destroy(g);
    }
}

Test(op_transformer, have_the_shapes_of_their_definitions)
{
    static const char *const outputs[][2] = {
        {"y", "f[2,7,8,6] f[2,8,7]"},
        {"d", "f[2,7,8,4] f[2,9,2,4] f[2,9,2,6] f[8]"},
        {"line", "f[6,3]"},
        {"norm", "f[6,5] f[5]"},
        {"route", "f[6,2] i[6,2]"},
        {"made", "f[12,3]"},
        {"back", "f[12,5]"},
        {"dw", "f[4,3,5]"},
        {"sum", "f[6,3]"}};
    emp_graph_builder *b = kit_begin();
    emp_op_attrs       causal = {.is_causal = true}, two = {.count = 2};
    emp_op_attrs       grad = {.has_shape = true, .shape = EMP_SHAPE(4, 3, 5)};
    emp_op_attrs       across = {.transpose_b = true};

    kit_ops(b, "q = f[2,7,8,4]; k = f[2,9,2,4]; v = f[2,9,2,6]; s = f[8]");
    kit_ops(b, "y = Attention@ q k v s; d = AttentionGrad@ y q k v y y:1 s", &causal,
            &causal);
    kit_ops(b, "x = f[6,5]; w = f[3,5]; line = Linear x w; gamma = f[5]");
    kit_ops(b, "norm = RMSNormGrad x x gamma; logits = f[6,4]; rows = f[12,5]");
    kit_ops(b, "route = RouteTokens@ logits; up = f[4,3,5]", &two);
    kit_ops(b, "made = ExpertsMatMul@ rows up route:1; sum = CombineExperts made route",
            &across);
    kit_ops(b, "back = ExpertsMatMul made up route:1");
    kit_ops(b, "dw = ExpertsMatMulGrad@ rows made route:1", &grad);
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
        kit_expect_outputs(b, outputs[i][0], outputs[i][1]);
    emp_graph_destroy(kit_finish(b));
}

Test(op_transformer, products_count_rows_of_all_leading_sizes)
{
    emp_graph_builder *b = kit_begin();

    kit_ops(b, "x = f[2,3,5]; w = f[7,5]; y = Linear x w");
    emp_graph         *g = kit_finish(b);
    const emp_op_cost *cost = kit_cost(g, "y");
    cr_expect(cost->m == 6 && cost->n == 7 && cost->k == 5 && cost->batch == 1);
    cr_expect_eq(cost->flops, 2 * 6 * 7 * 5);
    emp_graph_destroy(g);
}

/* Of 8 experts, of which each of 3 tokens chooses 2, some 8 (1 - (3/4)^3) = 4.6 are read. */
Test(op_transformer, experts_read_the_weights_of_those_that_are_chosen)
{
    emp_graph_builder *b = kit_begin();
    emp_op_attrs       across = {.transpose_b = true}, two = {.count = 2};

    kit_ops(b, "logits = f[3,8]; rows = f[6,10]; w = f[8,20,10]");
    kit_ops(b, "route = RouteTokens@ logits; y = ExpertsMatMul@ rows w route:1", &two,
            &across);
    emp_graph         *g = kit_finish(b);
    const emp_op_cost *cost = kit_cost(g, "y");
    double             busy = 8 * (1 - 0.75 * 0.75 * 0.75);
    cr_expect_eq(cost->flops, 2 * 6 * 20 * 10, "as many as the rows need");
    cr_expect_float_eq((double)cost->bytes_read, 4 * (6 * 10 + 6 + busy * 200), 2.0);
    cr_expect_eq(cost->batch, 5);
    emp_graph_destroy(g);
}

Test(op_transformer, refuse_what_does_not_fit)
{
    static const char *const cases[][3] = {
        {"Attention", "f[2,7,8,4] f[2,9,3,4] f[2,9,3,4]", "[2,9,3,4]"},
        {"Attention", "f[2,7,8,4] f[2,9,2,5] f[2,9,2,5]", "[2,9,2,5]"},
        {"Attention", "f[2,7,8] f[2,9,2,5] f[2,9,2,5]", "[2,7,8]"},
        {"Attention", "f[2,7,8,4] f[2,9,2,4] f[2,8,2,4]", "[2,8,2,4]"},
        {"Linear", "f[2,7] f[9,8] f[9]", "[9,8]"},
        {"ExpertsMatMul", "f[2,7] f[4,9,8] i[1,2]", "[4,9,8]"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        emp_graph_builder *b = kit_begin();
        emp_op_attrs       attrs = {.transpose_b = true};
        emp_port           in[3];
        emp_op_id          op;
        kit_inputs(b, cases[i][1], in);
        EXPECT_REFUSED(emp_graph_builder_add(b, "op", cases[i][0], &attrs, in, 3, NULL, 0,
                                             &op, &err),
                       EMP_EFORMAT, cases[i][2]);
        emp_graph_builder_destroy(b);
    }
}

/* A cache is held for the step, but it is no parameter. */
Test(op_transformer, caches_are_no_parameters)
{
    emp_graph_builder *b = kit_begin();
    emp_op_attrs       shape = {
              .dtype = EMP_DTYPE_HALF, .has_shape = true, .shape = EMP_SHAPE(2, 9, 2, 4)};

    kit_ops(b, "w = &f[3,5]; cache = KeyValueCache@", &shape);
    emp_graph *g = kit_finish(b);
    cr_expect_eq(g->parameter_count, 15);
    cr_expect_eq(g->parameter_bytes, 60);
    cr_expect_eq(kit_fact(g, "cache")->persistent_bytes, 2 * 2 * 9 * 2 * 4);
    cr_expect_eq(kit_fact(g, "cache")->kinds, EMP_KIND_CPU | EMP_KIND_GPU);
    emp_graph_destroy(g);
}

/* The sizes of ggml-common.h; a q4_k block is two scales, 12 bytes of scales, 128 of quants. */
Test(op_transformer, types_of_blocks_have_their_bytes)
{
    static const struct {
        uint32_t    number;
        const char *name;
        int64_t     bytes; /* of 4096 elements */
    } cases[] = {
        {0, "float32", 16384}, {1, "float16", 8192},  {2, "q4_0", 2304},
        {3, "q4_1", 2560},     {6, "q5_0", 2816},     {7, "q5_1", 3072},
        {8, "q8_0", 4352},     {10, "q2_k", 1344},    {11, "q3_k", 1760},
        {12, "q4_k", 2304},    {13, "q5_k", 2816},    {14, "q6_k", 3360},
        {16, "iq2_xxs", 1056}, {18, "iq3_xxs", 1568}, {20, "iq4_nl", 2304},
        {23, "iq4_xs", 2176},  {29, "iq1_m", 896},    {30, "bfloat16", 8192},
        {34, "tq1_0", 864},    {35, "tq2_0", 1056},   {39, "mxfp4", 2176},
        {40, "nvfp4", 2304},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        emp_dtype dtype = emp_dtype_of_ggml(cases[i].number);
        cr_expect_str_eq(emp_dtype_name(dtype), cases[i].name);
        cr_expect_eq(emp_dtype_size_bytes(dtype, 4096), cases[i].bytes, "%s",
                     cases[i].name);
    }
    cr_expect_eq(emp_dtype_of_ggml(4), EMP_DTYPE_NONE, "q4_2 is gone");
    cr_expect_eq(emp_dtype_of_ggml(UINT32_MAX), EMP_DTYPE_NONE);
    cr_expect_eq(emp_dtype_size_bytes(emp_dtype_of_ggml(2), 33), 36, "whole blocks");
    cr_expect_eq(emp_dtype_block(emp_dtype_of_ggml(12)), 256);
    cr_expect_eq(emp_dtype_block(EMP_DTYPE_FLOAT), 1);
    cr_expect_eq(emp_dtype_size_bytes(emp_dtype_of_ggml(8), INT64_MAX), INT64_MAX);
}
