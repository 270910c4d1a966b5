/** \file base/clock.h
 * Wall clock for budgets and progress bars. Never part of a result that must repeat.
 */
#ifndef EMP_BASE_CLOCK_H
#define EMP_BASE_CLOCK_H

/** Seconds since an arbitrary fixed moment; never goes back. */
double emp_clock_now_s(void);

#endif /* EMP_BASE_CLOCK_H */
