// SPDX-License-Identifier: GPL-3.0-or-later
/* PyTorch's ops: FLOPs, bytes, sizes of products and kernels, each as the formula it comes from. */
#include "base/rng.h"
#include "tests/sim/graph/kit.h"
#include "tests/support/survive.h"

enum { TENSORS = 8, ROUNDS = 60 };

static emp_tensor_info tensor(emp_shape shape)
{
    return (emp_tensor_info){.shape = shape, .dtype = EMP_DTYPE_FLOAT};
}

static emp_op_id add_op(emp_graph_builder *b, const char *name, const char *type,
                        const emp_op_attrs *attrs, const emp_tensor_info *made,
                        int32_t count)
{
    emp_op_id op;

    ASSERT_OK(emp_graph_builder_declare(b, name, strlen(name), type, strlen(type), attrs,
                                        NULL, 0, &op, &err));
    ASSERT_OK(emp_graph_builder_state_outputs(b, op, made, count, &err));
    return op;
}

static void add_source(emp_graph_builder *b, int32_t i, const emp_tensor_info *x,
                       emp_op_id op)
{
    char name[16];

    snprintf(name, sizeof name, "x%d", i);
    emp_op_id source = add_op(b, name, "torch.input", &(emp_op_attrs){0}, x, 1);
    ASSERT_OK(emp_graph_builder_connect(b, (emp_port){source, 0}, op, &err));
}

/* A graph of one op; shapes of rank -1 end the lists. */
static emp_graph *graph_of(const char *type, const emp_op_attrs *attrs,
                           const emp_shape *inputs, const emp_shape *outputs)
{
    emp_graph_builder *b = kit_begin();
    emp_tensor_info    made[TENSORS];
    int32_t            count = 0;

    for (; outputs[count].rank >= 0; count++) made[count] = tensor(outputs[count]);
    emp_op_id op = add_op(b, "op", type, attrs, made, count);
    for (int32_t i = 0; inputs[i].rank >= 0; i++) {
        emp_tensor_info in = tensor(inputs[i]);
        add_source(b, i, &in, op);
    }
    return kit_finish(b);
}

struct cost_case {
    const char  *type;
    emp_op_attrs attrs;
    emp_shape    in[TENSORS], out[4]; /* a rank of -1 ends each */
    emp_op_class op_class;
    double       flops, read, written; /* bytes */
    int64_t      batch, m, n, k;
    int32_t      kernels;
};

#define END       \
    {             \
        -1, { 0 } \
    }
#define SHAPES(...)      \
    {                    \
        __VA_ARGS__, END \
    }
#define S(...)                                                                         \
    {                                                                                  \
        (int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), { __VA_ARGS__ } \
    }
#define F 4.0 /* bytes of an element */

