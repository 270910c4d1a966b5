/** \file baselines/schedulers/baechi.h
 * The event loop of Baechi (Jeon et al., SoCC 2020), which m-ETF and m-SCT share, after its
 * program.
 *
 * A device runs one task at a time and has one channel for all that it sends and receives.
 * A transfer begins at the sender when its task has ended and the channel is free, at the
 * receiver when that one's channel is free as well, and holds each of them for as long as it
 * takes. A device keeps the tensors that it has received; a task's other inputs from one producer come
 * in one transfer. A transfer is booked with the task that reads it, producers in ascending
 * order, and what a choice is judged by is exactly what booking would give.
 *
 * At each moment, of all ready tasks and devices on which they fit and could start by now,
 * the earliest such pair is booked, until there is none; then time goes on to the next
 * moment at which a task could start or a device is free. A task that did not fit may do so
 * later, when others have given memory back. Ties go to the lower task, then device.
 *
 * Favourites (Hanen and Munier 1995). When a task has ended and its favourite child, all of
 * whose producers have ended, could start nowhere earlier than on this device, then the
 * device is awake: it runs that child, or meanwhile a task that is urgent, one that by now
 * could start on any device that it may use, and nothing else.
 */
#ifndef EMP_BASELINES_SCHEDULERS_BAECHI_H
#define EMP_BASELINES_SCHEDULERS_BAECHI_H

#include "base/mem.h"
#include "baselines/schedulers/list_schedule.h"
#include "baselines/schedulers/task_graph.h"

/** Books every task of an empty schedule. \a favourite_child [task] has -1 where there is
 * none; NULL: no task has one. O(V R D I) with R ready tasks and I inputs.
 * \retval EMP_ENOMEM \retval EMP_EINFEASIBLE  What is left fits nowhere. */
emp_status emp_baechi_schedule(emp_list_schedule *s, const int32_t *favourite_child,
                               emp_error *err);

/* The linear program of small communication times (Hanen and Munier 1995), by GLPK. On
 * unlimited devices, tasks i with times p, edges i -> j with costs c:
 *
 *     min w   0 <= x_ij <= 1,  s_i >= 0
 *             s_i + p_i + c_ij x_ij <= s_j    each edge
 *             sum of x_ij over readers j of i  >=  their number - 1
 *             sum of x_ij over producers i of j  >=  their number - 1
 *             s_i + p_i <= w                  each task
 *
 * x_ij = 0 means that j is i's favourite child: it follows on the same device at once. An
 * edge between tasks that have no device in common has x_ij = 1.
 *
 * p is the mean time of a task on its devices, c the mean cost of a transfer between two of
 * both tasks' devices.
 *
 * Several solutions may be best; the one that comes out is GLPK's choice, the same each time.
 *
 * Threads. GLPK has an environment for each thread, and this ends it; nothing is printed. */

/** An edge between tasks. */
typedef struct {
    int32_t from, to;
    double  cost_ns;
    bool    is_apart; /**< no device in common */
} emp_sct_edge;

typedef struct {
    int32_t       edge_count;
    emp_sct_edge *edge;        /**< [edge] by (to, from) */
    double       *apart;       /**< [edge] x */
    double       *start_ns;    /**< [task] s */
    double        makespan_ns; /**< w */
    /* Dual values, >= 0, a proof that no w is less (tests check it): */
    double *edge_dual;    /**< [edge] of its row */
    double *readers_dual; /**< [task] of the row of its readers; 0 where there is none */
    double *producers_dual; /**< [task] likewise */
    double *end_dual;       /**< [task] of s + p <= w; of tasks with readers 0 */
    emp_arrays arrays;      /**< all of these */
} emp_sct_solution;

/** Solves it by the dual simplex method. \retval EMP_ENOMEM
 * \retval EMP_EEXTERNAL  GLPK fails. */
emp_status emp_sct_solve(emp_sct_solution *solution, const emp_task_graph *graph,
                         emp_error *err);
void emp_sct_solution_clear(emp_sct_solution *solution); /**< legal after a failure */

#endif /* EMP_BASELINES_SCHEDULERS_BAECHI_H */
