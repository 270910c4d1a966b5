// SPDX-License-Identifier: GPL-3.0-or-later
/* The only includer of metis.h. */
#define _POSIX_C_SOURCE 200809L
#include "sim/partition/metis_cut.h"

#include <fcntl.h>
#include <limits.h>
#include <metis.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"

_Static_assert(sizeof(idx_t) >= sizeof(int32_t), "METIS must hold our 32-bit numbers");

typedef int metis_function(idx_t *, idx_t *, idx_t *, idx_t *, idx_t *, idx_t *, idx_t *,
                           idx_t *, real_t *, real_t *, idx_t *, idx_t *, idx_t *);

static pthread_mutex_t metis_lock = PTHREAD_MUTEX_INITIALIZER;

/* Sends stdout nowhere; returns where it went, or -1. */
static int mute(void)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC), saved = -1;

    fflush(stdout);
    if (nowhere >= 0) saved = dup(STDOUT_FILENO);
    if (saved >= 0) dup2(nowhere, STDOUT_FILENO);
    if (nowhere >= 0) close(nowhere);
    return saved;
}

static void unmute(int saved)
{
    fflush(stdout);
    if (saved < 0) return;
    dup2(saved, STDOUT_FILENO);
    close(saved);
}

/* A copy in METIS's integers. */
static idx_t *copy_to_idx(const int32_t *value, int32_t count)
{
    idx_t *copy = EMP_NEW_ARRAY(idx_t, (size_t)count);

    for (int32_t i = 0; copy != NULL && i < count; i++) copy[i] = value[i];
    return copy;
}

/* \a imbalance 0: METIS's own. */
static emp_status cut(metis_function *function, const emp_partition_graph *g,
                      int32_t part_count, real_t *share, double imbalance, uint64_t seed,
                      int32_t *part_of_vertex, emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t    arc_count = g->row[g->vertex_count];
    idx_t     *row = copy_to_idx(g->row, g->vertex_count + 1);
    idx_t     *neighbor = copy_to_idx(g->neighbor, arc_count);
    idx_t     *load = copy_to_idx(g->load, g->vertex_count);
    idx_t     *traffic = copy_to_idx(g->traffic, arc_count);
    idx_t     *part = EMP_NEW_ARRAY(idx_t, (size_t)g->vertex_count);
    idx_t      options[METIS_NOPTIONS], vertices = g->vertex_count, parts = part_count;
    idx_t      constraints = 1, cut_weight = 0;
    struct sigaction on_abort, on_terminate;

    if (!row || !neighbor || !load || !traffic || !part)
        EMP_FAIL(EMP_ENOMEM, "METIS graph of %d vertices", g->vertex_count);
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = (idx_t)(seed % INT_MAX);
    options[METIS_OPTION_DBGLVL] = 0;
    if (imbalance > 0) options[METIS_OPTION_UFACTOR] = (idx_t)(1000 * (imbalance - 1));

    pthread_mutex_lock(&metis_lock);
    sigaction(SIGABRT, NULL, &on_abort);
    sigaction(SIGTERM, NULL, &on_terminate);
    int saved = mute();
    int result = function(&vertices, &constraints, row, neighbor, load, NULL, traffic,
                          &parts, share, NULL, options, &cut_weight, part);
    unmute(saved);
    sigaction(SIGABRT, &on_abort, NULL);
    sigaction(SIGTERM, &on_terminate, NULL);
    pthread_mutex_unlock(&metis_lock);
    if (result == METIS_ERROR_MEMORY)
        EMP_FAIL(EMP_ENOMEM, "METIS, %d vertices", g->vertex_count);
    if (result != METIS_OK) {
        EMP_FAIL(EMP_EEXTERNAL, "METIS cannot cut %d vertices into %d parts (code %d)",
                 g->vertex_count, part_count, result);
    }
    for (int32_t v = 0; v < g->vertex_count; v++) part_of_vertex[v] = (int32_t)part[v];

cleanup:
    emp_free(row);
    emp_free(neighbor);
    emp_free(load);
    emp_free(traffic);
    emp_free(part);
    return st;
}

emp_status emp_metis_bisect(const emp_partition_graph *graph, int32_t part_count,
                            const double *share, uint64_t seed, int32_t *part_of_vertex,
                            emp_error *err)
{
    real_t target[EMP_MAX_DEVICES];

    for (int32_t p = 0; p < part_count; p++) target[p] = (real_t)share[p];
    return cut(METIS_PartGraphRecursive, graph, part_count, target, 0.0, seed,
               part_of_vertex, err);
}

emp_status emp_metis_kway(const emp_partition_graph *graph, int32_t part_count,
                          double imbalance, uint64_t seed, int32_t *part_of_vertex,
                          emp_error *err)
{
    return cut(METIS_PartGraphKway, graph, part_count, NULL, imbalance, seed,
               part_of_vertex, err);
}
