// SPDX-License-Identifier: GPL-3.0-or-later
/* One layer: attention and feed-forward, with norms and sums where the model has them; and the elements of its
 * parts: names of modules, norms, activations, views by heads. */
#include "graphs/transformer/stack.h"

#include <stdio.h>
#include <string.h>

const char *emp_stack_name(emp_stack *s, const char *module)
{
    return emp_tape_join_names(s->t, s->prefix, module);
}

const char *emp_stack_leaf(emp_stack *s, const char *module, const char *leaf)
{
    return emp_tape_join_names(s->t, emp_stack_name(s, module), leaf);
}

emp_port emp_stack_norm(emp_stack *s, const char *name, emp_port x)
{
    emp_norm_kind kind = s->m->norm;

    return emp_tape_norm(s->t, name, kind == EMP_NORM_RMS ? "RMSNorm" : "LayerNorm", x,
                         kind != EMP_NORM_LAYER_BARE, kind == EMP_NORM_LAYER);
}

/* x / 2 (1 + tanh(c (x + d x^3))) as transformers' NewGELUActivation spells it. The gradients read x, the tangent, and both
 * factors of the last product, which is what autograd keeps. */
static emp_port new_gelu(emp_stack *s, const char *name, emp_port x)
{
    emp_tape *t = s->t;
    emp_port  cube =
        emp_tape_map(t, emp_tape_join_names(t, name, "/cube"), "Square", "Mul", x);
    emp_port y = emp_tape_mul(t, emp_tape_join_names(t, name, "/small"), cube,
                              emp_tape_factor(t, "gelu/small"));

    y = emp_tape_add(t, emp_tape_join_names(t, name, "/sum"), x, y);
    y = emp_tape_mul(t, emp_tape_join_names(t, name, "/argument"), y,
                     emp_tape_factor(t, "gelu/argument"));
    y = emp_tape_map(t, emp_tape_join_names(t, name, "/tanh"), "Tanh", "TanhGrad", y);
    y = emp_tape_add(t, emp_tape_join_names(t, name, "/one"), y,
                     emp_tape_factor(t, "gelu/one"));
    emp_port half = emp_tape_mul(t, emp_tape_join_names(t, name, "/half"), x,
                                 emp_tape_factor(t, "gelu/half"));
    return emp_tape_mul(t, name, half, y);
}

/* A parabola above zero and an exponential below, each with a trained factor (Huang and Schlag, 2024). */
static emp_port xielu(emp_stack *s, const char *name, emp_port x)
{
    int32_t      unit = emp_tape_unit(s->t);
    emp_op_attrs attrs = {.dtype = s->t->step->dtype};
    emp_port     in[3] = {x};

    in[1] = emp_tape_weight_of(s->t, emp_stack_name(s, "mlp.act_fn.alpha_p"),
                               EMP_SHAPE(1), unit, EMP_WEIGHT_TRAINED);
    in[2] = emp_tape_weight_of(s->t, emp_stack_name(s, "mlp.act_fn.alpha_n"),
                               EMP_SHAPE(1), unit, EMP_WEIGHT_TRAINED);
    return emp_tape_fused(s->t, name, "Xielu", unit, &attrs, in, 3);
}

emp_port emp_stack_activate(emp_stack *s, const char *name, emp_port x)
{
    switch (s->m->activation) {
    case EMP_ACTIVATION_SILU: return emp_tape_map(s->t, name, "Silu", "SiluGrad", x);
    case EMP_ACTIVATION_GELU_NEW:
        if (emp_tape_is_training(s->t)) return new_gelu(s, name, x);
        return emp_tape_map(s->t, name, "Gelu", "GeluGrad", x);
    case EMP_ACTIVATION_GELU: return emp_tape_map(s->t, name, "Gelu", "GeluGrad", x);
    case EMP_ACTIVATION_XIELU: return xielu(s, name, x);
    case EMP_ACTIVATION_RELU: return emp_tape_map(s->t, name, "Relu", "ReluGrad", x);
    case EMP_ACTIVATION_SQUARED_RELU:
        x = emp_tape_map(s->t, name, "Relu", "ReluGrad", x);
        /* the gradient of a square is a product with twice its argument */
        return emp_tape_map(s->t, emp_tape_join_names(s->t, name, "_square"), "Square",
                            "Mul", x);
    }
    return x;
}

