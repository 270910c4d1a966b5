/** \file base/work.h
 * Clocks, the stage that long work is in, the flag that asks it to end, and work that its caller
 * can leave.
 */
#ifndef EMP_BASE_WORK_H
#define EMP_BASE_WORK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Clocks, which never influence a result that must repeat. */

/** Seconds since an arbitrary fixed moment; never goes back. */
double emp_clock_now_s(void);

/** Seconds that processors have spent on this thread, and for it elsewhere. */
double emp_clock_thread_s(void);

/** Counts \a seconds that another thread or process has spent for this thread. */
void emp_clock_count_s(double seconds);

/* The process has one stage, a few words that a display shows. Any thread may set and get it. */

/** Sets the text, which is in static storage; NULL: nothing worth a name.
 * \return the text before. */
const char *emp_stage_set(const char *text);

/** The text; NULL if none is set. */
const char *emp_stage_get(void);

/* A stop flag, which a signal handler or another thread sets and which is never cleared. Work looks at it between its
 * steps. */

/** \param[in] stop  NULL: never stopped. Else not 0: the work is to end. */
static inline bool emp_stop_is_set(const atomic_int *stop)
{
    return stop != NULL && *stop != 0;
}

/* Work that cannot be asked to end, such as a call of a library, runs on its own thread, so that its caller
 * can leave it. */

typedef struct {
    void *task; /**< has all that the work needs: the caller may be gone before it ends */
    void (*work)(void *task);
    void (*destroy)(void *task);
} emp_apart;

/** Does the work and waits for its end, or for \a stop. The CPU time of the thread is counted as the
 * caller's (base/work.h). Where there is no \a stop, or no thread, the work is done here.
 * \param stop  base/work.h; NULL: never stopped.
 * \return true: it is done, and the task is the caller's. false: \a stop was set. Work that has begun
 * goes on as long as the process does. The task is destroyed, after the work if that has begun. */
bool emp_apart_run(const emp_apart *apart, const atomic_int *stop);

#endif /* EMP_BASE_WORK_H */
