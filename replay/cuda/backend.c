// SPDX-License-Identifier: GPL-3.0-or-later
/* GPUs: a compute stream each, and a stream each for copies from the host, to the host and
 * to other GPUs. A copy waits for all compute that was enqueued before at its ends that
 * are GPUs, as TensorFlow's do: earlier uses of its buffers are over then. A
 * thread polls events every 10 us and tells the executor which copies are there.
 *
 * Several GPUs of a plan may be one of the computer (options->physical): each has its own
 * streams and its own share of memory; the multiprocessors, the memory bus, the copy engines
 * and the PCIe link are shared. */
#define _DEFAULT_SOURCE /* usleep, MAP_ANONYMOUS */
#include <cuda_runtime_api.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "replay/backend.h"
#include "replay/cpu/cores.h"
#include "replay/cuda/work.h"
#include "replay/execute.h"

enum {
    FROM_HOST,
    TO_HOST,
    TO_PEER,
    STREAMS,
    POLL_US = 10,
    TIMER_SLACK_NS = 1000, /* the kernel's own would make of 10 us 60 */
    MAX_REGIONS = 4 * EMP_REPLAY_MAX_DEVICES,
    PINNED_SHARE = 4 /* a region of host memory of a quarter at most is pinned */
};

struct gpu {
    int            physical; /* of the computer; -1 = this device is cores */
    cudaStream_t   compute, copy[STREAMS];
    cudaEvent_t    base; /* recorded at the beginning of a step */
    emp_cuda_work *work;
    int32_t        region_count; /* of two: constants, then the pool */
};

/* A copy's events. Those it waits for are recorded on the compute streams of its ends. */
struct copy {
    cudaEvent_t waits_from, waits_to, start, end;
    int32_t     gpu; /* whose stream moves it; -1 = between hosts */
};

struct region {
    void  *at;
    size_t bytes;
    int    physical; /* -1: of the host */
    bool   is_pinned;
};

struct cuda {
    const emp_replay_plan    *plan;
    const emp_replay_options *options;
    const emp_replay_hooks   *hooks;
    int                       physical_count;
    struct gpu                gpu[EMP_REPLAY_MAX_DEVICES];
    emp_cpu_cores             cores;
    struct copy              *copy;              /* [copy] */
    cudaEvent_t              *op_start, *op_end; /* [op], of a step that is timed */
    bool                      has_op_events, is_timed;
    struct region             region[MAX_REGIONS];
    int32_t                   region_count;
    int64_t                   start_ns;

    pthread_t       poller;
    bool            is_polling;
    atomic_bool     is_over;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t  more;
    int32_t        *pending; /* copies under way */
    int32_t         pending_count;
};

/* A call for device d of the plan. */
#define CUDA_CHECK(d, call) EMP_CUDA_CHECK(name_of(c, d), call)

static bool is_gpu(const struct cuda *c, int32_t device)
{
    return c->gpu[device].physical >= 0;
}

static const char *name_of(const struct cuda *c, int32_t device)
{
    return c->plan->device[device].name;
}

/* ---- opening ---- */

static emp_status assign(struct cuda *c, emp_error *err)
{
    const emp_replay_plan *p = c->plan;
    int32_t                number = 0;
    cudaError_t            code = cudaGetDeviceCount(&c->physical_count);

    if (code != cudaSuccess || c->physical_count == 0)
        return EMP_ERROR(
            EMP_EUNSUPPORTED, "this computer has no GPU that CUDA can use: %s",
            code != cudaSuccess ? cudaGetErrorString(code) : "none is there");
    for (int32_t d = 0; d < p->device_count; d++) {
        c->gpu[d].physical = -1;
        if (p->device[d].is_cpu) continue;
        int32_t wanted = c->options->physical[d];
        if (wanted >= c->physical_count)
            return EMP_ERROR(EMP_EINVAL, "%s is to be GPU %d, and there are %d",
                             p->device[d].name, wanted, c->physical_count);
        c->gpu[d].physical = wanted >= 0 ? wanted : number % c->physical_count;
        number++;
    }
    return EMP_OK;
}

