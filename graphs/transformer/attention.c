// SPDX-License-Identifier: GPL-3.0-or-later
/* Attention with heads of its own or shared keys, with and without a cache. */
#include "base/mem.h"
#include "graphs/transformer/stack.h"

int64_t emp_stack_new_tokens(const emp_stack *s) { return s->new_tokens; }

int64_t emp_stack_tokens(const emp_stack *s) { return s->t->step->batch * s->new_tokens; }

emp_port emp_stack_by_heads(emp_stack *s, const char *name, emp_port x, int64_t heads,
                            int64_t size)
{
    return emp_tape_view(s->t, name, x,
                         EMP_SHAPE(s->t->step->batch, s->new_tokens, heads, size));
}

bool emp_stack_has_cache(const emp_stack *s)
{
    return s->t->step->phase != EMP_PHASE_TRAIN && !s->m->is_encoder;
}

int64_t emp_stack_cached(const emp_stack *s, int64_t stride)
{
    int64_t tokens = s->t->step->sequence;

    return stride > 1 ? (tokens + stride - 1) / stride : tokens;
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

/* The cache as the round before has left it. */
static emp_port *open_cache(emp_stack *s, const char *name, const emp_op_attrs *attrs,
                            int32_t unit)
{
    emp_tape  *t = s->t;
    emp_error *err = t->err;

    if (s->next_cache == s->cache_count) {
        emp_tape_fail(t, EMP_GROW(s->cache, s->cache_count + 1, s->cache_capacity));
        if (!emp_tape_is_ok(t)) return NULL;
        s->cache[s->cache_count++] =
            emp_tape_op(t, "KeyValueCache", name, unit, attrs, NULL, 0);
    }
    return &s->cache[s->next_cache++];
}

/* The keys or values of a cache that a round sees. */
static emp_port seen_rows(emp_stack *s, const char *leaf, emp_port cache, int64_t seen,
                          int64_t rows, int32_t unit)
{
    emp_op_attrs attrs = {.dtype = s->t->step->dtype, .has_shape = true};

    if (seen >= rows || cache.op < 0) return cache;
    attrs.shape = emp_tape_shape(s->t, cache);
    attrs.shape.dim[1] = seen;
    return emp_tape_op(s->t, "View", emp_stack_leaf(s, s->m->names.attention, leaf), unit,
                       &attrs, &cache, 1);
}

emp_port emp_stack_cache(emp_stack *s, const char *leaf, emp_port x, int64_t rows,
                         int32_t unit)
{
    emp_tape    *t = s->t;
    const char  *name = emp_stack_leaf(s, s->m->names.attention, leaf);
    emp_op_attrs attrs = {
        .dtype = t->step->dtype, .has_shape = true, .shape = emp_tape_shape(t, x)};

    if (!emp_tape_is_ok(t)) return EMP_TAPE_NONE;
    attrs.shape.dim[1] = rows;
    emp_port *cache = open_cache(s, name, &attrs, unit);
    if (cache == NULL) return EMP_TAPE_NONE;
    emp_port     in[3] = {*cache, s->positions, x};
    emp_op_attrs none = {.dtype = t->step->dtype};
    emp_port     written = emp_tape_op(
            t, "ScatterUpdate", emp_tape_join_names(t, name, "/write"), unit, &none, in, 3);
    if (emp_tape_is_ok(t)) emp_graph_builder_set_target(t->builder, written.op);
    *cache = written;
    return written;
}

static emp_port first_columns(emp_stack *s, emp_port k, int64_t size, int32_t unit)
{
    emp_op_attrs attrs = {
        .dtype = s->t->step->dtype, .has_shape = true, .shape = emp_tape_shape(s->t, k)};

    attrs.shape.dim[3] = size;
    return emp_tape_op(s->t, "View", emp_stack_leaf(s, s->m->names.attention, "/values"),
                       unit, &attrs, &k, 1);
}

emp_port emp_stack_attend_to(emp_stack *s, emp_port q, emp_port k, emp_port v,
                             int32_t unit)
{
    emp_tape    *t = s->t;
    int32_t      window = s->m->layer[s->layer].window;
    bool         is_sparse = s->m->layer[s->layer].indexer != EMP_INDEXER_NONE;
    emp_port     sinks = EMP_TAPE_NONE;
    emp_op_attrs attrs = {
        .dtype = t->step->dtype, .is_causal = !s->m->is_encoder, .window = window};

    if (is_sparse) attrs.chosen = s->m->index.chosen;
    if (is_sparse) emp_stack_train_choice(s, q, k, 1);
    if (s->m->has_sinks && (window > 0 || !s->m->has_window_sinks))
        sinks = emp_tape_weight_of(t, emp_stack_name(s, s->m->names.sinks),
                                   EMP_SHAPE(s->m->layer[s->layer].heads), unit,
                                   EMP_WEIGHT_TRAINED);
    return emp_tape_attention(t, emp_stack_name(s, s->m->names.attention), unit, &attrs,
                              q, k, v, is_sparse ? s->chosen : EMP_TAPE_NONE, sinks);
}

emp_port emp_stack_attend(emp_stack *s, emp_port q, emp_port k, emp_port v,
                          int64_t value_size)
{
    int32_t unit = emp_tape_unit(s->t);
    bool    is_decode = s->t->step->phase == EMP_PHASE_DECODE;
    int64_t rows = cached_tokens(s);

    if (emp_stack_has_cache(s) && s->m->layer[s->layer].keys_of < 0) {
        emp_port keys = emp_stack_cache(s, ".key_cache", k, rows, unit);
        emp_port values =
            v.op < 0 ? EMP_TAPE_NONE : emp_stack_cache(s, ".value_cache", v, rows, unit);
        if (is_decode || emp_transformer_rounds(s->t->step) > 1) {
            const int64_t seen = is_decode ? tokens_in(s, s->m->layer[s->layer].window)
                                           : s->first + s->new_tokens;
            k = seen_rows(s, ".key_cache/seen", keys, seen, rows, unit);
            v = seen_rows(s, ".value_cache/seen", values, seen, rows, unit);
        }
    }
    if (v.op < 0) v = first_columns(s, k, value_size, unit);
    s->kv[s->layer] = (emp_stack_kv){k, v};
    return emp_stack_attend_to(s, q, k, v, unit);
}

/* Queries or keys of a projection: normed, by heads, turned. */
static emp_port prepare(emp_stack *s, const char *leaf, const char *norm, emp_port x,
                        int64_t heads, int64_t size)
{
    const char *name = emp_stack_name(s, norm);
    bool        is_rms = s->m->norm == EMP_NORM_RMS;
    const char *type = is_rms ? "RMSNorm" : "LayerNorm";

    if (s->m->qk_norm == EMP_QK_NORM_ALL)
        x = emp_tape_norm(s->t, name, type, x, true, false);
    x = emp_stack_by_heads(s, emp_stack_leaf(s, s->m->names.attention, leaf), x, heads,
                           size);
    if (s->m->qk_norm == EMP_QK_NORM_HEAD)
        x = emp_tape_norm(s->t, name, type, x, true, false);
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

emp_port emp_stack_gate(emp_stack *s, emp_port y, emp_port x)
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
    out[1] = emp_tape_linear(s->t, emp_stack_name(s, n->k), x, k, has_bias);
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
    emp_stack_choose(s, x, EMP_TAPE_NONE);
    emp_port y = emp_stack_attend(s, q, k, v, l->value_size);
    int64_t  tokens = emp_stack_tokens(s);
    y = emp_tape_view(s->t, emp_stack_leaf(s, n->attention, "/out"), y,
                      EMP_SHAPE(tokens, (int64_t)l->heads * l->value_size));
    y = s->m->gate == EMP_GATE_IN_QUERY ? multiply_gate(s, y, p[3])
                                        : emp_stack_gate(s, y, x);
    return emp_tape_linear(s->t, emp_stack_name(s, n->output), y, s->m->hidden,
                           s->m->has_output_bias);
}
