// SPDX-License-Identifier: GPL-3.0-or-later
/* Which figures of a placement go with its step time? Half of the placements differ from each other
 * (bench/validate/diverse.h), half are the expert's after some moves of groups. */
#include <stdlib.h>

#include "base/mem.h"
#include "bench/studies/study.h"
#include "bench/validate/diverse.h"
#include "search/moves.h"
#include "search/partition/partition_graph.h"
#include "sim/surrogate/surrogate.h"

enum { MOST_MOVES = 24, STREAM = 0x6c6f6164 };
enum { FASTEST = 4 /* the fastest quarter, and all */ };

/* Predictors of a step's time. */
typedef enum {
    BUSIEST,   /* seconds in which the busiest GPU has an op */
    IMBALANCE, /* by which a device's share of the load is exceeded */
    CUT,       /* share of the traffic between devices */
    BOTH,      /* what partitioners minimise */
    TRAFFIC,   /* bytes copied between devices */
    IDLE,      /* seconds in which the busiest GPU has none */
    FIGURES
} figure;

static const char *const words[FIGURES] = {[BUSIEST] = "busy time of the busiest GPU",
                                           [IMBALANCE] = "imbalance of op times",
                                           [CUT] = "share of traffic cut",
                                           [BOTH] = "cut and imbalance",
                                           [TRAFFIC] = "bytes copied",
                                           [IDLE] = "idle time of the busiest GPU"};

typedef struct {
    const emp_measured *task;
    emp_sim            *sim;
    emp_balance         balance;
    emp_moves           moves;
    emp_device_id      *base, *placement; /* [op] */
    double             *step_s;           /* [placement] */
    double             *value[FIGURES];   /* [placement] */
    double             *few, *few_s;      /* [placement] room for the fastest */
    double              all[FIGURES][EMP_MEASURE_SEEDS];
    double              fastest[FIGURES][EMP_MEASURE_SEEDS];
    emp_arrays          arrays;
} stand;

/* ---- placements ---- */

static emp_status create(stand *s, const emp_measured *task, emp_error *err)
{
    static const emp_move_options how = {.kind = EMP_MOVES_MIXED,
                                         .groups = EMP_CLASS_GROUPS_SCOTCH,
                                         .coarsest = 8,
                                         .finest = 128,
                                         .near = 0.5};
    const size_t                  ops = (size_t)task->problem->graph->op_count;
    const size_t                  count = (size_t)task->budget;

    *s = (stand){.task = task};
    s->base = EMP_ADD_ARRAY(&s->arrays, emp_device_id, ops);
    s->placement = EMP_ADD_ARRAY(&s->arrays, emp_device_id, ops);
    s->step_s = EMP_ADD_ARRAY(&s->arrays, double, count);
    s->few = EMP_ADD_ARRAY(&s->arrays, double, count);
    s->few_s = EMP_ADD_ARRAY(&s->arrays, double, count);
    for (int f = 0; f < FIGURES; f++)
        s->value[f] = EMP_ADD_ARRAY(&s->arrays, double, count);
    if (s->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "figures of %zu placements", count);
    EMP_CHECK(emp_balance_init(&s->balance, task->problem, err));
    EMP_CHECK(emp_sim_create(&s->sim, task->problem, err));
    EMP_CHECK(emp_moves_init(&s->moves, task->problem, &how, 1, err));
    return emp_trials_propose(task->problem, "expert", NULL, 1, s->base, err);
}

static void clear(stand *s)
{
    emp_moves_clear(&s->moves);
    emp_sim_destroy(s->sim);
    emp_balance_clear(&s->balance);
    emp_arrays_clear(&s->arrays);
}

static emp_status draw(stand *s, int32_t index, uint64_t seed, emp_error *err)
{
    char    name[EMP_DIVERSE_NAME_BYTES];
    emp_rng rng;

    if (index % 2 == 0)
        return emp_diverse_placement(s->placement, name, s->task->problem, s->base,
                                     index / 2, seed, err);
    emp_rng_init(&rng, seed, STREAM, (uint32_t)index);
    for (int32_t op = 0; op < s->task->problem->graph->op_count; op++)
        s->placement[op] = s->base[op];
    const uint32_t moves = 1 + emp_rng_below(&rng, MOST_MOVES);
    for (uint32_t i = 0; i < moves; i++) emp_moves_draw(&s->moves, &rng, s->placement);
    emp_problem_legalize(s->task->problem, s->placement);
    return EMP_OK;
}

/* ---- figures ---- */

