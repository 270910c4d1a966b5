// SPDX-License-Identifier: GPL-3.0-or-later
/* Is a drawing well-formed, the same each time, and whole in both formats? */
#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/plots/drawing.h"
#include "bench/plots/gnuplot.h"
#include "tests/support/expect.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

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

typedef emp_status printer(FILE *out, const emp_drawing *drawing, emp_error *err);

static char *print(printer *print_it, const emp_drawing *d, size_t *size, emp_status *st)
{
    char     *text = NULL;
    emp_error err = {0};
    FILE     *file = open_memstream(&text, size);

    *st = print_it(file, d, &err);
    fclose(file);
    cr_expect(*st == EMP_OK || *st == EMP_EUNSUPPORTED, "%s", err.msg);
    return text;
}

Test(drawing, both_forms_of_svg_are_well_formed, .init = scratch_create,
     .fini = scratch_remove)
{
    printer *const form[] = {emp_drawing_print_element, emp_drawing_print_file};
    emp_drawing    d;

    MUST(build(&d));
    for (int i = 0; i < 2; i++) {
        char       command[2 * SCRATCH_PATH_BYTES];
        size_t     size;
        emp_status st;
        char      *text = print(form[i], &d, &size, &st);
        cr_expect_not_null(
            strstr(text, "<rect x=\"40\" y=\"10\" width=\"30\" height=\"20\""));
        cr_expect_not_null(strstr(text, "points=\"10,10 20,30.13 0,30\""), "%s", text);
        cr_expect_not_null(strstr(text, "stroke-dasharray=\"4 2\""));
        cr_expect_null(strstr(text, "<b>"));
        scratch_write("drawing.svg", text, size);
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
    emp_drawing a, b;
    size_t      a_size, b_size;
    emp_status  st;

    build(&a);
    build(&b);
    char *a_text = print(emp_drawing_print_file, &a, &a_size, &st);
    char *b_text = print(emp_drawing_print_file, &b, &b_size, &st);
    cr_assert_eq(a_size, b_size);
    cr_expect_arr_eq(a_text, b_text, a_size);
    free(a_text);
    free(b_text);
    emp_drawing_clear(&a);
    emp_drawing_clear(&b);
}

/* Texts of records go to gnuplot in quotes. */
Test(drawing, pdf_runs_nothing_of_a_text)
{
    emp_drawing d;
    size_t      size;
    emp_status  st;

    if (!emp_gnuplot_exists()) cr_skip_test("gnuplot is not installed");
    MUST(build(&d));
    char *bytes = print(emp_drawing_print_pdf, &d, &size, &st);
    emp_drawing_clear(&d);
    if (st == EMP_EUNSUPPORTED) cr_skip_test("this gnuplot has no pdfcairo");
    cr_expect_eq(strncmp(bytes, "%PDF-", 5), 0);
    free(bytes);
}

Test(drawing, without_shapes_it_is_empty)
{
    emp_drawing d = {0};

    cr_expect(emp_drawing_is_empty(&d));
    emp_drawing_clear(&d);
    build(&d);
    cr_expect_not(emp_drawing_is_empty(&d));
    emp_drawing_clear(&d);
}

Test(drawing, every_allocation_may_fail)
{
    emp_drawing d;

    SURVIVES_EVERY_ALLOCATION_FAILURE(build(&d), emp_drawing_clear(&d));
    emp_drawing_clear(&d);
}

Test(drawing, memory_that_was_out_is_told_when_it_is_printed)
{
    emp_drawing d;

    emp_mem_fail_after(1);
    build(&d);
    emp_mem_fail_after(-1);
    MUST_FAIL(EMP_ENOMEM, "sample", emp_drawing_print_file(stdout, &d, &why));
    emp_drawing_clear(&d);
}
