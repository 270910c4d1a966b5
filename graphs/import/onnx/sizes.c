// SPDX-License-Identifier: GPL-3.0-or-later
// Sizes that a model leaves open: symbols in the shapes of inputs, and sizes that depend on data.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graphs/import/onnx/lower.h"

enum { BATCH_DEFAULT = 32, IMAGE_DEFAULT = 224, OTHER_DEFAULT = 128, KEY_BYTES = 160 };

/* The size that "name=size,..." gives for a key, or -1. */
static int64_t given_size(const char *dims, emp_slice key)
{
    for (const char *at = dims; at != NULL && *at != '\0' && key.size > 0;) {
        size_t length = strcspn(at, ",");
        if (length > key.size && at[key.size] == '=' &&
            memcmp(at, key.data, key.size) == 0)
            return strtoll(at + key.size + 1, NULL, 10);
        at += length + (at[length] == ',');
    }
    return -1;
}

static emp_onnx_size *find_size(const emp_onnx *o, emp_slice key)
{
    for (int32_t i = 0; i < o->size_count; i++)
        if (emp_slice_same(o->size[i].key, key)) return &o->size[i];
    return NULL;
}

/* The entry of a key, which is made if need be; NULL: no memory, which is noted. */
static emp_onnx_size *add_size(emp_onnx *o, emp_slice key)
{
    emp_onnx_size *size = find_size(o, key);
    emp_error     *err = o->err;

    if (size != NULL) return size;
    if (EMP_GROW(o->size, o->size_count + 1, o->size_capacity) != EMP_OK) {
        o->status = EMP_ENOMEM;
        return NULL;
    }
    size = &o->size[o->size_count++];
    *size = (emp_onnx_size){.key = key, .size = given_size(o->dims, key)};
    return size;
}

/* A size without a symbol goes by the tensor's name and its place: "x.1". */
static emp_slice key_of_place(emp_onnx *o, emp_slice name, int32_t d)
{
    char  text[KEY_BYTES];
    int   shown = (int)(name.size < KEY_BYTES - 20 ? name.size : KEY_BYTES - 20);
    int   length = snprintf(text, sizeof text, "%.*s.%d", shown, name.data, d);
    char *key = NULL;

    if (length > 0 && length < (int)sizeof text)
        key = emp_arena_alloc(&o->arena, (size_t)length + 1);
    if (key == NULL) return (emp_slice){"", 0};
    memcpy(key, text, (size_t)length + 1);
    return (emp_slice){key, (size_t)length};
}

static emp_slice key_of_dim(emp_onnx *o, const emp_onnx_info *info, int32_t d)
{
    return info->symbol[d].size > 0 ? info->symbol[d] : key_of_place(o, info->name, d);
}

/* ---- symbols that are sums and products of others ---- */

typedef struct {
    const emp_onnx *o;
    const char     *at, *end;
    bool            is_known;
} expression;

static char peek(expression *e)
{
    while (e->at < e->end && *e->at == ' ') e->at++;
    return e->at < e->end ? *e->at : '\0';
}

static int64_t read_atom(expression *e)
{
    const char first = peek(e);
    emp_slice  word = {e->at, 0};

    while (e->at < e->end && strchr("+-*/() ", *e->at) == NULL) e->at++;
    word.size = (size_t)(e->at - word.data);
    if (word.size > 0 && word.size < 10 && isdigit((unsigned char)first)) {
        int64_t number = 0;
        for (size_t i = 0; i < word.size; i++) {
            e->is_known = e->is_known && isdigit((unsigned char)word.data[i]);
            number = 10 * number + (word.data[i] - '0');
        }
        return number;
    }
    const emp_onnx_size *size = word.size > 0 ? find_size(e->o, word) : NULL;
    e->is_known = e->is_known && size != NULL && size->size >= 0;
    return e->is_known ? size->size : 0;
}

