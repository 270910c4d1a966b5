// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/report/page.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "bench/plots/html.h"
#include "bench/tables/paper.h"
#include "run/sheet/sheet.h"

static double best_of(const emp_report_run *run)
{
    return run->record.is_feasible ? run->record.best_step_time_s : INFINITY;
}

static double median_of(const emp_report_run *run) { return run->record.median_s; }

static double feasible_of(const emp_report_run *run)
{
    return (double)run->record.feasible_count / (double)run->record.evaluations;
}

static double evaluations_of(const emp_report_run *run)
{
    return (double)run->record.evaluations;
}

static double traffic_of(const emp_report_run *run)
{
    return (double)run->record.traffic_bytes;
}

static double elapsed_of(const emp_report_run *run) { return run->timing.elapsed_s; }

/* Median over the seeds, and the range; \a value is room for one a run. */
static emp_value summary_of(const emp_report_run *run, int32_t                     count,
                            double (*value_of)(const emp_report_run *run), double *value)
{
    size_t known = 0;

    for (int32_t i = 0; i < count; i++) {
        double v = value_of(&run[i]);
        if (!isnan(v)) value[known++] = v;
    }
    emp_summary s = emp_summary_of(value, known);
    return emp_value_range(s.median, s.min, s.max);
}

/* ---- what was run ---- */

static const emp_sheet_column setup_columns[] = {
    EMP_COLUMN("method", "method", EMP_SHEET_WORD),
    EMP_COLUMN("preset", "preset", EMP_SHEET_WORD),
    EMP_COLUMN("options", "options", EMP_SHEET_WORD),
    EMP_COLUMN("seeds", "seeds", EMP_SHEET_WORD),
    EMP_COLUMN("budget", "budget of a run", EMP_SHEET_WORD),
    EMP_COLUMN("ended_by", "ended by", EMP_SHEET_WORD),
    EMP_COLUMN("version", "version", EMP_SHEET_WORD),
    EMP_COLUMN("commit", "commit", EMP_SHEET_WORD)};

static void add_budget(emp_text *out, const emp_record *r)
{
    char text[EMP_UNITS_TEXT_BYTES];

    if (r->budget_evaluations > 0)
        emp_text_add(out, "%" PRId64 " evaluation%s", r->budget_evaluations,
                     emp_units_plural(r->budget_evaluations));
    if (r->budget_evaluations > 0 && r->budget_s > 0) emp_text_add(out, ", ");
    if (r->budget_s > 0)
        emp_text_add(out, "%s", emp_units_format_seconds(r->budget_s, text, sizeof text));
    if (r->budget_cpu_s > 0)
        emp_text_add(out, "%s%s of CPU time", out->used > 0 ? ", " : "",
                     emp_units_format_seconds(r->budget_cpu_s, text, sizeof text));
    if (r->budget_evaluations == 0 && r->budget_s == 0 && r->budget_cpu_s == 0)
        emp_text_add(out, "none");
}

/* Why runs ended, each reason once. */
static void add_ends(emp_text *out, const emp_report_run *run, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        const char *end = run[i].record.stopped_by;
        int32_t     before = 0;
        while (before < i && strcmp(run[before].record.stopped_by, end) != 0) before++;
        if (before < i) continue;
        emp_text_add(out, "%s%s", out->used > 0 ? ", " : "",
                     end[0] == '\0' ? "under way" : end);
    }
}

static void add_setup(emp_sheet *s, const emp_report_run *run, int32_t count)
{
    const emp_record *r = &run->record;
    char              seeds[1024] = "", budget[64] = "", ends[256] = "", commit[32] = "";
    emp_text seeds_text = {seeds, sizeof seeds, 0}, ends_text = {ends, sizeof ends, 0};
    emp_text budget_text = {budget, sizeof budget, 0};

    for (int32_t i = 0; i < count; i++)
        emp_text_add(&seeds_text, "%s%" PRIu64, i > 0 ? ", " : "", run[i].record.seed);
    add_budget(&budget_text, r);
    add_ends(&ends_text, run, count);
    snprintf(commit, sizeof commit, "%.12s%s", r->commit,
             r->is_dirty ? ", modified" : "");
    EMP_SHEET_ADD(s, EMP_V(r->method), EMP_V(r->preset[0] != '\0' ? r->preset : "–"),
                  EMP_V(r->options[0] != '\0' ? r->options : "–"), EMP_V(seeds),
                  EMP_V(budget), EMP_V(ends), EMP_V(r->version), EMP_V(commit));
}

/* ---- what came of it ---- */

static const emp_sheet_column result_columns[] = {
    EMP_COLUMN("method", "method", EMP_SHEET_WORD),
    EMP_COLUMN("best_s", "best step time", EMP_SHEET_SECONDS),
    EMP_COLUMN("median_s", "median candidate", EMP_SHEET_SECONDS),
    EMP_COLUMN("evaluations", "evaluations", EMP_SHEET_REAL, .form = "%.0f"),
    EMP_COLUMN("feasible_frac", "fit in memory", EMP_SHEET_SHARE),
    EMP_COLUMN("elapsed_s", "run took", EMP_SHEET_SECONDS),
    EMP_COLUMN("traffic_bytes", "traffic", EMP_SHEET_BYTES),
    EMP_COLUMN("peak", "peak memory", EMP_SHEET_WORD)};

