// SPDX-License-Identifier: GPL-3.0-or-later
/* Do products cost what a model's tables and rates of formats say?
 * Do collectives take what tables say, and else what a ring takes? */
#include "sim/cost/cost.h"
#include "sim/cost/kernel.h"
#include "sim/machine/model.h"
#include "tests/sim/graph/kit.h"
#include "tests/support/survive.h"

static emp_device_model h100;
static emp_graph       *graph;

/* x [512, 1024] times w [1024, 256]; attention of 2 x 1024 tokens with 8 heads on 2 of keys. */
static void set_up(void)
{
    emp_graph_builder *b = kit_begin();
    emp_op_attrs       causal = {.is_causal = true};

    ASSERT_OK(emp_device_model_load(&h100, "h100-sxm", &err));
    kit_ops(b,
            "x = f[512,1024]; w = f[1024,256]; product = MatMul x w; "
            "q = f[2,1024,8,128]; k, v = f[2,1024,2,128]; attention = Attention@ q k v; "
            "gradient = AttentionGrad@ attention q k v attention attention:1; "
            "one = f[2,1,8,128]; decode = Attention one k v; "
            "token = f[64,1,8,128]; keys, apart = f[64,16384,1,128]; "
            "columns = f[64,16384,1,96]; own = Attention token keys apart; "
            "latent = Attention token keys columns",
            &causal, &causal);
    graph = kit_finish(b);
}

static void tear_down(void)
{
    emp_graph_destroy(graph);
    emp_device_model_clear(&h100);
    expect_all_freed();
}

TestSuite(format_cost, .init = set_up, .fini = tear_down);

static void dtype_of(const char *name, emp_dtype dtype)
{
    graph->tensor[graph->output_offset[kit_find(graph, name)]].dtype = (uint8_t)dtype;
}

static double time_of(const char *name, emp_dtype dtype, emp_format fp32_as)
{
    dtype_of(name, dtype);
    return emp_format_product_s(graph, kit_find(graph, name), &h100.device, fp32_as);
}

static double product_s(emp_format format)
{
    double   seconds = 0.0;
    emp_form form;

    ASSERT_OK(emp_product_time(&seconds, &form, &h100.device,
                               &(emp_product){format, 512, 256, 1024, 1.0}, NULL));
    return seconds;
}

/* A product in bf16, in TF32 and of fp32; an op that is no product, and a model without formats. */
Test(format_cost, peaks_are_those_of_the_op_s_format)
{
    const emp_device *gpu = &h100.device;
    emp_device        plain = *gpu;
    emp_runtime       runtime = {.events.fp32_products = EMP_FORMAT_TF32};
    const emp_op_id   product = kit_find(graph, "product");
    uint8_t          *dtype = &graph->tensor[graph->output_offset[product]].dtype;

    *dtype = EMP_DTYPE_BFLOAT16;
    cr_expect_eq(emp_cost_peak_flops_per_s(graph, product, gpu, &runtime),
                 gpu->format_flops_per_s[EMP_FORMAT_BF16]);
    *dtype = EMP_DTYPE_FLOAT;
    cr_expect_eq(emp_cost_peak_flops_per_s(graph, product, gpu, &runtime),
                 gpu->format_flops_per_s[EMP_FORMAT_TF32]);
    cr_expect_eq(emp_cost_peak_flops_per_s(graph, kit_find(graph, "x"), gpu, &runtime),
                 gpu->peak_flops_per_s);
    runtime.events.fp32_products = EMP_FORMAT_FP32;
    cr_expect_eq(emp_cost_peak_flops_per_s(graph, product, gpu, &runtime),
                 gpu->peak_flops_per_s);
    *dtype = EMP_DTYPE_BFLOAT16;
    plain.tables = NULL;
    memset(plain.format_flops_per_s, 0, sizeof plain.format_flops_per_s);
    cr_expect_eq(emp_cost_peak_flops_per_s(graph, product, &plain, &runtime),
                 gpu->peak_flops_per_s);
}

