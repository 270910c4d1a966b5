// SPDX-License-Identifier: GPL-3.0-or-later
/* A drawing as SVG and as PDF. */
#include <math.h>
#include <string.h>

#include "bench/plots/drawing.h"
#include "bench/plots/gnuplot.h"
#include "bench/plots/html.h"

/* ---- SVG ---- */

/* A page may show it that much smaller or larger than it is; text must stay readable. */
static const double least_scale = 0.8, most_scale = 1.25;

static const char *const svg_anchor[] = {"start", "middle", "end"};

/* Hundredths of a pixel, without zeros at the end; never "-0". */
static void write_number(FILE *out, double value)
{
    double rounded = round(value * 100) / 100;

    fprintf(out, "%.12g", rounded == 0 ? 0.0 : rounded);
}

static void write_value(FILE *out, const char *name, double value)
{
    fprintf(out, " %s=\"", name);
    write_number(out, value);
    fputc('"', out);
}

/* A rectangle that stands straight has a shorter element of its own. */
static bool is_box(const emp_point *p, int32_t count)
{
    return count == 4 && p[0].y == p[1].y && p[1].x == p[2].x && p[2].y == p[3].y &&
           p[3].x == p[0].x && p[0].x <= p[1].x && p[0].y <= p[2].y;
}

static void write_points(FILE *out, const char *element, const emp_point *p,
                         int32_t count)
{
    fprintf(out, "<%s points=\"", element);
    for (int32_t i = 0; i < count; i++) {
        if (i > 0) fputc(' ', out);
        write_number(out, p[i].x);
        fputc(',', out);
        write_number(out, p[i].y);
    }
    fputc('"', out);
}

static void write_area(FILE *out, const emp_drawing_shape *s, const emp_point *p)
{
    if (is_box(p, s->point_count)) {
        fputs("<rect", out);
        write_value(out, "x", p[0].x);
        write_value(out, "y", p[0].y);
        write_value(out, "width", p[2].x - p[0].x);
        write_value(out, "height", p[2].y - p[0].y);
    } else {
        write_points(out, "polygon", p, s->point_count);
    }
    fprintf(out, " fill=\"%s\"", s->paint.colour);
    if (s->paint.opacity < 1) write_value(out, "opacity", s->paint.opacity);
    fputs("/>\n", out);
}

static void write_line(FILE *out, const emp_drawing_shape *s, const emp_point *p)
{
    write_points(out, "polyline", p, s->point_count);
    fprintf(out, " fill=\"none\" stroke=\"%s\"", s->paint.colour);
    if (s->paint.width != 1) write_value(out, "stroke-width", s->paint.width);
    if (s->paint.opacity < 1) write_value(out, "opacity", s->paint.opacity);
    if (s->paint.dash != NULL) {
        fputs(" stroke-dasharray=\"", out);
        for (int i = 0; s->paint.dash[i] > 0; i++) {
            if (i > 0) fputc(' ', out);
            write_number(out, s->paint.dash[i]);
        }
        fputc('"', out);
    }
    fputs("/>\n", out);
}

static void write_text(FILE *out, const emp_drawing_shape *s, const emp_point *p)
{
    const emp_lettering *l = &s->lettering;

    fputs("<text", out);
    write_value(out, "x", p->x);
    write_value(out, "y", p->y);
    fprintf(out, " fill=\"%s\"", l->colour);
    write_value(out, "font-size", l->size);
    if (l->anchor != EMP_ANCHOR_START)
        fprintf(out, " text-anchor=\"%s\"", svg_anchor[l->anchor]);
    if (l->is_upright) {
        fputs(" transform=\"rotate(-90 ", out);
        write_number(out, p->x);
        fputc(' ', out);
        write_number(out, p->y);
        fputs(")\"", out);
    }
    emp_html_put(out, ">", s->text, "</text>\n");
}

