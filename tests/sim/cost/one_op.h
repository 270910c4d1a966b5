/** \file tests/sim/cost/one_op.h
 * A graph of one op whose cost is given: cost tables are tested on it.
 */
#ifndef EMP_TESTS_SIM_COST_ONE_OP_H
#define EMP_TESTS_SIM_COST_ONE_OP_H

#include "sim/graph/graph.h"

/** Aborts by assert() when out of memory. */
emp_graph *one_op_graph(const emp_op_cost *cost);

#endif /* EMP_TESTS_SIM_COST_ONE_OP_H */
