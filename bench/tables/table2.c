// SPDX-License-Identifier: GPL-3.0-or-later
/* Table 2 of the paper: the planner on groups drawn at random, a new grouping each seed,
 * against the planner that learns its groups; beside them one that has no groups at all,
 * of which the paper says in words that it finds nothing valid on the larger models. */
#include "bench/tables/paper.h"
#include "bench/tables/paper_table.h"

static double best(int32_t task) { return emp_paper_random_s(task).min; }
static double median(int32_t task) { return emp_paper_random_s(task).median; }
static double worst(int32_t task) { return emp_paper_random_s(task).max; }
static double learned(int32_t task) { return emp_paper_step_s(task, "hdp"); }

enum { BUDGET = 2000, SEEDS = 5, FIRST_BUDGET = 160, FIRST_SEEDS = 3 };

#define RUNS   .method = "hdp", .preset = "paper", .budget = BUDGET, .seed_count = SEEDS
#define RANDOM RUNS, .options = "grouping=random", .has_paper = true
#define FIRST  .first_budget = FIRST_BUDGET, .first_seed_count = FIRST_SEEDS

static const emp_paper_column columns[] = {
    {.key = "random",
     .column = {"Random, best", RANDOM, .shown = EMP_SHOWN_BEST},
     .paper = best,
     FIRST},
    {.key = "random", .column = {"Random, median", RANDOM}, .paper = median, FIRST},
    {.key = "random",
     .column = {"Random, worst", RANDOM, .shown = EMP_SHOWN_WORST},
     .paper = worst,
     FIRST},
    {.key = "learned",
     .column = {"Learned", RUNS, .has_paper = true},
     .paper = learned,
     FIRST},
    {.key = "improvement",
     .column = {"Improvement", RUNS, .has_paper = true, .shown = EMP_SHOWN_GAIN},
     .paper = emp_paper_improvement,
     .of = "Learned",
     .over = "Random, best",
     FIRST},
    {.key = "none", .column = {"No groups", RUNS, .options = "grouping=none"}, FIRST},
};

const emp_paper_table emp_paper_table2 = {
    .name = "2",
    .title =
        "Table 2. Seconds per training step with groups drawn at random and learned.",
    .source = emp_paper_source2,
    .note =
        "Improvement: 1 - learned / best random grouping, as the paper's figures are; "
        "ours is of the median of the learned runs.",
    .row = emp_paper_task,
    .row_count = EMP_PAPER_TASKS,
    .column = columns,
    .column_count = sizeof columns / sizeof *columns};
