// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/validate/validation_file.h"

#include "base/mem.h"
#include "run/store/checkpoint.h"

typedef char text_value[EMP_COLUMN_TEXT_BYTES];

enum range { VALUE, LOW, HIGH };

static bool is_real(const emp_sheet_column *c)
{
    return c->kind == EMP_SHEET_REAL || c->kind == EMP_SHEET_SECONDS ||
           c->kind == EMP_SHEET_SHARE || c->kind == EMP_SHEET_CHANGE;
}

static double real_of(const emp_value *v, enum range range)
{
    if (v->tag != EMP_VALUE_REAL) return NAN;
    if (range == VALUE) return v->real;
    if (!v->has_range) return NAN;
    return range == LOW ? v->low : v->high;
}

/* Line \a row of the column, which is of all sheets. */
static void put(emp_column *to, int64_t row, const emp_value *v, enum range range)
{
    if (to->type == EMP_COLUMN_DOUBLE)
        ((double *)to->values)[row] = real_of(v, range);
    else if (to->type == EMP_COLUMN_INT64)
        ((int64_t *)to->values)[row] = v->tag == EMP_VALUE_COUNT ? v->count : -1;
    else if (v->tag == EMP_VALUE_WORD)
        snprintf(((text_value *)to->values)[row], sizeof(text_value), "%.*s",
                 (int)sizeof(text_value) - 1, v->word);
}

static void add_column(emp_columns *table, emp_arrays *arrays, const char *name,
                       emp_column_type type)
{
    size_t size = type == EMP_COLUMN_TEXT ? sizeof(text_value) : sizeof(double);

    table->column[table->column_count++] =
        (emp_column){name, type, emp_arrays_add(arrays, (size_t)table->row_count, size)};
}

/* Column \a c of the sheets as one of the table, or as its ends. */
static void copy_column(emp_columns *table, emp_arrays *arrays, const emp_sheet *sheets,
                        int32_t c, enum range range)
{
    const emp_sheet_column *from = &sheets->column[c];
    const char *name[] = {[VALUE] = from->key, [LOW] = from->low, [HIGH] = from->high};
    emp_column_type type = is_real(from)                           ? EMP_COLUMN_DOUBLE
                           : c > 0 && from->kind == EMP_SHEET_WORD ? EMP_COLUMN_TEXT
                                                                   : EMP_COLUMN_INT64;
    int64_t         row = 0, number = 0;

    add_column(table, arrays, name[range], type);
    if (arrays->is_short) return;
    for (const emp_sheet *s = sheets; s != NULL; s = s->next, number++) {
        for (int32_t line = 0; line < s->line_count; line++) {
            emp_value is_first = emp_value_count(number);
            put(&table->column[table->column_count - 1], row++,
                c == 0 ? &is_first : emp_sheet_at(s, line, c), range);
        }
    }
}

static void add_text(emp_columns *table, const char *key, const char *value)
{
    emp_columns_text *text = &table->text[table->text_count++];

    snprintf(text->key, sizeof text->key, "%s", key);
    snprintf(text->value, sizeof text->value, "%s", value);
}

static void list_texts(emp_columns *table, const emp_sheet *sheets,
                       const emp_validation_origin *origin)
{
    char    key[EMP_RECORD_NAME_BYTES];
    int32_t number = 0;

    add_text(table, "machine", origin->machine);
    add_text(table, "runtime", origin->runtime);
    add_text(table, "backend", origin->backend);
    add_text(table, "version", sheets->version);
    add_text(table, "commit", sheets->commit);
    for (const emp_sheet *s = sheets; s != NULL; s = s->next) {
        snprintf(key, sizeof key, "%s %d", sheets->column[0].key, number++);
        add_text(table, key, s->title);
    }
}

emp_status emp_validation_save(const char *path, const emp_sheet *sheets,
                               const emp_validation_origin *origin, emp_error *err)
{
    emp_status   st = EMP_OK;
    emp_arrays   arrays = {0};
    int64_t      lines = 0;
    int32_t      count = 0;
    emp_columns *table = EMP_NEW(emp_columns);

    if (table == NULL) EMP_FAIL(EMP_ENOMEM, "a record");
    for (const emp_sheet *s = sheets; s != NULL; s = s->next, count++) {
        EMP_TRY(emp_sheet_check(s, err));
        lines += s->line_count;
    }
    if (count > EMP_VALIDATION_PARTS || lines == 0)
        EMP_FAIL(EMP_EINVAL,
                 "%s: %lld lines of %d workloads; a record has 1 line or more, of at "
                 "most %d",
                 path, (long long)lines, count, EMP_VALIDATION_PARTS);
    table->row_count = lines;
    list_texts(table, sheets, origin);
    for (int32_t c = 0; c < sheets->column_count; c++) {
        if (sheets->column[c].key == NULL || sheets->column[c].is_csv_only) continue;
        copy_column(table, &arrays, sheets, c, VALUE);
        if (sheets->column[c].low == NULL) continue;
        copy_column(table, &arrays, sheets, c, LOW);
        copy_column(table, &arrays, sheets, c, HIGH);
    }
    if (arrays.is_short) EMP_FAIL(EMP_ENOMEM, "record of %lld lines", (long long)lines);
    EMP_TRY(emp_columns_save(path, table, err));

cleanup:
    emp_arrays_clear(&arrays);
    emp_free(table);
    return st;
}
