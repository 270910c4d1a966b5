// SPDX-License-Identifier: GPL-3.0-or-later
/* A paper's table as a sheet: a line a cell. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/text/text.h"
#include "base/text/units.h"
#include "bench/tables/table.h"
#include "run/sheet/sheet.h"

static const char *const shown_name[] = {[EMP_SHOWN_MEDIAN] = "median",
                                         [EMP_SHOWN_BEST] = "best",
                                         [EMP_SHOWN_WORST] = "worst",
                                         [EMP_SHOWN_GAIN] = "gain"};

static const struct {
    const char *name, *mark;
} origin_text[EMP_ORIGIN_COUNT] = {[EMP_ORIGIN_BARE] = {"", NULL},
                                   [EMP_ORIGIN_PREDICTED] = {"predicted", NULL},
                                   [EMP_ORIGIN_FITTED] = {"fitted", "*"},
                                   [EMP_ORIGIN_INFERRED] = {"inferred", "+"},
                                   [EMP_ORIGIN_REPEATED] = {"repeated", "="},
                                   [EMP_ORIGIN_OTHER] = {"other size", "~"}};

static const emp_sheet_column columns[] = {
    EMP_COLUMN("task", "", EMP_SHEET_WORD, EMP_SHEET_ROW, .width = 13),
    EMP_COLUMN("workload", NULL, EMP_SHEET_WORD, EMP_SHEET_ROW),
    EMP_COLUMN("machine", NULL, EMP_SHEET_WORD, EMP_SHEET_ROW),
    EMP_COLUMN("runtime", NULL, EMP_SHEET_WORD, EMP_SHEET_ROW),
    EMP_COLUMN("gpus", "GPUs", EMP_SHEET_COUNT, EMP_SHEET_ROW),
    EMP_COLUMN(NULL, "", EMP_SHEET_WORD, EMP_SHEET_ACROSS),
    EMP_COLUMN("method", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("preset", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("options", NULL, EMP_SHEET_WORD, .is_optional = true),
    EMP_COLUMN("shown", NULL, EMP_SHEET_WORD, .is_optional = true),
    EMP_COLUMN("budget", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("seeds", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("oom_seeds", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN(NULL, "ours", EMP_SHEET_REAL, .width = 6, .mark = 1),
    EMP_COLUMN(NULL, "best", EMP_SHEET_REAL, .width = 6, .mark = 1),
    EMP_COLUMN("ours_s", NULL, EMP_SHEET_REAL, .low = "min_s", .high = "max_s"),
    EMP_COLUMN("median_of_candidates_s", "median", EMP_SHEET_REAL, .width = 7),
    EMP_COLUMN(NULL, "paper", EMP_SHEET_REAL, .form = "%.2f", .width = 6),
    EMP_COLUMN("paper_s", NULL, EMP_SHEET_REAL),
    EMP_COLUMN(NULL, "ratio", EMP_SHEET_REAL, .form = "%.2f", .width = 5),
    EMP_COLUMN("ratio", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("reference", NULL, EMP_SHEET_WORD, .is_optional = true),
    EMP_COLUMN("ours_relative", NULL, EMP_SHEET_REAL, .low = "min_relative",
               .high = "max_relative", .is_optional = true),
    EMP_COLUMN("paper_relative", NULL, EMP_SHEET_REAL, .is_optional = true),
    EMP_COLUMN("relative_ratio", NULL, EMP_SHEET_REAL, .is_optional = true),
    EMP_COLUMN("gain_frac", NULL, EMP_SHEET_REAL, .is_optional = true),
    EMP_COLUMN("paper_gain_frac", NULL, EMP_SHEET_REAL, .is_optional = true),
    EMP_COLUMN("origin", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("asked_flops_per_s", NULL, EMP_SHEET_REAL, .is_optional = true),
    EMP_COLUMN("peak_flops_per_s", NULL, EMP_SHEET_REAL, .is_optional = true),
    EMP_COLUMN("lower_bound_s", NULL, EMP_SHEET_REAL, .is_optional = true),
    EMP_COLUMN("lower_bound_gpu_kernels_s", NULL, EMP_SHEET_REAL, .is_optional = true),
    EMP_COLUMN("peak_bytes", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("graph_hash", NULL, EMP_SHEET_HASH),
    EMP_COLUMN("machine_hash", NULL, EMP_SHEET_HASH),
    EMP_COLUMN("runtime_hash", NULL, EMP_SHEET_HASH)};

/* A column has options or shows something else than a median: then a cell says which
 * options its runs had and what is shown of them. */
