// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace train SPEC: place for long runs of learners and searches, with a checkpoint
 * beside the record, alone or on several ranks. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text/text.h"
#include "cli/cli.h"
#include "cli/commands/place.h"
#include "cli/commands/train_tasks.h"
#include "cli/parse.h"
#include "cli/stop.h"
#include "run/methods.h"
#include "run/ranks/ranks.h"

enum {
    KEY_EVERY = 768,
    KEY_RESUME,
    KEY_ASYNC,
    KEY_TASKS,
    KEY_IMITATE,
    KEY_IMITATE_BUDGET,
    KEY_IMITATE_OPTIONS,
    KEY_IMITATE_ROUNDS
};

enum { IMITATE_ROUNDS = 300 };

static const struct argp_option options[] = {
    {"checkpoint-every", KEY_EVERY, "TIME", 0,
     "Time between checkpoints (default: 10 or more, for under 1 % of the time)", 0},
    {"resume", KEY_RESUME, NULL, 0, "Go on from the checkpoint", 0},
    {"tasks", KEY_TASKS, "SET|FILE,...", 0,
     "Instead of a SPEC: train on these tasks in turn (table1, fresh, all, "
     "placebench:train, or a file)",
     0},
    {"imitate", KEY_IMITATE, "METHOD", 0,
     "With --tasks: first imitate this method's placements, or those of FILE,..., one a "
     "task",
     0},
    {"imitate-budget", KEY_IMITATE_BUDGET, "N", 0,
     "Evaluations that it gets for each task (default 1000)", 0},
    {"imitate-options", KEY_IMITATE_OPTIONS, "KEY=VALUE,...", 0, "Its options", 0},
    {"imitate-rounds", KEY_IMITATE_ROUNDS, "N", 0,
     "Steps of imitation for each task (default 300)", 0},
    {"async", KEY_ASYNC, NULL, 0,
     "With mpirun: rank 0 is a parameter server, the others are controllers that do not "
     "wait for each other; no two runs give the same result",
     0},
    {0},
};

static const char doc[] =
    "Train a learner, or run a long search, on SPEC, a workload spec or a graph file.\v"
    "While the run is under way its state is in a checkpoint beside the record,\n"
    "run.checkpoint.h5 for run.h5. Whatever ends the program, the same command\n"
    "with --resume goes on from there, and in the end the record is the same, byte\n"
    "for byte, as that of a run that nothing disturbed; with --seconds the clock\n"
    "decides how far either gets. Ctrl-C, SIGTERM and SIGHUP save before they end\n"
    "it; a second one ends it at once, and the checkpoint before it remains.\n"
    "With --tasks it trains one set of weights on several graphs in turn and writes\n"
    "them to --weights-out. A line of the file is NAME SPEC|FILE MACHINE. All tasks\n"
    "share the budget. Ctrl-C writes the weights so far; --weights goes on from\n"
    "them. On another graph, place --weights proposes without training first.\n"
    "With --imitate it first learns to do on each task what another method found\n"
    "there, or what placement files and records have; the method go can. It then\n"
    "learns from scores if --budget is given.\n\n"
    "The method is hdp unless another is named; without --budget or --seconds it\n"
    "gets 400 evaluations. --tasks needs a method whose weights fit other graphs;\n"
    "emplace methods says which do.\n\n"
    "Started by mpirun, the programs share the run: each proposes and scores its\n"
    "own placements of every update. The result depends on the seed and on their\n"
    "number; with --async it also depends on who is faster. The methods that can\n"
    "are hdp (preset paper) and colocrl.\n\n"
    "  emplace train nmt --machine k40x2 --budget 8000 --record run.h5\n"
    "  emplace train nmt --machine k40x2 --budget 8000 --record run.h5 --resume\n"
    "  mpirun -n 4 emplace train nmt --machine k40x2 --budget 8000 \\\n"
    "      --record run.h5 --threads 1\n"
    "  emplace train --tasks tasks.txt --method giph --budget 20000 \\\n"
    "      --weights-out giph.h5\n"
    "  emplace place nmt:layers=8 --machine k40x2 --method giph --weights giph.h5 \\\n"
    "      --budget 100\n"
    "  emplace train --tasks tasks.txt --method go --imitate anneal \\\n"
    "      --weights-out go.h5\n"
    "  emplace train --tasks tasks.txt --method go --imitate a.json,b.json \\\n"
    "      --weights-out go.h5\n"
    "  emplace record run.checkpoint.h5";

/* An option that says how to imitate would seem to have been heeded. */
static void refuse_unused(const cli_place_args *args)
{
    const char *unused = args->imitate_budget > 0        ? "budget"
                         : args->imitate_options != NULL ? "options"
                         : args->imitate_rounds > 0      ? "rounds"
                                                         : NULL;

    if (unused != NULL)
        cli_usage_error("--imitate-%s is for --imitate, which is missing", unused);
}

