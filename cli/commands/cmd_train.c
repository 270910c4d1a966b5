// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace train SPEC: place for long runs of learners and searches, with a checkpoint
 * beside the record, alone or on several ranks. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io/output.h"
#include "base/mem.h"
#include "bench/compare/tasks.h"
#include "cli/cli.h"
#include "cli/commands/place.h"
#include "cli/options/jobs_options.h"
#include "cli/options/placement_input.h"
#include "cli/progress.h"
#include "cli/stop.h"
#include "run/methods.h"
#include "run/ranks/ranks.h"
#include "run/sheet/sheet.h"
#include "run/store/checkpoint.h"
#include "run/training.h"

/* emplace train --tasks: one set of weights, trained on several tasks in turn. */

enum { DEFAULT_BUDGET = 10000, IMITATE_BUDGET = 1000, PATH_BYTES = 1024 };

/* How a task has fared. */
typedef struct {
    int64_t turns;
    double  first_mean_s, last_mean_s; /* of a turn */
    double  best_s;
} progress_of_task;

typedef struct {
    const cli_place_args  *args;
    emp_task_list          list;
    emp_runtime            runtime;
    emp_loaded_task       *loaded;   /* [task] */
    const emp_problem    **problem;  /* [task] */
    progress_of_task      *of_task;  /* [task] */
    emp_examples           examples; /* [task] what is imitated; empty: nothing */
    emp_training_imitation imitation;
    emp_weights            before, weights;
    int64_t                budget, evaluations;
    bool                   is_keeping;
    cli_bar                bar;
} trainer;

static emp_status load(trainer *t, emp_error *err)
{
    const cli_place_args *args = t->args;
    const char           *runtime = args->run.task.runtime;
    const char *const     inputs[] = {runtime, args->weights};
    const char *const     outputs[] = {args->weights_out};
    emp_task              task[EMP_TASK_LIST_MOST];

    EMP_CHECK(emp_output_check_all(outputs, 1, err));
    EMP_CHECK(emp_output_check_inputs(inputs, 2, outputs, 1, err));
    if (args->imitate != NULL && !emp_method_exists(args->imitate))
        EMP_CHECK(cli_words_check_inputs(args->imitate, outputs, 1, err));
    EMP_CHECK(emp_output_check_replaced(outputs, 1, args->is_forced, err));
    EMP_CHECK(cli_task_list_add(&t->list, args->run.task.tasks, err));
    EMP_CHECK(
        cli_task_list_check_inputs(&t->list, args->run.task.tasks, outputs, 1, err));
    if (runtime != NULL) EMP_CHECK(emp_runtime_init(&t->runtime, runtime, err));
    if (args->weights != NULL)
        EMP_CHECK(emp_weights_load(&t->before, args->weights, err));
    const size_t count = (size_t)t->list.count;
    EMP_CHECK(EMP_ALLOC(t->loaded, count));
    EMP_CHECK(EMP_ALLOC(t->problem, count));
    EMP_CHECK(EMP_ALLOC(t->of_task, count));
    for (int32_t i = 0; i < t->list.count; i++) task[i] = t->list.task[i].task;
    EMP_CHECK(emp_tasks_load(t->loaded, task, t->list.count,
                             runtime != NULL ? &t->runtime : NULL, args->run.threads,
                             err));
    for (int32_t i = 0; i < t->list.count; i++) t->problem[i] = t->loaded[i].problem;
    return EMP_OK;
}

static void clear(trainer *t)
{
    if (t->loaded != NULL) emp_tasks_clear(t->loaded, t->list.count);
    emp_free(t->loaded);
    emp_free(t->problem);
    emp_free(t->of_task);
    emp_examples_clear(&t->examples);
    emp_task_list_clear(&t->list);
    emp_weights_clear(&t->before);
    emp_weights_clear(&t->weights);
    emp_free(t);
}

/* From now on there are weights to save. */
static void begin_keeping(trainer *t)
{
    if (!t->is_keeping) atomic_fetch_add(cli_stop_kept(), 1);
    t->is_keeping = true;
}

static void on_turn(void *context, const emp_training_turn *turn)
{
    trainer          *t = (trainer *)context;
    progress_of_task *p = &t->of_task[turn->problem];

    begin_keeping(t);
    if (p->turns++ == 0) p->first_mean_s = turn->mean_s;
    p->last_mean_s = turn->mean_s;
    p->best_s = turn->best_s;
    t->evaluations = turn->evaluations;
    cli_bar_draw_share(&t->bar, (double)turn->evaluations / (double)t->budget,
                       t->list.task[turn->problem].task.key);
}

