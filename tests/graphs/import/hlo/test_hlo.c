// SPDX-License-Identifier: GPL-3.0-or-later
/* Modules of XLA: kernels, their FLOPs and bytes by hand, names, and what is wrong with a file. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/graphs/import/hlo/sample.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

TestSuite(hlo, .init = scratch_create, .fini = scratch_remove);

#define HEAD  "HloModule m, is_scheduled=true\n"
#define ENTRY HEAD "ENTRY %main {\n"

/* ---- products ---- */

Test(hlo, a_dot_counts_its_batch_and_contracting_dims)
{
    emp_graph *g = hlo_graph(
        ENTRY
        "%a = f32[5,7,2]{2,1,0} parameter(0)\n"
        "%b = f32[5,11,7]{2,1,0} parameter(1)\n"
        "ROOT %d = f32[5,2,11]{2,1,0} dot(%a, %b), lhs_batch_dims={0}, "
        "lhs_contracting_dims={1}, rhs_batch_dims={0}, rhs_contracting_dims={2}\n}\n");
    const emp_op_cost *c = hlo_cost(g, "d");

    cr_expect_eq(c->op_class, EMP_OP_GEMM);
    cr_expect(c->batch == 5 && c->m == 2 && c->n == 11 && c->k == 7);
    cr_expect_eq(c->flops, 2.0 * 5 * 2 * 11 * 7);
    cr_expect_eq(c->bytes_read, 4 * (5 * 7 * 2 + 5 * 11 * 7));
    cr_expect_eq(c->bytes_written, 4 * 5 * 2 * 11);
    cr_expect_eq(c->work, EMP_WORK_PRODUCT);
    emp_graph_destroy(g);
}

/* 2 images of 9 x 9 with 6 channels in 3 groups, 3 x 3 windows at every second place: 5 x 5 and 12. */
Test(hlo, a_convolution_counts_windows_and_groups)
{
    emp_graph *g = hlo_graph(
        ENTRY "%x = bf16[2,9,9,6]{3,2,1,0} parameter(0)\n"
              "%w = bf16[3,3,2,12]{3,2,1,0} parameter(1)\n"
              "ROOT %c = bf16[2,5,5,12]{3,2,1,0} convolution(%x, %w), window={size=3x3 "
              "stride=2x2 "
              "pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=3\n}\n");
    const emp_op_cost *c = hlo_cost(g, "c");

    cr_expect_eq(c->op_class, EMP_OP_CONV);
    cr_expect_eq(c->flops, 2.0 * 2 * 5 * 5 * 12 * 3 * 3 * 2);
    cr_expect(c->m == 50 && c->n == 4 && c->k == 18 && c->batch == 3);
    cr_expect_eq(c->window, EMP_CONV_WIDE);
    cr_expect_eq(c->bytes_read, 2 * (2 * 81 * 6 + 9 * 2 * 12));
    cr_expect_eq(c->bytes_written, 2 * 2 * 25 * 12);
    emp_graph_destroy(g);
}

/* Between the elements of an enlarged input are zeros, which nobody multiplies. */
Test(hlo, a_dilated_input_has_no_work_in_its_holes)
{
    emp_graph *g = hlo_graph(
        ENTRY "%x = f32[1,3,4,4] parameter(0)\n"
              "%w = f32[5,3,2,2] parameter(1)\n"
              "ROOT %c = f32[1,5,8,8] convolution(%x, %w), window={size=2x2 pad=1_1x1_1 "
              "lhs_dilate=2x2}, dim_labels=bf01_oi01->bf01\n}\n");

    cr_expect_eq(hlo_cost(g, "c")->flops, 2.0 * 5 * 8 * 8 * 3 * 2 * 2 / 4);
    emp_graph_destroy(g);
}

Test(hlo, a_convolution_without_a_window_is_a_product_of_matrices)
{
    emp_graph *g = hlo_graph(
        ENTRY "%x = bf16[7,5] parameter(0)\n%w = bf16[5,3] parameter(1)\n"
              "ROOT %c = bf16[7,3] convolution(%x, %w), dim_labels=bf_io->bf\n}\n");
    const emp_op_cost *c = hlo_cost(g, "c");

    cr_expect_eq(c->op_class, EMP_OP_GEMM);
    cr_expect(c->m == 7 && c->n == 3 && c->k == 5 && c->flops == 2.0 * 7 * 5 * 3);
    emp_graph_destroy(g);
}

