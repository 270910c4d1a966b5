// SPDX-License-Identifier: GPL-3.0-or-later
/* Costs against their formulas, written out as the sums they are, and against
 * measurements. */
#include "sim/cost/cost.h"
#include "sim/cost/kernel.h"
#include "tests/sim/cost/one_op.h"
#include "tests/support/problems.h"
#include "tests/support/survive.h"

EMP_OWNS(emp_cost_table, emp_cost_table_destroy)
#define OWN_COSTS EMP_OWNER(emp_cost_table)

static const emp_device gpu = {.kind = EMP_DEVICE_GPU,
                               .memory_bytes_per_s = 100e9,
                               .gemm_base_s = 10e-6,
                               .gemm_per_k_s = 100e-9,
                               .gemm_per_wave_s = 40e-9,
                               .multiprocessors = 15,
                               .gemm_tile_rows = 128,
                               .conv_tile_rows = 64,
                               .split_limit = 1,
                               .gemm_skinny_factor = 2.0,
                               .gemm_skinny_limit = 128,
                               .conv_factor = 0.5,
                               .kernel_minimum_s = 3e-6};

static const emp_device cpu = {.kind = EMP_DEVICE_CPU,
                               .memory_bytes_per_s = 40e9,
                               .cores = 16,
                               .clock_hz = 1e9,
                               .gemm_core_flops_per_s = 10e9,
                               .conv_core_flops_per_s = 5e9,
                               .scaling_exponent = 0.5,
                               .core_bytes_per_s = 10e9,
                               .bandwidth_cores = 4,
                               .thread_cycles = 1e5,
                               .cycles_per_byte = 0.25};

static const emp_runtime runtime = {.events = {.issue_s = 20e-6,
                                               .issue_kernel_s = 5e-6,
                                               .issue_kernelless_s = 2e-6,
                                               .cpu_op_s = 8e-6}};

TestSuite(cost, .fini = expect_all_freed);

static emp_cost_table *table_on(const emp_op_cost *cost, const emp_device *devices,
                                int32_t count)
{
    OWN_GRAPH       g = one_op_graph(cost);
    OWN_MACHINE     m = EMP_NEW(emp_machine);
    emp_cost_table *t = NULL;

    cr_assert_not_null(m);
    m->device_count = count;
    for (int32_t d = 0; d < count; d++) m->device[d] = devices[d];
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_cost_table_create(&t, g, m, &runtime, NULL),
                                      cr_assert_null(t));
    return t;
}

static emp_cost_table *table_of(const emp_op_cost *cost)
{
    return table_on(cost, (const emp_device[]){cpu, gpu}, 2);
}

Test(cost, several_cpus_may_come_before_the_gpus)
{
    emp_op_cost cost = {.op_class = EMP_OP_GEMM,
                        .kernels = 1,
                        .m = 256,
                        .n = 256,
                        .k = 256,
                        .batch = 1,
                        .flops = 2.0 * 256 * 256 * 256};
    OWN_COSTS   one = table_of(&cost);
    OWN_COSTS   many = table_on(&cost, (const emp_device[]){cpu, cpu, cpu, gpu}, 4);

    cr_expect_gt(one->gpu[0].compute_ns, 0);
    cr_expect_eq(many->gpu[0].compute_ns, one->gpu[0].compute_ns);
    cr_expect_eq(many->gpu[0].issue_ns, one->gpu[0].issue_ns);
    cr_expect_eq(many->cpu[0].compute_ns, one->cpu[0].compute_ns);
}

Test(cost, a_product_follows_the_formula)
{
    /* 8 x 16 tiles of 128 x 64, each worth two; 15 at a time */
    double waves = 2.0 * ceil(8.0 * 16.0 / 15.0);
    cr_expect_float_eq(emp_cost_gemm_s(&gpu, 1024, 1024, 512, 1, false),
                       10e-6 + 512 * 100e-9 + 512 * 40e-9 * waves, 1e-12);
    /* tiles of 64 x 64, and the factor of convolutions */
    waves = ceil(16.0 * 16.0 / 15.0);
    cr_expect_float_eq(emp_cost_gemm_s(&gpu, 1024, 1024, 512, 1, true),
                       0.5 * (10e-6 + 512 * 100e-9 + 512 * 40e-9 * waves), 1e-12);
    /* a batch has so many times more tiles */
    waves = 2.0 * ceil(3.0 * 8.0 * 16.0 / 15.0);
    cr_expect_float_eq(emp_cost_gemm_s(&gpu, 1024, 1024, 512, 3, false),
                       10e-6 + 512 * 100e-9 + 512 * 40e-9 * waves, 1e-12);
}

