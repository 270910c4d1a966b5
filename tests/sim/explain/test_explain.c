// SPDX-License-Identifier: GPL-3.0-or-later
/* Do explanations add up to the step time and to the peaks, exactly, and are the causes
 * those that one finds by hand?
 * Is the bottleneck the kind and the device that the critical path spends most time on? */
#include "sim/explain/explain.h"
#include "sim/explain/explain_internal.h"
#include "tests/sim/engine/random_problem.h"
#include "tests/support/problems.h"
#include "tests/support/survive.h"

enum { SEEDS = 1000, MOST_OPS = 64 };

TestSuite(explain, .fini = expect_all_freed);

/* The trace's times of ops and copies, as a second witness. */
struct witness {
    emp_time_ns start_ns[MOST_OPS], end_ns[MOST_OPS];
    int32_t     transfers;
};

static void see_op(void *context, emp_op_id op, emp_device_id device, int32_t lane,
                   emp_time_ns start, emp_time_ns end)
{
    struct witness *w = context;

    (void)device;
    (void)lane;
    if (w->start_ns[op] < 0 || start < w->start_ns[op]) w->start_ns[op] = start;
    if (end > w->end_ns[op]) w->end_ns[op] = end;
}

static emp_sim_result run_traced(const task *r, struct witness *w)
{
    emp_sim_trace trace = {.context = w, .op = see_op};

    memset(w, -1, sizeof *w);
    return task_trace(r, &trace);
}

static void expect_path(const emp_explanation *why, const task *r,
                        const struct witness *w, uint64_t seed)
{
    emp_time_ns at = 0, sum[EMP_CAUSE_COUNT] = {0}, total = 0;

    for (int32_t i = 0; i < why->segment_count; i++) {
        const emp_explain_segment *s = &why->segment[i];
        cr_assert_eq(s->start_ns, at, "seed %" PRIu64 ": segment %d has a gap", seed, i);
        cr_assert_gt(s->end_ns, s->start_ns, SEED);
        at = s->end_ns;
        sum[s->cause] += s->end_ns - s->start_ns;
        cr_expect_eq(s->busy >= 0, s->cause == EMP_CAUSE_GPU_WAIT ||
                                       s->cause == EMP_CAUSE_CPU_WAIT ||
                                       s->cause == EMP_CAUSE_COPY_COMPUTE_WAIT);
        if (s->cause == EMP_CAUSE_GPU_OP) {
            cr_expect_eq(s->start_ns, w->start_ns[s->op], SEED);
            cr_expect_eq(s->end_ns, w->end_ns[s->op], SEED);
        } else if (s->cause == EMP_CAUSE_CPU_OP) {
            cr_expect_geq(s->start_ns, w->start_ns[s->op], SEED);
            cr_expect_leq(s->end_ns, w->end_ns[s->op], SEED);
        }
    }
    cr_expect_eq(at, why->result.step_time_ns, SEED);
    for (int c = 0; c < EMP_CAUSE_COUNT; c++) {
        cr_expect_eq(why->cause_ns[c], sum[c], "seed %" PRIu64 ", %s", seed,
                     emp_explain_cause_key((emp_explain_cause)c));
        total += why->cause_ns[c];
    }
    cr_expect_eq(total, why->result.step_time_ns, SEED);
    if (!r->problem->runtime.events.shared_links)
        cr_expect_eq(why->cause_ns[EMP_CAUSE_LINK_WAIT], 0, SEED);
    if (!r->problem->runtime.events.control_latency)
        cr_expect_eq(why->cause_ns[EMP_CAUSE_MESSAGE], 0, SEED);
}

/* A GPU that is waited for is busy all the while. */
static void expect_worst(const emp_explanation *why, uint64_t seed)
{
    for (int32_t i = 0; i < why->worst_count; i++) {
        const emp_explain_item    *item = &why->worst[i];
        const emp_explain_segment *s = &why->segment[item->segment];
        if (s->cause == EMP_CAUSE_GPU_WAIT || s->cause == EMP_CAUSE_COPY_COMPUTE_WAIT) {
            cr_expect_eq(item->behind.time_ns, s->end_ns - s->start_ns, SEED);
        } else if (s->busy < 0) {
            cr_expect_eq(item->behind.op_count, 0);
        }
    }
}

