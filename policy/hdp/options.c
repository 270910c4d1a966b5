// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hdp/options.h"

const emp_option emp_hdp_option_list[] = {
    EMP_INTEGER_OPTION("groups", emp_hdp_options, groups, 1, 4096,
                       "groups that ops are put into", 256, 12),
    EMP_INTEGER_OPTION("grouper_hidden", emp_hdp_options, grouper_hidden, 1, 4096,
                       "hidden units of the grouper", 64, 64),
    EMP_INTEGER_OPTION("type_width", emp_hdp_options, type_width, 1, 256,
                       "width of the embedding of op types", 20, 20),
    EMP_BOOL_OPTION("relu", emp_hdp_options, relu, "grouper activation: 1 ReLU, 0 tanh",
                    0, 0),
    EMP_INTEGER_OPTION("hidden", emp_hdp_options, hidden, 1, 4096,
                       "cells of each LSTM, width of the attention", 256, 256),
    EMP_REAL_OPTION("temperature", emp_hdp_options, temperature, 1e-3, 1e6,
                    "T in C tanh(logit / T)", 10, 10),
    EMP_REAL_OPTION("tanh_constant", emp_hdp_options, tanh_constant, 1e-3, 1e6,
                    "C in C tanh(logit / T)", 5, 5),
    EMP_INTEGER_OPTION("samples", emp_hdp_options, samples, 1, 64,
                       "placements per update (k)", 4, 8),
    EMP_REAL_OPTION("lr", emp_hdp_options, lr, 0, 10, "learning rate of Adam", 0.1,
                    0.003),
    EMP_REAL_OPTION("beta1", emp_hdp_options, beta1, 0, 0.9999,
                    "decay of Adam's first moment", 0.9, 0.9),
    EMP_REAL_OPTION("beta2", emp_hdp_options, beta2, 0, 0.999999,
                    "decay of Adam's second moment", 0.999, 0.999),
    EMP_REAL_OPTION("epsilon", emp_hdp_options, epsilon, 1e-30, 1e6, "Adam's epsilon", 5,
                    1e-4),
    EMP_REAL_OPTION("clip", emp_hdp_options, clip, 1e-6, 1e9,
                    "largest gradient norm of each network", 1, 1),
    EMP_REAL_OPTION("failure", emp_hdp_options, failure, 0, 1e6,
                    "out of memory counts as a step of failure^2 s", 10, 10),
    EMP_REAL_OPTION("baseline_decay", emp_hdp_options, baseline_decay, 0, 1,
                    "of the moving average of rewards", 0.9, 0.9),
    EMP_BOOL_OPTION(
        "baseline_first", emp_hdp_options, baseline_first,
        "1: it starts at the first placements that ran, 0: at a failure's reward", 1, 1),
    EMP_REAL_OPTION("noise", emp_hdp_options, noise, 0, 100,
                    "exploration: added to the scale 1 of Gumbel draws", 0.5, 0),
    EMP_INTEGER_OPTION("updates_noise", emp_hdp_options, updates_noise, 0, 1e9,
                       "updates with noise", 500, 500),
    EMP_REAL_OPTION("run_shortest", emp_hdp_options, run_shortest, 0, 1,
                    "part of the groups that share a draw: least", 0.03, 0.03),
    EMP_REAL_OPTION("run_longest", emp_hdp_options, run_longest, 0, 1,
                    "and most; 0: all draws are independent", 1, 0),
    EMP_INTEGER_OPTION("updates_failures", emp_hdp_options, updates_failures, 0, 1e9,
                       "updates that failures take part in", 500, 500),
    EMP_BOOL_OPTION("ranges", emp_hdp_options, ranges,
                    "first groups: 1 ranges of the numbering of ops, 0 by Glorot weights",
                    1, 1),
    EMP_REAL_OPTION("ranges_slope", emp_hdp_options, ranges_slope, 0, 1e6,
                    "steepness of the hidden units that tell them", 10, 10),
    EMP_REAL_OPTION("ranges_gain", emp_hdp_options, ranges_gain, 0, 1e6,
                    "how sharply they are told apart", 3000, 3000),
    EMP_REAL_OPTION("placer_gain", emp_hdp_options, placer_gain, 0, 1e6,
                    "initial scale of the placer's last layer", 1, 1),
    EMP_INTEGER_OPTION("window", emp_hdp_options, window, 0, 16,
                       "neighbours a side that an op's features hold; 0 needs ranges=0",
                       6, 6),
    EMP_REAL_OPTION("entropy", emp_hdp_options, entropy, 0, 1e6,
                    "weight of the placer's entropy in the objective", 0, 0),
    EMP_REAL_OPTION("imbalance", emp_hdp_options, imbalance, 1, 64,
                    "largest group of METIS or Scotch over the mean", 2, 2),
    EMP_INTEGER_OPTION(
        "elites", emp_hdp_options, elites, 0, 64,
        "0: REINFORCE; else the placer learns the best n placements so far by heart", 0,
        5),
    EMP_REAL_OPTION("strays", emp_hdp_options, strays, 0, 4096,
                    "groups of a sample that go anywhere, on average; at most half", 0,
                    1),
    EMP_BOOL_OPTION("greedy", emp_hdp_options, greedy,
                    "1: the first sample takes the likeliest devices", 0, 1),
    EMP_INTEGER_OPTION("starts", emp_hdp_options, starts, 0, 8,
                       "times to begin anew with other groups", 0, 3),
    EMP_INTEGER_OPTION("start_samples", emp_hdp_options, start_samples, 1, 1e9,
                       "samples of a start", 200, 200),
    EMP_INTEGER_OPTION("start_refine", emp_hdp_options, start_refine, 0, 1e9,
                       "samples of refining its best placement", 500, 500),
    EMP_INTEGER_OPTION("refine_elites", emp_hdp_options, refine_elites, 1, 64,
                       "best placements that refining goes on from", 2, 2),
    EMP_INTEGER_OPTION("refine_smallest", emp_hdp_options, refine_smallest, 1, 4096,
                       "groups in the first grouping of refining", 24, 24),
    EMP_INTEGER_OPTION("refine_largest", emp_hdp_options, refine_largest, 1, 4096,
                       "and at most in the last; each size is twice the one before", 1024,
                       1024),
    EMP_INTEGER_OPTION("refine_cuts", emp_hdp_options, refine_cuts, 1, 16,
                       "groupings of each size", 4, 4),
    EMP_REAL_OPTION("refine_imbalance", emp_hdp_options, refine_imbalance, 1, 64,
                    "the same as imbalance for the groups of refining", 3, 3),
    EMP_REAL_OPTION(
        "refine_alike", emp_hdp_options, refine_alike, 0, 1,
        "share of moves of any group; others go by its share of the critical path", 0.3,
        0.3),
    EMP_REAL_OPTION("refine_chosen", emp_hdp_options, refine_chosen, 0, 1,
                    "share of samples that the surrogate chooses", 0.5, 0.5),
    EMP_INTEGER_OPTION("refine_filter", emp_hdp_options, refine_filter, 1, 1024,
                       "candidates for each of these", 16, 64),
    EMP_WORD_OPTION("grouping", emp_hdp_options, grouping,
                    "learned|random|chunks|metis|scotch|names|colocation|none",
                    "who groups ops: the grouper, nobody who learns (fixed_groups.h), or "
                    "nobody at all (op_agent.h)",
                    EMP_GROUPING_LEARNED, EMP_GROUPING_SCOTCH),
    EMP_WORD_OPTION("order", emp_hdp_options, order, EMP_GROUP_SEQUENCE_WORDS,
                    "of groups given to the placer: mean position of their ops, their "
                    "number, random, or last position first",
                    EMP_ORDER_POSITION, EMP_ORDER_POSITION),
    EMP_WORD_OPTION("reward", emp_hdp_options, reward, "sqrt|identity|log",
                    "of a step of t seconds: -sqrt(t), -t, -ln(t)", EMP_REWARD_SQRT,
                    EMP_REWARD_SQRT),
    EMP_WORD_OPTION("objective", emp_hdp_options, objective, "time|balance",
                    "what rewards are for: short steps, or little traffic cut under "
                    "balanced load, as partitioners have it (search/partition/balance.h)",
                    EMP_OBJECTIVE_TIME, EMP_OBJECTIVE_TIME),
    EMP_NO_OPTION};

