// SPDX-License-Identifier: GPL-3.0-or-later
#include "parallel/plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/text.h"
#include "parallel/homes.h"

#define GIB 1073741824.0

enum { STAGES_MAX = 64, MICRO_BATCH_MAX = 8, SEQUENCES_A_GPU = 4, WHO_BYTES = 96 };

typedef struct {
    emp_ways                *plan;
    const emp_parallel_spec *spec;
    const emp_fleet         *fleet;
    int32_t                  gpus;
    int32_t                  order[EMP_FLEET_MAX]; /* of models along the pipeline */
    char why[EMP_PLAN_WHY_BYTES]; /* of the last degrees that do not divide */
} planner;

static double memory_of(const emp_cluster *c)
{
    return (double)c->gpu.memory_bytes - EMP_PARALLEL_PROCESS_BYTES;
}

static emp_status predict(emp_parallel_step *step, emp_stage_load *stage,
                          const planner *p, const emp_degrees *d,
                          const emp_cluster *const *stages, emp_error *err)
{
    return emp_parallel_predict(step,
                                &(emp_parallel){.cluster = p->fleet->all,
                                                .model = &p->spec->model,
                                                .degrees = d,
                                                .stage_cluster = stages,
                                                .loads = &p->spec->loads},
                                &(emp_parallel_options){.stage = stage}, err);
}

/* ---- rows ---- */

/* Adds a row; one with a fault has no time. */
static emp_status add_row(planner *p, const emp_way *way, emp_error *err)
{
    emp_ways *plan = p->plan;

    EMP_CHECK(EMP_GROW(plan->row, (int64_t)plan->count + 1, plan->capacity));
    emp_way *row = &plan->row[plan->count++];
    *row = *way;
    if (way->fault == EMP_WAY_FITS)
        plan->feasible++;
    else
        row->step.step_s = INFINITY;
    return EMP_OK;
}

/* Ways on the GPUs of one model only. Where none fits the degrees of the spec, other GPUs may. */
static emp_status add_alike(planner *p, const emp_cluster *kind, emp_error *err)
{
    emp_status       st = EMP_OK;
    emp_ways         ways = {0};
    emp_error        why = {0};
    const emp_status found = emp_ways_find(&ways, p->spec, kind, kind->gpus, false, &why);

    if (found == EMP_EINVAL) {
        snprintf(p->why, sizeof p->why, "%s", why.msg);
        goto cleanup;
    }
    if (found != EMP_OK) EMP_FAIL(found, "%s", why.msg);
    for (int32_t i = 0; i < ways.count; i++) {
        emp_way *way = &ways.row[i];
        snprintf(way->on, sizeof way->on, "%d %s", kind->gpus, kind->gpu.name);
        EMP_TRY(add_row(p, way, err));
    }

cleanup:
    emp_ways_clear(&ways);
    return st;
}

/* ---- layers of stages ---- */

/* How good a cut is: bytes that do not fit first, then time. */
typedef struct {
    double too_much, seconds;
} score;

static bool is_better(score a, score b)
{
    return a.too_much != b.too_much ? a.too_much < b.too_much
                                    : a.seconds < b.seconds * (1.0 - 1e-9);
}

typedef struct {
    planner           *p;
    emp_degrees        d;
    const emp_cluster *stage[STAGES_MAX];
    int32_t            layers[STAGES_MAX];
    emp_stage_load     load[STAGES_MAX];
    emp_parallel_step  step;
    score              score;
} cut;

static emp_status measure(cut *c, emp_error *err)
{
    emp_text to = {c->d.stages, EMP_STAGES_BYTES, 0};

    c->d.stages[0] = '\0';
    for (int32_t s = 0; s < c->d.pp; s++)
        emp_text_add(&to, "%s%d", s > 0 ? "/" : "", c->layers[s]);
    EMP_CHECK(predict(&c->step, c->load, c->p, &c->d, c->stage, err));
    c->score = (score){0.0, c->step.step_s};
    for (int32_t s = 0; s < c->d.pp; s++)
        c->score.too_much += fmax(0.0, c->load[s].peak_bytes - memory_of(c->stage[s]));
    return EMP_OK;
}

/* The stage that has least room, or else works longest. */
static int32_t worst_of(const cut *c)
{
    int32_t worst = 0;

    for (int32_t s = 1; s < c->d.pp; s++) {
        const double a = c->load[s].peak_bytes - memory_of(c->stage[s]);
        const double b = c->load[worst].peak_bytes - memory_of(c->stage[worst]);
        if (c->score.too_much > 0.0 ? a > b : c->load[s].busy_s > c->load[worst].busy_s)
            worst = s;
    }
    return worst;
}

