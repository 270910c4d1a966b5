// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace place SPEC: looks for a good placement. Read from top to bottom, this is the
 * whole program: graph, machine, problem, method, oracle, record. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io/atomic_file.h"
#include "base/io/output.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "baselines/baselines.h"
#include "cli/cli.h"
#include "cli/commands/place.h"
#include "cli/options/fit.h"
#include "cli/options/placement_input.h"
#include "cli/options/placement_output.h"
#include "cli/report/report.h"
#include "cli/stop.h"
#include "run/methods.h"
#include "run/store/checkpoint.h"

enum { KEY_DECIDE = 512, KEY_GAP, KEY_EVERY, DEFAULT_BUDGET = 400 };

/* How much longer one GPU may take for a device_map to be hardly worth it. */
static const double NEARLY = 0.05;

static const struct argp_option options[] = {
    {"method", 'M', "NAME", 0,
     "Placement method (emplace methods lists them and says when to take which), or one "
     "of your own: ./mine.so, \"cmd:python3 mine.py\"",
     0},
    {"out", 'o', "FILE", 0,
     "Write the best placement: as JSON; as FILE.pb or FILE.pbtxt, a copy of SPEC with "
     "its devices; as FILE.py, for PyTorch or TensorFlow 1; as FILE.device_map.json, for "
     "accelerate; as FILE.sh, for llama.cpp; as FILE.vllm.sh or FILE.megatron.sh. The "
     "search keeps to placements that the file can state",
     0},
    {"record", CLI_TEXT(cli_place_args, record), "FILE", 0,
     "Write the run record as HDF5", 0},
    {"decide", KEY_DECIDE, "WHAT", 0,
     "Decide devices (default), devices,order, devices,fusion, "
     "devices,order,fusion, or devices,home",
     0},
    {"gap", KEY_GAP, "PERCENT", 0,
     "End the search within this much of the lower bound: 5%, or 5", 0},
    {"start", CLI_TEXT(cli_place_args, start), "FILE", 0,
     "Have a search begin at the placement of a file or a record", 0},
    {"weights", CLI_TEXT(cli_place_args, weights), "FILE", 0,
     "Have a learner begin with the weights of a file, and with their options", 0},
    {"weights-out", CLI_TEXT(cli_place_args, weights_out), "FILE", 0,
     "Write a learner's weights, for --weights on any graph", 0},
    {"sensitivity", CLI_FLAG(cli_place_args, is_sensitivity), NULL, 0,
     "Simulate the placement found and a runner-up with each derived constant of the "
     "machine at 0.8 and 1.2 times, and say whether the ranking turns",
     0},
    {"checkpoint-every", KEY_EVERY, "TIME", 0,
     "Save the state of the run in a checkpoint beside the record, this often; "
     "train does so by itself (default: 10 s or more, for under 1 % of the time)",
     0},
    {"resume", CLI_FLAG(cli_place_args, run.checkpoint.is_resumed), NULL, 0,
     "Go on from the checkpoint", 0},
    {"log", CLI_TEXT(cli_place_args, run.log), "FILE", 0,
     "Write a line of JSON after each update, or scalars for TensorBoard where the name "
     "has tfevents in it",
     0},
    CLI_FORCE_OPTION(cli_place_args),
    {0},
};

