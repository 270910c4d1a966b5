// SPDX-License-Identifier: GPL-3.0-or-later
/* No placement that fits beats a bound, whatever the graph, machine and runtime; and what
 * the bounds are where they can be worked out by hand. */
#include "sim/bounds/bounds.h"
#include "sim/bounds/why.h"
#include "tests/sim/bounds/draw.h"
#include "tests/sim/engine/random_problem.h"
#include "tests/support/best_placement.h"
#include "tests/support/branch_bound.h"
#include "tests/support/problems.h"
#include "tests/support/survive.h"

enum {
    SMALL = 500, /* problems that are solved exactly */
    JOINED = 400,
    DRAINED = 200,
    MOST_CELL_STEPS = 5000,
    MOST_CHAIN_STEPS = 500,
    LARGE = 3000,
    PLACEMENTS = 4
};

static uint64_t times(uint64_t count)
{
    const char *more = getenv("EMP_TIMES");
    return more != NULL ? count * strtoull(more, NULL, 10) : count;
}

static emp_bounds bounds_at(const emp_problem *problem, int32_t effort)
{
    emp_bounds bounds;

    ASSERT_OK(emp_bounds_compute(&bounds, problem,
                                 &(emp_bounds_options){.effort = effort}, &err));
    return bounds;
}

static emp_bounds bounds_of(const emp_problem *problem)
{
    return bounds_at(problem, EMP_BOUNDS_EFFORT);
}

