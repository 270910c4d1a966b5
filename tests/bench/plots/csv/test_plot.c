// SPDX-License-Identifier: GPL-3.0-or-later
/* Is a table drawn as it is, and what cannot be drawn refused by name? */
#include "bench/plots/csv/plot.h"
#include "tests/test.h"

static const char            runs[] = "task,method,preset,ours_s,low_s,high_s,paper_s\n"
                                      "RNNLM,gpu,,2,1,3,4\n"
                                      "RNNLM,hdp,paper,1,,,0.5\n"
                                      "NMT,gpu,,OOM,,,\n"
                                      "NMT,hdp,literal,8,,,1\n"
                                      "NMT,hdp,paper,4,3,OOM,\n";
static const emp_plot_choice dots = {.path = "runs.csv",
                                     .rows = "task",
                                     .values = "ours_s=ours,paper_s=reported",
                                     .series = "method,preset",
                                     .low = "low_s,",
                                     .high = "high_s,",
                                     .where = {"preset=|paper"},
                                     .where_count = 1};

static const char            points[] = "n,a,b\n1,3,4\n100,2,OOM\n10,2.5,\n";
static const emp_plot_choice lines = {
    .path = "points.csv", .rows = "n", .values = "a,b=B"};

static emp_csv parse(const char *text)
{
    emp_csv csv = {0};

    ASSERT_OK(emp_csv_parse(&csv, text, strlen(text), "table.csv", NULL));
    return csv;
}

static void expect_cell(const emp_plot_grid *g, int32_t row, int32_t series, int32_t part,
                        double value, double low, double high)
{
    const emp_plot_cell *c = emp_plot_at(g, row, series, part);
    const double found[] = {c->value, c->low, c->high}, expected[] = {value, low, high};

    for (int i = 0; i < 3; i++)
        cr_expect(found[i] == expected[i] || (isnan(found[i]) && isnan(expected[i])),
                  "row %d, series %d, part %d: %g and not %g", row, series, part,
                  found[i], expected[i]);
}

Test(plot, records_are_sorted_into_rows_and_series)
{
    SCOPED(emp_csv, emp_csv_clear) csv = parse(runs);
    SCOPED(emp_plot_grid, emp_plot_grid_clear) g = {0};

    ASSERT_OK(emp_plot_grid_create(&g, &csv, &dots, NULL));
    cr_assert_eq(g.row_count * 100 + g.series_count * 10 + g.part_count, 222);
    cr_expect_str_eq(g.row[0], "RNNLM");
    cr_expect_str_eq(g.row[1], "NMT");
    cr_expect_str_eq(g.series[0], "gpu");
    cr_expect_str_eq(g.series[1], "hdp paper");
    cr_expect_str_eq(g.part[0], "ours");
    cr_expect_str_eq(g.part[1], "reported");
    expect_cell(&g, 0, 0, 0, 2, 1, 3);
    expect_cell(&g, 0, 0, 1, 4, NAN, NAN);
    expect_cell(&g, 0, 1, 0, 1, NAN, NAN);
    expect_cell(&g, 1, 0, 0, INFINITY, NAN, NAN);
    expect_cell(&g, 1, 0, 1, NAN, NAN, NAN);
    expect_cell(&g, 1, 1, 0, 4, 3, INFINITY);
}

Test(plot, without_series_each_column_is_one)
{
    SCOPED(emp_csv, emp_csv_clear) csv = parse(points);
    SCOPED(emp_plot_grid, emp_plot_grid_clear) g = {0};

    ASSERT_OK(emp_plot_grid_create(&g, &csv, &lines, NULL));
    cr_assert_eq(g.row_count * 100 + g.series_count * 10 + g.part_count, 321);
    cr_expect_str_eq(g.series[1], "B");
    expect_cell(&g, 1, 0, 0, 2, NAN, NAN);
    expect_cell(&g, 1, 1, 0, INFINITY, NAN, NAN);
    expect_cell(&g, 2, 1, 0, NAN, NAN, NAN);
}

static void expect_refusal(const char *table, emp_plot_form form,
                           const emp_plot_choice *choice, emp_status status,
                           const char *word)
{
    SCOPED(emp_csv, emp_csv_clear) csv = parse(table);
    SCOPED(emp_drawing, emp_drawing_clear) drawing = {0};

    EXPECT_REFUSED(emp_plot_draw(&drawing, &csv, form, choice, NULL, &err), status, word);
}

