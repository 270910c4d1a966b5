// SPDX-License-Identifier: GPL-3.0-or-later
// Ops of ONNX Runtime's own domains, which its optimizer and its quantisers write: products, norms and
// element-wise ops that are fused, ops of quantised tensors, tensors in blocks of channels.
#include <string.h>

#include "graphs/import/onnx/lower.h"

/* ---- fused element-wise ops ---- */

/* A sum of up to three tensors, then an activation, or none. BiasDropout also has a ratio and a flag, which nothing adds,
 * and a mask. */
static void biased(emp_onnx_call *c, const char *word)
{
    enum { MOST_TERMS = 3 };
    emp_port y = emp_onnx_in_port(c, 0);

    for (int32_t i = 1; i < c->in_count && i < MOST_TERMS; i++)
        if (emp_onnx_in(c, i) != NULL)
            y = emp_onnx_emit2(c, "Add", y, emp_onnx_in_port(c, i));
    emp_onnx_out(c, 0, word != NULL ? emp_onnx_emit1(c, word, y) : y);
    if (emp_slice_is(c->node->type, "BiasDropout") && c->node->output_count > 1)
        emp_onnx_out(c, 1,
                     emp_tf_const(c->o->tf, NULL, "mask", EMP_DTYPE_BOOL,
                                  emp_onnx_in_shape(c, 0), NULL, 0));
}

/* The first half of the last dim by the activation of the second. */
static void split_gelu(emp_onnx_call *c, const char *word)
{
    emp_shape x = emp_onnx_in_shape(c, 0);
    emp_port  sum =
        emp_onnx_emit2(c, "Add", emp_onnx_in_port(c, 0), emp_onnx_in_port(c, 1));

    if (x.rank < 1 || x.dim[x.rank - 1] % 2 != 0) {
        emp_onnx_refuse(c, "its last size cannot be halved");
        return;
    }
    int64_t  sizes[2] = {x.dim[x.rank - 1] / 2, x.dim[x.rank - 1] / 2};
    emp_port half =
        emp_onnx_emit(c, "SplitV", &(emp_op_attrs){.count = 2},
                      EMP_TF_PORTS(sum, emp_onnx_int_vector(c, sizes, 2),
                                   emp_tf_int(c->o->tf, NULL, "axis", x.rank - 1)));
    if (half.op < 0) return;
    emp_port gate = emp_onnx_emit1(c, word, (emp_port){half.op, 1});
    emp_onnx_out(c, 0, emp_onnx_emit2(c, "Mul", half, gate));
}

/* ---- products ---- */

/* The first axis behind the others of the batch, as transBatchA asks for. */
static emp_port batch_last(emp_onnx_call *c, int32_t i, const char *name)
{
    emp_shape shape = emp_onnx_in_shape(c, i);
    int64_t   order[EMP_MAX_RANK];

    if (emp_onnx_int(c, name, 0) == 0 || shape.rank < 3) return emp_onnx_in_port(c, i);
    for (int32_t d = 0; d < shape.rank - 2; d++) order[d] = d + 1;
    order[shape.rank - 2] = 0;
    order[shape.rank - 1] = shape.rank - 1;
    return emp_onnx_transpose(c, emp_onnx_in_port(c, i), order);
}

/* A product whose factors may be transposed, and an activation. */
static void fused_matmul(emp_onnx_call *c, const char *word)
{
    emp_op_attrs attrs = {.transpose_a = emp_onnx_int(c, "transA", 0) != 0,
                          .transpose_b = emp_onnx_int(c, "transB", 0) != 0};
    emp_port     y;

    if (emp_onnx_in_shape(c, 0).rank < 2 || emp_onnx_in_shape(c, 1).rank < 2)
        y = emp_onnx_product(c);
    else
        y = emp_onnx_emit(c, word, &attrs,
                          EMP_TF_PORTS(batch_last(c, 0, "transBatchA"),
                                       batch_last(c, 1, "transBatchB")));
    emp_onnx_out(c, 0, emp_onnx_activated(c, y));
}

static void gemm_gelu(emp_onnx_call *c, const char *word)
{
    emp_port y = emp_onnx_product(c);

    if (emp_onnx_in(c, 2) != NULL)
        y = emp_onnx_emit2(c, "Add", y, emp_onnx_in_port(c, 2));
    emp_onnx_out(c, 0, emp_onnx_emit1(c, word, y));
}

