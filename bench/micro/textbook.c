// SPDX-License-Identifier: GPL-3.0-or-later
/* docs/simulator.md with all delays of the profile `ideal` at zero: an op is served when
 * it is ready and its device free; its copies take their links in the moment it ends. */
#include "bench/micro/textbook.h"

#include <string.h>

#include "base/mem.h"
#include "bench/micro/plain.h"

enum { NO_COPY = -1, SEQUENCE_BITS = 48, TO_DEVICE = 0, TO_HOST, TO_PEER, CHANNELS };

/* An op that waits or ends, or a tensor that arrives. */
typedef struct {
    emp_time_ns at;
    uint64_t    order; /* among simultaneous ones: what it is, then first come */
    int32_t     id;
    int32_t     memory; /* where the tensor arrives, or NO_COPY */
} item;

typedef struct {
    item   *items;
    int32_t count;
} heap;

/* What a tensor in one memory, a *place*, is stored in. */
typedef struct {
    int64_t bytes;
    int32_t owner;   /* place that it was created for, or -1 = no bytes */
    int32_t holders; /* places that use it; of the owner */
    int32_t memory;
} buffer;

struct emp_textbook {
    emp_plain *plain;
    size_t     place_count;
    int32_t   *device_of_op;
    int32_t   *missing; /* [op] inputs and control inputs */
    /* by place: tensor * devices + memory */
    int32_t *readers; /* edges, and at home copies, that still need it */
    bool    *is_requested;
    buffer  *buffer_of;
    item    *ready_items;
    heap     events;
    heap     ready[EMP_MAX_DEVICES];
    bool     is_busy[EMP_MAX_DEVICES];

    emp_time_ns now;
    uint64_t    sequence;
    int64_t     used_bytes[EMP_MAX_DEVICES], peak_bytes[EMP_MAX_DEVICES];
    emp_time_ns stream_free_ns[EMP_MAX_DEVICES][CHANNELS];
    emp_time_ns link_free_ns[EMP_MAX_LINKS];
};

