// SPDX-License-Identifier: GPL-3.0-or-later
/* Products and convolutions, element by element against their definitions, in any number of
 * parts; every kernel writes all of its outputs and nothing else. */
#include "replay/cpu/gemm.h"
#include "replay/cpu/kernels.h"
#include "replay/execute_internal.h"
#include "tests/support/status.h"

enum { OPERANDS = 3, GUARD = 64, POISON = 0xb5 };

static float *scratch;

static void set_up(void)
{
    MUST(emp_gemm_init(NULL));
    scratch = (float *)malloc(EMP_CPU_SCRATCH_BYTES);
    cr_assert_not_null(scratch);
}

static void tear_down(void) { free(scratch); }

TestSuite(kernels, .init = set_up, .fini = tear_down);

static unsigned char *guarded(int64_t bytes)
{
    unsigned char *block = (unsigned char *)malloc((size_t)bytes + 2 * GUARD);

    cr_assert_not_null(block);
    memset(block, POISON, (size_t)bytes + 2 * GUARD);
    return block + GUARD;
}

static void check_guards(const unsigned char *block, int64_t bytes, const char *name)
{
    for (int i = 0; i < GUARD; i++) {
        cr_assert_eq(block[-1 - i], POISON, "%s writes before its output", name);
        cr_assert_eq(block[bytes + i], POISON, "%s writes behind its output", name);
    }
}

static void run_parts(const emp_kernel_call *call, int32_t parts)
{
    for (int32_t part = 0; part < parts; part++)
        emp_cpu_kernel_run(call, part, parts, scratch);
}

static void fill(float *to, int64_t count, uint32_t seed)
{
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        to[i] = (float)(int32_t)seed * 0x1p-31f;
    }
}

/* ---- against definitions ---- */

struct product_case {
    int64_t m, n, k, batch;
};

static struct product_case product_cases[] = {
    {1, 1, 1, 1},   {7, 5, 3, 1},   {64, 48, 32, 1},  {3, 100, 17, 1},
    {100, 3, 9, 1}, {5, 4, 300, 3}, {97, 513, 40, 1}, {2, 2, 2, 9},
};

static void check_all(const emp_kernel_call *call, const char *name)
{
    const float *got = (const float *)call->output[0].data;

    for (int64_t i = 0; i < emp_reference_count(call->kernel); i++) {
        double absolute, wanted = emp_reference_element(call, i, &absolute);
        cr_assert_leq(fabs((double)got[i] - wanted), 1e-5 * absolute + 1e-7,
                      "%s: element %lld is %g, not %g", name, (long long)i,
                      (double)got[i], wanted);
    }
}

static void check_product(const struct product_case *c)
{
    int64_t         bytes = 4 * c->m * c->n * c->batch;
    OWN_FREE float *a = (float *)malloc((size_t)(4 * c->m * c->k * c->batch));
    OWN_FREE float *b = (float *)malloc((size_t)(4 * c->k * c->n * c->batch));
    unsigned char  *out = guarded(bytes);

    fill(a, c->m * c->k * c->batch, 1);
    fill(b, c->k * c->n * c->batch, 2);
    for (int32_t variant = 0; variant < 4; variant++) {
        emp_kernel kernel = {
            EMP_KERNEL_PRODUCT, variant, {c->m, c->n, c->k, c->batch, 0, 1}};
        emp_operand     in[] = {{a, 4 * c->m * c->k * c->batch, 4},
                                {b, 4 * c->k * c->n * c->batch, 4}};
        emp_operand     to = {out, bytes, 4};
        emp_kernel_call call = {&kernel, in, &to, 2, 1, 0, NULL};
        for (int32_t parts = 1; parts <= 7; parts += 3) {
            memset(out, POISON, (size_t)bytes);
            run_parts(&call, parts);
            check_all(&call, "product");
            check_guards(out, bytes, "product");
        }
        for (int64_t i = 0; i < c->batch; i++)
            emp_gemm_plain(
                variant & 1, variant & 2, c->m, c->n, c->k, 1.0f / sqrtf((float)c->k),
                a + i * c->m * c->k, variant & 1 ? c->m : c->k, b + i * c->k * c->n,
                variant & 2 ? c->k : c->n, 0.0f, (float *)out + i * c->m * c->n, c->n);
        check_all(&call, "product by the kernel of our own");
    }
    free(out - GUARD);
}

