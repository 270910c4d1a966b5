// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace plot TABLE.csv: a table that a command has printed as CSV, as a figure. */
#include <stdio.h>
#include <string.h>

#include "base/io/atomic_file.h"
#include "base/io/output.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "bench/plots/csv/plot.h"
#include "cli/cli.h"
#include "cli/options/parallel.h"

enum {
    KEY_BY = 256,
    KEY_X,
    KEY_VALUES,
    KEY_SERIES,
    KEY_LOW,
    KEY_HIGH,
    KEY_WHERE,
    KEY_LABEL,
    KEY_SIZE,
    KEY_FONT,
    KEY_SMOOTH
};

struct args {
    emp_plot_choice choice;
    emp_plot_form   form;
    emp_plot_style  style;
    const char     *out;
    char            font[64];
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
     "Label of the axis of values (default: the name of the first column). SERIES=TEXT "
     "gives a series another name in the figure (may be repeated)",
     0},
    {"size", KEY_SIZE, "WIDTHxHEIGHT", 0,
     "Size of the figure in pixels, or in in, cm, mm or pt: 480x320, 3.3inx2.2in. Either "
     "may be left out",
     0},
    {"font", KEY_FONT, "FAMILY,SIZE", 0,
     "Font of all texts: Times, or 9pt, or Times,9pt. Marks and lines grow with its size",
     0},
    {"smooth", KEY_SMOOTH, "N", 0, "With --x: draw the mean of the N points around each",
     0},
    {"hold", CLI_FLAG(struct args, style.has_steps), NULL, 0,
     "With --x: a value holds until the next point, as the best step time so far does",
     0},
    {"timeline", CLI_FLAG(struct args, is_timeline), NULL, 0,
     "Draw ranks against time: a step of SPEC, which has degrees of parallelism and "
     "stands in place of the table",
     0},
    {"machine", 'm', "NAME|FILE", 0, "Cluster or machine of --timeline", 0},
    {"all-ranks", CLI_FLAG(struct args, all_ranks), NULL, 0,
     "With --timeline, simulate and draw each rank, though a stage's ranks are alike", 0},
    CLI_FORCE_OPTION(struct args),
    {0},
};

static const char doc[] =
    "Draw a table in CSV, as --format csv prints tables, as a figure: dots for named "
    "rows, or lines over numbers.\v"
    "The axis of values is logarithmic where they lie far apart. Cells that are out of "
    "memory (OOM) stand beside the axis of dots and are left out of lines. With "
    "--series, a second column of --values is drawn hollow. PDF files are drawn by "
    "gnuplot (Debian package gnuplot-nox).\n\n"
    "  emplace plot clock.csv --by task --values median_s --series entrant -o c.svg\n"
    "  emplace plot order.csv --by task,placement --values order_s,both_s -o o.svg\n"
    "  emplace plot curves.csv --x evaluations --values median_s --series entrant "
    "\\\n    --where task=rnnlm --where budget=1000 --hold --out rnnlm.pdf\n"
    "  emplace plot c.csv --x evaluations --values best_s --series method \\\n"
    "      --label anneal=Ours --smooth 5 --size 8cmx5cm --font Times,8pt -o c.pdf\n"
    "  emplace plot --timeline llama3-70b:pp=4,vp=2,micro_batches=8 -m b200 -o t.svg";

/* Pixels of a length, behind which \a end is left; without a unit they are pixels. */
static double read_length(const char *text, const char **end)
{
    static const struct {
        const char *unit;
        double      pixels;
    } units[] = {
        {"px", 1}, {"in", 96}, {"cm", 96 / 2.54}, {"mm", 96 / 25.4}, {"pt", 96 / 72.0}};
    char  *behind;
    double length = emp_number_parse(text, &behind);

    *end = behind;
    for (size_t i = 0; i < sizeof units / sizeof *units && behind != text; i++)
        if (strncmp(behind, units[i].unit, strlen(units[i].unit)) == 0) {
            *end = behind + strlen(units[i].unit);
            return length * units[i].pixels;
        }
    return length;
}

