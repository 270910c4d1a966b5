// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace calibrate fit: constants from published single-device step times. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io/output.h"
#include "base/text/text.h"
#include "bench/calibrate/calibrate.h"
#include "bench/tables/paper.h"
#include "cli/cli.h"
#include "cli/progress.h"

enum { DIGITS = 4 };

static const char default_runtime[] = "tf-r1.3";

struct args {
    emp_calibrate_params fit;
    const char          *machine;
    const char          *on;
    const char          *out; /**< data folder, or NULL */
    bool                 is_forced;
    emp_sheet_format     format;
};

static const struct argp_option options[] = {
    {"machine", 'm', "NAME|FILE", 0,
     "Whose constants to fit: k40 (as in machine k40x1), a machine, or a machine file",
     0},
    {"on", CLI_TEXT(struct args, on), "CELLS", 0,
     "To which published step times: all, cpu, gpu, or cells as rnnlm:gpu,nmt2:cpu", 0},
    {"runtime", 'r', "NAME|FILE", 0, "Runtime profile (default tf-r1.3)", 0},
    {"out", 'o', "DIR", 0,
     "Data folder to write into: machines/models/*.yaml and runtimes/*.yaml", 0},
    {"threads", 't', "N", 0, "Threads; results do not depend on it", 0},
    CLI_FORCE_OPTION(struct args),
    {0},
};

static const char doc[] =
    "Fit the free constants of a machine and a runtime to single-device step times of "
    "table 1.\v"
    "A constant is fitted if the cells determine it, and else keeps its value. Without "
    "--out nothing is written. Cells that are out of memory are checked, not fitted.\n\n"
    "  emplace calibrate fit --machine k40 --on all\n"
    "  emplace calibrate fit --machine k40 --on all --out data\n"
    "  emplace calibrate fit --machine k40 --on rnnlm:cpu,nmt2:cpu,nmt4:cpu --format "
    "json";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *args = (struct args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->format; return 0;
    case 'm': args->machine = arg; return 0;
    case 'r': args->fit.runtime = arg; return 0;
    case 'o': args->out = arg; return 0;
    case 't': args->fit.threads = (int32_t)cli_integer("threads", arg, 1, 1024); return 0;
    case ARGP_KEY_ARG: cli_usage_error("\"%s\" is one argument too many", arg);
    case ARGP_KEY_END:
        if (args->machine == NULL) cli_usage_error("--machine is missing; e.g. k40");
        if (args->on == NULL) cli_usage_error("--on is missing; e.g. --on all");
        if (args->out != NULL && strstr(args->out, ".yaml") != NULL) {
            cli_usage_error("--out takes a data folder, not \"%s\"; a fit changes the "
                            "files of the CPU, the GPU and the runtime",
                            args->out);
        }
        return 0;
    default: return cli_store(key, arg, args);
    }
}

const char *cli_machine_of(const char *name, char *buffer, size_t size)
{
    emp_data_names known;

    emp_data_find(&known, "machines");
    snprintf(buffer, size, "%sx1", name);
    for (int32_t i = 0; i < known.count; i++) {
        if (strcmp(known.name[i], buffer) == 0) return buffer;
    }
    snprintf(buffer, size, "%s", name);
    return buffer;
}

/* ---- what is printed ---------------------------------------------------------------- */

