// SPDX-License-Identifier: GPL-3.0-or-later
#include "parallel/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "parallel/homes.h"

enum { LONG_SEQUENCE = 8192, CONTEXT_MAX = 16, MICRO_BATCH_MAX = 8, SEQUENCES_A_GPU = 4 };

#define GIB 1073741824.0

/* ---- choices ---- */

enum { CHOICES_MAX = 64 };

typedef struct {
    int32_t value[CHOICES_MAX], count;
} choices;

static void add_choice(choices *c, int32_t value)
{
    if (c->count < CHOICES_MAX) c->value[c->count++] = value;
}

static choices only(int32_t value) { return (choices){{value}, 1}; }

/* Divisors of a size up to a limit. */
static choices divisors(int32_t size, int32_t most)
{
    choices c = {.count = 0};

    for (int32_t i = 1; i <= most && i <= size; i++)
        if (size % i == 0) add_choice(&c, i);
    return c;
}

typedef struct {
    emp_ways                *plan;
    const emp_parallel_spec *spec;
    const emp_cluster       *cluster;
    int32_t                  gpus;
    bool                     all_ranks;
    char why[EMP_PLAN_WHY_BYTES]; /* of the last that did not divide */
} planner;

/* The values of the spec, or else the ones to try. */
static choices of_spec(const planner *p, const char *key, int32_t given, choices tried)
{
    return emp_parallel_spec_has(p->spec, key) ? only(given) : tried;
}

/* ---- one way ---- */

static emp_status add_row(planner *p, const emp_degrees *d, emp_error *err)
{
    emp_ways            *plan = p->plan;
    emp_error            why = {0};
    emp_parallel_options options = {
        .all_ranks = p->all_ranks,
        .schedule_path = p->spec->schedule[0] != '\0' ? p->spec->schedule : NULL,
        .memory_bytes = plan->memory_bytes};

    EMP_CHECK(EMP_GROW(plan->row, (int64_t)plan->count + 1, plan->capacity));
    emp_way *row = &plan->row[plan->count];
    *row = (emp_way){.degrees = *d};
    const emp_status st = emp_parallel_predict(&row->step,
                                               &(emp_parallel){.cluster = p->cluster,
                                                               .model = &p->spec->model,
                                                               .degrees = d,
                                                               .loads = &p->spec->loads},
                                               &options, &why);
    if (st == EMP_EINVAL || (st == EMP_EFORMAT && options.schedule_path != NULL)) {
        snprintf(p->why, sizeof p->why, "%s", why.msg);
        snprintf(row->why, sizeof row->why, "%s", why.msg);
        row->fault = EMP_WAY_IS_INVALID;
        row->step.step_s = INFINITY;
        row->step.peak_bytes = INFINITY;
    } else if (st != EMP_OK) {
        return EMP_ERROR(st, "%s", why.msg);
    } else if (isinf(row->step.step_s)) {
        row->fault = row->step.peak_bytes > plan->memory_bytes ? EMP_WAY_NEEDS_MEMORY
                                                               : EMP_WAY_NEEDS_HOST;
        if (row->fault == EMP_WAY_NEEDS_MEMORY)
            snprintf(row->why, sizeof row->why, "needs %.1f GiB of %.1f GiB",
                     row->step.peak_bytes / GIB, plan->memory_bytes / GIB);
        else
            snprintf(row->why, sizeof row->why,
                     "needs %.1f GiB of %.1f GiB of host memory a GPU",
                     row->step.host_bytes / GIB,
                     (double)p->cluster->host.memory_bytes / GIB);
    } else {
        plan->feasible++;
    }
    plan->count++;
    return EMP_OK;
}

/* Keeps the optimizer, activations and weights on the host in turn, one after another and together, where a way does not
 * fit otherwise. A way that fits loses by it. */
