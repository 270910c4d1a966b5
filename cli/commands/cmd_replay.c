// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace replay FILE...: executes placements with real work, and sets what was measured
 * beside what the simulator says. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io/output.h"
#include "base/mem.h"
#include "base/text/units.h"
#include "cli/cli.h"
#include "cli/options/inputs.h"
#include "cli/options/placement_input.h"
#include "cli/progress.h"
#include "cli/replay/replay_runner.h"
#include "replay/planner/planner.h"
#include "run/methods.h"
#include "search/method.h"
#include "sim/engine/sim.h"

enum { KEY_TOP = 512, MAX_PLACEMENTS = 256 };

struct args {
    const char        *placement[MAX_PLACEMENTS]; /**< files or methods */
    int32_t            placement_count;
    const char        *workload, *machine, *runtime;
    const char        *trace, *out, *plan; /**< files, or NULL */
    int32_t            top;                /**< 0 = all */
    cli_replay_options replay;
    bool               is_forced;
    emp_sheet_format   format;
};

/* One placement on its way through the command. */
struct candidate {
    const char        *name;
    cli_decision_file  file; /* nothing of a method */
    emp_owned_decision decision;
    emp_sim_result     predicted;
    emp_replay_result  measured;
};

static const struct argp_option options[] = {
    {"top", KEY_TOP, "N", 0, "Only the N placements that are predicted to be fastest", 0},
    {"backend", 'B', "NAME", 0,
     "Backend in place of the machine's GPUs: cpu (default), cuda", 0},
    {"workload", CLI_TEXT(struct args, workload), "SPEC", 0,
     "In place of the one that the files name", 0},
    {"machine", 'm', "NAME|FILE", 0, "In place of the one that the files name", 0},
    {"runtime", 'r', "NAME|FILE", 0,
     "Profile of the prediction (default replay-cpu, for cuda replay-cuda)", 0},
    {"gpus", CLI_TEXT(struct args, replay.gpus), "MAP", 0,
     "GPUs of this computer that are the machine's, as in \"gpu:0=0 gpu:1=0\"", 0},
    {"check", CLI_FLAG(struct args, replay.options.is_checked), NULL, 0,
     "Check what every op reads, and results of products; times mean nothing", 0},
    {"trace", 'T', "FILE", 0, "Write a measured step as JSON for Perfetto", 0},
    {"out", 'o', "FILE", 0, "Write the result as plain text (docs/formats.md)", 0},
    {"export", CLI_TEXT(struct args, plan), "FILE", 0,
     "Write the plan for emplace-replay, and run nothing here", 0},
    CLI_FORCE_OPTION(struct args),
    {0},
};

static const char doc[] =
    "Execute one training step under a placement with real work on real devices, and "
    "compare its time and memory with the simulator's. FILE is a placement file or a run "
    "record (.h5), of which it takes the best placement, or the name of a method if "
    "--workload and --machine are given.\v"
    "With the backend cpu every device is a group of this computer's cores, with cuda "
    "the GPUs are real. A step that does not fit in memory is a verdict, no error.\n\n"
    "  emplace replay run.h5 best.json --top 1\n"
    "  emplace replay expert --workload nmt:units=128 --machine cpu2 --steps 20\n"
    "  emplace replay best.json --trace measured.json\n"
    "  emplace replay best.json --backend cuda --export plan.txt\n"
    "  # on the GPU server:\n"
    "  emplace-replay plan.txt --backend cuda --out result.txt";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *a = (struct args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->replay;
        state->child_inputs[1] = &a->format;
        return 0;
    case KEY_TOP: a->top = (int32_t)cli_integer("top", arg, 1, MAX_PLACEMENTS); return 0;
    case 'B': a->replay.backend = arg; return 0;
    case 'm': a->machine = arg; return 0;
    case 'r': a->runtime = arg; return 0;
    case 'T': a->trace = arg; return 0;
    case 'o': a->out = arg; return 0;
    case ARGP_KEY_ARG:
        if (a->placement_count == MAX_PLACEMENTS)
            cli_usage_error("more than %d placements", MAX_PLACEMENTS);
        a->placement[a->placement_count++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (a->placement_count == 0)
            cli_usage_error("a FILE is missing: a placement file or a run record");
        if (a->plan != NULL &&
            (a->out != NULL || a->trace != NULL || !cli_replay_options_unset(&a->replay)))
            cli_usage_error("--export runs nothing; give the options of a run, such as "
                            "--out and --steps, to emplace-replay");
        return 0;
    default: return cli_store(key, arg, a);
    }
}

