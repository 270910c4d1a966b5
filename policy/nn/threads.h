/** \file policy/nn/threads.h
 * Threads and the state of their processors: how many threads a piece of work is worth, and a meeting point for the threads of a parallel
 * region that work in steps of some microseconds. OpenMP's barrier waits actively for milliseconds, which is ruin when
 * another program has the processor that the last thread needs; this one gives way.
 */
#ifndef EMP_POLICY_NN_THREADS_H
#define EMP_POLICY_NN_THREADS_H

#include <stdatomic.h>
#include <stdint.h>

/** Zero-initialise; shared by the threads. */
typedef struct {
    atomic_int arrived, meetings;
} emp_team;

/** Returns how many of \a threads, at least 1, a piece of work is worth: each has enough to do that starting it
 * takes little time beside that.
 * \param operations  Multiplications and additions, each pair one. */
int32_t emp_team_size(int64_t operations, int32_t threads);

/** For tests: the operations that a thread is worth, so that small networks run on several threads; 0: as many as by
 * default. While nothing computes. */
void emp_team_set_least(int64_t operations);

/** The same for work in steps between which the team meets; \a operations counts one step. */
int32_t emp_team_size_of_steps(int64_t operations, int32_t threads);

/** Returns when all \a size threads have called it. */
void emp_team_meet(emp_team *team, int32_t size);

/* Numbers below 1e-38 become 0 between begin and end, on the calling thread. Saturated
 * networks are full of them, and each would cost a hundred cycles. */

/** Returns what emp_flush_end() needs to restore the thread. */
unsigned emp_flush_begin(void);
void     emp_flush_end(unsigned saved);

#endif /* EMP_POLICY_NN_THREADS_H */
