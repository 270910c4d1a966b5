// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace calibrate fit: constants from published single-device step times. The other
 * verb, measure, is in cmd_calibrate_measure.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "bench/calibrate/calibrate.h"
#include "bench/tables/paper.h"
#include "cli/cli.h"
#include "cli/progress.h"

enum { KEY_ON = 256, DIGITS = 4 };

static const char default_runtime[] = "tf-r1.3";

struct args {
    emp_calibrate_params fit;
    const char          *verb;
    const char          *machine;
    const char          *on;
    const char          *out; /**< data folder, or NULL */
    bool                 is_json;
};

static const struct argp_option options[] = {
    {"machine", 'm', "NAME|FILE", 0,
     "Whose constants to fit: k40 (as in machine k40x1), a machine, or a machine file",
     0},
    {"on", KEY_ON, "CELLS", 0,
     "To which published step times: all, cpu, gpu, or cells as rnnlm:gpu,nmt2:cpu", 0},
    {"runtime", 'r', "NAME|FILE", 0, "Runtime profile (default tf-r1.3)", 0},
    {"out", 'o', "DIR", 0,
     "Data folder to write into: machines/models/*.yaml and runtimes/*.yaml", 0},
    {"json", 'j', NULL, 0, "Print a JSON object", 0},
    {"threads", 't', "T", 0, "Threads; results do not depend on it", 0},
    {0},
};

static char measure_name[] = "emplace calibrate measure";

