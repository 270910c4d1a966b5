// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace simulate SPEC: one training step under one placement. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io/atomic_file.h"
#include "base/io/output.h"
#include "base/text/nearest.h"
#include "bench/explore/explore.h"
#include "bench/report/cells.h"
#include "cli/cli.h"
#include "cli/options/fit.h"
#include "cli/options/parallel.h"
#include "cli/options/placement_input.h"
#include "cli/report/report.h"
#include "cli/stop.h"
#include "graphs/export/chakra.h"
#include "graphs/import/node_devices.h"
#include "graphs/import/traces/step_graph.h"
#include "graphs/load.h"
#include "run/loop.h"
#include "run/methods.h"
#include "sim/explain/explain.h"
#include "sim/explain/pictures.h"

/* ---- files that show several placements: the page to explore, and those for Model Explorer ---- */

/* The placements that files compare: first the one of --placement, then each one of
 * --beside, then the runners-up of the search. */

enum { BESIDE = 7, RUNNERS_UP = 8, LABEL_BYTES = 128 };

/* Zero-initialise; clear_placements() releases it. */
typedef struct {
    int32_t named; /* placements that the user names; runners-up are behind them */
    int32_t count;
    emp_owned_decision    owned[1 + BESIDE];
    emp_runners_up        runners_up;
    char                  label[EMP_EXPLORE_PLACEMENTS][LABEL_BYTES];
    emp_labelled_decision placement[EMP_EXPLORE_PLACEMENTS];
} placements;

/* Files that a step is written to; each may be NULL. */
typedef struct {
    const char *explore;        /* a page */
    const char *model_explorer; /* prefix */
} page_files;

static void add(placements *s, const emp_owned_decision *decision)
{
    s->placement[s->count] = (emp_labelled_decision){
        .label = s->label[s->count], .decision = emp_decision_view(decision)};
    s->count++;
}

/* Adds owned[named] under the user's name for it. */
static void add_named(placements *s, const char *name)
{
    snprintf(s->label[s->count], LABEL_BYTES, "%s", name);
    add(s, &s->owned[s->named++]);
}

/* Adds all but the first of the runners-up, which is the placement of --placement itself. */
static void add_runners_up(placements *s)
{
    for (int32_t i = 1; i < s->runners_up.count && s->count < EMP_EXPLORE_PLACEMENTS;
         i++) {
        snprintf(s->label[s->count], LABEL_BYTES, "%.100s, number %d",
                 s->placement[0].label, i + 1);
        add(s, &s->runners_up.place[i].decision);
    }
}

static void clear_placements(placements *s)
{
    for (int32_t i = 0; i <= BESIDE; i++) emp_decision_clear(&s->owned[i]);
    emp_runners_up_clear(&s->runners_up);
}

/* Outputs with a name of their own: the trace, the drawing and the explorer's page. */
enum { OUTPUTS = 3 };

/* Checks that the files of \a prefix for Model Explorer, of that many placements, can be written.
 * \param others  Further outputs, or NULL, that are other files.
 * \param inputs  Files that none of them may replace. */
static emp_status check_model_explorer(const char *prefix, int32_t count,
                                       const char *const  others[OUTPUTS],
                                       const char *const *inputs, int32_t input_count,
                                       bool is_forced, emp_error *err)
{
    char        path[EMP_MODEL_EXPLORER_PATH_BYTES];
    const char *outputs[1 + OUTPUTS] = {path};

    for (int32_t i = 0; i < OUTPUTS; i++) outputs[1 + i] = others[i];

    if (prefix == NULL) return EMP_OK;
    if (*prefix == '\0')
        return EMP_ERROR(EMP_EINVAL,
                         "--model-explorer needs the beginning of the files' names");
    for (int32_t i = -1; i < count * EMP_MODEL_EXPLORER_DATA; i++) {
        EMP_CHECK(emp_model_explorer_path(path, prefix,
                                          i < 0 ? -1 : i / EMP_MODEL_EXPLORER_DATA,
                                          i < 0 ? 0 : i % EMP_MODEL_EXPLORER_DATA, err));
        EMP_CHECK(emp_output_check_all(outputs, 1 + OUTPUTS, err));
        EMP_CHECK(emp_output_check_inputs(inputs, input_count, outputs, 1, err));
        EMP_CHECK(emp_output_check_replaced(outputs, 1, is_forced, err));
    }
    return EMP_OK;
}

