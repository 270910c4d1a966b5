// SPDX-License-Identifier: GPL-3.0-or-later
/* Do scans, causal convolutions, indexers, sparse attention and residual streams have the shapes and costs of their
 * definitions? Likewise the ops of transformers. */
#include "tests/sim/graph/kit.h"
#include "tests/support/survive.h"

/* ---- scans ---- */

enum { B = 2, HK = 2, H = 4, K = 8, V = 16 }; /* batch, heads, sizes */

static void scan(emp_graph_builder *b, const char *name, const char *type,
                 const emp_op_attrs *attrs, int tokens, bool has_state)
{
    char     q[64], v[64], step[64], text[64];
    emp_port in[8];
    int32_t  count = 0;

    snprintf(q, sizeof q, "f[%d,%d,%d,%d]", B, tokens, HK, K);
    snprintf(v, sizeof v, "f[%d,%d,%d,%d]", B, tokens, H, V);
    snprintf(step, sizeof step, "f[%d,%d]", B * tokens, H);
    const bool  is_delta = strncmp(type, "Delta", 5) == 0;
    const char *shape[] = {q, q, v, step, is_delta ? step : "f[4]", "f[4]", "f[4]"};
    for (; count < (is_delta ? 5 : 7); count++) {
        snprintf(text, sizeof text, "%s/%d", name, (int)count);
        in[count] = kit_tensor(b, text, shape[count]);
    }
    snprintf(text, sizeof text, "%s/state", name);
    if (has_state) in[count++] = kit_tensor(b, text, "f[2,4,8,16]");
    emp_op_id op;
    ASSERT_OK(emp_graph_builder_add(b, name, type, attrs, in, count, NULL, 0, &op, &err));
}

static const double STATE = 4.0 * B * H * K * V; /* bytes in float32 */

Test(op_scan, one_token_is_the_recurrence_and_moves_the_state_twice)
{
    static const struct {
        const char *type;
        double      per_element;
        double      small; /* elements of the inputs besides q, k and v */
    } cases[] = {{"DeltaRule", 7, 2 * B * H}, {"StateSpaceScan", 5, B * H + 3 * H}};

    for (size_t i = 0; i < 2; i++) {
        emp_graph_builder *b = kit_begin();
        emp_op_attrs       none = {0};
        scan(b, "y", cases[i].type, &none, 1, true);
        kit_expect_outputs(b, "y", "f[2,1,4,16]");
        OWN_GRAPH          g = kit_finish(b);
        const emp_op_cost *c = kit_cost(g, "y");
        cr_expect_eq(c->flops, cases[i].per_element * B * H * K * V);
        cr_expect_eq(c->op_class, EMP_OP_ELEMENTWISE);
        cr_expect_eq(c->work, EMP_WORK_RECURRENT);
        cr_expect_eq(c->kernels, 1);
        cr_expect_eq((double)c->bytes_read,
                     4 * (B * (2 * HK * K + H * V) + cases[i].small) + STATE);
        cr_expect_eq((double)c->bytes_written, 4 * B * H * V + STATE);
    }
}

/* Kimi Linear's equation 13 for heads of one size, and the products of Mamba-2. */
Test(op_scan, many_tokens_are_chunks)
{
    emp_graph_builder *b = kit_begin();
    emp_op_attrs       chunk = {.window = 32};

    scan(b, "delta", "DeltaRule", &chunk, 128, true);
    scan(b, "space", "StateSpaceScan", &chunk, 128, false);
    scan(b, "short", "DeltaRule", &chunk, 8, false);
    OWN_GRAPH          g = kit_finish(b);
    const double       T = 128, C = 32;
    const emp_op_cost *c = kit_cost(g, "delta");
    cr_expect_eq(c->flops, B * H * T * (6 * K * V + 1.5 * C * (K + V) + C * C));
    cr_expect_eq(c->op_class, EMP_OP_GEMM);
    cr_expect_eq(c->m, 32);
    cr_expect_eq(c->batch, B * H * 4);
    cr_expect_eq(c->workspace_bytes, 4 * (int64_t)STATE, "states of four chunks");
    cr_expect_eq((double)c->bytes_written, 4 * B * T * H * V + 5 * STATE,
                 "the states of the chunks, and the last one");
    cr_expect_eq((double)c->bytes_read,
                 4 * B * T * (2 * HK * K + H * V + 2 * H) + 4 * STATE,
                 "a prompt begins without a state");
    cr_expect_eq(kit_cost(g, "space")->flops,
                 B * T * (H * (4 * K * V + 2 * C * V) + HK * 2 * C * K));
    cr_expect_eq(kit_cost(g, "short")->flops,
                 B * H * 8 * (6 * K * V + 1.5 * 8 * (K + V) + 8 * 8));
}

