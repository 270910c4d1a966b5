// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/plain/textbook.h"

#undef NDEBUG
#include <assert.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "sim/problem/fusion.h"

typedef int64_t ns;

/* ---- a binary heap of anything that has an order
 * --------------------------------------- */

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

static int precedes(const struct entry *x, const struct entry *y)
{
    if (x->at != y->at) return x->at < y->at;
    if (x->rank != y->rank) return x->rank < y->rank;
    return x->seq < y->seq;
}

static void swap_entries(struct entry *x, struct entry *y)
{
    struct entry t = *x;
    *x = *y;
    *y = t;
}

static void push(struct heap *h, struct entry e)
{
    if (h->count == h->capacity) {
        h->capacity = h->capacity * 2 + 16;
        h->entry = emp_realloc(h->entry, (size_t)h->capacity, sizeof *h->entry);
        assert(h->entry != NULL);
    }
    int i = h->count++;
    h->entry[i] = e;
    for (; i > 0 && precedes(&h->entry[i], &h->entry[(i - 1) / 2]); i = (i - 1) / 2) {
        swap_entries(&h->entry[i], &h->entry[(i - 1) / 2]);
    }
}

static struct entry pop(struct heap *h)
{
    struct entry top = h->entry[0];

    h->entry[0] = h->entry[--h->count];
    for (int i = 0;;) {
        int least = i;
        for (int c = 2 * i + 1; c <= 2 * i + 2 && c < h->count; c++) {
            if (precedes(&h->entry[c], &h->entry[least])) least = c;
        }
        if (least == i) return top;
        swap_entries(&h->entry[i], &h->entry[least]);
        i = least;
    }
}

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
    emp_op_id   starting; /* op of which not all tasks have started, or -1 */
    emp_op_id   batch_op[EMP_MAX_CORES]; /* -1 = free number */
    int         batch_tasks[EMP_MAX_CORES];
    ns          batch_began[EMP_MAX_CORES];
};

/* What a kernel takes on the device of its op, and on how many cores each task of it. */
struct cost {
    ns      gpu, issue, cpu;
    int     launches, lanes;
    int64_t workspace;
    ns      task[EMP_MAX_CORES]; /* [cores - 1] */
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
    struct cost    *cost;   /* [op] of its whole set */
    int             devices;
    emp_sim_result *r;
    ns              now;
    int64_t         seq;
    struct heap     events;

