// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace bound SPEC: times that no placement can beat. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/io/atomic_file.h"
#include "base/io/output.h"
#include "base/mem.h"
#include "base/text/units.h"
#include "cli/cli.h"
#include "cli/options/inputs.h"
#include "cli/options/placement_input.h"
#include "cli/options/run_options.h"
#include "cli/report/report.h"
#include "cli/stop.h"
#include "run/methods.h"
#include "sim/exact/exact.h"

struct args {
    cli_task_options task;
    const char      *placement;
    int32_t          effort;
    bool             is_why, is_full;
    double           gap_frac; /* that branch and bound is to prove; -1 = none */
    int64_t          nodes;
    const char      *certificate; /* a file, or NULL */
    bool             is_forced;
};

enum { KEY_PROVE = 0x100, KEY_NODES };
/* Nodes of branch and bound, and evaluations of each search that it begins with. */
enum { NODES = 100000, SEARCH_BUDGET = 2000 };

static const struct argp_option options[] = {
    {"effort", 'e', "N", 0,
     "1 (the default, what place and simulate spend) to 3: more time, a higher bound", 0},
    {"placement", 'p', "METHOD|FILE", 0,
     "Bound placements that put no further op with a GPU kernel on a CPU than this one: "
     "a "
     "method's, a placement file's or a run record's",
     0},
    {"why", 'w', "full", OPTION_ARG_OPTIONAL,
     "Say which lemma each bound comes from, which ops, and by how much it falls on "
     "machines with faster links, more memory, another GPU, or faster devices; "
     "--why=full "
     "lists all ops in place of the ten longest rows",
     0},
    {"prove", KEY_PROVE, "PERCENT", 0,
     "Look for the best placement by branch and bound, until the lower bound is so near: "
     "1%, or 0 for the optimum. For small graphs and machines of up to 5 devices. It "
     "begins at --placement, or at what refine and anneal find",
     0},
    {"certificate", CLI_TEXT(struct args, certificate), "FILE", 0,
     "Write the proofs of both bounds, which scripts/bounds/check-bound checks in exact "
     "arithmetic by the lemmas of docs/bounds.md",
     0},
    CLI_FORCE_OPTION(struct args),
    {"nodes", KEY_NODES, "N", 0, "Nodes that branch and bound may visit (default 100k)",
     0},
    {0},
};

static const char doc[] =
    "Bound the time of a training step of SPEC, a workload spec or a graph file, from "
    "below:\nno placement that fits in memory takes less. docs/bounds.md proves it.\v"
    "  emplace bound nmt:layers=2 --machine k40x2\n"
    "  emplace bound inception_v3 --machine k40x2 --effort 3\n"
    "  emplace bound nmt:layers=2 --machine k40x2 --why\n"
    "  emplace bound transformer:layers=1 --machine k40x2 --prove 1%\n"
    "  emplace bound nmt:layers=2 --machine k40x2 --placement best.json --effort 2\n"
    "  emplace bound inception_v3 --machine k40x2 --runtime ideal --format json";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *args = (struct args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->task; return 0;
    case 'e':
        args->effort = (int32_t)cli_integer("effort", arg, 1, EMP_BOUNDS_MOST_EFFORT);
        return 0;
    case 'p': args->placement = arg; return 0;
    case 'w':
        args->is_why = true;
        args->is_full = cli_why_is_full(arg);
        return 0;
    case KEY_PROVE: args->gap_frac = cli_percent("prove", arg); return 0;
    case KEY_NODES: args->nodes = cli_integer("nodes", arg, 1, INT32_MAX); return 0;
    case ARGP_KEY_END:
        if (args->nodes > 0 && args->gap_frac < 0.0)
            cli_usage_error("--nodes is for --prove");
        if (args->nodes == 0) args->nodes = NODES;
        return 0;
    default: return cli_store(key, arg, args);
    }
}

