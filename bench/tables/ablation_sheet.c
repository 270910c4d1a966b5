// SPDX-License-Identifier: GPL-3.0-or-later
/* A study as sheets: one a row, a line an arm. */
#include <inttypes.h>

#include "base/mem.h"
#include "bench/tables/ablation.h"
#include "run/sheet/sheet.h"

static const emp_sheet_column columns[] = {
    EMP_COLUMN("study", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("arm", "", EMP_SHEET_WORD, .width = 20),
    EMP_COLUMN("task", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("workload", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("machine", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("runtime", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("method", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("preset", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("options", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("budget", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("seeds", "seeds", EMP_SHEET_COUNT),
    EMP_COLUMN("oom_seeds", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("median_s", "median", EMP_SHEET_REAL, .width = 7),
    EMP_COLUMN("best_s", "best", EMP_SHEET_REAL, .width = 7),
    EMP_COLUMN("worst_s", "worst", EMP_SHEET_REAL, .width = 7),
    EMP_COLUMN("ratio_to_default", "ratio", EMP_SHEET_REAL),
    EMP_COLUMN("evaluations", "evaluations", EMP_SHEET_COUNT),
    EMP_COLUMN("feasible_frac", "fits", EMP_SHEET_SHARE, .width = 7)};

static void fill(emp_sheet *s, const emp_ablation_table *t, int32_t row)
{
    const emp_ablation      *d = t->definition;
    const emp_ablation_cell *cell = &t->cell[row * t->arm_count];
    const emp_task          *task = cell->row;

    EMP_SHEET_INIT(s, columns);
    emp_sheet_set_title(s, "%s (%s on %s)", task->title, task->spec, task->machine);
    for (int32_t a = 0; a < t->arm_count; a++) {
        const emp_ablation_cell *c = &cell[a];
        EMP_SHEET_ADD(s, EMP_V(c->arm->study), EMP_V(c->arm->name), EMP_V(task->title),
                      EMP_V(task->spec), EMP_V(task->machine), EMP_V(t->runtime),
                      EMP_V(d->method), EMP_V(emp_ablation_preset(d, c->arm)),
                      EMP_V(c->arm->options), EMP_V(t->budget), EMP_V(c->run_count),
                      EMP_V(c->oom_count), EMP_V(c->step_s.median), EMP_V(c->step_s.min),
                      EMP_V(c->step_s.max), EMP_V(c->ratio), EMP_V(c->evaluations),
                      EMP_V(c->feasible_frac));
    }
}

static void note_shortened(emp_sheet *s, const emp_ablation_table *t)
{
    const emp_ablation *d = t->definition;

    if (t->seed_count < d->seed_count || t->budget < d->budget)
        emp_sheet_note(s,
                       "This is a first study: %" PRId64 " of %" PRId64
                       " evaluations a run, %d of %d seeds. With --full it has all.",
                       t->budget, d->budget, t->seed_count, d->seed_count);
}

emp_status emp_ablation_print(FILE *out, const emp_ablation_table *t,
                              emp_sheet_format format, emp_error *err)
{
    emp_sheet *sheet = EMP_NEW_ARRAY(emp_sheet, (size_t)t->row_count);
    emp_status st = EMP_OK;

    if (sheet == NULL) EMP_FAIL(EMP_ENOMEM, "table of %d rows", t->row_count);
    for (int32_t r = 0; r < t->row_count; r++) {
        fill(&sheet[r], t, r);
        if (r > 0) sheet[r - 1].next = &sheet[r];
    }
    emp_sheet_note(
        &sheet[t->row_count - 1],
        "%s, one choice changed at a time: seconds per training step, simulated, runtime "
        "%s. Median, best and worst over seeds of the best placement of a run of %" PRId64
        " evaluations.",
        t->definition->method, t->runtime, t->budget);
    emp_sheet_note(
        &sheet[t->row_count - 1],
        "Ratio: of the median to that of default. Fits: share of all placements "
        "that were tried. OOM: none fits in memory.");
    note_shortened(&sheet[t->row_count - 1], t);
    st = emp_sheet_print(out, sheet, format, err);

cleanup:
    for (int32_t r = 0; sheet != NULL && r < t->row_count; r++)
        emp_sheet_clear(&sheet[r]);
    emp_free(sheet);
    return st;
}
