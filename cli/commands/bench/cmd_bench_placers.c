// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace bench placers: all methods on the same tasks with equal budgets. */
#include <stdio.h>
#include <string.h>

#include "base/io/atomic_file.h"
#include "base/io/output.h"
#include "base/mem.h"
#include "base/text/word_list.h"
#include "bench/compare/comparison.h"
#include "bench/compare/figure.h"
#include "bench/compare/figure.h"
#include "bench/plots/gnuplot.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/options/jobs_options.h"

enum {
    KEY_METHODS = 256,
    KEY_OPTIONS,
    KEY_BUDGETS,
    KEY_CLOCK,
    KEY_TASKS,
    KEY_RANKINGS,
    KEY_TIMES,
    KEY_DRAWS,
    KEY_CURVES,
    KEY_CHANGES,
    KEY_FIGURE,
    KEY_FIGURE_ROW,
    KEY_PAGE
};

struct args {
    cli_trials_options    trials;
    emp_comparison_params params;
    emp_comparison       *comparison;
    bool                  is_forced;
    bool                  has_budgets; /* given, instead of the default */
    emp_task_list        *tasks;
    const char           *rankings, *times;
    const char           *curves, *changes, *figure, *figure_row, *page;
};

static const struct argp_option options[] = {
    {"tasks", KEY_TASKS, "SET|FILE,...", 0,
     "table1 (the paper's), fresh (no constant was chosen on them), all (default: both), "
     "placebench:test, :train, :validation or :all (emplace instances), or files with a "
     "line a task: NAME SPEC|FILE MACHINE",
     0},
    {"methods", KEY_METHODS, "A,B,...", 0, "Only these: names of emplace methods", 0},
    {"options", KEY_OPTIONS, "METHOD:KEY=VALUE,...", 0,
     "Options of one of them; may be given again for another", 0},
    {"budgets", KEY_BUDGETS, "A,B,...", 0,
     "Evaluations of each run that learns or searches (default 100,1000); up to 8 "
     "budgets",
     0},
    {"clock", KEY_CLOCK, "A,B,...", 0,
     "Budgets in CPU seconds of one thread, instead or besides; such results depend on "
     "the "
     "computer and differ from run to run",
     0},
    {"draws", KEY_DRAWS, "N", 0,
     "Draws of +-10 % cost noise for re-scoring (default 20); 0 = no re-scoring", 0},
    {"rankings", KEY_RANKINGS, "FILE", 0,
     "Write mean ranks, ratios and tests over tasks as CSV", 0},
    {"times", KEY_TIMES, "FILE", 0,
     "Write the CPU seconds of runs as CSV; they differ from run to run", 0},
    {"curves", KEY_CURVES, "FILE", 0,
     "Write quality against evaluations and CPU seconds as CSV", 0},
    {"rescored", KEY_CHANGES, "FILE", 0,
     "Write as CSV how the ranking changes when placements are re-scored", 0},
    {"plot", KEY_FIGURE, "FILE", 0,
     "Draw quality against evaluations and CPU seconds as SVG (gnuplot)", 0},
    {"plot-row", KEY_FIGURE_ROW, "ROW", 0,
     "Workload of the figure (default nmt4, or the first)", 0},
    {"page", KEY_PAGE, "FILE", 0,
     "Write all of it as one page (HTML) with figures of all workloads", 0},
    CLI_FORCE_OPTION,
    {0},
};

static const char doc[] =
    "Run every placement method on the same tasks with equal budgets and compare "
    "them: medians with bootstrap intervals, gap to the lower bound, ranks and tests "
    "over "
    "tasks, and whether the ranking would be the same with somewhat other costs. Tasks "
    "on "
    "which constants of our own methods were chosen, and fresh ones, are reported "
    "apart.\v" CLI_JOBS_DOC CLI_SHARD_DOC
    "Without --seeds there are 5. --budget N is --budgets with one.\n\n"
    "  emplace bench placers --rows rnnlm --methods expert,anneal --seeds 2\n"
    "  emplace bench placers --tasks fresh --clock 5,30 --times times.csv\n"
    "  emplace bench placers --format csv > bench/results/placers.csv\n"
    "  emplace bench placers --plot nmt4.svg --curves curves.csv\n"
    "  emplace bench placers --page placers.html\n"
    "  emplace bench placers --tasks mine.txt --methods gpu,metis,local\n"
    "  emplace bench placers --rows rnnlm --methods anneal,go-emplace \\\n"
    "      --options go-emplace:width=64,max_nodes=512 --seeds 3\n"
    "  emplace bench placers --tasks placebench:test --budgets 300 --seeds 3 --draws 0";

