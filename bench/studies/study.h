/** \file bench/studies/study.h
 * The open questions of the papers, as values: what is asked, and what answers it.
 *
 *     const emp_study *study = emp_study_find("colocation");
 *     if (study->arms != NULL) ... emp_ablation_make(), emp_ablation_print() ...
 *
 * A question is answered by arms that run here, by a measure over placements, or by another command of
 * the program. Where none of them can, the study says why. docs/methods.md has the answers.
 */
#ifndef EMP_BENCH_STUDIES_STUDY_H
#define EMP_BENCH_STUDIES_STUDY_H

#include "bench/studies/ablation.h"
#include "bench/trials/trials.h"
#include "run/sheet/sheet.h"

/* Questions that placements answer, not runs: a measure looks at placements of each task and adds
 * lines to a sheet. Nothing is recorded; equal parameters give equal lines. */

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

/** A measure of emp_study_task[], from the `columns`, `notes` and `measure` of a file. */
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

enum { EMP_STUDY_TASKS = 3 };

/** Tasks with few steps or layers, so that a learner's study takes minutes. */
extern const emp_task emp_study_task[EMP_STUDY_TASKS];

/** Arms that answer questions (arms.c). */
extern const emp_ablation emp_arms_colocation, emp_arms_forgetting, emp_arms_constants,
    emp_arms_memory, emp_arms_topology, emp_arms_modulation, emp_arms_joint,
    emp_arms_energy, emp_arms_machines, emp_arms_families, emp_arms_earlier,
    emp_arms_seconds, emp_arms_successors;

enum { EMP_STUDY_QUESTIONS = 26 };

typedef struct {
    const char         *name;     /**< "colocation" */
    const char         *question; /**< ends with a question mark */
    const char         *paper;    /**< that leaves it open: "HDP" */
    const emp_ablation *arms;     /**< OPTIONAL. Runs that answer it */
    const emp_measure  *measure;  /**< OPTIONAL. A measure that does, in place of arms */
    const char *command; /**< OPTIONAL. A command that does, or that belongs to it */
    const char *missing; /**< OPTIONAL. The part that is not answered, as a sentence */
} emp_study;

/** The place of the question in docs/methods.md, from 1. */
int32_t emp_study_number(const emp_study *study);

/** The study of that position, in the order of questions; NULL past the last one. */
const emp_study *emp_study_at(int32_t index);

/** The study of that name; NULL = there is none. */
const emp_study *emp_study_find(const char *name);

/** The question with its number and paper, as a sentence for people. \return \a text */
const char *emp_study_title(const emp_study *study, char text[EMP_ERROR_MSG_BYTES]);

#endif /* EMP_BENCH_STUDIES_STUDY_H */
