// SPDX-License-Identifier: GPL-3.0-or-later
// Ops that make tensors: of nothing but a shape, or of sizes that depend on data.
#include <string.h>

#include "graphs/import/onnx/lower.h"

/* ---- tensors made of nothing but a shape ---- */

/* The element type that an attribute gives, else the input's, if there is one. */
static emp_dtype dtype_of(const emp_onnx_call *c, const char *name, bool is_like_input)
{
    const emp_onnx_value *x = emp_onnx_in(c, 0);
    emp_dtype             dtype = emp_onnx_dtype(emp_onnx_int(c, name, 0));

    if (dtype != EMP_DTYPE_NONE) return dtype;
    return is_like_input && x != NULL ? x->dtype : EMP_DTYPE_FLOAT;
}

static void random_like(emp_onnx_call *c, const char *word)
{
    emp_shape shape = emp_onnx_in_shape(c, 0);
    int64_t   sizes[EMP_MAX_RANK];
    int32_t   rank = emp_onnx_ints(c, "shape", -1, sizes, EMP_MAX_RANK);

    if (!emp_onnx_are_counts(c, sizes, rank)) return;
    if (rank >= 0) {
        shape = (emp_shape){.rank = rank};
        memcpy(shape.dim, sizes, sizeof sizes);
    }
    if (shape.rank < 0) {
        emp_onnx_refuse(c, "its shape is not known");
        return;
    }
    emp_port size = emp_onnx_int_vector(c, shape.dim, shape.rank);
    emp_onnx_out(c, 0,
                 emp_onnx_emit(c, word,
                               &(emp_op_attrs){.dtype = dtype_of(c, "dtype", rank < 0)},
                               &size, 1));
}

static void eye_like(emp_onnx_call *c, const char *word)
{
    emp_port x = emp_onnx_in_port(c, 0);

    emp_onnx_out(c, 0,
                 emp_onnx_emit(c, word,
                               &(emp_op_attrs){.dtype = dtype_of(c, "dtype", true)}, &x,
                               1));
}

/* Windows of signals, and the like: constants of so many numbers. */
static void window(emp_onnx_call *c, const char *word)
{
    int64_t size[2] = {0, 0};
    bool    is_matrix = strcmp(word, "mel") == 0;

    if (emp_onnx_ints(c, NULL, 0, size, 1) != 1 ||
        (is_matrix && emp_onnx_ints(c, NULL, 1, size + 1, 1) != 1) || size[0] < 0 ||
        size[1] < 0) {
        emp_onnx_refuse(c, "its size depends on data, or is below 0");
        return;
    }
    emp_dtype dtype = dtype_of(c, "output_datatype", false);
    emp_shape shape =
        is_matrix ? EMP_SHAPE(size[1] / 2 + 1, size[0]) : EMP_SHAPE(size[0]);
    emp_onnx_out(c, 0, emp_tf_const(c->o->tf, NULL, "window", dtype, shape, NULL, 0));
}

/* So many numbers from `start` on; how many is not known where they depend on data. */
static void range(emp_onnx_call *c, const char *word)
{
    emp_port part[3] = {emp_onnx_in_port(c, 0), emp_onnx_in_port(c, 1),
                        emp_onnx_in_port(c, 2)};

    const emp_onnx_value *start = emp_onnx_in(c, 0), *delta = emp_onnx_in(c, 2);
    if (delta != NULL && delta->number != NULL && delta->number[0] == 0.0) {
        emp_onnx_refuse(c, "its step is 0");
        return;
    }
    emp_shape shape = EMP_SHAPE(emp_onnx_range_count(c));
    if (shape.dim[0] < 0) shape.dim[0] = emp_onnx_open_size(c, 0, 0);
    const emp_tensor_info numbers = {
        .shape = shape, .dtype = start != NULL ? start->dtype : EMP_DTYPE_INT64};
    emp_onnx_out(c, 0, emp_onnx_emit_torch(c, word, &numbers, 1, part, 3));
}

static void multinomial(emp_onnx_call *c, const char *word)
{
    emp_shape shape = emp_onnx_in_shape(c, 0);
    emp_dtype dtype = emp_onnx_dtype(emp_onnx_int(c, "dtype", 6));
    int64_t   samples = emp_onnx_int(c, "sample_size", 1);

    if (shape.rank != 2 || samples < 0) {
        emp_onnx_refuse(c, "%lld samples of a tensor of rank %d", (long long)samples,
                        shape.rank);
        return;
    }
    shape.dim[1] = samples;
    emp_port count = emp_tf_int(c->o->tf, NULL, "count", samples);
    emp_onnx_out(c, 0,
                 emp_onnx_emit_shaped(c, word, shape, dtype,
                                      EMP_TF_PORTS(emp_onnx_in_port(c, 0), count)));
}

static void filled(emp_onnx_call *c, const char *word)
{
    (void)word;
    emp_onnx_refuse(c, "its shape depends on data");
}

