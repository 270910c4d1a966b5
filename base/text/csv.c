// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/text/csv.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/collections.h"
#include "base/io/input.h"
#include "base/mem.h"
#include "base/text/file.h"
#include "base/text/units.h"

enum { FIRST_ROOM = 256, HEX = 16, DECIMAL = 10 };

/* Where the reader is. Fields are moved to the front of the text, as they never grow. */
struct reader {
    emp_csv *csv;
    char    *at, *end, *to;
    size_t   cells, room;
    int32_t  line;
    char     separator;
};

static emp_status add_cell(struct reader *r, emp_error *err)
{
    if (r->cells == r->room) {
        size_t  room = r->room > 0 ? 2 * r->room : FIRST_ROOM;
        size_t *more = emp_realloc(r->csv->cell, room, sizeof *more);
        if (more == NULL) return EMP_ERROR(EMP_ENOMEM, "%zu fields of a table", room);
        r->csv->cell = more;
        r->room = room;
    }
    r->csv->cell[r->cells++] = (size_t)(r->to - r->csv->text);
    return EMP_OK;
}

static bool ends_field(const struct reader *r)
{
    return r->at == r->end || *r->at == r->separator || *r->at == '\n' ||
           (*r->at == '\r' && r->at + 1 < r->end && r->at[1] == '\n');
}

static emp_status read_quoted(struct reader *r, emp_error *err)
{
    for (r->at++; r->at < r->end; *r->to++ = *r->at++) {
        if (*r->at == '\n')
            break; /* no field has lines: a quote is missing, and the line says where */
        if (*r->at != '"') continue;
        if (r->at + 1 == r->end || r->at[1] != '"') {
            r->at++;
            if (ends_field(r)) return EMP_OK;
            break;
        }
        r->at++;
    }
    return EMP_ERROR(EMP_EFORMAT, "%s:%d: a quote that does not end its field",
                     r->csv->path, r->line);
}

/* One field, and what parts it from the next. \a is_last: it ends its record. */
static emp_status read_field(struct reader *r, bool *is_last, emp_error *err)
{
    EMP_CHECK(add_cell(r, err));
    if (r->at < r->end && *r->at == '"')
        EMP_CHECK(read_quoted(r, err));
    else
        while (!ends_field(r)) *r->to++ = *r->at++;
    *is_last = r->at == r->end || *r->at != r->separator;
    if (r->at < r->end && *r->at == '\r') r->at++;
    if (r->at < r->end) r->at++;
    *r->to++ = '\0'; /* no later than what parted the fields */
    return EMP_OK;
}

/* The separator of the current record, which is the first. */
static char separator_of(const struct reader *r)
{
    size_t length = strcspn(r->at, "\n");

    return memchr(r->at, '\t', length) != NULL ? '\t' : ',';
}

/* Columns without a name are not distinguished, because they are never asked for. */
static emp_status check_names(const emp_csv *csv, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_strmap column_of = {0};

    for (int32_t c = 0; c < csv->column_count; c++) {
        const char  *name = csv->text + csv->cell[c];
        const size_t length = strlen(name);
        if (length == 0) continue;
        if (emp_strmap_get(&column_of, name, length) >= 0)
            EMP_FAIL(EMP_EFORMAT, "%s has the column %.40s twice", csv->path, name);
        EMP_TRY(emp_strmap_set(&column_of, name, length, c, err));
    }

cleanup:
    emp_strmap_clear(&column_of);
    return st;
}

static emp_status read_record(struct reader *r, emp_error *err)
{
    emp_csv *csv = r->csv;
    size_t   first = r->cells;
    bool     is_last = false;

    if (first == 0) r->separator = separator_of(r);
    while (!is_last) EMP_CHECK(read_field(r, &is_last, err));
    size_t count = r->cells - first;
    if (first == 0) {
        csv->column_count = (int32_t)count;
        return check_names(csv, err);
    }
    if (count != (size_t)csv->column_count)
        return EMP_ERROR(EMP_EFORMAT, "%s:%d: %zu fields; the first line has %d",
                         csv->path, r->line, count, csv->column_count);
    csv->row_count++;
    return EMP_OK;
}

static void skip_line(struct reader *r)
{
    while (r->at < r->end && *r->at != '\n') r->at++;
    if (r->at < r->end) r->at++;
}

/* Spreadsheets begin a file in UTF-8 with its byte order mark. */
static void skip_mark(struct reader *r)
{
    static const char mark[] = "\xef\xbb\xbf";

    if (r->end - r->at >= 3 && memcmp(r->at, mark, 3) == 0) r->at += 3;
}

