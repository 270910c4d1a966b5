// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/graph/dtype.h"

#include <inttypes.h>
#include <stdio.h>

/* ggml's types of blocks (ggml-common.h); those without a name are no longer in use. */
static const struct {
    const char *name;
    int32_t     elements, bytes;
} blocks[EMP_GGML_TYPES] = {
    [2] = {"q4_0", 32, 18},      [3] = {"q4_1", 32, 20},      [6] = {"q5_0", 32, 22},
    [7] = {"q5_1", 32, 24},      [8] = {"q8_0", 32, 34},      [9] = {"q8_1", 32, 36},
    [10] = {"q2_k", 256, 84},    [11] = {"q3_k", 256, 110},   [12] = {"q4_k", 256, 144},
    [13] = {"q5_k", 256, 176},   [14] = {"q6_k", 256, 210},   [15] = {"q8_k", 256, 292},
    [16] = {"iq2_xxs", 256, 66}, [17] = {"iq2_xs", 256, 74},  [18] = {"iq3_xxs", 256, 98},
    [19] = {"iq1_s", 256, 50},   [20] = {"iq4_nl", 32, 18},   [21] = {"iq3_s", 256, 110},
    [22] = {"iq2_s", 256, 82},   [23] = {"iq4_xs", 256, 136}, [29] = {"iq1_m", 256, 56},
    [34] = {"tq1_0", 256, 54},   [35] = {"tq2_0", 256, 66},   [39] = {"mxfp4", 32, 17},
    [40] = {"nvfp4", 64, 36},    [41] = {"q1_0", 128, 18},
};

/* The number of a type of blocks, or -1. */
static int32_t block_of(emp_dtype dtype)
{
    int32_t number = (int32_t)dtype - EMP_DTYPE_GGML;

    return number >= 0 && number < EMP_GGML_TYPES && blocks[number].name != NULL ? number
                                                                                 : -1;
}

/* ---- narrow types ---- */

static const struct {
    const char *name;
    int32_t     bits;
} narrow[] = {{"int4", 4},          {"uint4", 4},          {"int2", 2},
              {"uint2", 2},         {"int1", 1},           {"uint1", 1},
              {"float4_e2m1fn", 4}, {"float6_e2m3fn", 6},  {"float6_e3m2fn", 6},
              {"float8_e3m4", 8},   {"float8_e8m0fnu", 8}, {"float4_e2m1fn_x2", 8},
              {"complex32", 32}};

enum { NARROW = sizeof narrow / sizeof *narrow };

_Static_assert((int)EMP_DTYPE_INT4 + (int)NARROW == (int)EMP_DTYPE_COMPLEX32 + 1,
               "a row for each type");

static bool is_narrow(emp_dtype dtype)
{
    return dtype >= EMP_DTYPE_INT4 && dtype <= EMP_DTYPE_COMPLEX32;
}

int32_t emp_dtype_bits(emp_dtype dtype)
{
    return is_narrow(dtype) ? narrow[dtype - EMP_DTYPE_INT4].bits
                            : 8 * emp_dtype_bytes(dtype);
}

int32_t emp_dtype_values(emp_dtype dtype)
{
    return dtype == EMP_DTYPE_FLOAT4_E2M1_X2 ? 2 : 1;
}

int32_t emp_dtype_products(emp_dtype dtype)
{
    return dtype == EMP_DTYPE_COMPLEX32 || dtype == EMP_DTYPE_COMPLEX64 ||
                   dtype == EMP_DTYPE_COMPLEX128
               ? 4
               : 1;
}

bool emp_dtype_is_integer(emp_dtype dtype)
{
    switch (dtype) {
    case EMP_DTYPE_UINT8:
    case EMP_DTYPE_INT8:
    case EMP_DTYPE_UINT16:
    case EMP_DTYPE_INT16:
    case EMP_DTYPE_UINT32:
    case EMP_DTYPE_INT32:
    case EMP_DTYPE_UINT64:
    case EMP_DTYPE_INT64: return true;
    default: return dtype >= EMP_DTYPE_INT4 && dtype <= EMP_DTYPE_UINT1;
    }
}

/* ---- groups ---- */

enum { GROUP_SIZES = 5 };

static const int32_t group_bits[] = {2, 3, 4, 5, 6, 8};
static const int32_t group_sizes[GROUP_SIZES] = {0, 16, 32, 64, 128};

enum {
    GROUP_BITS = sizeof group_bits / sizeof *group_bits,
    GROUPED = GROUP_BITS * GROUP_SIZES * EMP_GROUP_KINDS
};

