// SPDX-License-Identifier: GPL-3.0-or-later
// Attention as one op, as the standard has it from version 23 on and as ONNX Runtime writes it.

#include "graphs/import/onnx/lower.h"

/* Queries, keys and values [batch, positions, heads, size]. */
typedef struct {
    emp_port q, k, v;
    int64_t  heads, key_heads;
    bool     is_causal; /* whatever the attributes say */
} attention;

/* x [batch, positions, heads * size] or, where `is_apart`, [batch, heads, positions, size], seen as
 * [batch, positions, heads, size]: kernels read either layout. */
static emp_port as_heads(emp_onnx_call *c, emp_port x, int64_t heads, bool is_apart)
{
    if (x.op < 0 || !emp_tf_is_ok(c->o->tf)) return EMP_TF_NONE;
    emp_shape shape = emp_tf_shape(c->o->tf, x), split;

    if (is_apart && shape.rank == 4)
        split = EMP_SHAPE(shape.dim[0], shape.dim[2], shape.dim[1], shape.dim[3]);
    else if (!is_apart && shape.rank == 3 && heads > 0 && shape.dim[2] % heads == 0)
        split = EMP_SHAPE(shape.dim[0], shape.dim[1], heads, shape.dim[2] / heads);
    else {
        char text[EMP_SHAPE_TEXT_BYTES];
        emp_onnx_refuse(c, "%s is no tensor of %lld heads",
                        emp_shape_format(&shape, text), (long long)heads);
        return EMP_TF_NONE;
    }
    return emp_onnx_reshape(c, x, split);
}

/* A cache [batch, heads, positions, size] with new positions behind it, which is output i. */
static emp_port append(emp_onnx_call *c, emp_port x, int32_t past, int32_t output)
{
    if (x.op < 0 || !emp_tf_is_ok(c->o->tf)) return EMP_TF_NONE;
    if (emp_onnx_in(c, past) != NULL) {
        emp_port axis = emp_tf_int(c->o->tf, NULL, "axis", 1);
        emp_port before = as_heads(c, emp_onnx_in_port(c, past), 0, true);
        x = emp_onnx_emit(c, "ConcatV2", &(emp_op_attrs){.count = 2},
                          EMP_TF_PORTS(before, x, axis));
    }
    if (x.op < 0 || output < 0 || output >= c->node->output_count ||
        c->node->output[output].size == 0)
        return x;
    emp_shape shape = emp_tf_shape(c->o->tf, x);
    if (shape.rank == 4)
        emp_onnx_out(
            c, output,
            emp_onnx_reshape(
                c, x, EMP_SHAPE(shape.dim[0], shape.dim[2], shape.dim[1], shape.dim[3])));
    return x;
}

/* The attention itself, seen as [batch, positions, heads * size], or with heads apart. */
static emp_port attend(emp_onnx_call *c, const attention *a, emp_port mask, bool is_apart)
{
    emp_port     input[4] = {a->q, a->k, a->v};
    emp_op_attrs attrs = {.is_causal = a->is_causal ||
                                       emp_onnx_int(c, "is_causal", 0) != 0 ||
                                       emp_onnx_int(c, "unidirectional", 0) != 0};
    int32_t      count = 3;
    int64_t      window = emp_onnx_int(c, "local_window_size", -1);

    if (window > 0 && window < INT32_MAX) attrs.window = (int32_t)window;
    if (mask.op >= 0 && !c->o->is_training) input[count++] = mask;
    c->has_name = false;
    emp_port y = emp_onnx_emit(c, "Attention", &attrs, input, count);
    if (y.op < 0 || !emp_tf_is_ok(c->o->tf)) return EMP_TF_NONE;
    emp_shape shape = emp_tf_shape(c->o->tf, y);
    if (is_apart)
        return emp_onnx_reshape(
            c, y, EMP_SHAPE(shape.dim[0], shape.dim[2], shape.dim[1], shape.dim[3]));
    return emp_onnx_reshape(c, y,
                            EMP_SHAPE(shape.dim[0], shape.dim[1],
                                      emp_onnx_times(shape.dim[2], shape.dim[3])));
}