/* Moves a layer from the worst stage to the one where it does best. \param[out] is_moved  false: no move helps. */
static emp_status move_layer(bool *is_moved, cut *c, emp_error *err)
{
    const int32_t from = worst_of(c);
    cut           best = *c;

    *is_moved = false;
    for (int32_t to = 0; c->layers[from] > 1 && to < c->d.pp; to++) {
        cut next = *c;
        if (to == from) continue;
        next.layers[from]--;
        next.layers[to]++;
        EMP_CHECK(measure(&next, err));
        if (!is_better(next.score, best.score)) continue;
        best = next;
        *is_moved = true;
    }
    if (*is_moved) *c = best;
    return EMP_OK;
}

/* Shares layers by the speeds of the stages, which an even cut tells, and then moves one after another. */
static emp_status balance(cut *c, emp_error *err)
{
    const int32_t layers = c->p->spec->model.layer_count, pp = c->d.pp;
    double        speed[STAGES_MAX], sum = 0.0;
    int32_t       left = layers;
    bool          is_moved = true;

    for (int32_t s = 0; s < pp; s++) c->layers[s] = layers / pp + (s < layers % pp);
    EMP_CHECK(measure(c, err));
    for (int32_t s = 0; s < pp; s++) {
        speed[s] = c->layers[s] / c->load[s].busy_s;
        sum += speed[s];
    }
    for (int32_t s = 0; s < pp; s++) {
        c->layers[s] = (int32_t)(layers * speed[s] / sum);
        if (c->layers[s] < 1) c->layers[s] = 1;
        left -= c->layers[s];
    }
    for (int32_t s = 0; left != 0; s = (s + 1) % pp) {
        const int32_t more = left > 0 ? 1 : c->layers[s] > 1 ? -1 : 0;
        c->layers[s] += more;
        left -= more;
    }
    EMP_CHECK(measure(c, err));
    while (is_moved) EMP_CHECK(move_layer(&is_moved, c, err));
    return EMP_OK;
}

static void describe_stages(char on[EMP_PLAN_ON_BYTES], const cut *c)
{
    const int32_t each = c->d.tp * c->d.cp * c->d.dp;
    emp_text      to = {on, EMP_PLAN_ON_BYTES, 0};

    on[0] = '\0';
    for (int32_t s = 0; s < c->d.pp; s++)
        emp_text_add(&to, "%s%d %s: %d", s > 0 ? ", " : "", each, c->stage[s]->gpu.name,
                     c->layers[s]);
    emp_text_add(&to, " layers");
}

/* Notes that a share of a way does not fit on GPUs of a model or on their host, unless another share does not already.
 * \param who  The stage or the GPUs. */
static void note_fit(emp_way *way, double peak_bytes, double host_bytes,
                     const emp_cluster *kind, const char *who)
{
    if (way->fault != EMP_WAY_FITS) return;
    if (host_bytes > (double)kind->host.memory_bytes) {
        way->fault = EMP_WAY_NEEDS_HOST;
        snprintf(way->why, sizeof way->why,
                 "needs %.1f GiB of %.1f GiB of host memory a GPU", host_bytes / GIB,
                 (double)kind->host.memory_bytes / GIB);
    } else if (peak_bytes > memory_of(kind)) {
        way->fault = EMP_WAY_NEEDS_MEMORY;
        snprintf(way->why, sizeof way->why, "%s needs %.1f GiB of %.1f GiB", who,
                 peak_bytes / GIB, memory_of(kind) / GIB);
    }
}

static emp_status add_cut(planner *p, cut *c, emp_error *err)
{
    emp_error why = {0};
    emp_way   way = {.shares = EMP_SHARES_LAYERS};
    char      who[WHO_BYTES];

    const emp_status st = balance(c, &why);
    if (st == EMP_EINVAL) {
        snprintf(p->why, sizeof p->why, "%s", why.msg);
        return EMP_OK;
    }
    if (st != EMP_OK) return EMP_ERROR(st, "%s", why.msg);
    way.degrees = c->d;
    way.step = c->step;
    describe_stages(way.on, c);
    for (int32_t s = 0; s < c->d.pp; s++) {
        snprintf(who, sizeof who, "stage %d on %s", s, c->stage[s]->gpu.name);
        note_fit(&way, c->load[s].peak_bytes, c->step.host_bytes, c->stage[s], who);
    }
    return add_row(p, &way, err);
}

