// SPDX-License-Identifier: GPL-3.0-or-later
/* The attention of DeepSeek-V4 (2026, section 2.3): one key a token for all heads, which is its value, too. A query sees
 * the keys of the last tokens, and keys that stand for `stride` tokens each: all of them where these are many, else those
 * that an indexer chooses among keys of its own. The result goes through products in groups.
 *
 * A compressed key is a sum of the keys of its window by weights of a softmax; with a short stride windows overlap by one.
 * The keys of an open window are a state, in float32. A step of one token is taken to close a window, and the last window of
 * a prompt counts as closed. */
#include "graphs/transformer/stack.h"

enum { OVERLAPPING = 4 }; /* the stride whose windows overlap */

static const char *name_of(emp_stack *s, const char *leaf)
{
    return emp_stack_leaf(s, s->m->names.attention, leaf);
}

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
static emp_port project(emp_stack *s, const char *module, const char *leaf, emp_port x,
                        int64_t width)
{
    const char *name = emp_tape_join_names(s->t, name_of(s, module), leaf);
    emp_port    y = emp_tape_linear(s->t, name, x, width, false);

    return emp_tape_view(s->t, emp_tape_join_names(s->t, name, "/tokens"), y,
                         EMP_SHAPE(s->t->step->batch, emp_stack_new_tokens(s), width));
}

/* Keys of windows, [batch, windows, 1, size]. */
static emp_port compress(emp_stack *s, const char *module, emp_port x, int64_t size)
{
    const int64_t stride = s->m->layer[s->layer].stride, batch = s->t->step->batch;
    const int64_t overlap = stride == OVERLAPPING ? 2 : 1, width = overlap * size;
    const int64_t windows = (emp_stack_new_tokens(s) + stride - 1) / stride;
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

    in[0] = project(s, module, ".kv_proj", x, width);
    in[1] = project(s, module, ".gate_proj", x, width);
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

/* What the indexer chooses for queries of the vector \a latent. */
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
    return emp_stack_select(s, q, k, w, s->m->layer[s->layer].stride);
}

/* ---- attention ---- */

/* Queries q and the keys of tokens; in a step that writes a cache, those that it holds. */
static emp_port attend(emp_stack *s, emp_port q, emp_port keys, emp_port far)
{
    const emp_transformer_layer *l = &s->m->layer[s->layer];
    const bool                   is_decode = s->t->step->phase == EMP_PHASE_DECODE;
    const int64_t                all = emp_stack_cached(s, 1);
    const int64_t rows = l->window > 0 && l->window < all ? l->window : all;
    int32_t       unit = emp_tape_unit(s->t), count = 4;
    emp_op_attrs  attrs = {.dtype = s->t->step->dtype,
                           .is_causal = true,
                           .window = l->window,
                           .stride = l->stride};

    if (emp_stack_has_cache(s)) {
        emp_port near = emp_stack_cache(s, ".key_cache", keys, rows, unit);
        if (is_decode) keys = near;
    }
    if (l->stride == 0) return emp_stack_attend_to(s, q, keys, keys, unit);
    if (emp_stack_has_cache(s)) {
        emp_port cached = emp_stack_cache(s, ".compressed_cache", far,
                                          emp_stack_cached(s, l->stride), unit);
        if (is_decode) far = cached;
    }
    emp_port in[5] = {q, keys, far};
    in[3] = emp_tape_weight_of(s->t, emp_stack_name(s, s->m->names.sinks),
                               EMP_SHAPE(l->heads), unit, EMP_WEIGHT_TRAINED);
    if (l->indexer == EMP_INDEXER_OWN) {
        attrs.chosen = s->m->index.chosen;
        in[count++] = s->chosen;
        emp_stack_train_choice(s, q, far, l->stride);
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
