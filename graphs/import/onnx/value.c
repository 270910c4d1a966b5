// SPDX-License-Identifier: GPL-3.0-or-later
// Values of a model by name, and how they become tensors of the graph.

#include "base/mem.h"
#include "graphs/import/onnx/lower.h"
#include "graphs/tensorflow/tf_train.h"

enum { NAME_BYTES = 256 };

emp_onnx_value *emp_onnx_find(const emp_onnx_scope *scope, emp_slice name)
{
    for (; scope != NULL && name.size > 0; scope = scope->outer) {
        int32_t i = emp_strmap_get(&scope->index, name.data, name.size);
        if (i >= 0) return scope->value[i];
    }
    return NULL;
}

static emp_onnx_value *out_of_memory(emp_onnx *o)
{
    emp_error *err = o->err;

    o->status = EMP_ERROR(EMP_ENOMEM, "values of a model");
    return NULL;
}

bool emp_onnx_bind_value(emp_onnx *o, emp_onnx_scope *scope, emp_slice name,
                         emp_onnx_value *value)
{
    emp_error *err = NULL;

    if (EMP_GROW(scope->value, scope->count + 1, scope->capacity) != EMP_OK)
        return out_of_memory(o) != NULL;
    if (name.size > 0 &&
        emp_strmap_set(&scope->index, name.data, name.size, scope->count, NULL) != EMP_OK)
        return out_of_memory(o) != NULL;
    scope->value[scope->count++] = value;
    return true;
}

emp_onnx_value *emp_onnx_bind(emp_onnx *o, emp_onnx_scope *scope, emp_slice name)
{
    emp_onnx_value *value = emp_arena_alloc(&o->arena, sizeof *value);

    if (value == NULL) return out_of_memory(o);
    *value = (emp_onnx_value){.name = name,
                              .shape = EMP_SHAPE_UNKNOWN,
                              .port = EMP_TF_NONE,
                              .grouped = EMP_TF_NONE};
    return emp_onnx_bind_value(o, scope, name, value) ? value : NULL;
}

void emp_onnx_scope_clear(emp_onnx_scope *scope)
{
    emp_strmap_clear(&scope->index);
    emp_free((void *)scope->value);
    scope->value = NULL;
    scope->count = scope->capacity = 0;
}

double *emp_onnx_new_numbers(emp_onnx *o, int64_t count)
{
    if (count < 0 || count > EMP_ONNX_MAX_NUMBERS || count + 8 > o->number_budget)
        return NULL;
    double *number = emp_arena_alloc(&o->arena, (size_t)(count + 1) * sizeof *number);
    if (number != NULL) o->number_budget -= count + 8;
    return number;
}

/* Weights of inner graphs by the place of their tensors: loops come by many times. */
static emp_onnx_value *find_inner(const emp_onnx *o, const emp_onnx_tensor *tensor)
{
    const char *place = tensor->body.data;
    int32_t     i = emp_strmap_get(&o->inner, (const char *)&place, sizeof place);

    return i < 0 ? NULL : o->inner_weight[i];
}

static void add_inner(emp_onnx *o, emp_onnx_value *weight, const emp_onnx_tensor *tensor)
{
    emp_error *err = NULL;

    weight->place = tensor->body.data;
    if (EMP_GROW(o->inner_weight, o->inner_count + 1, o->inner_capacity) != EMP_OK ||
        emp_strmap_set(&o->inner, (const char *)&weight->place, sizeof weight->place,
                       o->inner_count, NULL) != EMP_OK)
        (void)out_of_memory(o);
    else
        o->inner_weight[o->inner_count++] = weight;
}

