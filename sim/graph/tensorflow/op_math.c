// SPDX-License-Identifier: GPL-3.0-or-later
// Element-wise ops, reductions and matrix products.
#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "sim/graph/op_entry.h"

EMP_INFER(same)
{
    return emp_set_output(&output[0],
                          op->input_count > 0 ? op->input[0].shape : EMP_SHAPE_UNKNOWN,
                          emp_view_dtype(op, 0));
}

EMP_INFER(predicate)
{
    return emp_set_output(&output[0], op->input[0].shape, EMP_DTYPE_BOOL);
}

EMP_INFER(broadcast)
{
    emp_shape  shape;
    emp_status st =
        emp_shape_broadcast(&op->input[0].shape, &op->input[1].shape, &shape, err);

    emp_set_output(&output[0], shape, emp_view_dtype(op, 0));
    return st;
}

EMP_INFER(compare)
{
    emp_status st = emp_op_infer_broadcast(op, output, output_count, err);

    output[0].dtype = EMP_DTYPE_BOOL;
    return st;
}

static bool is_integer(emp_dtype dtype)
{
    return dtype == EMP_DTYPE_INT32 || dtype == EMP_DTYPE_INT64;
}

/* Computes a op b; false when the result does not exist or does not fit. */
typedef bool (*fold_function)(int64_t a, int64_t b, int64_t *result);

/* The value of a binary op on small integer operands, where one may be a single element.
 */
static void fold_binary(const emp_op_view *op, emp_tensor_info *output,
                        fold_function fold)
{
    const emp_tensor_info *a = &op->input[0], *b = &op->input[1];
    int32_t count = a->value_count > b->value_count ? a->value_count : b->value_count;

    if (a->value_count == 0 || b->value_count == 0) count = 0;
    if (!is_integer(output->dtype) || a->value == NULL || b->value == NULL) return;
    if (!emp_shape_is_known(&output->shape) ||
        emp_shape_elements(&output->shape) != count ||
        (count > 0 && ((a->value_count != 1 && a->value_count != count) ||
                       (b->value_count != 1 && b->value_count != count))))
        return;
    int64_t *value = emp_view_new_value(op, count);
    if (value == NULL) return;
    for (int32_t i = 0; i < count; i++)
        if (!fold(a->value[a->value_count == 1 ? 0 : i],
                  b->value[b->value_count == 1 ? 0 : i], &value[i]))
            return;
    output->value = value;
    output->value_count = count;
}

static bool add(int64_t a, int64_t b, int64_t *r)
{
    return !__builtin_add_overflow(a, b, r);
}
static bool sub(int64_t a, int64_t b, int64_t *r)
{
    return !__builtin_sub_overflow(a, b, r);
}
static bool mul(int64_t a, int64_t b, int64_t *r)
{
    return !__builtin_mul_overflow(a, b, r);
}

static bool floor_div(int64_t a, int64_t b, int64_t *r)
{
    if (b == 0 || (a == INT64_MIN && b == -1)) return false;
    *r = a / b - (a % b != 0 && (a < 0) != (b < 0));
    return true;
}

static bool floor_mod(int64_t a, int64_t b, int64_t *r)
{
    if (!floor_div(a, b, r)) return false;
    *r = a - *r * b;
    return true;
}

static bool maximum(int64_t a, int64_t b, int64_t *r)
{
    *r = a > b ? a : b;
    return true;
}

static bool minimum(int64_t a, int64_t b, int64_t *r)
{
    *r = a < b ? a : b;
    return true;
}

#define INFER_FOLDED_BINARY(name)                                              \
    EMP_INFER(name)                                                            \
    {                                                                          \
        emp_status st = emp_op_infer_broadcast(op, output, output_count, err); \
        if (st == EMP_OK) fold_binary(op, output, name);                       \
        return st;                                                             \
    }

INFER_FOLDED_BINARY(add)
INFER_FOLDED_BINARY(sub)
INFER_FOLDED_BINARY(mul)
INFER_FOLDED_BINARY(floor_div)
INFER_FOLDED_BINARY(floor_mod)
INFER_FOLDED_BINARY(maximum)
INFER_FOLDED_BINARY(minimum)

