// SPDX-License-Identifier: GPL-3.0-or-later
/* Do the plain simulators of other people's rules (docs/simulator.md) compute what those rules
 * give by hand, and are problems handed to them as they are? */
#include "tests/sim/engine/random_problem.h"
#include "tests/support/plain/baechi_plain.h"
#include "tests/support/plain/edges_plain.h"
#include "tests/support/plain/msr_plain.h"
#include "tests/support/plain/placeto_plain.h"
#include "tests/support/survive.h"

enum { SEEDS = 200, OPS = 5, TENSORS = 4, EDGES = 5 };
enum { GAP = 5700, BUS = 25000, BYTES = 10000, COPY = 1754 + 134000 };

typedef enum { PLACETO, BAECHI, GIPH } rules;

TestSuite(plain, .fini = expect_all_freed);

Test(plain, transfers_are_rounded_to_the_nearest_nanosecond)
{
    cr_expect_eq(placeto_transfer_ns(0), 0);
    cr_expect_eq(placeto_transfer_ns(38), 5);
    cr_expect_eq(placeto_transfer_ns(1), 0);  /* 0.13 */
    cr_expect_eq(placeto_transfer_ns(4), 1);  /* 0.53 */
    cr_expect_eq(placeto_transfer_ns(19), 3); /* 2.5 */
    cr_expect_eq(placeto_transfer_ns(INT64_C(76) << 54), INT64_C(10) << 54);
    cr_expect_eq(baechi_transfer_ns(0), 134000);
    cr_expect_eq(baechi_transfer_ns(BYTES), COPY);
    cr_expect_eq(baechi_transfer_ns(2), 134000);    /* 0.35 */
    cr_expect_eq(baechi_transfer_ns(3), 134001);    /* 0.53 */
    cr_expect_eq(baechi_transfer_ns(2500), 134439); /* 438.5 */
    cr_expect_eq(plain_scale(7, 5, 38), 1);
    cr_expect_eq(plain_scale(INT64_MAX, 1, 1), INT64_MAX);
    cr_expect_eq(plain_scale(INT64_C(1) << 60, 1953125, INT64_C(1) << 22),
                 INT64_C(1953125) << 38);
}

/* ---- steps by hand ---- */

/* An op costs the same on every device. */
struct hand_step {
    const char  *what;
    rules        rules;
    int32_t      op_count, device_count, tensor_count, edge_count;
    int32_t      device[OPS];
    int64_t      cost_ns[OPS], temporary[OPS], persistent[OPS];
    plain_tensor tensor[TENSORS];
    plain_edge   edge[EDGES];
    int64_t      message_ns[EDGES];
    int64_t      start_ns[OPS], step_ns, transfers, traffic, peak; /* of device 0 */
};

