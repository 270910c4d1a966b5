// SPDX-License-Identifier: GPL-3.0-or-later
// Field numbers: TensorFlow's attr_value.proto.
#include "graphs/import/attrs.h"

#include "base/mem.h"

// Field numbers: TensorFlow's tensor.proto, tensor_shape.proto and types.proto.

enum { SHAPE_DIM = 2, SHAPE_UNKNOWN_RANK = 3, DIM_SIZE = 1 };
enum {
    TENSOR_DTYPE = 1,
    TENSOR_SHAPE = 2,
    TENSOR_CONTENT = 4,
    TENSOR_FLOAT = 5,
    TENSOR_DOUBLE = 6,
    TENSOR_INT = 7,
    TENSOR_INT64 = 10,
    TENSOR_BOOL = 11,
    TENSOR_HALF = 13,
    TENSOR_UINT32 = 16,
    TENSOR_UINT64 = 17
};

enum { REFERENCE_OFFSET = 100 };

/* DataTypes that count as others of their size. */
enum {
    TF_QINT8 = 11,
    TF_QUINT8,
    TF_QINT32,
    TF_QINT16 = 15,
    TF_QUINT16,
    TF_FLOAT8_E4M3FNUZ = 26,
    TF_FLOAT8_E4M3B11FNUZ,
    TF_FLOAT8_E5M2FNUZ,
    TF_INT4,
    TF_UINT4,
    TF_INT2,
    TF_UINT2
};

/* clang-format off */
static const emp_field_name shape_names[] = {
    {"dim", SHAPE_DIM}, {"unknown_rank", SHAPE_UNKNOWN_RANK}, {0}};
static const emp_field_name dim_names[] = {{"size", DIM_SIZE}, {0}};
static const emp_field_name tensor_names[] = {
    {"dtype", TENSOR_DTYPE}, {"tensor_shape", TENSOR_SHAPE}, {"tensor_content", TENSOR_CONTENT},
    {"float_val", TENSOR_FLOAT}, {"double_val", TENSOR_DOUBLE}, {"int_val", TENSOR_INT},
    {"int64_val", TENSOR_INT64}, {"bool_val", TENSOR_BOOL}, {"half_val", TENSOR_HALF},
    {"uint32_val", TENSOR_UINT32}, {"uint64_val", TENSOR_UINT64}, {0}};
static const emp_field_name dtype_names[] = {
    {"DT_FLOAT", EMP_DTYPE_FLOAT}, {"DT_DOUBLE", EMP_DTYPE_DOUBLE}, {"DT_INT32", EMP_DTYPE_INT32},
    {"DT_UINT8", EMP_DTYPE_UINT8}, {"DT_INT16", EMP_DTYPE_INT16}, {"DT_INT8", EMP_DTYPE_INT8},
    {"DT_STRING", EMP_DTYPE_STRING}, {"DT_COMPLEX64", EMP_DTYPE_COMPLEX64},
    {"DT_INT64", EMP_DTYPE_INT64}, {"DT_BOOL", EMP_DTYPE_BOOL}, {"DT_BFLOAT16", EMP_DTYPE_BFLOAT16},
    {"DT_UINT16", EMP_DTYPE_UINT16}, {"DT_HALF", EMP_DTYPE_HALF},
    {"DT_RESOURCE", EMP_DTYPE_RESOURCE}, {"DT_VARIANT", EMP_DTYPE_VARIANT},
    {"DT_COMPLEX128", EMP_DTYPE_COMPLEX128}, {"DT_UINT32", EMP_DTYPE_UINT32},
    {"DT_UINT64", EMP_DTYPE_UINT64}, {"DT_FLOAT8_E5M2", EMP_DTYPE_FLOAT8_E5M2},
    {"DT_FLOAT8_E4M3FN", EMP_DTYPE_FLOAT8_E4M3}, {"DT_QINT8", TF_QINT8}, {"DT_QUINT8", TF_QUINT8}, {"DT_QINT32", TF_QINT32},
    {"DT_QINT16", TF_QINT16}, {"DT_QUINT16", TF_QUINT16}, {"DT_FLOAT8_E4M3FNUZ", TF_FLOAT8_E4M3FNUZ}, {"DT_FLOAT8_E4M3B11FNUZ", TF_FLOAT8_E4M3B11FNUZ},
    {"DT_FLOAT8_E5M2FNUZ", TF_FLOAT8_E5M2FNUZ}, {"DT_INT4", TF_INT4}, {"DT_UINT4", TF_UINT4}, {"DT_INT2", TF_INT2}, {"DT_UINT2", TF_UINT2}, {0}};
