// SPDX-License-Identifier: GPL-3.0-or-later
#include "parallel/serving/serve.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "graphs/import/models/quantised.h"
#include "graphs/transformer/parts.h"
#include "graphs/transformer/stack.h"
#include "parallel/work.h"
#include "sim/cost/cost.h"

#define GIB 1073741824.0

enum { HALF = 2, FLOAT = 4 };

/* Sums over the ops of a layer, of the embedding or of the head on a rank. */
typedef struct {
    double seconds,
        expert_s; /* of all ops, and of those between router and combination */
    double weight_bytes, cache_bytes;
} part;

/* Layers of a pipeline, or several of them, for one group of sequences. */
typedef struct {
    double busy_s, exposed_s; /* of that, collectives and messages */
    double weight_bytes, cache_bytes;
    bool   has_head;
} stage;

/* A rank's share of the model for one group of sequences. */
typedef struct {
    part  *layer; /* [layers] */
    part   table, head;
    double layers_peak, head_peak; /* bytes of activations at once */
} share;

typedef struct {
    const emp_serving_case *c;
    emp_degrees             d;
    emp_parallel            p;
    emp_transformer_model
                model; /* of a rank; its layers are owned, all else is borrowed */
    emp_runtime runtime;
    int32_t     stage_layers[EMP_CHUNKS_MAX];
    int32_t     batch;  /* sequences of a replica */
    int32_t     group;  /* of these, those that pass the layers together */
    int32_t     groups; /* under way at once */
    int32_t     joined; /* replicas that share experts */
    share       share;
    stage      *before; /* [layers + 1] sums of the layers before */
} server;

/* ---- the model of a rank ---- */

static int32_t cut(int32_t size, int32_t ranks) { return (size + ranks - 1) / ranks; }

/* Ranks beyond the key-value heads have copies of them. Latent vectors are whole on each rank. */
static emp_status cut_model(server *s, emp_error *err)
{
    const emp_transformer_model *whole = &s->c->spec->model;
    emp_transformer_layer       *own;

    EMP_CHECK(emp_transformer_model_init(&s->model, whole->layer_count, err));
    own = s->model.layer;
    s->model = *whole;
    s->model.layer = own;
    s->model.vocabulary = cut(whole->vocabulary, s->d.tp);
    for (int32_t l = 0; l < whole->layer_count; l++) {
        own[l] = whole->layer[l];
        own[l].heads = cut(own[l].heads, s->d.tp);
        own[l].kv_heads = cut(own[l].kv_heads, s->d.tp);
        own[l].inner = cut(own[l].inner, s->d.tp);
        own[l].shared_inner = cut(own[l].shared_inner, s->d.tp);
        own[l].expert_inner = cut(own[l].expert_inner, s->d.etp);
    }
    return EMP_OK;
}

/* ---- ops ---- */

static part *part_of(share *sums, const emp_model_part *of)
{
    if (of->layer >= 0) return &sums->layer[of->layer];
    return of->kind == EMP_PART_EMBEDDING ? &sums->table : &sums->head;
}

static bool is_attention(const emp_graph *g, emp_op_id op)
{
    return g->op[op].cost->work == EMP_WORK_ATTENTION;
}

/* The time of an op on the cluster's GPU: its products may be faster than those that were measured on another model, and so may its
 * memory. */
static double on_own_gpu_s(const emp_cluster *c, const emp_op_cost *cost, double seconds)
{
    const double least = fmin(seconds, c->measured.kernel_minimum_s);
    const double rate = c->gpu.memory_bytes_per_s;
    const bool   is_product = cost->op_class == EMP_OP_GEMM;
    const double faster =
        is_product ? c->kernel_rate : rate / c->measured.memory_bytes_per_s;

    if (faster == 1.0) return seconds;
    const double bytes = (double)cost->bytes_read + (double)cost->bytes_written;
    return fmax(least + (seconds - least) / faster, is_product ? bytes / rate : 0.0);
}