/* All inputs have one shape: whatever any of them knows holds for the sum. */
EMP_INFER(add_n)
{
    emp_shape shape = op->input[0].shape;
    char      text_a[EMP_SHAPE_TEXT_BYTES], text_b[EMP_SHAPE_TEXT_BYTES];

    emp_set_output(&output[0], EMP_SHAPE_UNKNOWN, emp_view_dtype(op, 0));
    for (int32_t i = 1; i < op->input_count; i++) {
        const emp_shape *other = &op->input[i].shape;
        if (other->rank < 0) continue;
        if (shape.rank < 0) shape = *other;
        bool fits = shape.rank == other->rank;
        for (int32_t d = 0; fits && d < shape.rank; d++) {
            if (shape.dim[d] < 0) shape.dim[d] = other->dim[d];
            fits = other->dim[d] < 0 || other->dim[d] == shape.dim[d];
        }
        if (!fits)
            return EMP_ERROR(EMP_EFORMAT, "input %d is %s, the others are %s", i,
                             emp_shape_format(other, text_a),
                             emp_shape_format(&shape, text_b));
    }
    output[0].shape = shape;
    return EMP_OK;
}

EMP_INFER(select)
{
    const emp_shape *shape = &op->input[op->input[1].shape.rank >= 0 ? 1 : 2].shape;

    return emp_set_output(&output[0], *shape, emp_view_dtype(op, 1));
}

EMP_INFER(cast)
{
    emp_set_output(&output[0], op->input[0].shape, emp_view_dtype(op, 0));
    output[0].value = op->input[0].value;
    output[0].value_count = op->input[0].value_count;
    return EMP_OK;
}

/* Which dims a reduction's axes name, as bits; false when an axis is outside. */
static bool read_axes(const emp_tensor_info *axes, int32_t rank, uint32_t *reduced)
{
    *reduced = 0;
    for (int32_t i = 0; i < axes->value_count; i++) {
        int32_t axis = emp_axis_normalize(axes->value[i], rank);
        if (axis < 0) return false;
        *reduced |= 1U << axis;
    }
    return true;
}

EMP_INFER(reduce)
{
    const emp_shape       *input = &op->input[0].shape;
    const emp_tensor_info *axes = &op->input[1];
    emp_shape              shape = EMP_SHAPE_UNKNOWN;
    uint32_t               reduced = 0;
    char                   text[EMP_SHAPE_TEXT_BYTES];

    if (input->rank >= 0 && axes->value != NULL) {
        if (!read_axes(axes, input->rank, &reduced)) {
            emp_set_output(&output[0], shape, emp_view_dtype(op, 0));
            return EMP_ERROR(EMP_EFORMAT, "an axis is outside the input's shape %s",
                             emp_shape_format(input, text));
        }
        shape.rank = 0;
        for (int32_t d = 0; d < input->rank; d++) {
            if (!(reduced >> d & 1))
                shape.dim[shape.rank++] = input->dim[d];
            else if (op->attrs->keep_dims)
                shape.dim[shape.rank++] = 1;
        }
    } else if (input->rank >= 0 && op->attrs->keep_dims) {
        shape = emp_shape_of_rank(input->rank);
    }
    return emp_set_output(&output[0], shape, emp_view_dtype(op, 0));
}

/* The value of a reduction of a small integer tensor to a single element. */
static void fold_reduction(const emp_op_view *op, emp_tensor_info *output, int64_t start,
                           fold_function fold)
{
    const emp_tensor_info *input = &op->input[0];
    int64_t                result = start;

    if (input->value == NULL || !is_integer(output->dtype) ||
        !emp_shape_is_known(&output->shape) || emp_shape_elements(&output->shape) != 1)
        return;
    for (int32_t i = 0; i < input->value_count; i++)
        if (!fold(result, input->value[i], &result)) return;
    int64_t *value = emp_view_new_value(op, 1);
    if (value == NULL) return;
    *value = result;
    output->value = value;
    output->value_count = 1;
}

EMP_INFER(sum)
{
    emp_status st = emp_op_infer_reduce(op, output, output_count, err);

    if (st == EMP_OK) fold_reduction(op, &output[0], 0, add);
    return st;
}

EMP_INFER(prod)
{
    emp_status st = emp_op_infer_reduce(op, output, output_count, err);

    if (st == EMP_OK) fold_reduction(op, &output[0], 1, mul);
    return st;
}

EMP_INFER(scalar)
{
    return emp_set_output(&output[0], EMP_SHAPE_SCALAR, emp_view_dtype(op, 0));
}

