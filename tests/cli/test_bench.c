// SPDX-License-Identifier: GPL-3.0-or-later
/* The commands that measure and reproduce print and write what they promise. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cli/emplace.h"
#include "tests/support/scratch.h"

TestSuite(bench, .init = emplace_set_up, .fini = emplace_tear_down);

Test(bench, surrogate_has_the_promised_keys)
{
    static const char *const keys[] = {"workload", "machine", "runtime", "op_count",
                                       "kernel",   "samples", "seed",    "rows"};
    static const char *const row_keys[] = {"placements",        "surrogate_ns_per_op",
                                           "exact_ns_per_op",   "ratio",
                                           "topological_order", "order_of_exact_runs"};
    static const char *const agreement_keys[] = {"spearman", "kendall",
                                                 "mean_relative_error"};
    json_t                  *object =
        emplace_json("bench surrogate small.pbtxt --machine k40x2 --format json");
    json_t *row = json_array_get(json_object_get(object, "rows"), 1);

    emplace_expect_keys(object, keys, sizeof keys / sizeof *keys);
    emplace_expect_keys(row, row_keys, sizeof row_keys / sizeof *row_keys);
    emplace_expect_keys(json_object_get(row, "order_of_exact_runs"), agreement_keys, 3);
    json_decref(object);
    object =
        emplace_json("bench surrogate small.pbtxt -m k40x2 --scalar -n 5 --format json");
    cr_expect_str_eq(json_string_value(json_object_get(object, "kernel")), "scalar");
    cr_expect_eq(json_integer_value(json_object_get(object, "samples")), 5);
    json_decref(object);
    cr_expect_eq(emplace_run("bench surrogate small.pbtxt -m k40x2"), 0, "%s",
                 program_err);
    cr_expect_not_null(strstr(program_out, "Spearman"));
}

static double number_of(const json_t *row, const char *key)
{
    return json_number_value(json_object_get(row, key));
}

static double step_time_of(const char *arguments)
{
    json_t      *object = emplace_json(arguments);
    const double step_s = number_of(object, "step_time_s");

    json_decref(object);
    return step_s;
}

/* Its columns are what place and simulate say, and no annealing ends above its start. */
Test(bench, order_compares_orders_of_one_placement)
{
#define SCHEDULED "place rnnlm -m k40x2 --method m-etf --no-bound --format json"
    json_t *object =
        emplace_json("bench order --rows rnnlm --methods m-etf,gpu --budget 12 --seeds 2 "
                     "--format json");
    const json_t *rows = json_object_get(object, "rows");
    const json_t *first = json_array_get(rows, 0), *second = json_array_get(rows, 1);

    cr_assert_eq(json_array_size(rows), 2);
    cr_expect_str_eq(json_string_value(json_object_get(first, "placement")), "m-etf");
    cr_expect_float_eq(number_of(first, "first_come_s"), step_time_of(SCHEDULED), 1e-8);
    cr_expect_float_eq(number_of(first, "own_s"),
                       step_time_of(SCHEDULED " --decide devices,order"), 1e-8);
    cr_expect_gt(number_of(first, "bottom_s"), 0.0);
    cr_expect_leq(number_of(first, "order_s"), number_of(first, "bottom_s") + 1e-8);
    cr_expect_leq(number_of(first, "devices_s"), number_of(first, "first_come_s") + 1e-8);
    cr_expect_leq(number_of(first, "both_s"), number_of(first, "bottom_s") + 1e-8);
    cr_expect(json_is_null(json_object_get(second, "own_s")),
              "gpu has no order of its own");
    json_decref(object);
    cr_expect_eq(emplace_run("bench order --rows rnnlm --methods ''"), 1,
                 "a table of nothing");
    cr_expect_not_null(strstr(program_err, "there is no method \"\""), "%s", program_err);
}

/* The arms of any method on any tasks: a series each, named by what differs, with intervals; shards
 * make the same runs. */