void emp_onnx_bind_tensor(emp_onnx *o, emp_onnx_scope *scope, emp_slice name,
                          const emp_onnx_tensor *tensor, bool is_initializer)
{
    const int64_t   count = emp_shape_elements(&tensor->shape);
    emp_onnx_value *value = o->depth > 0 ? find_inner(o, tensor) : NULL;

    if (value != NULL) {
        (void)emp_onnx_bind_value(o, scope, name, value);
        return;
    }
    value = emp_onnx_bind(o, scope, name);
    if (value == NULL) return;
    value->shape = tensor->shape;
    value->dtype = tensor->dtype;
    value->file_type = tensor->type;
    if (is_initializer)
        emp_onnx_mark_weight(o, value);
    else
        emp_onnx_mark_constant(o, value);
    if (value->is_weight) {
        if (o->depth > 0) add_inner(o, value, tensor);
        return;
    }
    double *number = emp_onnx_new_numbers(o, count);
    if (number != NULL && emp_onnx_tensor_numbers(tensor, number, count))
        value->number = number;
}

void emp_onnx_bind_initializers(emp_onnx *o, emp_onnx_scope *scope,
                                const emp_onnx_graph *graph)
{
    const int32_t first = scope->count;

    for (int32_t i = 0; i < emp_onnx_initializer_count(graph) && o->status == EMP_OK;
         i++) {
        emp_onnx_tensor tensor;
        emp_error       reason = {0};
        emp_status      st = emp_onnx_initializer_read(&tensor, graph, i, &reason);
        if (tensor.name.size > 0 &&
            emp_strmap_get(&scope->index, tensor.name.data, tensor.name.size) >= first)
            emp_import_notes_problem(o->notes, "two initializers have the name \"%.*s\"",
                                     EMP_SLICE_ARG(tensor.name));
        if (st == EMP_OK) {
            emp_onnx_bind_tensor(o, scope, tensor.name, &tensor, true);
            continue;
        }
        emp_onnx_value *value = emp_onnx_bind(o, scope, tensor.name);
        if (value == NULL) return;
        emp_import_notes_problem(o->notes, "initializer %d: %s", i, reason.msg);
        value->is_unknown = true;
    }
}

void emp_onnx_keep(emp_onnx *o, emp_onnx_value *value)
{
    emp_error *err = NULL;

    if (value->is_kept) return;
    if (EMP_GROW(o->kept, o->kept_count + 1, o->kept_capacity) != EMP_OK) {
        (void)out_of_memory(o);
        return;
    }
    value->is_kept = true;
    o->kept[o->kept_count++] = value;
}

/* A name of the model as one of the graph: no slash in front, no odd characters. */
static const char *name_of(emp_onnx *o, emp_slice name)
{
    char   text[NAME_BYTES];
    size_t size = 0;

    for (size_t i = 0; i < name.size && size < sizeof text - 1; i++) {
        unsigned char c = (unsigned char)name.data[i];
        if (size == 0 && c == '/') continue;
        text[size++] = c > ' ' && c < '\x7f' ? (char)c : '_';
    }
    text[size] = '\0';
    return emp_tf_join(o->tf, size > 0 ? text : "value", "", "");
}

/* A Const of the value's numbers, or of only its shape where they are many or not known. */
static emp_port constant(emp_onnx *o, const emp_onnx_value *value)
{
    int64_t elements = emp_shape_elements(&value->shape);
    int64_t element[EMP_MAX_CONST_VALUES];
    int32_t count = 0;

    if (value->number != NULL && elements <= EMP_MAX_CONST_VALUES)
        for (; count < elements; count++)
            element[count] = emp_truncate(value->number[count]);
    return emp_tf_const(o->tf, NULL, name_of(o, value->name), value->dtype, value->shape,
                        element, count);
}

/* Weights that nothing trains. */
static emp_port plain_weight(emp_onnx *o, const char *name, const char *type,
                             emp_shape shape, emp_dtype dtype)
{
    emp_op_attrs attrs = {.dtype = dtype, .shape = shape, .has_shape = true};

    return emp_tf_emit(o->tf, emp_tf_unique_in(o->tf, "", name), type, &attrs, NULL, 0);
}