/* ArgMax, ArgMin: the axis goes away, the elements are indices. */
EMP_INFER(arg_reduce)
{
    emp_status st = emp_op_infer_reduce(op, output, output_count, err);

    output[0].dtype =
        op->attrs->out_type != EMP_DTYPE_NONE ? op->attrs->out_type : EMP_DTYPE_INT64;
    return st;
}

/* Rows and columns of a matrix operand in the last two dims, -1 = unknown. */
static void read_matrix(const emp_shape *shape, bool transposed, int64_t *rows,
                        int64_t *columns)
{
    int32_t first = shape->rank - 2;

    *rows = *columns = -1;
    if (first < 0) return;
    *rows = shape->dim[transposed ? first + 1 : first];
    *columns = shape->dim[transposed ? first : first + 1];
}

static emp_status infer_product(const emp_op_view *op, emp_shape *shape, emp_error *err)
{
    const emp_shape *a = &op->input[0].shape, *b = &op->input[1].shape;
    int64_t          m, k, k_of_b, n;
    char             text_a[EMP_SHAPE_TEXT_BYTES], text_b[EMP_SHAPE_TEXT_BYTES];

    read_matrix(a, op->attrs->transpose_a, &m, &k);
    read_matrix(b, op->attrs->transpose_b, &k_of_b, &n);
    if (k >= 0 && k_of_b >= 0 && k != k_of_b)
        return EMP_ERROR(
            EMP_EFORMAT, "a matrix product of %s%s and %s%s", emp_shape_format(a, text_a),
            op->attrs->transpose_a ? " transposed" : "", emp_shape_format(b, text_b),
            op->attrs->transpose_b ? " transposed" : "");
    shape->dim[shape->rank - 2] = m;
    shape->dim[shape->rank - 1] = n;
    return EMP_OK;
}

EMP_INFER(mat_mul)
{
    emp_shape shape = emp_shape_of_rank(2);
    char      text_a[EMP_SHAPE_TEXT_BYTES], text_b[EMP_SHAPE_TEXT_BYTES];

    emp_set_output(&output[0], shape, emp_view_dtype(op, 0));
    for (int32_t i = 0; i < 2; i++)
        if (op->input[i].shape.rank >= 0 && op->input[i].shape.rank != 2)
            return EMP_ERROR(EMP_EFORMAT, "a matrix product of %s and %s",
                             emp_shape_format(&op->input[0].shape, text_a),
                             emp_shape_format(&op->input[1].shape, text_b));
    return infer_product(op, &output[0].shape, err);
}

EMP_INFER(batch_mat_mul)
{
    const emp_shape *a = &op->input[0].shape, *b = &op->input[1].shape;
    emp_shape        shape = a->rank >= 2 ? *a : *b;
    char             text_a[EMP_SHAPE_TEXT_BYTES], text_b[EMP_SHAPE_TEXT_BYTES];

    emp_set_output(&output[0], EMP_SHAPE_UNKNOWN, emp_view_dtype(op, 0));
    if (a->rank < 0 && b->rank < 0) return EMP_OK;
    if (shape.rank < 2 || (a->rank >= 0 && b->rank >= 0 && a->rank != b->rank))
        return EMP_ERROR(EMP_EFORMAT, "a batch of matrix products of %s and %s",
                         emp_shape_format(a, text_a), emp_shape_format(b, text_b));
    for (int32_t d = 0; d < shape.rank - 2; d++)
        if (shape.dim[d] < 0 && b->rank >= 0) shape.dim[d] = b->dim[d];
    EMP_CHECK(infer_product(op, &shape, err));
    output[0].shape = shape;
    return EMP_OK;
}

void emp_view_cost(const emp_op_view *op, emp_op_class op_class, double elements,
                   emp_op_cost *cost)
{
    const emp_op_rates *rates = &op->type->rates;

    *cost = (emp_op_cost){.op_class = op_class,
                          .flops = rates->flops * elements,
                          .bytes_read = emp_view_input_bytes(op),
                          .bytes_written = emp_view_output_bytes(op),
                          .kernels = rates->kernels > 0 ? rates->kernels : 1,
                          .cpu_cycles = rates->cycles * elements};
}

EMP_COST(elementwise)
{
    double elements = 0.0;

    for (int32_t i = 0; i < op->output_count; i++)
        elements += (double)emp_shape_elements(&op->output[i].shape);
    emp_view_cost(op, EMP_OP_ELEMENTWISE, elements, cost);
}

