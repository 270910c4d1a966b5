// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/iterations/tables.h"

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
static bool parse_group(emp_tensor_group *g, const char *text, size_t length)
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
        if (!parse_group(&it->group[0], at + 4, strlen(at + 4))) return false;
        for (int32_t i = 1; i < groups; i++) it->group[i] = it->group[0];
        return true;
    }
    for (int32_t i = 0; i < groups; i++) {
        size_t length = strcspn(at, ";+");
        bool   ends_stage = (i + 1) % it->replicas == 0, is_last = i + 1 == groups;
        char   end = is_last ? '\0' : ends_stage ? ';' : '+';
        if (at[length] != end || !parse_group(&it->group[i], at, length)) return false;
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

/* ---- tables of a network ---- */

typedef struct {
    emp_tensor_group from, to;
    double           c2, c1, c0, bytes_per_s_max;
} fit;

typedef struct {
    emp_tensor_group group;
    double           log_bytes, log_s;
} gather;

struct emp_network {
    fit    *fit;
    gather *gather; /* by group and size */
    int32_t fit_count, gather_count;
};

emp_status emp_network_create(emp_network **out, emp_error *err)
{
    *out = EMP_NEW(emp_network);
    return *out != NULL ? EMP_OK : EMP_ERROR(EMP_ENOMEM, "a network");
}

void emp_network_destroy(emp_network *network)
{
    if (network == NULL) return;
    emp_free(network->fit);
    emp_free(network->gather);
    emp_free(network);
}

static emp_status read_group(emp_tensor_group *g, const emp_csv *csv, int32_t row,
                             int32_t gpu, int32_t gpus, emp_error *err)
{
    const char *name = emp_csv_text(csv, row, gpu);
    int64_t     count;

    EMP_CHECK(emp_csv_count(&count, csv, row, gpus, err));
    if (name[0] == '\0' || strlen(name) >= sizeof g->gpu || count < 1 || count > 1 << 20)
        return EMP_ERROR(EMP_EFORMAT,
                         "%s, row %d: %lld GPUs \"%.40s\", want 1 or more with a name of "
                         "at most %zu characters",
                         csv->path, row + 1, (long long)count, name, sizeof g->gpu - 1);
    memcpy(g->gpu, name, strlen(name) + 1);
    g->count = (int32_t)count;
    return EMP_OK;
}

static bool is_group(const emp_tensor_group *a, const emp_tensor_group *b)
{
    return a->count == b->count && strcmp(a->gpu, b->gpu) == 0;
}

/* ---- fits ---- */

enum {
    SCOPE,
    ZONE_FROM,
    ZONE_TO,
    FROM,
    FROM_COUNT,
    TO,
    TO_COUNT,
    C2,
    C1,
    C0,
    MOST,
    FITS
};

static const char *const fit_names[FITS] = {
    "scope",   "zone_from", "zone_to", "gpu_from", "gpus_from",      "gpu_to",
    "gpus_to", "c2",        "c1",      "c0",       "max_bytes_per_s"};

static emp_status read_fit(fit *f, const emp_csv *csv, int32_t row, const int32_t *column,
                           emp_error *err)
{
    double *const to[] = {&f->c2, &f->c1, &f->c0, &f->bytes_per_s_max};

    EMP_CHECK(read_group(&f->from, csv, row, column[FROM], column[FROM_COUNT], err));
    EMP_CHECK(read_group(&f->to, csv, row, column[TO], column[TO_COUNT], err));
    for (int32_t i = 0; i < 4; i++)
        EMP_CHECK(emp_csv_real(to[i], csv, row, column[C2 + i], err));
    if (f->bytes_per_s_max > 0.0) return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT,
                     "%s, row %d: max_bytes_per_s is %g, want a rate above 0", csv->path,
                     row + 1, f->bytes_per_s_max);
}

static emp_status read_fits(emp_network *n, const emp_csv *csv, emp_error *err)
{
    int32_t column[FITS];

    EMP_CHECK(emp_csv_find_all(column, csv, fit_names, FITS, err));
    EMP_CHECK(EMP_ALLOC(n->fit, (size_t)csv->row_count));
    for (int32_t row = 0; row < csv->row_count; row++) {
        if (strcmp(emp_csv_text(csv, row, column[SCOPE]), "inter") != 0 ||
            strcmp(emp_csv_text(csv, row, column[ZONE_FROM]),
                   emp_csv_text(csv, row, column[ZONE_TO])) != 0)
            continue;
        EMP_CHECK(read_fit(&n->fit[n->fit_count], csv, row, column, err));
        n->fit_count++;
    }
    return EMP_OK;
}

typedef emp_status read_table(emp_network *network, const emp_csv *csv, emp_error *err);

static emp_status add_table(emp_network *network, read_table *read, const char *bytes,
                            size_t size, const char *path, emp_error *err)
{
    emp_csv    csv = {0};
    emp_status st = emp_csv_parse(&csv, bytes, size, path, err);

    if (st == EMP_OK) st = read(network, &csv, err);
    emp_csv_clear(&csv);
    return st;
}

emp_status emp_network_add_fits(emp_network *network, const char *bytes, size_t size,
                                const char *path, emp_error *err)
{
    return add_table(network, read_fits, bytes, size, path, err);
}

static const fit *find_fit(const emp_network *n, const emp_tensor_group *from,
                           const emp_tensor_group *to)
{
    for (int32_t i = 0; i < n->fit_count; i++)
        if (is_group(&n->fit[i].from, from) && is_group(&n->fit[i].to, to))
            return &n->fit[i];
    return NULL;
}

