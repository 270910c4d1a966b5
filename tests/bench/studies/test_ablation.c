// SPDX-License-Identifier: GPL-3.0-or-later
/* A study made up here, on a small graph: arms and rows are chosen, ratios are to the
 * default, records are read again, wrong names are refused, and both forms are printed. */
#include "bench/studies/ablation.h"
#include "bench/studies/mechanisms.h"
#include "policy/hdp/hdp.h"
#include "tests/bench/counted.h"
#include "tests/test.h"

enum { ARMS = 3, ROWS = 2, BUDGET = 8, SEEDS = 2 };

static const emp_arm arms[ARMS] = {
    EMP_ARM("default", "default", "groups=4,hidden=4"),
    EMP_ARM("groups", "groups=2", "groups=2,hidden=4"),
    EMP_ARM("grouping", "grouping=none", "grouping=none,hidden=4"),
};
static const emp_task rows[ROWS] = {
    {"one", "One layer", "rnnlm:layers=1,steps=2,units=8,vocab=16,sampled=0", "k40x2", 2,
     NULL},
    {"two", "Two layers", "rnnlm:layers=2,steps=2,units=8,vocab=16,sampled=0", "k40x2", 2,
     NULL},
};
static const emp_ablation study = {.name = "small",
                                   .method = "hdp",
                                   .preset = "paper",
                                   .arm = arms,
                                   .arm_count = ARMS,
                                   .row = rows,
                                   .row_count = ROWS,
                                   .rows = "two",
                                   .seed_count = SEEDS,
                                   .first_seed_count = 1,
                                   .budget = BUDGET,
                                   .first_budget = BUDGET / 2};

static emp_ablation_table *made;

static void tear_down(void)
{
    emp_ablation_destroy(made);
    scratch_tear_down();
}

TestSuite(ablation, .init = counted_set_up, .fini = tear_down);

static emp_trials_params make_params(void)
{
    return (emp_trials_params){.runtime = "tf-r1.3",
                               .seed_count = SEEDS,
                               .budget = BUDGET,
                               .jobs = counted_jobs(2)};
}

static emp_ablation_table *make(const emp_trials_params *params)
{
    emp_ablation_destroy(made);
    ASSERT_OK(emp_ablation_make(&made, &study, params, &err));
    return made;
}

Test(ablation, runs_every_arm)
{
    emp_trials_params   params = make_params();
    emp_ablation_table *a = make(&params);

    cr_assert_eq(a->arm_count, ARMS);
    cr_assert_eq(a->row_count, 1, "the rows of the definition");
    cr_expect(counted_runs == ARMS * SEEDS && counted_reads == 0);
    cr_expect_str_eq(a->cell[0].row->key, "two");
    cr_expect_eq(a->cell[0].ratio, 1.0);
    for (int i = 0; i < ARMS; i++) {
        const emp_ablation_cell *c = &a->cell[i];
        cr_expect_eq(c->arm, &arms[i]);
        cr_expect_eq(c->run_count, SEEDS);
        cr_expect_eq(c->evaluations, SEEDS * BUDGET);
        cr_expect_eq(c->feasible_frac, 1.0, "so small a model always fits");
        cr_expect_float_eq(c->ratio, c->step_s.median / a->cell[0].step_s.median, 1e-12);
    }
}

Test(ablation, arms_and_rows_can_be_chosen)
{
    static const struct {
        const char *arms, *rows;
        int         second, row_count;
    } cases[] = {{"grouping", "one,two", 2, 2}, {"groups=2", "two", 1, 1}};

    for (int i = 0; i < 2; i++) {
        emp_trials_params params = make_params();
        params.rows = cases[i].rows;
        params.arms = cases[i].arms;
        params.seed_count = 1;
        emp_ablation_table *t = make(&params);
        cr_assert(t->arm_count == 2 && t->row_count == cases[i].row_count);
        cr_expect_eq(counted_runs, 2 * t->row_count, "%s", cases[i].arms);
        cr_expect_eq(t->cell[0].arm, &arms[0], "the default is always there");
        cr_expect_eq(t->cell[1].arm, &arms[cases[i].second]);
        cr_expect_str_eq(t->cell[2 * t->row_count - 2].row->key, "two");
    }
}

