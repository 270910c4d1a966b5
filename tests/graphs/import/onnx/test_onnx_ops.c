// SPDX-License-Identifier: GPL-3.0-or-later
/* Ops of ONNX models by the shapes that the standard and ONNX Runtime give them, of old operators and of
 * the runtime's own; and constants that are computed before a step. */
#include "graphs/import/onnx/lower.h"
#include "tests/graphs/graphs.h"
#include "tests/graphs/import/onnx/writer.h"
#include "tests/test.h"

static onnx_writer w, body;

static void start(void) { onnx_clear(&w), onnx_clear(&body); }

TestSuite(onnx_ops, .init = start, .fini = graph_tear_down);

/* Writes inputs i0, i1, ... of a list "1:2,3|ints:4|floats:0.5|w1:8|-": an input of that element type, a vector
 * of int64, one of float32, an initializer, none. `names` gets their names with commas between. */
static void write_inputs(const char *list, char *names, size_t room)
{
    names[0] = '\0';
    for (int i = 0; *list != '\0'; i++) {
        char   part[128], name[16];
        size_t length = strcspn(list, "|"), used = strlen(names);
        snprintf(part, sizeof part, "%.*s", (int)length, list);
        snprintf(name, sizeof name, "i%d", i);
        const char *value = strchr(part, ':') != NULL ? strchr(part, ':') + 1 : "";
        if (strncmp(part, "ints:", 5) == 0) {
            onnx_ints(&w, name, value);
        } else if (strncmp(part, "floats:", 7) == 0) {
            int count = 1;
            for (const char *at = value; *at != '\0'; at++) count += *at == ',';
            onnx_floats(&w, name, scratch_print("%d", count), value);
        } else if (part[0] == 'w') {
            onnx_weight(&w, name, atoi(part + 1), value);
        } else if (part[0] != '-') {
            onnx_input(&w, name, atoi(part), value);
        } else {
            name[0] = '\0';
        }
        snprintf(names + used, room - used, "%s%s", i > 0 ? "," : "", name);
        list += length + (list[length] == '|');
    }
}

struct node {
    const char *domain, *type;
    int         opset;
    const char *inputs, *attributes, *shape;
};

#define MS "com.microsoft"

