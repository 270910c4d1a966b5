// SPDX-License-Identifier: GPL-3.0-or-later
/* Modules of XLA: kernels, their FLOPs and bytes by hand, names, and what is wrong with a file. */
#include "tests/graphs/graphs.h"
#include "tests/graphs/import/hlo/sample.h"
#include "tests/test.h"

TestSuite(hlo, .init = scratch_create, .fini = graph_tear_down);

#define HEAD  "HloModule m, is_scheduled=true\n"
#define ENTRY HEAD "ENTRY %main {\n"
#define REDUCE(name, opcode)                                                        \
    "%" name                                                                        \
    " {\n%p = f32[] parameter(0)\n%q = f32[] parameter(1)\nROOT %r = f32[] " opcode \
    "(%p, %q)\n}\n"

/* Numbers that are not looked at are 0, FLOPs -1. */
typedef struct {
    const char  *name;
    emp_op_class op_class;
    double       flops;
    int64_t      read, written;
    int64_t      sizes[4]; /* batch, m, n, k */
} cost;

static void expect_costs(const emp_graph *g, const cost *costs)
{
    for (; costs->name != NULL; costs++) {
        const emp_op_cost *c = hlo_cost(g, costs->name);
        const int64_t      sizes[4] = {c->batch, c->m, c->n, c->k};
        cr_expect_eq(c->op_class, costs->op_class, "%s: class %d", costs->name,
                     c->op_class);
        if (costs->flops >= 0)
            cr_expect_eq(c->flops, costs->flops, "%s: %g FLOP", costs->name, c->flops);
        if (costs->read > 0)
            cr_expect_eq(c->bytes_read, costs->read, "%s: %lld read", costs->name,
                         (long long)c->bytes_read);
        if (costs->written > 0)
            cr_expect_eq(c->bytes_written, costs->written, "%s: %lld written",
                         costs->name, (long long)c->bytes_written);
        for (int i = 0; i < 4; i++)
            if (costs->sizes[0] > 0)
                cr_expect_eq(sizes[i], costs->sizes[i], "%s: size %d is %lld",
                             costs->name, i, (long long)sizes[i]);
    }
}

#define CONV(name, result, operands, target)                         \
    "%" name " = (" result ", u8[0]{0}) custom-call(" operands       \
    "), window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01, " \
    "custom_call_target=\"__cudnn$conv" target "\"\n"                \
    "%" name "0 = " result " get-tuple-element(%" name "), index=0\n"
#define FMHA(name, keys, more, target)                                                  \
    "%" name " = (bf16[2,16,4,8], u8[8]{0}) custom-call(%q, %k, %v), "                  \
    "custom_call_target=\"__cudnn$fmha" target                                          \
    "\", backend_config={\"cudnn_fmha_backend_config\":{\"intermediate_tensor_shape\":" \
    "{\"dimensions\":[\"2\",\"4\",\"16\",\"" keys "\"]}" more "}}\n"                    \
    "%" name "0 = bf16[2,16,4,8] get-tuple-element(%" name "), index=0\n"
#define ATTENTION(keys, heads, first, second)                             \
    ENTRY "%q = bf16[2,16,4,8] parameter(0)\n%k = bf16[2," keys "," heads \
          ",8] parameter(1)\n%v = bf16[2," keys "," heads                 \
          ",8] parameter(2)\n" first second                               \
          "ROOT %t = (bf16[2,16,4,8], bf16[2,16,4,8]) tuple(%a0, %b0)\n}\n"

