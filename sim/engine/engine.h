/** \file sim/engine/engine.h
 * The engine: steps by the rules `events`. engine_create.c fills the first half of the object
 * once, a run uses the second. Fused ops, and costs of heterogeneous devices, change some of the first.
 *
 * Folded ops are gone and the rest is numbered topologically, so that a run walks its
 * arrays mostly forwards. Consumers keep the order of the graph's ids, which
 * docs/simulator.md promises.
 *
 * The functions of a run stand in run/. run/run.c compiles them for the rules of
 * two profiles, and for those that the object has.
 */
#ifndef EMP_SIM_ENGINE_ENGINE_H
#define EMP_SIM_ENGINE_ENGINE_H

#include <stddef.h>

#include "base/mem.h"
#include "sim/engine/allocator.h"
#include "sim/engine/plan.h"
#include "sim/rules/rules.h"

/** The differences of a run between runtime profiles; emp_runtime says what
 * each means. */
typedef struct {
    bool serial_issue, drain_copies, release_at_issue, reuse_inputs, cpu_pool,
        control_latency, share_copies, copy_streams, shared_links;
    bool has_chunks;      /**< GPU memory is handed out by an allocator, in chunks */
    bool copy_delays;     /**< sending or receiving takes time */
    bool pageable;        /**< memory that is fed leaves the host more slowly */
    bool is_traced;       /**< fingerprint and callbacks */
    bool is_timed;        /**< start and end of each op */
    bool shares_cores;    /**< devices of one computer hold each other up: run/server.h */
    bool has_levels;      /**< what waits for a device goes by level: run/server.h */
    bool has_collectives; /**< ranks of collectives keep links: engine_collectives.c */
    bool has_hops;   /**< copies to other hosts are received later than they are seen */
    bool has_client; /**< rounds wait for copies between hosts: engine_client.c */
    bool
        shared_memory; /**< tasks of a pool have the rate of its memory once: run/server.h */
    bool has_long_times; /**< times do not fit above EMP_SIM_SOURCE_BITS: source_bits */
} emp_sim_rules;

/** The times that devices which are groups of one computer's cores take from each other. */
typedef struct {
    emp_time_ns *more_ns;      /**< [op] more on a group, while another device works */
    emp_time_ns  hand_over_ns; /**< of a core, for each copy */
    double       ns_per_byte;  /**< of a core that copies */
    int32_t      core_count[EMP_MAX_DEVICES];              /**< at least 1 */
    int32_t      shared[EMP_MAX_DEVICES][EMP_MAX_DEVICES]; /**< cores that both have */
} emp_sim_sharing;

/** Who reads a tensor. */
typedef struct {
    uint32_t place; /**< 2 op, + 1 if it reads in host memory */
    int32_t  input; /**< the word of the op's input: emp_sim_word() */
} emp_sim_reader;

enum {
    EMP_SIM_LAUNCHES = 1 << 0, /**< has GPU kernels */
    EMP_SIM_ALIASES = 1 << 1,  /**< output 0, which it has, is input 0's buffer */
    EMP_SIM_IN_PLACE = 1 << 2, /**< output 0, which it has, may take over an input's */
    EMP_SIM_HAS_WORKSPACE = 1 << 3,
    EMP_SIM_HAS_UNREAD = 1 << 4,       /**< an output without consumers */
    EMP_SIM_HAS_CONTROL = 1 << 5,      /**< ops wait for it by control edges */
    EMP_SIM_HAS_ODD_OUTPUTS = 1 << 6,  /**< several, none, or one on the host */
    EMP_SIM_HAS_HOST_INPUTS = 1 << 7,  /**< reads an input on the host */
    EMP_SIM_IN_PLACE_OF_MANY = 1 << 8, /**< is in place, of over EMP_SIM_INPUTS inputs */
    EMP_SIM_LEADS = 1 << 9,            /**< other ops are fused into it in this run */
    EMP_SIM_HAS_MORE_INPUTS = 1 << 10, /**< over EMP_SIM_INPUTS */
    /** At its end there is more to do than to release inputs and tell the readers of one
     * output. */
    EMP_SIM_IS_ODD = EMP_SIM_HAS_WORKSPACE | EMP_SIM_HAS_UNREAD | EMP_SIM_HAS_CONTROL |
                     EMP_SIM_HAS_ODD_OUTPUTS | EMP_SIM_LEADS
};

