// SPDX-License-Identifier: GPL-3.0-or-later
/* The CUDA backend on GPUs that are threads (standin.h). Are steps right on one GPU, on two, and on
 * two that are one? Does every kernel compute what cores compute? Is a failure of any call one
 * sentence that leaves nothing behind? Is each of ten mistakes seen? */
#include "base/collections.h"
#include "replay/cpu/gemm.h"
#include "replay/cpu/kernels.h"
#include "replay/cuda/work.h"
#include "replay/execute.h"
#include "replay/execute_internal.h"
#include "tests/replay/fixture.h"
#include "tests/replay/standin/standin.h"
#include "tests/support/status.h"

enum { MIB = 1 << 20, OPERANDS = 4, TRIES = 20 };

/* So many calls fail each in turn, of the later ones one in so many. Each try starts all threads. */
enum { EACH = 40, EVERY = 97 };

static emp_replay_options checked_steps(void)
{
    emp_replay_options o = emp_replay_options_default();

    o.warmup = 1;
    o.steps = 2;
    o.is_checked = true;
    o.host_bytes = (int64_t)4096 * MIB;
    return o;
}

static emp_status execute(const emp_replay_plan *plan, const emp_replay_options *options,
                          emp_replay_result *result, emp_error *err)
{
    return replay_fixture_execute(plan, emp_replay_cuda, options, result, err);
}

static emp_replay_plan *make_plan(task *f, const char *spec, int32_t seed)
{
    replay_fixture_create_on(f, spec, seed, "k40x2", "tf-r1.3");
    return replay_fixture_plan(f);
}

