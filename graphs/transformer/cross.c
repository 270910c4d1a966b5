// SPDX-License-Identifier: GPL-3.0-or-later
/* Attention of a decoder to what an encoder has read, whose keys and values are made once and then kept; and biases of
 * scores by the distance of query and key (T5, 2020), which stand in the place of positions. */
#include "graphs/transformer/stack.h"

/* ---- keys and values of the encoder ---- */

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

/* ---- biases by distance ---- */

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
