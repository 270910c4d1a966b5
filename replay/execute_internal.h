/** \file replay/execute_internal.h
 * The state of an executor, shared by its files: buffers (execute_memory.c), ops and
 * copies on their way through a step (execute_step.c), and what a checked run looks at
 * (check.c).
 *
 * Threads. Fields of ops and places belong to whoever holds the op or place: first the
 * producer, then its readers, which learn of it through `waits` and a device's lock. Members
 * that several threads use are atomic or have a lock beside them.
 */
#ifndef EMP_REPLAY_EXECUTE_INTERNAL_H
#define EMP_REPLAY_EXECUTE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/mem.h"
#include "replay/execute.h"
#include "replay/plan/plan.h"

/* Hands out parts of one region of memory, which may be a device's. It keeps its books
 * apart from the region, whose bytes it never touches. Best fit among free parts of a
 * class of sizes, neighbours are joined; what is not needed of a part stays free. Sizes are
 * rounded up to EMP_REPLAY_ALIGNMENT.
 *
 * Threads. None: the caller locks. */

typedef struct emp_pool emp_pool;

/** Initialises a region of \a bytes; at most \a parts parts are handed out at once. \retval
 * EMP_ENOMEM */
emp_status emp_pool_create(emp_pool **out, int64_t bytes, int32_t parts, emp_error *err);
void       emp_pool_destroy(emp_pool *pool);

/** A part of \a bytes, 0 included; -1 = none is large enough. O(free parts of a class). */
int32_t emp_pool_allocate(emp_pool *pool, int64_t bytes);
void    emp_pool_free(emp_pool *pool, int32_t part); /**< O(1) */

int64_t emp_pool_offset(const emp_pool *pool, int32_t part); /**< in the region */
int64_t emp_pool_bytes(const emp_pool *pool, int32_t part);  /**< rounded up */

int64_t emp_pool_used(const emp_pool *pool);  /**< bytes handed out now */
int64_t emp_pool_peak(const emp_pool *pool);  /**< most bytes handed out at once */
int64_t emp_pool_reach(const emp_pool *pool); /**< end of the highest part so far */

/** Roots of places that have no buffer of their own in a pool. */
enum { EMP_ROOT_NONE = -1, EMP_ROOT_STORAGE = -2, EMP_ROOT_CONSTANT = -3 };

/** Where a tensor lies in a memory. */
typedef struct {
    unsigned char *data; /**< NULL = not there yet */
    int32_t        root; /**< place whose buffer it is, or EMP_ROOT_ */
    int32_t        part; /**< of the pool; of a root */
    int32_t        memory;
    int32_t        users; /**< edges that read it and copies of it, at least 1 */
    int64_t        bytes;
    atomic_int     pending; /**< of a root: users that are not done, of all that share */
    atomic_int     written_in; /**< step in which its content was complete */
    uint64_t       checksum;   /**< of the content then; checked runs */
} emp_tensor_place;

typedef struct {
    atomic_int      waits; /**< for inputs and control inputs */
    int32_t         wait_count;
    int32_t         workspace_part, persistent_part; /**< of the pool, or -1 */
    unsigned char  *storage;                         /**< of a variable */
    emp_kernel_call call;
    int32_t         parts, next_part; /**< tasks; under the device's lock */
    atomic_int      open_parts;
    int64_t         start_ns;   /**< of its first task */
    int64_t         span_ns;    /**< of this step: to the end of the last; 0: no task */
    atomic_int      written_in; /**< step in which the variable was updated */
    bool            is_sample;  /**< the first of its kind and size: is verified */
} emp_op_state;

typedef struct {
    pthread_mutex_t   lock;
    emp_pool         *pool;
    unsigned char    *region;
    unsigned char    *constants; /**< what was computed before the step */
    int64_t           constants_bytes;
    int64_t           capacity_bytes; /**< of the device; less where a GPU has less */
    bool              is_here;        /**< in this computer's memory */
    bool              is_cut; /**< smaller than the device's, as this computer has less */
    emp_replay_levels levels;
    int32_t           level_room;
} emp_memory;

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t  more;
    int32_t        *ready; /**< [op of this device] in order; each comes once a step */
    int32_t         ready_first, ready_end;
    int32_t        *line; /**< ops with tasks that no thread has taken */
    int32_t         line_first, line_end;
    int32_t         running; /**< ops begun and not done */
    int32_t         core_count;
    bool            is_queue;
} emp_server;

typedef struct {
    emp_replay     *replay;
    pthread_t       thread;
    bool            is_started;
    int32_t         core; /**< of the computer; -1 = any */
    float          *scratch;
    int64_t         busy_ns; /**< of this step */
    emp_replay_lane lane;
    int32_t         slice_room;
} emp_worker;

