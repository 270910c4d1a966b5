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
    struct emp_sequence
        *sequence;      /**< owned; units of a pipeline (sequence.h), or NULL */
    char workload[256]; /**< spec or path, for records and for expert rules */
};

/** Forbids CPUs to all classes that a GPU can have. Before a simulator or a method uses the problem.
 * What a GPU has no kernel for stays. emp_problem_legalize() then moves a class from a CPU to the first GPU of its
 * host, or else of the machine.
 * \param[out] kept_count  Ops that stay on CPUs, as their class has no kernel for a GPU. NULL is allowed.
 * O(V). \retval EMP_EINVAL  The machine has no GPU. */
emp_status emp_problem_forbid_cpus(emp_problem *problem, int32_t *kept_count,
                                   emp_error *err);

/** Whether some op that is not folded may be on more than one device. O(V). */
bool emp_problem_has_choice(const emp_problem *problem);

/** Bytes of variables that cannot be held by the devices that may have them. */
typedef struct {
    uint32_t kinds; /**< EMP_KIND_ mask of those devices; 0 = all variables can be held */
    int64_t  held_bytes, memory_bytes;
} emp_problem_shortage;

/** Says whether memory rules out every placement: the variables of classes that may be on GPUs alone, on
 * CPUs alone, or all variables, are larger than the memories of such devices together. O(V + devices). */
emp_problem_shortage emp_problem_find_shortage(const emp_problem *problem);

#endif /* EMP_SIM_PROBLEM_PROBLEM_H */
