// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace bench surrogate SPEC: how fast the surrogate is beside the oracle, and how well
 * it ranks. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/work.h"
#include "cli/cli.h"
#include "cli/options/inputs.h"
#include "cli/options/jobs_options.h"
#include "run/sheet/sheet.h"
#include "sim/surrogate/surrogate.h"

enum {
    GROUPS = 256,
    MOVED_GROUPS = 20,
    ROUNDS = 15,
    EXACT_PER_ROUND = 16,
    FOLLOWED = 32, /* placements that the learned order is from; not measured */
    SAMPLES = 128
};

/* Random streams of a seed. */
enum { STREAM_RANDOM, STREAM_LOCAL, STREAM_COUNT };

struct args {
    cli_study_options study;
    bool              is_scalar;
};

static const struct argp_option options[] = {
    {"scalar", CLI_FLAG(struct args, is_scalar), NULL, 0,
     "Use plain C, not the processor's vectors", 0},
    {0},
};

static const char doc[] =
    "Time the surrogate beside the oracle, and compare the ranks that they give.\v"
    "Ops form 256 groups, contiguous in topological order. \"random\" puts every group "
    "on a random device; \"local\" is a pipeline over the GPUs with 20 groups moved to "
    "random devices. Times are CPU times, medians of 15 rounds that run both. The order "
    "of exact runs is learned from 32 other placements of the kind. There are 128 of a "
    "kind unless --samples is given; multiples of 16 fill the processor's vectors. "
    "Times are per placement and op that is not folded (docs/simulator.md).\n\n"
    "  emplace bench surrogate rnnlm --machine k40x4\n"
    "  emplace bench surrogate nmt:layers=4 --machine k40x2 --runtime ideal --format "
    "json";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *args = (struct args *)state->input;

    (void)arg;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->study; return 0;
    default: return cli_store(key, arg, args);
    }
}

/* One kind of placements. */
typedef struct {
    const char   *name;
    double        surrogate_ns, exact_ns; /* per op and placement */
    double        ratio;                  /* exact / surrogate, of one round */
    emp_agreement topological, followed;
} row;

typedef struct {
    const struct args *args;
    const emp_problem *problem;
    emp_surrogate     *surrogate;
    emp_sim           *sim;
    int32_t           *group_of_class;
    emp_device_id     *devices;    /* [FOLLOWED + samples][op_count] */
    emp_device_id    **placements; /* the rows of devices */
    double            *estimate_s; /* [samples] */
} stand;

/* ---- placements ---- */

/* Equal slices of the colocation classes, in the topological order of their first ops. */
static void draw_groups(stand *s)
{
    const emp_graph *g = s->problem->graph;
    int32_t          seen = 0;

    for (int32_t c = 0; c < g->class_count; c++) s->group_of_class[c] = -1;
    for (int32_t i = 0; i < g->op_count; i++) {
        int32_t *group = &s->group_of_class[g->op[g->topo[i]].colocation_class];
        if (*group >= 0) continue;
        *group = (int32_t)((int64_t)seen++ * GROUPS / g->class_count);
    }
}

static emp_device_id draw_device(const stand *s, emp_rng *rng)
{
    uint32_t count = (uint32_t)s->problem->machine->device_count;

    return (emp_device_id)emp_rng_below(rng, count);
}

static void draw_placement(const stand *s, int32_t number, int stream)
{
    const emp_graph *g = s->problem->graph;
    int32_t          gpus = s->problem->machine->device_count - 1;
    emp_device_id    device_of_group[GROUPS];
    emp_rng          rng;

    emp_rng_init(&rng, s->args->study.seed, (uint32_t)stream, (uint32_t)number);
    for (int32_t i = 0; i < GROUPS; i++) {
        device_of_group[i] = stream == STREAM_RANDOM ? draw_device(s, &rng)
                             : gpus > 0              ? 1 + i * gpus / GROUPS
                                                     : 0;
    }
    for (int32_t i = 0; stream == STREAM_LOCAL && i < MOVED_GROUPS; i++) {
        uint32_t group = emp_rng_below(&rng, GROUPS);
        device_of_group[group] = draw_device(s, &rng);
    }
    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t group = s->group_of_class[g->op[op].colocation_class];
        s->placements[number][op] = device_of_group[group];
    }
    emp_problem_legalize(s->problem, s->placements[number]);
}

