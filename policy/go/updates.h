/** \file policy/go/updates.h
 * GO as a policy and its updates. An ask proposes the likeliest placement and K - 1 placements
 * drawn from the network's distributions. A tell is one update: some steps of PPO
 * (reinforce/learner.h) on the drawn ones. The likeliest one was not drawn, and teaches nothing.
 *
 *     R = -sqrt(t), -10 if out of memory                      failure=fixed
 *     R = -sqrt(t / t0) - 3 (memory missing over a device's)  failure=graded
 *
 * t is the step time in s, t0 the step time of the first placement proposed.
 *
 * Where the order or the fusion is decided, too, each is a task of its own (tail.h), with the same
 * draws, advantages and objective; the objectives are added. A policy with a start
 * keeps those devices, and learns the rest. Several rounds (rounds.h) decide only devices.
 */
#ifndef EMP_POLICY_GO_UPDATES_H
#define EMP_POLICY_GO_UPDATES_H

#include "policy/go/fit.h"
#include "policy/go/options.h"
#include "policy/go/rounds.h"

enum { EMP_GO_METRICS = 6 };

enum { EMP_GO_TASKS = 1 + EMP_TAIL_MAX_TASKS };

typedef struct {
    emp_learner        learner; /**< first; its ops are NULL */
    emp_go_options     options;
    const emp_problem *problem; /**< borrowed */
    emp_node_graph    *nodes;   /**< owned */
    emp_transferable   features;
    emp_coupling       coupling;
    emp_go_fit         fit; /**< with that option */
    emp_go_net         net;
    emp_go_rounds      rounds;
    int32_t            task_count;
    emp_go_task        task[EMP_GO_TASKS]; /**< the first decides devices */
    emp_device_id     *start;   /**< [op] devices that stay; NULL: they are decided */
    uint8_t           *decided; /**< [position] likewise */
    float             *gumbel;  /**< [thread][position][choice] scratch */
    emp_device_id     *device_of_node; /**< scratch */
    int64_t            budget;         /**< 0: unknown */
    int64_t            told;
    double             reference_s; /**< t0; 0: none yet */
    emp_rewards        rewards;
    emp_params_copy    before; /**< the parameters before the update that is being made */
    emp_arrays         arrays;
} emp_go_agent;

/** \a agent is zeroed. \retval EMP_EINVAL  No op has a choice, there is a start and nothing to
 * decide but devices, or there are several rounds and more to decide. \retval EMP_ENOMEM */
emp_status emp_go_agent_init(emp_go_agent *agent, const emp_problem *problem,
                             const emp_go_options    *options,
                             const emp_method_params *params, emp_error *err);
void       emp_go_agent_clear(emp_go_agent *agent);

/** Draws that many decisions into the choices of all tasks. \retval EMP_EINTERRUPTED */
emp_status emp_go_agent_propose(emp_go_agent *agent, int32_t samples);
/** Writes a drawn one. */
void emp_go_agent_write(emp_go_agent *agent, int32_t sample,
                        const emp_owned_decision *to);
/** One step of Adam up the mean log-likelihood of an example's decisions. GPUs of an example are
 * named anew (options.h), and a node's is the GPU of most of its ops. The level of an
 * op becomes the nearest choice, and a leader that is not the op itself "joins".
 * \param[out] loss  The mean negative log-likelihood of a decision before, in nats.
 * \retval EMP_EINTERRUPTED  No step was made. */
emp_status emp_go_agent_imitate(emp_go_agent *agent, const emp_owned_decision *example,
                                double *loss);

/** One update from their scores. \retval EMP_EINTERRUPTED  There was none. */
emp_status emp_go_agent_learn(emp_go_agent *agent, const emp_score *scores);

#endif /* EMP_POLICY_GO_UPDATES_H */
