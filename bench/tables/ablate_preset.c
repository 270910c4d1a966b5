// SPDX-License-Identifier: GPL-3.0-or-later
/* The preset emplace of the planner, one choice changed at a time, and the first two steps
 * from the preset paper towards it. */
#include "bench/tables/ablation.h"
#include "bench/tables/paper.h"

/* Imitation of the best, as the preset emplace has it. */
#define IMITATION                                                                \
    "elites=5,strays=1,greedy=1,samples=8,noise=0,run_longest=0,epsilon=0.0001," \
    "lr=0.003"

/* REINFORCE, as the preset paper has it. */
#define REINFORCEMENT \
    "elites=0,strays=0,greedy=0,samples=4,noise=0.5,run_longest=1,epsilon=5,lr=0.1"

static const emp_arm arms[] = {
    {"default", "default", NULL, NULL},

    {"from paper", "12 scotch groups", "grouping=scotch,groups=12", "paper"},
    {"from paper", "12 scotch groups and imitation",
     "grouping=scotch,groups=12," IMITATION, "paper"},

    {"stages", "starts=0", "starts=0", NULL},
    {"stages", "starts=1", "starts=1", NULL},
    {"stages", "starts=2", "starts=2", NULL},
    {"stages", "start_refine=0", "start_refine=0", NULL},
    {"stages", "start_samples=100", "start_samples=100", NULL},
    {"stages", "start_samples=400", "start_samples=400", NULL},

    {"learning", "reinforce", REINFORCEMENT, NULL},
    {"learning", "elites=1", "elites=1", NULL},
    {"learning", "elites=20", "elites=20", NULL},
    {"learning", "strays=0", "strays=0", NULL},
    {"learning", "strays=3", "strays=3", NULL},
    {"learning", "greedy=0", "greedy=0", NULL},
    {"learning", "lr=0.03", "lr=0.03", NULL},
    {"learning", "lr=0.0003", "lr=0.0003", NULL},

    {"grouping", "grouping=metis", "grouping=metis", NULL},
    {"grouping", "grouping=names", "grouping=names", NULL},
    {"grouping", "grouping=chunks", "grouping=chunks", NULL},
    {"grouping", "grouping=random", "grouping=random", NULL},

    {"groups", "groups=6", "groups=6", NULL},
    {"groups", "groups=24", "groups=24", NULL},
    {"groups", "groups=48", "groups=48", NULL},
    {"groups", "imbalance=1.2", "imbalance=1.2", NULL},
    {"groups", "imbalance=4", "imbalance=4", NULL},

    {"refining", "large groups only", "refine_largest=24", NULL},
    {"refining", "small groups only", "refine_smallest=768", NULL},
    {"refining", "refine_cuts=1", "refine_cuts=1", NULL},
    {"refining", "refine_cuts=8", "refine_cuts=8", NULL},
    {"refining", "refine_elites=1", "refine_elites=1", NULL},
    {"refining", "refine_elites=8", "refine_elites=8", NULL},

    {"guiding", "no blame", "refine_alike=1", NULL},
    {"guiding", "no surrogate", "refine_chosen=0", NULL},
    {"guiding", "neither", "refine_alike=1,refine_chosen=0", NULL},
    {"guiding", "surrogate chooses all", "refine_chosen=1", NULL},
    {"guiding", "refine_filter=16", "refine_filter=16", NULL},
    {"guiding", "refine_filter=256", "refine_filter=256", NULL},
};

const emp_ablation emp_ablation_preset = {.name = "preset",
                                          .method = "hdp",
                                          .preset = "emplace",
                                          .arm = arms,
                                          .arm_count = sizeof arms / sizeof *arms,
                                          .row = emp_paper_task,
                                          .row_count = EMP_PAPER_TASKS,
                                          .rows = "inception_v3,nmt2,nmt4",
                                          .seed_count = 5,
                                          .budget = 4000};