static const emp_sheet_column constant_columns[] = {
    EMP_COLUMN("name", "constant", EMP_SHEET_WORD),
    EMP_COLUMN("file", "file", EMP_SHEET_WORD),
    EMP_COLUMN("fitted", NULL, EMP_SHEET_FLAG),
    EMP_COLUMN("at_bound", NULL, EMP_SHEET_FLAG),
    EMP_COLUMN(NULL, "value", EMP_SHEET_WORD),
    EMP_COLUMN(NULL, "95 % interval", EMP_SHEET_WORD),
    EMP_COLUMN(NULL, "was", EMP_SHEET_WORD),
    EMP_COLUMN("value", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("before", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("low", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("high", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("bound_low", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("bound_high", NULL, EMP_SHEET_REAL),
    EMP_COLUMN("why", NULL, EMP_SHEET_WORD),
    EMP_COLUMN(NULL, "leans on", EMP_SHEET_WORD)};

static const emp_sheet_column cell_columns[] = {
    EMP_COLUMN("cell", "cell", EMP_SHEET_WORD, .width = 17),
    EMP_COLUMN("workload", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("published_s", "published", EMP_SHEET_SECONDS),
    EMP_COLUMN("fitted_s", "fitted", EMP_SHEET_SECONDS),
    EMP_COLUMN("off", "off", EMP_SHEET_CHANGE),
    EMP_COLUMN("left_out_s", "left out", EMP_SHEET_SECONDS),
    EMP_COLUMN("left_out_off", "off", EMP_SHEET_CHANGE),
    EMP_COLUMN("published_fits", NULL, EMP_SHEET_FLAG),
    EMP_COLUMN("fits", "fits", EMP_SHEET_FLAG),
    EMP_COLUMN("peak_bytes", "peak memory", EMP_SHEET_BYTES),
    EMP_COLUMN("limit_bytes", "of", EMP_SHEET_BYTES)};

static void tabulate_constants(emp_sheet *s, const emp_calibration *c)
{
    char value[48], before[48], interval[112], leans[512];

    EMP_SHEET_INIT(s, constant_columns);
    for (int32_t j = 0; j < EMP_CONSTANTS; j++) {
        const emp_constant *k = &emp_constants[j];
        emp_text            text = {leans, sizeof leans, 0};
        leans[0] = '\0';
        for (int32_t i = 0; i < c->timed_count; i++)
            if (c->fit.is_fitted[j] && emp_calibration_leans(c, j, i))
                emp_text_add(&text, "%s%s %.0f %%", text.used > 0 ? ", " : "",
                             c->cells[i].name, 100 * c->fit.share[j][i]);
        EMP_SHEET_ADD(
            s, EMP_V(k->name),
            EMP_V(emp_calibrate_file_name(k->file, c->machine, &c->runtime)),
            EMP_V(c->fit.is_fitted[j]), EMP_V(c->fit.is_at_bound[j]),
            EMP_V(
                emp_constant_format(k, c->fit.parameter[j], DIGITS, value, sizeof value)),
            EMP_V(emp_constant_interval(k, &c->fit, j, interval, sizeof interval)),
            EMP_V(emp_constant_format(k, c->before[j], DIGITS, before, sizeof before)),
            EMP_V(c->fit.parameter[j]), EMP_V(c->before[j]), EMP_V(c->fit.low[j]),
            EMP_V(c->fit.high[j]), EMP_V(k->low), EMP_V(k->high), EMP_V(k->why),
            EMP_V(leans));
    }
}

static void tabulate_cells(emp_sheet *s, const emp_calibration *c)
{
    EMP_SHEET_INIT(s, cell_columns);
    s->rows = "cells";
    for (int32_t i = 0; i < c->cell_count; i++) {
        const emp_cell         *cell = &c->cells[i];
        const emp_cell_outcome *o = &c->outcome[i];
        bool                    is_timed = i < c->timed_count;
        double                  alone_s = is_timed ? c->fit.left_out[i] : NAN;
        EMP_SHEET_ADD(s, EMP_V(cell->name), EMP_V(cell->spec), EMP_V(cell->published_s),
                      EMP_V(o->step_s),
                      EMP_V(is_timed ? emp_cell_off(cell, o->step_s) : NAN),
                      EMP_V(alone_s), EMP_V(emp_cell_off(cell, alone_s)), EMP_V(is_timed),
                      EMP_V(o->is_feasible), EMP_V(o->peak_bytes), EMP_V(o->limit_bytes));
    }
    if (!c->fit.has_converged) emp_sheet_note(s, "%s", EMP_FIT_UNFINISHED);
    emp_sheet_note(
        s,
        "%s, %s; constants fitted: %d, to cells: %d. Left out: predicted by a "
        "fit to the other cells; - where those do not determine all constants.",
        c->machine->name, c->runtime.name, c->fit.fitted_count, c->timed_count);
}

/* Constants as JSON: their rows, and the share of each cell that a constant leans on. */
static json_t *json_constants(const emp_sheet *constants, const emp_calibration *c)
{
    json_t *rows = emp_sheet_rows(constants), *row;
    size_t  j;

    json_array_foreach(rows, j, row)
    {
        json_t *leans = json_object();
        for (int32_t i = 0; i < c->timed_count; i++)
            if (emp_calibration_leans(c, (int32_t)j, i))
                json_object_set_new(leans, c->cells[i].name,
                                    json_real(c->fit.share[j][i]));
        json_object_set_new(row, "leans_on", leans);
    }
    return rows;
}

static emp_status print(const emp_calibration *c, emp_sheet_format format, emp_error *err)
{
    emp_sheet constants, cells;

    tabulate_constants(&constants, c);
    tabulate_cells(&cells, c);
    constants.next = &cells;
    if (format == EMP_SHEET_JSON)
        emp_sheet_set_facts(
            &cells,
            json_pack("{s:s, s:s, s:s, s:b, s:o}", "machine", c->machine->name, "runtime",
                      c->runtime.name, "source", emp_paper_source, "converged",
                      c->fit.has_converged, "constants", json_constants(&constants, c)));
    emp_status st = emp_sheet_print(
        stdout, cli_format_is_for_people(format) ? &constants : &cells, format, err);
    emp_sheet_clear(&cells);
    emp_sheet_clear(&constants);
    return st;
}

/* ---- the command ------------------------------------------------------------------- */

/* The folder, and those in it, are made when there is something to save. */
static emp_status check_out(const char *folder, emp_error *err)
{
    static const char *const inner[] = {"", "/machines", "/machines/models", "/runtimes"};

    if (folder == NULL) return EMP_OK;
    if (access(folder, F_OK) != 0) EMP_CHECK(emp_output_check(folder, err));
    for (size_t i = 0; i < sizeof inner / sizeof *inner; i++) {
        char path[1024], file[sizeof path + 8];
        snprintf(path, sizeof path, "%s%s", folder, inner[i]);
        snprintf(file, sizeof file, "%s/a.yaml", path);
        if (access(path, F_OK) == 0) EMP_CHECK(emp_output_check(file, err));
    }
    return EMP_OK;
}

/* Which files the fit changes is known when it is done. */
static emp_status check_kept(const emp_calibration *c, const struct args *args,
                             emp_error *err)
{
    char path[EMP_CALIBRATE_PATH_BYTES];

    for (emp_calibrate_file file = 0; file < EMP_CALIBRATE_FILES; file++) {
        const char *output = path;
        if (emp_calibration_path(path, c, file, args->out))
            EMP_CHECK(emp_output_check_replaced(&output, 1, args->is_forced, err));
    }
    return EMP_OK;
}

static emp_status save(const emp_calibration *c, const struct args *args, emp_error *err)
{
    EMP_CHECK(check_kept(c, args, err));
    bool is_default = strcmp(args->fit.runtime, default_runtime) == 0;
    char command[512];

    snprintf(command, sizeof command, "emplace calibrate fit --machine %s --on %s%s%s",
             args->machine, args->on, is_default ? "" : " --runtime ",
             is_default ? "" : args->fit.runtime);
    return emp_calibration_save(c, args->out, emp_paper_source, command, err);
}

static const struct argp_child children[] = {{&cli_format_argp, 0, NULL, 0}, {0}};
const struct argp              cmd_calibrate_fit_argp = {options,  parse, NULL, doc,
                                                         children, NULL,  NULL};

emp_status cmd_calibrate_fit(int argc, char **argv, emp_error *err)
{
    cli_bar     bar;
    struct args args = {
        .fit = {.runtime = default_runtime, .threads = cli_default_threads()}};
    emp_status       st = EMP_OK;
    emp_cell         cells[EMP_MAX_CELLS];
    char             machine[512];
    emp_calibration *c = NULL;

    cli_parse(&cmd_calibrate_fit_argp, argc, argv, &args);
    EMP_TRY(emp_cells_select(args.on, cells, &args.fit.cell_count, err));
    EMP_TRY(check_out(args.out, err));
    args.fit.cells = cells;
    args.fit.machine = cli_machine_of(args.machine, machine, sizeof machine);
    args.fit.on_progress = cli_bar_on_progress;
    args.fit.context = &bar;
    cli_bar_init(&bar, "fit");
    st = emp_calibration_create(&c, &args.fit, err);
    cli_bar_clear(&bar);
    EMP_TRY(st);
    if (args.out != NULL) EMP_TRY(save(c, &args, err));
    EMP_TRY(print(c, args.format, err));
    if (args.format == EMP_SHEET_TEXT && args.out != NULL) {
        printf("\nConstants fitted are below %s. A machine file in %s/machines uses the "
               "models in %s/machines/models.\n",
               args.out, args.out, args.out);
    }

cleanup:
    emp_calibration_destroy(c);
    return st;
}
