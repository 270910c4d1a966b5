// SPDX-License-Identifier: GPL-3.0-or-later
// Field numbers: TensorFlow's attr_value.proto.
#include "graphs/import/attrs.h"

#include "base/mem.h"

enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };
enum {
    VALUE_LIST = 1,
    VALUE_S = 2,
    VALUE_I = 3,
    VALUE_B = 5,
    VALUE_TYPE = 6,
    VALUE_SHAPE = 7,
    VALUE_TENSOR = 8
};

static const emp_field_name entry_names[] = {
    {"key", ENTRY_KEY}, {"value", ENTRY_VALUE}, {0}};
/* AttrValue, and its ListValue, which uses the same numbers. */
static const emp_field_name value_names[] = {
    {"list", VALUE_LIST},     {"s", VALUE_S},
    {"i", VALUE_I},           {"b", VALUE_B},
    {"type", VALUE_TYPE},     {"shape", VALUE_SHAPE},
    {"tensor", VALUE_TENSOR}, {0}};

/* What an attribute sets; each takes one kind of value and ignores others. */
typedef enum {
    SET_BOOL,
    SET_INT,      /* int32_t */
    SET_INTS,     /* int32_t[4] from a list */
    SET_DIM_MASK, /* uint32_t of bits from a list of dimensions; -1 is the top bit */
    SET_TYPE,     /* emp_dtype */
    SET_DTYPE,    /* attrs.dtype, of a list the first, unless a higher rank did */
    SET_SHAPE,
    SET_TENSOR,
    SET_OUTPUTS,
    SET_PADDING,
    SET_LAYOUT,
    SET_TEXT,
    SET_TRAINING,
} attr_effect;

typedef struct {
    const char *key;
    attr_effect effect;
    size_t      where; /* offset in emp_op_attrs; for SET_DTYPE the rank */
} attr_rule;

#define AT(member) offsetof(emp_op_attrs, member)

/* Ranks of type attributes: T of a RandomUniform is the type of its shape, dtype that of
 * its numbers; SrcT of a Cast does not count; Tidx is all that a Range has. */
static const attr_rule rules[] = {
    {"_output_shapes", SET_OUTPUTS, 0},
    {"dtype", SET_DTYPE, 5},
    {"DstT", SET_DTYPE, 4},
    {"T", SET_DTYPE, 3},
    {"Tparams", SET_DTYPE, 2},
    {"Tidx", SET_DTYPE, 1},
    {"dtypes", SET_DTYPE, 1},
    {"component_types", SET_DTYPE, 1},
    {"Tout", SET_DTYPE, 1},
    {"out_type", SET_TYPE, AT(out_type)},
    {"out_idx", SET_TYPE, AT(out_type)},
    {"output_type", SET_TYPE, AT(out_type)},
    {"value", SET_TENSOR, 0},
    {"shape", SET_SHAPE, 0},
    {"N", SET_INT, AT(count)},
    {"num", SET_INT, AT(count)},
    {"num_split", SET_INT, AT(count)},
    {"axis", SET_INT, AT(axis)},
    {"num_sampled", SET_INT, AT(num_sampled)},
    {"num_true", SET_INT, AT(num_true)},
    {"unique", SET_BOOL, AT(unique)},
    {"keep_dims", SET_BOOL, AT(keep_dims)},
    {"transpose_a", SET_BOOL, AT(transpose_a)},
    {"transpose_b", SET_BOOL, AT(transpose_b)},
    {"adj_x", SET_BOOL, AT(transpose_a)},
    {"adj_y", SET_BOOL, AT(transpose_b)},
    {"is_training", SET_TRAINING, 0},
    {"padding", SET_PADDING, 0},
    {"data_format", SET_LAYOUT, 0},
    {"equation", SET_TEXT, AT(equation)},
    {"strides", SET_INTS, AT(strides)},
    {"ksize", SET_INTS, AT(ksize)},
    {"squeeze_dims", SET_DIM_MASK, AT(squeeze_dims)},
    {"begin_mask", SET_INT, AT(begin_mask)},
    {"end_mask", SET_INT, AT(end_mask)},
    {"ellipsis_mask", SET_INT, AT(ellipsis_mask)},
    {"new_axis_mask", SET_INT, AT(new_axis_mask)},
    {"shrink_axis_mask", SET_INT, AT(shrink_axis_mask)},
};

static const attr_rule *find_rule(emp_slice key)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (emp_slice_is(key, rules[i].key)) return &rules[i];
    }
    return NULL;
}

