/** \file bench/tables/ablation.h
 * Studies in which one choice of a method is varied at a time. A definition
 * (ablate_grouping.c, ablate_hdp.c, ablate_refine.c) lists the arms; the first is the default, to which
 * ratios are.
 */
#ifndef EMP_BENCH_TABLES_ABLATION_H
#define EMP_BENCH_TABLES_ABLATION_H

#include <stdio.h>

#include "bench/tables/table.h"
#include "run/jobs.h"

/** One choice. */
typedef struct {
    const char *study;   /**< what is varied: "order" */
    const char *name;    /**< unique: "order=random" */
    const char *options; /**< of the method, on top of the preset; NULL = none */
    const char *preset;  /**< another than the study's; NULL = that */
} emp_arm;

typedef struct {
    const char     *name;            /**< "grouping" */
    const char     *method, *preset; /**< the latter NULL: it has none */
    const emp_arm  *arm;             /**< [0] is the default */
    int32_t         arm_count;
    const emp_task *row;
    int32_t         row_count;
    const char     *rows; /**< keys of the rows that are made unless others are named */
    int32_t seed_count, first_seed_count; /**< of the full study and of a first one */
    int64_t budget, first_budget;         /**< evaluations a run, likewise */
} emp_ablation;

/** What the planner's groups owe to each choice that makes them. */
extern const emp_ablation emp_ablation_grouping;
/** What each of our choices is worth that the preset "literal" of the planner undoes. */
extern const emp_ablation emp_ablation_hdp;
/** What each choice of refining contributes. */
extern const emp_ablation emp_ablation_refine;

typedef struct {
    const char *rows; /**< comma-separated keys, or NULL: those of the definition */
    const char *arms; /**< comma-separated studies and arms, or NULL for all; the default
                               is always among them */
    const char *runtime; /**< profile name or path */
    bool        is_full; /**< not a first study, with smaller budgets and fewer seeds */
    int32_t     seed_count; /**< 0: those of the definition */
    int64_t     budget;     /**< evaluations a run; 0: likewise */
    emp_jobs_params jobs;
} emp_ablation_params;

/** What the runs of an arm on a row came to. */
typedef struct {
    const emp_arm  *arm;
    const emp_task *row;
    int32_t         run_count;   /**< seeds that are ready */
    int32_t         oom_count;   /**< of them, those that found nothing that fits */
    emp_summary     step_s;      /**< best placements of the seeds; infinite: none fits */
    double          ratio;       /**< of the median to the default's; NaN without both */
    int64_t         evaluations; /**< of all seeds */
    double          feasible_frac; /**< of them that fit in memory */
} emp_ablation_cell;

typedef struct {
    const emp_ablation *definition;
    int32_t             arm_count, row_count;
    emp_ablation_cell  *cell; /**< [row][arm] */
    int32_t             seed_count;
    int64_t             budget;
    char                runtime[EMP_RECORD_NAME_BYTES];
} emp_ablation_table;

/** Makes a study.
 * \retval EMP_EINVAL       An unknown row or arm; the message lists what there is.
 * \retval EMP_EINTERRUPTED \a stop was set; the table has the cells that were ready. */
emp_status emp_ablation_make(emp_ablation_table **out, const emp_ablation *definition,
                             const emp_ablation_params *params, emp_error *err);
void       emp_ablation_destroy(emp_ablation_table *table);

/** The preset of an arm; NULL: the method has none. */
const char *emp_ablation_preset(const emp_ablation *definition, const emp_arm *arm);

/** Writes the study. \retval EMP_ENOMEM */
emp_status emp_ablation_print(FILE *out, const emp_ablation_table *table,
                              emp_sheet_format format, emp_error *err);

#endif /* EMP_BENCH_TABLES_ABLATION_H */
