// SPDX-License-Identifier: GPL-3.0-or-later
/* Branch and bound finds the optimum of small problems, and what it proves is never above the best placement. */
#include "sim/exact/exact.h"
#include "tests/sim/engine/random_problem.h"
#include "tests/support/best_placement.h"
#include "tests/support/branch_bound.h"
#include "tests/support/survive.h"

enum { SOLVED = 400, CUT = 400, MOST_TRIED = 4096, MOST_STEPS = 3000, MOST_NODES = 4000 };

static uint64_t times(uint64_t count)
{
    const char *more = getenv("EMP_TIMES");
    return more != NULL ? count * strtoull(more, NULL, 10) : count;
}

/* Rules other than `events`, with constants as small as those of the problem. */
static void set_rules(emp_runtime *rt, uint64_t seed)
{
    static const emp_rules rules[] = {EMP_RULES_EVENTS, EMP_RULES_PLACETO,
                                      EMP_RULES_BAECHI, EMP_RULES_MSR_LATENCY,
                                      EMP_RULES_EDGES};

    if (seed % 3 > 0) return;
    rt->rules = rules[seed / 3 % 5];
    if (rt->rules == EMP_RULES_PLACETO)
        rt->placeto = (emp_runtime_placeto){(double)(seed % 5) * 1e-9, 1e9 * 31,
                                            (double)(seed % 3) * 1e-9, 1e-9};
    if (rt->rules == EMP_RULES_BAECHI)
        rt->baechi = (emp_runtime_baechi){.byte_s = 1e-12 * (double)(1 + seed % 301),
                                          .transfer_s = (double)(seed % 7) * 1e-9,
                                          .control_bytes = (int64_t)(seed % 6)};
    if (rt->rules == EMP_RULES_MSR_LATENCY)
        rt->msr.host_bytes_per_s = 1e9 * (double)(1 + seed % 53);
}

static void create(task *r, uint64_t seed)
{
    emp_rng rng;

    if (seed % 4 == 0)
        random_problem_create_hosts(r, seed);
    else
        random_problem_create(r, seed);
    set_rules(&r->problem->runtime, seed);
    if (seed % 5 < 2) random_problem_part(r, seed);
    emp_rng_init(&rng, seed, 2, 0);
    if (emp_machine_count(r->machine, EMP_DEVICE_GPU) == 0 || seed % 2 == 0) return;
    for (int32_t c = 0; c < r->graph->class_count; c++)
        if ((r->problem->kinds_of_class[c] & EMP_KIND_GPU) && emp_rng_below(&rng, 4) > 0)
            r->problem->kinds_of_class[c] = EMP_KIND_GPU;
}

static emp_time_ns optimum_of(const emp_problem *problem)
{
    const int64_t count = best_placement_count(problem, 1 << 24);

    if (count <= MOST_TRIED) return best_placement_find(problem);
    if (problem->runtime.rules != EMP_RULES_EVENTS || count > 1 << 24) return -1;
    const branch_bound_result r = branch_bound_solve(problem, MOST_STEPS);
    return r.is_exact ? r.best_ns : -1;
}

/* Solves it from any placement that fits; false: it is no problem for branch and bound, or none was drawn. */
static bool solve(task *r, const emp_exact_options *options, uint64_t seed,
                  emp_exact_result *result)
{
    emp_exact_options       how = *options;
    emp_rng                 rng;
    emp_sim                *sim = task_sim(r);
    bool                    fits = false;
    emp_error               err = {0};
    OWN_FREE emp_device_id *start = calloc((size_t)r->graph->op_count, sizeof *start);

    emp_rng_init(&rng, seed, 5, 0);
    for (int32_t i = 0; i < 20 && !fits; i++) {
        emp_sim_result s;
        random_problem_place(r, &rng);
        emp_problem_legalize(r->problem, r->device_of_op);
        cr_assert_eq(emp_sim_run(sim, r->device_of_op, &s, NULL), EMP_OK);
        fits = s.is_feasible;
    }
    emp_sim_destroy(sim);
    how.start = start;
    memcpy(start, r->device_of_op, (size_t)r->graph->op_count * sizeof *start);
    if (fits && r->machine->device_count > EMP_EXACT_MOST_DEVICES) {
        cr_expect_eq(emp_exact_solve(result, r->device_of_op, r->problem, &how, &err),
                     EMP_EUNSUPPORTED);
        fits = false;
    }
    if (fits)
        cr_assert_eq(emp_exact_solve(result, r->device_of_op, r->problem, &how, &err),
                     EMP_OK, "%s", err.msg);
    return fits;
}

