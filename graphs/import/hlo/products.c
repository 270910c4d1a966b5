// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/hlo/lower.h"

#include <math.h>
#include <stdio.h>

static int64_t at_least_1(double x)
{
    return x < 1.0 ? 1 : x < 0x1p62 ? (int64_t)ceil(x) : INT64_MAX;
}

static double elements_of(const emp_tensor_info *info)
{
    double product = 1.0;

    for (int32_t d = 0; d < info->shape.rank; d++) product *= (double)info->shape.dim[d];
    return product;
}

/* 2 m n k of each of a batch; 0 of what is no product. */
static double flops_of(const emp_op_cost *c)
{
    return 2.0 * (double)c->m * (double)c->n * (double)c->k * (double)c->batch;
}

void emp_hlo_add_product(emp_op_cost *cost, const emp_op_cost *product)
{
    double known = flops_of(cost), own = product->flops;

    cost->flops += own;
    if (own > known) {
        cost->op_class = product->op_class;
        cost->m = product->m;
        cost->n = product->n;
        cost->k = product->k;
        cost->batch = product->batch;
        cost->window = product->window;
    }
    if (known > 0.0 && own > 0.0)
        cost->batch = at_least_1((known + own) / (flops_of(cost) / (double)cost->batch));
}

/* ---- products of matrices ---- */

typedef struct {
    uint32_t batch[2], contracted[2]; /* dims of both operands, as bits */
    uint32_t
        groups; /* of a ragged dot: dims of operand 1 of which each row meets one place */
} dot_dims;

/* Dims of a list as bits; false: one of them is none of the shape. */
static bool read_dims(emp_slice list, const emp_shape *shape, uint32_t *dims)
{
    emp_slice item;

    while (emp_hlo_next_item(&list, &item)) {
        int64_t d = emp_hlo_number(item, -1);
        if (d < 0 || d >= shape->rank) return false;
        *dims |= 1U << d;
    }
    return true;
}

static double product_of(const emp_shape *shape, uint32_t dims)
{
    double product = 1.0;

    for (int32_t d = 0; d < shape->rank; d++)
        if ((dims >> d) & 1) product *= (double)shape->dim[d];
    return product;
}

static bool add_dot(const emp_tensor_info *a, const emp_tensor_info *b, const dot_dims *d,
                    emp_op_cost *cost)
{
    double batch = product_of(&a->shape, d->batch[0]);
    double k = product_of(&a->shape, d->contracted[0]);
    double m = product_of(&a->shape, ~(d->batch[0] | d->contracted[0]));
    double n = product_of(&b->shape, ~(d->batch[1] | d->contracted[1] | d->groups));

    if (batch != product_of(&b->shape, d->batch[1]) ||
        k != product_of(&b->shape, d->contracted[1]) ||
        (d->batch[0] & d->contracted[0]) || (d->batch[1] & d->contracted[1]))
        return false;
    batch *= emp_dtype_products(a->dtype);
    emp_op_cost product = {.op_class = EMP_OP_GEMM,
                           .flops = 2.0 * batch * m * n * k,
                           .m = at_least_1(m),
                           .n = at_least_1(n),
                           .k = at_least_1(k),
                           .batch = at_least_1(batch)};
    emp_hlo_add_product(cost, &product);
    return true;
}

static const emp_tensor_info *tensor_of(const emp_hlo_module      *m,
                                        const emp_hlo_instruction *i, int32_t operand)
{
    const emp_hlo_instruction *from =
        operand < i->operand_count ? emp_hlo_operand(m, i, operand) : NULL;

    return from != NULL && from->tensor_count > 0 ? emp_hlo_result(m, from) : NULL;
}