/* Memory is shown of the best run of a series. */
static const emp_report_run *best_run_of(const emp_report_run *run, int32_t count)
{
    const emp_report_run *best = run;

    for (int32_t i = 1; i < count; i++) {
        if (best_of(&run[i]) < best_of(best)) best = &run[i];
    }
    return best;
}

static void add_peaks(emp_text *out, const emp_record *r)
{
    char text[48];

    for (int32_t d = 0; d < r->device_count; d++)
        emp_text_add(out, "%s%s\u00a0%s", d > 0 ? ", " : "", r->device_name[d],
                     emp_units_format_bytes(r->peak_bytes[d], text, sizeof text));
    if (!r->is_feasible && r->oom_device[0] != '\0')
        emp_text_add(out, "; does not fit on %s", r->oom_device);
}

static void add_result(emp_sheet *s, const emp_report_series *series,
                       const emp_report_run *run, double *value)
{
    int32_t  n = series->run_count;
    char     peaks[2048] = "";
    emp_text text = {peaks, sizeof peaks, 0};

    add_peaks(&text, &best_run_of(run, n)->record);
    EMP_SHEET_ADD(
        s, EMP_V(series->label), summary_of(run, n, best_of, value),
        summary_of(run, n, median_of, value), summary_of(run, n, evaluations_of, value),
        summary_of(run, n, feasible_of, value), summary_of(run, n, elapsed_of, value),
        summary_of(run, n, traffic_of, value), EMP_V(peaks));
}

static void note_bound(emp_sheet *s, const emp_record *best, double bound_s)
{
    char text[EMP_UNITS_TEXT_BYTES], gap[EMP_UNITS_TEXT_BYTES];

    if (isnan(bound_s)) return;
    emp_units_format_seconds(bound_s, text, sizeof text);
    if (best->is_feasible)
        emp_sheet_note(
            s,
            "Lower bound: %s. No placement that fits takes less; the best here "
            "takes %s more.",
            text,
            emp_units_format_percent(best->best_step_time_s / bound_s - 1, gap,
                                     sizeof gap));
    else
        emp_sheet_note(s, "Lower bound: %s. No placement that fits takes less.", text);
}

emp_status emp_report_tables(FILE *file, const emp_report_runs *runs,
                             const emp_report_group *group, double bound_s,
                             emp_error *err)
{
    emp_status st = EMP_OK;
    double    *value = EMP_NEW_ARRAY(double, (size_t)group->run_count);
    emp_sheet  setup, result;

    EMP_SHEET_INIT(&setup, setup_columns);
    EMP_SHEET_INIT(&result, result_columns);
    if (value == NULL) EMP_FAIL(EMP_ENOMEM, "summary of %d runs", group->run_count);
    emp_sheet_set_title(&setup, "Runs");
    emp_sheet_set_title(&result, "Results");
    result.infinite = "does not fit";
    for (int32_t i = 0; i < group->series_count; i++) {
        const emp_report_series *s = &runs->series[group->first_series + i];
        const emp_report_run    *run = &runs->run[s->first_run];
        int32_t                  behind = group->best_run - s->first_run;
        if (behind >= 0 && behind < s->run_count) result.best_line = i;
        add_setup(&setup, run, s->run_count);
        add_result(&result, s, run, value);
    }
    note_bound(&result, &runs->run[group->best_run].record, bound_s);
    EMP_TRY(emp_sheet_print_html(file, &result, emp_html_text, err));
    EMP_TRY(emp_sheet_print_html(file, &setup, emp_html_text, err));

cleanup:
    emp_sheet_clear(&setup);
    emp_sheet_clear(&result);
    emp_free(value);
    return st;
}

/* ---- beside the paper ---- */

/* The runtime that the paper's figures are of. */
static const char runtime[] = "tf-r1.3";

/* The paper's methods, and whose preset is the paper's. */
static const struct {
    const char *title, *method, *preset;
} columns[] = {{"CPU only", "cpu", ""},        {"GPU only", "gpu", ""},
               {"Human expert", "expert", ""}, {"Scotch", "scotch", ""},
               {"MinCut", "mincut", ""},       {"HDP", "hdp", "paper"}};
enum { COLUMNS = sizeof columns / sizeof *columns };

static const emp_sheet_column sheet_columns[] = {
    EMP_COLUMN("task", "", EMP_SHEET_WORD, EMP_SHEET_ROW),
    EMP_COLUMN("gpus", "GPUs", EMP_SHEET_COUNT, EMP_SHEET_ROW),
    EMP_COLUMN("method", "", EMP_SHEET_WORD, EMP_SHEET_ACROSS),
    EMP_COLUMN("ours_s", "ours", EMP_SHEET_REAL, .low = "min_s", .high = "max_s"),
    EMP_COLUMN("paper_s", "paper", EMP_SHEET_REAL, .form = "%.2f"),
    EMP_COLUMN("ratio", "ratio", EMP_SHEET_REAL, .form = "%.2f")};

