// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/tensorflow/tf_train.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graphs/tensorflow/tf_grad_internal.h"
#include "graphs/tensorflow/tf_loop.h"
#include "graphs/tensorflow/tf_ops.h"

/* One summand of the gradient of a tensor. */
typedef struct {
    emp_tf_grad grad;
    int32_t     next; /**< of the same tensor, or -1 */
} summand;

typedef struct {
    int32_t      op_count;     /**< forward ops: those that were there at the start */
    int32_t     *first_output; /**< [op + 1] tensor number of output 0 */
    bool        *is_between;   /**< [op] on a path from an x to the loss */
    bool        *is_source;    /**< [op] makes an x */
    int32_t     *pending;      /**< [op] uses between whose gradient is still to come */
    int32_t     *head, *tail;  /**< [tensor] list of summands, -1 = none */
    summand     *pool;
    int32_t      pool_count, pool_capacity, terms_capacity;
    emp_op_id   *queue;
    int32_t      queue_head, queue_tail;
    emp_tf_grad *in, *out; /**< of the op at hand */
    emp_port    *terms;    /**< of the sum at hand */
    emp_port    *popped;   /**< [tensor] of loops: what stacks give back */
    emp_op_id   *gating;
    emp_arrays   arrays; /* all but pool and terms */
} walk;