Test(format_cost, products_take_what_the_table_of_their_format_says)
{
    cr_expect_eq(time_of("product", EMP_DTYPE_BFLOAT16, EMP_FORMAT_FP32),
                 product_s(EMP_FORMAT_BF16));
    cr_expect_eq(time_of("product", EMP_DTYPE_HALF, EMP_FORMAT_FP32),
                 product_s(EMP_FORMAT_BF16), "the twin");
    cr_expect_eq(time_of("product", EMP_DTYPE_FLOAT, EMP_FORMAT_BF16),
                 product_s(EMP_FORMAT_BF16), "as the runtime computes fp32");
}

/* Tensor cores multiply bf16, int8 or fp8 and sum up in fp32, int32 or bf16. Operands that differ, or wider ones, leave
 * the output to decide. */
Test(format_cost, products_take_the_format_of_their_operands)
{
    static const struct {
        emp_dtype  x, w, made;
        emp_format want;
    } cases[] = {
        {EMP_DTYPE_BFLOAT16, EMP_DTYPE_BFLOAT16, EMP_DTYPE_FLOAT, EMP_FORMAT_BF16},
        {EMP_DTYPE_HALF, EMP_DTYPE_HALF, EMP_DTYPE_FLOAT, EMP_FORMAT_FP16},
        {EMP_DTYPE_INT8, EMP_DTYPE_INT8, EMP_DTYPE_INT32, EMP_FORMAT_INT8},
        {EMP_DTYPE_UINT8, EMP_DTYPE_INT8, EMP_DTYPE_INT32, EMP_FORMAT_INT8},
        {EMP_DTYPE_FLOAT8_E4M3, EMP_DTYPE_FLOAT8_E5M2, EMP_DTYPE_BFLOAT16,
         EMP_FORMAT_FP8},
        {EMP_DTYPE_FLOAT8_E5M2, EMP_DTYPE_FLOAT8_E5M2, EMP_DTYPE_FLOAT8_E5M2,
         EMP_FORMAT_FP8},
        {EMP_DTYPE_BFLOAT16, EMP_DTYPE_INT8, EMP_DTYPE_BFLOAT16, EMP_FORMAT_BF16},
        {EMP_DTYPE_FLOAT, EMP_DTYPE_BFLOAT16, EMP_DTYPE_FLOAT, EMP_FORMAT_FP32},
        {EMP_DTYPE_FLOAT, EMP_DTYPE_FLOAT, EMP_DTYPE_BFLOAT16, EMP_FORMAT_BF16},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dtype_of("x", cases[i].x);
        dtype_of("w", cases[i].w);
        cr_expect_eq(time_of("product", cases[i].made, EMP_FORMAT_FP32),
                     product_s(cases[i].want), "case %zu", i);
    }
    h100.device.format_flops_per_s[EMP_FORMAT_INT8] = 0.0;
    dtype_of("x", EMP_DTYPE_INT8);
    dtype_of("w", EMP_DTYPE_INT8);
    cr_expect_eq(time_of("product", EMP_DTYPE_INT32, EMP_FORMAT_FP32),
                 product_s(EMP_FORMAT_FP32), "a format that the model does not know");
}

Test(format_cost, the_formula_has_the_rate_of_the_format)
{
    double fp32_s = time_of("product", EMP_DTYPE_FLOAT, EMP_FORMAT_FP32);
    double tf32_s = time_of("product", EMP_DTYPE_FLOAT, EMP_FORMAT_TF32);
    double base_s = h100.device.gemm_base_s;

    cr_expect_eq(fp32_s, emp_cost_gemm_s(&h100.device, 512, 256, 1024, 1, false));
    cr_expect_lt(tf32_s, fp32_s);
    cr_expect_gt(tf32_s, base_s);
    dtype_of("x", EMP_DTYPE_DOUBLE);
    dtype_of("w", EMP_DTYPE_DOUBLE);
    cr_expect_eq(time_of("product", EMP_DTYPE_DOUBLE, EMP_FORMAT_TF32), fp32_s,
                 "its tensor cores multiply fp64 at the rate of fp32");
    dtype_of("x", EMP_DTYPE_FLOAT);
    dtype_of("w", EMP_DTYPE_FLOAT);
    h100.device.format_flops_per_s[EMP_FORMAT_TF32] = 0.0;
    cr_expect_eq(time_of("product", EMP_DTYPE_FLOAT, EMP_FORMAT_TF32), fp32_s,
                 "a format that the model does not know");
}

