// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/bounds/window.h"

#include <math.h>

enum { SAMPLES = 12, IMPROVED = 2 };

/* From `before` after the start to `after` before the end. */
typedef struct {
    double before, after;
} window;

/* Of work of that length which starts no sooner than head after the start and ends no
 * later than tail before the end, what lies inside at least: it can stick out by as much
 * as it may start sooner or end later. */
static double inside(emp_time_ns work, emp_time_ns head, emp_time_ns tail, window w)
{
    double left = (double)work - fmax(0.0, w.before - (double)head) -
                  fmax(0.0, w.after - (double)tail);

    return fmax(0.0, left);
}

/* Cores may do an op's work faster than one after the other: all of it or nothing. */
static double inside_cores(const emp_bound_op *o, const emp_bound_head *head,
                           const emp_bound_tail *tail, window w)
{
    bool is_inside =
        (double)head->ready_ns >= w.before && (double)tail->told_ns >= w.after;

    return is_inside ? (double)o->core_ns : 0.0;
}

static emp_area_item cut(const emp_bound_model *model, const emp_bound_paths *paths,
                         emp_op_id op, window w)
{
    const emp_bound_op   *o = &model->op[op];
    const emp_bound_head *head = paths->head[op];
    const emp_bound_tail *tail = paths->tail[op];
    const int32_t         cpu = EMP_DEVICE_CPU, gpu = EMP_DEVICE_GPU;
    emp_area_item         item = {.kinds = o->kinds};

    if (emp_bound_may(o, cpu))
        item.load[cpu][EMP_BOUND_CORES] = inside_cores(o, &head[cpu], &tail[cpu], w);
    if (!emp_bound_may(o, gpu)) return item;
    emp_time_ns start_ns = head[gpu].ready_ns;
    if (model->has_thread) {
        emp_time_ns issued_tail = emp_time_later(tail[gpu].told_ns, tail[gpu].queued_ns);
        item.load[gpu][EMP_BOUND_THREAD] = inside(o->issue_ns, start_ns, issued_tail, w);
        start_ns = emp_time_later(head[gpu].told_ns, head[gpu].queued_ns);
    }
    item.load[gpu][EMP_BOUND_STREAM] =
        inside(o->run_ns[gpu], start_ns, tail[gpu].done_ns, w);
    return item;
}

static double value_at(const emp_bound_model *model, const emp_bound_paths *paths,
                       const double *price, window w)
{
    double work = 0.0;

    for (emp_op_id op = 0; op < model->problem->graph->op_count; op++) {
        emp_area_item item = cut(model, paths, op, w);
        double        least = 0.0;
        if (emp_area_cheapest(&item, price, &least) >= 0) work += least;
    }
    if (!(work > 0.0)) return 0.0; /* a window without work may be empty */
    return w.before + w.after + work * (1.0 - 1e-9);
}

/* The best of a grid of windows. None that leaves no room on the longest path holds work:
 * what is inside is on a path that sticks out at both ends. */
static window look_around(const emp_bound_model *model, const emp_bound_paths *paths,
                          const double *price, double longest, window centre,
                          double width, int32_t samples, double *best)
{
    window found = centre;

    for (int32_t i = 0; i < samples; i++) {
        for (int32_t j = 0; j < samples; j++) {
            window w = {floor(centre.before + width * (i - samples / 2) / samples),
                        floor(centre.after + width * (j - samples / 2) / samples)};
            if (w.before < 0.0 || w.after < 0.0) continue;
            if (w.before + w.after >= longest) continue;
            double value = value_at(model, paths, price, w);
            if (value > *best) *best = value, found = w;
        }
    }
    return found;
}

/* Other prices for this window. */
static emp_status price_again(const emp_bound_model *model, const emp_bound_paths *paths,
                              emp_area_item *item, window w, double *price, double *best,
                              emp_error *err)
{
    emp_area area;
    int32_t  count = model->problem->graph->op_count;

    for (emp_op_id op = 0; op < count; op++) item[op] = cut(model, paths, op, w);
    EMP_CHECK(emp_area_solve(&area, item, count, model->capacity, 1e-4, err));
    if (area.value > 0.0) *best = fmax(*best, w.before + w.after + area.value);
    for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++) price[r] = area.price[r];
    return EMP_OK;
}

emp_status emp_bound_window(double *best, const emp_bound_model *model,
                            const emp_bound_paths *paths, emp_area_item *item,
                            const double *price, double enough, emp_error *err)
{
    double longest = (double)emp_bound_paths_longest(paths, model);
    double width = longest, now[EMP_AREA_PRICES] = {0}; /* memory is free here */
    window w = {width / 2, width / 2};

    *best = 0.0;
    for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++) now[r] = price[r];
    w = look_around(model, paths, now, longest, w, width, SAMPLES, best);
    for (int32_t i = 0; i < IMPROVED && *best < enough; i++) {
        EMP_CHECK(price_again(model, paths, item, w, now, best, err));
        width /= SAMPLES / 2;
        w = look_around(model, paths, now, longest, w, width, SAMPLES / 2, best);
    }
    return EMP_OK;
}
