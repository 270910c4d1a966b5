// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/iterations/iterations.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

enum { NAME_BYTES = 96 };

/* ---- predictions ---- */

static emp_status predict(emp_iteration_result *result, const emp_iteration *it,
                          const emp_iteration_sources *sources, emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_step        step;
    emp_step_result simulated;
    emp_stage_cost *stages = NULL;

    if (it->group != NULL)
        EMP_TRY(emp_layers_plan(&step, &stages, it, sources->layers, sources->network,
                                sources->engine, err));
    else
        EMP_TRY(emp_transformer_plan(&step, &stages, it, sources->hosts, err));
    EMP_TRY(emp_step_simulate(&simulated, &step, err));
    result->step_s = simulated.step_s;
    result->peak_bytes = NAN;
    if (it->group != NULL)
        result->peak_bytes = (double)(simulated.peak_bytes + EMP_PROCESS_BYTES);

cleanup:
    emp_free(stages);
    return st;
}

emp_status emp_iterations_predict(emp_iteration_result        *result,
                                  const emp_iterations        *iterations,
                                  const emp_iteration_sources *sources, emp_error *err)
{
    for (int32_t i = 0; i < iterations->count; i++) {
        emp_error  why = {0};
        emp_status st = predict(&result[i], &iterations->row[i], sources, &why);
        if (st != EMP_OK)
            return EMP_ERROR(st, "%s, row %d: %s", iterations->csv.path, i + 1, why.msg);
    }
    return EMP_OK;
}

/* ---- errors ---- */

static double predicted_of(const emp_iteration *it, const emp_iteration_result *result,
                           bool are_times, bool is_formula)
{
    if (is_formula) return are_times ? it->formula_s : it->formula_peak_bytes;
    return are_times ? result->step_s : result->peak_bytes;
}

static double measured_of(const emp_iteration *it, bool are_times)
{
    return are_times ? it->measured_s : it->measured_peak_bytes;
}

emp_iteration_error emp_iterations_error(const emp_iterations       *iterations,
                                         const emp_iteration_result *result,
                                         const char *cluster, bool are_times,
                                         bool is_formula)
{
    emp_iteration_error e = {0};
    double              sum = 0.0;

    for (int32_t i = 0; i < iterations->count; i++) {
        const emp_iteration *it = &iterations->row[i];
        double               off = predicted_of(it, &result[i], are_times, is_formula) /
                         measured_of(it, are_times) -
                     1.0;
        if ((cluster != NULL && strcmp(cluster, it->cluster) != 0) || isnan(off))
            continue;
        sum += fabs(off);
        e.count++;
    }
    e.mean_frac = e.count > 0 ? sum / e.count : NAN;
    return e;
}

static bool are_alternatives(const emp_iteration *a, const emp_iteration *b)
{
    return a->global_batch == b->global_batch && strcmp(a->cluster, b->cluster) == 0 &&
           strcmp(a->model, b->model) == 0 && a->measured_s != b->measured_s;
}

emp_iteration_pairs emp_iterations_count_pairs(const emp_iterations       *iterations,
                                               const emp_iteration_result *result,
                                               bool                        is_formula)
{
    emp_iteration_pairs pairs = {0};

    for (int32_t i = 0; i < iterations->count; i++) {
        for (int32_t j = 0; j < i; j++) {
            const emp_iteration *a = &iterations->row[i], *b = &iterations->row[j];
            double               of_a = predicted_of(a, &result[i], true, is_formula);
            double               of_b = predicted_of(b, &result[j], true, is_formula);
            if (!are_alternatives(a, b) || isnan(of_a) || isnan(of_b)) continue;
            pairs.count++;
            pairs.right +=
                of_a != of_b && (of_a < of_b) == (a->measured_s < b->measured_s);
        }
    }
    return pairs;
}

/* ---- the sheet ---- */

static const emp_sheet_column columns[] = {
    EMP_COLUMN("iteration", "iteration", EMP_SHEET_WORD),
    EMP_COLUMN("measured_s", "measured", EMP_SHEET_SECONDS),
    EMP_COLUMN("predicted_s", "predicted", EMP_SHEET_SECONDS),
    EMP_COLUMN("error", "error", EMP_SHEET_CHANGE),
    EMP_COLUMN("formula_error", "formula's", EMP_SHEET_CHANGE, .is_optional = true),
    EMP_COLUMN("measured_peak_bytes", "peak", EMP_SHEET_BYTES, .is_optional = true),
    EMP_COLUMN("predicted_peak_bytes", "predicted", EMP_SHEET_BYTES, .is_optional = true),
    EMP_COLUMN("peak_error", "error", EMP_SHEET_CHANGE, .is_optional = true),
    EMP_COLUMN("formula_peak_error", "formula's", EMP_SHEET_CHANGE, .is_optional = true),
};