static int32_t count_ops(const emp_problem *problem)
{
    int32_t count = 0;

    for (emp_op_id op = 0; op < problem->graph->op_count; op++)
        count += !problem->graph->op[op].is_folded;
    return count;
}

/* Draws the placed graph for Graphviz: by name scope, or, of many ops and with \a depth 0, by layer. */
static emp_status draw_graph(const char *path, int32_t depth, const emp_problem *problem,
                             const emp_device_id *device_of_op, emp_error *err)
{
    emp_status            st = EMP_OK;
    emp_scope_dot_summary summary;
    emp_cells             cells = {0};
    const char           *name[EMP_CELLS_MAX_ROWS];
    const bool is_by_layers = depth == 0 && count_ops(problem) > EMP_SCOPE_DOT_OPS;

    if (is_by_layers) EMP_TRY(emp_cells_create(&cells, problem, device_of_op, err));
    for (int32_t row = 0; row < cells.row_count; row++) name[row] = cells.row_name[row];
    const emp_scope_dot_layers layers = {cells.row_count, name, cells.row_of_op,
                                         cells.pass_of_op};
    EMP_TRY(emp_scope_dot_write(path, problem, device_of_op, depth,
                                is_by_layers ? &layers : NULL, &summary, err));
    if (summary.node_count > EMP_SCOPE_DOT_NODES && !is_by_layers) {
        cli_warn("%s has %d nodes, scopes to depth %d; Graphviz may take long", path,
                 summary.node_count, summary.depth);
    }

cleanup:
    emp_cells_clear(&cells);
    return st;
}

static emp_status write_page(FILE *file, const void *data, emp_error *err)
{
    return emp_explore_write(file, data, err);
}

static emp_status write_pages(const placements *s, const page_files *files,
                              const emp_problem *problem, emp_error *err)
{
    emp_status st = EMP_OK;
    json_t    *data = NULL;

    if (files->model_explorer != NULL)
        EMP_TRY(emp_model_explorer_write(files->model_explorer, problem, s->placement,
                                         s->named, err));
    if (files->explore != NULL) {
        EMP_TRY(emp_explore_data(&data, problem, s->placement, s->count, 0, err));
        EMP_TRY(emp_atomic_file_write(files->explore, write_page, data, err));
    }

cleanup:
    json_decref(data);
    return st;
}

#define OWN_DEVICES "file" /* of --placement */

enum { KEY_DOT_DEPTH = 512, KEY_BESIDE };

struct args {
    cli_run_options run;
    const char     *placement;      /**< method name or file */
    const char     *beside[BESIDE]; /**< likewise */
    int32_t         beside_count;
    page_files      files;
    const char     *trace;     /**< file, or NULL */
    const char     *dot;       /**< file, or NULL */
    int32_t         dot_depth; /**< 0 = not given */
    const char     *chakra;    /**< prefix of files, or NULL */
    const char     *fit;       /**< the size that is sought, or NULL */
    bool            is_why, is_full, is_forced;
    bool            all_ranks; /**< of a step in parallel */
};

