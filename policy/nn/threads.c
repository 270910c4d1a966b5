// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L /* sched_yield */

#include "policy/nn/threads.h"

#include <sched.h>

/* Some microseconds. */
enum { SPINS = 2000 };

/* Some tens of microseconds of a product. A thread that sleeps takes as long to wake up, and one that has nothing
 * left to do keeps its core busy for milliseconds. */
enum { LEAST_OPERATIONS = 1 << 22 };
static int64_t least_operations = LEAST_OPERATIONS;

/* Meetings cost much less than starts. */
enum { STEP_FACTOR = 16 };

int32_t emp_team_size(int64_t operations, int32_t threads)
{
    const int64_t most = operations / least_operations;

    return most < 1 ? 1 : most < threads ? (int32_t)most : threads;
}

void emp_team_set_least(int64_t operations)
{
    least_operations = operations > 0 ? operations : LEAST_OPERATIONS;
}

int32_t emp_team_size_of_steps(int64_t operations, int32_t threads)
{
    return emp_team_size(STEP_FACTOR * operations, threads);
}

void emp_team_meet(emp_team *team, int32_t size)
{
    int meeting = atomic_load_explicit(&team->meetings, memory_order_relaxed);

    if (size == 1) return;
    if (atomic_fetch_add(&team->arrived, 1) == size - 1) {
        atomic_store_explicit(&team->arrived, 0, memory_order_relaxed);
        atomic_store(&team->meetings, meeting + 1);
        return;
    }
    for (int spins = 0; atomic_load(&team->meetings) == meeting; spins++) {
        if (spins > SPINS) sched_yield();
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
}

#if defined(__x86_64__)
#include <xmmintrin.h>

enum { FLUSH_RESULTS = 1 << 15, FLUSH_OPERANDS = 1 << 6 };

unsigned emp_flush_begin(void)
{
    unsigned saved = _mm_getcsr();

    _mm_setcsr(saved | FLUSH_RESULTS | FLUSH_OPERANDS);
    return saved;
}

void emp_flush_end(unsigned saved) { _mm_setcsr(saved); }

#else

unsigned emp_flush_begin(void) { return 0; }
void     emp_flush_end(unsigned saved) { (void)saved; }

#endif
