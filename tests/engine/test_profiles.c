// SPDX-License-Identifier: GPL-3.0-or-later
/* Are the profiles of docs/profiles.md equal to the plain programs of the same page, and
 * are they simulators like any other? */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "sim/engine/sim.h"
#include "sim/workloads/workloads.h"
#include "tests/engine/random_problem.h"
#include "tests/engine/tiny_problem.h"
#include "tests/support/baechi_plain.h"
#include "tests/support/msr_plain.h"
#include "tests/support/placeto_plain.h"

enum { SEEDS = 200, PLACEMENTS = 4, MAX_OPS = 4000 };

static const char *const profiles[] = {"placeto", "baechi", "msr-latency", "msr-load"};
enum { PROFILES = sizeof profiles / sizeof profiles[0] };

static emp_runtime load(const char *name)
{
    emp_runtime r = {0};
    emp_error   err = {0};

    cr_assert_eq(emp_runtime_load(&r, name, &err), EMP_OK, "%s", err.msg);
    return r;
}

/* Costs from nothing to a multiple of the profiles' constants, bytes likewise. */
static void spread(random_problem *r, uint64_t seed)
{
    static const int32_t factors[] = {1, 1, 13, 997, 12345};
    emp_rng              rng;

    emp_rng_init(&rng, seed, 1, 0);
    uint32_t most = 1 + emp_rng_below(&rng, 5);
    for (emp_op_id op = 0; op < r->graph->op_count; op++) {
        int32_t factor = factors[emp_rng_below(&rng, most)];
        r->problem->costs->cpu[op].compute_ns *= factor;
        r->problem->costs->gpu[op].compute_ns *= factor;
    }
    for (int32_t t = 0; t < r->graph->tensor_count; t++) {
        r->graph->tensor[t].copy_bytes *= factors[emp_rng_below(&rng, most)];
        r->graph->tensor[t].copy_bytes += emp_rng_below(&rng, 3);
    }
}

/* What a trace tells. */
struct told {
    emp_time_ns start_ns[MAX_OPS], busy_ns[EMP_MAX_DEVICES];
    int64_t     peak_bytes[EMP_MAX_DEVICES];
    emp_time_ns latest_ns;
    int32_t     op_count, transfer_count;
};

static void note_op(void *context, emp_op_id op, emp_device_id device, int32_t lane,
                    emp_time_ns start, emp_time_ns end)
{
    struct told *t = context;

    cr_expect_geq(lane, 0);
    t->start_ns[op] = start;
    t->busy_ns[device] += end - start;
    t->op_count++;
    if (end > t->latest_ns) t->latest_ns = end;
}

static void note_transfer(void *context, emp_tensor_id tensor, emp_device_id from,
                          emp_device_id to, emp_time_ns start, emp_time_ns end)
{
    struct told *t = context;

    cr_expect(tensor >= 0 && from >= 0 && from != to && start <= end);
    t->transfer_count++;
    if (end > t->latest_ns) t->latest_ns = end;
}

static void note_message(void *context, emp_op_id op, emp_device_id to, emp_time_ns at)
{
    struct told *t = context;

    cr_expect(op >= 0 && to >= 0);
    t->transfer_count++;
    if (at > t->latest_ns) t->latest_ns = at;
}

static void note_memory(void *context, emp_device_id device, emp_time_ns at,
                        int64_t bytes)
{
    struct told *t = context;

    cr_expect(at >= 0 && bytes >= 0);
    if (bytes > t->peak_bytes[device]) t->peak_bytes[device] = bytes;
}

/* The run again and traced must say the same. */
static emp_sim_result simulate(emp_sim *sim, const emp_device_id *device_of_op,
                               struct told *told)
{
    emp_sim_trace  trace = {.context = told,
                            .op = note_op,
                            .transfer = note_transfer,
                            .message = note_message,
                            .memory = note_memory};
    emp_sim_result first, again, r;

