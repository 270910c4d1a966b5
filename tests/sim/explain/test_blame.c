// SPDX-License-Identifier: GPL-3.0-or-later
/* Is blame what a second, plain count over the explained path gives, and what can be found by
 * hand? Do the times of ops, types and scopes add up, and is each op in the scope of its name? */
#include "tests/sim/engine/random_problem.h"
#include "tests/support/problems.h"
#include "tests/support/survive.h"

enum { SEEDS = 100 };

TestSuite(blame, .fini = expect_all_freed);

/* The caller frees it. \a levels: NULL = first come, first served. */
static double *blame_by(const task *t, const uint8_t *levels)
{
    double *blame_s = calloc((size_t)t->graph->op_count, sizeof *blame_s);
    OWN_SIM sim = task_sim(t);

    ASSERT_OK(emp_explain_blame(
        blame_s, t->problem, sim,
        &(emp_decision){.device_of_op = t->device_of_op, .level_of_op = levels}, &err));
    return blame_s;
}

static double *blame(const task *t) { return blame_by(t, NULL); }

/* ---- a second count ---- */

struct count {
    const emp_explanation *why;
    double                *blame_s;
    unsigned char         *runs; /* [op][ns] whether it does, on any of its lanes */
};

static unsigned char *runs_of(const struct count *c, emp_op_id op)
{
    return c->runs + (size_t)op * (size_t)c->why->result.step_time_ns;
}

static void on_op(void *context, emp_op_id op, emp_device_id device, int32_t lane,
                  emp_time_ns start_ns, emp_time_ns end_ns)
{
    (void)device;
    (void)lane;
    memset(runs_of(context, op) + start_ns, 1, (size_t)(end_ns - start_ns));
}

/* Each op that runs while its device is waited for: half of the time. */
static void count_waits(struct count *c, const task *r)
{
    for (int32_t i = 0; i < c->why->segment_count; i++) {
        const emp_explain_segment *s = &c->why->segment[i];
        for (emp_op_id op = 0; op < r->graph->op_count; op++)
            for (emp_time_ns t = s->start_ns; t < s->end_ns; t++)
                if (s->busy == r->device_of_op[op] && runs_of(c, op)[t])
                    c->blame_s[op] += 0.5e-9;
    }
}

/* The op with which the path goes on behind segment \a i; -1 = none. */
static emp_op_id op_behind(const emp_explanation *why, int32_t i)
{
    while (++i < why->segment_count)
        if (why->segment[i].to < 0) return why->segment[i].op;
    return -1;
}

static void count_segments(struct count *c)
{
    for (int32_t i = 0; i < c->why->segment_count; i++) {
        const emp_explain_segment *s = &c->why->segment[i];
        double                     time_s = (double)(s->end_ns - s->start_ns) * 1e-9;
        if (s->op < 0) continue;
        if (s->busy >= 0 || s->to >= 0) time_s /= 2;
        c->blame_s[s->op] += time_s;
        if (s->busy < 0 && s->to >= 0 && op_behind(c->why, i) >= 0)
            c->blame_s[op_behind(c->why, i)] += time_s;
    }
}

static void expect_second_count(const task *r, uint64_t seed)
{
    size_t           op_count = (size_t)r->graph->op_count;
    OWN_FREE double *got = blame(r);
    OWN_EXPLANATION  why = task_explain(r);
    struct count     c = {.why = why, .blame_s = calloc(op_count, sizeof *c.blame_s)};
    emp_sim_trace    trace = {.context = &c, .op = on_op};

    c.runs = calloc(op_count, (size_t)why->result.step_time_ns);
    task_trace(r, &trace);
    count_segments(&c);
    count_waits(&c, r);
    for (size_t op = 0; op < op_count; op++)
        cr_assert_float_eq(got[op], c.blame_s[op], 1e-12, "seed %" PRIu64 ", op %zu: %g",
                           seed, op, got[op]);
    free(c.blame_s);
    free(c.runs);
}

Test(blame, equals_a_second_count_on_random_problems)
{
    for (uint64_t seed = 2; seed <= 2 * SEEDS + 1; seed++) {
        OWN_TASK r;
        (seed % 2 == 0 ? random_problem_create : random_problem_create_hosts)(&r,
                                                                              seed / 2);
        expect_second_count(&r, seed / 2);
    }
}

enum { GPU = 10, COPY = 5 + 256 };

static void expect_blame(const char *ops, const double *want_ns)
{
    emp_runtime runtime = tiny_list_scheduling();
    OWN_TASK    t;

    task_create_ops(&t, ops, &runtime);
    OWN_FREE double *got = blame(&t);
    for (int i = 0; i < t.graph->op_count; i++)
        cr_expect_float_eq(got[i] * 1e9, want_ns[i], 1e-6, "op %d: %g ns", i,
                           got[i] * 1e9);
}