static int64_t read_product(expression *e)
{
    int64_t product = read_atom(e);

    while (e->is_known && (peek(e) == '*' || peek(e) == '/')) {
        const bool is_product = *e->at == '*';
        e->at += !is_product && e->at + 1 < e->end && e->at[1] == '/' ? 2 : 1;
        const int64_t by = read_atom(e);
        if (is_product)
            e->is_known = e->is_known && !__builtin_mul_overflow(product, by, &product);
        else if (by > 0)
            product /= by;
        else
            e->is_known = false;
    }
    return product;
}

/* The value of a symbol such as "past + 1" where its parts' values are known; else -1. */
static int64_t evaluate(const emp_onnx *o, emp_slice symbol)
{
    expression e = {o, symbol.data, symbol.data + symbol.size, true};
    int64_t    sum = read_product(&e);

    while (e.is_known && (peek(&e) == '+' || peek(&e) == '-')) {
        const bool    is_minus = *e.at++ == '-';
        const int64_t term = read_product(&e);
        if (is_minus ? __builtin_sub_overflow(sum, term, &sum)
                     : __builtin_add_overflow(sum, term, &sum))
            e.is_known = false;
    }
    return e.is_known && peek(&e) == '\0' && sum >= 0 && sum <= INT32_MAX ? sum : -1;
}

static bool is_expression(emp_slice symbol)
{
    for (size_t i = 0; i < symbol.size; i++)
        if (strchr("+-*/", symbol.data[i]) != NULL) return true;
    return false;
}

/* ---- sizes of inputs ---- */

static bool is_named_batch(emp_slice symbol)
{
    return emp_slice_has(symbol, "batch") || emp_slice_has(symbol, "Batch") ||
           emp_slice_has(symbol, "BATCH");
}

/* The batch comes first, but for an input [steps, batch, ...]. */
static bool is_batch(const emp_onnx_info *info, int32_t d)
{
    if (is_named_batch(info->symbol[d])) return !is_expression(info->symbol[d]);
    for (int32_t k = 1; k < info->shape.rank; k++)
        if (info->shape.dim[k] < 0 && is_named_batch(info->symbol[k])) return false;
    return d == 0;
}

static void note_sizes(emp_onnx *o, const emp_onnx_info *info)
{
    const emp_shape *shape = &info->shape;
    const bool is_image = shape->rank == 4 && shape->dim[2] < 0 && shape->dim[3] < 0;

    for (int32_t d = 0; d < shape->rank && o->status == EMP_OK; d++) {
        if (shape->dim[d] >= 0) continue;
        emp_onnx_size *size = add_size(o, key_of_dim(o, info, d));
        if (size == NULL) return;
        if (info->symbol[d].size == 0) size->tensor = info->name, size->dim = d;
        size->is_batch = size->is_batch || is_batch(info, d);
        size->is_image = size->is_image || (is_image && d >= 2);
        size->is_first = size->is_first || d == 0;
    }
}

static void say_assumed(emp_onnx *o, const emp_onnx_size *size)
{
    if (size->tensor.size > 0)
        emp_import_notes_assume(o->notes, "size %d of the input \"%.*s\" is %lld",
                                size->dim, EMP_SLICE_ARG(size->tensor),
                                (long long)size->size);
    else
        emp_import_notes_assume(o->notes, "the size \"%.*s\" is %lld",
                                EMP_SLICE_ARG(size->key), (long long)size->size);
}

/* Numbers for all sizes: those given, the batch, defaults; then those that others determine. */
static void settle_sizes(emp_onnx *o)
{
    for (int pass = 0; pass < 3; pass++) {
        for (int32_t i = 0; i < o->size_count; i++) {
            emp_onnx_size *size = &o->size[i];
            if (size->size >= 0 || (pass == 0 && is_expression(size->key))) continue;
            if (pass == 1) size->size = evaluate(o, size->key);
            if (pass != 1 && size->is_batch && o->batch > 0) size->size = o->batch;
            if (pass == 1 || size->size >= 0) continue;
            size->size = size->is_batch   ? BATCH_DEFAULT
                         : size->is_image ? IMAGE_DEFAULT
                                          : OTHER_DEFAULT;
            size->is_assumed = true;
            say_assumed(o, size);
        }
    }
}