static const struct {
    const char *text;
    cost        costs[4];
} costly[] = {
    /* a dot counts its batch and contracting dims */
    {ENTRY "%a = f32[5,7,2]{2,1,0} parameter(0)\n%b = f32[5,11,7]{2,1,0} parameter(1)\n"
           "ROOT %d = f32[5,2,11]{2,1,0} dot(%a, %b), lhs_batch_dims={0}, "
           "lhs_contracting_dims={1}, rhs_batch_dims={0}, rhs_contracting_dims={2}\n}\n",
     {{"d",
       EMP_OP_GEMM,
       2.0 * 5 * 2 * 11 * 7,
       4 * (5 * 7 * 2 + 5 * 11 * 7),
       4 * 5 * 2 * 11,
       {5, 2, 11, 7}}}},
    /* of 40 rows each meets the matrix of one of 3 groups; a gradient of each group's matrix sums over its rows only; scales
     * of blocks are read besides */
    {ENTRY "%a = f32[40,7] parameter(0)\n%b = f32[3,7,11] parameter(1)\n"
           "%g = s32[3] parameter(2)\n%c = f32[40,11] parameter(3)\n"
           "%d = f32[40,11] ragged-dot(%a, %b, %g), lhs_contracting_dims={1}, "
           "rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}\n"
           "%e = f32[3,7,11] ragged-dot(%a, %c, %g), lhs_contracting_dims={0}, "
           "rhs_contracting_dims={0}, lhs_ragged_dims={0}\n"
           "ROOT %t = (f32[40,11], f32[3,7,11]) tuple(%d, %e)\n}\n",
     {{"d",
       EMP_OP_GEMM,
       2.0 * 40 * 7 * 11,
       4 * (40 * 7 + 3 * 7 * 11 + 3),
       4 * 40 * 11,
       {1, 40, 11, 7}},
      {"e", EMP_OP_GEMM, 2.0 * 40 * 7 * 11, 0, 4 * 3 * 7 * 11, {1, 7, 11, 40}}}},
    {ENTRY "%a = f8e4m3fn[32,256] parameter(0)\n%b = f8e4m3fn[16,256] parameter(1)\n"
           "%x = f8e8m0fnu[32,8] parameter(2)\n%y = f8e8m0fnu[16,8] parameter(3)\n"
           "ROOT %d = f32[32,16] scaled-dot(%a, %b, %x, %y), lhs_contracting_dims={1}, "
           "rhs_contracting_dims={1}\n}\n",
     {{"d",
       EMP_OP_GEMM,
       2.0 * 32 * 16 * 256,
       (32 + 16) * (256 + 8),
       4 * 32 * 16,
       {1, 32, 16, 256}}}},
    /* 2 images of 9 x 9 with 6 channels in 3 groups, 3 x 3 windows at every second place: 5 x 5 and 12 */
    {ENTRY
     "%x = bf16[2,9,9,6]{3,2,1,0} parameter(0)\n%w = bf16[3,3,2,12]{3,2,1,0} "
     "parameter(1)\n"
     "ROOT %c = bf16[2,5,5,12]{3,2,1,0} convolution(%x, %w), window={size=3x3 stride=2x2 "
     "pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=3\n}\n",
     {{"c",
       EMP_OP_CONV,
       2.0 * 2 * 5 * 5 * 12 * 3 * 3 * 2,
       2 * (2 * 81 * 6 + 9 * 2 * 12),
       2 * 2 * 25 * 12,
       {3, 50, 4, 18}}}},
    /* between the elements of an enlarged input are zeros, which are not multiplied */
    {ENTRY "%x = f32[1,3,4,4] parameter(0)\n%w = f32[5,3,2,2] parameter(1)\n"
           "ROOT %c = f32[1,5,8,8] convolution(%x, %w), window={size=2x2 pad=1_1x1_1 "
           "lhs_dilate=2x2}, dim_labels=bf01_oi01->bf01\n}\n",
     {{"c", EMP_OP_CONV, 2.0 * 5 * 8 * 8 * 3 * 2 * 2 / 4, 0, 0, {0}}}},
    /* a convolution without a window is a product of matrices */
    {ENTRY "%x = bf16[7,5] parameter(0)\n%w = bf16[5,3] parameter(1)\n"
           "ROOT %c = bf16[7,3] convolution(%x, %w), dim_labels=bf_io->bf\n}\n",
     {{"c", EMP_OP_GEMM, 2.0 * 7 * 5 * 3, 0, 0, {1, 7, 3, 5}}}},
    /* as TPUs have products: 128 channels by 16 x 32, of which each place of a window of padding is one; a sum over heads
     * and channels; and a batch of 16 */
    {ENTRY "%x = f32[1,64,128] parameter(0)\n%w = f32[128,16,32] parameter(1)\n"
           "ROOT %c = f32[64,16,32] convolution(%x, %w), window={size=16 pad=15_15 "
           "rhs_reversal=1}, dim_labels=0bf_i0o->b0f\n}\n",
     {{"c", EMP_OP_GEMM, 2.0 * 64 * 16 * 32 * 128, 0, 0, {1, 64, 16 * 32, 128}}}},
    {ENTRY "%x = f32[64,16,32] parameter(0)\n%w = f32[16,32,128] parameter(1)\n"
           "ROOT %c = f32[64,128,1] convolution(%x, %w), window={size=16}, "
           "dim_labels=b0f_0io->bf0\n}\n",
     {{"c", EMP_OP_GEMM, 2.0 * 64 * 128 * 16 * 32, 0, 0, {1, 64, 128, 16 * 32}}}},
    {ENTRY "%x = f32[16,4,8] parameter(0)\n%w = f32[16,8,5] parameter(1)\n"
           "ROOT %c = f32[16,4,5] convolution(%x, %w), window={size=16 stride=15 "
           "lhs_dilate=16}, dim_labels=0bf_0io->0bf\n}\n",
     {{"c", EMP_OP_GEMM, 2.0 * 16 * 4 * 5 * 8, 0, 0, {16, 4, 5, 8}}}},
    /* a depthwise convolution is no product */
    {ENTRY "%x = f32[1,4,4,8] parameter(0)\n%w = f32[3,3,1,8] parameter(1)\n"
           "ROOT %c = f32[1,4,4,8] convolution(%x, %w), window={size=3x3 pad=1_1x1_1}, "
           "dim_labels=b01f_01io->b01f, feature_group_count=8\n}\n",
     {{"c", EMP_OP_POOL, 2.0 * 16 * 8 * 9, 0, 0, {0}}}},
    /* (a + b) * tanh(a), summed over rows: 4 operations an element, no bytes but those at its ends */
    {HEAD REDUCE(
         "sum",
         "add") "%body (a: f32[6,10], b: f32[6,10]) -> f32[6] {\n"
                "%a = f32[6,10]{1,0} parameter(0)\n%b = f32[6,10]{1,0} parameter(1)\n"
                "%c = f32[6,10]{1,0} add(%a, %b)\n%d = f32[6,10]{1,0} tanh(%a)\n"
                "%e = f32[6,10]{1,0} multiply(%c, %d)\n%z = f32[] constant(0)\n"
                "ROOT %s = f32[6]{0} reduce(%e, %z), dimensions={1}, to_apply=%sum\n}\n"
                "ENTRY %main (x: f32[6,10], y: f32[6,10]) -> f32[6] {\n"
                "%x = f32[6,10]{1,0} parameter(0)\n%y = f32[6,10]{1,0} parameter(1)\n"
                "ROOT %f = f32[6]{0} fusion(%x, %y), kind=kInput, calls=%body\n}\n",
     {{"f", EMP_OP_REDUCTION, 4.0 * 60, 2 * 240, 24, {0}}}},
    /* two products of 2 x 3 x 4 and 2 x 4 x 40: the larger one tells the sizes, FLOPs are of both */
    {HEAD
     "%body {\n%a = f32[2,3] parameter(0)\n%b = f32[3,4] parameter(1)\n"
     "%c = f32[4,40] parameter(2)\n%d = f32[2,4] dot(%a, %b), "
     "lhs_contracting_dims={1}, rhs_contracting_dims={0}\nROOT %e = f32[2,40] dot(%d, "
     "%c), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\nENTRY %main {\n"
     "%x = f32[2,3] parameter(0)\n%y = f32[3,4] parameter(1)\n"
     "%z = f32[4,40] parameter(2)\nROOT %f = f32[2,40] fusion(%x, %y, %z), "
     "kind=kOutput, calls=%body\n}\n",
     {{"f", EMP_OP_GEMM, 2.0 * 2 * 3 * 4 + 2.0 * 2 * 4 * 40, 0, 0, {2, 2, 40, 4}}}},
    /* 3 x 3 windows of 6 x 6, at every second place: 2 x 2; a sort takes four passes, as PyTorch's */
    {HEAD REDUCE(
         "max",
         "maximum") "ENTRY %main {\n%x = f32[5,6,6] parameter(0)\n"
                    "%z = f32[] constant(0)\n%w = f32[5,2,2] reduce-window(%x, %z), "
                    "window={size=1x3x3 stride=1x2x2}, to_apply=%max\n"
                    "ROOT %s = f32[5,2,2] sort(%w), dimensions={2}, to_apply=%max\n}\n",
     {{"w", EMP_OP_POOL, 5.0 * 2 * 2 * 9, 0, 0, {0}},
      {"s", EMP_OP_NORM, -1, 4 * 80, 0, {0}}}},
    /* the gradient of 2 x 2 windows at every second place: as many windows as its source has elements */
    {HEAD REDUCE("sum", "add") REDUCE(
         "ge",
         "maximum") "ENTRY %main {\n%x = f32[5,6,6] parameter(0)\n"
                    "%y = f32[5,3,3] parameter(1)\n%z = f32[] constant(0)\n"
                    "ROOT %c = f32[5,6,6] select-and-scatter(%x, %y, %z), "
                    "window={size=1x2x2 stride=1x2x2}, select=%ge, scatter=%sum\n}\n",
     {{"c", EMP_OP_POOL, 5.0 * 3 * 3 * 4, 0, 0, {0}}}},
    /* each of four passes of a sort by keys of a byte moves its values of four */
    {HEAD REDUCE("lt", "maximum") "ENTRY %main {\n%k = u8[100] parameter(0)\n"
                                  "%v = s32[100] parameter(1)\n"
                                  "ROOT %s = (u8[100], s32[100]) sort(%k, %v), "
                                  "dimensions={0}, to_apply=%lt\n}\n",
     {{"s", EMP_OP_NORM, -1, 4 * 500, 2 * 500, {0}}}},
    /* a stack of 100 matrices, of which a step reads one: twice the same row is one row of bytes more */
    {HEAD "%body {\n%w = f32[100,8,8] parameter(0)\n%i = s32[] parameter(1)\n"
          "%z = s32[] constant(0)\n%s = f32[1,8,8] dynamic-slice(%w, %i, %z, %z), "
          "dynamic_slice_sizes={1,8,8}\nROOT %n = f32[1,8,8] negate(%s)\n}\n"
          "ENTRY %main {\n%w = f32[100,8,8] parameter(0)\n%i = s32[] parameter(1)\n"
          "%rows = s32[5,1] parameter(2)\n%f = f32[1,8,8] fusion(%w, %i), kind=kLoop, "
          "calls=%body\n%g = f32[5,8,8] gather(%w, %rows), offset_dims={1,2}, "
          "slice_sizes={1,8,8}\n%l = f32[2,8,8] slice(%w), slice={[0:2], [0:8], "
          "[0:8]}\nROOT %t = (f32[1,8,8], f32[5,8,8], f32[2,8,8]) tuple(%f, %g, %l)\n"
          "}\n",
     {{"f", EMP_OP_ELEMENTWISE, 64.0, 256 + 4, 0, {0}},
      {"g", EMP_OP_MOVEMENT, -1, 5 * 256 + 20, 5 * 256, {0}},
      {"l", EMP_OP_MOVEMENT, -1, 2 * 256, 0, {0}}}},
    /* forward and backward calls describe the forward convolution: 4 images, 6 x 6, 3 x 3 of 8 to 16 channels */
    {ENTRY
     "%x = f32[4,8,6,6] parameter(0)\n%w = f32[16,8,3,3] parameter(1)\n"
     "%dy = f32[4,16,6,6] parameter(2)\n" CONV("y", "f32[4,16,6,6]", "%x, %w", "Forward")
         CONV("dx", "f32[4,8,6,6]", "%dy, %w", "BackwardInput")
             CONV("dw", "f32[16,8,3,3]", "%x, %dy",
                  "BackwardFilter") "ROOT %t = (f32[4,16,6,6], f32[4,8,6,6], "
                                    "f32[16,8,3,3]) tuple(%y0, %dx0, %dw0)\n}\n",
     {{"y", EMP_OP_CONV, 2.0 * 4 * 36 * 16 * 8 * 9, 0, 0, {1, 144, 16, 72}},
      {"dx", EMP_OP_CONV, 2.0 * 4 * 36 * 16 * 8 * 9, 0, 0, {1, 144, 8, 144}},
      {"dw", EMP_OP_CONV, 2.0 * 4 * 36 * 16 * 8 * 9, 0, 0, {1, 72, 16, 144}}}},
    /* attention of 2 x 4 heads, 16 queries and 32 keys of width 8; 16 keys with a causal mask, of which 8 are seen */
    {ATTENTION("32", "4", FMHA("a", "32", "", "Softmax"),
               FMHA("b", "32", ",\"mask_type\":\"NO_MASK\"", "SoftmaxBackward")),
     {{"a", EMP_OP_GEMM, 2 * 2.0 * 8 * 16 * 32 * 8, 0, 0, {0}},
      {"b", EMP_OP_GEMM, 5 * 2.0 * 8 * 16 * 32 * 8, 0, 0, {0}}}},
    {ATTENTION("16", "4", FMHA("a", "16", ",\"mask_type\":\"CAUSAL\"", "Softmax"),
               FMHA("b", "16", ",\"is_causal_mask\":true", "Softmax")),
     {{"a", EMP_OP_GEMM, 2 * 2.0 * 8 * 16 * 8 * 8, 0, 0, {0}},
      {"b", EMP_OP_GEMM, 2 * 2.0 * 8 * 16 * 8 * 8, 0, 0, {0}}}},
    /* one head of keys and values for all queries; of 32 keys 4 in a window, of 16 before the query 4, less those that the
     * first four queries lack: (1 + 2 + 3) + 13 x 4 of 16 x 4, in whole keys a query */
    {ATTENTION("32", "1", FMHA("a", "32", "", "Softmax"),
               FMHA("b", "32", ",\"sliding_window_length\":4", "SoftmaxBackward")),
     {{"a", EMP_OP_GEMM, 2 * 2.0 * 8 * 16 * 32 * 8, 0, 0, {0}},
      {"b", EMP_OP_GEMM, 5 * 2.0 * 8 * 16 * 4 * 8, 0, 0, {0}}}},
    {ATTENTION("16", "1",
               FMHA("a", "16", ",\"mask_type\":\"CAUSAL\",\"sliding_window_length\":4",
                    "Softmax"),
               FMHA("b", "16", ",\"sliding_window_length\":0", "Softmax")),
     {{"a", EMP_OP_GEMM, 2 * 2.0 * 8 * 16 * 4 * 8, 0, 0, {0}},
      {"b", EMP_OP_GEMM, 2 * 2.0 * 8 * 16 * 16 * 8, 0, 0, {0}}}},
};

