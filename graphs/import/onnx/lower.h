/** \file graphs/import/onnx/lower.h
 * From ONNX's nodes to ops of the op table, one node at a time.
 *
 * A value of the model is a constant (its numbers are known), a weight, or a tensor of the graph.
 * Nodes whose inputs are constants are computed here and leave no op. The lowering of an op type is
 * a function in the tables in lower_*.c; it takes an emp_onnx_call.
 *
 * Problems do not end the walk. They are noted, the outputs of the node are not known, and nodes
 * that read them are passed over.
 */
#ifndef EMP_GRAPHS_IMPORT_ONNX_LOWER_H
#define EMP_GRAPHS_IMPORT_ONNX_LOWER_H

#include "base/collections.h"
#include "graphs/import/notes/notes.h"
#include "graphs/import/onnx/model.h"
#include "graphs/tensorflow/tf_graph.h"

enum { EMP_ONNX_MAX_NUMBERS = 4096, EMP_ONNX_MAX_DEPTH = 16, EMP_ONNX_MAX_PARTS = 256 };

typedef struct emp_onnx_value emp_onnx_value;
struct emp_onnx_value {
    emp_slice     name;
    emp_shape     shape;
    emp_dtype     dtype;
    const double *number;       /**< the elements of a constant, or NULL */
    emp_port      port;         /**< EMP_TF_NONE: not in the graph yet */
    emp_port      grouped;      /**< likewise, as a product of few bits reads it */
    int64_t       file_type;    /**< ONNX's number of its type; 0: made by a node */
    bool          is_unknown;   /**< a problem upstream is to blame */
    bool          is_weight;    /**< held in memory while the model is */
    bool          is_trainable; /**< a weight that a training step changes */
    bool          is_buffer;    /**< a weight that is no parameter of the model */
    emp_onnx_value
        *transposed; /**< what this is with the last two dims exchanged, or NULL */
    const char *
        transpose; /**< the name of the op that exchanges them, emitted if one reads this */
    const char      *place; /**< of a weight in an inner graph: its tensor in the file */
    bool             is_kept; /**< in emp_onnx.kept */
    bool             is_sequence;
    emp_onnx_value **item; /**< of a sequence: its tensors */
    int32_t          item_count;
};

/** Names that nodes see: the names of their graph, then of the graphs around it. */
typedef struct emp_onnx_scope emp_onnx_scope;
struct emp_onnx_scope {
    emp_strmap            index;
    emp_onnx_value      **value;
    int32_t               count, capacity;
    const emp_onnx_scope *outer;
    const emp_onnx_graph *graph; /**< whose nodes are walked over */
    const emp_onnx_node
        *call; /**< whose attributes a function's body refers to, or NULL */
};

/** A size that the model leaves open, by its symbol or its place. */
typedef struct {
    emp_slice key;      /**< a symbol, or the name of a tensor and the place: "x.1" */
    emp_slice tensor;   /**< of a place */
    int32_t   dim;      /**< of a place */
    int64_t   size;     /**< -1: not settled yet */
    bool      is_first; /**< the first size of some input */
    bool      is_batch, is_image, is_assumed;
} emp_onnx_size;

typedef struct emp_onnx emp_onnx;
struct emp_onnx {
    const emp_onnx_model *model;
    emp_tf               *tf;
    emp_import_notes     *notes;
    /** Lowers the nodes of a graph whose inputs are bound: emp_onnx_walk(), which nodes with graphs in them call. */
    void (*walk)(emp_onnx *o, emp_onnx_scope *scope, const emp_onnx_graph *graph);
    emp_arena        arena;
    emp_strmap       role_of_name; /**< bits of weights.h */
    const char      *dims;  /**< "name=size,...": what symbols stand for, or NULL */
    int64_t          batch; /**< of unknown leading sizes; 0 = not given */
    emp_strmap       inner; /**< places of tensors in inner graphs, to inner_weight */
    emp_onnx_value **inner_weight;
    int32_t          inner_count, inner_capacity;
    emp_onnx_value **kept; /**< weights of branches that are not taken, conditions */
    int32_t          kept_count, kept_capacity;
    emp_onnx_size   *size; /**< of all symbols of the inputs, and more */
    int32_t          size_count, size_capacity;
    int64_t          number_budget; /**< numbers that constants may still have */
    int64_t          node_budget;   /**< nodes that loops may still unroll to */
    int64_t          item_budget;   /**< tensors that sequences may still list */
    int32_t          passed_over;   /**< nodes behind a problem */
    int32_t          depth;         /**< of graphs within nodes */
    bool             is_training, is_lenient, has_weights;
    bool             has_constant_filters; /**< weights among values of Constant nodes */
    emp_status       status;               /**< EMP_ENOMEM ends the walk */
    emp_error       *err;
};