static bool is_mixed_table(const emp_table *t)
{
    for (int32_t c = 0; c < t->column_count; c++) {
        if (t->column[c].options != NULL || t->column[c].shown != EMP_SHOWN_MEDIAN)
            return true;
    }
    return false;
}

/* The text of a figure for people: seconds, or a gain. */
static emp_value value_of(const emp_table_column *column, double value,
                          char text[EMP_SHEET_CELL_BYTES])
{
    if (column->shown != EMP_SHOWN_GAIN || !isfinite(value)) return emp_value_real(value);
    return emp_value_word(emp_units_format_percent(value, text, EMP_SHEET_CELL_BYTES));
}

static emp_value ours_of(const emp_table_column *column, const emp_table_cell *cell,
                         char text[EMP_SHEET_CELL_BYTES])
{
    emp_value v = value_of(column, cell->shown, text);

    if (column->shown == EMP_SHOWN_MEDIAN && cell->run_count > 1)
        v = emp_value_range(cell->shown, cell->ours_s.min, cell->ours_s.max);
    return emp_value_marked(v, origin_text[cell->origin].mark);
}

/* The method whose time divides the times of a row; NULL: none. */
static const char *reference_of(const emp_table *t, int32_t r)
{
    const int32_t column = emp_table_reference(t, r);

    return column >= 0 ? t->column[column].method : NULL;
}

static void add_cell(emp_sheet *s, const emp_table *t, int32_t r, int32_t c,
                     bool is_mixed)
{
    const emp_task         *row = &t->row[r];
    const emp_table_column *column = &t->column[c];
    const emp_table_cell   *cell = emp_table_at(t, r, c);
    const emp_table_cell    seen = emp_table_seen(t, r, c);
    const emp_table_cell    divided = emp_table_divide(t, r, c);
    const emp_table_bound  *bound = &t->bound[r];
    bool                    has_reference = emp_table_reference(t, r) >= 0;
    bool                    is_best = column->has_median;
    bool                    is_gain = column->shown == EMP_SHOWN_GAIN;
    bool                    has_rate = isfinite(cell->asked_flops_per_s);
    bool                    has_bound = bound->gpu_kernels_s > 0;
    char                    shown[EMP_SHEET_CELL_BYTES], paper[EMP_SHEET_CELL_BYTES];
    emp_value               ours = ours_of(column, &seen, shown);
    /* Paper and ours both out of memory agree; where just one is, there is no ratio. */
    bool      is_same = isinf(cell->paper_s) && isinf(cell->shown);
    emp_value ratio = is_same ? EMP_V("same") : EMP_V(emp_table_ratio(&seen));

    EMP_SHEET_ADD(
        s, EMP_V(row->title), EMP_V(row->spec), EMP_V(row->machine), EMP_V(t->runtime),
        EMP_V(row->gpu_count), EMP_V(column->title), EMP_V(column->method),
        EMP_V(column->preset),
        emp_value_if(is_mixed, EMP_V(column->options == NULL ? "" : column->options)),
        emp_value_if(is_mixed, EMP_V(shown_name[column->shown])), EMP_V(column->budget),
        EMP_V(cell->run_count), EMP_V(cell->oom_count), emp_value_if(!is_best, ours),
        emp_value_if(is_best, ours),
        emp_value_if(!is_gain,
                     emp_value_range(cell->shown, cell->ours_s.min, cell->ours_s.max)),
        emp_value_if(is_best, EMP_V(seen.typical_s)),
        emp_value_if(column->has_paper, value_of(column, seen.paper_s, paper)),
        emp_value_if(!is_gain, EMP_V(cell->paper_s)),
        emp_value_if(column->has_paper, ratio), EMP_V(emp_table_ratio(cell)),
        EMP_V(reference_of(t, r)),
        emp_value_if(has_reference, emp_value_range(divided.shown, divided.ours_s.min,
                                                    divided.ours_s.max)),
        emp_value_if(has_reference, EMP_V(divided.paper_s)),
        emp_value_if(has_reference, EMP_V(emp_table_ratio(&divided))),
        emp_value_if(is_gain, EMP_V(cell->shown)),
        emp_value_if(is_gain, EMP_V(cell->paper_s)),
        EMP_V(origin_text[cell->origin].name),
        emp_value_if(has_rate, EMP_V(cell->asked_flops_per_s)),
        emp_value_if(has_rate, EMP_V(cell->peak_flops_per_s)),
        emp_value_if(bound->any_s > 0, EMP_V(bound->any_s)),
        emp_value_if(has_bound && cell->keeps_gpu_kernels, EMP_V(bound->gpu_kernels_s)),
        EMP_V(cell->peak_bytes), EMP_V(cell->graph_hash), EMP_V(cell->machine_hash),
        EMP_V(cell->runtime_hash));
}

