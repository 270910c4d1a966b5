// SPDX-License-Identifier: GPL-3.0-or-later
/* Is a kernel of a trace recognised by its operator's shapes and by its name? */
#include "base/text/json.h"
#include "graphs/import/traces/step_graph.h"
#include "tests/graphs/graphs.h"
#include "tests/test.h"

TestSuite(kernels, .fini = graph_tear_down);

/* An operator of that name with these arguments, around a kernel or a copy that takes 10 us. */
static emp_traced_kernel describe(const char *op, const char *op_args,
                                  emp_kineto_kind kind, const char *kernel,
                                  const char *kernel_args)
{
    emp_json_document a = {0}, b = {0};
    emp_error         err;

    cr_assert_eq(emp_json_parse(&a, op_args, strlen(op_args), &err), EMP_OK, "%s",
                 err.msg);
    cr_assert_eq(emp_json_parse(&b, kernel_args, strlen(kernel_args), &err), EMP_OK);
    emp_kineto_event caller = {.kind = EMP_KINETO_OP, .name = op};
    emp_kineto_event event = {
        .kind = kind, .name = kernel, .begin_ns = 5000, .end_ns = 15000};
    const emp_kineto_event *by =
        emp_trace_described_by(&event, op == NULL ? NULL : &caller);
    emp_traced_kernel k = emp_trace_describe(&event, op == NULL ? NULL : &caller,
                                             by == &event ? b.root
                                             : by != NULL ? a.root
                                                          : NULL);
    emp_json_clear(&a);
    emp_json_clear(&b);
    return k;
}

static emp_traced_kernel kernel_of(const char *op, const char *args, const char *kernel)
{
    return describe(op, args, EMP_KINETO_KERNEL, kernel, "{}");
}

/* Arguments of an operator: sizes, types by a letter each, and what the file has beside them. */
static const char *args(const char *dims, const char *types, const char *more)
{
    static const char *const names[128] = {['b'] = "c10::BFloat16",
                                           ['f'] = "float",
                                           ['l'] = "long int",
                                           ['s'] = "Scalar",
                                           ['S'] = "ScalarList",
                                           ['T'] = "TensorList",
                                           ['-'] = ""};
    const char              *list = "";

    for (const char *t = types; *t != '\0'; t++)
        list = scratch_print("%s%s\"%s\"", list, t > types ? "," : "", names[(int)*t]);
    return scratch_print("{\"Input Dims\":%s,\"Input type\":[%s]%s}", dims, list, more);
}

static emp_traced_kernel shaped(const char *op, const char *dims, const char *types,
                                const char *kernel)
{
    return kernel_of(op, args(dims, types, ""), kernel);
}

static void expect_product(emp_traced_kernel k, int64_t batch, int64_t m, int64_t n,
                           int64_t kk)
{
    cr_expect_eq(k.batch, batch, "%ld", (long)k.batch);
    cr_expect_eq(k.m, m, "%ld", (long)k.m);
    cr_expect_eq(k.n, n, "%ld", (long)k.n);
    cr_expect_eq(k.k, kk, "%ld", (long)k.k);
}

static const char projection[] = "[[512],[141,2048],[2048,512],[],[]]";

Test(kernels, products_have_the_sizes_of_their_operands)
{
    emp_traced_kernel k =
        shaped("aten::addmm", projection, "bbbss", "Cijk_Alik_Bljk_B_BS_MT16x16");

    cr_expect_eq(k.kind, EMP_TRACED_PRODUCT);
    cr_expect_eq(k.dtype, EMP_DTYPE_BFLOAT16);
    cr_expect_eq(k.kernel_ns, 10000);
    cr_expect_eq(k.bytes, 2 * (141 * 2048 + 2048 * 512 + 141 * 512));
    expect_product(k, 1, 141, 512, 2048);
    k = shaped("aten::bmm", "[[96,31,64],[96,64,33]]", "bb", "void cutlass::Kernel2<x>");
    expect_product(k, 96, 31, 33, 64);
    k = shaped("aten::linear", "[[2,5,64],[32,64]]", "bb", "nvjet_tst_64x8");
    expect_product(k, 1, 10, 32, 64);
    k = shaped("aten::mm", "[[2,5],[5,3]]", "ff", "sm80_xmma_gemm_f32f32_tf32f32_f32");
    cr_expect(k.is_tf32);
    k = shaped("aten::mm", "[[2,5],[5,3]]", "ff",
               "cutlass_80_tensorop_s1688gemm_128x128");
    cr_expect(k.is_tf32);
}

