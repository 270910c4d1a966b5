// SPDX-License-Identifier: GPL-3.0-or-later
/* For programs: CSV and JSON. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "run/sheet/sheet_internal.h"

static bool has_key(const emp_sheet *s, int32_t c)
{
    return s->column[c].key != NULL &&
           (!s->column[c].is_optional || emp_sheet_has_values(s, c));
}

/* ---- CSV ---- */

static void print_word(FILE *out, const char *word)
{
    if (strpbrk(word, ",\"\n#") == NULL) {
        fputs(word, out);
        return;
    }
    fputc('"', out);
    for (; *word != '\0'; word++) {
        if (*word == '"') fputc('"', out);
        fputc(*word, out);
    }
    fputc('"', out);
}

static const char *infinity_of(const emp_sheet_column *column)
{
    return column->infinite != NULL ? "inf" : "OOM";
}

static void print_real(FILE *out, const emp_sheet_column *column, double value)
{
    if (isinf(value))
        fputs(infinity_of(column), out);
    else if (!isnan(value))
        fprintf(out, "%.*g", column->precision > 0 ? column->precision : 6, value);
}

static void print_value(FILE *out, const emp_sheet_column *column, const emp_value *v)
{
    switch (v->tag) {
    case EMP_VALUE_NONE: break;
    case EMP_VALUE_WORD: print_word(out, v->word); break;
    case EMP_VALUE_COUNT:
        if (column->kind == EMP_SHEET_HASH)
            fprintf(out, "%016" PRIx64, (uint64_t)v->count);
        else
            fprintf(out, "%" PRId64, v->count);
        break;
    case EMP_VALUE_REAL: print_real(out, column, v->real); break;
    }
    if (column->low == NULL) return;
    fputc(',', out);
    if (v->has_range) print_real(out, column, v->low);
    fputc(',', out);
    if (v->has_range) print_real(out, column, v->high);
}

/* The columns are those of the first sheet, and all have its columns. */
static void print_lines(FILE *out, const emp_sheet *first, const emp_sheet *s)
{
    for (int32_t i = 0; i < s->line_count; i++) {
        for (int32_t c = 0; c < s->column_count; c++) {
            if (!has_key(first, c)) continue;
            print_value(out, &s->column[c], emp_sheet_at(s, i, c));
            fputc(',', out);
        }
        fprintf(out, "%s,%d\n", s->commit, s->is_dirty);
    }
}

void emp_sheet_print_csv(FILE *out, const emp_sheet *first)
{
    fprintf(out, "# made by: %s\n", first->command);
    for (int32_t c = 0; c < first->column_count; c++) {
        const emp_sheet_column *column = &first->column[c];
        if (!has_key(first, c)) continue;
        fprintf(out, "%s,", column->key);
        if (column->low != NULL) fprintf(out, "%s,%s,", column->low, column->high);
    }
    fputs("commit,dirty\n", out);
    for (const emp_sheet *s = first; s != NULL; s = s->next) print_lines(out, first, s);
}

/* ---- JSON ----
 * What is made here is NULL when memory is out. Texts are checked when they are written. */

/* True if the object has got the value, which it then owns; else nobody has it any more. */
static bool put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new_nocheck(object, key, value) == 0;
}

/* The object if all went well, else NULL. */
static json_t *whole(json_t *object, bool is_whole)
{
    if (is_whole) return object;
    json_decref(object);
    return NULL;
}

/* JSON has neither infinity nor NaN. */
static json_t *json_number(const emp_sheet_column *column, double value)
{
    return isnan(value)   ? json_null()
           : isinf(value) ? json_string(infinity_of(column))
                          : json_real(value);
}

static json_t *json_value(const emp_sheet_column *column, const emp_value *v)
{
    char hash[17];

    switch (v->tag) {
    case EMP_VALUE_NONE: break;
    case EMP_VALUE_WORD: return json_string_nocheck(v->word);
    case EMP_VALUE_COUNT:
        if (column->kind == EMP_SHEET_FLAG) return json_boolean(v->count != 0);
        if (column->kind != EMP_SHEET_HASH) return json_integer(v->count);
        snprintf(hash, sizeof hash, "%016" PRIx64, (uint64_t)v->count);
        return json_string(hash);
    case EMP_VALUE_REAL: return json_number(column, v->real);
    }
    return json_null();
}

typedef enum { OF_LINE, OF_ROW, OF_CELL } part;

static bool is_part(const emp_sheet_column *column, part wanted)
{
    bool is_of_row = column->place == EMP_SHEET_ROW || column->place == EMP_SHEET_END;

    return wanted == OF_LINE || (wanted == OF_ROW) == is_of_row;
}