/** A node at work. */
typedef struct {
    emp_onnx            *o;
    emp_onnx_scope      *scope;
    const emp_onnx_node *node;
    emp_onnx_value     **in; /**< NULL where an input is left out */
    int32_t              in_count;
    int64_t              opset;
    const char          *name;     /**< of its first op */
    bool                 has_name; /**< an op has it already */
} emp_onnx_call;

typedef void emp_onnx_lowering(emp_onnx_call *c, const char *word);

/** The lowering of a type; the domain is "" or a vendor's. */
typedef struct {
    const char        *type;
    emp_onnx_lowering *fn;
    const char *word; /**< for the function, mostly a type of the op table; or NULL */
} emp_onnx_rule;

/* Values. */

/** The value of a name, or NULL. */
emp_onnx_value *emp_onnx_find(const emp_onnx_scope *scope, emp_slice name);
/** A new value under that name, which hides an older one; NULL: no memory. */
emp_onnx_value *emp_onnx_bind(emp_onnx *o, emp_onnx_scope *scope, emp_slice name);
/** Gives a value one more name, which hides an older one; false: no memory. */
bool emp_onnx_bind_value(emp_onnx *o, emp_onnx_scope *scope, emp_slice name,
                         emp_onnx_value *value);
void emp_onnx_scope_clear(emp_onnx_scope *scope);
/** The tensor of a value in the graph; constants and weights are put there when first asked for. */
emp_port emp_onnx_port(emp_onnx *o, emp_onnx_value *value);
/** A weight as a product reads it: elements of few bits in groups with a scale each. This tensor and that of
 * emp_onnx_port() are views of one memory. \a name is the name that it gets if it is not in the graph yet. */
emp_port emp_onnx_grouped_port(emp_onnx *o, emp_onnx_value *value, const char *name,
                               emp_shape shape, emp_dtype dtype);
/** Room for numbers; NULL where there are too many for constants. */
double *emp_onnx_new_numbers(emp_onnx *o, int64_t count);
/** Binds a name to a tensor of the file: a constant or a weight, as its type and its role say. Tensors
 * that are no initializers are the values of Constant nodes. A weight in an inner graph is one value,
 * however many iterations read it. */
void emp_onnx_bind_tensor(emp_onnx *o, emp_onnx_scope *scope, emp_slice name,
                          const emp_onnx_tensor *tensor, bool is_initializer);
/** Binds the initializers of a graph. */
void emp_onnx_bind_initializers(emp_onnx *o, emp_onnx_scope *scope,
                                const emp_onnx_graph *graph);
/** Makes a weight or a tensor part of the step, even if no op of the step reads it. */
void emp_onnx_keep(emp_onnx *o, emp_onnx_value *value);

/* Queries of a lowering about its node. */

/** True if none of \a count sizes is below 0; otherwise the node is refused. */
bool emp_onnx_are_counts(emp_onnx_call *c, const int64_t *number, int32_t count);

emp_onnx_value *emp_onnx_in(const emp_onnx_call *c, int32_t i); /**< NULL: left out */
emp_port        emp_onnx_in_port(emp_onnx_call *c, int32_t i);
emp_shape       emp_onnx_in_shape(const emp_onnx_call *c, int32_t i);
bool    emp_onnx_get(const emp_onnx_call *c, const char *name, emp_onnx_attr *attr);
int64_t emp_onnx_int(const emp_onnx_call *c, const char *name, int64_t otherwise);
double  emp_onnx_float(const emp_onnx_call *c, const char *name, double otherwise);
bool    emp_onnx_word_is(const emp_onnx_call *c, const char *name, const char *word);
/** Whether the node is one of the standard's operators before that version. */
bool emp_onnx_is_before(const emp_onnx_call *c, int64_t version);
/** A list of integers from an attribute (NULL: none), else from a constant input (-1: none).
 * Returns how many; -1 = there is no such list. */
int32_t emp_onnx_ints(const emp_onnx_call *c, const char *name, int32_t input,
                      int64_t *out, int32_t room);
/** An axis from 0 of a tensor of that rank; refuses the node where it is outside. */
int32_t emp_onnx_axis(emp_onnx_call *c, int64_t axis, int32_t rank);

/* Calls that make ops. */

