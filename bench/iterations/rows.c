// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/iterations/rows.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { COUNT_MAX = 1 << 20 };

typedef struct {
    const emp_csv *csv;
    int32_t        row;
} reader;

/* ---- fields ---- */

static emp_status refuse(const reader *r, const char *column, const char *want,
                         emp_error *err)
{
    int32_t     c = -1;
    const char *text = "";

    if (emp_csv_find(&c, r->csv, column, NULL) == EMP_OK)
        text = emp_csv_text(r->csv, r->row, c);
    return EMP_ERROR(EMP_EFORMAT, "%s, row %d: %s is \"%.80s\", want %s", r->csv->path,
                     r->row + 1, column, text, want);
}

static emp_status read_count(int32_t *value, const reader *r, const char *column,
                             int32_t most, emp_error *err)
{
    int32_t c;
    int64_t count;
    char    want[64];

    EMP_CHECK(emp_csv_find(&c, r->csv, column, err));
    EMP_CHECK(emp_csv_count(&count, r->csv, r->row, c, err));
    snprintf(want, sizeof want, "1 to %d", most);
    if (count < 1 || count > most) return refuse(r, column, want, err);
    *value = (int32_t)count;
    return EMP_OK;
}

static emp_status read_seconds(double *value, const reader *r, const char *column,
                               double unit, emp_error *err)
{
    int32_t c;

    EMP_CHECK(emp_csv_find(&c, r->csv, column, err));
    EMP_CHECK(emp_csv_real(value, r->csv, r->row, c, err));
    *value *= unit;
    return *value > 0.0 ? EMP_OK : refuse(r, column, "a time above 0", err);
}

/* NaN where the table says nothing. */
static const double OPTIONAL_MAX = 1e15;

static emp_status read_optional(double *value, const reader *r, const char *column,
                                emp_error *err)
{
    int32_t c;

    *value = NAN;
    if (emp_csv_find(&c, r->csv, column, NULL) != EMP_OK ||
        emp_csv_text(r->csv, r->row, c)[0] == '\0')
        return EMP_OK;
    EMP_CHECK(emp_csv_real(value, r->csv, r->row, c, err));
    if (*value > 0.0 && *value <= OPTIONAL_MAX) return EMP_OK;
    return refuse(r, column, "a number above 0 and at most 1e15", err);
}

static emp_status read_text(const char **text, const reader *r, const char *column,
                            emp_error *err)
{
    int32_t c;

    EMP_CHECK(emp_csv_find(&c, r->csv, column, err));
    *text = emp_csv_text(r->csv, r->row, c);
    return EMP_OK;
}

/* ---- placements ---- */

/* "7,9,9,9" */
static emp_status read_layers(emp_iteration *it, const reader *r, emp_error *err)
{
    const char *at;

    EMP_CHECK(read_text(&at, r, "layers_per_stage", err));
    for (int32_t s = 0; s < it->stages; s++) {
        char *end;
        long  layers = isdigit((unsigned char)*at) ? strtol(at, &end, 10) : 0;
        bool  is_last = s + 1 == it->stages;
        if (layers < 1 || layers > COUNT_MAX || *end != (is_last ? '\0' : ','))
            return refuse(r, "layers_per_stage", "the layers of each stage, as in 12,14",
                          err);
        it->layers_of_stage[s] = (int32_t)layers;
        at = end + 1;
    }
    return EMP_OK;
}

/* "RTX-3090*8" up to \a length. */
static bool read_group(emp_tensor_group *g, const char *text, size_t length)
{
    const char *star = memchr(text, '*', length);
    char       *end;

    if (star == NULL || star == text || (size_t)(star - text) >= sizeof g->gpu ||
        !isdigit((unsigned char)star[1]))
        return false;
    memcpy(g->gpu, text, (size_t)(star - text));
    g->gpu[star - text] = '\0';
    long count = strtol(star + 1, &end, 10);
    if (end != text + length || count < 1 || count > COUNT_MAX) return false;
    g->count = (int32_t)count;
    return true;
}

static bool read_groups(emp_iteration *it, const char *at)
{
    int32_t groups = it->stages * it->replicas;

    if (strncmp(at, "all ", 4) == 0) {
        if (!read_group(&it->group[0], at + 4, strlen(at + 4))) return false;
        for (int32_t i = 1; i < groups; i++) it->group[i] = it->group[0];
        return true;
    }
    for (int32_t i = 0; i < groups; i++) {
        size_t length = strcspn(at, ";+");
        bool   ends_stage = (i + 1) % it->replicas == 0, is_last = i + 1 == groups;
        char   end = is_last ? '\0' : ends_stage ? ';' : '+';
        if (at[length] != end || !read_group(&it->group[i], at, length)) return false;
        at += length + 1;
    }
    return true;
}