/* ---- notes ---- */

/* True when the column before has the same runs. */
static bool repeats_runs(const emp_table *t, int32_t column)
{
    return column > 0 &&
           emp_table_has_same_runs(&t->column[column - 1], &t->column[column]);
}

/* True when the full table has more of something. */
static bool is_shortened(const emp_table_column *column)
{
    return column->budget < column->full_budget ||
           column->seed_count < column->full_seed_count;
}

static void note_shortened(emp_sheet *s, const emp_table *t)
{
    bool has_shortened = false;

    for (int32_t c = 0; c < t->column_count; c++)
        has_shortened = has_shortened || is_shortened(&t->column[c]);
    if (has_shortened)
        emp_sheet_note(s, "This is a first table: methods below that say \"of\" have "
                          "smaller budgets or fewer seeds than with --full.");
}

/* "500 of 8000": what a column has of what the full table has. */
static void add_share(emp_text *line, int64_t count, int64_t full)
{
    emp_text_add(line, "%" PRId64, count);
    if (count < full) emp_text_add(line, " of %" PRId64, full);
}

/* "1 to 2 of 5 seeds": how many runs the cells of a column have, which differ in a partial table. */
static void add_seeds_made(emp_text *line, const emp_table *t, int32_t c)
{
    int32_t least = EMP_TRIALS_SEEDS, most = 0;

    for (int32_t r = 0; r < t->row_count; r++) {
        const int32_t made = emp_table_at(t, r, c)->run_count;
        if (made < least) least = made;
        if (made > most) most = made;
    }
    if (least < most) emp_text_add(line, "%d to ", least);
    emp_text_add(line, "%d of %d seed%s", most, t->column[c].full_seed_count,
                 emp_units_plural(t->column[c].full_seed_count));
}

static void note_budgets(emp_sheet *s, const emp_table *t)
{
    for (int32_t c = 0; c < t->column_count; c++) {
        const emp_table_column *column = &t->column[c];
        char                    array[512];
        emp_text                line = {array, sizeof array, 0};
        if (column->budget == 0 && column->seed_count == 1 && !is_shortened(column))
            continue;
        if (column->shown == EMP_SHOWN_GAIN || repeats_runs(t, c)) continue;
        if (column->preset != NULL) emp_text_add(&line, "preset %s, ", column->preset);
        if (column->options != NULL) emp_text_add(&line, "%s, ", column->options);
        if (column->budget > 0) {
            add_share(&line, column->budget, column->full_budget);
            emp_text_add(&line, " evaluations a run, ");
        }
        if (t->runs_made < t->runs_planned)
            add_seeds_made(&line, t, c);
        else {
            emp_text_add(&line, column->seed_count == 1 ? "seed " : "seeds 1 to ");
            add_share(&line, column->seed_count, column->full_seed_count);
        }
        emp_sheet_note(s, "%s: %s.", column->title, line.at);
    }
}

static void note_failures(emp_sheet *s, const emp_table *t)
{
    for (int32_t i = 0; i < t->row_count * t->column_count; i++) {
        const emp_table_cell *cell = &t->cell[i];
        if (cell->oom_count == 0 || cell->oom_count == cell->run_count) continue;
        if (repeats_runs(t, i % t->column_count)) continue;
        emp_sheet_note(s, "%s, %s: %d of %d seeds found no placement that fits.",
                       t->row[i / t->column_count].title,
                       t->column[i % t->column_count].title, cell->oom_count,
                       cell->run_count);
    }
}