Test(blame, is_shared_by_those_who_wait_and_whom_they_wait_for)
{
    const char beside[] = "1*3; 2";
    const char queue[] = "1*4; 1";
    const char copy[] = "1; 2<0";

    expect_blame(beside, (double[]){3 * GPU, 0}); /* nothing beside the path */
    /* the second op waits for the first for as long as that runs; then it runs */
    expect_blame(queue, (double[]){4 * GPU / 2.0, 4 * GPU / 2.0 + GPU});
    expect_blame(copy, (double[]){GPU + COPY / 2.0, GPU + COPY / 2.0});
}

/* The level lets the short op go first, whose copy the step ends with: the long one, first come, runs beside it. */
Test(blame, is_of_the_step_in_the_order_that_is_decided)
{
    static const uint8_t levels[] = {1, 0, 0};
    const double         want_ns[] = {0, GPU + COPY / 2.0, GPU + COPY / 2.0};
    emp_runtime          runtime = tiny_list_scheduling();
    OWN_TASK             t;

    task_create_ops(&t, "1*3; 1; 2<1", &runtime);
    OWN_FREE double *got = blame_by(&t, levels);
    for (int i = 0; i < t.graph->op_count; i++)
        cr_expect_float_eq(got[i] * 1e9, want_ns[i], 1e-6, "op %d: %g ns", i,
                           got[i] * 1e9);
}

static void note_end(void *context, emp_op_id op, emp_device_id device, int32_t lane,
                     emp_time_ns start_ns, emp_time_ns end_ns)
{
    double *end = context;

    (void)device, (void)lane, (void)start_ns;
    if ((double)end_ns > end[op]) end[op] = (double)end_ns;
}

/* The ends that a trace tells, over the step time; and blame is no other. */
Test(blame, ends_are_shares_of_the_step)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        OWN_TASK    r;
        emp_blamer *blamer = NULL;

        random_problem_create(&r, seed);
        const size_t ops = (size_t)r.graph->op_count;
        double *end = calloc(ops, sizeof *end), *found = calloc(2 * ops, sizeof *end);
        OWN_FREE double *alone = blame(&r);
        emp_sim_trace    trace = {.context = end, .op = note_end};
        emp_sim_result   result = task_trace(&r, &trace);
        OWN_SIM          sim = task_sim(&r);
        ASSERT_OK(emp_blamer_create(&blamer, r.problem, sim, &err));
        for (int run = 0; run < 2; run++) /* the second in the arrays of the first */
            ASSERT_OK(emp_blamer_run(blamer, found, found + ops,
                                     &(emp_decision){.device_of_op = r.device_of_op},
                                     &err));
        emp_blamer_destroy(blamer);
        for (size_t op = 0; op < ops; op++)
            cr_assert_eq(found[ops + op], end[op] / (double)result.step_time_ns);
        cr_assert_eq(memcmp(found, alone, ops * sizeof *alone), 0);
        free(end);
        free(found);
    }
}

Test(blame, survives_allocation_failures_and_refuses_other_rules)
{
    OWN_TASK r;

    random_problem_create(&r, 7);
    OWN_FREE double   *blame_s = calloc((size_t)r.graph->op_count, sizeof *blame_s);
    emp_sim           *sim = task_sim(&r);
    const emp_decision d = {.device_of_op = r.device_of_op};
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_explain_blame(blame_s, r.problem, sim, &d, NULL), );
    emp_sim_destroy(sim);
    ASSERT_OK(emp_runtime_init(&r.problem->runtime, "msr-load", &err));
    sim = task_sim(&r);
    EXPECT_REFUSED(emp_explain_blame(blame_s, r.problem, sim, &d, &err), EMP_EUNSUPPORTED,
                   "\"msr-load\"");
    emp_sim_destroy(sim);
}

/* ---- tallies ---- */

enum { TALLIES = 300, GPU_NS = 10, ISSUE = 3 };

TestSuite(tally, .fini = expect_all_freed);

static void expect_top(const emp_explain_device *device, const emp_explain_top *top,
                       uint64_t seed)
{
    emp_time_ns time = 0;
    int32_t     count = 0;

    for (int32_t i = 0; i < top->count; i++) {
        time += top->share[i].time_ns;
        count += top->share[i].op_count;
        if (i > 0) cr_expect_leq(top->share[i].time_ns, top->share[i - 1].time_ns);
    }
    cr_expect_leq(time, device->ops.time_ns, SEED);
    if (top->count == EMP_EXPLAIN_TOP) return;
    cr_expect_eq(time, device->ops.time_ns, SEED);
    cr_expect_eq(count, device->ops.op_count, SEED);
}

