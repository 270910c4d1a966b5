// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/plots/csv/plot.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "base/text/text.h"

enum { NAME_BYTES = 512 };

/* A list of columns; -1: the item is empty. A column without a label has its name for one. */
struct columns {
    int32_t     count, column[EMP_PLOT_COLUMNS_MAX];
    const char *label[EMP_PLOT_COLUMNS_MAX];
    bool        has_label[EMP_PLOT_COLUMNS_MAX];
};

struct condition {
    int32_t     column;
    const char *wanted; /* "a|b" */
};

/* Names that are numbered as they come. */
struct names {
    const char **name; /* [most] */
    int32_t     *count, most;
    const char  *what;
    emp_strmap   map;
};

struct reader {
    const emp_csv         *csv;
    const emp_plot_choice *choice;
    emp_plot_grid         *grid;
    struct columns         rows, series, values, low, high;
    struct condition       where[EMP_PLOT_CONDITIONS_MAX];
    struct names           row_names, series_names;
};

/* ---- what is asked for ---- */

/* "NAME" or "NAME=LABEL". */
static emp_status read_column(struct columns *to, struct reader *r, const char *item,
                              size_t length, bool may_be_empty, emp_error *err)
{
    if (to->count == EMP_PLOT_COLUMNS_MAX)
        return EMP_ERROR(EMP_EINVAL, "a list has %d columns at most",
                         EMP_PLOT_COLUMNS_MAX);
    char *name = emp_arena_strndup(&r->grid->texts, item, length);
    if (name == NULL) return EMP_ERROR(EMP_ENOMEM, "names of columns");
    char *equals = strchr(name, '=');
    if (equals != NULL) *equals = '\0';
    const int32_t at = to->count++;
    to->label[at] = equals != NULL ? equals + 1 : name;
    to->has_label[at] = equals != NULL;
    to->column[at] = -1;
    if (may_be_empty && length == 0) return EMP_OK;
    return emp_csv_find(&to->column[at], r->csv, name, err);
}

static emp_status read_columns(struct columns *to, struct reader *r, const char *list,
                               bool may_be_empty, emp_error *err)
{
    while (list != NULL) {
        const char *comma = strchr(list, ',');
        size_t      length = comma != NULL ? (size_t)(comma - list) : strlen(list);
        EMP_CHECK(read_column(to, r, list, length, may_be_empty, err));
        list = comma != NULL ? comma + 1 : NULL;
    }
    return EMP_OK;
}

static emp_status read_condition(struct condition *to, struct reader *r, const char *text,
                                 emp_error *err)
{
    const char *equals = strchr(text, '=');

    if (equals == NULL)
        return EMP_ERROR(EMP_EINVAL, "\"%.40s\" is no condition, as task=nmt4|nmt8",
                         text);
    char *name = emp_arena_strndup(&r->grid->texts, text, (size_t)(equals - text));
    if (name == NULL) return EMP_ERROR(EMP_ENOMEM, "conditions");
    to->wanted = equals + 1;
    return emp_csv_find(&to->column, r->csv, name, err);
}

/* Adds the different fields of a column to a text, which is cut off where they are many. */
static emp_status list_fields(emp_text *text, const emp_csv *csv, int32_t column,
                              emp_error *err)
{
    emp_status st = EMP_OK;
    emp_strmap seen = {0};

    for (int32_t i = 0; i < csv->row_count && text->used + 1 < text->size; i++) {
        const char *field = emp_csv_text(csv, i, column);
        if (emp_strmap_get(&seen, field, strlen(field)) >= 0) continue;
        EMP_TRY(emp_strmap_set(&seen, field, strlen(field), i, err));
        emp_text_add(text, "%s%s", i > 0 ? ", " : "", field[0] != '\0' ? field : "\"\"");
    }

cleanup:
    emp_strmap_clear(&seen);
    return st;
}

static bool has_field(const emp_csv *csv, int32_t column, const char *wanted,
                      size_t length)
{
    for (int32_t i = 0; i < csv->row_count; i++) {
        const char *field = emp_csv_text(csv, i, column);
        if (strlen(field) == length && memcmp(field, wanted, length) == 0) return true;
    }
    return false;
}

/* Each value that a condition names is that of a row, as a misspelt one would only leave something out. */
static emp_status check_condition(const struct condition *c, const struct reader *r,
                                  const char *text, emp_error *err)
{
    char     array[300] = "";
    emp_text fields = {array, sizeof array, 0};

    for (const char *wanted = c->wanted;; wanted++) {
        const size_t length = strcspn(wanted, "|");
        if (!has_field(r->csv, c->column, wanted, length)) {
            EMP_CHECK(list_fields(&fields, r->csv, c->column, err));
            return EMP_ERROR(EMP_EINVAL,
                             "%s has no row whose %.*s is \"%.*s\"; there are %s",
                             r->choice->path, (int)strcspn(text, "="), text,
                             (int)(length < 60 ? length : 60), wanted, array);
        }
        wanted += length;
        if (*wanted == '\0') return EMP_OK;
    }
}

