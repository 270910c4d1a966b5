// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace bench oracle: how fast the oracle is, beside other simulators. */
#include <stdlib.h>
#include <string.h>

#include "base/io/output.h"
#include "bench/micro/oracle.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/progress.h"
#include "cli/stop.h"

enum {
    KEY_SIZES = 256,
    KEY_PLACEMENTS,
    KEY_PROFILES,
    KEY_PEERS,
    KEY_LEVELS,
    KEY_REPEATS
};

enum { BIT_IDEAL = 1u << EMP_SERIES_IDEAL, BIT_TEXTBOOK = 1u << EMP_SERIES_TEXTBOOK };

static const cli_choice placements[] = {{"gpu", 1u << EMP_PLACE_GPU},
                                        {"pipeline", 1u << EMP_PLACE_PIPELINE},
                                        {"groups", 1u << EMP_PLACE_GROUPS},
                                        {"random", 1u << EMP_PLACE_RANDOM}};
static const cli_choice profiles[] = {{"ideal", BIT_IDEAL},
                                      {"tf-r1.3", 1u << EMP_SERIES_TF},
                                      {"ideal-levels", 1u << EMP_SERIES_IDEAL_LEVELS},
                                      {"tf-r1.3-levels", 1u << EMP_SERIES_TF_LEVELS},
                                      {"ideal-models", 1u << EMP_SERIES_IDEAL_MODELS},
                                      {"tf-r1.3-models", 1u << EMP_SERIES_TF_MODELS}};
static const cli_choice peers[] = {
    {"none", 0},
    {"textbook", BIT_TEXTBOOK},
    {"simgrid", 1u << EMP_SERIES_SIMGRID_FIFO | 1u << EMP_SERIES_SIMGRID_DAG},
    {"python", 1u << EMP_SERIES_PYTHON}};

enum { CHOICES = 4, PROFILES = 6 };

struct args {
    const char *out;
    const char *sizes, *machine, *placements, *profiles, *peers; /* NULL = default */
    const char *const *source;
    int32_t            source_count;
    const char        *levels; /* NULL = random */
    int32_t            repeats, threads;
    uint64_t           seed;
    bool               is_quick, is_forced;
    emp_sheet_format   format;
};

static const struct argp_option options[] = {
    {"sizes", KEY_SIZES, "A,B,...", 0,
     "Ops of synthetic graphs: 1k, 10k, 83k (82944), 1M, or numbers", 0},
    {"machine", 'm', "NAME|FILE", 0, "Machine (default " EMP_ORACLE_MACHINE ")", 0},
    {"patterns", KEY_PLACEMENTS, "A,B,...", 0,
     "Only these placements: gpu, pipeline, groups (256 on random devices), random "
     "(each op)",
     0},
    {"profiles", KEY_PROFILES, "A,B,...", 0,
     "Only these runtime profiles (default ideal, tf-r1.3); with an order of ops: "
     "ideal-levels, tf-r1.3-levels; with a model for each device: ideal-models, "
     "tf-r1.3-models",
     0},
    {"levels", KEY_LEVELS, "random|bottom", 0,
     "Order of ops in the profiles with one: random (default), or by the longest way to "
     "the end of the step",
     0},
    {"peers", KEY_PEERS, "A,B,...", 0, "Beside these: textbook, simgrid, python; or none",
     0},
    {"repeats", KEY_REPEATS, "N", 0, "Rounds (default 15; 5 when quick)", 0},
    {"quick", 'q', NULL, 0,
     "1k and 10k ops, or each SPEC, beside the textbook simulator: seconds", 0},
    {"seed", 'k', "N", 0, "Seed of graphs and placements (default 1)", 0},
    {"threads", 't', "N", 0, "Also measure batches of placements on N threads", 0},
    {"out", 'o', "FILE", 0, "Write every series as CSV", 0},
    CLI_FORCE_OPTION,
    {0},
};

