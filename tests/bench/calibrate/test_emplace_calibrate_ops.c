// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace calibrate ops as a user meets it: kernels are measured, kept for the next graph, and taken as costs. No
 * test looks at how long anything takes. */
#include <unistd.h>

#include "base/text/csv.h"
#include "tests/cli/emplace.h"
#include "tests/test.h"

#define FAMILY   "rnnlm:units=16,batch=4,steps=2,vocab=64,sampled=16,layers="
#define PROFILED "calibrate ops " FAMILY
#define LITTLE   " --limit 5 --memory 1024 --cache kernels.csv --format json "

TestSuite(calibrate_ops, .init = emplace_set_up, .fini = emplace_tear_down);

static void expect_costs(const char *name)
{
    SCOPED(emp_csv, emp_csv_clear) csv = {0};
    int32_t us, model;
    double  value;

    ASSERT_OK(emp_csv_load(&csv, scratch_path(name), &err));
    ASSERT_OK(emp_csv_find(&us, &csv, "us", &err));
    ASSERT_OK(emp_csv_find(&model, &csv, "model", &err));
    cr_assert_gt(csv.row_count, 20);
    for (int32_t row = 0; row < csv.row_count; row++) {
        ASSERT_OK(emp_csv_real(&value, &csv, row, us, &err));
        cr_expect_gt(value, 0.0);
        cr_expect_eq(strncmp(emp_csv_text(&csv, row, model), "cpu-", 4), 0);
    }
}

Test(calibrate_ops, kernels_become_costs_and_serve_the_next_graph)
{
    json_t *first = emplace_json(PROFILED "1" LITTLE "--out one.csv");
    cr_expect_eq(number_at(first, "cached"), 0);
    cr_expect_gt(number_at(first, "kernels"), 10);
    cr_expect_geq(number_at(first, "ops"), number_at(first, "kernels"));
    expect_costs("one.csv");

    if (sysconf(_SC_NPROCESSORS_ONLN) > 1) {
        json_t *wide = emplace_json(PROFILED "1 --cores gpu:0=0,1" LITTLE "--out w.csv");
        cr_expect_eq(number_at(wide, "cached"), 0,
                     "two cores are other hardware than one");
    }
    json_t *second = emplace_json(PROFILED "2" LITTLE "--out two.csv");
    cr_expect_gt(number_at(second, "cached"), 10);
    expect_costs("two.csv");
    json_t *again = emplace_json(PROFILED "2" LITTLE "--out two.csv --force");
    cr_expect_eq(number_at(again, "cached"), number_at(again, "kernels"));
    cr_expect(is_null_at(again, "step_s"), "nothing was executed");

    json_t *step = emplace_json("simulate " FAMILY "2 -m cpu2 -r replay-cpu -p gpu "
                                "--costs two.csv --format json");
    cr_expect_str_eq(text_at(step, "given/0/model"), "cpu-group");
    cr_expect_gt(number_at(step, "given/0/share"), 0.9);
    emplace_expect_parts(program_err, "% of the time of all kernels");
}

Test(calibrate_ops, errors_say_what_is_wrong)
{
    static const struct {
        const char *arguments;
        int         status;
        const char *part;
    } cases[] = {{"calibrate ops", 2, "SPEC"},
                 {PROFILED "1", 2, "--out"},
                 {PROFILED "1 -o c.csv --backend cuda", 2, "--machine"},
                 {PROFILED "1 -o c.csv --interval 0", 2, "--interval"},
                 {PROFILED "1 -o c.csv --interval 2x", 2, "2x"},
                 {PROFILED "1 -o c.csv --limit 0", 2, "\"0\""},
                 {PROFILED "1 two -o c.csv", 2, "two"},
                 {PROFILED "1 -o nowhere/c.csv", 1, "nowhere"},
                 {PROFILED "1 -o c.csv -m nothing", 1, "nothing"},
                 {"calibrate ops nothing:x=1 -o c.csv", 1, "nothing"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_expect_eq(emplace_run(cases[i].arguments), cases[i].status, "%s: %s",
                     cases[i].arguments, program_err);
        emplace_expect_parts(program_err, cases[i].part);
    }
    cr_expect_null(scratch_find("*.csv"), "nothing is written");
}
