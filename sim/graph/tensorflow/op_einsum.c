// SPDX-License-Identifier: GPL-3.0-or-later
// Einsum: the equation "BTNH,BSNH->BNTS" names the axes of one or two operands and of the result.
#include <ctype.h>
#include <string.h>

#include "sim/graph/op_entry.h"

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
    cost->flops = 2.0 * (double)batch * (double)m * (double)n * (double)k;
    cost->m = m;
    cost->n = n;
    cost->k = k;
    cost->batch = batch;
}
