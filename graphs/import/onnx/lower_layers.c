// SPDX-License-Identifier: GPL-3.0-or-later
// Convolutions, pools, norms, recurrent layers, attention.
#include <string.h>

#include "graphs/import/onnx/lower.h"

enum { MAX_SPATIAL = 3 };

/* ---- windows ---- */

/* Reads the integers of an attribute, of which there must be `count`, each from `least` on. Without the
 * attribute they stay as they are. False: refused. */
static bool read_list(emp_onnx_call *c, const char *name, int32_t count, int64_t least,
                      int32_t *out)
{
    int64_t       list[2 * MAX_SPATIAL + 1];
    const int32_t found = emp_onnx_ints(c, name, -1, list, 2 * MAX_SPATIAL + 1);

    if (found < 0) return true;
    if (found != count) {
        emp_onnx_refuse(c, "%s has %d numbers, need %d", name, found, count);
        return false;
    }
    for (int32_t i = 0; i < count; i++) {
        if (list[i] < least || list[i] > INT32_MAX) {
            emp_onnx_refuse(c, "%s has %lld, need %lld to %d", name, (long long)list[i],
                            (long long)least, INT32_MAX);
            return false;
        }
        out[i] = (int32_t)list[i];
    }
    return true;
}

/* Pads so that there is a window for each stride. */
static void pad_same(emp_op_attrs *attrs, int32_t d, int64_t size)
{
    int64_t stride = attrs->strides[d];

    if (size < 0 || size > INT32_MAX) return;
    int64_t out = (size + stride - 1) / stride;
    int64_t reach = ((int64_t)attrs->ksize[d] - 1) * attrs->dilations[d] + 1;
    int64_t pads = (out - 1) * stride + reach - size;

    if (pads <= 0 || pads >= INT32_MAX) return;
    attrs->pads[d] = (int32_t)(pads / 2);
    attrs->pads_after[d] = (int32_t)(pads - pads / 2);
}

/* Strides, dilations and pads of a node whose windows over x have the size `ksize`. */
static bool read_windows(emp_onnx_call *c, const emp_shape *x, emp_op_attrs *attrs)
{
    int32_t pads[2 * MAX_SPATIAL] = {0};
    int32_t spatial = x->rank - 2;
    bool    is_same = emp_onnx_word_is(c, "auto_pad", "SAME_UPPER") ||
                   emp_onnx_word_is(c, "auto_pad", "SAME_LOWER");

    for (int32_t d = 0; d < MAX_SPATIAL; d++) attrs->strides[d] = attrs->dilations[d] = 1;
    if (!read_list(c, "strides", spatial, 1, attrs->strides) ||
        !read_list(c, "dilations", spatial, 1, attrs->dilations) ||
        (!is_same && !emp_onnx_word_is(c, "auto_pad", "VALID") &&
         !read_list(c, "pads", 2 * spatial, -INT32_MAX, pads)))
        return false;
    for (int32_t d = 0; d < spatial; d++) {
        attrs->pads[d] = pads[d];
        attrs->pads_after[d] = pads[spatial + d];
        if (is_same) pad_same(attrs, d, x->dim[2 + d]);
    }
    return true;
}

static bool has_channels_last(const emp_onnx_call *c)
{
    return emp_onnx_int(c, "channels_last", 0) != 0 ||
           emp_slice_is(c->node->domain, "com.ms.internal.nhwc") ||
           emp_slice_starts(c->node->type, "Nhwc");
}

/* The kernels of a runtime that keep channels last compute the same: tensors are seen under another
 * shape, at no cost. */
