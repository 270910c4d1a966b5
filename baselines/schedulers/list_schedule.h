/** \file baselines/schedulers/list_schedule.h
 * A schedule in the making, and what all list schedulers do with it: they take a task that
 * is ready, choose a device, and book it there.
 *
 * Time. A device runs one task at a time. Between devices a tensor takes the time of its
 * route; all that a task reads of one producer comes in one transfer. Transfers do not wait
 * for each other (Baechi's schedulers book channels of their own, baechi.c).
 *
 * Memory follows the order of decisions, as Baechi's does. The first task of a pin takes the
 * persistent bytes of the pin. A task takes its outputs where it runs, and a copy of what it
 * reads where that is not yet; a tensor and all its copies go when the last of its readers
 * is booked. A task fits on a device if all that it takes there, and its workspace, are free.
 * The oracle runs ops in an order of its own and its allocator leaves gaps, so that it may
 * still say out of memory.
 */
#ifndef EMP_BASELINES_SCHEDULERS_LIST_SCHEDULE_H
#define EMP_BASELINES_SCHEDULERS_LIST_SCHEDULE_H

#include "base/mem.h"
#include "base/rng.h"
#include "baselines/schedulers/task_graph.h"
#include "search/method.h"

/** The options of users. */
typedef struct {
    bool waits; /**< a task starts when its inputs are there; else as soon as its device
                     is free, as in a released program */
} emp_list_options;

/** A task that takes time. */
typedef struct {
    emp_time_ns start, end;
} emp_slot;

typedef struct {
    emp_slot *slot; /**< by time */
    int32_t   count, capacity;
} emp_slots;

typedef struct {
    const emp_task_graph *graph;             /**< borrowed */
    emp_device_id        *device_of_task;    /**< [task]; -1: not booked */
    emp_time_ns          *start_ns, *end_ns; /**< [task] */
    emp_time_ns           makespan_ns;
    emp_slots             slots[EMP_MAX_DEVICES];
    emp_time_ns           free_ns[EMP_MAX_DEVICES]; /**< end of a device's last slot */

    int32_t *ready; /**< tasks whose producers are all booked and that are not */
    int32_t  ready_count;
    int32_t *ready_index; /**< [task] in ready */
    int32_t *missing; /**< [task] tensors that it reads whose producer is not booked */

    emp_device_id *device_of_pin;               /**< [pin]; -1: free */
    int64_t        free_bytes[EMP_MAX_DEVICES]; /**< may be negative: no check needed */
    int32_t       *unread;            /**< [tensor] readers that are not booked */
    uint64_t      *devices_of_tensor; /**< [tensor] bit d: device d has it */
    emp_arrays     arrays;            /**< all of these but slots */

    /* Set by emp_list_place(). */
    bool              may_overflow; /**< a task that fits nowhere falls back */
    const atomic_int *stop;         /**< once set, nothing more is booked; NULL: never */

    /* For emp_schedule_critical_path() only; set by emp_list_place(). */
    emp_rng          rng;
    emp_list_options options;
} emp_list_schedule;

/** Nothing booked. \a graph is borrowed. \retval EMP_ENOMEM */
emp_status emp_list_schedule_init(emp_list_schedule    *schedule,
                                  const emp_task_graph *graph, emp_error *err);
void       emp_list_schedule_clear(
          emp_list_schedule *schedule); /**< legal after a failed init */

static inline emp_time_ns emp_list_time_ns(const emp_list_schedule *s, int32_t task,
                                           emp_device_id device)
{
    return s->graph->time_ns[(size_t)task * (size_t)s->graph->machine->device_count +
                             (size_t)device];
}

/** Whether task may go there: its devices, its pin, and memory. O(inputs). */
bool emp_list_may_go(const emp_list_schedule *s, int32_t task, emp_device_id device);

/** When all inputs of a ready task are on a device. O(inputs). */
emp_time_ns emp_list_arrival_ns(const emp_list_schedule *s, int32_t task,
                                emp_device_id device);

/** Books a ready task: slot, pin, memory, ready list. The order of ready changes.
 * O(inputs + readers + slots after it). \retval EMP_ENOMEM
 * \retval EMP_EINTERRUPTED  The schedule's `stop` is set. */
emp_status emp_list_book(emp_list_schedule *s, int32_t task, emp_device_id device,
                         emp_time_ns start_ns, emp_error *err);

/** Books a ready task into the first gap of the device on which it ends first, or where the
 * end and \a after_ns [device] are least. Ties go to the lower device.
 * \retval EMP_ENOMEM \retval EMP_EINFEASIBLE  It fits nowhere. */
emp_status emp_list_book_first_end(emp_list_schedule *s, int32_t task,
                                   const double *after_ns, emp_error *err);

/** Finds a device for a ready task that fits nowhere: its pin's device, or else the one with most memory left of all
 * that may have the pin, CPUs too. A repair moves the bytes that do not fit there.
 * \retval EMP_EINFEASIBLE  The schedule keeps to memory; the message says in one sentence what is missing. */
emp_status emp_list_fall_back(const emp_list_schedule *s, int32_t task,
                              emp_device_id *device, emp_error *err);

/** Longest way from the start of a task to the end of the last one: mean times, and mean
 * costs of edges if \a with_transfers. Fills \a level [task]. O(V D + E). */
void emp_list_levels(const emp_task_graph *graph, bool with_transfers, double *level);

/** Sorts the tasks by falling level, and tasks of one level by number. Fills \a order [task]. \retval EMP_ENOMEM */
emp_status emp_list_order(const emp_task_graph *graph, bool with_transfers,
                          int32_t *order, emp_error *err);

/** Books every task of an empty schedule. */
typedef emp_status emp_list_scheduler(emp_list_schedule *schedule, emp_error *err);

emp_list_scheduler emp_schedule_heft, emp_schedule_peft, emp_schedule_critical_path;
emp_list_scheduler emp_schedule_etf, emp_schedule_m_topo, emp_schedule_m_etf,
    emp_schedule_m_sct;

/** The part of a method's type that belongs to this folder. */
typedef struct {
    emp_task_units      units;
    emp_list_scheduler *schedule;
} emp_list_method;

/** The place() of these methods: tasks of \a problem, a schedule of them, every op where its
 * task is. Folded ops go to device 0. */
emp_status emp_list_place(const emp_method *type, const emp_problem *problem,
                          const emp_method_params  *params,
                          const emp_owned_decision *proposal, emp_error *err);

/* baechi.c: the event loop of Baechi, and the linear program of m-SCT. */

/** Books every task of an empty schedule. \a favourite_child [task] has -1 where there is
 * none; NULL: no task has one. O(V R D I) with R ready tasks and I inputs.
 * \retval EMP_ENOMEM \retval EMP_EINFEASIBLE  What is left fits nowhere. */
emp_status emp_baechi_schedule(emp_list_schedule *s, const int32_t *favourite_child,
                               emp_error *err);

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

#endif /* EMP_BASELINES_SCHEDULERS_LIST_SCHEDULE_H */