Test(hlo, a_depthwise_convolution_is_no_product)
{
    emp_graph *g = hlo_graph(
        ENTRY
        "%x = f32[1,4,4,8] parameter(0)\n"
        "%w = f32[3,3,1,8] parameter(1)\n"
        "ROOT %c = f32[1,4,4,8] convolution(%x, %w), window={size=3x3 pad=1_1x1_1}, "
        "dim_labels=b01f_01io->b01f, feature_group_count=8\n}\n");
    const emp_op_cost *c = hlo_cost(g, "c");

    cr_expect_eq(c->op_class, EMP_OP_POOL);
    cr_expect_eq(c->flops, 2.0 * 16 * 8 * 9);
    cr_expect_eq(c->m, 0);
    emp_graph_destroy(g);
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
        ENTRY "%a = f16[8,16] parameter(0)\n"
              "%b = f16[32,16] parameter(1)\n"
              "%g = (f16[8,32]{1,0}, s8[4194304]{0}) custom-call(%a, %b), "
              "custom_call_target=\"__cublas$lt$matmul\", "
              "backend_config={\"gemm_backend_config\":{\"dot_dimension_numbers\":" DIMS
              "}}\n"
              "%h = (f16[8,32]{1,0}, u8[1024]{0}) custom-call(%a, %b), "
              "custom_call_target=\"__cublas$gemm\", "
              "backend_config=\"{\\\"dot_dimension_numbers\\\":" QUOTED "}\"\n"
              "%u = f16[8,32]{1,0} get-tuple-element(%g), index=0\n"
              "%v = f16[8,32]{1,0} get-tuple-element(%h), index=0\n"
              "ROOT %t = (f16[8,32], f16[8,32]) tuple(%u, %v)\n}\n");
    const emp_op_cost *c = hlo_cost(g, "h");

    cr_expect_eq(hlo_cost(g, "g")->flops, 2.0 * 8 * 16 * 32);
    cr_expect_eq(hlo_cost(g, "g")->workspace_bytes, 4194304);
    cr_expect_eq(c->op_class, EMP_OP_GEMM);
    cr_expect_eq(c->flops, 2.0 * 8 * 16 * 32);
    cr_expect_eq(c->bytes_read, 2 * (8 * 16 + 32 * 16));
    cr_expect_eq(c->bytes_written, 2 * 8 * 32);
    cr_expect_eq(c->workspace_bytes, 1024);
    emp_op_id op = hlo_find(g, "h");
    cr_expect_eq(g->output_offset[op + 1] - g->output_offset[op], 1, "the result alone");
    emp_graph_destroy(g);
}

/* Forward and backward calls describe the forward convolution: 4 images, 6 x 6, 3 x 3 of 8 to 16 channels. */
Test(hlo, calls_of_cudnn_are_the_products_of_a_convolution)
{
#define CONV(name, result, operands, target)                         \
    "%" name " = (" result ", u8[0]{0}) custom-call(" operands       \
    "), window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01, " \
    "custom_call_target=\"__cudnn$conv" target "\"\n"                \
    "%" name "0 = " result " get-tuple-element(%" name "), index=0\n"
    emp_graph *g = hlo_graph(
        ENTRY
        "%x = f32[4,8,6,6] parameter(0)\n"
        "%w = f32[16,8,3,3] parameter(1)\n"
        "%dy = f32[4,16,6,6] parameter(2)\n" CONV("y", "f32[4,16,6,6]", "%x, %w",
                                                  "Forward")
            CONV("dx", "f32[4,8,6,6]", "%dy, %w", "BackwardInput")
                CONV("dw", "f32[16,8,3,3]", "%x, %dy",
                     "BackwardFilter") "ROOT %t = (f32[4,16,6,6], f32[4,8,6,6], "
                                       "f32[16,8,3,3]) tuple(%y0, %dx0, %dw0)\n}\n");
    const double       flops = 2.0 * 4 * 36 * 16 * 8 * 9;
    const emp_op_cost *y = hlo_cost(g, "y"), *dx = hlo_cost(g, "dx");
    const emp_op_cost *dw = hlo_cost(g, "dw");

    cr_expect(y->flops == flops && dx->flops == flops && dw->flops == flops);
    cr_expect(y->m == 144 && y->n == 16 && y->k == 72);
    cr_expect(dx->m == 144 && dx->n == 8 && dx->k == 144);
    cr_expect(dw->m == 72 && dw->n == 16 && dw->k == 144);
    cr_expect_eq(y->window, EMP_CONV_WINOGRAD);
    emp_graph_destroy(g);
}

