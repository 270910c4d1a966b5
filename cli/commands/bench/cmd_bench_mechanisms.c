// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace bench mechanisms: step times with one mechanism of the runtime switched. */
#include <string.h>

#include "bench/studies/mechanisms.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/stop.h"

struct args {
    emp_mechanism_params params;
    emp_sheet_format     format;
};

static const struct argp_option options[] = {
    {"rows", CLI_TEXT(struct args, params.rows), "A,B,...", 0,
     "Only these: inception_v3, resnet, rnnlm, nmt2, nmt4, nmt8", 0},
    {"runtime", 'r', "NAME|FILE", 0, "Runtime profile (default tf-r1.3)", 0},
    {"seed", 'k', "N", 0, "Seed of the partitioners and the random placement (default 1)",
     0},
    {"threads", 't', "N", 0, "Threads; results do not depend on it", 0},
    {0},
};

static const char doc[] =
    "Place the tasks of Table 1 by seven methods and simulate each placement again with "
    "one mechanism of the runtime switched, one after the other.\v"
    "Entries are changes of the step time; where the memory of the fullest GPU changes "
    "by "
    "1 % or more, that too.\n\n"
    "  emplace bench mechanisms --rows rnnlm,nmt2\n"
    "  emplace bench mechanisms --format csv > bench/results/mechanisms.csv";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *args = (struct args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->format; return 0;
    case 'r': args->params.runtime = arg; return 0;
    case 'k':
        args->params.seed = (uint64_t)cli_integer("seed", arg, 0, INT64_MAX);
        return 0;
    case 't':
        args->params.threads = (int32_t)cli_integer("threads", arg, 1, 1024);
        return 0;
    case ARGP_KEY_ARG: cli_usage_error("\"%s\" is one argument too many", arg);
    default: return cli_store(key, arg, args);
    }
}

static const struct argp_child children[] = {{&cli_format_argp, 0, NULL, 0}, {0}};
const struct argp              cmd_bench_mechanisms_argp = {options,  parse, NULL, doc,
                                                            children, NULL,  NULL};

emp_status cmd_bench_mechanisms(int argc, char **argv, emp_error *err)
{
    emp_status           st = EMP_OK;
    emp_mechanism_table *table = NULL;
    cli_bar              bar;
    struct args          args = {.params = {.runtime = "tf-r1.3",
                                            .seed = 1,
                                            .threads = cli_default_threads(),
                                            .on_progress = cli_bar_on_progress,
                                            .context = &bar}};

    cli_parse(&cmd_bench_mechanisms_argp, argc, argv, &args);
    args.params.stop = cli_stop_flag();
    cli_bar_init(&bar, "mechanisms");
    st = emp_mechanism_table_make(&table, &args.params, err);
    cli_bar_clear(&bar);
    EMP_TRY(st);
    EMP_TRY(emp_mechanism_table_print(stdout, table, args.format, err));

cleanup:
    emp_mechanism_table_destroy(table);
    return st;
}
