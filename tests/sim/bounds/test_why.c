// SPDX-License-Identifier: GPL-3.0-or-later
/* A bound's explanation adds up to the bound, and changes of the machine lower it as they say. */
#include "sim/bounds/bounds.h"
#include "sim/bounds/changes.h"
#include "sim/bounds/why.h"
#include "tests/sim/engine/random_problem.h"
#include "tests/support/problems.h"
#include "tests/support/survive.h"

enum { PROBLEMS = 1500 };

static const emp_bounds_options how = {.effort = EMP_BOUNDS_EFFORT};

static void create(task *r, uint64_t seed)
{
    emp_rng rng;

    if (seed % 3 == 0)
        random_problem_create_hosts(r, seed);
    else
        random_problem_create(r, seed);
    if (seed % 5 < 2) random_problem_part(r, seed);
    emp_rng_init(&rng, seed, 3, 0);
    if (emp_machine_count(r->machine, EMP_DEVICE_GPU) == 0) return;
    for (int32_t c = 0; c < r->graph->class_count; c++)
        if ((r->problem->kinds_of_class[c] & EMP_KIND_GPU) && emp_rng_below(&rng, 3) > 0)
            r->problem->kinds_of_class[c] = EMP_KIND_GPU;
}

static double sum_of(const emp_bounds_why *why)
{
    double sum = why->window.before + why->window.after + why->rent_ns;

    for (int32_t i = 0; i < why->shares.count; i++) sum += why->shares.share[i].ns;
    return sum;
}

/* Paths and classes add up to the nanosecond, areas and windows but for the 10^-9 that guards against rounding. */
static void expect_sum(const emp_bounds_why *why, uint64_t seed)
{
    const double value = (double)why->value_ns;

    if (why->lemma == EMP_BOUND_BY_NONE || why->lemma == EMP_BOUND_BY_MEMORY) return;
    if (why->lemma == EMP_BOUND_BY_PATH)
        cr_expect_eq(sum_of(why), value, "seed %" PRIu64 ": %g, not %g", seed,
                     sum_of(why), value);
    else
        cr_expect_float_eq(sum_of(why), value, 1.0 + 1e-8 * value,
                           "seed %" PRIu64 ": %g, not %g", seed, sum_of(why), value);
}

Test(why, shares_add_up_to_what_is_proven)
{
    int32_t by[EMP_BOUND_BY_MEMORY + 1] = {0}, parts[EMP_BOUND_PARTS] = {0}, refuted = 0;

    for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
        OWN_TASK   r;
        emp_bounds bounds, plain;
        SCOPED(emp_bounds_why, emp_bounds_why_clear) all = {0}, gpus = {0};
        create(&r, seed);
        ASSERT_OK(emp_bounds_explain(&bounds, &all, &gpus, r.problem, &how, &err));
        ASSERT_OK(emp_bounds_compute(&plain, r.problem, &how, &err));
        cr_expect_eq(memcmp(&bounds, &plain, sizeof plain), 0, SEED);
        if (!bounds.is_infeasible && all.lemma != EMP_BOUND_BY_NONE)
            cr_expect_geq(all.value_ns, all.bound_ns, SEED);
        expect_sum(&all, seed);
        expect_sum(&gpus, seed);
        by[all.lemma]++;
        by[gpus.lemma]++;
        refuted += all.is_refuted;
        for (int32_t i = 0; i < all.shares.count; i++) parts[all.shares.share[i].part]++;
        for (int32_t i = 0; i < gpus.shares.count; i++)
            parts[gpus.shares.share[i].part]++;
        emp_bounds_why_clear(&gpus);
    }
    cr_expect_gt(by[EMP_BOUND_BY_PATH], 5);
    cr_expect_gt(by[EMP_BOUND_BY_AREA], 5);
    cr_expect_gt(by[EMP_BOUND_BY_WINDOW], 5);
    for (int32_t i = 0; i < EMP_BOUND_PART_GAP; i++)
        cr_expect_gt(parts[i], 5, "part %d is in %d", i, parts[i]);
    cr_expect_gt(refuted, PROBLEMS / 100);
}

/* ---- changes ---- */

