// SPDX-License-Identifier: GPL-3.0-or-later
/* Prints, draws and records the results of emplace validate. */
#include "cli/commands/validate.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "base/io/atomic_file.h"
#include "base/mem.h"
#include "base/text/units.h"
#include "bench/plots/gnuplot.h"
#include "cli/cli.h"

enum { SHOWN_TYPES = 12 };

/* ---- what is printed --------------------------------------------------------------- */

static const emp_sheet_column type_columns[] = {
    EMP_COLUMN("type", "ops that take longest", EMP_SHEET_WORD, .width = 32),
    EMP_COLUMN("count", "count", EMP_SHEET_COUNT),
    EMP_COLUMN("predicted_s", "predicted", EMP_SHEET_SECONDS),
    EMP_COLUMN("measured_s", "measured", EMP_SHEET_SECONDS),
    EMP_COLUMN(NULL, "off", EMP_SHEET_CHANGE)};

static void tabulate_types(emp_sheet *s, const emp_validation_types *types, int32_t most)
{
    EMP_SHEET_INIT(s, type_columns);
    for (int32_t i = 0; i < types->count && i < most; i++) {
        const emp_validation_type *t = &types->type[i];
        EMP_SHEET_ADD(s, EMP_V(t->type), EMP_V(t->count), EMP_V(t->predicted_s),
                      EMP_V(t->measured_s), EMP_V(t->predicted_s / t->measured_s - 1.0));
    }
}

static bool keeps_rates(const cli_validate_part *p)
{
    for (int32_t i = 0; i < p->count; i++)
        if (p->cases[i].keeps_rates) return true;
    return false;
}

/* Prints the part of the error that is due to kernels, and the spread of repeated measurements. */
static void note_parts(emp_sheet *sheet, const emp_validation_summary *s, int32_t rounds)
{
    if (s->scheduled_count > 0)
        emp_sheet_note(sheet,
                       "parts of the error: of kernels %.1f %%; of the schedule, with "
                       "what its ops took, %.1f %% (bias %+.1f %%)",
                       100.0 * s->kernel_error_frac, 100.0 * s->schedule_error_frac,
                       100.0 * s->schedule_bias_frac);
    if (!isnan(s->repeat_error_frac))
        emp_sheet_note(sheet, "noise: %s %.1f %%",
                       rounds > 1 ? "single rounds differ from their medians by"
                                  : "the first placement, measured again after the "
                                    "others, differs by",
                       100.0 * s->repeat_error_frac);
}

static void note_times(emp_sheet *sheet, const cli_validate_part *p, int32_t rounds)
{
    const emp_validation_summary *s = &p->summary;
    char text[EMP_UNITS_TEXT_BYTES], kendall[EMP_UNITS_TEXT_BYTES],
        roofline[EMP_UNITS_TEXT_BYTES];

    emp_sheet_note(sheet,
                   "step time: mean |error| %.1f %%, bias %+.1f %%, worst %+.1f %% of %d",
                   100.0 * s->mean_abs_error_frac, 100.0 * s->bias_frac,
                   100.0 * s->worst_error_frac, s->timed_count);
    emp_sheet_note(sheet,
                   "guesses: the best constant, %s, has a mean |error| of %.1f %%, a "
                   "roofline of %.1f %%",
                   emp_units_format_seconds(s->constant_s, text, sizeof text),
                   100.0 * s->constant_error_frac, 100.0 * s->roofline_error_frac);
    emp_sheet_note(sheet, "all predictions times %.3f: mean |error| %.1f %%%s", s->scale,
                   100.0 * s->scaled_error_frac,
                   s->scaled_error_frac < s->constant_error_frac
                       ? ""
                       : "; the model tells these placements no better than a constant");
    emp_sheet_note(
        sheet,
        "ranks: Spearman %s, Kendall %s; %d of %d pairs that are more than "
        "%.0f %% apart are in order; the roofline's Spearman is %s",
        emp_units_format_number(s->spearman, 3, text, sizeof text),
        emp_units_format_number(s->kendall, 3, kendall, sizeof kendall),
        s->apart_in_order, s->apart_count, 100.0 * EMP_VALIDATION_APART,
        emp_units_format_number(s->roofline_spearman, 3, roofline, sizeof roofline));
    note_parts(sheet, s, rounds);
    if (keeps_rates(p))
        emp_sheet_note(sheet,
                       "--keep-rates: " CLI_KEEPS_RATES
                       " The Spearman of only these sleeps is %.3f.",
                       s->copies_spearman);
}

