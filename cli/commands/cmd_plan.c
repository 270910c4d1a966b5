// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace plan SPEC: how to spread a model that is trained or served over many GPUs. */
#include <string.h>

#include "base/text/options.h"
#include "cli/cli.h"
#include "cli/options/parallel.h"

enum { KEY_GPUS = 640, KEY_TOP, KEY_OBJECTIVE, KEY_FORM };

enum { TOP = 10 };

struct args {
    cli_parallel_options parallel;
    int32_t              gpus, top;
};

static const struct argp_option options[] = {
    {"machine", 'm', "NAME|FILE", 0, "Cluster, or machine whose GPUs a cluster has", 0},
    {"gpus", KEY_GPUS, "N", 0,
     "GPUs (default: as many as the degrees of SPEC need, or else all of a machine; a "
     "cluster "
     "needs N)",
     0},
    {"top", KEY_TOP, "N", 0,
     "Ways that are printed (default 10 as text or Markdown, all as CSV or JSON)", 0},
    {"objective", KEY_OBJECTIVE, "NAME", 0,
     "step-time (default); for a model that is served also batch: the most sequences "
     "that "
     "fit, or tokens: the most tokens a second, each way with its largest batch",
     0},
    {"form", KEY_FORM, "NAME", 0,
     "Print only the best way that the program can run, as flags of megatron or "
     "deepspeed, or as a command of vllm or llama.cpp",
     0},
    {"all-ranks", CLI_FLAG(struct args, parallel.all_ranks), NULL, 0,
     "Simulate each rank, though a stage's ranks are alike", 0},
    {0},
};

static const char doc[] =
    "Rank all ways to spread a model over many GPUs that train or serve it.\v"
    "Keys that SPEC decides stay, and all others are searched: tp, pp, vp, ep, cp, "
    "micro_batch, recompute, schedule, and where nothing else fits the states that the "
    "host keeps. GPUs of several models get layers or micro-batches by their speed. "
    "With phase=decode or phase=prefill the model is served: batch sequences of seq "
    "tokens, "
    "weights as quant says, keys and values as cache_dtype says. docs/pipelines.md has "
    "the "
    "keys. --form llama.cpp places whole layers on GPUs of any models and on the CPU, "
    "and "
    "experts on the CPU where that is faster.\n\n"
    "  emplace plan llama3-70b:batch=128 --machine b200x8\n"
    "  emplace plan hf:path=config.json,tp=8,batch=1024,seq=8192 --machine h100 --gpus "
    "512\n"
    "  emplace plan hf:path=config.json,phase=decode,seq=8192,batch=32 -m dgx-h100\n"
    "  emplace plan llama3.1-70b:phase=decode,seq=8192,quant=fp8 -m dgx-h100 \\\n"
    "      --objective tokens --form vllm\n"
    "  emplace plan model.gguf -m rtx4090x2+rtx3060 --form llama.cpp";

/* The position of a word of an option's list. */
static int32_t word(const char *given, const char *option, const char *words)
{
    const int32_t index = emp_words_find(words, given, strlen(given));

    if (index < 0) cli_usage_error("--%s %s is none of %s", option, given, words);
    return index;
}

/* --form prints for another program, so nothing else is printed. */
static void check_form(const struct args *a)
{
    if (!a->parallel.has_form) return;
    if (a->top > 0) cli_usage_error("--form prints only the best way; leave out --top");
    if (a->parallel.format != EMP_SHEET_TEXT)
        cli_usage_error(
            "--form prints a command or flags as they are; leave out --format");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *a = (struct args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->parallel.format; return 0;
    case 'm': a->parallel.machine = arg; return 0;
    case KEY_GPUS: a->gpus = (int32_t)cli_integer("gpus", arg, 1, 1 << 20); return 0;
    case KEY_TOP: a->top = (int32_t)cli_integer("top", arg, 1, 1 << 20); return 0;
    case KEY_OBJECTIVE:
        a->parallel.goal =
            (emp_serving_goal)word(arg, "objective", EMP_SERVING_GOAL_WORDS);
        return 0;
    case KEY_FORM:
        a->parallel.form = (cli_plan_form)word(arg, "form", CLI_PLAN_FORM_WORDS);
        a->parallel.has_form = true;
        return 0;
    case ARGP_KEY_ARG:
        if (a->parallel.spec != NULL)
            cli_usage_error("one SPEC only, not also \"%s\"", arg);
        a->parallel.spec = arg;
        return 0;
    case ARGP_KEY_END:
        if (a->parallel.spec == NULL) cli_usage_error("SPEC is missing");
        if (a->parallel.machine == NULL) cli_usage_error("--machine is missing");
        check_form(a);
        return 0;
    default: return cli_store(key, arg, a);
    }
}

static const struct argp_child children[] = {{&cli_format_argp, 0, NULL, 0}, {0}};
const struct argp cmd_plan_argp = {options, parse, "SPEC", doc, children, NULL, NULL};

emp_status cmd_plan(int argc, char **argv, emp_error *err)
{
    struct args args = {0};

    cli_parse(&cmd_plan_argp, argc, argv, &args);
    if (args.parallel.has_form && args.parallel.form == CLI_PLAN_LLAMA) {
        if (args.gpus > 0 || args.parallel.all_ranks)
            cli_usage_error("--form llama.cpp uses all devices of --machine; leave out "
                            "--gpus and --all-ranks");
        return cli_serving_llama(&args.parallel, err);
    }
    if (args.top == 0)
        args.top = cli_format_is_for_people(args.parallel.format) ? TOP : INT32_MAX;
    return cli_parallel_plan(&args.parallel, args.gpus, args.top, err);
}
