// SPDX-License-Identifier: GPL-3.0-or-later
/* METIS: the only includer of metis.h.
 *
 * Multilevel recursive bisection (the METIS manual advises it for few parts), minimum
 * edge cut, parts as large as their device's share of the peak FLOP/s. METIS cannot pin a
 * vertex, so by default it cuts for the GPUs alone, and ops without a GPU kernel stay on
 * the CPU; with cpu=1 the CPU is one of the parts.
 *
 * METIS traps SIGABRT and SIGTERM for the whole process while it runs and draws from
 * rand(): calls are serialised, and the handlers put back with all their flags. */
#define _POSIX_C_SOURCE 200809L
#include <limits.h>
#include <metis.h>
#include <pthread.h>
#include <signal.h>

#include "base/mem.h"
#include "baselines/baselines.h"
#include "baselines/one_shot.h"
#include "baselines/options.h"
#include "baselines/partition_graph.h"

_Static_assert(sizeof(idx_t) >= sizeof(int32_t), "METIS must hold our 32-bit numbers");

static pthread_mutex_t metis_lock = PTHREAD_MUTEX_INITIALIZER;

/* A copy in METIS's integers. */
static idx_t *copy_to_idx(const int32_t *value, int32_t count)
{
    idx_t *copy = EMP_NEW_ARRAY(idx_t, (size_t)count);

    for (int32_t i = 0; copy != NULL && i < count; i++) copy[i] = value[i];
    return copy;
}

static int call_metis(idx_t vertex_count, idx_t *row, idx_t *neighbor, idx_t *load,
                      idx_t *traffic, idx_t part_count, real_t *share, uint64_t seed,
                      idx_t *part)
{
    idx_t            options[METIS_NOPTIONS], constraint_count = 1, cut = 0;
    struct sigaction on_abort, on_terminate;

    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = (idx_t)(seed % INT_MAX);
    options[METIS_OPTION_DBGLVL] = 0;

    pthread_mutex_lock(&metis_lock);
    sigaction(SIGABRT, NULL, &on_abort);
    sigaction(SIGTERM, NULL, &on_terminate);
    int result = METIS_PartGraphRecursive(&vertex_count, &constraint_count, row, neighbor,
                                          load, NULL, traffic, &part_count, share, NULL,
                                          options, &cut, part);
    sigaction(SIGABRT, &on_abort, NULL);
    sigaction(SIGTERM, &on_terminate, NULL);
    pthread_mutex_unlock(&metis_lock);
    return result;
}

static emp_status cut(const emp_partition_graph *g, const emp_partition_target *target,
                      uint64_t seed, int32_t *part_of_vertex, emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t    arc_count = g->row[g->vertex_count];
    idx_t     *row = copy_to_idx(g->row, g->vertex_count + 1);
    idx_t     *neighbor = copy_to_idx(g->neighbor, arc_count);
    idx_t     *load = copy_to_idx(g->load, g->vertex_count);
    idx_t     *traffic = copy_to_idx(g->traffic, arc_count);
    idx_t     *part = EMP_NEW_ARRAY(idx_t, (size_t)g->vertex_count);
    real_t     share[EMP_MAX_DEVICES];

    if (!row || !neighbor || !load || !traffic || !part)
        EMP_FAIL(EMP_ENOMEM, "METIS graph of %d vertices", g->vertex_count);
    for (int32_t p = 0; p < target->count; p++) share[p] = (real_t)target->power[p];
    int result = call_metis(g->vertex_count, row, neighbor, load, traffic, target->count,
                            share, seed, part);
    if (result == METIS_ERROR_MEMORY)
        EMP_FAIL(EMP_ENOMEM, "METIS, %d vertices", g->vertex_count);
    if (result != METIS_OK) {
        EMP_FAIL(EMP_EEXTERNAL, "METIS cannot cut %d vertices into %d parts (code %d)",
                 g->vertex_count, target->count, result);
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

static emp_status place(const emp_problem *problem, const emp_placer_params *params,
                        emp_device_id *device_of_op, emp_error *err)
{
    emp_status       st = EMP_OK;
    int64_t          with_cpu = 0;
    const emp_option options[] = {{"cpu", 0, 1, &with_cpu}};

    EMP_TRY(emp_options_parse(params->options, "metis", options, 1, err));
    EMP_TRY(emp_partition_place(problem, with_cpu != 0, "metis", cut, params->seed,
                                device_of_op, err));

cleanup:
    return st;
}

static emp_status create(void **state, const emp_problem *problem,
                         const emp_placer_params *params, emp_error *err)
{
    return emp_one_shot_create(state, problem, params, place, err);
}

const emp_placer_type emp_placer_metis = {
    .name = "metis",
    .description =
        "METIS recursive bisection over the GPUs (Karypis and Kumar 1998); cpu=1 "
        "adds the CPU",
    .create = create,
    .ask = emp_one_shot_ask,
    .tell = emp_one_shot_tell,
    .destroy = emp_one_shot_destroy,
};
