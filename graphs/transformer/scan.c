// SPDX-License-Identifier: GPL-3.0-or-later
/* Mixers that scan their sequence with a state of fixed size in place of a cache: the gated delta rule (Gated
 * DeltaNet, 2024; Kimi Delta Attention, 2025), Mamba (2023) and Mamba-2 (2024). A causal convolution of a few tokens comes before
 * the scan, a norm with a gate behind it. Steps that do not train keep two states a layer: the last inputs of the
 * convolution and the state of the scan. */
#include "graphs/transformer/stack.h"

static const emp_transformer_scan *sizes_of(const emp_stack *s) { return &s->m->scan; }

static const char *name_of(emp_stack *s, const char *leaf)
{
    return emp_stack_leaf(s, s->m->names.scan, leaf);
}

static emp_port weight(emp_stack *s, const char *leaf, emp_shape shape, int32_t unit)
{
    return emp_tape_weight_of(s->t, name_of(s, leaf), shape, unit, EMP_WEIGHT_TRAINED);
}

/* A state that stays from step to step; none where a step trains. */
static emp_port state(emp_stack *s, const char *leaf, emp_dtype dtype, emp_shape shape,
                      int32_t unit)
{
    emp_op_attrs attrs = {.dtype = dtype, .has_shape = true, .shape = shape};

    if (emp_tape_is_training(s->t)) return EMP_TAPE_NONE;
    return emp_tape_op(s->t, "RecurrentState", name_of(s, leaf), unit, &attrs, NULL, 0);
}

/* ---- parts ---- */

/* The convolution NAME, [batch, tokens, channels]. */
static emp_port convolve(emp_stack *s, const char *leaf, emp_port x)
{
    const emp_transformer_scan *c = sizes_of(s);
    const char                 *name = name_of(s, leaf);
    int64_t                     channels = emp_tape_size(s->t, x, -1);
    int32_t                     unit = emp_tape_unit(s->t), count = 2;
    emp_op_attrs                attrs = {.dtype = s->t->step->dtype};
    emp_port                    in[4];

    in[0] = emp_tape_view(s->t, emp_tape_join_names(s->t, name, "/input"), x,
                          EMP_SHAPE(s->t->step->batch, s->new_tokens, channels));
    in[1] = emp_tape_weight_of(s->t, emp_tape_join_names(s->t, name, ".weight"),
                               EMP_SHAPE(channels, 1, c->taps), unit, EMP_WEIGHT_TRAINED);
    if (c->has_taps_bias)
        in[count++] = emp_tape_weight_of(s->t, emp_tape_join_names(s->t, name, ".bias"),
                                         EMP_SHAPE(channels), unit, EMP_WEIGHT_TRAINED);
    if (c->taps > 1 && !emp_tape_is_training(s->t))
        in[count++] =
            state(s, emp_tape_join_names(s->t, leaf, ".state"), s->t->step->dtype,
                  EMP_SHAPE(s->t->step->batch, channels, c->taps - 1), unit);
    return emp_tape_fused(s->t, name, "CausalConvolution", unit, &attrs, in, count);
}

/* The scan itself; its last input is the state. */
static emp_port scan(emp_stack *s, const char *type, emp_port *in, int32_t count,
                     int32_t unit)
{
    const emp_transformer_scan *c = sizes_of(s);
    const char                 *name = emp_stack_name(s, s->m->names.scan);
    emp_op_attrs                attrs = {.dtype = s->t->step->dtype, .window = c->chunk};
    emp_dtype dtype = c->has_float_state ? EMP_DTYPE_FLOAT : s->t->step->dtype;

    if (!emp_tape_is_training(s->t))
        in[count++] = state(
            s, ".state", dtype,
            EMP_SHAPE(s->t->step->batch, c->heads, c->key_size, c->value_size), unit);
    return emp_tape_fused(s->t, name, type, unit, &attrs, in, count);
}

/* norm(y) activation(gate), over \a size columns at once, by \a parameters factors. */
static emp_port gated_norm(emp_stack *s, const char *leaf, emp_port y, emp_port gate,
                           int64_t size, int64_t parameters)
{
    const emp_transformer_scan *c = sizes_of(s);
    int64_t      rows = emp_stack_tokens(s) * c->heads * c->value_size / size;
    int32_t      unit = emp_tape_unit(s->t);
    const char  *name = name_of(s, leaf);
    emp_op_attrs attrs = {.dtype = s->t->step->dtype};
    emp_port     in[3];

    in[0] = emp_tape_view(s->t, emp_tape_join_names(s->t, name, "/input"), y,
                          EMP_SHAPE(rows, size));
    in[1] = emp_tape_view(s->t, emp_tape_join_names(s->t, name, "/gate"), gate,
                          EMP_SHAPE(rows, size));
    in[2] = emp_tape_weight_of(s->t, emp_tape_join_names(s->t, name, ".weight"),
                               EMP_SHAPE(parameters), unit, EMP_WEIGHT_TRAINED);
    emp_port z = emp_tape_fused(s->t, name, "GatedRMSNorm", unit, &attrs, in, 3);
    return emp_tape_view(
        s->t, emp_tape_join_names(s->t, name, "/out"), z,
        EMP_SHAPE(emp_stack_tokens(s), (int64_t)c->heads * c->value_size));
}

