// SPDX-License-Identifier: GPL-3.0-or-later
/* Step times and peaks small enough to check by hand, written as the sums they come from,
 * and what is refused. */
#include "sim/engine/sim.h"
#include "tests/sim/graph/kit.h"
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
enum { BYTES = 256, BYTES_PER_OP = 235 };

TestSuite(engine, .fini = expect_all_freed);

static emp_sim_result simulate_ops(const char *ops, const emp_runtime *runtime)
{
    OWN_TASK t;

    task_create_ops(&t, ops, runtime);
    return task_trace(&t, NULL);
}

static void expect_time(const char *what, const char *ops, const emp_runtime *runtime,
                        emp_time_ns want)
{
    emp_sim_result r = simulate_ops(ops, runtime);

    cr_expect_eq(r.step_time_ns, want, "%s: %" PRId64 " ns, want %" PRId64, what,
                 r.step_time_ns, want);
}

Test(engine, list_scheduling_adds_up)
{
    emp_runtime list = tiny_list_scheduling();

    expect_time("one op", "1", &list, GPU);
    expect_time("a chain on one GPU", "1; 1<0", &list, GPU + GPU);
    expect_time("two ops on one GPU", "1; 1", &list, GPU + GPU);
    expect_time("two ops on two GPUs", "1; 2", &list, GPU);
    expect_time("a chain across GPUs", "1; 2<0", &list, GPU + COPY + GPU);
    expect_time("from the CPU to a GPU", "0; 1<0", &list, CPU + COPY + GPU);
    expect_time("two tensors queue on one link", "1; 1; 2<0,1", &list,
                GPU + 2 * COPY + GPU);
    expect_time("one tensor is sent once to a device", "1; 2<0; 2<0", &list,
                GPU + COPY + 2 * GPU);
    expect_time("a folded op costs nothing anywhere", "1f; 2<0", &list, GPU);
    expect_time("control edges are free", "1; 2!0", &list, GPU + GPU);
    expect_time("the CPU runs one op at a time", "0; 0", &list, 2 * CPU);
}

Test(engine, host_threads_streams_and_polls_add_up)
{
    emp_runtime serial = tiny_serial();

    expect_time("one op", "1", &serial, ISSUE + GPU + STEP);
    expect_time("issue overlaps kernels", "1; 1<0", &serial, ISSUE + GPU + GPU + STEP);
    expect_time("kernel-less ops cost host time only", "1k; 1<0k; 1<1k; 1<2k", &serial,
                4 * ISSUE + STEP);
    expect_time("a copy waits for its producer's kernel", "1; 2<0", &serial,
                ISSUE + GPU + COPY + POLL + RECEIVE + ISSUE + GPU + STEP);
    expect_time("a copy waits for the receiver's kernels", "1; 2*50; 2<0", &serial,
                ISSUE + 50 * GPU + COPY + POLL + RECEIVE + ISSUE + GPU + STEP);
    expect_time("a copy to the host", "1; 0<0", &serial,
                ISSUE + GPU + COPY + POLL + RECEIVE + CPU + STEP);
    expect_time("a copy from the host", "0; 1<0", &serial,
                CPU + SEND + COPY + POLL + RECEIVE + ISSUE + GPU + STEP);
    expect_time("a host output needs no copy", "1h; 0<0", &serial, ISSUE + CPU + STEP);
    expect_time("a host output is copied to its own GPU", "1hk; 1<0", &serial,
                ISSUE + SEND + COPY + POLL + RECEIVE + ISSUE + GPU + STEP);
    expect_time("a control edge takes the latency", "1; 2!0", &serial,
                ISSUE + 5 + ISSUE + GPU + STEP);
    /* the second op is issued before the first send, so both copies wait for both kernels
     */
    expect_time("the host thread does its tasks in turn", "1; 1; 2<0,1", &serial,
                ISSUE + 2 * GPU + 2 * COPY + POLL + RECEIVE + ISSUE + GPU + STEP);
}

Test(engine, each_switch_changes_what_it_says)
{
    emp_runtime r = tiny_serial();

    r.events.drain_copies = false;
    expect_time("drain_copies", "1; 2*50; 2<0", &r, ISSUE + 50 * GPU + GPU + STEP);
    r = tiny_serial();
    r.events.control_latency = false;
    expect_time("control_latency", "1; 2!0", &r, ISSUE + ISSUE + GPU + STEP);
    r = tiny_serial();
    r.events.serial_issue = false;
    expect_time("serial_issue", "1; 1<0", &r, GPU + GPU + STEP);
    r = tiny_serial();
    expect_time("cpu_pool on", "0; 0; 0; 0", &r, CPU + STEP);
    r.events.cpu_pool = false;
    expect_time("cpu_pool off", "0; 0; 0; 0", &r, 4 * CPU + STEP);
    r = tiny_serial();
    r.events.cpu_slots = 2;
    expect_time("cpu_slots", "0; 0; 0; 0", &r, 2 * CPU + STEP);
}

