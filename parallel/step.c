// SPDX-License-Identifier: GPL-3.0-or-later
#include "parallel/step.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "parallel/homes.h"

enum {
    HALF = 2,
    FLOAT = 4,
    LAYER_KINDS_MAX = 256,
    KIND_BITS = 64,
    SHADOWS_MAX = 512,
    WORKS_MAX = EMP_TRANSFORMER_LAYERS_MAX + 2 + 3 * EMP_MTP_MAX
};

/* ---- the parts of the model ---- */

/* Works of the kinds of layers; layers alike share one. */
typedef struct {
    const emp_transformer_layer *layer[LAYER_KINDS_MAX];
    const emp_cluster           *cluster[LAYER_KINDS_MAX];
    emp_work                     work[LAYER_KINDS_MAX];
    int32_t                      count;
    emp_work                     embedding, head, join, next_head;
} kinds;

/* A chunk's passes and bytes. */
typedef struct {
    emp_part *part[EMP_TURN_KINDS];
    int32_t   count[EMP_TURN_KINDS];
    /* parameters of a rank; of the first those of another stage's table and those that all tensor ranks have, of the second
     * those of experts that have copies */
    double   dense, expert, tables, whole, copies;
    double   activations, input, transient, late;
    uint64_t kinds[LAYER_KINDS_MAX / KIND_BITS]; /* bit k: it has layers of kind k */
    /* of one micro-batch: collectives that nothing hides, all kernels, those of attention, those that move data, and what the
     * host takes beyond */
    double exposed_s, compute_s, attention_s, moves_s, host_s;
    double link_s; /* likewise, copies to and from the host that nothing hides */
    double layer_activations; /* of the largest layer */
    double
        gathered; /* bytes of weights and gradients that are not in its GPU's memory but while a layer needs them */
} chunk;

/* All that a prediction has at hand. */
typedef struct {
    emp_parallel       p; /* of the degrees below */
    emp_degrees        d;
    int32_t            layers[EMP_CHUNKS_MAX];
    kinds             *kinds;
    double            *busiest;
    emp_pipeline_order schedule;
    chunk             *chunk; /* [chunks of the schedule] */
    emp_stage_end     *end;
} predictor;

/* The GPUs of a stage with the model and the degrees. */
static emp_parallel at_stage(const predictor *x, int32_t stage)
{
    emp_parallel p = x->p;

    if (p.stage_cluster != NULL) p.cluster = p.stage_cluster[stage];
    return p;
}

static bool is_alike(const emp_transformer_layer *a, const emp_transformer_layer *b)
{
    return a->heads == b->heads && a->kv_heads == b->kv_heads && a->inner == b->inner &&
           a->head_size == b->head_size && a->value_size == b->value_size &&
           a->window == b->window && a->experts == b->experts &&
           a->expert_inner == b->expert_inner && a->chosen == b->chosen &&
           a->shared_inner == b->shared_inner &&
           a->has_no_feed_forward == b->has_no_feed_forward;
}

/* Whether the busiest ranks of two layers have as many tokens. */
static bool is_as_busy(const predictor *x, const emp_transformer_layer *a,
                       const emp_transformer_layer *b)
{
    const emp_transformer_layer *first = x->p.model->layer;

    return x->busiest == NULL || x->busiest[a - first] == x->busiest[b - first];
}

/* Finds or makes the work of a layer on the GPUs of a stage, and notes its kind. */
static emp_status work_of(const emp_work **work, predictor *x, uint64_t *seen,
                          const emp_transformer_layer *layer, const emp_parallel *p,
                          emp_error *err)
{
    kinds *k = x->kinds;

    for (int32_t i = 0; i < k->count; i++) {
        if (k->cluster[i] != p->cluster || !is_alike(k->layer[i], layer) ||
            !is_as_busy(x, k->layer[i], layer))
            continue;
        *work = &k->work[i];
        seen[i / KIND_BITS] |= UINT64_C(1) << i % KIND_BITS;
        return EMP_OK;
    }
    if (k->count == LAYER_KINDS_MAX)
        return EMP_ERROR(EMP_EUNSUPPORTED, "layers of more than %d kinds",
                         LAYER_KINDS_MAX);
    k->layer[k->count] = layer;
    k->cluster[k->count] = p->cluster;
    emp_work_layer(&k->work[k->count], p, layer);
    seen[k->count / KIND_BITS] |= UINT64_C(1) << k->count % KIND_BITS;
    *work = &k->work[k->count++];
    return EMP_OK;
}

