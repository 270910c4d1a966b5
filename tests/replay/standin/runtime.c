// SPDX-License-Identifier: GPL-3.0-or-later
/* Streams, events and errors of the stand-in (standin.h). */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/replay/standin/internal.h"

struct work {
    struct work *next;
    void (*run)(void *data);
    void *data;
};

struct standin_stream {
    int                    device;
    pthread_t              thread;
    pthread_mutex_t        lock; /* of what follows */
    pthread_cond_t         changed;
    struct work           *first, **end;
    int64_t                given, done;
    bool                   is_over;
    uint64_t               random;
    struct standin_stream *next; /* of all */
};

/* It lives until it is destroyed and no stream has to reach it any more. */
struct standin_event {
    int             device;
    bool            is_timed;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t  changed;
    int64_t         holders, recorded, reached, at_ns;
};

static _Atomic int64_t        calls, fail_at, live;
static _Atomic int            planted;
static _Atomic uint64_t       seed;
static _Thread_local int      current;
static _Thread_local int      last_error;
static pthread_mutex_t        streams_lock = PTHREAD_MUTEX_INITIALIZER;
static struct standin_stream *streams;

/* ---- control ---- */

void standin_reset(uint64_t new_seed)
{
    calls = fail_at = 0;
    planted = STANDIN_NO_BUG;
    seed = new_seed;
    last_error = cudaSuccess;
}

void        standin_plant(standin_bug bug) { planted = bug; }
void        standin_fail_at(int64_t call) { fail_at = call > 0 ? calls + call : 0; }
int64_t     standin_calls(void) { return calls; }
int64_t     standin_live(void) { return live; }
bool        standin_fails(void) { return atomic_fetch_add(&calls, 1) + 1 == fail_at; }
void        standin_count(int change) { atomic_fetch_add(&live, change); }
standin_bug standin_planted(void) { return (standin_bug)planted; }
int         standin_device(void) { return current; }
int         standin_stream_device(cudaStream_t stream) { return stream->device; }

cudaError_t standin_note(cudaError_t code)
{
    if (code != cudaSuccess) last_error = (int)code;
    return code;
}

#define FAIL_IF_DUE()                                               \
    do {                                                            \
        if (standin_fails()) return standin_note(cudaErrorUnknown); \
    } while (0)

const char *cudaGetErrorString(cudaError_t code)
{
    switch (code) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorInvalidResourceHandle: return "invalid resource handle";
    case cudaErrorNotReady: return "device not ready";
    case cudaErrorPeerAccessAlreadyEnabled: return "peer access is already enabled";
    default: return "unknown error";
    }
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t code = (cudaError_t)last_error;

    last_error = cudaSuccess;
    return code;
}

/* ---- devices ---- */

cudaError_t cudaGetDeviceCount(int *count)
{
    FAIL_IF_DUE();
    *count = STANDIN_GPUS;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    FAIL_IF_DUE();
    snprintf(properties->name, sizeof properties->name, "stand-in %d", device);
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    FAIL_IF_DUE();
    if (device < 0 || device >= STANDIN_GPUS) return standin_note(cudaErrorInvalidDevice);
    current = device;
    return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    FAIL_IF_DUE();
    if (device == peer) return standin_note(cudaErrorInvalidDevice);
    *can = 1;
    return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    static _Atomic unsigned enabled; /* bit of (device, peer) */
    const unsigned          bit = 1u << (current * STANDIN_GPUS + peer);

    FAIL_IF_DUE();
    if (peer == current || flags != 0) return standin_note(cudaErrorInvalidDevice);
    return (atomic_fetch_or(&enabled, bit) & bit) != 0
               ? standin_note(cudaErrorPeerAccessAlreadyEnabled)
               : cudaSuccess;
}

/* ---- streams ---- */

static uint64_t draw(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *state >> 33;
}

