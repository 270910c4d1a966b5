/** \file tests/support/screen.h
 * A terminal of so many columns and lines, and what a program leaves on it.
 *
 * It knows what progress displays write: carriage return, end of line, cursor up, erase to the
 * end of the line or of the screen. Lines that the cursor goes beyond the width of are
 * counted: a display that goes back by lines would go wrong by them.
 */
#ifndef EMP_TESTS_SUPPORT_SCREEN_H
#define EMP_TESTS_SUPPORT_SCREEN_H

#include <stddef.h>

enum { SCREEN_COLUMNS = 200, SCREEN_LINES = 200 };

typedef struct {
    int  columns;
    int  line, column;
    int  wrapped; /**< how often a line was too long */
    char text[SCREEN_LINES][SCREEN_COLUMNS + 1];
} screen;

/** Runs the program at \a path in the build folder, standard output and error on a
 * terminal of that size; its exit status. What it wrote is then in program_out.
 * \a interrupt_at: OPTIONAL. Ctrl-C is typed when the program has written this text. */
int screen_run(const char *path, const char *arguments, int columns, int lines,
               const char *interrupt_at);

/** Plays what a program wrote. */
void screen_play(screen *s, int columns, const char *text, size_t size);

/** The first line of the screen that has the text; -1 = none. */
int screen_line_with(const screen *s, const char *text);

#endif /* EMP_TESTS_SUPPORT_SCREEN_H */