/* ---- passes ---- */

static int64_t ns_of(double seconds) { return llround(seconds * 1e9); }

/* Adds a pass. Where weights are passes of their own the backward pass leaves them out. */
static int64_t add_part(chunk *c, emp_turn_kind kind, emp_group group, double seconds)
{
    const int64_t ns = ns_of(seconds);
    emp_part     *last = c->count[kind] > 0 ? &c->part[kind][c->count[kind] - 1] : NULL;

    if (ns == 0) return 0;
    if (last != NULL && last->group == EMP_GROUP_NONE && group == EMP_GROUP_NONE)
        last->ns += ns;
    else
        c->part[kind][c->count[kind]++] = (emp_part){group, ns};
    return ns;
}

/* Returns what the GPU or its host takes, whichever is slower. */
static int64_t add_segments(chunk *c, emp_turn_kind kind, const emp_segments *s,
                            bool has_weights, double launch_s)
{
    int64_t gpu_ns = 0;

    for (int32_t i = 0; i < s->count; i++) {
        const emp_segment *g = &s->segment[i];
        const double       compute_s = g->compute_s + (has_weights ? 0.0 : g->weight_s);
        gpu_ns += add_part(c, kind, g->group, fmax(g->collective_s, compute_s));
        c->exposed_s += fmax(0.0, g->collective_s - compute_s);
        c->compute_s += g->compute_s + g->weight_s;
        if (has_weights) add_part(c, EMP_TURN_WEIGHT, EMP_GROUP_NONE, g->weight_s);
    }
    /* the host, where it is slower than the GPU */
    const int64_t host_ns = ns_of(s->launches * launch_s);
    c->attention_s += s->attention_s;
    c->moves_s += s->moves_s;
    if (host_ns <= gpu_ns) return gpu_ns;
    c->host_s += (double)(host_ns - gpu_ns) * 1e-9;
    add_part(c, kind, EMP_GROUP_NONE, (double)(host_ns - gpu_ns) * 1e-9);
    return host_ns;
}

/* The host's time to start a kernel. */
static double launch_of(const emp_parallel *p)
{
    return p->degrees->cuda_graphs ? 0.0 : p->cluster->launch_s;
}

static void count_work(chunk *c, const emp_work *w)
{
    c->layer_activations = fmax(c->layer_activations, w->activation_bytes);
    c->dense += w->dense_parameters;
    c->whole += w->whole_parameters;
    c->expert += w->expert_parameters;
    c->copies += w->copy_parameters;
    c->activations += w->activation_bytes;
    c->input += w->input_bytes;
    c->transient = fmax(c->transient, w->transient_bytes);
    c->late += w->late_bytes;
}

/* The parameters of a layer that replicas share out. */
static double shared_out(const predictor *x, const emp_work *w)
{
    return (x->p.shape[EMP_GROUP_DATA].size > 1 ? w->dense_parameters : 0.0) +
           (x->p.shape[EMP_GROUP_EXPERT_DATA].size > 1 ? w->expert_parameters : 0.0);
}

/* Layers that stream their weights have two buffers for them and two for gradients, both in half precision. Where replicas
 * share gradients out, a layer's is whole before it is summed and scattered; with ZeRO 3 weights are gathered for that layer and
 * the one that the backward pass comes to next (Zhao et al., PyTorch FSDP, VLDB 2023, section 3). */
static void count_gathered(chunk *c, const predictor *x, const emp_work *const *works,
                           int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        const emp_work *w = works[i];
        const double    here = shared_out(x, w);
        const double    next = i > 0 ? shared_out(x, works[i - 1]) : 0.0;
        if (x->d.home)
            c->gathered =
                fmax(c->gathered, 2.0 * (HALF + HALF) *
                                      (w->row_bytes > 0.0
                                           ? w->row_bytes / HALF
                                           : w->dense_parameters + w->expert_parameters));
        else if (x->d.zero > 1)
            c->gathered = fmax(
                c->gathered, HALF * here + (x->d.zero > 2 ? HALF * (here + next) : 0.0));
    }
}