/* True if a key names a place, "x.1": such sizes may turn up among the nodes. */
static bool is_place(emp_slice key)
{
    size_t dot = key.size;

    while (dot > 0 && isdigit((unsigned char)key.data[dot - 1])) dot--;
    return dot > 1 && dot < key.size && key.data[dot - 1] == '.';
}

emp_status emp_onnx_check_sizes(const emp_onnx *o, bool is_end, emp_error *err)
{
    for (const char *at = o->dims; at != NULL && *at != '\0';) {
        const int length = (int)strcspn(at, ",="), whole = (int)strcspn(at, ",");
        emp_slice key = {at, (size_t)length};
        char     *end = NULL;
        long long size = length < whole ? strtoll(at + length + 1, &end, 10) : 0;
        if (end != at + whole || size < 1 || size > INT32_MAX)
            return EMP_ERROR(EMP_EINVAL,
                             "dim.%.*s is not dim.NAME=SIZE, a size from 1 to %d",
                             whole < 80 ? whole : 80, at, INT32_MAX);
        if (find_size(o, key) == NULL && (is_end || !is_place(key)))
            return EMP_ERROR(EMP_EINVAL,
                             "no input of the model has a size named \"%.*s\"",
                             length < 80 ? length : 80, at);
        at += whole + (at[whole] == ',');
    }
    return EMP_OK;
}

emp_status emp_onnx_find_sizes(emp_onnx *o, const emp_onnx_scope *scope,
                               const emp_onnx_graph *graph, emp_error *err)
{
    bool has_batch = false;

    for (int32_t i = 0; i < graph->inputs.count && o->status == EMP_OK; i++) {
        emp_onnx_info info;
        EMP_CHECK(emp_onnx_info_read(&info, graph->inputs.item[i], err));
        if (emp_onnx_find(scope, info.name) == NULL) note_sizes(o, &info);
    }
    if (o->status != EMP_OK) return EMP_ERROR(o->status, "sizes of a model");
    EMP_CHECK(emp_onnx_check_sizes(o, false, err));
    for (int32_t i = 0; i < o->size_count; i++)
        has_batch = has_batch || o->size[i].is_batch || o->size[i].is_first;
    if (o->batch > 0 && !has_batch)
        return EMP_ERROR(
            EMP_EINVAL,
            "a batch of %lld, but no input of the model leaves its first size open",
            (long long)o->batch);
    settle_sizes(o);
    return EMP_OK;
}

void emp_onnx_fix_sizes(emp_onnx *o, emp_onnx_info *info)
{
    for (int32_t d = 0; d < info->shape.rank; d++) {
        if (info->shape.dim[d] >= 0) continue;
        const emp_onnx_size *size = find_size(o, key_of_dim(o, info, d));
        info->shape.dim[d] = size != NULL && size->size >= 0 ? size->size : OTHER_DEFAULT;
    }
}

/* ---- sizes that depend on data ---- */

int64_t emp_onnx_open_size(emp_onnx_call *c, int32_t output, int32_t d)
{
    emp_onnx *o = c->o;

    if (output >= c->node->output_count || c->node->output[output].size == 0)
        return OTHER_DEFAULT;
    emp_slice      name = c->node->output[output];
    emp_onnx_size *size = add_size(o, key_of_place(o, name, d));
    if (size == NULL) return OTHER_DEFAULT;
    if (size->size < 0) {
        size->size = OTHER_DEFAULT;
        size->is_assumed = true;
        emp_import_notes_assume(
            o->notes, "size %d of \"%.*s\", which depends on data, is %lld: --dim %.*s=N",
            d, EMP_SLICE_ARG(name), (long long)size->size, EMP_SLICE_ARG(size->key));
    }
    return size->size;
}

