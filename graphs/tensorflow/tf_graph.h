/** \file graphs/tensorflow/tf_graph.h
 * TensorFlow r1.3's graph construction in miniature: named scopes, unique names, control
 * dependencies, constants, variables.
 *
 * Everything that emits ops takes an emp_tf and returns the port it made. The first
 * failure sticks in the emp_tf: later calls do nothing and return EMP_TF_NONE, so that
 * model code reads like the Python it mirrors; emp_tf_finish() reports the failure.
 *
 *     emp_tf tf;
 *     EMP_TRY(emp_tf_init(&tf, err));
 *     emp_port x = emp_tf_placeholder(&tf, "x", EMP_DTYPE_FLOAT, EMP_SHAPE(64, 10));
 *     emp_port y = emp_tf_op1(&tf, "Relu", NULL, x);
 *     st = emp_tf_finish(&tf, &graph);
 *     emp_tf_clear(&tf);
 *
 * Names. Full names are built as TensorFlow builds them: the current scope, then the
 * wanted name, then "_1", "_2", ... when it is taken. A scope is an immutable string that
 * ends in '/' (or is empty); it lives as long as the emp_tf.
 *
 * Threads. Confined to one thread.
 */
#ifndef EMP_GRAPHS_TENSORFLOW_TF_GRAPH_H
#define EMP_GRAPHS_TENSORFLOW_TF_GRAPH_H

#include "base/collections.h"
#include "base/mem.h"
#include "sim/graph/graph_builder.h"

/** No tensor: a missing gradient, or the result of a call after a failure. */
#define EMP_TF_NONE ((emp_port){-1, 0})

/** An array of ports and its length, as two arguments. */
#define EMP_TF_PORTS(...)            \
    (const emp_port[]){__VA_ARGS__}, \
        (int32_t)(sizeof((emp_port[]){__VA_ARGS__}) / sizeof(emp_port))

/** A variable of the model or a slot of the optimizer. */
typedef struct {
    const char *name; /**< in the emp_tf's arena */
    emp_port    ref;  /**< the VariableV2 */
    emp_port    read; /**< the Identity that forward code uses */
    emp_op_id   assign;
    emp_shape   shape;
    emp_dtype   dtype;
    bool        is_trainable;
} emp_tf_variable;

/** A `with control_dependencies(...)` block. */
typedef struct {
    const emp_op_id *ops; /**< Borrowed. */
    int32_t          count;
    emp_op_id        first_inside; /**< ops from here on were made inside the block */
} emp_tf_control;

/** A while loop under construction (tf_loop.h). */
enum { EMP_TF_MAX_INVARIANTS = 256 };
typedef struct {
    const char *scope;
    emp_port    time, limit;
    emp_op_id   condition;   /**< of this iteration */
    int32_t     iteration;   /**< 1 in the first */
    int32_t     first_group; /**< colocation of the first op of an iteration */
    int32_t     op_count;    /**< ops that this iteration has made */
    bool        is_outside;  /**< what is made now does not belong to an iteration */
    emp_port    outside[EMP_TF_MAX_INVARIANTS], inside[EMP_TF_MAX_INVARIANTS];
    int32_t     invariant_count;
} emp_tf_loop;

/** The ops that a loop made. */
typedef struct {
    emp_op_id begin, end;
} emp_tf_loop_range;

/** See emp_tf_loop_set_stacks(). */
typedef struct {
    const int32_t *first_output; /**< Borrowed. */
    emp_port      *popped;       /**< Borrowed. */
    int32_t        forward_count;
} emp_tf_stacks;

/** The key of the names of ops made now, so that ops of other iterations with the
 * same names share their device. */
typedef struct {
    const char *key;  /**< NULL: they are free */
    size_t      skip; /**< of a full name; the rest goes with the key */
} emp_tf_twin;

enum { EMP_TF_MAX_CONTROLS = 4, EMP_TF_MAX_HIDDEN = 16, EMP_TF_MAX_LOOPS = 8 };

typedef struct {
    emp_graph_builder *builder;
    emp_error         *err; /**< Borrowed; may be NULL. */
    emp_status         status;

    bool gate_gradients; /**< tuples around the gradients of each op */
    bool
        old_broadcast_grads; /**< before 1.4: Shape, Sum, Reshape even for equal shapes */
    bool const_zeros;        /**< before 1.4: zeros and ones initialisers are one Const */
    bool
        torch_gradients; /**< as PyTorch: lookups give dense ones, softmax has a kernel */

    const char *scope;
    emp_arena   names;
    emp_strmap  times_asked; /**< full name -> how often it was wanted */

    emp_tf_control controls[EMP_TF_MAX_CONTROLS];
    int32_t        control_count;
    emp_op_id     *control_buffer;
    int32_t        control_capacity;
    emp_port      *input_buffer;
    int32_t        input_capacity;

    emp_tf_loop      *loop; /**< the open one, or NULL. Borrowed. */
    emp_tf_loop_range loops[EMP_TF_MAX_LOOPS];
    int32_t           loop_count;
    emp_tf_stacks     stacks;
    emp_tf_twin       twin;
    emp_strmap        group_of_key; /**< colocation by key and name */
    int32_t           group_count;

    emp_port hidden[EMP_TF_MAX_HIDDEN]; /**< see emp_tf_hide_shape() */
    int32_t  hidden_count;

    emp_tf_variable *variable;
    int32_t          variable_count, variable_capacity;
} emp_tf;