/* clang-format off */
static const int64_t conv_cases[][EMP_KERNEL_SIZES] = {
    {1, 5, 5, 3, 3, 3, 4, 5, 5, 1, 1, 1, 1},
    {2, 8, 6, 5, 3, 3, 7, 4, 3, 2, 2, 0, 0},
    {1, 9, 9, 20, 1, 7, 18, 9, 9, 1, 1, 0, 3},
    {3, 7, 7, 2, 7, 7, 33, 1, 1, 1, 1, 0, 0},
    {1, 11, 5, 1, 5, 3, 1, 6, 3, 2, 2, 2, 1},
    {2, 6, 6, 4, 1, 1, 3, 3, 3, 2, 2, 0, 0},
};
/* clang-format on */

/* Sizes are n h w c kh kw f oh ow sh sw ph pw. */
static void check_convolution(const int64_t *s)
{
    int64_t count[OPERANDS] = {s[0] * s[1] * s[2] * s[3], s[4] * s[5] * s[3] * s[6],
                               s[0] * s[7] * s[8] * s[6]};
    float  *data[OPERANDS];

    for (int i = 0; i < OPERANDS; i++) {
        data[i] = (float *)malloc((size_t)(4 * count[i]));
        fill(data[i], count[i], (uint32_t)i + 3);
    }
    /* what each direction makes: out of the image and the filter, and so on */
    static const int result_of[] = {
        [EMP_CONV_FORWARD] = 2, [EMP_CONV_INPUT] = 0, [EMP_CONV_FILTER] = 1};
    for (int32_t variant = 0; variant < 8; variant++) {
        int32_t direction = variant & EMP_CONV_DIRECTION;
        if (direction > EMP_CONV_FILTER) continue;
        int64_t         bytes = 4 * count[result_of[direction]];
        unsigned char  *out = guarded(bytes);
        emp_kernel      kernel = {.kind = EMP_KERNEL_CONV, .variant = variant};
        emp_operand     in[OPERANDS], to = {out, bytes, 4};
        emp_kernel_call call = {&kernel, in, &to, OPERANDS, 1, 0, NULL};
        memcpy(kernel.size, s, sizeof kernel.size);
        for (int i = 0; i < OPERANDS; i++)
            in[i] = (emp_operand){data[i], 4 * count[i], 4};
        for (int32_t parts = 1; parts <= 5; parts += 2) {
            memset(out, POISON, (size_t)bytes);
            run_parts(&call, parts);
            check_all(&call, "convolution");
            check_guards(out, bytes, "convolution");
        }
        free(out - GUARD);
    }
    for (int i = 0; i < OPERANDS; i++) free(data[i]);
}

/* ---- all kernels ---- */

struct whole_case {
    char       name[40];
    emp_kernel kernel;
    int64_t    input[OPERANDS], output[2]; /* bytes; 0 = none */
    int32_t    output_element;             /* bytes; 0 = 4 */
};

