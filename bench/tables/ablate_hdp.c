// SPDX-License-Identifier: GPL-3.0-or-later
/* The planner as we read the paper, one of our choices undone at a time, and all of them:
 * that is the preset "literal". Then literal with one of our choices back. */
#include "bench/tables/ablation.h"
#include "bench/tables/paper.h"

#define BACK(name, options)              \
    {                                    \
        "back", name, options, "literal" \
    }

static const emp_arm arms[] = {
    {"default", "default", NULL, NULL},
    {"literal", "literal", NULL, "literal"},

    {"undone", "epsilon 1e-8", "epsilon=1e-8,epsilon_hat=1", NULL},
    {"undone", "independent draws", "run_shortest=0,run_longest=0", NULL},
    {"undone", "random first groups", "ranges=0", NULL},
    {"undone", "released baseline", "baseline_first=0,baseline_failures=1", NULL},
    {"undone", "Gaussian noise", "noise_form=gaussian", NULL},
    {"undone", "order by number", "order=number", NULL},
    {"undone", "empty groups too", "empty_groups=1", NULL},
    {"undone", "absent -1", "absent=-1", NULL},

    BACK("literal but epsilon 5", "epsilon=5,epsilon_hat=0"),
    BACK("literal but runs", "run_shortest=0.03,run_longest=1"),
    BACK("literal but ranges", "ranges=1"),
    BACK("literal but baseline", "baseline_first=1,baseline_failures=0"),
    BACK("literal but Gumbel", "noise_form=gumbel"),
    BACK("literal but position", "order=position"),
    BACK("literal but used", "empty_groups=0"),
    BACK("literal but own", "absent=own"),

    {"defect", "literal redrawn", "redraw=1", "literal"},
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