/* clang-format off */
static const struct node nodes[] = {
    /* what attributes say of axes */
    {"", "OneHot", 16, "7:3|ints:4|1:2", "axis=0", "[4,3]"},
    {"", "OneHot", 16, "7:2,13|ints:15|1:2", "axis=1", "[2,15,13]"},
    {"", "GatherND", 13, "1:2,3,4|7:2,1", "batch_dims=1", "[2,4]"},
    {"", "AveragePool", 22, "1:1,3,2,2", "kernel_shape=3,3 strides=3,3 pads=1,1,1,1 ceil_mode=1", "[1,3,1,1]"},
    {"", "MaxPool", 12, "1:1,3,5", "kernel_shape=2, strides=3, pads=1,1 ceil_mode=1", "[1,3,2]"},
    {"", "AveragePool", 11, "1:1,3,7", "kernel_shape=3, strides=2, auto_pad:VALID", "[1,3,3]"},
    {"", "ConvTranspose", 13, "1:1,1,5,5|w1:1,1,3,3", "strides=2,2 auto_pad:SAME_UPPER", "[1,1,10,10]"},
    {"", "ConvTranspose", 13, "1:1,1,5,5|w1:1,1,1,1", "strides=2,2 auto_pad:SAME_UPPER output_padding=0,0", "[1,1,9,9]"},
    {"", "LSTM", 14, "1:2,9,4|w1:1,12,4|w1:1,12,3", "hidden_size=3 layout=1", "[2,9,1,3]"},
    {"", "Slice", 13, "1:5,4|ints:-6|ints:-9|ints:0|ints:-1", "", "[1,4]"},
    {"", "Slice", 13, "1:5,4|ints:9|ints:-9|ints:0|ints:-2", "", "[3,4]"},
    {"", "CenterCropPad", 18, "1:4,9|ints:6,3", "", "[6,3]"},
    /* sizes that are computed in float32 */
    {"", "Resize", 11, "1:1,1,10,10|-|floats:1,1,0.7,0.7", "", "[1,1,7,7]"},
    {"", "Resize", 11, "1:1,1,3,20|-|floats:1,1,1.6666666,0.35", "", "[1,1,5,7]"},
    {"", "Upsample", 9, "1:1,1,10,100|floats:1,1,2.3,0.57", "", "[1,1,23,57]"},
    {"", "Resize", 18, "1:1,1,480,640|-|-|ints:224,224", "axes=2,3 keep_aspect_ratio_policy:not_larger", "[1,1,168,224]"},
    {"", "Resize", 18, "1:1,1,480,640|-|-|ints:224,224", "axes=2,3 keep_aspect_ratio_policy:not_smaller", "[1,1,224,299]"},
    /* attention */
    {MS, "MultiHeadAttention", 13, "1:2,5,4,3,8", "num_heads=4", "[2,5,32]"},
    {MS, "MultiHeadAttention", 13, "1:2,5,32|1:2,7,4,2,8", "num_heads=4", "[2,5,32]"},
    {"", "Attention", 23, "1:2,4,5,8|1:2,2,7,8|1:2,2,7,6", "", "[2,4,5,6]"},
    {"", "Attention", 23, "1:2,5,32|1:2,7,16|1:2,7,12", "q_num_heads=4 kv_num_heads=2", "[2,5,24]"},
    {"", "Attention", 24, "1:2,4,5,8|1:2,4,1,8|1:2,4,1,8|-|1:2,4,6,8|1:2,4,6,8", "is_causal=1", "[2,4,5,8]"},
    {"", "RotaryEmbedding", 23, "1:2,3,5,8|1:9,4|1:9,4|7:2,5", "", "[2,3,5,8]"},
    /* others that were not known */
    {"", "EyeLike", 14, "1:3,4", "k=1 dtype=7", "[3,4]"},
    {"", "Col2Im", 18, "1:2,12,20|ints:5,6|ints:2,2", "", "[2,3,5,6]"},
    {"", "DeformConv", 19, "1:2,4,7,7|w1:6,4,3,3|1:2,18,5,5|w1:6", "kernel_shape=3,3", "[2,6,5,5]"},
    {"", "Bernoulli", 15, "1:3,4", "", "[3,4]"},
    {"", "BitwiseNot", 18, "7:3,4", "", "[3,4]"},
    {"", "Unique", 11, "1:2,3", "", "[6]"},
    {"", "Unique", 11, "1:2,3", "axis=1", "[2,3]"},
    {"", "Compress", 11, "1:4,3|9:2", "axis=0", "[2,3]"},
    {"", "Range", 11, "7:|7:|7:", "", "[128]"},
    {"", "MatMulInteger", 10, "2:4|2:4,5", "", "[5]"},
    {"", "MatMulInteger", 10, "2:2,3,4|2:4", "", "[2,3]"},
    {"", "NonZero", 13, "1:2,3", "", "[2,6]"},
    {"", "MaxUnpool", 11, "1:1,2,3,3|7:1,2,3,3", "kernel_shape=2,2 strides=2,2", "[1,2,6,6]"},
    {"", "AffineGrid", 20, "1:2,2,3|ints:2,1,5,6", "", "[2,5,6,2]"},
    {"", "DFT", 20, "1:2,10,1|-|ints:1", "onesided=1", "[2,6,2]"},
    {"", "STFT", 17, "1:2,20,1|ints:2|-|ints:8", "", "[2,7,5,2]"},
    {"", "SoftmaxCrossEntropyLoss", 13, "1:4,5,6|7:4,6", "reduction:none", "[4,6]"},
    /* equations */
    {"", "Einsum", 12, "1:2,3|1:3,4", "equation:ij,jk", "[2,4]"},
    {"", "Einsum", 12, "1:2,5,3|1:2,3,4", "equation:...ij,...jk->...ik", "[2,5,4]"},
    {"", "Einsum", 12, "1:5,2,3|1:3", "equation:...i,i", "[5,2]"},
    {"", "Einsum", 12, "1:4,4,3", "equation:iij->ij", "[4,3]"},
    {"", "Einsum", 12, "1:4,5", "equation:ij->j", "[5]"},
    {"", "Einsum", 12, "1:2,3|1:3,4|1:4,5", "equation:ab,bc,cd->da", "[5,2]"},
    /* operators of versions 1 to 6 */
    {"", "Reshape", 4, "1:2,6", "shape=3,4", "[3,4]"},
    {"", "Add", 6, "1:2,3,4,5|1:3", "broadcast=1 axis=1", "[2,3,4,5]"},
    {"", "Greater", 1, "1:2,3,4|1:3,4", "broadcast=1", "[2,3,4]"},
    {"", "PRelu", 6, "1:2,3,4,5|1:3", "", "[2,3,4,5]"},
    {"", "Concat", 3, "1:2,3|1:2,4", "", "[2,7]"},
    {"", "Pad", 1, "1:2,3", "paddings=1,0,0,2", "[3,5]"},
    {"", "Tile", 1, "1:2,3|floats:2|floats:1", "", "[2,6]"},
    {"", "Cast", 5, "1:2,3", "to:FLOAT16", "[2,3]"},
    {"", "Upsample", 1, "1:1,2,5,5", "height_scale~2.0 width_scale~1.5", "[1,2,10,7]"},
    {"", "TopK", 1, "1:2,9", "k=4 axis=1", "[2,4]"},
    /* ONNX Runtime's own */
    {MS, "FusedConv", 13, "1:1,4,8,8|w1:6,4,3,3|w1:6|1:1,6,6,6", "activation:Relu", "[1,6,6,6]"},
    {MS, "FusedGemm", 13, "1:2,8|w1:4,8|w1:4", "transB=1 activation:Relu", "[2,4]"},
    {MS, "FusedMatMul", 13, "1:2,8,3|1:2,8,4", "transA=1", "[2,3,4]"},
    {MS, "FusedMatMul", 13, "1:8|1:8,4", "", "[4]"},
    {MS, "SkipLayerNormalization", 13, "1:2,3,8|1:2,3,8|w1:8|w1:8", "", "[2,3,8]"},
    {MS, "GroupQueryAttention", 13, "1:1,5,64|1:1,5,32|1:1,5,32|1:1,2,0,16|1:1,2,0,16", "num_heads=4 kv_num_heads=2", "[1,5,64]"},
    {MS, "GroupQueryAttention", 13, "1:1,5,128|-|-|1:1,2,6,16|1:1,2,6,16", "num_heads=4 kv_num_heads=2", "[1,5,64]"},
    {MS, "MultiHeadAttention", 13, "1:2,5,32|1:2,7,32|1:2,7,16", "num_heads=4", "[2,5,16]"},
    {MS, "Attention", 13, "1:2,5,32|w1:32,96|w1:96", "num_heads=4", "[2,5,32]"},
    {MS, "MatMulNBits", 13, "1:2,3,64|2:16,2,16|1:32", "K=64 N=16 bits=4 block_size=32", "[2,3,16]"},
    {"", "MatMulBnb4", 13, "1:2,3,64|2:512|1:16", "K=64 N=16 block_size=64 quant_type=1", "[2,3,16]"},
    {"", "Affine", 22, "1:1,3,16,16", "alpha~0.5", "[1,3,16,16]"},
    {"", "Crop", 7, "1:1,3,9,16", "border=1,2,3,4", "[1,3,3,12]"},
    {"", "Crop", 7, "1:1,3,9,16", "border=1,2,0,0 scale=5,6", "[1,3,5,6]"},
    {"", "DynamicSlice", 7, "1:5,4|ints:1|ints:3|ints:0", "", "[2,4]"},
    {"", "ScaledTanh", 7, "1:2,3", "alpha~0.5", "[2,3]"},
    {"", "ImageScaler", 8, "1:1,3,16,16", "scale~0.5", "[1,3,16,16]"},
    {"", "BatchNormalization", 13, "1:10|1:1|1:1|1:1|1:1", "", "[10]"},
    {"", "NhwcConv", 22, "1:1,7,7,2|1:3,2,1,1", "", "[1,7,7,3]"},
    {MS, "MatMulNBits", 13, "1:2,3,64|w2:16,2,16|w1:32", "K=64 N=16 bits=4 block_size=32", "[2,3,16]"},
    {MS, "GatherBlockQuantized", 13, "w21:10,32|7:3|w1:10,2", "bits=4 block_size=16 gather_axis=0 quantize_axis=1", "[3,32]"},
    {MS, "SkipGroupNorm", 13, "1:2,8,8,16|w1:16|w1:16|1:2,16", "groups=4", "[2,8,8,16]"},
    {"", "NonMaxSuppression", 11, "1:1,6,4|1:1,2,6|ints:3", "", "[6,3]"},
    {"", "NonMaxSuppression", 11, "1:1,6,4|1:1,2,6", "", "[0,3]"}, /* the default of the maximum */
    {MS, "GatherBlockQuantized", 13, "w2:10,16|7:3|w1:10,2", "bits=4 block_size=16 gather_axis=0 quantize_axis=1", "[3,32]"},
    {MS, "QLinearConv", 13, "2:1,8,8,3|floats:1|2:|w2:8,3,3,3|floats:1|2:|floats:1|2:", "channels_last=1", "[1,6,6,8]"},
    {MS, "QLinearAveragePool", 13, "2:1,8,8,3|floats:1|2:|floats:1|2:", "kernel_shape=2,2 strides=2,2 channels_last=1", "[1,4,4,3]"},
    {MS, "QLinearGlobalAveragePool", 13, "2:1,8,8,3|floats:1|2:|floats:1|2:", "channels_last=1", "[1,1,1,3]"},
    {MS, "QLinearAdd", 13, "2:2,3|floats:1|2:|2:3|floats:1|2:", "", "[2,3]"},
    {MS, "QLinearConcat", 13, "floats:1|2:|2:2,3|floats:1|2:|2:2,4|floats:1|2:", "axis=1", "[2,7]"},
    {MS, "DecoderMaskedMultiHeadAttention", 13, "1:1,1,32|1:1,1,32|1:1,1,32|-|-|1:1,4,6,8|1:1,4,6,8", "num_heads=4", "[1,1,32]"},
    {"", "Identity", 21, "24:2,32", "", "[2,32]"},
    {MS, "QGemm", 13, "2:2,8|floats:1|2:|2:4,8|floats:1|2:", "transB=1", "[2,4]"},
    {"ai.onnx.preview", "FlexAttention", 26, "1:2,4,6,8|1:2,2,10,8|1:2,2,10,16", "", "[2,4,6,16]"},
    {MS, "BiasGelu", 13, "1:2,8|1:8", "", "[2,8]"},
    {MS, "NhwcMaxPool", 13, "3:1,8,8,3", "kernel_shape=2,2 strides=2,2", "[1,4,4,3]"},
    {MS ".nchwc", "ReorderInput", 13, "1:1,8,8,16", "channels_last=1", "[1,16,8,8]"},
    {MS ".nchwc", "Conv", 13, "1:1,16,8,8|w1:16,16,3,3|w1:16", "activation:Relu", "[1,16,6,6]"},
    {MS ".nchwc", "Conv", 13, "1:1,8,8,8|w1:16,1,3,3", "group=16", "[1,16,6,6]"},
    {MS ".nchwc", "ReorderOutput", 13, "1:1,16,8,8", "channels=12", "[1,12,8,8]"},
    {MS ".nchwc", "GlobalAveragePool", 13, "1:1,16,8,8", "", "[1,16,1,1]"},
};
/* clang-format on */

