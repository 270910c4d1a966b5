/** \file policy/placeto/learn.h
 * What the network sees of an episode, and what an update does with it.
 */
#ifndef EMP_POLICY_PLACETO_LEARN_H
#define EMP_POLICY_PLACETO_LEARN_H

#include "policy/placeto/agent.h"

/** Columns before the one-hot device: cost, output bytes, whether the node has its device of this
 * episode, whether it is its turn, and when it starts in the last step, less the start of the node
 * whose turn it is. */
enum { EMP_PLACETO_FEATURES = 5 };

/** Fills cost and bytes: a node's mean time over the devices, and what others read of it, both
 * over the largest of all nodes. */
void emp_placeto_fill_constants(emp_placeto_agent *agent);

/** Fills x for all rollouts before the draw of \a step. \a device is [rollout][node]. */
void emp_placeto_fill_states(emp_placeto_agent *agent, int32_t step,
                             const int32_t *device);

/** The update of an episode that has ended; sets metrics. */
void emp_placeto_learn(emp_placeto_agent *agent);

/** For tests: sets \a weight of each step and rollout, and makes the average know of G. */
void emp_placeto_weigh(emp_placeto_agent *agent);

/** Adds to the gradient what the weights and an entropy that counts \a entropy make of it, uphill.
 * Returns the loss. */
double emp_placeto_add_gradients(emp_placeto_agent *agent, double entropy);

#endif /* EMP_POLICY_PLACETO_LEARN_H */
