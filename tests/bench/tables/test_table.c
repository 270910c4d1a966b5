// SPDX-License-Identifier: GPL-3.0-or-later
/* The printed forms of a small table against golden files. To renew them after a wanted
 * change: EMP_RENEW_GOLDEN=1 build/test/tests/bench/tables/test_table. */
#include "base/text/file.h"
#include "bench/tables/table.h"
#include "tests/test.h"

static emp_table *t;

static void tear_down(void)
{
    emp_table_destroy(t);
    expect_all_freed();
}

TestSuite(table, .fini = tear_down);

static emp_record fake_record(double best_s, double median_s)
{
    emp_record r = {.best_step_time_s = best_s,
                    .median_s = median_s,
                    .is_feasible = isfinite(best_s),
                    .device_count = 2,
                    .peak_bytes = {100, 200},
                    .graph_hash = 1,
                    .machine_hash = 2,
                    .runtime_hash = 3,
                    .commit = "c0ffee"};
    return r;
}

static void fill(int32_t row, int32_t column, const double *best_s, int32_t count)
{
    emp_record        record[3];
    const emp_record *records[3];

    for (int32_t i = 0; i < count; i++) {
        record[i] = fake_record(best_s[i], best_s[i] * 1.5);
        records[i] = &record[i];
    }
    emp_table_fill(t, row, column, records, count);
}

static void make_table(void)
{
    ASSERT_OK(emp_table_create(&t, 2, 6, NULL));
    t->title = "A small table.";
    t->source = "Nobody, Table 0";
    t->fitted_constants = 5;
    snprintf(t->runtime, sizeof t->runtime, "tf-r1.3");
    snprintf(t->command, sizeof t->command, "scripts/emplace table 0");
    snprintf(t->version, sizeof t->version, "1.2.3");
    snprintf(t->commit, sizeof t->commit, "c0ffee");
    t->is_dirty = false;
    t->row[0] =
        (emp_task){"small", "Small net", "small:layers=1,units=2", "k40x2", 2, NULL};
    t->row[1] = (emp_task){"large", "Large net", "large", "k40x8", 8, NULL};
    t->column[0] =
        (emp_table_column){"CPU only", "cpu", .seed_count = 1, .has_paper = true};
    t->column[1] =
        (emp_table_column){"GPU only", "gpu", .seed_count = 1, .has_paper = true};
    t->column[2] =
        (emp_table_column){"Scotch", "scotch", .seed_count = 3, .has_paper = true};
    t->column[3] = (emp_table_column){"METIS", "metis", .seed_count = 1};
    t->column[4] = (emp_table_column){"Random", "random", .budget = 50, .seed_count = 1,
                                      .has_median = true};
    t->column[5] = (emp_table_column){"HDP", "hdp", "paper", 400, 3, .has_paper = true};
    emp_table_at(t, 0, 0)->paper_s = 6.25;
    emp_table_at(t, 0, 0)->origin = EMP_ORIGIN_FITTED;
    emp_table_at(t, 0, 1)->origin = EMP_ORIGIN_INFERRED;
    emp_table_at(t, 0, 1)->paper_s = INFINITY;
    emp_table_at(t, 0, 2)->paper_s = 2.5;
    emp_table_at(t, 0, 5)->paper_s = 0.5;
    emp_table_at(t, 1, 1)->paper_s = 17.0;
    emp_table_at(t, 1, 5)->paper_s = 100.0;

    fill(0, 0, (double[]){5.0}, 1);
    fill(0, 1, (double[]){INFINITY}, 1);
    fill(0, 2, (double[]){2.0, 1.0, 3.0}, 3);
    fill(0, 3, (double[]){0.123456}, 1);
    fill(0, 4, (double[]){8.0}, 1);
    fill(0, 5, (double[]){0.4, 0.4, 0.4}, 3);
    fill(1, 0, (double[]){120.0}, 1);
    fill(1, 1, (double[]){INFINITY}, 1);
    fill(1, 2, (double[]){2.0, INFINITY, INFINITY}, 3);
    fill(1, 4, (double[]){INFINITY}, 1);
    fill(1, 5, (double[]){90.0, INFINITY, 110.0}, 3); /* METIS has not been run */
    emp_table_trace_origins(t);
}

