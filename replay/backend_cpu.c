// SPDX-License-Identifier: GPL-3.0-or-later
/* Devices are groups of cores, their memories regions of this computer's. The executor's
 * own threads run the ops; here are memory and copies: a thread per copy queue that is
 * used, on the cores of both ends. A GPU of the plan has a queue from its host, one to it
 * and one to other GPUs, as in the model; a CPU one to other CPUs. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/mem.h"
#include "base/text/units.h"
#include "replay/backend.h"
#include "replay/cpu/cores.h"
#include "replay/execute.h"

enum { MAX_REGIONS = 4 * EMP_REPLAY_MAX_DEVICES, SHOWN_CORES = 24 };

struct request {
    int32_t     copy;
    const void *from;
    void       *to;
    int64_t     asked_ns;
};

struct queue {
    struct cpu     *cpu;
    pthread_t       thread;
    bool            is_started;
    pthread_mutex_t lock;
    pthread_cond_t  more;
    struct request *request; /* a ring with room for all copies of a step */
    int32_t         first, count, room;
    int64_t         free_ns; /* since then, by the rates of routes */
};

struct cpu {
    const emp_replay_plan    *plan;
    const emp_replay_options *options;
    const emp_replay_hooks   *hooks;
    emp_cpu_cores             cores;
    struct queue queue[3 * EMP_REPLAY_MAX_DEVICES]; /* from host, to host, to peers */
    void        *region[MAX_REGIONS];
    size_t       region_bytes[MAX_REGIONS];
    int32_t      region_count;
    int64_t      start_ns;
    int64_t     *copy_start_ns, *copy_end_ns;
    atomic_bool  is_over;
};

static int32_t memory_of(const emp_replay_plan *p, int32_t copy)
{
    return emp_replay_memory_of_place(p, p->copy[copy].tensor);
}

static int32_t queue_of(const emp_replay_plan *p, int32_t copy)
{
    int32_t from = memory_of(p, copy), to = p->copy[copy].to;
    bool    is_from_host = p->device[from].is_cpu, is_to_host = p->device[to].is_cpu;

    if (is_from_host == is_to_host) return 3 * from + 2;
    return is_to_host ? 3 * from + 1 : 3 * to;
}

static void sleep_until(int64_t end_ns)
{
    struct timespec until = {end_ns / 1000000000, end_ns % 1000000000};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
}

static int64_t least_ns(const emp_replay_route *route, int64_t bytes)
{
    double least_s = route->latency_s;

    if (route->bytes_per_s > 0) least_s += (double)bytes / route->bytes_per_s;
    return (int64_t)(1e9 * least_s);
}

/* With the rates of routes a copy begins when it is asked for and the one before it has
 * ended, however late this thread wakes up. */
static void move(struct queue *q, const struct request *request)
{
    struct cpu             *cpu = q->cpu;
    const emp_replay_plan  *p = cpu->plan;
    const emp_replay_copy  *copy = &p->copy[request->copy];
    int32_t                 from = memory_of(p, request->copy);
    const emp_replay_route *route = &p->route[from * p->device_count + copy->to];
    int64_t                 start = emp_replay_now_ns();

    if (cpu->options->keeps_rates)
        start = request->asked_ns > q->free_ns ? request->asked_ns : q->free_ns;
    memcpy(request->to, request->from, (size_t)copy->bytes);
    q->free_ns = emp_replay_now_ns();
    if (cpu->options->keeps_rates) {
        int64_t end = start + least_ns(route, copy->bytes);
        sleep_until(end);
        if (q->free_ns < end) q->free_ns = end;
    }
    cpu->copy_start_ns[request->copy] = start - cpu->start_ns;
    cpu->copy_end_ns[request->copy] = emp_replay_now_ns() - cpu->start_ns;
    cpu->hooks->copied(cpu->hooks->executor, request->copy);
}

