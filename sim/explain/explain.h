/** \file sim/explain/explain.h
 * Why a simulated step takes as long, and needs as much memory, as it does.
 *
 *     emp_explanation *why = NULL;
 *     EMP_TRY(emp_explain_create(&why, problem, &decision, err));
 *     ... why->cause_ns, why->segment, why->device ...
 *     emp_explain_destroy(why);
 *
 * All times are whole nanoseconds and add up without a remainder. docs/simulator.md explains
 * the other words (issue, seen, home).
 *
 * Critical path. A chain of segments that partition [0, step time]: each begins where
 * the one before ends. It is found backwards. The fixed cost of the step comes last;
 * before it stands the op that ends last (of several, the one reported last). From then
 * on the question is always the same, what had to happen just before:
 *
 *  - an op runs; before that it waited for the device (stream, server, cores), since
 *    other ops had it; before that it was issued; before that it waited for the host
 *    thread; then came what made it ready: the last of its inputs, control inputs and
 *    messages to arrive;
 *  - a kernel whose issue ends before its inputs are computed (they are queued on the
 *    same stream) waits for their kernels rather than for its own issue: the wait for the
 *    device is only what lies behind the last of them, and the path goes on there. Data
 *    passes through ops without kernels; tensors in host memory and control inputs hold
 *    at issue, as in the model;
 *  - a copy is received, before that polled for, before that it crossed its links, before
 *    that it waited: until the compute queued at its ends is done, then for its stream,
 *    then for links; before that it was sent, or its producer's kernel was still running;
 *    then its producer was done;
 *  - an op whose tasks share CPU cores runs while at least one of its tasks does, and
 *    waits for cores while none does.
 *
 * Idle time. A device is busy while at least one op runs on it (for a CPU that is not
 * the core time / cores of emp_sim_result). An idle gap ends when an op starts; the
 * path backwards from that start, as above, to the start of the gap says what the gap
 * was spent on. After its last op a device has nothing left to do, then comes the fixed
 * cost of the step. Per device, busy + all idle causes = step time.
 *
 * Memory. The buffers in use when a device first reaches its peak, and when the first
 * allocation did not fit: it adds up to the bytes in use. Sizes are allocated bytes
 * (rounded up to 256 bytes). A shared buffer counts once, under the tensor that it was
 * allocated for. Where memory is handed out as chunks (bfc_allocator) a peak is where the
 * last chunk ends, and the difference are holes between chunks; it can be below zero
 * behind an out-of-memory verdict, as whatever finds no chunk is put on top of the memory.
 * With caching_allocator a peak is what all segments have.
 *
 * Time of ops. An op takes the time in which it, or on a CPU at least one of its tasks, runs.
 * Ops that take no time are not counted. On a CPU ops run side by side, so that their times
 * can add up to more than the step. A scope that takes more than a fifth of the time
 * of a device's ops is divided into its parts: the scopes within it, and its own ops.
 */
#ifndef EMP_SIM_EXPLAIN_EXPLAIN_H
#define EMP_SIM_EXPLAIN_EXPLAIN_H

#include "sim/engine/sim.h"
#include "sim/graph/graph.h"
#include "sim/problem/problem.h"

/* The name scopes of a graph as a tree. An op belongs to the scope that its name has but for
 * the last part: "softmax/MatMul_3" to "softmax". A gradient op belongs to the scope of the op
 * that it differentiates: "gradients/softmax/MatMul_3_grad/MatMul" to "softmax", too. */

typedef struct {
    const char *name; /**< not terminated; borrowed from the graph */
    int32_t     length;
    int32_t     parent;   /**< lower than its own number; -1 of the root */
    int32_t     op_count; /**< in it and in all scopes below it */
} emp_scope;

/** Read its members; zero-initialise before emp_scopes_init(). */
typedef struct {
    int32_t    count;
    emp_scope *scope;  /**< [count]; scope 0 is the root, whose name is empty */
    int32_t   *of_op;  /**< [op]; -1 = folded */
    int32_t    limit_; /**< private */
} emp_scopes;

