// SPDX-License-Identifier: GPL-3.0-or-later
// Detection, losses, transforms of signals, optimizers in the graph, control flow.
#include <string.h>

#include "graphs/import/onnx/lower.h"

/* ---- detection ---- */

static void grid_sample(emp_onnx_call *c, const char *word)
{
    emp_shape x = emp_onnx_in_shape(c, 0), grid = emp_onnx_in_shape(c, 1);

    if (x.rank < 3 || grid.rank != x.rank) {
        emp_onnx_refuse(c, "samples of a tensor of rank %d by a grid of rank %d", x.rank,
                        grid.rank);
        return;
    }
    for (int32_t d = 2; d < x.rank; d++) x.dim[d] = grid.dim[d - 1];
    emp_onnx_out(c, 0,
                 emp_onnx_emit_shaped(
                     c, word, x, EMP_DTYPE_NONE,
                     EMP_TF_PORTS(emp_onnx_in_port(c, 0), emp_onnx_in_port(c, 1))));
}

static void roi_align(emp_onnx_call *c, const char *word)
{
    emp_shape x = emp_onnx_in_shape(c, 0), rois = emp_onnx_in_shape(c, 1);

    if (x.rank != 4 || rois.rank != 2) {
        emp_onnx_refuse(c, "regions of rank %d in a tensor of rank %d", rois.rank,
                        x.rank);
        return;
    }
    x.dim[0] = rois.dim[0];
    x.dim[2] = emp_onnx_int(c, "output_height", 1);
    x.dim[3] = emp_onnx_int(c, "output_width", 1);
    for (int32_t d = 2; d < 4; d++) {
        if (x.dim[d] >= 1 && x.dim[d] <= INT32_MAX) continue;
        emp_onnx_refuse(c, "output_height or output_width is %lld, need 1 to %d",
                        (long long)x.dim[d], INT32_MAX);
        return;
    }
    emp_onnx_out(c, 0,
                 emp_onnx_emit_shaped(
                     c, word, x, EMP_DTYPE_NONE,
                     EMP_TF_PORTS(emp_onnx_in_port(c, 0), emp_onnx_in_port(c, 1))));
}

/* How many boxes stay is not known before the step; we take as many as may. */
static void non_max_suppression(emp_onnx_call *c, const char *word)
{
    emp_shape boxes = emp_onnx_in_shape(c, 0), scores = emp_onnx_in_shape(c, 1);
    int64_t   most[1] = {0}, count = 1;

    if (boxes.rank != 3 || scores.rank != 3) {
        emp_onnx_refuse(c, "boxes of rank %d and scores of rank %d, need 3", boxes.rank,
                        scores.rank);
        return;
    }
    if (emp_onnx_ints(c, NULL, 2, most, 1) != 1 || most[0] > boxes.dim[1])
        most[0] = boxes.dim[1];
    for (int32_t d = 0; d < 2; d++)
        if (__builtin_mul_overflow(count, scores.dim[d], &count)) count = INT32_MAX;
    if (__builtin_mul_overflow(count, most[0], &count)) count = INT32_MAX;
    emp_import_notes_assume(c->o->notes, "NonMaxSuppression keeps all boxes that it may");
    emp_onnx_out(c, 0,
                 emp_onnx_emit_shaped(
                     c, word, EMP_SHAPE(count, 3), EMP_DTYPE_INT64,
                     EMP_TF_PORTS(emp_onnx_in_port(c, 0), emp_onnx_in_port(c, 1))));
}

/* The largest elements of regions that are cut into windows. */
static void max_roi_pool(emp_onnx_call *c, const char *word)
{
    emp_shape x = emp_onnx_in_shape(c, 0), rois = emp_onnx_in_shape(c, 1);
    int64_t   size[2];

    if (x.rank != 4 || rois.rank != 2 ||
        emp_onnx_ints(c, "pooled_shape", -1, size, 2) != 2 || size[0] < 1 ||
        size[1] < 1) {
        emp_onnx_refuse(c, "pooled_shape, or regions of rank %d in a tensor of rank %d",
                        rois.rank, x.rank);
        return;
    }
    x.dim[0] = rois.dim[0];
    for (int32_t d = 0; d < 2; d++) x.dim[2 + d] = size[d];
    emp_onnx_out(c, 0,
                 emp_onnx_emit_shaped(
                     c, word, x, EMP_DTYPE_NONE,
                     EMP_TF_PORTS(emp_onnx_in_port(c, 0), emp_onnx_in_port(c, 1))));
}

