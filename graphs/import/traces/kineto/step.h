/** \file graphs/import/traces/kineto/step.h
 * One step of a Kineto trace as work that waits for other work: pieces of the host's threads,
 * kernels, copies, and waits.
 *
 * Measured: when a piece, a kernel or a copy began and ended. Derived, by these rules:
 *
 *  - A thread is cut where it starts something on a GPU. A piece lasts from one cut to the next
 *    and holds everything that the thread did there, Python included.
 *  - A kernel waits for the piece whose call started it (correlation id) and for its predecessor
 *    on the stream. What then is left until its measured begin is its lead: the time to launch
 *    or to dispatch it, part of its cost. A lead over EMP_STEP_LEAD_NS has a cause that the trace
 *    does not name. If an event on another stream ended just then, the kernel waits for that one;
 *    else the lead becomes a node of its own, a wait.
 *  - A call that synchronizes or copies, and returns after something on a GPU ended, has waited
 *    for it: its thread goes on from that end.
 *  - Another thread begins when the main one reaches that time. If the main one does nothing
 *    meanwhile, it waits for the other.
 *  - The host runs ahead of the GPUs. The step starts when the first stream is free for it and has
 *    been given something. What the host did until then it does at the end, for the step after.
 *    What the step before has left on other streams at that time is a wait.
 *
 * So the time of a step is that from one to the next when it is repeated. All else waits for what
 * came before it in the trace, so there is no cycle.
 */
#ifndef EMP_GRAPHS_IMPORT_TRACES_KINETO_STEP_H
#define EMP_GRAPHS_IMPORT_TRACES_KINETO_STEP_H

#include "graphs/import/traces/kineto/kineto.h"

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

    int32_t kernel_count, copy_count;
    int64_t
        gpu_span_ns; /**< from the first begin to the last end on a GPU; 0 = nothing ran */
    int64_t
        measured_ns; /**< on the host, or from its start to the last end on a GPU: the longer */
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

#endif /* EMP_GRAPHS_IMPORT_TRACES_KINETO_STEP_H */
