// SPDX-License-Identifier: GPL-3.0-or-later
// Ops that move data: shapes, joins, cuts, lookups, scatters.
#include <math.h>
#include <string.h>

#include "graphs/import/onnx/lower.h"

/* ---- other shapes of the same elements ---- */

static void rename_to(emp_onnx_call *c, bool is_known, emp_shape shape)
{
    emp_shape in = emp_onnx_in_shape(c, 0);
    char      text_a[EMP_SHAPE_TEXT_BYTES], text_b[EMP_SHAPE_TEXT_BYTES];

    for (int32_t d = 0; d < shape.rank; d++) is_known = is_known && shape.dim[d] >= 0;
    if (!is_known) {
        emp_onnx_refuse(c, "its new shape depends on data, or is none");
        return;
    }
    if (emp_shape_is_known(&in) &&
        emp_shape_elements(&in) != emp_shape_elements(&shape)) {
        emp_onnx_refuse(c, "%s cannot become %s", emp_shape_format(&in, text_a),
                        emp_shape_format(&shape, text_b));
        return;
    }
    emp_onnx_out(c, 0, emp_onnx_reshape(c, emp_onnx_in_port(c, 0), shape));
}

#define RENAMER(rule, shape_of)                          \
    static void rule(emp_onnx_call *c, const char *word) \
    {                                                    \
        emp_shape shape = {0};                           \
                                                         \
        (void)word;                                      \
        rename_to(c, shape_of(c, &shape), shape);        \
    }
RENAMER(reshape, emp_onnx_reshaped)
RENAMER(squeeze, emp_onnx_squeezed)
RENAMER(unsqueeze, emp_onnx_unsqueezed)
RENAMER(flatten, emp_onnx_flattened)

/* Exporters merge weights that are equal, such as biases of zeros: a training step needs them
 * apart. A table that is looked up is shared on purpose. */
static void identity(emp_onnx_call *c, const char *word)
{
    emp_onnx_value *x = emp_onnx_in(c, 0);

    (void)word;
    if (x == NULL) {
        emp_onnx_refuse(c, "input 0 is missing");
        return;
    }
    bool is_apart = x->is_weight && x->transposed == NULL && c->o->is_training &&
                    !emp_onnx_is_table(c->o, x->name);
    if (x->is_weight && !is_apart) emp_onnx_port(c->o, x);
    emp_onnx_out_value(c, 0, x);
    emp_onnx_value *copy =
        c->node->output_count > 0 ? emp_onnx_find(c->scope, c->node->output[0]) : NULL;
    if (!is_apart || copy == NULL || copy == x) return;
    copy->port = EMP_TF_NONE;
    if (c->o->has_weights)
        emp_onnx_mark_weight(c->o, copy);
    else
        emp_onnx_mark_input(c->o, copy);
    emp_import_notes_assume(c->o->notes,
                            "weights that the exporter has merged are trained apart, but "
                            "for tables that are looked up");
}

/* Dropout and the like, in a model that infers. */
static void pass(emp_onnx_call *c, const char *word)
{
    emp_onnx_value *x = emp_onnx_in(c, 0);

    if (x == NULL) {
        emp_onnx_refuse(c, "input 0 is missing");
        return;
    }
    if (word != NULL && c->o->is_training)
        emp_import_notes_assume(c->o->notes, "%s is left out", word);
    emp_onnx_port(c->o, x);
    emp_onnx_out_value(c, 0, x);
    if (c->node->output_count > 1) {
        emp_port mask =
            emp_tf_const(c->o->tf, NULL, "mask", EMP_DTYPE_BOOL, x->shape, NULL, 0);
        emp_onnx_out(c, 1, mask);
    }
}

/* Whether an order exchanges only the last two dims. */
static bool turns_matrices(const int64_t *order, int32_t rank)
{
    if (rank < 2 || order[rank - 1] != rank - 2 || order[rank - 2] != rank - 1)
        return false;
    for (int32_t d = 0; d < rank - 2; d++)
        if (order[d] != d) return false;
    return true;
}