/** Inputs of an op that stand in its record: most ops have no more. Where there are fewer, the
 * dummy tensor is read, the instance tensor_count. */
enum { EMP_SIM_INPUTS = 2 };

/** The link behind an item in a list, or a list's head. */
typedef struct {
    emp_time_ns
            time_ns; /**< in the list of a server: how long it takes; of other sources:
                            when its delay ends; emp_run_last_ns() if there is no item */
    int32_t item;    /**< or EMP_SIM_NO_ITEM */
    union {
        int32_t last; /**< of a head: the list's last item, if it has items */
        uint32_t
            place; /**< of an op: where the first reader of its outputs reads; somewhere, if
                           there is none */
    };
} emp_sim_link;

enum { EMP_SIM_NO_ITEM = -1 };

/** The costs of an op where the cores of CPUs are a pool. */
typedef struct {
    int32_t row; /**< into task_ns */
    int32_t lanes;
} emp_sim_lanes;

/** Everything that a run reads and writes of most ops: one cache line. The first input to arrive fetches it, long
 * before the op starts. Where devices of one kind are heterogeneous, the costs become those on the op's device before
 * each run, and those on the other kind mean nothing. */
typedef struct {
    union {
        emp_time_ns   cpu_ns; /**< by itself on a CPU */
        emp_sim_lanes cpu;    /**< instead, if rules.cpu_pool */
    };
    emp_time_ns gpu_ns; /**< on a GPU */
    union {
        emp_time_ns issue_ns; /**< on a GPU's host thread */
        emp_sim_link
            link; /**< what follows it in a list: without host threads. And a place */
    };
    uint32_t flags;
    int32_t  missing; /**< inputs and control inputs still to come */
    int32_t
        reads[EMP_SIM_INPUTS];  /**< root of each input, once it is there; or the dummy */
    int32_t output;             /**< its first tensor; they end at the next op's */
    int32_t reader, reader_end; /**< of its outputs */
    int32_t awaited;            /**< missing at the start of a run */
} emp_sim_op;

_Static_assert(sizeof(emp_sim_op) == 64, "an op is a cache line");

/** Ops and outputs that stand so far behind those that a run comes to are fetched meanwhile: in graphs that
 * are larger than caches most of them are needed soon. The end of the arrays does not matter. */
enum { EMP_SIM_OPS_AHEAD = 16, EMP_SIM_OUTPUTS_AHEAD = 20 };

enum {
    EMP_SIM_OP_WORDS = sizeof(emp_sim_op) / sizeof(int32_t),
    EMP_SIM_READS_WORD = offsetof(emp_sim_op, reads) / sizeof(int32_t)
};

/** The costs of an op on one device model. */
typedef struct {
    union {
        emp_time_ns   run_ns; /**< by itself; of a GPU, or of a CPU that is no pool */
        emp_sim_lanes cpu;    /**< of a CPU whose cores are a pool */
    };
    emp_time_ns issue_ns; /**< on a GPU's host thread */
} emp_sim_cost;

/** The properties of a tensor that its copies need. */
typedef struct {
    int64_t       bytes;
    int64_t       buffer_bytes; /**< of the copy, rounded up */
    int32_t       producer;
    emp_tensor_id id;
} emp_sim_payload;

/** Routes have as many links: the last is repeated where there are fewer, and only large
 * machines have more. */
enum { EMP_SIM_LINKS = 4 };

typedef struct {
    emp_time_ns latency_ns;
    emp_time_ns hop_ns; /**< of latency_ns: that part for which a copy keeps no links */
    double      ns_per_byte;
    double      from_host; /**< 1 from a host to one of its GPUs, else 0 */
    int32_t     stream;    /**< that moves copies on this route */
    int32_t     ready_source, seen_source, message_source;
    int32_t     link_count;
    int32_t link[1 + EMP_MAX_ROUTE]; /**< that carry one copy at a time: the stream and
                                            those of the route, as far as rules know them */
} emp_sim_route;

/** Bytes that an op holds from the start. */
typedef struct {
    int64_t bytes;
    int32_t op;
} emp_sim_persistent;

/** The facts about an op that a run's start needs. */
typedef struct {
    emp_op_id id;
    uint32_t  kinds; /**< EMP_KIND_ mask */
} emp_sim_op_start;

/** A tensor in one memory: its home, or a copy. Facts about homes that are known before a run
 * stand here, too. Tensors that share a buffer point to the instance that allocated it, their
 * root. */
