// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace record FILE...: what a run found, how it got there, and its placement. */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/io/output.h"
#include "base/text/units.h"
#include "cli/cli.h"
#include "cli/options/inputs.h"
#include "cli/options/placement_input.h"
#include "cli/options/placement_output.h"
#include "cli/options/run_options.h"
#include "cli/report/report.h"
#include "run/methods.h"
#include "sim/engine/sim.h"

enum { SHOWN_POINTS = 20, MAX_FILES = 1024 };

struct args {
    const char      *path[MAX_FILES];
    int32_t          path_count;
    const char      *out; /**< placement file, or NULL */
    bool             is_forced;
    bool             shows_all; /**< the curves of all files */
    emp_sheet_format format;
};

static const struct argp_option options[] = {
    {"out", 'o', "FILE", 0,
     "Write the best placement: as JSON; as FILE.pb or FILE.pbtxt, a copy of the run's "
     "graph file with its devices; as FILE.py, for PyTorch or TensorFlow 1; as FILE.sh, "
     "for llama.cpp. If that form cannot state it, a placement near it, with a warning",
     0},
    {"all", CLI_FLAG(struct args, shows_all), NULL, 0,
     "Print the curves of all FILEs, which may be of several tasks, in one table: the "
     "columns that all methods have, without their own metrics",
     0},
    CLI_FORCE_OPTION(struct args),
    {0},
};

static const char doc[] =
    "Show a run record, or the checkpoint of a run under way, and its learning curve. "
    "Text has at most 20 points of the curve, the other formats all. "
    "From several FILEs of one task it shows the run that found the best placement.\v"
    "  emplace place rnnlm --machine k40x2 --method hdp --record run.h5\n"
    "  emplace record run.h5\n"
    "  emplace record run.h5 --format csv > curve.csv\n"
    "  emplace record run.h5 --out best.json       # its placement\n"
    "  emplace record runs/*.h5 --out best.json    # the best of several runs\n"
    "  emplace record runs/*.h5 --all -f csv > curves.csv\n"
    "  emplace record run.h5 --out placed.pb       # its graph file, with devices";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *args = (struct args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->format; return 0;
    case 'o': args->out = arg; return 0;
    case ARGP_KEY_ARG:
        if (args->path_count == MAX_FILES)
            cli_usage_error("record takes at most %d FILEs", MAX_FILES);
        args->path[args->path_count++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (args->path_count == 0) cli_usage_error("record needs a FILE");
        if (args->shows_all && args->out != NULL)
            cli_usage_error("give one of --all and --out: a file has one placement");
        return 0;
    default: return cli_store(key, arg, args);
    }
}

/* ---- the learning curve ---- */

