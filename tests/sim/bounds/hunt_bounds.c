// SPDX-License-Identifier: GPL-3.0-or-later
/* hunt_bounds [COUNT [FIRST [FOLDER EVERY]]]: draws so many random problems from that seed on, and looks for a bound that
 * a placement beats. The rules are those of all simulators; devices differ, memories are small, and efforts are 1 to 3.
 * The certificates of one in EVERY problems are written to the folder. scripts/bounds/hunt runs it, and checks them.
 *
 * Each bound is compared with the optimum, where that is found, and with random placements. The bound of placements
 * that keep GPU kernels off the CPUs is compared with those of them that do, and, as `--placement` has it, with each
 * placement by its own bound. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/work.h"
#include "cli/report/report.h"
#include "sim/bounds/bounds.h"
#include "tests/sim/bounds/draw.h"

enum { PLACEMENTS = 4, PROGRESS = 2000, MOST_LEVEL = 3 };

/* Where certificates are written. */
typedef struct {
    const char *folder; /* NULL: nowhere */
    uint64_t    every;
} certificates;

typedef struct {
    uint64_t problems, solved, met, steps, on_gpus, beaten;
    uint64_t of_rules[EMP_RULES_COUNT], of_effort[EMP_BOUNDS_MOST_EFFORT + 1];
} tally;

/* One problem and its bounds. */
typedef struct {
    task               t;
    uint64_t           seed;
    emp_rng            rng;
    emp_bounds_options how;
    emp_bounds         bounds;
    uint8_t           *level_of_op; /* NULL: ops are not ordered */
    emp_time_ns        reached_ns,
        on_gpus_ns;      /* least times of placements that are known; 0 = none */
    json_t *certificate; /* NULL: not asked for, or there is none */
} trial;

/* Half of them of all rules, the others where a lemma binds. */
static void draw(task *t, uint64_t seed)
{
    const uint64_t part = seed / 8;

    switch (seed % 8) {
    case 4: draw_near(t, part); break;
    case 5: draw_cells(t, 1 + (int)(part % 3), false, part); break;
    case 6:
        draw_cells(t, part % 16 == 0 ? DRAW_CELLS : 1 + (int)(part % 3), true, part);
        break;
    case 7: draw_layers(t, part); break;
    default: draw_problem(t, seed % 8 + 4 * part); break;
    }
}

static void fail(const trial *r, const char *what, emp_time_ns bound_ns, emp_time_ns ns,
                 tally *sum)
{
    sum->beaten++;
    printf("BEATEN: seed %" PRIu64 ", effort %d: %s %" PRId64 " > %" PRId64 "\n", r->seed,
           r->how.effort, what, bound_ns, ns);
}

static emp_time_ns least(emp_time_ns known_ns, emp_time_ns ns)
{
    return known_ns == 0 || ns < known_ns ? ns : known_ns;
}

