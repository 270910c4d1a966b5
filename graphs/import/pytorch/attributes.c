// SPDX-License-Identifier: GPL-3.0-or-later
// What the arguments of a call say that the shapes of its tensors do not: windows, dilations, masks, how sequences are
// packed. Places of arguments are those of PyTorch's native_functions.yaml.
#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "graphs/import/pytorch/lower.h"
#include "graphs/import/pytorch/program.h"

static bool has(const char *name, const char *part) { return strstr(name, part) != NULL; }

static bool is_true(const emp_torch_value *v)
{
    return v != NULL && v->kind == EMP_TORCH_BOOL && v->number != 0;
}

/* ---- convolutions ---- */

static bool is_transposed(const emp_torch_calls *c, int32_t node, const char *name)
{
    int32_t place = has(name, "backward") ? 7 : 6;

    if (has(name, "transpose")) return true;
    if (has(name, "cudnn_convolution")) return false; /* that place is its benchmark */
    return is_true(
        emp_torch_argument(c->program, &c->program->node[node], place, "transposed"));
}

/* Steps within the window, one for all dims or one each. */
static void read_dilations(const emp_torch_calls *c, int32_t node, const char *name,
                           int32_t dilations[3])
{
    const emp_torch_program *p = c->program;
    int32_t                  place = has(name, "mps_convolution_backward") ? 5
                                     : has(name, "backward")               ? 6
                                     : has(name, ".conv_transpose") || has(name, "slow_conv_trans") ? 7
                                     : strcmp(name, "aten.cudnn_convolution") == 0 ? 4
                                     : has(name, "slow_conv_d") || has(name, "conv_depth") ? 6
                                                                                           : 5;

    if (has(name, "thnn_conv") || has(name, "_slow_conv2d")) return; /* they have none */
    const emp_torch_value *v = emp_torch_argument(p, &p->node[node], place, "dilation");
    if (v == NULL || !emp_torch_is_list_of(p, v, EMP_TORCH_INT)) return;
    const emp_torch_value *step = v->kind == EMP_TORCH_LIST ? &p->value[v->first] : v;
    int32_t                count = v->kind == EMP_TORCH_LIST ? v->count : 1;
    for (int32_t d = 0; d < 3; d++) {
        int64_t each = step[d < count ? d : 0].number;
        dilations[d] = each > 0 && each <= INT32_MAX ? (int32_t)each : 1;
    }
}

/* How many of the gradients of input and filter a mask [input, filter, bias] asks for. */
static int32_t count_gradients(const emp_torch_calls *c, int32_t node)
{
    const emp_torch_program *p = c->program;
    const emp_torch_node    *n = &p->node[node];
    const emp_torch_value   *mask = emp_torch_argument(p, n, n->count - 1, "output_mask");
    int32_t                  count = 0;

    if (mask == NULL || mask->kind != EMP_TORCH_LIST || mask->count < 2 ||
        !emp_torch_is_list_of(p, mask, EMP_TORCH_BOOL))
        return 2;
    for (int32_t i = 0; i < 2; i++) count += p->value[mask->first + i].number != 0;
    return count > 0 ? count : 1;
}

/* ---- pools ---- */

static int32_t dims_of(const char *name)
{
    return has(name, "3d") ? 3 : has(name, "1d") ? 1 : 2;
}

/* The elements of a window: one size for all dims, or one each. */
static int64_t pool_window(const emp_torch_calls *c, int32_t node, const char *name)
{
    const emp_torch_program *p = c->program;
    int32_t                  place = has(name, "backward") ? 2 : 1, dims = dims_of(name);
    const emp_torch_value   *k =
        emp_torch_argument(p, &p->node[node], place, "kernel_size");
    int64_t window = 1;

    if (has(name, "adaptive") || k == NULL || !emp_torch_is_list_of(p, k, EMP_TORCH_INT))
        return 0;
    const emp_torch_value *size = k->kind == EMP_TORCH_LIST ? &p->value[k->first] : k;
    int32_t                count = k->kind == EMP_TORCH_LIST ? k->count : 1;
    for (int32_t d = 0; d < dims; d++) {
        int64_t each = size[d < count ? d : 0].number;
        if (each < 1 || window > INT32_MAX || each > INT32_MAX) return 0;
        window *= each;
    }
    return window;
}