bool emp_hlo_add_dot(const emp_hlo_module *m, const emp_hlo_instruction *i,
                     emp_op_cost *cost, char reason[EMP_HLO_REASON_BYTES])
{
    static const char *const batch[] = {"lhs_batch_dims", "rhs_batch_dims"};
    static const char *const contracted[] = {"lhs_contracting_dims",
                                             "rhs_contracting_dims"};
    const emp_tensor_info   *side[] = {tensor_of(m, i, 0), tensor_of(m, i, 1)};
    dot_dims                 dims = {0};
    char                     text_a[EMP_SHAPE_TEXT_BYTES], text_b[EMP_SHAPE_TEXT_BYTES];
    bool                     is_right = side[0] != NULL && side[1] != NULL;

    for (int s = 0; s < 2 && is_right; s++)
        is_right =
            read_dims(emp_hlo_text_of(m, i, batch[s]), &side[s]->shape, &dims.batch[s]) &&
            read_dims(emp_hlo_text_of(m, i, contracted[s]), &side[s]->shape,
                      &dims.contracted[s]);
    is_right = is_right && read_dims(emp_hlo_text_of(m, i, "rhs_group_dims"),
                                     &side[1]->shape, &dims.groups);
    if (is_right && add_dot(side[0], side[1], &dims, cost)) return true;
    if (side[0] == NULL || side[1] == NULL)
        snprintf(reason, EMP_HLO_REASON_BYTES, "has no two operands");
    else
        snprintf(reason, EMP_HLO_REASON_BYTES,
                 "multiplies %s and %s, and its batch and contracting dims do not fit",
                 emp_shape_format(&side[0]->shape, text_a),
                 emp_shape_format(&side[1]->shape, text_b));
    return false;
}

/* ---- convolutions ---- */

typedef enum { FORWARD, OF_INPUT, OF_FILTER } conv_result;

/* "b01f_01io->b01f": the letters of input, filter and result. */
typedef struct {
    emp_slice x, filter, y;
} conv_labels;

static bool read_labels(emp_slice text, conv_labels *labels)
{
    const char *end = text.data + text.size;
    const char *line = memchr(text.data, '_', text.size);
    const char *arrow = line == NULL ? NULL : memchr(line, '-', (size_t)(end - line));

    if (arrow == NULL || end - arrow < 2 || arrow[1] != '>') return false;
    labels->x = (emp_slice){text.data, (size_t)(line - text.data)};
    labels->filter = (emp_slice){line + 1, (size_t)(arrow - line - 1)};
    labels->y = (emp_slice){arrow + 2, (size_t)(end - arrow - 2)};
    return true;
}

/* The size of the dim with that letter; -1: there is none, or the letters are not the shape's. */
static double labelled(const emp_tensor_info *info, emp_slice labels, char letter)
{
    const char *at = memchr(labels.data, letter, labels.size);

    if (at == NULL || labels.size != (size_t)info->shape.rank) return -1.0;
    return (double)info->shape.dim[at - labels.data];
}

enum { WINDOW_DIMS_MAX = 8 };

/* The numbers of "stride=2x2" in "size=3x3 stride=2x2", and how many they are; behind them are ones. */
static int read_window(emp_slice window, const char *key, double number[WINDOW_DIMS_MAX])
{
    const char  *at = window.data, *end = at + window.size;
    const size_t size = strlen(key);
    double       own = 0.0;
    int          count = 0;

    for (int d = 0; d < WINDOW_DIMS_MAX; d++) number[d] = 1.0;
    while (at < end &&
           ((size_t)(end - at) <= size || memcmp(at, key, size) != 0 || at[size] != '='))
        at++;
    if (at == end) return 0;
    for (at += size + 1; at <= end && count < WINDOW_DIMS_MAX; at++) {
        if (at < end && *at >= '0' && *at <= '9') {
            own = fmin(10.0 * own + (*at - '0'), 1e9);
            continue;
        }
        number[count++] = fmax(1.0, own);
        own = 0.0;
        if (at == end || *at == ' ') break;
    }
    return count;
}

double emp_hlo_window_product(emp_slice window, const char *key)
{
    double number[WINDOW_DIMS_MAX], product = 1.0;
    int    count = read_window(window, key, number);

    for (int d = 0; d < count; d++) product *= number[d];
    return product;
}

