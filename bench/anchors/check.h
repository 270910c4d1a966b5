/** \file bench/anchors/check.h
 * Anchors beside what the model says of them, kind by kind, and a paper's single-device cells
 * after them.
 */
#ifndef EMP_BENCH_ANCHORS_CHECK_H
#define EMP_BENCH_ANCHORS_CHECK_H

#include "bench/anchors/anchors.h"
#include "run/sheet/sheet.h"
#include "sim/machine/machine.h"
#include "sim/runtime/runtime.h"

/* Predicts the time of an anchor by the model.
 *
 * A device is a machine, and what differs from it after a colon, e.g. "k40x1:clock=875":
 *
 *     clock=MHz       of the GPU; what a product takes scales with it
 *     stream=GB/s     of the GPU's memory
 *     cores=N         of the CPU, which has as many slots for ops
 *     host=MHz        highest clock of the CPU whose host costs were measured; those of the
 *                     runtime hold at EMP_ANCHOR_HOST_MHZ
 *     cpu=1           the work is on the CPU, not on the first GPU
 *
 * A spec is one of
 *
 *     matmul M N K [tn|nt]     a matrix product: [M, K] times [K, N]; the first operand, or
 *                              the second, is transposed
 *     conv BATCH SIZE CHANNELS FILTERS WINDOW PADDING OF
 *                              a convolution with stride 1 of square images in NCHW;
 *                              PADDING is valid or same, OF is output, input (the gradient
 *                              of the images) or filter (that of the filter)
 *     pass READS WRITES BYTES  a kernel that reads and writes so many tensors of BYTES
 *     kernel                   the smallest kernel
 *     copy FROM TO BYTES       from "cpu:0" to "gpu:0"
 *     host GRAPH               the host's time to issue a step, on one GPU
 *     step GRAPH [nchw]        a training step; with activations in NCHW: nothing is transposed
 *
 * where BYTES is a number with its unit, without space, and GRAPH a workload
 * (graphs/workloads/workloads.h) or a network (bench/anchors/nets.h). */

enum { EMP_ANCHOR_HOST_MHZ = 2300 };

/** Measured and predicted time of an anchor. */
typedef struct {
    double measured_s, model_s;
} emp_anchor_times;

/** Builds what the spec says and predicts its time; a measured rate becomes a time.
 * \retval EMP_EINVAL  A device or spec that makes no sense; the message says what would. */
emp_status emp_anchor_predict(emp_anchor_times *times, const emp_anchor *anchor,
                              const emp_runtime *runtime, emp_error *err);

/** How far off the model is of some anchors. */
typedef struct {
    int32_t count, within; /**< within: those whose error is at most their bar */
    double  mean_frac;     /**< of the errors without their signs; NaN = no anchors */
    double  worst_frac;    /**< the error that is farthest from 0, with its sign */
} emp_anchor_errors;

/** At most a table of each kind of anchors, then one of cells. */
enum { EMP_ANCHOR_SHEETS = EMP_ANCHOR_KINDS + 1 };

/** Predicts all anchors; \a times has room for all. Results do not depend on \a threads. */
emp_status emp_anchors_predict(emp_anchor_times *times, const emp_anchors *anchors,
                               const emp_runtime *runtime, int32_t threads,
                               emp_error *err);

/** Whether anchors are of the machine's GPU model, by its name. Reads their machines.
 * \retval EMP_EUNSUPPORTED  None is; the message names the models that there are. */
emp_status emp_anchors_check_model(const emp_anchors *anchors, const emp_machine *machine,
                                   emp_error *err);

/** Relative distance of the model from what was measured. */
double emp_anchor_off(const emp_anchor_times *times);

/** Errors of the anchors of a kind, or of all: EMP_ANCHOR_KINDS; of the CPU's anchors only
 * if \a kind is EMP_ANCHOR_CPU. */
emp_anchor_errors emp_anchors_errors(const emp_anchors      *anchors,
                                     const emp_anchor_times *times, emp_anchor_kind kind);

/** Fills a chain of sheets, which the caller prints from the first one on and clears, all. Kinds without an anchor
 * have none. Cells are the paper's, on \a machine; they are simulated here if \a with_cells.
 * \retval EMP_EUNSUPPORTED  There are no anchors. */
emp_status emp_anchors_tabulate(emp_sheet          sheets[EMP_ANCHOR_SHEETS],
                                const emp_anchors *anchors, const emp_anchor_times *times,
                                const emp_machine *machine, const emp_runtime *runtime,
                                bool with_cells, int32_t threads, emp_error *err);

#endif /* EMP_BENCH_ANCHORS_CHECK_H */
