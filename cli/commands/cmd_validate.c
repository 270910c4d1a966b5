// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace validate: what the simulator predicts beside what replay measures, on many
 * placements of several workloads. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/io/atomic_file.h"
#include "base/io/folder.h"
#include "base/mem.h"
#include "bench/plots/gnuplot.h"
#include "bench/validate/diverse.h"
#include "bench/validate/validate.h"
#include "bench/validate/validation_file.h"
#include "cli/cli.h"
#include "cli/options/inputs.h"
#include "cli/options/placement_input.h"
#include "cli/options/replay_options.h"
#include "cli/options/replay_runner.h"
#include "cli/progress.h"
#include "replay/planner/plan_from_problem.h"
#include "run/sheet/manifest.h"

enum {
    KEY_WORKLOADS = 512,
    KEY_PLACEMENTS,
    KEY_SEED,
    KEY_GPUS,
    KEY_EXPORT,
    KEY_IMPORT,
    KEY_CSV,
    KEY_PLOT,
    KEY_RECORD,
    MOST_WORKLOADS = EMP_VALIDATION_PARTS,
    MOST_PLACEMENTS = 1000,
    MOST_IMPORTS = MOST_WORKLOADS * MOST_PLACEMENTS,
    SHOWN_TYPES = 12
};

/* Small variants of the six workloads, steps of a fraction of a second on a core. */
static const char *const small[] = {
    "rnnlm:layers=2,units=512,batch=32,steps=10,vocab=10000,sampled=1024",
    "nmt:layers=2,units=256,batch=32,steps=10,vocab=8000",
    "nmt:layers=4,units=256,batch=32,steps=10,vocab=8000",
    "nmt:layers=8,units=256,batch=16,steps=10,vocab=8000",
    "inception_v3:batch=2",
    "resnet:depth=50,batch=2"};
enum { SMALL = sizeof small / sizeof *small };

/* Placements that methods make, before those that are dealt. */
static const char *const methods[] = {"gpu",   "cpu",    "expert",
                                      "metis", "scotch", "mincut"};
enum { METHODS = sizeof methods / sizeof *methods, BASE_METHOD = 2 };

struct args {
    const char        *workload[MOST_WORKLOADS];
    int32_t            workload_count;
    char               list[MOST_WORKLOADS][256];
    const char        *machine, *runtime, *export_to, *plot, *record;
    const char       **import;
    int32_t            import_count, placements;
    uint64_t           seed;
    cli_replay_options replay;
    bool               is_import, is_json, is_csv;
};

static const struct argp_option options[] = {
    {"workloads", KEY_WORKLOADS, "LIST", 0,
     "Specs or graph files parted by blanks, or \"small\": small variants of the six "
     "(default)",
     0},
    {"machine", 'm', "NAME|FILE", 0, "As calibrated (default cpu2)", 0},
    {"runtime", 'r', "NAME|FILE", 0,
     "As calibrated (default replay-cpu, of cuda tf-r1.3)", 0},
    {"backend", 'B', "cpu|cuda", 0, "What stands for the machine's GPUs (default cpu)",
     0},
    {"placements", KEY_PLACEMENTS, "N", 0, "Of each workload (default 30)", 0},
    {"seed", KEY_SEED, "S", 0, "Of the placements that are dealt (default 1)", 0},
    {"gpus", KEY_GPUS, "MAP", 0, "As of emplace replay", 0},
    {"export", KEY_EXPORT, "DIR", 0,
     "Write plans for emplace-replay into this folder, and measure nothing", 0},
    {"import", KEY_IMPORT, NULL, 0,
     "Take the results of such plans, RESULT..., in place of measuring", 0},
    {"plot", KEY_PLOT, "FILE.svg", 0, "Draw predicted against measured (gnuplot)", 0},
    {"record", KEY_RECORD, "FILE.h5", 0, "Save what was found (HDF5)", 0},
    {"json", 'j', NULL, 0, "Print a JSON object", 0},
    {"csv", KEY_CSV, NULL, 0, "Print CSV, a line a placement and device", 0},
    {0},
};