Test(cost, a_skinny_product_is_slower)
{
    double waves = 2.0 * ceil(1.0 * 16.0 / 15.0);
    double t = 10e-6 + 512 * 100e-9 + 512 * 40e-9 * waves;

    cr_expect_float_eq(emp_cost_gemm_s(&gpu, 128, 1024, 512, 1, false), 2.0 * t, 1e-12);
    cr_expect_lt(emp_cost_gemm_s(&gpu, 129, 1024, 512, 1, false),
                 emp_cost_gemm_s(&gpu, 128, 1024, 512, 1, false) * 1.5);
}

Test(cost, a_long_k_is_split_when_that_is_faster)
{
    emp_device split = gpu;
    split.split_limit = 32;

    /* one tile of 128 x 64 and K = 100,000: 15 parts fill the GPU */
    double whole = emp_cost_gemm_s(&gpu, 256, 256, 100000, 1, false);
    double best = emp_cost_gemm_s(&split, 256, 256, 100000, 1, false);
    cr_expect_lt(best, whole / 1.5);
    double least = INFINITY;
    for (int s = 1; s <= 32; s++) {
        double waves = 2.0 * ceil(2.0 * 4.0 * s / 15.0), part = 100000.0 / s;
        double t = 10e-6 + part * 100e-9 + part * 40e-9 * waves;
        if (s > 1) t += (s + 1) * 256.0 * 256.0 * 4.0 / 100e9;
        least = fmin(least, t);
    }
    cr_expect_float_eq(best, least, 1e-12);
}

/* Square products measured on a K40 at 875 MHz: microseconds (clBLAS's published cuBLAS
 * runs). */
Test(cost, square_products_are_near_the_measured_ones)
{
    static const struct {
        int64_t n;
        double  us;
    } measured[] = {{320, 55.5},   {512, 194.0},   {768, 438.0},
                    {1024, 945.0}, {2048, 5648.0}, {4096, 41928.0}};
    OWN_MACHINE m = NULL;

    cr_assert_eq(emp_machine_load(&m, "k40x1", NULL), EMP_OK);
    emp_device k40 = m->device[1];
    k40.gemm_tile_rows = 64; /* the fit was made with these */
    k40.split_limit = 1;
    for (size_t i = 0; i < sizeof measured / sizeof measured[0]; i++) {
        int64_t n = measured[i].n;
        double  us = emp_cost_gemm_s(&k40, n, n, n, 1, false) * 1e6 * 745.0 / 875.0;
        cr_expect(us < 1.25 * measured[i].us && us > 0.75 * measured[i].us,
                  "n = %d: %.0f us, measured %.0f", (int)n, us, measured[i].us);
    }
}

Test(cost, a_kernel_takes_its_minimum_and_its_bytes)
{
    emp_op_cost big = {.op_class = EMP_OP_ELEMENTWISE,
                       .kernels = 2,
                       .bytes_read = 6000000,
                       .bytes_written = 4000000};
    emp_op_cost small = {.op_class = EMP_OP_ELEMENTWISE, .kernels = 2, .bytes_read = 8};
    emp_cost_table *t = table_of(&big);

    cr_expect_eq(t->gpu[0].compute_ns, 2 * 3000 + 100000, "10 MB at 100 GB/s");
    cr_expect_eq(t->gpu[0].issue_ns, 20000 + 5000);
    emp_cost_table_destroy(t);
    t = table_of(&small);
    cr_expect_eq(t->gpu[0].compute_ns, 2 * 3000);
    emp_cost_table_destroy(t);
}

static emp_time_ns gpu_ns(const emp_op_cost *cost, const emp_device *on)
{
    OWN_COSTS t = table_on(cost, (const emp_device[]){cpu, *on}, 2);
    return t->gpu[0].compute_ns;
}

