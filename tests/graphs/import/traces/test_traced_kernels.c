// SPDX-License-Identifier: GPL-3.0-or-later
/* Is a kernel of a trace recognised by its operator's shapes and by its name? */
#include "base/text/json.h"
#include "graphs/import/traces/kernels.h"
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

static void expect_product(emp_traced_kernel k, int64_t batch, int64_t m, int64_t n,
                           int64_t kk)
{
    cr_expect_eq(k.batch, batch, "%ld", (long)k.batch);
    cr_expect_eq(k.m, m, "%ld", (long)k.m);
    cr_expect_eq(k.n, n, "%ld", (long)k.n);
    cr_expect_eq(k.k, kk, "%ld", (long)k.k);
}

#define BF16 "\"c10::BFloat16\""
#define ADDMM                                                                            \
    "{\"Input Dims\":[[512],[141,2048],[2048,512],[],[]],\"Input type\":[" BF16 "," BF16 \
    "," BF16 ",\"Scalar\",\"Scalar\"]}"

Test(kernels, products_have_the_sizes_of_their_operands)
{
    emp_traced_kernel k = kernel_of("aten::addmm", ADDMM, "Cijk_Alik_Bljk_B_BS_MT16x16");

    cr_expect_eq(k.kind, EMP_TRACED_PRODUCT);
    cr_expect_eq(k.dtype, EMP_DTYPE_BFLOAT16);
    cr_expect_eq(k.kernel_ns, 10000);
    cr_expect_eq(k.bytes, 2 * (141 * 2048 + 2048 * 512 + 141 * 512));
    expect_product(k, 1, 141, 512, 2048);
    expect_product(
        kernel_of("aten::bmm",
                  "{\"Input Dims\":[[96,31,64],[96,64,33]],\"Input type\":[" BF16 "," BF16
                  "]}",
                  "void cutlass::Kernel2<x>"),
        96, 31, 33, 64);
    expect_product(kernel_of("aten::linear",
                             "{\"Input Dims\":[[2,5,64],[32,64]],\"Input type\":[" BF16
                             "," BF16 "]}",
                             "nvjet_tst_64x8"),
                   1, 10, 32, 64);
    cr_expect(
        kernel_of("aten::mm",
                  "{\"Input Dims\":[[2,5],[5,3]],\"Input type\":[\"float\",\"float\"]}",
                  "sm80_xmma_gemm_f32f32_tf32f32_f32")
            .is_tf32);
    cr_expect(
        kernel_of("aten::mm",
                  "{\"Input Dims\":[[2,5],[5,3]],\"Input type\":[\"float\",\"float\"]}",
                  "cutlass_80_tensorop_s1688gemm_128x128")
            .is_tf32);
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
    cr_expect_eq(
        kernel_of("aten::addmm", ADDMM, "void cublasLt::splitKreduce_kernel<x>").kind,
        EMP_TRACED_UNKNOWN);
    cr_expect_eq(describe("aten::addmm", ADDMM, EMP_KINETO_SET, "Memset (Device)",
                          "{\"bytes\":4096}")
                     .bytes,
                 4096);
}

#define CONV(concrete)                                                                   \
    "{\"Input Dims\":[[4,3,224,224],[768,3,16,16],[],[],[],[],[]],\"Input type\":[" BF16 \
    "," BF16 ",\"\",\"ScalarList\",\"ScalarList\",\"ScalarList\",\"Scalar\"]," concrete  \
    "}"