/* The parts of a rank's parameters whose states, and whose weights, it keeps. */
static emp_rank_parameters shares_of(const predictor *x, double dense, double expert)
{
    const double all = dense + expert;
    const double part = dense / x->p.shape[EMP_GROUP_DATA].size +
                        expert / x->p.shape[EMP_GROUP_EXPERT_DATA].size;

    return (emp_rank_parameters){all, x->d.zero > 0 ? part : all,
                                 x->d.zero > 2 ? part : all};
}

/* Adds a pass of layers in their order, and what it waits for copies to and from the host. */
static void add_pass(chunk *c, const predictor *x, const emp_parallel *p,
                     const emp_work *const *works, int32_t count, emp_turn_kind kind)
{
    const bool     is_forward = kind == EMP_TURN_FORWARD;
    emp_layer_turn turn[WORKS_MAX] = {{0, 0, 0}};
    int64_t        ns = 0;

    for (int32_t i = 0; i < count; i++) {
        const emp_work           *w = works[is_forward ? i : count - 1 - i];
        const emp_rank_parameters n =
            shares_of(x, w->dense_parameters, w->expert_parameters);
        turn[i].compute_ns =
            add_segments(c, kind, is_forward ? &w->forward : &w->backward,
                         !is_forward && x->schedule.has_weights, launch_of(p));
        ns += turn[i].compute_ns;
        if (emp_homes_any(&x->d)) emp_homes_copies(&turn[i], p, w, &n, is_forward);
    }
    if (!emp_homes_any(&x->d)) return;
    const double waits_s = (double)(emp_homes_pass_ns(turn, count) - ns) * 1e-9;
    c->link_s += waits_s;
    add_part(c, kind, EMP_GROUP_NONE, waits_s);
}

/* The last of several stages keeps a copy of the embedding's table for a head that is tied to it, which counts the table
 * already, and for all layers that predict further tokens. */
static void add_table(chunk *c, const predictor *x)
{
    const emp_transformer_model *m = x->p.model;
    const double                 table =
        x->kinds->embedding.dense_parameters - (double)m->position_rows * m->hidden;

    if (x->d.pp == 1 || !(m->is_head_tied || x->d.mtp > 0)) return;
    c->tables += table;
    if (!m->is_head_tied) c->dense += table;
}

static double total_s(const chunk *c, emp_turn_kind kind)
{
    int64_t ns = 0;

    for (int32_t i = 0; i < c->count[kind]; i++) ns += c->part[kind][i].ns;
    return (double)ns * 1e-9;
}

/* The layers of part \a index of the model, with the embedding and the head at its ends. */
static emp_status fill_chunk(chunk *c, predictor *x, int32_t index, int32_t parts,
                             int32_t stage, emp_error *err)
{
    const emp_parallel           p = at_stage(x, stage);
    const emp_transformer_model *m = x->p.model;
    const emp_work              *works[WORKS_MAX];
    int32_t                      first = 0, count = 0, segments = 1;

    for (int32_t i = 0; i < index; i++) first += x->layers[i];
    if (index == 0) works[count++] = &x->kinds->embedding;
    for (int32_t l = first; l < first + x->layers[index]; l++)
        EMP_CHECK(work_of(&works[count++], x, c->kinds, &m->layer[l], &p, err));
    if (index == parts - 1) works[count++] = &x->kinds->head;
    for (int32_t i = 0; i < x->d.mtp && index == parts - 1; i++) {
        works[count++] = &x->kinds->join;
        EMP_CHECK(work_of(&works[count++], x, c->kinds, &m->layer[m->layer_count - 1], &p,
                          err));
        works[count++] = &x->kinds->next_head;
    }
    for (int32_t i = 0; i < count; i++)
        segments += works[i]->forward.count + works[i]->backward.count + 3;
    for (int32_t k = 0; k < EMP_TURN_KINDS; k++)
        EMP_CHECK(EMP_ALLOC(c->part[k], (size_t)segments));
    for (int32_t i = 0; i < count; i++) count_work(c, works[i]);
    count_gathered(c, x, works, count);
    if (index == parts - 1) add_table(c, x);
    add_pass(c, x, &p, works, count, EMP_TURN_FORWARD);
    add_pass(c, x, &p, works, count, EMP_TURN_BACKWARD);
    return EMP_OK;
}

