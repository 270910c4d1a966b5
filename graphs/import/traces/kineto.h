/** \file graphs/import/traces/kineto.h
 * What PyTorch's profiler (Kineto) writes, in Chrome's format: what the host's threads did,
 * what they asked of the GPUs, and what ran there.
 *
 *     {"deviceProperties": [{"id": 0, "name": "NVIDIA A100", ...}],
 *      "traceEvents": [
 *       {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 7, "ts": 10.5,
 *        "dur": 30, "args": {"External id": 2, "Record function id": 5}},
 *       {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7,
 *        "ts": 20, "dur": 6, "args": {"correlation": 99}},
 *       {"ph": "X", "cat": "kernel", "name": "volta_sgemm", "pid": 0, "tid": 7, "ts": 27,
 *        "dur": 140, "args": {"stream": 7, "correlation": 99}}, ...]}
 *
 * Times are in microseconds. The same names come from CUDA and from ROCm ("hipLaunchKernel"),
 * and traces of 2021 have other words for the categories ("Operator", "Kernel"). The file may
 * also be the bare list of events. Events of other categories are skipped.
 */
#ifndef EMP_GRAPHS_IMPORT_TRACES_KINETO_H
#define EMP_GRAPHS_IMPORT_TRACES_KINETO_H

#include "base/text/json.h"

typedef enum {
    EMP_KINETO_OP,     /**< an operator of PyTorch, on a thread of the host */
    EMP_KINETO_RANGE,  /**< a range that the program names, on a thread */
    EMP_KINETO_CALL,   /**< a call of the GPU's runtime, on a thread */
    EMP_KINETO_KERNEL, /**< on a stream of a GPU */
    EMP_KINETO_COPY,   /**< likewise */
    EMP_KINETO_SET     /**< likewise: memory filled with one byte */
} emp_kineto_kind;

typedef struct {
    emp_kineto_kind kind;
    int32_t         lane; /**< index into lanes: its thread or its stream */
    const char     *name; /**< borrowed from the document */
    union {
        int64_t begin_ns; /**< since the first event of the trace */
        double  begin_us; /**< until all are read: as in the file */
    };
    union {
        int64_t end_ns;
        double  length_us; /**< until all are read */
    };
    int64_t correlation; /**< shared by a call and what it starts; -1 = none */
    int64_t record;      /**< an operator's number in an execution trace; -1 = none */
    const char
           *args;  /**< where they are in the document (emp_json_source()); NULL = none */
    int64_t index; /**< in the file */
} emp_kineto_event;

/** A thread or a stream. */
typedef struct {
    int64_t process; /**< of a stream the GPU's number */
    int64_t number;
    bool    is_stream;
    int32_t index; /**< among the threads, or among the streams */
} emp_kineto_lane;

/** Zero-initialise; emp_kineto_clear() releases it, also after a failure. */
typedef struct emp_kineto {
    emp_json_document document; /**< that it is read from, without its events */
    emp_kineto_event *event;    /**< by begin, of equal ones the longer first */
    int32_t           event_count, event_capacity;
    emp_kineto_lane  *lane; /**< in the order of the file */
    int32_t           lane_count;
    const char       *gpu_name;    /**< of the first GPU; NULL = not said */
    int64_t           read_count;  /**< events so far, of all kinds */
    int64_t           other_count; /**< those of MTIA and HPU, which are not kept */
    emp_error         fault;       /**< the first; events behind it are not read */
} emp_kineto;

/** Parses JSON, whatever it holds: the trace takes the bytes, which become NULL. If there are events, they are read while the
 * text is, and only the first one stays in the document. O(size). \retval  As of emp_json_parse_taken(). */
emp_status emp_kineto_parse(emp_kineto *trace, char **bytes, size_t size, emp_error *err);

/** Completes a trace that is one by emp_kineto_is(). O(n log n).
 * \retval EMP_EFORMAT       An event without what it must have; the message names the event.
 * \retval EMP_EUNSUPPORTED  More events or lanes than can be read. \retval EMP_ENOMEM */
