// SPDX-License-Identifier: GPL-3.0-or-later
// Convolutions, pools, normalisation, losses. FLOPs as in TensorFlow's cost estimators;
// kernels and temporary copies as r1.3 launches them on a GPU.

#include "sim/graph/op_entry.h"

/* Positions of the dims of an image batch in its data format. */
typedef struct {
    int32_t height, width, channel;
} image_layout;

static image_layout layout_of(const emp_op_attrs *attrs)
{
    return attrs->is_nchw ? (image_layout){2, 3, 1} : (image_layout){1, 2, 3};
}

static int64_t at_least_1(int32_t size) { return size > 0 ? size : 1; }

/* Positions of a window of `window` elements on dim d, -1 = unknown. */
static int64_t window_positions(const emp_op_attrs *attrs, int32_t d,
                                const emp_shape *image, int64_t window)
{
    int64_t size = image->dim[d], stride = at_least_1(attrs->strides[d]);

    if (!attrs->padding_is_same) return emp_window_positions(attrs, d, size, window);
    return size < 0 || window < 0 ? -1 : size / stride + (size % stride != 0);
}

/* Checks that a tensor can be an image batch; false when its rank is unknown. */
static emp_status check_image(const emp_shape *shape, bool *is_known, emp_error *err)
{
    char text[EMP_SHAPE_TEXT_BYTES];

    *is_known = shape->rank == 4;
    if (shape->rank >= 0 && shape->rank != 4)
        return EMP_ERROR(EMP_EFORMAT, "%s is no batch of images, which has rank 4",
                         emp_shape_format(shape, text));
    return EMP_OK;
}

/* Whether a filter takes an image of so many channels: those of Conv2D may be several groups. */
static bool fits(int64_t channels, int64_t filter, bool is_depthwise)
{
    if (channels < 0 || filter < 0 || channels == filter) return true;
    return !is_depthwise && filter > 0 && channels % filter == 0;
}

/* Conv2D and DepthwiseConv2dNative; the filter is height, width, in of a group, out or multiplier.
 */
static emp_status infer_convolution(const emp_op_view *op, bool is_depthwise,
                                    emp_tensor_info *output, emp_error *err)
{
    const emp_op_attrs *a = op->attrs;
    const emp_shape    *in = &op->input[0].shape, *filter = &op->input[1].shape;
    image_layout        at = layout_of(a);
    emp_shape           shape = emp_shape_of_rank(4);
    bool                has_input, has_filter;
    char                text_a[EMP_SHAPE_TEXT_BYTES], text_b[EMP_SHAPE_TEXT_BYTES];

    emp_set_output(output, shape, emp_view_dtype(op, 0));
    EMP_CHECK(check_image(in, &has_input, err));
    EMP_CHECK(check_image(filter, &has_filter, err));
    if (!has_input) return EMP_OK;
    shape.dim[0] = in->dim[0];
    if (has_filter) {
        int64_t channels = in->dim[at.channel];
        if (!fits(channels, filter->dim[2], is_depthwise))
            return EMP_ERROR(EMP_EFORMAT, "%s has %lld channels, but the filter is %s",
                             emp_shape_format(in, text_a), (long long)channels,
                             emp_shape_format(filter, text_b));
        shape.dim[at.height] = window_positions(a, at.height, in, filter->dim[0]);
        shape.dim[at.width] = window_positions(a, at.width, in, filter->dim[1]);
        shape.dim[at.channel] = filter->dim[3];
        if (is_depthwise && filter->dim[2] >= 0 && filter->dim[3] >= 0)
            shape.dim[at.channel] = emp_mul_saturating(filter->dim[2], filter->dim[3]);
    }
    output->shape = shape;
    return EMP_OK;
}

EMP_INFER(conv2d) { return infer_convolution(op, false, &output[0], err); }

EMP_INFER(depthwise) { return infer_convolution(op, true, &output[0], err); }

