/** \file sim/problem/problem.h
 * What every placement method receives: graph, machine, costs, and which devices each op
 * may use. Read-only and shared by all threads.
 */
#ifndef EMP_SIM_PROBLEM_PROBLEM_H
#define EMP_SIM_PROBLEM_PROBLEM_H

#include <emplace/problem.h>

#include "sim/cost/cost.h"

/** <emplace/problem.h> has what programs see of it. */
struct emp_problem {
    const emp_graph   *graph;   /**< the step graph; borrowed */
    const emp_machine *machine; /**< borrowed */
    emp_runtime        runtime;
    emp_cost_table    *costs;   /**< owned */
    uint32_t  *kinds_of_class;  /**< [class]: EMP_KIND_ mask all members allow, never 0;
                                          CPUs are in it unless they are forbidden */
    emp_op_id *leader_of_class; /**< [class]: its lowest op id; decides for the class */
    int32_t   *class_of_op;     /**< [op]: colocation class that binds it, -1 = folded */
    char       workload[256];   /**< spec or path, for records and for expert rules */
};

/** Forbids CPUs to all classes that a GPU can have. Before a simulator or a method uses the problem.
 * emp_problem_legalize() then moves such a class from a CPU to the first GPU of its host, or else of the machine.
 * \param[out] kept_count  Ops that stay on CPUs, as their class has no kernel for a GPU. NULL is allowed.
 * O(V). \retval EMP_EINVAL  The machine has no GPU. */
emp_status emp_problem_forbid_cpus(emp_problem *problem, int32_t *kept_count,
                                   emp_error *err);

#endif /* EMP_SIM_PROBLEM_PROBLEM_H */