Test(format_cost, attention_takes_what_its_table_says)
{
    emp_attention a = {EMP_ATTENTION_OF_PROMPT, EMP_FORMAT_BF16, 1024, 2 * 2, 4, 128};
    double        seconds = 0.0, forward_s;
    emp_form      form;

    cr_assert_eq(emp_attention_time(&seconds, &form, &h100.device, &a, NULL), EMP_OK);
    cr_expect_eq(form, EMP_FORM_TABLE);
    forward_s = time_of("attention", EMP_DTYPE_BFLOAT16, EMP_FORMAT_FP32);
    cr_expect_float_eq(forward_s, seconds, 0.002 * seconds, "but for the diagonal");
    cr_expect_float_eq(time_of("gradient", EMP_DTYPE_BFLOAT16, EMP_FORMAT_FP32),
                       2.5 * forward_s, 1e-12);
    a = (emp_attention){EMP_ATTENTION_OF_TOKEN, EMP_FORMAT_BF16, 1024, 2 * 2, 4, 128};
    cr_assert_eq(emp_attention_time(&seconds, &form, &h100.device, &a, NULL), EMP_OK);
    cr_expect_float_eq(time_of("decode", EMP_DTYPE_BFLOAT16, EMP_FORMAT_FP32), seconds,
                       1e-12);
}

/* Values that are columns of the keys (DeepSeek-V2, section 2.1.2) are in the cache once, which is half of keys and values. */
Test(format_cost, values_in_the_keys_are_read_once)
{
    const int64_t keys = 64LL * 16384 * 128, token = 64LL * 8 * 128;
    double        own_s = time_of("own", EMP_DTYPE_BFLOAT16, EMP_FORMAT_FP32);
    double        latent_s = time_of("latent", EMP_DTYPE_BFLOAT16, EMP_FORMAT_FP32);

    cr_expect_eq(graph->op[kit_find(graph, "own")].cost->bytes_read,
                 4 * (token + 2 * keys));
    cr_expect_eq(graph->op[kit_find(graph, "latent")].cost->bytes_read,
                 4 * (token + keys));
    cr_expect_float_eq(latent_s, 0.5 * own_s, 0.02 * own_s, "%g and %g", latent_s, own_s);
}

static double eager_s(const emp_device *gpu)
{
    const emp_op_id op = kit_find(graph, "product");
    emp_runtime     runtime;

    ASSERT_OK(emp_runtime_init(&runtime, "torch-eager", &err));
    return 1e-9 * (double)emp_cost_on_gpu(emp_graph_own_cost(graph, op), graph, op, gpu,
                                          &runtime.events)
                      .compute_ns;
}

/* Seconds of one row times 4096 x 4096 weights, of which a share of two bytes each is stored. */
static double row_s(const emp_device *gpu, int64_t rows, double share)
{
    const int64_t size = 4096;
    emp_op_id     op = kit_find(graph, "product");
    emp_op_cost  *c = emp_graph_own_cost(graph, op);

    c->m = rows, c->n = c->k = size;
    c->flops = 2.0 * (double)(rows * size * size);
    c->bytes_written = 2 * rows * size;
    c->bytes_read = c->bytes_written + (int64_t)(2.0 * share * (double)(size * size));
    c->weight_bytes = c->bytes_read - c->bytes_written;
    c->stored = share < 1.0 ? EMP_DTYPE_INT8 : EMP_DTYPE_NONE; /* has no unpacking */
    graph->tensor[graph->output_offset[op]].dtype = EMP_DTYPE_HALF;
    return eager_s(gpu);
}

static const char *const known[] = {"a100-sxm", "b200-sxm",   "h100-sxm", "h200-sxm",
                                    "l40s",     "rtxpro6000", "m3-ultra", "rtx3060",
                                    "rtx3090",  "rtx4090",    "v100"};

