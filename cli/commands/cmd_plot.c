// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace plot TABLE.csv: a table that a command has printed as CSV, as a figure. */
#include <stdio.h>
#include <string.h>

#include "base/io/atomic_file.h"
#include "base/io/output.h"
#include "base/text/text.h"
#include "bench/plots/csv/plot.h"
#include "cli/cli.h"
#include "cli/options/parallel.h"
#include "cli/parse.h"

enum {
    KEY_BY = 256,
    KEY_X,
    KEY_VALUES,
    KEY_SERIES,
    KEY_LOW,
    KEY_HIGH,
    KEY_WHERE,
    KEY_LABEL,
    KEY_TIMELINE,
    KEY_ALL_RANKS
};

struct args {
    emp_plot_choice choice;
    emp_plot_form   form;
    const char     *label, *out;
    bool            is_forced;
    bool            is_timeline, all_ranks; /* of a SPEC in place of a table */
    const char     *machine;
};

static const struct argp_option options[] = {
    {"out", 'o', "FILE", 0, "Write the figure to FILE.svg or FILE.pdf", 0},
    {"by", KEY_BY, "COLUMNS", 0, "Draw dots, with a band for each value of COLUMNS", 0},
    {"x", KEY_X, "COLUMN", 0, "Draw lines over the numbers of COLUMN", 0},
    {"values", KEY_VALUES, "COLUMNS", 0,
     "The values. COLUMN=LABEL gives a column another name in the figure", 0},
    {"series", KEY_SERIES, "COLUMNS", 0,
     "A colour for each value of COLUMNS (default: for each column of --values). "
     "COLUMN=LABEL puts LABEL before the value",
     0},
    {"low", KEY_LOW, "COLUMNS", 0,
     "Lower ends of ranges, a column for each one of --values; an item may be empty", 0},
    {"high", KEY_HIGH, "COLUMNS", 0, "Upper ends of ranges likewise", 0},
    {"where", KEY_WHERE, "COLUMN=A|B", 0,
     "Take only rows of the table with one of these values (may be repeated)", 0},
    {"label", KEY_LABEL, "TEXT", 0,
     "Label of the axis of values (default: the name of the first column)", 0},
    {"timeline", KEY_TIMELINE, NULL, 0,
     "Draw ranks against time: a step of SPEC, which has degrees of parallelism and "
     "stands "
     "in place of the table",
     0},
    {"machine", 'm', "NAME|FILE", 0, "Cluster or machine of --timeline", 0},
    {"all-ranks", KEY_ALL_RANKS, NULL, 0,
     "With --timeline, simulate and draw each rank, though those of a stage are alike",
     0},
    CLI_FORCE_OPTION,
    {0},
};

static const char doc[] =
    "Draw a table in CSV, as --format csv prints tables, as a figure: dots for named "
    "rows, or lines over numbers.\v"
    "The axis of values is logarithmic where they lie far apart. What does not fit in "
    "memory (OOM) stands beside the axis of dots and has no place among lines. With "
    "--series, a second column of --values is drawn hollow. PDF files are drawn by "
    "gnuplot (Debian package gnuplot-nox).\n\n"
    "  emplace plot clock.csv --by task --values median_s --series entrant -o c.svg\n"
    "  emplace plot order.csv --by task,placement --values order_s,both_s -o o.svg\n"
    "  emplace plot curves.csv --x evaluations --values median_s --series entrant "
    "\\\n    --where task=rnnlm --where budget=1000 --out rnnlm.pdf\n"
    "  emplace plot --timeline llama3-70b:pp=4,vp=2,micro_batches=8 -m b200 -o t.svg";

static void check_timeline(const struct args *a)
{
    if (a->choice.path == NULL)
        cli_usage_error("--timeline needs a SPEC with degrees of parallelism");
    if (a->machine == NULL) cli_usage_error("--machine is missing: that of --timeline");
    if (a->choice.rows != NULL || a->choice.values != NULL || a->choice.series != NULL ||
        a->label != NULL)
        cli_usage_error("--timeline draws no table; leave out --by, --x, --values, "
                        "--series and --label");
}

