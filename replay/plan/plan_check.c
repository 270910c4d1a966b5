// SPDX-License-Identifier: GPL-3.0-or-later
/* Do kernels stay within their operands? What sizes say is compared with the bytes that
 * the op's tensors have, once, so that kernels need not look. */
#include <string.h>

#include "replay/plan/plan_internal.h"

enum { FLOAT_BYTES = 4, LARGEST = 1 << 30 };

struct view {
    const emp_replay_plan *plan;
    int32_t                op;
    const int64_t         *size;
    int32_t                variant;
    bool                   is_bad;
};

/* Elements of an operand, that must be there and have four bytes each. */
static int64_t input_floats(struct view *v, int64_t number)
{
    const emp_replay_plan *p = v->plan;
    int32_t                first = p->input_offset[v->op];

    if (number < 0 || number >= p->input_offset[v->op + 1] - first) {
        v->is_bad = true;
        return 0;
    }
    return p->input[first + number].bytes / FLOAT_BYTES;
}

static int64_t output_floats(struct view *v, int64_t number)
{
    const emp_replay_plan *p = v->plan;
    int32_t                first = p->output_offset[v->op];

    if (number < 0 || number >= p->output_offset[v->op + 1] - first) {
        v->is_bad = true;
        return 0;
    }
    return p->tensor[first + number].bytes / FLOAT_BYTES;
}

/* A product of sizes, that must be at least 1 each and stay below 2^60. */
static int64_t times(struct view *v, int count, const int *at)
{
    double product = 1.0;

    for (int i = 0; i < count; i++) {
        if (v->size[at[i]] < 1 || v->size[at[i]] > LARGEST) v->is_bad = true;
        product *= (double)v->size[at[i]];
    }
    if (product > 0x1p60) v->is_bad = true;
    return v->is_bad ? 0 : (int64_t)product;
}