/* No bound may be above a time that a placement reaches. */
static void compare(trial *r, const char *what, emp_time_ns ns, tally *sum)
{
    r->reached_ns = least(r->reached_ns, ns);
#define X(name, key, text) \
    if (r->bounds.name##_ns > ns) fail(r, key, r->bounds.name##_ns, ns, sum);
    EMP_BOUNDS_LIST(X)
#undef X
    if (r->bounds.best_ns > ns) fail(r, what, r->bounds.best_ns, ns, sum);
    if (r->bounds.is_infeasible) fail(r, "infeasible", 0, ns, sum);
}

static bool has_gpu_kernel_on_cpu(const trial *r)
{
    const emp_problem *p = r->t.problem;

    for (emp_op_id op = 0; op < p->graph->op_count; op++)
        if (!p->graph->op[op].is_folded &&
            (p->kinds_of_class[p->graph->op[op].colocation_class] & EMP_KIND_GPU) &&
            p->machine->device[r->t.device_of_op[op]].kind == EMP_DEVICE_CPU)
            return true;
    return false;
}

/* The bound that is for a placement at hand. */
static void compare_own(const trial *r, emp_time_ns ns, tally *sum)
{
    emp_bounds_options how = r->how;
    emp_bounds         own;
    emp_error          err = {0};

    how.device_of_op = r->t.device_of_op;
    if (emp_bounds_compute(&own, r->t.problem, &how, &err) != EMP_OK) abort();
    if (own.gpu_kernels_ns > ns)
        fail(r, "of this placement", own.gpu_kernels_ns, ns, sum);
}

static void simulate(trial *r, tally *sum)
{
    emp_sim *sim = task_sim(&r->t);

    for (int32_t i = 0; i < PLACEMENTS; i++) {
        emp_sim_result s;
        draw_placement(&r->t, &r->rng);
        for (emp_op_id op = 0; r->level_of_op != NULL && op < r->t.graph->op_count; op++)
            r->level_of_op[op] = (uint8_t)emp_rng_below(&r->rng, MOST_LEVEL);
        const emp_decision d = {r->t.device_of_op, r->level_of_op, NULL};
        if (emp_sim_run_decision(sim, &d, &s, NULL) != EMP_OK) abort();
        if (!s.is_feasible) continue;
        sum->steps++;
        compare(r, "lower bound", s.step_time_ns, sum);
        if (i == 0) compare_own(r, s.step_time_ns, sum);
        if (has_gpu_kernel_on_cpu(r)) continue;
        sum->on_gpus++;
        r->on_gpus_ns = least(r->on_gpus_ns, s.step_time_ns);
        if (r->bounds.gpu_kernels_ns > s.step_time_ns)
            fail(r, "on GPUs", r->bounds.gpu_kernels_ns, s.step_time_ns, sum);
    }
    emp_sim_destroy(sim);
}

/* The optimum of decisions that order ops is not known. Forbids CPUs at the end. */
static void solve(trial *r, tally *sum)
{
    const emp_time_ns best_ns = r->level_of_op == NULL ? draw_best(r->t.problem) : -1;

    if (best_ns < 0) return;
    sum->solved++;
    sum->met += r->bounds.best_ns == best_ns;
    compare(r, "lower bound of an optimum", best_ns, sum);
    if (emp_machine_count(r->t.machine, EMP_DEVICE_GPU) == 0) return;
    if (emp_problem_forbid_cpus(r->t.problem, NULL, NULL) != EMP_OK) abort();
    const emp_time_ns on_gpus_ns = draw_best(r->t.problem);
    if (on_gpus_ns >= 0) r->on_gpus_ns = least(r->on_gpus_ns, on_gpus_ns);
    if (on_gpus_ns >= 0 && r->bounds.gpu_kernels_ns > on_gpus_ns)
        fail(r, "on GPUs of an optimum", r->bounds.gpu_kernels_ns, on_gpus_ns, sum);
}

/* Computes the bounds, and their certificate if they are positive. */
static void certify(trial *r)
{
    emp_bounds_why all = {0}, gpus = {0};
    emp_error      err = {0};

    r->how.has_proof = true;
    emp_status st =
        emp_bounds_explain(&r->bounds, &all, &gpus, r->t.problem, &r->how, &err);
    if (st == EMP_OK)
        st = cli_certificate_json(&r->certificate, r->t.problem, &r->how, &r->bounds,
                                  &all, &gpus, &err);
    if (st != EMP_OK && st != EMP_EUNSUPPORTED) abort();
    emp_bounds_why_clear(&all);
    emp_bounds_why_clear(&gpus);
}

/* Writes the certificate with the least times that are known, which no sound checker may find beaten. */
static void save(const trial *r, const char *folder)
{
    char path[4096];

    json_object_set_new(r->certificate, "reached_ns",
                        json_pack("{s:I, s:I}", "all", (json_int_t)r->reached_ns,
                                  "on_gpus", (json_int_t)r->on_gpus_ns));
    (void)snprintf(path, sizeof path, "%s/%" PRIu64 ".json", folder, r->seed);
    if (json_dump_file(r->certificate, path, JSON_COMPACT) != 0) abort();
}

static void try_seed(uint64_t seed, const certificates *to, tally *sum)
{
    trial     r = {.seed = seed};
    emp_error err = {0};

    emp_rng_init(&r.rng, seed, 7, 0);
    draw(&r.t, seed);
    r.how.effort = 1 + (int32_t)emp_rng_below(&r.rng, EMP_BOUNDS_MOST_EFFORT);
    r.how.any_order =
        r.t.problem->runtime.rules == EMP_RULES_EVENTS && emp_rng_below(&r.rng, 8) == 0;
    if (r.how.any_order)
        r.level_of_op = calloc((size_t)r.t.graph->op_count, sizeof *r.level_of_op);
    if (to->folder != NULL && seed % to->every == 0)
        certify(&r);
    else if (emp_bounds_compute(&r.bounds, r.t.problem, &r.how, &err) != EMP_OK)
        abort();
    simulate(&r, sum);
    sum->problems++;
    sum->of_rules[r.t.problem->runtime.rules]++;
    sum->of_effort[r.how.effort]++;
    solve(&r, sum);
    if (r.certificate != NULL) save(&r, to->folder);
    json_decref(r.certificate);
    free(r.level_of_op);
    task_destroy(&r.t);
}

static void print_progress(const tally *sum, uint64_t count, double begin_s)
{
    const double s = emp_clock_now_s() - begin_s,
                 left_s = s / (double)sum->problems * (double)(count - sum->problems);

    printf("%" PRIu64 " of %" PRIu64 " problems, %" PRIu64
           " solved (%.0f %% met), %" PRIu64 " steps, %" PRIu64 " on GPUs, %" PRIu64
           " beaten; %.0f s, %.0f s left\n",
           sum->problems, count, sum->solved,
           100.0 * (double)sum->met / (double)(sum->solved + (sum->solved == 0)),
           sum->steps, sum->on_gpus, sum->beaten, s, left_s);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const uint64_t     count = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
    const uint64_t     first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    const certificates to = {argc > 4 ? argv[3] : NULL,
                             argc > 4 ? strtoull(argv[4], NULL, 10) : 1};
    const double begin_s = emp_clock_now_s();
    tally        sum = {0};

    for (uint64_t seed = first; seed < first + count; seed++) {
        try_seed(seed, &to, &sum);
        if (sum.problems % PROGRESS == 0 || sum.problems == count)
            print_progress(&sum, count, begin_s);
    }
#define X(name, text) \
    printf("rules %s: %" PRIu64 "\n", text, sum.of_rules[EMP_RULES_##name]);
    EMP_RULES_LIST(X)
#undef X
    for (int32_t effort = 1; effort <= EMP_BOUNDS_MOST_EFFORT; effort++)
        printf("effort %d: %" PRIu64 "\n", effort, sum.of_effort[effort]);
    return sum.beaten > 0;
}
