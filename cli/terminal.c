// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/terminal.h"

#include <string.h>

#include "base/io/terminal.h"

enum { USUAL_WIDTH = 80, LEAST_WIDTH = 40 };

int cli_terminal_width(FILE *stream)
{
    int columns = emp_terminal_size_of(stream).columns;

    if (columns == 0) return USUAL_WIDTH;
    return columns < LEAST_WIDTH ? LEAST_WIDTH : columns;
}

void cli_print_entry(const char *word, int column, const char *text)
{
    int width = cli_terminal_width(stdout);
    int used = printf("  %-*s", column - 3, word);

    if (used > column - 1) used = column - 1; /* then the text may be too long */
    while (*text != '\0') {
        int length = (int)strcspn(text, " ");
        if (used + 1 + length >= width && used > column) {
            printf("\n%*s", column - 1, "");
            used = column - 1;
        }
        used += printf(" %.*s", length, text);
        text += length;
        text += strspn(text, " ");
    }
    printf("\n");
}
