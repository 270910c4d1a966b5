/** \file sim/cost/collective_cost.h
 * What a collective takes on a machine.
 *
 * A rank on a GPU takes what the table of its device model says (sim/cost/kernel.h), where that has so
 * many GPUs. Else it is a ring over the slowest route between two GPUs of the machine, or between
 * its only GPU and the host:
 *
 *     t = rounds (bytes / ranks / rate + latency)
 *
 * with 2 (ranks - 1) rounds of an all-reduce, and ranks - 1 of any other: each rank sends a part on in
 * each round (Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms, 2009). A rank on a CPU is
 * such a ring over the slowest route between two devices, or at the rate of one core if the machine
 * has none. Of a table the times of half precision count.
 */
#ifndef EMP_SIM_COST_COLLECTIVE_COST_H
#define EMP_SIM_COST_COLLECTIVE_COST_H

#include "sim/graph/graph.h"
#include "sim/machine/machine.h"

/** Seconds that a rank on \a device takes once all ranks are ready; 0 with one rank, and without bytes.
 * O(devices squared) without a table. */
double emp_collective_s(const emp_collective_part *part, const emp_machine *machine,
                        const emp_device *device);

#endif /* EMP_SIM_COST_COLLECTIVE_COST_H */