/* clang-format off */
static const struct cost_case cases[] = {
    {"aten.add", {0}, SHAPES(S(64, 128), S(128)), SHAPES(S(64, 128)), EMP_OP_ELEMENTWISE, 8192, F * (8192 + 128), F * 8192, 0, 0, 0, 0, 1},
    {"aten.relu_", {.is_in_place = true}, SHAPES(S(64, 128)), SHAPES(S(64, 128)), EMP_OP_ELEMENTWISE, 8192, F * 8192, F * 8192, 0, 0, 0, 0, 1},
    {"aten.view", {0}, SHAPES(S(64, 128)), SHAPES(S(8192)), EMP_OP_KERNELLESS, 0, 0, 0, 0, 0, 0, 0, 0},
    {"aten.transpose_copy", {0}, SHAPES(S(64, 128)), SHAPES(S(128, 64)), EMP_OP_MOVEMENT, 0, F * 8192, F * 8192, 0, 0, 0, 0, 1},
    /* products of all ranks; k is the first operand's last size */
    {"aten.mm", {0}, SHAPES(S(64, 40), S(40, 96)), SHAPES(S(64, 96)), EMP_OP_GEMM, 2.0 * 64 * 96 * 40, F * (64 * 40 + 40 * 96), F * 64 * 96, 1, 64, 96, 40, 1},
    {"aten.mv", {0}, SHAPES(S(64, 40), S(40)), SHAPES(S(64)), EMP_OP_GEMM, 2.0 * 64 * 40, F * (64 * 40 + 40), F * 64, 1, 64, 1, 40, 1},
    {"aten.linear", {0}, SHAPES(S(8, 32, 40), S(96, 40), S(96)), SHAPES(S(8, 32, 96)), EMP_OP_GEMM, 2.0 * 256 * 96 * 40, F * (256 * 40 + 96 * 40 + 96), F * 256 * 96, 1, 256, 96, 40, 1},
    {"aten.addmm", {0}, SHAPES(S(96), S(64, 40), S(40, 96)), SHAPES(S(64, 96)), EMP_OP_GEMM, 2.0 * 64 * 96 * 40, F * (96 + 64 * 40 + 40 * 96), F * 64 * 96, 1, 64, 96, 40, 1},
    {"aten.bmm", {0}, SHAPES(S(12, 64, 40), S(12, 40, 96)), SHAPES(S(12, 64, 96)), EMP_OP_GEMM, 2.0 * 12 * 64 * 96 * 40, F * 12 * (64 * 40 + 40 * 96), F * 12 * 64 * 96, 12, 64, 96, 40, 1},
    {"aten.matmul", {0}, SHAPES(S(2, 6, 64, 40), S(2, 6, 40, 96)), SHAPES(S(2, 6, 64, 96)), EMP_OP_GEMM, 2.0 * 12 * 64 * 96 * 40, F * 12 * (64 * 40 + 40 * 96), F * 12 * 64 * 96, 12, 64, 96, 40, 1},
    /* one matrix, or one vector, times each of a batch */
    {"aten.matmul", {0}, SHAPES(S(64, 40), S(12, 40, 96)), SHAPES(S(12, 64, 96)), EMP_OP_GEMM, 2.0 * 12 * 64 * 96 * 40, F * (64 * 40 + 12 * 40 * 96), F * 12 * 64 * 96, 12, 64, 96, 40, 1},
    {"aten.matmul", {0}, SHAPES(S(40), S(12, 40, 96)), SHAPES(S(12, 96)), EMP_OP_GEMM, 2.0 * 12 * 96 * 40, F * (40 + 12 * 40 * 96), F * 12 * 96, 12, 1, 96, 40, 1},
    /* a batch of products that are summed */
    {"aten.addbmm", {0}, SHAPES(S(64, 96), S(12, 64, 40), S(12, 40, 96)), SHAPES(S(64, 96)), EMP_OP_GEMM, 2.0 * 12 * 64 * 96 * 40, F * (64 * 96 + 12 * (64 * 40 + 40 * 96)), F * 64 * 96, 12, 64, 96, 40, 1},
    {"aten.einsum", {.product = {4, {3, 5, 7, 11}}}, SHAPES(S(3, 5, 11), S(3, 7, 11)), SHAPES(S(3, 5, 7)), EMP_OP_GEMM, 2.0 * 3 * 5 * 7 * 11, F * 3 * 11 * 12, F * 105, 3, 5, 7, 11, 1},
    /* 10 tokens in groups for 4 experts: every token works with one of them */
    {"aten._grouped_mm", {0}, SHAPES(S(10, 6), S(4, 6, 8), S(4)), SHAPES(S(10, 8)), EMP_OP_GEMM, 2.0 * 10 * 6 * 8, F * (60 + 192 + 4), F * 80, 1, 10, 8, 6, 1},
    /* the 10 elements of k, or the 8 columns, are what groups share out */
    {"aten._grouped_mm", {0}, SHAPES(S(6, 10), S(10, 8), S(4)), SHAPES(S(4, 6, 8)), EMP_OP_GEMM, 2.0 * 10 * 6 * 8, F * (60 + 80 + 4), F * 192, 1, 6, 8, 10, 1},
    {"aten._grouped_mm", {0}, SHAPES(S(4, 10, 6), S(6, 8), S(4)), SHAPES(S(10, 8)), EMP_OP_GEMM, 2.0 * 10 * 6 * 8, F * (240 + 48 + 4), F * 80, 1, 10, 8, 6, 1},
    {"aten.dot", {0}, SHAPES(S(128), S(128)), {{0}, END}, EMP_OP_GEMM, 2.0 * 128, F * 256, F, 1, 1, 1, 128, 1},
    /* 2 N pixels |filter|; gradients cost as much each */
    {"aten.convolution", {0}, SHAPES(S(2, 4, 9, 9), S(8, 4, 3, 3), S(8)), SHAPES(S(2, 8, 7, 7)), EMP_OP_CONV, 2.0 * 98 * 8 * 36, F * (648 + 288 + 8), F * 784, 1, 98, 8, 36, 2},
    {"aten.convolution_backward", {0}, SHAPES(S(2, 8, 7, 7), S(2, 4, 9, 9), S(8, 4, 3, 3)), SHAPES(S(2, 4, 9, 9), S(8, 4, 3, 3)), EMP_OP_CONV, 2 * 2.0 * 98 * 8 * 36, F * (784 + 648 + 288), F * (648 + 288), 2, 98, 8, 36, 4},
    {"aten.convolution_backward", {.gradients = 1}, SHAPES(S(2, 8, 7, 7), S(2, 4, 9, 9), S(8, 4, 3, 3)), SHAPES(S(8, 4, 3, 3)), EMP_OP_CONV, 2.0 * 98 * 8 * 36, F * (784 + 648 + 288), F * 288, 1, 98, 8, 36, 2},
    /* two groups: each makes 4 of 8 channels from 2 of 4 */
    {"aten.conv2d", {0}, SHAPES(S(2, 4, 9, 9), S(8, 2, 3, 3)), SHAPES(S(2, 8, 7, 7)), EMP_OP_CONV, 2.0 * 98 * 8 * 18, F * (648 + 144), F * 784, 2, 98, 4, 18, 2},
    /* depthwise: one filter a channel, bound by bytes */
    {"aten.convolution", {0}, SHAPES(S(2, 4, 9, 9), S(4, 1, 3, 3)), SHAPES(S(2, 4, 7, 7)), EMP_OP_POOL, 2.0 * 98 * 36, F * (648 + 36), F * 392, 0, 0, 0, 0, 1},
    /* transposed: each pixel of the input meets the whole filter [in, out, window] */
    {"aten.convolution", {.is_transposed = true}, SHAPES(S(2, 8, 7, 7), S(8, 4, 3, 3)), SHAPES(S(2, 4, 9, 9)), EMP_OP_CONV, 2.0 * 98 * 288, F * (784 + 288), F * 648, 1, 98, 8, 36, 2},
    {"aten.conv1d", {0}, SHAPES(S(2, 4, 9), S(8, 4, 3)), SHAPES(S(2, 8, 7)), EMP_OP_CONV, 2.0 * 14 * 96, F * (72 + 96), F * 112, 1, 14, 8, 12, 2},
    /* q [B, H, L, E], k and v of 2 heads for 4 */
    {"aten._scaled_dot_product_flash_attention", {0}, SHAPES(S(2, 4, 10, 16), S(2, 2, 20, 16), S(2, 2, 20, 8)), SHAPES(S(2, 4, 10, 8)), EMP_OP_GEMM, 2.0 * 8 * 10 * 20 * 24, F * (1280 + 1280 + 640), F * 640, 8, 10, 20, 24, 1},
    {"aten.scaled_dot_product_attention", {.is_causal = true}, SHAPES(S(2, 4, 10, 16), S(2, 4, 10, 16), S(2, 4, 10, 16)), SHAPES(S(2, 4, 10, 16)), EMP_OP_GEMM, 2.0 * 8 * 10 * 5 * 32, F * 3 * 1280, F * 1280, 8, 10, 5, 32, 1},
    /* five products: weights again, gradients of weights, q, k and v */
    {"aten._flash_attention_backward", {.sequence_axis = -3}, SHAPES(S(2, 10, 4, 16), S(2, 10, 4, 16), S(2, 20, 4, 16), S(2, 20, 4, 16)), SHAPES(S(2, 10, 4, 16), S(2, 20, 4, 16), S(2, 20, 4, 16)), EMP_OP_GEMM, 2.0 * 8 * 10 * 20 * 5 * 16, F * (2 * 1280 + 2 * 2560), F * (1280 + 2 * 2560), 8, 10, 20, 80, 3},
    /* 7 steps of 3 sequences; 4 gates of 5 units from 6 inputs and 5 units */
    {"aten.lstm", {0}, SHAPES(S(7, 3, 6), S(1, 3, 5), S(1, 3, 5), S(20, 6), S(20, 5), S(20), S(20)), SHAPES(S(7, 3, 5)), EMP_OP_GEMM, 2.0 * 21 * 20 * 11, F * (126 + 30 + 120 + 100 + 40), F * 105, 7, 3, 20, 11, 14},
    {"aten._cudnn_rnn_backward", {0}, SHAPES(S(7, 3, 6), S(20, 6), S(20, 5)), SHAPES(S(7, 3, 6)), EMP_OP_GEMM, 2 * 2.0 * 21 * 20 * 11, F * (126 + 220), F * 126, 14, 3, 20, 11, 14},
    {"aten.max_pool2d_with_indices", {.pool_window = 9}, SHAPES(S(2, 3, 8, 8)), SHAPES(S(2, 3, 4, 4)), EMP_OP_POOL, 9 * 96, F * 384, F * 96, 0, 0, 0, 0, 1},
    {"aten._adaptive_avg_pool2d", {0}, SHAPES(S(2, 3, 8, 8)), SHAPES(S(2, 3, 1, 1)), EMP_OP_POOL, 384, F * 384, F * 6, 0, 0, 0, 0, 1},
    {"aten.native_layer_norm", {0}, SHAPES(S(64, 128), S(128), S(128)), SHAPES(S(64, 128), S(64, 1), S(64, 1)), EMP_OP_NORM, 7 * 8192, F * (2 * 8192 + 256), F * (8192 + 128), 0, 0, 0, 0, 1},
    {"aten.sum", {0}, SHAPES(S(64, 128)), SHAPES(S(128)), EMP_OP_REDUCTION, 8192, F * 8192, F * 128, 0, 0, 0, 0, 1},
    /* rows, not the table */
    {"aten.embedding", {0}, SHAPES(S(50000, 64), S(10)), SHAPES(S(10, 64)), EMP_OP_MOVEMENT, 0, F * (640 + 10), F * 640, 0, 0, 0, 0, 1},
    {"aten._embedding_bag", {0}, SHAPES(S(50000, 64), S(10), S(2)), SHAPES(S(2, 64)), EMP_OP_MOVEMENT, 640, F * (640 + 10), F * 128, 0, 0, 0, 0, 1},
    {"aten.index", {0}, SHAPES(S(50000, 64), S(10)), SHAPES(S(10, 64)), EMP_OP_MOVEMENT, 0, F * (640 + 10), F * 640, 0, 0, 0, 0, 1},
    {"aten.index_put_", {.is_in_place = true}, SHAPES(S(500, 64), S(10), S(10, 64)), SHAPES(S(500, 64)), EMP_OP_MOVEMENT, 640, F * (10 + 2 * 640), F * 640, 0, 0, 0, 0, 1},
    {"aten.index_put", {0}, SHAPES(S(500, 64), S(10), S(10, 64)), SHAPES(S(500, 64)), EMP_OP_MOVEMENT, 640, F * (32000 + 10 + 2 * 640), F * (32000 + 640), 0, 0, 0, 0, 2},
    /* two parameters: their gradients and two moments are read, three of the four written */
    {"aten._fused_adam_", {.list_count = 2}, SHAPES(S(100), S(50), S(100), S(50), S(100), S(50), S(100)), SHAPES(S(0)), EMP_OP_OPTIMIZER, 14 * 150, F * 550, F * 450, 0, 0, 0, 0, 1},
    {"aten._foreach_add", {.list_count = 2}, SHAPES(S(100), S(50), S(100), S(50)), SHAPES(S(100), S(50)), EMP_OP_OPTIMIZER, 150, F * 300, F * 150, 0, 0, 0, 0, 1},
};
/* clang-format on */

