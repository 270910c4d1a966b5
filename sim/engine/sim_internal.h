/** \file sim/engine/sim_internal.h
 * The simulator object. sim_create.c fills the first half once, sim.c uses the second
 * half in every run.
 *
 * Folded ops are gone and the rest is numbered topologically, so that a run walks its
 * arrays mostly forwards. Consumers keep the order of the graph's ids, which
 * docs/simulator.md promises.
 */
#ifndef EMP_SIM_ENGINE_SIM_INTERNAL_H
#define EMP_SIM_ENGINE_SIM_INTERNAL_H

#include "sim/engine/sim.h"

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
    EMP_SIM_IN_PLACE = 1 << 3
};

typedef struct {
    emp_time_ns issue_ns, compute_ns; /**< on a GPU */
    int64_t     workspace_bytes;
    int32_t     input, output,
        control;      /**< where its rows begin; they end at the next op's */
    int32_t  cpu_row; /**< into task_ns */
    int32_t  lanes;
    uint32_t flags;
} emp_sim_op;

typedef struct {
    int64_t       bytes; /**< of its buffer, rounded up */
    int64_t       copy_bytes;
    int32_t       producer;
    int32_t       consumer; /**< where its row begins */
    bool          on_host;
    emp_tensor_id id;
} emp_sim_tensor;

typedef struct {
    emp_time_ns latency_ns;
    double      ns_per_byte;
    int32_t     link_count;
    int32_t     link[EMP_MAX_ROUTE];
} emp_sim_route;

/** A tensor in one memory: its home (index: the tensor), or a copy (index: tensor_count +
 * copy). Tensors that share a buffer point to the instance that allocated it. */
typedef struct {
    int64_t bytes;   /**< of the buffer; root only */
    int32_t pending; /**< edges and copies that will still read it */
    int32_t root;    /**< instance that owns the buffer; -1 = no buffer */
    int32_t holds;   /**< instances that share the buffer; root only */
} emp_sim_instance;

/** A tensor's way to another memory. */
typedef struct {
    int32_t tensor;
    uint8_t to; /**< memory: 0 = host, else a GPU's device id */
    bool    is_requested;
} emp_sim_copy;

typedef struct {
    int32_t op;
    uint8_t to; /**< device */
} emp_sim_message;

/** A link of a FIFO list. Items are ops, then copies, then messages. */
typedef struct {
    emp_time_ns time_ns;
    int32_t     next;
} emp_sim_item;

typedef struct {
    int32_t head, tail; /**< items; head -1 = empty */
} emp_sim_queue;

/** Tasks of one op that start together on as many cores. */
typedef struct {
    emp_time_ns start_ns;
    int32_t     op, tasks;
} emp_sim_batch;

/** Where events come from, in the order in which simultaneous ones happen. Every source
 * has at most its earliest event in the heap. */
enum {
    EMP_SIM_BATCH = 0, /**< + number: tasks on the CPU end */
    EMP_SIM_DEVICE = EMP_MAX_CORES,
    /* + device * EMP_SIM_DEVICE_SOURCES + one of */
    EMP_SIM_SERVER = 0, /**< host thread; without one: the GPU itself */
    EMP_SIM_STREAM,     /**< a kernel ends */
    EMP_SIM_READY,      /**< + emp_sim_channel: a copy has waited for its streams */
    EMP_SIM_SEEN = EMP_SIM_READY + 3, /**< + emp_sim_channel: the host sees a copy done */
    EMP_SIM_DEVICE_SOURCES = EMP_SIM_SEEN + 3,
    EMP_SIM_SEND = EMP_SIM_DEVICE + EMP_MAX_DEVICES * EMP_SIM_DEVICE_SOURCES,
    EMP_SIM_RECEIVE,
    EMP_SIM_MESSAGE, /**< + from * device_count + to */
    EMP_SIM_MAX_SOURCES = EMP_SIM_MESSAGE + EMP_MAX_DEVICES * EMP_MAX_DEVICES
};

