/** \file sim/graph/op.h
 * What the project knows about op types: shapes, arithmetic, memory traffic, kernels.
 *
 * One table, looked up by TensorFlow's type name ("Conv2D"), serves the workload
 * generators and the importers alike, so that an imported graph and its generated twin
 * get the same numbers. PyTorch's ops have a table of their own ("aten.convolution"), with XLA's in
 * it ("hlo.dot"). A type that is not in the table is costed as element-wise and
 * counted in the graph's unknown_op_count.
 *
 * Units: FLOPs count a multiply-add as 2; bytes are bytes.
 */
#ifndef EMP_SIM_GRAPH_OP_H
#define EMP_SIM_GRAPH_OP_H

#include <emplace/graph.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "sim/graph/dtype.h"

/** A tensor as an op's table entry sees it. */
typedef struct {
    emp_shape      shape;
    emp_dtype      dtype;
    bool           is_ref;      /**< output of a variable, or a pass-through of one */
    const int64_t *value;       /**< elements of a small constant, row-major, or NULL */
    int32_t        value_count; /**< at most EMP_MAX_CONST_VALUES */
} emp_tensor_info;

enum { EMP_MAX_CONST_VALUES = 256 };

/** The attributes that shapes and costs depend on; the rest of a NodeDef is dropped.
 * Zero-initialise: 0 is the default of each. */
typedef struct {
    bool      transpose_a, transpose_b; /**< MatMul; adj_x, adj_y of BatchMatMul */
    bool      padding_is_same;          /**< else VALID */
    bool      is_nchw;                  /**< data_format; else NHWC */
    char      equation[48]; /**< of Einsum: "ab,bc->ac"; "": none, or longer */
    bool      keep_dims;
    bool      is_inference; /**< is_training=false of batch norm */
    bool      unique;       /**< candidate samplers */
    bool      is_constant;  /**< Enter: all iterations read this value */
    int32_t   colocation;   /**< ops of one number share a device; 0 = none */
    uint8_t   level;    /**< of ops that wait for a device the least is served first */
    bool      has_axis; /**< of OneHot: else the last one */
    int32_t   strides[4], ksize[4]; /**< in the order of data_format */
    int32_t   axis;                 /**< Pack, Unpack, Concat (v1), OneHot */
    int32_t   batch_dims;           /**< of GatherV2: the table's and the indices' */
    int32_t   count; /**< N, num, num_split; sequences in one; ranks of a collective */
    int32_t   num_sampled, num_true;
    int32_t   window; /**< of attention: keys that a query sees; of a scan: tokens
                               of a chunk; 0 = all, or 64 */
    int32_t   chosen; /**< of sparse attention: keys that a query chooses; 0 = all */
    int32_t   stride; /**< likewise: tokens that a key stands for; 0 = 1 */
    int32_t   block;  /**< likewise: keys that are chosen together; block_size; 0 = 1 */
    bool      is_causal;    /**< of attention: a query sees no later key */
    uint32_t  squeeze_dims; /**< bit d: dim d; bit 32 - k: dim -k; 0: all of size 1 */
    uint32_t  begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask;
    emp_dtype dtype;    /**< T, dtype, DstT: element type of the outputs */
    emp_dtype out_type; /**< out_type, out_idx: index type; default int32 */
    emp_shape shape;    /**< of variables and placeholders */
    bool      has_shape;
    /** Value of a Const: elements as integers (floats truncated), when it has at most
     * EMP_MAX_CONST_VALUES elements and its dtype is a number or bool. Borrowed by the
     * call that receives it, which copies what it keeps. */
    const int64_t *value;
    int32_t        value_count; /**< 0 = not known */

    /* For PyTorch's ops. */
    bool      is_in_place;   /**< output 0 is input 0's buffer, which the op writes */
    bool      is_transposed; /**< a convolution that enlarges */
    int32_t   sequence_axis; /**< from the end; 0 = -2, of recurrent layers -3 */
    int32_t   gradients;     /**< that a convolution's is asked for; 0 = 2 */
    int32_t   list_count;    /**< tensors in a list; 0 = all inputs are one list */
    int64_t   pool_window;   /**< elements; 0 = as many as fill the input */
    emp_shape product;       /**< rank 4: batch, m, n, k, where shapes do not tell them */
    /** The cost of a kernel whose file states its content, in place of its type's cost. Borrowed by the
     * call that receives it, which copies it. */
    const struct emp_op_cost *cost;
    bool
        is_compiled; /**< of a program whose compiler has folded constants: what is left runs */
    /** In the order of strides and ksize, which is per spatial dim for Conv and types in Nd: the padding around the
     * image, steps within a window (0 = 1); for Conv and types in Nd groups of channels (0 = 1). */
    int32_t pads[4], pads_after[4], dilations[4], group;
} emp_op_attrs;