/* Matrices are turned around by the product that reads them. */
/* Whether each dim is there once. */
static bool is_order(emp_onnx_call *c, const int64_t *order, int32_t count, int32_t rank)
{
    uint32_t seen = 0;

    for (int32_t d = 0; d < count; d++) {
        if (order[d] < 0 || order[d] >= rank || (seen >> order[d] & 1) != 0) {
            emp_onnx_refuse(c, "perm has %lld in place %d, which is no order of rank %d",
                            (long long)order[d], d, rank);
            return false;
        }
        seen |= 1U << order[d];
    }
    if (count == rank) return true;
    emp_onnx_refuse(c, "perm has %d numbers for rank %d", count, rank);
    return false;
}

static void transpose(emp_onnx_call *c, const char *word)
{
    emp_onnx_value *x = emp_onnx_in(c, 0);
    int64_t         order[EMP_MAX_RANK];

    (void)word;
    if (x == NULL || x->shape.rank < 0) {
        emp_onnx_refuse(c, "the rank of its input is not known");
        return;
    }
    int32_t rank = x->shape.rank;
    int32_t count = emp_onnx_ints(c, "perm", -1, order, EMP_MAX_RANK);
    if (count < 0)
        for (int32_t d = 0; d < rank; d++) order[d] = rank - 1 - d;
    if (count >= 0 && !is_order(c, order, count, rank)) return;
    if (x->transposed == NULL && turns_matrices(order, rank)) {
        emp_onnx_value turned = {.dtype = x->dtype,
                                 .shape = x->shape,
                                 .port = EMP_TF_NONE,
                                 .grouped = EMP_TF_NONE,
                                 .transposed = x,
                                 .transpose = c->name};
        turned.shape.dim[rank - 1] = x->shape.dim[rank - 2];
        turned.shape.dim[rank - 2] = x->shape.dim[rank - 1];
        emp_onnx_out_value(c, 0, &turned);
        return;
    }
    emp_onnx_out(c, 0, emp_onnx_transpose(c, emp_onnx_in_port(c, 0), order));
}

/* ---- joins and cuts ---- */

void emp_onnx_lower_concat(emp_onnx_call *c, const char *word)
{
    emp_port *inputs =
        emp_arena_alloc(&c->o->arena, ((size_t)c->in_count + 1) * sizeof *inputs);
    emp_shape first = emp_onnx_in_shape(c, 0);

    (void)word;
    if (inputs == NULL) {
        c->o->status = EMP_ENOMEM;
        return;
    }
    int32_t axis =
        emp_onnx_axis(c, emp_onnx_int(c, "axis", emp_onnx_is_before(c, 4)), first.rank);
    for (int32_t i = 0; i < c->in_count; i++) inputs[i] = emp_onnx_in_port(c, i);
    inputs[c->in_count] = emp_tf_int(c->o->tf, NULL, "axis", axis);
    emp_onnx_out(c, 0,
                 emp_onnx_emit(c, "ConcatV2", &(emp_op_attrs){.count = c->in_count},
                               inputs, c->in_count + 1));
}

/* Whether the sizes belong to so many parts that make the whole. */
static bool are_parts(emp_onnx_call *c, const int64_t *sizes, int32_t count,
                      int32_t parts, int64_t whole)
{
    int64_t sum = 0;

    if (count != parts) {
        emp_onnx_refuse(c, "split has %d sizes for %d outputs", count, parts);
        return false;
    }
    for (int32_t i = 0; i < count; i++) {
        if (sizes[i] >= 0 && !__builtin_add_overflow(sum, sizes[i], &sum)) continue;
        emp_onnx_refuse(c, "split has a size of %lld", (long long)sizes[i]);
        return false;
    }
    if (whole < 0 || sum == whole) return true;
    emp_onnx_refuse(c, "split has sizes of %lld in all, and the axis has %lld",
                    (long long)sum, (long long)whole);
    return false;
}

