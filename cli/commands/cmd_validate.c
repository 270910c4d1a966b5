// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace validate: what the simulator predicts beside what replay measures, on many
 * placements of several workloads. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/io/output.h"
#include "base/mem.h"
#include "bench/plots/gnuplot.h"
#include "bench/validate/diverse.h"
#include "bench/validate/validate.h"
#include "cli/cli.h"
#include "cli/commands/validate.h"
#include "cli/options/inputs.h"
#include "cli/options/placement_input.h"
#include "cli/replay/replay_runner.h"
#include "cli/stop.h"
#include "replay/planner/planner.h"

enum {
    KEY_WORKLOADS = 512,
    KEY_PLACEMENTS,
    KEY_ROUNDS,
    KEY_COSTS,
    MOST_PLACEMENTS = 1000,
    MOST_ROUNDS = 1000,
    MOST_IMPORTS = CLI_VALIDATE_WORKLOADS * MOST_PLACEMENTS,
    ATTEMPTS = 3 /* at a measurement that is not steady */
};

static const char deal_runtime[] = "ideal"; /* methods ask only for costs */

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
enum {
    METHODS = sizeof methods / sizeof *methods,
    REFERENCE_METHOD = 0,
    BASE_METHOD = 2
};

static const struct argp_option options[] = {
    {"workloads", KEY_WORKLOADS, "LIST", 0,
     "Specs or graph files parted by blanks, or \"small\": small variants of the six "
     "(default)",
     0},
    {"machine", 'm', "NAME|FILE", 0, "As calibrated (default cpu2)", 0},
    {"runtime", 'r', "NAME|FILE", 0,
     "As calibrated (default replay-cpu, for cuda replay-cuda)", 0},
    {"backend", 'B', "NAME", 0,
     "Backend in place of the machine's GPUs: cpu (default), cuda", 0},
    {"placements", KEY_PLACEMENTS, "N", 0, "Placements of each workload (default 30)", 0},
    {"rounds", KEY_ROUNDS, "N", 0,
     "Measure all placements N times, in turn, and take medians (default 1)", 0},
    {"seed", 'k', "N", 0, "Seed of the placements (default 1)", 0},
    {"gpus", CLI_TEXT(cli_validate_args, replay.gpus), "MAP", 0, "As for emplace replay",
     0},
    {"export", CLI_TEXT(cli_validate_args, export_to), "DIR", 0,
     "Write plans for emplace-replay into this folder, and measure nothing", 0},
    {"import", CLI_FLAG(cli_validate_args, is_import), NULL, 0,
     "Take the results of such plans, RESULT..., in place of measuring", 0},
    {"measured", CLI_TEXT(cli_validate_args, measured), "FILE", 0,
     "Take the measurements of an earlier --format csv, and measure nothing: for another "
     "model",
     0},
    {"costs", KEY_COSTS, "FILE", 0,
     "Times that were measured, as by emplace calibrate ops; once for each workload, in "
     "their order",
     0},
    {"pace", CLI_FLAG(cli_validate_args, follows_pace), NULL, 0,
     "Execute the placement \"gpu\" before and after each one, and divide what is "
     "measured by how much longer its kernels took than --costs says: cancels a "
     "computer's drift",
     0},
    {"unsteady", CLI_FLAG(cli_validate_args, takes_unsteady), NULL, 0,
     "Take measurements whose steps spread by more than 10 %, too", 0},
    {"plot", CLI_TEXT(cli_validate_args, plot), "FILE", 0,
     "Draw as SVG predicted against measured (gnuplot)", 0},
    {"record", CLI_TEXT(cli_validate_args, record), "FILE", 0, "Save the results (HDF5)",
     0},
    {"summary", CLI_FLAG(cli_validate_args, is_summary), NULL, 0,
     "Print only a line a workload", 0},
    CLI_FORCE_OPTION(cli_validate_args),
    {0},
};