    int            *missing;  /* [op] */
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
    char           *is_used; /* [set * links + link] */

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

static ns to_ns(double s) { return (ns)(s * 1e9 + 0.5); }

static ns later(ns x, ns y) { return x > y ? x : y; }

static int64_t rounded(int64_t bytes) { return (bytes + 255) / 256 * 256; }

static int is_cpu(const struct textbook *b, int d)
{
    return b->p->machine->device[d].kind == EMP_DEVICE_CPU;
}

static int host_of(const struct textbook *b, int d)
{
    return b->p->machine->device[d].host;
}

static int home(const struct textbook *b, emp_tensor_id t)
{
    int d = b->device[b->g->tensor[t].producer];

    return b->g->tensor[t].on_host ? host_of(b, d) : d;
}

static int reads_in(const struct textbook *b, emp_op_id op, int input)
{
    uint32_t mask = b->g->op[op].host_input_mask;
    int      d = b->device[op];

    return (mask >> (input < 31 ? input : 31)) & 1u ? host_of(b, d) : d;
}

static struct place *place_of(struct textbook *b, emp_tensor_id t, int space)
{
    return &b->place[t * b->devices + space];
}

static emp_tensor_id input_of(const struct textbook *b, emp_op_id op, int input)
{
    return b->g->input[b->g->input_offset[op] + input];
}

static int inputs_of(const struct textbook *b, emp_op_id op)
{
    return b->g->input_offset[op + 1] - b->g->input_offset[op];
}

static int is_live(const struct textbook *b, emp_op_id op)
{
    return !b->g->op[op].is_folded;
}

static int is_live_tensor(const struct textbook *b, emp_tensor_id t)
{
    return is_live(b, b->g->tensor[t].producer);
}

static void schedule(struct textbook *b, ns at, int64_t rank, enum event kind, int x,
                     int y)
{
    push(&b->events, (struct entry){at, rank, b->seq++, (int)kind, x, y});
}

/* Ranks of simultaneous events, in the order of docs/simulator.md. */
static int64_t rank_of_server(int device) { return device - 1000; }
static int64_t rank_of_batch(int device, int number)
{
    return device * EMP_MAX_CORES + number;
}
static int64_t rank_of_kernel(int device) { return 10000 + device; }
static int64_t rank_of_ready(int device, int stream)
{
    return 20000 + 3 * device + stream;
}
static int64_t rank_of_seen(int device, int stream)
{
    return 30000 + 3 * device + stream;
}
static int64_t rank_of_send(void) { return 40000; }
static int64_t rank_of_receive(void) { return 40001; }
static int64_t rank_of_message(ns latency) { return 50000 + latency; }

static void fingerprint(struct textbook *b, int kind, int device, int id, ns start,
                        ns end)
{
    uint64_t h = emp_hash_u64(EMP_HASH_SEED, ((uint64_t)kind << 40) +
                                                 ((uint64_t)device << 32) + (uint64_t)id);
    h = emp_hash_u64(h, (uint64_t)start);
    b->r->fingerprint += emp_hash_u64(h, (uint64_t)end);
}

static void take_memory(struct textbook *b, int space, int64_t bytes, emp_op_id op)
{
    b->used[space] += bytes;
    if (bytes > 0 && b->used[space] > b->r->peak_bytes[space]) {
        b->r->peak_bytes[space] = b->used[space];
    }
    if (bytes > 0 && b->rt->check_memory && b->r->oom_device < 0 &&
        b->used[space] > b->p->machine->device[space].memory_bytes) {
        b->r->oom_device = space;
        b->r->oom_op = op;
        b->r->oom_bytes = bytes;
        b->r->oom_at_ns = b->now;
    }
}

static void new_buffer(struct textbook *b, emp_tensor_id t, int space, int64_t bytes)
{
    struct place *place = place_of(b, t, space);

    place->is_needed = 1;
    place->buffer = NULL;
    if (bytes == 0) return;
    place->buffer = &b->buffers[b->buffer_count++];
    *place->buffer = (struct buffer){rounded(bytes), space, 1};
    take_memory(b, space, rounded(bytes), b->g->tensor[t].producer);
}

static void share(struct textbook *b, emp_tensor_id t, struct buffer *buffer)
{
    struct place *place = place_of(b, t, home(b, t));

    place->is_needed = 1;
    place->buffer = buffer;
    if (buffer != NULL) buffer->sharers++;
}

static void forget(struct textbook *b, struct place *place)
{
    assert(place->is_needed);
    place->is_needed = 0;
    if (place->buffer != NULL && --place->buffer->sharers == 0) {
        b->used[place->buffer->space] -= place->buffer->bytes;
        assert(b->used[place->buffer->space] >= 0);
    }
}

static void no_longer_read(struct textbook *b, emp_tensor_id t, int space)
{
    struct place *place = place_of(b, t, space);

    assert(place->needed > 0);
    if (--place->needed == 0) forget(b, place);
}

static struct buffer *reusable(struct textbook *b, emp_op_id op, emp_tensor_id output)
{
    for (int i = 0; i < inputs_of(b, op); i++) {
        emp_tensor_id t = input_of(b, op, i);
        if (!is_live_tensor(b, t)) continue;
        struct place *place = place_of(b, t, reads_in(b, op, i));
        if (place->buffer != NULL && place->needed == 1 && place->buffer->sharers == 1 &&
            place->buffer->bytes == rounded(b->g->tensor[output].bytes) &&
            place->buffer->space == home(b, output)) {
            return place->buffer;
        }
    }
    return NULL;
}

static int64_t workspace(const struct textbook *b, emp_op_id op)
{
    return b->rt->events.workspace ? rounded(b->cost[op].workspace) : 0;
}

static int is_inner(const struct textbook *b, emp_op_id op)
{
    return b->leader[op] != op;
}

/* Made by an op that is fused into this one or with it. */
static int is_made_inside(const struct textbook *b, emp_op_id op, emp_tensor_id t)
{
    emp_op_id producer = b->g->tensor[t].producer;

    return is_inner(b, producer) && b->leader[producer] == b->leader[op];
}

static void create_outputs(struct textbook *b, emp_op_id op)
{
    const emp_op *o = &b->g->op[op];

    for (emp_tensor_id t = b->g->output_offset[op]; t < b->g->output_offset[op + 1];
         t++) {
        int            is_first = t == b->g->output_offset[op];
        struct buffer *old = NULL;
        if (is_first && o->is_alias) {
            emp_tensor_id in = input_of(b, op, 0);
            if (!is_live_tensor(b, in)) {
                share(b, t, NULL);
                continue;
            }
            if (reads_in(b, op, 0) == home(b, t) && !is_made_inside(b, op, in)) {
                share(b, t, place_of(b, in, home(b, t))->buffer);
                continue;
            }
        }
        if (is_first && (o->flags & EMP_OP_IN_PLACE) && b->rt->events.reuse_inputs) {
            old = reusable(b, op, t);
        }
        if (old != NULL) {
            share(b, t, old);
        } else {
            new_buffer(b, t, home(b, t), b->g->tensor[t].bytes);
        }
    }
    take_memory(b, b->device[op], workspace(b, op), op);
}

static void release_inputs(struct textbook *b, emp_op_id op)
{
    take_memory(b, b->device[op], -workspace(b, op), op);
    for (emp_tensor_id t = b->g->output_offset[op]; t < b->g->output_offset[op + 1];
         t++) {
        if (b->readers[t] == 0) forget(b, place_of(b, t, home(b, t)));
    }
    for (int i = 0; i < inputs_of(b, op); i++) {
        emp_tensor_id t = input_of(b, op, i);
        if (is_live_tensor(b, t)) no_longer_read(b, t, reads_in(b, op, i));
    }
    for (emp_op_id i = 0; !is_inner(b, op) && i < b->g->op_count; i++)
        if (is_inner(b, i) && b->leader[i] == op) release_inputs(b, i);
}

static int has_host_thread(const struct textbook *b, int d)
{
    return !is_cpu(b, d) && b->rt->events.serial_issue;
}

/* ---- collectives ---- */

static int set_of(const struct textbook *b, emp_op_id op)
{
    int others = 0;

    if (b->g->collective == NULL || b->g->collective[op].set == 0) return 0;
    for (emp_op_id i = 0; i < b->g->op_count; i++)
        others += i != op && is_live(b, i) &&
                  b->g->collective[i].set == b->g->collective[op].set;
    return others > 0 ? b->g->collective[op].set : 0;
}

/* The rank after \a op in the order of ids; after the last one the first. */
static emp_op_id next_rank(const struct textbook *b, emp_op_id op)
{
    emp_op_id next = op;

    do next = (next + 1) % b->g->op_count;
    while (!is_live(b, next) || b->g->collective[next].set != b->g->collective[op].set);
    return next;
}

static int is_on_route(const struct textbook *b, emp_op_id from, emp_op_id to, int link)
{
    const emp_route *route = &b->p->machine->route[b->device[from]][b->device[to]];

    for (int i = 0; b->rt->events.shared_links && i < route->link_count; i++)
        if (route->link[i] == link) return 1;
    return 0;
}

static int finds_link(const struct textbook *b, int set, int link)
{
    for (emp_op_id a = 0; a < b->g->op_count; a++) {
        if (!is_live(b, a) || b->g->collective[a].set != set) continue;
        for (emp_op_id c = next_rank(b, a); c != a; c = next_rank(b, c)) {
            if (is_on_route(b, a, c, link)) return 1;
            if (b->g->collective[a].op != EMP_COLLECTIVE_ALL_TO_ALL) break;
        }
    }
    return 0;
}

static void find_links(struct textbook *b)
{
    for (emp_op_id op = 0; op < b->g->op_count; op++) {
        int set = set_of(b, op);
        for (int link = 0; set > 0 && link < b->p->machine->link_count; link++)
            b->is_used[set * EMP_MAX_LINKS + link] = (char)finds_link(b, set, link);
    }
}

static int uses_link(const struct textbook *b, int set, int link)
{
    return b->is_used[set * EMP_MAX_LINKS + link];
}

static int share_a_link(const struct textbook *b, int set, int other)
{
    for (int link = 0; link < EMP_MAX_LINKS; link++)
        if (uses_link(b, set, link) && uses_link(b, other, link)) return 1;
    return 0;
}

/* How much longer an op takes that a GPU begins at \a at, because of the links of its set. */
static ns wait_for_links(struct textbook *b, emp_op_id op, ns at, ns time)
{
    int set = is_cpu(b, b->device[op]) || time == 0 ? 0 : set_of(b, op);
    int has_begun = 0;
    ns  start = at;

    if (set == 0) return 0;
    for (int i = 0; i < b->holds && !has_begun; i++) {
        has_begun = b->hold[i].set == set;
        if (has_begun) start = later(start, b->hold[i].start);
    }
    for (int link = 0; !has_begun && link < EMP_MAX_LINKS; link++)
        if (uses_link(b, set, link)) start = later(start, b->link_free[link]);
    for (int i = 0; !has_begun && i < b->holds; i++)
        if (share_a_link(b, set, b->hold[i].set)) start = later(start, b->hold[i].end);
    b->hold[b->holds++] = (struct hold){start, start + time, set};
    return start - at;
}

/* When a copy on a route that takes \a time begins, which could at \a start. */
static ns begin_beside_sets(const struct textbook *b, const emp_route *route, ns start,
                            ns time)
{
    for (int i = 0; i < b->holds; i++) {
        const struct hold *h = &b->hold[i];
        int                is_shared = 0;
        for (int k = 0; k < route->link_count; k++)
            is_shared |= uses_link(b, h->set, route->link[k]);
        if (!is_shared || h->end <= start || h->start >= start + time) continue;
        start = h->end;
        i = -1; /* it may now overlap with an earlier one */
    }
    return start;
}

static void start_next_task(struct textbook *b, int d)
{
    struct server *s = &b->server[d];
    ns             time = 0;

    if (s->is_busy || s->ready.count == 0) return;
    s->is_busy = 1;
    s->task = pop(&s->ready);
    s->began = b->now;
    if (s->task.kind == SEND) time = to_ns(b->rt->events.send_s);
    if (s->task.kind == RECEIVE) time = to_ns(b->rt->events.receive_s);
    if (s->task.kind == ISSUE && has_host_thread(b, d)) {
        time = b->cost[s->task.a].issue;
    }
    if (s->task.kind == ISSUE && !has_host_thread(b, d)) {
        time = is_cpu(b, d) ? b->cost[s->task.a].cpu : b->cost[s->task.a].gpu;
        ns more = wait_for_links(b, s->task.a, b->now, time);
        time += more;
        b->queued[d] += more;
        b->r->event_count++;
        create_outputs(b, s->task.a);
        if (b->rt->events.release_at_issue) release_inputs(b, s->task.a);
    }
    schedule(b, b->now + time, rank_of_server(d), TASK_END, d, 0);
}

/* Of an op; of a tensor that is sent: its producer's; of one that is received in the memory \a y:
 * that of its first reader there. */
static ns level_of(const struct textbook *b, enum task kind, int x, int y)
{
    if (b->level == NULL) return 0;
    if (kind == ISSUE) return b->level[x];
    if (kind == SEND) return b->level[b->g->tensor[x].producer]; /* which leads itself */
    for (int i = 0;; i++) {
        const struct reader *reader = &b->reader[x][i];
        if (reads_in(b, reader->op, reader->input) == y)
            return b->level[b->leader[reader->op]];
    }
}

static void add_task(struct textbook *b, int d, enum task kind, int x, int y)
{
    push(&b->server[d].ready,
         (struct entry){level_of(b, kind, x, y), 0, b->seq++, (int)kind, x, y});
    start_next_task(b, d);
}

static void tell_readers(struct textbook *b, emp_tensor_id t, int space);

/* An inner op is done when it is ready: what it makes is in no memory, and its leader, which
 * waits for it, does its work. */
static void op_is_passed(struct textbook *b, emp_op_id op)
{
    const int first = b->g->output_offset[op], end = b->g->output_offset[op + 1];

    for (emp_tensor_id t = first; t < end; t++) share(b, t, NULL);
    for (emp_tensor_id t = first; t < end; t++) tell_readers(b, t, home(b, t));
}

static void op_is_ready(struct textbook *b, emp_op_id op)
{
    int d = b->device[op];

    if (is_inner(b, op)) {
        op_is_passed(b, op);
        return;
    }
    if (is_cpu(b, d) && b->rt->events.cpu_pool) {
        push(&b->pool[d].line,
             (struct entry){level_of(b, ISSUE, op, 0), 0, b->seq++, 0, op, 0});
        return;
    }
    if (!is_cpu(b, d) && !b->rt->events.serial_issue) {
        b->queued[d] = later(b->queued[d], b->now) + b->cost[op].gpu;
    }
    add_task(b, d, ISSUE, op, 0);
}

static void something_arrived(struct textbook *b, emp_op_id op)
{
    assert(b->missing[op] > 0);
    if (--b->missing[op] == 0) op_is_ready(b, op);
}

static void tell_readers(struct textbook *b, emp_tensor_id t, int space)
{
    for (int i = 0; i < b->readers[t]; i++) {
        struct reader *reader = &b->reader[t][i];
        if (reads_in(b, reader->op, reader->input) == space)
            something_arrived(b, reader->op);
    }
}

static void copy_requested(struct textbook *b, emp_tensor_id t, int to);
static void copy_received(struct textbook *b, emp_tensor_id t, int to);
static void message_arrived(struct textbook *b, emp_op_id op, int to);

static void send_copies(struct textbook *b, emp_tensor_id t)
{
    int is_sent[EMP_MAX_DEVICES] = {0};
    int from = b->device[b->g->tensor[t].producer];

    for (int i = 0; i < b->readers[t]; i++) {
        int space = reads_in(b, b->reader[t][i].op, b->reader[t][i].input);
        if (space == home(b, t) || is_sent[space]) continue;
        is_sent[space] = 1;
        if (has_host_thread(b, from)) {
            add_task(b, from, SEND, t, space);
        } else if (to_ns(b->rt->events.send_s) == 0) {
            copy_requested(b, t, space);
        } else {
            schedule(b, b->now + to_ns(b->rt->events.send_s), rank_of_send(), SENT, t,
                     space);
        }
    }
}

static void tell_followers(struct textbook *b, emp_op_id op)
{
    int is_told[EMP_MAX_DEVICES] = {0};
    int from = b->device[op];

    for (int i = 0; i < b->followers[op]; i++) {
        emp_op_id next = b->follower[op][i];
        int       to = b->device[next];
        if (to == from || !b->rt->events.control_latency) {
            something_arrived(b, next);
        } else if (!is_told[to]) {
            ns latency = to_ns(b->p->machine->route[from][to].latency_s);
            is_told[to] = 1;
            if (latency == 0) {
                message_arrived(b, op, to);
            } else {
                schedule(b, b->now + latency, rank_of_message(latency), MESSAGE, op, to);
            }
        }
    }
}

static void tell(struct textbook *b, emp_op_id op)
{
    for (emp_tensor_id t = b->g->output_offset[op]; t < b->g->output_offset[op + 1];
         t++) {
        tell_readers(b, t, home(b, t));
        send_copies(b, t);
    }
    tell_followers(b, op);
}

static void begin_cpu_op(struct textbook *b, int d)
{
    struct pool *pool = &b->pool[d];
    int          n = pool->line.count + pool->running;
    emp_op_id    op = pop(&pool->line).a;
    int          lanes = b->cost[op].lanes, got = b->p->machine->device[d].cores / n;

    if (got < (lanes + 3) / 4) got = (lanes + 3) / 4;
    if (got > lanes) got = lanes;
    b->cores[op] = got;
    b->unstarted[op] = b->unfinished[op] = lanes == 1 ? 1 : 4 * got;
    pool->starting = op;
    pool->running++;
    b->began[op] = b->now;
    b->r->event_count++;
    create_outputs(b, op);
}

static void start_batch(struct textbook *b, int d)
{
    struct pool *pool = &b->pool[d];
    emp_op_id    op = pool->starting;
    int          number = 0, tasks = b->unstarted[op];

    while (pool->batch_op[number] >= 0) number++;
    if (tasks > pool->free_cores) tasks = pool->free_cores;
    b->unstarted[op] -= tasks;
    pool->free_cores -= tasks;
    pool->batch_op[number] = op;
    pool->batch_tasks[number] = tasks;
    pool->batch_began[number] = b->now;
    if (b->unstarted[op] == 0) pool->starting = -1;
    ns time = b->cost[op].task[b->cores[op] - 1];
    schedule(b, b->now + time, rank_of_batch(d, number), BATCH_END, d, number);
}

static void start_pool_ops(struct textbook *b, int d)
{
    struct pool *pool = &b->pool[d];

    while (pool->free_cores > 0) {
        if (pool->starting < 0 && pool->line.count > 0 && pool->running < pool->slots)
            begin_cpu_op(b, d);
        if (pool->starting < 0) return;
        start_batch(b, d);
    }
}

static void start_cpu_ops(struct textbook *b)
{
    for (int d = 0; d < b->devices; d++) start_pool_ops(b, d);
}

static void batch_ended(struct textbook *b, int d, int number)
{
    struct pool *pool = &b->pool[d];
    emp_op_id    op = pool->batch_op[number];

    pool->batch_op[number] = -1;
    pool->free_cores += pool->batch_tasks[number];
    b->busy[d] += (b->now - pool->batch_began[number]) * pool->batch_tasks[number];
    b->unfinished[op] -= pool->batch_tasks[number];
    if (b->unfinished[op] > 0) return;
    pool->running--;
    b->copyable[op] = b->now;
    b->r->event_count++;
    fingerprint(b, 0, d, op, b->began[op], b->now);
    release_inputs(b, op);
    tell(b, op);
}

static void op_issued(struct textbook *b, int d, emp_op_id op)
{
    int launches = b->cost[op].launches;
    ns  start = b->now, end = b->now;

    create_outputs(b, op);
    if (launches) {
        start = later(b->now, b->queued[d]);
        end = start + b->cost[op].gpu;
        end += wait_for_links(b, op, start, end - start);
        b->queued[d] = end;
        b->busy[d] += end - start;
    }
    b->copyable[op] = later(b->now, b->queued[d]);
    b->r->event_count += 2;
    fingerprint(b, 0, d, op, start, end);
    if (b->rt->events.release_at_issue || !launches) {
        release_inputs(b, op);
    } else {
        schedule(b, end, rank_of_kernel(d), KERNEL_END, op, 0);
    }
    tell(b, op);
}

static void op_served(struct textbook *b, int d, emp_op_id op)
{
    b->busy[d] += b->now - b->server[d].began;
    b->copyable[op] = b->now;
    b->r->event_count++;
    fingerprint(b, 0, d, op, b->server[d].began, b->now);
    if (!b->rt->events.release_at_issue) release_inputs(b, op);
    tell(b, op);
}

/* The stream that moves a copy, and the device whose stream it is. */
static int channel_of(const struct textbook *b, int from, int to, int *device)
{
    *device = is_cpu(b, from) && !is_cpu(b, to) ? to : from;
    if (is_cpu(b, from) == is_cpu(b, to)) return 2;
    return is_cpu(b, from) ? 0 : 1;
}

/* Times that a tensor crosses to a memory. */
static int crossings(const struct textbook *b, emp_tensor_id t, int to)
{
    int count = 0;

    for (int i = 0; i < b->readers[t]; i++) {
        count += reads_in(b, b->reader[t][i].op, b->reader[t][i].input) == to;
    }
    return b->rt->events.share_copies ? 1 : count;
}

static int is_fed(const struct textbook *b, emp_tensor_id t)
{
    const char *type = b->g->type_name[b->g->type[b->g->tensor[t].producer]];

    return strncmp(type, "Placeholder", 11) == 0;
}

static void copy_ready(struct textbook *b, emp_tensor_id t, int to);

static void copy_requested(struct textbook *b, emp_tensor_id t, int to)
{
    int streams, from = home(b, t), channel = channel_of(b, from, to, &streams);
    ns  wait = 0;

    new_buffer(b, t, to, b->rt->events.copy_memory ? b->g->tensor[t].copy_bytes : 0);
    b->r->event_count++;
    b->r->transfer_count++;
    b->r->traffic_bytes += b->g->tensor[t].copy_bytes * crossings(b, t, to);
    if (b->rt->events.drain_copies) {
        if (!is_cpu(b, from)) wait = later(wait, b->queued[from]);
        if (!is_cpu(b, to)) wait = later(wait, b->queued[to]);
    } else if (!is_cpu(b, from)) {
        wait = b->copyable[b->g->tensor[t].producer];
    }
    ns ready = later(b->now, wait);
    if (b->rt->events.copy_streams)
        ready = later(ready, b->stream_ready[streams][channel]);
    b->stream_ready[streams][channel] = ready;
    b->stream_waiting[streams][channel]++;
    if (ready == b->now && b->stream_waiting[streams][channel] == 1) {
        copy_ready(b, t, to);
    } else {
        schedule(b, ready, rank_of_ready(streams, channel), COPY_READY, t, to);
    }
}

static void copy_ready(struct textbook *b, emp_tensor_id t, int to)
{
    int              streams, from = home(b, t);
    int              channel = channel_of(b, from, to, &streams);
    const emp_route *route = &b->p->machine->route[from][to];
    ns               start = b->now;

    b->stream_waiting[streams][channel]--;
    if (b->rt->events.copy_streams) start = later(start, b->stream_end[streams][channel]);
    for (int i = 0; b->rt->events.shared_links && i < route->link_count; i++)
        start = later(start, b->link_free[route->link[i]]);
    double ns_per_byte = 1e9 / route->bytes_per_s;
    double pageable = 1e9 * b->rt->events.pageable_s_per_byte;
    int    is_from_host = is_cpu(b, from) && !is_cpu(b, to);
    if (is_from_host && is_fed(b, t) && pageable > ns_per_byte) ns_per_byte = pageable;
    ns crossing = to_ns(route->latency_s) +
                  (ns)((double)b->g->tensor[t].copy_bytes * ns_per_byte + 0.5);
    ns time = crossing * crossings(b, t, to);
    start = begin_beside_sets(b, route, start, time);
    ns end = start + time;
    for (int i = 0; i < route->link_count; i++) b->link_free[route->link[i]] = end;
    b->stream_end[streams][channel] = end;
    fingerprint(b, 1, to, t, start, end);
    schedule(b, end + to_ns(b->rt->events.poll_s), rank_of_seen(streams, channel),
             COPY_SEEN, t, to);
}

static void copy_seen(struct textbook *b, emp_tensor_id t, int to)
{
    no_longer_read(b, t, home(b, t));
    if (has_host_thread(b, to)) {
        add_task(b, to, RECEIVE, t, to);
    } else if (to_ns(b->rt->events.receive_s) == 0) {
        copy_received(b, t, to);
    } else {
        schedule(b, b->now + to_ns(b->rt->events.receive_s), rank_of_receive(), RECEIVED,
                 t, to);
    }
}

static void copy_received(struct textbook *b, emp_tensor_id t, int to)
{
    b->r->event_count++;
    tell_readers(b, t, to);
}

static void message_arrived(struct textbook *b, emp_op_id op, int to)
{
    b->r->event_count++;
    fingerprint(b, 2, to, op, b->now, b->now);
    for (int i = 0; i < b->followers[op]; i++) {
        if (b->device[b->follower[op][i]] == to) something_arrived(b, b->follower[op][i]);
    }
}

static void task_ended(struct textbook *b, int d)
{
    struct entry task = b->server[d].task;
    int          waits_to_choose = b->server[d].ready.count > 0 || b->level != NULL;

    b->server[d].is_busy = waits_to_choose;
    if (task.kind == SEND) copy_requested(b, task.a, task.b);
    if (task.kind == RECEIVE) copy_received(b, task.a, task.b);
    if (task.kind == ISSUE && has_host_thread(b, d)) op_issued(b, d, task.a);
    if (task.kind == ISSUE && !has_host_thread(b, d)) op_served(b, d, task.a);
    if (!waits_to_choose) return; /* the first of those told has found an idle server */
    b->server[d].is_busy = 0;
    start_next_task(b, d);
}

static void handle(struct textbook *b, const struct entry *e)
{
    switch ((enum event)e->kind) {
    case BATCH_END: batch_ended(b, e->a, e->b); break;
    case TASK_END: task_ended(b, e->a); break;
    case KERNEL_END: release_inputs(b, e->a); break;
    case COPY_READY: copy_ready(b, e->a, e->b); break;
    case COPY_SEEN: copy_seen(b, e->a, e->b); break;
    case SENT: copy_requested(b, e->a, e->b); break;
    case RECEIVED: copy_received(b, e->a, e->b); break;
    case MESSAGE: message_arrived(b, e->a, e->b); break;
    }
}

static void *zeroed(size_t count, size_t size)
{
    void *block = emp_calloc(count, size);

    assert(block != NULL);
    return block;
}

/* Readers and followers in the order of op id and input. */
static void read_graph(struct textbook *b)
{
    const emp_graph *g = b->g;

    b->reader = zeroed((size_t)g->tensor_count, sizeof *b->reader);
    b->readers = zeroed((size_t)g->tensor_count, sizeof *b->readers);
    b->follower = zeroed((size_t)g->op_count, sizeof *b->follower);
    b->followers = zeroed((size_t)g->op_count, sizeof *b->followers);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        for (int i = 0; is_live(b, op) && i < inputs_of(b, op); i++) {
            emp_tensor_id t = input_of(b, op, i);
            if (!is_live_tensor(b, t)) continue;
            int n = b->readers[t]++;
            b->reader[t] = emp_realloc(b->reader[t], (size_t)n + 1, sizeof **b->reader);
            assert(b->reader[t] != NULL);
            b->reader[t][n] = (struct reader){op, i};
            b->missing[op]++;
        }
        for (int i = g->control_offset[op];
             is_live(b, op) && i < g->control_offset[op + 1]; i++) {
            emp_op_id from = g->control[i];
            if (!is_live(b, from)) continue;
            int n = b->followers[from]++;
            b->follower[from] =
                emp_realloc(b->follower[from], (size_t)n + 1, sizeof **b->follower);
            assert(b->follower[from] != NULL);
            b->follower[from][n] = op;
            b->missing[op]++;
        }
    }
}

