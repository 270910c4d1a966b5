// SPDX-License-Identifier: GPL-3.0-or-later
#include "parallel/loads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/random.h"
#include "base/text/csv.h"

/* ---- tables ---- */

static emp_status alloc_loads(emp_expert_loads *loads, int32_t rows, int32_t experts,
                              emp_error *err)
{
    EMP_CHECK(EMP_ALLOC(loads->share, (size_t)rows * (size_t)experts));
    loads->rows = rows;
    loads->experts = experts;
    return EMP_OK;
}

/* Divides a row by its mean. false: it has no tokens. */
static bool normalise(double *share, int32_t experts)
{
    double sum = 0.0;

    for (int32_t e = 0; e < experts; e++) sum += share[e];
    if (!(sum > 0.0) || !isfinite(sum)) return false;
    for (int32_t e = 0; e < experts; e++) share[e] *= experts / sum;
    return true;
}

static emp_status read_row(emp_expert_loads *loads, const emp_csv *csv, int32_t row,
                           int32_t first, const char *path, emp_error *err)
{
    double *share = &loads->share[(size_t)row * (size_t)loads->experts];

    for (int32_t e = 0; e < loads->experts; e++) {
        EMP_CHECK(emp_csv_real(&share[e], csv, row, first + e, err));
        if (share[e] < 0.0)
            return EMP_ERROR(EMP_EINVAL,
                             "%s: row %d: the load of expert %d is %g, want 0 or more",
                             path, row + 1, e, share[e]);
    }
    if (normalise(share, loads->experts)) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL, "%s: row %d: no expert has tokens", path, row + 1);
}

emp_status emp_expert_loads_load(emp_expert_loads *loads, const char *path,
                                 emp_error *err)
{
    emp_status st = EMP_OK;
    emp_csv    csv = {0};

    EMP_TRY(emp_csv_load(&csv, path, err));
    const int32_t first = strcmp(emp_csv_text(&csv, -1, 0), "layer") == 0;
    if (csv.row_count < 1 || csv.column_count <= first)
        EMP_FAIL(EMP_EINVAL, "%s: want a row for each layer and a column for each expert",
                 path);
    EMP_TRY(alloc_loads(loads, csv.row_count, csv.column_count - first, err));
    for (int32_t row = 0; row < csv.row_count; row++)
        EMP_TRY(read_row(loads, &csv, row, first, path, err));

cleanup:
    emp_csv_clear(&csv);
    return st;
}

void emp_expert_loads_clear(emp_expert_loads *loads)
{
    emp_free(loads->share);
    *loads = (emp_expert_loads){0};
}

/* ---- a power law ---- */

/* The greatest of (i + 1) ^ -a over their mean. */
static double skew_of(double a, int32_t experts)
{
    double sum = 0.0;

    for (int32_t e = 0; e < experts; e++) sum += pow(e + 1.0, -a);
    return experts / sum;
}

static double exponent_of(double skew, int32_t experts)
{
    double low = 0.0, high = 64.0;

    for (int32_t i = 0; i < 60; i++) {
        const double middle = 0.5 * (low + high);
        if (skew_of(middle, experts) < skew)
            low = middle;
        else
            high = middle;
    }
    return high;
}

emp_status emp_expert_loads_make(emp_expert_loads *loads, int32_t rows, int32_t experts,
                                 double skew, emp_error *err)
{
    emp_mt19937 order;

    if (skew < 1.0 || skew > 0.99 * experts)
        return EMP_ERROR(
            EMP_EINVAL,
            "skew=%g of %d experts: the busiest takes so many times the mean, "
            "want 1 to %g",
            skew, experts, floor(0.99 * experts));
    EMP_CHECK(alloc_loads(loads, rows, experts, err));
    const double a = exponent_of(skew, experts);
    emp_mt19937_seed_numpy(&order, 1);
    for (int32_t row = 0; row < rows; row++) {
        double *share = &loads->share[(size_t)row * (size_t)experts];
        for (int32_t e = 0; e < experts; e++) share[e] = pow(e + 1.0, -a);
        for (int32_t e = experts - 1; e > 0; e--) {
            const int32_t k = (int32_t)emp_mt19937_below_numpy(&order, (uint32_t)e + 1);
            const double  swapped = share[e];
            share[e] = share[k];
            share[k] = swapped;
        }
        normalise(share, experts);
    }
    return EMP_OK;
}

/* ---- placement ---- */

