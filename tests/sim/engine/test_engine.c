// SPDX-License-Identifier: GPL-3.0-or-later
/* Step times and peaks small enough to check by hand, written as the sums they come from,
 * and what is refused. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "sim/engine/sim.h"
#include "tests/sim/graph/kit.h"
#include "tests/support/expect.h"
#include "tests/support/problems.h"
#include "tests/support/survive.h"

enum {
    GPU = 10,
    CPU = 20,
    COPY = 5 + 256,
    ISSUE = 3,
    SEND = 2,
    RECEIVE = 4,
    POLL = 7,
    STEP = 100
};
enum { BYTES = 256 };

TestSuite(engine, .fini = expect_no_leak);

static emp_sim_result simulate_tiny(const tiny_op *ops, int count,
                                    const emp_runtime *runtime)
{
    task t;

    task_create_tiny(&t, ops, count, runtime);
    emp_sim_result result = task_trace(&t, NULL);
    task_destroy(&t);
    return result;
}

static void expect_time(const char *what, const tiny_op *ops, int count,
                        const emp_runtime *runtime, emp_time_ns want)
{
    emp_sim_result r = simulate_tiny(ops, count, runtime);

    cr_expect_eq(r.step_time_ns, want, "%s: %" PRId64 " ns, want %" PRId64, what,
                 r.step_time_ns, want);
}

#define EXPECT_TIME(what, runtime, want, ...)                                    \
    expect_time(what, (const tiny_op[]){__VA_ARGS__},                            \
                (int)(sizeof((const tiny_op[]){__VA_ARGS__}) / sizeof(tiny_op)), \
                runtime, want)

/* an op on a device, with inputs */
#define ON(d)          .device = (d)
#define FROM1(a)       .input_count = 1, .input = {a}
#define FROM2(a, b)    .input_count = 2, .input = {a, b}
#define FROM3(a, b, c) .input_count = 3, .input = {a, b, c}

Test(engine, list_scheduling_adds_up)
{
    emp_runtime list = tiny_list_scheduling();

    EXPECT_TIME("one op", &list, GPU, {ON(1)});
    EXPECT_TIME("a chain on one GPU", &list, GPU + GPU, {ON(1)}, {ON(1), FROM1(0)});
    EXPECT_TIME("two ops on one GPU", &list, GPU + GPU, {ON(1)}, {ON(1)});
    EXPECT_TIME("two ops on two GPUs", &list, GPU, {ON(1)}, {ON(2)});
    EXPECT_TIME("a chain across GPUs", &list, GPU + COPY + GPU, {ON(1)},
                {ON(2), FROM1(0)});
    EXPECT_TIME("from the CPU to a GPU", &list, CPU + COPY + GPU, {ON(0)},
                {ON(1), FROM1(0)});
    EXPECT_TIME("two tensors queue on one link", &list, GPU + 2 * COPY + GPU, {ON(1)},
                {ON(1)}, {ON(2), FROM2(0, 1)});
    EXPECT_TIME("one tensor is sent once to a device", &list, GPU + COPY + 2 * GPU,
                {ON(1)}, {ON(2), FROM1(0)}, {ON(2), FROM1(0)});
    EXPECT_TIME("a folded op costs nothing anywhere", &list, GPU,
                {ON(1), .is_folded = true}, {ON(2), FROM1(0)});
    EXPECT_TIME("control edges are free", &list, GPU + GPU, {ON(1)},
                {ON(2), .control = 1});
    EXPECT_TIME("the CPU runs one op at a time", &list, 2 * CPU, {ON(0)}, {ON(0)});
}

