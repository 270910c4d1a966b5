// SPDX-License-Identifier: GPL-3.0-or-later
#include "run/sheet/sheet.h"

#include <build_info.h>
#include <errno.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "run/sheet/sheet_internal.h"

static void       emp_sheet_print_csv(FILE *out, const emp_sheet *first);
static emp_status emp_sheet_print_json(FILE *out, const emp_sheet *first, emp_error *err);

/* ---- building ---- */

void emp_sheet_init(emp_sheet *s, const emp_sheet_column *columns, size_t count)
{
    emp_manifest manifest = emp_manifest_get();

    *s = (emp_sheet){.command = manifest.command,
                     .version = manifest.version,
                     .commit = manifest.commit,
                     .is_dirty = manifest.is_dirty,
                     .infinite = "OOM",
                     .best_line = -1,
                     .rows = "rows",
                     .cells = "cells",
                     .list = "tables"};
    if (count > EMP_SHEET_COLUMNS)
        s->failure = EMP_EINVAL;
    else {
        s->column_count = (int32_t)count;
        memcpy(s->column, columns, count * sizeof *columns);
    }
}

void emp_sheet_clear(emp_sheet *s)
{
    emp_free(s->value);
    emp_free(s->note);
    emp_arena_clear(&s->texts);
    json_decref(s->facts);
    json_decref(s->head);
    *s = (emp_sheet){0};
}

static const char *keep(emp_sheet *s, const char *text)
{
    if (text == NULL) return NULL;
    const char *copy = emp_arena_strndup(&s->texts, text, strlen(text));
    if (copy == NULL) s->failure = EMP_ENOMEM;
    return copy;
}

void emp_sheet_add_column(emp_sheet *s, emp_sheet_column column)
{
    if (s->column_count == EMP_SHEET_COLUMNS || s->line_count > 0) {
        s->failure = EMP_EINVAL;
        return;
    }
    column.key = keep(s, column.key);
    column.title = keep(s, column.title);
    s->column[s->column_count++] = column;
}

/* Room for one more item. */
static bool grow(emp_sheet *s, void **items, int32_t count, int32_t *room, size_t size)
{
    if (count < *room) return true;
    int32_t more = *room == 0 ? 16 : 2 * *room;
    void   *grown = emp_realloc(*items, (size_t)more, size);
    if (grown == NULL) {
        s->failure = EMP_ENOMEM;
        return false;
    }
    *items = grown;
    *room = more;
    return true;
}

void emp_sheet_add(emp_sheet *s, const emp_value *values, size_t count)
{
    void *lines = s->value;

    if (count != (size_t)s->column_count) s->failure = EMP_EINVAL;
    if (s->failure == EMP_EINVAL ||
        !grow(s, &lines, s->line_count, &s->line_room, count * sizeof *values))
        return;
    s->value = lines;
    emp_value *line = &s->value[(size_t)s->line_count++ * count];
    for (size_t c = 0; c < count; c++) {
        line[c] = values[c];
        if (values[c].tag != EMP_VALUE_WORD) continue;
        line[c].word = keep(s, values[c].word);
        if (line[c].word == NULL) line[c] = EMP_NONE;
    }
}

EMP_PRINTF_LIKE(2, 0)
static const char *format_text(emp_sheet *s, const char *format, va_list args)
{
    va_list again;

    va_copy(again, args);
    const int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = EMP_NEW_ARRAY(char, (size_t)length + 1);
    if (text == NULL) {
        s->failure = EMP_ENOMEM;
        return NULL;
    }
    vsnprintf(text, (size_t)length + 1, format, args);
    const char *kept = keep(s, text);
    emp_free(text);
    return kept;
}

void emp_sheet_set_title(emp_sheet *s, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    s->title = format_text(s, format, args);
    va_end(args);
}

void emp_sheet_note(emp_sheet *s, const char *format, ...)
{
    va_list args;
    void   *notes = s->note;

    va_start(args, format);
    const char *text = format_text(s, format, args);
    va_end(args);
    if (text == NULL || !grow(s, &notes, s->note_count, &s->note_room, sizeof *s->note))
        return;
    s->note = notes;
    s->note[s->note_count++] = text;
}

static bool is_partial(const emp_sheet *s) { return s->runs_made < s->runs_planned; }

#define PARTIAL "%d of %d run%s %s made"
#define PARTIAL_VALUES(s)                                                   \
    (s)->runs_made, (s)->runs_planned, emp_units_plural((s)->runs_planned), \
        (s)->runs_made == 1 ? "was" : "were"

void emp_sheet_set_runs(emp_sheet *s, int32_t made, int32_t planned)
{
    s->runs_made = made;
    s->runs_planned = planned;
    if (is_partial(s)) emp_sheet_note(s, "Partial: " PARTIAL ".", PARTIAL_VALUES(s));
}