/* 100 us of bytes and 3 us besides; the bytes take as long as the model says of the kind. */
Test(cost, kernels_take_their_bytes_times_what_the_model_says_of_them)
{
    static const struct {
        emp_op_work work;
        emp_op_part part;
        int64_t     us;
    } cases[] = {{EMP_WORK_ELEMENTWISE, EMP_PART_FORWARD, 100},
                 {EMP_WORK_REDUCE, EMP_PART_FORWARD, 200},
                 {EMP_WORK_CONCAT, EMP_PART_FORWARD, 300},
                 {EMP_WORK_MOVE, EMP_PART_FORWARD, 300},
                 {EMP_WORK_TRANSPOSE, EMP_PART_FORWARD, 400},
                 {EMP_WORK_MAX_POOL, EMP_PART_FORWARD, 500},
                 {EMP_WORK_AVG_POOL, EMP_PART_FORWARD, 500},
                 {EMP_WORK_MAX_POOL, EMP_PART_BOTH, 600},
                 {EMP_WORK_AVG_POOL, EMP_PART_BOTH, 700},
                 {EMP_WORK_BATCH_NORM, EMP_PART_FORWARD, 800},
                 {EMP_WORK_BATCH_NORM, EMP_PART_BOTH, 900},
                 {EMP_WORK_SOFTMAX, EMP_PART_FORWARD, 1000},
                 {EMP_WORK_LOSS, EMP_PART_FORWARD, 1100},
                 {EMP_WORK_UPDATE, EMP_PART_FORWARD, 1200}};
    emp_device on = gpu;

    on.passes = (emp_passes){2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const emp_op_cost cost = {.op_class = EMP_OP_MOVEMENT,
                                  .work = cases[i].work,
                                  .part = cases[i].part,
                                  .kernels = 1,
                                  .bytes_read = 10000000};
        on.has_passes = false;
        cr_expect_eq(gpu_ns(&cost, &on), 103000);
        on.has_passes = true;
        cr_expect_eq(gpu_ns(&cost, &on), 3000 + 1000 * cases[i].us, "%zu", i);
    }
}

static emp_op_cost convolution(emp_op_part part, emp_conv_window window)
{
    return (emp_op_cost){.op_class = EMP_OP_CONV,
                         .work = EMP_WORK_CONVOLUTION,
                         .part = part,
                         .window = window,
                         .kernels = 1,
                         .m = 4096,
                         .n = 256,
                         .k = 512,
                         .batch = 1};
}

Test(cost, a_convolution_has_the_factor_of_its_window)
{
    emp_device  windows = gpu;
    emp_op_cost plain = convolution(EMP_PART_FORWARD, EMP_CONV_WIDE);
    double      whole = (double)gpu_ns(&plain, &gpu);

    for (int w = 0; w < 3; w++) {
        windows.conv_window_factor[w] = 2 + w;
        windows.conv_filter_factor[w] = 6 + w;
    }
    for (int w = 0; w < 3; w++) {
        emp_op_cost ahead = convolution(EMP_PART_FORWARD, (emp_conv_window)w);
        emp_op_cost input = convolution(EMP_PART_INPUT, (emp_conv_window)w);
        emp_op_cost filter = convolution(EMP_PART_FILTER, (emp_conv_window)w);
        cr_expect_float_eq((double)gpu_ns(&ahead, &windows), (2 + w) * whole, 8.0);
        cr_expect_float_eq((double)gpu_ns(&input, &windows), (2 + w) * whole, 8.0);
        cr_expect_float_eq((double)gpu_ns(&filter, &windows), (6 + w) * whole, 8.0);
    }
}

Test(cost, few_channels_take_narrow_tiles)
{
    /* 16 channels need a quarter of a tile, 17 a half; products have no narrow tiles */
    double full = emp_cost_gemm_s(&gpu, 1 << 20, 64, 512, 1, true);

    cr_expect_float_eq(emp_cost_gemm_s(&gpu, 1 << 20, 3, 512, 1, true), full / 4,
                       0.01 * full);
    cr_expect_float_eq(emp_cost_gemm_s(&gpu, 1 << 20, 17, 512, 1, true), full / 2,
                       0.01 * full);
    cr_expect_float_eq(emp_cost_gemm_s(&gpu, 1 << 20, 3, 512, 1, false),
                       emp_cost_gemm_s(&gpu, 1 << 20, 64, 512, 1, false), 1e-12);
}

