// SPDX-License-Identifier: GPL-3.0-or-later
#include "parallel/degrees.h"

#include <stdlib.h>
#include <string.h>

enum { DEGREE_MAX = 1 << 16 };

const emp_option emp_degrees_options[] = {
    EMP_INTEGER_OPTION("tp", emp_degrees, tp, 1, 1024, "GPUs that share each matrix", 1),
    EMP_INTEGER_OPTION("pp", emp_degrees, pp, 1, 256, "stages of a pipeline", 1),
    EMP_INTEGER_OPTION("vp", emp_degrees, vp, 1, 256, "parts of the model on each stage",
                       1),
    EMP_INTEGER_OPTION("ep", emp_degrees, ep, 1, DEGREE_MAX,
                       "GPUs that share the experts of a layer, taken from dp, cp and tp",
                       1),
    EMP_INTEGER_OPTION("etp", emp_degrees, etp, 0, 1024,
                       "GPUs that share each matrix of an expert; 0 = 1", 0),
    EMP_INTEGER_OPTION("cp", emp_degrees, cp, 1, 1024, "GPUs that share each sequence",
                       1),
    EMP_INTEGER_OPTION("dp", emp_degrees, dp, 1, DEGREE_MAX, "replicas", 1),
    EMP_INTEGER_OPTION("micro_batch", emp_degrees, micro_batch, 1, 1 << 20,
                       "sequences of a micro-batch", 1),
    EMP_INTEGER_OPTION("micro_batches", emp_degrees, micro_batches, 1, 1 << 16,
                       "micro-batches of a replica in a step", 1),
    EMP_INTEGER_OPTION("seq", emp_degrees, sequence, 1, 1 << 24, "tokens of a sequence",
                       4096),
    EMP_INTEGER_OPTION("sp", emp_degrees, sp, 0, 1,
                       "whether the GPUs of tp share the tokens of norms", 1),
    EMP_INTEGER_OPTION("zero", emp_degrees, zero, 0, 3,
                       "what replicas share out: 1 the optimizer, 2 and gradients, 3 and "
                       "weights",
                       1),
    EMP_WORD_OPTION("recompute", emp_degrees, recompute, EMP_RECOMPUTE_WORDS,
                    "activations that the backward pass computes again",
                    EMP_RECOMPUTE_NONE),
    EMP_WORD_OPTION("schedule", emp_degrees, schedule, EMP_ORDER_WORDS,
                    "order of micro-batches; interleaved where vp is above 1",
                    EMP_ORDER_1F1B),
    EMP_WORD_OPTION("home", emp_degrees, home, EMP_DEGREE_HOME_WORDS,
                    "memory of weights and gradients, which layers stream from the host",
                    0),
    EMP_WORD_OPTION("update", emp_degrees, update, EMP_DEGREE_HOME_WORDS,
                    "memory of the optimizer's states, where the update is done", 0),
    EMP_WORD_OPTION("activations", emp_degrees, activations, EMP_DEGREE_HOME_WORDS,
                    "memory in which activations wait for the backward pass", 0),
    EMP_INTEGER_OPTION(
        "mtp", emp_degrees, mtp, 0, EMP_MTP_MAX,
        "layers behind the last one, each of which predicts a further token", 0),
    EMP_WORD_OPTION("attention", emp_degrees, attention, EMP_ATTENTION_WORDS,
                    "whether attention keeps the scores of all pairs in memory",
                    EMP_ATTENTION_FUSED),
    EMP_INTEGER_OPTION("cuda_graphs", emp_degrees, cuda_graphs, 0, 1,
                       "whether CUDA graphs start the kernels of layers", 0),
    EMP_WORD_OPTION("dtype", emp_degrees, is_fp8, "bf16|fp8", "of products of layers", 0),
    EMP_INTEGER_OPTION("overlap_gradients", emp_degrees, overlap_gradients, 0, 1,
                       "whether gradients are summed during the last backward passes", 0),
    EMP_INTEGER_OPTION("overlap_parameters", emp_degrees, overlap_parameters, 0, 1,
                       "whether weights are gathered during the first forward passes", 0),
    EMP_INTEGER_OPTION("overlap_tp", emp_degrees, overlap_tp, 0, 1,
                       "whether products hide the collectives of tp", 0),
    EMP_INTEGER_OPTION("skew", emp_degrees, skew, 0, 4096,
                       "tokens of the busiest expert over the mean; 0 and 1 = all alike",
                       0),
    EMP_INTEGER_OPTION("redundant", emp_degrees, redundant, 0, 1 << 14,
                       "copies of busy experts, on all ranks of ep together", 0),
    EMP_WORD_OPTION("placed", emp_degrees, placed, EMP_PLACED_WORDS,
                    "how experts are placed on the ranks of ep", EMP_PLACED_IN_ORDER),
    EMP_INTEGER_OPTION("first", emp_degrees, first, 0, 1 << 11,
                       "layers of the first part; 0 = as the others", 0),
    EMP_INTEGER_OPTION("last", emp_degrees, last, 0, 1 << 11, "layers of the last part",
                       0),
    EMP_NO_OPTION};

