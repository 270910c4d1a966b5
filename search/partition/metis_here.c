// SPDX-License-Identifier: GPL-3.0-or-later
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "search/partition/metis_internal.h"

static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;

/* METIS has handlers of its own while it works, and gives back the old ones without their flags. */
static const int signals[] = {SIGABRT, SIGTERM};
enum { SIGNALS = sizeof signals / sizeof *signals };

emp_status emp_metis_run(const emp_metis_task *t, emp_error *err)
{
    idx_t vertices = t->vertex_count, parts = t->part_count, weight = 0;
    idx_t constraints = t->constraint_count;
    idx_t options[METIS_NOPTIONS];

    struct sigaction kept[SIGNALS];

    memcpy(options, t->options, sizeof options);
    pthread_mutex_lock(&library_lock);
    for (size_t i = 0; i < SIGNALS; i++) sigaction(signals[i], NULL, &kept[i]);
    const int code = t->function(&vertices, &constraints, t->row, t->neighbor, t->load,
                                 NULL, t->traffic, &parts, t->share, t->tolerance,
                                 options, &weight, t->part);
    for (size_t i = 0; i < SIGNALS; i++) sigaction(signals[i], &kept[i], NULL);
    pthread_mutex_unlock(&library_lock);
    return emp_metis_result(t, code, err);
}
