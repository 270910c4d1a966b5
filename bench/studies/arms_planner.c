// SPDX-License-Identifier: GPL-3.0-or-later
/* The planner of the paper, one choice changed at a time. `emplace ablate grouping` has what concerns its
 * groups, its window and its reward. */
#include "bench/studies/definitions.h"

#define PLANNER(title, list)                                                        \
    {                                                                               \
        .name = title, .method = "hdp", .preset = "paper", .arm = list,             \
        .arm_count = sizeof list / sizeof *(list), .row = emp_study_task,           \
        .row_count = EMP_STUDY_TASKS, .rows = "rnnlm10,nmt2w8,resnet50",            \
        .seed_count = 5, .first_seed_count = 1, .budget = 2000, .first_budget = 160 \
    }

/* The same groups for an LSTM that reads them in some order, and for attention, which has none. */
static const emp_arm forgetting[] = {
    EMP_ARM("default", "LSTM", "grouping=scotch,groups=48"),
    EMP_ARM("order", "LSTM, last first", "grouping=scotch,groups=48,order=reverse"),
    EMP_ARM("order", "LSTM, any order", "grouping=scotch,groups=48,order=random"),
    EMP_ARM("network", "attention", "nodes=groups,groups=48,samples=8", .method = "go",
            .preset = "emplace"),
};
const emp_ablation emp_arms_forgetting = PLANNER("forgetting", forgetting);

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
