/** \file bench/calibrate/constants.h
 * The constants that a calibration may move, each within what is physically possible.
 * Everything else of a machine is measured or documented and stays as it is: the fit of
 * matrix products, the memory's stream rate, PCIe.
 */
#ifndef EMP_BENCH_CALIBRATE_CONSTANTS_H
#define EMP_BENCH_CALIBRATE_CONSTANTS_H

#include <stddef.h>

#include "bench/calibrate/fit.h"
#include "sim/machine/machine.h"
#include "sim/runtime/runtime.h"

/** The file that has the constant. */
typedef enum {
    EMP_CALIBRATE_CPU,     /**< the machine's CPU model */
    EMP_CALIBRATE_GPU,     /**< its GPU model */
    EMP_CALIBRATE_RUNTIME, /**< the runtime profile */
    EMP_CALIBRATE_LINKS,   /**< the machine: its links, all alike */
    EMP_CALIBRATE_FILES
} emp_calibrate_file;

typedef struct {
    const char        *name; /**< its key in the file */
    emp_calibrate_file file;
    const char        *unit;      /**< as the file has it, or "" */
    double             scale;     /**< of the unit */
    double             low, high; /**< in base units */
    const char        *why;       /**< these bounds */
    size_t             offset; /**< of a double in emp_device, emp_runtime or emp_link */
} emp_constant;

/** All that published step times may move. */
enum { EMP_CONSTANTS = 6 };
extern const emp_constant emp_constants[EMP_CONSTANTS];

/** The value, in base units; the machine has a CPU and a GPU. */
double emp_constant_get(const emp_constant *constant, const emp_machine *machine,
                        const emp_runtime *runtime);

/** Sets it on all devices of its kind, or all links and routes. The machine's hash stays. */
void emp_constant_set(const emp_constant *constant, emp_machine *machine,
                      emp_runtime *runtime, double value);

/** Writes the value as files have it, "26.5 GFLOP/s", into \a buffer and returns it. */
const char *emp_constant_format(const emp_constant *constant, double value, int digits,
                                char *buffer, size_t size);

/** Name of the file a constant is in, without folder: "k40.yaml". */
const char *emp_calibrate_file_name(emp_calibrate_file file, const emp_machine *machine,
                                    const emp_runtime *runtime);

/** Its path. */
const char *emp_calibrate_file_path(emp_calibrate_file file, const emp_machine *machine,
                                    const emp_runtime *runtime);

/** The interval of the constant of that number: "1.2 us .. 1.4 us", or why
 * there is no interval. Returns \a text. */
const char *emp_constant_interval(const emp_constant *constant, const emp_fit *fit,
                                  int32_t number, char *text, size_t size);

#endif /* EMP_BENCH_CALIBRATE_CONSTANTS_H */
