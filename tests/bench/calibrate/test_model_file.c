// SPDX-License-Identifier: GPL-3.0-or-later
/* Are values changed in place, all else kept, and files without the key refused? */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "bench/calibrate/model_file.h"
#include "tests/support/expect.h"
#include "tests/support/scratch.h"

TestSuite(model_file, .init = scratch_create, .fini = scratch_remove);

static const char source[] = "# a comment with rate: in it\n"
                             "gpu:\n"
                             "  rate: \"1.5 GB/s\"  # measured\n"
                             "  rate_limit: 3\n"
                             "  factor: 2 # fitted\n"
                             "fit:\n"
                             "  old: \"gone\"\n";

static emp_status rewrite(const emp_model_change *changes, int count, const char *section,
                          emp_error *err)
{
    char            in[SCRATCH_PATH_BYTES], out[SCRATCH_PATH_BYTES];
    emp_atomic_file file = {0};
    emp_status      st = EMP_OK;

    snprintf(in, sizeof in, "%s", scratch_path("in.yaml"));
    snprintf(out, sizeof out, "%s", scratch_path("out.yaml"));
    EMP_TRY(emp_model_file_open(&file, out, in, changes, count, err));
    fputs(section, file.stream);
    EMP_TRY(emp_atomic_file_commit(&file, err));

cleanup:
    emp_atomic_file_abort(&file);
    return st;
}

Test(model_file, changes_values_and_the_section_only)
{
    const emp_model_change changes[] = {{"factor", "2.25"}, {"rate", "7 GB/s"}};

    scratch_write("in.yaml", source, sizeof source - 1);
    MUST(rewrite(changes, 2, "fit:\n  new: \"x\"\n", &why));
    char *text = scratch_read("out.yaml", NULL);
    cr_expect_str_eq(text, "# a comment with rate: in it\n"
                           "gpu:\n"
                           "  rate: \"7 GB/s\"  # measured\n"
                           "  rate_limit: 3\n"
                           "  factor: 2.25 # fitted\n"
                           "fit:\n"
                           "  new: \"x\"\n");
    free(text);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(model_file, changes_bare_values_with_their_units)
{
    static const char      bare[] = "step: 5 us\nspan: 3 us\t # guessed\nname: a#b  \n";
    const emp_model_change changes[] = {
        {"step", "6.2 us"}, {"span", "4 us"}, {"name", "c"}};

    scratch_write("in.yaml", bare, sizeof bare - 1);
    MUST(rewrite(changes, 3, "", &why));
    char *text = scratch_read("out.yaml", NULL);
    cr_expect_str_eq(text, "step: 6.2 us\nspan: 4 us\t # guessed\nname: c  \n");
    free(text);
}

Test(model_file, refuses_a_file_without_the_key)
{
    const emp_model_change change = {"speed", "1"};

    scratch_write("in.yaml", source, sizeof source - 1);
    MUST_FAIL(EMP_EFORMAT,
              "in.yaml: 0 lines begin with 'speed:'; one is "
              "needed, to write its value",
              rewrite(&change, 1, "", &why));
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(model_file, refuses_a_file_with_the_key_twice)
{
    static const char      twice[] = "rate: 1\nrate: 2\n";
    const emp_model_change change = {"rate", "3"};

    scratch_write("in.yaml", twice, sizeof twice - 1);
    MUST_FAIL(EMP_EFORMAT, "2 lines begin with 'rate:'", rewrite(&change, 1, "", &why));
}

Test(model_file, names_a_file_that_is_not_there)
{
    MUST_FAIL(EMP_EIO, "in.yaml cannot be read: No such file",
              rewrite(NULL, 0, "", &why));
}
