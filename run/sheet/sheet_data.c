// SPDX-License-Identifier: GPL-3.0-or-later
/* For programs: CSV and JSON. */
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

static void print_real(FILE *out, double value, int precision)
{
    if (isinf(value))
        fputs("OOM", out);
    else if (!isnan(value))
        fprintf(out, "%.*g", precision > 0 ? precision : 6, value);
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
    case EMP_VALUE_REAL: print_real(out, v->real, column->precision); break;
    }
    if (column->low == NULL) return;
    fputc(',', out);
    if (v->has_range) print_real(out, v->low, column->precision);
    fputc(',', out);
    if (v->has_range) print_real(out, v->high, column->precision);
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

/* ---- JSON ---- */

/* JSON has neither infinity nor NaN. */
static json_t *json_number(double value)
{
    return isnan(value)   ? json_null()
           : isinf(value) ? json_string("OOM")
                          : json_real(value);
}

static json_t *json_value(const emp_sheet_column *column, const emp_value *v)
{
    char hash[17];

    switch (v->tag) {
    case EMP_VALUE_NONE: break;
    case EMP_VALUE_WORD: return json_string(v->word);
    case EMP_VALUE_COUNT:
        if (column->kind == EMP_SHEET_FLAG) return json_boolean(v->count != 0);
        if (column->kind != EMP_SHEET_HASH) return json_integer(v->count);
        snprintf(hash, sizeof hash, "%016" PRIx64, (uint64_t)v->count);
        return json_string(hash);
    case EMP_VALUE_REAL: return json_number(v->real);
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

    for (int32_t c = 0; c < s->column_count; c++) {
        const emp_sheet_column *column = &s->column[c];
        const emp_value        *v = emp_sheet_at(s, line, c);
        if (column->key == NULL || !is_part(column, wanted)) continue;
        if (column->is_optional && v->tag == EMP_VALUE_NONE) continue;
        json_object_set_new(object, column->key, json_value(column, v));
        if (column->low == NULL) continue;
        json_object_set_new(object, column->low,
                            json_number(v->has_range ? v->low : NAN));
        json_object_set_new(object, column->high,
                            json_number(v->has_range ? v->high : NAN));
    }
    return object;
}

/* A row: what all its lines have, and those. */
static json_t *json_row(const emp_sheet_grid *g, int32_t r)
{
    const emp_sheet *s = g->sheet;
    json_t          *row = json_line(s, g->first[r], OF_ROW);
    json_t          *cells = s->is_keyed ? json_object() : json_array();

    for (int32_t i = 0; i < g->group_count; i++) {
        int32_t line = g->line[r * g->group_count + i];
        if (line < 0) continue;
        json_t *cell = json_line(s, line, OF_CELL);
        if (s->is_keyed)
            json_object_set_new(cells, emp_sheet_at(s, line, g->across)->word, cell);
        else
            json_array_append_new(cells, cell);
    }
    if (s->cells != NULL)
        json_object_set(row, s->cells, cells);
    else
        json_object_update(row, cells);
    json_decref(cells);
    return row;
}

json_t *emp_sheet_rows(const emp_sheet *s)
{
    emp_sheet_grid g;
    json_t        *rows = json_array();

    if (s->is_short || emp_sheet_grid_create(&g, s, NULL) != EMP_OK) {
        json_decref(rows);
        return NULL;
    }
    for (int32_t r = 0; r < g.row_count; r++)
        json_array_append_new(rows,
                              g.across < 0 ? json_line(s, r, OF_LINE) : json_row(&g, r));
    emp_sheet_grid_clear(&g);
    return rows;
}

static void add_origin(json_t *object, const emp_sheet *s)
{
    json_object_set_new(object, "command", json_string(s->command));
    json_object_set_new(object, "version", json_string(s->version));
    json_object_set_new(object, "commit", json_string(s->commit));
    json_object_set_new(object, "dirty", json_boolean(s->is_dirty));
}

/* What the sheet says beside its rows, and those. */
static json_t *json_sheet(const emp_sheet *s, bool is_alone)
{
    json_t *object = json_object();

    if (s->title != NULL) json_object_set_new(object, "title", json_string(s->title));
    if (s->facts != NULL) json_object_update(object, s->facts);
    if (is_alone) add_origin(object, s);
    if (json_object_set_new(object, s->rows, emp_sheet_rows(s)) == 0) return object;
    json_decref(object);
    return NULL;
}

emp_status emp_sheet_print_json(FILE *out, const emp_sheet *first, emp_error *err)
{
    emp_status st = EMP_OK;
    bool       is_list = first->next != NULL || first->head != NULL;
    json_t    *root = is_list ? json_object() : json_sheet(first, true);
    json_t    *list = json_array();

    for (const emp_sheet *s = first; is_list && s != NULL; s = s->next) {
        if (json_array_append_new(list, json_sheet(s, false)) != 0)
            EMP_FAIL(EMP_ENOMEM, "table as JSON");
    }
    if (is_list) {
        if (first->head != NULL) json_object_update(root, first->head);
        add_origin(root, first);
        json_object_set(root, first->list, list);
    }
    if (root == NULL ||
        json_dumpf(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) != 0)
        EMP_FAIL(EMP_ENOMEM, "table as JSON");
    fputc('\n', out);

cleanup:
    json_decref(root);
    json_decref(list);
    return st;
}
