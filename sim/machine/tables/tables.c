// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/machine/tables/tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/collections.h"
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

/* The columns of a kind of file: words that name a grid, then the sizes of its axes. */
static const struct layout {
    const char *word[2]; /* NULL: the file has none */
    const char *axis[EMP_GRID_AXES];
    int32_t     axes;
    int32_t     unordered; /* more GPUs may be faster: each has a smaller share */
} layouts[EMP_TABLE_KINDS] = {
    [EMP_TABLE_GEMM] = {{NULL, "format"}, {"m", "n", "k"}, 3, 0},
    [EMP_TABLE_ATTENTION] = {{"phase", "format"}, {"length", "kv_heads", "group"}, 3, 0},
    [EMP_TABLE_COMM] = {{"op", "format"}, {"gpus", "bytes", NULL}, 2, 1},
};

/* \retval EMP_EINVAL  No such phase; the message lists those there are. */
static emp_status phase_parse(emp_phase *phase, const char *name, emp_error *err)
{
    if (strcmp(name, "context") == 0)
        *phase = EMP_ATTENTION_OF_PROMPT;
    else if (strcmp(name, "decode") == 0)
        *phase = EMP_ATTENTION_OF_TOKEN;
    else
        return EMP_ERROR(EMP_EINVAL, "\"%.40s\" is no phase; known: context, decode",
                         name);
    return EMP_OK;
}

emp_tables *emp_tables_create(void)
{
    emp_tables *tables = EMP_NEW(emp_tables);

    if (tables != NULL) tables->holders = 1;
    return tables;
}

emp_tables *emp_tables_hold(emp_tables *tables)
{
    if (tables != NULL) __atomic_add_fetch(&tables->holders, 1, __ATOMIC_RELAXED);
    return tables;
}

void emp_tables_release(emp_tables *tables)
{
    if (tables == NULL) return;
    if (__atomic_sub_fetch(&tables->holders, 1, __ATOMIC_ACQ_REL) > 0) return;
    for (int32_t f = 0; f < EMP_FORMATS; f++) {
        emp_grid_destroy(tables->gemm[f]);
        for (int32_t p = 0; p < EMP_ATTENTION_PHASES; p++)
            emp_grid_destroy(tables->attention[p][f]);
        for (int32_t c = 0; c < EMP_COLLECTIVES; c++)
            emp_grid_destroy(tables->collective[c][f]);
    }
    emp_free(tables);
}

/* Where the grid of a row belongs. */
static emp_status find_grid(emp_grid ***grid, emp_tables *t, emp_table_kind kind,
                            const char *first, const char *format_name, emp_error *err)
{
    emp_format     format = EMP_FORMAT_FP32;
    emp_phase      phase = EMP_ATTENTION_OF_PROMPT;
    emp_collective op = EMP_COLLECTIVE_ALL_REDUCE;

    EMP_CHECK(emp_format_parse(&format, format_name, err));
    switch (kind) {
    case EMP_TABLE_ATTENTION:
        EMP_CHECK(phase_parse(&phase, first, err));
        *grid = &t->attention[phase][format];
        return EMP_OK;
    case EMP_TABLE_COMM:
        EMP_CHECK(emp_collective_parse(&op, first, err));
        *grid = &t->collective[op][format];
        return EMP_OK;
    default: *grid = &t->gemm[format]; return EMP_OK;
    }
}

/* The state while a file is read. */
struct reader {
    const emp_csv       *csv;
    const char          *path;
    const struct layout *layout;
    int32_t              word[2], axis[EMP_GRID_AXES], us; /* columns */
    emp_grid_sample     *sample;
};

static emp_status find_columns(struct reader *r, emp_error *err)
{
    for (int32_t w = 0; w < 2; w++)
        if (r->layout->word[w] != NULL)
            EMP_CHECK(emp_csv_find(&r->word[w], r->csv, r->layout->word[w], err));
    for (int32_t a = 0; a < r->layout->axes; a++)
        EMP_CHECK(emp_csv_find(&r->axis[a], r->csv, r->layout->axis[a], err));
    return emp_csv_find(&r->us, r->csv, "us", err);
}

static const char *word_of(const struct reader *r, int32_t row, int32_t w)
{
    return r->layout->word[w] == NULL ? "" : emp_csv_text(r->csv, row, r->word[w]);
}