static void expect_below(const emp_bounds *b, emp_time_ns step_ns, uint64_t seed)
{
#define X(name, key, text)                                                  \
    cr_expect_leq(b->name##_ns, step_ns,                                    \
                  "seed %" PRIu64 ": " key " %" PRId64 " > %" PRId64, seed, \
                  b->name##_ns, step_ns);
    EMP_BOUNDS_LIST(X)
#undef X
    cr_expect_leq(b->best_ns, step_ns, SEED);
    cr_expect_not(b->is_infeasible, SEED);
}

Test(bounds, never_above_the_best_placement)
{
    const uint64_t small = times(SMALL);
    uint64_t       solved = 0, met = 0, many = 0;

    for (uint64_t seed = 0; solved < small; seed++) {
        OWN_TASK r;
        draw_problem(&r, seed);
        emp_time_ns best_ns = draw_best(r.problem);
        if (best_ns >= 0) {
            emp_bounds b = bounds_of(r.problem);
            expect_below(&b, best_ns, seed);
            met += best_ns == b.best_ns;
            many += best_placement_count(r.problem, DRAW_MOST_TRIED) > DRAW_MOST_TRIED;
            solved++;
        }
    }
    cr_expect_gt(met, small / 4, "the bound is the optimum %" PRIu64 " times", met);
    cr_expect_gt(many, small / 20, "%" PRIu64 " problems are too large to try all", many);
}

Test(bounds, of_gpu_kernels_is_never_above_the_best_placement_without_cpus)
{
    const uint64_t small = times(SMALL);
    uint64_t       solved = 0, higher = 0, none = 0;

    for (uint64_t seed = 0; solved < small; seed++) {
        OWN_TASK r;
        draw_problem(&r, seed);
        if (emp_machine_count(r.machine, EMP_DEVICE_GPU) > 0) {
            emp_bounds b = bounds_of(r.problem);
            emp_bounds most = bounds_at(r.problem, EMP_BOUNDS_MOST_EFFORT);
            cr_assert_eq(emp_problem_forbid_cpus(r.problem, NULL, NULL), EMP_OK);
            emp_time_ns best_ns = draw_best(r.problem);
            if (best_ns >= 0) {
                cr_expect_leq(b.gpu_kernels_ns, best_ns, SEED);
                cr_expect_leq(most.gpu_kernels_ns, best_ns, SEED);
                cr_expect(b.gpu_kernels_ns == 0 || b.gpu_kernels_ns >= b.best_ns);
                higher += b.gpu_kernels_ns > b.best_ns;
                none += b.gpu_kernels_ns == 0 && b.best_ns > 0;
                solved++;
            }
        }
    }
    cr_expect_gt(higher, small / 10, "%" PRIu64 " are higher", higher);
    cr_expect_eq(none, 0, "%" PRIu64 " have none, but a placement fits", none);
}

/* Placements that keep GPU kernels off the CPUs are those of the problem that forbids CPUs. \a most: with the most
 * effort. \return whether the bound over them is the higher one. */
static bool expect_below_without_cpus(task *t, const emp_bounds *b,
                                      const emp_bounds *most, uint64_t seed)
{
    cr_assert_eq(emp_problem_forbid_cpus(t->problem, NULL, NULL), EMP_OK);
    const branch_bound_result best = branch_bound_solve(t->problem, MOST_CELL_STEPS);

    if (best.best_ns >= 0) cr_expect_leq(b->gpu_kernels_ns, best.best_ns, SEED);
    if (best.best_ns >= 0) cr_expect_leq(most->gpu_kernels_ns, best.best_ns, SEED);
    return b->gpu_kernels_ns > b->best_ns;
}

/* Joins bind where ops may be on several GPUs and copies are dear. */
Test(bounds, joins_are_never_above_the_best_placement)
{
    const uint64_t joined = times(JOINED);
    uint64_t       longer = 0, met = 0, higher = 0;

    for (uint64_t seed = 0; seed < joined; seed++) {
        task t;
        draw_near(&t, seed);
        emp_time_ns best_ns = draw_best(t.problem);
        emp_bounds  b = bounds_of(t.problem);
        emp_bounds  most = bounds_at(t.problem, EMP_BOUNDS_MOST_EFFORT);
        if (best_ns >= 0) expect_below(&b, best_ns, seed);
        if (best_ns >= 0) expect_below(&most, best_ns, seed);
        longer += best_ns >= 0 && b.joined_ns > b.path_ns;
        met += best_ns >= 0 && b.joined_ns > b.path_ns && b.joined_ns == best_ns;
        if (t.problem->runtime.rules == EMP_RULES_EVENTS)
            higher += expect_below_without_cpus(&t, &b, &most, seed);
    }
    cr_expect_gt(higher, joined / 20, "%" PRIu64 " are higher for GPU kernels", higher);
    cr_expect_gt(longer, joined / 4, "%" PRIu64 " joins are longer than paths", longer);
    cr_expect_gt(met, joined / 20, "%" PRIu64 " are the optimum", met);
}

typedef struct {
    uint64_t solved, longer, met, drained, higher, thorough;
} tally;

static void expect_cells_below(uint64_t seed, int cells, bool has_weights, tally *sum)
{
    task t;

    draw_cells(&t, cells, has_weights, seed);
    branch_bound_result best = branch_bound_solve(
        t.problem, cells == DRAW_CELLS ? MOST_CHAIN_STEPS : MOST_CELL_STEPS);
    if (best.best_ns >= 0) { /* of long chains what was found */
        emp_bounds b = bounds_of(t.problem);
        emp_bounds most = bounds_at(t.problem, EMP_BOUNDS_MOST_EFFORT);
        expect_below(&b, best.best_ns, seed);
        expect_below(&most, best.best_ns, seed);
        sum->thorough += most.gpu_kernels_ns > b.gpu_kernels_ns;
        sum->solved += best.is_exact;
        sum->longer += b.joined_ns > b.path_ns;
        sum->met += b.joined_ns > b.path_ns && b.joined_ns == best.best_ns;
        sum->drained += b.drained_ns > b.joined_ns;
        if (cells < DRAW_CELLS)
            sum->higher += expect_below_without_cpus(&t, &b, &most, seed);
    }
}

/* Without weights there are no exceptions; with them, and three GPUs, chains must be long to be longer. */
Test(bounds, drains_are_never_above_the_best_placement)
{
    const uint64_t drained = times(DRAINED);
    tally          free = {0}, bound = {0}, whole = {0};

    for (uint64_t seed = 0; seed < drained; seed++) {
        expect_cells_below(seed, 1 + (int)(seed % 3), false, &free);
        expect_cells_below(seed, 1 + (int)(seed % 3), true, &bound);
    }
    for (uint64_t seed = 0; seed < drained / 5; seed++)
        expect_cells_below(seed, DRAW_CELLS, true, &whole);
    cr_expect_gt(free.solved + bound.solved, drained);
    cr_expect_gt(free.longer, drained / 10, "of %" PRIu64, free.solved);
    cr_expect_gt(free.met, drained / 100, "of %" PRIu64, free.longer);
    cr_expect_gt(whole.drained, drained / 50);
    cr_expect_gt(free.thorough + bound.thorough, drained / 20,
                 "%" PRIu64 " are higher with more effort",
                 free.thorough + bound.thorough);
    cr_expect_gt(bound.higher, drained / 50, "%" PRIu64 " are higher for GPU kernels",
                 bound.higher);
}

/* The second of the two ops may get its other input late, from the other GPU. So the copy of what the first makes need
 * not wait for the second's kernels. */
Test(bounds, drains_know_that_a_second_may_come_late)
{
    uint64_t met = 0;

    for (uint64_t seed = 0; seed < JOINED / 4; seed++) {
        OWN_TASK t;
        emp_rng  rng;
        emp_rng_init(&rng, seed, 0, 0);
        const tiny_op ops[] = {
            {.device = 1},
            {.device = 1, .input_count = 1, .input = {0}},
            {.device = 1, .input_count = 1, .input = {0}},
            {.device = 1,
             .weight = 30 + (int)emp_rng_below(&rng, 20),
             .input_count = 1,
             .input = {1}},
            {.device = 1,
             .weight = 30 + (int)emp_rng_below(&rng, 30),
             .input_count = 2,
             .input = {1, 2}},
            {.device = 1, .input_count = 1, .input = {3}, .control = 4 + 1},
            {.device = 1, .weight = 90, .input_count = 1, .input = {5}}};
        emp_runtime rt = tiny_serial();
        task_create_tiny(&t, ops, 7, &rt);
        t.graph->tensor[t.graph->output_offset[1]].copy_bytes *= 3;
        for (int32_t c = 0; c < t.graph->class_count; c++)
            t.problem->kinds_of_class[c] = EMP_KIND_GPU;
        emp_time_ns best_ns = draw_best(t.problem);
        emp_bounds  most = bounds_at(t.problem, EMP_BOUNDS_MOST_EFFORT);
        expect_below(&most, best_ns, seed);
        met += most.best_ns * 10 > best_ns * 9;
    }
    cr_expect_gt(met, JOINED / 16, "%" PRIu64 " bounds are near the optimum", met);
}

/* \return whether queues make the bound. */
static bool expect_queues_below(uint64_t seed)
{
    task           t;
    emp_bounds     b;
    emp_bounds_why why = {0};

    draw_layers(&t, seed);
    const branch_bound_result best = branch_bound_solve(t.problem, MOST_CELL_STEPS);
    ASSERT_OK(emp_bounds_explain(&b, NULL, &why, t.problem,
                                 &(emp_bounds_options){.effort = EMP_BOUNDS_MOST_EFFORT},
                                 &err));
    if (best.best_ns >= 0) expect_below(&b, best.best_ns, seed);
    return why.lemma == EMP_BOUND_BY_QUEUE;
}

Test(bounds, queues_are_never_above_the_best_placement)
{
    const uint64_t queues = times(DRAINED);
    uint64_t       bound = 0;

    for (uint64_t seed = 0; seed < queues; seed++) bound += expect_queues_below(seed);
    cr_expect_gt(bound, queues / 50, "%" PRIu64 " bounds are by queues", bound);
}

/* The first of the two ops also reads in host memory what both read: it waits for a copy of
 * its own, so nothing queues before the copy to the second, which is a CPU's. */
Test(bounds, drains_know_what_is_read_in_host_memory)
{
    for (uint64_t seed = 0; seed < JOINED; seed++) {
        OWN_TASK t;
        emp_rng  rng;
        emp_rng_init(&rng, seed, 0, 0);
        const int     weight[] = {1 + (int)emp_rng_below(&rng, 60),
                                  1 + (int)emp_rng_below(&rng, 60),
                                  1 + (int)emp_rng_below(&rng, 8)};
        const tiny_op ops[] = {
            {.device = 1, .weight = weight[0]},
            {.device = 1, .weight = weight[1], .input_count = 2, .input = {0, 0}},
            {.weight = weight[2], .input_count = 1, .input = {0}},
            {.device = 1, .input_count = 1, .input = {1}, .control = 2 + 1}};
        emp_runtime rt = tiny_serial();
        task_create_tiny(&t, ops, 4, &rt);
        t.graph->op[1].host_input_mask = 1u << 1;
        t.machine->device_count = 2; /* one GPU */
        for (int32_t op = 0; op < 4; op++)
            t.problem->kinds_of_class[t.graph->op[op].colocation_class] =
                op == 2 ? EMP_KIND_CPU : EMP_KIND_GPU;
        emp_time_ns best_ns = draw_best(t.problem);
        emp_bounds  b = bounds_of(t.problem);
        emp_bounds  most = bounds_at(t.problem, EMP_BOUNDS_MOST_EFFORT);
        expect_below(&b, best_ns, seed);
        expect_below(&most, best_ns, seed);
    }
}

Test(bounds, branch_and_bound_finds_what_trying_all_finds)
{
    int32_t compared = 0;
    int64_t steps = 0, placements = 0;

    for (uint64_t seed = 0; compared < 200; seed++) {
        OWN_TASK r;
        draw_problem(&r, 2 * seed); /* of rules `events` */
        int64_t count = best_placement_count(r.problem, DRAW_MOST_TRIED);
        if (count <= DRAW_MOST_TRIED) {
            branch_bound_result b = branch_bound_solve(r.problem, DRAW_MOST_TRIED);
            cr_expect(b.is_exact, SEED);
            cr_expect_eq(b.best_ns, best_placement_find(r.problem), SEED);
            steps += b.steps;
            placements += count;
            compared++;
        }
    }
    cr_expect_lt(steps, placements / 2, "%" PRId64 " steps for %" PRId64 " placements",
                 steps, placements);
}

Test(bounds, never_above_any_placement)
{
    const uint64_t large = times(LARGE);
    uint64_t       compared = 0;

    for (uint64_t seed = 0; seed < large; seed++) {
        task    r;
        emp_rng rng;
        draw_problem(&r, seed);
        emp_rng_init(&rng, seed, 1, 0);
        emp_bounds b = bounds_of(r.problem);
        OWN_SIM    sim = task_sim(&r);
        for (int32_t i = 0; i < PLACEMENTS; i++) {
            emp_sim_result s;
            draw_placement(&r, &rng);
            cr_assert_eq(emp_sim_run(sim, r.device_of_op, &s, NULL), EMP_OK);
            if (s.is_feasible) expect_below(&b, s.step_time_ns, seed);
            compared += s.is_feasible;
        }
    }
    cr_expect_gt(compared, large);
}

/* Chains of cells whose ops are served by random levels. */
Test(bounds, hold_for_decisions_that_order_ops)
{
    const uint64_t drained = times(DRAINED);
    uint64_t       compared = 0, lower = 0;

    for (uint64_t seed = 0; seed < drained; seed++) {
        tiny_op  ops[TINY_MAX_OPS];
        uint8_t  level[TINY_MAX_OPS];
        OWN_TASK t;
        emp_rng  rng;
        emp_rng_init(&rng, seed, 0, 0);
        const int         count = draw_cell_ops(ops, 3, seed % 2 == 0, &rng);
        const emp_runtime rt = tiny_serial();
        task_create_tiny(&t, ops, count, &rt);
        for (int32_t c = 0; c < t.graph->class_count; c++)
            t.problem->kinds_of_class[c] = EMP_KIND_GPU;
        const emp_bounds in_order = bounds_of(t.problem);
        emp_bounds       any;
        ASSERT_OK(emp_bounds_compute(
            &any, t.problem,
            &(emp_bounds_options){.effort = EMP_BOUNDS_EFFORT, .any_order = true}, &err));
        OWN_SIM sim = task_sim(&t);
        for (int32_t i = 0; i < 8 * PLACEMENTS; i++) {
            emp_sim_result s;
            draw_placement(&t, &rng);
            for (int op = 0; op < count; op++)
                level[op] = (uint8_t)emp_rng_below(&rng, 3);
            const emp_decision d = {t.device_of_op, level, NULL};
            cr_assert_eq(emp_sim_run_decision(sim, &d, &s, NULL), EMP_OK);
            if (s.is_feasible) expect_below(&any, s.step_time_ns, seed);
            compared += s.is_feasible;
            lower += s.is_feasible && s.step_time_ns < in_order.best_ns;
        }
    }
    cr_expect_gt(compared, drained);
    cr_expect_gt(lower, 0, "order never beats the bound of who comes first");
}

/* Another GPU like the last, or the first, on links as good as any. */
static void add_gpu(emp_machine *m)
{
    const int32_t d = m->device_count++, like = d - 1;

    m->device[d] = m->device[like];
    for (int32_t i = 0; i < d; i++) {
        m->route[i][d] = m->route[i][i == like ? 0 : like];
        m->route[d][i] = m->route[i == like ? 0 : like][i];
    }
}

/* Times that are rounded up to whole nanoseconds, and solved to 5 digits. Another GPU raises no
 * path, class or area, but windows are samples. */
Test(bounds, scale_with_all_times_and_do_not_rise_with_another_device)
{
    int32_t lowered = 0;

    for (uint64_t seed = 0; seed < 400; seed++) {
        OWN_TASK r;
        random_problem_create(&r, seed);
        emp_bounds before = bounds_of(r.problem);
        if (r.machine->device_count > 1) {
            add_gpu(r.machine);
            emp_bounds after = bounds_of(r.problem);
            cr_expect_leq(after.path_ns, before.path_ns, SEED);
            cr_expect_leq(after.class_ns, before.class_ns, SEED);
            cr_expect_leq((double)after.area_ns, 1.0 + 1.0001 * (double)before.area_ns,
                          SEED);
            lowered += after.area_ns < before.area_ns;
            r.machine->device_count--;
        }
        random_problem_scale(&r, 1000);
        emp_bounds scaled = bounds_of(r.problem);
        cr_expect_eq(scaled.path_ns, 1000 * before.path_ns, SEED);
        double most = 1000.0 + 1e-4 * (double)scaled.area_ns;
        cr_expect_float_eq((double)scaled.area_ns, 1000.0 * (double)before.area_ns, most,
                           SEED);
    }
    cr_expect_gt(lowered, 100);
}

static emp_bounds bounds_of_ops(const char *ops, emp_runtime runtime)
{
    OWN_TASK t;

    task_create_ops(&t, ops, &runtime);
    return bounds_of(t.problem);
}

Test(bounds, of_small_steps_are_those_worked_out_by_hand)
{
    emp_bounds b = bounds_of_ops("1; 1<0; 1<1", tiny_list_scheduling());

    cr_expect_eq(b.path_ns, 30); /* 10 ns an op, on a GPU */
    cr_expect_eq(b.best_ns, 30);
    b = bounds_of_ops("1; 1<0; 1<1", tiny_serial());
    cr_expect_eq(b.path_ns, 100 + 3 + 30); /* step, the first issue, three kernels */
    b = bounds_of_ops("1; 1; 1; 1; 1; 1; 1; 1", tiny_list_scheduling());
    /* two GPUs do one in 10 ns, the CPU one in 20: 8 of them take 8 x 10 / 2.5 */
    cr_expect_eq(b.area_ns, 32);
    cr_expect_eq(b.path_ns, 10);
    cr_expect(b.best_ns >= 32 && b.best_ns <= 40);
    b = bounds_of_ops("1; 1<0; 1<0; 1<0; 1<0; 1<1,2,3; 1<4,5", tiny_list_scheduling());
    cr_expect_eq(b.path_ns, 40);
    cr_expect_eq(b.joined_ns, 70); /* all on one GPU: a copy takes 5 + 256 */
    cr_expect_eq(b.best_ns, 70);
}

Test(bounds, an_op_without_a_gpu_kernel_forces_transfers)
{
    OWN_TASK    t;
    emp_runtime runtime = tiny_list_scheduling();

    task_create_ops(&t, "1*100; 0<0; 1<1*100", &runtime);
    for (int32_t c = 0; c < t.graph->class_count; c++)
        t.problem->kinds_of_class[c] =
            t.graph->op[1].colocation_class == c ? EMP_KIND_CPU : EMP_KIND_GPU;
    emp_bounds b = bounds_of(t.problem);
    /* 1000 on a GPU, 5 + 256 back, 20 on the CPU, 5 + 256 there, 1000 */
    cr_expect_eq(b.path_ns, 1000 + 261 + 20 + 261 + 1000);
    cr_expect_eq(b.best_ns, best_placement_find(t.problem));
}

Test(bounds, every_allocation_may_fail)
{
    task       r;
    emp_bounds b;

    random_problem_create(&r, 7);
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_bounds_compute(&b, r.problem,
                           &(emp_bounds_options){.effort = EMP_BOUNDS_EFFORT}, NULL), );
    task_destroy(&r);

    tiny_op        ops[TINY_MAX_OPS];
    emp_rng        rng;
    emp_bounds_why why = {0};
    emp_runtime    rt = tiny_serial();
    emp_rng_init(&rng, 1, 0, 0);
    task_create_tiny(&r, ops, draw_layer_ops(ops, 1, &rng), &rt);
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_bounds_explain(
            &b, NULL, &why, r.problem,
            &(emp_bounds_options){.effort = EMP_BOUNDS_MOST_EFFORT, .has_proof = true},
            NULL),
        emp_bounds_why_clear(&why));
    emp_bounds_why_clear(&why);
    task_destroy(&r);
}