static const struct argp_option options[] = {
    {"placement", 'p', "METHOD|FILE", 0,
     "A method that is run for it, a placement file (names or rules, docs/formats.md), "
     "a run record (.h5), a graph file whose nodes name devices, or \"" OWN_DEVICES
     "\": the devices that SPEC names",
     0},
    {"why", 'w', "full", OPTION_ARG_OPTIONAL,
     "Explain the step in ten lines: what bounds it, the moves that help most, memory; "
     "--why=full: in tables, with the critical path, idle devices, where their time "
     "goes, what would shorten the step and what is in memory at the peaks",
     0},
    {"beside", KEY_BESIDE, "METHOD|FILE", 0,
     "A further placement that --explore, --trace and --model-explorer show beside the "
     "first (may be repeated)",
     0},
    {"explore", CLI_TEXT(struct args, files.explore), "FILE", 0,
     "Write a page of HTML to explore the placements, which needs no network: load, "
     "memory, layers by devices, and what moving a layer or an op would give. If a "
     "method "
     "searches for the first placement, the page has its best runners-up, too",
     0},
    {"trace", 'T', "FILE", 0, "Write the schedule as JSON for Perfetto (ui.perfetto.dev)",
     0},
    {"model-explorer", CLI_TEXT(struct args, files.model_explorer), "PREFIX", 0,
     "Write the placed graph for Model Explorer: PREFIX.json, and for each placement "
     "PREFIX.1.device.json, PREFIX.1.seconds.json, PREFIX.1.wait.json",
     0},
    {"dot", CLI_TEXT(struct args, dot), "FILE", 0,
     "Write the placed graph for Graphviz, by name scope; over 300 ops, by layer", 0},
    {"dot-depth", KEY_DOT_DEPTH, "N", 0,
     "Have --dot draw by name scope, and keep N parts of a scope's name apart (default "
     "2, or 1 if that would be over 200 nodes)",
     0},
    {"chakra", CLI_TEXT(struct args, chakra), "PREFIX", 0,
     "Write the placed step as Chakra's traces for other simulators, a file a device: "
     "PREFIX.0.et, PREFIX.1.et, ...",
     0},
    {"all-ranks", CLI_FLAG(struct args, all_ranks), NULL, 0,
     "For a SPEC with degrees of parallelism: simulate each rank, though a stage's ranks "
     "are alike",
     0},
    CLI_FIT_OPTION,
    CLI_FORCE_OPTION(struct args),
    {0},
};

static const char doc[] =
    "Time one training step of SPEC, a workload spec or a graph file, under a "
    "placement.\v"
    "A method that searches gets 100 evaluations unless --budget or --seconds is "
    "given. A placement that does not fit in memory is a result, too: the program exits "
    "0 and says so, in JSON with feasible.\n\n"
    "  emplace simulate nmt:layers=2 --machine k40x2 --placement expert\n"
    "  emplace simulate nmt:layers=2 --machine k40x2 --placement expert --why\n"
    "  emplace simulate nmt:layers=2 --machine k40x2 --placement rules.yaml\n"
    "  emplace simulate nmt:layers=2 --machine k40x2 --placement post \\\n"
    "      --beside expert --explore nmt.html\n"
    "  emplace simulate model.pb --machine k40x4 --placement file\n"
    "  emplace simulate model.pb --machine k40x4 --placement best.json \\\n"
    "      --trace out.json --dot out.dot\n"
    "  dot -Tsvg out.dot >out.svg\n"
    "  emplace simulate nmt:layers=2 --machine k40x2 --placement expert --chakra nmt\n"
    "  emplace simulate hf:path=config.json,phase=decode,batch=1 --machine rtx3090x4 \\\n"
    "      --placement memory-split --fit seq";

static bool writes_files(const struct args *args)
{
    return args->trace != NULL || args->dot != NULL || args->chakra != NULL ||
           args->files.explore != NULL || args->files.model_explorer != NULL;
}

