// SPDX-License-Identifier: GPL-3.0-or-later
/* Refining, one choice changed at a time. */
#include "bench/studies/ablation.h"
#include "bench/tables/paper.h"

static const emp_arm arms[] = {
    EMP_ARM("default", "default", NULL),

    EMP_ARM("stages", "starts=1", "starts=1"),
    EMP_ARM("stages", "starts=5", "starts=5,start_samples=400"),

    EMP_ARM("grouping", "groups=metis", "groups=metis"),
    EMP_ARM("grouping", "groups=names", "groups=names"),
    EMP_ARM("grouping", "large groups only", "finest=12"),
    EMP_ARM("grouping", "small groups only", "coarsest=768"),
    EMP_ARM("grouping", "cuts=1", "cuts=1"),
    EMP_ARM("grouping", "cuts=4", "cuts=4"),

    EMP_ARM("guiding", "no blame", "alike=1"),
    EMP_ARM("guiding", "no surrogate", "chosen=0"),
    EMP_ARM("guiding", "neither", "alike=1,chosen=0"),
    EMP_ARM("guiding", "surrogate chooses all", "chosen=1"),
    EMP_ARM("guiding", "filter=16", "filter=16"),
    EMP_ARM("guiding", "filter=256", "filter=256"),
};

const emp_ablation emp_ablation_refine = {.name = "refine",
                                          .method = "refine",
                                          .arm = arms,
                                          .arm_count = sizeof arms / sizeof *arms,
                                          .row = emp_paper_task,
                                          .row_count = EMP_PAPER_TASKS,
                                          .rows = "inception_v3,rnnlm,nmt2,nmt4",
                                          .seed_count = 5,
                                          .first_seed_count = 1,
                                          .budget = 4000,
                                          .first_budget = 400};
