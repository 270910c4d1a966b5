// SPDX-License-Identifier: GPL-3.0-or-later
/* Attention with heads of its own or shared keys, with and without a cache. */
#include "base/mem.h"
#include "graphs/transformer/stack.h"

static emp_dtype cache_dtype(const emp_stack *s)
{
    const emp_transformer_step *step = s->t->step;

    return step->cache_dtype != EMP_DTYPE_NONE ? step->cache_dtype : step->dtype;
}

/* The cache as the round before has left it. */
static emp_port *open_cache(emp_stack *s, const char *name, const emp_op_attrs *attrs,
                            int32_t unit)
{
    emp_tape  *t = s->t;
    emp_error *err = t->err;

    if (s->next_cache == s->cache_count) {
        emp_tape_fail(t, EMP_GROW(s->cache, s->cache_count + 1, s->cache_capacity));
        if (!emp_tape_is_ok(t)) return NULL;
        s->cache[s->cache_count++] = emp_tape_op(
            t, t->step->caches_on_host ? "HostKeyValueCache" : "KeyValueCache", name,
            unit, attrs, NULL, 0);
    }
    return &s->cache[s->next_cache++];
}

emp_port emp_stack_kept(emp_stack *s, const char *name, emp_shape shape, int32_t unit)
{
    const bool   is_on_host = s->t->step->caches_on_host;
    emp_op_attrs attrs = {.dtype = cache_dtype(s), .has_shape = true, .shape = shape};

    if (is_on_host) unit = emp_tape_unit(s->t);
    emp_port *cache = open_cache(s, name, &attrs, unit);
    if (cache == NULL) return EMP_TAPE_NONE;
    return is_on_host ? emp_tape_stream(s->t, name, *cache, unit) : *cache;
}

emp_port emp_stack_write(emp_stack *s, const char *name, emp_port x, int64_t rows,
                         emp_port positions, int32_t unit)
{
    emp_tape    *t = s->t;
    emp_op_attrs attrs = {
        .dtype = cache_dtype(s), .has_shape = true, .shape = emp_tape_shape(t, x)};

    if (!emp_tape_is_ok(t)) return EMP_TAPE_NONE;
    attrs.shape.dim[1] = rows;
    if (t->step->caches_on_host) unit = emp_tape_unit(t);
    emp_port *cache = open_cache(s, name, &attrs, unit);
    if (cache == NULL) return EMP_TAPE_NONE;
    emp_port     before = *cache;
    emp_port     in[3] = {before, positions, x};
    emp_op_attrs none = {.dtype = cache_dtype(s)};
    emp_port     written = emp_tape_op(
            t, "ScatterUpdate", emp_tape_join_names(t, name, "/write"), unit, &none, in, 3);
    if (emp_tape_is_ok(t)) emp_graph_builder_set_target(t->builder, written.op);
    *cache = written;
    return t->step->caches_on_host ? emp_tape_stream(t, name, before, unit) : written;
}

/* The same for a leaf of the layer's attention. */
static emp_port stack_cache(emp_stack *s, const char *leaf, emp_port x, int64_t rows,
                            int32_t unit)
{
    return emp_stack_write(s, emp_stack_leaf(s, s->m->names.attention, leaf), x, rows,
                           s->positions, unit);
}

/* Keys that stand for stride tokens each, of all tokens of a sequence. */
static int64_t stack_cached(const emp_stack *s, int64_t stride)
{
    int64_t tokens = s->t->step->sequence;

    return stride > 1 ? (tokens + stride - 1) / stride : tokens;
}

/* True if the step writes a cache. */
static bool stack_has_cache(const emp_stack *s)
{
    return s->t->step->phase != EMP_PHASE_TRAIN && !s->m->is_encoder;
}

/* Indexers: small heads that choose the keys which attention sees (DeepSeek-V3.2, MiniMax-M3). Their keys have a cache of
 * their own. A loss of their own trains them: they pass no gradient to the layers before (DeepSeek-V3.2, section 2.1.1). */

static const char *indexer_leaf(emp_stack *s, const char *leaf)
{
    return emp_stack_leaf(s, s->m->names.indexer, leaf);
}

static emp_port by_heads(emp_stack *s, const char *leaf, emp_port x, int64_t heads)
{
    return emp_tape_view(
        s->t, indexer_leaf(s, leaf), x,
        EMP_SHAPE(s->t->step->batch, s->new_tokens, heads, s->m->index.size));
}

static emp_port turn_key(emp_stack *s, const char *leaf, emp_port x)
{
    return emp_tape_map(s->t, indexer_leaf(s, leaf), "RotaryEmbedding", NULL, x);
}

/* The keys that an indexer's heads choose; without weights each for itself. Keys stand for stride tokens. */
static emp_port stack_select(emp_stack *s, emp_port q, emp_port k, emp_port weights,
                             int32_t stride)
{
    const emp_transformer_indexer *c = &s->m->index;
    int32_t                        unit = emp_tape_unit(s->t);
    emp_op_attrs                   attrs = {.dtype = s->t->step->dtype,
                                            .is_causal = true,
                                            .chosen = c->chosen,
                                            .block = c->block,
                                            .stride = stride};
    emp_port                       in[3] = {q, k, weights};

    if (stack_has_cache(s)) {
        emp_port keys = stack_cache(s, ".index_cache", k, stack_cached(s, stride), unit);
        if (s->t->step->phase == EMP_PHASE_DECODE) in[1] = keys;
    }
    for (int32_t i = 0; i < 3; i++) s->index[i] = in[i];
    return emp_tape_op(s->t, "SelectKeys", indexer_leaf(s, "select"), unit, &attrs, in,
                       weights.op >= 0 ? 3 : 2);
}

