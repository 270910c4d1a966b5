// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "replay/planner/planner.h"

enum { FLOAT_BYTES = 4 };

/* An op with what its kernel is found from. */
struct view {
    const emp_graph *g;
    emp_op_id        op;
    const emp_op    *o;
    emp_op_work      work;
    emp_op_part      part;
    int32_t          input_count, output_count;
};

static const emp_tensor *input_of(const struct view *v, int32_t i)
{
    return &v->g->tensor[v->g->input[v->g->input_offset[v->op] + i]];
}

static const emp_tensor *output_of(const struct view *v, int32_t i)
{
    return &v->g->tensor[v->g->output_offset[v->op] + i];
}

static int64_t elements(const emp_tensor *t) { return emp_shape_elements(t->shape); }

/* Elements of four bytes. */
static int64_t floats(const emp_tensor *t) { return t->copy_bytes / FLOAT_BYTES; }

static int64_t dim_of(const emp_shape *shape, int32_t d)
{
    return d < shape->rank && shape->dim[d] > 0 ? shape->dim[d] : 1;
}

static int64_t last_dim(const emp_tensor *t)
{
    return t->shape->rank > 0 ? dim_of(t->shape, t->shape->rank - 1) : 1;
}

enum { LEAST_RUN = 64 /* bytes */ };

/* Whatever else fails, the op moves as many bytes as it has. */
static emp_kernel move_runs(int64_t run_bytes)
{
    return (emp_kernel){EMP_KERNEL_MOVE, EMP_MOVE_RUNS, {run_bytes > 0 ? run_bytes : 1}};
}

static bool is_float(const emp_tensor *t)
{
    return emp_dtype_bytes(t->dtype) == FLOAT_BYTES;
}

/* A (m, k) B (k, n), each perhaps transposed; which is seen from the outer sizes. */
static emp_kernel product(const struct view *v)
{
    const emp_op_cost *c = v->o->cost;
    const emp_shape   *a = input_of(v, 0)->shape, *b = input_of(v, 1)->shape;
    int64_t            k = c->k;
    emp_kernel         kernel = {EMP_KERNEL_PRODUCT, 0, {c->m, c->n, k, c->batch, 0, 1}};

    if (a->rank >= 2 && dim_of(a, a->rank - 1) != k)
        kernel.variant |= EMP_PRODUCT_TRANSPOSE_A;
    if (b->rank >= 2 && dim_of(b, b->rank - 2) != k)
        kernel.variant |= EMP_PRODUCT_TRANSPOSE_B;
    return kernel;
}

/* Stride and zeros before the image along one side, from the sizes: TensorFlow's SAME
 * has ceil(in / stride) results, VALID as many as fit. */
static void find_stride(int64_t in, int64_t window, int64_t out, int64_t *stride,
                        int64_t *before)
{
    int64_t s = 1;

    for (; s < in; s++) {
        if ((in + s - 1) / s == out) break;
        if (in >= window && (in - window) / s + 1 == out) {
            *stride = s;
            *before = 0;
            return;
        }
    }
    int64_t padding = (out - 1) * s + window - in;
    *stride = s;
    *before = padding > 0 ? padding / 2 : 0;
}

struct conv_tensors {
    const emp_tensor *image, *filter, *out;
    int32_t           direction;
};

/* -1 where the operands do not fit a convolution. */
static struct conv_tensors conv_tensors_of(const struct view *v)
{
    struct conv_tensors t = {.direction = -1};

    if (v->work != EMP_WORK_CONVOLUTION || (v->o->flags & EMP_OP_ANY_RANK)) return t;
    if (v->part == EMP_PART_FORWARD) {
        t = (struct conv_tensors){input_of(v, 0), input_of(v, 1), output_of(v, 0),
                                  EMP_CONV_FORWARD};
    } else if (v->part == EMP_PART_INPUT) {
        t = (struct conv_tensors){output_of(v, 0), input_of(v, 1), input_of(v, 2),
                                  EMP_CONV_INPUT};
    } else if (v->part == EMP_PART_FILTER) {
        t = (struct conv_tensors){input_of(v, 0), output_of(v, 0), input_of(v, 2),
                                  EMP_CONV_FILTER};
    }
    return t;
}

