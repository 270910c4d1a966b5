// SPDX-License-Identifier: GPL-3.0-or-later
/* Are values changed in place, all else kept, and files without the key refused? */
#include <stdlib.h>
#include <string.h>

#include "bench/calibrate/model_file.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

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
    static const struct {
        const char      *in;
        emp_model_change change[3];
        int              count;
        const char      *section, *out;
    } cases[] = {{source,
                  {{"factor", "2.25"}, {"rate", "7 GB/s"}},
                  2,
                  "fit:\n  new: \"x\"\n",
                  "# a comment with rate: in it\ngpu:\n  rate: \"7 GB/s\"  # measured\n"
                  "  rate_limit: 3\n  factor: 2.25 # fitted\nfit:\n  new: \"x\"\n"},
                 {"step: 5 us\nspan: 3 us\t # guessed\nname: a#b  \n",
                  {{"step", "6.2 us"}, {"span", "4 us"}, {"name", "c"}},
                  3,
                  "",
                  "step: 6.2 us\nspan: 4 us\t # guessed\nname: c  \n"}};

    for (int i = 0; i < 2; i++) {
        scratch_write("in.yaml", cases[i].in, strlen(cases[i].in));
        MUST(rewrite(cases[i].change, cases[i].count, cases[i].section, &why));
        char *text = scratch_read("out.yaml", NULL);
        cr_expect_str_eq(text, cases[i].out);
        free(text);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(model_file, needs_each_key_once)
{
    static const char      twice[] = "rate: 1\nrate: 2\n";
    const emp_model_change speed = {"speed", "1"}, rate = {"rate", "3"};

    MUST_FAIL(rewrite(NULL, 0, "", &why), EMP_EIO, "in.yaml");
    scratch_write("in.yaml", source, sizeof source - 1);
    MUST_FAIL(rewrite(&speed, 1, "", &why), EMP_EFORMAT,
              "in.yaml: 0 lines begin with 'speed:'");
    scratch_write("in.yaml", twice, sizeof twice - 1);
    MUST_FAIL(rewrite(&rate, 1, "", &why), EMP_EFORMAT, "2 lines begin with 'rate:'");
    cr_expect_eq(emp_mem_live_blocks(), 0);
}
