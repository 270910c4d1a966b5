/** \file tests/support/plain/placeto_plain.h
 * Placeto's simulator (Addanki et al., NeurIPS 2019), plainly: a list of events, a list of
 * what waits for each server, and a scan for the least. docs/simulator.md has the rules.
 *
 * Rounding. A transfer takes bytes / 7600 us: bytes * 5 / 38 ns, rounded to the nearest
 * nanosecond, halves up. 5.7 us and 25 us are exact. Nothing else is rounded.
 *
 * Ties and choices that the publications leave open:
 *
 *   - Simultaneous events: releases before bus events before device events; releases by
 *     (producer, consumer), the others by device. An event that others add at the present
 *     time takes its place among those still to come.
 *   - Servers take what is ready earliest; ties: what was queued first. Ops without
 *     inputs are queued at 0 by op id, the transfers of one op by output.
 *   - A transfer is queued when its op starts, ready at the op's end.
 *   - An op that waits for another on the same device is released once, at its end.
 *   - A control edge to another device counts as an edge from output 0, bytes and all; of
 *     an op without outputs, from a tensor of 0 bytes.
 *   - An op that reads several outputs of a remote op waits for all of them.
 *   - The 25 us after the last transfer of a bus count in the step time.
 *   - Memory: of simultaneous changes, allocations come first. An op without readers
 *     holds its outputs for no time, but they count in the peak.
 */
#ifndef EMP_TESTS_SUPPORT_PLAIN_PLACETO_PLAIN_H
#define EMP_TESTS_SUPPORT_PLAIN_PLACETO_PLAIN_H

#include "tests/support/plain/plain_step.h"

enum {
    PLACETO_GAP_NS = 5700,
    PLACETO_BUS_GAP_NS = 25000,
    PLACETO_FREE_EARLY_NS = 1000 /**< outputs are freed this long before their last reader
                                      ends */
};

/** Time of a transfer on the bus, without the gap. */
int64_t placeto_transfer_ns(int64_t bytes);

/** Simulates; \a start_ns [op] may be NULL. */
void placeto_plain_run(const plain_step *step, int64_t *start_ns, plain_result *result);

#endif /* EMP_TESTS_SUPPORT_PLAIN_PLACETO_PLAIN_H */
