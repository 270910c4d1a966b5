/** \file bench/compare/noise.h
 * Costs that are somewhat wrong, as all costs are.
 */
#ifndef EMP_BENCH_COMPARE_NOISE_H
#define EMP_BENCH_COMPARE_NOISE_H

#include "base/rng.h"
#include "sim/problem/problem.h"

/** Multiplies the time of every op on a GPU (issue included), of every op on a CPU, and of
 * every link (rate and latency) by a factor of its own, log-uniform in 1 / (1 + \a most_frac)
 * .. 1 + \a most_frac. The runtime's own constants stay, and with them what the rules of
 * other simulators know of links. O(V). */
void emp_noise_add(emp_problem_variant *variant, double most_frac, emp_rng *rng);

#endif /* EMP_BENCH_COMPARE_NOISE_H */