/** \a graph must outlive it. O(bytes of all names). \retval EMP_ENOMEM  Clear it also then. */
emp_status emp_scopes_init(emp_scopes *scopes, const emp_graph *graph, emp_error *err);
void       emp_scopes_clear(emp_scopes *scopes);

/** Whether \a scope is \a outer or below it. O(depth). */
bool emp_scopes_is_in(const emp_scopes *scopes, int32_t scope, int32_t outer);

/** Why a device idles: name, key in JSON. */
#define EMP_EXPLAIN_IDLE_LIST(X)    \
    X(TRANSFER, "transfer")         \
    X(OTHER_DEVICE, "other_device") \
    X(CPU, "cpu")                   \
    X(ISSUE, "issue")               \
    X(MESSAGE, "message")           \
    X(NOTHING_LEFT, "nothing_left") \
    X(STEP, "step")

typedef enum {
#define X(name, key) EMP_IDLE_##name,
    EMP_EXPLAIN_IDLE_LIST(X)
#undef X
        EMP_IDLE_COUNT
} emp_explain_idle;

/** The causes of a stretch of the critical path: name, key in JSON, words, and the idle
 * cause of a device that waits for it. */
#define EMP_EXPLAIN_CAUSE_LIST(X)                                                  \
    X(GPU_OP, "gpu_op", "op runs on a GPU", OTHER_DEVICE)                          \
    X(CPU_OP, "cpu_op", "op runs on the CPU", CPU)                                 \
    X(GPU_WAIT, "gpu_wait", "op waits for a busy GPU", OTHER_DEVICE)               \
    X(CPU_WAIT, "cpu_wait", "op waits for busy CPU cores", CPU)                    \
    X(ISSUE, "issue", "host thread issues the op", ISSUE)                          \
    X(HOST_WAIT, "host_wait", "waits for a busy host thread", ISSUE)               \
    X(SEND, "send", "copy is sent", TRANSFER)                                      \
    X(COPY_COMPUTE_WAIT, "copy_compute_wait", "copy waits for queued compute",     \
      OTHER_DEVICE)                                                                \
    X(COPY_STREAM_WAIT, "copy_stream_wait", "copy waits for its stream", TRANSFER) \
    X(LINK_WAIT, "link_wait", "copy waits for a link", TRANSFER)                   \
    X(TRANSFER, "transfer", "copy crosses the links", TRANSFER)                    \
    X(POLL, "poll", "copy is done, not yet seen", TRANSFER)                        \
    X(RECEIVE, "receive", "copy is received", TRANSFER)                            \
    X(MESSAGE, "message", "control message", MESSAGE)                              \
    X(STEP, "step", "fixed cost of the step", STEP)

typedef enum {
#define X(name, key, words, idle) EMP_CAUSE_##name,
    EMP_EXPLAIN_CAUSE_LIST(X)
#undef X
        EMP_CAUSE_COUNT
} emp_explain_cause;

/** A stretch of the critical path. */
typedef struct {
    emp_explain_cause cause;
    emp_time_ns       start_ns, end_ns;
    emp_op_id         op;     /**< that runs, waits or sends; -1 = the step itself */
    emp_tensor_id     tensor; /**< that is copied; -1 = none */
    emp_device_id     device; /**< of the op; where a copy or message comes from; or -1 */
    emp_device_id     to;     /**< where a copy or message goes; else -1 */
    emp_device_id     busy;   /**< that is waited for since it runs other ops; else -1 */
} emp_explain_segment;

/** The kinds of buffers: name, key in JSON and word. */
#define EMP_EXPLAIN_KIND_LIST(X)                                              \
    X(PERSISTENT, "persistent") /**< a variable or slot */                    \
    X(ACTIVATION, "activation") /**< an output of an op, at home */           \
    X(COPY, "copy")             /**< an output of an op, in another memory */ \
    X(WORKSPACE, "workspace")   /**< of an op that runs */

typedef enum {
#define X(name, key) EMP_HELD_##name,
    EMP_EXPLAIN_KIND_LIST(X)
#undef X
        EMP_HELD_COUNT
} emp_explain_kind;

typedef struct {
    int64_t          bytes;
    emp_op_id        op;     /**< whose variable, output or workspace it is */
    emp_tensor_id    tensor; /**< -1 = it is none of an op's outputs */
    emp_explain_kind kind;
} emp_explain_buffer;

