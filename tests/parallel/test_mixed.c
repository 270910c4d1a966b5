// SPDX-License-Identifier: GPL-3.0-or-later
/* GPUs of two models in one machine: do replicas get micro-batches, and stages layers, by speed and memory, and are steps what a
 * hand computes? The slow model has half of all rates of the fast one. */
#include <sys/stat.h>

#include "base/mem.h"
#include "parallel/plan.h"
#include "tests/test.h"

static void finish(void)
{
    scratch_remove();
    expect_all_freed();
}

TestSuite(mixed, .init = scratch_create, .fini = finish);

static void write_card(const char *name, double tflops, double gb_per_s, int32_t gib)
{
    char path[SCRATCH_PATH_BYTES], text[512];

    snprintf(text, sizeof text,
             "card:\n  peak: {fp32: \"%g TFLOP/s\", tf32: \"%g TFLOP/s\", bf16: \"%g "
             "TFLOP/s\", fp16: \"%g TFLOP/s\", fp8: \"%g TFLOP/s\", int8: \"%g "
             "TFLOP/s\"}\n  memory: \"%d GiB\"\n  rate: \"%g GB/s\"\n"
             "  bus: \"PCIe 4 x16\"\n  class: \"server\"\ngpu:\n"
             "  multiprocessors: 58\n",
             tflops / 4, tflops / 2, tflops, tflops, 2 * tflops, 2 * tflops, gib,
             gb_per_s);
    scratch_write_text(path, sizeof path, name, text);
}

/* A machine of so many fast and slow cards, of 20 GB/s each to the host. */
static emp_fleet load(int32_t fast, int32_t slow, int32_t slow_gib)
{
    char      path[SCRATCH_PATH_BYTES], text[512];
    emp_fleet fleet = {0};

    mkdir(scratch_path("models"), 0777);
    write_card("models/fast.yaml", 120.0, 800.0, 40);
    write_card("models/slow.yaml", 60.0, 400.0, slow_gib);
    snprintf(text, sizeof text,
             "description: \"unlike cards\"\nnodes:\n  - {name: \"host\"}\ndevices:\n"
             "  - {model: \"epyc-128\", at: \"host\"}\n"
             "  - {model: \"fast\", count: %d, at: \"host\", bandwidth: \"20 "
             "GB/s\", latency: \"10 us\"}\n"
             "  - {model: \"slow\", count: %d, at: \"host\", bandwidth: \"20 "
             "GB/s\", latency: \"10 us\"}\n",
             fast, slow);
    scratch_write_text(path, sizeof path, "unlike.yaml", text);
    ASSERT_OK(emp_fleet_load(&fleet, path, &err));
    cr_assert_eq(fleet.count, 2);
    cr_expect_eq(fleet.all->gpus, fast + slow);
    return fleet;
}

static const emp_way *find(emp_ways *ways, emp_parallel_spec *spec, const char *text,
                           const emp_fleet *fleet, const char *on)
{
    ASSERT_OK(emp_parallel_spec_read(spec, text, &err));
    ASSERT_OK(emp_ways_find_mixed(ways, spec, fleet, &err));
    for (int32_t i = 0; i < ways->feasible; i++)
        if (strstr(ways->row[i].on, on) != NULL) return &ways->row[i];
    cr_assert_fail("no way on %s", on);
    return NULL;
}

static void clear(emp_ways *ways, emp_parallel_spec *spec, emp_fleet *fleet)
{
    emp_ways_clear(ways);
    emp_parallel_spec_clear(spec);
    *spec = (emp_parallel_spec){0};
    if (fleet != NULL) emp_fleet_clear(fleet);
}

#define MODEL \
    "transformer:layers=24,hidden=2048,heads=16,gated=1,tied=0,vocab=1024,seq=1024,"

/* Two micro-batches on the fast card for each on the slow one. The step is the share's pipeline and a sum of gradients: 4 bytes a
 * parameter, of which a half goes each way at 20 GB/s, and 2 bytes of each weight come back. */
Test(mixed, replicas_take_micro_batches_by_their_speed)
{
    emp_fleet         fleet = load(1, 1, 40), alone = load(1, 1, 40);
    emp_ways          ways = {0}, half = {0};
    emp_parallel_spec spec = {0}, same = {0};
    const emp_way    *way =
        find(&ways, &spec, MODEL "pp=1,micro_batch=1,batch=12,recompute=none", &fleet,
             "micro-batches");
    const emp_way *fast = find(
        &half, &same, MODEL "pp=1,micro_batch=1,batch=8,recompute=none", &alone, "fast");

    cr_expect_not_null(strstr(way->on, "fast: 8"), "%s", way->on);
    cr_expect_not_null(strstr(way->on, "slow: 4 micro-batches"), "%s", way->on);
    cr_expect_eq(way->degrees.dp, 2);
    cr_expect_float_eq(way->step.pipeline_s / fast->step.pipeline_s, 1.0, 0.03);
    cr_expect_float_eq((way->step.reduce_s + way->step.gather_s) /
                           (6.0 * way->step.parameters / 2 / 20e9),
                       1.0, 0.03);
    clear(&ways, &spec, &fleet);
    clear(&half, &same, &alone);
}

