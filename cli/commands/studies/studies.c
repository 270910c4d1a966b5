// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/commands/studies/studies.h"

#include <stdio.h>
#include <string.h>

#include "base/io/atomic_file.h"
#include "base/io/output.h"
#include "base/mem.h"
#include "base/text/options.h"
#include "bench/compare/comparison.h"
#include "bench/plots/gnuplot.h"
#include "cli/cli.h"

/* ---- comparisons ---- */

enum { KEY_BUDGETS = 1536, KEY_CLOCK, KEY_DRAWS };

static const struct argp_option options[] = {
    {"tasks", CLI_TEXT(cli_comparison, params.tasks), "SET|FILE,...", 0,
     "table1 (the paper's), fresh (no constant was chosen on them), all (default: both), "
     "placebench:test, :train, :validation or :all (emplace instances), or files with a "
     "line a task: NAME SPEC|FILE MACHINE",
     0},
    {"budgets", KEY_BUDGETS, "A,B,...", 0,
     "Evaluations of each run that learns or searches (default 100,1000); up to 8 "
     "budgets",
     0},
    {"clock", KEY_CLOCK, "A,B,...", 0,
     "Budgets in CPU seconds of one thread, instead or besides; such results depend on "
     "the computer and differ from run to run",
     0},
    {"draws", KEY_DRAWS, "N", 0,
     "Draws of +-10 % cost noise for re-scoring (default 20); 0 = no re-scoring", 0},
    {"rankings", CLI_TEXT(cli_comparison, rankings), "FILE", 0,
     "Write mean ranks, ratios and tests over tasks as CSV", 0},
    {"times", CLI_TEXT(cli_comparison, times), "FILE", 0,
     "Write the CPU seconds of runs as CSV; they differ from run to run", 0},
    {"curves", CLI_TEXT(cli_comparison, curves), "FILE", 0,
     "Write quality against evaluations and CPU seconds as CSV", 0},
    {"rescored", CLI_TEXT(cli_comparison, changes), "FILE", 0,
     "Write as CSV how the ranking changes when placements are re-scored", 0},
    {"plot", CLI_TEXT(cli_comparison, figure), "FILE", 0,
     "Draw quality against evaluations and CPU seconds as SVG (gnuplot)", 0},
    {"plot-row", CLI_TEXT(cli_comparison, figure_row), "ROW", 0,
     "Workload of the figure (default nmt4, or the first)", 0},
    {"page", CLI_TEXT(cli_comparison, page), "FILE", 0,
     "Write all of it as one page (HTML) with figures of all workloads", 0},
    CLI_FORCE_OPTION(cli_comparison),
    {0},
};

/* Forgets the budgets in evaluations or in seconds that an earlier option has given, or all by default. */
static void forget_budgets(cli_comparison *args, bool is_clock)
{
    emp_comparison_params *p = &args->params;
    int32_t                kept = 0;

    for (int32_t i = 0; args->has_budgets && i < p->budget_count; i++)
        if ((p->budget[i].clock_s > 0.0) != is_clock) p->budget[kept++] = p->budget[i];
    p->budget_count = kept;
    args->has_budgets = true;
}

static emp_comparison_budget *add_budget(cli_comparison *args)
{
    emp_comparison_params *p = &args->params;

    if (p->budget_count == EMP_COMPARISON_BUDGETS)
        cli_usage_error("at most %d budgets can be compared", EMP_COMPARISON_BUDGETS);
    p->budget[p->budget_count] = (emp_comparison_budget){0};
    return &p->budget[p->budget_count++];
}

