/** \file sim/graph/dtype.h
 * Element types and shapes of tensors, and how many bytes they take. Quantised types come in blocks, with
 * scales that several elements share.
 */
#ifndef EMP_SIM_GRAPH_DTYPE_H
#define EMP_SIM_GRAPH_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

/** Products and sums that stop at INT64_MAX; sizes in files may be anything. */
int64_t emp_mul_saturating(int64_t a, int64_t b);
int64_t emp_add_saturating(int64_t a, int64_t b);

/** Element types, numbered as TensorFlow's DataType (without the +100 of references). */
typedef enum {
    EMP_DTYPE_NONE = 0,
    EMP_DTYPE_FLOAT = 1,
    EMP_DTYPE_DOUBLE = 2,
    EMP_DTYPE_INT32 = 3,
    EMP_DTYPE_UINT8 = 4,
    EMP_DTYPE_INT16 = 5,
    EMP_DTYPE_INT8 = 6,
    EMP_DTYPE_STRING = 7,
    EMP_DTYPE_COMPLEX64 = 8,
    EMP_DTYPE_INT64 = 9,
    EMP_DTYPE_BOOL = 10,
    EMP_DTYPE_BFLOAT16 = 14,
    EMP_DTYPE_UINT16 = 17,
    EMP_DTYPE_COMPLEX128 = 18,
    EMP_DTYPE_HALF = 19,
    EMP_DTYPE_RESOURCE = 20,
    EMP_DTYPE_VARIANT = 21,
    EMP_DTYPE_UINT32 = 22,
    EMP_DTYPE_UINT64 = 23,
    EMP_DTYPE_FLOAT8_E5M2 = 24,
    EMP_DTYPE_FLOAT8_E4M3 = 25,
    /* Types that TensorFlow's DataType lacks or keeps in a byte: */
    EMP_DTYPE_INT4 =
        48, /**< the first of those with fewer than 8 bits, packed without holes */
    EMP_DTYPE_UINT4,
    EMP_DTYPE_INT2,
    EMP_DTYPE_UINT2,
    EMP_DTYPE_INT1,
    EMP_DTYPE_UINT1,
    EMP_DTYPE_FLOAT4_E2M1,
    EMP_DTYPE_FLOAT6_E2M3,
    EMP_DTYPE_FLOAT6_E3M2,
    EMP_DTYPE_FLOAT8_E3M4,
    EMP_DTYPE_FLOAT8_E8M0,    /**< scales of blocks: powers of two */
    EMP_DTYPE_FLOAT4_E2M1_X2, /**< PyTorch's: two of e2m1, of which shapes count one */
    EMP_DTYPE_COMPLEX32,
    EMP_DTYPE_GGML =
        64, /**< plus ggml's number of a type whose elements come in blocks */
    EMP_DTYPE_GROUPED = 112,  /**< and more: emp_dtype_grouped() */
    EMP_DTYPE_NF4 = 240,      /**< bitsandbytes: 64 weights of 4 bits have a float32 */
    EMP_DTYPE_NF4_TWICE,      /**< likewise, of 8 bits, and 256 of these a float32 */
    EMP_DTYPE_FLOAT8_TILES,   /**< e4m3; 128 x 128 weights have a float32: DeepSeek-V3 */
    EMP_DTYPE_FLOAT8_TILES_8, /**< e4m3; 128 x 128 weights have a byte: DeepSeek-V4 */
    EMP_DTYPE_MXFP8,          /**< e4m3; 32 weights have a byte */
    EMP_DTYPE_NVFP4_W4A4 /**< e2m1; 16 weights have a byte, and so have activations when multiplied */
} emp_dtype;

enum { EMP_GGML_TYPES = 42 };

/** Bytes of one element; 0 for types without a fixed size in device memory, and for those of fewer than 8 bits. */
int32_t emp_dtype_bytes(emp_dtype dtype);
/** Bits of one element of a type without blocks or scales; 0 for types without a fixed size. */
int32_t emp_dtype_bits(emp_dtype dtype);
/** Whole numbers with or without a sign; no truth values. */
bool emp_dtype_is_integer(emp_dtype dtype);
/** Numbers in one element: 2 of types that hold two, else 1. */
int32_t emp_dtype_values(emp_dtype dtype);
/** Products of real numbers in one of two elements: 4 of complex types, else 1. */
int32_t emp_dtype_products(emp_dtype dtype);
/** Elements of a block of one of ggml's types; 1 of all else. */
int32_t emp_dtype_block(emp_dtype dtype);

