// SPDX-License-Identifier: GPL-3.0-or-later
/* Properties of every graph, machine, runtime and placement: scaling, bytes that are freed, closed forms of chains,
 * threads. That less work never takes longer is none of them:
 * bench/studies/anomalies.h. */
#include "sim/engine/engine.h"
#include "tests/sim/engine/random_problem.h"
#include "tests/support/problems.h"
#include "tests/support/survive.h"

enum { PROBLEMS = 300, MAX_OPS = 64 };

static emp_time_ns later_of(emp_time_ns a, emp_time_ns b) { return a > b ? a : b; }

TestSuite(properties, .fini = expect_all_freed);

static emp_sim_result simulate(const task *r) { return task_trace(r, NULL); }

static void expect_same(const emp_sim_result *a, const emp_sim_result *b, uint64_t seed)
{
    emp_sim_result same = *a;

    same.fingerprint = b->fingerprint;
    cr_expect_eq(a->step_time_ns, b->step_time_ns,
                 "seed %" PRIu64 ": %" PRId64 " and %" PRId64 " ns", seed,
                 a->step_time_ns, b->step_time_ns);
    cr_expect_eq(memcmp(&same, b, sizeof same), 0, SEED);
}

/* ---- scale, and what is not used ---- */

/* The last factor makes steps of days, whose events leave fewer bits to their source. */
Test(properties, scaling_every_cost_scales_the_step)
{
    static const int64_t factors[] = {2, 3, 7, 1000, INT64_C(1) << 38};

    for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
        for (size_t i = 0; i < COUNT(factors); i++) {
            OWN_TASK r;
            random_problem_create(&r, seed);
            random_problem_scale(&r, 1);
            emp_time_ns once = simulate(&r).step_time_ns;
            random_problem_scale(&r, factors[i]);
            emp_time_ns scaled = simulate(&r).step_time_ns;
            cr_expect_eq(scaled, factors[i] * once,
                         "seed %" PRIu64 ": %" PRId64 " and %" PRId64, seed, once,
                         scaled);
        }
    }
}

static void expect_bounded(const task *r, uint64_t seed)
{
    emp_engine *engine = NULL;

    cr_assert_eq(emp_engine_create(&engine, r->problem, NULL), EMP_OK);
    double         longest = emp_engine_longest_run_ns(engine);
    emp_sim_result result = simulate(r);
    cr_expect_leq((double)result.step_time_ns, longest, SEED);
    emp_engine_destroy(engine);
}

Test(properties, no_step_takes_longer_than_the_guard_says)
{
    static void (*const create[])(task *, uint64_t) = {
        random_problem_create, random_problem_create_hosts, random_problem_create_unlike,
        random_problem_create_collectives};

    for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
        for (size_t i = 0; i < COUNT(create); i++) {
            OWN_TASK r;
            emp_rng  rng;
            create[i](&r, seed);
            emp_rng_init(&rng, seed, 0, 0);
            for (int32_t draw = 0; draw < 4; draw++) {
                expect_bounded(&r, seed);
                random_problem_place(&r, &rng);
            }
        }
    }
}

/* Makes room for a device at \a place; its routes are as bad as can be. */
static void insert_device(task *r, int32_t place)
{
    emp_machine *m = r->machine;
    emp_machine  old = *m;

    m->device_count++;
    m->device[place] = old.device[place < old.device_count ? place : place - 1];
    m->device[place].kind = EMP_DEVICE_GPU;
    for (int32_t i = 0; i < m->device_count; i++) {
        for (int32_t j = 0; j < m->device_count; j++) {
            if (i == place || j == place) {
                m->route[i][j] = (emp_route){
                    .link_count = 1, .link = {0}, .bytes_per_s = 1.0, .latency_s = 1.0};
            } else {
                m->route[i][j] = old.route[i - (i > place)][j - (j > place)];
            }
        }
        if (i > place) m->device[i] = old.device[i - 1];
    }
    for (emp_op_id op = 0; op < r->graph->op_count; op++)
        r->device_of_op[op] += r->device_of_op[op] >= place;
}

static void forget_device(emp_sim_result *s, int32_t place)
{
    for (int32_t d = place; d + 1 < EMP_MAX_DEVICES; d++) {
        s->busy_ns[d] = s->busy_ns[d + 1];
        s->peak_bytes[d] = s->peak_bytes[d + 1];
    }
    s->device_count--;
    if (s->oom_device > place) s->oom_device--;
}

/* Nor does a link that no route takes. */
Test(properties, an_unused_device_changes_nothing)
{
    for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
        OWN_TASK r;
        random_problem_create(&r, seed);
        emp_sim_result without = simulate(&r);
        int32_t        count = r.machine->device_count;
        int32_t        place = 1 + (int32_t)(seed % (uint64_t)count);
        insert_device(&r, place);
        r.machine->link[r.machine->link_count++] =
            (emp_link){.latency_s = 1.0, .bytes_per_s = 1.0};
        emp_sim_result with = simulate(&r);
        for (int32_t d = 0; d <= count; d++)
            cr_expect_geq(with.step_time_ns, with.busy_ns[d], SEED);
        cr_expect_eq(with.busy_ns[place], 0, SEED);
        cr_expect_eq(with.peak_bytes[place], 0, SEED);
        forget_device(&with, place);
        expect_same(&with, &without, seed);
        cr_expect(place < count || with.fingerprint == without.fingerprint, SEED);
    }
}