static void expect_idle(const emp_explanation *why, const task *r, uint64_t seed)
{
    for (int32_t d = 0; d < why->result.device_count; d++) {
        emp_time_ns total = why->device[d].busy_ns;
        for (int i = 0; i < EMP_IDLE_COUNT; i++) {
            cr_expect_geq(why->device[d].idle_ns[i], 0, SEED);
            total += why->device[d].idle_ns[i];
        }
        cr_expect_eq(total, why->result.step_time_ns, SEED_AND(", device %d"), d);
        bool is_gpu = r->machine->device[d].kind == EMP_DEVICE_GPU;
        if (is_gpu || !r->problem->runtime.events.cpu_pool) {
            cr_expect_eq(why->device[d].busy_ns, why->result.busy_ns[d],
                         SEED_AND(", device %d"), d);
        } else {
            cr_expect_geq(why->device[d].busy_ns, why->result.busy_ns[d]);
        }
    }
}

static void expect_sums(const emp_explain_memory *m, uint64_t seed)
{
    int64_t bytes = m->rest_bytes, by_kind = 0;
    int32_t count = 0;

    for (int32_t i = 0; i < m->largest_count; i++) {
        bytes += m->largest[i].bytes;
        if (i > 0) cr_expect_leq(m->largest[i].bytes, m->largest[i - 1].bytes);
    }
    for (int k = 0; k < EMP_HELD_COUNT; k++) {
        by_kind += m->kind_bytes[k];
        count += m->kind_count[k];
    }
    cr_expect_eq(bytes, m->held_bytes, SEED);
    cr_expect_eq(by_kind, m->held_bytes, SEED);
    cr_expect_eq(count, m->count, SEED);
    cr_expect(m->count == m->largest_count || m->largest_count == EMP_EXPLAIN_LARGEST);
}

static void expect_memory(const emp_explanation *why, const task *r, uint64_t seed)
{
    const emp_sim_result *result = &why->result;

    for (int32_t d = 0; d < result->device_count; d++) {
        const emp_explain_memory *peak = &why->device[d].peak;
        cr_expect_eq(peak->device, result->peak_bytes[d] > 0 ? d : -1);
        cr_expect_eq(peak->bytes, result->peak_bytes[d], SEED_AND(", device %d"), d);
        expect_sums(peak, seed);
        bool is_cpu = r->machine->device[d].kind == EMP_DEVICE_CPU;
        if (!r->problem->runtime.events.bfc_allocator || is_cpu) {
            cr_expect_eq(peak->held_bytes, peak->bytes, SEED);
        } else if (result->is_feasible) {
            cr_expect_leq(peak->held_bytes, peak->bytes, SEED);
        }
    }
    cr_expect_eq(why->oom.device, result->oom_device, SEED);
    if (result->oom_device < 0) return;
    int64_t limit = r->machine->device[result->oom_device].memory_bytes;
    cr_expect_eq(why->oom.at_ns, result->oom_at_ns, SEED);
    if (!r->problem->runtime.events.bfc_allocator)
        cr_expect_gt(why->oom.bytes, limit, SEED);
    cr_expect_leq(why->oom.bytes - result->oom_bytes, limit, SEED);
    expect_sums(&why->oom, seed);
}

static void expect_sums_on_random_problems(void (*create)(task *, uint64_t))
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        OWN_TASK       r;
        struct witness w;
        create(&r, seed);
        r.problem->runtime.events.bfc_allocator = seed % 4 == 3;
        emp_sim_result  result = run_traced(&r, &w);
        OWN_EXPLANATION why = task_explain(&r);
        cr_expect_eq(why->result.fingerprint, result.fingerprint, SEED);
        expect_path(why, &r, &w, seed);
        expect_worst(why, seed);
        expect_idle(why, &r, seed);
        expect_memory(why, &r, seed);
    }
}

Test(explain, everything_adds_up_on_random_problems)
{
    expect_sums_on_random_problems(random_problem_create);
    expect_sums_on_random_problems(random_problem_create_hosts);
}

Test(explain, create_survives_every_allocation_failure)
{
    OWN_TASK        r;
    OWN_EXPLANATION why = NULL;

    random_problem_create(&r, 7);
    const emp_decision d = {.device_of_op = r.device_of_op};
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_explain_create(&why, r.problem, &d, NULL),
                                      cr_assert_null(why));
    emp_explain_destroy(why);
    why = NULL;
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_explain_create_memory(&why, r.problem, &d, NULL), cr_assert_null(why));
}