Test(cost, transposes_come_on_top_of_a_convolution)
{
    emp_op_cost c = convolution(EMP_PART_FORWARD, EMP_CONV_WIDE);
    emp_time_ns alone = gpu_ns(&c, &gpu);

    c.layout_bytes = c.bytes_read = c.bytes_written = 5000000;
    cr_expect_eq(gpu_ns(&c, &gpu), alone + 100000, "10 MB at 100 GB/s");
}

Test(cost, parts_of_a_product_are_not_short)
{
    emp_device split = gpu;
    split.split_limit = 32;

    double any = emp_cost_gemm_s(&split, 256, 256, 100000, 1, false);
    split.gemm_split_least = 60000;
    cr_expect_float_eq(emp_cost_gemm_s(&split, 256, 256, 100000, 1, false),
                       emp_cost_gemm_s(&gpu, 256, 256, 100000, 1, false), 1e-12);
    split.gemm_split_least = 20000;
    double some = emp_cost_gemm_s(&split, 256, 256, 100000, 1, false);
    cr_expect_gt(some, any);
    cr_expect_lt(some, emp_cost_gemm_s(&gpu, 256, 256, 100000, 1, false));
    /* convolutions do not mind */
    double conv = emp_cost_gemm_s(&split, 256, 256, 100000, 1, true);
    split.gemm_split_least = 0;
    cr_expect_float_eq(emp_cost_gemm_s(&split, 256, 256, 100000, 1, true), conv, 1e-12);
}

Test(cost, a_kernelless_op_costs_host_time_only)
{
    emp_op_cost none = {.op_class = EMP_OP_KERNELLESS};
    OWN_COSTS   t = table_of(&none);

    cr_expect_eq(t->gpu[0].compute_ns, 0);
    cr_expect_eq(t->gpu[0].issue_ns, 2000);
    cr_expect_eq(t->cpu[0].compute_ns, 2000);
    cr_expect_eq(t->cpu[0].lanes, 1);
}

Test(cost, the_cpu_scales_by_cores_up_to_eigens_limit)
{
    /* 10 us on one core: 10,000 cycles are worth one thread */
    emp_op_cost narrow = {
        .op_class = EMP_OP_ELEMENTWISE, .kernels = 1, .cpu_cycles = 1e4};
    emp_op_cost     wide = {.op_class = EMP_OP_GEMM,
                            .kernels = 1,
                            .flops = 1.6e9,
                            .m = 1,
                            .n = 1,
                            .k = 1,
                            .batch = 1};
    emp_cost_table *t = table_of(&narrow);

    cr_expect_eq(t->cpu[0].lanes, 1);
    cr_expect_eq(t->cpu[0].compute_ns, 8000 + 10000);
    cr_expect_eq(t->task_ns[0], 8000 + 10000, "one task");
    emp_cost_table_destroy(t);

    t = table_of(&wide); /* 0.16 s on one core, a quarter of that on 16 */
    cr_expect_eq(t->cpu[0].lanes, 16);
    cr_expect_eq(t->cpu_offset[1], 16);
    cr_expect_eq(t->task_ns[0], (8000 + 160000000) / 4);
    cr_expect_eq(t->task_ns[15], (8000 + 40000000) / 4);
    cr_expect_eq(t->cpu[0].compute_ns, 8000 + 40000000);
    emp_cost_table_destroy(t);

    /* 4 x 10^5 cycles by the bytes alone: floor(4 - 1 + 0.9) threads, bound by 3 cores'
     * streams */
    emp_op_cost bytes = {
        .op_class = EMP_OP_MOVEMENT, .kernels = 1, .bytes_read = 1600000};
    t = table_of(&bytes);
    cr_expect_eq(t->cpu[0].lanes, 3);
    cr_expect_eq(t->task_ns[0], (8000 + 160000) / 4);
    cr_expect_eq(t->task_ns[2], (emp_time_ns)((8000 + 160000 / 3.0) / 4 + 0.5));
    emp_cost_table_destroy(t);
}

