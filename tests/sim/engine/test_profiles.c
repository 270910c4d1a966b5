// SPDX-License-Identifier: GPL-3.0-or-later
/* Are the profiles of docs/simulator.md equal to the plain programs of the same page, and
 * are they simulators like any other? */
#include "sim/engine/sim.h"
#include "sim/rules/rules.h"
#include "tests/sim/engine/random_problem.h"
#include "tests/support/plain/baechi_plain.h"
#include "tests/support/plain/edges_plain.h"
#include "tests/support/plain/msr_plain.h"
#include "tests/support/plain/placeto_plain.h"
#include "tests/support/problems.h"
#include "tests/support/survive.h"

enum { SEEDS = 200, PLACEMENTS = 4, MAX_OPS = 4000 };

/* The last one has the rules of the engine, for which test_engine_textbook.c has a plain one. */
static const char *const profiles[] = {"placeto",  "baechi", "msr-latency",
                                       "msr-load", "edges",  "tf-r1.3"};
enum { PROFILES = COUNT(profiles), PLAIN = PROFILES - 1 };

TestSuite(profiles, .fini = expect_all_freed);

static emp_runtime load(const char *name)
{
    emp_runtime r = {0};

    ASSERT_OK(emp_runtime_init(&r, name, &err));
    return r;
}

/* Costs from nothing to a multiple of the profiles' constants, bytes likewise. In a third of all
 * problems devices of a kind take different times. */
static void spread(task *r, uint64_t seed)
{
    static const int32_t  factors[] = {1, 1, 13, 997, 12345};
    const emp_cost_table *costs = r->problem->costs;
    emp_rng               rng;

    emp_rng_init(&rng, seed, 1, 0);
    if (seed % 3 == 0) random_problem_part(r, seed);
    uint32_t most = 1 + emp_rng_below(&rng, 5);
    for (emp_op_id op = 0; op < r->graph->op_count; op++) {
        int32_t factor = factors[emp_rng_below(&rng, most)];
        for (int32_t c = 0; c < costs->column_count[EMP_DEVICE_CPU]; c++)
            costs->cpu[c * costs->op_count + op].compute_ns *= factor;
        for (int32_t c = 0; c < costs->column_count[EMP_DEVICE_GPU]; c++)
            costs->gpu[c * costs->op_count + op].compute_ns *= factor;
    }
    for (int32_t t = 0; t < r->graph->tensor_count; t++) {
        r->graph->tensor[t].copy_bytes *= factors[emp_rng_below(&rng, most)];
        r->graph->tensor[t].copy_bytes += emp_rng_below(&rng, 3);
    }
}

struct told {
    emp_time_ns start_ns[MAX_OPS], busy_ns[EMP_MAX_DEVICES];
    int64_t     peak_bytes[EMP_MAX_DEVICES];
    emp_time_ns latest_ns;
    emp_time_ns lane_end_ns[EMP_MAX_DEVICES][EMP_MAX_CORES];
    int32_t     op_count, transfer_count;
};

static void note_op(void *context, emp_op_id op, emp_device_id device, int32_t lane,
                    emp_time_ns start, emp_time_ns end)
{
    struct told *t = context;

    cr_expect(lane >= 0 && lane < EMP_MAX_CORES && start <= end);
    cr_expect_geq(start, t->lane_end_ns[device][lane], "ops of one lane overlap");
    t->lane_end_ns[device][lane] = end;
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
    int64_t      ops_ns[PLAIN_MAX_DEVICES]; /* of what is told op by op */
    bool         has_starts, has_transfers;
    bool         limits_cpu;
};

static void ask_edges(const plain_step *step, const emp_problem *problem,
                      struct expected *e)
{
    OWN_EMP_FREE int64_t *message_ns = EMP_NEW_ARRAY(int64_t, (size_t)step->edge_count);

    cr_assert_not_null(message_ns);
    edges_plain_messages(step, problem, message_ns);
    edges_plain_run(step, message_ns, e->start_ns, &e->r);
}

