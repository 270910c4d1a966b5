// SPDX-License-Identifier: GPL-3.0-or-later
/* The table, for people and for programs. */
#include <math.h>

#include "base/text/units.h"
#include "bench/transfer/transfer.h"

#define PROPOSED_BY "the best of the methods that propose once"

static const emp_sheet_column columns[] = {
    EMP_COLUMN("split", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("task", "task", EMP_SHEET_WORD),
    EMP_COLUMN("workload", "workload", EMP_SHEET_WORD),
    EMP_COLUMN("machine", "machine", EMP_SHEET_WORD),
    EMP_COLUMN("runtime", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("arm", "arm", EMP_SHEET_WORD),
    EMP_COLUMN("method", "learner", EMP_SHEET_WORD),
    EMP_COLUMN("imitated", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("training", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("trainings", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("budget", "samples", EMP_SHEET_COUNT),
    EMP_COLUMN("step_s", "s", EMP_SHEET_REAL, .width = 7, .precision = 9,
               .low = "step_low_s", .high = "step_high_s", .range = EMP_SHEET_BEHIND),
    EMP_COLUMN("ratio", "to the best proposed", EMP_SHEET_REAL, .digits = 3,
               .low = "ratio_low", .high = "ratio_high", .range = EMP_SHEET_BEHIND),
    EMP_COLUMN("equal", "N_eq", EMP_SHEET_REAL, .infinite = "never")};

static void add_line(emp_sheet *sheet, const emp_transfer_table *t,
                     const emp_transfer_row *r)
{
    const bool is_one = r->task != NULL;

    EMP_SHEET_ADD(
        sheet, EMP_V(t->split->name), EMP_V(is_one ? r->task->key : "all"),
        emp_value_word(is_one ? r->task->spec : NULL),
        emp_value_word(is_one ? r->task->machine : NULL), EMP_V(t->split->target_runtime),
        EMP_V(r->arm), emp_value_word(r->method),
        emp_value_word(t->imitated[0] != '\0' ? t->imitated : NULL),
        EMP_V(t->training_budget), EMP_V(t->trainings), EMP_V(r->budget),
        emp_value_if(!isnan(r->step_s.median),
                     emp_value_range(r->step_s.median, r->step_s.min, r->step_s.max)),
        emp_value_if(!isnan(r->ratio.mean),
                     emp_value_range(r->ratio.mean, r->ratio.low, r->ratio.high)),
        emp_value_if(!isnan(r->equal), EMP_V(r->equal)));
}

emp_status emp_transfer_print(FILE *out, const emp_transfer_table *t,
                              emp_sheet_format format, emp_error *err)
{
    emp_sheet sheet;

    EMP_SHEET_INIT(&sheet, columns);
    emp_sheet_set_title(&sheet, "Transfer, split %s, runtime %s: %s", t->split->name,
                        t->split->target_runtime, t->split->description);
    for (int32_t i = 0; i < t->row_count; i++) add_line(&sheet, t, &t->row[i]);
    emp_sheet_note(&sheet,
                   "Learners were trained with %lld evaluation%s in all; medians of %d "
                   "training%s, and range. Ratios are to " PROPOSED_BY
                   ", of all: geometric mean and its 95 %% interval over tasks.",
                   (long long)t->training_budget, emp_units_plural(t->training_budget),
                   t->trainings, emp_units_plural(t->trainings));
    if (t->imitated[0] != '\0')
        emp_sheet_note(&sheet,
                       "Before that they imitated %s (method, options, evaluations and "
                       "steps a task).",
                       t->imitated);
    const emp_status st = emp_sheet_print(out, &sheet, format, err);
    emp_sheet_clear(&sheet);
    return st;
}
