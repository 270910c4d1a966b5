// SPDX-License-Identifier: GPL-3.0-or-later
/* Does a command keep the files of others, unless --force gives them up? */
#include <criterion/criterion.h>
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
