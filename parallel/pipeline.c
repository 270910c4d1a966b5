// SPDX-License-Identifier: GPL-3.0-or-later
#include "parallel/pipeline.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sim/machine/config.h"

/* ---- tasks ---- */

static emp_status add(emp_pipeline_order *s, emp_turn_kind kind, int32_t chunk,
                      int32_t micro_batch, emp_error *err)
{
    EMP_CHECK(EMP_GROW(s->task, (int64_t)s->count + 1, s->capacity));
    s->task[s->count++] = (emp_turn){(int32_t)kind, chunk, micro_batch};
    return EMP_OK;
}

/* Makes a schedule without passes, whose chunks go round the stages: chunk c is on stage c modulo pp. */
static emp_status begin(emp_pipeline_order *s, const emp_degrees *d, emp_error *err)
{
    memset(s, 0, sizeof *s);
    s->stages = d->pp;
    s->chunks = d->pp * d->vp;
    s->micro_batches = d->micro_batches;
    for (int32_t c = 0; c < s->chunks; c++) {
        s->stage_of[c] = c % d->pp;
        s->before[c] = c - 1;
        s->behind[c] = c + 1 < s->chunks ? c + 1 : -1;
    }
    return EMP_ALLOC(s->first, (size_t)d->pp + 1);
}

void emp_pipeline_order_clear(emp_pipeline_order *schedule)
{
    emp_free(schedule->first);
    emp_free(schedule->task);
    memset(schedule, 0, sizeof *schedule);
}

/* ---- one forward, one backward ---- */

/* With gradients of weights apart, stage s puts them off by s micro-batches. */
static emp_status fill_one_by_one(emp_pipeline_order *s, int32_t stage, bool has_weights,
                                  emp_error *err)
{
    const int32_t m = s->micro_batches, ahead = s->stages - 1 - stage;
    const int32_t warm = ahead < m ? ahead : m;
    int32_t       done = 0;

    for (int32_t i = 0; i < warm; i++) EMP_CHECK(add(s, EMP_TURN_FORWARD, stage, i, err));
    for (int32_t i = 0; i < m; i++) {
        if (warm + i < m) EMP_CHECK(add(s, EMP_TURN_FORWARD, stage, warm + i, err));
        EMP_CHECK(add(s, EMP_TURN_BACKWARD, stage, i, err));
        if (has_weights && i >= stage)
            EMP_CHECK(add(s, EMP_TURN_WEIGHT, stage, done++, err));
    }
    while (has_weights && done < m)
        EMP_CHECK(add(s, EMP_TURN_WEIGHT, stage, done++, err));
    return EMP_OK;
}

static emp_status fill_1f1b(emp_pipeline_order *s, int32_t stage, emp_error *err)
{
    return fill_one_by_one(s, stage, false, err);
}

/* ZB-H1 (Qi et al., Zero bubble pipeline parallelism, 2024): no stage keeps more than with 1F1B. */
static emp_status fill_zero_bubble(emp_pipeline_order *s, int32_t stage, emp_error *err)
{
    return fill_one_by_one(s, stage, true, err);
}

static emp_status fill_gpipe(emp_pipeline_order *s, int32_t stage, emp_error *err)
{
    for (int32_t i = 0; i < s->micro_batches; i++)
        EMP_CHECK(add(s, EMP_TURN_FORWARD, stage, i, err));
    for (int32_t i = 0; i < s->micro_batches; i++)
        EMP_CHECK(add(s, EMP_TURN_BACKWARD, stage, i, err));
    return EMP_OK;
}

/* ---- interleaved ---- */

/* Pass k of a stage (Narayanan et al., 2021): groups of pp micro-batches go through all its chunks, in order forward and
 * the other way round backward. The last group may be smaller. */
