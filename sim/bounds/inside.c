// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/bounds/inside.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/clones.h"

/* LANES sums are kept side by side. BLOCK ops stay in the nearest cache while all windows go over
 * them. */
enum { LANES = 8, BLOCK = 32 * LANES };

/* ---- ops ---- */

static int32_t count_placeable(const emp_bound_model *model)
{
    int32_t count = 0;

    for (emp_op_id op = 0; op < model->problem->graph->op_count; op++)
        count += model->op[op].kinds != 0;
    return count;
}

/* The arrays are filled up to whole vectors with ops without work. */
static emp_status allocate(emp_inside *s, emp_error *err)
{
    const size_t room = ((size_t)s->count + LANES - 1) / LANES * LANES;

    for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++) {
        s->of[r].work = EMP_ADD_ARRAY(&s->arrays, double, room);
        s->of[r].head = EMP_ADD_ARRAY(&s->arrays, double, room);
        s->of[r].tail = EMP_ADD_ARRAY(&s->arrays, double, room);
    }
    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++)
        s->barred[k] = EMP_ADD_ARRAY(&s->arrays, double, room);
    if (s->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "windows of %d ops", s->count);
    return EMP_OK;
}

static void set_work(const emp_inside_work *of, int32_t i, emp_time_ns work_ns,
                     emp_time_ns head_ns, emp_time_ns tail_ns)
{
    of->work[i] = (double)work_ns;
    of->head[i] = (double)head_ns;
    of->tail[i] = (double)tail_ns;
}

/* If the op may not be on a kind, its head and tail there are unset. Its work there stays 0. */
static void describe(const emp_inside *s, int32_t i, const emp_bound_model *model,
                     const emp_bound_paths *paths, emp_op_id op)
{
    const emp_bound_op   *o = &model->op[op];
    const emp_bound_head *head = paths->head[op];
    const emp_bound_tail *tail = paths->tail[op];
    const int32_t         cpu = EMP_DEVICE_CPU, gpu = EMP_DEVICE_GPU;

    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++)
        s->barred[k][i] = emp_bound_may(o, k) ? 0.0 : INFINITY;
    if (emp_bound_may(o, cpu))
        set_work(&s->of[EMP_BOUND_CORES], i, o->core_ns, head[cpu].ready_ns,
                 tail[cpu].told_ns);
    if (!emp_bound_may(o, gpu)) return;
    emp_time_ns start_ns = head[gpu].ready_ns;
    if (model->has_thread) {
        set_work(&s->of[EMP_BOUND_THREAD], i, o->issue_ns, start_ns,
                 emp_time_later(tail[gpu].told_ns, tail[gpu].queued_ns));
        start_ns = emp_time_later(head[gpu].told_ns, head[gpu].queued_ns);
    }
    set_work(&s->of[EMP_BOUND_STREAM], i, o->run_ns[gpu], start_ns, tail[gpu].done_ns);
}

/* O(V). \retval EMP_ENOMEM */
static emp_status inside_init(emp_inside *s, const emp_bound_model *model,
                              const emp_bound_paths *paths, emp_error *err)
{
    int32_t i = 0;

    *s = (emp_inside){.count = count_placeable(model)};
    EMP_CHECK(allocate(s, err));
    for (emp_op_id op = 0; op < model->problem->graph->op_count; op++)
        if (model->op[op].kinds != 0) describe(s, i++, model, paths, op);
    return EMP_OK;
}

void emp_inside_clear(emp_inside *s)
{
    emp_arrays_clear(&s->arrays);
    *s = (emp_inside){0};
}

/* ---- windows ---- */

static inline double inside(const emp_inside_work *of, int64_t i, emp_window w)
{
    double before = w.before - of->head[i], after = w.after - of->tail[i];
    double left =
        of->work[i] - (before > 0.0 ? before : 0.0) - (after > 0.0 ? after : 0.0);

    return left > 0.0 ? left : 0.0;
}

static inline double inside_cores(const emp_inside_work *of, int64_t i, emp_window w)
{
    bool is_inside = (of->head[i] >= w.before) & (of->tail[i] >= w.after);

    return is_inside ? of->work[i] : 0.0;
}

void emp_inside_items(const emp_inside *s, emp_window w, emp_area_item *item)
{
    for (int32_t i = 0; i < s->count; i++) {
        item[i] = (emp_area_item){0};
        for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++)
            if (s->barred[k][i] == 0.0) item[i].kinds |= 1u << k;
        item[i].load[EMP_DEVICE_CPU][EMP_BOUND_CORES] =
            inside_cores(&s->of[EMP_BOUND_CORES], i, w);
        for (int32_t r = EMP_BOUND_THREAD; r <= EMP_BOUND_STREAM; r++)
            item[i].load[EMP_DEVICE_GPU][r] = inside(&s->of[r], i, w);
    }
}