static bool is_of_one_grid(const struct reader *r, int32_t row, int32_t other)
{
    return strcmp(word_of(r, row, 0), word_of(r, other, 0)) == 0 &&
           strcmp(word_of(r, row, 1), word_of(r, other, 1)) == 0;
}

static emp_status read_positive(double *value, const struct reader *r, int32_t row,
                                int32_t column, const char *name, emp_error *err)
{
    EMP_CHECK(emp_csv_real(value, r->csv, row, column, err));
    if (*value > 0.0 && *value < 1e15) return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT, "%s, row %d: %s is \"%.40s\", not a number above zero",
                     r->path, row + 1, name, emp_csv_text(r->csv, row, column));
}

static emp_status read_sample(struct reader *r, int32_t row, emp_grid_sample *sample,
                              emp_error *err)
{
    sample->row = row + 1;
    for (int32_t a = 0; a < r->layout->axes; a++)
        EMP_CHECK(
            read_positive(&sample->size[a], r, row, r->axis[a], r->layout->axis[a], err));
    return read_positive(&sample->us, r, row, r->us, "us", err);
}

/* Reads the rows from \a first on that are of one grid; sets \a *next behind them. */
static emp_status read_grid(struct reader *r, emp_tables *t, emp_table_kind kind,
                            int32_t first, int32_t *next, emp_error *err)
{
    emp_error  why = {0};
    emp_grid **grid;
    int32_t    count = 0;

    if (find_grid(&grid, t, kind, word_of(r, first, 0), word_of(r, first, 1), &why) !=
        EMP_OK)
        return EMP_ERROR(EMP_EFORMAT, "%s, row %d: %s", r->path, first + 1, why.msg);
    if (*grid != NULL)
        return EMP_ERROR(EMP_EFORMAT,
                         "%s, row %d: the rows of %s%s%s do not stand together", r->path,
                         first + 1, word_of(r, first, 0),
                         r->layout->word[0] != NULL ? " " : "", word_of(r, first, 1));
    for (*next = first; *next < r->csv->row_count && is_of_one_grid(r, first, *next);
         ++*next)
        EMP_CHECK(read_sample(r, *next, &r->sample[count++], err));
    return emp_grid_create(grid, r->layout->axes, r->layout->unordered, r->sample, count,
                           r->path, r->layout->axis, err);
}

static uint64_t hash_table(uint64_t hash, const emp_csv *csv)
{
    for (int32_t row = 0; row < csv->row_count; row++) {
        for (int32_t column = 0; column < csv->column_count; column++) {
            const char *text = emp_csv_text(csv, row, column);
            hash = emp_hash_bytes(hash, text, strlen(text) + 1);
        }
    }
    return hash;
}

emp_status emp_tables_add(emp_tables *tables, emp_table_kind kind, const emp_csv *csv,
                          const char *path, uint64_t *hash, emp_error *err)
{
    emp_status    st = EMP_OK;
    struct reader r = {.csv = csv, .path = path, .layout = &layouts[kind]};

    EMP_TRY(find_columns(&r, err));
    if (csv->row_count == 0) EMP_FAIL(EMP_EFORMAT, "%s has no row", path);
    EMP_TRY(EMP_ALLOC(r.sample, (size_t)csv->row_count));
    for (int32_t row = 0; row < csv->row_count;)
        EMP_TRY(read_grid(&r, tables, kind, row, &row, err));
    *hash = hash_table(*hash, csv);

cleanup:
    emp_free(r.sample);
    return st;
}

/* ---- number formats ---- */

static const struct {
    const char *name;
    double      bytes;
} formats[] = {
#define X(format, name, bytes) {name, bytes},
    EMP_FORMAT_LIST(X)
#undef X
};

const char *emp_format_name(emp_format format) { return formats[format].name; }

double emp_format_bytes(emp_format format) { return formats[format].bytes; }

emp_status emp_format_parse(emp_format *format, const char *name, emp_error *err)
{
    for (int32_t f = 0; f < EMP_FORMATS; f++) {
        if (strcmp(formats[f].name, name) != 0) continue;
        *format = (emp_format)f;
        return EMP_OK;
    }
    if (strcmp(name, "half") == 0) {
        *format = EMP_FORMAT_FP16;
        return EMP_OK;
    }
    return EMP_ERROR(EMP_EINVAL,
                     "\"%.40s\" is no number format; known: fp32, tf32, bf16, fp16, fp8, "
                     "int8, fp4, fp64",
                     name);
}
