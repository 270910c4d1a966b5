// SPDX-License-Identifier: GPL-3.0-or-later
/* Is each sample of the refinement one of its best placements with one group of one grouping
 * moved, which was not proposed before, and do the best only get better? Do blame and estimates
 * decide what is moved? */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policy/hdp/refine.h"
#include "tests/policy/hdp/small_problem.h"

enum { LAYERS = 60, SAMPLES = 8, DEVICES = 3 };

#define SMALL                                                              \
    "grouping=metis,samples=8,starts=1,refine_elites=3,refine_smallest=3," \
    "refine_largest=40,refine_cuts=2"

/* Moves are drawn without a look at step times. */
#define BLIND SMALL ",refine_chosen=0,refine_alike=1"

static small_problem    problem;
static emp_op_features *ops;

static void create_problem(void)
{
    small_problem_init(&problem, LAYERS);
    cr_assert_eq(emp_op_features_create(&ops, problem.problem, NULL), EMP_OK);
}

static void destroy_problem(void)
{
    emp_op_features_destroy(ops);
    small_problem_clear(&problem);
    cr_expect_eq(emp_mem_live_blocks(), 0, "leaked");
}

TestSuite(refine, .init = create_problem, .fini = destroy_problem);

static emp_hdp_options parse(const char *text)
{
    emp_hdp_options options;
    emp_error       err = {0};

    cr_assert_eq(emp_hdp_options_parse(&options, "emplace", text, &err), EMP_OK, "%s",
                 err.msg);
    return options;
}

static emp_refine create(const char *text, uint64_t seed)
{
    emp_hdp_options options = parse(text);
    emp_refine      refine;
    emp_error       err = {0};

    cr_assert_eq(emp_refine_init(&refine, problem.problem, ops, &options, seed, &err),
                 EMP_OK, "%s", err.msg);
    return refine;
}

/* Begins with all rows on device 0, in 100 s. */
static void start(emp_refine *f)
{
    int32_t *device = EMP_NEW_ARRAY(int32_t, (size_t)f->row_count);

    cr_assert_not_null(device);
    emp_refine_start(f, device, 100.0);
    emp_free(device);
}

/* A tenth of a second for each row that is not on the device of its third of the rows, and a
 * bit that differs from row to row. Some do not fit. */
static emp_score judge(const emp_refine *f, const int32_t *device)
{
    emp_score score = {1.0, true, 0.0};

    for (int32_t r = 0; r < f->row_count; r++)
        if (device[r] != r * DEVICES / f->row_count) score.step_time_s += 0.1 + 1e-6 * r;
    score.is_feasible = device[0] != 2;
    return score;
}

static void propose(emp_refine *f)
{
    emp_error err = {0};

    cr_assert_eq(emp_refine_propose(f, SAMPLES, &err), EMP_OK, "%s", err.msg);
}

static void update(emp_refine *f)
{
    emp_score score[SAMPLES];

    propose(f);
    for (int32_t k = 0; k < SAMPLES; k++) score[k] = judge(f, emp_refine_sample(f, k));
    emp_refine_learn(f, score, SAMPLES);
}

/* Whether the sample is the elite with exactly this group on one device, and changed. */
static bool is_move(const emp_refine *f, const int32_t *sample, const int32_t *elite,
                    const emp_members *groups, int32_t group)
{
    int32_t first = groups->first[group], end = groups->first[group + 1], inside = 0,
            all = 0;

    for (int32_t i = first; i < end; i++) {
        if (sample[groups->member[i]] != sample[groups->member[first]]) return false;
        inside += sample[groups->member[i]] != elite[groups->member[i]];
    }
    for (int32_t r = 0; r < f->row_count; r++) all += sample[r] != elite[r];
    return all > 0 && all == inside;
}

static bool is_any_move(const emp_refine *f, const int32_t *sample)
{
    for (int64_t e = 0; e < f->elites.count; e++)
        for (int32_t i = 0; i < f->groups.count; i++)
            for (int32_t g = 0; g < f->groups.grouping[i].rows.group_count; g++)
                if (is_move(f, sample, emp_elites_at(&f->elites, e),
                            &f->groups.grouping[i].rows, g))
                    return true;
    return false;
}