static emp_port onnx_channels_second(emp_onnx_call *c, int32_t i, emp_shape *shape)
{
    emp_port x = emp_onnx_in_port(c, i);

    *shape = emp_onnx_in_shape(c, i);
    if (!has_channels_last(c) || shape->rank < 3) return x;
    int64_t channels = shape->dim[shape->rank - 1];
    for (int32_t d = shape->rank - 1; d > 1; d--) shape->dim[d] = shape->dim[d - 1];
    shape->dim[1] = channels;
    const bool had_name = c->has_name; /* the node's name belongs to its arithmetic */
    c->has_name = true;
    x = emp_onnx_reshape(c, x, *shape);
    c->has_name = had_name;
    return x;
}

/* Makes the result with channels second the first output, with channels last where inputs are so. */
static void onnx_out_channels(emp_onnx_call *c, emp_port y)
{
    if (has_channels_last(c) && y.op >= 0 && emp_tf_is_ok(c->o->tf)) {
        emp_shape shape = emp_tf_shape(c->o->tf, y);
        int64_t   channels = shape.rank > 1 ? shape.dim[1] : 1;
        for (int32_t d = 1; d + 1 < shape.rank; d++) shape.dim[d] = shape.dim[d + 1];
        if (shape.rank > 1) shape.dim[shape.rank - 1] = channels;
        y = emp_onnx_reshape(c, y, shape);
    }
    emp_onnx_out(c, 0, y);
}

static bool is_rank_of_windows(emp_onnx_call *c, const emp_shape *x)
{
    if (x->rank >= 3 && x->rank <= 2 + MAX_SPATIAL) return true;
    emp_onnx_refuse(c, "windows over a tensor of rank %d, need 3 to 5", x->rank);
    return false;
}