static emp_status add_interleaved(emp_pipeline_order *s, emp_turn_kind kind,
                                  int32_t stage, int32_t k, emp_error *err)
{
    const int32_t pp = s->stages, vp = s->chunks / pp;
    const int32_t group = k / (pp * vp), rest = s->micro_batches - group * pp;
    const int32_t width = rest < pp ? rest : pp, within = k - group * pp * vp;
    int32_t       part = within / width;

    if (kind == EMP_TURN_BACKWARD) part = vp - 1 - part;
    return add(s, kind, part * pp + stage, group * pp + within % width, err);
}

static emp_status fill_interleaved(emp_pipeline_order *s, int32_t stage, emp_error *err)
{
    const int32_t pp = s->stages, vp = s->chunks / pp, total = s->micro_batches * vp;
    int32_t       warm = (pp - stage - 1) * 2 + (vp - 1) * pp;

    if (warm > total || s->micro_batches == pp) warm = total;
    for (int32_t k = 0; k < warm; k++)
        EMP_CHECK(add_interleaved(s, EMP_TURN_FORWARD, stage, k, err));
    for (int32_t k = 0; k < total; k++) {
        if (warm + k < total)
            EMP_CHECK(add_interleaved(s, EMP_TURN_FORWARD, stage, warm + k, err));
        EMP_CHECK(add_interleaved(s, EMP_TURN_BACKWARD, stage, k, err));
    }
    return EMP_OK;
}

/* ---- DualPipe ---- */

/* Micro-batches of the first half enter at the first stage, the others at the last one, and each stage has a chunk of
 * either direction (DeepSeek-V3 technical report, 2024; the phases are those of its published program). */
typedef struct {
    emp_pipeline_order *s;
    int32_t             stage;
    int32_t             forward[2], backward[2]; /* passes done, by direction */
    int32_t             weight[2];               /* gradients of weights done */
    int32_t queue[EMP_CHUNKS_MAX], first, last;  /* directions whose weights wait */
} dual;

static int32_t chunk_of(const dual *t, int32_t phase, int32_t *micro_batch)
{
    const int32_t n = t->s->stages, way = t->stage >= n / 2 ? 1 - phase : phase;

    *micro_batch += way * (t->s->micro_batches / 2);
    return way == 0 ? t->stage : n + (n - 1 - t->stage);
}

static emp_status dual_forward(dual *t, int32_t phase, emp_error *err)
{
    int32_t       micro_batch = t->forward[phase]++;
    const int32_t chunk = chunk_of(t, phase, &micro_batch);

    return add(t->s, EMP_TURN_FORWARD, chunk, micro_batch, err);
}

static emp_status dual_weight(dual *t, int32_t phase, emp_error *err)
{
    int32_t       micro_batch = t->weight[phase]++;
    const int32_t chunk = chunk_of(t, phase, &micro_batch);

    return add(t->s, EMP_TURN_WEIGHT, chunk, micro_batch, err);
}

static emp_status dual_backward(dual *t, int32_t phase, bool is_late, emp_error *err)
{
    int32_t       micro_batch = t->backward[phase]++;
    const int32_t chunk = chunk_of(t, phase, &micro_batch);

    EMP_CHECK(add(t->s, EMP_TURN_BACKWARD, chunk, micro_batch, err));
    if (!is_late) return dual_weight(t, phase, err);
    t->queue[t->last++] = phase;
    return EMP_OK;
}

/* The weights that wait longest. */
static emp_status dual_late_weight(dual *t, emp_error *err)
{
    return t->first < t->last ? dual_weight(t, t->queue[t->first++], err) : EMP_OK;
}

