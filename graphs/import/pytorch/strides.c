// SPDX-License-Identifier: GPL-3.0-or-later
/* Finds calls of reshape that copy, and of contiguous that do not, by the strides of tensors. A reshape is a view where strides
 * allow it (aten/src/ATen/TensorUtils.cpp, computeStride), and else what clone is. Where strides are not known, it is a view. */
#include <string.h>

#include "base/text/options.h"
#include "graphs/import/pytorch/lower.h"

/* The strides of result 0 of a node, in elements. */
typedef struct {
    bool      is_known;
    emp_shape shape;
    int64_t   stride[EMP_MAX_RANK];
} layout;

static const layout unknown = {.is_known = false};

static layout contiguous(const emp_shape *shape)
{
    layout  made = {.is_known = shape->rank >= 0, .shape = *shape};
    int64_t stride = 1;

    for (int32_t d = shape->rank - 1; d >= 0; d--) {
        if (shape->dim[d] < 1) return unknown;
        made.stride[d] = stride;
        stride = emp_mul_saturating(stride, shape->dim[d]);
    }
    return made;
}

static bool is_contiguous(const layout *x)
{
    const layout plain = contiguous(&x->shape);

    for (int32_t d = 0; d < x->shape.rank; d++)
        if (x->shape.dim[d] > 1 && x->stride[d] != plain.stride[d]) return false;
    return x->is_known;
}

/* An element for each place: nothing is expanded. */
static bool is_dense(const layout *x)
{
    for (int32_t d = 0; d < x->shape.rank; d++)
        if (x->shape.dim[d] > 1 && x->stride[d] == 0) return false;
    return x->is_known;
}

/* ---- arguments ---- */

static bool is_one_of(const char *words, const emp_aten_op *op)
{
    static const char aten[] = "aten.";
    const char       *name = op->name;

    if (strncmp(name, aten, sizeof aten - 1) != 0) return false;
    name += sizeof aten - 1;
    return emp_words_find(words, name, strlen(name)) >= 0;
}

/* A dimension, counted from either end; -1: it is none of \a rank. */
static int32_t dim_at(const emp_torch_program *p, const emp_torch_node *n, int32_t place,
                      const char *key, int64_t missing, int32_t rank)
{
    const emp_torch_value *v = emp_torch_argument(p, n, place, key);
    int64_t d = v != NULL && v->kind == EMP_TORCH_INT ? v->number : missing;

    if (d < 0) d += rank;
    return d >= 0 && d < rank ? (int32_t)d : -1;
}

/* ---- views ---- */

static layout without(const layout *x, int32_t dim)
{
    layout made = *x;

    if (dim < 0) return unknown;
    for (int32_t d = dim; d + 1 < x->shape.rank; d++) {
        made.shape.dim[d] = x->shape.dim[d + 1];
        made.stride[d] = x->stride[d + 1];
    }
    made.shape.rank--;
    return made;
}

static layout swapped(const layout *x, int32_t a, int32_t b)
{
    layout made = *x;

    if (a < 0 || b < 0) return unknown;
    made.shape.dim[a] = x->shape.dim[b];
    made.shape.dim[b] = x->shape.dim[a];
    made.stride[a] = x->stride[b];
    made.stride[b] = x->stride[a];
    return made;
}

static layout permuted(const layout *x, const emp_torch_program *p,
                       const emp_torch_node *n)
{
    const emp_torch_value *dims = emp_torch_argument(p, n, 1, "dims");
    layout                 made = *x;

    if (dims == NULL || dims->kind != EMP_TORCH_LIST || dims->count != x->shape.rank)
        return unknown;
    for (int32_t d = 0; d < dims->count; d++) {
        int64_t from = p->value[dims->first + d].number;
        if (from < 0) from += x->shape.rank;
        if (from < 0 || from >= x->shape.rank) return unknown;
        made.shape.dim[d] = x->shape.dim[from];
        made.stride[d] = x->stride[from];
    }
    return made;
}

