// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace calibrate ops as a user meets it: kernels are measured, kept for the next graph, and taken as costs. No
 * test looks at how long anything takes. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/csv.h"
#include "tests/support/program.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

#define FAMILY   "rnnlm:units=16,batch=4,steps=2,vocab=64,sampled=16,layers="
#define PROFILED "calibrate ops " FAMILY
#define LITTLE   " --limit 5 --memory 1024 --cache kernels.csv --format json "

static void tear_down(void)
{
    program_forget();
    scratch_remove();
}

TestSuite(calibrate_ops, .init = scratch_create, .fini = tear_down);

static int run(const char *arguments) { return program_run("cli/emplace", arguments); }

static json_t *run_for_object(const char *arguments)
{
    json_error_t where;

    cr_assert_eq(run(arguments), 0, "%s: %s", arguments, program_err);
    json_t *root = json_loads(program_out, 0, &where);
    cr_assert_not_null(root, "%s", where.text);
    return root;
}

static int64_t count_of(json_t *root, const char *key)
{
    json_t *value = json_object_get(root, key);

    cr_assert(json_is_integer(value), "%s", key);
    return json_integer_value(value);
}

static void expect_costs(const char *name)
{
    emp_csv csv = {0};
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
    emp_csv_clear(&csv);
}

Test(calibrate_ops, kernels_become_costs_and_serve_the_next_graph)
{
    json_t *first = run_for_object(PROFILED "1" LITTLE "--out one.csv");
    cr_expect_eq(count_of(first, "cached"), 0);
    cr_expect_gt(count_of(first, "kernels"), 10);
    cr_expect_geq(count_of(first, "ops"), count_of(first, "kernels"));
    expect_costs("one.csv");

    json_t *second = run_for_object(PROFILED "2" LITTLE "--out two.csv");
    cr_expect_gt(count_of(second, "cached"), 10);
    expect_costs("two.csv");
    json_t *again = run_for_object(PROFILED "2" LITTLE "--out two.csv --force");
    cr_expect_eq(count_of(again, "cached"), count_of(again, "kernels"));
    cr_expect(json_is_null(json_object_get(again, "step_s")), "nothing was executed");
    json_decref(first);
    json_decref(second);
    json_decref(again);

    json_t *step = run_for_object("simulate " FAMILY "2 -m cpu2 -r replay-cpu -p gpu "
                                  "--costs two.csv --format json");
    json_t *group = json_array_get(json_object_get(step, "given"), 0);
    cr_expect_str_eq(json_string_value(json_object_get(group, "model")), "cpu-group");
    cr_expect_gt(json_number_value(json_object_get(group, "share")), 0.9);
    json_decref(step);
    cr_expect_not_null(strstr(program_err, "% of the time of all kernels"), "%s",
                       program_err);
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
        cr_expect_eq(run(cases[i].arguments), cases[i].status, "%s: %s",
                     cases[i].arguments, program_err);
        cr_expect_not_null(strstr(program_err, cases[i].part), "%s: %s",
                           cases[i].arguments, program_err);
    }
    cr_expect_null(scratch_find("*.csv"), "nothing is written");
}