/* Whether single values that are right are so together. */
static emp_status check_together(const emp_hdp_options *o, emp_error *err)
{
    bool is_learned = o->grouping == EMP_GROUPING_LEARNED;

    if ((o->elites > 0 || o->starts > 0) &&
        (is_learned || o->grouping == EMP_GROUPING_NONE))
        return EMP_ERROR(EMP_EINVAL,
                         "hdp: elites and starts are for groups that do not change; "
                         "with grouping=%s give elites=0,strays=0,starts=0",
                         is_learned ? "learned" : "none");
    if (o->strays > 0 && o->elites == 0)
        return EMP_ERROR(EMP_EINVAL,
                         "hdp: strays are for elites; with elites=0 give strays=0");
    if (o->starts > 0 && o->refine_smallest > o->refine_largest)
        return EMP_ERROR(EMP_EINVAL, "hdp: refine_smallest=%d is above refine_largest=%d",
                         o->refine_smallest, o->refine_largest);
    return EMP_OK;
}

emp_status emp_hdp_options_parse(emp_hdp_options *options, const char *preset,
                                 const char *text, emp_error *err)
{
    static const emp_option_table table = {"hdp", EMP_HDP_PRESETS, emp_hdp_option_list};

    EMP_CHECK(emp_options_parse(options, &table, preset, text, err));
    return check_together(options, err);
}