/* Adds an op to its part. Experts are whole in the graph, and a rank of ep has its part of them. */
static void add_op(server *s, share *sums, const emp_graph *g, emp_op_id op)
{
    const emp_device    *gpu = &s->c->cluster->measured;
    const emp_model_part of = emp_model_part_of(g->name[op]);
    const bool           is_expert = emp_model_part_is_expert(&of);
    const double         bytes = (double)g->op[op].persistent_bytes;
    part                *to = part_of(sums, &of);

    if ((g->op[op].flags & EMP_OP_IS_CACHE) != 0)
        to->cache_bytes += bytes / s->d.cp;
    else
        to->weight_bytes += is_expert ? bytes / s->d.ep : bytes;
    if (g->op[op].is_folded || (g->op[op].kinds & EMP_KIND_GPU) == 0) return;
    double seconds = 1e-9 * (double)emp_cost_on_gpu(g->op[op].cost, g, op, gpu,
                                                    emp_runtime_events_of(&s->runtime))
                                .compute_ns;
    seconds = on_own_gpu_s(s->c->cluster, g->op[op].cost, seconds);
    const double least = fmin(seconds, gpu->kernel_minimum_s);
    const bool   is_prompt = s->c->spec->serving.phase == EMP_PHASE_PREFILL;
    if (is_expert) seconds = fmax(seconds / s->d.ep, least);
    if (is_prompt || is_attention(g, op)) seconds = fmax(seconds / s->d.cp, least);
    if (is_expert)
        to->expert_s += seconds;
    else
        to->seconds += seconds;
}

/* Bytes that an op makes anew. */
static double made_bytes(const emp_graph *g, emp_op_id op)
{
    double bytes = 0.0;

    if (g->op[op].is_alias || (g->op[op].flags & EMP_OP_IS_VARIABLE) != 0) return 0.0;
    for (int32_t t = g->output_offset[op]; t < g->output_offset[op + 1]; t++)
        if (!g->tensor[t].on_host) bytes += (double)g->tensor[t].bytes;
    return bytes;
}

/* Releases what the op reads for the last time. A view lives as long as what it is a view of. */
static double read_for_good(int32_t *readers, const int32_t *root, const emp_graph *g,
                            emp_op_id op)
{
    double bytes = 0.0;

    for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++) {
        const int32_t   t = root[g->input[i]];
        const emp_op_id from = g->tensor[t].producer;
        if (--readers[t] > 0 || (g->op[from].flags & EMP_OP_IS_VARIABLE) != 0) continue;
        bytes += g->tensor[t].on_host ? 0.0 : (double)g->tensor[t].bytes;
    }
    return bytes;
}

/* Finds what activations need at once, in layers and in the head, when ops run one after another. */
static emp_status find_peaks(share *sums, const emp_graph *g, emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t   *readers = NULL, *root = NULL;
    double     live = 0.0;

    EMP_TRY(EMP_ALLOC(readers, (size_t)g->tensor_count));
    EMP_TRY(EMP_ALLOC(root, (size_t)g->tensor_count));
    for (int32_t i = 0; i < g->op_count; i++) {
        const emp_op_id op = g->topo[i];
        for (int32_t t = g->output_offset[op]; t < g->output_offset[op + 1]; t++) {
            const bool is_view = g->op[op].is_alias && t == g->output_offset[op];
            root[t] = is_view ? root[g->input[g->input_offset[op]]] : t;
            readers[root[t]] += g->consumer_offset[t + 1] - g->consumer_offset[t];
        }
    }
    for (int32_t i = 0; i < g->op_count; i++) {
        const emp_op_id      op = g->topo[i];
        const emp_model_part of = emp_model_part_of(g->name[op]);
        double *peak = of.layer >= 0 || of.kind == EMP_PART_EMBEDDING ? &sums->layers_peak
                                                                      : &sums->head_peak;
        live += made_bytes(g, op);
        *peak = fmax(*peak, live + (double)g->op[op].cost->workspace_bytes);
        live -= read_for_good(readers, root, g, op);
    }

cleanup:
    emp_free(readers);
    emp_free(root);
    return st;
}