/* The host keeps as much as it takes to fit. */
static emp_status add_pipeline(planner *p, const cut *c, emp_error *err)
{
    const int32_t feasible = p->plan->feasible;
    cut           here = *c;

    EMP_CHECK(add_cut(p, &here, err));
    for (int32_t i = 0; i < EMP_HOME_CHOICES && p->plan->feasible == feasible; i++) {
        here = *c;
        if (emp_homes_choose(&here.d, &emp_home_choices[i],
                             emp_parallel_spec_has(p->spec, "zero")))
            EMP_CHECK(add_cut(p, &here, err));
    }
    return EMP_OK;
}

/* ---- micro-batches of replicas ---- */

/* A model's replicas, and what they take: seconds = base + each x micro-batches. */
typedef struct {
    int32_t            replicas, micro_batches;
    double             base_s, each_s;
    const emp_cluster *stage[STAGES_MAX];
    emp_stage_load     load[STAGES_MAX];
    emp_parallel_step  step;
} crew;

typedef struct {
    crew    crew[EMP_FLEET_MAX];
    int32_t count, best[EMP_FLEET_MAX];
    double  best_s;
} crews;

/* Gives the rest of the micro-batches to the models from \a k on, near the shares by which all end at once. */
static void share(crews *c, int32_t k, int32_t left, double until_s)
{
    crew         *w = &c->crew[k];
    const double  ideal = (until_s - w->base_s) / w->each_s;
    const int32_t reach = c->crew[c->count - 1].replicas + 1;

    if (k + 1 == c->count) {
        double longest = 0.0;
        if (left < w->replicas || left % w->replicas != 0) return;
        w->micro_batches = left / w->replicas;
        for (int32_t i = 0; i < c->count; i++)
            longest = fmax(longest, c->crew[i].base_s +
                                        c->crew[i].each_s * c->crew[i].micro_batches);
        if (longest >= c->best_s) return;
        c->best_s = longest;
        for (int32_t i = 0; i < c->count; i++) c->best[i] = c->crew[i].micro_batches;
        return;
    }
    for (int32_t m = (int32_t)fmax(1.0, floor(ideal) - reach);
         m <= ideal + reach && (int64_t)m * w->replicas < left; m++) {
        w->micro_batches = m;
        share(c, k + 1, left - m * w->replicas, until_s);
    }
}

/* When all would end if micro-batches could be cut at will. */
static double even_end(const crews *c, int32_t micro_batches)
{
    double rates = 0.0, done = 0.0;

    for (int32_t i = 0; i < c->count; i++) {
        rates += c->crew[i].replicas / c->crew[i].each_s;
        done += c->crew[i].replicas * c->crew[i].base_s / c->crew[i].each_s;
    }
    return (micro_batches + done) / rates;
}

static emp_status time_crew(crew *w, const planner *p, emp_degrees d, emp_error *err)
{
    emp_parallel_step one;

    d.micro_batches = d.pp;
    EMP_CHECK(predict(&one, w->load, p, &d, w->stage, err));
    d.micro_batches = d.pp + 1;
    EMP_CHECK(predict(&w->step, w->load, p, &d, w->stage, err));
    w->each_s = w->step.pipeline_s - one.pipeline_s;
    w->base_s = one.pipeline_s - d.pp * w->each_s;
    return EMP_OK;
}

/* The step of all: the slowest pipeline, and behind it the slowest of each part. */
static void join_steps(emp_parallel_step *all, const crews *c)
{
    *all = c->crew[0].step;
    for (int32_t i = 1; i < c->count; i++) {
        const emp_parallel_step *s = &c->crew[i].step;
        const double             peak = fmax(all->peak_bytes, s->peak_bytes);
        emp_parallel_step        part = *all;
        if (s->pipeline_s > all->pipeline_s) *all = *s;
        all->reduce_s = fmax(part.reduce_s, s->reduce_s);
        all->update_s = fmax(part.update_s, s->update_s);
        all->gather_s = fmax(part.gather_s, s->gather_s);
        all->peak_bytes = peak;
    }
    all->step_s = all->pipeline_s + all->reduce_s + all->update_s + all->gather_s;
}

static emp_status fill_crews(crews *c, planner *p, emp_degrees *d, int32_t micro_batches,
                             emp_error *err)
{
    for (int32_t i = 0; i < c->count; i++) EMP_CHECK(time_crew(&c->crew[i], p, *d, err));
    c->best_s = INFINITY;
    share(c, 0, micro_batches, even_end(c, micro_batches));
    if (isinf(c->best_s))
        return EMP_ERROR(EMP_EINVAL,
                         "%d micro-batches cannot be shared out among the replicas",
                         micro_batches);
    for (int32_t i = 0; i < c->count; i++) {
        d->micro_batches = c->best[i];
        EMP_CHECK(
            predict(&c->crew[i].step, c->crew[i].load, p, d, c->crew[i].stage, err));
    }
    d->micro_batches = c->best[0];
    return EMP_OK;
}