static emp_status try_homes(planner *p, emp_degrees d, emp_error *err)
{
    const int32_t feasible = p->plan->feasible;

    if (d.home && !emp_parallel_spec_has(p->spec, "zero")) d.zero = 3;
    EMP_CHECK(add_row(p, &d, err));
    if (p->plan->feasible > feasible ||
        p->plan->row[p->plan->count - 1].fault == EMP_WAY_IS_INVALID ||
        p->cluster->host.memory_bytes == 0 || emp_parallel_spec_has(p->spec, "home") ||
        emp_parallel_spec_has(p->spec, "update") ||
        emp_parallel_spec_has(p->spec, "activations"))
        return EMP_OK;
    for (int32_t i = 0; i < EMP_HOME_CHOICES; i++) {
        emp_degrees there = d;
        if (!emp_homes_choose(&there, &emp_home_choices[i],
                              emp_parallel_spec_has(p->spec, "zero")))
            continue;
        EMP_CHECK(add_row(p, &there, err));
        if (p->plan->feasible > feasible) return EMP_OK;
    }
    return EMP_OK;
}

static emp_status try_recomputations(planner *p, emp_degrees d, emp_error *err)
{
    const choices recompute = of_spec(
        p, "recompute", d.recompute,
        (choices){{EMP_RECOMPUTE_NONE, EMP_RECOMPUTE_SELECTIVE, EMP_RECOMPUTE_FULL}, 3});

    for (int32_t i = 0; i < recompute.count; i++) {
        d.recompute = recompute.value[i];
        EMP_CHECK(try_homes(p, d, err));
    }
    return EMP_OK;
}

/* Schedules that fit the degrees; DualPipe, which keeps two copies of the model, only where it is asked for. */
static emp_status try_schedules(planner *p, emp_degrees d, emp_error *err)
{
    choices schedules = only(EMP_ORDER_1F1B);

    if (d.vp > 1)
        schedules = only(EMP_ORDER_INTERLEAVED);
    else if (d.pp > 1)
        add_choice(&schedules, EMP_ORDER_ZERO_BUBBLE);
    schedules = of_spec(p, "schedule", d.schedule, schedules);
    if (p->spec->schedule[0] != '\0') schedules = only(d.schedule);
    for (int32_t i = 0; i < schedules.count; i++) {
        d.schedule = schedules.value[i];
        EMP_CHECK(try_recomputations(p, d, err));
    }
    return EMP_OK;
}

static emp_status try_micro_batches(planner *p, emp_degrees d, emp_error *err)
{
    const int32_t each = p->plan->batch / d.dp;
    const choices micro_batch =
        of_spec(p, "micro_batch", d.micro_batch, divisors(each, MICRO_BATCH_MAX));

    for (int32_t i = 0; i < micro_batch.count; i++) {
        d.micro_batch = micro_batch.value[i];
        if (each % d.micro_batch != 0) continue;
        d.micro_batches = each / d.micro_batch;
        if (emp_parallel_spec_has(p->spec, "micro_batches") &&
            d.micro_batches != p->spec->degrees.micro_batches)
            continue;
        EMP_CHECK(try_schedules(p, d, err));
    }
    return EMP_OK;
}

/* Layers that do not divide: embedding and loss count as one each, or the last part has fewer. \return false: neither
 * does. */
static bool set_uneven(emp_degrees *d, int32_t layers)
{
    const int32_t parts = d->pp * d->vp, each = (layers + 2) / parts;
    const int32_t most = (layers + parts - 1) / parts;

    if (layers % parts == 0) return true;
    if ((layers + 2) % parts == 0 && each > 1) {
        d->first = d->last = each - 1;
        return true;
    }
    d->last = layers - (parts - 1) * most;
    return d->vp == 1 && d->last > 0;
}

/* Parts on a stage: as many as divide its layers, where neither the spec nor a schedule's file states them. */
static emp_status try_virtual(planner *p, emp_degrees d, emp_error *err)
{
    const int32_t layers = p->spec->model.layer_count;
    choices       vp = only(1);

    const bool is_uneven =
        p->spec->degrees.stages[0] != '\0' || d.first > 0 || d.last > 0;

    if (d.pp > 1 && !is_uneven && p->spec->schedule[0] == '\0' &&
        !emp_parallel_spec_has(p->spec, "schedule"))
        vp = layers % d.pp == 0 ? divisors(layers / d.pp, EMP_CHUNKS_MAX / d.pp)
                                : divisors((layers + 2) / d.pp, EMP_CHUNKS_MAX / d.pp);
    vp = of_spec(p, "vp", d.vp, vp);
    for (int32_t i = 0; i < vp.count; i++) {
        emp_degrees here = d;
        here.vp = vp.value[i];
        if (!is_uneven && vp.count > 1 && !set_uneven(&here, layers)) continue;
        if (!is_uneven && vp.count == 1) (void)set_uneven(&here, layers);
        EMP_CHECK(try_micro_batches(p, here, err));
    }
    return EMP_OK;
}

