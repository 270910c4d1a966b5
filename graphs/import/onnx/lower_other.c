// SPDX-License-Identifier: GPL-3.0-or-later
// Detection, losses, transforms of signals, optimizers in the graph, control flow, sequences.
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

/* How many boxes stay is not known before the step; we take as many as may: none where no maximum is given. */
static void non_max_suppression(emp_onnx_call *c, const char *word)
{
    emp_shape boxes = emp_onnx_in_shape(c, 0), scores = emp_onnx_in_shape(c, 1);
    int64_t   most[1] = {0}, count = 1;

    if (boxes.rank != 3 || scores.rank != 3) {
        emp_onnx_refuse(c, "boxes of rank %d and scores of rank %d, need 3", boxes.rank,
                        scores.rank);
        return;
    }
    if (emp_onnx_in(c, 2) != NULL &&
        (emp_onnx_ints(c, NULL, 2, most, 1) != 1 || most[0] > boxes.dim[1]))
        most[0] = boxes.dim[1];
    for (int32_t d = 0; d < 2; d++)
        if (__builtin_mul_overflow(count, scores.dim[d], &count)) count = INT32_MAX;
    if (__builtin_mul_overflow(count, most[0], &count)) count = INT32_MAX;
    emp_import_notes_assume(c->o->notes, "NonMaxSuppression keeps all boxes that it may");
    const emp_tensor_info kept = {.shape = EMP_SHAPE(count, 3), .dtype = EMP_DTYPE_INT64};
    emp_onnx_out(c, 0,
                 emp_onnx_emit_torch(
                     c, word, &kept, 1,
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

/* ---- sequences: lists of values while a model is read, and no ops of the graph ---- */

/* Room for the tensors of a new sequence. Each insertion makes one, so that loops could fill the memory. */
static emp_onnx_value **new_items(emp_onnx_call *c, int64_t count)
{
    emp_onnx_value **item;

    if (count > c->o->item_budget) {
        emp_onnx_refuse(c,
                        "a sequence of %lld tensors, which is too long with those before",
                        (long long)count);
        return NULL;
    }
    c->o->item_budget -= count;
    item = emp_arena_alloc(&c->o->arena, ((size_t)count + 1) * sizeof(emp_onnx_value *));
    if (item == NULL) c->o->status = EMP_ENOMEM;
    return item;
}

static void out_sequence(emp_onnx_call *c, emp_onnx_value **item, int32_t count)
{
    const emp_onnx_value sequence = {.shape = EMP_SHAPE_UNKNOWN,
                                     .port = EMP_TF_NONE,
                                     .grouped = EMP_TF_NONE,
                                     .is_sequence = true,
                                     .item = item,
                                     .item_count = count};

    emp_onnx_out_value(c, 0, &sequence);
}

static const emp_onnx_value *in_sequence(emp_onnx_call *c)
{
    const emp_onnx_value *value = emp_onnx_in(c, 0);

    if (value != NULL && value->is_sequence) return value;
    emp_onnx_refuse(c, "input 0 is no sequence");
    return NULL;
}

/* The place in a sequence that input 1 or 2 gives, counted from the end if it is below 0.
 * \param otherwise  Where the input is left out, or depends on data. */
static bool read_place(emp_onnx_call *c, int32_t input, int64_t count, int64_t otherwise,
                       int64_t *place)
{
    int64_t given[1];
    int64_t last =
        input == 2 ? count : count - 1; /* an insertion may be behind the last */

    *place = otherwise;
    if (emp_onnx_ints(c, NULL, input, given, 1) == 1)
        *place = given[0] < 0 ? given[0] + count : given[0];
    else if (emp_onnx_in(c, input) != NULL)
        emp_import_notes_assume(c->o->notes,
                                "node \"%.*s\" of type %.*s takes place %lld of its "
                                "sequence, as its input %d is no constant",
                                EMP_SLICE_ARG(c->node->name),
                                EMP_SLICE_ARG(c->node->type), (long long)otherwise,
                                input);
    if (*place >= 0 && *place <= last) return true;
    emp_onnx_refuse(c, "place %lld is outside of a sequence of %lld tensors",
                    (long long)*place, (long long)count);
    return false;
}

static void empty(emp_onnx_call *c, const char *word)
{
    (void)word;
    out_sequence(c, NULL, 0);
}

static void construct(emp_onnx_call *c, const char *word)
{
    emp_onnx_value **item = new_items(c, c->in_count);

    (void)word;
    if (item == NULL) return;
    for (int32_t i = 0; i < c->in_count; i++) {
        item[i] = emp_onnx_in(c, i);
        if (item[i] != NULL && !item[i]->is_sequence) continue;
        emp_onnx_refuse(c, "input %d is no tensor", i);
        return;
    }
    out_sequence(c, item, c->in_count);
}

static void insert(emp_onnx_call *c, const char *word)
{
    const emp_onnx_value *list = in_sequence(c);
    emp_onnx_value       *added = emp_onnx_in(c, 1), **item;
    int64_t               place;

    (void)word;
    if (list == NULL || !read_place(c, 2, list->item_count, list->item_count, &place))
        return;
    if (added == NULL || added->is_sequence) {
        emp_onnx_refuse(c, "input 1 is no tensor");
        return;
    }
    item = new_items(c, (int64_t)list->item_count + 1);
    if (item == NULL) return;
    for (int32_t i = 0; i < list->item_count; i++) item[i + (i >= place)] = list->item[i];
    item[place] = added;
    out_sequence(c, item, list->item_count + 1);
}

static void erase(emp_onnx_call *c, const char *word)
{
    const emp_onnx_value *list = in_sequence(c);
    emp_onnx_value      **item;
    int64_t               place;

    (void)word;
    if (list == NULL || !read_place(c, 1, list->item_count, list->item_count - 1, &place))
        return;
    item = new_items(c, list->item_count);
    if (item == NULL) return;
    for (int32_t i = 0; i < list->item_count; i++)
        if (i != place) item[i - (i > place)] = list->item[i];
    out_sequence(c, item, list->item_count - 1);
}

static void at(emp_onnx_call *c, const char *word)
{
    const emp_onnx_value *list = in_sequence(c);
    int64_t               place;

    (void)word;
    if (list == NULL || !read_place(c, 1, list->item_count, 0, &place)) return;
    emp_onnx_value *item = list->item[place];
    if (item->number == NULL) emp_onnx_port(c->o, item);
    emp_onnx_out_value(c, 0, item);
}

static void length(emp_onnx_call *c, const char *word)
{
    const emp_onnx_value *list = in_sequence(c);
    double               *number = list == NULL ? NULL : emp_onnx_new_numbers(c->o, 1);

    (void)word;
    if (list == NULL) return;
    if (number != NULL) *number = list->item_count;
    emp_onnx_out_numbers(c, 0, EMP_SHAPE_SCALAR, EMP_DTYPE_INT64, number);
}

/* Along a new axis: tensors of one shape, stacked. */
static void stack(emp_onnx_call *c, const emp_onnx_value *list)
{
    emp_port *port =
        emp_arena_alloc(&c->o->arena, ((size_t)list->item_count + 1) * sizeof *port);
    int32_t axis =
        emp_onnx_axis(c, emp_onnx_int(c, "axis", 0), list->item[0]->shape.rank + 1);

    if (port == NULL) c->o->status = EMP_ENOMEM;
    if (port == NULL || !emp_tf_is_ok(c->o->tf)) return;
    for (int32_t i = 0; i < list->item_count; i++) {
        if (!emp_shape_equal(&list->item[i]->shape, &list->item[0]->shape)) {
            emp_onnx_refuse(
                c, "tensor %d of its sequence has another shape than the first", i);
            return;
        }
        port[i] = emp_onnx_port(c->o, list->item[i]);
    }
    emp_onnx_out(c, 0,
                 emp_onnx_emit(c, "Pack",
                               &(emp_op_attrs){.count = list->item_count, .axis = axis},
                               port, list->item_count));
}

/* The concatenation of the tensors. */
static void concat(emp_onnx_call *c, const char *word)
{
    const emp_onnx_value *list = in_sequence(c);

    (void)word;
    if (list == NULL) return;
    if (list->item_count == 0) {
        emp_onnx_refuse(c, "its sequence is empty");
        return;
    }
    if (emp_onnx_int(c, "new_axis", 0) != 0) {
        stack(c, list);
        return;
    }
    c->in = list->item;
    c->in_count = list->item_count;
    emp_onnx_lower_concat(c, NULL);
}

/* The sizes of the parts of a dim: one number is the size of each but the last. */
static int64_t part_count(emp_onnx_call *c, int64_t whole, int64_t *sizes, int32_t room,
                          int64_t *each)
{
    const emp_onnx_value *split = emp_onnx_in(c, 1);

    *each = 1;
    if (split == NULL) return whole;
    int32_t count = emp_onnx_ints(c, NULL, 1, sizes, room);
    if (count < 1 || (split->shape.rank == 0 && sizes[0] < 1)) {
        emp_onnx_refuse(c, "the sizes of its parts are no constants, or below 1");
        return -1;
    }
    if (split->shape.rank > 0) {
        *each = 0;
        return count;
    }
    *each = sizes[0];
    return whole / *each + (whole % *each != 0);
}

static void split(emp_onnx_call *c, const char *word)
{
    emp_onnx_value *x = emp_onnx_in(c, 0), **item;
    int64_t         sizes[EMP_ONNX_MAX_PARTS], each, first = 0;
    emp_onnx_scope  nowhere = {0};
    const bool      squeezed =
        emp_onnx_in(c, 1) == NULL && emp_onnx_int(c, "keepdims", 1) == 0;

    (void)word;
    if (x == NULL || x->is_sequence || x->shape.rank < 1) {
        emp_onnx_refuse(c, "input 0 is no tensor that has axes");
        return;
    }
    int32_t axis = emp_onnx_axis(c, emp_onnx_int(c, "axis", 0), x->shape.rank);
    if (!emp_tf_is_ok(c->o->tf)) return;
    int64_t whole = x->shape.dim[axis];
    int64_t count = part_count(c, whole, sizes, EMP_ONNX_MAX_PARTS, &each);
    item = count < 0 ? NULL : new_items(c, count);
    for (int64_t i = 0; item != NULL && i < count; i++) {
        int64_t end = first + (each > 0 ? each : sizes[i]);
        if (end > whole && each > 0) end = whole;
        if (end > whole || end < first || (i == count - 1 && end != whole)) {
            emp_onnx_refuse(c, "parts up to %lld of a dim of %lld", (long long)end,
                            (long long)whole);
            break;
        }
        item[i] = emp_onnx_bind(c->o, &nowhere, (emp_slice){"", 0});
        if (item[i] == NULL) break;
        item[i]->port = emp_onnx_part(c, x, axis, first, end, squeezed);
        item[i]->dtype = x->dtype;
        if (item[i]->port.op >= 0) item[i]->shape = emp_tf_shape(c->o->tf, item[i]->port);
        first = end;
    }
    emp_onnx_scope_clear(&nowhere);
    if (item != NULL && emp_tf_is_ok(c->o->tf) && c->o->status == EMP_OK)
        out_sequence(c, item, (int32_t)count);
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
    {"NonMaxSuppression", non_max_suppression, "torchvision.nms"},
    {"RoiAlign", roi_align, "RoiAlign"},
    {"STFT", short_transform, "FourierTransform"},
    {"Scan", emp_onnx_lower_scan, NULL},
    {"SoftmaxCrossEntropyLoss", label_loss, "LogSoftmax"},
    {0}};

const emp_onnx_rule emp_onnx_sequence_rules[] = {{"ConcatFromSequence", concat, NULL},
                                                 {"SequenceAt", at, NULL},
                                                 {"SequenceConstruct", construct, NULL},
                                                 {"SequenceEmpty", empty, NULL},
                                                 {"SequenceErase", erase, NULL},
                                                 {"SequenceInsert", insert, NULL},
                                                 {"SequenceLength", length, NULL},
                                                 {"SplitToSequence", split, NULL},
                                                 {0}};