static emp_status fill_dual(emp_pipeline_order *s, int32_t stage, emp_error *err)
{
    const int32_t n = s->stages, half = n / 2, m = s->micro_batches / 2;
    const int32_t rank = stage < half ? stage : n - 1 - stage, rest = half - rank - 1;
    dual          t = {.s = s, .stage = stage};

    for (int32_t i = 0; i < 2 * rest; i++) EMP_CHECK(dual_forward(&t, 0, err));
    for (int32_t i = 0; i <= rank; i++) {
        EMP_CHECK(dual_forward(&t, 0, err));
        EMP_CHECK(dual_forward(&t, 1, err));
    }
    for (int32_t i = 0; i < rest; i++) {
        EMP_CHECK(dual_backward(&t, 1, true, err));
        EMP_CHECK(dual_late_weight(&t, err));
        EMP_CHECK(dual_forward(&t, 1, err));
    }
    for (int32_t i = 0; i < m - n + rank + 1; i++) {
        EMP_CHECK(dual_forward(&t, 0, err));
        EMP_CHECK(dual_backward(&t, 1, false, err));
        EMP_CHECK(dual_forward(&t, 1, err));
        EMP_CHECK(dual_backward(&t, 0, false, err));
    }
    for (int32_t i = 0; i < rest; i++) {
        EMP_CHECK(dual_backward(&t, 1, false, err));
        EMP_CHECK(dual_forward(&t, 1, err));
        EMP_CHECK(dual_backward(&t, 0, false, err));
    }
    const int32_t late = (rank + 1) / 2; /* from here on weights wait */
    for (int32_t i = 0; i <= rank; i++) {
        EMP_CHECK(dual_backward(&t, 1, i > late || (i == late && rank % 2 == 1), err));
        EMP_CHECK(dual_backward(&t, 0, i >= late, err));
    }
    for (int32_t i = 0; i < rest; i++) {
        EMP_CHECK(dual_late_weight(&t, err));
        EMP_CHECK(dual_backward(&t, 0, true, err));
    }
    while (t.first < t.last) EMP_CHECK(dual_late_weight(&t, err));
    return EMP_OK;
}

static void turn_chunks(emp_pipeline_order *s)
{
    const int32_t n = s->stages;

    s->chunks = 2 * n;
    for (int32_t c = 0; c < n; c++) {
        s->stage_of[c] = c;
        s->stage_of[n + c] = n - 1 - c;
        s->before[c] = c - 1;
        s->before[n + c] = c == 0 ? -1 : n + c - 1;
        s->behind[c] = c + 1 < n ? c + 1 : -1;
        s->behind[n + c] = c + 1 < n ? n + c + 1 : -1;
    }
}

emp_status emp_pipeline_order_create(emp_pipeline_order *out, const emp_degrees *d,
                                     emp_error *err)
{
    static emp_status (*const fill[EMP_ORDERS])(emp_pipeline_order *, int32_t,
                                                emp_error *) = {
        [EMP_ORDER_1F1B] = fill_1f1b,
        [EMP_ORDER_INTERLEAVED] = fill_interleaved,
        [EMP_ORDER_ZERO_BUBBLE] = fill_zero_bubble,
        [EMP_ORDER_DUALPIPE] = fill_dual,
        [EMP_ORDER_GPIPE] = fill_gpipe};

    EMP_CHECK(begin(out, d, err));
    out->has_weights =
        d->schedule == EMP_ORDER_ZERO_BUBBLE || d->schedule == EMP_ORDER_DUALPIPE;
    out->is_blocking = d->schedule == EMP_ORDER_1F1B;
    if (d->schedule == EMP_ORDER_DUALPIPE) turn_chunks(out);
    for (int32_t stage = 0; stage < d->pp; stage++) {
        EMP_CHECK(fill[d->schedule](out, stage, err));
        out->first[stage + 1] = out->count;
    }
    return EMP_OK;
}

/* ---- schedules of one's own: YAML files ---- */

struct raw_schedule {
    char   **stages;
    unsigned stages_count;
};

static const cyaml_schema_value_t stage_schema = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char *, 0, CYAML_UNLIMITED)};
static const cyaml_schema_field_t schedule_fields[] = {
    CYAML_FIELD_SEQUENCE("stages", CYAML_FLAG_POINTER, struct raw_schedule, stages,
                         &stage_schema, 1, CYAML_UNLIMITED),
    CYAML_FIELD_END};
static const cyaml_schema_value_t schedule_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct raw_schedule, schedule_fields)};

static const char letters[] = "FBW";

