/** \file baselines/partitioners/dp_contiguous.h
 * The contiguous split that dp_contiguous.c finds, for methods that go on from it.
 */
#ifndef EMP_BASELINES_PARTITIONERS_DP_CONTIGUOUS_H
#define EMP_BASELINES_PARTITIONERS_DP_CONTIGUOUS_H

#include "search/placer.h"

/** Places all ops so that the greatest load of a device is the least that contiguous parts can
 * have, as \a options ("key=value,...", or NULL) of the method dp-contiguous say.
 * \retval EMP_EINFEASIBLE  The graph has too many ideals, and order=any (the default). */
emp_status emp_dp_contiguous_place(emp_device_id     *device_of_op,
                                   const emp_problem *problem, const char *options,
                                   emp_error *err);

#endif /* EMP_BASELINES_PARTITIONERS_DP_CONTIGUOUS_H */