static void count_needs(struct textbook *b)
{
    for (emp_tensor_id t = 0; t < b->g->tensor_count; t++) {
        for (int i = 0; i < b->readers[t]; i++) {
            int           space = reads_in(b, b->reader[t][i].op, b->reader[t][i].input);
            struct place *place = place_of(b, t, space);
            place->needed++;
            if (space != home(b, t) && !place->has_edges)
                place_of(b, t, home(b, t))->needed++;
            place->has_edges = 1;
        }
    }
}

static struct cost plain_cost(const struct textbook *b, emp_op_id op)
{
    const emp_cost_table *costs = b->p->costs;
    size_t                row = emp_cost_row(costs, b->device[op], op);
    struct cost           cost = {.launches = b->g->op[op].cost.kernels > 0,
                                  .workspace = b->g->op[op].cost.workspace_bytes};

    if (!is_cpu(b, b->device[op])) {
        cost.gpu = costs->gpu[row].compute_ns;
        cost.issue = costs->gpu[row].issue_ns;
        return cost;
    }
    cost.cpu = costs->cpu[row].compute_ns;
    cost.lanes = costs->cpu[row].lanes;
    for (int p = 0; p < cost.lanes; p++)
        cost.task[p] = costs->task_ns[costs->cpu_offset[row] + p];
    return cost;
}

