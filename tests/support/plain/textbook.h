/** \file tests/support/plain/textbook.h
 * A second simulator, written only from docs/simulator.md: one event heap, one heap of
 * ready work per server, explicit reference counts, a scan where a scan will do. It
 * shares no code with sim/engine and is the witness that the engine's shortcuts change
 * nothing.
 */
#ifndef EMP_TESTS_SUPPORT_PLAIN_TEXTBOOK_H
#define EMP_TESTS_SUPPORT_PLAIN_TEXTBOOK_H

#include "sim/engine/sim.h"

struct textbook;

/** Makes room for any number of steps of one problem, which is borrowed. Aborts the program by assert() when
 * out of memory, as the other functions do. */
struct textbook *textbook_create(const emp_problem *problem);
/** Simulates one step; \a result gets every member that emp_sim_run() sets. */
void textbook_step(struct textbook *book, const emp_decision *decision,
                   emp_sim_result *result);
void textbook_destroy(struct textbook *book); /**< NULL is allowed */

/** All three. */
void textbook_run(const emp_problem *problem, const emp_decision *decision,
                  emp_sim_result *result);

#endif /* EMP_TESTS_SUPPORT_PLAIN_TEXTBOOK_H */