static void one_hot(emp_onnx_call *c, const char *word)
{
    emp_shape             x = emp_onnx_in_shape(c, 0), shape = {0};
    int64_t               depth[1];
    const emp_onnx_value *values = emp_onnx_in(c, 2);

    if (emp_onnx_ints(c, NULL, 1, depth, 1) != 1) {
        emp_onnx_refuse(c, "its depth depends on data");
        return;
    }
    if (x.rank < 0 || x.rank == EMP_MAX_RANK || depth[0] < 0 || depth[0] > INT32_MAX) {
        emp_onnx_refuse(c, "a depth of %lld for indices of rank %d", (long long)depth[0],
                        x.rank);
        return;
    }
    int32_t axis = emp_onnx_axis(c, emp_onnx_int(c, "axis", -1), x.rank + 1);
    for (int32_t d = 0; d <= x.rank; d++)
        shape.dim[shape.rank++] = d == axis ? depth[0] : x.dim[d < axis ? d : d - 1];
    emp_dtype dtype = values != NULL ? values->dtype : EMP_DTYPE_FLOAT;
    emp_port  classes = emp_tf_int(c->o->tf, NULL, "depth", depth[0]);
    emp_port  on = emp_tf_const(c->o->tf, NULL, "on", dtype, EMP_SHAPE_SCALAR, NULL, 0);
    emp_onnx_out(
        c, 0,
        emp_onnx_emit_shaped(c, word, shape, dtype,
                             EMP_TF_PORTS(emp_onnx_in_port(c, 0), classes, on, on)));
}

/* ---- sizes that depend on data, with a bound ---- */

/* All elements count as distinct. With an axis, slices along it are compared. */
static void unique(emp_onnx_call *c, const char *word)
{
    const emp_onnx_value *value = emp_onnx_in(c, 0);
    emp_shape             shape = emp_onnx_in_shape(c, 0);
    emp_port              x = emp_onnx_in_port(c, 0);
    int64_t               axis = emp_onnx_int(c, "axis", INT64_MAX);
    int64_t               count = emp_shape_elements(&shape);

    if (value == NULL || !emp_shape_is_known(&shape)) {
        emp_onnx_refuse(c, "the shape of its input is not known");
        return;
    }
    emp_import_notes_assume(
        c->o->notes, "all elements count as distinct in Unique: the sizes of what it "
                     "makes depend on data");
    if (axis != INT64_MAX) {
        count = emp_shape_size(&shape, emp_onnx_axis(c, axis, shape.rank));
    } else if (shape.rank != 1) {
        shape = EMP_SHAPE(count);
        x = emp_onnx_reshape(c, x, shape);
    }
    const emp_tensor_info made[] = {
        {.shape = shape, .dtype = value->dtype},
        {.shape = EMP_SHAPE(count), .dtype = EMP_DTYPE_INT64}};
    emp_port y = emp_onnx_emit_torch(c, word, made, 2, &x, 1);
    for (int32_t i = 0; i < 4; i++) emp_onnx_out(c, i, (emp_port){y.op, i > 0});
}

/* Rows that a condition chooses; all are taken. */
static void compress(emp_onnx_call *c, const char *word)
{
    emp_shape shape = emp_onnx_in_shape(c, 0), chosen = emp_onnx_in_shape(c, 1);
    int64_t   axis = emp_onnx_int(c, "axis", INT64_MAX);
    emp_port  x = emp_onnx_in_port(c, 0), condition = emp_onnx_in_port(c, 1);

    if (!emp_shape_is_known(&shape) || chosen.rank != 1) {
        emp_onnx_refuse(c, "a condition of rank %d for a tensor of rank %d", chosen.rank,
                        shape.rank);
        return;
    }
    if (axis == INT64_MAX) {
        shape = EMP_SHAPE(emp_shape_elements(&shape));
        x = emp_onnx_reshape(c, x, shape);
        axis = 0;
    }
    int32_t               along = emp_onnx_axis(c, axis, shape.rank);
    const emp_onnx_value *value = emp_onnx_in(c, 1);
    int64_t               count = chosen.dim[0];
    if (count > shape.dim[along]) count = shape.dim[along];
    if (value->number != NULL) {
        int64_t taken = 0;
        for (int64_t i = 0; i < count; i++) taken += value->number[i] != 0.0;
        count = taken;
    } else {
        emp_import_notes_assume(c->o->notes, "Compress takes all rows that it may");
    }
    const emp_tensor_info numbers = {.shape = EMP_SHAPE(count, 1),
                                     .dtype = EMP_DTYPE_INT64};
    emp_port found = emp_onnx_emit_torch(c, "aten.nonzero", &numbers, 1, &condition, 1);
    emp_port rows = emp_onnx_reshape(c, found, EMP_SHAPE(count));
    emp_port where = emp_tf_int(c->o->tf, NULL, "axis", along);
    emp_onnx_out(c, 0, emp_onnx_emit(c, word, NULL, EMP_TF_PORTS(x, rows, where)));
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
    if (shape.rank == 0) shape = EMP_SHAPE(1);
    emp_import_notes_assume(c->o->notes, "all elements count as not zero in NonZero");
    const emp_tensor_info places = {.shape =
                                        EMP_SHAPE(shape.rank, emp_shape_elements(&shape)),
                                    .dtype = EMP_DTYPE_INT64};
    emp_onnx_out(c, 0, emp_onnx_emit_torch(c, word, &places, 1, &x, 1));
}

const emp_onnx_rule emp_onnx_made_rules[] = {
    {"Bernoulli", random_like, "RandomUniform"},
    {"BlackmanWindow", window, "window"},
    {"Compress", compress, "GatherV2"},
    {"ConstantOfShape", filled, NULL},
    {"EyeLike", eye_like, "ZerosLike"},
    {"HammingWindow", window, "window"},
    {"HannWindow", window, "window"},
    {"MelWeightMatrix", window, "mel"},
    {"Multinomial", multinomial, "Multinomial"},
    {"NonZero", non_zero, "aten.nonzero"},
    {"OneHot", one_hot, "OneHot"},
    {"RandomNormal", random_like, "RandomStandardNormal"},
    {"RandomNormalLike", random_like, "RandomStandardNormal"},
    {"RandomUniform", random_like, "RandomUniform"},
    {"RandomUniformLike", random_like, "RandomUniform"},
    {"Range", range, "aten.arange"},
    {"Unique", unique, "aten._unique2"},
    {0}};
