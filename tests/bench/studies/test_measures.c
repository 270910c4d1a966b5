// SPDX-License-Identifier: GPL-3.0-or-later
/* Do measures say what placements are like? Studies of a task so small that each takes a moment: figures keep
 * their bounds, descents go down, noise of 0 changes nothing, and equal parameters give equal lines. */
#include "bench/studies/study.h"
#include "tests/test.h"

enum { SEEDS = 2, BUDGET = 16 };

static const emp_task rows[] = {
    {"one", "One layer", "rnnlm:layers=1,steps=3,units=512,vocab=64,sampled=0", "k40x2",
     2, NULL},
    {"two", "Two layers", "rnnlm:layers=2,steps=3,units=512,vocab=64,sampled=0", "k40x2",
     2, NULL},
};

TestSuite(measures, .fini = expect_all_freed);

static emp_measure small(const emp_measure *measure)
{
    emp_measure m = *measure;

    m.row = &rows[1];
    m.row_count = 1;
    return m;
}

static const emp_measure_params few = {
    .runtime = "tf-r1.3", .seed_count = SEEDS, .budget = BUDGET, .threads = 1};
static const emp_measure_params taught = {
    .runtime = "tf-r1.3", .seed_count = 2, .budget = 96, .threads = 1};
static const emp_measure_params fewest = {
    .runtime = "tf-r1.3", .seed_count = 1, .budget = 8, .threads = 1};

static emp_sheet make(const emp_measure *measure, const emp_measure_params *params)
{
    emp_measure m = small(measure);
    emp_sheet   sheet;

    ASSERT_OK(emp_measure_make(&sheet, &m, params, "What?", &err));
    ASSERT_OK(emp_sheet_check(&sheet, &err));
    return sheet;
}

static int32_t column_of(const emp_sheet *sheet, const char *key)
{
    for (int32_t c = 0; c < sheet->column_count; c++)
        if (strcmp(sheet->column[c].key, key) == 0) return c;
    cr_assert_fail("no column %s", key);
    return -1;
}

static const emp_value *at(const emp_sheet *sheet, int32_t line, const char *key)
{
    return emp_sheet_at(sheet, line, column_of(sheet, key));
}

static char *csv_of(const emp_measure *measure)
{
    SCOPED(emp_sheet, emp_sheet_clear) sheet = make(measure, &fewest);

    return PRINTED(emp_sheet_print(out, &sheet, EMP_SHEET_CSV, &err));
}

/* Noise makes searches, which have their own tests. */
static const emp_measure *const all[] = {&emp_measure_load, &emp_measure_objective,
                                         &emp_measure_explaining};
enum { ALL = sizeof all / sizeof *all };

Test(measures, equal_parameters_give_equal_lines)
{
    for (int i = 0; i < ALL; i++) {
        char *first = csv_of(all[i]), *second = csv_of(all[i]);
        cr_expect_str_eq(first, second, "%s", all[i]->name);
        cr_expect_not_null(strstr(first, "Two layers"));
        cr_expect_null(strstr(first, "One layer"), "the rows of the measure");
    }
}

Test(measures, correlations_are_such)
{
    emp_sheet sheet = make(&emp_measure_load, &few);
    bool      has_idle = false;

    cr_assert_eq(sheet.line_count, 6);
    for (int32_t i = 0; i < sheet.line_count; i++) {
        const emp_value *v = at(&sheet, i, "spearman");
        if (isnan(v->real)) continue;
        cr_expect(v->low <= v->real && v->real <= v->high);
        cr_expect(v->low >= -1 && v->high <= 1);
        if (strncmp(at(&sheet, i, "figure")->word, "idle", 4) != 0) continue;
        has_idle = true;
        cr_expect_gt(v->real, 0, "a step that waits is long");
    }
    cr_expect(has_idle);
    emp_sheet_clear(&sheet);
}

Test(measures, descents_lower_what_they_look_at)
{
    SCOPED(emp_sheet, emp_sheet_clear) sheet = make(&emp_measure_objective, &few);
    bool has_moved = false;

    cr_assert_eq(sheet.line_count, 2);
    for (int32_t i = 0; i < sheet.line_count; i++) {
        const double own = at(&sheet, i, "own_first")->real;
        const double step_s = at(&sheet, i, "step_first_s")->real;
        cr_expect_leq(at(&sheet, i, "own_own")->real, own);
        cr_expect_leq(at(&sheet, i, "step_step_s")->real, step_s);
        has_moved = has_moved || at(&sheet, i, "step_step_s")->real < step_s;
    }
    cr_expect(has_moved, "no partitioner finds the best");
}

