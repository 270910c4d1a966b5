/** \file bench/calibrate/measure_constants.h
 * The constants that are fitted to micro-benchmarks, by set of benchmarks, and where a fit starts.
 */
#ifndef EMP_BENCH_CALIBRATE_MEASURE_CONSTANTS_H
#define EMP_BENCH_CALIBRATE_MEASURE_CONSTANTS_H

#include "bench/calibrate/constants.h"
#include "bench/calibrate/micro.h"

/** The constants of a set, in the order in which a fit frees them: first those that a device
 * needs alone, then those of devices that work at once. */
typedef struct {
    const emp_constant *constant; /**< [count] */
    int32_t             count, alone_count;
} emp_measure_table;

extern const emp_measure_table emp_measure_tables[EMP_MICRO_SETS];

/** A copy of \a machine as it is when the fit starts; NULL = no memory. Of EMP_MICRO_CORES, its
 * groups and its host are made of cores of \a cache_bytes, of which the computer has
 * \a core_count; these are not fitted. */
emp_machine *emp_measure_start(const emp_machine *machine, emp_micro_set set,
                               int64_t cache_bytes, int32_t core_count);

/** What follows from the constants. Of EMP_MICRO_CORES, hosts get those of the groups' cores, all
 * devices the peak that products reach, and the runtime what it says of the host's ops. */
void emp_measure_derive(emp_machine *machine, emp_runtime *runtime, emp_micro_set set);

#endif /* EMP_BENCH_CALIBRATE_MEASURE_CONSTANTS_H */
