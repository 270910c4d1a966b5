// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace bench order and bench fusion: what a decision beside devices is worth with the same
 * devices. */
#include "bench/studies/orders.h"
#include "cli/cli.h"
#include "cli/options/jobs_options.h"

enum { KEY_METHODS = 256, DEFAULT_BUDGET = 1000, DEFAULT_SEEDS = 5 };

struct args {
    cli_trials_options trials;
    const char        *methods;
};

static const struct argp_option options[] = {
    {"methods", KEY_METHODS, "A,B,...", 0,
     "Methods that find the placements (default expert,m-sct,refine)", 0},
    {0},
};

static const char doc[] =
    "Simulate placements of the tasks of Table 1 by other orders than first come, first "
    "served, with the same devices: the one that a list scheduler had in mind, that of "
    "bottom levels, and the best that annealing finds. Beside it: what annealing finds "
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
    case KEY_METHODS: args->methods = arg; return 0;
    case ARGP_KEY_ARG: cli_usage_error("\"%s\" is one argument too many", arg);
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const char fusion_doc[] =
    "Simulate placements of the tasks of Table 1 with fused ops and the same devices: "
    "with "
    "nothing fused, the best of random fusions, everything fused that may, and the best "
    "that annealing finds. Beside it: what annealing finds with as many evaluations that "
    "changes devices, or both.\v" CLI_JOBS_DOC CLI_SHARD_DOC
    "Without --budget and --seeds there are 1,000 evaluations and 5 seeds. Under "
    "tf-r1.3\n"
    "most of a gain is time to issue ops; --runtime ideal has none of it.\n\n"
    "  emplace bench fusion --rows rnnlm --methods m-sct --budget 100 --seeds 1\n"
    "  emplace bench fusion --runtime ideal --rows nmt2\n"
    "  emplace bench fusion --format csv > bench/results/fusion.csv";

static const struct argp_child children[] = {{&cli_trials_argp, 0, NULL, 0}, {0}};
const struct argp              cmd_bench_order_argp = {options,  parse, NULL, doc,
                                                       children, NULL,  NULL};
const struct argp              cmd_bench_fusion_argp = {options,  parse, NULL, fusion_doc,
                                                        children, NULL,  NULL};

struct study {
    emp_orders_params params;
    emp_sheet         sheet;
    emp_sheet_format  format;
};

static emp_status make(void *study, emp_error *err)
{
    struct study *s = (struct study *)study;

    return emp_orders_make(&s->sheet, &s->params, err);
}

static emp_status print(const void *study, bool is_whole, emp_error *err)
{
    const struct study *s = (const struct study *)study;

    (void)is_whole;
    return emp_sheet_print(stdout, &s->sheet, s->format, err);
}

static emp_status bench(emp_orders_part part, const struct argp *argp, const char *title,
                        int argc, char **argv, emp_error *err)
{
    struct args args = {.trials = {.run = cli_jobs_options_default()},
                        .methods = "expert,m-sct,refine"};

    cli_parse(argp, argc, argv, &args);
    const cli_jobs_options *run = &args.trials.run;
    struct study            study = {
                   .params = {.part = part,
                              .rows = run->rows,
                              .methods = args.methods,
                              .runtime = run->runtime,
                              .seed_count = run->seed_count > 0 ? run->seed_count : DEFAULT_SEEDS,
                              .budget = run->budget > 0 ? run->budget : DEFAULT_BUDGET,
                              .jobs = run->jobs},
                   .format = args.trials.format};
    const cli_trials_study what = {title, &study.params.jobs, make, print, &study};
    const emp_status       st = cli_trials_run(&what, err);
    emp_sheet_clear(&study.sheet);
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