    cr_assert_eq(emp_sim_run(sim, device_of_op, &first, NULL), EMP_OK);
    *told = (struct told){0};
    cr_assert_eq(emp_sim_run_traced(sim, device_of_op, &trace, &r, NULL), EMP_OK);
    cr_assert_eq(emp_sim_run_traced(sim, device_of_op, NULL, &again, NULL), EMP_OK);
    cr_expect_eq(again.fingerprint, r.fingerprint);
    first.fingerprint = again.fingerprint = r.fingerprint;
    cr_expect_eq(memcmp(&first, &r, sizeof r), 0, "traced");
    cr_expect_eq(memcmp(&again, &r, sizeof r), 0, "again");
    return r;
}

struct expected {
    plain_result r;
    int64_t      start_ns[MAX_OPS];
    bool         has_starts, has_transfers;
    bool         limits_cpu;
};

static void ask_plain(const plain_step *step, emp_rules rules, struct expected *e)
{
    int64_t    cross_ns[MAX_OPS];
    msr_result m;

    *e = (struct expected){0};
    if (rules == EMP_RULES_PLACETO || rules == EMP_RULES_BAECHI) {
        if (rules == EMP_RULES_PLACETO) {
            placeto_plain_run(step, e->start_ns, &e->r);
        } else {
            baechi_plain_run(step, e->start_ns, &e->r);
        }
        e->has_starts = e->has_transfers = e->limits_cpu = true;
        return;
    }
    msr_plain_transfers(step, cross_ns);
    msr_plain_run(step, cross_ns, &m);
    e->r.step_time_ns = rules == EMP_RULES_MSR_LOAD ? m.max_load_ns : m.latency_ns;
    memcpy(e->r.peak_bytes, m.size_bytes, sizeof m.size_bytes);
    for (int32_t op = 0; op < step->op_count; op++) {
        e->r.busy_ns[step->device_of_op[op]] += plain_step_cost_ns(step, op);
    }
}

static void compare(const random_problem *p, emp_sim *sim, uint64_t seed)
{
    const char     *profile = p->problem->runtime.name;
    emp_rules       rules = p->problem->runtime.rules;
    plain_step      step;
    struct told     told;
    struct expected want;
    bool            fits = true;

    plain_step_create(&step, p->problem, p->device_of_op);
    ask_plain(&step, rules, &want);
    emp_sim_result r = simulate(sim, p->device_of_op, &told);
    cr_expect_eq(r.step_time_ns, want.r.step_time_ns,
                 "%s, seed %" PRIu64 ": %" PRId64 " ns, plainly %" PRId64, profile, seed,
                 r.step_time_ns, want.r.step_time_ns);
    for (int32_t d = 0; d < p->machine->device_count; d++) {
        bool is_limited = want.limits_cpu || !step.is_cpu[d];
        cr_expect_eq(r.peak_bytes[d], want.r.peak_bytes[d],
                     "%s, seed %" PRIu64 ", device %d: %" PRId64 " B, plainly %" PRId64,
                     profile, seed, d, r.peak_bytes[d], want.r.peak_bytes[d]);
        cr_expect_eq(r.busy_ns[d], want.r.busy_ns[d], "%s, seed %" PRIu64, profile, seed);
        cr_expect_eq(told.peak_bytes[d], r.peak_bytes[d]);
        cr_expect_eq(told.busy_ns[d], r.busy_ns[d]);
        if (is_limited && r.peak_bytes[d] > p->machine->device[d].memory_bytes)
            fits = false;
    }
    cr_expect_eq(r.is_feasible, fits, "%s, seed %" PRIu64, profile, seed);
    cr_expect_eq(told.op_count, step.op_count);
    cr_expect_leq(told.latest_ns, r.step_time_ns);
    if (want.has_transfers) {
        cr_expect_eq(r.transfer_count, want.r.transfer_count);
        cr_expect_eq(r.traffic_bytes, want.r.traffic_bytes);
    }
    if (rules != EMP_RULES_PLACETO) cr_expect_eq(told.transfer_count, r.transfer_count);
    for (int32_t op = 0, live = 0; op < p->graph->op_count && want.has_starts; op++) {
        if (p->graph->op[op].is_folded) continue;
        cr_expect_eq(told.start_ns[op], want.start_ns[live],
                     "%s, seed %" PRIu64 ", op %d", profile, seed, op);
        live++;
    }
    plain_step_destroy(&step);
}