static emp_transformer_step step_of(const server *s, int32_t sequences)
{
    const emp_serving *v = &s->c->spec->serving;

    return (emp_transformer_step){.phase = (emp_transformer_phase)v->phase,
                                  .batch = sequences,
                                  .sequence = s->d.sequence,
                                  .dtype = s->c->spec->files.dtype == EMP_DTYPE_HALF
                                               ? EMP_DTYPE_HALF
                                               : EMP_DTYPE_BFLOAT16,
                                  .cache_dtype = emp_cache_dtype_of(v->cache_dtype),
                                  .ahead = 1};
}

/* Sums up the ops of a rank for so many sequences. */
static emp_status measure(server *s, share *sums, int32_t sequences, emp_error *err)
{
    emp_status                 st = EMP_OK;
    const emp_parallel_spec   *spec = s->c->spec;
    const emp_transformer_step step = step_of(s, sequences);
    emp_graph                 *g = NULL;
    emp_quantised              quantised = emp_quantised_read(
                     spec->files.config.root, emp_quantised_of_file(&spec->files.quant));
    const emp_weight_types types = {emp_quantised_find_type, &quantised};

    if (spec->serving.quant > 0)
        quantised = emp_quantised_named(spec->serving.quant - 1, &spec->model);
    quantised.model = &spec->model;
    EMP_TRY(EMP_ALLOC(sums->layer, (size_t)s->model.layer_count));
    EMP_TRY(emp_transformer_graph_create(&g, &s->model, &step, &types, err));
    for (emp_op_id op = 0; op < g->op_count; op++) add_op(s, sums, g, op);
    EMP_TRY(find_peaks(sums, g, err));

cleanup:
    emp_graph_destroy(g);
    return st;
}

/* Experts see the tokens of all replicas that share them. */
static emp_status measure_all(server *s, emp_error *err)
{
    emp_status st = EMP_OK;
    share      joined = {.layer = NULL};

    EMP_TRY(measure(s, &s->share, s->group, err));
    if (s->joined == 1) goto cleanup;
    EMP_TRY(measure(s, &joined, s->group * s->joined, err));
    for (int32_t l = 0; l < s->model.layer_count; l++)
        s->share.layer[l].expert_s = joined.layer[l].expert_s;

cleanup:
    emp_free(joined.layer);
    return st;
}

/* ---- collectives ---- */

static double tokens_of(const server *s)
{
    const double sequences = s->group;

    return s->c->spec->serving.phase == EMP_PHASE_DECODE
               ? sequences
               : sequences * s->d.sequence / s->d.cp;
}

static double collective_s(const server *s, emp_link_kind kind, emp_group group,
                           double bytes)
{
    return emp_group_collective_s(&s->p, kind, group, bytes);
}

/* Tokens to the ranks of their experts, and back. Ranks of one replica have all its tokens already, and sum what their experts
 * make of them with the layer's sum. */
static double dispatch_s(const server *s, const emp_transformer_layer *l)
{
    const double tokens = tokens_of(s), h = s->model.hidden;

    if (l->experts == 0 || s->joined == 1) return 0.0;
    const double sent = tokens / s->d.tp * l->chosen * h * HALF;
    const double all = tokens * s->joined / s->d.ep * h * HALF;
    return 2.0 * collective_s(s, EMP_LINK_ALL_TO_ALL, EMP_GROUP_EXPERT, sent) +
           collective_s(s, EMP_LINK_ALL_GATHER, EMP_GROUP_EXPERT_TENSOR, all) +
           collective_s(s, EMP_LINK_REDUCE_SCATTER, EMP_GROUP_EXPERT_TENSOR, all);
}

/* Ranks that share a sequence's cache join what they attended to: sums and values of each head in fp32; those that share a
 * prompt gather its keys and values. */