static emp_status fill_chunks(predictor *x, emp_error *err)
{
    const int32_t parts = x->d.pp * x->d.vp;

    EMP_CHECK(EMP_ALLOC(x->kinds, 1));
    EMP_CHECK(EMP_ALLOC(x->chunk, (size_t)x->schedule.chunks));
    const emp_parallel first = at_stage(x, x->schedule.stage_of[0]);
    const emp_parallel last = at_stage(x, x->schedule.stage_of[parts - 1]);
    emp_work_embedding(&x->kinds->embedding, &first);
    emp_work_head(&x->kinds->head, &last);
    emp_work_join(&x->kinds->join, &last);
    emp_work_head(&x->kinds->next_head, &last);
    x->kinds->next_head.dense_parameters = 0.0; /* the head's */
    for (int32_t c = 0; c < x->schedule.chunks; c++)
        EMP_CHECK(
            fill_chunk(&x->chunk[c], x, c % parts, parts, x->schedule.stage_of[c], err));
    return EMP_OK;
}

bool emp_parallel_is_symmetric(const emp_parallel *p)
{
    for (int32_t kind = 0; kind < EMP_GROUPS; kind++)
        if (!p->shape[kind].is_alike) return false;
    return true;
}

/* ---- time ---- */

/* A message between a stage and the one behind it, by the links of their cluster, or of both where their GPUs differ. */
static int64_t send_ns_behind(const predictor *x, int32_t stage)
{
    const emp_parallel here = at_stage(x, stage);
    const emp_parallel next = at_stage(x, (stage + 1) % x->d.pp);

    return ns_of(
        emp_send_s(here.cluster == next.cluster ? &here : &x->p, emp_state_bytes(&x->p)));
}

static emp_status run_pipeline(predictor *x, const emp_parallel_options *options,
                               emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_pass_parts *pass = NULL;
    emp_turn_run   *run = NULL;
    int64_t        *sends = NULL;
    const int32_t   chunks = x->schedule.chunks;
    emp_pipeline    pipeline = {.schedule = &x->schedule};
    const bool      all = options != NULL && options->all_ranks;

    pipeline.ranks = all ? x->d.tp * x->d.cp * x->d.dp : 1;
    for (int32_t g = 0; g < EMP_GROUPS; g++) pipeline.shape[g] = x->p.shape[g];
    EMP_TRY(EMP_ALLOC(pass, (size_t)chunks * EMP_TURN_KINDS));
    EMP_TRY(EMP_ALLOC(sends, (size_t)x->d.pp));
    for (int32_t s = 0; s < x->d.pp; s++) sends[s] = send_ns_behind(x, s);
    pipeline.stage_send_ns = sends;
    for (int32_t c = 0; c < chunks; c++)
        for (int32_t k = 0; k < EMP_TURN_KINDS; k++)
            pass[c * EMP_TURN_KINDS + k] =
                (emp_pass_parts){x->chunk[c].part[k], x->chunk[c].count[k]};
    pipeline.pass = pass;
    EMP_TRY(EMP_ALLOC(x->end, (size_t)x->d.pp));
    if (options != NULL && options->run != NULL) {
        if ((int64_t)x->schedule.count * pipeline.ranks > INT32_MAX)
            EMP_FAIL(EMP_EINVAL, "%d passes on %d ranks of a stage are too many to draw",
                     x->schedule.count, pipeline.ranks);
        *options->run_count = x->schedule.count * pipeline.ranks;
        EMP_TRY(EMP_ALLOC(run, (size_t)*options->run_count));
    }
    EMP_TRY(emp_pipeline_run(x->end, run, &pipeline, err));
    if (options != NULL && options->run != NULL) {
        *options->run = run;
        run = NULL;
    }

cleanup:
    emp_free(run);
    emp_free(sends);
    emp_free(pass);
    return st;
}

/* Parameters of a stage. */
typedef struct {
    double dense, expert, tables, whole, copies;
} parameters;

static parameters parameters_of(const predictor *x, int32_t stage)
{
    parameters sum = {0.0, 0.0, 0.0, 0.0, 0.0};

    for (int32_t c = 0; c < x->schedule.chunks; c++) {
        if (x->schedule.stage_of[c] != stage) continue;
        sum.dense += x->chunk[c].dense;
        sum.expert += x->chunk[c].expert;
        sum.tables += x->chunk[c].tables;
        sum.whole += x->chunk[c].whole;
        sum.copies += x->chunk[c].copies;
    }
    return sum;
}

static double collective_s(const predictor *x, emp_link_kind kind, emp_group group,
                           double bytes)
{
    return emp_group_collective_s(&x->p, kind, group, bytes);
}

