/** \file bench/calibrate/measure.h
 * Fits the constants of a machine that is made of groups of cores, or of a GPU and its link, and
 * of the runtime that drives them, to measured times of micro-benchmarks.
 *
 *     EMP_TRY(emp_micros_build(micro, &count, set, machine, &runtime, err));
 *     ... time each by replay: seconds[i] ...
 *     EMP_TRY(emp_measurement_create(&m, &params, err));
 *     EMP_TRY(emp_measurement_save(m, "my-machine.yaml", &where, err));
 *
 * A benchmark is a cell of a fit (fit.h): its value is what the simulator says of the same
 * graph, so that all that the simulator does between two ops is in it. The host of groups is a
 * core like theirs and gets their constants; its own benchmarks check that.
 */
#ifndef EMP_BENCH_CALIBRATE_MEASURE_H
#define EMP_BENCH_CALIBRATE_MEASURE_H

#include <stdatomic.h>

#include "bench/calibrate/calibrate.h"
#include "bench/calibrate/fit.h"
#include "bench/calibrate/micro.h"

/** The constants of a set of micro-benchmarks, in the order in which a fit frees them: first the constants of
 * one device by itself, then the constants of devices that work at once. */
typedef struct {
    const emp_constant *constant; /**< [count] */
    int32_t             count, alone_count;
} emp_measure_table;

extern const emp_measure_table emp_measure_tables[EMP_MICRO_SETS];

/** A copy of \a machine as it is when the fit starts; NULL = no memory. For EMP_MICRO_CORES, its
 * groups and its host are made of cores of \a cache_bytes, of which the computer has
 * \a core_count; these are not fitted. */
emp_machine *emp_measure_start(const emp_machine *machine, emp_micro_set set,
                               int64_t cache_bytes, int32_t core_count);

/** The machine and runtime that follow from the constants. For EMP_MICRO_CORES, hosts get the constants of the groups' cores,
 * all devices the peak that products reach, and the runtime the times of the host's ops. */
void emp_measure_derive(emp_machine *machine, emp_runtime *runtime, emp_micro_set set);

typedef struct {
    emp_micro_set      set;
    const emp_micro   *micro; /**< borrowed; of the set */
    const double      *measured_s;
    int32_t            count;
    const emp_machine *machine; /**< where the fit starts; one host */
    const emp_runtime *runtime;
    int64_t            cache_bytes; /**< of a core, which is not fitted */
    int32_t            core_count;  /**< of the computer: emp_machine.core_count */
    int32_t            threads;     /**< results do not depend on it */
    const atomic_int  *stop;        /**< OPTIONAL: not 0 ends the fit */
    void (*on_progress)(void *context, double done_frac); /**< OPTIONAL */
    void *context;
} emp_measure_params;

typedef struct {
    emp_machine     *machine; /**< with the fitted constants */
    emp_micro_set    set;
    emp_runtime      runtime;
    const emp_micro *micro; /**< borrowed */
    const double    *measured_s;
    int32_t          count;
    emp_fit fit; /**< parameters in the order of the set's table; its values: seconds */
} emp_measurement;

/** Fits in two stages: first the times of devices by themselves, to the benchmarks in which one device
 * works at a time; then what they take from each other (emp_sharing), to the others.
 * \retval EMP_EINVAL  The machine has several hosts, or no group; the runtime has other
 * rules than `events`.
 * \retval EMP_EINTERRUPTED  params->stop was set.
 * \retval  What the fit returns. */
emp_status emp_measurement_create(emp_measurement **out, const emp_measure_params *params,
                                  emp_error *err);
void       emp_measurement_destroy(emp_measurement *measurement);

/** Where it was measured, for people. Texts without quotes; products: who
 * multiplies on cores; NULL of a GPU. */
typedef struct {
    const char *computer, *products, *command;
} emp_measure_origin;

enum { EMP_MEASURE_PATH_BYTES = 1024 };

/** Path of the runtime file beside \a machine_path: "DIR/NAME-runtime.yaml". */
void emp_measurement_runtime_path(char        path[EMP_MEASURE_PATH_BYTES],
                                  const char *machine_path);

/** Path of a device model beside it: "DIR/models/NAME-PART.yaml". \a part is "host", "group" or "gpu". */
void emp_measurement_model_path(char        path[EMP_MEASURE_PATH_BYTES],
                                const char *machine_path, const char *part);

/** Writes DIR/NAME.yaml, last, after DIR/NAME-runtime.yaml and DIR/models/NAME-host.yaml with
 * DIR/models/NAME-group.yaml, or DIR/models/NAME-gpu.yaml: the GPU's model with what was fitted.
 * Each appears whole or not at all. A machine with a GPU has only that one, and the host's model.
 * \retval EMP_EINVAL  \a path does not end in ".yaml". \retval EMP_EFORMAT  A file of the machine
 * that the fit started from has no line of a constant. */
emp_status emp_measurement_save(const emp_measurement *measurement, const char *path,
                                const emp_measure_origin *origin, emp_error *err);

#endif /* EMP_BENCH_CALIBRATE_MEASURE_H */