static const char doc[] =
    "Predict and measure the step time, busy time and peak memory of many placements, "
    "and "
    "say how far the two are apart.\v"
    "Placements are those of methods (gpu, cpu, expert, metis, scotch, mincut), then "
    "chunks and blocks of the order of ops, parts that METIS cuts, and mixtures. Steps "
    "in "
    "which two busy devices share cores count for memory alone. No benchmark of emplace "
    "calibrate measure is one of the workloads.\n\n"
    "  emplace validate -m mine.yaml -r mine-runtime.yaml --plot mine.svg\n"
    "  emplace validate -m mine.yaml -r mine-runtime.yaml --record mine.h5\n"
    "  emplace validate --workloads \"resnet:depth=50,batch=2 nmt:units=128\" --csv\n"
    "  emplace validate --machine k40x2 --backend cuda --export plans\n"
    "  emplace validate --machine k40x2 --backend cuda --import results/*";

static void add_workloads(struct args *a, const char *list)
{
    if (strcmp(list, "small") == 0) {
        if (a->workload_count + SMALL > MOST_WORKLOADS)
            cli_usage_error("more than %d workloads", MOST_WORKLOADS);
        for (int32_t i = 0; i < SMALL; i++) a->workload[a->workload_count++] = small[i];
        return;
    }
    for (const char *at = list; *(at += strspn(at, " ")) != '\0';) {
        size_t length = strcspn(at, " ");
        if (a->workload_count == MOST_WORKLOADS)
            cli_usage_error("more than %d workloads", MOST_WORKLOADS);
        if (length >= sizeof a->list[0])
            cli_usage_error("a workload of %zu characters; at most %zu", length,
                            sizeof a->list[0] - 1);
        char *copy = a->list[a->workload_count];
        memcpy(copy, at, length);
        a->workload[a->workload_count++] = copy;
        at += length;
    }
}