static layout expanded(const layout *x, const emp_shape *to)
{
    layout  made = {.is_known = true, .shape = *to};
    int32_t more = to->rank - x->shape.rank;

    if (more < 0) return unknown;
    for (int32_t d = more; d < to->rank; d++)
        if (x->shape.dim[d - more] == to->dim[d]) made.stride[d] = x->stride[d - more];
    return made;
}

static layout unsqueezed(const layout *x, const emp_shape *to, int32_t dim)
{
    layout made = {.is_known = true, .shape = *to};

    if (dim < 0 || to->rank != x->shape.rank + 1) return unknown;
    for (int32_t d = 0; d < to->rank; d++)
        made.stride[d] = d < dim ? x->stride[d] : d > dim ? x->stride[d - 1] : 1;
    return made;
}

/* The strides of a view of that shape, from the last dimension on: each run of dimensions of x that follow each other in memory
 * has to be a run of the view. */
static layout viewed(const layout *x, const emp_shape *to)
{
    layout  made = {.is_known = true, .shape = *to};
    int32_t at = to->rank - 1;
    int64_t run = 1, made_run = 1,
            base = x->shape.rank > 0 ? x->stride[x->shape.rank - 1] : 1;

    if (emp_shape_elements(to) != emp_shape_elements(&x->shape)) return unknown;
    if (x->shape.rank == 0) return contiguous(to);
    for (int32_t d = x->shape.rank - 1; d >= 0; d--) {
        run = emp_mul_saturating(run, x->shape.dim[d]);
        if (d > 0 && (x->shape.dim[d - 1] == 1 ||
                      x->stride[d - 1] == emp_mul_saturating(run, base)))
            continue;
        for (; at >= 0 && (made_run < run || to->dim[at] == 1); at--) {
            made.stride[at] = emp_mul_saturating(made_run, base);
            made_run = emp_mul_saturating(made_run, to->dim[at]);
        }
        if (made_run != run) return unknown;
        if (d > 0) base = x->stride[d - 1];
        run = made_run = 1;
    }
    return at < 0 ? made : unknown;
}

static layout sliced(const layout *x, const emp_torch_program *p, const emp_torch_node *n,
                     const emp_shape *to)
{
    const int32_t          dim = dim_at(p, n, 1, "dim", 0, x->shape.rank);
    const emp_torch_value *step = emp_torch_argument(p, n, 4, "step");
    layout                 made = *x;

    if (dim < 0 || to->rank != x->shape.rank) return unknown;
    made.shape = *to;
    if (step != NULL && step->kind == EMP_TORCH_INT && step->number > 0)
        made.stride[dim] = emp_mul_saturating(made.stride[dim], step->number);
    return made;
}

static bool is_reshape(const emp_aten_op *op)
{
    return is_one_of("reshape|flatten|ravel|_reshape_alias", op);
}

static layout view_of(const layout *x, const emp_torch_program *p,
                      const emp_torch_node *n, const emp_aten_op *op, const emp_shape *to)
{
    const int32_t rank = x->shape.rank;

    if (is_one_of("transpose|swapaxes|swapdims", op))
        return swapped(x, dim_at(p, n, 1, "dim0", 0, rank),
                       dim_at(p, n, 2, "dim1", 0, rank));
    if (is_one_of("t|numpy_T|mT", op))
        return rank < 2 ? *x : swapped(x, rank - 2, rank - 1);
    if (is_one_of("permute", op)) return permuted(x, p, n);
    if (is_one_of("expand|expand_as|broadcast_to", op)) return expanded(x, to);
    if (is_one_of("unsqueeze", op))
        return unsqueezed(x, to, dim_at(p, n, 1, "dim", 0, rank + 1));
    if (is_one_of("slice", op)) return sliced(x, p, n, to);
    if (is_one_of("select|unbind", op))
        return without(x, dim_at(p, n, 1, "dim", 0, rank));
    if (is_reshape(op) ||
        is_one_of("view|_unsafe_view|unflatten|view_as|reshape_as|squeeze", op))
        return viewed(x, to);
    if (is_one_of("narrow|split|split_with_sizes|chunk|detach|alias|lift_fresh", op)) {
        layout part = *x;
        part.shape = *to;
        return to->rank == rank ? part : unknown;
    }
    return unknown;
}