static emp_status read_placement(emp_iteration *it, const reader *r, emp_error *err)
{
    const char *devices;

    EMP_CHECK(read_layers(it, r, err));
    EMP_CHECK(read_text(&devices, r, "devices", err));
    EMP_CHECK(EMP_ALLOC(it->group, (size_t)it->stages * (size_t)it->replicas));
    if (read_groups(it, devices)) return EMP_OK;
    return refuse(r, "devices",
                  "GPU*COUNT for each stage and replica, as in A*2+B*2;A*2+B*2, or all "
                  "A*4",
                  err);
}

/* ---- rows ---- */

static emp_status read_measured_layers(emp_iteration *it, const reader *r, emp_error *err)
{
    EMP_CHECK(read_text(&it->id, r, "id", err));
    EMP_CHECK(read_text(&it->cluster, r, "cluster", err));
    EMP_CHECK(read_text(&it->model, r, "model", err));
    EMP_CHECK(read_count(&it->global_batch, r, "global_batch", COUNT_MAX, err));
    EMP_CHECK(read_count(&it->micro_batch, r, "microbatch", COUNT_MAX, err));
    EMP_CHECK(read_count(&it->stages, r, "stages", EMP_ITERATION_STAGES_MAX, err));
    EMP_CHECK(read_count(&it->replicas, r, "replicas", EMP_ITERATION_REPLICAS_MAX, err));
    EMP_CHECK(read_placement(it, r, err));
    EMP_CHECK(read_seconds(&it->measured_s, r, "iteration_s", 1.0, err));
    EMP_CHECK(read_optional(&it->measured_peak_bytes, r, "peak_bytes", err));
    EMP_CHECK(read_optional(&it->formula_s, r, "formula_s", err));
    EMP_CHECK(read_optional(&it->formula_peak_bytes, r, "formula_peak_bytes", err));
    it->micro_batches = it->global_batch / it->micro_batch / it->replicas;
    if ((int64_t)it->micro_batches * it->micro_batch * it->replicas == it->global_batch)
        return EMP_OK;
    return refuse(r, "global_batch", "a multiple of microbatch times replicas", err);
}

static emp_status read_transformer(emp_iteration *it, const reader *r, emp_error *err)
{
    if (read_text(&it->cluster, r, "billions", NULL) != EMP_OK) it->cluster = "";
    it->id = it->model = "";
    EMP_CHECK(read_count(&it->hidden, r, "hidden", COUNT_MAX, err));
    EMP_CHECK(read_count(&it->layers, r, "layers", COUNT_MAX, err));
    EMP_CHECK(read_count(&it->heads, r, "heads", COUNT_MAX, err));
    EMP_CHECK(read_count(&it->sequence, r, "seq", COUNT_MAX, err));
    EMP_CHECK(read_count(&it->tensor_parallel, r, "tp", COUNT_MAX, err));
    EMP_CHECK(read_count(&it->replicas, r, "dp", COUNT_MAX, err));
    EMP_CHECK(read_count(&it->stages, r, "pp", EMP_ITERATION_STAGES_MAX, err));
    EMP_CHECK(read_count(&it->micro_batch, r, "microbatch", COUNT_MAX, err));
    EMP_CHECK(read_count(&it->micro_batches, r, "microbatches", COUNT_MAX, err));
    EMP_CHECK(read_seconds(&it->measured_s, r, "iteration_ms", 1e-3, err));
    it->measured_peak_bytes = it->formula_s = it->formula_peak_bytes = NAN;
    int64_t batch = (int64_t)it->micro_batches * it->micro_batch * it->replicas;
    it->global_batch = batch > INT32_MAX ? INT32_MAX : (int32_t)batch;
    return EMP_OK;
}

emp_status emp_iterations_parse(emp_iterations *out, const char *bytes, size_t size,
                                const char *path, emp_error *err)
{
    reader  r = {.csv = &out->csv};
    int32_t column;

    EMP_CHECK(emp_csv_parse(&out->csv, bytes, size, path, err));
    out->are_transformers = emp_csv_find(&column, r.csv, "devices", NULL) != EMP_OK;
    if (out->are_transformers && emp_csv_find(&column, r.csv, "hidden", NULL) != EMP_OK)
        return EMP_ERROR(
            EMP_EFORMAT,
            "%s has neither a column devices nor a column hidden, so its rows "
            "are no measured iterations",
            path);
    EMP_CHECK(EMP_ALLOC(out->row, (size_t)r.csv->row_count));
    for (; r.row < r.csv->row_count; r.row++) {
        emp_iteration *it = &out->row[out->count++];
        EMP_CHECK(out->are_transformers ? read_transformer(it, &r, err)
                                        : read_measured_layers(it, &r, err));
    }
    return EMP_OK;
}

void emp_iterations_clear(emp_iterations *iterations)
{
    for (int32_t i = 0; i < iterations->count; i++) emp_free(iterations->row[i].group);
    emp_free(iterations->row);
    emp_csv_clear(&iterations->csv);
    *iterations = (emp_iterations){0};
}