static void end_of_options(struct args *a)
{
    if (a->workload_count == 0) add_workloads(a, "small");
    if (a->import_count > 0 && !a->is_import)
        cli_usage_error("unexpected \"%s\"; results follow --import", a->import[0]);
    if (a->is_import && a->import_count == 0)
        cli_usage_error("--import needs results of emplace-replay");
    if (a->is_import && a->export_to != NULL)
        cli_usage_error("--import or --export, not both");
    if (a->is_json && a->is_csv) cli_usage_error("--json or --csv, not both");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *a = (struct args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->replay; return 0;
    case KEY_WORKLOADS: add_workloads(a, arg); return 0;
    case 'm': a->machine = arg; return 0;
    case 'r': a->runtime = arg; return 0;
    case 'B': a->replay.backend = arg; return 0;
    case KEY_PLACEMENTS:
        a->placements = (int32_t)cli_integer("placements", arg, 1, MOST_PLACEMENTS);
        return 0;
    case KEY_SEED: a->seed = (uint64_t)cli_integer("seed", arg, 0, INT64_MAX); return 0;
    case KEY_GPUS: a->replay.gpus = arg; return 0;
    case KEY_EXPORT: a->export_to = arg; return 0;
    case KEY_IMPORT: a->is_import = true; return 0;
    case KEY_PLOT: a->plot = arg; return 0;
    case KEY_RECORD: a->record = arg; return 0;
    case 'j': a->is_json = true; return 0;
    case KEY_CSV: a->is_csv = true; return 0;
    case ARGP_KEY_ARG:
        if (a->import_count == MOST_IMPORTS)
            cli_usage_error("more than %d results", MOST_IMPORTS);
        a->import[a->import_count++] = arg;
        return 0;
    case ARGP_KEY_END: end_of_options(a); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* ---- measuring --------------------------------------------------------------------- */

/* One workload and what was found. */
struct part {
    const char            *spec;
    emp_validation_case   *cases; /* [args->placements] */
    int32_t                count;
    emp_validation_summary summary;
    emp_validation_types   types;
    int32_t                missing; /* placements with no result, or not reached */
};

struct validation {
    const struct args *args;
    struct part        part[MOST_WORKLOADS];
    emp_replay_result *imported; /* [args->import_count] */
    cli_bar            bar;
    int32_t            done;
    bool               is_uncalibrated; /* the machine: see cli_is_uncalibrated() */
};

static void tell(struct validation *v, const char *spec, const char *placement)
{
    char text[160];

    snprintf(text, sizeof text, "%.*s, %s", (int)strcspn(spec, ":"), spec, placement);
    cli_bar_draw_share(
        &v->bar, (double)v->done++ / (v->args->placements * v->args->workload_count),
        text);
}

static const emp_replay_result *find_imported(const struct validation *v,
                                              const emp_replay_plan   *plan)
{
    uint64_t hash = emp_replay_plan_hash(plan);

    for (int32_t i = 0; i < v->args->import_count; i++)
        if (v->imported[i].plan_hash == hash) return &v->imported[i];
    return NULL;
}

static emp_status export_plan(const struct validation *v, const struct part *part,
                              const emp_replay_plan *plan, int32_t index, emp_error *err)
{
    char path[1024];

    snprintf(path, sizeof path, "%s/%d-%.*s-%03d.txt", v->args->export_to,
             (int)(part - v->part), (int)strcspn(part->spec, ":/"), part->spec, index);
    return emp_replay_plan_save(path, plan, err);
}

/* Predicts and measures one placement. */
static emp_status run_placement(struct validation *v, struct part *part, const char *name,
                                int32_t index, emp_sim *sim, const emp_problem *problem,
                                const emp_device_id *device_of_op, emp_error *err)
{
    emp_status               st = EMP_OK;
    emp_sim_result           predicted;
    emp_replay_plan         *plan = NULL;
    emp_replay_result        result = {0};
    const emp_replay_result *measured = &result;

    tell(v, part->spec, name);
    EMP_TRY(emp_sim_run(sim, device_of_op, &predicted, err));
    EMP_TRY(emp_replay_plan_from_problem(&plan, problem, device_of_op, err));
    snprintf(plan->origin.placement, sizeof plan->origin.placement, "%s", name);
    if (predicted.is_feasible)
        plan->origin.predicted_s = (double)predicted.step_time_ns * 1e-9;
    if (v->args->export_to != NULL) {
        EMP_TRY(export_plan(v, part, plan, index, err));
        goto cleanup;
    }
    if (v->args->is_import)
        measured = find_imported(v, plan);
    else
        EMP_TRY(cli_replay_run(&result, plan, &v->args->replay, NULL, err));
    if (measured == NULL) goto cleanup;
    emp_validation_case_set(&part->cases[part->count++], name, &predicted, measured);
    if (measured->is_feasible)
        EMP_TRY(
            emp_validation_add_ops(&part->types, problem, device_of_op, measured, err));

cleanup:
    emp_replay_result_clear(&result);
    emp_replay_plan_destroy(plan);
    return st;
}

static emp_status run_placements(struct validation *v, struct part *part, emp_sim *sim,
                                 const emp_problem *problem, emp_device_id *device_of_op,
                                 emp_device_id *base, emp_error *err)
{
    char name[EMP_DIVERSE_NAME_BYTES];

    EMP_CHECK(
        cli_placement_by_method(base, NULL, methods[BASE_METHOD], NULL, problem, err));
    for (int32_t i = 0; i < v->args->placements; i++) {
        if (i < METHODS) {
            snprintf(name, sizeof name, "%s", methods[i]);
            EMP_CHECK(cli_placement_by_method(device_of_op, NULL, methods[i], NULL,
                                              problem, err));
        } else
            EMP_CHECK(emp_diverse_placement(device_of_op, name, problem, base,
                                            i - METHODS, v->args->seed, err));
        EMP_CHECK(run_placement(v, part, name, i, sim, problem, device_of_op, err));
    }
    return EMP_OK;
}

static emp_status run_part(struct validation *v, struct part *part, emp_error *err)
{
    emp_status         st = EMP_OK;
    const struct args *a = v->args;
    cli_inputs         inputs = {0};
    emp_sim           *sim = NULL;
    emp_device_id     *device_of_op = NULL, *base = NULL;

    EMP_TRY(cli_inputs_load(&inputs, part->spec, a->machine, a->runtime, err));
    v->is_uncalibrated = cli_is_uncalibrated(inputs.machine, a->replay.backend);
    EMP_TRY(emp_sim_create(&sim, inputs.problem, err));
    size_t ops = (size_t)inputs.problem->graph->op_count;
    EMP_TRY(EMP_ALLOC(part->cases, (size_t)a->placements));
    EMP_TRY(EMP_ALLOC(device_of_op, ops));
    EMP_TRY(EMP_ALLOC(base, ops));
    EMP_TRY(run_placements(v, part, sim, inputs.problem, device_of_op, base, err));

cleanup:
    emp_free(device_of_op);
    emp_free(base);
    emp_sim_destroy(sim);
    cli_inputs_clear(&inputs);
    return st;
}

/* ---- what is printed --------------------------------------------------------------- */

/* A line a placement and device. */
static const emp_sheet_column case_columns[] = {
    EMP_COLUMN("workload", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("placement", "placement", EMP_SHEET_WORD, EMP_SHEET_ROW, .width = 20),
    EMP_COLUMN(NULL, "", EMP_SHEET_WORD, EMP_SHEET_ACROSS),
    EMP_COLUMN("device", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("predicted_feasible", NULL, EMP_SHEET_FLAG, EMP_SHEET_ROW),
    EMP_COLUMN("feasible", NULL, EMP_SHEET_FLAG, EMP_SHEET_ROW),
    EMP_COLUMN("shared", NULL, EMP_SHEET_FLAG, EMP_SHEET_ROW),
    EMP_COLUMN("predicted_s", NULL, EMP_SHEET_REAL, EMP_SHEET_ROW, .precision = 9),
    EMP_COLUMN("measured_s", NULL, EMP_SHEET_REAL, EMP_SHEET_ROW, .precision = 9,
               .low = "low_s", .high = "high_s"),
    EMP_COLUMN(NULL, "predicted", EMP_SHEET_SECONDS, EMP_SHEET_ROW),
    EMP_COLUMN(NULL, "measured", EMP_SHEET_SECONDS, EMP_SHEET_ROW),
    EMP_COLUMN(NULL, "off", EMP_SHEET_SHARE, EMP_SHEET_ROW, .form = "%+.1f%%"),
    EMP_COLUMN(NULL, "predicted", EMP_SHEET_SECONDS),
    EMP_COLUMN(NULL, "busy", EMP_SHEET_SECONDS),
    EMP_COLUMN("predicted_busy_s", NULL, EMP_SHEET_REAL, .precision = 9),
    EMP_COLUMN("busy_s", NULL, EMP_SHEET_REAL, .precision = 9),
    EMP_COLUMN("predicted_peak_bytes", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("peak_bytes", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN(NULL, "", EMP_SHEET_WORD, EMP_SHEET_END, .is_optional = true)};

static const emp_sheet_column type_columns[] = {
    EMP_COLUMN("type", "ops that take longest", EMP_SHEET_WORD, .width = 32),
    EMP_COLUMN("count", "count", EMP_SHEET_COUNT),
    EMP_COLUMN("predicted_s", "predicted", EMP_SHEET_SECONDS),
    EMP_COLUMN("measured_s", "measured", EMP_SHEET_SECONDS),
    EMP_COLUMN(NULL, "off", EMP_SHEET_SHARE, .form = "%+.1f%%")};

/* What people are told of a case beside its times. */
static const char *remark_on(const emp_validation_case *c)
{
    if (c->is_feasible && c->is_predicted_feasible)
        return c->is_shared ? "on shared cores" : NULL;
    if (c->is_predicted_feasible) return "predicted to fit, does not fit";
    return c->is_feasible ? "predicted to not fit, fits"
                          : "predicted to not fit, does not fit";
}

static void add_case(emp_sheet *s, const char *workload, const emp_validation_case *c)
{
    bool is_timed = c->is_feasible && c->is_predicted_feasible;
    char device[32];

    for (int32_t d = 0; d < c->device_count; d++) {
        snprintf(device, sizeof device, "device %d", d);
        EMP_SHEET_ADD(
            s, EMP_V(workload), EMP_V(c->name), EMP_V(device), EMP_V(d),
            EMP_V(c->is_predicted_feasible), EMP_V(c->is_feasible), EMP_V(c->is_shared),
            EMP_V(c->predicted_s), emp_value_range(c->measured_s, c->low_s, c->high_s),
            emp_value_if(is_timed, EMP_V(c->predicted_s)),
            emp_value_if(is_timed, EMP_V(c->measured_s)),
            emp_value_if(is_timed, EMP_V(c->predicted_s / c->measured_s - 1.0)),
            emp_value_if(is_timed, EMP_V(c->predicted_busy_s[d])),
            emp_value_if(is_timed, EMP_V(c->busy_s[d])), EMP_V(c->predicted_busy_s[d]),
            EMP_V(c->busy_s[d]), EMP_V(c->predicted_peak_bytes[d]),
            EMP_V(c->peak_bytes[d]), EMP_V(remark_on(c)));
    }
}

static void tabulate_types(emp_sheet *s, const emp_validation_types *types, int32_t most)
{
    EMP_SHEET_INIT(s, type_columns);
    for (int32_t i = 0; i < types->count && i < most; i++) {
        const emp_validation_type *t = &types->type[i];
        EMP_SHEET_ADD(s, EMP_V(t->type), EMP_V(t->count), EMP_V(t->predicted_s),
                      EMP_V(t->measured_s), EMP_V(t->predicted_s / t->measured_s - 1.0));
    }
}

static void add_notes(emp_sheet *sheet, const struct part *p)
{
    const emp_validation_summary *s = &p->summary;

    if (p->count > 0) {
        emp_sheet_note(
            sheet,
            "step time: mean |error| %.1f %%, bias %+.1f %%, worst %+.1f %% of "
            "%d; Spearman %.3f, Kendall %.3f; %d of %d pairs that are more than "
            "%.0f %% apart are in order",
            100.0 * s->mean_abs_error_frac, 100.0 * s->bias_frac,
            100.0 * s->worst_error_frac, s->timed_count, s->spearman, s->kendall,
            s->apart_in_order, s->apart_count, 100.0 * EMP_VALIDATION_APART);
        emp_sheet_note(sheet, "busy time: mean |error| %.1f %%",
                       100.0 * s->busy_error_frac);
        emp_sheet_note(sheet, "peak memory: mean |error| %.1f %%, worst %+.1f %%",
                       100.0 * s->peak_error_frac, 100.0 * s->worst_peak_error_frac);
        emp_sheet_note(
            sheet,
            "verdicts: %d fit and %d not, as predicted; %d did not fit, %d did, "
            "against the prediction",
            s->both_fit, s->both_oom, s->missed_oom, s->false_oom);
    }
    if (s->shared_count > 0)
        emp_sheet_note(sheet,
                       "%d placements kept two devices busy on the same cores or GPU; "
                       "errors of time are those of the others",
                       s->shared_count);
    if (p->missing > 0) emp_sheet_note(sheet, "%d placements have no result", p->missing);
}

static json_t *json_facts(const struct part *p)
{
    const emp_validation_summary *s = &p->summary;
    emp_sheet                     types;

    tabulate_types(&types, &p->types, p->types.count);
    json_t *facts = json_pack(
        "{s:s, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:o, s:o, s:o, s:i, s:i, "
        "s:i, s:i, s:i, s:o}",
        "workload", p->spec, "timed", s->timed_count, "shared", s->shared_count,
        "mean_abs_error", cli_json_number(s->mean_abs_error_frac), "bias",
        cli_json_number(s->bias_frac), "worst_error",
        cli_json_number(s->worst_error_frac), "spearman", cli_json_number(s->spearman),
        "kendall", cli_json_number(s->kendall), "pairs_apart", s->apart_count,
        "pairs_apart_in_order", s->apart_in_order, "busy_error",
        cli_json_number(s->busy_error_frac), "peak_error",
        cli_json_number(s->peak_error_frac), "worst_peak_error",
        cli_json_number(s->worst_peak_error_frac), "both_fit", s->both_fit, "both_oom",
        s->both_oom, "missed_oom", s->missed_oom, "false_oom", s->false_oom, "missing",
        p->missing, "op_types", emp_sheet_rows(&types));
    emp_sheet_clear(&types);
    return facts;
}

/* People see what ops take after the placements of each workload. */
static emp_status print(const struct validation *v, emp_error *err)
{
    emp_status         st = EMP_OK;
    const struct args *a = v->args;
    int32_t            count = a->workload_count;
    emp_sheet_format   format = a->is_json  ? EMP_SHEET_JSON
                                : a->is_csv ? EMP_SHEET_CSV
                                            : EMP_SHEET_TEXT;
    emp_sheet *s = EMP_NEW_ARRAY(emp_sheet, 2 * (size_t)count), *types = s + count;

    if (s == NULL) EMP_FAIL(EMP_ENOMEM, "tables of %d workloads", count);
    for (int32_t i = 0; i < count; i++) {
        const struct part *part = &v->part[i];
        EMP_SHEET_INIT(&s[i], case_columns);
        emp_sheet_set_title(&s[i], "%s", part->spec);
        s[i].rows = "placements";
        s[i].cells = "devices";
        for (int32_t k = 0; k < part->count; k++)
            add_case(&s[i], part->spec, &part->cases[k]);
        tabulate_types(&types[i], &part->types, SHOWN_TYPES);
        add_notes(&types[i], part);
        if (a->is_json) emp_sheet_set_facts(&s[i], json_facts(part));
        types[i].next = i + 1 < count ? &s[i + 1] : NULL;
        s[i].next = format == EMP_SHEET_TEXT ? &types[i] : types[i].next;
    }
    s[0].list = "workloads";
    emp_sheet_set_head(&s[0], json_pack("{s:s, s:s, s:s, s:I}", "machine", a->machine,
                                        "runtime", a->runtime, "backend",
                                        a->replay.backend, "seed", (json_int_t)a->seed));
    st = emp_sheet_print(stdout, &s[0], format, err);

cleanup:
    for (int32_t i = 0; s != NULL && i < 2 * count; i++) emp_sheet_clear(&s[i]);
    emp_free(s);
    return st;
}

/* ---- a plot ------------------------------------------------------------------------ */

/* A block of points a workload, which "plot" then names by number. */
static void script_points(FILE *script, const struct validation *v)
{
    for (int32_t i = 0; i < v->args->workload_count; i++) {
        fprintf(script, "$w%d << EOD\n", i);
        for (int32_t k = 0; k < v->part[i].count; k++) {
            const emp_validation_case *c = &v->part[i].cases[k];
            if (!c->is_feasible || !c->is_predicted_feasible) continue;
            fprintf(script, "%.9g %.9g\n", c->measured_s, c->predicted_s);
        }
        fprintf(script, "EOD\n");
    }
}

static void write_script(FILE *script, const void *what)
{
    const struct validation *v = (const struct validation *)what;

    script_points(script, v);
    fprintf(script, "set logscale xy\nset key left top\nset size square\n"
                    "set xlabel 'measured step time / s'\n"
                    "set ylabel 'predicted step time / s'\n"
                    "plot x with lines lc rgb '#888888' title 'equal'");
    for (int32_t i = 0; i < v->args->workload_count; i++) {
        if (v->part[i].summary.timed_count == 0) continue;
        fprintf(script, ", $w%d using 1:2 with points pt 7 ps 0.6 title 'workload %d'", i,
                i + 1);
    }
    fprintf(script, "\n");
}

static emp_status draw(FILE *file, const void *what, emp_error *err)
{
    const struct validation *v = (const struct validation *)what;
    int32_t                  shown = 0;

    for (int32_t i = 0; i < v->args->workload_count; i++)
        shown += v->part[i].summary.both_fit;
    if (shown == 0)
        return EMP_ERROR(EMP_EINVAL,
                         "no placement was both predicted and measured to fit: "
                         "there is nothing to plot");
    return emp_gnuplot_draw(file, 720, 640, write_script, v,
                            "predicted against measured step times", err);
}

/* ---- a record ---------------------------------------------------------------------- */

static emp_status save(const struct validation *v, emp_error *err)
{
    const struct args    *a = v->args;
    emp_manifest          manifest = emp_manifest_get();
    emp_validation_origin origin = {a->machine, a->runtime, a->replay.backend,
                                    manifest.version, manifest.commit};
    emp_validation_part   parts[MOST_WORKLOADS];

    for (int32_t i = 0; i < a->workload_count; i++)
        parts[i] =
            (emp_validation_part){v->part[i].spec, v->part[i].cases, v->part[i].count};
    return emp_validation_save(a->record, parts, a->workload_count, &origin, err);
}

/* ---- the command ------------------------------------------------------------------- */

static emp_status check(const struct args *a, emp_error *err)
{
    EMP_CHECK(cli_replay_check_backend(&a->replay, err));
    if (a->plot != NULL && !emp_gnuplot_exists())
        return EMP_ERROR(EMP_EUNSUPPORTED, "--plot: %s", EMP_GNUPLOT_ABSENCE);
    EMP_CHECK(cli_check_output(a->plot, err));
    return cli_check_output(a->record, err);
}

static emp_status load_imported(struct validation *v, emp_error *err)
{
    int32_t count = v->args->import_count;

    if (count == 0) return EMP_OK;
    EMP_CHECK(EMP_ALLOC(v->imported, (size_t)count));
    for (int32_t i = 0; i < count; i++)
        EMP_CHECK(emp_replay_result_load(&v->imported[i], v->args->import[i], err));
    return EMP_OK;
}

static emp_status summarize(struct validation *v, emp_error *err)
{
    for (int32_t i = 0; i < v->args->workload_count; i++) {
        struct part *part = &v->part[i];
        part->missing = v->args->placements - part->count;
        EMP_CHECK(
            emp_validation_summarize(&part->summary, part->cases, part->count, err));
        emp_validation_sort_types(&part->types);
    }
    return EMP_OK;
}

static bool has_cases(const struct validation *v)
{
    for (int32_t i = 0; i < v->args->workload_count; i++)
        if (v->part[i].count > 0) return true;
    return false;
}

/* What was measured is printed, also when Ctrl-C or a failure ends it; the failure is what is
 * told then, and no file is written that would look whole. */
static emp_status run(struct validation *v, emp_error *err)
{
    emp_status         st = EMP_OK;
    const struct args *a = v->args;

    for (int32_t i = 0; i < a->workload_count; i++) v->part[i].spec = a->workload[i];
    EMP_TRY(load_imported(v, err));
    if (a->export_to != NULL) EMP_TRY(emp_folder_make(a->export_to, err));
    for (int32_t i = 0; i < a->workload_count && st == EMP_OK; i++)
        st = run_part(v, &v->part[i], err);
    cli_bar_clear(&v->bar);
    if (a->export_to != NULL || (st != EMP_OK && !has_cases(v))) goto cleanup;
    if (st != EMP_OK) {
        if (summarize(v, NULL) == EMP_OK) print(v, NULL);
        goto cleanup;
    }
    EMP_TRY(summarize(v, err));
    EMP_TRY(print(v, err));
    if (a->record != NULL) EMP_TRY(save(v, err));
    if (a->plot != NULL) EMP_TRY(emp_atomic_file_write(a->plot, draw, v, err));
    if (v->is_uncalibrated) cli_warn_uncalibrated(a->machine);

cleanup:
    cli_bar_clear(&v->bar);
    return st;
}

static void clear(struct validation *v)
{
    if (v == NULL) return;
    for (int32_t i = 0; i < v->args->workload_count; i++) emp_free(v->part[i].cases);
    for (int32_t i = 0; v->imported != NULL && i < v->args->import_count; i++)
        emp_replay_result_clear(&v->imported[i]);
    emp_free(v->imported);
    emp_free(v);
}

emp_status cmd_validate(int argc, char **argv, emp_error *err)
{
    const struct argp_child children[] = {{&cli_replay_argp, 0, NULL, 0}, {0}};
    const struct argp  argp = {options, parse, "[RESULT...]", doc, children, NULL, NULL};
    emp_status         st = EMP_OK;
    struct validation *v = NULL;
    struct args        args = {.machine = "cpu2",
                               .placements = 30,
                               .seed = 1,
                               .replay = cli_replay_options_default()};

    EMP_TRY(EMP_ALLOC(args.import, MOST_IMPORTS));
    cli_parse(&argp, argc, argv, &args);
    if (args.runtime == NULL)
        args.runtime =
            strcmp(args.replay.backend, "cuda") == 0 ? "tf-r1.3" : "replay-cpu";
    EMP_TRY(check(&args, err));
    EMP_TRY(EMP_ALLOC(v, 1));
    v->args = &args;
    cli_bar_init(&v->bar, NULL);
    EMP_TRY(run(v, err));

cleanup:
    clear(v);
    emp_free(args.import);
    return st;
}