/* A pipeline of one fast and one slow card works like 1.5 fast ones: 16 layers beside 8, and the slower stage sets the pace of
 * 64 micro-batches. */
Test(mixed, stages_take_layers_by_their_speed)
{
    emp_fleet         fleet = load(1, 1, 40);
    emp_ways          ways = {0};
    emp_parallel_spec spec = {0};
    const emp_way    *way =
        find(&ways, &spec, MODEL "micro_batch=1,batch=64,recompute=none,schedule=1f1b",
             &fleet, "layers");
    const emp_way *alone = NULL;

    cr_expect_not_null(strstr(way->on, "fast: 16"), "%s", way->on);
    cr_expect_not_null(strstr(way->on, "slow: 8"), "%s", way->on);
    for (int32_t i = 0; i < ways.feasible && alone == NULL; i++)
        if (strchr(ways.row[i].on, ':') == NULL && strstr(ways.row[i].on, "fast") &&
            ways.row[i].degrees.micro_batch == 1)
            alone = &ways.row[i];
    cr_assert_not_null(alone);
    /* 64 micro-batches and the one that fills the pipeline, each two thirds of the whole model's */
    cr_expect_float_eq(way->step.pipeline_s / alone->step.pipeline_s,
                       2.0 / 3.0 * (64 + 1) / 64, 0.03);
    clear(&ways, &spec, &fleet);
}

/* The slow card has room for fewer layers than its speed would give it. */
Test(mixed, stages_take_no_more_layers_than_fit)
{
    emp_fleet         fleet = load(1, 1, 5);
    emp_ways          ways = {0};
    emp_parallel_spec spec = {0};
    const emp_way    *way =
        find(&ways, &spec, MODEL "micro_batch=1,batch=64,recompute=none,schedule=1f1b",
             &fleet, "layers");
    const char *slow = strstr(way->on, "slow: ");
    int         layers = 0;

    cr_assert(slow != NULL && sscanf(slow, "slow: %d", &layers) == 1, "%s", way->on);
    cr_expect(layers >= 1 && layers < 8, "%s", way->on);
    clear(&ways, &spec, &fleet);
}

/* Ways use all GPUs, or the GPUs of one model; a way that fails names the GPU. */
Test(mixed, plans_rank_all_ways_and_refuse_keys_of_like_gpus)
{
    emp_fleet                fleet = load(2, 1, 2);
    emp_ways                 ways = {0};
    emp_parallel_spec        spec = {0};
    int32_t                  reasons = 0, small = 0;
    static const char *const refused[][2] = {
        {"vp=2", "vp= is of GPUs that are alike"},
        {"micro_batches=64", "micro_batches= is of GPUs that are alike"},
        {"schedule=gpipe", "schedule=1f1b or zero-bubble"}};

    (void)find(&ways, &spec, MODEL "batch=12", &fleet, "fast");
    for (int32_t i = 0; i < ways.count; i++) {
        const emp_way *way = &ways.row[i];
        cr_expect_eq(way->why[0] == '\0', i < ways.feasible);
        if (i > 0 && i < ways.feasible)
            cr_expect(way[-1].step.step_s <=
                      way->step.step_s * (1.0 + EMP_PLAN_TIE_FRAC));
        cr_expect_eq(way->fault == EMP_WAY_FITS, i < ways.feasible);
        cr_expect_eq(way->fault == EMP_WAY_NEEDS_HOST,
                     strstr(way->why, "host memory") != NULL);
        reasons += strstr(way->why, "slow needs") != NULL;
        small += way->fault == EMP_WAY_NEEDS_MEMORY &&
                 way->step.peak_bytes <= ways.memory_bytes;
    }
    cr_expect(reasons > 0);
    cr_expect(small > 0, "no way fits on the fast card only");
    for (size_t i = 0; i < COUNT(refused); i++) {
        clear(&ways, &spec, NULL);
        ASSERT_OK(emp_parallel_spec_read(
            &spec, scratch_print("%s%s", MODEL, refused[i][0]), &err));
        EXPECT_FAILS(emp_ways_find_mixed(&ways, &spec, &fleet, &err), refused[i][1]);
    }
    clear(&ways, &spec, &fleet);
}

/* Loading the machine is long, so that each hundredth allocation fails in it. */
Test(mixed, survive_allocation_failures)
{
    emp_fleet         fleet = load(1, 1, 40), again = {0};
    emp_ways          ways = {0};
    emp_parallel_spec spec = {0};
    emp_status        st = EMP_ENOMEM;

    ASSERT_OK(emp_parallel_spec_read(&spec,
                                     "transformer:layers=2,heads=12,seq=64,batch=2,tp=1,"
                                     "pp=2,dp=1,recompute=none,schedule=1f1b,"
                                     "micro_batch=1",
                                     &err));
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_ways_find_mixed(&ways, &spec, &fleet, NULL),
                                      emp_ways_clear(&ways));
    for (long i = 0; st != EMP_OK; i += 100) {
        emp_fleet_clear(&again);
        emp_mem_fail_after(i);
        st = emp_fleet_load(&again, scratch_path("unlike.yaml"), NULL);
        emp_mem_fail_after(-1);
        cr_assert(st == EMP_OK || st == EMP_ENOMEM);
    }
    clear(&ways, &spec, &fleet);
    emp_fleet_clear(&again);
}
