// SPDX-License-Identifier: GPL-3.0-or-later
/* Refining, one choice changed at a time. */
#include "bench/tables/ablation.h"
#include "bench/tables/paper.h"

static const emp_arm arms[] = {
    {"default", "default", NULL, NULL},

    {"stages", "starts=1", "starts=1", NULL},
    {"stages", "starts=5", "starts=5,start_samples=400", NULL},

    {"grouping", "groups=metis", "groups=metis", NULL},
    {"grouping", "groups=names", "groups=names", NULL},
    {"grouping", "large groups only", "finest=12", NULL},
    {"grouping", "small groups only", "coarsest=768", NULL},
    {"grouping", "cuts=1", "cuts=1", NULL},
    {"grouping", "cuts=4", "cuts=4", NULL},

    {"guiding", "no blame", "alike=1", NULL},
    {"guiding", "no surrogate", "chosen=0", NULL},
    {"guiding", "neither", "alike=1,chosen=0", NULL},
    {"guiding", "surrogate chooses all", "chosen=1", NULL},
    {"guiding", "filter=16", "filter=16", NULL},
    {"guiding", "filter=256", "filter=256", NULL},
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
