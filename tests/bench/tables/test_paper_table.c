// SPDX-License-Identifier: GPL-3.0-or-later
/* Table 1 with the methods that need no search: rows and columns are chosen, records are
 * kept and read again, wrong names are refused. Table 2: the paper's figures, and columns
 * that show different things of the same runs, on a small table made up here. All
 * definitions: whatever they name exists. */
#include "bench/tables/table.h"
#include "run/methods.h"
#include "tests/bench/counted.h"
#include "tests/test.h"

static emp_table *t;

static void tear_down(void)
{
    emp_table_destroy(t);
    scratch_tear_down();
}

TestSuite(paper_table, .init = counted_set_up, .fini = tear_down);

static void make(const emp_paper_table *definition, const emp_trials_params *params)
{
    emp_table_destroy(t);
    t = NULL;
    ASSERT_OK(emp_paper_table_make(&t, definition, params, &err));
}

static emp_trials_params make_params(void)
{
    return (emp_trials_params){.rows = "rnnlm",
                               .arms = "gpu,random",
                               .runtime = "tf-r1.3",
                               .seed_count = 2,
                               .jobs = counted_jobs(2)};
}

Test(paper_table, has_what_is_chosen_beside_the_paper)
{
    emp_trials_params params = make_params();

    make(&emp_paper_table1, &params);
    cr_expect_eq(counted_runs, 1 + 2); /* one by gpu, a seed each by random */
    cr_expect(t->row_count == 1 && t->column_count == 2);
    cr_expect_eq(emp_table_at(t, 0, 0)->paper_s, 1.57);
    /* no constant of a GPU is fitted to a cell */
    cr_expect_eq(emp_table_at(t, 0, 0)->origin, EMP_ORIGIN_PREDICTED);
    cr_expect_eq(emp_table_at(t, 0, 1)->origin, EMP_ORIGIN_BARE);
    cr_expect_gt(t->fitted_constants, 0);
    cr_expect_eq(emp_table_at(t, 0, 1)->run_count, 2);
    cr_expect_str_eq(t->command, "scripts/emplace table 1 --seeds 2 --rows rnnlm "
                                 "--methods gpu,random");
}

/* Only rows of the paper's own sizes can have been fitted; more words take longer. */
Test(paper_table, other_sizes_are_predictions)
{
    emp_trials_params params = make_params();

    params.rows = "nmt2";
    params.arms = "cpu";
    make(&emp_paper_sensitivity, &params);
    cr_assert_eq(t->row_count, 6);
    /* the CPU model's file says so */
    cr_expect_eq(emp_table_at(t, 0, 0)->origin, EMP_ORIGIN_FITTED);
    for (int32_t r = 0; r < 6; r++) {
        cr_expect_eq(emp_table_at(t, r, 0)->paper_s, 6.46);
        if (r > 0) cr_expect_eq(emp_table_at(t, r, 0)->origin, EMP_ORIGIN_PREDICTED);
    }
    cr_expect_str_eq(t->row[1].spec, "nmt:layers=2,vocab=32000,per_step_softmax=1");
    cr_expect_lt(emp_table_at(t, 1, 0)->shown, emp_table_at(t, 2, 0)->shown);
    cr_expect_lt(emp_table_at(t, 2, 0)->shown, emp_table_at(t, 3, 0)->shown);
}

Test(paper_table, table_2_has_the_figures_of_the_paper)
{
    static const struct {
        const char *task;
        double      best, median, worst, improvement;
    } paper[] = {
        {"inception_v3", 0.22, 0.51, 0.65, 40.9}, {"resnet", 1.18, 1.18, 1.18, 0},
        {"rnnlm", 1.57, 1.57, 1.57, 0},           {"nmt2", 2.25, 3.72, 4.45, 62.7},
        {"nmt4", 3.20, 3.42, 6.91, 47.2},         {"nmt8", 6.35, 6.86, 7.23, 35.9}};
    const emp_paper_table *two = emp_paper_table_find("2");

    cr_assert_not_null(two);
    cr_assert_eq(two->row_count, 6);
    for (int i = 0; i < 6; i++) {
        double learned = two->column[3].paper(i);
        cr_expect_str_eq(two->row[i].key, paper[i].task);
        cr_expect_eq(two->column[0].paper(i), paper[i].best);
        cr_expect_eq(two->column[1].paper(i), paper[i].median);
        cr_expect_eq(two->column[2].paper(i), paper[i].worst);
        cr_expect_float_eq(100 * two->column[4].paper(i), paper[i].improvement, 1e-9);
        /* The baseline of the improvement: the best random grouping. */
        cr_expect_float_eq(two->column[4].paper(i), 1 - learned / paper[i].best, 1e-3,
                           "%s", paper[i].task);
    }
    cr_expect_null(emp_paper_table_find("3"));
}

static double one_second(int32_t task) { return 1.0 + task; }

/* Runs of random placements stand in for the planner's. */
static const emp_task small_row = {"inception_v3", "Small", "rnnlm:layers=1,steps=2",
                                   "k40x2",        2,       NULL};
static const emp_paper_column small_columns[] = {
    {.key = "few",
     .column = {"Best", "random", .budget = 3, .seed_count = 4, .has_paper = true,
                .shown = EMP_SHOWN_BEST},
     .paper = one_second},
    {.key = "few",
     .column = {"Worst", "random", .budget = 3, .seed_count = 4,
                .shown = EMP_SHOWN_WORST}},
    {.key = "gain",
     .column = {"Gain", "random", .has_paper = true, .shown = EMP_SHOWN_GAIN},
     .paper = one_second,
     .of = "Many",
     .over = "Best"},
    {.key = "many",
     .column = {"Many", "random", .budget = 9, .seed_count = 2},
     .first_budget = 5},
};
static const emp_paper_table small_table = {.name = "small",
                                            .title = "Small",
                                            .source = "",
                                            .note = "",
                                            .row = &small_row,
                                            .row_count = 1,
                                            .column = small_columns,
                                            .column_count = 4};

