// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/validate/validation_file.h"

#include <stdio.h>

#include "base/mem.h"
#include "run/store/columns.h"

/* Column, and what it holds of device d of case c. */
#define INTEGERS(X)                                     \
    X(device, d)                                        \
    X(predicted_feasible, c->is_predicted_feasible)     \
    X(feasible, c->is_feasible)                         \
    X(shared, c->is_shared)                             \
    X(predicted_peak_bytes, c->predicted_peak_bytes[d]) \
    X(peak_bytes, c->peak_bytes[d])
#define NUMBERS(X)                              \
    X(predicted_s, c->predicted_s)              \
    X(measured_s, c->measured_s)                \
    X(low_s, c->low_s)                          \
    X(high_s, c->high_s)                        \
    X(predicted_busy_s, c->predicted_busy_s[d]) \
    X(busy_s, c->busy_s[d])

struct rows {
    int64_t  count;
    int64_t *workload;
    char (*placement)[EMP_COLUMN_TEXT_BYTES];
#define X(name, value) int64_t *name;
    INTEGERS(X)
#undef X
#define X(name, value) double *name;
    NUMBERS(X)
#undef X
};

static bool allocate(struct rows *r, size_t count)
{
    bool is_there = true;

    r->workload = EMP_NEW_ARRAY(int64_t, count);
    r->placement = emp_calloc(count, sizeof *r->placement);
    is_there = r->workload != NULL && r->placement != NULL;
#define X(name, value)                            \
    r->name = emp_calloc(count, sizeof *r->name); \
    is_there = is_there && r->name != NULL;
    INTEGERS(X)
    NUMBERS(X)
#undef X
    return is_there;
}

static void clear(struct rows *r)
{
    emp_free(r->workload);
    emp_free(r->placement);
#define X(name, value) emp_free(r->name);
    INTEGERS(X)
    NUMBERS(X)
#undef X
}

static void add_row(struct rows *r, int64_t workload, const emp_validation_case *c,
                    int32_t d)
{
    int64_t at = r->count++;

    r->workload[at] = workload;
    snprintf(r->placement[at], sizeof r->placement[at], "%.31s", c->name);
#define X(name, value) r->name[at] = value;
    INTEGERS(X)
    NUMBERS(X)
#undef X
}

static void add_text(emp_columns *table, const char *key, const char *value)
{
    emp_columns_text *text = &table->text[table->text_count++];

    snprintf(text->key, sizeof text->key, "%s", key);
    snprintf(text->value, sizeof text->value, "%s", value);
}

static void add_column(emp_columns *table, const char *name, emp_column_type type,
                       void *values)
{
    table->column[table->column_count++] = (emp_column){name, type, values};
}

static void list_columns(emp_columns *table, const struct rows *r)
{
    table->row_count = r->count;
    add_column(table, "workload", EMP_COLUMN_INT64, r->workload);
    add_column(table, "placement", EMP_COLUMN_TEXT, r->placement);
#define X(name, value) add_column(table, #name, EMP_COLUMN_INT64, r->name);
    INTEGERS(X)
#undef X
#define X(name, value) add_column(table, #name, EMP_COLUMN_DOUBLE, r->name);
    NUMBERS(X)
#undef X
}

static void list_texts(emp_columns *table, const emp_validation_part *parts,
                       int32_t part_count, const emp_validation_origin *origin)
{
    char key[EMP_RECORD_NAME_BYTES];

    add_text(table, "machine", origin->machine);
    add_text(table, "runtime", origin->runtime);
    add_text(table, "backend", origin->backend);
    add_text(table, "version", origin->version);
    add_text(table, "commit", origin->commit);
    for (int32_t i = 0; i < part_count; i++) {
        snprintf(key, sizeof key, "workload %d", i);
        add_text(table, key, parts[i].workload);
    }
}

emp_status emp_validation_save(const char *path, const emp_validation_part *parts,
                               int32_t part_count, const emp_validation_origin *origin,
                               emp_error *err)
{
    emp_status   st = EMP_OK;
    struct rows  rows = {0};
    emp_columns *table = NULL;
    size_t       count = 0;

    for (int32_t i = 0; i < part_count; i++)
        for (int32_t k = 0; k < parts[i].count; k++)
            count += (size_t)parts[i].cases[k].device_count;
    if (part_count > EMP_VALIDATION_PARTS || count == 0)
        EMP_FAIL(EMP_EINVAL,
                 "%s: %zu rows of %d workloads; a record has 1 row or more, of "
                 "at most %d",
                 path, count, part_count, EMP_VALIDATION_PARTS);
    table = EMP_NEW(emp_columns);
    if (table == NULL || !allocate(&rows, count))
        EMP_FAIL(EMP_ENOMEM, "record of %zu rows", count);
    for (int32_t i = 0; i < part_count; i++)
        for (int32_t k = 0; k < parts[i].count; k++)
            for (int32_t d = 0; d < parts[i].cases[k].device_count; d++)
                add_row(&rows, i, &parts[i].cases[k], d);
    list_texts(table, parts, part_count, origin);
    list_columns(table, &rows);
    EMP_TRY(emp_columns_save(path, table, err));

cleanup:
    clear(&rows);
    emp_free(table);
    return st;
}
