/** \file sim/graph/graph.h
 * The immutable dataflow graph that everything else reads.
 *
 * An emp_graph is made by an emp_graph_builder (sim/graph/graph_builder.h). The *whole*
 * graph holds every node that the front end made; emp_graph_prune() gives the *step*
 * graph, the part that one training step runs, which is what is placed and simulated.
 *
 * The struct is open: its arrays are read directly, and are not written after
 * creation. Adjacency is in compressed rows: the inputs of op v are
 * input[input_offset[v] .. input_offset[v + 1]). Edges are counted per input: an op that
 * reads one tensor twice has two edges.
 *
 * Threads. Immutable after creation; share it freely.
 */
#ifndef EMP_SIM_GRAPH_GRAPH_H
#define EMP_SIM_GRAPH_GRAPH_H

#include <emplace/graph_builder.h>

#include "base/mem.h"
#include "base/text/units.h"
#include "sim/graph/op.h"

/** One output of an op. */
typedef struct {
    const emp_shape *shape; /**< shared by all tensors of this shape */
    int64_t          bytes; /**< 0 for references and for elements without a fixed size */
    int64_t   copy_bytes; /**< what a copy to another device carries; of references too */
    emp_op_id producer;
    uint8_t   dtype; /**< emp_dtype */
    bool      is_ref;
    bool      on_host; /**< in host memory even when the op runs on a GPU */
} emp_tensor;

/** The facts about an op besides its edges. */
typedef struct {
    const emp_op_cost *cost; /**< shared by all ops that cost the same */
    int64_t
        persistent_bytes; /**< variables, slots and weights: held for the whole step */
    uint32_t flags;       /**< EMP_OP_ flags of its type */
    uint32_t host_input_mask; /**< bit i: on a GPU it reads input i in host memory;
                                       bit 31 stands for input 31 and all further ones */
    int32_t colocation_class; /**< dense; shared by ops that references bind, "x/read" and
                                   * embedding look-ups included, and ops of one number */
    uint8_t kinds;            /**< EMP_KIND_ mask; CPU only where no GPU kernel fits */
    bool    is_folded;        /**< constant: computed before the step, costs nothing */
    bool    is_alias;         /**< output 0 is input 0's buffer */
    uint8_t
        level; /**< that its device serves it at where no decision says so: rounds of a
                  step, or parts of a program */
} emp_op;

_Static_assert(sizeof(emp_op) == 32 && sizeof(emp_tensor) == 32, "graphs have millions");

/** Names, shapes and costs that a graph shares with graphs that were pruned from it. */
typedef struct emp_graph_store emp_graph_store;

/** Ranks of a collective whose number no file says: as many as the machine has GPUs. EMP_RANKS_ALL_GATHER: likewise, of an
 * all-gather whose bytes are those that one rank brings. */
enum { EMP_RANKS_ALL = -1, EMP_RANKS_ALL_GATHER = -2 };

/** The part that one device has in a collective. Each rank of a set is an op of its own, which waits for
 * what the others wait for, so that all start together. */
typedef struct {
    emp_collective op;
    int32_t ranks; /**< devices that take part, or EMP_RANKS_ALL...; 0 = the op is none */
    int64_t bytes; /**< the buffer of a rank (all-reduce, all-to-all), or the whole */
    int32_t
        set; /**< ops of one number are the ranks, in the order of their ids; 0 = the other
                    ranks are no ops of the graph */
} emp_collective_part;

/** The work of a kernel of a trace, as far as its operator's arguments say. */
typedef enum {
    EMP_TRACED_NO_KERNEL, /**< the op is the host's, or a wait */
    EMP_TRACED_PRODUCT,   /**< matrix products */
    EMP_TRACED_CONVOLUTION,
    EMP_TRACED_ATTENTION, /**< fused */
    EMP_TRACED_NORM,      /**< norms and softmax, which take the time of their bytes */
    EMP_TRACED_BYTES, /**< other kernels with known bytes: element-wise, copies on the GPU, Triton's */
    EMP_TRACED_UNKNOWN, /**< nothing is known but its time */
    EMP_TRACED_LINK,    /**< a copy between the host and the GPU */
    EMP_TRACED_COLLECTIVE,
    EMP_TRACED_KINDS
} emp_traced_kernel_kind;