/* The field of AttrValue that an effect wants. */
static const int32_t wanted_field[] = {
    [SET_BOOL] = VALUE_B,        [SET_INT] = VALUE_I,         [SET_INTS] = VALUE_LIST,
    [SET_DIM_MASK] = VALUE_LIST, [SET_TYPE] = VALUE_TYPE,     [SET_DTYPE] = VALUE_TYPE,
    [SET_SHAPE] = VALUE_SHAPE,   [SET_TENSOR] = VALUE_TENSOR, [SET_OUTPUTS] = VALUE_LIST,
    [SET_PADDING] = VALUE_S,     [SET_LAYOUT] = VALUE_S,      [SET_TEXT] = VALUE_S,
    [SET_TRAINING] = VALUE_B};

static void *member(emp_node_attrs *node, const attr_rule *rule)
{
    return (char *)&node->attrs + rule->where;
}

static emp_status add_output(emp_node_attrs *node, const emp_message *list,
                             const emp_field *field, emp_error *err)
{
    if (node->output_count >= EMP_MAX_OUTPUTS)
        return EMP_ERROR(EMP_EFORMAT, "more than %d outputs", EMP_MAX_OUTPUTS);
    EMP_CHECK(EMP_GROW(node->output, node->output_count + 1, node->output_capacity));
    EMP_CHECK(emp_import_shape(list, field, &node->output[node->output_count], err));
    node->output_count++;
    return EMP_OK;
}

/* Reads a list of integers into at most four places, or as bits of a mask. */
static emp_status read_integers(const emp_message *list, emp_field *field,
                                const attr_rule *rule, int32_t *count, void *target,
                                emp_error *err)
{
    int64_t value = 0;
    bool    found = true;

    for (;;) {
        EMP_CHECK(
            emp_field_next_number(list, field, EMP_NUMBER_VARINT, &value, &found, err));
        if (!found) break;
        if (rule->effect == SET_DIM_MASK)
            *(uint32_t *)target |= 1U << (value & 31);
        else if (*count < 4)
            ((int32_t *)target)[(*count)++] = (int32_t)value;
    }
    return EMP_OK;
}

static emp_status set_dtype(emp_node_attrs *node, const attr_rule *rule,
                            const emp_message *value, const emp_field *field,
                            emp_error *err)
{
    emp_dtype dtype = EMP_DTYPE_NONE;

    EMP_CHECK(emp_import_dtype(value, field, &dtype, err));
    if (rule->effect == SET_TYPE) {
        *(emp_dtype *)member(node, rule) = dtype;
    } else if ((int32_t)rule->where > node->dtype_rank) {
        node->dtype_rank = (int32_t)rule->where;
        node->attrs.dtype = dtype;
    }
    return EMP_OK;
}

static emp_status read_list(emp_node_attrs *node, const attr_rule *rule,
                            const emp_message *value, const emp_field *field,
                            emp_error *err)
{
    emp_message list;
    emp_field   element;
    bool        found = false;
    int32_t     count = 0;

    if (rule->effect == SET_OUTPUTS) node->output_count = 0;
    EMP_CHECK(emp_field_message(value, field, value_names, &list, err));
    for (;;) {
        EMP_CHECK(emp_message_next(&list, &element, &found, err));
        if (!found) break;
        if (rule->effect == SET_OUTPUTS) {
            if (element.number == VALUE_SHAPE)
                EMP_CHECK(add_output(node, &list, &element, err));
        } else if (rule->effect == SET_DTYPE) {
            if (element.number == VALUE_TYPE)
                EMP_CHECK(set_dtype(node, rule, &list, &element, err));
        } else if (element.number == VALUE_I) {
            EMP_CHECK(
                read_integers(&list, &element, rule, &count, member(node, rule), err));
        }
    }
    return EMP_OK;
}

static emp_status set_tensor(emp_node_attrs *node, const emp_message *value,
                             const emp_field *field, emp_error *err)
{
    emp_tensor_proto *tensor = &node->tensor;

    EMP_CHECK(emp_import_tensor(value, field, tensor, err));
    node->attrs.shape = tensor->shape;
    node->attrs.has_shape = tensor->shape.rank >= 0;
    node->attrs.value = tensor->value;
    node->attrs.value_count = tensor->value_count;
    return EMP_OK;
}