/* ---- memory ---- */

typedef struct {
    uint64_t seed;
    int64_t  last[EMP_MAX_DEVICES], most[EMP_MAX_DEVICES];
} tide;

static void see_memory(void *context, emp_device_id device, emp_time_ns at_ns,
                       int64_t bytes)
{
    tide *t = context;

    (void)at_ns;
    cr_expect_geq(bytes, 0, "seed %" PRIu64 ": device %d", t->seed, device);
    t->last[device] = bytes;
    if (bytes > t->most[device]) t->most[device] = bytes;
}

static void count_persistent(const task *r, int64_t bytes[EMP_MAX_DEVICES])
{
    for (emp_op_id op = 0; op < r->graph->op_count; op++) {
        const emp_op *o = &r->graph->op[op];
        if (o->is_folded) continue;
        bytes[r->device_of_op[op]] += (o->persistent_bytes + 255) / 256 * 256;
    }
}

Test(properties, every_byte_is_freed)
{
    for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
        for (int with_chunks = 0; with_chunks < 3; with_chunks++) {
            OWN_TASK      r;
            tide          t = {.seed = seed};
            emp_sim_trace trace = {.context = &t, .memory = see_memory};
            int64_t       persistent[EMP_MAX_DEVICES] = {0};
            random_problem_create(&r, seed);
            count_persistent(&r, persistent);
            r.problem->runtime.events.bfc_allocator = with_chunks == 1;
            r.problem->runtime.events.caching_allocator = with_chunks == 2;
            emp_sim_result s = task_trace(&r, &trace);
            for (int32_t d = 0; d < s.device_count; d++) {
                cr_expect_eq(t.last[d], persistent[d],
                             "seed %" PRIu64 ": device %d ends with %" PRId64
                             " bytes, %" PRId64 " of variables",
                             seed, d, t.last[d], persistent[d]);
                /* chunks have gaps; one that finds no place counts alone */
                bool is_gapless = !with_chunks || d == 0;
                cr_expect(is_gapless ? t.most[d] == s.peak_bytes[d]
                                     : t.most[d] <= s.peak_bytes[d],
                          "seed %" PRIu64 ": %" PRId64 ", peak %" PRId64, seed, t.most[d],
                          s.peak_bytes[d]);
            }
        }
    }
}

static void set_memory(task *r, const int64_t *bytes, int64_t more)
{
    for (int32_t d = 1; d < r->machine->device_count; d++)
        r->machine->device[d].memory_bytes = bytes[d] + more;
}

/* Chunks are where bytes are, not when: only what GPUs need can change. */
static void expect_other_peaks_only(bool caching_allocator)
{
    for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
        OWN_TASK r;
        int64_t  none[EMP_MAX_DEVICES] = {0};
        random_problem_create(&r, seed);
        r.machine->device[0].memory_bytes = INT64_C(1) << 40;
        set_memory(&r, none, INT64_C(1) << 40);
        emp_sim_result sum = simulate(&r);
        r.problem->runtime.events.bfc_allocator = !caching_allocator;
        r.problem->runtime.events.caching_allocator = caching_allocator;
        emp_sim_result chunks = simulate(&r);
        cr_expect_eq(chunks.fingerprint, sum.fingerprint, SEED);
        cr_expect(chunks.is_feasible, SEED);
        cr_expect_eq(chunks.peak_bytes[0], sum.peak_bytes[0], SEED);
        bool uses_gpu = false;
        for (int32_t d = 1; d < r.machine->device_count; d++) {
            cr_expect_geq(chunks.peak_bytes[d], sum.peak_bytes[d], SEED);
            uses_gpu = uses_gpu || sum.peak_bytes[d] > 0;
        }
        set_memory(&r, chunks.peak_bytes, 0);
        cr_expect_eq(simulate(&r).fingerprint, sum.fingerprint, SEED);
        set_memory(&r, sum.peak_bytes, -1);
        r.problem->runtime.check_memory = true;
        cr_expect_eq(simulate(&r).is_feasible, !uses_gpu, SEED);
    }
}

Test(properties, chunks_and_segments_change_peaks_only)
{
    expect_other_peaks_only(false);
    expect_other_peaks_only(true);
}

/* ---- chains ---- */

enum { MAX_CHAIN = 30, CHAINS = 200, TINY_CORES = 4 };

