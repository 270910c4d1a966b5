// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/iterations/iterations.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "parallel/models.h"

enum { COUNT_MAX = 1 << 20, CLUSTERS_MAX = 16, NOTE_BYTES = 64 };

#define GIB 1073741824.0

bool emp_parallel_rows_is(const emp_csv *csv)
{
    int32_t column;

    return emp_csv_find(&column, csv, "model", NULL) == EMP_OK &&
           emp_csv_find(&column, csv, "gpu", NULL) == EMP_OK &&
           emp_csv_find(&column, csv, "tp", NULL) == EMP_OK;
}

/* ---- fields ---- */

typedef struct {
    const emp_csv *csv;
    int32_t        row;
} reader;

/* "" where the table has no such column. */
static const char *text_of(const reader *r, const char *name)
{
    int32_t column;

    if (emp_csv_find(&column, r->csv, name, NULL) != EMP_OK) return "";
    return emp_csv_text(r->csv, r->row, column);
}

static emp_status read_text(const char **text, const reader *r, const char *name,
                            emp_error *err)
{
    int32_t column;

    EMP_CHECK(emp_csv_find(&column, r->csv, name, err));
    *text = emp_csv_text(r->csv, r->row, column);
    if ((*text)[0] != '\0') return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT, "%s, row %d: %s is empty", r->csv->path, r->row + 1,
                     name);
}

/* A count that may have no column or no value, and then stays as it is. */
static emp_status read_count(int32_t *value, const reader *r, const char *name,
                             emp_error *err)
{
    int32_t column;
    int64_t count;

    if (text_of(r, name)[0] == '\0') return EMP_OK;
    EMP_CHECK(emp_csv_find(&column, r->csv, name, err));
    EMP_CHECK(emp_csv_count(&count, r->csv, r->row, column, err));
    if (count < 0 || count > COUNT_MAX)
        return EMP_ERROR(EMP_EFORMAT, "%s, row %d: %s is %lld, want 0 to %d",
                         r->csv->path, r->row + 1, name, (long long)count, COUNT_MAX);
    *value = (int32_t)count;
    return EMP_OK;
}

static emp_status read_real(double *value, const reader *r, const char *name,
                            emp_error *err)
{
    int32_t column;

    *value = NAN;
    if (text_of(r, name)[0] == '\0') return EMP_OK;
    EMP_CHECK(emp_csv_find(&column, r->csv, name, err));
    EMP_CHECK(emp_csv_real(value, r->csv, r->row, column, err));
    if (*value > 0.0) return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT, "%s, row %d: %s is \"%.40s\", want a number above 0",
                     r->csv->path, r->row + 1, name, text_of(r, name));
}

static emp_status read_word(int32_t *value, const reader *r, const char *name,
                            const char *words, emp_error *err)
{
    const char *text = text_of(r, name);

    if (text[0] == '\0') return EMP_OK;
    *value = emp_words_find(words, text, strlen(text));
    if (*value >= 0) return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT, "%s, row %d: %s is \"%.40s\", want one of %s",
                     r->csv->path, r->row + 1, name, text, words);
}

static emp_status read_degrees(emp_degrees *d, const reader *r, emp_error *err)
{
    const struct {
        const char *name;
        int32_t    *value, least;
    } counts[] = {{"tp", &d->tp, 1},
                  {"pp", &d->pp, 1},
                  {"vp", &d->vp, 1},
                  {"ep", &d->ep, 1},
                  {"etp", &d->etp, 0},
                  {"cp", &d->cp, 1},
                  {"dp", &d->dp, 1},
                  {"zero", &d->zero, 0},
                  {"mtp", &d->mtp, 0},
                  {"cuda_graphs", &d->cuda_graphs, 0},
                  {"overlap_gradients", &d->overlap_gradients, 0},
                  {"overlap_parameters", &d->overlap_parameters, 0},
                  {"overlap_tp", &d->overlap_tp, 0},
                  {"micro_batch", &d->micro_batch, 1},
                  {"micro_batches", &d->micro_batches, 1},
                  {"seq", &d->sequence, 1}};

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        EMP_CHECK(read_count(counts[i].value, r, counts[i].name, err));
        if (*counts[i].value < counts[i].least)
            return EMP_ERROR(EMP_EFORMAT, "%s, row %d: %s is 0, want 1 at least",
                             r->csv->path, r->row + 1, counts[i].name);
    }
    EMP_CHECK(read_word(&d->recompute, r, "recompute", EMP_RECOMPUTE_WORDS, err));
    EMP_CHECK(read_word(&d->attention, r, "attention", EMP_ATTENTION_WORDS, err));
    EMP_CHECK(read_word(&d->schedule, r, "schedule", EMP_ORDER_WORDS, err));
    EMP_CHECK(read_word(&d->is_fp8, r, "dtype", "bf16|fp8", err));
    d->may_spread = 1;
    return EMP_OK;
}