static const emp_tf_grad_entry table[] = {
    {"Abs", emp_tf_grad_abs},
    {"Add", emp_tf_grad_add},
    {"AddN", emp_tf_grad_add_n},
    {"ArgMax", NULL},
    {"ArgMin", NULL},
    {"AvgPool", emp_tf_grad_avg_pool},
    {"AvgPoolNd", emp_tf_grad_avg_pool_nd},
    {"BatchMatMul", emp_tf_grad_batch_matmul},
    {"BatchMatMulV2", emp_tf_grad_batch_matmul_v2},
    {"BiasAdd", emp_tf_grad_bias_add},
    {"BroadcastTo", emp_tf_grad_broadcast_to},
    {"Cast", emp_tf_grad_cast},
    {"Ceil", NULL},
    {"ClipByValue", emp_tf_grad_clip},
    {"ConcatV2", emp_tf_grad_concat},
    {"Conv", emp_tf_grad_conv},
    {"Conv2D", emp_tf_grad_conv2d},
    {"ConvTranspose", emp_tf_grad_conv_transpose},
    {"Cos", emp_tf_grad_cos},
    {"Cumsum", emp_tf_grad_cumsum},
    {"DepthToSpace", emp_tf_grad_depth_to_space},
    {"DepthwiseConv2dNative", emp_tf_grad_depthwise},
    {"Elu", emp_tf_grad_elu},
    {"Enter", emp_tf_grad_enter},
    {"Equal", NULL},
    {"Erf", emp_tf_grad_erf},
    {"Exit", emp_tf_grad_exit},
    {"Exp", emp_tf_grad_exp},
    {"ExpandDims", emp_tf_grad_reshape},
    {"Fill", emp_tf_grad_fill},
    {"Floor", NULL},
    {"FusedBatchNorm", emp_tf_grad_fused_batch_norm},
    {"GRU", emp_tf_grad_gru},
    {"Gather", emp_tf_grad_gather},
    {"GatherElements", emp_tf_grad_lookup},
    {"GatherNd", emp_tf_grad_lookup},
    {"GatherV2", emp_tf_grad_lookup},
    {"Gelu", emp_tf_grad_gelu},
    {"Greater", NULL},
    {"GreaterEqual", NULL},
    {"HardSigmoid", emp_tf_grad_hard_sigmoid},
    {"HardSwish", emp_tf_grad_hard_swish},
    {"Identity", emp_tf_grad_identity},
    {"L2Loss", emp_tf_grad_l2_loss},
    {"LRN", emp_tf_grad_lrn},
    {"LSTM", emp_tf_grad_lstm},
    {"LayerNorm", emp_tf_grad_layer_norm},
    {"LeakyRelu", emp_tf_grad_leaky_relu},
    {"Less", NULL},
    {"LessEqual", NULL},
    {"Log", emp_tf_grad_log},
    {"LogSoftmax", emp_tf_grad_log_softmax},
    {"LogicalAnd", NULL},
    {"LogicalNot", NULL},
    {"LogicalOr", NULL},
    {"MatMul", emp_tf_grad_matmul},
    {"MatrixBandPart", emp_tf_grad_band_part},
    {"Max", emp_tf_grad_extreme},
    {"MaxPool", emp_tf_grad_max_pool},
    {"MaxPoolNd", emp_tf_grad_max_pool_nd},
    {"Maximum", emp_tf_grad_maximum},
    {"Mean", emp_tf_grad_mean},
    {"Min", emp_tf_grad_extreme},
    {"Minimum", emp_tf_grad_minimum},
    {"MirrorPad", emp_tf_grad_pad},
    {"Mish", emp_tf_grad_mish},
    {"Mul", emp_tf_grad_mul},
    {"Neg", emp_tf_grad_neg},
    {"NextIteration", emp_tf_grad_next_iteration},
    {"NotEqual", NULL},
    {"OneHot", NULL},
    {"OnesLike", NULL},
    {"PRelu", emp_tf_grad_prelu},
    {"Pack", emp_tf_grad_pack},
    {"Pad", emp_tf_grad_pad},
    {"PartialSort", emp_tf_grad_partial_sort},
    {"Pow", emp_tf_grad_pow},
    {"RMSNorm", emp_tf_grad_rms_norm},
    {"RNN", emp_tf_grad_rnn},
    {"RealDiv", emp_tf_grad_real_div},
    {"Reciprocal", emp_tf_grad_reciprocal},
    {"Relu", emp_tf_grad_relu},
    {"Reshape", emp_tf_grad_reshape},
    {"Resize", emp_tf_grad_resize},
    {"Round", NULL},
    {"Rsqrt", emp_tf_grad_rsqrt},
    {"ScatterElements", emp_tf_grad_scatter},
    {"Select", emp_tf_grad_select},
    {"SelectV2", emp_tf_grad_select_v2},
    {"Selu", emp_tf_grad_selu},
    {"Sigmoid", emp_tf_grad_sigmoid},
    {"Sign", NULL},
    {"Silu", emp_tf_grad_silu},
    {"Sin", emp_tf_grad_sin},
    {"Slice", emp_tf_grad_slice},
    {"Softmax", emp_tf_grad_softmax},
    {"SoftmaxCrossEntropyWithLogits", emp_tf_grad_softmax_cross_entropy},
    {"Softplus", emp_tf_grad_softplus},
    {"Softsign", emp_tf_grad_softsign},
    {"SpaceToDepth", emp_tf_grad_space_to_depth},
    {"SparseSoftmaxCrossEntropyWithLogits", emp_tf_grad_sparse_softmax_cross_entropy},
    {"Split", emp_tf_grad_split},
    {"SplitV", emp_tf_grad_split_v},
    {"Sqrt", emp_tf_grad_sqrt},
    {"Square", emp_tf_grad_square},
    {"SquaredDifference", emp_tf_grad_squared_difference},
    {"Squeeze", emp_tf_grad_reshape},
    {"StopGradient", NULL},
    {"StridedSlice", emp_tf_grad_strided_slice},
    {"Sub", emp_tf_grad_sub},
    {"Sum", emp_tf_grad_sum},
    {"Tanh", emp_tf_grad_tanh},
    {"TensorScatterUpdate", emp_tf_grad_scatter},
    {"Tile", emp_tf_grad_tile},
    {"Transpose", emp_tf_grad_transpose},
    {"Unpack", emp_tf_grad_unpack},
    {"ZerosLike", NULL},
};

static int compare_types(const void *key, const void *entry)
{
    return strcmp((const char *)key, ((const emp_tf_grad_entry *)entry)->type);
}

/* The entry of an op type, or NULL. */
static const emp_tf_grad_entry *tf_grad_find(const char *type)
{
    return (const emp_tf_grad_entry *)bsearch(type, table, sizeof table / sizeof table[0],
                                              sizeof table[0], compare_types);
}

static bool exists(emp_tf_grad grad) { return grad.values.op >= 0; }

/* ---- bookkeeping ------------------------------------------------------------------- */