/* y activation(gate), [tokens, size]. */
static emp_port gated(emp_stack *s, emp_port y, emp_port gate, int64_t size)
{
    y = emp_tape_view(s->t, name_of(s, "/rows"), y, EMP_SHAPE(emp_stack_tokens(s), size));
    gate = emp_tape_map(s->t, name_of(s, "/gate_act"), "Silu", "SiluGrad", gate);
    return emp_tape_mul(s->t, name_of(s, "/gate_mul"), y, gate);
}

/* The logarithm of the state's decay, of which x is the raw form; float32. */
static emp_port decay(emp_stack *s, emp_port x)
{
    const emp_transformer_scan *c = sizes_of(s);
    int32_t                     unit = emp_tape_unit(s->t);
    emp_op_attrs                attrs = {.dtype = EMP_DTYPE_FLOAT};
    emp_port                    in[3] = {x};

    in[1] = weight(s, ".A_log", EMP_SHAPE(c->heads), unit);
    in[2] = weight(s, ".dt_bias", EMP_SHAPE(emp_tape_size(s->t, x, -1)), unit);
    return emp_tape_fused(s->t, name_of(s, "/decay"), "ScanDecay", unit, &attrs, in, 3);
}

static emp_port project(emp_stack *s, const char *leaf, emp_port x, int64_t size)
{
    return emp_tape_linear(s->t, name_of(s, leaf), x, size, s->m->scan.has_bias);
}

/* ---- the gated delta rule ---- */

/* Qwen3.5: one product and one convolution for queries, keys and values. Qwen3-Next has the gate in the same product. */
static void make_fused(emp_stack *s, emp_port x, emp_port out[3], emp_port *gate)
{
    const emp_transformer_scan *c = sizes_of(s);
    int64_t                     keys = (int64_t)c->key_heads * c->key_size;
    int64_t                     values = (int64_t)c->heads * c->value_size;
    emp_port                    parts[3];

    if (c->has_fused_products) {
        x = project(s, ".in_proj_qkvz", x, 2 * keys + 2 * values);
        emp_tape_split(s->t, name_of(s, "/qkvz"), x,
                       (int64_t[]){2 * keys + values, values}, 2, parts);
        x = parts[0];
        *gate = parts[1];
    } else {
        *gate = project(s, ".in_proj_z", x, values);
        x = project(s, ".in_proj_qkv", x, 2 * keys + values);
    }
    x = convolve(s, ".conv1d", x);
    emp_tape_split(s->t, name_of(s, "/qkv"), x, (int64_t[]){keys, keys, values}, 3,
                   parts);
    out[0] = emp_stack_by_heads(s, name_of(s, "/q"), parts[0], c->key_heads, c->key_size);
    out[1] = emp_stack_by_heads(s, name_of(s, "/k"), parts[1], c->key_heads, c->key_size);
    out[2] = emp_stack_by_heads(s, name_of(s, "/v"), parts[2], c->heads, c->value_size);
}

/* Kimi: each has its own. */
static void make_apart(emp_stack *s, emp_port x, emp_port out[3])
{
    static const char *const    product[] = {".q_proj", ".k_proj", ".v_proj"};
    static const char *const    taps[] = {".q_conv1d", ".k_conv1d", ".v_conv1d"};
    static const char *const    view[] = {"/q", "/k", "/v"};
    const emp_transformer_scan *c = sizes_of(s);

    for (int32_t i = 0; i < 3; i++) {
        int64_t  heads = i < 2 ? c->key_heads : c->heads;
        int64_t  size = i < 2 ? c->key_size : c->value_size;
        emp_port y = convolve(s, taps[i], project(s, product[i], x, heads * size));
        out[i] = emp_stack_by_heads(s, name_of(s, view[i]), y, heads, size);
    }
}