static inline double cost_of(const emp_inside *s, int64_t i, const double *price,
                             emp_window w)
{
    const emp_inside_work *of = s->of;
    double cpu = price[EMP_BOUND_CORES] * inside_cores(&of[EMP_BOUND_CORES], i, w);
    double gpu = price[EMP_BOUND_THREAD] * inside(&of[EMP_BOUND_THREAD], i, w) +
                 price[EMP_BOUND_STREAM] * inside(&of[EMP_BOUND_STREAM], i, w);

    cpu += s->barred[EMP_DEVICE_CPU][i];
    gpu += s->barred[EMP_DEVICE_GPU][i];
    return cpu < gpu ? cpu : gpu;
}

/* Adds the costs of ops from `first` to `end` to the sums of a window. */
EMP_CLONES static void add_costs_inside(const emp_inside *s, int64_t first, int64_t end,
                                        const double *price, emp_window w, double *sum)
{
    /* Copies, so that the compiler knows that no store changes them. */
    const emp_inside local = *s;
    const double     p[EMP_BOUND_RESOURCES] = {price[0], price[1], price[2]};
    double           lane[LANES] = {0};

    for (int64_t i = first; i < end; i += LANES) {
#pragma omp simd
        for (int l = 0; l < LANES; l++) lane[l] += cost_of(&local, i + l, p, w);
    }
    for (int l = 0; l < LANES; l++) sum[l] += lane[l];
}

void emp_inside_costs(const emp_inside *s, const double *price, const emp_window *window,
                      int32_t count, double *cost)
{
    double sum[EMP_INSIDE_WINDOWS][LANES];

    assert(count <= EMP_INSIDE_WINDOWS);
    memset(sum, 0, (size_t)count * sizeof *sum);
    for (int64_t first = 0; first < s->count; first += BLOCK) {
        const int64_t end = first + BLOCK < s->count ? first + BLOCK : s->count;
        for (int32_t w = 0; w < count; w++)
            add_costs_inside(s, first, end, price, window[w], sum[w]);
    }
    for (int32_t w = 0; w < count; w++) {
        cost[w] = 0.0;
        for (int l = 0; l < LANES; l++) cost[w] += sum[w][l];
    }
}

enum { SAMPLES = 12, IMPROVED = 2 };
_Static_assert((int)EMP_INSIDE_WINDOWS >= SAMPLES * SAMPLES, "windows of a grid");

/* A window without work may be empty. */
static double value_of(emp_window w, double work)
{
    return work > 0.0 ? w.before + w.after + work * (1.0 - 1e-9) : 0.0;
}

/* The best of a grid of windows. Work inside a window is on a path that sticks out at both ends. So
 * windows that leave no room on the longest path hold none, and are left out. */
static emp_window look_around(const emp_inside *inside, const double *price,
                              double longest, emp_window centre, double width,
                              int32_t samples, double *best)
{
    emp_window found = centre, window[EMP_INSIDE_WINDOWS];
    double     work[EMP_INSIDE_WINDOWS];
    int32_t    count = 0;

    for (int32_t i = 0; i < samples; i++) {
        for (int32_t j = 0; j < samples; j++) {
            emp_window w = {floor(centre.before + width * (i - samples / 2) / samples),
                            floor(centre.after + width * (j - samples / 2) / samples)};
            if (w.before < 0.0 || w.after < 0.0) continue;
            if (w.before + w.after < longest) window[count++] = w;
        }
    }
    emp_inside_costs(inside, price, window, count, work);
    for (int32_t i = 0; i < count; i++) {
        double value = value_of(window[i], work[i]);
        if (value > *best) *best = value, found = window[i];
    }
    return found;
}

/* Other prices for this window. */
static emp_status price_again(const emp_inside *inside, const double *capacity,
                              emp_area_item *item, emp_window w, double *price,
                              double *best, emp_error *err)
{
    emp_area area;

    emp_inside_items(inside, w, item);
    EMP_CHECK(emp_area_solve(&area, item, inside->count, capacity, 1e-4, err));
    if (area.value > 0.0) *best = fmax(*best, w.before + w.after + area.value);
    for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++) price[r] = area.price[r];
    return EMP_OK;
}

emp_status emp_bound_window(double *best, const emp_bound_model *model,
                            const emp_bound_paths *paths, emp_area_item *item,
                            const double *price, double enough, emp_error *err)
{
    emp_status st = EMP_OK;
    double     longest = (double)emp_bound_paths_longest(paths, model);
    double     width = longest, now[EMP_BOUND_RESOURCES];
    emp_window w = {width / 2, width / 2};
    emp_inside inside;

    *best = 0.0;
    EMP_TRY(inside_init(&inside, model, paths, err));
    for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++) now[r] = price[r];
    w = look_around(&inside, now, longest, w, width, SAMPLES, best);
    for (int32_t i = 0; i < IMPROVED && *best < enough; i++) {
        EMP_TRY(price_again(&inside, model->capacity, item, w, now, best, err));
        width /= SAMPLES / 2;
        w = look_around(&inside, now, longest, w, width, SAMPLES / 2, best);
    }

cleanup:
    emp_inside_clear(&inside);
    return st;
}