/** Copy streams of a GPU. */
enum { EMP_SIM_TO_DEVICE, EMP_SIM_TO_HOST, EMP_SIM_TO_PEER };

typedef struct {
    emp_time_ns queued_ns; /**< end of all compute queued so far */
    emp_time_ns busy_ns;
    int64_t     used_bytes;
    int32_t     current;      /**< item that the server works on, or -1 */
    emp_time_ns started_ns;   /**< of current */
    emp_time_ns ready_ns[3];  /**< per copy stream: when its last copy is ready */
    emp_time_ns copied_ns[3]; /**< ... and when it ends */
} emp_sim_device;

struct emp_sim {
    const emp_problem *problem;
    emp_runtime        runtime;
    emp_time_ns        send_ns, receive_ns, poll_ns, step_ns;
    int32_t            device_count, core_count, slot_count;

    int32_t            op_count, tensor_count, copy_limit, message_limit;
    emp_sim_op        *op;     /**< [op + 1] */
    emp_sim_tensor    *tensor; /**< [tensor + 1] */
    emp_op_id         *id_of_op;
    int32_t           *missing_of_op; /**< [op] inputs and control inputs */
    int64_t           *persistent_of_op;
    emp_sim_edge      *input;    /**< tensors */
    emp_sim_edge      *consumer; /**< ops */
    int32_t           *control;  /**< ops that wait for an op */
    const emp_time_ns *task_ns;  /**< of the cost table */
    emp_sim_route      route[EMP_MAX_DEVICES][EMP_MAX_DEVICES];

    /* state of a run */
    const emp_sim_trace *trace; /**< or NULL */
    emp_sim_result       result;
    emp_time_ns          now;
    int32_t              copy_count, message_count, ended_count;
    uint8_t             *device_of_op;
    int32_t             *missing; /**< [op] inputs and control inputs still to come */
    emp_time_ns
        *end_of_op; /**< [op] when copies may read its outputs; before that, its start */
    uint8_t          *home;       /**< [tensor] memory */
    int32_t          *first_copy; /**< [tensor + 1] rows of copy */
    emp_sim_instance *instance;   /**< [tensor_count + copy_limit] */
    emp_sim_copy     *copy;
    emp_sim_message  *message;
    emp_sim_item     *item; /**< [op_count + copy_limit + message_limit] */
    emp_sim_device    device[EMP_MAX_DEVICES];
    emp_time_ns       link_free_ns[EMP_MAX_LINKS];

    /* CPU */
    emp_sim_queue waiting; /**< ops that have not begun */
    int32_t       waiting_count, running_count, free_cores;
    int32_t       starting_op; /**< the one op of which some tasks have not started ... */
    int32_t       starting_tasks;   /**< ... that many; 0 = there is none */
    emp_time_ns   starting_task_ns; /**< ... each this long */
    int32_t      *open_tasks;       /**< [op] that have not ended */
    uint64_t      free_batches[EMP_MAX_CORES / 64];
    emp_sim_batch batch[EMP_MAX_CORES];

    emp_sim_queue queue[EMP_SIM_MAX_SOURCES];
    uint64_t      heap[EMP_SIM_MAX_SOURCES]; /**< time << EMP_SIM_SOURCE_BITS | source */
    int32_t       heap_count;
    int32_t       active; /**< source whose event is being handled: owner of heap[0] */
    uint64_t      active_next; /**< its next event, or EMP_SIM_NO_EVENT */
};

#define EMP_SIM_NO_EVENT UINT64_MAX

enum { EMP_SIM_SOURCE_BITS = 13, EMP_SIM_GRANULE = 256 };

/** What an allocation of \a bytes takes: whole granules, and no more than 64 bits hold. */
static inline int64_t emp_sim_round_up(int64_t bytes)
{
    int64_t most = INT64_MAX - EMP_SIM_GRANULE + 1;

    if (bytes > most) bytes = most;
    return (bytes + EMP_SIM_GRANULE - 1) / EMP_SIM_GRANULE * EMP_SIM_GRANULE;
}