#define NAMES(bits, ending)                                                             \
    {                                                                                   \
        "int" bits " in rows" ending, "int" bits " in groups of 16" ending,             \
            "int" bits " in groups of 32" ending, "int" bits " in groups of 64" ending, \
            "int" bits " in groups of 128" ending                                       \
    }
#define KINDS(bits)                                                                \
    {                                                                              \
        NAMES(bits, ""), NAMES(bits, ", with zeros"), NAMES(bits, ", with biases") \
    }

static const char *const group_names[GROUP_BITS][EMP_GROUP_KINDS][GROUP_SIZES] = {
    KINDS("2"), KINDS("3"), KINDS("4"), KINDS("5"), KINDS("6"), KINDS("8")};

_Static_assert((int)EMP_DTYPE_GROUPED + (int)GROUPED <= (int)EMP_DTYPE_NF4,
               "types of groups have numbers of their own");

typedef struct {
    int32_t        bits, size; /* 0: a row */
    emp_group_kind kind;
    const char    *name;
} grouping;

static bool is_grouped(emp_dtype dtype)
{
    return dtype >= EMP_DTYPE_GROUPED && (int)dtype < EMP_DTYPE_GROUPED + GROUPED;
}

static grouping grouping_of(emp_dtype dtype)
{
    int32_t number = (int32_t)dtype - EMP_DTYPE_GROUPED, size = number % GROUP_SIZES;
    int32_t kind = number / GROUP_SIZES % EMP_GROUP_KINDS;
    int32_t bits = number / GROUP_SIZES / EMP_GROUP_KINDS;

    return (grouping){group_bits[bits], group_sizes[size], (emp_group_kind)kind,
                      group_names[bits][kind][size]};
}

emp_dtype emp_dtype_grouped(int32_t bits, int32_t group, emp_group_kind kind)
{
    for (int32_t number = 0; number < GROUPED; number++) {
        grouping g = grouping_of((emp_dtype)(EMP_DTYPE_GROUPED + number));
        if (g.bits == bits && g.size == group && g.kind == kind)
            return (emp_dtype)(EMP_DTYPE_GROUPED + number);
    }
    return EMP_DTYPE_NONE;
}

int32_t emp_dtype_group(emp_dtype dtype)
{
    int32_t size = is_grouped(dtype) ? grouping_of(dtype).size : 1;

    if (dtype == EMP_DTYPE_NF4 || dtype == EMP_DTYPE_NF4_TWICE) return 64;
    if (dtype == EMP_DTYPE_MXFP8) return 32;
    if (dtype == EMP_DTYPE_NVFP4_W4A4) return 16;
    if (size > 1) return size;
    return emp_dtype_block(dtype);
}

/* Eighths of bytes: zeros have fewer bits than a byte. */
static int64_t grouped_bytes(grouping g, int64_t elements, int64_t rows)
{
    int64_t groups = g.size > 0 ? (elements + g.size - 1) / g.size : rows;
    int64_t scale = g.size > 0 ? 16 : 32, more = 0;

    if (g.kind == EMP_GROUP_ZERO) more = g.bits;
    if (g.kind == EMP_GROUP_BIAS) more = scale;
    int64_t bits = emp_add_saturating(emp_mul_saturating(elements, g.bits),
                                      emp_mul_saturating(groups, scale + more));
    return bits / 8 + (bits % 8 != 0);
}

/* ---- bytes ---- */

int32_t emp_dtype_block(emp_dtype dtype)
{
    int32_t number = block_of(dtype);

    return number < 0 ? 1 : blocks[number].elements;
}

enum { TILE = 128 };

/* Rounded up. */
static int64_t quotient(int64_t a, int64_t b) { return a / b + (a % b != 0); }

/* Bytes of the scale of a tile; 0: the type has none. */
static int64_t tile_bytes(emp_dtype dtype)
{
    return dtype == EMP_DTYPE_FLOAT8_TILES     ? 4
           : dtype == EMP_DTYPE_FLOAT8_TILES_8 ? 1
                                               : 0;
}