static void load(emp_device_model *model, const char *name)
{
    *model = (emp_device_model){0};
    ASSERT_OK(emp_device_model_load(model, name, &err));
}

/* A roofline: at least the stored bytes over the rate of the memory. A GEMV of this size is measured at 0.6
 * to 0.95 of it. */
static void expect_few_rows_take_bytes(const emp_device *gpu, const char *name)
{
    for (int64_t rows = 1; rows <= 8; rows *= 2) {
        for (double share = 1.0; share > 0.2; share /= 2.0) {
            double bytes_s = share * 2.0 * 4096 * 4096 / gpu->memory_bytes_per_s;
            double taken_s = row_s(gpu, rows, share) - gpu->kernel_minimum_s;
            cr_expect_geq(taken_s + gpu->kernel_minimum_s, bytes_s, "%s", name);
            cr_expect_leq(taken_s, 1.7 * bytes_s, "%s, %d rows, share %g: %g, %g s", name,
                          (int)rows, share, taken_s, bytes_s);
        }
    }
}

static void expect_many_rows_take_arithmetic(const emp_device *gpu, const char *name)
{
    const double whole_s = row_s(gpu, 4096, 1.0);

    cr_expect_eq(row_s(gpu, 4096, 0.25), whole_s, "%s", name);
    for (int64_t rows = 1; rows < 4096; rows *= 2) {
        double quantised_s = row_s(gpu, rows, 0.25);
        cr_expect_leq(quantised_s, row_s(gpu, rows, 1.0), "%s", name);
        cr_expect_geq(quantised_s, whole_s * (double)rows / 4096 * 0.6, "%s", name);
    }
}

Test(format_cost, old_models_know_no_formats)
{
    SCOPED(emp_device_model, emp_device_model_clear) k40;

    load(&k40, "k40");
    cr_expect_not(emp_has_formats(&k40.device));
    cr_expect(emp_has_formats(&h100.device));
}

/* 4096 x 4096 weights of a type of llama.cpp, of so many bytes. */
static double quantised_row_s(const emp_device *gpu, int64_t rows, uint32_t ggml)
{
    emp_shape shape = EMP_SHAPE(4096, 4096);
    emp_dtype dtype = emp_dtype_of_ggml(ggml);
    double    bytes = (double)emp_dtype_tensor_bytes(dtype, &shape);

    row_s(gpu, rows, bytes / (2.0 * 4096 * 4096));
    emp_op_cost *c = emp_graph_own_cost(graph, kit_find(graph, "product"));
    c->stored = dtype;
    c->weight_bytes = (int64_t)bytes;
    return eager_s(gpu);
}

/* Microseconds of products with 4096 x 4096 weights on an H200 with one row, with 512 rows: data/anchors/llama. */
static const struct {
    uint32_t ggml;
    double   one_us, many_us;
} measured[] = {{2, 7.20, 91.7},    {8, 9.05, 92.4},   {10, 8.39, 156.0},
                {11, 10.77, 122.9}, {12, 8.08, 104.0}, {14, 10.38, 123.6}};

static void expect_near(double taken_s, double us, uint32_t ggml)
{
    cr_expect_float_eq(1e6 * taken_s, us, 0.25 * us, "%u: %g us", ggml, 1e6 * taken_s);
}

Test(format_cost, unpacking_takes_what_was_measured_on_an_h200)
{
    SCOPED(emp_device_model, emp_device_model_clear) h200;

    load(&h200, "h200-sxm");
    for (size_t i = 0; i < COUNT(measured); i++) {
        const uint32_t ggml = measured[i].ggml;
        expect_near(quantised_row_s(&h200.device, 1, ggml), measured[i].one_us, ggml);
        expect_near(quantised_row_s(&h200.device, 512, ggml), measured[i].many_us, ggml);
    }
}

/* Llama-3.1-8B on an M4 Max, by llama.cpp's authors: 79.73 tokens a second in IQ1_S and 29.17 in F16, whose weights
 * are 8.2 times as many bytes. */
