// SPDX-License-Identifier: GPL-3.0-or-later
/* Does a command keep the files of others, unless --force gives them up? */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cli/emplace.h"
#include "tests/support/scratch.h"

#define PLACE "place small.pbtxt --machine k40x2 --method gpu "

TestSuite(outputs, .init = emplace_set_up, .fini = emplace_tear_down);

static void expect_text(const char *name, const char *text)
{
    char *bytes = scratch_read(name, NULL);

    cr_expect_str_eq(bytes, text);
    free(bytes);
}

static void expect_refusal(const char *arguments, const char *name)
{
    cr_expect_eq(emplace_run(arguments), 1, "%s", arguments);
    cr_expect(program_is_one_sentence(program_err, "emplace"), "%s", program_err);
    cr_expect_not_null(strstr(program_err, name), "%s", program_err);
    cr_expect_not_null(strstr(program_err, "--force"), "%s", program_err);
}

Test(outputs, a_file_that_is_there_is_kept)
{
    scratch_write("notes", "mine", 4);
    expect_refusal(PLACE "--out notes", "notes is there already");
    expect_text("notes", "mine");
    expect_refusal(PLACE "--record notes", "notes is not a record of this run");
    expect_text("notes", "mine");
}

Test(outputs, force_gives_it_up)
{
    scratch_write("notes", "mine", 4);
    cr_assert_eq(emplace_run(PLACE "--out notes --force"), 0, "%s", program_err);
    char *bytes = scratch_read("notes", NULL);
    cr_expect_not_null(strstr(bytes, "emplace-placement-1"));
    free(bytes);
    cr_expect_eq(emplace_run(PLACE "--record notes --force"), 0, "%s", program_err);
}

Test(outputs, an_empty_file_and_no_file_lose_nothing)
{
    scratch_write("empty", "", 0);
    cr_expect_eq(emplace_run(PLACE "--out empty"), 0, "%s", program_err);
    cr_expect_eq(emplace_run(PLACE "--out /dev/null"), 0, "%s", program_err);
}

Test(outputs, the_record_of_the_same_run_is_replaced)
{
    cr_assert_eq(emplace_run(PLACE "--record run.h5"), 0, "%s", program_err);
    cr_expect_eq(emplace_run(PLACE "--record run.h5"), 0, "%s", program_err);
    expect_refusal(PLACE "--record run.h5 --seed 9", "seed 1 there, 9 here");
}

Test(outputs, the_placement_of_the_same_run_is_replaced)
{
    cr_assert_eq(emplace_run(PLACE "--out p.json"), 0, "%s", program_err);
    cr_expect_eq(emplace_run(PLACE "--out p.json"), 0, "%s", program_err);
    expect_refusal(PLACE "--out p.json --seed 9", "p.json is there already");
}

Test(outputs, a_record_gives_the_placement_that_the_run_wrote)
{
    cr_assert_eq(emplace_run(PLACE "--record run.h5 --out p.json"), 0, "%s", program_err);
    cr_assert_eq(emplace_run("record run.h5 --out again.json"), 0, "%s", program_err);
    char *text = scratch_read("p.json", NULL);
    expect_text("again.json", text);
    free(text);
    cr_expect_eq(emplace_run("record run.h5 --out p.json"), 0, "it is of this run: %s",
                 program_err);
    expect_refusal("record run.h5 --out small.pbtxt", "small.pbtxt is there already");
}

#define RANDOM "place small.pbtxt --machine k40x2 --method random --budget 3 "

Test(outputs, of_several_records_the_best_is_taken)
{
    double best_s = 1e9;
    char   arguments[160];

    for (int seed = 1; seed <= 3; seed++) {
        snprintf(arguments, sizeof arguments,
                 RANDOM "--seed %d --record %d.h5 --format json", seed, seed);
        json_t *object = emplace_json(arguments);
        double  step_s = json_number_value(json_object_get(object, "step_time_s"));
        if (step_s < best_s) best_s = step_s;
        json_decref(object);
    }
    json_t *shown = emplace_json("record 1.h5 2.h5 3.h5 --out best.json --format json");
    cr_expect_float_eq(json_number_value(json_object_get(shown, "step_time_s")), best_s,
                       1e-12);
    json_decref(shown);
    json_t *simulated =
        emplace_json("simulate small.pbtxt --machine k40x2 -p best.json --format json");
    cr_expect_float_eq(json_number_value(json_object_get(simulated, "step_time_s")),
                       best_s, 1e-12);
    json_decref(simulated);
}

Test(outputs, records_of_different_tasks_have_no_best)
{
    cr_assert_eq(emplace_run(PLACE "--record a.h5"), 0);
    cr_assert_eq(emplace_run("place small.pbtxt -m k40x4 --method gpu --record b.h5"), 0);
    cr_expect_eq(emplace_run("record a.h5 b.h5 --out p.json"), 1);
    cr_expect_not_null(strstr(program_err, "records of one task"), "%s", program_err);
}