/* clang-format on */

static emp_status read_dim(const emp_message *shape, const emp_field *field,
                           int64_t *size, emp_error *err)
{
    emp_message dim;
    emp_field   part;
    bool        found = false;

    *size = 0;
    EMP_CHECK(emp_field_message(shape, field, dim_names, &dim, err));
    for (;;) {
        EMP_CHECK(emp_message_next(&dim, &part, &found, err));
        if (!found) break;
        if (part.number == DIM_SIZE) EMP_CHECK(emp_field_integer(&dim, &part, size, err));
    }
    if (*size < -1)
        return EMP_ERROR(EMP_EFORMAT,
                         "a dimension of size %lld, need -1 (unknown) or more",
                         (long long)*size);
    return EMP_OK;
}

/* Reads a TensorShapeProto out of a field of message. More than EMP_MAX_RANK
 * dimensions are taken as unknown. */
static emp_status import_shape(const emp_message *message, const emp_field *field,
                               emp_shape *out, emp_error *err)
{
    emp_message shape;
    emp_field   part;
    bool        found = false, is_unknown = false;
    int64_t     value = 0;

    *out = EMP_SHAPE_SCALAR;
    EMP_CHECK(emp_field_message(message, field, shape_names, &shape, err));
    for (;;) {
        EMP_CHECK(emp_message_next(&shape, &part, &found, err));
        if (!found) break;
        if (part.number == SHAPE_UNKNOWN_RANK) {
            EMP_CHECK(emp_field_integer(&shape, &part, &value, err));
            is_unknown = is_unknown || value != 0;
        } else if (part.number == SHAPE_DIM) {
            EMP_CHECK(read_dim(&shape, &part, &value, err));
            if (out->rank < EMP_MAX_RANK)
                out->dim[out->rank++] = value;
            else
                is_unknown = true;
        }
    }
    if (is_unknown) *out = EMP_SHAPE_UNKNOWN;
    return EMP_OK;
}

/* The element type of a DataType. Quantised types are the integers of their size; TensorFlow's kernels hold each number
 * of 4 or 2 bits in a byte. */
static emp_dtype dtype_of(int64_t number)
{
    switch (number) {
    case TF_QINT8:
    case TF_INT4:
    case TF_INT2: return EMP_DTYPE_INT8;
    case TF_QUINT8:
    case TF_UINT4:
    case TF_UINT2: return EMP_DTYPE_UINT8;
    case TF_QINT32: return EMP_DTYPE_INT32;
    case TF_QINT16: return EMP_DTYPE_INT16;
    case TF_QUINT16: return EMP_DTYPE_UINT16;
    case TF_FLOAT8_E4M3FNUZ:
    case TF_FLOAT8_E4M3B11FNUZ: return EMP_DTYPE_FLOAT8_E4M3;
    case TF_FLOAT8_E5M2FNUZ: return EMP_DTYPE_FLOAT8_E5M2;
    default: break;
    }
    for (const emp_field_name *name = dtype_names; name->name != NULL; name++)
        if (name->number == number) return (emp_dtype)number;
    return EMP_DTYPE_NONE;
}

/* Reads a DataType, without the +100 of references; types that emp_dtype does not list
 * come out as EMP_DTYPE_NONE. */
static emp_status import_dtype(const emp_message *message, const emp_field *field,
                               emp_dtype *out, emp_error *err)
{
    int64_t         value = 0;
    emp_field       plain = *field;
    emp_text_field *text = &plain.text;

    /* In text, a reference type is DT_FLOAT_REF. */
    if (message->file->is_text && text->value.size > 4 &&
        memcmp(text->value.data + text->value.size - 4, "_REF", 4) == 0)
        text->value.size -= 4;
    EMP_CHECK(emp_field_enum(message, &plain, dtype_names, &value, err));
    if (value > REFERENCE_OFFSET) value -= REFERENCE_OFFSET;
    *out = dtype_of(value);
    return EMP_OK;
}

