// SPDX-License-Identifier: GPL-3.0-or-later
/* Is the bottleneck the kind and the device that the critical path spends most time on? */
#include <criterion/criterion.h>
#include <inttypes.h>

#include "sim/explain/explain.h"
#include "tests/sim/engine/random_problem.h"
#include "tests/support/problems.h"

enum { SEEDS = 300, MOST_SEGMENTS = 6 };

/* ---- by hand ---- */

#define CAUSE(name) .cause = EMP_CAUSE_##name

struct hand_case {
    const char         *what;
    int32_t             count;
    emp_explain_segment segment[MOST_SEGMENTS]; /* end_ns: how long it takes */
    emp_bottleneck      expected;
};

/* clang-format off */
static const struct hand_case hand_cases[] = {
    {"ops, and waits of ops and copies for their device, are compute", 5,
     {{CAUSE(CPU_OP), .end_ns = 30, .device = 0, .to = -1, .busy = -1},
      {CAUSE(GPU_OP), .end_ns = 20, .device = 1, .to = -1, .busy = -1},
      {CAUSE(GPU_WAIT), .end_ns = 5, .device = 1, .to = -1, .busy = 1},
      {CAUSE(COPY_COMPUTE_WAIT), .end_ns = 10, .device = 2, .to = 1, .busy = 1},
      {CAUSE(TRANSFER), .end_ns = 60, .tensor = 0, .device = 2, .to = 1, .busy = -1}},
     {EMP_BOTTLENECK_COMPUTE, 65, 1, -1, 35}},
    {"a host thread is waited for at the end where the copy is", 6,
     {{CAUSE(ISSUE), .end_ns = 7, .tensor = -1, .device = 1, .to = -1, .busy = -1},
      {CAUSE(HOST_WAIT), .end_ns = 4, .tensor = 0, .device = 1, .to = 2, .busy = -1},
      {CAUSE(SEND), .end_ns = 1, .tensor = 0, .device = 1, .to = 2, .busy = -1},
      {CAUSE(HOST_WAIT), .end_ns = 9, .tensor = 0, .device = 1, .to = 2, .busy = -1},
      {CAUSE(RECEIVE), .end_ns = 1, .tensor = 0, .device = 1, .to = 2, .busy = -1},
      {CAUSE(HOST_WAIT), .end_ns = 3, .tensor = -1, .device = 2, .to = -1, .busy = -1}},
     {EMP_BOTTLENECK_HOST, 23, 2, -1, 12}},
    {"copies are told by their two ends, one way", 3,
     {{CAUSE(LINK_WAIT), .end_ns = 8, .tensor = 0, .device = 1, .to = 2, .busy = -1},
      {CAUSE(TRANSFER), .end_ns = 9, .tensor = 1, .device = 2, .to = 1, .busy = -1},
      {CAUSE(POLL), .end_ns = 5, .tensor = 0, .device = 1, .to = 2, .busy = -1}},
     {EMP_BOTTLENECK_COPIES, 22, 1, 2, 13}},
    {"so are control messages", 1,
     {{CAUSE(MESSAGE), .end_ns = 4, .tensor = -1, .device = 2, .to = 1, .busy = -1}},
     {EMP_BOTTLENECK_MESSAGES, 4, 2, 1, 4}},
    {"the fixed cost is no device's", 2,
     {{CAUSE(GPU_OP), .end_ns = 3, .tensor = -1, .device = 1, .to = -1, .busy = -1},
      {CAUSE(STEP), .end_ns = 4, .tensor = -1, .device = -1, .to = -1, .busy = -1}},
     {EMP_BOTTLENECK_STEP, 4, -1, -1, 0}},
    {"ties: the first kind and the lowest device", 3,
     {{CAUSE(TRANSFER), .end_ns = 8, .tensor = 0, .device = 1, .to = 2, .busy = -1},
      {CAUSE(GPU_OP), .end_ns = 4, .tensor = -1, .device = 2, .to = -1, .busy = -1},
      {CAUSE(GPU_OP), .end_ns = 4, .tensor = -1, .device = 1, .to = -1, .busy = -1}},
     {EMP_BOTTLENECK_COMPUTE, 8, 1, -1, 4}},
    {"nothing is no device's", 0, {{0}}, {EMP_BOTTLENECK_COMPUTE, 0, -1, -1, 0}},
};
/* clang-format on */

/* Segments one after another, and their sums. */
static void lay_out(emp_explain *why, emp_explain_segment *segment, int32_t count)
{
    emp_time_ns at = 0;

    *why = (emp_explain){
        .result = {.device_count = 3}, .segment_count = count, .segment = segment};
    for (int32_t i = 0; i < count; i++) {
        why->cause_ns[segment[i].cause] += segment[i].end_ns;
        segment[i].start_ns = at;
        at = segment[i].end_ns += at;
    }
}

Test(bottleneck, kinds_and_devices_are_those_found_by_hand)
{
    for (size_t i = 0; i < sizeof hand_cases / sizeof *hand_cases; i++) {
        struct hand_case      c = hand_cases[i];
        const emp_bottleneck *expected = &c.expected;
        emp_explain           why;
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

/* ---- simulated steps ---- */

/* Five kinds share a step, and each of n devices a kind; of copies, each of n^2 pairs. */
Test(bottleneck, it_has_no_less_than_its_share)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        task         r;
        emp_explain *why = NULL;
        random_problem_create(&r, seed);
        cr_assert_eq(emp_explain_create(&why, r.problem,
                                        &(emp_decision){.device_of_op = r.device_of_op},
                                        NULL),
                     EMP_OK);
        emp_bottleneck b = emp_explain_bottleneck(why);
        int64_t        devices = why->result.device_count;
        int64_t        shares = b.to >= 0 ? devices * devices : devices;
        cr_expect_geq(EMP_BOTTLENECK_KINDS * b.time_ns, why->result.step_time_ns, SEED);
        cr_expect_leq(b.device_ns, b.time_ns, SEED);
        cr_expect(b.device < 0 || shares * b.device_ns >= b.time_ns,
                  "seed %" PRIu64 ": %s", seed, emp_bottleneck_key(b.kind));
        cr_expect_eq(b.device < 0, b.kind == EMP_BOTTLENECK_STEP, SEED);
        emp_explain_destroy(why);
        task_destroy(&r);
    }
}