/* On two GPUs, or on two that are one. */
static void expect_right_steps(const replay_case *c)
{
    task               f;
    emp_replay_options o = checked_steps();
    emp_replay_result  r = {0};
    emp_replay_plan   *plan = make_plan(&f, c->spec, c->seed);

    for (int32_t d = 0; (c->seed == 1 || c->seed == 4) && d < plan->device_count; d++)
        o.physical[d] = 1;
    standin_reset((uint64_t)c->seed + 100);
    MUST(execute(plan, &o, &r, &why));
    cr_expect(r.is_feasible, "%s, seed %d", c->spec, c->seed);
    cr_expect_gt(r.checked_reads, 3 * plan->copy_count);
    cr_expect_gt(r.verified_ops, 3);
    cr_expect_lt(r.verified_error, 1e-4);
    cr_expect_eq(r.transfer_count, plan->copy_count);
    cr_expect_eq(standin_live(), 0, "%lld things are left", (long long)standin_live());
    emp_replay_result_clear(&r);
    emp_replay_plan_destroy(plan);
    task_destroy(&f);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(cuda, checked_steps_are_right)
{
    for (int i = 0; i < REPLAY_CASES - 1; i++) expect_right_steps(&replay_cases[i]);
}

/* Only groups of cores have cores. */
Test(cuda, cores_of_a_gpu_are_refused)
{
    task               f;
    emp_replay_options o = checked_steps();
    emp_replay_result  r = {0};
    emp_replay_plan   *plan = make_plan(&f, replay_cases[0].spec, replay_cases[0].seed);

    standin_reset(100);
    MUST(emp_replay_options_cores(&o, plan, "gpu:0=0", &why));
    MUST_FAIL(execute(plan, &o, &r, &why), EMP_EINVAL, "gpu:0 is a GPU here");
    cr_expect_eq(standin_live(), 0);
    emp_replay_plan_destroy(plan);
    task_destroy(&f);
}

Test(cuda, a_timed_step_says_when_ops_and_copies_were)
{
    task               f;
    emp_replay_options o = checked_steps();
    emp_replay_result  r = {0};
    emp_replay        *replay = NULL;
    emp_replay_plan   *plan = make_plan(&f, REPLAY_SMALL_NMT, 2);
    int32_t            timed = 0;

    o.is_checked = false;
    o.is_timed = true;
    standin_reset(7);
    MUST(emp_replay_create(&replay, plan, emp_replay_cuda, &o, &why));
    MUST(emp_replay_run(replay, &r, &why));
    const emp_replay_times *t = &emp_replay_get_timeline(replay)->times;
    for (int32_t i = 0; i < plan->copy_count; i++)
        cr_expect_geq(t->copy_end_ns[i], t->copy_start_ns[i], "copy %d", i);
    for (int32_t op = 0; op < plan->op_count; op++) {
        cr_expect_geq(t->op_end_ns[op], t->op_start_ns[op], "op %d", op);
        timed += t->op_end_ns[op] > 0;
    }
    cr_expect_gt(timed, 100);
    emp_replay_destroy(replay);
    emp_replay_result_clear(&r);
    emp_replay_plan_destroy(plan);
    task_destroy(&f);
    cr_expect_eq(standin_live(), 0);
}

/* ---- kernels beside those of cores ---- */

struct kernel_case {
    const char *name;
    emp_kernel  kernel;
    int64_t     input[OPERANDS], output[2]; /* bytes; 0: none */
    int64_t     workspace;
};

#define CONV(direction, ...)                    \
    {                                           \
        EMP_KERNEL_CONV, direction, __VA_ARGS__ \
    }

/* clang-format off */
static const struct kernel_case kernel_cases[] = {
    {"sum",           {EMP_KERNEL_MAP, EMP_MAP_ADD, {1000}}, {4000, 4000, 40, 4000}, {4000}, 0},
    {"quotient",      {EMP_KERNEL_MAP, EMP_MAP_DIV, {1000}}, {4000, 4000},           {4000}, 0},
    {"sigmoid",       {EMP_KERNEL_MAP, EMP_MAP_EXP, {1000}}, {4000},                 {4000}, 0},
    {"mean of rows",  {EMP_KERNEL_REDUCE, EMP_REDUCE_INNER, {1200, 300}},   {4800},  {1200}, 0},
    {"of long rows",  {EMP_KERNEL_REDUCE, EMP_REDUCE_INNER, {30000, 3}},    {120000}, {12}, 0},
    {"of columns",    {EMP_KERNEL_REDUCE, EMP_REDUCE_OUTER, {6000, 2000}},  {24000}, {8000}, 0},
    {"concat",        {EMP_KERNEL_MOVE, EMP_MOVE_RUNS, {64}}, {1024, 2048, 4},       {3072}, 0},
    {"split",         {EMP_KERNEL_MOVE, EMP_MOVE_RUNS, {100}}, {2000},         {1000, 1000}, 0},
    {"transpose",     {EMP_KERNEL_MOVE, EMP_MOVE_TRANSPOSE, {37, 21, 3}}, {9324},    {9324}, 0},
    {"lookup",        {EMP_KERNEL_LOOKUP, 0, {50, 12}},      {4800, 200},            {2400}, 0},
    {"zeros",         {EMP_KERNEL_FILL, EMP_FILL_CONSTANT, {0}}, {0},            {1000, 64}, 0},
    {"random",        {EMP_KERNEL_FILL, EMP_FILL_RANDOM, {0}}, {0},                 {10000}, 0},
    {"softmax",       {EMP_KERNEL_SOFTMAX, EMP_SOFTMAX_PLAIN, {7, 533}}, {14924},   {14924}, 0},
    {"cross entropy", {EMP_KERNEL_SOFTMAX, EMP_SOFTMAX_LOSS, {7, 33}}, {924, 924}, {28, 924}, 0},
    {"batch norm",    {EMP_KERNEL_NORM, EMP_NORM_FORWARD, {50, 24, 1}}, {4800, 96}, {4800, 96}, 0},
    {"its gradient",  {EMP_KERNEL_NORM, EMP_NORM_GRAD, {2, 24, 25}}, {4800, 4800, 96}, {4800, 96}, 0},
    {"max pool",      {EMP_KERNEL_POOL, EMP_POOL_MAX, {2, 9, 9, 20, 3, 3, 4, 4, 2, 2}}, {12960}, {2560}, 0},
    {"max pool NCHW", {EMP_KERNEL_POOL, EMP_POOL_MAX | EMP_POOL_NCHW, {2, 9, 9, 20, 3, 3, 4, 4, 2, 2}}, {12960}, {2560}, 0},
    {"average pool",  {EMP_KERNEL_POOL, EMP_POOL_AVG, {2, 8, 8, 20, 8, 8, 1, 1, 1, 1}}, {10240}, {160}, 0},
    {"its gradient",  {EMP_KERNEL_POOL, EMP_POOL_AVG | EMP_POOL_GRAD, {2, 9, 9, 20, 3, 3, 9, 9, 1, 1}}, {16, 12960}, {12960}, 0},
    {"max gradient",  {EMP_KERNEL_POOL, EMP_POOL_MAX | EMP_POOL_GRAD, {2, 9, 9, 20, 3, 3, 4, 4, 2, 2}}, {12960, 2560, 2560}, {12960}, 0},
    {"product",       {EMP_KERNEL_PRODUCT, 0, {20, 30, 50, 1, 0, 1}},           {4000, 6000}, {2400}, 0},
    {"A transposed",  {EMP_KERNEL_PRODUCT, EMP_PRODUCT_TRANSPOSE_A, {20, 30, 50, 1, 0, 1}}, {4000, 6000}, {2400}, 0},
    {"B transposed",  {EMP_KERNEL_PRODUCT, EMP_PRODUCT_TRANSPOSE_B, {20, 30, 50, 1, 0, 1}}, {4000, 6000}, {2400}, 0},
    {"both, a batch", {EMP_KERNEL_PRODUCT, 3, {20, 30, 50, 3, 0, 1}},           {12000, 18000}, {7200}, 0},
    {"convolution",   CONV(EMP_CONV_FORWARD, {2, 7, 6, 5, 3, 3, 4, 7, 6, 1, 1, 1, 1}), {1680, 720}, {1344}, 0},
    {"by cuDNN",      CONV(EMP_CONV_FORWARD, {2, 7, 6, 5, 3, 3, 4, 7, 6, 1, 1, 1, 1}), {1680, 720}, {1344}, MIB},
    {"NCHW",          CONV(EMP_CONV_FORWARD | EMP_CONV_NCHW, {2, 7, 6, 5, 3, 3, 4, 7, 6, 1, 1, 1, 1}), {1680, 720}, {1344}, MIB},
    {"uneven pads",   CONV(EMP_CONV_FORWARD, {2, 8, 8, 5, 3, 3, 4, 4, 4, 2, 2, 0, 0}), {2560, 720}, {512}, MIB},
    {"strides",       CONV(EMP_CONV_FORWARD | EMP_CONV_NCHW, {2, 9, 9, 5, 3, 3, 4, 4, 4, 2, 2, 0, 0}), {3240, 720}, {512}, MIB},
    {"to the image",  CONV(EMP_CONV_INPUT, {2, 7, 6, 5, 3, 3, 4, 7, 6, 1, 1, 1, 1}), {16, 720, 1344}, {1680}, 0},
    {"by cuDNN",      CONV(EMP_CONV_INPUT, {2, 7, 6, 5, 3, 3, 4, 7, 6, 1, 1, 1, 1}), {16, 720, 1344}, {1680}, MIB},
    {"NCHW",          CONV(EMP_CONV_INPUT | EMP_CONV_NCHW, {2, 9, 9, 5, 3, 3, 4, 4, 4, 2, 2, 0, 0}), {16, 720, 512}, {3240}, MIB},
    {"to the filter", CONV(EMP_CONV_FILTER, {2, 7, 6, 5, 3, 3, 4, 7, 6, 1, 1, 1, 1}), {1680, 16, 1344}, {720}, 0},
    {"by cuDNN",      CONV(EMP_CONV_FILTER, {2, 7, 6, 5, 3, 3, 4, 7, 6, 1, 1, 1, 1}), {1680, 16, 1344}, {720}, MIB},
    {"NCHW",          CONV(EMP_CONV_FILTER | EMP_CONV_NCHW, {2, 9, 9, 5, 3, 3, 4, 4, 4, 2, 2, 0, 0}), {3240, 16, 512}, {720}, MIB},
};
/* clang-format on */

static void fill(float *to, int64_t count, uint32_t seed)
{
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        to[i] = (float)(int32_t)seed * 0x1p-31f;
    }
}

