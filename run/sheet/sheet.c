// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdarg.h>
#include <string.h>

#include "base/mem.h"
#include "run/sheet/manifest.h"
#include "run/sheet/sheet_internal.h"

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
    char text[2048];

    vsnprintf(text, sizeof text, format, args);
    return keep(s, text);
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

static void set_object(emp_sheet *s, json_t **field, json_t *object)
{
    if (object == NULL) s->failure = EMP_ENOMEM;
    json_decref(*field);
    *field = object;
}

void emp_sheet_set_facts(emp_sheet *s, json_t *facts) { set_object(s, &s->facts, facts); }

void emp_sheet_set_head(emp_sheet *s, json_t *head) { set_object(s, &s->head, head); }

emp_status emp_sheet_check(const emp_sheet *s, emp_error *err)
{
    if (s->failure == EMP_OK) return EMP_OK;
    return EMP_ERROR(s->failure, s->failure == EMP_ENOMEM
                                     ? "table"
                                     : "a table has other values than columns, or more "
                                       "columns than there is room for");
}

/* ---- rows and groups ---- */

static bool is_same(const emp_value *a, const emp_value *b)
{
    if (a->tag != b->tag) return false;
    if (a->tag == EMP_VALUE_WORD) return strcmp(a->word, b->word) == 0;
    return a->count == b->count && !(a->real < b->real) && !(a->real > b->real);
}

/* True if both lines agree in the columns of that place. */
static bool agree(const emp_sheet *s, int32_t a, int32_t b, emp_sheet_place place)
{
    for (int32_t c = 0; c < s->column_count; c++) {
        if (s->column[c].place == place &&
            !is_same(emp_sheet_at(s, a, c), emp_sheet_at(s, b, c)))
            return false;
    }
    return true;
}

/* The number of the row or group of a line, which may begin one. */
static int32_t find(const emp_sheet *s, int32_t *first, int32_t *count, int32_t line,
                    emp_sheet_place place)
{
    for (int32_t i = 0; i < *count; i++)
        if (agree(s, first[i], line, place)) return i;
    first[*count] = line;
    return (*count)++;
}

emp_status emp_sheet_grid_create(emp_sheet_grid *g, const emp_sheet *s, emp_error *err)
{
    size_t lines = (size_t)s->line_count + 1;

    *g = (emp_sheet_grid){.sheet = s, .across = -1};
    for (int32_t c = 0; c < s->column_count; c++)
        if (s->column[c].place == EMP_SHEET_ACROSS) g->across = c;
    EMP_CHECK(EMP_ALLOC(g->first, 2 * lines));
    g->group = g->first + lines;
    bool is_spread = g->across >= 0;
    for (int32_t i = 0; i < s->line_count; i++) {
        if (is_spread) {
            find(s, g->first, &g->row_count, i, EMP_SHEET_ROW);
            find(s, g->group, &g->group_count, i, EMP_SHEET_ACROSS);
        } else
            g->first[g->row_count++] = i;
    }
    if (!is_spread) g->group_count = 1;
    size_t cells = (size_t)g->row_count * (size_t)g->group_count;
    g->line = EMP_NEW_ARRAY(int32_t, cells + 1);
    if (g->line == NULL) {
        emp_sheet_grid_clear(g);
        return EMP_ERROR(EMP_ENOMEM, "table of %zu cells", cells);
    }
    for (size_t i = 0; i < cells; i++) g->line[i] = -1;
    for (int32_t i = 0; i < s->line_count; i++) {
        int32_t row = is_spread ? find(s, g->first, &g->row_count, i, EMP_SHEET_ROW) : i;
        int32_t group =
            is_spread ? find(s, g->group, &g->group_count, i, EMP_SHEET_ACROSS) : 0;
        g->line[row * g->group_count + group] = i;
    }
    return EMP_OK;
}

void emp_sheet_grid_clear(emp_sheet_grid *g)
{
    emp_free(g->first);
    emp_free(g->line);
}

bool emp_sheet_has_values(const emp_sheet *s, int32_t column)
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
