// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for figures of tables: the first line holds the lists of columns, the rest is
// the table. Both forms are drawn.
#include <string.h>

#include "bench/plots/csv/plot.h"
#include "tests/support/fuzz_file.h"

static void draw(const emp_csv *csv, emp_plot_form form, const emp_plot_choice *choice)
{
    emp_drawing drawing = {0};

    (void)emp_plot_draw(&drawing, csv, form, choice, NULL, NULL);
    emp_drawing_clear(&drawing);
}

/* "rows;values;series;low;high;condition": what is missing is not given. */
static void choose(emp_plot_choice *choice, char *line)
{
    const char **const field[] = {&choice->rows, &choice->values, &choice->series,
                                  &choice->low,  &choice->high,   &choice->where[0]};

    for (size_t i = 0; i < sizeof field / sizeof *field && line != NULL; i++) {
        char *end = strchr(line, ';');
        if (end != NULL) *end = '\0';
        if (line[0] != '\0') *field[i] = line;
        line = end != NULL ? end + 1 : NULL;
    }
    choice->where_count = choice->where[0] != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const uint8_t  *end = memchr(bytes, '\n', size);
    emp_plot_choice choice = {.path = "fuzz"};
    emp_csv         csv = {0};
    char            line[256];

    if (end == NULL || (size_t)(end - bytes) >= sizeof line) return 0;
    memcpy(line, bytes, (size_t)(end - bytes));
    line[end - bytes] = '\0';
    choose(&choice, line);
    if (choice.rows == NULL || choice.values == NULL) return 0;
    if (emp_csv_parse(&csv, (const char *)end + 1, size - (size_t)(end + 1 - bytes),
                      "fuzz", NULL) == EMP_OK) {
        draw(&csv, EMP_PLOT_DOTS, &choice);
        draw(&csv, EMP_PLOT_LINES, &choice);
    }
    emp_csv_clear(&csv);
    return 0;
}
