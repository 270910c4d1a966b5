// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace report RUN...: a page from run records. */
#include <stdio.h>
#include <string.h>

#include "base/io/atomic_file.h"
#include "bench/plots/gnuplot.h"
#include "bench/report/page.h"
#include "cli/cli.h"
#include "cli/options/inputs.h"
#include "cli/stop.h"

struct args {
    emp_report_runs runs;
    const char     *out;
    const char     *machine; /* NULL = the one that a record names */
    emp_status      status;  /* of reading records */
    emp_error       err;
};

static const struct argp_option options[] = {
    {"out", 'o', "FILE", 0, "Write the page to FILE", 0},
    {"machine", 'm', "NAME|FILE", 0,
     "The machine of all runs, where the record's name of it is not enough: a file", 0},
    {0},
};

static const char doc[] =
    "Make one page, which needs no network, from run records (.h5) or folders of them: "
    "tables, learning curves, quality against samples and seconds, the best placement as "
    "a "
    "grid, the timeline of its step.\v"
    "Curves are drawn by gnuplot (Debian package gnuplot-nox); without it the page has "
    "all "
    "the rest.\n\n"
    "  emplace place rnnlm --machine k40x2 --method expert --record expert.h5\n"
    "  emplace train rnnlm --machine k40x2 --budget 2000 --record hdp.h5\n"
    "  emplace report expert.h5 hdp.h5 --out report.html\n"
    "  emplace report runs --out report.html        what emplace table 1 left\n"
    "  emplace report run.h5 --machine my/machine.yaml --out report.html";

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
    case ARGP_KEY_END:
        if (args->runs.run_count == 0 && args->status == EMP_OK)
            cli_usage_error("report needs a run record, or a folder of them");
        if (args->out == NULL) cli_usage_error("--out is missing: the file of the page");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* What makes problems again, one at a time. */
struct maker {
    cli_inputs  inputs;
    const char *machine;
};

static emp_status make_problem(void *context, const emp_record *record,
                               const emp_problem **problem, emp_error *err)
{
    struct maker *maker = context;

    cli_inputs_clear(&maker->inputs);
    EMP_CHECK(cli_inputs_load(&maker->inputs, record->workload,
                              maker->machine != NULL ? maker->machine : record->machine,
                              record->runtime, err));
    *problem = maker->inputs.problem;
    return EMP_OK;
}

static void warn_of_absence(void *context, const emp_record *record, const char *why)
{
    (void)context;
    cli_warn("the page has no placement and timeline of %s on %s: %s", record->workload,
             record->machine, why);
}

static emp_status write_page(const struct args *args, emp_error *err)
{
    emp_status        st = EMP_OK;
    emp_atomic_file   file = {0};
    struct maker      maker = {.machine = args->machine};
    emp_report_params params = {.get_problem = make_problem,
                                .on_absence = warn_of_absence,
                                .context = &maker,
                                .stop = cli_stop_flag(),
                                .has_figures = emp_gnuplot_exists()};

    if (!params.has_figures)
        cli_warn("%s; the page is made without curves", EMP_GNUPLOT_ABSENCE);
    EMP_TRY(emp_atomic_file_open(&file, args->out, err));
    EMP_TRY(emp_report_write(file.stream, &args->runs, &params, err));
    EMP_TRY(emp_atomic_file_commit(&file, err));

cleanup:
    emp_atomic_file_abort(&file);
    cli_inputs_clear(&maker.inputs);
    return st;
}

emp_status cmd_report(int argc, char **argv, emp_error *err)
{
    const struct argp argp = {options, parse, "RUN...", doc, NULL, NULL, NULL};
    emp_status        st = EMP_OK;
    struct args       args = {0};

    cli_parse(&argp, argc, argv, &args);
    if (args.status != EMP_OK) EMP_FAIL(args.status, "%s", args.err.msg);
    EMP_TRY(cli_check_output(args.out, err));
    EMP_TRY(cli_check_inputs(&args.machine, 1, &args.out, 1, err));
    for (int32_t i = 0; i < args.runs.run_count; i++) {
        const char *path = args.runs.run[i].path;
        EMP_TRY(cli_check_inputs(&path, 1, &args.out, 1, err));
    }
    EMP_TRY(emp_report_runs_group(&args.runs, err));
    EMP_TRY(write_page(&args, err));

cleanup:
    emp_report_runs_clear(&args.runs);
    return st;
}