static void expect_same_memory(const emp_explain_memory *a, const emp_explain_memory *b,
                               uint64_t seed)
{
    cr_expect_eq(a->device, b->device, SEED);
    cr_expect_eq(a->at_ns, b->at_ns, SEED);
    cr_expect_eq(a->bytes, b->bytes, SEED);
    cr_expect_eq(a->held_bytes, b->held_bytes, SEED);
    cr_expect_eq(a->rest_bytes, b->rest_bytes, SEED);
    cr_expect_eq(memcmp(a->kind_bytes, b->kind_bytes, sizeof a->kind_bytes), 0, SEED);
    cr_assert_eq(a->largest_count, b->largest_count, SEED);
    for (int32_t i = 0; i < a->largest_count; i++) {
        cr_expect_eq(a->largest[i].bytes, b->largest[i].bytes, SEED);
        cr_expect_eq(a->largest[i].op, b->largest[i].op, SEED);
    }
}

Test(explain, memory_alone_is_as_in_the_whole_explanation)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        OWN_TASK        r;
        OWN_EXPLANATION whole = NULL;
        OWN_EXPLANATION memory = NULL;
        random_problem_create(&r, seed);
        const emp_decision d = {.device_of_op = r.device_of_op};
        ASSERT_OK(emp_explain_create(&whole, r.problem, &d, &err));
        ASSERT_OK(emp_explain_create_memory(&memory, r.problem, &d, &err));
        cr_expect_eq(memory->result.step_time_ns, whole->result.step_time_ns);
        expect_same_memory(&memory->oom, &whole->oom, seed);
        for (int32_t i = 0; i < r.problem->machine->device_count; i++)
            expect_same_memory(&memory->device[i].peak, &whole->device[i].peak, seed);
    }
}

/* Rules that do not tell when ops are ready leave holes; in the first, all is one. */
Test(explain, what_has_holes_is_refused)
{
    OWN_TASK             r;
    emp_explanation      holes = {.segment = NULL}, *why = NULL;
    emp_explain_schedule s = {.result = {.step_time_ns = 5}};

    random_problem_create(&r, 7);
    const emp_decision d = {.device_of_op = r.device_of_op};
    s.problem = r.problem;
    EXPECT_REFUSED(emp_explain_find_path(&holes, &s, &err), EMP_EUNSUPPORTED, "event");
    ASSERT_OK(emp_runtime_init(&r.problem->runtime, "msr-load", &err));
    EXPECT_REFUSED(emp_explain_create(&why, r.problem, &d, &err), EMP_EUNSUPPORTED,
                   "\"msr-load\"");
    EXPECT_REFUSED(emp_explain_create_memory(&why, r.problem, &d, &err), EMP_EUNSUPPORTED,
                   "\"msr-load\"");
    cr_expect_null(why);
}

/* ---- by hand ---- */

enum {
    GPU = 10,
    CPU = 20,
    COPY = 5 + 256,
    ISSUE = 3,
    SEND = 2,
    RECEIVE = 4,
    POLL = 7,
    MESSAGE = 5,
    STEP = 100
};

struct hand_case {
    const char *what;
    bool        is_serial; /* else list scheduling */
    const char *ops;
    emp_time_ns cause_ns[EMP_CAUSE_COUNT];
    int         device; /* whose idle time is given */
    emp_time_ns idle_ns[EMP_IDLE_COUNT];
};

#define ON(d)       .device = (d)
#define FROM1(a)    .input_count = 1, .input = {a}
#define FROM2(a, b) .input_count = 2, .input = {a, b}
#define CAUSE(name) [EMP_CAUSE_##name]
#define IDLE(name)  [EMP_IDLE_##name]

