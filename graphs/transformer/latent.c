// SPDX-License-Identifier: GPL-3.0-or-later
/* Multi-head latent attention (DeepSeek-V2, 2024): keys and values of all heads are made of one
 * short vector a token and a rotated key that the heads share.
 *
 * Training and prompts expand the vector into keys and values. A step that writes one token does
 * not: it takes the matrix of the keys into the query and that of the values behind the attention.
 * Neither does a prompt that is longer than the keys its indexer chooses, since keys that all heads share can be
 * gathered. The cache holds the vector and the rotated key. */
#include "graphs/transformer/stack.h"

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
    if (emp_stack_has_cache(s))
        (void)emp_stack_cache(s, ".key_cache", key_of_all(s, latent),
                              emp_stack_cached(s, 1), unit);
    return emp_stack_attend_to(s, query, k, parts[1], unit);
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

/* The matrix of keys and that of values, which may be one. */
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
    emp_port y = emp_stack_attend(s, query, key_of_all(s, latent), EMP_TAPE_NONE, rank);
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
    emp_stack_choose(s, x, vector);
    emp_port y = is_absorbed(s) ? absorbed(s, q, latent) : expanded(s, q, latent);
    y = emp_tape_view(s->t, name_of(s, "/out"), y,
                      EMP_SHAPE(emp_stack_tokens(s), (int64_t)l->heads * l->value_size));
    y = emp_stack_gate(s, y, x);
    return emp_tape_linear(s->t, emp_stack_name(s, s->m->names.output), y, s->m->hidden,
                           s->m->has_output_bias);
}
