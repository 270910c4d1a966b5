/** \file tests/policy/hdp/small_problem.h
 * A chain of small layers on a CPU and two GPUs:
 *
 *     in = Placeholder (8,16);  layer i: product = MatMul(before, read of w_i), Relu of
 * it
 *
 * with VariableV2 w_i and its Identity, and at the end a loss fetched from the last
 * layer.
 */
#ifndef EMP_TESTS_POLICY_HDP_SMALL_PROBLEM_H
#define EMP_TESTS_POLICY_HDP_SMALL_PROBLEM_H

#include "search/method.h"

typedef struct {
    emp_machine  machine;
    emp_graph   *graph;
    emp_problem *problem;
} small_problem;

/** A CPU and two GPUs on a bus. */
void small_machine_init(emp_machine *machine);

void small_problem_init(small_problem *p, int32_t layers);
void small_problem_clear(small_problem *p);

#endif /* EMP_TESTS_POLICY_HDP_SMALL_PROBLEM_H */