static double stream_s(const emp_parallel *p, double bytes)
{
    return emp_stream_s(p->cluster, EMP_STREAM_PLAIN, bytes);
}

/* Parameters whose states a rank updates. */
static double own_states(const predictor *x, const parameters *n)
{
    return shares_of(x, n->dense, n->expert).updated;
}

/* Gradients are summed in fp32 among replicas, those of an expert's copies among the ranks of experts, and with DualPipe then with those of the stage that has the same parts. */
static double reduce_of(const predictor *x, const parameters *n)
{
    const emp_link_kind kind =
        x->d.zero > 0 ? EMP_LINK_REDUCE_SCATTER : EMP_LINK_ALL_REDUCE;

    const double twin = x->d.schedule == EMP_ORDER_DUALPIPE
                            ? emp_send_s(&x->p, FLOAT * own_states(x, n))
                            : 0.0;

    return twin + collective_s(x, kind, EMP_GROUP_DATA, FLOAT * n->dense) +
           collective_s(x, kind, EMP_GROUP_EXPERT_DATA, FLOAT * n->expert) +
           collective_s(x, EMP_LINK_ALL_REDUCE, EMP_GROUP_EXPERT, FLOAT * n->copies);
}

static double gather_of(const predictor *x, const parameters *n)
{
    if (x->d.zero == 0) return 0.0;
    return collective_s(x, EMP_LINK_ALL_GATHER, EMP_GROUP_DATA, HALF * n->dense) +
           collective_s(x, EMP_LINK_ALL_GATHER, EMP_GROUP_EXPERT_DATA, HALF * n->expert);
}

/* The norm reads gradients, clipping reads and writes them; Adam reads gradient, weight and two moments in fp32, writes the
 * last three and the weight in half precision. Before that each rank sets all its gradients to zero, reads them to look for
 * NaN (Megatron-LM's check_for_nan_in_loss_and_grad, on by default) and divides them where replicas share them. */
static double update_of(const predictor *x, const parameters *n, int32_t stage)
{
    const emp_parallel p = at_stage(x, stage);
    const double       own = own_states(x, n), all = n->dense + n->expert;
    const bool         is_shared = x->p.shape[EMP_GROUP_DATA].size > 1;

    if (x->d.home) return emp_homes_update_s(&p, own);
    return 2.0 * stream_s(&p, FLOAT * all) +
           stream_s(&p, is_shared ? 2.0 * FLOAT * all : 0.0) + stream_s(&p, FLOAT * own) +
           stream_s(&p, 2.0 * FLOAT * own) +
           (x->d.update ? emp_homes_update_s(&p, own)
                        : stream_s(&p, (7.0 * FLOAT + HALF) * own));
}

/* Seconds of the longest pass of one micro-batch through a part of a stage. */
static double pass_of(const predictor *x, int32_t stage, emp_turn_kind kind)
{
    double longest = 0.0;

    for (int32_t c = 0; c < x->schedule.chunks; c++)
        if (x->schedule.stage_of[c] == stage)
            longest = fmax(longest, total_s(&x->chunk[c], kind));
    return longest;
}

/* The rest of a collective that so much work hides: at least its last bucket, which has no work beside it. Megatron-LM's
 * buckets are a tenth of most models' parameters on a rank, or less. */
#define LAST_BUCKET 0.1

static double beside(double collective_s, double work_s)
{
    return fmax(collective_s - work_s, LAST_BUCKET * collective_s);
}

/* Sums of gradients and gathers of weights of a stage, as far as nothing hides them. Assumed: a pass of one part of the model
 * hides them; what other parts of the stage would hide goes to messages and to collectives of other kinds. From ZeRO 2 on gradients are summed for
 * each micro-batch; with ZeRO 3 weights are gathered for each of its passes. */
static void exchanges_of(double *reduce, double *gather, const predictor *x,
                         int32_t stage)
{
    const parameters n = parameters_of(x, stage);
    const double     each = x->d.zero > 1 || x->d.home ? x->d.micro_batches : 1.0;
    const double     passes = x->d.zero > 2 ? 2.0 * x->d.micro_batches : 1.0;
    const double     backward =
        pass_of(x, stage, EMP_TURN_BACKWARD) + pass_of(x, stage, EMP_TURN_WEIGHT);
    const double forward = pass_of(x, stage, EMP_TURN_FORWARD);

    *reduce = each * reduce_of(x, &n);
    *gather = passes * gather_of(x, &n);
    if (x->d.overlap_gradients) *reduce = beside(*reduce, each * backward);
    if (x->d.overlap_parameters) *gather = beside(*gather, passes * forward);
}