static void print_bound(const char *key, emp_time_ns ns, const char *text)
{
    char value[32] = "none";

    if (ns > 0) emp_units_format_seconds((double)ns * 1e-9, value, sizeof value);
    printf("%-12s %-12s %s\n", key, value, text);
}

/* The results of a problem; the last three only if it is asked why. */
struct results {
    emp_bounds         bounds;
    emp_bounds_why     all, gpus;
    emp_bounds_changes changes;
    emp_exact_result   exact; /* best_ns 0: not asked */
};

static json_t *json_of_proof(const emp_exact_result *r)
{
    return json_pack(
        "{s:f, s:f, s:f, s:I, s:I, s:b}", "step_time_s", (double)r->best_ns * 1e-9,
        "lower_bound_s", (double)r->bound_ns * 1e-9, "gap_frac",
        emp_bounds_gap(r->bound_ns, r->best_ns), "nodes", (json_int_t)r->nodes, "leaves",
        (json_int_t)r->leaves, "proven", r->is_proven);
}

/* The bounds and what they are of; NULL when out of memory. */
static json_t *json_of(const struct args *args, const cli_inputs *inputs,
                       const struct results *r)
{
    json_t *object =
        json_pack("{s:s, s:s, s:s}", "workload", args->task.spec, "machine",
                  inputs->machine->name, "runtime", inputs->problem->runtime.name);
    json_t *values = cli_bounds_json(&r->bounds);

    cli_inputs_add_notes(object, inputs);
    if (json_object_update(object, values) != 0 ||
        json_object_set_new(object, "covers_homes",
                            json_boolean(!cli_bounds_leave_homes(inputs->problem))) !=
            0) {
        json_decref(object);
        object = NULL;
    }
    json_decref(values);
    if (args->is_why && object != NULL)
        json_object_set_new(object, "why",
                            cli_bound_why_json(inputs->problem, &r->bounds, &r->all,
                                               &r->gpus, &r->changes));
    if (args->gap_frac >= 0.0 && object != NULL)
        json_object_set_new(object, "proof", json_of_proof(&r->exact));
    return object;
}

static emp_status print_certificate(FILE *stream, const void *what, emp_error *err)
{
    const json_t *object = (const json_t *)what;

    if (json_dumpf(object, stream, JSON_COMPACT | JSON_PRESERVE_ORDER) != 0 &&
        !ferror(stream))
        return EMP_ERROR(EMP_ENOMEM, "a certificate");
    fputc('\n', stream);
    return EMP_OK;
}

static emp_status write_certificate(const struct results *r, const char *path,
                                    const emp_problem        *problem,
                                    const emp_bounds_options *how, emp_error *err)
{
    emp_status st = EMP_OK;
    json_t    *object = NULL;

    EMP_TRY(
        cli_certificate_json(&object, problem, how, &r->bounds, &r->all, &r->gpus, err));
    EMP_TRY(emp_atomic_file_write(path, print_certificate, object, err));

cleanup:
    json_decref(object);
    return st;
}

static emp_status check_files(const struct args *args, emp_error *err)
{
    const char *inputs[] = {args->task.spec, args->task.machine, args->task.runtime,
                            args->task.costs, args->placement};

    EMP_CHECK(emp_output_check(args->certificate, err));
    EMP_CHECK(emp_output_check_inputs(inputs, 5, &args->certificate, 1, err));
    return emp_output_check_replaced(&args->certificate, 1, args->is_forced, err);
}

/* Refuses a file that decides more than the proofs cover. */
static emp_status load_file(emp_owned_decision *decision, const struct args *args,
                            const emp_problem *problem, emp_error *err)
{
    EMP_CHECK(cli_decision_load(decision, args->placement, problem, err));
    if (decision->leader_of_op != NULL)
        return EMP_ERROR(
            EMP_EUNSUPPORTED,
            "%s decides the fusion of ops; a step with fused ops has no bound",
            args->placement);
    if (decision->level_of_op != NULL && args->gap_frac >= 0.0)
        return EMP_ERROR(
            EMP_EUNSUPPORTED,
            "%s decides the order of ops; --prove tries placements without one",
            args->placement);
    return EMP_OK;
}