static json_t *json_line(const emp_sheet *s, int32_t line, part wanted)
{
    json_t *object = json_object();
    bool    is_whole = object != NULL;

    for (int32_t c = 0; is_whole && c < s->column_count; c++) {
        const emp_sheet_column *column = &s->column[c];
        const emp_value        *v = emp_sheet_at(s, line, c);
        if (column->key == NULL || column->is_csv_only || !is_part(column, wanted))
            continue;
        if (column->is_optional && v->tag == EMP_VALUE_NONE) continue;
        is_whole = put(object, column->key, json_value(column, v));
        if (!is_whole || column->low == NULL) continue;
        is_whole =
            put(object, column->low, json_number(column, v->has_range ? v->low : NAN)) &&
            put(object, column->high, json_number(column, v->has_range ? v->high : NAN));
    }
    return whole(object, is_whole);
}

/* The lines of a row, as a list or by the names of their groups. */
static json_t *json_cells(const emp_sheet_grid *g, int32_t r)
{
    const emp_sheet *s = g->sheet;
    json_t          *cells = s->is_keyed ? json_object() : json_array();
    bool             is_whole = cells != NULL;

    for (int32_t i = 0; is_whole && i < g->group_count; i++) {
        int32_t line = g->line[r * g->group_count + i];
        if (line < 0) continue;
        json_t *cell = json_line(s, line, OF_CELL);
        is_whole = s->is_keyed ? put(cells, emp_sheet_at(s, line, g->across)->word, cell)
                               : json_array_append_new(cells, cell) == 0;
    }
    return whole(cells, is_whole);
}

/* A row: what all its lines have, and those. */
static json_t *json_row(const emp_sheet_grid *g, int32_t r)
{
    const emp_sheet *s = g->sheet;
    json_t          *row = json_line(s, g->first[r], OF_ROW), *cells = json_cells(g, r);
    int              failed = s->cells != NULL ? json_object_set(row, s->cells, cells)
                                               : json_object_update(row, cells);

    json_decref(cells);
    return whole(row, failed == 0);
}

json_t *emp_sheet_rows(const emp_sheet *s)
{
    emp_sheet_grid g;
    json_t        *rows = json_array();
    bool           is_whole = rows != NULL;

    if (s->failure != EMP_OK || emp_sheet_grid_create(&g, s, NULL) != EMP_OK)
        return whole(rows, false);
    for (int32_t r = 0; is_whole && r < g.row_count; r++)
        is_whole = json_array_append_new(rows, g.across < 0 ? json_line(s, r, OF_LINE)
                                                            : json_row(&g, r)) == 0;
    emp_sheet_grid_clear(&g);
    return whole(rows, is_whole);
}

static bool add_origin(json_t *object, const emp_sheet *s)
{
    return put(object, "command", json_string_nocheck(s->command)) &&
           put(object, "version", json_string(s->version)) &&
           put(object, "commit", json_string(s->commit)) &&
           put(object, "dirty", json_boolean(s->is_dirty));
}

/* What the sheet says beside its rows, and those. */
static json_t *json_sheet(const emp_sheet *s, bool is_alone)
{
    json_t *object = json_object();

    return whole(
        object,
        (s->title == NULL || put(object, "title", json_string_nocheck(s->title))) &&
            (s->facts == NULL || json_object_update(object, s->facts) == 0) &&
            (!is_alone || add_origin(object, s)) &&
            put(object, s->rows, emp_sheet_rows(s)));
}

/* What the first sheet says beside the list of all, and that. */
static json_t *json_list(const emp_sheet *first)
{
    json_t *root = json_object(), *list = json_array();
    bool    is_whole = list != NULL;

    for (const emp_sheet *s = first; is_whole && s != NULL; s = s->next)
        is_whole = json_array_append_new(list, json_sheet(s, false)) == 0;
    is_whole = is_whole &&
               (first->head == NULL || json_object_update(root, first->head) == 0) &&
               add_origin(root, first) && json_object_set(root, first->list, list) == 0;
    json_decref(list);
    return whole(root, is_whole);
}

emp_status emp_sheet_print_json(FILE *out, const emp_sheet *first, emp_error *err)
{
    bool    is_list = first->next != NULL || first->head != NULL;
    json_t *root = is_list ? json_list(first) : json_sheet(first, true);

    if (root == NULL) return EMP_ERROR(EMP_ENOMEM, "table as JSON");
    errno = 0;
    int  failed = json_dumpf(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    bool is_starved = errno == ENOMEM;
    json_decref(root);
    if (failed != 0 && is_starved) return EMP_ERROR(EMP_ENOMEM, "table as JSON");
    if (failed != 0 && !ferror(out)) /* of which emp_sheet_print() tells */
        return EMP_ERROR(EMP_EINVAL, "a text of the table is not valid UTF-8");
    fputc('\n', out);
    return EMP_OK;
}