static void check_usage(const struct args *args)
{
    if (args->run.task.spec != NULL && emp_parallel_spec_is(args->run.task.spec)) return;
    if (args->all_ranks)
        cli_usage_error("--all-ranks is for a SPEC with degrees of parallelism, as "
                        "hf:path=config.json,tp=2");
    if (args->placement == NULL)
        cli_usage_error("--placement is missing: a method, a placement file or a run "
                        "record");
    if (args->dot_depth > 0 && args->dot == NULL)
        cli_usage_error("--dot-depth is for --dot FILE");
    if (args->beside_count > 0 && args->trace == NULL && args->files.explore == NULL &&
        args->files.model_explorer == NULL)
        cli_usage_error("--beside is for --explore, --trace and --model-explorer, which "
                        "show several placements");
    if (args->fit != NULL && (writes_files(args) || args->is_why))
        cli_usage_error("--fit prints a size, and writes and explains no step; leave "
                        "out --trace, --dot, --chakra, --explore, --model-explorer and "
                        "--why");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *args = (struct args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->run; return 0;
    case 'p': args->placement = arg; return 0;
    case CLI_FIT_KEY: args->fit = arg; return 0;
    case 'w':
        args->is_why = true;
        args->is_full = cli_why_is_full(arg);
        return 0;
    case 'T': args->trace = arg; return 0;
    case KEY_BESIDE:
        if (args->beside_count == BESIDE)
            cli_usage_error("--beside can be given %d times at most", BESIDE);
        args->beside[args->beside_count++] = arg;
        return 0;
    case KEY_DOT_DEPTH:
        args->dot_depth = (int32_t)cli_integer("dot-depth", arg, 1, 100);
        return 0;
    case ARGP_KEY_END: check_usage(args); return 0;
    default: return cli_store(key, arg, args);
    }
}

/* The devices that SPEC itself names. */
static emp_status load_own(emp_owned_decision *decision, const char *spec,
                           const emp_problem *problem, emp_error *err)
{
    emp_status        st = EMP_OK;
    char              buffer[EMP_SPEC_BYTES];
    cli_decision_file file;

    if (emp_trace_is_graph(problem->graph)) {
        EMP_CHECK(emp_decision_init(decision, problem->graph->op_count, 0, err));
        return cli_trace_devices_load(decision->device_of_op, problem, err);
    }
    st = cli_decision_open(&file, emp_source_file(buffer, spec), NULL);
    if (st != EMP_OK || file.form != CLI_DECISION_GRAPH)
        EMP_FAIL(
            EMP_EINVAL,
            "--placement " OWN_DEVICES " takes the devices that a "
            "TensorFlow graph file or a trace of PyTorch's profiler names, and %s is "
            "neither",
            spec);
    EMP_TRY(cli_decision_read(decision, &file, problem, err));

cleanup:
    cli_decision_close(&file);
    return st;
}

/* The decision of a file, made legal as the runtime would, or the best placement that a method
 * finds. With \a takes_options some placement is a method's, so that options of methods may stand beside a file. */
static emp_status get_decision(emp_owned_decision *decision, bool *is_partial,
                               const char *name, const cli_run_options *run,
                               bool takes_options, const emp_problem *problem,
                               emp_error *err)
{
    char hint[EMP_NEAREST_BYTES];

    if (strcmp(name, OWN_DEVICES) == 0)
        return load_own(decision, run->task.spec, problem, err);
    if (emp_method_exists(name)) {
        EMP_CHECK(emp_decision_init(decision, problem->graph->op_count, 0, err));
        return cli_placement_by_method(decision->device_of_op, is_partial, name, run,
                                       problem, err);
    }
    if (access(name, F_OK) != 0)
        return EMP_ERROR(
            EMP_EIO,
            strpbrk(name, "./") != NULL
                ? "there is no file \"%s\"%s"
                : "\"%s\" is neither a method nor a file%s; emplace methods lists "
                  "the methods, and a file may place all ops by one rule "
                  "(docs/formats.md, Placements)",
            name, emp_nearest_file(name, hint));
    if (!takes_options &&
        (run->preset != NULL || run->options != NULL || run->budget > 0 ||
         run->seconds > 0 || run->seed != cli_run_options_default().seed))
        return EMP_ERROR(EMP_EINVAL,
                         "--budget, --seconds, --seed, --preset and --options are for "
                         "methods, and \"%s\" is a file",
                         name);
    return cli_decision_load(decision, name, problem, err);
}