static emp_status open_gpu(struct cuda *c, int32_t d, emp_error *err)
{
    struct gpu *g = &c->gpu[d];

    CUDA_CHECK(d, cudaSetDevice(g->physical));
    CUDA_CHECK(d, cudaStreamCreateWithFlags(&g->compute, cudaStreamNonBlocking));
    for (int i = 0; i < STREAMS; i++)
        CUDA_CHECK(d, cudaStreamCreateWithFlags(&g->copy[i], cudaStreamNonBlocking));
    CUDA_CHECK(d, cudaEventCreate(&g->base));
    EMP_CHECK(emp_cuda_work_create(&g->work, c->plan, name_of(c, d), g->compute, err));
    for (int32_t e = 0; e < d; e++) {
        int can_reach = 0, other = c->gpu[e].physical;
        if (!is_gpu(c, e) || other == g->physical) continue;
        CUDA_CHECK(d, cudaDeviceCanAccessPeer(&can_reach, g->physical, other));
        if (!can_reach) continue; /* the driver goes by the host */
        /* there already, by another GPU of the plan: fine */
        if (cudaDeviceEnablePeerAccess(other, 0) != cudaSuccess) (void)cudaGetLastError();
        CUDA_CHECK(d, cudaSetDevice(other));
        if (cudaDeviceEnablePeerAccess(g->physical, 0) != cudaSuccess)
            (void)cudaGetLastError();
        CUDA_CHECK(d, cudaSetDevice(g->physical));
    }
    return EMP_OK;
}

static int32_t memory_of(const struct cuda *c, int32_t copy)
{
    return emp_replay_memory_of_place(c->plan, c->plan->copy[copy].tensor);
}

static emp_status create_mark(struct cuda *c, int32_t gpu, cudaEvent_t *event,
                              emp_error *err)
{
    CUDA_CHECK(gpu, cudaSetDevice(c->gpu[gpu].physical));
    CUDA_CHECK(gpu, cudaEventCreateWithFlags(event, cudaEventDisableTiming));
    return EMP_OK;
}

static emp_status open_copy(struct cuda *c, int32_t copy, emp_error *err)
{
    int32_t      from = memory_of(c, copy), to = c->plan->copy[copy].to;
    struct copy *v = &c->copy[copy];

    v->gpu = is_gpu(c, from) ? from : is_gpu(c, to) ? to : -1;
    if (v->gpu < 0) return EMP_OK;
    if (is_gpu(c, from)) EMP_CHECK(create_mark(c, from, &v->waits_from, err));
    if (is_gpu(c, to)) EMP_CHECK(create_mark(c, to, &v->waits_to, err));
    CUDA_CHECK(v->gpu, cudaSetDevice(c->gpu[v->gpu].physical));
    CUDA_CHECK(v->gpu, cudaEventCreate(&v->start));
    CUDA_CHECK(v->gpu, cudaEventCreate(&v->end));
    return EMP_OK;
}

static void tell_failure(struct cuda *c, int32_t gpu, const char *what, cudaError_t code)
{
    emp_error why = {0};

    emp_cuda_complain(name_of(c, gpu), what, code, &why);
    c->hooks->failed(c->hooks->executor, &why);
}

/* Looks once at every copy under way; finished ones are reported without the lock. */
static void poll_once(struct cuda *c, int32_t *there)
{
    int32_t count = 0;

    pthread_mutex_lock(&c->lock);
    for (int32_t i = 0; i < c->pending_count;) {
        int32_t     copy = c->pending[i];
        cudaError_t code = cudaSetDevice(c->gpu[c->copy[copy].gpu].physical);
        if (code == cudaSuccess) code = cudaEventQuery(c->copy[copy].end);
        if (code == cudaErrorNotReady) {
            i++;
            continue;
        }
        c->pending[i] = c->pending[--c->pending_count];
        if (code == cudaSuccess) {
            there[count++] = copy;
        } else {
            pthread_mutex_unlock(&c->lock);
            tell_failure(c, c->copy[copy].gpu, "a copy failed", code);
            pthread_mutex_lock(&c->lock);
        }
    }
    pthread_mutex_unlock(&c->lock);
    for (int32_t i = 0; i < count; i++) c->hooks->copied(c->hooks->executor, there[i]);
}

static void *poll_copies(void *argument)
{
    struct cuda *c = (struct cuda *)argument;
    int32_t     *there = EMP_NEW_ARRAY(int32_t, (size_t)c->plan->copy_count);

    if (there == NULL) {
        emp_error why = {0};
        emp_error_set(&why, EMP_ENOMEM, __FILE__, __LINE__, "polling copies");
        c->hooks->failed(c->hooks->executor, &why);
        return NULL;
    }
    prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
    while (!atomic_load(&c->is_over)) {
        pthread_mutex_lock(&c->lock);
        while (c->pending_count == 0 && !atomic_load(&c->is_over))
            pthread_cond_wait(&c->more, &c->lock);
        pthread_mutex_unlock(&c->lock);
        poll_once(c, there);
        usleep(POLL_US);
    }
    emp_free(there);
    return NULL;
}