static int32_t experts_of(const emp_transformer_model *m)
{
    int32_t experts = 0;

    for (int32_t l = 0; l < m->layer_count; l++)
        if (m->layer[l].experts > experts) experts = m->layer[l].experts;
    return experts;
}

static emp_status try_experts(planner *p, emp_degrees d, emp_error *err)
{
    const int32_t experts = experts_of(&p->spec->model), ranks = d.tp * d.cp * d.dp;
    const choices ep = of_spec(p, "ep", d.ep, divisors(experts, ranks));

    if (experts == 0 && !emp_parallel_spec_has(p->spec, "ep")) {
        d.ep = 1;
        return try_virtual(p, d, err);
    }
    for (int32_t i = 0; i < ep.count; i++) {
        d.ep = ep.value[i];
        if (ranks % d.ep == 0 || ep.count == 1) EMP_CHECK(try_virtual(p, d, err));
    }
    return EMP_OK;
}

static emp_status try_context(planner *p, emp_degrees d, emp_error *err)
{
    const int32_t rest = p->gpus / d.tp / d.pp;
    const int32_t most = d.sequence >= LONG_SEQUENCE ? CONTEXT_MAX : 1;
    const choices cp = of_spec(p, "cp", d.cp, divisors(rest, most));

    for (int32_t i = 0; i < cp.count; i++) {
        d.cp = cp.value[i];
        if (rest % d.cp != 0) continue;
        d.dp = rest / d.cp;
        if (emp_parallel_spec_has(p->spec, "dp") && d.dp != p->spec->degrees.dp) continue;
        if (p->plan->batch % d.dp != 0) continue;
        EMP_CHECK(try_experts(p, d, err));
    }
    return EMP_OK;
}

/* Fewer layers than stages are no plan. */
static emp_status try_all(planner *p, emp_error *err)
{
    emp_degrees   d = p->spec->degrees;
    const int32_t heads = p->spec->model.layer[0].heads;
    const choices tp =
        of_spec(p, "tp", d.tp,
                divisors(p->gpus, p->cluster->domain < 8 ? p->cluster->domain : 8));

    for (int32_t i = 0; i < tp.count; i++) {
        d.tp = tp.value[i];
        if (p->gpus % d.tp != 0 || (tp.count > 1 && heads % d.tp != 0)) continue;
        const choices pp =
            of_spec(p, "pp", d.pp, divisors(p->gpus / d.tp, p->spec->model.layer_count));
        for (int32_t k = 0; k < pp.count; k++) {
            d.pp = pp.value[k];
            if (p->gpus / d.tp % d.pp == 0) EMP_CHECK(try_context(p, d, err));
        }
    }
    return EMP_OK;
}

/* ---- the plan ---- */

static int by_time_then_memory(const void *a, const void *b)
{
    const emp_parallel_step *x = &((const emp_way *)a)->step;
    const emp_parallel_step *y = &((const emp_way *)b)->step;

    if (x->step_s != y->step_s) return x->step_s < y->step_s ? -1 : 1;
    return (x->peak_bytes > y->peak_bytes) - (x->peak_bytes < y->peak_bytes);
}

static int by_memory_then_time(const void *a, const void *b)
{
    const emp_parallel_step *x = &((const emp_way *)a)->step;
    const emp_parallel_step *y = &((const emp_way *)b)->step;

    if (x->peak_bytes != y->peak_bytes) return x->peak_bytes < y->peak_bytes ? -1 : 1;
    return (x->step_s > y->step_s) - (x->step_s < y->step_s);
}

static int32_t clamped(int64_t count)
{
    return count > INT32_MAX ? INT32_MAX : (int32_t)count;
}

/* Replicas that follow from the degrees of the spec, if they fill the GPUs or leave dp alone open; 0 = the plan searches them.
 * Context parallelism is searched for long sequences only. */