struct operands {
    emp_operand host_in[OPERANDS], host_out[2], gpu_in[OPERANDS], gpu_out[2];
    int32_t     inputs, outputs;
    void       *workspace;
};

static emp_operand on_gpu(const emp_operand *host, cudaStream_t stream)
{
    emp_operand o = *host;

    cr_assert_eq(cudaMalloc(&o.data, (size_t)host->bytes), cudaSuccess);
    cr_assert_eq(cudaMemcpyAsync(o.data, host->data, (size_t)host->bytes,
                                 cudaMemcpyDefault, stream),
                 cudaSuccess);
    return o;
}

static void make_operands(struct operands *o, const struct kernel_case *c,
                          cudaStream_t stream)
{
    *o = (struct operands){0};
    while (o->inputs < OPERANDS && c->input[o->inputs] > 0) {
        int32_t i = o->inputs++;
        o->host_in[i] = (emp_operand){calloc(1, (size_t)c->input[i]), c->input[i], 4};
        fill(o->host_in[i].data, c->input[i] / 4, (uint32_t)i + 1);
        o->gpu_in[i] = on_gpu(&o->host_in[i], stream);
    }
    while (o->outputs < 2 && c->output[o->outputs] > 0) {
        int32_t i = o->outputs++;
        o->host_out[i] = (emp_operand){calloc(1, (size_t)c->output[i]), c->output[i], 4};
        fill(o->host_out[i].data, c->output[i] / 4, 99); /* what was there before */
        o->gpu_out[i] = on_gpu(&o->host_out[i], stream);
    }
    if (c->workspace > 0)
        cr_assert_eq(cudaMalloc(&o->workspace, (size_t)c->workspace), cudaSuccess);
}

