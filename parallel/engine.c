// SPDX-License-Identifier: GPL-3.0-or-later
#include "parallel/engine.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"

#define NEVER INT64_MIN

/* Where a rank is. */
typedef struct {
    int32_t task, part; /* within its stage, within the task */
    int64_t clock, start, busy;
    bool    is_queued;
    bool    is_meeting; /* it waits for the others of a group */
} rank_state;

/* The ranks of a group that have come to their next part. */
typedef struct {
    int32_t arrived;
    int64_t latest;
} meeting;

typedef struct {
    const emp_pipeline       *p;
    const emp_pipeline_order *s;
    int32_t                   n; /* ranks of a stage */
    rank_state               *rank;
    meeting                  *meeting; /* [(stage * groups + group) * n + instance] */
    int64_t      *done;  /* [((chunk * kinds + kind) * micro-batches + m) * n + place] */
    int32_t      *queue; /* ranks that may go on */
    int32_t       queued;
    emp_turn_run *run;
    int32_t       runs;
} simulation;

static int64_t *done_at(const simulation *x, int32_t kind, int32_t chunk, int32_t m,
                        int32_t place)
{
    return &x->done[(((int64_t)chunk * EMP_TURN_KINDS + kind) * x->s->micro_batches + m) *
                        x->n +
                    place];
}

static void push(simulation *x, int32_t rank)
{
    if (x->rank[rank].is_queued) return;
    x->rank[rank].is_queued = true;
    x->queue[x->queued++] = rank;
}

/* A message between neighbours, of which the last stage and the first are a pair. */
static int64_t send_ns_of(const emp_pipeline *p, int32_t a, int32_t b)
{
    const int32_t low = a < b ? a : b, high = a < b ? b : a;

    if (p->stage_send_ns == NULL) return p->send_ns;
    return p->stage_send_ns[high - low > 1 ? high : low];
}

/* When the pass that a task waits for has ended and its message is there; NEVER: not yet. */
static int64_t ready_at(const simulation *x, const emp_turn *t, int32_t place)
{
    const int32_t near =
        t->kind == EMP_TURN_FORWARD ? x->s->before[t->chunk] : x->s->behind[t->chunk];
    int32_t kind = t->kind, chunk = near;

    if (t->kind == EMP_TURN_WEIGHT) {
        kind = EMP_TURN_BACKWARD;
        chunk = t->chunk;
    } else if (near < 0) {
        if (t->kind == EMP_TURN_FORWARD) return 0;
        kind = EMP_TURN_FORWARD;
        chunk = t->chunk;
    }
    const int64_t end = *done_at(x, kind, chunk, t->micro_batch, place);
    if (end == NEVER) return NEVER;
    const int32_t from = x->s->stage_of[chunk], to = x->s->stage_of[t->chunk];
    return from == to ? end : end + send_ns_of(x->p, from, to);
}

static int32_t instance_of(const emp_group_shape *g, int32_t place)
{
    return place / (g->stride * g->size) * g->stride + place % g->stride;
}

/* Comes to a part with a group. \return whether the part is over; the last rank wakes the others. */
static bool meet(simulation *x, int32_t stage, int32_t place, const emp_part *part)
{
    const emp_group_shape *g = &x->p->shape[part->group];
    const int32_t          i = instance_of(g, place);
    meeting    *m = &x->meeting[((int64_t)stage * EMP_GROUPS + part->group) * x->n + i];
    rank_state *r = &x->rank[stage * x->n + place];

    if (m->arrived == 0 || r->clock > m->latest) m->latest = r->clock;
    r->is_meeting = true;
    if (++m->arrived < g->size) return false;
    const int64_t end = m->latest + part->ns;
    const int32_t base = i / g->stride * g->stride * g->size + i % g->stride;
    m->arrived = 0;
    for (int32_t k = 0; k < g->size; k++) {
        const int32_t other = stage * x->n + base + k * g->stride;
        x->rank[other].clock = end;
        x->rank[other].busy += part->ns;
        x->rank[other].part++;
        x->rank[other].is_meeting = false;
        if (base + k * g->stride != place) push(x, other);
    }
    return true;
}

