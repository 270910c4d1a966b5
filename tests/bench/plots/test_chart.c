// SPDX-License-Identifier: GPL-3.0-or-later
/* Can a chart be read: do names not overlap and stay inside, are curves distinguished? */
#include "bench/plots/axis.h"
#include "bench/plots/chart.h"
#include "run/methods.h"
#include "tests/test.h"

enum { CURVES = 20 };

static emp_band_point  point[CURVES][3];
static emp_band        band[CURVES];
static char            label[CURVES][64];
static emp_chart_curve curve[CURVES];

/* Curves that end close together, some of them levels, some early. */
static emp_chart crowd(int32_t count)
{
    emp_chart chart = {.box = {5, 7, 640, 400},
                       .x_label = "evaluations",
                       .y_label = "step time, s",
                       .is_log_x = true,
                       .is_step = true,
                       .has_names = true,
                       .bound = 0.99,
                       .curve = curve,
                       .curve_count = count};

    for (int32_t i = 0; i < count; i++) {
        double end = 1 + 0.001 * (i * 7 % 5);
        point[i][0] = (emp_band_point){10, INFINITY, 4, INFINITY};
        point[i][1] = (emp_band_point){20, 3 + 0.1 * i, 2, 4};
        point[i][2] = (emp_band_point){i % 3 == 0 ? 40 : 8000, end, end, end};
        band[i] = (emp_band){3, point[i]};
        snprintf(label[i], sizeof label[i], "method %d with a preset and options", i);
        curve[i] = (emp_chart_curve){&band[i], label[i], i, i % 4 == 3};
    }
    chart.box.height = emp_chart_height(&chart, chart.box.height);
    return chart;
}

static bool overlap(const emp_box *a, const emp_box *b)
{
    double slack = 1e-6;

    return a->x + a->width > b->x + slack && b->x + b->width > a->x + slack &&
           a->y + a->height > b->y + slack && b->y + b->height > a->y + slack;
}

Test(chart, names_do_not_overlap_and_stay_inside)
{
    emp_chart_name name[EMP_CHART_NAMES];

    for (int32_t count = 1; count <= CURVES; count++) {
        emp_chart      chart = crowd(count);
        const emp_box *box = &chart.box;
        int32_t        names = emp_chart_place_names(&chart, name);
        cr_assert_eq(names, count + 1, "every curve, and the bound");
        for (int32_t i = 0; i < names; i++) {
            const emp_box *b = &name[i].box;
            cr_assert_geq(b->x, box->x + box->width / 2, "beside the curves");
            cr_assert_leq(b->x + b->width, box->x + box->width + 0.1, "%s", name[i].text);
            cr_assert_geq(b->y, box->y - 1e-6);
            cr_assert_leq(b->y + b->height, box->y + box->height + 1e-6);
            for (int32_t k = 0; k < i; k++)
                cr_assert_not(overlap(b, &name[k].box), "%s and %s", name[i].text,
                              name[k].text);
            if (i > 0)
                cr_expect_leq(name[i - 1].end_y, name[i].end_y, "leaders do not cross");
        }
        cr_expect_eq(name[names - 1].curve, -1, "the bound is the lowest");
    }
}

/* Every shape is inside the box, whatever the values are. */
Test(chart, nothing_is_drawn_outside)
{
    static const double factor[] = {1, 1e-9, 1e9};

    for (size_t f = 0; f < sizeof factor / sizeof *factor; f++) {
        emp_chart chart = crowd(7);
        emp_box   box = chart.box;
        SCOPED(emp_drawing, emp_drawing_clear) d;
        for (int32_t i = 0; i < 7; i++) {
            for (int32_t p = 0; p < 3; p++) {
                point[i][p].median *= factor[f];
                point[i][p].low *= factor[f];
                point[i][p].high *= factor[f];
            }
        }
        chart.bound *= factor[f];
        emp_drawing_init(&d, "c", "", 700, 500);
        emp_chart_draw(&d, &chart);
        ASSERT_OK(emp_drawing_check(&d, NULL));
        for (int32_t i = 0; i < d.point_count; i++) {
            cr_assert(d.point[i].x >= box.x - 0.1 &&
                          d.point[i].x <= box.x + box.width + 0.1,
                      "x %g", d.point[i].x);
            cr_assert(d.point[i].y >= box.y - 0.1 &&
                          d.point[i].y <= box.y + box.height + 0.1,
                      "y %g", d.point[i].y);
        }
    }
}

static int32_t count_lines(const emp_chart *chart)
{
    SCOPED(emp_drawing, emp_drawing_clear) d;
    int32_t count = 0;

    emp_drawing_init(&d, "c", "", 700, 500);
    emp_chart_draw(&d, chart);
    ASSERT_OK(emp_drawing_check(&d, NULL));
    for (int32_t i = 0; i < d.shape_count; i++)
        count += d.shape[i].kind == EMP_DRAWING_LINE;
    return count;
}

/* A value that is out of memory is no point between its neighbours. */
Test(chart, no_line_goes_past_a_value_that_is_infinite)
{
    emp_chart chart = crowd(1);

    point[0][0] = (emp_band_point){10, 5, 5, 5};
    const int32_t whole = count_lines(&chart);
    point[0][1] = (emp_band_point){20, INFINITY, INFINITY, INFINITY};
    cr_expect_eq(count_lines(&chart), whole - 1);
}