/* Lifecycle. */

emp_status emp_tf_init(emp_tf *tf, emp_error *err);
/** Freezes everything into a graph; reports the first failure of any call before. */
emp_status emp_tf_finish(emp_tf *tf, emp_graph **out);
/** Legal after a failed emp_tf_init(). */
void emp_tf_clear(emp_tf *tf);

/** Makes \a status the failure that sticks, unless there is one already. */
void emp_tf_fail(emp_tf *tf, emp_status status);
bool emp_tf_is_ok(const emp_tf *tf);

/* Names and scopes. */

/** A new full name: \a leaf within \a scope, with a suffix if it is taken. */
const char *emp_tf_unique_in(emp_tf *tf, const char *scope, const char *leaf);
/** The same within the current scope. */
const char *emp_tf_unique(emp_tf *tf, const char *leaf);
/** a + b + c, no more. */
const char *emp_tf_join(emp_tf *tf, const char *a, const char *b, const char *c);
/** Like a printf of one integer: "cell_%d". */
const char *emp_tf_number(emp_tf *tf, const char *format, int32_t number);

/** Opens a new scope within the current one and returns the one that was current. */
const char *emp_tf_enter(emp_tf *tf, const char *leaf);
/** Makes exactly \a scope the current one and returns the one that was. */
const char *emp_tf_reenter(emp_tf *tf, const char *scope);
/** Makes \a previous the current scope again. */
void emp_tf_leave(emp_tf *tf, const char *previous);

/* Control dependencies: ops made between the two calls wait for \a ops, unless one of
 * their inputs was made inside the block and so waits already. \a ops is borrowed. */
void emp_tf_begin_controls(emp_tf *tf, const emp_op_id *ops, int32_t count);
void emp_tf_end_controls(emp_tf *tf);

/* One device for all iterations of an op (tf_loop.h). */

enum { EMP_TF_ANY_NAME = 1 << 30 };
/** Makes ops that follow twins of those that other iterations made for \a part and \a output
 * of the op \a like: those with the same name behind the first \a skip bytes, which
 * EMP_TF_ANY_NAME leaves out. Nothing binds them if \a like is outside of loops. Returns what
 * was set before. */
emp_tf_twin emp_tf_loop_twin(emp_tf *tf, emp_op_id like, const char *part, int32_t output,
                             size_t skip);

/* Ops. */

/** Adds an op of exactly that full name. \a attrs NULL: all default. */
emp_port emp_tf_emit(emp_tf *tf, const char *full_name, const char *type,
                     const emp_op_attrs *attrs, const emp_port *inputs, int32_t count);
/** Adds an op named \a name (NULL: as its type) in the current scope. */
emp_port emp_tf_op(emp_tf *tf, const char *type, const char *name,
                   const emp_op_attrs *attrs, const emp_port *inputs, int32_t count);
emp_port emp_tf_op1(emp_tf *tf, const char *type, const char *name, emp_port x);
emp_port emp_tf_op2(emp_tf *tf, const char *type, const char *name, emp_port x,
                    emp_port y);

emp_port emp_tf_placeholder(emp_tf *tf, const char *name, emp_dtype dtype,
                            emp_shape shape);
/** NoOp \a name that waits for \a ops. */
emp_op_id emp_tf_group(emp_tf *tf, const char *name, const emp_op_id *ops, int32_t count);

/* Constants. The variants with \a parent name it "<parent>/<leaf>"; parent NULL stands
 * for the current scope. */
emp_port emp_tf_const(emp_tf *tf, const char *parent, const char *leaf, emp_dtype dtype,
                      emp_shape shape, const int64_t *values, int32_t count);
emp_port emp_tf_int(emp_tf *tf, const char *parent, const char *leaf, int64_t value);
emp_port emp_tf_float(emp_tf *tf, const char *parent, const char *leaf, double value);
emp_port emp_tf_string(emp_tf *tf, const char *parent, const char *leaf, emp_shape shape);
/** An int32 vector. */
emp_port emp_tf_ints(emp_tf *tf, const char *parent, const char *leaf,
                     const int64_t *values, int32_t count);
/** The sizes of \a shape as an int32 vector. */
emp_port emp_tf_dims(emp_tf *tf, const char *parent, const char *leaf,
                     const emp_shape *shape);

/* The facts about a tensor. */
emp_shape emp_tf_shape(const emp_tf *tf, emp_port port);
emp_dtype emp_tf_dtype(const emp_tf *tf, emp_port port);
/** Says that Python would not know this shape, though it is inferred here: the front end
 * does not evaluate StridedSlice, so a Shape op is made where a Const could stand. */
void emp_tf_hide_shape(emp_tf *tf, emp_port port);
bool emp_tf_shape_is_static(const emp_tf *tf, emp_port port);

/** Makes the step graph hold \a op and all it needs. */
void emp_tf_set_target(emp_tf *tf, emp_op_id op);
/** Appends to the collection of global variables. */
void emp_tf_add_variable(emp_tf *tf, const emp_tf_variable *variable);

#endif /* EMP_GRAPHS_TENSORFLOW_TF_GRAPH_H */