static const struct hand_step steps[] = {
    {"a gap follows ops that cost something", PLACETO, 3, 1, 0, 2,
     .cost_ns = {10000, 0, 20000}, .edge = {{0, 1, PLAIN_CONTROL}, {1, 2, PLAIN_CONTROL}},
     .start_ns = {0, 10000 + GAP, 10000 + GAP}, .step_ns = 10000 + GAP + 0 + 20000 + GAP},
    /* Op 0 has two outputs: A of 76,000 B (10 us on the bus) and B of 38 B (5 ns). Ops 1 and 2 read A,
     * op 3 reads B, op 4 reads A on device 0.
     *
     *     device 0   op 0 0 .. 10, gap to 15.7; op 4 15.7 .. 21.7, gap to 27.4
     *     bus 0      A 10 .. 20 to both devices at once, busy to 45; B 45 .. 45.005, to 70.005
     *     device 1   op 1 20 .. 22; op 3 45.005 .. 46.005, gap to 51.705
     *     device 2   op 2 20 .. 24
     *
     * The step ends with the bus. Memory of device 0: A and B from 0 until op 3's end less 1 us; op 4's
     * output of 100 B, which nobody reads, at 15.7 on top. */
    {"an output is sent once and keeps the bus", PLACETO, 5, 3, 3, 4,
     .device = {0, 1, 2, 1, 0}, .cost_ns = {10000, 2000, 4000, 1000, 6000},
     .tensor = {{0, 76000, 76000}, {0, 38, 38}, {4, 100, 100}},
     .edge = {{0, 1, 0}, {0, 2, 0}, {0, 3, 1}, {0, 4, 0}},
     .start_ns = {0, 20000, 20000, 20000 + BUS + 5, 10000 + GAP},
     .step_ns = 20000 + BUS + 5 + BUS, .transfers = 2, .traffic = 76038, .peak = 76138},
    /* Both tensors arrive at device 2 at 10.005. Op 3 reads op 0, op 2 reads op 1: releases go by
     * producer, so that op 3 runs first, 10.005 .. 11.005, gap to 16.705, then op 2. */
    {"simultaneous arrivals go by producer", PLACETO, 4, 3, 2, 2, .device = {0, 1, 2, 2},
     .cost_ns = {10000, 10000, 1000, 1000}, .tensor = {{0, 38, 38}, {1, 38, 38}},
     .edge = {{0, 3, 0}, {1, 2, 1}}, .start_ns = {0, 0, 10005 + 1000 + GAP, 10005},
     .step_ns = 10005 + BUS, .transfers = 2, .traffic = 76, .peak = 38},
    /* Op 0 has no outputs: a transfer of 0 B, which takes no time but keeps the bus. The output 0 of op
     * 1, of 76,000 B, is carried by the control edge to op 2; its bus sends at 20 .. 30 us. */
    {"a control edge carries output 0", PLACETO, 3, 2, 1, 2, .device = {0, 1, 0},
     .cost_ns = {10000, 10000, 10000}, .tensor = {{1, 76000, 76000}},
     .edge = {{0, 1, PLAIN_CONTROL}, {1, 2, PLAIN_CONTROL}},
     .start_ns = {0, 10000, 30000}, .step_ns = 30000 + BUS, .transfers = 2,
     .traffic = 76000},
    /* The first output is held until 24.7, the second until 40.4: 300 B at 15.7, 250 B at 31.4. */
    {"outputs are freed before their last reader ends", PLACETO, 3, 1, 3, 2,
     .cost_ns = {10000, 10000, 10000}, .tensor = {{0, 100, 0}, {1, 200, 0}, {2, 50, 0}},
     .edge = {{0, 1, 0}, {1, 2, 1}}, .start_ns = {0, 15700, 31400}, .step_ns = 47100,
     .peak = 300},
    /* 15.7 .. 16.2: the first is freed at 15.2, before the second's output is there. The third starts
     * at 21.9 and holds the second. */
    {"an output may be freed before its reader starts", PLACETO, 3, 1, 3, 2,
     .cost_ns = {10000, 500, 10000}, .tensor = {{0, 100, 0}, {1, 200, 0}, {2, 50, 0}},
     .edge = {{0, 1, 0}, {1, 2, 1}}, .start_ns = {0, 15700, 21900}, .step_ns = 37600,
     .peak = 250},
    {"without the third op", PLACETO, 2, 1, 2, 1, .cost_ns = {10000, 500},
     .tensor = {{0, 100, 0}, {1, 200, 0}}, .edge = {{0, 1, 0}}, .start_ns = {0, 15700},
     .step_ns = 21900, .peak = 200},
    /* channel of 0: to device 1 10 .. 10 + K, to device 2 10 + K .. 10 + 2K; op 2 finds the tensor in the
     * cache of device 1. */
    {"a tensor is sent once per device, one after another", BAECHI, 4, 3, 1, 3,
     .device = {0, 1, 1, 2}, .cost_ns = {10000, 5000, 5000, 5000},
     .tensor = {{0, BYTES, BYTES}}, .edge = {{0, 1, 0}, {0, 2, 0}, {0, 3, 0}},
     .start_ns = {0, 10000 + COPY, 15000 + COPY, 10000 + 2 * COPY},
     .step_ns = 15000 + 2 * COPY, .transfers = 2, .traffic = 2 * BYTES, .peak = BYTES},
    /* Ops 0 and 1 are ready at 0, so that op 0 is served first and books device 2's channel for 500 ..
     * 500 + K. Op 1 then sends from 10, is received there 500 + K .. 500 + 2K, but its own channel is
     * free at 10 + K, when it sends to device 3, 10 + K .. 10 + 2K. */
    {"channels are booked in the order of service", BAECHI, 5, 4, 2, 3,
     .device = {0, 1, 2, 2, 3}, .cost_ns = {500000, 10000, 1000, 1000, 1000},
     .tensor = {{0, BYTES, BYTES}, {1, BYTES, BYTES}},
     .edge = {{0, 2, 0}, {1, 3, 1}, {1, 4, 1}},
     .start_ns = {0, 0, 500000 + COPY, 500000 + 2 * COPY, 10000 + 2 * COPY},
     .step_ns = 501000 + 2 * COPY, .transfers = 3, .traffic = 3 * BYTES, .peak = BYTES},
    {"a channel is half duplex", BAECHI, 4, 2, 2, 2, .device = {0, 1, 1, 0},
     .tensor = {{0, BYTES, BYTES}, {1, BYTES, BYTES}}, .edge = {{0, 2, 0}, {1, 3, 1}},
     .start_ns = {0, 0, COPY, 2 * COPY}, .step_ns = 2 * COPY, .transfers = 2,
     .traffic = 2 * BYTES, .peak = BYTES},
    /* one tensor of 4 B: 0.70 -> 1 ns */
    {"control edges send four bytes once", BAECHI, 3, 2, 0, 2, .device = {0, 1, 1},
     .cost_ns = {10000, 5000, 5000},
     .edge = {{0, 1, PLAIN_CONTROL}, {0, 2, PLAIN_CONTROL}},
     .start_ns = {0, 10000 + 134001, 15000 + 134001}, .step_ns = 20000 + 134001,
     .transfers = 1, .traffic = 4},
    /*     op 0: outputs 100, keeps 7, temporary 50    107, 157, 107
     *     op 1: outputs 30, temporary 500             137, 637, 137, less op 0's 100: 37
     *     op 2: outputs 600, nobody reads them        637, less op 1's 30: 607
     *     op 3: outputs 40                            647 */
    {"memory is counted in the order of service", BAECHI, 4, 1, 4, 3,
     .cost_ns = {1, 1, 1, 1}, .temporary = {50, 500}, .persistent = {7},
     .tensor = {{0, 100, 0}, {1, 30, 0}, {2, 600, 0}, {3, 40, 0}},
     .edge = {{0, 1, 0}, {1, 2, 1}, {2, 3, PLAIN_CONTROL}}, .start_ns = {0, 1, 2, 3},
     .step_ns = 4, .peak = 647},
    {"without the last op", BAECHI, 3, 1, 3, 2, .cost_ns = {1, 1, 1},
     .temporary = {50, 500}, .persistent = {7},
     .tensor = {{0, 100, 0}, {1, 30, 0}, {2, 600, 0}}, .edge = {{0, 1, 0}, {1, 2, 1}},
     .start_ns = {0, 1, 2}, .step_ns = 3, .peak = 637},
    /* device 1: op 1 17 .. 22, op 2, there at 18, 22 .. 27; device 2: op 3 19 .. 24 */
    {"every edge is a message", GIPH, 4, 3, 1, 3, .device = {0, 1, 1, 2},
     .cost_ns = {10, 5, 5, 5}, .tensor = {{0, 64, 100}},
     .edge = {{0, 1, 0}, {0, 2, 0}, {0, 3, 0}}, .message_ns = {7, 8, 9},
     .start_ns = {0, 17, 22, 19}, .step_ns = 27, .transfers = 3, .traffic = 300,
     .peak = 64},
    /* Device 0: ops 0 and 3 are ready at 0, op 2 at 7; so 0, 3, 2. */
    {"the op that was ready first is served first", GIPH, 4, 2, 1, 1,
     .device = {0, 1, 0, 0}, .cost_ns = {10, 4, 5, 20}, .tensor = {{1, 0, 1}},
     .edge = {{1, 2, 0}}, .message_ns = {3}, .start_ns = {0, 0, 30, 10}, .step_ns = 35,
     .transfers = 1, .traffic = 1},
    {"on one device ops go by id, without messages", GIPH, 4, 2, 1, 1,
     .cost_ns = {10, 4, 5, 20}, .tensor = {{1, 0, 1}}, .edge = {{1, 2, 0}},
     .message_ns = {3}, .start_ns = {0, 10, 34, 14}, .step_ns = 39},
};

