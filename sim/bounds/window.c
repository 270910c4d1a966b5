// SPDX-License-Identifier: GPL-3.0-or-later

#include <math.h>

#include "sim/bounds/inside.h"

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
    EMP_TRY(emp_inside_init(&inside, model, paths, err));
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