/* Bytes of weights [N, K]: rows of whole blocks, or, of NF4, all in one. */
static int64_t grouped_bytes(int64_t n, int64_t k, int64_t bits, int64_t block,
                             bool is_whole)
{
    const int64_t blocks = k / block + (k % block != 0), bytes = (block * bits + 7) / 8;

    if (is_whole) return emp_onnx_times(n, k) / 2 + emp_onnx_times(n, k) % 2;
    return emp_onnx_times(n, emp_onnx_times(blocks, bytes));
}

/* A product [..., K] by quantised weights [N, K], whose sizes are attributes. */
static void grouped_product(emp_onnx_call *c, const char *word)
{
    emp_shape       x = emp_onnx_in_shape(c, 0);
    emp_onnx_value *w = emp_onnx_in(c, 1);
    int64_t         n = emp_onnx_int(c, "N", 0), k = emp_onnx_int(c, "K", 0);
    int64_t bits = emp_onnx_int(c, "bits", 4), block = emp_onnx_int(c, "block_size", 32);
    bool    is_normal = strcmp(word, "NF4") == 0;

    if (x.rank < 1 || n < 1 || k < 1 || bits < 1 || bits > 8 || block < 1 ||
        block > INT32_MAX) {
        emp_onnx_refuse(
            c,
            "N is %lld, K %lld, bits %lld, block_size %lld, and its input has "
            "rank %d",
            (long long)n, (long long)k, (long long)bits, (long long)block, x.rank);
        return;
    }
    if (w != NULL && w->transposed != NULL) w = w->transposed;
    const int64_t have = w == NULL ? 0 : emp_shape_elements(&w->shape);
    const int64_t need = grouped_bytes(n, k, bits, block, is_normal);
    if (w == NULL || (w->file_type == 0 && !w->is_weight && have != need)) {
        emp_onnx_refuse(c, "weights of %lld bytes, need %lld", (long long)have,
                        (long long)need);
        return;
    }
    emp_group_kind kind = emp_onnx_in(c, 3) != NULL ? EMP_GROUP_ZERO : EMP_GROUP_SCALE;
    emp_dtype      dtype = is_normal ? EMP_DTYPE_NF4
                                     : emp_dtype_grouped((int32_t)bits, (int32_t)block, kind);
    if (dtype == EMP_DTYPE_NONE) dtype = EMP_DTYPE_INT8;
    const char *name = emp_tf_join(c->o->tf, c->name, "/", "weight");
    emp_port    weights = emp_onnx_grouped_port(c->o, w, name, EMP_SHAPE(n, k), dtype);
    emp_port    y =
        emp_onnx_emit(c, "Linear", &(emp_op_attrs){.dtype = emp_onnx_in(c, 0)->dtype},
                      EMP_TF_PORTS(emp_onnx_in_port(c, 0), weights));
    if (emp_onnx_in(c, 5) != NULL)
        y = emp_onnx_emit2(c, "Add", y, emp_onnx_in_port(c, 5));
    emp_onnx_out(c, 0, y);
}

/* True of elements of less than a byte, whose number the shape says. */
static bool has_small_elements(const emp_onnx_value *value)
{
    static const int64_t types[] = {21, 22, 23, 25,
                                    26}; /* (u)int4, float4e2m1, (u)int2 */

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (value->file_type == types[i]) return true;
    return false;
}

/* A table of quantised weights with its scales, of which a step holds the bits that they have; any other one as it is. */
static emp_port grouped_table(emp_onnx_call *c, emp_shape table, int64_t bits)
{
    emp_onnx_value      *data = emp_onnx_in(c, 0);
    const int64_t        block = emp_onnx_int(c, "block_size", 128);
    const emp_group_kind kind =
        emp_onnx_in(c, 3) != NULL ? EMP_GROUP_ZERO : EMP_GROUP_SCALE;
    const emp_dtype dtype = block < 1 || block > INT32_MAX
                                ? EMP_DTYPE_NONE
                                : emp_dtype_grouped((int32_t)bits, (int32_t)block, kind);

    if (!data->is_weight || dtype == EMP_DTYPE_NONE) return emp_onnx_in_port(c, 0);
    return emp_onnx_grouped_port(
        c->o, data, emp_tf_join(c->o->tf, c->name, "/", "weight"), table, dtype);
}

