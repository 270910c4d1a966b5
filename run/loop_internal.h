/** \file run/loop_internal.h
 * A run under way, for the files that make one: loop.c has the loop and asks the method and the oracle,
 * log.c writes the record, checkpoint.c saves the state, and shared.c has the loops of a run that several ranks
 * share.
 */
#ifndef EMP_RUN_LOOP_INTERNAL_H
#define EMP_RUN_LOOP_INTERNAL_H

#include "base/mem.h"
#include "run/loop.h"
#include "sim/engine/sim.h"

/** Everything that one call of emp_run() owns. */
typedef struct {
    const emp_problem    *problem;
    const emp_run_params *params;
    const emp_ranks      *ranks;      /**< borrowed; NULL = alone */
    bool                  is_first;   /**< alone, or rank 0: it reports and saves */
    bool                  is_keeping; /**< it is counted in params->keeping */
    emp_record           *record;
    void                 *placer;
    int32_t               threads, batch_limit;
    emp_sim_team         *sims; /**< one a thread */
    /* The candidates of this rank. */
    emp_owned_decision candidate[EMP_MAX_BATCH];
    emp_sim_result     result[EMP_MAX_BATCH];
    emp_sim_times      times[EMP_MAX_BATCH]; /**< NULL unless the method needs them */
    emp_arrays         arrays;               /**< of these */
    /* The scores of all ranks, in their order; without ranks, of this one. */
    emp_score score[EMP_MAX_TOLD];
    int32_t   count; /**< scores */

    size_t  feasible_capacity, point_capacity, metric_capacity;
    int64_t resumed; /**< evaluations */
    double  start_s; /**< earlier by what a resumed run has spent before */
    double
        start_cpu_s; /**< likewise, by the clock of the thread; NaN: there are several */
    double next_checkpoint_s;
    bool   is_checkpoint_late; /**< it could not be written, and a warning has said so */
    bool   is_untold; /**< the last batch was given up or taught nothing; the run ends */
    bool   is_between_updates; /**< of ranks: what a checkpoint would hold is whole */
} emp_run_state;

/** The conditions that end a run early. */
typedef struct {
    bool is_stopped; /**< it is wanted */
    bool is_late;    /**< the budget in seconds is spent */
    bool is_enough;  /**< the best is as good as was asked for */
} emp_run_end;

/** A scored decision; borrowed. */
typedef struct {
    const emp_owned_decision *decision;
    const emp_sim_result     *result;
} emp_candidate;

/* ---- loop.c ---- */

/** Describes a run that begins now. */
void emp_run_init(emp_run_state *run, emp_record *record, const emp_problem *problem,
                  const emp_run_params *params);
/** Makes all that it needs, its method last. */
emp_status emp_run_prepare(emp_run_state *run, emp_error *err);
/** Frees it, also after a failure. */
void emp_run_clear(emp_run_state *run);

/** Asks, scores, tells and logs a batch of at most \a max; count 0: the method has nothing more
 * to propose, or was stopped, or the run asks for the batch again when it is resumed. */
emp_status emp_run_batch(emp_run_state *run, int32_t max, emp_error *err);

/* ---- loop.c: a batch of candidates ---- */

emp_run_end emp_run_end_now(const emp_run_state *run);
/** How many candidates the budget still allows when \a underway have no scores yet; 0 ends
 * the run and notes why. */
int32_t emp_run_room(emp_run_state *run, emp_run_end end, int64_t underway);

/** Has the method propose at most \a max candidates. */
emp_status emp_run_ask(emp_run_state *run, int32_t max, int32_t *count, emp_error *err);
/** Legalizes and scores the first \a count candidates: results, and score[0] on.
 * \retval EMP_EINTERRUPTED  The run is to end, and some are not scored. */
emp_status emp_run_score(emp_run_state *run, int32_t count, emp_error *err);
/** EMP_OK if all ranks are well (emp_ranks); alone, \a st. */
emp_status emp_run_agree(const emp_run_state *run, emp_status st, emp_error *err);
/** Takes from scores what only their own rank knows, by pointers. */
void emp_run_forget(emp_score *scores, int32_t count);

/* ---- log.c ---- */

/** The best of the batch if it is better than all before, else -1. */
int32_t emp_run_find_best(const emp_run_state *run);
/** The method's metrics and their number, at most EMP_MAX_METRICS. */
int32_t emp_run_metrics(const emp_run_state *run, const emp_method_metric **metric);
/** Enters the scores of a batch, the values of all metrics after it, and its new best,
 * or NULL. The first batch fixes the names of the metrics. */
emp_status emp_run_log(emp_run_state *run, const emp_candidate *best,
                       const double *metric, emp_error *err);
void       emp_run_log_end(emp_run_state *run, const char *stopped_by);
/** Tells the caller of emp_run() how far the run is. */
void emp_run_report(const emp_run_state *run);

/* ---- checkpoint.c: nothing without a checkpoint ---- */

/** Goes on from the checkpoint, or makes sure that one can be written. All ranks call it. */
emp_status emp_run_checkpoint_begin(emp_run_state *run, emp_error *err);
emp_status emp_run_checkpoint_save(emp_run_state *run, emp_error *err);
emp_status emp_run_checkpoint_save_if_due(emp_run_state *run, emp_error *err);
/** Likewise when a run is interrupted: it ends with what it has. */
emp_status emp_run_checkpoint_save_last(emp_run_state *run, emp_error *err);

/* ---- shared.c ---- */

emp_status emp_run_check_ranks(const emp_run_params *params, emp_error *err);
/** The loop that this rank's place among the others gives it. */
emp_status emp_run_shared(emp_run_state *run, emp_error *err);

/** The most candidates of one batch of ranks that work together. */
int32_t emp_run_together_limit(const emp_ranks *ranks, int32_t batch_limit);

#endif /* EMP_RUN_LOOP_INTERNAL_H */