/* Trains what has chosen keys stand for stride tokens each, if the layer has done it, by attention of q to k. */
static void stack_train_choice(emp_stack *s, emp_port q, emp_port k, int32_t stride)
{
    emp_op_attrs attrs = {.dtype = s->t->step->dtype,
                          .is_causal = true,
                          .chosen = s->m->index.chosen,
                          .block = s->m->index.block,
                          .stride = stride};

    if (s->m->layer[s->layer].indexer != EMP_INDEXER_OWN) return;
    emp_tape_train_choice(s->t, indexer_leaf(s, "select"), emp_tape_unit(s->t), &attrs,
                          s->index, s->chosen, q, k);
}

/* Queries of the latent vector of queries, one key a token with a layer norm, and a weight a head. */
static emp_port choose_lightning(emp_stack *s, emp_port x, emp_port latent)
{
    const emp_transformer_indexer *c = &s->m->index;
    int64_t                        all = (int64_t)c->heads * c->size;

    emp_port q = emp_tape_linear(s->t, indexer_leaf(s, "wq_b"), latent, all, false);
    q = turn_key(s, "q_rotary", by_heads(s, "q", q, c->heads));
    emp_port k = emp_tape_linear(s->t, indexer_leaf(s, "wk"), x, c->size, false);
    k = emp_tape_norm(s->t, indexer_leaf(s, "k_norm"), "LayerNorm", k, true, true);
    k = turn_key(s, "k_rotary", by_heads(s, "k", k, 1));
    emp_port w =
        emp_tape_linear(s->t, indexer_leaf(s, "weights_proj"), x, c->heads, false);
    return stack_select(s, q, k, w, 1);
}

/* Queries and one key a token of the layer's input, both with norms. */
static emp_port choose_blocks(emp_stack *s, emp_port x)
{
    const emp_transformer_indexer *c = &s->m->index;
    int64_t                        all = (int64_t)c->heads * c->size;

    emp_port q =
        by_heads(s, "q", emp_tape_linear(s->t, indexer_leaf(s, "q_proj"), x, all, false),
                 c->heads);
    emp_port k = by_heads(
        s, "k", emp_tape_linear(s->t, indexer_leaf(s, "k_proj"), x, c->size, false), 1);
    q = emp_tape_norm(s->t, indexer_leaf(s, "q_norm"), "RMSNorm", q, true, false);
    k = emp_tape_norm(s->t, indexer_leaf(s, "k_norm"), "RMSNorm", k, true, false);
    return stack_select(s, turn_key(s, "q_rotary", q), turn_key(s, "k_rotary", k),
                        EMP_TAPE_NONE, 1);
}

/* Has the layer's indexer, if it has one, choose the keys that attention sees, for its input and the latent vector of
 * its queries. */
static void stack_choose(emp_stack *s, emp_port x, emp_port latent)
{
    const emp_indexer kind = s->m->layer[s->layer].indexer;

    if (kind == EMP_INDEXER_NONE) s->chosen = EMP_TAPE_NONE;
    if (kind != EMP_INDEXER_OWN) return; /* or what an earlier layer has chosen */
    x = emp_tape_detach(s->t, indexer_leaf(s, "input"), x);
    if (latent.op >= 0) latent = emp_tape_detach(s->t, indexer_leaf(s, "latent"), latent);
    s->chosen =
        s->m->index.block > 1 ? choose_blocks(s, x) : choose_lightning(s, x, latent);
}

/* Tokens that a layer with that window has of a sequence. */
static int64_t tokens_in(const emp_stack *s, int64_t window)
{
    const int64_t all = s->t->step->sequence;

    return window > 0 && window < all ? window : all;
}

/* Tokens that the cache of a layer has room for. */
static int64_t cached_tokens(const emp_stack *s)
{
    const emp_transformer_step *step = s->t->step;
    const int64_t granule = step->cache_granule > 0 ? step->cache_granule : 1;
    int64_t       window = s->m->layer[s->layer].window;

    if (window > 0 && step->window_spare > 0)
        window += step->window_spare;
    else if (window > 0 && emp_transformer_rounds(step) > 1)
        window += s->new_tokens; /* the first of them sees a window of those before it */
    return (tokens_in(s, window) + granule - 1) / granule * granule;
}

/* The keys or values of a cache that a round sees. */
static emp_port seen_rows(emp_stack *s, const char *leaf, emp_port cache, int64_t seen,
                          int64_t rows, int32_t unit)
{
    emp_op_attrs attrs = {.dtype = cache_dtype(s), .has_shape = true};

    if (seen >= rows || cache.op < 0) return cache;
    attrs.shape = emp_tape_shape(s->t, cache);
    attrs.shape.dim[1] = seen;
    return emp_tape_op(s->t, "View", emp_stack_leaf(s, s->m->names.attention, leaf), unit,
                       &attrs, &cache, 1);
}

