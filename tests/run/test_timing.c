// SPDX-License-Identifier: GPL-3.0-or-later
/* Does a timing say how far a run was after so many CPU seconds, also when it is read again? */
#include "base/rng.h"
#include "run/sheet/sheet.h"
#include "run/timing.h"
#include "tests/test.h"

TestSuite(timing, .init = scratch_create, .fini = scratch_tear_down);

enum { BATCHES = 5000 };

/* A run of batches of 4; the best of batch i, and the CPU seconds at its end. */
typedef struct {
    double best_s[BATCHES], cpu_s[BATCHES];
} history;

static void make_run(history *h, emp_timing *t)
{
    emp_rng rng;
    double  best_s = NAN, cpu_s = 0;

    emp_rng_init(&rng, 5, 0, 0);
    for (int i = 0; i < BATCHES; i++) {
        cpu_s += 1e-3 * (1 + emp_rng_uniform(&rng));
        if (i > 10 && emp_rng_below(&rng, 1 + (uint32_t)i / 4) == 0)
            best_s = isnan(best_s) ? 1 : 0.9 * best_s;
        h->best_s[i] = best_s;
        h->cpu_s[i] = cpu_s;
        emp_timing_note(t, 4 * (i + 1), 2 * cpu_s, cpu_s, best_s);
    }
    ASSERT_OK(emp_timing_check(t, NULL));
}

static double best_within(const history *h, double cpu_s, int64_t evaluations)
{
    double best_s = NAN;

    for (int i = 0; i < BATCHES && h->cpu_s[i] <= cpu_s; i++)
        if (evaluations < 0 || 4 * (i + 1) <= evaluations) best_s = h->best_s[i];
    return best_s;
}

/* Points are few, and yet the best so far is exact at every moment. */
Test(timing, points_tell_the_best_so_far_at_every_moment)
{
    history *h = malloc(sizeof *h);
    SCOPED(emp_timing, emp_timing_clear) t = {0};

    make_run(h, &t);
    cr_expect_lt(t.point_count, BATCHES / 8);
    cr_expect_eq(t.point[t.point_count - 1].evaluations, 4 * BATCHES);
    cr_expect_eq(t.cpu_s, t.point[t.point_count - 1].cpu_s);
    cr_expect_null(emp_timing_within(&t, h->cpu_s[0] / 2));
    for (double cpu_s = 0.003; cpu_s < 10; cpu_s *= 1.0123) {
        const emp_timing_point *at = emp_timing_within(&t, cpu_s);
        double                  truth = best_within(h, cpu_s, -1);
        double told = at == NULL ? NAN : best_within(h, cpu_s, at->evaluations);
        cr_assert(truth == told || (isnan(truth) && isnan(told)), "%g s: %g, not %g",
                  cpu_s, told, truth);
        if (at != NULL) cr_expect_leq(at->cpu_s, cpu_s);
    }
    free(h);
}

static void expect_same(const emp_timing *a, const emp_timing *b)
{
    cr_expect(a->threads == b->threads && a->cpu_s == b->cpu_s);
    cr_expect_float_eq(a->elapsed_s, b->elapsed_s, 1e-6);
    cr_assert_eq(a->point_count, b->point_count);
    for (int32_t i = 0; i < a->point_count; i++)
        cr_expect(a->point[i].evaluations == b->point[i].evaluations &&
                      a->point[i].cpu_s == b->point[i].cpu_s,
                  "point %d", i);
}

Test(timing, comes_back_as_saved)
{
    history   *h = malloc(sizeof *h);
    emp_timing t = {.threads = 1}, read;

    make_run(h, &t);
    const char *path = scratch_path("a.timing.json");
    ASSERT_OK(emp_timing_save(&t, path, 4 * BATCHES, &err));
    ASSERT_OK(emp_timing_load(&read, path, &err));
    expect_same(&t, &read);
    emp_timing_clear(&t);
    emp_timing_clear(&read);
    free(h);
}

