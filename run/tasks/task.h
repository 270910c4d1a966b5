/** \file run/tasks/task.h
 * Tasks: workloads on machines, and what their runs share.
 *
 *     EMP_TRY(emp_tasks_load(loaded, tasks, count, &runtime, threads, err));
 *     ...loaded[i].problem...
 *     emp_tasks_clear(loaded, count);
 *
 * A study says under which runtime its tasks run. A frozen task states its own runtime, and hashes
 * that its graph, machine and runtime must have: its results are to be compared for years.
 */
#ifndef EMP_RUN_TASKS_TASK_H
#define EMP_RUN_TASKS_TASK_H

#include "graphs/import/notes/notes.h"
#include "sim/problem/problem.h"

/** The machine that a graph file states, as a name. */
#define EMP_OWN_MACHINE "instance"

/** The facts that keep a task the same. */
typedef struct {
    const char *runtime; /**< a profile's name */
    /** 0: not known yet, so that nothing is compared. */
    uint64_t graph_hash, machine_hash, runtime_hash;
} emp_frozen_task;

/** A task: a workload on a machine. */
typedef struct {
    const char            *key;     /**< "nmt2", for options */
    const char            *title;   /**< "NMT, 2 layers" */
    const char            *spec;    /**< or a graph file */
    const char            *machine; /**< a name, a file, or EMP_OWN_MACHINE */
    int32_t                gpu_count;
    const emp_frozen_task *frozen; /**< NULL: its study says the runtime */
} emp_task;

/** A task with what its runs share. All owned. */
typedef struct {
    emp_graph   *graph; /**< of a step */
    emp_machine *machine;
    emp_problem *problem;
} emp_loaded_task;

/** Loads all tasks in parallel, largest last. \a loaded is zeroed; clear it also after
 * a failure.
 * \param[in] runtime  Of the tasks that are not frozen; NULL: emp_task_runtime() of each.
 * \retval EMP_EINVAL  A hash differs from a frozen task's; the message says which. */
emp_status emp_tasks_load(emp_loaded_task *loaded, const emp_task *tasks, int32_t count,
                          const emp_runtime *runtime, int32_t threads, emp_error *err);
void       emp_tasks_clear(emp_loaded_task *loaded, int32_t count);

/** The profile of a task whose user names none: on the machine that its file states the one by whose
 * rules such files are meant, if there is one, and emp_graph_default_runtime() else.
 * \param[in]  is_own  On that machine. \param[out] why  A clause for people; NULL is fine. */
const char *emp_task_runtime(const emp_graph *graph, const emp_import_devices *devices,
                             bool is_own, const char **why);

/** The machine of the devices that a graph file states; \a spec is for the message.
 * \retval EMP_EINVAL  It states none. */
emp_status emp_own_machine_create(emp_machine **out, const emp_import_devices *devices,
                                  const char *spec, emp_error *err);

#endif /* EMP_RUN_TASKS_TASK_H */
