/** \file bench/calibrate/micro_work.h
 * Kinds of work of micro-benchmarks: each adds ops of one kind to a graph and makes them targets.
 *
 * Ops on much data each have operands of their own; those on little share them. \a size has
 * eight numbers, unused ones 0; bool ones are 0 or 1. A failure stays in \a tf.
 */
#ifndef EMP_BENCH_CALIBRATE_MICRO_WORK_H
#define EMP_BENCH_CALIBRATE_MICRO_WORK_H

#include "graphs/tensorflow/tf_graph.h"

/** Devices of a benchmark, by kind and number. */
enum { EMP_MICRO_HOST, EMP_MICRO_FIRST, EMP_MICRO_SECOND };

typedef void emp_micro_work(emp_tf *tf, const int64_t *size, int32_t repeats);

/** size: m, n, k, transposed a, transposed b */
emp_micro_work emp_micro_products;
/** size: m, n, k. Gradients of weights, as an unrolled network has them, and their sum. */
emp_micro_work emp_micro_summed_products;
/** size: images, side, channels, side of the filter, filters, stride, direction: result, gradient
 * of the image, of the filter */
emp_micro_work emp_micro_convolutions;
/** size: elements */
emp_micro_work emp_micro_additions, emp_micro_inverses, emp_micro_logarithms;
/** size: rows, columns, the axis that is summed over */
emp_micro_work emp_micro_sums;
/** size: rows, columns */
emp_micro_work emp_micro_transpositions, emp_micro_joints;
/** size: images, side, channels, window, stride, what: MaxPool, its gradient, AvgPool's */
emp_micro_work emp_micro_pools;
/** size: images, side, channels, gradients instead */
emp_micro_work emp_micro_norms;
/** size: rows, columns, with a loss */
emp_micro_work emp_micro_softmaxes;
/** size: elements, Adam instead of plain descent */
emp_micro_work emp_micro_updates;
/** size: device, without work. A chain, one after the other. */
emp_micro_work emp_micro_chain;
/** size: elements, one device, the other, chains that run side by side, without work. Each op
 * reads what the other device made. */
emp_micro_work emp_micro_crossings;
/** size: elements, side and number of products. Both groups multiply while the second one gets
 * tensors from the first, and as many from the host. */
emp_micro_work emp_micro_busy_copies;
/** size: side of products. The host works beside the first group. */
emp_micro_work emp_micro_busy_host;

/** Has what follows lie on \a device; emp_tf_leave() takes what it returns. */
const char *emp_micro_enter(emp_tf *tf, int32_t device);

/** Of an op by its name: the device that was entered, or the first GPU. */
int32_t emp_micro_device_of(const char *name);

#endif /* EMP_BENCH_CALIBRATE_MICRO_WORK_H */