static emp_status read_row(emp_parallel_row *row, const reader *r, emp_error *err)
{
    row->degrees = emp_degrees_default();
    row->name = text_of(r, "case");
    row->source = text_of(r, "source");
    row->dtype = text_of(r, "dtype");
    EMP_CHECK(read_text(&row->model, r, "model", err));
    EMP_CHECK(read_text(&row->gpu, r, "gpu", err));
    EMP_CHECK(read_degrees(&row->degrees, r, err));
    EMP_CHECK(read_count(&row->layers, r, "layers", err));
    EMP_CHECK(read_count(&row->gpus, r, "gpus", err));
    EMP_CHECK(read_count(&row->global_batch, r, "global_batch", err));
    EMP_CHECK(read_real(&row->measured_ms, r, "step_ms", err));
    EMP_CHECK(read_real(&row->authors_ms, r, "authors_ms", err));
    EMP_CHECK(read_real(&row->measured_gib, r, "peak_allocated_gib", err));
    EMP_CHECK(read_real(&row->authors_gib, r, "authors_allocated_gib", err));
    const int64_t gpus = emp_degrees_gpus(&row->degrees);
    if (row->gpus > 0 && row->gpus != gpus)
        return EMP_ERROR(EMP_EFORMAT,
                         "%s, row %d: gpus is %d, and tp x cp x dp x pp is %lld",
                         r->csv->path, r->row + 1, row->gpus, (long long)gpus);
    return EMP_OK;
}

/* ---- recipes ---- */

/* How a public benchmark trains a model on a GPU, where the row does not say it itself. */
static emp_status add_recipe(emp_parallel_row *row, const reader *r,
                             const emp_csv *recipes, emp_error *err)
{
    emp_degrees *d = &row->degrees;
    const struct {
        const char *name;
        int32_t    *value;
    } counts[] = {{"etp", &d->etp},
                  {"mtp", &d->mtp},
                  {"cuda_graphs", &d->cuda_graphs},
                  {"overlap_gradients", &d->overlap_gradients},
                  {"overlap_parameters", &d->overlap_parameters},
                  {"overlap_tp", &d->overlap_tp}};

    for (int32_t i = 0; i < recipes->row_count; i++) {
        const reader at = {recipes, i};
        if (strcmp(text_of(&at, "model"), row->model) != 0 ||
            strcmp(text_of(&at, "gpu"), row->gpu) != 0)
            continue;
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
            if (text_of(r, counts[k].name)[0] == '\0')
                EMP_CHECK(read_count(counts[k].value, &at, counts[k].name, err));
        if (text_of(r, "recompute")[0] == '\0')
            EMP_CHECK(
                read_word(&d->recompute, &at, "recompute", EMP_RECOMPUTE_WORDS, err));
        if (text_of(r, "attention")[0] == '\0')
            EMP_CHECK(
                read_word(&d->attention, &at, "attention", EMP_ATTENTION_WORDS, err));
    }
    return EMP_OK;
}

/* ---- predictions ---- */

/* Clusters by the names of their GPUs, each loaded once. */
typedef struct {
    const char  *name[CLUSTERS_MAX];
    emp_cluster *cluster[CLUSTERS_MAX];
    int32_t      count;
} clusters;

static emp_status find_cluster(const emp_cluster **out, clusters *c, const char *name,
                               emp_error *err)
{
    for (int32_t i = 0; i < c->count; i++) {
        if (strcmp(c->name[i], name) != 0) continue;
        *out = c->cluster[i];
        return EMP_OK;
    }
    if (c->count == CLUSTERS_MAX)
        return EMP_ERROR(EMP_EUNSUPPORTED, "more than %d kinds of GPU", CLUSTERS_MAX);
    EMP_CHECK(emp_cluster_load(&c->cluster[c->count], name, err));
    c->name[c->count] = name;
    *out = c->cluster[c->count++];
    return EMP_OK;
}