/** A kernel that a profiler has measured. */
typedef struct {
    emp_traced_kernel_kind kind;
    emp_dtype              dtype; /**< of its operands; EMP_DTYPE_NONE: unknown */
    bool                   is_tf32;
    bool                   is_backward; /**< of attention */
    int64_t kernel_ns; /**< of the op's stated time; the rest is its dispatch */
    int64_t batch, m, n,
        k; /**< of a product, or of the one that a convolution comes to; m = 0: unknown */
    int64_t heads, queries, keys, head_size; /**< of attention; heads of all sequences */
    int64_t bytes;                           /**< read and written; 0: unknown */
} emp_traced_kernel;

/** Where graphs come from: X(source, the runtime profile that fits it, why). Every default of a runtime
 * is from this list. TensorFlow's stands for the papers' workloads, too. Graphs whose file states costs keep
 * the first profile that there was, unless they are on the machine that the file states. */
#define EMP_GRAPH_SOURCE_LIST(X)                                                         \
    X(PROGRAM, "tf-r1.3", "a program has made the graph")                                \
    X(TENSORFLOW, "tf-r1.3", "the graph is TensorFlow's")                                \
    X(STATED, "tf-r1.3", "the graph's file states the costs of its ops")                 \
    X(TRACE, "traced",                                                                   \
      "the graph is a measured trace, which has the host's work as ops")                 \
    X(PYTORCH, "torch-eager", "the graph is PyTorch's")                                  \
    X(ONNX, "torch-eager", "the graph is an ONNX model, and those are PyTorch's mostly") \
    X(HLO, "graph-launch", "XLA launches a module as a whole")                           \
    X(TRAINING, "torch-eager", "PyTorch trains such a model op by op")                   \
    X(FORWARD, "torch-eager", "PyTorch reads a prompt op by op")                         \
    X(DECODE, "graph-launch", "servers decode tokens by CUDA graphs")                    \
    X(GGUF, "llama-cpp", "llama.cpp runs such files")

typedef enum {
#define X(source, runtime, why) EMP_SOURCE_##source,
    EMP_GRAPH_SOURCE_LIST(X)
#undef X
} emp_graph_source;

/** Why emp_graph_default_runtime() gives what it gives: "the graph is PyTorch's". Static storage. */
const char *emp_graph_source_why(const emp_graph *graph);

/** <emplace/graph.h> has what programs see of it. */
struct emp_graph {
    int32_t op_count;
    int32_t edge_count; /**< data edges */
    int32_t control_edge_count;
    int32_t tensor_count;
    int32_t class_count; /**< colocation classes */
    int32_t type_count;  /**< distinct type names */

    const char        **name; /**< [op] */
    int32_t            *type; /**< [op] index into type_name */
    const char        **type_name;
    const emp_op_type **type_entry; /**< [type]; NULL = not in the table */
    emp_op             *op;

    int32_t       *input_offset; /**< [op + 1] */
    emp_tensor_id *input;
    int32_t       *control_offset; /**< [op + 1]; control inputs of an op */
    emp_op_id     *control;
    int32_t
        *output_offset; /**< [op + 1]; outputs of op v are tensors output_offset[v].. */
    emp_tensor *tensor;
    int32_t    *consumer_offset;    /**< [tensor + 1] */
    emp_op_id  *consumer;           /**< one entry per edge */
    int32_t    *control_out_offset; /**< [op + 1]; ops that wait for this one */
    emp_op_id  *control_out;
    emp_op_id
        *topo; /**< [position] the op there, in a topological order; ties by lower id */

    /* Dropped edges from NextIteration to Merge, by the Merge's id: a step that runs a
     * Merge runs the loop body behind it once. */
    int32_t    back_edge_count;
    emp_op_id *back_edge_from, *back_edge_to;

    int32_t *
        colocation; /**< [op] ops of one number share a device, 0 = none binds it; or NULL */

    emp_stated_cost *stated; /**< [op], or NULL: costs are a matter of models */

    /* For ops with costs of their own: times on GPUs of some models. */
    int32_t      stated_model_count;
    const char **stated_model;    /**< [model] names of device models */
    int64_t     *stated_model_ns; /**< [model * op_count + op] */

    emp_traced_kernel
        *traced; /**< [op], or NULL: the graph is no trace of GPUs. No part of the hash */