static void close_gpu(struct gpu *g)
{
    if (g->physical < 0) return;
    cudaSetDevice(g->physical);
    emp_cuda_work_destroy(g->work);
    for (int i = 0; i < STREAMS; i++) {
        if (g->copy[i] != NULL) cudaStreamDestroy(g->copy[i]);
    }
    if (g->compute != NULL) cudaStreamDestroy(g->compute);
    if (g->base != NULL) cudaEventDestroy(g->base);
}

static void destroy_event(cudaEvent_t event)
{
    if (event != NULL) cudaEventDestroy(event);
}

static void close_region(const struct region *r)
{
    if (r->physical >= 0) {
        cudaSetDevice(r->physical);
        cudaFree(r->at);
    } else if (r->is_pinned) {
        cudaFreeHost(r->at);
    } else {
        munmap(r->at, r->bytes);
    }
}

static void cuda_close(void *state)
{
    struct cuda *c = (struct cuda *)state;

    if (c == NULL) return;
    pthread_mutex_lock(&c->lock);
    atomic_store(&c->is_over, true);
    pthread_cond_broadcast(&c->more);
    pthread_mutex_unlock(&c->lock);
    if (c->is_polling) pthread_join(c->poller, NULL);
    for (int32_t d = 0; d < c->plan->device_count; d++) {
        if (!is_gpu(c, d)) continue;
        cudaSetDevice(c->gpu[d].physical);
        cudaDeviceSynchronize(); /* nothing is under way when its memory goes */
    }
    for (int32_t i = 0; c->copy != NULL && i < c->plan->copy_count; i++) {
        destroy_event(c->copy[i].waits_from);
        destroy_event(c->copy[i].waits_to);
        destroy_event(c->copy[i].start);
        destroy_event(c->copy[i].end);
    }
    for (int32_t op = 0;
         c->op_start != NULL && c->op_end != NULL && op < c->plan->op_count; op++) {
        destroy_event(c->op_start[op]);
        destroy_event(c->op_end[op]);
    }
    for (int32_t d = 0; d < c->plan->device_count; d++) close_gpu(&c->gpu[d]);
    for (int32_t i = 0; i < c->region_count; i++) close_region(&c->region[i]);
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->more);
    emp_free(c->copy);
    emp_free(c->op_start);
    emp_free(c->op_end);
    emp_free(c->pending);
    emp_free(c);
}

static emp_status cuda_open(void **state, const emp_replay_plan *plan,
                            const emp_replay_options *options,
                            const emp_replay_hooks *hooks, emp_error *err)
{
    emp_status   st = EMP_OK;
    struct cuda *c = EMP_NEW(struct cuda);
    bool         is_cores[EMP_REPLAY_MAX_DEVICES];

    if (c == NULL) EMP_FAIL(EMP_ENOMEM, "CUDA backend");
    c->plan = plan;
    c->options = options;
    c->hooks = hooks;
    for (int32_t d = 0; d < plan->device_count; d++) {
        c->gpu[d].physical = -1;
        is_cores[d] = plan->device[d].is_cpu;
    }
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->more, NULL);
    EMP_TRY(EMP_ALLOC(c->copy, (size_t)plan->copy_count));
    EMP_TRY(EMP_ALLOC(c->pending, (size_t)plan->copy_count));
    EMP_TRY(EMP_ALLOC(c->op_start, (size_t)plan->op_count));
    EMP_TRY(EMP_ALLOC(c->op_end, (size_t)plan->op_count));
    EMP_TRY(emp_cpu_cores_choose(&c->cores, plan, options, is_cores, err));
    EMP_TRY(assign(c, err));
    for (int32_t d = 0; d < plan->device_count; d++) {
        if (is_gpu(c, d)) EMP_TRY(open_gpu(c, d, err));
    }
    for (int32_t i = 0; i < plan->copy_count; i++) EMP_TRY(open_copy(c, i, err));
    int code = pthread_create(&c->poller, NULL, poll_copies, c);
    if (code != 0) EMP_FAIL(EMP_ENOMEM, "no thread for polling: %s", strerror(code));
    c->is_polling = true;
    *state = c;
    c = NULL;

cleanup:
    cuda_close(c);
    return st;
}

