// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/tables/table.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/text.h"
#include "run/sheet/sheet.h"

emp_status emp_table_create(emp_table **out, int32_t row_count, int32_t column_count,
                            emp_error *err)
{
    emp_status   st = EMP_OK;
    emp_manifest manifest = emp_manifest_get();
    size_t       cell_count = (size_t)row_count * (size_t)column_count;
    emp_table   *t = EMP_NEW(emp_table);

    *out = NULL;
    if (t == NULL) EMP_FAIL(EMP_ENOMEM, "table");
    t->row_count = row_count;
    t->column_count = column_count;
    EMP_TRY(EMP_ALLOC(t->row, (size_t)row_count));
    EMP_TRY(EMP_ALLOC(t->bound, (size_t)row_count));
    EMP_TRY(EMP_ALLOC(t->column, (size_t)column_count));
    EMP_TRY(EMP_ALLOC(t->cell, cell_count));
    for (size_t i = 0; i < cell_count; i++) {
        t->cell[i].ours_s = (emp_summary){NAN, NAN, NAN};
        t->cell[i].shown = t->cell[i].typical_s = NAN;
        t->cell[i].paper_s = NAN;
        t->cell[i].asked_flops_per_s = t->cell[i].peak_flops_per_s = NAN;
    }
    t->title = t->source = t->note = "";
    snprintf(t->version, sizeof t->version, "%s", manifest.version);
    snprintf(t->commit, sizeof t->commit, "%s", manifest.commit);
    t->is_dirty = manifest.is_dirty;
    *out = t;
    t = NULL;

cleanup:
    emp_table_destroy(t);
    return st;
}

void emp_table_destroy(emp_table *t)
{
    if (t == NULL) return;
    emp_free(t->row);
    emp_free(t->bound);
    emp_free(t->column);
    emp_free(t->cell);
    emp_free(t);
}

emp_table_cell *emp_table_at(const emp_table *t, int32_t row, int32_t column)
{
    return &t->cell[row * t->column_count + column];
}

static void show(emp_table_cell *cell, emp_shown shown)
{
    switch (shown) {
    case EMP_SHOWN_MEDIAN: cell->shown = cell->ours_s.median; break;
    case EMP_SHOWN_BEST: cell->shown = cell->ours_s.min; break;
    case EMP_SHOWN_WORST: cell->shown = cell->ours_s.max; break;
    case EMP_SHOWN_GAIN: break; /* whoever knows both cells sets it */
    }
}

static int64_t peak_of(const emp_record *r)
{
    int64_t peak = 0;

    for (int32_t d = 0; d < r->device_count; d++)
        if (r->peak_bytes[d] > peak) peak = r->peak_bytes[d];
    return peak;
}

static double best_of(const emp_record *r)
{
    return r->is_feasible ? r->best_step_time_s : INFINITY;
}

void emp_table_fill(emp_table *t, int32_t row, int32_t column,
                    const emp_record *const *records, int32_t count)
{
    emp_table_cell *cell = emp_table_at(t, row, column);
    double          best_s[EMP_TRIALS_SEEDS], typical_s[EMP_TRIALS_SEEDS];

    cell->run_count = count;
    cell->oom_count = 0;
    for (int32_t i = 0; i < count; i++) {
        const emp_record *r = records[i];
        best_s[i] = best_of(r);
        typical_s[i] = r->is_feasible ? r->median_s : INFINITY;
        if (!r->is_feasible) cell->oom_count++;
        cell->peak_bytes = peak_of(r);
        cell->graph_hash = r->graph_hash;
        cell->machine_hash = r->machine_hash;
        cell->runtime_hash = r->runtime_hash;
    }
    cell->ours_s = emp_summary_of(best_s, (size_t)count);
    if (t->column[column].has_median) {
        cell->typical_s = emp_summary_of(typical_s, (size_t)count).median;
    }
    show(cell, t->column[column].shown);
    for (int32_t i = count - 1; i >= 0; i--) /* the run that is shown, if it is one */
        if (best_of(records[i]) == cell->shown) cell->peak_bytes = peak_of(records[i]);
}

static bool is_same_text(const char *a, const char *b)
{
    return strcmp(a == NULL ? "" : a, b == NULL ? "" : b) == 0;
}

bool emp_table_has_same_runs(const emp_table_column *a, const emp_table_column *b)
{
    return a->shown != EMP_SHOWN_GAIN && b->shown != EMP_SHOWN_GAIN &&
           strcmp(a->method, b->method) == 0 && is_same_text(a->preset, b->preset) &&
           is_same_text(a->options, b->options) && a->budget == b->budget &&
           a->seed_count == b->seed_count;
}

double emp_table_ratio(const emp_table_cell *cell)
{
    bool is_gain = isnan(cell->ours_s.median);
    bool both = isfinite(cell->shown) && isfinite(cell->paper_s);

    return both && !is_gain ? cell->shown / cell->paper_s : NAN;
}

static bool is_same_step(const emp_table_cell *a, const emp_table_cell *b)
{
    return a->shown == b->shown && a->peak_bytes == b->peak_bytes;
}