/* "tp 8 dp 4 pp 2, 3 x 12": what a row without a name is. */
static const char *name_of(char name[NAME_BYTES], const emp_iteration *it)
{
    if (it->id[0] != '\0')
        snprintf(name, NAME_BYTES, "%s", it->id);
    else
        snprintf(name, NAME_BYTES, "%s%sh %d tp %d dp %d pp %d, %d x %d", it->cluster,
                 it->cluster[0] != '\0' ? " B, " : "", it->hidden, it->tensor_parallel,
                 it->replicas, it->stages, it->micro_batches, it->micro_batch);
    return name;
}

static emp_value off(double predicted, double measured)
{
    double frac = predicted / measured - 1.0;

    return emp_value_if(!isnan(frac), EMP_V(frac));
}

static void add_row(emp_sheet *s, const emp_iteration *it, const emp_iteration_result *r)
{
    char name[NAME_BYTES];
    bool has_peak = !isnan(it->measured_peak_bytes);

    EMP_SHEET_ADD(
        s, EMP_V(name_of(name, it)), EMP_V(it->measured_s), EMP_V(r->step_s),
        off(r->step_s, it->measured_s), off(it->formula_s, it->measured_s),
        emp_value_if(has_peak, emp_value_count(
                                   (int64_t)(has_peak ? it->measured_peak_bytes : 0.0))),
        emp_value_if(
            !isnan(r->peak_bytes),
            emp_value_count((int64_t)(isnan(r->peak_bytes) ? 0.0 : r->peak_bytes))),
        off(r->peak_bytes, it->measured_peak_bytes),
        off(it->formula_peak_bytes, it->measured_peak_bytes));
}

static void note_errors(emp_sheet *s, const emp_iterations *iterations,
                        const emp_iteration_result *result, const char *cluster)
{
    static const char *const whats[] = {"peak memory", "time"};

    for (int32_t are_times = 1; are_times >= 0; are_times--) {
        emp_iteration_error ours =
            emp_iterations_error(iterations, result, cluster, are_times, false);
        emp_iteration_error formula =
            emp_iterations_error(iterations, result, cluster, are_times, true);
        char beside[64] = "";
        if (ours.count == 0) continue;
        if (formula.count > 0)
            snprintf(beside, sizeof beside, ", the formula's %.1f %%",
                     100.0 * formula.mean_frac);
        emp_sheet_note(s, "%s, %s: mean error %.1f %% over %d rows%s.",
                       cluster == NULL ? "All" : cluster, whats[are_times],
                       100.0 * ours.mean_frac, ours.count, beside);
    }
}

static bool is_first_of_cluster(const emp_iterations *iterations, int32_t row)
{
    for (int32_t i = 0; i < row; i++)
        if (strcmp(iterations->row[i].cluster, iterations->row[row].cluster) == 0)
            return false;
    return true;
}

void emp_iterations_tabulate(emp_sheet *sheet, const emp_iterations *iterations,
                             const emp_iteration_result *result)
{
    EMP_SHEET_INIT(sheet, columns);
    emp_sheet_set_title(sheet, "Measured iterations beside predictions");
    for (int32_t i = 0; i < iterations->count; i++)
        add_row(sheet, &iterations->row[i], &result[i]);
    for (int32_t i = 0; i < iterations->count && !iterations->are_transformers; i++)
        if (is_first_of_cluster(iterations, i))
            note_errors(sheet, iterations, result, iterations->row[i].cluster);
    note_errors(sheet, iterations, result, NULL);
    emp_iteration_pairs ours = emp_iterations_count_pairs(iterations, result, false);
    emp_iteration_pairs formula = emp_iterations_count_pairs(iterations, result, true);
    if (ours.count > 0)
        emp_sheet_note(sheet, "Pairs of alternatives in the right order: %d of %d.",
                       ours.right, ours.count);
    if (formula.count > 0)
        emp_sheet_note(sheet, "Likewise by the formula: %d of %d.", formula.right,
                       formula.count);
    emp_sheet_note(sheet, "No constant was fitted to an iteration.");
}
