// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace place SPEC: looks for a good placement. Read from top to bottom, this is the
 * whole program: graph, machine, problem, method, oracle, record. emplace train SPEC is
 * the same for long runs of learners and searches: with a checkpoint beside the record. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/io/atomic_file.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/options/run_options.h"
#include "cli/report.h"
#include "cli/report_why.h"
#include "cli/stop.h"
#include "run/methods.h"
#include "run/ranks/distributed.h"
#include "sim/problem/placement.h"

enum { KEY_RECORD = 512, KEY_EVERY, KEY_RESUME, KEY_ASYNC, DEFAULT_BUDGET = 400 };

struct args {
    cli_run_options run;
    const char     *method;
    const char     *out;    /**< placement file, or NULL */
    const char     *record; /**< record file, or NULL */
};

static const struct argp_option options[] = {
    {"method", 'M', "NAME", 0, "Placement method (emplace methods lists them)", 0},
    {"out", 'o', "FILE", 0, "Write the best placement as JSON", 0},
    {"record", KEY_RECORD, "FILE", 0, "Write the run record as HDF5", 0},
    {0},
};

static const struct argp_option train_options[] = {
    {"checkpoint-every", KEY_EVERY, "S", 0,
     "Seconds between checkpoints (default: 10 or more, for under 1 % of the time)", 0},
    {"resume", KEY_RESUME, NULL, 0, "Go on from the checkpoint", 0},
    {"async", KEY_ASYNC, NULL, 0,
     "With mpirun: rank 0 is a parameter server, the others are controllers that do not "
     "wait for each other; no two runs give the same result",
     0},
    {0},
};

static const char place_doc[] =
    "Look for a good placement of SPEC, a workload spec or a graph file.\v"
    "Ctrl-C ends the search after the current batch and saves what was found.\n"
    "Without --budget or --seconds a method that searches gets 400 evaluations.\n"
    "If nothing found fits in memory, it exits 0 and says so, in JSON with feasible.\n\n"
    "  emplace place nmt:layers=2 --machine k40x2 --method scotch\n"
    "  emplace place model.pb --machine k40x4 --method hdp --preset paper \\\n"
    "      --budget 4000 --out best.json";

