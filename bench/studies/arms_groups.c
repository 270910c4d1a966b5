// SPDX-License-Identifier: GPL-3.0-or-later
/* ColocRL's rules, one of them off at a time, and cuts in their place. */
#include "bench/studies/definitions.h"

const emp_task emp_study_task[EMP_STUDY_TASKS] = {
    {"rnnlm10", "RNNLM, 10 steps", "rnnlm:steps=10", "k40x2", 2, NULL},
    {"nmt2w8", "NMT, 2 layers, 8 words", "nmt:layers=2,steps=8", "k40x2", 2, NULL},
    {"resnet50", "ResNet-50", "resnet:depth=50", "k40x2", 2, NULL},
};

static const emp_arm colocation[] = {
    EMP_ARM("default", "default", NULL),
    EMP_ARM("rules", "gradients apart", "gradients=0"),
    EMP_ARM("rules", "readers apart", "readers=0"),
    EMP_ARM("rules", "layers apart", "layers=0"),
    EMP_ARM("groups", "groups=metis", "groups=metis"),
    EMP_ARM("groups", "groups=names", "groups=names"),
};

const emp_ablation emp_arms_colocation = {.name = "colocation",
                                          .method = "colocrl",
                                          .arm = colocation,
                                          .arm_count =
                                              sizeof colocation / sizeof *colocation,
                                          .row = emp_study_task,
                                          .row_count = EMP_STUDY_TASKS,
                                          .rows = "rnnlm10,nmt2w8,resnet50",
                                          .seed_count = 5,
                                          .first_seed_count = 1,
                                          .budget = 2000,
                                          .first_budget = 100};
