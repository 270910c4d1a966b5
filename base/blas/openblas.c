// SPDX-License-Identifier: GPL-3.0-or-later
/* The only includer of cblas.h. */
#define _GNU_SOURCE /* setenv(), MAP_ANONYMOUS */
#include "base/blas/openblas.h"

#include <cblas.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static const char LIBRARY[] = "libopenblas.so.0";

/* The buffer that a product takes, and leaves to the next one. */
static const size_t BUFFER_BYTES = (size_t)128 << 20;

enum { MOST_BUFFERS = 64 };

static struct {
    void *handle;
    void (*sgemm)(enum CBLAS_ORDER, enum CBLAS_TRANSPOSE, enum CBLAS_TRANSPOSE, blasint,
                  blasint, blasint, float, const float *, blasint, const float *, blasint,
                  float, float *, blasint);
    void (*dgemm)(enum CBLAS_ORDER, enum CBLAS_TRANSPOSE, enum CBLAS_TRANSPOSE, blasint,
                  blasint, blasint, double, const double *, blasint, const double *,
                  blasint, double, double *, blasint);
    char *(*core_name)(void);
    char core[32], mistaken[32], why[160]; /* why: it is not there */
} library;

static atomic_bool is_open;

/* Under a limit of address space products use the buffers that were there at the start, and wait for
 * one: where none can be had, the library would look for one for ever. */
static struct {
    bool            is_limited;
    int32_t         count, used;
    pthread_mutex_t lock;
    pthread_cond_t  has_free;
} buffers = {.lock = PTHREAD_MUTEX_INITIALIZER, .has_free = PTHREAD_COND_INITIALIZER};

/* Puts the address of a function in the pointer of \a size bytes at \a function. */
static bool find(const char *name, void *function, size_t size)
{
    void *found = dlsym(library.handle, name);

    memcpy(function, &found, size);
    return found != NULL;
}

static bool load(void)
{
    library.handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library.handle == NULL ||
        !find("cblas_sgemm", &library.sgemm, sizeof library.sgemm) ||
        !find("cblas_dgemm", &library.dgemm, sizeof library.dgemm) ||
        !find("openblas_get_corename", &library.core_name, sizeof library.core_name)) {
        const char *why = dlerror();
        snprintf(library.why, sizeof library.why, "%s", why != NULL ? why : LIBRARY);
        return false;
    }
    snprintf(library.core, sizeof library.core, "%s", library.core_name());
    return true;
}

static void unload(void)
{
    if (library.handle != NULL) dlclose(library.handle);
    library.handle = NULL;
}

/* The oldest core that OpenBLAS knows and that has all the instructions this CPU has. */
static const char *core_of_cpu(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
        return "SKYLAKEX";
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "HASWELL";
#endif
    return NULL;
}

/* Whether a core has neither AVX2 nor AVX-512 kernels, as OpenBLAS names them. */
static bool is_slow(const char *core)
{
    static const char *const slow[] = {"Prescott", "Core2",   "Nehalem",    "Sandybridge",
                                       "Katmai",   "Penryn",  "Dunnington", "Atom",
                                       "Nano",     "Generic", "Unknown"};

    for (size_t i = 0; i < sizeof slow / sizeof slow[0]; i++) {
        if (strcmp(core, slow[i]) == 0) return true;
    }
    return false;
}

static void load_as_it_should_be(void)
{
    const char *core = core_of_cpu();

    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    bool is_loaded = load();
    if (is_loaded && core != NULL && is_slow(library.core) &&
        getenv("OPENBLAS_CORETYPE") == NULL &&
        setenv("OPENBLAS_CORETYPE", core, 1) == 0) {
        memcpy(library.mistaken, library.core, sizeof library.mistaken);
        unload();
        is_loaded = load();
        unsetenv("OPENBLAS_CORETYPE");
    }
    if (!is_loaded) unload();
}

static bool is_limited(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

static bool has_room(size_t bytes)
{
    void *room = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (room == MAP_FAILED) return false;
    munmap(room, bytes);
    return true;
}

/* One for each core, as long as as much is left for what is multiplied. */
static void take_buffers(void)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    void      *taken[MOST_BUFFERS];
    void *(*take)(int) = NULL;
    void (*give_back)(void *) = NULL;

    if (!find("blas_memory_alloc", &take, sizeof take) ||
        !find("blas_memory_free", &give_back, sizeof give_back)) {
        buffers.is_limited = false; /* another version, which has its own ways */
        return;
    }
    while (buffers.count < MOST_BUFFERS &&
           (buffers.count == 0 ? has_room(BUFFER_BYTES)
                               : buffers.count < cores && has_room(2 * BUFFER_BYTES)))
        taken[buffers.count++] = take(0);
    for (int32_t i = 0; i < buffers.count; i++) give_back(taken[i]);
}

static void open_library(void)
{
    load_as_it_should_be();
    buffers.is_limited = is_limited();
    if (library.handle != NULL && buffers.is_limited) take_buffers();
    is_open = library.handle != NULL;
}

/* By POSIX's means: ThreadSanitizer does not see call_once(). */
static void load_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, open_library);
}

emp_status emp_openblas_open(emp_error *err)
{
    load_once();
    if (library.handle == NULL)
        return EMP_ERROR(EMP_EEXTERNAL, "OpenBLAS cannot be loaded: %s", library.why);
    if (buffers.is_limited && buffers.count == 0)
        return EMP_ERROR(EMP_ENOMEM,
                         "matrix products need %zu MiB of address space, which \"ulimit "
                         "-v\" does not leave",
                         BUFFER_BYTES >> 20);
    return EMP_OK;
}

static void begin_product(void)
{
    load_once();
    if (!buffers.is_limited) return;
    pthread_mutex_lock(&buffers.lock);
    while (buffers.used == buffers.count)
        pthread_cond_wait(&buffers.has_free, &buffers.lock);
    buffers.used++;
    pthread_mutex_unlock(&buffers.lock);
}

static void end_product(void)
{
    if (!buffers.is_limited) return;
    pthread_mutex_lock(&buffers.lock);
    buffers.used--;
    pthread_cond_signal(&buffers.has_free);
    pthread_mutex_unlock(&buffers.lock);
}

static enum CBLAS_TRANSPOSE transposed(bool is_transposed)
{
    return is_transposed ? CblasTrans : CblasNoTrans;
}

void emp_openblas_sgemm(bool transpose_a, bool transpose_b, int32_t m, int32_t n,
                        int32_t k, float alpha, const float *a, int32_t lda,
                        const float *b, int32_t ldb, float beta, float *c, int32_t ldc)
{
    begin_product();
    library.sgemm(CblasRowMajor, transposed(transpose_a), transposed(transpose_b), m, n,
                  k, alpha, a, lda, b, ldb, beta, c, ldc);
    end_product();
}

void emp_openblas_dgemm(bool transpose_a, bool transpose_b, int32_t m, int32_t n,
                        int32_t k, double alpha, const double *a, int32_t lda,
                        const double *b, int32_t ldb, double beta, double *c, int32_t ldc)
{
    begin_product();
    library.dgemm(CblasRowMajor, transposed(transpose_a), transposed(transpose_b), m, n,
                  k, alpha, a, lda, b, ldb, beta, c, ldc);
    end_product();
}

bool emp_openblas_is_open(void) { return is_open; }

const char *emp_openblas_core_name(void)
{
    load_once();
    return library.handle != NULL ? library.core : NULL;
}

const char *emp_openblas_mistaken_core_name(void)
{
    load_once();
    return library.mistaken[0] != '\0' ? library.mistaken : NULL;
}
