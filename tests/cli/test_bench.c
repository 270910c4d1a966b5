// SPDX-License-Identifier: GPL-3.0-or-later
/* The commands that measure and reproduce print and write what they promise. */
#include "tests/cli/emplace.h"
#include "tests/test.h"

TestSuite(bench, .init = emplace_set_up, .fini = emplace_tear_down);

Test(bench, surrogate_has_the_promised_keys)
{
    json_t *o = emplace_json("bench surrogate small.pbtxt --machine k40x2 --format json");

    emplace_expect_keys(o, "workload machine runtime op_count kernel samples seed rows");
    emplace_expect_keys(json_at(o, "rows/1"),
                        "placements surrogate_ns_per_op exact_ns_per_op ratio "
                        "topological_order order_of_exact_runs");
    emplace_expect_keys(json_at(o, "rows/1/order_of_exact_runs"),
                        "spearman kendall mean_relative_error");
    o = emplace_json("bench surrogate small.pbtxt -m k40x2 --scalar -n 5 --format json");
    cr_expect_str_eq(text_at(o, "kernel"), "scalar");
    cr_expect_eq(number_at(o, "samples"), 5);
    emplace_prints("bench surrogate small.pbtxt -m k40x2", "Spearman");
}

Test(bench, adversary_writes_an_instance_that_anyone_can_rerun)
{
    json_t *o = emplace_json("bench adversary refine heft --sizes 4 --machines k40x4 "
                             "--seeds 1 --trials 100 --out a.json --format json");
    const json_t *last = json_at(o, "rows/0");

    cr_expect_geq(number_at(last, "ratio"), 2.0);
    cr_expect_float_eq(emplace_number("place a.json -m k40x4 -r ideal -M refine -b 100 "
                                      "--no-bound --format json",
                                      "step_time_s"),
                       number_at(last, "method_s"), 1e-8);
    cr_expect_float_eq(emplace_number("place a.json -m k40x4 -r ideal -M heft --no-bound "
                                      "--format json",
                                      "step_time_s"),
                       number_at(last, "other_s"), 1e-8);
    emplace_prints(
        "bench adversary gpu heft --sizes 3 --machines k40x2 --trials 20 --out b.json",
        "emplace place b.json --machine k40x2 --runtime ideal --method heft");
}

/* Its columns are what place and simulate say, and no annealing ends above its start. */
Test(bench, order_compares_orders_of_one_placement)
{
#define SCHEDULED "place rnnlm -m k40x2 --method m-etf --no-bound --format json"
    json_t *o = emplace_json("bench order --rows rnnlm --methods m-etf,gpu --budget 12 "
                             "--seeds 2 --format json");
    const json_t *first = json_at(o, "rows/0");
    const double  bottom_s = number_at(first, "bottom_s");

    cr_assert_eq(json_array_size(json_at(o, "rows")), 2);
    cr_expect_str_eq(text_at(first, "placement"), "m-etf");
    cr_expect_float_eq(number_at(first, "first_come_s"),
                       emplace_number(SCHEDULED, "step_time_s"), 1e-8);
    cr_expect_float_eq(number_at(first, "own_s"),
                       emplace_number(SCHEDULED " --decide devices,order", "step_time_s"),
                       1e-8);
    cr_expect_gt(bottom_s, 0.0);
    cr_expect_leq(number_at(first, "order_s"), bottom_s + 1e-8);
    cr_expect_leq(number_at(first, "devices_s"), number_at(first, "first_come_s") + 1e-8);
    cr_expect_leq(number_at(first, "both_s"), bottom_s + 1e-8);
    cr_expect(is_null_at(o, "rows/1/own_s"), "gpu has no order of its own");
    emplace_refuses("bench order --rows rnnlm --methods ''", "\"\"");
}

/* The arms of any method on any tasks: a series each, named by what differs, with intervals; shards
 * make the same runs. */
Test(bench, ablate_takes_arms_of_any_method_and_tasks)
{
#define ARMS                                                                        \
    "ablate --method local --arms 'base; pick=best; kicks=4' --tasks own.txt -b 9 " \
    "--seeds 2 --threads 1 --runs arms"
    emplace_write("own.txt", "first small.pbtxt k40x2\nsecond small.pbtxt k40x4\n");
    emplace_ok(ARMS " --shard 1/2");
    emplace_ok(ARMS " --shard 2/2");
    json_t *o = emplace_json(ARMS " --format json"), *row;
    json_t *rows = json_object_get(o, "rankings");
    size_t  i;
    cr_assert_eq(json_array_size(rows), 3);
    cr_expect_null(strstr(program_err, "run took"), "shards made all runs: %s",
                   program_err);
    json_array_foreach(rows, i, row)
    {
        const bool is_base = strcmp(text_at(row, "entrant"), "base") == 0;
        cr_expect_str_eq(text_at(row, "method"), "local");
        cr_expect_leq(number_at(row, "to_first_low"), number_at(row, "to_first"));
        cr_expect_leq(number_at(row, "to_first"), number_at(row, "to_first_high"));
        if (is_base) cr_expect_eq(number_at(row, "to_first"), 1.0);
        cr_expect_not_null(strstr("base pick=best kicks=4", text_at(row, "entrant")));
    }
    emplace_prints(ARMS " --curves arms.csv --format csv",
                   ",pick=best,local,,pick=best,2,|--arms \"base; pick=best; kicks=4\"");
    emplace_prints(ARMS, "The first arm, base, is local: pick=first, kicks=2.");
}