int64_t emp_stack_tokens(const emp_stack *s) { return s->t->step->batch * s->new_tokens; }

emp_port emp_stack_by_heads(emp_stack *s, const char *name, emp_port x, int64_t heads,
                            int64_t size)
{
    return emp_tape_view(s->t, name, x,
                         EMP_SHAPE(s->t->step->batch, s->new_tokens, heads, size));
}

/* ---- layers ---- */

static emp_port stack_mix(emp_stack *s, emp_port x)
{
    switch (s->m->layer[s->layer].mixer) {
    case EMP_MIXER_COMPRESSED: return emp_stack_compressed_attention(s, x);
    case EMP_MIXER_DELTA_RULE: return emp_stack_delta_rule(s, x);
    case EMP_MIXER_STATE_SPACE: return emp_stack_state_space(s, x);
    case EMP_MIXER_SELECTIVE: return emp_stack_selective(s, x);
    case EMP_MIXER_LIGHTNING: return emp_stack_lightning(s, x);
    case EMP_MIXER_BOTH:
        return emp_tape_add(s->t, emp_stack_leaf(s, s->m->names.scan, "/add"),
                            emp_stack_state_space(s, x), emp_stack_attention(s, x));
    case EMP_MIXER_CONVOLUTION: return emp_stack_convolution(s, x);
    case EMP_MIXER_LINEAR:
        return emp_tape_linear(s->t,
                               emp_stack_leaf(s, s->m->names.attention, ".linear_attn"),
                               x, s->m->hidden, false);
    default: break;
    }
    return emp_transformer_is_latent(s->m) ? emp_stack_latent_attention(s, x)
                                           : emp_stack_attention(s, x);
}

/* The full name of a module whose pattern has a star for part: "mlp.*_proj". */
static const char *stack_part(emp_stack *s, const char *pattern, const char *part)
{
    char        name[EMP_TAPE_NAME_BYTES];
    int         before = (int)strcspn(pattern, "*");
    const char *rest = pattern[before] == '*' ? pattern + before + 1 : "";

    snprintf(name, sizeof name, "%.*s%s%s", before, pattern, part, rest);
    return emp_stack_name(s, name);
}

/* Dense feed-forward layers, experts, and both together. */

/* activation(gate x) (up x), or activation(up x), by a product of \a kind. */
typedef struct {
    const char *gate, *up, *gate_up, *down; /* full names */
    int64_t     inner;
    int64_t     size;    /* of what it reads and writes */
    int64_t     experts; /* 0: dense */
    emp_port    route;
    bool        has_bias;
} block;

static emp_port multiply(emp_stack *s, const block *b, const char *name, emp_port x,
                         int64_t size)
{
    return b->experts > 0
               ? emp_tape_experts(s->t, name, x, b->route, b->experts, size, b->has_bias)
               : emp_tape_linear(s->t, name, x, size, b->has_bias);
}

