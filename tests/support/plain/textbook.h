/** \file tests/support/plain/textbook.h
 * A second simulator, written from docs/simulator.md alone: one event heap, one heap of
 * ready work per server, explicit reference counts, a scan where a scan will do. It
 * shares no code with sim/engine and is the witness that the engine's shortcuts change
 * nothing.
 */
#ifndef EMP_TESTS_SUPPORT_PLAIN_TEXTBOOK_H
#define EMP_TESTS_SUPPORT_PLAIN_TEXTBOOK_H

#include "sim/engine/sim.h"

/** Simulates one step; \a result gets every member that emp_sim_run() sets. Aborts the
 * test program by assert() when memory is out. */
void textbook_run(const emp_problem *problem, const emp_decision *decision,
                  emp_sim_result *result);

#endif /* EMP_TESTS_SUPPORT_PLAIN_TEXTBOOK_H */