/* ---- measuring ---- */

static emp_status set_up(stand *s, emp_error *err)
{
    const emp_graph *g = s->problem->graph;
    size_t           count = (size_t)(FOLLOWED + s->args->study.samples);
    size_t           op_count = (size_t)g->op_count;

    EMP_CHECK(EMP_ALLOC(s->group_of_class, (size_t)g->class_count));
    EMP_CHECK(EMP_ALLOC(s->devices, count * op_count));
    EMP_CHECK(EMP_ALLOC(s->placements, count));
    EMP_CHECK(EMP_ALLOC(s->estimate_s, count));
    for (size_t i = 0; i < count; i++) s->placements[i] = s->devices + i * op_count;
    draw_groups(s);
    EMP_CHECK(emp_sim_create(&s->sim, s->problem, err));
    return emp_surrogate_create(
        &s->surrogate, s->problem,
        s->args->is_scalar ? EMP_SURROGATE_SCALAR : EMP_SURROGATE_FASTEST, err);
}

static void tear_down(stand *s)
{
    emp_free(s->group_of_class);
    emp_free(s->devices);
    emp_free(s->placements);
    emp_free(s->estimate_s);
    emp_sim_destroy(s->sim);
    emp_surrogate_destroy(s->surrogate);
}

static emp_status run_round(stand *s, int32_t round, double *surrogate_s, double *exact_s,
                            emp_error *err)
{
    emp_device_id *const *placements = s->placements + FOLLOWED;
    int32_t               count = s->args->study.samples;
    double                start_s = emp_clock_thread_s();

    EMP_CHECK(emp_surrogate_run(s->surrogate, placements, count, s->estimate_s, err));
    *surrogate_s = (emp_clock_thread_s() - start_s) / count;
    start_s = emp_clock_thread_s();
    for (int32_t i = 0; i < EXACT_PER_ROUND; i++) {
        emp_sim_result result;
        int32_t        number = (round * EXACT_PER_ROUND + i) % count;
        EMP_CHECK(emp_sim_run(s->sim, placements[number], &result, err));
    }
    *exact_s = (emp_clock_thread_s() - start_s) / EXACT_PER_ROUND;
    return EMP_OK;
}

static emp_status measure_speed(stand *s, row *r, emp_error *err)
{
    double surrogate_s[ROUNDS], exact_s[ROUNDS], ratio[ROUNDS];
    double ns_per_op = 1e9 / emp_surrogate_op_count(s->surrogate);

    for (int32_t i = 0; i < ROUNDS; i++) {
        EMP_CHECK(run_round(s, i, &surrogate_s[i], &exact_s[i], err));
        ratio[i] = exact_s[i] / surrogate_s[i];
    }
    r->surrogate_ns = emp_summary_of(surrogate_s, ROUNDS).median * ns_per_op;
    r->exact_ns = emp_summary_of(exact_s, ROUNDS).median * ns_per_op;
    r->ratio = emp_summary_of(ratio, ROUNDS).median;
    return EMP_OK;
}

static emp_status measure(stand *s, int stream, row *r, emp_error *err)
{
    emp_device_id *const *placements = s->placements + FOLLOWED;
    int32_t               count = s->args->study.samples;

    r->name = stream == STREAM_RANDOM ? "random" : "local";
    for (int32_t i = 0; i < FOLLOWED + count; i++) draw_placement(s, i, stream);
    EMP_CHECK(emp_surrogate_set_order(s->surrogate, NULL, err));
    EMP_CHECK(measure_speed(s, r, err));
    EMP_CHECK(emp_surrogate_rank_correlation(&r->topological, s->surrogate, s->sim,
                                             placements, count, err));
    EMP_CHECK(emp_surrogate_follow(s->surrogate, s->sim, s->placements, FOLLOWED, err));
    return emp_surrogate_rank_correlation(&r->followed, s->surrogate, s->sim, placements,
                                          count, err);
}

/* ---- printing ---- */