Test(paper_table, columns_show_different_things_of_the_same_runs)
{
    emp_trials_params params = make_params();

    params.rows = params.arms = NULL;
    params.seed_count = 0;
    params.is_full = true;
    make(&small_table, &params);
    cr_expect_eq(counted_runs, 4 + 2, "best and worst share runs, a gain has none");
    const emp_table_cell *best = emp_table_at(t, 0, 0), *worst = emp_table_at(t, 0, 1);
    const emp_table_cell *gain = emp_table_at(t, 0, 2), *many = emp_table_at(t, 0, 3);
    cr_expect_eq(best->shown, best->ours_s.min);
    cr_expect_eq(worst->shown, best->ours_s.max);
    cr_expect_lt(best->shown, worst->shown);
    cr_expect_eq(many->shown, many->ours_s.median);
    cr_expect_float_eq(gain->shown, 1 - many->shown / best->shown, 1e-12);
    cr_expect_eq(gain->paper_s, 1.0);
    cr_expect(isnan(emp_table_ratio(gain)), "a gain is not in seconds");
    cr_expect_float_eq(emp_table_ratio(best), best->shown / 1.0, 1e-12);
    cr_expect(isnan(worst->paper_s));
    cr_expect_str_eq(t->command, "scripts/emplace table small --full",
                     "columns have different numbers of seeds");
}

static void expect_note(const char *note, bool is_there)
{
    char *text = PRINTED(emp_table_print(out, t, EMP_SHEET_MD, NULL));
    cr_expect_eq(strstr(text, note) != NULL, is_there, "%s", text);
}

/* The first seed of the random column was run, and the second one was not. */
Test(paper_table, a_table_that_is_stopped_says_what_was_run)
{
    emp_trials_params params = make_params();

    params.jobs = counted_jobs_stopped(2);
    cr_assert_eq(emp_paper_table_make(&t, &emp_paper_table1, &params, NULL),
                 EMP_EINTERRUPTED);
    expect_note("- Partial: 2 of 3 runs were made.\n", true);
    expect_note("evaluations a run, 1 of 5 seeds.\n", true);
    expect_note("seeds 1 to", false);
    params.jobs = counted_jobs(1);
    make(&emp_paper_table1, &params);
    expect_note("Partial", false);
    expect_note("seeds 1 to 2 of 5", true);
}

Test(paper_table, a_first_table_has_less_of_everything_and_says_so)
{
    emp_trials_params params = make_params();

    params.rows = params.arms = NULL;
    params.seed_count = 0;
    for (int is_full = 0; is_full < 2; is_full++) {
        params.is_full = is_full;
        counted_runs = 0;
        make(&small_table, &params);
        if (!is_full) cr_expect_eq(counted_runs, 1 + 1);
        cr_expect_eq(t->column_count, 4);
        expect_note("This is a first table", !is_full);
        expect_note("3 evaluations a run, seed 1 of 4", !is_full);
        expect_note("5 of 9 evaluations a run, seed 1 of 2", !is_full);
        expect_note("9 evaluations a run, seeds 1 to 2", is_full);
    }
}

Test(paper_table, a_gain_needs_both_of_its_columns)
{
    emp_trials_params params = make_params();

    params.rows = NULL;
    params.arms = "gain,many";
    params.seed_count = 2;
    make(&small_table, &params);
    cr_expect(isnan(emp_table_at(t, 0, 0)->shown));
    cr_expect_eq(counted_runs, 2);
    expect_note("\"Many\" and \"Best\": --methods many,few,gain", true);
    params.arms = "gain";
    make(&small_table, &params);
    cr_expect_eq(counted_runs, 2, "alone it has no runs");
    params.arms = "many,few,gain";
    counted_runs = 0;
    make(&small_table, &params);
    cr_expect_str_empty(t->gain_note);
}

static void expect_creates(const emp_problem *problem, const char *method,
                           const char *preset, const char *options)
{
    const emp_method       *type = NULL;
    const emp_method_params params = {
        .seed = 1, .threads = 1, .preset = preset, .options = options};
    emp_error why = {0};
    void     *state = NULL;

    ASSERT_OK(emp_method_find(&type, method, &err));
    cr_assert_eq(emp_method_create(&state, type, problem, &params, &why), EMP_OK,
                 "%s %s: %s", method, options, why.msg);
    emp_method_destroy(type, state);
}

Test(paper_table, definitions_name_what_exists)
{
    const emp_paper_table *const tables[] = {&emp_paper_table1, &emp_paper_table2};
    emp_runtime                  runtime;
    emp_loaded_task              task = {0};

    ASSERT_OK(emp_runtime_init(&runtime, "tf-r1.3", NULL));
    ASSERT_OK(emp_tasks_load(&task, &small_row, 1, &runtime, 1, NULL));
    for (int i = 0; i < 2; i++) {
        for (int32_t c = 0; c < tables[i]->column_count; c++) {
            const emp_paper_column *d = &tables[i]->column[c];
            expect_creates(task.problem, d->column.method, d->column.preset,
                           d->column.options);
            cr_expect_eq(d->column.has_paper, d->paper != NULL, "%s", d->column.title);
        }
    }
    emp_tasks_clear(&task, 1);
}