static const char doc[] =
    "Look for a good placement of SPEC, a workload spec or a graph file.\v"
    "Without --method it runs a portfolio: methods that propose at once, then refine "
    "from the best of their placements. It says which of them has won. Ctrl-C ends the "
    "search after the current batch and saves the results so far. While there are none, "
    "it ends the program after about a second. A second Ctrl-C ends it at once and saves "
    "nothing. SIGTERM and SIGHUP do the same. Without --budget or --seconds a method "
    "that searches gets 400 evaluations. If nothing found fits in memory, it exits 0 and "
    "says so, in JSON with feasible. A method of your own is a shared library, or a "
    "program that speaks lines of JSON (docs/extending.md). If it fails, the run ends, "
    "and the results so far are saved. With --decide devices,order it also looks for the "
    "order in which devices serve their ops, with devices,fusion for the ops that run as "
    "one kernel, and with devices,order,fusion for both, and devices,home for the memory "
    "of each matrix of an hf: spec, which is then read with home=any. emplace methods "
    "NAME says what a method decides. Steps with fused ops have no lower bound.\n\n"
    "  emplace place nmt:layers=2 --machine k40x2\n"
    "  emplace place nmt:layers=2 --machine k40x2 --method scotch\n"
    "  emplace place model.pb --machine k40x4 --method hdp --preset paper \\\n"
    "      --budget 4000 --out best.json\n"
    "  emplace place model.pb --machine k40x4 --method ce --out placed.pb\n"
    "  emplace place rnnlm --machine rtx4090x2+rtx3060 --sensitivity\n"
    "  emplace place model.gguf -m rtx4090x2+rtx3060 --method memory-split \\\n"
    "      --out best.sh\n"
    "  emplace place nmt:layers=2 --machine k40x2 --method anneal \\\n"
    "      --decide devices,order --start best.json --out ordered.json\n"
    "  emplace place nmt:layers=8 -m k40x4 --method anneal --budget 1e6 \\\n"
    "      --record long.h5 --checkpoint-every 10m --log long.jsonl\n"
    "  emplace place resnet --machine k40x2 --method refine --budget 10k --gap 25%\n"
    "  emplace place hf:path=config.json,phase=decode,batch=1 --machine rtx3090x4 \\\n"
    "      --method memory-split --fit seq";

static int32_t parse_decides(const char *text)
{
    static const struct {
        const char *text;
        int32_t     decides;
    } all[] = {
        {"devices", EMP_DECIDES_DEVICES},
        {"devices,order", EMP_DECIDES_DEVICES | EMP_DECIDES_ORDER},
        {"devices,fusion", EMP_DECIDES_DEVICES | EMP_DECIDES_FUSION},
        {"devices,order,fusion",
         EMP_DECIDES_DEVICES | EMP_DECIDES_ORDER | EMP_DECIDES_FUSION},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(text, all[i].text) == 0) return all[i].decides;
    cli_usage_error("--decide \"%s\" is none of devices, devices,order, devices,fusion, "
                    "devices,order,fusion and devices,home",
                    text);
    return 0;
}

/* The home of a matrix is the device of its op, which is an op of its own with home=any. */
static void decide_home(cli_place_args *args)
{
    const char *spec = args->run.task.spec;

    if (strncmp(spec, "hf:", 3) != 0 || strstr(spec, "home=") != NULL ||
        (size_t)snprintf(args->homed, sizeof args->homed, "%s,home=any", spec) >=
            sizeof args->homed)
        cli_usage_error("--decide devices,home is of an hf: spec without home=, not of "
                        "\"%.200s\"",
                        spec);
    args->run.task.spec = args->homed;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    cli_place_args *args = (cli_place_args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->run; return 0;
    case 'M': args->method = arg; return 0;
    case 'o': args->out = arg; return 0;
    case KEY_DECIDE:
        args->is_home_decided = strcmp(arg, "devices,home") == 0;
        args->run.decides =
            args->is_home_decided ? EMP_DECIDES_DEVICES : parse_decides(arg);
        return 0;
    case ARGP_KEY_SUCCESS:
        if (args->is_home_decided && args->run.task.spec != NULL) decide_home(args);
        return 0;
    case KEY_GAP: args->run.gap_frac = cli_percent("gap", arg); return 0;
    case KEY_EVERY:
        args->run.checkpoint.every_s = cli_seconds("checkpoint-every", arg);
        return 0;
    case ARGP_KEY_END:
        if (args->record != NULL && emp_text_ends_in(args->record, ".checkpoint.h5"))
            cli_usage_error(
                "--record %s: FILE.checkpoint.h5 is the checkpoint of FILE.h5",
                args->record);
        if (args->run.gap_frac >= 0.0 && args->run.is_unbound)
            cli_usage_error("--gap needs the lower bound, which --no-bound leaves out");
        return 0;
    default: return cli_store(key, arg, args);
    }
}

static const struct argp_child children[] = {{&cli_run_argp, 0, NULL, 0}, {0}};
const struct argp              cli_place_argp = {
                 .options = options, .parser = parse, .children = children};

static bool is_there(const char *path) { return path != NULL && access(path, F_OK) == 0; }