EMP_INFER(pool)
{
    const emp_op_attrs *a = op->attrs;
    const emp_shape    *in = &op->input[0].shape;
    image_layout        at = layout_of(a);
    bool                has_input;

    emp_set_output(&output[0], emp_shape_of_rank(4), emp_view_dtype(op, 0));
    EMP_CHECK(check_image(in, &has_input, err));
    if (!has_input) return EMP_OK;
    output[0].shape = *in;
    output[0].shape.dim[at.height] =
        window_positions(a, at.height, in, at_least_1(a->ksize[at.height]));
    output[0].shape.dim[at.width] =
        window_positions(a, at.width, in, at_least_1(a->ksize[at.width]));
    return EMP_OK;
}

/* One size per channel of an image batch. */
static emp_shape channel_vector(const emp_op_view *op, const emp_shape *image)
{
    return EMP_SHAPE(image->rank == 4 ? image->dim[layout_of(op->attrs).channel] : -1);
}

/* y, and four vectors per channel: mean, variance, and two that the gradient reads. */
EMP_INFER(batch_norm)
{
    const emp_shape *x = &op->input[0].shape;

    emp_set_output(&output[0], *x, emp_view_dtype(op, 0));
    for (int32_t i = 1; i < 5; i++)
        emp_set_output(&output[i], channel_vector(op, x), EMP_DTYPE_FLOAT);
    *output_count = 5;
    return EMP_OK;
}

/* With a third reserve space, whose size only cuDNN knows. */
EMP_INFER(batch_norm_v3)
{
    EMP_CHECK(emp_op_infer_batch_norm(op, output, output_count, err));
    emp_set_output(&output[5], EMP_SHAPE(0), EMP_DTYPE_FLOAT);
    *output_count = 6;
    return EMP_OK;
}

/* FusedBatchNormGrad(dy, x, scale, ...): dx, dscale, doffset, and two empty tensors. */
EMP_INFER(batch_norm_grad)
{
    const emp_shape *x = &op->input[op->input[0].shape.rank == 4 ? 0 : 1].shape;

    emp_set_output(&output[0], *x, emp_view_dtype(op, 0));
    for (int32_t i = 1; i < 3; i++)
        emp_set_output(&output[i], channel_vector(op, x), EMP_DTYPE_FLOAT);
    for (int32_t i = 3; i < 5; i++)
        emp_set_output(&output[i], EMP_SHAPE(0), EMP_DTYPE_FLOAT);
    *output_count = 5;
    return EMP_OK;
}

EMP_INFER(bias_add_grad)
{
    const emp_shape *dy = &op->input[0].shape;
    int32_t          channel = op->attrs->is_nchw && dy->rank == 4 ? 1 : dy->rank - 1;

    return emp_set_output(&output[0], EMP_SHAPE(channel >= 0 ? dy->dim[channel] : -1),
                          emp_view_dtype(op, 0));
}

/* The loss of each row of the logits, and its gradient with respect to them. */
EMP_INFER(cross_entropy)
{
    emp_shape logits = op->input[0].shape;

    if (logits.rank < 0)
        logits = op->input[1].shape.rank == 2 ? op->input[1].shape : logits;
    emp_set_output(&output[0], EMP_SHAPE(logits.rank > 0 ? logits.dim[0] : -1),
                   emp_view_dtype(op, 0));
    emp_set_output(&output[1], logits, emp_view_dtype(op, 0));
    *output_count = 2;
    return EMP_OK;
}

/* ResizeNearestNeighbor(images, size), whose result has the type of its images. */
EMP_INFER(resize_nearest)
{
    emp_shape shape = emp_shape_of_rank(4), size = emp_shape_from_vector(&op->input[1]);

    if (op->input[0].shape.rank == 4) shape = op->input[0].shape;
    shape.dim[1] = size.rank == 2 ? size.dim[0] : -1;
    shape.dim[2] = size.rank == 2 ? size.dim[1] : -1;
    return emp_set_output(&output[0], shape, emp_view_dtype(op, 0));
}

/* ResizeBilinear(images, size), which computes in float32. */
EMP_INFER(resize)
{
    EMP_CHECK(emp_op_infer_resize_nearest(op, output, output_count, err));
    output[0].dtype = EMP_DTYPE_FLOAT;
    return EMP_OK;
}