/* clang-format off */
static struct whole_case whole_cases[] = {
    {"map of two",       {EMP_KERNEL_MAP, EMP_MAP_ADD, {3001}},            {12004, 12004}, {12004}, 0},
    {"map with bias",    {EMP_KERNEL_MAP, EMP_MAP_DIV, {3000}},            {12000, 400},   {12000}, 0},
    {"map of a scalar",  {EMP_KERNEL_MAP, EMP_MAP_EXP, {3000}},            {12000, 4},     {12000}, 0},
    {"comparison",       {EMP_KERNEL_MAP, EMP_MAP_ADD, {3001}},            {12004, 12004}, {3001}, 1},
    {"map of nothing",   {EMP_KERNEL_MAP, EMP_MAP_ADD, {9}},               {0},            {36}, 0},
    {"map to int64",     {EMP_KERNEL_MAP, EMP_MAP_ADD, {70}},              {280},          {560}, 8},
    {"sum of all",       {EMP_KERNEL_REDUCE, EMP_REDUCE_INNER, {1001, 1}}, {4004},         {4}, 0},
    {"sum of rows",      {EMP_KERNEL_REDUCE, EMP_REDUCE_INNER, {1200, 300}}, {4800},       {1200}, 0},
    {"sum of columns",   {EMP_KERNEL_REDUCE, EMP_REDUCE_OUTER, {6000, 2000}}, {24000},     {8000}, 0},
    {"concat",           {EMP_KERNEL_MOVE, EMP_MOVE_RUNS, {64}},           {1024, 2048, 4}, {3072}, 0},
    {"split",            {EMP_KERNEL_MOVE, EMP_MOVE_RUNS, {100}},          {4, 2000},      {1000, 1000}, 0},
    {"pad",              {EMP_KERNEL_MOVE, EMP_MOVE_RUNS, {28}},           {280},          {999}, 0},
    {"move of nothing",  {EMP_KERNEL_MOVE, EMP_MOVE_RUNS, {28}},           {0},            {99}, 0},
    {"transpose",        {EMP_KERNEL_MOVE, EMP_MOVE_TRANSPOSE, {37, 21, 3}}, {9324},       {9324}, 0},
    {"lookup",           {EMP_KERNEL_LOOKUP, 0, {50, 12}},                 {4800, 200},    {2400}, 0},
    {"segment sum",      {EMP_KERNEL_SCATTER, EMP_SCATTER_OUTPUT, {50, 12, 0, 1, 0}}, {2400, 200}, {480}, 0},
    {"zeros",            {EMP_KERNEL_FILL, EMP_FILL_CONSTANT, {0}},        {0},            {1001, 64}, 0},
    {"random",           {EMP_KERNEL_FILL, EMP_FILL_RANDOM, {0}},          {0},            {10003}, 0},
    {"softmax",          {EMP_KERNEL_SOFTMAX, EMP_SOFTMAX_PLAIN, {7, 33}}, {924},          {924}, 0},
    {"cross entropy",    {EMP_KERNEL_SOFTMAX, EMP_SOFTMAX_LOSS, {7, 33}},  {924, 924},     {28, 924}, 0},
    {"sparse cross entropy", {EMP_KERNEL_SOFTMAX, EMP_SOFTMAX_LOSS, {7, 33}}, {924, 28},   {28, 924}, 0},
    {"batch norm",       {EMP_KERNEL_NORM, EMP_NORM_FORWARD, {50, 24, 1}}, {4800, 96},     {4800, 96}, 0},
    {"batch norm NCHW",  {EMP_KERNEL_NORM, EMP_NORM_FORWARD, {2, 24, 25}}, {4800, 96},     {4800, 96}, 0},
    {"batch norm gradient", {EMP_KERNEL_NORM, EMP_NORM_GRAD, {50, 24, 1}}, {4800, 4800, 96}, {4800, 96}, 0},
    {"max pool",         {EMP_KERNEL_POOL, EMP_POOL_MAX, {2, 9, 9, 20, 3, 3, 4, 4, 2, 2}}, {12960}, {2560}, 0},
    {"max pool NCHW",    {EMP_KERNEL_POOL, EMP_POOL_MAX | EMP_POOL_NCHW, {2, 9, 9, 20, 3, 3, 4, 4, 2, 2}}, {12960}, {2560}, 0},
    {"average pool",     {EMP_KERNEL_POOL, EMP_POOL_AVG, {2, 8, 8, 20, 8, 8, 1, 1, 1, 1}}, {10240}, {160}, 0},
    {"max pool gradient", {EMP_KERNEL_POOL, EMP_POOL_MAX | EMP_POOL_GRAD, {2, 9, 9, 20, 3, 3, 4, 4, 2, 2}}, {12960, 2560, 2560}, {12960}, 0},
    {"average pool gradient", {EMP_KERNEL_POOL, EMP_POOL_AVG | EMP_POOL_GRAD, {2, 9, 9, 20, 3, 3, 9, 9, 1, 1}}, {16, 12960}, {12960}, 0},
    {"host work",        {EMP_KERNEL_HOST, 0, {1000}},                     {40},           {40, 13}, 0},
};
/* clang-format on */

/* Bytes that are never written keep their poison, whichever that is. */
static void check_written(const struct whole_case *c, const emp_operand *first,
                          const emp_operand *second)
{
    for (int64_t i = 0; i < first->bytes; i++) {
        bool is_kept = ((const unsigned char *)first->data)[i] == POISON &&
                       ((const unsigned char *)second->data)[i] == (POISON ^ 0xff);
        cr_assert(!is_kept, "%s leaves byte %lld", c->name, (long long)i);
    }
}

static void check_finite(const struct whole_case *c, const emp_operand *out)
{
    for (int64_t i = 0; out->element_bytes == 4 && i < out->bytes / 4; i++) {
        float value;
        memcpy(&value, (const unsigned char *)out->data + 4 * i, sizeof value);
        cr_assert(isfinite(value), "%s makes %g", c->name, (double)value);
    }
}

