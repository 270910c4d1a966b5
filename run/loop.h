/** \file run/loop.h
 * Runs a placement method: the one loop of ask, legalize, score, tell that all methods
 * share, so that budget, seed, threads and best-so-far mean the same for each.
 *
 * A batch is scored in parallel, one simulator a thread, and passed to tell() in order: the record
 * does not depend on the number of threads.
 *
 * Several programs may share a run. Each calls emp_run() with the same parameters but for
 * `ranks`, proposes and scores its own part of every update, and makes the same step from
 * the gradients of all, added in order of ranks (shared.c): the record depends on
 * the number of ranks, not on which is slow. With `is_async` rank 0 is a parameter server
 * and the others are controllers (shared.c; Mirhoseini et al., 2017): who is faster
 * then counts.
 */
#ifndef EMP_RUN_LOOP_H
#define EMP_RUN_LOOP_H

#include <stdatomic.h>

#include "run/ranks/ranks.h"
#include "run/store/store.h"
#include "search/method.h"
#include "sim/engine/sim.h"
#include "sim/problem/decision.h"

/* The best distinct placements that a run scores, for looking at what else a search found.
 *
 * Two placements are alike if their steps take equally long, which also covers two equal GPUs that are exchanged, or
 * if less than 1 % of the ops are on different devices. The list keeps only the best of placements that are alike. A
 * placement that fits in memory is better than one that does not. */

enum { EMP_RUNNERS_UP_MAX = 12 };

typedef struct {
    emp_owned_decision decision;
    emp_time_ns        step_time_ns;
    bool               is_feasible;
} emp_runner_up;

/** Set the limit and zero the rest. Read the places, the best first. */
typedef struct {
    int32_t       limit; /**< of places, at most EMP_RUNNERS_UP_MAX */
    int32_t       count;
    emp_runner_up place[EMP_RUNNERS_UP_MAX];
} emp_runners_up;

/** Considers a scored decision, which is copied if it gets a place. O(1) for one that is too slow to get one,
 * else O(limit ops). \retval EMP_ENOMEM  The places are unchanged. */
emp_status emp_runners_up_note(emp_runners_up           *runners_up,
                               const emp_owned_decision *decision,
                               const emp_sim_result *result, emp_error *err);

void emp_runners_up_clear(emp_runners_up *runners_up);

/** Where a run stands. */
typedef struct {
    int64_t evaluations;
    int64_t resumed;            /**< of them; those before the run went on */
    int64_t budget_evaluations; /**< 0 = no limit */
    double  elapsed_s;          /**< also before it went on */
    double  budget_s;           /**< 0 = no limit */
    double  cpu_s; /**< of the run's one thread, also before; NaN: it has several */
    double  budget_cpu_s; /**< 0 = no limit */
    double  best_s;       /**< NaN while nothing fits in memory */
    const emp_record
        *record; /**< so far, with a point and metrics of each batch; borrowed */
} emp_progress;

/** Estimated seconds until the budget is used up, whichever limit comes first. */
double emp_progress_remaining_s(const emp_progress *progress);

/** A file that holds the state of a run while it is under way, so that a run that was
 * killed goes on as if it had not been: with a budget only in evaluations its record is
 * the same, byte for byte; one in seconds ends when the clock says. */
typedef struct {
    const char *path; /**< NULL = none */
    /** Seconds between two writes; 0 = as few as cost under 1 % of the time. A run writes
     * once before it starts, too, and once when it is interrupted. */
    double every_s;
    bool   is_resumed; /**< go on from the file, which must be of this very run */
} emp_run_checkpoint;