Test(engine, host_threads_streams_and_polls_add_up)
{
    emp_runtime serial = tiny_serial();

    EXPECT_TIME("one op", &serial, ISSUE + GPU + STEP, {ON(1)});
    EXPECT_TIME("issue overlaps kernels", &serial, ISSUE + GPU + GPU + STEP, {ON(1)},
                {ON(1), FROM1(0)});
    EXPECT_TIME("kernel-less ops cost host time only", &serial, 4 * ISSUE + STEP,
                {ON(1), .is_kernelless = true}, {ON(1), FROM1(0), .is_kernelless = true},
                {ON(1), FROM1(1), .is_kernelless = true},
                {ON(1), FROM1(2), .is_kernelless = true});
    EXPECT_TIME("a copy waits for its producer's kernel", &serial,
                ISSUE + GPU + COPY + POLL + RECEIVE + ISSUE + GPU + STEP, {ON(1)},
                {ON(2), FROM1(0)});
    EXPECT_TIME("a copy waits for the receiver's kernels", &serial,
                ISSUE + 50 * GPU + COPY + POLL + RECEIVE + ISSUE + GPU + STEP, {ON(1)},
                {ON(2), .weight = 50}, {ON(2), FROM1(0)});
    EXPECT_TIME("a copy to the host", &serial,
                ISSUE + GPU + COPY + POLL + RECEIVE + CPU + STEP, {ON(1)},
                {ON(0), FROM1(0)});
    EXPECT_TIME("a copy from the host", &serial,
                CPU + SEND + COPY + POLL + RECEIVE + ISSUE + GPU + STEP, {ON(0)},
                {ON(1), FROM1(0)});
    EXPECT_TIME("a host output needs no copy", &serial, ISSUE + CPU + STEP,
                {ON(1), .is_on_host = true}, {ON(0), FROM1(0)});
    EXPECT_TIME("a host output is copied to its own GPU", &serial,
                ISSUE + SEND + COPY + POLL + RECEIVE + ISSUE + GPU + STEP,
                {ON(1), .is_on_host = true, .is_kernelless = true}, {ON(1), FROM1(0)});
    EXPECT_TIME("a control edge takes the latency", &serial,
                ISSUE + 5 + ISSUE + GPU + STEP, {ON(1)}, {ON(2), .control = 1});
    /* the second op is issued before the first send, so both copies wait for both kernels
     */
    EXPECT_TIME("the host thread does its tasks in turn", &serial,
                ISSUE + 2 * GPU + 2 * COPY + POLL + RECEIVE + ISSUE + GPU + STEP, {ON(1)},
                {ON(1)}, {ON(2), FROM2(0, 1)});
}

Test(engine, each_switch_changes_what_it_says)
{
    emp_runtime r = tiny_serial();

    r.events.drain_copies = false;
    EXPECT_TIME("drain_copies", &r, ISSUE + 50 * GPU + GPU + STEP, {ON(1)},
                {ON(2), .weight = 50}, {ON(2), FROM1(0)});
    r = tiny_serial();
    r.events.control_latency = false;
    EXPECT_TIME("control_latency", &r, ISSUE + ISSUE + GPU + STEP, {ON(1)},
                {ON(2), .control = 1});
    r = tiny_serial();
    r.events.serial_issue = false;
    EXPECT_TIME("serial_issue", &r, GPU + GPU + STEP, {ON(1)}, {ON(1), FROM1(0)});
    r = tiny_serial();
    EXPECT_TIME("cpu_pool on", &r, CPU + STEP, {ON(0)}, {ON(0)}, {ON(0)}, {ON(0)});
    r.events.cpu_pool = false;
    EXPECT_TIME("cpu_pool off", &r, 4 * CPU + STEP, {ON(0)}, {ON(0)}, {ON(0)}, {ON(0)});
    r = tiny_serial();
    r.events.cpu_slots = 2;
    EXPECT_TIME("cpu_slots", &r, 2 * CPU + STEP, {ON(0)}, {ON(0)}, {ON(0)}, {ON(0)});
}

/* The memory of the CPU moves a byte a nanosecond. */
static emp_time_ns time_of_movers(int ops, int64_t bytes, bool shared_memory)
{
    const tiny_op  op[] = {{ON(0)}, {ON(0)}, {ON(0)}, {ON(0)}};
    emp_runtime    runtime = tiny_serial();
    task           t;
    emp_sim_result result;

    runtime.events.shared_memory = shared_memory;
    task_create_tiny(&t, op, ops, &runtime);
    t.machine->device[0].core_bytes_per_s = 1e9;
    t.machine->device[0].bandwidth_cores = 1;
    for (int i = 0; i < ops; i++) {
        emp_graph_own_cost(t.graph, i)->bytes_read = bytes;
        emp_graph_own_cost(t.graph, i)->bytes_written = 0;
    }
    result = task_run(&t);
    task_destroy(&t);
    return result.step_time_ns;
}

Test(engine, cpu_ops_share_the_rate_of_the_memory)
{
    cr_expect_eq(time_of_movers(4, CPU, false), CPU + STEP, "each has all of it");
    cr_expect_eq(time_of_movers(4, CPU, true), 4 * CPU + STEP);
    cr_expect_eq(time_of_movers(4, CPU / 2, true), 2 * CPU + STEP);
    cr_expect_eq(time_of_movers(4, CPU / 4, true), CPU + STEP, "the cores take longer");
    cr_expect_eq(time_of_movers(2, CPU, true), 2 * CPU + STEP);
    cr_expect_eq(time_of_movers(1, 9 * CPU, true), CPU + STEP, "a measured time counts");
}

