// SPDX-License-Identifier: GPL-3.0-or-later
/* Is a time between measured ones what the rule says, and is a bad table refused?
 * Do files come back from a bundle as they were? */
#include "base/collections.h"
#include "sim/machine/config.h"
#include "sim/machine/model.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

static const char *const names[] = {"m", "n", "k"};

/* us = m n^2 / k^0 on a grid: every line of it is straight in logarithms. */
static int32_t fill(emp_grid_sample *sample)
{
    static const double m[] = {1, 8, 1024}, n[] = {2, 32};
    int32_t             count = 0;

    for (int32_t i = 2; i >= 0; i--) {
        for (int32_t j = 0; j < 2; j++) {
            sample[count] = (emp_grid_sample){
                .size = {m[i], n[j], 16}, .us = m[i] * n[j] * n[j], .row = count + 1};
            count++;
        }
    }
    return count;
}

static double us_at(const emp_grid *g, double m, double n, double k)
{
    return emp_grid_at(g, (double[]){m, n, k}) * 1e6;
}

Test(grid, lines_between_points_are_straight_in_logarithms)
{
    emp_grid_sample sample[6];
    emp_grid       *g = NULL;

    ASSERT_OK(emp_grid_create(&g, 3, 0, sample, fill(sample), "t.csv", names, &err));
    cr_expect_float_eq(us_at(g, 8, 32, 16), 8.0 * 32 * 32, 1e-6);
    cr_expect_float_eq(us_at(g, 100, 5, 16), 100.0 * 5 * 5, 1e-6);
    /* on beyond the last point of each axis, flat below the first; k has one point */
    cr_expect_float_eq(us_at(g, 4096, 64, 16), 4096.0 * 64 * 64, 1e-2);
    cr_expect_float_eq(us_at(g, 0.5, 1, 16), 1.0 * 2 * 2, 1e-9);
    cr_expect_float_eq(us_at(g, 8, 32, 999), 8.0 * 32 * 32, 1e-6);
    cr_expect(emp_grid_covers(g, (double[]){1024, 2, 16}));
    cr_expect_not(emp_grid_covers(g, (double[]){1025, 2, 16}));
    cr_expect_not(emp_grid_covers(g, (double[]){8, 1, 16}));
    emp_grid_destroy(g);
}

Test(grid, a_bend_is_blended_by_hand)
{
    emp_grid_sample sample[] = {{{1}, 10, 1}, {{4}, 10, 2}, {{16}, 160, 3}};
    emp_grid       *g = NULL;

    cr_assert_eq(emp_grid_create(&g, 1, 0, sample, 3, "t.csv", names, NULL), EMP_OK);
    cr_expect_float_eq(us_at(g, 2, 0, 0), 10.0, 1e-9);
    cr_expect_float_eq(us_at(g, 8, 0, 0), 40.0, 1e-9);
    cr_expect_float_eq(us_at(g, 64, 0, 0), 2560.0, 1e-6);
    emp_grid_destroy(g);
}

static emp_status add(emp_tables *t, emp_table_kind kind, const char *text,
                      emp_error *err)
{
    SCOPED(emp_csv, emp_csv_clear) csv = {0};
    uint64_t   hash = EMP_HASH_SEED;
    emp_status st = emp_csv_parse(&csv, text, strlen(text), "t.csv", err);

    if (st == EMP_OK) st = emp_tables_add(t, kind, &csv, "t.csv", &hash, err);
    return st;
}

#define GEMM "format,m,n,k,us\n"

static const struct {
    emp_table_kind kind;
    const char    *text, *part;
} bad_tables[] = {
    {EMP_TABLE_GEMM, "format,m,n,us\nbf16,1,1,1\n", "t.csv has no column k"},
    {EMP_TABLE_GEMM, GEMM, "t.csv has no row"},
    {EMP_TABLE_GEMM, GEMM "fp5,1,1,1,1\n", "t.csv, row 1: \"fp5\""},
    {EMP_TABLE_GEMM, GEMM "bf16,1,1,1,0\n", "t.csv, row 1: us is \"0\""},
    {EMP_TABLE_GEMM, GEMM "bf16,1,x,1,1\n", "t.csv, row 1: n is \"x\""},
    {EMP_TABLE_GEMM, GEMM "bf16,1,1,1,5\nbf16,2,1,1,4\n", "t.csv: m 2, n 1, k 1"},
    {EMP_TABLE_GEMM, GEMM "bf16,1,1,1,5\nbf16,1,1,1,5\n", "row 2: m 1, n 1, k 1"},
    {EMP_TABLE_GEMM, GEMM "bf16,1,1,1,5\nbf16,2,2,1,5\n", "no time for m 1, n 2, k 1"},
    {EMP_TABLE_GEMM, GEMM "bf16,1,1,1,5\nfp8,1,1,1,5\nbf16,2,1,1,5\n", "row 3: the rows"},
    {EMP_TABLE_ATTENTION, "phase,format,length,kv_heads,group,us\nprefill,bf16,1,1,1,1\n",
     "t.csv, row 1: \"prefill\""},
    {EMP_TABLE_COMM, "op,format,gpus,bytes,us\nbroadcast,bf16,2,8,1\n",
     "t.csv, row 1: \"broadcast\""},
};

Test(grid, bad_tables_are_refused)
{
    for (size_t i = 0; i < COUNT(bad_tables); i++) {
        emp_tables *t = emp_tables_create();
        EXPECT_REFUSED(add(t, bad_tables[i].kind, bad_tables[i].text, &err), EMP_EFORMAT,
                       bad_tables[i].part);
        emp_tables_release(t);
        cr_expect_eq(emp_mem_live_blocks(), 0, "leak: %s", bad_tables[i].text);
    }
}