static void cuda_describe(const void *state, int32_t device, char *text, size_t size)
{
    const struct cuda    *c = (const struct cuda *)state;
    struct cudaDeviceProp properties;
    int                   physical = c->gpu[device].physical, sharers = 0;

    if (physical < 0) {
        snprintf(text, size, "%d cores from core %d on", c->cores.count[device],
                 c->cores.core[device][0]);
        return;
    }
    for (int32_t d = 0; d < c->plan->device_count; d++)
        sharers += c->gpu[d].physical == physical;
    if (cudaGetDeviceProperties(&properties, physical) != cudaSuccess)
        snprintf(properties.name, sizeof properties.name, "unknown");
    snprintf(text, size, "GPU %d: %.60s (%s)%s", physical, properties.name,
             emp_cuda_work_libraries(), sharers > 1 ? ", shared" : "");
}

/* ---- memory ---- */

static emp_status add_region(struct cuda *c, struct region region, emp_error *err)
{
    if (c->region_count == MAX_REGIONS) {
        close_region(&region);
        return EMP_ERROR(EMP_EUNSUPPORTED, "too many regions");
    }
    c->region[c->region_count++] = region;
    return EMP_OK;
}

static emp_status reserve_host(struct cuda *c, int32_t memory, int64_t bytes,
                               void **region, emp_error *err)
{
    struct region r = {NULL, (size_t)bytes, -1, false};

    r.is_pinned = bytes <= emp_cpu_available_bytes() / PINNED_SHARE;
    if (r.is_pinned &&
        cudaHostAlloc(&r.at, r.bytes, cudaHostAllocPortable) != cudaSuccess) {
        (void)cudaGetLastError(); /* the driver may pin less than there is */
        r.is_pinned = false;
    }
    if (!r.is_pinned) {
        r.at = mmap(NULL, r.bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (r.at == MAP_FAILED)
            return EMP_ERROR(EMP_ENOMEM, "no %lld MiB of memory for %s: %s",
                             (long long)(bytes >> 20), name_of(c, memory),
                             strerror(errno));
    }
    *region = r.at;
    return add_region(c, r, err);
}

/* How many GPUs of the plan will still want memory of this one. */
static int64_t count_waiting(const struct cuda *c, int physical)
{
    int64_t count = 0;

    for (int32_t d = 0; d < c->plan->device_count; d++)
        count += c->gpu[d].physical == physical && c->gpu[d].region_count < 2;
    return count > 0 ? count : 1;
}

/* At most a fair share of what is free, less one part in twenty for the driver. */
static emp_status reserve_gpu(struct cuda *c, int32_t memory, int64_t *bytes,
                              void **region, emp_error *err)
{
    struct gpu   *g = &c->gpu[memory];
    struct region r = {NULL, 0, g->physical, false};
    size_t        free_bytes, total_bytes;

    CUDA_CHECK(memory, cudaSetDevice(g->physical));
    CUDA_CHECK(memory, cudaMemGetInfo(&free_bytes, &total_bytes));
    int64_t share = (int64_t)(free_bytes / 20 * 19) / count_waiting(c, g->physical);
    share = share / EMP_REPLAY_ALIGNMENT * EMP_REPLAY_ALIGNMENT;
    if (*bytes > share) *bytes = share;
    if (*bytes <= 0)
        return EMP_ERROR(EMP_ENOMEM, "%s has no memory left", name_of(c, memory));
    r.bytes = (size_t)*bytes;
    CUDA_CHECK(memory, cudaMalloc(&r.at, r.bytes));
    *region = r.at;
    return add_region(c, r, err);
}

/* The executor asks for constants first and for the pool second. */
static emp_status cuda_reserve(void *state, int32_t memory, int64_t *bytes, void **region,
                               emp_error *err)
{
    struct cuda *c = (struct cuda *)state;

    if (!is_gpu(c, memory)) return reserve_host(c, memory, *bytes, region, err);
    emp_status st = reserve_gpu(c, memory, bytes, region, err);
    c->gpu[memory].region_count++;
    return st;
}

static emp_status transfer(struct cuda *c, int32_t memory, void *to, const void *from,
                           int64_t bytes, emp_error *err)
{
    if (!is_gpu(c, memory)) {
        memcpy(to, from, (size_t)bytes);
        return EMP_OK;
    }
    CUDA_CHECK(memory, cudaSetDevice(c->gpu[memory].physical));
    CUDA_CHECK(memory, cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDefault,
                                       c->gpu[memory].compute));
    CUDA_CHECK(memory, cudaStreamSynchronize(c->gpu[memory].compute));
    return EMP_OK;
}

