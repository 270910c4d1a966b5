// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/iterations/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

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

/* ---- fields ---- */

static emp_status find_all(int32_t *column, const emp_csv *csv, const char *const *names,
                           int32_t count, emp_error *err)
{
    for (int32_t i = 0; i < count; i++)
        EMP_CHECK(emp_csv_find(&column[i], csv, names[i], err));
    return EMP_OK;
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

    EMP_CHECK(find_all(column, csv, fit_names, FITS, err));
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

emp_status emp_network_add_fits(emp_network *network, const char *bytes, size_t size,
                                const char *path, emp_error *err)
{
    emp_csv    csv = {0};
    emp_status st = emp_csv_parse(&csv, bytes, size, path, err);

    if (st == EMP_OK) st = read_fits(network, &csv, err);
    emp_csv_clear(&csv);
    return st;
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

    EMP_CHECK(find_all(column, csv, collective_names, COLLECTIVES, err));
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
    emp_csv    csv = {0};
    emp_status st = emp_csv_parse(&csv, bytes, size, path, err);

    if (st == EMP_OK) st = read_gathers(network, &csv, err);
    emp_csv_clear(&csv);
    return st;
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
