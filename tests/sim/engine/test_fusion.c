// SPDX-License-Identifier: GPL-3.0-or-later
/* Is a step with fused ops the one of docs/simulator.md, and does it leave no trace in the next one?
 * Which ops may fuse, and does a set cost what its formula says? */
#include "sim/engine/sim.h"
#include "sim/problem/fusion.h"
#include "tests/sim/engine/random_problem.h"
#include "tests/support/problems.h"
#include "tests/support/survive.h"

EMP_OWNS(emp_fusion, emp_fusion_destroy)
#define OWN_FUSION EMP_OWNER(emp_fusion)

enum { PROBLEMS = 300, PLACEMENTS = 3 };

TestSuite(fusion, .fini = expect_all_freed);

/* Ops of all classes, half of which nobody fetches: what random graphs lack. */
static void make_fusable(task *t)
{
    static const emp_op_class classes[] = {
        EMP_OP_ELEMENTWISE, EMP_OP_ELEMENTWISE, EMP_OP_KERNELLESS, EMP_OP_MOVEMENT,
        EMP_OP_REDUCTION,   EMP_OP_GEMM,        EMP_OP_CONV,       EMP_OP_NORM};
    emp_graph *g = t->graph;
    emp_rng    stream, *rng = &stream;

    emp_rng_init(rng, (uint64_t)g->op_count, 5, 0);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        g->is_target[op] = emp_rng_below(rng, 9) == 0;
        if (emp_rng_below(rng, 9) > 0) g->op[op].host_input_mask = 0;
        emp_op_cost *cost = emp_graph_own_cost(g, op);
        cost->op_class = classes[emp_rng_below(rng, 8)];
        cost->bytes_read = (int64_t)emp_rng_below(rng, 3000);
        cost->bytes_written = (int64_t)emp_rng_below(rng, 3000);
        cost->cpu_cycles = (double)emp_rng_below(rng, 100);
        for (int32_t o = g->output_offset[op]; o < g->output_offset[op + 1]; o++)
            if (emp_rng_below(rng, 9) > 0) g->tensor[o].on_host = false;
    }
}

static int32_t draw_leaders(emp_fusion *fusion, const task *t, uint32_t percent,
                            emp_op_id *leader, emp_rng *rng)
{
    int32_t fused = 0;

    for (emp_op_id op = 0; op < t->graph->op_count; op++)
        leader[op] = emp_rng_below(rng, 100) < percent ? -1 : op;
    emp_fusion_legalize(fusion, t->device_of_op, leader);
    for (emp_op_id op = 0; op < t->graph->op_count; op++) fused += leader[op] != op;
    return fused;
}

static void place_on_last(task *t)
{
    for (emp_op_id op = 0; op < t->graph->op_count; op++)
        t->device_of_op[op] = t->machine->device_count - 1;
    emp_problem_legalize(t->problem, t->device_of_op);
}

/* With leaders alone, with levels as well, and once more without any. */
static int32_t compare_problem(task *t, int number)
{
    const size_t            ops = (size_t)t->graph->op_count;
    OWN_EMP_FREE emp_op_id *leader = EMP_NEW_ARRAY(emp_op_id, ops);
    OWN_EMP_FREE uint8_t   *level = EMP_NEW_ARRAY(uint8_t, ops);
    OWN_FUSION              fusion = NULL;
    OWN_SIM                 sim = NULL;
    emp_rng                 rng;
    int32_t                 fused = 0;

    emp_rng_init(&rng, (uint64_t)number, 5, 1);
    ASSERT_OK(emp_fusion_create(&fusion, t->problem, &err));
    ASSERT_OK(emp_sim_create(&sim, t->problem, &err));
    for (int k = 0; k < PLACEMENTS; k++) {
        if (k == 1) place_on_last(t);
        emp_decision d = {.device_of_op = t->device_of_op, .leader_of_op = leader};
        fused += draw_leaders(fusion, t, k == 0 ? 100 : 60, leader, &rng);
        task_expect_textbook(t, sim, &d, number);
        for (size_t op = 0; op < ops; op++) level[op] = (uint8_t)emp_rng_below(&rng, 9);
        d.level_of_op = level;
        task_expect_textbook(t, sim, &d, number);
        task_expect_textbook(t, sim, &(emp_decision){.device_of_op = t->device_of_op},
                             number);
        random_problem_place(t, &rng);
    }
    return fused;
}

