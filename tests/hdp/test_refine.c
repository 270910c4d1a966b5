// SPDX-License-Identifier: GPL-3.0-or-later
/* Is each sample of the refinement one of its best placements with one group of one level
 * moved, and do the best only get better? */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "policy/hdp/fixed_groups.h"
#include "policy/hdp/refine.h"
#include "small_problem.h"

enum { LAYERS = 60, SAMPLES = 8, DEVICES = 3 };

#define SMALL                                                              \
    "grouping=metis,samples=8,starts=1,refine_elites=3,refine_smallest=3," \
    "refine_largest=40"

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
    emp_score score = {1.0, true};

    for (int32_t r = 0; r < f->row_count; r++)
        if (device[r] != r * DEVICES / f->row_count) score.step_time_s += 0.1 + 1e-6 * r;
    score.is_feasible = device[0] != 2;
    return score;
}

static void update(emp_refine *f)
{
    emp_score score[SAMPLES];

    emp_refine_propose(f, SAMPLES);
    for (int32_t k = 0; k < SAMPLES; k++) score[k] = judge(f, emp_refine_sample(f, k));
    emp_refine_learn(f, score, SAMPLES);
}

Test(refine, levels_have_every_row_once)
{
    static const int32_t asked[] = {3, 6, 12, 24};
    emp_refine           f = create(SMALL, 1);

    cr_assert_eq(f.level_count, 4, "the next would be above refine_largest=40");
    for (int32_t i = 0; i < f.level_count; i++) {
        const emp_refine_level *level = &f.level[i];
        int32_t                *times = calloc((size_t)f.row_count, sizeof *times);
        cr_expect(level->group_count >= asked[i] / 2 && level->group_count <= asked[i],
                  "%d groups of %d", level->group_count, asked[i]);
        cr_expect_eq(level->first[0], 0);
        cr_expect_eq(level->first[level->group_count], f.row_count);
        for (int32_t g = 0; g < level->group_count; g++)
            cr_expect_lt(level->first[g], level->first[g + 1], "group %d is empty", g);
        for (int32_t k = 0; k < f.row_count; k++) times[level->row[k]]++;
        for (int32_t r = 0; r < f.row_count; r++) cr_expect_eq(times[r], 1, "row %d", r);
        free(times);
    }
    emp_refine_clear(&f);
}

/* The groups are those of fixed_groups.h, in their order. */
Test(refine, levels_are_fixed_groups_of_seeds_of_their_own)
{
    emp_refine      f = create(SMALL, 5);
    emp_hdp_options o = parse(SMALL);
    int32_t         count = 3;

    for (int32_t i = 0; i < f.level_count; i++, count *= 2) {
        const emp_refine_level *level = &f.level[i];
        int32_t                *group, before = -1;
        cr_assert_eq(emp_fixed_groups_create(&group, EMP_GROUPING_METIS, problem.problem,
                                             ops, count, o.refine_imbalance,
                                             6 + (uint64_t)i, NULL),
                     EMP_OK);
        for (int32_t g = 0; g < level->group_count; g++) {
            int32_t of_first = group[level->row[level->first[g]]];
            cr_expect_gt(of_first, before);
            before = of_first;
            for (int32_t k = level->first[g]; k < level->first[g + 1]; k++)
                cr_expect_eq(group[level->row[k]], of_first);
        }
        emp_free(group);
    }
    emp_refine_clear(&f);
}

/* Random groups of far more than there are rows: most are empty. */
Test(refine, empty_groups_are_dropped)
{
    emp_refine f = create("grouping=random,samples=8,starts=1,refine_smallest=4096,"
                          "refine_largest=4096",
                          1);

    cr_assert_eq(f.level_count, 1);
    cr_expect_leq(f.level[0].group_count, f.row_count);
    cr_expect_gt(f.level[0].group_count, f.row_count / 2);
    for (int32_t g = 0; g < f.level[0].group_count; g++)
        cr_expect_lt(f.level[0].first[g], f.level[0].first[g + 1]);
    emp_refine_clear(&f);
}

