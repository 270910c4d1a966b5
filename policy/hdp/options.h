/** \file policy/hdp/options.h
 * Every constant of the hierarchical planner, by name. A preset gives all of them; a text
 * "lr=0.01,groups=64" changes single ones.
 */
#ifndef EMP_POLICY_HDP_OPTIONS_H
#define EMP_POLICY_HDP_OPTIONS_H

#include "base/error.h"

/* Options whose values have names: name, in preset "paper", in preset "emplace", the names
 * of these two, all names, help. The value is the number of the name. */
#define EMP_HDP_CHOICE_LIST(X)                                                         \
    X(grouping, 0, 4, learned, scotch,                                                 \
      "learned random chunks metis scotch names colocation none",                      \
      "who groups ops: the grouper, nobody who learns (fixed_groups.h), or nobody at " \
      "all (op_agent.h): learned random chunks metis scotch names colocation none")    \
    X(order, 0, 0, position, position, "position number random reverse",               \
      "of groups given to the placer: mean position of their ops, their number, "      \
      "random, or last position first: position number random reverse")                \
    X(reward, 0, 0, sqrt, sqrt, "sqrt identity log",                                   \
      "of a step of t seconds: -sqrt(t), -t, -ln(t): sqrt identity log")               \
    X(objective, 0, 0, time, time, "time balance",                                     \
      "what rewards are for: short steps, or little traffic cut under balanced load, " \
      "as partitioners have it (search/partition/balance.h): time balance")

/* name, value in preset "paper", in preset "emplace", smallest, largest, 1 if whole, help
 */
#define EMP_HDP_OPTION_LIST(X)                                                          \
    X(groups, 256, 12, 1, 4096, 1, "groups that ops are put into")                      \
    X(grouper_hidden, 64, 64, 1, 4096, 1, "hidden units of the grouper")                \
    X(type_width, 20, 20, 1, 256, 1, "width of the embedding of op types")              \
    X(relu, 0, 0, 0, 1, 1, "grouper activation: 1 ReLU, 0 tanh")                        \
    X(hidden, 256, 256, 1, 4096, 1, "cells of each LSTM, width of the attention")       \
    X(temperature, 10, 10, 1e-3, 1e6, 0, "T in C tanh(logit / T)")                      \
    X(tanh_constant, 5, 5, 1e-3, 1e6, 0, "C in C tanh(logit / T)")                      \
    X(samples, 4, 8, 1, 64, 1, "placements per update (k)")                             \
    X(lr, 0.1, 0.003, 0, 10, 0, "learning rate of Adam")                                \
    X(beta1, 0.9, 0.9, 0, 0.9999, 0, "decay of Adam's first moment")                    \
    X(beta2, 0.999, 0.999, 0, 0.999999, 0, "decay of Adam's second moment")             \
    X(epsilon, 5, 1e-4, 1e-30, 1e6, 0, "Adam's epsilon")                                \
    X(clip, 1, 1, 1e-6, 1e9, 0, "largest gradient norm of each network")                \
    X(failure, 10, 10, 0, 1e6, 0, "out of memory counts as a step of failure^2 s")      \
    X(baseline_decay, 0.9, 0.9, 0, 1, 0, "of the moving average of rewards")            \
    X(baseline_first, 1, 1, 0, 1, 1,                                                    \
      "1: it starts at the first placements that ran, 0: at a failure's reward")        \
    X(noise, 0.5, 0, 0, 100, 0, "exploration: added to the scale 1 of Gumbel draws")    \
    X(updates_noise, 500, 500, 0, 1e9, 1, "updates with noise")                         \
    X(run_shortest, 0.03, 0.03, 0, 1, 0, "part of the groups that share a draw: least") \
    X(run_longest, 1, 0, 0, 1, 0, "and most; 0: all draws are independent")             \
    X(updates_failures, 500, 500, 0, 1e9, 1, "updates that failures take part in")      \
    X(ranges, 1, 1, 0, 1, 1,                                                            \
      "first groups: 1 ranges of the numbering of ops, 0 by Glorot weights")            \
    X(ranges_slope, 10, 10, 0, 1e6, 0, "steepness of the hidden units that tell them")  \
    X(ranges_gain, 3000, 3000, 0, 1e6, 0, "how sharply they are told apart")            \
    X(placer_gain, 1, 1, 0, 1e6, 0, "initial scale of the placer's last layer")         \
    X(window, 6, 6, 0, 16, 1,                                                           \
      "neighbours a side that an op's features hold; 0 needs ranges=0")                 \
    X(entropy, 0, 0, 0, 1e6, 0, "weight of the placer's entropy in the objective")      \
    X(imbalance, 2, 2, 1, 64, 0, "largest group of METIS or Scotch over the mean")      \
    X(elites, 0, 5, 0, 64, 1,                                                           \
      "0: REINFORCE; else the placer learns the best n placements so far by heart")     \
    X(strays, 0, 1, 0, 4096, 0,                                                         \
      "groups of a sample that go anywhere, on average; at most half")                  \
    X(greedy, 0, 1, 0, 1, 1, "1: the first sample takes the likeliest devices")         \
    X(starts, 0, 3, 0, 8, 1, "times to begin anew with other groups")                   \
    X(start_samples, 200, 200, 1, 1e9, 1, "samples of a start")                         \
    X(start_refine, 500, 500, 0, 1e9, 1, "samples of refining its best placement")      \
    X(refine_elites, 2, 2, 1, 64, 1, "best placements that refining goes on from")      \
    X(refine_smallest, 24, 24, 1, 4096, 1, "groups in the first grouping of refining")  \
    X(refine_largest, 1024, 1024, 1, 4096, 1,                                           \
      "and at most in the last; each size is twice the one before")                     \
    X(refine_cuts, 4, 4, 1, 16, 1, "groupings of each size")                            \
    X(refine_imbalance, 3, 3, 1, 64, 0,                                                 \
      "the same as imbalance for the groups of refining")                               \
    X(refine_alike, 0.3, 0.3, 0, 1, 0,                                                  \
      "share of moves of any group; others go by its share of the critical path")       \
    X(refine_chosen, 0.5, 0.5, 0, 1, 0, "share of samples that the surrogate chooses")  \
    X(refine_filter, 16, 64, 1, 1024, 1, "candidates for each of these")

typedef struct {
#define X(name, paper, emplace, low, high, whole, help) \
    double name; /**< see the list                      \
                  */
    EMP_HDP_OPTION_LIST(X)
#undef X
#define X(name, paper, emplace, paper_name, emplace_name, names, help) double name;
    EMP_HDP_CHOICE_LIST(X)
#undef X
} emp_hdp_options;

/** Fills \a options from \a preset ("paper", "emplace"; NULL = "paper") and then from
 * \a text (NULL = nothing more).
 * \retval EMP_EINVAL  Unknown preset or key, a value out of range, or values that do not go
 *                     together; the message lists what would be right. */
emp_status emp_hdp_options_parse(emp_hdp_options *options, const char *preset,
                                 const char *text, emp_error *err);

#endif /* EMP_POLICY_HDP_OPTIONS_H */