static void compare_random(void (*create)(task *, uint64_t))
{
    int64_t fused = 0;

    for (int seed = 0; seed < PROBLEMS; seed++) {
        OWN_TASK t;
        create(&t, (uint64_t)seed);
        make_fusable(&t);
        fused += compare_problem(&t, seed);
    }
    cr_expect_gt(fused, PROBLEMS / 2); /* the cases are worth something */
}

/* Sets, too, take longer on one device than on another. */
static void create_unlike(task *t, uint64_t seed)
{
    random_problem_create_unlike(t, seed);
    for (int32_t d = 0; d < t->machine->device_count; d++)
        t->machine->device[d].time_factor = 1.0 + 0.75 * d;
}

Test(fusion, equals_the_textbook_simulator)
{
    compare_random(random_problem_create);
    compare_random(random_problem_create_hosts);
    compare_random(create_unlike);
}

Test(fusion, equals_the_textbook_simulator_on_workloads)
{
    static const char *const specs[] = {"nmt:layers=2,steps=4", "rnnlm:steps=4",
                                        "resnet:depth=50"};
    static const char *const runtimes[] = {"tf-r1.3", "ideal"};

    for (int i = 0; i < 6; i++) {
        OWN_TASK t;
        emp_rng  rng;
        task_create(&t, specs[i / 2], "k40x4", runtimes[i % 2]);
        emp_rng_init(&rng, (uint64_t)i, 0, 0);
        random_problem_place(&t, &rng);
        cr_expect_gt(compare_problem(&t, i), t.graph->op_count / 4);
    }
}

static void take_devices(const task *t, emp_decision *d, emp_op_id *leader)
{
    OWN_FUSION fusion = NULL;

    cr_assert_eq(emp_fusion_create(&fusion, t->problem, NULL), EMP_OK);
    for (emp_op_id op = 0; op < t->graph->op_count; op++) leader[op] = -1;
    emp_fusion_legalize(fusion, t->device_of_op, leader);
    *d = (emp_decision){.device_of_op = t->device_of_op, .leader_of_op = leader};
}

Test(fusion, spares_time)
{
    OWN_TASK       t;
    emp_decision   d;
    emp_sim_result fused = {0};

    task_create(&t, "nmt:layers=2,steps=4", "k40x2", "tf-r1.3");
    const size_t            ops = (size_t)t.graph->op_count;
    OWN_EMP_FREE emp_op_id *leader = EMP_NEW_ARRAY(emp_op_id, ops);
    emp_sim_times           times = {EMP_NEW_ARRAY(emp_time_ns, ops),
                                     EMP_NEW_ARRAY(emp_time_ns, ops)};
    for (size_t op = 0; op < ops; op++) t.device_of_op[op] = 1;
    emp_problem_legalize(t.problem, t.device_of_op);
    take_devices(&t, &d, leader);
    emp_sim_result plain = task_run(&t);
    OWN_SIM        sim = task_sim(&t);
    ASSERT_OK(emp_sim_run_timed(sim, &d, &times, &fused, &err));
    cr_expect_lt(fused.step_time_ns, plain.step_time_ns);
    cr_expect_lt(fused.busy_ns[1], plain.busy_ns[1]);
    for (size_t op = 0; op < ops; op++) {
        cr_expect_eq(times.start_ns[op], times.start_ns[leader[op]]);
        cr_expect_eq(times.end_ns[op], times.end_ns[leader[op]]);
    }
    emp_free(times.start_ns);
    emp_free(times.end_ns);
}