/* The fit between such GPUs with the most of them, but no more than there are. */
static const fit *find_smaller(const emp_network *n, const emp_tensor_group *from,
                               const emp_tensor_group *to)
{
    const fit *best = NULL;

    for (int32_t i = 0; i < n->fit_count; i++) {
        const fit *f = &n->fit[i];
        if (strcmp(f->from.gpu, from->gpu) != 0 || strcmp(f->to.gpu, to->gpu) != 0 ||
            f->from.count > from->count || f->to.count > to->count)
            continue;
        if (best == NULL ||
            f->from.count + f->to.count > best->from.count + best->to.count)
            best = f;
    }
    return best;
}

emp_status emp_network_send(double *seconds, const emp_network *network,
                            const emp_tensor_group *from, const emp_tensor_group *to,
                            double bytes, emp_error *err)
{
    const fit *f = find_fit(network, from, to);
    double     x = log2(bytes / 1e6), bytes_per_s;

    *seconds = 0.0;
    if (bytes <= 0.0) return EMP_OK;
    if (f == NULL) f = find_fit(network, to, from);
    if (f == NULL) f = find_smaller(network, from, to);
    if (f == NULL) f = find_smaller(network, to, from);
    if (f == NULL)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "the network has no rate from %d %s to %d %s of another host",
                         from->count, from->gpu, to->count, to->gpu);
    bytes_per_s = fmin((f->c2 * x * x + f->c1 * x + f->c0) * 1e9, f->bytes_per_s_max);
    if (bytes_per_s <= 0.0)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "the fit from %d %s to %d %s gives no rate for %g bytes",
                         from->count, from->gpu, to->count, to->gpu, bytes);
    *seconds = bytes / bytes_per_s;
    return EMP_OK;
}

/* ---- collectives ---- */

enum { GPU, OP, TYPE, GPUS, BYTES, US, COLLECTIVES };

static const char *const collective_names[COLLECTIVES] = {"gpu",  "op",    "dtype",
                                                          "gpus", "bytes", "us"};

static int compare_gathers(const void *a, const void *b)
{
    const gather *x = a, *y = b;
    int           by_name = strcmp(x->group.gpu, y->group.gpu);

    if (by_name != 0) return by_name;
    if (x->group.count != y->group.count) return x->group.count - y->group.count;
    return (x->log_bytes > y->log_bytes) - (x->log_bytes < y->log_bytes);
}

static emp_status read_gather(gather *g, const emp_csv *csv, int32_t row,
                              const int32_t *column, emp_error *err)
{
    double bytes, us;

    EMP_CHECK(read_group(&g->group, csv, row, column[GPU], column[GPUS], err));
    EMP_CHECK(emp_csv_real(&bytes, csv, row, column[BYTES], err));
    EMP_CHECK(emp_csv_real(&us, csv, row, column[US], err));
    if (bytes <= 0.0 || us <= 0.0)
        return EMP_ERROR(EMP_EFORMAT,
                         "%s, row %d: %g bytes in %g us, want numbers above 0", csv->path,
                         row + 1, bytes, us);
    g->log_bytes = log(bytes);
    g->log_s = log(us * 1e-6);
    return EMP_OK;
}

static emp_status read_gathers(emp_network *n, const emp_csv *csv, emp_error *err)
{
    int32_t column[COLLECTIVES];

    EMP_CHECK(emp_csv_find_all(column, csv, collective_names, COLLECTIVES, err));
    EMP_CHECK(EMP_ALLOC(n->gather, (size_t)csv->row_count));
    for (int32_t row = 0; row < csv->row_count; row++) {
        if (strcmp(emp_csv_text(csv, row, column[OP]), "all_gather") != 0 ||
            strcmp(emp_csv_text(csv, row, column[TYPE]), "float") != 0)
            continue;
        EMP_CHECK(read_gather(&n->gather[n->gather_count], csv, row, column, err));
        n->gather_count++;
    }
    qsort(n->gather, (size_t)n->gather_count, sizeof *n->gather, compare_gathers);
    return EMP_OK;
}

emp_status emp_network_add_collectives(emp_network *network, const char *bytes,
                                       size_t size, const char *path, emp_error *err)
{
    return add_table(network, read_gathers, bytes, size, path, err);
}

/* On the line through two points, or beyond them in proportion to the size. */
static double seconds_at(const gather *low, const gather *high, double log_bytes)
{
    double span = high->log_bytes - low->log_bytes;

    if (log_bytes > high->log_bytes)
        return exp(high->log_s + log_bytes - high->log_bytes);
    if (log_bytes <= low->log_bytes || span <= 0.0) return exp(low->log_s);
    return exp(low->log_s +
               (high->log_s - low->log_s) * (log_bytes - low->log_bytes) / span);
}

emp_status emp_network_gather(double *seconds, const emp_network *network,
                              const emp_tensor_group *group, double bytes, emp_error *err)
{
    double        log_bytes = log(bytes);
    const gather *low = NULL, *high = NULL;

    *seconds = 0.0;
    if (group->count == 1 || network->gather == NULL || bytes <= 0.0) return EMP_OK;
    for (int32_t i = 0; i < network->gather_count; i++) {
        const gather *g = &network->gather[i];
        if (!is_group(&g->group, group)) continue;
        if (low == NULL || g->log_bytes <= log_bytes) low = g;
        high = g;
        if (g->log_bytes >= log_bytes) break;
    }
    if (low == NULL)
        return EMP_ERROR(EMP_EUNSUPPORTED, "no all_gather of %d %s was measured",
                         group->count, group->gpu);
    *seconds = seconds_at(low, high, log_bytes);
    return EMP_OK;
}