/* True if one of the placements is a method's, which its options are for. */
static bool is_some_method(const struct args *args)
{
    bool is_method = emp_method_exists(args->placement);

    for (int32_t i = 0; i < args->beside_count; i++)
        is_method |= emp_method_exists(args->beside[i]);
    return is_method;
}

/* All placements; only the search of the first keeps its runners-up, and --explore shows them. */
static emp_status get_decisions(placements *simulated, bool *is_partial,
                                const struct args *args, const emp_problem *problem,
                                emp_error *err)
{
    cli_run_options run = args->run;

    const bool takes_options = is_some_method(args);
    simulated->runners_up.limit = RUNNERS_UP;
    if (args->files.explore != NULL) run.runners_up = &simulated->runners_up;
    for (int32_t i = 0; i <= args->beside_count; i++) {
        const char *name = i == 0 ? args->placement : args->beside[i - 1];
        bool        is_ended = false;
        EMP_CHECK(get_decision(&simulated->owned[i], &is_ended, name, &run, takes_options,
                               problem, err));
        add_named(simulated, name);
        *is_partial = *is_partial || is_ended;
        run.runners_up = NULL;
    }
    add_runners_up(simulated);
    return EMP_OK;
}

static emp_status simulate(const struct args *args, const emp_problem *problem,
                           const placements *simulated, emp_sim_result *result,
                           emp_error *err)
{
    emp_status     st = EMP_OK;
    emp_sim       *sim = NULL;
    emp_sim_result results[1 + BESIDE];

    EMP_TRY(emp_sim_create(&sim, problem, err));
    if (args->trace != NULL) {
        EMP_TRY(emp_trace_chrome_write(args->trace, sim, problem, simulated->placement,
                                       simulated->named, results, err));
    } else {
        EMP_TRY(emp_sim_trace_decision(sim, &simulated->placement[0].decision, NULL,
                                       results, err));
    }
    *result = results[0];

cleanup:
    emp_sim_destroy(sim);
    return st;
}

/* The files of Chakra's traces are known once the machine is. */
static emp_status check_chakra(const struct args *args, const emp_machine *machine,
                               emp_error *err)
{
    const cli_task_options *task = &args->run.task;
    const char *const       inputs[] = {task->spec, task->machine, task->runtime,
                                        args->placement, task->costs};
    char                    path[EMP_CHAKRA_PATH_BYTES];

    if (args->chakra != NULL && *args->chakra == '\0')
        return EMP_ERROR(EMP_EINVAL, "--chakra needs the beginning of the files' names");
    for (emp_device_id d = 0; args->chakra != NULL && d < machine->device_count; d++) {
        const char *const outputs[] = {path, args->trace, args->dot};
        EMP_CHECK(emp_chakra_path(path, args->chakra, d, err));
        EMP_CHECK(emp_output_check_all(outputs, OUTPUTS, err));
        EMP_CHECK(emp_output_check_inputs(inputs, 5, outputs, 1, err));
        EMP_CHECK(emp_output_check_replaced(outputs, 1, args->is_forced, err));
    }
    return EMP_OK;
}

static emp_status refuse_fused(const struct args *args, emp_error *err)
{
    return EMP_ERROR(EMP_EUNSUPPORTED,
                     "%s has fused ops, and nodes of Chakra's traces are single ops; "
                     "name a placement without leaders",
                     args->placement);
}