static void note_figures(stand *s, int32_t i, const emp_sim_result *r)
{
    const emp_machine      *machine = s->task->problem->machine;
    const emp_balance_score score = emp_balance_judge(&s->balance, s->placement);
    emp_time_ns             busiest_ns = 0;

    for (int32_t d = 0; d < machine->device_count; d++)
        if (machine->device[d].kind == EMP_DEVICE_GPU && r->busy_ns[d] > busiest_ns)
            busiest_ns = r->busy_ns[d];
    s->step_s[i] = (double)r->step_time_ns * 1e-9;
    s->value[BUSIEST][i] = (double)busiest_ns * 1e-9;
    s->value[IMBALANCE][i] = score.imbalance;
    s->value[CUT][i] = score.cut_frac;
    s->value[BOTH][i] = emp_balance_cost(score);
    s->value[TRAFFIC][i] = (double)r->traffic_bytes;
    s->value[IDLE][i] = s->step_s[i] - s->value[BUSIEST][i];
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double limit_of_fastest(const stand *s, int32_t count)
{
    for (int32_t i = 0; i < count; i++) s->few[i] = s->step_s[i];
    qsort(s->few, (size_t)count, sizeof *s->few, ascending);
    return s->few[(count - 1) / FASTEST];
}

static emp_status correlate(stand *s, int32_t seed, emp_error *err)
{
    const int32_t count = (int32_t)s->task->budget;
    const double  limit_s = limit_of_fastest(s, count);
    emp_agreement agreement;

    for (int f = 0; f < FIGURES; f++) {
        int32_t few = 0;
        EMP_CHECK(emp_agreement_of(&agreement, s->value[f], s->step_s, count, err));
        s->all[f][seed] = agreement.spearman;
        for (int32_t i = 0; i < count; i++) {
            if (s->step_s[i] > limit_s) continue;
            s->few[few] = s->value[f][i];
            s->few_s[few++] = s->step_s[i];
        }
        EMP_CHECK(emp_agreement_of(&agreement, s->few, s->few_s, few, err));
        s->fastest[f][seed] = agreement.spearman;
    }
    return EMP_OK;
}

/* ---- the sheet ---- */

static const emp_sheet_column columns[] = {
    EMP_MEASURED_COLUMNS(EMP_SHEET_ACROSS),
    EMP_COLUMN("figure", "", EMP_SHEET_WORD, EMP_SHEET_ROW),
    EMP_COLUMN("placements", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("seeds", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("spearman", "all", EMP_SHEET_REAL, .form = "%.2f", .low = "spearman_low",
               .high = "spearman_high", .width = 6),
    EMP_COLUMN("fastest", "fast", EMP_SHEET_REAL, .form = "%.2f", .low = "fastest_low",
               .high = "fastest_high", .width = 6)};

static emp_status measure(emp_sheet *sheet, const emp_measured *task, emp_error *err)
{
    emp_status     st = EMP_OK;
    emp_sim_result result;
    stand         *s = EMP_NEW(stand);

    if (s == NULL) EMP_FAIL(EMP_ENOMEM, "a measure");
    if (task->budget < 2 * FASTEST || task->budget > INT32_MAX)
        EMP_FAIL(EMP_EINVAL, "a correlation needs %d placements or more", 2 * FASTEST);
    EMP_TRY(create(s, task, err));
    for (int32_t seed = 0; seed < task->seed_count; seed++) {
        for (int32_t i = 0; i < task->budget; i++) {
            EMP_TRY(draw(s, i, (uint64_t)seed + 1, err));
            EMP_TRY(emp_sim_run(s->sim, s->placement, &result, err));
            note_figures(s, i, &result);
            emp_measured_report(task, (seed + (double)i / (double)task->budget) /
                                          task->seed_count);
        }
        EMP_TRY(correlate(s, seed, err));
    }
    for (int f = 0; f < FIGURES; f++)
        EMP_SHEET_ADD(sheet, EMP_MEASURED_VALUES(task), EMP_V(words[f]),
                      EMP_V(task->budget), EMP_V(task->seed_count),
                      emp_measured_range(s->all[f], task->seed_count),
                      emp_measured_range(s->fastest[f], task->seed_count));

cleanup:
    if (s != NULL) clear(s);
    emp_free(s);
    return st;
}

static const char *const notes[] = {
    "Correlation of ranks (Spearman) of a figure with the step time: over all "
    "placements, and over "
    "the fastest quarter. Median over seeds; the files have the range.",
    "Half of the placements differ from each other, half are the expert's after 1 to 24 "
    "moves of "
    "groups. The CPU has a share of the load, too. Whether they fit in memory plays no "
    "part.",
    NULL};

const emp_measure emp_measure_load = EMP_MEASURE("load", 1000, 200);