/* Whether an input is a vector that depends on data. */
static bool is_open(const emp_onnx_call *c, int32_t i)
{
    const emp_onnx_value *value = emp_onnx_in(c, i);
    const int64_t         count = value == NULL ? 0 : emp_shape_elements(&value->shape);

    return value != NULL && value->number == NULL && value->port.op >= 0 &&
           value->shape.rank <= 1 && count >= 0 && count <= EMP_MAX_RANK;
}

/* The shape that the model states for the first output; -1: a size that it leaves open and no input settles. */
static emp_shape stated_shape(const emp_onnx_call *c)
{
    const emp_onnx_list lists[] = {c->scope->graph->infos, c->scope->graph->outputs};
    emp_onnx_info       info;

    for (int32_t i = 0; i < 2 && c->node->output_count > 0; i++) {
        for (int32_t k = 0; k < lists[i].count; k++) {
            if (emp_onnx_info_read(&info, lists[i].item[k], NULL) != EMP_OK ||
                !emp_slice_same(info.name, c->node->output[0]) || info.shape.rank < 0)
                continue;
            for (int32_t d = 0; d < info.shape.rank; d++) {
                if (info.shape.dim[d] >= 0) continue;
                const emp_onnx_size *size = find_size(c->o, key_of_dim(c->o, &info, d));
                if (size != NULL) info.shape.dim[d] = size->size;
            }
            return info.shape;
        }
    }
    return EMP_SHAPE_UNKNOWN;
}

/* Makes an input a constant. Where constants have no room left, it stays what it is. */
static void put_numbers(emp_onnx_call *c, int32_t input, const int64_t *from,
                        int32_t count)
{
    emp_onnx_value *value = emp_arena_alloc(&c->o->arena, sizeof *value);
    double         *number = emp_onnx_new_numbers(c->o, count);

    if (value == NULL || number == NULL) return;
    for (int32_t i = 0; i < count; i++) number[i] = (double)from[i];
    *value = (emp_onnx_value){.name = c->node->output[0],
                              .shape = EMP_SHAPE(count),
                              .dtype = EMP_DTYPE_INT64,
                              .number = number,
                              .port = EMP_TF_NONE,
                              .grouped = EMP_TF_NONE};
    c->in[input] = value;
}

/* A new shape of that rank: as it is stated, else from the input, aligned at the last dims, but for its sizes below
 * \a least and those from \a open on. */
static void settle_shape(emp_onnx_call *c, int32_t input, int32_t rank, int32_t open,
                         int64_t least)
{
    const emp_shape in = emp_onnx_in_shape(c, 0), stated = stated_shape(c);
    int64_t         dim[EMP_MAX_RANK];

    for (int32_t d = 0; d < rank; d++) {
        const int32_t of_in = d - rank + in.rank;
        const int64_t own = of_in >= 0 && d < open ? in.dim[of_in] : -1;
        if (stated.rank == rank && stated.dim[d] >= 0)
            dim[d] = stated.dim[d];
        else
            dim[d] = own >= least ? own : emp_onnx_open_size(c, 0, d);
    }
    put_numbers(c, input, dim, rank);
}

