// SPDX-License-Identifier: GPL-3.0-or-later
/* Do measured kernels take on another GPU what the models of the two say? */
#include "sim/cost/kernel.h"
#include "sim/cost/transfer.h"
#include "sim/graph/graph_builder.h"
#include "sim/machine/model.h"
#include "sim/runtime/runtime.h"
#include "tests/sim/graph/kit.h"
#include "tests/support/survive.h"

static emp_device_model h100, mi300x;

static void set_up(void)
{
    ASSERT_OK(emp_device_model_load(&h100, "h100-sxm", &err));
    ASSERT_OK(emp_device_model_load(&mi300x, "mi300x", &err));
}

static void tear_down(void)
{
    emp_device_model_clear(&h100);
    emp_device_model_clear(&mi300x);
    expect_all_freed();
}

TestSuite(transfer, .init = set_up, .fini = tear_down);

static emp_transfer_time scale(emp_traced_kernel k)
{
    return emp_transfer_kernel(&k, &h100.device, &mi300x.device);
}

static const emp_traced_kernel kernels[] = {
    {.kind = EMP_TRACED_PRODUCT,
     .dtype = EMP_DTYPE_BFLOAT16,
     .kernel_ns = 90000,
     .batch = 1,
     .m = 2048,
     .n = 4096,
     .k = 1024},
    {.kind = EMP_TRACED_PRODUCT, .dtype = EMP_DTYPE_BFLOAT16, .kernel_ns = 90000},
    {.kind = EMP_TRACED_CONVOLUTION,
     .dtype = EMP_DTYPE_HALF,
     .kernel_ns = 90000,
     .batch = 1,
     .m = 2048,
     .n = 256,
     .k = 576},
    {.kind = EMP_TRACED_ATTENTION,
     .dtype = EMP_DTYPE_BFLOAT16,
     .kernel_ns = 20000,
     .heads = 48,
     .queries = 197,
     .keys = 197,
     .head_size = 64},
    {.kind = EMP_TRACED_NORM, .kernel_ns = 5000, .bytes = 1000000},
    {.kind = EMP_TRACED_BYTES, .kernel_ns = 5000000, .bytes = 1000000000},
    {.kind = EMP_TRACED_UNKNOWN, .kernel_ns = 7000},
    {.kind = EMP_TRACED_LINK, .kernel_ns = 7000, .bytes = 1000},
    {.kind = EMP_TRACED_COLLECTIVE, .kernel_ns = 7000}};

Test(transfer, one_gpu_takes_what_it_took)
{
    for (size_t i = 0; i < COUNT(kernels); i++) {
        emp_transfer_time t =
            emp_transfer_kernel(&kernels[i], &h100.device, &h100.device);
        cr_expect_float_eq(t.seconds, (double)kernels[i].kernel_ns * 1e-9, 1e-12, "%zu",
                           i);
    }
}

Test(transfer, intervals_are_around_their_times)
{
    for (size_t i = 0; i < COUNT(kernels); i++) {
        emp_transfer_time t = scale(kernels[i]);
        cr_expect(t.least_s > 0.0 && t.least_s < t.seconds && t.seconds < t.most_s, "%zu",
                  i);
    }
}

Test(transfer, there_and_back_is_the_same_but_for_unknown_kernels)
{
    for (size_t i = 0; i < COUNT(kernels); i++) {
        emp_traced_kernel there = kernels[i];
        there.kernel_ns = (int64_t)(scale(kernels[i]).seconds * 1e9 + 0.5);
        emp_transfer_time back =
            emp_transfer_kernel(&there, &mi300x.device, &h100.device);
        cr_expect_float_eq(back.seconds * 1e9 / (double)kernels[i].kernel_ns, 1.0, 2e-3,
                           "%zu: %g", i, back.seconds);
    }
}

Test(transfer, products_are_scaled_by_the_ratio_of_their_models)
{
    emp_product p = {.format = EMP_FORMAT_BF16, .m = 2048, .n = 4096, .k = 1024};
    emp_form    form;
    double      a, b;

    ASSERT_OK(emp_product_time(&a, &form, &h100.device, &p, &err));
    ASSERT_OK(emp_product_time(&b, &form, &mi300x.device, &p, &err));
    cr_expect_float_eq(scale(kernels[0]).seconds, 90e-6 * b / a, 1e-10);
    cr_expect_gt(b, a); /* though the MI300X has the higher peak */
}

/* Convolutions of fp32 are in TF32 on an H100 and in fp32 on an MI300X, products of fp32 in fp32 on both. */
Test(transfer, tf32_is_used_where_libraries_do)
{
    const emp_product size = {
        .format = EMP_FORMAT_TF32, .m = 8192, .n = 1024, .k = 1024, .batch = 1};
    emp_traced_kernel k = {.kind = EMP_TRACED_CONVOLUTION,
                           .dtype = EMP_DTYPE_FLOAT,
                           .kernel_ns = 1000000,
                           .batch = 1,
                           .m = 8192,
                           .n = 1024,
                           .k = 1024};
    emp_product       plain = size;
    double            tf32_s, fp32_s, amd_s;
    emp_form          form;

    plain.format = EMP_FORMAT_FP32;
    ASSERT_OK(emp_product_time(&tf32_s, &form, &h100.device, &size, &err));
    ASSERT_OK(emp_product_time(&fp32_s, &form, &h100.device, &plain, &err));
    ASSERT_OK(emp_product_time(&amd_s, &form, &mi300x.device, &plain, &err));
    cr_expect_neq(emp_product_time(&amd_s, &form, &mi300x.device, &size, NULL), EMP_OK);
    cr_expect_float_eq(emp_transfer_kernel(&k, &mi300x.device, &h100.device).seconds,
                       1e-3 * tf32_s / amd_s, 1e-9);
    cr_expect_float_eq(scale(k).seconds, 1e-3 * amd_s / fp32_s, 1e-9, "as it was traced");
    k.is_tf32 = true;
    cr_expect_float_eq(scale(k).seconds, 1e-3 * amd_s / tf32_s, 1e-9);
    k.kind = EMP_TRACED_PRODUCT;
    cr_expect_float_eq(scale(k).seconds, 1e-3 * amd_s / tf32_s, 1e-9);
    k.is_tf32 = false;
    cr_expect_float_eq(emp_transfer_kernel(&k, &mi300x.device, &h100.device).seconds,
                       1e-3 * fp32_s / amd_s, 1e-9);
}