static void write_shapes(FILE *out, const emp_drawing *d)
{
    for (int32_t i = 0; i < d->shape_count; i++) {
        const emp_drawing_shape *s = &d->shape[i];
        const emp_point         *p = d->point + s->first_point;
        switch (s->kind) {
        case EMP_DRAWING_AREA: write_area(out, s, p); break;
        case EMP_DRAWING_LINE: write_line(out, s, p); break;
        case EMP_DRAWING_TEXT: write_text(out, s, p); break;
        case EMP_DRAWING_BEGIN:
            emp_html_put(out, "<g><title>", s->text, "</title>\n");
            break;
        case EMP_DRAWING_END: fputs("</g>\n", out); break;
        }
    }
}

static void write_frame(FILE *out, const emp_drawing *d)
{
    emp_html_put(out, " role=\"img\" aria-label=\"", d->label, "\"");
    fputs(" viewBox=\"0 0 ", out);
    write_number(out, d->width);
    fputc(' ', out);
    write_number(out, d->height);
    fputs("\" font-family=\"", out);
    if (d->font != NULL) emp_html_put(out, "", d->font, ", ");
    fputs("Helvetica, Arial, sans-serif\"", out);
}

static emp_status end(FILE *out, const emp_drawing *d, emp_error *err)
{
    fputs("</svg>\n", out);
    return ferror(out) ? EMP_ERROR(EMP_EIO, "cannot write the figure %s", d->name)
                       : EMP_OK;
}

emp_status emp_drawing_print_element(FILE *out, const emp_drawing *d, emp_error *err)
{
    EMP_CHECK(emp_drawing_check(d, err));
    fputs("<svg", out);
    write_frame(out, d);
    fprintf(out, " style=\"min-width:%.0fpx;max-width:%.0fpx\">\n",
            least_scale * d->width, most_scale * d->width);
    write_shapes(out, d);
    return end(out, d, err);
}

emp_status emp_drawing_print_file(FILE *out, const emp_drawing *d, emp_error *err)
{
    EMP_CHECK(emp_drawing_check(d, err));
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
          "<svg xmlns=\"http://www.w3.org/2000/svg\"",
          out);
    write_value(out, "width", d->width);
    write_value(out, "height", d->height);
    write_frame(out, d);
    fputs(">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n", out);
    write_shapes(out, d);
    return end(out, d, err);
}

/* ---- PDF: a script that has gnuplot paint the shapes ---- */

static const double points_per_pixel = 0.75;
/* The terminal's length of a dash of 1: so many points for each of a line's width, which
 * counts as one at least. */
static const double points_per_dash = 0.275;
/* From the base line of a text to its middle, which gnuplot puts in place. */
static const double middle_frac = 0.35;

static const char *const pdf_anchor[] = {"left", "center", "right"};

static bool is_same_paint(const emp_drawing_shape *a, const emp_drawing_shape *b)
{
    return a->kind == b->kind && strcmp(a->paint.colour, b->paint.colour) == 0 &&
           a->paint.opacity == b->paint.opacity && a->paint.width == b->paint.width &&
           a->paint.dash == b->paint.dash;
}

static bool is_painted(const emp_drawing_shape *s)
{
    return s->kind == EMP_DRAWING_AREA || s->kind == EMP_DRAWING_LINE;
}

/* The next shape that is painted, at or behind \a from; shape_count = none. */
static int32_t next_painted(const emp_drawing *d, int32_t from)
{
    while (from < d->shape_count && !is_painted(&d->shape[from])) from++;
    return from;
}

/* Neighbours of one paint are one block of data: behind the last of them. Texts lie above all. */
static int32_t end_of_block(const emp_drawing *d, int32_t first)
{
    int32_t next = next_painted(d, first + 1);

    while (next < d->shape_count && is_same_paint(&d->shape[first], &d->shape[next]))
        next = next_painted(d, next + 1);
    return next;
}