static emp_kernel conv(const struct view *v)
{
    struct conv_tensors t = conv_tensors_of(v);
    emp_kernel          kernel = {.kind = EMP_KERNEL_CONV, .variant = t.direction};
    int64_t            *size = kernel.size;

    const emp_shape *image = t.image->shape, *filter = t.filter->shape;
    const emp_shape *out = t.out->shape;
    int64_t          c = dim_of(filter, 2), f = dim_of(filter, 3);
    bool             is_nchw = dim_of(image, 3) != c || dim_of(out, 3) != f;
    int32_t          height = is_nchw ? 2 : 1;
    if (is_nchw) kernel.variant |= EMP_CONV_NCHW;
    size[EMP_CONV_N] = dim_of(image, 0);
    size[EMP_CONV_H] = dim_of(image, height);
    size[EMP_CONV_W] = dim_of(image, height + 1);
    size[EMP_CONV_C] = c;
    size[EMP_CONV_KH] = dim_of(filter, 0);
    size[EMP_CONV_KW] = dim_of(filter, 1);
    size[EMP_CONV_F] = f;
    size[EMP_CONV_OH] = dim_of(out, height);
    size[EMP_CONV_OW] = dim_of(out, height + 1);
    find_stride(size[EMP_CONV_H], size[EMP_CONV_KH], size[EMP_CONV_OH],
                &size[EMP_CONV_SH], &size[EMP_CONV_PH]);
    find_stride(size[EMP_CONV_W], size[EMP_CONV_KW], size[EMP_CONV_OW],
                &size[EMP_CONV_SW], &size[EMP_CONV_PW]);
    return kernel;
}

/* A 1x1 convolution with stride 1 is one product of pixels and channels. */
static emp_kernel conv_as_product(const struct view *v)
{
    struct conv_tensors t = conv_tensors_of(v);
    int64_t             c = dim_of(t.filter->shape, 2), f = dim_of(t.filter->shape, 3);
    int64_t             pixels = elements(t.image) / c;

    if (t.direction == EMP_CONV_FORWARD)
        return (emp_kernel){EMP_KERNEL_PRODUCT, 0, {pixels, f, c, 1, 0, 1}};
    if (t.direction == EMP_CONV_INPUT)
        return (emp_kernel){
            EMP_KERNEL_PRODUCT, EMP_PRODUCT_TRANSPOSE_B, {pixels, c, f, 1, 2, 1}};
    return (emp_kernel){
        EMP_KERNEL_PRODUCT, EMP_PRODUCT_TRANSPOSE_A, {c, f, pixels, 1, 0, 2}};
}

/* Depthwise and others that are no plain product: passes over what they read. */
static emp_kernel map(const struct view *v)
{
    double cycles = emp_graph_type(v->g, v->op)->rates.cycles;

    if (v->output_count == 0) return (emp_kernel){.kind = EMP_KERNEL_NOTHING};
    return (emp_kernel){EMP_KERNEL_MAP,
                        (int32_t)emp_arithmetic_of(cycles, 1.0),
                        {elements(output_of(v, 0))}};
}

static emp_kernel fill(const struct view *v)
{
    bool is_random = v->work == EMP_WORK_RANDOM;

    return (emp_kernel){
        EMP_KERNEL_FILL, is_random ? EMP_FILL_RANDOM : EMP_FILL_CONSTANT, {0}};
}

/* Results that are the last sizes of the input are sums over the outer ones. */
static emp_kernel reduce(const struct view *v)
{
    const emp_tensor *in = input_of(v, 0), *out = output_of(v, 0);
    int64_t           n = floats(in), m = floats(out);

    if (n < 1 || m < 1 || m > n) return map(v);
    bool is_outer = m > 1 && (last_dim(out) == last_dim(in) || out->shape->rank == 1);
    return (emp_kernel){
        EMP_KERNEL_REDUCE, is_outer ? EMP_REDUCE_OUTER : EMP_REDUCE_INNER, {n, m}};
}

/* Bytes of neighbours in \a part that are neighbours in \a whole. */
static int64_t run_of(const emp_tensor *part, const emp_tensor *whole)
{
    const emp_shape *a = part->shape, *b = whole->shape;
    int64_t          run = emp_dtype_bytes(part->dtype);

    if (run < 1) run = 1;
    for (int32_t i = 1; i <= a->rank; i++) {
        run *= dim_of(a, a->rank - i);
        if (i > b->rank || dim_of(a, a->rank - i) != dim_of(b, b->rank - i)) break;
    }
    return run;
}

static const emp_tensor *largest_input(const struct view *v)
{
    const emp_tensor *largest = input_of(v, 0);

    for (int32_t i = 1; i < v->input_count; i++) {
        if (input_of(v, i)->copy_bytes > largest->copy_bytes) largest = input_of(v, i);
    }
    return largest;
}

