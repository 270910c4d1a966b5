// SPDX-License-Identifier: GPL-3.0-or-later
/* The planner as we read the paper, one of our choices undone at a time, and all of them:
 * that is the preset "literal". Then literal with one of our choices back. */
#include "bench/studies/ablation.h"
#include "bench/tables/paper.h"

#define BACK(name, options) EMP_ARM("back", name, options, .preset = "literal")

static const emp_arm arms[] = {
    EMP_ARM("default", "default", NULL),
    EMP_ARM("literal", "literal", NULL, .preset = "literal"),

    EMP_ARM("undone", "epsilon 1e-8", "epsilon=1e-8,epsilon_hat=1"),
    EMP_ARM("undone", "independent draws", "run_shortest=0,run_longest=0"),
    EMP_ARM("undone", "random first groups", "ranges=0"),
    EMP_ARM("undone", "released baseline", "baseline_first=0,baseline_failures=1"),
    EMP_ARM("undone", "Gaussian noise", "noise_form=gaussian"),
    EMP_ARM("undone", "order by number", "order=number"),
    EMP_ARM("undone", "empty groups too", "empty_groups=1"),
    EMP_ARM("undone", "absent -1", "absent=-1"),

    BACK("literal but epsilon 5", "epsilon=5,epsilon_hat=0"),
    BACK("literal but runs", "run_shortest=0.03,run_longest=1"),
    BACK("literal but ranges", "ranges=1"),
    BACK("literal but baseline", "baseline_first=1,baseline_failures=0"),
    BACK("literal but Gumbel", "noise_form=gumbel"),
    BACK("literal but position", "order=position"),
    BACK("literal but used", "empty_groups=0"),
    BACK("literal but own", "absent=own"),

    EMP_ARM("defect", "literal redrawn", "redraw=1", .preset = "literal"),
};

const emp_ablation emp_ablation_hdp = {.name = "hdp",
                                       .method = "hdp",
                                       .preset = "paper",
                                       .arm = arms,
                                       .arm_count = sizeof arms / sizeof *arms,
                                       .row = emp_paper_task,
                                       .row_count = EMP_PAPER_TASKS,
                                       .rows = "nmt2",
                                       .seed_count = 5,
                                       .first_seed_count = 1,
                                       .budget = 2000,
                                       .first_budget = 160};