/* ---- recurrent layers ---- */

/* Whether input 0 is [batch, steps, width]. mkldnn_rnn_layer and its gradient are called with time-major input whatever
 * their argument says (aten/src/ATen/native/mkldnn/RNN.cpp). A packed input has rank 2, and other arguments. */
static bool is_batch_first(const emp_torch_calls *c, int32_t node, const char *name)
{
    static const struct {
        const char *name;
        int32_t     place;
    } layers[] = {
        {"aten.lstm", 8},        {"aten.gru", 8},
        {"aten.rnn_tanh", 8},    {"aten.rnn_relu", 8},
        {"aten._lstm_mps", 8},   {"aten.lstm_mps_backward", 14},
        {"aten._cudnn_rnn", 10}, {"aten._cudnn_rnn_backward", 14},
        {"aten.miopen_rnn", 8},  {"aten.miopen_rnn_backward", 13},
    };

    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++)
        if (strcmp(name, layers[i].name) == 0)
            return is_true(emp_torch_argument(c->program, &c->program->node[node],
                                              layers[i].place, "batch_first"));
    return false;
}

/* ---- products ---- */

/* The sizes of an index in the operands of "bij,bkj->bik" that have it; 0 = unknown. Dimensions of "..." are the indices 1, 2 ...
 * from the right. */
typedef struct {
    int64_t size[128];
    bool    in_a[128], in_b[128], in_out[128];
} indices;

static int32_t count_letters(const char *at)
{
    int32_t count = 0;

    for (; *at != '\0' && *at != ',' && *at != '-'; at++)
        count += *at != ' ' && *at != '.';
    return count;
}

static bool read_index(indices *x, bool *in, int32_t index, const emp_shape *shape,
                       int32_t d)
{
    in[index] = true;
    if (shape == NULL) return true;
    if (d >= shape->rank) return false;
    if (x->size[index] < shape->dim[d]) x->size[index] = shape->dim[d];
    if (x->size[index] < 1) x->size[index] = 1;
    return true;
}

/* Reads an operand, or without a shape the result, and returns what is behind it; NULL: it does not fit. */
static const char *read_operand(const char *at, const emp_shape *shape, indices *x,
                                bool *in)
{
    int32_t rest = shape != NULL ? shape->rank - count_letters(at) : EMP_MAX_RANK;
    int32_t d = 0;

    for (; *at != '\0' && *at != ',' && *at != '-'; at++) {
        unsigned char c = (unsigned char)*at;
        if (c == ' ') continue;
        if (strncmp(at, "...", 3) == 0) {
            for (int32_t index = rest; index > 0; index--)
                if (!read_index(x, in, index, shape, d++)) return NULL;
            at += 2;
        } else if (!isalpha(c) || !read_index(x, in, c, shape, d++)) {
            return NULL;
        }
    }
    return at;
}

/* Batch, m, n and k of the product of two operands; rank -1: it is none. A result that is not written has the indices of one
 * operand only, and those of "...". */