static void split(emp_onnx_call *c, const char *word)
{
    emp_shape shape = emp_onnx_in_shape(c, 0);
    int64_t   sizes[EMP_ONNX_MAX_PARTS];
    int32_t   parts = c->node->output_count;
    int32_t   axis = emp_onnx_axis(c, emp_onnx_int(c, "axis", 0), shape.rank);

    (void)word;
    if (parts < 1 || parts > EMP_ONNX_MAX_PARTS || !emp_tf_is_ok(c->o->tf)) {
        emp_onnx_refuse(c, "%d parts, need 1 to %d", parts, EMP_ONNX_MAX_PARTS);
        return;
    }
    int32_t count = emp_onnx_part_sizes(c, shape.dim[axis], sizes);
    if (count < 0) emp_onnx_refuse(c, "the sizes of its parts depend on data");
    if (count < 0 || !are_parts(c, sizes, count, parts, shape.dim[axis])) return;
    emp_port where = emp_tf_int(c->o->tf, NULL, "axis", axis);
    emp_port y = emp_onnx_emit(c, "SplitV", &(emp_op_attrs){.count = parts},
                               EMP_TF_PORTS(emp_onnx_in_port(c, 0),
                                            emp_onnx_int_vector(c, sizes, parts), where));
    for (int32_t i = 0; i < parts; i++)
        emp_onnx_out(c, i, (emp_port){y.op, y.op < 0 ? 0 : i});
}

static void slice(emp_onnx_call *c, const char *word)
{
    emp_shape    shape = emp_onnx_in_shape(c, 0);
    emp_onnx_cut cut;
    int64_t      end[EMP_MAX_RANK];
    bool         is_plain = true;

    (void)word;
    if (!emp_onnx_read_cut(c, &shape, &cut)) {
        emp_onnx_refuse(c, "its bounds depend on data, or are none");
        return;
    }
    for (int32_t d = 0; d < shape.rank; d++) {
        is_plain = is_plain && cut.step[d] == 1;
        end[d] = cut.first[d] + cut.taken[d] * cut.step[d];
        if (cut.step[d] < 0 && end[d] < 0) end[d] -= shape.dim[d] + 1;
    }
    emp_port x = emp_onnx_in_port(c, 0);
    emp_port begin = emp_onnx_int_vector(c, cut.first, shape.rank);
    if (is_plain) {
        emp_port size = emp_onnx_int_vector(c, cut.taken, shape.rank);
        emp_onnx_out(c, 0, emp_onnx_emit(c, "Slice", NULL, EMP_TF_PORTS(x, begin, size)));
        return;
    }
    emp_port last = emp_onnx_int_vector(c, end, shape.rank);
    emp_port step = emp_onnx_int_vector(c, cut.step, shape.rank);
    emp_onnx_out(
        c, 0, emp_onnx_emit(c, "StridedSlice", NULL, EMP_TF_PORTS(x, begin, last, step)));
}

/* Pads lie as all those before, then all those after. */
static void pad(emp_onnx_call *c, const char *word)
{
    emp_shape shape = emp_onnx_in_shape(c, 0);
    int64_t   pads[2 * EMP_MAX_RANK], axes[EMP_MAX_RANK], pairs[2 * EMP_MAX_RANK] = {0};
    int32_t   count = emp_onnx_ints(c, "pads", 1, pads, 2 * EMP_MAX_RANK);
    bool      is_mirror = emp_onnx_word_is(c, "mode", "reflect");

    (void)word;
    if (count < 0) count = emp_onnx_ints(c, "paddings", -1, pads, 2 * EMP_MAX_RANK);
    int32_t half = count / 2, given = emp_onnx_ints(c, NULL, 3, axes, EMP_MAX_RANK);
    if (count < 0 || shape.rank < 0 || half > shape.rank ||
        (given >= 0 && given != half) || (given < 0 && half != shape.rank)) {
        emp_onnx_refuse(c, "its pads depend on data, or do not fit rank %d", shape.rank);
        return;
    }
    for (int32_t i = 0; i < half; i++) {
        int32_t axis = given < 0 ? i : emp_onnx_axis(c, axes[i], shape.rank);
        pairs[2 * axis] = pads[i];
        pairs[2 * axis + 1] = pads[half + i];
    }
    for (int32_t d = 0; d < shape.rank; d++) {
        if (shape.dim[d] < 0 ||
            (!__builtin_add_overflow(shape.dim[d], pairs[2 * d], &shape.dim[d]) &&
             !__builtin_add_overflow(shape.dim[d], pairs[2 * d + 1], &shape.dim[d]) &&
             shape.dim[d] >= 0))
            continue;
        emp_onnx_refuse(c, "pads of %lld and %lld leave no size of axis %d",
                        (long long)pairs[2 * d], (long long)pairs[2 * d + 1], d);
        return;
    }
    emp_port sizes = emp_tf_const(c->o->tf, NULL, "paddings", EMP_DTYPE_INT32,
                                  EMP_SHAPE(shape.rank, 2), pairs, 2 * shape.rank);
    emp_onnx_out(c, 0,
                 emp_onnx_emit2(c, is_mirror ? "MirrorPad" : "Pad",
                                emp_onnx_in_port(c, 0), sizes));
}