/* The norm of all gradients and the loss are sums of single numbers over all ranks: within domains, and up and down a tree of
 * domains. */
static double sums_of_all_s(const predictor *x)
{
    const emp_cluster *c = x->p.cluster;
    const double gpus = (double)emp_degrees_gpus(&x->d), domains = ceil(gpus / c->domain);

    if (gpus == 1.0) return 0.0;
    return 2.0 * (c->link[EMP_LINK_ALL_REDUCE].latency_s +
                  2.0 * ceil(log2(domains)) * c->network.latency_s);
}

static void add_times(emp_parallel_step *out, const predictor *x)
{
    double reduced = 0.0, update = 0.0, gather = 0.0, last = 0.0, busy = 0.0;

    for (int32_t s = 0; s < x->d.pp; s++) {
        const parameters n = parameters_of(x, s);
        const double     end = (double)x->end[s].end_ns * 1e-9;
        double           reduce, here;
        exchanges_of(&reduce, &here, x, s);
        last = fmax(last, end);
        reduced = fmax(reduced, end + reduce);
        update = fmax(update, update_of(x, &n, s));
        gather = fmax(gather, here);
        busy += (double)x->end[s].busy_ns * 1e-9 / x->d.pp;
    }
    out->pipeline_s = last;
    out->reduce_s = reduced - last;
    update += sums_of_all_s(x);
    out->update_s = update;
    out->gather_s = gather;
    out->step_s = reduced + update + gather;
    out->bubble_frac = last > 0.0 ? 1.0 - busy / last : 0.0;
}

/* The shares of the time of the stage that works longest. */
static void add_shares(emp_parallel_step *out, const predictor *x)
{
    const double each =
        (double)x->d.micro_batches * x->d.pp * x->d.vp / x->schedule.chunks;
    int32_t stage = 0;

    for (int32_t s = 1; s < x->d.pp; s++)
        if (x->end[s].busy_ns > x->end[stage].busy_ns) stage = s;
    for (int32_t c = 0; c < x->schedule.chunks; c++) {
        const chunk *k = &x->chunk[c];
        if (x->schedule.stage_of[c] != stage) continue;
        out->exposed_s += each * k->exposed_s;
        out->attention_s += each * k->attention_s;
        out->moves_s += each * k->moves_s;
        out->host_s += each * k->host_s;
        out->link_s += each * k->link_s;
        out->products_s += each * (k->compute_s - k->attention_s - k->moves_s);
    }
    out->exposed_s += out->reduce_s + out->gather_s;
}

/* ---- memory ---- */

/* The most that layers of a stage need whole. */
static double gathered_of(const predictor *x, int32_t stage)
{
    double most = 0.0;

    for (int32_t c = 0; c < x->schedule.chunks; c++)
        if (x->schedule.stage_of[c] == stage) most = fmax(most, x->chunk[c].gathered);
    return most;
}

/* Weights, fp32 gradients and Adam's states: fp32 weights and two moments. fp8 weights are kept beside, twice. */
static double states_of(const predictor *x, const parameters *n, int32_t stage)
{
    const double dense = x->p.shape[EMP_GROUP_DATA].size;
    const double expert = x->p.shape[EMP_GROUP_EXPERT_DATA].size;
    const double weights = HALF + (x->d.is_fp8 ? 2.0 : 0.0);
    const double states = x->d.update ? 0.0 : 3.0 * FLOAT;

    if (x->d.home) return gathered_of(x, stage);
    return gathered_of(x, stage) +
           n->dense * (weights / (x->d.zero > 2 ? dense : 1.0) +
                       FLOAT / (x->d.zero > 1 ? dense : 1.0) +
                       states / (x->d.zero > 0 ? dense : 1.0)) +
           n->expert * (weights / (x->d.zero > 2 ? expert : 1.0) +
                        FLOAT / (x->d.zero > 1 ? expert : 1.0) +
                        states / (x->d.zero > 0 ? expert : 1.0));
}

/* The most that activations and what a backward pass needs take on a stage, by its order of passes.
 * \param[out] most  The part of activations, on the GPU or on the host. */