static void set_size(emp_plot_style *style, const char *text)
{
    const char *at = text;

    if (*at != 'x') style->width = read_length(at, &at);
    if (*at == 'x') style->height = read_length(at + 1, &at);
    const bool has_width = style->width >= 100 && style->width <= 10000;
    const bool has_height = style->height >= 60 && style->height <= 10000;
    if (*at != '\0' || (style->width != 0 && !has_width) ||
        (style->height != 0 && !has_height) || (!has_width && !has_height))
        cli_usage_error("--size \"%s\" is no size such as 480x320 or 3.3inx2.2in, from "
                        "100x60 to 10000x10000 pixels",
                        text);
}

/* The name of the family goes into files of others, so that it has few kinds of characters. */
static void set_font(struct args *a, const char *text)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 -";
    const char  *size = strchr(text, ','), *end = text;
    const size_t length = size != NULL ? (size_t)(size - text) : strspn(text, letters);

    if (size == NULL && (*text == '.' || (*text >= '0' && *text <= '9'))) {
        size = text;
    } else {
        if (length == 0 || length >= sizeof a->font || strspn(text, letters) != length ||
            (size == NULL && text[length] != '\0'))
            cli_usage_error("--font \"%s\" is no family and size such as Times,9pt",
                            text);
        snprintf(a->font, sizeof a->font, "%.*s", (int)length, text);
        a->style.font = a->font;
        if (size != NULL) size++;
    }
    if (size == NULL) return;
    a->style.font_size = read_length(size, &end);
    if (*end != '\0' || !(a->style.font_size >= 4 && a->style.font_size <= 100))
        cli_usage_error("--font \"%s\" has no size from 4 to 100 pixels", text);
}

static void set_label(emp_plot_style *style, const char *text)
{
    if (strchr(text, '=') == NULL) {
        style->label = text;
        return;
    }
    if (style->name_count == EMP_PLOT_NAMES_MAX)
        cli_usage_error("--label can name %d series", EMP_PLOT_NAMES_MAX);
    style->name[style->name_count++] = text;
}

static void check_timeline(const struct args *a)
{
    if (a->choice.path == NULL)
        cli_usage_error("--timeline needs a SPEC with degrees of parallelism");
    if (a->machine == NULL)
        cli_usage_error("--machine is missing: the cluster or machine of --timeline");
    if (a->choice.rows != NULL || a->choice.values != NULL || a->choice.series != NULL ||
        a->choice.low != NULL || a->choice.high != NULL || a->choice.where_count > 0 ||
        a->style.label != NULL || a->style.name_count > 0 || a->style.width > 0 ||
        a->style.height > 0 || a->style.font != NULL || a->style.font_size > 0)
        cli_usage_error("--timeline draws no table, at a size of its own; leave out "
                        "--by, --x, --values, --low, --high, --where, --size, --font, "
                        "--series and --label");
}

static void check_usage(const struct args *a)
{
    if (a->style.smooth > 0 && a->form != EMP_PLOT_LINES)
        cli_usage_error("--smooth is for lines, which --x draws");
    if (a->style.has_steps && a->form != EMP_PLOT_LINES)
        cli_usage_error("--hold is for lines, which --x draws");
    if (a->style.has_steps && a->style.smooth > 0)
        cli_usage_error("give one of --hold and --smooth: means are no steps");
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
    case KEY_LABEL: set_label(&a->style, arg); return 0;
    case KEY_SIZE: set_size(&a->style, arg); return 0;
    case KEY_FONT: set_font(a, arg); return 0;
    case KEY_SMOOTH:
        a->style.smooth = (int32_t)cli_integer("smooth", arg, 1, 100000);
        return 0;
    case 'm': a->machine = arg; return 0;
    case ARGP_KEY_ARG:
        if (c->path != NULL) cli_usage_error("unexpected \"%s\"", arg);
        c->path = arg;
        return 0;
    case ARGP_KEY_END: check_usage(a); return 0;
    default: return cli_store(key, arg, a);
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
        EMP_TRY(emp_plot_draw(&drawing, &csv, args.form, &args.choice, &args.style, err));
    }
    EMP_TRY(emp_atomic_file_write(
        args.out, emp_text_ends_in(args.out, ".pdf") ? print_pdf : print_svg, &drawing,
        err));

cleanup:
    emp_drawing_clear(&drawing);
    emp_csv_clear(&csv);
    return st;
}
