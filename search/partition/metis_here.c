// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L /* sigaction(), flockfile() */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/work.h"
#include "search/partition/metis_internal.h"

static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;

/* METIS has handlers of its own while it works, and gives back the old ones without their flags. */
static const int signals[] = {SIGABRT, SIGTERM};
enum { SIGNALS = sizeof signals / sizeof *signals };

/* State that METIS would change: those handlers, and standard output, where it complains. */
typedef struct {
    struct sigaction handlers[SIGNALS];
    int              standard_output;
} surroundings;

/* Other threads that print wait until restore(). */
static void keep(surroundings *kept)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

    pthread_mutex_lock(&library_lock);
    flockfile(stdout);
    fflush(stdout);
    kept->standard_output = dup(STDOUT_FILENO);
    dup2(nowhere, STDOUT_FILENO);
    close(nowhere);
    for (size_t i = 0; i < SIGNALS; i++) sigaction(signals[i], NULL, &kept->handlers[i]);
}

static void restore(const surroundings *kept)
{
    for (size_t i = 0; i < SIGNALS; i++) sigaction(signals[i], &kept->handlers[i], NULL);
    fflush(stdout);
    dup2(kept->standard_output, STDOUT_FILENO);
    close(kept->standard_output);
    funlockfile(stdout);
    pthread_mutex_unlock(&library_lock);
}

emp_status emp_metis_run(const emp_metis_task *t, int *code, emp_error *err)
{
    idx_t        vertices = t->vertex_count, parts = t->part_count, weight = 0;
    idx_t        constraints = t->constraint_count;
    idx_t        options[METIS_NOPTIONS];
    surroundings kept;

    if (emp_stop_is_set(t->stop)) return EMP_ERROR(EMP_EINTERRUPTED, "interrupted");
    memcpy(options, t->options, sizeof options);
    keep(&kept);
    *code = t->function(&vertices, &constraints, t->row, t->neighbor, t->load, NULL,
                        t->traffic, &parts, t->share, t->tolerance, options, &weight,
                        t->part);
    restore(&kept);
    return EMP_OK;
}