static emp_shape einsum_product(const char *equation, const emp_shape *a,
                                const emp_shape *b)
{
    indices   x = {0};
    emp_shape product = {4, {1, 1, 1, 1}};

    const char *at = read_operand(equation, a, &x, x.in_a);
    if (at == NULL || *at != ',') return EMP_SHAPE_UNKNOWN;
    at = read_operand(at + 1, b, &x, x.in_b);
    if (at == NULL) return EMP_SHAPE_UNKNOWN;
    for (int32_t c = 0; c < 128; c++)
        x.in_out[c] = *at == '\0' && (c <= EMP_MAX_RANK || x.in_a[c] != x.in_b[c]);
    if (*at != '\0') {
        if (strncmp(at, "->", 2) != 0) return EMP_SHAPE_UNKNOWN;
        at = read_operand(at + 2, NULL, &x, x.in_out);
        if (at == NULL || *at != '\0') return EMP_SHAPE_UNKNOWN;
    }
    for (int32_t c = 0; c < 128; c++) {
        if (x.size[c] == 0) continue;
        int32_t which = !x.in_out[c] ? 3 : x.in_a[c] && x.in_b[c] ? 0 : x.in_a[c] ? 1 : 2;
        int64_t *dim = &product.dim[which];
        if (__builtin_mul_overflow(*dim, x.size[c], dim)) *dim = INT64_MAX;
    }
    return product;
}

static int64_t square_root(double x)
{
    double root = 1.0;

    for (int i = 0; i < 80; i++) root = 0.5 * (root + x / root); /* Newton */
    return root < 0x1p62 ? (int64_t)(root + 0.5) : INT64_MAX;
}

/* With operands of m k and k n elements and a result of m n, k is the root of the ratio. */
static emp_shape tensordot_product(const emp_shape *a, const emp_shape *b,
                                   const emp_shape *out)
{
    double  x = (double)emp_shape_elements(a), y = (double)emp_shape_elements(b);
    double  made = (double)emp_shape_elements(out);
    int64_t k = made > 0.0 && x > 0.0 && y > 0.0 ? square_root(x * y / made) : 1;

    if (k < 1) k = 1;
    return (emp_shape){4,
                       {1, emp_shape_elements(a) / k > 0 ? emp_shape_elements(a) / k : 1,
                        emp_shape_elements(b) / k > 0 ? emp_shape_elements(b) / k : 1,
                        k}};
}

/* A sum of products along one dim for each element of the result. */
static emp_shape vecdot_product(const emp_torch_value *dim, const emp_shape *a,
                                const emp_shape *b, const emp_shape *out)
{
    const emp_shape *x = a->rank > b->rank ? a : b;
    int64_t          at = dim != NULL && dim->kind == EMP_TORCH_INT ? dim->number : -1;

    if (at < 0) at += x->rank;
    return (emp_shape){
        4, {emp_shape_elements(out), 1, 1, at >= 0 && at < x->rank ? x->dim[at] : 1}};
}

static emp_shape stated_product(const emp_torch_calls *c, int32_t node, const char *name)
{
    const emp_torch_program *p = c->program;
    const emp_torch_node    *n = &p->node[node];
    const emp_torch_value   *equation = emp_torch_argument(p, n, 0, "equation");
    emp_torch_walk           at = {0};
    const emp_torch_value   *a = emp_torch_next_tensor(p, n, &at);
    const emp_torch_value   *b = a == NULL ? NULL : emp_torch_next_tensor(p, n, &at);

    if (b == NULL || emp_torch_tensor(c, a) == NULL || emp_torch_tensor(c, b) == NULL ||
        n->result_count == 0)
        return EMP_SHAPE_SCALAR;
    const emp_shape *x = &emp_torch_tensor(c, a)->shape,
                    *y = &emp_torch_tensor(c, b)->shape;
    if (has(name, "tensordot")) return tensordot_product(x, y, &n->result[0].shape);
    if (has(name, "vecdot"))
        return vecdot_product(emp_torch_argument(p, n, 2, "dim"), x, y,
                              &n->result[0].shape);
    if (has(name, "einsum") && equation != NULL && equation->kind == EMP_TORCH_TEXT) {
        emp_shape product = einsum_product(equation->text, x, y);
        return product.rank == 4 ? product : tensordot_product(x, y, &n->result[0].shape);
    }
    return EMP_SHAPE_SCALAR;
}

/* ---- norms of batches ---- */

