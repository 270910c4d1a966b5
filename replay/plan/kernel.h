/** \file replay/plan/kernel.h
 * The work of an op: which loop, over how much. A backend has one routine for each kind.
 *
 * Values are not the network's. Every kernel reads all that its op reads, writes all that
 * its op writes and does its arithmetic, but scales results so that they stay finite and
 * of order one through any graph: a product is divided by the root of K, element-wise
 * results are weighted means that are cut at 2. Row numbers of look-ups are hashes of the
 * index words, modulo the rows.
 *
 * Sizes count elements of four bytes, unless said.
 */
#ifndef EMP_REPLAY_PLAN_KERNEL_H
#define EMP_REPLAY_PLAN_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

/* Name in plan files, number of sizes, number of variants. */
#define EMP_KERNEL_LIST(X)      \
    X(NOTHING, "nothing", 0, 1) \
    X(PRODUCT, "product", 6, 4) \
    X(CONV, "conv", 13, 8)      \
    X(MAP, "map", 1, 3)         \
    X(REDUCE, "reduce", 2, 2)   \
    X(MOVE, "move", 3, 2)       \
    X(LOOKUP, "lookup", 2, 1)   \
    X(SCATTER, "scatter", 5, 2) \
    X(FILL, "fill", 0, 2)       \
    X(SOFTMAX, "softmax", 2, 2) \
    X(NORM, "norm", 3, 2)       \
    X(POOL, "pool", 10, 8)      \
    X(UPDATE, "update", 3, 2)   \
    X(HOST, "host", 1, 1)

typedef enum {
#define X(id, name, sizes, variants) EMP_KERNEL_##id,
    EMP_KERNEL_LIST(X)
#undef X
        EMP_KERNEL_KINDS
} emp_kernel_kind;

enum { EMP_KERNEL_SIZES = 13 };

/* Variants. */
enum {
    EMP_PRODUCT_TRANSPOSE_A = 1,
    EMP_PRODUCT_TRANSPOSE_B = 2,

    EMP_CONV_FORWARD = 0, /**< image (input 0), filter (1) -> out */
    EMP_CONV_INPUT = 1,   /**< filter (1), gradient of out (2) -> gradient of the image */
    EMP_CONV_FILTER = 2,  /**< image (0), gradient of out (2) -> gradient of the filter */
    EMP_CONV_DIRECTION = 3,
    EMP_CONV_NCHW = 4, /**< images are channels first; filters are KH KW C F always */

    EMP_MAP_ADD = 0, /**< one or two instructions an element */
    EMP_MAP_DIV = 1, /**< a division */
    EMP_MAP_EXP = 2, /**< an exponential and a division */

    EMP_REDUCE_INNER = 0, /**< result i is the mean of n/m neighbours */
    EMP_REDUCE_OUTER = 1, /**< result i is the mean of every m-th element */

    EMP_MOVE_RUNS = 0,      /**< runs of neighbours, to wherever */
    EMP_MOVE_TRANSPOSE = 1, /**< each of a batch of matrices */

    EMP_SCATTER_STORAGE = 0, /**< updates rows of tables, in place */
    EMP_SCATTER_OUTPUT = 1,  /**< sums rows into an output that is zero first */

    EMP_FILL_CONSTANT = 0,
    EMP_FILL_RANDOM = 1,

    EMP_SOFTMAX_PLAIN = 0, /**< rows of input 0 -> rows of output 0 */
    EMP_SOFTMAX_LOSS = 1,  /**< ... a loss a row -> output 0, its gradient -> output 1 */

    EMP_NORM_FORWARD = 0, /**< two passes over input 0 */
    EMP_NORM_GRAD = 1,    /**< two passes over inputs 0 and 1 */

    EMP_POOL_MAX = 0,
    EMP_POOL_AVG = 1,
    EMP_POOL_GRAD = 2, /**< of either; bit */
    EMP_POOL_NCHW = 4, /**< bit */

    EMP_UPDATE_PLAIN = 0,
    EMP_UPDATE_ROOT = 1, /**< with a root and a division: Adam, RMSProp, ... */
};

/** Most floats of a row of im2col and of a row of results together. */
enum { EMP_CONV_LARGEST_ROW = 1 << 20 };

