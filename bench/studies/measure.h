/** \file bench/studies/measure.h
 * Questions that placements answer, not runs: a measure looks at placements of each task and adds
 * lines to a sheet. Nothing is recorded; equal parameters give equal lines.
 */
#ifndef EMP_BENCH_STUDIES_MEASURE_H
#define EMP_BENCH_STUDIES_MEASURE_H

#include "bench/trials/trials.h"
#include "run/sheet/sheet.h"

enum { EMP_MEASURE_SEEDS = 32 /**< at most */ };

/** A task as a measure sees it. */
typedef struct {
    const emp_task    *task;
    const emp_problem *problem;
    const char        *runtime;
    int64_t            budget; /**< placements or moves a seed */
    int32_t            seed_count;
    /* Private. */
    void (*on_progress)(void *context, double done_frac);
    void  *context;
    double first_frac, frac; /**< of all work, before this task, and of it */
} emp_measured;

/** A full measure has 5 seeds, a first one has one. */
typedef struct {
    const char     *name;
    const emp_task *row;
    int32_t         row_count;
    int64_t         budget, first_budget; /**< of the full measure and a first one */
    const emp_sheet_column *column; /**< of its sheet, from EMP_MEASURED_COLUMNS on */
    size_t                  column_count;
    const char *const      *note; /**< for people; ends with NULL */
    /** Adds the lines of a task. */
    emp_status (*measure)(emp_sheet *sheet, const emp_measured *task, emp_error *err);
} emp_measure;

/** Correlations with step times. */
extern const emp_measure emp_measure_load;
/** Minimises the objective of partitioners by moves, and reports the step time. */
extern const emp_measure emp_measure_objective;
/** The results of searches that see noisy step times. */
extern const emp_measure emp_measure_noise;
/** Which features the choices of a learned policy depend on. */
extern const emp_measure emp_measure_explaining;

typedef struct {
    const char *rows; /**< comma-separated keys, or NULL: the measure's */
    const char *runtime;
    bool        is_full;    /**< not a first study */
    int32_t     seed_count; /**< 0: the measure's */
    int64_t     budget;     /**< 0: likewise */
    int32_t     threads;    /**< for loading */
    /** OPTIONAL. */
    void (*on_progress)(void *context, double done_frac);
    void *context;
} emp_measure_params;

/** A measure of the tasks in study.h, from the `columns`, `notes` and `measure` of a file. */
#define EMP_MEASURE(title, full, first)                               \
    {                                                                 \
        title, emp_study_task, EMP_STUDY_TASKS, full, first, columns, \
            sizeof columns / sizeof *columns, notes, measure          \
    }

/** The first columns of a measure's sheet and their values; the arguments are the first
 * column's, as EMP_SHEET_ACROSS. */
#define EMP_MEASURED_COLUMNS(...)                        \
    EMP_COLUMN("task", "", EMP_SHEET_WORD, __VA_ARGS__), \
        EMP_COLUMN("workload", NULL, EMP_SHEET_WORD),    \
        EMP_COLUMN("machine", NULL, EMP_SHEET_WORD),     \
        EMP_COLUMN("runtime", NULL, EMP_SHEET_WORD)
#define EMP_MEASURED_VALUES(measured)                              \
    EMP_V((measured)->task->title), EMP_V((measured)->task->spec), \
        EMP_V((measured)->task->machine), EMP_V((measured)->runtime)

/** Makes the sheet; clear it afterwards, also after a failure.
 * \param title  OPTIONAL. A sentence for people, below the table.
 * \retval EMP_EINVAL  An unknown row or too many seeds; the message says what there is. */
emp_status emp_measure_make(emp_sheet *sheet, const emp_measure *measure,
                            const emp_measure_params *params, const char *title,
                            emp_error *err);

/** For measures: the median of one value a seed; sorts \a values. */
emp_value emp_measured_median(double *values, int32_t count);
/** For measures: the median of one value a seed, with its range. A NaN is left out; of none but NaN there is no
 * value. Sorts \a values. */
emp_value emp_measured_range(double *values, int32_t count);

/** For measures: says how much of a task is done. */
void emp_measured_report(const emp_measured *task, double done_frac);

#endif /* EMP_BENCH_STUDIES_MEASURE_H */