/* Whether a norm of batches takes statistics as they are. */
static bool is_inference(const emp_torch_calls *c, int32_t node, const char *name)
{
    const emp_torch_value *training;

    if (!has(name, "batch_norm") || has(name, "backward")) return false;
    if (has(name, "no_training") || has(name, "no_update")) return true;
    training = emp_torch_argument(c->program, &c->program->node[node], 5, "training");
    return training != NULL && training->kind == EMP_TORCH_BOOL && training->number == 0;
}

/* ---- all ---- */

static bool has_sequence_outside(const char *name)
{
    return has(name, "_flash_attention_forward") ||
           has(name, "_efficient_attention_forward") ||
           strcmp(name, "aten._flash_attention_backward") == 0 ||
           strcmp(name, "aten._efficient_attention_backward") == 0 ||
           has(name, "flash_attn") || has(name, "xformers");
}

/* Places of arguments: PyTorch's native_functions.yaml, and the interfaces of flash-attention and xFormers. */
typedef struct {
    const char *name;
    int32_t     causal;  /* a flag, or the number of a mask */
    int32_t     offsets; /* where packed sequences begin and end; 0 = it packs none */
    int32_t     longest; /* keys of any of these; 0 = not an argument */
} attention_places;

static const attention_places attentions[] = {
    {"aten.scaled_dot_product_attention", 5, 0, 0},
    {"aten._scaled_dot_product_attention", 6, 0, 0},
    {"aten._scaled_dot_product_attention_math", 5, 0, 0},
    {"aten._scaled_dot_product_attention_math_for_mps", 5, 0, 0},
    {"aten._scaled_dot_product_fused_attention_overrideable", 5, 0, 0},
    {"aten._scaled_dot_product_fused_attention_overrideable_backward", 13, 0, 0},
    {"aten._scaled_dot_product_efficient_attention", 6, 0, 0},
    {"aten._scaled_dot_product_efficient_attention_backward", 11, 0, 0},
    {"aten._scaled_dot_product_cudnn_attention", 6, 0, 0},
    {"aten._scaled_dot_product_cudnn_attention_backward", 14, 0, 0},
    {"aten._scaled_dot_product_flash_attention_backward", 11, 0, 0},
    {"aten._scaled_dot_product_flash_attention_for_cpu_backward", 7, 0, 0},
    {"aten._cudnn_attention_forward", 10, 0, 0},
    {"aten._cudnn_attention_backward", 14, 0, 0},
    {"aten._flash_scaled_dot_product_attention", 8, 3, 6},
    {"aten._flash_attention_forward", 8, 3, 6},
    {"aten._flash_attention_backward", 11, 6, 9},
    {"aten._efficient_attention_forward", 9, 4, 7},
    {"aten._efficient_attention_backward", 14, 6, 9},
    {"flash_attn._flash_attn_forward", 5, 0, 0},
    {"flash_attn._flash_attn_backward", 11, 0, 0},
    {"flash_attn._flash_attn_varlen_forward", 9, 3, 6},
    {"flash_attn._flash_attn_varlen_backward", 15, 9, 12},
    {"flash_attn_3.fwd", 24, 7, 13},
    {"flash_attn_3._flash_attn_forward", 24, 7, 13},
    {"xformers.efficient_attention_forward_cutlass", 9, 4, 0},
    {"xformers.efficient_attention_backward_cutlass", 14, 5, 8},
};

static const attention_places *places_of_attention(const char *name)
{
    /* (q, k, v, dropout, causal) */
    static const attention_places others = {.causal = 4};

    for (size_t i = 0; i < sizeof attentions / sizeof *attentions; i++)
        if (strcmp(name, attentions[i].name) == 0) return &attentions[i];
    return &others;
}

enum { NAMES_MAX = 3 }; /* that libraries give to one argument */