static emp_status check_ranges(const struct reader *r, const struct columns *ends,
                               emp_error *err)
{
    if (ends->count == 0 || ends->count == r->values.count) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL,
                     "%d columns of values have %d ends of ranges; name one for each, or "
                     "leave its item empty",
                     r->values.count, ends->count);
}

static emp_status read_choice(struct reader *r, emp_error *err)
{
    const emp_plot_choice *c = r->choice;

    EMP_CHECK(read_columns(&r->rows, r, c->rows, false, err));
    EMP_CHECK(read_columns(&r->values, r, c->values, false, err));
    EMP_CHECK(read_columns(&r->series, r, c->series, false, err));
    EMP_CHECK(read_columns(&r->low, r, c->low, true, err));
    EMP_CHECK(read_columns(&r->high, r, c->high, true, err));
    EMP_CHECK(check_ranges(r, &r->low, err));
    EMP_CHECK(check_ranges(r, &r->high, err));
    for (int32_t i = 0; i < c->where_count; i++) {
        EMP_CHECK(read_condition(&r->where[i], r, c->where[i], err));
        EMP_CHECK(check_condition(&r->where[i], r, c->where[i], err));
    }
    if (r->series.count > 0 && r->values.count > EMP_PLOT_PARTS_MAX)
        return EMP_ERROR(EMP_EINVAL,
                         "series have %d columns of values at most, not %d; without "
                         "series each column is one",
                         EMP_PLOT_PARTS_MAX, r->values.count);
    return EMP_OK;
}

/* ---- names ---- */

static emp_status number_name(int32_t *number, struct names *names,
                              const struct reader *r, const char *name, emp_error *err)
{
    *number = emp_strmap_get(&names->map, name, strlen(name));
    if (*number >= 0) return EMP_OK;
    if (*names->count == names->most)
        return EMP_ERROR(EMP_EINVAL,
                         "%s has more than %d %s to draw; conditions choose some of them",
                         r->choice->path, names->most, names->what);
    char *copy = emp_arena_strndup(&r->grid->texts, name, strlen(name));
    if (copy == NULL) return EMP_ERROR(EMP_ENOMEM, "names of %s", names->what);
    *number = (*names->count)++;
    names->name[*number] = copy;
    return emp_strmap_set(&names->map, copy, strlen(copy), *number, err);
}

/* The fields of the columns as one name: "hdp paper", and behind labels "budget 16". Labels of rows
 * belong to their axis. */
static const char *join(char buffer[NAME_BYTES], const struct reader *r, int32_t record,
                        const struct columns *columns)
{
    emp_text text = {buffer, NAME_BYTES, 0};

    buffer[0] = '\0';
    for (int32_t i = 0; i < columns->count; i++) {
        const char *field = emp_csv_text(r->csv, record, columns->column[i]);
        if (field[0] == '\0') continue;
        if (text.used > 0) emp_text_add(&text, " ");
        if (columns == &r->series && columns->has_label[i])
            emp_text_add(&text, "%s ", columns->label[i]);
        emp_text_add(&text, "%s", field);
    }
    return buffer;
}

static bool is_wanted(const char *wanted, const char *field)
{
    const size_t length = strlen(field);

    for (;;) {
        const size_t here = strcspn(wanted, "|");
        if (here == length && memcmp(wanted, field, length) == 0) return true;
        if (wanted[here] == '\0') return false;
        wanted += here + 1;
    }
}

static bool counts(const struct reader *r, int32_t record)
{
    for (int32_t i = 0; i < r->choice->where_count; i++)
        if (!is_wanted(r->where[i].wanted,
                       emp_csv_text(r->csv, record, r->where[i].column)))
            return false;
    return true;
}

/* The row and the series of a record; series 0 where columns are series. */
static emp_status find_place(int32_t *row, int32_t *series, struct reader *r,
                             int32_t record, emp_error *err)
{
    char name[NAME_BYTES];

    *series = 0;
    EMP_CHECK(number_name(row, &r->row_names, r, join(name, r, record, &r->rows), err));
    if (r->series.count == 0) return EMP_OK;
    return number_name(series, &r->series_names, r, join(name, r, record, &r->series),
                       err);
}

/* ---- values ---- */