static emp_status load(const cli_place_args *args, const emp_method **method,
                       cli_inputs *inputs, emp_error *err)
{
    const cli_task_options *task = &args->run.task;
    const char *const outputs[] = {args->out, args->record, args->run.checkpoint.path,
                                   args->weights_out, args->run.log};
    const char *const agent = emp_method_exists(args->method) ? NULL : args->method;
    const char *const files[] = {task->spec,    task->machine, task->runtime, args->start,
                                 args->weights, task->costs,   agent};
    const bool        is_own = args->is_forced ||
                        (args->run.checkpoint.is_resumed && is_there(args->weights_out));

    if (args->is_sensitivity && task->costs != NULL)
        return EMP_ERROR(EMP_EINVAL,
                         "--sensitivity changes constants of the machine, and --costs "
                         "states times that do not change with them; leave out one");
    EMP_CHECK(emp_method_find(method, args->method, err));
    EMP_CHECK(emp_output_check_all(outputs, 5, err));
    EMP_CHECK(emp_output_check_inputs(files, 7, outputs, 5, err));
    EMP_CHECK(emp_output_check_replaced(&args->weights_out, 1, is_own, err));
    EMP_CHECK(emp_output_check_replaced(
        &args->run.log, 1,
        args->is_forced ||
            (args->run.checkpoint.is_resumed && cli_log_is_own(args->run.log)),
        err));
    EMP_CHECK(cli_placement_output_check(args->out, task->spec, err));
    cli_inputs_take_options(inputs, task);
    inputs->form = cli_form_of(args->out, task->spec);
    if (args->run.gap_frac >= 0 && (args->run.decides & EMP_DECIDES_FUSION) != 0)
        return EMP_ERROR(
            EMP_EINVAL, "--gap needs a lower bound, and none is known of steps whose ops "
                        "fuse; leave it out, or --decide fusion");
    if (inputs->form != CLI_FORM_ANY && (args->run.decides & ~EMP_DECIDES_DEVICES) != 0)
        return EMP_ERROR(EMP_EINVAL,
                         "%s states devices, and no order and no fusion; leave out "
                         "--decide, or name a .json",
                         args->out);
    EMP_CHECK(cli_inputs_load(inputs, task->spec, task->machine, task->runtime, err));
    if (args->is_sensitivity) EMP_CHECK(emp_sensitivity_check(inputs->problem, err));
    const emp_named_placement names =
        emp_placement_name(inputs->problem, &(emp_decision){0}, -1.0);
    return cli_placement_output_check_ops(args->out, &names, task->spec, err);
}

static emp_status save_placement(const cli_place_args *args, const emp_record *record,
                                 const emp_problem *problem, emp_error *err)
{
    const emp_decision  best = emp_decision_view(&record->decision);
    emp_named_placement placement = emp_placement_name(problem, &best, NAN);

    placement.origin = emp_record_origin(record);
    return cli_placement_output_write(args->out, &placement, args->run.task.spec,
                                      problem->machine, err);
}

/* Who runs a model by a device_map wants to know whether it is worth the trouble. */
static emp_status tell_of_one_gpu(const cli_place_args *args, const emp_record *record,
                                  const emp_problem *problem, emp_error *err)
{
    const double  best_s = record->best_step_time_s;
    double        least_s;
    emp_device_id gpu;
    char          least[32], best[32];

    if (args->out == NULL || !record->is_feasible ||
        !cli_placement_output_is_device_map(args->out, args->run.task.spec))
        return EMP_OK;
    EMP_CHECK(emp_fastest_gpu(&gpu, &least_s, problem, err));
    if (least_s > (1.0 + NEARLY) * best_s) return EMP_OK;
    cli_warn("%s by itself takes %s a step, and this placement %s: one GPU may be enough",
             problem->machine->device[gpu].name,
             emp_units_format_seconds(least_s, least, sizeof least),
             emp_units_format_seconds(best_s, best, sizeof best));
    return EMP_OK;
}

/* Each file is tried even if the others cannot be written. The record comes first: the
 * placement can be had from it again. */
static emp_status save(const cli_place_args *args, const emp_record *record,
                       const emp_problem *problem, emp_error *err)
{
    const emp_weights *weights = args->run.weights_out;
    emp_status         recorded = EMP_OK, placed = EMP_OK, kept = EMP_OK;

    if (args->record != NULL) recorded = emp_record_save(args->record, record, err);
    if (args->out != NULL) placed = save_placement(args, record, problem, err);
    if (weights != NULL) kept = emp_weights_save(args->weights_out, weights, err);
    return recorded != EMP_OK ? recorded : placed != EMP_OK ? placed : kept;
}

static bool is_half(const emp_record *record)
{
    return strcmp(record->stopped_by, "interrupt") == 0;
}