static void expand(emp_onnx_call *c, const char *word)
{
    emp_shape in = emp_onnx_in_shape(c, 0), wanted = {0}, shape;

    (void)word;
    wanted.rank = emp_onnx_ints(c, NULL, 1, wanted.dim, EMP_MAX_RANK);
    if (!emp_onnx_are_counts(c, wanted.dim, wanted.rank)) return;
    if (wanted.rank < 0 || !emp_onnx_broadcast(&in, &wanted, &shape)) {
        emp_onnx_refuse(c, "its new shape depends on data, or does not fit");
        return;
    }
    emp_port x = emp_onnx_in_port(c, 0);
    if (emp_shape_equal(&in, &shape)) {
        emp_onnx_out(c, 0, emp_onnx_emit1(c, "Identity", x));
        return;
    }
    emp_onnx_out(c, 0,
                 emp_onnx_emit2(c, "BroadcastTo", x,
                                emp_onnx_int_vector(c, shape.dim, shape.rank)));
}

static void tile(emp_onnx_call *c, const char *word)
{
    int64_t times[EMP_MAX_RANK];
    int32_t count = emp_onnx_ints(c, NULL, 1, times, EMP_MAX_RANK);

    (void)word;
    if (count < 0) {
        emp_onnx_refuse(c, "how often it repeats depends on data");
        return;
    }
    if (emp_onnx_is_before(c, 6) && count == 1) { /* so often along an axis */
        int64_t   axis[1] = {0}, often = times[0];
        emp_shape shape = emp_onnx_in_shape(c, 0);
        if (emp_onnx_ints(c, NULL, 2, axis, 1) != 1) {
            emp_onnx_refuse(c, "its axis depends on data");
            return;
        }
        int32_t along = emp_onnx_axis(c, axis[0], shape.rank);
        if (!emp_tf_is_ok(c->o->tf)) return;
        count = shape.rank;
        for (int32_t d = 0; d < count; d++) times[d] = d == along ? often : 1;
    }
    if (!emp_onnx_are_counts(c, times, count)) return;
    emp_onnx_out(c, 0,
                 emp_onnx_emit2(c, "Tile", emp_onnx_in_port(c, 0),
                                emp_onnx_int_vector(c, times, count)));
}

/* ---- lookups ---- */

/* One row that is known is a cut, whose result has the axis or not. */
static void cut_row(emp_onnx_call *c, int32_t axis, int64_t row, bool keeps_axis)
{
    emp_shape whole = emp_onnx_in_shape(c, 0), shape = {0};
    int64_t   begin[EMP_MAX_RANK] = {0}, size[EMP_MAX_RANK];

    for (int32_t d = 0; d < whole.rank; d++) {
        size[d] = d == axis ? 1 : whole.dim[d];
        if (d != axis || keeps_axis) shape.dim[shape.rank++] = size[d];
    }
    begin[axis] = row < 0 ? row + whole.dim[axis] : row;
    emp_port part = emp_onnx_emit(c, "Slice", NULL,
                                  EMP_TF_PORTS(emp_onnx_in_port(c, 0),
                                               emp_onnx_int_vector(c, begin, whole.rank),
                                               emp_onnx_int_vector(c, size, whole.rank)));
    emp_onnx_out(c, 0, keeps_axis ? part : emp_onnx_reshape(c, part, shape));
}

static void gather(emp_onnx_call *c, const char *word)
{
    emp_shape             shape = emp_onnx_in_shape(c, 0);
    int32_t               axis = emp_onnx_axis(c, emp_onnx_int(c, "axis", 0), shape.rank);
    const emp_onnx_value *row = emp_onnx_in(c, 1);

    (void)word;
    if (!emp_tf_is_ok(c->o->tf)) return;
    if (row != NULL && row->number != NULL && row->shape.rank <= 1 &&
        emp_shape_elements(&row->shape) == 1) {
        cut_row(c, axis, emp_truncate(row->number[0]), row->shape.rank == 1);
        return;
    }
    emp_port table = emp_onnx_in_port(c, 0), indices = emp_onnx_in_port(c, 1);
    if (axis == 0) {
        emp_onnx_out(c, 0, emp_onnx_emit2(c, "Gather", table, indices));
        return;
    }
    emp_port where = emp_tf_int(c->o->tf, NULL, "axis", axis);
    emp_onnx_out(c, 0,
                 emp_onnx_emit(c, "GatherV2", NULL, EMP_TF_PORTS(table, indices, where)));
}