/* Two CPUs and three GPUs: the second CPU has a clock of half the rate, the second GPU a memory of
 * half the rate, the third is as the first but three times as slow. */
static void unlike_devices(emp_device device[5])
{
    device[0] = device[2] = cpu;
    device[1] = device[3] = device[4] = gpu;
    device[2].model = 2;
    device[2].clock_hz /= 2;
    device[2].thread_cycles *= 4;
    device[1].model = device[4].model = 1;
    device[3].model = 3;
    device[3].memory_bytes_per_s /= 2;
    device[4].time_factor = 3.0;
}

Test(cost, has_a_column_for_each_model)
{
    emp_op_cost adds = {.op_class = EMP_OP_ELEMENTWISE,
                        .kernels = 1,
                        .bytes_read = 800000,
                        .bytes_written = 200000,
                        .cpu_cycles = 4e5};
    emp_device  device[5];

    unlike_devices(device);
    OWN_COSTS t = table_on(&adds, device, 5);
    cr_expect_eq(t->column_count[EMP_DEVICE_CPU], 2);
    cr_expect_eq(t->column_count[EMP_DEVICE_GPU], 3);
    cr_expect(emp_cost_is_unlike(t));
    emp_time_ns stream_ns = t->gpu[emp_cost_row(t, 1, 0)].compute_ns - 3000;
    cr_expect_eq(t->gpu[emp_cost_row(t, 3, 0)].compute_ns, 3000 + 2 * stream_ns);
    cr_expect_eq(t->gpu[emp_cost_row(t, 4, 0)].compute_ns, 3 * (3000 + stream_ns));
    cr_expect_eq(t->gpu[emp_cost_row(t, 4, 0)].issue_ns, 20000);
    /* 4 e5 cycles and 250,000 of loads: 6 threads of 1 e5 cycles, one of 4 e5 */
    size_t first = emp_cost_row(t, 0, 0), second = emp_cost_row(t, 2, 0);
    cr_expect_eq(t->cpu[first].lanes, 6);
    cr_expect_eq(t->cpu[second].lanes, 1);
    cr_expect_eq(t->cpu_offset[second], 6);
    cr_expect_eq(t->cpu_offset[second + 1], 7);
    cr_expect_eq(t->task_ns[t->cpu_offset[second]], 8000 + 800000);
    cr_expect_eq(t->cpu[second].compute_ns, 808000);
}

/* ---- groups of cores --------------------------------------------------------------- */

static const emp_core core = {.op_s = 2e-6,
                              .kernelless_s = 1e-6,
                              .cache_bytes = 1000000,
                              .cache_factor = 4.0,
                              .pack_bytes_per_s = 20e9,
                              .columns_hz = 1e9,
                              .columns_input_hz = 0.5e9,
                              .light_hz = 8e9,
                              .divide_hz = 4e9,
                              .exp_hz = 2e9,
                              .reduce_hz = 1e9};

static void expect_on_cores(const emp_op_cost *cost, double cpu_s, double gpu_s)
{
    emp_device device[] = {cpu, gpu};

    device[0].cores = 1;
    for (int d = 0; d < 2; d++) {
        device[d].has_core = true;
        device[d].core = core;
    }
    OWN_COSTS t = table_on(cost, device, 2);
    cr_expect_float_eq(1e-9 * (double)t->cpu[0].compute_ns, cpu_s, 1e-9, "%g", cpu_s);
    cr_expect_float_eq(1e-9 * (double)t->gpu[0].compute_ns, gpu_s, 1e-9, "%g", gpu_s);
}

/* 12 MB and 1 M elements: 120 us at 100 GB/s, 1.2 ms at one core's 10 GB/s. */
Test(cost, element_wise_ops_on_cores_take_bytes_and_arithmetic)
{
    const struct {
        double cycles, hz;
    } kinds[] = {{1, 8e9}, {14, 4e9}, {25, 2e9}};

    for (size_t i = 0; i < 3; i++) {
        emp_op_cost cost = {.op_class = EMP_OP_ELEMENTWISE,
                            .kernels = 1,
                            .bytes_read = 8000000,
                            .bytes_written = 4000000,
                            .cpu_cycles = kinds[i].cycles * 1e6};
        double      work_s = kinds[i].cycles * 1e6 / kinds[i].hz;
        expect_on_cores(&cost, 8e-6 + 1.2e-3 + work_s, 2e-6 + 120e-6 + work_s);
    }
}