/* Rows of a table of quantised weights; several share one byte where bytes hold few bits each. */
static void gather_grouped(emp_onnx_call *c, const char *word)
{
    emp_shape table = emp_onnx_in_shape(c, 0), rows = emp_onnx_in_shape(c, 1),
              shape = rows;
    const emp_onnx_value *data = emp_onnx_in(c, 0), *scale = emp_onnx_in(c, 2);
    int64_t bits = emp_onnx_int(c, "bits", 4), axis = emp_onnx_int(c, "gather_axis", 0);

    if (data == NULL || scale == NULL || table.rank < 1 || rows.rank < 0 || axis != 0 ||
        rows.rank + table.rank - 1 > EMP_MAX_RANK || bits < 1 || bits > 8) {
        emp_onnx_refuse(c, "rows of axis %lld of a tensor of rank %d", (long long)axis,
                        table.rank);
        return;
    }
    if (data->dtype == EMP_DTYPE_UINT8 && table.rank > 1 && !has_small_elements(data))
        table.dim[table.rank - 1] = emp_onnx_times(table.dim[table.rank - 1], 8 / bits);
    for (int32_t d = 1; d < table.rank; d++) shape.dim[shape.rank++] = table.dim[d];
    emp_onnx_out(c, 0,
                 emp_onnx_emit_shaped(c, word, shape, scale->dtype,
                                      EMP_TF_PORTS(grouped_table(c, table, bits),
                                                   emp_onnx_in_port(c, 1))));
}

/* Products of integers whose result is of floating point, at once. */
static void float_product(emp_onnx_call *c, const char *word)
{
    bool     is_dynamic = strcmp(word, "dynamic") == 0;
    int32_t  bias = is_dynamic ? 4 : 6;
    emp_port y = emp_onnx_integer_product(c, 1, EMP_DTYPE_FLOAT);

    if (emp_onnx_in(c, bias) != NULL)
        y = emp_onnx_emit2(c, "Add", y, emp_onnx_in_port(c, bias));
    emp_onnx_out(c, 0, y);
}

/* ---- quantised tensors ---- */

static void quantized_gemm(emp_onnx_call *c, const char *word)
{
    const emp_onnx_value *zero = emp_onnx_in(c, 8);
    emp_op_attrs          attrs = {.transpose_a = emp_onnx_int(c, "transA", 0) != 0,
                                   .transpose_b = emp_onnx_int(c, "transB", 0) != 0,
                                   .out_type = zero != NULL ? zero->dtype : EMP_DTYPE_FLOAT};
    emp_port              y = emp_onnx_emit(
                     c, word, &attrs, EMP_TF_PORTS(emp_onnx_in_port(c, 0), emp_onnx_in_port(c, 3)));
    if (emp_onnx_in(c, 6) != NULL)
        y = emp_onnx_emit2(c, "Add", y, emp_onnx_in_port(c, 6));
    emp_onnx_out(c, 0, y);
}

static void quantized_binary(emp_onnx_call *c, const char *word)
{
    emp_onnx_out(c, 0,
                 emp_onnx_emit2(c, word, emp_onnx_in_port(c, 0), emp_onnx_in_port(c, 3)));
}

static void quantized_where(emp_onnx_call *c, const char *word)
{
    emp_onnx_out(
        c, 0,
        emp_onnx_emit(c, word, NULL,
                      EMP_TF_PORTS(emp_onnx_in_port(c, 0), emp_onnx_in_port(c, 1),
                                   emp_onnx_in_port(c, 4))));
}

static void quantized_mean(emp_onnx_call *c, const char *word)
{
    emp_shape x = emp_onnx_in_shape(c, 0);
    int64_t   axes[EMP_MAX_RANK];
    int32_t   count = emp_onnx_ints(c, "axes", -1, axes, EMP_MAX_RANK);
    uint32_t  mask = count <= 0 && x.rank >= 0 ? (1U << x.rank) - 1 : 0;

    for (int32_t i = 0; i < count; i++) mask |= 1U << emp_onnx_axis(c, axes[i], x.rank);
    if (!emp_tf_is_ok(c->o->tf)) return;
    emp_onnx_out(c, 0,
                 emp_onnx_reduce(c, word, emp_onnx_in_port(c, 0), mask,
                                 emp_onnx_int(c, "keepdims", 1) != 0));
}

/* A scale and a zero point of the result, then tensors with a scale and a zero point each. */
static void quantized_concat(emp_onnx_call *c, const char *word)
{
    int32_t   count = (c->in_count - 2) / 3;
    emp_port *inputs =
        emp_arena_alloc(&c->o->arena, ((size_t)c->in_count + 1) * sizeof *inputs);

    if (inputs == NULL) {
        c->o->status = EMP_ENOMEM;
        return;
    }
    if (count < 1) {
        emp_onnx_refuse(c, "%d inputs, need 5 or more", c->in_count);
        return;
    }
    for (int32_t i = 0; i < count; i++) inputs[i] = emp_onnx_in_port(c, 2 + 3 * i);
    int32_t axis =
        emp_onnx_axis(c, emp_onnx_int(c, "axis", 0), emp_onnx_in_shape(c, 2).rank);
    inputs[count] = emp_tf_int(c->o->tf, NULL, "axis", axis);
    emp_onnx_out(
        c, 0, emp_onnx_emit(c, word, &(emp_op_attrs){.count = count}, inputs, count + 1));
}

