/** \file bench/calibrate/cells.h
 * Cells: a task on one device, the CPU or a GPU, with its published step time; and the
 * oracle that says what a machine with given constants would take for it.
 */
#ifndef EMP_BENCH_CALIBRATE_CELLS_H
#define EMP_BENCH_CALIBRATE_CELLS_H

#include "sim/engine/sim.h"

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

#endif /* EMP_BENCH_CALIBRATE_CELLS_H */