enum { EMP_EXPLAIN_LARGEST = 10 };

/** A memory at one moment. */
typedef struct {
    emp_device_id      device; /**< -1 = there is no such moment */
    emp_time_ns        at_ns;
    int64_t            bytes;      /**< as the simulator counts it: held bytes, or, of
                                        chunks at a peak, up to the end of the last one */
    int64_t            held_bytes; /**< of all buffers: the largest and the rest */
    int32_t            count;      /**< of buffers */
    int32_t            largest_count;
    emp_explain_buffer largest[EMP_EXPLAIN_LARGEST]; /**< falling */
    int64_t            rest_bytes;                   /**< of all others */
    int64_t            kind_bytes[EMP_HELD_COUNT];   /**< of all, the largest included */
    int32_t            kind_count[EMP_HELD_COUNT];
} emp_explain_memory;

/** Ops of one device and what they do. */
typedef struct {
    int32_t     id; /**< of the op, type or scope; 0 of all ops */
    int32_t     op_count;
    emp_time_ns time_ns;
    double      flops;
    double
            at_peak_s; /**< the seconds they would take at the device's peaks, each op at its format's */
    int64_t bytes; /**< read and written */
} emp_explain_share;

enum { EMP_EXPLAIN_TOP = 5 };

/** Those that take longest; falling, ties: the lower id. */
typedef struct {
    int32_t           count;
    emp_explain_share share[EMP_EXPLAIN_TOP];
} emp_explain_top;

typedef struct {
    emp_time_ns        busy_ns;
    emp_time_ns        idle_ns[EMP_IDLE_COUNT];
    emp_explain_memory peak;                   /**< device -1: it never holds anything */
    emp_explain_share  ops;                    /**< all that take time */
    emp_explain_top    types, scopes, longest; /**< of these: op types, scopes, ops */
    emp_time_ns        issue_ns; /**< that its host thread issues ops; 0 without one */
    emp_explain_share
        launch_bound; /**< count and time of the ops that are issued for longer
                                          than they run */
} emp_explain_device;

/** The work of a device during a stretch of time. */
typedef struct {
    int32_t     op_count;
    int32_t     type;    /**< the op type with the most time; ties: the lowest */
    emp_time_ns type_ns; /**< and its time */
    emp_time_ns time_ns; /**< of all ops; of ops side by side on a CPU, the sum */
} emp_explain_work;

enum { EMP_EXPLAIN_WORST = 10 };

/** One of the segments that last longest. */
typedef struct {
    int32_t          segment;
    emp_explain_work behind; /**< of the device that it waits for; zeros if it does not */
} emp_explain_item;

/** Read its members; they belong to it. */
typedef struct {
    emp_sim_result       result;
    emp_time_ns          cause_ns[EMP_CAUSE_COUNT]; /**< sum: the step time */
    int32_t              cause_count[EMP_CAUSE_COUNT];
    int32_t              segment_count;
    emp_explain_segment *segment; /**< in the order of time; none is empty */
    int32_t              worst_count;
    emp_explain_item   worst[EMP_EXPLAIN_WORST]; /**< longest first; ties: the earlier */
    emp_explain_device device[EMP_MAX_DEVICES];
    emp_explain_memory oom;    /**< when the first allocation did not fit, it included */
    emp_scopes         scopes; /**< of the graph, which must outlive it */
} emp_explanation;

/** Simulates one step twice, traced, and explains it. O((V + E) log(V + E)) time per
 * device, O(V + E) memory (and one record for each stretch in which tasks of an op run).
 *
 * \param[in]  decision  As for emp_sim_run_decision().
 * \retval EMP_EUNSUPPORTED  The rules of the runtime profile do not tell what waits for
 *                           what; only the event rules of docs/simulator.md do.
 */
emp_status emp_explain_create(emp_explanation **out, const emp_problem *problem,
                              const emp_decision *decision, emp_error *err);
void       emp_explain_destroy(emp_explanation *why);

/** Explains the memory of a step only: result, peaks, and the first allocation that did not fit. Simulates it twice,
 * traced, in a small part of the memory that emp_explain_create() takes, whose errors it has. */