typedef struct {
    const emp_method *method;
    emp_method_params placer;             /**< threads: also of the scoring */
    int64_t           budget_evaluations; /**< 0 = no limit */
    double            budget_s;           /**< 0 = no limit */
    double            budget_cpu_s; /**< of one thread; 0 = no limit; needs one thread */
    double
        enough_s; /**< a feasible placement as fast as this ends the run; 0 = none does */
    emp_run_checkpoint checkpoint;
    const emp_ranks   *ranks;    /**< NULL = alone; for methods that have `sharing` */
    bool               is_async; /**< needs ranks */
    /** OPTIONAL. Set by a signal handler: the run ends after the current batch. A method with
     * `asks_again` does not learn from that batch. With a checkpoint the batch is no part of the run,
     * which asks for it again when it is resumed; without one it counts, if all of it was scored. */
    const atomic_int *stop;
    /** OPTIONAL. How many runs have something to save. The run adds one after its first
     * checkpoint, or after its first batch if it has none. A run that succeeds has added one,
     * which the caller takes off when the record is saved; one that fails takes it off. */
    atomic_int *keeping;
    /** OPTIONAL. Called after each batch, and when a run goes on from its checkpoint. */
    void (*progress)(void *context, const emp_progress *progress);
    /** OPTIONAL. Called with a sentence when a checkpoint that is due cannot be written, so that the one
     * before stays and the run goes on and tries again, and when the method has a warning. NULL: a run
     * whose checkpoint cannot be written fails. */
    void (*warn)(void *context, const char *sentence);
    void *context;
    /** OPTIONAL. Receives the method's weights at the end, which must have some; clear them
     * afterwards, also after a failure. */
    emp_weights *weights;
    /** OPTIONAL. Receives what the oracle says of the best placement, if this rank has the
     * whole record. */
    emp_sim_result *best;
    /** OPTIONAL. Gets the best distinct placements of a run that is not shared by ranks; those of a run that
     * goes on from a checkpoint are the ones that it scores itself. */
    emp_runners_up *runners_up;
} emp_run_params;

/** Fills in what a run of \a params on \a problem will be: method, inputs and their
 * hashes, seed, budget, program. emp_run() does it too; by itself it serves to look for
 * a record. */
void emp_run_describe(emp_record *record, const emp_problem *problem,
                      const emp_run_params *params);

/** Runs a method until its budget is spent, it has nothing more to propose, its best takes no more than enough_s, or
 * \a stop is set; one that is set when the budget is spent comes too late to matter, unless the method gives up
 * its last batch. Scores at least one batch, unless the method gives that up. The best is the fastest
 * placement that fits in memory, the first of equals; when none fits, the fastest of those that do not,
 * marked infeasible.
 *
 * A checkpoint stays where it is: who has saved the record removes it. One that is there
 * and not to be resumed is never written over.
 *
 * Rank 0 writes checkpoints and reports progress, and all read the one to go
 * on from. Budgets count for all together.
 *
 * A method from outside that fails after its first batch ends the run with what was found: the
 * record is whole, stopped_by is "failure", and the status is the failure's.
 *
 * \param[out] record  Clear it afterwards, also after a failure. With is_async only rank 0 has
 *                     it whole.
 * \retval EMP_EINVAL  Options of more characters than a record holds; a budget in CPU seconds and
 *                     several threads or ranks, or a checkpoint with it; no limit at all for a
 *                     method that never ends by itself; a checkpoint of another run, one in the
 *                     way, or for a method that has no state to save.
 * \retval EMP_EIO     The first checkpoint, or the last one of a run that is interrupted or that other
 *                     ranks have left, cannot be written, or there is none to resume.
 * \retval EMP_EFORMAT What should be a checkpoint is none, or is torn.
 * \retval EMP_EINTERRUPTED  The method has given up the first batch, since \a stop was set. A
 *                     checkpoint is left to go on from.
 * \retval EMP_EUNSUPPORTED  A method that cannot share a run, with ranks.
 * \retval EMP_EEXTERNAL     Other ranks have gone; rank 0 has then saved a checkpoint, unless
 *                           it stood in the middle of an update: the one before remains.
 * \retval EMP_EELSEWHERE    Another rank has failed, and says why. */
emp_status emp_run(emp_record *record, const emp_problem *problem,
                   const emp_run_params *params, emp_error *err);

#endif /* EMP_RUN_LOOP_H */