static emp_port first_columns(emp_stack *s, emp_port k, int64_t size, int32_t unit)
{
    emp_op_attrs attrs = {.has_shape = true, .shape = emp_tape_shape(s->t, k)};

    attrs.shape.dim[3] = size;
    return emp_tape_op(s->t, "View", emp_stack_leaf(s, s->m->names.attention, "/values"),
                       unit, &attrs, &k, 1);
}

/* The same without a cache. */
static emp_port stack_attend_to(emp_stack *s, emp_port q, emp_port k, emp_port v,
                                int32_t unit)
{
    emp_tape    *t = s->t;
    int32_t      window = s->m->layer[s->layer].window;
    bool         is_sparse = s->m->layer[s->layer].indexer != EMP_INDEXER_NONE;
    emp_port     sinks = EMP_TAPE_NONE;
    emp_op_attrs attrs = {
        .dtype = t->step->dtype, .is_causal = !s->m->is_encoder, .window = window};

    if (is_sparse) attrs.chosen = s->m->index.chosen;
    if (is_sparse) stack_train_choice(s, q, k, 1);
    if (s->m->has_sinks && (window > 0 || !s->m->has_window_sinks))
        sinks = emp_tape_weight_of(t, emp_stack_name(s, s->m->names.sinks),
                                   EMP_SHAPE(s->m->layer[s->layer].heads), unit,
                                   EMP_WEIGHT_TRAINED);
    emp_stack_relate(s, emp_tape_size(t, k, 1));
    if (s->relative.op >= 0) sinks = s->relative;
    return emp_tape_attention(t, emp_stack_name(s, s->m->names.attention), unit, &attrs,
                              q, k, v, is_sparse ? s->chosen : EMP_TAPE_NONE, sinks);
}

/* The attention itself: q [batch, new, heads, size], k and v likewise. Where there is a cache, it
 * takes k and v, and v with op -1 stands for the first value_size columns of k. */
static emp_port stack_attend(emp_stack *s, emp_port q, emp_port k, emp_port v,
                             int64_t value_size)
{
    int32_t unit = emp_tape_unit(s->t);
    bool    is_decode = s->t->step->phase == EMP_PHASE_DECODE;
    int64_t rows = cached_tokens(s);

    if (stack_has_cache(s) && s->m->layer[s->layer].keys_of < 0) {
        emp_port keys = stack_cache(s, ".key_cache", k, rows, unit);
        emp_port values =
            v.op < 0 ? EMP_TAPE_NONE : stack_cache(s, ".value_cache", v, rows, unit);
        if (is_decode || emp_transformer_rounds(s->t->step) > 1) {
            const int64_t seen = is_decode ? tokens_in(s, s->m->layer[s->layer].window)
                                           : s->first + s->new_tokens;
            k = seen_rows(s, ".key_cache/seen", keys, seen, rows, unit);
            v = seen_rows(s, ".value_cache/seen", values, seen, rows, unit);
        }
    }
    if (v.op < 0) v = first_columns(s, k, value_size, unit);
    s->kv[s->layer] = (emp_stack_kv){k, v};
    return stack_attend_to(s, q, k, v, unit);
}

/* Queries or keys of a projection: normed, by heads, turned. */
static emp_port prepare(emp_stack *s, const char *leaf, const char *norm, emp_port x,
                        int64_t heads, int64_t size)
{
    const char *name = emp_stack_name(s, norm);
    bool        is_rms = s->m->norm == EMP_NORM_RMS;
    const char *type = is_rms ? "RMSNorm" : "LayerNorm";

    if (s->m->qk_norm == EMP_QK_NORM_ALL)
        x = emp_tape_norm(s->t, name, type, x, true, s->m->has_qk_norm_bias);
    x = emp_stack_by_heads(s, emp_stack_leaf(s, s->m->names.attention, leaf), x, heads,
                           size);
    if (s->m->qk_norm == EMP_QK_NORM_HEAD)
        x = emp_tape_norm(s->t, name, type, x, true, s->m->has_qk_norm_bias);
    if (s->m->has_rotary)
        x = emp_tape_map(
            s->t,
            emp_tape_join_names(s->t, emp_stack_leaf(s, s->m->names.attention, leaf),
                                "_rotary"),
            "RotaryEmbedding", NULL, x);
    return x;
}

/* Queries and gates of the same size, head by head. */
static void split_gate(emp_stack *s, emp_port x, int64_t heads, int64_t size,
                       emp_port *query, emp_port *gate)
{
    const char *attention = s->m->names.attention;
    int64_t     tokens = emp_tape_size(s->t, x, 0);
    emp_port    parts[2];

    x = emp_tape_view(s->t, emp_stack_leaf(s, attention, "/q_and_gate"), x,
                      EMP_SHAPE(tokens, heads, 2 * size));
    emp_tape_split(s->t, emp_stack_leaf(s, attention, "/q_and_gate"), x,
                   (int64_t[]){size, size}, 2, parts);
    *query = emp_tape_view(s->t, emp_stack_leaf(s, attention, "/q_all"), parts[0],
                           EMP_SHAPE(tokens, heads * size));
    *gate = emp_tape_view(s->t, emp_stack_leaf(s, attention, "/gate"), parts[1],
                          EMP_SHAPE(tokens, heads * size));
}