/* clang-format off */
static const struct hand_case hand_cases[] = {
    {"a kernel on the same GPU waits for its input, not for the stream",
     true, "1; 1<0",
     {CAUSE(ISSUE) = ISSUE, CAUSE(GPU_OP) = GPU + GPU, CAUSE(STEP) = STEP},
     1, {IDLE(ISSUE) = ISSUE, IDLE(STEP) = STEP}},
    {"nor does an op without kernels between them hide that",
     true, "1; 1<0k; 1<1",
     {CAUSE(ISSUE) = ISSUE, CAUSE(GPU_OP) = GPU + GPU, CAUSE(STEP) = STEP},
     1, {IDLE(ISSUE) = ISSUE, IDLE(STEP) = STEP}},
    {"two kernels: the second waits for the host thread, then for the stream",
     true, "1; 1",
     {CAUSE(HOST_WAIT) = ISSUE, CAUSE(ISSUE) = ISSUE, CAUSE(GPU_WAIT) = GPU - ISSUE,
      CAUSE(GPU_OP) = GPU, CAUSE(STEP) = STEP},
     1, {IDLE(ISSUE) = ISSUE, IDLE(STEP) = STEP}},
    {"across GPUs: the send is hidden by the kernel",
     true, "1; 2<0",
     {CAUSE(ISSUE) = ISSUE + ISSUE, CAUSE(GPU_OP) = GPU + GPU, CAUSE(TRANSFER) = COPY,
      CAUSE(POLL) = POLL, CAUSE(RECEIVE) = RECEIVE, CAUSE(STEP) = STEP},
     2, {IDLE(TRANSFER) = COPY + POLL + RECEIVE, IDLE(OTHER_DEVICE) = GPU,
         IDLE(ISSUE) = ISSUE + ISSUE, IDLE(STEP) = STEP}},
    {"a copy of what no kernel makes waits for its send",
     true, "1k; 2<0",
     {CAUSE(ISSUE) = ISSUE + ISSUE, CAUSE(SEND) = SEND, CAUSE(GPU_OP) = GPU,
      CAUSE(TRANSFER) = COPY, CAUSE(POLL) = POLL, CAUSE(RECEIVE) = RECEIVE,
      CAUSE(STEP) = STEP},
     2, {IDLE(TRANSFER) = SEND + COPY + POLL + RECEIVE, IDLE(ISSUE) = ISSUE + ISSUE,
         IDLE(STEP) = STEP}},
    {"a copy waits for compute that is queued behind its producer",
     true, "1; 1*5; 2<0",
     {CAUSE(ISSUE) = ISSUE + ISSUE, CAUSE(GPU_OP) = GPU + GPU,
      CAUSE(COPY_COMPUTE_WAIT) = 5 * GPU, CAUSE(TRANSFER) = COPY, CAUSE(POLL) = POLL,
      CAUSE(RECEIVE) = RECEIVE, CAUSE(STEP) = STEP},
     2, {IDLE(TRANSFER) = COPY + POLL + RECEIVE, IDLE(OTHER_DEVICE) = GPU + 5 * GPU,
         IDLE(ISSUE) = ISSUE + ISSUE, IDLE(STEP) = STEP}},
    {"the second copy waits for the stream of the first",
     false, "1; 1; 2<0,1",
     {CAUSE(GPU_WAIT) = GPU, CAUSE(GPU_OP) = GPU + GPU,
      CAUSE(COPY_STREAM_WAIT) = COPY - GPU, CAUSE(TRANSFER) = COPY},
     2, {IDLE(TRANSFER) = COPY - GPU + COPY, IDLE(OTHER_DEVICE) = GPU + GPU}},
    {"a copy of another stream waits for the link they share",
     false, "0; 2; 1<0,1",
     {CAUSE(CPU_OP) = CPU, CAUSE(LINK_WAIT) = GPU + COPY - CPU, CAUSE(TRANSFER) = COPY,
      CAUSE(GPU_OP) = GPU},
     1, {IDLE(CPU) = CPU, IDLE(TRANSFER) = GPU + COPY - CPU + COPY}},
    {"a control edge is a message",
     true, "1; 2!0",
     {CAUSE(ISSUE) = ISSUE + ISSUE, CAUSE(MESSAGE) = MESSAGE, CAUSE(GPU_OP) = GPU,
      CAUSE(STEP) = STEP},
     2, {IDLE(ISSUE) = ISSUE + ISSUE, IDLE(MESSAGE) = MESSAGE, IDLE(STEP) = STEP}},
    {"a CPU op waits for the cores that an earlier one has cut itself for",
     true, "0|4; 0",
     {CAUSE(CPU_WAIT) = 2 * 4 * CPU / 8, CAUSE(CPU_OP) = CPU, CAUSE(STEP) = STEP},
     0, {IDLE(STEP) = STEP}},
    {"a device without ops has nothing to do",
     false, "1", {CAUSE(GPU_OP) = GPU}, 2, {IDLE(NOTHING_LEFT) = GPU}},
};
/* clang-format on */

