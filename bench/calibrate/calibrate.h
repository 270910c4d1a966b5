/** \file bench/calibrate/calibrate.h
 * Fits the free constants of a machine and a runtime to published single-device step
 * times, says how far they can be trusted, and writes them into the data files.
 *
 *     EMP_TRY(emp_calibration_create(&c, &params, err));
 *     ... c->fit ...
 *     EMP_TRY(emp_calibration_save(c, "data", err));
 *     emp_calibration_destroy(c);
 */
#ifndef EMP_BENCH_CALIBRATE_CALIBRATE_H
#define EMP_BENCH_CALIBRATE_CALIBRATE_H

#include <stddef.h>

#include "base/io/atomic_file.h"
#include "bench/calibrate/fit.h"
#include "sim/engine/sim.h"
#include "sim/machine/machine.h"
#include "sim/runtime/runtime.h"

/* The constants that a calibration may move, each within what is physically possible.
 * Everything else of a machine is measured or documented and stays as it is: the fit of
 * matrix products, the memory's stream rate, PCIe. */

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

/** The section that has it in its file, as emp_model_change has it. */
const char *emp_constant_section(const emp_constant *constant);

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

/* Cells: a task on one device, the CPU or a GPU, with its published step time; and the
 * oracle that says what a machine with given constants would take for it.
 */

typedef struct {
    char          name[EMP_FIT_NAME_BYTES]; /**< "rnnlm:gpu" */
    const char   *spec;                     /**< workload; borrowed */
    emp_device_id device;                   /**< 0: CPU, 1: GPU */
    double        published_s;              /**< infinity: out of memory */
} emp_cell;

enum { EMP_MAX_CELLS = EMP_MAX_FITTED };

/** The cells of the paper's table that a list names: cells ("rnnlm:gpu,nmt2:cpu"), or
 * "cpu", "gpu", "all" for all of a device. Those with a step time come first, in the order
 * of the table; those that are out of memory follow.
 * \retval EMP_EINVAL  No such cell; the message lists what there is. */
emp_status emp_cells_select(const char *list, emp_cell cells[EMP_MAX_CELLS],
                            int32_t *count, emp_error *err);

/** The graphs of some cells, each built once. */
typedef struct emp_cell_oracle emp_cell_oracle;

/** Builds the graphs; \a machine and \a runtime say what runs where, not how fast.
 * \a cells is borrowed, its devices are the machine's.
 * \retval  What building a workload returns. */
emp_status emp_cell_oracle_create(emp_cell_oracle **out, const emp_cell *cells,
                                  int32_t count, const emp_machine *machine,
                                  const emp_runtime *runtime, emp_error *err);
void       emp_cell_oracle_destroy(emp_cell_oracle *oracle);

/** Simulates cells 0 .. count-1 under these constants, in parallel. Cost tables are made
 * anew, graphs are not. */
emp_status emp_cell_oracle_run(const emp_cell_oracle *oracle, int32_t count,
                               const emp_machine *machine, const emp_runtime *runtime,
                               int32_t threads, emp_sim_result *result, emp_error *err);

/** A constant leans on the cells that make at least this part of its variance. */
#define EMP_LEANS_SHARE 0.05

typedef struct {
    const emp_cell *cells; /**< those with a step time first */
    int32_t         cell_count;
    const char     *machine; /**< name or path; with a GPU */
    const char     *runtime; /**< name or path */
    int32_t         threads; /**< results do not depend on it */
    void (*on_progress)(void *context, double done_frac); /**< OPTIONAL */
    void *context;
} emp_calibrate_params;

/** The time of a cell under the fitted constants. */
typedef struct {
    double  step_s;
    bool    is_feasible;
    int64_t peak_bytes; /**< on the cell's device */
    int64_t limit_bytes;
} emp_cell_outcome;

typedef struct {
    emp_machine    *machine; /**< with the fitted constants */
    emp_runtime     runtime; /**< likewise */
    const emp_cell *cells;   /**< borrowed */
    int32_t         cell_count;
    int32_t         timed_count; /**< the first ones, which have a step time: fitted to */
    emp_cell_outcome outcome[EMP_MAX_CELLS];
    double           before[EMP_FIT_MAX_PARAMETERS]; /**< [constant] */
    emp_fit fit; /**< parameters are the constants, in the order of their table */
} emp_calibration;

/** Loads, fits, and simulates all cells under the fitted constants, which are rounded to
 * the five digits that files get.
 * \retval EMP_EINVAL  No cell has a step time; the machine has no GPU; the runtime has the
 * rules of another simulator; a constant of the files is out of bounds. */
emp_status emp_calibration_create(emp_calibration           **out,
                                  const emp_calibrate_params *params, emp_error *err);
void       emp_calibration_destroy(emp_calibration *calibration);

/** True if the constant leans on the timed cell. */
bool emp_calibration_leans(const emp_calibration *calibration, int32_t constant,
                           int32_t cell);

/** Relative distance of a time from the cell's published one. */
double emp_cell_off(const emp_cell *cell, double step_s);

enum { EMP_CALIBRATE_PATH_BYTES = 1024 };

/** Where emp_calibration_save() writes that file. \return false if it does not. */
bool emp_calibration_path(char                   path[EMP_CALIBRATE_PATH_BYTES],
                          const emp_calibration *calibration, emp_calibrate_file file,
                          const char *folder);

/** Writes the files that have fitted constants into a data folder, each with a section
 * `fit`: DIR/machines/models/MODEL.yaml, DIR/runtimes/RUNTIME.yaml. Folders are made as
 * needed.
 * \param command  what the section names as its maker. */
emp_status emp_calibration_save(const emp_calibration *calibration, const char *folder,
                                const char *source, const char *command, emp_error *err);

/* A data file written anew with some values changed. Comments and all other values stay
 * as a person wrote them; the section `fit`, which is the last, makes room for a new one. */

typedef struct {
    const char *section; /**< that has the key; "": the top level */
    const char *key;
    char        value[48]; /**< without quotes */
} emp_model_change;

/** Opens \a file for \a path, and copies into it what \a source has before its section
 * `fit`, with the changed values. A key or a section that \a source lacks is added, as models with a card state few
 * constants and runtimes with a base few keys. The caller writes the section `fit` and commits.
 * \retval EMP_EFORMAT  A section of \a source has two lines of a key; the message says so.
 * \retval EMP_EIO, EMP_ENOMEM */
emp_status emp_model_file_open(emp_atomic_file *file, const char *path,
                               const char *source, const emp_model_change *changes,
                               int change_count, emp_error *err);

/** Makes the folders that \a path, a file, lies in, where they are not there.
 * \retval EMP_EIO */
emp_status emp_model_file_make_folders(const char *path, emp_error *err);

#endif /* EMP_BENCH_CALIBRATE_CALIBRATE_H */
