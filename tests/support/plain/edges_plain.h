/** \file tests/support/plain/edges_plain.h
 * The execution rules of GiPH (Hu et al., MLSys 2023) and DOPPLER (Yao et al., ICLR 2026) for a
 * given placement, plainly: a clock goes from one end of an op or message to the next.
 * docs/simulator.md has the rules.
 *
 *   - An op is ready when all that its edges carry is there. A device runs one op at a time and
 *     takes the one that became ready first; of several the one with the least id.
 *   - An edge between two devices is a message that begins when its producer ends. Messages do
 *     not wait for one another. On one device what an edge carries is there at once.
 *   - Of ops that could start at one time on several devices, the first by (ready time, id)
 *     starts first: that counts only where ops take no time.
 *   - Memory is Baechi's, in the order of (ready time, id): baechi_plain.h.
 */
#ifndef EMP_TESTS_SUPPORT_PLAIN_EDGES_PLAIN_H
#define EMP_TESTS_SUPPORT_PLAIN_EDGES_PLAIN_H

#include "tests/support/plain/plain_step.h"

/** Simulates; \a start_ns [op] may be NULL. \a message_ns [edge] is what each edge would take
 * between the devices of its ends. */
void edges_plain_run(const plain_step *step, const int64_t *message_ns, int64_t *start_ns,
                     plain_result *result);

/** The times of a step's edges on a problem's machine, in its order; \a message_ns has room for
 * step->edge_count. For a graph that comes with times of copies, these times. */
void edges_plain_messages(const plain_step *step, const emp_problem *problem,
                          int64_t *message_ns);

#endif /* EMP_TESTS_SUPPORT_PLAIN_EDGES_PLAIN_H */
