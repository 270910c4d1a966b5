// SPDX-License-Identifier: GPL-3.0-or-later
/* Is a drawing well-formed, the same each time, and whole in both formats? */
#define _POSIX_C_SOURCE 200809L
#include <sys/stat.h>

#include "bench/plots/drawing.h"
#include "bench/plots/gnuplot.h"
#include "tests/test.h"

static const double dash[] = {4, 2, 0};
static const char   hostile[] = "<b>&'\"'; system('rm x')\n\\`id` \xff $x @y\x01";

static emp_status build(emp_drawing *d)
{
    const emp_point triangle[] = {{10, 10}, {20, 30.125}, {-0.001, 30}};

    emp_drawing_init(d, "sample", "all there is", 200, 100);
    emp_drawing_begin(d, hostile);
    emp_drawing_area(d, triangle, 3, &(emp_paint){.colour = "#0072b2", .opacity = 0.5});
    emp_drawing_rectangle(d, (emp_box){40, 10, 30, 20}, &(emp_paint){0});
    emp_drawing_end(d);
    emp_drawing_line(d, triangle, 3, &(emp_paint){.dash = dash, .width = 2});
    emp_drawing_line(d, triangle, 1, &(emp_paint){0});
    emp_drawing_text(d, 100, 50, hostile, &(emp_lettering){.size = 12});
    emp_drawing_text(d, 12, 50, "upright",
                     &(emp_lettering){EMP_SOFT, 12, EMP_ANCHOR_MIDDLE, true});
    return emp_drawing_check(d, NULL);
}

Test(drawing, both_forms_of_svg_are_well_formed, .init = scratch_create,
     .fini = scratch_remove)
{
    emp_drawing d;

    ASSERT_OK(build(&d));
    for (int i = 0; i < 2; i++) {
        char command[2 * SCRATCH_PATH_BYTES], *text = NULL;
        if (i == 0)
            ASSERT_PRINTED(text, emp_drawing_print_element(out, &d, &err));
        else
            ASSERT_PRINTED(text, emp_drawing_print_file(out, &d, &err));
        cr_expect_not_null(
            strstr(text, "<rect x=\"40\" y=\"10\" width=\"30\" height=\"20\""));
        cr_expect_not_null(strstr(text, "points=\"10,10 20,30.13 0,30\""), "%s", text);
        cr_expect_not_null(strstr(text, "stroke-dasharray=\"4 2\""));
        cr_expect_null(strstr(text, "<b>"));
        scratch_write("drawing.svg", text, strlen(text));
        free(text);
        if (system("command -v python3 >/dev/null") != 0) continue;
        snprintf(
            command, sizeof command,
            "python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' '%s'",
            scratch_path("drawing.svg"));
        cr_expect_eq(system(command), 0, "form %d", i);
    }
    emp_drawing_clear(&d);
}

Test(drawing, equal_drawings_give_equal_bytes)
{
    char *text[2] = {NULL};

    for (int i = 0; i < 2; i++) {
        emp_drawing d;
        cr_expect_eq(build(&d), EMP_OK);
        ASSERT_PRINTED(text[i], emp_drawing_print_file(out, &d, &err));
        cr_expect_not(emp_drawing_is_empty(&d));
        emp_drawing_clear(&d);
        cr_expect(emp_drawing_is_empty(&d));
    }
    cr_expect_str_eq(text[0], text[1]);
    free(text[0]);
    free(text[1]);
}

Test(drawing, memory_that_was_out_is_told_when_it_is_printed)
{
    emp_drawing d;

    SURVIVES_EVERY_ALLOCATION_FAILURE(build(&d), emp_drawing_clear(&d));
    emp_drawing_clear(&d);
    emp_mem_fail_after(1);
    build(&d);
    emp_mem_fail_after(-1);
    EXPECT_REFUSED(emp_drawing_print_file(stdout, &d, &err), EMP_ENOMEM, "sample");
    emp_drawing_clear(&d);
}

/* A script stands in for gnuplot where it is to fail. */
static void pretend(const char *script)
{
    scratch_write("gnuplot", script, strlen(script));
    cr_assert_eq(chmod(scratch_path("gnuplot"), 0700), 0);
    setenv("PATH", scratch_print("%s:%s", scratch_path(""), getenv("PATH")), 1);
}