static const emp_sheet_column columns[] = {
    EMP_COLUMN("workload", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("machine", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("runtime", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("method", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("seed", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("evaluations", "evaluations", EMP_SHEET_COUNT),
    EMP_COLUMN("feasible_count", "fitting", EMP_SHEET_COUNT),
    EMP_COLUMN("best_s", "best s", EMP_SHEET_REAL, .digits = 4, .width = 7,
               .precision = 9),
    EMP_COLUMN("mean_s", "mean s", EMP_SHEET_REAL, .digits = 4, .width = 7,
               .precision = 9)};
enum { COLUMNS = sizeof columns / sizeof *columns, CONTINUED_COLUMNS = COLUMNS - 3 };
enum { LINE = 80, FIRST_WIDTH = 38, CONTINUED_WIDTH = 11, NUMBER_WIDTH = 10 };

static emp_value value_of(double value) { return EMP_V(isfinite(value) ? value : NAN); }

/* Metrics of a record in a table for people, which is 80 characters wide. */
typedef struct {
    int32_t first, end;
} metric_range;

/* The columns that all methods have. */
static void fill_line(emp_value *line, const emp_record *r, const emp_curve_point *p)
{
    const emp_value begin[COLUMNS] = {
        EMP_V(r->workload),       EMP_V(r->machine),   EMP_V(r->runtime),
        EMP_V(r->method),         EMP_V(r->seed),      EMP_V(p->evaluations),
        EMP_V(p->feasible_count), value_of(p->best_s), value_of(p->mean_s)};

    memcpy(line, begin, sizeof begin);
}

/* A table has the points at most, and the metrics of the range; one that goes on with further metrics has
 * only the number of evaluations besides. */
static void tabulate(emp_sheet *s, const emp_record *r, int32_t most, metric_range shown)
{
    int32_t   step = most > 0 ? (r->point_count + most - 1) / most : 1;
    emp_value line[EMP_SHEET_COLUMNS];

    emp_sheet_init(s, columns, shown.first == 0 ? COLUMNS : CONTINUED_COLUMNS);
    const int32_t before = s->column_count;
    s->version = r->version;
    s->commit = r->commit;
    s->is_dirty = r->is_dirty;
    s->is_bare = true;
    s->rows = "curve";
    for (int32_t m = shown.first; m < shown.end; m++) {
        emp_sheet_add_column(
            s, (emp_sheet_column)EMP_COLUMN(r->metric_name[m], r->metric_name[m],
                                            EMP_SHEET_REAL, .digits = 4, .precision = 9));
    }
    for (int32_t i = 0; i < r->point_count; i++) {
        if ((i + 1) % step != 0 && i + 1 != r->point_count) continue;
        fill_line(line, r, &r->curve[i]);
        for (int32_t m = shown.first; m < shown.end; m++)
            line[before + m - shown.first] = value_of(r->metric[i * r->metric_count + m]);
        emp_sheet_add(s, line, (size_t)s->column_count);
    }
}

static json_t *json_facts(const emp_record *r)
{
    char code[17] = "";

    if (r->method_hash != 0) snprintf(code, sizeof code, "%016" PRIx64, r->method_hash);
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:f, s:f}", "method", r->method,
        "method_hash", code, "preset", r->preset, "options", r->options, "workload",
        r->workload, "machine", r->machine, "runtime", r->runtime, "seed",
        (json_int_t)r->seed, "budget_evaluations", (json_int_t)r->budget_evaluations,
        "budget_s", r->budget_s, "budget_cpu_s", r->budget_cpu_s);
    json_t *result = json_pack(
        "{s:s, s:i, s:b, s:s, s:s, s:I, s:I, s:o, s:b, s:o}", "overrides",
        r->overrides[0] != '\0' ? r->overrides + 1 : "", "ranks",
        r->ranks > 1 ? r->ranks : 1, "async", r->is_async, "decides",
        emp_record_decides(r), "stopped_by", r->stopped_by, "evaluations",
        (json_int_t)r->evaluations, "feasible_count", (json_int_t)r->feasible_count,
        "step_time_s", cli_json_number(r->evaluations > 0 ? r->best_step_time_s : NAN),
        "feasible", r->is_feasible, "median_s", cli_json_number(r->median_s));

    json_object_update(object, result);
    json_decref(result);
    cli_add_winner(object, r);
    return object;
}

/* Prints parts of a sentence with commas between them, and breaks lines before the 80th character. */
static void print_parts(const char *const *part, int32_t count)
{
    size_t width = 0;

    for (int32_t i = 0; i < count; i++) {
        const size_t length = strlen(part[i]) + 1;
        if (width > 0 && width + 1 + length > LINE) {
            printf("\n");
            width = 0;
        }
        printf("%s%s%s",
               width > 0 ? " "
               : i > 0   ? "  "
                         : "",
               part[i], i + 1 < count ? "," : "\n");
        width += length + (width > 0 ? 1 : i > 0 ? 2 : 0);
    }
}

static void print_origin(const emp_record *r)
{
    char task[2 * EMP_RECORD_TEXT_BYTES], runtime[EMP_RECORD_TEXT_BYTES],
        method[2 * EMP_RECORD_TEXT_BYTES], seed[40], program[160];

    snprintf(task, sizeof task, "%s on %s", r->workload, r->machine);
    snprintf(runtime, sizeof runtime, "runtime %s", r->runtime);
    snprintf(method, sizeof method, "by %s%s%s", r->method,
             r->preset[0] == '\0' ? "" : " ", r->preset);
    snprintf(seed, sizeof seed, "seed %" PRIu64, r->seed);
    snprintf(program, sizeof program, "emplace %s (commit %.12s%s)", r->version,
             r->commit, r->is_dirty ? ", modified" : "");
    print_parts((const char *const[]){task, runtime, method, seed, program}, 5);
}

/* Prints the lines above the curve; false when there is none. */
static bool print_head(const emp_record *r)
{
    const char *winner = emp_record_winner(r);
    const bool  is_under_way = r->stopped_by[0] == '\0';
    char        best[EMP_UNITS_TEXT_BYTES];

    print_origin(r);
    if (r->overrides[0] != '\0') printf("with%s\n", r->overrides);
    if (r->has_fusion)
        printf("devices%s and fusion are decided\n", r->has_order ? ", order" : "");
    else if (r->has_order)
        printf("devices and order are decided\n");
    if (r->ranks > 1)
        printf("shared by %d ranks%s\n", r->ranks,
               r->is_async ? ", asynchronous: another run of this kind differs" : "");
    if (r->evaluations == 0) {
        printf("nothing evaluated yet\n");
        return false;
    }
    printf("%" PRId64 " evaluation%s, %" PRId64 " fit in memory; best %s%s%s%s; %s%s\n\n",
           r->evaluations, emp_units_plural(r->evaluations), r->feasible_count,
           emp_units_format_seconds(r->best_step_time_s, best, sizeof best),
           r->is_feasible ? "" : ", which does not fit",
           winner != NULL ? ", won by " : "", winner != NULL ? winner : "",
           is_under_way ? "under way" : "ended by ", r->stopped_by);
    return true;
}

/* The metrics from \a first on that fit in a line. */
static metric_range fit_metrics(const emp_record *r, int32_t first)
{
    size_t  width = first == 0 ? FIRST_WIDTH : CONTINUED_WIDTH;
    int32_t end = first;

    for (; end < r->metric_count; end++) {
        size_t own = strlen(r->metric_name[end]);
        width += 2 + (own > NUMBER_WIDTH ? own : NUMBER_WIDTH);
        if (width > LINE && (end > first || first == 0)) break;
    }
    return (metric_range){first, end};
}

/* A table, and others below it for the metrics that did not fit. */
static emp_status print_for_people(const emp_record *r, emp_error *err)
{
    metric_range shown = {0, 0};

    do {
        emp_sheet s;
        shown = fit_metrics(r, shown.end);
        tabulate(&s, r, SHOWN_POINTS, shown);
        EMP_CHECK(cli_print_sheet(&s, EMP_SHEET_TEXT, err));
    } while (shown.end < r->metric_count);
    return EMP_OK;
}

/* \param path  Put before the title of Markdown; NULL: it is not said. */
static emp_status print(const emp_record *r, const char *path, const struct args *args,
                        emp_error *err)
{
    emp_sheet_format format = args->format;
    emp_sheet        s;
    char             command[EMP_RECORD_COMMAND_BYTES];

    if (format == EMP_SHEET_TEXT)
        return print_head(r) ? print_for_people(r, err) : EMP_OK;
    tabulate(&s, r, r->point_count, (metric_range){0, r->metric_count});
    emp_record_command(command, r);
    s.command = command;
    if (format == EMP_SHEET_JSON) emp_sheet_set_facts(&s, json_facts(r));
    if (format == EMP_SHEET_MD)
        emp_sheet_set_title(&s, "%s%s%s on %s, runtime %s%s, by %s, seed %" PRIu64,
                            path != NULL ? path : "", path != NULL ? ": " : "",
                            r->workload, r->machine, r->runtime, r->overrides, r->method,
                            r->seed);
    return cli_print_sheet(&s, format, err);
}

/* ---- all of several ---- */

static void add_curve(emp_sheet *s, const emp_record *r, const char *path)
{
    emp_value line[COLUMNS + 1];

    line[COLUMNS] = EMP_V(path);
    for (int32_t i = 0; i < r->point_count; i++) {
        fill_line(line, r, &r->curve[i]);
        emp_sheet_add(s, line, COLUMNS + 1);
    }
}

/* People get a table a file; the other forms are one table, with the file of each line. */
static emp_status print_all(const struct args *args, emp_error *err)
{
    emp_status st = EMP_OK;
    const bool is_for_people = cli_format_is_for_people(args->format);
    emp_record r = {0};
    emp_sheet  s;

    EMP_SHEET_INIT(&s, columns);
    s.rows = "curve";
    emp_sheet_add_column(&s, (emp_sheet_column)EMP_COLUMN("file", NULL, EMP_SHEET_WORD));
    for (int32_t i = 0; i < args->path_count; i++) {
        EMP_TRY(emp_record_load(&r, args->path[i], err));
        if (is_for_people) {
            printf("%s", i > 0 ? "\n" : "");
            if (args->format == EMP_SHEET_TEXT) printf("%s: ", args->path[i]);
            EMP_TRY(print(&r, args->path[i], args, err));
        } else {
            add_curve(&s, &r, args->path[i]);
        }
        emp_record_clear(&r);
    }
    if (!is_for_people) return cli_print_sheet(&s, args->format, err);

cleanup:
    emp_record_clear(&r);
    emp_sheet_clear(&s);
    return st;
}

/* ---- the best of several ---- */

static bool is_better(const emp_record *a, const emp_record *b)
{
    const emp_score x = {.step_time_s = a->best_step_time_s,
                         .is_feasible = a->is_feasible};
    const emp_score y = {.step_time_s = b->best_step_time_s,
                         .is_feasible = b->is_feasible};

    if (a->evaluations == 0 || b->evaluations == 0) return a->evaluations > 0;
    return emp_score_is_better(&x, &y);
}

static emp_status check_same_task(const emp_record *a, const char *path,
                                  const emp_record *b, const char *other, emp_error *err)
{
    if (a->graph_hash == b->graph_hash && a->machine_hash == b->machine_hash &&
        a->runtime_hash == b->runtime_hash && strcmp(a->overrides, b->overrides) == 0)
        return EMP_OK;
    return EMP_ERROR(
        EMP_EINVAL,
        "%s is of %s on %s, runtime %s%s, %s of %s on %s, runtime %s%s; name "
        "records of one task",
        path, a->workload, a->machine, a->runtime, a->overrides, other, b->workload,
        b->machine, b->runtime, b->overrides);
}

/* Leaves the best record in \a best, the first of equals, and its file in \a path. */
static emp_status load_best(emp_record *best, const char **path, const struct args *args,
                            emp_error *err)
{
    emp_status st = EMP_OK;
    emp_record other = {0};

    *path = args->path[0];
    EMP_TRY(emp_record_load(best, *path, err));
    for (int32_t i = 1; i < args->path_count; i++) {
        EMP_TRY(emp_record_load(&other, args->path[i], err));
        EMP_TRY(check_same_task(best, *path, &other, args->path[i], err));
        if (is_better(&other, best)) {
            emp_record worse = *best;
            *best = other;
            other = worse;
            *path = args->path[i];
        }
        emp_record_clear(&other);
    }

cleanup:
    emp_record_clear(&other);
    return st;
}

/* ---- its placement ---- */

static emp_named_placement name_placement(const emp_record *r, const emp_op_names *names)
{
    emp_named_placement p = {.origin = emp_record_origin(r),
                             .device_count = r->device_count,
                             .op_count = r->decision.op_count,
                             .op_name = names->name,
                             .decision = emp_decision_view(&r->decision)};

    for (int32_t d = 0; d < r->device_count; d++) p.device_name[d] = r->device_name[d];
    return p;
}

/* The machine of the record, for what its hosts have. */
static emp_status load_machine(emp_machine **machine, const emp_record *r,
                               const char *path, emp_error *err)
{
    EMP_CHECK(emp_machine_load(machine, r->machine, err));
    if ((*machine)->device_count == r->device_count) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL,
                     "%s is of a machine %s with %d devices, which now has %d", path,
                     r->machine, r->device_count, (*machine)->device_count);
}

/* Warns of what a placement near the best one costs, as the run's search has not seen it. */
static void warn_of_near(const struct args *args, const emp_record *r,
                         const emp_sim_result *near)
{
    char before[EMP_UNITS_TEXT_BYTES], now[EMP_UNITS_TEXT_BYTES];

    cli_warn("%s has a placement near the best one, which its form cannot state: %s a "
             "step%s, and the best one %s%s; emplace place --out searches for placements "
             "of that form",
             args->out,
             emp_units_format_seconds((double)near->step_time_ns * 1e-9, now, sizeof now),
             near->is_feasible ? "" : " (it does not fit in memory)",
             emp_units_format_seconds(r->best_step_time_s, before, sizeof before),
             r->is_feasible ? "" : " (it does not fit in memory)");
}

/* Moves the placement to the nearest one of the form, and writes that. */
static emp_status write_near(const struct args *args, const emp_record *r,
                             const char *path, emp_error *err)
{
    emp_status         st = EMP_OK;
    cli_inputs         inputs = {.form = cli_form_of(args->out, r->workload)};
    emp_owned_decision decision = {0};
    emp_sim           *sim = NULL;
    emp_sim_result     near;

    EMP_TRY(cli_inputs_load(&inputs, r->workload, r->machine, r->runtime, err));
    EMP_TRY(cli_decision_load(&decision, path, inputs.problem, err));
    EMP_TRY(emp_sim_create(&sim, inputs.problem, err));
    EMP_TRY(emp_sim_run(sim, decision.device_of_op, &near, err));
    const emp_decision  view = {.device_of_op = decision.device_of_op};
    emp_named_placement p = emp_placement_name(inputs.problem, &view, NAN);
    p.origin = emp_record_origin(r);
    EMP_TRY(cli_placement_output_write(args->out, &p, r->workload,
                                       inputs.problem->machine, err));
    warn_of_near(args, r, &near);

cleanup:
    emp_sim_destroy(sim);
    emp_decision_clear(&decision);
    cli_inputs_clear(&inputs);
    return st;
}

/* A run that was searched without the form can have a placement that the form cannot state. */
static emp_status write_in_form(const struct args *args, const emp_record *r,
                                const char *path, const emp_named_placement *p,
                                const emp_machine *machine, emp_error *err)
{
    emp_error        why = {0}, missing = {0};
    const emp_status st =
        cli_placement_output_write(args->out, p, r->workload, machine, &why);

    if (st == EMP_OK) return EMP_OK;
    if (st != EMP_EINVAL || cli_form_of(args->out, r->workload) < CLI_FORM_DEVICE_MAP)
        return EMP_ERROR(st, "%s", why.msg);
    if (write_near(args, r, path, &missing) == EMP_OK) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL,
                     "%s; a placement near by cannot be found, as %s; emplace place "
                     "--out %s searches for placements of that form",
                     why.msg, missing.msg, args->out);
}

static emp_status write_placement(const struct args *args, const emp_record *r,
                                  const char *path, emp_error *err)
{
    emp_status   st = EMP_OK;
    emp_op_names names = {0};
    emp_machine *machine = NULL;
    const char  *graph = r->workload;

    if (args->out == NULL) return EMP_OK;
    if (r->evaluations == 0)
        return EMP_ERROR(EMP_EINVAL, "%s has no placement: nothing was evaluated yet",
                         path);
    if (!args->is_forced) EMP_CHECK(cli_check_placement_kept(args->out, r, err));
    EMP_TRY(cli_placement_output_check(args->out, r->workload, err));
    EMP_TRY(emp_output_check_inputs(&graph, 1, &args->out, 1, err));
    EMP_TRY(emp_record_load_names(&names, path, err));
    const emp_named_placement placement = name_placement(r, &names);
    EMP_TRY(cli_placement_output_check_ops(args->out, &placement, r->workload, err));
    if (cli_placement_output_needs_machine(args->out, &placement))
        EMP_TRY(load_machine(&machine, r, path, err));
    EMP_TRY(write_in_form(args, r, path, &placement, machine, err));
    if (cli_form_of(args->out, r->workload) != CLI_FORM_ANY &&
        (r->has_order || r->has_fusion))
        cli_warn("%s states devices, and leaves out the %s that the run has decided",
                 args->out,
                 r->has_order && r->has_fusion ? "order and the fusion"
                 : r->has_order                ? "order"
                                               : "fusion");

cleanup:
    emp_machine_destroy(machine);
    emp_op_names_clear(&names);
    return st;
}

static void tell_best(const struct args *args, const char *path)
{
    if (args->format == EMP_SHEET_TEXT && args->path_count > 1)
        printf("the best of %d runs: %s\n", args->path_count, path);
}

static const struct argp_child children[] = {{&cli_format_argp, 0, NULL, 0}, {0}};
const struct argp              cmd_record_argp = {options,  parse, "FILE...", doc,
                                                  children, NULL,  NULL};

emp_status cmd_record(int argc, char **argv, emp_error *err)
{
    emp_status  st = EMP_OK;
    struct args args = {0};
    emp_record  record = {0};
    const char *path = NULL;

    cli_parse(&cmd_record_argp, argc, argv, &args);
    EMP_TRY(emp_output_check(args.out, err));
    EMP_TRY(emp_output_check_inputs(args.path, args.path_count, &args.out, 1, err));
    if (args.shows_all) {
        EMP_TRY(print_all(&args, err));
        goto cleanup;
    }
    EMP_TRY(load_best(&record, &path, &args, err));
    EMP_TRY(write_placement(&args, &record, path, err));
    tell_best(&args, path);
    EMP_TRY(print(&record, NULL, &args, err));

cleanup:
    emp_record_clear(&record);
    return st;
}