static double half_value(uint64_t bits)
{
    const double unit = 1.0 / (1 << 24); /* the least subnormal number */
    uint64_t     exponent = bits >> 10 & 31, mantissa = bits & 1023;
    double       value = (double)mantissa;

    if (exponent > 0) value = (double)((1024 + mantissa) << (exponent - 1));
    return (bits >> 15 & 1) != 0 ? -value * unit : value * unit;
}

/* An element of tensor_content, or of half_val, as an integer. */
static int64_t value_from_bits(emp_dtype dtype, uint64_t bits)
{
    uint32_t low = (uint32_t)(dtype == EMP_DTYPE_BFLOAT16 ? bits << 16 : bits);
    float    f;
    double   d;

    switch (dtype) {
    case EMP_DTYPE_FLOAT:
    case EMP_DTYPE_BFLOAT16: memcpy(&f, &low, sizeof f); return emp_truncate((double)f);
    case EMP_DTYPE_DOUBLE: memcpy(&d, &bits, sizeof d); return emp_truncate(d);
    case EMP_DTYPE_HALF: return emp_truncate(half_value(bits));
    case EMP_DTYPE_INT32: return (int32_t)low;
    case EMP_DTYPE_INT16: return (int16_t)low;
    case EMP_DTYPE_INT8: return (int8_t)low;
    default: return (int64_t)bits;
    }
}

static bool is_numeric(emp_dtype dtype)
{
    switch (dtype) {
    case EMP_DTYPE_NONE:
    case EMP_DTYPE_STRING:
    case EMP_DTYPE_COMPLEX64:
    case EMP_DTYPE_COMPLEX128:
    case EMP_DTYPE_FLOAT8_E5M2:
    case EMP_DTYPE_FLOAT8_E4M3:
    case EMP_DTYPE_RESOURCE:
    case EMP_DTYPE_VARIANT: return false;
    default: return true;
    }
}

/* Reads all elements from their little-endian bytes. */
static emp_status read_content(emp_tensor_proto *tensor, const emp_message *message,
                               const emp_field *field, emp_error *err)
{
    int32_t   bytes = emp_dtype_bytes(tensor->dtype);
    emp_slice content = {0};

    EMP_CHECK(emp_field_string(message, field, &content, err));
    if (content.size != (size_t)tensor->value_count * (size_t)bytes)
        return EMP_ERROR(EMP_EFORMAT,
                         "tensor_content has %zu bytes, need %d for each of %d elements",
                         content.size, bytes, tensor->value_count);
    for (int32_t i = 0; i < tensor->value_count; i++) {
        uint64_t bits = 0;
        for (int32_t k = 0; k < bytes; k++)
            bits |= (uint64_t)(unsigned char)content.data[i * bytes + k] << (8 * k);
        tensor->value[i] = value_from_bits(tensor->dtype, bits);
    }
    return EMP_OK;
}

/* Appends the numbers of one field to \a given. Those beyond the buffer belong to a
 * tensor that is too large to matter and are not even unpacked. */
static emp_status add_values(emp_tensor_proto *tensor, int32_t *given,
                             const emp_message *message, emp_field *field, emp_error *err)
{
    bool            found = true;
    int64_t         value = 0;
    emp_number_type type = EMP_NUMBER_VARINT;

    if (field->number == TENSOR_FLOAT) type = EMP_NUMBER_FLOAT;
    if (field->number == TENSOR_DOUBLE) type = EMP_NUMBER_DOUBLE;
    while (*given < EMP_MAX_CONST_VALUES) {
        EMP_CHECK(emp_field_next_number(message, field, type, &value, &found, err));
        if (!found) break;
        if (field->number == TENSOR_HALF)
            value = value_from_bits(tensor->dtype, (uint64_t)value);
        tensor->value[(*given)++] = value;
    }
    return EMP_OK;
}