/* 2 x 4 heads, 16 queries and 32 keys of width 8; 16 keys with a causal mask, of which 8 are seen. */
Test(hlo, calls_of_cudnns_attention_count_all_their_products)
{
#define FMHA(name, keys, more, target)                                                  \
    "%" name " = (bf16[2,16,4,8], u8[8]{0}) custom-call(%q, %k, %v), "                  \
    "custom_call_target=\"__cudnn$fmha" target                                          \
    "\", backend_config={\"cudnn_fmha_backend_config\":{\"intermediate_tensor_shape\":" \
    "{\"dimensions\":[\"2\",\"4\",\"16\",\"" keys "\"]}" more "}}\n"                    \
    "%" name "0 = bf16[2,16,4,8] get-tuple-element(%" name "), index=0\n"
    emp_graph *g = hlo_graph(
        ENTRY "%q = bf16[2,16,4,8] parameter(0)\n%k = bf16[2,32,4,8] parameter(1)\n"
              "%v = bf16[2,32,4,8] parameter(2)\n" FMHA("a", "32", "", "Softmax")
                  FMHA("b", "32", ",\"mask_type\":\"NO_MASK\"",
                       "SoftmaxBackward") "ROOT %t = (bf16[2,16,4,8], bf16[2,16,4,8]) "
                                          "tuple(%a0, %b0)\n}\n");

    cr_expect_eq(hlo_cost(g, "a")->flops, 2 * 2.0 * 8 * 16 * 32 * 8);
    cr_expect_eq(hlo_cost(g, "b")->flops, 5 * 2.0 * 8 * 16 * 32 * 8);
    emp_graph_destroy(g);
    g = hlo_graph(ENTRY
                  "%q = bf16[2,16,4,8] parameter(0)\n%k = bf16[2,16,4,8] parameter(1)\n"
                  "%v = bf16[2,16,4,8] parameter(2)\n" FMHA(
                      "a", "16", ",\"mask_type\":\"CAUSAL\"", "Softmax")
                      FMHA("b", "16", ",\"is_causal_mask\":true",
                           "Softmax") "ROOT %t = (bf16[2,16,4,8], bf16[2,16,4,8]) "
                                      "tuple(%a0, %b0)\n}\n");
    cr_expect_eq(hlo_cost(g, "a")->flops, 2 * 2.0 * 8 * 16 * 8 * 8);
    cr_expect_eq(hlo_cost(g, "b")->flops, 2 * 2.0 * 8 * 16 * 8 * 8);
    emp_graph_destroy(g);
}

Test(hlo, a_call_that_is_not_known_is_one_pass_and_is_named)
{
    emp_graph       *g = NULL;
    emp_import_notes notes = {0};

    cr_assert_eq(
        hlo_read_text(
            &g, &notes,
            ENTRY
            "%a = f32[10] parameter(0)\n"
            "ROOT %c = f32[20] custom-call(%a), custom_call_target=\"my_kernel\"\n}\n",
            NULL),
        EMP_OK);
    cr_expect(hlo_is_assumed(&notes, "calls of \"my_kernel\""));
    cr_expect_eq(hlo_cost(g, "c")->bytes_read, 40);
    cr_expect_eq(hlo_cost(g, "c")->bytes_written, 80);
    cr_expect_eq(hlo_cost(g, "c")->flops, 20.0);
    emp_import_notes_clear(&notes);
    emp_graph_destroy(g);
}

/* ---- fusions ---- */