Test(op_scan, gradients_compute_the_scan_again)
{
    emp_graph_builder *b = kit_begin();
    emp_op_attrs       none = {0};

    scan(b, "y", "DeltaRule", &none, 64, false);
    kit_ops(b, "d = DeltaRuleGrad y y/0 y/1 y/2 y/3 y/4");
    kit_expect_outputs(b, "d", "f[2,64,2,8] f[2,64,2,8] f[2,64,4,16] f[128,4] f[128,4]");
    OWN_GRAPH g = kit_finish(b);
    cr_expect_eq(kit_cost(g, "d")->flops, 3 * kit_cost(g, "y")->flops);
}

/* Lightning attention has the products of Mamba-2, whose decay is of each token. */
Test(op_scan, a_fixed_decay_changes_no_product)
{
    emp_graph_builder *b = kit_begin();
    emp_op_attrs       chunk = {.window = 32};

    scan(b, "space", "StateSpaceScan", &chunk, 128, false);
    kit_ops(b, "slope = f[4]");
    kit_ops(b, "y = LightningScan@ space/0 space/1 space/2 slope", &chunk);
    kit_ops(b, "d = LightningScanGrad@ y space/0 space/1 space/2 slope", &chunk);
    kit_expect_outputs(b, "d", "f[2,128,2,8] f[2,128,2,8] f[2,128,4,16] f[4]");
    OWN_GRAPH g = kit_finish(b);
    cr_expect_eq(kit_cost(g, "y")->flops, kit_cost(g, "space")->flops);
    cr_expect_eq(kit_cost(g, "d")->flops, 3 * kit_cost(g, "y")->flops);
}

/* Mamba: nine operations for each element of each token's state, whose heads are channels (the count of mamba-ssm's
 * selective_scan). A prompt writes the state and a token reads it, too. */
Test(op_scan, a_selective_scan_has_a_state_for_each_channel)
{
    enum { TOKENS = 7, CHANNELS = 12, KEYS = 5 };
    const int64_t      state = 2LL * CHANNELS * KEYS * 4;
    emp_graph_builder *b = kit_begin();

    kit_ops(b, "a = f[12,5]; skip = f[12]; state = f[2,12,5,1]");
    kit_ops(b, "q, k = f[2,7,1,5]; v = f[2,7,12,1]; step, gate = f[14,12]");
    kit_ops(b, "q1, k1 = f[2,1,1,5]; v1 = f[2,1,12,1]; step1, gate1 = f[2,12]");
    kit_ops(b, "y = SelectiveScan q k v step a skip gate state");
    kit_ops(b, "one = SelectiveScan q1 k1 v1 step1 a skip gate1 state");
    kit_ops(b, "z = SelectiveScan q k v step a skip gate");
    kit_ops(b, "d = SelectiveScanGrad z q k v step a skip gate");
    kit_expect_outputs(b, "y", "f[2,7,12,1]");
    kit_expect_outputs(b, "d",
                       "f[2,7,1,5] f[2,7,1,5] f[2,7,12,1] f[14,12] f[12,5] f[12] "
                       "f[14,12]");
    OWN_GRAPH g = kit_finish(b);
    cr_expect_eq(kit_cost(g, "y")->flops, 9.0 * 2 * TOKENS * CHANNELS * KEYS);
    cr_expect_eq(kit_cost(g, "one")->flops, 9.0 * 2 * CHANNELS * KEYS);
    cr_expect_eq(kit_cost(g, "y")->bytes_written, 4LL * 2 * TOKENS * CHANNELS + state);
    cr_expect_eq(kit_cost(g, "y")->bytes_read, kit_cost(g, "z")->bytes_read);
    cr_expect_eq(kit_cost(g, "one")->bytes_read,
                 4LL * (2 * 2 * KEYS + 3 * 2 * CHANNELS + CHANNELS * KEYS + CHANNELS) +
                     state);
}

