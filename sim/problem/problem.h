/** \file sim/problem/problem.h
 * What every placement method receives: graph, machine, costs, and which devices each op
 * may use. Read-only and shared by all threads.
 */
#ifndef EMP_SIM_PROBLEM_PROBLEM_H
#define EMP_SIM_PROBLEM_PROBLEM_H

#include "sim/cost/cost.h"

typedef struct emp_problem {
    const emp_graph   *graph;   /**< the step graph; borrowed */
    const emp_machine *machine; /**< borrowed */
    emp_runtime        runtime;
    emp_cost_table    *costs;          /**< owned */
    uint32_t          *kinds_of_class; /**< [class]: EMP_KIND_ mask all members allow;
                                          CPUs are always in it */
    emp_op_id *leader_of_class; /**< [class]: its lowest op id; decides for the class */
    int32_t   *class_of_op;     /**< [op]: colocation class that binds it, -1 = folded */
    char       workload[256];   /**< spec or path, for records and for expert rules */
} emp_problem;

/** \a graph and \a machine are borrowed and must outlive the problem. O(V + E). */
emp_status emp_problem_create(emp_problem **out, const emp_graph *graph,
                              const emp_machine *machine, const emp_runtime *runtime,
                              const char *workload, emp_error *err);
void       emp_problem_destroy(emp_problem *problem);

/** Makes a placement legal, as TensorFlow's soft placement does: every colocation class
 * goes where its leader is, and to the CPU of its host, which runs every op, if a
 * member has no kernel for that device.
 * Folded ops keep their entry; it has no effect. O(V). */
void emp_problem_legalize(const emp_problem *problem, emp_device_id *device_of_op);

#endif /* EMP_SIM_PROBLEM_PROBLEM_H */