static struct cost cost_of_set(const struct textbook *b, const emp_fusion *fusion,
                               emp_op_id leader)
{
    const emp_device         *device = &b->p->machine->device[b->device[leader]];
    const emp_runtime_events *events = &b->p->runtime.events;
    emp_op_id                 member[EMP_FUSION_MOST];
    int                       count = 0;
    emp_op_cost               work;
    struct cost               cost = {0};

    for (emp_op_id op = 0; op < b->g->op_count; op++)
        if (is_inner(b, op) && b->leader[op] == leader) member[count++] = op;
    member[count++] = leader;
    emp_op_id product = emp_fusion_cost(fusion, member, count, b->leader, &work);
    cost.launches = work.kernels > 0;
    cost.workspace = work.workspace_bytes;
    if (device->kind == EMP_DEVICE_GPU) {
        emp_gpu_cost taken = emp_cost_on_gpu(&work, b->g, product, device, events);
        cost.gpu = taken.compute_ns;
        cost.issue = taken.issue_ns;
        return cost;
    }
    work = emp_fusion_cost_on_cpu(&work, device);
    cost.lanes = emp_cost_lanes(&work, device);
    cost.cpu = emp_cost_fill_row(cost.task, &work, cost.lanes, device, events);
    return cost;
}

/* Leaders, and what each kernel takes. An inner op has no workspace of its own. */
static void fuse(struct textbook *b, const emp_op_id *leader_of_op)
{
    emp_fusion *fusion = NULL;
    int         is_fused = 0;

    for (emp_op_id op = 0; op < b->g->op_count; op++) {
        b->leader[op] = leader_of_op != NULL && is_live(b, op) ? leader_of_op[op] : op;
        if (is_inner(b, op)) is_fused = 1;
    }
    if (is_fused) assert(emp_fusion_create(&fusion, b->p, NULL) == EMP_OK);
    for (emp_op_id op = 0; op < b->g->op_count; op++)
        if (is_live(b, op)) b->cost[op] = plain_cost(b, op);
    for (emp_op_id op = 0; op < b->g->op_count; op++) {
        if (!is_inner(b, op)) continue;
        b->cost[op].workspace = 0;
        b->cost[b->leader[op]] = cost_of_set(b, fusion, b->leader[op]);
    }
    emp_fusion_destroy(fusion);
}

