/** \file policy/colocrl/options.h
 * Every constant of the placer over co-location groups, by name; a text
 * "lr=0.01,samples=8" changes single ones. README.md says where each value comes from.
 */
#ifndef EMP_POLICY_COLOCRL_OPTIONS_H
#define EMP_POLICY_COLOCRL_OPTIONS_H

#include "base/error.h"

/* The option whose values have names: name, in preset "paper", the name of that, all names,
 * help. The value is the number of the name. */
#define EMP_COLOCRL_CHOICE_LIST(X)                                                \
    X(order, 0, position, "position number random reverse",                       \
      "of groups given to the network: mean position of their ops, their number " \
      "(first op), random, or last position first: position number random reverse")

/* name, value in preset "paper", smallest, largest, 1 if whole, help */
#define EMP_COLOCRL_OPTION_LIST(X)                                                   \
    X(max_groups, 2048, 1, 16384, 1,                                                 \
      "groups that the rules may leave; more are refused, as memory grows with the " \
      "square")                                                                      \
    X(type_width, 20, 1, 256, 1, "width of the embedding of op types")               \
    X(hidden, 256, 1, 4096, 1, "cells of each LSTM, width of the attention")         \
    X(temperature, 10, 1e-3, 1e6, 0, "T in C tanh(logit / T)")                       \
    X(tanh_constant, 5, 1e-3, 1e6, 0, "C in C tanh(logit / T)")                      \
    X(samples, 4, 1, 64, 1, "placements per update (K)")                             \
    X(lr, 0.03, 0, 10, 0, "learning rate of Adam")                                   \
    X(beta1, 0.9, 0, 0.9999, 0, "decay of Adam's first moment")                      \
    X(beta2, 0.999, 0, 0.999999, 0, "decay of Adam's second moment")                 \
    X(epsilon, 5, 1e-30, 1e6, 0, "Adam's epsilon")                                   \
    X(clip, 1, 1e-6, 1e9, 0, "largest gradient norm of network and embedding, each") \
    X(failure, 10, 0, 1e6, 0, "out of memory counts as a step of failure^2 s")       \
    X(baseline_decay, 0.9, 0, 1, 0, "of the moving average of rewards")              \
    X(baseline_first, 0, 0, 1, 1,                                                    \
      "1: it starts at the first placements that ran, 0: at a failure's reward")     \
    X(run_shortest, 0.03, 0, 1, 0, "part of the groups that share a draw: least")    \
    X(run_longest, 1, 0, 1, 0, "and most; 0: all draws are independent")             \
    X(updates_failures, 5000, 0, 1e9, 1, "updates that failures take part in")       \
    X(placer_gain, 1, 0, 1e6, 0, "initial scale of the network's last layer")        \
    X(entropy, 0, 0, 1e6, 0, "weight of the policy's entropy in the objective")

typedef struct {
#define X(name, paper, low, high, whole, help) \
    double name; /**< see the list             \
                  */
    EMP_COLOCRL_OPTION_LIST(X)
#undef X
#define X(name, paper, paper_name, names, help) double name;
    EMP_COLOCRL_CHOICE_LIST(X)
#undef X
} emp_colocrl_options;

/** Fills \a options from \a preset ("paper"; NULL = "paper") and then from \a text (NULL =
 * nothing more).
 * \retval EMP_EINVAL  Unknown preset or key, or a value out of range; the message lists
 *                     what would be right. */
emp_status emp_colocrl_options_parse(emp_colocrl_options *options, const char *preset,
                                     const char *text, emp_error *err);

#endif /* EMP_POLICY_COLOCRL_OPTIONS_H */