/* Nothing goes on from the checkpoint of a whole run that is saved. */
static emp_status drop_checkpoint(const cli_place_args *args, emp_error *err)
{
    const char *path = args->run.checkpoint.path;

    if (path == NULL) return EMP_OK;
    EMP_CHECK(emp_atomic_file_sweep(args->record, err));
    if (remove(path) != 0)
        return EMP_ERROR(EMP_EIO, "cannot remove %s: %s", path, strerror(errno));
    return EMP_OK;
}

/* Studies how the answer depends on derived constants, if that is asked; an interrupted run is not studied. */
static emp_status study_constants(emp_sensitivity **out, const cli_place_args *args,
                                  const emp_record *record, const emp_problem *problem,
                                  emp_error *err)
{
    const emp_decision found = emp_decision_view(&record->decision);

    if (!args->is_sensitivity || !record->is_feasible || is_half(record)) return EMP_OK;
    EMP_CHECK(EMP_ALLOC(*out, 1));
    return emp_sensitivity_find(*out, problem, &found, err);
}

/* First what would be lost, then what the user reads. */
static emp_status deliver(const cli_place_args *args, const emp_record *record,
                          const emp_sim_result *best, const cli_inputs *inputs,
                          emp_error *err)
{
    const emp_problem *problem = inputs->problem;
    emp_status         saved = save(args, record, problem, err), printed;
    emp_sensitivity   *sensitivity = NULL;
    emp_bounds         bounds;

    if (saved == EMP_OK && !is_half(record)) saved = drop_checkpoint(args, err);
    if (saved == EMP_OK) saved = tell_of_one_gpu(args, record, problem, err);
    cli_stop_at_once(); /* nothing is left behind */
    const emp_decision found = emp_decision_view(&record->decision);
    printed = cli_bound(&bounds, &args->run, problem, &found, err);
    if (printed == EMP_OK)
        printed = study_constants(&sensitivity, args, record, problem, err);
    if (printed == EMP_OK)
        printed = cli_report_run(record, inputs, best, &bounds, sensitivity,
                                 args->run.task.format, err);
    emp_free(sensitivity);
    if (saved != EMP_OK) return saved;
    if (printed != EMP_OK) return printed;
    return is_half(record) ? EMP_EINTERRUPTED : EMP_OK;
}

/* A run that goes on may have written the file itself, when it was interrupted. */
static bool is_own_output(const cli_place_args *args)
{
    return args->run.checkpoint.is_resumed && is_there(args->out) &&
           !cli_placement_output_names_run(args->out);
}

/* Has --record and --out keep the files of other runs, unless --force is given. */
static void keep_files(cli_place_args *args)
{
    if (args->is_forced) return;
    args->run.kept = args->record;
    args->run.kept_placement = is_own_output(args) ? NULL : args->out;
}

/* Only the first of several ranks writes. */
static emp_status lock_record(emp_file_lock *lock, const cli_place_args *args,
                              emp_error *err)
{
    const emp_ranks *ranks = args->run.ranks;

    if (args->record == NULL || (ranks != NULL && ranks->rank != 0)) return EMP_OK;
    return emp_file_lock_take(lock, args->record, err);
}

static void warn_of_start(const char *path, const emp_owned_decision *start)
{
    const bool has_order = start->level_of_op != NULL;
    const bool has_fusion = start->leader_of_op != NULL;

    if (has_order || has_fusion)
        cli_warn("--start takes the devices of %s, and not its %s", path,
                 has_order && has_fusion ? "order and fusion"
                 : has_order             ? "order"
                                         : "fusion");
}