/* The last number given stands for all that are missing; without any they are 0. */
static void splat(emp_tensor_proto *tensor, int32_t given)
{
    int64_t last = given > 0 ? tensor->value[given - 1] : 0;

    for (int32_t i = given; i < tensor->value_count; i++) tensor->value[i] = last;
}

/* Reads a TensorProto. */
static emp_status import_tensor(const emp_message *holder, const emp_field *field,
                                emp_tensor_proto *out, emp_error *err)
{
    emp_status  st = EMP_OK;
    emp_message message;
    emp_field   part, content = {0};
    bool        found = false;
    int32_t     given = 0;

    *out = (emp_tensor_proto){.shape = EMP_SHAPE_SCALAR};
    EMP_CHECK(emp_field_message(holder, field, tensor_names, &message, err));
    for (;;) {
        EMP_CHECK(emp_message_next(&message, &part, &found, err));
        if (!found) break;
        switch (part.number) {
        case 0: break;
        case TENSOR_DTYPE: st = import_dtype(&message, &part, &out->dtype, err); break;
        case TENSOR_SHAPE: st = import_shape(&message, &part, &out->shape, err); break;
        case TENSOR_CONTENT: content = part; break;
        default: st = add_values(out, &given, &message, &part, err); break;
        }
        if (st != EMP_OK) return st;
    }

    int64_t count = emp_shape_elements(&out->shape);
    if (!is_numeric(out->dtype) || !emp_shape_is_known(&out->shape) ||
        count > EMP_MAX_CONST_VALUES)
        return EMP_OK;
    out->value_count = (int32_t)count;
    if (content.number != 0)
        EMP_CHECK(read_content(out, &message, &content, err));
    else
        splat(out, given);
    return st;
}

enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };
enum {
    VALUE_LIST = 1,
    VALUE_S = 2,
    VALUE_I = 3,
    VALUE_B = 5,
    VALUE_TYPE = 6,
    VALUE_SHAPE = 7,
    VALUE_TENSOR = 8,
    VALUE_FUNC = 10
};

static const emp_field_name entry_names[] = {
    {"key", ENTRY_KEY}, {"value", ENTRY_VALUE}, {0}};
/* AttrValue, and its ListValue, which uses the same numbers. */
static const emp_field_name value_names[] = {
    {"list", VALUE_LIST},     {"s", VALUE_S},       {"i", VALUE_I},
    {"b", VALUE_B},           {"type", VALUE_TYPE}, {"shape", VALUE_SHAPE},
    {"tensor", VALUE_TENSOR}, {"func", VALUE_FUNC}, {0}};

/* The target of an attribute; each takes one kind of value and ignores others. */
typedef enum {
    SET_BOOL,
    SET_INT,      /* int32_t */
    SET_INTS,     /* int32_t[4] from a list */
    SET_AXIS,     /* attrs.axis */
    SET_PADS,     /* attrs.pads and pads_after in turns, from a list */
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
    size_t      size; /* of the key */
    const char *key;
    attr_effect effect;
    size_t      where; /* offset in emp_op_attrs; for SET_DTYPE the rank */
} attr_rule;

#define RULE(key, effect, where)            \
    {                                       \
        sizeof(key) - 1, key, effect, where \
    }

#define AT(member) offsetof(emp_op_attrs, member)

/* Ranks of type attributes: T of a RandomUniform is the type of its shape, dtype the type
 * of its numbers; SrcT of a Cast does not count; Tidx is all that a Range has. */