Test(measures, noise_hides_what_is_best)
{
    emp_sheet sheet = make(&emp_measure_noise, &fewest);

    cr_assert_eq(sheet.line_count, 16, "four methods by four levels");
    for (int32_t i = 0; i < sheet.line_count; i++) {
        const double     seen_s = at(&sheet, i, "seen_s")->real;
        const double     best_s = at(&sheet, i, "best_s")->real;
        const emp_value *found = at(&sheet, i, "found_s");
        cr_expect_geq(found->real, best_s);
        if (at(&sheet, i, "noise_frac")->real > 0) {
            cr_expect_neq(seen_s, found->real);
            continue;
        }
        cr_expect(seen_s == found->real && found->real == best_s);
        cr_expect_eq(at(&sheet, i, "ratio")->real, 1.0);
    }
    emp_sheet_clear(&sheet);
}

Test(measures, a_taught_policy_depends_on_what_it_sees)
{
    SCOPED(emp_sheet, emp_sheet_clear) sheet = make(&emp_measure_explaining, &taught);
    double most = 0;

    cr_assert_eq(sheet.line_count, 8, "nothing, and the parts of what is seen");
    cr_expect_str_eq(at(&sheet, 0, "mixed")->word, "nothing");
    cr_expect_eq(at(&sheet, 0, "changed_frac")->high, 0);
    for (int32_t i = 0; i < sheet.line_count; i++) {
        const emp_value *changed = at(&sheet, i, "changed_frac");
        cr_expect(0 <= changed->low && changed->low <= changed->real);
        cr_expect(changed->real <= changed->high && changed->high <= 1);
        cr_expect_eq(at(&sheet, i, "loss_nats")->real, at(&sheet, 0, "loss_nats")->real);
        if (changed->high == 0)
            cr_expect_eq(at(&sheet, i, "ratio")->real, at(&sheet, 0, "ratio")->real);
        most = fmax(most, changed->real);
    }
    cr_expect_gt(most, 0);
    cr_expect_lt(at(&sheet, 0, "loss_nats")->real, log(3), "less than chance of three");
}

Test(measures, say_what_is_wrong)
{
    static const struct {
        const emp_measure *measure;
        emp_measure_params params;
        const char        *part;
    } cases[] = {
        {&emp_measure_load, {"three", .seed_count = 2, .budget = 16}, "\"three\""},
        {&emp_measure_noise, {.seed_count = EMP_MEASURE_SEEDS + 1}, "33 seeds"},
        {&emp_measure_load, {.seed_count = 2, .budget = 3}, "8 placements"}};

    for (int i = 0; i < 3; i++) {
        emp_measure        m = *cases[i].measure;
        emp_measure_params params = cases[i].params;
        SCOPED(emp_sheet, emp_sheet_clear) sheet;
        m.row = rows;
        m.row_count = 2;
        params.runtime = few.runtime;
        params.threads = 1;
        EXPECT_REFUSED(emp_measure_make(&sheet, &m, &params, NULL, &err), EMP_EINVAL,
                       cases[i].part);
    }
}

/* Every allocation would take minutes: the first ones, and more and more seldom. */
Test(measures, survive_allocation_failures)
{
    for (int i = 0; i < ALL; i++) {
        emp_measure m = small(all[i]);
        emp_status  st = EMP_ENOMEM;
        for (long allowed = 0; st != EMP_OK; allowed += 1 + allowed) {
            emp_sheet sheet;
            emp_mem_fail_after(allowed);
            st = emp_measure_make(&sheet, &m, &fewest, NULL, NULL);
            if (st == EMP_OK) st = emp_sheet_check(&sheet, NULL);
            emp_mem_fail_after(-1);
            cr_assert(st == EMP_OK || st == EMP_ENOMEM, "%s: %d", m.name, (int)st);
            emp_sheet_clear(&sheet);
            cr_assert_eq(emp_mem_live_blocks(), 0);
        }
    }
}
