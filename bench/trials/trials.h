/** \file bench/trials/trials.h
 * The one engine of all studies: tasks, cells with one run a seed, and what their runs come to.
 *
 *     emp_trials_tasks tasks = {0};
 *     emp_trials       trials = {0};
 *     EMP_TRY(emp_trials_choose(&tasks, definition, 6, "rnnlm,nmt2", NULL, "the study has no row", err));
 *     EMP_TRY(emp_trials_load(&tasks, "tf-r1.3", threads, err));
 *     EMP_TRY(emp_trials_reserve(&trials, rows * arms, rows * arms * seeds, err));
 *     for each row and arm: EMP_TRY(emp_trials_add(&trials, &tasks, row, &arm, seeds, err));
 *     st = emp_trials_run(&trials, &jobs, err);
 *     ...emp_trials_summary(&trials, cell)...
 *     emp_trials_clear(&trials);
 *     emp_trials_tasks_clear(&tasks);
 *
 * A study states its tasks, its arms and its columns. run/jobs/jobs.h has jobs, shards,
 * ranks, checkpoints, progress and interrupts, and run/sheet/sheet.h printing.
 */
#ifndef EMP_BENCH_TRIALS_TRIALS_H
#define EMP_BENCH_TRIALS_TRIALS_H

#include "run/jobs/jobs.h"
#include "run/sheet/sheet.h"
#include "sim/engine/sim.h"

enum { EMP_TRIALS_SEEDS = 100 /**< most runs of a cell */ };

/** The parameters of a study. A study has fewer seeds and evaluations unless it is full, and its
 * definition states them. */
typedef struct {
    const char *rows; /**< comma-separated keys of tasks, or NULL: the definition's */
    const char
        *arms; /**< comma-separated keys of arms, columns or methods, or NULL for all */
    const char     *runtime; /**< profile name or path */
    bool            is_full;
    int32_t         seed_count; /**< of whatever draws; 0: as the definition says */
    int64_t         budget;     /**< evaluations of a run; 0: likewise */
    emp_jobs_params jobs;
} emp_trials_params;

/** The axis of tasks. Zero-initialise; clear it also after a failure. */
typedef struct {
    int32_t          count;
    emp_task        *task;               /**< [count]; owned, with borrowed texts */
    emp_loaded_task *loaded;             /**< [count]; NULL until emp_trials_load() */
    char runtime[EMP_RECORD_NAME_BYTES]; /**< of the first task that is not frozen */
} emp_trials_tasks;

/** Chooses the tasks that \a rows names, a comma-separated list of keys; NULL: the rows of \a fallback,
 * of which NULL means all. A task that shares its key is named by its spec, too.
 * \param what  Begins the message: "the study has no row".
 * \retval EMP_EINVAL  An unknown name; the message lists those known. \retval EMP_ENOMEM */
emp_status emp_trials_choose(emp_trials_tasks *tasks, const emp_task *task, int32_t count,
                             const char *rows, const char *fallback, const char *what,
                             emp_error *err);

/** Loads the chosen tasks in parallel. \param runtime  A profile's name or path; NULL: the profile
 * that fits each task. */
emp_status emp_trials_load(emp_trials_tasks *tasks, const char *runtime, int32_t threads,
                           emp_error *err);
void       emp_trials_tasks_clear(emp_trials_tasks *tasks);

/** Cells and their runs. Zero-initialise; clear it also after a failure. */
typedef struct {
    int32_t  cell_count, job_count;
    emp_job *job;   /**< the runs of a cell are neighbours */
    int32_t *first; /**< [cell_count + 1]: number of a cell's first job */
} emp_trials;

/** Makes room for as many cells and jobs. \retval EMP_ENOMEM */
emp_status emp_trials_reserve(emp_trials *trials, int32_t cells, int32_t jobs,
                              emp_error *err);

/** Adds the next cell: a method on a task, with the seeds 1 to \a seeds; a cell without seeds has
 * no runs, and its method is not looked at. A caller may change the new jobs before they run.
 * \retval EMP_EINVAL  There is no such method. */
emp_status emp_trials_add(emp_trials *trials, const emp_trials_tasks *tasks, int32_t row,
                          const emp_job_method *method, int32_t seeds, emp_error *err);

/** The first job of a cell, and the number of its jobs. */
emp_job *emp_trials_cell(const emp_trials *trials, int32_t cell, int32_t *count);

/** Makes or reads all runs, as emp_jobs_run(). */
emp_status emp_trials_run(emp_trials *trials, const emp_jobs_params *jobs,
                          emp_error *err);

/** Number of all runs that are ready; less than job_count after an interrupt. O(jobs). */
int32_t emp_trials_ready(const emp_trials *trials);

/** Writes one step time for each run of a cell that is ready, and returns their number. Infinity:
 * the run found no placement that fits in memory. */
int32_t emp_trials_steps(const emp_trials *trials, int32_t cell,
                         double step_s[EMP_TRIALS_SEEDS]);

/** Median, least and greatest of emp_trials_steps(); NaN while no run is ready. */
emp_summary emp_trials_summary(const emp_trials *trials, int32_t cell);
void        emp_trials_clear(emp_trials *trials);

/** True for the program that prints the study: no shard, and rank 0 of several ranks. */
bool emp_trials_is_printed(const emp_jobs_params *jobs);

/** Continues with the next phase of a study whose runs depend on earlier runs: the runs that other
 * shards make may be missing. \return \a made, or EMP_OK where only those are missing. */
emp_status emp_trials_go_on(const emp_jobs_params *jobs, emp_status made, emp_error *err);

/** Calls \a work for each of \a count items on several threads, the last item first, because large
 * graphs stand last. \return the failure of the lowest item, or EMP_OK. */
emp_status emp_trials_each(int32_t count, int32_t threads,
                           emp_status (*work)(void *context, int32_t item,
                                              emp_error *err),
                           void *context, emp_error *err);

/** Asks a method without a budget for its placement, which becomes legal.
 * \param[out] device_of_op  [op] */
emp_status emp_trials_propose(const emp_problem *problem, const char *method,
                              const char *options, uint64_t seed,
                              emp_device_id *device_of_op, emp_error *err);

/** True if the lower bound of placements that keep GPU kernels off the CPUs (docs/bounds.md) holds for the best
 * of a run: it fits in memory, fuses no ops, and is such a placement. O(V). */
bool emp_trials_keeps_gpu_kernels(const emp_problem *problem, const emp_record *record);

/** Simulates a step; infinite seconds if it does not fit in memory. */
emp_status emp_trials_simulate(double *step_s, emp_sim *sim, const emp_decision *decision,
                               emp_error *err);

#endif /* EMP_BENCH_TRIALS_TRIALS_H */
