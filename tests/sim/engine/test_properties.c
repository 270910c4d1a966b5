// SPDX-License-Identifier: GPL-3.0-or-later
/* Properties of every graph, machine, runtime and placement: lower bounds, scaling, bytes that are
 * freed, closed forms of chains, threads. That less work never takes longer is none of them:
 * bench/studies/anomalies.h. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "sim/engine/engine.h"
#include "tests/sim/engine/random_problem.h"
#include "tests/support/problems.h"
#include "tests/support/survive.h"

enum { PROBLEMS = 300, MAX_OPS = 64 };

static emp_time_ns later_of(emp_time_ns a, emp_time_ns b) { return a > b ? a : b; }

TestSuite(properties, .fini = expect_all_freed);

static emp_sim_result simulate(const task *r) { return task_trace(r, NULL); }

/* All but the fingerprint. */
static void expect_same(const emp_sim_result *a, const emp_sim_result *b, uint64_t seed)
{
    emp_sim_result same = *a;

    same.fingerprint = b->fingerprint;
    cr_expect_eq(a->step_time_ns, b->step_time_ns,
                 "seed %" PRIu64 ": %" PRId64 " and %" PRId64 " ns", seed,
                 a->step_time_ns, b->step_time_ns);
    cr_expect_eq(memcmp(&same, b, sizeof same), 0, SEED);
}

/* ---- lower bounds ---- */

/* The resources that a schedule keeps busy. */
typedef struct {
    const task *r;
    uint64_t    seed;
    emp_time_ns kernel_ns[EMP_MAX_DEVICES], kernel_end_ns[EMP_MAX_DEVICES];
    emp_time_ns thread_ns[EMP_MAX_DEVICES], issue_end_ns[EMP_MAX_DEVICES];
    emp_time_ns link_ns[EMP_MAX_LINKS], link_end_ns[EMP_MAX_LINKS];
} loads;

static bool has_host_thread(const task *r, emp_device_id device)
{
    return r->problem->runtime.events.serial_issue && device > 0;
}

static void see_op(void *context, emp_op_id op, emp_device_id device, int32_t lane,
                   emp_time_ns start_ns, emp_time_ns end_ns)
{
    loads *l = context;

    (void)op, (void)lane;
    if (device == 0) return; /* its ops may overlap */
    cr_expect(start_ns >= l->kernel_end_ns[device] || start_ns == end_ns,
              "seed %" PRIu64 ": kernels overlap on device %d", l->seed, device);
    l->kernel_end_ns[device] = later_of(l->kernel_end_ns[device], end_ns);
    l->kernel_ns[device] += end_ns - start_ns;
}

static void see_issue(void *context, emp_op_id op, emp_device_id device,
                      emp_time_ns start_ns, emp_time_ns end_ns)
{
    loads *l = context;

    cr_expect_geq(start_ns, l->issue_end_ns[device], "seed %" PRIu64, l->seed);
    cr_expect_eq(end_ns - start_ns, l->r->problem->costs->gpu[op].issue_ns);
    l->issue_end_ns[device] = end_ns;
    l->thread_ns[device] += end_ns - start_ns;
}

static void see_copy(void *context, emp_tensor_id tensor, emp_device_id from,
                     emp_device_id to, emp_sim_copy_phase phase, emp_time_ns at_ns)
{
    loads             *l = context;
    const emp_runtime *rt = &l->r->problem->runtime;
    emp_device_id      sender = l->r->device_of_op[l->r->graph->tensor[tensor].producer];

    (void)from, (void)at_ns;
    if (phase == EMP_SIM_COPY_REQUESTED && has_host_thread(l->r, sender))
        l->thread_ns[sender] += emp_ns_of_seconds(rt->events.send_s);
    if (phase == EMP_SIM_COPY_DELIVERED && has_host_thread(l->r, to))
        l->thread_ns[to] += emp_ns_of_seconds(rt->events.receive_s);
}

static void see_transfer(void *context, emp_tensor_id tensor, emp_device_id from,
                         emp_device_id to, emp_time_ns start_ns, emp_time_ns end_ns)
{
    loads           *l = context;
    const emp_route *route = &l->r->machine->route[from][to];

    (void)tensor;
    for (int32_t i = 0; i < route->link_count; i++) {
        int32_t link = route->link[i];
        l->link_ns[link] += end_ns - start_ns;
        if (!l->r->problem->runtime.events.shared_links) continue;
        cr_expect_geq(start_ns, l->link_end_ns[link],
                      "seed %" PRIu64 ": transfers overlap on link %d", l->seed, link);
        l->link_end_ns[link] = end_ns;
    }
}