static const char doc[] =
    "Fit the free constants of a machine and a runtime to single-device step times of "
    "table 1; or, as `emplace calibrate measure`, to benchmarks of this computer, which "
    "has a --help of its own.\v"
    "A constant is fitted if the cells determine it, and else keeps its value. Without "
    "--out\n"
    "nothing is written. Cells that are out of memory are checked, not fitted.\n\n"
    "  emplace calibrate fit --machine k40 --on all\n"
    "  emplace calibrate fit --machine k40 --on all --out data\n"
    "  emplace calibrate fit --machine k40 --on rnnlm:cpu,nmt2:cpu,nmt4:cpu --json";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *args = (struct args *)state->input;

    switch (key) {
    case 'm': args->machine = arg; return 0;
    case KEY_ON: args->on = arg; return 0;
    case 'r': args->fit.runtime = arg; return 0;
    case 'o': args->out = arg; return 0;
    case 'j': args->is_json = true; return 0;
    case 't': args->fit.threads = (int32_t)cli_integer("threads", arg, 1, 1024); return 0;
    case ARGP_KEY_ARG:
        if (args->verb != NULL) cli_usage_error("too many arguments: \"%s\"", arg);
        args->verb = arg;
        return 0;
    case ARGP_KEY_END:
        if (args->verb == NULL || strcmp(args->verb, "fit") != 0) {
            cli_usage_error("calibrate what? there are emplace calibrate fit and emplace "
                            "calibrate measure");
        }
        if (args->machine == NULL) cli_usage_error("--machine is missing; e.g. k40");
        if (args->on == NULL) cli_usage_error("--on is missing; e.g. --on all");
        if (args->out != NULL && strstr(args->out, ".yaml") != NULL) {
            cli_usage_error("--out takes a data folder, not \"%s\"; a fit changes the "
                            "files of the CPU, the GPU and the runtime",
                            args->out);
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* "k40" is the GPU of machine k40x1; what names a machine or a file stays. */
static const char *machine_of(const char *name, char *buffer, size_t size)
{
    int32_t            count;
    const char *const *known = emp_machine_names(&count);
    bool               is_whole = strchr(name, '/') != NULL || strchr(name, '.') != NULL;

    for (int32_t i = 0; i < count; i++) {
        is_whole = is_whole || strcmp(known[i], name) == 0;
    }
    snprintf(buffer, size, is_whole ? "%s" : "%sx1", name);
    return buffer;
}

/* ---- text -------------------------------------------------------------------------- */

static void print_constant(const emp_calibration *c, const emp_constant *constant,
                           int32_t j)
{
    char value[48], before[48], low[48], high[48];

    emp_constant_format(constant, c->fit.parameter[j], DIGITS, value, sizeof value);
    emp_constant_format(constant, c->before[j], DIGITS, before, sizeof before);
    printf("  %-17s %-15s", constant->name,
           emp_calibrate_file_name(constant->file, c->machine, &c->runtime));
    if (!c->fit.is_fitted[j]) {
        printf(" %-14s kept: the cells do not determine it\n", value);
        return;
    }
    printf(" %-14s ", value);
    if (c->fit.is_at_bound[j])
        printf("at its bound");
    else if (isnan(c->fit.low[j]))
        printf("no spare cell for an interval");
    else {
        emp_constant_format(constant, c->fit.low[j], 3, low, sizeof low);
        emp_constant_format(constant, c->fit.high[j], 3, high, sizeof high);
        printf("%s .. %s", low, high);
    }
    printf(", was %s; leans on", before);
    for (int32_t i = 0; i < c->timed_count; i++) {
        if (!emp_calibration_leans(c, j, i)) continue;
        printf(" %s %.0f %%", c->cells[i].name, 100 * c->fit.share[j][i]);
    }
    printf("\n");
}

static void print_cells(const emp_calibration *c)
{
    printf("\n  %-17s %10s %10s %8s %10s %8s\n", "cell", "published", "fitted", "off",
           "left out", "off");
    for (int32_t i = 0; i < c->timed_count; i++) {
        const emp_cell *cell = &c->cells[i];
        double          s = c->outcome[i].step_s, alone_s = c->fit.left_out[i];
        printf("  %-17s %8.4g s %8.4g s %+6.1f %%", cell->name, cell->published_s, s,
               100 * emp_cell_off(cell, s));
        if (isnan(alone_s))
            printf("          the others do not determine all constants\n");
        else
            printf(" %8.4g s %+6.1f %%\n", alone_s, 100 * emp_cell_off(cell, alone_s));
    }
}

static void print_memory(const emp_calibration *c)
{
    printf("\n");
    for (int32_t i = 0; i < c->cell_count; i++) {
        const emp_cell         *cell = &c->cells[i];
        const emp_cell_outcome *o = &c->outcome[i];
        char                    peak[32], limit[32];
        if (cell->device == 0) continue;
        printf("  %-17s %s of %s, %.1f %% %s: %s, as published%s\n", cell->name,
               emp_units_format_bytes(o->peak_bytes, peak, sizeof peak),
               emp_units_format_bytes(o->limit_bytes, limit, sizeof limit),
               100 * fabs((double)o->peak_bytes / (double)o->limit_bytes - 1.0),
               o->is_feasible ? "below" : "above",
               o->is_feasible ? "fits" : "does not fit",
               o->is_feasible == (bool)isfinite(cell->published_s) ? "" : ": NOT");
    }
}

static void print_text(const emp_calibration *c)
{
    int32_t             count;
    const emp_constant *table = emp_constant_table(&count);

    printf("%s, %s; constants fitted: %d, to cells: %d; 95 %% intervals\n\n",
           c->machine->name, c->runtime.name, c->fit.fitted_count, c->timed_count);
    if (!c->fit.has_converged) printf("%s\n\n", EMP_FIT_UNFINISHED);
    for (int32_t j = 0; j < count; j++) print_constant(c, &table[j], j);
    print_cells(c);
    print_memory(c);
}

/* ---- JSON -------------------------------------------------------------------------- */

static json_t *json_constant(const emp_calibration *c, const emp_constant *constant,
                             int32_t j)
{
    json_t *leans = json_object();

    for (int32_t i = 0; i < c->timed_count; i++) {
        if (!emp_calibration_leans(c, j, i)) continue;
        json_object_set_new(leans, c->cells[i].name, json_real(c->fit.share[j][i]));
    }
    return json_pack("{s:s, s:s, s:b, s:b, s:f, s:f, s:o, s:o, s:f, s:f, s:s, s:o}",
                     "name", constant->name, "file",
                     emp_calibrate_file_name(constant->file, c->machine, &c->runtime),
                     "fitted", c->fit.is_fitted[j], "at_bound", c->fit.is_at_bound[j],
                     "value", c->fit.parameter[j], "before", c->before[j], "low",
                     cli_json_number(c->fit.low[j]), "high",
                     cli_json_number(c->fit.high[j]), "bound_low", constant->low,
                     "bound_high", constant->high, "why", constant->why, "leans_on",
                     leans);
}

static json_t *json_cell(const emp_calibration *c, int32_t i)
{
    const emp_cell         *cell = &c->cells[i];
    const emp_cell_outcome *o = &c->outcome[i];
    bool                    is_timed = i < c->timed_count;
    double                  alone_s = is_timed ? c->fit.left_out[i] : NAN;

    return json_pack("{s:s, s:s, s:o, s:f, s:o, s:o, s:o, s:b, s:b, s:I, s:I}", "cell",
                     cell->name, "workload", cell->spec, "published_s",
                     cli_json_number(cell->published_s), "fitted_s", o->step_s, "off",
                     cli_json_number(is_timed ? emp_cell_off(cell, o->step_s) : NAN),
                     "left_out_s", cli_json_number(alone_s), "left_out_off",
                     cli_json_number(emp_cell_off(cell, alone_s)), "published_fits",
                     is_timed, "fits", o->is_feasible, "peak_bytes",
                     (json_int_t)o->peak_bytes, "limit_bytes",
                     (json_int_t)o->limit_bytes);
}

static emp_status print_json(const emp_calibration *c, emp_error *err)
{
    int32_t             count;
    const emp_constant *table = emp_constant_table(&count);
    json_t             *constants = json_array(), *cells = json_array();

    for (int32_t j = 0; j < count; j++) {
        json_array_append_new(constants, json_constant(c, &table[j], j));
    }
    for (int32_t i = 0; i < c->cell_count; i++) {
        json_array_append_new(cells, json_cell(c, i));
    }
    return cli_print_json(
        json_pack("{s:s, s:s, s:s, s:b, s:o, s:o}", "machine", c->machine->name,
                  "runtime", c->runtime.name, "source", emp_paper_source, "converged",
                  c->fit.has_converged, "constants", constants, "cells", cells),
        err);
}

/* ---- the command ------------------------------------------------------------------- */

/* The folder, and those in it, are made when there is something to save. */
static emp_status check_out(const char *folder, emp_error *err)
{
    static const char *const inner[] = {"", "/machines", "/machines/models", "/runtimes"};

    if (folder == NULL) return EMP_OK;
    if (access(folder, F_OK) != 0) EMP_CHECK(cli_check_output(folder, err));
    for (size_t i = 0; i < sizeof inner / sizeof *inner; i++) {
        char path[1024], file[sizeof path + 8];
        snprintf(path, sizeof path, "%s%s", folder, inner[i]);
        snprintf(file, sizeof file, "%s/a.yaml", path);
        if (access(path, F_OK) == 0) EMP_CHECK(cli_check_output(file, err));
    }
    return EMP_OK;
}

static emp_status save(const emp_calibration *c, const struct args *args, emp_error *err)
{
    bool is_default = strcmp(args->fit.runtime, default_runtime) == 0;
    char command[512];

    snprintf(command, sizeof command, "emplace calibrate fit --machine %s --on %s%s%s",
             args->machine, args->on, is_default ? "" : " --runtime ",
             is_default ? "" : args->fit.runtime);
    return emp_calibration_save(c, args->out, emp_paper_source, command, err);
}

emp_status cmd_calibrate(int argc, char **argv, emp_error *err)
{
    const struct argp argp = {options, parse, "fit\nmeasure", doc, NULL, NULL, NULL};
    cli_bar           bar;
    struct args       args = {
              .fit = {.runtime = default_runtime, .threads = cli_default_threads()}};
    emp_status       st = EMP_OK;
    emp_cell         cells[EMP_MAX_CELLS];
    char             machine[512];
    emp_calibration *c = NULL;

    if (argc > 1 && strcmp(argv[1], "measure") == 0) {
        argv[1] = measure_name; /* getopt's messages begin with it */
        return cmd_calibrate_measure(argc - 1, argv + 1, err);
    }
    cli_parse(&argp, argc, argv, &args);
    EMP_TRY(emp_cells_select(args.on, cells, &args.fit.cell_count, err));
    EMP_TRY(check_out(args.out, err));
    args.fit.cells = cells;
    args.fit.machine = machine_of(args.machine, machine, sizeof machine);
    args.fit.on_progress = cli_bar_on_progress;
    args.fit.context = &bar;
    cli_bar_init(&bar, "fit");
    st = emp_calibration_create(&c, &args.fit, err);
    cli_bar_clear(&bar);
    EMP_TRY(st);
    if (args.out != NULL) EMP_TRY(save(c, &args, err));
    if (args.is_json)
        EMP_TRY(print_json(c, err));
    else
        print_text(c);
    if (!args.is_json && args.out != NULL) {
        printf("\nConstants fitted are below %s. A machine file in %s/machines uses the "
               "models in %s/machines/models.\n",
               args.out, args.out, args.out);
    }

cleanup:
    emp_calibration_destroy(c);
    return st;
}