/* One kernel adds up to 8 tensors, one of which is the sum so far. */
EMP_COST(add_n)
{
    emp_view_cost(op, EMP_OP_ELEMENTWISE, 0.0, cost);
    cost->flops = cost->cpu_cycles =
        (double)emp_shape_elements(&op->output[0].shape) * (op->input_count - 1);
    cost->kernels = (op->input_count - 1 + 6) / 7;
    if (op->input_count == 1) *cost = (emp_op_cost){.op_class = EMP_OP_KERNELLESS};
}

EMP_COST(cast)
{
    emp_op_cost_elementwise(op, cost);
    if (op->output_count > 0 && op->input[0].dtype == op->output[0].dtype)
        *cost = (emp_op_cost){.op_class = EMP_OP_KERNELLESS};
}

EMP_COST(full_reduce)
{
    emp_view_cost(op, EMP_OP_REDUCTION, (double)emp_shape_elements(&op->input[0].shape),
                  cost);
    cost->bytes_read = emp_info_bytes(&op->input[0]);
}

/* A reduction over no axes, or over only axes of size 1, hands its input on. */
EMP_COST(reduce)
{
    const emp_shape *input = &op->input[0].shape, *output = &op->output[0].shape;

    emp_op_cost_full_reduce(op, cost);
    if (op->input[1].value != NULL &&
        (op->input[1].value_count == 0 ||
         (emp_shape_is_known(input) && emp_shape_is_known(output) &&
          emp_shape_elements(input) == emp_shape_elements(output))))
        *cost = (emp_op_cost){.op_class = EMP_OP_KERNELLESS};
}

/* The product of `batch` pairs of matrices; m, n, k from operands and output. */
static void cost_product(const emp_op_view *op, int64_t batch, emp_op_cost *cost)
{
    const emp_shape *out = &op->output[0].shape;
    int64_t          m = -1, n = -1, k, unused;

    read_matrix(out, false, &m, &n);
    read_matrix(&op->input[0].shape, op->attrs->transpose_a, &unused, &k);
    if (k < 0) read_matrix(&op->input[1].shape, op->attrs->transpose_b, &k, &unused);
    m = m < 0 ? 1 : m;
    n = n < 0 ? 1 : n;
    k = k < 0 ? 1 : k;
    batch = emp_mul_saturating(batch, emp_dtype_products(op->input[0].dtype));
    emp_view_cost(op, EMP_OP_GEMM, 0.0, cost);
    cost->flops = 2.0 * (double)batch * (double)m * (double)n * (double)k;
    cost->m = m;
    cost->n = n;
    cost->k = k;
    cost->batch = batch;
}

EMP_COST(mat_mul) { cost_product(op, 1, cost); }

EMP_COST(batch_mat_mul)
{
    emp_shape leading = op->output[0].shape;

    if (leading.rank >= 2) leading.rank -= 2;
    cost_product(op, emp_shape_elements(&leading), cost);
}

// Einsum: the equation "BTNH,BSNH->BNTS" names the axes of one or two operands and of the result.

enum { OPERANDS_MAX = 2, LETTERS = 128 };

typedef struct {
    const char *term[OPERANDS_MAX + 1]; /* the last one is the result's */
    int32_t     length[OPERANDS_MAX + 1];
    bool        has[OPERANDS_MAX + 1][LETTERS]; /* [term][letter] */
    int64_t     size[LETTERS];                  /* -1: unknown */
    emp_shape   rest;                           /* of "...": broadcast axes */
} equation;

static bool split(equation *e, const char *text, int32_t operands)
{
    const char *arrow = strstr(text, "->"), *comma = strchr(text, ',');

    if (arrow == NULL || operands < 1 || operands > OPERANDS_MAX ||
        (comma != NULL && comma < arrow) != (operands == 2))
        return false;
    e->term[0] = text;
    e->length[0] = (int32_t)((operands == 2 ? comma : arrow) - text);
    if (operands == 2) {
        e->term[1] = comma + 1;
        e->length[1] = (int32_t)(arrow - comma) - 1;
    }
    e->term[operands] = arrow + 2;
    e->length[operands] = (int32_t)strlen(arrow + 2);
    return true;
}

static int32_t count_letters(const char *term, int32_t length)
{
    int32_t count = 0;

    for (int32_t i = 0; i < length; i++) count += isalpha((unsigned char)term[i]) != 0;
    return count;
}

