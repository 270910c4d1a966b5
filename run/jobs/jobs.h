/** \file run/jobs/jobs.h
 * Many runs of methods, each on one of a few tasks: what tables and studies consist of.
 *
 * Runs whose records exist are read, the others are made, in parallel, with the threads
 * shared out evenly; what a run finds does not depend on that. Without ranks the first seed of
 * all comes first, cheap methods before dear ones, and of a method the longest run first: so
 * whoever stops early has whole columns.
 *
 * Ranks may share the runs. Then all have the same jobs and the same folder; rank 0 hands the runs
 * out, the longest first, and reads what the others have made.
 *
 * Programs that know nothing of each other may have one folder. A run that another one is making is left
 * for the end, and then awaited: its record is read, or the run is made if that program has ended without it.
 */
#ifndef EMP_RUN_JOBS_JOBS_H
#define EMP_RUN_JOBS_JOBS_H

#include <stdatomic.h>

#include "run/loop.h"
#include "run/ranks/ranks.h"
#include "run/tasks/task.h"
#include "run/timing.h"

/** A run that is ready. */
typedef struct {
    const char *row, *method; /**< titles */
    uint64_t    seed;
    double      step_time_s; /**< infinity: nothing that fits in memory */
    double      elapsed_s;   /**< 0 for a record that was read */
    bool        is_read;
    int32_t     done, total; /**< runs */
} emp_job_event;

struct emp_job;

/** How far all runs are. */
typedef struct {
    const struct emp_job *job; /**< all of them, as the caller has them; borrowed */
    int32_t               count;
    double                done_frac;   /**< of the work */
    double                remaining_s; /**< an estimate; infinite: not known */
} emp_jobs_progress;

/** How runs are made. */
typedef struct {
    const char *folder; /**< of the run records */
    int32_t     threads;
    bool        is_fresh;  /**< first remove what the folder has of these runs */
    bool        is_single; /**< each run has one thread, even where more are free */
    /** Records keep no metrics, and of their curves the points where the best changed. Saved records
     * are whole. */
    bool is_lean;
    /** A method that finds no placement, or does not take such a problem, gives a result that says
     * so; else it is a failure. */
    bool keeps_refusals;
    /** The number of shards, and this one, from 1: runs of the others are neither read nor made,
     * and emp_jobs_run() then ends as if it was stopped. 0: there is one. */
    int32_t shard_count, shard;
    /** OPTIONAL. They share the runs. Rank 0 has all of them in the end. emp_jobs_run() ends on the
     * others as if it was stopped, or, with \a is_for_all, when they have all of them, too. */
    const emp_ranks  *ranks;
    bool              is_for_all;
    const atomic_int *stop; /**< OPTIONAL: set to end after the current batches */
    atomic_int
        *keeping; /**< OPTIONAL. How many runs have something that is not in the folder
                              yet, as emp_run_params has it */
    /** OPTIONAL. Calls come from several threads, one at a time. */
    void (*on_run)(void *context, const emp_job_event *event);
    /** OPTIONAL. Called at the start, and as work gets done; one call at a time. */
    void (*on_progress)(void *context, const emp_jobs_progress *progress);
    void *context;
} emp_jobs_params;

/** A run: the caller fills in the first part, emp_jobs_run() the second. */
typedef struct emp_job {
    const char        *row, *column; /**< titles, for reports */
    const emp_problem *problem;
    emp_run_params     run;    /**< without threads, stop and progress */
    double             cost;   /**< relative; for the order and the progress bar */
    double             effort; /**< relative, of the method on any task; for the order */
    bool
        is_elsewhere; /**< another shard makes it; emp_jobs_run() says so if its shard is set */

    bool is_ready;   /**< the record belongs to a whole run ... */
    bool is_refused; /**< ... or, if refusals are kept, says what was run, and `error` why
                          there is no placement */
    emp_record record;
    emp_timing timing;    /**< times are NaN of a record without a timing file */
    double     done_frac; /**< of its work, while it is made */
    /* Private. */
    double                earlier_frac; /**< of its work, before this call */
    uint64_t              identity;     /**< of the run; only with shards and ranks */
    bool                  is_awaited;   /**< another program is making it */
    bool                  was_there;    /**< the record was, before this call */
    emp_status            status;
    emp_error             error;
    struct emp_jobs_plan *plan;
} emp_job;

/** A method as a job runs it. */
typedef struct {
    const char *title;
    const char *method;
    const char *preset;  /**< or NULL */
    const char *options; /**< or NULL */
    int64_t     budget;  /**< evaluations; 0 = the method ends by itself */
} emp_job_method;

/** Fills in a job.
 * \retval EMP_EINVAL  There is no such method. */
emp_status emp_job_init(emp_job *job, const emp_loaded_task *loaded, const emp_task *task,
                        const emp_job_method *method, uint64_t seed, emp_error *err);

/** Fails if a run is to be made and the folder cannot be written to. emp_jobs_run() begins with it;
 * for those who have other work before. Runs that are all on record may stand in a folder that is only read.
 * \retval EMP_EIO  The message names the record of the first such run. */
emp_status emp_jobs_check(const emp_job *jobs, int32_t count,
                          const emp_jobs_params *params, emp_error *err);

/** Makes or reads all runs, if there are any. Collective, with ranks.
 * \retval EMP_EINTERRUPTED  \a stop was set before all jobs were ready, or some are another
 *                           shard's or rank's.
 * \retval EMP_EELSEWHERE    Another rank has failed. Else as emp_run(), and as for the archive. */
emp_status emp_jobs_run(emp_job *jobs, int32_t count, const emp_jobs_params *params,
                        emp_error *err);

/** True when the job is ready and found a placement. */
bool emp_job_has_placement(const emp_job *job);

/** Releases what they found; the array stays the caller's. NULL is allowed. */
void emp_jobs_clear(emp_job *jobs, int32_t count);

#endif /* EMP_RUN_JOBS_JOBS_H */
