/** \file base/work/apart.h
 * Work that cannot be asked to end, such as a call of a library. It is done on a thread of its own, so
 * that a caller who is to stop can go on without it.
 */
#ifndef EMP_BASE_WORK_APART_H
#define EMP_BASE_WORK_APART_H

#include <stdatomic.h>
#include <stdbool.h>

typedef struct {
    void *task; /**< has all that the work needs: the caller may be gone before it ends */
    void (*work)(void *task);
    void (*destroy)(void *task);
} emp_apart;

/** Does the work and waits for its end, or for \a stop. The CPU time of the thread is counted as the
 * caller's (base/clock.h). Where there is no \a stop, or no thread, the work is done here.
 * \param stop  base/work/stop.h; NULL: nobody will ask.
 * \return true: it is done, and the task is the caller's. false: \a stop was set. Work that has begun
 * goes on as long as the process does. The task is destroyed, after the work if that has begun. */
bool emp_apart_run(const emp_apart *apart, const atomic_int *stop);

#endif /* EMP_BASE_WORK_APART_H */
