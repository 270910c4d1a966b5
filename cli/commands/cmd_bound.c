// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace bound SPEC: times that no placement can beat. */
#include <stdio.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/options/run_options.h"
#include "cli/report.h"

struct args {
    const char *spec, *machine, *runtime;
    int32_t     effort;
    bool        is_max_load, is_json;
};

enum { KEY_OBJECTIVE = 256 };

static const struct argp_option options[] = {
    {"machine", 'm', "NAME|FILE", 0, CLI_MACHINE_HELP, 0},
    {"runtime", 'r', "NAME|FILE", 0, CLI_RUNTIME_HELP, 0},
    {"objective", KEY_OBJECTIVE, "NAME", 0, CLI_OBJECTIVE_HELP, 0},
    {"effort", 'e', "N", 0,
     "1 (the default, what place and simulate spend) to 3: more time, a higher bound", 0},
    {"json", 'j', NULL, 0, "Print a JSON object", 0},
    {0},
};

static const char doc[] =
    "Bound the time of a training step of SPEC, a workload spec or a graph file, from "
    "below:\nno placement that fits in memory takes less. docs/bounds.md proves it.\v"
    "  emplace bound nmt:layers=2 --machine k40x2\n"
    "  emplace bound inception_v3 --machine k40x2 --effort 3\n"
    "  emplace bound inception_v3 --machine k40x2 --runtime ideal --json";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *args = (struct args *)state->input;

    switch (key) {
    case 'm': args->machine = arg; return 0;
    case 'r': args->runtime = arg; return 0;
    case KEY_OBJECTIVE: args->is_max_load = cli_asks_max_load(arg); return 0;
    case 'e':
        args->effort = (int32_t)cli_integer("effort", arg, 1, EMP_BOUNDS_MOST_EFFORT);
        return 0;
    case 'j': args->is_json = true; return 0;
    case ARGP_KEY_ARG:
        if (args->spec != NULL) cli_usage_error("one SPEC, not also \"%s\"", arg);
        args->spec = arg;
        return 0;
    case ARGP_KEY_END:
        if (args->spec == NULL)
            cli_usage_error("a SPEC is missing; see %s --help", state->name);
        cli_require_machine(args->spec, args->machine);
        if (args->is_max_load) args->runtime = cli_runtime_of_max_load(args->runtime);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static void print_bound(const char *key, emp_time_ns ns, const char *text)
{
    char value[32] = "none";

    if (ns > 0) emp_units_format_seconds((double)ns * 1e-9, value, sizeof value);
    printf("%-12s %-12s %s\n", key, value, text);
}

emp_status cmd_bound(int argc, char **argv, emp_error *err)
{
    const struct argp argp = {
        .options = options, .parser = parse, .args_doc = "SPEC", .doc = doc};
    struct args args = {.effort = EMP_BOUNDS_EFFORT};
    emp_status  st = EMP_OK;
    cli_inputs  inputs = {0};
    emp_bounds  bounds;

    cli_parse(&argp, argc, argv, &args);
    EMP_TRY(cli_inputs_load(&inputs, args.spec, args.machine, args.runtime, err));
    EMP_TRY(emp_bounds_compute(&bounds, inputs.problem, args.effort, err));
    if (args.is_json) {
        EMP_TRY(cli_print_json(cli_bounds_json(&bounds), err));
        goto cleanup;
    }
    printf("%s on %s, runtime %s\n", args.spec, inputs.machine->name,
           inputs.problem->runtime.name);
#define X(name, key, text) print_bound(key, bounds.name##_ns, text);
    EMP_BOUNDS_LIST(X)
#undef X
    print_bound("lower bound", bounds.best_ns, "no placement that fits takes less");
    if (bounds.is_infeasible) printf("No placement fits in memory.\n");

cleanup:
    cli_inputs_clear(&inputs);
    return st;
}
