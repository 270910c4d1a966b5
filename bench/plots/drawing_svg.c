// SPDX-License-Identifier: GPL-3.0-or-later
/* A drawing as SVG. */
#include <math.h>

#include "bench/plots/drawing.h"
#include "bench/plots/html.h"

/* A page may show it that much smaller or larger than it is; text must stay readable. */
static const double least_scale = 0.8, most_scale = 1.25;

static const char *const anchor_name[] = {"start", "middle", "end"};

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
        fprintf(out, " text-anchor=\"%s\"", anchor_name[l->anchor]);
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