Test(explain, causes_are_those_found_by_hand)
{
    for (size_t i = 0; i < COUNT(hand_cases); i++) {
        const struct hand_case *c = &hand_cases[i];
        emp_runtime runtime = c->is_serial ? tiny_serial() : tiny_list_scheduling();
        OWN_TASK    t;
        task_create_ops(&t, c->ops, &runtime);
        OWN_EXPLANATION why = task_explain(&t);
        for (int k = 0; k < EMP_CAUSE_COUNT; k++)
            cr_expect_eq(why->cause_ns[k], c->cause_ns[k], "%s: %s %" PRId64 " ns",
                         c->what, emp_explain_cause_key((emp_explain_cause)k),
                         why->cause_ns[k]);
        for (int k = 0; k < EMP_IDLE_COUNT; k++)
            cr_expect_eq(why->device[c->device].idle_ns[k], c->idle_ns[k],
                         "%s: idle for %s %" PRId64 " ns", c->what,
                         emp_explain_idle_key((emp_explain_idle)k),
                         why->device[c->device].idle_ns[k]);
    }
}

Test(explain, pieces_are_named_and_ordered)
{
    static const char ops[] = "1; 1*5; 2<0";
    emp_runtime       runtime = tiny_serial();
    OWN_TASK          t;

    task_create_ops(&t, ops, &runtime);
    OWN_EXPLANATION why = task_explain(&t);
    cr_assert_geq(why->worst_count, 3);
    const emp_explain_segment *s = &why->segment[why->worst[0].segment];
    cr_expect_eq(s->cause, EMP_CAUSE_TRANSFER);
    cr_expect(s->op == 0 && s->tensor == 0 && s->device == 1 && s->to == 2);
    cr_expect_eq(why->segment[why->worst[1].segment].cause, EMP_CAUSE_STEP);
    cr_expect_eq(why->segment[why->worst[1].segment].op, -1);
    cr_expect_eq(why->segment[why->worst[2].segment].cause, EMP_CAUSE_COPY_COMPUTE_WAIT);
    cr_expect_eq(why->segment[why->worst[2].segment].busy, 1);
    cr_expect_eq(why->worst[2].behind.op_count, 1);
    cr_expect_eq(why->worst[2].behind.time_ns, 5 * GPU);
    cr_expect_eq(why->worst[2].behind.type_ns, 5 * GPU);
    cr_expect_eq(why->worst[0].behind.op_count, 0);
}

Test(explain, memory_is_named_at_the_peak_and_at_the_verdict)
{
    static const char ops[] = "1v; 1<0; 2<1";
    emp_runtime       runtime = tiny_serial();
    OWN_TASK          t;

    task_create_ops(&t, ops, &runtime);
    t.machine->device[1].memory_bytes = 300; /* the variable fits, no more */
    OWN_EXPLANATION           why = task_explain(&t);
    const emp_explain_memory *m = &why->device[1].peak;
    cr_assert_eq(m->count, 2);
    cr_expect_eq(m->bytes, 256 + 256);
    cr_expect(m->largest[0].kind == EMP_HELD_PERSISTENT && m->largest[0].op == 0);
    cr_expect(m->largest[1].kind == EMP_HELD_ACTIVATION && m->largest[1].op == 1);
    m = &why->device[2].peak;
    cr_assert_eq(m->count, 2);
    cr_expect(m->largest[0].kind == EMP_HELD_ACTIVATION && m->largest[0].op == 2);
    cr_expect(m->largest[1].kind == EMP_HELD_COPY && m->largest[1].op == 1);
    cr_expect_eq(why->oom.device, 1);
    cr_expect_eq(why->oom.at_ns, ISSUE + ISSUE, "when op 1 is issued");
    cr_expect_eq(why->oom.bytes, 256 + 256);
}

enum { MOST_SEGMENTS = 6 };

/* ---- by hand ---- */

#define KIND(name) .cause = EMP_CAUSE_##name

struct bottleneck_case {
    const char         *what;
    int32_t             count;
    emp_explain_segment segment[MOST_SEGMENTS]; /* end_ns: how long it takes */
    emp_bottleneck      expected;
};

