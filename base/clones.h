/** \file base/clones.h
 * EMP_CLONES compiles a function for three instruction sets; one is chosen when the program
 * is loaded, so that results repeat on one machine, not across machines. Sanitizers run
 * before the choice can be made, so they get the portable code. For static functions only, of names
 * that no other such function has: clang exports what chooses.
 */
#ifndef EMP_BASE_CLONES_H
#define EMP_BASE_CLONES_H

#include <stdbool.h>
#include <stddef.h> /* tells which C library there is; dispatch at load time needs it */

/* The second of the three, for CPUs of any maker with AVX2. Not arch=haswell, which means that one model.
 * clang 14 takes the level 3 of x86-64 and never chooses it: there it is AVX with FMA. */
#if defined(__clang__) || (defined(__GNUC__) && __GNUC__ < 12)
#define EMP_CLONE_AVX2 "fma"
#else
#define EMP_CLONE_AVX2 "arch=x86-64-v3"
#endif

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if !defined(__has_feature)
#define EMP_CLONES __attribute__((target_clones("avx512f", EMP_CLONE_AVX2, "default")))
#elif !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
#define EMP_CLONES __attribute__((target_clones("avx512f", EMP_CLONE_AVX2, "default")))
#endif
#endif
#ifdef EMP_CLONES
#define EMP_HAS_CLONES 1
/* Functions that are called only where emp_has_avx512(), or emp_has_avx2(), need no other clones. */
#define EMP_ONLY_AVX512 __attribute__((target("avx512f")))
#define EMP_ONLY_AVX2   __attribute__((target("avx2,fma")))
#else
#define EMP_HAS_CLONES 0 /**< only the portable code is there */
#define EMP_CLONES
#define EMP_ONLY_AVX512
#define EMP_ONLY_AVX2
#endif

/** Whether the CPU has AVX-512, and so the first clones. */
static inline bool emp_has_avx512(void)
{
#if EMP_HAS_CLONES
    return __builtin_cpu_supports("avx512f");
#else
    return false;
#endif
}

/** Whether it has AVX2 and FMA. Without AVX-512 the second clones are chosen then. */
static inline bool emp_has_avx2(void)
{
#if EMP_HAS_CLONES
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

/** Bytes of the vectors of loops that keep sums in registers. LONG is for emp_has_avx512(), MIDDLE for
 * emp_has_avx2(), and SHORT for other CPUs. The compiler keeps a vector that is longer than a register in
 * memory. */
enum { EMP_LONG_VECTOR = 64, EMP_MIDDLE_VECTOR = 32, EMP_SHORT_VECTOR = 16 };

/** Before a loop over an array that is to stay in registers. */
#if defined(__clang__)
#define EMP_UNROLL _Pragma("unroll")
#else
#define EMP_UNROLL _Pragma("GCC unroll 16")
#endif

#endif /* EMP_BASE_CLONES_H */