static const char doc[] =
    "Predict and measure the step time, busy time and peak memory of many placements, "
    "and say how far the two are apart. Beside the model stand guesses that know less: "
    "the best constant for all placements of a workload, and a roofline.\v"
    "Placements come from methods (gpu, cpu, expert, metis, scotch, mincut), then chunks "
    "and blocks of the order of ops, parts that METIS cuts, and mixtures. They are dealt "
    "on a plain machine of the same devices, so they do not change with constants. Steps "
    "in which two busy devices share cores count only for memory. No benchmark of "
    "emplace calibrate measure is one of the workloads.\n\n"
    "The error of a step has two parts. The step is simulated again with the measured "
    "times of its ops: the kernel error is the difference of the prediction from that "
    "simulation, the schedule error the difference of that simulation from the measured "
    "step. The first placement is measured "
    "again after the others, which shows the noise. With --rounds it is what rounds "
    "differ from their medians, and a time in which the computer is slow falls on all "
    "placements alike. The option --pace scales measured times to the speed that the "
    "computer had when the costs were measured, and leaves schedule errors as they "
    "are.\n\n"
    "A measurement whose steps spread by more than 10 % between quartiles is repeated, "
    "up to twice. If it is still not steady the command fails, unless --unsteady is "
    "given.\n\n"
    "  emplace validate -m mine.yaml -r mine-runtime.yaml --plot mine.svg\n"
    "  emplace validate -m mine.yaml -r mine-runtime.yaml --format csv > mine.csv\n"
    "  emplace validate -m other.yaml -r mine-runtime.yaml --measured mine.csv\n"
    "  emplace validate --workloads \"resnet:depth=50,batch=2 nmt:units=128\" --format "
    "csv\n"
    "  emplace validate --machine k40x2 --backend cuda --export plans\n"
    "  emplace validate --machine k40x2 --backend cuda --import results/*";

static void add_workloads(cli_validate_args *a, const char *list)
{
    if (strcmp(list, "small") == 0) {
        if (a->workload_count + SMALL > CLI_VALIDATE_WORKLOADS)
            cli_usage_error("more than %d workloads", CLI_VALIDATE_WORKLOADS);
        for (int32_t i = 0; i < SMALL; i++) a->workload[a->workload_count++] = small[i];
        return;
    }
    for (const char *at = list; *(at += strspn(at, " ")) != '\0';) {
        size_t length = strcspn(at, " ");
        if (a->workload_count == CLI_VALIDATE_WORKLOADS)
            cli_usage_error("more than %d workloads", CLI_VALIDATE_WORKLOADS);
        if (length >= sizeof a->list[0])
            cli_usage_error("a workload of %zu characters; at most %zu", length,
                            sizeof a->list[0] - 1);
        char *copy = a->list[a->workload_count];
        memcpy(copy, at, length);
        a->workload[a->workload_count++] = copy;
        at += length;
    }
}

static void add_costs(cli_validate_args *a, const char *path)
{
    if (a->costs_count == CLI_VALIDATE_WORKLOADS)
        cli_usage_error("--costs: more than %d files", CLI_VALIDATE_WORKLOADS);
    a->costs[a->costs_count++] = path;
}