static void note_origins(emp_sheet *s, const emp_table *t)
{
    int32_t count[EMP_ORIGIN_COUNT] = {0};

    for (int32_t i = 0; i < t->row_count * t->column_count; i++)
        count[t->cell[i].origin]++;
    if (count[EMP_ORIGIN_FITTED] > 0)
        emp_sheet_note(
            s,
            "* Fitted: %d constant%s of machine and runtime, one set for all rows, "
            "fitted to published figures. Cells: %d.",
            t->fitted_constants, t->fitted_constants == 1 ? "" : "s",
            count[EMP_ORIGIN_FITTED]);
    if (count[EMP_ORIGIN_INFERRED] > 0)
        emp_sheet_note(
            s,
            "+ Inferred: a size of the workload was bounded by memory verdicts "
            "or impossible times of the paper. Cells: %d.",
            count[EMP_ORIGIN_INFERRED]);
    if (count[EMP_ORIGIN_REPEATED] > 0)
        emp_sheet_note(s, "= Repeats a fitted or inferred cell of its row. Cells: %d.",
                       count[EMP_ORIGIN_REPEATED]);
    if (count[EMP_ORIGIN_OTHER] > 0)
        emp_sheet_note(s,
                       "~ Not comparable: a reported time is impossible at this size. "
                       "Cells: %d.",
                       count[EMP_ORIGIN_OTHER]);
    if (t->impossible_note[0] != '\0')
        emp_sheet_note(s, "Impossible sizes. %s", t->impossible_note);
    emp_sheet_note(
        s, "Cells without a mark: %d are predicted, %d have no figure to compare with.",
        count[EMP_ORIGIN_PREDICTED], count[EMP_ORIGIN_BARE]);
}

/* A gain of the paper over the reference that no placement of ours can have, or none that keeps GPU kernels on
 * GPUs. */
static void note_out_of_reach(emp_sheet *s, const emp_table *t, int32_t r, int32_t c)
{
    const emp_table_bound *bound = &t->bound[r];
    const emp_table_cell   divided = emp_table_divide(t, r, c);
    const int32_t          by = emp_table_reference(t, r);
    const double           target_s =
        by >= 0 ? divided.paper_s * emp_table_at(t, r, by)->shown : NAN;
    char     array[120] = "", text[EMP_SHEET_CELL_BYTES];
    emp_text line = {array, sizeof array, 0};

    if (target_s < bound->any_s)
        emp_text_add(&line, ", no placement is below %s s",
                     emp_sheet_number_fine(bound->any_s, text));
    if (target_s < bound->gpu_kernels_s && bound->gpu_kernels_s > bound->any_s)
        emp_text_add(&line, ", none with GPU kernels on GPUs only is below %s s",
                     emp_sheet_number_fine(bound->gpu_kernels_s, text));
    if (line.used > 0)
        emp_sheet_note(
            s, "%s, %s: the paper's ratio of %.2f to %s would be %s s here, but%s.",
            t->row[r].title, t->column[c].title, divided.paper_s, t->column[by].title,
            emp_sheet_number_fine(target_s, text), array + 1);
}

/* The factors between the paper's references and ours, which cancel in the relative form. */
static void note_factors(emp_sheet *s, const emp_table *t)
{
    char     array[512] = "";
    emp_text line = {array, sizeof array, 0};

    for (int32_t r = 0; r < t->row_count; r++) {
        const int32_t by = emp_table_reference(t, r);
        if (by < 0 || emp_table_at(t, r, by)->origin != EMP_ORIGIN_PREDICTED) continue;
        emp_text_add(&line, "%s %s %.2f", line.used > 0 ? ";" : "", t->row[r].title,
                     1.0 / emp_table_ratio(emp_table_at(t, r, by)));
    }
    if (line.used > 0)
        emp_sheet_note(s, "The paper's expert (else one GPU) over ours:%s.", array);
}

