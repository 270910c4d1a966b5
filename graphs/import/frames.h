/** \file graphs/import/frames.h
 * Functions in place of the ops that call them. A *frame* is the graph itself or one call of a
 * function; the nodes of a call "a" are ops "a/...", as when TensorFlow inlines it.
 *
 * - PartitionedCall, StatefulPartitionedCall and ops that are named like a function are one frame.
 * - If and StatelessIf are two, "a/then" and "a/else". Both run; result i is the op "a/Merge_i".
 * - While and StatelessWhile are "a/cond" and "a/body" for each iteration, of which the caller
 *   says the number; from the second on "a/cond_1", "a/body_1".
 *
 * An op that waits for a call waits for the op "a/done", which waits for the results and for what runs
 * besides. If the call waits for something, nodes that read nothing of the body wait for "a/start".
 * Both ops are there only where they are needed.
 *
 * Memory is bounded by the size of the file: a function that is called often, by functions that
 * are called often, is refused.
 */
#ifndef EMP_GRAPHS_IMPORT_FRAMES_H
#define EMP_GRAPHS_IMPORT_FRAMES_H

#include "base/collections.h"
#include "base/mem.h"
#include "graphs/import/proto/message.h"
#include "sim/graph/graph_builder.h"

/* The function library of a GraphDef: what a function takes, does and gives. TensorFlow 2 keeps
 * nearly everything in functions.
 *
 * Nothing is copied: all slices point into the file. */

/** A FunctionDef. */
typedef struct {
    emp_slice  name;
    emp_slice  body;    /**< the whole message: its nodes are read from it */
    emp_strmap arg;     /**< name to position */
    emp_slice *result;  /**< names of the results, in order */
    emp_slice *source;  /**< [result] what the result is, as an input of a node */
    emp_slice *control; /**< nodes that run whether or not a result is read */
    int32_t    arg_count, result_count, control_count;
    bool       has_list; /**< an argument or a result is a list of tensors */
} emp_function;

/** Zero-initialise; emp_functions_clear() releases it, also after a failure. */
typedef struct {
    emp_function *function;
    int32_t       count;
    emp_strmap    by_name;
} emp_functions;

/** The fields of a FunctionDef that hold nodes have this number. */
enum { EMP_FUNCTION_NODE = 3 };
extern const emp_field_name emp_function_names[];

/** Reads the library of a GraphDef, and counts the graph's own nodes; a graph without one has no functions. O(bytes).
 * \retval EMP_EFORMAT  Malformed, or a result without a source; the message names the
 *                      function. \retval EMP_ENOMEM */
emp_status emp_functions_read(emp_functions *out, int32_t *node_count,
                              emp_message_file *file, emp_slice graph, emp_error *err);

void emp_functions_clear(emp_functions *functions);

/** NULL = there is none of that name. */
const emp_function *emp_functions_find(const emp_functions *functions, emp_slice name);

/** The position of a result by its name; -1 = it has none of that name. O(results). */
int32_t emp_function_result(const emp_function *function, emp_slice name);

/** Where the output \a name of an op type begins among its outputs: of "y", "batch_mean",
 * "batch_variance" of a FusedBatchNorm the third is at 2. 0 for types with one output or
 * one list of outputs. */
int32_t emp_output_offset(emp_slice type, emp_slice name);

/** An entry of NodeDef.input: "name", "name:port" or "^name"; within functions also
 * "name:output:index". */
typedef struct {
    emp_slice name;
    emp_slice output; /**< of the second form */
    int32_t   port;
    bool      is_control;
} emp_node_input;

typedef enum { EMP_CALL_FUNCTION, EMP_CALL_IF, EMP_CALL_WHILE } emp_call_kind;