/* The same memory with another shape and type. */
static emp_port view(emp_onnx *o, const char *name, emp_port x, emp_shape shape,
                     emp_dtype dtype)
{
    emp_op_attrs attrs = {.dtype = dtype, .shape = shape, .has_shape = true};

    return emp_tf_emit(o->tf, emp_tf_unique_in(o->tf, "", name), "View", &attrs, &x, 1);
}

/* Weights that are trained are a variable that an op reads; all others are read as they are. */
static emp_port weight(emp_onnx *o, const emp_onnx_value *value)
{
    const char *name = name_of(o, value->name);

    if (o->is_training && emp_dtype_is_float(value->dtype) && !value->is_buffer)
        return emp_tf_get_variable(o->tf, name, value->dtype, value->shape,
                                   EMP_TF_INIT_VALUE, value->is_trainable)
            .read;
    if (value->grouped.op >= 0)
        return view(o, name, value->grouped, value->shape, value->dtype);
    return plain_weight(o, name, value->is_buffer ? "Buffer" : "Weights", value->shape,
                        value->dtype);
}

/* The last two dims change places. */
static emp_port transposed(emp_onnx *o, emp_onnx_value *value)
{
    int64_t  order[EMP_MAX_RANK];
    int32_t  rank = value->shape.rank;
    emp_port x = emp_onnx_port(o, value->transposed);

    for (int32_t d = 0; d < rank; d++) order[d] = d;
    order[rank - 1] = rank - 2;
    order[rank - 2] = rank - 1;
    emp_port perm = emp_tf_ints(o->tf, value->transpose, "perm", order, rank);
    return emp_tf_emit(o->tf, value->transpose, "Transpose", NULL, EMP_TF_PORTS(x, perm));
}

emp_port emp_onnx_port(emp_onnx *o, emp_onnx_value *value)
{
    if (value->port.op >= 0) return value->port;
    const char *outer = emp_tf_reenter(o->tf, "");
    value->port = value->transposed != NULL ? transposed(o, value)
                  : value->is_weight        ? weight(o, value)
                                            : constant(o, value);
    emp_tf_leave(o->tf, outer);
    return value->port;
}

emp_port emp_onnx_grouped_port(emp_onnx *o, emp_onnx_value *value, const char *name,
                               emp_shape shape, emp_dtype dtype)
{
    if (value->grouped.op >= 0) return value->grouped;
    const char *outer = emp_tf_reenter(o->tf, "");
    value->grouped = value->port.op >= 0 ? view(o, name, value->port, shape, dtype)
                                         : plain_weight(o, name, "Weights", shape, dtype);
    emp_tf_leave(o->tf, outer);
    return value->grouped;
}

emp_port emp_onnx_add_weight(emp_onnx_call *c, const char *name, emp_shape shape,
                             bool is_trainable)
{
    emp_onnx   *o = c->o;
    const char *outer = emp_tf_reenter(o->tf, "");
    emp_port    read = emp_tf_get_variable(o->tf, emp_tf_join(o->tf, c->name, "/", name),
                                           EMP_DTYPE_FLOAT, shape, EMP_TF_INIT_VALUE,
                                           o->is_training && is_trainable)
                        .read;

    emp_tf_leave(o->tf, outer);
    return read;
}

// Shapes that nodes give in numbers: slices, axes, parts, new shapes of the same elements.

bool emp_onnx_broadcast(const emp_shape *a, const emp_shape *b, emp_shape *out)
{
    if (a->rank < 0 || b->rank < 0) return false;
    *out = (emp_shape){.rank = a->rank > b->rank ? a->rank : b->rank};
    for (int32_t d = 0; d < out->rank; d++) {
        int32_t own_a = d - (out->rank - a->rank), own_b = d - (out->rank - b->rank);
        int64_t size_a = own_a >= 0 ? a->dim[own_a] : 1;
        int64_t size_b = own_b >= 0 ? b->dim[own_b] : 1;
        if (size_a != size_b && size_a != 1 && size_b != 1) return false;
        out->dim[d] = size_a == 1 ? size_b : size_a;
    }
    return true;
}
