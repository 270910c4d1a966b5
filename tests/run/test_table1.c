// SPDX-License-Identifier: GPL-3.0-or-later
/* Table 1 with the methods that need no search: rows and columns are chosen, records are
 * kept and read again, wrong names are refused. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "bench/run/table1.h"
#include "tests/support/scratch.h"

static char folder[SCRATCH_PATH_BYTES];

static void set_up(void)
{
    emp_store_silence();
    scratch_create();
    snprintf(folder, sizeof folder, "%s", scratch_path(""));
}

TestSuite(table1, .init = set_up, .fini = scratch_remove);

struct counts {
    int runs, read;
};

static void count_run(void *context, const emp_table1_event *event)
{
    struct counts *counts = (struct counts *)context;

    counts->runs++;
    if (event->is_read) counts->read++;
    cr_expect_eq(event->done, counts->runs);
}

static emp_table1_params make_params(struct counts *counts)
{
    return (emp_table1_params){.rows = "rnnlm",
                               .methods = "gpu,random",
                               .runtime = "tf-r1.3",
                               .folder = folder,
                               .seed_count = 2,
                               .threads = 2,
                               .is_quick = true,
                               .on_run = count_run,
                               .context = counts};
}

Test(table1, reads_what_it_has_recorded)
{
    struct counts     first = {0}, second = {0};
    emp_table1_params params = make_params(&first);
    emp_table        *a = NULL, *b = NULL;
    emp_error         err = {0};

    cr_assert_eq(emp_table1_make(&a, &params, &err), EMP_OK, "%s", err.msg);
    params.context = &second;
    params.threads = 1;
    cr_assert_eq(emp_table1_make(&b, &params, &err), EMP_OK, "%s", err.msg);
    cr_expect_eq(first.runs, 1 + 2); /* one by gpu, a seed each by random */
    cr_expect_eq(first.read, 0);
    cr_expect_eq(second.read, 3);
    cr_expect_eq(a->row_count, 1);
    cr_expect_eq(a->column_count, 2);
    cr_expect_eq(a->foreign_count, 0);
    cr_expect_eq(emp_table_at(a, 0, 0)->paper_s, 1.57);
    cr_expect(emp_table_at(a, 0, 0)->is_fitted); /* the GPU model's file says so */
    cr_expect_not(emp_table_at(a, 0, 1)->is_fitted);
    cr_expect_neq(a->fitted_note[0], '\0');
    cr_expect_eq(emp_table_at(a, 0, 1)->run_count, 2);
    for (int c = 0; c < 2; c++) {
        cr_expect_eq(emp_table_at(a, 0, c)->ours_s.median,
                     emp_table_at(b, 0, c)->ours_s.median);
    }
    cr_expect_str_eq(a->command, "scripts/emplace table 1 --quick --seeds 2 --rows rnnlm "
                                 "--methods gpu,random");
    emp_table_destroy(a);
    emp_table_destroy(b);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(table1, fresh_runs_read_nothing)
{
    struct counts     counts = {0};
    emp_table1_params params = make_params(&counts);
    emp_table        *table = NULL;

    params.methods = "gpu";
    for (int i = 0; i < 2; i++) {
        params.is_fresh = i == 1;
        counts.runs = 0;
        cr_assert_eq(emp_table1_make(&table, &params, NULL), EMP_OK);
        emp_table_destroy(table);
    }
    cr_expect_eq(counts.read, 0);
}

/* As after a kill between saving the one and removing the other. */
Test(table1, checkpoint_beside_a_record_is_removed)
{
    struct counts     counts = {0};
    emp_table1_params params = make_params(&counts);
    emp_table        *table = NULL;
    char              name[SCRATCH_PATH_BYTES];

    params.methods = "gpu";
    cr_assert_eq(emp_table1_make(&table, &params, NULL), EMP_OK);
    emp_table_destroy(table);
    char *record = scratch_find("*.h5");
    cr_assert_not_null(record);
    *strrchr(record, '.') = '\0';
    snprintf(name, sizeof name, "%s.checkpoint.h5", record);
    free(record);
    scratch_write(name, "", 0);
    counts.runs = 0;
    cr_assert_eq(emp_table1_make(&table, &params, NULL), EMP_OK);
    emp_table_destroy(table);
    cr_expect_eq(counts.read, 1);
    cr_expect_null(scratch_find("*.checkpoint.h5"));
}

static volatile sig_atomic_t stop_flag;

Test(table1, stop_leaves_the_rest_blank)
{
    struct counts     counts = {0};
    emp_table1_params params = make_params(&counts);
    emp_table        *table = NULL;

    stop_flag = 1;
    params.stop = &stop_flag;
    cr_assert_eq(emp_table1_make(&table, &params, NULL), EMP_EINTERRUPTED);
    cr_assert_not_null(table);
    cr_expect_eq(counts.runs, 0);
    cr_expect(isnan(emp_table_at(table, 0, 0)->ours_s.median));
    emp_table_destroy(table);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

static void expect_refused(const emp_table1_params *params, const char *message)
{
    emp_table *table = NULL;
    emp_error  err = {0};

    cr_expect_eq(emp_table1_make(&table, params, &err), EMP_EINVAL);
    cr_expect_null(table);
    cr_expect_str_eq(err.msg, message);
}

Test(table1, wrong_names_are_refused)
{
    struct counts     counts = {0};
    emp_table1_params params = make_params(&counts);

    params.rows = "rnnlm,nmt3";
    expect_refused(&params,
                   "table 1 has no row \"nmt3\"; it has inception_v3, resnet, rnnlm, "
                   "nmt2, nmt4, nmt8");
    params = make_params(&counts);
    params.methods = "gpus";
    expect_refused(&params,
                   "table 1 has no method \"gpus\"; it has cpu, gpu, expert, scotch, "
                   "mincut, metis, random, hdp, ce");
    params = make_params(&counts);
    params.seed_count = 101;
    expect_refused(&params, "101 seeds; give 1 to 100");
    cr_expect_eq(emp_mem_live_blocks(), 0);
}