static double activations_of(double *most, const predictor *x, int32_t stage)
{
    const emp_pipeline_order *s = &x->schedule;
    double                    live = 0.0, peak = 0.0;

    for (int32_t i = s->first[stage]; i < s->first[stage + 1]; i++) {
        const emp_turn *t = &s->task[i];
        const chunk    *c = &x->chunk[t->chunk];
        const bool      is_last = t->kind == EMP_TURN_WEIGHT ||
                             (t->kind == EMP_TURN_BACKWARD && !s->has_weights);
        if (t->kind == EMP_TURN_FORWARD) live += c->activations;
        *most = fmax(*most, live);
        const double held = x->d.activations ? 2.0 * c->layer_activations : live;
        if (t->kind == EMP_TURN_BACKWARD)
            peak = fmax(peak, held + fmax(c->transient, c->late - c->activations));
        else
            peak = fmax(peak, held);
        if (is_last) live -= c->activations;
    }
    return peak;
}

static bool has_kind(const predictor *x, int32_t stage, int32_t kind)
{
    for (int32_t c = 0; c < x->schedule.chunks; c++)
        if (x->schedule.stage_of[c] == stage &&
            (x->chunk[c].kinds[kind / KIND_BITS] >> kind % KIND_BITS & 1) != 0)
            return true;
    return false;
}

/* One matrix of each shape, of all chunks of a stage. */
static double shadows_of(const predictor *x, int32_t stage)
{
    emp_shadow seen[SHADOWS_MAX];
    int32_t    count = 0;
    double     bytes = 0.0;

    for (int32_t k = 0; k < x->kinds->count; k++) {
        const emp_work *w = &x->kinds->work[k];
        for (int32_t i = 0; has_kind(x, stage, k) && i < w->shadow_count; i++) {
            bool is_new = true;
            for (int32_t j = 0; j < count; j++)
                is_new &=
                    seen[j].in != w->shadow[i].in || seen[j].out != w->shadow[i].out;
            if (!is_new || count == SHADOWS_MAX) continue;
            seen[count++] = w->shadow[i];
            bytes += HALF * w->shadow[i].in * w->shadow[i].out;
        }
    }
    return bytes;
}

/* The part of the experts on all ranks that are no copies. */
static double without_copies(const predictor *x)
{
    const emp_transformer_model *m = x->p.model;

    for (int32_t l = 0; l < m->layer_count; l++)
        if (m->layer[l].experts > 0)
            return (double)m->layer[l].experts / (m->layer[l].experts + x->d.redundant);
    return 1.0;
}

static void add_memory(emp_parallel_step *out, const predictor *x, emp_stage_load *stage)
{
    for (int32_t s = 0; s < x->d.pp; s++) {
        const parameters n = parameters_of(x, s);
        double           live = 0.0;
        const double     states = states_of(x, &n, s);
        const double     activations = activations_of(&live, x, s) + shadows_of(x, s);
        const emp_rank_parameters shares = shares_of(x, n.dense, n.expert);
        out->host_bytes = fmax(out->host_bytes, emp_homes_bytes(&x->d, &shares, live));
        out->parameters += ((n.dense - n.tables - n.whole) * x->d.tp + n.whole +
                            n.expert * without_copies(x) * x->d.etp * x->d.ep) *
                           x->d.pp * x->d.vp / x->schedule.chunks;
        if (stage != NULL) stage[s] = (emp_stage_load){0.0, states + activations};
        if (states + activations <= out->peak_bytes) continue;
        out->peak_bytes = states + activations;
        out->state_bytes = states;
        out->activation_bytes = activations;
        out->peak_stage = s;
    }
}

/* ---- all of it ---- */

static emp_status check_gpus(const predictor *x, emp_error *err)
{
    const int64_t gpus = emp_degrees_gpus(&x->d);

    if (gpus <= x->p.cluster->gpus) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL,
                     "tp x cp x dp x pp = %d x %d x %d x %d = %lld GPUs, and %s has %d",
                     x->d.tp, x->d.cp, x->d.dp, x->d.pp, (long long)gpus,
                     x->p.cluster->name, x->p.cluster->gpus);
}

