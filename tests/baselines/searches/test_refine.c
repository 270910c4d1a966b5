// SPDX-License-Identifier: GPL-3.0-or-later
/* Is each sample of the refinement the best placement with one group on another device, which was
 * not proposed before? Do starts end when they should, and do blame and estimates decide what is
 * moved? */
#include "baselines/baselines.h"
#include "baselines/searches/walk.h"
#include "sim/engine/sim.h"
#include "sim/explain/explain.h"
#include "sim/surrogate/surrogate.h"
#include "tests/baselines/fixture.h"
#include "tests/support/methods.h"
#include "tests/support/problems.h"

static void release_state(void **state)
{
    emp_method_destroy(&emp_method_refine, *state);
}
#define OWN_STATE SCOPED(void *, release_state)

enum { SAMPLES = 8 };

#define SMALL "groups=metis,coarsest=3,finest=192,cuts=2"
/* Moves are drawn without a look at step times. */
#define BLIND SMALL ",chosen=0,alike=1"
/* More moves from the first batch on, and many. */
#define MORE "groups=metis,coarsest=12,finest=192,cuts=2"
#define FINE "groups=metis,coarsest=96,finest=192,cuts=2"

static task               t;
static emp_graph         *graph;
static emp_problem       *problem;
static emp_device_id     *candidate[EMP_MAX_BATCH], *here;
static emp_owned_decision proposal[EMP_MAX_BATCH]; /* of the candidates */
static size_t             bytes;                   /* of a placement */

static void create_problem(const char *rules)
{
    task_create(&t, "rnnlm:steps=4", "k40x2", rules);
    graph = t.graph;
    problem = t.problem;
    bytes = (size_t)graph->op_count * sizeof *here;
    here = EMP_NEW_ARRAY(emp_device_id, (size_t)graph->op_count);
    for (int k = 0; k < SAMPLES; k++) {
        candidate[k] = EMP_NEW_ARRAY(emp_device_id, (size_t)graph->op_count);
        proposal[k].device_of_op = candidate[k];
    }
}

static void set_up(void) { create_problem("tf-r1.3"); }

static void tear_down(void)
{
    for (int k = 0; k < SAMPLES; k++) emp_free(candidate[k]);
    emp_free(here);
    task_destroy(&t);
    expect_all_freed();
}

TestSuite(refine, .init = set_up, .fini = tear_down);

static void *create(const char *options)
{
    return method_begin(&emp_method_refine, problem,
                        (emp_method_params){.seed = 3, .threads = 1, .options = options});
}

static int32_t ask(void *state)
{
    return method_ask(&emp_method_refine, state, proposal, SAMPLES);
}

static void tell(void *state, const double *step_time_s, int32_t count)
{
    emp_score score[SAMPLES];

    for (int32_t k = 0; k < count; k++)
        score[k] = (emp_score){.step_time_s = step_time_s[k], .is_feasible = true};
    MUST(emp_method_refine.tell(state, score, count, NULL));
}

static void tell_all(void *state, double step_time_s, int32_t count)
{
    double all[SAMPLES];

    for (int32_t k = 0; k < count; k++) all[k] = step_time_s;
    tell(state, all, count);
}

/* Past the start, which takes 100 s; leaves it in `here`. */
static void *start(const char *options)
{
    void *state = create(options);

    cr_assert_eq(ask(state), 1);
    memcpy(here, candidate[0], bytes);
    tell_all(state, 100.0, 1);
    return state;
}

/* Whether some ops have gone from `here` to one device. */
static bool is_move(const emp_device_id *device)
{
    emp_device_id to = -1;

    for (emp_op_id op = 0; op < graph->op_count; op++) {
        if (device[op] == here[op]) continue;
        if (to >= 0 && device[op] != to) return false;
        to = device[op];
    }
    return to >= 0;
}

Test(refine, may_begin_where_another_method_ends)
{
    const emp_score score = {.step_time_s = 50.0, .is_feasible = true};
    OWN_STATE       state = create(BLIND);

    for (emp_op_id op = 0; op < graph->op_count; op++) here[op] = 1;
    emp_refine_begin_at(state, here, &score);
    emp_problem_legalize(problem, here);
    cr_assert_eq(ask(state), SAMPLES);
    for (int k = 0; k < SAMPLES; k++) cr_expect(is_move(candidate[k]), "sample %d", k);
    tell_all(state, 60.0, SAMPLES);
    cr_expect_eq(method_metric(&emp_method_refine, state, "best_cost_s"), 50.0);
}