    emp_collective_part *collective; /**< [op], or NULL: no op is one */

    emp_graph_source source;     /**< set by front ends; no part of the hash */
    bool             has_levels; /**< not all ops have level 0 */
    bool
        in_program_order; /**< levels are the order of a program, and no rounds of a step */

    bool    *is_target;           /**< [op] what a step fetches or runs: train op, loss */
    int32_t  unknown_op_count;    /**< ops whose type is not in the table */
    int32_t  unknown_shape_count; /**< tensors with a size that had to be assumed 1 */
    double   flops;               /**< of all ops that are not folded */
    int64_t  parameter_count; /**< elements of the variables that an optimizer updates */
    int64_t  parameter_bytes;
    uint64_t hash;           /**< of structure, types, shapes, names and stated costs;
                           machine-independent */
    emp_graph_store *store;  /**< owns what the graph shares; private */
    emp_arrays       arrays; /**< all of these; private */
};

/** The subgraph of all ancestors (by data and control edges) of the targets.
 * O(V + E). \retval EMP_EINVAL  The graph has no target. */
emp_status emp_graph_prune(emp_graph **out, const emp_graph *whole, emp_error *err);

/** Makes exactly the ops marked in \a is_target [op] the targets, and brings the hash up
 * to date. For front ends that find the targets on the finished graph; the graph may
 * have no other holder yet. O(V + E). */
void emp_graph_set_targets(emp_graph *graph, const bool *is_target);

/** A cost that is the op's own from now on, to be changed before the graph has another holder. NULL: out of
 * memory. */
emp_op_cost *emp_graph_own_cost(emp_graph *graph, emp_op_id op);

/** The table's entry of the op's type; emp_op_type_unknown()'s where it has none. */
const emp_op_type *emp_graph_type(const emp_graph *graph, emp_op_id op);

/** The number of the stated device model of that name, or -1. Case, and all but letters and digits,
 * do not count: "RTX-3090" is "rtx3090". O(models). */
int32_t emp_graph_find_stated_model(const emp_graph *graph, const char *name);

/** Whether the op is a rank of a collective. */
static inline bool emp_graph_is_collective(const emp_graph *graph, emp_op_id op)
{
    return graph->collective != NULL && graph->collective[op].ranks != 0;
}

/** Which collective ops of a type of PyTorch or XLA do; false: none. O(known types). */
bool emp_collective_of_type(emp_collective *op, const char *type);

/** Whether two names of device models are one, as above. */
bool emp_graph_is_same_model(const char *a, const char *b);

/** The stated time of the op on a GPU of a stated model, or of another one: -1. */
static inline int64_t emp_graph_stated_gpu_ns(const emp_graph *graph, emp_op_id op,
                                              int32_t model)
{
    if (model < 0) return graph->stated[op].gpu_ns;
    return graph->stated_model_ns[(size_t)model * (size_t)graph->op_count + (size_t)op];
}

/** The stated time of copies of the op's result, or -1: it follows from their bytes. */
static inline int64_t emp_graph_stated_copy_ns(const emp_graph *graph, emp_op_id op)
{
    return graph->stated ? graph->stated[op].copy_ns : -1;
}

/** Whether an op that is not folded reads the tensor. */
static inline bool emp_graph_is_read(const emp_graph *graph, emp_tensor_id tensor)
{
    for (int32_t i = graph->consumer_offset[tensor];
         i < graph->consumer_offset[tensor + 1]; i++)
        if (!graph->op[graph->consumer[i]].is_folded) return true;
    return false;
}

/** Whether the op, on a GPU, reads that input in host memory. */
static inline bool emp_op_reads_on_host(const emp_op *op, int32_t input)
{
    return op->host_input_mask >> (input < 31 ? input : 31) & 1u;
}

/*
 * Bytes that the forward pass of a training step makes and its backward pass reads.
 */

/** Bytes of the tensors that ops before the loss make and other ops read. The loss is what a step
 * fetches that is one number of floating point. Weights, inputs and constants do not count, and
 * what is a view of a buffer counts once. 0 of a step without such a loss, or with nothing else to
 * run. O(V + E). \retval EMP_ENOMEM */
emp_status emp_graph_activation_bytes(int64_t *bytes, const emp_graph *step,
                                      emp_error *err);

#endif /* EMP_SIM_GRAPH_GRAPH_H */
