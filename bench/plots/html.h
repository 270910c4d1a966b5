/** \file bench/plots/html.h
 * Writing a page. It is XHTML, so that XML tools read it, too: no named entities, every
 * element closed.
 */
#ifndef EMP_BENCH_PLOTS_HTML_H
#define EMP_BENCH_PLOTS_HTML_H

#include <stddef.h>
#include <stdio.h>

/** Text from outside, inside an element or a quoted attribute: escaped; what is not UTF-8
 * or no character of XML becomes a replacement character. */
void emp_html_text(FILE *file, const char *text);

enum { EMP_CHARACTER_BYTES = 5 };

/** Copies the first character of a text that is not empty, terminated; what is not UTF-8 or no
 * character of XML becomes a replacement character, a line's end a blank. Returns the text
 * behind it. */
const char *emp_html_next(const char *text, char character[EMP_CHARACTER_BYTES]);

/** Text between two pieces of markup. */
void emp_html_put(FILE *file, const char *before, const char *text, const char *after);

/** Bytes in base64 (RFC 4648), as addresses that hold what they lead to have them. */
void emp_html_base64(FILE *file, const char *bytes, size_t size);

/** Up to and with the opening of the body: style for screen, print, light and dark. */
void emp_html_begin(FILE *file, const char *title);
void emp_html_end(FILE *file);

#endif /* EMP_BENCH_PLOTS_HTML_H */