static emp_status load(emp_owned_decision *decision, const struct args *args,
                       const emp_problem *problem, emp_error *err)
{
    if (args->placement == NULL) return EMP_OK;
    if (!emp_method_exists(args->placement))
        return load_file(decision, args, problem, err);
    EMP_CHECK(emp_decision_init(decision, problem->graph->op_count, 0, err));
    return cli_placement_by_method(decision->device_of_op, NULL, args->placement, NULL,
                                   problem, err);
}

static const struct argp_child children[] = {{&cli_task_argp, 0, NULL, 0}, {0}};
const struct argp cmd_bound_argp = {options, parse, "SPEC", doc, children, NULL, NULL};

static void print_proof(const emp_exact_result *r)
{
    char best[EMP_UNITS_TEXT_BYTES], bound[EMP_UNITS_TEXT_BYTES],
        gap[EMP_UNITS_TEXT_BYTES];

    emp_units_format_seconds((double)r->best_ns * 1e-9, best, sizeof best);
    emp_units_format_seconds((double)r->bound_ns * 1e-9, bound, sizeof bound);
    emp_units_format_percent(emp_bounds_gap(r->bound_ns, r->best_ns), gap, sizeof gap);
    printf("\nbranch and bound, %" PRId64 " nodes and %" PRId64 " leaves\n", r->nodes,
           r->leaves);
    print_bound("best", r->best_ns, "the best placement found");
    print_bound("proven", r->bound_ns, "no placement that fits takes less");
    printf("%-12s %-12s %s\n", "gap", gap,
           r->is_proven ? "proven"
                        : "not proven as far as asked; --nodes adds to the search");
}

static void print(const struct args *args, const cli_inputs *inputs,
                  const struct results *r)
{
    const emp_bounds *bounds = &r->bounds;

    printf("%s on %s, runtime %s\n", args->task.spec, inputs->machine->name,
           inputs->problem->runtime.name);
    cli_inputs_print_runtime(inputs);
#define X(name, key, text) print_bound(key, bounds->name##_ns, text);
    EMP_BOUNDS_LIST(X)
#undef X
    print_bound("lower bound", bounds->best_ns, "no placement that fits takes less");
    print_bound("on GPUs", bounds->gpu_kernels_ns,
                args->placement != NULL
                    ? "nor any with no further op with a GPU kernel on a CPU"
                    : "nor any that keeps GPU kernels off the CPUs");
    if (cli_bounds_leave_homes(inputs->problem))
        printf("Bounds are %s.\n", CLI_BOUND_HOMES);
    if (bounds->is_infeasible) printf("No placement fits in memory.\n");
    if (args->is_why)
        cli_bound_why_print(inputs->problem, bounds, &r->all, &r->gpus, &r->changes,
                            args->is_full);
    if (args->gap_frac >= 0.0) print_proof(&r->exact);
}

/* The better of two searches. */
static emp_status search(emp_owned_decision *decision, const emp_problem *problem,
                         emp_error *err)
{
    static const char *const methods[] = {"refine", "anneal"};
    emp_status               st = EMP_OK;
    const size_t             ops = (size_t)problem->graph->op_count;
    cli_run_options          run = cli_run_options_default();
    emp_device_id           *trial = NULL;
    emp_sim                 *sim = NULL;
    emp_time_ns              best_ns = -1;

    bool is_partial; /* then the proof ends at once, with what there is */

    run.budget = SEARCH_BUDGET;
    run.threads = 1;
    EMP_TRY(emp_decision_init(decision, problem->graph->op_count, 0, err));
    EMP_TRY(EMP_ALLOC(trial, ops));
    EMP_TRY(emp_sim_create(&sim, problem, err));
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        emp_sim_result r;
        EMP_TRY(
            cli_placement_by_method(trial, &is_partial, methods[i], &run, problem, err));
        EMP_TRY(emp_sim_run(sim, trial, &r, err));
        if (!r.is_feasible || (best_ns >= 0 && r.step_time_ns >= best_ns)) continue;
        best_ns = r.step_time_ns;
        memcpy(decision->device_of_op, trial, ops * sizeof *trial);
    }