static void change_by_hand(task *t, emp_bounds_change change)
{
    emp_machine    *m = t->machine;
    emp_cost_table *c = t->problem->costs;
    const int32_t   gpus = emp_cost_row_count(c, EMP_DEVICE_GPU);
    const int32_t   cpus = emp_cost_row_count(c, EMP_DEVICE_CPU);

    for (int32_t i = 0; i < gpus && change == EMP_BOUNDS_CHANGE_GPUS; i++)
        c->gpu[i].compute_ns /= 2;
    for (int32_t i = 0; i < gpus && change == EMP_BOUNDS_CHANGE_HOST_THREADS; i++)
        c->gpu[i].issue_ns /= 2;
    for (int32_t i = 0; i < cpus && change == EMP_BOUNDS_CHANGE_CPUS; i++)
        c->cpu[i].compute_ns /= 2;
    for (int32_t i = 0; i < c->cpu_offset[cpus] && change == EMP_BOUNDS_CHANGE_CPUS; i++)
        c->task_ns[i] /= 2;
    for (int32_t a = 0; a < m->device_count; a++) {
        for (int32_t b = 0; b < m->device_count && change == EMP_BOUNDS_CHANGE_LINKS;
             b++) {
            m->route[a][b].bytes_per_s *= 2;
            m->route[a][b].latency_s /= 2;
        }
        if (change == EMP_BOUNDS_CHANGE_MEMORY) m->device[a].memory_bytes *= 2;
    }
    if (change == EMP_BOUNDS_CHANGE_ANOTHER_GPU) {
        const int32_t d = m->device_count++;
        m->device[d] = m->device[d - 1];
        for (int32_t i = 0; i < d; i++) {
            m->route[i][d] = m->route[i][i == d - 1 ? d - 2 : d - 1];
            m->route[d][i] = m->route[i == d - 1 ? d - 2 : d - 1][i];
        }
    }
    if (change != EMP_BOUNDS_CHANGE_HOST_THREADS) return;
    t->problem->runtime.events.send_s /= 2;
    t->problem->runtime.events.receive_s /= 2;
}

static void create_pinned(task *t, const char *ops, uint32_t kinds)
{
    const emp_runtime runtime = tiny_serial();

    task_create_ops(t, ops, &runtime);
    for (int32_t c = 0; c < t->graph->class_count; c++)
        t->problem->kinds_of_class[c] &= kinds;
}

/* Changes the machine by hand to what is said to lower most, and to what is said to leave the bound. */
static void expect_changes(const char *ops, uint32_t kinds, emp_bounds_change most,
                           emp_bounds_change useless)
{
    task               t;
    emp_bounds         now, then;
    emp_bounds_changes changes;

    create_pinned(&t, ops, kinds);
    ASSERT_OK(emp_bounds_compute(&now, t.problem, &how, &err));
    ASSERT_OK(emp_bounds_try_changes(&changes, t.problem, &how, &err));
    cr_expect_eq(changes.count, EMP_BOUNDS_CHANGES);
    cr_expect_eq(changes.changed[0].change, most, "%s: %d", ops,
                 changes.changed[0].change);
    for (int32_t i = 0; i < changes.count; i++) {
        const emp_bounds_changed *c = &changes.changed[i];
        change_by_hand(&t, c->change);
        ASSERT_OK(emp_bounds_compute(&then, t.problem, &how, &err));
        cr_expect_eq(then.best_ns, c->bounds.best_ns, "%s: change %d", ops, c->change);
        cr_expect_eq(then.gpu_kernels_ns, c->bounds.gpu_kernels_ns);
        if (c->change == most) cr_expect_lt(then.best_ns, now.best_ns);
        if (c->change == useless) cr_expect_eq(then.best_ns, now.best_ns);
        task_destroy(&t);
        create_pinned(&t, ops, kinds);
    }
    task_destroy(&t);
}

Test(why, changes_do_what_they_say)
{
    const uint32_t both = EMP_KIND_CPU | EMP_KIND_GPU;

    expect_changes("1*50; 1<0*50; 1<1*50; 1<2*50", EMP_KIND_GPU, EMP_BOUNDS_CHANGE_GPUS,
                   EMP_BOUNDS_CHANGE_CPUS);
    expect_changes("1*9; 1*9; 1*9; 1*9; 1*9; 1*9; 1*9; 1*9; 1*9", EMP_KIND_GPU,
                   EMP_BOUNDS_CHANGE_GPUS, EMP_BOUNDS_CHANGE_LINKS);
    expect_changes("1k; 1k; 1k; 1k; 1k; 1k; 1k; 1k; 1k; 1k; 1k; 1k", EMP_KIND_GPU,
                   EMP_BOUNDS_CHANGE_HOST_THREADS, EMP_BOUNDS_CHANGE_GPUS);
    expect_changes("1*50; 1<0*50; 1<1*50; 1<2*50", both, EMP_BOUNDS_CHANGE_CPUS,
                   EMP_BOUNDS_CHANGE_GPUS);
}