Test(onnx_ops, have_the_shapes_that_the_runtime_gives_them)
{
    for (size_t i = 0; i < COUNT(nodes); i++) {
        const struct node *n = &nodes[i];
        char               names[128];
        start();
        write_inputs(n->inputs, names, sizeof names);
        onnx_node_of(&w, n->domain, n->type, names, "y", n->attributes, NULL, NULL);
        onnx_text(&w, "z = Cast y to=11; out z 11:");
        emp_graph *g = onnx_load(&w, n->opset, NULL, NULL);
        cr_expect_str_eq(onnx_shape_of(g, "Cast"), n->shape, "%s(%s) %s is %s", n->type,
                         n->inputs, n->attributes, onnx_shape_of(g, "Cast"));
        cr_expect_eq(g->unknown_op_count, 0, "%s", n->type);
    }
}

Test(onnx_ops, fused_products_cost_what_their_parts_cost)
{
    double flops[2];

    for (int is_fused = 0; is_fused < 2; is_fused++) {
        start();
        onnx_text(&w, "in x 2,8; weight m 16,8; weight b 16; out y");
        if (is_fused)
            onnx_node_of(&w, MS, "FusedGemm", "x,m,b", "y", "transB=1 activation:Relu",
                         NULL, NULL);
        else
            onnx_text(&w, "h = Gemm x,m,b transB=1; y = Relu h");
        emp_graph *g = onnx_load(&w, 13, NULL, NULL);
        flops[is_fused] = g->flops;
        cr_expect_eq(g->parameter_count, 16 * 8 + 16);
    }
    cr_expect_eq(flops[0], flops[1]);
}