Test(plot, dots_that_cannot_be_drawn_are_told)
{
    static const struct {
        const char *values, *condition, *series, *word;
        emp_status  status;
    } cases[] = {
        {"ours_s=ours,paper_s=reported", NULL, "method", "row 5: there is a value",
         EMP_EFORMAT},
        {"ours_s=ours,paper_s=reported", "task=VGG", NULL,
         "no row whose task is \"VGG\"; there are RNNLM, NMT", EMP_EINVAL},
        {"ours_s=ours,paper_s=reported", "preset=|paper|Mine", NULL,
         "no row whose preset is \"Mine\"; there are \"\", paper", EMP_EINVAL},
        {"ours_s=ours,paper_s=reported", "task", NULL, "\"task\"", EMP_EINVAL},
        {"ours_s=ours,paper_s=reported", "zebra=1", NULL, "zebra", EMP_EFORMAT},
        {"ours_s", "preset=|paper", NULL, "1 columns of values have 2", EMP_EINVAL},
        {"ours_s,", "preset=|paper", NULL, "no column ", EMP_EFORMAT},
        {"method", "preset=|paper", NULL, "\"gpu\"", EMP_EFORMAT}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        emp_plot_choice choice = dots;
        choice.values = cases[i].values;
        choice.where[0] = cases[i].condition;
        choice.where_count = cases[i].condition != NULL;
        if (cases[i].series != NULL) choice.series = cases[i].series;
        if (i >= 6) choice.low = choice.high = NULL;
        expect_refusal(runs, EMP_PLOT_DOTS, &choice, cases[i].status, cases[i].word);
    }
    emp_plot_choice many = dots;
    many.low = many.high = NULL;
    many.values = "ours_s,low_s,high_s";
    expect_refusal(runs, EMP_PLOT_DOTS, &many, EMP_EINVAL, "2 columns of values at most");
}

Test(plot, lines_need_numbers_and_one_value_each)
{
    static const struct {
        const char   *table, *word;
        emp_plot_form form;
        emp_status    status;
    } cases[] = {{"n,a,b\nx,1,2\n", "n is \"x\"", EMP_PLOT_LINES, EMP_EFORMAT},
                 {"n,a,b\n1,OOM,\n", "no finite value", EMP_PLOT_LINES, EMP_EINVAL},
                 {"n,a,b\n1,OOM,\n", "no finite value", EMP_PLOT_DOTS, EMP_EINVAL},
                 {"n,a,b\n1,1e307,2\n", "1e307", EMP_PLOT_LINES, EMP_EFORMAT}};
    emp_plot_choice named = lines;
    char            text[16 * EMP_PLOT_ROWS_MAX] = "n,a,b\n";

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_refusal(cases[i].table, cases[i].form, &lines, cases[i].status,
                       cases[i].word);
    named.series = "n";
    expect_refusal(points, EMP_PLOT_LINES, &named, EMP_EINVAL, "one column of values");
    for (int i = 0; i <= EMP_PLOT_ROWS_MAX; i++)
        sprintf(text + strlen(text), "%d,1,2\n", i);
    expect_refusal(text, EMP_PLOT_LINES, &lines, EMP_EINVAL, "more than 400 rows");
}

static char *print_styled(const char *table, emp_plot_form form,
                          const emp_plot_choice *choice, const emp_plot_style *style)
{
    SCOPED(emp_csv, emp_csv_clear) csv = parse(table);
    SCOPED(emp_drawing, emp_drawing_clear) d = {0};

    ASSERT_OK(emp_plot_draw(&d, &csv, form, choice, style, NULL));
    for (int32_t i = 0; i < d.point_count; i++)
        cr_expect(d.point[i].x >= -0.1 && d.point[i].x <= d.width + 0.1 &&
                      d.point[i].y >= -0.1 && d.point[i].y <= d.height + 0.1,
                  "%g, %g", d.point[i].x, d.point[i].y);
    return PRINTED(emp_drawing_print_file(out, &d, &err));
}

static char *print(const char *table, emp_plot_form form, const emp_plot_choice *choice)
{
    return print_styled(table, form, choice, &(emp_plot_style){.label = "seconds"});
}

static int count(const char *text, const char *word)
{
    int found = 0;

    for (const char *at = text; (at = strstr(at, word)) != NULL; at++) found++;
    return found;
}

Test(plot, dots_have_a_mark_for_each_value)
{
    char *text = print(runs, EMP_PLOT_DOTS, &dots);

    /* 4 values of ours and the legend's 3; 2 reported ones and the legend's, each filled white. */
    cr_expect_eq(count(text, "<polygon"), 4 + 3 + 2 + 1);
    cr_expect_eq(count(text, "fill=\"#ffffff\"/>\n<polyline"), 3);
    cr_expect_eq(count(text, ">OOM<"), 1);
    cr_expect_eq(count(text, ">seconds<"), 1);
    cr_expect_eq(count(text, "opacity=\"0.5\""), 2, "ranges");
}