Test(format_cost, kernels_of_metal_unpack_in_their_own_time)
{
    enum { IQ1_S = 19 };
    SCOPED(emp_device_model, emp_device_model_clear) mac;

    load(&mac, "m4-max");
    double ratio = row_s(&mac.device, 1, 1.0) / quantised_row_s(&mac.device, 1, IQ1_S);
    cr_expect_gt(ratio, 2.7);
    cr_expect_lt(ratio, 5.5);
    mac.device.has_metal_kernels = false;
    cr_expect_lt(quantised_row_s(&h100.device, 1, IQ1_S),
                 quantised_row_s(&mac.device, 1, IQ1_S));
}

static void expect_bits_count(const emp_device *gpu, const char *name)
{
    enum { Q4_0 = 2, Q8_0 = 8, Q6_K = 14 };
    const double q4_s = quantised_row_s(gpu, 1, Q4_0),
                 q8_s = quantised_row_s(gpu, 1, Q8_0);

    cr_expect_lt(q8_s, row_s(gpu, 1, 1.0), "%s", name);
    cr_expect_lt(q4_s, q8_s, "%s", name);
    cr_expect_lt(q4_s, quantised_row_s(gpu, 1, Q6_K), "%s", name);
}

Test(format_cost, products_take_bytes_or_arithmetic_on_every_model)
{
    for (size_t i = 0; i < COUNT(known); i++) {
        SCOPED(emp_device_model, emp_device_model_clear) model;
        load(&model, known[i]);
        expect_few_rows_take_bytes(&model.device, known[i]);
        expect_many_rows_take_arithmetic(&model.device, known[i]);
        expect_bits_count(&model.device, known[i]);
    }
}

/* The type in which W4A4 stores weights; ggml's nvfp4 (W4A16) has as many bytes. */
static double fp4_s(const emp_device *gpu, int64_t rows, emp_dtype stored)
{
    enum { GGML_NVFP4 = 40 };
    emp_op_id op = kit_find(graph, "product");

    quantised_row_s(gpu, rows, GGML_NVFP4);
    emp_op_cost *c = emp_graph_own_cost(graph, op);
    c->stored = stored == EMP_DTYPE_NONE ? c->stored : stored;
    c->computed = stored;
    const double seconds = emp_format_product_s(graph, op, gpu, EMP_FORMAT_FP32);
    c->computed = EMP_DTYPE_NONE;
    return seconds;
}

static double fp4_formula_s(const emp_device *gpu, int64_t rows)
{
    emp_device scaled = *gpu;

    scaled.gemm_per_wave_s *=
        gpu->peak_flops_per_s / gpu->format_flops_per_s[EMP_FORMAT_FP4];
    while (scaled.gemm_tile_rows > 8 && scaled.gemm_tile_rows / 2 >= rows)
        scaled.gemm_tile_rows /= 2;
    const double products_s = emp_cost_gemm_s(&scaled, rows, 4096, 4096, 1, false);
    const double bytes = 4.5 / 8 * 4096 * 4096 + 2.0 * 2.0 * (double)rows * 4096;
    return fmax(products_s, bytes / gpu->memory_bytes_per_s);
}

/* Dense rates of NVFP4, documented, are twice those of 8 bits; on a 5090, twice those of int8. */
static const struct {
    const char *name;
    double      flops_per_s;
} with_fp4[] = {{"b200-sxm", 9000e12},
                {"gb200", 10000e12},
                {"rtx5090", 1676e12},
                {"rtxpro6000", 1871.2e12},
                {"gb10", 500e12}};

typedef struct {
    double x, y, z;
} point;

static int32_t grid_points(const emp_grid *g)
{
    return g == NULL ? 0 : g->points[0] * g->points[1] * g->points[2];
}

static point point_of(const emp_grid *g, int32_t index)
{
    return (point){exp(g->knot[0][index / g->points[2] / g->points[1]]),
                   exp(g->knot[1][index / g->points[2] % g->points[1]]),
                   exp(g->knot[2][index % g->points[2]])};
}

static void expect_possible(double seconds, double flops_s, double bytes, double rate,
                            const char *name)
{
    const double bytes_s = bytes > 256 << 20 ? bytes / rate : 0.0;

    cr_expect_geq(seconds, (1.0 - 1e-9) * fmax(flops_s, bytes_s), "%s: %g MB", name,
                  bytes * 1e-6);
}