static void ask_plain(const plain_step *step, const emp_problem *problem,
                      struct expected *e)
{
    emp_rules  rules = problem->runtime.rules;
    int64_t    cross_ns[MAX_OPS];
    msr_result m;

    *e = (struct expected){0};
    if (rules != EMP_RULES_MSR_LATENCY && rules != EMP_RULES_MSR_LOAD) {
        if (rules == EMP_RULES_PLACETO) placeto_plain_run(step, e->start_ns, &e->r);
        if (rules == EMP_RULES_BAECHI) baechi_plain_run(step, e->start_ns, &e->r);
        if (rules == EMP_RULES_EDGES) ask_edges(step, problem, e);
        memcpy(e->ops_ns, e->r.busy_ns, sizeof e->ops_ns);
        e->has_starts = e->has_transfers = e->limits_cpu = true;
        return;
    }
    msr_plain_transfers(step, cross_ns);
    msr_plain_run(step, cross_ns, &m);
    e->r.step_time_ns = rules == EMP_RULES_MSR_LOAD ? m.max_load_ns : m.latency_ns;
    memcpy(e->r.peak_bytes, m.size_bytes, sizeof m.size_bytes);
    for (int32_t op = 0; op < step->op_count; op++)
        e->ops_ns[step->device_of_op[op]] += plain_step_cost_ns(step, op);
    memcpy(e->r.busy_ns, rules == EMP_RULES_MSR_LOAD ? m.load_ns : e->ops_ns,
           sizeof e->r.busy_ns);
}

static void compare(const task *p, emp_sim *sim, uint64_t seed)
{
    const char     *profile = p->problem->runtime.name;
    emp_rules       rules = p->problem->runtime.rules;
    plain_step      step;
    struct told     told;
    struct expected want;
    bool            fits = true;

    plain_step_create(&step, p->problem, p->device_of_op);
    ask_plain(&step, p->problem, &want);
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
        cr_expect_eq(told.busy_ns[d], want.ops_ns[d]);
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

static void compare_random(const char *profile, void (*create)(task *, uint64_t))
{
    emp_runtime runtime = load(profile);

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        OWN_TASK p;
        OWN_SIM  sim = NULL;
        emp_rng  rng;
        create(&p, seed);
        cr_assert_leq(p.graph->op_count, MAX_OPS);
        spread(&p, seed);
        p.problem->runtime = runtime;
        cr_assert_eq(emp_sim_create(&sim, p.problem, NULL), EMP_OK);
        emp_rng_init(&rng, seed, 2, 0);
        for (int i = 0; i < PLACEMENTS; i++) {
            compare(&p, sim, seed);
            random_problem_place(&p, &rng);
        }
    }
}

static void compare_workload(const char *spec)
{
    emp_rng rng;

    emp_rng_init(&rng, 7, 0, 0);
    for (int i = 0; i < PLAIN; i++) {
        OWN_TASK t;
        SCOPED(plain_step, plain_step_destroy) plain;
        static struct expected want;
        task_create(&t, spec, "k40x2", profiles[i]);
        cr_assert_leq(t.graph->op_count, MAX_OPS);
        for (emp_op_id op = 0; op < t.graph->op_count; op++)
            t.device_of_op[op] = (emp_device_id)emp_rng_below(&rng, 3);
        emp_problem_legalize(t.problem, t.device_of_op);
        plain_step_create(&plain, t.problem, t.device_of_op);
        ask_plain(&plain, t.problem, &want);
        emp_sim_result r = task_run(&t);
        cr_expect_eq(r.step_time_ns, want.r.step_time_ns, "%s %s", spec, profiles[i]);
        for (int32_t d = 0; d < t.machine->device_count; d++) {
            cr_expect_eq(r.peak_bytes[d], want.r.peak_bytes[d], "%s %s", spec,
                         profiles[i]);
            cr_expect_eq(r.busy_ns[d], want.r.busy_ns[d], "%s %s", spec, profiles[i]);
        }
    }
}