static const char train_doc[] =
    "Train a learner, or run a long search, on SPEC, a workload spec or a graph file.\v"
    "While the run is under way its state is in a checkpoint beside the record,\n"
    "run.checkpoint.h5 for run.h5. Whatever ends the program, the same command\n"
    "with --resume goes on from there, and in the end the record is the same, byte\n"
    "for byte, as that of a run that nothing disturbed; with --seconds the clock\n"
    "decides how far either gets. Ctrl-C and SIGTERM save before they end it.\n"
    "The method is hdp unless another is named; without --budget or --seconds it\n"
    "gets 400 evaluations.\n\n"
    "Started by mpirun, the programs share the run: each proposes and scores its\n"
    "own placements of every update. The result depends on the seed and on their\n"
    "number; with --async it also depends on who is faster. The methods that can\n"
    "are hdp (preset paper) and colocrl.\n\n"
    "  emplace train nmt --machine k40x2 --budget 8000 --record run.h5\n"
    "  emplace train nmt --machine k40x2 --budget 8000 --record run.h5 --resume\n"
    "  mpirun -n 4 emplace train nmt --machine k40x2 --budget 8000 \\\n"
    "      --record run.h5 --threads 1\n"
    "  emplace record run.checkpoint.h5";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *args = (struct args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->run; return 0;
    case 'M': args->method = arg; return 0;
    case 'o': args->out = arg; return 0;
    case KEY_RECORD: args->record = arg; return 0;
    case ARGP_KEY_END:
        if (args->method == NULL) {
            cli_usage_error("--method is missing; emplace methods lists what there is");
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_train(int key, char *arg, struct argp_state *state)
{
    struct args        *args = (struct args *)state->input;
    emp_run_checkpoint *checkpoint = &args->run.checkpoint;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = args; return 0;
    case KEY_EVERY: checkpoint->every_s = cli_positive("checkpoint-every", arg); return 0;
    case KEY_RESUME: checkpoint->is_resumed = true; return 0;
    case KEY_ASYNC: args->run.is_async = true; return 0;
    case ARGP_KEY_END:
        if (args->record == NULL)
            cli_usage_error("--record is missing; the checkpoint lies beside it");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static emp_status print_json(const emp_record *r, const emp_problem *problem,
                             const emp_sim_result *result, const emp_explain *why,
                             const emp_bounds *bounds, emp_error *err)
{
    json_t *object = cli_report_json(problem, result, why, bounds);
    json_t *run = json_pack(
        "{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:s, s:s, s:b}", "method", r->method,
        "workload", r->workload, "machine", r->machine, "runtime", r->runtime, "seed",
        (json_int_t)r->seed, "evaluations", (json_int_t)r->evaluations, "feasible_count",
        (json_int_t)r->feasible_count, "stopped_by", r->stopped_by, "commit", r->commit,
        "dirty", r->is_dirty);

    if (object != NULL && json_object_update_missing(object, run) != 0) {
        json_decref(object);
        object = NULL;
    }
    json_decref(run);
    return cli_print_json(object, err);
}

static void print_text(const emp_record *r, const emp_problem *problem,
                       const emp_sim_result *result, const emp_explain *why,
                       const emp_bounds *bounds)
{
    printf("%s on %s by %s, seed %" PRIu64 ": %" PRId64 " evaluation%s%s\n", r->workload,
           r->machine, r->method, r->seed, r->evaluations, r->evaluations == 1 ? "" : "s",
           strcmp(r->stopped_by, "interrupt") == 0 ? ", interrupted" : "");
    cli_report_print(problem, result, why, bounds);
}

/* To the files that the user asked for. Each is tried even if the other cannot be written; the
 * record, from which the placement can be had again, comes first. */
static emp_status save(const struct args *args, const emp_record *record,
                       const emp_problem *problem, emp_error *err)
{
    emp_status recorded = EMP_OK, placed = EMP_OK;

    if (args->record != NULL) recorded = emp_record_save(args->record, record, err);
    if (args->out != NULL)
        placed = emp_placement_save(args->out, problem, record->device_of_op,
                                    record->is_feasible ? record->best_step_time_s : -1.0,
                                    err);
    return recorded != EMP_OK ? recorded : placed;
}

static emp_status print(const struct args *args, const emp_record *record,
                        const emp_problem *problem, emp_error *err)
{
    emp_status     st = EMP_OK;
    emp_sim       *sim = NULL;
    emp_explain   *why = NULL;
    emp_sim_result result;
    emp_bounds     bounds;

    EMP_TRY(emp_sim_create(&sim, problem, err));
    EMP_TRY(emp_sim_run_traced(sim, record->device_of_op, NULL, &result, err));
    EMP_TRY(cli_why_create(&why, problem, record->device_of_op, &result, false, err));
    EMP_TRY(cli_bound(&bounds, &args->run, problem, err));
    if (args->run.is_json)
        EMP_TRY(print_json(record, problem, &result, why, &bounds, err));
    else
        print_text(record, problem, &result, why, &bounds);

cleanup:
    emp_explain_destroy(why);
    emp_sim_destroy(sim);
    return st;
}

/* Everything that the run left, to where the user asked for it: first what would be lost. */
static emp_status deliver(const struct args *args, const emp_record *record,
                          const emp_problem *problem, emp_error *err)
{
    emp_status saved = save(args, record, problem, err);
    if (args->run.checkpoint.path == NULL)
        cli_stop_at_once(); /* nothing is left behind */
    emp_status printed = print(args, record, problem, err);

    if (saved != EMP_OK) return saved;
    if (printed != EMP_OK) return printed;
    return strcmp(record->stopped_by, "interrupt") == 0 ? EMP_EINTERRUPTED : EMP_OK;
}

static emp_status prepare(const struct args *args, const emp_placer_type **method,
                          cli_inputs *inputs, emp_error *err)
{
    const char *const outputs[] = {args->out, args->record, args->run.checkpoint.path};
    const int32_t     count = sizeof outputs / sizeof *outputs;

    EMP_CHECK(emp_method_find(method, args->method, err));
    EMP_CHECK(cli_check_outputs(outputs, count, err));
    EMP_CHECK(cli_check_input(args->run.spec, outputs, count, err));
    EMP_CHECK(cli_check_input(args->run.machine, outputs, count, err));
    EMP_CHECK(cli_check_input(args->run.runtime, outputs, count, err));
    return cli_inputs_load(inputs, args->run.spec, args->run.machine, args->run.runtime,
                           err);
}

static emp_status place(const struct args *args, emp_error *err)
{
    emp_status             st = EMP_OK;
    const emp_ranks       *ranks = args->run.ranks;
    const emp_placer_type *method = NULL;
    cli_inputs             inputs = {0};
    emp_record             record = {0};

    (void)cli_stop_flag(); /* from now on Ctrl-C saves, though the search has not begun */
    st = prepare(args, &method, &inputs, err);
    EMP_TRY(ranks != NULL ? ranks->agree(st, err) : st);
    EMP_TRY(cli_run(&record, &args->run, inputs.problem, method, DEFAULT_BUDGET, err));
    if (ranks == NULL || ranks->rank == 0)
        EMP_TRY(deliver(args, &record, inputs.problem, err));
    else if (strcmp(record.stopped_by, "interrupt") == 0)
        st = EMP_EINTERRUPTED;

cleanup:
    emp_record_clear(&record);
    cli_inputs_clear(&inputs);
    return st;
}

static const struct argp_child place_children[] = {{&cli_run_argp, 0, NULL, 0}, {0}};
static const struct argp       place_argp = {
          .options = options, .parser = parse, .children = place_children};

emp_status cmd_place(int argc, char **argv, emp_error *err)
{
    struct argp argp = place_argp;
    struct args args = {.run = cli_run_options_default()};

    argp.args_doc = "SPEC";
    argp.doc = place_doc;
    cli_parse(&argp, argc, argv, &args);
    return place(&args, err);
}

/* run.h5 has its checkpoint in run.checkpoint.h5. */
static char *name_checkpoint(const char *record)
{
    static const char ending[] = ".h5";
    size_t            length = strlen(record), size = length + sizeof ".checkpoint.h5";
    char             *path = EMP_NEW_ARRAY(char, size);

    if (path == NULL) return NULL;
    if (length >= strlen(ending) && strcmp(record + length - strlen(ending), ending) == 0)
        length -= strlen(ending);
    snprintf(path, size, "%.*s.checkpoint.h5", (int)length, record);
    return path;
}

/* Learners and searches are; the others are soon started anew. */
static emp_status check_resumable(const char *name, emp_error *err)
{
    const emp_placer_type *method = NULL;

    EMP_CHECK(emp_method_find(&method, name, err));
    if (method->list_state == NULL) {
        return EMP_ERROR(EMP_EINVAL,
                         "method %s has no state to go on from; emplace place runs it",
                         method->name);
    }
    return EMP_OK;
}

static emp_status train(struct args *args, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_ranks *ranks = NULL;
    char            *path = NULL;
    bool             is_first = true;

    EMP_TRY(emp_distributed_join(&ranks, cli_stop_flag(), err));
    args->run.ranks = ranks;
    is_first = ranks == NULL || ranks->rank == 0;
    st = check_resumable(args->method, err);
    EMP_TRY(ranks != NULL ? ranks->agree(st, err) : st);
    path = name_checkpoint(args->record);
    if (path == NULL) EMP_FAIL(EMP_ENOMEM, "name of the checkpoint of %s", args->record);
    args->run.checkpoint.path = path;
    EMP_TRY(place(args, err));
    if (!is_first) goto cleanup;
    EMP_TRY(emp_atomic_file_sweep(args->record, err));
    if (remove(path) != 0)
        EMP_FAIL(EMP_EIO, "cannot remove %s: %s", path, strerror(errno));

cleanup:
    if (st == EMP_EINTERRUPTED && is_first)
        cli_warn("interrupted; the same command with --resume goes on from %s", path);
    emp_free(path);
    return st;
}

emp_status cmd_train(int argc, char **argv, emp_error *err)
{
    const struct argp_child children[] = {{&place_argp, 0, NULL, 0}, {0}};
    const struct argp       argp = {train_options, parse_train, "SPEC", train_doc,
                                    children,      NULL,        NULL};
    struct args             args = {.run = cli_run_options_default(), .method = "hdp"};

    cli_parse(&argp, argc, argv, &args);
    return train(&args, err);
}
