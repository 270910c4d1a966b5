/** \file tests/support/plain/baechi_plain.h
 * Baechi's execution rules (Jeon et al., SoCC 2020) for a given placement, plainly: ops
 * are served one after another, and each books its device and the channels it needs when
 * it is served. docs/simulator.md has the rules.
 *
 * Rounding. A transfer takes 0.0001754 us/B + 134 us: bytes * 877 / 5000 ns, rounded to
 * the nearest nanosecond, halves up, plus 134000 ns. (Baechi itself rounds the sum to
 * microseconds.) Nothing else is rounded. An op of no cost costs nothing (Baechi: 1 us).
 *
 * Ties and choices that the publications leave open:
 *
 *   - Ops are served in the order of (ready time, op id), over all devices together. This
 *     is the order of service, not of start times, and everything below happens in it.
 *   - An op that is served starts at the later of its ready time and the time at which
 *     its device is free; it books its device up to its end.
 *   - Its transfers are booked at once, for consumers by ascending op id, of each the
 *     tensors by output, a control edge last. A channel is not given back: what is served
 *     later is sent later, even if the channel is idle before.
 *   - A sender's channel is free again when the sender has sent, even if the receiver
 *     starts later.
 *   - A control edge between devices carries a tensor of 4 bytes, which later control
 *     edges from the same op find in the receiving device's cache.
 *   - Memory follows the order of service. An op allocates outputs and persistent bytes,
 *     then temporary bytes, which it gives back; then the outputs of each op that it was
 *     the last to wait for are freed. Outputs without a reader stay.
 *   - Received copies take no memory.
 */
#ifndef EMP_TESTS_SUPPORT_PLAIN_BAECHI_PLAIN_H
#define EMP_TESTS_SUPPORT_PLAIN_BAECHI_PLAIN_H

#include "tests/support/plain/plain_step.h"

enum { BAECHI_LATENCY_NS = 134000, BAECHI_CONTROL_BYTES = 4 };

/** Time of a transfer on a channel. */
int64_t baechi_transfer_ns(int64_t bytes);

/** Simulates; \a start_ns [op] may be NULL. */
void baechi_plain_run(const plain_step *step, int64_t *start_ns, plain_result *result);

#endif /* EMP_TESTS_SUPPORT_PLAIN_BAECHI_PLAIN_H */