/* The operands of the factor of an update and of the decay of a state. */
static void make_factors(emp_stack *s, emp_port x, emp_port out[2])
{
    const emp_transformer_scan *c = sizes_of(s);

    if (c->has_fused_products) {
        x = project(s, ".in_proj_ba", x, 2 * (int64_t)c->heads);
        emp_tape_split(s->t, name_of(s, "/ba"), x, (int64_t[]){c->heads, c->heads}, 2,
                       out);
        return;
    }
    out[0] = project(s, ".in_proj_b", x, c->heads);
    out[1] = project(s, ".in_proj_a", x, c->heads);
}

/* A product by two matrices with \a rank columns between them, or by one of full rank. */
static emp_port low_rank(emp_stack *s, const char *first, const char *second, emp_port x,
                         int64_t rank, int64_t size)
{
    if (rank > 0) x = project(s, first, x, rank);
    return project(s, second, x, size);
}

emp_port emp_stack_delta_rule(emp_stack *s, emp_port x)
{
    const emp_transformer_scan *c = sizes_of(s);
    int64_t                     values = (int64_t)c->heads * c->value_size;
    int64_t                     keys = (int64_t)c->heads * c->key_size;
    bool                        is_kimi = c->has_channel_decay;
    emp_port                    in[6], gate;

    if (is_kimi) {
        make_apart(s, x, in);
        in[3] = project(s, ".b_proj", x, c->heads);
        in[4] = decay(s, low_rank(s, ".f_a_proj", ".f_b_proj", x, c->value_size, keys));
        gate = c->gate_rank > 0
                   ? low_rank(s, ".g_a_proj", ".g_b_proj", x, c->gate_rank, values)
                   : project(s, ".g_proj", x, values);
    } else {
        make_fused(s, x, in, &gate);
        make_factors(s, x, in + 3);
        in[4] = decay(s, in[4]);
    }
    emp_port y = scan(s, "DeltaRule", in, 5, emp_tape_unit(s->t));
    y = gated_norm(s, is_kimi ? ".o_norm" : ".norm", y, gate, c->value_size,
                   c->value_size);
    return emp_tape_linear(s->t, name_of(s, is_kimi ? ".o_proj" : ".out_proj"), y,
                           s->m->hidden, c->has_bias);
}

/* ---- Mamba-2 ---- */

emp_port emp_stack_state_space(emp_stack *s, emp_port x)
{
    const emp_transformer_scan *c = sizes_of(s);
    int64_t                     keys = (int64_t)c->key_heads * c->key_size;
    int64_t                     values = (int64_t)c->heads * c->value_size;
    emp_port                    parts[3], mixed[3], in[8];

    x = project(s, ".in_proj", x, 2 * values + 2 * keys + c->heads);
    emp_tape_split(s->t, name_of(s, "/in"), x,
                   (int64_t[]){values, values + 2 * keys, c->heads}, 3, parts);
    emp_port y = convolve(s, ".conv1d", parts[1]);
    emp_tape_split(s->t, name_of(s, "/xbc"), y, (int64_t[]){values, keys, keys}, 3,
                   mixed);
    in[0] = emp_stack_by_heads(s, name_of(s, "/c"), mixed[2], c->key_heads, c->key_size);
    in[1] = emp_stack_by_heads(s, name_of(s, "/b"), mixed[1], c->key_heads, c->key_size);
    in[2] = emp_stack_by_heads(s, name_of(s, "/x"), mixed[0], c->heads, c->value_size);
    in[3] = parts[2];
    int32_t unit = emp_tape_unit(s->t);
    in[4] = weight(s, ".A_log", EMP_SHAPE(c->heads), unit);
    in[5] = weight(s, ".dt_bias", EMP_SHAPE(c->heads), unit);
    in[6] = weight(s, ".D", EMP_SHAPE(c->heads), unit);
    y = scan(s, "StateSpaceScan", in, 7, unit);
    y = c->has_no_norm
            ? gated(s, y, parts[0], values)
            : gated_norm(s, ".norm", y, parts[0], values / c->key_heads, values);
    return emp_tape_linear(s->t, name_of(s, ".out_proj"), y, s->m->hidden,
                           c->has_output_bias);
}

/* ---- Mamba ---- */

/* Steps, keys or queries, with a norm where the model has one. */
static emp_port selected(emp_stack *s, const char *leaf, emp_port x)
{
    const emp_transformer_scan *c = sizes_of(s);

    if (!c->has_step_norms) return x;
    return emp_tape_norm(s->t, name_of(s, leaf), "RMSNorm", x, c->has_step_weights,
                         false);
}