/* The third sample of a batch is the fastest so far, and where all go on from. */
Test(refine, samples_are_the_best_in_which_one_group_has_moved)
{
    const char *const options[] = {BLIND, SMALL};

    for (int i = 0; i < 2; i++) {
        OWN_STATE state = start(options[i]);
        for (int u = 0; u < 15; u++) {
            double time_s[SAMPLES];
            cr_assert_eq(ask(state), SAMPLES);
            for (int k = 0; k < SAMPLES; k++) {
                cr_expect(is_move(candidate[k]), "%s: update %d, sample %d", options[i],
                          u, k);
                time_s[k] = k == 2 ? 99.0 - u : 200.0;
            }
            memcpy(here, candidate[2], bytes);
            tell(state, time_s, SAMPLES);
        }
    }
}

/* One or two may be forgotten, as others have taken their slots. */
Test(refine, nothing_that_is_remembered_is_proposed_again)
{
    enum { BATCHES = 20, ALL = BATCHES * SAMPLES };
    OWN_FREE emp_device_id *seen = malloc(ALL * bytes);
    OWN_STATE               state = start(BLIND);
    int                     again = 0;

    for (int n = 0; n < ALL; n++) {
        if (n % SAMPLES == 0) cr_assert_eq(ask(state), SAMPLES);
        memcpy((char *)seen + (size_t)n * bytes, candidate[n % SAMPLES], bytes);
        for (int i = 0; i < n; i++)
            again += memcmp((char *)seen + (size_t)i * bytes, candidate[n % SAMPLES],
                            bytes) == 0;
        if (n % SAMPLES == SAMPLES - 1) tell_all(state, 200.0, SAMPLES);
    }
    cr_expect_leq(again, 2, "%d of %d again", again, (int)ALL);
}

/* Two starts of two batches, each begun by a placement that comes by itself; in the end the best of
 * both, which the first start has found. */
Test(refine, the_best_of_all_starts_is_refined_to_the_end)
{
    OWN_STATE               state = start(BLIND ",starts=2,start_samples=16");
    OWN_FREE emp_device_id *best = malloc(bytes);

    cr_assert_eq(ask(state), SAMPLES);
    memcpy(best, candidate[5], bytes);
    tell(state, (double[]){9, 9, 9, 9, 9, 1, 9, 9}, SAMPLES);
    cr_assert_eq(ask(state), SAMPLES);
    cr_expect_eq(method_metric(&emp_method_refine, state, "stage"), 0.0);
    tell_all(state, 9.0, SAMPLES);
    cr_assert_eq(ask(state), 1, "the second start");
    cr_expect_neq(memcmp(candidate[0], here, bytes), 0);
    tell_all(state, 5.0, 1);
    cr_expect_eq(method_metric(&emp_method_refine, state, "stage"), 1.0);
    cr_expect_eq(method_metric(&emp_method_refine, state, "here_s"), 5.0);
    for (int u = 0; u < 2; u++) {
        cr_assert_eq(ask(state), SAMPLES);
        tell_all(state, 4.0 - u, SAMPLES);
    }
    memcpy(here, best, bytes);
    for (int u = 0; u < 5; u++) {
        cr_assert_eq(ask(state), SAMPLES);
        for (int k = 0; k < SAMPLES; k++) cr_expect(is_move(candidate[k]));
        tell_all(state, 9.0, SAMPLES);
        cr_expect_eq(method_metric(&emp_method_refine, state, "stage"), 2.0);
        cr_expect_eq(method_metric(&emp_method_refine, state, "here_s"), 1.0);
    }
}

/* ---- what the simulator says ---- */

/* Share of the blame of `here` that goes to ops of samples that have moved. */
static double moved_blame(const char *options)
{
    enum { BATCHES = 10 };
    double  *blame_s = EMP_NEW_ARRAY(double, (size_t)graph->op_count), sum = 0.0;
    double   moved = 0.0;
    int      ops = 0;
    emp_sim *sim = NULL;
    void    *state = start(options);

    MUST(emp_sim_create(&sim, problem, NULL));
    MUST(emp_explain_blame(blame_s, problem, sim, &(emp_decision){.device_of_op = here},
                           NULL));
    for (emp_op_id op = 0; op < graph->op_count; op++) sum += blame_s[op];
    for (int u = 0; u < BATCHES; u++) {
        ask(state);
        for (int k = 0; k < SAMPLES; k++) {
            for (emp_op_id op = 0; op < graph->op_count; op++) {
                if (candidate[k][op] == here[op]) continue;
                moved += blame_s[op] / sum;
                ops++;
            }
        }
        tell_all(state, 200.0, SAMPLES);
    }
    emp_method_destroy(&emp_method_refine, state);
    emp_sim_destroy(sim);
    emp_free(blame_s);
    return moved / ops * graph->op_count;
}