static void create_chain(task *t, int device, const char *profile, emp_rng *rng)
{
    tiny_op     ops[MAX_CHAIN] = {{0}};
    int         count = 1 + (int)emp_rng_below(rng, MAX_CHAIN);
    emp_runtime runtime;

    ASSERT_OK(emp_runtime_init(&runtime, profile, &err));
    for (int i = 0; i < count; i++) {
        ops[i].device = device;
        ops[i].input_count = i > 0;
        ops[i].input[0] = i - 1;
        ops[i].is_kernelless = emp_rng_below(rng, 4) == 0;
        ops[i].lanes = 1 + (int)emp_rng_below(rng, TINY_CORES);
    }
    task_create_tiny(t, ops, count, &runtime);
    emp_cost_table *c = t->problem->costs;
    for (int i = 0; i < count; i++) {
        c->gpu[i].issue_ns = emp_rng_below(rng, 50000);
        if (!ops[i].is_kernelless) c->gpu[i].compute_ns = emp_rng_below(rng, 100000);
        c->cpu[i].compute_ns = emp_rng_below(rng, 100000);
        for (int k = 0; k < TINY_CORES; k++)
            c->task_ns[i * TINY_CORES + k] = emp_rng_below(rng, 100000);
    }
}

static emp_time_ns ideal_chain(const task *t, int device)
{
    const emp_cost_table *c = t->problem->costs;
    emp_time_ns           sum = 0;

    for (int i = 0; i < c->op_count; i++)
        sum += device > 0 ? c->gpu[i].compute_ns : c->cpu[i].compute_ns;
    return sum;
}

/* tf-r1.3 on a GPU: all issues, or those up to some op and all kernels from it on:
 * max over k of issue_1 + ... + issue_k + kernels_k + ... + kernels_n, whichever is most.
 * On the CPU an op has its lanes' cores for itself, and is four tasks for each. */
static emp_time_ns tf_chain(const task *t, int device)
{
    const emp_cost_table *c = t->problem->costs;
    emp_time_ns           step = emp_ns_of_seconds(t->problem->runtime.events.step_s);
    emp_time_ns           issued = 0, kernels = 0, longest = 0, sum = 0;

    for (int i = 0; i < c->op_count; i++) {
        int lanes = c->cpu[i].lanes, tasks = lanes * emp_cost_rounds(lanes);
        sum += (tasks + TINY_CORES - 1) / TINY_CORES *
               c->task_ns[i * TINY_CORES + lanes - 1];
        kernels += c->gpu[i].compute_ns;
    }
    if (device == 0) return sum + step;
    for (int i = 0; i < c->op_count; i++) {
        issued += c->gpu[i].issue_ns;
        longest = later_of(longest, issued + kernels);
        kernels -= c->gpu[i].compute_ns;
    }
    return later_of(longest, issued) + step;
}

static void expect_chain(const char *profile, int device, uint64_t seed,
                         emp_time_ns (*closed_form)(const task *t, int device))
{
    OWN_TASK t;
    emp_rng  rng;

    emp_rng_init(&rng, seed, 5, (uint32_t)device);
    create_chain(&t, device, profile, &rng);
    emp_time_ns step = simulate(&t).step_time_ns;
    emp_time_ns want = closed_form(&t, device);
    cr_expect_eq(step, want,
                 "%s, device %d, seed %" PRIu64 ": %" PRId64 ", want %" PRId64, profile,
                 device, seed, step, want);
}

Test(properties, a_chain_on_one_device_is_the_sum_of_its_costs)
{
    for (uint64_t seed = 0; seed < CHAINS; seed++) {
        for (int device = 0; device < 2; device++) {
            expect_chain("ideal", device, seed, ideal_chain);
            expect_chain("tf-r1.3", device, seed, tf_chain);
        }
    }
}

enum { BATCH = 24, BATCH_PROBLEMS = 20 };

/* A simulator for each thread, one problem for all. */
static void simulate_batch(const task *r, const emp_device_id *placements, int threads,
                           emp_sim_result *results)
{
    int failures = 0;

#pragma omp parallel num_threads(threads) reduction(+ : failures)
    {
        emp_sim *sim = NULL;
        failures += emp_sim_create(&sim, r->problem, NULL) != EMP_OK;
#pragma omp for schedule(dynamic)
        for (int i = 0; i < BATCH; i++) {
            if (sim == NULL) continue;
            failures += emp_sim_run_traced(sim, placements + i * MAX_OPS, NULL,
                                           &results[i], NULL) != EMP_OK;
        }
        emp_sim_destroy(sim);
    }
    cr_assert_eq(failures, 0);
}

Test(properties, threads_do_not_change_results)
{
    static emp_device_id  placements[BATCH * MAX_OPS];
    static emp_sim_result one[BATCH], two[BATCH];

    for (uint64_t seed = 0; seed < BATCH_PROBLEMS; seed++) {
        OWN_TASK r;
        emp_rng  rng;
        random_problem_create(&r, seed);
        emp_rng_init(&rng, seed, 6, 0);
        for (int i = 0; i < BATCH; i++) {
            random_problem_place(&r, &rng);
            memcpy(placements + i * MAX_OPS, r.device_of_op,
                   (size_t)r.graph->op_count * sizeof *placements);
        }
        simulate_batch(&r, placements, 1, one);
        simulate_batch(&r, placements, 2, two);
        for (int i = 0; i < BATCH; i++) {
            expect_same(&one[i], &two[i], seed);
            cr_expect_eq(one[i].fingerprint, two[i].fingerprint, SEED);
        }
    }
}
