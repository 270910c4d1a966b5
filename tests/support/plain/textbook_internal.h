/** \file tests/support/plain/textbook_internal.h
 * The state of the second simulator, and what its parts do for each other. Only for textbook*.c.
 */
#ifndef EMP_TESTS_SUPPORT_PLAIN_TEXTBOOK_INTERNAL_H
#define EMP_TESTS_SUPPORT_PLAIN_TEXTBOOK_INTERNAL_H

#include "tests/support/plain/textbook.h"

typedef int64_t ns;

struct entry {
    ns      at;
    int64_t rank; /* among simultaneous entries */
    int64_t seq;  /* first come first served */
    int     kind;
    int32_t a, b;
};

struct heap {
    struct entry *entry;
    int           count, capacity;
};

enum event {
    BATCH_END,
    TASK_END,
    KERNEL_END,
    COPY_READY,
    COPY_SEEN,
    SENT,
    RECEIVED,
    MESSAGE
};
enum task { ISSUE, SEND, RECEIVE };

struct buffer {
    int64_t bytes;
    int     space, sharers;
};

/* A tensor in one memory. */
struct place {
    int            needed;    /* edges that read it here, and at home its copies */
    int            is_needed; /* it exists and somebody will read it */
    int            has_edges; /* somebody reads it here */
    struct buffer *buffer;    /* NULL = none */
};

struct reader {
    emp_op_id op;
    int       input;
};

struct server {
    struct heap  ready;
    int          is_busy;
    struct entry task;
    ns           began;
};

/* The cores of a CPU. */
struct pool {
    struct heap line; /* ops that wait */
    int         slots, free_cores, running;
    ns          moved;    /* its memory has moved everything so far */
    emp_op_id   starting; /* op of which not all tasks have started, or -1 */
    emp_op_id   batch_op[EMP_MAX_CORES]; /* -1 = free number */
    int         batch_tasks[EMP_MAX_CORES];
    ns          batch_began[EMP_MAX_CORES];
};

/* The time of a kernel on the device of its op, and on how many cores each task of it. */
struct cost {
    ns        gpu, issue, cpu;
    int       launches, lanes;
    int64_t   workspace;
    double    bytes; /* that a CPU reads and writes */
    const ns *task;  /* [cores - 1] */
    ns       *owned; /* the same of a fused set, to be freed; else NULL */
};

/* A rank keeps the links of its set. */
struct hold {
    ns  start, end;
    int set;
};

struct textbook {
    const emp_problem   *p;
    const emp_graph     *g;
    const emp_runtime   *rt;
    const emp_device_id *device;
    const uint8_t  *level; /* NULL = what waits is served in the order in which it came */
    emp_op_id      *leader; /* [op] itself unless it is fused into another */
    int            *led;    /* [op] how many are fused into it */
    struct cost    *cost;   /* [op] of its whole set */
    int             devices;
    emp_sim_result *r;
    ns              now;
    int64_t         seq;
    struct heap     events;

    int            *inputs;   /* [op] that must arrive in a step */
    int            *missing;  /* [op] of these */
    ns             *copyable; /* [op] */
    ns             *began;    /* [op] on a CPU */
    struct place   *place;    /* [tensor * devices + space] */
    struct reader **reader;   /* [tensor] */
    int            *readers;  /* [tensor] */
    emp_op_id     **follower; /* [op] by control edges */
    int            *followers;
    struct buffer  *buffers; /* pool */
    int             buffer_count;
    struct hold    *hold; /* [op] of this step so far */
    int             holds;
    char           *is_used; /* [set * links + link]; NULL = there are no collectives */

    int64_t       used[EMP_MAX_DEVICES];
    struct server server[EMP_MAX_DEVICES];
    ns            queued[EMP_MAX_DEVICES];
    ns            busy[EMP_MAX_DEVICES];
    ns            stream_ready[EMP_MAX_DEVICES][3], stream_end[EMP_MAX_DEVICES][3];
    int           stream_waiting[EMP_MAX_DEVICES][3]; /* copies that are not ready yet */
    ns            link_free[EMP_MAX_LINKS];
    struct pool   pool[EMP_MAX_DEVICES];
    int          *unstarted, *unfinished, *cores; /* [op] tasks; cores they are cut for */
};

static inline ns to_ns(double s) { return (ns)(s * 1e9 + 0.5); }

static inline ns later(ns x, ns y) { return x > y ? x : y; }

static inline int64_t rounded(int64_t bytes) { return (bytes + 255) / 256 * 256; }

static inline int is_cpu(const struct textbook *b, int d)
{
    return b->p->machine->device[d].kind == EMP_DEVICE_CPU;
}

static inline int host_of(const struct textbook *b, int d)
{
    return b->p->machine->device[d].host;
}

static inline int home(const struct textbook *b, emp_tensor_id t)
{
    int d = b->device[b->g->tensor[t].producer];

    return b->g->tensor[t].on_host ? host_of(b, d) : d;
}

static inline int reads_in(const struct textbook *b, emp_op_id op, int input)
{
    uint32_t mask = b->g->op[op].host_input_mask;
    int      d = b->device[op];

    return (mask >> (input < 31 ? input : 31)) & 1u ? host_of(b, d) : d;
}

static inline struct place *place_of(struct textbook *b, emp_tensor_id t, int space)
{
    return &b->place[t * b->devices + space];
}

static inline emp_tensor_id input_of(const struct textbook *b, emp_op_id op, int input)
{
    return b->g->input[b->g->input_offset[op] + input];
}

static inline int inputs_of(const struct textbook *b, emp_op_id op)
{
    return b->g->input_offset[op + 1] - b->g->input_offset[op];
}

static inline int is_live(const struct textbook *b, emp_op_id op)
{
    return !b->g->op[op].is_folded;
}

static inline int is_live_tensor(const struct textbook *b, emp_tensor_id t)
{
    return is_live(b, b->g->tensor[t].producer);
}

static inline int is_inner(const struct textbook *b, emp_op_id op)
{
    return b->leader[op] != op;
}

/* ---- textbook_heap.c: a binary heap of anything that has an order ---- */

void         textbook_push(struct heap *h, struct entry e);
struct entry textbook_pop(struct heap *h);

/* ---- textbook_memory.c: buffers, and who still reads them ---- */

void textbook_take_memory(struct textbook *b, int space, int64_t bytes, emp_op_id op);
void textbook_new_buffer(struct textbook *b, emp_tensor_id t, int space, int64_t bytes);
void textbook_share(struct textbook *b, emp_tensor_id t, struct buffer *buffer);
void textbook_no_longer_read(struct textbook *b, emp_tensor_id t, int space);
void textbook_create_outputs(struct textbook *b, emp_op_id op);
void textbook_release_inputs(struct textbook *b, emp_op_id op);

/* ---- textbook_collectives.c: links that ranks keep ---- */

void textbook_find_links(struct textbook *b); /* that each set uses */
/* How much longer an op takes that a GPU begins at \a at, because of the links of its set. */
ns textbook_wait_for_links(struct textbook *b, emp_op_id op, ns at, ns time);
/* When a copy on a route that takes \a time begins, which could at \a start. */
ns textbook_begin_beside_sets(const struct textbook *b, const emp_route *route, ns start,
                              ns time);

/* ---- textbook_costs.c: what kernels take, also fused ones ---- */

/* Leaders, and what each kernel takes. An inner op has no workspace of its own. */
void textbook_fuse(struct textbook *b, const emp_op_id *leader_of_op);

#endif /* EMP_TESTS_SUPPORT_PLAIN_TEXTBOOK_INTERNAL_H */