static void expect_same_traffic(const emp_op_cost *a, const emp_op_cost *b)
{
    cr_expect_eq(a->bytes_read, b->bytes_read);
    cr_expect_eq(a->bytes_written, b->bytes_written);
    cr_expect_eq(a->kernels, b->kernels);
}

Test(op_families, costs_are_their_formulas)
{
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct cost_case *c = &cases[i];
        OWN_GRAPH               g = graph_of(c->type, &c->attrs, c->in, c->out);
        const emp_op_cost      *got = g->op[0].cost;

        cr_expect_eq(g->unknown_op_count, 0, "%s", c->type);
        cr_expect_eq(got->op_class, c->op_class, "%s: class %d", c->type, got->op_class);
        cr_expect_eq(got->flops, c->flops, "%s: %g FLOP, want %g", c->type, got->flops,
                     c->flops);
        cr_expect_eq((double)got->bytes_read, c->read, "%s reads %lld, want %g", c->type,
                     (long long)got->bytes_read, c->read);
        cr_expect_eq((double)got->bytes_written, c->written, "%s writes %lld, want %g",
                     c->type, (long long)got->bytes_written, c->written);
        cr_expect(got->batch == c->batch && got->m == c->m && got->n == c->n &&
                      got->k == c->k,
                  "%s: batch %lld m %lld n %lld k %lld", c->type, (long long)got->batch,
                  (long long)got->m, (long long)got->n, (long long)got->k);
        cr_expect_eq(got->kernels, c->kernels, "%s: %d kernels", c->type, got->kernels);
    }
}