static emp_status read_value(double *value, const struct reader *r, int32_t record,
                             int32_t column, emp_error *err)
{
    const char *field = column >= 0 ? emp_csv_text(r->csv, record, column) : "";

    *value = field[0] == '\0' ? NAN : INFINITY;
    if (field[0] == '\0' || strcmp(field, "OOM") == 0 || strcmp(field, "inf") == 0)
        return EMP_OK;
    EMP_CHECK(emp_csv_real(value, r->csv, record, column, err));
    if (fabs(*value) <= EMP_PLOT_VALUE_MAX) return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT, "%s, row %d: %s is too large to be drawn",
                     r->choice->path, record + 1, field);
}

static emp_status read_cell(emp_plot_cell *cell, const struct reader *r, int32_t record,
                            int32_t k, emp_error *err)
{
    const int32_t low = k < r->low.count ? r->low.column[k] : -1,
                  high = k < r->high.count ? r->high.column[k] : -1;
    emp_plot_cell read;

    EMP_CHECK(read_value(&read.value, r, record, r->values.column[k], err));
    EMP_CHECK(read_value(&read.low, r, record, low, err));
    EMP_CHECK(read_value(&read.high, r, record, high, err));
    if (isnan(read.value)) return EMP_OK;
    if (!isnan(cell->value))
        return EMP_ERROR(EMP_EFORMAT,
                         "%s, row %d: there is a value of this row and series already; "
                         "conditions or more columns must tell them apart",
                         r->choice->path, record + 1);
    *cell = read;
    return EMP_OK;
}

static emp_status read_record(struct reader *r, int32_t record, emp_error *err)
{
    int32_t row, series;

    EMP_CHECK(find_place(&row, &series, r, record, err));
    for (int32_t k = 0; k < r->values.count; k++) {
        const bool     is_part = r->series.count > 0;
        emp_plot_cell *cell =
            emp_plot_at(r->grid, row, is_part ? series : k, is_part ? k : 0);
        EMP_CHECK(read_cell(cell, r, record, k, err));
    }
    return EMP_OK;
}

/* ---- the grid ---- */

static emp_status list_names(struct reader *r, emp_error *err)
{
    emp_plot_grid *g = r->grid;
    int32_t        row, series;

    g->rows_label = r->rows.label[0];
    g->values_label = r->values.label[0];
    for (int32_t record = 0; record < r->csv->row_count; record++)
        if (counts(r, record)) EMP_CHECK(find_place(&row, &series, r, record, err));
    if (g->row_count == 0)
        return EMP_ERROR(EMP_EINVAL, "%s has no record for which all conditions hold",
                         r->choice->path);
    g->part_count = r->series.count > 0 ? r->values.count : 1;
    for (int32_t k = 0; k < g->part_count; k++) g->part[k] = r->values.label[k];
    if (r->series.count > 0) return EMP_OK;
    g->series_count = r->values.count;
    for (int32_t k = 0; k < g->series_count; k++) g->series[k] = r->values.label[k];
    return EMP_OK;
}

static emp_status fill(struct reader *r, emp_error *err)
{
    emp_plot_grid *g = r->grid;
    const int32_t  cells = g->row_count * g->series_count * g->part_count;

    EMP_CHECK(EMP_ALLOC(g->cell, (size_t)cells));
    for (int32_t i = 0; i < cells; i++) g->cell[i] = (emp_plot_cell){NAN, NAN, NAN};
    for (int32_t record = 0; record < r->csv->row_count; record++)
        if (counts(r, record)) EMP_CHECK(read_record(r, record, err));
    return EMP_OK;
}

emp_status emp_plot_grid_create(emp_plot_grid *grid, const emp_csv *csv,
                                const emp_plot_choice *choice, emp_error *err)
{
    emp_status    st = EMP_OK;
    struct reader r = {.csv = csv, .choice = choice, .grid = grid};

    r.row_names = (struct names){.name = grid->row,
                                 .count = &grid->row_count,
                                 .most = EMP_PLOT_ROWS_MAX,
                                 .what = "rows"};
    r.series_names = (struct names){.name = grid->series,
                                    .count = &grid->series_count,
                                    .most = EMP_PLOT_SERIES_MAX,
                                    .what = "series"};
    EMP_TRY(read_choice(&r, err));
    EMP_TRY(list_names(&r, err));
    EMP_TRY(fill(&r, err));

cleanup:
    emp_strmap_clear(&r.row_names.map);
    emp_strmap_clear(&r.series_names.map);
    return st;
}

void emp_plot_grid_clear(emp_plot_grid *grid)
{
    emp_free(grid->cell);
    emp_arena_clear(&grid->texts);
    *grid = (emp_plot_grid){0};
}