static emp_port multiply_gate(emp_stack *s, emp_port y, emp_port gate)
{
    const char *name = emp_stack_leaf(s, s->m->names.attention, "/gate");

    gate = emp_tape_map(s->t, emp_tape_join_names(s->t, name, "_sigmoid"), "Sigmoid",
                        "SigmoidGrad", gate);
    return emp_tape_mul(s->t, emp_tape_join_names(s->t, name, "_mul"), y, gate);
}

/* The result of attention, [tokens, heads x value size], by its gate of x. */
static emp_port stack_gate(emp_stack *s, emp_port y, emp_port x)
{
    const emp_transformer_layer *l = &s->m->layer[s->layer];
    int64_t tokens = emp_tape_size(s->t, y, 0), all = emp_tape_size(s->t, y, -1);

    if (s->m->gate != EMP_GATE_ALL && s->m->gate != EMP_GATE_HEAD) return y;
    const char *name = emp_stack_name(s, s->m->names.output_gate);
    if (s->m->gate == EMP_GATE_ALL)
        return multiply_gate(s, y, emp_tape_linear(s->t, name, x, all, false));
    emp_port gate = emp_tape_linear(s->t, name, x, l->heads, false);
    gate = emp_tape_view(s->t, emp_tape_join_names(s->t, name, "/heads"), gate,
                         EMP_SHAPE(tokens, l->heads, 1));
    y = emp_tape_view(s->t, emp_tape_join_names(s->t, name, "/by_heads"), y,
                      EMP_SHAPE(tokens, l->heads, l->value_size));
    return emp_tape_view(s->t, emp_tape_join_names(s->t, name, "/all"),
                         multiply_gate(s, y, gate), EMP_SHAPE(tokens, all));
}

/* The three projections, and the gate of attention; keys and values only where the layer has its own. */
static void project(emp_stack *s, emp_port x, emp_port out[4])
{
    const emp_transformer_layer *l = &s->m->layer[s->layer];
    const emp_transformer_names *n = &s->m->names;
    bool                         has_bias = s->m->has_qkv_bias;
    bool                         is_double = s->m->gate == EMP_GATE_IN_QUERY;
    int64_t q = (int64_t)l->heads * l->head_size, k = (int64_t)l->kv_heads * l->head_size;
    int64_t v = (int64_t)l->kv_heads * l->value_size;

    if (s->m->has_fused_qkv && l->keys_of < 0) {
        const char *name = emp_stack_name(s, n->qkv);
        emp_port    all = emp_tape_linear(s->t, name, x, q + k + v, has_bias);
        emp_tape_split(s->t, name, all, (int64_t[]){q, k, v}, 3, out);
        return;
    }
    out[0] = emp_tape_linear(s->t, emp_stack_name(s, n->q), x, is_double ? 2 * q : q,
                             has_bias);
    if (is_double) split_gate(s, out[0], l->heads, l->head_size, &out[0], &out[3]);
    if (l->keys_of >= 0) return;
    out[1] = emp_tape_linear(s->t, emp_stack_name(s, n->k), x, k,
                             has_bias && !s->m->lacks_key_bias);
    out[2] = l->keys_are_values
                 ? out[1]
                 : emp_tape_linear(s->t, emp_stack_name(s, n->v), x, v, has_bias);
}

emp_port emp_stack_attention(emp_stack *s, emp_port x)
{
    const emp_transformer_layer *l = &s->m->layer[s->layer];
    const emp_transformer_names *n = &s->m->names;
    emp_port                     p[4] = {EMP_TAPE_NONE, EMP_TAPE_NONE, EMP_TAPE_NONE};

    project(s, x, p);
    emp_port q = prepare(s, "/q", n->q_norm, p[0], l->heads, l->head_size), k, v;
    if (l->keys_of >= 0) {
        k = s->kv[l->keys_of].keys;
        v = s->kv[l->keys_of].values;
    } else {
        k = prepare(s, "/k", n->k_norm, p[1], l->kv_heads, l->head_size);
        v = emp_stack_by_heads(s, emp_stack_leaf(s, n->attention, "/v"), p[2],
                               l->kv_heads, l->value_size);
        if (s->m->has_value_norm)
            v = emp_tape_norm(s->t, emp_stack_leaf(s, n->attention, "/v_norm"), "RMSNorm",
                              v, false, false);
    }
    stack_choose(s, x, EMP_TAPE_NONE);
    emp_port y = stack_attend(s, q, k, v, l->value_size);
    int64_t  tokens = emp_stack_tokens(s);
    y = emp_tape_view(s->t, emp_stack_leaf(s, n->attention, "/out"), y,
                      EMP_SHAPE(tokens, (int64_t)l->heads * l->value_size));
    y = s->m->gate == EMP_GATE_IN_QUERY ? multiply_gate(s, y, p[3]) : stack_gate(s, y, x);
    return emp_tape_linear(s->t, emp_stack_name(s, n->output), y, s->m->hidden,
                           s->m->has_output_bias);
}

/* Multi-head latent attention (DeepSeek-V2, 2024): keys and values of all heads are made of one
 * short vector a token and a rotated key that the heads share.
 *
 * Training and prompts expand the vector into keys and values. A step that writes one token does
 * not: it takes the matrix of the keys into the query and the matrix of the values behind the attention.
 * Neither does a prompt that is longer than the keys its indexer chooses, since keys that all heads share can be
 * gathered. The cache holds the vector and the rotated key. */