/* The size of the windows is the filter's, which kernel_shape may repeat. A size that depends on data is 0. */
static bool read_filter(emp_onnx_call *c, const emp_shape *filter, int32_t spatial,
                        emp_op_attrs *attrs)
{
    int64_t group = emp_onnx_int(c, "group", 1);

    if (filter->rank >= 0 && filter->rank != spatial + 2) {
        emp_onnx_refuse(c, "a filter of rank %d for a tensor of rank %d", filter->rank,
                        spatial + 2);
        return false;
    }
    if (group < 1 || group > INT32_MAX ||
        (filter->rank > 0 && filter->dim[0] > 0 && filter->dim[0] % group != 0)) {
        emp_onnx_refuse(c, "group is %lld for a filter whose first size is %lld",
                        (long long)group,
                        filter->rank > 0 ? (long long)filter->dim[0] : -1);
        return false;
    }
    attrs->group = (int32_t)group;
    if (!read_list(c, "kernel_shape", spatial, 1, attrs->ksize)) return false;
    for (int32_t d = 0; filter->rank > 0 && d < spatial; d++) {
        const int64_t size = filter->dim[2 + d];
        if (size < 0) continue;
        if (size == 0 || size > INT32_MAX ||
            (attrs->ksize[d] > 0 && attrs->ksize[d] != size)) {
            emp_onnx_refuse(c, "a filter of size %lld, and kernel_shape has %d",
                            (long long)size, attrs->ksize[d]);
            return false;
        }
        attrs->ksize[d] = (int32_t)size;
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

/* FusedBatchNorm of x with channels second, whatever its rank; a vector has one channel. */
static emp_port batch_norm(emp_onnx_call *c, emp_port x, const emp_port *weights)
{
    if (x.op < 0 || !emp_tf_is_ok(c->o->tf)) return EMP_TF_NONE;
    emp_shape    shape = emp_tf_shape(c->o->tf, x), image = shape;
    emp_op_attrs attrs = {.is_nchw = true, .is_inference = !c->o->is_training};

    if (shape.rank < 1) {
        emp_onnx_refuse(c, "a batch norm of a tensor of rank %d", shape.rank);
        return EMP_TF_NONE;
    }
    if (shape.rank != 4) {
        int64_t channels = shape.rank > 1 ? shape.dim[1] : 1, pixels = 1;
        for (int32_t d = 2; d < shape.rank; d++)
            if (__builtin_mul_overflow(pixels, shape.dim[d], &pixels)) pixels = 1;
        image = EMP_SHAPE(shape.dim[0], channels, pixels, 1);
        x = emp_onnx_reshape(c, x, image);
    }
    emp_port y =
        emp_onnx_emit(c, "FusedBatchNorm", &attrs,
                      EMP_TF_PORTS(x, weights[0], weights[1], weights[2], weights[3]));
    return shape.rank != 4 ? emp_onnx_reshape(c, y, shape) : y;
}

/* The batch norm that PyTorch has folded into a convolution, taken out again. */
static emp_port unfold_norm(emp_onnx_call *c, emp_port y, int64_t channel_count)
{
    emp_shape channels = EMP_SHAPE(channel_count);
    emp_port  norm[] = {emp_onnx_add_weight(c, "gamma", channels, true),
                        emp_onnx_in_port(c, 2),
                        emp_onnx_add_weight(c, "running_mean", channels, false),
                        emp_onnx_add_weight(c, "running_var", channels, false)};

    emp_import_notes_assume(
        c->o->notes,
        "batch norms that PyTorch has folded into convolutions are taken out again");
    return batch_norm(c, y, norm);
}

/* Views the input with as many channels as the filter reads: blocks of channels are filled up. */
static emp_port fill_block(emp_onnx_call *c, emp_port x, emp_shape *shape,
                           const emp_shape *filter)
{
    const int64_t group = emp_onnx_int(c, "group", 1);
    int64_t       channels;

    if (!emp_slice_is(c->node->domain, "com.microsoft.nchwc") || filter->rank < 2 ||
        __builtin_mul_overflow(filter->dim[1], group, &channels) ||
        channels <= shape->dim[1])
        return x;
    shape->dim[1] = channels;
    const bool had_name = c->has_name;
    c->has_name = true;
    x = emp_onnx_emit_shaped(c, "View", *shape, EMP_DTYPE_NONE, &x, 1);
    c->has_name = had_name;
    return x;
}

/* Quantised convolutions have scales and zero points between; those that a runtime has fused have
 * a tensor to add and an activation. */
static void conv(emp_onnx_call *c, const char *word)
{
    emp_shape    x;
    emp_port     in = onnx_channels_second(c, 0, &x);
    bool         is_quantized = strcmp(word, "QLinearConv") == 0;
    int32_t      w = is_quantized ? 3 : 1, b = is_quantized ? 8 : 2;
    emp_shape    filter = emp_onnx_in_shape(c, w);
    emp_op_attrs attrs = {0};

    if (!is_rank_of_windows(c, &x) || !read_filter(c, &filter, x.rank - 2, &attrs) ||
        !read_windows(c, &x, &attrs))
        return;
    in = fill_block(c, in, &x, &filter);
    emp_port input[3] = {in, emp_onnx_in_port(c, w)};
    int32_t  count = 2;
    bool     is_integer = strcmp(word, "ConvInteger") == 0;
    if (is_integer) attrs.dtype = EMP_DTYPE_INT32, b = -1;
    if (is_quantized && emp_onnx_in(c, 7) != NULL) attrs.dtype = emp_onnx_in(c, 7)->dtype;
    if (c->o->is_training && has_folded_norm(c)) {
        emp_port y = emp_onnx_emit(c, "Conv", &attrs, input, 2);
        emp_onnx_out(c, 0, unfold_norm(c, y, filter.dim[0]));
        return;
    }
    if (emp_onnx_in(c, b) != NULL) input[count++] = emp_onnx_in_port(c, b);
    emp_port y = emp_onnx_emit(c, "Conv", &attrs, input, count);
    if (!is_quantized && !is_integer && emp_onnx_in(c, 3) != NULL) {
        emp_shape added;
        y = emp_onnx_emit2(c, "Add", y, onnx_channels_second(c, 3, &added));
    }
    onnx_out_channels(c, emp_onnx_activated(c, y));
}

/* A convolution whose filter reads the image at places of its own: what is read there, then a
 * convolution without overlap. */
static void deform_conv(emp_onnx_call *c, const char *word)
{
    emp_shape    x = emp_onnx_in_shape(c, 0), filter = emp_onnx_in_shape(c, 1), read = x;
    emp_shape    offset = emp_onnx_in_shape(c, 2);
    emp_op_attrs attrs = {0}, apart;

    if (x.rank != 4 || offset.rank != 4) {
        emp_onnx_refuse(c, "a tensor of rank %d and offsets of rank %d, need 4", x.rank,
                        offset.rank);
        return;
    }
    if (!read_filter(c, &filter, 2, &attrs) || !read_windows(c, &x, &attrs)) return;
    for (int32_t d = 0; d < 2; d++)
        if (__builtin_mul_overflow(offset.dim[2 + d], (int64_t)attrs.ksize[d],
                                   &read.dim[2 + d]))
            emp_onnx_refuse(c, "offsets of a size of %lld", (long long)offset.dim[2 + d]);
    emp_port input[3] = {emp_onnx_in_port(c, 0), emp_onnx_in_port(c, 2)};
    int32_t  count = 2;
    if (emp_onnx_in(c, 4) != NULL) input[count++] = emp_onnx_in_port(c, 4);
    c->has_name = true; /* the convolution has the node's name */
    emp_port sampled =
        emp_onnx_emit_shaped(c, "GridSample", read, EMP_DTYPE_NONE, input, count);
    c->has_name = false;
    apart = (emp_op_attrs){.group = attrs.group};
    for (int32_t d = 0; d < MAX_SPATIAL; d++) {
        apart.dilations[d] = 1;
        apart.strides[d] = apart.ksize[d] = d < 2 ? attrs.ksize[d] : 1;
    }
    input[0] = sampled;
    input[1] = emp_onnx_in_port(c, 1);
    count = 2;
    if (emp_onnx_in(c, 3) != NULL) input[count++] = emp_onnx_in_port(c, 3);
    emp_onnx_out(c, 0, emp_onnx_emit(c, word, &apart, input, count));
}

/* Depthwise along one axis, of what came before and what comes now; the end is the next state. */
static void causal_conv(emp_onnx_call *c, const char *word)
{
    emp_shape    x = emp_onnx_in_shape(c, 0), filter = emp_onnx_in_shape(c, 1);
    emp_op_attrs attrs = {0};

    if (x.rank != 3 || filter.rank != 3 || x.dim[1] < 1 || x.dim[1] > INT32_MAX ||
        filter.dim[2] < 1) {
        emp_onnx_refuse(c, "a tensor of rank %d and a filter of rank %d, need 3", x.rank,
                        filter.rank);
        return;
    }
    if (!read_filter(c, &filter, 1, &attrs) || !read_windows(c, &x, &attrs)) return;
    attrs.group = (int32_t)x.dim[1];
    emp_shape state = EMP_SHAPE(x.dim[0], x.dim[1], filter.dim[2] - 1);
    emp_dtype dtype = emp_onnx_in(c, 0)->dtype;
    emp_port  past = emp_onnx_in(c, 3) != NULL
                         ? emp_onnx_in_port(c, 3)
                         : emp_tf_const(c->o->tf, NULL, "past", dtype, state, NULL, 0);
    c->has_name = true; /* the convolution has the node's name */
    emp_port all = emp_onnx_emit(c, "ConcatV2", &(emp_op_attrs){.count = 2},
                                 EMP_TF_PORTS(past, emp_onnx_in_port(c, 0),
                                              emp_tf_int(c->o->tf, NULL, "axis", 2)));
    c->has_name = false;
    emp_port input[3] = {all, emp_onnx_in_port(c, 1)};
    int32_t  count = 2;
    if (emp_onnx_in(c, 2) != NULL) input[count++] = emp_onnx_in_port(c, 2);
    emp_port y = emp_onnx_emit(c, word, &attrs, input, count);
    if (emp_onnx_word_is(c, "activation", "silu") ||
        emp_onnx_word_is(c, "activation", "swish"))
        y = emp_onnx_emit1(c, "Silu", y);
    emp_onnx_out(c, 0, y);
    if (c->node->output_count < 2) return;
    const int64_t begin[] = {0, 0, x.dim[2]};
    emp_onnx_out(c, 1,
                 emp_onnx_emit(c, "Slice", NULL,
                               EMP_TF_PORTS(all, emp_onnx_int_vector(c, begin, 3),
                                            emp_onnx_int_vector(c, state.dim, 3))));
}

/* The size of what a window is spread from, as ONNX Runtime computes it: pads that SAME asks for
 * take nothing from a size which is smaller than the input times the stride. */
static int64_t spread_size(const emp_op_attrs *attrs, int32_t d, int64_t size,
                           int64_t more, bool is_same)
{
    int64_t reach = ((int64_t)attrs->ksize[d] - 1) * attrs->dilations[d] + 1;
    int64_t same = emp_onnx_times(size < 0 ? 0 : size, attrs->strides[d]);
    int64_t whole = emp_onnx_plus(same, more + reach - attrs->strides[d]);

    if (is_same) return whole < same ? whole : same;
    return whole - attrs->pads[d] - attrs->pads_after[d];
}

static void conv_transpose(emp_onnx_call *c, const char *word)
{
    emp_shape    x = emp_onnx_in_shape(c, 0), filter = emp_onnx_in_shape(c, 1), shape = x;
    emp_op_attrs attrs = {0};
    int32_t      more[MAX_SPATIAL] = {0};
    int64_t      sizes[MAX_SPATIAL + 2];

    if (!is_rank_of_windows(c, &x) || !read_filter(c, &filter, x.rank - 2, &attrs) ||
        !read_windows(c, &x, &attrs) ||
        !read_list(c, "output_padding", x.rank - 2, 0, more))
        return;
    if (filter.rank != x.rank) {
        emp_onnx_refuse(c, "the rank of its filter is not known");
        return;
    }
    bool is_same = emp_onnx_word_is(c, "auto_pad", "SAME_UPPER") ||
                   emp_onnx_word_is(c, "auto_pad", "SAME_LOWER");
    int32_t given = emp_onnx_ints(c, "output_shape", -1, sizes, MAX_SPATIAL + 2);
    bool    is_sized = given == x.rank - 2 || given == x.rank;
    shape.dim[1] = filter.dim[1] * attrs.group;
    for (int32_t d = 0; d < x.rank - 2; d++) {
        shape.dim[2 + d] = is_sized
                               ? sizes[given - (x.rank - 2) + d]
                               : spread_size(&attrs, d, x.dim[2 + d], more[d], is_same);
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

/* With ceil_mode the last window may hang over, but not begin in the padding behind the image. */
static void hang_over(emp_op_attrs *attrs, int32_t d, int64_t size)
{
    int64_t reach = ((int64_t)attrs->ksize[d] - 1) * attrs->dilations[d] + 1;
    int64_t stride = attrs->strides[d];
    if (size < 0 || size > INT32_MAX) return;
    int64_t span = size + attrs->pads[d] + attrs->pads_after[d] - reach;
    int64_t over = span % stride, begin = span - over + stride;

    if (span < 0 || over == 0 || begin >= size + attrs->pads[d]) return;
    if (attrs->pads_after[d] <= INT32_MAX - stride)
        attrs->pads_after[d] += (int32_t)(stride - over);
}

static void pool(emp_onnx_call *c, const char *word)
{
    emp_shape    x;
    emp_port     in = onnx_channels_second(c, 0, &x);
    emp_op_attrs attrs = {0};
    bool         is_max = strcmp(word, "MaxPoolNd") == 0;

    if (!is_rank_of_windows(c, &x) ||
        !read_list(c, "kernel_shape", x.rank - 2, 1, attrs.ksize) ||
        !read_windows(c, &x, &attrs))
        return;
    if (attrs.ksize[0] == 0) {
        emp_onnx_refuse(c, "kernel_shape is missing");
        return;
    }
    for (int32_t d = 0; emp_onnx_int(c, "ceil_mode", 0) != 0 && d < x.rank - 2; d++)
        hang_over(&attrs, d, x.dim[2 + d]);
    attrs.count = is_max && (c->o->is_training || c->node->output_count > 1) ? 2 : 1;
    emp_port y = emp_onnx_emit(c, word, &attrs, &in, 1);
    onnx_out_channels(c, y);
    if (is_max) emp_onnx_out(c, 1, (emp_port){y.op, attrs.count - 1});
}

/* The reverse of MaxPool: each element goes to where the maximum was. */
static void max_unpool(emp_onnx_call *c, const char *word)
{
    emp_shape    x = emp_onnx_in_shape(c, 0), shape = x;
    emp_op_attrs attrs = {0};
    int64_t      sizes[EMP_MAX_RANK];

    if (!is_rank_of_windows(c, &x) ||
        !read_list(c, "kernel_shape", x.rank - 2, 1, attrs.ksize) ||
        !read_windows(c, &x, &attrs))
        return;
    bool is_sized = emp_onnx_ints(c, NULL, 2, sizes, EMP_MAX_RANK) == x.rank;
    if (emp_onnx_in(c, 2) != NULL && !is_sized) {
        emp_onnx_refuse(c, "its sizes depend on data");
        return;
    }
    for (int32_t d = 0; d < x.rank; d++) {
        if (is_sized) shape.dim[d] = sizes[d];
        if (d >= 2 && !is_sized)
            shape.dim[d] = spread_size(&attrs, d - 2, x.dim[d], 0, false);
        if (shape.dim[d] < 0 || shape.dim[d] > INT32_MAX)
            emp_onnx_refuse(c, "its axis %d would have a size of %lld", d,
                            (long long)shape.dim[d]);
    }
    emp_onnx_out(c, 0,
                 emp_onnx_emit_shaped(
                     c, word, shape, EMP_DTYPE_NONE,
                     EMP_TF_PORTS(emp_onnx_in_port(c, 0), emp_onnx_in_port(c, 1))));
}

static void global_pool(emp_onnx_call *c, const char *word)
{
    emp_shape x;
    emp_port  in = onnx_channels_second(c, 0, &x);

    if (x.rank < 3) {
        emp_onnx_refuse(c, "a pool over a tensor of rank %d, need 3 or more", x.rank);
        return;
    }
    onnx_out_channels(c, emp_onnx_reduce(c, word, in, ((1U << x.rank) - 1) & ~3U, true));
}

/* ---- norms ---- */

static void batch_normalization(emp_onnx_call *c, const char *word)
{
    emp_port weights[4];

    (void)word;
    for (int32_t i = 0; i < 4; i++) weights[i] = emp_onnx_in_port(c, 1 + i);
    emp_onnx_out(c, 0, batch_norm(c, emp_onnx_in_port(c, 0), weights));
    for (int32_t i = 1; i < c->node->output_count && i < 5; i++) {
        int32_t from = i < 3 ? 2 + i : i;
        if (emp_onnx_in(c, from) != NULL)
            emp_onnx_out(c, i, emp_onnx_emit1(c, "Identity", emp_onnx_in_port(c, from)));
    }
}

void emp_onnx_out_statistics(emp_onnx_call *c, emp_port x, int32_t axis)
{
    bool is_asked = false;

    for (int32_t i = 1; i < 3 && i < c->node->output_count; i++)
        is_asked = is_asked || c->node->output[i].size > 0;
    if (!is_asked || x.op < 0 || !emp_tf_is_ok(c->o->tf)) return;
    const int32_t rank = emp_tf_shape(c->o->tf, x).rank;
    emp_port      mean =
        emp_onnx_reduce(c, "Mean", x, ((1U << rank) - 1) & ~((1U << axis) - 1), true);
    for (int32_t i = 1; i < 3; i++) emp_onnx_out(c, i, mean);
}

/* x, a scale, perhaps an offset. */
static void row_norm(emp_onnx_call *c, const char *word)
{
    emp_port input[3] = {emp_onnx_in_port(c, 0), emp_onnx_in_port(c, 1)};
    bool     has_bias = strcmp(word, "RMSNorm") != 0 && emp_onnx_in(c, 2) != NULL;

    if (has_bias) input[2] = emp_onnx_in_port(c, 2);
    emp_onnx_out(c, 0, emp_onnx_emit(c, word, NULL, input, has_bias ? 3 : 2));
    if (c->node->output_count < 2) return;
    emp_shape x = emp_onnx_in_shape(c, 0);
    int32_t   axis = emp_onnx_axis(c, emp_onnx_int(c, "axis", -1), x.rank);
    if (!emp_tf_is_ok(c->o->tf)) return;
    emp_onnx_out_statistics(c, input[0], axis);
}

static void lp_normalization(emp_onnx_call *c, const char *word)
{
    emp_shape x = emp_onnx_in_shape(c, 0);
    int32_t   axis = emp_onnx_axis(c, emp_onnx_int(c, "axis", -1), x.rank);
    emp_port  in = emp_onnx_in_port(c, 0), square = emp_onnx_emit1(c, "Square", in);
    emp_port  sums = emp_onnx_reduce(c, "Sum", square, 1U << axis, true);

    emp_onnx_out(c, 0, emp_onnx_emit2(c, word, in, emp_onnx_emit1(c, "Sqrt", sums)));
}

/* ---- recurrent layers ---- */

/* Whether a size is known and another one. */
static bool differs(const emp_shape *shape, int32_t d, int64_t size)
{
    return shape->rank == 3 && shape->dim[d] >= 0 && shape->dim[d] != size;
}

/* The weights W and R [directions, gates * hidden, hidden] say how large the layer is; the attributes must
 * not say otherwise. */
static bool is_recurrent(emp_onnx_call *c, const char *word)
{
    const emp_shape w = emp_onnx_in_shape(c, 1), r = emp_onnx_in_shape(c, 2);
    const int64_t   gates = strcmp(word, "LSTM") == 0  ? 4
                            : strcmp(word, "GRU") == 0 ? 3
                                                       : 1;
    const int64_t directions = emp_onnx_word_is(c, "direction", "bidirectional") ? 2 : 1;
    const int64_t hidden = emp_onnx_int(c, "hidden_size", r.rank == 3 ? r.dim[2] : 1);
    char          text_w[EMP_SHAPE_TEXT_BYTES], text_r[EMP_SHAPE_TEXT_BYTES];

    emp_shape_format(&w, text_w);
    emp_shape_format(&r, text_r);
    if ((w.rank >= 0 && w.rank != 3) || (r.rank >= 0 && r.rank != 3))
        emp_onnx_refuse(c, "weights %s and %s, need rank 3", text_w, text_r);
    else if (differs(&r, 2, hidden) || hidden == 0 || hidden < -1 || hidden > INT32_MAX)
        emp_onnx_refuse(c, "hidden_size is %lld, and its weights are %s",
                        (long long)hidden, text_r);
    else if (differs(&w, 0, directions) || differs(&r, 0, directions))
        emp_onnx_refuse(c, "weights %s and %s, need %lld for the directions", text_w,
                        text_r, (long long)directions);
    else if (hidden > 0 &&
             (differs(&w, 1, gates * hidden) || differs(&r, 1, gates * hidden)))
        emp_onnx_refuse(c, "weights %s and %s, need %lld rows for hidden_size %lld",
                        text_w, text_r, (long long)(gates * hidden), (long long)hidden);
    return emp_tf_is_ok(c->o->tf);
}

static void recurrent(emp_onnx_call *c, const char *word)
{
    static const int64_t steps_first[] = {1, 0, 2}, batch_first[] = {2, 0, 1, 3};
    emp_port             input[7] = {emp_onnx_in_port(c, 0), emp_onnx_in_port(c, 1),
                                     emp_onnx_in_port(c, 2)};
    emp_op_attrs         attrs = {.count = strcmp(word, "LSTM") == 0 ? 3 : 2};
    int32_t              count = 3;
    bool                 is_batch_first = emp_onnx_int(c, "layout", 0) != 0;

    if (emp_onnx_in_shape(c, 0).rank != 3) {
        emp_onnx_refuse(c, "an input of rank %d, need 3", emp_onnx_in_shape(c, 0).rank);
        return;
    }
    if (!is_recurrent(c, word)) return;
    if (is_batch_first) input[0] = emp_onnx_transpose(c, input[0], steps_first);
    if (emp_onnx_in(c, 3) != NULL) input[count++] = emp_onnx_in_port(c, 3);
    for (int32_t i = 5; i < 8; i++) { /* first states, and peepholes */
        const emp_onnx_value *state = emp_onnx_in(c, i);
        if (state == NULL || state->number != NULL) continue; /* zeros, mostly */
        emp_port x = emp_onnx_in_port(c, i);
        input[count++] =
            i < 7 && is_batch_first ? emp_onnx_transpose(c, x, steps_first) : x;
    }
    emp_port y = emp_onnx_emit(c, word, &attrs, input, count);
    for (int32_t i = 0; i < attrs.count; i++) {
        emp_port made = {y.op, y.op < 0 ? 0 : i};
        if (is_batch_first && i < c->node->output_count && c->node->output[i].size > 0)
            made = emp_onnx_transpose(c, made, i == 0 ? batch_first : steps_first);
        emp_onnx_out(c, i, made);
    }
}

const emp_onnx_rule emp_onnx_layer_rules[] = {
    {"AveragePool", pool, "AvgPoolNd"},
    {"BatchNormalization", batch_normalization, NULL},
    {"CausalConvWithState", causal_conv, "Conv"},
    {"Conv", conv, "Conv"},
    {"ConvInteger", conv, "ConvInteger"},
    {"ConvTranspose", conv_transpose, "ConvTranspose"},
    {"DeformConv", deform_conv, "Conv"},
    {"FusedConv", conv, "Conv"},
    {"GRU", recurrent, "GRU"},
    {"GlobalAveragePool", global_pool, "Mean"},
    {"GlobalLpPool", global_pool, "Sum"},
    {"GlobalMaxPool", global_pool, "Max"},
    {"GroupNormalization", row_norm, "LayerNorm"},
    {"InstanceNormalization", row_norm, "LayerNorm"},
    {"LRN", emp_onnx_lower_unary, "LRN"},
    {"LSTM", recurrent, "LSTM"},
    {"LayerNormalization", row_norm, "LayerNorm"},
    {"LpNormalization", lp_normalization, "RealDiv"},
    {"LpPool", pool, "AvgPoolNd"},
    {"MaxPool", pool, "MaxPoolNd"},
    {"MaxUnpool", max_unpool, "MaxUnpoolNd"},
    {"MeanVarianceNormalization", emp_onnx_lower_unary, "LRN"},
    {"NhwcConv", conv, "Conv"},
    {"NhwcFusedConv", conv, "Conv"},
    {"NhwcMaxPool", pool, "MaxPoolNd"},
    {"QLinearAveragePool", pool, "AvgPoolNd"},
    {"QLinearConv", conv, "QLinearConv"},
    {"QLinearGlobalAveragePool", global_pool, "Mean"},
    {"RMSNormalization", row_norm, "RMSNorm"},
    {"RNN", recurrent, "RNN"},
    {"SimplifiedLayerNormalization", row_norm, "RMSNorm"},
    {0}};