/** A node that calls functions. */
typedef struct {
    emp_call_kind kind;
    int32_t       frame; /**< that the node is in */
    emp_slice     name;
    emp_node_input
             *input; /**< borrowed from the arena; data inputs, then control inputs */
    int32_t   data_count, input_count;
    int32_t   first, last; /**< frames: of an If then and else, of a While the first
                                      and the last body */
    emp_op_id merge;       /**< of an If: of result 0; the others follow */
    emp_op_id start, done; /**< -1 = not made yet */
} emp_call;

typedef struct {
    const emp_function *function; /**< NULL: the graph itself */
    int32_t             call;     /**< that made it; -1 = the graph */
    int32_t             before; /**< frame whose results are its arguments; -1: the inputs
                                       of the call are */
    int32_t             depth;
    const char         *prefix; /**< of its ops: "" or "a/" */
    emp_strmap          calls;  /**< names of nodes that are calls */
} emp_frame;

typedef struct {
    emp_functions functions;
    emp_arena     arena;
    emp_frame    *frame;
    emp_call     *call;
    int32_t       frame_count, frame_capacity, call_count, call_capacity;
    int32_t       iterations; /**< of while loops */
    int64_t       budget;     /**< bytes that may still be spent on copies */
    int32_t       if_count, while_count;
    int32_t       node_count; /**< of the graph itself */
} emp_frames;

/** Reads the library and makes frame 0. The size of \a file bounds what may be inlined. */
emp_status emp_frames_init(emp_frames *frames, emp_message_file *file, emp_slice graph,
                           int32_t iterations, emp_error *err);
void       emp_frames_clear(emp_frames *frames);

/** Takes from the budget for an op of that name.
 * \retval EMP_EUNSUPPORTED  The graph grows too large for its file. */
emp_status emp_frames_spend(emp_frames *frames, size_t name_bytes, emp_error *err);

/** An attribute of a node whose value is a function: its key, and the name of the function. */
typedef struct {
    emp_slice key, callee;
} emp_function_attr;

/** Adds the call of a node, and its frames.
 * \param[out] is_call  false: the node is an op like others.
 * \retval EMP_EUNSUPPORTED  A call that cannot be inlined; the message names the function. */
emp_status emp_frames_add_call(emp_frames *frames, bool *is_call, int32_t frame,
                               emp_slice name, emp_slice type,
                               const emp_function_attr *attr, int32_t attr_count,
                               const emp_node_input *input, int32_t input_count,
                               emp_error *err);

/** Declares the Merge ops of the calls from \a first_call on. */
emp_status emp_frames_declare_merges(emp_frames *frames, emp_graph_builder *builder,
                                     int32_t first_call, emp_error *err);
/** Connects all of them. */
emp_status emp_frames_connect_merges(emp_frames *frames, emp_graph_builder *builder,
                                     emp_error *err);

emp_node_input emp_node_input_parse(emp_slice text, bool is_in_function);

/** Whether an input of a frame's node is an argument of its function. */
bool emp_frames_is_argument(const emp_frames *frames, int32_t frame,
                            emp_node_input input);

/** The op and output that an input means. \retval EMP_EFORMAT  There is none. */
emp_status emp_frames_resolve(emp_port *out, emp_frames *frames,
                              emp_graph_builder *builder, int32_t frame,
                              emp_node_input input, emp_error *err);

/** Lets \a op wait for the node of that name. */
emp_status emp_frames_add_control(emp_frames *frames, emp_graph_builder *builder,
                                  int32_t frame, emp_slice name, emp_op_id op,
                                  emp_error *err);

/** The op that waits for what a call does besides giving results; -1: the node is no call, or does nothing else.
 */
emp_status emp_frames_effects(emp_op_id *op, emp_frames *frames,
                              emp_graph_builder *builder, int32_t frame, emp_slice name,
                              emp_error *err);

/** Lets an op of the frame, of which no other node of the frame is an input, wait for what the call
 * waits for. */
emp_status emp_frames_add_start(emp_frames *frames, emp_graph_builder *builder,
                                int32_t frame, emp_op_id op, emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_FRAMES_H */
