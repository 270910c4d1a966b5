// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/micro/oracle.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/work.h"
#include "bench/micro/peer.h"
#include "bench/micro/textbook.h"
#include "search/order.h"
#include "sim/engine/sim.h"

enum {
    /* Ops that a sample simulates at least. Searches run step after step, so what counts is
     * the time of many. */
    BATCH_OPS = 500000, /* scripts/instructions knows it */
    /* In different placements: too many for a branch predictor, and so few that the next
     * one, if it is not itself so large, is in the second-level cache, as a search has just
     * written it there. */
    POOL_OPS = 1 << 18,
    SCALING_OPS = 1000000, /* that each thread simulates in a batch */
    /* A peer that is slow gets fewer rounds. */
    PEER_ROUNDS_MIN = 3,
    PEER_S_MAX = 10,
    STREAM_LEVELS = 16, /* of the seed, away from those of synthetic.c */
    ORACLES = 4         /* oracle_of() */
};

int32_t emp_oracle_most_ops(emp_series series)
{
    switch (series) {
    case EMP_SERIES_SIMGRID_FIFO: return 100000;
    case EMP_SERIES_SIMGRID_DAG:
    case EMP_SERIES_PYTHON: return 10000;
    case EMP_SERIES_IDEAL:
    case EMP_SERIES_TF:
    case EMP_SERIES_IDEAL_LEVELS:
    case EMP_SERIES_TF_LEVELS:
    case EMP_SERIES_IDEAL_MODELS:
    case EMP_SERIES_TF_MODELS:
    case EMP_SERIES_TEXTBOOK:
    case EMP_SERIES_COUNT: break;
    }
    return INT32_MAX;
}

const char *emp_series_name(emp_series series)
{
    static const char *const names[] = {
        "ideal",          "tf-r1.3",  "ideal-levels", "tf-r1.3-levels", "ideal-models",
        "tf-r1.3-models", "textbook", "simgrid-fifo", "simgrid-dag",    "python"};

    return names[series];
}

static bool has_levels(int32_t series)
{
    return series == EMP_SERIES_IDEAL_LEVELS || series == EMP_SERIES_TF_LEVELS;
}

static bool has_models(int32_t series)
{
    return series == EMP_SERIES_IDEAL_MODELS || series == EMP_SERIES_TF_MODELS;
}

/* Which of the oracles runs a series: those of ideal and of tf-r1.3, then both with models. */
static int32_t oracle_of(int32_t series)
{
    if (has_levels(series)) return series - EMP_SERIES_IDEAL_LEVELS;
    return has_models(series) ? 2 + series - EMP_SERIES_IDEAL_MODELS : series;
}

static bool is_peer(int32_t series) { return series >= EMP_SERIES_SIMGRID_FIFO; }

static emp_peer_kind peer_of(int32_t series)
{
    return (emp_peer_kind)(series - EMP_SERIES_SIMGRID_FIFO);
}

/* The oracles of one graph, and the placements that all of them run. */
typedef struct {
    const emp_oracle_params *params;
    const emp_machine       *machine;
    const char              *source;  /* NULL: synthetic */
    uint32_t                 present; /* series, as bits */
    emp_graph               *graph;
    int32_t                  op_count; /* that are not folded */
    emp_machine             *unlike;   /* as the machine, a model for each device */
    emp_problem             *problem[ORACLES]; /* oracle_of() */
    emp_sim                 *sim[ORACLES];
    emp_textbook            *book;
    emp_plain               *plain;
    emp_device_id           *pool; /* [pool_count * op_count] */
    int32_t                  pool_count;
    uint8_t                 *level;                       /* [op_count] */
    double                  *ns_per_op[EMP_SERIES_COUNT]; /* [round] */
    double                  *ratio[EMP_SERIES_COUNT];
    double                   spent_s[EMP_SERIES_COUNT];
    int32_t                  rounds[EMP_SERIES_COUNT];
} stand;

static void tear_down(stand *s)
{
    for (int32_t i = 0; i < EMP_SERIES_COUNT; i++) {
        emp_free(s->ns_per_op[i]);
        emp_free(s->ratio[i]);
    }
    for (int32_t i = 0; i < ORACLES; i++) {
        emp_sim_destroy(s->sim[i]);
        emp_problem_destroy(s->problem[i]);
    }
    emp_machine_destroy(s->unlike);
    emp_free(s->pool);
    emp_free(s->level);
    emp_plain_destroy(s->plain);
    emp_textbook_destroy(s->book);
    emp_graph_destroy(s->graph);
}

