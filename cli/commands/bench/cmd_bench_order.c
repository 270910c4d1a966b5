// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace bench order and bench fusion: what a decision beside devices is worth with the same
 * devices. */
#include "bench/studies/mechanisms.h"
#include "cli/cli.h"
#include "cli/options/jobs_options.h"

enum { DEFAULT_BUDGET = 1000, DEFAULT_SEEDS = 5 };

struct args {
    cli_trials_options trials;
    emp_orders_part    part;
    emp_sheet          sheet;
};

static const struct argp_option options[] = {
    {"methods", CLI_TEXT(struct args, trials.run.arms), "A,B,...", 0,
     "Methods that find the placements (default expert,m-sct,refine)", 0},
    {0},
};

static const char doc[] =
    "Simulate placements of the tasks of Table 1 by other orders than first come, first "
    "served, with the same devices: a list scheduler's own, bottom levels, and "
    "the best that annealing finds. Beside it: what annealing finds "
    "with as many evaluations that changes devices, or both.\v" CLI_JOBS_DOC CLI_SHARD_DOC
    "Without --budget and --seeds there are 1,000 evaluations and 5 seeds.\n\n"
    "  emplace bench order --rows rnnlm --methods m-sct --budget 100 --seeds 1\n"
    "  emplace bench order --runtime ideal --rows nmt2\n"
    "  emplace bench order --format csv > bench/results/order.csv";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *args = (struct args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->trials; return 0;
    case ARGP_KEY_ARG: cli_usage_error("\"%s\" is one argument too many", arg);
    default: return cli_store(key, arg, args);
    }
}

static const char fusion_doc[] =
    "Simulate placements of the tasks of Table 1 with fused ops and the same devices: "
    "with nothing fused, the best of random fusions, everything fused that may, and the "
    "best that annealing finds. Beside it: what annealing finds with as many evaluations "
    "that changes devices, or both.\v" CLI_JOBS_DOC CLI_SHARD_DOC
    "Without --budget and --seeds there are 1,000 evaluations and 5 seeds. Under "
    "tf-r1.3 most of a gain is time to issue ops; --runtime ideal has none of it.\n\n"
    "  emplace bench fusion --rows rnnlm --methods m-sct --budget 100 --seeds 1\n"
    "  emplace bench fusion --runtime ideal --rows nmt2\n"
    "  emplace bench fusion --format csv > bench/results/fusion.csv";

static const struct argp_child children[] = {{&cli_trials_argp, 0, NULL, 0}, {0}};
const struct argp              cmd_bench_order_argp = {options,  parse, NULL, doc,
                                                       children, NULL,  NULL};
const struct argp              cmd_bench_fusion_argp = {options,  parse, NULL, fusion_doc,
                                                        children, NULL,  NULL};

static emp_status make(void *study, emp_error *err)
{
    struct args *args = (struct args *)study;

    return emp_orders_make(&args->sheet, args->part, &args->trials.run, err);
}

static emp_status print(const void *study, bool is_whole, emp_error *err)
{
    const struct args *args = (const struct args *)study;

    (void)is_whole;
    return emp_sheet_print(stdout, &args->sheet, args->trials.format, err);
}

static emp_status bench(emp_orders_part part, const struct argp *argp, const char *title,
                        int argc, char **argv, emp_error *err)
{
    struct args            args = {.trials = cli_trials_options_default(), .part = part};
    emp_trials_params     *run = &args.trials.run;
    const cli_trials_study what = {title, &run->jobs, make, print, &args};

    run->arms = "expert,m-sct,refine";
    run->seed_count = DEFAULT_SEEDS;
    run->budget = DEFAULT_BUDGET;
    cli_parse(argp, argc, argv, &args);
    const emp_status st = cli_trials_run(&what, err);
    emp_sheet_clear(&args.sheet);
    return st;
}

emp_status cmd_bench_order(int argc, char **argv, emp_error *err)
{
    return bench(EMP_ORDERS_ORDER, &cmd_bench_order_argp, "bench order", argc, argv, err);
}

emp_status cmd_bench_fusion(int argc, char **argv, emp_error *err)
{
    return bench(EMP_ORDERS_FUSION, &cmd_bench_fusion_argp, "bench fusion", argc, argv,
                 err);
}