/* Whether the sample is the elite with exactly this group on one device, and changed. */
static bool is_move(const emp_refine *f, const int32_t *sample, const int32_t *elite,
                    const emp_refine_level *level, int32_t group)
{
    int32_t first = level->first[group], end = level->first[group + 1], inside = 0,
            all = 0;

    for (int32_t i = first; i < end; i++) {
        if (sample[level->row[i]] != sample[level->row[first]]) return false;
        inside += sample[level->row[i]] != elite[level->row[i]];
    }
    for (int32_t r = 0; r < f->row_count; r++) all += sample[r] != elite[r];
    return all > 0 && all == inside;
}

static bool is_any_move(const emp_refine *f, const int32_t *sample)
{
    for (int64_t e = 0; e < f->elites.count; e++)
        for (int32_t i = 0; i < f->level_count; i++)
            for (int32_t g = 0; g < f->level[i].group_count; g++)
                if (is_move(f, sample, emp_elites_at(&f->elites, e), &f->level[i], g))
                    return true;
    return false;
}

Test(refine, samples_are_elites_in_which_one_group_has_moved)
{
    emp_refine f = create(SMALL, 3);

    start(&f);
    for (int u = 0; u < 30; u++) {
        emp_refine_propose(&f, SAMPLES);
        for (int32_t k = 0; k < SAMPLES; k++)
            cr_assert(is_any_move(&f, emp_refine_sample(&f, k)), "update %d, sample %d",
                      u, k);
        f.asked -= SAMPLES; /* the same once more, and learn */
        update(&f);
    }
    cr_expect_eq(f.elites.count, 3);
    emp_refine_clear(&f);
}

/* Every level and every elite takes its turn. */
Test(refine, levels_and_elites_are_drawn_alike)
{
    emp_refine f = create(SMALL, 3);
    int        by_level[4] = {0}, by_elite[2] = {0}, count = 0;

    /* Two elites that are far apart. */
    int32_t *device = EMP_NEW_ARRAY(int32_t, (size_t)f.row_count);
    emp_refine_start(&f, device, 2.0);
    for (int32_t r = 0; r < f.row_count; r++) device[r] = 1;
    emp_elites_keep(&f.elites, device, 1.0);
    emp_free(device);
    for (; count < 2000; count += SAMPLES) {
        emp_refine_propose(&f, SAMPLES);
        for (int32_t k = 0; k < SAMPLES; k++) {
            const int32_t *sample = emp_refine_sample(&f, k);
            bool           is_found = false;
            for (int64_t e = 0; e < 2; e++)
                for (int32_t i = 0; i < 4; i++)
                    for (int32_t g = 0; !is_found && g < f.level[i].group_count; g++)
                        if (is_move(&f, sample, emp_elites_at(&f.elites, e), &f.level[i],
                                    g)) {
                            by_level[i]++;
                            by_elite[e]++;
                            is_found = true;
                        }
            cr_assert(is_found);
        }
    }
    for (int i = 0; i < 4; i++)
        cr_expect(abs(by_level[i] - count / 4) < count / 16, "level %d: %d of %d", i,
                  by_level[i], count);
    cr_expect(abs(by_elite[0] - count / 2) < count / 16, "%d of %d", by_elite[0], count);
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
    f = create(SMALL, 9);
    cr_expect_eq(f.power_up_to[DEVICES - 1], 1.0);
    start(&f);
    for (; count < 4000; count += SAMPLES) {
        emp_refine_propose(&f, SAMPLES);
        for (int32_t k = 0; k < SAMPLES; k++) {
            int32_t moved = 0;
            for (int32_t r = 0; r < f.row_count && moved == 0; r++)
                moved = emp_refine_sample(&f, k)[r];
            to[moved]++;
        }
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
    for (int32_t k = 0; k < SAMPLES; k++) score[k] = (emp_score){0.001 * k, false};
    emp_refine_propose(&f, SAMPLES);
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
    cr_expect_eq(a.groups_hash, b.groups_hash);
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

static void survive_allocation_failures(const char *text)
{
    const emp_hdp_options options = parse(text);
    emp_status            st = EMP_ENOMEM;
    emp_refine            f;
    long                  before = emp_mem_live_blocks();

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
    emp_mem_fail_after(0);
    update(&f); /* allocates nothing */
    emp_mem_fail_after(-1);
    emp_refine_clear(&f);
}

Test(refine, survives_every_allocation_failure)
{
    survive_allocation_failures("grouping=chunks,samples=8,refine_smallest=4,"
                                "refine_largest=8");
}
