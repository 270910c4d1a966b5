// SPDX-License-Identifier: GPL-3.0-or-later
/* Do the plain objectives of Tarnawski et al. give what their rules give by hand? */
#include <criterion/criterion.h>
#include <inttypes.h>

#include "base/mem.h"
#include "tests/sim/engine/random_problem.h"
#include "tests/support/plain/msr_plain.h"

enum { SEEDS = 200 };

static msr_result run(plain_step *step, const int64_t *transfer_ns)
{
    msr_result result;
    int64_t    no_bytes[8] = {0};

    step->temporary_bytes = no_bytes;
    if (step->persistent_bytes == NULL) step->persistent_bytes = no_bytes;
    msr_plain_run(step, transfer_ns, &result);
    cr_expect_eq(emp_mem_live_blocks(), 0);
    return result;
}

/* Two outputs, of 2^31 B and 2^22 B, are read, the latter twice; one is not. */
Test(msr_plain, charges_the_outputs_that_are_read)
{
    plain_step step = {
        .op_count = 3,
        .tensor_count = 3,
        .edge_count = 3,
        .tensor = (plain_tensor[]){{0, 0, INT64_C(1) << 31}, {0, 0, 1 << 22}, {0, 0, 77}},
        .edge = (plain_edge[]){{0, 1, 0}, {0, 1, 1}, {0, 2, 1}}};
    int64_t transfer_ns[3];

    msr_plain_transfers(&step, transfer_ns);
    cr_expect_eq(transfer_ns[0], 1000000000 + 1953125);
    cr_expect_eq(transfer_ns[1], 0);
}

/* Device 0 is the CPU. Ops: 0 CPU (5), 1 and 2 GPU 1 (10, 20), 3 GPU 2 (30), 4 CPU (7);
 * edges 0 -> 1, 1 -> 2, 1 -> 3, 2 -> 3, 3 -> 4; c = 1, 2, 3, 4, 9.
 *
 *     load   CPU 5 + 7 = 12
 *            GPU 1  10 + 20, c0 in, c1 and c2 out: 36
 *            GPU 2  30, c1 and c2 in, c3 out: 39
 *     latency  op 0 ends at 5; GPU 1 takes 36, to 41; GPU 2 takes 39, to 80; op 4 to 87 */
Test(msr_plain, charges_both_sides_of_a_transfer_once)
{
    plain_edge edges[] = {{0, 1, 0}, {1, 2, 1}, {1, 3, 1}, {2, 3, 2}, {3, 4, 3}};
    plain_step step = {
        .op_count = 5,
        .device_count = 3,
        .tensor_count = 4,
        .edge_count = 5,
        .is_cpu = (bool[]){true, false, false},
        .cost_ns = (int64_t[]){5, 0, 0, 0, 10, 0, 0, 20, 0, 0, 0, 30, 7, 0, 0},
        .persistent_bytes = (int64_t[]){0, 1000, 0, 0, 0},
        .tensor = (plain_tensor[]){{0, 8, 0}, {1, 16, 0}, {2, 32, 0}, {3, 64, 0}},
        .edge = edges,
        .device_of_op = (int32_t[]){0, 1, 1, 2, 0}};
    const int64_t c[] = {1, 2, 3, 4, 9};

    msr_result r = run(&step, c);
    cr_expect_eq(r.load_ns[0], 12);
    cr_expect_eq(r.load_ns[1], 36);
    cr_expect_eq(r.load_ns[2], 39);
    cr_expect_eq(r.max_load_ns, 39);
    cr_expect_eq(r.latency_ns, 87);
    cr_expect_eq(r.run_count, 2);
    cr_expect_eq(r.size_bytes[0], 8);
    cr_expect_eq(r.size_bytes[1], 1000 + 16 + 32);
    cr_expect_eq(r.size_bytes[2], 64);
}

/* Ops 0 and 2 on the GPU (10, 20), op 1 on the CPU (5), edges 0 -> 1 -> 2 and 0 -> 2;
 * c = 2, 3, 0. Two runs: op 0 with c0 out, to 12; op 1 to 17; op 2 with c0 and c1 in, to
 * 42. The load counts c0 once: 10 + 20 + 2 + 3. Without 0 -> 1 there is one run, which
 * waits for op 1: 5 + c1 + 30 = 38. */
Test(msr_plain, divides_what_leaves_the_gpu_and_comes_back)
{
    plain_step    step = {.op_count = 3,
                          .device_count = 2,
                          .tensor_count = 2,
                          .edge_count = 3,
                          .is_cpu = (bool[]){true, false},
                          .cost_ns = (int64_t[]){0, 10, 5, 0, 0, 20},
                          .tensor = (plain_tensor[]){{0, 0, 0}, {1, 0, 0}},
                          .edge = (plain_edge[]){{0, 1, 0}, {0, 2, 0}, {1, 2, 1}},
                          .device_of_op = (int32_t[]){1, 0, 1}};
    const int64_t c[] = {2, 3, 0};

    msr_result r = run(&step, c);
    cr_expect_eq(r.latency_ns, 42);
    cr_expect_eq(r.run_count, 2);
    cr_expect_eq(r.max_load_ns, 35);
    step.edge++, step.edge_count--;
    r = run(&step, c);
    cr_expect_eq(r.latency_ns, 38);
    cr_expect_eq(r.run_count, 1);
}

/* Ops 0 and 3 on GPU 1, ops 1 and 2 on GPU 2, 10 each, edges 0 -> 1 and 2 -> 3, c = 1.
 * No path leaves a GPU and comes back, yet one run each would wait for each other. In the
 * order 0, 1, 2, 3 the last op starts a new run:
 *
 *     {0}     0 + 10 + c0 = 11
 *     {1, 2}  11 + c0 + 20 + c2 = 33
 *     {3}     33 + c2 + 10 = 44 */