static double context_s(const server *s, const emp_transformer_layer *l, const part *of)
{
    if (s->d.cp == 1) return 0.0;
    if (s->c->spec->serving.phase == EMP_PHASE_PREFILL)
        return collective_s(s, EMP_LINK_ALL_GATHER, EMP_GROUP_CONTEXT,
                            of->cache_bytes * s->d.cp);
    return collective_s(s, EMP_LINK_ALL_REDUCE, EMP_GROUP_CONTEXT,
                        tokens_of(s) * l->heads * (l->value_size + 1.0) * FLOAT);
}

/* A sum behind attention and one behind the feed-forward part, or one behind both. */
static double layer_collectives_s(const server *s, int32_t number)
{
    const emp_transformer_layer *l = &s->model.layer[number];
    const double                 bytes = tokens_of(s) * s->model.hidden * HALF;
    const bool                   is_parallel =
        s->model.places == EMP_NORMS_PARALLEL || s->model.places == EMP_NORMS_PARALLEL_2;
    const int32_t parts = (l->mixer != EMP_MIXER_NONE) + !l->has_no_feed_forward;
    const double  sum_s = collective_s(s, EMP_LINK_ALL_REDUCE, EMP_GROUP_TENSOR, bytes);

    return sum_s * (is_parallel ? 1 : parts) + dispatch_s(s, l) +
           context_s(s, l, &s->share.layer[number]);
}

static double table_collectives_s(const server *s)
{
    return collective_s(s, EMP_LINK_ALL_REDUCE, EMP_GROUP_TENSOR,
                        tokens_of(s) * s->model.hidden * HALF);
}

static double head_collectives_s(const server *s)
{
    return collective_s(s, EMP_LINK_ALL_GATHER, EMP_GROUP_TENSOR,
                        (double)s->group * s->model.vocabulary * s->d.tp * HALF);
}

/* ---- cuts of layers into stages that follow one another ---- */

/* The cost of layers [first, first + count) as one stage, above zero; INFINITY: they do not fit. */
typedef double (*stage_cost)(const void *context, int32_t first, int32_t count);

typedef struct {
    int32_t     layers, stages, most; /* layers of a stage */
    stage_cost  cost;
    const void *context;
    double      limit; /* of a stage's cost; INFINITY: the costliest one counts */
    double     *best; /* [stage][layers]: of the first layers in so many stages and one */
    int32_t    *last; /* likewise: layers of the last of these stages */
} search;

static size_t cell(const search *x, int32_t number, int32_t layers)
{
    return (size_t)number * ((size_t)x->layers + 1) + (size_t)layers;
}

/* The value of a cut with one stage more. */
static double with_stage(const search *x, double before, double cost)
{
    if (isinf(x->limit)) return fmax(before, cost);
    return cost > x->limit ? INFINITY : before + cost * cost;
}

/* Fills the table for the first layers in number + 1 stages. */
static void fill(search *x, int32_t number, int32_t layers)
{
    double *best = &x->best[cell(x, number, layers)];

    *best = INFINITY;
    for (int32_t count = 1; count <= x->most && count <= layers; count++) {
        const int32_t first = layers - count;
        if (number == 0 && first > 0) continue;
        const double before = number == 0 ? 0.0 : x->best[cell(x, number - 1, first)];
        if (isinf(before)) continue;
        const double value = with_stage(x, before, x->cost(x->context, first, count));
        if (!(value < *best)) continue;
        *best = value;
        x->last[cell(x, number, layers)] = count;
    }
}

static double solve(search *x)
{
    for (int32_t number = 0; number < x->stages; number++)
        for (int32_t layers = 0; layers <= x->layers; layers++) fill(x, number, layers);
    return x->best[cell(x, x->stages - 1, x->layers)];
}

