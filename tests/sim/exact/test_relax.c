// SPDX-License-Identifier: GPL-3.0-or-later
/* The relaxation of branch and bound lets every placement have the time that its step takes, whatever else the classes
 * may have, and rules out a shorter time often. */
#include "sim/bounds/inside.h"
#include "sim/bounds/paths/drain.h"
#include "sim/exact/exact.h"
#include "sim/exact/relax.h"
#include "tests/sim/engine/random_problem.h"
#include "tests/support/survive.h"

enum { PROBLEMS = 1200, PLACEMENTS = 6, FREED = 3, NEAR = 40, MOST_CLASSES = 512 };

static uint64_t times(uint64_t count)
{
    const char *more = getenv("EMP_TIMES");
    return more != NULL ? count * strtoull(more, NULL, 10) : count;
}

/* A model with the floors that branch and bound has. False: nothing fits. */
static bool model_of(emp_bound_model *model, const emp_problem *problem)
{
    emp_bound_paths         paths = {0};
    emp_bound_drains        drains = {0};
    OWN_FREE emp_area_item *item =
        calloc((size_t)problem->graph->class_count, sizeof *item);

    ASSERT_OK(emp_bound_model_init(model, problem, false, &err));
    emp_bound_sum_classes(model, item);
    const bool fits = emp_bound_restrict(model, item);
    if (fits) {
        ASSERT_OK(emp_bound_paths_init(&paths, model, &err));
        emp_bound_paths_find(&paths, model);
        ASSERT_OK(emp_bound_drains_init(&drains, model, &paths, false, &err));
        ASSERT_OK(emp_bound_join(model, &paths, &drains, NULL, NEAR, &err));
    }
    emp_bound_drains_clear(&drains);
    emp_bound_paths_clear(&paths);
    return fits;
}

typedef struct {
    uint64_t placements, shorter, freed_shorter;
} tally;

/* The devices of a placement, of which some classes may have others, too. */
static void draw_devices(const task *t, const emp_relax *x, uint32_t free_in_8,
                         emp_rng *rng, uint32_t *devices)
{
    const emp_graph *g = t->graph;

    memset(devices, 0, (size_t)g->class_count * sizeof *devices);
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (!g->op[op].is_folded)
            devices[g->op[op].colocation_class] = 1u << t->device_of_op[op];
    for (int32_t c = 0; c < g->class_count; c++)
        if (devices[c] != 0 && emp_rng_below(rng, 8) < free_in_8)
            devices[c] |= x->first[c] & emp_rng_below(rng, 1u << x->device_count);
}

static void expect_possible(task *t, emp_relax *x, emp_time_ns step_ns, uint64_t seed,
                            emp_rng *rng, tally *sum)
{
    static const uint32_t free_in_8[FREED] = {0, 2, 6};
    uint32_t              devices[MOST_CLASSES], tried[MOST_CLASSES];
    const size_t          bytes = (size_t)t->graph->class_count * sizeof *devices;

    for (int32_t i = 0; i < FREED; i++) {
        draw_devices(t, x, free_in_8[i], rng, devices);
        memcpy(tried, devices, bytes);
        cr_expect(emp_relax_propagate(x, tried, step_ns),
                  "seed %" PRIu64 ", %u of 8 free", seed, free_in_8[i]);
        for (emp_op_id op = 0; op < t->graph->op_count; op++)
            if (!t->graph->op[op].is_folded)
                cr_expect(
                    tried[t->graph->op[op].colocation_class] >> t->device_of_op[op] & 1u,
                    "seed %" PRIu64 ": op %d must go", seed, op);
        memcpy(tried, devices, bytes);
        if (emp_relax_propagate(x, tried, step_ns * 9 / 10)) continue;
        sum->shorter += i == 0;
        sum->freed_shorter += i > 0;
    }
    sum->placements++;
}

static void expect_task(task *t, uint64_t seed, tally *sum)
{
    emp_bound_model model;
    emp_relax       x;
    emp_rng         rng;
    OWN_SIM         sim = task_sim(t);

    emp_rng_init(&rng, seed, 9, 0);
    if (t->machine->device_count <= EMP_EXACT_MOST_DEVICES &&
        model_of(&model, t->problem)) {
        ASSERT_OK(emp_relax_init(&x, &model, &err));
        for (int32_t i = 0; i < PLACEMENTS; i++) {
            emp_sim_result s;
            random_problem_place(t, &rng);
            emp_problem_legalize(t->problem, t->device_of_op);
            cr_assert_eq(emp_sim_run(sim, t->device_of_op, &s, NULL), EMP_OK);
            if (s.is_feasible)
                expect_possible(t, &x, s.step_time_ns - model.step_ns, seed, &rng, sum);
        }
        emp_relax_clear(&x);
    }
    if (t->machine->device_count <= EMP_EXACT_MOST_DEVICES) emp_bound_model_clear(&model);
}