Test(refine, samples_are_elites_in_which_one_group_has_moved)
{
    emp_refine f = create(SMALL, 3);
    emp_score  score[SAMPLES];

    start(&f);
    for (int u = 0; u < 30; u++) {
        propose(&f);
        for (int32_t k = 0; k < SAMPLES; k++) {
            cr_assert(is_any_move(&f, emp_refine_sample(&f, k)), "update %d, sample %d",
                      u, k);
            score[k] = judge(&f, emp_refine_sample(&f, k));
        }
        emp_refine_learn(&f, score, SAMPLES);
    }
    cr_expect_eq(f.elites.count, 3);
    emp_refine_clear(&f);
}

/* A placement that is slow is not asked for again, while there are others. */
Test(refine, nothing_is_proposed_twice)
{
    enum { UPDATES = 20 };
    emp_refine f = create(SMALL, 3);
    size_t     bytes = (size_t)f.row_count * sizeof(int32_t);
    int32_t   *all = EMP_NEW_ARRAY(int32_t, UPDATES * SAMPLES * (size_t)f.row_count);
    int        count = 0;

    start(&f);
    for (int u = 0; u < UPDATES; u++) {
        update(&f);
        for (int32_t k = 0; k < SAMPLES; k++) {
            const int32_t *sample = emp_refine_sample(&f, k);
            for (int i = 0; i < count; i++)
                cr_expect_neq(memcmp(all + i * f.row_count, sample, bytes), 0,
                              "update %d, sample %d is number %d again", u, k, i);
            memcpy(all + count++ * f.row_count, sample, bytes);
        }
    }
    emp_free(all);
    emp_refine_clear(&f);
}

static void forget_proposals(emp_refine *f)
{
    memset(f->known, 0, EMP_REFINE_KNOWN * sizeof *f->known);
}

/* Each takes its turn: a sample differs from one of two elites that are far apart. */
Test(refine, elites_are_drawn_alike)
{
    emp_refine f = create(BLIND, 3);
    int        near_first = 0, count = 0;
    int32_t   *device = EMP_NEW_ARRAY(int32_t, (size_t)f.row_count);

    emp_refine_start(&f, device, 2.0);
    for (int32_t r = 0; r < f.row_count; r++) device[r] = 1;
    emp_elites_keep(&f.elites, device, 1.0);
    emp_free(device);
    for (; count < 2000; count += SAMPLES) {
        propose(&f);
        for (int32_t k = 0; k < SAMPLES; k++) {
            int32_t ones = 0;
            for (int32_t r = 0; r < f.row_count; r++)
                ones += emp_refine_sample(&f, k)[r] == 1;
            near_first += 2 * ones > f.row_count;
        }
        forget_proposals(&f);
    }
    cr_expect(abs(near_first - count / 2) < count / 16, "%d of %d", near_first, count);
    emp_refine_clear(&f);
}

/* Of a group that may go to devices 1 and 2, as it is on 0, and rarely to 0. */
Test(refine, devices_are_drawn_in_proportion_to_their_power)
{
    emp_refine f;
    int        to[DEVICES] = {0}, count = 0;

    problem.machine.device[0].peak_flops_per_s = 1e11;
    problem.machine.device[1].peak_flops_per_s = 1e12;
    problem.machine.device[2].peak_flops_per_s = 3e12;
    f = create(BLIND, 9);
    cr_expect_eq(f.odds.up_to[DEVICES - 1], 1.0);
    start(&f);
    for (; count < 4000; count += SAMPLES) {
        propose(&f);
        for (int32_t k = 0; k < SAMPLES; k++) {
            int32_t moved = 0;
            for (int32_t r = 0; r < f.row_count && moved == 0; r++)
                moved = emp_refine_sample(&f, k)[r];
            to[moved]++;
        }
        forget_proposals(&f);
    }
    cr_expect_eq(to[0], 0, "a move that changes nothing is drawn again");
    cr_expect(abs(to[1] - count / 4) < count / 40, "%d of %d", to[1], count);
    emp_refine_clear(&f);
}

Test(refine, elites_only_get_better)
{
    emp_refine f = create(SMALL, 2);
    double     before[3] = {100.0, 1e9, 1e9};

    start(&f);
    for (int u = 0; u < 200; u++) {
        update(&f);
        for (int64_t e = 0; e < f.elites.count; e++) {
            emp_score score = judge(&f, emp_elites_at(&f.elites, e));
            cr_assert_leq(f.elites.step_time_s[e], before[e]);
            before[e] = f.elites.step_time_s[e];
            if (before[e] == 100.0) continue; /* what it began with */
            cr_assert_eq(before[e], score.step_time_s);
            cr_assert(score.is_feasible);
        }
    }
    cr_expect_lt(before[0], 1.0 + 0.1 * f.row_count / 3,
                 "two thirds were wrong, then %g s", before[0]);
    emp_refine_clear(&f);
}