static void end_of_options(cli_validate_args *a)
{
    if (a->workload_count == 0) add_workloads(a, "small");
    if (a->costs_count > 0 && a->costs_count != a->workload_count)
        cli_usage_error("--costs has %d files for %d workloads", a->costs_count,
                        a->workload_count);
    if (a->import_count > 0 && !a->is_import)
        cli_usage_error("unexpected \"%s\"; results follow --import", a->import[0]);
    if (a->is_import && a->import_count == 0)
        cli_usage_error("--import needs results of emplace-replay");
    if (a->is_import && a->export_to != NULL)
        cli_usage_error("--import or --export, not both");
    if (a->export_to != NULL && (a->plot != NULL || a->record != NULL || a->is_summary))
        cli_usage_error(
            "--export measures nothing; leave out --plot, --record and --summary");
    if (a->measured != NULL && (a->is_import || a->export_to != NULL))
        cli_usage_error("--measured measures nothing: neither --import nor --export");
    if (a->rounds > 1 && (a->is_import || a->export_to != NULL || a->measured != NULL))
        cli_usage_error("--rounds is for measuring: no --import, --export or --measured");
    if (a->follows_pace && (a->is_import || a->export_to != NULL || a->measured != NULL))
        cli_usage_error("--pace is for measuring: no --import, --export or --measured");
    if (a->follows_pace && a->costs_count == 0)
        cli_usage_error("--pace needs --costs: the times that the pace is compared with");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    cli_validate_args *a = (cli_validate_args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->replay;
        state->child_inputs[1] = &a->format;
        return 0;
    case KEY_WORKLOADS: add_workloads(a, arg); return 0;
    case 'm': a->machine = arg; return 0;
    case 'r': a->runtime = arg; return 0;
    case 'B': a->replay.backend = arg; return 0;
    case KEY_PLACEMENTS:
        a->placements = (int32_t)cli_integer("placements", arg, 1, MOST_PLACEMENTS);
        return 0;
    case KEY_ROUNDS:
        a->rounds = (int32_t)cli_integer("rounds", arg, 1, MOST_ROUNDS);
        return 0;
    case 'k': a->seed = (uint64_t)cli_integer("seed", arg, 0, INT64_MAX); return 0;
    case KEY_COSTS: add_costs(a, arg); return 0;
    case ARGP_KEY_ARG:
        if (a->import_count == MOST_IMPORTS)
            cli_usage_error("more than %d results", MOST_IMPORTS);
        a->import[a->import_count++] = arg;
        return 0;
    case ARGP_KEY_END: end_of_options(a); return 0;
    default: return cli_store(key, arg, a);
    }
}

/* ---- measuring --------------------------------------------------------------------- */

static void tell(cli_validation *v, const char *spec, const char *placement)
{
    char text[160];

    snprintf(text, sizeof text, "%.*s, %s", (int)strcspn(spec, ":"), spec, placement);
    cli_bar_draw_share(&v->bar,
                       (double)v->done++ / (v->args->rounds * v->args->placements *
                                            v->args->workload_count),
                       text);
}

static emp_status export_plan(const cli_validation *v, const cli_validate_part *part,
                              const emp_replay_plan *plan, int32_t index, emp_error *err)
{
    char path[1024];

    snprintf(path, sizeof path, "%s/%d-%.*s-%03d.txt", v->args->export_to,
             (int)(part - v->part), (int)strcspn(part->spec, ":/"), part->spec, index);
    return emp_replay_plan_save(path, plan, err);
}

/* One placement of a workload and what is predicted of it. */
struct candidate {
    const char          *name;
    const emp_problem   *problem;
    const emp_device_id *device_of_op;
    emp_sim_result       predicted;
};

static bool is_steady(const emp_replay_result *r)
{
    return !r->is_feasible || r->high_s - r->low_s <= EMP_VALIDATION_SPREAD * r->median_s;
}

/* Runs the plan until its steps are alike, a few times at most. */
static emp_status measure(const cli_validation *v, emp_replay_result *result,
                          const emp_replay_plan *plan, emp_error *err)
{
    for (int32_t i = 0; i < ATTEMPTS; i++) {
        emp_replay_result_clear(result);
        EMP_CHECK(cli_replay_run(result, plan, &v->args->replay, NULL, err));
        if (v->args->takes_unsteady || is_steady(result)) break;
    }
    return EMP_OK;
}

/* Executes the step that \a part's costs were measured in: how long its kernels take now, as a multiple of those
 * costs, becomes part->pace. */
static emp_status measure_pace(const cli_validation *v, cli_validate_part *part,
                               emp_error *err)
{
    emp_status        st = EMP_OK;
    emp_replay_result now = {0};

    EMP_TRY(cli_replay_run(&now, part->reference, &v->args->replay, NULL, err));
    if (!now.is_feasible)
        EMP_FAIL(EMP_ENOMEM, "--pace: %s on one device does not fit", part->spec);
    part->pace = 0.0;
    for (int32_t d = 0; d < now.device_count; d++)
        part->pace += now.device[d].busy_s / part->reference_busy_s;

cleanup:
    emp_replay_result_clear(&now);
    return st;
}

