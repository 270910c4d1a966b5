// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace bound SPEC: times that no placement can beat. */
#include <stdio.h>

#include "base/text/units.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/options/inputs.h"
#include "cli/options/placement_input.h"
#include "cli/options/run_options.h"
#include "cli/parse.h"
#include "cli/report/report.h"
#include "run/methods.h"

struct args {
    cli_task_options task;
    const char      *placement;
    int32_t          effort;
};

static const struct argp_option options[] = {
    {"effort", 'e', "N", 0,
     "1 (the default, what place and simulate spend) to 3: more time, a higher bound", 0},
    {"placement", 'p', "METHOD|FILE", 0,
     "Bound placements that have no other GPU kernels on CPUs than this one: a method's, "
     "a placement file's or a run record's",
     0},
    {0},
};

static const char doc[] =
    "Bound the time of a training step of SPEC, a workload spec or a graph file, from "
    "below:\nno placement that fits in memory takes less. docs/bounds.md proves it.\v"
    "  emplace bound nmt:layers=2 --machine k40x2\n"
    "  emplace bound inception_v3 --machine k40x2 --effort 3\n"
    "  emplace bound nmt:layers=2 --machine k40x2 --placement best.json --effort 2\n"
    "  emplace bound inception_v3 --machine k40x2 --runtime ideal --format json";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *args = (struct args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->task; return 0;
    case 'e':
        args->effort = (int32_t)cli_integer("effort", arg, 1, EMP_BOUNDS_MOST_EFFORT);
        return 0;
    case 'p': args->placement = arg; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static void print_bound(const char *key, emp_time_ns ns, const char *text)
{
    char value[32] = "none";

    if (ns > 0) emp_units_format_seconds((double)ns * 1e-9, value, sizeof value);
    printf("%-12s %-12s %s\n", key, value, text);
}

/* The bounds and what they are of; NULL when memory is out. */
static json_t *json_of(const struct args *args, const cli_inputs *inputs,
                       const emp_bounds *bounds)
{
    json_t *object =
        json_pack("{s:s, s:s, s:s}", "workload", args->task.spec, "machine",
                  inputs->machine->name, "runtime", inputs->problem->runtime.name);
    json_t *values = cli_bounds_json(bounds);

    cli_inputs_add_notes(object, inputs);
    if (json_object_update(object, values) != 0 ||
        json_object_set_new(object, "covers_homes",
                            json_boolean(!cli_bounds_leave_homes(inputs->problem))) !=
            0) {
        json_decref(object);
        object = NULL;
    }
    json_decref(values);
    return object;
}

static emp_status load(emp_owned_decision *decision, const char *placement,
                       const emp_problem *problem, emp_error *err)
{
    if (placement == NULL) return EMP_OK;
    if (!emp_method_exists(placement))
        return cli_decision_load(decision, placement, problem, err);
    EMP_CHECK(emp_decision_init(decision, problem->graph->op_count, 0, err));
    return cli_placement_by_method(decision->device_of_op, NULL, placement, NULL, problem,
                                   err);
}

static const struct argp_child children[] = {{&cli_task_argp, 0, NULL, 0}, {0}};
const struct argp cmd_bound_argp = {options, parse, "SPEC", doc, children, NULL, NULL};

emp_status cmd_bound(int argc, char **argv, emp_error *err)
{
    struct args        args = {.effort = EMP_BOUNDS_EFFORT};
    emp_status         st = EMP_OK;
    cli_inputs         inputs = {0};
    emp_bounds         bounds;
    emp_owned_decision decision = {0};

    cli_parse(&cmd_bound_argp, argc, argv, &args);
    cli_inputs_take_options(&inputs, &args.task);
    EMP_TRY(cli_inputs_load(&inputs, args.task.spec, args.task.machine, args.task.runtime,
                            err));
    EMP_TRY(load(&decision, args.placement, inputs.problem, err));
    const emp_bounds_options how = {.effort = args.effort,
                                    .any_order = decision.level_of_op != NULL,
                                    .device_of_op = decision.device_of_op};
    EMP_TRY(cli_bounds_compute(&bounds, inputs.problem, &how, err));
    if (args.task.format != EMP_SHEET_TEXT) {
        EMP_TRY(
            cli_print_object(json_of(&args, &inputs, &bounds), args.task.format, err));
        goto cleanup;
    }
    printf("%s on %s, runtime %s\n", args.task.spec, inputs.machine->name,
           inputs.problem->runtime.name);
    cli_inputs_print_runtime(&inputs);
#define X(name, key, text) print_bound(key, bounds.name##_ns, text);
    EMP_BOUNDS_LIST(X)
#undef X
    print_bound("lower bound", bounds.best_ns, "no placement that fits takes less");
    print_bound("on GPUs", bounds.gpu_kernels_ns,
                args.placement != NULL ? "nor any with no other GPU kernels on CPUs"
                                       : "nor any that keeps GPU kernels off the CPUs");
    if (cli_bounds_leave_homes(inputs.problem))
        printf("Bounds are %s.\n", CLI_BOUND_HOMES);
    if (bounds.is_infeasible) printf("No placement fits in memory.\n");

cleanup:
    emp_decision_clear(&decision);
    cli_inputs_clear(&inputs);
    return st;
}
