/** \file bench/anchors/predict.h
 * What the model says of an anchor.
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
 * (graphs/workloads/workloads.h) or a network (bench/anchors/nets.h).
 */
#ifndef EMP_BENCH_ANCHORS_PREDICT_H
#define EMP_BENCH_ANCHORS_PREDICT_H

#include "bench/anchors/anchors.h"
#include "sim/runtime/runtime.h"

enum { EMP_ANCHOR_HOST_MHZ = 2300 };

/** What is measured, and what the model makes of it. */
typedef struct {
    double measured_s, model_s;
} emp_anchor_times;

/** Builds what the spec says and predicts its time; a measured rate becomes a time.
 * \retval EMP_EINVAL  A device or spec that makes no sense; the message says what would. */
emp_status emp_anchor_predict(emp_anchor_times *times, const emp_anchor *anchor,
                              const emp_runtime *runtime, emp_error *err);

#endif /* EMP_BENCH_ANCHORS_PREDICT_H */