Test(refine, failures_are_not_kept)
{
    emp_refine f = create(SMALL, 2);
    emp_score  score[SAMPLES];

    start(&f);
    for (int32_t k = 0; k < SAMPLES; k++) score[k] = (emp_score){0.001 * k, false, 0.0};
    propose(&f);
    emp_refine_learn(&f, score, SAMPLES);
    cr_expect_eq(f.elites.count, 1);
    cr_expect_eq(f.elites.step_time_s[0], 100.0);
    emp_refine_clear(&f);
}

static bool are_samples_equal(const emp_refine *a, const emp_refine *b)
{
    return memcmp(a->device, b->device,
                  (size_t)SAMPLES * (size_t)a->row_count * sizeof *a->device) == 0;
}

Test(refine, equal_seeds_give_equal_samples)
{
    emp_refine a = create(SMALL, 4), b = create(SMALL, 4), c = create(SMALL, 5);

    start(&a);
    start(&b);
    start(&c);
    cr_expect_eq(a.groups.hash, b.groups.hash);
    for (int u = 0; u < 5; u++) {
        update(&a);
        update(&b);
        cr_assert(are_samples_equal(&a, &b), "update %d", u);
        update(&c);
        cr_assert_not(are_samples_equal(&a, &c), "another seed, update %d", u);
    }
    emp_refine_clear(&a);
    emp_refine_clear(&b);
    emp_refine_clear(&c);
}

Test(refine, listed_state_is_all_that_the_next_samples_depend_on)
{
    emp_refine      a = create(SMALL, 4), b = create(SMALL, 4);
    emp_named_array from[EMP_MAX_NAMED_ARRAYS], to[EMP_MAX_NAMED_ARRAYS];

    start(&a);
    for (int u = 0; u < 7; u++) update(&a);
    int32_t count = emp_refine_list_state(&a, from);
    cr_assert_eq(emp_refine_list_state(&b, to), count);
    for (int32_t i = 0; i < count; i++) {
        cr_assert_str_eq(to[i].name, from[i].name);
        cr_assert_eq(to[i].count, from[i].count);
        memcpy(to[i].values, from[i].values,
               from[i].count * emp_array_type_bytes(from[i].type));
    }
    for (int u = 0; u < 7; u++) {
        update(&a);
        update(&b);
        cr_assert(are_samples_equal(&a, &b), "update %d", u);
    }
    emp_refine_clear(&a);
    emp_refine_clear(&b);
}

/* ---- what the simulator says ---- */

/* All ops on one GPU but a few on the other, which nothing waits for: only groups that have a
 * part in the critical path are moved. */
Test(refine, moves_begin_with_what_is_to_blame)
{
    emp_refine f = create(SMALL ",refine_chosen=0,refine_alike=0", 3);

    start(&f);
    for (int u = 0; u < 20; u++) {
        propose(&f);
        for (int32_t k = 0; k < SAMPLES; k++) {
            const emp_refine_move *m = &f.move[k];
            double                 blame_s = 0.0;
            for (int32_t i = m->groups->first[m->group];
                 i < m->groups->first[m->group + 1]; i++)
                blame_s += f.guide.weight[m->groups->member[i]];
            cr_expect_gt(blame_s, 0.0, "update %d, sample %d", u, k);
        }
        emp_refine_learn(&f, (emp_score[SAMPLES]){{0}}, SAMPLES);
    }
    emp_refine_clear(&f);
}

/* The guide has a shorter way to what emp_problem_legalize() says. */
Test(refine, the_guide_looks_at_legal_placements)
{
    const emp_graph *g = problem.problem->graph;
    emp_device_id   *legal = EMP_NEW_ARRAY(emp_device_id, (size_t)g->op_count);
    emp_refine       f;

    problem.problem->kinds_of_class[problem.problem->class_of_op[ops->op_of_row[1]]] =
        EMP_KIND_CPU;
    f = create(SMALL, 3);
    start(&f);
    propose(&f);
    for (int32_t k = 0; k < SAMPLES; k++) {
        const int32_t *device_of_row = emp_refine_sample(&f, k);
        for (emp_op_id op = 0; op < g->op_count; op++)
            legal[op] = ops->row_of_op[op] < 0 ? 0 : device_of_row[ops->row_of_op[op]];
        emp_problem_legalize(problem.problem, legal);
        emp_guide_set(&f.guide, 0, device_of_row);
        for (emp_op_id op = 0; op < g->op_count; op++)
            if (!g->op[op].is_folded) cr_expect_eq(f.guide.device[0][op], legal[op]);
    }
    emp_free(legal);
    emp_refine_clear(&f);
}