static const char doc[] =
    "Time the oracle on synthetic training graphs, or on those of workloads and files, "
    "beside a textbook simulator, SimGrid and Python.\v"
    "SPEC is a workload spec or a graph file. Without one, and for --sizes, graphs are "
    "synthetic. There are at most 12 graphs in all. "
    "Each round runs the same placements on all simulators; a ratio compares within a "
    "round. "
    "SimGrid takes part if it was there when this program was built; it and Python only "
    "on graphs that they finish in seconds.\n\n"
    "  emplace bench oracle --quick\n"
    "  emplace bench oracle --sizes 10k --patterns groups --repeats 31\n"
    "  emplace bench oracle --sizes 10k,83k --peers none --threads 2\n"
    "  emplace bench oracle --profiles tf-r1.3,tf-r1.3-levels --peers none\n"
    "  emplace bench oracle bert --profiles ideal,ideal-levels --levels bottom\n"
    "  emplace bench oracle --sizes 1M --machine k40x4x2 --peers none\n"
    "  emplace bench oracle --out oracle.csv";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *args = (struct args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->format; return 0;
    case KEY_SIZES: args->sizes = arg; return 0;
    case 'm': args->machine = arg; return 0;
    case KEY_PLACEMENTS: args->placements = arg; return 0;
    case KEY_PROFILES: args->profiles = arg; return 0;
    case KEY_PEERS: args->peers = arg; return 0;
    case 'o': args->out = arg; return 0;
    case KEY_REPEATS:
        args->repeats = (int32_t)cli_integer("repeats", arg, 1, 100000);
        return 0;
    case CLI_KEY_FORCE: args->is_forced = true; return 0;
    case 'q': args->is_quick = true; return 0;
    case 'k': args->seed = (uint64_t)cli_integer("seed", arg, 0, INT64_MAX); return 0;
    case 't':
        args->threads = (int32_t)cli_integer("threads", arg, 1, EMP_ORACLE_MAX_THREADS);
        return 0;
    case KEY_LEVELS:
        if (strcmp(arg, "random") != 0 && strcmp(arg, "bottom") != 0)
            cli_usage_error("--levels is random or bottom, not \"%s\"", arg);
        args->levels = arg;
        return 0;
    case ARGP_KEY_ARGS:
        args->source = (const char *const *)(state->argv + state->next);
        args->source_count = state->argc - state->next;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const char *or_default(const char *text, const char *otherwise)
{
    return text != NULL ? text : otherwise;
}

static emp_oracle_params make_params(const struct args *a)
{
    bool              quick = a->is_quick;
    bool              has_sizes = a->sizes != NULL || a->source_count == 0;
    emp_oracle_params p = {.machine = a->machine,
                           .source = a->source,
                           .source_count = a->source_count,
                           .has_bottom_levels =
                               a->levels != NULL && strcmp(a->levels, "bottom") == 0,
                           .threads = a->threads,
                           .seed = a->seed};

    p.repeats = a->repeats > 0 ? a->repeats : quick ? 5 : 15;
    if (has_sizes)
        p.size_count = cli_sizes(or_default(a->sizes, quick ? "1k,10k" : "1k,10k,83k,1M"),
                                 p.size, EMP_ORACLE_MAX_GRAPHS);
    if (p.size_count + p.source_count > EMP_ORACLE_MAX_GRAPHS)
        cli_usage_error("give at most %d graphs, not %d", EMP_ORACLE_MAX_GRAPHS,
                        p.size_count + p.source_count);
    p.placements =
        cli_choices("patterns", or_default(a->placements, "gpu,pipeline,groups,random"),
                    placements, CHOICES);
    p.series = cli_choices("profiles", or_default(a->profiles, "ideal,tf-r1.3"), profiles,
                           PROFILES);
    if (a->levels != NULL && !emp_oracle_has_levels(&p))
        cli_usage_error("--levels is for the profiles ideal-levels and tf-r1.3-levels; "
                        "add one to --profiles");
    p.series |= cli_choices(
        "peers", or_default(a->peers, quick ? "textbook" : "textbook,simgrid,python"),
        peers, CHOICES);
    return p;
}

static const struct argp_child children[] = {{&cli_format_argp, 0, NULL, 0}, {0}};
const struct argp              cmd_bench_oracle_argp = {options,  parse, "[SPEC...]", doc,
                                                        children, NULL,  NULL};

emp_status cmd_bench_oracle(int argc, char **argv, emp_error *err)
{
    emp_status        measured = EMP_OK;
    struct args       args = {.seed = 1};
    emp_oracle_report report;
    cli_bar           bar;
    emp_sheet         sheet;

    cli_parse(&cmd_bench_oracle_argp, argc, argv, &args);
    emp_oracle_params params = make_params(&args);
    EMP_CHECK(emp_output_check(args.out, err));
    EMP_CHECK(emp_output_check_inputs(args.source, args.source_count, &args.out, 1, err));
    EMP_CHECK(emp_output_check_inputs(&args.machine, 1, &args.out, 1, err));
    EMP_CHECK(emp_output_check_replaced(&args.out, 1, args.is_forced, err));
    params.stop = cli_stop_flag();
    params.on_progress = cli_bar_on_progress;
    params.context = &bar;
    cli_bar_init(&bar, "bench oracle");
    measured = emp_oracle_measure(&report, &params, err);
    cli_bar_clear(&bar);
    if (measured != EMP_OK && measured != EMP_EINTERRUPTED) return measured;
    emp_oracle_tabulate(&sheet, &report);
    EMP_CHECK(cli_print_sheet(&sheet, args.format, args.out, err));
    return measured;
}
