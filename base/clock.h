/** \file base/clock.h
 * Wall clock for budgets and progress bars, CPU time for benchmarks. Never part of a
 * result that must repeat.
 */
#ifndef EMP_BASE_CLOCK_H
#define EMP_BASE_CLOCK_H

/** Seconds since an arbitrary fixed moment; never goes back. */
double emp_clock_now_s(void);

/** Seconds that processors have spent on this thread, and for it elsewhere. */
double emp_clock_thread_s(void);

/** Counts \a seconds that another thread or process has spent for this thread. */
void emp_clock_count_s(double seconds);

#endif /* EMP_BASE_CLOCK_H */