static emp_kernel transpose(const struct view *v)
{
    int64_t columns = last_dim(input_of(v, 0)), n = floats(output_of(v, 0));

    if (columns < 1 || n < columns || !is_float(output_of(v, 0)))
        return move_runs(LEAST_RUN);
    int64_t rows = last_dim(output_of(v, 0));
    if (rows * columns > n || n % (rows * columns) != 0) rows = n / columns;
    return (emp_kernel){
        EMP_KERNEL_MOVE, EMP_MOVE_TRANSPOSE, {rows, columns, n / (rows * columns)}};
}

static bool is_lookup(const struct view *v)
{
    return v->work == EMP_WORK_LOOKUP && v->input_count >= 2 &&
           floats(output_of(v, 0)) >= last_dim(input_of(v, 0)) &&
           last_dim(output_of(v, 0)) == last_dim(input_of(v, 0)) &&
           floats(input_of(v, 0)) >= last_dim(input_of(v, 0)) &&
           floats(input_of(v, 1)) > 0 && is_float(output_of(v, 0));
}

/* Sums of rows by number: UnsortedSegmentSum(values, numbers, count) and kin. */
static bool is_segment_sum(const struct view *v)
{
    return v->work == EMP_WORK_SCATTER && v->input_count >= 2 &&
           floats(output_of(v, 0)) >= last_dim(output_of(v, 0)) &&
           floats(input_of(v, 0)) >= last_dim(output_of(v, 0)) &&
           floats(input_of(v, 1)) > 0 && is_float(output_of(v, 0));
}

static emp_kernel move(const struct view *v)
{
    if (v->output_count == 0 || v->input_count == 0)
        return (emp_kernel){.kind = EMP_KERNEL_NOTHING};
    const emp_tensor *out = output_of(v, 0), *in = largest_input(v);
    if (is_lookup(v)) {
        int64_t width = last_dim(out);
        return (emp_kernel){EMP_KERNEL_LOOKUP, 0, {floats(out) / width, width}};
    }
    if (is_segment_sum(v)) {
        int64_t width = last_dim(out);
        return (emp_kernel){EMP_KERNEL_SCATTER,
                            EMP_SCATTER_OUTPUT,
                            {floats(input_of(v, 0)) / width, width, 0, 1, 0}};
    }
    if (v->work == EMP_WORK_TRANSPOSE) return transpose(v);
    if (in->copy_bytes >= out->copy_bytes) return move_runs(run_of(out, in));
    int64_t run = run_of(in, out);
    return move_runs(run > LEAST_RUN ? run : LEAST_RUN); /* what repeats lies near */
}

/* For updates given with their rows' numbers; the operands are recognised by their types. */
static emp_kernel sparse_update(const struct view *v, int32_t tables)
{
    int32_t index = -1, value = -1;

    for (int32_t i = tables; i < v->input_count; i++) {
        const emp_tensor *t = input_of(v, i);
        bool is_index = t->dtype == EMP_DTYPE_INT32 || t->dtype == EMP_DTYPE_INT64;
        if (is_index && index < 0)
            index = i;
        else if (!is_index && (value < 0 || floats(t) > floats(input_of(v, value))))
            value = i;
    }
    if (index < 0 || value < 0 || floats(input_of(v, value)) < 1 ||
        floats(input_of(v, index)) < 1)
        return (emp_kernel){.kind = EMP_KERNEL_NOTHING};
    int64_t width = last_dim(input_of(v, value));
    return (emp_kernel){
        EMP_KERNEL_SCATTER,
        EMP_SCATTER_STORAGE,
        {floats(input_of(v, value)) / width, width, tables, index, value}};
}

static emp_kernel update(const struct view *v)
{
    const emp_op_type *type = emp_graph_type(v->g, v->op);
    int32_t            tables = type->ref_inputs, value = -1;

    if (tables < 1) tables = 1;
    if (tables > v->input_count) return (emp_kernel){.kind = EMP_KERNEL_NOTHING};
    if (v->work == EMP_WORK_SCATTER) return sparse_update(v, tables);
    for (int32_t i = tables; i < v->input_count; i++) {
        if (floats(input_of(v, i)) < 1) continue;
        if (value < 0 || floats(input_of(v, i)) > floats(input_of(v, value))) value = i;
    }
    return (emp_kernel){EMP_KERNEL_UPDATE,
                        type->rates.cycles >= 15 ? EMP_UPDATE_ROOT : EMP_UPDATE_PLAIN,
                        {floats(input_of(v, 0)), tables, value}};
}

