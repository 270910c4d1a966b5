// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace plan SPEC: how to spread a training step over many GPUs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/io/output.h"
#include "base/mem.h"
#include "base/text/options.h"
#include "base/text/text.h"
#include "cli/cli.h"
#include "cli/options/parallel.h"

enum { KEY_GPUS = 640, KEY_TOP, KEY_ALL_RANKS };

enum { TOP = 10 };

struct args {
    cli_parallel_options parallel;
    int32_t              gpus, top;
};

static const struct argp_option options[] = {
    {"machine", 'm', "NAME|FILE", 0, "Cluster, or machine whose GPUs a cluster has", 0},
    {"gpus", KEY_GPUS, "N", 0,
     "GPUs (default: as many as the degrees of SPEC need, or else all of the machine)",
     0},
    {"top", KEY_TOP, "N", 0, "Ways that are printed as text (default 10)", 0},
    {"all-ranks", KEY_ALL_RANKS, NULL, 0,
     "Simulate each rank, though a stage's ranks are alike", 0},
    {0},
};

static const char doc[] =
    "Rank all ways to spread a training step of SPEC over many GPUs.\v"
    "Keys that SPEC decides stay, and all others are searched: tp, pp, vp, ep, cp, "
    "micro_batch, recompute, schedule, and where nothing else fits the states that the "
    "host keeps. GPUs of several models get layers or micro-batches by their speed. "
    "docs/pipelines.md has the keys.\n\n"
    "  emplace plan llama3-70b:batch=128 --machine b200x8\n"
    "  emplace plan hf:path=config.json,tp=8,batch=1024,seq=8192 --machine h100 --gpus "
    "512";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *a = (struct args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->parallel.format; return 0;
    case 'm': a->parallel.machine = arg; return 0;
    case KEY_GPUS: a->gpus = (int32_t)cli_integer("gpus", arg, 1, 1 << 20); return 0;
    case KEY_TOP: a->top = (int32_t)cli_integer("top", arg, 1, 1 << 20); return 0;
    case KEY_ALL_RANKS: a->parallel.all_ranks = true; return 0;
    case ARGP_KEY_ARG:
        if (a->parallel.spec != NULL)
            cli_usage_error("one SPEC only, not also \"%s\"", arg);
        a->parallel.spec = arg;
        return 0;
    case ARGP_KEY_END:
        if (a->parallel.spec == NULL) cli_usage_error("SPEC is missing");
        if (a->parallel.machine == NULL) cli_usage_error("--machine is missing");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&cli_format_argp, 0, NULL, 0}, {0}};
const struct argp cmd_plan_argp = {options, parse, "SPEC", doc, children, NULL, NULL};

emp_status cmd_plan(int argc, char **argv, emp_error *err)
{
    struct args args = {.top = TOP};

    cli_parse(&cmd_plan_argp, argc, argv, &args);
    return cli_parallel_plan(&args.parallel, args.gpus, args.top, err);
}
