/** \file base/work/stop.h
 * A flag by which somebody asks long work to end early: a signal handler, or another thread. Work looks
 * at it between its steps. It is never taken back: work that has left out a step still finds it set at
 * the end.
 */
#ifndef EMP_BASE_WORK_STOP_H
#define EMP_BASE_WORK_STOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/** \param[in] stop  NULL: nobody will ask. Else not 0: the work is to end. */
static inline bool emp_stop_is_set(const atomic_int *stop)
{
    return stop != NULL && *stop != 0;
}

#endif /* EMP_BASE_WORK_STOP_H */
