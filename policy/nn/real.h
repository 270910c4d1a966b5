/** \file policy/nn/real.h
 * The number type of every network, and the build rules of hot loops.
 *
 * The library is built twice from the same sources: `nn` in float, which is what runs,
 * and `nn_double`, in which gradients are checked by central differences.
 */
#ifndef EMP_POLICY_NN_REAL_H
#define EMP_POLICY_NN_REAL_H

#include <stdint.h>

#include "base/clones.h"
#include "base/collections.h"

#ifdef EMP_REAL_DOUBLE
typedef double emp_real;
#define EMP_ARRAY_REAL EMP_ARRAY_DOUBLE /**< emp_array_type of emp_real */
#else
typedef float emp_real;
#define EMP_ARRAY_REAL EMP_ARRAY_FLOAT
#endif

#define EMP_KERNEL EMP_CLONES /**< of hot loops */

#endif /* EMP_POLICY_NN_REAL_H */