Test(hlo, kernels_have_the_costs_of_their_formulas)
{
    for (size_t i = 0; i < COUNT(costly); i++) {
        emp_graph *g = hlo_graph(costly[i].text, NULL);
        expect_costs(g, costly[i].costs);
        if (emp_graph_find(g, "f") >= 0) cr_expect_eq(hlo_cost(g, "f")->kernels, 1);
        if (strcmp(costly[i].costs[0].name, "y") == 0)
            cr_expect_eq(hlo_cost(g, "y")->window, EMP_CONV_WINOGRAD);
        if (i == 1) cr_expect_eq(hlo_cost(g, "c")->window, EMP_CONV_WIDE);
    }
}

#define DIMS                                                                          \
    "{\"lhs_contracting_dimensions\":[\"1\"],\"rhs_contracting_dimensions\":[\"1\"]," \
    "\"lhs_batch_dimensions\":[],\"rhs_batch_dimensions\":[]}"
#define QUOTED \
    "{\\\"lhs_contracting_dimensions\\\":[1],\\\"rhs_contracting_dimensions\\\":[1]}"

/* cuBLAS takes its sizes from JSON, of XLA 2024 in an object, before that in a text; its workspace is not data. */
Test(hlo, a_call_of_cublas_is_a_product)
{
    emp_graph *g = hlo_graph(
        ENTRY "%a = f16[8,16] parameter(0)\n%b = f16[32,16] parameter(1)\n"
              "%g = (f16[8,32]{1,0}, s8[4194304]{0}) custom-call(%a, %b), "
              "custom_call_target=\"__cublas$lt$matmul\", backend_config={\"gemm_backen"
              "d_config\":{\"dot_dimension_numbers\":" DIMS
              "}}\n%h = (f16[8,32]{1,0}, u8[1024]{0}) custom-call(%a, %b), "
              "custom_call_target=\"__cublas$gemm\", backend_config=\"{\\\"dot_dimensio"
              "n_numbers\\\":" QUOTED "}\"\n"
              "%u = f16[8,32]{1,0} get-tuple-element(%g), index=0\n"
              "%v = f16[8,32]{1,0} get-tuple-element(%h), index=0\n"
              "ROOT %t = (f16[8,32], f16[8,32]) tuple(%u, %v)\n}\n",
        NULL);
    const double product = 2.0 * 8 * 16 * 32;

    expect_costs(
        g, (cost[]){{"g", EMP_OP_GEMM, product, 0, 0, {0}},
                    {"h", EMP_OP_GEMM, product, 2 * (8 * 16 + 32 * 16), 2 * 8 * 32, {0}},
                    {0}});
    cr_expect_eq(hlo_cost(g, "g")->workspace_bytes, 4194304);
    cr_expect_eq(hlo_cost(g, "h")->workspace_bytes, 1024);
    emp_op_id op = graph_find(g, "h");
    cr_expect_eq(g->output_offset[op + 1] - g->output_offset[op], 1, "the result alone");
}