static emp_status allocate_walk(emp_tf *tf, walk *w)
{
    emp_error *err = tf->err;
    int32_t    inputs = 1, outputs = 1, tensors = 0;

    w->op_count = emp_graph_builder_op_count(tf->builder);
    size_t ops = (size_t)w->op_count;
    w->first_output = EMP_ADD_ARRAY(&w->arrays, int32_t, ops + 1);
    if (w->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "gradients of %d ops", w->op_count);
    for (emp_op_id op = 0; op < w->op_count; op++) {
        int32_t in = emp_graph_builder_input_count(tf->builder, op);
        int32_t out = emp_graph_builder_output_count(tf->builder, op);
        w->first_output[op] = tensors;
        tensors += out;
        if (in > inputs) inputs = in;
        if (out > outputs) outputs = out;
    }
    w->first_output[w->op_count] = tensors;
    w->is_between = EMP_ADD_ARRAY(&w->arrays, bool, ops);
    w->is_source = EMP_ADD_ARRAY(&w->arrays, bool, ops);
    w->pending = EMP_ADD_ARRAY(&w->arrays, int32_t, ops);
    w->head = EMP_ADD_ARRAY(&w->arrays, int32_t, (size_t)tensors + 1);
    w->tail = EMP_ADD_ARRAY(&w->arrays, int32_t, (size_t)tensors + 1);
    w->popped = EMP_ADD_ARRAY(&w->arrays, emp_port, (size_t)tensors + 1);
    w->queue = EMP_ADD_ARRAY(&w->arrays, emp_op_id, ops + 1);
    w->in = EMP_ADD_ARRAY(&w->arrays, emp_tf_grad, (size_t)inputs);
    w->out = EMP_ADD_ARRAY(&w->arrays, emp_tf_grad, (size_t)outputs);
    w->gating = EMP_ADD_ARRAY(&w->arrays, emp_op_id, (size_t)inputs);
    if (w->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "gradients of %d ops", w->op_count);
    for (int32_t t = 0; t < tensors; t++) {
        w->head[t] = w->tail[t] = -1;
        w->popped[t] = EMP_TF_NONE;
    }
    return EMP_OK;
}

/* Makes room for one more summand, and for a sum of all. */
static emp_status reserve_summand(walk *w, emp_error *err)
{
    EMP_CHECK(EMP_GROW(w->pool, w->pool_count + 1, w->pool_capacity));
    return EMP_GROW(w->terms, 2 * (int64_t)w->pool_capacity, w->terms_capacity);
}

/* Whether iterations of a loop add to the gradient of this tensor one after the other. */
static bool is_accumulated(const emp_tf *tf, emp_op_id op)
{
    return emp_graph_builder_attrs(tf->builder, op)->is_constant;
}

static void add_grad(emp_tf *tf, walk *w, emp_port of, emp_tf_grad grad)
{
    emp_tf_fail(tf, reserve_summand(w, tf->err));
    if (!emp_tf_is_ok(tf)) return;
    int32_t tensor = w->first_output[of.op] + of.index;
    if (is_accumulated(tf, of.op)) {
        int32_t  head = w->head[tensor];
        emp_port sum = head < 0 ? EMP_TF_NONE : w->pool[head].grad.values;
        grad.values = emp_tf_loop_accumulate(tf, of, sum, grad.values);
        if (head >= 0) {
            w->pool[head].grad = grad;
            return;
        }
    }
    int32_t entry = w->pool_count++;
    w->pool[entry] = (summand){grad, -1};
    if (w->tail[tensor] < 0) {
        w->head[tensor] = entry;
    } else {
        w->pool[w->tail[tensor]].next = entry;
    }
    w->tail[tensor] = entry;
}

/* Marks the ops between xs and the loss and counts their uses there. Ids are topological,
 * so one pass forwards finds what the xs reach, one backwards what reaches the loss. */
static void mark_between(emp_tf *tf, walk *w, emp_port loss, const emp_port *xs,
                         int32_t count)
{
    const emp_graph_builder *b = tf->builder;
    bool                    *reached = w->is_between;

    for (int32_t i = 0; i < count; i++) reached[xs[i].op] = true;
    for (emp_op_id op = 0; op < w->op_count; op++) {
        for (int32_t i = 0; i < emp_graph_builder_input_count(b, op) && !reached[op];
             i++) {
            reached[op] = reached[emp_graph_builder_input(b, op, i).op];
        }
    }
    reached[loss.op] = true;
    for (emp_op_id op = w->op_count - 1; op >= 0; op--) {
        bool is_used = op == loss.op || w->pending[op] > 0;
        w->is_between[op] = reached[op] && is_used;
        if (!w->is_between[op]) w->pending[op] = 0;
        for (int32_t i = 0; w->is_between[op] && i < emp_graph_builder_input_count(b, op);
             i++) {
            w->pending[emp_graph_builder_input(b, op, i).op]++;
        }
    }
    for (int32_t i = 0; i < count; i++) {
        emp_op_id op = xs[i].op;
        w->is_source[op] = true;
        for (int32_t k = 0; k < emp_graph_builder_input_count(b, op); k++) {
            if (w->is_between[emp_graph_builder_input(b, op, k).op]) {
                w->is_source[op] = false;
            }
        }
    }
}