/* Costs of TensorFlow's types where GPUs have PyTorch's kernels, beside the rows of PyTorch's ops. */
Test(op_families, types_of_tensorflow_have_the_passes_of_today, .fini = expect_all_freed)
{
    enum { ROWS = 512, CLASSES = 1000 };
    const emp_shape     x[] = {S(ROWS, CLASSES), END}, sum[] = {S(ROWS), END};
    const emp_shape     two[] = {S(ROWS, CLASSES), S(ROWS, CLASSES), END};
    emp_graph_builder  *b = kit_begin();
    const emp_op_attrs *none = &(emp_op_attrs){0};

    emp_graph_builder_assume_kernels(b);
    kit_ops(
        b,
        "x = f[512,1000]; labels = i[512]; axis = i[1]={1}; softmax = Softmax x; sum = "
        "Sum x axis; "
        "loss = SparseSoftmaxCrossEntropyWithLogits x labels");
    OWN_GRAPH g = kit_finish(b);
    OWN_GRAPH softmax = graph_of("aten._softmax", none, x, x);
    OWN_GRAPH summed = graph_of("aten.sum", none, x, sum);
    OWN_GRAPH log_softmax = graph_of("aten._log_softmax", none, x, x);
    OWN_GRAPH look_up = graph_of("aten.nll_loss_backward", none, x, x);
    OWN_GRAPH backward = graph_of("aten._log_softmax_backward_data", none, two, x);

    const emp_op_cost *loss = kit_cost(g, "loss");
    const emp_op_cost *parts[] = {log_softmax->op[0].cost, look_up->op[0].cost,
                                  backward->op[0].cost};
    int64_t            read = 0, written = 0;
    for (size_t i = 0; i < COUNT(parts); i++) {
        read += parts[i]->bytes_read;
        written += parts[i]->bytes_written;
    }
    cr_expect_eq(loss->bytes_read, read);
    cr_expect_eq(loss->bytes_written, written);
    cr_expect_eq(loss->kernels, 3 + 1, "and the look-up of a number a row");
    expect_same_traffic(kit_cost(g, "softmax"), softmax->op[0].cost);
    expect_same_traffic(kit_cost(g, "sum"), summed->op[0].cost);
}