Test(msr_plain, breaks_circles_of_runs)
{
    plain_step    step = {.op_count = 4,
                          .device_count = 3,
                          .tensor_count = 2,
                          .edge_count = 2,
                          .is_cpu = (bool[]){true, false, false},
                          .cost_ns = (int64_t[]){0, 10, 10, 0, 10, 10, 0, 10, 10, 0, 10, 10},
                          .tensor = (plain_tensor[]){{0, 0, 0}, {2, 0, 0}},
                          .edge = (plain_edge[]){{0, 1, 0}, {2, 3, 1}},
                          .device_of_op = (int32_t[]){1, 2, 2, 1}};
    const int64_t c[] = {1, 1, 1, 1};

    msr_result r = run(&step, c);
    cr_expect_eq(r.latency_ns, 44);
    cr_expect_eq(r.run_count, 3);
    cr_expect_eq(r.max_load_ns, 22);
    step.edge[1].tensor = step.edge[0].tensor = PLAIN_CONTROL; /* carry nothing */
    cr_expect_eq(run(&step, c).latency_ns, 40);
    cr_expect_eq(run(&step, c).max_load_ns, 20);
}

static void run_step(const plain_step *step, msr_result *r)
{
    int64_t *transfer_ns = EMP_NEW_ARRAY(int64_t, (size_t)step->op_count);

    cr_assert_neq(transfer_ns, NULL);
    msr_plain_transfers(step, transfer_ns);
    msr_plain_run(step, transfer_ns, r);
    emp_free(transfer_ns);
}

/* On a single GPU the load and the latency are the sum of costs; on the CPU the load is,
 * and the latency is at most that. */
Test(msr_plain, adds_up_costs_on_one_device)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        task       r;
        plain_step step;
        msr_result got;
        random_problem_create(&r, seed);
        int last = r.machine->device_count - 1;
        for (int op = 0; op < r.graph->op_count; op++) r.device_of_op[op] = last;
        plain_step_create(&step, r.problem, r.device_of_op);
        int64_t sum_ns = 0;
        for (int op = 0; op < step.op_count; op++) {
            sum_ns += plain_step_cost_ns(&step, op);
        }
        run_step(&step, &got);
        cr_expect_eq(got.max_load_ns, sum_ns, "seed %" PRIu64, seed);
        cr_expect(last == 0 ? got.latency_ns <= sum_ns : got.latency_ns == sum_ns,
                  "seed %" PRIu64, seed);
        plain_step_destroy(&step);
        task_destroy(&r);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(msr_plain, does_not_see_unused_devices)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        task       r;
        plain_step step;
        msr_result got, want;
        random_problem_create(&r, seed);
        plain_step_create(&step, r.problem, r.device_of_op);
        run_step(&step, &want);
        plain_step_destroy(&step);
        r.machine->device[r.machine->device_count++].kind = EMP_DEVICE_GPU;
        plain_step_create(&step, r.problem, r.device_of_op);
        run_step(&step, &got);
        plain_step_destroy(&step);
        cr_expect_eq(got.max_load_ns, want.max_load_ns, "seed %" PRIu64, seed);
        cr_expect_eq(got.latency_ns, want.latency_ns, "seed %" PRIu64, seed);
        cr_expect_eq(got.run_count, want.run_count, "seed %" PRIu64, seed);
        cr_expect_arr_eq(got.load_ns, want.load_ns, sizeof got.load_ns);
        cr_expect_arr_eq(got.size_bytes, want.size_bytes, sizeof got.size_bytes);
        task_destroy(&r);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* The published division of a device's ops: how often a path to the op left the device and
 * came back, plus 1 on the device itself; 0 before the device was met. Ids of random
 * problems are in topological order. */
static int32_t visits(const plain_step *s, int32_t device, int32_t *visit_of_op)
{
    int32_t most = 0;

    for (int op = 0; op < s->op_count; op++) {
        bool is_inside = s->device_of_op[op] == device;
        visit_of_op[op] = is_inside ? 1 : 0;
        for (int e = 0; e < s->edge_count; e++) {
            if (s->edge[e].consumer != op) continue;
            int     from = s->edge[e].producer;
            int32_t visit = visit_of_op[from];
            if (is_inside && s->device_of_op[from] != device) visit++;
            if (visit > visit_of_op[op]) visit_of_op[op] = visit;
        }
        if (is_inside && visit_of_op[op] > most) most = visit_of_op[op];
    }
    return most;
}

/* With one GPU the published division always works. */
Test(msr_plain, divides_as_published_with_one_gpu)
{
    int divided = 0;

    for (uint64_t seed = 0; seed < 2 * SEEDS; seed++) {
        task       r;
        plain_step step;
        msr_result got;
        random_problem_create(&r, seed);
        for (int op = 0; op < r.graph->op_count; op++) {
            if (r.device_of_op[op] > 1) r.device_of_op[op] = 1;
        }
        plain_step_create(&step, r.problem, r.device_of_op);
        int32_t *visit_of_op = EMP_NEW_ARRAY(int32_t, (size_t)step.op_count);
        run_step(&step, &got);
        int32_t want = visits(&step, 1, visit_of_op);
        cr_expect_eq(got.run_count, want, "seed %" PRIu64 ": %d runs, want %d", seed,
                     got.run_count, want);
        divided += want > 1;
        emp_free(visit_of_op);
        plain_step_destroy(&step);
        task_destroy(&r);
    }
    cr_expect_gt(divided, SEEDS / 10);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}