static const emp_sheet_column columns[] = {
    EMP_COLUMN("workload", NULL, EMP_SHEET_WORD, .is_csv_only = true),
    EMP_COLUMN("machine", NULL, EMP_SHEET_WORD, .is_csv_only = true),
    EMP_COLUMN("runtime", NULL, EMP_SHEET_WORD, .is_csv_only = true),
    EMP_COLUMN("placements", "", EMP_SHEET_WORD, EMP_SHEET_ROW),
    EMP_COLUMN("surrogate_ns_per_op", "surrogate", EMP_SHEET_REAL, EMP_SHEET_ROW),
    EMP_COLUMN("exact_ns_per_op", "exact", EMP_SHEET_REAL, EMP_SHEET_ROW),
    EMP_COLUMN("ratio", "ratio", EMP_SHEET_REAL, EMP_SHEET_ROW, .form = "%.1f"),
    EMP_COLUMN("order", "", EMP_SHEET_WORD, EMP_SHEET_ACROSS, .is_csv_only = true),
    EMP_COLUMN("spearman", "Spearman", EMP_SHEET_REAL, .form = "%.3f"),
    EMP_COLUMN("kendall", "Kendall", EMP_SHEET_REAL, .form = "%.3f"),
    EMP_COLUMN("mean_relative_error", "error", EMP_SHEET_SHARE)};

static void add_line(emp_sheet *s, const stand *from, const row *r, const char *order,
                     const emp_agreement *a)
{
    EMP_SHEET_ADD(s, EMP_V(from->args->study.spec), EMP_V(from->problem->machine->name),
                  EMP_V(from->problem->runtime.name), EMP_V(r->name),
                  EMP_V(r->surrogate_ns), EMP_V(r->exact_ns), EMP_V(r->ratio),
                  EMP_V(order), EMP_V(a->spearman), EMP_V(a->kendall),
                  EMP_V(a->mean_relative_error));
}

static emp_status print(const stand *from, const row *rows, emp_error *err)
{
    const cli_study_options *study = &from->args->study;
    const emp_problem       *problem = from->problem;
    const char              *kernel = emp_surrogate_kernel_name(from->surrogate);
    int32_t                  op_count = emp_surrogate_op_count(from->surrogate);
    emp_sheet                s;

    EMP_SHEET_INIT(&s, columns);
    s.cells = NULL;
    s.is_keyed = true;
    emp_sheet_set_facts(&s, json_pack("{s:s, s:s, s:s, s:i, s:s, s:i, s:I}", "workload",
                                      study->spec, "machine", problem->machine->name,
                                      "runtime", problem->runtime.name, "op_count",
                                      op_count, "kernel", kernel, "samples",
                                      study->samples, "seed", (json_int_t)study->seed));
    for (int i = 0; i < STREAM_COUNT; i++) {
        add_line(&s, from, &rows[i], "topological_order", &rows[i].topological);
        add_line(&s, from, &rows[i], "order_of_exact_runs", &rows[i].followed);
    }
    emp_sheet_note(
        &s,
        "%s on %s, runtime %s: %d ops that are not folded, %s kernel, %d "
        "placements of each kind. Surrogate and exact: ns per op and placement.",
        study->spec, problem->machine->name, problem->runtime.name, op_count, kernel,
        study->samples);
    return cli_print_sheet(&s, study->format, err);
}

static const struct argp_child children[] = {{&cli_study_argp, 0, NULL, 0}, {0}};
const struct argp              cmd_bench_surrogate_argp = {options,  parse, "SPEC", doc,
                                                           children, NULL,  NULL};

emp_status cmd_bench_surrogate(int argc, char **argv, emp_error *err)
{
    struct args args = {.study = cli_study_options_default(SAMPLES, 2)};
    emp_status  st = EMP_OK;
    cli_inputs  inputs = {0};
    stand       s = {.args = &args};
    row         rows[STREAM_COUNT];

    cli_parse(&cmd_bench_surrogate_argp, argc, argv, &args);
    inputs.needs_events = true;
    EMP_TRY(cli_inputs_load(&inputs, args.study.spec, args.study.machine,
                            args.study.runtime, err));
    s.problem = inputs.problem;
    EMP_TRY(set_up(&s, err));
    for (int i = 0; i < STREAM_COUNT; i++) EMP_TRY(measure(&s, i, &rows[i], err));
    EMP_TRY(print(&s, rows, err));

cleanup:
    tear_down(&s);
    cli_inputs_clear(&inputs);
    return st;
}