Test(hlo, a_call_that_is_not_known_is_one_pass_and_is_named)
{
    SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};
    emp_graph *g = hlo_graph(
        ENTRY "%a = f32[10] parameter(0)\n"
              "ROOT %c = f32[20] custom-call(%a), custom_call_target=\"my_kernel\"\n}\n",
        &notes);

    cr_expect(graph_is_noted(&notes, "\"my_kernel\""));
    expect_costs(g, (cost[]){{"c", hlo_cost(g, "c")->op_class, 20.0, 40, 80, {0}}, {0}});
}

/* A row written into [100, 8]; rows added to it by number. */
Test(hlo, an_update_is_written_in_place)
{
    emp_graph *g = hlo_graph(
        HEAD REDUCE(
            "sum",
            "add") "%body {\n%i = s32[] parameter(0)\n%b = f32[100,8] parameter(1)\n"
                   "%v = f32[8] parameter(2)\n%z = s32[] constant(0)\n"
                   "%e = f32[8] exponential(%v)\n%r = f32[1,8] bitcast(%e)\n"
                   "%u = f32[100,8] dynamic-update-slice(%b, %r, %i, %z)\n"
                   "ROOT %c = f32[100,8] bitcast(%u)\n}\nENTRY %main {\n"
                   "%i = s32[] parameter(0)\n%b = f32[100,8] parameter(1)\n"
                   "%v = f32[8] parameter(2)\n%rows = s32[3,1] parameter(3)\n"
                   "%add = f32[3,8] parameter(4)\n%f = f32[100,8] fusion(%i, %b, %v), "
                   "kind=kLoop, calls=%body\nROOT %s = f32[100,8] scatter(%f, %rows, "
                   "%add), to_apply=%sum\n}\n",
        NULL);
    emp_op_id f = graph_find(g, "f");

    cr_expect(g->op[f].is_alias);
    cr_expect_eq(g->tensor[g->input[g->input_offset[f]]].producer, graph_find(g, "b"),
                 "what is written comes first");
    cr_expect(g->op[graph_find(g, "s")].is_alias);
    cr_expect_eq(hlo_cost(g, "f")->flops, 8.0, "views compute nothing");
    cr_expect_eq(hlo_cost(g, "f")->bytes_read, 32 + 4);
    cr_expect_eq(hlo_cost(g, "f")->bytes_written, 32);
    cr_expect_eq(hlo_cost(g, "s")->bytes_read, 96 + 12 + 96);
    cr_expect_eq(hlo_cost(g, "s")->bytes_written, 96);
    cr_expect_eq(hlo_cost(g, "s")->flops, 24.0);
}