static bool is_method(const char *name)
{
    return access(name, F_OK) != 0 && emp_method_exists(name);
}

/* The workload, machine and runtime of all files, where the options do not say. */
static emp_status find_origin(struct args *a, emp_decision_origin *origin,
                              struct candidate *c, emp_error *err)
{
    const char *first = NULL;

    for (int32_t i = 0; i < a->placement_count; i++) {
        const emp_decision_origin *this = &c[i].file.origin;
        if (is_method(a->placement[i])) continue;
        if (access(a->placement[i], F_OK) != 0)
            return EMP_ERROR(EMP_EIO, "\"%s\" is neither a file nor a method",
                             a->placement[i]);
        EMP_CHECK(cli_decision_open(&c[i].file, a->placement[i], err));
        if (*this->workload == '\0' || *this->machine == '\0') continue;
        if (first == NULL) *origin = *this;
        if ((a->workload == NULL && strcmp(this->workload, origin->workload) != 0) ||
            (a->machine == NULL && strcmp(this->machine, origin->machine) != 0))
            return EMP_ERROR(EMP_EINVAL,
                             "%s is of %s on %s, %s of %s on %s; replay them one by one",
                             first, origin->workload, origin->machine, a->placement[i],
                             this->workload, this->machine);
        if (first == NULL) first = a->placement[i];
    }
    if (first == NULL && (a->workload == NULL || a->machine == NULL))
        return EMP_ERROR(EMP_EINVAL,
                         "a method, or a file that does not say what it is of, needs "
                         "--workload and --machine");
    if (a->workload == NULL) a->workload = origin->workload;
    if (a->machine == NULL) a->machine = origin->machine;
    return EMP_OK;
}

/* Backends execute every op by itself, and what is ready as it comes. */
static void warn_of_more(const char *name, const emp_owned_decision *d)
{
    if (d->leader_of_op != NULL)
        cli_warn("the fusion of ops in %s is not replayed; its step is predicted and "
                 "executed op by op",
                 name);
    if (d->level_of_op != NULL)
        cli_warn("the order of ops in %s is not replayed; its step is predicted and "
                 "executed first come, first served",
                 name);
}

static emp_status load_candidate(struct candidate *c, const char *name, emp_sim *sim,
                                 const emp_problem *problem, emp_error *err)
{
    emp_owned_decision *d = &c->decision;

    c->name = name;
    if (is_method(name)) {
        EMP_CHECK(emp_decision_init(d, problem->graph->op_count, 0, err));
        EMP_CHECK(
            cli_placement_by_method(d->device_of_op, NULL, name, NULL, problem, err));
    } else {
        EMP_CHECK(cli_decision_read(d, &c->file, problem, err));
        warn_of_more(name, d);
    }
    return emp_sim_run(sim, d->device_of_op, &c->predicted, err);
}

static double predicted_s(const struct candidate *c)
{
    return (double)c->predicted.step_time_ns * 1e-9;
}

static bool is_before(const struct candidate *a, const struct candidate *b)
{
    const emp_score x = {.step_time_s = predicted_s(a),
                         .is_feasible = a->predicted.is_feasible};
    const emp_score y = {.step_time_s = predicted_s(b),
                         .is_feasible = b->predicted.is_feasible};

    return emp_score_is_better(&x, &y);
}

/* The better before the worse; the order given among equals. */
static void sort(struct candidate *c, int32_t count)
{
    for (int32_t i = 1; i < count; i++) {
        struct candidate moved = c[i];
        int32_t          at = i;
        for (; at > 0 && is_before(&moved, &c[at - 1]); at--) c[at] = c[at - 1];
        c[at] = moved;
    }
}

struct progress {
    cli_bar     bar;
    const char *name;
};