/* A method that finds the placement of a fitted cell predicts nothing. */
static bool is_repeated(const emp_table *t, int32_t row, const emp_table_cell *cell)
{
    for (int32_t c = 0; c < t->column_count; c++) {
        const emp_table_cell *other = emp_table_at(t, row, c);
        if (other == cell) continue;
        if (other->origin != EMP_ORIGIN_FITTED && other->origin != EMP_ORIGIN_INFERRED)
            continue;
        if (is_same_step(other, cell)) return true;
    }
    return false;
}

void emp_table_trace_origins(emp_table *t)
{
    for (int32_t r = 0; r < t->row_count; r++) {
        for (int32_t c = 0; c < t->column_count; c++) {
            emp_table_cell *cell = emp_table_at(t, r, c);
            if (cell->origin != EMP_ORIGIN_BARE) continue;
            if (isnan(cell->paper_s) || isnan(cell->shown)) continue;
            cell->origin =
                is_repeated(t, r, cell) ? EMP_ORIGIN_REPEATED : EMP_ORIGIN_PREDICTED;
        }
    }
}

static bool is_prediction(const emp_table_cell *cell)
{
    return cell->origin == EMP_ORIGIN_PREDICTED && isfinite(emp_table_ratio(cell));
}

/* ---- the relative form ---- */

void emp_table_relate(emp_table *table)
{
    emp_text command = {table->command, sizeof table->command, strlen(table->command)};

    table->is_relative = true;
    emp_text_add(&command, " --relative");
}

int32_t emp_table_reference(const emp_table *table, int32_t row)
{
    static const char *const methods[] = {"expert", "gpu"};

    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        for (int32_t c = 0; c < table->column_count; c++) {
            const emp_table_cell *cell = emp_table_at(table, row, c);
            if (strcmp(table->column[c].method, methods[i]) == 0 &&
                isfinite(cell->shown) && isfinite(cell->paper_s))
                return c;
        }
    }
    return -1;
}

emp_table_cell emp_table_divide(const emp_table *table, int32_t row, int32_t column)
{
    emp_table_cell cell = *emp_table_at(table, row, column);
    double         ours = NAN, paper = NAN;
    const int32_t  reference = emp_table_reference(table, row);
    if (reference >= 0) {
        ours = emp_table_at(table, row, reference)->shown;
        paper = emp_table_at(table, row, reference)->paper_s;
    }
    cell.ours_s = (emp_summary){cell.ours_s.median / ours, cell.ours_s.min / ours,
                                cell.ours_s.max / ours};
    cell.shown /= ours;
    cell.typical_s /= ours;
    cell.paper_s /= paper;
    return cell;
}

emp_table_cell emp_table_seen(const emp_table *table, int32_t row, int32_t column)
{
    return table->is_relative ? emp_table_divide(table, row, column)
                              : *emp_table_at(table, row, column);
}

emp_table_agreement emp_table_agree(const emp_table *table)
{
    emp_table_agreement a = {0, 0, NAN};
    double              sum = 0.0;

    for (int32_t r = 0; r < table->row_count; r++) {
        const int32_t one = table->is_relative ? emp_table_reference(table, r) : -1;
        for (int32_t c = 0; c < table->column_count; c++) {
            const emp_table_cell cell = emp_table_seen(table, r, c);
            if (!is_prediction(&cell)) continue;
            if (one >= 0 &&
                is_same_step(emp_table_at(table, r, one), emp_table_at(table, r, c)))
                continue;
            const double error = fabs(emp_table_ratio(&cell) - 1.0);
            a.cells++;
            a.near += error <= EMP_TABLE_NEAR / 100.0;
            sum += error;
        }
    }
    if (a.cells > 0) a.error_frac = sum / a.cells;
    return a;
}

/* ---- order ---- */

static int sign_of(double x) { return (x > 0.0) - (x < 0.0); }

/* True when the paper says which is faster, and nothing that was done here settles it: best
 * and worst of the same runs are in order by construction. */
static bool is_comparable(const emp_table *t, int32_t row, int32_t a, int32_t b)
{
    const emp_table_cell *x = emp_table_at(t, row, a), *y = emp_table_at(t, row, b);

    return is_prediction(x) && is_prediction(y) && x->paper_s != y->paper_s &&
           !emp_table_has_same_runs(&t->column[a], &t->column[b]);
}

emp_table_order emp_table_compare_order(const emp_table *table)
{
    emp_table_order order = {0, 0};

    for (int32_t r = 0; r < table->row_count; r++) {
        for (int32_t a = 0; a < table->column_count; a++) {
            const emp_table_cell *x = emp_table_at(table, r, a);
            for (int32_t b = 0; b < a; b++) {
                const emp_table_cell *y = emp_table_at(table, r, b);
                if (!is_comparable(table, r, a, b)) continue;
                order.pairs++;
                order.same +=
                    sign_of(x->shown - y->shown) == sign_of(x->paper_s - y->paper_s);
            }
        }
    }
    return order;
}