Test(profiles, are_the_plain_ones_on_workloads)
{
    compare_workload("rnnlm:steps=3");
    compare_workload("nmt:layers=1,steps=2");
}

Test(profiles, are_the_plain_ones)
{
    for (int i = 0; i < PLAIN; i++) {
        compare_random(profiles[i], random_problem_create);
        compare_random(profiles[i], random_problem_create_hosts);
    }
}

enum { STATED_OPS = 20, STATED_EDGES = 40 };

static void create_stated(task *t, emp_rng *rng)
{
    stated_op   ops[STATED_OPS] = {0};
    stated_edge edges[STATED_EDGES];

    for (int32_t op = 0; op < STATED_OPS; op++) {
        ops[op].gpu_us = emp_rng_below(rng, 4);
        ops[op].cpu_us = emp_rng_below(rng, 9);
        ops[op].copy_us = emp_rng_below(rng, 6);
    }
    for (int32_t e = 0; e < STATED_EDGES; e++) {
        int32_t to = 1 + (int32_t)emp_rng_below(rng, STATED_OPS - 1);
        edges[e] = (stated_edge){(int32_t)emp_rng_below(rng, (uint32_t)to), to};
    }
    task_create_stated(t, ops, STATED_OPS, edges, STATED_EDGES, 1, 3, 1 << 20, "edges");
}

Test(profiles, edges_takes_stated_copies_as_the_plain_one_does)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        OWN_TASK t;
        emp_rng  rng;
        emp_rng_init(&rng, seed, 3, 0);
        create_stated(&t, &rng);
        OWN_SIM sim = task_sim(&t);
        for (int i = 0; i < PLACEMENTS; i++) {
            for (int32_t op = 0; op < STATED_OPS; op++)
                t.device_of_op[op] = (emp_device_id)emp_rng_below(&rng, 4);
            compare(&t, sim, seed);
        }
    }
}

enum { BYTES = 256 };

struct verdict_case {
    const char *profile;
    int64_t     memory_bytes, peak_bytes; /* of gpu:0 */
    emp_op_id   op;                       /* -1: it fits */
    emp_time_ns at_ns;
};

/* Op 0 is on the CPU, where it takes 20 ns, the others are on gpu:0, where they take 10;
 * 1 and 2 read 0, 3 reads both. 256 bytes take 34 ns (placeto), 134045 ns (baechi) or 5 + 256 ns
 * (edges).
 * Placeto's ops 1 and 2 start 5710 ns apart and hold their bytes until 1 us before op 3
 * ends, which is before it starts. Baechi's ops 1 and 2 are ready at once, op 3 when they
 * have run. */
static const struct verdict_case verdicts[] = {
    {"placeto", 2 * BYTES, 2 * BYTES, -1, 0},
    {"placeto", 2 * BYTES - 1, 2 * BYTES, 2, 20 + 34 + 5710},
    {"baechi", 3 * BYTES, 3 * BYTES, -1, 0},
    {"baechi", 3 * BYTES - 1, 3 * BYTES, 3, 20 + 134045 + 2 * 10},
    {"baechi", 2 * BYTES - 1, 3 * BYTES, 2, 20 + 134045},
    {"edges", 3 * BYTES, 3 * BYTES, -1, 0},
    {"edges", 3 * BYTES - 1, 3 * BYTES, 3, 20 + 5 + 256 + 2 * 10},
    {"msr-latency", 3 * BYTES, 3 * BYTES, -1, 0},
    {"msr-latency", 3 * BYTES - 1, 3 * BYTES, 3, 0},
    {"msr-load", 3 * BYTES, 3 * BYTES, -1, 0},
    {"msr-load", 2 * BYTES - 1, 3 * BYTES, 2, 0},
};

