// SPDX-License-Identifier: GPL-3.0-or-later
/* For people: aligned text in blocks of at most LINE_WIDTH, and Markdown. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bench/run/table_internal.h"

enum { LINE_WIDTH = 110, LABEL_WIDTH = 20, GAP = 2, CELL_BYTES = 64 };

/* Three significant digits, as the paper's tables have. */
static const char *format_s(double seconds, char text[CELL_BYTES])
{
    if (isnan(seconds))
        snprintf(text, CELL_BYTES, "-");
    else if (isinf(seconds))
        snprintf(text, CELL_BYTES, "OOM");
    else {
        snprintf(text, CELL_BYTES, "%.*f",
                 seconds < 1     ? 3
                 : seconds < 100 ? 2
                                 : 1,
                 seconds);
    }
    return text;
}

/* Paper and ours both out of memory agree; where just one is, there is no ratio. */
static const char *format_ratio(const emp_table_cell *cell, char text[CELL_BYTES])
{
    double ratio = emp_table_ratio(cell);

    if (!isnan(ratio))
        snprintf(text, CELL_BYTES, "%.2f", ratio);
    else if (isinf(cell->paper_s) && isinf(cell->ours_s.median))
        return "same";
    else
        return "-";
    return text;
}

static const char *format_ours(const emp_table_cell *cell, char text[CELL_BYTES])
{
    size_t used = strlen(format_s(cell->ours_s.median, text));

    if (cell->is_fitted) snprintf(text + used, CELL_BYTES - used, "*");
    return text;
}

/* "0.81-0.93", or nothing when all seeds agree. */
static const char *format_range(const emp_table_cell *cell, char text[CELL_BYTES])
{
    char min[CELL_BYTES], max[CELL_BYTES];

    if (cell->run_count < 2 || !(cell->ours_s.min < cell->ours_s.max)) return "";
    snprintf(text, CELL_BYTES, "%.20s-%.20s", format_s(cell->ours_s.min, min),
             format_s(cell->ours_s.max, max));
    return text;
}

