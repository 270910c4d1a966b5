// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hdp/refine.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"

/* Away from the streams of the agent and of groupings. */
enum { STREAM_MOVES = UINT16_MAX - 1 };

/* Most moves may be known: after so many draws the last one is taken as it is. */
enum { MOST_DRAWS = 20 };

/* Of \a samples, those that are chosen from many candidates. */
static int32_t chosen_of(const emp_refine *f, int32_t samples)
{
    return f->guide.surrogate != NULL ? (int32_t)(f->chosen_share * samples) : 0;
}

emp_status emp_refine_init(emp_refine *f, const emp_problem *problem,
                           const emp_op_features *ops, const emp_hdp_options *o,
                           uint64_t seed, emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     samples = (size_t)o->samples, rows = (size_t)ops->row_count;

    *f = (emp_refine){.row_count = ops->row_count,
                      .odds = emp_device_odds_of(problem->machine),
                      .chosen_share = o->refine_chosen,
                      .alike = o->refine_alike,
                      .filter = o->refine_filter,
                      .seed = seed};
    EMP_TRY(emp_move_groups_init(&f->groups, problem, ops, o, seed + 1, err));
    EMP_TRY(emp_guide_init(&f->guide, problem, ops, err));
    EMP_TRY(emp_elites_init(&f->elites, o->refine_elites, ops->row_count, err));
    f->elite_hash = EMP_NEW_ARRAY(uint64_t, (size_t)o->refine_elites);
    f->known = EMP_NEW_ARRAY(int64_t, EMP_REFINE_KNOWN);
    f->move = EMP_NEW_ARRAY(emp_refine_move, samples * (size_t)f->filter);
    f->device = EMP_NEW_ARRAY(int32_t, samples * rows);
    f->scratch = EMP_NEW_ARRAY(int32_t, rows);
    if (!f->elite_hash || !f->known || !f->move || !f->device || !f->scratch)
        EMP_FAIL(EMP_ENOMEM, "samples of %d ops", ops->row_count);

cleanup:
    if (st != EMP_OK) emp_refine_clear(f);
    return st;
}

void emp_refine_clear(emp_refine *f)
{
    emp_move_groups_clear(&f->groups);
    emp_guide_clear(&f->guide);
    emp_elites_clear(&f->elites);
    emp_free(f->elite_hash);
    emp_free(f->known);
    emp_free(f->move);
    emp_free(f->device);
    emp_free(f->scratch);
    *f = (emp_refine){0};
}

void emp_refine_start(emp_refine *f, const int32_t *device_of_row, double step_time_s)
{
    emp_elites_restart(&f->elites, f->row_count);
    emp_elites_keep(&f->elites, device_of_row, step_time_s);
}

/* ---- placements that have been proposed ---- */

/* A placement's hash is the sum of these over its rows, so that a move changes few. */
static uint64_t hash_of_row(int32_t row, emp_device_id device)
{
    return emp_hash_u64(EMP_HASH_SEED, (uint64_t)row << 32 | (uint32_t)device);
}

static uint64_t hash_of_placement(const emp_refine *f, const int32_t *device_of_row)
{
    uint64_t hash = 0;

    for (int32_t r = 0; r < f->row_count; r++) hash += hash_of_row(r, device_of_row[r]);
    return hash;
}

static uint64_t hash_of_move(const emp_refine *f, const emp_refine_move *m)
{
    const emp_members *groups = m->groups;
    const int32_t     *device_of_row = emp_elites_at(&f->elites, m->elite);
    uint64_t           hash = f->elite_hash[m->elite];

    for (int32_t i = groups->first[m->group]; i < groups->first[m->group + 1]; i++) {
        int32_t row = groups->member[i];
        hash += hash_of_row(row, m->to) - hash_of_row(row, device_of_row[row]);
    }
    return hash;
}

static int64_t *place_of(emp_refine *f, uint64_t hash)
{
    return &f->known[hash % EMP_REFINE_KNOWN];
}

/* Neither an elite, nor proposed before, nor among the first \a count candidates. */
static bool is_new(emp_refine *f, const emp_refine_move *m, int32_t count)
{
    if (m->hash == f->elite_hash[m->elite]) return false;
    if (*place_of(f, m->hash) == (int64_t)m->hash) return false;
    for (int32_t k = 0; k < count; k++)
        if (f->move[k].hash == m->hash) return false;
    return true;
}

/* ---- moves ---- */

static void draw_move(emp_refine *f, int32_t index)
{
    emp_refine_move *m = &f->move[index];
    emp_rng          rng;

    emp_rng_init(&rng, f->seed, (uint32_t)f->drawn++, STREAM_MOVES);
    for (int i = 0; i < MOST_DRAWS; i++) {
        m->elite = emp_rng_below(&rng, (uint32_t)f->elites.count);
        m->groups = &emp_move_groups_draw(&f->groups, &rng, &m->group)->rows;
        m->to = emp_device_odds_draw(&f->odds, &rng);
        m->hash = hash_of_move(f, m);
        m->is_new = is_new(f, m, index);
        if (m->is_new) break;
    }
}

