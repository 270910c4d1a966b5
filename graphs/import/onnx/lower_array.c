// SPDX-License-Identifier: GPL-3.0-or-later
// Ops that move data: shapes, joins, cuts, lookups, scatters.
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

static void reshape(emp_onnx_call *c, const char *word)
{
    emp_shape shape = {0};

    (void)word;
    rename_to(c, emp_onnx_reshaped(c, &shape), shape);
}

static void squeeze(emp_onnx_call *c, const char *word)
{
    emp_shape shape = {0};

    (void)word;
    rename_to(c, emp_onnx_squeezed(c, &shape), shape);
}

static void unsqueeze(emp_onnx_call *c, const char *word)
{
    emp_shape shape = {0};

    (void)word;
    rename_to(c, emp_onnx_unsqueezed(c, &shape), shape);
}

static void flatten(emp_onnx_call *c, const char *word)
{
    emp_shape in = emp_onnx_in_shape(c, 0);
    int64_t   axis = emp_onnx_int(c, "axis", 1), sizes[2] = {1, 1};

    (void)word;
    if (axis < 0) axis += in.rank;
    for (int32_t d = 0; d < in.rank; d++)
        if (__builtin_mul_overflow(sizes[d >= axis], in.dim[d], &sizes[d >= axis]))
            sizes[0] = -1;
    rename_to(c, in.rank >= 0, EMP_SHAPE(sizes[0], sizes[1]));
}

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

/* Whether an order exchanges the last two dims alone. */
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
        emp_onnx_value turned = {
            .dtype = x->dtype, .shape = x->shape, .port = EMP_TF_NONE, .transposed = x};
        turned.shape.dim[rank - 1] = x->shape.dim[rank - 2];
        turned.shape.dim[rank - 2] = x->shape.dim[rank - 1];
        emp_onnx_out_value(c, 0, &turned);
        return;
    }
    emp_onnx_out(c, 0, emp_onnx_transpose(c, emp_onnx_in_port(c, 0), order));
}

/* ---- joins and cuts ---- */

static void concat(emp_onnx_call *c, const char *word)
{
    emp_port *inputs =
        emp_arena_alloc(&c->o->arena, ((size_t)c->in_count + 1) * sizeof *inputs);
    emp_shape first = emp_onnx_in_shape(c, 0);

    (void)word;
    if (inputs == NULL) {
        c->o->status = EMP_ENOMEM;
        return;
    }
    int32_t axis = emp_onnx_axis(c, emp_onnx_int(c, "axis", 0), first.rank);
    for (int32_t i = 0; i < c->in_count; i++) inputs[i] = emp_onnx_in_port(c, i);
    inputs[c->in_count] = emp_tf_int(c->o->tf, NULL, "axis", axis);
    emp_onnx_out(c, 0,
                 emp_onnx_emit(c, "ConcatV2", &(emp_op_attrs){.count = c->in_count},
                               inputs, c->in_count + 1));
}

/* Whether sizes are those of so many parts that make the whole. */
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
    int64_t   sizes[256];
    int32_t   parts = c->node->output_count;
    int32_t   axis = emp_onnx_axis(c, emp_onnx_int(c, "axis", 0), shape.rank);

    (void)word;
    if (parts < 1 || parts > 256 || !emp_tf_is_ok(c->o->tf)) {
        emp_onnx_refuse(c, "%d parts, need 1 to 256", parts);
        return;
    }
    int32_t count = emp_onnx_ints(c, "split", 1, sizes, 256);
    if (count >= 0 && !are_parts(c, sizes, count, parts, shape.dim[axis])) return;
    if (count < 0) {
        int64_t each = (shape.dim[axis] + parts - 1) / parts, left = shape.dim[axis];
        for (int32_t i = 0; i < parts; i++, left -= each)
            sizes[i] = left < each ? (left < 0 ? 0 : left) : each;
    }
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
    emp_port sizes = emp_tf_const(c->o->tf, NULL, "paddings", EMP_DTYPE_INT32,
                                  EMP_SHAPE(shape.rank, 2), pairs, 2 * shape.rank);
    emp_onnx_out(c, 0,
                 emp_onnx_emit2(c, is_mirror ? "MirrorPad" : "Pad",
                                emp_onnx_in_port(c, 0), sizes));
}

