// SPDX-License-Identifier: GPL-3.0-or-later
// Sequences of tensors. They are lists of values while a model is read, and no ops of the graph.
#include "graphs/import/onnx/lower.h"

#include <string.h>

enum { MAX_ITEMS = 100000 };

/* Room for the tensors of a new sequence. */
static emp_onnx_value **new_items(emp_onnx_call *c, int64_t count)
{
    emp_onnx_value **item;

    if (count > MAX_ITEMS) {
        emp_onnx_refuse(c, "a sequence of %lld tensors, need at most %d",
                        (long long)count, MAX_ITEMS);
        return NULL;
    }
    item = emp_arena_alloc(&c->o->arena, ((size_t)count + 1) * sizeof(emp_onnx_value *));
    if (item == NULL) c->o->status = EMP_ENOMEM;
    return item;
}

static void out_sequence(emp_onnx_call *c, emp_onnx_value **item, int32_t count)
{
    const emp_onnx_value sequence = {.shape = EMP_SHAPE_UNKNOWN,
                                     .port = EMP_TF_NONE,
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
            emp_onnx_refuse(c, "tensor %d of its sequence has another shape than the first",
                            i);
            return;
        }
        port[i] = emp_onnx_port(c->o, list->item[i]);
    }
    emp_onnx_out(c, 0,
                 emp_onnx_emit(c, "Pack",
                               &(emp_op_attrs){.count = list->item_count, .axis = axis},
                               port, list->item_count));
}

/* What Concat makes of the tensors. */
static void concat(emp_onnx_call *c, const char *word)
{
    const emp_slice       type = {"Concat", strlen("Concat")};
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
    emp_onnx_find_rule((emp_slice){"", 0}, type)->fn(c, NULL);
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
    return (whole + *each - 1) / *each;
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

const emp_onnx_rule emp_onnx_sequence_rules[] = {{"ConcatFromSequence", concat, NULL},
                                                 {"SequenceAt", at, NULL},
                                                 {"SequenceConstruct", construct, NULL},
                                                 {"SequenceEmpty", empty, NULL},
                                                 {"SequenceErase", erase, NULL},
                                                 {"SequenceInsert", insert, NULL},
                                                 {"SequenceLength", length, NULL},
                                                 {"SplitToSequence", split, NULL},
                                                 {0}};