static const char *format_paper(const emp_table_cell *cell, char text[CELL_BYTES])
{
    if (isfinite(cell->paper_s))
        snprintf(text, CELL_BYTES, "%.2f", cell->paper_s);
    else
        format_s(cell->paper_s, text);
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

static void print_headers(FILE *out, const emp_table *t, int32_t from, int32_t end)
{
    fprintf(out, "%*s", LABEL_WIDTH, "");
    for (int32_t c = from; c < end; c++) {
        fprintf(out, "%*s%-*s", GAP, "", column_width(&t->column[c]), t->column[c].title);
    }
    fprintf(out, "\n%*s%2s", LABEL_WIDTH - 2, "GPUs", "");
    for (int32_t c = from; c < end; c++) {
        const emp_table_column *column = &t->column[c];
        const char             *ours = column->has_median ? "best" : "ours";
        fprintf(out, "%*s%6s ", GAP, "", ours);
        if (column->has_paper)
            fprintf(out, " %6s %5s", "paper", "ratio");
        else
            fprintf(out, " %*s", column_width(column) - 8,
                    column->has_median ? "median" : "");
    }
    fprintf(out, "\n");
}

static void print_cell(FILE *out, const emp_table_column *column,
                       const emp_table_cell *cell)
{
    char ours[CELL_BYTES], other[CELL_BYTES], ratio[CELL_BYTES];

    /* The asterisk of a fitted cell stands past the digits, so that they stay aligned. */
    format_s(cell->ours_s.median, ours);
    fprintf(out, "%*s%6s%s", GAP, "", ours, cell->is_fitted ? "*" : " ");
    if (column->has_paper) {
        fprintf(out, " %6s %5s", format_paper(cell, other), format_ratio(cell, ratio));
    } else {
        fprintf(out, " %*s", column_width(column) - 8,
                column->has_median ? format_s(cell->typical_s, other) : "");
    }
}

static void print_block(FILE *out, const emp_table *t, int32_t from, int32_t end)
{
    char text[CELL_BYTES];

    print_headers(out, t, from, end);
    for (int32_t r = 0; r < t->row_count; r++) {
        bool has_range = false;
        fprintf(out, "%-*s%*d", 14, t->row[r].title, LABEL_WIDTH - 16,
                t->row[r].gpu_count);
        fprintf(out, "%2s", "");
        for (int32_t c = from; c < end; c++) {
            print_cell(out, &t->column[c], emp_table_at(t, r, c));
            if (format_range(emp_table_at(t, r, c), text)[0] != '\0') has_range = true;
        }
        fprintf(out, "\n");
        if (!has_range) continue;
        fprintf(out, "%*s", LABEL_WIDTH, "");
        for (int32_t c = from; c < end; c++) {
            const char *range = format_range(emp_table_at(t, r, c), text);
            fprintf(out, "%*s%-*s", GAP + 2, "", column_width(&t->column[c]) - 2, range);
        }
        fprintf(out, "\n");
    }
    fprintf(out, "\n");
}

static void print_budgets(FILE *out, const emp_table *t, const char *bullet)
{
    for (int32_t c = 0; c < t->column_count; c++) {
        const emp_table_column *column = &t->column[c];
        if (column->budget == 0 && column->seed_count == 1) continue;
        fprintf(out, "%s%s: ", bullet, column->title);
        if (column->preset != NULL) fprintf(out, "preset %s, ", column->preset);
        if (column->budget > 0)
            fprintf(out, "%" PRId64 " evaluations a run, ", column->budget);
        fprintf(out, "%d seed%s (1..%d)\n", column->seed_count,
                column->seed_count == 1 ? "" : "s", column->seed_count);
    }
}

static void print_failures(FILE *out, const emp_table *t, const char *bullet)
{
    for (int32_t i = 0; i < t->row_count * t->column_count; i++) {
        const emp_table_cell *cell = &t->cell[i];
        if (cell->oom_count == 0 || cell->oom_count == cell->run_count) continue;
        fprintf(out, "%s%s, %s: %d of %d seeds found no placement that fits\n", bullet,
                t->row[i / t->column_count].title, t->column[i % t->column_count].title,
                cell->oom_count, cell->run_count);
    }
}

static void print_notes(FILE *out, const emp_table *t, const char *bullet)
{
    fprintf(out,
            "%sOurs: seconds of the simulated machine, runtime %s; best placement found, "
            "median "
            "over seeds, min-max below where they differ. OOM: does not fit in memory.\n",
            bullet, t->runtime);
    fprintf(out, "%sPaper: reported figures, %s. Ratio: ours / paper.\n", bullet,
            t->source);
    if (t->fitted_note[0] != '\0') fprintf(out, "%s%s\n", bullet, t->fitted_note);
    print_budgets(out, t, bullet);
    print_failures(out, t, bullet);
    for (int32_t r = 0; r < t->row_count; r++) {
        fprintf(out, "%s%s: %s on %s\n", bullet, t->row[r].title, t->row[r].spec,
                t->row[r].machine);
    }
    fprintf(out, "%sMade by: %s (emplace %s, commit %.12s%s)\n", bullet, t->command,
            t->version, t->commit, t->is_dirty ? ", modified" : "");
    if (t->foreign_count > 0) {
        fprintf(
            out,
            "%s%d of the records were made by another commit; --fresh makes them anew\n",
            bullet, t->foreign_count);
    }
}

void emp_table_print_text(FILE *out, const emp_table *t)
{
    fprintf(out, "%s\n\n", t->title);
    for (int32_t from = 0, end; from < t->column_count; from = end) {
        end = end_of_block(t, from);
        print_block(out, t, from, end);
    }
    print_notes(out, t, "  ");
}

static void print_md_cell(FILE *out, const emp_table_column *column,
                          const emp_table_cell *cell)
{
    char        text[CELL_BYTES];
    const char *range = format_range(cell, text);

    if (range[0] != '\0') {
        char ours[CELL_BYTES];
        fprintf(out, " %s [%s]", format_ours(cell, ours), range);
    } else {
        fprintf(out, " %s", format_ours(cell, text));
    }
    if (column->has_median) fprintf(out, " / %s", format_s(cell->typical_s, text));
    if (column->has_paper) {
        fprintf(out, " | %s", format_paper(cell, text));
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
    print_notes(out, t, "- ");
}
