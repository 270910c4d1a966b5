/** \file graphs/import/traces/kineto/window.h
 * Which part of a trace is the step, and which events of it belong together.
 */
#ifndef EMP_GRAPHS_IMPORT_TRACES_KINETO_WINDOW_H
#define EMP_GRAPHS_IMPORT_TRACES_KINETO_WINDOW_H

#include "graphs/import/traces/kineto/step.h"

/** What runs on GPUs, and the calls that started it; arrays of indices of events. */
typedef struct {
    int32_t
        *activity; /**< kernels, copies and sets by the index of their call, then begin */
    int32_t  activity_count;
    int32_t *by_end;  /**< the same by end */
    int32_t *call_of; /**< [event] the call that started it; -1 = none in the trace */
    int32_t *before;  /**< [event] the one before it on its stream; -1 = none */
} emp_activities;

/** O(n log n). emp_activities_clear() releases \a out, also after a failure.
 * \retval EMP_ENOMEM */
emp_status emp_activities_find(emp_activities *out, const emp_kineto *trace,
                               emp_error *err);
void       emp_activities_clear(emp_activities *activities);

/** Those that one call started: \a count of them from the result on. O(log n). */
const int32_t *emp_activities_of(const emp_activities *activities, int32_t call,
                                 int32_t *count);

/** Fills in which step it is: name, step_count, begin_ns, end_ns, main_lane. As
 * emp_step_read(). */
emp_status emp_window_choose(emp_traced_step *step, const emp_kineto *trace,
                             const emp_activities *activities, int64_t number,
                             emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_TRACES_KINETO_WINDOW_H */