Test(transfer, long_copies_follow_the_memory_and_short_kernels_do_not)
{
    double long_ratio = scale(kernels[5]).seconds / 5e-3;
    double short_ratio =
        scale((emp_traced_kernel){
                  .kind = EMP_TRACED_BYTES, .kernel_ns = 2000, .bytes = 1000})
            .seconds /
        2e-6;

    cr_expect_float_eq(long_ratio, 2900.0 / 4110.0, 0.01, "%g", long_ratio);
    cr_expect_float_eq(short_ratio, 2.6 / 2.0, 0.01, "%g", short_ratio);
}

/* 96 blocks on 132 or 304 multiprocessors are one wave: a GPU with more of them gains nothing. */
Test(transfer, few_blocks_of_attention_wait_for_one_multiprocessor)
{
    emp_traced_kernel few = kernels[3], many = kernels[3];

    many.heads = 48000;
    many.kernel_ns = 20000000;
    cr_expect_gt(scale(few).seconds / 20e-6, 1.5);
    cr_expect_float_eq(scale(many).seconds / 20e-3, 327.9 / 328.6, 0.02);
}

/* Two ops: the host issues a kernel of 5 ms whose dispatch takes 1 ms. */
static emp_graph *traced_graph(void)
{
    emp_graph_builder *b = NULL;
    emp_graph         *graph = NULL;
    emp_op_id          op;
    emp_stated_op      host = {
             .cost = {.gpu_ns = 7000, .cpu_ns = 7000, .copy_ns = -1, .colocation = -1},
             .kinds = EMP_KIND_CPU};
    emp_stated_op kernel = {
        .cost = {.gpu_ns = 6000000, .cpu_ns = 6000000, .copy_ns = -1, .colocation = -1},
        .kinds = EMP_KIND_CPU | EMP_KIND_GPU};

    ASSERT_OK(emp_graph_builder_create(&b, &err));
    ASSERT_OK(emp_graph_builder_state(b, "host", "Host", &host, &op, &err));
    ASSERT_OK(emp_graph_builder_state(b, "kernel", "K", &kernel, &op, &err));
    ASSERT_OK(emp_graph_builder_describe_kernel(b, op, &kernels[5], &err));
    EXPECT_REFUSED(emp_graph_builder_describe_kernel(b, 2, &kernels[5], &err), EMP_EINVAL,
                   "op 2");
    ASSERT_OK(emp_graph_builder_add_control(b, 0, 1, &err));
    emp_graph_builder_set_target(b, 1);
    ASSERT_OK(emp_graph_builder_finish(b, &graph, &err));
    emp_graph_builder_destroy(b);
    return graph;
}

Test(transfer, a_trace_takes_other_times_on_other_gpus_alone)
{
    emp_graph      *whole = traced_graph(), *graph = NULL;
    OWN_MACHINE     machine = NULL;
    emp_cost_table *table = NULL;
    emp_runtime     runtime;
    emp_transfer    transfer;

    ASSERT_OK(emp_graph_prune(&graph, whole, &err)); /* the kernels go with their ops */
    ASSERT_OK(emp_machine_load(&machine, "mi300x8", &err));
    ASSERT_OK(emp_runtime_init(&runtime, "traced", &err));
    ASSERT_OK(emp_cost_table_create(&table, graph, machine, &runtime, &err));
    ASSERT_OK(emp_transfer_apply(&transfer, table, graph, machine, "h100-sxm",
                                 &h100.device, &err));
    double expected = scale(kernels[5]).seconds * 1e9 + 1e6;
    cr_expect_float_eq((double)table->gpu[1].compute_ns, expected, 2.0);
    cr_expect_eq(transfer.sum[0][EMP_TRACED_BYTES].count, 1);
    cr_expect_float_eq(emp_transfer_total(&transfer, 0).measured_s, 5e-3, 1e-9);

    emp_cost_table_destroy(table);
    ASSERT_OK(emp_cost_table_create(&table, graph, machine, &runtime, &err));
    ASSERT_OK(emp_transfer_apply(&transfer, table, graph, machine, "MI300X",
                                 &mi300x.device, &err));
    cr_expect_eq(table->gpu[1].compute_ns, 6000000);
    emp_cost_table_destroy(table);
    emp_graph_destroy(graph);
    emp_graph_destroy(whole);
}

Test(transfer, a_graph_without_kernels_is_refused)
{
    emp_graph_builder *b = kit_begin();
    emp_cost_table     table = {0};
    emp_machine        machine = {0};
    emp_transfer       transfer;

    kit_ops(b, "x = f[2,2]; y = MatMul x x");
    OWN_GRAPH graph = kit_finish(b);
    EXPECT_REFUSED(emp_transfer_apply(&transfer, &table, graph, &machine, "h100-sxm",
                                      &h100.device, &err),
                   EMP_EINVAL, "no trace");
}
