// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/plain/textbook_internal.h"

#undef NDEBUG
#include <assert.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"

static void schedule(struct textbook *b, ns at, int64_t rank, enum event kind, int x,
                     int y)
{
    textbook_push(&b->events, (struct entry){at, rank, b->seq++, (int)kind, x, y});
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

static int has_host_thread(const struct textbook *b, int d)
{
    return !is_cpu(b, d) && b->rt->events.serial_issue;
}

static void start_next_task(struct textbook *b, int d)
{
    struct server *s = &b->server[d];
    ns             time = 0;

    if (s->is_busy || s->ready.count == 0) return;
    s->is_busy = 1;
    s->task = textbook_pop(&s->ready);
    s->began = b->now;
    if (s->task.kind == SEND) time = to_ns(b->rt->events.send_s);
    if (s->task.kind == RECEIVE) time = to_ns(b->rt->events.receive_s);
    if (s->task.kind == ISSUE && has_host_thread(b, d)) time = b->cost[s->task.a].issue;
    if (s->task.kind == ISSUE && !has_host_thread(b, d)) {
        time = is_cpu(b, d) ? b->cost[s->task.a].cpu : b->cost[s->task.a].gpu;
        ns more = textbook_wait_for_links(b, s->task.a, b->now, time);
        time += more;
        b->queued[d] += more;
        b->r->event_count++;
        textbook_create_outputs(b, s->task.a);
        if (b->rt->events.release_at_issue) textbook_release_inputs(b, s->task.a);
    }
    schedule(b, b->now + time, rank_of_server(d), TASK_END, d, 0);
}

/* The level of an op; for a tensor that is sent, its producer's; for one that is received in the memory
 * \a y, its first reader's there. */
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
    textbook_push(&b->server[d].ready,
                  (struct entry){level_of(b, kind, x, y), 0, b->seq++, (int)kind, x, y});
    start_next_task(b, d);
}

static void tell_readers(struct textbook *b, emp_tensor_id t, int space);

/* An inner op is done when it is ready: what it makes is in no memory, and its leader, which
 * waits for it, does its work. */
static void op_is_passed(struct textbook *b, emp_op_id op)
{
    const int first = b->g->output_offset[op], end = b->g->output_offset[op + 1];

    for (emp_tensor_id t = first; t < end; t++) textbook_share(b, t, NULL);
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
        textbook_push(&b->pool[d].line,
                      (struct entry){level_of(b, ISSUE, op, 0), 0, b->seq++, 0, op, 0});
        return;
    }
    if (!is_cpu(b, d) && !b->rt->events.serial_issue)
        b->queued[d] = later(b->queued[d], b->now) + b->cost[op].gpu;
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
    emp_op_id    op = textbook_pop(&pool->line).a;
    int          lanes = b->cost[op].lanes, got = b->p->machine->device[d].cores / n;

    if (got < (lanes + 3) / 4) got = (lanes + 3) / 4;
    if (got > lanes) got = lanes;
    b->cores[op] = got;
    b->unstarted[op] = b->unfinished[op] = lanes == 1 ? 1 : 4 * got;
    pool->starting = op;
    pool->running++;
    b->began[op] = b->now;
    b->r->event_count++;
    textbook_create_outputs(b, op);
}

/* When the memory of a CPU has moved what so many tasks of the op read and write, at its own rate, after
 * all that it has to move so far; 0 if it is nobody's. The tasks of one round on the op's own cores never
 * wait for it. */
static ns moved(struct textbook *b, int d, emp_op_id op, int tasks, ns task_ns)
{
    const emp_device *cpu = &b->p->machine->device[d];
    int               all = b->cost[op].lanes == 1 ? 1 : 4 * b->cores[op];
    double            rate = cpu->core_bytes_per_s * cpu->bandwidth_cores;
    double            one = b->cost[op].bytes / all * (1e9 / rate);

    if (!b->rt->events.shared_memory) return 0;
    if (one > (double)task_ns / b->cores[op]) one = (double)task_ns / b->cores[op];
    b->pool[d].moved = later(b->pool[d].moved, b->now) + (ns)(one * tasks);
    return b->pool[d].moved;
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
    ns end = later(b->now + time, moved(b, d, op, tasks, time));
    schedule(b, end, rank_of_batch(d, number), BATCH_END, d, number);
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
    textbook_release_inputs(b, op);
    tell(b, op);
}