static emp_status read_all(struct reader *r, emp_error *err)
{
    skip_mark(r);
    for (r->line = 1; r->at < r->end; r->line++) {
        if (*r->at == '#' || *r->at == '\n' || *r->at == '\r')
            skip_line(r);
        else
            EMP_CHECK(read_record(r, err));
    }
    if (r->csv->column_count == 0)
        return EMP_ERROR(EMP_EFORMAT, "%s: no table: there is no line that names columns",
                         r->csv->path);
    return EMP_OK;
}

/* Takes over the text, which has room for one byte more than \a size. */
static emp_status take(emp_csv *csv, char *text, size_t size, const char *path,
                       emp_error *err)
{
    *csv = (emp_csv){.text = text};
    snprintf(csv->path, sizeof csv->path, "%s", path);
    if (memchr(text, '\0', size) != NULL)
        return EMP_ERROR(EMP_EFORMAT, "%s: bytes of value 0, which no CSV file has",
                         path);
    struct reader r = {.csv = csv, .at = text, .end = text + size, .to = text};
    return read_all(&r, err);
}

emp_status emp_csv_parse(emp_csv *csv, const char *bytes, size_t size, const char *path,
                         emp_error *err)
{
    char *text = NULL;

    EMP_CHECK(EMP_ALLOC(text, size + 1));
    memcpy(text, bytes, size); /* a zero stays behind it */
    return take(csv, text, size, path, err);
}

emp_status emp_csv_load(emp_csv *csv, const char *path, emp_error *err)
{
    char  *text = NULL;
    size_t size;

    EMP_CHECK(emp_whole_file_load(&text, &size, path, EMP_CSV_BYTES_MAX, err));
    emp_input_keep(path);
    return take(csv, text, size, path, err);
}

emp_status emp_csv_read(emp_csv *csv, FILE *file, const char *path, emp_error *err)
{
    char  *text = NULL;
    size_t size;

    EMP_CHECK(emp_whole_file_read(&text, &size, file, path, EMP_CSV_BYTES_MAX, err));
    return take(csv, text, size, path, err);
}

void emp_csv_clear(emp_csv *csv)
{
    emp_free(csv->text);
    emp_free(csv->cell);
    *csv = (emp_csv){0};
}

static const char *field(const emp_csv *csv, int32_t record, int32_t column)
{
    return csv->text +
           csv->cell[(size_t)record * (size_t)csv->column_count + (size_t)column];
}

emp_status emp_csv_find(int32_t *column, const emp_csv *csv, const char *name,
                        emp_error *err)
{
    for (*column = 0; *column < csv->column_count; ++*column)
        if (strcmp(field(csv, 0, *column), name) == 0) return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT, "%s has no column %s", csv->path, name);
}

emp_status emp_csv_find_all(int32_t *columns, const emp_csv *csv,
                            const char *const *names, int32_t count, emp_error *err)
{
    for (int32_t i = 0; i < count; i++)
        EMP_CHECK(emp_csv_find(&columns[i], csv, names[i], err));
    return EMP_OK;
}

const char *emp_csv_text(const emp_csv *csv, int32_t row, int32_t column)
{
    return field(csv, row + 1, column);
}

static emp_status refuse(const emp_csv *csv, int32_t row, int32_t column,
                         const char *what, emp_error *err)
{
    return EMP_ERROR(EMP_EFORMAT, "%s, row %d: %s is \"%.40s\", not %s", csv->path,
                     row + 1, field(csv, 0, column), emp_csv_text(csv, row, column),
                     what);
}

emp_status emp_csv_real(double *value, const emp_csv *csv, int32_t row, int32_t column,
                        emp_error *err)
{
    const char *text = emp_csv_text(csv, row, column);
    char       *end;

    *value = emp_number_parse(text, &end);
    if (end == text || *end != '\0' || !isfinite(*value))
        return refuse(csv, row, column, "a number", err);
    if (strpbrk(text, "xX") != NULL)
        return refuse(csv, row, column, "a decimal number", err);
    return EMP_OK;
}

emp_status emp_csv_count(int64_t *value, const emp_csv *csv, int32_t row, int32_t column,
                         emp_error *err)
{
    const char *text = emp_csv_text(csv, row, column);
    char       *end;

    errno = 0;
    *value = strtoll(text, &end, DECIMAL);
    if (end == text || *end != '\0' || errno != 0)
        return refuse(csv, row, column, "a whole number", err);
    return EMP_OK;
}

emp_status emp_csv_hash(uint64_t *value, const emp_csv *csv, int32_t row, int32_t column,
                        emp_error *err)
{
    const char *text = emp_csv_text(csv, row, column);

    if (strlen(text) != HEX || strspn(text, "0123456789abcdef") != HEX)
        return refuse(csv, row, column, "16 hexadecimal digits", err);
    *value = strtoull(text, NULL, HEX);
    return EMP_OK;
}
