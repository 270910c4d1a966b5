// SPDX-License-Identifier: GPL-3.0-or-later
/* Are partitioners slow because of what they minimise? Their placements are improved by moves that
 * lower their own objective, and, to compare, by as many moves that lower the step time. */
#include <string.h>

#include "base/mem.h"
#include "bench/studies/study.h"
#include "search/moves.h"
#include "search/partition/partition_graph.h"

enum { STREAM = 0x6f626a };

/* Both make the CPU a part, as emp_balance does. */
static const struct {
    const char *name, *options;
} partitioners[] = {{"scotch", NULL}, {"metis", "cpu=1"}};
enum { PARTITIONERS = sizeof partitioners / sizeof *partitioners };

/* The objective that moves lower. */
typedef enum { OWN, STEP, GOALS } goal;

typedef struct {
    const emp_measured *task;
    emp_sim            *sim;
    emp_balance         balance;
    emp_moves           moves;
    emp_device_id      *first, *here, *next; /* [op] */
    emp_arrays          arrays;
} stand;

/* A placement by both measures. */
typedef struct {
    double own, step_s; /* the latter infinite if it does not fit */
} judged;

static emp_status create(stand *s, const emp_measured *task, emp_error *err)
{
    static const emp_move_options how = {.kind = EMP_MOVES_MIXED,
                                         .groups = EMP_CLASS_GROUPS_SCOTCH,
                                         .coarsest = 8,
                                         .finest = 512,
                                         .near = 0.5};
    const size_t                  ops = (size_t)task->problem->graph->op_count;

    *s = (stand){.task = task};
    s->first = EMP_ADD_ARRAY(&s->arrays, emp_device_id, ops);
    s->here = EMP_ADD_ARRAY(&s->arrays, emp_device_id, ops);
    s->next = EMP_ADD_ARRAY(&s->arrays, emp_device_id, ops);
    if (s->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "placements of %zu ops", ops);
    EMP_CHECK(emp_balance_init(&s->balance, task->problem, err));
    EMP_CHECK(emp_sim_create(&s->sim, task->problem, err));
    return emp_moves_init(&s->moves, task->problem, &how, 1, err);
}

static void clear(stand *s)
{
    emp_moves_clear(&s->moves);
    emp_sim_destroy(s->sim);
    emp_balance_clear(&s->balance);
    emp_arrays_clear(&s->arrays);
}

static emp_status time_step(stand *s, const emp_device_id *placement, double *step_s,
                            emp_error *err)
{
    return emp_trials_simulate(step_s, s->sim, &(emp_decision){.device_of_op = placement},
                               err);
}

static emp_status judge(stand *s, const emp_device_id *placement, judged *found,
                        emp_error *err)
{
    found->own = emp_balance_cost(emp_balance_judge(&s->balance, placement));
    return time_step(s, placement, &found->step_s, err);
}

static emp_status value_of(stand *s, goal of, const emp_device_id *placement,
                           double *value, emp_error *err)
{
    if (of == STEP) return time_step(s, placement, value, err);
    *value = emp_balance_cost(emp_balance_judge(&s->balance, placement));
    return EMP_OK;
}

/* Goes down from the partitioner's placement: a move stays unless it raises the goal. */
static emp_status descend(stand *s, goal of, uint64_t seed, judged *found, emp_error *err)
{
    const size_t bytes = (size_t)s->task->problem->graph->op_count * sizeof *s->here;
    double       value, best;
    emp_rng      rng;

    memcpy(s->here, s->first, bytes);
    EMP_CHECK(value_of(s, of, s->here, &best, err));
    for (int64_t i = 0; i < s->task->budget; i++) {
        emp_rng_init(&rng, seed, STREAM, (uint32_t)i);
        memcpy(s->next, s->here, bytes);
        if (!emp_moves_draw(&s->moves, &rng, s->next)) continue;
        emp_problem_legalize(s->task->problem, s->next);
        EMP_CHECK(value_of(s, of, s->next, &value, err));
        if (!(value <= best)) continue;
        best = value;
        memcpy(s->here, s->next, bytes);
    }
    return judge(s, s->here, found, err);
}