static emp_status set_number(emp_node_attrs *node, const attr_rule *rule,
                             const emp_message *value, const emp_field *field,
                             emp_error *err)
{
    int64_t number = 0;

    EMP_CHECK(emp_field_integer(value, field, &number, err));
    if (rule->effect == SET_INT) {
        if (number < INT32_MIN || number > INT32_MAX)
            return EMP_ERROR(EMP_EFORMAT, "%lld is outside %d..%d", (long long)number,
                             INT32_MIN, INT32_MAX);
        *(int32_t *)member(node, rule) = (int32_t)number;
    } else if (rule->effect == SET_TRAINING) {
        node->attrs.is_inference = number == 0;
    } else {
        *(bool *)member(node, rule) = number != 0;
    }
    return EMP_OK;
}

static emp_status set_word(emp_node_attrs *node, const attr_rule *rule,
                           const emp_message *value, const emp_field *field,
                           emp_error *err)
{
    emp_slice word = {0};

    EMP_CHECK(emp_field_string(value, field, &word, err));
    if (rule->effect == SET_PADDING)
        node->attrs.padding_is_same = emp_slice_is(word, "SAME");
    else if (rule->effect == SET_TEXT && word.size < sizeof node->attrs.equation)
        memcpy(node->attrs.equation, word.data, word.size);
    else if (rule->effect == SET_LAYOUT)
        node->attrs.is_nchw = emp_slice_is(word, "NCHW");
    return EMP_OK;
}

static emp_status apply_rule(emp_node_attrs *node, const attr_rule *rule,
                             const emp_message *value, const emp_field *field,
                             emp_error *err)
{
    switch (rule->effect) {
    case SET_BOOL:
    case SET_TRAINING:
    case SET_INT: return set_number(node, rule, value, field, err);
    case SET_PADDING:
    case SET_TEXT:
    case SET_LAYOUT: return set_word(node, rule, value, field, err);
    case SET_TYPE:
    case SET_DTYPE: return set_dtype(node, rule, value, field, err);
    case SET_TENSOR: return set_tensor(node, value, field, err);
    case SET_SHAPE:
        EMP_CHECK(emp_import_shape(value, field, &node->attrs.shape, err));
        node->attrs.has_shape = node->attrs.shape.rank >= 0;
        return EMP_OK;
    case SET_INTS:
    case SET_DIM_MASK:
    case SET_OUTPUTS: return read_list(node, rule, value, field, err);
    }
    return EMP_OK;
}

static emp_status read_value(emp_node_attrs *node, const attr_rule *rule,
                             const emp_message *entry, const emp_field *field,
                             emp_error *err)
{
    emp_message value;
    emp_field   kind;
    bool        found = false;

    EMP_CHECK(emp_field_message(entry, field, value_names, &value, err));
    for (;;) {
        EMP_CHECK(emp_message_next(&value, &kind, &found, err));
        if (!found) break;
        if (kind.number == wanted_field[rule->effect])
            EMP_CHECK(apply_rule(node, rule, &value, &kind, err));
        else if (kind.number == VALUE_LIST && rule->effect == SET_DTYPE)
            EMP_CHECK(read_list(node, rule, &value, &kind, err));
    }
    return EMP_OK;
}

void emp_node_attrs_reset(emp_node_attrs *node)
{
    node->attrs = (emp_op_attrs){0};
    node->output_count = -1;
    node->dtype_rank = 0;
}

void emp_node_attrs_clear(emp_node_attrs *node)
{
    emp_free(node->output);
    *node = (emp_node_attrs){0};
}

emp_status emp_node_attrs_read(emp_node_attrs *node, const emp_message *node_def,
                               const emp_field *field, emp_error *err)
{
    emp_status  st = EMP_OK;
    emp_message entry;
    emp_field   part, value = {0};
    emp_slice   key = {"", 0};
    emp_error   reason = {0};
    bool        found = false;

    EMP_CHECK(emp_field_message(node_def, field, entry_names, &entry, err));
    for (;;) {
        EMP_CHECK(emp_message_next(&entry, &part, &found, err));
        if (!found) break;
        if (part.number == ENTRY_KEY)
            EMP_CHECK(emp_field_string(&entry, &part, &key, err));
        if (part.number == ENTRY_VALUE) value = part;
    }
    const attr_rule *rule = find_rule(key);
    if (rule == NULL || value.number == 0) return EMP_OK;
    st = read_value(node, rule, &entry, &value, &reason);
    if (st != EMP_OK) return EMP_ERROR(st, "attribute \"%s\": %s", rule->key, reason.msg);
    return st;
}