Test(ablation, wrong_names_are_refused)
{
    static const struct {
        const emp_ablation *definition;
        const char         *rows, *arms;
        int32_t             seeds;
        const char         *part;
    } cases[] = {
        {&study, "three", NULL, SEEDS, "\"three\"; it has one, two"},
        {&study, NULL, "order", SEEDS, "\"order\"; it has default, groups"},
        {&emp_ablation_refine, NULL, "order", SEEDS, "\"order\"; it has default"},
        {&study, NULL, NULL, -1, "-1 seeds"}};

    for (int i = 0; i < 4; i++) {
        emp_trials_params   params = make_params();
        emp_ablation_table *t = NULL;
        params.rows = cases[i].rows;
        params.arms = cases[i].arms;
        params.seed_count = cases[i].seeds;
        EXPECT_REFUSED(emp_ablation_make(&t, cases[i].definition, &params, &err),
                       EMP_EINVAL, cases[i].part);
        cr_expect_null(t);
        cr_expect_eq(emp_mem_live_blocks(), 0);
    }
}

enum { MANY = 8 };

Test(ablation, enough_tasks_have_a_test)
{
    emp_ablation_cell    cell[2 * MANY];
    emp_ablation_overall overall[2];
    emp_ablation_table   t = {
          .arm_count = 2, .row_count = MANY, .cell = cell, .overall = overall};

    for (int32_t i = 0; i < 2 * MANY; i++)
        cell[i] = (emp_ablation_cell){.step_s.median = i % 2 == 0 ? 1.0 : 1.1 + 0.01 * i};
    cell[1].step_s.median = INFINITY; /* nothing fits: slower than all */
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_ablation_sum_up(&t, NULL), );
    cr_expect_eq(t.test_least, 6);
    cr_expect_float_eq(overall[1].p_holm, 2.0 / (1 << MANY), 1e-9,
                       "all eight differences have one sign");
    cr_expect(isinf(overall[1].ratio.mean));
    cell[0].step_s.median = NAN; /* not ready */
    ASSERT_OK(emp_ablation_sum_up(&t, NULL));
    cr_expect_eq(overall[1].task_count, MANY - 1);
    cr_expect(isfinite(overall[1].ratio.mean));
}

static const emp_arm methods[] = {
    EMP_ARM("default", "expert", NULL),
    EMP_ARM("once", "gpu", NULL, .method = "gpu"),
    EMP_ARM("search", "random", "groups=4", .method = "random"),
};
static const emp_ablation compared = {.name = "compared",
                                      .method = "expert",
                                      .arm = methods,
                                      .arm_count = 3,
                                      .row = rows,
                                      .row_count = 1,
                                      .rows = "one",
                                      .seed_count = SEEDS,
                                      .first_seed_count = 1,
                                      .budget = 64,
                                      .first_budget = 64,
                                      .shows = EMP_SHOWS_BALANCE | EMP_SHOWS_COST |
                                               EMP_SHOWS_QUALITY};

Test(ablation, methods_are_compared_by_more_than_step_times)
{
    emp_trials_params params = make_params();

    params.budget = 64;
    ASSERT_OK(emp_ablation_make(&made, &compared, &params, NULL));
    const emp_ablation_table *t = made;
    cr_expect_eq(counted_runs, 2 + SEEDS, "only random draws");
    const emp_ablation_cell *gpu = &t->cell[1], *drawn = &t->cell[2];
    cr_expect(gpu->run_count == 1 && gpu->evaluations == 1);
    cr_expect_eq(gpu->balance, 2.0, "one of two GPUs is busy");
    cr_expect(drawn->balance >= 1.0 && drawn->balance <= 2.0);
    cr_expect_eq(drawn->evaluations, 64 * SEEDS);
    for (int i = 0; i < 3; i++) cr_expect_gt(t->cell[i].cpu_s, 0);
    cr_expect(isnan(t->cell[0].break_even_steps), "the default saves nothing");
    const double saved_s = t->cell[0].step_s.median - drawn->step_s.median;
    if (saved_s > 0)
        cr_expect_float_eq(drawn->break_even_steps, drawn->cpu_s / saved_s, 1e-9);
    else
        cr_expect(isinf(drawn->break_even_steps));
    const double least_s = fmin(gpu->step_s.median, drawn->step_s.median);
    if (gpu->step_s.median <= (1 + EMP_ABLATION_CLOSE) * least_s) {
        cr_expect_eq(gpu->quality_evaluations, 1.0);
        cr_expect_float_eq(gpu->quality_s,
                           EMP_ABLATION_MEASURED_STEPS * gpu->step_s.median, 1e-9);
    } else {
        cr_expect(isinf(gpu->quality_evaluations) && isinf(gpu->quality_s));
    }
}

static void expect_note(const emp_ablation_table *t, const char *note, bool is_there)
{
    char *text = PRINTED(emp_ablation_print(out, t, NULL, EMP_SHEET_MD, &err));
    cr_expect_eq(strstr(text, note) != NULL, is_there, "%s", text);
}