Test(engine, cpu_ops_share_the_cores)
{
    emp_runtime serial = tiny_serial();

    EXPECT_TIME("a lone op gets all cores", &serial, CPU + STEP, {ON(0), .lanes = 4});
    /* 2 cores for each, at the same speed per core */
    EXPECT_TIME("two ops get half each", &serial, 2 * CPU + STEP, {ON(0), .lanes = 4},
                {ON(0), .lanes = 4});
    /* the narrow op has one core for CPU; the wide one is cut for 2 of the 4 cores into 8
     * tasks of CPU / 2: three at a time while the narrow op runs, the last two on the
     * free cores */
    EXPECT_TIME("a wide op beside a narrow one", &serial, CPU + CPU / 2 + STEP, {ON(0)},
                {ON(0), .lanes = 4});
}

struct memory_case {
    const char *name;
    int         count;
    tiny_op     op[TINY_MAX_OPS];
    bool        at_issue, reuse;
    int64_t     peak; /* of gpu:0 */
};

/* clang-format off */
static const struct memory_case memory_cases[] = {
    {"a chain holds input and output", 3,
     {{ON(1)}, {ON(1), FROM1(0)}, {ON(1), FROM1(1)}}, true, true, BYTES + BYTES},
    {"a fan holds the shared input to the end", 4,
     {{ON(1)}, {ON(1), FROM1(0)}, {ON(1), FROM1(0)}, {ON(1), FROM2(1, 2)}}, true, true,
     BYTES + 2 * BYTES},
    {"an alias has no buffer of its own", 3,
     {{ON(1)}, {ON(1), FROM1(0), .is_alias = true, .is_kernelless = true}, {ON(1), FROM1(1), .is_in_place = true}},
     true, true, BYTES},
    {"an op in place takes its input over", 2,
     {{ON(1)}, {ON(1), FROM1(0), .is_in_place = true}}, true, true, BYTES},
    {"reuse_inputs off", 2,
     {{ON(1)}, {ON(1), FROM1(0), .is_in_place = true}}, true, false, BYTES + BYTES},
    {"an input that is read again is not taken over", 3,
     {{ON(1)}, {ON(1), FROM1(0), .is_in_place = true}, {ON(1), FROM2(0, 1)}}, true, true,
     BYTES + BYTES + BYTES},
    {"release_at_issue off holds what queued kernels read", 4,
     {{ON(1), .weight = 50}, {ON(1), FROM1(0)}, {ON(1), FROM1(1)}, {ON(1), FROM1(2)}}, false, true,
     4 * BYTES},
    {"a variable stays", 2, {{ON(1), .is_variable = true, .is_kernelless = true}, {ON(1)}}, true, true,
     BYTES + BYTES},
    {"a copy has a buffer here", 2, {{ON(2)}, {ON(1), FROM1(0)}}, true, true, BYTES + BYTES},
    {"a folded input has none", 2, {{ON(1), .is_folded = true}, {ON(1), FROM1(0), .is_alias = true}},
     true, true, 0},
};
/* clang-format on */

Test(engine, peaks_add_up)
{
    for (size_t i = 0; i < sizeof memory_cases / sizeof memory_cases[0]; i++) {
        const struct memory_case *c = &memory_cases[i];
        emp_runtime               runtime = tiny_serial();
        runtime.events.release_at_issue = c->at_issue;
        runtime.events.reuse_inputs = c->reuse;
        emp_sim_result r = simulate_tiny(c->op, c->count, &runtime);
        cr_expect_eq(r.peak_bytes[1], c->peak, "%s: %" PRId64 ", want %" PRId64, c->name,
                     r.peak_bytes[1], c->peak);
        cr_expect(r.is_feasible, "%s", c->name);
    }
}

/* Where the allocator puts a last, large buffer shows which of several inputs, one behind the
 * other, has been taken over: behind the first the others leave room. */
static void expect_first_taken_over(const tiny_op *ops, int count, int64_t last_bytes)
{
    emp_runtime runtime = tiny_serial();
    task        t;

    runtime.events.bfc_allocator = true;
    task_create_tiny(&t, ops, count, &runtime);
    t.graph->tensor[t.graph->output_offset[count - 1]].bytes = last_bytes;
    cr_expect_eq(task_run(&t).peak_bytes[1], BYTES + last_bytes);
    task_destroy(&t);
}