static void on_progress(void *context, int32_t done, int32_t count)
{
    struct progress *p = (struct progress *)context;
    char             text[120];

    snprintf(text, sizeof text, "%s: step %d of %d", p->name, done + 1, count);
    cli_bar_draw_share(&p->bar, (double)done / count, text);
}

static emp_status measure(struct candidate *c, const struct args *a,
                          const emp_problem *problem, emp_error *err)
{
    emp_status         st = EMP_OK;
    emp_replay_plan   *plan = NULL;
    cli_replay_options o = a->replay;
    struct progress    progress = {.name = c->name};

    cli_bar_init(&progress.bar, NULL);
    o.options.progress = on_progress;
    o.options.progress_context = &progress;
    o.is_forced = a->is_forced;
    EMP_TRY(emp_replay_plan_from_problem(&plan, problem, c->decision.device_of_op, err));
    snprintf(plan->origin.placement, sizeof plan->origin.placement, "%s", c->name);
    if (c->predicted.is_feasible) plan->origin.predicted_s = predicted_s(c);
    if (a->plan != NULL) {
        EMP_TRY(emp_replay_plan_save(a->plan, plan, err));
        goto cleanup;
    }
    EMP_TRY(cli_replay_run(&c->measured, plan, &o, a->trace, err));
    if (a->out != NULL) EMP_TRY(emp_replay_result_save(a->out, &c->measured, err));

cleanup:
    cli_bar_clear(&progress.bar);
    emp_replay_plan_destroy(plan);
    return st;
}

static json_t *json_device(const struct candidate *c, int32_t d)
{
    const emp_replay_device_result *v = &c->measured.device[d];

    return json_pack("{s:s, s:s, s:f, s:f, s:I, s:I, s:I}", "name", v->name, "runs_on",
                     v->runs_on, "busy_s", v->busy_s, "predicted_busy_s",
                     (double)c->predicted.busy_ns[d] * 1e-9, "peak_bytes",
                     (json_int_t)v->peak_bytes, "predicted_peak_bytes",
                     (json_int_t)c->predicted.peak_bytes[d], "reach_bytes",
                     (json_int_t)v->reach_bytes);
}

static json_t *json_oom(const emp_replay_result *r)
{
    if (r->is_feasible) return json_null();
    return json_pack("{s:s, s:s, s:I, s:I, s:I}", "device", r->device[r->oom_device].name,
                     "op", r->oom_op, "bytes", (json_int_t)r->oom_bytes, "in_use_bytes",
                     (json_int_t)r->oom_in_use, "capacity_bytes",
                     (json_int_t)r->device[r->oom_device].memory_bytes);
}

static json_t *json_candidate(const struct candidate *c)
{
    const emp_replay_result *r = &c->measured;
    bool                     is_timed = r->is_feasible && r->step_count > 0;
    json_t                  *steps = json_array(), *devices = json_array();

    for (int32_t i = 0; i < r->step_count; i++)
        json_array_append_new(steps, json_real(r->step_s[i]));
    for (int32_t d = 0; d < r->device_count; d++)
        json_array_append_new(devices, json_device(c, d));
    json_t *o = json_pack(
        "{s:s, s:b, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I}", "placement",
        c->name, "predicted_feasible", c->predicted.is_feasible, "predicted_s",
        cli_json_number(c->predicted.is_feasible ? predicted_s(c) : NAN), "feasible",
        r->is_feasible, "median_s", cli_json_number(is_timed ? r->median_s : NAN),
        "low_s", cli_json_number(is_timed ? r->low_s : NAN), "high_s",
        cli_json_number(is_timed ? r->high_s : NAN), "steps_s", steps, "oom", json_oom(r),
        "devices", devices, "checked",
        r->is_checked ? json_pack("{s:I, s:i, s:f}", "reads",
                                  (json_int_t)r->checked_reads, "verified_ops",
                                  r->verified_ops, "verified_error", r->verified_error)
                      : json_null(),
        "traffic_bytes", (json_int_t)r->traffic_bytes, "transfer_count",
        (json_int_t)r->transfer_count);
    return o;
}