static void parse_budgets(cli_comparison *args, const char *list, bool is_clock)
{
    char word[32];

    if (*list == '\0')
        cli_usage_error("--%s takes numbers, as in 100,1000",
                        is_clock ? "clock" : "budgets");
    forget_budgets(args, is_clock);
    while (cli_next_word(&list, word, sizeof word)) {
        emp_comparison_budget *budget = add_budget(args);
        if (is_clock)
            budget->clock_s = cli_seconds("clock", word);
        else
            budget->evaluations = cli_integer("budgets", word, 1, 1000000000);
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    cli_comparison *args = (cli_comparison *)state->input;

    for (const struct argp_option *o = options; o->name != NULL; o++)
        if (o->key == key) args->given = o->name;
    switch (key) {
    case KEY_BUDGETS: parse_budgets(args, arg, false); return 0;
    case KEY_CLOCK: parse_budgets(args, arg, true); return 0;
    case KEY_DRAWS:
        args->params.draws = (int32_t)cli_integer("draws", arg, 0, 10000);
        return 0;
    default: return cli_store(key, arg, args);
    }
}

const struct argp cli_comparison_argp = {options, parse, NULL, NULL, NULL, NULL, NULL};

cli_comparison cli_comparison_default(void)
{
    cli_comparison args = {.params = emp_comparison_params_default()};

    args.params.tasks = "all";
    return args;
}

struct study {
    cli_comparison  *args;
    emp_task_list    tasks;
    emp_comparison  *comparison;
    emp_sheet_format format;
};

static void on_rescored(void *context, double done_frac)
{
    cli_run_report *report = (cli_run_report *)context;

    cli_bar_draw_share(&report->bar, done_frac, "re-scoring");
}

/* The options that are shared with other commands, and the tasks. */
static emp_status take(struct study *s, const emp_trials_params *run, emp_error *err)
{
    emp_comparison_params *p = &s->args->params;

    if (run->budget > 0) {
        forget_budgets(s->args, false);
        add_budget(s->args)->evaluations = run->budget;
    }
    if (run->seed_count > 0) p->seed_count = run->seed_count;
    p->rows = run->rows;
    p->runtime = run->runtime;
    p->jobs = run->jobs;
    p->on_rescored = on_rescored;
    EMP_CHECK(cli_task_list_add(&s->tasks, p->tasks, err));
    p->row = s->tasks.task;
    p->row_count = s->tasks.count;
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

/* The part of a comparison that a file shows. */
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
static emp_status check_files(struct study *s, emp_error *err)
{
    cli_comparison   *args = s->args;
    const char *const paths[] = {args->rankings, args->times,  args->curves,
                                 args->changes,  args->figure, args->page};
    const int32_t     count = (int32_t)(sizeof paths / sizeof *paths);

    for (int32_t i = 0; i < count; i++)
        if (paths[i] != NULL && args->params.jobs.shard_count > 1)
            return EMP_ERROR(EMP_EINVAL,
                             "%s shows all runs, and --shard makes a part; the command "
                             "without --shard writes it once all parts are made",
                             paths[i]);
    EMP_CHECK(emp_output_check_all(paths, count, err));
    EMP_CHECK(emp_output_check_inputs(&args->params.runtime, 1, paths, count, err));
    EMP_CHECK(
        cli_task_list_check_inputs(&s->tasks, args->params.tasks, paths, count, err));
    EMP_CHECK(emp_output_check_outside(args->params.jobs.folder, paths, count, err));
    EMP_CHECK(emp_output_check_replaced(paths, count, args->is_forced, err));
    if (args->figure == NULL && args->figure_row != NULL)
        return EMP_ERROR(EMP_EINVAL,
                         "--plot-row chooses what --plot draws; give --plot, too");
    if (args->changes != NULL && args->params.draws == 0)
        return EMP_ERROR(EMP_EINVAL, "--rescored writes what --draws 0 leaves out");
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
    struct study *s = (struct study *)study;

    return emp_comparison_make(&s->comparison, &s->args->params, err);
}

static emp_status print(const void *study, bool is_whole, emp_error *err)
{
    const struct study   *s = (const struct study *)study;
    const cli_comparison *args = s->args;
    const emp_comparison *c = s->comparison;
    const struct drawing  drawing = {c, args->figure_row};

    EMP_CHECK(emp_comparison_print(stdout, c, s->format, err));
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

emp_status cli_comparison_run(cli_comparison           *comparison,
                              const cli_trials_options *trials, const char *title,
                              emp_error *err)
{
    emp_status    st = EMP_OK;
    struct study *s = EMP_NEW(struct study);

    if (s == NULL) return EMP_ERROR(EMP_ENOMEM, "list of tasks");
    s->args = comparison;
    s->format = trials->format;
    const cli_trials_study what = {title, &comparison->params.jobs, make, print, s};
    EMP_TRY(take(s, &trials->run, err));
    EMP_TRY(check_files(s, err));
    EMP_TRY(cli_trials_run(&what, err));

cleanup:
    emp_comparison_destroy(s->comparison);
    emp_task_list_clear(&s->tasks);
    emp_free(s);
    return st;
}

/* ---- arms ---- */

static const struct argp_option arms_options[] = {
    {"arms", CLI_TEXT(cli_trials_options, run.arms), "A,B,...", 0,
     "Only these arms (\"groups=64\") or kinds of them (\"groups\"); the first arm is "
     "always made, and a wrong name has all listed",
     0},
    {"full", CLI_FLAG(cli_trials_options, run.is_full), NULL, 0,
     "All evaluations and seeds, more than in a first study", 0},
    {0},
};

static error_t parse_arms(int key, char *arg, struct argp_state *state)
{
    cli_trials_options *o = (cli_trials_options *)state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = o; return 0;
    default: return cli_store(key, arg, o);
    }
}

static const struct argp_child arms_children[] = {{&cli_trials_argp, 0, NULL, 0}, {0}};
const struct argp              cli_arms_argp = {arms_options,  parse_arms, NULL, NULL,
                                                arms_children, NULL,       NULL};

struct arms_study {
    const emp_ablation *definition;
    cli_trials_options  options;
    emp_ablation_table *table;
    const char         *note;
};

static emp_status make_arms(void *study, emp_error *err)
{
    struct arms_study *s = (struct arms_study *)study;

    return emp_ablation_make(&s->table, s->definition, &s->options.run, err);
}

static emp_status print_arms(const void *study, bool is_whole, emp_error *err)
{
    const struct arms_study *s = (const struct arms_study *)study;

    (void)is_whole;
    return emp_ablation_print(stdout, s->table, s->note, s->options.format, err);
}

emp_status cli_arms_run(const cli_trials_options *trials, const emp_ablation *definition,
                        const char *title, const char *note, emp_error *err)
{
    struct arms_study study = {
        .definition = definition, .options = *trials, .note = note};
    const cli_trials_study what = {title, &study.options.run.jobs, make_arms, print_arms,
                                   &study};
    const emp_status       st = cli_trials_run(&what, err);
    emp_ablation_destroy(study.table);
    return st;
}