/* clang-format off */
static const struct bottleneck_case bottleneck_cases[] = {
    {"ops, and waits of ops and copies for their device, are compute", 5,
     {{KIND(CPU_OP), .end_ns = 30, .device = 0, .to = -1, .busy = -1},
      {KIND(GPU_OP), .end_ns = 20, .device = 1, .to = -1, .busy = -1},
      {KIND(GPU_WAIT), .end_ns = 5, .device = 1, .to = -1, .busy = 1},
      {KIND(COPY_COMPUTE_WAIT), .end_ns = 10, .device = 2, .to = 1, .busy = 1},
      {KIND(TRANSFER), .end_ns = 60, .tensor = 0, .device = 2, .to = 1, .busy = -1}},
     {EMP_BOTTLENECK_COMPUTE, 65, 1, -1, 35}},
    {"a host thread is waited for at the end where the copy is", 6,
     {{KIND(ISSUE), .end_ns = 7, .tensor = -1, .device = 1, .to = -1, .busy = -1},
      {KIND(HOST_WAIT), .end_ns = 4, .tensor = 0, .device = 1, .to = 2, .busy = -1},
      {KIND(SEND), .end_ns = 1, .tensor = 0, .device = 1, .to = 2, .busy = -1},
      {KIND(HOST_WAIT), .end_ns = 9, .tensor = 0, .device = 1, .to = 2, .busy = -1},
      {KIND(RECEIVE), .end_ns = 1, .tensor = 0, .device = 1, .to = 2, .busy = -1},
      {KIND(HOST_WAIT), .end_ns = 3, .tensor = -1, .device = 2, .to = -1, .busy = -1}},
     {EMP_BOTTLENECK_HOST, 23, 2, -1, 12}},
    {"copies are told by their two ends, one way", 3,
     {{KIND(LINK_WAIT), .end_ns = 8, .tensor = 0, .device = 1, .to = 2, .busy = -1},
      {KIND(TRANSFER), .end_ns = 9, .tensor = 1, .device = 2, .to = 1, .busy = -1},
      {KIND(POLL), .end_ns = 5, .tensor = 0, .device = 1, .to = 2, .busy = -1}},
     {EMP_BOTTLENECK_COPIES, 22, 1, 2, 13}},
    {"so are control messages", 1,
     {{KIND(MESSAGE), .end_ns = 4, .tensor = -1, .device = 2, .to = 1, .busy = -1}},
     {EMP_BOTTLENECK_MESSAGES, 4, 2, 1, 4}},
    {"the fixed cost is no device's", 2,
     {{KIND(GPU_OP), .end_ns = 3, .tensor = -1, .device = 1, .to = -1, .busy = -1},
      {KIND(STEP), .end_ns = 4, .tensor = -1, .device = -1, .to = -1, .busy = -1}},
     {EMP_BOTTLENECK_STEP, 4, -1, -1, 0}},
    {"ties: the first kind and the lowest device", 3,
     {{KIND(TRANSFER), .end_ns = 8, .tensor = 0, .device = 1, .to = 2, .busy = -1},
      {KIND(GPU_OP), .end_ns = 4, .tensor = -1, .device = 2, .to = -1, .busy = -1},
      {KIND(GPU_OP), .end_ns = 4, .tensor = -1, .device = 1, .to = -1, .busy = -1}},
     {EMP_BOTTLENECK_COMPUTE, 8, 1, -1, 4}},
    {"nothing is no device's", 0, {{0}}, {EMP_BOTTLENECK_COMPUTE, 0, -1, -1, 0}},
};
/* clang-format on */

/* Segments one after another, and their sums. */
static void lay_out(emp_explanation *why, emp_explain_segment *segment, int32_t count)
{
    emp_time_ns at = 0;

    *why = (emp_explanation){
        .result = {.device_count = 3}, .segment_count = count, .segment = segment};
    for (int32_t i = 0; i < count; i++) {
        why->cause_ns[segment[i].cause] += segment[i].end_ns;
        segment[i].start_ns = at;
        at = segment[i].end_ns += at;
    }
}

Test(bottleneck, kinds_and_devices_are_those_found_by_hand)
{
    for (size_t i = 0; i < COUNT(bottleneck_cases); i++) {
        struct bottleneck_case c = bottleneck_cases[i];
        const emp_bottleneck  *expected = &c.expected;
        emp_explanation        why;
        lay_out(&why, c.segment, c.count);
        emp_bottleneck b = emp_explain_bottleneck(&why);
        cr_expect_eq(b.kind, expected->kind, "%s: %s", c.what,
                     emp_bottleneck_key(b.kind));
        cr_expect_eq(b.time_ns, expected->time_ns, "%s: %" PRId64, c.what, b.time_ns);
        cr_expect(b.device == expected->device && b.to == expected->to, "%s: %d, %d",
                  c.what, b.device, b.to);
        cr_expect_eq(b.device_ns, expected->device_ns, "%s: %" PRId64, c.what,
                     b.device_ns);
    }
}