/* Nothing does two things at once, so no step is shorter than what one thing has to do. */
Test(properties, a_step_is_no_shorter_than_anything_is_busy)
{
    for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
        task r;
        random_problem_create(&r, seed);
        loads          l = {.r = &r, .seed = seed};
        emp_sim_trace  trace = {.context = &l,
                                .op = see_op,
                                .issue = see_issue,
                                .copy = see_copy,
                                .transfer = see_transfer};
        emp_sim_result s = task_trace(&r, &trace);
        emp_time_ns    step =
            s.step_time_ns - emp_ns_of_seconds(r.problem->runtime.events.step_s);
        for (int32_t d = 0; d < r.machine->device_count; d++) {
            cr_expect_geq(step, s.busy_ns[d], SEED_AND(": device %d"), d);
            cr_expect_geq(step, l.thread_ns[d], "seed %" PRIu64 ": thread %d", seed, d);
            cr_expect(d == 0 || l.kernel_ns[d] == s.busy_ns[d], SEED);
        }
        for (int32_t k = 0;
             r.problem->runtime.events.shared_links && k < r.machine->link_count; k++) {
            cr_expect_geq(step, l.link_ns[k], "seed %" PRIu64 ": link %d", seed, k);
        }
        task_destroy(&r);
    }
}

/* When an op is through if every device, thread, stream and link served it alone. */
typedef struct {
    emp_time_ns told_ns;   /* those who wait are told */
    emp_time_ns stream_ns; /* its kernels and those before it on its stream are done */
} earliest;

/* The tasks of an op on all cores, cut as suits it best. */
static emp_time_ns fastest_on_cpu(const emp_problem *p, emp_op_id op)
{
    const emp_cost_table *c = p->costs;
    int32_t               lanes = c->cpu[op].lanes, cores = p->machine->device[0].cores;
    emp_time_ns           fastest = INT64_MAX;

    if (!p->runtime.events.cpu_pool) return c->cpu[op].compute_ns;
    for (int32_t n = (lanes + 3) / 4; n <= lanes; n++) {
        int32_t     tasks = n * emp_cost_rounds(lanes);
        emp_time_ns ns =
            (tasks + cores - 1) / cores * c->task_ns[c->cpu_offset[op] + n - 1];
        if (ns < fastest) fastest = ns;
    }
    return fastest;
}

static emp_time_ns copy_ns(const emp_problem *p, const emp_tensor *tensor,
                           emp_device_id from, emp_device_id to)
{
    const emp_route *route = &p->machine->route[from][to];
    double           ns = (double)tensor->copy_bytes * 1e9 / route->bytes_per_s;

    return emp_ns_of_seconds(p->runtime.events.poll_s) +
           emp_ns_of_seconds(p->runtime.events.receive_s) +
           emp_ns_of_seconds(route->latency_s) + (emp_time_ns)(ns + 0.5);
}

static void wait_for_input(const task *r, const earliest *at, emp_op_id op, int32_t input,
                           earliest *ready)
{
    const emp_graph    *g = r->graph;
    const emp_tensor   *t = &g->tensor[g->input[g->input_offset[op] + input]];
    const earliest     *from = &at[t->producer];
    const emp_device_id device = r->device_of_op[op],
                        maker = r->device_of_op[t->producer];
    const emp_device_id home = t->on_host ? 0 : maker;
    const bool          reads_on_host = g->op[op].host_input_mask >> input & 1u;
    const emp_device_id reads_in = reads_on_host ? 0 : device;

    if (g->op[t->producer].is_folded) return;
    if (home == reads_in) {
        ready->told_ns = later_of(ready->told_ns, from->told_ns);
        if (maker == device)
            ready->stream_ns = later_of(ready->stream_ns, from->stream_ns);
        return;
    }
    emp_time_ns leaves =
        from->told_ns + emp_ns_of_seconds(r->problem->runtime.events.send_s);
    if (home > 0) leaves = later_of(leaves, from->stream_ns);
    ready->told_ns =
        later_of(ready->told_ns, leaves + copy_ns(r->problem, t, home, reads_in));
}

static void wait_for_control(const task *r, const earliest *at, emp_op_id op,
                             emp_op_id before, earliest *ready)
{
    emp_device_id from = r->device_of_op[before], to = r->device_of_op[op];
    emp_time_ns   told = at[before].told_ns;

    if (r->graph->op[before].is_folded) return;
    if (from == to) ready->stream_ns = later_of(ready->stream_ns, at[before].stream_ns);
    if (from != to && r->problem->runtime.events.control_latency)
        told += emp_ns_of_seconds(r->machine->route[from][to].latency_s);
    ready->told_ns = later_of(ready->told_ns, told);
}