static void gather_nd(emp_onnx_call *c, const char *word)
{
    emp_onnx_out(c, 0,
                 emp_onnx_emit2(c, word, emp_onnx_in_port(c, 0), emp_onnx_in_port(c, 1)));
}

/* With batch_dims, rows of each batch are looked up in that batch. */
static void gather_nd_batched(emp_onnx_call *c, const char *word)
{
    emp_shape x = emp_onnx_in_shape(c, 0), rows = emp_onnx_in_shape(c, 1), shape = {0};
    const int64_t batch = emp_onnx_int(c, "batch_dims", 0);

    if (batch == 0 || x.rank < 0 || rows.rank < 1) {
        gather_nd(c, word);
        return;
    }
    const int64_t depth = rows.dim[rows.rank - 1];
    if (batch < 0 || batch >= rows.rank || depth < 0 || batch + depth > x.rank ||
        rows.rank - 1 + x.rank - batch - depth > EMP_MAX_RANK) {
        emp_onnx_refuse(c, "batch_dims is %lld for tensors of rank %d and %d",
                        (long long)batch, x.rank, rows.rank);
        return;
    }
    for (int32_t d = 0; d < rows.rank - 1; d++) shape.dim[shape.rank++] = rows.dim[d];
    for (int32_t d = (int32_t)(batch + depth); d < x.rank; d++)
        shape.dim[shape.rank++] = x.dim[d];
    emp_onnx_out(c, 0,
                 emp_onnx_emit_shaped(
                     c, word, shape, EMP_DTYPE_NONE,
                     EMP_TF_PORTS(emp_onnx_in_port(c, 0), emp_onnx_in_port(c, 1))));
}

/* Three inputs, one result: Where and scatters. */
static void ternary(emp_onnx_call *c, const char *word)
{
    emp_onnx_out(
        c, 0,
        emp_onnx_emit(c, word, NULL,
                      EMP_TF_PORTS(emp_onnx_in_port(c, 0), emp_onnx_in_port(c, 1),
                                   emp_onnx_in_port(c, 2))));
}

/* Rows of a cache, at positions that may be left out. */
static void scatter_rows(emp_onnx_call *c, const char *word)
{
    emp_port cache = emp_onnx_in_port(c, 0), rows = emp_onnx_in_port(c, 1);
    emp_port at = emp_onnx_in(c, 2) != NULL ? emp_onnx_in_port(c, 2)
                                            : emp_tf_int(c->o->tf, NULL, "at", 0);

    emp_onnx_out(c, 0, emp_onnx_emit(c, word, NULL, EMP_TF_PORTS(cache, at, rows)));
}

static void top_k(emp_onnx_call *c, const char *word)
{
    emp_shape    shape = emp_onnx_in_shape(c, 0);
    int64_t      k = emp_onnx_top_count(c);
    emp_op_attrs attrs = {.axis =
                              emp_onnx_axis(c, emp_onnx_int(c, "axis", -1), shape.rank)};
    emp_port     x = emp_onnx_in_port(c, 0);

    if (k < 0 || k > INT32_MAX) {
        emp_onnx_refuse(c, "how many elements it takes depends on data");
        return;
    }
    attrs.count = (int32_t)k;
    emp_port y = emp_onnx_emit(c, word, &attrs, &x, 1);
    emp_onnx_out(c, 0, y);
    emp_onnx_out(c, 1, (emp_port){y.op, y.op < 0 ? 0 : 1});
}

static void triangle(emp_onnx_call *c, const char *word)
{
    int64_t  zero = 0;
    emp_port bound = emp_tf_const(c->o->tf, NULL, "bound", EMP_DTYPE_INT64,
                                  EMP_SHAPE_SCALAR, &zero, 1);

    emp_onnx_out(
        c, 0,
        emp_onnx_emit(c, word, NULL, EMP_TF_PORTS(emp_onnx_in_port(c, 0), bound, bound)));
}