static void start(struct textbook *b)
{
    const emp_graph *g = b->g;

    for (int i = 0; i < g->op_count; i++) {
        emp_op_id op = g->topo[i];
        if (is_live(b, op))
            take_memory(b, b->device[op], rounded(g->op[op].persistent_bytes), op);
    }
    for (int d = 0; d < b->devices; d++) b->server[d].is_busy = b->level != NULL;
    for (int i = 0; i < g->op_count; i++) {
        if (is_live(b, g->topo[i]) && b->missing[g->topo[i]] == 0)
            op_is_ready(b, g->topo[i]);
    }
    for (int d = 0; b->level != NULL && d < b->devices; d++) {
        b->server[d].is_busy = 0;
        start_next_task(b, d);
    }
    start_cpu_ops(b);
}

static void finish(struct textbook *b)
{
    emp_sim_result *r = b->r;

    r->step_time_ns = b->now;
    for (int d = 0; d < b->devices; d++) {
        r->step_time_ns = later(r->step_time_ns, b->queued[d]);
        r->busy_ns[d] = b->busy[d];
        if (is_cpu(b, d) && b->rt->events.cpu_pool)
            r->busy_ns[d] /= b->p->machine->device[d].cores;
    }
    r->step_time_ns += to_ns(b->rt->events.step_s);
    r->is_feasible = r->oom_device < 0;
    for (emp_op_id op = 0; op < b->g->op_count; op++) {
        assert(b->missing[op] == 0);
        if (is_live(b, op))
            b->used[b->device[op]] -= rounded(b->g->op[op].persistent_bytes);
    }
    for (int d = 0; d < b->devices; d++) assert(b->used[d] == 0);
}