static void pin_to_gpus(task *t, emp_rng *rng, uint32_t in_4)
{
    if (emp_machine_count(t->machine, EMP_DEVICE_GPU) == 0) return;
    for (int32_t c = 0; c < t->graph->class_count; c++)
        if ((t->problem->kinds_of_class[c] & EMP_KIND_GPU) &&
            emp_rng_below(rng, 4) < in_4)
            t->problem->kinds_of_class[c] = EMP_KIND_GPU;
}

Test(relax, any_step_may_take_its_time)
{
    tally sum = {0};

    for (uint64_t seed = 0; seed < times(PROBLEMS); seed++) {
        OWN_TASK t;
        emp_rng  rng;
        emp_rng_init(&rng, seed, 2, 0);
        if (seed % 4 == 0)
            random_problem_create_hosts(&t, seed);
        else
            random_problem_create(&t, seed);
        if (seed % 5 < 2) random_problem_part(&t, seed);
        pin_to_gpus(&t, &rng, (uint32_t)(seed % 5));
        expect_task(&t, seed, &sum);
    }
    cr_expect_gt(sum.placements, times(PROBLEMS));
    cr_expect_gt(sum.shorter, sum.placements / 20, "%" PRIu64 " of %" PRIu64, sum.shorter,
                 sum.placements);
    cr_expect_gt(sum.freed_shorter, sum.placements / 50);
}

/* Ops that read what is near and wait for it, with copies as long as one of them or ten; most ops have a stream to
 * themselves, so that copies wait for kernels. */
static int draw_ops(tiny_op *ops, emp_rng *rng)
{
    const int      count = 6 + (int)emp_rng_below(rng, 15);
    const uint32_t most = 2 + emp_rng_below(rng, 60);

    for (int i = 0; i < count; i++) {
        const int inputs = (int)emp_rng_below(rng, TINY_MAX_INPUTS) + 1;
        ops[i] = (tiny_op){.device = 1,
                           .weight = 1 + (int)emp_rng_below(rng, most),
                           .is_kernelless = emp_rng_below(rng, 6) == 0,
                           .is_on_host = emp_rng_below(rng, 12) == 0,
                           .is_variable = emp_rng_below(rng, 12) == 0};
        if (ops[i].is_variable) ops[i].is_kernelless = ops[i].is_on_host = false;
        for (; i > 0 && !ops[i].is_variable && ops[i].input_count < inputs;
             ops[i].input_count++) {
            const uint32_t back = emp_rng_below(rng, i < 4 ? (uint32_t)i : 4u);
            ops[i].input[ops[i].input_count] = i - 1 - (int)back;
        }
        if (i > 0 && emp_rng_below(rng, 3) == 0)
            ops[i].control = 1 + (int)emp_rng_below(rng, (uint32_t)i);
    }
    return count;
}

static emp_runtime draw_runtime(emp_rng *rng)
{
    emp_runtime runtime =
        emp_rng_below(rng, 6) == 0 ? tiny_list_scheduling() : tiny_serial();
    emp_runtime_events *const rt = &runtime.events;
    bool *const flag[] = {&rt->drain_copies,    &rt->cpu_pool,        &rt->share_copies,
                          &rt->copy_streams,    &rt->shared_links,    &rt->reuse_inputs,
                          &rt->control_latency, &rt->release_at_issue};

    for (size_t i = 0; i < COUNT(flag); i++)
        if (emp_rng_below(rng, 8) == 0) *flag[i] = !*flag[i];
    return runtime;
}

Test(relax, copies_wait_for_no_more_kernels_than_they_do)
{
    tally sum = {0};

    for (uint64_t seed = 0; seed < 2 * times(PROBLEMS); seed++) {
        tiny_op  ops[TINY_MAX_OPS];
        OWN_TASK t;
        emp_rng  rng;
        emp_rng_init(&rng, seed, 0, 0);
        const int         count = draw_ops(ops, &rng);
        const emp_runtime rt = draw_runtime(&rng);
        task_create_tiny(&t, ops, count, &rt);
        if (emp_rng_below(&rng, 4) == 0) task_split_hosts(&t);
        for (int32_t op = 0; op < count; op++)
            if (emp_rng_below(&rng, 4) == 0) t.problem->costs->gpu[op].issue_ns = 0;
        pin_to_gpus(&t, &rng, 2 + emp_rng_below(&rng, 3));
        expect_task(&t, seed, &sum);
    }
    cr_expect_gt(sum.shorter, sum.placements / 3, "%" PRIu64 " of %" PRIu64, sum.shorter,
                 sum.placements);
}
