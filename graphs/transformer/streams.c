// SPDX-License-Identifier: GPL-3.0-or-later
/* Layers whose residual connection is no plain sum.
 *
 * Hyper-connections (DeepSeek-V4) carry several streams of a token: [tokens, n, hidden]. Before each part of a layer
 * they are collapsed into one, behind it expanded again, by weights that a product of all streams gives.
 *
 * Attention residuals (Kimi K3) keep the sums of blocks of layers, one behind the other: [tokens, blocks x hidden]. The
 * input of each part is a mix of them and of the sum of the block that is open. */
#include "graphs/transformer/stack.h"

/* ---- hyper-connections ---- */

/* Factors of a connection: one a stream to collapse, one to expand, and n x n between. The parameters have the names
 * of its module and \a dot. */
static emp_port stream_weights(emp_stack *s, const char *leaf, const char *dot,
                               emp_port x, int64_t count, int64_t scales)
{
    const char  *name = emp_stack_name(s, leaf);
    const char  *begin = emp_tape_join_names(s->t, name, dot);
    int64_t      all = (int64_t)s->m->streams * s->m->hidden;
    int32_t      unit = emp_tape_unit(s->t);
    emp_op_attrs attrs = {.dtype = EMP_DTYPE_FLOAT};
    emp_port     in[4] = {x};

    in[1] = emp_tape_weight_of(s->t, emp_tape_join_names(s->t, begin, "fn"),
                               EMP_SHAPE(count, all), unit, EMP_WEIGHT_TRAINED);
    in[2] = emp_tape_weight_of(s->t, emp_tape_join_names(s->t, begin, "base"),
                               EMP_SHAPE(count), unit, EMP_WEIGHT_TRAINED);
    in[3] = emp_tape_weight_of(s->t, emp_tape_join_names(s->t, begin, "scale"),
                               EMP_SHAPE(scales), unit, EMP_WEIGHT_TRAINED);
    return emp_tape_fused(s->t, name, "StreamWeights", unit, &attrs, in, 4);
}

static emp_port collapse(emp_stack *s, const char *leaf, emp_port x, emp_port weights)
{
    emp_op_attrs attrs = {.dtype = s->t->step->dtype};
    emp_port     in[2] = {x, weights};

    return emp_tape_fused(s->t, emp_stack_leaf(s, leaf, "/collapse"), "CollapseStreams",
                          emp_tape_unit(s->t), &attrs, in, 2);
}

static emp_port expand(emp_stack *s, const char *leaf, emp_port x, emp_port y,
                       emp_port weights)
{
    emp_op_attrs attrs = {.dtype = s->t->step->dtype};
    emp_port     in[3] = {x, y, weights};

    return emp_tape_fused(s->t, emp_stack_leaf(s, leaf, "/expand"), "ExpandStreams",
                          emp_tape_unit(s->t), &attrs, in, 3);
}

emp_port emp_stack_streams(emp_stack *s, emp_port x)
{
    int64_t  tokens = emp_tape_size(s->t, x, 0), hidden = s->m->hidden;
    emp_port one = emp_tape_view(s->t, "streams/one", x, EMP_SHAPE(tokens, 1, hidden));

    return emp_tape_spread(s->t, "streams", one, s->m->streams);
}

emp_port emp_stack_streams_layer(emp_stack *s, emp_port x)
{
    static const char *const     connection[2] = {"attn_hc", "ffn_hc"};
    const emp_transformer_names *n = &s->m->names;
    int64_t                      streams = s->m->streams;

    for (int32_t part = 0; part < 2; part++) {
        const char *leaf = connection[part];
        emp_port    w = stream_weights(s, leaf, ".", x, (2 + streams) * streams, 3);
        emp_port    y = collapse(s, leaf, x, w);
        y = emp_stack_norm(s, emp_stack_name(s, part == 0 ? n->norm_1 : n->norm_2), y);
        y = part == 0 ? emp_stack_mix(s, y) : emp_stack_feed_forward(s, y, y);
        x = expand(s, leaf, x, y, w);
    }
    return x;
}

emp_port emp_stack_join_streams(emp_stack *s, emp_port x)
{
    const char *head = "model.hc_head";

    return collapse(s, head, x, stream_weights(s, head, ".hc_", x, s->m->streams, 1));
}

/* ---- attention residuals ---- */

/* A mix of the open block's sum \a x and of the blocks that are closed, of which there is one at least. */
static emp_port mix_blocks(emp_stack *s, const char *leaf, emp_port x)
{
    const char  *name = emp_stack_name(s, leaf);
    emp_shape    size = EMP_SHAPE(s->m->hidden);
    int32_t      unit = emp_tape_unit(s->t);
    emp_op_attrs attrs = {.dtype = s->t->step->dtype};
    emp_port     in[4] = {x, s->blocks};

    in[2] = emp_tape_weight_of(s->t, emp_tape_join_names(s->t, name, "_norm.weight"),
                               size, unit, EMP_WEIGHT_TRAINED);
    in[3] = emp_tape_weight_of(s->t, emp_tape_join_names(s->t, name, "_proj.weight"),
                               size, unit, EMP_WEIGHT_TRAINED);
    return emp_tape_fused(s->t, name, "MixBlocks", unit, &attrs, in, 4);
}

static void close_block(emp_stack *s, emp_port sum)
{
    if (s->blocks.op < 0)
        s->blocks = sum;
    else
        s->blocks = emp_tape_concat(s->t, emp_stack_name(s, "blocks"), s->blocks, sum);
}

static emp_port norm(emp_stack *s, const char *module, emp_port x)
{
    return emp_stack_norm(s, emp_stack_name(s, module), x);
}

emp_port emp_stack_blocks_layer(emp_stack *s, emp_port x)
{
    const emp_transformer_names *n = &s->m->names;
    bool                         is_first = s->layer % s->m->residual_block == 0;
    bool                         is_mixed = s->blocks.op >= 0;

    emp_port input = is_mixed ? mix_blocks(s, "self_attention_res", x) : x;
    if (is_first) close_block(s, x);
    emp_port y = emp_stack_mix(s, norm(s, n->norm_1, input));
    if (!is_first)
        y = emp_tape_add(s->t, emp_stack_leaf(s, n->attention, "/residual"), x, y);
    input = norm(s, n->norm_2, mix_blocks(s, "mlp_res", y));
    emp_port z = emp_stack_feed_forward(s, input, input);
    return emp_tape_add(s->t, emp_stack_leaf(s, n->down, "/residual"), y, z);
}

emp_port emp_stack_join_blocks(emp_stack *s, emp_port x)
{
    return mix_blocks(s, "model.output_attn_res", x);
}