/* Reads "F3" or "B0.1". \return false: it is no pass. */
static bool read_word(emp_turn *turn, const char *word, size_t length, int32_t stage,
                      const emp_degrees *d)
{
    const char *kind = strchr(letters, word[0]);
    char       *end;
    long        micro_batch, part = 0;

    if (kind == NULL || length < 2 || !isdigit((unsigned char)word[1])) return false;
    micro_batch = strtol(word + 1, &end, 10);
    if (*end == '.' && isdigit((unsigned char)end[1])) part = strtol(end + 1, &end, 10);
    if (end != word + length || micro_batch >= d->micro_batches || part >= d->vp)
        return false;
    *turn = (emp_turn){(int32_t)(kind - letters), (int32_t)part * d->pp + stage,
                       (int32_t)micro_batch};
    return true;
}

static emp_status read_stage(emp_pipeline_order *s, const emp_config *config,
                             const char *text, int32_t stage, const emp_degrees *d,
                             emp_error *err)
{
    while (*text != '\0') {
        const size_t length = strcspn(text, " \t\n");
        if (length > 0) {
            EMP_CHECK(EMP_GROW(s->task, (int64_t)s->count + 1, s->capacity));
            if (!read_word(&s->task[s->count], text, length, stage, d))
                return EMP_ERROR(
                    EMP_EFORMAT,
                    "%s: stage %d has \"%.*s\", want F, B or W and a "
                    "micro-batch from 0 to %d, and perhaps a part from .0 to "
                    ".%d",
                    config->path, stage, (int)length, text, d->micro_batches - 1,
                    d->vp - 1);
            s->has_weights |= s->task[s->count++].kind == EMP_TURN_WEIGHT;
        }
        text += length + (text[length] != '\0');
    }
    s->first[stage + 1] = s->count;
    return EMP_OK;
}

/* Each stage has each pass once. */
static emp_status check_stage(const emp_pipeline_order *s, const emp_config *config,
                              int32_t stage, const emp_degrees *d, emp_error *err)
{
    emp_status    st = EMP_OK;
    int32_t      *seen = NULL;
    const int32_t each = d->vp * d->micro_batches;

    EMP_TRY(EMP_ALLOC(seen, (size_t)EMP_TURN_KINDS * (size_t)each));
    for (int32_t i = s->first[stage]; i < s->first[stage + 1]; i++) {
        const emp_turn *t = &s->task[i];
        seen[t->kind * each + t->chunk / d->pp * d->micro_batches + t->micro_batch]++;
    }
    for (int32_t i = 0; i < EMP_TURN_KINDS * each; i++) {
        const int32_t kind = i / each, within = i % each;
        if (seen[i] == 1 || (kind == EMP_TURN_WEIGHT && !s->has_weights)) continue;
        EMP_FAIL(EMP_EFORMAT, "%s: stage %d has %c%d.%d %d times, want it once",
                 config->path, stage, letters[kind], within % d->micro_batches,
                 within / d->micro_batches, seen[i]);
    }

cleanup:
    emp_free(seen);
    return st;
}

emp_status emp_pipeline_order_load(emp_pipeline_order *out, const emp_degrees *d,
                                   const char *path, emp_error *err)
{
    emp_status                 st = EMP_OK;
    emp_config                 config = {0};
    const struct raw_schedule *raw;

    EMP_TRY(begin(out, d, err));
    EMP_TRY(emp_config_open(&config, path, &schedule_schema, err));
    raw = config.data;
    if (raw->stages_count != (unsigned)d->pp)
        EMP_FAIL(EMP_EFORMAT, "%s has %u stages, and pp is %d", path, raw->stages_count,
                 d->pp);
    for (int32_t stage = 0; stage < d->pp; stage++)
        EMP_TRY(read_stage(out, &config, raw->stages[stage], stage, d, err));
    for (int32_t stage = 0; stage < d->pp; stage++)
        EMP_TRY(check_stage(out, &config, stage, d, err));

cleanup:
    emp_config_close(&config);
    return st;
}

/* ---- a run ---- */

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