static emp_port run_block(emp_stack *s, const block *b, emp_port x)
{
    const char *act = emp_tape_join_names(s->t, b->up, "/act");
    emp_port    parts[2];

    if (!s->m->is_gated) {
        emp_port y = emp_stack_activate(s, act, multiply(s, b, b->up, x, b->inner));
        return multiply(s, b, b->down, y, b->size);
    }
    if (s->m->has_fused_gate) {
        emp_port all = multiply(s, b, b->gate_up, x, 2 * b->inner);
        emp_tape_split(s->t, b->gate_up, all, (int64_t[]){b->inner, b->inner}, 2, parts);
    } else {
        parts[0] = multiply(s, b, b->gate, x, b->inner);
        parts[1] = multiply(s, b, b->up, x, b->inner);
    }
    if (s->m->layer[s->layer].is_sparse)
        parts[0] = emp_tape_map(s->t, emp_tape_join_names(s->t, b->gate, "/sparse"),
                                "GaussianTopK", "GaussianTopKGrad", parts[0]);
    emp_port y = emp_tape_mul(s->t, emp_tape_join_names(s->t, b->up, "/mul"),
                              emp_stack_activate(s, act, parts[0]), parts[1]);
    return multiply(s, b, b->down, y, b->size);
}

static emp_port dense(emp_stack *s, emp_port x)
{
    const emp_transformer_names *n = &s->m->names;
    block                        b = {.gate = emp_stack_name(s, n->gate),
                                      .up = emp_stack_name(s, n->up),
                                      .gate_up = emp_stack_name(s, n->gate_up),
                                      .down = emp_stack_name(s, n->down),
                                      .inner = s->m->layer[s->layer].inner,
                                      .size = s->m->hidden,
                                      .has_bias = s->m->has_mlp_bias};

    return run_block(s, &b, x);
}

/* ---- experts ---- */

/* A block whose products the pattern names. */
static block block_of(emp_stack *s, const char *pattern, int64_t inner)
{
    return (block){.gate = stack_part(s, pattern, "gate"),
                   .up = stack_part(s, pattern, "up"),
                   .gate_up = stack_part(s, pattern, "gate_up"),
                   .down = stack_part(s, pattern, "down"),
                   .inner = inner,
                   .size = s->m->hidden};
}

/* The experts of each token by a table, which nothing trains. */
static emp_port look_up_experts(emp_stack *s)
{
    const emp_transformer_layer *l = &s->m->layer[s->layer];
    const char                  *name = emp_stack_leaf(s, s->m->names.router, ".tid2eid");
    int32_t                      unit = emp_tape_unit(s->t);
    emp_op_attrs                 attrs = {.dtype = EMP_DTYPE_INT32,
                                          .has_shape = true,
                                          .shape = EMP_SHAPE(s->m->vocabulary, l->chosen)};
    emp_op_attrs                 none = {.dtype = EMP_DTYPE_INT32};
    emp_port table = emp_tape_op(s->t, "Buffer", name, unit, &attrs, NULL, 0);

    return emp_tape_op(s->t, "Gather", emp_tape_join_names(s->t, name, "/rows"), unit,
                       &none, (emp_port[]){table, s->ids}, 2);
}

static emp_port choose(emp_stack *s, emp_port x)
{
    const emp_transformer_layer *l = &s->m->layer[s->layer];
    const char                  *router = emp_stack_name(s, s->m->names.router);
    emp_port                     bias = EMP_TAPE_NONE;

    if (s->m->has_router_scales) {
        x = emp_tape_norm(s->t, emp_tape_join_names(s->t, router, "/norm"), "RMSNorm", x,
                          false, false);
        x = emp_tape_scale(s->t, emp_tape_join_names(s->t, router, ".scale"), x,
                           s->m->hidden, EMP_WEIGHT_TRAINED);
    }
    const char *name =
        s->m->has_router_scales ? emp_tape_join_names(s->t, router, ".proj") : router;
    emp_port logits = emp_tape_linear(s->t, name, x, l->experts, s->m->has_router_bias);
    if (s->m->has_router_scales)
        logits =
            emp_tape_scale(s->t, emp_tape_join_names(s->t, router, ".per_expert_scale"),
                           logits, l->experts, EMP_WEIGHT_TRAINED);
    if (l->is_hashed)
        return emp_tape_route_to(s->t, emp_tape_join_names(s->t, router, "/route"),
                                 logits, look_up_experts(s), l->chosen);
    if (s->m->has_correction_bias)
        bias = emp_tape_weight_of(s->t, emp_stack_name(s, s->m->names.correction),
                                  EMP_SHAPE(l->experts), emp_tape_unit(s->t),
                                  EMP_WEIGHT_RULED);
    return emp_tape_route(s->t, emp_tape_join_names(s->t, router, "/route"), logits, bias,
                          l->chosen);
}