static emp_conv_window window_of(emp_slice window, double taps)
{
    bool is_3x3 =
        emp_slice_is(window, "size=3x3") || emp_slice_starts(window, "size=3x3 ");
    double steps = emp_hlo_window_product(window, "stride") *
                   emp_hlo_window_product(window, "rhs_dilate");

    if (taps == 1.0) return EMP_CONV_POINT;
    return is_3x3 && steps == 1.0 ? EMP_CONV_WINOGRAD : EMP_CONV_WIDE;
}

/* A convolution as a product: of pixels and columns of filters, a sum over channels and taps. */
typedef struct {
    double pixels, columns, taps, batch;
    double holes; /* zeros that a dilated input has between its elements, per element */
    bool   has_window; /* an input counts at several taps */
} conv_size;

/* A spatial dim. Compilers for TPUs spell products of tensors as convolutions, most of whose windows are padding:
 * one element meets one tap at each position, one position sums over all taps, or position n of the result reads position n. */
static void add_dim(conv_size *s, double in, double taps, double out, double stride,
                    double dilate)
{
    if (in == 1.0) {
        s->pixels /= out;
        s->taps /= taps;
        s->columns *= fmin(taps, out);
    } else if (out == 1.0) {
        s->taps *= fmin(1.0, in / taps);
    } else if (in == taps && out == taps && dilate == taps && stride + 1.0 == taps) {
        s->pixels /= out;
        s->taps /= taps;
        s->batch *= out;
    } else {
        s->holes *= dilate;
        s->has_window = true;
    }
}

static void add_dims(conv_size *s, const emp_tensor_info *info[3],
                     const conv_labels *labels, emp_slice window)
{
    double stride[WINDOW_DIMS_MAX], dilate[WINDOW_DIMS_MAX];

    (void)read_window(window, "stride", stride);
    (void)read_window(window, "lhs_dilate", dilate);
    for (int d = 0; d + 2 < (int)labels->filter.size && d < WINDOW_DIMS_MAX; d++) {
        const char letter = (char)('0' + d);
        double     in = labelled(info[0], labels->x, letter);
        double     taps = labelled(info[1], labels->filter, letter);
        double     out = labelled(info[2], labels->y, letter);
        if (in >= 1.0 && taps >= 1.0 && out >= 1.0)
            add_dim(s, in, taps, out, stride[d], dilate[d]);
    }
}