/* Replicas of all models, with as many micro-batches as make them end together. */
static emp_status add_crews(planner *p, emp_degrees d, emp_error *err)
{
    crews         c = {.count = p->fleet->count};
    emp_error     why = {0};
    emp_way       way = {.shares = EMP_SHARES_MICRO_BATCHES};
    emp_text      to = {way.on, sizeof way.on, 0};
    const int32_t each = d.tp * d.cp * d.pp;

    d.dp = 0;
    for (int32_t i = 0; i < c.count; i++) {
        c.crew[i].replicas = p->fleet->kind[i]->gpus / each;
        d.dp += c.crew[i].replicas;
        for (int32_t s = 0; s < d.pp; s++) c.crew[i].stage[s] = p->fleet->kind[i];
    }
    if (emp_parallel_spec_has(p->spec, "dp") && d.dp != p->spec->degrees.dp)
        return EMP_OK;
    const emp_status st = fill_crews(&c, p, &d, p->plan->batch / d.micro_batch, &why);
    if (st == EMP_EINVAL) {
        snprintf(p->why, sizeof p->why, "%s", why.msg);
        return EMP_OK;
    }
    if (st != EMP_OK) return EMP_ERROR(st, "%s", why.msg);
    way.degrees = d;
    join_steps(&way.step, &c);
    for (int32_t i = 0; i < c.count; i++) {
        const emp_cluster       *kind = p->fleet->kind[i];
        const emp_parallel_step *step = &c.crew[i].step;
        emp_text_add(&to, "%s%d %s: %d", i > 0 ? ", " : "", kind->gpus, kind->gpu.name,
                     c.best[i]);
        note_fit(&way, step->peak_bytes, step->host_bytes, kind, kind->gpu.name);
    }
    emp_text_add(&to, " micro-batches");
    return add_row(p, &way, err);
}

static emp_status add_replicas(planner *p, emp_degrees d, emp_error *err)
{
    const int32_t feasible = p->plan->feasible;

    EMP_CHECK(add_crews(p, d, err));
    for (int32_t i = 0; i < EMP_HOME_CHOICES && p->plan->feasible == feasible; i++) {
        emp_degrees there = d;
        if (emp_homes_choose(&there, &emp_home_choices[i],
                             emp_parallel_spec_has(p->spec, "zero")))
            EMP_CHECK(add_crews(p, there, err));
    }
    return EMP_OK;
}

/* ---- degrees ---- */

static bool may_be(const planner *p, const char *key, int32_t given, int32_t value)
{
    return !emp_parallel_spec_has(p->spec, key) || given == value;
}

/* All models have GPUs for whole stages, or replicas, of so many. */
static bool divides(const planner *p, int32_t each)
{
    for (int32_t k = 0; k < p->fleet->count; k++)
        if (p->fleet->kind[k]->gpus % each != 0) return false;
    return true;
}

static emp_status try_orders(planner *p, emp_degrees d, int32_t placed, emp_error *err)
{
    const int32_t each = d.tp * d.cp * d.dp;
    cut           c = {.p = p, .d = d};
    int32_t       stage = 0;

    for (int32_t k = 0; placed < p->fleet->count && k < p->fleet->count; k++) {
        bool is_new = true;
        for (int32_t i = 0; i < placed; i++) is_new &= p->order[i] != k;
        p->order[placed] = k;
        if (is_new) EMP_CHECK(try_orders(p, d, placed + 1, err));
    }
    if (placed < p->fleet->count) return EMP_OK;
    for (int32_t i = 0; i < placed; i++)
        for (int32_t s = 0; s < p->fleet->kind[p->order[i]]->gpus / each; s++)
            c.stage[stage++] = p->fleet->kind[p->order[i]];
    return add_pipeline(p, &c, err);
}

