/** \file baselines/partitioners/memory_repair.h
 * Makes a placement fit that does not: groups of ops leave the device that lacks most
 * memory for devices with room, until the oracle finds none that lacks any.
 *
 * Groups are METIS's, of classes that exchange much. A move frees the memory that the device
 * holds at its peak, by the oracle, and would not hold without the group: variables,
 * outputs that no op there reads any more, copies that only the group reads. Moves go by
 * the traffic that they add per byte freed, least first; to a CPU only when no GPU has room.
 * As estimates may be wrong, the oracle judges after each round of moves: a round that does
 * not make less memory missing is taken back, and half as many moves tried.
 */
#ifndef EMP_BASELINES_PARTITIONERS_MEMORY_REPAIR_H
#define EMP_BASELINES_PARTITIONERS_MEMORY_REPAIR_H

#include <stdatomic.h>

#include "sim/problem/problem.h"

/** Changes device_of_op [op], which becomes legal; one that fits when made legal stays as it
 * was. The repair ends when \a stop is set; NULL: nothing ends it. Deterministic. A run of
 * the oracle a round, and O((V + E) devices) for each move.
 * \retval EMP_ENOMEM, and as for search/partition/metis_cut.h
 * \retval EMP_EINFEASIBLE  Memory is still missing and no move helps; \a device_of_op is
 * as it was, and the message names \a method, the device and how much. */
emp_status emp_memory_repair(const emp_problem *problem, const char *method,
                             uint64_t seed, const atomic_int *stop,
                             emp_device_id *device_of_op, emp_error *err);

#endif /* EMP_BASELINES_PARTITIONERS_MEMORY_REPAIR_H */