/* Runs the plan as measure() does, between two executions of the reference: \a pace is the mean of theirs. */
static emp_status measure_at_pace(const cli_validation *v, cli_validate_part *part,
                                  emp_replay_result *result, double *pace,
                                  const emp_replay_plan *plan, emp_error *err)
{
    *pace = 1.0;
    if (part->reference == NULL) return measure(v, result, plan, err);
    if (part->pace == 0.0) EMP_CHECK(measure_pace(v, part, err));
    double before = part->pace;
    EMP_CHECK(measure(v, result, plan, err));
    EMP_CHECK(measure_pace(v, part, err));
    *pace = (before + part->pace) / 2.0;
    return EMP_OK;
}

static emp_status take_result(cli_validate_part *part, const struct candidate *c,
                              const emp_replay_plan   *plan,
                              const emp_replay_result *measured, double pace,
                              emp_error *err)
{
    emp_validation_case *to = &part->cases[part->count++];

    emp_validation_case_measured(to, c->name, measured);
    emp_validation_case_predicted(to, &c->predicted);
    to->hash = emp_validation_hash(c->problem->graph, c->device_of_op);
    to->roofline_s = emp_guess_roofline_s(c->problem, c->device_of_op);
    to->copies_s = emp_guess_copies_s(plan);
    if (!measured->is_feasible) return EMP_OK;
    EMP_CHECK(emp_validation_schedule(&to->scheduled_s, c->problem, c->device_of_op,
                                      measured, err));
    emp_validation_case_rescale(to, 1.0 / pace);
    return emp_validation_add_ops(&part->types, c->problem, c->device_of_op, measured,
                                  1.0 / pace, err);
}

static emp_status execute(cli_validation *v, cli_validate_part *part,
                          const struct candidate *c, int32_t index, emp_error *err)
{
    emp_status               st = EMP_OK;
    const cli_validate_args *a = v->args;
    emp_replay_plan         *plan = NULL;
    emp_replay_result        result = {0};
    const emp_replay_result *measured = &result;
    double                   pace = 1.0;

    EMP_TRY(emp_replay_plan_from_problem(&plan, c->problem, c->device_of_op, err));
    snprintf(plan->origin.placement, sizeof plan->origin.placement, "%s", c->name);
    if (c->predicted.is_feasible)
        plan->origin.predicted_s = (double)c->predicted.step_time_ns * 1e-9;
    if (a->export_to != NULL) {
        EMP_TRY(export_plan(v, part, plan, index, err));
        goto cleanup;
    }
    if (a->is_import)
        measured = cli_replay_results_find(&v->imported, plan);
    else
        EMP_TRY(measure_at_pace(v, part, &result, &pace, plan, err));
    if (measured != NULL) EMP_TRY(take_result(part, c, plan, measured, pace, err));

cleanup:
    emp_replay_result_clear(&result);
    emp_replay_plan_destroy(plan);
    return st;
}

/* Takes the measurement from the record, if it has one. */
static void look_up(const cli_validation *v, cli_validate_part *part,
                    const struct candidate *c)
{
    uint64_t hash = emp_validation_hash(c->problem->graph, c->device_of_op);
    const emp_validation_case *measured =
        emp_validation_record_find(&v->record, part->spec, c->name, hash);

    if (measured == NULL) return;
    emp_validation_case *to = &part->cases[part->count++];
    *to = *measured;
    emp_validation_case_predicted(to, &c->predicted);
    to->roofline_s = emp_guess_roofline_s(c->problem, c->device_of_op);
}

/* Predicts one placement, and measures it or finds what was measured. A plan is whole or not there, so
 * nothing of an export is waited for. */
static emp_status run_placement(cli_validation *v, cli_validate_part *part,
                                struct candidate *c, int32_t index, emp_sim *sim,
                                emp_error *err)
{
    if (cli_stop_is_asked()) return EMP_EINTERRUPTED;
    if (v->args->export_to != NULL) cli_stop_at_once();
    tell(v, part->spec, c->name);
    EMP_CHECK(emp_sim_run(sim, c->device_of_op, &c->predicted, err));
    if (v->args->measured == NULL) return execute(v, part, c, index, err);
    look_up(v, part, c);
    return EMP_OK;
}