/* Walks the axes of a term; for an operand \a shape is read, for the result it is made. */
static bool walk(equation *e, int32_t term, emp_shape *shape, bool is_result)
{
    int32_t axis = 0, rest;

    rest = is_result ? e->rest.rank
                     : shape->rank - count_letters(e->term[term], e->length[term]);
    if (rest < 0) return false;
    for (int32_t i = 0; i < e->length[term]; i++) {
        char letter = e->term[term][i];
        if (isalpha((unsigned char)letter)) {
            int64_t *size = &e->size[(int)letter];
            if (axis >= EMP_MAX_RANK || (!is_result && axis >= shape->rank)) return false;
            e->has[term][(int)letter] = true;
            if (is_result)
                shape->dim[axis] = *size;
            else if (*size <= 1) /* unknown, or broadcast */
                *size = shape->dim[axis];
            axis++;
        } else if (strncmp(e->term[term] + i, "...", 3) == 0) {
            if (axis + rest > EMP_MAX_RANK) return false;
            for (int32_t d = 0; d < rest; d++, axis++) {
                int32_t at = e->rest.rank - rest + d;
                if (is_result)
                    shape->dim[axis] = e->rest.dim[at];
                else if (at >= 0 && e->rest.dim[at] <= 1)
                    e->rest.dim[at] = shape->dim[axis];
            }
            i += 2;
        } else if (letter != ' ') {
            return false;
        }
    }
    if (is_result) shape->rank = axis;
    return axis == shape->rank;
}

/* False if the equation is none of one or two operands, or does not fit their ranks. */
static bool read(equation *e, const emp_op_view *op, emp_shape *result)
{
    *e = (equation){.rest = {.rank = 0}};
    if (!split(e, op->attrs->equation, op->input_count)) return false;
    for (int32_t c = 0; c < LETTERS; c++) e->size[c] = -1;
    for (int32_t i = 0; i < op->input_count; i++) {
        const emp_shape *shape = &op->input[i].shape;
        int32_t          rest = shape->rank - count_letters(e->term[i], e->length[i]);
        if (shape->rank < 0 || rest > EMP_MAX_RANK) return false;
        if (rest > e->rest.rank) e->rest.rank = rest;
    }
    for (int32_t d = 0; d < e->rest.rank; d++) e->rest.dim[d] = -1;
    for (int32_t i = 0; i < op->input_count; i++) {
        emp_shape shape = op->input[i].shape;
        if (!walk(e, i, &shape, false)) return false;
    }
    return walk(e, op->input_count, result, true);
}

EMP_INFER(einsum)
{
    equation  e;
    emp_shape shape = {.rank = 0};

    emp_set_output(&output[0], EMP_SHAPE_UNKNOWN, emp_view_dtype(op, 0));
    if (read(&e, op, &shape)) output[0].shape = shape;
    return EMP_OK;
}

static void grow(int64_t *extent, int64_t size)
{
    *extent = emp_mul_saturating(*extent, size > 0 ? size : 1);
}

EMP_COST(einsum)
{
    equation  e;
    emp_shape shape = {.rank = 0};
    int64_t   m = 1, n = 1, k = 1, batch = 1;

    emp_view_cost(op, EMP_OP_GEMM, 0.0, cost);
    bool is_read = read(&e, op, &shape);
    for (int32_t c = 0; is_read && c < LETTERS; c++) {
        bool a = e.has[0][c], b = op->input_count == 2 && e.has[1][c];
        bool y = e.has[op->input_count][c];
        if (!a && !b) continue;
        grow(a && b && y ? &batch : !y ? &k : a ? &m : &n, e.size[c]);
    }
    for (int32_t d = 0; is_read && d < e.rest.rank; d++) grow(&batch, e.rest.dim[d]);
    if (op->input_count != 2) { /* a sum or a transposition */
        cost->op_class = EMP_OP_REDUCTION;
        cost->flops = k > 1 ? (double)emp_shape_elements(&op->input[0].shape) : 0.0;
        cost->cpu_cycles = (double)emp_shape_elements(&op->input[0].shape);
        return;
    }
    grow(&batch, emp_dtype_products(op->input[0].dtype));
    cost->flops = 2.0 * (double)batch * (double)m * (double)n * (double)k;
    cost->m = m;
    cost->n = n;
    cost->k = k;
    cost->batch = batch;
}