/** How the time of an op is computed (sim/cost). */
typedef enum {
    EMP_OP_KERNELLESS, /**< no GPU kernel: Identity, Reshape, NoOp, Const, ... */
    EMP_OP_ELEMENTWISE,
    EMP_OP_REDUCTION,
    EMP_OP_MOVEMENT, /**< concat, split, slice, transpose, pad, gather, tile, ... */
    EMP_OP_GEMM,     /**< matrix products: m, n, k, batch are set */
    EMP_OP_CONV,     /**< convolutions as implicit GEMM: m, n, k are set */
    EMP_OP_POOL,
    EMP_OP_NORM,      /**< batch norm, softmax: several passes */
    EMP_OP_OPTIMIZER, /**< Apply*, Assign*, Scatter* */
    EMP_OP_HOST       /**< runs on the host only: input, strings, sampling, unique */
} emp_op_class;

/** The kind of work that an op does, whichever framework names it. The class of one op may differ: a
 * convolution of one pixel is charged as a matrix product, a sum over no axes as nothing. */
typedef enum {
    EMP_WORK_NOTHING, /**< no kernel */
    EMP_WORK_HOST,
    EMP_WORK_ELEMENTWISE,
    EMP_WORK_CAST,
    EMP_WORK_FILL,   /**< writes without reading */
    EMP_WORK_RANDOM, /**< likewise, numbers drawn */
    EMP_WORK_REDUCE,
    EMP_WORK_PRODUCT,
    EMP_WORK_GROUPED_PRODUCT, /**< a product for each expert */
    EMP_WORK_CONVOLUTION,     /**< of any rank, in groups */
    EMP_WORK_DEPTHWISE,
    EMP_WORK_MAX_POOL,
    EMP_WORK_AVG_POOL,
    EMP_WORK_POOL,      /**< of any rank, of either sort */
    EMP_WORK_RECURRENT, /**< all steps of a layer, or of several */
    EMP_WORK_ATTENTION,
    EMP_WORK_BATCH_NORM,
    EMP_WORK_NORM, /**< other norms, by passes over the largest input */
    EMP_WORK_SOFTMAX,
    EMP_WORK_LOSS, /**< cross entropy */
    EMP_WORK_MOVE, /**< slices, pads, splits, tiles */
    EMP_WORK_CONCAT,
    EMP_WORK_TRANSPOSE,
    EMP_WORK_LOOKUP,  /**< rows by number: embeddings, bags of them */
    EMP_WORK_GATHER,  /**< elements by number */
    EMP_WORK_SCATTER, /**< writes or sums rows by number; sparse updates */
    EMP_WORK_UPDATE,  /**< optimizers and assignments */
    EMP_WORK_ROUTE,   /**< chooses experts of tokens, sums what experts made */
    EMP_WORK_KINDS
} emp_op_work;

/** Which part of training an op of its kind does. */
typedef enum {
    EMP_PART_FORWARD,
    EMP_PART_INPUT,  /**< the gradient of the input alone */
    EMP_PART_FILTER, /**< the gradient of the weights alone */
    EMP_PART_BOTH    /**< the whole gradient */
} emp_op_part;

/** The main work of a loop over elements. */
typedef enum {
    EMP_ARITHMETIC_ADD, /**< one or two instructions an element */
    EMP_ARITHMETIC_DIVIDE,
    EMP_ARITHMETIC_EXP
} emp_arithmetic;

/** The arithmetic that so many of Eigen's CPU cycles for so many elements tell. */
emp_arithmetic emp_arithmetic_of(double cycles, double elements);

/** The window of a convolution, which decides by which algorithm cuDNN does it. */
typedef enum {
    EMP_CONV_WIDE,    /**< none of the others */
    EMP_CONV_POINT,   /**< 1x1 */
    EMP_CONV_WINOGRAD /**< 3x3 with stride 1 */
} emp_conv_window;