/* ---- one op ------------------------------------------------------------------------ */

/* The numbers of all rows: a dense gradient as slices, as TensorFlow takes it beside others. */
static emp_port all_rows(emp_tf *tf, emp_port values)
{
    const char *full = emp_tf_unique(tf, "range");
    emp_port    start = emp_tf_int(tf, full, "start", 0);
    emp_port    limit = emp_tf_int(tf, full, "limit", emp_tf_shape(tf, values).dim[0]);
    emp_port    delta = emp_tf_int(tf, full, "delta", 1);

    return emp_tf_emit(tf, full, "Range", NULL, EMP_TF_PORTS(start, limit, delta));
}

/* Rows from several places: IndexedSlices of the concatenated values and indices. */
static emp_tf_grad join_slices(emp_tf *tf, const walk *w, int32_t tensor)
{
    emp_port *indices = w->terms + w->pool_capacity;
    int32_t   count = 0;

    for (int32_t e = w->head[tensor]; e >= 0; e = w->pool[e].next) {
        w->terms[count] = w->pool[e].grad.values;
        indices[count] = w->pool[e].grad.indices;
        if (indices[count].op < 0) indices[count] = all_rows(tf, w->terms[count]);
        count++;
    }
    emp_tf_grad joined = {.values = emp_tf_concat(tf, NULL, w->terms, count, 0)};
    joined.indices = emp_tf_concat(tf, NULL, indices, count, 0);
    return joined;
}

/* Sums what arrived for a tensor and keeps the sum. */
static emp_tf_grad aggregate(emp_tf *tf, walk *w, emp_op_id op, int32_t index)
{
    int32_t      tensor = w->first_output[op] + index;
    int32_t      head = w->head[tensor], count = 0;
    bool         is_sparse = false;
    emp_op_attrs attrs = {0};

    if (head < 0) return EMP_TF_NO_GRAD;
    if (w->pool[head].next < 0) return w->pool[head].grad;
    emp_tf_twin before = emp_tf_loop_twin(tf, op, "sum", index, EMP_TF_ANY_NAME);
    for (int32_t e = head; e >= 0; e = w->pool[e].next) {
        w->terms[count++] = w->pool[e].grad.values;
        is_sparse = is_sparse || w->pool[e].grad.indices.op >= 0;
    }
    attrs.count = count;
    emp_tf_grad sum =
        is_sparse ? join_slices(tf, w, tensor)
                  : emp_tf_dense(emp_tf_op(tf, "AddN", NULL, &attrs, w->terms, count));
    tf->twin = before;
    w->pool[head] = (summand){sum, -1};
    w->tail[tensor] = head;
    return sum;
}

static int compare_ids(const void *a, const void *b)
{
    emp_op_id x = *(const emp_op_id *)a, y = *(const emp_op_id *)b;

    return (x > y) - (x < y);
}

/* control_flow_ops.tuple(): no gradient leaves before all are there. */
static void gate(emp_tf *tf, walk *w, int32_t input_count)
{
    int32_t count = 0, distinct = 0;

    for (int32_t i = 0; i < input_count; i++) {
        if (exists(w->in[i])) w->gating[count++] = w->in[i].values.op;
    }
    if (count < 2) return;
    qsort(w->gating, (size_t)count, sizeof w->gating[0], compare_ids);
    for (int32_t i = 0; i < count; i++) {
        if (i == 0 || w->gating[i] != w->gating[i - 1])
            w->gating[distinct++] = w->gating[i];
    }

    const char *outer = emp_tf_enter(tf, "tuple");
    emp_op_id   group = emp_tf_group(tf, "group_deps", w->gating, distinct);
    emp_tf_begin_controls(tf, &group, 1);
    for (int32_t i = 0; i < input_count; i++) {
        if (!exists(w->in[i])) continue;
        w->in[i].values =
            emp_tf_op1(tf, "Identity", "control_dependency", w->in[i].values);
    }
    emp_tf_end_controls(tf);
    emp_tf_leave(tf, outer);
}

