/** \file bench/plots/gnuplot.h
 * gnuplot as a child process: a script goes in, an SVG figure comes out. No file is left
 * behind, whatever ends either of the two.
 *
 * The gnuplot of a script must draw to standard output with the terminal that
 * emp_gnuplot_begin() sets.
 */
#ifndef EMP_BENCH_PLOTS_GNUPLOT_H
#define EMP_BENCH_PLOTS_GNUPLOT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

/** What to say where it is missing. */
#define EMP_GNUPLOT_ABSENCE \
    "gnuplot is not installed (Debian: apt-get install gnuplot-nox)"

/** Whether there is a gnuplot in the folders of PATH. */
bool emp_gnuplot_exists(void);

/** Opens a script for a figure of that many pixels; the caller closes it.
 * \retval EMP_EIO */
emp_status emp_gnuplot_begin(FILE **script, int width, int height, emp_error *err);

/** Runs the script and writes the figure as an svg element. \a name, plain text of
 * the program's own, says what is to be seen.
 * \retval EMP_EEXTERNAL     gnuplot failed; the message has the end of what it said.
 * \retval EMP_EINTERRUPTED  Ctrl-C ended it.
 * \retval EMP_EIO \retval EMP_ENOMEM */
emp_status emp_gnuplot_draw(FILE *file, FILE *script, const char *name, emp_error *err);

/** The same as a file of its own: with prologue, points, and no name. */
emp_status emp_gnuplot_save(FILE *file, FILE *script, emp_error *err);

#endif /* EMP_BENCH_PLOTS_GNUPLOT_H */
