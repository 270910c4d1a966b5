// SPDX-License-Identifier: GPL-3.0-or-later
/* The planner of the paper, one choice about its groups changed at a time. Its own choices
 * are 256 learned groups in the order of positions, a window of 6 and rewards -sqrt(t). */
#include "bench/studies/ablation.h"
#include "bench/tables/paper.h"

static const emp_arm arms[] = {
    EMP_ARM("default", "default", NULL),

    EMP_ARM("grouping", "grouping=none", "grouping=none"),
    EMP_ARM("grouping", "grouping=random", "grouping=random"),
    EMP_ARM("grouping", "grouping=chunks", "grouping=chunks"),
    EMP_ARM("grouping", "grouping=metis", "grouping=metis"),
    EMP_ARM("grouping", "grouping=scotch", "grouping=scotch"),
    EMP_ARM("grouping", "grouping=names", "grouping=names"),
    EMP_ARM("grouping", "grouping=colocation", "grouping=colocation"),

    EMP_ARM("groups", "groups=16", "groups=16"),
    EMP_ARM("groups", "groups=32", "groups=32"),
    EMP_ARM("groups", "groups=64", "groups=64"),
    EMP_ARM("groups", "groups=128", "groups=128"),
    EMP_ARM("groups", "groups=512", "groups=512"),

    EMP_ARM("order", "order=number", "order=number"),
    EMP_ARM("order", "order=random", "order=random"),
    EMP_ARM("order", "order=reverse", "order=reverse"),

    /* Without positions groups cannot start as ranges of them: ranges=0 is what window=0
     * is to be compared with. */
    EMP_ARM("window", "window=0", "window=0,ranges=0"),
    EMP_ARM("window", "ranges=0", "ranges=0"),
    EMP_ARM("window", "window=3", "window=3"),
    EMP_ARM("window", "window=12", "window=12"),
    EMP_ARM("window", "window=16", "window=16"),

    EMP_ARM("reward", "reward=identity", "reward=identity"),
    EMP_ARM("reward", "reward=log", "reward=log"),

    EMP_ARM("objective", "objective=balance", "objective=balance"),
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