/* Large products are far from the expert's step on the CPU. */
Test(ablation, what_saves_nothing_never_breaks_even)
{
    static const emp_task large = {
        "one",   "Large", "rnnlm:layers=2,steps=2,units=512,vocab=4096,sampled=0",
        "k40x2", 2,       NULL};
    static const emp_arm two[] = {EMP_ARM("default", "expert", NULL),
                                  EMP_ARM("cpu", "cpu", NULL, .method = "cpu")};
    emp_ablation         one = compared;
    emp_trials_params    params = make_params();

    one.arm = two;
    one.arm_count = 2;
    one.row = &large;
    params.budget = 64;
    ASSERT_OK(emp_ablation_make(&made, &one, &params, NULL));
    cr_expect_gt(made->cell[1].step_s.median,
                 (1 + EMP_ABLATION_CLOSE) * made->cell[0].step_s.median);
    cr_expect(isinf(made->cell[1].break_even_steps));
    cr_expect(isinf(made->cell[1].quality_evaluations) && isinf(made->cell[1].quality_s));
    expect_note(made, "never", true);
}

Test(ablation, a_first_study_is_shorter_and_says_so)
{
    emp_trials_params params = make_params();

    params.seed_count = 0;
    params.budget = 0;
    emp_ablation_table *t = make(&params);
    cr_expect_eq(counted_runs, ARMS);
    cr_expect_eq(t->cell[0].evaluations, BUDGET / 2);
    expect_note(t, "first study: 4 of 8 evaluations a run, 1 of 2 seeds", true);
    counted_runs = 0;
    params.is_full = true;
    t = make(&params);
    cr_expect_eq(counted_runs, ARMS * SEEDS);
    cr_expect_eq(t->cell[0].evaluations, BUDGET * SEEDS);
    expect_note(t, "first study", false);
}

Test(ablation, prints_text_and_csv)
{
    static const struct {
        emp_sheet_format format;
        const char      *part;
    } cases[] = {
        {EMP_SHEET_CSV, "\nstudy,arm,task,workload,machine,runtime,method,preset,"},
        {EMP_SHEET_CSV, ",tf-r1.3,hdp,paper,\"groups=4,hidden=4\",8,3,0,2,1.5,2.5,"
                        "1,24,0.75,"},
        {EMP_SHEET_CSV, "\"grouping=none,hidden=4\",8,3,3,OOM,OOM,OOM,,24,0,"},
        {EMP_SHEET_TEXT, "   3     2.00     1.50     2.50   1.00           24   "
                         "75.0 %\n"},
        {EMP_SHEET_TEXT, "   3      OOM      OOM      OOM      -           24    "
                         "0.0 %\n"}};
    emp_ablation_cell        cells[2] = {{.arm = &arms[0],
                                          .row = &rows[0],
                                          .run_count = 3,
                                          .step_s = {2.0, 1.5, 2.5},
                                          .ratio = 1.0,
                                          .evaluations = 24,
                                          .feasible_frac = 0.75},
                                         {.arm = &arms[2],
                                          .row = &rows[0],
                                          .run_count = 3,
                                          .oom_count = 3,
                                          .step_s = {INFINITY, INFINITY, INFINITY},
                                          .ratio = NAN,
                                          .evaluations = 24}};
    const emp_ablation_table t = {.definition = &study,
                                  .arm_count = 2,
                                  .row_count = 1,
                                  .cell = cells,
                                  .budget = 8,
                                  .runtime = "tf-r1.3"};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = PRINTED(emp_ablation_print(out, &t, NULL, cases[i].format, &err));
        cr_expect_not_null(strstr(text, cases[i].part), "no \"%s\": %s", cases[i].part,
                           text);
    }
}

Test(ablation, one_that_is_stopped_says_what_was_run)
{
    emp_trials_params params = make_params();

    params.jobs = counted_jobs_stopped(4); /* a seed of each arm, and one more */
    cr_assert_eq(emp_ablation_make(&made, &study, &params, NULL), EMP_EINTERRUPTED);
    expect_note(made, "- Partial: 4 of 6 runs were made.\n", true);
}

Test(ablation, orders_that_are_stopped_say_what_was_run)
{
    emp_trials_params params = {.rows = "rnnlm",
                                .arms = "gpu,cpu",
                                .runtime = "tf-r1.3",
                                .seed_count = 2,
                                .budget = 2,
                                .jobs = counted_jobs_stopped(1)};
    SCOPED(emp_sheet, emp_sheet_clear) sheet;

    cr_assert_eq(emp_orders_make(&sheet, EMP_ORDERS_ORDER, &params, NULL),
                 EMP_EINTERRUPTED);
    char *text = PRINTED(emp_sheet_print(out, &sheet, EMP_SHEET_MD, &err));
    cr_expect_not_null(strstr(text, "- Partial: 1 of 14 runs was made.\n"), "%s", text);
    cr_expect_not_null(strstr(text, "median of at most 2 seeds"), "%s", text);
}