/* Ranks of neighbouring chunks may have waited for a task. */
static void finish(simulation *x, int32_t stage, int32_t place, const emp_turn *t)
{
    rank_state   *r = &x->rank[stage * x->n + place];
    const int32_t to = t->kind == EMP_TURN_FORWARD    ? x->s->behind[t->chunk]
                       : t->kind == EMP_TURN_BACKWARD ? x->s->before[t->chunk]
                                                      : -1;

    *done_at(x, t->kind, t->chunk, t->micro_batch, place) = r->clock;
    if (x->run != NULL)
        x->run[x->runs++] = (emp_turn_run){stage * x->n + place, t->kind,  t->chunk,
                                           t->micro_batch,       r->start, r->clock};
    r->task++;
    r->part = -1;
    if (to < 0 || x->s->stage_of[to] == stage) return;
    if (x->s->is_blocking) r->clock += send_ns_of(x->p, stage, x->s->stage_of[to]);
    push(x, x->s->stage_of[to] * x->n + place);
}

/* A rank goes on until it waits. */
static void advance(simulation *x, int32_t rank)
{
    const int32_t stage = rank / x->n, place = rank % x->n;
    const int32_t count = x->s->first[stage + 1] - x->s->first[stage];
    rank_state   *r = &x->rank[rank];

    while (r->task < count && !r->is_meeting) {
        const emp_turn       *t = &x->s->task[x->s->first[stage] + r->task];
        const emp_pass_parts *pass = &x->p->pass[t->chunk * EMP_TURN_KINDS + t->kind];
        if (r->part < 0) {
            const int64_t ready = ready_at(x, t, place);
            if (ready == NEVER) return;
            if (ready > r->clock) r->clock = ready;
            r->start = r->clock;
            r->part = 0;
        }
        while (r->part < pass->count) {
            const emp_part *part = &pass->part[r->part];
            if (part->group != EMP_GROUP_NONE && x->n > 1 &&
                x->p->shape[part->group].size > 1) {
                if (!meet(x, stage, place, part)) return;
                continue;
            }
            r->clock += part->ns;
            r->busy += part->ns;
            r->part++;
        }
        finish(x, stage, place, t);
    }
}

static emp_status refuse(const simulation *x, emp_error *err)
{
    static const char names[] = "FBW";

    for (int32_t rank = 0; rank < x->s->stages * x->n; rank++) {
        const int32_t stage = rank / x->n, at = x->s->first[stage] + x->rank[rank].task;
        if (at >= x->s->first[stage + 1]) continue;
        return EMP_ERROR(
            EMP_EINVAL,
            "the schedule never ends: stage %d waits for ever before its task "
            "%d, %c%d",
            stage, x->rank[rank].task + 1, names[x->s->task[at].kind],
            x->s->task[at].micro_batch);
    }
    return EMP_OK;
}

static void gather_ends(emp_stage_end *stage, const simulation *x)
{
    for (int32_t s = 0; s < x->s->stages; s++) {
        stage[s] = (emp_stage_end){0, x->rank[s * x->n].busy};
        for (int32_t i = 0; i < x->n; i++)
            stage[s].end_ns =
                emp_time_later(stage[s].end_ns, x->rank[s * x->n + i].clock);
    }
}

emp_status emp_pipeline_run(emp_stage_end *stage, emp_turn_run *run,
                            const emp_pipeline *pipeline, emp_error *err)
{
    emp_status                st = EMP_OK;
    const emp_pipeline_order *s = pipeline->schedule;
    const int32_t             ranks = s->stages * pipeline->ranks;
    const size_t places = (size_t)s->chunks * EMP_TURN_KINDS * (size_t)s->micro_batches *
                          (size_t)pipeline->ranks;
    simulation x = {.p = pipeline, .s = s, .n = pipeline->ranks, .run = run};

    EMP_TRY(EMP_ALLOC(x.rank, (size_t)ranks));
    EMP_TRY(EMP_ALLOC(x.queue, (size_t)ranks));
    EMP_TRY(EMP_ALLOC(x.meeting, (size_t)ranks * EMP_GROUPS));
    EMP_TRY(EMP_ALLOC(x.done, places));
    for (size_t i = 0; i < places; i++) x.done[i] = NEVER;
    for (int32_t r = 0; r < ranks; r++) {
        x.rank[r].part = -1;
        push(&x, r);
    }
    while (x.queued > 0) {
        const int32_t rank = x.queue[--x.queued];
        x.rank[rank].is_queued = false;
        advance(&x, rank);
    }
    EMP_TRY(refuse(&x, err));
    gather_ends(stage, &x);

cleanup:
    emp_free(x.rank);
    emp_free(x.queue);
    emp_free(x.meeting);
    emp_free(x.done);
    return st;
}