static const char *name_of(emp_stack *s, const char *leaf)
{
    return emp_stack_leaf(s, s->m->names.attention, leaf);
}

static emp_port rotary(emp_stack *s, const char *leaf, emp_port x)
{
    if (!s->m->has_rotary) return x;
    return emp_tape_map(s->t, name_of(s, leaf), "RotaryEmbedding", NULL, x);
}

/* Queries in two parts: that without positions, and the rotated one. \return The vector that they are made of. */
static emp_port make_queries(emp_stack *s, emp_port x, emp_port parts[2])
{
    const emp_transformer_layer *l = &s->m->layer[s->layer];
    int64_t                      size = l->head_size, turned = s->m->rotary_size;

    if (s->m->query_rank > 0) {
        x = emp_tape_linear(s->t, emp_stack_name(s, s->m->names.q_a), x, s->m->query_rank,
                            s->m->has_qkv_bias);
        x = emp_tape_norm(s->t, emp_stack_name(s, s->m->names.q_a_norm), "RMSNorm", x,
                          true, false);
    }
    emp_port q = emp_tape_linear(s->t,
                                 s->m->query_rank > 0 ? emp_stack_name(s, s->m->names.q_b)
                                                      : emp_stack_name(s, s->m->names.q),
                                 x, l->heads * size, false);
    emp_tape_split(s->t, name_of(s, "/q"),
                   emp_stack_by_heads(s, name_of(s, "/q"), q, l->heads, size),
                   (int64_t[]){size - turned, turned}, 2, parts);
    parts[1] = rotary(s, "/q_rotary", parts[1]);
    return x;
}

/* The vector of keys and values, [tokens, key_rank], and the key that all heads share. */
static void make_latent(emp_stack *s, emp_port x, emp_port parts[2])
{
    int64_t turned = s->m->rotary_size;

    x = emp_tape_linear(s->t, emp_stack_name(s, s->m->names.kv_a), x,
                        s->m->key_rank + turned, s->m->has_qkv_bias);
    emp_tape_split(s->t, emp_stack_name(s, s->m->names.kv_a), x,
                   (int64_t[]){s->m->key_rank, turned}, 2, parts);
    parts[0] = emp_tape_norm(s->t, emp_stack_name(s, s->m->names.kv_a_norm), "RMSNorm",
                             parts[0], true, false);
    parts[1] =
        rotary(s, "/k_rotary",
               emp_stack_by_heads(s, name_of(s, "/k_shared"), parts[1], 1, turned));
}

/* The vector and the rotated key, which is the only head's key of all heads. */
static emp_port key_of_all(emp_stack *s, const emp_port latent[2])
{
    return emp_tape_concat(
        s->t, name_of(s, "/k_all"),
        emp_stack_by_heads(s, name_of(s, "/latent"), latent[0], 1, s->m->key_rank),
        latent[1]);
}

static emp_port expanded(emp_stack *s, const emp_port q[2], const emp_port latent[2])
{
    const emp_transformer_layer *l = &s->m->layer[s->layer];
    int64_t  plain = l->head_size - s->m->rotary_size, value = l->value_size;
    emp_port parts[2];

    emp_port kv = emp_tape_linear(s->t, emp_stack_name(s, s->m->names.kv_b), latent[0],
                                  l->heads * (plain + value), false);
    emp_tape_split(s->t, name_of(s, "/kv"),
                   emp_stack_by_heads(s, name_of(s, "/kv"), kv, l->heads, plain + value),
                   (int64_t[]){plain, value}, 2, parts);
    emp_port shared = emp_tape_spread(s->t, name_of(s, "/k_spread"), latent[1], l->heads);
    emp_port k = emp_tape_concat(s->t, name_of(s, "/k"), parts[0], shared);
    emp_port query = emp_tape_concat(s->t, name_of(s, "/q_all"), q[0], q[1]);
    int32_t  unit = emp_tape_unit(s->t);
    if (stack_has_cache(s))
        (void)stack_cache(s, ".key_cache", key_of_all(s, latent), stack_cached(s, 1),
                          unit);
    return stack_attend_to(s, query, k, parts[1], unit);
}

/* Rows of each head by a part of the matrix of keys and values: [heads, tokens, from] by
 * [heads, from, to]. */
static emp_port by_matrix(emp_stack *s, const char *leaf, emp_port x, emp_port matrix,
                          int64_t from, int64_t to, int32_t unit)
{
    int64_t      heads = s->m->layer[s->layer].heads;
    const char  *name = name_of(s, leaf);
    emp_op_attrs attrs = {.dtype = s->t->step->dtype,
                          .has_shape = true,
                          .shape = EMP_SHAPE(heads, from, to)};
    emp_port part = emp_tape_op(s->t, "View", emp_tape_join_names(s->t, name, "_matrix"),
                                unit, &attrs, &matrix, 1);
    emp_port rows = emp_tape_view(s->t, emp_tape_join_names(s->t, name, "_rows"), x,
                                  EMP_SHAPE(heads, emp_stack_tokens(s), from));

    attrs.has_shape = false;
    return emp_tape_op(s->t, "BatchMatMul", name, unit, &attrs, (emp_port[]){rows, part},
                       2);
}

static const char *weight_name(emp_stack *s, const char *module)
{
    return emp_tape_join_names(s->t, emp_stack_name(s, module), ".weight");
}