static emp_status draw_crowd(emp_drawing *d)
{
    emp_chart chart = crowd(12);

    emp_drawing_init(d, "c", "", 700, 500);
    emp_chart_draw(d, &chart);
    return emp_drawing_check(d, NULL);
}

Test(chart, every_allocation_may_fail)
{
    emp_drawing d;

    SURVIVES_EVERY_ALLOCATION_FAILURE(draw_crowd(&d), emp_drawing_clear(&d));
    emp_drawing_clear(&d);
    emp_chart chart = crowd(1);
    cr_expect_not(emp_chart_is_empty(&chart));
    for (int p = 0; p < 3; p++) point[0][p].median = INFINITY;
    cr_expect(emp_chart_is_empty(&chart), "there is no finite value");
}

static double linear(long byte)
{
    double c = (double)byte / 255;

    return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

static double cube_root(double t)
{
    return t > 0.008856 ? cbrt(t) : 7.787 * t + 16.0 / 116;
}

/* CIELAB of a colour as people without red (1) or green (2) receptors see it, or all (0): Vienot,
 * Brettel and Mollon, "Digital video colourmaps for checking the legibility of displays by
 * dichromats", 1999. */
static void see(double lab[3], const char *colour, int vision)
{
    static const double as[3][3][3] = {
        {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
        {{0.11238, 0.88762, 0}, {0.11238, 0.88762, 0}, {0.00401, -0.00401, 1}},
        {{0.29275, 0.70725, 0}, {0.29275, 0.70725, 0}, {-0.02234, 0.02234, 1}}};
    long   rgb = strtol(colour + 1, NULL, 16);
    double in[3] = {linear(rgb >> 16 & 255), linear(rgb >> 8 & 255), linear(rgb & 255)};
    double out[3];

    for (int i = 0; i < 3; i++) {
        const double *row = as[vision][i];
        out[i] = fmin(fmax(row[0] * in[0] + row[1] * in[1] + row[2] * in[2], 0), 1);
    }
    double x = (0.4124 * out[0] + 0.3576 * out[1] + 0.1805 * out[2]) / 0.95047;
    double y = 0.2126 * out[0] + 0.7152 * out[1] + 0.0722 * out[2];
    double z = (0.0193 * out[0] + 0.1192 * out[1] + 0.9505 * out[2]) / 1.08883;
    lab[0] = 116 * cube_root(y) - 16;
    lab[1] = 500 * (cube_root(x) - cube_root(y));
    lab[2] = 200 * (cube_root(y) - cube_root(z));
}

Test(colours, each_method_has_a_style_of_its_own)
{
    bool is_used[64] = {false};

    for (int32_t i = 0; emp_method_at(i) != NULL; i++) {
        const int32_t style = emp_report_method_style(emp_method_at(i)->name);
        cr_assert_geq(style, 0, "%s has no style", emp_method_at(i)->name);
        cr_assert_lt(style, 64);
        cr_expect_not(is_used[style], "%s has that of another", emp_method_at(i)->name);
        is_used[style] = true;
    }
    cr_expect_eq(emp_report_method_style("a"), -1);
    cr_expect_eq(emp_report_method_style("goat"), -1);
    cr_expect_eq(emp_report_method_style("go-emplace"), emp_report_method_style("go"));
    cr_expect_eq(emp_report_method_style("hdp, paper"), emp_report_method_style("hdp"));
}

/* Whatever else the figure has, a method keeps its colour, unless another with the same one came before. */
Test(colours, of_methods_are_the_same_in_every_figure)
{
    const char *const few[] = {"ours", "hdp"};
    const char *const many[] = {"refine", "hdp",       "hdp, tuned",
                                "go",     "the paper", "anneal"};
    int32_t           style[6], all[20];
    const char       *names[20];

    emp_report_series_styles(style, few, 2);
    cr_expect_eq(style[1], emp_report_method_style("hdp"));
    cr_expect_neq(style[0], style[1]);
    emp_report_series_styles(style, many, 6);
    cr_expect_eq(style[0], emp_report_method_style("refine"));
    cr_expect_eq(style[1], emp_report_method_style("hdp"));
    cr_expect_eq(style[5], emp_report_method_style("anneal"));
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < i; k++)
            cr_expect_neq(style[i] % EMP_LINE_STYLES, style[k] % EMP_LINE_STYLES,
                          "%s and %s", many[i], many[k]);
    for (int i = 0; i < 20; i++) names[i] = i % 2 == 0 ? "hdp" : "x";
    emp_report_series_styles(all, names, 20);
    for (int i = 0; i < 20; i++)
        for (int k = 0; k < i; k++) cr_expect_neq(all[i], all[k]);
}

Test(colours, of_curves_are_far_apart_for_everybody)
{
    for (int vision = 0; vision < 3; vision++) {
        for (int32_t i = 0; i < EMP_LINE_STYLES; i++) {
            for (int32_t k = 0; k < i; k++) {
                double a[3], b[3];
                see(a, emp_report_line_style(i).colour, vision);
                see(b, emp_report_line_style(k).colour, vision);
                double far =
                    sqrt(pow(a[0] - b[0], 2) + pow(a[1] - b[1], 2) + pow(a[2] - b[2], 2));
                cr_expect_geq(far, 16, "%d and %d are %g apart, vision %d", k, i, far,
                              vision);
            }
        }
    }
}