typedef struct {
    int64_t bytes; /**< of its buffer, rounded up; 0 of a copy to come, if traced */
    int32_t
        pending; /**< of a root: users and copies to come of all that share the buffer */
    union {
        int32_t root;   /**< of a home: the instance that owns its buffer */
        int32_t tensor; /**< of a copy */
    };
    int32_t reader; /**< its first; those of a home end at the next home's */
    int16_t space;  /**< the memory */
    union {
        int16_t from;    /**< of a copy: the memory it comes from */
        int16_t on_host; /**< of a home: 1 = it is not on the op's device */
    };
} emp_sim_instance;

typedef struct {
    int32_t op;
    int32_t to; /**< device */
} emp_sim_message;

/** Topmost nodes of the tree of servers, which are few, and of that of all other sources. */
enum { EMP_SIM_SERVERS_TOP = 2, EMP_SIM_OTHERS_TOP = 4 };

/** A tree of minima. Nodes top to 2 top - 1 are the topmost, 4 i to 4 i + 3 are below i. */
typedef struct {
    int32_t  leaf_count; /**< 4 top, 16 top, ...; the first leaf is node leaf_count */
    int32_t  first_leaf; /**< the leaf of source 0, if it had one */
    int64_t *node;       /**< [2 leaf_count] */
    int64_t  first;      /**< least of all */
} emp_sim_tree;

/** Tasks of one op that start together on as many cores. */
typedef struct {
    emp_time_ns start_ns;
    int32_t     op, tasks;
} emp_sim_batch;

/** Where events come from. Each source finishes its work in the order in which it gets
 * it (with copy_streams), so it is a list, and only its earliest event is in a tree.
 * Sources are numbered in the order in which simultaneous events happen. */
typedef enum {
    EMP_SIM_SERVER, /**< a device's, or its host thread's, current item ends; its number
                          is the device's */
    EMP_SIM_BATCH,  /**< tasks on a CPU end */
    EMP_SIM_KERNEL, /**< a kernel ends and lets go of its inputs */
    EMP_SIM_READY,  /**< a copy may take its links */
    EMP_SIM_SEEN,   /**< the host sees a copy done that came to a GPU */
    EMP_SIM_SEEN_AT_HOST, /**< ... to its own memory; both are numbered as one kind */
    EMP_SIM_SEND,         /**< a copy has been sent without a host thread */
    EMP_SIM_RECEIVE,      /**< ... received */
    EMP_SIM_MESSAGE       /**< one for each latency */
} emp_sim_source_kind;

typedef struct {
    int32_t kind;
    int32_t cpu; /**< of a batch */
} emp_sim_source;

/** Bytes of a memory. */
typedef struct {
    int64_t used, peak;
    int64_t limit;
    int64_t homeless; /**< of used: no chunk was large enough */
} emp_sim_memory;

/** A device and its memory. */
typedef struct {
    emp_sim_link   line;    /**< head of the list of items that wait for it */
    int32_t        kind;    /**< emp_device_kind */
    int32_t        current; /**< item that the server works on, or -1 */
    emp_time_ns    busy_ns;
    emp_sim_memory memory;
    emp_time_ns    started_ns; /**< of current */
    emp_time_ns    queued_ns;  /**< end of all compute queued so far */
    int32_t        kernel_source;
    uint32_t       place; /**< emp_run_first_place() of current, if the server runs ops */
    emp_time_ns core_free_ns; /**< others have its core until then; rules.shares_cores */
    emp_sim_link *line_of_level; /**< [EMP_LEVELS] instead of line if rules.has_levels */
    uint64_t      waiting;       /**< a bit for each of them that is not empty */
    int32_t       unused[4];     /**< to a power of two: to find a device is a shift */
} emp_sim_device;

_Static_assert((sizeof(emp_sim_device) & (sizeof(emp_sim_device) - 1)) == 0, "unused[]");

_Static_assert(EMP_LEVELS == 64, "emp_sim_device.waiting is one word");

/** The state of runs with collectives (engine_collectives.c). */
typedef struct emp_sim_collectives emp_sim_collectives;

/** The state of runs whose hosts one program drives (engine_client.c). */
typedef struct emp_sim_client emp_sim_client;

/** The state of runs with fused ops (engine_fusion.c). */
typedef struct emp_sim_fusion emp_sim_fusion;

