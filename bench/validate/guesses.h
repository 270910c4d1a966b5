/** \file bench/validate/guesses.h
 * What can be said of a step without simulating it: the guesses that a prediction must beat.
 */
#ifndef EMP_BENCH_VALIDATE_GUESSES_H
#define EMP_BENCH_VALIDATE_GUESSES_H

#include "replay/plan/plan.h"
#include "sim/problem/problem.h"

/** The one factor f for all guesses that makes them least wrong: the least mean of
 * |f guess / measured - 1|, which \a error_frac receives; NaN of none. With guesses of 1 s it is
 * the best constant. The mean is convex and straight between the factors that make one guess
 * right, so the best f is one of them. Times are above 0. O(count^2). */
double emp_guess_scale(double *error_frac, const double *guess_s,
                       const double *measured_s, int32_t count);

/** A roofline: of each device, its ops' FLOPs / peak + bytes / bandwidth; of these the longest.
 * It knows the machine's rates, and nothing of kernels, order, copies and the runtime. O(V). */
double emp_guess_roofline_s(const emp_problem   *problem,
                            const emp_device_id *device_of_op);

/** What all copies take on their links, one after the other: latency + bytes / bandwidth of each.
 * With --keep-rates it is what copies sleep. O(copies). */
double emp_guess_copies_s(const emp_replay_plan *plan);

#endif /* EMP_BENCH_VALIDATE_GUESSES_H */