static emp_status predict(emp_parallel_row *row, clusters *c, bool all_ranks,
                          emp_error *err)
{
    emp_status            st = EMP_OK;
    emp_transformer_model model = {0};
    const emp_cluster    *cluster = NULL;

    EMP_TRY(find_cluster(&cluster, c, row->gpu, err));
    EMP_TRY(emp_parallel_model_load(&model, NULL, row->model, row->layers, err));
    row->has_experts = emp_transformer_has_experts(&model);
    EMP_TRY(emp_parallel_predict(
        &row->step,
        &(emp_parallel){.cluster = cluster, .model = &model, .degrees = &row->degrees},
        &(emp_parallel_options){.all_ranks = all_ranks}, err));

cleanup:
    emp_transformer_model_clear(&model);
    return st;
}

static emp_status load_recipes(emp_csv *csv, emp_error *err)
{
    char path[512];

    emp_data_folder(path, sizeof path, "models/recipes.csv");
    return emp_csv_load(csv, path, err);
}

emp_status emp_parallel_rows_predict(emp_parallel_rows *rows, emp_csv *csv,
                                     bool all_ranks, emp_error *err)
{
    emp_status st = EMP_OK;
    clusters   c = {.count = 0};
    emp_csv    recipes = {0};
    reader     r = {.csv = &rows->csv};

    rows->csv = *csv;
    *csv = (emp_csv){0};
    EMP_TRY(load_recipes(&recipes, err));
    EMP_TRY(EMP_ALLOC(rows->row, (size_t)rows->csv.row_count));
    for (; r.row < rows->csv.row_count; r.row++) {
        emp_parallel_row *row = &rows->row[rows->count++];
        emp_error         why = {0};
        EMP_TRY(read_row(row, &r, err));
        EMP_TRY(add_recipe(row, &r, &recipes, err));
        st = predict(row, &c, all_ranks, &why);
        if (st != EMP_OK)
            EMP_FAIL(st, "%s, row %d%s%s: %s", rows->csv.path, r.row + 1,
                     row->name[0] != '\0' ? ", " : "", row->name, why.msg);
    }

cleanup:
    for (int32_t i = 0; i < c.count; i++) emp_cluster_destroy(c.cluster[i]);
    emp_csv_clear(&recipes);
    return st;
}

void emp_parallel_rows_clear(emp_parallel_rows *rows)
{
    emp_free(rows->row);
    emp_csv_clear(&rows->csv);
    *rows = (emp_parallel_rows){0};
}

/* ---- errors ---- */

static double off_of(const emp_parallel_row *row, bool of_memory)
{
    return of_memory ? row->step.peak_bytes / GIB / row->measured_gib - 1.0
                     : row->step.step_s * 1e3 / row->measured_ms - 1.0;
}

static bool is_chosen(const emp_parallel_row *row, const emp_parallel_choice *of)
{
    return (of->source == NULL || strcmp(of->source, row->source) == 0) &&
           (of->dtype == NULL || strcmp(of->dtype, row->dtype) == 0) &&
           (of->experts < 0 || (of->experts > 0) == row->has_experts);
}

emp_parallel_error emp_parallel_rows_error(const emp_parallel_rows   *rows,
                                           const emp_parallel_choice *of, bool of_memory)
{
    emp_parallel_error e = {0, 0.0, 0.0};

    for (int32_t i = 0; i < rows->count; i++) {
        const double off = fabs(off_of(&rows->row[i], of_memory));
        if (isnan(off) || !is_chosen(&rows->row[i], of)) continue;
        e.mean_frac += off;
        e.worst_frac = fmax(e.worst_frac, off);
        e.count++;
    }
    e.mean_frac = e.count > 0 ? e.mean_frac / e.count : NAN;
    if (e.count == 0) e.worst_frac = NAN;
    return e;
}

/* Pairs of a source and a model on the same GPUs, and those in the right order. */
static void count_pairs(int32_t *right, int32_t *count, const emp_parallel_rows *rows,
                        const char *source)
{
    *right = *count = 0;
    for (int32_t i = 0; i < rows->count; i++) {
        for (int32_t j = 0; j < i; j++) {
            const emp_parallel_row *a = &rows->row[i], *b = &rows->row[j];
            if (strcmp(a->source, source) != 0 || strcmp(b->source, source) != 0 ||
                strcmp(a->model, b->model) != 0 || strcmp(a->gpu, b->gpu) != 0 ||
                !(a->measured_ms != b->measured_ms) || isnan(a->measured_ms) ||
                isnan(b->measured_ms))
                continue;
            ++*count;
            *right +=
                (a->measured_ms < b->measured_ms) == (a->step.step_s < b->step.step_s);
        }
    }
}

