// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/machine/import/import_internal.h"

#include <string.h>

#include "base/collections.h"

/* ---- the way by PCIe ---- */

static emp_way farther(emp_way one, emp_way other) { return one > other ? one : other; }

/* By the NIC that is nearest to both. GPUs with a way over sockets to each NIC may be anywhere, so
 * that is no answer unless the other one is near. */
static emp_way way_by_nics(const emp_gpu_matrix *m, int32_t a, int32_t b)
{
    emp_way way = EMP_WAY_UNKNOWN;

    for (int32_t k = 0; k < m->nic_count; k++) {
        const emp_way one = (emp_way)m->nic[a][k], other = (emp_way)m->nic[b][k];
        const emp_way both = farther(one, other);
        if (one == EMP_WAY_SYS && other == EMP_WAY_SYS) continue;
        if (both < way) way = both;
    }
    return way;
}

/* By the CPUs that are near both. */
static emp_way way_by_cpus(const emp_gpu_matrix *m, int32_t a, int32_t b)
{
    if (m->affinity[a][0] == '\0' || m->affinity[b][0] == '\0') return EMP_WAY_UNKNOWN;
    return strcmp(m->affinity[a], m->affinity[b]) == 0 ? EMP_WAY_NODE : EMP_WAY_SYS;
}

/* EMP_WAY_UNKNOWN: nothing tells it. On some computers SYS stands for each pair of host bridges, although
 * the GPUs have the same CPUs near. */
static emp_way way_between(const emp_gpu_matrix *m, int32_t a, int32_t b)
{
    const emp_way told = (emp_way)m->pcie[a][b], by_cpus = way_by_cpus(m, a, b);

    if (told == EMP_WAY_SYS && by_cpus == EMP_WAY_NODE) return EMP_WAY_NODE;
    if (told != EMP_WAY_UNKNOWN) return told;
    const emp_way by_nics = way_by_nics(m, a, b);
    return by_nics != EMP_WAY_UNKNOWN ? by_nics : by_cpus;
}

/* Numbers the sets from 0 in the order of their first GPUs. */
static int32_t number_sets(int32_t *set_of, int32_t *parent, int32_t gpu_count)
{
    int32_t count = 0;

    for (int32_t i = 0; i < gpu_count; i++) {
        const int32_t root = emp_disjoint_root(parent, i);
        set_of[i] = root == i ? count++ : set_of[root];
    }
    return count;
}

static bool is_alone(const int32_t *set_of, int32_t gpu_count, int32_t i)
{
    int32_t members = 0;

    for (int32_t k = 0; k < gpu_count; k++) members += set_of[k] == set_of[i];
    return members == 1;
}

/* A switch with one GPU is left out: the GPU shares it with no other one. */
static void number_switches(emp_gpu_tree *tree, const int32_t *set_of, int32_t gpu_count)
{
    for (int32_t i = 0; i < gpu_count; i++) {
        int32_t first = 0;
        while (set_of[first] != set_of[i]) first++;
        if (is_alone(set_of, gpu_count, i)) {
            tree->switch_of[i] = -1;
        } else if (first < i) {
            tree->switch_of[i] = tree->switch_of[first];
        } else {
            tree->socket_of_switch[tree->switch_count] = tree->socket_of[i];
            tree->switch_of[i] = tree->switch_count++;
        }
    }
}

void emp_gpu_tree_find(emp_gpu_tree *tree, const emp_gpu_matrix *matrix)
{
    int32_t       by_switch[EMP_IMPORT_GPUS], by_socket[EMP_IMPORT_GPUS];
    int32_t       set_of[EMP_IMPORT_GPUS];
    const int32_t count = matrix->gpu_count;

    *tree = (emp_gpu_tree){0};
    emp_disjoint_init(by_switch, count);
    emp_disjoint_init(by_socket, count);
    for (int32_t a = 0; a < count; a++) {
        for (int32_t b = 0; b < a; b++) {
            const emp_way way = way_between(matrix, a, b);
            if (way == EMP_WAY_UNKNOWN) tree->is_guess = true;
            if (way <= EMP_WAY_PXB) emp_disjoint_join(by_switch, a, b);
            if (way != EMP_WAY_SYS) emp_disjoint_join(by_socket, a, b);
        }
    }
    tree->socket_count = number_sets(tree->socket_of, by_socket, count);
    number_sets(set_of, by_switch, count);
    number_switches(tree, set_of, count);
}

/* ---- NVLinks ---- */

static uint64_t bit(int32_t gpu) { return (uint64_t)1 << gpu; }

/* The GPUs that NVLinks lead to from one, with it. */
static uint64_t reached_from(const emp_gpu_matrix *m, int32_t gpu)
{
    uint64_t members = bit(gpu);

    for (int32_t i = 0; i < m->gpu_count; i++)
        if (m->nvlinks[gpu][i] > 0) members |= bit(i);
    return members;
}

/* The set that one GPU is in, if that is one of NVSwitch: links are counted as often as there are
 * others to reach, which is more than it has. */
static bool find_switch(emp_nvlink_set *set, const emp_gpu_matrix *m,
                        const int32_t *nvlinks, int32_t gpu)
{
    int32_t sum = 0;

    *set = (emp_nvlink_set){.members = reached_from(m, gpu), .is_switch = true};
    for (int32_t i = 0; i < m->gpu_count; i++) {
        const int32_t links = m->nvlinks[gpu][i];
        if (links == 0) continue;
        if (reached_from(m, i) != set->members) return false;
        if (set->nvlinks == 0 || links < set->nvlinks) set->nvlinks = links;
        sum += links;
    }
    return sum > nvlinks[gpu] && set->nvlinks < sum;
}

static emp_status add(emp_nvlink_sets *sets, emp_nvlink_set set, const char *path,
                      emp_error *err)
{
    if (sets->count == EMP_MAX_FABRICS)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "%s: more than %d pairs of GPUs with NVLinks; a machine has no "
                         "more fabrics",
                         path, EMP_MAX_FABRICS);
    sets->set[sets->count++] = set;
    return EMP_OK;
}

static emp_status add_pairs(emp_nvlink_sets *sets, const emp_gpu_matrix *m, int32_t gpu,
                            const char *path, emp_error *err)
{
    for (int32_t i = gpu + 1; i < m->gpu_count; i++)
        if (m->nvlinks[gpu][i] > 0)
            EMP_CHECK(add(sets,
                          (emp_nvlink_set){.members = bit(gpu) | bit(i),
                                           .nvlinks = m->nvlinks[gpu][i]},
                          path, err));
    return EMP_OK;
}

emp_status emp_nvlink_sets_find(emp_nvlink_sets *sets, const emp_gpu_matrix *matrix,
                                const int32_t *nvlinks, const char *path, emp_error *err)
{
    uint64_t       switched = 0;
    emp_nvlink_set set;

    *sets = (emp_nvlink_sets){0};
    for (int32_t gpu = 0; gpu < matrix->gpu_count; gpu++) {
        if ((switched & bit(gpu)) != 0) continue;
        if (find_switch(&set, matrix, nvlinks, gpu)) {
            switched |= set.members;
            EMP_CHECK(add(sets, set, path, err));
        } else {
            EMP_CHECK(add_pairs(sets, matrix, gpu, path, err));
        }
    }
    return EMP_OK;
}