/* Published: GeForce cards have 1/64 of the rate of fp32, a T4 1/32, a V100 half. */
Test(format_cost, products_of_doubles_take_the_rate_of_fp64)
{
    static const struct {
        const char *name;
        double      share;
    } cases[] = {{"rtx5090", 64}, {"rtx3090", 64}, {"l40s", 64},
                 {"t4", 32},      {"v100", 2},     {"h100-sxm", 1}};
    emp_form form;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        emp_device_model m = {0};
        emp_product      product = {EMP_FORMAT_FP64, 8192, 8192, 8192, 1.0};
        double           fp64_s, fp32_s;
        ASSERT_OK(emp_device_model_load(&m, cases[i].name, &err));
        ASSERT_OK(emp_product_time(&fp64_s, &form, &m.device, &product, &err));
        product.format = EMP_FORMAT_FP32;
        ASSERT_OK(emp_product_time(&fp32_s, &form, &m.device, &product, &err));
        cr_expect(fabs(fp64_s / fp32_s / cases[i].share - 1.0) < 0.02, "%s: %g times",
                  cases[i].name, fp64_s / fp32_s);
        emp_device_model_clear(&m);
    }
}

/* At each point of the tables: the published peak, and the published rate of memory for what no cache holds. */
Test(format_cost, no_kernel_is_faster_than_its_device)
{
    static const char *const names[] = {"a100-sxm", "b200-sxm", "h100-sxm",   "h200-sxm",
                                        "l40s",     "mi300x",   "rtxpro6000", "mi355x"};
    emp_form                 form;
    double                   s;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        emp_device_model m = {0};
        const emp_format f = EMP_FORMAT_BF16;
        ASSERT_OK(emp_device_model_load(&m, names[i], &err));
        const double    peak = m.card.peak_flops_per_s[f], rate = m.card.rate_bytes_per_s;
        const emp_grid *g = m.device.tables->gemm[f];
        for (int32_t p = 0; p < grid_points(g); p++) {
            const point       a = point_of(g, p);
            const emp_product product = {f, a.x, a.y, a.z, 1.0};
            const double      bytes = 2.0 * (a.x * a.y + a.y * a.z + a.x * a.z);
            ASSERT_OK(emp_product_time(&s, &form, &m.device, &product, &err));
            expect_possible(s, 2.0 * a.x * a.y * a.z / peak, bytes, rate, names[i]);
        }
        for (int32_t phase = 0; phase < EMP_ATTENTION_PHASES; phase++) {
            g = m.device.tables->attention[phase][f];
            for (int32_t p = 0; p < grid_points(g); p++) {
                const point         a = point_of(g, p);
                const emp_attention of = {(emp_phase)phase, f, a.x, a.y, a.z, 128};
                const double        tokens = phase == EMP_ATTENTION_OF_PROMPT ? a.x : 1.0;
                const double        pairs =
                    phase == EMP_ATTENTION_OF_PROMPT ? a.x * a.x / 2.0 : a.x;
                ASSERT_OK(emp_attention_time(&s, &form, &m.device, &of, &err));
                expect_possible(s, 4.0 * 128 * pairs * a.y * a.z / peak,
                                4.0 * 128 * a.y * (a.x + tokens * a.z), rate, names[i]);
            }
        }
        emp_device_model_clear(&m);
    }
}