/* On tasks there is no run to record: many states share what is learned. */
static void check_outputs(const cli_place_args *args)
{
    const bool has_tasks = args->run.task.tasks != NULL;

    if (!has_tasks && args->record == NULL)
        cli_usage_error("--record is missing; the checkpoint lies beside it");
    if (args->record != NULL && emp_text_ends_in(args->record, ".checkpoint.h5"))
        cli_usage_error("--record %s: FILE.checkpoint.h5 is the checkpoint of FILE.h5",
                        args->record);
    if (!has_tasks && args->imitate != NULL) cli_usage_error("--imitate is for --tasks");
    if (args->imitate == NULL) refuse_unused(args);
    if (!has_tasks) return;
    if (args->weights_out == NULL)
        cli_usage_error("--weights-out is missing; it is what --tasks trains");
    if (args->record != NULL || args->out != NULL || args->start != NULL)
        cli_usage_error("with --tasks there is no --record, --out or --start");
    if (args->run.checkpoint.is_resumed || args->run.checkpoint.every_s > 0)
        cli_usage_error(
            "with --tasks there is no checkpoint; --weights goes on from what "
            "--weights-out has written");
    if (args->run.seconds > 0)
        cli_usage_error("with --tasks the budget is one in evaluations, not in seconds");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    cli_place_args     *args = (cli_place_args *)state->input;
    emp_run_checkpoint *checkpoint = &args->run.checkpoint;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = args; return 0;
    case KEY_EVERY: checkpoint->every_s = cli_seconds("checkpoint-every", arg); return 0;
    case KEY_RESUME: checkpoint->is_resumed = true; return 0;
    case KEY_ASYNC: args->run.is_async = true; return 0;
    case KEY_TASKS: args->run.task.tasks = arg; return 0;
    case KEY_IMITATE: args->imitate = arg; return 0;
    case KEY_IMITATE_OPTIONS: args->imitate_options = arg; return 0;
    case KEY_IMITATE_BUDGET:
        args->imitate_budget = cli_integer("imitate-budget", arg, 1, INT64_MAX);
        return 0;
    case KEY_IMITATE_ROUNDS:
        args->imitate_rounds = cli_integer("imitate-rounds", arg, 1, INT64_MAX);
        return 0;
    case ARGP_KEY_END:
        check_outputs(args);
        if (args->imitate_rounds == 0) args->imitate_rounds = IMITATE_ROUNDS;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* run.h5 has its checkpoint in run.checkpoint.h5. */
static char *name_checkpoint(const char *record)
{
    static const char ending[] = ".h5";
    size_t            length = strlen(record), size = length + sizeof ".checkpoint.h5";
    char             *path = EMP_NEW_ARRAY(char, size);

    if (path == NULL) return NULL;
    if (emp_text_ends_in(record, ending)) length -= strlen(ending);
    snprintf(path, size, "%.*s.checkpoint.h5", (int)length, record);
    return path;
}

/* Learners and searches are; the others are soon started anew. */
static emp_status check_resumable(const char *name, emp_error *err)
{
    const emp_method *method = NULL;

    EMP_CHECK(emp_method_find(&method, name, err));
    if (method->list_state == NULL) {
        return EMP_ERROR(EMP_EINVAL,
                         "method %s has no state to go on from; emplace place runs it",
                         method->name);
    }
    return EMP_OK;
}

/* A run that is interrupted while its method is made has no checkpoint yet. */
static void tell_interrupted(const char *checkpoint)
{
    if (access(checkpoint, F_OK) == 0)
        cli_warn("interrupted; the same command with --resume goes on from %s",
                 checkpoint);
    else
        cli_warn("%s", CLI_NOTHING_FOUND);
}

static emp_status train(cli_place_args *args, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_ranks *ranks = NULL;
    char            *path = NULL;
    bool             is_first = true;

    EMP_TRY(emp_ranks_join(&ranks, cli_stop_flag(), err));
    args->run.ranks = ranks;
    is_first = ranks == NULL || ranks->rank == 0;
    st = check_resumable(args->method, err);
    EMP_TRY(ranks != NULL ? ranks->agree(st, err) : st);
    path = name_checkpoint(args->record);
    if (path == NULL) EMP_FAIL(EMP_ENOMEM, "name of the checkpoint of %s", args->record);
    args->run.checkpoint.path = path;
    cli_place_keep(args);
    EMP_TRY(cli_place(args, err));

cleanup:
    if (st == EMP_EINTERRUPTED && is_first) tell_interrupted(path);
    emp_free(path);
    return st;
}

static const struct argp_child children[] = {{&cli_place_argp, 0, NULL, 0}, {0}};
const struct argp cmd_train_argp = {options, parse, "SPEC", doc, children, NULL, NULL};

emp_status cmd_train(int argc, char **argv, emp_error *err)
{
    cli_place_args args = {.run = cli_run_options_default(), .method = "hdp"};

    cli_parse(&cmd_train_argp, argc, argv, &args);
    return args.run.task.tasks != NULL ? cli_train_on_tasks(&args, err)
                                       : train(&args, err);
}