/* Three tensors of 256 bytes at once: a segment of 2 MiB. The last is 3 MiB, which takes one of 20. */
Test(engine, segments_are_what_pytorch_takes)
{
    const tiny_op ops[] = {{ON(1)}, {ON(1), FROM1(0)}, {ON(1), FROM1(1)}};
    emp_runtime   runtime = tiny_list_scheduling();
    task          t;

    runtime.events.caching_allocator = true;
    task_create_tiny(&t, ops, 3, &runtime);
    t.machine->device[1].memory_bytes = 1 << 30;
    cr_expect_eq(task_run(&t).peak_bytes[1], 2 << 20);
    t.graph->tensor[t.graph->output_offset[2]].bytes = 3 << 20;
    cr_expect_eq(task_run(&t).peak_bytes[1], 22 << 20);
    task_destroy(&t);
}

Test(engine, an_op_in_place_takes_the_first_input_over)
{
    const tiny_op two[] = {
        {ON(1)}, {ON(1)}, {ON(1), FROM2(0, 1), .is_in_place = true}, {ON(1), FROM1(2)}};
    const tiny_op three[] = {{ON(1)},
                             {ON(1)},
                             {ON(1)},
                             {ON(1), FROM3(0, 1, 2), .is_in_place = true},
                             {ON(1), FROM1(3)}};

    expect_first_taken_over(two, 4, 2 * BYTES);
    expect_first_taken_over(three, 5, 3 * BYTES);
}

Test(engine, names_the_first_allocation_that_does_not_fit)
{
    const tiny_op ops[] = {{ON(1)}, {ON(1)}, {ON(1)}, {ON(1), FROM2(0, 1)}};
    emp_runtime   runtime = tiny_serial();
    task          t;

    task_create_tiny(&t, ops, 4, &runtime);
    t.machine->device[1].memory_bytes = 2 * BYTES - 1;
    emp_sim_result r = task_run(&t);
    cr_expect_not(r.is_feasible);
    cr_expect_eq(r.oom_device, 1);
    cr_expect_eq(r.oom_op, 1);
    cr_expect_eq(r.oom_bytes, BYTES);
    cr_expect_eq(r.oom_at_ns, ISSUE + ISSUE);
    cr_expect_eq(r.step_time_ns, ISSUE + 4 * GPU + STEP, "the run goes on");
    t.problem->runtime.check_memory = false;
    cr_expect(task_run(&t).is_feasible);
    task_destroy(&t);
}

/* The device has room for one buffer. Op 0 leaves its output to the host, where op 2 reads it;
 * op 1 reads a copy on the device. */
static emp_op_id find_verdict(const tiny_op *ops, int count)
{
    emp_runtime runtime = tiny_list_scheduling();
    task        t;

    task_create_tiny(&t, ops, count, &runtime);
    t.graph->op[2].host_input_mask = 1;
    t.machine->device[1].memory_bytes = 2 * BYTES - 1;
    emp_sim_result r = task_run(&t);
    task_destroy(&t);
    cr_expect_eq(r.oom_at_ns, GPU);
    return r.oom_op;
}

Test(engine, a_told_op_starts_at_once_and_one_that_waited_after_all_are_told)
{
    const tiny_op ops[] = {
        {ON(1), .is_on_host = true}, {ON(1), FROM1(0)}, {ON(1), FROM1(0)}, {ON(1)}};

    cr_expect_eq(find_verdict(ops, 3), 0, "the copy comes after the start of op 2");
    cr_expect_eq(find_verdict(ops, 4), 3, "the copy comes before the start of op 3");
}

/* A product of sizes that only a file can have, whose counts of elements, bytes and
 * tiles are beyond 64 bits. */
static emp_graph *huge_product(int64_t rows, int64_t inner)
{
    emp_graph_builder *b = kit_begin();
    char               left[64], right[64];

    snprintf(left, sizeof left, "f[%" PRId64 ",%" PRId64 "]", rows, inner);
    snprintf(right, sizeof right, "f[%" PRId64 ",%" PRId64 "]", inner, rows);
    emp_port y = kit_op(b, "y", "MatMul", NULL, 2, kit_tensor(b, "a", left),
                        kit_tensor(b, "b", right));
    emp_graph_builder_set_target(b, y.op);
    return kit_finish(b);
}

