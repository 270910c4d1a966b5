// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/bounds/inside.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/clones.h"

/* LANES sums are kept side by side. BLOCK ops stay in the nearest cache while all windows go over
 * them, but for those that hold none of their work; those that hold all of it share one sum. */
enum { LANES = 8, BLOCK = EMP_AREA_BLOCK };
_Static_assert(BLOCK % LANES == 0, "whole vectors");

/* ---- ops ---- */

static int32_t count_placeable(const emp_bound_model *model)
{
    int32_t count = 0;

    for (emp_op_id op = 0; op < model->problem->graph->op_count; op++)
        count += model->op[op].kinds != 0;
    return count;
}

/* The arrays are filled up to whole blocks with ops without work. */
emp_status emp_inside_init(emp_inside *s, int32_t count, emp_error *err)
{
    const size_t room = ((size_t)count + BLOCK - 1) / BLOCK * BLOCK;

    *s = (emp_inside){.count = count};
    for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++) {
        s->of[r].work = EMP_ADD_ARRAY(&s->arrays, double, room);
        s->of[r].head = EMP_ADD_ARRAY(&s->arrays, double, room);
        s->of[r].tail = EMP_ADD_ARRAY(&s->arrays, double, room);
    }
    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++)
        s->barred[k] = EMP_ADD_ARRAY(&s->arrays, double, room);
    s->reach = emp_arrays_add(&s->arrays, room / BLOCK + 1, sizeof *s->reach);
    s->core = EMP_ADD_ARRAY(&s->arrays, emp_inside_core, room / BLOCK + 1);
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

/* An op whose work may be shared counts as long as it begins and ends inside. */
void emp_inside_find_reach(emp_inside *s)
{
    for (int32_t i = 0; i < s->count; i++) {
        emp_inside_reach *reach = s->reach[i / BLOCK];
        emp_inside_core  *core = &s->core[i / BLOCK];
        if (i % BLOCK == 0) *core = (emp_inside_core){INFINITY, INFINITY};
        for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++) {
            const emp_inside_work *of = &s->of[r];
            const double           work = r == EMP_BOUND_CORES ? 1.0 : of->work[i];
            if (of->work[i] <= 0.0) continue;
            reach[r].before = fmax(reach[r].before, of->head[i] + work);
            reach[r].after = fmax(reach[r].after, of->tail[i] + work);
            core->before = fmin(core->before, of->head[i]);
            core->after = fmin(core->after, of->tail[i]);
        }
    }
}

static bool may_hold(const emp_inside *s, int64_t block, emp_window w)
{
    for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++)
        if (w.before < s->reach[block][r].before && w.after < s->reach[block][r].after)
            return true;
    return false;
}

static bool holds_all(const emp_inside *s, int64_t block, emp_window w)
{
    return w.before <= s->core[block].before && w.after <= s->core[block].after;
}

/* O(V). \retval EMP_ENOMEM */
static emp_status describe_all(emp_inside *s, const emp_bound_model *model,
                               const emp_bound_paths *paths, emp_error *err)
{
    int32_t i = 0;

    EMP_CHECK(emp_inside_init(s, count_placeable(model), err));
    for (emp_op_id op = 0; op < model->problem->graph->op_count; op++)
        if (model->op[op].kinds != 0) describe(s, i++, model, paths, op);
    emp_inside_find_reach(s);
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

static emp_area_item item_inside(const emp_inside *s, int32_t i, emp_window w)
{
    emp_area_item item = {0};

    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++)
        if (s->barred[k][i] == 0.0) item.kinds |= 1u << k;
    item.load[EMP_DEVICE_CPU][EMP_BOUND_CORES] =
        inside_cores(&s->of[EMP_BOUND_CORES], i, w);
    for (int32_t r = EMP_BOUND_THREAD; r <= EMP_BOUND_STREAM; r++)
        item.load[EMP_DEVICE_GPU][r] = inside(&s->of[r], i, w);
    return item;
}

/* Appends the ops of a block to the items of the table. */
EMP_CLONES static void add_items(const emp_inside *s, int64_t first, emp_window w,
                                 emp_area_table *table)
{
    const emp_inside     local = *s;
    const emp_area_table to = *table;

#pragma omp simd
    for (int32_t i = 0; i < BLOCK; i++) {
        to.load[EMP_BOUND_CORES][to.count + i] =
            inside_cores(&local.of[EMP_BOUND_CORES], first + i, w);
        to.load[EMP_BOUND_THREAD][to.count + i] =
            inside(&local.of[EMP_BOUND_THREAD], first + i, w);
        to.load[EMP_BOUND_STREAM][to.count + i] =
            inside(&local.of[EMP_BOUND_STREAM], first + i, w);
    }
    for (int32_t k = 0; k < EMP_DEVICE_KINDS; k++)
        memcpy(to.barred[k] + to.count, local.barred[k] + first,
               BLOCK * sizeof *to.barred[k]);
    table->count += BLOCK;
}