static emp_kernel softmax(const struct view *v)
{
    const emp_tensor *in = input_of(v, 0);
    bool              is_loss = v->work == EMP_WORK_LOSS;
    int64_t           columns = last_dim(in), n = floats(in);

    if (columns < 1 || n < columns || (is_loss && v->output_count < 2)) return map(v);
    return (emp_kernel){EMP_KERNEL_SOFTMAX,
                        is_loss ? EMP_SOFTMAX_LOSS : EMP_SOFTMAX_PLAIN,
                        {n / columns, columns}};
}

/* FusedBatchNorm(x, ...) and FusedBatchNormGrad(dy, x, ...). */
static emp_kernel norm(const struct view *v)
{
    bool             is_grad = v->part != EMP_PART_FORWARD;
    const emp_shape *x = input_of(v, 0)->shape;
    int64_t          channels = elements(input_of(v, is_grad ? 2 : 1));
    int64_t          n = floats(input_of(v, 0));
    bool             is_nchw = dim_of(x, 3) != channels;

    if (channels < 1 || n < channels || n % channels != 0) return map(v);
    int64_t inner = is_nchw ? dim_of(x, 2) * dim_of(x, 3) : 1;
    if (n % (channels * inner) != 0) return map(v);
    return (emp_kernel){EMP_KERNEL_NORM,
                        is_grad ? EMP_NORM_GRAD : EMP_NORM_FORWARD,
                        {n / (channels * inner), channels, inner}};
}

/* The side of a pool's window, which is square in all networks here, from the FLOPs that
 * the op table charges: one or two an input for results and gradients. */
static int64_t find_window(double flops, double inputs, double results, bool is_avg,
                           bool is_grad, int64_t largest)
{
    for (int64_t side = 1; side <= largest; side++) {
        double area = (double)(side * side);
        double least = is_avg && is_grad ? inputs + results
                       : is_grad         ? results * (area - 1) + inputs
                                         : results * (is_avg ? area : area - 1);
        double most = is_avg && is_grad ? inputs + results * (area + 1)
                      : is_grad         ? least + inputs
                                        : least;
        if (flops == most || (flops == least && !(is_avg && is_grad))) return side;
    }
    return 0;
}

static emp_kernel pool(const struct view *v)
{
    bool    is_max = v->work == EMP_WORK_MAX_POOL, is_avg = v->work == EMP_WORK_AVG_POOL;
    bool    is_grad = v->part != EMP_PART_FORWARD;
    int32_t dy = is_avg ? 1 : 2;
    const emp_tensor *image = is_grad ? output_of(v, 0) : input_of(v, 0);
    const emp_tensor *out = !is_grad              ? output_of(v, 0)
                            : v->input_count > dy ? input_of(v, dy)
                                                  : output_of(v, 0);
    const emp_shape  *x = image->shape, *y = out->shape;
    emp_kernel        kernel = {.kind = EMP_KERNEL_POOL};
    int64_t          *size = kernel.size;

    if ((!is_max && !is_avg) || x->rank != 4 || y->rank != 4 || !is_float(image))
        return map(v);
    bool    is_nchw = dim_of(x, 1) == dim_of(y, 1) && dim_of(x, 3) != dim_of(y, 3);
    int32_t height = is_nchw ? 2 : 1;
    kernel.variant = (is_avg ? EMP_POOL_AVG : EMP_POOL_MAX) |
                     (is_grad ? EMP_POOL_GRAD : 0) | (is_nchw ? EMP_POOL_NCHW : 0);
    size[EMP_POOL_N] = dim_of(x, 0);
    size[EMP_POOL_H] = dim_of(x, height);
    size[EMP_POOL_W] = dim_of(x, height + 1);
    size[EMP_POOL_C] = dim_of(x, is_nchw ? 1 : 3);
    size[EMP_POOL_OH] = dim_of(y, height);
    size[EMP_POOL_OW] = dim_of(y, height + 1);
    int64_t h = size[EMP_POOL_H], w = size[EMP_POOL_W];
    int64_t side = find_window(v->o->cost->flops, (double)elements(image),
                               (double)elements(out), is_avg, is_grad, h < w ? h : w);
    bool    is_whole = size[EMP_POOL_OH] == 1 && size[EMP_POOL_OW] == 1;
    if (side == 0) side = (h + size[EMP_POOL_OH] - 1) / size[EMP_POOL_OH];
    size[EMP_POOL_KH] = is_whole || side > h ? h : side;
    size[EMP_POOL_KW] = is_whole || side > w ? w : side;
    int64_t before;
    find_stride(size[EMP_POOL_H], size[EMP_POOL_KH], size[EMP_POOL_OH],
                &size[EMP_POOL_SH], &before);
    find_stride(size[EMP_POOL_W], size[EMP_POOL_KW], size[EMP_POOL_OW],
                &size[EMP_POOL_SW], &before);
    return kernel;
}