static emp_comparison_budget *add_budget(struct args *args)
{
    emp_comparison_params *p = &args->params;

    if (!args->has_budgets) p->budget_count = 0;
    args->has_budgets = true;
    if (p->budget_count == EMP_COMPARISON_BUDGETS)
        cli_usage_error("at most %d budgets can be compared", EMP_COMPARISON_BUDGETS);
    p->budget[p->budget_count] = (emp_comparison_budget){0};
    return &p->budget[p->budget_count++];
}

static void parse_budgets(struct args *args, const char *list, bool is_clock)
{
    char word[32];

    if (*list == '\0')
        cli_usage_error("--%s takes numbers, as in 100,1000",
                        is_clock ? "clock" : "budgets");
    while (cli_next_word(&list, word, sizeof word)) {
        emp_comparison_budget *budget = add_budget(args);
        if (is_clock)
            budget->clock_s = cli_seconds("clock", word);
        else
            budget->evaluations = cli_integer("budgets", word, 1, 1000000000);
    }
}

static void add_options(emp_comparison_params *p, const char *text)
{
    if (p->options_count == EMP_COMPARISON_ENTRANTS)
        cli_usage_error("at most %d methods can have --options", EMP_COMPARISON_ENTRANTS);
    p->options[p->options_count++] = text;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *args = (struct args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->trials; return 0;
    case KEY_DRAWS:
        args->params.draws = (int32_t)cli_integer("draws", arg, 0, 10000);
        return 0;
    case KEY_METHODS: args->params.methods = arg; return 0;
    case KEY_OPTIONS: add_options(&args->params, arg); return 0;
    case KEY_BUDGETS: parse_budgets(args, arg, false); return 0;
    case KEY_CLOCK: parse_budgets(args, arg, true); return 0;
    case KEY_TASKS: args->params.tasks = arg; return 0;
    case KEY_RANKINGS: args->rankings = arg; return 0;
    case KEY_TIMES: args->times = arg; return 0;
    case CLI_KEY_FORCE: args->is_forced = true; return 0;
    case KEY_CURVES: args->curves = arg; return 0;
    case KEY_CHANGES: args->changes = arg; return 0;
    case KEY_FIGURE: args->figure = arg; return 0;
    case KEY_FIGURE_ROW: args->figure_row = arg; return 0;
    case KEY_PAGE: args->page = arg; return 0;
    case ARGP_KEY_ARG: cli_usage_error("\"%s\" is one argument too many", arg);
    default: return ARGP_ERR_UNKNOWN;
    }
}

static void on_rescored(void *context, double done_frac)
{
    cli_run_report *report = (cli_run_report *)context;

    cli_bar_draw_share(&report->bar, done_frac, "re-scoring");
}

/* What the options that are shared with other commands say. */
static void take_run_options(struct args *args)
{
    emp_comparison_params *p = &args->params;

    if (args->trials.run.budget > 0)
        add_budget(args)->evaluations = args->trials.run.budget;
    if (args->trials.run.seed_count > 0) p->seed_count = args->trials.run.seed_count;
    p->rows = args->trials.run.rows;
    p->runtime = args->trials.run.runtime;
    p->jobs = args->trials.run.jobs;
    p->on_rescored = on_rescored;
}

static emp_status load_tasks(struct args *args, emp_error *err)
{
    args->tasks = EMP_NEW(emp_task_list);
    if (args->tasks == NULL) return EMP_ERROR(EMP_ENOMEM, "list of tasks");
    EMP_CHECK(cli_task_list_add(args->tasks, args->params.tasks, err));
    args->params.row = args->tasks->task;
    args->params.row_count = args->tasks->count;
    return EMP_OK;
}

/* ---- files ---- */

static emp_status write_sheet(const char *path,
                              void (*make)(emp_sheet *sheet, const emp_comparison *c),
                              const emp_comparison *c, emp_error *err)
{
    emp_sheet sheet;

    make(&sheet, c);
    emp_status st = cli_write_sheet(path, &sheet, err);
    emp_sheet_clear(&sheet);
    return st;
}

/* What a file shows of a comparison. */
struct drawing {
    const emp_comparison *c;
    const char           *figure_row;
};

static emp_status draw_figure(FILE *stream, const void *what, emp_error *err)
{
    const struct drawing *d = (const struct drawing *)what;
    int32_t               row = emp_comparison_find_row(d->c, d->figure_row);

    return emp_comparison_draw_figure(stream, d->c, row, false, err);
}

