// SPDX-License-Identifier: GPL-3.0-or-later
// Convolutions, pools, norms, recurrent layers, attention.
#include <string.h>

#include "graphs/import/onnx/lower.h"

enum { MAX_SPATIAL = 3 };

/* ---- windows ---- */

/* Strides, dilations and pads of a node with windows over x. */
static bool read_windows(emp_onnx_call *c, const emp_shape *x, const int64_t *kernel,
                         emp_op_attrs *attrs)
{
    int64_t list[2 * MAX_SPATIAL];
    int32_t spatial = x->rank - 2;
    bool    is_same = emp_onnx_word_is(c, "auto_pad", "SAME_UPPER") ||
                   emp_onnx_word_is(c, "auto_pad", "SAME_LOWER");

    if (spatial < 1 || spatial > MAX_SPATIAL) {
        emp_onnx_refuse(c, "windows over a tensor of rank %d, need 3 to 5", x->rank);
        return false;
    }
    for (int32_t d = 0; d < MAX_SPATIAL; d++) attrs->strides[d] = attrs->dilations[d] = 1;
    int32_t count = emp_onnx_ints(c, "strides", -1, list, MAX_SPATIAL);
    for (int32_t d = 0; d < count; d++)
        attrs->strides[d] = (int32_t)(list[d] & INT32_MAX);
    count = emp_onnx_ints(c, "dilations", -1, list, MAX_SPATIAL);
    for (int32_t d = 0; d < count; d++)
        attrs->dilations[d] = (int32_t)(list[d] & INT32_MAX);
    count = emp_onnx_ints(c, "pads", -1, list, 2 * MAX_SPATIAL);
    for (int32_t d = 0; d < spatial; d++) {
        int64_t stride = attrs->strides[d] > 0 ? attrs->strides[d] : 1;
        attrs->ksize[d] = (int32_t)(kernel[d] & INT32_MAX);
        if (count == 2 * spatial && !is_same) {
            attrs->pads[d] = (int32_t)list[d];
            attrs->pads_after[d] = (int32_t)list[spatial + d];
        } else if (is_same) {
            int64_t size = x->dim[2 + d], out = (size + stride - 1) / stride;
            int64_t reach = (kernel[d] - 1) * attrs->dilations[d] + 1;
            int64_t pads = (out - 1) * stride + reach - size;
            attrs->pads[d] = pads > 0 && pads < INT32_MAX ? (int32_t)(pads / 2) : 0;
            attrs->pads_after[d] =
                pads > 0 && pads < INT32_MAX ? (int32_t)(pads - pads / 2) : 0;
        }
    }
    return true;
}

/* Whether both weights have names that PyTorch gives to what it computes when it folds a batch
 * norm into the convolution before it: "onnx::Conv_497". */
static bool has_folded_norm(const emp_onnx_call *c)
{
    const emp_onnx_value *w = emp_onnx_in(c, 1), *b = emp_onnx_in(c, 2);

    return w != NULL && b != NULL && w->is_trainable && b->is_trainable &&
           emp_slice_starts(w->name, "onnx::Conv") &&
           emp_slice_starts(b->name, "onnx::Conv");
}

/* FusedBatchNorm of x with channels second, whatever its rank. */
static emp_port batch_norm(emp_onnx_call *c, emp_port x, const emp_port *weights)
{
    if (x.op < 0 || !emp_tf_is_ok(c->o->tf)) return EMP_TF_NONE;
    emp_shape    shape = emp_tf_shape(c->o->tf, x), image = shape;
    emp_op_attrs attrs = {.is_nchw = true, .is_inference = !c->o->is_training};

    if (shape.rank < 2) {
        emp_onnx_refuse(c, "a batch norm of a tensor of rank %d", shape.rank);
        return EMP_TF_NONE;
    }
    if (shape.rank != 4) {
        int64_t pixels = 1;
        for (int32_t d = 2; d < shape.rank; d++)
            if (__builtin_mul_overflow(pixels, shape.dim[d], &pixels)) pixels = 1;
        image = EMP_SHAPE(shape.dim[0], shape.dim[1], pixels, 1);
        x = emp_onnx_reshape(c, x, image);
    }
    emp_port y =
        emp_onnx_emit(c, "FusedBatchNorm", &attrs,
                      EMP_TF_PORTS(x, weights[0], weights[1], weights[2], weights[3]));
    return shape.rank != 4 ? emp_onnx_reshape(c, y, shape) : y;
}

