/** \file graphs/import/hlo/products.h
 * The products of matrices and convolutions of a module: dot, convolution, calls of cuBLAS and cuDNN.
 *
 * Each function adds to a cost. The largest of several products gives class, m, n and k, and the batch makes up
 * for the others. O(operands + attributes).
 */
#ifndef EMP_GRAPHS_IMPORT_HLO_PRODUCTS_H
#define EMP_GRAPHS_IMPORT_HLO_PRODUCTS_H

#include "graphs/import/hlo/module.h"

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

#endif /* EMP_GRAPHS_IMPORT_HLO_PRODUCTS_H */