/* The product of queries and keys [batch, heads, queries, keys], where a model asks for it. */
static void give_scores(emp_onnx_call *c, const attention *a, int32_t output)
{
    if (output >= c->node->output_count || c->node->output[output].size == 0 ||
        a->q.op < 0 || a->k.op < 0 || !emp_tf_is_ok(c->o->tf))
        return;
    emp_shape q = emp_tf_shape(c->o->tf, a->q), k = emp_tf_shape(c->o->tf, a->k);
    int64_t   groups = k.dim[2] > 0 ? q.dim[2] / k.dim[2] : 1;
    emp_port  left = emp_onnx_reshape(
         c, a->q,
         EMP_SHAPE(q.dim[0], k.dim[2], emp_onnx_times(groups, q.dim[1]), q.dim[3]));
    emp_port right =
        emp_onnx_reshape(c, a->k, EMP_SHAPE(k.dim[0], k.dim[2], k.dim[1], k.dim[3]));
    emp_port z = emp_onnx_emit(c, "BatchMatMul", &(emp_op_attrs){.transpose_b = true},
                               EMP_TF_PORTS(left, right));
    emp_onnx_out(
        c, output,
        emp_onnx_reshape(c, z, EMP_SHAPE(q.dim[0], q.dim[2], q.dim[1], k.dim[1])));
}

/* Attention(Q, K, V, mask, past key, past value): of rank 4 with heads apart, or of rank 3 with
 * their numbers as attributes. com.microsoft has another op of that name. */
static void standard_attention(emp_onnx_call *c)
{
    emp_shape q = emp_onnx_in_shape(c, 0), k = emp_onnx_in_shape(c, 1);
    bool      is_apart = q.rank == 4;
    attention a = {.heads = emp_onnx_int(c, "q_num_heads", is_apart ? q.dim[1] : 0)};
    a.key_heads = emp_onnx_int(c, "kv_num_heads", k.rank == 4 ? k.dim[1] : 0);

    if (!is_apart && (a.heads < 1 || a.key_heads < 1)) {
        emp_onnx_refuse(
            c, "q_num_heads and kv_num_heads are missing for an input of rank %d",
            q.rank);
        return;
    }
    c->has_name = true;
    a.q = as_heads(c, emp_onnx_in_port(c, 0), a.heads, is_apart);
    a.k = append(c, as_heads(c, emp_onnx_in_port(c, 1), a.key_heads, is_apart), 4, 1);
    a.v = append(c, as_heads(c, emp_onnx_in_port(c, 2), a.key_heads, is_apart), 5, 2);
    emp_port mask = emp_onnx_in(c, 3) != NULL ? emp_onnx_in_port(c, 3) : EMP_TF_NONE;
    emp_onnx_out(c, 0, attend(c, &a, mask, is_apart));
    give_scores(c, &a, 3);
}

/* com.microsoft's Attention(x, weights, bias, mask, past): products with the weights of queries, keys
 * and values come first. */
