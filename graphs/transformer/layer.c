// SPDX-License-Identifier: GPL-3.0-or-later
/* One layer: attention and feed-forward, with norms and sums where the model has them. */
#include <stdio.h>
#include <string.h>

#include "graphs/transformer/stack.h"

const char *emp_stack_name(emp_stack *s, const char *module)
{
    return emp_tape_join_names(s->t, s->prefix, module);
}

const char *emp_stack_leaf(emp_stack *s, const char *module, const char *leaf)
{
    return emp_tape_join_names(s->t, emp_stack_name(s, module), leaf);
}

const char *emp_stack_part(emp_stack *s, const char *pattern, const char *part)
{
    char        name[EMP_TAPE_NAME_BYTES];
    int         before = (int)strcspn(pattern, "*");
    const char *rest = pattern[before] == '*' ? pattern + before + 1 : "";

    snprintf(name, sizeof name, "%.*s%s%s", before, pattern, part, rest);
    return emp_stack_name(s, name);
}

emp_port emp_stack_norm(emp_stack *s, const char *name, emp_port x)
{
    emp_norm_kind kind = s->m->norm;

    return emp_tape_norm(s->t, name, kind == EMP_NORM_RMS ? "RMSNorm" : "LayerNorm", x,
                         kind != EMP_NORM_LAYER_BARE, kind == EMP_NORM_LAYER);
}

emp_port emp_stack_activate(emp_stack *s, const char *name, emp_port x)
{
    switch (s->m->activation) {
    case EMP_ACTIVATION_SILU: return emp_tape_map(s->t, name, "Silu", "SiluGrad", x);
    case EMP_ACTIVATION_GELU: return emp_tape_map(s->t, name, "Gelu", "GeluGrad", x);
    case EMP_ACTIVATION_RELU: return emp_tape_map(s->t, name, "Relu", "ReluGrad", x);
    case EMP_ACTIVATION_SQUARED_RELU:
        x = emp_tape_map(s->t, name, "Relu", "ReluGrad", x);
        /* the gradient of a square is a product with twice its argument */
        return emp_tape_map(s->t, emp_tape_join_names(s->t, name, "_square"), "Square",
                            "Mul", x);
    }
    return x;
}

emp_port emp_stack_mix(emp_stack *s, emp_port x)
{
    switch (s->m->layer[s->layer].mixer) {
    case EMP_MIXER_COMPRESSED: return emp_stack_compressed_attention(s, x);
    case EMP_MIXER_DELTA_RULE: return emp_stack_delta_rule(s, x);
    case EMP_MIXER_STATE_SPACE: return emp_stack_state_space(s, x);
    case EMP_MIXER_LINEAR:
        return emp_tape_linear(s->t,
                               emp_stack_leaf(s, s->m->names.attention, ".linear_attn"),
                               x, s->m->hidden, false);
    default: break;
    }
    return emp_transformer_is_latent(s->m) ? emp_stack_latent_attention(s, x)
                                           : emp_stack_attention(s, x);
}

static emp_port norm(emp_stack *s, const char *module, emp_port x)
{
    return emp_stack_norm(s, emp_stack_name(s, module), x);
}

static emp_port add(emp_stack *s, const char *module, emp_port x, emp_port y)
{
    return emp_tape_add(s->t, emp_stack_leaf(s, module, "/residual"), x, y);
}

/* Both parts read the layer's input. */
static emp_port parallel(emp_stack *s, emp_port x)
{
    const emp_transformer_names *n = &s->m->names;
    emp_port                     a = norm(s, n->norm_1, x);
    emp_port f = s->m->places == EMP_NORMS_PARALLEL_2 ? norm(s, n->norm_2, x) : a;

    emp_port y = emp_tape_add(s->t, emp_stack_leaf(s, n->attention, "/add"),
                              emp_stack_mix(s, a), emp_stack_feed_forward(s, f, x));
    return add(s, n->down, x, y);
}

/* norm(x + f(x)), as the first transformers had it. */
static emp_port norms_after(emp_stack *s, emp_port x)
{
    const emp_transformer_names *n = &s->m->names;

    x = norm(s, n->norm_1, add(s, n->attention, x, emp_stack_mix(s, x)));
    return norm(s, n->norm_2, add(s, n->down, x, emp_stack_feed_forward(s, x, x)));
}

static emp_port one_after_the_other(emp_stack *s, emp_port x)
{
    const emp_transformer_layer *l = &s->m->layer[s->layer];
    const emp_transformer_names *n = &s->m->names;
    bool                         has_first = s->m->places != EMP_NORMS_INSIDE;
    bool                         has_second = s->m->places != EMP_NORMS_BEFORE;

    if (l->mixer != EMP_MIXER_NONE) {
        emp_port y = emp_stack_mix(s, has_first ? norm(s, n->norm_1, x) : x);
        if (has_second) y = norm(s, n->post_1, y);
        x = add(s, n->attention, x, y);
    }
    if (!l->has_no_feed_forward) {
        emp_port y = emp_stack_feed_forward(s, has_first ? norm(s, n->norm_2, x) : x, x);
        if (has_second) y = norm(s, n->post_2, y);
        x = add(s, n->down, x, y);
    }
    return x;
}

/* What a layer's own embedding of each token adds (Gemma 4). */
static emp_port add_embedding(emp_stack *s, emp_port x)
{
    int64_t  tokens = emp_tape_size(s->t, x, 0), size = s->m->layer_embedding;
    int32_t  unit = emp_tape_unit(s->t);
    emp_port y =
        emp_tape_linear(s->t, emp_stack_name(s, "per_layer_input_gate"), x, size, false);

    y = emp_stack_activate(s, emp_stack_name(s, "per_layer_input_gate/act"), y);
    emp_op_attrs attrs = {
        .dtype = s->t->step->dtype, .has_shape = true, .shape = EMP_SHAPE(tokens, size)};
    emp_port own = emp_tape_op(s->t, "View", emp_stack_name(s, "per_layer_input"), unit,
                               &attrs, &s->embeddings, 1);
    y = emp_tape_mul(s->t, emp_stack_name(s, "per_layer_input/mul"), y, own);
    y = emp_tape_linear(s->t, emp_stack_name(s, "per_layer_projection"), y, s->m->hidden,
                        false);
    return emp_tape_add(s->t, emp_stack_name(s, "per_layer_projection/residual"), x,
                        norm(s, "post_per_layer_input_norm", y));
}

emp_port emp_stack_layer(emp_stack *s, emp_port x)
{
    if (s->m->streams > 0) return emp_stack_streams_layer(s, x);
    if (s->m->residual_block > 0) return emp_stack_blocks_layer(s, x);
    switch (s->m->places) {
    case EMP_NORMS_PARALLEL:
    case EMP_NORMS_PARALLEL_2: x = parallel(s, x); break;
    case EMP_NORMS_AFTER: x = norms_after(s, x); break;
    default: x = one_after_the_other(s, x); break;
    }
    if (s->m->layer_embedding > 0) x = add_embedding(s, x);
    if (s->m->has_layer_scale)
        x = emp_tape_scale(s->t, emp_stack_name(s, "layer_scalar"), x, 1,
                           EMP_WEIGHT_FIXED);
    return x;
}