/* Each token's row once for each of its experts, what they make of it, and the weighted sum. */
static emp_port routed(emp_stack *s, emp_port x, emp_port route)
{
    const emp_transformer_layer *l = &s->m->layer[s->layer];
    const emp_transformer_names *n = &s->m->names;
    const char                  *router = n->router;
    int64_t                      rows = emp_tape_size(s->t, x, 0) * l->chosen;
    emp_port                     numbers = {route.op, 1};
    block                        b = block_of(s, s->m->names.experts, l->expert_inner);
    emp_op_attrs                 flat = {
                        .dtype = EMP_DTYPE_INT32, .has_shape = true, .shape = EMP_SHAPE(rows)};

    if (s->m->expert_size > 0) {
        x = emp_tape_linear(s->t, emp_stack_name(s, n->expert_in), x, s->m->expert_size,
                            s->m->has_mlp_bias);
        b.size = s->m->expert_size;
    }
    emp_port list = emp_tape_op(s->t, "View", emp_stack_leaf(s, router, "/numbers"), 0,
                                &flat, &numbers, 1);
    emp_port sent = emp_tape_lookup(s->t, emp_stack_leaf(s, router, "/send"), x, list,
                                    emp_tape_unit(s->t));
    b.experts = l->experts;
    b.route = route;
    b.has_bias = s->m->has_expert_bias;
    emp_port made = run_block(s, &b, sent);
    x = emp_tape_combine(s->t, emp_stack_leaf(s, router, "/combine"), made, route);
    if (s->m->expert_size == 0) return x;
    if (s->m->has_expert_norm)
        x = emp_stack_norm(s, emp_stack_name(s, n->expert_norm), x);
    return emp_tape_linear(s->t, emp_stack_name(s, n->expert_out), x, s->m->hidden,
                           s->m->has_mlp_bias);
}

static emp_port shared(emp_stack *s, emp_port x)
{
    const char *gate_name = s->m->names.shared_gate;
    block       b = block_of(s, s->m->names.shared, s->m->layer[s->layer].shared_inner);

    b.has_bias = s->m->has_mlp_bias;
    emp_port y = run_block(s, &b, x);
    if (!s->m->has_shared_gate) return y;
    emp_port gate = emp_tape_linear(s->t, emp_stack_name(s, gate_name), x, 1, false);
    gate = emp_tape_map(s->t, emp_stack_leaf(s, gate_name, "/sigmoid"), "Sigmoid",
                        "SigmoidGrad", gate);
    return emp_tape_mul(s->t, emp_stack_leaf(s, gate_name, "/mul"), y, gate);
}

/* Gemma 4's layers have a dense and a routed part side by side, with norms of their own. */
static emp_port side_by_side(emp_stack *s, emp_port x, emp_port residual)
{
    const char *leaf = "post_feedforward_layernorm_1";
    emp_port    y = emp_stack_norm(s, emp_stack_name(s, leaf), dense(s, x));
    emp_port    route = choose(s, residual);
    emp_port    z =
        emp_stack_norm(s, emp_stack_name(s, "pre_feedforward_layernorm_2"), residual);

    z = emp_stack_norm(s, emp_stack_name(s, "post_feedforward_layernorm_2"),
                       routed(s, z, route));
    return emp_tape_add(s->t, emp_stack_leaf(s, s->m->names.router, "/add"), y, z);
}

/* The feed-forward layer. residual is what the layer's norms have not yet
 * seen, which Gemma 4's router reads. */