emp_degrees emp_degrees_default(void)
{
    return (emp_degrees){.tp = 1,
                         .pp = 1,
                         .vp = 1,
                         .ep = 1,
                         .cp = 1,
                         .dp = 1,
                         .micro_batch = 1,
                         .micro_batches = 1,
                         .sequence = 4096,
                         .sp = 1,
                         .zero = 1};
}

/* ---- layers of the chunks ---- */

/* The largest divisor of \a size that is at most \a wanted. */
static int32_t nearest_divisor(int64_t size, int32_t wanted)
{
    while (wanted > 1 && size % wanted != 0) wanted--;
    return wanted;
}

static emp_status read_stages(int32_t *layers, int32_t chunks, const emp_degrees *d,
                              int32_t wanted, emp_error *err)
{
    const char *at = d->stages;
    int64_t     sum = 0;
    int32_t     count = 0;

    while (*at != '\0') {
        char *end;
        long  n = strtol(at, &end, 10);
        if (end == at || n < 0 || n > EMP_TRANSFORMER_LAYERS_MAX ||
            (*end != '\0' && strchr(",/+", *end) == NULL))
            return EMP_ERROR(EMP_EINVAL,
                             "stages=%.60s: want layers of each stage, as 12,14,12",
                             d->stages);
        if (count < chunks) layers[count] = (int32_t)n;
        count++;
        sum += n;
        at = *end == '\0' ? end : end + 1;
    }
    if (count != chunks)
        return EMP_ERROR(EMP_EINVAL,
                         "stages=%.60s has %d parts, and pp x vp is %d x %d = %d; state "
                         "the layers of each",
                         d->stages, count, d->pp, d->vp, chunks);
    if (sum == wanted) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL, "stages=%.60s has %lld layers, and the model has %d",
                     d->stages, (long long)sum, wanted);
}

/* Embedding and loss count as a layer each, and the first chunks have more. */
static void spread(int32_t *layers, int32_t chunks, int32_t total)
{
    for (int32_t c = 0; c < chunks; c++)
        layers[c] = (total + 2) / chunks + (c < (total + 2) % chunks);
    layers[0]--;
    layers[chunks - 1]--;
}