/* ResizeBilinearGrad(dy, original). */
EMP_INFER(resize_grad)
{
    return emp_set_output(&output[0], op->input[1].shape, emp_view_dtype(op, 1));
}

/* The three tensors of a convolution or of one of its gradients. */
typedef struct {
    const emp_tensor_info *image;  /* x or dx */
    const emp_tensor_info *filter; /* or its gradient */
    const emp_tensor_info *out;    /* y or dy */
} conv_tensors;

static int64_t size_of(const emp_shape *shape, int32_t d)
{
    return d < shape->rank && shape->dim[d] > 0 ? shape->dim[d] : 1;
}

/* Pixels of an image batch: N H W. */
static int64_t pixels(const emp_op_view *op, const emp_shape *shape)
{
    image_layout at = layout_of(op->attrs);

    return emp_mul_saturating(
        size_of(shape, 0),
        emp_mul_saturating(size_of(shape, at.height), size_of(shape, at.width)));
}

static emp_conv_window window_of(const emp_op_view *op, const emp_shape *filter)
{
    image_layout   at = layout_of(op->attrs);
    const int32_t *strides = op->attrs->strides, *steps = op->attrs->dilations;
    int64_t        height = size_of(filter, 0), width = size_of(filter, 1);
    bool           is_dense = at_least_1(strides[at.height]) == 1 &&
                    at_least_1(strides[at.width]) == 1 &&
                    at_least_1(steps[at.height]) == 1 && at_least_1(steps[at.width]) == 1;

    if (height == 1 && width == 1) return EMP_CONV_POINT;
    return height == 3 && width == 3 && is_dense ? EMP_CONV_WINOGRAD : EMP_CONV_WIDE;
}

/* Groups of channels, each of which has a product of its own. */
static int64_t groups_of(const emp_op_view *op, const conv_tensors *t)
{
    int64_t channels = size_of(&t->image->shape, layout_of(op->attrs).channel);
    int64_t each = emp_shape_dim(&t->filter->shape, 2),
            made = size_of(&t->filter->shape, 3);
    int64_t groups = each > 0 ? channels / each : 1;

    return groups < 1 ? 1 : groups < made ? groups : made;
}

/* The forward product and its FLOPs, 2 N OH OW KH KW Cin Cout / groups; gradients cost the same.
 */
static void cost_product(const emp_op_view *op, const conv_tensors *t, emp_op_cost *cost)
{
    const emp_shape *filter = &t->filter->shape;
    int64_t          window = emp_mul_saturating(size_of(filter, 0), size_of(filter, 1));

    emp_view_cost(op, EMP_OP_CONV, 0.0, cost);
    cost->m = pixels(op, &t->out->shape);
    cost->batch = groups_of(op, t);
    cost->n = size_of(filter, 3) / cost->batch;
    cost->k = emp_mul_saturating(window, size_of(filter, 2));
    cost->flops =
        2.0 * (double)cost->batch * (double)cost->m * (double)cost->n * (double)cost->k;
    cost->window = window_of(op, filter);
}

/* A 1x1 filter with stride 1 on NHWC data is one matrix product. */
static bool is_plain_product(const emp_op_view *op, const conv_tensors *t)
{
    const emp_op_attrs *a = op->attrs;

    return !a->is_nchw && groups_of(op, t) == 1 && size_of(&t->filter->shape, 0) == 1 &&
           size_of(&t->filter->shape, 1) == 1 && at_least_1(a->strides[1]) == 1 &&
           at_least_1(a->strides[2]) == 1;
}

/* The layout changes of r1.3 around cuDNN. It works on NCHW data: NHWC activations are transposed
 * there and back through temporary copies, and the filter's layout is changed on every
 * call. The workspace of the algorithm itself is not known; as a guess it is the larger
 * activation, at most 64 MiB. */