static void add_notes(emp_sheet *sheet, const cli_validate_part *p, int32_t rounds)
{
    const emp_validation_summary *s = &p->summary;

    if (p->count > 0) {
        note_times(sheet, p, rounds);
        emp_sheet_note(sheet, "busy time: mean |error| %.1f %%",
                       100.0 * s->busy_error_frac);
        emp_sheet_note(sheet, "peak memory: mean |error| %.1f %%, worst %+.1f %%",
                       100.0 * s->peak_error_frac, 100.0 * s->worst_peak_error_frac);
        emp_sheet_note(
            sheet,
            "verdicts: %d fit and %d not, as predicted; %d did not fit, %d did, "
            "against the prediction",
            s->both_fit, s->both_oom, s->missed_oom, s->false_oom);
    }
    if (s->shared_count > 0)
        emp_sheet_note(sheet,
                       "%d placement%s kept two devices busy on the same cores or GPU; "
                       "errors of time leave them out (theirs: %.1f %%)",
                       s->shared_count, emp_units_plural(s->shared_count),
                       100.0 * s->shared_error_frac);
    if (s->unsteady_count > 0)
        emp_sheet_note(
            sheet, "%d measurement%s spread by more than %.0f %%, the worst by %.0f %%",
            s->unsteady_count, emp_units_plural(s->unsteady_count),
            100.0 * EMP_VALIDATION_SPREAD, 100.0 * s->worst_spread);
    if (p->missing > 0)
        emp_sheet_note(sheet, "%d placement%s without a result", p->missing,
                       emp_units_plural(p->missing));
}

static emp_validation_origin origin_of(const cli_validation *v)
{
    return (emp_validation_origin){v->args->machine, v->args->runtime,
                                   v->args->replay.backend};
}

/* The JSON of a workload beside its placements: the row of the summary, and more. */
static json_t *json_facts(const cli_validation *v, const cli_validate_part *p)
{
    const emp_validation_origin origin = origin_of(v);
    emp_sheet                   types, summary;

    tabulate_types(&types, &p->types, p->types.count);
    emp_validation_summary_init(&summary);
    emp_validation_summary_add(&summary, p->spec, &origin, &p->summary);
    json_t *rows = emp_sheet_rows(&summary);
    json_t *facts = rows == NULL ? NULL : json_incref(json_array_get(rows, 0));
    json_decref(rows);
    if (facts != NULL) {
        json_object_set_new(facts, "missing", json_integer(p->missing));
        json_object_set_new(facts, "op_types", emp_sheet_rows(&types));
    }
    emp_sheet_clear(&summary);
    emp_sheet_clear(&types);
    return facts;
}

static void tabulate_summary(emp_sheet *sheet, const cli_validation *v)
{
    const emp_validation_origin origin = origin_of(v);

    emp_validation_summary_init(sheet);
    for (int32_t i = 0; i < v->args->workload_count; i++)
        emp_validation_summary_add(sheet, v->part[i].spec, &origin, &v->part[i].summary);
}

/* Sheets of placements, a list; the caller clears and frees all. */
static emp_sheet *tabulate_cases(const cli_validation *v)
{
    const emp_validation_origin origin = origin_of(v);
    int32_t                     count = v->args->workload_count;
    emp_sheet                  *s = EMP_NEW_ARRAY(emp_sheet, (size_t)count);

    for (int32_t i = 0; s != NULL && i < count; i++) {
        const cli_validate_part *part = &v->part[i];
        emp_validation_sheet_init(&s[i], part->spec);
        for (int32_t k = 0; k < part->count; k++)
            emp_validation_sheet_add(&s[i], part->spec, &origin, &part->cases[k]);
        if (i > 0) s[i - 1].next = &s[i];
    }
    return s;
}

static void clear_sheets(emp_sheet *sheets, int32_t count)
{
    for (int32_t i = 0; sheets != NULL && i < count; i++) emp_sheet_clear(&sheets[i]);
    emp_free(sheets);
}

static void add_facts(emp_sheet *cases, const cli_validation *v)
{
    const cli_validate_args *a = v->args;

    for (int32_t i = 0; i < a->workload_count; i++)
        emp_sheet_set_facts(&cases[i], json_facts(v, &v->part[i]));
    cases[0].list = "workloads";
    emp_sheet_set_head(&cases[0],
                       json_pack("{s:s, s:s, s:s, s:I}", "machine", a->machine, "runtime",
                                 a->runtime, "backend", a->replay.backend, "seed",
                                 (json_int_t)a->seed));
}

