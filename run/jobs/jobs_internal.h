/** \file run/jobs/jobs_internal.h
 * What the files of this folder share.
 */
#ifndef EMP_RUN_JOBS_JOBS_INTERNAL_H
#define EMP_RUN_JOBS_JOBS_INTERNAL_H

#include "run/jobs/jobs.h"

/** The state of an emp_jobs_run(). */
struct emp_jobs_plan {
    const emp_jobs_params *params;
    emp_job               *job; /**< [count] */
    int32_t                count;
    double                 cost;      /**< of all jobs */
    int32_t                done, own; /**< of own jobs: those of this shard */
    int32_t   at_once; /**< jobs that this program makes at a time, at least 1 */
    double    start_s;
    emp_job **order; /**< [count] in the order in which jobs are made; owned */
    int32_t   next;  /**< of them */
    int32_t
        awaited; /**< jobs that others are making, which take the first places of `order` */
    atomic_bool has_failed;
    emp_status  status; /**< of asking rank 0 */
    emp_error   error;
};

/* ---- order.c ---- */

/** Allocates plan->order and fills it. */
emp_status emp_jobs_sort(struct emp_jobs_plan *plan, emp_error *err);
/** Puts the longest jobs first, and of equal ones goes by what they are. */
void emp_jobs_sort_by_size(struct emp_jobs_plan *plan);
/** Deals the jobs out to the shards in turn, which share the work evenly. */
void emp_jobs_choose_shard(struct emp_jobs_plan *plan);

/* ---- jobs.c ---- */

bool emp_jobs_are_stopped(const emp_jobs_params *params);
/** Looks for its record or refusal in the folder. */
emp_status emp_job_find(emp_job *job, bool *is_read, emp_error *err);
/** Counts and reports a run that has ended, or that was read. */
void emp_job_conclude(emp_job *job, bool is_read);
/** Makes those jobs that this program has, or that rank 0 hands out to it. */
emp_status emp_jobs_make(struct emp_jobs_plan *plan, emp_error *err);

/* ---- shared.c ---- */

/** Asks rank 0 for a job; NULL: there is none left. \param[in] done  NULL, or the job before. */
emp_status emp_jobs_ask(emp_job **job, struct emp_jobs_plan *plan, const emp_job *done,
                        emp_error *err);
/** Tells rank 0 of a job that is ready, of a thread that wants no more: it hands out nothing more. */
emp_status emp_jobs_tell(const struct emp_jobs_plan *plan, const emp_job *done,
                         emp_error *err);
/** Makes all jobs with the other ranks. Collective. \retval EMP_EINTERRUPTED  A rank was stopped. */
emp_status emp_jobs_share(struct emp_jobs_plan *plan, emp_error *err);

#endif /* EMP_RUN_JOBS_JOBS_INTERNAL_H */