Test(bench, placers_compares_and_writes_its_files)
{
    emplace_prints("bench placers --rows rnnlm --methods cpu,expert --budgets 5 "
                   "--draws 1 --curves c.csv --rescored s.csv --rankings r.csv "
                   "--times t.csv --format csv",
                   "\nrnnlm,table1,rnnlm,k40x2,tf-r1.3,5,,expert,expert,,,1,");
    if (system("command -v gnuplot >/dev/null") == 0) /* of the only row */
        emplace_ok("bench placers --rows rnnlm --methods cpu,expert --budgets 5 "
                   "--draws 0 --plot rnnlm.svg");
    emplace_expect_file("c.csv", ",expert,expert,,5,,");
    emplace_expect_file("r.csv", "\n5,,table1,1,expert,expert,,1,1,,1,1,1,");
    emplace_expect_file("t.csv", ",tf-r1.3,5,,expert,expert,,1,0.0");
    emplace_expect_file("s.csv", ",noise,1,1,1,");
}

/* Options that are given twice have their last value, and --budget is --budgets with one. */
Test(bench, placers_takes_the_last_budgets)
{
    static const char *const given[] = {"--budgets 3,4 --budgets 5",
                                        "--budgets 3,4 -b 5"};

    for (int i = 0; i < 2; i++) {
        const json_t *rows = json_at(
            emplace_json(scratch_print("bench placers --rows rnnlm --methods cpu,gpu "
                                       "--draws 0 --format json %s",
                                       given[i])),
            "rankings");
        cr_assert_eq(json_array_size(rows), 2, "%s", given[i]);
        for (size_t r = 0; r < 2; r++)
            cr_expect_eq(number_at(json_array_get(rows, r), "budget"), 5, "%s", given[i]);
    }
}

/* Steps below a second have four digits, as those of methods may differ in the last one. */
Test(bench, placers_prints_short_steps_finely)
{
    const double step_s = emplace_number(
        "place rnnlm:steps=2 -m k40x2 -M gpu --format json", "step_time_s");

    emplace_write("tasks.txt", "short rnnlm:steps=2 k40x2\n");
    cr_assert(step_s > 0.01 && step_s < 0.1, "%g", step_s);
    emplace_prints("bench placers --tasks tasks.txt --methods cpu,gpu --budgets "
                   "5 --seeds 1 --draws 0",
                   scratch_print(" %.5f*\n", step_s));
}

Test(bench, anomalies_has_the_promised_keys)
{
    json_t *o = emplace_json("bench anomalies small.pbtxt -m k40x2 -n 3 --format json");

    emplace_expect_keys(o, "workload machine runtime samples seed families");
    cr_expect_str_eq(text_at(o, "families/1/placements"), "expert");
    cr_expect_eq(json_array_size(json_at(o, "families/1/rows")), 7);
    emplace_expect_keys(json_at(o, "families/1/rows/0"),
                        "shortened cases longer shorter median_growth worst_growth "
                        "median_change");
    cr_expect_eq(number_at(o, "families/1/rows/0/cases"), 3);
    o = emplace_json("bench anomalies small.pbtxt -m k40x2 -r ideal -n 1 --format json");
    cr_expect_str_eq(text_at(o, "families/0/rows/5/shortened"), "poll");
    cr_expect_eq(number_at(o, "families/0/rows/5/cases"), 0);
    cr_expect(is_null_at(o, "families/0/rows/5/median_change"));
    emplace_prints("bench anomalies small.pbtxt -m k40x2 -r ideal -n 2", "no such cost");
}

/* One cell determines the rate of products on a core. */
Test(bench, calibrate_writes_what_the_cells_determine)
{
#define FIT "calibrate fit --machine k40 --on nmt2:cpu --out . "
    json_t *o = emplace_json(FIT "--format json"), *constant;
    size_t  i, fitted = 0;

    json_array_foreach(json_object_get(o, "constants"), i, constant) fitted +=
        json_is_true(json_object_get(constant, "fitted"));
    cr_expect_eq(fitted, 1);
    cr_expect_str_eq(text_at(o, "cells/0/cell"), "nmt2:cpu");
    cr_expect_float_eq(number_at(o, "cells/0/off"), 0.0, 1e-2);
    cr_expect(emplace_has_file("machines/models/haswell-18.yaml"));
    emplace_prints(FIT "--force", "./machines/models");
}

/* Constants are printed also where no file can be written: models is no folder here. */
Test(bench, calibrate_prints_what_it_cannot_save)
{
    const char *measured =
        scratch_print("%s/bench/results/h200/benchmarks.csv", getenv("EMP_SOURCE_DIR"));

    emplace_write("models", "");
    cr_expect_eq(emplace_run(scratch_print("calibrate measure --backend cuda -m h200x1 "
                                           "--measured %s -o mine.yaml --format json",
                                           measured)),
                 1);
    cr_expect_str_eq(text_at(emplace_printed(), "constants/0/name"), "stream");
    cr_expect(!emplace_has_file("mine.yaml"));
}

Test(bench, studies_are_listed_and_say_what_answers_them)
{
    json_t *all = emplace_json("study --format json");

    cr_expect_eq(json_object_size(all), 26, "one a question");
    cr_expect_eq(number_at(all, "constants/number"), 24);
    cr_expect_str_eq(text_at(all, "constants/study"), "emplace study constants");
    json_t *other = emplace_json("study transfer --format json");
    cr_expect_null(json_object_get(other, "study"));
    emplace_expect_parts(text_at(other, "command"), "emplace bench transfer");
}