struct emp_replay {
    const emp_replay_plan    *plan;
    const emp_replay_backend *backend;
    const emp_replay_options *options;
    void                     *backend_state;
    emp_replay_hooks          hooks;

    emp_tensor_place *place; /**< [tensors + copies] */
    emp_op_state     *op;
    emp_operand      *input_operand, *output_operand;
    int32_t          *reader_offset;   /**< [place + 1] into reader */
    int32_t          *reader;          /**< op, one entry per edge */
    int32_t          *follower_offset; /**< [op + 1]: ops that wait for it */
    int32_t          *follower;
    emp_memory        memory[EMP_REPLAY_MAX_DEVICES];
    emp_server        server[EMP_REPLAY_MAX_DEVICES];
    int32_t           worker_count;
    emp_worker       *worker;

    atomic_long     remaining; /**< ops and copies of this step that are not done */
    atomic_int      step;      /**< counted from 1 */
    atomic_bool     is_over;   /**< threads end; nothing more begins */
    bool            is_timed;  /**< this step */
    int64_t         start_ns;
    pthread_mutex_t lock; /**< of what follows */
    pthread_cond_t  changed;
    emp_error       error; /**< the first; status EMP_OK = none */
    bool            is_out_of_memory;
    int32_t         oom_op, oom_memory;
    int64_t         oom_bytes, oom_in_use;

    int64_t      budget_bytes; /**< of this computer's memory */
    atomic_llong reached_bytes;

    /* checked runs */
    atomic_llong    checked_reads;
    pthread_mutex_t verify_lock;
    int32_t         verified_ops;
    double          verified_error;

    emp_replay_timeline timeline;
    emp_arrays          arrays; /**< of ops, places and times */
};

/* execute_memory.c */

/** The step is over because of \a why. From any thread. */
void emp_replay_fail(emp_replay *r, const emp_error *why);

/** Regions, pools, variables and constants. */
emp_status emp_replay_memory_create(emp_replay *r, emp_error *err);
void       emp_replay_memory_destroy(emp_replay *r);
/** Before a step. */
void emp_replay_memory_reset(emp_replay *r);
/** Outputs and workspace are there from now on, and all operands are known.
 * \return false: memory does not suffice, or an input is not there; the step is over. */
bool emp_replay_begin_op(emp_replay *r, int32_t op);
/** Workspace, outputs that no op reads, and inputs are no longer needed. */
void emp_replay_release_op(emp_replay *r, int32_t op);
/** Where a copy goes is there. \return false: memory does not suffice. */
bool emp_replay_begin_copy(emp_replay *r, int32_t copy);
/** One user less of a root; EMP_ROOT_ has no effect. */
void emp_replay_release_place(emp_replay *r, int32_t place);

/** Twice the room for entries of a log; NULL and nothing changed if there is none. */
void *emp_replay_grow(void *log, int32_t *room, size_t size);

/* execute_step.c */

/** Runs one step. \retval EMP_EINTERRUPTED \retval any error of a thread; also EMP_OK when
 * memory does not suffice: see is_out_of_memory. */
emp_status emp_replay_step(emp_replay *r, emp_error *err);
/** Threads of all devices. */
emp_status emp_replay_start_threads(emp_replay *r, emp_error *err);
void       emp_replay_stop_threads(emp_replay *r);
/** Hooks of the backend. */
void emp_replay_copied(void *replay, int32_t copy);
void emp_replay_failed(void *replay, const emp_error *why);

/* check.c: of checked runs; each is reported at most once per place and step. */

/** The place's buffer is new, or free: it holds poison. */
emp_status emp_replay_poison(emp_replay *r, int32_t memory, void *data, int64_t bytes,
                             emp_error *err);
/** Checks that the inputs of an op were written in this step. */
emp_status emp_replay_check_inputs(emp_replay *r, int32_t op, emp_error *err);
/** The outputs are complete and hold no poison; a product or convolution has the right
 * elements. */
emp_status emp_replay_check_outputs(emp_replay *r, int32_t op, emp_error *err);
/** A copy arrived as it was sent. */
emp_status emp_replay_check_copy(emp_replay *r, int32_t copy, emp_error *err);

/* Elements of matrix products and convolutions, from their definitions, in double: what
 * kernels are compared with. */

/** Element \a index of output 0 of a PRODUCT or CONV; operands in this computer's memory.
 * \a absolute gets the sum of the absolute values of its terms, for the tolerance.
 * O(terms). */
double emp_reference_element(const emp_kernel_call *call, int64_t index,
                             double *absolute);

/** Elements of output 0. */
int64_t emp_reference_count(const emp_kernel *kernel);

#endif /* EMP_REPLAY_EXECUTE_INTERNAL_H */