static void conv(emp_onnx_call *c, const char *word)
{
    emp_shape    x = emp_onnx_in_shape(c, 0);
    bool         is_quantized = strcmp(word, "QLinearConv") == 0;
    int32_t      w = is_quantized ? 3 : 1, b = is_quantized ? 8 : 2;
    emp_shape    filter = emp_onnx_in_shape(c, w);
    emp_op_attrs attrs = {.group = (int32_t)(emp_onnx_int(c, "group", 1) & INT32_MAX)};
    int64_t      kernel[EMP_MAX_RANK] = {0};

    for (int32_t d = 2; d < filter.rank; d++) kernel[d - 2] = filter.dim[d];
    if (!read_windows(c, &x, kernel, &attrs)) return;
    emp_port input[3] = {emp_onnx_in_port(c, 0), emp_onnx_in_port(c, w)};
    int32_t  count = 2;
    if (strcmp(word, "ConvInteger") == 0) attrs.dtype = EMP_DTYPE_INT32, b = -1;
    if (c->o->is_training && has_folded_norm(c)) {
        emp_port  y = emp_onnx_emit(c, "Conv", &attrs, input, 2);
        emp_shape channels = EMP_SHAPE(filter.dim[0]);
        emp_port  norm[] = {emp_onnx_add_weight(c, "gamma", channels, true),
                            emp_onnx_in_port(c, 2),
                            emp_onnx_add_weight(c, "running_mean", channels, false),
                            emp_onnx_add_weight(c, "running_var", channels, false)};
        emp_import_notes_assume(
            c->o->notes, "batch norms that PyTorch has folded into convolutions are "
                         "taken out again");
        emp_onnx_out(c, 0, batch_norm(c, y, norm));
        return;
    }
    if (emp_onnx_in(c, b) != NULL) input[count++] = emp_onnx_in_port(c, b);
    emp_onnx_out(c, 0, emp_onnx_emit(c, "Conv", &attrs, input, count));
}

static void conv_transpose(emp_onnx_call *c, const char *word)
{
    emp_shape    x = emp_onnx_in_shape(c, 0), filter = emp_onnx_in_shape(c, 1), shape = x;
    emp_op_attrs attrs = {.group = (int32_t)(emp_onnx_int(c, "group", 1) & INT32_MAX)};
    int64_t      kernel[EMP_MAX_RANK] = {0}, more[MAX_SPATIAL] = {0}, sizes[MAX_SPATIAL];

    for (int32_t d = 2; d < filter.rank; d++) kernel[d - 2] = filter.dim[d];
    if (!read_windows(c, &x, kernel, &attrs)) return;
    if (filter.rank != x.rank) {
        emp_onnx_refuse(c, "a filter of rank %d for a tensor of rank %d", filter.rank,
                        x.rank);
        return;
    }
    emp_onnx_ints(c, "output_padding", -1, more, MAX_SPATIAL);
    bool is_sized =
        emp_onnx_ints(c, "output_shape", -1, sizes, MAX_SPATIAL) == x.rank - 2;
    shape.dim[1] = filter.dim[1] * (attrs.group > 0 ? attrs.group : 1);
    for (int32_t d = 0; d < x.rank - 2; d++) {
        int64_t reach = (kernel[d] - 1) * attrs.dilations[d] + 1;
        shape.dim[2 + d] = (x.dim[2 + d] - 1) * attrs.strides[d] + more[d] + reach -
                           attrs.pads[d] - attrs.pads_after[d];
        if (is_sized) shape.dim[2 + d] = sizes[d];
        if (shape.dim[2 + d] < 0 || shape.dim[2 + d] > INT32_MAX)
            emp_onnx_refuse(c, "its image would have a size of %lld",
                            (long long)shape.dim[2 + d]);
    }
    attrs.shape = shape;
    attrs.has_shape = true;
    emp_port y = emp_onnx_emit(
        c, word, &attrs, EMP_TF_PORTS(emp_onnx_in_port(c, 0), emp_onnx_in_port(c, 1)));
    if (emp_onnx_in(c, 2) != NULL) {
        emp_shape column = {.rank = x.rank - 1, .dim = {shape.dim[1]}};
        for (int32_t d = 1; d < column.rank; d++) column.dim[d] = 1;
        y = emp_onnx_emit2(c, "Add", y,
                           emp_onnx_reshape(c, emp_onnx_in_port(c, 2), column));
    }
    emp_onnx_out(c, 0, y);
}