Test(format_cost, products_of_4_bits_take_their_rate_where_the_gpu_has_it)
{
    for (size_t i = 0; i < COUNT(with_fp4); i++) {
        SCOPED(emp_device_model, emp_device_model_clear) model;
        load(&model, with_fp4[i].name);
        const emp_device *gpu = &model.device;
        cr_expect_eq(gpu->format_flops_per_s[EMP_FORMAT_FP4], with_fp4[i].flops_per_s);
        cr_expect_eq(gpu->format_flops_per_s[EMP_FORMAT_FP4],
                     2 * gpu->format_flops_per_s[EMP_FORMAT_INT8]);
        for (int64_t rows = 1; rows <= 8192; rows *= 2) {
            const double w4a4 = fp4_s(gpu, rows, EMP_DTYPE_NVFP4_W4A4);
            const double w4a16 = fp4_s(gpu, rows, EMP_DTYPE_NONE);
            cr_expect_float_eq(w4a4, fp4_formula_s(gpu, rows), 1e-9 * w4a4, "%s, %d",
                               with_fp4[i].name, (int)rows);
            cr_expect_leq(w4a4, w4a16, "%s, %d rows: %g, %g", with_fp4[i].name, (int)rows,
                          w4a4, w4a16);
            if (rows == 8192) cr_expect_gt(w4a16, 3 * w4a4, "%s", with_fp4[i].name);
        }
    }
    /* others unpack the weights, whatever the activations were rounded to */
    cr_expect_eq(fp4_s(&h100.device, 8192, EMP_DTYPE_NVFP4_W4A4),
                 fp4_s(&h100.device, 8192, EMP_DTYPE_NONE));
    cr_expect_leq(fp4_s(&h100.device, 1, EMP_DTYPE_NVFP4_W4A4),
                  fp4_s(&h100.device, 1, EMP_DTYPE_NONE));
}

/* ---- collectives ---- */

static emp_machine *load_machine(const char *name)
{
    emp_machine *machine = NULL;

    ASSERT_OK(emp_machine_load(&machine, name, &err));
    return machine;
}