/* Finds the cut whose costliest stage costs least, and among such cuts one whose squared costs have the least sum. Each
 * stage has one layer at least and about three times the mean at most. O(layers^2).
 * \param[out] stage_layers  [stages]; untouched where no cut fits.
 * \param[out] fits          False: no cut does.
 * \retval EMP_ENOMEM */
static emp_status cut_layers(int32_t *stage_layers, bool *fits, int32_t layers,
                             int32_t stages, stage_cost cost, const void *context,
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
    for (int32_t number = stages - 1, rest = layers; number >= 0; number--) {
        stage_layers[number] = x.last[cell(&x, number, rest)];
        rest -= stage_layers[number];
    }

cleanup:
    emp_free(x.best);
    emp_free(x.last);
    return st;
}

/* ---- stages ---- */

static void add_part(stage *to, const part *from, double collectives_s)
{
    to->busy_s += from->seconds + from->expert_s + collectives_s;
    to->exposed_s += collectives_s;
    to->weight_bytes += from->weight_bytes;
    to->cache_bytes += from->cache_bytes;
}

/* Sums up the layers before each. */
static emp_status add_layers(server *s, emp_error *err)
{
    EMP_CHECK(EMP_ALLOC(s->before, (size_t)s->model.layer_count + 1));
    for (int32_t l = 0; l < s->model.layer_count; l++) {
        s->before[l + 1] = s->before[l];
        add_part(&s->before[l + 1], &s->share.layer[l], layer_collectives_s(s, l));
    }
    return EMP_OK;
}

/* A stage with these layers, and the embedding or the head at its ends. A pipeline has a table that is tied to the head twice. */
static stage stage_with(const server *s, int32_t first, int32_t count)
{
    const stage *begin = &s->before[first], *end = &s->before[first + count];
    stage        of = {.busy_s = s->runtime.events.step_s + end->busy_s - begin->busy_s,
                       .exposed_s = end->exposed_s - begin->exposed_s,
                       .weight_bytes = end->weight_bytes - begin->weight_bytes,
                       .cache_bytes = end->cache_bytes - begin->cache_bytes};

    if (first == 0) add_part(&of, &s->share.table, table_collectives_s(s));
    if (first + count == s->model.layer_count) {
        add_part(&of, &s->share.head, head_collectives_s(s));
        of.has_head = true;
        if (s->model.is_head_tied && s->d.pp > 1)
            of.weight_bytes += s->share.table.weight_bytes;
    } else {
        const double send_s = emp_send_s(&s->p, tokens_of(s) * s->model.hidden * HALF);
        of.busy_s += send_s;
        of.exposed_s += send_s;
    }
    return of;
}

static stage stage_of(const server *s, int32_t number)
{
    int32_t first = 0;

    for (int32_t i = 0; i < number; i++) first += s->stage_layers[i];
    return stage_with(s, first, s->stage_layers[number]);
}

/* ---- memory ---- */

static int32_t groups_of(const server *s, int32_t batch)
{
    return batch < s->d.pp ? batch : s->d.pp;
}

/* Bytes of activations of a stage: those of a chunk of prompts or of a group's tokens (prefill: the lesser, decode: the
 * greater), or the logits of a group if these are more. */
static double activations_of(const server *s, const stage *of, int32_t batch)
{
    const int32_t group = cut(batch, groups_of(s, batch));
    const bool    is_prompt = s->c->spec->serving.phase == EMP_PHASE_PREFILL;
    const double  tokens = tokens_of(s), chunk = s->c->spec->serving.chunk;
    const double  own = tokens * group / s->group;
    const double  together = is_prompt ? fmin(own, chunk) : fmax(own, chunk);
    const double  layers = s->share.layers_peak / tokens / (is_prompt ? s->d.cp : 1);
    const double  head = of->has_head ? s->share.head_peak / s->group * group : 0.0;

    return fmax(layers * together, head);
}

static double memory_of(const server *s, const stage *of, int32_t batch)
{
    return of->weight_bytes + of->cache_bytes / s->group * batch +
           activations_of(s, of, batch);
}