/* Pixels to channels and back. */
static void rearrange(emp_onnx_call *c, const char *word)
{
    emp_shape shape = emp_onnx_in_shape(c, 0);
    int64_t   block = emp_onnx_int(c, "blocksize", 1);
    bool      to_space = strcmp(word, "DepthToSpace") == 0;
    emp_port  x = emp_onnx_in_port(c, 0);

    if (shape.rank != 4 || block < 1 || block > 4096) {
        emp_onnx_refuse(c, "blocks of %lld in a tensor of rank %d", (long long)block,
                        shape.rank);
        return;
    }
    for (int32_t d = to_space ? 1 : 2; d < (to_space ? 2 : 4); d++) {
        if (shape.dim[d] % (to_space ? block * block : block) == 0) continue;
        emp_onnx_refuse(c, "blocks of %lld do not divide a size of %lld",
                        (long long)block, (long long)shape.dim[d]);
        return;
    }
    shape.dim[1] =
        to_space ? shape.dim[1] / (block * block) : shape.dim[1] * block * block;
    for (int32_t d = 2; d < 4; d++)
        shape.dim[d] = to_space ? shape.dim[d] * block : shape.dim[d] / block;
    emp_onnx_out(c, 0, emp_onnx_emit_shaped(c, word, shape, EMP_DTYPE_NONE, &x, 1));
}

/* Numbers of an attribute, else of a constant input; returns how many, 0 = none. */
static int32_t read_factors(emp_onnx_call *c, const char *name, int32_t input,
                            double *factor)
{
    const emp_onnx_value *value = emp_onnx_in(c, input);
    emp_onnx_attr         attr;

    if (name != NULL && emp_onnx_get(c, name, &attr))
        return emp_onnx_attr_numbers(&attr, factor, EMP_MAX_RANK);
    if (value == NULL || value->number == NULL) return 0;
    int64_t count = emp_shape_elements(&value->shape);
    if (count > EMP_MAX_RANK) return 0;
    for (int64_t i = 0; i < count; i++) factor[i] = value->number[i];
    return (int32_t)count;
}

/* With a policy that keeps the ratio of sizes, one factor serves all axes. */
static void keep_ratio(emp_onnx_call *c, const emp_shape *x, const int32_t *axis,
                       int32_t count, double *size)
{
    const bool is_larger = emp_onnx_word_is(c, "keep_aspect_ratio_policy", "not_smaller");
    float      factor = 0.0F;

    if (!is_larger && !emp_onnx_word_is(c, "keep_aspect_ratio_policy", "not_larger"))
        return;
    for (int32_t i = 0; i < count; i++) {
        float own = (float)size[i] / (float)x->dim[axis[i]];
        if (i == 0 || (is_larger ? own > factor : own < factor)) factor = own;
    }
    for (int32_t i = 0; i < count; i++)
        size[i] = (double)roundf(factor * (float)x->dim[axis[i]]);
}

/* Sizes are given, or factors of the input's: then a size is the floor of a product in float32. */
static void resize(emp_onnx_call *c, const char *word)
{
    emp_shape shape = emp_onnx_in_shape(c, 0), x = shape;
    bool    is_old = emp_slice_is(c->node->type, "Upsample") || emp_onnx_is_before(c, 11);
    double  size[EMP_MAX_RANK], region[2 * EMP_MAX_RANK];
    int64_t list[EMP_MAX_RANK];
    int32_t axis[EMP_MAX_RANK];
    bool    is_crop =
        emp_onnx_word_is(c, "coordinate_transformation_mode", "tf_crop_and_resize");
    int32_t count = read_factors(c, "scales", is_old ? 1 : 2, size), axes;

    bool is_sized = count <= 0;
    if (is_sized) count = is_old ? 0 : read_factors(c, NULL, 3, size);
    if (count <= 0 && is_old && shape.rank == 4) { /* operators of version 1 */
        double scales[4] = {1.0, 1.0, emp_onnx_float(c, "height_scale", 0.0),
                            emp_onnx_float(c, "width_scale", 0.0)};
        memcpy(size, scales, sizeof scales);
        is_sized = false;
        count = scales[2] > 0.0 && scales[3] > 0.0 ? 4 : 0;
    }
    axes = emp_onnx_ints(c, "axes", -1, list, EMP_MAX_RANK);
    if (count <= 0 || shape.rank < count || (axes >= 0 && axes != count)) {
        emp_onnx_refuse(c, "its sizes depend on data, or do not fit rank %d", shape.rank);
        return;
    }
    for (int32_t i = 0; i < count; i++)
        axis[i] = emp_onnx_axis(c, axes >= 0 ? list[i] : i, shape.rank);
    const emp_onnx_value *roi = emp_onnx_in(c, 1);
    is_crop = is_crop && !is_sized && roi != NULL && roi->number != NULL &&
              emp_shape_elements(&roi->shape) == 2 * (int64_t)count;
    for (int32_t i = 0; i < 2 * count && is_crop; i++) region[i] = roi->number[i];
    if (is_sized) keep_ratio(c, &x, axis, count, size);
    for (int32_t i = 0; i < count; i++) {
        float part = is_crop ? (float)region[count + i] - (float)region[i] : 1.0F;
        if (!is_sized)
            size[i] = floor((double)((float)size[i] * part * (float)x.dim[axis[i]]));
        if (!(size[i] >= 0.0 && size[i] <= INT32_MAX))
            emp_onnx_refuse(c, "its axis %d would have a size of %g", axis[i], size[i]);
        else
            shape.dim[axis[i]] = (int64_t)size[i];
    }
    emp_port in = emp_onnx_in_port(c, 0);
    emp_onnx_out(c, 0, emp_onnx_emit_shaped(c, word, shape, EMP_DTYPE_NONE, &in, 1));
}