/* Five positions see 1 + ... + 5 = 15 pairs in each of 4 heads, whose products take 2 x 16 FLOPs for the scores and as many
 * for the values. */
Test(onnx_ops, a_skipped_norm_gives_its_statistics)
{
    onnx_text(&w, "in x 2,3,8; in s 2,3,8; weight g 8; out y; out m; out v; out sum");
    onnx_node_of(&w, MS, "SkipLayerNormalization", "x,s,g", "y,m,v,sum", "", NULL, NULL);
    emp_graph *g = onnx_load(&w, 13, NULL, NULL);
    cr_expect_str_eq(onnx_shape_of(g, "Mean"), "[2,3,1]");
}

Test(onnx_ops, attention_of_groups_is_causal)
{
    onnx_text(&w, "in q 1,5,64; in k 1,5,32; in v 1,5,32; out y");
    onnx_node_of(&w, MS, "GroupQueryAttention", "q,k,v", "y",
                 "num_heads=4 kv_num_heads=2", NULL, NULL);
    const emp_graph *g = onnx_load(&w, 13, NULL, NULL);
    double           most = 0.0;

    for (emp_op_id op = 0; op < g->op_count; op++)
        if (g->op[op].cost->flops > most) most = g->op[op].cost->flops;
    cr_expect_geq(most, 2.0 * 4 * 15 * 32);
    cr_expect_lt(most, 2.0 * 4 * 25 * 32);
}

