// SPDX-License-Identifier: GPL-3.0-or-later
// Sums of products by letters, detection, optimizers in the graph, control flow.
#include <string.h>

#include "graphs/import/onnx/lower.h"

/* ---- Einsum ---- */

enum { LETTERS = 256 };

/* The dims of one operand by the letters of the equation. */
typedef struct {
    emp_slice text;
    emp_shape shape;
    int8_t    at[LETTERS]; /* dim of a letter, or -1 */
} operand;

static bool read_operand(operand *o, emp_slice text, emp_shape shape)
{
    *o = (operand){.text = text, .shape = shape};
    memset(o->at, -1, sizeof o->at);
    if ((size_t)shape.rank != text.size) return false;
    for (size_t i = 0; i < text.size; i++) {
        unsigned char letter = (unsigned char)text.data[i];
        if (o->at[letter] >= 0 || letter == '.') return false;
        o->at[letter] = (int8_t)i;
    }
    return true;
}

/* Cuts the equation "ab,bc->ac" without blanks; false where it has other parts. */
static bool cut_equation(emp_slice equation, char text[64], emp_slice part[3])
{
    size_t size = 0, at = 0;

    for (size_t i = 0; i < equation.size; i++) {
        if (equation.data[i] == ' ') continue;
        if (size == 63) return false;
        text[size++] = equation.data[i];
    }
    text[size] = '\0';
    char *comma = strchr(text, ','), *arrow = strstr(text, "->");
    if (comma == NULL || arrow == NULL || arrow < comma) return false;
    at = (size_t)(comma - text);
    part[0] = (emp_slice){text, at};
    part[1] = (emp_slice){comma + 1, (size_t)(arrow - comma - 1)};
    part[2] = (emp_slice){arrow + 2, size - (size_t)(arrow + 2 - text)};
    return memchr(part[1].data, ',', part[1].size) == NULL;
}

/* Appends the dims of an operand that are in the other one and in the result, or not. */
static int64_t gather_dims(const operand *o, const operand *other, const operand *out,
                           bool in_other, bool in_out, int64_t *order, int32_t *count)
{
    int64_t elements = 1;

    for (size_t i = 0; i < o->text.size; i++) {
        unsigned char letter = (unsigned char)o->text.data[i];
        if ((other->at[letter] >= 0) != in_other || (out->at[letter] >= 0) != in_out)
            continue;
        order[(*count)++] = (int64_t)i;
        if (__builtin_mul_overflow(elements, o->shape.dim[i], &elements)) return -1;
    }
    return elements;
}

/* A batch of matrix products: letters of both operands and the result are the batch, those of both
 * operands alone are summed over. */
static void einsum(emp_onnx_call *c, const char *word)
{
    emp_onnx_attr attr;
    char          text[64];
    emp_slice     part[3];
    operand       a, b, out;
    int64_t       order_a[EMP_MAX_RANK], order_b[EMP_MAX_RANK], made[EMP_MAX_RANK];
    int32_t       count_a = 0, count_b = 0, rank = 0;
    emp_shape     result = {0}, inner = {0};

    (void)word;
    if (!emp_onnx_get(c, "equation", &attr) || attr.s.data == NULL ||
        !cut_equation(attr.s, text, part) ||
        !read_operand(&a, part[0], emp_onnx_in_shape(c, 0)) ||
        !read_operand(&b, part[1], emp_onnx_in_shape(c, 1)) ||
        part[2].size > EMP_MAX_RANK) {
        emp_onnx_refuse(c, "its equation is not one of two operands with a letter a dim");
        return;
    }
    for (size_t i = 0; i < part[2].size; i++) {
        unsigned char letter = (unsigned char)part[2].data[i];
        if (a.at[letter] < 0 && b.at[letter] < 0) {
            emp_onnx_refuse(c, "its equation makes a dim of nothing");
            return;
        }
        result.dim[result.rank++] =
            a.at[letter] >= 0 ? a.shape.dim[a.at[letter]] : b.shape.dim[b.at[letter]];
    }
    if (!read_operand(&out, part[2], result)) {
        emp_onnx_refuse(c, "its equation has a letter twice in the result");
        return;
    }
    int64_t batch = gather_dims(&a, &b, &out, true, true, order_a, &count_a);
    int64_t rows = gather_dims(&a, &b, &out, false, true, order_a, &count_a);
    int64_t sums = gather_dims(&a, &b, &out, true, false, order_a, &count_a);
    /* the same letters in the same order in the other operand */
    for (int32_t i = 0; i < count_a; i++) {
        unsigned char letter = (unsigned char)a.text.data[order_a[i]];
        bool          is_sum = out.at[letter] < 0;
        if (b.at[letter] >= 0 && !is_sum) order_b[count_b++] = b.at[letter];
    }
    for (int32_t i = 0; i < count_a; i++) {
        unsigned char letter = (unsigned char)a.text.data[order_a[i]];
        if (b.at[letter] >= 0 && out.at[letter] < 0) order_b[count_b++] = b.at[letter];
    }
    int64_t columns = gather_dims(&b, &a, &out, false, true, order_b, &count_b);
    if (count_a != a.shape.rank || count_b != b.shape.rank || batch < 0 || rows < 0 ||
        sums < 0 || columns < 0) {
        emp_onnx_refuse(c, "its equation sums over a letter of one operand");
        return;
    }
    emp_port x = emp_onnx_transpose(c, emp_onnx_in_port(c, 0), order_a);
    emp_port y = emp_onnx_transpose(c, emp_onnx_in_port(c, 1), order_b);
    emp_port z = emp_onnx_emit2(c, "BatchMatMul",
                                emp_onnx_reshape(c, x, EMP_SHAPE(batch, rows, sums)),
                                emp_onnx_reshape(c, y, EMP_SHAPE(batch, sums, columns)));
    /* what it is now: batch, rows, columns, in the operands' order */
    for (int pass = 0; pass < 3; pass++) {
        const operand *from = pass < 2 ? &a : &b;
        for (size_t i = 0; i < from->text.size; i++) {
            unsigned char letter = (unsigned char)from->text.data[i];
            bool          is_batch = a.at[letter] >= 0 && b.at[letter] >= 0;
            if (out.at[letter] < 0 || is_batch != (pass == 0)) continue;
            made[out.at[letter]] = rank++;
            inner.dim[inner.rank++] = from->shape.dim[i];
        }
    }
    emp_onnx_out(c, 0, emp_onnx_transpose(c, emp_onnx_reshape(c, z, inner), made));
}

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
    {"Einsum", einsum, NULL},
    {"GridSample", grid_sample, "GridSample"},
    {"If", emp_onnx_lower_if, NULL},
    {"Loop", emp_onnx_lower_loop, NULL},
    {"Momentum", optimizer, "Momentum"},
    {"NonMaxSuppression", non_max_suppression, "NonMaxSuppression"},
    {"RoiAlign", roi_align, "RoiAlign"},
    {"Scan", emp_onnx_lower_scan, NULL},
    {0}};