cleanup:
    emp_free(trial);
    emp_sim_destroy(sim);
    return st;
}

/* Branch and bound, which begins at the placement that is given, or else at the best of two searches. */
static emp_status prove(emp_exact_result *result, const struct args *args,
                        const emp_problem *problem, const emp_owned_decision *given,
                        emp_error *err)
{
    emp_status         st = EMP_OK;
    emp_owned_decision found = {0};
    emp_device_id     *best = NULL;

    if (given->device_of_op == NULL) EMP_TRY(search(&found, problem, err));
    EMP_TRY(EMP_ALLOC(best, (size_t)problem->graph->op_count));
    const emp_exact_options how = {
        .gap = args->gap_frac,
        .most_nodes = args->nodes,
        .stop = cli_stop_flag(),
        .start = given->device_of_op != NULL ? given->device_of_op : found.device_of_op};
    cli_stop_unwatch(); /* it looks at the flag at every node, and what it has is printed */
    EMP_TRY(emp_exact_solve(result, best, problem, &how, err));

cleanup:
    emp_free(best);
    emp_decision_clear(&found);
    return st;
}

static emp_status compute(struct results *r, const struct args *args,
                          const emp_problem *problem, const emp_bounds_options *how,
                          emp_error *err)
{
    if (!args->is_why && !how->has_proof)
        return cli_bounds_compute(&r->bounds, problem, how, err);
    EMP_CHECK(emp_bounds_explain(&r->bounds, &r->all, &r->gpus, problem, how, err));
    return args->is_why ? emp_bounds_try_changes(&r->changes, problem, how, err) : EMP_OK;
}

emp_status cmd_bound(int argc, char **argv, emp_error *err)
{
    struct args        args = {.effort = EMP_BOUNDS_EFFORT, .gap_frac = -1.0};
    emp_status         st = EMP_OK;
    cli_inputs         inputs = {0};
    struct results     results = {0};
    emp_owned_decision decision = {0};

    cli_parse(&cmd_bound_argp, argc, argv, &args);
    cli_inputs_take_options(&inputs, &args.task);
    EMP_TRY(check_files(&args, err));
    EMP_TRY(cli_inputs_load(&inputs, args.task.spec, args.task.machine, args.task.runtime,
                            err));
    EMP_TRY(load(&decision, &args, inputs.problem, err));
    cli_stop_at_once(); /* bounds look at no flag */
    const emp_bounds_options how = {.effort = args.effort,
                                    .any_order = decision.level_of_op != NULL,
                                    .device_of_op = decision.device_of_op,
                                    .has_proof = args.certificate != NULL};
    EMP_TRY(compute(&results, &args, inputs.problem, &how, err));
    if (args.certificate != NULL)
        EMP_TRY(write_certificate(&results, args.certificate, inputs.problem, &how, err));
    if (args.gap_frac >= 0.0)
        EMP_TRY(prove(&results.exact, &args, inputs.problem, &decision, err));
    if (args.task.format == EMP_SHEET_TEXT)
        print(&args, &inputs, &results);
    else
        EMP_TRY(
            cli_print_object(json_of(&args, &inputs, &results), args.task.format, err));
    if (args.gap_frac >= 0.0 && !results.exact.is_proven && cli_stop_is_asked())
        st = EMP_EINTERRUPTED;

cleanup:
    emp_bounds_why_clear(&results.all);
    emp_bounds_why_clear(&results.gpus);
    emp_decision_clear(&decision);
    cli_inputs_clear(&inputs);
    return st;
}
