// SPDX-License-Identifier: GPL-3.0-or-later
/* Do many windows at once cost what their items cost one by one? */
#include <criterion/criterion.h>

#include "base/mem.h"
#include "sim/bounds/inside.h"
#include "tests/sim/engine/random_problem.h"

enum { PROBLEMS = 200, WINDOWS = 5 };

typedef struct {
    task            task;
    emp_bound_model model;
    emp_bound_paths paths;
    emp_inside      inside;
    emp_area_item  *item;
} world;

static void create(world *w, uint64_t seed)
{
    emp_error err = {0};

    *w = (world){0};
    random_problem_create(&w->task, seed);
    w->item = EMP_NEW_ARRAY(emp_area_item, (size_t)w->task.graph->op_count);
    cr_assert_eq(emp_bound_model_init(&w->model, w->task.problem, &err), EMP_OK);
    cr_assert_eq(emp_bound_paths_init(&w->paths, &w->model, &err), EMP_OK);
    emp_bound_paths_find(&w->paths, &w->model);
    cr_assert_eq(emp_inside_init(&w->inside, &w->model, &w->paths, &err), EMP_OK);
}

static void destroy(world *w)
{
    emp_inside_clear(&w->inside);
    emp_bound_paths_clear(&w->paths);
    emp_bound_model_clear(&w->model);
    emp_free(w->item);
    task_destroy(&w->task);
}

static double cost_of_items(const world *w, emp_window window, const double *price)
{
    double sum = 0.0, least = 0.0;

    emp_inside_items(&w->inside, window, w->item);
    for (int32_t i = 0; i < w->inside.count; i++) {
        cr_assert_geq(emp_area_cheapest(&w->item[i], price, &least), 0);
        sum += least;
    }
    return sum;
}

static void compare(const world *w, emp_rng *rng, double *most)
{
    const double longest = (double)emp_bound_paths_longest(&w->paths, &w->model);
    double       price[EMP_AREA_PRICES] = {0}, cost[WINDOWS];
    emp_window   window[WINDOWS] = {{0.0, 0.0}};

    for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++) price[r] = emp_rng_uniform(rng);
    for (int32_t i = 1; i < WINDOWS; i++)
        window[i] = (emp_window){longest * emp_rng_uniform(rng) / 2,
                                 longest * emp_rng_uniform(rng) / 2};
    emp_inside_costs(&w->inside, price, window, WINDOWS, cost);
    for (int32_t i = 0; i < WINDOWS; i++) {
        double want = cost_of_items(w, window[i], price);
        cr_expect_float_eq(cost[i], want, 1e-12 * want, "window %d: %.17g, items %.17g",
                           i, cost[i], want);
        cr_expect_leq(cost[i], cost[0] * (1 + 1e-12), "a part is more than the whole");
        if (i > 0 && cost[i] > *most) *most = cost[i];
    }
}

Test(inside, windows_cost_what_their_items_cost)
{
    double most = 0.0;

    for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
        world   w;
        emp_rng rng;
        emp_rng_init(&rng, seed, 3, 0);
        create(&w, seed);
        compare(&w, &rng, &most);
        destroy(&w);
    }
    cr_expect_gt(most, 0.0, "all windows are empty");
    cr_expect_eq(emp_mem_live_blocks(), 0);
}
