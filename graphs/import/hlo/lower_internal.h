/** \file graphs/import/hlo/lower_internal.h
 * A module on its way to ops: what lower.c and control.c share. Not for other folders.
 */
#ifndef EMP_GRAPHS_IMPORT_HLO_LOWER_INTERNAL_H
#define EMP_GRAPHS_IMPORT_HLO_LOWER_INTERNAL_H

#include "base/arrays.h"
#include "graphs/import/hlo/lower.h"

/** A value is as many ports, one after another, as its instruction has tensors. */
typedef struct {
    emp_graph_builder     *builder;
    const emp_hlo_module  *m;
    const emp_hlo_kernels *kernels;
    emp_hlo_states        *states;
    emp_import_notes      *notes;
    emp_op_cost          **cost_of;     /**< [instruction] NULL: not asked yet */
    emp_op_id             *constant_of; /**< [instruction] a constant's op + 1 */
    emp_port              *port;        /**< tensors of values; op -1: it is no op's */
    int32_t                port_count, port_capacity;
    int64_t                budget_bytes;
    emp_arrays             arrays;
} emp_hlo_lowering;

/** A computation that is being run. */
typedef struct {
    const emp_hlo_computation *c;
    const char                *path;     /**< "while.12.3", or "" */
    int32_t                    depth;    /**< of calls around it */
    const int32_t             *argument; /**< [parameter] its value; NULL: they are ops */
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

/** What an instruction runs in its place. Problems go to the notes, and the value is no op's. */
emp_status emp_hlo_lower_call(emp_hlo_lowering *l, const emp_hlo_frame *f,
                              const emp_hlo_instruction *i, int32_t *value,
                              emp_error *err);
emp_status emp_hlo_lower_loop(emp_hlo_lowering *l, const emp_hlo_frame *f,
                              const emp_hlo_instruction *i, int32_t *value,
                              emp_error *err);
emp_status emp_hlo_lower_conditional(emp_hlo_lowering *l, const emp_hlo_frame *f,
                                     const emp_hlo_instruction *i, int32_t *value,
                                     emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_HLO_LOWER_INTERNAL_H */
