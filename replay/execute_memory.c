// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L /* clocks */
/* Buffers: who has one, who shares it, and the verdict when memory does not suffice; the clock of a step and its
 * failure, on which the other files of the executor build. */
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "replay/cpu/kernels.h"
#include "replay/execute_internal.h"
#include "replay/plan/plan.h"

enum { CLASSES = 48, NONE = -1 };

int64_t emp_replay_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void wake_all(emp_replay *r)
{
    for (int32_t d = 0; d < r->plan->device_count; d++) {
        pthread_mutex_lock(&r->server[d].lock);
        pthread_cond_broadcast(&r->server[d].more);
        pthread_mutex_unlock(&r->server[d].lock);
    }
    pthread_mutex_lock(&r->lock);
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

void emp_replay_fail(emp_replay *r, const emp_error *why)
{
    pthread_mutex_lock(&r->lock);
    if (why != NULL && r->error.status == EMP_OK && !r->is_out_of_memory) r->error = *why;
    pthread_mutex_unlock(&r->lock);
    atomic_store(&r->is_over, true);
    wake_all(r);
}

struct part {
    int64_t offset, bytes;
    int32_t before, after;  /* neighbours in the region */
    int32_t previous, next; /* in the list of free ones of a class */
    bool    is_free;
};

struct emp_pool {
    struct part *part;
    int32_t      unused; /* list of parts that are no part of the region, by next */
    int32_t      first_free[CLASSES];
    int64_t      used, peak, reach;
};

static int32_t class_of(int64_t bytes)
{
    int32_t c = 0;

    for (bytes /= EMP_REPLAY_ALIGNMENT; bytes > 1 && c < CLASSES - 1; bytes /= 2) c++;
    return c;
}

static void push_free(emp_pool *pool, int32_t id)
{
    struct part *p = &pool->part[id];
    int32_t     *first = &pool->first_free[class_of(p->bytes)];

    p->is_free = true;
    p->previous = NONE;
    p->next = *first;
    if (*first != NONE) pool->part[*first].previous = id;
    *first = id;
}

static void pull_free(emp_pool *pool, int32_t id)
{
    struct part *p = &pool->part[id];

    if (p->previous != NONE)
        pool->part[p->previous].next = p->next;
    else
        pool->first_free[class_of(p->bytes)] = p->next;
    if (p->next != NONE) pool->part[p->next].previous = p->previous;
    p->is_free = false;
}

emp_status emp_pool_create(emp_pool **out, int64_t bytes, int32_t parts, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_pool  *pool = EMP_NEW(emp_pool);
    int32_t    count = 2 * parts + 2; /* a free one between any two */

    *out = NULL;
    if (pool == NULL) EMP_FAIL(EMP_ENOMEM, "pool");
    EMP_TRY(EMP_ALLOC(pool->part, (size_t)count));
    for (int32_t c = 0; c < CLASSES; c++) pool->first_free[c] = NONE;
    for (int32_t i = 1; i < count; i++) pool->part[i].next = i + 1 < count ? i + 1 : NONE;
    pool->unused = 1;
    pool->part[0] =
        (struct part){.bytes = bytes / EMP_REPLAY_ALIGNMENT * EMP_REPLAY_ALIGNMENT,
                      .before = NONE,
                      .after = NONE};
    push_free(pool, 0);
    *out = pool;
    pool = NULL;

cleanup:
    emp_pool_destroy(pool);
    return st;
}

void emp_pool_destroy(emp_pool *pool)
{
    if (pool == NULL) return;
    emp_free(pool->part);
    emp_free(pool);
}

/* The smallest free part of a class that is large enough; of the lower offset first, so
 * that the region is filled from its beginning. */
static int32_t best_of(const emp_pool *pool, int32_t c, int64_t bytes)
{
    int32_t best = NONE;

    for (int32_t i = pool->first_free[c]; i != NONE; i = pool->part[i].next) {
        const struct part *p = &pool->part[i];
        if (p->bytes < bytes) continue;
        if (best == NONE || p->bytes < pool->part[best].bytes ||
            (p->bytes == pool->part[best].bytes && p->offset < pool->part[best].offset))
            best = i;
    }
    return best;
}

static void split(emp_pool *pool, int32_t id, int64_t bytes)
{
    struct part *p = &pool->part[id];
    int32_t      rest = pool->unused;

    if (p->bytes == bytes || rest == NONE) return;
    pool->unused = pool->part[rest].next;
    pool->part[rest] = (struct part){.offset = p->offset + bytes,
                                     .bytes = p->bytes - bytes,
                                     .before = id,
                                     .after = p->after};
    if (p->after != NONE) pool->part[p->after].before = rest;
    p->after = rest;
    p->bytes = bytes;
    push_free(pool, rest);
}

int32_t emp_pool_allocate(emp_pool *pool, int64_t bytes)
{
    int32_t id = NONE;

    bytes = emp_replay_round_up(bytes > 0 ? bytes : 1);
    for (int32_t c = class_of(bytes); c < CLASSES && id == NONE; c++)
        id = best_of(pool, c, bytes);
    if (id == NONE) return NONE;
    pull_free(pool, id);
    split(pool, id, bytes);
    pool->used += pool->part[id].bytes;
    if (pool->used > pool->peak) pool->peak = pool->used;
    if (pool->part[id].offset + pool->part[id].bytes > pool->reach)
        pool->reach = pool->part[id].offset + pool->part[id].bytes;
    return id;
}

/* The part after \a id becomes the end of it. */
static void join(emp_pool *pool, int32_t id)
{
    struct part *p = &pool->part[id];
    int32_t      gone = p->after;
    struct part *g = &pool->part[gone];

    p->bytes += g->bytes;
    p->after = g->after;
    if (g->after != NONE) pool->part[g->after].before = id;
    g->next = pool->unused;
    pool->unused = gone;
}

void emp_pool_free(emp_pool *pool, int32_t id)
{
    struct part *p = &pool->part[id];

    pool->used -= p->bytes;
    if (p->after != NONE && pool->part[p->after].is_free) {
        pull_free(pool, p->after);
        join(pool, id);
    }
    if (p->before != NONE && pool->part[p->before].is_free) {
        id = p->before;
        pull_free(pool, id);
        join(pool, id);
    }
    push_free(pool, id);
}

int64_t emp_pool_offset(const emp_pool *pool, int32_t id)
{
    return pool->part[id].offset;
}
int64_t emp_pool_bytes(const emp_pool *pool, int32_t id) { return pool->part[id].bytes; }
int64_t emp_pool_used(const emp_pool *pool) { return pool->used; }
int64_t emp_pool_peak(const emp_pool *pool) { return pool->peak; }
int64_t emp_pool_reach(const emp_pool *pool) { return pool->reach; }

enum { BLOCK_BYTES = 1 << 20 };

static int64_t largest(int64_t a, int64_t b) { return a > b ? a : b; }

/* Bytes of constants that a memory must hold: the largest, as all may be the same. */
static int64_t constants_of(const emp_replay_plan *p, int32_t memory)
{
    int64_t bytes = EMP_REPLAY_ALIGNMENT;

    for (int32_t op = 0; op < p->op_count; op++) {
        for (int32_t i = p->input_offset[op]; i < p->input_offset[op + 1]; i++) {
            int32_t at = emp_replay_memory(p, p->op[op].device, p->input[i].on_host);
            if (at == memory) bytes = largest(bytes, p->input[i].bytes);
        }
        for (int32_t t = p->output_offset[op]; t < p->output_offset[op + 1]; t++) {
            if (p->tensor[t].buffer_bytes == 0 &&
                emp_replay_memory_of_place(p, t) == memory)
                bytes = largest(bytes, p->tensor[t].bytes);
        }
    }
    return emp_replay_round_up(bytes);
}

/* All buffers that a memory could ever hold at once, had it to. */
static int64_t most_of(const emp_replay *r, int32_t memory)
{
    const emp_replay_plan *p = r->plan;
    int64_t                bytes = EMP_REPLAY_ALIGNMENT;

    for (int32_t i = 0; i < p->tensor_count + p->copy_count; i++) {
        int64_t own = i < p->tensor_count ? p->tensor[i].buffer_bytes
                                          : p->copy[i - p->tensor_count].bytes;
        if (r->place[i].memory == memory) bytes += emp_replay_round_up(own);
    }
    for (int32_t op = 0; op < p->op_count; op++) {
        if (p->op[op].device != memory) continue;
        bytes += emp_replay_round_up(p->op[op].persistent_bytes) +
                 emp_replay_round_up(p->op[op].workspace_bytes);
    }
    return bytes;
}

static emp_status write_numbers(emp_replay *r, int32_t memory, unsigned char *to,
                                int64_t bytes, emp_error *err)
{
    emp_status     st = EMP_OK;
    int64_t        block = bytes < BLOCK_BYTES ? bytes : BLOCK_BYTES;
    unsigned char *numbers = EMP_NEW_ARRAY(unsigned char, (size_t)block);

    if (numbers == NULL) EMP_FAIL(EMP_ENOMEM, "initial values");
    emp_cpu_fill_random(numbers, block);
    for (int64_t at = 0; at < bytes; at += block) {
        EMP_TRY(r->backend->write(r->backend_state, memory, to + at, numbers,
                                  bytes - at < block ? bytes - at : block, err));
    }
cleanup:
    emp_free(numbers);
    return st;
}

/* This computer's memory is not asked for more than it has: the kernel would end the
 * program, or others. */
static bool is_within_budget(emp_replay *r, const emp_memory *m, int64_t reached_before)
{
    long long more = emp_pool_reach(m->pool) - reached_before;

    if (!m->is_here || more == 0) return true;
    return atomic_fetch_add(&r->reached_bytes, more) + more <= r->budget_bytes;
}

static void complain_of_budget(emp_replay *r)
{
    emp_error err = {0};

    emp_error_set(&err, EMP_ENOMEM, __FILE__, __LINE__,
                  "the step needs more of this computer's memory than the %lld MiB that "
                  "it may use",
                  (long long)(r->budget_bytes >> 20));
    emp_replay_fail(r, &err);
}

void *emp_replay_grow(void *log, int32_t *room, size_t size)
{
    int32_t wanted = *room > 0 ? 2 * *room : 1024;
    void   *more = emp_realloc(log, (size_t)wanted, size);

    if (more != NULL) *room = wanted;
    return more;
}

static void log_level(emp_replay *r, emp_memory *m)
{
    if (!r->is_timed) return;
    if (m->levels.count == m->level_room) { /* else the counter ends, the step does not */
        emp_replay_level *more = (emp_replay_level *)emp_replay_grow(
            m->levels.level, &m->level_room, sizeof *more);
        if (more == NULL) return;
        m->levels.level = more;
    }
    m->levels.level[m->levels.count++] =
        (emp_replay_level){emp_replay_now_ns() - r->start_ns, emp_pool_used(m->pool)};
}

static void judge(emp_replay *r, int32_t memory, int64_t bytes, int64_t in_use,
                  int32_t op)
{
    pthread_mutex_lock(&r->lock);
    if (!r->is_out_of_memory && r->error.status == EMP_OK) {
        r->is_out_of_memory = true;
        r->oom_memory = memory;
        r->oom_bytes = bytes;
        r->oom_op = op;
        r->oom_in_use = in_use;
    }
    pthread_mutex_unlock(&r->lock);
    emp_replay_fail(r, NULL);
}

/* A part of a memory for \a op; -1 = the step is over. */
static int32_t allocate(emp_replay *r, int32_t memory, int64_t bytes, int32_t op)
{
    emp_memory *m = &r->memory[memory];

    pthread_mutex_lock(&m->lock);
    int64_t reached = emp_pool_reach(m->pool);
    int32_t part = emp_pool_allocate(m->pool, bytes);
    int64_t in_use = emp_pool_used(m->pool);
    bool    is_fine = part < 0 || is_within_budget(r, m, reached);
    log_level(r, m);
    pthread_mutex_unlock(&m->lock);
    if (part < 0 && m->is_cut)
        complain_of_budget(r);
    else if (part < 0)
        judge(r, memory, bytes, in_use, op);
    if (!is_fine) complain_of_budget(r);
    if (part >= 0 && is_fine && r->options->is_checked) {
        emp_error err = {0};
        if (emp_replay_poison(r, memory, m->region + emp_pool_offset(m->pool, part),
                              emp_replay_round_up(bytes), &err) != EMP_OK) {
            emp_replay_fail(r, &err);
            return -1;
        }
    }
    return is_fine ? part : -1;
}

static void deallocate(emp_replay *r, int32_t memory, int32_t part)
{
    emp_memory *m = &r->memory[memory];

    if (r->options->is_checked) {
        emp_error err = {0};
        if (emp_replay_poison(r, memory, m->region + emp_pool_offset(m->pool, part),
                              emp_pool_bytes(m->pool, part), &err) != EMP_OK)
            emp_replay_fail(r, &err);
    }
    pthread_mutex_lock(&m->lock);
    emp_pool_free(m->pool, part);
    log_level(r, m);
    pthread_mutex_unlock(&m->lock);
}

static unsigned char *data_of(const emp_replay *r, int32_t memory, int32_t part)
{
    return r->memory[memory].region + emp_pool_offset(r->memory[memory].pool, part);
}

/* Gives a place a buffer of its own, or says why it has none. \a bytes of it. */
static bool create_buffer(emp_replay *r, int32_t place, int64_t bytes, int32_t storage,
                          int32_t op)
{
    emp_tensor_place *p = &r->place[place];

    atomic_store(&p->pending, p->users);
    if (storage >= 0) {
        p->root = EMP_ROOT_STORAGE;
        p->data = r->op[storage].storage;
        return true;
    }
    if (bytes == 0) {
        p->root = EMP_ROOT_CONSTANT;
        p->data = r->memory[p->memory].constants;
        return true;
    }
    p->part = allocate(r, p->memory, bytes, op);
    if (p->part < 0) return false;
    p->root = place;
    p->data = data_of(r, p->memory, p->part);
    return true;
}

void emp_replay_release_place(emp_replay *r, int32_t place)
{
    int32_t root = place >= 0 ? r->place[place].root : EMP_ROOT_CONSTANT;

    if (root < 0) return;
    if (atomic_fetch_sub(&r->place[root].pending, 1) == 1)
        deallocate(r, r->place[root].memory, r->place[root].part);
}

/* An input whose buffer output 0 may take over: this op is the last to need it, and it has
 * the same size and lies in the same memory. */
static int32_t find_reusable(const emp_replay *r, int32_t op)
{
    const emp_replay_plan *p = r->plan;
    int32_t                output = p->output_offset[op];
    int64_t                bytes = p->tensor[output].buffer_bytes;

    for (int32_t i = p->input_offset[op]; i < p->input_offset[op + 1]; i++) {
        int32_t root = p->input[i].place >= 0 ? r->place[p->input[i].place].root : -1;
        if (root < 0 || r->place[root].memory != r->place[output].memory) continue;
        if (emp_replay_round_up(r->place[root].bytes) == emp_replay_round_up(bytes) &&
            atomic_load(&r->place[root].pending) == 1)
            return root;
    }
    return EMP_ROOT_NONE;
}

/* Output 0 shares the buffer of an input, if it can. */
static bool share_output(emp_replay *r, int32_t op)
{
    const emp_replay_plan *p = r->plan;
    const emp_replay_op   *o = &p->op[op];
    int32_t                output = p->output_offset[op], root = EMP_ROOT_NONE;
    emp_tensor_place      *to = &r->place[output];

    if (output == p->output_offset[op + 1]) return false;
    if (o->is_alias) {
        const emp_tensor_place *from = &r->place[p->input[p->input_offset[op]].place];
        to->data = from->data;
        to->root = root = from->root;
        if (root == EMP_ROOT_NONE) return false;
    } else if (o->is_in_place && p->reuse_inputs && p->tensor[output].buffer_bytes > 0) {
        root = find_reusable(r, op);
        if (root < 0) return false;
        to->root = root;
        to->data = r->place[root].data;
    } else {
        return false;
    }
    if (root >= 0) atomic_fetch_add(&r->place[root].pending, to->users);
    return true;
}

static bool create_outputs(emp_replay *r, int32_t op)
{
    const emp_replay_plan *p = r->plan;
    int32_t                t = p->output_offset[op];

    if (share_output(r, op)) t++;
    for (; t < p->output_offset[op + 1]; t++) {
        if (!create_buffer(r, t, p->tensor[t].buffer_bytes, p->tensor[t].storage, op))
            return false;
    }
    return true;
}

static void set_operands(emp_replay *r, int32_t op)
{
    const emp_replay_plan *p = r->plan;
    emp_op_state          *o = &r->op[op];

    for (int32_t i = p->input_offset[op]; i < p->input_offset[op + 1]; i++) {
        const emp_replay_input *in = &p->input[i];
        int32_t memory = emp_replay_memory(p, p->op[op].device, in->on_host);
        r->input_operand[i] = (emp_operand){in->place >= 0 ? r->place[in->place].data
                                                           : r->memory[memory].constants,
                                            in->bytes, in->element_bytes};
    }
    for (int32_t t = p->output_offset[op]; t < p->output_offset[op + 1]; t++) {
        r->output_operand[t] = (emp_operand){r->place[t].data, p->tensor[t].bytes,
                                             p->tensor[t].element_bytes};
    }
    o->call = (emp_kernel_call){
        .kernel = &p->op[op].kernel,
        .input = &r->input_operand[p->input_offset[op]],
        .output = &r->output_operand[p->output_offset[op]],
        .input_count = p->input_offset[op + 1] - p->input_offset[op],
        .output_count = p->output_offset[op + 1] - p->output_offset[op],
        .workspace_bytes = o->workspace_part >= 0 ? p->op[op].workspace_bytes : 0,
        .workspace = o->workspace_part >= 0
                         ? data_of(r, p->op[op].device, o->workspace_part)
                         : NULL};
}

bool emp_replay_begin_op(emp_replay *r, int32_t op)
{
    const emp_replay_op *from = &r->plan->op[op];
    emp_op_state        *o = &r->op[op];
    emp_error            err = {0};

    if (r->options->is_checked && emp_replay_check_inputs(r, op, &err) != EMP_OK) {
        emp_replay_fail(r, &err);
        return false;
    }
    if (!create_outputs(r, op)) return false;
    if (from->workspace_bytes > 0) {
        o->workspace_part = allocate(r, from->device, from->workspace_bytes, op);
        if (o->workspace_part < 0) return false;
    }
    set_operands(r, op);
    return true;
}

void emp_replay_release_op(emp_replay *r, int32_t op)
{
    const emp_replay_plan *p = r->plan;
    emp_op_state          *o = &r->op[op];

    if (o->workspace_part >= 0) deallocate(r, p->op[op].device, o->workspace_part);
    o->workspace_part = -1;
    for (int32_t t = p->output_offset[op]; t < p->output_offset[op + 1]; t++) {
        bool is_read = r->reader_offset[t] < r->reader_offset[t + 1] ||
                       p->copy_offset[t] < p->copy_offset[t + 1];
        if (!is_read || t == r->options->fault.lost_tensor)
            emp_replay_release_place(r, t);
    }
    for (int32_t i = p->input_offset[op]; i < p->input_offset[op + 1]; i++)
        emp_replay_release_place(r, p->input[i].place);
}

bool emp_replay_begin_copy(emp_replay *r, int32_t copy)
{
    const emp_replay_plan *p = r->plan;
    int32_t                tensor = p->copy[copy].tensor;

    return create_buffer(r, p->tensor_count + copy, p->copy[copy].bytes, -1,
                         p->tensor[tensor].producer);
}

void emp_replay_memory_reset(emp_replay *r)
{
    const emp_replay_plan *p = r->plan;

    for (int32_t i = 0; i < p->tensor_count + p->copy_count; i++) {
        r->place[i].data = NULL;
        r->place[i].root = EMP_ROOT_NONE;
    }
    for (int32_t m = 0; m < p->device_count; m++) r->memory[m].levels.count = 0;
}

/* Variables stay for all steps. Those that do not fit are a verdict like any other. */
static emp_status create_storage(emp_replay *r, emp_error *err)
{
    const emp_replay_plan *p = r->plan;

    for (int32_t op = 0; op < p->op_count; op++) {
        emp_op_state *o = &r->op[op];
        if (p->op[op].persistent_bytes == 0) continue;
        o->persistent_part =
            allocate(r, p->op[op].device, p->op[op].persistent_bytes, op);
        if (o->persistent_part < 0) {
            if (r->error.status != EMP_OK)
                return EMP_ERROR(r->error.status, "%s", r->error.msg);
            return EMP_OK;
        }
        o->storage = data_of(r, p->op[op].device, o->persistent_part);
        EMP_CHECK(write_numbers(r, p->op[op].device, o->storage,
                                p->op[op].persistent_bytes, err));
    }
    return EMP_OK;
}

static emp_status create_memory(emp_replay *r, int32_t memory, emp_error *err)
{
    const emp_replay_device *d = &r->plan->device[memory];
    emp_memory              *m = &r->memory[memory];
    int64_t                  most = most_of(r, memory), bytes = d->memory_bytes;
    int64_t                  parts = 0;
    void                    *region = NULL, *constants = NULL;

    m->is_here = !r->server[memory].is_queue;
    /* room for all that could lie side by side, and for gaps; no more than there is */
    if (bytes > 2 * most) bytes = 2 * most;
    m->is_cut = m->is_here && bytes > r->budget_bytes;
    if (m->is_cut) bytes = r->budget_bytes;
    for (int32_t i = 0; i < r->plan->tensor_count + r->plan->copy_count; i++)
        parts += r->place[i].memory == memory;
    for (int32_t op = 0; op < r->plan->op_count; op++)
        parts += 2 * (r->plan->op[op].device == memory);
    m->constants_bytes = constants_of(r->plan, memory);
    int64_t wanted = m->constants_bytes;
    EMP_CHECK(r->backend->reserve(r->backend_state, memory, &m->constants_bytes,
                                  &constants, err));
    int64_t asked = bytes;
    EMP_CHECK(r->backend->reserve(r->backend_state, memory, &bytes, &region, err));
    if (m->constants_bytes < wanted)
        return EMP_ERROR(EMP_ENOMEM, "%s has no room for %lld MiB of constants", d->name,
                         (long long)(wanted >> 20));
    m->capacity_bytes = bytes < asked ? bytes : d->memory_bytes;
    m->region = (unsigned char *)region;
    m->constants = (unsigned char *)constants;
    EMP_CHECK(emp_pool_create(&m->pool, bytes, (int32_t)parts, err));
    return write_numbers(r, memory, m->constants, m->constants_bytes, err);
}

emp_status emp_replay_memory_create(emp_replay *r, emp_error *err)
{
    for (int32_t m = 0; m < r->plan->device_count; m++)
        EMP_CHECK(create_memory(r, m, err));
    return create_storage(r, err);
}

void emp_replay_memory_destroy(emp_replay *r)
{
    for (int32_t m = 0; m < r->plan->device_count; m++) {
        emp_pool_destroy(r->memory[m].pool);
        emp_free(r->memory[m].levels.level);
    }
}