int64_t emp_dtype_size_bytes(emp_dtype dtype, int64_t elements)
{
    int32_t number = block_of(dtype);

    if (is_grouped(dtype)) return grouped_bytes(grouping_of(dtype), elements, 1);
    switch (dtype) {
    case EMP_DTYPE_NF4: return quotient(elements, 2) + 4 * quotient(elements, 64);
    case EMP_DTYPE_NF4_TWICE:
        return quotient(elements, 2) + quotient(elements, 64) +
               4 * quotient(elements, 64 * 256);
    case EMP_DTYPE_FLOAT8_TILES:
    case EMP_DTYPE_FLOAT8_TILES_8:
        return emp_add_saturating(elements,
                                  tile_bytes(dtype) * quotient(elements, TILE * TILE));
    case EMP_DTYPE_MXFP8: return emp_add_saturating(elements, quotient(elements, 32));
    case EMP_DTYPE_NVFP4_W4A4:
        return emp_add_saturating(quotient(elements, 2), quotient(elements, 16));
    default: break;
    }
    if (emp_dtype_bits(dtype) % 8 != 0)
        return quotient(emp_mul_saturating(elements, emp_dtype_bits(dtype)), 8);
    if (number < 0) return emp_mul_saturating(elements, emp_dtype_bytes(dtype));
    int64_t whole = elements / blocks[number].elements;
    bool    is_cut = elements % blocks[number].elements != 0;
    return emp_mul_saturating(whole + is_cut, blocks[number].bytes);
}

/* Tiles of the last two sizes of a tensor; those at an edge are whole. */
static int64_t tiles_of(const emp_shape *shape, int64_t elements)
{
    int64_t width = shape->rank > 0 ? shape->dim[shape->rank - 1] : 1;
    int64_t height = shape->rank > 1 ? shape->dim[shape->rank - 2] : 1;

    if (width < 1 || height < 1) return 0;
    return emp_mul_saturating(
        elements / width / height,
        emp_mul_saturating(quotient(width, TILE), quotient(height, TILE)));
}

int64_t emp_dtype_tensor_bytes(emp_dtype dtype, const emp_shape *shape)
{
    int64_t elements = emp_shape_elements(shape);
    int64_t width = shape->rank > 0 ? shape->dim[shape->rank - 1] : 1;

    if (is_grouped(dtype))
        return grouped_bytes(grouping_of(dtype), elements,
                             width > 0 ? elements / width : 0);
    if (tile_bytes(dtype) > 0)
        return emp_add_saturating(
            elements, emp_mul_saturating(tile_bytes(dtype), tiles_of(shape, elements)));
    return emp_dtype_size_bytes(dtype, elements);
}

emp_dtype emp_dtype_of_ggml(uint32_t number)
{
    static const emp_dtype plain[EMP_GGML_TYPES] = {
        [0] = EMP_DTYPE_FLOAT,   [1] = EMP_DTYPE_HALF,     [24] = EMP_DTYPE_INT8,
        [25] = EMP_DTYPE_INT16,  [26] = EMP_DTYPE_INT32,   [27] = EMP_DTYPE_INT64,
        [28] = EMP_DTYPE_DOUBLE, [30] = EMP_DTYPE_BFLOAT16};

    if (number >= EMP_GGML_TYPES) return EMP_DTYPE_NONE;
    if (blocks[number].name != NULL) return (emp_dtype)(EMP_DTYPE_GGML + (int32_t)number);
    return plain[number];
}

bool emp_dtype_is_float8(emp_dtype dtype)
{
    return dtype == EMP_DTYPE_FLOAT8_E4M3 || dtype == EMP_DTYPE_FLOAT8_E5M2 ||
           dtype == EMP_DTYPE_MXFP8 || tile_bytes(dtype) > 0;
}

int32_t emp_dtype_bytes(emp_dtype dtype)
{
    switch (dtype) {
    case EMP_DTYPE_BOOL:
    case EMP_DTYPE_UINT8:
    case EMP_DTYPE_FLOAT8_E5M2:
    case EMP_DTYPE_FLOAT8_E4M3:
    case EMP_DTYPE_INT8: return 1;
    case EMP_DTYPE_INT16:
    case EMP_DTYPE_UINT16:
    case EMP_DTYPE_BFLOAT16:
    case EMP_DTYPE_HALF: return 2;
    case EMP_DTYPE_FLOAT:
    case EMP_DTYPE_UINT32:
    case EMP_DTYPE_INT32: return 4;
    case EMP_DTYPE_DOUBLE:
    case EMP_DTYPE_UINT64:
    case EMP_DTYPE_INT64:
    case EMP_DTYPE_COMPLEX64: return 8;
    case EMP_DTYPE_COMPLEX128: return 16;
    default: return is_narrow(dtype) ? narrow[dtype - EMP_DTYPE_INT4].bits / 8 : 0;
    }
}

