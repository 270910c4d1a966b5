// SPDX-License-Identifier: GPL-3.0-or-later
#include <math.h>
#include <stdio.h>

#include "graphs/import/hlo/lower.h"
#include "graphs/import/hlo/module.h"

/* Why a kernel has no cost, in a sentence. */
enum { REASON_BYTES = 160 };

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

static void hlo_add_product(emp_op_cost *cost, const emp_op_cost *product)
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
    double n = product_of(&b->shape, ~(d->batch[1] | d->contracted[1]));

    if (batch != product_of(&b->shape, d->batch[1]) ||
        k != product_of(&b->shape, d->contracted[1]) ||
        (d->batch[0] & d->contracted[0]) || (d->batch[1] & d->contracted[1]))
        return false;
    emp_op_cost product = {.op_class = EMP_OP_GEMM,
                           .flops = 2.0 * batch * m * n * k,
                           .m = at_least_1(m),
                           .n = at_least_1(n),
                           .k = at_least_1(k),
                           .batch = at_least_1(batch)};
    hlo_add_product(cost, &product);
    return true;
}

static const emp_tensor_info *tensor_of(const emp_hlo_module      *m,
                                        const emp_hlo_instruction *i, int32_t operand)
{
    const emp_hlo_instruction *from =
        operand < i->operand_count ? emp_hlo_operand(m, i, operand) : NULL;

    return from != NULL && from->tensor_count > 0 ? emp_hlo_result(m, from) : NULL;
}

/* Adds a dot to cost: class, FLOPs, m, n, k and batch. The largest of several products gives the
 * sizes, and the batch makes up for the others. Each returns false, with a reason, if shapes and
 * attributes do not fit. */
static bool hlo_add_dot(const emp_hlo_module *m, const emp_hlo_instruction *i,
                        emp_op_cost *cost, char reason[REASON_BYTES])
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
    if (is_right && add_dot(side[0], side[1], &dims, cost)) return true;
    if (side[0] == NULL || side[1] == NULL)
        snprintf(reason, REASON_BYTES, "has no two operands");
    else
        snprintf(reason, REASON_BYTES,
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

/* The numbers of "stride=2x2" in "size=3x3 stride=2x2", multiplied; 1: there are none. */
static double hlo_window_product(emp_slice window, const char *key)
{
    const char  *at = window.data, *end = at + window.size;
    const size_t size = strlen(key);
    double       product = 1.0, own = 0.0;

    while (at < end &&
           ((size_t)(end - at) <= size || memcmp(at, key, size) != 0 || at[size] != '='))
        at++;
    if (at == end) return 1.0;
    for (at += size + 1; at < end && *at != ' '; at++) {
        bool is_digit = *at >= '0' && *at <= '9';
        if (!is_digit) product *= own;
        own = is_digit ? fmin(10.0 * own + (*at - '0'), 1e9) : 0.0;
    }
    return fmax(1.0, product * own);
}

static emp_conv_window window_of(emp_slice window, double taps)
{
    bool is_3x3 =
        emp_slice_is(window, "size=3x3") || emp_slice_starts(window, "size=3x3 ");
    double steps =
        hlo_window_product(window, "stride") * hlo_window_product(window, "rhs_dilate");

    if (taps == 1.0) return EMP_CONV_POINT;
    return is_3x3 && steps == 1.0 ? EMP_CONV_WINOGRAD : EMP_CONV_WIDE;
}

/* Each element of y sums the input channels of its group under the window: 2 |y| |filter| / o, less the
 * zeros that a dilated input has between its elements. */
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
    double holes = hlo_window_product(window, "lhs_dilate");
    double taps = elements_of(info[1]) / made / channels,
           pixels = elements_of(info[2]) / made;
    double flops = 2.0 * elements_of(info[2]) * channels * taps / holes;
    double mnk[][3] = {{pixels, made / groups, channels * taps},
                       {elements_of(info[0]) / read, channels, 0.0},
                       {channels * taps, made / groups, pixels}};
    mnk[OF_INPUT][2] = flops / (2.0 * fmax(1.0, mnk[OF_INPUT][0]) * channels * groups);
    bool        is_dot = labels.filter.size == 2; /* as TPUs have them */
    emp_op_cost product = {.op_class = is_dot ? EMP_OP_GEMM : EMP_OP_CONV,
                           .flops = flops,
                           .m = at_least_1(mnk[result][0]),
                           .n = at_least_1(mnk[result][1]),
                           .k = at_least_1(mnk[result][2]),
                           .batch = at_least_1(groups),
                           .window = window_of(window, taps)};
    if (groups > 1.0 && channels == 1.0) { /* too little work a byte for a product */
        cost->flops += flops;
        cost->cpu_cycles += flops;
        if (cost->m == 0) cost->op_class = EMP_OP_POOL;
    } else {
        hlo_add_product(cost, &product);
    }
    return true;
}