/* ---- norms ---- */

/* The sum of two inputs (and a bias), normalised; the sum is output 3. */
static void skip_norm(emp_onnx_call *c, const char *word)
{
    bool     is_rms = strcmp(word, "RMSNorm") == 0;
    emp_port sum =
        emp_onnx_emit2(c, "Add", emp_onnx_in_port(c, 0), emp_onnx_in_port(c, 1));
    emp_port input[3] = {sum, emp_onnx_in_port(c, 2)};
    int32_t  bias = is_rms ? 3 : 4, count = 2;

    if (emp_onnx_in(c, bias) != NULL)
        input[0] = sum = emp_onnx_emit2(c, "Add", sum, emp_onnx_in_port(c, bias));
    if (!is_rms && emp_onnx_in(c, 3) != NULL) input[count++] = emp_onnx_in_port(c, 3);
    emp_onnx_out(c, 0, emp_onnx_emit(c, word, NULL, input, count));
    emp_onnx_out_statistics(c, sum, emp_onnx_in_shape(c, 0).rank - 1);
    emp_onnx_out(c, 3, sum);
}

/* A sum [N, C] for each image and channel, as an operand of [N, H, W, C]. */
static emp_port spread(emp_onnx_call *c, int32_t i)
{
    emp_shape shape = emp_onnx_in_shape(c, i);

    if (shape.rank != 2) return emp_onnx_in_port(c, i);
    return emp_onnx_reshape(c, emp_onnx_in_port(c, i),
                            EMP_SHAPE(shape.dim[0], 1, 1, shape.dim[1]));
}

/* GroupNorm, whose channels may come last, perhaps of a sum, and perhaps with a SiLU. */
static void group_norm(emp_onnx_call *c, const char *word)
{
    emp_port x = emp_onnx_in_port(c, 0);

    for (int32_t i = 3; i < 5; i++)
        if (emp_onnx_in(c, i) != NULL) x = emp_onnx_emit2(c, "Add", x, spread(c, i));
    emp_onnx_out(c, 1, x);
    emp_port y = emp_onnx_emit(
        c, word, NULL, EMP_TF_PORTS(x, emp_onnx_in_port(c, 1), emp_onnx_in_port(c, 2)));
    if (emp_onnx_int(c, "activation", 0) != 0) y = emp_onnx_emit1(c, "Silu", y);
    emp_onnx_out(c, 0, y);
}

/* Rows of two or three tables, their sum, and its norm; the mask's lengths are output 1. */
static void embed_norm(emp_onnx_call *c, const char *word)
{
    emp_shape ids = emp_onnx_in_shape(c, 0);
    emp_port  words =
        emp_onnx_emit2(c, "Gather", emp_onnx_in_port(c, 2), emp_onnx_in_port(c, 0));
    int32_t at = emp_onnx_in(c, 8) != NULL ? 8 : 0;

    if (ids.rank != 2) {
        emp_onnx_refuse(c, "numbers of words of rank %d, need 2", ids.rank);
        return;
    }
    emp_port places =
        emp_onnx_emit2(c, "Gather", emp_onnx_in_port(c, 3), emp_onnx_in_port(c, at));
    emp_port sum = emp_onnx_emit2(c, "Add", words, places);
    if (emp_onnx_in(c, 1) != NULL && emp_onnx_in(c, 4) != NULL)
        sum = emp_onnx_emit2(
            c, "Add", sum,
            emp_onnx_emit2(c, "Gather", emp_onnx_in_port(c, 4), emp_onnx_in_port(c, 1)));
    emp_onnx_out(
        c, 0,
        emp_onnx_emit(c, word, NULL,
                      EMP_TF_PORTS(sum, emp_onnx_in_port(c, 5), emp_onnx_in_port(c, 6))));
    emp_onnx_out(c, 2, sum);
    if (c->node->output_count < 2 || c->node->output[1].size == 0) return;
    emp_port mask = emp_onnx_in_port(c, emp_onnx_in(c, 7) != NULL ? 7 : 0);
    emp_onnx_out(c, 1, emp_onnx_reduce(c, "Sum", mask, 2, false));
}

/* ---- tensors in blocks of channels ---- */