/* The first placement, after all others: how far it is from itself says what measurements are worth. */
static emp_status measure_again(cli_validation *v, cli_validate_part *part,
                                const emp_problem   *problem,
                                const emp_device_id *device_of_op, emp_error *err)
{
    emp_status               st = EMP_OK;
    const cli_validate_args *a = v->args;
    emp_replay_plan         *plan = NULL;
    emp_replay_result        again = {0};
    double                   pace;
    bool is_measured = a->export_to == NULL && a->measured == NULL && !a->is_import;

    if (!is_measured || a->rounds > 1 || part->count == 0 || !part->cases[0].is_feasible)
        return EMP_OK;
    EMP_TRY(emp_replay_plan_from_problem(&plan, problem, device_of_op, err));
    EMP_TRY(measure_at_pace(v, part, &again, &pace, plan, err));
    if (again.is_feasible && part->cases[0].measured_s > 0.0)
        part->repeat_error_frac =
            fabs(again.median_s / pace / part->cases[0].measured_s - 1.0);

cleanup:
    emp_replay_result_clear(&again);
    emp_replay_plan_destroy(plan);
    return st;
}

/* --cores and --gpus have to name devices also where this program executes nothing. */
static emp_status check_maps(const cli_validation *v, const emp_problem *problem,
                             const emp_device_id *device_of_op, emp_error *err)
{
    emp_replay_plan   *plan = NULL;
    emp_replay_options mapped;

    EMP_CHECK(emp_replay_plan_from_problem(&plan, problem, device_of_op, err));
    emp_status st = cli_replay_options_map(&mapped, &v->args->replay, plan, err);
    emp_replay_plan_destroy(plan);
    return st;
}

/* The plan of the placement whose step `calibrate ops` measures, and what its kernels take by these costs. */
static emp_status make_reference(cli_validate_part *part, emp_sim *sim,
                                 const emp_problem *problem, const emp_problem *dealt,
                                 emp_device_id *device_of_op, emp_error *err)
{
    emp_sim_result predicted;

    EMP_CHECK(cli_placement_by_method(device_of_op, NULL, methods[REFERENCE_METHOD], NULL,
                                      dealt, err));
    EMP_CHECK(emp_replay_plan_from_problem(&part->reference, problem, device_of_op, err));
    EMP_CHECK(emp_sim_run(sim, device_of_op, &predicted, err));
    for (emp_device_id d = 0; d < problem->machine->device_count; d++)
        part->reference_busy_s += (double)predicted.busy_ns[d] * 1e-9;
    return EMP_OK;
}

/* \a dealt: the problem on a plain machine. */
static emp_status run_placements(cli_validation *v, cli_validate_part *part, emp_sim *sim,
                                 const emp_problem *problem, const emp_problem *dealt,
                                 emp_device_id *device_of_op, emp_device_id *base,
                                 emp_error *err)
{
    char             name[EMP_DIVERSE_NAME_BYTES];
    struct candidate c = {name, problem, device_of_op, {0}};

    EMP_CHECK(
        cli_placement_by_method(base, NULL, methods[BASE_METHOD], NULL, dealt, err));
    EMP_CHECK(check_maps(v, problem, base, err));
    if (v->args->export_to != NULL) EMP_CHECK(emp_folder_make(v->args->export_to, err));
    for (int32_t at = 0; at < v->args->rounds * v->args->placements; at++) {
        int32_t i = at % v->args->placements;
        if (i < METHODS) {
            snprintf(name, sizeof name, "%s", methods[i]);
            EMP_CHECK(cli_placement_by_method(device_of_op, NULL, methods[i], NULL, dealt,
                                              err));
        } else
            EMP_CHECK(emp_diverse_placement(device_of_op, name, dealt, base, i - METHODS,
                                            v->args->seed, err));
        EMP_CHECK(run_placement(v, part, &c, i, sim, err));
    }
    EMP_CHECK(cli_placement_by_method(device_of_op, NULL, methods[0], NULL, dealt, err));
    return measure_again(v, part, problem, device_of_op, err);
}