/* Leaders that are all themselves allocate nothing; the first that fuse something do. */
Test(fusion, survives_allocation_failures)
{
    OWN_TASK       t = task_chain(100);
    emp_op_id      alone[] = {0, 1, 2, 3, 4}, leader[CHAIN_OPS + 1];
    emp_decision   d = {.device_of_op = t.device_of_op, .leader_of_op = alone};
    OWN_SIM        sim = NULL;
    emp_sim_result result = {0};

    cr_assert_eq(t.graph->op_count, CHAIN_OPS + 1);
    cr_assert_eq(emp_sim_create(&sim, t.problem, NULL), EMP_OK);
    emp_mem_fail_after(0);
    cr_expect_eq(emp_sim_run_decision(sim, &d, &result, NULL), EMP_OK);
    emp_mem_fail_after(-1);
    take_devices(&t, &d, leader);
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_sim_run_decision(sim, &d, &result, NULL), );
    emp_mem_fail_after(0);
    cr_expect_eq(emp_sim_run_decision(sim, &d, &result, NULL), EMP_OK);
    emp_mem_fail_after(-1);
}

static void expect_refused(const task *t, const emp_op_id *leader, emp_status want,
                           const char *part)
{
    emp_decision   d = {.device_of_op = t->device_of_op, .leader_of_op = leader};
    OWN_SIM        sim = task_sim(t);
    emp_sim_result result = {0};

    EXPECT_REFUSED(emp_sim_run_decision(sim, &d, &result, &err), want, part);
}

Test(fusion, leaders_that_mean_nothing_are_refused)
{
    task t = task_chain(100);

    expect_refused(&t, (const emp_op_id[]){0, 1, 2, 3, 7}, EMP_EINVAL,
                   "op 4 (relu3) has the leader 7; ops are 0 to 4");
    expect_refused(&t, (const emp_op_id[]){0, 1, 4, 3, 4}, EMP_EINVAL,
                   "op 2 (relu1) cannot fuse with its leader 4 (relu3): not all");
    t.device_of_op[4] = 1;
    expect_refused(
        &t, (const emp_op_id[]){0, 1, 2, 4, 4}, EMP_EINVAL,
        "op 3 (relu2) cannot fuse with its leader 4 (relu3): its leader is on");
    task_destroy(&t);
    task_create(&t, "rnnlm:steps=4", "k40x2", "placeto");
    OWN_EMP_FREE emp_op_id *leader = EMP_NEW_ARRAY(emp_op_id, (size_t)t.graph->op_count);
    expect_refused(&t, leader, EMP_EUNSUPPORTED, "leave the leaders out");
    task_destroy(&t);
}

/* ---- sets that may fuse ---- */

TestSuite(fused_sets, .fini = expect_all_freed);

static emp_fusion *fusion_of(const task *t)
{
    emp_fusion *fusion = NULL;

    ASSERT_OK(emp_fusion_create(&fusion, t->problem, &err));
    return fusion;
}

static emp_op_id *fuse_all(const task *t, emp_fusion *fusion)
{
    emp_op_id *leader = EMP_NEW_ARRAY(emp_op_id, (size_t)t->graph->op_count);

    for (emp_op_id op = 0; op < t->graph->op_count; op++) leader[op] = -1;
    emp_fusion_legalize(fusion, t->device_of_op, leader);
    return leader;
}

static void expect_costs(const task *t, emp_op_id op, const emp_op_cost *cost,
                         emp_op_id product)
{
    const emp_cost_table     *costs = t->problem->costs;
    const emp_runtime_events *events = &t->problem->runtime.events;

    for (int32_t d = 0; d < t->machine->device_count; d++) {
        const emp_device *device = &t->machine->device[d];
        const size_t      row = emp_cost_row(costs, d, op);
        if (device->kind == EMP_DEVICE_CPU) {
            const emp_op_cost on_cpu = emp_fusion_cost_on_cpu(cost, device);
            cr_expect_eq(emp_cost_lanes(&on_cpu, device), costs->cpu[row].lanes, "op %s",
                         t->graph->name[op]);
            continue;
        }
        emp_gpu_cost got = emp_cost_on_gpu(cost, t->graph, product, device, events);
        cr_expect_eq(got.issue_ns, costs->gpu[row].issue_ns);
        cr_expect_leq(llabs(got.compute_ns - costs->gpu[row].compute_ns), 2,
                      "op %s on %s", t->graph->name[op], device->name);
    }
}