/* With ceil_mode the last window may hang over. */
static void pool(emp_onnx_call *c, const char *word)
{
    emp_shape    x = emp_onnx_in_shape(c, 0);
    emp_op_attrs attrs = {0};
    int64_t      kernel[MAX_SPATIAL] = {1, 1, 1};
    bool         is_max = strcmp(word, "MaxPoolNd") == 0;

    emp_onnx_ints(c, "kernel_shape", -1, kernel, MAX_SPATIAL);
    if (!read_windows(c, &x, kernel, &attrs)) return;
    for (int32_t d = 0; emp_onnx_int(c, "ceil_mode", 0) != 0 && d < x.rank - 2; d++) {
        int64_t reach = (kernel[d] - 1) * attrs.dilations[d] + 1;
        int64_t stride = attrs.strides[d] > 0 ? attrs.strides[d] : 1;
        int64_t over =
            (x.dim[2 + d] + attrs.pads[d] + attrs.pads_after[d] - reach) % stride;
        if (over > 0) attrs.pads_after[d] += (int32_t)(stride - over);
    }
    attrs.count = is_max && (c->o->is_training || c->node->output_count > 1) ? 2 : 1;
    emp_port in = emp_onnx_in_port(c, 0), y = emp_onnx_emit(c, word, &attrs, &in, 1);
    emp_onnx_out(c, 0, y);
    if (is_max) emp_onnx_out(c, 1, (emp_port){y.op, attrs.count - 1});
}

static void global_pool(emp_onnx_call *c, const char *word)
{
    emp_shape x = emp_onnx_in_shape(c, 0);

    if (x.rank < 3) {
        emp_onnx_refuse(c, "a pool over a tensor of rank %d, need 3 or more", x.rank);
        return;
    }
    emp_onnx_out(c, 0,
                 emp_onnx_reduce(c, word, emp_onnx_in_port(c, 0),
                                 ((1U << x.rank) - 1) & ~3U, true));
}

/* ---- norms ---- */

static void batch_normalization(emp_onnx_call *c, const char *word)
{
    emp_port weights[4];

    (void)word;
    for (int32_t i = 0; i < 4; i++) weights[i] = emp_onnx_in_port(c, 1 + i);
    emp_onnx_out(c, 0, batch_norm(c, emp_onnx_in_port(c, 0), weights));
    for (int32_t i = 1; i < c->node->output_count && i < 5; i++) {
        emp_onnx_value *statistic = emp_onnx_in(c, i < 3 ? 2 + i : i);
        if (statistic != NULL) emp_onnx_out_value(c, i, statistic);
    }
}

/* x, a scale, perhaps an offset. */
static void row_norm(emp_onnx_call *c, const char *word)
{
    emp_port input[3] = {emp_onnx_in_port(c, 0), emp_onnx_in_port(c, 1)};
    bool     has_bias = strcmp(word, "RMSNorm") != 0 && emp_onnx_in(c, 2) != NULL;

    if (has_bias) input[2] = emp_onnx_in_port(c, 2);
    emp_onnx_out(c, 0, emp_onnx_emit(c, word, NULL, input, has_bias ? 3 : 2));
}

/* com.microsoft's: the sum of two inputs (and a bias), normalised; the sum is output 3. */
static void skip_norm(emp_onnx_call *c, const char *word)
{
    bool     is_rms = strcmp(word, "RMSNorm") == 0;
    emp_port sum =
        emp_onnx_emit2(c, "Add", emp_onnx_in_port(c, 0), emp_onnx_in_port(c, 1));
    emp_port input[3] = {sum, emp_onnx_in_port(c, 2)};
    int32_t  bias = is_rms ? 3 : 4, count = 2;

    if (emp_onnx_in(c, bias) != NULL)
        input[0] = sum = emp_onnx_emit2(c, "Add", sum, emp_onnx_in_port(c, bias));
    if (!is_rms && emp_onnx_in(c, 3) != NULL) input[count++] = emp_onnx_in_port(c, 3);
    emp_onnx_out(c, 0, emp_onnx_emit(c, word, NULL, input, count));
    emp_onnx_out(c, 3, sum);
}