static emp_status cuda_read(void *state, int32_t memory, const void *from, void *to,
                            int64_t bytes, emp_error *err)
{
    return transfer((struct cuda *)state, memory, to, from, bytes, err);
}

static emp_status cuda_write(void *state, int32_t memory, void *to, const void *from,
                             int64_t bytes, emp_error *err)
{
    return transfer((struct cuda *)state, memory, to, from, bytes, err);
}

/* ---- work ---- */

static bool cuda_is_queue(const void *state, int32_t device)
{
    return is_gpu((const struct cuda *)state, device);
}

static emp_status cuda_enqueue(void *state, int32_t d, int32_t op,
                               const emp_kernel_call *call, emp_error *err)
{
    struct cuda *c = (struct cuda *)state;
    struct gpu  *g = &c->gpu[d];

    CUDA_CHECK(d, cudaSetDevice(g->physical));
    if (c->is_timed) CUDA_CHECK(d, cudaEventRecord(c->op_start[op], g->compute));
    EMP_CHECK(emp_cuda_work_enqueue(g->work, op, call, err));
    if (c->is_timed) CUDA_CHECK(d, cudaEventRecord(c->op_end[op], g->compute));
    return EMP_OK;
}

static emp_status wait_for_compute(struct cuda *c, int32_t gpu, cudaEvent_t mark,
                                   cudaStream_t stream, int mover, emp_error *err)
{
    CUDA_CHECK(gpu, cudaSetDevice(c->gpu[gpu].physical));
    CUDA_CHECK(gpu, cudaEventRecord(mark, c->gpu[gpu].compute));
    CUDA_CHECK(gpu, cudaSetDevice(mover));
    CUDA_CHECK(gpu, cudaStreamWaitEvent(stream, mark, 0));
    return EMP_OK;
}

static cudaStream_t stream_of(const struct cuda *c, int32_t copy)
{
    int32_t from = memory_of(c, copy), to = c->plan->copy[copy].to;

    if (!is_gpu(c, from)) return c->gpu[to].copy[FROM_HOST];
    return c->gpu[from].copy[is_gpu(c, to) ? TO_PEER : TO_HOST];
}

static emp_status start_copy(struct cuda *c, int32_t copy, const void *from, void *to,
                             emp_error *err)
{
    struct copy *v = &c->copy[copy];
    int32_t      source = memory_of(c, copy), target = c->plan->copy[copy].to;
    int          mover = c->gpu[v->gpu].physical;
    cudaStream_t stream = stream_of(c, copy);
    size_t       bytes = (size_t)c->plan->copy[copy].bytes;

    if (is_gpu(c, source))
        EMP_CHECK(wait_for_compute(c, source, v->waits_from, stream, mover, err));
    if (is_gpu(c, target))
        EMP_CHECK(wait_for_compute(c, target, v->waits_to, stream, mover, err));
    CUDA_CHECK(v->gpu, cudaSetDevice(mover));
    CUDA_CHECK(v->gpu, cudaEventRecord(v->start, stream));
    if (is_gpu(c, source) && is_gpu(c, target) && c->gpu[target].physical != mover)
        CUDA_CHECK(v->gpu, cudaMemcpyPeerAsync(to, c->gpu[target].physical, from, mover,
                                               bytes, stream));
    else
        CUDA_CHECK(v->gpu, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream));
    CUDA_CHECK(v->gpu, cudaEventRecord(v->end, stream));
    return EMP_OK;
}

static emp_status cuda_copy(void *state, int32_t copy, const void *from, void *to,
                            emp_error *err)
{
    struct cuda *c = (struct cuda *)state;

    if (c->copy[copy].gpu < 0) { /* between hosts: there is no queue to wait in */
        memcpy(to, from, (size_t)c->plan->copy[copy].bytes);
        c->hooks->copied(c->hooks->executor, copy);
        return EMP_OK;
    }
    EMP_CHECK(start_copy(c, copy, from, to, err));
    pthread_mutex_lock(&c->lock);
    c->pending[c->pending_count++] = copy;
    pthread_cond_signal(&c->more);
    pthread_mutex_unlock(&c->lock);
    return EMP_OK;
}

static emp_status cuda_drain(void *state, int32_t d, emp_error *err)
{
    struct cuda *c = (struct cuda *)state;

    CUDA_CHECK(d, cudaSetDevice(c->gpu[d].physical));
    CUDA_CHECK(d, cudaStreamSynchronize(c->gpu[d].compute));
    return EMP_OK;
}

