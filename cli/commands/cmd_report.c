// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace report RUN...: a page from run records, or one of its figures. */
#define _POSIX_C_SOURCE 200809L /* open_memstream() */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/io/atomic_file.h"
#include "base/io/output.h"
#include "base/mem.h"
#include "bench/report/page.h"
#include "cli/cli.h"
#include "cli/options/inputs.h"
#include "cli/stop.h"

struct args {
    emp_report_runs runs;
    const char     *out;
    const char     *figure;  /* NULL = the page */
    const char     *machine; /* NULL = the one that a record names */
    bool            is_pdf, is_forced;
    emp_status      status; /* of reading records */
    emp_error       err;
};

static const struct argp_option options[] = {
    {"out", 'o', "FILE", 0,
     "Write the page to FILE (default report.html), or a figure to FILE.svg or FILE.pdf",
     0},
    {"figure", CLI_TEXT(struct args, figure), "NAME", 0,
     "Write only one figure of the page: curves, clock, placements, timeline, means or "
     "metrics; of the second problem curves-2, and so on. NAME list lists them",
     0},
    {"machine", 'm', "NAME|FILE", 0,
     "The machine of all runs, in place of the one that the records keep", 0},
    CLI_FORCE_OPTION(struct args),
    {0},
};

static const char doc[] =
    "Make one page, which needs no network, from run records (.h5) or folders of them: "
    "the best step times, beside Table 1 of the paper where the runs are of its tasks; "
    "learning curves against placements scored and time, with the lower bound; the "
    "placements side by side; the timeline of the best one's step. Each figure can be "
    "saved from the page as SVG.\v"
    "Other files in a folder are skipped. The newer of two records of one run is taken. "
    "PDF files are drawn by gnuplot (Debian package gnuplot-nox).\n\n"
    "  emplace place rnnlm --machine k40x2 --method expert --record expert.h5\n"
    "  emplace train rnnlm --machine k40x2 --budget 2000 --record hdp.h5\n"
    "  emplace report expert.h5 hdp.h5 --out rnnlm.html\n"
    "  emplace report runs                          what emplace table 1 left\n"
    "  emplace report runs --figure list\n"
    "  emplace report runs --figure curves --out curves.pdf\n"
    "  emplace report runs --figure placements-2 --out nmt.svg\n"
    "  emplace report run.h5 --machine my/machine.yaml --out report.html";

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);

    return length >= tail && strcasecmp(text + length - tail, ending) == 0;
}

static bool lists_figures(const struct args *args)
{
    return args->figure != NULL && strcmp(args->figure, "list") == 0;
}

static void check_usage(struct args *args)
{
    if (args->runs.run_count == 0 && args->status == EMP_OK)
        cli_usage_error("report needs a run record, or a folder of them");
    if (lists_figures(args)) return;
    if (args->figure == NULL) {
        if (args->out == NULL) args->out = "report.html";
        if (ends_with(args->out, ".pdf") || ends_with(args->out, ".svg"))
            cli_usage_error("the page is HTML; --figure NAME writes a figure to %s",
                            args->out);
        return;
    }
    if (args->out == NULL)
        cli_usage_error("--out is missing: the file of the figure, FILE.svg or FILE.pdf");
    args->is_pdf = ends_with(args->out, ".pdf");
    if (!args->is_pdf && !ends_with(args->out, ".svg"))
        cli_usage_error("a figure is written to FILE.svg or FILE.pdf, not \"%s\"",
                        args->out);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *args = (struct args *)state->input;

    switch (key) {
    case 'o': args->out = arg; return 0;
    case 'm': args->machine = arg; return 0;
    case ARGP_KEY_ARG:
        if (args->status == EMP_OK)
            args->status = emp_report_runs_add(&args->runs, arg, &args->err);
        return 0;
    case ARGP_KEY_END: check_usage(args); return 0;
    default: return cli_store(key, arg, args);
    }
}

/* Makes problems again, one at a time. */
struct maker {
    cli_inputs  inputs;
    const char *machine;
};

