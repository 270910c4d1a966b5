/** \file graphs/import/hlo/lower.h
 * From a module of XLA to the ops of a graph: the costs of kernels, the states that a step keeps, loops and calls.
 */
#ifndef EMP_GRAPHS_IMPORT_HLO_LOWER_H
#define EMP_GRAPHS_IMPORT_HLO_LOWER_H

#include "base/mem.h"
#include "graphs/import/hlo/module.h"
#include "graphs/import/hlo/parse.h"
#include "graphs/import/notes/notes.h"
#include "sim/graph/graph_builder.h"

/* The costs of a module's kernels: a fusion is one kernel, which reads its operands and writes its result,
 * whatever is in it. Arithmetic counts as the type table counts it ("hlo.tanh").
 */

/** One execution of a computation as part of one kernel. */
typedef struct {
    const emp_op_cost *cost;
    int32_t updated;    /**< parameter whose buffer the result is written into; -1 */
    int32_t first_read; /**< of its parameters, in emp_hlo_kernels.read */
} emp_hlo_body;

/** Costs that are equal are kept once. Zero-initialise but for the first two members. */
typedef struct {
    const emp_hlo_module *m; /**< borrowed */
    emp_import_notes     *notes;
    emp_hlo_body         *body;   /**< [computation]; of the entry, no costs */
    int64_t              *read;   /**< bytes that a kernel reads of a parameter */
    int32_t              *origin; /**< [instruction] what it is a view of; itself */
    const emp_op_cost   **cost;   /**< [instruction] as a kernel; NULL: not asked yet */
    int32_t               read_count, cost_count;
    int32_t               body_capacity, read_capacity, origin_capacity, cost_capacity;
    emp_value_set         kept;
    emp_arena             costs;
} emp_hlo_kernels;

/** Costs the computation that the module got last; the entry as kernels, and others as parts of one. Problems
 * go to the notes. O(instructions + operands). The caller clears \a k, also after a failure. \retval EMP_ENOMEM */
emp_status emp_hlo_kernels_add(emp_hlo_kernels *k, emp_error *err);
void       emp_hlo_kernels_clear(emp_hlo_kernels *k);

/** The cost of an instruction as a kernel of its own. O(operands), then O(1). \retval EMP_ENOMEM */
emp_status emp_hlo_kernel_cost(emp_hlo_kernels *k, const emp_hlo_instruction *i,
                               const emp_op_cost **cost, emp_error *err);

/** The operand whose buffer a kernel writes its result into; -1: the result has its own. */
int32_t emp_hlo_updated_operand(const emp_hlo_kernels *k, const emp_hlo_instruction *i);

/* States: parameters that the program gives back in place (JAX calls them donated), such as weights and an optimizer's
 * moments. They stay in memory from step to step. Only input_output_alias of the module's header names them. */

typedef struct {
    emp_hlo_module *m;         /**< borrowed */
    int32_t        *of_tensor; /**< [tensor] the parameter whose new value it is; -1 */
    int32_t
        *together; /**< [parameter] sets that one kernel writes (base/collections.h) */
    emp_op_id *op, *update; /**< [parameter] its op; what writes it; -1 */
    int32_t    count, parameter_count;
    emp_arrays arrays;
} emp_hlo_states;

/** Marks states, and kernel results that are written in their place, as references in \a m. The caller clears \a s->arrays,
 * also after a failure. O(tensors + parameters). \retval EMP_ENOMEM */
emp_status emp_hlo_states_find(emp_hlo_states *s, emp_hlo_module *m,
                               const emp_hlo_kernels *kernels, emp_error *err);

/** Whether a parameter of the entry is a state. */
bool emp_hlo_is_state(const emp_hlo_states *s, const emp_hlo_instruction *parameter);

/** The number that binds an instruction of the entry to the states that it is or writes; 0: none. */
int32_t emp_hlo_states_colocation(const emp_hlo_states *s, const emp_hlo_instruction *i);

/** Notes which op an instruction of the entry has become. */
void emp_hlo_states_note(emp_hlo_states *s, const emp_hlo_instruction *i, emp_op_id op);

/** Lets what writes a state wait for all ops before it that read the old value. O(edges).
 * \retval EMP_ENOMEM */
emp_status emp_hlo_states_order(const emp_hlo_states *s, emp_graph_builder *builder,
                                emp_error *err);

/* From a module to ops: kernels, parameters and constants become ops, tuples and views none. Calls and loops
 * are replaced by what they run. */

/** Adds the ops of the entry computation and marks what it gives back. Assumptions and problems go to
 * the notes of \a kernels. Loops may unroll to about \a budget_bytes of ops.
 * \retval EMP_EUNSUPPORTED  They would be more. \retval EMP_EFORMAT, EMP_ENOMEM */