Test(onnx_ops, weights_of_four_bits_count_as_such)
{
    onnx_text(&w, "in x 3,64; weight q 2:16,2,16; weight s 32; out y");
    onnx_node_of(&w, MS, "MatMulNBits", "x,q,s", "y", "K=64 N=16 bits=4 block_size=32",
                 NULL, NULL);
    emp_graph *g = onnx_load(&w, 13, NULL, NULL);
    cr_expect_eq(g->parameter_count, 16 * 64);
    cr_expect_eq(g->flops, 2.0 * 3 * 16 * 64);
    cr_expect_lt(g->parameter_bytes, 16 * 64);
}

/* 1,000 rows of 32 weights in blocks of 16, however they are packed: half a byte each, and 2 bytes a block. Three rows are
 * read by as many int64 indices, and become floats. */
Test(onnx_ops, tables_of_four_bits_count_as_such)
{
    static const char *const tables[] = {"21:1000,32", "22:1000,32", "2:1000,16"};

    for (size_t i = 0; i < COUNT(tables); i++) {
        start();
        onnx_text(&w, "in ids 7:3; weight s 1000,2; out y");
        onnx_text(&w, scratch_print("weight q %s", tables[i]));
        onnx_node_of(&w, MS, "GatherBlockQuantized", "q,ids,s", "y",
                     "bits=4 block_size=16", NULL, NULL);
        emp_graph *g = onnx_load(&w, 13, NULL, NULL);
        cr_expect_eq(g->parameter_count, 32000, "%s", tables[i]);
        cr_expect_eq(g->parameter_bytes, 32000 / 2 + 2000 * 2, "%s", tables[i]);
        const emp_op_cost *cost = g->op[graph_find(g, "y")].cost;
        cr_expect_eq(cost->bytes_read, 3 * (32 / 2 + 2 * 2 + 8), "%s", tables[i]);
        cr_expect_eq(cost->bytes_written, 3 * 32 * 4, "%s", tables[i]);
    }
}

/* Types of fewer than 8 bits are packed, "4bitx2" and "2bitx4" (onnx.proto, raw_data). The scales of blocks are read besides. */
Test(onnx_ops, small_weights_have_the_bytes_of_their_bits)
{
    static const struct {
        int type, bits;
    } types[] = {{21, 4}, {22, 4}, {23, 4}, {25, 2}, {26, 2}, {24, 8}, {3, 8}, {17, 8}};

    for (size_t i = 0; i < COUNT(types); i++) {
        const int64_t bytes = 64 * 32 * types[i].bits / 8;
        start();
        onnx_text(&w, scratch_print("in x 3,64; weight q %d:64,32; weight s 2,32; out y",
                                    types[i].type));
        onnx_text(&w, "d = DequantizeLinear q,s axis=0 block_size=32; y = MatMul x,d");
        emp_graph *g = onnx_load(&w, 23, NULL, NULL);
        cr_expect_eq(g->parameter_bytes, bytes, "type %d: %lld", types[i].type,
                     (long long)g->parameter_bytes);
        const emp_op_cost *cost = g->op[graph_find(g, "d")].cost;
        cr_expect_eq(cost->bytes_read, bytes + 2 * 32 * 4, "type %d: %lld", types[i].type,
                     (long long)cost->bytes_read);
        cr_expect_eq(cost->bytes_written, 64 * 32 * 4, "type %d", types[i].type);
    }
}