/* ---- steps ---- */

static emp_status create_op_events(struct cuda *c, emp_error *err)
{
    for (int32_t op = 0; op < c->plan->op_count; op++) {
        int32_t d = c->plan->op[op].device;
        if (!is_gpu(c, d)) continue;
        CUDA_CHECK(d, cudaSetDevice(c->gpu[d].physical));
        CUDA_CHECK(d, cudaEventCreate(&c->op_start[op]));
        CUDA_CHECK(d, cudaEventCreate(&c->op_end[op]));
    }
    c->has_op_events = true;
    return EMP_OK;
}

static emp_status cuda_begin_step(void *state, int64_t start_ns, bool is_timed,
                                  emp_error *err)
{
    struct cuda *c = (struct cuda *)state;

    c->start_ns = start_ns;
    c->is_timed = is_timed;
    if (is_timed && !c->has_op_events) EMP_CHECK(create_op_events(c, err));
    for (int32_t d = 0; d < c->plan->device_count; d++) {
        if (!is_gpu(c, d)) continue;
        CUDA_CHECK(d, cudaSetDevice(c->gpu[d].physical));
        CUDA_CHECK(d, cudaEventRecord(c->gpu[d].base, c->gpu[d].compute));
    }
    return EMP_OK;
}

static emp_status cuda_end_step(void *state, emp_error *err)
{
    struct cuda *c = (struct cuda *)state;

    for (int32_t d = 0; d < c->plan->device_count; d++) {
        if (!is_gpu(c, d)) continue;
        CUDA_CHECK(d, cudaSetDevice(c->gpu[d].physical));
        CUDA_CHECK(d, cudaDeviceSynchronize());
    }
    return EMP_OK;
}

/* An event's time since the step began; 0 where it was not recorded in this step. */
static emp_status since_base(const struct cuda *c, int32_t d, cudaEvent_t event,
                             int64_t *ns, emp_error *err)
{
    float ms = 0.0f;

    CUDA_CHECK(d, cudaSetDevice(c->gpu[d].physical));
    CUDA_CHECK(d, cudaEventElapsedTime(&ms, c->gpu[d].base, event));
    *ns = (int64_t)(1e6 * (double)ms);
    return EMP_OK;
}

static bool is_enqueued(const emp_replay_plan *p, int32_t op)
{
    int32_t t = p->output_offset[op];

    return p->op[op].kernel.kind != EMP_KERNEL_NOTHING &&
           p->op[op].kernel.kind != EMP_KERNEL_HOST &&
           !(t < p->output_offset[op + 1] && p->tensor[t].on_host);
}

static emp_status cuda_times(void *state, emp_replay_times *times, emp_error *err)
{
    struct cuda           *c = (struct cuda *)state;
    const emp_replay_plan *p = c->plan;

    if (!c->is_timed) return EMP_OK; /* nobody asks between steps that count */
    for (int32_t i = 0; i < p->copy_count; i++) {
        if (c->copy[i].gpu < 0) continue;
        EMP_CHECK(since_base(c, c->copy[i].gpu, c->copy[i].start,
                             &times->copy_start_ns[i], err));
        EMP_CHECK(
            since_base(c, c->copy[i].gpu, c->copy[i].end, &times->copy_end_ns[i], err));
    }
    for (int32_t op = 0; op < p->op_count; op++) {
        int32_t d = p->op[op].device;
        times->op_start_ns[op] = times->op_end_ns[op] = 0;
        if (!is_gpu(c, d) || !is_enqueued(p, op)) continue;
        EMP_CHECK(since_base(c, d, c->op_start[op], &times->op_start_ns[op], err));
        EMP_CHECK(since_base(c, d, c->op_end[op], &times->op_end_ns[op], err));
    }
    return EMP_OK;
}

static const emp_replay_backend cuda = {.name = "cuda",
                                        .open = cuda_open,
                                        .close = cuda_close,
                                        .describe = cuda_describe,
                                        .reserve = cuda_reserve,
                                        .is_queue = cuda_is_queue,
                                        .enqueue = cuda_enqueue,
                                        .copy = cuda_copy,
                                        .drain = cuda_drain,
                                        .read = cuda_read,
                                        .write = cuda_write,
                                        .begin_step = cuda_begin_step,
                                        .end_step = cuda_end_step,
                                        .times = cuda_times};

const emp_replay_backend *const emp_replay_cuda = &cuda;