static void run_rules(rules r, const plain_step *step, const int64_t *message_ns,
                      int64_t *start_ns, plain_result *result)
{
    if (r == PLACETO) placeto_plain_run(step, start_ns, result);
    if (r == BAECHI) baechi_plain_run(step, start_ns, result);
    if (r == GIPH) edges_plain_run(step, message_ns, start_ns, result);
}

Test(plain, steps_are_those_worked_out_by_hand)
{
    for (size_t i = 0; i < COUNT(steps); i++) {
        struct hand_step h = steps[i];
        bool             is_cpu[OPS] = {false};
        int64_t          cost_ns[OPS * OPS], start_ns[OPS];
        plain_result     r;
        plain_step       step = {.op_count = h.op_count,
                                 .device_count = h.device_count,
                                 .tensor_count = h.tensor_count,
                                 .edge_count = h.edge_count,
                                 .is_cpu = is_cpu,
                                 .cost_ns = cost_ns,
                                 .temporary_bytes = h.temporary,
                                 .persistent_bytes = h.persistent,
                                 .tensor = h.tensor,
                                 .edge = h.edge,
                                 .device_of_op = h.device};
        for (int k = 0; k < h.op_count * h.device_count; k++)
            cost_ns[k] = h.cost_ns[k / h.device_count];
        run_rules(h.rules, &step, h.message_ns, start_ns, &r);
        for (int op = 0; op < h.op_count; op++)
            cr_expect_eq(start_ns[op], h.start_ns[op], "%s: op %d at %" PRId64, h.what,
                         op, start_ns[op]);
        cr_expect_eq(r.step_time_ns, h.step_ns, "%s: %" PRId64, h.what, r.step_time_ns);
        cr_expect_eq(r.transfer_count, h.transfers, "%s", h.what);
        cr_expect_eq(r.traffic_bytes, h.traffic, "%s", h.what);
        cr_expect_eq(r.peak_bytes[0], h.peak, "%s: %" PRId64, h.what, r.peak_bytes[0]);
        for (int op = 0; op < h.op_count; op++) r.busy_ns[h.device[op]] -= h.cost_ns[op];
        for (int d = 0; d < h.device_count; d++)
            cr_expect_eq(r.busy_ns[d], 0, "%s: busy time of device %d", h.what, d);
    }
}