/* Places of sizes in emp_kernel.size. */
enum {
    EMP_PRODUCT_M = 0, /**< C (m, n) = A (m, k) B (k, n), row-major, after transposing */
    EMP_PRODUCT_N = 1,
    EMP_PRODUCT_K = 2,
    EMP_PRODUCT_BATCH = 3,
    EMP_PRODUCT_A = 4, /**< number of the input that is A */
    EMP_PRODUCT_B = 5,

    EMP_CONV_N = 0,
    EMP_CONV_H = 1,
    EMP_CONV_W = 2,
    EMP_CONV_C = 3,
    EMP_CONV_KH = 4,
    EMP_CONV_KW = 5,
    EMP_CONV_F = 6, /**< channels of the out image */
    EMP_CONV_OH = 7,
    EMP_CONV_OW = 8,
    EMP_CONV_SH = 9, /**< strides */
    EMP_CONV_SW = 10,
    EMP_CONV_PH = 11, /**< rows and columns of zeros before the image */
    EMP_CONV_PW = 12,

    EMP_MAP_N = 0, /**< elements of output 0, of whatever size; shorter inputs repeat */

    EMP_REDUCE_N = 0, /**< elements of input 0 */
    EMP_REDUCE_M = 1, /**< elements of output 0 */

    EMP_MOVE_RUN = 0, /**< bytes; of a transposition rows, columns, batch */
    EMP_MOVE_ROWS = 0,
    EMP_MOVE_COLUMNS = 1,
    EMP_MOVE_BATCH = 2,

    EMP_LOOKUP_ROWS = 0, /**< of output 0; table is input 0, indices input 1 */
    EMP_LOOKUP_WIDTH = 1,

    EMP_SCATTER_ROWS = 0,
    EMP_SCATTER_WIDTH = 1,
    EMP_SCATTER_TABLES = 2, /**< leading inputs that are updated */
    EMP_SCATTER_INDEX = 3,  /**< number of the input */
    EMP_SCATTER_VALUE = 4,  /**< likewise */

    EMP_SOFTMAX_ROWS = 0,
    EMP_SOFTMAX_COLUMNS = 1,

    EMP_NORM_OUTER = 0, /**< elements: outer x channels x inner */
    EMP_NORM_CHANNELS = 1,
    EMP_NORM_INNER = 2,

    EMP_POOL_N = 0,
    EMP_POOL_H = 1,
    EMP_POOL_W = 2,
    EMP_POOL_C = 3,
    EMP_POOL_KH = 4,
    EMP_POOL_KW = 5,
    EMP_POOL_OH = 6,
    EMP_POOL_OW = 7,
    EMP_POOL_SH = 8,
    EMP_POOL_SW = 9,

    EMP_UPDATE_N = 0,
    EMP_UPDATE_TABLES = 1, /**< leading inputs that are updated: variable and slots */
    EMP_UPDATE_VALUE = 2,  /**< number of the input with the gradient, or -1 */

    EMP_HOST_ROUNDS = 0, /**< of integer arithmetic */
};

/** Plain data. */
typedef struct {
    emp_kernel_kind kind;
    int32_t         variant;
    int64_t         size[EMP_KERNEL_SIZES];
} emp_kernel;

/* For C; kernels of GPUs are C++ and need none of it. */
#ifndef __cplusplus
const char *emp_kernel_name(emp_kernel_kind kind); /**< static storage */
int32_t     emp_kernel_size_count(emp_kernel_kind kind);
int32_t     emp_kernel_variant_count(emp_kernel_kind kind); /**< they are 0 .. */
bool        emp_kernel_find(const char *name, emp_kernel_kind *kind);

/** The FLOPs of products and convolutions; 0 for others. */
double emp_kernel_flops(const emp_kernel *kernel);

/** Terms of each sum of a product or convolution, zeros at the border included: kernels
 * divide by the root of it. */
double emp_kernel_terms(const emp_kernel *kernel);
#endif

/** A tensor as a kernel sees it. */
typedef struct {
    void   *data;
    int64_t bytes;
    int32_t element_bytes; /**< at least 1 */
} emp_operand;

/** One execution: operands are in the order of the op's inputs and outputs. */
typedef struct {
    const emp_kernel  *kernel;
    const emp_operand *input;
    const emp_operand *output;
    int32_t            input_count, output_count;
    int64_t            workspace_bytes; /**< 0: none */
    void              *workspace;
} emp_kernel_call;

#endif /* EMP_REPLAY_PLAN_KERNEL_H */