static int64_t known_replicas(const planner *p)
{
    const emp_parallel_spec *spec = p->spec;
    const emp_degrees       *d = &spec->degrees;
    const int64_t            each = (int64_t)d->tp * d->pp * d->cp;

    if (emp_parallel_spec_has(spec, "dp") || p->gpus == each) return d->dp;
    if (!emp_parallel_spec_has(spec, "tp") || !emp_parallel_spec_has(spec, "pp") ||
        (d->sequence >= LONG_SEQUENCE && !emp_parallel_spec_has(spec, "cp")) ||
        p->gpus % each != 0)
        return 0;
    return p->gpus / each;
}

/* Sequences of a step: what the spec says, or follows from its degrees, or four a GPU. */
static emp_status find_batch(int32_t *batch, const planner *p, emp_error *err)
{
    const emp_degrees *d = &p->spec->degrees;
    const int64_t      replicas = known_replicas(p);

    *batch = p->spec->batch > 0 ? p->spec->batch : SEQUENCES_A_GPU * p->gpus;
    if (p->spec->batch > 0 || !emp_parallel_spec_has(p->spec, "micro_batches"))
        return EMP_OK;
    if (replicas == 0)
        return EMP_ERROR(EMP_EINVAL,
                         "micro_batches=%d are of a replica, and the plan searches dp; "
                         "give batch= or dp=, too",
                         d->micro_batches);
    *batch = clamped((int64_t)d->micro_batches * d->micro_batch * replicas);
    return EMP_OK;
}

static emp_status refuse(const planner *p, emp_error *err)
{
    const emp_degrees *d = &p->spec->degrees;

    if (p->why[0] != '\0') return EMP_ERROR(EMP_EINVAL, "%s", p->why);
    return EMP_ERROR(
        EMP_EINVAL,
        "no degrees fit %d GPUs and %d sequences: tp x pp x cp x dp must be "
        "%d, and dp x micro_batch x micro_batches %d; the spec has tp=%d pp=%d "
        "cp=%d dp=%d",
        p->gpus, p->plan->batch, p->gpus, p->plan->batch, d->tp, d->pp, d->cp, d->dp);
}

emp_status emp_ways_find(emp_ways *out, const emp_parallel_spec *spec,
                         const emp_cluster *cluster, int32_t gpus, bool all_ranks,
                         emp_error *err)
{
    planner p = {.plan = out,
                 .spec = spec,
                 .cluster = cluster,
                 .gpus = gpus,
                 .all_ranks = all_ranks};

    if (gpus == 0) p.gpus = clamped(emp_degrees_gpus(&spec->degrees));
    if (p.gpus > cluster->gpus)
        return EMP_ERROR(EMP_EINVAL, "%d GPUs are wanted, and %s has %d", p.gpus,
                         cluster->name, cluster->gpus);
    EMP_CHECK(find_batch(&out->batch, &p, err));
    out->memory_bytes = (double)cluster->gpu.memory_bytes - EMP_PARALLEL_PROCESS_BYTES;
    EMP_CHECK(try_all(&p, err));
    if (out->count == 0 || (out->feasible == 0 && isinf(out->row[0].step.peak_bytes) &&
                            p.why[0] != '\0' && out->count == 1))
        return refuse(&p, err);
    emp_ways_sort(out);
    return EMP_OK;
}

void emp_ways_sort(emp_ways *plan)
{
    qsort(plan->row, (size_t)plan->count, sizeof *plan->row, by_time_then_memory);
    plan->tied = 0;
    for (int32_t begin = 0, end; begin < plan->feasible; begin = end) {
        const double most_s = plan->row[begin].step.step_s * (1.0 + EMP_PLAN_TIE_FRAC);
        for (end = begin; end < plan->feasible; end++)
            if (plan->row[end].step.step_s > most_s) break;
        qsort(&plan->row[begin], (size_t)(end - begin), sizeof *plan->row,
              by_memory_then_time);
        if (begin == 0) plan->tied = end;
    }
}

void emp_ways_clear(emp_ways *plan)
{
    emp_free(plan->row);
    *plan = (emp_ways){0};
}