/* (a + b) * tanh(a), summed over rows: 4 operations an element, 1 kernel, no bytes but those at its ends. */
Test(hlo, a_fusion_is_one_pass)
{
    emp_graph *g = hlo_graph(
        HEAD "%sum (p: f32[], q: f32[]) -> f32[] {\n"
             "%p = f32[] parameter(0)\n%q = f32[] parameter(1)\nROOT %r = f32[] add(%p, "
             "%q)\n}\n"
             "%body (a: f32[6,10], b: f32[6,10]) -> f32[6] {\n"
             "%a = f32[6,10]{1,0} parameter(0)\n%b = f32[6,10]{1,0} parameter(1)\n"
             "%c = f32[6,10]{1,0} add(%a, %b)\n%d = f32[6,10]{1,0} tanh(%a)\n"
             "%e = f32[6,10]{1,0} multiply(%c, %d)\n%z = f32[] constant(0)\n"
             "ROOT %s = f32[6]{0} reduce(%e, %z), dimensions={1}, to_apply=%sum\n}\n"
             "ENTRY %main (x: f32[6,10], y: f32[6,10]) -> f32[6] {\n"
             "%x = f32[6,10]{1,0} parameter(0)\n%y = f32[6,10]{1,0} parameter(1)\n"
             "ROOT %f = f32[6]{0} fusion(%x, %y), kind=kInput, calls=%body\n}\n");
    const emp_op_cost *c = hlo_cost(g, "f");

    cr_expect_eq(g->op_count, 3);
    cr_expect_eq(c->op_class, EMP_OP_REDUCTION);
    cr_expect_eq(c->flops, 4.0 * 60);
    cr_expect_eq(c->bytes_read, 2 * 240);
    cr_expect_eq(c->bytes_written, 24);
    cr_expect_eq(c->kernels, 1);
    emp_graph_destroy(g);
}

/* Two products of 2 x 3 x 4 and 2 x 4 x 40: the larger one tells the sizes, FLOPs are of both. */
Test(hlo, a_fusion_of_two_products_counts_both)
{
    emp_graph *g = hlo_graph(
        HEAD
        "%body {\n%a = f32[2,3] parameter(0)\n%b = f32[3,4] parameter(1)\n"
        "%c = f32[4,40] parameter(2)\n"
        "%d = f32[2,4] dot(%a, %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        "ROOT %e = f32[2,40] dot(%d, %c), lhs_contracting_dims={1}, "
        "rhs_contracting_dims={0}\n}\n"
        "ENTRY %main {\n%x = f32[2,3] parameter(0)\n%y = f32[3,4] parameter(1)\n"
        "%z = f32[4,40] parameter(2)\n"
        "ROOT %f = f32[2,40] fusion(%x, %y, %z), kind=kOutput, calls=%body\n}\n");
    const emp_op_cost *c = hlo_cost(g, "f");

    cr_expect_eq(c->op_class, EMP_OP_GEMM);
    cr_expect_eq(c->flops, 2.0 * 2 * 3 * 4 + 2.0 * 2 * 4 * 40);
    cr_expect(c->m == 2 && c->n == 40 && c->k == 4 && c->batch == 2);
    emp_graph_destroy(g);
}

/* 3 x 3 windows of 6 x 6, at every second place: 2 x 2. */
Test(hlo, a_window_counts_what_is_under_it)
{
    emp_graph *g = hlo_graph(
        HEAD "%max {\n%p = f32[] parameter(0)\n%q = f32[] parameter(1)\nROOT %r = f32[] "
             "maximum(%p, %q)\n}\n"
             "ENTRY %main {\n%x = f32[5,6,6] parameter(0)\n%z = f32[] constant(0)\n"
             "%w = f32[5,2,2] reduce-window(%x, %z), window={size=1x3x3 stride=1x2x2}, "
             "to_apply=%max\n"
             "ROOT %s = f32[5,2,2] sort(%w), dimensions={2}, to_apply=%max\n}\n");

    cr_expect_eq(hlo_cost(g, "w")->op_class, EMP_OP_POOL);
    cr_expect_eq(hlo_cost(g, "w")->flops, 5.0 * 2 * 2 * 9);
    cr_expect_eq(hlo_cost(g, "s")->op_class, EMP_OP_NORM);
    cr_expect_eq(hlo_cost(g, "s")->bytes_read, 4 * 80, "as PyTorch's: four passes");
    emp_graph_destroy(g);
}