static emp_status deal_on_plain(emp_problem **dealt, emp_machine **plain,
                                const emp_problem *problem, emp_error *err)
{
    emp_runtime runtime;

    *plain = emp_diverse_machine(problem->machine);
    if (*plain == NULL) return EMP_ERROR(EMP_ENOMEM, "a machine to deal placements on");
    EMP_CHECK(emp_runtime_init(&runtime, deal_runtime, err));
    return emp_problem_create(dealt, problem->graph, *plain, &runtime, problem->workload,
                              err);
}

static emp_status run_part(cli_validation *v, cli_validate_part *part, emp_error *err)
{
    emp_status               st = EMP_OK;
    const cli_validate_args *a = v->args;
    cli_inputs               inputs = {0};
    emp_machine             *plain = NULL;
    emp_problem             *dealt = NULL;
    emp_sim                 *sim = NULL;
    emp_device_id           *device_of_op = NULL, *base = NULL;

    if (a->costs_count > 0) inputs.costs = a->costs[part - v->part];
    part->repeat_error_frac = NAN;
    EMP_TRY(cli_inputs_load(&inputs, part->spec, a->machine, a->runtime, err));
    v->is_uncalibrated = cli_is_uncalibrated(inputs.machine, a->replay.backend);
    EMP_TRY(deal_on_plain(&dealt, &plain, inputs.problem, err));
    EMP_TRY(emp_sim_create(&sim, inputs.problem, err));
    size_t ops = (size_t)inputs.problem->graph->op_count;
    EMP_TRY(EMP_ALLOC(part->cases, (size_t)a->placements * (size_t)a->rounds));
    EMP_TRY(EMP_ALLOC(device_of_op, ops));
    EMP_TRY(EMP_ALLOC(base, ops));
    if (a->follows_pace)
        EMP_TRY(make_reference(part, sim, inputs.problem, dealt, device_of_op, err));
    EMP_TRY(run_placements(v, part, sim, inputs.problem, dealt, device_of_op, base, err));

cleanup:
    emp_replay_plan_destroy(part->reference);
    part->reference = NULL;
    emp_free(device_of_op);
    emp_free(base);
    emp_sim_destroy(sim);
    emp_problem_destroy(dealt);
    emp_machine_destroy(plain);
    cli_inputs_clear(&inputs);
    return st;
}

/* ---- the command ------------------------------------------------------------------- */

static emp_status check(const cli_validate_args *a, emp_error *err)
{
    const char *const outputs[] = {a->plot, a->record};
    const char       *inputs[3 + CLI_VALIDATE_WORKLOADS] = {a->machine, a->runtime,
                                                            a->measured};

    EMP_CHECK(cli_replay_check_backend(&a->replay, err));
    if (a->plot != NULL && !emp_gnuplot_exists())
        return EMP_ERROR(EMP_EUNSUPPORTED, "--plot: %s", EMP_GNUPLOT_ABSENCE);
    EMP_CHECK(emp_output_check_all(outputs, 2, err));
    for (int32_t i = 0; i < a->costs_count; i++) inputs[3 + i] = a->costs[i];
    EMP_CHECK(emp_output_check_inputs(inputs, 3 + a->costs_count, outputs, 2, err));
    EMP_CHECK(emp_output_check_inputs(a->import, a->import_count, outputs, 2, err));
    EMP_CHECK(emp_output_check_inputs(a->workload, a->workload_count, outputs, 2, err));
    EMP_CHECK(emp_output_check_replaced(outputs, 2, a->is_forced, err));
    return emp_output_check_folder(a->export_to, a->is_forced, err);
}