/* The matrices of keys and of values, which may be one. */
static void make_matrices(emp_stack *s, int64_t plain, int64_t value, int32_t unit,
                          emp_port matrix[2])
{
    const emp_transformer_names *n = &s->m->names;
    int64_t                      heads = s->m->layer[s->layer].heads;
    int64_t                      rank = s->m->key_rank;

    if (s->m->has_split_matrix) {
        matrix[0] =
            emp_tape_weight_of(s->t, weight_name(s, n->k_b),
                               EMP_SHAPE(heads, plain, rank), unit, EMP_WEIGHT_TRAINED);
        matrix[1] =
            emp_tape_weight_of(s->t, weight_name(s, n->v_b),
                               EMP_SHAPE(heads, value, rank), unit, EMP_WEIGHT_TRAINED);
        return;
    }
    matrix[0] = matrix[1] = emp_tape_weight_of(s->t, weight_name(s, n->kv_b),
                                               EMP_SHAPE(heads * (plain + value), rank),
                                               unit, EMP_WEIGHT_TRAINED);
}

static emp_port absorbed(emp_stack *s, const emp_port q[2], const emp_port latent[2])
{
    const emp_transformer_layer *l = &s->m->layer[s->layer];
    int64_t  plain = l->head_size - s->m->rotary_size, value = l->value_size;
    int64_t  rank = s->m->key_rank;
    int32_t  unit = emp_tape_unit(s->t);
    emp_port matrix[2];

    make_matrices(s, plain, value, unit, matrix);
    emp_port wide = by_matrix(s, "/absorb_keys", q[0], matrix[0], plain, rank, unit);
    emp_port query = emp_tape_concat(
        s->t, name_of(s, "/q_all"),
        emp_stack_by_heads(s, name_of(s, "/q_wide"), wide, l->heads, rank), q[1]);
    emp_port y = stack_attend(s, query, key_of_all(s, latent), EMP_TAPE_NONE, rank);
    return by_matrix(s, "/absorb_values", y, matrix[1], rank, value, unit);
}

static bool is_absorbed(const emp_stack *s)
{
    const emp_transformer_step *step = s->t->step;

    if (step->phase != EMP_PHASE_PREFILL) return step->phase == EMP_PHASE_DECODE;
    return s->m->layer[s->layer].indexer != EMP_INDEXER_NONE &&
           step->sequence > s->m->index.chosen;
}

emp_port emp_stack_latent_attention(emp_stack *s, emp_port x)
{
    const emp_transformer_layer *l = &s->m->layer[s->layer];
    emp_port                     q[2], latent[2];

    emp_port vector = make_queries(s, x, q);
    make_latent(s, x, latent);
    stack_choose(s, x, vector);
    emp_port y = is_absorbed(s) ? absorbed(s, q, latent) : expanded(s, q, latent);
    y = emp_tape_view(s->t, name_of(s, "/out"), y,
                      EMP_SHAPE(emp_stack_tokens(s), (int64_t)l->heads * l->value_size));
    y = stack_gate(s, y, x);
    return emp_tape_linear(s->t, emp_stack_name(s, s->m->names.output), y, s->m->hidden,
                           s->m->has_output_bias);
}

/* The attention of DeepSeek-V4 (2026, section 2.3): one key a token for all heads, which is its value, too. A query sees
 * the keys of the last tokens, and keys that stand for `stride` tokens each: all of them where these are many, else those
 * that an indexer chooses among keys of its own. The result goes through products in groups.
 *
 * A compressed key is a sum of the keys of its window by weights of a softmax; with a short stride windows overlap by one.
 * The keys of an open window are a state, in float32. A step of one token is taken to close a window, and the last window of
 * a prompt counts as closed. */

enum { OVERLAPPING = 4 }; /* the stride whose windows overlap */

static emp_port turn(emp_stack *s, const char *leaf, emp_port x)
{
    return emp_tape_map(s->t, name_of(s, leaf), "RotaryEmbedding", NULL, x);
}

static emp_port rms_norm(emp_stack *s, const char *leaf, emp_port x, bool has_weight)
{
    return emp_tape_norm(s->t, name_of(s, leaf), "RMSNorm", x, has_weight, false);
}

/* ---- compressed keys ---- */

/* A part of the compressor MODULE: keys or gates of all tokens, [batch, tokens, width]. */
static emp_port project_part(emp_stack *s, const char *module, const char *leaf,
                             emp_port x, int64_t width)
{
    const char *name = emp_tape_join_names(s->t, name_of(s, module), leaf);
    emp_port    y = emp_tape_linear(s->t, name, x, width, false);

    return emp_tape_view(s->t, emp_tape_join_names(s->t, name, "/tokens"), y,
                         EMP_SHAPE(s->t->step->batch, s->new_tokens, width));
}