/** fp16, bfloat16, fp32 or fp64: weights of these can be trained. */
static inline bool emp_dtype_is_float(emp_dtype dtype)
{
    return dtype == EMP_DTYPE_FLOAT || dtype == EMP_DTYPE_DOUBLE ||
           dtype == EMP_DTYPE_HALF || dtype == EMP_DTYPE_BFLOAT16;
}
/** Bytes of so many elements, in whole blocks; 0 for types without a fixed size. Saturates. */
int64_t emp_dtype_size_bytes(emp_dtype dtype, int64_t elements);
/** The element type of ggml's number, which it gives plain types, too; EMP_DTYPE_NONE: there is none. */
emp_dtype emp_dtype_of_ggml(uint32_t number);
/** The type as people write it: "float32"; "other" of one that is not listed. */
const char *emp_dtype_name(emp_dtype dtype);

/** The values of a group of weights besides their bits. */
typedef enum {
    EMP_GROUP_SCALE, /**< a scale of 16 bits: symmetric */
    EMP_GROUP_ZERO,  /**< and a zero of as many bits as a weight: AWQ, GPTQ */
    EMP_GROUP_BIAS,  /**< and a bias of 16 bits: MLX */
    EMP_GROUP_KINDS
} emp_group_kind;

/** True for 8-bit floats, with scales or without: products multiply them as they are. */
bool emp_dtype_is_float8(emp_dtype dtype);

/** Weights of 2, 3, 4, 5, 6 or 8 bits in groups of 16, 32, 64 or 128 of a row; \a group 0: a row is one group,
 * with a float32. EMP_DTYPE_NONE: no such type. */
emp_dtype emp_dtype_grouped(int32_t bits, int32_t group, emp_group_kind kind);

/** Weights of a row that share a scale, so that rows have multiples of them; 1 of all types without scales,
 * and of those whose rows are one group. */
int32_t emp_dtype_group(emp_dtype dtype);

enum { EMP_MAX_RANK = 8 };

/** A tensor shape. rank -1: nothing known; a dim of -1: that size unknown. */
typedef struct {
    int32_t rank;
    int64_t dim[EMP_MAX_RANK];
} emp_shape;

#define EMP_SHAPE_UNKNOWN ((emp_shape){.rank = -1})
#define EMP_SHAPE_SCALAR  ((emp_shape){.rank = 0})
#define EMP_SHAPE(...)                                                          \
    ((emp_shape){(int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
                 {__VA_ARGS__}})

/** Number of elements; unknown sizes count as 1, an unknown rank as 1 element. Saturates.
 */
int64_t emp_shape_elements(const emp_shape *shape);
bool    emp_shape_is_known(const emp_shape *shape); /**< rank and every dim known */
bool    emp_shape_equal(const emp_shape *a, const emp_shape *b);

/** Size \a d of a shape, and its last size; 1 where it is not known. */
int64_t emp_shape_size(const emp_shape *shape, int32_t d);
int64_t emp_shape_last(const emp_shape *shape);
/** Size \a d of a shape, or -1. */
int64_t emp_shape_dim(const emp_shape *shape, int32_t d);
/** True if both sizes are known and unequal. */
bool emp_sizes_differ(int64_t a, int64_t b);

/** A shape of that rank with all sizes unknown; unknown when the rank is out of range. */
emp_shape emp_shape_of_rank(int64_t rank);

enum { EMP_SHAPE_TEXT_BYTES = 192 };
/** Writes a shape such as "[32,?,4]" into \a text and returns it. */
const char *emp_shape_format(const emp_shape *shape, char text[EMP_SHAPE_TEXT_BYTES]);

/** Bytes of a tensor with its scales; 0 for elements without a fixed size, and unknown sizes count as 1.
 * Saturates. */
int64_t emp_dtype_tensor_bytes(emp_dtype dtype, const emp_shape *shape);

#endif /* EMP_SIM_GRAPH_DTYPE_H */