static void open_pools(struct textbook *b)
{
    for (int d = 0; d < b->devices; d++) {
        struct pool *pool = &b->pool[d];
        if (is_cpu(b, d)) pool->free_cores = b->p->machine->device[d].cores;
        pool->slots =
            b->rt->events.cpu_slots > 0 ? b->rt->events.cpu_slots : pool->free_cores;
        pool->starting = -1;
        for (int n = 0; n < EMP_MAX_CORES; n++) pool->batch_op[n] = -1;
    }
}

/* Levels that are all equal say nothing. */
static const uint8_t *levels_that_differ(const emp_graph *g, const uint8_t *level)
{
    int least = EMP_LEVELS, most = -1;

    for (emp_op_id op = 0; level != NULL && op < g->op_count; op++) {
        if (g->op[op].is_folded) continue;
        if (level[op] < least) least = level[op];
        if (level[op] > most) most = level[op];
    }
    return least < most ? level : NULL;
}

void textbook_run(const emp_problem *problem, const emp_decision *decision,
                  emp_sim_result *result)
{
    struct textbook *b = zeroed(1, sizeof *b);
    const emp_graph *g = problem->graph;

    memset(result, 0, sizeof *result);
    result->device_count = problem->machine->device_count;
    result->oom_device = result->oom_op = -1;
    b->p = problem;
    b->g = g;
    b->rt = &problem->runtime;
    b->device = decision->device_of_op;
    b->level = levels_that_differ(g, decision->level_of_op);
    b->devices = problem->machine->device_count;
    b->r = result;
    open_pools(b);
    b->missing = zeroed((size_t)g->op_count, sizeof *b->missing);
    b->copyable = zeroed((size_t)g->op_count, sizeof *b->copyable);
    b->began = zeroed((size_t)g->op_count, sizeof *b->began);
    b->hold = zeroed((size_t)g->op_count, sizeof *b->hold);
    b->is_used = zeroed((size_t)g->op_count + 1, EMP_MAX_LINKS);
    find_links(b);
    b->unstarted = zeroed((size_t)g->op_count, sizeof *b->unstarted);
    b->unfinished = zeroed((size_t)g->op_count, sizeof *b->unfinished);
    b->cores = zeroed((size_t)g->op_count, sizeof *b->cores);
    b->leader = zeroed((size_t)g->op_count, sizeof *b->leader);
    b->cost = zeroed((size_t)g->op_count, sizeof *b->cost);
    b->place = zeroed((size_t)(g->tensor_count * b->devices), sizeof *b->place);
    b->buffers = zeroed((size_t)(g->tensor_count * b->devices), sizeof *b->buffers);
    fuse(b, decision->leader_of_op);
    read_graph(b);
    count_needs(b);

    start(b);
    while (b->events.count > 0) {
        struct entry e = pop(&b->events);
        b->now = e.at;
        handle(b, &e);
        start_cpu_ops(b);
    }
    finish(b);

    for (emp_tensor_id t = 0; t < g->tensor_count; t++) emp_free(b->reader[t]);
    for (emp_op_id op = 0; op < g->op_count; op++) emp_free(b->follower[op]);
    for (int d = 0; d < b->devices; d++) {
        emp_free(b->server[d].ready.entry);
        emp_free(b->pool[d].line.entry);
    }
    emp_free(b->events.entry);
    emp_free(b->missing);
    emp_free(b->copyable);
    emp_free(b->began);
    emp_free(b->hold);
    emp_free(b->is_used);
    emp_free(b->unstarted);
    emp_free(b->unfinished);
    emp_free(b->cores);
    emp_free(b->leader);
    emp_free(b->cost);
    emp_free(b->place);
    emp_free(b->reader);
    emp_free(b->readers);
    emp_free(b->follower);
    emp_free(b->followers);
    emp_free(b->buffers);
    emp_free(b);
}