static emp_status fill_chunks(int32_t *layers, const emp_degrees *d, int32_t total,
                              emp_error *err)
{
    const int32_t chunks = d->pp * d->vp;
    int32_t       first = d->first, last = d->last, inner = chunks, rest;

    if (d->stages[0] != '\0' && (first > 0 || last > 0))
        return EMP_ERROR(EMP_EINVAL,
                         "stages=%.60s has the layers of all parts; leave out first= and "
                         "last=",
                         d->stages);
    if (d->stages[0] != '\0') return read_stages(layers, chunks, d, total, err);
    inner -= (first > 0) + (last > 0);
    rest = total - first - last;
    if (inner < 0 || rest < 0 || (inner == 0 && rest > 0))
        return EMP_ERROR(EMP_EINVAL,
                         "first=%d and last=%d leave %d of %d layers to %d other stages",
                         first, last, rest, total, inner < 0 ? 0 : inner);
    if (inner > 0 && rest % inner != 0) {
        if (!d->may_spread || first > 0 || last > 0 || total < chunks)
            return EMP_ERROR(EMP_EINVAL,
                             "%d layers do not divide into pp x vp = %d x %d parts, and "
                             "do into %d; or "
                             "state first= or last= layers, or stages=%d,...",
                             total, d->pp, d->vp, nearest_divisor(total, chunks),
                             total / chunks + 1);
        spread(layers, chunks, total);
        return EMP_OK;
    }
    for (int32_t c = 0; c < chunks; c++) layers[c] = inner > 0 ? rest / inner : 0;
    if (first > 0) layers[0] = first;
    if (last > 0) layers[chunks - 1] = last;
    return EMP_OK;
}

/* ---- checks ---- */

static emp_status check_divides(const char *degree, int32_t value, const char *what,
                                int64_t size, emp_error *err)
{
    if (size % value == 0) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL, "%s=%d does not divide %s, %lld; %s=%d does", degree,
                     value, what, (long long)size, degree, nearest_divisor(size, value));
}

/* Tensor ranks have whole heads of keys, and so has each rank of context once heads are exchanged; measured steps may exchange
 * keys otherwise. */
static emp_status check_heads(const emp_degrees *d, const emp_transformer_layer *l,
                              emp_error *err)
{
    EMP_CHECK(check_divides("tp", d->tp, "the query heads", l->heads, err));
    if (d->may_spread) return EMP_OK;
    EMP_CHECK(check_divides("tp", d->tp, "the key-value heads", l->kv_heads, err));
    return check_divides("cp", d->cp, "the key-value heads of a tensor rank",
                         l->kv_heads / d->tp, err);
}

/* A part of the model whose work emp_work_layer() does not have and that is no small one; NULL: there is none. */
static const char *unknown_part(const emp_transformer_model *m,
                                const emp_transformer_layer *l)
{
    const bool has_gate = m->gate == EMP_GATE_ALL || m->gate == EMP_GATE_IN_QUERY;

    if (m->is_encoder) return "encoders, whose tokens see all others";
    if (m->encoder != NULL) return "decoders that attend to an encoder";
    if (l->indexer != EMP_INDEXER_NONE) return "indexers, which choose keys";
    if (l->keys_are_values) return "keys that are values, too";
    if (l->keys_of >= 0) return "layers that read another layer's keys";
    if (l->has_parallel_norms) return "dense parts beside experts";
    if (l->is_feed_forward_linear) return "single matrices as feed-forward parts";
    if (m->layer_embedding > 0) return "embeddings of each layer";
    if (m->expert_size > 0) return "experts of another size than the hidden one";
    if (!m->has_head || m->head_rows > 0) return "heads other than a vocabulary's";
    return has_gate ? "gates of attention" : NULL;
}

static emp_status check_layer(const emp_degrees *d, const emp_transformer_model *m,
                              const emp_transformer_layer *l, emp_error *err)
{
    const char *unknown = unknown_part(m, l);

    if (unknown != NULL)
        return EMP_ERROR(EMP_EUNSUPPORTED, "training in parallel is not known of %s",
                         unknown);
    if (l->mixer != EMP_MIXER_ATTENTION)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "training in parallel is known of layers with attention, not of "
                         "those that scan or compress");
    EMP_CHECK(check_heads(d, l, err));
    if (l->inner > 0)
        EMP_CHECK(check_divides("tp", d->tp, "the inner size", l->inner, err));
    if (l->experts == 0) return EMP_OK;
    EMP_CHECK(check_divides(
        "ep", d->ep, d->redundant > 0 ? "the experts with their copies" : "the experts",
        l->experts + d->redundant, err));
    return check_divides("etp", d->etp, "the inner size of experts", l->expert_inner,
                         err);
}

