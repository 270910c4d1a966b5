// SPDX-License-Identifier: GPL-3.0-or-later
/* Is gnuplot's figure fit for a page, and its failure told in its own words? A script
 * stands in for it where it is to fail. */
#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/plots/figure.h"
#include "bench/plots/gnuplot.h"
#include "tests/support/scratch.h"

static void pretend(const char *script)
{
    char path[2 * SCRATCH_PATH_BYTES];

    scratch_write("gnuplot", script, strlen(script));
    cr_assert_eq(chmod(scratch_path("gnuplot"), 0700), 0);
    snprintf(path, sizeof path, "%s:%s", scratch_path(""), getenv("PATH"));
    setenv("PATH", path, 1);
}

/* Draws two curves; the text of the figure is the caller's to free. */
static emp_status draw(char **text, emp_error *err)
{
    emp_band_point falling[] = {
        {10, INFINITY, 4, INFINITY}, {20, 3, 2, 4}, {40, 1, 1, 2}};
    emp_band_point   level[] = {{1, 2, 2, 2}};
    emp_band         band[] = {{3, falling}, {1, level}};
    emp_figure_curve curve[] = {{&band[0], "#0072b2", false},
                                {&band[1], "#d55e00", true}};
    emp_figure       figure = {.name = "two curves",
                               .x_label = "evaluations",
                               .y_label = "step time, s",
                               .width = 400,
                               .height = 200,
                               .is_log_x = true,
                               .divide_by = 1,
                               .curve = curve,
                               .curve_count = 2};
    size_t           size;
    FILE            *file = open_memstream(text, &size);
    emp_status       st = emp_figure_write(file, &figure, err);

    fclose(file);
    return st;
}

Test(gnuplot, a_figure_is_one_svg_element)
{
    char     *text = NULL;
    emp_error err = {0};

    if (!emp_gnuplot_exists()) cr_skip_test("gnuplot is not installed");
    cr_assert_eq(draw(&text, &err), EMP_OK, "%s", err.msg);
    cr_expect_eq(strncmp(text, "<svg ", 5), 0, "%.40s", text);
    cr_expect_not_null(strstr(text, "viewBox=\"0 0 400 200\""));
    cr_expect_not_null(strstr(text, "</svg>"));
    cr_expect_null(strstr(text, " id="), "ids would repeat in a page");
    cr_expect_null(strstr(text, "<?xml"));
    cr_expect_null(strstr(text, "http"));
    free(text);
}

Test(gnuplot, its_failure_is_told, .init = scratch_create, .fini = scratch_remove)
{
    char     *text = NULL;
    emp_error err = {0};

    pretend("#!/bin/sh\ncat >/dev/null\necho 'line 3: no such thing' >&2\nexit 1\n");
    cr_expect_eq(draw(&text, &err), EMP_EEXTERNAL);
    cr_expect_str_eq(err.msg, "gnuplot failed: line 3: no such thing ");
    cr_expect_str_eq(text, "", "nothing of a figure is written");
    free(text);
}

Test(gnuplot, a_figure_that_breaks_off_is_a_failure, .init = scratch_create,
     .fini = scratch_remove)
{
    char     *text = NULL;
    emp_error err = {0};

    pretend("#!/bin/sh\ncat >/dev/null\necho '<svg viewBox=\"0 0 1 1\">'\n");
    cr_expect_eq(draw(&text, &err), EMP_EEXTERNAL);
    free(text);
}

Test(gnuplot, an_interrupt_is_one, .init = scratch_create, .fini = scratch_remove)
{
    char     *text = NULL;
    emp_error err = {0};

    pretend("#!/bin/sh\nkill -INT $$\n");
    cr_expect_eq(draw(&text, &err), EMP_EINTERRUPTED);
    free(text);
}

Test(gnuplot, its_absence_is_seen, .init = scratch_create, .fini = scratch_remove)
{
    setenv("PATH", scratch_path(""), 1);
    cr_expect_not(emp_gnuplot_exists());
    pretend("#!/bin/sh\n");
    cr_expect(emp_gnuplot_exists());
}

Test(figure, without_a_finite_value_there_is_none)
{
    emp_band_point   point = {10, INFINITY, INFINITY, INFINITY};
    emp_band         band = {1, &point};
    emp_figure_curve curve = {&band, "#000000", false};
    emp_figure       figure = {.curve = &curve, .curve_count = 1, .divide_by = 1};

    cr_expect(emp_figure_is_empty(&figure));
    point.median = 1;
    cr_expect_not(emp_figure_is_empty(&figure));
}
