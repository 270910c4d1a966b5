// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace bench search: how many moves a CPU second searches make and have scored. */
#include <string.h>

#include "bench/micro/oracle.h"
#include "bench/micro/search.h"
#include "bench/tables/paper.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/progress.h"
#include "cli/stop.h"
#include "run/methods.h"

enum { KEY_SIZES = 256, KEY_METHODS, KEY_ROWS, KEY_MOVES, KEY_REPEATS };
enum { DEFAULT_OPS = 30000000, DEFAULT_MOVES = 1000 };

struct args {
    emp_search_params params;
    emp_task          task[EMP_PAPER_TASKS];
    const char       *sizes, *methods, *rows;
    bool              has_runtime;
    emp_sheet_format  format;
};

static const struct argp_option options[] = {
    {"sizes", KEY_SIZES, "A,B,...", 0,
     "Ops of the graphs: 1k, 10k, 83k (82944), 1M, or numbers (default 10k,83k)", 0},
    {"rows", KEY_ROWS, "A,B,...", 0,
     "Rows of Table 1, or all, instead of synthetic graphs, each on its own machine", 0},
    {"moves", KEY_MOVES, "N", 0, "Moves of a search on such a row (default 1000)", 0},
    {"methods", KEY_METHODS, "A,B,...", 0,
     "Only these (default local,anneal,mcmc,refine)", 0},
    {"machine", 'm', "NAME|FILE", 0, "Machine (default " EMP_ORACLE_MACHINE ")", 0},
    {"runtime", 'r', "NAME|FILE", 0, "Runtime profile (default ideal, of rows tf-r1.3)",
     0},
    {"repeats", KEY_REPEATS, "N", 0, "Rounds (default 5)", 0},
    {"seed", 'k', "N", 0, "Seed of graphs and searches (default 1)", 0},
    {0},
};

static const char doc[] =
    "Count the moves that searches make and have scored in a CPU second, on synthetic "
    "training graphs or on rows of Table 1.\v"
    "Nothing is estimated: the exact oracle scores every move. Preparations of a "
    "method do not count. Of the time of a move the oracle alone takes the share "
    "printed, measured in the same round on the best placement found; a share above 100 "
    "% "
    "means that the placements tried are faster to simulate than that one.\n\n"
    "  emplace bench search\n"
    "  emplace bench search --rows all --methods refine\n"
    "  emplace bench search --methods anneal --sizes 1000,10k --runtime tf-r1.3";

static emp_status find_methods(emp_search_params *p, const char *list, emp_error *err)
{
    char word[32];

    while (cli_next_word(&list, word, sizeof word)) {
        if (p->method_count == EMP_SEARCH_MAX_METHODS)
            cli_usage_error("--methods takes at most %d methods", EMP_SEARCH_MAX_METHODS);
        EMP_CHECK(emp_method_find(&p->method[p->method_count++], word, err));
    }
    if (p->method_count == 0) cli_usage_error("--methods takes a list, not \"\"");
    return EMP_OK;
}

/* The words of --rows, of which "all" is every row. */
static void find_rows(struct args *args)
{
    const char *list = args->rows;
    int32_t    *count = &args->params.task_count;
    char        word[32];
    bool        is_all = list != NULL && strcmp(list, "all") == 0;

    for (int32_t i = 0; is_all && i < EMP_PAPER_TASKS; i++)
        args->task[(*count)++] = emp_paper_task[i];
    while (!is_all && list != NULL && cli_next_word(&list, word, sizeof word)) {
        int32_t i = 0;
        while (i < EMP_PAPER_TASKS && strcmp(emp_paper_task[i].key, word) != 0) i++;
        if (i == EMP_PAPER_TASKS)
            cli_usage_error("Table 1 has no row \"%s\"; it has inception_v3, resnet, "
                            "rnnlm, nmt2, nmt4, nmt8",
                            word);
        if (*count == EMP_PAPER_TASKS)
            cli_usage_error("--rows takes at most %d rows", EMP_PAPER_TASKS);
        args->task[(*count)++] = emp_paper_task[i];
    }
    if (list != NULL && *count == 0) cli_usage_error("--rows takes a list, not \"\"");
    args->params.task = args->task;
    if (*count > 0 && !args->has_runtime) args->params.runtime = "tf-r1.3";
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args       *args = (struct args *)state->input;
    emp_search_params *p = &args->params;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->format; return 0;
    case KEY_SIZES: args->sizes = arg; return 0;
    case KEY_METHODS: args->methods = arg; return 0;
    case KEY_ROWS: args->rows = arg; return 0;
    case KEY_MOVES: p->moves = cli_integer("moves", arg, 16, 1000000000); return 0;
    case 'm': p->machine = arg; return 0;
    case 'r':
        p->runtime = arg;
        args->has_runtime = true;
        return 0;
    case KEY_REPEATS:
        p->repeats = (int32_t)cli_integer("repeats", arg, 1, 100000);
        return 0;
    case 'k': p->seed = (uint64_t)cli_integer("seed", arg, 0, INT64_MAX); return 0;
    case ARGP_KEY_ARG:
        cli_usage_error("there is nothing to give without an option, but \"%s\"", arg);
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&cli_format_argp, 0, NULL, 0}, {0}};
const struct argp              cmd_bench_search_argp = {options,  parse, NULL, doc,
                                                        children, NULL,  NULL};

emp_status cmd_bench_search(int argc, char **argv, emp_error *err)
{
    emp_status        measured = EMP_OK;
    emp_search_report report;
    cli_bar           bar;
    emp_sheet         sheet;
    struct args       args = {.params = {.machine = EMP_ORACLE_MACHINE,
                                         .runtime = "ideal",
                                         .repeats = 5,
                                         .ops = DEFAULT_OPS,
                                         .moves = DEFAULT_MOVES,
                                         .seed = 1,
                                         .on_progress = cli_bar_on_progress,
                                         .context = &bar},
                              .sizes = "10k,83k",
                              .methods = "local,anneal,mcmc,refine"};

    cli_parse(&cmd_bench_search_argp, argc, argv, &args);
    args.params.size_count =
        cli_sizes(args.sizes, args.params.size, EMP_SEARCH_MAX_SIZES);
    find_rows(&args);
    EMP_CHECK(find_methods(&args.params, args.methods, err));
    args.params.stop = cli_stop_flag();
    cli_bar_init(&bar, "bench search");
    measured = emp_search_measure(&report, &args.params, err);
    cli_bar_clear(&bar);
    if (measured != EMP_OK && measured != EMP_EINTERRUPTED) return measured;
    emp_search_tabulate(&sheet, &report, &args.params);
    EMP_CHECK(cli_print_sheet(&sheet, args.format, NULL, err));
    return measured;
}