Test(tally, adds_up_on_random_problems)
{
    for (uint64_t seed = 0; seed < TALLIES; seed++) {
        OWN_TASK r;
        random_problem_create(&r, seed);
        OWN_EXPLANATION why = task_explain(&r);
        for (int32_t d = 0; d < why->result.device_count; d++) {
            const emp_explain_device *device = &why->device[d];
            if (r.machine->device[d].kind == EMP_DEVICE_GPU)
                cr_expect_eq(device->ops.time_ns, why->result.busy_ns[d],
                             SEED_AND(", device %d"), d);
            expect_top(device, &device->types, seed);
            expect_top(device, &device->scopes, seed);
            expect_top(device, &device->longest, seed);
            cr_expect_leq(device->launch_bound.time_ns, device->ops.time_ns);
            cr_expect_leq(device->issue_ns, why->result.step_time_ns);
        }
    }
}

/* A problem of serial issue with these names. */
static void create_named(task *t, const char *ops, const char *const *names)
{
    emp_runtime runtime = tiny_serial();

    task_create_ops(t, ops, &runtime);
    for (int i = 0; i < t->graph->op_count; i++) t->graph->name[i] = names[i];
}

static void expect_scope(const emp_explanation *why, const emp_explain_share *share,
                         const char *name, emp_time_ns time, int32_t count)
{
    const emp_scope *scope = &why->scopes.scope[share->id];

    cr_expect(strlen(name) == (size_t)scope->length &&
                  memcmp(name, scope->name, strlen(name)) == 0,
              "%.*s is not %s", scope->length, scope->name, name);
    cr_expect_eq(share->time_ns, time, "%s: %" PRId64 " ns", name, share->time_ns);
    cr_expect_eq(share->op_count, count, "%s", name);
}

/* "a" has 7 of 9 parts of the time and branches, so its parts are listed; "a/c/only" does not,
 * and is listed as "a/c". */
Test(tally, big_scopes_are_told_by_their_parts)
{
    static const char        ops[] = "1*4; 1*2; 1; 1; 1; 2";
    static const char *const names[] = {
        "a/c/only/x", "gradients/a/d/y_grad/z", "a/w", "b/v", "u", "far"};
    OWN_TASK t;

    create_named(&t, ops, names);
    OWN_EXPLANATION           why = task_explain(&t);
    const emp_explain_device *device = &why->device[1];
    const emp_explain_top    *top = &device->scopes;
    cr_assert_eq(top->count, 5);
    expect_scope(why, &top->share[0], "a/c", 4 * GPU_NS, 1);
    expect_scope(why, &top->share[1], "a/d", 2 * GPU_NS, 1);
    expect_scope(why, &top->share[2], "", GPU_NS, 1);
    expect_scope(why, &top->share[3], "a", GPU_NS, 1);
    expect_scope(why, &top->share[4], "b", GPU_NS, 1);
    cr_expect_eq(device->longest.share[0].id, 0);
    cr_expect_eq(device->types.share[0].op_count, 5);
    cr_expect_eq(device->issue_ns, 5 * ISSUE);
    cr_expect_eq(device->launch_bound.op_count, 0);
    cr_expect_eq(why->device[0].ops.op_count, 0);
}

Test(tally, ops_that_are_issued_for_longer_than_they_run_are_counted)
{
    static const char ops[] = "1; 1; 1k";
    emp_runtime       runtime = tiny_serial();
    OWN_TASK          t;

    task_create_ops(&t, ops, &runtime);
    t.problem->costs->gpu[1].compute_ns = ISSUE - 1;
    OWN_EXPLANATION why = task_explain(&t);
    cr_expect_eq(why->device[1].launch_bound.op_count, 1);
    cr_expect_eq(why->device[1].launch_bound.time_ns, ISSUE - 1);
    cr_expect_eq(why->device[1].ops.op_count, 2, "an op of no time is none");
}

Test(scopes, ops_are_in_the_scopes_of_their_names)
{
    static const char        ops[] = "1; 1; 1; 1f";
    static const char *const names[] = {"a/b/x", "gradients/a/b/x_1_grad/MatMul", "ab/y",
                                        "a/b/c/z"};
    OWN_TASK                 t;
    emp_scopes               s = {0};

    create_named(&t, ops, names);
    cr_assert_eq(emp_scopes_init(&s, t.graph, NULL), EMP_OK);
    cr_assert_eq(s.count, 4, "the root, a, a/b, ab");
    cr_expect_eq(s.of_op[0], s.of_op[1], "a gradient is with what it differentiates");
    cr_expect_neq(s.of_op[0], s.of_op[2]);
    cr_expect_eq(s.of_op[3], -1, "folded");
    cr_expect_eq(s.scope[0].op_count, 3);
    cr_expect_eq(s.scope[s.of_op[0]].op_count, 2);
    cr_expect(emp_scopes_is_in(&s, s.of_op[0], s.scope[s.of_op[0]].parent));
    cr_expect_not(emp_scopes_is_in(&s, s.of_op[2], s.of_op[0]));
    emp_scopes_clear(&s);
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_scopes_init(&s, t.graph, NULL),
                                      emp_scopes_clear(&s));
    emp_scopes_clear(&s);
}