static void op_issued(struct textbook *b, int d, emp_op_id op)
{
    int launches = b->cost[op].launches;
    ns  start = b->now, end = b->now;

    textbook_create_outputs(b, op);
    if (launches) {
        start = later(b->now, b->queued[d]);
        end = start + b->cost[op].gpu;
        end += textbook_wait_for_links(b, op, start, end - start);
        b->queued[d] = end;
        b->busy[d] += end - start;
    }
    b->copyable[op] = later(b->now, b->queued[d]);
    b->r->event_count += 2;
    fingerprint(b, 0, d, op, start, end);
    if (b->rt->events.release_at_issue || !launches) {
        textbook_release_inputs(b, op);
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
    if (!b->rt->events.release_at_issue) textbook_release_inputs(b, op);
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

    for (int i = 0; i < b->readers[t]; i++)
        count += reads_in(b, b->reader[t][i].op, b->reader[t][i].input) == to;
    return b->rt->events.share_copies ? 1 : count;
}

static int is_fed(const struct textbook *b, emp_tensor_id t)
{
    const char *type = b->g->type_name[b->g->type[b->g->tensor[t].producer]];

    return strncmp(type, "Placeholder", 11) == 0 || strcmp(type, "Stream") == 0;
}

static void copy_ready(struct textbook *b, emp_tensor_id t, int to);

static void copy_requested(struct textbook *b, emp_tensor_id t, int to)
{
    int streams, from = home(b, t), channel = channel_of(b, from, to, &streams);
    ns  wait = 0;

    textbook_new_buffer(b, t, to,
                        b->rt->events.copy_memory ? b->g->tensor[t].copy_bytes : 0);
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
    start = textbook_begin_beside_sets(b, route, start, time);
    ns end = start + time;
    for (int i = 0; i < route->link_count; i++) b->link_free[route->link[i]] = end;
    b->stream_end[streams][channel] = end;
    fingerprint(b, 1, to, t, start, end);
    schedule(b, end + to_ns(b->rt->events.poll_s), rank_of_seen(streams, channel),
             COPY_SEEN, t, to);
}

static void copy_seen(struct textbook *b, emp_tensor_id t, int to)
{
    textbook_no_longer_read(b, t, home(b, t));
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
    case KERNEL_END: textbook_release_inputs(b, e->a); break;
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
            b->inputs[op]++;
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
            b->inputs[op]++;
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

static void start(struct textbook *b)
{
    const emp_graph *g = b->g;

    for (int i = 0; i < g->op_count; i++) {
        emp_op_id op = g->topo[i];
        if (is_live(b, op))
            textbook_take_memory(b, b->device[op], rounded(g->op[op].persistent_bytes),
                                 op);
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

static void *new_ops(const struct textbook *b, size_t size)
{
    return zeroed((size_t)b->g->op_count, size);
}

struct textbook *textbook_create(const emp_problem *problem)
{
    struct textbook *b = zeroed(1, sizeof *b);
    const emp_graph *g = problem->graph;
    const size_t     places =
        (size_t)g->tensor_count * (size_t)problem->machine->device_count;

    b->p = problem;
    b->g = g;
    b->rt = &problem->runtime;
    b->devices = problem->machine->device_count;
    b->inputs = new_ops(b, sizeof *b->inputs);
    b->missing = new_ops(b, sizeof *b->missing);
    b->copyable = new_ops(b, sizeof *b->copyable);
    b->began = new_ops(b, sizeof *b->began);
    b->hold = new_ops(b, sizeof *b->hold);
    if (g->collective != NULL)
        b->is_used = zeroed((size_t)g->op_count + 1, EMP_MAX_LINKS);
    b->unstarted = new_ops(b, sizeof *b->unstarted);
    b->unfinished = new_ops(b, sizeof *b->unfinished);
    b->cores = new_ops(b, sizeof *b->cores);
    b->leader = new_ops(b, sizeof *b->leader);
    b->led = new_ops(b, sizeof *b->led);
    b->cost = new_ops(b, sizeof *b->cost);
    b->place = zeroed(places, sizeof *b->place);
    b->buffers = zeroed(places, sizeof *b->buffers);
    read_graph(b);
    return b;
}

/* Nothing of the last step is left but room. */
static void begin(struct textbook *b, const emp_decision *decision, emp_sim_result *r)
{
    const size_t ops = (size_t)b->g->op_count;

    memset(r, 0, sizeof *r);
    r->device_count = b->devices;
    r->oom_device = r->oom_op = -1;
    b->r = r;
    b->device = decision->device_of_op;
    b->level = levels_that_differ(b->g, decision->level_of_op);
    b->now = 0;
    b->seq = 0;
    b->buffer_count = b->holds = 0;
    memcpy(b->missing, b->inputs, ops * sizeof *b->missing);
    memset(b->led, 0, ops * sizeof *b->led);
    memset(b->place, 0,
           (size_t)b->g->tensor_count * (size_t)b->devices * sizeof *b->place);
    memset(b->queued, 0, sizeof b->queued);
    memset(b->busy, 0, sizeof b->busy);
    memset(b->used, 0, sizeof b->used);
    memset(b->stream_ready, 0, sizeof b->stream_ready);
    memset(b->stream_end, 0, sizeof b->stream_end);
    memset(b->link_free, 0, sizeof b->link_free);
    if (b->is_used != NULL) memset(b->is_used, 0, (ops + 1) * EMP_MAX_LINKS);
    for (int d = 0; d < b->devices; d++) b->pool[d].running = 0, b->pool[d].moved = 0;
    open_pools(b);
    textbook_find_links(b);
    textbook_fuse(b, decision->leader_of_op);
    count_needs(b);
}

void textbook_step(struct textbook *b, const emp_decision *decision,
                   emp_sim_result *result)
{
    begin(b, decision, result);
    start(b);
    while (b->events.count > 0) {
        struct entry e = textbook_pop(&b->events);
        b->now = e.at;
        handle(b, &e);
        start_cpu_ops(b);
    }
    finish(b);
}

void textbook_destroy(struct textbook *b)
{
    if (b == NULL) return;
    for (emp_tensor_id t = 0; t < b->g->tensor_count; t++) emp_free(b->reader[t]);
    for (emp_op_id op = 0; op < b->g->op_count; op++) {
        emp_free(b->follower[op]);
        emp_free(b->cost[op].owned);
    }
    for (int d = 0; d < b->devices; d++) {
        emp_free(b->server[d].ready.entry);
        emp_free(b->pool[d].line.entry);
    }
    void *const owned[] = {b->events.entry, b->inputs,    b->missing,   b->copyable,
                           b->began,        b->hold,      b->is_used,   b->leader,
                           b->led,          b->cost,      b->place,     b->reader,
                           b->readers,      b->cores,     b->follower,  b->buffers,
                           b->followers,    b->unstarted, b->unfinished};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) emp_free(owned[i]);
    emp_free(b);
}

void textbook_run(const emp_problem *problem, const emp_decision *decision,
                  emp_sim_result *result)
{
    struct textbook *b = textbook_create(problem);

    textbook_step(b, decision, result);
    textbook_destroy(b);
}
