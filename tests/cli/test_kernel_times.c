// SPDX-License-Identifier: GPL-3.0-or-later
/* Does `emplace cost` say what the tables say, and how near is that to measurements? */
#include <unistd.h>

#include "tests/cli/emplace.h"
#include "tests/test.h"

TestSuite(kernels, .init = emplace_set_up, .fini = emplace_tear_down);

Test(kernels, a_point_of_the_table_comes_back)
{
    emplace_write("in.tsv", "m\tn\tk\n1\t32\t32\n");
    cr_assert_eq(emplace_run("cost gemm in.tsv --model h100-sxm"), 0, "%s", program_err);
    cr_expect_str_eq(program_out, "m\tn\tk\tus\tform\n1\t32\t32\t2.593\ttable\n");
}

Test(kernels, forms_say_where_a_time_comes_from)
{
    emplace_write("in.tsv",
                  "m,n,k,dtype\n1,8,32,bf16\n4096,4096,4096,fp32\n65536,64,16,fp32\n");
    emplace_prints("cost gemm in.tsv --model h100-sxm",
                   "\tbeyond\n|\tformula\n|\tbound\n");
}

static const struct refusal {
    const char *input, *command, *message;
} refusals[] = {
    {"m,n\n1,1\n", "gemm in.tsv --model h100-sxm", "in.tsv has no column k"},
    {"m,n,k\n1,1,0\n", "gemm in.tsv --model h100-sxm", "row 1: \"0\" is no size of 1"},
    {"m,n,k\n1,1,1\n", "gemm in.tsv --model h100-sxn", "did you mean"},
    {"m,n,k\n1,1,1\n", "gemm in.tsv --model haswell-18", "model of a CPU"},
    {"m,n,k\n1,1,1\n", "gemm in.tsv --model k40", "says nothing of the format bf16"},
    {"m,n,k\n1,1,1\n", "gemm in.tsv --model k40 --dtype fp5", "no number format"},
    {"m,n,k\n1,1,1\n", "gemm in.tsv", "--model is missing"},
    {"m,n,k,dtype\n1,1,1,fp5\n", "gemm in.tsv --model h100-sxm", "row 1: \"fp5\""},
    {"batch,heads,kv_heads\n1,1,1\n", "attention in.tsv --model h100-sxm",
     "one of the columns seq"},
    {"batch,seq,heads,kv_heads\n1,64,32,7\n", "attention in.tsv --model h100-sxm",
     "row 1|32 heads share 7 kv_heads"},
    {"batch,seq,heads,kv_heads\n1,64,1,2\n", "attention in.tsv --model h100-sxm",
     "row 1: 1 heads share 2"},
    {"op,gpus,bytes\nall_reduce,16,1024\n", "comm in.tsv --model h100-sxm",
     "knows 2 to 8"},
    {"op,gpus,bytes\nall_reduce,2,1024\n", "comm in.tsv --model k40", "no measured"},
    {"op,gpus,bytes\nscatter,2,1024\n", "comm in.tsv --model l40s", "is no collective"},
};

Test(kernels, bad_input_is_one_sentence_and_no_output)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        emplace_write("in.tsv", refusals[i].input);
        emplace_refuses(scratch_print("cost %s", refusals[i].command),
                        refusals[i].message);
    }
}

/* The mean of |ln(us / measured)| in percent, on rows that a filter of awk lets through. */
static double error_of(const char *file, const char *filter, const char *command)
{
    const char *path = scratch_print("%s/../shared/profiles/modern/%s.tsv.gz",
                                     getenv("EMP_SOURCE_DIR"), file);
    if (access(path, R_OK) != 0) cr_skip_test("there is no %s", path);
    cr_assert_eq(system(scratch_print("zcat '%s' | awk -F'\\t' 'NR == 1 || (%s)' > '%s'",
                                      path, filter, scratch_path("in.tsv"))),
                 0);
    cr_assert_eq(emplace_run(command), 0, "%s", program_err);
    const char *at = strstr(program_err, "is ");
    cr_assert_not_null(at, "%s", program_err);
    return atof(at + strlen("is "));
}

/* The tables are made of these measurements. Errors on others are a little higher:
 * `scripts/device-tables FOLDER --check` prints them. */
Test(kernels, models_are_near_measurements)
{
    static const struct {
        const char *model, *gpu;
        double      gemm;
    } bars[] = {{"a100-sxm", "a100_sxm", 9}, {"h100-sxm", "h100_sxm", 6},
                {"h200-sxm", "h200_sxm", 6}, {"b200-sxm", "b200_sxm", 9},
                {"l40s", "l40s", 12},        {"rtxpro6000", "rtx_pro_6000_server", 8}};

    for (size_t i = 0; i < sizeof bars / sizeof bars[0]; i++) {
        const char *file = scratch_print("gemm_%s", bars[i].gpu);
        const char *command = scratch_print("cost gemm in.tsv --model %s", bars[i].model);
        cr_expect_leq(error_of(file, "$1 == \"bf16\" && $3 >= 256 && $4 >= 256", command),
                      bars[i].gemm, "%s", command);
        file = scratch_print("comm_%s", bars[i].gpu);
        command = scratch_print("cost comm in.tsv --model %s", bars[i].model);
        cr_expect_leq(error_of(file,
                               i == 4 ? "$2 == \"half\" && $3 == 2" : "$2 == \"half\"",
                               command),
                      7.0, "%s", command);
        const char *filter = scratch_print("$1 == \"%s\"", bars[i].gpu);
        command = scratch_print("cost attention in.tsv --model %s", bars[i].model);
        cr_expect_leq(error_of("attention_context", filter, command), 12.0, "%s",
                      command);
        cr_expect_leq(error_of("attention_decode", filter, command), 12.0, "%s", command);
    }
}