static emp_status print_json(const struct args *a, const emp_problem *problem,
                             const struct candidate *c, int32_t count, bool is_partial,
                             emp_error *err)
{
    json_t *list = json_array();

    for (int32_t i = 0; i < count; i++)
        json_array_append_new(list, json_candidate(&c[i]));
    return cli_print_json(json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:o}", "workload",
                                    a->workload, "machine", problem->machine->name,
                                    "runtime", problem->runtime.name, "backend",
                                    a->replay.backend, "products", c[0].measured.products,
                                    "interrupted", (int)is_partial, "placements", list),
                          err);
}

static const emp_sheet_column columns[] = {
    EMP_COLUMN("workload", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("machine", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("runtime", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("placement", "placement", EMP_SHEET_WORD),
    EMP_COLUMN("device", "device", EMP_SHEET_WORD),
    EMP_COLUMN("predicted_s", "predicted", EMP_SHEET_SECONDS, .precision = 9),
    EMP_COLUMN("median_s", "median", EMP_SHEET_SECONDS, .precision = 9, .low = "low_s",
               .high = "high_s"),
    EMP_COLUMN("feasible", "fits", EMP_SHEET_FLAG),
    EMP_COLUMN("predicted_busy_s", "predicted busy", EMP_SHEET_SECONDS, .precision = 9),
    EMP_COLUMN("busy_s", "busy", EMP_SHEET_SECONDS, .precision = 9),
    EMP_COLUMN("predicted_peak_bytes", "predicted peak", EMP_SHEET_BYTES),
    EMP_COLUMN("peak_bytes", "peak", EMP_SHEET_BYTES)};

static emp_status print_sheet(const struct args *a, const emp_problem *problem,
                              const struct candidate *c, int32_t count, emp_error *err)
{
    const char *machine = problem->machine->name, *runtime = problem->runtime.name;
    emp_sheet   s;

    EMP_SHEET_INIT(&s, columns);
    emp_sheet_set_title(&s, "%s on %s, backend %s, predicted with runtime %s",
                        a->workload, machine, a->replay.backend, runtime);
    for (int32_t i = 0; i < count; i++) {
        const emp_replay_result *r = &c[i].measured;
        for (int32_t d = 0; d < r->device_count; d++)
            EMP_SHEET_ADD(
                &s, EMP_V(a->workload), EMP_V(machine), EMP_V(runtime), EMP_V(c[i].name),
                EMP_V(r->device[d].name),
                emp_value_if(c[i].predicted.is_feasible, EMP_V(predicted_s(&c[i]))),
                emp_value_if(r->is_feasible,
                             emp_value_range(r->median_s, r->low_s, r->high_s)),
                EMP_V(r->is_feasible), EMP_V((double)c[i].predicted.busy_ns[d] * 1e-9),
                EMP_V(r->device[d].busy_s), EMP_V(c[i].predicted.peak_bytes[d]),
                EMP_V(r->device[d].peak_bytes));
    }
    return cli_print_sheet(&s, a->format, err);
}

static void print_text(const struct args *a, const emp_problem *problem,
                       const struct candidate *c)
{
    char busy[EMP_UNITS_TEXT_BYTES], peak[EMP_UNITS_TEXT_BYTES];

    printf("%s on %s, placement %s, backend %s, predicted with runtime %s\n", a->workload,
           problem->machine->name, c->name, a->replay.backend, problem->runtime.name);
    emp_replay_result_print(stdout, &c->measured);
    for (int32_t d = 0; d < c->measured.device_count; d++) {
        printf("%-12s predicted busy %s, peak memory %s\n", c->measured.device[d].name,
               emp_units_format_seconds((double)c->predicted.busy_ns[d] * 1e-9, busy,
                                        sizeof busy),
               emp_units_format_bytes(c->predicted.peak_bytes[d], peak, sizeof peak));
    }
    if (!c->predicted.is_feasible)
        printf("predicted    does not fit on %s\n",
               problem->machine->device[c->predicted.oom_device].name);
}

static emp_status print_results(const struct args *a, const cli_inputs *inputs,
                                const struct candidate *c, int32_t count, bool is_partial,
                                emp_error *err)
{
    if (a->format == EMP_SHEET_JSON)
        EMP_CHECK(print_json(a, inputs->problem, c, count, is_partial, err));
    else if (a->format != EMP_SHEET_TEXT)
        EMP_CHECK(print_sheet(a, inputs->problem, c, count, err));
    for (int32_t i = 0; a->format == EMP_SHEET_TEXT && i < count; i++) {
        if (i > 0) putchar('\n');
        print_text(a, inputs->problem, &c[i]);
    }
    if (cli_is_uncalibrated(inputs->machine, a->replay.backend))
        cli_warn_uncalibrated(a->machine);
    cli_warn_rates(&a->replay);
    return EMP_OK;
}

/* Measures placements one after another and prints them, also where a later one fails or is interrupted. */
static emp_status measure_all(struct candidate *c, int32_t count, const struct args *a,
                              const cli_inputs *inputs, emp_error *err)
{
    emp_status st = EMP_OK, printed = EMP_OK;
    int32_t    done = 0;

    for (; done < count; done++) {
        st = measure(&c[done], a, inputs->problem, err);
        if (st != EMP_OK) break;
    }
    if (a->plan == NULL && done > 0)
        printed =
            print_results(a, inputs, c, done, st != EMP_OK, st == EMP_OK ? err : NULL);
    return st != EMP_OK ? st : printed;
}

static emp_status check_files(const struct args *a, emp_error *err)
{
    const char *const outputs[] = {a->trace, a->out, a->plan};
    const char *const inputs[] = {a->workload, a->machine, a->runtime};

    EMP_CHECK(emp_output_check_all(outputs, 3, err));
    EMP_CHECK(emp_output_check_inputs(inputs, 3, outputs, 3, err));
    EMP_CHECK(emp_output_check_inputs(a->placement, a->placement_count, outputs, 3, err));
    EMP_CHECK(emp_output_check_replaced(outputs, 3, a->is_forced, err));
    if ((a->trace || a->out || a->plan) && a->placement_count > 1 && a->top != 1)
        return EMP_ERROR(EMP_EINVAL,
                         "--trace, --out and --export are of one placement; give one, "
                         "or --top 1");
    return EMP_OK;
}

static emp_status replay(struct args *a, struct candidate *c, emp_error *err)
{
    emp_status          st = EMP_OK;
    emp_decision_origin origin = {0};
    cli_inputs          inputs = {0};
    emp_sim            *sim = NULL;
    int32_t             count = a->placement_count;

    EMP_TRY(cli_replay_check_backend(&a->replay, err));
    EMP_TRY(check_files(a, err));
    EMP_TRY(find_origin(a, &origin, c, err));
    if (a->runtime == NULL) a->runtime = cli_replay_runtime(&a->replay);
    EMP_TRY(cli_inputs_load(&inputs, a->workload, a->machine, a->runtime, err));
    EMP_TRY(emp_sim_create(&sim, inputs.problem, err));
    for (int32_t i = 0; i < count; i++)
        EMP_TRY(load_candidate(&c[i], a->placement[i], sim, inputs.problem, err));
    sort(c, count);
    if (a->top > 0 && a->top < count) count = a->top;
    EMP_TRY(measure_all(c, count, a, &inputs, err));

cleanup:
    emp_sim_destroy(sim);
    cli_inputs_clear(&inputs);
    return st;
}

static const struct argp_child children[] = {
    {&cli_replay_argp, 0, NULL, 0}, {&cli_format_argp, 0, NULL, 0}, {0}};
const struct argp cmd_replay_argp = {options,  parse, "FILE...", doc,
                                     children, NULL,  NULL};

emp_status cmd_replay(int argc, char **argv, emp_error *err)
{
    struct args       args = {.replay = cli_replay_options_default()};
    emp_status        st = EMP_OK;
    struct candidate *candidates = NULL;

    cli_parse(&cmd_replay_argp, argc, argv, &args);
    EMP_TRY(EMP_ALLOC(candidates, (size_t)args.placement_count));
    EMP_TRY(replay(&args, candidates, err));

cleanup:
    for (int32_t i = 0; candidates != NULL && i < args.placement_count; i++) {
        cli_decision_close(&candidates[i].file);
        emp_decision_clear(&candidates[i].decision);
        emp_replay_result_clear(&candidates[i].measured);
    }
    emp_free(candidates);
    return st;
}
