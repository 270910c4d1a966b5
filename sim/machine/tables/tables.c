// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/machine/tables/tables.h"

#include <string.h>

#include "base/collections.h"
#include "base/mem.h"

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

emp_status emp_phase_parse(emp_phase *phase, const char *name, emp_error *err)
{
    if (strcmp(name, "context") == 0)
        *phase = EMP_PHASE_CONTEXT;
    else if (strcmp(name, "decode") == 0)
        *phase = EMP_PHASE_DECODE;
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
        for (int32_t p = 0; p < EMP_PHASES; p++)
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
    emp_phase      phase = EMP_PHASE_CONTEXT;
    emp_collective op = EMP_COLLECTIVE_ALL_REDUCE;

    EMP_CHECK(emp_format_parse(&format, format_name, err));
    switch (kind) {
    case EMP_TABLE_ATTENTION:
        EMP_CHECK(emp_phase_parse(&phase, first, err));
        *grid = &t->attention[phase][format];
        return EMP_OK;
    case EMP_TABLE_COMM:
        EMP_CHECK(emp_collective_parse(&op, first, err));
        *grid = &t->collective[op][format];
        return EMP_OK;
    default: *grid = &t->gemm[format]; return EMP_OK;
    }
}

/* What is at hand while a file is read. */
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
    return EMP_ERROR(
        EMP_EINVAL,
        "\"%.40s\" is no number format; known: fp32, tf32, bf16, fp16, fp8, int8, fp4",
        name);
}