/** Copy streams of a device: copies from its host, to its host, to its peers. */
enum {
    EMP_SIM_TO_DEVICE,
    EMP_SIM_TO_HOST,
    EMP_SIM_TO_PEER,
    EMP_SIM_STREAMS,
    EMP_SIM_MAX_STREAMS = EMP_MAX_DEVICES * EMP_SIM_STREAMS
};

/** The cores of a CPU and the ops that want them. */
typedef struct {
    int32_t     waiting_count, running_count, free_cores;
    int32_t     core_count, slot_count;
    int32_t     starting_op; /**< the one op of which some tasks have not started ... */
    int32_t     starting_tasks;   /**< ... that many; 0 = there is none */
    emp_time_ns starting_task_ns; /**< ... each this long */
    double starting_moved_ns;     /**< ... and its memory that long; with shared_memory */
    double ns_per_byte;           /**< of the CPU's memory */
    emp_time_ns   memory_free_ns; /**< when it has moved the bytes of all tasks so far */
    int32_t       first_source;   /**< of its batches */
    uint64_t      free_batches[EMP_MAX_CORES / 64];
    emp_sim_batch batch[EMP_MAX_CORES];
} emp_sim_pool;

typedef struct {
    const emp_problem *problem;
    emp_sim_rules      rules;
    emp_time_ns        send_ns, receive_ns, poll_ns, step_ns;
    int32_t            device_count;

    int32_t op_count, tensor_count, copy_limit, message_limit;
    emp_sim_op
            *op; /**< [op + 1], and behind them the inputs for which ops have no room */
    int32_t *words;           /**< the same, as numbers: EMP_SIM_OP_WORDS of each op */
    int64_t *workspace_bytes; /**< [op] */
    int32_t *control_offset;  /**< [op + 1] into control */
    int64_t
        *moved_bytes; /**< [op] that a CPU reads and writes; NULL unless shared_memory */
    emp_sim_payload *payload;
    double
        *least_ns_per_byte; /**< [tensor] to leave the host; NULL unless rules.pageable */
    emp_sim_op_start   *start;
    int32_t             persistent_count, first_count;
    emp_sim_persistent *persistent;
    int32_t            *first; /**< ops that wait for nothing */
    int32_t *input_offset;     /**< [op + 1] rows of input, of EMP_SIM_INPUTS at least */
    int32_t *input;            /**< tensors, or the dummy */
    int32_t *more; /**< [op + 1] words of inputs after the first EMP_SIM_INPUTS */
    emp_sim_reader    *reader;  /**< of tensors; the last, of none, is there to be looked
                                    at for ops without readers */
    int32_t           *control; /**< ops that wait for an op */
    const emp_time_ns *task_ns; /**< of the cost table */
    int32_t            least_cores; /**< of a pool; 0 = there is none */
    /** [device][op] If devices of one kind are of several models, what ops cost on each; else NULL. */
    const emp_sim_cost *cost_of_device[EMP_MAX_DEVICES];
    uint8_t             kind_of_device[EMP_MAX_DEVICES];      /**< EMP_KIND_ masks */
    uint8_t             spaces_of_device[EMP_MAX_DEVICES][2]; /**< its own, its host's */
    emp_sim_route (*route)[EMP_MAX_DEVICES];                  /**< [from][to] */

    int32_t source_count, send_source, receive_source;
    int32_t source_bits; /**< that number the sources; at most EMP_SIM_SOURCE_BITS */
    emp_sim_source *source;

    /* state of a run */
    uint8_t *costs_of; /**< [op] device whose costs it has; with cost_of_device */
    const emp_sim_trace *trace;
    emp_sim_times        times; /**< of a timed run; borrowed */
    emp_sim_result       result;
    emp_time_ns          now;
    int32_t              instance_count; /**< homes and copies planned so far */
    int32_t              message_count;
    uint8_t          *space_of_place; /**< memory that is read there; in the op's own, it
                                            is the op's device */
    int32_t          *open_tasks;     /**< [op] on a pool: that have not ended */
    emp_sim_instance *instance; /**< homes [tensor_count], a dummy (its `reader` is where
                                    all readers end), copies [copy_limit] from first_copy on */
    int32_t           first_copy;
    emp_sim_message  *message;
    /* Items in lists: ops, if there are host threads; then copies, then messages, then copies that
     * host threads receive. Without host threads, ops are in lists of their own and have their links in
     * their records. */
    int32_t      copy_item;      /**< what a copy's item is above its instance */
    int32_t      first_message;  /**< the item of message 0 */
    int32_t      first_received; /**< the item of first_copy, received */
    emp_time_ns *until; /**< [op] on a pool: when it began; on a GPU: its kernels end,
                               or copies of its outputs may start */
    /* First-come-first-served lists, of each source; a server's begins in its device. */
    int32_t        first_head; /**< where heads stand behind the links of items */
    emp_sim_link  *link;       /**< [item] what follows it */
    emp_sim_link  *head;       /**< [source] what its list begins with; not of servers */
    emp_sim_tree   servers, others; /**< the earliest event of each source */
    emp_sim_device device[EMP_MAX_DEVICES];
    emp_time_ns    stream_ready_ns[EMP_SIM_MAX_STREAMS]; /**< its last copy is ready */
    emp_time_ns   link_free_ns[EMP_SIM_MAX_STREAMS + EMP_MAX_LINKS]; /**< of streams, then
                                                                         of links */
    int32_t       copy_to[EMP_MAX_DEVICES]; /**< the last copy to each memory */
    emp_bfc      *bfc;                      /**< or NULL; with it, chunks: -1 = none */
    int32_t      *chunk_of_instance;        /**< of a root */
    int32_t      *chunk_of_op;              /**< its workspace */
    uint64_t      eager_pools;    /**< CPUs that may be able to start something */
    emp_sim_pool *pool;           /**< [device], CPUs only */
    emp_arrays    arrays;         /**< all of these */
    emp_sim_sharing *sharing;     /**< NULL unless rules.shares_cores */
    uint8_t         *level;       /**< [op] if rules.has_levels */
    emp_sim_fusion  *fusion;      /**< NULL until a decision fuses ops */
    int32_t         *next_member; /**< [op] the next op whose inputs the leader of a set
                                       holds, or -1; of fusion */
    bool             is_fused;    /**< this run */
    emp_sim_collectives *collectives; /**< NULL unless rules.has_collectives */
    emp_plan            *plan;        /**< NULL unless the runtime has plan_tokens */
    emp_sim_client
                *client;  /**< NULL unless the runtime has a client and rounds need it */
    emp_caching *caching; /**< as bfc; NULL unless the runtime has caching_allocator */
} emp_engine;