static void packed_attention(emp_onnx_call *c)
{
    emp_shape x = emp_onnx_in_shape(c, 0), w = emp_onnx_in_shape(c, 1);
    int64_t   heads = emp_onnx_int(c, "num_heads", 0), sizes[3];

    if (x.rank != 3 || w.rank != 2 || heads < 1) {
        emp_onnx_refuse(c, "an input of rank %d, weights of rank %d and %lld heads",
                        x.rank, w.rank, (long long)heads);
        return;
    }
    if (emp_onnx_ints(c, "qkv_hidden_sizes", -1, sizes, 3) != 3)
        for (int32_t i = 0; i < 3; i++) sizes[i] = w.dim[1] / 3;
    c->has_name = true;
    emp_port all = emp_onnx_product(c);
    if (emp_onnx_in(c, 2) != NULL)
        all = emp_onnx_emit2(c, "Add", all, emp_onnx_in_port(c, 2));
    emp_port part = emp_onnx_emit(c, "SplitV", &(emp_op_attrs){.count = 3},
                                  EMP_TF_PORTS(all, emp_onnx_int_vector(c, sizes, 3),
                                               emp_tf_int(c->o->tf, NULL, "axis", 2)));
    if (part.op < 0 || !emp_tf_is_ok(c->o->tf)) return;
    attention a = {.heads = heads, .key_heads = heads};
    a.q = as_heads(c, part, heads, false);
    a.k = as_heads(c, (emp_port){part.op, 1}, heads, false);
    a.v = as_heads(c, (emp_port){part.op, 2}, heads, false);
    if (!emp_tf_is_ok(c->o->tf)) return;
    emp_shape k = emp_tf_shape(c->o->tf, a.k);
    emp_shape past = emp_onnx_in_shape(c, 4); /* [2, batch, heads, positions, size] */
    if (past.rank == 5) {
        emp_port cache = emp_onnx_in_port(c, 4),
                 axis = emp_tf_int(c->o->tf, NULL, "axis", 1);
        emp_port half =
            emp_onnx_emit(c, "Unpack", &(emp_op_attrs){.count = 2}, &cache, 1);
        emp_port *const to[] = {&a.k, &a.v};
        for (int32_t i = 0; i < 2 && half.op >= 0; i++)
            *to[i] = emp_onnx_emit(
                c, "ConcatV2", &(emp_op_attrs){.count = 2},
                EMP_TF_PORTS(as_heads(c, (emp_port){half.op, i}, 0, true), *to[i], axis));
        k.dim[1] = emp_onnx_plus(k.dim[1], past.dim[3]);
    }
    emp_onnx_out(c, 0, attend(c, &a, EMP_TF_NONE, false));
    if (c->node->output_count < 2 || a.k.op < 0 || a.v.op < 0) return;
    emp_port both =
        emp_onnx_emit(c, "Pack", &(emp_op_attrs){.count = 2}, EMP_TF_PORTS(a.k, a.v));
    emp_onnx_out(
        c, 1,
        emp_onnx_reshape(c, both, EMP_SHAPE(2, k.dim[0], k.dim[2], k.dim[1], k.dim[3])));
}

/* Attention of rank 4, whose kernel computes functions of the model on scores and on probabilities. */
static void flex_attention(emp_onnx_call *c, const char *word)
{
    emp_onnx_attr body;

    (void)word;
    if (emp_onnx_in_shape(c, 0).rank != 4 || emp_onnx_in_shape(c, 1).rank != 4) {
        emp_onnx_refuse(c, "queries of rank %d and keys of rank %d, need 4",
                        emp_onnx_in_shape(c, 0).rank, emp_onnx_in_shape(c, 1).rank);
        return;
    }
    standard_attention(c);
    if (emp_onnx_get(c, "score_mod", &body) || emp_onnx_get(c, "prob_mod", &body))
        emp_import_notes_assume(c->o->notes,
                                "the functions of scores and of probabilities in "
                                "FlexAttention take no time in its kernel");
}

static void attention_of(emp_onnx_call *c, const char *word)
{
    (void)word;
    if (c->node->domain.size > 0)
        packed_attention(c);
    else
        standard_attention(c);
}

/* Queries, keys and values in one tensor [batch, positions, (heads + 2 key heads) * size]. */
static bool unpack(emp_onnx_call *c, attention *a)
{
    emp_shape x = emp_onnx_in_shape(c, 0);
    int64_t   all = a->heads + 2 * a->key_heads;

    if (x.rank != 3 || x.dim[2] % all != 0) {
        emp_onnx_refuse(
            c, "queries, keys and values in one tensor of rank %d for %lld heads", x.rank,
            (long long)all);
        return false;
    }
    int64_t  size = x.dim[2] / all;
    int64_t  sizes[] = {a->heads * size, a->key_heads * size, a->key_heads * size};
    emp_port part = emp_onnx_emit(c, "SplitV", &(emp_op_attrs){.count = 3},
                                  EMP_TF_PORTS(emp_onnx_in_port(c, 0),
                                               emp_onnx_int_vector(c, sizes, 3),
                                               emp_tf_int(c->o->tf, NULL, "axis", 2)));
    a->q = part;
    a->k = (emp_port){part.op, 1};
    a->v = (emp_port){part.op, 2};
    return part.op >= 0;
}

/* GroupQueryAttention(query, key, value, past key, past value, lengths, ...). The query may hold keys and
 * values, too. */