/* Kernels of which nothing is known have no time. */
static emp_status check_known(const predictor *x, emp_error *err)
{
    for (int32_t c = 0; c < x->schedule.chunks; c++)
        if (isnan(x->chunk[c].compute_s))
            return EMP_ERROR(EMP_EUNSUPPORTED,
                             "nothing is known of products in %s on %s; want a GPU whose "
                             "model has a rate of that format",
                             x->d.is_fp8 ? "fp8" : "bf16",
                             at_stage(x, x->schedule.stage_of[c]).cluster->gpu.name);
    return EMP_OK;
}

/* Tokens of the busiest rank of each layer, unless all have as many. */
static emp_status fill_busiest(predictor *x, const emp_expert_loads *given,
                               emp_error *err)
{
    emp_status                   st = EMP_OK;
    emp_expert_loads             made = {0};
    const emp_transformer_model *m = x->p.model;
    const bool                   has_table = given != NULL && given->share != NULL;
    int32_t                      routed = 0, experts = 0, row = 0;

    for (int32_t l = 0; l < m->layer_count; l++)
        if (m->layer[l].experts > 0) routed++, experts = m->layer[l].experts;
    if (routed == 0 || (!has_table && x->d.skew <= 1 && x->d.redundant == 0))
        goto cleanup;
    if (has_table &&
        (given->experts != experts || (given->rows > 1 && given->rows != routed)))
        EMP_FAIL(
            EMP_EINVAL,
            "the table of loads has %d layers of %d experts, and the model has %d of "
            "%d; one row stands for all layers",
            given->rows, given->experts, routed, experts);
    if (!has_table && x->d.skew > 1)
        EMP_TRY(emp_expert_loads_make(&made, routed, experts, x->d.skew, err));
    EMP_TRY(EMP_ALLOC(x->busiest, (size_t)m->layer_count));
    for (int32_t l = 0; l < m->layer_count; l++) {
        const emp_expert_loads *loads = has_table ? given : &made;
        if (m->layer[l].experts == 0) continue;
        EMP_TRY(emp_expert_loads_busiest(
            &x->busiest[l], loads->share != NULL ? emp_expert_loads_of(loads, row) : NULL,
            experts, &x->d, err));
        row++;
    }
    x->p.busiest = x->busiest;

cleanup:
    emp_expert_loads_clear(&made);
    return st;
}

static void clear(predictor *x)
{
    for (int32_t c = 0; x->chunk != NULL && c < x->schedule.chunks; c++)
        for (int32_t k = 0; k < EMP_TURN_KINDS; k++) emp_free(x->chunk[c].part[k]);
    emp_free(x->chunk);
    emp_free(x->kinds);
    emp_free(x->busiest);
    emp_free(x->end);
    emp_pipeline_order_clear(&x->schedule);
}

emp_status emp_parallel_predict(emp_parallel_step *out, const emp_parallel *p,
                                const emp_parallel_options *options, emp_error *err)
{
    emp_status st = EMP_OK;
    predictor  x = {.d = *p->degrees};

    memset(out, 0, sizeof *out);
    EMP_TRY(emp_degrees_resolve(&x.d, x.layers, p->model, err));
    x.p = emp_parallel_of(p->cluster, p->model, &x.d);
    x.p.stage_cluster = p->stage_cluster;
    EMP_TRY(fill_busiest(&x, p->loads, err));
    EMP_TRY(check_gpus(&x, err));
    if (options != NULL && options->schedule_path != NULL)
        EMP_TRY(emp_pipeline_order_load(&x.schedule, &x.d, options->schedule_path, err));
    else
        EMP_TRY(emp_pipeline_order_create(&x.schedule, &x.d, err));
    EMP_TRY(emp_homes_check(&x.p, x.schedule.has_weights, err));
    EMP_TRY(fill_chunks(&x, err));
    EMP_TRY(check_known(&x, err));
    add_memory(out, &x, options != NULL ? options->stage : NULL);
    out->step_s = INFINITY;
    if (options != NULL && options->memory_bytes > 0.0 &&
        (out->peak_bytes > options->memory_bytes ||
         out->host_bytes > (double)p->cluster->host.memory_bytes))
        goto cleanup;
    EMP_TRY(run_pipeline(&x, options, err));
    add_times(out, &x);
    for (int32_t s = 0; options != NULL && options->stage != NULL && s < x.d.pp; s++)
        options->stage[s].busy_s = (double)x.end[s].busy_ns * 1e-9;
    add_shares(out, &x);
cleanup:
    clear(&x);
    return st;
}