static void add_layout_changes(const emp_op_view *op, const conv_tensors *t,
                               emp_op_cost *cost)
{
    const int64_t max_guess = 64 * 1024 * 1024;
    int64_t       filter = emp_info_bytes(t->filter), image = emp_info_bytes(t->image);
    int64_t       out = emp_info_bytes(t->out);
    int64_t       moved = filter, guess = image > out ? image : out;

    if (is_plain_product(op, t)) {
        cost->op_class = EMP_OP_GEMM;
        return;
    }
    cost->kernels = 2;
    if (!op->attrs->is_nchw) {
        cost->layout_kernels = 2;
        cost->kernels += cost->layout_kernels;
        cost->layout_bytes = emp_add_saturating(image, out);
        moved = emp_add_saturating(moved, cost->layout_bytes);
    }
    cost->bytes_read = emp_add_saturating(cost->bytes_read, moved);
    cost->bytes_written = emp_add_saturating(cost->bytes_written, moved);
    cost->workspace_bytes =
        emp_add_saturating(moved, guess < max_guess ? guess : max_guess);
}

EMP_COST(conv2d)
{
    conv_tensors t = {&op->input[0], &op->input[1], &op->output[0]};

    cost_product(op, &t, cost);
    add_layout_changes(op, &t, cost);
}

/* As an implicit product over the input's pixels; K is what keeps the FLOPs. */
EMP_COST(conv2d_input)
{
    conv_tensors t = {&op->output[0], &op->input[1], &op->input[2]};

    cost_product(op, &t, cost);
    cost->m = pixels(op, &t.image->shape);
    cost->n = size_of(&t.filter->shape, 2);
    double k =
        cost->flops / 2.0 / (double)cost->batch / (double)cost->m / (double)cost->n;
    cost->k = k < 1.0 ? 1 : k < 0x1p62 ? (int64_t)(k + 0.5) : INT64_MAX;
    add_layout_changes(op, &t, cost);
}

EMP_COST(conv2d_filter)
{
    conv_tensors t = {&op->input[0], &op->output[0], &op->input[2]};

    cost_product(op, &t, cost);
    int64_t pixel_count = cost->m;
    cost->m = cost->k;
    cost->k = pixel_count;
    add_layout_changes(op, &t, cost);
}

static void cost_pooling(const emp_op_view *op, double flops, emp_op_cost *cost)
{
    emp_view_cost(op, EMP_OP_POOL, 0.0, cost);
    cost->flops = cost->cpu_cycles = flops;
}

/* Depthwise filters have too little arithmetic per byte for a matrix product. */
static void cost_depthwise(const emp_op_view *op, const emp_tensor_info *filter,
                           const emp_tensor_info *out, emp_op_cost *cost)
{
    double window =
        (double)size_of(&filter->shape, 0) * (double)size_of(&filter->shape, 1);
    double flops = 2.0 * window * (double)emp_shape_elements(&out->shape);

    cost_pooling(op, flops, cost);
}

EMP_COST(depthwise) { cost_depthwise(op, &op->input[1], &op->output[0], cost); }
EMP_COST(depthwise_input) { cost_depthwise(op, &op->input[1], &op->input[2], cost); }
EMP_COST(depthwise_filter) { cost_depthwise(op, &op->output[0], &op->input[2], cost); }

static double window_size(const emp_op_attrs *a)
{
    image_layout at = layout_of(a);

    return (double)at_least_1(a->ksize[at.height]) *
           (double)at_least_1(a->ksize[at.width]);
}

static bool windows_overlap(const emp_op_attrs *a)
{
    image_layout at = layout_of(a);

    return a->ksize[at.height] > a->strides[at.height] ||
           a->ksize[at.width] > a->strides[at.width];
}

EMP_COST(max_pool)
{
    double outputs = (double)emp_shape_elements(&op->output[0].shape);

    cost_pooling(op, outputs * (window_size(op->attrs) - 1.0), cost);
}

EMP_COST(avg_pool)
{
    cost_pooling(
        op, (double)emp_shape_elements(&op->output[0].shape) * window_size(op->attrs),
        cost);
}

