/** \file bench/validate/diverse.h
 * Diverse placements, on which a prediction is judged: blocks of the
 * topological order and parts that METIS cuts, dealt in turn or by chance, in several sizes, and
 * placements of which a part is dealt anew, also to the CPU.
 */
#ifndef EMP_BENCH_VALIDATE_DIVERSE_H
#define EMP_BENCH_VALIDATE_DIVERSE_H

#include "sim/problem/problem.h"

enum { EMP_DIVERSE_NAME_BYTES = 32 };

/** A machine of the same devices and links, all of whose constants are plain: placements that are
 * dealt on it do not change with what is calibrated, so that measurements can be compared with
 * another model later. emp_machine_destroy() releases it; NULL = out of memory. */
emp_machine *emp_diverse_machine(const emp_machine *machine);

/** Placement \a index >= 0 of an infinite list that \a seed makes: legal, and named
 * ("chunks 3", "parts 8 #1", "mixed 15 % #0"). \a base is what mixed ones start from.
 * \retval EMP_EINVAL  The machine has no GPU; and as for metis_cut.h. */
emp_status emp_diverse_placement(emp_device_id     *device_of_op,
                                 char               name[EMP_DIVERSE_NAME_BYTES],
                                 const emp_problem *problem, const emp_device_id *base,
                                 int32_t index, uint64_t seed, emp_error *err);

#endif /* EMP_BENCH_VALIDATE_DIVERSE_H */
