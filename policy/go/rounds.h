/** \file policy/go/rounds.h
 * Rounds of GO: each but the first decides anew and sees what the one before has drawn (policies
 * of Zhou et al. 2020 are iterative). The devices of the last round are proposed.
 *
 *     y_1 ~ p(. | none),   y_t ~ p(. | y_{t-1}),   t = 2 .. T
 *
 * Within a round nodes are drawn as with one round. An update adds up the objectives of all rounds,
 * with one advantage: the proposal's. In the first round all samples share a pass. In
 * each other one a sample has a pass of its own, forward and backward, in every epoch.
 *
 * With one round nothing is allocated, and emp_go_rounds_zero(), emp_go_rounds_add() and
 * emp_go_rounds_give() do nothing. The other functions are for several rounds.
 */
#ifndef EMP_POLICY_GO_ROUNDS_H
#define EMP_POLICY_GO_ROUNDS_H

#include "policy/go/net.h"
#include "policy/reinforce/learner.h"
#include "search/method.h"

/* The steps of an update of GO: some epochs of PPO (reinforce/learner.h) on decisions that were
 * drawn once, of all tasks together. The objectives of tasks are added. */

/** Decisions of one kind, of all nodes. */
typedef struct {
    emp_decides     what;
    bool            is_kept;  /**< they stay as they are, and teach nothing */
    const emp_real *p;        /**< [position][choice] of the network; borrowed */
    emp_real       *d_logits; /**< likewise */
    emp_row_ppo     ppo;
    emp_real       *drawn_from; /**< [position][choice] */
    uint8_t        *choice;     /**< [sample][position] */
} emp_go_task;

typedef struct {
    int32_t  samples; /**< that the advantages of the tasks were gathered of */
    int32_t  epochs;
    double   clip;    /**< largest norm of a gradient */
    double   entropy; /**< weight */
    emp_adam adam;
} emp_go_climb;

/** Makes the steps. The network's last forward pass is the drawing. Sets \a gradient_norm to the
 * last step's, before clipping. Once the network's `stop` is set, it ends early, and the parameters
 * are worth nothing.
 * \return minus the objective before the last step, without entropy. */
double emp_go_climb_run(const emp_go_climb *climb, emp_go_net *net,
                        const emp_go_task *task, int32_t task_count,
                        double *gradient_norm);

/** The inputs and draws of the rounds behind the first: arrays are [round - 1][sample][position]. */
typedef struct {
    int32_t   count; /**< T, at least 1 */
    int32_t   rows, samples;
    uint8_t  *seen;       /**< what the round before has drawn */
    emp_real *likelihood; /**< of what the round has drawn itself */
    emp_real *drawn_from; /**< [position][device] scratch: likelihoods of one sample */
    emp_real *sum;        /**< of the gradients of passes */
} emp_go_rounds;

/** Leaves memory that was out to the arrays. \a net has the rounds' input. */
void emp_go_rounds_allocate(emp_go_rounds *rounds, const emp_go_net *net, int32_t samples,
                            emp_arrays *arrays);

/** Begins a round behind the first: that many \a choice [sample][position] become what is seen. */
void emp_go_rounds_begin(emp_go_rounds *rounds, int32_t round, const uint8_t *choice,
                         int32_t samples);
/** Has the network see what it has drawn for the sample in the round before. */
void emp_go_rounds_show(const emp_go_rounds *rounds, int32_t round, int32_t sample,
                        emp_go_net *net);
/** Notes how likely the \a choice [position] of the sample was. */
void emp_go_rounds_note(emp_go_rounds *rounds, int32_t round, int32_t sample,
                        const emp_go_net *net, const uint8_t *choice);

/** Passes of one step: begins, adds the gradient of each pass, and gives their sum to the network. */
void emp_go_rounds_zero(emp_go_rounds *rounds, const emp_go_net *net);
void emp_go_rounds_add(emp_go_rounds *rounds, const emp_go_net *net);
void emp_go_rounds_give(const emp_go_rounds *rounds, emp_go_net *net);

/** As emp_go_climb_run(), of the only task, for several rounds. The samples 1 .. climb->samples have
 * the advantages 0 .. climb->samples - 1. */
double emp_go_rounds_climb(emp_go_rounds *rounds, const emp_go_climb *climb,
                           emp_go_net *net, const emp_go_task *task,
                           const double *advantage, double *gradient_norm);

#endif /* EMP_POLICY_GO_ROUNDS_H */