/* A Reshape hands its operand on, so that weights stay an op where it alone reads them. */
Test(onnx_ops, weights_that_are_handed_on_stay_in_their_buffer)
{
    onnx_text(&w, "in x 3,64; weight q 32,64; ints shape 64,32; out y");
    onnx_text(&w, "r = Reshape q,shape; y = MatMul x,r");
    emp_graph *g = onnx_load(&w, 13, NULL, NULL);

    cr_expect(graph_reads(g, "r", "q"));
    cr_expect_eq(g->op[graph_find(g, "q")].persistent_bytes, 64 * 32 * 4);
    cr_expect_eq(g->op[graph_find(g, "r")].persistent_bytes, 0);
    for (emp_op_id op = 0; op < g->op_count; op++)
        cr_expect(!g->op[op].is_alias || g->input_offset[op] < g->input_offset[op + 1],
                  "%s", g->name[op]);
}

/* ONNX Runtime's models of tied embeddings have one tensor for the table and the last product. */
Test(onnx_ops, quantised_weights_of_several_readers_are_held_once)
{
    static const char *const orders[] = {"rpp", "prp", "ppr"};

    for (size_t i = 0; i < COUNT(orders); i++) {
        start();
        onnx_text(&w, "in x 3,64; in ids 7:3; weight q 2:16,2,16; weight s 32;"
                      "ints shape 16,32; weight t 16,2; out a; out b; out c");
        for (const char *at = orders[i]; *at != '\0'; at++) {
            if (*at == 'p') {
                onnx_node_of(&w, MS, "MatMulNBits", "x,q,s",
                             at == strchr(orders[i], 'p') ? "a" : "b",
                             "K=64 N=16 bits=4 block_size=32", NULL, NULL);
                continue;
            }
            onnx_text(&w, "r = Reshape q,shape");
            onnx_node_of(&w, MS, "GatherBlockQuantized", "r,ids,t", "c",
                         "bits=4 block_size=32", NULL, NULL);
        }
        emp_graph *g = onnx_load(&w, 13, NULL, NULL);
        cr_expect_eq(graph_count_type(g, "Weights"), 1, "%s", orders[i]);
        cr_expect_eq(g->flops, 2 * 2.0 * 3 * 16 * 64, "%s: %g", orders[i], g->flops);
    }
    start();
    onnx_text(&w, "in x 3,64; q = Cast x to=2; weight s 32; out y");
    onnx_node_of(&w, MS, "MatMulNBits", "x,q,s", "y", "K=64 N=1 bits=4 block_size=32",
                 NULL, NULL);
    onnx_expect_refused(&w, 13, NULL, "weights of 192 bytes, need 32");
}

/* Kernels of CUDAExecutionProvider (ONNX Runtime, docs/OperatorKernels.md) and of PyTorch. */
Test(onnx_ops, of_every_element_type_run_on_a_gpu_in_its_memory)
{
    static const char *const types[][3] = {
        {"NonZero", "9:4", ""},
        {"Compress", "7:4|9:4", "axis=0"},
        {"Unique", "7:4", ""},
        {"NonMaxSuppression", "1:1,6,4|1:1,1,6|ints:3", ""},
        {"Mod", "1:4|1:4", "fmod=1"},
        {"Mod", "7:4|7:4", ""},
        {"CumSum", "7:4|ints:0", ""},
        {"ReduceSum", "7:4,3|ints:0", ""},
        {"ReduceMax", "7:4,3", ""},
        {"Pow", "7:4|7:4", ""},
        {"Trilu", "9:4,4", "upper=0"},
        {"Gather", "7:5,3|7:2", ""},
        {"Pad", "7:4|ints:1,1", ""},
        {"Add", "6:4|6:4", ""},
        {"Concat", "6:4|6:4", "axis=0"},
        {"Range", "7:|7:|ints:1", ""},
    };

    for (size_t i = 0; i < COUNT(types); i++) {
        char names[128];
        start();
        write_inputs(types[i][1], names, sizeof names);
        onnx_node(&w, types[i][0], names, "y", types[i][2]);
        onnx_output(&w, "y", 1, "");
        emp_graph *g = onnx_load(&w, 13, NULL, NULL);
        for (emp_op_id op = 0; op < g->op_count; op++) {
            const emp_op *o = &g->op[op];
            cr_expect(o->kinds & EMP_KIND_GPU, "%s: %s", types[i][0],
                      graph_type(g, g->name[op]));
            cr_expect(o->is_folded || (o->host_input_mask != UINT32_MAX &&
                                       !g->tensor[g->output_offset[op]].on_host),
                      "%s: %s", types[i][0], graph_type(g, g->name[op]));
        }
    }
}