static emp_status create_oracle(stand *s, emp_series series, emp_error *err)
{
    const bool is_ideal = series == EMP_SERIES_IDEAL || series == EMP_SERIES_IDEAL_MODELS;
    const int32_t number = oracle_of((int32_t)series);
    emp_runtime   runtime;

    EMP_CHECK(emp_runtime_init(
        &runtime, emp_series_name(is_ideal ? EMP_SERIES_IDEAL : EMP_SERIES_TF), err));
    EMP_CHECK(emp_problem_create(&s->problem[number], s->graph,
                                 has_models((int32_t)series) ? s->unlike : s->machine,
                                 &runtime, s->source != NULL ? s->source : "synthetic",
                                 err));
    if (s->source == NULL) emp_synthetic_vary_costs(s->problem[number], s->params->seed);
    return emp_sim_create(&s->sim[number], s->problem[number], err);
}

/* Its devices have the same costs, in columns of their own. */
static emp_status create_unlike(stand *s, emp_error *err)
{
    s->unlike = emp_machine_copy(s->machine);
    if (s->unlike == NULL) return EMP_ERROR(EMP_ENOMEM, "machine of unlike devices");
    for (int32_t d = 0; d < s->unlike->device_count; d++) s->unlike->device[d].model = d;
    return EMP_OK;
}

/* The series that were asked for and can run, as bits. */
static uint32_t find_present(const stand *s)
{
    const emp_oracle_params *params = s->params;
    uint32_t                 present = 0;

    for (int32_t i = 0; i < EMP_SERIES_COUNT; i++) {
        bool is_asked = params->series >> i & 1u;
        if (!is_asked || s->op_count > emp_oracle_most_ops((emp_series)i)) continue;
        if (s->graph->collective != NULL && i >= EMP_SERIES_TEXTBOOK) continue;
        if (is_peer(i) && emp_peer_absence(peer_of(i)) != NULL) continue;
        present |= 1u << i;
    }
    return present;
}

/* Runs in a sample. */
static int32_t count_runs(int32_t op_count) { return 1 + (BATCH_OPS - 1) / op_count; }

/* Different placements. What warms up follows the last of a sample, and is to be another than
 * its first. */
static int32_t count_placements(int32_t op_count)
{
    int32_t enough = POOL_OPS / op_count, count = enough > 2 ? enough : 2;

    return count_runs(op_count) % count == 0 ? count + 1 : count;
}

/* \a op_count: of a synthetic graph. */
static emp_status make_graph(stand *s, int32_t op_count, emp_error *err)
{
    if (s->source != NULL) return emp_graph_load(&s->graph, s->source, err);
    return emp_synthetic_graph(&s->graph, op_count, s->params->seed, err);
}

/* Needs a graph. */
static emp_status set_up(stand *s, emp_error *err)
{
    const int32_t op_count = s->graph->op_count;
    size_t        rounds = (size_t)s->params->repeats;

    for (emp_op_id op = 0; op < op_count; op++)
        s->op_count += !s->graph->op[op].is_folded;
    if (s->op_count == 0)
        return EMP_ERROR(EMP_EINVAL, "%s has no op that a step runs", s->source);
    s->present = find_present(s);
    EMP_CHECK(create_oracle(s, EMP_SERIES_IDEAL, err));
    EMP_CHECK(create_oracle(s, EMP_SERIES_TF, err));
    EMP_CHECK(create_unlike(s, err));
    for (emp_series i = EMP_SERIES_IDEAL_MODELS; i <= EMP_SERIES_TF_MODELS; i++)
        if (s->present >> i & 1u) EMP_CHECK(create_oracle(s, i, err));
    if (s->present >> EMP_SERIES_TEXTBOOK & 1u)
        EMP_CHECK(emp_textbook_create(&s->book, s->problem[EMP_SERIES_IDEAL], err));
    if (s->present >> EMP_SERIES_SIMGRID_FIFO != 0)
        EMP_CHECK(emp_plain_create(&s->plain, s->problem[EMP_SERIES_IDEAL], err));
    s->pool_count = count_placements(s->op_count);
    s->pool = EMP_NEW_ARRAY(emp_device_id, (size_t)s->pool_count * (size_t)op_count);
    if (s->pool == NULL) return EMP_ERROR(EMP_ENOMEM, "placements of %d ops", op_count);
    EMP_CHECK(EMP_ALLOC(s->level, (size_t)op_count));
    for (int32_t i = 0; i < EMP_SERIES_COUNT; i++) {
        s->ns_per_op[i] = EMP_NEW_ARRAY(double, rounds);
        s->ratio[i] = EMP_NEW_ARRAY(double, rounds);
        if (!s->ns_per_op[i] || !s->ratio[i])
            return EMP_ERROR(EMP_ENOMEM, "%zu rounds", rounds);
    }
    return EMP_OK;
}