/* The greatest batch of a replica with which a stage fits; 0 = none. */
static int32_t most_of_stage(const server *s, const stage *of)
{
    int32_t low = 0, high = EMP_SERVING_BATCH_MAX / s->d.dp;

    while (low < high) {
        const int32_t batch = low + (high - low + 1) / 2;
        if (memory_of(s, of, batch) <= s->c->memory_bytes)
            low = batch;
        else
            high = batch - 1;
    }
    return low;
}

static int32_t most_of(const server *s)
{
    int32_t most = INT32_MAX;

    for (int32_t i = 0; i < s->d.pp; i++) {
        const stage   of = stage_of(s, i);
        const int32_t here = most_of_stage(s, &of);
        if (here < most) most = here;
    }
    return most;
}

/* ---- cuts ---- */

/* The time of a stage that fits. */
static double time_cost(const void *context, int32_t first, int32_t count)
{
    const server *s = context;
    const stage   of = stage_with(s, first, count);

    return s->c->memory_bytes > 0.0 && memory_of(s, &of, s->batch) > s->c->memory_bytes
               ? INFINITY
               : of.busy_s;
}

static double plain_time_cost(const void *context, int32_t first, int32_t count)
{
    return stage_with(context, first, count).busy_s;
}

/* The inverse of the sequences that a stage has room for. */
static double room_cost(const void *context, int32_t first, int32_t count)
{
    const server *s = context;
    const stage   of = stage_with(s, first, count);
    const int32_t most = most_of_stage(s, &of);

    return most > 0 ? 1.0 / most : INFINITY;
}

/* Cuts layers so that the longest stage is shortest, or so that most sequences fit, where the spec does not say it. If nothing
 * fits, time decides. */
static emp_status cut_stages(server *s, emp_error *err)
{
    const emp_degrees *d = &s->d;
    const stage_cost   cost = s->c->goal == EMP_SERVING_BATCH ? room_cost : time_cost;
    const int32_t      layers = s->model.layer_count;
    bool               fits = true;

    if (d->pp == 1 || d->stages[0] != '\0' || d->first > 0 || d->last > 0) return EMP_OK;
    EMP_CHECK(cut_layers(s->stage_layers, &fits, layers, d->pp, cost, s, err));
    if (fits) return EMP_OK;
    return cut_layers(s->stage_layers, &fits, layers, d->pp, plain_time_cost, s, err);
}

/* ---- all of it ---- */

static void add_memory(emp_serving_step *out, const server *s, const stage *of,
                       int32_t number)
{
    const double bytes = memory_of(s, of, s->batch);

    if (bytes <= out->peak_bytes) return;
    out->peak_bytes = bytes;
    out->weight_bytes = of->weight_bytes;
    out->cache_bytes = of->cache_bytes / s->group * s->batch;
    out->activation_bytes = bytes - out->weight_bytes - out->cache_bytes;
    out->peak_stage = number;
}

/* Moves the excess of the fullest rank to host memory, in whole GiB, if the weights are that large and the host has room.
 * \return the bytes that each stage moves; INFINITY: it cannot. */
static double leave(emp_serving_step *out, const server *s)
{
    const double room = s->c->memory_bytes, over = out->peak_bytes - room;
    const double gib = ceil(over / GIB);
    const bool   may_leave = s->d.home != 0 || !emp_parallel_spec_has(s->c->spec, "home");

    if (room <= 0.0 || over <= 0.0) return 0.0;
    if (!may_leave || gib * GIB > out->weight_bytes ||
        gib * GIB > (double)s->c->cluster->host.memory_bytes)
        return INFINITY;
    out->host_bytes = gib * GIB;
    out->peak_bytes -= out->host_bytes;
    return out->host_bytes;
}

/* Every stage leaves as much, as vLLM has one number for all ranks, and reads it once in each pass. */
static double left_s(const server *s, const stage *of, double left)
{
    const emp_link_rate *link = &s->c->cluster->host.link;

    if (left <= 0.0) return 0.0;
    return link->latency_s + fmin(left, of->weight_bytes) / link->bytes_per_s;
}

