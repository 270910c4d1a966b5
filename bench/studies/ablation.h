/** \file bench/studies/ablation.h
 * Runs that differ in one choice at a time: an option, a preset, the method, or what is decided. A
 * definition lists these arms, and the tasks that each of them runs on. The first arm is the
 * default, to which ratios are.
 *
 * A cell is an arm on a task, one run a seed. A method that draws nothing has one run, and one that
 * stops by itself has no budget. Intervals over tasks are drawn from tasks, never from runs
 * (bench/trials/statistics.h).
 */
#ifndef EMP_BENCH_STUDIES_ABLATION_H
#define EMP_BENCH_STUDIES_ABLATION_H

#include <stdio.h>

#include "bench/tables/table.h"
#include "bench/trials/statistics.h"
#include "run/jobs/jobs.h"

/** One choice. */
typedef struct {
    const char *study;   /**< what is varied: "order" */
    const char *name;    /**< unique: "order=random" */
    const char *options; /**< of the method, on top of the preset; NULL = none */
    const char *preset;  /**< another than the study's; NULL = that */
    const char *method;  /**< likewise; its preset is the arm's alone */
    int32_t     decides; /**< mask of emp_decides; 0 = only devices */
} emp_arm;

/** The fields in order, the last ones by name. */
#define EMP_ARM(varied, title, ...)                            \
    {                                                          \
        .study = varied, .name = title, .options = __VA_ARGS__ \
    }

/** The columns of a table beside step times; a mask. */
typedef enum {
    EMP_SHOWS_BALANCE = 1, /**< how evenly the GPUs are busy */
    EMP_SHOWS_COST = 2,    /**< how long the search took, and when that is won back */
    EMP_SHOWS_QUALITY =
        4 /**< how much of the search was needed to come close to the best */
} emp_ablation_shows;

/** How close: this much above the least median of the task. */
#define EMP_ABLATION_CLOSE 0.05
/** Steps that a measurement of one placement takes where there is no simulator. */
enum { EMP_ABLATION_MEASURED_STEPS = 10 };

typedef struct {
    const char     *name;            /**< "grouping" */
    const char     *method, *preset; /**< the latter NULL: it has none */
    const emp_arm  *arm;             /**< [0] is the default */
    int32_t         arm_count;
    const emp_task *row;
    int32_t         row_count;
    const char     *rows; /**< keys of the rows that are made unless others are named */
    int32_t  seed_count, first_seed_count; /**< of the full study and of a first one */
    int64_t  budget, first_budget;         /**< evaluations a run, likewise */
    uint32_t shows;                        /**< mask of emp_ablation_shows */
} emp_ablation;

/** The contribution of each choice that makes the planner's groups. */
extern const emp_ablation emp_ablation_grouping;
/** The contribution of each of our choices that the planner's preset "literal" undoes. */
extern const emp_ablation emp_ablation_hdp;
/** The contribution of each choice of refining. */
extern const emp_ablation emp_ablation_refine;

/** The results of an arm's runs on a row. */
typedef struct {
    const emp_arm  *arm;
    const emp_task *row;
    int32_t         run_count;   /**< seeds that are ready */
    int32_t         oom_count;   /**< of them, those that found nothing that fits */
    emp_summary     step_s;      /**< best placements of the seeds; infinite: none fits */
    double          ratio;       /**< of the median to the default's; NaN without both */
    int64_t         evaluations; /**< of all seeds */
    double          feasible_frac; /**< of them that fit in memory */
    /* Medians over seeds; NaN unless the definition shows them. */
    double balance; /**< busy seconds of the busiest GPU over their mean; of what fits */
    double
        cpu_s; /**< of a run, on one thread; NaN: not known of a record from elsewhere */
    double break_even_steps; /**< cpu_s over the seconds that a step is shorter than the
                                  default's; infinite: it is not shorter */
    double
        quality_evaluations; /**< until the best was close; infinite: half of the runs never were */
    double
        quality_s; /**< EMP_ABLATION_MEASURED_STEPS steps of each of these placements */
} emp_ablation_cell;

/** An arm over the tasks of which all its runs and the default's are ready. */
typedef struct {
    int32_t   task_count;
    emp_ratio ratio;  /**< of medians to the default's, over tasks */
    double    p_holm; /**< that they are alike; NaN: too few tasks, or the default */
} emp_ablation_overall;

typedef struct {
    const emp_ablation   *definition;
    int32_t               arm_count, row_count;
    emp_ablation_cell    *cell;       /**< [row][arm] */
    emp_ablation_overall *overall;    /**< [arm] */
    int32_t               test_least; /**< tasks that a test needs */
    int32_t               seed_count;
    int32_t               runs_made, runs_planned;
    int64_t               budget;
    char                  runtime[EMP_RECORD_NAME_BYTES];
    emp_trials_tasks      tasks; /**< [row] */
} emp_ablation_table;

/** Makes a study.
 * \retval EMP_EINVAL       An unknown row or arm; the message lists what there is.
 * \retval EMP_EINTERRUPTED \a stop was set; the table has the cells that were ready. */
emp_status emp_ablation_make(emp_ablation_table **out, const emp_ablation *definition,
                             const emp_trials_params *params, emp_error *err);
void       emp_ablation_destroy(emp_ablation_table *table);

/** Fills in `overall` and `test_least` from the cells. \retval EMP_ENOMEM */
emp_status emp_ablation_sum_up(emp_ablation_table *table, emp_error *err);

const char *emp_ablation_method(const emp_ablation *definition, const emp_arm *arm);
/** The preset of an arm; NULL: the method's first one, if it has any. */
const char *emp_ablation_preset(const emp_ablation *definition, const emp_arm *arm);

/** Writes the table. \param note  OPTIONAL. A sentence for people, before all others.
 * \retval EMP_ENOMEM */
emp_status emp_ablation_print(FILE *out, const emp_ablation_table *table,
                              const char *note, emp_sheet_format format, emp_error *err);

#endif /* EMP_BENCH_STUDIES_ABLATION_H */