static void compare_with_plain(const char *profile)
{
    emp_runtime runtime = load(profile);

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        random_problem p;
        emp_sim       *sim = NULL;
        emp_rng        rng;
        random_problem_create(&p, seed);
        cr_assert_leq(p.graph->op_count, MAX_OPS);
        spread(&p, seed);
        p.problem->runtime = runtime;
        cr_assert_eq(emp_sim_create(&sim, p.problem, NULL), EMP_OK);
        emp_rng_init(&rng, seed, 2, 0);
        for (int i = 0; i < PLACEMENTS; i++) {
            compare(&p, sim, seed);
            random_problem_place(&p, &rng);
        }
        emp_sim_destroy(sim);
        random_problem_destroy(&p);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0, "leaked");
}

/* Real graphs: many runs, long queues. */
static void compare_workload(const char *spec)
{
    emp_graph     *whole = NULL, *step = NULL;
    emp_machine   *machine = NULL;
    emp_device_id *device = NULL;
    emp_rng        rng;

    emp_rng_init(&rng, 7, 0, 0);
    cr_assert_eq(emp_workload_build(&whole, spec, NULL), EMP_OK);
    cr_assert_eq(emp_graph_prune(&step, whole, NULL), EMP_OK);
    cr_assert_eq(emp_machine_load(&machine, "k40x2", NULL), EMP_OK);
    device = EMP_NEW_ARRAY(emp_device_id, (size_t)step->op_count);
    cr_assert_not_null(device);
    cr_assert_leq(step->op_count, MAX_OPS);
    for (int i = 0; i < PROFILES; i++) {
        emp_runtime            runtime = load(profiles[i]);
        emp_problem           *problem = NULL;
        emp_sim               *sim = NULL;
        emp_sim_result         r;
        plain_step             plain;
        static struct expected want;
        cr_assert_eq(emp_problem_create(&problem, step, machine, &runtime, spec, NULL),
                     EMP_OK);
        cr_assert_eq(emp_sim_create(&sim, problem, NULL), EMP_OK);
        for (emp_op_id op = 0; op < step->op_count; op++) {
            device[op] = (emp_device_id)emp_rng_below(&rng, 3);
        }
        emp_problem_legalize(problem, device);
        plain_step_create(&plain, problem, device);
        ask_plain(&plain, runtime.rules, &want);
        cr_assert_eq(emp_sim_run(sim, device, &r, NULL), EMP_OK);
        cr_expect_eq(r.step_time_ns, want.r.step_time_ns, "%s %s", spec, profiles[i]);
        for (int32_t d = 0; d < machine->device_count; d++) {
            cr_expect_eq(r.peak_bytes[d], want.r.peak_bytes[d], "%s %s", spec,
                         profiles[i]);
            cr_expect_eq(r.busy_ns[d], want.r.busy_ns[d], "%s %s", spec, profiles[i]);
        }
        plain_step_destroy(&plain);
        emp_sim_destroy(sim);
        emp_problem_destroy(problem);
    }
    emp_free(device);
    emp_machine_destroy(machine);
    emp_graph_destroy(step);
    emp_graph_destroy(whole);
}

Test(profiles, are_the_plain_ones_on_workloads)
{
    compare_workload("rnnlm:steps=3");
    compare_workload("nmt:layers=1,steps=2");
}

Test(profiles, placeto_is_the_plain_one) { compare_with_plain("placeto"); }
Test(profiles, baechi_is_the_plain_one) { compare_with_plain("baechi"); }
Test(profiles, msr_latency_is_the_plain_one) { compare_with_plain("msr-latency"); }
Test(profiles, msr_load_is_the_plain_one) { compare_with_plain("msr-load"); }
