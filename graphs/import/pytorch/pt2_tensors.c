// SPDX-License-Identifier: GPL-3.0-or-later
// Tensors of a graph in an archive of torch.export, and arguments that name them: PyTorch's torch/_export/serde/schema.py.
#include <string.h>

#include "base/mem.h"
#include "graphs/import/pytorch/program.h"

/* ---- tensors ---- */

/* ScalarType of the schema. */
static emp_dtype dtype_of(int64_t number)
{
    static const emp_dtype low[] = {
        EMP_DTYPE_NONE,   EMP_DTYPE_UINT8,     EMP_DTYPE_INT8,      EMP_DTYPE_INT16,
        EMP_DTYPE_INT32,  EMP_DTYPE_INT64,     EMP_DTYPE_HALF,      EMP_DTYPE_FLOAT,
        EMP_DTYPE_DOUBLE, EMP_DTYPE_COMPLEX32, EMP_DTYPE_COMPLEX64, EMP_DTYPE_COMPLEX128,
        EMP_DTYPE_BOOL,   EMP_DTYPE_BFLOAT16};

    if (number >= 0 && number < (int64_t)(sizeof low / sizeof low[0])) return low[number];
    switch (number) {
    case 28: return EMP_DTYPE_UINT16;
    case 29:
    case 31: return EMP_DTYPE_FLOAT8_E4M3;
    case 30:
    case 32: return EMP_DTYPE_FLOAT8_E5M2;
    case 33: return EMP_DTYPE_FLOAT8_E8M0;
    case 34: return EMP_DTYPE_UINT32;
    case 35: return EMP_DTYPE_UINT64;
    default: return EMP_DTYPE_NONE;
    }
}

/* {"as_int": 4}, or {"as_expr": {"hint": {"as_int": 4}}} of a size that may change; -1: neither. */
static int64_t size_of(const emp_json *size)
{
    const emp_json *number = emp_json_get(size, "as_int");
    const emp_json *hint = emp_json_get(emp_json_get(size, "as_expr"), "hint");

    if (number == NULL) number = emp_json_get(hint, "as_int");
    return emp_json_is(number, EMP_JSON_INTEGER) ? emp_json_integer(number) : -1;
}

emp_status emp_pt2_read_tensor(emp_pt2_reader *r, const char *name, const char *place,
                               emp_tensor_info *tensor, emp_error *err)
{
    int32_t at = emp_strmap_get(&r->tensor_of_name, name, strlen(name));

    *tensor = (emp_tensor_info){.shape = EMP_SHAPE_SCALAR};
    if (at < 0)
        return EMP_ERROR(EMP_EFORMAT, "%s: tensor_values has no \"%.80s\"", place, name);
    const emp_json *sizes = emp_json_get(r->tensor[at], "sizes");
    const emp_json *dtype = emp_json_get(r->tensor[at], "dtype");
    tensor->dtype =
        dtype_of(emp_json_is(dtype, EMP_JSON_INTEGER) ? emp_json_integer(dtype) : -1);
    if (tensor->dtype == EMP_DTYPE_NONE)
        return EMP_ERROR(EMP_EFORMAT,
                         "%s: the dtype of \"%.80s\" is no number that is known", place,
                         name);
    if (!emp_json_is(sizes, EMP_JSON_ARRAY) || emp_json_count(sizes) > EMP_MAX_RANK)
        return EMP_ERROR(EMP_EFORMAT, "%s: \"%.80s\" has no list of up to %d sizes",
                         place, name, EMP_MAX_RANK);
    for (const emp_json *v = emp_json_first(sizes); v != NULL; v = emp_json_next(v)) {
        int64_t size = size_of(v);
        if (size < 0)
            return EMP_ERROR(
                EMP_EFORMAT,
                "%s: a size of \"%.80s\" has no number; export the model with an "
                "example of that size",
                place, name);
        tensor->shape.dim[tensor->shape.rank++] = size;
    }
    return EMP_OK;
}

emp_status emp_pt2_index_tensors(emp_pt2_reader *r, const emp_json *values,
                                 emp_error *err)
{
    int32_t count = emp_json_count(values), i = 0;

    if (!emp_json_is(values, EMP_JSON_OBJECT))
        return EMP_ERROR(EMP_EFORMAT, "the graph has no object \"tensor_values\"");
    EMP_CHECK(EMP_ALLOC(r->tensor, (size_t)count));
    for (const emp_json *v = emp_json_first(values); v != NULL;
         v = emp_json_next(v), i++) {
        const char *name = emp_json_key(v);
        r->tensor[i] = v;
        EMP_CHECK(emp_strmap_set(&r->tensor_of_name, name, strlen(name), i, err));
    }
    return EMP_OK;
}

emp_status emp_pt2_set_maker(emp_pt2_reader *r, const char *name, emp_pt2_maker made,
                             emp_error *err)
{
    EMP_CHECK(EMP_GROW(r->maker, r->maker_count + 1, r->maker_capacity));
    r->maker[r->maker_count] = made;
    return emp_strmap_set(&r->maker_of_name, name, strlen(name), r->maker_count++, err);
}

emp_status emp_pt2_set_tensor(emp_pt2_reader *r, int32_t at, const char *name,
                              const char *place, emp_error *err)
{
    int32_t made =
        name == NULL ? -1 : emp_strmap_get(&r->maker_of_name, name, strlen(name));

    if (made < 0)
        return EMP_ERROR(EMP_EFORMAT, "%s reads \"%.80s\", which no node before it makes",
                         place, name == NULL ? "" : name);
    r->p->value[at] = (emp_torch_value){.kind = EMP_TORCH_TENSOR,
                                        .node = r->maker[made].node,
                                        .result = r->maker[made].result,
                                        .key = r->p->value[at].key};
    return EMP_OK;
}