emp_status emp_kineto_finish(emp_kineto *trace, emp_error *err);

void emp_kineto_clear(emp_kineto *trace);

/* One step of a Kineto trace as work that waits for other work: pieces of the host's threads,
 * kernels, copies, and waits.
 *
 * Measured: when a piece, a kernel or a copy began and ended. Derived, by these rules:
 *
 *  - A thread is cut where it starts something on a GPU. A piece lasts from one cut to the next
 *    and holds everything that the thread did there, Python included.
 *  - A kernel waits for the piece whose call started it (correlation id) and for its predecessor
 *    on the stream. The time left until its measured begin is its lead: the time to launch
 *    or to dispatch it, part of its cost. A lead over EMP_STEP_LEAD_NS has a cause that the trace
 *    does not name. If an event on another stream ended just then, the kernel waits for that one;
 *    else the lead becomes a node of its own, a wait.
 *  - A call that synchronizes or copies, and returns after something on a GPU ended, has waited
 *    for it: its thread goes on from that end.
 *  - Another thread begins when the main one reaches that time. If the main one does nothing
 *    meanwhile, it waits for the other.
 *  - The host runs ahead of the GPUs. The step starts when its main stream, the one with the most kernels and copies, is
 *    free for it and has been given something. The work of the host and of other streams until then is moved to the end,
 *    for the step after. Work of the step before on other streams at that time is a wait.
 *
 * So the time of a step is that from one to the next when it is repeated. All else waits for what
 * came before it in the trace, so there is no cycle.
 */

#define EMP_STEP_LEAD_NS INT64_C(50000)

typedef enum { EMP_TRACED_HOST, EMP_TRACED_WAIT, EMP_TRACED_GPU } emp_traced_kind;

typedef struct {
    emp_traced_kind kind;
    int32_t         lane; /**< of the trace: a thread or a stream */
    int32_t
        event;  /**< of the trace: the call that ends a piece, or what ran; -1 = none */
    int32_t op; /**< of the trace: the innermost operator around it; -1 = none */
    int64_t cost_ns;
    int64_t end_ns; /**< when it was done, in the trace */
} emp_traced_node;

/** \a to waits for \a from. */
typedef struct {
    int32_t from, to;
    bool    is_stream_order; /**< for no other reason than that one stream runs both */
} emp_traced_edge;

typedef struct {
    const char *name;       /**< "ProfilerStep#3", or "the whole trace" */
    int32_t     step_count; /**< of the trace */
    int64_t     begin_ns, end_ns;
    int32_t     main_lane;

    emp_traced_node *node; /**< an edge leads to a higher number */
    int32_t          node_count, node_capacity;
    emp_traced_edge *edge;
    int32_t          edge_count, edge_capacity;
    int32_t         *parent; /**< [event] the operator around it; -1 = none */

    int32_t kernel_count, copy_count, set_count;
    int64_t
        gpu_span_ns; /**< from the first begin to the last end on a GPU; 0 = nothing ran */
    int64_t
            measured_ns; /**< on the host, or from its start to the last end on its main stream: the longer */
    int64_t unexplained_ns; /**< all waits together */
} emp_traced_step;

/** Takes the step "ProfilerStep#\a number" apart; with \a number -1 one of the usual length: of
 * the steps that use a GPU (of all, if none does) the one of median duration. A trace without
 * steps is one. O(n log n). emp_step_clear() releases \a step, also after a failure.
 * \retval EMP_EINVAL   There is no such step; the message names those that there are.
 * \retval EMP_EFORMAT  The trace has no events. \retval EMP_ENOMEM */
emp_status emp_step_read(emp_traced_step *step, const emp_kineto *trace, int64_t number,
                         emp_error *err);

void emp_step_clear(emp_traced_step *step);

/* Which part of a trace is the step, and which events of it belong together. */

/** Work on GPUs, and the calls that started it; arrays of indices of events. */
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

/** Compares two int64_t for qsort(). */
int emp_trace_by_value(const void *a, const void *b);

#endif /* EMP_GRAPHS_IMPORT_TRACES_KINETO_H */