/* The RTX 3060 has 6.3 GB/s, and a small copy takes 24 us: a part of a third takes 1.024 ms. */
Test(collective_cost, without_a_table_it_is_a_ring)
{
    emp_machine        *m = load_machine("rtx4090x2+rtx3060");
    emp_collective_part part = {EMP_COLLECTIVE_ALL_REDUCE, 3, 3 * 6300000, 0};

    for (int32_t d = 0; d < m->device_count; d++) {
        part.op = EMP_COLLECTIVE_ALL_REDUCE;
        part.ranks = 3;
        cr_expect_float_eq(emp_collective_s(&part, m, &m->device[d]), 4.096e-3, 1e-12);
        part.op = EMP_COLLECTIVE_ALL_TO_ALL;
        cr_expect_float_eq(emp_collective_s(&part, m, &m->device[d]), 2.048e-3, 1e-12);
        part.ranks = EMP_RANKS_ALL;
        cr_expect_float_eq(emp_collective_s(&part, m, &m->device[d]), 2.048e-3, 1e-12);
        part.ranks = EMP_RANKS_ALL_GATHER; /* of three times the bytes */
        cr_expect_float_eq(emp_collective_s(&part, m, &m->device[d]), 6.048e-3, 1e-12);
        part.ranks = 1;
        cr_expect_eq(emp_collective_s(&part, m, &m->device[d]), 0.0);
    }
    emp_machine_destroy(m);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* Nothing is there to send it by but memory. */
Test(collective_cost, a_cpu_by_itself_copies)
{
    OWN_MACHINE               m = NULL;
    const emp_collective_part part = {EMP_COLLECTIVE_ALL_GATHER, 4, 4000000, 0};

    cr_assert_eq(emp_machine_create(&m, "cpu", 1, 0, 1 << 30, NULL), EMP_OK);
    m->device[0].core_bytes_per_s = 1e9;
    cr_expect_float_eq(emp_collective_s(&part, m, &m->device[0]), 3e-3, 1e-12);
}

Test(collective_cost, a_table_counts_as_far_as_it_goes)
{
    OWN_MACHINE       m = load_machine("dgx-h100");
    const emp_device *gpu = emp_machine_first(m, EMP_DEVICE_GPU);

    for (int32_t op = 0; op < EMP_COLLECTIVES; op++) {
        emp_collective_part part = {(emp_collective)op, 8, 1 << 24, 0};
        emp_exchange        e = {(emp_collective)op, EMP_FORMAT_FP16, 8, 1 << 24};
        double              seconds;
        emp_form            form;
        cr_assert_eq(emp_exchange_time(&seconds, &form, gpu, &e, NULL), EMP_OK);
        cr_expect_eq(form, EMP_FORM_TABLE);
        cr_expect_eq(emp_collective_s(&part, m, gpu), seconds);
        part.ranks = 64; /* a ring of its links */
        cr_expect_gt(emp_collective_s(&part, m, gpu), 0.0);
        cr_expect_neq(emp_collective_s(&part, m, gpu), seconds);
    }
}

/* The tables of an H100 were measured on NVSwitch: over slower links, or where no host has all ranks, there is a ring. */
Test(collective_cost, a_table_counts_on_links_as_fast_as_its_own)
{
    const emp_collective_part part = {EMP_COLLECTIVE_ALL_REDUCE, 8, 128000000, 0};
    OWN_MACHINE               m = load_machine("dgx-h100x2");
    const emp_device         *gpu = emp_machine_first(m, EMP_DEVICE_GPU);

    cr_expect_lt(emp_collective_s(&part, m, gpu), 1e-3, "within a host");
    for (int32_t d = 0; d < m->device_count; d++) /* each GPU in a host of its own */
        if (m->device[d].kind == EMP_DEVICE_GPU) m->device[d].host = d;
    cr_expect_float_eq(emp_collective_s(&part, m, gpu), 2 * 7 * (16e6 / 45e9 + 10e-6),
                       1e-9, "between hosts");
    for (int32_t d = 0; d < m->device_count; d++) m->device[d].host = 0;
    for (int32_t a = 0; a < m->device_count; a++) {
        for (int32_t b = 0; b < m->device_count; b++) {
            m->route[a][b].bytes_per_s = 5e9;
            m->route[a][b].latency_s = 10e-6;
        }
    }
    cr_expect_float_eq(emp_collective_s(&part, m, gpu), 2 * 7 * (16e6 / 5e9 + 10e-6),
                       1e-9, "over PCIe");
}

/* By hand: rings over seven links of 48 GB/s at once. */
Test(collective_cost, a_mesh_uses_all_its_links)
{
    OWN_MACHINE         m = load_machine("mi300x8");
    emp_collective_part part = {EMP_COLLECTIVE_ALL_GATHER, 8, 336000000, 0};
    const emp_device   *gpu = emp_machine_first(m, EMP_DEVICE_GPU);

    cr_expect_float_eq(emp_collective_s(&part, m, gpu), 7.0 / 8.0 * 1e-3 + 70e-6, 1e-9);
    part.ranks = 2;
    cr_expect_float_eq(emp_collective_s(&part, m, gpu), 3.5e-3 + 10e-6, 1e-9);
}

/* A table of only all-reduces serves for the others, which send half as much. */
Test(collective_cost, another_table_stands_in_and_says_so)
{
    OWN_MACHINE  m = load_machine("dgx-h100");
    emp_device   gpu = *emp_machine_first(m, EMP_DEVICE_GPU);
    emp_tables   all = *gpu.tables, own = {0};
    emp_exchange e = {EMP_COLLECTIVE_ALL_REDUCE, EMP_FORMAT_BF16, 4, 1 << 20};
    double       reduce_s, seconds;
    emp_form     form;

    gpu.tables = &own;
    own.collective[EMP_COLLECTIVE_ALL_REDUCE][EMP_FORMAT_BF16] =
        all.collective[EMP_COLLECTIVE_ALL_REDUCE][EMP_FORMAT_BF16];
    cr_assert_eq(emp_exchange_time(&reduce_s, &form, &gpu, &e, NULL), EMP_OK);
    cr_expect_eq(form, EMP_FORM_TABLE);
    for (int32_t op = EMP_COLLECTIVE_ALL_REDUCE + 1; op < EMP_COLLECTIVES; op++) {
        e.op = (emp_collective)op;
        cr_assert_eq(emp_exchange_time(&seconds, &form, &gpu, &e, NULL), EMP_OK);
        cr_expect_eq(form, EMP_FORM_LIKE);
        cr_expect_float_eq(seconds, reduce_s / 2.0, 1e-15);
    }
    cr_expect_str_eq(emp_form_name(EMP_FORM_LIKE), "like");
}