/* Each element of y sums the input channels of its group under the window: 2 |y| |filter| / o, less holes. */
static bool add_convolution(const emp_hlo_module *m, const emp_hlo_instruction *i,
                            conv_result result, emp_op_cost *cost)
{
    static const int       place[][3] = {{0, 1, -1}, {-1, 1, 0}, {0, -1, 1}};
    const emp_tensor_info *info[3]; /* x, filter, y */
    conv_labels            labels;
    emp_slice              window = emp_hlo_text_of(m, i, "window");
    double                 groups =
        (double)emp_hlo_number(emp_hlo_attr_of(m, i, "feature_group_count"), 1);

    if (!read_labels(emp_hlo_attr_of(m, i, "dim_labels"), &labels) || i->tensor_count < 1)
        return false;
    for (int t = 0; t < 3; t++) {
        int operand = place[result][t];
        info[t] = operand < 0 ? emp_hlo_result(m, i) : tensor_of(m, i, operand);
        if (info[t] == NULL) return false;
    }
    double made = labelled(info[1], labels.filter, 'o');
    double channels = labelled(info[1], labels.filter, 'i');
    double read = labelled(info[0], labels.x, 'f');
    if (made < 1.0 || channels < 1.0 || read < 1.0 || groups < 1.0 ||
        labelled(info[2], labels.y, 'f') < 0.0)
        return false;
    conv_size s = {.pixels = elements_of(info[2]) / made,
                   .columns = made / groups,
                   .taps = elements_of(info[1]) / made / channels,
                   .batch = groups,
                   .holes = 1.0};
    double    window_taps = s.taps;
    add_dims(&s, info, &labels, window);
    double flops = 2.0 * s.pixels * s.columns * channels * s.taps * s.batch / s.holes;
    double mnk[][3] = {{s.pixels, s.columns, channels * s.taps},
                       {elements_of(info[0]) / read, channels, 0.0},
                       {channels * s.taps, s.columns, s.pixels}};
    mnk[OF_INPUT][2] = flops / (2.0 * fmax(1.0, mnk[OF_INPUT][0]) * channels * s.batch);
    bool        is_dot = !s.has_window && emp_hlo_op(m, i)->what != EMP_HLO_CUSTOM;
    emp_op_cost product = {.op_class = is_dot ? EMP_OP_GEMM : EMP_OP_CONV,
                           .flops = flops,
                           .m = at_least_1(mnk[result][0]),
                           .n = at_least_1(mnk[result][1]),
                           .k = at_least_1(mnk[result][2]),
                           .batch = at_least_1(s.batch),
                           .window = window_of(window, window_taps)};
    if (groups > 1.0 && channels == 1.0) { /* too little work a byte for a product */
        cost->flops += flops;
        cost->cpu_cycles += flops;
        if (cost->m == 0) cost->op_class = EMP_OP_POOL;
    } else {
        emp_hlo_add_product(cost, &product);
    }
    return true;
}

bool emp_hlo_add_convolution(const emp_hlo_module *m, const emp_hlo_instruction *i,
                             emp_op_cost *cost, char reason[EMP_HLO_REASON_BYTES])
{
    if (add_convolution(m, i, FORWARD, cost)) return true;
    snprintf(reason, EMP_HLO_REASON_BYTES,
             "is a convolution whose dim_labels \"%.*s\" do not fit its shapes",
             EMP_SLICE_ARG(emp_hlo_attr_of(m, i, "dim_labels")));
    return false;
}

/* ---- calls of libraries ---- */

static bool read_json_dims(const emp_json *list, const emp_shape *shape, uint32_t *dims)
{
    for (const emp_json *v = emp_json_first(list); v != NULL; v = emp_json_next(v)) {
        int64_t d = emp_hlo_config_number(v);
        if (d < 0 || d >= shape->rank) return false;
        *dims |= 1U << d;
    }
    return true;
}

/* cuBLAS: the first two operands. */
static bool add_gemm(const emp_hlo_module *m, const emp_hlo_instruction *i,
                     const emp_json *config, emp_op_cost *cost)
{
    const emp_json        *numbers = emp_hlo_config_find(config, "dot_dimension_numbers");
    const emp_tensor_info *a = tensor_of(m, i, 0), *b = tensor_of(m, i, 1);
    dot_dims               d = {0};

    return numbers != NULL && a != NULL && b != NULL &&
           read_json_dims(emp_json_get(numbers, "lhs_batch_dimensions"), &a->shape,
                          &d.batch[0]) &&
           read_json_dims(emp_json_get(numbers, "rhs_batch_dimensions"), &b->shape,
                          &d.batch[1]) &&
           read_json_dims(emp_json_get(numbers, "lhs_contracting_dimensions"), &a->shape,
                          &d.contracted[0]) &&
           read_json_dims(emp_json_get(numbers, "rhs_contracting_dimensions"), &b->shape,
                          &d.contracted[1]) &&
           add_dot(a, b, &d, cost);
}

/* Older versions of XLA state it in a truth value, of newer ones in a text. */
static bool is_causal(const emp_json *config)
{
    const char *mask = emp_json_string(emp_hlo_config_find(config, "mask_type"));

    return (mask != NULL && strstr(mask, "CAUSAL") != NULL) ||
           emp_json_is(emp_hlo_config_find(config, "is_causal_mask"), EMP_JSON_TRUE);
}

