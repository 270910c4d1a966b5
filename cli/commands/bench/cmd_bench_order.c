// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace bench order and bench fusion: what a decision beside devices is worth with the same
 * devices. */
#include <stdio.h>
#include <string.h>

#include "bench/orders/orders.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/options/jobs_options.h"

enum { KEY_METHODS = 256, DEFAULT_BUDGET = 1000, DEFAULT_SEEDS = 5 };

struct args {
    cli_jobs_options run;
    const char      *methods;
    emp_sheet_format format;
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
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->run;
        state->child_inputs[1] = &args->format;
        state->child_inputs[2] = &args->run.jobs;
        return 0;
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

static const struct argp_child children[] = {{&cli_jobs_argp, 0, NULL, 0},
                                             {&cli_format_argp, 0, NULL, 0},
                                             {&cli_shard_argp, 0, NULL, 0},
                                             {0}};
const struct argp              cmd_bench_order_argp = {options,  parse, NULL, doc,
                                                       children, NULL,  NULL};

const struct argp cmd_bench_fusion_argp = {options,  parse, NULL, fusion_doc,
                                           children, NULL,  NULL};

static emp_status bench(emp_orders_part part, const struct args *args, const char *text,
                        emp_error *err)
{
    emp_status              st = EMP_OK, made = EMP_OK;
    emp_orders_table       *table = NULL;
    cli_run_report          report = {0};
    const cli_jobs_options *run = &args->run;
    emp_orders_params       params = {.part = part,
                                      .rows = run->rows,
                                      .methods = args->methods,
                                      .runtime = run->runtime,
                                      .seed_count =
                                    run->seed_count > 0 ? run->seed_count : DEFAULT_SEEDS,
                                      .budget = run->budget > 0 ? run->budget : DEFAULT_BUDGET,
                                      .jobs = run->jobs};
    snprintf(report.text, sizeof report.text, "%s", text);
    EMP_TRY(cli_run_report_begin(&report, &params.jobs, err));
    made = emp_orders_make(&table, &params, err);
    made = cli_run_report_end(&report, &params.jobs, made, err);
    if (made != EMP_OK && made != EMP_EINTERRUPTED) EMP_TRY(made);
    if (cli_shard_is_done(&st, made, &params.jobs)) goto cleanup;
    EMP_TRY(emp_orders_print(stdout, table, args->format, err));
    st = cli_run_report_warn(made, &params.jobs);

cleanup:
    emp_orders_destroy(table);
    return st;
}

static struct args default_args(void)
{
    return (struct args){.run = cli_jobs_options_default(),
                         .methods = "expert,m-sct,refine"};
}

emp_status cmd_bench_order(int argc, char **argv, emp_error *err)
{
    struct args args = default_args();

    cli_parse(&cmd_bench_order_argp, argc, argv, &args);
    return bench(EMP_ORDERS_ORDER, &args, "bench order", err);
}

emp_status cmd_bench_fusion(int argc, char **argv, emp_error *err)
{
    struct args args = default_args();

    cli_parse(&cmd_bench_fusion_argp, argc, argv, &args);
    return bench(EMP_ORDERS_FUSION, &args, "bench fusion", err);
}