/* Keys of windows, [batch, windows, 1, size]. */
static emp_port compress(emp_stack *s, const char *module, emp_port x, int64_t size)
{
    const int64_t stride = s->m->layer[s->layer].stride, batch = s->t->step->batch;
    const int64_t overlap = stride == OVERLAPPING ? 2 : 1, width = overlap * size;
    const int64_t windows = (s->new_tokens + stride - 1) / stride;
    const char   *name = name_of(s, module);
    const char   *norm = emp_tape_join_names(s->t, module, ".kv_norm");
    int32_t       unit = emp_tape_unit(s->t), count = 3;
    emp_op_attrs  attrs = {.dtype = s->t->step->dtype,
                           .has_shape = true,
                           .shape = EMP_SHAPE(batch, windows, 1, size)};
    emp_op_attrs  open = {.dtype = EMP_DTYPE_FLOAT,
                          .has_shape = true,
                          .shape = EMP_SHAPE(batch, overlap * stride, 2 * width)};
    emp_port      in[4];

    in[0] = project_part(s, module, ".kv_proj", x, width);
    in[1] = project_part(s, module, ".gate_proj", x, width);
    in[2] = emp_tape_weight_of(s->t, emp_tape_join_names(s->t, name, ".position_bias"),
                               EMP_SHAPE(stride, width), unit, EMP_WEIGHT_TRAINED);
    if (!emp_tape_is_training(s->t))
        in[count++] =
            emp_tape_op(s->t, "RecurrentState", emp_tape_join_names(s->t, name, ".state"),
                        unit, &open, NULL, 0);
    emp_port y = emp_tape_fused(s->t, name, "CompressKeys", unit, &attrs, in, count);
    y = rms_norm(s, norm, y, true);
    return turn(s, emp_tape_join_names(s->t, module, "_rotary"), y);
}

/* The indexer's choice for queries of the vector \a latent. */
static emp_port choose(emp_stack *s, emp_port x, emp_port latent)
{
    const emp_transformer_indexer *c = &s->m->index;
    int64_t                        all = (int64_t)c->heads * c->size;

    x = emp_tape_detach(s->t, name_of(s, ".compressor.indexer/input"), x);
    latent = emp_tape_detach(s->t, name_of(s, ".compressor.indexer/latent"), latent);
    emp_port q = emp_tape_linear(s->t, name_of(s, ".compressor.indexer.q_b_proj"), latent,
                                 all, false);
    q = turn(
        s, ".compressor.indexer/q_rotary",
        emp_stack_by_heads(s, name_of(s, ".compressor.indexer/q"), q, c->heads, c->size));
    emp_port k = compress(s, ".compressor.indexer", x, c->size);
    emp_port w = emp_tape_linear(
        s->t, name_of(s, ".compressor.indexer.scorer.weights_proj"), x, c->heads, false);
    return stack_select(s, q, k, w, s->m->layer[s->layer].stride);
}

/* ---- attention ---- */

/* Queries q and the keys of tokens; in a step that writes a cache, those that it holds. */
static emp_port attend(emp_stack *s, emp_port q, emp_port keys, emp_port far)
{
    const emp_transformer_layer *l = &s->m->layer[s->layer];
    const bool                   is_decode = s->t->step->phase == EMP_PHASE_DECODE;
    const int64_t                all = stack_cached(s, 1);
    const int64_t rows = l->window > 0 && l->window < all ? l->window : all;
    int32_t       unit = emp_tape_unit(s->t), count = 4;
    emp_op_attrs  attrs = {.dtype = s->t->step->dtype,
                           .is_causal = true,
                           .window = l->window,
                           .stride = l->stride};

    if (stack_has_cache(s)) {
        emp_port near = stack_cache(s, ".key_cache", keys, rows, unit);
        if (is_decode) keys = near;
    }
    if (l->stride == 0) return stack_attend_to(s, q, keys, keys, unit);
    if (stack_has_cache(s)) {
        emp_port cached =
            stack_cache(s, ".compressed_cache", far, stack_cached(s, l->stride), unit);
        if (is_decode) far = cached;
    }
    emp_port in[5] = {q, keys, far};
    in[3] = emp_tape_weight_of(s->t, emp_stack_name(s, s->m->names.sinks),
                               EMP_SHAPE(l->heads), unit, EMP_WEIGHT_TRAINED);
    if (l->indexer == EMP_INDEXER_OWN) {
        attrs.chosen = s->m->index.chosen;
        in[count++] = s->chosen;
        stack_train_choice(s, q, far, l->stride);
    }
    return emp_tape_fused(s->t, emp_stack_name(s, s->m->names.attention),
                          "CompressedAttention", unit, &attrs, in, count);
}

/* Products in groups of heads, and one of their results. */
static emp_port put_out(emp_stack *s, emp_port y)
{
    const emp_transformer_layer *l = &s->m->layer[s->layer];
    const int64_t                tokens = emp_stack_tokens(s);
    const int64_t                groups = s->m->output_groups;
    const int64_t                size = (int64_t)l->heads * l->head_size / groups;
    const int64_t                rank = groups * s->m->output_rank;
    const char                  *name = name_of(s, ".o_a_proj");
    int32_t                      unit = emp_tape_unit(s->t);
    emp_op_attrs                 attrs = {.dtype = s->t->step->dtype};
    emp_port                     in[2];

    in[0] =
        emp_tape_view(s->t, name_of(s, "/groups"), y, EMP_SHAPE(tokens, groups, size));
    in[1] = emp_tape_weight_of(s->t, emp_tape_join_names(s->t, name, ".weight"),
                               EMP_SHAPE(rank, size), unit, EMP_WEIGHT_TRAINED);
    y = emp_tape_fused(s->t, name, "GroupedLinear", unit, &attrs, in, 2);
    return emp_tape_linear(s->t, name_of(s, ".o_b_proj"), y, s->m->hidden, false);
}