Test(bench, ablate_takes_arms_of_any_method_and_tasks)
{
#define ARMS                                                                        \
    "ablate --method local --arms 'base; pick=best; kicks=4' --tasks own.txt -b 9 " \
    "--seeds 2 --threads 1 --runs arms"
    static const char tasks[] = "first small.pbtxt k40x2\nsecond small.pbtxt k40x4\n";

    scratch_write("own.txt", tasks, sizeof tasks - 1);
    cr_assert_eq(emplace_run(ARMS " --shard 1/2"), 0, "%s", program_err);
    cr_assert_eq(emplace_run(ARMS " --shard 2/2"), 0, "%s", program_err);
    json_t       *object = emplace_json(ARMS " --format json");
    const json_t *rows = json_object_get(object, "rankings");
    cr_assert_eq(json_array_size(rows), 3);
    cr_expect_null(strstr(program_err, "run took"), "shards made all runs: %s",
                   program_err);
    for (size_t i = 0; i < 3; i++) {
        const json_t *row = json_array_get(rows, i);
        const char   *name = json_string_value(json_object_get(row, "entrant"));
        cr_expect_str_eq(json_string_value(json_object_get(row, "method")), "local");
        cr_expect_leq(number_of(row, "to_first_low"), number_of(row, "to_first"));
        cr_expect_leq(number_of(row, "to_first"), number_of(row, "to_first_high"));
        if (strcmp(name, "base") == 0) cr_expect_eq(number_of(row, "to_first"), 1.0);
        cr_expect(strcmp(name, "base") == 0 || strcmp(name, "pick=best") == 0 ||
                      strcmp(name, "kicks=4") == 0,
                  "%s", name);
    }
    json_decref(object);
    cr_assert_eq(emplace_run(ARMS " --curves arms.csv --format csv"), 0, "%s",
                 program_err);
    cr_expect_not_null(strstr(program_out, ",pick=best,local,,pick=best,2,"), "%s",
                       program_out);
    cr_expect_not_null(strstr(program_out, "--arms \"base; pick=best; kicks=4\""));
}

Test(bench, placers_compares_and_writes_its_files)
{
    cr_expect_eq(
        emplace_run("bench placers --rows rnnlm --methods cpu,expert --budgets 5 "
                    "--draws 1 --curves c.csv --rescored s.csv --rankings r.csv "
                    "--times t.csv --format csv"),
        0, "%s", program_err);
    cr_expect_not_null(
        strstr(program_out, "\nrnnlm,table1,rnnlm,k40x2,tf-r1.3,5,,expert,expert,,,1,"),
        "%s", program_out);
    if (system("command -v gnuplot >/dev/null") == 0) /* of the only row */
        cr_expect_eq(
            emplace_run("bench placers --rows rnnlm --methods cpu,expert --budgets 5 "
                        "--draws 0 --plot rnnlm.svg"),
            0, "%s", program_err);
    char *curves = scratch_read("c.csv", NULL), *changes = scratch_read("s.csv", NULL);
    char *rankings = scratch_read("r.csv", NULL), *times = scratch_read("t.csv", NULL);
    cr_expect_not_null(strstr(curves, ",expert,expert,,5,,"), "%s", curves);
    cr_expect_not_null(strstr(rankings, "\n5,,table1,1,expert,expert,,1,1,,1,1,1,"), "%s",
                       rankings);
    cr_expect_not_null(strstr(times, ",tf-r1.3,5,,expert,expert,,1,0.0"), "%s", times);
    free(rankings);
    free(times);
    cr_expect_not_null(strstr(changes, ",noise,1,1,1,"), "%s", changes);
    free(curves);
    free(changes);
}

/* Steps below a second have four digits, as those of methods may differ in the last one. */
Test(bench, placers_prints_short_steps_finely)
{
    static const char tasks[] = "short rnnlm:steps=2 k40x2\n";
    double step_s = step_time_of("place rnnlm:steps=2 -m k40x2 -M gpu --format json");
    char   want[64];

    scratch_write("tasks.txt", tasks, sizeof tasks - 1);
    cr_assert_eq(
        emplace_run("bench placers --tasks tasks.txt --methods cpu,gpu --budgets "
                    "5 --seeds 1 --draws 0"),
        0, "%s", program_err);
    cr_assert(step_s > 0.01 && step_s < 0.1, "%g", step_s);
    snprintf(want, sizeof want, " %.5f*\n", step_s);
    cr_expect_not_null(strstr(program_out, want), "not \"%s\": %s", want, program_out);
}

