/** \file tests/support/owners.h
 * Variables that release what they hold at the end of their block, by GCC's and Clang's attribute cleanup:
 *
 *     OWN_GRAPH g = kit_finish(b);
 *
 * One declares one variable a line, and gives it a value before the block can be left.
 */
#ifndef EMP_TESTS_SUPPORT_OWNERS_H
#define EMP_TESTS_SUPPORT_OWNERS_H

#include "sim/engine/sim.h"
#include "sim/explain/explain.h"
#include "tests/support/survive.h"

EMP_OWNS(emp_graph, emp_graph_destroy)
EMP_OWNS(emp_machine, emp_machine_destroy)
EMP_OWNS(emp_problem, emp_problem_destroy)
EMP_OWNS(emp_sim, emp_sim_destroy)
EMP_OWNS(emp_explanation, emp_explain_destroy)

#define OWN_GRAPH       EMP_OWNER(emp_graph)
#define OWN_MACHINE     EMP_OWNER(emp_machine)
#define OWN_PROBLEM     EMP_OWNER(emp_problem)
#define OWN_SIM         EMP_OWNER(emp_sim)
#define OWN_EXPLANATION EMP_OWNER(emp_explanation)

#endif /* EMP_TESTS_SUPPORT_OWNERS_H */