_Static_assert(EMP_SIM_MAX_SOURCES <= 1 << EMP_SIM_SOURCE_BITS, "a key has no room");

/* sim_event.c */

/** The next event of a source that has none in the heap. The source whose event is being
 * handled owns the top of the heap and takes its place when the handling ends. */
void emp_sim_schedule(emp_sim *sim, int32_t source, emp_time_ns at);
void emp_sim_begin_event(emp_sim *sim);
void emp_sim_end_event(emp_sim *sim);

void    emp_sim_append(emp_sim *sim, emp_sim_queue *queue, int32_t item);
int32_t emp_sim_take(emp_sim *sim, emp_sim_queue *queue);
/** Lets \a item happen at a source at a time not before that of the items in it. */
void emp_sim_delay(emp_sim *sim, int32_t source, int32_t item, emp_time_ns until);
/** The item whose event is being handled; the one behind it is scheduled. */
int32_t emp_sim_take_delayed(emp_sim *sim);
int32_t emp_sim_device_source(int32_t device, int32_t kind);

/* sim_memory.c */

/** The memory in which \a edge is read by an op on \a device. */
int32_t emp_sim_space_read(emp_sim_edge edge, int32_t device);
/** More bytes of a memory are in use, because of \a op. */
void emp_sim_allocate(emp_sim *sim, int32_t space, int64_t bytes, int32_t op);
void emp_sim_create_buffer(emp_sim *sim, int32_t instance, int32_t space, int64_t bytes,
                           int32_t op);
/** One reader less. */
void emp_sim_release(emp_sim *sim, int32_t instance);
/** Outputs and workspace are there from now on. */
void emp_sim_create_outputs(emp_sim *sim, int32_t op, int32_t device);
/** Workspace, outputs that nobody reads, and inputs are no longer needed. */
void emp_sim_release_inputs(emp_sim *sim, int32_t op, int32_t device);

/* sim_gpu.c: \a item is an op, a copy to send, or a copy to receive */

void emp_sim_serve(emp_sim *sim, int32_t device, int32_t item);
void emp_sim_end_task(emp_sim *sim, int32_t device);

/* sim_copy.c: the life of a copy, in order, and of a message */

void emp_sim_start_copy(emp_sim *sim, int32_t copy, int32_t from_device);
void emp_sim_request_copy(emp_sim *sim, int32_t copy);
void emp_sim_transfer(emp_sim *sim, int32_t copy);
void emp_sim_see_copy(emp_sim *sim, int32_t copy);
void emp_sim_deliver_copy(emp_sim *sim, int32_t copy);
/** Messages from \a first_of_op on are of this op. */
void emp_sim_send_message(emp_sim *sim, int32_t op, int32_t to, int32_t first_of_op);
void emp_sim_deliver_message(emp_sim *sim, int32_t message);

/* sim_cpu.c */

/** Starts whatever can start. */
void emp_sim_start_cpu_ops(emp_sim *sim);
void emp_sim_end_batch(emp_sim *sim, int32_t number);

/* sim.c */

enum { EMP_SIM_RECORD_OP, EMP_SIM_RECORD_TRANSFER, EMP_SIM_RECORD_MESSAGE };

/** Adds to the fingerprint. */
void emp_sim_record(emp_sim *sim, int kind, int32_t id, int32_t device, emp_time_ns start,
                    emp_time_ns end);
/** One of the things that \a op waits for is there. */
void emp_sim_arrive(emp_sim *sim, int32_t op);
/** ... for all ops that read \a tensor in the memory \a space. */
void emp_sim_arrive_in(emp_sim *sim, int32_t tensor, int32_t space);
/** The op is done as far as those who wait for it can tell. */
void emp_sim_notify(emp_sim *sim, int32_t op);

#endif /* EMP_SIM_ENGINE_SIM_INTERNAL_H */