static bool hlo_add_convolution(const emp_hlo_module *m, const emp_hlo_instruction *i,
                                emp_op_cost *cost, char reason[REASON_BYTES])
{
    if (add_convolution(m, i, FORWARD, cost)) return true;
    snprintf(reason, REASON_BYTES,
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
 * Backward they come again, then the gradients of v, weights, q and k. A causal mask
 * leaves half of them. */
static bool add_attention(const emp_hlo_module *m, const emp_hlo_instruction *i,
                          const emp_json *config, bool is_backward, emp_op_cost *cost)
{
    const emp_json *list = emp_json_get(
        emp_hlo_config_find(config, "intermediate_tensor_shape"), "dimensions");
    const emp_tensor_info *q = tensor_of(m, i, 0), *v = tensor_of(m, i, 2);
    double                 size[4];
    int                    count = 0;

    for (const emp_json *d = emp_json_first(list); d != NULL; d = emp_json_next(d)) {
        if (count == 4 || emp_hlo_config_number(d) < 1) return false;
        size[count++] = (double)emp_hlo_config_number(d);
    }
    if (count != 4 || q == NULL || v == NULL) return false;
    double batch = size[0] * size[1], pairs = size[3];
    double width = elements_of(q) / (batch * size[2]);
    double value_width = elements_of(v) / (batch * size[3]);
    if (is_causal(config) && size[2] == size[3]) pairs = ceil(size[3] / 2.0);
    double      k = is_backward ? 3.0 * width + 2.0 * value_width : width + value_width;
    emp_op_cost product = {.op_class = EMP_OP_GEMM,
                           .flops = 2.0 * batch * size[2] * pairs * k,
                           .m = at_least_1(size[2]),
                           .n = at_least_1(pairs),
                           .k = at_least_1(k),
                           .batch = at_least_1(batch)};
    hlo_add_product(cost, &product);
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

/* Adds what a call of a library computes, if the target and how it is called are known. */
static emp_status hlo_add_call(const emp_hlo_module *m, const emp_hlo_instruction *i,
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

static emp_hlo_what what_of(const emp_hlo_module *m, const emp_hlo_instruction *i)
{
    return emp_hlo_op(m, i)->what;
}

/* ---- arithmetic ---- */

/* The work that says most of a kernel wins. */
static void raise_class(emp_op_cost *cost, emp_op_class op_class)
{
    static const int8_t rank[] = {
        [EMP_OP_KERNELLESS] = 0, [EMP_OP_MOVEMENT] = 1, [EMP_OP_ELEMENTWISE] = 2,
        [EMP_OP_OPTIMIZER] = 2,  [EMP_OP_HOST] = 2,     [EMP_OP_REDUCTION] = 3,
        [EMP_OP_POOL] = 4,       [EMP_OP_NORM] = 5,     [EMP_OP_GEMM] = 6,
        [EMP_OP_CONV] = 7};

    if (rank[op_class] > rank[cost->op_class]) cost->op_class = op_class;
}

static void count(emp_op_cost *cost, emp_op_class op_class, const emp_op_rates *rates,
                  double elements)
{
    raise_class(cost, op_class);
    cost->flops += rates->flops * elements;
    cost->cpu_cycles += rates->cycles * elements;
}

/* Elements of all results, and of all operands that a reduction reduces. */
static double made_by(const emp_hlo_module *m, const emp_hlo_instruction *i)
{
    emp_hlo_made made = emp_hlo_made_by(m, i);
    double       sum = 0.0;

    for (int32_t t = made.begin; t < made.end; t++)
        sum += (double)emp_shape_elements(&m->tensor[i->first_tensor + t]->shape);
    return sum;
}

static double reduced_by(const emp_hlo_module *m, const emp_hlo_instruction *i)
{
    double sum = 0.0;

    for (int32_t k = 0; k < (i->operand_count + 1) / 2; k++)
        sum += (double)emp_hlo_elements(m, emp_hlo_operand(m, i, k));
    return sum;
}

static double updates_of(const emp_hlo_module *m, const emp_hlo_instruction *i)
{
    double sum = 0.0;

    for (int32_t k = i->operand_count / 2 + 1; k < i->operand_count; k++)
        sum += (double)emp_hlo_elements(m, emp_hlo_operand(m, i, k));
    return sum;
}

static void count_passes(const emp_hlo_module *m, const emp_hlo_instruction *i,
                         const emp_op_rates *rates, emp_op_cost *cost)
{
    int64_t bytes = i->operand_count > 0 ? emp_hlo_bytes(m, emp_hlo_operand(m, i, 0)) : 0;

    count(cost, EMP_OP_NORM, rates, made_by(m, i));
    for (int32_t k = 1; k < rates->reads; k++)
        cost->bytes_read = emp_add_saturating(cost->bytes_read, bytes);
    for (int32_t k = 1; k < rates->writes; k++)
        cost->bytes_written = emp_add_saturating(cost->bytes_written, bytes);
    if (rates->kernels > cost->kernels) cost->kernels = rates->kernels;
}

/* Arithmetic of an instruction by its type's entry; what is not known is element-wise. */
static void count_by_type(const emp_hlo_module *m, const emp_hlo_instruction *i,
                          emp_op_cost *cost)
{
    const emp_op_type  *type = emp_hlo_op(m, i)->entry;
    const emp_op_rates *rates =
        type != NULL ? &type->rates : &emp_op_type_unknown()->rates;
    emp_slice window = emp_hlo_text_of(m, i, "window");

    switch (type != NULL ? type->work : EMP_WORK_ELEMENTWISE) {
    case EMP_WORK_NOTHING: break;
    case EMP_WORK_REDUCE: count(cost, EMP_OP_REDUCTION, rates, reduced_by(m, i)); break;
    case EMP_WORK_POOL:
        count(cost, EMP_OP_POOL, &(emp_op_rates){.flops = 1.0, .cycles = 1.0},
              made_by(m, i) * hlo_window_product(window, "size"));
        break;
    case EMP_WORK_NORM: count_passes(m, i, rates, cost); break;
    case EMP_WORK_SCATTER:
        count(cost, EMP_OP_MOVEMENT, &(emp_op_rates){.flops = 1.0, .cycles = 1.0},
              emp_hlo_op(m, i)->what == EMP_HLO_SCATTER ? updates_of(m, i) : 0.0);
        break;
    case EMP_WORK_MOVE:
    case EMP_WORK_GATHER:
    case EMP_WORK_FILL: raise_class(cost, EMP_OP_MOVEMENT); break;
    default: count(cost, EMP_OP_ELEMENTWISE, rates, made_by(m, i)); break;
    }
}

/* A body as part of another kernel: its arithmetic, not its bytes. */
static void add_body(emp_op_cost *cost, const emp_op_cost *body)
{
    double products =
        2.0 * (double)body->m * (double)body->n * (double)body->k * (double)body->batch;
    emp_op_cost product = *body;

    if (products > 0.0) {
        product.flops = products < body->flops ? products : body->flops;
        hlo_add_product(cost, &product);
        cost->flops += body->flops - product.flops;
    } else {
        cost->flops += body->flops;
    }
    raise_class(cost, body->op_class);
    cost->cpu_cycles += body->cpu_cycles;
    if (body->kernels > cost->kernels) cost->kernels = body->kernels;
}

static emp_status count_call(const emp_hlo_kernels *k, const emp_hlo_instruction *i,
                             emp_op_cost *cost, emp_error *err)
{
    emp_slice target = emp_hlo_text_of(k->m, i, "custom_call_target");
    bool      is_known = false;

    EMP_CHECK(hlo_add_call(k->m, i, cost, &is_known, err));
    if (is_known) return EMP_OK;
    count(cost, EMP_OP_ELEMENTWISE, &emp_op_type_unknown()->rates, made_by(k->m, i));
    emp_import_notes_assume(k->notes,
                            "what calls of \"%.*s\" compute is not known: they read and "
                            "write their data once",
                            EMP_SLICE_ARG(target));
    return EMP_OK;
}

static bool computes(emp_hlo_what what)
{
    switch (what) {
    case EMP_HLO_PARAMETER:
    case EMP_HLO_CONSTANT:
    case EMP_HLO_VIEW:
    case EMP_HLO_TUPLE:
    case EMP_HLO_PART:
    case EMP_HLO_NOTHING:
    case EMP_HLO_DONE: return false;
    default: return true;
    }
}

/* The work of one instruction. */
static emp_status count_instruction(const emp_hlo_kernels     *k,
                                    const emp_hlo_instruction *i, emp_op_cost *cost,
                                    emp_error *err)
{
    char                  reason[REASON_BYTES];
    const emp_hlo_opcode *op = emp_hlo_op(k->m, i);
    emp_op_work work = op->entry != NULL ? op->entry->work : EMP_WORK_ELEMENTWISE;
    bool        is_right = true;

    if (!computes(op->what)) return EMP_OK;
    if (op->what == EMP_HLO_CUSTOM) return count_call(k, i, cost, err);
    if (i->called >= 0)
        add_body(cost, k->body[i->called].cost);
    else if (work == EMP_WORK_PRODUCT)
        is_right = hlo_add_dot(k->m, i, cost, reason);
    else if (work == EMP_WORK_CONVOLUTION)
        is_right = hlo_add_convolution(k->m, i, cost, reason);
    else
        count_by_type(k->m, i, cost);
    if (!is_right)
        emp_import_notes_problem(k->notes, "line %d: %.*s %s",
                                 emp_hlo_line(k->m, k->m->begin + i->name_at),
                                 EMP_SLICE_ARG(emp_hlo_name(k->m, i)), reason);
    return EMP_OK;
}

/* ---- bytes ---- */

/* Where the updates of a scatter begin: as many operands, one of numbers, as many updates. */
static int32_t first_update(const emp_hlo_instruction *i)
{
    return i->operand_count / 2 + 1;
}

static int64_t bytes_of_operand(const emp_hlo_module *m, const emp_hlo_instruction *i,
                                int32_t operand)
{
    return operand < i->operand_count ? emp_hlo_bytes(m, emp_hlo_operand(m, i, operand))
                                      : 0;
}

static int64_t bytes_made_by(const emp_hlo_module *m, const emp_hlo_instruction *i)
{
    emp_hlo_made made = emp_hlo_made_by(m, i);
    int64_t      bytes = 0;

    for (int32_t t = i->first_tensor + made.begin; t < i->first_tensor + made.end; t++)
        bytes = emp_add_saturating(bytes, emp_hlo_tensor_bytes(m->tensor[t]));
    return bytes;
}

/* Bytes read of an operand: rows that it gathers, nothing of what it only writes, else all. */
static int64_t read_of(const emp_hlo_kernels *k, const emp_hlo_instruction *i,
                       int32_t operand)
{
    const emp_hlo_module *m = k->m;

    switch (what_of(m, i)) {
    case EMP_HLO_SLICE:
        return operand == 0 ? bytes_made_by(m, i) : bytes_of_operand(m, i, operand);
    case EMP_HLO_UPDATE: return operand == 0 ? 0 : bytes_of_operand(m, i, operand);
    case EMP_HLO_SCATTER:
        return bytes_of_operand(
            m, i, operand < i->operand_count / 2 ? operand + first_update(i) : operand);
    case EMP_HLO_FUSION:
        if (operand >= m->computation[i->called].parameter_count) return 0;
        return k->read[k->body[i->called].first_read + operand];
    case EMP_HLO_VIEW:
    case EMP_HLO_TUPLE:
    case EMP_HLO_PART: return 0;
    default: return bytes_of_operand(m, i, operand);
    }
}

static const emp_hlo_instruction *origin_of(const emp_hlo_kernels     *k,
                                            const emp_hlo_instruction *i)
{
    return &k->m->instruction[k->origin[i - k->m->instruction]];
}

static int64_t written_by_one(const emp_hlo_kernels *k, const emp_hlo_instruction *i)
{
    const emp_hlo_module *m = k->m;
    int64_t               bytes = 0;

    switch (what_of(m, i)) {
    case EMP_HLO_UPDATE: return bytes_of_operand(m, i, 1);
    case EMP_HLO_SCATTER:
        for (int32_t o = first_update(i); o < i->operand_count; o++)
            bytes = emp_add_saturating(bytes, bytes_of_operand(m, i, o));
        return bytes;
    case EMP_HLO_FUSION: return k->body[i->called].cost->bytes_written;
    case EMP_HLO_PARAMETER: return 0;
    default: return bytes_made_by(m, i);
    }
}

/* Bytes that a kernel writes: its result, or each part of a tuple. */
static int64_t written_by(const emp_hlo_kernels *k, const emp_hlo_instruction *i)
{
    int64_t bytes = 0;

    i = origin_of(k, i);
    if (what_of(k->m, i) != EMP_HLO_TUPLE) return written_by_one(k, i);
    for (int32_t o = 0; o < i->operand_count; o++)
        bytes = emp_add_saturating(
            bytes, written_by_one(k, origin_of(k, emp_hlo_operand(k->m, i, o))));
    return bytes;
}

/* ---- computations ---- */

/* The parameter whose buffer the root writes its result into; -1: it has a buffer of its own. */
static int32_t updated_by(const emp_hlo_kernels *k, const emp_hlo_computation *c)
{
    const emp_hlo_module      *m = k->m;
    const emp_hlo_instruction *root = origin_of(k, &m->instruction[c->root]);

    if (what_of(m, root) != EMP_HLO_UPDATE &&
        (what_of(m, root) != EMP_HLO_SCATTER || root->operand_count != 3))
        return -1;
    const emp_hlo_instruction *target = origin_of(k, emp_hlo_operand(m, root, 0));
    bool is_whole = emp_hlo_bytes(m, target) == emp_hlo_bytes(m, root);
    return what_of(m, target) == EMP_HLO_PARAMETER && is_whole ? target->number : -1;
}

static emp_status keep_cost(const emp_op_cost **kept, emp_hlo_kernels *k,
                            const emp_op_cost *cost, emp_error *err)
{
    *kept = emp_value_keep(&k->kept, &k->costs, cost, sizeof *cost);
    return *kept != NULL ? EMP_OK : EMP_ERROR(EMP_ENOMEM, "cost of a kernel");
}

/* Adds to the bytes that the computation reads of its parameters. */
static void count_reads(emp_hlo_kernels *k, const emp_hlo_instruction *i,
                        int32_t first_read)
{
    const emp_hlo_module *m = k->m;

    for (int32_t o = 0; o < i->operand_count; o++) {
        const emp_hlo_instruction *from = origin_of(k, emp_hlo_operand(m, i, o));
        if (what_of(m, from) != EMP_HLO_PARAMETER || from->is_broken) continue;
        int64_t *read = &k->read[first_read + from->number];
        *read = emp_add_saturating(*read, read_of(k, i, o));
        int64_t all = emp_hlo_bytes(m, from);
        if (*read > all) *read = all;
    }
}

/* As part of one kernel. */
static emp_status cost_body(emp_hlo_kernels *k, const emp_hlo_computation *c,
                            emp_hlo_body *body, emp_error *err)
{
    const emp_hlo_module *m = k->m;
    emp_op_cost           cost = {0};

    for (int32_t n = c->first; n < c->first + c->count; n++) {
        const emp_hlo_instruction *i = &m->instruction[n];
        if (i->is_broken) continue;
        EMP_CHECK(count_instruction(k, i, &cost, err));
        count_reads(k, i, body->first_read);
    }
    if (!m->instruction[c->root].is_broken) {
        cost.bytes_written = written_by(k, &m->instruction[c->root]);
        body->updated = updated_by(k, c);
    }
    return keep_cost(&body->cost, k, &cost, err);
}

/* As kernels, of which nothing is a part. */
static emp_status cost_entry(emp_hlo_kernels *k, const emp_hlo_computation *c,
                             emp_error *err)
{
    const emp_op_cost *cost;

    for (int32_t n = c->first; n < c->first + c->count; n++) {
        const emp_hlo_instruction *i = &k->m->instruction[n];
        if (!i->is_broken && computes(what_of(k->m, i)))
            EMP_CHECK(emp_hlo_kernel_cost(k, i, &cost, err));
    }
    return EMP_OK;
}

/* A view of a view is one of what that is a view of. */
static void find_origins(emp_hlo_kernels *k, const emp_hlo_computation *c)
{
    const emp_hlo_module *m = k->m;

    for (int32_t n = c->first; n < c->first + c->count; n++) {
        const emp_hlo_instruction *i = &m->instruction[n];
        const bool is_view = !i->is_broken && what_of(m, i) == EMP_HLO_VIEW;
        k->origin[n] = is_view ? k->origin[m->operand[i->first_operand]] : n;
    }
}

emp_status emp_hlo_kernels_add(emp_hlo_kernels *k, emp_error *err)
{
    const int32_t              number = k->m->computation_count - 1;
    const emp_hlo_computation *c = &k->m->computation[number];
    const int64_t              reads = (int64_t)k->read_count + c->parameter_count;

    EMP_CHECK(EMP_GROW(k->body, number + 1, k->body_capacity));
    EMP_CHECK(EMP_GROW(k->read, reads, k->read_capacity));
    EMP_CHECK(EMP_GROW(k->origin, k->m->instruction_count, k->origin_capacity));
    k->body[number] = (emp_hlo_body){.updated = -1, .first_read = k->read_count};
    while (k->read_count < reads) k->read[k->read_count++] = 0;
    find_origins(k, c);
    if (number == k->m->entry) return cost_entry(k, c, err);
    return cost_body(k, c, &k->body[number], err);
}

void emp_hlo_kernels_clear(emp_hlo_kernels *k)
{
    emp_free(k->body);
    emp_free(k->read);
    emp_free(k->origin);
    emp_free((void *)k->cost);
    emp_value_set_clear(&k->kept);
    emp_arena_clear(&k->costs);
    *k = (emp_hlo_kernels){0};
}

static emp_status compute_cost(const emp_hlo_kernels *k, const emp_hlo_instruction *i,
                               emp_op_cost *cost, emp_error *err)
{
    *cost = (emp_op_cost){.kernels = 1};
    EMP_CHECK(count_instruction(k, i, cost, err));
    for (int32_t o = 0; o < i->operand_count; o++)
        cost->bytes_read = emp_add_saturating(cost->bytes_read, read_of(k, i, o));
    cost->bytes_written = emp_add_saturating(cost->bytes_written, written_by_one(k, i));
    cost->workspace_bytes = emp_hlo_made_by(k->m, i).workspace_bytes;
    raise_class(cost, EMP_OP_MOVEMENT);
    return EMP_OK;
}

emp_status emp_hlo_kernel_cost(emp_hlo_kernels *k, const emp_hlo_instruction *i,
                               const emp_op_cost **cost, emp_error *err)
{
    const int32_t n = (int32_t)(i - k->m->instruction);
    emp_op_cost   own;

    EMP_CHECK(EMP_GROW(k->cost, k->m->instruction_count, k->cost_capacity));
    while (k->cost_count < k->m->instruction_count) k->cost[k->cost_count++] = NULL;
    if (k->cost[n] == NULL) {
        EMP_CHECK(compute_cost(k, i, &own, err));
        EMP_CHECK(keep_cost(&k->cost[n], k, &own, err));
    }
    *cost = k->cost[n];
    return EMP_OK;
}

int32_t emp_hlo_updated_operand(const emp_hlo_kernels *k, const emp_hlo_instruction *i)
{
    switch (what_of(k->m, i)) {
    case EMP_HLO_UPDATE: return 0;
    case EMP_HLO_SCATTER: return i->operand_count == 3 ? 0 : -1;
    case EMP_HLO_FUSION: return k->body[i->called].updated;
    default: return -1;
    }
}
