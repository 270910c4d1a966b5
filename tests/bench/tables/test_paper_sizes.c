// SPDX-License-Identifier: GPL-3.0-or-later
/* Sizes that reported times rule out, the rows that Tables 1 and 2 have instead, the relative form of a table, and
 * the lower bounds beside its cells. */
#include "base/mem.h"
#include "bench/tables/paper.h"
#include "bench/tables/table.h"
#include "tests/test.h"

static void set_up(void)
{
    emp_store_silence();
    scratch_create();
}

static emp_table *t;

static void tear_down(void)
{
    emp_table_destroy(t);
    scratch_tear_down();
}

TestSuite(paper_sizes, .init = set_up, .fini = tear_down);

static int32_t impossible_of(emp_paper_demand out[EMP_PAPER_SINGLE_DEVICES],
                             const char *key, const char *spec)
{
    const emp_task  task = {key, key, spec, "k40x2", 2, NULL};
    emp_runtime     runtime;
    emp_loaded_task loaded = {0};

    ASSERT_OK(emp_runtime_init(&runtime, "tf-r1.3", &err));
    ASSERT_OK(emp_tasks_load(&loaded, &task, 1, &runtime, 1, &err));
    emp_paper_demands(out, loaded.problem, emp_paper_find(key));
    const int32_t count =
        emp_paper_is_impossible(&out[0]) + emp_paper_is_impossible(&out[1]);
    emp_tasks_clear(&loaded, 1);
    return count;
}

Test(paper_sizes, times_that_peak_rates_rule_out)
{
    static const struct {
        const char *key, *spec;
        int32_t     count;
    } cases[] = {{"inception_v3", "inception_v3", 2}, /* of the CPU and of a GPU */
                 {"inception_v3", "inception_v3:batch=8", 0},
                 {"inception_v3", "inception_v3:batch=18", 0},
                 {"inception_v3", "inception_v3:batch=19", 1}, /* a GPU's 4.29 TFLOP/s */
                 {"resnet", "resnet:depth=152", 0},
                 {"resnet", "resnet:depth=152,batch=128", 1},
                 {"rnnlm", "rnnlm", 0},
                 {"nmt2", "nmt:layers=2", 0}}; /* a GPU's memory is short, no time */
    emp_paper_demand e[EMP_PAPER_SINGLE_DEVICES];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_eq(impossible_of(e, cases[i].key, cases[i].spec), cases[i].count, "%s",
                     cases[i].spec);
    cr_expect_eq(impossible_of(e, "inception_v3", "inception_v3"), 2);
    /* 32 images, 3 x 11.44 GFLOP each for the products, and 1 % more for the rest */
    cr_expect_float_eq(e[0].flops, 32 * 3 * 11.44e9, 0.02 * e[0].flops);
    cr_expect_str_eq(e[0].device, "CPU");
    cr_expect_eq(e[0].paper_s, 0.61);
    cr_expect_str_eq(e[1].device, "GPU");
    cr_expect_eq(e[1].peak_flops_per_s, 4.29e12);
}

static void make(const emp_paper_table *definition, const char *rows, const char *methods)
{
    const emp_trials_params params = {.rows = rows,
                                      .arms = methods,
                                      .runtime = "tf-r1.3",
                                      .seed_count = 1,
                                      .jobs = {.folder = scratch_path(""), .threads = 1}};

    ASSERT_OK(emp_paper_table_make(&t, definition, &params, &err));
}