/** The cost of one execution of an op, independent of any machine. */
typedef struct emp_op_cost {
    emp_op_class    op_class;
    emp_op_work     work;    /**< of the op's type */
    emp_op_part     part;    /**< likewise */
    emp_conv_window window;  /**< of EMP_OP_CONV, and of a 1x1 convolution as a product */
    int32_t         kernels; /**< GPU kernels launched; 0 = kernel-less */
    int32_t         layout_kernels; /**< of the kernels: the kernels of layout_bytes */
    emp_dtype
              stored; /**< of quantised weights of a product, or of quantised keys that attention reads; else NONE */
    emp_dtype computed; /**< of the arithmetic; NONE: of operands or output 0 */
    double    flops;
    int64_t   bytes_read, bytes_written;
    int64_t   weight_bytes;   /**< of bytes_read: of weights whose type is `stored` */
    int64_t   m, n, k, batch; /**< EMP_OP_GEMM and EMP_OP_CONV; else 0 */
    double    cpu_cycles; /**< Eigen's cycles, all elements, one core; 0 for GEMM, conv */
    int64_t   workspace_bytes; /**< device memory held while it runs */
    /** The parts of the bytes read and written that transpose activations from NHWC to NCHW and back. */
    int64_t layout_bytes;
    /** For attention whose measured times count: then batch counts its key heads, and m counts the queries of
     * all heads that share one; 0 = not known. */
    int64_t queries, keys, head_size;
    int64_t value_size; /**< likewise; 0 = values are the first columns of the keys */
} emp_op_cost;

_Static_assert(sizeof(emp_op_cost) == 8 * sizeof(int32_t) + 15 * sizeof(int64_t),
               "costs are compared by their bytes");

enum {
    EMP_OP_STATEFUL = 1 << 0,      /**< variables, random numbers, I/O: never folded */
    EMP_OP_ALIASES_INPUT = 1 << 1, /**< output 0 is input 0's buffer: Identity, Reshape */
    EMP_OP_UPDATES_REF = 1 << 2,   /**< input 0 is a reference that it writes */
    EMP_OP_IS_VARIABLE = 1 << 3,
    EMP_OP_IS_CONST = 1 << 4,
    EMP_OP_IS_OPTIMIZER = 1 << 5, /**< Apply*, SparseApply*: input 0 is a parameter */
    EMP_OP_IN_PLACE = 1 << 6,     /**< may reuse the buffer of an input that dies */
    EMP_OP_DATA_IS_SHAPE =
        1 << 7, /**< outputs follow from input shapes alone: Shape, Rank, Size */
    EMP_OP_CONTROL_FLOW = 1 << 8,
    EMP_OP_MAY_ALIAS = 1 << 9, /**< aliases input 0 when its cost turns out kernel-less */
    EMP_OP_OPEN_OUTPUTS = 1 << 10, /**< attributes do not tell how many outputs it has */
    EMP_OP_INT32_ON_HOST =
        1 << 11,                /**< its int32 flavour on a GPU works in host memory */
    EMP_OP_BACK_EDGE = 1 << 12, /**< NextIteration: its edge to a Merge closes a loop */
    EMP_OP_LOOP_HEAD = 1 << 13, /**< Merge */
    EMP_OP_DYNAMIC_SHAPE =
        1 << 14,             /**< sizes are bounds, known only when it runs: Unique */
    EMP_OP_LOOKUP = 1 << 15, /**< reads rows of input 0: Gather */
    EMP_OP_FEED = 1 << 16,   /**< what the step is fed: Placeholder */
    EMP_OP_SUMS_IN_PLACE = 1 << 17, /**< adds inputs to the first as they come: AddN */
    EMP_OP_LAYER = 1 << 18,   /**< people count it as a layer: convolution, pooling */
    EMP_OP_ASSIGNS = 1 << 19, /**< initialises and restores variables */
    EMP_OP_CHOOSES = 1 << 20, /**< sends its input one of two ways: Switch */
    EMP_OP_LOOP_CONDITION = 1 << 21, /**< says whether a loop goes on: LoopCond */
    EMP_OP_IS_STATE = 1 << 22,    /**< a variable that nothing trains: a cache of keys */
    EMP_OP_TAKES_LISTS = 1 << 23, /**< does its work for each tensor of a list */
    EMP_OP_ANY_RANK = 1 << 24,    /**< a convolution of any rank, channels first */
    EMP_OP_IS_WEIGHTS =
        1
        << 25, /**< a variable that nothing updates: pruning gives it to its only reader */
    EMP_OP_IS_CACHE = 1 << 26, /**< state that tokens are added to: no call makes it */
    EMP_OP_STREAMS = 1 << 27,  /**< weights on the way from their home to their readers */
    EMP_OP_ACROSS = 1 << 28,   /**< elements take many others: sums of a row, scans */
    EMP_OP_LIBRARY = 1 << 29,  /**< passes of a library: sorts, Fourier transforms */
    EMP_OP_RUNS = 1 << 30, /**< in every step, even where all that it reads is constant */
};