/* Gemma 3n: each of three streams of seven tokens is a sum of all. */
Test(op_scan, streams_are_predicted_of_all_streams)
{
    emp_graph_builder *b = kit_begin();
    emp_op_attrs       stack = {.has_shape = true, .shape = EMP_SHAPE(7, 3, 16)};

    kit_ops(b, "one, two, three, dy = f[7,16]; w = f[7,9]; c = f[7,3]");
    kit_ops(b, "x = StackStreams@ one two three", &stack);
    kit_ops(b, "y = PredictStreams x w; z = CorrectStreams y one c");
    kit_ops(b, "e = AddToStreams z two; m = MatchMagnitude one two");
    kit_ops(b, "dp = PredictStreamsGrad e x w; dc = CorrectStreamsGrad e y one c");
    kit_expect_outputs(b, "e", "f[7,3,16]");
    kit_expect_outputs(b, "dp", "f[7,3,16] f[7,9]");
    kit_expect_outputs(b, "dc", "f[7,3,16] f[7,16] f[7,3]");
    OWN_GRAPH g = kit_finish(b);
    cr_expect_eq(kit_cost(g, "y")->flops, 2.0 * 3 * (7 * 3 * 16));
    cr_expect_eq(kit_cost(g, "dp")->flops, 2 * kit_cost(g, "y")->flops);
    cr_expect_eq(kit_cost(g, "x")->bytes_read, 4 * 3 * 7 * 16);
    cr_expect_eq(kit_cost(g, "x")->bytes_written, 4 * 3 * 7 * 16);
}

Test(op_scan, convolutions_keep_the_last_inputs)
{
    emp_graph_builder *b = kit_begin();

    kit_ops(b, "w = f[6,1,4]; bias = f[6]; state = f[2,6,3]; one = f[2,1,6]");
    kit_ops(b, "many = f[2,5,6]; y = CausalConvolution one w bias state");
    kit_ops(b, "z = CausalConvolution many w state");
    kit_ops(b, "d = CausalConvolutionGrad many many w bias");
    kit_expect_outputs(b, "y", "f[2,1,6]");
    OWN_GRAPH          g = kit_finish(b);
    const emp_op_cost *c = kit_cost(g, "y");
    cr_expect_eq(c->flops, 2 * 4 * 12);
    cr_expect_eq(c->bytes_read, 4 * (12 + 24 + 6 + 36));
    cr_expect_eq(c->bytes_written, 4 * (12 + 36));
    cr_expect_eq(c->work, EMP_WORK_DEPTHWISE);
    c = kit_cost(g, "z");
    cr_expect_eq(c->bytes_read, 4 * (60 + 24));
    cr_expect_eq(c->bytes_written, 4 * (60 + 36));
    cr_expect_eq(kit_cost(g, "d")->flops, 4 * 4 * 60);
}

/* ---- sparse attention ---- */

/* Keys that query i of \a queries sees, the last of which sees all `keys` x `stride` tokens. */
static double count_pairs(int queries, int keys, int stride, int most)
{
    double pairs = 0;

    for (int i = 0; i < queries; i++) {
        double sees = (double)(keys * stride - queries + 1 + i) / stride;
        pairs += fmin(sees, most);
    }
    return pairs;
}

