// SPDX-License-Identifier: GPL-3.0-or-later
/* For people: aligned text in blocks of at most LINE_WIDTH, and Markdown. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/io/text.h"
#include "bench/tables/table_internal.h"

enum { LINE_WIDTH = 110, LABEL_WIDTH = 20, GAP = 2, LINE_BYTES = 512 };

const char *emp_table_number(double value, char text[EMP_CELL_BYTES])
{
    if (isnan(value))
        snprintf(text, EMP_CELL_BYTES, "-");
    else if (isinf(value))
        snprintf(text, EMP_CELL_BYTES, "OOM");
    else {
        snprintf(text, EMP_CELL_BYTES, "%.*f",
                 value < 1     ? 3
                 : value < 100 ? 2
                               : 1,
                 value);
    }
    return text;
}

/* What a cell shows, or the paper's figure of it. */
static const char *format_shown(const emp_table_column *column, double value,
                                char text[EMP_CELL_BYTES])
{
    if (column->shown != EMP_SHOWN_GAIN || !isfinite(value))
        return emp_table_number(value, text);
    snprintf(text, EMP_CELL_BYTES, "%.1f%%", 100.0 * value);
    return text;
}

/* Paper and ours both out of memory agree; where just one is, there is no ratio. */
static const char *format_ratio(const emp_table_cell *cell, char text[EMP_CELL_BYTES])
{
    double ratio = emp_table_ratio(cell);

    if (!isnan(ratio))
        snprintf(text, EMP_CELL_BYTES, "%.2f", ratio);
    else if (isinf(cell->paper_s) && isinf(cell->shown))
        return "same";
    else
        return "-";
    return text;
}

static const char *format_ours(const emp_table_column *column, const emp_table_cell *cell,
                               char text[EMP_CELL_BYTES])
{
    size_t used = strlen(format_shown(column, cell->shown, text));

    if (cell->is_fitted) snprintf(text + used, EMP_CELL_BYTES - used, "*");
    return text;
}

/* "0.81-0.93", or nothing when all seeds agree, or an end of the range is shown. */
static const char *format_range(const emp_table_column *column,
                                const emp_table_cell *cell, char text[EMP_CELL_BYTES])
{
    char min[EMP_CELL_BYTES], max[EMP_CELL_BYTES];

    if (column->shown != EMP_SHOWN_MEDIAN) return "";
    if (cell->run_count < 2 || !(cell->ours_s.min < cell->ours_s.max)) return "";
    snprintf(text, EMP_CELL_BYTES, "%.20s-%.20s", emp_table_number(cell->ours_s.min, min),
             emp_table_number(cell->ours_s.max, max));
    return text;
}

static const char *format_paper(const emp_table_column *column,
                                const emp_table_cell *cell, char text[EMP_CELL_BYTES])
{
    if (isfinite(cell->paper_s) && column->shown != EMP_SHOWN_GAIN)
        snprintf(text, EMP_CELL_BYTES, "%.2f", cell->paper_s);
    else
        format_shown(column, cell->paper_s, text);
    return text;
}

static int column_width(const emp_table_column *column)
{
    return column->has_paper ? 7 + 1 + 6 + 1 + 5 : column->has_median ? 7 + 1 + 7 : 13;
}

/* First column past those that fit on a line with `from`. */
static int32_t end_of_block(const emp_table *t, int32_t from)
{
    int     width = LABEL_WIDTH;
    int32_t end = from;

    while (end < t->column_count) {
        width += GAP + column_width(&t->column[end]);
        if (width > LINE_WIDTH && end > from) break;
        end++;
    }
    return end;
}

/* No line ends in spaces. */
static void end_line(FILE *out, emp_text *line)
{
    while (line->used > 0 && line->at[line->used - 1] == ' ') line->used--;
    fprintf(out, "%.*s\n", (int)line->used, line->at);
    line->used = 0;
}

static void print_headers(FILE *out, const emp_table *t, int32_t from, int32_t end)
{
    char     array[LINE_BYTES];
    emp_text line = {array, sizeof array, 0};

    emp_text_add(&line, "%*s", LABEL_WIDTH, "");
    for (int32_t c = from; c < end; c++) {
        emp_text_add(&line, "%*s%-*s", GAP, "", column_width(&t->column[c]),
                     t->column[c].title);
    }
    end_line(out, &line);
    emp_text_add(&line, "%*s  ", LABEL_WIDTH - 2, "GPUs");
    for (int32_t c = from; c < end; c++) {
        const emp_table_column *column = &t->column[c];
        emp_text_add(&line, "%*s%6s ", GAP, "", column->has_median ? "best" : "ours");
        if (column->has_paper)
            emp_text_add(&line, " %6s %5s", "paper", "ratio");
        else
            emp_text_add(&line, " %*s", column_width(column) - 8,
                         column->has_median ? "median" : "");
    }
    end_line(out, &line);
}