Test(hlo, views_and_tuples_are_no_ops)
{
    emp_graph *g = hlo_graph(ENTRY "%p = (f32[4], (s8[2], s8[3])) parameter(0)\n"
                                   "%q = (s8[2], s8[3]) get-tuple-element(%p), index=1\n"
                                   "%r = s8[3] get-tuple-element(%q), index=1\n"
                                   "%v = u8[3] bitcast(%r)\n%k = f32[] constant(1)\n"
                                   "%b = f32[4] broadcast(%k), dimensions={}\n"
                                   "ROOT %t = (u8[3], f32[4]) tuple(%v, %b)\n}\n",
                             NULL);

    cr_expect_eq(g->op_count, 3);
    cr_expect_str_eq(graph_type(g, "p"), "hlo.parameter");
    cr_expect(g->op[graph_find(g, "k")].is_folded);
    cr_expect(g->is_target[graph_find(g, "p")] && g->is_target[graph_find(g, "b")]);
}

/* As XLA's parser has it: the root is the last instruction where none says that it is. */
Test(hlo, the_last_instruction_is_the_root)
{
    emp_graph *g =
        hlo_graph(ENTRY "%x = f32[4] parameter(0)\n%s = f32[4] custom-call(%x), "
                        "custom_call_target=\"Sharding\", sharding={replicated}\n"
                        "%y = f32[4] negate(%s)\n}\n",
                  NULL);

    cr_expect_eq(g->op_count, 2, "a mark is no op");
    cr_expect(graph_reads(g, "y", "x"));
    cr_expect(g->is_target[graph_find(g, "y")]);
}

