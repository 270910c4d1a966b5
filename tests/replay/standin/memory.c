// SPDX-License-Identifier: GPL-3.0-or-later
/* Memory of the stand-in (standin.h): regions between guard pages, copies and
 * fills. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/replay/standin/internal.h"

enum { PAGE_BYTES = 4096, MOST_REGIONS = 256, HOST = -1 };

static const size_t gpu_bytes = (size_t)3 << 30;

struct region {
    char  *at; /* NULL: none */
    size_t bytes;
    char  *mapping;
    size_t mapping_bytes;
    int    device; /* or HOST */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct region   region[MOST_REGIONS];

/* The end of a region is the end of its last page but for what alignment asks. */
static cudaError_t map(void **at, size_t bytes, int device)
{
    enum { ALIGNMENT = 256 };
    size_t used = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    size_t pages = (used + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    size_t all = pages + 2 * PAGE_BYTES;

    char *mapping =
        mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) return cudaErrorMemoryAllocation;
    if (mprotect(mapping + PAGE_BYTES, pages, PROT_READ | PROT_WRITE) != 0) abort();
    char *start = mapping + PAGE_BYTES + (pages - used);
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < MOST_REGIONS && region[i].at != NULL) i++;
    if (i == MOST_REGIONS) abort();
    region[i] = (struct region){start, bytes, mapping, all, device};
    pthread_mutex_unlock(&lock);
    standin_count(1);
    *at = start;
    return cudaSuccess;
}

/* The region that begins at an address is none any more. */
static cudaError_t unmap(void *at, bool is_host)
{
    struct region found = {0};

    if (standin_planted() == STANDIN_LOST_MEMORY) return cudaSuccess;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MOST_REGIONS; i++) {
        if (region[i].at != at || (region[i].device == HOST) != is_host) continue;
        found = region[i];
        region[i].at = NULL;
        break;
    }
    pthread_mutex_unlock(&lock);
    if (found.at == NULL) return standin_note(cudaErrorInvalidValue);
    if (!is_host) standin_finish(found.device); /* as CUDA does */
    munmap(found.mapping, found.mapping_bytes);
    standin_count(-1);
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **at, size_t bytes)
{
    if (standin_fails()) return standin_note(cudaErrorMemoryAllocation);
    return standin_note(map(at, bytes, standin_device()));
}

cudaError_t cudaFree(void *at)
{
    if (at == NULL) return cudaSuccess;
    return unmap(at, false);
}

cudaError_t cudaHostAlloc(void **at, size_t bytes, unsigned flags)
{
    if (standin_fails()) return standin_note(cudaErrorMemoryAllocation);
    if (flags != cudaHostAllocPortable) return standin_note(cudaErrorInvalidValue);
    return standin_note(map(at, bytes, HOST));
}

cudaError_t cudaFreeHost(void *at) { return unmap(at, true); }

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    if (standin_fails()) return standin_note(cudaErrorUnknown);
    *free_bytes = *total_bytes = gpu_bytes;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MOST_REGIONS; i++) {
        if (region[i].at != NULL && region[i].device == standin_device())
            *free_bytes -= region[i].bytes < *free_bytes ? region[i].bytes : *free_bytes;
    }
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

enum place { IS_PAGEABLE = -2, IS_TORN = -3 };

/* The GPU that bytes lie on, HOST if they are pinned, or what else is to be said of them. */
static int place_of(const void *at, size_t bytes)
{
    const char *first = at;
    int         place = IS_PAGEABLE;

    pthread_mutex_lock(&lock);
    for (int i = 0; i < MOST_REGIONS && place == IS_PAGEABLE; i++) {
        const struct region *r = &region[i];
        if (r->at == NULL || first >= r->at + r->bytes || first + bytes <= r->at)
            continue;
        place = first >= r->at && first + bytes <= r->at + r->bytes ? r->device : IS_TORN;
    }
    pthread_mutex_unlock(&lock);
    return place;
}

struct copy {
    void       *to;
    const void *from;
    size_t      bytes;
};

static void copy(void *data)
{
    struct copy *c = data;

    memcpy(c->to, c->from, c->bytes);
    free(c);
}

/* A copy from or to memory that is not pinned has happened when the call returns. */
static cudaError_t enqueue_copy(void *to, const void *from, size_t bytes,
                                cudaStream_t stream)
{
    int          source = place_of(from, bytes), target = place_of(to, bytes);
    struct copy *c;

    if (source == IS_TORN || target == IS_TORN) return cudaErrorInvalidValue;
    c = malloc(sizeof *c);
    if (c == NULL) abort();
    if (standin_planted() == STANDIN_SHORT_COPY && bytes >= 4) bytes -= 4;
    *c = (struct copy){to, from, bytes};
    if (standin_planted() == STANDIN_EARLY_COPY) {
        copy(c);
        return cudaSuccess;
    }
    standin_enqueue(stream, copy, c);
    if (source == IS_PAGEABLE || target == IS_PAGEABLE) standin_finish_stream(stream);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind,
                            cudaStream_t stream)
{
    if (standin_fails()) return standin_note(cudaErrorUnknown);
    if (kind != cudaMemcpyDefault) return standin_note(cudaErrorInvalidValue);
    return standin_note(enqueue_copy(to, from, bytes, stream));
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from,
                                int from_device, size_t bytes, cudaStream_t stream)
{
    if (standin_fails()) return standin_note(cudaErrorUnknown);
    if (place_of(to, bytes) != to_device || place_of(from, bytes) != from_device)
        return standin_note(cudaErrorInvalidValue);
    return standin_note(enqueue_copy(to, from, bytes, stream));
}

struct fill {
    void  *to;
    int    byte;
    size_t bytes;
};

static void fill(void *data)
{
    struct fill *f = data;

    memset(f->to, f->byte, f->bytes);
    free(f);
}

cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t stream)
{
    struct fill *f;

    if (standin_fails()) return standin_note(cudaErrorUnknown);
    if (bytes > 0 && place_of(to, bytes) != standin_stream_device(stream))
        return standin_note(cudaErrorInvalidValue);
    f = malloc(sizeof *f);
    if (f == NULL) abort();
    *f = (struct fill){to, byte, bytes};
    standin_enqueue(stream, fill, f);
    return cudaSuccess;
}