static void add_cell(emp_text *line, const emp_table_column *column,
                     const emp_table_cell *cell)
{
    char ours[EMP_CELL_BYTES], other[EMP_CELL_BYTES], ratio[EMP_CELL_BYTES];

    /* The asterisk of a fitted cell stands past the digits, so that they stay aligned. */
    emp_text_add(line, "%*s%6s%s", GAP, "", format_shown(column, cell->shown, ours),
                 cell->is_fitted ? "*" : " ");
    if (column->has_paper) {
        emp_text_add(line, " %6s %5s", format_paper(column, cell, other),
                     format_ratio(cell, ratio));
    } else {
        emp_text_add(line, " %*s", column_width(column) - 8,
                     column->has_median ? emp_table_number(cell->typical_s, other) : "");
    }
}

/* Below a row: the ranges of the cells whose seeds differ, if any. */
static void print_ranges(FILE *out, const emp_table *t, int32_t row, int32_t from,
                         int32_t end)
{
    char     array[LINE_BYTES];
    emp_text line = {array, sizeof array, 0};
    char     text[EMP_CELL_BYTES];

    emp_text_add(&line, "%*s", LABEL_WIDTH, "");
    for (int32_t c = from; c < end; c++) {
        emp_text_add(&line, "%*s%-*s", GAP + 2, "", column_width(&t->column[c]) - 2,
                     format_range(&t->column[c], emp_table_at(t, row, c), text));
    }
    if (strspn(line.at, " ") < line.used) end_line(out, &line);
}

static void print_block(FILE *out, const emp_table *t, int32_t from, int32_t end)
{
    char     array[LINE_BYTES];
    emp_text line = {array, sizeof array, 0};

    print_headers(out, t, from, end);
    for (int32_t r = 0; r < t->row_count; r++) {
        emp_text_add(&line, "%-14s%*d  ", t->row[r].title, LABEL_WIDTH - 16,
                     t->row[r].gpu_count);
        for (int32_t c = from; c < end; c++) {
            add_cell(&line, &t->column[c], emp_table_at(t, r, c));
        }
        end_line(out, &line);
        print_ranges(out, t, r, from, end);
    }
    fprintf(out, "\n");
}

/* ---- notes ---- */

typedef enum { WRAPPED, MARKDOWN } note_style;

/* One note: wrapped under itself in text, one line in Markdown. */
EMP_PRINTF_LIKE(3, 4)
static void print_note(FILE *out, note_style style, const char *format, ...)
{
    char    text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (style == MARKDOWN) {
        fprintf(out, "- %s\n", text);
        return;
    }
    size_t width = 0;
    for (char *word = text; *word != '\0';) {
        size_t length = strcspn(word, " ");
        if (width > 0 && width + 1 + length > LINE_WIDTH) {
            fprintf(out, "\n");
            width = 0;
        }
        fprintf(out, "%s%.*s",
                width > 0      ? " "
                : word == text ? "  "
                               : "    ",
                (int)length, word);
        width += length + (width > 0 ? 1 : word == text ? 2 : 4);
        word += length + strspn(word + length, " ");
    }
    fprintf(out, "\n");
}

/* True when the column before has the same runs. */
static bool repeats_runs(const emp_table *t, int32_t column)
{
    return column > 0 &&
           emp_table_has_same_runs(&t->column[column - 1], &t->column[column]);
}

static void print_budgets(FILE *out, const emp_table *t, note_style style)
{
    for (int32_t c = 0; c < t->column_count; c++) {
        const emp_table_column *column = &t->column[c];
        char                    array[LINE_BYTES];
        emp_text                line = {array, sizeof array, 0};
        if (column->budget == 0 && column->seed_count == 1) continue;
        if (column->shown == EMP_SHOWN_GAIN || repeats_runs(t, c)) continue;
        if (column->preset != NULL) emp_text_add(&line, "preset %s, ", column->preset);
        if (column->options != NULL) emp_text_add(&line, "%s, ", column->options);
        if (column->budget > 0)
            emp_text_add(&line, "%" PRId64 " evaluations a run, ", column->budget);
        if (column->seed_count == 1)
            emp_text_add(&line, "seed 1");
        else
            emp_text_add(&line, "seeds 1 to %d", column->seed_count);
        print_note(out, style, "%s: %s.", column->title, line.at);
    }
}