static void check_usage(const struct args *a)
{
    if (a->is_timeline) {
        check_timeline(a);
    } else {
        if (a->choice.path == NULL) cli_usage_error("plot needs a table, FILE.csv");
        if (a->machine != NULL || a->all_ranks)
            cli_usage_error("--machine and --all-ranks are for --timeline");
        if (a->choice.rows == NULL)
            cli_usage_error("--by COLUMN draws dots, --x COLUMN lines; give one of them");
        if (a->choice.values == NULL)
            cli_usage_error("--values is missing: the columns to draw");
    }
    if (a->out == NULL)
        cli_usage_error("--out is missing: the file of the figure, FILE.svg or FILE.pdf");
    if (!emp_text_ends_in(a->out, ".svg") && !emp_text_ends_in(a->out, ".pdf"))
        cli_usage_error("a figure is written to FILE.svg or FILE.pdf, not \"%s\"",
                        a->out);
}

static void set_rows(struct args *a, const char *columns, emp_plot_form form)
{
    if (a->choice.rows != NULL) cli_usage_error("give one of --by and --x, once");
    a->choice.rows = columns;
    a->form = form;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args     *a = (struct args *)state->input;
    emp_plot_choice *c = &a->choice;

    switch (key) {
    case 'o': a->out = arg; return 0;
    case KEY_BY: set_rows(a, arg, EMP_PLOT_DOTS); return 0;
    case KEY_X: set_rows(a, arg, EMP_PLOT_LINES); return 0;
    case KEY_VALUES: c->values = arg; return 0;
    case KEY_SERIES: c->series = arg; return 0;
    case KEY_LOW: c->low = arg; return 0;
    case KEY_HIGH: c->high = arg; return 0;
    case KEY_WHERE:
        if (c->where_count == EMP_PLOT_CONDITIONS_MAX)
            cli_usage_error("--where can be given %d times", EMP_PLOT_CONDITIONS_MAX);
        c->where[c->where_count++] = arg;
        return 0;
    case KEY_TIMELINE: a->is_timeline = true; return 0;
    case KEY_ALL_RANKS: a->all_ranks = true; return 0;
    case 'm': a->machine = arg; return 0;
    case KEY_LABEL: a->label = arg; return 0;
    case CLI_KEY_FORCE: a->is_forced = true; return 0;
    case ARGP_KEY_ARG:
        if (c->path != NULL) cli_usage_error("unexpected \"%s\"", arg);
        c->path = arg;
        return 0;
    case ARGP_KEY_END: check_usage(a); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp cmd_plot_argp = {options, parse, "TABLE.csv|SPEC", doc, NULL,
                                   NULL,    NULL};

static emp_status print_svg(FILE *stream, const void *drawing, emp_error *err)
{
    return emp_drawing_print_file(stream, drawing, err);
}

static emp_status print_pdf(FILE *stream, const void *drawing, emp_error *err)
{
    return emp_drawing_print_pdf(stream, drawing, err);
}

emp_status cmd_plot(int argc, char **argv, emp_error *err)
{
    emp_status  st = EMP_OK;
    struct args args = {0};
    emp_csv     csv = {0};
    emp_drawing drawing = {0};

    cli_parse(&cmd_plot_argp, argc, argv, &args);
    EMP_TRY(emp_output_check(args.out, err));
    EMP_TRY(emp_output_check_inputs(&args.choice.path, 1, &args.out, 1, err));
    EMP_TRY(emp_output_check_replaced(&args.out, 1, args.is_forced, err));
    if (args.is_timeline) {
        EMP_TRY(cli_parallel_draw(&drawing,
                                  &(cli_parallel_options){.spec = args.choice.path,
                                                          .machine = args.machine,
                                                          .all_ranks = args.all_ranks},
                                  err));
    } else {
        EMP_TRY(emp_csv_load(&csv, args.choice.path, err));
        EMP_TRY(emp_plot_draw(&drawing, &csv, args.form, &args.choice, args.label, err));
    }
    EMP_TRY(emp_atomic_file_write(
        args.out, emp_text_ends_in(args.out, ".pdf") ? print_pdf : print_svg, &drawing,
        err));

cleanup:
    emp_drawing_clear(&drawing);
    emp_csv_clear(&csv);
    return st;
}