Test(op_families, an_op_in_place_has_its_inputs_buffer)
{
    emp_shape  in[] = {S(4), END}, out[] = {S(4), END};
    emp_graph *g = graph_of("aten.relu_", &(emp_op_attrs){.is_in_place = true}, in, out);

    cr_expect(g->op[0].is_alias && g->op[0].cost->kernels == 1);
    emp_graph_destroy(g);
    g = graph_of("aten.relu", &(emp_op_attrs){0}, in, out);
    cr_expect_not(g->op[0].is_alias);
    emp_graph_destroy(g);
}

Test(op_families, other_spellings_find_the_same_entry)
{
    static const char *const others[] = {"aten.ad", "aten.add add", "aten.",
                                         "aten._",  "aten._copy",   "mine.add"};
    const emp_op_type       *add = emp_op_type_find("aten.add");

    cr_assert_not_null(add);
    cr_expect_eq(emp_op_type_find("aten.add_"), add);
    cr_expect_eq(emp_op_type_find("aten.mul"), add);
    cr_expect_eq(emp_op_type_find("prims.add"), add);
    cr_expect_eq(emp_op_type_find("aten.squeeze_copy"), emp_op_type_find("aten.clone"));
    cr_expect_neq(emp_op_type_find("aten.squeeze_"), emp_op_type_find("aten.clone"));
    for (size_t i = 0; i < COUNT(others); i++)
        cr_expect_null(emp_op_type_find(others[i]), "%s", others[i]);
}