/* A stack of 100 matrices, of which a step reads one: twice the same row is one row of bytes more. */
Test(hlo, a_slice_reads_what_it_takes)
{
    emp_graph *g = hlo_graph(
        HEAD
        "%body {\n%w = f32[100,8,8] parameter(0)\n%i = s32[] parameter(1)\n"
        "%z = s32[] constant(0)\n"
        "%s = f32[1,8,8] dynamic-slice(%w, %i, %z, %z), dynamic_slice_sizes={1,8,8}\n"
        "ROOT %n = f32[1,8,8] negate(%s)\n}\n"
        "ENTRY %main {\n%w = f32[100,8,8] parameter(0)\n%i = s32[] parameter(1)\n"
        "%rows = s32[5,1] parameter(2)\n"
        "%f = f32[1,8,8] fusion(%w, %i), kind=kLoop, calls=%body\n"
        "%g = f32[5,8,8] gather(%w, %rows), offset_dims={1,2}, slice_sizes={1,8,8}\n"
        "%l = f32[2,8,8] slice(%w), slice={[0:2], [0:8], [0:8]}\n"
        "ROOT %t = (f32[1,8,8], f32[5,8,8], f32[2,8,8]) tuple(%f, %g, %l)\n}\n");

    cr_expect_eq(hlo_cost(g, "f")->bytes_read, 256 + 4);
    cr_expect_eq(hlo_cost(g, "f")->flops, 64.0);
    cr_expect_eq(hlo_cost(g, "g")->bytes_read, 5 * 256 + 20);
    cr_expect_eq(hlo_cost(g, "g")->bytes_written, 5 * 256);
    cr_expect_eq(hlo_cost(g, "l")->bytes_read, 2 * 256);
    cr_expect_eq(hlo_cost(g, "g")->op_class, EMP_OP_MOVEMENT);
    emp_graph_destroy(g);
}

/* A row written into [100, 8]; rows added to it by number. */
Test(hlo, an_update_is_written_in_place)
{
    emp_graph *g = hlo_graph(
        HEAD
        "%sum {\n%p = f32[] parameter(0)\n%q = f32[] parameter(1)\nROOT %r = f32[] "
        "add(%p, %q)\n}\n"
        "%body {\n%i = s32[] parameter(0)\n%b = f32[100,8] parameter(1)\n%v = f32[8] "
        "parameter(2)\n"
        "%z = s32[] constant(0)\n%e = f32[8] exponential(%v)\n%r = f32[1,8] bitcast(%e)\n"
        "%u = f32[100,8] dynamic-update-slice(%b, %r, %i, %z)\n"
        "ROOT %c = f32[100,8] bitcast(%u)\n}\n"
        "ENTRY %main {\n%i = s32[] parameter(0)\n%b = f32[100,8] parameter(1)\n"
        "%v = f32[8] parameter(2)\n%rows = s32[3,1] parameter(3)\n%add = f32[3,8] "
        "parameter(4)\n"
        "%f = f32[100,8] fusion(%i, %b, %v), kind=kLoop, calls=%body\n"
        "ROOT %s = f32[100,8] scatter(%f, %rows, %add), to_apply=%sum\n}\n");
    emp_op_id f = hlo_find(g, "f");

    cr_expect(g->op[f].is_alias);
    cr_expect_eq(g->tensor[g->input[g->input_offset[f]]].producer, hlo_find(g, "b"),
                 "what is written comes first");
    cr_expect_eq(hlo_cost(g, "f")->flops, 8.0, "views compute nothing");
    cr_expect_eq(hlo_cost(g, "f")->bytes_read, 32 + 4);
    cr_expect_eq(hlo_cost(g, "f")->bytes_written, 32);
    cr_expect(g->op[hlo_find(g, "s")].is_alias);
    cr_expect_eq(hlo_cost(g, "s")->bytes_read, 96 + 12 + 96);
    cr_expect_eq(hlo_cost(g, "s")->bytes_written, 96);
    cr_expect_eq(hlo_cost(g, "s")->flops, 24.0);
    emp_graph_destroy(g);
}

/* ---- what is free, what things are called ---- */

Test(hlo, views_and_tuples_are_no_ops)
{
    emp_graph *g = hlo_graph(ENTRY "%p = (f32[4], (s8[2], s8[3])) parameter(0)\n"
                                   "%q = (s8[2], s8[3]) get-tuple-element(%p), index=1\n"
                                   "%r = s8[3] get-tuple-element(%q), index=1\n"
                                   "%v = u8[3] bitcast(%r)\n%k = f32[] constant(1)\n"
                                   "%b = f32[4] broadcast(%k), dimensions={}\n"
                                   "ROOT %t = (u8[3], f32[4]) tuple(%v, %b)\n}\n");

    cr_expect_eq(g->op_count, 3);
    cr_expect_str_eq(g->type_name[g->type[hlo_find(g, "p")]], "hlo.parameter");
    cr_expect(g->op[hlo_find(g, "k")].is_folded);
    cr_expect(g->is_target[hlo_find(g, "p")] && g->is_target[hlo_find(g, "b")]);
    emp_graph_destroy(g);
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
        emp_graph *g = hlo_graph(text);
        cr_expect_eq(g->op_count, 2);
        emp_graph_destroy(g);
    }
}