Test(op_scan, a_query_sees_the_keys_that_are_chosen)
{
    static const struct {
        int queries, keys, chosen;
    } cases[] = {{16, 16, 5}, {16, 16, 100}, {1, 64, 10}, {1, 8, 10}, {8, 64, 60}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        emp_graph_builder *b = kit_begin();
        emp_op_attrs       a = {.is_causal = true, .chosen = cases[i].chosen};
        char               q[64], k[64], text[256];
        snprintf(q, sizeof q, "f[2,%d,8,4]", cases[i].queries);
        snprintf(k, sizeof k, "f[2,%d,2,4]", cases[i].keys);
        snprintf(text, sizeof text, "q = %s; k, v = %s; n = i[2,1,1,1]", q, k);
        kit_ops(b, text);
        kit_ops(b, "y = SparseAttention@ q k v n", &a);
        kit_ops(b, "d = SparseAttentionGrad@ y q k v y y:1 n", &a);
        snprintf(text, sizeof text, "%s %s %s", q, k, k);
        kit_expect_outputs(b, "d", text);
        OWN_GRAPH g = kit_finish(b);
        double pairs = count_pairs(cases[i].queries, cases[i].keys, 1, cases[i].chosen);
        cr_expect_float_eq(kit_cost(g, "y")->flops, 2 * 8 * pairs * 4 * 4, 1e-6,
                           "case %zu", i);
        cr_expect_float_eq(kit_cost(g, "d")->flops, 2.5 * kit_cost(g, "y")->flops, 1e-6);
        double read = fmin(cases[i].keys, (double)cases[i].queries * cases[i].chosen);
        cr_expect_float_eq((double)kit_cost(g, "y")->bytes_read,
                           4 * 2 * (cases[i].queries * 32 + read * 16) + 8, 8, "case %zu",
                           i);
    }
}

/* For keys that are a vector and a rotated part the vector is the value, and is read once. */
Test(op_scan, latent_values_are_read_with_their_keys)
{
    emp_graph_builder *b = kit_begin();
    emp_op_attrs       attrs = {.is_causal = true, .chosen = 4};

    kit_ops(b, "q = f[1,1,8,6]; k = f[1,16,1,6]; v = f[1,16,1,4]; n = i[1,1,1,4]");
    kit_ops(b, "y = SparseAttention@ q k v n", &attrs);
    OWN_GRAPH g = kit_finish(b);
    cr_expect_eq(kit_cost(g, "y")->bytes_read, 4 * (8 * 6 + 4 * 6 + 4));
    cr_expect_eq(kit_cost(g, "y")->flops, 2 * 8 * 4 * (6 + 4));
}

Test(op_scan, an_indexer_scores_all_keys)
{
    emp_graph_builder *b = kit_begin();
    emp_op_attrs       one = {.is_causal = true, .chosen = 3};
    emp_op_attrs       blocks = {.is_causal = true, .chosen = 8, .block = 4};

    kit_ops(b, "q = f[2,6,4,8]; k = f[2,6,1,8]; w = f[12,4]; a = f[2,6,16,32]");
    kit_ops(b, "together = SelectKeys@ q k w; apart = SelectKeys@ q k", &one, &blocks);
    kit_ops(b, "d = SelectKeysGrad@ q k a a together w", &one);
    kit_expect_outputs(b, "together", "i[2,6,1,3]");
    kit_expect_outputs(b, "apart", "i[2,6,4,2]");
    kit_expect_outputs(b, "d", "f[2,6,4,8] f[2,6,1,8] f[12,4]");
    OWN_GRAPH    g = kit_finish(b);
    const double pairs = 1 + 2 + 3 + 4 + 5 + 6, chosen = 1 + 2 + 3 + 3 + 3 + 3;
    cr_expect_eq(kit_cost(g, "together")->flops, 2 * pairs * 4 * (2 * 8 + 2));
    cr_expect_eq(kit_cost(g, "together")->bytes_read,
                 4 * (2 * 6 * 4 * 8 + 2 * 6 * 8 + 48 + 2 * 21));
    cr_expect_eq(kit_cost(g, "apart")->bytes_read,
                 4 * (2 * 6 * 4 * 8 + 2 * 6 * 8 + 2 * 4 * 21), "scores of each head");
    cr_expect_eq(kit_cost(g, "d")->flops, 2 * chosen * (6 * 4 * 8 + 2 * 16 * 32));
}