/* ---- arguments ---- */

static emp_status read_item(emp_pt2_reader *r, int32_t at, const emp_json *item,
                            const char *place, emp_error *err)
{
    emp_torch_value *v = &r->p->value[at];
    const char      *name = emp_json_string(emp_json_get(item, "name"));
    const emp_json *tensor = emp_json_get(item, "as_tensor"); /* of as_optional_tensors */

    if (tensor != NULL) name = emp_json_string(emp_json_get(tensor, "name"));
    if (name != NULL) return emp_pt2_set_tensor(r, at, name, place, err);
    if (emp_json_is(item, EMP_JSON_OBJECT) && size_of(item) >= 0) {
        v->kind = EMP_TORCH_INT;
        v->number = size_of(item);
    } else if (emp_json_is(item, EMP_JSON_INTEGER)) {
        v->kind = EMP_TORCH_INT;
        v->number = emp_json_integer(item);
    } else if (emp_json_is(item, EMP_JSON_TRUE) || emp_json_is(item, EMP_JSON_FALSE)) {
        v->kind = EMP_TORCH_BOOL;
        v->number = emp_json_is(item, EMP_JSON_TRUE);
    } else if (emp_json_is(item, EMP_JSON_REAL) ||
               emp_json_is(item, EMP_JSON_NOT_FINITE)) {
        v->kind = EMP_TORCH_REAL;
    }
    return EMP_OK;
}

/* {"as_tensor": {"name": "x"}}, {"as_ints": [1, 2]}, {"as_none": true}: one member, whose key is the kind. */
static emp_status read_argument(emp_pt2_reader *r, int32_t at, const emp_json *union_,
                                const char *place, emp_error *err)
{
    const emp_json *value = emp_json_first(union_);
    const char     *kind = emp_json_key(value);

    if (kind == NULL)
        return EMP_ERROR(EMP_EFORMAT, "%s has an argument of no kind", place);
    if (strcmp(kind, "as_none") == 0 || strncmp(kind, "as_sym", 6) == 0) return EMP_OK;
    if (strcmp(kind, "as_string") == 0) {
        const char *text = emp_json_string(value);
        r->p->value[at].kind = EMP_TORCH_TEXT;
        r->p->value[at].text = emp_arena_strndup(&r->p->texts, text == NULL ? "" : text,
                                                 text == NULL ? 0 : strlen(text));
        return r->p->value[at].text == NULL ? EMP_ERROR(EMP_ENOMEM, "an argument")
                                            : EMP_OK;
    }
    if (!emp_json_is(value, EMP_JSON_ARRAY)) {
        bool is_tensor = strcmp(kind, "as_tensor") == 0;
        if (emp_json_is(value, EMP_JSON_OBJECT) && !is_tensor) return EMP_OK;
        return read_item(r, at, value, place, err);
    }
    int32_t count = emp_json_count(value), first;
    EMP_CHECK(emp_torch_program_reserve(r->p, count, &first, err));
    r->p->value[at].kind = EMP_TORCH_LIST;
    r->p->value[at].first = first;
    r->p->value[at].count = count;
    for (const emp_json *v = emp_json_first(value); v != NULL; v = emp_json_next(v))
        EMP_CHECK(read_item(r, first++, v, place, err));
    return EMP_OK;
}

emp_status emp_pt2_read_arguments(emp_pt2_reader *r, emp_torch_node *node,
                                  const emp_json *inputs, const char *place,
                                  emp_error *err)
{
    node->count = emp_json_is(inputs, EMP_JSON_ARRAY) ? emp_json_count(inputs) : 0;
    EMP_CHECK(emp_torch_program_reserve(r->p, node->count, &node->first, err));
    int32_t at = node->first;
    for (const emp_json *v = node->count > 0 ? emp_json_first(inputs) : NULL; v != NULL;
         v = emp_json_next(v)) {
        const char *key = emp_json_string(emp_json_get(v, "name"));
        if (key != NULL && key[0] != '\0') {
            r->p->value[at].key = emp_arena_strndup(&r->p->texts, key, strlen(key));
            if (r->p->value[at].key == NULL) return EMP_ERROR(EMP_ENOMEM, "an argument");
        }
        EMP_CHECK(read_argument(r, at++, emp_json_get(v, "arg"), place, err));
    }
    return EMP_OK;
}

/* ---- nodes ---- */

emp_status emp_pt2_add_node(emp_pt2_reader *r, emp_torch_node *node, const char *place,
                            emp_error *err)
{
    const char *name = node->name;
    size_t      before = strlen(r->prefix), length = strlen(name);

    if (before > 0) {
        char *whole = emp_arena_alloc(&r->p->texts, before + length + 1);
        if (whole == NULL) return EMP_ERROR(EMP_ENOMEM, "a node");
        memcpy(whole, r->prefix, before);
        memcpy(whole + before, name, length + 1);
        node->name = whole;
    }
    return emp_torch_program_add(r->p, node, place, err);
}

void emp_pt2_reader_clear(emp_pt2_reader *r)
{
    emp_strmap_clear(&r->tensor_of_name);
    emp_strmap_clear(&r->maker_of_name);
    emp_free((void *)r->tensor);
    emp_free(r->maker);
    emp_free(r->node_of_weight);
    *r = (emp_pt2_reader){0};
}