static emp_status try_passes(planner *p, emp_degrees d, bool is_pipeline, emp_error *err)
{
    static const int32_t orders[] = {EMP_ORDER_1F1B, EMP_ORDER_ZERO_BUBBLE};

    for (int32_t r = EMP_RECOMPUTE_NONE; r <= EMP_RECOMPUTE_FULL; r++) {
        for (size_t i = 0; i < 2; i++) {
            d.recompute = r;
            d.schedule = orders[i];
            if (!may_be(p, "recompute", p->spec->degrees.recompute, r) ||
                (d.pp == 1 && i > 0) ||
                (d.pp > 1 &&
                 !may_be(p, "schedule", p->spec->degrees.schedule, orders[i])))
                continue;
            EMP_CHECK(is_pipeline ? try_orders(p, d, 0, err) : add_replicas(p, d, err));
        }
    }
    return EMP_OK;
}

static emp_status try_micro_batches(planner *p, emp_degrees d, bool is_pipeline,
                                    emp_error *err)
{
    const int32_t sequences = is_pipeline ? p->plan->batch / d.dp : p->plan->batch;

    for (int32_t m = 1; m <= MICRO_BATCH_MAX && m <= sequences; m++) {
        if (sequences % m != 0 ||
            !may_be(p, "micro_batch", p->spec->degrees.micro_batch, m))
            continue;
        d.micro_batch = m;
        d.micro_batches = sequences / m;
        EMP_CHECK(try_passes(p, d, is_pipeline, err));
    }
    return EMP_OK;
}

static emp_status try_degrees(planner *p, emp_error *err)
{
    const emp_degrees *given = &p->spec->degrees;
    emp_degrees        d = *given;

    for (d.tp = 1; d.tp <= p->gpus; d.tp++) {
        if (!may_be(p, "tp", given->tp, d.tp) || !divides(p, d.tp * d.cp)) continue;
        for (d.dp = 1; d.tp * d.cp * d.dp <= p->gpus; d.dp++) {
            d.pp = p->gpus / (d.tp * d.cp * d.dp);
            if (!divides(p, d.tp * d.cp * d.dp) || d.pp > STAGES_MAX ||
                d.pp > p->spec->model.layer_count || p->plan->batch % d.dp != 0 ||
                !may_be(p, "dp", given->dp, d.dp) || !may_be(p, "pp", given->pp, d.pp))
                continue;
            EMP_CHECK(try_micro_batches(p, d, true, err));
        }
        for (d.pp = 1; d.tp * d.cp * d.pp <= p->gpus; d.pp++)
            if (divides(p, d.tp * d.cp * d.pp) && may_be(p, "pp", given->pp, d.pp))
                EMP_CHECK(try_micro_batches(p, d, false, err));
    }
    return EMP_OK;
}

static emp_status check_spec(const emp_parallel_spec *spec, emp_error *err)
{
    static const char *const keys[] = {"vp",     "first",       "last",         "home",
                                       "update", "activations", "micro_batches"};
    const int32_t            order = spec->degrees.schedule;

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (emp_parallel_spec_has(spec, keys[i]))
            return EMP_ERROR(EMP_EINVAL,
                             "%s= is of GPUs that are alike; the machine's GPUs are of "
                             "several models",
                             keys[i]);
    if (order != EMP_ORDER_1F1B && order != EMP_ORDER_ZERO_BUBBLE)
        return EMP_ERROR(EMP_EINVAL, "GPUs of several models have schedule=1f1b or "
                                     "zero-bubble");
    if (spec->degrees.stages[0] == '\0' && spec->schedule[0] == '\0') return EMP_OK;
    return EMP_ERROR(EMP_EINVAL,
                     "stages= and files of schedules are of GPUs that are alike; a plan "
                     "for several models finds the layers of each stage");
}

emp_status emp_ways_find_mixed(emp_ways *out, const emp_parallel_spec *spec,
                               const emp_fleet *fleet, emp_error *err)
{
    planner           p = {.plan = out, .spec = spec, .fleet = fleet};
    emp_parallel_spec batched = *spec;

    EMP_CHECK(check_spec(spec, err));
    for (int32_t k = 0; k < fleet->count; k++) {
        p.gpus += fleet->kind[k]->gpus;
        out->memory_bytes = fmax(out->memory_bytes, memory_of(fleet->kind[k]));
    }
    out->batch = spec->batch > 0 ? spec->batch : SEQUENCES_A_GPU * p.gpus;
    batched.batch = out->batch;
    p.spec = &batched;
    for (int32_t k = 0; k < fleet->count; k++)
        EMP_CHECK(add_alike(&p, fleet->kind[k], err));
    EMP_CHECK(try_degrees(&p, err));
    if (out->count == 0)
        return EMP_ERROR(EMP_EINVAL, "%s",
                         p.why[0] != '\0' ? p.why
                                          : "no degrees fit the GPUs of all models");
    emp_ways_sort(out);
    return EMP_OK;
}
