// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hdp/hdp.h"

#include <math.h>
#include <string.h>

/* The range of the scale of Gumbel numbers. The logits lie in [-C, C], so that the least draws the most probable
 * device nearly always, and the largest any. */
static const double SCALE_LOW = 0.02, SCALE_HIGH = 50.0;

/* An update in which nothing moved counts as if this part of a group had. */
static const double LEAST_MOVED = 0.5;

emp_status emp_guide_init(emp_guide *g, const emp_heat_rule *heat, int32_t capacity,
                          int32_t rows, int32_t devices, int32_t steps, emp_error *err)
{
    emp_arrays  *a = &g->arrays;
    const size_t elites = (size_t)capacity;

    *g = (emp_guide){.heat = *heat, .rows = rows, .capacity = capacity, .scale = 1.0};
    g->device = EMP_ADD_ARRAY(a, int32_t, elites * (size_t)rows + 1);
    g->step_s = EMP_ADD_ARRAY(a, double, elites + 1);
    g->candidate = EMP_ADD_ARRAY(a, int32_t, (size_t)rows);
    g->votes = EMP_ADD_ARRAY(a, int32_t, (size_t)steps * (size_t)devices);
    if (a->is_short) return EMP_ERROR(EMP_ENOMEM, "the best placements of %d ops", rows);
    return EMP_OK;
}

void emp_guide_clear(emp_guide *g)
{
    emp_arrays_clear(&g->arrays);
    *g = (emp_guide){0};
}

int32_t emp_guide_count(const emp_guide *g)
{
    int32_t count = 0;

    while (count < g->capacity && g->step_s[count] > 0) count++;
    return count;
}

int32_t emp_guide_find_best(const emp_score *scores, int32_t count)
{
    int32_t best = -1;

    for (int32_t k = 0; k < count; k++) {
        if (!scores[k].is_feasible) continue;
        if (best < 0 || scores[k].step_time_s < scores[best].step_time_s) best = k;
    }
    return best;
}

static int32_t *elite_at(const emp_guide *g, int32_t index)
{
    return &g->device[(int64_t)index * g->rows];
}

static void take_candidate(emp_guide *g)
{
    const size_t bytes = (size_t)g->rows * sizeof *g->device;
    int32_t      at = 0, count = emp_guide_count(g);

    while (at < count && g->step_s[at] <= g->candidate_s) {
        if (memcmp(elite_at(g, at), g->candidate, bytes) == 0) return;
        at++;
    }
    if (at == g->capacity) return;
    for (int32_t i = g->capacity - 1; i > at; i--) {
        memcpy(elite_at(g, i), elite_at(g, i - 1), bytes);
        g->step_s[i] = g->step_s[i - 1];
    }
    memcpy(elite_at(g, at), g->candidate, bytes);
    g->step_s[at] = g->candidate_s;
}

static double wanted_share(const emp_heat_rule *h, int64_t update)
{
    double part = update < h->updates ? (double)update / h->updates : 1.0;

    return h->first * pow(h->last / h->first, part);
}

void emp_guide_take(emp_guide *g, int64_t update)
{
    if (g->capacity > 0 && g->candidate_s > 0) take_candidate(g);
    if (g->heat.first > 0 && g->drawn > 0) {
        double share = fmax(g->moved, LEAST_MOVED) / g->drawn;
        g->scale *= exp(g->heat.gain * log(wanted_share(&g->heat, update) / share));
        g->scale = fmin(SCALE_HIGH, fmax(SCALE_LOW, g->scale));
    }
}

void emp_guide_project(const emp_guide *g, int32_t *target, const int32_t *group_of_row,
                       const int32_t *step_of_group, int32_t steps, int32_t devices)
{
    const int32_t count = emp_guide_count(g);

    for (int32_t e = 0; e < count; e++) {
        const int32_t *device = elite_at(g, e);
        memset(g->votes, 0, (size_t)steps * (size_t)devices * sizeof *g->votes);
        for (int32_t r = 0; r < g->rows; r++)
            g->votes[step_of_group[group_of_row[r]] * devices + device[r]]++;
        for (int32_t s = 0; s < steps; s++) {
            const int32_t *vote = &g->votes[s * devices];
            int32_t       *best = &target[e * steps + s];
            *best = 0;
            for (int32_t d = 1; d < devices; d++)
                if (vote[d] > vote[*best]) *best = d;
        }
    }
}

int32_t emp_guide_list_state(emp_guide *g, emp_named_array *arrays, int32_t n)
{
    const size_t elites = (size_t)g->capacity;

    if (g->heat.first > 0)
        arrays[n++] = (emp_named_array){"heat_scale", EMP_ARRAY_DOUBLE, 1, &g->scale};
    if (elites == 0) return n;
    arrays[n++] = (emp_named_array){"elite_step_s", EMP_ARRAY_DOUBLE, elites, g->step_s};
    arrays[n++] = (emp_named_array){"elite_device", EMP_ARRAY_INT32,
                                    elites * (size_t)g->rows, g->device};
    return n;
}

int32_t emp_guide_list_sums(emp_guide *g, emp_named_array *arrays, int32_t n)
{
    if (g->heat.first > 0) {
        arrays[n++] = (emp_named_array){"drawn", EMP_ARRAY_DOUBLE, 1, &g->drawn};
        arrays[n++] = (emp_named_array){"moved", EMP_ARRAY_DOUBLE, 1, &g->moved};
    }
    if (g->capacity == 0) return n;
    arrays[n++] = (emp_named_array){"candidate_s", EMP_ARRAY_DOUBLE, 1, &g->candidate_s};
    arrays[n++] =
        (emp_named_array){"candidate", EMP_ARRAY_INT32, (size_t)g->rows, g->candidate};
    return n;
}

emp_status emp_guide_check(const emp_guide *g, int32_t devices, emp_error *err)
{
    bool is_sound = g->scale >= SCALE_LOW && g->scale <= SCALE_HIGH;

    for (int32_t e = 0; e < g->capacity; e++)
        is_sound = is_sound && g->step_s[e] >= 0 && isfinite(g->step_s[e]);
    is_sound = is_sound &&
               emp_choices_are_valid(g->device, (int64_t)g->capacity * g->rows, devices);
    return is_sound ? EMP_OK
                    : EMP_ERROR(EMP_EFORMAT, "the saved state of hdp is damaged: its "
                                             "best placements or its heat make no sense");
}