/* ---- the objectives of Tarnawski et al. by hand ---- */

static msr_result run_msr(plain_step *step, const int64_t *transfer_ns)
{
    msr_result result;
    int64_t    no_bytes[OPS] = {0};

    step->temporary_bytes = no_bytes;
    if (step->persistent_bytes == NULL) step->persistent_bytes = no_bytes;
    msr_plain_run(step, transfer_ns, &result);
    return result;
}

/* Two outputs, of 2^31 B and 2^22 B, are read, the latter twice; one is not. */
Test(plain, msr_charges_the_outputs_that_are_read)
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
Test(plain, msr_charges_both_sides_of_a_transfer_once)
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

    msr_result r = run_msr(&step, (const int64_t[]){1, 2, 3, 4, 9});
    cr_expect_arr_eq(r.load_ns, ((int64_t[]){12, 36, 39}), 3 * sizeof(int64_t));
    cr_expect_eq(r.max_load_ns, 39);
    cr_expect_eq(r.latency_ns, 87);
    cr_expect_eq(r.run_count, 2);
    cr_expect_arr_eq(r.size_bytes, ((int64_t[]){8, 1048, 64}), 3 * sizeof(int64_t));
}

/* Ops 0 and 2 on the GPU (10, 20), op 1 on the CPU (5), edges 0 -> 1 -> 2 and 0 -> 2;
 * c = 2, 3, 0. Two runs: op 0 with c0 out, to 12; op 1 to 17; op 2 with c0 and c1 in, to
 * 42. The load counts c0 once: 10 + 20 + 2 + 3. Without 0 -> 1 there is one run, which
 * waits for op 1: 5 + c1 + 30 = 38. */
Test(plain, msr_divides_what_leaves_the_gpu_and_comes_back)
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

    msr_result r = run_msr(&step, c);
    cr_expect(r.latency_ns == 42 && r.run_count == 2 && r.max_load_ns == 35);
    step.edge++, step.edge_count--;
    r = run_msr(&step, c);
    cr_expect(r.latency_ns == 38 && r.run_count == 1);
}

