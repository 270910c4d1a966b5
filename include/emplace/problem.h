/** \file emplace/problem.h
 * A graph that is to be placed on a machine under a runtime: what each op costs where, which ops
 * share a device, and placements.
 *
 * A placement is an array device_of_op[op count] of the caller's. It is *legal* when every op is
 * on a device that has a kernel for it, and all ops of a colocation class are on one device.
 * emp_problem_legalize() makes any array of devices legal.
 *
 * Queries take O(1) if nothing else is said. A query with a problem that is NULL, or an op or a
 * device that is not there, gives 0, false or -1.
 *
 * Threads. A problem does not change, so threads may share it.
 */
#ifndef EMP_EMPLACE_PROBLEM_H
#define EMP_EMPLACE_PROBLEM_H

#include <emplace/graph.h>
#include <emplace/machine.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct emp_problem emp_problem;

/** A decision about a step: a read-only view of arrays that are the caller's. Frozen. */
typedef struct {
    const emp_device_id *device_of_op; /**< [op count] */
    /** [op count] below EMP_LEVELS; what waits at the least level is served first, and at one
     * level who came first. NULL, or all equal: first come, first served. */
    const uint8_t *level_of_op;
    /** [op count] The op in whose kernel the op is done: itself, or the last of the ops that fuse
     * with it (docs/simulator.md). NULL: every op by itself. */
    const emp_op_id *leader_of_op;
} emp_decision;

/** \param[out] out  The caller's, who destroys it; NULL after a failure.
 * \param graph, machine  Borrowed; both must outlive the problem.
 * \param runtime         Copied.
 * \param workload        A name of the graph for placement files, cut after 255 bytes; copied.
 * O(V + E).
 * \retval EMP_EINVAL  Also an op that runs only on GPUs, on a machine without GPUs or in a class with an op that runs
 *                     only on CPUs.
 * \retval EMP_ENOMEM */
EMP_API emp_status emp_problem_create(emp_problem **out, const emp_graph *graph,
                                      const emp_machine *machine,
                                      const emp_runtime *runtime, const char *workload,
                                      emp_error *err);

/** Loads a graph, a machine and a runtime, as emp_graph_load(), emp_machine_load() and emp_runtime_load() do, and
 * makes a problem of them that owns all three.
 * \param[out] out  The caller's, who destroys it; NULL after a failure.
 * \param runtime   NULL: the one that fits the source (emp_graph_default_runtime()).
 * \retval EMP_EINVAL, EMP_EIO, EMP_EFORMAT, EMP_EUNSUPPORTED, EMP_ECYCLE, EMP_ENOMEM  As these four functions. */
EMP_API emp_status emp_problem_load(emp_problem **out, const char *source,
                                    const char *machine, const char *runtime,
                                    emp_error *err);

/** The graph and the machine of a problem, which live as long as it does if it has loaded them, and else as long as
 * their owner lets them. The memories of this machine lack what the runtime keeps for itself. */
EMP_API const emp_graph   *emp_problem_graph(const emp_problem *problem);
EMP_API const emp_machine *emp_problem_machine(const emp_problem *problem);

/** NULL is allowed. Simulators of it must be destroyed before. */
EMP_API void emp_problem_destroy(emp_problem *problem);

/** Whether the op may be on the device, with its class. A folded op may be anywhere. */
EMP_API bool emp_problem_allows(const emp_problem *problem, emp_op_id op,
                                emp_device_id device);
/** Number of colocation classes. An op that nothing binds is a class by itself. */
EMP_API int32_t emp_problem_class_count(const emp_problem *problem);
/** The class of the op, 0 .. class count - 1; -1 = it is folded. */
EMP_API int32_t emp_problem_class_of_op(const emp_problem *problem, emp_op_id op);
/** Nanoseconds that the op computes on the device when nothing else runs. */
EMP_API emp_time_ns emp_problem_op_time_ns(const emp_problem *problem, emp_op_id op,
                                           emp_device_id device);

/** Makes a placement legal, as TensorFlow's soft placement does. A class goes where its op of
 * the lowest number is. If a member has no kernel there, the class goes to the CPU of that host, or from a CPU to the
 * first GPU of its host, else of the machine.
 * \param[in,out] device_of_op  [op count]; a number that is no device stays.
 * O(V). Nothing happens if an argument is NULL. */
EMP_API void emp_problem_legalize(const emp_problem *problem,
                                  emp_device_id     *device_of_op);

/** Writes a placement file (docs/formats.md) whole or not at all; a file that was there is
 * replaced.
 * \param step_time_s  For readers; negative: it does not fit in memory.
 * \retval EMP_EINVAL  A number is no device, a name is not valid UTF-8, or the step time is infinite
 *                     or NaN.
 * \retval EMP_EIO, EMP_ENOMEM */
EMP_API emp_status emp_placement_save(const char *path, const emp_problem *problem,
                                      const emp_device_id *device_of_op,
                                      double step_time_s, emp_error *err);

/** Fills device_of_op[op count] from a placement file, which is opened once and may be packed by gzip. It
 * need not be legal. An order or a fusion that the file has is checked and left out.
 * \retval EMP_EIO      The file cannot be read.
 * \retval EMP_EFORMAT  No placement file, an unknown op, device or level, or an op left out; the message
 *                      names it. \a device_of_op is written on success only.
 * \retval EMP_EINVAL, EMP_ENOMEM */
EMP_API emp_status emp_placement_load(emp_device_id *device_of_op, const char *path,
                                      const emp_problem *problem, emp_error *err);

#ifdef __cplusplus
}
#endif

#endif /* EMP_EMPLACE_PROBLEM_H */
