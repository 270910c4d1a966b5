/** \file bench/tables/paper.h
 * What Tables 1 and 2 of "A Hierarchical Model for Device Placement" (ICLR 2018) report:
 * six models, the machines they ran on, and seconds per training step of each placement.
 *
 * The paper states no sizes. Facts of graphs, memory verdicts and times that are impossible at a
 * device's peak rate may bound a size; agreement with a time may not choose one.
 */
#ifndef EMP_BENCH_TABLES_PAPER_H
#define EMP_BENCH_TABLES_PAPER_H

#include <math.h>

#include "bench/tables/table.h"

enum { EMP_PAPER_TASKS = 6, EMP_PAPER_ROWS = 7 };

/** Where the figures are from, for notes and files. */
extern const char emp_paper_source[];  /**< Table 1 */
extern const char emp_paper_source2[]; /**< Table 2 */

/** The models in the order of the paper, at the published sizes, which are the defaults of graphs/workloads.
 * Table 2 and studies that compare methods with each other use these tasks. */
extern const emp_task emp_paper_task[EMP_PAPER_TASKS];

/** The rows of Table 1, each with the key of its model. Inception-V3 has two rows, batch 1 and 8, because the
 * paper's times are impossible with the published batch of 32; all other rows are emp_paper_task. */
extern const emp_task emp_paper_row[EMP_PAPER_ROWS];

/** The number of the task with that key, or -1. */
int32_t emp_paper_find(const char *key);

/** Seconds per step as reported for a task under a placement ("cpu", "gpu", "expert",
 * "scotch", "mincut", "hdp"): infinity for out of memory, NaN where the paper has no
 * figure. */
double emp_paper_step_s(int32_t task, const char *method);

/** True when a size of the workload was inferred from the reported figure of that cell
 * ("nmt2:gpu"); graphs/workloads/README.md says which size, and why. */
bool emp_paper_is_inferred(const char *cell);

/** The arithmetic that a reported time asks of one device. */
typedef struct {
    const char *method, *device; /**< "cpu", "CPU" */
    double      flops;           /**< of the ops that may be on such a device */
    double      paper_s; /**< NaN: the paper has no figure; infinite: out of memory */
    double      peak_flops_per_s; /**< of the fastest such device */
} emp_paper_demand;

enum { EMP_PAPER_SINGLE_DEVICES = 2 };

/** Fills in the demands on the CPU and on one GPU with the sizes of a problem. O(V). */
void emp_paper_demands(emp_paper_demand   out[EMP_PAPER_SINGLE_DEVICES],
                       const emp_problem *problem, int32_t task);

/** FLOP/s that the reported time asks for; NaN without a time. */
double emp_paper_asked(const emp_paper_demand *demand);

/** True if that is more than the device's peak rate: the step was of another size. */
bool emp_paper_is_impossible(const emp_paper_demand *demand);

#endif /* EMP_BENCH_TABLES_PAPER_H */
