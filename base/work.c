// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L

#include "base/work.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include "base/mem.h"

static double read_s(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double emp_clock_now_s(void) { return read_s(CLOCK_MONOTONIC); }

static _Thread_local double elsewhere_s;

double emp_clock_thread_s(void) { return read_s(CLOCK_THREAD_CPUTIME_ID) + elsewhere_s; }

void emp_clock_count_s(double seconds) { elsewhere_s += seconds; }

static const char *_Atomic stage;

const char *emp_stage_set(const char *text) { return atomic_exchange(&stage, text); }

const char *emp_stage_get(void) { return atomic_load(&stage); }

enum { LOOK_NS = 20000000 }; /* from one look at the flag to the next */

/* Shared by the caller and the thread; the last user frees it. */
typedef struct {
    emp_apart       apart;
    pthread_t       thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t  end;
    bool            is_done, is_left;
    double          cpu_s;
} side;

static void destroy(side *s)
{
    pthread_cond_destroy(&s->end);
    pthread_mutex_destroy(&s->lock);
    emp_free(s);
}

static void *serve(void *state)
{
    side *s = state;

    s->apart.work(s->apart.task);
    pthread_mutex_lock(&s->lock);
    const bool is_left = s->is_left;
    s->is_done = true;
    s->cpu_s = emp_clock_thread_s();
    pthread_cond_signal(&s->end);
    pthread_mutex_unlock(&s->lock);
    if (!is_left) return NULL;
    s->apart.destroy(s->apart.task);
    destroy(s);
    return NULL;
}

/* NULL: there is no memory. */
static side *create(const emp_apart *apart)
{
    side              *s = EMP_NEW(side);
    pthread_condattr_t monotonic;

    if (s == NULL) return NULL;
    s->apart = *apart;
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&s->end, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return s;
}

/* The thread hears no signals: they are for those that were there before. */
static bool start(side *s)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool is_started = pthread_create(&s->thread, NULL, serve, s) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

static struct timespec next_look(void)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_nsec += LOOK_NS;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return at;
}

/* Whether the work is done; else it is left. */
static bool await(side *s, const atomic_int *stop)
{
    pthread_mutex_lock(&s->lock);
    while (!s->is_done && !s->is_left) {
        const struct timespec at = next_look();
        pthread_cond_timedwait(&s->end, &s->lock, &at);
        s->is_left = !s->is_done && emp_stop_is_set(stop);
    }
    const bool is_done = s->is_done;
    if (!is_done) pthread_detach(s->thread);
    pthread_mutex_unlock(&s->lock);
    return is_done;
}

bool emp_apart_run(const emp_apart *apart, const atomic_int *stop)
{
    if (emp_stop_is_set(stop)) {
        apart->destroy(apart->task);
        return false;
    }
    side *s = stop != NULL ? create(apart) : NULL;
    if (s == NULL || !start(s)) {
        if (s != NULL) destroy(s);
        apart->work(apart->task);
        return true;
    }
    if (!await(s, stop)) return false;
    pthread_join(s->thread, NULL);
    emp_clock_count_s(s->cpu_s);
    destroy(s);
    return true;
}
