// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hdp/refine.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "policy/hdp/fixed_groups.h"

/* Away from the streams of the agent and of groupings. */
enum { STREAM_MOVES = UINT16_MAX - 1 };

/* Moves may change nothing: after so many draws the sample stays an elite. */
enum { MOST_DRAWS = 20 };

/* Sorts the rows by their group. */
static emp_status list_rows(emp_refine_level *level, const int32_t *group_of_row,
                            int32_t row_count, int32_t group_count, emp_error *err)
{
    emp_status st = EMP_OK;

    level->group_count = group_count;
    level->first = EMP_NEW_ARRAY(int32_t, (size_t)group_count + 2);
    level->row = EMP_NEW_ARRAY(int32_t, (size_t)row_count);
    if (level->first == NULL || level->row == NULL)
        EMP_FAIL(EMP_ENOMEM, "%d groups of %d ops", group_count, row_count);
    int32_t *next = level->first + 1; /* becomes first, when all are listed */
    for (int32_t r = 0; r < row_count; r++) next[group_of_row[r] + 1]++;
    for (int32_t g = 0; g < group_count; g++) next[g + 1] += next[g];
    for (int32_t r = 0; r < row_count; r++) level->row[next[group_of_row[r]]++] = r;

cleanup:
    return st;
}

/* Groups without rows would only waste draws. */
static void drop_empty_groups(emp_refine_level *level)
{
    int32_t used = 0;

    for (int32_t g = 0; g < level->group_count; g++)
        if (level->first[g + 1] > level->first[g])
            level->first[++used] = level->first[g + 1];
    level->group_count = used;
}

static emp_status add_level(emp_refine *f, const emp_problem *problem,
                            const emp_op_features *ops, const emp_hdp_options *o,
                            int32_t group_count, emp_error *err)
{
    emp_status        st = EMP_OK;
    int32_t          *group_of_row = NULL;
    emp_refine_level *level = &f->level[f->level_count++];
    uint64_t          seed = f->seed + (uint64_t)f->level_count;

    EMP_TRY(emp_fixed_groups_create(&group_of_row, (emp_grouping)o->grouping, problem,
                                    ops, group_count, o->refine_imbalance, seed, err));
    EMP_TRY(list_rows(level, group_of_row, ops->row_count, group_count, err));
    drop_empty_groups(level);
    f->groups_hash = emp_hash_bytes(f->groups_hash, group_of_row,
                                    (size_t)ops->row_count * sizeof *group_of_row);

cleanup:
    emp_free(group_of_row);
    return st;
}

static void sum_power(emp_refine *f, const emp_machine *machine)
{
    double sum = 0.0;

    for (int32_t d = 0; d < f->device_count; d++) {
        sum += machine->device[d].peak_flops_per_s;
        f->power_up_to[d] = sum;
    }
    for (int32_t d = 0; d < f->device_count; d++) f->power_up_to[d] /= sum;
}

emp_status emp_refine_init(emp_refine *f, const emp_problem *problem,
                           const emp_op_features *ops, const emp_hdp_options *o,
                           uint64_t seed, emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t    largest = (int32_t)o->refine_largest;

    *f = (emp_refine){.row_count = ops->row_count,
                      .device_count = problem->machine->device_count,
                      .groups_hash = EMP_HASH_SEED,
                      .seed = seed};
    sum_power(f, problem->machine);
    for (int32_t groups = (int32_t)o->refine_smallest; groups <= largest; groups *= 2)
        EMP_TRY(add_level(f, problem, ops, o, groups, err));
    EMP_TRY(emp_elites_init(&f->elites, (int32_t)o->refine_elites, ops->row_count, err));
    f->device = EMP_NEW_ARRAY(int32_t, (size_t)o->samples * (size_t)ops->row_count);
    if (f->device == NULL) EMP_FAIL(EMP_ENOMEM, "samples of %d ops", ops->row_count);

cleanup:
    if (st != EMP_OK) emp_refine_clear(f);
    return st;
}

void emp_refine_clear(emp_refine *f)
{
    for (int32_t i = 0; i < f->level_count; i++) {
        emp_free(f->level[i].first);
        emp_free(f->level[i].row);
    }
    emp_elites_clear(&f->elites);
    emp_free(f->device);
    *f = (emp_refine){0};
}

void emp_refine_start(emp_refine *f, const int32_t *device_of_row, double step_time_s)
{
    emp_elites_restart(&f->elites, f->row_count);
    emp_elites_keep(&f->elites, device_of_row, step_time_s);
}

static int32_t draw_device(const emp_refine *f, emp_rng *rng)
{
    double  u = emp_rng_uniform(rng);
    int32_t d = 0;

    while (d < f->device_count - 1 && u >= f->power_up_to[d]) d++;
    return d;
}

/* Returns whether it changed anything. */
static bool move_group(const emp_refine_level *level, int32_t group, int32_t to,
                       int32_t *device_of_row)
{
    bool has_changed = false;

    for (int32_t i = level->first[group]; i < level->first[group + 1]; i++) {
        int32_t *device = &device_of_row[level->row[i]];
        has_changed |= *device != to;
        *device = to;
    }
    return has_changed;
}

static void draw_move(const emp_refine *f, emp_rng *rng, int32_t *device_of_row)
{
    const emp_refine_level *level =
        &f->level[emp_rng_below(rng, (uint32_t)f->level_count)];

    for (int i = 0; i < MOST_DRAWS; i++) {
        int32_t group = (int32_t)emp_rng_below(rng, (uint32_t)level->group_count);
        if (move_group(level, group, draw_device(f, rng), device_of_row)) break;
    }
}

static int32_t *sample_at(const emp_refine *f, int32_t sample)
{
    return f->device + (size_t)sample * (size_t)f->row_count;
}

void emp_refine_propose(emp_refine *f, int32_t samples)
{
    for (int32_t k = 0; k < samples; k++) {
        emp_rng  rng;
        int32_t *device_of_row = sample_at(f, k);

        emp_rng_init(&rng, f->seed, (uint32_t)f->asked++, STREAM_MOVES);
        int64_t elite = emp_rng_below(&rng, (uint32_t)f->elites.count);
        memcpy(device_of_row, emp_elites_at(&f->elites, elite),
               (size_t)f->row_count * sizeof *device_of_row);
        draw_move(f, &rng, device_of_row);
    }
}

const int32_t *emp_refine_sample(const emp_refine *f, int32_t sample)
{
    return sample_at(f, sample);
}

void emp_refine_learn(emp_refine *f, const emp_score *scores, int32_t count)
{
    for (int32_t k = 0; k < count; k++)
        if (scores[k].is_feasible)
            emp_elites_keep(&f->elites, sample_at(f, k), scores[k].step_time_s);
}

int32_t emp_refine_list_state(emp_refine *f, emp_named_array *arrays)
{
    emp_elites           *e = &f->elites;
    size_t                capacity = (size_t)e->capacity;
    const emp_named_array all[] = {
        {"refine_asked", EMP_ARRAY_INT64, 1, &f->asked},
        {"refine_count", EMP_ARRAY_INT64, 1, &e->count},
        {"refine_device", EMP_ARRAY_INT32, capacity * (size_t)f->row_count, e->choice},
        {"refine_step_time_s", EMP_ARRAY_DOUBLE, capacity, e->step_time_s},
    };

    memcpy(arrays, all, sizeof all);
    return (int32_t)(sizeof all / sizeof *all);
}