/* Neither row is a prediction: sizes of 1 to 18 images are possible. */
Test(paper_sizes, table_1_has_two_rows_of_inception)
{
    make(&emp_paper_table1, "inception_v3", "cpu,gpu,expert,mincut,metis");

    cr_assert_eq(t->row_count, 2);
    cr_expect_str_eq(t->row[0].spec, "inception_v3:batch=1");
    cr_expect_str_eq(t->row[1].spec, "inception_v3:batch=8");
    for (int32_t r = 0; r < 2; r++) {
        for (int32_t c = 0; c < 4; c++)
            cr_expect_eq(emp_table_at(t, r, c)->origin, EMP_ORIGIN_INFERRED);
        cr_expect_eq(emp_table_at(t, r, 4)->origin, EMP_ORIGIN_BARE, "METIS");
        cr_expect_eq(emp_table_at(t, r, 0)->paper_s, 0.61);
        cr_expect_lt(emp_table_at(t, r, 0)->asked_flops_per_s,
                     emp_table_at(t, r, 0)->peak_flops_per_s);
    }
    cr_expect_eq(emp_table_agree(t).cells, 0);
    cr_expect_eq(emp_table_compare_order(t).pairs, 0);
    cr_expect_not_null(strstr(t->impossible_note, "inception_v3 does 1.11 TFLOP"), "%s",
                       t->impossible_note);
}

Test(paper_sizes, other_sizes_have_the_impossible_ones)
{
    make(&emp_paper_sensitivity, "inception_v3,resnet", "gpu");
    int32_t marked[EMP_ORIGIN_COUNT] = {0};

    for (int32_t r = 0; r < t->row_count; r++) {
        const emp_origin origin = emp_table_at(t, r, 0)->origin;
        const bool       is_impossible = strcmp(t->row[r].spec, "inception_v3") == 0 ||
                                   strstr(t->row[r].spec, "batch=128") != NULL;
        cr_expect_eq(origin == EMP_ORIGIN_OTHER, is_impossible, "%s", t->row[r].spec);
        marked[origin]++;
    }
    cr_expect_eq(marked[EMP_ORIGIN_OTHER], 2);
    cr_expect_eq(marked[EMP_ORIGIN_INFERRED], 2, "Inception-V3 at 1 and 8");
    cr_expect_eq(marked[EMP_ORIGIN_PREDICTED], 3, "ResNet-152 at 16, 32 and 64");
}

Test(paper_sizes, cells_have_the_bound_that_holds_for_them)
{
    make(&emp_paper_table1, "rnnlm", "cpu,gpu,expert");
    const emp_table_bound *bound = &t->bound[0];

    cr_expect_gt(bound->any_s, 0.0);
    cr_expect_geq(bound->gpu_kernels_s, bound->any_s);
    cr_expect_not(emp_table_at(t, 0, 0)->keeps_gpu_kernels);
    for (int32_t c = 1; c < 3; c++) {
        cr_expect(emp_table_at(t, 0, c)->keeps_gpu_kernels);
        cr_expect_geq(emp_table_at(t, 0, c)->shown, bound->gpu_kernels_s);
    }
}

static void set(int32_t r, int32_t c, double ours, double paper, emp_origin origin)
{
    emp_table_cell *cell = emp_table_at(t, r, c);

    cell->ours_s = (emp_summary){ours, ours, ours};
    cell->shown = ours;
    cell->paper_s = paper;
    cell->peak_bytes = 100 * r + c; /* other placements */
    cell->origin = origin;
}

/* The second row's expert does not fit, and the third row has no reference. */
static void make_relative(void)
{
    static const char *const titles[] = {"One", "Two", "Three"};

    cr_assert_eq(emp_table_create(&t, 3, 3, NULL), EMP_OK);
    t->title = "Small.";
    snprintf(t->command, sizeof t->command, "scripts/emplace table 0");
    for (int32_t r = 0; r < 3; r++)
        t->row[r] = (emp_task){"t", titles[r], "rnnlm", "k40x2", 2, NULL};
    t->column[0] =
        (emp_table_column){"GPU only", "gpu", .seed_count = 1, .has_paper = true};
    t->column[1] =
        (emp_table_column){"Expert", "expert", .seed_count = 1, .has_paper = true};
    t->column[2] = (emp_table_column){"HDP", "hdp", .seed_count = 1, .has_paper = true};
    set(0, 0, 4.0, 8.0, EMP_ORIGIN_PREDICTED);
    set(0, 1, 2.0, 5.0, EMP_ORIGIN_PREDICTED);
    set(0, 2, 1.0, 2.0, EMP_ORIGIN_PREDICTED);
    set(1, 0, 4.0, 8.0, EMP_ORIGIN_INFERRED);
    set(1, 1, INFINITY, 5.0, EMP_ORIGIN_PREDICTED);
    set(1, 2, 1.0, 2.0, EMP_ORIGIN_INFERRED);
    set(2, 0, 4.0, NAN, EMP_ORIGIN_BARE);
    set(2, 1, 2.0, INFINITY, EMP_ORIGIN_PREDICTED);
    set(2, 2, 1.0, 2.0, EMP_ORIGIN_PREDICTED);
    t->bound[0] = (emp_table_bound){0.9, 0.9};
    emp_table_relate(t);
}

