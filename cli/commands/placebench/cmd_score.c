// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace score PLACEMENT --instance NAME: a placement beside what is known of an instance of PlaceBench. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/units.h"
#include "bench/placebench/placebench.h"
#include "cli/cli.h"
#include "cli/options/placement_input.h"
#include "cli/options/run_options.h"
#include "cli/report/report.h"
#include "sim/engine/sim.h"

struct args {
    const char      *placement, *instance;
    emp_sheet_format format;
};

static const struct argp_option options[] = {
    {"instance", CLI_TEXT(struct args, instance), "NAME", 0,
     "Instance of PlaceBench; emplace instances lists them", 0},
    {0},
};

static const char doc[] =
    "Score a placement on an instance of PlaceBench: its step time, whether it fits in "
    "memory, and how far it is above the lower bound and the best step time known.\v"
    "PLACEMENT is a placement file, a run record (.h5) or a graph file whose nodes name "
    "devices. A placement that does not fit in memory is a result, too: the program "
    "exits 0 and says so, in JSON with feasible. A placement of another graph, or an "
    "instance that has changed, is an error (exit 1).\n\n"
    "  emplace place giph:v=30,alpha=0.2,p=0.1,seed=1 \\\n"
    "      --machine giph:devices=8,seed=1 --runtime edges \\\n"
    "      --method heft --out heft.json\n"
    "  emplace score heft.json --instance giph-30-1\n"
    "  emplace score heft.json --instance giph-30-1 --format json";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *args = (struct args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->format; return 0;
    case ARGP_KEY_ARG:
        if (args->placement != NULL)
            cli_usage_error("one PLACEMENT only, not also \"%s\"", arg);
        args->placement = arg;
        return 0;
    case ARGP_KEY_END:
        if (args->placement == NULL)
            cli_usage_error("a PLACEMENT is missing: a placement file or a run record");
        if (args->instance == NULL)
            cli_usage_error("--instance is missing; emplace instances lists them");
        return 0;
    default: return cli_store(key, arg, args);
    }
}

static const struct argp_child children[] = {{&cli_format_argp, 0, NULL, 0}, {0}};
const struct argp              cmd_score_argp = {options,  parse, "PLACEMENT", doc,
                                                 children, NULL,  NULL};

/* ---- scoring ---- */

/* A placement that decides more than devices would beat others unfairly. */
static emp_status check_devices_alone(const emp_owned_decision *d, const char *path,
                                      emp_error *err)
{
    if (d->level_of_op == NULL && d->leader_of_op == NULL) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL,
                     "%s decides the %s, too; PlaceBench compares only devices", path,
                     d->level_of_op != NULL ? "order of ops" : "fusion of ops");
}

/* Finds the bound of placements with as few GPU kernels on CPUs, which known.tsv has not. */
static emp_status bound(emp_bounds *bounds, const emp_placebench_instance *instance,
                        const emp_problem *problem, const emp_device_id *device_of_op,
                        emp_error *err)
{
    const emp_bounds_options how = {.effort = EMP_BOUNDS_EFFORT,
                                    .device_of_op = device_of_op};

    *bounds = (emp_bounds){0};
    if (!instance->is_known) return EMP_OK;
    EMP_CHECK(cli_bounds_compute(bounds, problem, &how, err));
    *bounds = (emp_bounds){.best_ns = (emp_time_ns)llround(instance->bound_s * 1e9),
                           .gpu_kernels_ns = bounds->gpu_kernels_ns};
    return EMP_OK;
}

static emp_status simulate(emp_sim_result *result, emp_bounds *bounds,
                           const emp_placebench_instance *instance, const char *path,
                           const emp_problem *problem, emp_error *err)
{
    emp_status         st = EMP_OK;
    emp_sim           *sim = NULL;
    emp_owned_decision decision;

    EMP_TRY(cli_decision_load(&decision, path, problem, err));
    EMP_TRY(check_devices_alone(&decision, path, err));
    EMP_TRY(emp_sim_create(&sim, problem, err));
    EMP_TRY(emp_sim_run_traced(sim, decision.device_of_op, NULL, result, err));
    EMP_TRY(bound(bounds, instance, problem, decision.device_of_op, err));

cleanup:
    emp_sim_destroy(sim);
    emp_decision_clear(&decision);
    return st;
}