Test(op_scan, compressed_keys_stand_for_tokens)
{
    emp_graph_builder *b = kit_begin();
    emp_op_attrs       attrs = {.is_causal = true, .window = 4, .chosen = 2, .stride = 4};
    emp_op_attrs       all = {.is_causal = true, .window = 4, .stride = 4};
    emp_op_attrs       keys = {.has_shape = true, .shape = EMP_SHAPE(1, 4, 1, 8)};

    kit_ops(b, "q = f[1,16,2,8]; near = f[1,16,1,8]; sinks = f[2]; n = i[1,16,1,2]");
    kit_ops(b, "raw = f[1,16,8]; bias = f[4,8]; state = f[1,4,16]");
    kit_ops(b, "far = CompressKeys@ raw raw bias state", &keys);
    kit_ops(b, "some = CompressedAttention@ q near far sinks n", &attrs);
    kit_ops(b, "all = CompressedAttention@ q near far sinks", &all);
    kit_expect_outputs(b, "far", "f[1,4,1,8]");
    OWN_GRAPH g = kit_finish(b);
    double    single = 1 + 2 + 3 + 13 * 4;
    cr_expect_float_eq(kit_cost(g, "some")->flops,
                       2 * 2 * 16 * (single + count_pairs(16, 4, 4, 2)), 1e-6);
    cr_expect_float_eq(kit_cost(g, "all")->flops,
                       2 * 2 * 16 * (single + count_pairs(16, 4, 4, 100)), 1e-6);
    cr_expect_eq(kit_cost(g, "far")->bytes_written, 4 * (32 + 64), "keys, and the state");
    cr_expect_eq(kit_cost(g, "far")->bytes_read, 4 * (128 + 128 + 32));
}

Test(op_scan, streams_and_groups)
{
    static const char *const outputs[][2] = {{"w", "f[5,8]"},
                                             {"one", "f[5,3]"},
                                             {"y", "f[5,2,3]"},
                                             {"out", "f[5,8]"},
                                             {"d", "f[5,4,6] f[8,6]"}};
    emp_graph_builder       *b = kit_begin();

    kit_ops(b, "x = f[5,2,3]; fn = f[8,6]; base = f[8]; scale = f[3]");
    kit_ops(b, "w = StreamWeights x fn base scale; one = CollapseStreams x w");
    kit_ops(b, "y = ExpandStreams x one w; groups = f[8,6]; heads = f[5,4,6]");
    kit_ops(b,
            "out = GroupedLinear heads groups; d = GroupedLinearGrad out heads groups");
    for (size_t i = 0; i < COUNT(outputs); i++)
        kit_expect_outputs(b, outputs[i][0], outputs[i][1]);
    OWN_GRAPH g = kit_finish(b);
    cr_expect_eq(kit_cost(g, "w")->flops, 2 * 5 * 8 * 6);
    cr_expect_eq(kit_cost(g, "y")->flops, 2 * 3 * 30,
                 "sums of two streams and the result");
    cr_expect_eq(kit_cost(g, "out")->flops, 2 * 5 * 8 * 6);
    cr_expect(kit_cost(g, "out")->batch == 4 && kit_cost(g, "out")->n == 2);
    cr_expect_eq(kit_cost(g, "d")->flops, 2 * kit_cost(g, "out")->flops);
}

/* ---- transformers ---- */

/* Pairs that a mask leaves, one after another. A window ends at the query, or has it in its middle. */
static double count_masked_pairs(int queries, int keys, int window, bool is_causal)
{
    const int after = is_causal ? 0 : window > 0 ? (window - 1) / 2 : keys + queries;
    const int before = window > 0 ? window - 1 - after : keys + queries;
    double    pairs = 0;

    for (int i = 0; i < queries; i++)
        for (int k = 0; k < keys; k++) {
            const int at = keys - queries + i; /* the key of the query's own token */
            pairs += at - k <= before && k - at <= after;
        }
    return pairs;
}