static emp_status draw_page(FILE *stream, const void *what, emp_error *err)
{
    const struct drawing *d = (const struct drawing *)what;

    return emp_comparison_write_page(stream, d->c, emp_gnuplot_exists(), err);
}

static bool is_compared(const emp_comparison_params *p, const char *row)
{
    for (int32_t r = 0; r < p->row_count; r++)
        if (strcmp(p->row[r].task.key, row) == 0) return emp_word_list_has(p->rows, row);
    return false;
}

static const char *default_figure_row(const emp_comparison_params *p)
{
    if (is_compared(p, "nmt4")) return "nmt4";
    for (int32_t r = 0; r < p->row_count; r++)
        if (is_compared(p, p->row[r].task.key)) return p->row[r].task.key;
    return "";
}

/* Before hours of runs, not after them. */
static emp_status check_files(struct args *args, emp_error *err)
{
    const char *const paths[] = {args->rankings, args->times,  args->curves,
                                 args->changes,  args->figure, args->page};
    const int32_t     count = (int32_t)(sizeof paths / sizeof *paths);

    EMP_CHECK(emp_output_check_all(paths, count, err));
    EMP_CHECK(emp_output_check_inputs(&args->trials.run.runtime, 1, paths, count, err));
    EMP_CHECK(
        cli_task_list_check_inputs(args->tasks, args->params.tasks, paths, count, err));
    EMP_CHECK(emp_output_check_outside(args->trials.run.jobs.folder, paths, count, err));
    EMP_CHECK(emp_output_check_replaced(paths, count, args->is_forced, err));
    if (args->figure == NULL) return EMP_OK;
    if (args->figure_row == NULL) args->figure_row = default_figure_row(&args->params);
    if (!is_compared(&args->params, args->figure_row))
        return EMP_ERROR(
            EMP_EINVAL,
            "the comparison has no workload \"%s\" to draw; give --plot-row one of "
            "those that are compared",
            args->figure_row);
    if (!emp_gnuplot_exists())
        return EMP_ERROR(EMP_EUNSUPPORTED, "%s", EMP_GNUPLOT_ABSENCE);
    return EMP_OK;
}

static emp_status make(void *study, emp_error *err)
{
    struct args *args = (struct args *)study;

    return emp_comparison_make(&args->comparison, &args->params, err);
}

static emp_status print(const void *study, bool is_whole, emp_error *err)
{
    const struct args    *args = (const struct args *)study;
    const emp_comparison *c = args->comparison;
    const struct drawing  drawing = {c, args->figure_row};

    EMP_CHECK(emp_comparison_print(stdout, c, args->trials.format, err));
    if (!is_whole) return EMP_OK; /* no file is written over by a part */
    EMP_CHECK(write_sheet(args->rankings, emp_comparison_rankings, c, err));
    EMP_CHECK(write_sheet(args->times, emp_comparison_times, c, err));
    EMP_CHECK(write_sheet(args->curves, emp_comparison_curves, c, err));
    EMP_CHECK(write_sheet(args->changes, emp_comparison_changes, c, err));
    if (args->figure != NULL)
        EMP_CHECK(emp_atomic_file_write(args->figure, draw_figure, &drawing, err));
    if (args->page != NULL)
        EMP_CHECK(emp_atomic_file_write(args->page, draw_page, &drawing, err));
    return EMP_OK;
}

static const struct argp_child children[] = {{&cli_trials_argp, 0, NULL, 0}, {0}};
const struct argp              cmd_bench_placers_argp = {options,  parse, NULL, doc,
                                                         children, NULL,  NULL};

emp_status cmd_bench_placers(int argc, char **argv, emp_error *err)
{
    emp_status             st = EMP_OK;
    struct args            args = {.trials = {.run = cli_jobs_options_default()},
                                   .params = emp_comparison_params_default()};
    const cli_trials_study what = {"placers", &args.params.jobs, make, print, &args};

    args.trials.run.runtime = NULL; /* the one that fits each task */
    args.params.tasks = "all";
    cli_parse(&cmd_bench_placers_argp, argc, argv, &args);
    take_run_options(&args);
    EMP_TRY(load_tasks(&args, err));
    EMP_TRY(check_files(&args, err));
    EMP_TRY(cli_trials_run(&what, err));

cleanup:
    emp_comparison_destroy(args.comparison);
    if (args.tasks != NULL) emp_task_list_clear(args.tasks);
    emp_free(args.tasks);
    return st;
}