emp_port emp_onnx_emit(emp_onnx_call *c, const char *type, const emp_op_attrs *attrs,
                       const emp_port *inputs, int32_t count);
emp_port emp_onnx_emit1(emp_onnx_call *c, const char *type, emp_port x);
emp_port emp_onnx_emit2(emp_onnx_call *c, const char *type, emp_port x, emp_port y);
emp_port emp_onnx_int_vector(emp_onnx_call *c, const int64_t *value, int32_t count);
emp_port emp_onnx_float_scalar(emp_onnx_call *c, double value);
emp_port emp_onnx_reshape(emp_onnx_call *c, emp_port x, emp_shape shape);
emp_port emp_onnx_transpose(emp_onnx_call *c, emp_port x, const int64_t *order);
/** "Sum", "Mean", ... over the dims of a mask. */
emp_port emp_onnx_reduce(emp_onnx_call *c, const char *type, emp_port x, uint32_t axes,
                         bool keep);
/** The port as it is, or what the function that the attribute "activation" names makes of it, as
 * runtimes fuse it into convolutions and products. */
emp_port emp_onnx_activated(emp_onnx_call *c, emp_port x);
/** An op of that type with that shape; EMP_DTYPE_NONE: the element type of the first input. */
emp_port emp_onnx_emit_shaped(emp_onnx_call *c, const char *type, emp_shape shape,
                              emp_dtype dtype, const emp_port *inputs, int32_t count);
/** An op of PyTorch, such as "aten.nonzero", whose outputs are those given. */
emp_port emp_onnx_emit_torch(emp_onnx_call *c, const char *type,
                             const emp_tensor_info *outputs, int32_t output_count,
                             const emp_port *inputs, int32_t count);
/** Outputs 1 and 2 of a norm of the dims from an axis on: the mean, and the inverse of the deviation. */
void emp_onnx_out_statistics(emp_onnx_call *c, emp_port x, int32_t axis);
/** A weight beside those that the file has, such as the scale of a norm. */
emp_port emp_onnx_add_weight(emp_onnx_call *c, const char *name, emp_shape shape,
                             bool is_trainable);

/* Its outputs; what is not there, or is not asked for, is passed over. */
void emp_onnx_out(emp_onnx_call *c, int32_t i, emp_port port);
void emp_onnx_out_numbers(emp_onnx_call *c, int32_t i, emp_shape shape, emp_dtype dtype,
                          const double *number);
void emp_onnx_out_value(emp_onnx_call *c, int32_t i, const emp_onnx_value *value);

/** Says that the node cannot be taken, and why. */
EMP_PRINTF_LIKE(2, 3) void emp_onnx_refuse(emp_onnx_call *c, const char *format, ...);

/** Computes the node where its inputs are constants; false where they are not. */
bool emp_onnx_fold(emp_onnx_call *c);

/** Makes a tensor of the file the first output. Always true, but for want of memory. */
bool emp_onnx_out_tensor(emp_onnx_call *c, const emp_onnx_tensor *tensor);
/** Makes the first output a tensor of that shape and type which holds one value throughout. */
bool emp_onnx_out_filled(emp_onnx_call *c, const emp_onnx_tensor *tensor, double value);

/* Shapes: value.c. */

