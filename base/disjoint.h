/** \file base/disjoint.h
 * Disjoint sets of the numbers 0 .. n - 1 (union-find): an array of n parents, the
 * caller's. The lowest number of a set is its root.
 */
#ifndef EMP_BASE_DISJOINT_H
#define EMP_BASE_DISJOINT_H

#include <stdbool.h>
#include <stdint.h>

/** Each number a set of its own. O(n). */
void emp_disjoint_init(int32_t *parent, int32_t n);

/** The root of \a i's set; halves the path to it. O(log n) amortised. */
int32_t emp_disjoint_root(int32_t *parent, int32_t i);

/** Makes the sets of two numbers one; false: they are one already. */
bool emp_disjoint_join(int32_t *parent, int32_t one, int32_t other);

#endif /* EMP_BASE_DISJOINT_H */