static bool precedes(const item *a, const item *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void push(heap *h, item new_item)
{
    int32_t at = h->count++;

    while (at > 0 && precedes(&new_item, &h->items[(at - 1) / 2])) {
        h->items[at] = h->items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    h->items[at] = new_item;
}

static item pop(heap *h)
{
    item    top = h->items[0], last = h->items[--h->count];
    int32_t at = 0, child = 1;

    while (child < h->count) {
        if (child + 1 < h->count && precedes(&h->items[child + 1], &h->items[child]))
            child++;
        if (!precedes(&h->items[child], &last)) break;
        h->items[at] = h->items[child];
        at = child;
        child = 2 * at + 1;
    }
    h->items[at] = last;
    return top;
}

/* \a rank orders simultaneous events, as docs/simulator.md says: ends of ops by device, then arrivals
 * by device and copy stream. */
static void schedule(emp_textbook *b, emp_time_ns at, int32_t rank, int32_t id,
                     int32_t memory)
{
    push(&b->events,
         (item){at, (uint64_t)rank << SEQUENCE_BITS | b->sequence++, id, memory});
}

/* ---- memory ---- */

static void take_memory(emp_textbook *b, int32_t memory, int64_t bytes)
{
    b->used_bytes[memory] += bytes;
    if (b->used_bytes[memory] > b->peak_bytes[memory])
        b->peak_bytes[memory] = b->used_bytes[memory];
}

static int32_t home_of(const emp_textbook *b, int32_t tensor)
{
    const emp_plain_tensor *t = &b->plain->tensor[tensor];
    int32_t                 device = b->device_of_op[t->producer];

    return t->on_host ? b->plain->host[device] : device;
}

static int32_t place_of(const emp_textbook *b, int32_t tensor, int32_t memory)
{
    return tensor * b->plain->device_count + memory;
}

static void create_buffer(emp_textbook *b, int32_t tensor, int32_t memory, int64_t bytes)
{
    int32_t at = place_of(b, tensor, memory);
    b->buffer_of[at] = (buffer){bytes, bytes > 0 ? at : -1, 1, memory};
    take_memory(b, memory, bytes);
}

static void drop(emp_textbook *b, int32_t at)
{
    int32_t owner = b->buffer_of[at].owner;

    if (owner < 0 || --b->buffer_of[owner].holders > 0) return;
    b->used_bytes[b->buffer_of[owner].memory] -= b->buffer_of[owner].bytes;
}

static void release(emp_textbook *b, int32_t at)
{
    if (--b->readers[at] == 0) drop(b, at);
}

/* Output 0 of an op that passes its input on: the input's buffer, if it lies there. */
static bool share_input(emp_textbook *b, int32_t op, int32_t home)
{
    const emp_plain_op *o = &b->plain->op[op];
    buffer             *output = &b->buffer_of[place_of(b, o->output, home)];

    if (o->first == EMP_PLAIN_NO_BYTES) {
        output->owner = -1;
        return true;
    }
    if (o->first == EMP_PLAIN_NEW) return false;
    emp_plain_edge edge = b->plain->input[o->input];
    if (emp_plain_memory_read(b->plain, edge, b->device_of_op[op]) != home) return false;
    output->owner = b->buffer_of[place_of(b, edge.id, home)].owner;
    if (output->owner >= 0) b->buffer_of[output->owner].holders++;
    return true;
}

static void create_outputs(emp_textbook *b, int32_t op)
{
    const emp_plain_op *o = &b->plain->op[op];

    for (int32_t t = o->output; t < o[1].output; t++) {
        int32_t home = home_of(b, t);
        if (t == o->output && share_input(b, op, home)) continue;
        create_buffer(b, t, home, b->plain->tensor[t].bytes);
    }
    take_memory(b, b->device_of_op[op], o->workspace_bytes);
}

static void release_inputs(emp_textbook *b, int32_t op)
{
    const emp_plain        *p = b->plain;
    const emp_plain_tensor *t = p->tensor;

    b->used_bytes[b->device_of_op[op]] -= p->op[op].workspace_bytes;
    for (int32_t i = p->op[op].output; i < p->op[op + 1].output; i++) {
        if (t[i].reader == t[i + 1].reader) drop(b, place_of(b, i, home_of(b, i)));
    }
    for (int32_t i = p->op[op].input; i < p->op[op + 1].input; i++) {
        int32_t memory = emp_plain_memory_read(p, p->input[i], b->device_of_op[op]);
        release(b, place_of(b, p->input[i].id, memory));
    }
}

/* ---- ops and copies ---- */

static void start_next(emp_textbook *b, int32_t device)
{
    if (b->is_busy[device] || b->ready[device].count == 0) return;
    int32_t             op = pop(&b->ready[device]).id;
    const emp_plain_op *o = &b->plain->op[op];

    b->is_busy[device] = true;
    create_outputs(b, op);
    emp_time_ns time = emp_plain_is_cpu(b->plain, device) ? o->cpu_ns : o->gpu_ns;
    schedule(b, b->now + time, device, op, NO_COPY);
}

static void be_ready(emp_textbook *b, int32_t op)
{
    int32_t device = b->device_of_op[op];

    push(&b->ready[device], (item){b->now, b->sequence++, op, NO_COPY});
    start_next(b, device);
}

static void arrive(emp_textbook *b, int32_t op)
{
    if (--b->missing[op] == 0) be_ready(b, op);
}

static void tell_readers(emp_textbook *b, int32_t tensor, int32_t memory)
{
    const emp_plain *p = b->plain;

    for (int32_t i = p->tensor[tensor].reader; i < p->tensor[tensor + 1].reader; i++) {
        int32_t op = p->reader[i].id;
        if (emp_plain_memory_read(p, p->reader[i], b->device_of_op[op]) == memory)
            arrive(b, op);
    }
}

static void request_copy(emp_textbook *b, int32_t tensor, int32_t from, int32_t to)
{
    const emp_plain_route  *route = &b->plain->route[from][to];
    const emp_plain_tensor *t = &b->plain->tensor[tensor];
    bool                    from_cpu = emp_plain_is_cpu(b->plain, from);
    bool                    to_cpu = emp_plain_is_cpu(b->plain, to);
    int32_t                 device = from_cpu && !to_cpu ? to : from;
    int32_t     channel = from_cpu == to_cpu ? TO_PEER : to_cpu ? TO_HOST : TO_DEVICE;
    emp_time_ns start = b->now, *stream_ns = &b->stream_free_ns[device][channel];

    create_buffer(b, tensor, to, t->buffer_copy_bytes);
    if (start < *stream_ns) start = *stream_ns;
    for (int32_t i = 0; i < route->link_count; i++) {
        if (start < b->link_free_ns[route->link[i]])
            start = b->link_free_ns[route->link[i]];
    }
    emp_time_ns end = start + route->latency_ns +
                      (emp_time_ns)((double)t->copy_bytes * route->ns_per_byte + 0.5);
    *stream_ns = end;
    for (int32_t i = 0; i < route->link_count; i++) b->link_free_ns[route->link[i]] = end;
    schedule(b, end, b->plain->device_count + device * CHANNELS + channel, tensor, to);
}

static void request_copies(emp_textbook *b, int32_t tensor, int32_t home)
{
    const emp_plain *p = b->plain;

    for (int32_t i = p->tensor[tensor].reader; i < p->tensor[tensor + 1].reader; i++) {
        int32_t device = b->device_of_op[p->reader[i].id];
        int32_t memory = emp_plain_memory_read(p, p->reader[i], device);
        int32_t copy = place_of(b, tensor, memory);
        if (memory == home || b->is_requested[copy]) continue;
        b->is_requested[copy] = true;
        request_copy(b, tensor, home, memory);
    }
}

static void end_op(emp_textbook *b, int32_t op)
{
    const emp_plain *p = b->plain;
    int32_t          device = b->device_of_op[op];

    release_inputs(b, op);
    for (int32_t t = p->op[op].output; t < p->op[op + 1].output; t++) {
        int32_t home = home_of(b, t);
        tell_readers(b, t, home);
        request_copies(b, t, home);
    }
    for (int32_t i = p->op[op].follower; i < p->op[op + 1].follower; i++)
        arrive(b, p->follower[i]);
    b->is_busy[device] = false;
    start_next(b, device);
}

/* ---- a run ---- */

static void count_readers(emp_textbook *b)
{
    const emp_plain *p = b->plain;

    memset(b->readers, 0, b->place_count * sizeof *b->readers);
    memset(b->is_requested, 0, b->place_count * sizeof *b->is_requested);
    for (int32_t op = 0; op < p->op_count; op++) {
        for (int32_t i = p->op[op].input; i < p->op[op + 1].input; i++) {
            int32_t tensor = p->input[i].id, home = home_of(b, tensor);
            int32_t memory = emp_plain_memory_read(p, p->input[i], b->device_of_op[op]);
            int32_t here = place_of(b, tensor, memory);
            if (memory != home && b->readers[here] == 0)
                b->readers[place_of(b, tensor, home)]++;
            b->readers[here]++;
        }
    }
}

/* Each device gets as much room for ready ops as it has ops. */
static void lay_out_ready(emp_textbook *b)
{
    int32_t count[EMP_MAX_DEVICES] = {0}, begin = 0;

    for (int32_t op = 0; op < b->plain->op_count; op++) count[b->device_of_op[op]]++;
    for (int32_t d = 0; d < b->plain->device_count; d++) {
        b->ready[d] = (heap){b->ready_items + begin, 0};
        begin += count[d];
    }
}

static void prepare(emp_textbook *b, const emp_device_id *device_of_op)
{
    const emp_plain *p = b->plain;

    for (int32_t op = 0; op < p->op_count; op++) {
        b->device_of_op[op] = device_of_op[p->id_of_op[op]];
        b->missing[op] = p->op[op].missing;
    }
    count_readers(b);
    lay_out_ready(b);
    b->now = 0;
    b->sequence = 0;
    memset(b->is_busy, 0, sizeof b->is_busy);
    memset(b->used_bytes, 0, sizeof b->used_bytes);
    memset(b->peak_bytes, 0, sizeof b->peak_bytes);
    memset(b->stream_free_ns, 0, sizeof b->stream_free_ns);
    memset(b->link_free_ns, 0, sizeof b->link_free_ns);
}

void emp_textbook_run(emp_textbook *book, const emp_device_id *device_of_op,
                      emp_textbook_result *result)
{
    emp_textbook    *b = book;
    const emp_plain *p = b->plain;

    prepare(b, device_of_op);
    for (int32_t op = 0; op < p->op_count; op++)
        take_memory(b, b->device_of_op[op], p->op[op].persistent_bytes);
    for (int32_t op = 0; op < p->op_count; op++) {
        if (p->op[op].missing == 0) be_ready(b, op);
    }
    while (b->events.count > 0) {
        item event = pop(&b->events);
        b->now = event.at;
        if (event.memory == NO_COPY) {
            end_op(b, event.id);
            continue;
        }
        release(b, place_of(b, event.id, home_of(b, event.id)));
        tell_readers(b, event.id, event.memory);
    }
    result->step_time_ns = b->now;
    memcpy(result->peak_bytes, b->peak_bytes, sizeof result->peak_bytes);
}

/* At most one copy per tensor, memory and reader can be under way, and an op per device. */
static size_t count_events(const emp_plain *p)
{
    size_t most = (size_t)p->device_count;

    for (int32_t t = 0; t < p->tensor_count; t++) {
        int32_t readers = p->tensor[t + 1].reader - p->tensor[t].reader;
        most += (size_t)(readers < p->device_count ? readers : p->device_count);
    }
    return most;
}

emp_status emp_textbook_create(emp_textbook **out, const emp_problem *problem,
                               emp_error *err)
{
    emp_status    st = EMP_OK;
    emp_textbook *b = EMP_NEW(emp_textbook);

    *out = NULL;
    if (b == NULL) EMP_FAIL(EMP_ENOMEM, "textbook simulator");
    EMP_TRY(emp_plain_create(&b->plain, problem, err));
    size_t ops = (size_t)b->plain->op_count;
    size_t places = (size_t)b->plain->tensor_count * (size_t)b->plain->device_count;
    if (places > INT32_MAX)
        EMP_FAIL(EMP_EUNSUPPORTED, "more than 2^31 tensors times devices");
    EMP_TRY(EMP_ALLOC(b->device_of_op, ops));
    EMP_TRY(EMP_ALLOC(b->missing, ops));
    b->place_count = places;
    EMP_TRY(EMP_ALLOC(b->readers, places));
    EMP_TRY(EMP_ALLOC(b->is_requested, places));
    EMP_TRY(EMP_ALLOC(b->buffer_of, places));
    EMP_TRY(EMP_ALLOC(b->ready_items, ops));
    EMP_TRY(EMP_ALLOC(b->events.items, count_events(b->plain)));
    *out = b;
    b = NULL;

cleanup:
    emp_textbook_destroy(b);
    return st;
}

void emp_textbook_destroy(emp_textbook *book)
{
    if (book == NULL) return;
    emp_plain_destroy(book->plain);
    emp_free(book->device_of_op);
    emp_free(book->missing);
    emp_free(book->readers);
    emp_free(book->is_requested);
    emp_free(book->buffer_of);
    emp_free(book->ready_items);
    emp_free(book->events.items);
    emp_free(book);
}