static void check_whole(const struct whole_case *c)
{
    emp_operand in[OPERANDS] = {{0}}, out[2][2] = {{{0}}};
    int32_t     outputs = 1 + (c->output[1] > 0);

    for (int i = 0; i < OPERANDS; i++) {
        in[i] = (emp_operand){guarded(c->input[i]), c->input[i], 4};
        emp_cpu_fill_random(in[i].data, in[i].bytes);
    }
    for (int32_t parts = 1; parts <= 4; parts += 3) {
        for (int run = 0; run < 2; run++) {
            for (int i = 0; i < outputs; i++) {
                out[run][i] =
                    (emp_operand){guarded(c->output[i]), c->output[i],
                                  c->output_element > 0 ? c->output_element : 4};
                memset(out[run][i].data, run == 0 ? POISON : POISON ^ 0xff,
                       (size_t)c->output[i]);
            }
            emp_kernel_call call = {&c->kernel, in, out[run], OPERANDS, outputs, 0, NULL};
            run_parts(&call, parts);
        }
        for (int i = 0; i < outputs; i++) {
            check_written(c, &out[0][i], &out[1][i]);
            check_finite(c, &out[0][i]);
            check_guards(out[0][i].data, c->output[i], c->name);
            free((unsigned char *)out[0][i].data - GUARD);
            free((unsigned char *)out[1][i].data - GUARD);
        }
    }
    for (int i = 0; i < OPERANDS; i++) {
        check_guards(in[i].data, c->input[i], c->name);
        free((unsigned char *)in[i].data - GUARD);
    }
}

Test(kernels, are_what_their_definitions_say)
{
    for (size_t i = 0; i < COUNT(product_cases); i++) check_product(&product_cases[i]);
    for (size_t i = 0; i < COUNT(conv_cases); i++) check_convolution(conv_cases[i]);
}

Test(kernels, each_writes_all_its_outputs_and_nothing_else)
{
    for (size_t i = 0; i < COUNT(whole_cases); i++) check_whole(&whole_cases[i]);
}

/* Adam: a variable, two moments and a gradient; and rows of a table. */
Test(kernels, updates_change_their_tables_and_nothing_else)
{
    float           data[4][300], before[4][300];
    emp_kernel      update = {EMP_KERNEL_UPDATE, EMP_UPDATE_ROOT, {290, 3, 3}};
    emp_kernel      scatter = {EMP_KERNEL_SCATTER, EMP_SCATTER_STORAGE, {4, 10, 2, 2, 3}};
    emp_operand     in[4];
    emp_kernel_call call = {&update, in, NULL, 4, 0, 0, NULL};

    for (int i = 0; i < 4; i++) {
        fill(data[i], 300, (uint32_t)i + 20);
        in[i] = (emp_operand){data[i], sizeof data[i], 4};
    }
    memcpy(before, data, sizeof data);
    run_parts(&call, 3);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 290; j++)
            cr_assert_neq(data[i][j], before[i][j], "table %d, element %d", i, j);
        for (int j = 290; j < 300; j++) cr_assert_eq(data[i][j], before[i][j]);
    }
    cr_expect_arr_eq(data[3], before[3], sizeof data[3]);

    memcpy(before, data, sizeof data);
    call.kernel = &scatter;
    run_parts(&call, 2);
    cr_expect_arr_neq(data[0], before[0], sizeof data[0]);
    cr_expect_arr_neq(data[1], before[1], sizeof data[1]);
    cr_expect_arr_eq(data[2], before[2], sizeof data[2]);
    cr_expect_arr_eq(data[3], before[3], sizeof data[3]);
}

Test(kernels, the_fast_exponential_is_one)
{
    for (float x = -20.0f; x <= 20.0f; x += 0.37f)
        cr_expect_float_eq(emp_fast_exp(x) / expf(x), 1.0f, 1e-4f, "at %g", (double)x);
    cr_expect(isfinite(emp_fast_exp(1e30f)));
    cr_expect_geq(emp_fast_exp(-1e30f), 0.0f);
}

Test(kernels, small_work_is_not_cut)
{
    emp_kernel      small = {EMP_KERNEL_MAP, EMP_MAP_ADD, {100}};
    emp_kernel      large = {EMP_KERNEL_PRODUCT, 0, {1024, 1024, 1024, 1, 0, 1}};
    emp_operand     in[2] = {{NULL, 400, 4}, {NULL, 400, 4}}, out = {NULL, 400, 4};
    emp_kernel_call call = {&small, in, &out, 2, 1, 0, NULL};

    cr_expect_eq(emp_cpu_kernel_lanes(&call, 8), 1);
    call.kernel = &large;
    cr_expect_eq(emp_cpu_kernel_lanes(&call, 8), 8);
}