static earliest run_alone(const task *r, emp_op_id op, earliest ready)
{
    const emp_gpu_cost *gpu = &r->problem->costs->gpu[op];
    emp_device_id       device = r->device_of_op[op];

    if (!has_host_thread(r, device)) {
        emp_time_ns end = ready.told_ns +
                          (device > 0 ? gpu->compute_ns : fastest_on_cpu(r->problem, op));
        return (earliest){end, end};
    }
    emp_time_ns issued = ready.told_ns + gpu->issue_ns;
    return (earliest){issued,
                      later_of(issued, ready.stream_ns) +
                          (r->graph->op[op].cost->kernels > 0 ? gpu->compute_ns : 0)};
}

/* The longest path: ops at their fastest, copies and messages without queues. */
static emp_time_ns critical_path(const task *r)
{
    const emp_graph *g = r->graph;
    earliest         at[MAX_OPS] = {{0}};
    emp_time_ns      longest = 0;

    for (int32_t i = 0; i < g->op_count; i++) {
        emp_op_id op = g->topo[i];
        earliest  ready = {0};
        if (g->op[op].is_folded) continue;
        for (int32_t k = 0; k < g->input_offset[op + 1] - g->input_offset[op]; k++)
            wait_for_input(r, at, op, k, &ready);
        for (int32_t k = g->control_offset[op]; k < g->control_offset[op + 1]; k++)
            wait_for_control(r, at, op, g->control[k], &ready);
        at[op] = run_alone(r, op, ready);
        longest = later_of(longest, later_of(at[op].told_ns, at[op].stream_ns));
    }
    return longest + emp_ns_of_seconds(r->problem->runtime.events.step_s);
}

Test(properties, no_placement_beats_the_critical_path)
{
    int32_t tight = 0;

    for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
        task r;
        random_problem_create(&r, seed);
        emp_time_ns bound = critical_path(&r), step = simulate(&r).step_time_ns;
        cr_expect_geq(step, bound, "seed %" PRIu64 ": %" PRId64 " < %" PRId64, seed, step,
                      bound);
        tight += step == bound;
        task_destroy(&r);
    }
    cr_expect_gt(tight, PROBLEMS / 20, "the bound is met %d times", tight);
}

/* ---- scale, and what is not used ---- */

/* The last factor makes steps of days, whose events leave fewer bits to their source. */
Test(properties, scaling_every_cost_scales_the_step)
{
    static const int64_t factors[] = {2, 3, 7, 1000, INT64_C(1) << 38};

    for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
        for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
            task r;
            random_problem_create(&r, seed);
            random_problem_scale(&r, 1);
            emp_time_ns once = simulate(&r).step_time_ns;
            random_problem_scale(&r, factors[i]);
            emp_time_ns scaled = simulate(&r).step_time_ns;
            cr_expect_eq(scaled, factors[i] * once,
                         "seed %" PRIu64 ": %" PRId64 " and %" PRId64, seed, once,
                         scaled);
            task_destroy(&r);
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
        for (size_t i = 0; i < sizeof create / sizeof *create; i++) {
            task    r;
            emp_rng rng;
            create[i](&r, seed);
            emp_rng_init(&rng, seed, 0, 0);
            for (int32_t draw = 0; draw < 4; draw++) {
                expect_bounded(&r, seed);
                random_problem_place(&r, &rng);
            }
            task_destroy(&r);
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
        task r;
        random_problem_create(&r, seed);
        emp_sim_result without = simulate(&r);
        int32_t        count = r.machine->device_count;
        int32_t        place = 1 + (int32_t)(seed % (uint64_t)count);
        insert_device(&r, place);
        r.machine->link[r.machine->link_count++] =
            (emp_link){.latency_s = 1.0, .bytes_per_s = 1.0};
        emp_sim_result with = simulate(&r);
        cr_expect_eq(with.busy_ns[place], 0, SEED);
        cr_expect_eq(with.peak_bytes[place], 0, SEED);
        forget_device(&with, place);
        expect_same(&with, &without, seed);
        cr_expect(place < count || with.fingerprint == without.fingerprint, SEED);
        task_destroy(&r);
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
            task          r;
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
            task_destroy(&r);
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
        task    r;
        int64_t none[EMP_MAX_DEVICES] = {0};
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
        task_destroy(&r);
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

/* ideal: the sum of the costs. */
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
    task    t;
    emp_rng rng;

    emp_rng_init(&rng, seed, 5, (uint32_t)device);
    create_chain(&t, device, profile, &rng);
    emp_time_ns step = simulate(&t).step_time_ns;
    emp_time_ns want = closed_form(&t, device);
    cr_expect_eq(step, want,
                 "%s, device %d, seed %" PRIu64 ": %" PRId64 ", want %" PRId64, profile,
                 device, seed, step, want);
    task_destroy(&t);
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

/* ---- repetition ---- */

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
        task    r;
        emp_rng rng;
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
        task_destroy(&r);
    }
}