static void write_block(FILE *script, const emp_drawing *d, int32_t first, int32_t behind)
{
    fprintf(script, "$s%d << END_OF_SHAPES\n", first);
    for (int32_t i = first; i < behind; i = next_painted(d, i + 1)) {
        const emp_drawing_shape *s = &d->shape[i];
        for (int32_t p = 0; p < s->point_count; p++)
            fprintf(script, "%.2f %.2f\n", d->point[s->first_point + p].x,
                    d->point[s->first_point + p].y);
        fputc('\n', script);
    }
    fprintf(script, "END_OF_SHAPES\n");
}

static void write_paint(FILE *script, const emp_paint *paint, bool is_area)
{
    unsigned alpha = (unsigned)(255.5 - 255 * paint->opacity);

    if (is_area) {
        fprintf(script, "with filledcurves closed fc rgb '%s' fs ", paint->colour);
        if (paint->opacity < 1) fprintf(script, "transparent ");
        fprintf(script, "solid %.2f noborder", paint->opacity);
        return;
    }
    fprintf(script, "with lines lc rgb '#%02x%s' lw %.2f", alpha, paint->colour + 1,
            paint->width);
    double unit = points_per_dash * fmax(1, points_per_pixel * paint->width);
    for (int i = 0; paint->dash != NULL && paint->dash[i] > 0; i++)
        fprintf(script, "%s%.2f", i == 0 ? " dt (" : ",",
                points_per_pixel * paint->dash[i] / unit);
    if (paint->dash != NULL) fputc(')', script);
}

/* In single quotes nothing is read but the quote itself. */
static void write_quoted(FILE *script, const char *text)
{
    char character[EMP_CHARACTER_BYTES];

    fputc('\'', script);
    while (*text != '\0') {
        text = emp_html_next(text, character);
        fputs(strcmp(character, "'") == 0 ? "''" : character, script);
    }
    fputc('\'', script);
}

static void write_label(FILE *script, const emp_drawing_shape *s, emp_point at,
                        const char *font)
{
    const emp_lettering *l = &s->lettering;

    *(l->is_upright ? &at.x : &at.y) -= middle_frac * l->size;
    fprintf(script, "set label ");
    write_quoted(script, s->text);
    fprintf(script, " at %.2f,%.2f %s front tc rgb '%s' font '%s,%.2f'%s\n", at.x, at.y,
            pdf_anchor[l->anchor], l->colour, font != NULL ? font : "",
            points_per_pixel * l->size, l->is_upright ? " rotate by 90" : "");
}

static void write_script(FILE *script, const void *what)
{
    const emp_drawing *d = (const emp_drawing *)what;
    const char        *comma = "plot ";

    fprintf(script,
            "unset border\nunset tics\nunset key\n"
            "set lmargin at screen 0\nset rmargin at screen 1\n"
            "set bmargin at screen 0\nset tmargin at screen 1\n"
            "set xrange [0:%.2f]\nset yrange [%.2f:0]\n",
            d->width, d->height);
    for (int32_t i = 0; i < d->shape_count; i++) {
        if (d->shape[i].kind == EMP_DRAWING_TEXT)
            write_label(script, &d->shape[i], d->point[d->shape[i].first_point], d->font);
    }
    for (int32_t i = next_painted(d, 0); i < d->shape_count;) {
        int32_t behind = end_of_block(d, i);
        write_block(script, d, i, behind);
        i = behind;
    }
    for (int32_t i = next_painted(d, 0); i < d->shape_count; i = end_of_block(d, i)) {
        fprintf(script, "%s$s%d using 1:2 ", comma, i);
        write_paint(script, &d->shape[i].paint, d->shape[i].kind == EMP_DRAWING_AREA);
        comma = ", ";
    }
    fprintf(script, "\n");
}

emp_status emp_drawing_print_pdf(FILE *out, const emp_drawing *d, emp_error *err)
{
    EMP_CHECK(emp_drawing_check(d, err));
    return emp_gnuplot_draw_pdf(out, points_per_pixel * d->width,
                                points_per_pixel * d->height, write_script, d, err);
}