/* MaxPoolGrad(x, y, dy): finds the maxima again, then adds into dx. */
EMP_COST(max_pool_grad)
{
    double outputs = (double)emp_shape_elements(&op->input[2].shape);
    double inputs = (double)emp_shape_elements(&op->input[0].shape);

    cost_pooling(op,
                 outputs * (window_size(op->attrs) - 1.0) +
                     inputs * (windows_overlap(op->attrs) ? 2.0 : 1.0),
                 cost);
}

EMP_COST(avg_pool_grad)
{
    double outputs = (double)emp_shape_elements(&op->input[1].shape);
    double inputs = (double)emp_shape_elements(&op->output[0].shape);

    cost_pooling(op,
                 inputs + outputs * (windows_overlap(op->attrs)
                                         ? window_size(op->attrs) + 1.0
                                         : 1.0),
                 cost);
}

/* Passes over a tensor of `elements`, and vectors per channel beside it. */
static void cost_normalization(const emp_op_view *op, const emp_tensor_info *x,
                               int64_t reads, int64_t writes, double flops,
                               emp_op_cost *cost)
{
    int64_t bytes = emp_info_bytes(x);

    emp_view_cost(op, EMP_OP_NORM, (double)emp_shape_elements(&x->shape), cost);
    cost->flops = flops;
    cost->bytes_read = emp_mul_saturating(bytes, reads);
    cost->bytes_written = emp_mul_saturating(bytes, writes);
}

/* `per_element` and `per_channel` FLOPs of a batch norm and its traffic; NHWC data are
 * transposed to NCHW and back (r1.3), a pass over each of `images` tensors. */
static void cost_batch_norm(const emp_op_view *op, const emp_tensor_info *x,
                            int64_t reads, double per_element, double per_channel,
                            int64_t images, emp_op_cost *cost)
{
    int64_t bytes = emp_info_bytes(x);
    int64_t channels = size_of(&x->shape, layout_of(op->attrs).channel);
    int64_t vector = emp_mul_saturating(channels, 4);

    cost_normalization(op, x, reads, 1,
                       per_element * (double)emp_shape_elements(&x->shape) +
                           per_channel * (double)channels,
                       cost);
    cost->bytes_read =
        emp_add_saturating(cost->bytes_read, emp_mul_saturating(2, vector));
    cost->bytes_written =
        emp_add_saturating(cost->bytes_written, emp_mul_saturating(4, vector));
    if (op->attrs->is_nchw) return;
    int64_t moved = emp_mul_saturating(bytes, images);
    cost->layout_kernels = (int32_t)images;
    cost->layout_bytes = moved;
    cost->kernels += cost->layout_kernels;
    cost->bytes_read = emp_add_saturating(cost->bytes_read, moved);
    cost->bytes_written = emp_add_saturating(cost->bytes_written, moved);
    cost->workspace_bytes = moved;
}

/* Eigen's cycles of a reciprocal square root, which the estimators count as FLOPs. */
static const double RSQRT_FLOPS = 5.0;

EMP_COST(batch_norm)
{
    if (op->attrs->is_inference)
        cost_batch_norm(op, &op->input[0], 1, 2.0, 2.0 + RSQRT_FLOPS, 2, cost);
    else
        cost_batch_norm(op, &op->input[0], 2, 4.0, 6.0 + RSQRT_FLOPS, 2, cost);
}

EMP_COST(batch_norm_grad)
{
    cost_batch_norm(op, &op->input[1], 3, 11.0, 5.0 + RSQRT_FLOPS, 3, cost);
}

/* Maximum, difference, exponential, sum, quotient: five passes of kernels. */
EMP_COST(softmax)
{
    const emp_tensor_info *x = &op->input[0];

    cost_normalization(
        op, x, 4, 2, op->type->rates.flops * (double)emp_shape_elements(&x->shape), cost);
}

EMP_COST(cross_entropy)
{
    const emp_tensor_info *x = &op->input[0];

    cost_normalization(
        op, x, 8, 3, op->type->rates.flops * (double)emp_shape_elements(&x->shape), cost);
}