/* ---- images ---- */

/* Columns [N, C * block, L] back to an image. */
static void col2im(emp_onnx_call *c, const char *word)
{
    emp_shape x = emp_onnx_in_shape(c, 0), shape = {0};
    int64_t   image[EMP_MAX_RANK], block[EMP_MAX_RANK], window = 1;
    int32_t   rank = emp_onnx_ints(c, NULL, 1, image, EMP_MAX_RANK - 2);

    if (x.rank != 3 || rank < 1 || !emp_onnx_are_counts(c, image, rank) ||
        emp_onnx_ints(c, NULL, 2, block, EMP_MAX_RANK) != rank) {
        emp_onnx_refuse(
            c, "its sizes depend on data, or its columns have rank %d, need 3", x.rank);
        return;
    }
    for (int32_t d = 0; d < rank; d++)
        if (block[d] < 1 || __builtin_mul_overflow(window, block[d], &window)) window = 0;
    if (window == 0 || x.dim[1] % window != 0) {
        emp_onnx_refuse(c, "blocks of %lld elements do not divide %lld columns",
                        (long long)window, (long long)x.dim[1]);
        return;
    }
    shape = EMP_SHAPE(x.dim[0], x.dim[1] / window);
    for (int32_t d = 0; d < rank; d++) shape.dim[shape.rank++] = image[d];
    emp_port in = emp_onnx_in_port(c, 0);
    emp_onnx_out(c, 0, emp_onnx_emit_shaped(c, word, shape, EMP_DTYPE_NONE, &in, 1));
}

/* An image without a border of left, top, right and bottom, or, with "scale", of a size from there on; an experimental type
 * of early versions. */
static void crop(emp_onnx_call *c, const char *word)
{
    emp_shape x = emp_onnx_in_shape(c, 0);
    int64_t   border[4], scale[2], begin[4] = {0}, size[4];

    (void)word;
    if (x.rank != 4 || emp_onnx_ints(c, "border", -1, border, 4) != 4) {
        emp_onnx_refuse(c, "an image of rank %d, or no border of 4 numbers", x.rank);
        return;
    }
    const bool is_sized = emp_onnx_ints(c, "scale", -1, scale, 2) == 2;
    for (int32_t d = 0; d < 4; d++) {
        const int32_t axis = d - 2; /* of the image */
        size[d] = x.dim[d];
        if (axis < 0) continue;
        begin[d] = border[1 - axis];
        size[d] = is_sized ? scale[axis] : x.dim[d] - begin[d] - border[3 - axis];
    }
    if (!emp_onnx_are_counts(c, size, 4)) return;
    emp_onnx_out(c, 0,
                 emp_onnx_emit(c, "Slice", NULL,
                               EMP_TF_PORTS(emp_onnx_in_port(c, 0),
                                            emp_onnx_int_vector(c, begin, 4),
                                            emp_onnx_int_vector(c, size, 4))));
}

