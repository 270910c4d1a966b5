// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace bench transfer: what a learner's weights are worth on graphs that it has not seen. */
#include "bench/transfer/transfer.h"
#include "cli/cli.h"
#include "cli/options/jobs_options.h"

enum { KEY_BUDGETS = 256, KEY_IMITATE_BUDGET, KEY_IMITATE_ROUNDS };
enum { DEFAULT_TRAINING = 10000, DEFAULT_SEEDS = 5 };
enum { IMITATE_BUDGET = 1000, IMITATE_ROUNDS = 300 };

struct args {
    cli_trials_options  trials;
    emp_transfer_params params;
    emp_transfer_table *table;
};

static const struct argp_option options[] = {
    {"split", CLI_TEXT(struct args, params.split), "NAME", 0,
     "size, short, family, machine, devices, runtime or giph: what differs between the "
     "tasks of training and those to place",
     0},
    {"methods", CLI_TEXT(struct args, params.methods), "A,B,...", 0,
     "Learners with weights (default giph)", 0},
    {"budgets", KEY_BUDGETS, "A,B,...", 0,
     "Samples of each run on a task to place (default 1,64,256), ascending", 0},
    {"preset", CLI_TEXT(struct args, params.preset), "NAME", 0, "Preset of the learners",
     0},
    {"options", CLI_TEXT(struct args, params.options), "KEY=VALUE,...", 0,
     "Options of the learners", 0},
    {"imitate", CLI_TEXT(struct args, params.imitate), "METHOD", 0,
     "Learners first imitate this method's placements of the tasks of training", 0},
    {"imitate-budget", KEY_IMITATE_BUDGET, "N", 0,
     "Evaluations that it gets for each task (default 1000)", 0},
    {"imitate-options", CLI_TEXT(struct args, params.imitation_options), "KEY=VALUE,...",
     0, "Options of that method", 0},
    {"imitate-rounds", KEY_IMITATE_ROUNDS, "N", 0,
     "Steps of imitation for each task (default 300)", 0},
    {"frequencies", CLI_FLAG(struct args, params.has_frequencies), NULL, 0,
     "Also place each op where most ops of its type and depth are in what is imitated: a "
     "table that knows no edges",
     0},
    {0},
};

static const char doc[] =
    "Train learners on some tasks, then place others: with the weights, without them, "
    "and beside searches with as many samples and methods that propose once. Annealing "
    "from the placement of the trained learner stands beside annealing from m-SCT's. "
    "N_eq is how many samples annealing needs to be as good as the trained learner with "
    "the fewest.\v" CLI_JOBS_DOC CLI_SHARD_DOC
    "--budget N is the number of evaluations of a training, 10,000 unless given, and "
    "--seeds N the number of trainings, 5 unless given. Trained weights lie beside the "
    "records and are read again. With --imitate, which the method go can, learners "
    "learn from scores only if --budget says so.\n\n"
    "A part trains a learner with one seed, or has one seed of the searches, so that "
    "there are at most (learners + 1) x seeds of them.\n\n"
    "  emplace bench transfer --split giph --budget 2000 --seeds 1\n"
    "  emplace bench transfer --split size --methods go --format csv\n"
    "  emplace bench transfer --split size --methods go --imitate refine --seeds 3\n"
    "  emplace bench transfer --split size --methods go --imitate m-sct --frequencies";

static void parse_budgets(emp_transfer_params *p, const char *list)
{
    char word[32];

    p->budget_count = 0;
    while (cli_next_word(&list, word, sizeof word)) {
        if (p->budget_count == EMP_TRANSFER_BUDGETS)
            cli_usage_error("at most %d budgets", EMP_TRANSFER_BUDGETS);
        p->budget[p->budget_count++] = cli_integer("budgets", word, 1, 1000000000);
        const int32_t last = p->budget_count - 1;
        if (last > 0 && p->budget[last] <= p->budget[last - 1])
            cli_usage_error("--budgets ascend, as in 1,64,256");
    }
    if (p->budget_count == 0) cli_usage_error("--budgets takes numbers, as in 1,64,256");
}

static void finish_imitation(emp_transfer_params *p)
{
    cli_imitation_check(p->imitate, p->imitation_budget, p->imitation_options,
                        p->imitation_rounds);
    if (p->imitation_budget == 0) p->imitation_budget = IMITATE_BUDGET;
    if (p->imitation_rounds == 0) p->imitation_rounds = IMITATE_ROUNDS;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *args = (struct args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->trials; return 0;
    case KEY_BUDGETS: parse_budgets(&args->params, arg); return 0;
    case KEY_IMITATE_BUDGET:
        args->params.imitation_budget = cli_integer("imitate-budget", arg, 1, INT64_MAX);
        return 0;
    case KEY_IMITATE_ROUNDS:
        args->params.imitation_rounds = cli_integer("imitate-rounds", arg, 1, INT64_MAX);
        return 0;
    case ARGP_KEY_ARG: cli_usage_error("\"%s\" is one argument too many", arg);
    case ARGP_KEY_END:
        if (args->trials.run.rows != NULL)
            cli_usage_error("a split names its tasks; leave --rows out");
        finish_imitation(&args->params);
        return 0;
    default: return cli_store(key, arg, args);
    }
}

static const struct argp_child children[] = {{&cli_trials_argp, 0, NULL, 0}, {0}};
const struct argp              cmd_bench_transfer_argp = {options,  parse, NULL, doc,
                                                          children, NULL,  NULL};

static emp_status make(void *study, emp_error *err)
{
    struct args *args = (struct args *)study;

    return emp_transfer_make(&args->table, &args->params, err);
}

/* An interrupt leaves no table. */
static emp_status print(const void *study, bool is_whole, emp_error *err)
{
    const struct args *args = (const struct args *)study;

    if (!is_whole) return EMP_OK;
    return emp_transfer_print(stdout, args->table, args->trials.format, err);
}

emp_status cmd_bench_transfer(int argc, char **argv, emp_error *err)
{
    struct args            args = {.trials = cli_trials_options_default(),
                                   .params = {.split = "size",
                                              .methods = "giph",
                                              .budget = {1, 64, 256},
                                              .budget_count = 3}};
    emp_transfer_params   *p = &args.params;
    const cli_trials_study what = {"bench transfer", &p->jobs, make, print, &args};

    args.trials.run.runtime = NULL;
    cli_parse(&cmd_bench_transfer_argp, argc, argv, &args);
    if (args.trials.run.runtime != NULL)
        cli_usage_error("a split names its runtimes; leave --runtime out");
    const emp_trials_params *run = &args.trials.run;
    p->training_budget = run->budget > 0      ? run->budget
                         : p->imitate != NULL ? 0
                                              : DEFAULT_TRAINING;
    p->trainings = run->seed_count > 0 ? run->seed_count : DEFAULT_SEEDS;
    if (p->trainings > EMP_TRANSFER_TRAININGS)
        cli_usage_error("--seeds is at most %d here", EMP_TRANSFER_TRAININGS);
    p->jobs = run->jobs;
    const emp_status st = cli_trials_run(&what, err);
    emp_transfer_destroy(args.table);
    return st;
}