static emp_port stack_feed_forward(emp_stack *s, emp_port x, emp_port residual)
{
    const emp_transformer_layer *l = &s->m->layer[s->layer];

    if (l->is_feed_forward_linear)
        return emp_tape_linear(s->t, emp_stack_name(s, "mlp.linear_mlp"), x, s->m->hidden,
                               false);
    if (l->experts == 0) return dense(s, x);
    if (l->has_parallel_norms) return side_by_side(s, x, residual);
    emp_port y = routed(s, x, choose(s, x));
    if (l->shared_inner == 0) return y;
    return emp_tape_add(s->t, emp_stack_leaf(s, s->m->names.shared_gate, "/add"), y,
                        shared(s, x));
}

/* Layers whose residual connection is no plain sum.
 *
 * Hyper-connections (DeepSeek-V4) carry several streams of a token: [tokens, n, hidden]. Before each part of a layer
 * they are collapsed into one, behind it expanded again, by weights that a product of all streams gives.
 *
 * Attention residuals (Kimi K3) keep the sums of blocks of layers, one behind the other: [tokens, blocks x hidden]. The
 * input of each part is a mix of them and of the sum of the block that is open. */

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

static emp_port stack_streams_layer(emp_stack *s, emp_port x)
{
    static const char *const     connection[2] = {"attn_hc", "ffn_hc"};
    const emp_transformer_names *n = &s->m->names;
    int64_t                      streams = s->m->streams;

    for (int32_t part = 0; part < 2; part++) {
        const char *leaf = connection[part];
        emp_port    w = stream_weights(s, leaf, ".", x, (2 + streams) * streams, 3);
        emp_port    y = collapse(s, leaf, x, w);
        y = emp_stack_norm(s, emp_stack_name(s, part == 0 ? n->norm_1 : n->norm_2), y);
        y = part == 0 ? stack_mix(s, y) : stack_feed_forward(s, y, y);
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

static emp_port stack_blocks_layer(emp_stack *s, emp_port x)
{
    const emp_transformer_names *n = &s->m->names;
    bool                         is_first = s->layer % s->m->residual_block == 0;
    bool                         is_mixed = s->blocks.op >= 0;

    emp_port input = is_mixed ? mix_blocks(s, "self_attention_res", x) : x;
    if (is_first) close_block(s, x);
    emp_port y = stack_mix(s, norm(s, n->norm_1, input));
    if (!is_first)
        y = emp_tape_add(s->t, emp_stack_leaf(s, n->attention, "/residual"), x, y);
    input = norm(s, n->norm_2, mix_blocks(s, "mlp_res", y));
    emp_port z = stack_feed_forward(s, input, input);
    return emp_tape_add(s->t, emp_stack_leaf(s, n->down, "/residual"), y, z);
}

emp_port emp_stack_join_blocks(emp_stack *s, emp_port x)
{
    return mix_blocks(s, "model.output_attn_res", x);
}

static emp_port add(emp_stack *s, const char *module, emp_port x, emp_port y)
{
    return emp_tape_add(s->t, emp_stack_leaf(s, module, "/residual"), x, y);
}

/* The sum that ends a feed-forward part. */
static emp_port add_fed(emp_stack *s, emp_port x, emp_port y)
{
    const char *module = s->m->names.down;

    if (!s->m->has_sum_in_place) return add(s, module, x, y);
    return emp_tape_add_to(s->t, emp_stack_leaf(s, module, "/residual"), x, y);
}

/* Both parts read the layer's input. */
static emp_port parallel(emp_stack *s, emp_port x)
{
    const emp_transformer_names *n = &s->m->names;
    emp_port                     a = norm(s, n->norm_1, x);
    emp_port f = s->m->places == EMP_NORMS_PARALLEL_2 ? norm(s, n->norm_2, x) : a;

    emp_port y = stack_mix(s, a);
    emp_port z = stack_feed_forward(s, f, x);
    y = emp_tape_add(s->t, emp_stack_leaf(s, n->attention, "/add"), y, z);
    return add(s, n->down, x, y);
}

/* The part of a decoder's layer that attends to its encoder. */
static emp_port read_source(emp_stack *s, emp_port x)
{
    const emp_transformer_names *n = &s->m->names;

    if (s->m->encoder == NULL) return x;
    if (s->m->places == EMP_NORMS_AFTER)
        return norm(s, n->cross_norm,
                    add(s, n->cross, x, emp_stack_cross_attention(s, x)));
    return add(s, n->cross, x, emp_stack_cross_attention(s, norm(s, n->cross_norm, x)));
}

/* norm(x + f(x)), as the first transformers had it. */
static emp_port norms_after(emp_stack *s, emp_port x)
{
    const emp_transformer_names *n = &s->m->names;

    x = norm(s, n->norm_1, add(s, n->attention, x, stack_mix(s, x)));
    x = read_source(s, x);
    return norm(s, n->norm_2, add(s, n->down, x, stack_feed_forward(s, x, x)));
}

/* norm(x) + f(norm(x)): what goes around a part is normed, too. */
static emp_port norms_around(emp_stack *s, emp_port x)
{
    const emp_transformer_names *n = &s->m->names;

    x = norm(s, n->norm_1, x);
    x = norm(s, n->norm_2, add(s, n->attention, x, stack_mix(s, x)));
    return add(s, n->down, x, stack_feed_forward(s, x, x));
}

static emp_port one_after_the_other(emp_stack *s, emp_port x)
{
    const emp_transformer_layer *l = &s->m->layer[s->layer];
    const emp_transformer_names *n = &s->m->names;
    bool                         has_norms = s->m->places != EMP_NORMS_INSIDE;
    bool                         has_first = has_norms && !l->has_no_norm;
    bool                         has_second = s->m->places != EMP_NORMS_BEFORE;

    if (l->mixer != EMP_MIXER_NONE) {
        emp_port y = stack_mix(s, has_first ? norm(s, n->norm_1, x) : x);
        if (has_second) y = norm(s, n->post_1, y);
        x = add(s, n->attention, x, y);
    }
    x = read_source(s, x);
    if (!l->has_no_feed_forward) {
        emp_port y = stack_feed_forward(s, has_norms ? norm(s, n->norm_2, x) : x, x);
        if (has_second) y = norm(s, n->post_2, y);
        x = add_fed(s, x, y);
    }
    return x;
}

/* A layer's own embedding of each token, by a gate of x (Gemma 4). */
static emp_port gate_embedding(emp_stack *s, emp_port x)
{
    const int64_t size = s->m->layer_embedding;
    emp_port      y =
        emp_tape_linear(s->t, emp_stack_name(s, "per_layer_input_gate"), x, size, false);

    y = emp_stack_activate(s, emp_stack_name(s, "per_layer_input_gate/act"), y);
    emp_port own = emp_tape_slice(s->t, emp_stack_name(s, "per_layer_input"),
                                  s->embeddings, s->layer * size, size);
    y = emp_tape_mul(s->t, emp_stack_name(s, "per_layer_input/mul"), y, own);
    y = emp_tape_linear(s->t, emp_stack_name(s, "per_layer_projection"), y, s->m->hidden,
                        false);
    return norm(s, "post_per_layer_input_norm", y);
}

/* ---- alternating updates ---- */

/* A token has several streams (AltUp, Baykal et al., 2023), [tokens, n, hidden]. A layer predicts all of them from all, computes
 * the first one, and corrects the others by the error of its prediction. */

/* A weight NAME of the layer, and the unit that its readers share. */
static emp_port shared_weight(emp_stack *s, const char *module, emp_shape shape,
                              int32_t *unit)
{
    const char   *name = emp_stack_leaf(s, module, ".weight");
    const int32_t known = emp_tape_unit_of(s->t, name);

    *unit = known >= 0 ? known : emp_tape_unit(s->t);
    return emp_tape_weight_of(s->t, name, shape, *unit, EMP_WEIGHT_TRAINED);
}

/* A number of each stream, by a product of x that the prediction and the correction share. */
static emp_port modalities(emp_stack *s, const char *part, emp_port x)
{
    const int64_t hidden = s->m->hidden, n = s->m->alternates;
    int32_t       unit;

    x = emp_tape_norm(s->t, emp_stack_leaf(s, "altup/norm", part), "RMSNorm", x, false,
                      false);
    emp_port w = shared_weight(s, "altup.router_norm", EMP_SHAPE(hidden), &unit);
    x = emp_tape_scale_by(s->t, emp_stack_leaf(s, "altup.router_norm", part), x, w, unit);
    w = shared_weight(s, "altup.modality_router", EMP_SHAPE(n, hidden), &unit);
    x = emp_tape_linear_by(s->t, emp_stack_leaf(s, "altup.modality_router", part), x, w,
                           unit);
    return emp_tape_map(s->t, emp_stack_leaf(s, "altup/tanh", part), "Tanh", "TanhGrad",
                        x);
}

/* The first stream of x. */
static emp_port first_stream(emp_stack *s, const char *leaf, emp_port x)
{
    const char   *name = emp_stack_name(s, leaf);
    const int64_t tokens = emp_tape_size(s->t, x, 0), hidden = s->m->hidden;

    x = emp_tape_view(s->t, emp_tape_join_names(s->t, name, "/all"), x,
                      EMP_SHAPE(tokens, s->m->alternates * hidden));
    return emp_tape_slice(s->t, name, x, 0, hidden);
}

static emp_port fuse_streams(emp_stack *s, const char *leaf, const char *type, emp_port x,
                             emp_port y, emp_port coefficients)
{
    emp_op_attrs attrs = {.dtype = s->t->step->dtype};
    emp_port     in[3] = {x, y, coefficients};

    return emp_tape_fused(s->t, emp_stack_name(s, leaf), type, emp_tape_unit(s->t),
                          &attrs, in, coefficients.op >= 0 ? 3 : 2);
}

/* Attention of x, a product of low rank beside it, and the feed-forward part, with norms around them. */
static emp_port laurel_layer(emp_stack *s, emp_port x)
{
    const emp_transformer_names *n = &s->m->names;
    emp_port                     y = norm(s, n->norm_1, x);
    emp_port z = emp_tape_linear(s->t, emp_stack_name(s, "laurel.linear_left"), y,
                                 s->m->laurel_rank, false);

    z = emp_tape_linear(s->t, emp_stack_name(s, "laurel.linear_right"), z, s->m->hidden,
                        false);
    z = add(s, "laurel", y, norm(s, "laurel.post_laurel_norm", z));
    y = add(s, n->attention, x, norm(s, n->post_1, stack_mix(s, y)));
    y = emp_tape_add(s->t, emp_stack_name(s, "laurel/add"), y, z);
    z = norm(s, n->post_2, stack_feed_forward(s, norm(s, n->norm_2, y), y));
    return add(s, n->down, y, z);
}

static emp_port stack_alternating_layer(emp_stack *s, emp_port x)
{
    const int64_t n = s->m->alternates;
    emp_port      w = modalities(s, "/predict", first_stream(s, "altup/input", x));

    w = emp_tape_linear(s->t, emp_stack_name(s, "altup.prediction_coefs"), w, n * n,
                        false);
    x = fuse_streams(s, "altup/predict", "PredictStreams", x, w, EMP_TAPE_NONE);
    emp_port y = laurel_layer(s, first_stream(s, "altup/active", x));
    w = emp_tape_linear(s->t, emp_stack_name(s, "altup.correction_coefs"),
                        modalities(s, "/correct", y), n, false);
    x = fuse_streams(s, "altup/correct", "CorrectStreams", x, y, w);
    y = emp_tape_scale(s->t, emp_stack_name(s, "altup.correct_output_scale"),
                       first_stream(s, "altup/first", x), s->m->hidden,
                       EMP_WEIGHT_TRAINED);
    return fuse_streams(s, "altup/embed", "AddToStreams", x, gate_embedding(s, y),
                        EMP_TAPE_NONE);
}

/* A stream by the module of its number, with the magnitude of the first one. */
static emp_port project_stream(emp_stack *s, const char *modules, int32_t i, emp_port x,
                               emp_port first)
{
    emp_op_attrs attrs = {.dtype = s->t->step->dtype};
    char         number[16];

    snprintf(number, sizeof number, ".%d", i - 1);
    const char *name = emp_tape_join_names(s->t, modules, number);
    emp_port    in[2] = {emp_tape_linear(s->t, name, x, s->m->hidden, false), first};
    return emp_tape_fused(s->t, emp_tape_join_names(s->t, name, "/match"),
                          "MatchMagnitude", emp_tape_unit(s->t), &attrs, in, 2);
}

emp_port emp_stack_alternates(emp_stack *s, emp_port x)
{
    const int32_t n = s->m->alternates;
    emp_op_attrs  attrs = {.dtype = s->t->step->dtype,
                           .has_shape = true,
                           .shape = EMP_SHAPE(emp_tape_size(s->t, x, 0), n, s->m->hidden)};
    emp_port      stream[EMP_TRANSFORMER_ALTERNATES_MAX] = {x};

    for (int32_t i = 1; i < n; i++)
        stream[i] = project_stream(s, "model.altup_projections", i, x, x);
    return emp_tape_fused(s->t, "altup/streams", "StackStreams", emp_tape_unit(s->t),
                          &attrs, stream, n);
}

emp_port emp_stack_join_alternates(emp_stack *s, emp_port x)
{
    static const char modules[] = "model.altup_unembed_projections";
    const int64_t     tokens = emp_tape_size(s->t, x, 0), hidden = s->m->hidden;
    const int32_t     n = s->m->alternates;
    emp_port          part[EMP_TRANSFORMER_ALTERNATES_MAX];
    int64_t           size[EMP_TRANSFORMER_ALTERNATES_MAX];
    char              name[32];

    for (int32_t i = 0; i < n; i++) size[i] = hidden;
    x = emp_tape_view(s->t, "altup/all", x, EMP_SHAPE(tokens, n * hidden));
    emp_tape_split(s->t, "altup/parts", x, size, n, part);
    emp_port sum = part[0];
    for (int32_t i = 1; i < n; i++) {
        snprintf(name, sizeof name, "altup/sum_%d", i);
        sum = emp_tape_add(s->t, name, sum,
                           project_stream(s, modules, i, part[i], part[0]));
    }
    return sum;
}

/* ---- layers ---- */

emp_port emp_stack_layer(emp_stack *s, emp_port x)
{
    if (s->m->streams > 0) return stack_streams_layer(s, x);
    if (s->m->alternates > 0) return stack_alternating_layer(s, x);
    if (s->m->residual_block > 0) return stack_blocks_layer(s, x);
    switch (s->m->places) {
    case EMP_NORMS_PARALLEL:
    case EMP_NORMS_PARALLEL_2: x = parallel(s, x); break;
    case EMP_NORMS_AFTER: x = norms_after(s, x); break;
    case EMP_NORMS_AROUND: x = norms_around(s, x); break;
    default: x = one_after_the_other(s, x); break;
    }
    if (s->m->layer_embedding > 0)
        x = emp_tape_add(s->t, emp_stack_name(s, "per_layer_projection/residual"), x,
                         gate_embedding(s, x));
    if (s->m->has_layer_scale)
        x = emp_tape_scale(s->t, emp_stack_name(s, "layer_scalar"), x, 1,
                           EMP_WEIGHT_FIXED);
    return x;
}