static void on_imitation(void *context, const emp_training_imitation *round)
{
    trainer *t = (trainer *)context;

    begin_keeping(t);
    t->imitation = *round;
    cli_bar_draw_share(&t->bar, (double)round->round / (double)t->args->imitate_rounds,
                       "imitation");
}

/* ---- examples ---- */

static emp_status show_runs(trainer *t, const emp_method *method, emp_error *err)
{
    const cli_run_options *run = &t->args->run;
    const int64_t          budget = t->args->imitate_budget;
    const emp_run_params   params = {.method = method,
                                     .placer = {.seed = run->seed,
                                                .threads = run->threads,
                                                .decides = run->decides,
                                                .options = t->args->imitate_options},
                                     .budget_evaluations =
                                       budget > 0 ? budget : IMITATE_BUDGET,
                                     .stop = cli_stop_flag()};

    return emp_examples_make(&t->examples, t->problem, t->list.count, &params, err);
}

/* Where a file says nothing of the order or the fusion, the example has none. */
static emp_status read_example(trainer *t, int32_t i, const char *path, emp_error *err)
{
    emp_owned_decision read;
    const emp_status   st = cli_decision_load(&read, path, t->problem[i], err);

    if (st == EMP_OK) emp_decision_copy(&t->examples.decision[i], &read);
    emp_decision_clear(&read);
    return st;
}

static int32_t count_words(const char *list)
{
    char    word[PATH_BYTES];
    int32_t count = 0;

    while (cli_next_word(&list, word, sizeof word)) count++;
    return count;
}

/* A file for each task, in the order of tasks. */
static emp_status show_files(trainer *t, emp_error *err)
{
    const char   *list = t->args->imitate;
    const int32_t count = count_words(list);
    char          path[PATH_BYTES];

    if (t->args->imitate_options != NULL || t->args->imitate_budget > 0)
        return EMP_ERROR(EMP_EINVAL, "--imitate-%s for a method, and %s is no method",
                         t->args->imitate_options != NULL ? "options are" : "budget is",
                         list);
    if (count != t->list.count)
        return EMP_ERROR(EMP_EINVAL,
                         "--imitate %.128s is no method, and as placement files it is %d "
                         "for %d tasks; give one a task, in their order",
                         list, count, t->list.count);
    EMP_CHECK(
        emp_examples_init(&t->examples, t->problem, count, t->args->run.decides, err));
    for (int32_t i = 0; cli_next_word(&list, path, sizeof path); i++)
        EMP_CHECK(read_example(t, i, path, err));
    return EMP_OK;
}

static emp_status show_all(trainer *t, emp_error *err)
{
    const char       *what = t->args->imitate;
    const emp_method *method = NULL;
    emp_error         why = {0};

    if (what == NULL) return EMP_OK;
    const emp_status st = emp_method_find(&method, what, &why);
    if (st != EMP_OK && (strchr(what, ',') != NULL || access(what, R_OK) == 0))
        return show_files(t, err);
    if (st != EMP_OK) return EMP_ERROR(st, "%s; nor is it a placement file", why.msg);
    EMP_CHECK(show_runs(t, method, err));
    for (int32_t i = 0; i < t->list.count; i++)
        t->of_task[i].best_s = t->examples.step_time_s[i];
    return EMP_OK;
}