Test(plot, lines_go_by_rising_numbers)
{
    char *text = print(points, EMP_PLOT_LINES, &lines), *line, *end;

    cr_assert_not_null(line = strstr(text, "<g><title>a</title>\n<polyline points=\""));
    line += strlen("<g><title>a</title>\n<polyline points=\"");
    double before = strtod(line, &end);
    for (int i = 1; i < 3; i++) {
        double x = strtod(strchr(end, ' '), &end);
        cr_expect_gt(x, before);
        before = x;
    }
}

Test(plot, series_have_the_names_of_the_figure)
{
    const emp_plot_style named = {.name = {"hdp paper=Planner", "b=x"}, .name_count = 1};
    const emp_plot_style wrong = {.name = {"zebra=Horse"}, .name_count = 1};
    SCOPED(emp_csv, emp_csv_clear) csv = parse(runs);
    SCOPED(emp_drawing, emp_drawing_clear) d = {0};
    char *text = print_styled(runs, EMP_PLOT_DOTS, &dots, &named);

    cr_expect_eq(count(text, ">Planner<"), 1);
    cr_expect_eq(count(text, ">hdp paper<"), 0);
    EXPECT_REFUSED(emp_plot_draw(&d, &csv, EMP_PLOT_DOTS, &dots, &wrong, &err),
                   EMP_EINVAL, "no series \"zebra\"");
}

Test(plot, a_figure_has_the_size_and_the_font_that_are_asked_for)
{
    const emp_plot_style style = {
        .width = 400, .height = 300, .font_size = 26, .font = "Times"};
    char *text = print_styled(points, EMP_PLOT_LINES, &lines, &style);

    cr_expect_eq(count(text, "width=\"400\" height=\"300\""), 1, "%.300s", text);
    cr_expect_eq(count(text, "font-family=\"Times, Helvetica"), 1);
    cr_expect_geq(count(text, "font-size=\"26\""), 4);
    cr_expect_eq(count(text, "font-size=\"13\""), 0);
    text = print_styled(runs, EMP_PLOT_DOTS, &dots,
                        &(emp_plot_style){.width = 500, .height = 320});
    cr_expect_eq(count(text, "width=\"500\" height=\"320\""), 1, "%.300s", text);
}

/* There is no room for a mark; the logarithmic axis from 1 to 8 has 1 all the same. */
Test(plot, a_figure_with_no_room_for_marks_has_some)
{
    char *text =
        print_styled("task,s\na,0.5\nb,4\n", EMP_PLOT_DOTS,
                     &(emp_plot_choice){.path = "t.csv", .rows = "task", .values = "s"},
                     &(emp_plot_style){.width = 100, .height = 200});

    cr_expect_eq(count(text, ">1<"), 1, "%s", text);
}

/* Points 1, 10, 100 of a: 3, 2.5, 2. The mean of three keeps the middle, and has two points at an end. */
Test(plot, smoothed_lines_are_means_of_neighbours)
{
    static const char    means[] = "n,a,b\n1,2.75,4\n10,2.5,\n100,2.25,OOM\n";
    const emp_plot_style style = {.smooth = 3};
    emp_plot_choice      one = lines;

    one.values = "a";
    char *smooth = print_styled(points, EMP_PLOT_LINES, &one, &style);
    char *plain = print_styled(means, EMP_PLOT_LINES, &one, NULL);
    cr_expect_str_eq(smooth, plain);
}

/* Two lines of corners more between three points; the areas of bands have none here. */
Test(plot, steps_keep_a_value_until_the_next_point)
{
    static const char corners[] = "n,a\n1,3\n9.99999,3\n10,2.5\n99.9999,2.5\n100,2\n";
    emp_plot_choice   one = lines;

    one.values = "a";
    char *steps = print_styled("n,a\n1,3\n10,2.5\n100,2\n", EMP_PLOT_LINES, &one,
                               &(emp_plot_style){.has_steps = true});
    char *plain = print_styled(corners, EMP_PLOT_LINES, &one, NULL);
    cr_expect_str_eq(steps, plain);
}

static emp_status draw(emp_drawing *d, const emp_csv *csv, emp_plot_form form,
                       const emp_plot_choice *choice)
{
    return emp_plot_draw(d, csv, form, choice, &(emp_plot_style){.smooth = 3}, NULL);
}

Test(plot, every_allocation_may_fail)
{
    emp_csv     csv = parse(runs), numbers = parse(points);
    emp_drawing d = {0};

    SURVIVES_EVERY_ALLOCATION_FAILURE(draw(&d, &csv, EMP_PLOT_DOTS, &dots),
                                      emp_drawing_clear(&d));
    emp_drawing_clear(&d);
    SURVIVES_EVERY_ALLOCATION_FAILURE(draw(&d, &numbers, EMP_PLOT_LINES, &lines),
                                      emp_drawing_clear(&d));
    emp_drawing_clear(&d);
    emp_csv_clear(&csv);
    emp_csv_clear(&numbers);
}
