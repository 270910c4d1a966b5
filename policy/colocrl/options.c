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
    EMP_LEARNER_OPTIONS(emp_colocrl_options, learner, 0.03, 0, 5000),
    EMP_REAL_OPTION("beta1", emp_colocrl_options, learner.adam.beta1, 0, 0.9999,
                    "decay of Adam's first moment", 0.9),
    EMP_REAL_OPTION("beta2", emp_colocrl_options, learner.adam.beta2, 0, 0.999999,
                    "decay of Adam's second moment", 0.999),
    EMP_REAL_OPTION("run_shortest", emp_colocrl_options, run_shortest, 0, 1,
                    "part of the groups that share a draw: least", 0.03),
    EMP_REAL_OPTION("run_longest", emp_colocrl_options, run_longest, 0, 1,
                    "and most; 0: all draws are independent", 1),
    EMP_REAL_OPTION("placer_gain", emp_colocrl_options, placer_gain, 0, 1e6,
                    "initial scale of the network's last layer", 1),
    EMP_WORD_OPTION("order", emp_colocrl_options, order, EMP_GROUP_SEQUENCE_WORDS,
                    "of groups given to the network: mean position of their ops, their "
                    "number (first op), random, or last position first",
                    EMP_ORDER_POSITION),
    EMP_NO_OPTION};
