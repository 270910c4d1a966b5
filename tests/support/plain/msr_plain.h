/** \file tests/support/plain/msr_plain.h
 * The two objectives of Tarnawski et al. (NeurIPS 2020) for a given placement, plainly:
 * the greatest load of a device (throughput of a pipeline) and the latency of one sample.
 * docs/simulator.md has the rules.
 *
 * Transfers go through the memory of the host: op u's results take c_u between a GPU and
 * host memory, whatever they are needed for. The GPU of u pays c_u once to bring them
 * out, each other GPU that reads one pays c_u once to bring them in; the CPU pays nothing.
 *
 * Rounding. c_u is the sum of the transfer bytes of those outputs of u that are read by
 * any op at all, at 2^31 B/s (the rate of the published inputs): bytes * 10^9 / 2^31 ns,
 * rounded to the nearest nanosecond, halves up. Nothing else is rounded.
 *
 * Choices that the publication leaves open:
 *
 *   - A control edge orders, but carries nothing: it costs no c_u.
 *   - Size of an op (memory on its GPU): its outputs and what it keeps. The size of a GPU
 *     is the sum over its ops. The CPU's is given too, but the rules do not limit it.
 *   - Latency of a placement that is not contiguous. The publication leaves the division
 *     of a GPU's ops into runs to the optimizer. Here ops are taken in topological order,
 *     the lowest id first among those whose inputs were all taken, and an op joins the
 *     first run of its GPU that it can join without making the runs wait for each other
 *     in a circle; if there is none, it starts a new one. Where dividing each GPU's ops
 *     by how often a path to them left the GPU and came back works, as in the published
 *     code, the two are equal, whatever the topological order.
 */
#ifndef EMP_TESTS_SUPPORT_PLAIN_MSR_PLAIN_H
#define EMP_TESTS_SUPPORT_PLAIN_MSR_PLAIN_H

#include "tests/support/plain/plain_step.h"

/** The result of the rules for a placement. */
typedef struct {
    int64_t max_load_ns, latency_ns;
    int64_t load_ns[PLAIN_MAX_DEVICES];
    int64_t size_bytes[PLAIN_MAX_DEVICES];
    int32_t run_count; /**< of all GPUs, for the latency */
} msr_result;

/** c_u of every op, into \a transfer_ns [op]. */
void msr_plain_transfers(const plain_step *step, int64_t *transfer_ns);

/** Computes loads, sizes and latency with the given c_u, \a transfer_ns [op]. */
void msr_plain_run(const plain_step *step, const int64_t *transfer_ns,
                   msr_result *result);

#endif /* EMP_TESTS_SUPPORT_PLAIN_MSR_PLAIN_H */