/* A grid [N, H, W, 2] or [N, D, H, W, 3] of places, as affine functions of their indices. */
static void affine_grid(emp_onnx_call *c, const char *word)
{
    emp_shape theta = emp_onnx_in_shape(c, 0), shape = {0};
    int64_t   size[EMP_MAX_RANK], places = 1;
    int32_t   count = emp_onnx_ints(c, NULL, 1, size, EMP_MAX_RANK), rank = count - 2;

    (void)word;
    if (theta.rank != 3 || (rank != 2 && rank != 3)) {
        emp_onnx_refuse(c, "its size depends on data, or has neither 4 nor 5 numbers");
        return;
    }
    shape.dim[shape.rank++] = theta.dim[0];
    for (int32_t d = 0; d < rank; d++) {
        shape.dim[shape.rank++] = size[2 + d];
        if (size[2 + d] < 1 || __builtin_mul_overflow(places, size[2 + d], &places)) {
            emp_onnx_refuse(c, "a grid of a size of %lld", (long long)size[2 + d]);
            return;
        }
    }
    shape.dim[shape.rank++] = rank;
    emp_dtype dtype = emp_onnx_in(c, 0)->dtype;
    emp_port  base =
        emp_tf_const(c->o->tf, NULL, "base", dtype, EMP_SHAPE(places, rank + 1), NULL, 0);
    emp_port y = emp_onnx_emit(c, "BatchMatMulV2", &(emp_op_attrs){.transpose_b = true},
                               EMP_TF_PORTS(base, emp_onnx_in_port(c, 0)));
    emp_onnx_out(c, 0, emp_onnx_reshape(c, y, shape));
}

static void determinant(emp_onnx_call *c, const char *word)
{
    emp_shape x = emp_onnx_in_shape(c, 0);

    if (x.rank < 2) {
        emp_onnx_refuse(c, "a determinant of a tensor of rank %d", x.rank);
        return;
    }
    emp_onnx_out(
        c, 0,
        emp_onnx_reduce(c, word, emp_onnx_in_port(c, 0), 3U << (x.rank - 2), false));
}

/* ---- losses ---- */

/* Losses of labels [N, ...] by scores [N, classes, ...]; the mean or the sum is one number. */
static void label_loss(emp_onnx_call *c, const char *word)
{
    emp_shape x = emp_onnx_in_shape(c, 0), labels = emp_onnx_in_shape(c, 1);
    emp_port  scores = emp_onnx_in_port(c, 0);

    if (x.rank < 2 || labels.rank != x.rank - 1) {
        emp_onnx_refuse(c, "labels of rank %d for scores of rank %d", labels.rank,
                        x.rank);
        return;
    }
    if (strcmp(word, "LogSoftmax") == 0) {
        scores = emp_onnx_emit1(c, word, scores);
        emp_onnx_out(c, 1, scores);
    }
    emp_port loss = emp_onnx_emit2(c, "GatherElements", scores, emp_onnx_in_port(c, 1));
    if (emp_onnx_in(c, 2) != NULL && labels.rank == 1)
        loss = emp_onnx_emit2(
            c, "Mul", loss,
            emp_onnx_emit2(c, "Gather", emp_onnx_in_port(c, 2), emp_onnx_in_port(c, 1)));
    if (!emp_onnx_word_is(c, "reduction", "none"))
        loss =
            emp_onnx_reduce(c, emp_onnx_word_is(c, "reduction", "sum") ? "Sum" : "Mean",
                            loss, (1U << labels.rank) - 1, false);
    emp_onnx_out(c, 0, loss);
}

/* ---- transforms of signals ---- */

/* Numbers that a transform of that length makes of real ones; of complex ones it makes as many. */
static int64_t bins(const emp_onnx_call *c, int64_t length, bool is_onesided)
{
    return emp_onnx_int(c, "onesided", is_onesided) != 0 ? length / 2 + 1 : length;
}