/* Cuts or pads axes around their middle. */
static void center_crop_pad(emp_onnx_call *c, const char *word)
{
    emp_shape shape = emp_onnx_in_shape(c, 0);
    int64_t   sizes[EMP_MAX_RANK], axes[EMP_MAX_RANK], pairs[2 * EMP_MAX_RANK] = {0};
    int64_t   begin[EMP_MAX_RANK] = {0}, size[EMP_MAX_RANK];
    int32_t   count = emp_onnx_ints(c, NULL, 1, sizes, EMP_MAX_RANK);
    int32_t   given = emp_onnx_ints(c, "axes", -1, axes, EMP_MAX_RANK);
    bool      is_cut = false, is_padded = false;

    if (count < 0 || (given >= 0 ? given != count : count != shape.rank)) {
        emp_onnx_refuse(c, "its sizes depend on data, or do not fit rank %d", shape.rank);
        return;
    }
    if (!emp_onnx_are_counts(c, sizes, count)) return;
    for (int32_t d = 0; d < shape.rank; d++) size[d] = shape.dim[d];
    for (int32_t i = 0; i < count; i++) {
        int32_t d = emp_onnx_axis(c, given < 0 ? i : axes[i], shape.rank);
        int64_t more = sizes[i] - shape.dim[d];
        is_cut = is_cut || more < 0;
        is_padded = is_padded || more > 0;
        if (more < 0) begin[d] = -more / 2, size[d] = sizes[i];
        if (more > 0) pairs[2 * d] = more / 2, pairs[2 * d + 1] = more - more / 2;
    }
    emp_port x = emp_onnx_in_port(c, 0);
    if (is_cut)
        x = emp_onnx_emit(c, "Slice", NULL,
                          EMP_TF_PORTS(x, emp_onnx_int_vector(c, begin, shape.rank),
                                       emp_onnx_int_vector(c, size, shape.rank)));
    if (is_padded || !is_cut)
        x = emp_onnx_emit2(c, word, x,
                           emp_tf_const(c->o->tf, NULL, "paddings", EMP_DTYPE_INT32,
                                        EMP_SHAPE(shape.rank, 2), pairs, 2 * shape.rank));
    emp_onnx_out(c, 0, x);
}

/* Types that are computed where their inputs are constants, and cannot be read where not. */
static void constant(emp_onnx_call *c, const char *word)
{
    emp_onnx_refuse(c, "%s", word);
}

const emp_onnx_rule emp_onnx_array_rules[] = {
    {"CenterCropPad", center_crop_pad, "Pad"},
    {"Col2Im", col2im, "Col2Im"},
    {"Concat", emp_onnx_lower_concat, NULL},
    {"Constant", constant, "its value is a list of over 4096 numbers, or none"},
    {"Crop", crop, NULL},
    {"DepthToSpace", rearrange, "DepthToSpace"},
    {"Dropout", pass, "dropout"},
    {"DynamicSlice", slice, NULL},
    {"Expand", expand, NULL},
    {"Flatten", flatten, NULL},
    {"Gather", gather, NULL},
    {"GatherElements", gather_nd, "GatherElements"},
    {"GatherND", gather_nd_batched, "GatherNd"},
    {"Identity", identity, NULL},
    {"Pad", pad, NULL},
    {"Reshape", reshape, NULL},
    {"Resize", resize, "Resize"},
    {"ReverseSequence", gather_nd, "ReverseSequence"},
    {"Scatter", ternary, "ScatterElements"},
    {"ScatterElements", ternary, "ScatterElements"},
    {"ScatterND", ternary, "TensorScatterUpdate"},
    {"Shape", constant, "the shape of its input is not known"},
    {"Size", constant, "the shape of its input is not known"},
    {"Slice", slice, NULL},
    {"SpaceToDepth", rearrange, "SpaceToDepth"},
    {"Split", split, NULL},
    {"Squeeze", squeeze, NULL},
    {"Tile", tile, NULL},
    {"TensorScatter", scatter_rows, "ScatterElements"},
    {"TopK", top_k, "PartialSort"},
    {"Transpose", transpose, NULL},
    {"Trilu", triangle, "MatrixBandPart"},
    {"Unsqueeze", unsqueeze, NULL},
    {"Upsample", resize, "Resize"},
    {"Where", ternary, "SelectV2"},
    {0}};