/* The memory of the CPU moves a byte a nanosecond. */
static emp_time_ns time_of_movers(int ops, int64_t bytes, bool shared_memory)
{
    const char  op[] = "0; 0; 0; 0";
    emp_runtime runtime = tiny_serial();
    OWN_TASK    t;

    runtime.events.shared_memory = shared_memory;
    task_create_ops(&t, op + 3 * (4 - ops), &runtime);
    t.machine->device[0].core_bytes_per_s = 1e9;
    t.machine->device[0].bandwidth_cores = 1;
    for (int i = 0; i < ops; i++) {
        emp_graph_own_cost(t.graph, i)->bytes_read = bytes;
        emp_graph_own_cost(t.graph, i)->bytes_written = 0;
    }
    emp_sim_result result = task_run(&t);
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

    expect_time("a lone op gets all cores", "0|4", &serial, CPU + STEP);
    /* 2 cores for each, at the same speed per core */
    expect_time("two ops get half each", "0|4; 0|4", &serial, 2 * CPU + STEP);
    /* the narrow op has one core for CPU; the wide one is cut for 2 of the 4 cores into 8
     * tasks of CPU / 2: three at a time while the narrow op runs, the last two on the
     * free cores */
    expect_time("a wide op beside a narrow one", "0; 0|4", &serial, CPU + CPU / 2 + STEP);
}

static const struct {
    const char *what, *ops;
    bool        at_issue, reuse;
    int64_t     peak; /* of gpu:0 */
} memory_cases[] = {
    {"a chain holds input and output", "1; 1<0; 1<1", true, true, 2 * BYTES},
    {"a fan holds the shared input", "1; 1<0; 1<0; 1<1,2", true, true, 3 * BYTES},
    {"an alias has no buffer of its own", "1; 1<0ak; 1<1p", true, true, BYTES},
    {"an op in place takes its input over", "1; 1<0p", true, true, BYTES},
    {"reuse_inputs off", "1; 1<0p", true, false, 2 * BYTES},
    {"an input that is read again is not taken over", "1; 1<0p; 1<0,1", true, true,
     3 * BYTES},
    {"release_at_issue off holds what queued kernels read", "1*50; 1<0; 1<1; 1<2", false,
     true, 4 * BYTES},
    {"a variable stays", "1vk; 1", true, true, 2 * BYTES},
    {"a copy has a buffer here", "2; 1<0", true, true, 2 * BYTES},
    {"a folded input has none", "1f; 1<0a", true, true, 0},
};

Test(engine, peaks_add_up)
{
    for (size_t i = 0; i < COUNT(memory_cases); i++) {
        emp_runtime runtime = tiny_serial();
        runtime.events.release_at_issue = memory_cases[i].at_issue;
        runtime.events.reuse_inputs = memory_cases[i].reuse;
        emp_sim_result r = simulate_ops(memory_cases[i].ops, &runtime);
        cr_expect_eq(r.peak_bytes[1], memory_cases[i].peak, "%s: %" PRId64,
                     memory_cases[i].what, r.peak_bytes[1]);
        cr_expect(r.is_feasible, "%s", memory_cases[i].what);
    }
}

/* Where the allocator puts a last, large buffer shows which of several inputs, one behind the
 * other, has been taken over: behind the first the others leave room. */
static void expect_first_taken_over(const char *ops, int64_t last_bytes)
{
    emp_runtime runtime = tiny_serial();
    OWN_TASK    t;

    runtime.events.bfc_allocator = true;
    task_create_ops(&t, ops, &runtime);
    t.graph->tensor[t.graph->output_offset[t.graph->op_count - 1]].bytes = last_bytes;
    cr_expect_eq(task_run(&t).peak_bytes[1], BYTES + last_bytes);
}

/* Three tensors of 256 bytes at once: a segment of 2 MiB. The last is 3 MiB, which takes one of 20. */
Test(engine, segments_are_what_pytorch_takes)
{
    emp_runtime runtime = tiny_list_scheduling();
    OWN_TASK    t;

    runtime.events.caching_allocator = true;
    task_create_ops(&t, "1; 1<0; 1<1", &runtime);
    t.machine->device[1].memory_bytes = 1 << 30;
    cr_expect_eq(task_run(&t).peak_bytes[1], 2 << 20);
    t.graph->tensor[t.graph->output_offset[2]].bytes = 3 << 20;
    cr_expect_eq(task_run(&t).peak_bytes[1], 22 << 20);
}

Test(engine, an_op_in_place_takes_the_first_input_over)
{
    expect_first_taken_over("1; 1; 1<0,1p; 1<2", 2 * BYTES);
    expect_first_taken_over("1; 1; 1; 1<0,1,2p; 1<3", 3 * BYTES);
}