/** Sums and products of sizes, at most INT64_MAX. */
static inline int64_t emp_onnx_plus(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}
static inline int64_t emp_onnx_times(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/** The common shape of two operands; false: they do not fit. */
bool emp_onnx_broadcast(const emp_shape *a, const emp_shape *b, emp_shape *out);
/** The range that a Slice takes of each dim. */
typedef struct {
    int64_t first[EMP_MAX_RANK], taken[EMP_MAX_RANK], step[EMP_MAX_RANK];
} emp_onnx_cut;

/* Each reads what the node says of its output's shape; false: it is not known, or is none. */
bool emp_onnx_read_cut(emp_onnx_call *c, const emp_shape *shape, emp_onnx_cut *cut);
bool emp_onnx_reshaped(emp_onnx_call *c, emp_shape *shape);
bool emp_onnx_squeezed(emp_onnx_call *c, emp_shape *shape);
bool emp_onnx_unsqueezed(emp_onnx_call *c, emp_shape *shape);
bool emp_onnx_flattened(emp_onnx_call *c, emp_shape *shape);
/** The axes of a Reduce*: none given means all, or, if the node says so, none. */
bool emp_onnx_read_axes(emp_onnx_call *c, uint32_t *mask);
/** The sizes of the parts of a Split; returns how many, -1 = they depend on data. */
int32_t emp_onnx_part_sizes(emp_onnx_call *c, int64_t whole, int64_t *sizes);
/** How many elements a TopK takes; -1 = it depends on data. */
int64_t emp_onnx_top_count(emp_onnx_call *c);
/** How many numbers a Range of constants has; -1 = it depends on data. */
int64_t emp_onnx_range_count(const emp_onnx_call *c);
/** The element type that a Cast makes; EMP_DTYPE_NONE = none that we know. */
emp_dtype emp_onnx_cast_type(const emp_onnx_call *c);
/** The shape of operand i. Before operators of version 7 the second one is aligned to the first at
 * an attribute "axis", so that its shape ends with sizes of 1. */
emp_shape emp_onnx_aligned(const emp_onnx_call *c, int32_t i);

/* Sizes that the model leaves open: sizes.c. One symbol has one size everywhere. */

/** Finds the symbols in the shapes of the inputs and settles their sizes: the size given for
 * the symbol, else the batch's, else the value of the sum or product which the symbol is ("past + 1"),
 * else an assumed one, which the notes say.
 * \retval EMP_EINVAL  A size or a batch for which the inputs have no place. */
emp_status emp_onnx_find_sizes(emp_onnx *o, const emp_onnx_scope *scope,
                               const emp_onnx_graph *graph, emp_error *err);
/** Checks that each given size is one, and belongs to an input; at the end of the walk also
 * sizes that depend on data. */
emp_status emp_onnx_check_sizes(const emp_onnx *o, bool is_end, emp_error *err);
/** Puts the settled sizes into the shape of an input. */
void emp_onnx_fix_sizes(emp_onnx *o, emp_onnx_info *info);
/** The size of an output that depends on data and has no bound: given as "NAME.DIM", or assumed. */
int64_t emp_onnx_open_size(emp_onnx_call *c, int32_t output, int32_t d);
/** Puts numbers in place of inputs that a model computes from data and that set the shape of the output: those that give
 * the shape which the model states for it, else an assumed one. */
void emp_onnx_settle_inputs(emp_onnx_call *c);
/** The assumed sizes whose numbers are in a message, and the options that set them; "" = none. */
void emp_onnx_blame_sizes(const emp_onnx *o, const char *message, char *text,
                          size_t room);

/* Graphs: walk.c. */

/** Walks over the nodes of a graph whose inputs are bound. */
void emp_onnx_walk(emp_onnx *o, emp_onnx_scope *scope, const emp_onnx_graph *graph);

/* Control flow and the model's functions: control.c. */
emp_onnx_lowering emp_onnx_lower_if, emp_onnx_lower_loop, emp_onnx_lower_scan;
/** The elements from \a first to before \a end along an axis; without the axis, if it is \a squeezed. */
emp_port emp_onnx_part(emp_onnx_call *c, emp_onnx_value *value, int32_t axis,
                       int64_t first, int64_t end, bool squeezed);
/** The body of a function in place of the node. */
void emp_onnx_lower_function(emp_onnx_call *c, emp_slice body);

/* The rules by theme, each ending with {0}; the rules of the runtime's own domains come first there. */
extern const emp_onnx_rule emp_onnx_math_rules[], emp_onnx_array_rules[],
    emp_onnx_made_rules[], emp_onnx_layer_rules[], emp_onnx_other_rules[],
    emp_onnx_attention_rules[], emp_onnx_einsum_rules[], emp_onnx_sequence_rules[],
    emp_onnx_runtime_rules[];

/** A rule: the op \a word of the first input. */
void emp_onnx_lower_unary(emp_onnx_call *c, const char *word);
/** A rule: the concatenation of all inputs. */
void emp_onnx_lower_concat(emp_onnx_call *c, const char *word);
/** Products of the first two inputs, of any ranks. */
emp_port emp_onnx_product(emp_onnx_call *c);
/** The same of integers; the result has that element type. */
emp_port emp_onnx_integer_product(emp_onnx_call *c, int32_t second, emp_dtype dtype);
/* Which tensors of a model are its weights, and which of these a training step changes.
 *
 * Most exporters do not say it. A tensor is a weight by what nodes do with it (the
 * filter of a convolution, the table of a lookup), by its name ("layer1.0.bn1.weight"), or because it is large.
 * Statistics, masks and tables of positions are held, but neither trained nor counted as parameters. */

/** Finds what the nodes of a graph, and of the graphs in it, do with each tensor. O(bytes).
 * \retval EMP_EFORMAT, EMP_ENOMEM */
emp_status emp_onnx_find_roles(emp_onnx *o, const emp_onnx_graph *graph, int32_t depth,
                               emp_error *err);

/** Reads what the metadata of PyTorch 2's exporter state of tensors, which counts more than what is guessed. The signature
 * of torch.export has a line for each parameter and buffer. A tensor that the exporter has computed names what it comes
 * from: a transposed weight comes from one parameter, a table or a mask from other things. O(bytes). \retval EMP_ENOMEM */
emp_status emp_onnx_read_stated(emp_onnx *o, const emp_onnx_graph *graph, emp_error *err);

/** Whether some node looks rows of the tensor up. */
bool emp_onnx_is_table(const emp_onnx *o, emp_slice name);

/** Sets is_weight, is_trainable and is_buffer of a value whose shape and type are known. */
void emp_onnx_mark_weight(emp_onnx *o, emp_onnx_value *value);

/** The same of the value of a Constant node: only a file without other weights has them there. */
void emp_onnx_mark_constant(emp_onnx *o, emp_onnx_value *value);

/** The same of an input: exporters that leave weights out list them as inputs, by their names. */
void emp_onnx_mark_input(emp_onnx *o, emp_onnx_value *value);

/* Layers that exporters spell out: layer and RMS norms of ReduceMean, Sub, Pow, ...; GELU of Erf;
 * SiLU, hard swish and Mish of their parts. Runtimes execute each as one kernel, and so do we. */

typedef enum {
    EMP_ONNX_PLAIN,
    EMP_ONNX_FUSED_AWAY, /**< a part whose last node stands for all of them */
    EMP_ONNX_LAYER_NORM,
    EMP_ONNX_RMS_NORM,
    EMP_ONNX_ACTIVATION
} emp_onnx_fused;

/** The pattern that a node stands for. */
typedef struct {
    emp_onnx_fused kind;
    const char    *type; /**< of an activation: "Gelu" */
    emp_slice      x, scale, bias;
    int32_t into; /**< of a part: a node that comes later, perhaps a part as well */
} emp_onnx_fusion;

/** Finds them among the nodes of a graph; \a fusion has \a count zeroed entries. O(nodes).
 * \retval EMP_ENOMEM */
emp_status emp_onnx_find_fusions(emp_onnx_fusion *fusion, const emp_onnx_node *nodes,
                                 int32_t count, const emp_onnx_graph *graph,
                                 emp_error *err);

void emp_onnx_lower_fused(emp_onnx_call *c, const emp_onnx_fusion *fusion);

/* The training step that follows from a model that infers: a loss, gradients, an optimizer.
 *
 * The loss is ours, as such a file has none: cross entropy over the last dim of the first output of
 * floating point, binary cross entropy where that dim is 1, mean squared error for images. */

/* Nodes whose inputs are constants, computed as the runtime computes them: each result is rounded
 * to its element type. fold.c has arithmetic, fold_array.c what moves elements.
 */

/** An array of numbers, row-major. */
typedef struct {
    emp_shape     shape;
    emp_dtype     dtype;
    const double *number;
} emp_onnx_array;

/** Computes a node; false where an input is no constant, or the node cannot be computed. */
typedef bool emp_onnx_folding(emp_onnx_call *c);

typedef struct {
    const char       *type;
    emp_onnx_folding *fn;
} emp_onnx_fold_rule;

/** Rules for ops that move elements, ending with {0}. */
extern const emp_onnx_fold_rule emp_onnx_array_foldings[];

/** The numbers of a constant input; false: it is left out or no constant. */
bool emp_onnx_array_in(const emp_onnx_call *c, int32_t i, emp_onnx_array *out);
/** Room for the numbers of a shape; NULL where it is not known, or has too many. */
double *emp_onnx_room_for(emp_onnx_call *c, const emp_shape *shape);
/** Makes the first output that constant. Always true. */
bool emp_onnx_put(emp_onnx_call *c, emp_shape shape, emp_dtype dtype,
                  const double *number);

/** The number that the element type has in place of x: floats are rounded, integers wrap. */
double emp_onnx_round_to(emp_dtype dtype, double x);

/** Steps of each dim of \a to in \a of, in elements; those that are broadcast are 0. */
void emp_onnx_strides(const emp_shape *of, const emp_shape *to, int64_t *stride);
/** The place of element i of a shape, with these steps from \a start. */
int64_t emp_onnx_place(const emp_shape *shape, const int64_t *stride, int64_t start,
                       int64_t i);

#endif /* EMP_GRAPHS_IMPORT_ONNX_LOWER_H */