Test(profiles, name_the_first_op_that_does_not_fit)
{
    static const char ops[] = "0; 1<0; 1<0; 1<1,2";

    for (size_t i = 0; i < COUNT(verdicts); i++) {
        const struct verdict_case *c = &verdicts[i];
        emp_runtime                runtime = load(c->profile);
        OWN_TASK                   t;
        task_create_ops(&t, ops, &runtime);
        t.machine->device[1].memory_bytes = c->memory_bytes;
        emp_sim_result r = task_run(&t);
        cr_expect_eq(r.is_feasible, c->op < 0, "%s", c->profile);
        cr_expect_eq(r.oom_op, c->op, "%s", c->profile);
        cr_expect_eq(r.oom_device, c->op < 0 ? -1 : 1, "%s", c->profile);
        cr_expect_eq(r.oom_bytes, c->op < 0 ? 0 : BYTES, "%s", c->profile);
        cr_expect_eq(r.oom_at_ns, c->at_ns, "%s: %" PRId64, c->profile, r.oom_at_ns);
        cr_expect_eq(r.peak_bytes[1], c->peak_bytes, "%s", c->profile);
        t.problem->runtime.check_memory = false;
        cr_expect(task_run(&t).is_feasible, "%s", c->profile);
    }
}

/* The CPU of the formulas has no limit. A step in which nothing is left takes no time. */
Test(profiles, only_msr_lets_the_cpu_hold_what_it_likes)
{
    static const char ops[] = "0";
    static const char folded[] = "1f";

    for (int i = 0; i < PLAIN; i++) {
        emp_runtime runtime = load(profiles[i]);
        task        t;
        task_create_ops(&t, ops, &runtime);
        t.machine->device[0].memory_bytes = 1;
        cr_expect_eq(task_run(&t).is_feasible, strncmp(profiles[i], "msr", 3) == 0, "%s",
                     profiles[i]);
        task_destroy(&t);
        task_create_ops(&t, folded, &runtime);
        emp_sim_result r = task_run(&t);
        cr_expect(r.step_time_ns == 0 && r.is_feasible, "%s", profiles[i]);
        task_destroy(&t);
    }
}

/* ---- what every simulator must do ---- */

Test(profiles, refuse_what_is_no_placement)
{
    static const char ops[] = "1; 1<0";

    for (int i = 0; i < PROFILES; i++) {
        emp_runtime    runtime = load(profiles[i]);
        OWN_TASK       t;
        emp_sim_result r = {.step_time_ns = -5};
        task_create_ops(&t, ops, &runtime);
        emp_sim *sim = task_sim(&t);
        t.device_of_op[1] = 3;
        EXPECT_REFUSED(emp_sim_run(sim, t.device_of_op, &r, &err), EMP_EINVAL,
                       "op 'op1' is on device 3 of 0..2");
        emp_sim_destroy(sim);
        t.device_of_op[1] = 1;
        t.problem->kinds_of_class[t.graph->op[1].colocation_class] = EMP_KIND_CPU;
        sim = task_sim(&t);
        EXPECT_REFUSED(emp_sim_run_traced(sim, t.device_of_op, NULL, &r, &err),
                       EMP_EINVAL, "op 'op1' cannot run on gpu:0");
        cr_expect_eq(r.step_time_ns, -5, "written on success only");
        emp_sim_destroy(sim);
    }
}

static void expect_unsupported(const task *t, const char *sentence)
{
    emp_sim *sim = NULL;

    EXPECT_REFUSED(emp_sim_create(&sim, t->problem, &err), EMP_EUNSUPPORTED, sentence);
    cr_expect_null(sim);
}

Test(profiles, refuse_sizes_beyond_64_bits)
{
    static const char ops[] = "1; 2<0";

    for (int i = 0; i < PROFILES; i++) {
        emp_runtime runtime = load(profiles[i]);
        for (int which = 0; which < 5; which++) {
            OWN_TASK t;
            task_create_ops(&t, ops, &runtime);
            emp_tensor *tensor = &t.graph->tensor[t.graph->output_offset[0]];
            if (which == 0) tensor->bytes = INT64_MAX;
            if (which == 1) tensor->copy_bytes = INT64_C(1) << 61;
            if (which == 2) t.graph->op[0].persistent_bytes = INT64_MAX;
            if (which == 3) emp_graph_own_cost(t.graph, 1)->workspace_bytes = INT64_MAX;
            if (which == 4) t.problem->costs->gpu[1].compute_ns = EMP_COST_LIMIT_NS;
            expect_unsupported(&t, which < 4 ? "bytes in all" : "ops and transfers of ");
        }
    }
}

