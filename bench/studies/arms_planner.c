// SPDX-License-Identifier: GPL-3.0-or-later
/* The planner of the paper, one choice changed at a time. Arms that `ablate grouping` has, too, have its
 * names. */
#include "bench/studies/definitions.h"

#define PLANNER(title, list)                                                        \
    {                                                                               \
        .name = title, .method = "hdp", .preset = "paper", .arm = list,             \
        .arm_count = sizeof list / sizeof *(list), .row = emp_study_task,           \
        .row_count = EMP_STUDY_TASKS, .rows = "rnnlm10,nmt2w8,resnet50",            \
        .seed_count = 5, .first_seed_count = 1, .budget = 2000, .first_budget = 160 \
    }

/* The same groups for an LSTM that reads them in some order, and for attention without order. */
static const emp_arm order[] = {
    EMP_ARM("default", "default", NULL),
    EMP_ARM("order", "order=reverse", "order=reverse"),
    EMP_ARM("order", "order=random", "order=random"),
    EMP_ARM("network", "LSTM on 48 groups", "grouping=scotch,groups=48"),
    EMP_ARM("network", "attention on 48 groups", "nodes=groups,groups=48,samples=8",
            .method = "go", .preset = "emplace"),
};
const emp_ablation emp_arms_order = PLANNER("order", order);

static const emp_arm traffic[] = {
    EMP_ARM("default", "default", NULL),
    EMP_ARM("objective", "objective=balance", "objective=balance"),
};
const emp_ablation emp_arms_traffic = PLANNER("traffic", traffic);

static const emp_arm window[] = {
    EMP_ARM("default", "default", NULL),
    EMP_ARM("window", "window=0", "window=0,ranges=0"),
    EMP_ARM("window", "ranges=0", "ranges=0"),
    EMP_ARM("window", "window=3", "window=3"),
    EMP_ARM("window", "window=12", "window=12"),
    EMP_ARM("window", "window=16", "window=16"),
};
const emp_ablation emp_arms_window = PLANNER("window", window);

static const emp_arm reward[] = {
    EMP_ARM("default", "default", NULL),
    EMP_ARM("reward", "reward=identity", "reward=identity"),
    EMP_ARM("reward", "reward=log", "reward=log"),
};
const emp_ablation emp_arms_reward = PLANNER("reward", reward);

static const emp_arm constants[] = {
    EMP_ARM("default", "default", NULL),
    EMP_ARM("rate", "lr=0.01", "lr=0.01"),
    EMP_ARM("rate", "lr=0.03", "lr=0.03"),
    EMP_ARM("rate", "lr=0.3", "lr=0.3"),
    EMP_ARM("temperature", "temperature=1", "temperature=1"),
    EMP_ARM("temperature", "temperature=3", "temperature=3"),
    EMP_ARM("constant", "tanh_constant=2", "tanh_constant=2"),
    EMP_ARM("constant", "tanh_constant=10", "tanh_constant=10"),
};
const emp_ablation emp_arms_constants = PLANNER("constants", constants);