/* Prose below the table wraps in any terminal. */
static void expect_short_lines(char *text)
{
    char *notes = strstr(text, "  Ours:");

    cr_assert_not_null(notes);
    *notes = '\0';
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        cr_expect_leq(strlen(line), 120, "%s", line);
}

/* Markdown and JSON are forms of the same sheet, which run/sheet tests. */
Test(table, text_and_csv_are_the_golden_files)
{
    static const char *const names[] = {"table.txt", "table.csv"};

    make_table();
    for (int i = 0; i < 2; i++) {
        char *got = PRINTED(
                 emp_table_print(out, t, i == 0 ? EMP_SHEET_TEXT : EMP_SHEET_CSV, &err)),
             *want = NULL;
        size_t      size;
        const char *path = scratch_print("%s/tests/bench/tables/golden/%s",
                                         getenv("EMP_SOURCE_DIR"), names[i]);
        if (getenv("EMP_RENEW_GOLDEN") != NULL) {
            FILE *renewed = fopen(path, "w");
            cr_assert_not_null(renewed);
            fputs(got, renewed);
            fclose(renewed);
        }
        ASSERT_OK(emp_file_load(path, &want, &size, &err));
        cr_expect_eq(strncmp(got, want, size), 0, "%s differs:\n%s", names[i], got);
        cr_expect_eq(strlen(got), size);
        if (i == 0) expect_short_lines(got);
        emp_free(want);
    }
}

/* 10 < 20, 10 < 15, 10 < 20 and 15 < 20 hold, 20 > 15 does not; 20 = 20 is no order, and a fitted
 * cell counts nowhere. That the best of some runs is faster than their worst says nothing. */
Test(table, order_counts_pairs_of_predictions_that_differ_in_the_paper)
{
    static const struct {
        const char *method;
        double      ours, paper;
        emp_origin  origin;
    } cells[6] = {{"a", 1, 10, EMP_ORIGIN_BARE}, {"b", 2, 20, EMP_ORIGIN_BARE},
                  {"c", 3, 15, EMP_ORIGIN_BARE}, {"d", 9, 5, EMP_ORIGIN_FITTED},
                  {"e", 4, 20, EMP_ORIGIN_BARE}, {"e", 4, 30, EMP_ORIGIN_BARE}};

    ASSERT_OK(emp_table_create(&t, 1, 6, &err));
    for (int32_t c = 0; c < 6; c++) {
        t->column[c].method = cells[c].method;
        fill(0, c, &cells[c].ours, 1);
        emp_table_at(t, 0, c)->paper_s = cells[c].paper;
        emp_table_at(t, 0, c)->origin = cells[c].origin;
    }
    t->column[4].shown = EMP_SHOWN_BEST;
    t->column[5].shown = EMP_SHOWN_WORST;
    emp_table_trace_origins(t);
    emp_table_order order = emp_table_compare_order(t);
    cr_expect_eq(order.pairs, 5 + 3, "%d", order.pairs);
    cr_expect_eq(order.same, 4 + 3, "%d", order.same);
}

/* A method that ends at the placement of a fitted cell predicts nothing. */
Test(table, origins_of_cells)
{
    const double ours[5] = {1, 1, 2, 3, 1}, paper[5] = {4, 5, 6, NAN, NAN};

    ASSERT_OK(emp_table_create(&t, 1, 5, NULL));
    for (int32_t c = 0; c < 5; c++) {
        t->column[c].method = "m";
        fill(0, c, &ours[c], 1);
        emp_table_at(t, 0, c)->paper_s = paper[c];
    }
    emp_table_at(t, 0, 0)->origin = EMP_ORIGIN_FITTED;
    emp_table_trace_origins(t);
    const emp_origin want[5] = {EMP_ORIGIN_FITTED, EMP_ORIGIN_REPEATED,
                                EMP_ORIGIN_PREDICTED, EMP_ORIGIN_BARE, EMP_ORIGIN_BARE};
    for (int32_t c = 0; c < 5; c++)
        cr_expect_eq(emp_table_at(t, 0, c)->origin, want[c], "cell %d", c);
}

Test(table, create_survives_every_allocation_failure)
{

    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_table_create(&t, 3, 4, NULL),
                                      cr_assert_null(t));
}