/* DFT over one axis of [..., 1 or 2], with the length as input 1. */
static void transform(emp_onnx_call *c, const char *word)
{
    emp_shape shape = emp_onnx_in_shape(c, 0);
    int64_t   length[1],
        axis[1] = {emp_onnx_int(c, "axis", emp_onnx_is_before(c, 20) ? 1 : -2)};

    if (emp_onnx_in(c, 2) != NULL && emp_onnx_ints(c, NULL, 2, axis, 1) != 1) {
        emp_onnx_refuse(c, "its axis depends on data");
        return;
    }
    if (shape.rank < 2) {
        emp_onnx_refuse(c, "a transform of a tensor of rank %d", shape.rank);
        return;
    }
    int32_t along = emp_onnx_axis(c, axis[0], shape.rank);
    if (emp_onnx_in(c, 1) != NULL) {
        if (emp_onnx_ints(c, NULL, 1, length, 1) != 1 || length[0] < 1) {
            emp_onnx_refuse(c, "its length depends on data, or is below 1");
            return;
        }
        shape.dim[along] = length[0];
    }
    const bool is_inverse = emp_onnx_int(c, "inverse", 0) != 0;
    const bool is_onesided = emp_onnx_int(c, "onesided", 0) != 0;
    if (is_onesided && is_inverse && emp_onnx_in(c, 1) == NULL)
        shape.dim[along] = emp_onnx_times(2, shape.dim[along] - 1);
    if (!is_inverse) shape.dim[along] = bins(c, shape.dim[along], false);
    shape.dim[shape.rank - 1] = is_onesided && is_inverse ? 1 : 2;
    emp_port x = emp_onnx_in_port(c, 0);
    emp_onnx_out(c, 0, emp_onnx_emit_shaped(c, word, shape, EMP_DTYPE_NONE, &x, 1));
}

/* STFT of a signal [N, length, 1 or 2]: frames of a length, so many steps apart. */
static void short_transform(emp_onnx_call *c, const char *word)
{
    emp_shape signal = emp_onnx_in_shape(c, 0), window = emp_onnx_in_shape(c, 2);
    int64_t   step[1] = {0}, length[1] = {window.rank == 1 ? window.dim[0] : 0};

    if (emp_onnx_in(c, 3) != NULL && emp_onnx_ints(c, NULL, 3, length, 1) != 1)
        length[0] = 0;
    if (signal.rank < 2 || emp_onnx_ints(c, NULL, 1, step, 1) != 1 || step[0] < 1 ||
        length[0] < 1 || length[0] > signal.dim[1]) {
        emp_onnx_refuse(c, "a frame of %lld every %lld of %lld numbers",
                        (long long)length[0], (long long)step[0],
                        signal.rank < 2 ? -1 : (long long)signal.dim[1]);
        return;
    }
    int64_t  frames = (signal.dim[1] - length[0]) / step[0] + 1;
    emp_port x = emp_onnx_in_port(c, 0);
    emp_onnx_out(c, 0,
                 emp_onnx_emit_shaped(
                     c, word,
                     EMP_SHAPE(signal.dim[0], frames, bins(c, length[0], true), 2),
                     EMP_DTYPE_NONE, &x, 1));
}

/* ---- optimizers in the graph ---- */

/* ai.onnx.preview.training: a rate, a count, then all tensors, gradients and moments in turn. */
static void optimizer(emp_onnx_call *c, const char *word)
{
    int32_t parts = strcmp(word, "Adam") == 0 ? 4 : 3;
    int32_t tensors = (c->in_count - 2) / parts;

    for (int32_t i = 0; i < tensors; i++) {
        emp_port x = emp_onnx_in_port(c, 2 + i), part[3];
        for (int32_t k = 1; k < parts; k++)
            part[k - 1] = emp_onnx_in_port(c, 2 + k * tensors + i);
        for (int32_t k = 1; k < parts - 1; k++) {
            emp_port moment = emp_onnx_emit2(c, "Add", part[k], part[0]);
            emp_onnx_out(c, k * tensors + i, moment);
            part[k] = moment;
        }
        emp_onnx_out(c, i, emp_onnx_emit2(c, "Sub", x, part[parts - 2]));
    }
}

const emp_onnx_rule emp_onnx_other_rules[] = {
    {"Adagrad", optimizer, "Adagrad"},
    {"Adam", optimizer, "Adam"},
    {"AffineGrid", affine_grid, NULL},
    {"DFT", transform, "FourierTransform"},
    {"Det", determinant, "Prod"},
    {"GridSample", grid_sample, "GridSample"},
    {"If", emp_onnx_lower_if, NULL},
    {"Loop", emp_onnx_lower_loop, NULL},
    {"MaxRoiPool", max_roi_pool, "RoiAlign"},
    {"Momentum", optimizer, "Momentum"},
    {"NegativeLogLikelihoodLoss", label_loss, "GatherElements"},
    {"NonMaxSuppression", non_max_suppression, "NonMaxSuppression"},
    {"RoiAlign", roi_align, "RoiAlign"},
    {"STFT", short_transform, "FourierTransform"},
    {"Scan", emp_onnx_lower_scan, NULL},
    {"SoftmaxCrossEntropyLoss", label_loss, "LogSoftmax"},
    {0}};