static emp_status print(const trainer *t, const emp_method *method, emp_error *err)
{
    static const emp_sheet_column columns[] = {
        EMP_COLUMN("task", "task", EMP_SHEET_WORD),
        EMP_COLUMN("workload", "workload", EMP_SHEET_WORD),
        EMP_COLUMN("machine", "machine", EMP_SHEET_WORD),
        EMP_COLUMN("runtime", "runtime", EMP_SHEET_WORD),
        EMP_COLUMN("method", "method", EMP_SHEET_WORD),
        EMP_COLUMN("updates", "updates", EMP_SHEET_COUNT),
        EMP_COLUMN("first_mean_s", "mean of the first, s", EMP_SHEET_REAL),
        EMP_COLUMN("last_mean_s", "of the last, s", EMP_SHEET_REAL),
        EMP_COLUMN("best_s", "best, s", EMP_SHEET_REAL)};
    emp_sheet sheet;

    EMP_SHEET_INIT(&sheet, columns);
    for (int32_t i = 0; i < t->list.count; i++) {
        const emp_task         *task = &t->list.task[i].task;
        const progress_of_task *p = &t->of_task[i];
        const bool              has_turn = p->turns > 0;
        EMP_SHEET_ADD(&sheet, EMP_V(task->key), EMP_V(task->spec), EMP_V(task->machine),
                      EMP_V(t->problem[i]->runtime.name), EMP_V(method->name),
                      EMP_V(p->turns), EMP_V(has_turn ? p->first_mean_s : NAN),
                      EMP_V(has_turn ? p->last_mean_s : NAN),
                      EMP_V(has_turn || t->examples.count > 0 ? p->best_s : NAN));
    }
    emp_sheet_note(&sheet, "%s has the weights after %lld evaluations in all.",
                   t->args->weights_out, (long long)t->weights.evaluations);
    if (t->examples.count > 0)
        emp_sheet_note(&sheet,
                       "%lld rounds of imitating %s: %.3f nats a decision in the first, "
                       "%.3f in the last.",
                       (long long)t->imitation.round, t->args->imitate,
                       t->imitation.first_loss, t->imitation.loss);
    return cli_print_sheet(&sheet, t->args->run.task.format, err);
}

static emp_status train_in_turns(trainer *t, const emp_method *method, emp_error *err)
{
    cli_run_options run = t->args->run;
    if (t->args->weights != NULL) cli_run_begin_with(&run, &t->before, method);
    const emp_training_params params = {.method = method,
                                        .placer = {.seed = run.seed,
                                                   .threads = run.threads,
                                                   .preset = run.preset,
                                                   .options = run.options,
                                                   .decides = run.decides,
                                                   .weights = run.weights},
                                        .problem = t->problem,
                                        .problem_count = t->list.count,
                                        .budget_evaluations = t->budget,
                                        .example = t->examples.decision,
                                        .imitation_rounds = t->args->imitate_rounds,
                                        .stop = cli_stop_flag(),
                                        .on_turn = on_turn,
                                        .on_imitation = on_imitation,
                                        .context = t};

    cli_bar_init(&t->bar, NULL);
    const emp_status st = emp_training_run(&t->weights, &params, err);
    cli_bar_clear(&t->bar);
    cli_stop_unwatch();
    return st;
}

static bool is_half(const trainer *t)
{
    return t->evaluations < t->budget ||
           (t->examples.count > 0 && t->imitation.round < t->args->imitate_rounds);
}

/* Trains, writes the weights, and prints a line a task.
 * \retval EMP_EINTERRUPTED  Ctrl-C has ended it; the weights so far are written. */
static emp_status cli_train_on_tasks(const cli_place_args *args, emp_error *err)
{
    emp_status        st = EMP_OK;
    const emp_method *method = NULL;
    trainer          *t = EMP_NEW(trainer);

    if (t == NULL) return EMP_ERROR(EMP_ENOMEM, "training on tasks");
    t->args = args;
    t->budget = args->run.budget > 0    ? args->run.budget
                : args->imitate != NULL ? 0
                                        : DEFAULT_BUDGET;
    EMP_TRY(emp_method_find(&method, args->method, err));
    EMP_TRY(emp_training_check_method(method, args->imitate != NULL, err));
    EMP_TRY(load(t, err));
    EMP_TRY(show_all(t, err));
    EMP_TRY(train_in_turns(t, method, err));
    if (is_half(t) && !t->is_keeping) EMP_TRY(EMP_EINTERRUPTED);
    EMP_TRY(emp_weights_save(args->weights_out, &t->weights, err));
    EMP_TRY(print(t, method, err));
    if (is_half(t)) st = EMP_EINTERRUPTED;

cleanup:
    if (st == EMP_EINTERRUPTED && t->is_keeping)
        cli_warn("interrupted; --weights %s goes on from the weights so far",
                 args->weights_out);
    else if (st == EMP_EINTERRUPTED)
        cli_say("emplace: ",
                "interrupted before anything was learned; no file was written");
    clear(t);
    return st;
}

enum { KEY_IMITATE_BUDGET = 768, KEY_IMITATE_ROUNDS };

enum { IMITATE_ROUNDS = 300 };