static void add_times(emp_serving_step *out, const server *s, double left)
{
    const bool is_prompt = s->c->spec->serving.phase == EMP_PHASE_PREFILL;
    double     sum = 0.0, longest = 0.0;

    for (int32_t i = 0; i < s->d.pp; i++) {
        const stage  of = stage_of(s, i);
        const double busy_s = of.busy_s + left_s(s, &of, left);
        sum += busy_s;
        if (busy_s > longest) out->exposed_s = of.exposed_s * s->groups;
        longest = fmax(longest, busy_s);
    }
    out->step_s =
        is_prompt ? sum + (s->groups - 1) * longest : fmax(sum, s->groups * longest);
    const double tokens = is_prompt ? (double)s->c->batch * s->d.sequence : s->c->batch;
    out->tokens_per_s = tokens / out->step_s;
}

static emp_status prepare(server *s, emp_error *err)
{
    const emp_cluster *cluster = s->c->cluster;

    EMP_CHECK(
        emp_degrees_resolve_serving(&s->d, s->stage_layers, &s->c->spec->model, err));
    if (emp_degrees_gpus(&s->d) > cluster->gpus)
        return EMP_ERROR(EMP_EINVAL,
                         "tp x cp x dp x pp = %d x %d x %d x %d = %lld GPUs, and %s has "
                         "%d",
                         s->d.tp, s->d.cp, s->d.dp, s->d.pp,
                         (long long)emp_degrees_gpus(&s->d), cluster->name,
                         cluster->gpus);
    if (s->c->batch > EMP_SERVING_BATCH_MAX)
        return EMP_ERROR(EMP_EINVAL, "a batch of %d sequences, want at most %d",
                         s->c->batch, EMP_SERVING_BATCH_MAX);
    if (s->c->batch < s->d.dp)
        return EMP_ERROR(EMP_EINVAL, "dp=%d replicas and a batch of %d; want dp=%d",
                         s->d.dp, s->c->batch, s->c->batch);
    if (s->c->spec->model.is_encoder || !s->c->spec->model.has_head)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "a model that is served writes tokens, and this one is an "
                         "encoder or has no head");
    if (s->c->spec->model.encoder != NULL)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "models of an encoder and a decoder are not served here");
    s->p = emp_parallel_of(cluster, &s->c->spec->model, &s->d);
    s->batch = cut(s->c->batch, s->d.dp);
    s->groups = groups_of(s, s->batch);
    s->group = cut(s->batch, s->groups);
    s->joined = s->d.ep * s->d.etp / s->d.tp;
    if (s->joined < 1) s->joined = 1;
    EMP_CHECK(emp_runtime_init(&s->runtime, "graph-launch", err));
    return cut_model(s, err);
}

emp_status emp_serving_predict(emp_serving_step *out, const emp_serving_case *c,
                               emp_error *err)
{
    emp_status st = EMP_OK;
    server     s = {.c = c, .d = *c->degrees};

    *out = (emp_serving_step){.step_s = INFINITY};
    EMP_TRY(prepare(&s, err));
    EMP_TRY(measure_all(&s, err));
    EMP_TRY(add_layers(&s, err));
    EMP_TRY(cut_stages(&s, err));
    memcpy(out->stage_layers, s.stage_layers, sizeof out->stage_layers);
    for (int32_t i = 0; i < s.d.pp; i++) {
        const stage of = stage_of(&s, i);
        add_memory(out, &s, &of, i);
    }
    if (c->memory_bytes > 0.0) out->most = most_of(&s) * s.d.dp;
    const double left = leave(out, &s);
    if (isfinite(left)) add_times(out, &s, left);

cleanup:
    emp_free(s.before);
    emp_free(s.share.layer);
    emp_free(s.model.layer);
    return st;
}
