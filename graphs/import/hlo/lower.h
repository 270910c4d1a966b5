/** \file graphs/import/hlo/lower.h
 * Parameters that a program gives back in place, which JAX calls donated: weights and what an optimizer keeps.
 * They stay in memory from step to step. Only input_output_alias of the module's header tells them.
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

/* Matrix products and convolutions of a module: their sizes, from shapes and attributes. */

enum { EMP_HLO_REASON_BYTES = 160 };

typedef struct {
    emp_hlo_module *m;         /**< borrowed */
    int32_t        *of_tensor; /**< [tensor] the parameter whose new value it is; -1 */
    int32_t
        *together; /**< [parameter] sets that one kernel writes (base/collections.h) */
    emp_op_id *op, *update; /**< [parameter] its op; what writes it; -1 */
    int32_t    count, parameter_count;
    emp_arrays arrays;
} emp_hlo_states;

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
emp_status emp_hlo_recall(emp_hlo_reader *r, emp_error *err);

/* A module on its way to ops: what lower.c and control.c share. Not for other folders. */

/** A value is as many ports, one after another, as its instruction has tensors. */
typedef struct {
    emp_graph_builder    *builder;
    const emp_hlo_module *m;
    emp_hlo_kernels      *kernels;
    emp_hlo_states       *states;
    emp_import_notes     *notes;
    emp_op_id            *constant_of; /**< [instruction] a constant's op + 1 */
    emp_port             *port;        /**< tensors of values; op -1: it is no op's */
    int32_t               port_count, port_capacity;
    int64_t               budget_bytes;
    int64_t               scalar_steps; /**< that may still be spent on scalars */
    emp_tensor_info      *made;         /**< results of the op that is declared */
    int32_t               made_capacity;
} emp_hlo_lowering;

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

/** A computation that is being run. */
typedef struct {
    const emp_hlo_computation *c;
    const char                *path;     /**< "while.12.3", or "" */
    int32_t                    depth;    /**< of calls around it */
    const int32_t             *argument; /**< [parameter] its value; NULL: they are ops */
    const emp_hlo_scope       *scope;    /**< NULL: of the entry */
    int32_t                   *value;    /**< [instruction - c->first] first port */
} emp_hlo_frame;

/** Lowers the instructions of a computation; \a *result is the value of its root. */
emp_status emp_hlo_run(emp_hlo_lowering *l, const emp_hlo_frame *f, int32_t *result,
                       emp_error *err);

/** A value all of whose tensors are no op's, but \a count from \a begin on, which are those of the value
 * \a from. */
emp_status emp_hlo_make_value(emp_hlo_lowering *l, const emp_hlo_instruction *i,
                              int32_t begin, int32_t count, int32_t from, int32_t *value,
                              emp_error *err);

/** The value of an operand. */
int32_t emp_hlo_operand_value(const emp_hlo_lowering *l, const emp_hlo_frame *f,
                              const emp_hlo_instruction *i, int32_t which);

/** A problem: so many tensors stand where an instruction has others. */
void emp_hlo_note_misfit(emp_hlo_lowering *l, const emp_hlo_instruction *i, int32_t has,
                         int32_t wants);

/** The computation that an instruction runs in its place. Problems go to the notes, and the value is no op's. */
emp_status emp_hlo_lower_call(emp_hlo_lowering *l, const emp_hlo_frame *f,
                              const emp_hlo_instruction *i, int32_t *value,
                              emp_error *err);
emp_status emp_hlo_lower_loop(emp_hlo_lowering *l, const emp_hlo_frame *f,
                              const emp_hlo_instruction *i, int32_t *value,
                              emp_error *err);
emp_status emp_hlo_lower_conditional(emp_hlo_lowering *l, const emp_hlo_frame *f,
                                     const emp_hlo_instruction *i, int32_t *value,
                                     emp_error *err);

/* Names of ops: the scope that JAX gives an instruction ("jit(step)/jvp(Model)/dense_0"), the loops and calls
 * that it runs in, and its own name. */

enum { EMP_HLO_OP_NAME_BYTES = 1024 };

/** Writes \a outer, the instruction that calls, and which iteration it is if that is not negative. */
void emp_hlo_path(char path[EMP_HLO_OP_NAME_BYTES], const char *outer,
                  const emp_hlo_module *m, const emp_hlo_instruction *call,
                  int64_t iteration);

#endif /* EMP_GRAPHS_IMPORT_HLO_LOWER_H */
