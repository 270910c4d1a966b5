// SPDX-License-Identifier: GPL-3.0-or-later
/* A part of a plan is a plan: it runs, reads only what lies there or was written, and says of which ops it is. */
#include "replay/planner/planner.h"
#include "replay/result.h"
#include "tests/replay/fixture.h"
#include "tests/support/survive.h"

enum { GPU = 1, OTHER_GPU = 2 };

static task             net;
static emp_replay_plan *plan, *part;
static int32_t         *origin;
static bool            *is_kept;

static void open_net(const replay_case *c)
{
    replay_fixture_create(&net, c->spec, c->seed);
    plan = replay_fixture_plan(&net);
    is_kept = EMP_NEW_ARRAY(bool, (size_t)plan->op_count);
    cr_assert_not_null(is_kept);
}

static void drop_part(void)
{
    emp_replay_plan_destroy(part);
    emp_free(origin);
    part = NULL;
    origin = NULL;
}

static void close_net(void)
{
    drop_part();
    emp_free(is_kept);
    emp_replay_plan_destroy(plan);
    task_destroy(&net);
    expect_all_freed();
}

static void keep_every(int32_t many, int32_t first)
{
    for (int32_t op = 0; op < plan->op_count; op++) is_kept[op] = op % many == first;
}

static emp_status take(int32_t count, emp_error *err)
{
    static const int32_t devices[] = {GPU, OTHER_GPU};
    const emp_plan_part  what = {is_kept, GPU, devices, count};

    return emp_replay_plan_part(&part, &origin, plan, &what, err);
}

static void execute_checked(void)
{
    emp_replay_options o = emp_replay_options_default();
    SCOPED(emp_replay_result, emp_replay_result_clear) r = {0};

    o.warmup = o.steps = 1;
    o.host_bytes = INT64_C(1) << 31;
    o.is_checked = true;
    ASSERT_OK(replay_fixture_execute(part, &emp_replay_cpu, &o, &r, &err));
    cr_expect(r.is_feasible);
    cr_expect_eq(r.op_count, part->op_count);
}

static void expect_like(int32_t op)
{
    int32_t              from = origin[op] >= 0 ? origin[op] : -2 - origin[op];
    const emp_replay_op *a = &part->op[op], *b = &plan->op[from];

    cr_expect(is_kept[from], "%s was not asked for", b->name);
    cr_expect_str_eq(a->name, b->name);
    cr_expect_eq(memcmp(&a->kernel, &b->kernel, sizeof a->kernel), 0, "%s", b->name);
    int32_t device = origin[op] < -1 && b->device == GPU ? OTHER_GPU : b->device;
    cr_expect_eq(a->device, device, "%s", b->name);
    cr_expect_eq(part->input_offset[op + 1] - part->input_offset[op],
                 plan->input_offset[from + 1] - plan->input_offset[from], "%s", b->name);
}

/* Every third op, then all: of a plan that lies on three devices, on one and on the host. */
static void take_and_run(const replay_case *c, int32_t many)
{
    int32_t ops = 0, wanted = 0;

    open_net(c);
    keep_every(many, 0);
    ASSERT_OK(take(1, &err));
    for (int32_t op = 0; op < plan->op_count; op++)
        wanted += is_kept[op] && plan->op[op].persistent_bytes == 0;
    for (int32_t op = 0; op < part->op_count; op++) {
        if (origin[op] == -1) {
            cr_expect_eq((int)part->op[op].kernel.kind, EMP_KERNEL_NOTHING);
            continue;
        }
        ops++;
        expect_like(op);
    }
    cr_expect_eq(ops, wanted);
    execute_checked();
    close_net();
}

Test(part, runs_with_the_same_kernels)
{
    for (int i = 0; i < REPLAY_CASES; i++) {
        take_and_run(&replay_cases[i], 3);
        take_and_run(&replay_cases[i], 1);
    }
}

Test(part, two_devices_do_the_same_at_once)
{
    int32_t ops[2] = {0}, operands[2] = {0};

    open_net(&(replay_case){REPLAY_SMALL_NMT, -2});
    keep_every(2, 1);
    ASSERT_OK(take(2, &err));
    for (int32_t op = 0; op < part->op_count; op++) {
        if (part->op[op].device != GPU && part->op[op].device != OTHER_GPU) continue;
        if (origin[op] == -1) {
            operands[part->op[op].device == OTHER_GPU]++;
            continue;
        }
        ops[part->op[op].device == OTHER_GPU]++;
        expect_like(op);
    }
    cr_expect_gt(ops[0], 10);
    cr_expect_eq(ops[0], ops[1]);
    cr_expect_gt(operands[0], 10);
    cr_expect_eq(operands[0], operands[1], "each has buffers of its own");
    execute_checked();
    close_net();
}

Test(part, nothing_is_no_part)
{
    open_net(&(replay_case){REPLAY_SMALL_NMT, -2});
    EXPECT_REFUSED(take(1, &err), EMP_EINVAL, "no op");
    cr_expect_null(part);
    close_net();
}

Test(part, every_allocation_may_fail)
{
    open_net(&(replay_case){REPLAY_SMALL_NMT, 1});
    keep_every(2, 0);
    SURVIVES_EVERY_ALLOCATION_FAILURE(take(2, NULL), );
    close_net();
}
