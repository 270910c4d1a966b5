/** \file bench/plots/html.h
 * Writing a page. It is XHTML, so that XML tools read it, too: no named entities, every
 * element closed.
 */
#ifndef EMP_BENCH_PLOTS_HTML_H
#define EMP_BENCH_PLOTS_HTML_H

#include <stdio.h>

/** Text from outside, inside an element or a quoted attribute: escaped; what is not UTF-8
 * or no character of XML becomes a replacement character. */
void emp_html_text(FILE *file, const char *text);

/** Text between two pieces of markup. */
void emp_html_put(FILE *file, const char *before, const char *text, const char *after);

/** Up to and with the opening of the body: style for screen, print, light and dark. */
void emp_html_begin(FILE *file, const char *title);
void emp_html_end(FILE *file);

#endif /* EMP_BENCH_PLOTS_HTML_H */
