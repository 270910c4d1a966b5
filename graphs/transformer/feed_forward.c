// SPDX-License-Identifier: GPL-3.0-or-later
/* Dense feed-forward layers, experts, and both together. */
#include "graphs/transformer/stack.h"

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
    return (block){.gate = emp_stack_part(s, pattern, "gate"),
                   .up = emp_stack_part(s, pattern, "up"),
                   .gate_up = emp_stack_part(s, pattern, "gate_up"),
                   .down = emp_stack_part(s, pattern, "down"),
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

emp_port emp_stack_feed_forward(emp_stack *s, emp_port x, emp_port residual)
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