static const struct argp_option options[] = {
    {"tasks", CLI_TEXT(cli_place_args, run.task.tasks), "SET|FILE,...", 0,
     "Instead of a SPEC: train on these tasks in turn (table1, fresh, all, "
     "placebench:train, or a file)",
     0},
    {"imitate", CLI_TEXT(cli_place_args, imitate), "METHOD", 0,
     "With --tasks: first imitate this method's placements, or the placements in "
     "FILE,..., one a task",
     0},
    {"imitate-budget", KEY_IMITATE_BUDGET, "N", 0,
     "Evaluations that it gets for each task (default 1000)", 0},
    {"imitate-options", CLI_TEXT(cli_place_args, imitate_options), "KEY=VALUE,...", 0,
     "Options of that method", 0},
    {"imitate-rounds", KEY_IMITATE_ROUNDS, "N", 0,
     "Steps of imitation for each task (default 300)", 0},
    {"async", CLI_FLAG(cli_place_args, run.is_async), NULL, 0,
     "With mpirun: rank 0 is a parameter server, the others are controllers that do not "
     "wait for each other; no two runs give the same result",
     0},
    {0},
};

static const char doc[] =
    "Train a learner, or run a long search, on SPEC, a workload spec or a graph file.\v"
    "While the run is under way its state is in a checkpoint beside the record,\n"
    "run.checkpoint.h5 for run.h5. Whatever ends the program, the same command\n"
    "with --resume goes on from there, and in the end the record is the\n"
    "same, byte for byte, as without the interruption; with --seconds the clock\n"
    "decides how far either gets. Ctrl-C, SIGTERM and SIGHUP save the state and\n"
    "end the run; a second one ends it at once, and the earlier checkpoint remains.\n"
    "With --tasks it trains one set of weights on several graphs in turn and writes\n"
    "them to --weights-out. A line of the file is NAME SPEC|FILE MACHINE. All tasks\n"
    "share the budget. Ctrl-C writes the weights so far; --weights goes on from\n"
    "them. On another graph, place --weights proposes without training first.\n"
    "With --imitate it first learns to do on each task what another method found\n"
    "there, or what placement files and records have; the method go can. It then\n"
    "learns from scores if --budget is given.\n\n"
    "The method is hdp unless another is named; without --budget or --seconds it\n"
    "gets 400 evaluations, and with --tasks 10000. --tasks needs a method whose\n"
    "weights fit other graphs; emplace methods says which do.\n\n"
    "Started by mpirun, the programs share the run: each proposes and scores its\n"
    "own placements of every update. The result depends on the seed and on their\n"
    "number; with --async it also depends on who is faster. The methods that can\n"
    "are hdp, colocrl and doppler.\n\n"
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

/* On tasks there is no run to record: many states share what is learned. */
static void check_outputs(const cli_place_args *args)
{
    const bool has_tasks = args->run.task.tasks != NULL;

    if (!has_tasks && args->record == NULL)
        cli_usage_error("--record is missing; the checkpoint lies beside it");
    if (!has_tasks && args->imitate != NULL) cli_usage_error("--imitate is for --tasks");
    cli_imitation_check(args->imitate, args->imitate_budget, args->imitate_options,
                        args->imitate_rounds);
    if (!has_tasks) return;
    if (args->weights_out == NULL)
        cli_usage_error("--weights-out is missing; it is what --tasks trains");
    if (args->record != NULL || args->out != NULL || args->start != NULL)
        cli_usage_error("with --tasks there is no --record, --out or --start");
    if (args->run.log != NULL)
        cli_usage_error("--log is for a run on a SPEC; with --tasks there is none");
    if (args->run.gap_frac >= 0 || args->run.is_unbound || args->is_sensitivity ||
        args->run.is_async)
        cli_usage_error("--gap, --no-bound, --sensitivity and --async are for a run on a "
                        "SPEC, not for --tasks");
    if (args->is_home_decided)
        cli_usage_error(
            "--decide devices,home is for a SPEC; with --tasks, write home=any "
            "into the specs of the tasks");
    if (args->run.checkpoint.is_resumed || args->run.checkpoint.every_s > 0)
        cli_usage_error(
            "with --tasks there is no checkpoint; --weights goes on from what "
            "--weights-out has written");
    if (args->run.seconds > 0)
        cli_usage_error("with --tasks the budget is one in evaluations, not in seconds");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    cli_place_args *args = (cli_place_args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = args; return 0;
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
    default: return cli_store(key, arg, args);
    }
}

static emp_status train(cli_place_args *args, emp_error *err)
{
    const emp_ranks *ranks = NULL;

    EMP_CHECK(emp_ranks_join(&ranks, cli_stop_flag(), err));
    args->run.ranks = ranks;
    return cli_place_with_checkpoint(args, err);
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