static void *serve(void *argument)
{
    struct queue *q = (struct queue *)argument;

    prctl(PR_SET_TIMERSLACK, 1UL); /* wake up when asked to, not up to 50 us later */
    pthread_mutex_lock(&q->lock);
    while (!atomic_load(&q->cpu->is_over)) {
        if (q->count == 0) {
            pthread_cond_wait(&q->more, &q->lock);
            continue;
        }
        struct request request = q->request[q->first];
        q->first = (q->first + 1) % q->room;
        q->count--;
        pthread_mutex_unlock(&q->lock);
        move(q, &request);
        pthread_mutex_lock(&q->lock);
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

static emp_status start_queue(struct cpu *cpu, int32_t number, int32_t room,
                              const bool *is_end, emp_error *err)
{
    struct queue *q = &cpu->queue[number];
    int32_t       core[EMP_REPLAY_MAX_CORES], count = 0;

    q->cpu = cpu;
    q->room = room;
    EMP_CHECK(EMP_ALLOC(q->request, (size_t)room));
    int code = pthread_create(&q->thread, NULL, serve, q);
    if (code != 0)
        return EMP_ERROR(EMP_ENOMEM, "no thread for copies: %s", strerror(code));
    q->is_started = true;
    for (int32_t d = 0; d < cpu->plan->device_count; d++) {
        for (int32_t i = 0; is_end[d] && i < cpu->cores.count[d]; i++) {
            if (count < EMP_REPLAY_MAX_CORES) core[count++] = cpu->cores.core[d][i];
        }
    }
    return emp_cpu_pin(q->thread, core, count, err);
}

static emp_status start_queues(struct cpu *cpu, emp_error *err)
{
    const emp_replay_plan *p = cpu->plan;

    for (int32_t number = 0; number < 3 * p->device_count; number++) {
        bool    is_end[EMP_REPLAY_MAX_DEVICES] = {false};
        int32_t room = 0;
        for (int32_t c = 0; c < p->copy_count; c++) {
            if (queue_of(p, c) != number) continue;
            is_end[memory_of(p, c)] = is_end[p->copy[c].to] = true;
            room++;
        }
        if (room > 0) EMP_CHECK(start_queue(cpu, number, room, is_end, err));
    }
    return EMP_OK;
}

static void cpu_close(void *state)
{
    struct cpu *cpu = (struct cpu *)state;

    if (cpu == NULL) return;
    atomic_store(&cpu->is_over, true);
    for (int32_t i = 0; i < 3 * cpu->plan->device_count; i++) {
        struct queue *q = &cpu->queue[i];
        pthread_mutex_lock(&q->lock);
        pthread_cond_broadcast(&q->more);
        pthread_mutex_unlock(&q->lock);
        if (q->is_started) pthread_join(q->thread, NULL);
        pthread_mutex_destroy(&q->lock);
        pthread_cond_destroy(&q->more);
        emp_free(q->request);
    }
    for (int32_t i = 0; i < cpu->region_count; i++)
        munmap(cpu->region[i], cpu->region_bytes[i]);
    emp_free(cpu->copy_start_ns);
    emp_free(cpu->copy_end_ns);
    emp_free(cpu);
}

static emp_status cpu_open(void **state, const emp_replay_plan *plan,
                           const emp_replay_options *options,
                           const emp_replay_hooks *hooks, emp_error *err)
{
    emp_status  st = EMP_OK;
    struct cpu *cpu = EMP_NEW(struct cpu);
    bool        is_wanted[EMP_REPLAY_MAX_DEVICES];

    if (cpu == NULL) EMP_FAIL(EMP_ENOMEM, "CPU backend");
    cpu->plan = plan;
    cpu->options = options;
    cpu->hooks = hooks;
    for (int32_t i = 0; i < 3 * plan->device_count; i++) {
        pthread_mutex_init(&cpu->queue[i].lock, NULL);
        pthread_cond_init(&cpu->queue[i].more, NULL);
    }
    for (int32_t d = 0; d < plan->device_count; d++) is_wanted[d] = true;
    EMP_TRY(EMP_ALLOC(cpu->copy_start_ns, (size_t)plan->copy_count));
    EMP_TRY(EMP_ALLOC(cpu->copy_end_ns, (size_t)plan->copy_count));
    EMP_TRY(emp_cpu_cores_choose(&cpu->cores, plan, options, is_wanted, err));
    EMP_TRY(start_queues(cpu, err));
    *state = cpu;
    cpu = NULL;

cleanup:
    cpu_close(cpu);
    return st;
}

static void cpu_describe(const void *state, int32_t device, char *text, size_t size)
{
    const struct cpu *cpu = (const struct cpu *)state;
    int32_t           count = cpu->cores.count[device];

    int used = snprintf(text, size, "core%s", emp_units_plural(count));
    for (int32_t i = 0; i < count && i < SHOWN_CORES && (size_t)used < size; i++)
        used += snprintf(text + used, size - (size_t)used, "%s%d", i == 0 ? " " : ",",
                         cpu->cores.core[device][i]);
    if (count > SHOWN_CORES && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, ",... (%d)", count);
}

/* Untouched pages take no memory. */
static emp_status cpu_reserve(void *state, int32_t memory, int64_t *bytes, void **region,
                              emp_error *err)
{
    struct cpu *cpu = (struct cpu *)state;

    if (cpu->region_count == MAX_REGIONS)
        return EMP_ERROR(EMP_EUNSUPPORTED, "too many regions");
    void *at = mmap(NULL, (size_t)*bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return EMP_ERROR(EMP_ENOMEM, "no %lld MiB of memory for %s: %s",
                         (long long)(*bytes >> 20), cpu->plan->device[memory].name,
                         strerror(errno));
    cpu->region[cpu->region_count] = at;
    cpu->region_bytes[cpu->region_count++] = (size_t)*bytes;
    *region = at;
    return EMP_OK;
}

static bool cpu_is_queue(const void *state, int32_t device)
{
    (void)state;
    (void)device;
    return false;
}

static emp_status cpu_enqueue(void *state, int32_t device, int32_t op,
                              const emp_kernel_call *call, emp_error *err)
{
    (void)state;
    (void)call;
    return emp_error_set(err, EMP_EUNSUPPORTED, __FILE__, __LINE__,
                         "device %d has no queue for op %d", device, op);
}

static emp_status cpu_copy(void *state, int32_t copy, const void *from, void *to,
                           emp_error *err)
{
    struct cpu   *cpu = (struct cpu *)state;
    struct queue *q = &cpu->queue[queue_of(cpu->plan, copy)];

    (void)err;
    pthread_mutex_lock(&q->lock);
    q->request[(q->first + q->count++) % q->room] =
        (struct request){copy, from, to, emp_replay_now_ns()};
    pthread_cond_signal(&q->more);
    pthread_mutex_unlock(&q->lock);
    return EMP_OK;
}

static emp_status cpu_drain(void *state, int32_t device, emp_error *err)
{
    (void)state;
    (void)device;
    (void)err;
    return EMP_OK;
}

static emp_status cpu_read(void *state, int32_t memory, const void *from, void *to,
                           int64_t bytes, emp_error *err)
{
    (void)state;
    (void)memory;
    (void)err;
    memcpy(to, from, (size_t)bytes);
    return EMP_OK;
}

static emp_status cpu_write(void *state, int32_t memory, void *to, const void *from,
                            int64_t bytes, emp_error *err)
{
    return cpu_read(state, memory, from, to, bytes, err);
}

static emp_status cpu_begin_step(void *state, int64_t start_ns, bool is_timed,
                                 emp_error *err)
{
    struct cpu *cpu = (struct cpu *)state;

    (void)is_timed;
    (void)err;
    cpu->start_ns = start_ns;
    return EMP_OK;
}

static emp_status cpu_end_step(void *state, emp_error *err)
{
    (void)state;
    (void)err;
    return EMP_OK;
}

static emp_status cpu_times(void *state, emp_replay_times *times, emp_error *err)
{
    const struct cpu *cpu = (const struct cpu *)state;
    size_t            bytes = (size_t)cpu->plan->copy_count * sizeof *cpu->copy_start_ns;

    (void)err;
    memcpy(times->copy_start_ns, cpu->copy_start_ns, bytes);
    memcpy(times->copy_end_ns, cpu->copy_end_ns, bytes);
    return EMP_OK;
}

const emp_replay_backend emp_replay_cpu = {.name = "cpu",
                                           .open = cpu_open,
                                           .close = cpu_close,
                                           .describe = cpu_describe,
                                           .reserve = cpu_reserve,
                                           .is_queue = cpu_is_queue,
                                           .enqueue = cpu_enqueue,
                                           .copy = cpu_copy,
                                           .drain = cpu_drain,
                                           .read = cpu_read,
                                           .write = cpu_write,
                                           .begin_step = cpu_begin_step,
                                           .end_step = cpu_end_step,
                                           .times = cpu_times};