emp_status emp_explain_create_memory(emp_explanation **out, const emp_problem *problem,
                                     const emp_decision *decision, emp_error *err);

/** Words and JSON keys of the lists above. Static storage. */
const char *emp_explain_cause_key(emp_explain_cause cause);
const char *emp_explain_cause_words(emp_explain_cause cause);
const char *emp_explain_idle_key(emp_explain_idle idle);
const char *emp_explain_kind_key(emp_explain_kind kind);

/** The idle cause of a device that waits for \a cause. */
emp_explain_idle emp_explain_cause_idle(emp_explain_cause cause);

/*
 * The bottleneck of a step: the kind of thing on which its critical path (explain.h) spends
 * most time, and the device that has most of that time.
 */

/** Kinds: name, key in JSON. */
#define EMP_BOTTLENECK_LIST(X)                                                     \
    X(COMPUTE, "compute")   /**< ops run, or something waits until they have */    \
    X(HOST, "host")         /**< host threads issue, or something waits for one */ \
    X(COPIES, "copies")     /**< copies between memories */                        \
    X(MESSAGES, "messages") /**< control messages between devices */               \
    X(STEP, "step")         /**< the fixed cost of the step */

typedef enum {
#define X(name, key) EMP_BOTTLENECK_##name,
    EMP_BOTTLENECK_LIST(X)
#undef X
        EMP_BOTTLENECK_KINDS
} emp_bottleneck_kind;

typedef struct {
    emp_bottleneck_kind kind;    /**< ties: the first of the list */
    emp_time_ns         time_ns; /**< of the critical path */
    emp_device_id       device; /**< with most of this time; of copies and messages: where
                                      they come from; -1 = the fixed cost has none */
    emp_device_id       to;     /**< where copies and messages go; else -1 */
    emp_time_ns         device_ns; /**< its part of time_ns; ties: the lowest ids */
} emp_bottleneck;

/** O(segments + devices^2) time. */
emp_bottleneck emp_explain_bottleneck(const emp_explanation *why);

/** The JSON key of a kind; static storage. */
const char *emp_bottleneck_key(emp_bottleneck_kind kind);

/*
 * How much of a step each op is to blame for: where a search had better look.
 *
 * The critical path (explain.h) is shared out to ops. For a stretch of t seconds
 *
 *  - in which an op is issued or runs, the op gets t;
 *  - in which it waits for a busy device, or a copy for the compute that is queued there,
 *    it (of a copy: the op that made the tensor) gets t / 2, and each op that runs on that
 *    device meanwhile half of the time for which it does;
 *  - of a copy or a message otherwise, the op that sends it and the op with which the path
 *    goes on get t / 2 each.
 *
 * An op that gets nothing can be anywhere without making the step shorter, unless its move
 * changes the order of others.
 */

/** Simulates one step, traced, by \a sim, which has been created for \a problem.
 * O((V + E) log(V + E)) time, O(V + E) memory.
 *
 * \param[in]  decision  As for emp_sim_run_decision().
 * \param[out] blame_s   [op_count]; may be written on failure.
 * \retval EMP_EUNSUPPORTED  As emp_explain_create(). */
emp_status emp_explain_blame(double *blame_s, const emp_problem *problem, emp_sim *sim,
                             const emp_decision *decision, emp_error *err);

/** The same for many placements, and when each op ends; keeps its memory from one to the next. */
typedef struct emp_blamer emp_blamer;

/** \a problem and \a sim are borrowed. \retval EMP_ENOMEM */
emp_status emp_blamer_create(emp_blamer **out, const emp_problem *problem, emp_sim *sim,
                             emp_error *err);
/** As emp_explain_blame(). \a end_frac [op_count] gets the ends of ops as shares of the step
 * time, which give the order of emp_surrogate_follow(); 0 of folded ops. NULL: not asked for. */
emp_status emp_blamer_run(emp_blamer *blamer, double *blame_s, double *end_frac,
                          const emp_decision *decision, emp_error *err);
void       emp_blamer_destroy(emp_blamer *blamer);

#endif /* EMP_SIM_EXPLAIN_EXPLAIN_H */
