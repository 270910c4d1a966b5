// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/report/paper_rows.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/text.h"
#include "bench/tables/paper.h"
#include "run/stats.h"

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

/* Of several budgets the largest. */
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

static emp_summary best_of(const emp_report_runs *runs, const emp_report_series *s,
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
    const emp_task *row = &emp_paper_task[task];
    emp_summary     ours = {NAN, NAN, NAN};
    double          paper_s = emp_paper_step_s(task, columns[column].method);

    if (s != NULL) ours = best_of(runs, s, value);
    bool has_ratio = isfinite(ours.median) && isfinite(paper_s);
    EMP_SHEET_ADD(
        sheet, EMP_V(row->title), EMP_V(row->gpu_count), EMP_V(columns[column].title),
        emp_value_if(s != NULL, emp_value_range(ours.median, ours.min, ours.max)),
        EMP_V(paper_s), EMP_V(has_ratio ? ours.median / paper_s : NAN));
}

/* Whether there are runs of the column on any task. */
static bool has_column(const emp_report_runs *runs, int column)
{
    for (int32_t t = 0; t < EMP_PAPER_TASKS; t++) {
        const emp_report_group *g = find_group(runs, &emp_paper_task[t]);
        if (g != NULL && find_series(runs, g, column) != NULL) return true;
    }
    return false;
}

static void add_row(emp_sheet *sheet, const emp_report_runs *runs, int32_t task,
                    double *value)
{
    const emp_report_group *g = find_group(runs, &emp_paper_task[task]);

    for (int column = 0; g != NULL && column < COLUMNS; column++) {
        if (has_column(runs, column))
            add_cell(sheet, runs, find_series(runs, g, column), task, column, value);
    }
}

static void add_notes(emp_sheet *sheet, const emp_report_runs *runs)
{
    emp_sheet_note(
        sheet,
        "Ours: seconds of a step on the simulated machine, the median over seeds "
        "of the best that each found, with their range. OOM: nothing that was "
        "tried fits in memory. Paper: %s.",
        emp_paper_source);
    for (int32_t t = 0; t < EMP_PAPER_TASKS; t++) {
        const char *other = emp_paper_other_size(t);
        if (other != NULL && find_group(runs, &emp_paper_task[t]) != NULL)
            emp_sheet_note(sheet, "%s is not comparable: %s", emp_paper_task[t].title,
                           other);
    }
}

emp_status emp_report_paper(emp_sheet *sheet, const emp_report_runs *runs, emp_error *err)
{
    double *value = NULL;

    EMP_SHEET_INIT(sheet, sheet_columns);
    emp_sheet_set_title(sheet, "Seconds a training step, beside Table 1 of the paper");
    EMP_CHECK(EMP_ALLOC(value, (size_t)runs->run_count));
    for (int32_t t = 0; t < EMP_PAPER_TASKS; t++) add_row(sheet, runs, t, value);
    if (sheet->line_count > 0) add_notes(sheet, runs);
    emp_free(value);
    return emp_sheet_check(sheet, err);
}