Test(kernels, convolutions_are_the_products_that_they_come_to)
{
    static const char cudnn[] = CONV("\"Concrete Inputs\":[\"\",\"\",\"[0, 0]\",\"[16, "
                                     "16]\",\"[1, 1]\",\"1\",\"False\"]"),
                      plain[] =
                          CONV("\"Concrete Inputs\":[\"\",\"\",\"\",\"[16, 16]\",\"[0, "
                               "0]\",\"[1, 1]\",\"1\"]");
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

Test(kernels, gradients_of_convolutions_have_the_sizes_of_the_forward_pass)
{
    emp_traced_kernel k = kernel_of(
        "aten::convolution_backward",
        "{\"Input Dims\":[[8,64,56,56],[8,32,56,56],[64,32,3,3]],\"Input type\":[" BF16
        "," BF16 "," BF16 "]}",
        "void dgrad2d_grouped");

    cr_expect_eq(k.kind, EMP_TRACED_CONVOLUTION);
    expect_product(k, 1, 8 * 56 * 56, 64, 32 * 9);
}

Test(kernels, attention_has_heads_and_lengths)
{
    static const char dims[] =
        "{\"Input Dims\":[[4,197,12,64],[4,201,12,64],[4,201,12,64]],"
        "\"Input type\":[" BF16 "," BF16 "," BF16 "]}";
    emp_traced_kernel k = kernel_of("aten::_flash_attention_forward", dims,
                                    "void pytorch_flash::flash_fwd_kernel<x>");

    cr_expect_eq(k.kind, EMP_TRACED_ATTENTION);
    cr_expect_eq(k.heads, 48);
    cr_expect_eq(k.queries, 197);
    cr_expect_eq(k.keys, 201);
    cr_expect_eq(k.head_size, 64);
    k = kernel_of("aten::_scaled_dot_product_efficient_attention",
                  "{\"Input Dims\":[[2,8,141,64],[2,8,141,64]],\"Input type\":[" BF16
                  "," BF16 "]}",
                  "fmha_cutlassF_bf16");
    cr_expect_eq(k.heads, 16);
    cr_expect_eq(k.queries, 141);
    k = kernel_of(
        "aten::_flash_attention_backward",
        "{\"Input Dims\":[[4,9,2,64],[4,9,2,64],[4,9,2,64]],\"Input type\":[" BF16
        "," BF16 "," BF16 "]}",
        "bwd_kernel_dk_dv_attn");
    cr_expect(k.is_backward);
    cr_expect_eq(k.heads, 8);
}

Test(kernels, other_kernels_have_the_bytes_of_their_operators)
{
    static const struct {
        const char *op, *args, *kernel;
        int64_t     bytes;
    } cases[] = {
        {"aten::add",
         "{\"Input Dims\":[[10,7],[10,7],[]],\"Input "
         "type\":[\"float\",\"float\",\"Scalar\"]}",
         "vectorized_elementwise_kernel", 3 * 280},
        {"aten::copy_",
         "{\"Input Dims\":[[10,7],[10,7]],\"Input type\":[\"float\"," BF16 "]}",
         "direct_copy_kernel", 280 + 140},
        {"aten::cat",
         "{\"Input Dims\":[[[1,8],[3,8]],[]],\"Input type\":[\"TensorList\",\"Scalar\"]}",
         "CatArrayBatchedCopy", 2 * 2 * 32},
        {"aten::sum", "{\"Input Dims\":[[100]],\"Input type\":[\"float\"]}",
         "reduce_kernel", 400},
        {"aten::embedding",
         "{\"Input Dims\":[[1000,16],[2,5]],\"Input type\":[" BF16 ",\"long int\"]}",
         "indexSelectLargeIndex", 2 * 10 * 32},
        {"triton_poi_fused_add_0",
         "{\"Input Dims\":[[64],[64]],\"Input type\":[\"float\",\"float\"]}",
         "triton_poi_fused_add_0", 512},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        emp_traced_kernel k = kernel_of(cases[i].op, cases[i].args, cases[i].kernel);
        cr_expect_eq(k.kind, EMP_TRACED_BYTES, "%s", cases[i].op);
        cr_expect_eq(k.bytes, cases[i].bytes, "%s: %ld", cases[i].op, (long)k.bytes);
    }
    cr_expect_eq(kernel_of("aten::native_layer_norm",
                           "{\"Input Dims\":[[4,8],[8]],\"Input type\":[" BF16 "," BF16
                           "]}",
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
    static const char huge[] =
        "{\"Input "
        "Dims\":[[4000000000,4000000000,4000000000,4000000000],[4000000000,4000000000,"
        "4000000000,4000000000]],\"Input type\":[\"float\",\"float\"],\"Concrete "
        "Inputs\":[\"\","
        "\"\",\"[9223372036854775807,9223372036854775807]\",\"[1,1]\"]}";

    cr_expect_eq(kernel_of("aten::add", huge, "vectorized_elementwise_kernel").bytes,
                 INT64_MAX);
    cr_expect_gt(kernel_of("aten::cudnn_convolution", huge, "implicit_gemm").m, 0);
    cr_expect_gt(kernel_of("aten::_flash_attention_forward", huge, "flash").bytes, 0);
}