/* The bounds of a Slice with steps of at least 1: those that are given, then those that the stated shape gives, else all. */
static void settle_bounds(emp_onnx_call *c)
{
    const emp_shape in = emp_onnx_in_shape(c, 0), stated = stated_shape(c);
    const bool      are_starts_open = is_open(c, 1), are_ends_open = is_open(c, 2);
    int64_t start[EMP_MAX_RANK] = {0}, end[EMP_MAX_RANK] = {0}, axis[EMP_MAX_RANK];
    int64_t step[EMP_MAX_RANK];
    int32_t count =
        (int32_t)emp_shape_elements(&emp_onnx_in(c, are_starts_open ? 1 : 2)->shape);

    if ((!are_starts_open && emp_onnx_ints(c, NULL, 1, start, EMP_MAX_RANK) != count) ||
        (!are_ends_open && emp_onnx_ints(c, NULL, 2, end, EMP_MAX_RANK) != count) ||
        is_open(c, 3) || is_open(c, 4))
        return;
    const bool has_axes = emp_onnx_ints(c, NULL, 3, axis, EMP_MAX_RANK) == count;
    const bool has_steps = emp_onnx_ints(c, NULL, 4, step, EMP_MAX_RANK) == count;
    for (int32_t i = 0; i < count; i++) {
        const int64_t given = has_axes ? axis[i] : i, by = has_steps ? step[i] : 1;
        const int64_t d = given < 0 ? given + in.rank : given;
        if (d < 0 || d >= in.rank || by < 1) return;
        if (start[i] < 0) start[i] += in.dim[d];
        if (stated.rank == in.rank && stated.dim[d] >= 0)
            end[i] =
                stated.dim[d] == 0
                    ? start[i]
                    : emp_onnx_plus(start[i], emp_onnx_times(stated.dim[d] - 1, by) + 1);
        else if (are_ends_open)
            end[i] = in.dim[d];
    }
    emp_import_notes_assume(c->o->notes,
                            "Slice takes what the stated shape says, or all");
    put_numbers(c, 1, start, count);
    put_numbers(c, 2, end, count);
}

void emp_onnx_settle_inputs(emp_onnx_call *c)
{
    const emp_slice type = c->node->type;
    const emp_shape in = emp_onnx_in_shape(c, 0);
    const int32_t   shape = emp_slice_is(type, "ConstantOfShape") ? 0 : 1;

    if (c->node->domain.size > 0 || c->node->output_count < 1 || c->scope->graph == NULL)
        return;
    if (emp_slice_is(type, "Slice") && (is_open(c, 1) || is_open(c, 2))) {
        settle_bounds(c);
    } else if (emp_slice_is(type, "Resize") && (is_open(c, 2) || is_open(c, 3))) {
        emp_onnx_attr axes;
        if (emp_onnx_is_before(c, 11) || in.rank < 1 || emp_onnx_get(c, "axes", &axes))
            return;
        c->in[2] = NULL;
        c->in_count = 4;
        settle_shape(c, 3, in.rank, 2, 0);
    } else if (emp_slice_is(type, "Reshape") && is_open(c, 1)) {
        const emp_shape stated = stated_shape(c);
        if (emp_shape_is_known(&stated)) settle_shape(c, 1, stated.rank, 0, 0);
    } else if ((shape == 0 || emp_slice_is(type, "Expand")) && is_open(c, shape)) {
        const int32_t count = (int32_t)emp_shape_elements(&emp_onnx_in(c, shape)->shape);
        const bool    is_longer = shape == 1 && in.rank > count;
        settle_shape(c, shape, is_longer ? in.rank : count, shape == 0 ? 0 : EMP_MAX_RANK,
                     2);
    }
}

/* ---- refusals ---- */

/* True if a number of the text is the size or a multiple of it. */
static bool mentions(const char *text, int64_t size)
{
    while (*text != '\0') {
        if (!isdigit((unsigned char)*text)) {
            text++;
            continue;
        }
        char           *end = NULL;
        const long long number = strtoll(text, &end, 10);
        if (number > 0 && size > 1 && number % size == 0) return true;
        text = end;
    }
    return false;
}

void emp_onnx_blame_sizes(const emp_onnx *o, const char *message, char *text, size_t room)
{
    size_t used = 0;

    text[0] = '\0';
    for (int32_t i = 0; i < o->size_count && used + 1 < room; i++) {
        const emp_onnx_size *size = &o->size[i];
        if (!size->is_assumed || !mentions(message, size->size)) continue;
        char option[KEY_BYTES] = "--batch N";
        if (!size->is_batch)
            snprintf(option, sizeof option, "--dim %.*s=N", EMP_SLICE_ARG(size->key));
        int added = snprintf(text + used, room - used,
                             "%s the size \"%.*s\" is assumed to be %lld (%s sets it)",
                             used > 0 ? "," : ";", EMP_SLICE_ARG(size->key),
                             (long long)size->size, option);
        if (added < 0 || (size_t)added >= room - used) break;
        used += (size_t)added;
    }
}