static void lp_normalization(emp_onnx_call *c, const char *word)
{
    emp_shape x = emp_onnx_in_shape(c, 0);
    int32_t   axis = emp_onnx_axis(c, emp_onnx_int(c, "axis", -1), x.rank);
    emp_port  in = emp_onnx_in_port(c, 0), square = emp_onnx_emit1(c, "Square", in);
    emp_port  sums = emp_onnx_reduce(c, "Sum", square, 1U << axis, true);

    emp_onnx_out(c, 0, emp_onnx_emit2(c, word, in, emp_onnx_emit1(c, "Sqrt", sums)));
}

static void bias_gelu(emp_onnx_call *c, const char *word)
{
    emp_port sum =
        emp_onnx_emit2(c, "Add", emp_onnx_in_port(c, 0), emp_onnx_in_port(c, 1));

    emp_onnx_out(c, 0, emp_onnx_emit1(c, word, sum));
}

static void lrn(emp_onnx_call *c, const char *word)
{
    emp_onnx_out(c, 0, emp_onnx_emit1(c, word, emp_onnx_in_port(c, 0)));
}

/* ---- recurrent layers ---- */

static void recurrent(emp_onnx_call *c, const char *word)
{
    emp_port     input[4] = {emp_onnx_in_port(c, 0), emp_onnx_in_port(c, 1),
                             emp_onnx_in_port(c, 2)};
    emp_op_attrs attrs = {.count = strcmp(word, "LSTM") == 0 ? 3 : 2};
    int32_t      count = 3;
    bool         is_batch_first = emp_onnx_int(c, "layout", 0) != 0;

    if (is_batch_first) {
        emp_onnx_refuse(c, "layout 1 is not supported, only steps first");
        return;
    }
    if (emp_onnx_in(c, 3) != NULL) input[count++] = emp_onnx_in_port(c, 3);
    emp_port y = emp_onnx_emit(c, word, &attrs, input, count);
    for (int32_t i = 0; i < attrs.count; i++)
        emp_onnx_out(c, i, (emp_port){y.op, y.op < 0 ? 0 : i});
}

const emp_onnx_rule emp_onnx_layer_rules[] = {
    {"AveragePool", pool, "AvgPoolNd"},
    {"BatchNormalization", batch_normalization, NULL},
    {"BiasGelu", bias_gelu, "Gelu"},
    {"Conv", conv, "Conv"},
    {"ConvInteger", conv, "ConvInteger"},
    {"ConvTranspose", conv_transpose, "ConvTranspose"},
    {"GRU", recurrent, "GRU"},
    {"GlobalAveragePool", global_pool, "Mean"},
    {"GlobalLpPool", global_pool, "Sum"},
    {"GlobalMaxPool", global_pool, "Max"},
    {"GroupNormalization", row_norm, "LayerNorm"},
    {"InstanceNormalization", row_norm, "LayerNorm"},
    {"LRN", lrn, "LRN"},
    {"LSTM", recurrent, "LSTM"},
    {"LayerNormalization", row_norm, "LayerNorm"},
    {"LpNormalization", lp_normalization, "RealDiv"},
    {"LpPool", pool, "AvgPoolNd"},
    {"MaxPool", pool, "MaxPoolNd"},
    {"MeanVarianceNormalization", lrn, "LRN"},
    {"QLinearConv", conv, "QLinearConv"},
    {"RMSNormalization", row_norm, "RMSNorm"},
    {"RNN", recurrent, "RNN"},
    {"SimplifiedLayerNormalization", row_norm, "RMSNorm"},
    {"SkipLayerNormalization", skip_norm, "LayerNorm"},
    {"SkipSimplifiedLayerNormalization", skip_norm, "RMSNorm"},
    {0}};