/* ---- printing ---- */

/* How far the step is above the best known, as a fraction of it; below 0 where it is better. */
static double gap_to_best(const emp_placebench_instance *instance,
                          const emp_sim_result          *result)
{
    if (!result->is_feasible) return NAN;
    return (double)result->step_time_ns * 1e-9 / instance->best_s - 1;
}

static emp_status print_object(const struct args             *args,
                               const emp_placebench_instance *instance,
                               const emp_problem *problem, const emp_sim_result *result,
                               const emp_bounds *bounds, emp_error *err)
{
    json_t *object = cli_report_json(problem, result, NULL, bounds);
    json_t *of =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:o}", "instance",
                  instance->task.key, "split", emp_placebench_split_name(instance->split),
                  "workload", instance->task.spec, "machine", instance->task.machine,
                  "runtime", instance->frozen.runtime, "placement", args->placement,
                  "best_known_s", cli_json_number(instance->best_s),
                  "best_known_gap_frac", cli_json_number(gap_to_best(instance, result)));

    if (json_object_update(object, of) != 0) {
        json_decref(object);
        object = NULL;
    }
    json_decref(of);
    return cli_print_object(object, args->format, err);
}

static void print_best(const emp_placebench_instance *instance,
                       const emp_sim_result          *result)
{
    const double gap = gap_to_best(instance, result);
    char         text[EMP_UNITS_TEXT_BYTES];

    if (!instance->is_known) return;
    printf("best known   %s",
           emp_units_format_seconds(instance->best_s, text, sizeof text));
    if (!isnan(gap))
        printf(", %s %s", gap < 0 ? "beaten by" : "gap",
               emp_units_format_percent(fabs(gap), text, sizeof text));
    printf(" (%s, ", instance->method);
    if (instance->budget > 0) printf("%" PRId64 " evaluations, ", instance->budget);
    printf("seed %" PRIu64 ")\n", instance->seed);
}

static emp_status print_score(const struct args             *args,
                              const emp_placebench_instance *instance,
                              const emp_problem *problem, const emp_sim_result *result,
                              const emp_bounds *bounds, emp_error *err)
{
    if (args->format != EMP_SHEET_TEXT)
        return print_object(args, instance, problem, result, bounds, err);
    printf("%s, %s: %s on %s, runtime %s, placement %s\n", instance->task.key,
           emp_placebench_split_name(instance->split), instance->task.spec,
           instance->task.machine, instance->frozen.runtime, args->placement);
    print_best(instance, result);
    cli_report_print(problem, result, NULL, bounds);
    return EMP_OK;
}

emp_status cmd_score(int argc, char **argv, emp_error *err)
{
    emp_status                     st = EMP_OK;
    struct args                    args = {0};
    emp_placebench                 bench = {0};
    const emp_placebench_instance *instance = NULL;
    emp_loaded_task                loaded = {0};
    emp_sim_result                 result;
    emp_bounds                     bounds;

    cli_parse(&cmd_score_argp, argc, argv, &args);
    EMP_TRY(emp_placebench_load(&bench, err));
    EMP_TRY(emp_placebench_find(&instance, &bench, args.instance, err));
    EMP_TRY(emp_placebench_need_file(instance, err));
    EMP_TRY(emp_tasks_load(&loaded, &instance->task, 1, NULL, 1, err));
    EMP_TRY(simulate(&result, &bounds, instance, args.placement, loaded.problem, err));
    EMP_TRY(print_score(&args, instance, loaded.problem, &result, &bounds, err));

cleanup:
    emp_tasks_clear(&loaded, 1);
    emp_placebench_clear(&bench);
    return st;
}