Test(paper_sizes, relative_cells_are_divided_on_both_sides)
{
    make_relative();

    cr_expect_str_eq(t->command, "scripts/emplace table 0 --relative");
    cr_expect_eq(emp_table_reference(t, 0), 1);
    cr_expect_eq(emp_table_reference(t, 1), 0, "one GPU");
    cr_expect_eq(emp_table_reference(t, 2), -1);
    const emp_table_cell gpu = emp_table_seen(t, 0, 0), hdp = emp_table_seen(t, 0, 2);
    cr_expect_eq(gpu.shown, 2.0);
    cr_expect_eq(gpu.paper_s, 1.6);
    cr_expect_float_eq(emp_table_ratio(&gpu), 1.25, 1e-12);
    cr_expect_eq(hdp.ours_s.max, 0.5);
    cr_expect_float_eq(emp_table_ratio(&hdp), 1.25, 1e-12);
    cr_expect_eq(emp_table_seen(t, 1, 2).shown, 0.25);
    cr_expect(isinf(emp_table_seen(t, 1, 1).shown), "still out of memory");
    cr_expect(isnan(emp_table_seen(t, 2, 2).shown));
    const emp_table_agreement near = emp_table_agree(t);
    cr_expect_eq(near.cells, 2, "GPU and HDP of the first row");
    cr_expect_eq(near.near, 0);
    cr_expect_float_eq(near.error_frac, 0.25, 1e-12);
    t->is_relative = false;
    cr_expect_eq(emp_table_agree(t).cells, 4);
}

static void expect_printed(emp_sheet_format format, const char *part)
{
    char *text = PRINTED(emp_table_print(out, t, format, &err));

    cr_expect_not_null(strstr(text, part), "\"%s\" in:\n%s", part, text);
}

Test(paper_sizes, all_forms_have_relative_figures_beside_the_papers)
{
    make_relative();

    expect_printed(EMP_SHEET_TEXT, "Each divided by the expert of its row.");
    expect_printed(EMP_SHEET_MD,
                   "| One | 2 | 2.00 | 1.60 | 1.25 | 1.00 | 1.00 | 1.00 | 0.500 | 0.40 | "
                   "1.25 |");
    expect_printed(EMP_SHEET_CSV,
                   "ratio,reference,ours_relative,min_relative,max_relative,"
                   "paper_relative,relative_ratio,");
    expect_printed(EMP_SHEET_CSV, ",4,4,4,,8,0.5,expert,2,2,2,1.6,1.25,predicted,");
    expect_printed(EMP_SHEET_CSV, ",1,1,1,,2,0.5,gpu,0.25,0.25,0.25,0.25,1,inferred,");
    expect_printed(EMP_SHEET_JSON, "\"relative\": true");
    expect_printed(EMP_SHEET_JSON, "\"paper_relative\": 1.6");
    /* 0.4 of 2 s */
    expect_printed(
        EMP_SHEET_TEXT,
        "the paper's ratio of 0.40 to Expert would be 0.8000 s here, but no placement "
        "is");
}