/* Whether none is below 0. */
static bool are_counts(emp_onnx_call *c, const int64_t *number, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        if (number[i] >= 0) continue;
        emp_onnx_refuse(c, "a size of %lld in place %d", (long long)number[i], i);
        return false;
    }
    return true;
}

static void expand(emp_onnx_call *c, const char *word)
{
    emp_shape in = emp_onnx_in_shape(c, 0), wanted = {0}, shape;

    (void)word;
    wanted.rank = emp_onnx_ints(c, NULL, 1, wanted.dim, EMP_MAX_RANK);
    if (!are_counts(c, wanted.dim, wanted.rank)) return;
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
    if (!are_counts(c, times, count)) return;
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

static void scatter(emp_onnx_call *c, const char *word)
{
    emp_onnx_out(
        c, 0,
        emp_onnx_emit(c, word, NULL,
                      EMP_TF_PORTS(emp_onnx_in_port(c, 0), emp_onnx_in_port(c, 1),
                                   emp_onnx_in_port(c, 2))));
}

static void top_k(emp_onnx_call *c, const char *word)
{
    emp_shape    shape = emp_onnx_in_shape(c, 0);
    int64_t      k = emp_onnx_int(c, "k", -1), list[1];
    emp_op_attrs attrs = {.axis =
                              emp_onnx_axis(c, emp_onnx_int(c, "axis", -1), shape.rank)};
    emp_port     x = emp_onnx_in_port(c, 0);

    if (k < 0 && emp_onnx_ints(c, NULL, 1, list, 1) == 1) k = list[0];
    if (k < 0 || k > INT32_MAX) {
        emp_onnx_refuse(c, "how many elements it takes depends on data");
        return;
    }
    attrs.count = (int32_t)k;
    emp_port y = emp_onnx_emit(c, word, &attrs, &x, 1);
    emp_onnx_out(c, 0, y);
    emp_onnx_out(c, 1, (emp_port){y.op, y.op < 0 ? 0 : 1});
}

static void one_hot(emp_onnx_call *c, const char *word)
{
    emp_shape             shape = emp_onnx_in_shape(c, 0);
    int64_t               depth[1];
    const emp_onnx_value *values = emp_onnx_in(c, 2);

    if (emp_onnx_ints(c, NULL, 1, depth, 1) != 1 || shape.rank < 0 ||
        shape.rank == EMP_MAX_RANK || depth[0] < 0 || depth[0] > INT32_MAX) {
        emp_onnx_refuse(c, "its depth depends on data");
        return;
    }
    emp_dtype dtype = values != NULL ? values->dtype : EMP_DTYPE_FLOAT;
    emp_port  classes = emp_tf_int(c->o->tf, NULL, "depth", depth[0]);
    emp_port  on = emp_tf_const(c->o->tf, NULL, "on", dtype, EMP_SHAPE_SCALAR, NULL, 0);
    emp_onnx_out(c, 0,
                 emp_onnx_emit(c, word, &(emp_op_attrs){.dtype = dtype},
                               EMP_TF_PORTS(emp_onnx_in_port(c, 0), classes, on, on)));
}

/* How many elements are not zero is not known before the step; we take all of them. */
static void non_zero(emp_onnx_call *c, const char *word)
{
    emp_shape shape = emp_onnx_in_shape(c, 0);
    emp_port  x = emp_onnx_in_port(c, 0);

    if (shape.rank < 0) {
        emp_onnx_refuse(c, "the rank of its input is not known");
        return;
    }
    emp_import_notes_assume(c->o->notes, "all elements count as not zero in NonZero");
    emp_onnx_out(c, 0,
                 emp_onnx_emit_shaped(c, word,
                                      EMP_SHAPE(shape.rank, emp_shape_elements(&shape)),
                                      EMP_DTYPE_INT64, &x, 1));
}

static void filled(emp_onnx_call *c, const char *word)
{
    (void)word;
    emp_onnx_refuse(c, "its shape depends on data");
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

/* Sizes are given, or factors of the input's. */
static void resize(emp_onnx_call *c, const char *word)
{
    emp_shape shape = emp_onnx_in_shape(c, 0);
    bool      is_old = c->opset < 11 || emp_slice_is(c->node->type, "Upsample");
    const emp_onnx_value *scales = emp_onnx_in(c, is_old ? 1 : 2),
                         *sizes = emp_onnx_in(c, 3);
    emp_onnx_attr attr;
    double        factor[EMP_MAX_RANK];
    int64_t       axes[EMP_MAX_RANK];
    int32_t       count = -1;
    emp_port      x = emp_onnx_in_port(c, 0);

    for (int32_t d = 0; d < EMP_MAX_RANK; d++) axes[d] = d;
    emp_onnx_ints(c, "axes", -1, axes, EMP_MAX_RANK);
    if (emp_onnx_get(c, "scales", &attr))
        count = emp_onnx_attr_numbers(&attr, factor, EMP_MAX_RANK);
    if (count < 0 && scales != NULL && scales->number != NULL) {
        int64_t elements = emp_shape_elements(&scales->shape);
        count = elements <= EMP_MAX_RANK ? (int32_t)elements : 0;
        for (int32_t i = 0; i < count; i++) factor[i] = scales->number[i];
    }
    bool is_sized = count <= 0 && sizes != NULL && sizes->number != NULL;
    if (is_sized) {
        int64_t elements = emp_shape_elements(&sizes->shape);
        count = elements <= EMP_MAX_RANK ? (int32_t)elements : 0;
    }
    if (count <= 0 || shape.rank < count) {
        emp_onnx_refuse(c, "its sizes depend on data");
        return;
    }
    for (int32_t i = 0; i < count; i++) {
        int32_t d = emp_onnx_axis(c, axes[i], shape.rank);
        shape.dim[d] = is_sized ? emp_truncate(sizes->number[i])
                                : emp_truncate((double)shape.dim[d] * factor[i] + 1e-9);
        if (shape.dim[d] < 0) emp_onnx_refuse(c, "a size below 0");
    }
    emp_onnx_out(c, 0, emp_onnx_emit_shaped(c, word, shape, EMP_DTYPE_NONE, &x, 1));
}

static void random_like(emp_onnx_call *c, const char *word)
{
    emp_shape shape = emp_onnx_in_shape(c, 0);
    int64_t   sizes[EMP_MAX_RANK];
    int32_t   rank = emp_onnx_ints(c, "shape", -1, sizes, EMP_MAX_RANK);

    if (!are_counts(c, sizes, rank)) return;
    if (rank >= 0) {
        shape = (emp_shape){.rank = rank};
        memcpy(shape.dim, sizes, sizeof sizes);
    }
    if (shape.rank < 0) {
        emp_onnx_refuse(c, "its shape is not known");
        return;
    }
    emp_port size = emp_onnx_int_vector(c, shape.dim, shape.rank);
    emp_onnx_out(
        c, 0,
        emp_onnx_emit(c, word, &(emp_op_attrs){.dtype = EMP_DTYPE_FLOAT}, &size, 1));
}

const emp_onnx_rule emp_onnx_array_rules[] = {
    {"Concat", concat, NULL},
    {"ConstantOfShape", filled, NULL},
    {"DepthToSpace", rearrange, "DepthToSpace"},
    {"Dropout", pass, "dropout"},
    {"Expand", expand, NULL},
    {"Flatten", flatten, NULL},
    {"Gather", gather, NULL},
    {"GatherElements", gather_nd, "GatherElements"},
    {"GatherND", gather_nd, "GatherNd"},
    {"Identity", identity, NULL},
    {"NonZero", non_zero, "Where"},
    {"OneHot", one_hot, "OneHot"},
    {"Pad", pad, NULL},
    {"RandomNormal", random_like, "RandomStandardNormal"},
    {"RandomNormalLike", random_like, "RandomStandardNormal"},
    {"RandomUniform", random_like, "RandomUniform"},
    {"RandomUniformLike", random_like, "RandomUniform"},
    {"Reshape", reshape, NULL},
    {"Resize", resize, "Resize"},
    {"ReverseSequence", gather_nd, "ReverseSequence"},
    {"Scatter", scatter, "ScatterElements"},
    {"ScatterElements", scatter, "ScatterElements"},
    {"ScatterND", scatter, "TensorScatterUpdate"},
    {"Slice", slice, NULL},
    {"SpaceToDepth", rearrange, "SpaceToDepth"},
    {"Split", split, NULL},
    {"Squeeze", squeeze, NULL},
    {"Tile", tile, NULL},
    {"TopK", top_k, "PartialSort"},
    {"Transpose", transpose, NULL},
    {"Trilu", triangle, "MatrixBandPart"},
    {"Unsqueeze", unsqueeze, NULL},
    {"Upsample", resize, "Resize"},
    {0}};
