/** \file run/training.h
 * Trains the weights of one learner on several problems in turn.
 *
 * Each problem has a state of the method of its own, with its baselines and schedules, and all
 * share the weights. The turn of a problem is as many batches as the method takes to change its
 * weights; then they go to the next. Every round visits all problems, in an order that the seed
 * draws anew.
 *
 * Before that the learner may imitate one placement a problem, which takes no evaluations.
 */
#ifndef EMP_RUN_TRAINING_H
#define EMP_RUN_TRAINING_H

#include <stdatomic.h>

#include "run/loop.h"

/** The result of a turn. */
typedef struct {
    int64_t evaluations; /**< of all problems so far */
    int64_t turn;        /**< from 1 */
    int32_t problem;
    double
        mean_s; /**< step time of the turn's placements, those that do not fit included */
    double best_s; /**< the problem's best so far that fits; NaN: none */
} emp_training_turn;

/** The result of a round of imitation. */
typedef struct {
    int64_t round; /**< from 1 */
    double  first_loss,
        loss; /**< mean over problems, of the first round and of this one */
} emp_training_imitation;

typedef struct {
    const emp_method         *method;
    emp_method_params         placer;  /**< `weights`: to begin with, or NULL */
    const emp_problem *const *problem; /**< [problem_count] borrowed */
    int32_t                   problem_count;
    /** The budget of all problems together, at least 1; with examples 0 is possible, too. */
    int64_t budget_evaluations;
    /** OPTIONAL. [problem_count] Before it learns from scores, the method imitates these for so
     * many rounds, each a step a problem. They are legal, and have what is decided; borrowed. */
    const emp_owned_decision *example;
    int64_t                   imitation_rounds;
    /** OPTIONAL. Set by a signal handler: training ends after the current batch or example, or
     * without it where the method gives it up (emp_method_params). */
    const atomic_int *stop;
    /** OPTIONAL. Called after each turn. */
    void (*on_turn)(void *context, const emp_training_turn *turn);
    /** OPTIONAL. Called after each round of imitation. */
    void (*on_imitation)(void *context, const emp_training_imitation *round);
    void *context;
} emp_training_params;

/** Checks before any work that a method can be trained in turns and, if asked, imitate.
 * \retval EMP_EUNSUPPORTED  It has no weights that fit another graph, or cannot imitate. */
emp_status emp_training_check_method(const emp_method *method, bool imitates,
                                     emp_error *err);

/** Trains. The weights depend on the seed and not on the number of threads. Memory: a state and
 * 64 placements a problem.
 * \param[out] weights  Clear them afterwards, also after a failure. After an interrupt they are
 *                      those so far.
 * \retval EMP_EUNSUPPORTED  As emp_training_check_method().
 * \retval EMP_EINVAL        Two problems have networks of different sizes, or the method ends by
 *                           itself; the message names the problem. Else as emp_run(). */
emp_status emp_training_run(emp_weights *weights, const emp_training_params *params,
                            emp_error *err);

/** The examples of a learner: a decision for each of several problems, found by a method or read by the
 * caller. Zero-initialise. */
typedef struct {
    int32_t             count;
    emp_owned_decision *decision;    /**< [count] owned */
    double             *step_time_s; /**< [count] NaN: not known */
} emp_examples;

/** Makes room for an example of each problem, with all ops on device 0 and nothing else decided.
 * Clear the examples also after a failure.
 * \param decides  A mask of emp_decides.
 * \retval EMP_ENOMEM */
emp_status emp_examples_init(emp_examples *examples, const emp_problem *const *problem,
                             int32_t count, int32_t decides, emp_error *err);

/** Runs the method on each problem, with the same parameters, and takes the best that it finds.
 * Clear the examples also after a failure.
 * \retval EMP_EINFEASIBLE   It finds nothing for a problem that fits in memory; the message names
 *                           the problem.
 * \retval EMP_EINTERRUPTED  \a params->stop was set. Else as emp_run(). */
emp_status emp_examples_make(emp_examples *examples, const emp_problem *const *problem,
                             int32_t count, const emp_run_params *params, emp_error *err);
void       emp_examples_clear(emp_examples *examples);

#endif /* EMP_RUN_TRAINING_H */