/* Counts of copies: each further one goes to the expert whose copies have most to do. */
static void replicate(int32_t *copies, const double *share, int32_t experts,
                      int32_t redundant)
{
    for (int32_t e = 0; e < experts; e++) copies[e] = 1;
    for (int32_t r = 0; r < redundant; r++) {
        int32_t busiest = 0;
        for (int32_t e = 1; e < experts; e++)
            if ((share != NULL ? share[e] : 1.0) / copies[e] >
                (share != NULL ? share[busiest] : 1.0) / copies[busiest])
                busiest = e;
        copies[busiest]++;
    }
}

static int compare_falling(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x < y) - (x > y);
}

/* Slots on ranks, of which each has as many. */
typedef struct {
    int32_t  slots, ranks;
    double  *slot; /* [slots]: tokens */
    int32_t *at;   /* [slots]: the rank */
    double  *rank; /* [ranks]: tokens */
    int32_t *used; /* [ranks]: slots */
} packing;

static int32_t busiest_of(const packing *p)
{
    int32_t busiest = 0;

    for (int32_t r = 1; r < p->ranks; r++)
        if (p->rank[r] > p->rank[busiest]) busiest = r;
    return busiest;
}

/* Each slot, the busiest first, goes to the rank with least that has room. */
static void pack_by_size(packing *p)
{
    qsort(p->slot, (size_t)p->slots, sizeof *p->slot, compare_falling);
    for (int32_t s = 0; s < p->slots; s++) {
        int32_t to = -1;
        for (int32_t r = 0; r < p->ranks; r++)
            if (p->used[r] < p->slots / p->ranks && (to < 0 || p->rank[r] < p->rank[to]))
                to = r;
        p->at[s] = to;
        p->rank[to] += p->slot[s];
        p->used[to]++;
    }
}

/* Swaps the pair of slots, one on the busiest rank, after which the busier of the two ranks has least.
 * \return false: no swap makes it less. */
static bool swap_best(packing *p)
{
    const int32_t from = busiest_of(p);
    int32_t       best_a = -1, best_b = -1;
    double        least = p->rank[from] * (1.0 - 1e-9);

    for (int32_t a = 0; a < p->slots; a++) {
        for (int32_t b = 0; p->at[a] == from && b < p->slots; b++) {
            const double moved = p->slot[a] - p->slot[b];
            if (p->at[b] == from || moved <= 0.0) continue;
            const double after = fmax(p->rank[from] - moved, p->rank[p->at[b]] + moved);
            if (after >= least) continue;
            least = after;
            best_a = a;
            best_b = b;
        }
    }
    if (best_a < 0) return false;
    const int32_t to = p->at[best_b];
    const double  moved = p->slot[best_a] - p->slot[best_b];
    p->rank[from] -= moved;
    p->rank[to] += moved;
    p->at[best_a] = to;
    p->at[best_b] = from;
    return true;
}

static void pack_in_order(packing *p)
{
    for (int32_t s = 0; s < p->slots; s++)
        p->rank[s / (p->slots / p->ranks)] += p->slot[s];
}

emp_status emp_expert_loads_busiest(double *busiest, const double *share, int32_t experts,
                                    const emp_degrees *d, emp_error *err)
{
    emp_status st = EMP_OK;
    packing    p = {.slots = experts + d->redundant, .ranks = d->ep};
    int32_t   *copies = NULL, count = 0;

    EMP_TRY(EMP_ALLOC(p.slot, (size_t)p.slots));
    EMP_TRY(EMP_ALLOC(p.at, (size_t)p.slots));
    EMP_TRY(EMP_ALLOC(p.rank, (size_t)p.ranks));
    EMP_TRY(EMP_ALLOC(p.used, (size_t)p.ranks));
    EMP_TRY(EMP_ALLOC(copies, (size_t)experts));
    replicate(copies, share, experts, d->redundant);
    for (int32_t e = 0; e < experts; e++)
        p.slot[count++] = (share != NULL ? share[e] : 1.0) / copies[e];
    for (int32_t e = 0; e < experts; e++)
        for (int32_t c = 1; c < copies[e]; c++)
            p.slot[count++] = (share != NULL ? share[e] : 1.0) / copies[e];
    if (d->placed == EMP_PLACED_BALANCED) {
        pack_by_size(&p);
        for (int32_t i = 0; i < p.slots && swap_best(&p); i++) continue;
    } else {
        pack_in_order(&p);
    }
    *busiest = p.rank[busiest_of(&p)] * d->ep / experts;

cleanup:
    emp_free(p.slot);
    emp_free(p.at);
    emp_free(p.rank);
    emp_free(p.used);
    emp_free(copies);
    return st;
}
