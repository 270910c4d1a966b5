/** \file cli/options/run_options.h
 * The options that name a run, shared by `simulate`, `place` and `train`, and the run
 * itself.
 */
#ifndef EMP_CLI_OPTIONS_RUN_OPTIONS_H
#define EMP_CLI_OPTIONS_RUN_OPTIONS_H

#include <argp.h>

#include "cli/options/inputs.h"
#include "run/loop.h"
#include "sim/bounds/bounds.h"

typedef struct {
    cli_task_options task;
    const char      *preset;
    const char      *options;
    int64_t          budget;  /**< evaluations; 0 = not given */
    double           seconds; /**< 0 = not given */
    uint64_t         seed;
    int32_t          threads;
    bool             is_unbound;
    /* No options of cli_run_argp: `place` and `train` fill them in. */
    double gap_frac; /**< the run may end so far above the lower bound; -1 = it may not */
    int32_t              decides;     /**< mask of emp_decides */
    const emp_device_id *start;       /**< [op] where the method begins, or NULL */
    const emp_weights   *weights;     /**< with which it begins, or NULL */
    emp_weights         *weights_out; /**< receives them at the end, or NULL */
    emp_run_checkpoint   checkpoint;
    const emp_ranks     *ranks;
    bool                 is_async;
    const char          *kept; /**< a record that no other run may replace, or NULL */
    const char          *kept_placement; /**< likewise a placement file */
    emp_runners_up      *runners_up;     /**< as of emp_run_params, or NULL */
    const char          *log; /**< file for a line of JSON an update, or NULL */
} cli_run_options;

/** Options for argp's table, and their parser: returns ARGP_ERR_UNKNOWN for other keys.
 * A command adds it as an argp child with its cli_run_options as input. */
extern const struct argp cli_run_argp;

/** The default when an option is not given. */
cli_run_options cli_run_options_default(void);

/** Whether a run may go on with the log at \a path: there is no such file, or it is empty or begins as a log of
 * that form does. */
bool cli_log_is_own(const char *path);

/** Begins with \a weights, which are borrowed. Without --preset and --options the run has those that the
 * weights were trained with; a warning says if it lacks one of these. */
void cli_run_begin_with(cli_run_options *options, const emp_weights *weights,
                        const emp_method *method);

/** Computes the lower bounds on the step time of a decision: none if the options say so, ops are fused or Ctrl-C has
 * ended the work before. */
emp_status cli_bound(emp_bounds *bounds, const cli_run_options *options,
                     const emp_problem *problem, const emp_decision *decision,
                     emp_error *err);

/** emp_bounds_compute(), which on a terminal says what it is doing. */
emp_status cli_bounds_compute(emp_bounds *bounds, const emp_problem *problem,
                              const emp_bounds_options *how, emp_error *err);

/** The message when Ctrl-C ends a run before its first batch. */
#define CLI_NOTHING_FOUND "interrupted before a placement was found; no file was written"

/** Fails unless \a path (NULL is fine) is free, or a placement file of this very run.
 * \retval EMP_EINVAL */
emp_status cli_check_placement_kept(const char *path, const emp_record *run,
                                    emp_error *err);

/** Runs \a method as the options say, with a progress bar; Ctrl-C ends it early. Before the
 * first batch, Ctrl-C ends the program within about a second. Without a budget a method that
 * never ends by itself gets \a default_budget evaluations. \a best (NULL is fine) receives
 * what the oracle says of the best placement. */
emp_status cli_run(emp_record *record, emp_sim_result *best,
                   const cli_run_options *options, const emp_problem *problem,
                   const emp_method *method, int64_t default_budget, emp_error *err);

#endif /* EMP_CLI_OPTIONS_RUN_OPTIONS_H */