Test(onnx_ops, a_scan_goes_along_the_axes_that_it_names)
{
    onnx_text(&body, "in s 2,2; in e 2,2; s_out = Add s,e; row = Neg s_out;"
                     "out s_out; out row");
    onnx_text(&w, "in x 2,2; in xs 2,3,2; out last; out rows");
    onnx_node_of(&w, "", "Scan", "x,xs", "last,rows",
                 "num_scan_inputs=1 scan_input_axes=1, scan_output_axes=2,", "body",
                 &body);
    emp_graph *g = onnx_load(&w, 16, NULL, NULL);
    cr_expect_eq(graph_count_type(g, "Add"), 3);
    cr_expect_str_eq(onnx_shape_of(g, "Pack"), "[2,2,3]");
}

struct number {
    const char *type, *inputs, *attributes, *shape;
};

/* clang-format off */
static const struct number numbers[] = {
    {"Mul", "floats:10|floats:0.7", "", "[7]"},             /* 6.99999988 in double */
    {"Div", "floats:0.3|floats:0.1", "", "[3]"},            /* 2.99999997 in double */
    {"Add", "floats:16777216|floats:1", "", "[16777216]"},
    {"Mod", "ints:7|ints:5", "fmod=1", "[2]"},
    {"Mod", "ints:-7|ints:5", "", "[3]"},
    {"CumSum", "ints:1,2,3|ints:0", "", "[1,3,6]"},
    {"CumSum", "ints:1,2,3|ints:0", "reverse=1 exclusive=1", "[5,3,0]"},
    {"Tile", "ints:2,3|ints:2", "", "[2,3,2,3]"},
    {"TopK", "ints:3,9,4|ints:2", "axis=0", "[9,4]"},
    {"Range", "floats:1|floats:4|floats:1", "", "[1,2,3]"},
    {"Unique", "ints:4,2,4", "", "[2,4]"},
    {"Unique", "ints:4,2,4", "sorted=0", "[4,2]"},
    {"Clip", "floats:1,5,9|floats:2|floats:6", "", "[2,5,6]"},
    {"Pad", "ints:2,3|ints:1,0", "mode:constant", "[0,2,3]"},
    {"GatherElements", "ints:5,6,7|ints:2,0", "", "[7,5]"},
    {"ScatterElements", "ints:5,6,7|ints:1|ints:9", "", "[5,9,7]"},
    {"BitShift", "ints:4|ints:1", "direction:LEFT", "[8]"},
    {"BitwiseAnd", "ints:12|ints:10", "", "[8]"},
    {"ReduceMean", "floats:3,4,8", "keepdims=1", "[5]"},
    {"ArgMax", "floats:3,8,4", "", "[1]"},
    {"Sqrt", "floats:9,16", "", "[3,4]"},
    {"Cast", "ints:259", "to=2", "[3]"}, /* uint8 */
    {"Cast", "ints:-5", "to=2", "[251]"},
    {"Cast", "ints:65537", "to=5", "[1]"}, /* int16 */
    {"Cast", "ints:16777217", "to=1", "[16777216]"},
    {"Cast", "ints:2049", "to=10", "[2048]"}, /* half */
    {"Cast", "ints:257", "to=16", "[256]"},   /* bfloat16 */
    {"Cast", "ints:7", "to=9", "[1]"},        /* bool */
};
/* clang-format on */

/* The numbers become a shape: those of a constant that is not computed would depend on data. */
Test(onnx_ops, constants_are_rounded_to_their_types)
{
    for (size_t i = 0; i < COUNT(numbers); i++) {
        char names[128];
        start();
        write_inputs(numbers[i].inputs, names, sizeof names);
        onnx_input(&w, "x", 1, "1");
        onnx_node(&w, numbers[i].type, names, "y", numbers[i].attributes);
        onnx_text(&w, "n = Cast y to=7; e = Expand x,n; z = Neg e; out z");
        emp_graph *g = onnx_load(&w, 18, NULL, NULL);
        cr_expect_str_eq(onnx_shape_of(g, "Neg"), numbers[i].shape, "%s(%s) %s is %s",
                         numbers[i].type, numbers[i].inputs, numbers[i].attributes,
                         onnx_shape_of(g, "Neg"));
    }
}

