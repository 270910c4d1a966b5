/** \file graphs/import/traces/kineto/step_internal.h
 * How a step is taken apart: a sweep over its moments in the order of time, each thread as far
 * as it has come. For the files step*.c alone.
 */
#ifndef EMP_GRAPHS_IMPORT_TRACES_KINETO_STEP_INTERNAL_H
#define EMP_GRAPHS_IMPORT_TRACES_KINETO_STEP_INTERNAL_H

#include "graphs/import/traces/kineto/step.h"

/* Which part of a trace is the step, and which events of it belong together. */

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

enum { EMP_STEP_PENDING_MAX = 8, EMP_STEP_LOOK_BACK = 64 };

/* What happens at one moment; of equal ones the first kind comes first. */
typedef enum {
    MOMENT_PAUSE,
    MOMENT_RESUME,
    MOMENT_CALL,
    MOMENT_OP_END
} emp_step_moment_kind;

typedef struct {
    int64_t              time_ns;
    emp_step_moment_kind kind;
    int32_t              lane;
    int32_t              event;     /* of MOMENT_CALL and MOMENT_OP_END */
    bool                 is_joined; /* the main thread waits meanwhile */
} emp_step_moment;

/* A thread, as far as it has come; or a stream. */
typedef struct {
    int64_t at_ns;
    int32_t last;                          /* node; -1 = none */
    int32_t waits_for;                     /* lane; -1 = none */
    int32_t pending[EMP_STEP_PENDING_MAX]; /* nodes that its next piece waits for */
    int32_t pending_count;
    int64_t busy_until_ns; /* of a thread: end of its operators and calls so far */
} emp_step_lane;

typedef struct {
    emp_traced_step  *step;
    const emp_kineto *trace;
    emp_activities    activities;
    emp_step_lane    *lane;
    emp_step_moment  *moment;
    int32_t           moment_count;
    int32_t          *node_of; /* [event] of what runs on GPUs; -1 = none */
    int64_t           first_gpu_ns, last_gpu_ns;
    int64_t start_ns;      /* the first stream is free, and has been given something */
    int64_t usual_call_ns; /* median of the calls that start something */
    bool    has_activities;
} emp_splitter;

/** Adds a node; one edge, unless \a from is -1. */
emp_status emp_splitter_add_node(int32_t *out, emp_traced_step *step,
                                 emp_traced_node node, emp_error *err);
emp_status emp_splitter_add_edge(emp_traced_step *step, int32_t from, int32_t to,
                                 bool is_stream_order, emp_error *err);

/** Ends the piece of a thread at a moment; \a event, or -1, is the call that ends it. */
emp_status emp_splitter_cut(emp_splitter *s, int32_t lane, int64_t time_ns, int32_t event,
                            emp_error *err);

/** The thread goes on at a moment, when \a node is done. */
emp_status emp_splitter_resume(emp_splitter *s, int32_t lane, int64_t time_ns,
                               int32_t node, emp_error *err);

/** Finds when the step starts. */
void emp_splitter_find_start(emp_splitter *s);

/** Moves what the host did before that to the end. \retval EMP_ENOMEM */
emp_status emp_splitter_run_ahead(emp_splitter *s, emp_error *err);

/** Adds what ran on a GPU: \a piece has started it, and was done with that at
 * \a issued_ns. */
emp_status emp_splitter_add_activity(emp_splitter *s, int32_t event, int32_t piece,
                                     int64_t issued_ns, emp_error *err);

/** When a call has handed over what it starts. */
int64_t emp_splitter_issue_end(const emp_splitter *s, int32_t call);

/** A call: what it starts, and what it waits for. */
emp_status emp_splitter_at_call(emp_splitter *s, const emp_step_moment *m,
                                emp_error *err);

/** Fills in the moments, by time. */
emp_status emp_splitter_find_moments(emp_splitter *s, emp_error *err);

/** Whether an operator or a call of a thread begins in the step. */
bool emp_splitter_is_in(const emp_splitter *s, const emp_kineto_event *event);

#endif /* EMP_GRAPHS_IMPORT_TRACES_KINETO_STEP_INTERNAL_H */
