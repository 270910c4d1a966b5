// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace bench policy: how fast the networks learn, beside PyTorch. */
#include <string.h>

#include "base/io/output.h"
#include "bench/speed/speed.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/progress.h"
#include "cli/stop.h"

enum {
    KEY_NETWORKS = 256,
    KEY_HIDDEN,
    KEY_SAMPLES,
    KEY_GROUPS,
    KEY_OPS,
    KEY_NODES,
    KEY_SETS,
    KEY_STEPS,
    KEY_PEERS,
    KEY_REPEATS,
    KEY_THREADS
};

struct args {
    emp_speed_params params;
    const char      *out;
    bool             is_forced;
    emp_sheet_format format;
};

static const struct argp_option options[] = {
    {"networks", KEY_NETWORKS, "A,B,...", 0,
     "Only these: placer, grouper, go, placeto, doppler, hsdag, giph (default "
     "placer,grouper)",
     0},
    {"hidden", KEY_HIDDEN, "A,B,...", 0, "Cells of the placer's LSTMs (default 512,256)",
     0},
    {"batches", KEY_SAMPLES, "A,B,...", 0, "Placements per update (default 1,4,16)", 0},
    {"groups", KEY_GROUPS, "N", 0, "Groups (default 256)", 0},
    {"ops", KEY_OPS, "N", 0, "Ops that the grouper puts into groups (default 82944)", 0},
    {"nodes", KEY_NODES, "N", 0, "Nodes that GO places (default 20000)", 0},
    {"sets", KEY_SETS, "N", 0, "Sets of nodes that HSDAG places (default 1000)", 0},
    {"steps", KEY_STEPS, "N", 0,
     "Nodes that Placeto, DOPPLER and GiPH place (default 64, which is the most of GiPH; "
     "DOPPLER has at most 128)",
     0},
    {"thread-counts", KEY_THREADS, "A,B,...", 0, "Numbers of threads (default 1,2)", 0},
    {"peers", KEY_PEERS, "A,B,...", 0, "Beside: torch (default) or none", 0},
    {"repeats", KEY_REPEATS, "N", 0, "Rounds (default 9)", 0},
    {"seed", 'k', "N", 0, "Seed of weights, inputs and actions (default 1)", 0},
    {"out", 'o', "FILE", 0, "Write every row as CSV", 0},
    CLI_FORCE_OPTION,
    {0},
};

static const char doc[] =
    "Time updates (forward, backward, Adam) of learners' networks on synthetic inputs, "
    "beside the same networks in PyTorch.\v"
    "Each round makes the same update in both, one after the other; the ratio compares "
    "within a round. The limit is what the matrix products alone would take at the "
    "speed of BLAS and of reading weights, both measured in the same run. PyTorch takes "
    "part if Debian's python3-torch is installed. Everything takes some minutes.\n\n"
    "  emplace bench policy --hidden 512 --batches 4\n"
    "  emplace bench policy --networks grouper --repeats 15\n"
    "  emplace bench policy --networks go,placeto --repeats 3\n"
    "  emplace bench policy --networks doppler,hsdag,giph --thread-counts 1\n"
    "  emplace bench policy --peers none --thread-counts 1,2,4\n"
    "  emplace bench policy --out policy.csv";

static int32_t parse_numbers(const char *option, const char *list, int32_t *numbers,
                             int32_t largest)
{
    char    word[32];
    int32_t count = 0;

    if (*list == '\0') cli_usage_error("--%s takes a list, not \"\"", option);
    while (cli_next_word(&list, word, sizeof word)) {
        if (count == EMP_SPEED_MAX)
            cli_usage_error("--%s takes at most %d numbers", option, EMP_SPEED_MAX);
        numbers[count++] = (int32_t)cli_integer(option, word, 1, largest);
    }
    return count;
}