/* One time in four a pause, so that streams run apart. */
static void pause_at_random(uint64_t *state)
{
    if (seed != 0 && draw(state) % 4 == 0) usleep((useconds_t)(draw(state) % 200));
}

static void *serve(void *argument)
{
    struct standin_stream *s = argument;

    pthread_mutex_lock(&s->lock);
    for (;;) {
        while (s->first == NULL && !s->is_over) pthread_cond_wait(&s->changed, &s->lock);
        if (s->first == NULL) break;
        struct work *work = s->first;
        s->first = work->next;
        if (s->first == NULL) s->end = &s->first;
        pthread_mutex_unlock(&s->lock);
        pause_at_random(&s->random);
        work->run(work->data);
        free(work);
        pthread_mutex_lock(&s->lock);
        s->done++;
        pthread_cond_broadcast(&s->changed);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

void standin_enqueue(cudaStream_t s, void (*run)(void *data), void *data)
{
    struct work *work = malloc(sizeof *work);

    if (work == NULL) abort();
    *work = (struct work){NULL, run, data};
    pthread_mutex_lock(&s->lock);
    *s->end = work;
    s->end = &work->next;
    s->given++;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static cudaStream_t another_stream(cudaStream_t stream)
{
    cudaStream_t other = stream;

    pthread_mutex_lock(&streams_lock);
    for (struct standin_stream *s = streams; s != NULL && other == stream; s = s->next) {
        if (s != stream && s->device == stream->device) other = s;
    }
    pthread_mutex_unlock(&streams_lock);
    return other;
}

void standin_launch(cudaStream_t stream, void (*run)(void *data),
                    void (*drop)(void *data), void *data)
{
    cudaError_t code = standin_fails()             ? cudaErrorUnknown
                       : stream->device != current ? cudaErrorInvalidResourceHandle
                                                   : cudaSuccess;
    if (code != cudaSuccess) {
        drop(data);
        (void)standin_note(code);
    } else {
        standin_enqueue(planted == STANDIN_WRONG_STREAM ? another_stream(stream) : stream,
                        run, data);
    }
}

void standin_finish_stream(cudaStream_t s)
{
    pthread_mutex_lock(&s->lock);
    while (s->done < s->given) pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    static _Atomic uint64_t number;
    struct standin_stream  *s = NULL;

    FAIL_IF_DUE();
    if (flags != cudaStreamNonBlocking) return standin_note(cudaErrorInvalidValue);
    s = calloc(1, sizeof *s);
    if (s == NULL) return standin_note(cudaErrorMemoryAllocation);
    s->device = current;
    s->end = &s->first;
    s->random = seed + UINT64_C(0x9e3779b97f4a7c15) * ++number;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    if (pthread_create(&s->thread, NULL, serve, s) != 0) abort();
    pthread_mutex_lock(&streams_lock);
    s->next = streams;
    streams = s;
    pthread_mutex_unlock(&streams_lock);
    standin_count(1);
    *stream = s;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    struct standin_stream **at = &streams;

    pthread_mutex_lock(&s->lock);
    s->is_over = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    pthread_mutex_lock(&streams_lock);
    while (*at != s) at = &(*at)->next;
    *at = s->next;
    pthread_mutex_unlock(&streams_lock);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->changed);
    free(s);
    standin_count(-1);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    FAIL_IF_DUE();
    if (planted != STANDIN_NO_DRAIN) standin_finish_stream(stream);
    return cudaSuccess;
}

void standin_finish(int device)
{
    pthread_mutex_lock(&streams_lock);
    for (struct standin_stream *s = streams; s != NULL; s = s->next) {
        if (s->device == device) standin_finish_stream(s);
    }
    pthread_mutex_unlock(&streams_lock);
}

/* It has waited also where it fails. */
cudaError_t cudaDeviceSynchronize(void)
{
    bool fails = standin_fails();

    if (planted != STANDIN_NO_DRAIN) standin_finish(current);
    return fails ? standin_note(cudaErrorUnknown) : cudaSuccess;
}

/* ---- events ---- */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    struct standin_event *e = NULL;

    FAIL_IF_DUE();
    e = calloc(1, sizeof *e);
    if (e == NULL) return standin_note(cudaErrorMemoryAllocation);
    e->device = current;
    e->is_timed = (flags & cudaEventDisableTiming) == 0;
    e->holders = 1;
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->changed, NULL);
    standin_count(1);
    *event = e;
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

static void let_go(struct standin_event *e)
{
    pthread_mutex_lock(&e->lock);
    bool is_last = --e->holders == 0;
    pthread_mutex_unlock(&e->lock);
    if (!is_last) return;
    pthread_mutex_destroy(&e->lock);
    pthread_cond_destroy(&e->changed);
    free(e);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    if (planted == STANDIN_LOST_EVENT) return cudaSuccess;
    standin_count(-1);
    let_go(event);
    return cudaSuccess;
}

/* An event as a stream reaches it, or waits for it. */
struct mark {
    struct standin_event *event;
    int64_t               number;
};

static struct mark *hold(struct standin_event *e, bool is_record)
{
    struct mark *mark = malloc(sizeof *mark);

    if (mark == NULL) abort();
    pthread_mutex_lock(&e->lock);
    e->holders++;
    e->recorded += is_record;
    *mark = (struct mark){e, e->recorded};
    pthread_mutex_unlock(&e->lock);
    return mark;
}

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void reach(void *data)
{
    struct mark          *mark = data;
    struct standin_event *e = mark->event;

    pthread_mutex_lock(&e->lock);
    e->reached = mark->number;
    e->at_ns = now_ns();
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
    let_go(e);
    free(mark);
}

static void await(void *data)
{
    struct mark          *mark = data;
    struct standin_event *e = mark->event;

    pthread_mutex_lock(&e->lock);
    while (e->reached < mark->number) pthread_cond_wait(&e->changed, &e->lock);
    pthread_mutex_unlock(&e->lock);
    let_go(e);
    free(mark);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    FAIL_IF_DUE();
    if (event->device != stream->device)
        return standin_note(cudaErrorInvalidResourceHandle);
    standin_enqueue(stream, reach, hold(event, true));
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    FAIL_IF_DUE();
    if (flags != 0) return standin_note(cudaErrorInvalidValue);
    if (planted != STANDIN_NO_WAIT) standin_enqueue(stream, await, hold(event, false));
    return cudaSuccess;
}

/* CUDA, too, notes that an event is not there yet as an error of the thread. */
cudaError_t cudaEventQuery(cudaEvent_t e)
{
    FAIL_IF_DUE();
    pthread_mutex_lock(&e->lock);
    bool is_there = e->reached == e->recorded || planted == STANDIN_EARLY_EVENT;
    pthread_mutex_unlock(&e->lock);
    return is_there ? cudaSuccess : standin_note(cudaErrorNotReady);
}

static cudaError_t time_of(struct standin_event *e, int64_t *at_ns)
{
    pthread_mutex_lock(&e->lock);
    cudaError_t code = !e->is_timed || e->recorded == 0 ? cudaErrorInvalidResourceHandle
                       : e->reached < e->recorded       ? cudaErrorNotReady
                                                        : cudaSuccess;
    *at_ns = e->at_ns;
    pthread_mutex_unlock(&e->lock);
    return code;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    int64_t     from_ns, to_ns;
    cudaError_t code;

    FAIL_IF_DUE();
    if (start->device != end->device) return standin_note(cudaErrorInvalidResourceHandle);
    code = time_of(start, &from_ns);
    if (code == cudaSuccess) code = time_of(end, &to_ns);
    if (code != cudaSuccess) return standin_note(code);
    *ms = (float)(1e-6 * (double)(to_ns - from_ns));
    return cudaSuccess;
}
