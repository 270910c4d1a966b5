// SPDX-License-Identifier: GPL-3.0-or-later
// Field numbers: TensorFlow's tensor.proto, tensor_shape.proto and types.proto.
#include "graphs/import/attrs.h"

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
    TENSOR_HALF = 13
};

enum { REFERENCE_OFFSET = 100 };

/* clang-format off */
static const emp_field_name shape_names[] = {
    {"dim", SHAPE_DIM}, {"unknown_rank", SHAPE_UNKNOWN_RANK}, {0}};
static const emp_field_name dim_names[] = {{"size", DIM_SIZE}, {0}};
static const emp_field_name tensor_names[] = {
    {"dtype", TENSOR_DTYPE}, {"tensor_shape", TENSOR_SHAPE}, {"tensor_content", TENSOR_CONTENT},
    {"float_val", TENSOR_FLOAT}, {"double_val", TENSOR_DOUBLE}, {"int_val", TENSOR_INT},
    {"int64_val", TENSOR_INT64}, {"bool_val", TENSOR_BOOL}, {"half_val", TENSOR_HALF}, {0}};
static const emp_field_name dtype_names[] = {
    {"DT_FLOAT", EMP_DTYPE_FLOAT}, {"DT_DOUBLE", EMP_DTYPE_DOUBLE}, {"DT_INT32", EMP_DTYPE_INT32},
    {"DT_UINT8", EMP_DTYPE_UINT8}, {"DT_INT16", EMP_DTYPE_INT16}, {"DT_INT8", EMP_DTYPE_INT8},
    {"DT_STRING", EMP_DTYPE_STRING}, {"DT_COMPLEX64", EMP_DTYPE_COMPLEX64},
    {"DT_INT64", EMP_DTYPE_INT64}, {"DT_BOOL", EMP_DTYPE_BOOL}, {"DT_BFLOAT16", EMP_DTYPE_BFLOAT16},
    {"DT_UINT16", EMP_DTYPE_UINT16}, {"DT_HALF", EMP_DTYPE_HALF},
    {"DT_RESOURCE", EMP_DTYPE_RESOURCE}, {"DT_VARIANT", EMP_DTYPE_VARIANT}, {0}};
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

emp_status emp_import_shape(const emp_message *message, const emp_field *field,
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

static bool is_listed(int64_t dtype)
{
    for (const emp_field_name *name = dtype_names; name->name != NULL; name++) {
        if (name->number == dtype) return true;
    }
    return false;
}

emp_status emp_import_dtype(const emp_message *message, const emp_field *field,
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
    *out = is_listed(value) ? (emp_dtype)value : EMP_DTYPE_NONE;
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

emp_status emp_import_tensor(const emp_message *holder, const emp_field *field,
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
        case TENSOR_DTYPE:
            st = emp_import_dtype(&message, &part, &out->dtype, err);
            break;
        case TENSOR_SHAPE:
            st = emp_import_shape(&message, &part, &out->shape, err);
            break;
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