/* The group of runs of a task; NULL = there is none. */
static const emp_report_group *find_group(const emp_report_runs *runs,
                                          const emp_task        *task)
{
    for (int32_t g = 0; g < runs->group_count; g++) {
        const emp_record *r = &runs->run[runs->group[g].first_run].record;
        if (strcmp(r->workload, task->spec) == 0 &&
            strcmp(r->machine, task->machine) == 0 && strcmp(r->runtime, runtime) == 0)
            return &runs->group[g];
    }
    return NULL;
}

/* The largest of several budgets. */
static const emp_report_series *find_series(const emp_report_runs  *runs,
                                            const emp_report_group *g, int column)
{
    const emp_report_series *found = NULL;
    int64_t                  most = -1;

    for (int32_t i = 0; i < g->series_count; i++) {
        const emp_report_series *s = &runs->series[g->first_series + i];
        const emp_record        *r = &runs->run[s->first_run].record;
        if (strcmp(r->method, columns[column].method) != 0 || r->options[0] != '\0' ||
            strcmp(r->preset, columns[column].preset) != 0 ||
            r->budget_evaluations <= most)
            continue;
        most = r->budget_evaluations;
        found = s;
    }
    return found;
}

static emp_summary best_of_seeds(const emp_report_runs *runs, const emp_report_series *s,
                                 double *value)
{
    for (int32_t i = 0; i < s->run_count; i++) {
        emp_score score = emp_report_run_score(&runs->run[s->first_run + i]);
        value[i] = score.is_feasible ? score.step_time_s : INFINITY;
    }
    return emp_summary_of(value, (size_t)s->run_count);
}

/* \a s NULL: there are no runs of the cell. */
static void add_cell(emp_sheet *sheet, const emp_report_runs *runs,
                     const emp_report_series *s, int32_t task, int column, double *value)
{
    const emp_task *row = &emp_paper_row[task];
    emp_summary     ours = {NAN, NAN, NAN};
    double paper_s = emp_paper_step_s(emp_paper_find(row->key), columns[column].method);

    if (s != NULL) ours = best_of_seeds(runs, s, value);
    bool has_ratio = isfinite(ours.median) && isfinite(paper_s);
    EMP_SHEET_ADD(
        sheet, EMP_V(row->title), EMP_V(row->gpu_count), EMP_V(columns[column].title),
        emp_value_if(s != NULL, emp_value_range(ours.median, ours.min, ours.max)),
        EMP_V(paper_s), EMP_V(has_ratio ? ours.median / paper_s : NAN));
}

/* Whether there are runs of the column on any task. */
static bool has_column(const emp_report_runs *runs, int column)
{
    for (int32_t t = 0; t < EMP_PAPER_ROWS; t++) {
        const emp_report_group *g = find_group(runs, &emp_paper_row[t]);
        if (g != NULL && find_series(runs, g, column) != NULL) return true;
    }
    return false;
}

static void add_row(emp_sheet *sheet, const emp_report_runs *runs, int32_t task,
                    double *value)
{
    const emp_report_group *g = find_group(runs, &emp_paper_row[task]);

    for (int column = 0; g != NULL && column < COLUMNS; column++) {
        if (has_column(runs, column))
            add_cell(sheet, runs, find_series(runs, g, column), task, column, value);
    }
}

static void add_paper_notes(emp_sheet *sheet, const emp_report_runs *runs)
{
    emp_sheet_note(
        sheet,
        "Ours: seconds of a step on the simulated machine, the median over seeds "
        "of the best that each found, with their range. OOM: nothing that was "
        "tried fits in memory. Paper: %s.",
        emp_paper_source);
    for (int32_t t = 0; t < EMP_PAPER_ROWS; t++)
        if (strcmp(emp_paper_row[t].key, "inception_v3") == 0 &&
            find_group(runs, &emp_paper_row[t]) != NULL)
            emp_sheet_note(sheet, "%s: the batch is inferred (emplace table 1).",
                           emp_paper_row[t].title);
}

emp_status emp_report_paper(emp_sheet *sheet, const emp_report_runs *runs, emp_error *err)
{
    double *value = NULL;

    EMP_SHEET_INIT(sheet, sheet_columns);
    emp_sheet_set_title(sheet, "Seconds a training step, beside Table 1 of the paper");
    EMP_CHECK(EMP_ALLOC(value, (size_t)runs->run_count));
    for (int32_t t = 0; t < EMP_PAPER_ROWS; t++) add_row(sheet, runs, t, value);
    if (sheet->line_count > 0) add_paper_notes(sheet, runs);
    emp_free(value);
    return emp_sheet_check(sheet, err);
}
