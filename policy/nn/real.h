/** \file policy/nn/real.h
 * The number type of every network, and the build rules of hot loops.
 *
 * The library is built twice from the same sources: `nn` in float, which is what runs,
 * and `nn_double`, in which gradients are checked by central differences.
 */
#ifndef EMP_POLICY_NN_REAL_H
#define EMP_POLICY_NN_REAL_H

#include <stdint.h>

#include "base/named_array.h"

#ifdef EMP_REAL_DOUBLE
typedef double emp_real;
#define EMP_ARRAY_REAL EMP_ARRAY_DOUBLE /**< emp_array_type of emp_real */
#else
typedef float emp_real;
#define EMP_ARRAY_REAL EMP_ARRAY_FLOAT
#endif

/* A kernel is compiled for three instruction sets and chosen when the program is loaded:
 * results repeat on one machine, not across machines. Sanitizers run before the choice
 * can be made, so they get the portable code. Apply to static functions only. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if !defined(__has_feature)
#define EMP_KERNEL __attribute__((target_clones("avx512f", "arch=haswell", "default")))
#elif !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
#define EMP_KERNEL __attribute__((target_clones("avx512f", "arch=haswell", "default")))
#endif
#endif
#ifndef EMP_KERNEL
#define EMP_KERNEL
#endif

#endif /* EMP_POLICY_NN_REAL_H */