/* A state of each channel, whose step, key and query are made of all channels (Gu and Dao, 2023). */
emp_port emp_stack_selective(emp_stack *s, emp_port x)
{
    const emp_transformer_scan *c = sizes_of(s);
    const int64_t               inner = c->heads, size = c->key_size;
    emp_port                    parts[3], halves[2], in[8];

    x = project(s, ".in_proj", x, 2 * inner);
    emp_tape_split(s->t, name_of(s, "/in"), x, (int64_t[]){inner, inner}, 2, halves);
    x = emp_tape_view(s->t, name_of(s, "/rows"), convolve(s, ".conv1d", halves[0]),
                      EMP_SHAPE(emp_stack_tokens(s), inner));
    emp_port y =
        emp_tape_linear(s->t, name_of(s, ".x_proj"), x, c->step_rank + 2 * size, false);
    emp_tape_split(s->t, name_of(s, "/selected"), y,
                   (int64_t[]){c->step_rank, size, size}, 3, parts);
    parts[0] = selected(s, ".dt_layernorm", parts[0]);
    in[0] = emp_stack_by_heads(s, name_of(s, "/c"), selected(s, ".c_layernorm", parts[2]),
                               1, size);
    in[1] = emp_stack_by_heads(s, name_of(s, "/b"), selected(s, ".b_layernorm", parts[1]),
                               1, size);
    in[2] = emp_stack_by_heads(s, name_of(s, "/x"), x, inner, 1);
    in[3] = emp_tape_linear(s->t, name_of(s, ".dt_proj"), parts[0], inner, true);
    int32_t unit = emp_tape_unit(s->t);
    in[4] = weight(s, ".A_log", EMP_SHAPE(inner, size), unit);
    in[5] = weight(s, ".D", EMP_SHAPE(inner), unit);
    in[6] = halves[1];
    y = scan(s, "SelectiveScan", in, 7, unit);
    y = emp_tape_view(s->t, name_of(s, "/out"), y, EMP_SHAPE(emp_stack_tokens(s), inner));
    return emp_tape_linear(s->t, name_of(s, ".out_proj"), y, s->m->hidden, c->has_bias);
}

/* ---- lightning attention ---- */

/* Linear attention, whose state decays by a fixed factor of each head (Qin et al., 2024; MiniMax-01, 2025). */
emp_port emp_stack_lightning(emp_stack *s, emp_port x)
{
    const emp_transformer_scan *c = sizes_of(s);
    const int64_t               heads = c->heads, size = c->value_size;
    emp_op_attrs                decay = {
                       .dtype = s->t->step->dtype, .has_shape = true, .shape = EMP_SHAPE(heads)};
    emp_port in[5];

    emp_port y = project(s, ".qkv_proj", x, 3 * heads * size);
    y = emp_stack_activate(s, name_of(s, "/qkv_act"), y);
    y = emp_stack_by_heads(s, name_of(s, "/qkv"), y, heads, 3 * size);
    emp_tape_split(s->t, name_of(s, "/qkv"), y, (int64_t[]){size, size, size}, 3, in);
    int32_t unit = emp_tape_unit(s->t);
    in[3] = emp_tape_op(s->t, "Buffer", name_of(s, ".slope_rate"), unit, &decay, NULL, 0);
    y = scan(s, "LightningScan", in, 4, unit);
    y = emp_tape_view(s->t, name_of(s, "/rows"), y,
                      EMP_SHAPE(emp_stack_tokens(s), heads * size));
    y = emp_stack_norm(s, name_of(s, ".norm"), y);
    emp_port gate = project(s, ".output_gate", x, heads * size);
    gate = emp_tape_map(s->t, name_of(s, "/gate_act"), "Sigmoid", "SigmoidGrad", gate);
    y = emp_tape_mul(s->t, name_of(s, "/gate_mul"), gate, y);
    return project(s, ".out_proj", y, s->m->hidden);
}

/* ---- short convolutions ---- */

/* C convolve(B x): B, C and x are of one product (LFM2, 2025). */
emp_port emp_stack_convolution(emp_stack *s, emp_port x)
{
    const int64_t hidden = s->m->hidden;
    emp_port      parts[3];

    x = project(s, ".in_proj", x, 3 * hidden);
    emp_tape_split(s->t, name_of(s, "/in"), x, (int64_t[]){hidden, hidden, hidden}, 3,
                   parts);
    emp_port y = convolve(s, ".conv",
                          emp_tape_mul(s->t, name_of(s, "/b_mul"), parts[0], parts[2]));
    y = emp_tape_view(s->t, name_of(s, "/rows"), y,
                      EMP_SHAPE(emp_stack_tokens(s), hidden));
    y = emp_tape_mul(s->t, name_of(s, "/c_mul"), parts[1], y);
    return emp_tape_linear(s->t, name_of(s, ".out_proj"), y, hidden, s->m->scan.has_bias);
}