/* Gradients of outputs that the loss does not see are zeros where a type can train. */
static void fill_missing(emp_tf *tf, walk *w, emp_op_id op)
{
    for (int32_t o = 0; o < emp_graph_builder_output_count(tf->builder, op); o++) {
        emp_port output = {op, o};
        if (exists(w->out[o]) || !emp_dtype_is_float(emp_tf_dtype(tf, output))) continue;
        w->out[o] = emp_tf_dense(emp_tf_op1(tf, "ZerosLike", "zeros_like", output));
    }
}

static void differentiate(emp_tf *tf, walk *w, emp_op_id op)
{
    const char              *type = emp_graph_builder_type(tf->builder, op);
    const emp_tf_grad_entry *entry = tf_grad_find(type);
    int32_t                  input_count = emp_graph_builder_input_count(tf->builder, op);

    if (entry == NULL) {
        emp_tf_fail(tf, emp_error_set(tf->err, EMP_EUNSUPPORTED, __FILE__, __LINE__,
                                      "op %s: type %s has no gradient function",
                                      emp_graph_builder_name(tf->builder, op), type));
        return;
    }
    if (entry->fn == NULL) return;
    emp_tf_twin before = emp_tf_loop_twin(tf, op, "zeros", 0, EMP_TF_ANY_NAME);
    fill_missing(tf, w, op);
    const char *leaf =
        emp_tf_join(tf, emp_graph_builder_name(tf->builder, op), "_grad", "");
    const char *outer = emp_tf_enter(tf, leaf);
    emp_tf_loop_twin(tf, op, "", 0, strlen(tf->scope));
    if (emp_tf_is_ok(tf)) entry->fn(tf, op, w->out, w->in);
    if (tf->gate_gradients) gate(tf, w, input_count);
    tf->twin = before;
    emp_tf_leave(tf, outer);
}

static void visit(emp_tf *tf, walk *w, emp_op_id op)
{
    const emp_graph_builder *b = tf->builder;
    int32_t                  input_count = emp_graph_builder_input_count(b, op);
    bool                     has_grads = false;

    for (int32_t o = w->first_output[op]; o < w->first_output[op + 1]; o++) {
        w->out[o - w->first_output[op]] = aggregate(tf, w, op, o - w->first_output[op]);
        has_grads = has_grads || w->head[o] >= 0;
    }
    for (int32_t i = 0; i < input_count; i++) w->in[i] = EMP_TF_NO_GRAD;
    if (has_grads && !w->is_source[op]) differentiate(tf, w, op);
    for (int32_t i = 0; i < input_count && emp_tf_is_ok(tf); i++) {
        emp_port input = emp_graph_builder_input(b, op, i);
        if (exists(w->in[i])) add_grad(tf, w, input, w->in[i]);
    }
    for (int32_t i = 0; i < input_count; i++) {
        emp_op_id producer = emp_graph_builder_input(b, op, i).op;
        if (--w->pending[producer] == 0 && w->is_between[producer]) {
            w->queue[w->queue_tail++] = producer;
        }
    }
}

void emp_tf_gradients(emp_tf *tf, emp_port loss, const emp_port *xs, int32_t count,
                      emp_tf_grad *grads)
{
    walk w = {0};

    for (int32_t i = 0; i < count; i++) grads[i] = EMP_TF_NO_GRAD;
    if (!emp_tf_is_ok(tf)) return;
    emp_tf_fail(tf, allocate_walk(tf, &w));

    const char *outer = emp_tf_enter(tf, "gradients");
    emp_port    sizes = emp_tf_shape_of(tf, loss);
    emp_port    one = emp_tf_float(tf, NULL, "grad_ys_0", 1.0);
    emp_port    seed = emp_tf_op2(tf, "Fill", NULL, sizes, one);
    if (emp_tf_is_ok(tf)) {
        emp_tf_loop_set_stacks(tf, w.first_output, w.popped, w.op_count);
        mark_between(tf, &w, loss, xs, count);
        add_grad(tf, &w, loss, emp_tf_dense(seed));
        w.queue[w.queue_tail++] = loss.op;
    }
    while (w.queue_head < w.queue_tail && emp_tf_is_ok(tf)) {
        visit(tf, &w, w.queue[w.queue_head++]);
    }
    for (int32_t i = 0; i < count && emp_tf_is_ok(tf); i++) {
        int32_t entry = w.head[w.first_output[xs[i].op] + xs[i].index];
        if (entry >= 0) grads[i] = w.pool[entry].grad;
    }
    emp_tf_leave(tf, outer);
    tf->stacks = (emp_tf_stacks){0};
    emp_arrays_clear(&w.arrays);
    emp_free(w.pool);
    emp_free(w.terms);
}
