/** \file bench/tables/paper.h
 * What Tables 1 and 2 of "A Hierarchical Model for Device Placement" (ICLR 2018) report:
 * six models, the machines they ran on, and seconds per training step of each placement.
 */
#ifndef EMP_BENCH_TABLES_PAPER_H
#define EMP_BENCH_TABLES_PAPER_H

#include <math.h>

#include "bench/tables/table.h"

enum { EMP_PAPER_TASKS = 6 };

/** Where the figures are from, for notes and files. */
extern const char emp_paper_source[];  /**< Table 1 */
extern const char emp_paper_source2[]; /**< Table 2 */

/** The tasks in the order of the paper. Their sizes are the defaults of graphs/workloads. */
extern const emp_task emp_paper_task[EMP_PAPER_TASKS];

/** The number of the task with that key, or -1. */
int32_t emp_paper_find(const char *key);

/** Seconds per step as reported for a task under a placement ("cpu", "gpu", "expert",
 * "scotch", "mincut", "hdp"): infinity for out of memory, NaN where the paper has no
 * figure. */
double emp_paper_step_s(int32_t task, const char *method);

/** True when a size of the workload was inferred from the reported figure of that cell
 * ("nmt2:gpu"); graphs/workloads/README.md says which size, and why. */
bool emp_paper_is_inferred(const char *cell);

/** Why the reported figures of a task must be of other sizes than ours, as a sentence; NULL: they
 * need not be. */
const char *emp_paper_other_size(int32_t task);

/** Seconds per step as reported for a task whose ops were grouped at random, over several
 * groupings (Table 2). */
emp_summary emp_paper_random_s(int32_t task);

/** The improvement by learned groups that Table 2 reports, as a fraction: 1 - HDP of Table
 * 1 / the best random grouping. */
double emp_paper_improvement(int32_t task);

#endif /* EMP_BENCH_TABLES_PAPER_H */