/* Rounds of four cycles or so. */
static emp_kernel host(const struct view *v)
{
    double rounds = v->o->cost->cpu_cycles / 4.0;

    return (emp_kernel){
        EMP_KERNEL_HOST, 0, {rounds < 0x1p40 ? (int64_t)rounds : INT64_C(1) << 40}};
}

static emp_kernel find_kernel(const struct view *v)
{
    switch (v->o->cost->op_class) {
    case EMP_OP_GEMM:
        return conv_tensors_of(v).direction < 0 ? product(v) : conv_as_product(v);
    case EMP_OP_CONV: return conv_tensors_of(v).direction < 0 ? map(v) : conv(v);
    case EMP_OP_ELEMENTWISE: return v->o->cost->bytes_read == 0 ? fill(v) : map(v);
    case EMP_OP_REDUCTION: return reduce(v);
    case EMP_OP_MOVEMENT: return move(v);
    case EMP_OP_POOL: return pool(v);
    case EMP_OP_NORM: return v->work == EMP_WORK_BATCH_NORM ? norm(v) : softmax(v);
    case EMP_OP_OPTIMIZER: return update(v);
    case EMP_OP_HOST: return host(v);
    default: return (emp_kernel){.kind = EMP_KERNEL_NOTHING};
    }
}

/* Work that is no kernel here, or of PyTorch, whose operands are laid out differently from TensorFlow's. */
static bool is_foreign(const emp_graph *g, emp_op_id op)
{
    bool is_torch = strchr(g->type_name[g->type[op]], '.') != NULL;

    switch (g->op[op].cost->work) {
    case EMP_WORK_ATTENTION:
    case EMP_WORK_ROUTE:
    case EMP_WORK_GROUPED_PRODUCT: return true;
    case EMP_WORK_NOTHING:
    case EMP_WORK_HOST:
    case EMP_WORK_CAST:
    case EMP_WORK_FILL:
    case EMP_WORK_RANDOM:
    case EMP_WORK_REDUCE:
    case EMP_WORK_MOVE: return false;
    case EMP_WORK_ELEMENTWISE: return (g->op[op].flags & EMP_OP_TAKES_LISTS) != 0;
    default: return is_torch;
    }
}

emp_status emp_kernel_check_op(const emp_graph *graph, emp_op_id op, emp_error *err)
{
    const emp_op *o = &graph->op[op];
    bool          is_product =
        o->cost->op_class == EMP_OP_GEMM || o->cost->op_class == EMP_OP_CONV;

    if (o->cost->kernels > 0 && is_foreign(graph, op))
        return EMP_ERROR(
            EMP_EUNSUPPORTED,
            "op %s is of type %s, which replay has no kernel for: it executes the "
            "ops of TensorFlow",
            graph->name[op], graph->type_name[graph->type[op]]);
    if (o->persistent_bytes > 0 && !(o->flags & EMP_OP_IS_VARIABLE))
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "op %s holds its weights itself; replay executes graphs whose "
                         "weights are variables, such as those of TensorFlow and of "
                         "training steps",
                         graph->name[op]);
    emp_dtype dtype = graph->tensor[graph->output_offset[op]].dtype;
    if (is_product && dtype != EMP_DTYPE_FLOAT)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "op %s computes in %s, and replay in fp32 alone",
                         graph->name[op], emp_dtype_name(dtype));
    return EMP_OK;
}

emp_kernel emp_kernel_of_op(const emp_graph *graph, emp_op_id op)
{
    const struct view v = {
        .g = graph,
        .op = op,
        .o = &graph->op[op],
        .work = graph->op[op].cost->work,
        .part = graph->op[op].cost->part,
        .input_count = graph->input_offset[op + 1] - graph->input_offset[op],
        .output_count = graph->output_offset[op + 1] - graph->output_offset[op]};

    return find_kernel(&v);
}