static emp_status place(const cli_place_args *args, emp_error *err)
{
    emp_status         st = EMP_OK, made;
    const emp_ranks   *ranks = args->run.ranks;
    const emp_method  *method = NULL;
    cli_inputs         inputs = {0};
    emp_record         record = {0};
    emp_sim_result     best;
    cli_place_args     own = *args; /* with what the files hold */
    emp_owned_decision start = {0};
    emp_weights        weights = {0}, weights_out = {0};
    emp_file_lock      lock = {0};

    (void)cli_stop_flag(); /* from now on Ctrl-C saves, if something is soon found */
    cli_stop_watch(CLI_NOTHING_FOUND);
    st = load(args, &method, &inputs, err);
    if (st == EMP_OK) st = lock_record(&lock, args, err);
    if (st == EMP_OK && args->start != NULL)
        st = cli_decision_load(&start, args->start, inputs.problem, err);
    if (st == EMP_OK && args->weights != NULL)
        st = emp_weights_load(&weights, args->weights, err);
    EMP_TRY(ranks != NULL ? ranks->agree(st, err) : st);
    if (ranks == NULL || ranks->rank == 0) warn_of_start(args->start, &start);
    own.run.start = start.device_of_op;
    if (args->weights != NULL) cli_run_begin_with(&own.run, &weights, method);
    if (args->weights_out != NULL) own.run.weights_out = &weights_out;
    made = cli_run(&record, &best, &own.run, inputs.problem, method, DEFAULT_BUDGET, err);
    if (made != EMP_OK && strcmp(record.stopped_by, "failure") != 0) EMP_TRY(made);
    if (ranks == NULL || ranks->rank == 0)
        EMP_TRY(deliver(&own, &record, &best, &inputs, err));
    else if (is_half(&record))
        st = EMP_EINTERRUPTED;
    if (made != EMP_OK) st = made;

cleanup:
    emp_file_lock_release(&lock);
    emp_decision_clear(&start);
    emp_weights_clear(&weights);
    emp_weights_clear(&weights_out);
    emp_record_clear(&record);
    cli_inputs_clear(&inputs);
    return st;
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
                         "method %s has no state to go on from; emplace place runs it "
                         "without --checkpoint-every and --resume",
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

emp_status cli_place_with_checkpoint(cli_place_args *args, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_ranks *ranks = args->run.ranks;
    char            *path = NULL;

    st = check_resumable(args->method, err);
    EMP_TRY(ranks != NULL ? ranks->agree(st, err) : st);
    path = name_checkpoint(args->record);
    if (path == NULL) EMP_FAIL(EMP_ENOMEM, "name of the checkpoint of %s", args->record);
    args->run.checkpoint.path = path;
    keep_files(args);
    EMP_TRY(place(args, err));

cleanup:
    if (st == EMP_EINTERRUPTED && (ranks == NULL || ranks->rank == 0))
        tell_interrupted(path);
    emp_free(path);
    return st;
}

static bool has_checkpoint(const cli_place_args *args)
{
    return args->run.checkpoint.is_resumed || args->run.checkpoint.every_s > 0;
}

static error_t parse_all(int key, char *arg, struct argp_state *state)
{
    cli_place_args *args = (cli_place_args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = args; return 0;
    case CLI_FIT_KEY: args->fit = arg; return 0;
    case ARGP_KEY_END:
        if (args->fit != NULL &&
            (args->out != NULL || args->record != NULL || args->start != NULL ||
             args->weights != NULL || args->weights_out != NULL ||
             args->run.log != NULL || args->is_sensitivity ||
             (args->run.decides & ~EMP_DECIDES_DEVICES) != 0))
            cli_usage_error("--fit prints a size, and saves no placement; leave out "
                            "--out, --record, --start, --weights, --weights-out, --log, "
                            "--sensitivity and --decide");
        if (has_checkpoint(args) && args->record == NULL)
            cli_usage_error("--record is missing; the checkpoint lies beside it");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static emp_status decide(emp_owned_decision *decision, bool *is_partial,
                         const void *context, const emp_problem *problem, emp_error *err)
{
    const cli_place_args *args = (const cli_place_args *)context;

    EMP_CHECK(emp_decision_init(decision, problem->graph->op_count, 0, err));
    return cli_placement_by_method(decision->device_of_op, is_partial, args->method,
                                   &args->run, problem, err);
}

static const struct argp_option own[] = {CLI_FIT_OPTION, {0}};

static const struct argp_child all[] = {{&cli_place_argp, 0, NULL, 0}, {0}};
const struct argp cmd_place_argp = {own, parse_all, "SPEC", doc, all, NULL, NULL};

emp_status cmd_place(int argc, char **argv, emp_error *err)
{
    cli_place_args args = {.run = cli_run_options_default(), .method = "portfolio"};

    cli_parse(&cmd_place_argp, argc, argv, &args);
    if (args.fit != NULL)
        return cli_fit(&(cli_fit_request){.key = args.fit,
                                          .run = &args.run,
                                          .placement = args.method,
                                          .decide = decide,
                                          .args = &args},
                       err);
    if (has_checkpoint(&args)) return cli_place_with_checkpoint(&args, err);
    keep_files(&args);
    return place(&args, err);
}