static void note_relative(emp_sheet *s)
{
    emp_sheet_note(
        s, "Relative: each time is divided by that of the human expert of its row "
           "(GPU only where there is none), ours by ours and the paper's by the "
           "paper's, because a common factor of the machine cancels there.");
}

static void note_row(emp_sheet *s, const emp_task *row, const emp_table_bound *bound)
{
    char     array[160] = "", text[EMP_SHEET_CELL_BYTES];
    emp_text line = {array, sizeof array, 0};

    if (bound->any_s > 0)
        emp_text_add(&line, "; no step is below %s s",
                     emp_sheet_number_fine(bound->any_s, text));
    if (bound->any_s > 0 && bound->gpu_kernels_s > bound->any_s)
        emp_text_add(&line, ", or %s s with GPU kernels on GPUs only",
                     emp_sheet_number_fine(bound->gpu_kernels_s, text));
    emp_sheet_note(s, "%s: %s on %s%s.", row->title, row->spec, row->machine, array);
}

static void add_notes(emp_sheet *s, const emp_table *t, emp_table_order order)
{
    const char *const         notes[] = {t->note, t->gain_note};
    const emp_table_agreement near = emp_table_agree(t);

    if (t->is_relative) note_relative(s);
    emp_sheet_note(
        s,
        "Ours: %sthe simulated machine, runtime %s: the best placement found, "
        "median over seeds, with min-max where seeds differ. OOM: nothing that was tried "
        "fits in memory.",
        t->is_relative ? "" : "seconds of ", t->runtime);
    emp_sheet_note(s, "Paper: reported figures, %s. Ratio: ours / paper.", t->source);
    note_origins(s, t);
    for (int i = 0; i < 2; i++)
        if (notes[i][0] != '\0') emp_sheet_note(s, "%s", notes[i]);
    if (near.cells > 0)
        emp_sheet_note(s,
                       "%d of the %d predicted cells with a time are within %d %% of the "
                       "paper's; the mean error is %.0f %%.",
                       near.near, near.cells, EMP_TABLE_NEAR, 100 * near.error_frac);
    note_factors(s, t);
    for (int32_t i = 0; i < t->row_count * t->column_count; i++)
        note_out_of_reach(s, t, i / t->column_count, i % t->column_count);
    if (order.pairs > 0)
        emp_sheet_note(
            s,
            "%d of the %d pairs of predicted cells of a row, of different runs, that the "
            "paper puts in an order are in that order here.",
            order.same, order.pairs);
    note_shortened(s, t);
    note_budgets(s, t);
    note_failures(s, t);
    for (int32_t r = 0; r < t->row_count; r++) note_row(s, &t->row[r], &t->bound[r]);
    emp_sheet_note(s, "Sizes that a row does not name are defaults: emplace workloads.");
}

emp_status emp_table_print(FILE *out, const emp_table *t, emp_sheet_format format,
                           emp_error *err)
{
    emp_table_order           order = emp_table_compare_order(t);
    const emp_table_agreement near = emp_table_agree(t);
    bool                      is_mixed = is_mixed_table(t);
    emp_sheet                 s;

    EMP_SHEET_INIT(&s, columns);
    s.command = t->command;
    s.version = t->version;
    s.commit = t->commit;
    s.is_dirty = t->is_dirty;
    s.group_width = 13;
    emp_sheet_set_title(&s, "%s%s", t->title,
                        t->is_relative ? " Each divided by the expert of its row." : "");
    emp_sheet_set_facts(&s, json_pack("{s:s, s:s, s:i, s:{s:i, s:i}, s:{s:i, s:i}, s:b}",
                                      "runtime", t->runtime, "paper", t->source,
                                      "fitted_constants", t->fitted_constants, "order",
                                      "pairs", order.pairs, "same", order.same,
                                      "agreement", "cells", near.cells, "near", near.near,
                                      "relative", t->is_relative));
    for (int32_t i = 0; i < t->row_count * t->column_count; i++)
        add_cell(&s, t, i / t->column_count, i % t->column_count, is_mixed);
    emp_sheet_set_runs(&s, t->runs_made, t->runs_planned);
    add_notes(&s, t, order);
    emp_status st = emp_sheet_print(out, &s, format, err);
    emp_sheet_clear(&s);
    return st;
}
