// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/machine/tables/grid.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The different sizes of an axis, ascending. */
static emp_status find_knots(emp_grid *g, int32_t axis, const emp_grid_sample *sample,
                             int32_t count, emp_error *err)
{
    double *knot;
    int32_t points = 0;

    EMP_CHECK(EMP_ALLOC(knot, (size_t)count));
    g->knot[axis] = knot;
    for (int32_t i = 0; i < count; i++) knot[i] = log(sample[i].size[axis]);
    qsort(knot, (size_t)count, sizeof *knot, compare_doubles);
    for (int32_t i = 0; i < count; i++) {
        if (points == 0 || knot[i] > knot[points - 1]) knot[points++] = knot[i];
    }
    g->points[axis] = points;
    return EMP_OK;
}

/* The cell of an axis that holds x: its lower point. The last cell holds all that is beyond. */
static int32_t find_cell(const emp_grid *g, int32_t axis, double x)
{
    int32_t low = 0, high = g->points[axis] - 1;

    while (high - low > 1) {
        int32_t middle = (low + high) / 2;
        if (g->knot[axis][middle] <= x)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static int32_t index_of(const emp_grid *g, const int32_t *place)
{
    int32_t index = 0;

    for (int32_t a = 0; a < g->axes; a++) index = index * g->points[a] + place[a];
    return index;
}

static void find_place(const emp_grid *g, const emp_grid_sample *sample, int32_t *place)
{
    for (int32_t a = 0; a < g->axes; a++) {
        double x = log(sample->size[a]);
        place[a] = find_cell(g, a, x);
        if (g->knot[a][place[a]] < x) place[a]++;
    }
}

enum { PLACE_BYTES = 128 };

/* "m 128, n 64" */
static const char *describe(char text[PLACE_BYTES], const emp_grid *g,
                            const int32_t *place, const char *const *names)
{
    text[0] = '\0';
    for (int32_t a = 0; a < g->axes; a++) {
        size_t used = strlen(text);
        snprintf(text + used, PLACE_BYTES - used, "%s%s %.10g", a == 0 ? "" : ", ",
                 names[a], exp(g->knot[a][place[a]]));
    }
    return text;
}

static emp_status fill(emp_grid *g, const emp_grid_sample *sample, int32_t count,
                       const char *path, const char *const *names, emp_error *err)
{
    int32_t place[EMP_GRID_AXES] = {0};
    char    text[PLACE_BYTES];

    for (int32_t i = 0; i < count; i++) {
        find_place(g, &sample[i], place);
        double *log_s = &g->log_s[index_of(g, place)];
        if (!isnan(*log_s))
            return EMP_ERROR(EMP_EFORMAT, "%s, row %d: %s is there twice", path,
                             sample[i].row, describe(text, g, place, names));
        *log_s = log(sample[i].us * 1e-6);
    }
    return EMP_OK;
}

/* Steps to the next place of the grid. */
static bool advance(const emp_grid *g, int32_t *place)
{
    for (int32_t a = g->axes - 1; a >= 0; a--) {
        if (++place[a] < g->points[a]) return true;
        place[a] = 0;
    }
    return false;
}

/* That every place has a time, and none falls along an axis from \a first on. */
static emp_status check(const emp_grid *g, int32_t first, const char *path,
                        const char *const *names, emp_error *err)
{
    int32_t place[EMP_GRID_AXES] = {0};
    char    text[PLACE_BYTES];

    do {
        double here = g->log_s[index_of(g, place)];
        if (isnan(here))
            return EMP_ERROR(EMP_EFORMAT,
                             "%s: no time for %s; every size of a column needs one with "
                             "every size of the others",
                             path, describe(text, g, place, names));
        for (int32_t a = first; a < g->axes; a++) {
            if (place[a] == 0) continue;
            place[a]--;
            double before = g->log_s[index_of(g, place)];
            place[a]++;
            if (here < before - 1e-12)
                return EMP_ERROR(EMP_EFORMAT,
                                 "%s: %s takes less than the smaller %s before it; times "
                                 "must not fall",
                                 path, describe(text, g, place, names), names[a]);
        }
    } while (advance(g, place));
    return EMP_OK;
}

emp_status emp_grid_create(emp_grid **out, int32_t axes, int32_t unordered,
                           const emp_grid_sample *sample, int32_t count, const char *path,
                           const char *const *names, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_grid  *g = EMP_NEW(emp_grid);
    double     places = 1;

    *out = NULL;
    if (g == NULL) EMP_FAIL(EMP_ENOMEM, "a grid of %d times", count);
    g->axes = axes;
    for (int32_t a = 0; a < axes; a++) {
        EMP_TRY(find_knots(g, a, sample, count, err));
        places *= g->points[a];
    }
    /* a whole grid has a time a place: what lacks most of them is refused before it takes memory */
    if (places > 8.0 * count)
        EMP_FAIL(EMP_EFORMAT, "%s: %d times for a grid of %.0f places", path, count,
                 places);
    EMP_TRY(EMP_ALLOC(g->log_s, (size_t)places));
    for (int32_t i = 0; i < (int32_t)places; i++) g->log_s[i] = NAN;
    EMP_TRY(fill(g, sample, count, path, names, err));
    EMP_TRY(check(g, unordered, path, names, err));
    *out = g;
    g = NULL;

cleanup:
    emp_grid_destroy(g);
    return st;
}

void emp_grid_destroy(emp_grid *grid)
{
    if (grid == NULL) return;
    for (int32_t a = 0; a < EMP_GRID_AXES; a++) emp_free(grid->knot[a]);
    emp_free(grid->log_s);
    emp_free(grid);
}

/* Where x lies in its cell: 0 at the lower point, 1 at the upper, more beyond the last. */
static double within(const emp_grid *g, int32_t axis, int32_t cell, double x)
{
    const double *knot = &g->knot[axis][cell];

    if (x <= knot[0] || cell + 1 == g->points[axis]) return 0.0;
    return (x - knot[0]) / (knot[1] - knot[0]);
}

/* The interpolation with each \a at cut to its cell. */
static double blend(const emp_grid *g, const int32_t *cell, const double *at)
{
    double sum = 0.0;

    for (int32_t corner = 0; corner < 1 << g->axes; corner++) {
        int32_t place[EMP_GRID_AXES] = {0};
        double  weight = 1.0;
        for (int32_t a = 0; a < g->axes; a++) {
            int32_t upper = corner >> a & 1;
            double  t = fmin(at[a], 1.0);
            place[a] = cell[a] + upper;
            weight *= upper ? t : 1.0 - t;
        }
        if (weight > 0.0) sum += weight * g->log_s[index_of(g, place)];
    }
    return sum;
}

double emp_grid_at(const emp_grid *grid, const double *size)
{
    int32_t cell[EMP_GRID_AXES] = {0};
    double  at[EMP_GRID_AXES] = {0};

    for (int32_t a = 0; a < grid->axes; a++) {
        double x = log(size[a]);
        cell[a] = find_cell(grid, a, x);
        at[a] = within(grid, a, cell[a], x);
    }
    double here = blend(grid, cell, at), beyond = 0.0;
    for (int32_t a = 0; a < grid->axes; a++) {
        if (at[a] <= 1.0) continue;
        double far = at[a];
        at[a] = 0.0;
        beyond += (far - 1.0) * (here - blend(grid, cell, at));
        at[a] = far;
    }
    return exp(here + beyond);
}

bool emp_grid_covers(const emp_grid *grid, const double *size)
{
    for (int32_t a = 0; a < grid->axes; a++) {
        double x = log(size[a]);
        if (x < grid->knot[a][0] || x > grid->knot[a][grid->points[a] - 1]) return false;
    }
    return true;
}