static const emp_device_id *placement(const stand *s, int32_t number)
{
    return s->pool + (size_t)(number % s->pool_count) * (size_t)s->graph->op_count;
}

/* Placements first .. first + count - 1 by one of the simulators of this process.
 * \a last_ns is the step time of the last one. */
static emp_status run_here(stand *s, int32_t series, int32_t first, int32_t count,
                           emp_time_ns *last_ns, emp_error *err)
{
    for (int32_t i = first; i < first + count; i++) {
        if (series == EMP_SERIES_TEXTBOOK) {
            emp_textbook_result result;
            emp_textbook_run(s->book, placement(s, i), &result);
            *last_ns = result.step_time_ns;
        } else {
            emp_sim_result result;
            emp_decision   decision = {.device_of_op = placement(s, i),
                                       .level_of_op = has_levels(series) ? s->level : NULL};
            EMP_CHECK(
                emp_sim_run_decision(s->sim[oracle_of(series)], &decision, &result, err));
            *last_ns = result.step_time_ns;
        }
    }
    return EMP_OK;
}

/* One sample: seconds per op. Peers run the last placement of the batch only. All have run
 * once before their clock starts: whoever went before has filled the caches. */
static emp_status take_sample(stand *s, int32_t series, int32_t first, int32_t count,
                              double *s_per_op, emp_time_ns *last_ns, emp_error *err)
{
    if (is_peer(series)) {
        emp_peer_run run;
        EMP_CHECK(emp_peer_measure(&run, peer_of(series), s->plain,
                                   placement(s, first + count - 1), err));
        *s_per_op = run.cpu_s / s->op_count;
        *last_ns = run.step_time_ns;
        s->spent_s[series] += run.cpu_s;
    } else {
        EMP_CHECK(run_here(s, series, first + count, 1, last_ns, err));
        double start_s = emp_clock_thread_s();
        EMP_CHECK(run_here(s, series, first, count, last_ns, err));
        *s_per_op = (emp_clock_thread_s() - start_s) / count / s->op_count;
    }
    return EMP_OK;
}

static bool takes_part(const stand *s, int32_t series)
{
    if (!(s->present >> series & 1u)) return false;
    return s->rounds[series] < PEER_ROUNDS_MIN || s->spent_s[series] < PEER_S_MAX;
}

/* Under other rules and in another order step times differ by right. SimGrid computes in floating
 * point. It orders simultaneous events in its own way, so its step times are compared on synthetic
 * graphs only, where such events are rare. */
static bool agrees(const stand *s, int32_t series, emp_time_ns got, emp_time_ns want)
{
    if (series == EMP_SERIES_TF || has_levels(series) || series == EMP_SERIES_TF_MODELS ||
        series == EMP_SERIES_SIMGRID_DAG)
        return true;
    if (series == EMP_SERIES_SIMGRID_FIFO)
        return s->source != NULL || fabs((double)(got - want)) <= 1e-3 * (double)want;
    return got == want;
}