static void release_operands(struct operands *o)
{
    for (int32_t i = 0; i < o->inputs; i++) {
        free(o->host_in[i].data);
        cudaFree(o->gpu_in[i].data);
    }
    for (int32_t i = 0; i < o->outputs; i++) {
        free(o->host_out[i].data);
        cudaFree(o->gpu_out[i].data);
    }
    cudaFree(o->workspace);
}

static bool is_exponential(const emp_kernel *k)
{
    return k->kind == EMP_KERNEL_SOFTMAX ||
           (k->kind == EMP_KERNEL_MAP && k->variant == EMP_MAP_EXP);
}

static bool has_definition(const emp_kernel *k)
{
    return k->kind == EMP_KERNEL_PRODUCT || k->kind == EMP_KERNEL_CONV;
}

/* The definition decides for products and convolutions, and the result of cores for all others. */
static void compare(const struct kernel_case *c, const struct operands *o,
                    const emp_kernel_call *by_host)
{
    for (int32_t out = 0; out < o->outputs; out++) {
        const float *wanted = o->host_out[out].data, *got = o->gpu_out[out].data;
        for (int64_t i = 0; i < o->host_out[out].bytes / 4; i++) {
            /* cores have an exponential of their own, 1e-4 off */
            double want = (double)wanted[i], scale = is_exponential(&c->kernel) ? 10 : 1;
            if (out == 0 && has_definition(&c->kernel))
                want = emp_reference_element(by_host, i, &scale);
            cr_assert_leq(fabs((double)got[i] - want), 2e-5 * fmax(scale, 1.0),
                          "%s (kind %d): element %lld of output %d is %g, not %g",
                          c->name, (int)c->kernel.kind, (long long)i, out, (double)got[i],
                          want);
        }
    }
}

static void run_case(const struct kernel_case *c, emp_cuda_work *work, int32_t op,
                     cudaStream_t stream, float *scratch)
{
    struct operands o;

    make_operands(&o, c, stream);
    const emp_kernel_call by_host = {&c->kernel, o.host_in, o.host_out, o.inputs,
                                     o.outputs,  0,         NULL};
    const emp_kernel_call by_gpu = {&c->kernel, o.gpu_in,     o.gpu_out,  o.inputs,
                                    o.outputs,  c->workspace, o.workspace};
    cr_assert_eq(emp_cuda_work_enqueue(work, op, &by_gpu, &why), EMP_OK, "%s: %s",
                 c->name, why.msg);
    emp_cpu_kernel_run(&by_host, 0, 1, scratch);
    cr_assert_eq(cudaStreamSynchronize(stream), cudaSuccess);
    compare(c, &o, &by_host);
    release_operands(&o);
}