/* XLA prints the titles of its tables of source files also where the tables are empty. */
Test(hlo, tables_of_source_files_go_by)
{
    static const char *const tables[] = {
        "FileNames\n\nFunctionNames\n\nFileLocations\n\nStackFrames\n\n\n",
        "FileNames\n1 \"a.py\"\n2 \"b.py\"\n\nFunctionNames\n1 \"f\"\n\n"
        "FileLocations\n1 {file_name_id=1 line=3}\n\nStackFrames\n"
        "1 {file_location_id=1 parent_frame_id=1}\n\n"};

    for (int i = 0; i < 2; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "HloModule m, is_scheduled=true\n\n%s"
                 "%%FileNames {\nROOT %%p = f32[2] parameter(0)\n}\n"
                 "ENTRY %%main (x: f32[2]) -> f32[2] {\n%%x = f32[2] parameter(0)\n"
                 "ROOT %%y = f32[2] negate(%%x)\n}\n",
                 tables[i]);
        cr_expect_eq(hlo_graph(text, NULL)->op_count, 2);
    }
}

Test(hlo, scopes_of_metadata_are_in_names)
{
    emp_graph *g =
        hlo_graph(ENTRY "%a = f32[4] parameter(0), metadata={op_name=\"x\"}\n"
                        "%b = f32[4] negate(%a), metadata={op_type=\"neg\" "
                        "op_name=\"jit(f)/dense_0/neg[a=b/c];jit(f)/y\"}\n"
                        "ROOT %c = f32[4] abs(%b), control-predecessors={%a}\n}\n",
                  NULL);

    cr_expect_str_eq(g->name[graph_find(g, "b")], "jit(f)/dense_0/b");
    cr_expect_str_eq(g->name[graph_find(g, "c")], "c");
    cr_expect_str_eq(g->name[graph_find(g, "a")], "a");
    cr_expect(graph_waits(g, "c", "a"));
}

/* The bits that XLA's memory_analysis() counts for an argument of a compiled function: elements of fewer than 8 are packed. */
Test(hlo, element_types_have_their_bits)
{
    static const struct {
        const char *type;
        int64_t     bits;
    } types[] = {{"pred", 8},      {"s8", 8},         {"u16", 16},      {"bf16", 16},
                 {"f16", 16},      {"f32", 32},       {"s64", 64},      {"f8e4m3fn", 8},
                 {"f8e5m2", 8},    {"c64", 64},       {"c128", 128},    {"f64", 64},
                 {"u32", 32},      {"s4", 4},         {"u4", 4},        {"s2", 2},
                 {"u2", 2},        {"f4e2m1fn", 4},   {"f8e3m4", 8},    {"f8e4m3", 8},
                 {"f8e8m0fnu", 8}, {"f8e4m3fnuz", 8}, {"f8e5m2fnuz", 8}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        emp_graph *g = hlo_graph(
            scratch_print(
                "HloModule t\nENTRY e {\nROOT a = %s[3,5]{1,0:T(8,128)(2,1)E(4)S(1)} "
                "parameter(0)\n}\n",
                types[i].type),
            NULL);
        cr_expect_eq(g->op[0].persistent_bytes, (15 * types[i].bits + 7) / 8, "%s",
                     types[i].type);
    }
}