static const attr_rule rules[] = {
    RULE("_output_shapes", SET_OUTPUTS, 0),
    RULE("output_shapes", SET_OUTPUTS, 0),
    RULE("dtype", SET_DTYPE, 5),
    RULE("DstT", SET_DTYPE, 4),
    RULE("T", SET_DTYPE, 3),
    RULE("Tparams", SET_DTYPE, 2),
    RULE("Tidx", SET_DTYPE, 1),
    RULE("dtypes", SET_DTYPE, 1),
    RULE("component_types", SET_DTYPE, 1),
    RULE("Tout", SET_DTYPE, 1),
    RULE("out_type", SET_TYPE, AT(out_type)),
    RULE("out_idx", SET_TYPE, AT(out_type)),
    RULE("output_type", SET_TYPE, AT(out_type)),
    RULE("value", SET_TENSOR, 0),
    RULE("shape", SET_SHAPE, 0),
    RULE("N", SET_INT, AT(count)),
    RULE("num", SET_INT, AT(count)),
    RULE("num_split", SET_INT, AT(count)),
    RULE("axis", SET_AXIS, AT(axis)),
    RULE("batch_dims", SET_INT, AT(batch_dims)),
    RULE("block_size", SET_INT, AT(block)),
    RULE("num_sampled", SET_INT, AT(num_sampled)),
    RULE("num_true", SET_INT, AT(num_true)),
    RULE("unique", SET_BOOL, AT(unique)),
    RULE("keep_dims", SET_BOOL, AT(keep_dims)),
    RULE("transpose_a", SET_BOOL, AT(transpose_a)),
    RULE("transpose_b", SET_BOOL, AT(transpose_b)),
    RULE("adj_x", SET_BOOL, AT(transpose_a)),
    RULE("adj_y", SET_BOOL, AT(transpose_b)),
    RULE("is_training", SET_TRAINING, 0),
    RULE("padding", SET_PADDING, 0),
    RULE("data_format", SET_LAYOUT, 0),
    RULE("equation", SET_TEXT, AT(equation)),
    RULE("strides", SET_INTS, AT(strides)),
    RULE("ksize", SET_INTS, AT(ksize)),
    RULE("dilations", SET_INTS, AT(dilations)),
    RULE("explicit_paddings", SET_PADS, AT(pads)),
    RULE("squeeze_dims", SET_DIM_MASK, AT(squeeze_dims)),
    RULE("begin_mask", SET_INT, AT(begin_mask)),
    RULE("end_mask", SET_INT, AT(end_mask)),
    RULE("ellipsis_mask", SET_INT, AT(ellipsis_mask)),
    RULE("new_axis_mask", SET_INT, AT(new_axis_mask)),
    RULE("shrink_axis_mask", SET_INT, AT(shrink_axis_mask)),
};

static const attr_rule *find_rule(emp_slice key)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (key.size == rules[i].size && memcmp(key.data, rules[i].key, key.size) == 0)
            return &rules[i];
    }
    return NULL;
}

/* The field of AttrValue that an effect wants. */
static const int32_t wanted_field[] = {
    [SET_BOOL] = VALUE_B,        [SET_INT] = VALUE_I,         [SET_INTS] = VALUE_LIST,
    [SET_DIM_MASK] = VALUE_LIST, [SET_TYPE] = VALUE_TYPE,     [SET_DTYPE] = VALUE_TYPE,
    [SET_SHAPE] = VALUE_SHAPE,   [SET_TENSOR] = VALUE_TENSOR, [SET_OUTPUTS] = VALUE_LIST,
    [SET_PADDING] = VALUE_S,     [SET_LAYOUT] = VALUE_S,      [SET_TEXT] = VALUE_S,
    [SET_TRAINING] = VALUE_B,    [SET_AXIS] = VALUE_I,        [SET_PADS] = VALUE_LIST};

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
    EMP_CHECK(import_shape(list, field, &node->output[node->output_count], err));
    node->output_count++;
    return EMP_OK;
}

/* Numbers before and after each dim, in turns. */
static void set_pad(emp_op_attrs *attrs, int32_t place, int64_t value)
{
    if (place >= 8) return;
    int32_t *pads = place % 2 == 0 ? attrs->pads : attrs->pads_after;
    pads[place / 2] = value > 0 && value < INT32_MAX ? (int32_t)value : 0;
}

