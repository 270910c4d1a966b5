// SPDX-License-Identifier: GPL-3.0-or-later
/* Trainings with and without imitation in one folder: neither takes what the other has left. Parts of
 * the runs, and the whole that reads them. */
#include "bench/transfer/transfer.h"

#include "tests/bench/counted.h"
#include "tests/test.h"

#define SMALL \
    "width=8,type_width=4,graph_layers=1,layers=1,heads=2,hidden=8,segment=16,samples=8"

TestSuite(bench_transfer, .init = counted_set_up, .fini = scratch_remove);

static emp_transfer_params imitating(const char *method, int64_t rounds)
{
    return (emp_transfer_params){.split = "giph",
                                 .methods = "go",
                                 .options = SMALL,
                                 .imitate = method,
                                 .imitation_budget = 30,
                                 .imitation_rounds = rounds,
                                 .trainings = 1,
                                 .budget = {1},
                                 .budget_count = 1,
                                 .jobs = counted_jobs(1)};
}

static emp_transfer_table *make(const emp_transfer_params *params)
{
    emp_transfer_table *table = NULL;

    ASSERT_OK(emp_transfer_make(&table, params, &err));
    return table;
}

static double sum_of(const emp_transfer_table *table, const char *arm)
{
    double sum = 0.0;

    for (int32_t i = 0; i < table->row_count; i++) {
        const emp_transfer_row *row = &table->row[i];
        if (row->task != NULL && strcmp(row->arm, arm) == 0) sum += row->step_s.median;
    }
    return sum;
}

static void expect_file(const char *pattern)
{
    char *name = scratch_find(pattern);

    cr_expect_not_null(name, "%s", pattern);
}

Test(bench_transfer, imitation_is_a_training_of_its_own)
{
    emp_transfer_params params = imitating("refine", 60);
    emp_transfer_table *imitated = make(&params);
    emp_transfer_table *again = make(&params);

    cr_expect_str_eq(imitated->imitated, "refine::30:60");
    cr_expect_eq(imitated->training_budget, 0);
    expect_file("runs/weights.giph.go.seed1.0.*.h5");
    cr_expect_eq(sum_of(again, "trained"), sum_of(imitated, "trained"));
    cr_expect_neq(sum_of(imitated, "trained"), sum_of(imitated, "untrained"));

    params.imitation_rounds = 1; /* another file, and other weights */
    emp_transfer_table *less = make(&params);
    cr_expect_eq(sum_of(less, "untrained"), sum_of(imitated, "untrained"));
    cr_expect_neq(sum_of(less, "trained"), sum_of(imitated, "trained"));

    params.imitate = NULL;
    params.training_budget = 80;
    emp_transfer_table *scored = make(&params);
    cr_expect_str_eq(scored->imitated, "");
    expect_file("runs/weights.giph.go.seed1.80.*.h5");
    emp_transfer_destroy(scored);
    emp_transfer_destroy(less);
    emp_transfer_destroy(again);
    emp_transfer_destroy(imitated);
}

/* With one sample annealing is where it begins, so its row is the table's own. m-SCT draws nothing, so
 * that all trainings have one table. */
Test(bench_transfer, a_table_of_frequencies_is_one_arm_more)
{
    emp_transfer_params params = imitating("m-sct", 1);
    int32_t             rows = 0;

    params.trainings = 2;
    params.has_frequencies = true;
    emp_transfer_table *with = make(&params);
    params.has_frequencies = false;
    emp_transfer_table *without = make(&params);
    for (int32_t i = 0; i < with->row_count; i++) {
        const emp_transfer_row *row = &with->row[i];
        if (strcmp(row->arm, "anneal from frequencies") != 0 || row->task == NULL)
            continue;
        cr_expect(isfinite(row->step_s.median));
        cr_expect_eq(row->step_s.min, row->step_s.max);
        rows++;
    }
    cr_expect_eq(rows, with->split->target_count);
    cr_expect_eq(with->row_count, without->row_count + rows + 1);
    cr_expect_eq(sum_of(with, "trained"), sum_of(without, "trained"));
    emp_transfer_destroy(without);
    emp_transfer_destroy(with);
}

Test(bench_transfer, who_cannot_imitate_or_be_imitated_is_refused)
{
    emp_transfer_params params[3] = {imitating("nosuch", 1), imitating("random", 1),
                                     imitating(NULL, 0)};
    static const struct {
        emp_status  status;
        const char *part;
    } wants[] = {{EMP_EINVAL, "nosuch"},
                 {EMP_EUNSUPPORTED, "imitates nobody"},
                 {EMP_EINVAL, "--imitate"}}; /* what frequencies need */

    params[1].methods = "giph";
    params[1].options = NULL;
    params[2].training_budget = 80;
    params[2].has_frequencies = true;
    for (int i = 0; i < 3; i++) {
        emp_transfer_table *table = NULL;
        EXPECT_REFUSED(emp_transfer_make(&table, &params[i], &err), wants[i].status,
                       wants[i].part);
        emp_transfer_destroy(table);
    }
}