/* Bytes or times are refused; under the sanitizers, nothing overflows on the way. */
Test(engine, refuses_sizes_beyond_64_bits)
{
    static const int64_t sizes[][2] = {{INT64_C(1) << 40, 4},
                                       {INT64_C(1) << 28, INT64_C(1) << 28},
                                       {INT64_MAX, 1},
                                       {INT64_MAX, INT64_MAX},
                                       {1, INT64_MAX}};
    emp_machine         *m = NULL;
    emp_runtime          runtime;

    ASSERT_OK(emp_machine_load(&m, "k40x2", &err));
    ASSERT_OK(emp_runtime_init(&runtime, "tf-r1.3", &err));
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        emp_graph   *g = huge_product(sizes[i][0], sizes[i][1]);
        emp_problem *p = NULL;
        emp_sim     *sim = NULL;
        ASSERT_OK(emp_problem_create(&p, g, m, &runtime, "huge", &err));
        for (emp_op_id op = 0; op < g->op_count; op++) {
            cr_expect_geq(p->costs->gpu[op].compute_ns, 0);
            cr_expect_geq(p->costs->cpu[op].compute_ns, 0);
        }
        EXPECT_REFUSED(emp_sim_create(&sim, p, &err), EMP_EUNSUPPORTED,
                       " in all; at most");
        cr_expect_null(sim);
        emp_problem_destroy(p);
        emp_graph_destroy(g);
    }
    emp_machine_destroy(m);
}

/* Of one op and its tensor: creation begins to allocate, or refuses. */
static void expect_edges(int32_t inputs, int32_t controls, emp_status want,
                         const char *part)
{
    const tiny_op ops[] = {{ON(1)}};
    const long    before_arrays = 3;
    emp_runtime   runtime = tiny_list_scheduling();
    task          t;
    emp_sim      *sim = NULL;

    task_create_tiny(&t, ops, 1, &runtime);
    t.graph->input_offset[1] = inputs;
    t.graph->control_offset[1] = controls;
    emp_mem_fail_after(before_arrays);
    EXPECT_REFUSED(emp_sim_create(&sim, t.problem, &err), want, part);
    emp_mem_fail_after(-1);
    cr_expect_null(sim);
    t.graph->input_offset[1] = t.graph->control_offset[1] = 0;
    task_destroy(&t);
}

Test(engine, refuses_more_than_it_can_number)
{
    const int32_t others = 4 * 1 + 2 * 1 + (1 << 13) - 1, most = INT32_MAX - others;

    expect_edges(0, most, EMP_ENOMEM, "");
    expect_edges(0, most + 1, EMP_EUNSUPPORTED, "takes up to 2147483648 numbers");
    expect_edges(most / 2, 0, EMP_ENOMEM, "");
    expect_edges(INT32_MAX / 2 - others / 2 + 1, 0, EMP_EUNSUPPORTED, "1 tensors");
}

static void expect_step_of(const task *t, emp_time_ns others, emp_time_ns step_ns)
{
    t->problem->costs->gpu[0].compute_ns = step_ns - others;
    cr_expect_eq(task_run(t).step_time_ns, step_ns);
}

static void expect_longest(const task *t, emp_time_ns others)
{
    const emp_time_ns short_times = INT64_C(1) << 49, limit = INT64_C(1) << 58;
    emp_sim          *sim = NULL;

    expect_step_of(t, others, short_times - 1);
    expect_step_of(t, others, short_times);
    expect_step_of(t, others, limit - 64); /* sums of times are doubles */
    t->problem->costs->gpu[0].compute_ns = limit - others;
    EXPECT_REFUSED(emp_sim_create(&sim, t->problem, &err), EMP_EUNSUPPORTED, "s in all");
    cr_expect_null(sim);
}

/* Events have 13 bits for their source in steps below 2^49 ns, and in longer ones the 4 bits that the
 * sources of this machine need. The last event of a server is nearly twice as late as the step. */
Test(engine, runs_up_to_the_longest_time)
{
    const tiny_op ops[] = {{ON(1)}, {ON(2), FROM1(0)}};
    emp_runtime   runtime = tiny_list_scheduling();
    task          t;

    runtime.events.share_copies =
        false; /* a copy is counted once, not once for each device */
    for (int count = 1; count <= 2; count++) {
        task_create_tiny(&t, ops, count, &runtime);
        for (int i = 0; i < count; i++)
            t.problem->costs->gpu[i].issue_ns = t.problem->costs->cpu[i].compute_ns = 0;
        /* 256 bytes in 256.75 ns, which rounding makes 257 */
        for (int from = 0; from < 3; from++) {
            for (int to = 0; to < 3; to++)
                t.machine->route[from][to].bytes_per_s = 256e9 / 256.75;
        }
        expect_longest(&t, count == 1 ? 0 : COPY + 1 + GPU);
        task_destroy(&t);
    }
}