/* Reads a list of integers into at most four places, into four pairs of them, or as bits of a mask. */
static emp_status read_integers(emp_node_attrs *node, const emp_message *list,
                                emp_field *field, const attr_rule *rule, int32_t *count,
                                emp_error *err)
{
    void   *target = member(node, rule);
    int64_t value = 0;
    bool    found = true;

    for (;;) {
        EMP_CHECK(
            emp_field_next_number(list, field, EMP_NUMBER_VARINT, &value, &found, err));
        if (!found) break;
        if (rule->effect == SET_DIM_MASK)
            *(uint32_t *)target |= 1U << (value & 31);
        else if (rule->effect == SET_PADS)
            set_pad(&node->attrs, (*count)++, value);
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

    EMP_CHECK(import_dtype(value, field, &dtype, err));
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
            EMP_CHECK(read_integers(node, &list, &element, rule, &count, err));
        }
    }
    return EMP_OK;
}

static emp_status set_tensor(emp_node_attrs *node, const emp_message *value,
                             const emp_field *field, emp_error *err)
{
    emp_tensor_proto *tensor = &node->tensor;

    EMP_CHECK(import_tensor(value, field, tensor, err));
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
    if (rule->effect == SET_INT || rule->effect == SET_AXIS) {
        if (number < INT32_MIN || number > INT32_MAX)
            return EMP_ERROR(EMP_EFORMAT, "%lld is outside %d..%d", (long long)number,
                             INT32_MIN, INT32_MAX);
        *(int32_t *)member(node, rule) = (int32_t)number;
        node->attrs.has_axis = node->attrs.has_axis || rule->effect == SET_AXIS;
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
    case SET_AXIS:
    case SET_INT: return set_number(node, rule, value, field, err);
    case SET_PADDING:
    case SET_TEXT:
    case SET_LAYOUT: return set_word(node, rule, value, field, err);
    case SET_TYPE:
    case SET_DTYPE: return set_dtype(node, rule, value, field, err);
    case SET_TENSOR: return set_tensor(node, value, field, err);
    case SET_SHAPE:
        EMP_CHECK(import_shape(value, field, &node->attrs.shape, err));
        node->attrs.has_shape = node->attrs.shape.rank >= 0;
        return EMP_OK;
    case SET_INTS:
    case SET_PADS:
    case SET_DIM_MASK:
    case SET_OUTPUTS: return read_list(node, rule, value, field, err);
    }
    return EMP_OK;
}

/* Without a rule only which kind of value it is. */
static emp_status read_value(emp_node_attrs *node, bool *may_call, const attr_rule *rule,
                             const emp_attr *attr, emp_error *err)
{
    emp_message value;
    emp_field   kind;
    bool        found = false;

    EMP_CHECK(emp_field_message(&attr->entry, &attr->value, value_names, &value, err));
    for (;;) {
        EMP_CHECK(emp_message_next(&value, &kind, &found, err));
        if (!found) break;
        *may_call = *may_call || kind.number == VALUE_LIST || kind.number == VALUE_FUNC;
        if (rule == NULL) continue;
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

emp_status emp_attr_read(emp_attr *attr, const emp_message *node_def,
                         const emp_field *field, emp_error *err)
{
    emp_field part;
    bool      found = false;

    attr->key = (emp_slice){"", 0};
    attr->value.number = 0;
    EMP_CHECK(emp_field_message(node_def, field, entry_names, &attr->entry, err));
    for (;;) {
        EMP_CHECK(emp_message_next(&attr->entry, &part, &found, err));
        if (!found) return EMP_OK;
        if (part.number == ENTRY_KEY)
            EMP_CHECK(emp_field_string(&attr->entry, &part, &attr->key, err));
        if (part.number == ENTRY_VALUE) attr->value = part;
    }
}

emp_status emp_node_attrs_set(emp_node_attrs *node, bool *may_call, const emp_attr *attr,
                              emp_error *err)
{
    emp_error reason;

    reason.status = EMP_OK;
    *may_call = false;
    if (attr->value.number == 0) return EMP_OK;
    const attr_rule *rule = find_rule(attr->key);
    if (rule == NULL) return read_value(node, may_call, rule, attr, err);
    emp_status st = read_value(node, may_call, rule, attr, &reason);
    if (st != EMP_OK) return EMP_ERROR(st, "attribute \"%s\": %s", rule->key, reason.msg);
    return st;
}
