// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/partition/metis_cut.h"

#include <limits.h>

#include "base/mem.h"
#include "base/work.h"
#include "search/partition/metis_internal.h"

_Static_assert(sizeof(idx_t) >= sizeof(int32_t), "METIS must hold our 32-bit numbers");

static idx_t *copy_to_idx(emp_arrays *arrays, const int32_t *value, int32_t count)
{
    idx_t *copy = EMP_ADD_ARRAY(arrays, idx_t, (size_t)count);

    for (int32_t i = 0; copy != NULL && i < count; i++) copy[i] = value[i];
    return copy;
}

static emp_status init_task(emp_metis_task *t, emp_metis_function *function,
                            const emp_partition_graph *g, int32_t part_count,
                            uint64_t seed, emp_error *err)
{
    int32_t arc_count = g->row[g->vertex_count];

    *t = (emp_metis_task){.function = function,
                          .vertex_count = g->vertex_count,
                          .part_count = part_count,
                          .constraint_count = 1};
    t->row = copy_to_idx(&t->arrays, g->row, g->vertex_count + 1);
    t->neighbor = copy_to_idx(&t->arrays, g->neighbor, arc_count);
    t->load = copy_to_idx(&t->arrays, g->load, g->vertex_count);
    t->traffic = copy_to_idx(&t->arrays, g->traffic, arc_count);
    t->part = EMP_ADD_ARRAY(&t->arrays, idx_t, (size_t)g->vertex_count);
    if (t->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "METIS graph of %d vertices", g->vertex_count);
    METIS_SetDefaultOptions(t->options);
    t->options[METIS_OPTION_SEED] = (idx_t)(seed % INT_MAX);
    t->options[METIS_OPTION_DBGLVL] = 0;
    return EMP_OK;
}

static emp_status result_of(const emp_metis_task *t, int code, emp_error *err)
{
    if (code == METIS_OK) return EMP_OK;
    if (code == METIS_ERROR_MEMORY)
        return EMP_ERROR(EMP_ENOMEM, "METIS, %d vertices", (int)t->vertex_count);
    return EMP_ERROR(EMP_EEXTERNAL,
                     "METIS cannot cut %d vertices into %d parts (code %d)",
                     (int)t->vertex_count, (int)t->part_count, code);
}

static emp_status run_task(const emp_metis_task *t, int32_t *part_of_vertex,
                           emp_error *err)
{
    const char *before = emp_stage_set("partitioning by METIS");
    int         code = METIS_ERROR;
    emp_status  st = emp_metis_run(t, &code, err);

    (void)emp_stage_set(before);
    EMP_CHECK(st);
    EMP_CHECK(result_of(t, code, err));
    for (int32_t v = 0; v < t->vertex_count; v++) part_of_vertex[v] = (int32_t)t->part[v];
    return EMP_OK;
}

/* Puts memory beside the load of every vertex. */
static emp_status add_memory(emp_metis_task *t, const int32_t *memory, emp_error *err)
{
    idx_t *both = EMP_ADD_ARRAY(&t->arrays, idx_t, 2 * (size_t)t->vertex_count);

    if (both == NULL)
        return EMP_ERROR(EMP_ENOMEM, "memory of %d vertices", (int)t->vertex_count);
    for (int32_t v = 0; v < t->vertex_count; v++) {
        both[2 * v] = t->load[v];
        both[2 * v + 1] = memory[v];
    }
    t->load = both;
    t->constraint_count = 2;
    return EMP_OK;
}

/* Fills tolerance [constraint] where the cut asks for any. METIS takes none or all. */
static void set_tolerance(emp_metis_task *t, const emp_metis_cut *cut, real_t *tolerance)
{
    double own = cut->is_kway ? 0.03 : t->constraint_count > 1 ? 0.01 : 0.001;
    double load = cut->imbalance > 0.0 ? cut->imbalance : own;

    if (cut->imbalance <= 0.0 && cut->memory_imbalance <= 0.0) return;
    tolerance[0] = (real_t)(1.0 + load);
    tolerance[1] =
        (real_t)(1.0 + (cut->memory_imbalance > 0.0 ? cut->memory_imbalance : load));
    t->tolerance = tolerance;
}

emp_status emp_metis_parts(const emp_partition_graph *graph, int32_t part_count,
                           const emp_metis_cut *cut, uint64_t seed,
                           int32_t *part_of_vertex, emp_error *err)
{
    emp_status     st = EMP_OK;
    real_t         share[2 * EMP_MAX_DEVICES], tolerance[2];
    emp_metis_task t;

    EMP_TRY(init_task(&t, cut->is_kway ? METIS_PartGraphKway : METIS_PartGraphRecursive,
                      graph, part_count, seed, err));
    if (cut->memory != NULL) EMP_TRY(add_memory(&t, cut->memory, err));
    for (int32_t p = 0; p < part_count; p++) {
        share[p * t.constraint_count] = (real_t)cut->share[p];
        if (cut->memory != NULL) share[2 * p + 1] = (real_t)cut->memory_share[p];
    }
    t.share = share;
    t.stop = cut->stop;
    if (cut->cut_count > 0) t.options[METIS_OPTION_NCUTS] = (idx_t)cut->cut_count;
    set_tolerance(&t, cut, tolerance);
    EMP_TRY(run_task(&t, part_of_vertex, err));

cleanup:
    emp_arrays_clear(&t.arrays);
    return st;
}

emp_status emp_metis_kway(const emp_partition_graph *graph, int32_t part_count,
                          double imbalance, uint64_t seed, const atomic_int *stop,
                          int32_t *part_of_vertex, emp_error *err)
{
    emp_status     st = EMP_OK;
    emp_metis_task t;

    EMP_TRY(init_task(&t, METIS_PartGraphKway, graph, part_count, seed, err));
    t.stop = stop;
    t.options[METIS_OPTION_UFACTOR] = (idx_t)(1000 * (imbalance - 1));
    EMP_TRY(run_task(&t, part_of_vertex, err));

cleanup:
    emp_arrays_clear(&t.arrays);
    return st;
}