static void set_object(emp_sheet *s, json_t **field, json_t *object)
{
    if (object == NULL) s->failure = EMP_ENOMEM;
    json_decref(*field);
    *field = object;
}

void emp_sheet_set_facts(emp_sheet *s, json_t *facts) { set_object(s, &s->facts, facts); }

void emp_sheet_set_head(emp_sheet *s, json_t *head) { set_object(s, &s->head, head); }

/* ---- rows and groups ---- */

/* True if a line of the sheet or of those after it has a value. */
static bool emp_sheet_has_values(const emp_sheet *s, int32_t column)
{
    for (; s != NULL; s = s->next) {
        for (int32_t i = 0; i < s->line_count; i++)
            if (emp_sheet_at(s, i, column)->tag != EMP_VALUE_NONE) return true;
    }
    return false;
}

/* ---- printing ---- */

emp_status emp_sheet_format_parse(emp_sheet_format *format, const char *name,
                                  emp_error *err)
{
    static const char *const names[] = {"text", "md", "csv", "json"};

    for (int i = 0; i < 4; i++) {
        if (strcmp(names[i], name) != 0) continue;
        *format = (emp_sheet_format)i;
        return EMP_OK;
    }
    return EMP_ERROR(EMP_EINVAL,
                     "there is no format \"%s\"; there are text, md, csv, json", name);
}

emp_status emp_sheet_print(FILE *out, const emp_sheet *sheet, emp_sheet_format format,
                           emp_error *err)
{
    emp_status st = EMP_OK;

    for (const emp_sheet *s = sheet; s != NULL; s = s->next)
        EMP_CHECK(emp_sheet_check(s, err));
    if (format == EMP_SHEET_CSV)
        emp_sheet_print_csv(out, sheet);
    else if (format == EMP_SHEET_JSON)
        st = emp_sheet_print_json(out, sheet, err);
    else
        for (const emp_sheet *s = sheet; s != NULL && st == EMP_OK; s = s->next)
            st = format == EMP_SHEET_MD ? emp_sheet_print_md(out, s, err)
                                        : emp_sheet_print_text(out, s, err);
    if (st == EMP_OK && ferror(out)) st = EMP_ERROR(EMP_EIO, "cannot write the table");
    return st;
}

static char command[1024];

emp_manifest emp_manifest_get(void)
{
    return (emp_manifest){EMP_BUILD_VERSION, EMP_BUILD_COMMIT, EMP_BUILD_IS_DIRTY,
                          EMP_BUILD_CODE, command};
}

void emp_manifest_set_command(int argc, char **argv)
{
    emp_text text = {command, sizeof command, 0};

    emp_text_add(&text, "emplace");
    for (int i = 1; i < argc; i++) {
        emp_text_add(&text, " ");
        emp_text_add_word(&text, argv[i]);
    }
    for (char *at = command; (at = strchr(at, '\n')) != NULL;) *at = ' ';
}

/* For programs: CSV and JSON. */
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

/* The columns are the first sheet's, and all have its columns. */
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

static void emp_sheet_print_csv(FILE *out, const emp_sheet *first)
{
    fprintf(out, "# made by: %s\n", first->command);
    if (is_partial(first))
        fprintf(out, "# partial: " PARTIAL "\n", PARTIAL_VALUES(first));
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
 * What is made here is NULL when out of memory. Texts are checked when they are written. */

/* True if the object has got the value, which it then owns; else it is released. */
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
           put(object, "dirty", json_boolean(s->is_dirty)) &&
           (!is_partial(s) || put(object, "partial",
                                  json_pack("{s:i, s:i}", "runs_made", s->runs_made,
                                            "runs_planned", s->runs_planned)));
}

/* The sheet's facts beside its rows, and the rows. */
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

/* The first sheet's facts beside the list of all, and the list. */
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

static emp_status emp_sheet_print_json(FILE *out, const emp_sheet *first, emp_error *err)
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

/* ---- summaries of few numbers ---- */

emp_summary emp_summary_of(double *values, size_t count)
{
    if (count == 0) return (emp_summary){NAN, NAN, NAN};
    gsl_sort(values, 1, count);
    return (emp_summary){gsl_stats_median_from_sorted_data(values, 1, count), values[0],
                         values[count - 1]};
}

emp_quartiles emp_quartiles_of(double *values, size_t count)
{
    if (count == 0) return (emp_quartiles){NAN, NAN, NAN, 0};
    gsl_sort(values, 1, count);
    return (emp_quartiles){gsl_stats_median_from_sorted_data(values, 1, count),
                           gsl_stats_quantile_from_sorted_data(values, 1, count, 0.25),
                           gsl_stats_quantile_from_sorted_data(values, 1, count, 0.75),
                           count};
}