const char *emp_dtype_name(emp_dtype dtype)
{
    switch (dtype) {
    case EMP_DTYPE_FLOAT: return "float32";
    case EMP_DTYPE_DOUBLE: return "float64";
    case EMP_DTYPE_INT32: return "int32";
    case EMP_DTYPE_UINT8: return "uint8";
    case EMP_DTYPE_INT16: return "int16";
    case EMP_DTYPE_INT8: return "int8";
    case EMP_DTYPE_STRING: return "string";
    case EMP_DTYPE_COMPLEX64: return "complex64";
    case EMP_DTYPE_INT64: return "int64";
    case EMP_DTYPE_BOOL: return "bool";
    case EMP_DTYPE_BFLOAT16: return "bfloat16";
    case EMP_DTYPE_UINT16: return "uint16";
    case EMP_DTYPE_COMPLEX128: return "complex128";
    case EMP_DTYPE_HALF: return "float16";
    case EMP_DTYPE_RESOURCE: return "resource";
    case EMP_DTYPE_VARIANT: return "variant";
    case EMP_DTYPE_UINT32: return "uint32";
    case EMP_DTYPE_UINT64: return "uint64";
    case EMP_DTYPE_FLOAT8_E5M2: return "float8_e5m2";
    case EMP_DTYPE_FLOAT8_E4M3: return "float8_e4m3fn";
    case EMP_DTYPE_NF4: return "nf4";
    case EMP_DTYPE_NF4_TWICE: return "nf4, scales of 8 bits";
    case EMP_DTYPE_FLOAT8_TILES: return "float8_e4m3fn in tiles of 128 x 128";
    case EMP_DTYPE_FLOAT8_TILES_8:
        return "float8_e4m3fn in tiles of 128 x 128, scales of 8 bits";
    case EMP_DTYPE_MXFP8: return "mxfp8";
    case EMP_DTYPE_NVFP4_W4A4: return "nvfp4, with activations in nvfp4";
    default:
        if (is_narrow(dtype)) return narrow[dtype - EMP_DTYPE_INT4].name;
        if (is_grouped(dtype)) return grouping_of(dtype).name;
        return block_of(dtype) < 0 ? "other" : blocks[block_of(dtype)].name;
    }
}

int64_t emp_mul_saturating(int64_t a, int64_t b)
{
    int64_t product;

    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

int64_t emp_add_saturating(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

int64_t emp_shape_elements(const emp_shape *shape)
{
    int64_t elements = 1;

    for (int32_t d = 0; d < shape->rank; d++) /* a 0 behind an overflow still gives 0 */
        if (shape->dim[d] == 0) return 0;
    for (int32_t d = 0; d < shape->rank; d++)
        if (shape->dim[d] > 0) elements = emp_mul_saturating(elements, shape->dim[d]);
    return elements;
}

bool emp_shape_is_known(const emp_shape *shape)
{
    for (int32_t d = 0; d < shape->rank; d++)
        if (shape->dim[d] < 0) return false;
    return shape->rank >= 0;
}

bool emp_shape_equal(const emp_shape *a, const emp_shape *b)
{
    if (a->rank != b->rank) return false;
    for (int32_t d = 0; d < a->rank; d++)
        if (a->dim[d] != b->dim[d]) return false;
    return true;
}

int64_t emp_shape_size(const emp_shape *shape, int32_t d)
{
    return d >= 0 && d < shape->rank && shape->dim[d] > 0 ? shape->dim[d] : 1;
}

int64_t emp_shape_last(const emp_shape *shape)
{
    return emp_shape_size(shape, shape->rank - 1);
}

int64_t emp_shape_dim(const emp_shape *shape, int32_t d)
{
    return d >= 0 && d < shape->rank ? shape->dim[d] : -1;
}

bool emp_sizes_differ(int64_t a, int64_t b) { return a >= 0 && b >= 0 && a != b; }

emp_shape emp_shape_of_rank(int64_t rank)
{
    if (rank < 0 || rank > EMP_MAX_RANK) return EMP_SHAPE_UNKNOWN;
    emp_shape shape = {.rank = (int32_t)rank};
    for (int32_t d = 0; d < shape.rank; d++) shape.dim[d] = -1;
    return shape;
}

const char *emp_shape_format(const emp_shape *shape, char text[EMP_SHAPE_TEXT_BYTES])
{
    size_t used = 0;

    if (shape->rank < 0) return "[unknown rank]";
    text[used++] = '[';
    for (int32_t d = 0; d < shape->rank; d++) {
        const char *comma = d > 0 ? "," : "";
        int         n = shape->dim[d] < 0
                            ? snprintf(text + used, EMP_SHAPE_TEXT_BYTES - used, "%s?", comma)
                            : snprintf(text + used, EMP_SHAPE_TEXT_BYTES - used, "%s%" PRId64,
                                       comma, shape->dim[d]);
        used += (size_t)n; /* 8 sizes of at most 20 characters always fit */
    }
    text[used++] = ']';
    text[used] = '\0';
    return text;
}