static void print_failures(FILE *out, const emp_table *t, note_style style)
{
    for (int32_t i = 0; i < t->row_count * t->column_count; i++) {
        const emp_table_cell *cell = &t->cell[i];
        if (cell->oom_count == 0 || cell->oom_count == cell->run_count) continue;
        if (repeats_runs(t, i % t->column_count)) continue;
        print_note(out, style, "%s, %s: %d of %d seeds found no placement that fits.",
                   t->row[i / t->column_count].title,
                   t->column[i % t->column_count].title, cell->oom_count,
                   cell->run_count);
    }
}

static void print_notes(FILE *out, const emp_table *t, note_style style)
{
    print_note(
        out, style,
        "Ours: seconds of the simulated machine, runtime %s: the best placement found, "
        "median over seeds, with min-max where seeds differ. OOM: nothing that was tried "
        "fits in memory.",
        t->runtime);
    print_note(out, style, "Paper: reported figures, %s. Ratio: ours / paper.",
               t->source);
    if (t->note[0] != '\0') print_note(out, style, "%s", t->note);
    if (t->fitted_note[0] != '\0') print_note(out, style, "%s", t->fitted_note);
    if (t->gain_note[0] != '\0') print_note(out, style, "%s", t->gain_note);
    emp_table_order order = emp_table_compare_order(t);
    if (order.pairs > 0) {
        print_note(
            out, style,
            "%d of the %d pairs of predicted cells of a row, of different runs, that the "
            "paper puts in an order are in that order here.",
            order.same, order.pairs);
    }
    print_budgets(out, t, style);
    print_failures(out, t, style);
    for (int32_t r = 0; r < t->row_count; r++) {
        print_note(out, style, "%s: %s on %s.", t->row[r].title, t->row[r].spec,
                   t->row[r].machine);
    }
    print_note(out, style,
               "Sizes that a row does not name are defaults: emplace workloads.");
    print_note(out, style, "Made by: %s (emplace %s, commit %.12s%s).", t->command,
               t->version, t->commit, t->is_dirty ? ", modified" : "");
}

void emp_table_print_text(FILE *out, const emp_table *t)
{
    fprintf(out, "%s\n\n", t->title);
    for (int32_t from = 0, end; from < t->column_count; from = end) {
        end = end_of_block(t, from);
        print_block(out, t, from, end);
    }
    print_notes(out, t, WRAPPED);
}

static void print_md_cell(FILE *out, const emp_table_column *column,
                          const emp_table_cell *cell)
{
    char        text[EMP_CELL_BYTES];
    const char *range = format_range(column, cell, text);

    if (range[0] != '\0') {
        char ours[EMP_CELL_BYTES];
        fprintf(out, " %s [%s]", format_ours(column, cell, ours), range);
    } else {
        fprintf(out, " %s", format_ours(column, cell, text));
    }
    if (column->has_median)
        fprintf(out, " / %s", emp_table_number(cell->typical_s, text));
    if (column->has_paper) {
        fprintf(out, " | %s", format_paper(column, cell, text));
        fprintf(out, " | %s", format_ratio(cell, text));
    }
    fprintf(out, " |");
}

void emp_table_print_md(FILE *out, const emp_table *t)
{
    fprintf(out, "**%s**\n\n| | GPUs |", t->title);
    for (int32_t c = 0; c < t->column_count; c++) {
        const emp_table_column *column = &t->column[c];
        fprintf(out, " %s%s |", column->title,
                column->has_median ? ", best / median" : "");
        if (column->has_paper) fprintf(out, " paper | ratio |");
    }
    fprintf(out, "\n| --- | --- |");
    for (int32_t c = 0; c < t->column_count; c++) {
        fprintf(out, t->column[c].has_paper ? " --- | --- | --- |" : " --- |");
    }
    fprintf(out, "\n");
    for (int32_t r = 0; r < t->row_count; r++) {
        fprintf(out, "| %s | %d |", t->row[r].title, t->row[r].gpu_count);
        for (int32_t c = 0; c < t->column_count; c++) {
            print_md_cell(out, &t->column[c], emp_table_at(t, r, c));
        }
        fprintf(out, "\n");
    }
    fprintf(out, "\n");
    print_notes(out, t, MARKDOWN);
}