emp_status emp_hlo_lower(emp_graph_builder *builder, emp_hlo_kernels *kernels,
                         emp_hlo_states *states, int64_t budget_bytes, emp_error *err);

/** Recalls the forgotten computations that emp_hlo_lower() looks into: those that calls, loops and branches run, and
 * what computes a number that may be the length of a loop. O(bytes of these).
 * \retval EMP_EUNSUPPORTED, EMP_ENOMEM */
emp_status emp_hlo_recall(emp_hlo_reader *r, const emp_hlo_kernels *k, emp_error *err);

/** A whole number, as far as it follows from constants. */
typedef struct {
    bool    is_known;
    int64_t value;
} emp_hlo_scalar;

/** Where parameters of a computation come from: the state of a loop, or the operands of a call. NULL: of the
 * entry, whose parameters are unknown. */
typedef struct emp_hlo_scope emp_hlo_scope;
struct emp_hlo_scope {
    const emp_hlo_scalar *state; /**< [tensor] of the one parameter; NULL: a call's */
    int32_t               state_count;
    const emp_hlo_scope  *outer; /**< of the caller */
    const emp_hlo_instruction *call;
    int32_t                    first; /**< operand of the call that is parameter 0 */
};

/** The whole numbers among the state of a loop, before and after an iteration. Zero-initialise. */
typedef struct {
    const emp_hlo_module      *m; /**< borrowed, as is the loop */
    const emp_hlo_instruction *loop;
    int64_t                   *steps; /**< that may still be spent on numbers */
    emp_hlo_scalar            *now, *next;
    emp_hlo_scope              scope; /**< of its condition and body */
} emp_hlo_loop;

enum { EMP_HLO_ITERATIONS_MAX = 1 << 20 };

/** Begins a loop within \a outer. A number is unknown that takes over 1,024 instructions, or more than the \a *steps that
 * are left, of which those taken are subtracted. The caller clears \a s, also after a failure. \retval EMP_ENOMEM */
emp_status emp_hlo_loop_begin(emp_hlo_loop *s, const emp_hlo_module *m,
                              const emp_hlo_scope *outer, const emp_hlo_instruction *loop,
                              int64_t *steps, emp_error *err);
/** Goes on to the state after an iteration. */
void emp_hlo_loop_advance(emp_hlo_loop *s);
void emp_hlo_loop_clear(emp_hlo_loop *s);

/** Iterations that XLA knows of a loop, else those until its condition must be false; -1: they depend only on data, or
 * are more than EMP_HLO_ITERATIONS_MAX. \a *is_bound: data may make it false earlier. \retval EMP_ENOMEM */
emp_status emp_hlo_loop_count(const emp_hlo_module *m, const emp_hlo_scope *outer,
                              const emp_hlo_instruction *loop, int64_t *steps,
                              int64_t *count, bool *is_bound, emp_error *err);

/** The branch of a conditional with the most FLOPs, of as many that with the most instructions; \a *place is its operand's
 * among all branches, behind the condition. -1: there is none. */
int32_t emp_hlo_heaviest_branch(const emp_hlo_kernels *k, const emp_hlo_instruction *i,
                                int32_t *place);

/* The products of matrices and convolutions of a module: dot, convolution, calls of cuBLAS and cuDNN.
 *
 * Each function adds to a cost. The largest of several products gives class, m, n and k, and the batch makes up
 * for the others. O(operands + attributes). */

/* Why a kernel has no cost, in a sentence. */
enum { EMP_HLO_REASON_BYTES = 160 };

/** Adds the product that another cost describes, without its bytes and cycles. */
void emp_hlo_add_product(emp_op_cost *cost, const emp_op_cost *product);

/** Both return false, with a reason, if shapes and attributes do not fit. */
bool emp_hlo_add_dot(const emp_hlo_module *m, const emp_hlo_instruction *i,
                     emp_op_cost *cost, char reason[EMP_HLO_REASON_BYTES]);
bool emp_hlo_add_convolution(const emp_hlo_module *m, const emp_hlo_instruction *i,
                             emp_op_cost *cost, char reason[EMP_HLO_REASON_BYTES]);

/** Adds what a call of a library computes; \a *is_known: its target and how it is called are known.
 * \retval EMP_ENOMEM */
emp_status emp_hlo_add_call(const emp_hlo_module *m, const emp_hlo_instruction *i,
                            emp_op_cost *cost, bool *is_known, emp_error *err);

/** The numbers of "size=3x3" in "size=3x3 stride=2x2", multiplied; 1: there are none. */
double emp_hlo_window_product(emp_slice window, const char *key);

#endif /* EMP_GRAPHS_IMPORT_HLO_LOWER_H */