/* By any of its names, or by its place; NULL: there is none. */
static const emp_torch_value *find_argument(const emp_torch_calls *c, int32_t node,
                                            int32_t           place,
                                            const char *const names[NAMES_MAX])
{
    const emp_torch_value *v = NULL;

    for (int32_t i = 0; i < NAMES_MAX && names[i] != NULL && v == NULL && place > 0; i++)
        v = emp_torch_argument(c->program, &c->program->node[node], place, names[i]);
    return v;
}

static bool is_causal(const emp_torch_calls *c, int32_t node, const attention_places *at)
{
    static const char *const names[NAMES_MAX] = {"is_causal", "causal",
                                                 "custom_mask_type"};
    const emp_torch_value   *v = find_argument(c, node, at->causal, names);

    return is_true(v) || (v != NULL && v->kind == EMP_TORCH_INT && v->number > 0);
}

/* Several sequences in one, which meet only themselves: how many, and the keys of the longest. */
static void read_packing(const emp_torch_calls *c, int32_t node,
                         const attention_places *at, emp_op_attrs *a)
{
    static const char *const offsets[NAMES_MAX] = {"cum_seq_q", "cu_seqlens_q",
                                                   "seqstart_q"};
    static const char *const longest[NAMES_MAX] = {"max_k", "max_seqlen_k"};
    const emp_torch_value   *v = find_argument(c, node, at->offsets, offsets);

    if (v == NULL || v->kind != EMP_TORCH_TENSOR || emp_torch_tensor(c, v) == NULL)
        return;
    const emp_shape *bounds = &emp_torch_tensor(c, v)->shape;
    if (bounds->rank != 1 || bounds->dim[0] < 2 || bounds->dim[0] > INT32_MAX) return;
    a->count = (int32_t)bounds->dim[0] - 1;
    v = find_argument(c, node, at->longest, longest);
    if (v != NULL && v->kind == EMP_TORCH_INT && v->number > 0 && v->number <= INT32_MAX)
        a->window = (int32_t)v->number;
}

static void read_attention(const emp_torch_calls *c, int32_t node, const char *name,
                           emp_op_attrs *a)
{
    const attention_places *at = places_of_attention(name);

    a->sequence_axis = has_sequence_outside(name) ? -3 : -2;
    a->is_causal = is_causal(c, node, at);
    read_packing(c, node, at, a);
}

bool emp_torch_is_idle(const emp_torch_calls *calls, int32_t node)
{
    const emp_aten_op     *op = calls->op_of[node];
    const emp_torch_value *train;

    if (op == NULL || !has(op->name, "dropout") || has(op->name, "backward"))
        return false;
    train = emp_torch_argument(calls->program, &calls->program->node[node], 2, "train");
    return train != NULL && train->kind == EMP_TORCH_BOOL && train->number == 0;
}

emp_op_attrs emp_torch_op_attrs(const emp_torch_calls *calls, int32_t node)
{
    const emp_aten_op *op = calls->op_of[node];
    emp_op_attrs       a = {.is_in_place = op->is_in_place && !op->is_list,
                            .list_count = 1,
                            .count = calls->program->node[node].ranks};

    if (op->type == NULL) return a;
    switch (op->type->work) {
    case EMP_WORK_CONVOLUTION:
        if (op->type->part == EMP_PART_BOTH) a.gradients = count_gradients(calls, node);
        a.is_transposed = is_transposed(calls, node, op->name);
        read_dilations(calls, node, op->name, a.dilations);
        break;
    case EMP_WORK_POOL: a.pool_window = pool_window(calls, node, op->name); break;
    case EMP_WORK_PRODUCT: a.product = stated_product(calls, node, op->name); break;
    case EMP_WORK_ATTENTION: read_attention(calls, node, op->name, &a); break;
    case EMP_WORK_NORM: a.is_inference = is_inference(calls, node, op->name); break;
    case EMP_WORK_RECURRENT:
        a.sequence_axis = is_batch_first(calls, node, op->name) ? -2 : -3;
        break;
    default: break;
    }
    return a;
}
