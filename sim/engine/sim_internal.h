/** \file sim/engine/sim_internal.h
 * The simulator object. sim_create.c fills the first half once, a run uses the second.
 *
 * Folded ops are gone and the rest is numbered topologically, so that a run walks its
 * arrays mostly forwards. Consumers keep the order of the graph's ids, which
 * docs/simulator.md promises.
 *
 * The functions of a run stand in run.h and run_*.h. run_ideal.c and run_tf.c compile them
 * for the rules of two profiles, run_any.c for those that the object has.
 */
#ifndef EMP_SIM_ENGINE_SIM_INTERNAL_H
#define EMP_SIM_ENGINE_SIM_INTERNAL_H

#include "sim/engine/bfc.h"
#include "sim/engine/sim.h"

/** What a run does differently from one runtime profile to another; emp_runtime says what
 * each means. */
typedef struct {
    bool serial_issue, drain_copies, release_at_issue, reuse_inputs, cpu_pool,
        control_latency, share_copies, copy_streams, shared_links, bfc_allocator;
    bool is_traced; /**< fingerprint and callbacks */
} emp_sim_rules;

/** An end of an edge: a number and whether the consumer reads it in host memory. */
typedef uint32_t emp_sim_edge;
#define EMP_SIM_EDGE(id, on_host)  ((emp_sim_edge)(id) << 1 | (emp_sim_edge)(on_host))
#define EMP_SIM_EDGE_ID(edge)      ((int32_t)((edge) >> 1))
#define EMP_SIM_EDGE_ON_HOST(edge) ((edge)&1u)

enum {
    EMP_SIM_LAUNCHES = 1 << 0, /**< has GPU kernels */
    EMP_SIM_ALIASES = 1 << 1,  /**< output 0 is input 0's buffer */
    EMP_SIM_ALIASES_CONST =
        1 << 2, /**< output 0 is the buffer of a folded input: no bytes */
    EMP_SIM_IN_PLACE = 1 << 3,
    EMP_SIM_HAS_WORKSPACE = 1 << 4,
    EMP_SIM_HAS_UNREAD = 1 << 5 /**< an output without consumers */
};

typedef struct {
    emp_time_ns cost_ns[2]; /**< alone on a CPU, on a GPU: by emp_device_kind */
    emp_time_ns issue_ns;   /**< on a GPU's host thread */
    int32_t     input, output, control; /**< where its rows begin; they end at the next
                                             op's */
    uint32_t    flags;
} emp_sim_op;

/** What only some runs ask of an op. */
typedef struct {
    int64_t workspace_bytes;
    int32_t cpu_row; /**< into task_ns */
    int32_t lanes;
} emp_sim_op_rest;

typedef struct {
    int64_t bytes;    /**< of its buffer, rounded up */
    int32_t consumer; /**< where its row begins */
    bool    on_host;
} emp_sim_tensor;

/** What matters of a tensor when it is copied. */
typedef struct {
    int64_t       bytes;
    int64_t       buffer_bytes; /**< of the copy, rounded up */
    double        ns_per_byte; /**< least that it takes to leave the host; 0 = no limit */
    int32_t       producer;
    emp_tensor_id id;
} emp_sim_payload;

typedef struct {
    emp_time_ns latency_ns;
    double      ns_per_byte;
    double      from_host; /**< 1 from a host to one of its GPUs, else 0 */
    int32_t     stream;    /**< that moves copies on this route */
    int32_t     message_source;
    int32_t     link_count;
    int32_t     link[EMP_MAX_ROUTE];
} emp_sim_route;

/** Bytes that an op holds from the start. */
typedef struct {
    int64_t bytes;
    int32_t op;
} emp_sim_persistent;

/** What a run's start asks of an op. */
typedef struct {
    emp_op_id id;
    int32_t   missing; /**< inputs and control inputs */
    uint32_t  kinds;   /**< EMP_KIND_ mask */
} emp_sim_op_start;

/** An op in a run. */
typedef struct {
    int32_t missing; /**< inputs and control inputs still to come */
    uint8_t device;
    uint8_t space[2]; /**< memories that it reads [in host memory], by their device */
} emp_sim_op_state;

/** A tensor in one memory: its home (index: the tensor), or a copy (index: tensor_count +
 * copy). Tensors that share a buffer point to the instance that allocated it. */