/* ---- the sheet ---- */

static const emp_sheet_column columns[] = {
    EMP_MEASURED_COLUMNS(EMP_SHEET_CELL),
    EMP_COLUMN("partitioner", "partitioner", EMP_SHEET_WORD),
    EMP_COLUMN("moves", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("seeds", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("own_first", "own", EMP_SHEET_REAL),
    EMP_COLUMN("step_first_s", "s", EMP_SHEET_REAL),
    EMP_COLUMN("own_own", "own, by own", EMP_SHEET_REAL),
    EMP_COLUMN("step_own_s", "s, by own", EMP_SHEET_REAL, .low = "step_own_low_s",
               .high = "step_own_high_s", .range = EMP_SHEET_BEHIND),
    EMP_COLUMN("own_step", "own, by s", EMP_SHEET_REAL),
    EMP_COLUMN("step_step_s", "s, by s", EMP_SHEET_REAL, .low = "step_step_low_s",
               .high = "step_step_high_s", .range = EMP_SHEET_BEHIND)};

/* Over seeds. */
typedef struct {
    double own[EMP_MEASURE_SEEDS], step_s[EMP_MEASURE_SEEDS];
} drawn;

static void keep(drawn *d, int32_t seed, judged found)
{
    d->own[seed] = found.own;
    d->step_s[seed] = found.step_s;
}

static emp_status measure_one(emp_sheet *sheet, stand *s, int32_t p, emp_error *err)
{
    const emp_measured *task = s->task;
    const int32_t       seeds = task->seed_count;
    drawn               first = {0}, after[GOALS] = {0};
    judged              found;

    for (int32_t seed = 0; seed < seeds; seed++) {
        EMP_CHECK(emp_trials_propose(task->problem, partitioners[p].name,
                                     partitioners[p].options, (uint64_t)seed + 1,
                                     s->first, err));
        EMP_CHECK(judge(s, s->first, &found, err));
        keep(&first, seed, found);
        for (int g = 0; g < GOALS; g++) {
            EMP_CHECK(descend(s, (goal)g, (uint64_t)seed + 1, &found, err));
            keep(&after[g], seed, found);
        }
        emp_measured_report(task, (p + (seed + 1.0) / seeds) / PARTITIONERS);
    }
    EMP_SHEET_ADD(sheet, EMP_MEASURED_VALUES(task), EMP_V(partitioners[p].name),
                  EMP_V(task->budget), EMP_V(seeds),
                  emp_measured_median(first.own, seeds),
                  emp_measured_median(first.step_s, seeds),
                  emp_measured_median(after[OWN].own, seeds),
                  emp_measured_range(after[OWN].step_s, seeds),
                  emp_measured_median(after[STEP].own, seeds),
                  emp_measured_range(after[STEP].step_s, seeds));
    return EMP_OK;
}

static emp_status measure(emp_sheet *sheet, const emp_measured *task, emp_error *err)
{
    emp_status st = EMP_OK;
    stand     *s = EMP_NEW(stand);

    if (s == NULL) EMP_FAIL(EMP_ENOMEM, "a measure");
    EMP_TRY(create(s, task, err));
    for (int32_t p = 0; p < PARTITIONERS; p++) EMP_TRY(measure_one(sheet, s, p, err));

cleanup:
    if (s != NULL) clear(s);
    emp_free(s);
    return st;
}

static const char *const notes[] = {
    "Own: what partitioners minimise, the share of "
    "traffic that is cut and what the fullest device is "
    "over its share of the load by more than 5 %. The CPU is a "
    "part, too (METIS: cpu=1).",
    "First the partitioner's placement. Then the same "
    "after moves that do not raise its own objective, "
    "and after as many that do not raise the step time. "
    "Medians over seeds, with their range.",
    NULL};

const emp_measure emp_measure_objective = EMP_MEASURE("objective", 2000, 300);
