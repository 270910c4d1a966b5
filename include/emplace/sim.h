/** \file emplace/sim.h
 * The oracle: how long one training step takes under a placement, and whether it fits in memory.
 *
 *     emp_sim        *sim = NULL;
 *     emp_sim_result *result = NULL;
 *     emp_sim_create(&sim, problem, &err);
 *     emp_sim_result_create(&result, &err);
 *     for (each placement)
 *         if (emp_sim_run(sim, device_of_op, result, &err) == EMP_OK)
 *             printf("%g s\n", (double)emp_sim_result_step_time_ns(result) * 1e-9);
 *     emp_sim_result_destroy(result);
 *     emp_sim_destroy(sim);
 *
 * Equal inputs give equal results, bit for bit, on any number of threads. A step that does not fit
 * in memory is a result like others: it has a time, as if memory were unlimited, and a verdict.
 *
 * Threads. A simulator, a team and a result are each confined to one thread at a time. A fork may go
 * on with its parent's.
 */
#ifndef EMP_EMPLACE_SIM_H
#define EMP_EMPLACE_SIM_H

#include <emplace/problem.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct emp_sim        emp_sim;
typedef struct emp_sim_team   emp_sim_team;
typedef struct emp_sim_result emp_sim_result;

/** The first allocation of a step that did not fit. Frozen. */
typedef struct {
    emp_device_id device;
    emp_op_id     op;    /**< that asked for it */
    int64_t       bytes; /**< asked for */
    emp_time_ns   at_ns; /**< since the step began */
} emp_oom;

/* ---- results ---- */

/** Storage for a result, used as often as wanted.
 * \param[out] out  The caller's, who destroys it. O(1). \retval EMP_EINVAL, EMP_ENOMEM */
EMP_API emp_status emp_sim_result_create(emp_sim_result **out, emp_error *err);
/** NULL is allowed. */
EMP_API void emp_sim_result_destroy(emp_sim_result *result);

/* Queries take O(1) and give 0 for a result that is NULL or of no run, and for a device that is
 * not there. */

EMP_API emp_time_ns emp_sim_result_step_time_ns(const emp_sim_result *result);
/** Whether all devices had enough memory. */
EMP_API bool emp_sim_result_is_feasible(const emp_sim_result *result);
/** \param[out] oom  The first allocation that did not fit; untouched if all did, NULL is allowed.
 * \return  Whether there is one. */
EMP_API bool emp_sim_result_oom(const emp_sim_result *result, emp_oom *oom);
/** The most memory that the device had in use, in bytes. */
EMP_API int64_t emp_sim_result_peak_bytes(const emp_sim_result *result,
                                          emp_device_id         device);
/** How long the device computed; of a CPU the time of all its cores, over their number. Under msr-latency, whose CPUs
 * run any number of ops at once, it is the sum over ops, which may exceed the step. */
EMP_API emp_time_ns emp_sim_result_busy_ns(const emp_sim_result *result,
                                           emp_device_id         device);
/** Bytes sent between devices. */
EMP_API int64_t emp_sim_result_traffic_bytes(const emp_sim_result *result);

/* ---- one placement at a time ---- */

/** Creates a simulator. \a problem is borrowed and must outlive it. O(V + E).
 * \param[out] out  The caller's, who destroys it; NULL after a failure.
 * \retval EMP_EUNSUPPORTED  Times, bytes or numbers of ops beyond what a step can have, or a
 *                           constant of the runtime with which its rules cannot work.
 * \retval EMP_EINVAL, EMP_ENOMEM */
EMP_API emp_status emp_sim_create(emp_sim **out, const emp_problem *problem,
                                  emp_error *err);

/** Simulates one step. Allocates nothing. O((V + E devices) log(devices + links)).
 * \param device_of_op  [op count], legal.
 * \param[out] result   Written on success only.
 * \retval EMP_EINVAL  An entry is no device, or not one that the op may use. */
EMP_API emp_status emp_sim_run(emp_sim *sim, const emp_device_id *device_of_op,
                               emp_sim_result *result, emp_error *err);

/** As emp_sim_run(), with an order, too.
 * \retval EMP_EINVAL       Also a level that is none.
 * \retval EMP_EUNSUPPORTED The rules of this runtime have no levels. */
EMP_API emp_status emp_sim_run_decision(emp_sim *sim, const emp_decision *decision,
                                        emp_sim_result *result, emp_error *err);

/** As emp_sim_run_decision(), and says when ops ran, in nanoseconds since the step began; of a
 * kernel, not of its issue.
 * \param[out] start_ns, end_ns  [op count]; folded ops do not run, and their entries stay. */
EMP_API emp_status emp_sim_run_times(emp_sim *sim, const emp_decision *decision,
                                     emp_time_ns *start_ns, emp_time_ns *end_ns,
                                     emp_sim_result *result, emp_error *err);

/** NULL is allowed. */
EMP_API void emp_sim_destroy(emp_sim *sim);

/* ---- many placements on several threads ---- */

/** Creates one simulator a thread. \a problem is borrowed and must outlive them. O(threads
 * (V + E)).
 * \param threads  From 1 to 1024.
 * \retval EMP_EINVAL  So many threads cannot be. Else as emp_sim_create(). */
EMP_API emp_status emp_sim_team_create(emp_sim_team **out, const emp_problem *problem,
                                       int32_t threads, emp_error *err);

/** Makes placements legal, in place, and simulates a step under each. Results do not depend on
 * the number of threads.
 * \param[in,out] device_of_op  [count][op count], different arrays.
 * \param[out]    results       [count], different ones.
 * \retval EMP_EINVAL  A number is no device, or \a count is negative. The message is of the first
 *                     placement that failed; results of others are written. */
EMP_API emp_status emp_sim_team_run(emp_sim_team         *team,
                                    emp_device_id *const *device_of_op, int32_t count,
                                    emp_sim_result *const *results, emp_error *err);

/** NULL is allowed. */
EMP_API void emp_sim_team_destroy(emp_sim_team *team);

#ifdef __cplusplus
}
#endif

#endif /* EMP_EMPLACE_SIM_H */