Test(cuda, kernels_compute_what_cores_compute)
{
    static const emp_kernel conv = {
        EMP_KERNEL_CONV, 0, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0}};
    const int32_t    cases = (int32_t)(COUNT(kernel_cases));
    emp_replay_plan *plan = replay_fixture_kernel(&conv, 1);
    emp_cuda_work   *work = NULL;
    cudaStream_t     stream = NULL;
    float           *scratch = malloc(EMP_CPU_SCRATCH_BYTES);

    cr_assert_not_null(scratch);
    MUST(emp_gemm_init(&why));
    standin_reset(3);
    cr_assert_eq(cudaSetDevice(0), cudaSuccess);
    cr_assert_eq(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    for (int32_t i = 0; i < cases;
         i++) { /* what is known of an op is kept: each its own */
        MUST(emp_cuda_work_create(&work, plan, "gpu:0", stream, &why));
        run_case(&kernel_cases[i], work, i % plan->op_count, stream, scratch);
        emp_cuda_work_destroy(work);
    }
    cudaStreamDestroy(stream);
    free(scratch);
    emp_replay_plan_destroy(plan);
    cr_expect_eq(standin_live(), 0);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

#define TINY "rnnlm:layers=1,units=4,batch=2,steps=1,vocab=8,sampled=0"

Test(cuda, a_failure_of_any_call_is_one_sentence_and_leaves_nothing, .timeout = 600)
{
    task             f;
    emp_replay_plan *plan = make_plan(&f, TINY, 0);
    const long       before = emp_mem_live_blocks();
    int64_t          failed = 0, calls;

    for (int64_t call = 1;; call += call < EACH ? 1 : EVERY) {
        emp_replay_options o = checked_steps();
        emp_replay_result  r = {0};
        o.warmup = 0;
        o.steps = 1;
        standin_reset(0);
        standin_fail_at(call);
        emp_status st = execute(plan, &o, &r, &why);
        emp_replay_result_clear(&r);
        calls = standin_calls();
        failed += st != EMP_OK;
        if (st != EMP_OK)
            cr_assert(why.msg[0] != '\0' && strchr(why.msg, '\n') == NULL,
                      "call %lld: %s", (long long)call, why.msg);
        cr_assert_eq(standin_live(), 0, "call %lld leaves %lld things", (long long)call,
                     (long long)standin_live());
        cr_assert_eq(emp_mem_live_blocks(), before, "call %lld", (long long)call);
        if (call > calls) break;
    }
    cr_expect_gt(failed, EACH);
    emp_replay_plan_destroy(plan);
    task_destroy(&f);
}

Test(cuda, survives_allocation_failures, .timeout = 600)
{
    OWN_TASK         f;
    emp_replay_plan *plan = make_plan(&f, TINY, 0);
    const long       before = emp_mem_live_blocks();
    emp_status       st = EMP_ENOMEM;

    for (long allowed = 0; st != EMP_OK; allowed += allowed < EACH ? 1 : EVERY / 8) {
        emp_replay_options o = checked_steps();
        emp_replay_result  r = {0};
        o.warmup = 0;
        o.steps = 1;
        standin_reset(0);
        emp_mem_fail_after(allowed);
        st = execute(plan, &o, &r, NULL);
        emp_mem_fail_after(-1);
        emp_replay_result_clear(&r);
        cr_assert(st == EMP_OK || st == EMP_ENOMEM, "after %ld: %d", allowed, st);
        cr_assert_eq(standin_live(), 0, "after %ld", allowed);
        cr_assert_eq(emp_mem_live_blocks(), before, "leak after %ld", allowed);
    }
    emp_replay_plan_destroy(plan);
}

/* ---- mistakes ---- */

#define SMALL "rnnlm:layers=1,units=16,batch=4,steps=2,vocab=50,sampled=0"

/* The backend, with a look at what each copy brings. A checked run drains a queue after every op,
 * so that it sees wrong values but no wrong order. Here nothing waits but what has to. */
static struct {
    const emp_replay_plan  *plan;
    const emp_replay_hooks *hooks;
    void                   *state;
    void                  **to;   /* [copy] */
    uint64_t               *hash; /* [copy] of what was brought last */
} watch;

static void watch_copied(void *executor, int32_t copy)
{
    const emp_replay_plan *p = watch.plan;
    const int32_t          from = emp_replay_memory_of_place(p, p->copy[copy].tensor);

    if (emp_replay_cuda->is_queue(watch.state, from)) /* a late producer shows now */
        (void)emp_replay_cuda->drain(watch.state, from, NULL);
    watch.hash[copy] = emp_hash_bytes(0, watch.to[copy], (size_t)p->copy[copy].bytes);
    watch.hooks->copied(executor, copy);
}

static emp_status watch_copy(void *state, int32_t copy, const void *from, void *to,
                             emp_error *err)
{
    watch.to[copy] = to;
    return emp_replay_cuda->copy(state, copy, from, to, err);
}

static emp_status watch_open(void **state, const emp_replay_plan *plan,
                             const emp_replay_options *options,
                             const emp_replay_hooks *hooks, emp_error *err)
{
    static emp_replay_hooks mine;

    watch.hooks = hooks;
    mine = *hooks;
    mine.copied = watch_copied;
    emp_status st = emp_replay_cuda->open(state, plan, options, &mine, err);
    watch.state = *state;
    return st;
}

/* A step under a mistake; the hashes of its copies. */
static emp_status watch_step(const emp_replay_plan *plan, standin_bug bug, uint64_t seed,
                             bool is_timed, uint64_t *hash)
{
    emp_replay_backend backend = *emp_replay_cuda;
    emp_replay_options o = checked_steps();
    SCOPED(emp_replay_result, emp_replay_result_clear) r = {0};
    emp_replay *replay = NULL;

    backend.open = watch_open;
    backend.copy = watch_copy;
    watch.plan = plan;
    watch.hash = hash;
    for (int32_t d = 0; d < plan->device_count;
         d++) /* no sums in parts, which round otherwise */
        o.core_count[d] = plan->device[d].is_cpu;
    o.is_checked = false;
    o.is_timed = is_timed;
    o.warmup = 0;
    o.steps = 1;
    standin_reset(seed);
    standin_plant(bug);
    emp_status st = emp_replay_create(&replay, plan, &backend, &o, &why);
    if (st == EMP_OK) st = emp_replay_run(replay, &r, &why);
    emp_replay_destroy(replay);
    return st;
}

/* Whether a mistake shows: by the values of copies, by an error, or by what is left. */
static bool is_seen(standin_bug bug, const emp_replay_plan *plan, const uint64_t *right,
                    uint64_t seed)
{
    const int64_t      live = standin_live();
    OWN_FREE uint64_t *hash = calloc((size_t)plan->copy_count, sizeof *hash);

    cr_assert_not_null(hash);
    emp_status st = watch_step(plan, bug, seed, bug == STANDIN_NO_DRAIN, hash);
    bool is_right = memcmp(hash, right, (size_t)plan->copy_count * sizeof *hash) == 0;
    return st != EMP_OK || !is_right || standin_live() != live;
}

/* Buffers that no op writes, such as the words that a step reads, have values all the same. */
static void fill_placeholders(emp_replay_plan *p)
{
    for (int32_t op = 0; op < p->op_count; op++) {
        const int32_t t = p->output_offset[op];
        if (p->op[op].kernel.kind != EMP_KERNEL_NOTHING || p->op[op].is_alias ||
            t == p->output_offset[op + 1] || p->tensor[t].buffer_bytes == 0)
            continue;
        p->op[op].kernel =
            (emp_kernel){.kind = EMP_KERNEL_FILL, .variant = EMP_FILL_RANDOM};
    }
}

Test(cuda, every_planted_mistake_is_seen, .timeout = 600)
{
    OWN_TASK           f;
    emp_replay_plan   *plan = make_plan(&f, SMALL, 0);
    const size_t       copies = (size_t)plan->copy_count;
    OWN_FREE uint64_t *right = calloc(copies, sizeof *right);

    fill_placeholders(plan);
    watch.to = calloc(copies, sizeof *watch.to);
    cr_assert(right != NULL && watch.to != NULL && copies > 10);
    MUST(watch_step(plan, STANDIN_NO_BUG, 0, false, right));
    for (uint64_t seed = 1; seed <= 3; seed++)
        cr_expect_not(is_seen(STANDIN_NO_BUG, plan, right, seed), "without one");
    /* ThreadSanitizer reports a planted race itself, and most mistakes are races. */
    const bool races_fail = getenv("EMP_RACES_FAIL") != NULL;
    for (int bug = STANDIN_NO_BUG + 1; bug < STANDIN_BUGS && !races_fail; bug++) {
        bool is_found = false;
        for (uint64_t seed = 1; seed <= TRIES && !is_found; seed++)
            is_found = is_seen((standin_bug)bug, plan, right, seed);
        cr_expect(is_found, "mistake %d", bug);
    }
    free(watch.to);
    emp_replay_plan_destroy(plan);
}
