/** \file tests/support/plain/plain_step.h
 * One training step under one placement, as the plain simulators of other people's rules
 * see it: placeto_plain.h, baechi_plain.h, msr_plain.h. The rules are docs/simulator.md.
 *
 * Nothing here comes from sim/engine. A test that works an example by hand fills the
 * struct itself; plain_step_create() fills it from a problem:
 *
 *   - a folded op is left out, with its outputs and its edges; the others keep their
 *     order, so that ties by op id fall as they would with the ids of the graph;
 *   - an op that reads a tensor twice has one edge, and so has one that waits for another
 *     twice; an op that reads a tensor of another and also waits for it has two;
 *   - aliases, host memory and in-place ops are not known here: every output is a buffer
 *     of its own on its producer's device.
 */
#ifndef EMP_TESTS_SUPPORT_PLAIN_PLAIN_STEP_H
#define EMP_TESTS_SUPPORT_PLAIN_PLAIN_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/problem/problem.h"

enum { PLAIN_CONTROL = -1, PLAIN_MAX_DEVICES = EMP_MAX_DEVICES + 1 };

/** One output of an op. */
typedef struct {
    int32_t producer;
    int64_t memory_bytes;   /**< what it occupies; 0 for references */
    int64_t transfer_bytes; /**< what a copy of it carries */
} plain_tensor;

/** One op reads a tensor of another, or waits for it. */
typedef struct {
    int32_t producer, consumer;
    int32_t tensor; /**< of the producer; PLAIN_CONTROL = waits only */
} plain_edge;

/** Tensors are in the order of their producers, then outputs. Edges are in the order of
 * their producers, then consumers, then tensors with PLAIN_CONTROL last; no two are
 * alike, and they make no cycle. */
typedef struct {
    int32_t       op_count, device_count, tensor_count, edge_count;
    bool         *is_cpu;           /**< [device] */
    int64_t      *cost_ns;          /**< [op * device_count + device] */
    int64_t      *temporary_bytes;  /**< [op] held while it runs */
    int64_t      *persistent_bytes; /**< [op] held for the rest of the step */
    plain_tensor *tensor;
    plain_edge   *edge;
    int32_t      *device_of_op; /**< [op] */
} plain_step;

/** The result of a simulation. */
typedef struct {
    int64_t step_time_ns;
    int64_t busy_ns[PLAIN_MAX_DEVICES];    /**< sum of the costs of its ops */
    int64_t peak_bytes[PLAIN_MAX_DEVICES]; /**< as the rules count memory */
    int64_t transfer_count, traffic_bytes;
} plain_result;

/** The step of this placement; aborts by assert() when out of memory. */
void plain_step_create(plain_step *step, const emp_problem *problem,
                       const emp_device_id *device_of_op);
/** Releases what plain_step_create() made. */
void plain_step_destroy(plain_step *step);

/** The cost of an op where it is placed. */
int64_t plain_step_cost_ns(const plain_step *step, int32_t op);

/** [op + 1]: op's outputs are tensors row[op] .. row[op + 1] - 1. Release with emp_free().
 */
int32_t *plain_step_output_rows(const plain_step *step);
/** [op + 1]: op's outgoing edges are row[op] .. row[op + 1] - 1. Release with emp_free().
 * Asserts that edges are in the order stated above. */
int32_t *plain_step_edge_rows(const plain_step *step);

/** value * numerator / denominator, rounded to the nearest integer, halves up. All are
 * >= 0, denominator and numerator below 2^31. */
int64_t plain_scale(int64_t value, int64_t numerator, int64_t denominator);

#endif /* EMP_TESTS_SUPPORT_PLAIN_PLAIN_STEP_H */