static emp_time_ns step_of(const task *r)
{
    const emp_sim_result s = task_run(r);

    return s.is_feasible ? s.step_time_ns : -1;
}

Test(exact, finds_the_optimum)
{
    const uint64_t solved = times(SOLVED);
    uint64_t       compared = 0, proven = 0, better = 0;

    for (uint64_t seed = 0; compared < solved; seed++) {
        OWN_TASK                r;
        emp_exact_result        e;
        const emp_exact_options how = {.gap = 0.0, .most_nodes = MOST_NODES};
        create(&r, seed);
        const emp_time_ns best_ns = optimum_of(r.problem);
        if (best_ns >= 0 && solve(&r, &how, seed, &e)) {
            cr_expect_leq(e.bound_ns, best_ns, SEED_AND(": %" PRId64), e.bound_ns);
            cr_expect_geq(e.best_ns, best_ns, SEED);
            cr_expect_eq(step_of(&r), e.best_ns, SEED);
            if (e.is_proven) {
                cr_expect_eq(e.best_ns, best_ns, SEED);
                cr_expect_eq(e.bound_ns, best_ns, SEED);
            }
            proven += e.is_proven;
            better += e.is_proven && e.root_ns < best_ns;
            compared++;
        }
    }
    cr_expect_gt(proven, compared / 2, "%" PRIu64 " of %" PRIu64, proven, compared);
    cr_expect_gt(better, compared / 10, "%" PRIu64 " of %" PRIu64, better, compared);
}

/* Searches that are cut short, or that leave a gap. */
Test(exact, never_proves_more_than_the_optimum)
{
    const uint64_t cut = times(CUT);
    uint64_t       raised = 0, compared = 0, near = 0;

    for (uint64_t seed = 1000000; compared < cut; seed++) {
        OWN_TASK                r;
        emp_exact_result        e;
        const emp_exact_options how = {.gap = (double)(seed % 4) * 0.03,
                                       .most_nodes = 1 + (int64_t)(seed % 40)};
        create(&r, seed);
        const emp_time_ns best_ns = optimum_of(r.problem);
        if (best_ns >= 0 && solve(&r, &how, seed, &e)) {
            cr_expect_leq(e.nodes, how.most_nodes, SEED);
            cr_expect_leq(e.bound_ns, best_ns, SEED);
            cr_expect_geq(e.best_ns, best_ns, SEED);
            cr_expect_eq(step_of(&r), e.best_ns, SEED);
            if (e.is_proven)
                cr_expect_leq((double)e.best_ns, (double)e.bound_ns * (1.0 + how.gap),
                              SEED);
            raised += e.bound_ns > e.root_ns;
            near += e.is_proven && e.best_ns > e.bound_ns;
            compared++;
        }
    }
    cr_expect_gt(raised, compared / 10);
    cr_expect_gt(near, compared / 50);
}

Test(exact, ends_when_it_is_stopped)
{
    task                    r;
    emp_exact_result        e;
    const atomic_int        stop = 1;
    const emp_exact_options how = {.most_nodes = 100000, .stop = &stop};

    for (uint64_t seed = 0; seed < 40; seed++) {
        create(&r, seed);
        if (solve(&r, &how, seed, &e)) {
            cr_expect_leq(e.nodes, 1, SEED);
            cr_expect_eq(e.bound_ns, e.root_ns, SEED);
        }
        task_destroy(&r);
    }
}

Test(exact, every_allocation_may_fail)
{
    OWN_TASK                r;
    emp_exact_result        e;
    const emp_exact_options how = {.most_nodes = 100};

    random_problem_create(&r, 7);
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_exact_solve(&e, r.device_of_op, r.problem, &how, NULL), );
}