static void grouped_attention(emp_onnx_call *c, const char *word)
{
    attention a = {.heads = emp_onnx_int(c, "num_heads", 0),
                   .is_causal = emp_onnx_int(c, "causal", 1) != 0};
    emp_shape q = emp_onnx_in_shape(c, 0);

    (void)word;
    a.key_heads = emp_onnx_int(c, "kv_num_heads", 0);
    if (a.heads < 1 || a.key_heads < 1 || a.heads > INT32_MAX ||
        a.key_heads > INT32_MAX || q.rank != 3) {
        emp_onnx_refuse(c,
                        "num_heads is %lld, kv_num_heads %lld, and queries have rank %d",
                        (long long)a.heads, (long long)a.key_heads, q.rank);
        return;
    }
    c->has_name = true;
    if (emp_onnx_in(c, 1) != NULL) {
        a.q = emp_onnx_in_port(c, 0);
        a.k = emp_onnx_in_port(c, 1);
        a.v = emp_onnx_in_port(c, 2);
    } else if (!unpack(c, &a)) {
        return;
    }
    a.q = as_heads(c, a.q, a.heads, false);
    a.k = as_heads(c, a.k, a.key_heads, false);
    a.v = as_heads(c, a.v, a.key_heads, false);
    if (emp_onnx_int(c, "do_rotary", 0) != 0) {
        a.q = emp_onnx_emit1(c, "RotaryEmbedding", a.q);
        a.k = emp_onnx_emit1(c, "RotaryEmbedding", a.k);
    }
    a.k = append(c, a.k, 3, 1);
    a.v = append(c, a.v, 4, 2);
    emp_onnx_out(c, 0, attend(c, &a, EMP_TF_NONE, false));
}

/* Adds the parts of a bias [hidden + hidden + hidden of values] to projections of rank 3. */
static void add_bias(emp_onnx_call *c, emp_port to[3], int32_t input)
{
    int64_t sizes[3];

    if (emp_onnx_in(c, input) == NULL) return;
    for (int32_t i = 0; i < 3; i++) {
        if (to[i].op < 0 || !emp_tf_is_ok(c->o->tf)) return;
        emp_shape shape = emp_tf_shape(c->o->tf, to[i]);
        if (shape.rank != 3) return;
        sizes[i] = shape.dim[2];
    }
    emp_port part = emp_onnx_emit(c, "SplitV", &(emp_op_attrs){.count = 3},
                                  EMP_TF_PORTS(emp_onnx_in_port(c, input),
                                               emp_onnx_int_vector(c, sizes, 3),
                                               emp_tf_int(c->o->tf, NULL, "axis", 0)));
    for (int32_t i = 0; i < 3 && part.op >= 0; i++)
        to[i] = emp_onnx_emit2(c, "Add", to[i], (emp_port){part.op, i});
}

/* The tensors that are packed into one [batch, positions, heads, count, size], from one input on; those before it are
 * inputs of their own. */
static void unpack_heads(emp_onnx_call *c, int32_t from, emp_port to[3])
{
    static const int64_t ones[] = {1, 1, 1};
    const int32_t        count = 3 - from;
    emp_shape            shape = emp_onnx_in_shape(c, from);
    emp_port part = emp_onnx_emit(c, "SplitV", &(emp_op_attrs){.count = count},
                                  EMP_TF_PORTS(emp_onnx_in_port(c, from),
                                               emp_onnx_int_vector(c, ones, count),
                                               emp_tf_int(c->o->tf, NULL, "axis", 3)));

    shape.dim[2] = emp_onnx_times(shape.dim[2], shape.dim[4]);
    shape.rank = 3;
    for (int32_t i = from; i < 3; i++)
        to[i] = part.op < 0 ? EMP_TF_NONE
                            : emp_onnx_reshape(c, (emp_port){part.op, i - from}, shape);
}

/* MultiHeadAttention(query, key, value, bias, padding mask, attention bias, past key, past value). Keys and values, or
 * all three, may be packed into one tensor of rank 5; keys and values may have heads apart. */
