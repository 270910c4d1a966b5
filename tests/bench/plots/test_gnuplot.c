// SPDX-License-Identifier: GPL-3.0-or-later
/* Is gnuplot's figure fit for a page, and its failure told in its own words? A script
 * stands in for it where it is to fail. */
#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/plots/gnuplot.h"
#include "tests/support/expect.h"
#include "tests/support/scratch.h"

static void pretend(const char *script)
{
    char path[2 * SCRATCH_PATH_BYTES];

    scratch_write("gnuplot", script, strlen(script));
    cr_assert_eq(chmod(scratch_path("gnuplot"), 0700), 0);
    snprintf(path, sizeof path, "%s:%s", scratch_path(""), getenv("PATH"));
    setenv("PATH", path, 1);
}

static void write_two_lines(FILE *script, const void *what)
{
    (void)what;
    fprintf(script, "set xrange [0:1]\nplot x lw 2 title 'a', 1 - x title 'b'\n");
}

/* The text of the figure is the caller's to free. */
static emp_status draw(char **text, emp_error *err)
{
    size_t     size;
    FILE      *file = open_memstream(text, &size);
    emp_status st =
        emp_gnuplot_draw(file, 400, 200, write_two_lines, NULL, "two lines", err);

    fclose(file);
    return st;
}

static emp_status draw_pdf(char **bytes, size_t *size, emp_error *err)
{
    FILE      *file = open_memstream(bytes, size);
    emp_status st = emp_gnuplot_draw_pdf(file, 300, 150, write_two_lines, NULL, err);

    fclose(file);
    return st;
}

Test(gnuplot, a_figure_is_one_svg_element)
{
    char *text = NULL;

    if (!emp_gnuplot_exists()) cr_skip_test("gnuplot is not installed");
    MUST(draw(&text, &why));
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
    char *text = NULL;

    pretend("#!/bin/sh\ncat >/dev/null\necho 'line 3: no such thing' >&2\nexit 1\n");
    MUST_FAIL(EMP_EEXTERNAL, "gnuplot failed: line 3: no such thing ", draw(&text, &why));
    cr_expect_str_eq(text, "", "nothing of a figure is written");
    free(text);
}

Test(gnuplot, a_figure_that_breaks_off_is_a_failure, .init = scratch_create,
     .fini = scratch_remove)
{
    char *text = NULL;

    pretend("#!/bin/sh\ncat >/dev/null\necho '<svg viewBox=\"0 0 1 1\">'\n");
    cr_expect_eq(draw(&text, NULL), EMP_EEXTERNAL);
    free(text);
}

Test(gnuplot, an_interrupt_is_one, .init = scratch_create, .fini = scratch_remove)
{
    char *text = NULL;

    pretend("#!/bin/sh\nkill -INT $$\n");
    cr_expect_eq(draw(&text, NULL), EMP_EINTERRUPTED);
    free(text);
}

Test(gnuplot, its_absence_is_seen, .init = scratch_create, .fini = scratch_remove)
{
    setenv("PATH", scratch_path(""), 1);
    cr_expect_not(emp_gnuplot_exists());
    pretend("#!/bin/sh\n");
    cr_expect(emp_gnuplot_exists());
}

Test(gnuplot, a_figure_is_one_page_of_pdf)
{
    char     *bytes = NULL;
    size_t    size;
    emp_error err = {0};

    if (!emp_gnuplot_exists()) cr_skip_test("gnuplot is not installed");
    emp_status st = draw_pdf(&bytes, &size, &err);
    if (st == EMP_EUNSUPPORTED) cr_skip_test("%s", err.msg);
    cr_assert_eq(st, EMP_OK, "%s", err.msg);
    cr_assert_gt(size, 500);
    cr_expect_eq(strncmp(bytes, "%PDF-", 5), 0);
    cr_expect_eq(strncmp(bytes + size - 6, "%%EOF", 5), 0);
    free(bytes);
}

Test(gnuplot, without_pdf_it_says_what_to_install, .init = scratch_create,
     .fini = scratch_remove)
{
    char     *bytes = NULL;
    size_t    size;
    emp_error err = {0};

    pretend("#!/bin/sh\ncat >/dev/null\n"
            "echo 'line 1: unknown or ambiguous terminal type; type just' >&2\nexit 1\n");
    cr_expect_eq(draw_pdf(&bytes, &size, &err), EMP_EUNSUPPORTED);
    cr_expect_not_null(strstr(err.msg, "has no terminal pdfcairo"), "%s", err.msg);
    cr_expect_not_null(strstr(err.msg, "gnuplot-nox"), "%s", err.msg);
    free(bytes);
    err = (emp_error){0};
    cr_assert_eq(remove(scratch_path("gnuplot")), 0);
    setenv("PATH", scratch_path(""), 1);
    MUST_FAIL(EMP_EUNSUPPORTED, "gnuplot is not installed",
              draw_pdf(&bytes, &size, &why));
    free(bytes);
}