static const cli_choice networks[] = {
    {"placer", 1u << EMP_STAND_PLACER},   {"grouper", 1u << EMP_STAND_GROUPER},
    {"go", 1u << EMP_STAND_GO},           {"placeto", 1u << EMP_STAND_PLACETO},
    {"doppler", 1u << EMP_STAND_DOPPLER}, {"hsdag", 1u << EMP_STAND_HSDAG},
    {"giph", 1u << EMP_STAND_GIPH}};
static const cli_choice peers[] = {{"none", 0}, {"torch", 1}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args      *args = (struct args *)state->input;
    emp_speed_params *p = &args->params;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->format; return 0;
    case KEY_NETWORKS:
        p->networks = cli_choices("networks", arg, networks, EMP_STAND_COUNT);
        return 0;
    case KEY_HIDDEN:
        p->hidden_count = parse_numbers("hidden", arg, p->hidden, 4096);
        return 0;
    case KEY_SAMPLES:
        p->samples_count = parse_numbers("batches", arg, p->samples, 64);
        return 0;
    case KEY_GROUPS: p->groups = (int32_t)cli_integer("groups", arg, 1, 4096); return 0;
    case KEY_NODES: p->nodes = (int32_t)cli_integer("nodes", arg, 1, 1000000); return 0;
    case KEY_SETS: p->sets = (int32_t)cli_integer("sets", arg, 1, 100000); return 0;
    case KEY_STEPS: p->steps = (int32_t)cli_integer("steps", arg, 1, 1024); return 0;
    case KEY_OPS: p->ops = (int32_t)cli_integer("ops", arg, 1, 10000000); return 0;
    case KEY_PEERS: p->has_torch = cli_choices("peers", arg, peers, 2); return 0;
    case CLI_KEY_FORCE: args->is_forced = true; return 0;
    case 'o': args->out = arg; return 0;
    case KEY_REPEATS:
        p->repeats = (int32_t)cli_integer("repeats", arg, 1, 100000);
        return 0;
    case 'k': p->seed = (uint64_t)cli_integer("seed", arg, 0, INT64_MAX); return 0;
    case KEY_THREADS:
        p->threads_count =
            parse_numbers("thread-counts", arg, p->threads, EMP_SPEED_MAX_THREADS);
        return 0;
    case ARGP_KEY_ARG:
        cli_usage_error("there is nothing to give without an option, but \"%s\"", arg);
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&cli_format_argp, 0, NULL, 0}, {0}};
const struct argp              cmd_bench_policy_argp = {options,  parse, NULL, doc,
                                                        children, NULL,  NULL};

emp_status cmd_bench_policy(int argc, char **argv, emp_error *err)
{
    emp_status  measured = EMP_OK;
    struct args args = {
        .params = {.networks = 1u << EMP_STAND_PLACER | 1u << EMP_STAND_GROUPER,
                   .hidden = {512, 256},
                   .hidden_count = 2,
                   .samples = {1, 4, 16},
                   .samples_count = 3,
                   .threads = {1, 2},
                   .threads_count = 2,
                   .groups = 256,
                   .ops = 82944,
                   .nodes = 20000,
                   .sets = 1000,
                   .steps = 64,
                   .repeats = 9,
                   .has_torch = true,
                   .seed = 1}};
    static emp_speed_report report;
    cli_bar                 bar;
    emp_sheet               sheet;

    cli_parse(&cmd_bench_policy_argp, argc, argv, &args);
    EMP_CHECK(emp_output_check(args.out, err));
    EMP_CHECK(emp_output_check_replaced(&args.out, 1, args.is_forced, err));
    args.params.stop = cli_stop_flag();
    args.params.on_progress = cli_bar_on_progress;
    args.params.context = &bar;
    cli_bar_init(&bar, "bench policy");
    measured = emp_speed_measure(&report, &args.params, err);
    cli_bar_clear(&bar);
    if (measured != EMP_OK && measured != EMP_EINTERRUPTED) return measured;
    emp_speed_tabulate(&sheet, &report);
    EMP_CHECK(cli_print_sheet(&sheet, args.format, args.out, err));
    return measured;
}