Test(cost, what_fits_in_the_cache_of_a_core_streams_faster)
{
    emp_op_cost cost = {.op_class = EMP_OP_REDUCTION,
                        .kernels = 2,
                        .bytes_read = 999996,
                        .bytes_written = 4};

    expect_on_cores(&cost, 8e-6 + 25e-6, 2e-6 + 2.5e-6);
    cost.bytes_written = 5;
    expect_on_cores(&cost, 8e-6 + 100e-6, 2e-6 + 10e-6);
    cost = (emp_op_cost){.op_class = EMP_OP_KERNELLESS};
    expect_on_cores(&cost, 2e-6, 1e-6);
}

/* The column matrix has m k = 1 M elements. */
Test(cost, products_on_cores_pack_and_convolutions_make_columns)
{
    emp_op_cost cost = {.op_class = EMP_OP_CONV,
                        .kernels = 1,
                        .m = 4000,
                        .n = 64,
                        .k = 250,
                        .batch = 1,
                        .flops = 2.0 * 4000 * 64 * 250,
                        .bytes_read = 1900000,
                        .bytes_written = 100000};
    double      flops_per_s = 2.0 * 64 * 64 / gpu.gemm_per_wave_s * gpu.multiprocessors;
    double      product_s = cost.flops / flops_per_s;

    expect_on_cores(&cost, 8e-6 + cost.flops / 5e9 + 100e-6 + 1e-3,
                    2e-6 + product_s + 100e-6 + 1e-3);
    cost.op_class = EMP_OP_GEMM;
    expect_on_cores(&cost, 8e-6 + cost.flops / 10e9 + 100e-6, 2e-6 + product_s + 100e-6);
}

/* Nanoseconds of one op on a group while another device works: what is not in the cache then takes 3
 * times as long, all else 2 times. \return those of the op alone. */
static emp_time_ns time_beside(const emp_op_cost *cost, emp_time_ns *beside_ns)
{
    emp_device device[] = {cpu, gpu};

    device[1].has_core = device[1].has_sharing = true;
    device[1].core = core;
    device[1].sharing = (emp_sharing){.beside_stream = 3.0, .beside_clock = 2.0};
    OWN_COSTS   t = table_on(cost, device, 2);
    emp_time_ns alone_ns = t->gpu[0].compute_ns;
    *beside_ns = t->gpu_beside_ns[0];
    return alone_ns;
}

Test(cost, bytes_and_arithmetic_take_longer_beside_another_device)
{
    emp_time_ns alone_ns, beside_ns;
    emp_op_cost cost = {.op_class = EMP_OP_REDUCTION,
                        .kernels = 1,
                        .bytes_read = 10000000,
                        .cpu_cycles = 5e4};

    alone_ns = time_beside(&cost, &beside_ns); /* 2 us, 100 us of bytes, 50 us */
    cr_expect_eq(alone_ns, 152000);
    cr_expect_eq(beside_ns, 2000 + 3 * 100000 + 2 * 50000);
    cost.bytes_read = 1000000; /* in the cache: 2.5 us */
    alone_ns = time_beside(&cost, &beside_ns);
    cr_expect_eq(beside_ns, 2000 + 2 * 2500 + 2 * 50000);
    cost = (emp_op_cost){.op_class = EMP_OP_GEMM,
                         .kernels = 1,
                         .m = 1000,
                         .n = 100,
                         .k = 500,
                         .batch = 1,
                         .flops = 1e8,
                         .bytes_read = 10000000};
    alone_ns = time_beside(&cost, &beside_ns); /* 500 us of packing */
    cr_expect_eq(beside_ns - 2000, 3 * 500000 + 2 * (alone_ns - 2000 - 500000));
    cost = (emp_op_cost){.op_class = EMP_OP_KERNELLESS};
    alone_ns = time_beside(&cost, &beside_ns);
    cr_expect_eq(beside_ns, alone_ns);
}