/* cuDNN's attention of q, k and v. Its weights, [batch, heads, queries, keys], are not among its results.
 * Backward they come again, then the gradients of v, weights, q and k. k and v may have
 * fewer heads than q. A causal mask leaves half of the pairs, a sliding window as many keys as it is long. */
static bool add_attention(const emp_hlo_module *m, const emp_hlo_instruction *i,
                          const emp_json *config, bool is_backward, emp_op_cost *cost)
{
    const emp_json *list = emp_json_get(
        emp_hlo_config_find(config, "intermediate_tensor_shape"), "dimensions");
    const emp_tensor_info *q = tensor_of(m, i, 0), *k = tensor_of(m, i, 1),
                          *v = tensor_of(m, i, 2);
    int64_t window =
        emp_hlo_config_number(emp_hlo_config_find(config, "sliding_window_length"));
    double size[4];
    int    count = 0;

    for (const emp_json *d = emp_json_first(list); d != NULL; d = emp_json_next(d)) {
        if (count == 4 || emp_hlo_config_number(d) < 1) return false;
        size[count++] = (double)emp_hlo_config_number(d);
    }
    if (count != 4 || q == NULL || k == NULL || v == NULL || elements_of(k) < 1.0)
        return false;
    double batch = size[0] * size[1], pairs = size[3];
    double width = elements_of(q) / (batch * size[2]);
    double value_width = width * elements_of(v) / elements_of(k);
    if (window > 0) pairs = fmin(pairs, (double)window);
    if (is_causal(config) && size[2] == size[3])
        pairs = ceil(pairs - pairs * pairs / (2.0 * size[3]));
    double depth = is_backward ? 3.0 * width + 2.0 * value_width : width + value_width;
    emp_op_cost product = {.op_class = EMP_OP_GEMM,
                           .flops = 2.0 * batch * size[2] * pairs * depth,
                           .m = at_least_1(size[2]),
                           .n = at_least_1(pairs),
                           .k = at_least_1(depth),
                           .batch = at_least_1(batch)};
    emp_hlo_add_product(cost, &product);
    return true;
}

/* cuBLAS and cuDNN's attention say in their configuration what shapes do not. */
static emp_status add_configured(const emp_hlo_module *m, const emp_hlo_instruction *i,
                                 emp_slice target, emp_op_cost *cost, bool *is_known,
                                 emp_error *err)
{
    emp_json_document config;
    const bool        is_backward = emp_slice_ends(target, "Backward");

    EMP_CHECK(emp_hlo_config_read(&config, m, i, err));
    *is_known = emp_slice_starts(target, "__cublas$")
                    ? add_gemm(m, i, config.root, cost)
                    : add_attention(m, i, config.root, is_backward, cost);
    emp_json_clear(&config);
    return EMP_OK;
}

emp_status emp_hlo_add_call(const emp_hlo_module *m, const emp_hlo_instruction *i,
                            emp_op_cost *cost, bool *is_known, emp_error *err)
{
    static const struct {
        const char *target;
        conv_result result;
    } convolutions[] = {
        {"__cudnn$convForward", FORWARD},
        {"__cudnn$convForwardGraph", FORWARD},
        {"__cudnn$convBiasActivationForward", FORWARD},
        {"__cudnn$convBackwardInput", OF_INPUT},
        {"__cudnn$convBackwardFilter", OF_FILTER},
    };
    emp_slice target = emp_hlo_text_of(m, i, "custom_call_target");

    *is_known = false;
    if (emp_slice_starts(target, "__cublas$") || emp_slice_starts(target, "__cudnn$fmha"))
        return add_configured(m, i, target, cost, is_known, err);
    for (size_t k = 0; k < sizeof convolutions / sizeof convolutions[0]; k++)
        if (emp_slice_is(target, convolutions[k].target))
            *is_known = add_convolution(m, i, convolutions[k].result, cost);
    return EMP_OK;
}
