/** \file run/loop_internal.h
 * A run under way, for the files that make one: runner.c has the loop, together.c what ranks
 * exchange in each turn of it, server.c the loops of a parameter server and its controllers.
 */
#ifndef EMP_RUN_LOOP_INTERNAL_H
#define EMP_RUN_LOOP_INTERNAL_H

#include "run/loop.h"
#include "sim/engine/sim.h"

/** Everything that one call of emp_run() owns. */
typedef struct {
    const emp_problem    *problem;
    const emp_run_params *params;
    const emp_ranks      *ranks; /**< borrowed; NULL = alone */
    emp_record           *record;
    void                 *placer;
    int32_t               threads;
    emp_sim             **sim; /**< [thread] */
    /* Of this rank. */
    emp_device_id *candidate[EMP_MAX_BATCH];
    emp_device_id *candidate_block; /**< storage of all candidates */
    emp_sim_result result[EMP_MAX_BATCH];
    emp_status     status[EMP_MAX_BATCH];
    emp_error      error[EMP_MAX_BATCH];
    /* Of all ranks, in their order; alone, of this one. */
    emp_score score[EMP_MAX_TOLD];
    int32_t   count;      /**< scores */
    int32_t   first, own; /**< those of this rank: number of the first, how many */
    int32_t   own_of[EMP_MAX_TOLD]; /**< [rank] */
    void     *exchange;             /**< owned: room for a block of every rank; or NULL */

    size_t  feasible_capacity, point_capacity, metric_capacity;
    int64_t resumed; /**< evaluations */
    double  start_s; /**< earlier by what a resumed run has spent before */
    double  next_checkpoint_s;
    bool    is_between_updates; /**< what a checkpoint would hold is whole */
} emp_run_state;

/** What ends a run early. */
typedef struct {
    bool is_stopped; /**< somebody wants it */
    bool is_late;    /**< the budget in seconds is spent */
} emp_run_end;

/** A scored placement; borrowed. */
typedef struct {
    const emp_device_id  *device_of_op;
    const emp_sim_result *result;
} emp_candidate;

/** Gets candidate number \a i of the batch from whoever proposed it. */
typedef emp_status emp_run_fetch(emp_run_state *run, int32_t i, emp_candidate *candidate,
                                 emp_error *err);

/* ---- runner.c ---- */

/** Legalizes and scores the first \a count candidates: results, and score[0] on. */
emp_status emp_run_score(emp_run_state *run, int32_t count, emp_error *err);
/** Enters the scores of a batch; \a fetch is asked for a new best. */
emp_status emp_run_log(emp_run_state *run, emp_run_fetch *fetch, emp_error *err);
/** The method's metrics and their number, at most EMP_MAX_METRICS. */
int32_t emp_run_metrics(const emp_run_state *run, const emp_placer_metric **metric);
/** Enters the values of all metrics; the first row fixes their names. */
emp_status  emp_run_log_metrics(emp_run_state *run, const double *value, emp_error *err);
emp_run_end emp_run_is_ended(const emp_run_state *run);
/** How many candidates the budget still allows when \a underway are not yet told; 0 ends
 * the run and notes why. */
int32_t    emp_run_room(emp_run_state *run, emp_run_end end, int64_t underway);
emp_status emp_run_save_if_due(emp_run_state *run, emp_error *err);
void       emp_run_report(const emp_run_state *run);

/* ---- together.c: alone, each does what it says without others ---- */

/** EMP_OK if all ranks are well (emp_ranks). */
emp_status emp_run_agree(const emp_run_state *run, emp_status st, emp_error *err);
/** The most candidates of one batch. */
int32_t emp_run_batch_limit(const emp_run_state *run);
/** All stop if one is asked to, and when the clock of rank 0 says so. */
emp_status emp_run_share_end(const emp_run_state *run, emp_run_end *end, emp_error *err);
/** Of \a room candidates those that this rank may propose; returns \a room. */
int32_t emp_run_share_of(const emp_run_state *run, int32_t room, int32_t *own);
/** The scores of this rank, score[0] to score[own-1], become those of all. */
emp_status    emp_run_share_scores(emp_run_state *run, int32_t own, emp_error *err);
emp_run_fetch emp_run_share_best;
/** One update. */
emp_status emp_run_tell(emp_run_state *run, emp_error *err);
/** Metrics: the mean over ranks that proposed something. */
emp_status emp_run_share_metrics(emp_run_state *run, double *value, emp_error *err);
/** Fails on all ranks if the parameters of one are not, bit for bit, those of the others. */
emp_status emp_run_check_values(const emp_run_state *run, emp_error *err);

/* ---- server.c ---- */

/** The loop of a parameter server: gives controllers parameters, and makes a step from each
 * gradient as it comes. */
emp_status emp_run_serve(emp_run_state *run, emp_error *err);
/** The loop of a controller: gets parameters, proposes, scores, sends its gradient. */
emp_status emp_run_work(emp_run_state *run, emp_error *err);

#endif /* EMP_RUN_LOOP_INTERNAL_H */