/* A product of complex numbers is four of real ones. */
Test(hlo, a_complex_product_is_four)
{
    static const cost costs[] = {{"d",
                                  EMP_OP_GEMM,
                                  8.0 * 8 * 128 * 64,
                                  (8 * 64 + 64 * 128) * 8,
                                  8 * 128 * 8,
                                  {4, 8, 128, 64}},
                                 {NULL, EMP_OP_GEMM, 0, 0, 0, {0}}};

    expect_costs(hlo_graph(ENTRY
                           "%x = c64[8,64] parameter(0)\n%w = c64[64,128] "
                           "parameter(1)\nROOT %d = c64[8,128] dot(%x, %w), "
                           "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n",
                           NULL),
                 costs);
}

/* Memory for a loop's results is only reserved. */
Test(hlo, an_allocation_is_no_kernel)
{
    SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};
    emp_graph *g = hlo_graph(
        ENTRY "%a = f32[4] custom-call(), custom_call_target=\"AllocateBuffer\"\n"
              "ROOT %y = f32[4] negate(%a)\n}\n",
        &notes);
    const emp_op_cost *c = hlo_cost(g, "a");

    cr_expect(c->kernels == 0 && c->bytes_written == 0 && c->flops == 0.0);
    cr_expect_eq(g->tensor[g->output_offset[graph_find(g, "a")]].bytes, 16);
    cr_expect_not(graph_is_noted(&notes, "AllocateBuffer"));
}

/* Weights of 4 bits, converted in the kernel of a product, are read as such. */
Test(hlo, packed_weights_are_read_packed)
{
    static const cost costs[] = {{"f",
                                  EMP_OP_GEMM,
                                  2.0 * 8 * 128 * 64 + 64 * 128,
                                  64 * 128 / 2 + 8 * 64 * 2,
                                  8 * 128 * 2,
                                  {1, 8, 128, 64}},
                                 {NULL, EMP_OP_GEMM, 0, 0, 0, {0}}};

    expect_costs(
        hlo_graph(HEAD
                  "%c {\n%p = s4[64,128]{1,0:E(4)} parameter(0)\n"
                  "%q = bf16[8,64] parameter(1)\n%r = bf16[64,128] convert(%p)\n"
                  "ROOT %d = bf16[8,128] dot(%q, %r), lhs_contracting_dims={1}, "
                  "rhs_contracting_dims={0}\n}\n"
                  "ENTRY %main {\n%w = s4[64,128]{1,0:E(4)} parameter(0)\n"
                  "%x = bf16[8,64] parameter(1)\n"
                  "ROOT %f = bf16[8,128] fusion(%w, %x), kind=kOutput, calls=%c\n}\n",
                  NULL),
        costs);
}

#define X "%x = f32[2,3] parameter(0)\n"

static const graph_fault wrong[] = {
    {"HloModule", "line 1: the file ends"},
    {HEAD, "ENTRY"},
    {HEAD "%c {\n%a = f32[] constant(0)\n}\n", "begins with ENTRY"},
    {ENTRY "}\n", "a computation with an instruction should stand"},
    {ENTRY X, "the file ends"},
    {ENTRY "%x f32[2]", "line 3: \"f32[2]\""},
    {ENTRY "%x = 7 add()", "\"add()\""},
    {ENTRY "%x = f32[2 add()", "a bracket that is closed"},
    {ENTRY "%x = f32[2]{0 add()", "a layout that is closed"},
    {ENTRY "%x = f32[2] add(", "the name of an operand"},
    {ENTRY "%x = f32[2] constant(", "a parenthesis that is closed"},
    {ENTRY "%x = f32[2] parameter(0), =3", "an attribute such as index=0"},
    {ENTRY X X "}\n", "a name that no instruction has yet"},
    {ENTRY "%x = f31[2] parameter(0)\n}\n", "line 3: x is of an element type"},
    {ENTRY "%x = f32[<=2] parameter(0)\n}\n", "x has a dynamic size"},
    {ENTRY "%x = f32[1234567890123456789] parameter(0)\n}\n", "no whole number"},
    {ENTRY "%x = f32[1,1,1,1,1,1,1,1,1] parameter(0)\n}\n", "more than 8 dimensions"},
    {ENTRY "ROOT %x = f32[2] negate(%y)\n}\n", "x reads \"y\""},
    {ENTRY X "ROOT %y = f32[2] get-tuple-element(%x), index=0\n}\n",
     "y takes part \"0\" of x"},
    {ENTRY "%x = (f32[2]) parameter(0)\nROOT %y = (f32[], f32[]) get-tuple-element(%x), "
           "index=0\n}\n",
     "y is not as part 0 of x is"},
    {ENTRY X "ROOT %t = (f32[2,3]) tuple(%x, %x)\n}\n", "t has 1 tensors"},
    {ENTRY "ROOT %d = f32[2] dynamic-update-slice()\n}\n", "d has 0 operands"},
    {ENTRY "ROOT %x = f32[2] parameter(-1)\n}\n", "x is parameter \"-1\""},
    {ENTRY "%a = f32[2] parameter(0)\nROOT %b = f32[2] parameter(2)\n}\n",
     "parameters of main"},
    {ENTRY X "ROOT %d = f32[2,2] dot(%x, %x), lhs_contracting_dims={1}, "
             "rhs_contracting_dims={0}\n}\n",
     "d multiplies [2,3] and [2,3]"},
    {ENTRY X "ROOT %d = f32[2] dot(%x, %x), lhs_contracting_dims={7}\n}\n", "do not fit"},
    {ENTRY X "ROOT %c = f32[2,3] convolution(%x, %x), dim_labels=bf_x\n}\n", "\"bf_x\""},
    {ENTRY X "ROOT %f = f32[2] fusion(%x), kind=kLoop, calls=%nothing\n}\n",
     "f has calls=\"nothing\""},
    {ENTRY X
     "%t = token[] after-all()\nROOT %s = (f32[2], u32[], token[]) send(%x, %t)\n}\n",
     "s is \"send\""},
};

