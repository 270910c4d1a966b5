/** \file sim/partition/scotch_cut.h
 * Scotch (Pellegrini, 1994), static mapping of a weighted graph: the only includer of
 * scotch.h.
 *
 * A mapping onto devices has a weighted target: a device's power is its peak FLOP/s, the
 * distance of two devices the time that a transfer between them takes. Classes that can
 * only run on the CPU are fixed to part 0.
 *
 * Threads. Any number may call; equal seeds give equal parts.
 *
 * Errors of both functions: EMP_ENOMEM; EMP_EEXTERNAL if Scotch fails.
 */
#ifndef EMP_SIM_PARTITION_SCOTCH_CUT_H
#define EMP_SIM_PARTITION_SCOTCH_CUT_H

#include "sim/partition/partition_graph.h"

/** Maps onto the devices of \a target, with the customary tolerance of 5 % of the load.
 * An emp_partitioner. */
emp_status emp_scotch_map(const emp_partition_graph  *graph,
                          const emp_partition_target *target, uint64_t seed,
                          int32_t *part_of_vertex, emp_error *err);

/** Cuts into equal parts, all at the same distance; the largest has at most about
 * 1 + \a imbalance times the mean load. The graph must be without the CPU. Fills
 * part_of_vertex with 0 .. part_count-1; parts may be empty. */
emp_status emp_scotch_parts(const emp_partition_graph *graph, int32_t part_count,
                            double imbalance, uint64_t seed, int32_t *part_of_vertex,
                            emp_error *err);

#endif /* EMP_SIM_PARTITION_SCOTCH_CUT_H */