Test(timing, several_threads_have_no_cpu_seconds)
{
    emp_timing t = {.threads = 2}, read;

    emp_timing_note(&t, 4, 1.5, NAN, 2.0);
    const char *path = scratch_path("a.timing.json");
    ASSERT_OK(emp_timing_save(&t, path, 4, NULL));
    ASSERT_OK(emp_timing_load(&read, path, NULL));
    cr_expect(read.elapsed_s == 1.5 && isnan(read.cpu_s) && read.point_count == 0);
    cr_expect_eq(read.threads, 2);
    emp_timing_clear(&t);
    emp_timing_clear(&read);
}

static emp_status load_text(emp_timing *t, const char *text, emp_error *err)
{
    scratch_write("b.timing.json", text, strlen(text));
    return emp_timing_load(t, scratch_path("b.timing.json"), err);
}

Test(timing, damaged_files_are_refused)
{
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"elapsed_s\": -1}",
        "{\"elapsed_s\": \"1\"}",
        "{\"elapsed_s\": 1, \"curve\": [[1, 0.5], [1, 0.6]]}",
        "{\"elapsed_s\": 1, \"curve\": [[1, 0.5], [2, 0.4]]}",
        "{\"elapsed_s\": 1, \"curve\": [[1.5, 0.5]]}",
        "{\"elapsed_s\": 1, \"curve\": [[-3, 0.5]]}",
        "{\"elapsed_s\": 1, \"curve\": [[1, null]]}",
        "{\"elapsed_s\": 1, \"curve\": [7]}"};

    emp_timing old; /* of a version that knew no CPU seconds */

    ASSERT_OK(load_text(&old, "{\"elapsed_s\": 2.5, \"threads\": 3}", &err));
    cr_expect(old.elapsed_s == 2.5 && isnan(old.cpu_s) && old.threads == 3);
    cr_expect_null(emp_timing_within(&old, 1e9));
    emp_timing_clear(&old);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        emp_timing t;
        EXPECT_REFUSED(load_text(&t, bad[i], &err), EMP_EFORMAT, "b.timing.json");
        emp_timing_clear(&t);
    }
}

static emp_status note_many(emp_timing *t)
{
    for (int i = 0; i < 200; i++) emp_timing_note(t, i + 1, i, i, 1.0 / (i + 1));
    return emp_timing_check(t, NULL);
}

Test(timing, survives_every_allocation_failure)
{
    emp_timing t = {0}, read;

    const char *path = scratch_path("a.timing.json");
    SURVIVES_EVERY_ALLOCATION_FAILURE(note_many(&t), emp_timing_clear(&t));
    cr_expect_eq(t.point_count, 200, "each is better than all before");
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_timing_save(&t, path, 200, NULL), );
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_timing_load(&read, path, NULL),
                                      emp_timing_clear(&read));
    expect_same(&t, &read);
    emp_timing_clear(&t);
    emp_timing_clear(&read);
}

Test(stats, median_is_the_middle_one_or_halfway_and_counts_out_of_memory_as_slowest)
{
    static const struct {
        size_t count;
        double values[4], min, median, max;
    } cases[] = {{3, {3, 1, 2}, 1, 2, 3},
                 {4, {4, 1, 2, 9}, 1, 3, 9},
                 {3, {INFINITY, 1, 2}, 1, 2, INFINITY},
                 {3, {INFINITY, 1, INFINITY}, 1, INFINITY, INFINITY}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double values[4];
        memcpy(values, cases[i].values, sizeof values);
        emp_summary s = emp_summary_of(values, cases[i].count);
        cr_expect(s.median == cases[i].median && s.min == cases[i].min &&
                      s.max == cases[i].max,
                  "case %zu: %g in %g .. %g", i, s.median, s.min, s.max);
    }
    cr_expect(isnan(emp_summary_of(NULL, 0).median));
}

Test(stats, half_of_the_values_lie_between_the_quartiles)
{
    double        values[] = {5, 1, 4, 2, 3};
    emp_quartiles q = emp_quartiles_of(values, 5);

    cr_expect(q.low == 2 && q.median == 3 && q.high == 4 && q.count == 5);
    cr_expect(isnan(emp_quartiles_of(values, 0).median));
}