Test(engine, names_the_first_allocation_that_does_not_fit)
{
    emp_runtime runtime = tiny_serial();
    OWN_TASK    t;

    task_create_ops(&t, "1; 1; 1; 1<0,1", &runtime);
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
}

/* The device has room for one buffer. Op 0 leaves its output to the host, where op 2 reads it;
 * op 1 reads a copy on the device. */
static emp_op_id find_verdict(const char *ops)
{
    emp_runtime runtime = tiny_list_scheduling();
    task        t;

    task_create_ops(&t, ops, &runtime);
    t.graph->op[2].host_input_mask = 1;
    t.machine->device[1].memory_bytes = 2 * BYTES - 1;
    emp_sim_result r = task_run(&t);
    task_destroy(&t);
    cr_expect_eq(r.oom_at_ns, GPU);
    return r.oom_op;
}

Test(engine, a_told_op_starts_at_once_and_one_that_waited_after_all_are_told)
{
    cr_expect_eq(find_verdict("1h; 1<0; 1<0"), 0,
                 "the copy comes after the start of op 2");
    cr_expect_eq(find_verdict("1h; 1<0; 1<0; 1"), 3,
                 "the copy comes before the start of op 3");
}

/* A product of sizes that only a file can have, whose counts of elements, bytes and
 * tiles are beyond 64 bits. */
static emp_graph *huge_product(int64_t rows, int64_t inner)
{
    emp_graph_builder *b = kit_begin();
    char               text[256];

    snprintf(text, sizeof text,
             "a = f[%" PRId64 ",%" PRId64 "]; b = f[%" PRId64 ",%" PRId64
             "]; y = MatMul a b",
             rows, inner, inner, rows);
    kit_ops(b, text);
    emp_graph_builder_set_target(b, kit_port(b, "y").op);
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
    OWN_MACHINE          m = NULL;
    emp_runtime          runtime;

    ASSERT_OK(emp_machine_load(&m, "k40x2", &err));
    ASSERT_OK(emp_runtime_init(&runtime, "tf-r1.3", &err));
    for (size_t i = 0; i < COUNT(sizes); i++) {
        OWN_GRAPH   g = huge_product(sizes[i][0], sizes[i][1]);
        OWN_PROBLEM p = NULL;
        emp_sim    *sim = NULL;
        ASSERT_OK(emp_problem_create(&p, g, m, &runtime, "huge", &err));
        for (emp_op_id op = 0; op < g->op_count; op++) {
            cr_expect_geq(p->costs->gpu[op].compute_ns, 0);
            cr_expect_geq(p->costs->cpu[op].compute_ns, 0);
        }
        EXPECT_REFUSED(emp_sim_create(&sim, p, &err), EMP_EUNSUPPORTED,
                       " in all; at most");
        cr_expect_null(sim);
    }
}

/* Creates with one op and its tensor: creation begins to allocate, or refuses. */
static void expect_edges(int32_t inputs, int32_t controls, emp_status want,
                         const char *part)
{
    const long  before_arrays = 3;
    emp_runtime runtime = tiny_list_scheduling();
    OWN_TASK    t;
    emp_sim    *sim = NULL;

    task_create_ops(&t, "1", &runtime);
    t.graph->input_offset[1] = inputs;
    t.graph->control_offset[1] = controls;
    emp_mem_fail_after(before_arrays);
    EXPECT_REFUSED(emp_sim_create(&sim, t.problem, &err), want, part);
    emp_mem_fail_after(-1);
    cr_expect_null(sim);
    t.graph->input_offset[1] = t.graph->control_offset[1] = 0;
}

Test(engine, refuses_more_than_it_can_number)
{
    const int32_t others = 16 * (1 + 1) + 2 * 1 + (1 << 13) - 1,
                  most = INT32_MAX - others;

    expect_edges(0, most, EMP_ENOMEM, "");
    expect_edges(0, most + 1, EMP_EUNSUPPORTED, "takes up to 2147483648 numbers");
    expect_edges(most / 2, 0, EMP_ENOMEM, "");
    expect_edges(INT32_MAX / 2 - others / 2 + 1, 0, EMP_EUNSUPPORTED, "1 tensors");
}

/* Graphs of millions of ops have to fit: a cache line an op, 24 bytes a tensor and a copy, and links. */
Test(engine, takes_a_few_cache_lines_an_op)
{
    OWN_TASK t;
    OWN_SIM  sim = NULL;
    int32_t  ops = 0;

    task_create(&t, "nmt:layers=2", "k40x4", "ideal");
    for (emp_op_id op = 0; op < t.graph->op_count; op++)
        ops += !t.graph->op[op].is_folded;
    const int64_t before = emp_mem_live_bytes();
    ASSERT_OK(emp_sim_create(&sim, t.problem, &err));
    const int64_t bytes = emp_mem_live_bytes() - before;
    cr_expect_leq(bytes / ops, BYTES_PER_OP, "%" PRId64 " bytes for %d ops", bytes, ops);
}
