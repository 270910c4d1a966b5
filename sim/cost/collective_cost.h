/** \file sim/cost/collective_cost.h
 * What an all-reduce takes on a machine: what the table of the device model says, where it has that
 * many GPUs, else a ring over the slowest route between two GPUs of the machine:
 *
 *     t = 2 (ranks - 1) (bytes / ranks / rate + latency)
 *
 * (Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms, 2009). Of a table the times of half precision count.
 */
#ifndef EMP_SIM_COST_COLLECTIVE_COST_H
#define EMP_SIM_COST_COLLECTIVE_COST_H

#include "sim/graph/graph.h"
#include "sim/machine/machine.h"

/** Seconds that a rank on \a gpu takes once all ranks are ready; 0 with one rank, and without bytes.
 * O(GPUs squared) without a table. */
double emp_collective_s(const emp_stated_collective *collective,
                        const emp_machine *machine, const emp_device *gpu);

#endif /* EMP_SIM_COST_COLLECTIVE_COST_H */
