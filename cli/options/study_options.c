// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options/study_options.h"

#include "cli/cli.h"
#include "cli/format.h"

static const struct argp_option options[] = {
    {"machine", 'm', "NAME|FILE", 0, "Machine to place on (emplace machines lists them)",
     0},
    {"runtime", 'r', "NAME|FILE", 0,
     "Runtime profile whose rules are events (default: that which fits the graph)", 0},
    {"samples", 'n', "N", 0, "Placements of each kind", 0},
    {"seed", 'k', "N", 0, "Seed of all that is drawn (default 1)", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    cli_study_options *o = (cli_study_options *)state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->format; return 0;
    case 'm': o->machine = arg; return 0;
    case 'r': o->runtime = arg; return 0;
    case 'n':
        o->samples = (int32_t)cli_integer("samples", arg, o->least_samples, 100000);
        return 0;
    case 'k': o->seed = (uint64_t)cli_integer("seed", arg, 0, INT64_MAX); return 0;
    case ARGP_KEY_ARG:
        if (o->spec != NULL) cli_usage_error("one SPEC only, not also \"%s\"", arg);
        o->spec = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->spec == NULL) cli_usage_error("a SPEC is missing; --help has examples");
        if (o->machine == NULL)
            cli_usage_error("--machine is missing; emplace machines lists what there is");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&cli_format_argp, 0, NULL, 0}, {0}};
const struct argp cli_study_argp = {options, parse, NULL, NULL, children, NULL, NULL};

cli_study_options cli_study_options_default(int32_t samples, int32_t least_samples)
{
    return (cli_study_options){
        .samples = samples, .least_samples = least_samples, .seed = 1};
}
