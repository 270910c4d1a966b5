// SPDX-License-Identifier: GPL-3.0-or-later
/* The one table of all commands. */
#include "cli/cli.h"

#define COMMAND(name, word, summary)                         \
    {                                                        \
        word, summary, cmd_##name, &cmd_##name##_argp, NULL, \
    }
#define GROUP(word, summary, commands)      \
    {                                       \
        word, summary, NULL, NULL, commands \
    }

static const cli_command calibrate[] = {
    COMMAND(calibrate_fit, "fit", "fit constants to published step times"),
    COMMAND(calibrate_check, "check",
            "public measurements beside the model's predictions"),
    COMMAND(calibrate_iterations, "iterations",
            "measured iterations of pipelines beside predictions"),
    COMMAND(calibrate_measure, "measure", "fit constants to benchmarks of this computer"),
    COMMAND(calibrate_ops, "ops", "measure the kernels of a graph, for --costs"),
    {0},
};

static const cli_command cost[] = {
    COMMAND(cost_gemm, "gemm", "times of matrix products"),
    COMMAND(cost_attention, "attention", "times of attention"),
    COMMAND(cost_comm, "comm", "times of collectives"),
    {0},
};

static const cli_command bench[] = {
    COMMAND(bench_adversary, "adversary", "where one method loses most to another"),
    COMMAND(bench_anomalies, "anomalies", "count how often less work takes longer"),
    COMMAND(bench_fusion, "fusion", "what fused ops are worth"),
    COMMAND(bench_mechanisms, "mechanisms",
            "what each mechanism of the runtime contributes"),
    COMMAND(bench_order, "order", "what an order of ops is worth"),
    COMMAND(bench_placers, "placers", "every method with equal budgets, compared"),
    COMMAND(bench_surrogate, "surrogate",
            "time and rate the surrogate beside the oracle"),
    COMMAND(bench_transfer, "transfer",
            "what learned weights are worth on graphs not seen"),
    {0},
};

const cli_command cli_commands[] = {
    COMMAND(table, "table", "make a table of the paper beside ours"),
    COMMAND(ablate, "ablate", "vary one choice of a method at a time"),
    COMMAND(study, "study", "answer an open question of the papers"),
    COMMAND(place, "place", "look for a good placement"),
    COMMAND(train, "train", "run a learner or a search, with checkpoints"),
    COMMAND(plan, "plan", "rank the ways to train a model on many GPUs"),
    COMMAND(simulate, "simulate", "time one step under a placement"),
    COMMAND(compare, "compare", "why one placement is faster than another"),
    COMMAND(score, "score", "score a placement on an instance of PlaceBench"),
    COMMAND(bound, "bound", "times that no placement can beat"),
    COMMAND(replay, "replay", "execute placements, and compare with predictions"),
    COMMAND(validate, "validate", "compare predictions with measurements"),
    COMMAND(graph, "graph", "show the ops of a workload or a graph file"),
    GROUP("cost", "print a device model's times of kernels", cost),
    GROUP("calibrate", "fit a machine's constants to published or measured times",
          calibrate),
    COMMAND(merge, "merge", "join the records that the shards of a study have made"),
    COMMAND(record, "record", "show the result and learning curve of a run"),
    COMMAND(report, "report", "make a page from run records: curves, placement, ..."),
    COMMAND(plot, "plot", "draw a table in CSV as a figure"),
    GROUP("bench", "compare methods; measure simulators, networks, mechanisms", bench),
    COMMAND(serve, "serve", "answer requests of other programs, as lines of JSON"),
    COMMAND(workloads, "workloads", "list the workload families, or one's parameters"),
    COMMAND(machines, "machines", "list the machines, or one's devices"),
    COMMAND(runtimes, "runtimes", "list the runtime profiles, or one's switches"),
    COMMAND(instances, "instances",
            "list PlaceBench's instances, or the facts about one"),
    COMMAND(methods, "methods", "list the methods, or one's options"),
    {0},
};