static emp_status run_round(stand *s, int32_t round, emp_oracle_row *row, emp_error *err)
{
    int32_t     count = count_runs(s->op_count);
    int32_t     first = (int32_t)((int64_t)round * count % s->pool_count);
    double      ideal_s = NAN;
    emp_time_ns ideal_ns = 0;
    /* Their step times are to be the oracle's. */
    bool has_others = s->present >> EMP_SERIES_IDEAL_MODELS != 0;

    if (!emp_oracle_has_ideal(s->params) && has_others)
        EMP_CHECK(run_here(s, EMP_SERIES_IDEAL, first + count - 1, 1, &ideal_ns, err));
    for (int32_t i = 0; i < EMP_SERIES_COUNT; i++) {
        double      s_per_op = NAN;
        emp_time_ns last_ns = 0;
        if (!takes_part(s, i)) continue;
        EMP_CHECK(take_sample(s, i, first, count, &s_per_op, &last_ns, err));
        if (i == EMP_SERIES_IDEAL) {
            ideal_s = s_per_op;
            ideal_ns = last_ns;
        }
        if (!agrees(s, i, last_ns, ideal_ns)) row->disagreements++;
        s->ns_per_op[i][s->rounds[i]] = s_per_op * 1e9;
        s->ratio[i][s->rounds[i]] = s_per_op / ideal_s;
        s->rounds[i]++;
    }
    return EMP_OK;
}

/* Progress in rounds. */
typedef struct {
    double done, all;
} progress;

static emp_status go_on(const emp_oracle_params *params, progress *work, double more,
                        emp_error *err)
{
    work->done += more;
    if (params->on_progress != NULL)
        params->on_progress(params->context, work->done / work->all);
    if (emp_stop_is_set(params->stop)) return EMP_ERROR(EMP_EINTERRUPTED, "interrupted");
    return EMP_OK;
}

static void draw_placements(stand *s, emp_synthetic_kind kind)
{
    int32_t n = s->graph->op_count;

    for (int32_t i = 0; i < s->pool_count; i++) {
        emp_device_id *device_of_op = s->pool + (size_t)i * (size_t)n;
        emp_synthetic_place(device_of_op, n, s->machine, kind, s->params->seed,
                            (uint32_t)i);
        if (s->source != NULL)
            emp_problem_legalize(s->problem[EMP_SERIES_IDEAL], device_of_op);
    }
}

/* The same for all placements: bottom levels are those of the first. */
static emp_status order_ops(stand *s, emp_error *err)
{
    emp_rng rng;

    if (!emp_oracle_has_levels(s->params)) return EMP_OK;
    if (s->params->has_bottom_levels)
        return emp_order_of_bottom_levels(s->level, s->problem[EMP_SERIES_IDEAL],
                                          placement(s, 0), err);
    emp_rng_init(&rng, s->params->seed, STREAM_LEVELS, 0);
    for (emp_op_id op = 0; op < s->graph->op_count; op++)
        s->level[op] = (uint8_t)emp_rng_below(&rng, EMP_LEVELS);
    return EMP_OK;
}

static emp_status measure_row(stand *s, emp_oracle_row *row, progress *work,
                              emp_error *err)
{
    emp_sim_result result;

    draw_placements(s, row->placement);
    EMP_CHECK(order_ops(s, err));
    memset(s->rounds, 0, sizeof s->rounds);
    memset(s->spent_s, 0, sizeof s->spent_s);
    EMP_CHECK(emp_sim_run(s->sim[emp_oracle_leading(s->params)], placement(s, 0), &result,
                          err));
    row->events_per_op = (double)result.event_count / s->op_count;
    for (int32_t round = 0; round < s->params->repeats; round++) {
        EMP_CHECK(run_round(s, round, row, err));
        EMP_CHECK(go_on(s->params, work, 1, err));
    }
    for (int32_t i = 0; i < EMP_SERIES_COUNT; i++) {
        bool has_base = emp_oracle_has_ideal(s->params);
        row->ns_per_op[i] = emp_quartiles_of(s->ns_per_op[i], (size_t)s->rounds[i]);
        row->ratio[i] =
            emp_quartiles_of(s->ratio[i], has_base ? (size_t)s->rounds[i] : 0);
    }
    return EMP_OK;
}

/* ---- a batch of placements on several threads ---- */

typedef struct {
    double wall_s, cpu_s;
} spent;

static spent run_batch(stand *s, emp_sim **sims, int32_t threads, int32_t runs)
{
    double start_s = emp_clock_now_s(), cpu_s = 0;

#pragma omp parallel num_threads(threads) reduction(+ : cpu_s)
    {
        double thread_s = emp_clock_thread_s();
#pragma omp for schedule(dynamic) nowait
        for (int32_t i = 0; i < runs; i++) {
            emp_sim_result result;
            emp_sim_run(sims[omp_get_thread_num()], placement(s, i), &result, NULL);
        }
        cpu_s += emp_clock_thread_s() - thread_s;
    }
    return (spent){emp_clock_now_s() - start_s, cpu_s};
}