/* One of every family, with operands of any rank and number. */
Test(op_families, whatever_a_file_says_of_an_op_is_survived)
{
    char names[] =
        "add addcmul div addcdiv exp gelu _thnn_fused_lstm_cell upsample_bilinear2d "
        "grid_sampler_2d _to_copy zeros rand dropout clone embedding index "
        "embedding_bag embedding_dense_backward index_put sort nonzero sum var "
        "logsumexp cumsum _fft_r2c mse_loss kl_div cross_entropy_loss _softmax "
        "native_layer_norm native_layer_norm_backward native_batch_norm "
        "native_batch_norm_backward max_pool2d avg_pool2d_backward mm addmm "
        "convolution convolution_backward scaled_dot_product_attention "
        "_flash_attention_backward lstm _cudnn_rnn_backward _foreach_add "
        "_foreach_norm _fused_adam item view size";
    uint32_t t = 0;

    for (const char *type = strtok(names, " "); type != NULL;
         type = strtok(NULL, " "), t++) {
        emp_rng rng;
        for (uint32_t round = 0; round < ROUNDS; round++) {
            emp_graph_builder *b = kit_begin();
            emp_graph         *g = NULL;
            emp_op_id          op;
            char               name[64];

            emp_rng_init(&rng, 11, t, round);
            emp_op_attrs    attrs = {.is_transposed = emp_rng_below(&rng, 2) == 1,
                                     .is_in_place = emp_rng_below(&rng, 2) == 1,
                                     .sequence_axis = (int32_t)emp_rng_below(&rng, 9) - 5,
                                     .list_count = (int32_t)emp_rng_below(&rng, 9) - 2,
                                     .product.rank = (int32_t)emp_rng_below(&rng, 6) - 1};
            int32_t         inputs = (int32_t)emp_rng_below(&rng, TENSORS);
            emp_tensor_info made[3] = {{.shape = {0}}};
            snprintf(name, sizeof name, "aten.%s", type);
            ASSERT_OK(emp_graph_builder_declare(b, "op", 2, name, strlen(name), &attrs,
                                                NULL, 0, &op, NULL));
            for (int32_t i = 0; i < inputs + 3; i++) {
                static const int64_t sizes[] = {0, 1, 2, 3, 64, INT64_MAX, -1, INT64_MIN};
                emp_tensor_info      x = {.dtype = (emp_dtype)emp_rng_below(&rng, 26),
                                          .shape.rank = (int32_t)emp_rng_below(&rng, 7) - 1};
                for (int32_t d = 0; d < x.shape.rank; d++)
                    x.shape.dim[d] = sizes[emp_rng_below(&rng, 8)];
                if (i >= inputs) {
                    made[i - inputs] = x;
                    continue;
                }
                add_source(b, i, &x, op);
            }
            ASSERT_OK(emp_graph_builder_state_outputs(
                b, op, made, (int32_t)emp_rng_below(&rng, 4), NULL));
            if (emp_graph_builder_finish(b, &g, NULL) == EMP_OK) {
                const emp_op_cost *c = g->op[0].cost;
                cr_expect(c->flops >= 0.0 && c->cpu_cycles >= 0.0 && c->kernels >= 0 &&
                              c->bytes_read >= 0 && c->bytes_written >= 0 &&
                              c->workspace_bytes >= 0,
                          "%s", type);
            }
            emp_graph_destroy(g);
            emp_graph_builder_destroy(b);
        }
        cr_assert_eq(emp_mem_live_blocks(), 0, "%s leaks", type);
    }
}