/* ---- the sheet ---- */

static const emp_sheet_column columns[] = {
    EMP_COLUMN("case", "case", EMP_SHEET_WORD),
    EMP_COLUMN("model", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("gpu", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("gpus", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("measured_ms", "measured ms", EMP_SHEET_REAL, .is_optional = true),
    EMP_COLUMN("predicted_ms", "predicted ms", EMP_SHEET_REAL),
    EMP_COLUMN("error", "error", EMP_SHEET_CHANGE, .is_optional = true),
    EMP_COLUMN("authors_error", "authors'", EMP_SHEET_CHANGE, .is_optional = true),
    EMP_COLUMN("measured_gib", "GiB", EMP_SHEET_REAL, .is_optional = true),
    EMP_COLUMN("predicted_gib", "predicted", EMP_SHEET_REAL),
    EMP_COLUMN("memory_error", "error", EMP_SHEET_CHANGE, .is_optional = true),
    EMP_COLUMN("bubble", "bubble", EMP_SHEET_SHARE),
    EMP_COLUMN("exposed_ms", "exposed ms", EMP_SHEET_REAL),
};

static emp_value real_or_none(double value)
{
    return emp_value_if(!isnan(value), emp_value_real(value));
}

static void add_row(emp_sheet *s, const emp_parallel_row *row, int32_t index)
{
    char name[32];

    snprintf(name, sizeof name, "row %d", index + 1);
    EMP_SHEET_ADD(s, EMP_V(row->name[0] != '\0' ? row->name : name), EMP_V(row->model),
                  EMP_V(row->gpu), EMP_V(emp_degrees_gpus(&row->degrees)),
                  real_or_none(row->measured_ms), EMP_V(row->step.step_s * 1e3),
                  real_or_none(off_of(row, false)),
                  real_or_none(row->authors_ms / row->measured_ms - 1.0),
                  real_or_none(row->measured_gib), EMP_V(row->step.peak_bytes / GIB),
                  real_or_none(off_of(row, true)), EMP_V(row->step.bubble_frac),
                  EMP_V(row->step.exposed_s * 1e3));
}

/* The errors of a source: of all its rows, and of the rows of a format or of a kind of model, where it has several. */
static void note_errors(emp_sheet *s, const emp_parallel_rows *rows, const char *source)
{
    static const struct {
        const char         *name;
        emp_parallel_choice of;
    } parts[] = {{"", {NULL, NULL, -1}},
                 {", bf16", {NULL, "bf16", -1}},
                 {", fp8", {NULL, "fp8", -1}},
                 {", dense models", {NULL, NULL, 0}},
                 {", models with experts", {NULL, NULL, 1}}};
    const char *name = source[0] != '\0' ? source : "All";
    int32_t     right, count, whole = 0;

    for (int32_t of_memory = 0; of_memory < 2; of_memory++) {
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            emp_parallel_choice of = parts[i].of;
            of.source = source;
            const emp_parallel_error e = emp_parallel_rows_error(rows, &of, of_memory);
            if (i == 0) whole = e.count;
            if (e.count == 0 || (i > 0 && e.count == whole)) continue;
            emp_sheet_note(s,
                           "%s%s, %s: mean error %.1f %% over %d rows, %.1f %% at worst.",
                           name, parts[i].name, of_memory ? "allocated memory" : "time",
                           100.0 * e.mean_frac, e.count, 100.0 * e.worst_frac);
        }
    }
    count_pairs(&right, &count, rows, source);
    if (count > 0)
        emp_sheet_note(s, "%s: %d of %d pairs of one model in the right order.", name,
                       right, count);
}

void emp_parallel_rows_tabulate(emp_sheet *sheet, const emp_parallel_rows *rows)
{
    EMP_SHEET_INIT(sheet, columns);
    emp_sheet_set_title(sheet, "Measured training steps beside predictions");
    for (int32_t i = 0; i < rows->count; i++) add_row(sheet, &rows->row[i], i);
    for (int32_t i = 0; i < rows->count; i++) {
        bool is_first = true;
        for (int32_t j = 0; j < i; j++)
            is_first &= strcmp(rows->row[j].source, rows->row[i].source) != 0;
        if (is_first) note_errors(sheet, rows, rows->row[i].source);
    }
    emp_sheet_note(sheet, "No constant was fitted to a step.");
}