emp_port emp_stack_compressed_attention(emp_stack *s, emp_port x)
{
    const emp_transformer_layer *l = &s->m->layer[s->layer];
    const int64_t                size = l->head_size;
    emp_port                     far = EMP_TAPE_NONE;

    emp_port latent =
        emp_tape_linear(s->t, name_of(s, ".q_a_proj"), x, s->m->query_rank, false);
    latent = rms_norm(s, ".q_a_norm", latent, true);
    emp_port q =
        emp_tape_linear(s->t, name_of(s, ".q_b_proj"), latent, l->heads * size, false);
    q = rms_norm(s, "/q_head_norm",
                 emp_stack_by_heads(s, name_of(s, "/q"), q, l->heads, size), false);
    q = turn(s, "/q_rotary", q);
    emp_port k = emp_tape_linear(s->t, name_of(s, ".kv_proj"), x, size, false);
    k = turn(s, "/k_rotary",
             emp_stack_by_heads(s, name_of(s, "/k"), rms_norm(s, ".kv_norm", k, true), 1,
                                size));
    if (l->stride > 0) far = compress(s, ".compressor", x, size);
    if (l->indexer == EMP_INDEXER_OWN) s->chosen = choose(s, x, latent);
    emp_port y = turn(s, "/turned_back", attend(s, q, k, far));
    return put_out(s, y);
}

/* ---- a decoder that attends to what an encoder has read ---- */

/* Keys or values of all tokens that the encoder has read, [batch, source, heads, size]. The step that reads the
 * prompt makes them and fills a cache; later ones read that. */
static emp_port source_rows(emp_stack *s, const char *module, const char *cache,
                            int64_t size, bool has_bias, int32_t unit)
{
    const emp_transformer_step *step = s->t->step;
    const int64_t               heads = s->m->layer[s->layer].kv_heads;
    const emp_shape             shape = EMP_SHAPE(step->batch, step->source, heads, size);
    const char                 *name = emp_stack_leaf(s, s->m->names.cross, cache);

    if (step->phase == EMP_PHASE_DECODE) return emp_stack_kept(s, name, shape, unit);
    emp_port x = emp_tape_linear(s->t, emp_stack_name(s, module), s->source, heads * size,
                                 has_bias);
    x = emp_tape_view(s->t, emp_stack_leaf(s, module, "/heads"), x, shape);
    if (step->phase == EMP_PHASE_PREFILL)
        (void)emp_stack_write(s, name, x, step->source, s->source_positions, unit);
    return x;
}

emp_port emp_stack_cross_attention(emp_stack *s, emp_port x)
{
    const emp_transformer_layer *l = &s->m->layer[s->layer];
    const emp_transformer_names *n = &s->m->names;
    const bool                   has_bias = s->m->has_qkv_bias;
    emp_op_attrs                 attrs = {.dtype = s->t->step->dtype};

    emp_port q = emp_tape_linear(s->t, emp_stack_name(s, n->cross_q), x,
                                 (int64_t)l->heads * l->head_size, has_bias);
    q = emp_stack_by_heads(s, emp_stack_leaf(s, n->cross, "/q"), q, l->heads,
                           l->head_size);
    int32_t  unit = emp_tape_unit(s->t);
    emp_port k = source_rows(s, n->cross_k, ".key_cache", l->head_size,
                             has_bias && !s->m->lacks_key_bias, unit);
    emp_port v =
        source_rows(s, n->cross_v, ".value_cache", l->value_size, has_bias, unit);
    emp_port y = emp_tape_attention(s->t, emp_stack_name(s, n->cross), unit, &attrs, q, k,
                                    v, EMP_TAPE_NONE, EMP_TAPE_NONE);
    y = emp_tape_view(s->t, emp_stack_leaf(s, n->cross, "/out"), y,
                      EMP_SHAPE(emp_stack_tokens(s), (int64_t)l->heads * l->value_size));
    return emp_tape_linear(s->t, emp_stack_name(s, n->cross_output), y, s->m->hidden,
                           s->m->has_output_bias);
}

/* ---- biases of scores by the distance of query and key, in the place of positions (T5, 2020) ---- */

void emp_stack_relate(emp_stack *s, int64_t keys)
{
    const emp_transformer_model *m = s->m;
    const int64_t                heads = m->layer[s->layer].heads;
    emp_op_attrs                 attrs = {.dtype = EMP_DTYPE_INT32,
                                          .has_shape = true,
                                          .shape = EMP_SHAPE(s->new_tokens * keys)};

    if (m->relative_buckets == 0 || (m->is_relative_shared && s->layer > 0)) return;
    const char *module = emp_stack_name(s, m->names.relative);
    int32_t     unit = emp_tape_unit(s->t);
    emp_port    numbers =
        emp_tape_op(s->t, "RelativePositions",
                    emp_tape_join_names(s->t, module, "/buckets"), unit, &attrs, NULL, 0);
    emp_port table = emp_tape_table(s->t, emp_tape_join_names(s->t, module, ".weight"),
                                    EMP_SHAPE(m->relative_buckets, heads), unit);
    emp_port rows = emp_tape_lookup(s->t, module, table, numbers, unit);
    s->relative = emp_tape_view(s->t, emp_tape_join_names(s->t, module, "/biases"), rows,
                                EMP_SHAPE(1, heads, s->new_tokens, keys));
}
