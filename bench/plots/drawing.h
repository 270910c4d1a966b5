/** \file bench/plots/drawing.h
 * A figure as a value: shapes in the order in which they are painted. Whoever has something
 * to show builds a drawing. It is printed only here: as an element of a page, as an SVG
 * file, or as a PDF file.
 *
 *     emp_drawing d;
 *     emp_drawing_init(&d, "curves", "best step time against evaluations", 640, 400);
 *     emp_drawing_rectangle(&d, (emp_box){0, 0, 10, 10}, &(emp_paint){.colour = "#0072b2"});
 *     emp_drawing_text(&d, 20, 8, "a text of a record", &(emp_lettering){.size = 12});
 *     st = emp_drawing_print_file(stdout, &d, err);
 *     emp_drawing_clear(&d);
 *
 * Units are pixels of the figure at its natural size; y grows downwards. Equal drawings give
 * equal bytes of SVG. Texts may come from anywhere: what is no character becomes U+FFFD.
 *
 * Building never fails: the drawing remembers that an allocation failed, and printing says so.
 */
#ifndef EMP_BENCH_PLOTS_DRAWING_H
#define EMP_BENCH_PLOTS_DRAWING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/mem.h"

/** Colours of what is no data; a page shows them as its own colours, also in the dark. */
#define EMP_INK   "#1b1f24" /**< names */
#define EMP_SOFT  "#59636e" /**< axes */
#define EMP_FAINT "#d5dae0" /**< grids */

enum {
    EMP_DRAWING_DASHES = 6, /**< lengths of a pattern at most */
    EMP_DRAWING_NAME_BYTES = 32
};

typedef struct {
    double x, y;
} emp_point;

typedef struct {
    double x, y, width, height;
} emp_box;

/** How a shape is painted. */
typedef struct {
    const char *colour;  /**< "#0072b2"; NULL = EMP_INK. Static */
    double      opacity; /**< 0 stands for 1 */
    double      width;   /**< of a line; 0 stands for 1 */
    /** For a line: lengths of dashes and gaps, an even number, then 0; NULL = solid. Static. */
    const double *dash;
} emp_paint;

typedef enum { EMP_ANCHOR_START, EMP_ANCHOR_MIDDLE, EMP_ANCHOR_END } emp_anchor;

/** How a text is set. */
typedef struct {
    const char *colour;     /**< NULL = EMP_INK. Static */
    double      size;       /**< of the font */
    emp_anchor  anchor;     /**< which end of the text is at x */
    bool        is_upright; /**< reads from below to above */
} emp_lettering;

typedef enum {
    EMP_DRAWING_AREA,  /**< a polygon, filled */
    EMP_DRAWING_LINE,  /**< open */
    EMP_DRAWING_TEXT,  /**< point: end of its base line */
    EMP_DRAWING_BEGIN, /**< of shapes that have the text as their tooltip */
    EMP_DRAWING_END
} emp_drawing_kind;

typedef struct {
    emp_drawing_kind kind;
    emp_paint        paint;
    emp_lettering    lettering;
    const char      *text;
    int32_t          first_point, point_count;
} emp_drawing_shape;

typedef struct {
    char        name[EMP_DRAWING_NAME_BYTES]; /**< "curves": of the file it is saved as */
    const char *label; /**< what is to be seen, for those who cannot see it. Static */
    double      width, height;
    const char *font;         /**< family of texts; NULL: Helvetica. Borrowed */
    emp_drawing_shape *shape; /**< owned */
    int32_t            shape_count;
    emp_point         *point; /**< [all points of all shapes]; owned */
    int32_t            point_count;

    /* private */
    int32_t    shape_room, point_room;
    emp_arena  texts;
    emp_status failure; /* what is wrong with it, or EMP_OK */
} emp_drawing;

/** An empty drawing. \a name is copied. */
void emp_drawing_init(emp_drawing *drawing, const char *name, const char *label,
                      double width, double height);
/** Releases it; zeroed drawings are allowed. */
void emp_drawing_clear(emp_drawing *drawing);

/** Whether nothing was drawn, and nothing went wrong. */
bool emp_drawing_is_empty(const emp_drawing *drawing);

/** A filled polygon, and a line through points. Fewer than two points are not drawn. */
void emp_drawing_area(emp_drawing *drawing, const emp_point *point, int32_t count,
                      const emp_paint *paint);
void emp_drawing_line(emp_drawing *drawing, const emp_point *point, int32_t count,
                      const emp_paint *paint);
void emp_drawing_rectangle(emp_drawing *drawing, emp_box box, const emp_paint *paint);
void emp_drawing_segment(emp_drawing *drawing, double x1, double y1, double x2, double y2,
                         const emp_paint *paint);

/** One line of text, which is copied. */
void emp_drawing_text(emp_drawing *drawing, double x, double y, const char *text,
                      const emp_lettering *lettering);

/** All shapes between the two have a text that pages show when one points at them. */
void emp_drawing_begin(emp_drawing *drawing, const char *title);
void emp_drawing_end(emp_drawing *drawing);

/** Makes it \a factor times as large, with its texts and lines. */
void emp_drawing_scale(emp_drawing *drawing, double factor);

/** The error while it was built. \retval EMP_ENOMEM */
emp_status emp_drawing_check(const emp_drawing *drawing, emp_error *err);

/** Writes it as an svg element of a page that has the style of bench/plots/html.h.
 * \retval EMP_ENOMEM  While it was built. \retval EMP_EIO  \a out has failed. */
emp_status emp_drawing_print_element(FILE *out, const emp_drawing *drawing,
                                     emp_error *err);
/** Writes it as an SVG file of its own, on white. Errors likewise. */
emp_status emp_drawing_print_file(FILE *out, const emp_drawing *drawing, emp_error *err);
/** Writes it as a PDF file of one page with its fonts, by gnuplot. Errors as
 * emp_gnuplot_draw_pdf(), and EMP_ENOMEM. */
emp_status emp_drawing_print_pdf(FILE *out, const emp_drawing *drawing, emp_error *err);

#endif /* EMP_BENCH_PLOTS_DRAWING_H */
