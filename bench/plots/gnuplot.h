/** \file bench/plots/gnuplot.h
 * gnuplot as a child process: a script goes in, a figure comes out, as SVG or PDF. No file is left
 * behind, whatever ends either of the two.
 */
#ifndef EMP_BENCH_PLOTS_GNUPLOT_H
#define EMP_BENCH_PLOTS_GNUPLOT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

/** The message where it is missing. */
#define EMP_GNUPLOT_ABSENCE \
    "gnuplot is not installed (Debian: apt-get install gnuplot-nox)"

/** Whether there is a gnuplot in the folders of PATH. */
bool emp_gnuplot_exists(void);

/** Draws a figure of that many pixels as an svg element. \a write adds the script, which draws
 * to standard output with the terminal that is set. \a name, plain text of the program's own,
 * says what is to be seen; with NULL the figure is a file of its own, with prologue and points.
 * \retval EMP_EEXTERNAL     gnuplot failed; the message has the end of what it said.
 * \retval EMP_EINTERRUPTED  Ctrl-C ended it.
 * \retval EMP_EIO \retval EMP_ENOMEM */
emp_status emp_gnuplot_draw(FILE *file, int width, int height,
                            void (*write)(FILE *script, const void *what),
                            const void *what, const char *name, emp_error *err);

/** Draws a PDF file of one page of that many points, 72 of which are an inch. \a write adds the
 * script likewise; its texts may be only in single quotes. Fonts are in points, and a line of
 * width 1 is 0.75 points wide.
 * \retval EMP_EUNSUPPORTED  There is no gnuplot, or it lacks the terminal pdfcairo; the message
 *                           says what to install. Else as emp_gnuplot_draw(). */
emp_status emp_gnuplot_draw_pdf(FILE *file, double width, double height,
                                void (*write)(FILE *script, const void *what),
                                const void *what, emp_error *err);

#endif /* EMP_BENCH_PLOTS_GNUPLOT_H */