static void expect_one_op_costs_what_it_costs(const char *machine)
{
    task        t;
    emp_op_cost cost;

    task_create(&t, "nmt:layers=2,steps=4", machine, "tf-r1.3");
    emp_fusion *fusion = fusion_of(&t);
    emp_op_id  *alone = EMP_NEW_ARRAY(emp_op_id, (size_t)t.graph->op_count);
    for (emp_op_id op = 0; op < t.graph->op_count; op++) alone[op] = op;
    for (emp_op_id op = 0; op < t.graph->op_count; op++) {
        if (t.graph->op[op].cost->op_class == EMP_OP_OPTIMIZER) continue;
        emp_op_id product = emp_fusion_cost(fusion, &op, 1, alone, &cost);
        expect_costs(&t, op, &cost, product);
    }
    emp_free(alone);
    emp_fusion_destroy(fusion);
    task_destroy(&t);
}

Test(fused_sets, one_op_costs_what_it_costs)
{
    expect_one_op_costs_what_it_costs("k40x2");
    expect_one_op_costs_what_it_costs("a100x4+v100x4");
}

/* Four element-wise ops one after another read their first input and write their last output. */
Test(fused_sets, a_chain_reads_and_writes_once)
{
    const int64_t           elements = 1000;
    OWN_TASK                t = task_chain(elements);
    OWN_FUSION              fusion = fusion_of(&t);
    OWN_EMP_FREE emp_op_id *leader = fuse_all(&t, fusion);
    emp_op_cost             cost;

    for (emp_op_id op = 1; op <= CHAIN_OPS; op++) cr_expect_eq(leader[op], CHAIN_OPS);
    cr_expect_eq(leader[0], 0); /* what the step is fed */
    emp_fusion_cost(fusion, (const emp_op_id[]){1, 2, 3, 4}, 4, leader, &cost);
    cr_expect_eq(cost.bytes_read, 4 * elements);
    cr_expect_eq(cost.bytes_written, 4 * elements);
    cr_expect_eq(cost.kernels, 1);
    cr_expect_eq(cost.cpu_cycles, 4 * t.graph->op[1].cost->cpu_cycles);
}

/* x -> relu -> product -> bias -> relu: what feeds the product stays alone. */
Test(fused_sets, a_product_takes_element_wise_ops_behind_it)
{
    OWN_TASK t;

    hand_graph_begin(&t);
    emp_op_id x = hand_graph_op(&t, "x", "Placeholder", -1);
    emp_op_id before = hand_graph_op(&t, "before", "Relu", x);
    emp_op_id w = hand_graph_op(&t, "w", "VariableV2", -1);
    emp_op_id read = hand_graph_op(&t, "read", "Identity", w);
    emp_op_id product =
        hand_graph_add(&t, "product", "MatMul", (emp_op_id[]){before, read}, 2);
    emp_op_id relu = hand_graph_op(&t, "relu", "Relu", product);
    emp_op_id last = hand_graph_op(&t, "last", "Tanh", relu);
    hand_graph_finish(&t);
    OWN_FUSION              fusion = fusion_of(&t);
    OWN_EMP_FREE emp_op_id *leader = fuse_all(&t, fusion);
    cr_expect_eq(leader[before], before);
    cr_expect_eq(leader[read], read);
    cr_expect_eq(leader[product], last);
    cr_expect_eq(leader[relu], last);
    emp_op_cost        cost;
    const emp_op_cost *alone = t.graph->op[product].cost;
    cr_expect_eq(emp_fusion_cost(fusion, (const emp_op_id[]){product, relu, last}, 3,
                                 leader, &cost),
                 product);
    cr_expect_eq(cost.op_class, alone->op_class);
    cr_expect_eq(cost.m, alone->m);
    cr_expect_eq(cost.bytes_read, alone->bytes_read);
    cr_expect_eq(cost.bytes_written, t.graph->op[last].cost->bytes_written);
    cr_expect_eq(cost.flops, alone->flops);
    cost = emp_fusion_cost_on_cpu(&cost, &t.machine->device[0]);
    cr_expect_gt(cost.flops, alone->flops); /* the cycles of the others */
    cr_expect_eq(cost.cpu_cycles, 0.0);
}