Test(kernels, without_shapes_a_product_has_none)
{
    emp_traced_kernel k = kernel_of("aten::addmm", "{}", "sm90_xmma_gemm_bf16");

    cr_expect_eq(k.kind, EMP_TRACED_PRODUCT);
    cr_expect_eq(k.m, 0);
    k = kernel_of(NULL, "{}", "ampere_sgemm_64x32");
    cr_expect_eq(k.kind, EMP_TRACED_PRODUCT);
    cr_expect_eq(k.m, 0);
}

/* A helper of an operator does not move the operator's bytes. */
Test(kernels, what_prepares_a_product_is_unknown)
{
    emp_traced_kernel k = shaped("aten::addmm", projection, "bbbss",
                                 "void cublasLt::splitKreduce_kernel<x>");

    cr_expect_eq(k.kind, EMP_TRACED_UNKNOWN);
    k = describe("aten::addmm", args(projection, "bbbss", ""), EMP_KINETO_SET,
                 "Memset (Device)", "{\"bytes\":4096}");
    cr_expect_eq(k.bytes, 4096);
}

static const char *conv(const char *concrete)
{
    return args("[[4,3,224,224],[768,3,16,16],[],[],[],[],[]]", "bb-SSSs",
                scratch_print(",\"Concrete Inputs\":[\"\",\"\",%s]", concrete));
}

Test(kernels, convolutions_are_the_products_that_they_come_to)
{
    const char       *cudnn = conv("\"[0, 0]\",\"[16, 16]\",\"[1, 1]\",\"1\",\"False\"");
    const char       *plain = conv("\"\",\"[16, 16]\",\"[0, 0]\",\"[1, 1]\",\"1\"");
    emp_traced_kernel k = kernel_of("aten::cudnn_convolution", cudnn,
                                    "cutlass_tensorop_bf16_s16816fprop_nhwc");

    cr_expect_eq(k.kind, EMP_TRACED_CONVOLUTION);
    expect_product(k, 1, 4 * 14 * 14, 768, 3 * 16 * 16);
    expect_product(kernel_of("aten::convolution", plain, "igemm_fwd_gtcx3_nhwc"), 1,
                   4 * 14 * 14, 768, 3 * 16 * 16);
    cr_expect_eq(kernel_of("aten::cudnn_convolution", cudnn,
                           "void cudnn::engines_precompiled::nchwToNhwcKernel<x>")
                     .kind,
                 EMP_TRACED_UNKNOWN);
}

/* A 3x3 window with steps of 12 leaves 33 of 33 + 2 x 12 pixels; one that enlarges meets each of its 16 x 16 pixels. */
Test(kernels, convolutions_may_be_dilated_or_transposed)
{
    static const char dims[] = "[[1,256,33,33],[64,256,3,3],[],[],[],[],[],[],[]]";
    const char       *dilated = args(dims, "bb-SSSssS",
                                     ",\"Concrete Inputs\":[\"\",\"\",\"\",\"[1, 1]\","
                                           "\"[12, 12]\",\"[12, 12]\",\"False\",\"[0, 0]\",\"1\"]");
    const char       *enlarging =
        args("[[2,8,16,16],[8,32,4,4],[],[],[],[],[],[],[]]", "bb-SSSssS",
             ",\"Concrete Inputs\":[\"\",\"\",\"\",\"[2, 2]\",\"[1, 1]\",\"[1, 1]\","
             "\"True\",\"[0, 0]\",\"1\"]");

    expect_product(kernel_of("aten::convolution", dilated, "implicit_gemm"), 1, 33 * 33,
                   64, 256 * 9);
    expect_product(kernel_of("aten::convolution", enlarging, "implicit_gemm"), 1,
                   2 * 16 * 16, 32 * 16, 8);
    expect_product(kernel_of("aten::cudnn_convolution_transpose", enlarging, "dgrad2d"),
                   1, 2 * 16 * 16, 32 * 16, 8);
}

Test(kernels, gradients_of_convolutions_have_the_sizes_of_the_forward_pass)
{
    emp_traced_kernel k =
        shaped("aten::convolution_backward", "[[8,64,56,56],[8,32,56,56],[64,32,3,3]]",
               "bbb", "void dgrad2d_grouped");

    cr_expect_eq(k.kind, EMP_TRACED_CONVOLUTION);
    expect_product(k, 1, 8 * 56 * 56, 64, 32 * 9);
}