/** The word of input \a number, from 0, of \a op. */
static inline int32_t emp_sim_word(const emp_engine *sim, int32_t op, int32_t number)
{
    if (number < EMP_SIM_INPUTS)
        return op * EMP_SIM_OP_WORDS + EMP_SIM_READS_WORD + number;
    return sim->more[op] + number - EMP_SIM_INPUTS;
}

/** The op of the first reader of a copy. */
static inline int32_t emp_sim_first_op(const emp_engine *sim, int32_t copy)
{
    return (int32_t)(sim->reader[sim->instance[copy].reader].place / 2);
}

/** The cores for which a pool cuts an op at least that can use so many \a lanes. */
static inline int32_t emp_sim_least_share(int32_t lanes) { return (lanes + 3) / 4; }

/** Fills \a sim->sharing if the rules ask for it; ops are numbered already. \retval EMP_ENOMEM */
emp_status emp_engine_set_sharing(emp_engine *sim, const emp_problem *problem,
                                  emp_error *err);

/** Takes the leaders of a decision whose devices are right. The first that fuses something makes
 * \a sim->fusion. \retval EMP_EINVAL  A set is not legal. \retval EMP_EUNSUPPORTED, EMP_ENOMEM */
emp_status emp_engine_take_leaders(emp_engine *sim, const emp_decision *decision,
                                   emp_error *err);
/** Before a run that is fused, when its state is fresh, and after it. O(edges of the members). */
void emp_engine_fuse(emp_engine *sim);
void emp_engine_part(emp_engine *sim);
void emp_engine_destroy_fusion(emp_sim_fusion *fusion); /**< NULL is allowed. */

/** Fills \a sim->collectives, and sets the rule, if several ops are ranks of one collective. \param live
 * [op of the graph] its number here; -1 = it is folded. \retval EMP_ENOMEM */
emp_status emp_engine_set_collectives(emp_engine *sim, const emp_graph *graph,
                                      const int32_t *live, emp_error *err);
/** Before a run whose placement is taken: which links each set uses. O(ranks; of all-to-alls their square). */
void emp_engine_reset_collectives(emp_engine *sim);
/** \a op, which takes \a duration, is what a GPU does next, at \a at. If it is a rank its set keeps its
 * links. \return how much longer the op takes because it waits for them. O(ranks that keep links + links). */