Test(bench, anomalies_has_the_promised_keys)
{
    static const char *const keys[] = {"workload", "machine", "runtime",
                                       "samples",  "seed",    "families"};
    static const char *const row_keys[] = {
        "shortened",     "cases",        "longer",       "shorter",
        "median_growth", "worst_growth", "median_change"};
    json_t *object =
        emplace_json("bench anomalies small.pbtxt -m k40x2 -n 3 --format json");
    json_t *family = json_array_get(json_object_get(object, "families"), 1);
    json_t *row = json_array_get(json_object_get(family, "rows"), 0);

    emplace_expect_keys(object, keys, sizeof keys / sizeof *keys);
    cr_expect_str_eq(json_string_value(json_object_get(family, "placements")), "expert");
    cr_expect_eq(json_array_size(json_object_get(family, "rows")), 7);
    emplace_expect_keys(row, row_keys, sizeof row_keys / sizeof *row_keys);
    cr_expect_eq(json_integer_value(json_object_get(row, "cases")), 3);
    json_decref(object);
    object =
        emplace_json("bench anomalies small.pbtxt -m k40x2 -r ideal -n 1 --format json");
    family = json_array_get(json_object_get(object, "families"), 0);
    row = json_array_get(json_object_get(family, "rows"), 5);
    cr_expect_str_eq(json_string_value(json_object_get(row, "shortened")), "poll");
    cr_expect_eq(json_integer_value(json_object_get(row, "cases")), 0);
    cr_expect(json_is_null(json_object_get(row, "median_change")));
    json_decref(object);
    cr_expect_eq(emplace_run("bench anomalies small.pbtxt -m k40x2 -r ideal -n 2"), 0,
                 "%s", program_err);
    cr_expect_not_null(strstr(program_out, "no such cost"), "%s", program_out);
}

/* ---- table ---- */

Test(bench, table_prints_every_format)
{
    static const char *const formats[] = {"text", "md", "csv", "json"};
    char                     arguments[128];

    for (int i = 0; i < 4; i++) {
        snprintf(arguments, sizeof arguments,
                 "table 1 --rows rnnlm --methods gpu --runs runs --format %s",
                 formats[i]);
        cr_expect_eq(emplace_run(arguments), 0, "%s: %s", arguments, program_err);
        cr_expect_not_null(strstr(program_out, "1.57"), "%s has no figure of the paper",
                           arguments);
        cr_expect_not_null(strstr(program_err, "[1/1] RNNLM, GPU only"), "%s",
                           program_err);
    }
}

/* ---- calibrate ---- */

Test(bench, calibrate_writes_what_the_cells_determine)
{
    json_t *object =
        emplace_json("calibrate fit --machine k40 --on nmt2:cpu --format json "
                     "--out .");
    json_t *constants = json_object_get(object, "constants");
    json_t *cell = json_array_get(json_object_get(object, "cells"), 0);
    size_t  i, fitted = 0;
    json_t *constant;

    json_array_foreach(constants, i, constant)
    {
        fitted += json_is_true(json_object_get(constant, "fitted"));
    }
    cr_expect_eq(fitted, 1); /* the rate of products on a core */
    cr_expect_str_eq(json_string_value(json_object_get(cell, "cell")), "nmt2:cpu");
    double off = json_number_value(json_object_get(cell, "off"));
    cr_expect(off > -1e-2 && off < 1e-2, "%g", off);
    json_decref(object);
    free(scratch_read("machines/models/haswell-18.yaml", NULL));
}

Test(bench, calibrate_writes_over_what_it_wrote_by_force)
{
    const char *fit = "calibrate fit --machine k40 --on inception_v3:cpu --out .";
    char        forced[128];

    cr_expect_eq(emplace_run(fit), 0, "%s", program_err);
    cr_expect_not_null(strstr(program_out, "./machines/models"), "%s", program_out);
    cr_expect_eq(emplace_run(fit), 1, "the file is there");
    cr_expect_not_null(strstr(program_err, "--force"), "%s", program_err);
    snprintf(forced, sizeof forced, "%s --force", fit);
    cr_expect_eq(emplace_run(forced), 0, "%s", program_err);
}

Test(bench, studies_are_listed_and_say_what_answers_them)
{
    json_t *all = emplace_json("study --format json");

    cr_expect_eq(json_object_size(all), 26, "one a question");
    const json_t *own = json_object_get(all, "constants");
    cr_expect_eq(json_integer_value(json_object_get(own, "number")), 24);
    cr_expect_str_eq(json_string_value(json_object_get(own, "study")),
                     "emplace study constants");
    json_decref(all);
    json_t *other = emplace_json("study transfer --format json");
    cr_expect_null(json_object_get(other, "study"));
    cr_expect_not_null(strstr(json_string_value(json_object_get(other, "command")),
                              "emplace bench transfer"));
    json_decref(other);
}