/* Ops 0 and 3 on GPU 1, ops 1 and 2 on GPU 2, 10 each, edges 0 -> 1 and 2 -> 3, c = 1.
 * No path leaves a GPU and comes back, yet one run each would wait for each other. In the
 * order 0, 1, 2, 3 the last op starts a new run:
 *
 *     {0}     0 + 10 + c0 = 11
 *     {1, 2}  11 + c0 + 20 + c2 = 33
 *     {3}     33 + c2 + 10 = 44 */
Test(plain, msr_breaks_circles_of_runs)
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

    msr_result r = run_msr(&step, c);
    cr_expect(r.latency_ns == 44 && r.run_count == 3 && r.max_load_ns == 22);
    step.edge[1].tensor = step.edge[0].tensor = PLAIN_CONTROL; /* carry nothing */
    r = run_msr(&step, c);
    cr_expect(r.latency_ns == 40 && r.max_load_ns == 20);
}

/* ---- random problems ---- */

struct outcome {
    plain_result r[GIPH + 1];
    msr_result   msr;
};

static void run_all(const plain_step *step, const emp_problem *problem,
                    struct outcome *out)
{
    OWN_EMP_FREE int64_t *message_ns = EMP_NEW_ARRAY(int64_t, (size_t)step->edge_count);
    OWN_EMP_FREE int64_t *transfer_ns = EMP_NEW_ARRAY(int64_t, (size_t)step->op_count);

    cr_assert(message_ns != NULL && transfer_ns != NULL);
    edges_plain_messages(step, problem, message_ns);
    for (rules k = PLACETO; k <= GIPH; k++)
        run_rules(k, step, message_ns, NULL, &out->r[k]);
    msr_plain_transfers(step, transfer_ns);
    msr_plain_run(step, transfer_ns, &out->msr);
}

/* On one device nothing waits but for the device, and Placeto's gap follows each op; the latency on
 * the CPU may be less, as its ops do not wait for each other. */
Test(plain, costs_add_up_on_one_device)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        OWN_TASK t;
        SCOPED(plain_step, plain_step_destroy) step;
        struct outcome got;
        int64_t        sum_ns = 0, gaps_ns = 0;
        random_problem_create(&t, seed);
        int last = t.machine->device_count - 1;
        for (int op = 0; op < t.graph->op_count; op++) t.device_of_op[op] = last;
        plain_step_create(&step, t.problem, t.device_of_op);
        for (int op = 0; op < step.op_count; op++) {
            int64_t cost_ns = plain_step_cost_ns(&step, op);
            sum_ns += cost_ns;
            gaps_ns += cost_ns > 0 ? GAP : 0;
        }
        run_all(&step, t.problem, &got);
        cr_expect_eq(got.r[PLACETO].step_time_ns, sum_ns + gaps_ns, SEED);
        cr_expect_eq(got.r[BAECHI].step_time_ns, sum_ns, SEED);
        cr_expect_eq(got.r[GIPH].step_time_ns, sum_ns, SEED);
        cr_expect_eq(got.r[GIPH].busy_ns[last], sum_ns, SEED);
        cr_expect_eq(got.r[GIPH].transfer_count, 0, SEED);
        cr_expect_eq(got.msr.max_load_ns, sum_ns, SEED);
        cr_expect_leq(got.msr.latency_ns, sum_ns, SEED);
        cr_expect(last == 0 || got.msr.latency_ns == sum_ns, SEED);
    }
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
Test(plain, msr_divides_as_published_with_one_gpu)
{
    int divided = 0;

    for (uint64_t seed = 0; seed < 2 * SEEDS; seed++) {
        OWN_TASK t;
        SCOPED(plain_step, plain_step_destroy) step;
        struct outcome got;
        random_problem_create(&t, seed);
        for (int op = 0; op < t.graph->op_count; op++)
            if (t.device_of_op[op] > 1) t.device_of_op[op] = 1;
        plain_step_create(&step, t.problem, t.device_of_op);
        OWN_EMP_FREE int32_t *visit_of_op = EMP_NEW_ARRAY(int32_t, (size_t)step.op_count);
        run_all(&step, t.problem, &got);
        int32_t want = visits(&step, 1, visit_of_op);
        cr_expect_eq(got.msr.run_count, want, "seed %" PRIu64 ": %d runs, want %d", seed,
                     got.msr.run_count, want);
        divided += want > 1;
    }
    cr_expect_gt(divided, SEEDS / 10);
}