Test(hlo, scopes_of_metadata_are_in_names)
{
    emp_graph *g =
        hlo_graph(ENTRY "%a = f32[4] parameter(0), metadata={op_name=\"x\"}\n"
                        "%b = f32[4] negate(%a), metadata={op_type=\"neg\" "
                        "op_name=\"jit(f)/dense_0/neg[a=b/c];jit(f)/y\"}\n"
                        "ROOT %c = f32[4] abs(%b), control-predecessors={%a}\n}\n");

    cr_expect_str_eq(g->name[hlo_find(g, "b")], "jit(f)/dense_0/b");
    cr_expect_str_eq(g->name[hlo_find(g, "c")], "c");
    cr_expect_str_eq(g->name[hlo_find(g, "a")], "a");
    cr_expect(hlo_waits(g, "c", "a"));
    emp_graph_destroy(g);
}

Test(hlo, element_types_have_their_bytes)
{
    static const struct {
        const char *type;
        int64_t     bytes;
    } types[] = {{"pred", 1}, {"s4", 1},    {"s8", 1},  {"u16", 2},      {"bf16", 2},
                 {"f16", 2},  {"f32", 4},   {"s64", 8}, {"f8e4m3fn", 1}, {"f8e5m2", 1},
                 {"c64", 8},  {"c128", 16}, {"f64", 8}, {"u32", 4}};
    char text[256];

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        snprintf(text, sizeof text,
                 "HloModule t\nENTRY e {\nROOT a = %s[3,5]{1,0:T(8,128)(2,1)S(1)} "
                 "parameter(0)\n}\n",
                 types[i].type);
        emp_graph *g = hlo_graph(text);
        cr_expect_eq(g->tensor[0].bytes, 15 * types[i].bytes, "%s", types[i].type);
        emp_graph_destroy(g);
    }
}

/* ---- files that are wrong ---- */

#define X "%x = f32[2,3] parameter(0)\n"

static const struct {
    const char *text, *message;
} wrong[] = {
    {"HloModule", "line 1: the file ends where HloModule and its name should stand"},
    {HEAD, "the file ends where the computation that begins with ENTRY should stand"},
    {HEAD "%c {\n%a = f32[] constant(0)\n}\n", "begins with ENTRY"},
    {ENTRY "}\n", "a computation with an instruction should stand"},
    {ENTRY X, "the file ends where an instruction such as"},
    {ENTRY "%x f32[2]", "line 3: \"f32[2]\" stands where an instruction such as"},
    {ENTRY "%x = 7 add()", "\"add()\" stands where a shape such as f32[2,3] should"},
    {ENTRY "%x = f32[2 add()", "a bracket that is closed"},
    {ENTRY "%x = f32[2]{0 add()", "a layout that is closed"},
    {ENTRY "%x = f32[2] add(", "the name of an operand"},
    {ENTRY "%x = f32[2] constant(", "a parenthesis that is closed"},
    {ENTRY "%x = f32[2] parameter(0), =3", "an attribute such as index=0"},
    {ENTRY X X "}\n", "a name that no instruction has yet"},
    {ENTRY "%x = f31[2] parameter(0)\n}\n",
     "line 3: x is of an element type that is not known"},
    {ENTRY "%x = f32[<=2] parameter(0)\n}\n", "x has a dynamic size"},
    {ENTRY "%x = f32[1234567890123456789] parameter(0)\n}\n", "no whole number"},
    {ENTRY "%x = f32[1,1,1,1,1,1,1,1,1] parameter(0)\n}\n", "more than 8 dimensions"},
    {ENTRY "ROOT %x = f32[2] negate(%y)\n}\n",
     "x reads \"y\", which no instruction before it makes"},
    {ENTRY X "ROOT %y = f32[2] get-tuple-element(%x), index=0\n}\n",
     "y takes part \"0\" of x, which has 0"},
    {ENTRY "%x = (f32[2]) parameter(0)\nROOT %y = (f32[], f32[]) get-tuple-element(%x), "
           "index=0\n}\n",
     "y is not as part 0 of x is"},
    {ENTRY X "ROOT %t = (f32[2,3]) tuple(%x, %x)\n}\n",
     "t has 1 tensors, and its operands have 2"},
    {ENTRY "ROOT %d = f32[2] dynamic-update-slice()\n}\n",
     "d has 0 operands, and its opcode needs 2"},
    {ENTRY "ROOT %x = f32[2] parameter(-1)\n}\n", "x is parameter \"-1\""},
    {ENTRY "%a = f32[2] parameter(0)\nROOT %b = f32[2] parameter(2)\n}\n",
     "the parameters of main have not the numbers 0 to 1"},
    {ENTRY X "ROOT %d = f32[2,2] dot(%x, %x), lhs_contracting_dims={1}, "
             "rhs_contracting_dims={0}\n}\n",
     "d multiplies [2,3] and [2,3], and its batch and contracting dims do not fit"},
    {ENTRY X "ROOT %d = f32[2] dot(%x, %x), lhs_contracting_dims={7}\n}\n", "do not fit"},
    {ENTRY X "ROOT %c = f32[2,3] convolution(%x, %x), dim_labels=bf_x\n}\n",
     "c is a convolution whose dim_labels \"bf_x\" do not fit"},
    {ENTRY X "ROOT %f = f32[2] fusion(%x), kind=kLoop, calls=%nothing\n}\n",
     "f has calls=\"nothing\", which no computation before it is called"},
    {ENTRY X
     "%t = token[] after-all()\nROOT %s = (f32[2], u32[], token[]) send(%x, %t)\n}\n",
     "s is \"send\", which is not read"},
};

