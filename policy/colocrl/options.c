// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/colocrl/options.h"

const emp_option emp_colocrl_option_list[] = {
    EMP_INTEGER_OPTION("max_groups", emp_colocrl_options, max_groups, 1, 16384,
                       "groups that the rules may leave; more are refused, as memory "
                       "grows with the square",
                       2048),
    EMP_INTEGER_OPTION("type_width", emp_colocrl_options, type_width, 1, 256,
                       "width of the embedding of op types", 20),
    EMP_INTEGER_OPTION("hidden", emp_colocrl_options, hidden, 1, 4096,
                       "cells of each LSTM, width of the attention", 256),
    EMP_REAL_OPTION("temperature", emp_colocrl_options, temperature, 1e-3, 1e6,
                    "T in C tanh(logit / T)", 10),
    EMP_REAL_OPTION("tanh_constant", emp_colocrl_options, tanh_constant, 1e-3, 1e6,
                    "C in C tanh(logit / T)", 5),
    EMP_INTEGER_OPTION("samples", emp_colocrl_options, samples, 1, 64,
                       "placements per update (K)", 4),
    EMP_REAL_OPTION("lr", emp_colocrl_options, lr, 0, 10, "learning rate of Adam", 0.03),
    EMP_REAL_OPTION("beta1", emp_colocrl_options, beta1, 0, 0.9999,
                    "decay of Adam's first moment", 0.9),
    EMP_REAL_OPTION("beta2", emp_colocrl_options, beta2, 0, 0.999999,
                    "decay of Adam's second moment", 0.999),
    EMP_REAL_OPTION("epsilon", emp_colocrl_options, epsilon, 1e-30, 1e6, "Adam's epsilon",
                    5),
    EMP_REAL_OPTION("clip", emp_colocrl_options, clip, 1e-6, 1e9,
                    "largest gradient norm of network and embedding, each", 1),
    EMP_REAL_OPTION("failure", emp_colocrl_options, failure, 0, 1e6,
                    "out of memory counts as a step of failure^2 s", 10),
    EMP_REAL_OPTION("baseline_decay", emp_colocrl_options, baseline_decay, 0, 1,
                    "of the moving average of rewards", 0.9),
    EMP_BOOL_OPTION(
        "baseline_first", emp_colocrl_options, baseline_first,
        "1: it starts at the first placements that ran, 0: at a failure's reward", 0),
    EMP_REAL_OPTION("run_shortest", emp_colocrl_options, run_shortest, 0, 1,
                    "part of the groups that share a draw: least", 0.03),
    EMP_REAL_OPTION("run_longest", emp_colocrl_options, run_longest, 0, 1,
                    "and most; 0: all draws are independent", 1),
    EMP_INTEGER_OPTION("updates_failures", emp_colocrl_options, updates_failures, 0, 1e9,
                       "updates that failures take part in", 5000),
    EMP_REAL_OPTION("placer_gain", emp_colocrl_options, placer_gain, 0, 1e6,
                    "initial scale of the network's last layer", 1),
    EMP_REAL_OPTION("entropy", emp_colocrl_options, entropy, 0, 1e6,
                    "weight of the policy's entropy in the objective", 0),
    EMP_WORD_OPTION("order", emp_colocrl_options, order, EMP_GROUP_SEQUENCE_WORDS,
                    "of groups given to the network: mean position of their ops, their "
                    "number (first op), random, or last position first",
                    EMP_ORDER_POSITION),
    EMP_NO_OPTION};

emp_status emp_colocrl_options_parse(emp_colocrl_options *options, const char *preset,
                                     const char *text, emp_error *err)
{
    static const emp_option_table table = {"colocrl", "paper", emp_colocrl_option_list};

    return emp_options_parse(options, &table, preset, text, err);
}