static void write_two_lines(FILE *script, const void *what)
{
    (void)what;
    fprintf(script, "set xrange [0:1]\nplot x lw 2 title 'a', 1 - x title 'b'\n");
}

static emp_status draw_svg(FILE *out, emp_error *err)
{
    return emp_gnuplot_draw(out, 400, 200, write_two_lines, NULL, "two lines", err);
}

static emp_status draw_pdf(FILE *out, emp_error *err)
{
    return emp_gnuplot_draw_pdf(out, 300, 150, write_two_lines, NULL, err);
}

Test(gnuplot, a_figure_is_one_svg_element)
{
    if (!emp_gnuplot_exists()) cr_skip_test("gnuplot is not installed");
    char *text = PRINTED(draw_svg(out, &err));
    cr_expect_eq(strncmp(text, "<svg ", 5), 0, "%.40s", text);
    cr_expect_not_null(strstr(text, "viewBox=\"0 0 400 200\""));
    cr_expect_not_null(strstr(text, "</svg>"));
    cr_expect_null(strstr(text, " id="), "ids would repeat in a page");
    cr_expect_null(strstr(text, "<?xml"));
    cr_expect_null(strstr(text, "http"));
}

/* Texts of records go to gnuplot in quotes: none of them is run. */
Test(gnuplot, a_figure_or_a_drawing_is_one_page_of_pdf)
{
    for (int is_drawing = 0; is_drawing < 2; is_drawing++) {
        char  *bytes = NULL;
        size_t size;
        SCOPED(emp_drawing, emp_drawing_clear) d;
        FILE *file = open_memstream(&bytes, &size);
        if (!emp_gnuplot_exists()) cr_skip_test("gnuplot is not installed");
        cr_expect_eq(build(&d), EMP_OK);
        const emp_status st =
            is_drawing ? emp_drawing_print_pdf(file, &d, NULL) : draw_pdf(file, NULL);
        fclose(file);
        if (st == EMP_EUNSUPPORTED) cr_skip_test("this gnuplot has no pdfcairo");
        cr_assert(st == EMP_OK && size > 500);
        cr_expect_eq(strncmp(bytes, "%PDF-", 5), 0);
        cr_expect_eq(strncmp(bytes + size - 6, "%%EOF", 5), 0);
        free(bytes);
    }
}

Test(gnuplot, its_failures_are_told, .init = scratch_create, .fini = scratch_remove)
{
    static const struct {
        const char *script, *part;
        emp_status  status;
        bool        is_pdf;
    } cases[] = {
        {"cat >/dev/null\necho 'line 3: no such thing' >&2\nexit 1\n",
         "line 3: no such thing", EMP_EEXTERNAL, false},
        {"cat >/dev/null\necho '<svg viewBox=\"0 0 1 1\">'\n", "", EMP_EEXTERNAL,
         false}, /* it breaks off */
        {"kill -INT $$\n", "", EMP_EINTERRUPTED, false},
        {"cat >/dev/null\necho 'line 1: unknown or ambiguous terminal type; type "
         "just' >&2\nexit 1\n",
         "gnuplot-nox", EMP_EUNSUPPORTED, true}};

    setenv("PATH", scratch_path(""), 1);
    cr_expect_not(emp_gnuplot_exists());
    EXPECT_REFUSED(draw_pdf(stdout, &err), EMP_EUNSUPPORTED, "not installed");
    setenv("PATH", "/bin:/usr/bin", 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char   script[256], *text = NULL;
        size_t size = 0;
        FILE  *file = open_memstream(&text, &size);
        snprintf(script, sizeof script, "#!/bin/sh\n%s", cases[i].script);
        pretend(script);
        EXPECT_REFUSED(cases[i].is_pdf ? draw_pdf(file, &err) : draw_svg(file, &err),
                       cases[i].status, cases[i].part);
        fclose(file);
        if (i == 0) cr_expect_str_eq(text, "", "nothing of a figure is written");
        free(text);
    }
}