typedef struct {
    int64_t bytes;   /**< of the buffer; root only */
    int32_t pending; /**< edges and copies that will still read it */
    int32_t root;    /**< instance that owns the buffer */
    int32_t holds;   /**< instances that share the buffer; root only */
    int32_t link;    /**< of a home: its first copy, they stand in a row; of a copy: the
                             tensor */
    int32_t space;   /**< the memory */
} emp_sim_instance;

/** A tensor's way to another memory. */
typedef struct {
    emp_time_ns until; /**< the delay that it is in ends */
    bool        is_requested;
} emp_sim_copy;

typedef struct {
    emp_time_ns until;
    int32_t     op;
    int32_t     to; /**< device */
} emp_sim_message;

/** A first-come-first-served list, linked through sim->next. */
typedef struct {
    int32_t head, tail; /**< items; head -1 = empty */
} emp_sim_queue;

/** Tasks of one op that start together on as many cores. */
typedef struct {
    emp_time_ns start_ns;
    int32_t     op, tasks;
} emp_sim_batch;

/** Where events come from. Each source finishes its work in the order in which it gets
 * it (with copy_streams), so it is a list, and only its earliest event is in the heap. Sources are
 * numbered in the order in which simultaneous events happen. */
typedef enum {
    EMP_SIM_SERVER,  /**< a device's, or its host thread's, current item ends; its number
                          is the device's */
    EMP_SIM_BATCH,   /**< tasks on a CPU end */
    EMP_SIM_KERNEL,  /**< a kernel ends and lets go of its inputs */
    EMP_SIM_READY,   /**< a copy may take its links */
    EMP_SIM_SEEN,    /**< the host sees a copy done */
    EMP_SIM_SEND,    /**< a copy has been sent without a host thread */
    EMP_SIM_RECEIVE, /**< ... received */
    EMP_SIM_MESSAGE  /**< one for each latency */
} emp_sim_source_kind;

typedef struct {
    int32_t kind;
    int32_t cpu; /**< of a batch */
} emp_sim_source;

typedef struct {
    int32_t     kind;       /**< emp_device_kind */
    int32_t     current;    /**< item that the server works on, or -1 */
    emp_time_ns started_ns; /**< of current */
    emp_time_ns queued_ns;  /**< end of all compute queued so far */
    emp_time_ns busy_ns;
    int32_t     kernel_source;
} emp_sim_device;

/** Bytes of a memory. */
typedef struct {
    int64_t used, peak;
    int64_t limit;
    int64_t homeless; /**< of used: no chunk was large enough */
} emp_sim_memory;

/** Copy streams of a device: copies from its host, to its host, to its peers. */
enum { EMP_SIM_TO_DEVICE, EMP_SIM_TO_HOST, EMP_SIM_TO_PEER, EMP_SIM_STREAMS };

typedef struct {
    emp_time_ns ready_ns;  /**< when its last copy is ready */
    emp_time_ns copied_ns; /**< ... and when it ends */
    int32_t     ready_source, seen_source;
} emp_sim_stream;

/** The cores of a CPU and the ops that want them. */
typedef struct {
    emp_sim_queue waiting; /**< ops that have not begun */
    int32_t       waiting_count, running_count, free_cores;
    int32_t       core_count, slot_count;
    int32_t       starting_op; /**< the one op of which some tasks have not started ... */
    int32_t       starting_tasks;   /**< ... that many; 0 = there is none */
    emp_time_ns   starting_task_ns; /**< ... each this long */
    int32_t       first_source;     /**< of its batches */
    uint64_t      free_batches[EMP_MAX_CORES / 64];
    emp_sim_batch batch[EMP_MAX_CORES];
} emp_sim_pool;

typedef struct emp_sim_profile emp_sim_profile;

struct emp_sim {
    const emp_problem *problem;
    emp_sim_profile   *profile; /**< rules of docs/profiles.md; NULL = `events` */
    emp_sim_rules      rules;
    emp_time_ns        send_ns, receive_ns, poll_ns, step_ns;
    int32_t            device_count;