/* Of 4 x 16 candidates the four with the least estimates, which are the surrogate's. */
Test(refine, the_surrogate_chooses_among_candidates)
{
    emp_refine f = create(SMALL ",refine_chosen=0.5,refine_filter=16", 3);
    double     estimate_s;

    cr_assert_not_null(f.guide.surrogate);
    start(&f);
    propose(&f);
    cr_assert_eq(f.chosen, SAMPLES / 2);
    for (int32_t k = SAMPLES / 2; k < SAMPLES; k++) {
        emp_guide_set(&f.guide, 0, emp_refine_sample(&f, k));
        cr_assert_eq(emp_guide_estimate(&f.guide, 1, &estimate_s, NULL), EMP_OK);
        cr_expect_eq(f.move[k].estimate_s, estimate_s);
        for (int32_t i = SAMPLES; i < SAMPLES / 2 * 17; i++)
            cr_expect_geq(f.move[i].estimate_s, estimate_s);
    }
    emp_refine_learn(&f,
                     (emp_score[SAMPLES]){{1, true, 0.0},
                                          {2, true, 0.0},
                                          {3, true, 0.0},
                                          {6, false, 0.0},
                                          {4, true, 0.0},
                                          {5, true, 0.0},
                                          {6, true, 0.0},
                                          {9, true, 0.0}},
                     SAMPLES);
    cr_expect_eq(f.drawn_mean_s, 2.0);
    cr_expect_eq(f.chosen_mean_s, 6.0);
    emp_refine_clear(&f);
}

/* Under rules that cannot be explained nothing is weighed or chosen. */
Test(refine, other_rules_are_refined_without_a_guide)
{
    emp_refine f;

    cr_assert_eq(emp_runtime_load(&problem.problem->runtime, "msr-load", NULL), EMP_OK);
    f = create(SMALL, 3);
    cr_expect_null(f.guide.sim);
    cr_expect_null(f.guide.surrogate);
    start(&f);
    for (int u = 0; u < 20; u++) update(&f);
    cr_expect_eq(f.chosen, 0);
    cr_expect(isnan(f.chosen_mean_s));
    cr_expect_lt(f.elites.step_time_s[0], 100.0);
    emp_refine_clear(&f);
}

/* ---- allocation failures ---- */

/* Of the first proposal, which explains a placement. */
static void propose_in_spite_of_failures(emp_refine *f)
{
    emp_status st = EMP_ENOMEM;
    long       before = emp_mem_live_blocks();

    for (long allowed = 0; st != EMP_OK; allowed++) {
        emp_mem_fail_after(allowed);
        st = emp_refine_propose(f, SAMPLES, NULL);
        emp_mem_fail_after(-1);
        cr_assert(st == EMP_OK || st == EMP_ENOMEM, "after %ld allocations: %s", allowed,
                  emp_status_str(st));
        cr_assert_eq(emp_mem_live_blocks(), before, "leak after %ld allocations",
                     allowed);
    }
}

Test(refine, survives_every_allocation_failure)
{
    const emp_hdp_options options =
        parse("grouping=chunks,samples=8,refine_smallest=4,refine_largest=8");
    emp_status st = EMP_ENOMEM;
    emp_refine f;
    long       before = emp_mem_live_blocks();

    for (long allowed = 0; st != EMP_OK; allowed++) {
        emp_mem_fail_after(allowed);
        st = emp_refine_init(&f, problem.problem, ops, &options, 1, NULL);
        emp_mem_fail_after(-1);
        if (st == EMP_OK) break;
        cr_assert_eq(st, EMP_ENOMEM, "after %ld allocations: %s", allowed,
                     emp_status_str(st));
        cr_assert_eq(emp_mem_live_blocks(), before, "leak after %ld allocations",
                     allowed);
        emp_refine_clear(&f); /* legal after a failure */
    }
    start(&f);
    propose_in_spite_of_failures(&f);
    emp_refine_clear(&f);
}