Test(hlo, what_is_wrong_with_a_file_is_said)
{
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        emp_graph       *g = NULL;
        emp_import_notes notes = {0};
        emp_error        err = {0};
        cr_expect_eq(hlo_read_text(&g, &notes, wrong[i].text, &err), EMP_EFORMAT, "%s",
                     wrong[i].text);
        cr_expect(strstr(err.msg, wrong[i].message) != NULL, "\"%s\" has no \"%s\"",
                  err.msg, wrong[i].message);
        cr_expect_null(g);
        emp_import_notes_clear(&notes);
        cr_expect_eq(emp_mem_live_blocks(), 0);
    }
}

/* What reads a broken instruction adds no sentence. */
Test(hlo, all_problems_of_a_file_are_told_at_once)
{
    emp_graph       *g = NULL;
    emp_import_notes notes = {0};
    emp_error        err = {0};
    char             text[8192] = ENTRY;

    for (int i = 0; i < 40; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "%%a%d = f32[?] parameter(%d)\n%%b%d = f32[2] negate(%%a%d)\n", i, i, i,
                 i);
    strcat(text, "}\n");
    cr_expect_eq(hlo_read_text(&g, &notes, text, &err), EMP_EFORMAT);
    cr_expect(strstr(err.msg, "40 problems, the first: line 3: a0 has a dynamic size") !=
                  NULL,
              "%s", err.msg);
    cr_expect(hlo_is_problem(&notes, "line 41: a19"));
    cr_expect_not(hlo_is_problem(&notes, ": b"));
    emp_import_notes_clear(&notes);
}

Test(hlo, stablehlo_is_refused_with_what_to_call)
{
    static const char *const texts[] = {
        "module @jit_f attributes {mhlo.num_partitions = 1 : i32} {\n"
        "  func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {\n"
        "    %0 = stablehlo.add %arg0, %arg0 : tensor<4xf32>\n",
        "#loc1 = loc(\"x\")\nmodule @jit_f {\n  func.func public @main() {\n"};

    for (int i = 0; i < 2; i++) {
        emp_graph       *g = NULL;
        emp_import_notes notes = {0};
        emp_error        err = {0};
        cr_expect_eq(hlo_read_text(&g, &notes, texts[i], &err), EMP_EUNSUPPORTED);
        cr_expect(strstr(err.msg, "StableHLO, which XLA has not compiled") != NULL &&
                      strstr(err.msg, ".compile().as_text()") != NULL,
                  "%s", err.msg);
        emp_import_notes_clear(&notes);
    }
}

Test(hlo, survives_every_allocation_failure)
{
    static const char *const names[] = {"seeds/kernels.hlo.txt", "seeds/control.hlo.txt"};

    for (int i = 0; i < 2; i++) {
        emp_graph       *g = NULL;
        emp_import_notes notes = {0};
        SURVIVES_EVERY_ALLOCATION_FAILURE(hlo_read_file(&g, &notes, names[i], NULL),
                                          emp_import_notes_clear(&notes));
        emp_import_notes_clear(&notes);
        emp_graph_destroy(g);
    }
}