Test(kernels, attention_has_heads_and_lengths)
{
    emp_traced_kernel k = shaped("aten::_flash_attention_forward",
                                 "[[4,197,12,64],[4,201,12,64],[4,201,12,64]]", "bbb",
                                 "void pytorch_flash::flash_fwd_kernel<x>");

    cr_expect_eq(k.kind, EMP_TRACED_ATTENTION);
    cr_expect_eq(k.heads, 48);
    cr_expect_eq(k.queries, 197);
    cr_expect_eq(k.keys, 201);
    cr_expect_eq(k.head_size, 64);
    k = shaped("aten::_scaled_dot_product_efficient_attention",
               "[[2,8,141,64],[2,8,141,64]]", "bb", "fmha_cutlassF_bf16");
    cr_expect_eq(k.heads, 16);
    cr_expect_eq(k.queries, 141);
    k = shaped("aten::_flash_attention_backward", "[[4,9,2,64],[4,9,2,64],[4,9,2,64]]",
               "bbb", "bwd_kernel_dk_dv_attn");
    cr_expect(k.is_backward);
    cr_expect_eq(k.heads, 8);
}

Test(kernels, other_kernels_have_the_bytes_of_their_operators)
{
    static const struct {
        const char *op, *dims, *types, *kernel;
        int64_t     bytes;
    } cases[] = {
        {"aten::add", "[[10,7],[10,7],[]]", "ffs", "vectorized_elementwise_kernel",
         3 * 280},
        {"aten::copy_", "[[10,7],[10,7]]", "fb", "direct_copy_kernel", 280 + 140},
        {"aten::cat", "[[[1,8],[3,8]],[]]", "Ts", "CatArrayBatchedCopy", 2 * 2 * 32},
        {"aten::sum", "[[100]]", "f", "reduce_kernel", 400},
        {"aten::embedding", "[[1000,16],[2,5]]", "bl", "indexSelectLargeIndex",
         2 * 10 * 32},
        {"triton_poi_fused_add_0", "[[64],[64]]", "ff", "triton_poi_fused_add_0", 512}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        emp_traced_kernel k =
            shaped(cases[i].op, cases[i].dims, cases[i].types, cases[i].kernel);
        cr_expect_eq(k.kind, EMP_TRACED_BYTES, "%s", cases[i].op);
        cr_expect_eq(k.bytes, cases[i].bytes, "%s: %ld", cases[i].op, (long)k.bytes);
    }
    cr_expect_eq(shaped("aten::native_layer_norm", "[[4,8],[8]]", "bb",
                        "vectorized_layer_norm_kernel")
                     .kind,
                 EMP_TRACED_NORM);
    cr_expect_eq(kernel_of("aten::add", "{}", "vectorized_elementwise_kernel").kind,
                 EMP_TRACED_UNKNOWN);
}

Test(kernels, copies_are_of_the_link_or_of_the_memory)
{
    cr_expect_eq(describe(NULL, "{}", EMP_KINETO_COPY, "Memcpy HtoD (Pageable -> Device)",
                          "{\"bytes\":100}")
                     .kind,
                 EMP_TRACED_LINK);
    emp_traced_kernel k = describe(NULL, "{}", EMP_KINETO_COPY,
                                   "Memcpy DtoD (Device -> Device)", "{\"bytes\":100}");
    cr_expect_eq(k.kind, EMP_TRACED_BYTES);
    cr_expect_eq(k.bytes, 200);
    cr_expect_eq(
        kernel_of(NULL, "{}", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)").kind,
        EMP_TRACED_COLLECTIVE);
}

/* Sizes in files may be anything: nothing overflows. */
Test(kernels, sizes_beyond_64_bits_saturate)
{
    const char *huge = args("[[4000000000,4000000000,4000000000,4000000000],"
                            "[4000000000,4000000000,4000000000,4000000000]]",
                            "ff",
                            ",\"Concrete Inputs\":[\"\",\"\","
                            "\"[9223372036854775807,9223372036854775807]\",\"[1,1]\"]");

    cr_expect_eq(kernel_of("aten::add", huge, "vectorized_elementwise_kernel").bytes,
                 INT64_MAX);
    cr_expect_gt(kernel_of("aten::cudnn_convolution", huge, "implicit_gemm").m, 0);
    cr_expect_gt(kernel_of("aten::_flash_attention_forward", huge, "flash").bytes, 0);
}