void emp_inside_items(const emp_inside *s, emp_window w, emp_area_table *table)
{
    table->count = 0;
    for (int64_t block = 0; block * BLOCK < s->count; block++)
        if (may_hold(s, block, w)) add_items(s, block * BLOCK, w, table);
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

/* Likewise to the sums of all windows. Every window that holds all work of the ops adds the same to its sums. */
static void add_block(const emp_inside *s, int64_t block, const double *price,
                      const emp_window *window, int32_t count, double (*sum)[LANES])
{
    const int64_t first = block * BLOCK;
    const int64_t end = first + BLOCK < s->count ? first + BLOCK : s->count;
    bool          is_known = false;
    double        all[LANES] = {0};

    for (int32_t w = 0; w < count; w++) {
        if (!may_hold(s, block, window[w])) continue;
        if (!holds_all(s, block, window[w])) {
            add_costs_inside(s, first, end, price, window[w], sum[w]);
            continue;
        }
        if (!is_known) add_costs_inside(s, first, end, price, window[w], all);
        is_known = true;
        for (int l = 0; l < LANES; l++) sum[w][l] += all[l];
    }
}

void emp_inside_costs(const emp_inside *s, const double *price, const emp_window *window,
                      int32_t count, double *cost)
{
    double sum[EMP_INSIDE_WINDOWS][LANES];

    assert(count <= EMP_INSIDE_WINDOWS);
    memset(sum, 0, (size_t)count * sizeof *sum);
    for (int64_t block = 0; block * BLOCK < s->count; block++)
        add_block(s, block, price, window, count, sum);
    for (int32_t w = 0; w < count; w++) {
        cost[w] = 0.0;
        for (int l = 0; l < LANES; l++) cost[w] += sum[w][l];
    }
}

enum { SAMPLES = 12, IMPROVED = 3 };
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
                              emp_area_table *table, emp_window w, double *price,
                              double *best, emp_error *err)
{
    emp_area area;

    emp_inside_items(inside, w, table);
    EMP_CHECK(emp_area_solve(&area, table, capacity, 1e-4, INFINITY, err));
    if (area.value > 0.0) *best = fmax(*best, w.before + w.after + area.value);
    for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++) price[r] = area.price[r];
    return EMP_OK;
}

/* Keeps the window and the prices if they have raised the bound. */
static void keep_proof(emp_window_proof *proof, double best, emp_window w,
                       const double *price)
{
    if (best <= proof->value) return;
    proof->value = best;
    proof->window = w;
    for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++) proof->price[r] = price[r];
}

emp_status emp_bound_window(double *best, emp_window_proof *proof, emp_area_item *item,
                            const emp_bound_model *model, const emp_bound_paths *paths,
                            emp_time_ns longest_ns, const double *price, double enough,
                            emp_error *err)
{
    emp_status       st = EMP_OK;
    const double     longest = (double)longest_ns;
    double           width = longest, now[EMP_BOUND_RESOURCES];
    emp_window       w = {width / 2, width / 2};
    emp_inside       inside;
    emp_area_table   table = {0};
    emp_window_proof found = {0};

    *best = 0.0;
    EMP_TRY(describe_all(&inside, model, paths, err));
    EMP_TRY(emp_area_table_init(&table, inside.count, false, err));
    for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++) now[r] = price[r];
    w = look_around(&inside, now, longest, w, width, SAMPLES, best);
    keep_proof(&found, *best, w, now);
    for (int32_t i = 0; i < IMPROVED && *best < enough; i++) {
        EMP_TRY(price_again(&inside, model->capacity, &table, w, now, best, err));
        keep_proof(&found, *best, w, now);
        width /= SAMPLES / 2;
        w = look_around(&inside, now, longest, w, width, SAMPLES / 2, best);
        keep_proof(&found, *best, w, now);
    }
    for (int32_t i = 0; proof != NULL && i < inside.count; i++)
        item[i] = item_inside(&inside, i, found.window);
    if (proof != NULL) *proof = found;

cleanup:
    emp_inside_clear(&inside);
    emp_area_table_clear(&table);
    return st;
}