static emp_status measure_scaling(stand *s, emp_oracle_row *row, emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t    threads = s->params->threads, n = s->params->repeats;
    int32_t    runs = threads * (1 + SCALING_OPS / s->op_count);
    emp_sim   *sims[EMP_ORACLE_MAX_THREADS] = {0};
    double    *speedup = EMP_NEW_ARRAY(double, (size_t)n);
    double    *cpu_ratio = EMP_NEW_ARRAY(double, (size_t)n);

    if (!speedup || !cpu_ratio) EMP_FAIL(EMP_ENOMEM, "%d rounds", n);
    for (int32_t i = 0; i < threads; i++)
        EMP_TRY(emp_sim_create(&sims[i], s->problem[EMP_SERIES_IDEAL], err));
    run_batch(s, sims, threads, runs);
    for (int32_t round = 0; round < n; round++) {
        spent alone = run_batch(s, sims, 1, runs);
        spent many = run_batch(s, sims, threads, runs);
        speedup[round] = alone.wall_s / many.wall_s;
        cpu_ratio[round] = many.cpu_s / alone.cpu_s;
    }
    row->speedup = emp_quartiles_of(speedup, (size_t)n);
    row->cpu_ratio = emp_quartiles_of(cpu_ratio, (size_t)n);

cleanup:
    for (int32_t i = 0; i < threads; i++) emp_sim_destroy(sims[i]);
    emp_free(speedup);
    emp_free(cpu_ratio);
    return st;
}

/* A source, or, if it is NULL, a synthetic graph of \a op_count ops. */
static emp_status measure_graph(emp_oracle_report *report, const emp_machine *machine,
                                const char *source, int32_t op_count, progress *work,
                                emp_error *err)
{
    emp_status st = EMP_OK;
    stand      s = {.params = &report->params, .machine = machine, .source = source};

    EMP_TRY(make_graph(&s, op_count, err));
    EMP_TRY(set_up(&s, err));
    for (int32_t kind = 0; kind < EMP_PLACE_COUNT; kind++) {
        emp_oracle_row row = {.source = source,
                              .op_count = s.op_count,
                              .has_collectives = s.graph->collective != NULL,
                              .placement = (emp_synthetic_kind)kind,
                              .speedup = emp_quartiles_of(NULL, 0),
                              .cpu_ratio = emp_quartiles_of(NULL, 0)};
        if (!(s.params->placements >> kind & 1u)) continue;
        EMP_TRY(measure_row(&s, &row, work, err));
        if (s.params->threads > 1) EMP_TRY(measure_scaling(&s, &row, err));
        report->row[report->row_count++] = row;
    }
cleanup:
    tear_down(&s);
    return st;
}

static progress all_work(const emp_oracle_params *p)
{
    progress all = {0, 0};

    for (int32_t kind = 0; kind < EMP_PLACE_COUNT; kind++) {
        if (!(p->placements >> kind & 1u)) continue;
        all.all += (double)(p->size_count + p->source_count) * p->repeats;
    }
    return all;
}

emp_status emp_oracle_measure(emp_oracle_report *report, const emp_oracle_params *params,
                              emp_error *err)
{
    emp_status   st = EMP_OK;
    emp_machine *machine = NULL;
    progress     work = all_work(params);

    memset(report, 0, sizeof *report);
    report->params = *params;
    if (params->machine == NULL) report->params.machine = EMP_ORACLE_MACHINE;
    EMP_TRY(emp_machine_load(&machine, report->params.machine, err));
    if (emp_machine_count(machine, EMP_DEVICE_GPU) == 0)
        EMP_FAIL(EMP_EUNSUPPORTED, "machine %s has no GPU", machine->name);
    for (int32_t i = 0; i < params->size_count; i++)
        EMP_TRY(measure_graph(report, machine, NULL, params->size[i], &work, err));
    for (int32_t i = 0; i < params->source_count; i++)
        EMP_TRY(measure_graph(report, machine, params->source[i], 0, &work, err));
cleanup:
    emp_machine_destroy(machine);
    return st;
}
