// SPDX-License-Identifier: GPL-3.0-or-later
/* The planner of the paper, one choice about its groups changed at a time. Its own choices
 * are 256 learned groups in the order of positions, a window of 6 and rewards -sqrt(t). */
#include "bench/tables/ablation.h"
#include "bench/tables/paper.h"

static const emp_arm arms[] = {
    {"default", "default", NULL, NULL},

    {"grouping", "grouping=none", "grouping=none", NULL},
    {"grouping", "grouping=random", "grouping=random", NULL},
    {"grouping", "grouping=chunks", "grouping=chunks", NULL},
    {"grouping", "grouping=metis", "grouping=metis", NULL},
    {"grouping", "grouping=scotch", "grouping=scotch", NULL},
    {"grouping", "grouping=names", "grouping=names", NULL},
    {"grouping", "grouping=colocation", "grouping=colocation", NULL},

    {"groups", "groups=16", "groups=16", NULL},
    {"groups", "groups=32", "groups=32", NULL},
    {"groups", "groups=64", "groups=64", NULL},
    {"groups", "groups=128", "groups=128", NULL},
    {"groups", "groups=512", "groups=512", NULL},

    {"order", "order=number", "order=number", NULL},
    {"order", "order=random", "order=random", NULL},
    {"order", "order=reverse", "order=reverse", NULL},

    /* Without positions groups cannot start as ranges of them: ranges=0 is what window=0
     * is to be compared with. */
    {"window", "window=0", "window=0,ranges=0", NULL},
    {"window", "ranges=0", "ranges=0", NULL},
    {"window", "window=3", "window=3", NULL},
    {"window", "window=12", "window=12", NULL},

    {"reward", "reward=identity", "reward=identity", NULL},
    {"reward", "reward=log", "reward=log", NULL},

    {"objective", "objective=balance", "objective=balance", NULL},
};

const emp_ablation emp_ablation_grouping = {.name = "grouping",
                                            .method = "hdp",
                                            .preset = "paper",
                                            .arm = arms,
                                            .arm_count = sizeof arms / sizeof *arms,
                                            .row = emp_paper_task,
                                            .row_count = EMP_PAPER_TASKS,
                                            .rows = "inception_v3,nmt2",
                                            .seed_count = 3,
                                            .first_seed_count = 1,
                                            .budget = 2000,
                                            .first_budget = 160};