static emp_status print_result(const struct args *args, const cli_inputs *inputs,
                               const emp_sim_result *result, const emp_explanation *why,
                               const emp_what_if *what_if, const emp_bounds *bounds,
                               bool is_partial, emp_error *err)
{
    const emp_problem *problem = inputs->problem;

    if (args->run.task.format != EMP_SHEET_TEXT) {
        json_t *object = cli_report_json(problem, result, why, bounds);
        json_t *task = json_pack(
            "{s:s, s:s, s:s, s:s, s:s?, s:b}", "workload", args->run.task.spec, "machine",
            inputs->machine->name, "runtime", problem->runtime.name, "placement",
            args->placement, "costs", inputs->costs, "interrupted", (int)is_partial);
        cli_inputs_add_notes(task, inputs);
        int failures = json_object_update(object, task);
        json_decref(task);
        if (args->is_why)
            failures |=
                json_object_set_new(object, "why", cli_why_json(problem, why, what_if));
        if (failures != 0) {
            json_decref(object);
            object = NULL;
        }
        return cli_print_object(object, args->run.task.format, err);
    }
    printf("%s on %s, runtime %s, placement %s%s\n", args->run.task.spec,
           inputs->machine->name, problem->runtime.name, args->placement,
           is_partial ? ", interrupted" : "");
    cli_inputs_print_runtime(inputs);
    cli_report_print(problem, result, why, bounds);
    if (args->is_why)
        (args->is_full ? cli_why_print : cli_why_print_brief)(problem, why, what_if);
    return EMP_OK;
}

static emp_status decide(emp_owned_decision *decision, bool *is_partial,
                         const void *context, const emp_problem *problem, emp_error *err)
{
    const struct args *args = context;

    return get_decision(decision, is_partial, args->placement, &args->run, false, problem,
                        err);
}

/* A step whose degrees say where all is: no placement, no runtime. */
static emp_status simulate_parallel(const struct args *args, emp_error *err)
{
    const cli_parallel_options in_parallel = {.spec = args->run.task.spec,
                                              .machine = args->run.task.machine,
                                              .trace = args->trace,
                                              .all_ranks = args->all_ranks,
                                              .format = args->run.task.format};

    if (args->placement != NULL || args->beside_count > 0 || args->dot != NULL ||
        args->chakra != NULL || args->files.explore != NULL ||
        args->files.model_explorer != NULL || args->fit != NULL || args->is_why ||
        args->run.task.runtime != NULL)
        return EMP_ERROR(EMP_EINVAL,
                         "%s has degrees of parallelism, which say where its parts are; "
                         "leave out --placement, --beside, --runtime, --dot, --chakra, "
                         "--explore, --model-explorer, --fit and --why",
                         in_parallel.spec);
    const cli_task_options *task = &args->run.task;
    if (task->costs != NULL || task->measured_on != NULL || task->is_cpu_forbidden ||
        task->keeps_layers || args->run.budget > 0 || args->run.seconds > 0 ||
        args->run.seed != cli_run_options_default().seed || args->run.is_unbound ||
        args->run.preset != NULL || args->run.options != NULL || args->dot_depth > 0)
        return EMP_ERROR(EMP_EINVAL,
                         "%s has degrees of parallelism, which take their times from the "
                         "cluster; leave out --costs, --as, --forbid, --whole-layers, "
                         "--dot-depth, --no-bound and options of methods",
                         in_parallel.spec);
    if (in_parallel.machine == NULL)
        return EMP_ERROR(EMP_EINVAL, "--machine is missing: a cluster, or a machine");
    if (in_parallel.trace != NULL) {
        const char *const inputs[] = {in_parallel.spec, in_parallel.machine};
        EMP_CHECK(emp_output_check_all(&in_parallel.trace, 1, err));
        EMP_CHECK(emp_output_check_inputs(inputs, 2, &in_parallel.trace, 1, err));
        EMP_CHECK(emp_output_check_replaced(&in_parallel.trace, 1, args->is_forced, err));
    }
    return cli_parallel_simulate(&in_parallel, err);
}

static const struct argp_child children[] = {{&cli_run_argp, 0, NULL, 0}, {0}};
const struct argp cmd_simulate_argp = {options, parse, "SPEC", doc, children, NULL, NULL};