/** How TensorFlow's own estimate, Grappler's, counts a type. */
typedef enum {
    EMP_GRAPPLER_OPERANDS, /**< a cycle an element, and the bytes of all operands */
    EMP_GRAPPLER_FLOPS,    /**< likewise, but its FLOPs: products and convolutions */
    EMP_GRAPPLER_CYCLES,   /**< likewise, but the cycles of the type's rates */
    EMP_GRAPPLER_SHAPE,    /**< one nanosecond */
    EMP_GRAPPLER_FREE
} emp_op_grappler;

/** The op with the most outputs restores all variables of a model. */
enum { EMP_MAX_OUTPUTS = 4096 };

/** Where infer functions put the elements of small constants; where it has no room left,
 * outputs go without values. Lent by the caller for one call. */
typedef struct {
    int64_t *next, *end;
} emp_value_pool;

/** An op as the shape and cost functions see it. */
typedef struct {
    const struct emp_op_type *type;
    const emp_op_attrs       *attrs;
    const emp_tensor_info    *input;
    int32_t                   input_count; /**< at least the type's min_inputs */
    const emp_tensor_info    *output;      /**< costs only */
    int32_t                   output_count;
    emp_value_pool           *pool; /**< infer only; NULL = no values wanted */
} emp_op_view;

/** Costs per element that generic cost functions read. */
typedef struct {
    double  flops;         /**< per element */
    double  cycles;        /**< Eigen's CPU cycles per element */
    int32_t kernels;       /**< GPU kernels of one execution; 0 = 1 */
    int32_t reads, writes; /**< passes over the parameter; optimizers only */
} emp_op_rates;

typedef struct emp_op_type {
    const char  *name; /**< "Conv2D" */
    uint32_t     flags;
    uint32_t     kinds;            /**< EMP_KIND_ mask: where it has a kernel */
    uint32_t     host_input_mask;  /**< bit i: on a GPU, input i is read in host memory */
    uint32_t     host_output_mask; /**< bit i: on a GPU, output i is in host memory */
    uint32_t     gpu_dtypes;       /**< bit d: element type d has a GPU kernel; 0 = any */
    int32_t      min_inputs;       /**< fewer data inputs are an error */
    int32_t      ref_inputs;       /**< that many leading inputs are taken by reference */
    emp_op_rates rates;
    emp_op_work  work;
    emp_op_part  part;
    emp_op_grappler grappler;

    /** Charges an op of the type: fills all of \a cost but `work` and `part`. */
    void (*cost)(const emp_op_view *op, emp_op_cost *cost);

    /** Fills shape, dtype, is_ref (and value where it folds to a small constant) of every
     * output; sets \a *output_count <= EMP_MAX_OUTPUTS unless it stays 1, and before it writes more than two
     * outputs if it may fail behind that. Inputs of unknown shape are
     * legal and give unknown outputs. */
    emp_status (*infer)(const emp_op_view *op, emp_tensor_info *output,
                        int32_t *output_count, emp_error *err);
} emp_op_type;

/** The entry of a type name, or NULL when the table has none. O(log types). A name with a dot is
 * PyTorch's or XLA's. */
const emp_op_type *emp_op_type_find(const char *name);

/** The entry of an op of PyTorch without its overload: "aten.add", "aten.add_", "prims.fma"; or NULL.
 * One entry serves all names that cost alike, and has one of them. O(names). */
const emp_op_type *emp_op_type_find_torch(const char *name);

/** The entry used for unknown types: element-wise, one output shaped as input 0. */
const emp_op_type *emp_op_type_unknown(void);

/** All entries of TensorFlow's types in the order of their names; sets \a *count. */
const emp_op_type *emp_op_type_table(int32_t *count);

/*
 * The facts about an op in TensorFlow's naming, in generated and in imported graphs alike:
 *
 *     gradients/<forward name>_grad/...            a gradient op of a forward op
 *     .../cell_1/basic_lstm_cell/MatMul_3          of the recurrent cell of layer 1
 *     .../cell_1_2/add                             of its wrapper, in a scope made unique
 */

/** Whether the op belongs to the backward pass: "gradients/...", "gradients_1/...". */
bool emp_is_gradient_name(const char *name);

/** Finds the forward op that "gradients/<forward name>_grad/..." differentiates. Sets
 * \a *forward to point into \a name and returns the length; 0 = not such a name. */
size_t emp_forward_of_gradient(const char *name, const char **forward);

/** K of the path component "cell_K", or "cell_K_N" where TensorFlow made a scope unique;
 * -1 = there is none. \a *length becomes the length of the name up to and with "cell_K". */
int32_t emp_cell_of_name(const char *name, size_t *length);

#endif /* EMP_SIM_GRAPH_OP_H */