static void make_move(const emp_refine *f, const emp_refine_move *m,
                      int32_t *device_of_row)
{
    const emp_members *groups = m->groups;

    memcpy(device_of_row, emp_elites_at(&f->elites, m->elite),
           (size_t)f->row_count * sizeof *device_of_row);
    for (int32_t i = groups->first[m->group]; i < groups->first[m->group + 1]; i++)
        device_of_row[groups->member[i]] = m->to;
}

/* ---- proposals ---- */

/* Has the guide look at the best placement, if that has changed. */
static emp_status follow_best(emp_refine *f, emp_error *err)
{
    emp_status st = EMP_OK;

    for (int64_t e = 0; e < f->elites.count; e++)
        f->elite_hash[e] = hash_of_placement(f, emp_elites_at(&f->elites, e));
    if (f->is_led && f->leader == f->elite_hash[0]) goto cleanup;
    EMP_TRY(emp_guide_follow(&f->guide, emp_elites_at(&f->elites, 0), err));
    emp_move_groups_weigh(&f->groups, f->guide.weight, f->alike);
    f->is_led = true;
    f->leader = f->elite_hash[0];

cleanup:
    return st;
}

/* Estimates the candidates from \a first to \a end, block by block. What is not new is the
 * last to be chosen. */
static emp_status estimate(emp_refine *f, int32_t first, int32_t end, emp_error *err)
{
    double estimate_s[EMP_GUIDE_BLOCK];

    for (; first < end; first += EMP_GUIDE_BLOCK) {
        int32_t count = end - first < EMP_GUIDE_BLOCK ? end - first : EMP_GUIDE_BLOCK;
        for (int32_t i = 0; i < count; i++) {
            make_move(f, &f->move[first + i], f->scratch);
            emp_guide_set(&f->guide, i, f->scratch);
        }
        EMP_CHECK(emp_guide_estimate(&f->guide, count, estimate_s, err));
        for (int32_t i = 0; i < count; i++)
            f->move[first + i].estimate_s =
                f->move[first + i].is_new ? estimate_s[i] : INFINITY;
    }
    return EMP_OK;
}

/* Brings the \a chosen candidates with the least estimates to \a first and after it. */
static void choose(emp_refine *f, int32_t first, int32_t end, int32_t chosen)
{
    for (int32_t k = first; k < first + chosen; k++) {
        int32_t best = k;
        for (int32_t i = k + 1; i < end; i++)
            if (f->move[i].estimate_s < f->move[best].estimate_s) best = i;
        emp_refine_move kept = f->move[k];
        f->move[k] = f->move[best];
        f->move[best] = kept;
    }
}

static int32_t *sample_at(const emp_refine *f, int32_t sample)
{
    return f->device + (size_t)sample * (size_t)f->row_count;
}

emp_status emp_refine_propose(emp_refine *f, int32_t samples, emp_error *err)
{
    int32_t chosen = chosen_of(f, samples), plain = samples - chosen;
    int32_t candidates = plain + chosen * f->filter;

    EMP_CHECK(follow_best(f, err));
    for (int32_t k = 0; k < candidates; k++) draw_move(f, k);
    if (chosen > 0) EMP_CHECK(estimate(f, plain, candidates, err));
    choose(f, plain, candidates, chosen);
    for (int32_t k = 0; k < samples; k++) {
        make_move(f, &f->move[k], sample_at(f, k));
        *place_of(f, f->move[k].hash) = (int64_t)f->move[k].hash;
    }
    f->chosen = chosen;
    return EMP_OK;
}

const int32_t *emp_refine_sample(const emp_refine *f, int32_t sample)
{
    return sample_at(f, sample);
}

/* The mean step time of those that fit. */
static double mean_of(const emp_score *scores, int32_t count)
{
    double  sum = 0.0;
    int32_t fit = 0;

    for (int32_t k = 0; k < count; k++) {
        if (!scores[k].is_feasible) continue;
        sum += scores[k].step_time_s;
        fit++;
    }
    return fit > 0 ? sum / fit : NAN;
}

void emp_refine_learn(emp_refine *f, const emp_score *scores, int32_t count)
{
    int32_t plain = count - f->chosen;

    for (int32_t k = 0; k < count; k++)
        if (scores[k].is_feasible)
            emp_elites_keep(&f->elites, sample_at(f, k), scores[k].step_time_s);
    f->drawn_mean_s = mean_of(scores, plain);
    f->chosen_mean_s = mean_of(scores + plain, f->chosen);
}

int32_t emp_refine_list_state(emp_refine *f, emp_named_array *arrays)
{
    emp_elites           *e = &f->elites;
    size_t                capacity = (size_t)e->capacity;
    const emp_named_array all[] = {
        {"refine_drawn", EMP_ARRAY_INT64, 1, &f->drawn},
        {"refine_known", EMP_ARRAY_INT64, EMP_REFINE_KNOWN, f->known},
        {"refine_count", EMP_ARRAY_INT64, 1, &e->count},
        {"refine_device", EMP_ARRAY_INT32, capacity * (size_t)f->row_count, e->choice},
        {"refine_step_time_s", EMP_ARRAY_DOUBLE, capacity, e->step_time_s},
    };

    memcpy(arrays, all, sizeof all);
    return (int32_t)(sizeof all / sizeof *all);
}
