/** \file replay/reference.h
 * Elements of matrix products and convolutions, from their definitions, in double: what
 * kernels are compared with.
 */
#ifndef EMP_REPLAY_REFERENCE_H
#define EMP_REPLAY_REFERENCE_H

#include "replay/plan/kernel.h"

/** Element \a index of output 0 of a PRODUCT or CONV; operands in this computer's memory.
 * \a absolute gets the sum of the absolute values of its terms, for the tolerance.
 * O(terms). */
double emp_reference_element(const emp_kernel_call *call, int64_t index,
                             double *absolute);

/** Elements of output 0. */
int64_t emp_reference_count(const emp_kernel *kernel);

#endif /* EMP_REPLAY_REFERENCE_H */
