// SPDX-License-Identifier: GPL-3.0-or-later
/* For programs: one line (CSV) or object (JSON) a cell. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>

#include "bench/tables/table_internal.h"

void emp_table_csv_number(FILE *out, double value)
{
    if (isinf(value))
        fprintf(out, ",OOM");
    else if (isnan(value))
        fprintf(out, ",");
    else
        fprintf(out, ",%.6g", value);
}

static const char *shown_name(emp_shown shown)
{
    static const char *const names[] = {[EMP_SHOWN_MEDIAN] = "median",
                                        [EMP_SHOWN_BEST] = "best",
                                        [EMP_SHOWN_WORST] = "worst",
                                        [EMP_SHOWN_GAIN] = "gain"};

    return names[shown];
}

/* A column has options or shows something else than a median: then a cell says which
 * options its runs had and what is shown of them; of a gain, ours_s and paper_s are no
 * seconds but fractions. */
static bool is_mixed_table(const emp_table *t)
{
    for (int32_t c = 0; c < t->column_count; c++) {
        if (t->column[c].options != NULL || t->column[c].shown != EMP_SHOWN_MEDIAN)
            return true;
    }
    return false;
}

void emp_table_print_csv(FILE *out, const emp_table *t)
{
    bool is_mixed = is_mixed_table(t);

    fprintf(out,
            "task,workload,machine,runtime,gpus,method,preset,%sbudget,seeds,oom_seeds,"
            "ours_s,min_s,max_s,median_of_candidates_s,paper_s,ratio,fitted,peak_bytes,"
            "graph_hash,machine_hash,runtime_hash,commit,dirty\n",
            is_mixed ? "options,shown," : "");
    for (int32_t i = 0; i < t->row_count * t->column_count; i++) {
        const emp_task         *row = &t->row[i / t->column_count];
        const emp_table_column *column = &t->column[i % t->column_count];
        const emp_table_cell   *cell = &t->cell[i];
        /* Specs hold commas. */
        fprintf(out, "\"%s\",\"%s\",%s,%s,%d,%s,%s,", row->title, row->spec, row->machine,
                t->runtime, row->gpu_count, column->method,
                column->preset == NULL ? "" : column->preset);
        if (is_mixed)
            fprintf(out, "\"%s\",%s,", column->options == NULL ? "" : column->options,
                    shown_name(column->shown));
        fprintf(out, "%" PRId64 ",%d,%d", column->budget, cell->run_count,
                cell->oom_count);
        emp_table_csv_number(out, cell->shown);
        emp_table_csv_number(out, cell->ours_s.min);
        emp_table_csv_number(out, cell->ours_s.max);
        emp_table_csv_number(out, cell->typical_s);
        emp_table_csv_number(out, cell->paper_s);
        emp_table_csv_number(out, emp_table_ratio(cell));
        fprintf(out,
                ",%d,%" PRId64 ",%016" PRIx64 ",%016" PRIx64 ",%016" PRIx64 ",%s,%d\n",
                cell->is_fitted, cell->peak_bytes, cell->graph_hash, cell->machine_hash,
                cell->runtime_hash, t->commit, t->is_dirty);
    }
}

/* JSON has neither infinity nor NaN. */
static json_t *json_seconds(double value)
{
    if (isnan(value)) return json_null();
    return isinf(value) ? json_string("OOM") : json_real(value);
}

static json_t *json_cell(const emp_table_column *column, const emp_table_cell *cell,
                         bool is_mixed)
{
    return json_pack(
        "{s:s, s:s?, s:s*, s:s*, s:I, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:I}",
        "method", column->method, "preset", column->preset, "options", column->options,
        "shown", is_mixed ? shown_name(column->shown) : NULL, "budget",
        (json_int_t)column->budget, "seeds", cell->run_count, "oom_seeds",
        cell->oom_count, "ours_s", json_seconds(cell->shown), "min_s",
        json_seconds(cell->ours_s.min), "max_s", json_seconds(cell->ours_s.max),
        "median_of_candidates_s", json_seconds(cell->typical_s), "paper_s",
        json_seconds(cell->paper_s), "ratio", json_seconds(emp_table_ratio(cell)),
        "fitted", cell->is_fitted, "peak_bytes", (json_int_t)cell->peak_bytes);
}

static json_t *json_row(const emp_table *t, int32_t r)
{
    const emp_task *row = &t->row[r];
    json_t         *cells = json_array();

    for (int32_t c = 0; c < t->column_count; c++) {
        if (json_array_append_new(cells, json_cell(&t->column[c], emp_table_at(t, r, c),
                                                   is_mixed_table(t)))) {
            json_decref(cells);
            return NULL;
        }
    }
    return json_pack("{s:s, s:s, s:s, s:i, s:o}", "task", row->title, "workload",
                     row->spec, "machine", row->machine, "gpus", row->gpu_count, "cells",
                     cells);
}

emp_status emp_table_print_json(FILE *out, const emp_table *t, emp_error *err)
{
    emp_status st = EMP_OK;
    json_t    *rows = json_array(), *root = NULL;

    for (int32_t r = 0; r < t->row_count; r++) {
        if (json_array_append_new(rows, json_row(t, r)) != 0) {
            EMP_FAIL(EMP_ENOMEM, "table as JSON");
        }
    }
    emp_table_order order = emp_table_compare_order(t);
    root = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:{s:i, s:i}, s:O}",
                     "title", t->title, "runtime", t->runtime, "paper", t->source,
                     "fitted", t->fitted_note, "command", t->command, "version",
                     t->version, "commit", t->commit, "dirty", t->is_dirty, "order",
                     "pairs", order.pairs, "same", order.same, "rows", rows);
    if (root == NULL ||
        json_dumpf(root, out, JSON_INDENT(1) | JSON_REAL_PRECISION(15)) != 0) {
        EMP_FAIL(EMP_ENOMEM, "table as JSON");
    }
    fprintf(out, "\n");

cleanup:
    json_decref(root);
    json_decref(rows);
    return st;
}