static void multi_head(emp_onnx_call *c, const char *word)
{
    attention     a = {.heads = emp_onnx_int(c, "num_heads", 0)};
    emp_shape     q = emp_onnx_in_shape(c, 0), k = emp_onnx_in_shape(c, 1);
    const int32_t packed = q.rank == 5 ? 0 : k.rank == 5 ? 1 : 3; /* the first one */
    const int64_t parts = packed == 0 ? q.dim[3] : packed == 1 ? k.dim[3] : 0;

    (void)word;
    if (a.heads < 1 || (q.rank != 3 && packed > 0) ||
        (k.rank != 3 && k.rank != 4 && packed == 3) || parts != 3 - packed) {
        emp_onnx_refuse(c, "%lld heads, queries of rank %d and keys of rank %d",
                        (long long)a.heads, q.rank, k.rank);
        return;
    }
    c->has_name = true;
    const bool is_decoder =
        emp_slice_is(c->node->type, "DecoderMaskedMultiHeadAttention");
    const int32_t past = is_decoder ? 5 : 6, bias = is_decoder ? 10 : 3;
    emp_port      own[3];
    for (int32_t i = 0; i < packed; i++) own[i] = emp_onnx_in_port(c, i);
    if (packed < 3) unpack_heads(c, packed, own);
    add_bias(c, own, bias);
    a.q = as_heads(c, own[0], a.heads, false);
    a.k = as_heads(c, own[1], a.heads, k.rank == 4);
    a.v = as_heads(c, own[2], a.heads, k.rank == 4);
    a.k = append(c, a.k, past, 1);
    a.v = append(c, a.v, past + 1, 2);
    emp_onnx_out(c, 0, attend(c, &a, EMP_TF_NONE, false));
    give_scores(c, &a, 3);
}

/* Attention without a softmax, by a state [batch, key heads, size of keys, size of values]. */
static void linear_attention(emp_onnx_call *c, const char *word)
{
    attention a = {.heads = emp_onnx_int(c, "q_num_heads", 0)};
    emp_shape q = emp_onnx_in_shape(c, 0), k = emp_onnx_in_shape(c, 1);
    emp_shape v = emp_onnx_in_shape(c, 2);

    (void)word;
    a.key_heads = emp_onnx_int(c, "kv_num_heads", 0);
    if (q.rank != 3 || k.rank != 3 || v.rank != 3 || a.heads < 1 || a.key_heads < 1 ||
        a.heads % a.key_heads != 0 || v.dim[2] % a.key_heads != 0 ||
        q.dim[2] % a.heads != 0) {
        emp_onnx_refuse(c, "%lld and %lld heads for tensors of rank %d",
                        (long long)a.heads, (long long)a.key_heads, q.rank);
        return;
    }
    int64_t   size = v.dim[2] / a.key_heads;
    emp_shape state = EMP_SHAPE(q.dim[0], a.key_heads, q.dim[2] / a.heads, size);
    emp_port  key = emp_onnx_reshape(
         c, emp_onnx_in_port(c, 1),
         EMP_SHAPE(k.dim[0], a.key_heads, k.dim[1], k.dim[2] / a.key_heads));
    emp_port value = emp_onnx_reshape(c, emp_onnx_in_port(c, 2),
                                      EMP_SHAPE(v.dim[0], a.key_heads, v.dim[1], size));
    emp_port sums = emp_onnx_emit(c, "BatchMatMul", &(emp_op_attrs){.transpose_a = true},
                                  EMP_TF_PORTS(key, value));
    if (emp_onnx_in(c, 3) != NULL)
        sums = emp_onnx_emit2(c, "Add", sums, emp_onnx_in_port(c, 3));
    emp_port query = emp_onnx_reshape(
        c, emp_onnx_in_port(c, 0),
        EMP_SHAPE(q.dim[0], a.key_heads, emp_onnx_times(q.dim[1], a.heads / a.key_heads),
                  state.dim[2]));
    emp_port y = emp_onnx_emit2(c, "BatchMatMul", query, sums);
    emp_onnx_out(c, 0,
                 emp_onnx_reshape(
                     c, y, EMP_SHAPE(q.dim[0], q.dim[1], emp_onnx_times(a.heads, size))));
    emp_onnx_out(c, 1, sums);
}

const emp_onnx_rule emp_onnx_attention_rules[] = {
    {"Attention", attention_of, NULL},
    {"DecoderMaskedMultiHeadAttention", multi_head, NULL},
    {"FlexAttention", flex_attention, NULL},
    {"GroupQueryAttention", grouped_attention, NULL},
    {"LinearAttention", linear_attention, NULL},
    {"MultiHeadAttention", multi_head, NULL},
    {"RotaryEmbedding", emp_onnx_lower_unary, "RotaryEmbedding"},
    {0}};