/* The machine that the record keeps; of records that keep none, the one of that name. */
static emp_status load_machine(emp_machine **machine, const emp_report_run *run,
                               emp_error *err)
{
    char      *text = NULL;
    emp_status st = emp_record_load_machine(&text, run->path, NULL);

    if (st == EMP_OK) st = emp_machine_parse(machine, text, NULL);
    emp_free(text);
    if (st == EMP_ENOMEM) return EMP_ERROR(st, "machine of %s", run->path);
    if (st == EMP_OK || strcmp(run->record.machine, EMP_OWN_MACHINE) == 0) return EMP_OK;
    return emp_machine_load(machine, run->record.machine, err);
}

static emp_status make_problem(void *context, const emp_report_run *run,
                               const emp_problem **problem, emp_error *err)
{
    struct maker     *maker = context;
    const emp_record *r = &run->record;
    const char       *machine = maker->machine != NULL ? maker->machine : r->machine;

    cli_inputs_clear(&maker->inputs);
    if (maker->machine == NULL) EMP_CHECK(load_machine(&maker->inputs.machine, run, err));
    EMP_CHECK(cli_inputs_load(&maker->inputs, r->workload, machine, r->runtime, err));
    *problem = maker->inputs.problem;
    return EMP_OK;
}

static void warn_of_absence(void *context, const emp_record *record, const char *why)
{
    (void)context;
    cli_warn("lower bound, placements and timeline of %s on %s are left out: %s",
             record->workload, record->machine, why);
}

static emp_status print(FILE *stream, const struct args *args, emp_error *err)
{
    struct maker      maker = {.machine = args->machine};
    emp_report_params params = {
        .get_problem = make_problem, .on_absence = warn_of_absence, .context = &maker};
    emp_status st = args->figure == NULL
                        ? emp_report_write(stream, &args->runs, &params, err)
                        : emp_report_write_figure(stream, &args->runs, &params,
                                                  args->figure, args->is_pdf, err);

    cli_inputs_clear(&maker.inputs);
    return st;
}

struct text {
    const char *path; /* of the file that it becomes */
    char       *at;
    size_t      size;
};

static emp_status write_text(FILE *stream, const void *what, emp_error *err)
{
    const struct text *text = what;

    if (fwrite(text->at, 1, text->size, stream) == text->size) return EMP_OK;
    return EMP_ERROR(EMP_EIO, "%s cannot be written: %s", text->path, strerror(errno));
}

/* Bounds take long and look at no flag. So all is made in memory, where Ctrl-C ends the program
 * at once and leaves nothing; it waits for nothing but the file. */
static emp_status write_report(const struct args *args, emp_error *err)
{
    struct text text = {.path = args->out};
    FILE       *stream = open_memstream(&text.at, &text.size);

    if (stream == NULL) return EMP_ERROR(EMP_ENOMEM, "%s", args->out);
    emp_status st = print(stream, args, err);
    bool       is_whole = ferror(stream) == 0;
    is_whole = fclose(stream) == 0 && is_whole;
    if (st == EMP_OK && !is_whole) st = EMP_ERROR(EMP_ENOMEM, "%s", args->out);
    (void)cli_stop_flag();
    if (st == EMP_OK) st = emp_atomic_file_write(args->out, write_text, &text, err);
    free(text.at);
    return st;
}

const struct argp cmd_report_argp = {options, parse, "RUN...", doc, NULL, NULL, NULL};

emp_status cmd_report(int argc, char **argv, emp_error *err)
{
    emp_status  st = EMP_OK;
    struct args args = {.runs.warn = cli_warn};

    cli_parse(&cmd_report_argp, argc, argv, &args);
    if (args.status != EMP_OK) EMP_FAIL(args.status, "%s", args.err.msg);
    EMP_TRY(emp_report_runs_group(&args.runs, err));
    if (lists_figures(&args)) {
        emp_report_list_figures(stdout, &args.runs);
        goto cleanup;
    }
    EMP_TRY(emp_output_check(args.out, err));
    EMP_TRY(emp_output_check_inputs(&args.machine, 1, &args.out, 1, err));
    for (int32_t i = 0; i < args.runs.run_count; i++) {
        const char *path = args.runs.run[i].path;
        EMP_TRY(emp_output_check_inputs(&path, 1, &args.out, 1, err));
    }
    EMP_TRY(emp_output_check_replaced(&args.out, 1, args.is_forced, err));
    EMP_TRY(write_report(&args, err));

cleanup:
    emp_report_runs_clear(&args.runs);
    return st;
}
