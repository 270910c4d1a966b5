// SPDX-License-Identifier: GPL-3.0-or-later
/* Cuts of layers into stages, by the costliest stage and then by the squares of all. */
#include <math.h>

#include "base/mem.h"
#include "parallel/serving/serve.h"

typedef struct {
    int32_t        layers, stages, most; /* layers of a stage */
    emp_stage_cost cost;
    const void    *context;
    double         limit; /* of a stage's cost; INFINITY: the costliest one counts */
    double  *best; /* [stage][layers]: of the first layers in so many stages and one */
    int32_t *last; /* likewise: layers of the last of these stages */
} search;

static size_t cell(const search *x, int32_t stage, int32_t layers)
{
    return (size_t)stage * ((size_t)x->layers + 1) + (size_t)layers;
}

/* The value of a cut with one stage more. */
static double with_stage(const search *x, double before, double cost)
{
    if (isinf(x->limit)) return fmax(before, cost);
    return cost > x->limit ? INFINITY : before + cost * cost;
}

/* Fills the table for the first \a layers in stage + 1 stages. */
static void fill(search *x, int32_t stage, int32_t layers)
{
    double *best = &x->best[cell(x, stage, layers)];

    *best = INFINITY;
    for (int32_t count = 1; count <= x->most && count <= layers; count++) {
        const int32_t first = layers - count;
        if (stage == 0 && first > 0) continue;
        const double before = stage == 0 ? 0.0 : x->best[cell(x, stage - 1, first)];
        if (isinf(before)) continue;
        const double value = with_stage(x, before, x->cost(x->context, first, count));
        if (!(value < *best)) continue;
        *best = value;
        x->last[cell(x, stage, layers)] = count;
    }
}

static double solve(search *x)
{
    for (int32_t stage = 0; stage < x->stages; stage++)
        for (int32_t layers = 0; layers <= x->layers; layers++) fill(x, stage, layers);
    return x->best[cell(x, x->stages - 1, x->layers)];
}

emp_status emp_stages_cut(int32_t *stage_layers, bool *fits, int32_t layers,
                          int32_t stages, emp_stage_cost cost, const void *context,
                          emp_error *err)
{
    emp_status   st = EMP_OK;
    const size_t cells = (size_t)stages * ((size_t)layers + 1);
    search       x = {.layers = layers,
                      .stages = stages,
                      .most = stages > 1 ? 3 * (layers / stages + 1) : layers,
                      .cost = cost,
                      .context = context,
                      .limit = INFINITY};

    EMP_TRY(EMP_ALLOC(x.best, cells));
    EMP_TRY(EMP_ALLOC(x.last, cells));
    const double least = solve(&x);
    *fits = isfinite(least);
    if (!*fits) goto cleanup;
    x.limit = least;
    (void)solve(&x);
    for (int32_t stage = stages - 1, rest = layers; stage >= 0; stage--) {
        stage_layers[stage] = x.last[cell(&x, stage, rest)];
        rest -= stage_layers[stage];
    }

cleanup:
    emp_free(x.best);
    emp_free(x.last);
    return st;
}