#define PRODUCT_OF(...) \
    times(v, (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (int[]){__VA_ARGS__})

static void need(struct view *v, int64_t wanted, int64_t there)
{
    if (wanted > there) v->is_bad = true;
}

static void check_product(struct view *v)
{
    need(v, PRODUCT_OF(EMP_PRODUCT_M, EMP_PRODUCT_K, EMP_PRODUCT_BATCH),
         input_floats(v, v->size[EMP_PRODUCT_A]));
    need(v, PRODUCT_OF(EMP_PRODUCT_K, EMP_PRODUCT_N, EMP_PRODUCT_BATCH),
         input_floats(v, v->size[EMP_PRODUCT_B]));
    need(v, PRODUCT_OF(EMP_PRODUCT_M, EMP_PRODUCT_N, EMP_PRODUCT_BATCH),
         output_floats(v, 0));
}

static void check_conv(struct view *v)
{
    int64_t image = PRODUCT_OF(EMP_CONV_N, EMP_CONV_H, EMP_CONV_W, EMP_CONV_C);
    int64_t filter = PRODUCT_OF(EMP_CONV_KH, EMP_CONV_KW, EMP_CONV_C, EMP_CONV_F);
    int64_t out = PRODUCT_OF(EMP_CONV_N, EMP_CONV_OH, EMP_CONV_OW, EMP_CONV_F);
    int32_t direction = v->variant & EMP_CONV_DIRECTION;

    (void)PRODUCT_OF(EMP_CONV_SH, EMP_CONV_SW);
    if (v->size[EMP_CONV_PH] < 0 || v->size[EMP_CONV_PW] < 0 ||
        v->size[EMP_CONV_PH] > v->size[EMP_CONV_KH] ||
        v->size[EMP_CONV_PW] > v->size[EMP_CONV_KW] || direction > EMP_CONV_FILTER ||
        PRODUCT_OF(EMP_CONV_KH, EMP_CONV_KW, EMP_CONV_C) + v->size[EMP_CONV_F] >
            EMP_CONV_LARGEST_ROW) {
        v->is_bad = true;
        return;
    }
    need(v, direction == EMP_CONV_INPUT ? filter : image,
         input_floats(v, direction == EMP_CONV_INPUT ? 1 : 0));
    need(v, direction == EMP_CONV_FORWARD ? filter : out,
         input_floats(v, direction == EMP_CONV_FORWARD ? 1 : 2));
    need(v,
         direction == EMP_CONV_FORWARD ? out
         : direction == EMP_CONV_INPUT ? image
                                       : filter,
         output_floats(v, 0));
}

static void check_map(struct view *v)
{
    const emp_replay_plan *p = v->plan;
    int32_t                output = p->output_offset[v->op];

    if (output == p->output_offset[v->op + 1] || v->size[0] < 0 ||
        v->size[0] > p->tensor[output].bytes / p->tensor[output].element_bytes)
        v->is_bad = true;
}

static void check_move(struct view *v)
{
    if (v->variant == EMP_MOVE_TRANSPOSE) {
        int64_t n = PRODUCT_OF(EMP_MOVE_ROWS, EMP_MOVE_COLUMNS, EMP_MOVE_BATCH);
        need(v, n, input_floats(v, 0));
        need(v, n, output_floats(v, 0));
    } else if (v->size[EMP_MOVE_RUN] < 1) {
        v->is_bad = true;
    }
}

static void check_rows(struct view *v, int64_t table, int64_t index, int64_t floats)
{
    need(v, v->size[1], input_floats(v, table)); /* a row at least */
    need(v, v->size[0] > 0, input_floats(v, index));
    need(v, PRODUCT_OF(0, 1), floats);
}

static void check_scatter(struct view *v)
{
    const int64_t *s = v->size;
    int64_t        tables = v->variant == EMP_SCATTER_STORAGE ? s[EMP_SCATTER_TABLES] : 0;

    for (int64_t i = 0; i < tables && !v->is_bad; i++) {
        need(v, s[EMP_SCATTER_WIDTH], input_floats(v, i));
    }
    if (v->variant != EMP_SCATTER_STORAGE)
        need(v, s[EMP_SCATTER_WIDTH], output_floats(v, 0));
    need(v, s[EMP_SCATTER_ROWS] > 0, input_floats(v, s[EMP_SCATTER_INDEX]));
    need(v, PRODUCT_OF(EMP_SCATTER_ROWS, EMP_SCATTER_WIDTH),
         input_floats(v, s[EMP_SCATTER_VALUE]));
}

static void check_update(struct view *v)
{
    const int64_t *s = v->size;

    if (s[EMP_UPDATE_N] < 0 || s[EMP_UPDATE_TABLES] < 1) v->is_bad = true;
    for (int64_t i = 0; i < s[EMP_UPDATE_TABLES] && !v->is_bad; i++) {
        need(v, s[EMP_UPDATE_N], input_floats(v, i));
    }
    if (s[EMP_UPDATE_VALUE] >= 0) need(v, 1, input_floats(v, s[EMP_UPDATE_VALUE]));
}

static void check_pool(struct view *v)
{
    bool    is_grad = v->variant & EMP_POOL_GRAD;
    int64_t image = PRODUCT_OF(EMP_POOL_N, EMP_POOL_H, EMP_POOL_W, EMP_POOL_C);
    int64_t out = PRODUCT_OF(EMP_POOL_N, EMP_POOL_OH, EMP_POOL_OW, EMP_POOL_C);
    bool    is_avg = v->variant & EMP_POOL_AVG;

    (void)PRODUCT_OF(EMP_POOL_KH, EMP_POOL_KW, EMP_POOL_SH, EMP_POOL_SW);
    if (!is_grad || !is_avg) need(v, image, input_floats(v, 0));
    if (is_grad) need(v, out, input_floats(v, is_avg ? 1 : 2));
    need(v, is_grad ? image : out, output_floats(v, 0));
}

static void check_softmax(struct view *v)
{
    int64_t n = PRODUCT_OF(EMP_SOFTMAX_ROWS, EMP_SOFTMAX_COLUMNS);

    need(v, n, input_floats(v, 0));
    if (v->variant == EMP_SOFTMAX_PLAIN) {
        need(v, n, output_floats(v, 0));
    } else {
        need(v, v->size[EMP_SOFTMAX_ROWS], output_floats(v, 0));
        need(v, n, output_floats(v, 1));
        need(v, 1, input_floats(v, 1));
    }
}

static void check_norm(struct view *v)
{
    int64_t n = PRODUCT_OF(EMP_NORM_OUTER, EMP_NORM_CHANNELS, EMP_NORM_INNER);

    need(v, n, input_floats(v, 0));
    if (v->variant == EMP_NORM_GRAD) need(v, n, input_floats(v, 1));
    need(v, n, output_floats(v, 0));
}

static void check_reduce(struct view *v)
{
    need(v, PRODUCT_OF(EMP_REDUCE_N), input_floats(v, 0));
    need(v, PRODUCT_OF(EMP_REDUCE_M), output_floats(v, 0));
    need(v, v->size[EMP_REDUCE_M], v->size[EMP_REDUCE_N]);
}

emp_status emp_replay_check_kernel(const emp_replay_plan *plan, int32_t op,
                                   emp_error *err)
{
    const emp_replay_op *o = &plan->op[op];
    struct view          view = {plan, op, o->kernel.size, o->kernel.variant, false};
    struct view         *v = &view;

    if (view.variant < 0 || view.variant >= emp_kernel_variant_count(o->kernel.kind))
        return EMP_ERROR(EMP_EFORMAT, "op %s: its kernel %s has no variant %d", o->name,
                         emp_kernel_name(o->kernel.kind), view.variant);
    switch (o->kernel.kind) {
    case EMP_KERNEL_PRODUCT: check_product(v); break;
    case EMP_KERNEL_CONV: check_conv(v); break;
    case EMP_KERNEL_MAP: check_map(v); break;
    case EMP_KERNEL_REDUCE: check_reduce(v); break;
    case EMP_KERNEL_MOVE: check_move(v); break;
    case EMP_KERNEL_LOOKUP: check_rows(v, 0, 1, output_floats(v, 0)); break;
    case EMP_KERNEL_SCATTER: check_scatter(v); break;
    case EMP_KERNEL_SOFTMAX: check_softmax(v); break;
    case EMP_KERNEL_NORM: check_norm(v); break;
    case EMP_KERNEL_POOL: check_pool(v); break;
    case EMP_KERNEL_UPDATE: check_update(v); break;
    case EMP_KERNEL_HOST: view.is_bad = o->kernel.size[EMP_HOST_ROUNDS] < 0; break;
    default: break;
    }
    if (view.is_bad)
        return EMP_ERROR(
            EMP_EFORMAT,
            "op %s: its kernel %s is larger than its tensors, as where a graph file "
            "leaves sizes open",
            o->name, emp_kernel_name(o->kernel.kind));
    return EMP_OK;
}