static emp_status summarize(cli_validation *v, emp_error *err)
{
    for (int32_t i = 0; i < v->args->workload_count; i++) {
        cli_validate_part *part = &v->part[i];
        if (v->args->rounds > 1)
            EMP_CHECK(emp_validation_pool(&part->repeat_error_frac, part->cases,
                                          &part->count, v->args->placements, err));
        part->missing = v->args->placements - part->count;
        EMP_CHECK(
            emp_validation_summarize(&part->summary, part->cases, part->count, err));
        part->summary.repeat_error_frac = part->repeat_error_frac;
        emp_validation_sort_types(&part->types);
    }
    return EMP_OK;
}

/* The worst of the measurements that are not steady. */
static emp_status refuse_unsteady(const cli_validation *v, emp_error *err)
{
    int32_t unsteady = 0, measured = 0;
    double  worst = 0.0;

    for (int32_t i = 0; i < v->args->workload_count; i++) {
        measured += v->part[i].count;
        unsteady += v->part[i].summary.unsteady_count;
        worst = fmax(worst, v->part[i].summary.worst_spread);
    }
    if (unsteady == 0 || v->args->takes_unsteady) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL,
                     "%d of %d measurements are not steady: their steps spread by more "
                     "than %.0f %%, the worst by %.0f %%; let nothing else run, or take "
                     "them by --unsteady",
                     unsteady, measured, 100.0 * EMP_VALIDATION_SPREAD, 100.0 * worst);
}

static bool has_cases(const cli_validation *v)
{
    for (int32_t i = 0; i < v->args->workload_count; i++)
        if (v->part[i].count > 0) return true;
    return false;
}

/* Prints the measurements, also when Ctrl-C or a failure ends them; it then reports the
 * failure, and writes no file that would look whole. */
static emp_status run(cli_validation *v, emp_error *err)
{
    emp_status               st = EMP_OK;
    const cli_validate_args *a = v->args;

    for (int32_t i = 0; i < a->workload_count; i++) v->part[i].spec = a->workload[i];
    EMP_TRY(cli_replay_results_load(&v->imported, a->import, a->import_count, err));
    if (a->measured != NULL)
        EMP_TRY(emp_validation_record_load(&v->record, a->measured, err));
    for (int32_t i = 0; i < a->workload_count && st == EMP_OK; i++)
        st = run_part(v, &v->part[i], err);
    cli_bar_clear(&v->bar);
    if (a->export_to != NULL || (st != EMP_OK && !has_cases(v))) goto cleanup;
    if (st != EMP_OK) {
        if (summarize(v, NULL) == EMP_OK) cli_validation_print(v, NULL);
        goto cleanup;
    }
    EMP_TRY(summarize(v, err));
    EMP_TRY(cli_validation_print(v, err));
    EMP_TRY(refuse_unsteady(v, err));
    if (a->record != NULL) EMP_TRY(cli_validation_save(v, err));
    if (a->plot != NULL) EMP_TRY(cli_validation_plot(v, err));
    if (v->is_uncalibrated) cli_warn_uncalibrated(a->machine);
    cli_warn_rates(&a->replay);

cleanup:
    cli_bar_clear(&v->bar);
    return st;
}

static void clear(cli_validation *v)
{
    if (v == NULL) return;
    for (int32_t i = 0; i < v->args->workload_count; i++) emp_free(v->part[i].cases);
    cli_replay_results_clear(&v->imported);
    emp_validation_record_clear(&v->record);
    emp_free(v);
}

static const struct argp_child children[] = {
    {&cli_replay_argp, 0, NULL, 0}, {&cli_format_argp, 0, NULL, 0}, {0}};
const struct argp cmd_validate_argp = {options,  parse, "[RESULT...]", doc,
                                       children, NULL,  NULL};

emp_status cmd_validate(int argc, char **argv, emp_error *err)
{
    emp_status        st = EMP_OK;
    cli_validation   *v = NULL;
    cli_validate_args args = {.machine = "cpu2",
                              .placements = 30,
                              .rounds = 1,
                              .seed = 1,
                              .replay = cli_replay_options_default()};

    EMP_TRY(EMP_ALLOC(args.import, MOST_IMPORTS));
    cli_parse(&cmd_validate_argp, argc, argv, &args);
    if (args.runtime == NULL) args.runtime = cli_replay_runtime(&args.replay);
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