    int32_t             op_count, tensor_count, copy_limit, message_limit;
    emp_sim_op         *op;     /**< [op + 1] */
    emp_sim_tensor     *tensor; /**< [tensor + 1] */
    emp_sim_op_rest    *rest;   /**< [op] */
    emp_sim_payload    *payload;
    emp_sim_op_start   *start;
    int32_t             persistent_count, first_count;
    emp_sim_persistent *persistent;
    int32_t            *first;                           /**< ops that wait for nothing */
    emp_sim_edge       *input;                           /**< tensors */
    emp_sim_edge       *consumer;                        /**< ops */
    int32_t            *control;                         /**< ops that wait for an op */
    const emp_time_ns  *task_ns;                         /**< of the cost table */
    uint8_t             kind_of_device[EMP_MAX_DEVICES]; /**< EMP_KIND_ masks */
    emp_sim_op_state
        state_on[EMP_MAX_DEVICES]; /**< of an op on a device that waits for nothing */
    emp_sim_route route[EMP_MAX_DEVICES][EMP_MAX_DEVICES];

    int32_t         source_count, send_source, receive_source;
    emp_sim_source *source;

    /* state of a run */
    const emp_sim_trace *trace;
    emp_sim_result       result;
    emp_time_ns          now;
    int32_t              copy_count, message_count;
    emp_sim_op_state    *state; /**< [op] */
    emp_time_ns *
        time_of_op; /**< [op] of a pool: when it began; of a GPU: when its kernels end, or
                       copies of its outputs may start */
    int32_t          *open_tasks; /**< [op] that have not ended */
    emp_sim_instance *instance;   /**< [tensor_count + copy_limit + 1]; the last is the
                                       buffer of what has none */
    emp_sim_instance *instance_of_copy; /**< instance + tensor_count */
    emp_sim_copy     *copy;
    emp_sim_message  *message;
    int32_t          *next;  /**< [op_count + copy_limit + message_limit] items */
    emp_sim_queue    *queue; /**< [source] */
    uint32_t          heap_count;
    uint64_t         *heap; /**< [1 .. heap_count]: earliest event of each busy source */
    emp_sim_device    device[EMP_MAX_DEVICES];
    emp_sim_memory    memory[EMP_MAX_DEVICES];
    emp_sim_stream    stream[EMP_MAX_DEVICES * EMP_SIM_STREAMS];
    emp_time_ns       link_free_ns[EMP_MAX_LINKS];
    int32_t           copy_to[EMP_MAX_DEVICES]; /**< the last copy to each memory */
    emp_bfc          *bfc;               /**< or NULL; with it, chunks: -1 = none */
    int32_t          *chunk_of_instance; /**< of a root */
    int32_t          *chunk_of_op;       /**< its workspace */
    uint64_t          eager_pools;       /**< CPUs that may be able to start something */
    emp_sim_pool     *pool;              /**< [device], CPUs only */
};

/** Says why an op cannot be on \a device. \retval EMP_EINVAL */
emp_status emp_sim_refuse_device(const emp_sim *sim, emp_op_id op, emp_device_id device,
                                 emp_error *err);

enum { EMP_SIM_GRANULE = 256, EMP_SIM_SOURCE_BITS = 13 };

_Static_assert(EMP_MAX_CORES == 2 * 64, "free_batches has two words");
_Static_assert(EMP_MAX_DEVICES <= 64, "eager_pools is one word");

#define EMP_SIM_SOURCE_MASK ((UINT64_C(1) << EMP_SIM_SOURCE_BITS) - 1)

/** Times are less: an event is one word, time above source, below EMP_SIM_NEVER. */
#define EMP_SIM_LAST_NS (INT64_C(1) << (63 - EMP_SIM_SOURCE_BITS))

/** More bytes than a step can hold or move. */
#define EMP_SIM_ENDLESS (INT64_C(1) << 62)

/** No event: later than all others. */
#define EMP_SIM_NEVER UINT64_MAX

/** What an allocation of \a bytes takes: whole granules, and no more than 64 bits hold. */
static inline int64_t emp_sim_round_up(int64_t bytes)
{
    int64_t most = INT64_MAX - EMP_SIM_GRANULE + 1;

    if (bytes > most) bytes = most;
    return (bytes + (EMP_SIM_GRANULE - 1)) / EMP_SIM_GRANULE * EMP_SIM_GRANULE;
}

/** What happens in a run whose state is fresh: under the rules of `ideal`, of `tf-r1.3`,
 * and under any. Only the last traces. */
void emp_sim_run_ideal(emp_sim *sim);
void emp_sim_run_tf(emp_sim *sim);
void emp_sim_run_any(emp_sim *sim);

extern const emp_sim_rules emp_sim_ideal_rules, emp_sim_tf_rules;

#endif /* EMP_SIM_ENGINE_SIM_INTERNAL_H */