emp_time_ns emp_engine_keep_links(emp_engine *sim, int32_t op, emp_time_ns at,
                                  emp_time_ns duration);
/** When a copy of \a duration on these links, which could begin at \a start, begins: it overlaps with no set
 * that keeps one of them. */
emp_time_ns emp_engine_begin_beside(const emp_engine *sim, const int32_t *link,
                                    int32_t count, emp_time_ns start,
                                    emp_time_ns duration);

/** Makes \a sim->client if the runtime has a client, the machine several hosts and the graph
 * several rounds. \retval EMP_ENOMEM */
emp_status emp_engine_set_client(emp_engine *sim, const emp_problem *problem,
                                 emp_error *err);
/** Before a run that has a client and whose placement is taken: counts the reads that wait for
 * copies between hosts. O(edges). */
void emp_engine_reset_client(emp_engine *sim);
/** Keeps \a op, which is ready, until its round may begin. \return false if it may begin now. */
bool emp_engine_hold(emp_engine *sim, int32_t op);
/** \a copy, which \a op reads, has left its links. \return the round of the op. */
int32_t emp_engine_count_read(emp_engine *sim, int32_t copy, int32_t op);
/** \return an op that was held and may begin now, each once; or -1. */
int32_t emp_engine_next_held(emp_engine *sim);
/** Keeps \a copy, which has left its links, until its server has done all rounds before \a round, the first that
 * reads it. \return false if it has. */
bool emp_engine_hold_copy(emp_engine *sim, int32_t copy, int32_t round);
/** \a op is done on \a device. */
void emp_engine_count_done(emp_engine *sim, int32_t op, int32_t device);
/** \return a copy to \a device's host that was held and may be received now, each once; or -1. */
int32_t emp_engine_next_held_copy(emp_engine *sim, int32_t device);

/** As emp_sim_create(), emp_sim_run_traced() and emp_sim_destroy() say. */
emp_status emp_engine_create(emp_engine **out, const emp_problem *problem,
                             emp_error *err);
emp_status emp_engine_run(emp_engine *sim, const emp_decision *decision,
                          const emp_sim_watch *watch, emp_sim_result *result,
                          emp_error *err);
void       emp_engine_destroy(emp_engine *sim);

/** An upper bound of all step times of \a sim in nanoseconds. O((ops + tensors) device models). */
double emp_engine_longest_run_ns(const emp_engine *sim);

_Static_assert(EMP_MAX_CORES == 2 * 64, "free_batches has two words");
_Static_assert(EMP_MAX_DEVICES <= 64, "eager_pools is one word");

/** Code for rare conditions is laid out of the way of the common case. */
#define EMP_SIM_SELDOM(x) __builtin_expect(!!(x), 0)

/** Compilers call functions of this size, which each op needs once or twice. */
#define EMP_SIM_INLINE __attribute__((always_inline)) static inline

/** Compilers would make these part of functions that seldom call them. */
#define EMP_SIM_CALLED __attribute__((noinline)) static

/** Fills \a sim->cost_of_device if devices of one kind are of several models; ops are numbered already.
 * \retval EMP_ENOMEM */
emp_status emp_engine_set_models(emp_engine *sim, const emp_problem *problem,
                                 emp_error *err);

/** Gives each op what it costs on its device; needs \a sim->cost_of_device and a placement. O(ops). */
void emp_engine_take_costs(emp_engine *sim);

/** Runs with a fresh state: under the rules of `ideal`, of `tf-r1.3`, of
 * both with levels and with times, and under any. Only the last traces. */
void emp_engine_run_ideal(emp_engine *sim);
void emp_engine_run_tf(emp_engine *sim);
void emp_engine_run_ideal_levels(emp_engine *sim);
void emp_engine_run_tf_levels(emp_engine *sim);
void emp_engine_run_ideal_timed(emp_engine *sim);
void emp_engine_run_tf_timed(emp_engine *sim);
void emp_engine_run_any(emp_engine *sim);

extern const emp_sim_rules emp_sim_ideal_rules, emp_sim_tf_rules,
    emp_sim_ideal_levels_rules, emp_sim_tf_levels_rules, emp_sim_ideal_timed_rules,
    emp_sim_tf_timed_rules;

#endif /* EMP_SIM_ENGINE_ENGINE_H */
