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

#include "bench/calibrate/constants.h"
#include "bench/calibrate/fit.h"
#include "sim/engine/sim.h"

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

#endif /* EMP_BENCH_CALIBRATE_CALIBRATE_H */
