/** \file base/clock.h
 * Wall clock for budgets and progress bars, CPU time for benchmarks. Never part of a
 * result that must repeat.
 */
#ifndef EMP_BASE_CLOCK_H
#define EMP_BASE_CLOCK_H

/** Seconds since an arbitrary fixed moment; never goes back. */
double emp_clock_now_s(void);

/** Seconds that a processor has spent on this thread. */
double emp_clock_thread_s(void);

#endif /* EMP_BASE_CLOCK_H */