Test(hlo, what_is_wrong_with_a_file_is_said)
{
    emp_graph *g = NULL;
    SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};
    emp_import_params params = emp_import_params_default();
    char              text[8192] = ENTRY;

    graph_expect_faults("module.txt", wrong, COUNT(wrong), EMP_EFORMAT);
    /* all problems are reported at once; what reads a broken instruction adds no sentence */
    for (int i = 0; i < 40; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "%%a%d = f32[?] parameter(%d)\n%%b%d = f32[2] negate(%%a%d)\n", i, i, i,
                 i);
    strcat(text, "}\n");
    graph_expect_faults("module.txt",
                        &(graph_fault){text, "40 problems, the first: line 3: a0"}, 1,
                        EMP_EFORMAT);
    params.notes = &notes;
    (void)emp_import_load(&g, NULL, scratch_path("module.txt"), &params, NULL);
    cr_expect(graph_is_noted(&notes, "line 41: a19"));
    cr_expect_not(graph_is_noted(&notes, ": b"));
}

Test(hlo, stablehlo_is_refused_with_what_to_call)
{
    static const graph_fault texts[] = {
        {"module @jit_f attributes {mhlo.num_partitions = 1 : i32} {\n"
         "  func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {\n"
         "    %0 = stablehlo.add %arg0, %arg0 : tensor<4xf32>\n",
         ".compile().as_text()"},
        {"#loc1 = loc(\"x\")\nmodule @jit_f {\n  func.func public @main() {\n",
         ".compile().as_text()"}};

    graph_expect_faults("module.txt", texts, COUNT(texts), EMP_EUNSUPPORTED);
}

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

Test(hlo, products_have_the_flops_of_their_closed_forms)
{
    for (size_t i = 0; i < COUNT(steps); i++) {
        SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};
        emp_graph *g = hlo_file(steps[i].file, &notes);
        double     flops = 0.0;
        int32_t    fed = 0;

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
        cr_expect(graph_is_noted(&notes, "parameters are weights: all are inputs"));
    }
}

/* dW1 = x' dz1, then w - 0.001 dW1: reads x, dz1 and w, writes w. */
Test(hlo, a_product_with_its_update_is_one_kernel)
{
    const emp_op_cost *c = hlo_cost(hlo_file("samples/mlp.hlo.txt.gz", NULL),
                                    "jit(step)/transpose(jvp())/gemm_fusion_dot");
    cr_expect(c->m == 512 && c->n == 1024 && c->k == 128 && c->batch == 1);
    cr_expect_eq(c->flops, 2.0 * 512 * 1024 * 128 + 2.0 * 512 * 1024);
    cr_expect_eq(c->bytes_read, 4 * (128 * 512 + 128 * 1024 + 512 * 1024));
    cr_expect_eq(c->bytes_written, 4 * 512 * 1024);
    cr_expect_eq(c->kernels, 1);
}

/* Each of 10 steps writes one row of [10, 8, 64] and reads one of them back. */
Test(hlo, a_row_of_a_loops_result_is_written_in_place)
{
    emp_graph *g = hlo_file("samples/scan.hlo.txt.gz", NULL);

    for (int n = 0; n < 10; n++) {
        emp_op_id op = graph_find(g, scratch_print("while.12.%d/fusion-start.1", n));
        cr_expect(g->op[op].is_alias);
        cr_expect_eq(g->op[op].cost->bytes_written, 4 * 8 * 64);
        cr_expect_eq(g->op[op].cost->bytes_read, 4 * 8 * 64 + 4, "%lld",
                     (long long)g->op[op].cost->bytes_read);
        op = graph_find(g, scratch_print("while.18.%d/fusion-start", n));
        cr_expect_not(g->op[op].is_alias);
        cr_expect_eq(g->op[op].cost->bytes_read, 4 * 8 * 64 + 4);
    }
}

Test(hlo, survives_every_allocation_failure)
{
    static const char *const names[] = {
        "tests/graphs/import/hlo/seeds/kernels.hlo.txt",
        "tests/graphs/import/hlo/seeds/control.hlo.txt",
        "tests/graphs/import/hlo/samples/conv.hlo.txt.gz"};

    for (size_t i = 0; i < COUNT(names); i++) graph_survives(graph_source_path(names[i]));
}