/* A rate of \a bytes_per_s, or of Baechi's rules \a byte_s, and more for each transfer. */
static void set_rate(emp_runtime *r, double bytes_per_s, double byte_s, double fixed_s)
{
    if (r->rules == EMP_RULES_PLACETO) {
        r->placeto.bus_bytes_per_s = bytes_per_s;
        r->placeto.bus_gap_s += fixed_s;
    } else if (r->rules == EMP_RULES_BAECHI) {
        r->baechi.byte_s = byte_s;
        r->baechi.transfer_s += fixed_s;
    } else {
        r->msr.host_bytes_per_s = bytes_per_s;
    }
}

Test(profiles, refuse_constants_that_cannot_be)
{
    static const char ops[] = "1; 2<0";

    for (int i = 0; i < PLAIN; i++) {
        emp_runtime runtime = load(profiles[i]);
        bool        is_baechi = runtime.rules == EMP_RULES_BAECHI;
        task        t;
        if (runtime.rules == EMP_RULES_EDGES) continue; /* it has none */
        set_rate(&runtime, 0.5, 1e17, 0.0);
        task_create_ops(&t, ops, &runtime);
        expect_unsupported(&t, is_baechi ? "per_byte is 1e+17 s" : "_rate is 0.5 B/s");
        t.problem->runtime = load(profiles[i]);
        set_rate(&t.problem->runtime, 1.0, 1.0, 1e7);
        t.graph->tensor[0].copy_bytes = INT64_C(2000) * 1000 * 1000;
        expect_unsupported(&t, "ops and transfers of ");
        task_destroy(&t);
    }
    OWN_TASK    t;
    emp_runtime runtime = load("baechi");
    runtime.baechi.byte_s = 0.0;
    runtime.baechi.control_bytes = INT64_MAX;
    task_create_ops(&t, ops, &runtime);
    expect_unsupported(&t, "control_size is 9.22e+18 B");
}

static int32_t create_problem(task *t, uint64_t seed, int32_t i)
{
    random_problem_create(t, seed);
    t->problem->runtime = load(profiles[i < PROFILES ? i : PLAIN]);
    t->problem->runtime.events.bfc_allocator |= i == PROFILES;
    t->problem->runtime.events.caching_allocator |= i == PROFILES + 1;
    return PROFILES + 2;
}

Test(profiles, create_survives_every_allocation_failure)
{
    for (int32_t i = 0, count = 1; i < count; i++) {
        OWN_TASK t;
        OWN_SIM  sim = NULL;
        count = create_problem(&t, 7, i);
        SURVIVES_EVERY_ALLOCATION_FAILURE(emp_sim_create(&sim, t.problem, NULL),
                                          cr_assert_null(sim));
    }
}

Test(profiles, a_run_allocates_nothing)
{
    for (int32_t i = 0, count = 1; i < count; i++) {
        OWN_TASK       t;
        emp_sim_result result;
        count = create_problem(&t, 11, i);
        OWN_SIM sim = task_sim(&t);
        emp_mem_fail_after(0);
        cr_expect_eq(emp_sim_run(sim, t.device_of_op, &result, NULL), EMP_OK);
        ASSERT_OK(emp_sim_run_traced(sim, t.device_of_op, NULL, &result, NULL));
        emp_mem_fail_after(-1);
    }
}

Test(profiles, leave_the_rules_of_events_to_the_engine)
{
    OWN_TASK       r;
    emp_rules_sim *sim = NULL;

    random_problem_create(&r, 1);
    EXPECT_REFUSED(emp_rules_sim_create(&sim, r.problem, &err), EMP_EINVAL, "\"events\"");
    cr_expect_null(sim);
}
