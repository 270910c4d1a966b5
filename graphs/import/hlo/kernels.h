/** \file graphs/import/hlo/kernels.h
 * What the kernels of a module cost: a fusion is one kernel, which reads its operands and writes its result,
 * whatever is in it. Arithmetic counts as the type table counts it ("hlo.tanh").
 */
#ifndef EMP_GRAPHS_IMPORT_HLO_KERNELS_H
#define EMP_GRAPHS_IMPORT_HLO_KERNELS_H

#include "base/mem.h"
#include "graphs/import/hlo/module.h"
#include "graphs/import/notes/notes.h"

/** What one execution of a computation costs as part of one kernel. */
typedef struct {
    emp_op_cost cost;
    int32_t     updated; /**< parameter whose buffer the result is written into; -1 */
} emp_hlo_body;

typedef struct {
    const emp_hlo_module *m; /**< borrowed */
    emp_import_notes     *notes;
    emp_hlo_body         *body;   /**< [computation] */
    int64_t              *read;   /**< [parameter] bytes that a kernel reads of it */
    int32_t              *origin; /**< [instruction] what it is a view of; itself */
    emp_arrays            arrays;
} emp_hlo_kernels;

/** Costs all computations, callees first. Problems go to \a notes. O(instructions + operands).
 * The caller clears \a k, also after a failure. \retval EMP_ENOMEM */
emp_status emp_hlo_kernels_init(emp_hlo_kernels *k, const emp_hlo_module *m,
                                emp_import_notes *notes, emp_error *err);
void       emp_hlo_kernels_clear(emp_hlo_kernels *k);

/** The cost of an instruction as a kernel of its own. O(operands). \retval EMP_ENOMEM */
emp_status emp_hlo_kernel_cost(const emp_hlo_kernels *k, const emp_hlo_instruction *i,
                               emp_op_cost *cost, emp_error *err);

/** The operand whose buffer a kernel writes its result into; -1: the result has its own. */
int32_t emp_hlo_updated_operand(const emp_hlo_kernels *k, const emp_hlo_instruction *i);

/* Matrix products and convolutions of a module: their sizes, from shapes and attributes. */

enum { EMP_HLO_REASON_BYTES = 160 };

/** Adds a dot to \a cost: class, FLOPs, m, n, k and batch. Of several products the largest one tells the
 * sizes, and the batch makes up for the others. Each returns false, with a \a reason, if shapes and
 * attributes do not fit. */
bool emp_hlo_add_dot(const emp_hlo_module *m, const emp_hlo_instruction *i,
                     emp_op_cost *cost, char reason[EMP_HLO_REASON_BYTES]);
bool emp_hlo_add_convolution(const emp_hlo_module *m, const emp_hlo_instruction *i,
                             emp_op_cost *cost, char reason[EMP_HLO_REASON_BYTES]);
/** Adds what a call of a library computes, if the target and how it is called are known.
 * \retval EMP_ENOMEM */
emp_status emp_hlo_add_call(const emp_hlo_module *m, const emp_hlo_instruction *i,
                            emp_op_cost *cost, bool *is_known, emp_error *err);

/** The numbers of "stride=2x2" in "size=3x3 stride=2x2", multiplied; 1: there are none. */
double emp_hlo_window_product(emp_slice window, const char *key);

/** Adds a product to those that are in \a cost. */
void emp_hlo_add_product(emp_op_cost *cost, const emp_op_cost *product);

#endif /* EMP_GRAPHS_IMPORT_HLO_KERNELS_H */