Test(onnx_ops, sizes_that_depend_on_data_are_told_and_can_be_given)
{
    emp_import_notes notes = {0};

    onnx_text(&w, "in n 7:; ints zero 0; ints one 1; r = Range zero,n,one; y = Neg r;"
                  "out y 7:");
    (void)onnx_load(&w, 13, NULL, &notes);
    cr_expect_not_null(strstr(notes.assumption[0], "--dim r.0=N"));
    emp_import_notes_clear(&notes);
    emp_graph *g = onnx_load(&w, 13, &(emp_onnx_params){.dims = "r.0=50"}, &notes);
    cr_expect_str_eq(onnx_shape_of(g, "Neg"), "[50]");
    cr_expect_eq(notes.assumption_count, 0);
    emp_import_notes_clear(&notes);
    onnx_expect_refused(&w, 13, &(emp_onnx_params){.dims = "q.0=50"}, "\"q.0\"");
}

/* Shapes that a model computes from data are those that it states; without a statement they are assumed, or all. */
Test(onnx_ops, stated_shapes_count_where_data_decide)
{
    static const struct {
        const char *model, *type, *shape;
        int         assumed;
    } cases[] = {
        {"in x 2,1; in s 7:2; y = Expand x,s; out y 2,5", "BroadcastTo", "[2,5]", 0},
        {"in x 2,1; in s 7:2; y = Expand x,s; out y a,b", "BroadcastTo", "[2,128]", 1},
        {"in x N,1; in s 7:2; y = Expand x,s; out y N,5", "BroadcastTo", "[32,5]", 1},
        {"in x 2,6; in s 7:3; y = Reshape x,s; out y 2,2,3", "Reshape", "[2,2,3]", 0},
        {"in s 7:2; y = ConstantOfShape s; z = Cast y to=11; out z 11:4,5", "Cast",
         "[128,128]", 3},
        {"in x 1,3,4,4; in s 7:4; y = Resize x,,,s; out y 1,3,8,9", "Resize", "[1,3,8,9]",
         0},
        {"in x 9,4; in b 7:1; ints e 9; ints a 0; y = Slice x,b,e,a; out y 6,4", "Slice",
         "[6,4]", 1},
        {"in x 9,4; in e 7:1; ints b 2; ints a 0; y = Slice x,b,e,a; out y k,4", "Slice",
         "[7,4]", 1},
        {"in x 9,4; in e 7:1; ints b 0; ints a 0; ints t 2; y = Slice x,b,e,a,t; out y "
         "0,4",
         "Slice", "[0,4]", 1}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        emp_import_notes notes = {0};
        start();
        onnx_text(&w, cases[i].model);
        emp_graph *g = onnx_load(&w, 13, NULL, &notes);
        cr_expect_str_eq(onnx_shape_of(g, cases[i].type), cases[i].shape, "%s: %s",
                         cases[i].model, onnx_shape_of(g, cases[i].type));
        cr_expect_eq(notes.assumption_count, cases[i].assumed, "%s: %s", cases[i].model,
                     notes.assumption_count > 0
                         ? notes.assumption[notes.assumption_count - 1]
                         : "");
        emp_import_notes_clear(&notes);
    }
}

Test(onnx_ops, a_list_that_is_too_long_for_a_constant_is_not_cut)
{
    char list[2 * (EMP_ONNX_MAX_NUMBERS + 1) + 16] = "value_ints=";

    for (int i = 0; i <= EMP_ONNX_MAX_NUMBERS; i++) strcat(list, "1,");
    onnx_node(&w, "Constant", "", "k", list);
    onnx_text(&w, "y = Neg k; out y 7:");
    onnx_expect_refused(&w, 13, NULL, "over 4096 numbers");
}

/* A known type that cannot be read is not said to be unknown. */
Test(onnx_ops, a_known_type_is_never_called_unknown)
{
    static const char *const reasons[][3] = {
        {"Range", "1:|1:|floats:0", "step is 0"},
        {"Constant", "", "over 4096"},
        {"TopK", "1:3,4|7:1", "depends on data"},
        {"Squeeze", "1:1,1,4|7:1", "depend"},
        {"Slice", "1:3,4|ints:0|ints:1|7:1", "depend on data"},
        {"Einsum", "1:3,4", "its equation"}};

    for (size_t i = 0; i < COUNT(reasons); i++) {
        char names[128];
        start();
        write_inputs(reasons[i][1], names, sizeof names);
        onnx_node(&w, reasons[i][0], names, "y", "");
        onnx_output(&w, "y", 1, "");
        onnx_expect_refused(&w, 13, NULL, reasons[i][2]);
    }
}
