/** \file sim/problem/problem.h
 * What every placement method receives: graph, machine, costs, and which devices each op
 * may use. Read-only and shared by all threads.
 */
#ifndef EMP_SIM_PROBLEM_PROBLEM_H
#define EMP_SIM_PROBLEM_PROBLEM_H

#include <emplace/problem.h>

#include "sim/cost/cost.h"
#include "sim/graph/graph.h"

/** <emplace/problem.h> has what programs see of it. */
struct emp_problem {
    const emp_graph   *graph;   /**< the step graph; borrowed */
    const emp_machine *machine; /**< borrowed, or `adapted` */
    /** The machine less the memory that the runtime keeps of GPUs, with its hops between hosts; owned, its text is
     * borrowed. NULL where the runtime has neither. */
    emp_machine    *adapted;
    emp_runtime     runtime;
    emp_cost_table *costs;      /**< owned */
    uint32_t  *kinds_of_class;  /**< [class]: EMP_KIND_ mask all members allow, never 0;
                                          CPUs are in it unless they are forbidden */
    emp_op_id *leader_of_class; /**< [class]: its lowest op id; decides for the class */
    int32_t   *class_of_op;     /**< [op]: colocation class that binds it, -1 = folded */
    struct emp_sequence
        *sequence;      /**< owned; units of a pipeline (sequence.h), or NULL */
    char workload[256]; /**< spec or path, for records and for expert rules */
};

/** Whether a copy from one device to another has the hop of the runtime: it goes to another host or, where the runtime
 * has a client, to a host other than the client's. */
bool emp_problem_has_hop(const emp_problem *problem, int32_t from, int32_t to);

/** Forbids CPUs to all classes that a GPU can have. Before a simulator or a method uses the problem.
 * What a GPU has no kernel for stays. emp_problem_legalize() then moves a class from a CPU to the first GPU of its
 * host, or else of the machine.
 * \param[out] kept_count  Ops that stay on CPUs, as their class has no kernel for a GPU. NULL is allowed.
 * O(V). \retval EMP_EINVAL  The machine has no GPU. */
emp_status emp_problem_forbid_cpus(emp_problem *problem, int32_t *kept_count,
                                   emp_error *err);

/** True if a placement has no op on a CPU whose class may be on a GPU. O(V). */
bool emp_problem_keeps_gpu_kernels(const emp_problem   *problem,
                                   const emp_device_id *device_of_op);

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

/*
 * Colocation of a user's own, beside that of references and of the file: sets of ops that share a device.
 */

/** Has the ops of each set share a device, with all ops that share one with them already. Nobody else may
 * hold the graph yet. Its hash stays. O(V log V).
 * \param set_of_op  [op count] numbers below the op count; -1: of no set.
 * \retval EMP_ENOMEM  The graph is unchanged. */
emp_status emp_graph_join_classes(emp_graph *graph, const int32_t *set_of_op,
                                  emp_error *err);

/*
 * A copy of a problem whose costs, machine and runtime may be changed, for studies of what
 * the same placements would cost if.
 *
 * Colocation, devices that ops may use, and hashes stay those of the original.
 */

/** Zero-initialise. Change what `costs`, `machine` and `problem.runtime` hold, but for the
 * offsets of tasks, before a simulator is created. */
typedef struct {
    const emp_problem *original; /**< borrowed */
    emp_problem        problem;  /**< to be simulated; graph and classes are borrowed */
    emp_cost_table     costs;    /**< owned, but for cpu_offset */
    emp_machine       *machine;  /**< owned */
} emp_problem_variant;

/** A variant that is like \a original, which must outlive it. O(V).
 * \retval EMP_ENOMEM  Clear it also then. */
emp_status emp_problem_variant_init(emp_problem_variant *variant,
                                    const emp_problem *original, emp_error *err);

/** Back to the original. O(V). */
void emp_problem_variant_restore(emp_problem_variant *variant);
void emp_problem_variant_clear(emp_problem_variant *variant);

#endif /* EMP_SIM_PROBLEM_PROBLEM_H */