/* Only small groups: of a large one some ops are always to blame. */
Test(refine, moves_begin_with_what_is_to_blame)
{
    double by_blame = moved_blame(FINE ",chosen=0,alike=0");
    double alike = moved_blame(FINE ",chosen=0,alike=1");

    cr_expect_gt(by_blame, 1.5 * alike, "%g, else %g", by_blame, alike);
}

/* Mean estimate of the first samples, in the topological order. */
static double mean_estimate(const char *options)
{
    enum { BATCHES = 5 };
    emp_surrogate *surrogate = NULL;
    double         sum = 0.0, estimate_s[SAMPLES];
    OWN_STATE      state = start(options);

    MUST(emp_surrogate_create(&surrogate, problem, EMP_SURROGATE_SCALAR, NULL));
    for (int u = 0; u < BATCHES; u++) {
        ask(state);
        for (int k = 0; k < SAMPLES; k++) emp_problem_legalize(problem, candidate[k]);
        MUST(emp_surrogate_run(surrogate, candidate, SAMPLES, estimate_s, NULL));
        for (int k = 0; k < SAMPLES; k++) sum += estimate_s[k];
        tell_all(state, 200.0, SAMPLES);
    }
    emp_surrogate_destroy(surrogate);
    return sum / (BATCHES * SAMPLES);
}

Test(refine, the_surrogate_chooses_among_drafts)
{
    double blind = mean_estimate(MORE ",alike=1,chosen=0");
    double half = mean_estimate(MORE ",alike=1");
    double all = mean_estimate(MORE ",alike=1,chosen=1");

    cr_expect_lt(half, 0.98 * blind, "%g, else %g", half, blind);
    cr_expect_lt(all, 0.985 * half, "%g, else %g", all, half);
}

/* Under rules that cannot be explained nothing is weighed or chosen. */
TestSuite(refine_rules, .fini = tear_down);

Test(refine_rules, others_are_refined_without_a_guide)
{
    create_problem("msr-load");
    OWN_STATE state = start(SMALL);
    for (int u = 0; u < 20; u++) {
        cr_assert_eq(ask(state), SAMPLES);
        for (int k = 0; k < SAMPLES; k++) cr_expect(is_move(candidate[k]));
        tell_all(state, 200.0, SAMPLES);
    }
}

/* Ops that only a CPU can run have one place on a machine of one host. */
Test(refine_nothing, what_cannot_be_moved_is_refused)
{
    OWN_FIXTURE             f = fixture_create(2);
    const emp_method_params params = {.options = SMALL};
    void                   *state = NULL;

    fixture_cpu_only(f, fixture_op(f, "a", 4));
    fixture_cpu_only(f, fixture_op(f, "b", 4));
    MUST_FAIL(
        emp_method_create(&state, &emp_method_refine, fixture_problem(f), &params, &why),
        EMP_EUNSUPPORTED, "");
    cr_expect_null(state);
}

Test(refine, survives_every_allocation_failure)
{
    const emp_method_params params = {
        .seed = 3, .options = "groups=names,coarsest=12,finest=12,cuts=1"};
    OWN_STATE  state = NULL;
    int32_t    count;
    emp_status st = EMP_ENOMEM;

    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_method_create(&state, &emp_method_refine, problem, &params, NULL), (void)0);
    cr_assert_eq(ask(state), 1);
    tell_all(state, 100.0, 1);
    for (long allowed = 0; st != EMP_OK;
         allowed++) { /* of the first batch, which explains a placement */
        emp_mem_fail_after(allowed);
        st = emp_method_refine.ask(state, proposal, SAMPLES, &count, NULL);
        emp_mem_fail_after(-1);
        cr_assert(st == EMP_OK || st == EMP_ENOMEM, "after %ld", allowed);
    }
}