/* Into blocks: the channels are rounded up by the filter that reads them, so that sizes stay. */
static void into_blocks(emp_onnx_call *c, const char *word)
{
    static const int64_t channels_second[] = {0, 3, 1, 2};
    emp_port             x = emp_onnx_in_port(c, 0);

    if (emp_onnx_int(c, "channels_last", 0) != 0 && emp_onnx_in_shape(c, 0).rank == 4)
        emp_onnx_out(c, 0, emp_onnx_transpose(c, x, channels_second));
    else
        emp_onnx_out(c, 0,
                     emp_onnx_emit_shaped(c, word, emp_onnx_in_shape(c, 0),
                                          EMP_DTYPE_NONE, &x, 1));
}

/* Out of blocks: as many channels as there were. */
static void out_of_blocks(emp_onnx_call *c, const char *word)
{
    emp_shape shape = emp_onnx_in_shape(c, 0);
    int64_t   channels = emp_onnx_int(c, "channels", 0);
    emp_port  x = emp_onnx_in_port(c, 0);

    if (shape.rank < 3 || channels < 1 || channels > shape.dim[1]) {
        emp_onnx_refuse(c, "%lld channels of a tensor of rank %d", (long long)channels,
                        shape.rank);
        return;
    }
    shape.dim[1] = channels;
    if (emp_onnx_int(c, "channels_last", 0) != 0) {
        for (int32_t d = 1; d + 1 < shape.rank; d++) shape.dim[d] = shape.dim[d + 1];
        shape.dim[shape.rank - 1] = channels;
    }
    emp_onnx_out(c, 0, emp_onnx_emit_shaped(c, word, shape, EMP_DTYPE_NONE, &x, 1));
}

/* ---- others ---- */

static void expand_dims(emp_onnx_call *c, const char *word)
{
    emp_shape in = emp_onnx_in_shape(c, 0), shape = {0};
    int64_t   axis[1];

    (void)word;
    if (emp_onnx_ints(c, NULL, 1, axis, 1) != 1 || in.rank < 0 ||
        in.rank == EMP_MAX_RANK) {
        emp_onnx_refuse(c, "its axis depends on data");
        return;
    }
    int32_t at = emp_onnx_axis(c, axis[0], in.rank + 1);
    for (int32_t d = 0; d <= in.rank; d++)
        shape.dim[shape.rank++] = d == at ? 1 : in.dim[d < at ? d : d - 1];
    emp_onnx_out(c, 0, emp_onnx_reshape(c, emp_onnx_in_port(c, 0), shape));
}

const emp_onnx_rule emp_onnx_runtime_rules[] = {
    {"BiasAdd", biased, NULL},
    {"BiasDropout", biased, "Identity"},
    {"BiasGelu", biased, "Gelu"},
    {"BiasSoftmax", biased, "Softmax"},
    {"BiasSplitGelu", split_gelu, "Gelu"},
    {"DynamicQuantizeMatMul", float_product, "dynamic"},
    {"EmbedLayerNormalization", embed_norm, "LayerNorm"},
    {"ExpandDims", expand_dims, NULL},
    {"FastGelu", biased, "Gelu"},
    {"FusedMatMul", fused_matmul, "BatchMatMulV2"},
    {"FusedMatMulActivation", fused_matmul, "BatchMatMulV2"},
    {"GatherBlockQuantized", gather_grouped, "GatherNd"},
    {"GemmFastGelu", gemm_gelu, "Gelu"},
    {"GroupNorm", group_norm, "LayerNorm"},
    {"MatMulBnb4", grouped_product, "NF4"},
    {"MatMulIntegerToFloat", float_product, ""},
    {"MatMulNBits", grouped_product, ""},
    {"QGemm", quantized_gemm, "MatMulInteger"},
    {"QLinearAdd", quantized_binary, "Add"},
    {"QLinearConcat", quantized_concat, "ConcatV2"},
    {"QLinearLeakyRelu", emp_onnx_lower_unary, "LeakyRelu"},
    {"QLinearMul", quantized_binary, "Mul"},
    {"QLinearReduceMean", quantized_mean, "Mean"},
    {"QLinearSigmoid", emp_onnx_lower_unary, "Sigmoid"},
    {"QLinearSoftmax", emp_onnx_lower_unary, "Softmax"},
    {"QLinearWhere", quantized_where, "SelectV2"},
    {"ReorderInput", into_blocks, "SpaceToDepth"},
    {"ReorderOutput", out_of_blocks, "DepthToSpace"},
    {"SkipGroupNorm", group_norm, "LayerNorm"},
    {"SkipLayerNormalization", skip_norm, "LayerNorm"},
    {"SkipSimplifiedLayerNormalization", skip_norm, "RMSNorm"},
    {"TransposeMatMul", fused_matmul, "BatchMatMulV2"},
    {0}};