/* That no output would replace an input, or a file without --force. */
static emp_status check_outputs(const struct args *args, emp_error *err)
{
    const cli_task_options *task = &args->run.task;
    const char *const outputs[OUTPUTS] = {args->trace, args->dot, args->files.explore};
    const char       *inputs[5 + BESIDE] = {task->spec, task->machine, task->runtime,
                                            args->placement, task->costs};

    for (int32_t i = 0; i < args->beside_count; i++) inputs[5 + i] = args->beside[i];
    EMP_CHECK(emp_output_check_all(outputs, 3, err));
    EMP_CHECK(
        emp_output_check_inputs(inputs, 5 + args->beside_count, outputs, OUTPUTS, err));
    EMP_CHECK(emp_output_check_replaced(outputs, OUTPUTS, args->is_forced, err));
    return check_model_explorer(args->files.model_explorer, 1 + args->beside_count,
                                outputs, inputs, 5 + args->beside_count, args->is_forced,
                                err);
}

/* The files beside the trace, which the simulation itself writes. */
static emp_status write_files(const struct args *args, const cli_inputs *inputs,
                              const placements *simulated, emp_error *err)
{
    const emp_device_id *device_of_op = simulated->placement[0].decision.device_of_op;

    if (args->dot != NULL)
        EMP_CHECK(
            draw_graph(args->dot, args->dot_depth, inputs->problem, device_of_op, err));
    if (args->chakra != NULL)
        EMP_CHECK(emp_chakra_write(args->chakra, inputs->problem, device_of_op, err));
    return write_pages(simulated, &args->files, inputs->problem, err);
}

emp_status cmd_simulate(int argc, char **argv, emp_error *err)
{
    struct args      args = {.run = cli_run_options_default()};
    emp_status       st = EMP_OK;
    cli_inputs       inputs = {0};
    placements       simulated = {0};
    emp_sim_result   result;
    emp_bounds       bounds;
    emp_explanation *why = NULL;
    emp_what_if      what_if = {0};
    bool             is_partial = false;

    cli_parse(&cmd_simulate_argp, argc, argv, &args);
    if (emp_parallel_spec_is(args.run.task.spec)) return simulate_parallel(&args, err);
    if (args.fit != NULL)
        return cli_fit(&(cli_fit_request){.key = args.fit,
                                          .run = &args.run,
                                          .placement = args.placement,
                                          .decide = decide,
                                          .args = &args},
                       err);
    const cli_task_options *task = &args.run.task;
    EMP_TRY(check_outputs(&args, err));
    cli_inputs_take_options(&inputs, task);
    EMP_TRY(cli_inputs_load(&inputs, task->spec, task->machine, task->runtime, err));
    EMP_TRY(check_chakra(&args, inputs.machine, err));
    EMP_TRY(get_decisions(&simulated, &is_partial, &args, inputs.problem, err));
    const emp_decision decision = simulated.placement[0].decision;
    if (args.chakra != NULL && decision.leader_of_op != NULL)
        EMP_TRY(refuse_fused(&args, err));
    is_partial = is_partial || cli_stop_is_asked();
    args.is_why = args.is_why && !is_partial;
    cli_stop_at_once(); /* each file is whole or not there */
    EMP_TRY(simulate(&args, inputs.problem, &simulated, &result, err));
    EMP_TRY(write_files(&args, &inputs, &simulated, err));
    EMP_TRY(cli_why_create(&why, inputs.problem, &decision, &result, args.is_why, err));
    if (args.is_why)
        EMP_TRY(emp_what_if_find(&what_if, inputs.problem, &decision, why, err));
    EMP_TRY(cli_bound(&bounds, &args.run, inputs.problem, &decision, err));
    EMP_TRY(
        print_result(&args, &inputs, &result, why, &what_if, &bounds, is_partial, err));
    if (is_partial) st = EMP_EINTERRUPTED;

cleanup:
    emp_explain_destroy(why);
    clear_placements(&simulated);
    cli_inputs_clear(&inputs);
    return st;
}