static emp_status check_sizes(const emp_degrees *d, emp_error *err)
{
    const double gpus = (double)d->tp * d->cp * d->dp * d->pp;
    const double passes = (double)d->pp * d->vp * d->micro_batches;

    if (gpus > EMP_RANKS_MAX)
        return EMP_ERROR(
            EMP_EINVAL,
            "tp x cp x dp x pp = %d x %d x %d x %d = %.0f GPUs, want at most "
            "%d",
            d->tp, d->cp, d->dp, d->pp, gpus, EMP_RANKS_MAX);
    if (passes > EMP_PASSES_MAX)
        return EMP_ERROR(EMP_EINVAL,
                         "pp x vp x micro_batches = %d x %d x %d = %.0f passes, want at "
                         "most %d",
                         d->pp, d->vp, d->micro_batches, passes, EMP_PASSES_MAX);
    return EMP_OK;
}

static emp_status check_pipeline(const emp_degrees *d, emp_error *err)
{
    if ((int64_t)d->pp * d->vp > EMP_CHUNKS_MAX)
        return EMP_ERROR(EMP_EINVAL, "pp x vp = %d x %d parts, want at most %d", d->pp,
                         d->vp, EMP_CHUNKS_MAX);
    if (d->vp > 1 && d->pp == 1)
        return EMP_ERROR(EMP_EINVAL, "vp=%d needs a pipeline; pp=1 has vp=1", d->vp);
    if (d->vp > 1 && d->schedule != EMP_ORDER_INTERLEAVED)
        return EMP_ERROR(EMP_EINVAL, "vp=%d needs schedule=interleaved, or vp=1", d->vp);
    if (d->schedule == EMP_ORDER_INTERLEAVED && d->vp > 1 &&
        d->micro_batches % d->pp != 0)
        return EMP_ERROR(EMP_EINVAL,
                         "micro_batches=%d is no multiple of pp=%d, which interleaving "
                         "needs; %d is",
                         d->micro_batches, d->pp, (d->micro_batches / d->pp + 1) * d->pp);
    if (d->schedule == EMP_ORDER_DUALPIPE &&
        (d->pp % 2 != 0 || d->micro_batches % 2 != 0 || d->micro_batches < 2 * d->pp))
        return EMP_ERROR(EMP_EINVAL,
                         "schedule=dualpipe needs an even pp and an even number of "
                         "micro_batches of at least 2 pp, not pp=%d and %d",
                         d->pp, d->micro_batches);
    return EMP_OK;
}

emp_status emp_degrees_resolve(emp_degrees *d, int32_t chunk_layers[EMP_CHUNKS_MAX],
                               const emp_transformer_model *model, emp_error *err)
{
    const bool has_experts = emp_transformer_has_experts(model);

    if (d->etp == 0) d->etp = 1;
    if (d->vp > 1 && d->schedule == EMP_ORDER_1F1B) d->schedule = EMP_ORDER_INTERLEAVED;
    EMP_CHECK(check_sizes(d, err));
    EMP_CHECK(check_pipeline(d, err));
    EMP_CHECK(check_divides("cp", d->cp, "the sequence", d->sequence, err));
    if (d->sp && d->tp > 1)
        EMP_CHECK(check_divides("tp", d->tp, "the tokens of a micro-batch",
                                (int64_t)d->micro_batch * d->sequence / d->cp, err));
    for (int32_t l = 0; l < model->layer_count; l++)
        EMP_CHECK(check_layer(d, model, &model->layer[l], err));
    if (!has_experts && d->ep > 1)
        return EMP_ERROR(EMP_EINVAL, "ep=%d, and the model has no experts; want ep=1",
                         d->ep);
    if (!has_experts && (d->etp > 1 || d->skew > 1 || d->redundant > 0 ||
                         d->placed != EMP_PLACED_IN_ORDER))
        return EMP_ERROR(EMP_EINVAL,
                         "etp=, skew=, redundant= and placed= are of experts, "
                         "and the model has none");
    const int64_t ranks = (int64_t)d->tp * d->cp * d->dp;
    if (has_experts && ranks % ((int64_t)d->etp * d->ep) != 0)
        return EMP_ERROR(
            EMP_EINVAL,
            "etp x ep = %d x %d does not divide the ranks of a stage, tp x cp "
            "x dp = %lld; ep=%d does",
            d->etp, d->ep, (long long)ranks,
            nearest_divisor(ranks / nearest_divisor(ranks, d->etp), d->ep));
    return fill_chunks(chunk_layers, d, model->layer_count, err);
}