/* People see what ops take after the placements of each workload, and the summary last. */
emp_status cli_validation_print(const cli_validation *v, emp_error *err)
{
    emp_status       st = EMP_OK;
    int32_t          count = v->args->workload_count;
    emp_sheet_format format = v->args->format;
    emp_sheet       *cases = tabulate_cases(v), summary;
    emp_sheet       *types = EMP_NEW_ARRAY(emp_sheet, (size_t)count);

    tabulate_summary(&summary, v);
    emp_sheet_note(&summary, "Machine %s, runtime %s, backend %s.", v->args->machine,
                   v->args->runtime, v->args->replay.backend);
    if (cases == NULL || types == NULL)
        EMP_FAIL(EMP_ENOMEM, "tables of %d workloads", count);
    for (int32_t i = 0; i < count; i++) {
        tabulate_types(&types[i], &v->part[i].types, SHOWN_TYPES);
        add_notes(&types[i], &v->part[i], v->args->rounds);
        if (!cli_format_is_for_people(format)) continue;
        emp_sheet_set_title(&cases[i], "%s on %s, runtime %s, backend %s",
                            v->part[i].spec, v->args->machine, v->args->runtime,
                            v->args->replay.backend);
        types[i].next = i + 1 < count ? &cases[i + 1] : &summary;
        cases[i].next = &types[i];
    }
    if (format == EMP_SHEET_JSON && !v->args->is_summary) add_facts(cases, v);
    st = emp_sheet_print(stdout, v->args->is_summary ? &summary : &cases[0], format, err);

cleanup:
    emp_sheet_clear(&summary);
    clear_sheets(types, count);
    clear_sheets(cases, count);
    return st;
}

/* ---- a plot ------------------------------------------------------------------------ */

/* A block of points a workload, which "plot" then names by number. */
static void script_points(FILE *script, const cli_validation *v)
{
    for (int32_t i = 0; i < v->args->workload_count; i++) {
        fprintf(script, "$w%d << EOD\n", i);
        for (int32_t k = 0; k < v->part[i].count; k++) {
            const emp_validation_case *c = &v->part[i].cases[k];
            if (!c->is_feasible || !c->is_predicted_feasible) continue;
            fprintf(script, "%.9g %.9g\n", c->measured_s, c->predicted_s);
        }
        fprintf(script, "EOD\n");
    }
}

static void write_script(FILE *script, const void *what)
{
    const cli_validation *v = (const cli_validation *)what;

    script_points(script, v);
    fprintf(script, "set logscale xy\nset key left top\nset size square\n"
                    "set xlabel 'measured step time / s'\n"
                    "set ylabel 'predicted step time / s'\n"
                    "plot x with lines lc rgb '#888888' title 'equal'");
    for (int32_t i = 0; i < v->args->workload_count; i++) {
        if (v->part[i].summary.timed_count == 0) continue;
        fprintf(script, ", $w%d using 1:2 with points pt 7 ps 0.6 title 'workload %d'", i,
                i + 1);
    }
    fprintf(script, "\n");
}

static emp_status draw(FILE *file, const void *what, emp_error *err)
{
    const cli_validation *v = (const cli_validation *)what;
    int32_t               shown = 0;

    for (int32_t i = 0; i < v->args->workload_count; i++)
        shown += v->part[i].summary.both_fit;
    if (shown == 0)
        return EMP_ERROR(EMP_EINVAL,
                         "no placement was both predicted and measured to fit: "
                         "there is nothing to plot");
    return emp_gnuplot_draw(file, 720, 640, write_script, v,
                            "predicted against measured step times", err);
}

/* ---- a record ---------------------------------------------------------------------- */

emp_status cli_validation_save(const cli_validation *v, emp_error *err)
{
    const cli_validate_args *a = v->args;
    emp_validation_origin    origin = origin_of(v);
    emp_sheet               *cases = tabulate_cases(v);
    emp_status               st = cases == NULL ? EMP_ERROR(EMP_ENOMEM, "a record")
                                                : emp_validation_save(a->record, cases, &origin, err);

    clear_sheets(cases, a->workload_count);
    return st;
}

emp_status cli_validation_plot(const cli_validation *v, emp_error *err)
{
    return emp_atomic_file_write(v->args->plot, draw, v, err);
}