/* ---- calls that make memory ---- */

/* Fused attention writes [batch, sequence, heads, size], whatever the order of its result's dimensions. */
static layout attended(const emp_shape *shape)
{
    emp_shape memory = *shape;

    if (shape->rank != 4) return contiguous(shape);
    memory.dim[1] = shape->dim[2];
    memory.dim[2] = shape->dim[1];
    const layout made = contiguous(&memory);
    return made.is_known ? swapped(&made, 1, 2) : unknown;
}

/* Element-wise calls keep the order of their first operand of that shape. */
static layout made_by(const layout *all, const emp_torch_calls *c, int32_t node,
                      const emp_shape *shape)
{
    const emp_aten_op *op = c->op_of[node];
    const emp_op_work  work =
        op != NULL && op->type != NULL ? op->type->work : EMP_WORK_NOTHING;
    emp_torch_walk         at = {0};
    const emp_torch_value *v;

    if (work == EMP_WORK_ATTENTION && op->type->part == EMP_PART_FORWARD)
        return attended(shape);
    if (work != EMP_WORK_ELEMENTWISE && work != EMP_WORK_CAST && !is_one_of("clone", op))
        return contiguous(shape);
    while ((v = emp_torch_next_tensor(c->program, &c->program->node[node], &at)) !=
           NULL) {
        const layout *x = &all[v->node];
        if (v->result > 0 || !emp_shape_equal(&x->shape, shape)) continue;
        return is_dense(x) ? *x : x->is_known ? contiguous(shape) : unknown;
    }
    return contiguous(shape);
}

/* ---- all ---- */

static layout layout_of(const layout *all, emp_torch_calls *c, int32_t node)
{
    const emp_torch_program *p = c->program;
    const emp_torch_node    *n = &p->node[node];
    const emp_aten_op       *op = c->op_of[node];
    emp_torch_walk           at = {0};

    if (n->result_count == 0 || !emp_shape_is_known(&n->result[0].shape)) return unknown;
    const emp_shape *shape = &n->result[0].shape;
    if (n->what != EMP_TORCH_CALL) return contiguous(shape);
    const emp_torch_value *v = emp_torch_next_tensor(p, n, &at);
    if (op == NULL || v == NULL) return op == NULL ? unknown : contiguous(shape);
    const layout *x = &all[v->node];
    if (op->is_getitem) return *x;
    if (op->is_in_place || op->is_out) return *x;
    if (!x->is_known || v->result > 0)
        return op->is_view ? unknown : made_by(all, c, node, shape);
    if (is_one_of("contiguous", op) && is_contiguous(x)) {
        c->op_of[node] = c->alias;
        return *x;
    }
    if (!op->is_view) return made_by(all, c, node, shape);
    const layout made = view_of(x, p, n, op, shape);
    if (made.is_known || !is_reshape(op) ||
        emp_shape_elements(shape) != emp_shape_elements(&x->shape))
        return made;
    c->op_of[node] = c->copy;
    return contiguous(shape);
}

emp_status emp_torch_copies_find(emp_torch_calls *calls, emp_error *err)
{
    const int32_t nodes = calls->program->node_count;
    layout       *all = EMP_NEW_ARRAY(layout, (size_t)nodes);

    if (all == NULL) return EMP_ERROR(EMP_ENOMEM, "strides of %d tensors", nodes);
    for (int32_t i = 0; i < nodes; i++) all[i] = layout_of(all, calls, i);
    emp_free(all);
    return EMP_OK;
}
