/** \file baselines/searches/refine.h
 * What a method that runs refine asks of it, beside the table emp_method_refine.
 */
#ifndef EMP_BASELINES_SEARCHES_REFINE_H
#define EMP_BASELINES_SEARCHES_REFINE_H

#include "search/method.h"

/** Makes \a device_of_op [op] the first start of a refine that was not yet asked, in place of a
 * random placement. It is made legal, and costs no evaluation: the oracle gave it \a score. O(V). */
void emp_refine_begin_at(void *refine, const emp_device_id *device_of_op,
                         const emp_score *score);

#endif /* EMP_BASELINES_SEARCHES_REFINE_H */