/* x -> exp -> op -> relu: what takes a whole row may end a kernel and not be inside of one; a library's kernels fuse with nothing. */
Test(fused_sets, rows_scatters_and_sorts_are_not_inside_of_loops)
{
    static const struct {
        const char *type;
        int32_t     inputs;
        bool        is_inside, is_last;
    } cases[] = {{"Tanh", 1, true, true},
                 {"SoftmaxGrad", 2, false, true},
                 {"LogSoftmaxGrad", 2, false, true},
                 {"ScatterElements", 3, false, true},
                 {"EmbeddingGrad", 2, false, true},
                 {"FourierTransform", 1, false, false},
                 {"PartialSort", 1, false, false}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        OWN_TASK t;
        hand_graph_begin(&t);
        emp_op_id x = hand_graph_op(&t, "x", "Placeholder", -1);
        emp_op_id y = hand_graph_op(&t, "y", "Placeholder", -1);
        emp_op_id z = hand_graph_op(&t, "z", "Placeholder", -1);
        emp_op_id before = hand_graph_op(&t, "before", "Exp", x);
        emp_op_id op = hand_graph_add(&t, "op", cases[i].type,
                                      (emp_op_id[]){before, y, z}, cases[i].inputs);
        emp_op_id last = hand_graph_op(&t, "last", "Relu", op);
        hand_graph_finish(&t);
        OWN_FUSION              fusion = fusion_of(&t);
        OWN_EMP_FREE emp_op_id *leader = fuse_all(&t, fusion);
        cr_expect_eq(leader[op], cases[i].is_inside ? last : op, "%s", cases[i].type);
        cr_expect_eq(leader[before],
                     cases[i].is_inside ? last
                     : cases[i].is_last ? op
                                        : before,
                     "%s", cases[i].type);
    }
}

/* A wish that is not granted leaves its op alone; what is legal stays. */
Test(fused_sets, wishes_become_legal_and_stay_so)
{
    OWN_TASK t;

    task_create(&t, "rnnlm:steps=4", "k40x2", "tf-r1.3");
    OWN_FUSION fusion = fusion_of(&t);
    for (emp_op_id op = 0; op < t.graph->op_count; op++) t.device_of_op[op] = op / 50 % 3;
    emp_problem_legalize(t.problem, t.device_of_op);
    OWN_EMP_FREE emp_op_id *leader = fuse_all(&t, fusion);
    int32_t                 fused = 0;
    cr_expect_eq(emp_fusion_check(fusion, t.device_of_op, leader, NULL), EMP_OK);
    for (emp_op_id op = 0; op < t.graph->op_count; op++) {
        const emp_op_id was = leader[op];
        fused += was != op;
        if (!t.graph->op[op].is_folded)
            cr_expect_eq(t.device_of_op[op], t.device_of_op[was]);
    }
    cr_expect_gt(fused, 20);
    OWN_EMP_FREE emp_op_id *again = EMP_NEW_ARRAY(emp_op_id, (size_t)t.graph->op_count);
    for (emp_op_id op = 0; op < t.graph->op_count; op++) again[op] = leader[op];
    emp_fusion_legalize(fusion, t.device_of_op, again);
    for (emp_op_id op = 0; op < t.graph->op_count; op++)
        cr_expect_eq(again[op], leader[op]);
}

static void expect_unsupported(const task *t, const char *message)
{
    emp_fusion *fusion = NULL;

    EXPECT_REFUSED(emp_fusion_create(&fusion, t->problem, &err), EMP_EUNSUPPORTED,
                   message);
    cr_expect_null(fusion);
}

Test(fused_sets, nothing_is_known_elsewhere)
{
    task t;

    task_create(&t, "rnnlm:steps=4", "k40x2", "baechi");
    expect_unsupported(&t, "the rules \"events\" only");
    task_destroy(&t);
    task_create(&t, "rnnlm:steps=4", "k40x2", "ideal");
    t.machine->device[1].has_core = true;
    expect_unsupported(&t, "device gpu:0 is a group of cores");
    task_destroy(&t);
}

Test(fused_sets, survive_allocation_failures)
{
    OWN_TASK   t = task_chain(10);
    OWN_FUSION fusion = NULL;

    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_fusion_create(&fusion, t.problem, NULL), );
}