Test(grid, more_gpus_may_take_less)
{
    static const char text[] = "op\tformat\tgpus\tbytes\tus\nalltoall\tbf16\t2\t64\t9\n"
                               "alltoall\tbf16\t4\t64\t8\n";
    emp_tables       *t = emp_tables_create();

    ASSERT_OK(add(t, EMP_TABLE_COMM, text, &err));
    const emp_grid *g = t->collective[EMP_COLLECTIVE_ALL_TO_ALL][EMP_FORMAT_BF16];
    cr_expect_float_eq(us_at(g, 4, 64, 0), 8.0, 1e-9);
    emp_tables_release(t);
}

/* A record keeps a machine's text: its tables come back from there, too. */
Test(grid, a_machine_its_copy_and_its_text_have_the_tables, .init = scratch_create,
     .fini = scratch_remove)
{
    static const char text[] = "description: \"one H100\"\n"
                               "nodes: [{name: a}]\n"
                               "devices: [{model: haswell-18, at: a}, {model: h100-sxm, "
                               "at: a, bandwidth: 64 GB/s, latency: 10 us}]\n";
    const double      size[] = {4096, 4096, 1024};
    char              path[SCRATCH_PATH_BYTES];
    emp_machine      *m = NULL, *again = NULL;

    scratch_write_text(path, sizeof path, "h100.yaml", text);
    ASSERT_OK(emp_machine_load(&m, path, &err));
    emp_machine *copy = emp_machine_copy(m);
    ASSERT_OK(emp_machine_parse(&again, m->text, &err));
    cr_expect_eq(again->hash, m->hash);
    double s = emp_grid_at(m->device[1].tables->gemm[EMP_FORMAT_BF16], size);
    emp_machine_destroy(m);
    cr_expect_eq(emp_grid_at(copy->device[1].tables->gemm[EMP_FORMAT_BF16], size), s);
    cr_expect_eq(emp_grid_at(again->device[1].tables->gemm[EMP_FORMAT_BF16], size), s);
    emp_machine_destroy(copy);
    emp_machine_destroy(again);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

static emp_status build(char **bundle)
{
    *bundle = NULL;
    EMP_CHECK(emp_bundle_add(bundle, "a file.yaml", "one\n", 4, NULL));
    EMP_CHECK(
        emp_bundle_add(bundle, "models/b.yaml", "--- # a file.yaml 3\nxyz\n", 24, NULL));
    EMP_CHECK(emp_bundle_add(bundle, "a file.yaml", "other", 5, NULL));
    return emp_bundle_add(bundle, "empty", "", 0, NULL);
}

Test(bundle, files_come_back_as_they_were)
{
    OWN_EMP_FREE char *bundle = NULL;
    emp_bundle_file    file;

    cr_assert_eq(build(&bundle), EMP_OK);
    cr_expect_str_eq(bundle, "--- # a file.yaml 4\none\n\n--- # models/b.yaml 24\n"
                             "--- # a file.yaml 3\nxyz\n\n--- # empty 0\n\n");
    cr_assert(emp_bundle_find(bundle, "models/b.yaml", &file));
    cr_expect_eq(file.size, 24);
    cr_assert(emp_bundle_find(bundle, "a file.yaml", &file), "the first of that name");
    cr_expect_eq(strncmp(file.text, "one\n", 4), 0);
    cr_expect(emp_bundle_find(bundle, "empty", &file));
    cr_expect_not(emp_bundle_find(bundle, "none", &file));
    cr_expect_not(emp_bundle_find(NULL, "none", &file));
}

Test(bundle, what_cannot_be_held_is_refused)
{
    char *bundle = NULL;
    char  long_name[2 * EMP_BUNDLE_NAME_BYTES];

    memset(long_name, 'x', sizeof long_name);
    long_name[sizeof long_name - 1] = '\0';
    cr_expect_eq(emp_bundle_add(&bundle, "", "x", 1, NULL), EMP_EINVAL);
    cr_expect_eq(emp_bundle_add(&bundle, "a\nb", "x", 1, NULL), EMP_EINVAL);
    cr_expect_eq(emp_bundle_add(&bundle, long_name, "x", 1, NULL), EMP_EINVAL);
    cr_expect_eq(emp_bundle_add(&bundle, "a", "x\0y", 3, NULL), EMP_EINVAL);
    cr_expect_null(bundle);
}

Test(bundle, damage_is_seen_wherever_it_is)
{
    static const char *const damaged[] = {"",
                                          "a 1\nx\n",
                                          "--- # a\nx\n",
                                          "--- # a 1",
                                          "--- # a 1\n",
                                          "--- # a 2\nx\n",
                                          "--- # a 1\nxx\n",
                                          "--- # a -1\nx\n",
                                          "--- # a 1 \nx\n",
                                          "--- #  1\nx\n",
                                          "--- # a 99999999999999999999\nx\n"};

    for (size_t i = 0; i < COUNT(damaged); i++) {
        const char     *at = damaged[i];
        emp_bundle_file file;
        cr_expect_not(emp_bundle_next(&at, &file), "%s", damaged[i]);
        cr_expect_eq(at, damaged[i]);
    }
}

Test(bundle, every_allocation_may_fail)
{
    char *bundle = NULL;

    SURVIVES_EVERY_ALLOCATION_FAILURE(build(&bundle), emp_free(bundle));
    emp_free(bundle);
}
