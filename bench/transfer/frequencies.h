/** \file bench/transfer/frequencies.h
 * A table in place of a network: for each type of op and tenth of a graph's depth, on which device
 * most such ops are in some placements. It knows no edges beyond the depth, so what a network does
 * no better than the table it has not learned from the graph.
 *
 * GPUs of a placement are named in the order in which ops first use them in the graph's topological
 * order, so that equal placements with other names count as one.
 */
#ifndef EMP_BENCH_TRANSFER_FREQUENCIES_H
#define EMP_BENCH_TRANSFER_FREQUENCIES_H

#include "sim/problem/decision.h"
#include "sim/problem/problem.h"

enum { EMP_FREQUENCY_TENTHS = 10 };

/** Places the target by the table of the examples. A kind of op that the examples lack is taken for one of
 * the nearest tenth, and a type that they lack goes where most ops are. The placement is legal.
 *
 * \param[out] device_of_op  [target's op]
 * \param      problem       [count] what the examples place
 * O(V + E) of all graphs, and devices for each kind of op.
 * \retval EMP_ENOMEM */
emp_status emp_frequencies_place(emp_device_id *device_of_op, const emp_problem *target,
                                 const emp_problem *const *problem,
                                 const emp_owned_decision *example, int32_t count,
                                 emp_error *err);

#endif /* EMP_BENCH_TRANSFER_FREQUENCIES_H */
