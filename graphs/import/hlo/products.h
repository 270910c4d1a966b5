/** \file graphs/import/hlo/products.h
 * Matrix products and convolutions of a module: their sizes, from shapes and attributes.
 */
#ifndef EMP_GRAPHS_IMPORT_HLO_PRODUCTS_H
#define EMP_GRAPHS_IMPORT_HLO_PRODUCTS_H

#include "graphs/import/hlo/module.h"

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

#endif /* EMP_GRAPHS_IMPORT_HLO_PRODUCTS_H */