Test(op_transformer, attention_counts_the_pairs_that_its_mask_leaves)
{
    static const struct {
        int  queries, keys, window;
        bool is_causal;
    } cases[] = {{16, 16, 0, true},   {16, 16, 5, true},  {16, 16, 100, true},
                 {16, 16, 0, false},  {16, 16, 7, false}, {16, 16, 4, false},
                 {16, 16, 29, false}, {16, 16, 1, false}, {16, 9, 0, false},
                 {1, 64, 0, true},    {1, 64, 10, true},  {8, 64, 60, true},
                 {16, 5, 0, true},    {16, 5, 3, true}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        emp_graph_builder *b = kit_begin();
        emp_op_attrs a = {.window = cases[i].window, .is_causal = cases[i].is_causal};
        char         q[64], k[64];
        snprintf(q, sizeof q, "q = f[2,%d,8,4]", cases[i].queries);
        snprintf(k, sizeof k, "k, v = f[2,%d,2,4]", cases[i].keys);
        kit_ops(b, q);
        kit_ops(b, k);
        kit_ops(b, "y = Attention@ q k v; d = AttentionGrad@ y q k v y y:1", &a, &a);
        OWN_GRAPH g = kit_finish(b);
        double    pairs = count_masked_pairs(cases[i].queries, cases[i].keys,
                                             cases[i].window, cases[i].is_causal);
        cr_expect_float_eq(kit_cost(g, "y")->flops, 2 * 8 * pairs * 4 * 4, 1e-6,
                           "case %zu: %g", i, kit_cost(g, "y")->flops);
        cr_expect_float_eq(kit_cost(g, "d")->flops, 2.5 * kit_cost(g, "y")->flops, 1e-6);
        cr_expect_eq(kit_cost(g, "y")->kernels, 1);
        cr_expect_eq(kit_cost(g, "y")->m, 4 * cases[i].queries, "heads that share keys");
        cr_expect_eq(kit_cost(g, "y")->batch, 2 * 2);
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
    for (size_t i = 0; i < COUNT(outputs); i++)
        kit_expect_outputs(b, outputs[i][0], outputs[i][1]);
    emp_graph_destroy(kit_finish(b));
}

Test(op_transformer, products_count_rows_of_all_leading_sizes)
{
    emp_graph_builder *b = kit_begin();

    kit_ops(b, "x = f[2,3,5]; w = f[7,5]; y = Linear x w");
    OWN_GRAPH          g = kit_finish(b);
    const emp_op_cost *cost = kit_cost(g, "y");
    cr_expect(cost->m == 6 && cost->n == 7 && cost->k == 5 && cost->batch == 1);
    cr_expect_eq(cost->flops, 2 * 6 * 7 * 5);
}

/* With 8 experts, of which each of 3 tokens chooses 2, some 8 (1 - (3/4)^3) = 4.6 are read. */
Test(op_transformer, experts_read_the_weights_of_those_that_are_chosen)
{
    emp_graph_builder *b = kit_begin();
    emp_op_attrs       across = {.transpose_b = true}, two = {.count = 2};

    kit_ops(b, "logits = f[3,8]; rows = f[6,10]; w = f[8,20,10]");
    kit_ops(b, "route = RouteTokens@ logits; y = ExpertsMatMul@ rows w route:1", &two,
            &across);
    OWN_GRAPH          g = kit_finish(b);
    const emp_op_cost *cost = kit_cost(g, "y");
    double             busy = 8 * (1 - 0.75 * 0.75 * 0.75);
    cr_expect_eq(cost->flops, 2 * 6 * 20 * 10, "as many as the rows need");
    cr_expect_float_eq((double)cost->bytes_read, 4 * (6 * 10 + 6 + busy * 200), 2.0);
    cr_expect_eq(cost->batch, 5);
}

Test(op_transformer, caches_are_no_parameters)
{
    emp_graph_builder *b = kit_begin();
    emp_op_attrs       shape = {
              .dtype = EMP_DTYPE_HALF, .has_shape = true, .shape = EMP_SHAPE(2, 9, 2, 4)};

    kit_ops(b, "w = &f[3,5]; cache = KeyValueCache@", &shape);
    OWN_GRAPH g = kit_finish(b);
    cr_expect_eq(g->parameter_count, 15);
    cr_expect_eq(g->parameter_bytes, 60);
    cr_expect_eq(kit_fact(g, "cache")->persistent_bytes, 2 * 2 * 9 * 2 * 4);
    cr_expect_eq(kit_fact(g, "cache")->kinds, EMP_KIND_CPU | EMP_KIND_GPU);
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

    for (size_t i = 0; i < COUNT(cases); i++) {
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