/* ---- models that are served ---- */

static emp_status check_served_heads(const emp_degrees *d, const emp_transformer_layer *l,
                                     bool is_latent, emp_error *err)
{
    EMP_CHECK(check_divides("tp", d->tp, "the query heads", l->heads, err));
    if (is_latent || l->kv_heads == 0 || d->tp % l->kv_heads == 0) return EMP_OK;
    return check_divides("tp", d->tp, "the key-value heads", l->kv_heads, err);
}

static emp_status check_served_layer(const emp_degrees *d, const emp_transformer_layer *l,
                                     bool is_latent, emp_error *err)
{
    const bool is_attention = l->mixer == EMP_MIXER_ATTENTION;

    if ((d->tp > 1 || d->cp > 1) && !is_attention && l->mixer != EMP_MIXER_LINEAR &&
        l->mixer != EMP_MIXER_NONE)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "tp and cp are known of layers with attention, not of those "
                         "that scan or compress; want tp=1 and cp=1");
    if (is_attention) EMP_CHECK(check_served_heads(d, l, is_latent, err));
    EMP_CHECK(check_divides("tp", d->tp, "the inner size", l->inner, err));
    if (l->experts == 0) return EMP_OK;
    EMP_CHECK(
        check_divides("tp", d->tp, "the size of shared experts", l->shared_inner, err));
    EMP_CHECK(check_divides("ep", d->ep, "the experts", l->experts, err));
    return check_divides("etp", d->etp, "the inner size of experts", l->expert_inner,
                         err);
}

/* The ranks of tp, or of several replicas, share the experts of a layer. */
static emp_status check_served_experts(const emp_degrees *d, bool has_experts,
                                       emp_error *err)
{
    const int64_t ranks = (int64_t)d->ep * d->etp, all = (int64_t)d->tp * d->dp;

    if (!has_experts && d->ep > 1)
        return EMP_ERROR(EMP_EINVAL, "ep=%d, and the model has no experts; want ep=1",
                         d->ep);
    if (!has_experts || (ranks % d->tp == 0 && all % ranks == 0)) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL,
                     "ep x etp = %d x %d ranks share a layer's experts: want a multiple "
                     "of tp=%d that divides tp x dp = %lld",
                     d->ep, d->etp, d->tp, (long long)all);
}

emp_status emp_degrees_resolve_serving(emp_degrees *d,
                                       int32_t      stage_layers[EMP_CHUNKS_MAX],
                                       const emp_transformer_model *model, emp_error *err)
{
    const bool is_latent = emp_transformer_is_latent(model);

    if (d->etp == 0) d->etp = d->tp > d->ep ? d->tp / d->ep : 1;
    d->may_spread = 1;
    EMP_CHECK(check_sizes(d, err));
    EMP_CHECK(check_pipeline(d, err));
    EMP_CHECK(check_divides("cp", d->cp, "the sequence", d->sequence, err));
    for (int32_t l = 0; l < model->layer_count; l++)
        EMP_CHECK(check_served_layer(d, &model->layer[l], is_latent, err));
    EMP_CHECK(check_served_experts(d, emp_transformer_has_experts(model), err));
    return fill_chunks(stage_layers, d, model->layer_count, err);
}