/* An op without a GPU kernel between two that are faster on a GPU by far: both copies count. */
Test(why, a_faster_link_helps_where_a_copy_cannot_be_avoided)
{
    OWN_TASK           t;
    const emp_runtime  runtime = tiny_list_scheduling();
    emp_bounds_changes changes;
    emp_bounds         now;
    SCOPED(emp_bounds_why, emp_bounds_why_clear) all = {0};

    task_create_ops(&t, "1*100; 0<0; 1<1*100", &runtime);
    for (int32_t c = 0; c < t.graph->class_count; c++)
        t.problem->kinds_of_class[c] =
            t.graph->op[1].colocation_class == c ? EMP_KIND_CPU : EMP_KIND_GPU;
    ASSERT_OK(emp_bounds_explain(&now, &all, NULL, t.problem, &how, &err));
    ASSERT_OK(emp_bounds_try_changes(&changes, t.problem, &how, &err));
    cr_expect_eq(all.lemma, EMP_BOUND_BY_PATH);
    cr_assert_eq(all.shares.count, 5); /* run, copy, run, copy, run */
    cr_expect_eq(all.shares.share[1].part, EMP_BOUND_PART_COPY);
    cr_expect_eq(all.shares.share[1].op, 1);
    cr_expect_eq(all.shares.share[1].ns, 5 + 256);
    cr_expect_eq(all.shares.share[2].part, EMP_BOUND_PART_CPU);
    cr_expect_eq(all.shares.share[2].ns, 20);
    for (int32_t i = 0; i < changes.count; i++) {
        const emp_bounds_changed *c = &changes.changed[i];
        cr_expect_neq(c->change, EMP_BOUNDS_CHANGE_HOST_THREADS, "there are none");
        if (c->change == EMP_BOUNDS_CHANGE_LINKS)
            cr_expect_float_eq((double)(now.best_ns - c->bounds.best_ns), 261.0, 2.0,
                               "half of two copies, but for rounding");
        if (c->change == EMP_BOUNDS_CHANGE_ANOTHER_GPU)
            cr_expect_eq(now.best_ns, c->bounds.best_ns);
    }
}

Test(why, a_class_has_its_ops_and_no_others)
{
    OWN_TASK          t;
    const emp_runtime runtime = tiny_list_scheduling();
    const int32_t     set_of_op[] = {0, 0, 0, -1};
    emp_bounds        now;
    SCOPED(emp_bounds_why, emp_bounds_why_clear) all = {0};

    task_create_ops(&t, "1*9; 1*9; 1*9; 1*3", &runtime);
    ASSERT_OK(emp_graph_join_classes(t.graph, set_of_op, &err));
    emp_problem_destroy(t.problem);
    task_pose(&t, &runtime, "class");
    for (int32_t c = 0; c < t.graph->class_count; c++)
        t.problem->kinds_of_class[c] = EMP_KIND_GPU;
    for (int32_t op = 0; op < t.graph->op_count; op++)
        t.problem->costs->gpu[op].compute_ns = op < 3 ? 90 : 30;
    ASSERT_OK(emp_bounds_explain(&now, &all, NULL, t.problem, &how, &err));
    cr_expect_eq(now.best_ns, 270);
    cr_expect_eq(all.lemma, EMP_BOUND_BY_CLASS);
    cr_assert_eq(all.shares.count, 3);
    for (int32_t i = 0; i < 3; i++) {
        cr_expect_eq(all.shares.share[i].op, i);
        cr_expect_eq(all.shares.share[i].part, EMP_BOUND_PART_KERNELS);
        cr_expect_eq(all.shares.share[i].ns, 90);
    }
}

Test(why, every_allocation_may_fail)
{
    OWN_TASK           r;
    emp_bounds         b;
    emp_bounds_why     all = {0}, gpus = {0};
    emp_bounds_changes changes;

    random_problem_create(&r, 7);
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_bounds_explain(&b, &all, &gpus, r.problem, &how, NULL), {
            emp_bounds_why_clear(&all);
            emp_bounds_why_clear(&gpus);
        });
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_bounds_try_changes(&changes, r.problem, &how, NULL), );
}
